"""The game master's desk: the last session, what is still open, and what to do next, before anything is searched for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from lorekeeper.entities import Entity
from lorekeeper.records.notes import links_of, sections_of
from lorekeeper.search.dossier.spans import spans
from lorekeeper.search.sessions import last_told
from lorekeeper.search.sorting import recent_notes
from lorekeeper.server.page.party import played, playing
from lorekeeper.server.page.sessions import NOTES, shown_sessions
from lorekeeper.text.cleaning import clean
from lorekeeper.views.view import View, apart

EXAMPLES = (
    ("notes", "What did we promise?", "what did we promise"),
    ("spells", "We are falling off a cliff", "we are falling off a cliff"),
    ("creatures", "Undead of challenge 5 to 8", "type:creature cr:5..8 type:undead order:cr"),
    ("spells", "A wizard's first rituals", "type:spell class:wizard ritual level:1"),
    ("equipment", "Magic items without attunement", "rarity:uncommon attunement:no"),
    ("rules", "All conditions", "type:condition"),
)
"""Searches to begin with: the type that a library needs for each, what it is in words, and what is searched for."""

MAX_NEWEST, MAX_QUESTS, MAX_PROMISES, MAX_MISSING, MAX_TASKS, MAX_PARTY, MAX_TYPES = 6, 5, 3, 3, 3, 6, 3

RECENT_SESSIONS, READ_QUESTS = 12, 100
"""Sessions and quests that are read."""

PROMISE = re.compile(
    r"\b(?:promis\w+|swor[en]|swear\w*|vow(?:s|ed)?|owe[sd]?|in (?:our|their|his|her) debt)\b", re.IGNORECASE
)

_TASK = re.compile(r"^[ \t]*[-*+] \[ \] (\S.*)$", re.MULTILINE)

_NAME = re.compile(r"(?<![.!?“\"] )\b[A-Z][\w'’-]{2,}")
"""A word with a capital that does not begin a sentence."""


@dataclass(frozen=True)
class Promise:
    """A sentence of a session in which something was promised, or a task of a note."""

    note: Entity
    text: str


@dataclass(frozen=True)
class Missing:
    """What notes link to, and what there is no note of: with one of the notes that do."""

    name: str
    note: Entity


async def desk(view: View) -> dict[str, object]:
    """The desk of a viewer: what ``_home.html`` shows."""
    await view.refresh()
    counts = await view.cache.documents()
    types = sum(map(Counter, counts.values()), Counter[str]())
    del types["documents"]
    # what is open is of the campaign that was played last
    sessions = (await played(view))[:RECENT_SESSIONS]
    quests = await view.cache.get_entities(NOTES, limit=READ_QUESTS, kind="quest")
    quests = [note for note in quests if not sessions or note.document == sessions[0].document]
    told = last_told(sessions)
    last = await shown_sessions(view, [told] if told else [])
    promises, missing = await apart(lambda: (open_promises(sessions), _missing([*sessions, *quests])))
    return {
        "last": next(iter(last), None),
        "quests": [note for note in quests if note.fields.get("state") != "done"][:MAX_QUESTS],
        "promises": promises,
        "missing": missing,
        "tasks": tasks_of([*sessions, *quests]),
        "party": (await playing(view))[:MAX_PARTY],
        "newest": await recent_notes(view.cache, None, MAX_NEWEST) if NOTES in types else [],
        "examples": examples(types),
        "total": types.total(),
        "types": types.most_common(MAX_TYPES),
        "books": len(counts),
    }


def examples(present: Collection[str]) -> list[tuple[str, str]]:
    """The searches to begin with in a library that has some types, in words, and what each searches for."""
    return [(words, text) for name, words, text in EXAMPLES if name in present]


def tasks_of(notes: Sequence[Entity]) -> list[Promise]:
    """The tasks of notes that are not ticked, as their viewer sees these."""
    lines = (
        (note, clean(match[1]))
        for note in notes
        for part in sections_of(note.data)
        for match in _TASK.finditer(part.text)
    )
    return [Promise(note, text) for note, text in islice(lines, MAX_TASKS)]


def open_promises(sessions: Sequence[Entity]) -> list[Promise]:
    """The promises of the latest sessions whose names no later session has."""
    found: list[Promise] = []
    later: set[str] = set()
    for note in sessions:
        sentences = [sentence for part in spans(note) if not part.mark for sentence in part.sentences]
        made = [each for each in sentences if PROMISE.search(each) and later.isdisjoint(_names(each))]
        found += [Promise(note, text) for text in made]
        later.update(name for sentence in sentences for name in _names(sentence))
    return found[:MAX_PROMISES]


def _names(sentence: str) -> Iterator[str]:
    return (match[0] for match in _NAME.finditer(sentence))


def _missing(notes: Sequence[Entity]) -> list[Missing]:
    """What most notes link to in vain."""
    named: Counter[str] = Counter()
    first: dict[str, Missing] = {}
    for note in notes:
        for link in links_of(note.data):
            if link.target.strip() and not link.to:
                name = link.target.strip().rsplit("/", 1)[-1].removesuffix(".md")
                named[name] += 1
                first.setdefault(name, Missing(name, note))
    return [first[name] for name, _ in named.most_common(MAX_MISSING)]
