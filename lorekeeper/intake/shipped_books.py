"""The texts that a new library begins with: the SRDs 5.1 and 5.2, whole, from the wheel or from the packages that bring them."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import zlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path

from lorekeeper.cache.protocol import LibraryCache, Progress, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.data_packages import entries, missing
from lorekeeper.intake.files import BATCH_ENTITIES, Batch
from lorekeeper.intake.formats.text_file import Entry
from lorekeeper.intake.imports import FileImport
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.rules import rules
from lorekeeper.intake.superseded import DOCUMENTS, SHARED, Known, is_packaged, of_open5e
from lorekeeper.normalize.book_tables import book_tables
from lorekeeper.text.phrases import PACKED
from lorekeeper.text.sections import full_text

logger = logging.getLogger(__name__)


def shipped_books() -> list[Entity]:
    """The entries, as far as their packages are installed. Blocking, for ten seconds if they are not packed."""
    packed = _packed()
    return list(entries()) if packed is None else [Entity.from_record(*json.loads(line)) for line in packed[1]]


def shipped_entry(entity_type: str, document: str, slug: str) -> Entity | None:
    """The entry of an identity that a new library begins with, or a table of one. Blocking, for a tenth of a second."""
    books = [each for each in shipped_books() if each.document == document] if is_packed() else []
    own = next((each for each in books if (each.type, each.slug) == (entity_type, slug)), None)
    tables = (table for each in books if slug.startswith(f"{each.slug}-") for table in book_tables(each).entities)
    return own or next((each for each in tables if (each.type, each.slug) == (entity_type, slug)), None)


def lacking() -> list[str]:
    """The packages whose texts are neither packed nor installed, each as "name==version"."""
    packed = _packed()
    return missing() if packed is None else packed[0]


def is_packed() -> bool:
    """Whether the entries are packed as this package reads them, as far as they can be had."""
    packed = _packed()
    return packed is not None and (not packed[0] or packed[0] == missing())


def pack_books(found: Iterable[Entity], file: Path) -> None:
    """Write entries as `PACKED` has them, behind a line that says which package has read them, and which texts it lacked."""
    rows = [[rules(), missing()], *([each.type, each.as_record()] for each in found)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def _packed() -> tuple[list[str], list[str]] | None:
    """The packages that were lacking, and the packed entries; None if there are none, or another version has read them."""
    try:
        head, *lines = gzip.decompress(PACKED.read_bytes()).decode("utf-8").split("\n")
        key, absent = json.loads(head)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        if PACKED.exists():
            logger.warning("the packed books %s cannot be used: %s", PACKED, error)
        return None
    return (absent, lines) if key == rules() else None


async def import_books(
    cache: LibraryCache,
    report: ImportReport,
    documents: Sequence[str] = DOCUMENTS,
    *,
    dry_run: bool = False,
    start: Progress | None = None,
    progress: Progress | None = None,
) -> bool:
    """Store the entries of documents as far as the library has them neither from Open5e nor from a file; whether there are any.

    Args:
        cache: the library's.
        report: is updated.
        documents: their keys.
        dry_run: read and count only.
        start: called with the characters of all texts.
        progress: called, for each further batch, with the characters of its texts.

    Raises:
        ImportFileError: the files of a package are damaged.
    """
    try:
        found = [e for e in await asyncio.to_thread(shipped_books) if e.document in documents]
    except (OSError, ValueError) as error:
        names = ", ".join(documents)
        raise ImportFileError(names, f"cannot be read from its package ({error}); install it again") from error
    own = await _not_covered(cache, found)
    left = sum(e.type != "documents" for e in found) - sum(e.type != "documents" for e in own)
    if left:
        reason = f"{left:,} of its entries are there from another source already, and stay as they are"
        report.warnings.append(ImportFileError(", ".join(documents), reason))
    if start:
        start(_size(own))
    await FileImport(cache, cache.given, report, None, dry_run=dry_run).take_in(_batches(own), progress)
    return bool(found)


async def _not_covered(cache: SearchCache, entities: Sequence[Entity]) -> list[Entity]:
    """The entries without those that the library has from another source, under their identities or as Open5e has them."""
    kept: list[Entity] = []
    for entity_type, document in sorted({(e.type, e.document) for e in entities}):
        stored = await cache.get_entities(entity_type, [document, SHARED])
        others, theirs = {e.identity for e in stored if not is_packaged(e)}, Known(of_open5e(stored), document)
        of_both = (e for e in entities if (e.type, e.document) == (entity_type, document))
        kept += [e for e in of_both if e.identity not in others and theirs.place(e) is None]
    return kept


async def _batches(entities: Sequence[Entity]) -> AsyncGenerator[Batch]:
    for first in range(0, len(entities), BATCH_ENTITIES):
        some = entities[first : first + BATCH_ENTITIES]
        yield Batch([Entry(entity, entity.document) for entity in some], _size(some), _size(some))


def _size(entities: Iterable[Entity]) -> int:
    return sum(len(full_text(entity)) for entity in entities)
