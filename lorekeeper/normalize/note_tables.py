"""The tables of a note that are rolled on, as rules of its vault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lorekeeper.audience import DM, PLAYERS, Audience, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize.book_tables import KIND, MOST, Tables, table_data, too_many
from lorekeeper.normalize.build import Origin, build, own_error
from lorekeeper.normalize.notes import SOURCE, origin_of, rejoined, slug_of, vault_audiences
from lorekeeper.notes.note import PATH_SEPARATOR, Note, Section
from lorekeeper.play.tables import Table, tables_in, told_apart
from lorekeeper.printable import shown
from lorekeeper.render.prose import prose

_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)


def note_tables(note: Note, document: str, document_name: str) -> Tables:
    """The tables of a note whose first column is headed by dice, each with the marks of the section that it is in.

    A table is called by its caption, else by the heading above it as far as all know that who see the table, else by the note
    and its column. Nothing of it depends on what others may see of the note.

    Args:
        note: as it was read.
        document: key of its vault.
        document_name: name of its vault.
    """
    result, origin = Tables(), Origin(SOURCE, document, document_name)
    for found in _by_audience(note, result.problems).values():
        numbers: Counter[str] = Counter()
        names = [each.name for each in told_apart([each for _, each in found])]
        for (section, each), name in zip(found[:MOST], names[:MOST], strict=True):
            numbers[name] += 1
            try:
                with own_error():
                    result.entities.append(_entity(note, section, replace(each, name=name), numbers[name], origin))
            except FilterError as error:
                result.problems.append(f"table {shown(name, 60)}: {error}")
        if len(found) > MOST:
            result.problems.append(too_many(len(found)))
    return result


def _by_audience(note: Note, problems: list[str]) -> Mapping[Audience | None, list[tuple[Section, Table]]]:
    """The tables with their sections, by who may see them: what they are called must not tell of what others see.

    What cannot be read is one more of the problems.
    """
    found: dict[Audience | None, list[tuple[Section, Table]]] = {}
    for section in _whole(note.sections):
        if "|" not in section.text:
            continue
        try:
            with own_error():
                tables = list(tables_in("", prose(_QUOTED.sub("", section.text))))
        except FilterError as error:
            problems.append(f"tables of the section {shown(section.path or note.name, 60)}: {error}")
            continue
        for each in tables:
            named = replace(each, name=each.name or _name(note, section, each))
            found.setdefault(section.audience, []).append((section, named))
    return found


def _whole(sections: Sequence[Section]) -> Iterator[Section]:
    """The sections; one from the midst of which something with a mark of its own was cut is whole again."""
    last: dict[Audience | None, list[Section]] = {}
    found: list[list[Section]] = []
    for section in sections:
        before = last.get(section.audience)
        if before and section.continues and before[0].path == section.path:
            before.append(section)
        else:
            last[section.audience] = [section]
            found.append(last[section.audience])
    for first, *others in found:
        yield replace(first, text=rejoined(first.text, *(each.text for each in others)))


def _name(note: Note, section: Section, found: Table) -> str:
    heading = _heading(note, section)
    if heading:
        return heading
    column = found.columns[0] if len(found.columns) == 1 else ""
    return note.name if fold(column) in ("", fold(note.name)) else f"{note.name}: {column}"


def _heading(note: Note, section: Section) -> str:
    """The heading that a section stands under, "" for none, or one that not all know who see the section."""
    shared_alone = section.audience not in (None, DM) and within(None, note.audience, DM) != PLAYERS
    return (section.opened if shared_alone else section.path).rpartition(PATH_SEPARATOR)[2]


def _entity(note: Note, section: Section, found: Table, number: int, origin: Origin) -> Entity:
    data = {**table_data(found), **origin_of(note, section, origin.document)}
    slug = slug_of(note, found.name, number, section.audience)
    fields = {AUDIENCE: vault_audiences(data)}
    return build("rules", data, origin, name=found.name, kind=KIND, slug=slug, fields=fields)
