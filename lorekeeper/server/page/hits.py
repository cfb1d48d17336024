"""The hits of a list: one row each, the versions of an entry together, with columns that a click sorts by."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from lorekeeper.editions import edition_label
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.order import BOOK, EDITION, TYPE, TYPED
from lorekeeper.search.query_syntax import without_test
from lorekeeper.search.results import RULES, Key, Result
from lorekeeper.search.versions import ALONE
from lorekeeper.server.page.site import address
from lorekeeper.text.facts import SEPARATOR, facts, format_rating
from lorekeeper.text.names import canonical_name
from lorekeeper.text.spelling import as_spelt
from lorekeeper.views.view import View

SHORTEST = 3
"""Letters from which on a word is highlighted in snippets, with whatever ending."""

NUMBERS = {
    "spells": ("level", "Level", "Lv", "level"),
    "creatures": ("challenge_rating", "CR", "CR", "cr"),
    "notes": ("session", "Session", "Session", "session"),
}
"""Of each type the number that has a column: its field, the heading, also next to another one, and the order by it."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Hit:
    """A result, and the documents of all its versions, its own first."""

    result: Result
    documents: Sequence[str]


@dataclass(frozen=True)
class Shown:
    """A row of the list.

    Attributes:
        result: what is shown.
        address: of the page with its entry open.
        snippet: its text, with the words marked that were searched for.
        number: what is in the column of challenge ratings and levels.
        kind: what is in the column of types.
        facts: the other facts, in one line.
        editions: of its versions, as texts name them.
        elsewhere: how many versions of it other documents have.
    """

    result: Result
    address: str
    snippet: Markup
    number: str
    kind: str
    facts: str
    editions: Sequence[str]
    elsewhere: int


@dataclass(frozen=True)
class Column:
    """A heading that sorts the list; ``way`` is "ascending" or "descending" if it does so already.

    One without an address does not: of numbers that mean several things.
    """

    name: str
    label: str
    address: str
    way: str = ""


def merged(results: Sequence[Result]) -> list[Hit]:
    """The results of a page, those that are versions of one entry as one hit: the first of them, as the list prefers it."""
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        groups.setdefault(_version(result.entity), []).append(result)
    return [Hit(group[0], list(dict.fromkeys(_documents(group)))) for group in groups.values()]


def _version(entity: Entity) -> Hashable:
    chapter = entity.fields.get("parent") if entity.type == RULES else None
    return entity.uri if entity.type in ALONE else (entity.type, entity.kind, chapter, canonical_name(entity.name))


def _documents(group: Iterable[Result]) -> Iterable[str]:
    for result in group:
        yield result.entity.document
        yield from (document for _, (document, _) in (result.hit.duplicates if result.hit else ()))


async def hits_of(view: View, groups: Sequence[Sequence[Key]]) -> list[Hit]:
    """Hits for groups of keys, of each the first one that exists, without texts."""
    titles = await view.searcher.documents.titles()
    found: dict[Key, Entity] = {}
    for entity_type in dict.fromkeys(group[0][0] for group in groups):
        wanted = [identity for kind, identity in (group[0] for group in groups) if kind == entity_type]
        found |= {(entity_type, each.identity): each for each in await view.cache.load(entity_type, wanted)}
    hits = []
    for group in groups:
        entity = found.get(group[0])
        if entity is not None:
            title = titles.get(entity.document) or entity.document_name or entity.document
            result = Result(entity, title, None, "name", facts(entity), "")
            hits.append(Hit(result, list(dict.fromkeys(document for _, (document, _) in group))))
    return hits


async def shown_of(view: View, hit: Hit, link: str, words: Sequence[str], *, alike: bool = False) -> Shown:
    """A hit as a row; ``alike`` if all hits of its list are of one kind, so that the kind alone says nothing."""
    result, documents = hit.result, view.searcher.documents
    editions = [edition_label(await documents.edition_of(key)) for key in hit.documents]
    return Shown(
        result,
        link,
        highlighted(result.snippet, words),
        number_of(result.entity),
        _kind(result.entity, alike=alike),
        _facts(result.entity),
        list(dict.fromkeys(filter(None, editions))),
        len(hit.documents) - 1,
    )


def _kind(entity: Entity, *, alike: bool) -> str:
    """The kind of an entry; in a list of one kind the type of a creature, and the school of a spell."""
    spelt = as_spelt(entity)
    value = spelt.fields.get(TYPED.get(entity.type, "")) if alike else None
    first = value[0] if isinstance(value, list | tuple) and value else value
    return str(first or spelt.kind.replace("-", " "))


def number_of(entity: Entity) -> str:
    """The challenge rating of a creature, the level of a spell, the number of a session; "" for others."""
    value = entity.fields.get(NUMBERS[entity.type][0]) if entity.type in NUMBERS else None
    return format_rating(float(value)) if isinstance(value, int | float) else ""


def _facts(entity: Entity) -> str:
    """The facts of an entry, without what has a column of its own."""
    parts = facts(entity).split(SEPARATOR)
    return SEPARATOR.join(part for part in parts if not part.startswith("CR ") and fold(part) != fold(entity.kind))


def highlighted(text: str, words: Iterable[str]) -> Markup:
    """A text as HTML, with those of its words marked that begin as one of the folded words does."""
    beginnings = tuple(word[: max(SHORTEST, len(word) - 2)] for word in words if len(word) >= SHORTEST)
    parts, end = [], 0
    for match in _WORD.finditer(text):
        if beginnings and fold(match[0]).startswith(beginnings):
            parts += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
            end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def columns(entities: Sequence[Entity], text: str, order: str | None) -> list[Column]:
    """The columns that the list can be sorted by; a second click turns the order round, a third one takes it away."""
    numbered = {entity.type for entity in entities if number_of(entity)}
    numbers = [number for entity_type, number in NUMBERS.items() if entity_type in numbered]
    plain = without_test(text, "order")
    headings = [
        ("name", "Name", "name"),
        *([("number", numbers[0][1], numbers[0][3])] if len(numbers) == 1 else []),
        *([("number", " / ".join(short for _, _, short, _ in numbers), "")] if len(numbers) > 1 else []),
        ("kind", "Type", TYPE),
        ("book", "Book", BOOK),
        ("edition", "Edition", EDITION),
    ]
    return [_column(name, label, by, plain, order) for name, label, by in headings]


def _column(name: str, label: str, by: str, text: str, order: str | None) -> Column:
    if not by:
        return Column(name, label, "")
    first, second = ("descending", "ascending") if by == "cr" else ("ascending", "descending")
    turned = f'"{by} {second[: -len("ending")]}"'
    now = (order or "").casefold()
    if now == by:
        return Column(name, label, address("/", q=f"{text} order:{turned}".strip()), first)
    if now == turned.strip('"'):
        return Column(name, label, address("/", q=text), second)
    return Column(name, label, address("/", q=f"{text} order:{by}".strip()))
