"""Files and folders to entities: JSON, JSON lines, OrcBrew, also gzipped. The format is seen from the content."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.orcbrew import looks_like_orcbrew, packs
from lorekeeper.report import ImportReport

SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".orcbrew", ".orcbrew.gz")

ORCBREW = (".orcbrew", ".orcbrew.gz")

MAX_FILE_BYTES = 1 << 30
"""Largest file that is read, unpacked; a gzip file that unpacks to more is refused."""

MAX_PACK_CHARS = 64 << 20
"""Longest OrcBrew file: what is read of it takes some twenty times as much memory."""

LINES_TRIED = 20
"""Lines of which one must be a JSON object for a file to count as JSON lines."""

_GZIP = b"\x1f\x8b"


async def read_path(paths: Sequence[Path], document: str | None, report: ImportReport) -> list[Entity]:
    """All entities in files and folders; what cannot be read goes to ``report.failed`` and is passed over.

    ``report.skipped`` counts, by file, what holds no lore (licences, publishers, ...), and ``report.oddities`` lists what was
    put right. Of a folder the files named like data are read, hidden ones and those that begin with an underscore are not.

    Raises:
        ImportFileError: a path does not exist.
    """
    files = [file for path in paths for file in _files(path)]
    entities: list[Entity] = []
    for file in files:
        entities += await asyncio.to_thread(lambda f=file: list(_read(f, document, report)))  # type: ignore[misc]
    return entities


def _files(path: Path) -> Iterator[Path]:
    if _exists(path) and path.is_dir():
        for file in sorted(path.rglob("*")):
            hidden = any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            if file.is_file() and not hidden and file.name.lower().endswith(SUFFIXES):
                yield file
    elif _exists(path):
        yield path
    else:
        raise ImportFileError(str(path), "there is no such file or folder")


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _read(file: Path, document: str | None, report: ImportReport) -> Iterator[Entity]:
    failed, skipped = report.failed, report.skipped
    try:
        text = _text(file, failed)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        failed.append(_unreadable(file, error))
        return
    if file.name.lower().endswith(ORCBREW) or looks_like_orcbrew(text):
        yield from _packs(file, text, document, report)
        return
    for where, obj in _objects(str(file), text, failed):
        if not isinstance(obj, Mapping):
            failed.append(ImportFileError(where, f"a JSON object is needed, not {type(obj).__name__}"))
            continue
        try:
            found = normalize(obj, hint=file.name, document=document)
        except UnknownShapeError as error:
            failed.append(ImportFileError(where, str(error)))
            continue
        if not found:
            skipped[file.name] = skipped.get(file.name, 0) + 1
        yield from found


def _unreadable(file: Path, error: Exception) -> ImportFileError:
    if isinstance(error, UnicodeDecodeError) and file.name.lower().endswith(ORCBREW):
        before, byte = error.object[: error.start], error.object[error.start]
        place = f"{file}:{before.count(10) + 1}:{error.start - before.rfind(10)}"
        return ImportFileError(place, f"not UTF-8: {error.reason} (byte 0x{byte:02x}); save the file as UTF-8")
    return ImportFileError(str(file), f"cannot be read: {error}")


def _packs(file: Path, text: str, document: str | None, report: ImportReport) -> list[Entity]:
    """The entities of an OrcBrew file; its problems go to the report."""
    if len(text) > MAX_PACK_CHARS:
        report.failed.append(ImportFileError(str(file), f"it is longer than {MAX_PACK_CHARS >> 20} MB; split it"))
        return []
    found = packs(text, file.name.removesuffix(".gz").rsplit(".", 1)[0], document)
    report.failed += [ImportFileError(f"{file}:{place}", reason) for place, reason in found.failed]
    report.oddities += [ImportFileError(f"{file}:{place}", reason) for place, reason in found.oddities]
    for content, number in found.skipped.items():
        name = f"{file.name}: {content}"
        report.skipped[name] = report.skipped.get(name, 0) + number
    return found.entities


def _text(file: Path, failed: list[ImportFileError]) -> str:
    """The file's text, unpacked; lines that are not UTF-8 are reported and left empty."""
    with file.open("rb") as raw:
        packed = raw.read(2) == _GZIP
    with gzip.open(file) if packed else file.open("rb") as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {MAX_FILE_BYTES >> 20} MB; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        lines = b"\n" in content and content.lstrip().startswith(b"{")
        if not lines or file.name.lower().endswith(ORCBREW):
            raise
        return "\n".join(_line(f"{file}:{n}", line, failed) for n, line in enumerate(content.split(b"\n"), 1))


def _line(where: str, line: bytes, failed: list[ImportFileError]) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        failed.append(ImportFileError(where, f"not UTF-8: {error.reason} at byte {error.start}"))
        return ""


def _objects(where: str, text: str, failed: list[ImportFileError]) -> Iterator[tuple[str, Any]]:
    """(where, object) of a JSON document (an object, a list, an API page) or of JSON lines."""
    try:
        whole = _parse(text)
    except ValueError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and any(line.startswith("{") and _is_json(line) for line in lines[:LINES_TRIED]):
            yield from _lines(where, text, failed)
        else:
            failed.append(ImportFileError(where, f"no valid JSON: {error}" if text.strip() else "the file is empty"))
        return
    if isinstance(whole, Mapping) and isinstance(whole.get("results"), list):
        whole = whole["results"]
    if isinstance(whole, list):
        yield from ((f"{where}[{i}]", obj) for i, obj in enumerate(whole))
    else:
        yield where, whole


def _lines(where: str, text: str, failed: list[ImportFileError]) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"{where}:{number}", _parse(line)
            except ValueError as error:
                failed.append(ImportFileError(f"{where}:{number}", f"no valid JSON: {error}"))


def _parse(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _is_json(line: str) -> bool:
    try:
        _parse(line)
    except ValueError:
        return False
    return True
