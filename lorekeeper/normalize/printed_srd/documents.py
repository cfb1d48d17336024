"""What is peculiar to the two system reference documents: their chapters, and the keys of their entries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.book import Book
from lorekeeper.normalize.build import Imported, Origin, slugify
from lorekeeper.normalize.lined import SOURCE
from lorekeeper.normalize.printed_srd.layout import Paragraph, paragraphs
from lorekeeper.normalize.printed_srd.structure import Structure, is_value_line, says_kind
from lorekeeper.normalize.printed_srd.tables import listed

OUTLINE = "index.json"
"""File beside the folder of the pages that has the bookmarks of the PDF: a title, a depth and the number of a page each."""

TITLES = Path(__file__).with_name("titles.tsv")

_CAPTION = re.compile(r"^\*\*([^*\n]+)\*\*$", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """A document whose pages can be read.

    Attributes:
        key: of its entries.
        title: as it is printed.
        start: title of its first chapter; what stands before is its contents and its licence.
        has_rules_alone: whether what is listed as rules is read alone, as all else has a better source.
    """

    key: str
    title: str
    start: str
    has_rules_alone: bool = False


DOCUMENTS: Mapping[str, Document] = {
    "2024": Document("srd-2024", "System Reference Document 5.2.1", "Playing the Game"),
    "2014": Document("srd-2014", "System Reference Document 5.1", "Races", has_rules_alone=True),
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
    titles = _titles(edition)
    outline = [(each.title, each.level, each.page) for each in titles.values() if each.level]
    marks = folder.parent / OUTLINE
    rules = {place: title for place, title in titles.items() if title.is_rule}
    found = printed_paragraphs(folder, edition)
    boxes = {place: title.box for place, title in titles.items() if title.box}
    outline = outline or _bookmarks(marks)
    structure = Structure(found, outline, titles, boxes)
    lines, numbers = list[str](), list[int]()
    for block in structure.blocks():
        for line in (*block.markdown.split("\n"), ""):
            lines.append(line)
            numbers.append(block.page)
    origin = Origin(SOURCE, document.key, document.title)
    book = Book(origin, pages=numbers, rules={each.title for each in rules.values()})
    read = book.read("\n".join(lines))
    game = {"gamesystem": {"key": f"5e-{edition}"}}
    entities: dict[tuple[str, str], Entity] = {}
    for entity in read.entities:
        is_part = entity.type == "rules" and _place(entity) in titles and _place(entity) not in rules
        if not is_part and (not document.has_rules_alone or _place(entity) in rules):
            made = _keyed(replace(entity, data={**entity.data, "document": game}), rules)
            key = made.type, made.slug
            entities[key] = _longer(entities[key], made) if key in entities else made
    return replace(read, entities=list(entities.values()))


@dataclass(frozen=True)
class _Title:
    """A title of a document.

    Attributes:
        level: of it, 0 if the bookmarks say.
        slug: of the rule that Open5e has of it, "" if it has none.
        is_rule: whether what stands below is one.
        box: how many paragraphs the box below has, 0 if it is none, or its end shows.
    """

    page: int
    level: int
    slug: str
    title: str
    is_rule: bool = True
    box: int = 0


def _titles(edition: str) -> dict[tuple[int, str], _Title]:
    """The titles of an edition that are listed, by page and folded title."""
    found: dict[tuple[int, str], _Title] = {}
    for line in TITLES.read_text("utf-8").splitlines():
        if line.startswith(f"{edition}\t"):
            _, page, level, slug, title = line.split("\t")
            key, is_box = slug.strip("-."), level.startswith("+")
            number = int(level.strip("-+") or 0)
            found[int(page), fold(title)] = _Title(
                int(page), 0 if is_box else number, key, title, slug != ".", number if is_box else 0
            )
    return found


def _bookmarks(path: Path) -> list[tuple[str, int, int]]:
    """The titles of the bookmarks with their levels and pages, which are counted from 0 there."""
    if not path.is_file():
        return []
    marks = json.loads(path.read_text("utf-8"))
    return [(mark["title"], mark["depth"], mark["page"]) for mark in marks if mark["page"] is not None]


@lru_cache(maxsize=1)
def printed_paragraphs(folder: Path, edition: str) -> list[Paragraph]:
    """The paragraphs of a document from its first chapter on; see `read_pages`."""
    pages = [path.read_bytes().decode("utf-8") for path in sorted(folder.glob("page-*.txt"))]
    found = paragraphs(pages, listed(edition, folder.parent))
    start = next((place for place, each in enumerate(found) if each.text == DOCUMENTS[edition].start), 0)
    return [each for each in found if each.page >= found[start].page]


def is_value_or_kind(line: str) -> bool:
    """Whether a line is a value of an entry, or says what it is."""
    return is_value_line(line) or says_kind(line)


def _longer(entity: Entity, more: Entity) -> Entity:
    """An entry with the text of another one whose title is the same, on the same page."""
    texts = (str(each.data.get("desc") or "") for each in (entity, more))
    return replace(entity, data={**entity.data, "desc": "\n\n".join(filter(None, texts))})


def _place(entity: Entity) -> tuple[int, str]:
    return entity.data["page"], fold(entity.name)


def _keyed(entity: Entity, titles: Mapping[tuple[int, str], _Title]) -> Entity:
    """An entry under the key that Open5e has for it: of a rule as listed; of others, a stroke in the name is left out.

    A box stands below the chapter that its key begins with.
    """
    if entity.type == "rules" and (title := titles.get(_place(entity))) and title.slug:
        chapter = title.slug.rpartition("_")[0] if title.box else ""
        parents = [fold(each.title) for each in titles.values() if chapter and each.slug == chapter]
        return replace(entity, slug=title.slug, fields={**entity.fields, **({"parent": parents[0]} if parents else {})})
    return replace(entity, slug=slugify(entity.name.replace("/", ""))) if "/" in entity.name else entity
