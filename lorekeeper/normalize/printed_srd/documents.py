"""What is peculiar to the two system reference documents: their chapters, and the keys of their entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.normalize.book import FEAT, Book
from lorekeeper.normalize.build import Imported, Origin, slugify
from lorekeeper.normalize.lined import SOURCE
from lorekeeper.normalize.printed_srd.layout import Paragraph, paragraphs
from lorekeeper.normalize.printed_srd.structure import Structure
from lorekeeper.notes.printed import CREATURE, RUBRICS, kind_said, plain

OUTLINE = "index.json"
"""File beside the folder of the pages that has the bookmarks of the PDF: a title, a depth and the number of a page each."""

_RUBRICS = frozenset(RUBRICS) - {"description", "features", "reaction", "action"}


@dataclass(frozen=True)
class Document:
    """A document whose pages can be read.

    Attributes:
        key: of its entries.
        title: as it is printed.
        start: title of its first chapter; what stands before is its contents and its licence.
    """

    key: str
    title: str
    start: str


DOCUMENTS: Mapping[str, Document] = {
    "2024": Document("srd-2024", "System Reference Document 5.2.1", "Playing the Game"),
    "2014": Document("srd-2014", "System Reference Document 5.1", "Races"),
}


def read_pages(folder: Path, edition: str) -> Imported:
    """The entries of a document. Blocking, for some seconds of CPU time.

    Args:
        folder: its pages, a file "page-NNN.txt" each.
        edition: "2024" or "2014".

    Returns:
        entries with the numbers of their pages; as warnings, what could not be read as printed.

    Raises:
        OSError: a page cannot be read.
    """
    document = DOCUMENTS[edition]
    pages = [path.read_text("utf-8") for path in sorted(folder.glob("page-*.txt"))]
    outline = _outline(folder.parent / OUTLINE)
    structure = Structure(_from(document, paragraphs(pages, _is_box)), outline, _says_kind, _RUBRICS)
    lines, numbers = list[str](), list[int]()
    for block in structure.blocks():
        for line in (*block.markdown.split("\n"), ""):
            lines.append(line)
            numbers.append(block.page)
    book = Book(Origin(SOURCE, document.key, document.title), pages=numbers)
    found = book.read("\n".join(lines))
    found.warnings += [(name, f"its table on page {page} is not parted in columns") for name, page in structure.unread]
    return replace(found, entities=list(map(_keyed, found.entities)))


def _outline(path: Path) -> list[tuple[str, int, int]]:
    """The titles of the bookmarks with their levels and pages, which are counted from 0 there."""
    if not path.is_file():
        return []
    marks = json.loads(path.read_text("utf-8"))
    return [(mark["title"], mark["depth"], mark["page"]) for mark in marks if mark["page"] is not None]


def _from(document: Document, found: list[Paragraph]) -> list[Paragraph]:
    start = next((place for place, each in enumerate(found) if each.text == document.start), 0)
    return [each for each in found if each.page >= found[start].page]


def _is_box(line: str) -> bool:
    return kind_said(plain(line)) == CREATURE


def _says_kind(line: str) -> bool:
    return bool(kind_said(plain(line))) or FEAT.fullmatch(line) is not None


def _keyed(entity: Entity) -> Entity:
    """An entry under the key that Open5e has for it: a stroke in a name is left out."""
    return replace(entity, slug=slugify(entity.name.replace("/", ""))) if "/" in entity.name else entity
