"""Notes of the sessions that a question names, by number or as the last one: "session 3", "the third session", "last session"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lorekeeper.cache.protocol import Documents, Ranked, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.order import NEWEST, parse_orders
from lorekeeper.search.corpora import NOTES

SIMILARITY = 0.95
"""Similarity of a note of a session to a question that names the session.

It is more than that of a note that only has the words in its name (`by_name.PART_SIMILARITY`): "last session" is not "Session 1 -
Last Light"."""

MAX_NOTES = 8
"""Most notes of one session that are taken for what a question names."""

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve".split()
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_NUMBERS = {word: number for words in (_COUNTED, _ORDINALS) for number, word in enumerate(words)}

_NUMBERED = re.compile(
    rf"\bsession (?:number |no )?(\d{{1,4}}|{'|'.join(_COUNTED)})\b"
    rf"|\b(\d{{1,4}})(?:st|nd|rd|th) session\b"
    rf"|\b({'|'.join(_ORDINALS)}) session\b"
)
_LAST = re.compile(
    r"\b(?:last|latest|newest|previous|most recent) (?:game |play )?session\b|\blast time(?: we played)?$"
)


async def rank(
    cache: SearchCache, wordings: Sequence[str], documents: Documents = None, **filters: Any
) -> list[Ranked]:
    """The notes of the sessions that wordings name, under the filters; none if these ask for a session themselves."""
    if "session" in filters:
        return []
    folded = [fold(wording) for wording in wordings]
    notes = [note for n in _numbers(folded) for note in await _of_session(cache, n, documents, filters)]
    if any(map(_LAST.search, folded)):
        notes += await _of_last(cache, documents, filters)
    return [Ranked(note.identity, fold(note.name), SIMILARITY) for note in notes]


def _numbers(folded: Sequence[str]) -> Iterator[int]:
    """The numbers of sessions that folded texts name."""
    for text in folded:
        for found in _NUMBERED.finditer(text):
            said = found[1] or found[2] or found[3]
            yield _NUMBERS[said] if said in _NUMBERS else int(said)


async def _of_session(
    cache: SearchCache, number: int, documents: Documents, filters: Mapping[str, Any]
) -> list[Entity]:
    return await cache.get_entities(NOTES, documents, limit=MAX_NOTES, **{**filters, "session": number})


async def _of_last(cache: SearchCache, documents: Documents, filters: Mapping[str, Any]) -> list[Entity]:
    """The notes of the newest session, by its date or else by its number."""
    order = (parse_orders([NOTES], NEWEST) or {})[NOTES]
    newest = await cache.get_entities(NOTES, documents, limit=MAX_NOTES, order=order, **{"kind": "session", **filters})
    played = next((note for note in newest if {"session", "session_date"} & note.fields.keys()), None)
    number = played.fields.get("session") if played else None
    if played is None or not isinstance(number, int):
        return [played] if played else []
    return await _of_session(cache, number, [played.document], filters)
