"""Kinds of notes, and which session one is about: from front matter, tags, folders and names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from lorekeeper.folding import fold
from lorekeeper.notes.properties import Properties
from lorekeeper.notes.words import alternatives, kinds, listed

NOTE, SESSION, PREP = "note", "session", "prep"

_BY_WORD = kinds()
"""Our kinds by the folded words for them."""

_PLANS = re.compile(rf"\b(?:{alternatives(f'kind {PREP}')})s?\b")

SUBKIND_KEYS = listed("subkind_keys")
"""Keys that say more of a kind whose word we do not know."""

KIND_KEYS = listed("kind_keys")

NAMED = frozenset({"npc", "character", "location", "faction", "item", "deity", "creature"})
"""Kinds whose notes bear a name, to which a heading may add an explanation."""

_SESSION_KEYS = listed("session_keys")
_DATE_KEYS, _CHANGED_KEYS, _CREATED_KEYS = listed("dated"), listed("changed"), listed("created")
_LEADING_NUMBER = re.compile(r"^[\W\d_]*(?=[^\W\d_])")
_SESSION = re.compile(rf"\b(?:{alternatives('session')}) (?:no |nr |number )?0*([0-9]{{1,4}})\b")
_LEADING = re.compile(r"0*([0-9]{1,3})(?=[\s._)-]*[^\W\d_])")
"""The number that sorts a file of a folder of sessions; one of a date is none."""
_SHORT_SESSION = re.compile(r"^(?:s|ep|episode|game|chapter|part) ?0*([0-9]{1,4})\b")
_NUMBER = re.compile(r"\b0*([0-9]{1,4})\b")
_FIRST_YEAR, _LAST_YEAR = 1970, 2100
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![0-9]){_YEAR}[-._/](?P<month>[0-9]{{1,2}})[-._/](?P<day>[0-9]{{1,2}})(?![0-9])",
        rf"(?<![0-9])(?P<day>[0-9]{{1,2}})\.[ ]?(?P<month>[0-9]{{1,2}})\.[ ]?{_YEAR}(?![0-9])",
        rf"\b{_MONTH}[ ]{_DAY},?[ ]{_YEAR}(?![0-9])",
        rf"(?<![0-9]){_DAY}[ ](?:of[ ])?{_MONTH},?[ ]{_YEAR}(?![0-9])",
        rf"(?<![0-9]){_YEAR}(?P<month>[01][0-9])(?P<day>[0-3][0-9])(?![0-9])",
    )
)
"""Dates as people write them, unambiguous ones first. American "5/12/2024" could be either, and is none."""


def kind_of(properties: Properties, tags: Iterable[str], path: str, title: str) -> str:
    """The kind of a note: the first of front matter, tags, folders and names that says one, else "note"."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0]
    written = properties.text(*KIND_KEYS)
    if kind := known(written) or known(written.partition("/")[0]) or known(properties.text(*SUBKIND_KEYS)):
        return _played_or_planned(kind, folders, stem)
    if is_listing(path):
        return fold(written) or NOTE
    tagged = (known(part) for tag in tags for part in (tag.partition("/")[0], tag.rpartition("/")[2]))
    by_tag = list(filter(None, tagged))
    if kind := next((kind for kind in by_tag if kind != "lore"), next(iter(by_tag), "")):
        return _played_or_planned(kind, folders, stem)
    foldered = (of_folder(folder) for folder in reversed(folders))
    kind = next(filter(None, foldered), "") or _of_keys(properties)
    is_session = session_number(stem) is not None or session_number(title) is not None
    return _played_or_planned(kind or (SESSION if is_session else "") or fold(written) or NOTE, folders, stem)


_RACE, _CLASS, _PLAYED = frozenset(listed("race")), frozenset(listed("class")), frozenset(listed("player"))


def _of_keys(properties: Properties) -> str:
    """The kind that the keys of front matter tell where no word does: a race is somebody's, and a class if someone plays them."""
    keys = {folded for key in properties.values if properties.text(folded := fold(key))}
    if not keys.isdisjoint(_PLAYED) and not keys.isdisjoint(_RACE | _CLASS):
        return "character"
    return "" if keys.isdisjoint(_RACE) else "npc"


def _played_or_planned(kind: str, folders: list[str], stem: str) -> str:
    """The kind of what is a session by some word, and a plan for one by its names."""
    if kind != SESSION:
        return kind
    return PREP if any(_PLANS.search(fold(name)) for name in (*folders, stem)) else SESSION


def is_listing(path: str) -> bool:
    """Whether a note stands for a folder of notes of one kind, as an index of it: "npcs/README.md"."""
    *folders, file = path.split("/")
    return bool(folders) and stands_for_folder(file, folders) and bool(of_folder(folders[-1]))


INDEXES = frozenset({"index", "readme", "indice", "indeks", "inhaltsverzeichnis"})
"""Folded names of files that stand for their folder, and last words of such names."""


def stands_for_folder(file: str, folders: list[str]) -> bool:
    """Whether a file is the note of its folder: an index, a README, or of the folder's name."""
    stem = fold(file.rpartition(".")[0] or file)
    return (stem.split() or [""])[-1] in INDEXES or (bool(folders) and stem == fold(folders[-1]))


def known(words: str) -> str:
    """Our kind for a word or two, singular or plural; "" if we have none."""
    folded = fold(words)
    candidates = (folded, folded.removesuffix("s"), folded.removesuffix("es"), folded.removesuffix("ies") + "y")
    return next((_BY_WORD[word] for word in candidates if word in _BY_WORD), "")


def of_folder(folder: str) -> str:
    """The kind of the notes in a folder, from its name without leading numbers: "02-SESSIONS", "Important NPCs"."""
    if number_in(folder, _SESSION) is not None:
        return SESSION
    folded = fold(_LEADING_NUMBER.sub("", folder))
    words = folded.split() or [""]
    return known(folded) or known(words[-1]) or known(words[0])


def session_of(properties: Properties, kind: str, path: str, title: str) -> int | None:
    """Number of the session a note is about; None for none."""
    number = _NUMBER.search(properties.text(*_SESSION_KEYS))
    if number:
        return int(number[1])
    if kind != SESSION:
        return None
    if (text := properties.text("number", "no", "nr")) and (number := _NUMBER.fullmatch(text)):
        return int(number[1])
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0]
    places = (stem, title, *reversed(folders))
    if (found := next((found for place in places if (found := session_number(place)) is not None), None)) is not None:
        return found
    leading = _LEADING.match(stem) if folders and of_folder(folders[-1]) == SESSION and not date_in(stem) else None
    return int(leading[1]) if leading else None


def session_number(name: str) -> int | None:
    """The number in "Session 12", "S03", "Session-3 - The Bridge"; None for none."""
    long = number_in(name, _SESSION)
    return long if long is not None else number_in(_LEADING_NUMBER.sub("", name), _SHORT_SESSION)


def number_in(name: str, pattern: re.Pattern[str]) -> int | None:
    match = pattern.search(fold(name))
    return int(match[1]) if match else None


def date_of(properties: Properties, kind: str, path: str, title: str) -> date | None:
    """When a session was played; None where nothing says so, or only in another calendar than ours."""
    if kind != SESSION:
        return None
    stem = path.rpartition("/")[2].rpartition(".")[0]
    places = (*(properties.text(key) for key in _DATE_KEYS), stem, title)
    return next((found for place in places if (found := date_in(place))), None)


def stated_date(properties: Properties, path: str, title: str) -> date | None:
    """The date that a note states: of what it tells, else in its names, else when it was changed or begun; None for none."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    written = (properties.text(key) for key in _DATE_KEYS)
    changed = (properties.text(key) for key in (*_CHANGED_KEYS, *_CREATED_KEYS))
    return next((found for place in (*written, stem, title, *changed) if (found := date_in(place))), None)


def misdated(properties: Properties) -> list[str]:
    """What stands as a date in front matter, and is none: "date: 2025-13-45"."""
    texts = ((properties.key(key), properties.text(key)) for key in (*_DATE_KEYS, *_CHANGED_KEYS, *_CREATED_KEYS))
    return [
        f"{key}: {text} is not a date; write year-month-day, as in 2025-07-08"
        for key, text in texts
        if (match := _DATES[0].match(text))
        and not (int(match["month"]) in range(1, 13) and int(match["day"]) in range(1, 32))
    ]


def date_in(text: str) -> date | None:
    """The first date in a text, from 1970 to 2100: "2025-07-08", "Tuesday, July 8th 2025, 5:13:47 pm", "8.7.2025"."""
    for pattern in _DATES:
        match = pattern.search(text[:200])
        if match and (found := _date(match["year"], match["month"].casefold(), match["day"])):
            return found
    return None


def _date(year: str, month: str, day: str) -> date | None:
    number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
    try:
        found = date(int(year), number, int(day))
    except ValueError:
        return None
    return found if _FIRST_YEAR <= found.year <= _LAST_YEAR else None
