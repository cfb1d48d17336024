"""The hits of a list: one row each, the versions of an entry together, with columns that a click sorts by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from lorekeeper.dates import written
from lorekeeper.editions import edition_label
from lorekeeper.entities import COLLECTIONS, Entity, Field, FieldType
from lorekeeper.folding import fold
from lorekeeper.order import ASCENDING, BOOK, EDITION, TYPE, TYPED
from lorekeeper.search.query_syntax import called, without_test
from lorekeeper.search.results import Key, Result
from lorekeeper.server.found import together
from lorekeeper.server.page.site import address
from lorekeeper.server.twins import title_of
from lorekeeper.text.facts import facts, figure, format_rating, range_of
from lorekeeper.text.spelling import as_spelt
from lorekeeper.views.view import View

SHORTEST = 3
"""Letters from which on a word is highlighted in snippets, with whatever ending."""

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "creatures": {
        "type": "Type",
        "size": "Size",
        "challenge_rating": "CR",
        "armor_class": "AC",
        "hit_points": "HP",
        "speed_walk": "Walk",
        "speed_fly": "Fly",
    },
    "spells": {
        "level": "Lv",
        "school": "School",
        "casting_time": "Time",
        "concentration": "C",
        "ritual": "R",
        "range": "Range",
        "classes": "Classes",
    },
    "equipment": {
        "rarity": "Rarity",
        "requires_attunement": "Att.",
        "cost": "gp",
        "category": "Kind",
        "weight": "lb",
    },
    "character_options": {"kind": "Kind", "prerequisite": "Needs", "hit_die": "Hit die"},
    "rules": {"parent": "Chapter"},
    "notes": {"kind": "Kind", "folder": "Folder", "modified": "Changed"},
    "characters": {
        "classes": "Class",
        "armor_class": "AC",
        "hit_points": "HP",
        "passive_perception": "Perc.",
        "speed_walk": "Walk",
    },
}
"""The columns of a list of one type: fields, with what is over them. The style sheet says for which there is room."""

LEADING = ("challenge_rating", "level", "rarity")
"""The fields that stand behind the name where lists have several types."""

LONGEST_KEY = 8
"""A key of at most as many characters is what people call a book for short."""

BEFORE = 4
"""Words that are shown before the first one that was searched for."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Hit:
    """A result, and how many other documents have versions of it."""

    result: Result
    elsewhere: int


@dataclass(frozen=True)
class Cell:
    """A value in a column, and whether it is a number."""

    name: str
    label: str
    text: str
    is_number: bool = False


@dataclass(frozen=True)
class Shown:
    """A row of the list.

    Attributes:
        result: what is shown.
        address: of the page with its entry open.
        line: its text, with the words marked that were searched for; its facts if there is none.
        cells: its values in the columns of its type.
        book: what its document is called for short.
        elsewhere: how many versions of it other documents have.
    """

    result: Result
    address: str
    line: Markup
    cells: Sequence[Cell]
    book: str
    elsewhere: int


@dataclass(frozen=True)
class Column:
    """A heading; ``way`` is "ascending" or "descending" if the list is sorted by it. One without an address does not sort."""

    name: str
    label: str
    address: str
    way: str = ""


def merged(results: Sequence[Result]) -> list[Hit]:
    """The results of a page, those that are versions of one entry as one hit: the first of them, as the list prefers it."""
    return [Hit(group[0], len(_documents(group)) - 1) for group in together(results)]


def _documents(group: Sequence[Result]) -> set[str]:
    duplicates = {document for each in group if each.hit for _, (document, _) in each.hit.duplicates}
    return duplicates | {each.entity.document for each in group}


async def hits_of(view: View, groups: Sequence[Sequence[Key]]) -> list[Hit]:
    """Hits for groups of keys, of each the first one that exists, without texts."""
    found: dict[Key, Entity] = {}
    for entity_type in dict.fromkeys(group[0][0] for group in groups):
        wanted = [identity for kind, identity in (group[0] for group in groups) if kind == entity_type]
        found |= {(entity_type, each.identity): each for each in await view.cache.load(entity_type, wanted)}
    hits = []
    for group in groups:
        if entity := found.get(group[0]):
            result = Result(entity, await title_of(view, entity), None, "name", facts(entity), "")
            hits.append(Hit(result, len({document for _, (document, _) in group}) - 1))
    return hits


async def shown_of(view: View, hit: Hit, link: str, words: Sequence[str]) -> Shown:
    """A hit as a row: beside words only with what stands behind its name."""
    result, entity = hit.result, as_spelt(hit.result.entity)
    named = COLUMNS.get(entity.type, {}).items()
    cells = [_cell(entity, name, label) for name, label in named if not words or name in LEADING]
    if not words:
        edition = await view.searcher.documents.edition_of(entity.document)
        cells.append(Cell("edition", "Edition", edition_label(edition)))
    return Shown(
        result,
        link,
        highlighted(result.snippet, words) or escape(result.facts),
        cells,
        short_title(entity.document, result.document_name),
        hit.elsewhere,
    )


def _cell(entity: Entity, name: str, label: str) -> Cell:
    """The value of a field in a column: of a flag its label."""
    value = entity.kind.replace("-", " ") if name == "kind" else entity.fields.get(name)
    text = range_of(entity) if name == "range" else str(value or "")
    if isinstance(value, tuple):
        # what another value says too is left out: "medium" beside "medium or small", "world" beside "world/places"
        said = {each: set(_WORD.findall(each)) for each in value}
        text = ", ".join(each for each in said if not any(said[each] < other for other in said.values()))
    elif isinstance(value, bool):
        text = label if value else ""
    elif isinstance(value, int | float) and name != "range":
        return Cell(name, label, {"challenge_rating": format_rating, "modified": day}.get(name, figure)(value), True)
    return Cell(name, label, text.rpartition("/")[2] if name == "folder" else text)


def day(seconds: float) -> str:
    """The day of a moment."""
    return written(seconds)[: len("2026-11-20")]


def short_title(key: str, title: str) -> str:
    """What a document is called for short: its key if that is short ("SRD 24"), else the initials of its title."""
    name = key if len(key) <= LONGEST_KEY else "".join(word[0] for word in _WORD.findall(title)) or key
    return re.sub(r"\b(?:19|20)(?=\d\d\b)", "", name.replace("-", " ")).upper()


def highlighted(text: str, words: Iterable[str]) -> Markup:
    """A text as HTML, from a few words before the first of those that begin as one of the folded words does; these are marked."""
    beginnings = tuple(word[: max(SHORTEST, len(word) - 2)] for word in words if len(word) >= SHORTEST)
    found = list(_WORD.finditer(text))
    marked = [place for place, word in enumerate(found) if beginnings and fold(word[0]).startswith(beginnings)]
    start = found[marked[0] - BEFORE].start() if marked and marked[0] > 2 * BEFORE else 0
    parts, end = [Markup("… ")] if start else [], start
    for match in map(found.__getitem__, marked):
        parts += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def columns(entities: Sequence[Entity], text: str, order: str | None) -> list[Column]:
    """The headings of a list of one type, else what any list can be sorted by; a second click turns the order round, a third one
    takes it away."""
    name, *others = {entity.type for entity in entities} or {""}
    own = {"kind": "Type"} if others else COLUMNS.get(name, {})
    plain = without_test(text, "order")
    fields = COLLECTIONS[name].filters if name and not others else {}
    headings = [
        ("name", "Name", "name"),
        *((each, label, _order(fields.get(each), each)) for each, label in own.items()),
        ("edition", "Edition", EDITION),
        ("book", "Book", BOOK),
    ]
    return [_column(name, label, by, plain, order) for name, label, by in headings]


def _order(field: Field | None, name: str) -> str:
    """The order by a column, "" for none."""
    if name in ("kind", *TYPED.values()):
        return TYPE
    return called(field) if field and field.type in (FieldType.INTEGER, FieldType.DECIMAL) else ""


def _column(name: str, label: str, by: str, text: str, order: str | None) -> Column:
    if not by:
        return Column(name, label, "")
    first, second = "ascending", "descending"
    if by not in ("name", TYPE, BOOK, EDITION) and name not in ASCENDING:
        first, second = second, first
    turned = f'"{by} {second[: -len("ending")]}"'
    now = (order or "").casefold()
    if now == by:
        return Column(name, label, address("/", q=f"{text} order:{turned}".strip()), first)
    if now == turned.strip('"'):
        return Column(name, label, address("/", q=text), second)
    return Column(name, label, address("/", q=f"{text} order:{by}".strip()))
