"""Books in Markdown, and stat blocks, spells and items that were copied into a text file.

Notes are not imported: a vault keeps them, with their marks of secrecy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lorekeeper.errors import FilterError
from lorekeeper.intake.formats.text_file import MARKDOWN, Entry, TextFile, UnknownFormatError, each_of
from lorekeeper.normalize import statblocks, unsupported_formats
from lorekeeper.normalize.book import Book, document
from lorekeeper.normalize.build import Origin, own_error, slugify
from lorekeeper.normalize.class_lists import classes_of_spells
from lorekeeper.normalize.lined import SOURCE
from lorekeeper.normalize.own import DEFAULT_DOCUMENT
from lorekeeper.printable import shown
from lorekeeper.records.printed import printed
from lorekeeper.records.stat_blocks import StatBlockError, read_stat_block

SUFFIXES = (*MARKDOWN, ".txt")

PASTED = "pasted.txt"
"""Name of the file in which text from a pipe is read."""

MAX_CHARS = 32 << 20
"""Longest file."""

MAX_SEARCHED = 2_000
"""Most files of a folder that are searched for printed entries."""

IS_NOTE = "it is a note, which is not imported: 'lorekeeper vault add FOLDER' adds its folder, and protects its secrets"
NOTHING = (
    "no creature, spell or magic item was found in it: one is found by the line below its name, such as 'Medium undead, chaotic "
    "evil' or '2nd-level evocation', and by the lines that follow"
)

_OTHER_TEXTS = re.compile(
    r"(?:readme|changelog|license|contributing|code.of.conduct|security|todo|legal)\b", re.IGNORECASE
)
_NOTE = re.compile(r"\A\s*(?:---|\+\+\+)\n|\[\[[^\[\]\n]+\]\]|^>? ?\[![\w-]+\]|%%", re.MULTILINE)
_FENCE = re.compile(r"^```statblock[^\n]*\n(.*?)^```[^\n]*$", re.MULTILINE | re.DOTALL)
_OBJECTS = re.compile(r"\s*(?:(?:\[\s*)?\{(?!\{)|\[\s*\]\s*\Z)")
"""How JSON begins; two braces are a block of Homebrewery."""

_GENERIC = frozenset({"src", "docs", "doc", "markdown", "md", "content", "text", "en", "english", "."})


def recognises(name: str, head: str) -> bool:
    """Whether a file is text for people, by its name."""
    return name.endswith(SUFFIXES) and not _OBJECTS.match(head)


def is_book(files: Sequence[Path]) -> bool:
    """Whether one of the files of a folder prints an entry, and none of those looked at until then is a note."""
    for path in files[:MAX_SEARCHED]:
        text = _text(path)
        if _NOTE.search(text):
            return False
        if printed(text.split("\n")):
            return True
    return False


def is_chapter(path: Path) -> bool:
    """Whether a file beside the chapters of a book may be one of them."""
    return path.name.lower().endswith(MARKDOWN) and not _OTHER_TEXTS.match(path.name)


@dataclass(frozen=True)
class Together:
    """The texts of an import: the books that they are, by their key, and the classes of spells that their lists give."""

    books: dict[str, Book]
    classes: dict[str, list[str]]
    known: set[str]


def read(file: TextFile) -> Iterator[Entry]:
    """The entries of a text; what is not understood of them is reported."""
    text = file.whole(MAX_CHARS)
    if text is None:
        return
    alone = file.all_files.alone
    fenced, text = _FENCE.findall(text), _FENCE.sub("", text)
    if alone and not (fenced or printed(text.split("\n"))):
        if other_game := unsupported_formats.of_text(text):
            file.fail(other_game)
            return
        raise UnknownFormatError(NOTHING)
    if _NOTE.search(text) and file.path.name != PASTED:
        file.fail(IS_NOTE)
        return
    together = file.all_files.once(_together)
    origin = _origin(file, alone=alone)
    book = together.books.setdefault(origin.document, Book(origin, together.classes))
    if origin.document not in together.known and origin.document != DEFAULT_DOCUMENT:
        together.known.add(origin.document)
        yield Entry(file.audiences.decided(document(origin, [text])), str(file.path))
    for block in fenced:
        yield from _fenced(block, replace(origin, source_api=statblocks.SOURCE), file)
    yield from file.entries(book.read(text), ": ")


def _fenced(block: str, origin: Origin, file: TextFile) -> Iterator[Entry]:
    """The creature of a code block, as the plugin Fantasy Statblocks has it."""
    try:
        values, base = read_stat_block(block)
        with own_error():
            entity, problems = statblocks.creature(values, origin)
    except (StatBlockError, FilterError) as error:
        file.fail(f"stat block: {error}")
        return
    if base:
        problems.append(f"it changes {shown(base)}, which only a note in a vault can do; its own text was stored")
    for problem in problems:
        file.warn(problem, f"{file.path}: {entity.name}")
    yield Entry(file.audiences.decided(entity), str(file.path))


def _origin(file: TextFile, *, alone: bool) -> Origin:
    if file.path.name == PASTED:
        return Origin(SOURCE, file.document or DEFAULT_DOCUMENT, file.document or DEFAULT_DOCUMENT)
    title = file.title
    if not alone:
        folders = [part for part in file.all_files.folder.parts if part.lower() not in _GENERIC]
        title = folders[-1] if folders else title
    return Origin(SOURCE, file.document or slugify(title) or DEFAULT_DOCUMENT, title)


def _together(paths: Sequence[Path]) -> Together:
    texts = (_text(path, MAX_CHARS) for path in paths if path.name.lower().removesuffix(".gz").endswith(SUFFIXES))
    return Together({}, classes_of_spells(texts), set())


def _text(path: Path, most_chars: int = 1 << 20) -> str:
    """The beginning of a file, "" if it cannot be read; reading it again reports why."""
    found: list[str] = []
    each_of([path], lambda *_: True, lambda _, window: found.append(window.rest(most_chars)))
    return "".join(found)
