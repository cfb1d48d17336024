"""Pasted text: it is imported as a file is, and the report names it without the folder that it was put into."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lorekeeper.errors import ImportFileError
from lorekeeper.intake.formats.markdown import PASTED
from lorekeeper.intake.reports import ImportReport


@asynccontextmanager
async def as_files(paths: Iterable[Path | bytes], report: ImportReport) -> AsyncIterator[list[Path]]:
    """The paths of an import, each pasted text among them as a file of its own.

    Args:
        paths: files and folders, and texts as they were pasted.
        report: of the import; its places are corrected afterwards.
    """
    given = list(paths)
    if not any(isinstance(each, bytes) for each in given):
        yield [each for each in given if isinstance(each, Path)]
        return
    folder = await asyncio.to_thread(TemporaryDirectory)
    try:
        yield await asyncio.to_thread(_written, given, Path(folder.name))
    finally:
        await asyncio.to_thread(folder.cleanup)
        for problems in (report.failed, report.warnings):
            problems[:] = [_without(folder.name, problem) for problem in problems]
        for each in report.not_taken:
            each.where = PASTED if Path(each.where).is_relative_to(folder.name) else each.where


def _written(given: Iterable[Path | bytes], folder: Path) -> list[Path]:
    files = []
    for number, each in enumerate(given):
        path = each if isinstance(each, Path) else folder / str(number) / PASTED
        if isinstance(each, bytes):
            path.parent.mkdir()
            path.write_bytes(each)
        files.append(path)
    return files


def _without(folder: str, problem: ImportFileError) -> ImportFileError:
    """A problem that names pasted text without the folder of its file."""
    place = re.compile(f"{re.escape(folder)}{re.escape(os.sep)}\\d+{re.escape(os.sep)}")
    return ImportFileError(place.sub("", problem.where), place.sub("", problem.reason))
