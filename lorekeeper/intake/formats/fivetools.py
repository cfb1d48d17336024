"""Homebrew files of 5etools, which are read as a whole: any entry can be a copy of another, also of one in another file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.intake.formats.text_file import HEAD_CHARS, Entry, TextFile, each_of
from lorekeeper.intake.json_stream import UNDECODED, Window
from lorekeeper.normalize import fivetools, unsupported_formats
from lorekeeper.normalize.fivetools import Brew, Identities, Importer, Index, Problem
from lorekeeper.normalize.taken import texts_of

MAX_FILE_CHARS = 64 << 20
"""Longest file: reading it takes about ten times as much memory."""

MAX_OTHER_CHARS = 48 << 20
"""Most characters of all files of an import in which the objects are looked for that others are copies of."""

OTHER_GAME = f"it is of Pf2eTools, for Pathfinder 2e; {unsupported_formats.OTHER_GAME}"


def recognises(_: str, head: str) -> bool:
    """Whether a file is homebrew of 5etools, or a list of such files, by the beginning of its text."""
    return fivetools.recognises(head) or fivetools.recognises_index(head)


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; its problems are reported with the list and the number of the object in it.

    Raises:
        ValueError: it cannot be read at all.
    """
    if fivetools.is_for_other_program(file.path.name):
        file.skip("file for another program than 5etools")
        return
    text = file.whole(MAX_FILE_CHARS)
    if text is None:
        return
    if not fivetools.recognises(text[:HEAD_CHARS]):
        file.skip("list of homebrew files")
        return
    for brew in Brew.all(text, lambda reason: file.warn(reason, str(file.path))):
        if brew.is_pathfinder:
            file.fail(OTHER_GAME)
        else:
            yield from _read_one(brew, file)


def _read_one(brew: Brew, file: TextFile) -> Iterator[Entry]:
    def report(problem: Problem) -> None:
        where = f"{file.path}: {problem.place}" if problem.place else str(file.path)
        (file.fail if problem.is_failure else file.warn)(problem.reason, where)

    identities = file.all_files.once(_identities)
    importer = Importer(
        brew, file.title, lambda: file.all_files.once(_index), file.document, report, identities, file.all_files.known
    )
    documents = file.all_files.once(_documents)
    made: list[Entity] = []
    for entity in importer.entities():
        if entity.type == "documents":
            if entity.identity in documents:
                continue
            documents.add(entity.identity)
        made.append(entity)
        yield Entry(file.audiences.decided(entity), str(file.path))
    file.compare((text for raw in importer.read() for text in texts_of(raw, fivetools.SOURCE)), made)
    for kind, number in importer.skipped().items():
        file.skip(kind, number)


def _identities(_: Sequence[Path]) -> Identities:
    """What has each key in the import: entries of two files are told apart as those of one are."""
    return {}


def _documents(_: Sequence[Path]) -> set[tuple[str, str]]:
    """The identities of the documents that the import has a record of: files of one title say different things of it."""
    return set()


def _index(paths: Sequence[Path]) -> Index:
    """The objects of all homebrew files among these; what cannot be read is told where it is imported itself."""
    index, remaining = Index([]), MAX_OTHER_CHARS

    def take(_: Path, window: Window) -> None:
        nonlocal remaining
        text = window.rest(min(MAX_FILE_CHARS, max(remaining, 0)) + 1)
        remaining -= len(text)
        if remaining < 0:
            index.limit = MAX_OTHER_CHARS
        elif not UNDECODED.search(text):
            for brew in Brew.all(text, lambda _: None):
                index.add(brew)

    each_of(paths, lambda name, head: not fivetools.is_for_other_program(name) and fivetools.recognises(head), take)
    return index
