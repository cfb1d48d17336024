"""What a note is, and which session it tells of: from its properties, tags, folders and names, and from what its vault does."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from lorekeeper.folding import fold, fold_numbered
from lorekeeper.notes.dating import date_in, impossible, without_dates
from lorekeeper.notes.marks import humps_apart, says_plan
from lorekeeper.records.notes import AHEAD, BEFORE, TOLD
from lorekeeper.words import first, listed, rows, table

if TYPE_CHECKING:  # it imports the reader of YAML, which those who only make entities need not have
    from lorekeeper.notes.properties import Properties

NOTE, SESSION, PREP, CHARACTER, NPC, CREATURE, JOURNAL, QUEST = (
    "note",
    "session",
    "prep",
    "character",
    "npc",
    "creature",
    "journal",
    "quest",
)

KIND_KEYS, PLAYED_KEYS = listed("key kind"), listed("key played")

NAMED = frozenset({NPC, CHARACTER, "location", "faction", "item", "deity", CREATURE})
"""Kinds whose notes bear a name, to which a heading may add an explanation."""

_BEINGS = frozenset({NPC, CHARACTER, CREATURE, "deity"})

_STATED_KEYS = (*listed("key changed"), *listed("key created"))
_LEADING_NUMBER = re.compile(r"^[\W\d_]*(?=[^\W\d_])")
COUNT = r"0*([0-9]{1,3}(?:[.,][0-9])?)(?![0-9])"
"""A number that counts: one between two others has a decimal."""
_SESSION = re.compile(rf"\b(?:{'|'.join(listed('word session'))}) (?:no |nr |number )?{COUNT}\b")
_LEADING = re.compile(rf"{COUNT}(?=[\s._)-]*[^\W\d_])")
"""The number that sorts a file of a folder of sessions, which may be its only one yet; one of a date is none."""
_SHORT_SESSION = re.compile(rf"^(?:{'|'.join(listed('word counted'))}) ?{COUNT}[a-z]?\b")
_SHORTEST_SESSION = re.compile(rf"^s ?{COUNT}[a-z]?\b")
_NUMBER = re.compile(rf"\b{COUNT}\b")
_PARTICLES, _PRONOUNS = frozenset(listed("word particle")), frozenset(listed("word he"))


@dataclass(frozen=True)
class Usage:
    """What the vault of a note says of it: how notes like it are used there.

    Attributes:
        kind: what the vault's own settings say that it is; "" if they say nothing.
        likely: what the other notes of its folder, or those that are named like it, are; else what its name or first words say.
        number: the number that counts up in its name; None if none does.
        date_key: the key, folded, whose dates rise with the numbers of sessions; "" for none.
        is_shared: whether its first heading stands above many notes, and names none.
        day_first: which of "5/12/2024" is the day; None if nothing shows it.
        people: what a folder's word for people means that is used for players' characters and for others.
        is_dated: whether the notes of its folder are called by their dates: a key may be copied from the note before.
        spoken: the codes of the vault's languages, with spaces between them; "" if nothing shows them.
    """

    kind: str = ""
    likely: str = ""
    number: float | None = None
    date_key: str = ""
    is_shared: bool = False
    day_first: bool | None = None
    people: str = ""
    is_dated: bool = False
    spoken: str = ""


ALONE = Usage()
"""A note of which nobody knows the vault."""


def kind_of(
    front: Properties, table: Properties, tags: Iterable[str], path: str, title: str, usage: Usage = ALONE
) -> str:
    """What a note is: what says it first of the vault's settings, properties, tags, folders and names; else "note".

    Args:
        front: the front matter, whose type counts even if we have no word for it.
        table: all properties, those of front matter and those of the text.
        tags: of the note.
        path: of the note.
        title: its first heading.
        usage: what its vault says.
    """
    if usage.kind:
        return usage.kind
    *folders, file = path.split("/")
    names = (file.rpartition(".")[0], *folders)
    written = front.text(*KIND_KEYS)
    kind = own_kind(table, () if is_listing(path) else tags)
    if not kind and is_listing(path):
        return fold(written) or NOTE
    is_counted = any(session_number(name) is not None for name in (names[0], title))
    if not kind:
        kind = usage.people or by_folders(folders)
        kind = SESSION if kind not in ("", *NAMED) and _says_session(names[0], title) else kind
        kind = kind_by_keys(table, kind) or kind or usage.likely
    if kind in ("", JOURNAL) and (is_counted or table.text(*PLAYED_KEYS)):
        kind = SESSION
    if kind == SESSION and any(map(says_plan, (*names, *table.texts(*KIND_KEYS), table.text(*listed("key state"))))):
        return PREP
    return kind or fold(written) or NOTE


def _says_session(*names: str) -> bool:
    """Whether a name says itself that it is a session's: "Session 12", "S03a"; what "Part 2" is of only its folder says."""
    plain = map(without_dates, names)
    return any(number_in(name, each) is not None for name in plain for each in (_SESSION, _SHORTEST_SESSION))


def own_kind(table: Properties, tags: Iterable[str]) -> str:
    """What properties and tags say that a note is; "" if they say nothing that we know."""
    written = table.text(*KIND_KEYS)
    if kind := known(written) or known(written.partition("/")[0]) or known(table.text(*listed("key subkind"))):
        return kind
    by_tag = [kind for tag in tags for part in (tag.partition("/")[0], tag.rpartition("/")[2]) if (kind := known(part))]
    return next((kind for kind in by_tag if kind != "lore"), next(iter(by_tag), ""))


def kind_by_keys(table: Properties, folder: str) -> str:
    """The kind that the keys of a note tell where only a folder says one: who has a player is a character.

    A class is a character's too, a race is somebody's, and what has an armor class and hit points is a creature.
    """
    if table.text(*listed("key player")) and folder in ("", NPC, CHARACTER):
        return CHARACTER
    if folder:
        return ""
    has_race, has_class = (bool(table.text(*listed(f"key {what}"))) for what in ("race", "class"))
    if has_class and table.text(*listed("key level")):
        return CHARACTER
    if has_race:
        return NPC
    return CREATURE if table.text(*listed("key ac")) and table.text(*listed("key hp")) else ""


_ITSELF = frozenset(listed("word session"))


def told_under(headings: Iterable[str]) -> str:
    """What stands under headings, by the innermost that says so; "" if none does."""
    return next(filter(None, map(_told_by, reversed(list(headings)))), "")


@functools.lru_cache(maxsize=4096)
def _told_by(heading: str) -> str:
    if says_plan(heading):
        return AHEAD
    words = fold(heading).split()
    found = {AHEAD if first("word ", word) == "next" else first("part ", word) for word in words}
    return next((part for part in (BEFORE, AHEAD, TOLD) if part in found), TOLD if _ITSELF & set(words) else "")


def is_listing(path: str) -> bool:
    """Whether a note stands for a folder of notes of one kind, as an index of it: "npcs/README.md"."""
    *folders, file = path.split("/")
    return bool(folders) and stands_for_folder(file, folders) and bool(of_folder(folders[-1]))


INDEXES = frozenset(listed("file index"))
"""Folded names of files that stand for their folder, and last words of such names."""


def stands_for_folder(file: str, folders: list[str]) -> bool:
    """Whether a file is the note of its folder: an index, a README, or of the folder's name."""
    stem = fold(file.rpartition(".")[0] or file)
    return (stem.split() or [""])[-1] in INDEXES or (bool(folders) and stem == fold(folders[-1]))


def known(words: str) -> str:
    """Our kind for a word or two, singular or plural; "" if we have none."""
    if not words:
        return ""
    return first("kind ", fold(words)) or (PREP if says_plan(words) else "")


def of_folder(folder: str) -> str:
    """The kind of the notes in a folder, from its name without leading numbers: "02-SESSIONS", "Important NPCs"."""
    if number_in(folder, _SESSION) is not None:
        return SESSION
    words = _plain(folder).split() or [""]
    return next(filter(None, map(known, (_plain(folder), " ".join(words[-2:]), words[-1], words[0]))), "")


def by_folders(folders: Sequence[str]) -> str:
    """The kind that the innermost folder says which says one.

    A word for a place in a longer name tells where that is which a folder above it names, and within a folder of people or
    creatures any word does: "Quests/Silver Forest", "NPCs/Moon Festival", "People/Enemies".
    """
    part = ""
    kinds = list(map(of_folder, folders))
    for folder, kind in zip(reversed(folders), reversed(kinds), strict=True):
        if kind == CREATURE and NPC in kinds:
            continue
        last = _plain(folder).split()[-1:]
        if kind and (
            kind in _BEINGS or kind == known(_plain(folder)) or (last and last[0][-1] == "s" and kind == known(last[0]))
        ):
            return kind if kind in _BEINGS or part in ("", "location") else part
        part = part or kind
    return part


_ENGLISH = frozenset(stem for stem, _, language in rows() if language == "en")
_SHORT_NAME, _LEAD, _NEAR = 5, 6, 40
"""Words of a name whose noun tells what it is; first words of a text of which one may, and among which it may say he or she."""


def kind_by_name(name: str) -> str:
    """The kind that the noun of a name tells, "Badger Clan", "Caballero del Relicario": the last word, or the first before "of"."""
    written = fold(name).split()
    if not 1 < len(written) <= _SHORT_NAME:
        return ""
    one, other = ((*table("noun ").get(word, ()), *table("kind ").get(word, ())) for word in (written[0], written[-1]))
    is_first = written[0] not in _ENGLISH or written[1] in _PARTICLES
    return next((kind for kind in (*(one if is_first else ()), *other) if kind in NAMED), "")


def kind_by_lead(text: str) -> str:
    """The kind that the first words of a text tell: "Professor of ...", "A castle on ...", or that it is of a he or a she."""
    written = fold(text).split()[:_NEAR]
    head = itertools.takewhile(lambda word: word not in _PARTICLES, written[:_LEAD])
    nouns = (kind for word in head for kind in table("noun ").get(word, ()))
    return next(nouns, NPC if _PRONOUNS & set(written) else "")


def _plain(folder: str) -> str:
    return fold(_LEADING_NUMBER.sub("", humps_apart(folder)))


def session_of(table: Properties, kind: str, path: str, title: str, usage: Usage = ALONE) -> float | None:
    """Number of the session that a note is about, or prepares; None for none.

    What counts up in the names of many notes is right where a key, copied from the note before, says another number.
    """
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0]
    if kind in (SESSION, PREP) and usage.number is not None and usage.number == session_number(stem):
        return usage.number
    if number := _NUMBER.search(without_dates(table.text(*listed("key session")))):
        return counted(number)
    if kind not in (SESSION, PREP):
        return None
    if number := _NUMBER.fullmatch(table.text(*listed("key number"))):
        return counted(number)
    near = next((n for place in (stem, title) if (n := session_number(place)) is not None), usage.number)
    found = next((n for n in (near, *map(session_number, reversed(folders))) if n is not None), None)
    leading = _LEADING.match(without_dates(stem)) if folders and of_folder(folders[-1]) == SESSION else None
    return counted(leading) if found is None and leading else found


def session_number(name: str) -> float | None:
    """The number in "Session 12", "S03", "Session-3 - The Bridge", "Session 0.5"; None for none."""
    name = without_dates(name)
    long = number_in(name, _SESSION)
    return long if long is not None else number_in(_LEADING_NUMBER.sub("", name), _SHORT_SESSION)


def number_in(name: str, pattern: re.Pattern[str]) -> float | None:
    match = pattern.search(fold_numbered(name))
    return counted(match) if match else None


def counted(match: re.Match[str]) -> float:
    """The number of a match of `COUNT`, whole if it has no decimal."""
    number = float(match[1].replace(",", "."))
    return int(number) if number.is_integer() else number


def date_of(table: Properties, kind: str, path: str, title: str, usage: Usage = ALONE) -> date | None:
    """When a session was played; None where nothing says so, or only in another calendar than ours."""
    if kind != SESSION:
        return None
    keys = (*filter(None, [usage.date_key]), *PLAYED_KEYS, *listed("key date"))
    told = _told(table, keys, path, title)
    return _first_date(told[-2:] + told if usage.is_dated else told, usage)


def stated_date(table: Properties, path: str, title: str, usage: Usage = ALONE) -> date | None:
    """The date that a note states: of what it tells, else in its names, else when it was changed or begun; None for none."""
    told = _told(table, (*PLAYED_KEYS, *listed("key date")), path, title)
    return _first_date((*told, *(table.text(key) for key in _STATED_KEYS)), usage)


def _told(table: Properties, keys: Iterable[str], path: str, title: str) -> list[str]:
    return [*(table.text(key) for key in keys), path.rpartition("/")[2].rpartition(".")[0], title]


def _first_date(texts: Iterable[str], usage: Usage) -> date | None:
    return next((found for text in texts if (found := date_in(text, day_first=usage.day_first))), None)


def misdated(properties: Properties) -> list[str]:
    """What stands as a date in front matter, and is none: "date: 2025-13-45"."""
    keys = (*PLAYED_KEYS, *listed("key date"), *_STATED_KEYS)
    texts = ((properties.key(key), properties.text(key)) for key in keys)
    return [
        f"{key}: {text} is not a date; write year-month-day, as in 2025-07-08"
        for key, text in texts
        if impossible(text)
    ]
