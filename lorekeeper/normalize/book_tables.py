"""The tables in the text of a book's entry that are rolled on, as rules of the same book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lorekeeper.audience import GM_PART
from lorekeeper.entities import AUDIENCE, Entity, parse_uri
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize.build import Origin, build, own_error, part_key, slugify
from lorekeeper.normalize.foundry.fields import SOURCE as FOUNDRY
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.normalize.reading import strings
from lorekeeper.play.tables import Table, as_data, as_markdown, tables_in
from lorekeeper.printable import shown
from lorekeeper.render.pages import markdown

# --- what tables have in common that become entries of their own ------------------------------------------------------

KIND = "table"
"""The kind of tables that are rolled on, among rules."""

MOST = 100
"""Most tables of a text that become entries; of a note, most of each audience."""


@dataclass
class Tables:
    """The tables of a text.

    Attributes:
        entities: in reading order; of a note, those of one audience together.
        problems: what could not be stored, and why.
    """

    entities: list[Entity] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def table_data(found: Table) -> dict[str, Any]:
    """The data of a table: its name, its text with a first column of the numbers, and what `tables_of` reads."""
    data = as_data(found)
    return {"name": found.name, "desc": as_markdown(data), "table": data}


def too_many(number: int) -> str:
    """The problem of a text with more tables than `MOST`."""
    return f"it has {number} tables to roll on; those after the first {MOST} are text only"


Key = tuple[str, tuple[str, str]]
"""Type and identity of an entry."""

TYPE = "rules"
"""The type of the tables."""

ENTRY = "entry_uri"
"""The key of a table's data that says which entry it is from."""

FEWEST_ROWS = 2

NO_TYPES = frozenset({"documents", "notes"})
"""Types whose entries give no tables: what books say of themselves, and notes, which `note_tables` reads."""

NO_SOURCES = frozenset({FOUNDRY, VAULT})
"""Sources whose tables are entries already: texts of Foundry embed its tables, which are documents of their own."""

CREDITS = ("license", "licenses", "document__license_url", "document__url")
"""Keys of an entry's data with which it says itself under which licence it is; its tables are under the same."""

_DICE_IN_A_CELL = re.compile(r"[dD] ?[\d%][^|\n]{0,60}(?:\||</t[dhr])", re.IGNORECASE)
"""What a text has if a cell of a table in it, in Markdown or HTML, names dice; other texts match as well."""


def may_have_tables(entity: Entity) -> bool:
    """Whether an entry may give tables: only of these is the page made, which takes a hundred times as long as this."""
    if entity.type in NO_TYPES or entity.source_api in NO_SOURCES or entity.kind == KIND:
        return False
    return not isinstance(entity.data.get("table"), Mapping) and any(map(_DICE_IN_A_CELL.search, strings(entity.data)))


def book_tables(entity: Entity) -> Tables:
    """The tables of an entry whose first column is headed by dice, as entries of its document, for those who may see it.

    What only the game master sees of an entry that others see as well is text only. An entry that is a table has none.
    """
    result = Tables()
    if not may_have_tables(entity):
        return result
    try:
        with own_error():
            open_to_all = replace(entity, data={key: value for key, value in entity.data.items() if key != GM_PART})
            found = [each for each in tables_in("", markdown(open_to_all)) if len(each.rows) >= FEWEST_ROWS]
    except FilterError as error:
        result.problems.append(f"its tables: {error}")
        return result
    headings, numbers = Counter(each.name for each in found), Counter[str]()
    for each in found[:MOST]:
        title = _title(entity, each, alone=headings[each.name] == 1)
        numbers[title] += 1
        try:
            with own_error():
                result.entities.append(_entity(entity, each, title, numbers[title]))
        except FilterError as error:
            result.problems.append(f"its table {shown(title, 60)}: {error}")
    if len(found) > MOST:
        result.problems.append(too_many(len(found)))
    return result


def _title(entity: Entity, found: Table, *, alone: bool) -> str:
    """What a table is called within its entry: its caption or heading, of several under one their columns, else "Table"."""
    own = ("", fold(entity.name))
    if fold(found.name) not in own and (alone or len(found.columns) != 1):
        return found.name
    column = next(iter(found.columns), "")
    return column if fold(column) not in own else "Table"


def _name(entity: Entity, title: str, number: int) -> str:
    """A name that says which entry the table is from, and never is the entry's own."""
    named = f" {fold(entity.name)} " in f" {fold(title)} "
    numbered = f"{title} ({number})" if number > 1 else title
    return numbered if named else f"{entity.name}: {numbered}"


def _entity(entity: Entity, found: Table, title: str, number: int) -> Entity:
    name = _name(entity, title, number)
    data = {
        **table_data(replace(found, name=name)),
        ENTRY: entity.uri,
        "entry_name": entity.name,
        **{key: entity.data[key] for key in CREDITS if key in entity.data},
    }
    readable = slugify(title).removeprefix(f"{entity.slug}-")
    slug = part_key(f"{entity.slug}-{readable}", entity.type, entity.slug, title, str(number))
    origin = Origin(entity.source_api, entity.document, entity.document_name)
    return build(TYPE, data, origin, name=name, kind=KIND, slug=slug, fields={AUDIENCE: entity.fields.get(AUDIENCE)})


def entry_of(table: Entity) -> Key | None:
    """The entry that `book_tables` made a table of; None for anything else."""
    uri = table.data.get(ENTRY) if table.kind == KIND else None
    if not isinstance(uri, str):
        return None
    try:
        entity_type, document, slug = parse_uri(uri)
    except ValueError:
        return None
    return entity_type, (document, slug)
