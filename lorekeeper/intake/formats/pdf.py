"""Books as PDF: their text layer, read in a process of its own (`pdf_process`), as the pages of a printed book.

They are what somebody has bought, so their entries are the game master's alone unless the import says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from lorekeeper.editions import edition_of
from lorekeeper.entities import Entity
from lorekeeper.intake.formats.text_file import Asked, Entry, Found, Recalled, TextFile
from lorekeeper.intake.import_cache import Digest, key_of
from lorekeeper.intake.pdf_process import MAX_PAGES
from lorekeeper.normalize import unsupported_formats
from lorekeeper.normalize.book import EDITIONS, Book, document
from lorekeeper.normalize.build import Imported, Origin, part_key, slugify
from lorekeeper.normalize.own import DEFAULT_DOCUMENT
from lorekeeper.normalize.printed_book import printed_book
from lorekeeper.normalize.printed_lines import Page
from lorekeeper.printable import one_line, quantity
from lorekeeper.system import TURNS
from lorekeeper.text.printed_on import PDF

SUFFIXES = (".pdf",)

PAGE_SECONDS = 30.0
"""How long a page may take: the process ends then, and another one begins with the next page."""

MOST_STARTS = 4
"""How often a process begins."""

MAX_LINE, MAX_TEXT = 16 << 20, 128 << 20
"""Most bytes that the process may say of a page, and of a book."""

MOST_UNMAPPED = 0.3
"""Share of its characters that no letter is known for, from which on a page has no text."""

LEAST_VOWELS = 0.25
"""Share of the letters of a text that are vowels, at least: where letters stand for others, it is about half of that."""

NO_PACKAGE = "reading a PDF needs the package pypdfium2: in LoreKeeper's environment run 'pip install pypdfium2'"
REFUSED = {
    "locked": "it is locked with a password: save a copy without one, and import that",
    "damaged": "it is damaged, or is no PDF: open it in a viewer, print it into a new PDF, and import that",
}
NO_TEXT = "'ocrmypdf --skip-text IN.pdf OUT.pdf' adds the text; import OUT.pdf then"

_UNTITLED = ("untitled", "microsoft word", ".pdf", ".doc", ".indd", ".tex", ".ai", ".qxp", ".pub")
"""What stands in titles that programs have given."""


def recognises(name: str, head: str) -> bool:  # noqa: ARG001
    """Whether a file is a PDF, by its beginning."""
    return "%PDF-" in head[:1024]


def read(file: TextFile) -> Iterator[Found]:
    """The entries of a book; nothing is read again of a file that the library has read as it is asked for now.

    Raises:
        ValueError: it cannot be read; the message says what to do.
    """
    if find_spec("pypdfium2") is None:
        raise ValueError(NO_PACKAGE)
    book = _Book(file)
    digests = file.remembered.digests(book.key)
    if digests is not None:
        yield from (Recalled(digest, str(file.path), partial(_recalled, file, digest)) for digest in digests)
        return
    if not (file.asked.title or file.asked.edition) and any(said := file.asked.ask()):
        book = _Book(replace(file, asked=replace(file.asked, title=said[0], edition=said[1])))
    yield from (Entry(entity, str(file.path)) for entity in book.entities)
    for key in (book.key, _Book(replace(file, asked=Asked())).key):
        file.remembered.add(key, book.entities)
    book.report()


def _recalled(file: TextFile, digest: Digest) -> Entity:
    entity = file.asked.loaded(digest.type, *digest.identity)
    if entity is None:
        raise ValueError("it was removed from the library while it was imported: import it again")
    return entity


@dataclass
class _Read:
    """What the process said of a file: the book, its pages, and those that cannot be read."""

    book: dict[str, Any] = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    bare: list[int] = field(default_factory=list)


@dataclass
class _Book:
    """A file as a book."""

    file: TextFile

    @cached_property
    def key(self) -> str | None:
        """What its entries are remembered by: its content, and what the import asks for."""
        with self.file.path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        asked = self.file.asked
        return key_of([digest, asked.title, asked.edition], "pdf", self.file.document, self.file.audiences.chosen)

    @cached_property
    def read(self) -> _Read:
        """What is in the file."""
        return _pages_of(self.file)

    @cached_property
    def title(self) -> str:
        """As it was given, else as the file says it, else the name of the file."""
        own = one_line(str(self.read.book.get("title") or ""), 150).strip()
        is_own = len(own) > 3 and not any(sign in own.casefold() for sign in _UNTITLED)
        return self.file.asked.title or (own if is_own else self.file.title.replace("_", " ").strip())

    @cached_property
    def imported(self) -> Imported:
        """Its entries."""
        printed = printed_book(self.read.pages, self.read.book["outline"])
        self.pages = len(printed.numbers)
        self.chapters = dict.fromkeys(line[2:] for line in printed.lines if line.startswith("# "))
        self.read.pages.clear()  # they are as large as the library's part of an import
        text = "\n".join(printed.lines)
        edition = self.file.asked.edition or ""
        rules = f"5e-{edition_of('', edition)}"
        is_5e = rules in EDITIONS if edition else not unsupported_formats.of_text(text)
        key = self.file.document or _free_key(self.file, self.title)
        origin = Origin(PDF, key, self.title)
        read = Book(origin, pages=printed.pages, is_5e=is_5e).read(text)
        game = EDITIONS.get(rules, edition)
        record = document(origin, [text] if is_5e else [], game)
        return replace(read, entities=_apart([record, *read.entities]))

    @cached_property
    def entities(self) -> list[Entity]:
        """The same, each for those who may see it."""
        audiences, (record, *_) = self.file.audiences, self.imported.entities
        if audiences.chosen is None and self.file.asked.loaded("documents", *record.identity) is None:
            audiences = replace(audiences, chosen="dm")
        return list(map(audiences.decided, self.imported.entities))

    def report(self) -> None:
        """Say what was understood, and what was not."""
        file, read = self.file, self.read
        for place, reason in self.imported.failed:
            file.fail(reason, f"{file.path}: {place}")
        for place, reason in self.imported.warnings:
            file.warn(reason, f"{file.path}: {place}")
        if read.bare:
            file.warn(f"{_named(read.bare)} no text that can be read; {NO_TEXT}", str(file.path))
        if read.broken:
            file.fail(
                f"{_named(read.broken)} no text that could be read within the limits of time and memory; all other pages were read"
            )
        kinds = Counter(entity.kind for entity in self.entities[1:])
        told = ", ".join(quantity(number, kind.replace("-", " ")) for kind, number in kinds.most_common(8))
        file.report.books.append(f"{self.title}: {quantity(self.pages, 'page')} with text; {told}")
        if self.chapters:
            file.report.books.append(f"chapters: {one_line(', '.join(self.chapters), 300)}")


def _apart(entities: Sequence[Entity]) -> list[Entity]:
    """Entries of which no two have one key: of several sections of a name under one heading, the further ones are numbered."""
    times: Counter[tuple[str, str]] = Counter()
    found: list[Entity] = []
    for entity in entities:
        times[entity.type, entity.slug] += 1
        number = times[entity.type, entity.slug]
        slug = entity.slug if number == 1 else part_key(entity.slug, str(number))
        found.append(replace(entity, slug=slug, data={**entity.data, "page_order": len(found)}))
    return found


def _free_key(file: TextFile, title: str) -> str:
    """The key of a book, which no other file of the import has taken by having the same title."""
    taken = file.all_files.once(_keys)
    key = slugify(title) or slugify(file.title) or DEFAULT_DOCUMENT
    if taken.setdefault(key, file.path) != file.path:
        key = slugify(f"{title} {file.title}")
        taken[key] = file.path
    return key


def _keys(_: Sequence[Path]) -> dict[str, Path]:
    return {}


def _named(pages: Sequence[int]) -> str:
    """Pages as people count them, neighbours as one: "pages 3 and 5-9 have"."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(sorted(pages)), lambda pair: pair[1] - pair[0])]
    told = [f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else str(run[0] + 1) for run in runs]
    more = f" and {len(told) - 12} more" if len(told) > 12 else ""
    return (
        f"page {told[0]} of the file has" if len(pages) == 1 else f"pages {', '.join(told[:12])}{more} of the file have"
    )


# --- the process -----------------------------------------------------------------------------------------------------


def _pages_of(file: TextFile) -> _Read:
    """What is in a file, page by page; a page at which the process ends is left out.

    Raises:
        ValueError: it is locked or damaged, has too many pages or too much text, or none.
    """
    found, first, size = _Read(), 0, 0
    for _ in range(MOST_STARTS):
        for said in _said(file.path, first):
            time.sleep(TURNS.left)
            size += len(said)
            if len(said) >= MAX_LINE or size > MAX_TEXT:
                raise ValueError(f"it has more text than a book; at most {MAX_TEXT >> 20} MB are read: split it")
            first = _take(json.loads(said), found, file, first)
        if not found.book:
            raise ValueError(REFUSED["damaged"])
        if first >= found.book["pages"]:
            break
        found.broken.append(first)
        first += 1
    found.broken += range(first, found.book["pages"])
    if not found.pages:
        raise ValueError(f"none of its {quantity(found.book['pages'], 'page')} has text that can be read; {NO_TEXT}")
    return found


def _take(values: Mapping[str, Any], found: _Read, file: TextFile, first: int) -> int:
    """Take what a line says; the page that comes next."""
    if "refused" in values:
        raise ValueError(REFUSED[values["refused"]])
    if "page" not in values:
        if values["pages"] > MAX_PAGES:
            raise ValueError(f"it has {values['pages']:,} pages, and at most {MAX_PAGES:,} are read: split it")
        if not found.book:
            file.asked.pages(values["pages"], 0)
        found.book = dict(values)
        return first
    file.asked.pages(0, 1)
    number, texts = values["page"], values["text"]
    if texts is None:
        found.broken.append(number)
        return int(number) + 1
    text = "".join("".join(each[-1].split()) for own in texts for each in own)
    is_coded = values["unmapped"] > MOST_UNMAPPED * len(text) and not _reads(text)
    if is_coded or values["pictured"]:
        found.bare.append(number)
    if not is_coded:
        found.pages += [Page.of(number, values["label"], [tuple(each) for each in own]) for own in texts]
    return int(number) + 1


def _reads(text: str) -> bool:
    """Whether the codes of type that has no map are letters all the same, as they are in old files of TeX."""
    letters = [each for each in text if each.isalpha()]
    return len(letters) > len(text) / 2 and sum(each in "aeiouAEIOU" for each in letters) > LEAST_VOWELS * len(letters)


def _said(path: Path, first: int) -> Iterator[bytes]:
    """The lines of the process, as long as they are whole."""
    command = [sys.executable, "-P", "-m", "lorekeeper.intake.pdf_process", str(path), str(first), str(PAGE_SECONDS)]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=none, stdout=subprocess.PIPE, stderr=none) as process:  # noqa: S603  # our own program
        assert process.stdout
        try:
            while (line := process.stdout.readline(MAX_LINE)).endswith(b"\n") or len(line) == MAX_LINE:
                yield line
        finally:
            process.kill()
