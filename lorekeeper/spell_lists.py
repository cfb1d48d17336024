"""The spells of a class over all books, and those that a subclass brings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import MAX_TEXT_LENGTH, Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.filters import MAX_VALUES, unknown_name
from lorekeeper.folding import fold, fold_class
from lorekeeper.printable import shown
from lorekeeper.render.pages import markdown
from lorekeeper.render.prose import inline
from lorekeeper.render.spell import ORDINALS
from lorekeeper.render.tables import PageTable, page_tables
from lorekeeper.text.spelling import as_spelt

MOST_NAMED = MAX_VALUES
"""Most spells that are looked up for a subclass, in one query."""

_SPELLS = re.compile(r"\bspells?$", re.IGNORECASE)
_LEVEL = re.compile(r"\blevel\b", re.IGNORECASE)
_NOTE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True)
class Listed:
    """A spell of a list.

    Attributes:
        name: as the list has it.
        entities: the spell in each book that has it, the preferred book's first; none if no book in the library has.
    """

    name: str
    entities: tuple[Entity, ...]


@dataclass(frozen=True)
class SpellList:
    """The spells of a class or subclass.

    Attributes:
        name: of the class or subclass.
        uri: of the subclass, "" for a class, which stands for those of all books.
        groups: spells in alphabetical order under their level, as the book writes it.
    """

    name: str
    uri: str
    groups: tuple[tuple[str, tuple[Listed, ...]], ...]

    @property
    def spells(self) -> int:
        """How many spells it has."""
        return sum(len(group) for _, group in self.groups)

    def content(self) -> dict[str, object]:
        """``{"name", "uri", "groups": [{"level", "spells": [{"name", "uris"}]}]}``."""
        groups = [
            {"level": level, "spells": [{"name": each.name, "uris": [e.uri for e in each.entities]} for each in group]}
            for level, group in self.groups
        ]
        return {"name": self.name, "uri": self.uri or None, "groups": groups}

    def markdown(self) -> str:
        """The list as a page: a section for each level, a line for each spell with its books."""
        sections = [
            "\n".join([f"## {inline(level)}", "", *(f"- {_line(each)}" for each in group)])
            for level, group in self.groups
        ]
        return "\n\n".join([f"# Spells: {inline(self.name)}", *sections])


def _line(listed: Listed) -> str:
    """A spell in a line: what kind of spell it is, and the books that have it."""
    if not listed.entities:
        return f"{inline(listed.name)} (in no book of this library)"
    spell = listed.entities[0]
    flags = [flag for flag in ("ritual", "concentration") if spell.fields.get(flag)]
    spelt = as_spelt(spell).fields
    told = [str(spelt.get("school") or ""), str(spelt.get("casting_time") or ""), *flags]
    books = ", ".join(dict.fromkeys(each.document for each in listed.entities))
    return f"**{inline(listed.name)}** {' · '.join(filter(None, [*map(inline, told), books]))}"


async def spell_list(
    cache: SearchCache, order: Sequence[str], name: str, documents: Sequence[str] | None = None
) -> SpellList:
    """The spells of a class, by name, or those that a subclass brings, by name.

    Args:
        cache: what the viewer sees.
        order: keys of the documents in the order in which they are preferred.
        name: of the class or subclass, in any case.
        documents: keys of the only documents whose spells are listed, or whose subclass is meant; all by default.

    Raises:
        NotFoundError: no spell is of such a class, and no subclass has the name.
        CacheError: the library cannot be read.
    """
    places = {key: place for place, key in enumerate(order)}
    classes = (await cache.count_values("spells", "classes", documents)).counts
    if fold_class(name) in classes:
        spells = await cache.get_entities("spells", documents, classes=fold_class(name))
        return SpellList(str(fold_class(name)).title(), "", tuple(_by_level(spells, places)))
    found = await cache.get_entities("character_options", documents, kind="subclass", name=name)
    exact = [each for each in found if fold(each.name) == fold(name)]
    if not exact:
        names = [*map(str, classes), *{each.name for each in found}]
        raise NotFoundError(f"{unknown_name(name, names, 'class')}; subclasses are found by their whole names")
    for subclass in sorted(exact, key=lambda each: places.get(each.document, len(places))):
        if tables := [table for table in page_tables(markdown(subclass)) if _has_spells(table)]:
            groups = await _of_tables(cache, tables, {**places, subclass.document: -1})
            return SpellList(subclass.name, subclass.uri, tuple(groups))
    raise NotFoundError(f"the text of {shown(exact[0].name)} has no table of spells")


# --- classes ---------------------------------------------------------------------------------------------------------


def _by_level(spells: Iterable[Entity], places: dict[str, int]) -> Iterator[tuple[str, tuple[Listed, ...]]]:
    """Spells by level, those of one name and level once; spells without a level last."""
    levels: dict[int | None, dict[str, list[Entity]]] = {}
    for spell in spells:
        level = spell.fields.get("level")
        named = levels.setdefault(level if isinstance(level, int) else None, {})
        named.setdefault(fold(spell.name), []).append(spell)
    for level in sorted(levels, key=lambda level: (level is None, level or 0)):
        ordered = [_ordered(twins, places) for _, twins in sorted(levels[level].items())]
        yield _level_title(level), tuple(Listed(twins[0].name, twins) for twins in ordered)


def _ordered(twins: Iterable[Entity], places: dict[str, int]) -> tuple[Entity, ...]:
    """A spell as the books have it, the preferred book's first."""
    return tuple(sorted(twins, key=lambda spell: (places.get(spell.document, len(places)), spell.identity)))


def _level_title(level: int | None) -> str:
    if level is None:
        return "Level unknown"
    return f"{ORDINALS.get(level, f'{level}th')} level" if level else "Cantrips"


# --- subclasses ------------------------------------------------------------------------------------------------------


def _has_spells(table: PageTable) -> bool:
    """Whether a table lists spells by level; not one that counts the spells which a character knows."""
    first, *others = table.columns
    return bool(others and _LEVEL.search(first) and all(map(_SPELLS.search, others)))


async def _of_tables(
    cache: SearchCache, tables: Iterable[PageTable], places: dict[str, int]
) -> list[tuple[str, tuple[Listed, ...]]]:
    """The rows of tables with their spells; the subclass's own document has the first of the places."""
    rows = [row for row in _rows(tables) if row[1]]
    folded = dict.fromkeys(fold(name) for _, names in rows for name in names)
    wanted = [name for name in folded if len(name) <= MAX_TEXT_LENGTH]
    found: dict[str, list[Entity]] = {}
    for spell in await cache.get_entities("spells", name_folded=wanted) if wanted else ():
        found.setdefault(fold(spell.name), []).append(spell)
    return [
        (level, tuple(Listed(name, _ordered(found.get(fold(name), ()), places)) for name in names))
        for level, names in rows
    ]


def _rows(tables: Iterable[PageTable]) -> Iterator[tuple[str, list[str]]]:
    """From which level on there are the spells of each row, and their names, `MOST_NAMED` in all."""
    room = iter(range(MOST_NAMED))
    tables = list(tables)
    for table in tables:
        of = f"{table.name}, " if table.name and len(tables) > 1 else ""
        for first, *cells in table.rows:
            named = (name for cell in cells for name in _names(cell))
            title = f"{of}from {table.columns[0].lower()} {first}"
            yield title[0].upper() + title[1:], [name for name, _ in zip(named, room, strict=False)]


def _names(cell: str) -> list[str]:
    """The names in a cell, without notes in brackets."""
    return [name.strip() for name in re.split(r"[,;]", _NOTE.sub("", cell)) if any(map(str.isalpha, name))]
