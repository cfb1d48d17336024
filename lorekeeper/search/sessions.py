"""Notes of the sessions that a question names, by number or as the last or next one: "session 3", "the third session".

What was planned for a session is not what was played: a question about what happened prefers notes that are no plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from lorekeeper.cache.protocol import Documents, Identity, Ranked, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold, fold_numbered
from lorekeeper.order import NEWEST, parse_orders
from lorekeeper.records.notes import TOLD
from lorekeeper.search.fusion import NOTES
from lorekeeper.text.keywords import ASKING_WORDS, STOP_WORDS
from lorekeeper.text.notes import session_of, tale
from lorekeeper.words import first, listed

SIMILARITY = 0.95
"""Similarity of a note of a session to a question that names the session.

It is more than that of a note that only has the words in its name (`by_name.PART_SIMILARITY`): "last session" is not "Session 1 -
Last Light"."""

MAX_NOTES = 8
"""Most notes of one session that are taken for what a question names."""


def _said(what: str) -> str:
    """A pattern for the words that say something, in all languages of the table of stems."""
    endings = {"-": r"\w*", "~": r"\w{0,2}"}
    words = (re.escape(stem.rstrip("-~")) + endings.get(stem[-1], "") for stem in listed(f"word {what}"))
    return f"(?:{'|'.join(words)})"


@cache
def _numbered() -> re.Pattern[str]:
    session = _said("session")
    return re.compile(
        rf"\b{session} (?:number |n[or]? )?(\d{{1,4}}(?:\.\d)?|{_said('number')})\b"
        rf"|\b(\d{{1,4}})(?:st|nd|rd|th) {session}\b"
        rf"|\b({_said('ordinal')}) {session}\b"
    )


@cache
def _last() -> re.Pattern[str]:
    """Also with an article before a vowel, "nell'ultima sessione", and as it follows in some languages: "la sesion pasada"."""
    session, last = _said("session"), _said("last")
    return re.compile(
        rf"\b(?:\w{{0,4}}l)?{last} (?:\w+ )?{session}\b|\b{session} {_said('past')}\b|\blast time(?: we played)?$"
    )


@cache
def _next() -> re.Pattern[str]:
    return re.compile(rf"\b(?:\w{{0,4}}l)?{_said('next')} (?:\w+ )?(?:{_said('session')}|{_said('time')})\b")


@cache
def _played() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_said('played')}|\w{{3,}}ed)\b")


@cache
def _planned() -> re.Pattern[str]:
    return re.compile(rf"\b{_said('planned')}\b")


PREP = "prep"
"""The kind of notes that prepare sessions."""

PLANNED = 0.8
"""What a plan scores, as a share, if the question asks what happened."""

MAX_NEWEST = 100
"""Most notes of the newest sessions among which the last one is looked for that tells something."""

MAX_PLANS = 2_000
"""Most plans of a library that are known."""

_PLANS: WeakKeyDictionary[SearchCache, tuple[Sequence[str], frozenset[Identity]]] = WeakKeyDictionary()
"""The plans of each cache, and the names that it had when they were read: the same list until a note changes."""


def asks_what_happened(wordings: Sequence[str]) -> bool:
    """Whether a question is about what was played, and not about a plan."""
    folded = [fold(wording) for wording in wordings]
    return any(map(_played().search, folded)) and not any(map(_planned().search, folded))


async def plans_behind(cache: SearchCache, wordings: Sequence[str]) -> frozenset[Identity]:
    """The notes that prepare sessions, if a question asks what happened: what was played comes before them."""
    return await _plans(cache) if asks_what_happened(wordings) else frozenset()


async def _plans(cache: SearchCache) -> frozenset[Identity]:
    names = await cache.names(NOTES)
    known = _PLANS.get(cache)
    if known is None or known[0] is not names:
        found = await cache.get_entities(NOTES, limit=MAX_PLANS, kind=PREP)
        known = _PLANS[cache] = names, frozenset(note.identity for note in found)
    return known[1]


def asks_what_comes(question: str) -> bool:
    """Whether a question is about the next session, or about plans and nothing else: "what is the plan"."""
    folded = fold(question)
    rest = _planned().sub(" ", folded)
    return _next().search(folded) is not None or (rest != folded and not any(map(_asks, rest.split())))


async def rank(
    cache: SearchCache, wordings: Sequence[str], documents: Documents = None, **filters: Any
) -> list[Ranked]:
    """The notes of the sessions that wordings name, under the filters; none if these ask for a session themselves.

    Of a session by its number what was played comes before its plan, but where a plan is asked for.
    """
    if "session" in filters:
        return []
    folded = [fold_numbered(wording) for wording in wordings]
    plans = any(map(_planned().search, folded))
    of_number = [note for n in _numbers(folded) for note in await _of_session(cache, n, documents, filters)]
    found = [(note, int((note.kind == PREP) != plans)) for note in of_number]
    if any(map(asks_what_comes, wordings)):
        found += [(note, place) for place, note in enumerate(await _of_next(cache, documents, filters))]
    if any(map(_last().search, folded)):
        last = await _of_last(cache, documents, filters)
        found += [(note, min(place, 1)) for place, note in enumerate(last)]
    return [Ranked(note.identity, fold(note.name), SIMILARITY - place / 1000) for note, place in found]


def beside_session(wording: str) -> str:
    """What a question asks of the session that it names, folded; "" if that is only what happened, in whatever language."""
    folded = fold_numbered(wording)
    asked = _last().sub(" ", _numbered().sub(" ", folded))
    if asked == folded:
        return wording
    return asked if any(_asks(word) for word in asked.split()) else ""


def _asks(word: str) -> bool:
    from lorekeeper.search.languages import all_function_words

    is_one = word in STOP_WORDS | ASKING_WORDS or word in all_function_words() or len(word) == 1
    return not (is_one or first("part ", word) == TOLD)


def _numbers(folded: Sequence[str]) -> Iterator[float]:
    """The numbers of sessions that folded texts name."""
    written = {word: number for what in ("number", "ordinal") for number, word in enumerate(listed(f"word {what}"))}
    for text in folded:
        for found in _numbered().finditer(text):
            said = found[1] or found[2] or found[3]
            yield written[said] if said in written else float(said)


async def _of_session(
    cache: SearchCache, number: float, documents: Documents, filters: Mapping[str, Any]
) -> list[Entity]:
    return await cache.get_entities(NOTES, documents, limit=MAX_NOTES, **{**filters, "session": number})


async def _of_last(cache: SearchCache, documents: Documents, filters: Mapping[str, Any]) -> list[Entity]:
    """The notes of the last session, apart from plans for it."""
    order = (parse_orders([NOTES], NEWEST) or {})[NOTES]
    wanted = {"kind": "session", **filters}
    last = last_told(await cache.get_entities(NOTES, documents, limit=MAX_NEWEST, order=order, **wanted))
    if last is None or (number := session_of(last)) is None:
        return [last] if last else []
    same = await _of_session(cache, number, [last.document], filters)
    return [last, *(note for note in same if note.identity != last.identity and note.kind == last.kind)]


async def _of_next(cache: SearchCache, documents: Documents, filters: Mapping[str, Any]) -> list[Entity]:
    """The plans of the sessions after the last one, the next one first, and that one: what is to come follows from it."""
    last = (await _of_last(cache, documents, filters))[:1]
    number = next(filter(None, map(session_of, last)), 0)
    plans = await cache.get_entities(NOTES, documents, limit=MAX_PLANS, **{**filters, "kind": PREP})
    ahead = [(n, plan) for plan in plans if (n := session_of(plan) or 0) > number]
    return [*(plan for _, plan in sorted(ahead, key=lambda each: each[0])[:MAX_NOTES]), *last]


def last_told(newest: Sequence[Entity]) -> Entity | None:
    """The last of the notes of sessions that tells something, by number, then by date, of the folder that was played last.

    Args:
        newest: notes of sessions, the newest first; a form in which nothing was filled in yet may stand before what was played.
    """

    def place(note: Entity) -> tuple[str, object]:
        return note.document, note.fields.get("folder")

    here = [note for note in newest if place(note) == place(newest[0])]
    numbered = sorted(((n, note) for note in here if (n := session_of(note)) is not None), key=lambda each: -each[0])
    found = [*(note for _, note in numbered), *newest]
    return next(filter(tale, found), next(iter(found), None))
