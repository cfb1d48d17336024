"""Rolls: of dice, on the tables of entries, and draws from decks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random, SystemRandom

from pydantic import Field

from lorekeeper.entities import MAX_URI_LENGTH, SEARCHED, Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.play.dice import MAX_TIMES, throws
from lorekeeper.play.tables import Rolled, Table, chosen
from lorekeeper.printable import one_line
from lorekeeper.search.addresses import addresses, uri_at
from lorekeeper.search.resolve_entry import entries_of, find_entry
from lorekeeper.server.answers import Answer, called
from lorekeeper.server.models import Entry, Rolls
from lorekeeper.server.tool import Arguments, Tool, model, optional_text
from lorekeeper.views.view import View

_random = SystemRandom()


def only_rolls(answer: Answer, entity: Entity) -> Answer:
    """Rolls on each table of an answer's entry and what the entry is, without its text.

    Raises:
        NotFoundError: the entry has no table to roll on.
    """
    rolled = [table.roll(_random) for table in chosen(entity)]
    content = {key: value for key, value in answer.structured.items() if key != "entity"}
    head = answer.text.partition("\n\n")[0]
    return Answer(
        Entry.model_validate({**content, "rolls": [each.content() for each in rolled]}),
        "\n".join([*map(_line, rolled), head]),
    )


async def _roll(view: View, arguments: Arguments) -> Answer:
    what, times, seed = arguments["what"], arguments.get("times", 1), arguments.get("seed")
    random = _random if seed is None else Random(seed)  # noqa: S311 - a roll that can be repeated
    thrown = await asyncio.to_thread(throws, what, times, random)
    if thrown is not None:
        content, text = thrown
        return Answer(Rolls.model_validate(content), text)
    what = await uri_at(view.cache, what) or what
    try:
        entity, tables, note = await _tables(view, what, arguments.get("table"))
    except NotFoundError:
        words = what.split()
        for number in range(len(words) - 1, 0, -1):  # "8d6 fireball" are dice, and what they are for
            dice = " ".join(words[:number])
            if thrown := await asyncio.to_thread(throws, dice, times, random):
                note = f"Only {dice!r} was rolled, of {one_line(what)!r}."
                return Answer(Rolls.model_validate({**thrown[0], "note": note}), f"Note: {note}\n{thrown[1]}")
        raise
    rolled = [each for table in tables for each in _rolls(table, times, random)]
    listed = [each.content() for each in rolled]
    found = Rolls(uri=entity.uri, document=entity.document, rolls=listed, note=note)
    gaps = [f"{one_line(table.title)}: numbers without a row are rolled again." for table in tables if table.gaps]
    notes = [f"Note: {one_line(note)}"] if note else []
    named = await addresses(view.cache, [entity])
    source = f"From {called(one_line(entity.name), one_line(named[entity.uri]))}"
    return Answer(found, "\n".join([*notes, *map(_line, rolled), *gaps, source]))


async def _tables(view: View, what: str, name: str | None) -> tuple[Entity, list[Table], str | None]:
    """The tables of the entry of a uri or name: of several that are called so, the first that has one.

    Raises:
        NotFoundError: there is no such entry, or it has no such table.
    """
    found = await find_entry(view.search, view.entities_at, what, SEARCHED)
    refused: NotFoundError | None = None
    for entity in [found.entity, *[each for uri in found.others for each in await entries_of(view.entities_at, uri)]]:
        try:
            return entity, chosen(entity, name), found.note
        except NotFoundError as error:
            refused = refused or error
    if refused and found.note:  # the name was read as another one, which says nothing of tables
        nearest = one_line(found.entity.name)
        raise NotFoundError(
            f"no entry with a table is called {one_line(what)!r}; what was found, {nearest}, has none"
        ) from refused
    raise refused or NotFoundError(f"no entry is called {one_line(what)}")


def _rolls(table: Table, times: int, random: Random) -> Sequence[Rolled]:
    """Rolls on a table; of a deck each card is drawn once."""
    if not table.is_even:
        return [table.roll(random) for _ in range(times)]
    drawn = random.sample(table.rows, min(times, len(table.rows)))
    return [Rolled(table, row.least, row, ()) for row in drawn]


def _line(rolled: Rolled) -> str:
    return f"Rolled: {one_line(rolled.line())}"


ROLL = Tool(
    name="roll",
    title="Roll dice or on a table",
    description="Roll dice, on the table of an entry, or draw cards. Example: what='4d6 drop lowest'.",
    arguments=model(
        "roll",
        {
            "what": (str, Field(max_length=MAX_URI_LENGTH)),
            "table": optional_text(),
            "times": (int, Field(1, ge=1, le=MAX_TIMES)),
            "seed": (int | None, None),
        },
    ),
    function=_roll,
    answer=Rolls,
    listed={"what": "'2d6+3', 'd20 advantage', or an entry with a table", "table": "", "times": ""},
)
