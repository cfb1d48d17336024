"""How a vault is written, as its notes show it: which headings and names repeat, what counts up, and which dates rise with that."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from lorekeeper.folding import fold
from lorekeeper.languages import by_language, spoken
from lorekeeper.notes.dating import date_in, day_first_in, may_be_date, rising, without_dates
from lorekeeper.notes.facts import HEADED, PLAIN, leading, pairs_in
from lorekeeper.notes.kinds import (
    ALONE,
    CHARACTER,
    COUNT,
    KIND_KEYS,
    NAMED,
    NOTE,
    NPC,
    PREP,
    SESSION,
    Usage,
    by_folders,
    counted,
    kind_by_lead,
    kind_by_name,
    known,
    of_folder,
    own_kind,
    session_number,
)
from lorekeeper.notes.names import file_name, plain
from lorekeeper.notes.properties import Properties, joined, joined_with, texts, written_tags
from lorekeeper.notes.source import front_matter, normal
from lorekeeper.words import listed

SETTINGS_FILE = ".lorekeeper.toml"
"""What the game master says of a vault, in its folder: nobody else writes it."""

FEWEST, MOST_OF, HALF, ALMOST_ALL = 3, 0.6, 0.5, 0.9
"""Notes that show a convention, at least; and the share of the notes of a folder, of those that count up, of those with a key."""

_HEADING, _TITLE = re.compile(r"#{1,6}[ \t]"), re.compile(r"#[ \t]+(\S.*)")
_FIRST_LINES = 60
_DAY = re.compile(r"\b([0-9]{1,4}) ([^\W\d_]{3,})")
_COUNTED = re.compile(rf"(?<![0-9]){COUNT}")
_NPCS, _PEOPLE = frozenset(listed("word npc")), frozenset(listed("word person"))
_NOT_PLAYED = frozenset((*listed("key changed"), *listed("key created"), *listed("key world")))


@dataclass(frozen=True)
class Clue:
    """What one note shows of the conventions of its vault.

    Attributes:
        title: its first heading of the first level, folded.
        kind: what its own properties, tags or names say that it is; "" for nothing.
        dates: the texts of its properties that have a date, by folded key.
        keys: the folded keys of its front matter, and of the lines before its text.
        typed: the word of its own by which it is called what it is, or which says the same as its folder; "" for none.
        named: the kind that its name or its first words tell.
        words: how many function words of each language its first lines have, by its code.
        day: the number and the word with which its first heading begins, "14 hammer"; "" for another heading.
    """

    title: str = ""
    kind: str = ""
    dates: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ()
    typed: str = ""
    named: str = ""
    words: dict[str, int] = field(default_factory=dict)
    day: str = ""


def clue_of(path: str, text: str) -> Clue:
    """What a note shows; nothing if it cannot be read."""
    try:
        return _clue_of(path, text)
    except MemoryError:
        raise
    except Exception:
        return Clue()  # reading it as a note says what is wrong


def _clue_of(path: str, text: str) -> Clue:
    front = front_matter(normal(text))
    properties, _ = joined(front.blocks)
    lines = [line for line in front.lines[:_FIRST_LINES] if line.strip()]
    at = next((i for i, line in enumerate(lines) if _HEADING.match(line)), -1)
    match = _TITLE.match(lines[at]) if at >= 0 else None
    heading, below = (match[1], lines[at + 1 :]) if match else ("", lines)
    facts, _ = leading(below, 0, PLAIN)
    headed = "\n".join(line.lstrip("# \t") for line in lines if _HEADING.match(line))
    intro = itertools.takewhile(lambda line: not _HEADING.match(line), below)
    told = pairs_in("\n".join(intro), HEADED), pairs_in("\n".join(below)), pairs_in(headed, HEADED)
    table = joined_with(properties, ((key, value) for _, key, value in facts), *told)
    keys = sorted({fold(key) for key in (*properties.values, *(key for _, key, _ in facts))})
    tags = written_tags(properties)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    kind = own_kind(table, tags) or (SESSION if session_number(stem) is not None else "")
    dates = {
        fold(key): said for key, value in table.values.items() if (said := " ".join(texts(value))) and may_be_date(said)
    }
    lead = next((line for line in below if not _HEADING.match(line)), "")
    is_open = session_number(stem) is None and fold(properties.text(*KIND_KEYS)) in ("", NOTE)
    named = kind_by_name(stem) or kind_by_name(plain(heading)) or kind_by_lead(plain(lead))
    named = named if is_open else ""
    return Clue(
        fold(plain(heading)),
        kind,
        dates,
        keys,
        _typed(path, properties),
        named,
        by_language(fold(" ".join(lines)).split()),
        " ".join(day.groups()) if at >= 0 and (day := _DAY.search(fold(lines[at]))) else "",
    )


def _typed(path: str, properties: Properties) -> str:
    """A word by which front matter says what a note is and that we do not know, or one that repeats its folder's name."""
    written = fold(properties.text(*KIND_KEYS))
    if written:
        return "" if known(written) or len(written.split()) > 1 else written
    folder = fold(path.rpartition("/")[0].rpartition("/")[2])
    said = (fold(each) for value in properties.values.values() if isinstance(value, str) for each in texts(value))
    return next((each for each in said if folder and each and folder in (f"{each}s", f"{each}es")), "")


@dataclass(frozen=True)
class Declared:
    """What the settings of a vault say.

    Attributes:
        kinds: kinds of notes, by the path of a note or folder.
        date: the key of the dates on which sessions were played.
        day_first: whether the first number of 5/12/2024 is the day.
        title: "file" if headings are no titles.
        problems: what of the settings is not understood.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    day_first: bool | None = None
    title: str = ""
    problems: Sequence[str] = ()


def declared_in(text: str) -> Declared:
    """The settings of a vault from the text of `SETTINGS_FILE`; what is wrong with them is in ``problems``."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Declared(problems=[f"it is not TOML: {error}"])
    wanted: dict[str, tuple[type, str]] = {
        "kinds": (dict, 'a table of folders and notes, as in [kinds] "Logs" = "session"'),
        "date": (str, 'the key of the dates of sessions, as in date = "Played"'),
        "day_first": (bool, "true or false"),
        "title": (str, '"file" or "heading"'),
    }
    problems = [f"{key!r} is not one of {', '.join(wanted)}" for key in said if key not in wanted]
    problems += [
        f"{key!r} must be {what}" for key, (kind, what) in wanted.items() if not isinstance(said.get(key, kind()), kind)
    ]
    if problems:
        return Declared(problems=problems)
    kinds = {path.strip("/"): known(str(kind)) or fold(str(kind)) for path, kind in said.pop("kinds", {}).items()}
    return Declared(kinds, **said)


class Conventions:
    """The conventions of one vault.

    Args:
        clues: what each note shows, by path.
        declared: what the vault's own settings say.
    """

    def __init__(self, clues: Mapping[str, Clue], declared: Declared | None = None) -> None:
        self._clues, self._declared = clues, declared or Declared()
        titles = Counter(clue.title for path, clue in clues.items() if clue.title != fold(file_name(path)))
        self._shared = frozenset(title for title, number in titles.items() if title and number > 1)
        folders = Counter(path.rpartition("/")[0] for path in clues)
        by_file = Counter(path.rpartition("/")[0] for path, clue in clues.items() if clue.title in {"", *self._shared})
        self._named_by_file = {folder for folder, number in by_file.items() if number > HALF * folders[folder]}
        day_first = day_first_in(text for clue in clues.values() for text in clue.dates.values())
        self._day_first = day_first if self._declared.day_first is None else self._declared.day_first
        self._counted: dict[str, Usage] = {}
        for numbers in _counting(clues).values():
            self._read_counted(numbers)
        for dated in _dated(clues).values():
            others = sum(self._clues[path].kind not in ("", SESSION, PREP) for path in dated)
            self._counted |= {
                path: Usage(likely=SESSION, is_dated=True) for path in dated if others < HALF * len(dated)
            }
        self._folders, self._keys = (
            _of_folders((path, c.kind or c.named) for path, c in clues.items()),
            self._kinds_of_keys(),
        )
        named = {folder.rpartition("/")[2] for path in clues for folder in folders_above(path)}
        names_party = any(of_folder(name) == CHARACTER and not _PEOPLE & set(fold(name).split()) for name in named)
        names_npcs = any(_NPCS & set(fold(name).split()) for name in named)
        self._people = CHARACTER if names_npcs else NPC * names_party
        self._typed = _of_folders((path, clue.typed) for path, clue in clues.items())
        self._spoken = spoken(clue.words for clue in clues.values())

    def usage(self, path: str) -> Usage:
        """What the vault says of a note."""
        clue, declared = self._clues.get(path, Clue()), self._declared
        placed = self._counted.get(path, ALONE)
        above = [path, *reversed(folders_above(path))]
        by_key = [self._keys[key] for key in clue.keys if key in self._keys]
        # who has NPCs in a folder of their own means players' characters by another word for people, and the other way round
        folder = next((each for each in reversed(path.split("/")[:-1]) if of_folder(each)), "")
        is_either = not clue.kind and _PEOPLE & set(fold(folder).split()[-1:])
        return replace(
            placed,
            kind=next((declared.kinds[each] for each in above if each in declared.kinds), self._own_word(path, clue)),
            likely=next(
                filter(None, (placed.likely, self._folders.get(path.rpartition("/")[0]), *by_key, clue.named)), ""
            ),
            date_key=fold(declared.date) or placed.date_key,
            is_shared=declared.title == "file" or clue.title in self._shared or self._is_apart(path, clue),
            day_first=self._day_first,
            people=self._people if is_either else "",
            spoken=self._spoken,
        )

    def _own_word(self, path: str, clue: Clue) -> str:
        """The vault's own word for what the notes of a folder are, where the folder is none that we know."""
        folder = path.rpartition("/")[0]
        is_own = clue.typed and clue.typed == self._typed.get(folder) and not by_folders(folder.split("/"))
        return clue.typed if is_own else ""

    def _is_apart(self, path: str, clue: Clue) -> bool:
        """Whether a first heading has no word of its file's name, in a folder whose notes are mostly named by their files."""
        words = set(fold(file_name(path)).split())
        return path.rpartition("/")[0] in self._named_by_file and words.isdisjoint(clue.title.split())

    def _kind(self, path: str) -> str:
        """The kind that a note says itself, or its folders."""
        return self._clues[path].kind or by_folders(path.split("/")[:-1])

    def _kinds_of_keys(self) -> dict[str, str]:
        """The keys that most notes of a kind have whose notes bear a name, and hardly any others, each with that kind."""
        numbers = Counter(map(self._kind, self._clues))
        return {
            key: kind
            for key, kind, kinds in _agreed(
                (key, self._kind(path)) for path, c in self._clues.items() for key in c.keys
            )
            if kind in NAMED and kinds[kind] >= max(ALMOST_ALL * (kinds.total() - kinds[""]), HALF * numbers[kind])
        }

    def _read_counted(self, numbers: Mapping[str, float]) -> None:
        """Notes in whose names the same thing counts up: if half are sessions, or dates rise with it, all are.

        Dates of a world are the days by which most of them begin, of months that come again.
        """
        paths = sorted(numbers, key=numbers.__getitem__)
        kinds = list(map(self._kind, paths))
        key = self._rising_key(list({numbers[path]: path for path in reversed(paths)}.values())[::-1])
        sessions = sum(kind in (SESSION, PREP) for kind in kinds)
        others = sum(kind not in ("", SESSION, PREP) for kind in kinds)
        is_told = others < HALF * len(paths) and (key is not None or self._tell_days(paths))
        if sessions < HALF * len(paths) and not is_told:
            return
        self._counted |= {path: Usage(likely=SESSION, number=numbers[path], date_key=key or "") for path in paths}

    def _tell_days(self, paths: Sequence[str]) -> bool:
        """Whether most notes, in this order, begin with days that follow each other in each of their months."""
        days = [day.split() for path in paths if (day := self._clues[path].day)]
        months = Counter(month for _, month in days)
        again = [(int(number), month) for number, month in days if months[month] >= FEWEST]
        steps = [one <= other for (one, month), (other, same) in pairwise(again) if month == same]
        return len(again) >= max(FEWEST, MOST_OF * len(paths)) and sum(steps) >= ALMOST_ALL * len(steps) > 0

    def _rising_key(self, paths: Sequence[str]) -> str | None:
        """The key whose dates rise in this order, "" for those in names; None if none do."""
        keys = dict.fromkeys(key for path in paths for key in self._clues[path].dates if key not in _NOT_PLAYED)
        for key in (*keys, ""):
            texts = (self._clues[path].dates.get(key, "") if key else path.rpartition("/")[2] for path in paths)
            if rising(date_in(text, day_first=self._day_first) for text in texts):
                return key
        return None


def folders_above(path: str) -> list[str]:
    """The folders that a note is in, by their paths."""
    return [path[:end] for end, sign in enumerate(path) if sign == "/"]


def _counting(clues: Mapping[str, Clue]) -> dict[tuple[str, str], dict[str, float]]:
    """The notes whose names have a number behind the same words, by folder and words, each with its number: three at least.

    Where all say that they are sessions, two are enough.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    for path in clues:
        folder, _, file = path.rpartition("/")
        stem = without_dates(file.rpartition(".")[0]).replace("_", " ")
        if match := _COUNTED.search(stem):
            found.setdefault((folder, fold(stem[: match.start()])), {})[path] = counted(match)
    return {
        where: paths
        for where, paths in found.items()
        if len(set(paths.values()))
        >= max(FEWEST - all(clues[path].kind == SESSION for path in paths), MOST_OF * len(paths))
    }


def _dated(clues: Iterable[str]) -> dict[str, list[str]]:
    """The notes that are called by dates of our calendar and nothing that counts up, by folder: three at least."""
    found: dict[str, list[str]] = {}
    for path in clues:
        folder, _, file = path.rpartition("/")
        if date_in(file) and not _COUNTED.search(without_dates(file)):
            found.setdefault(folder, []).append(path)
    return {folder: paths for folder, paths in found.items() if len(paths) >= FEWEST}


def _of_folders(told: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What most notes of each folder say, of paths with what each note says."""
    return {
        folder: said for folder, said, _ in _agreed((path.rpartition("/")[0], each) for path, each in told) if folder
    }


def _agreed(told: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, Counter[str]]]:
    """Of groups of notes those most of which say one kind, that kind, and how many say which; ``told`` has a pair for each note."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for group, kind in told:
        found[group][kind] += 1
    for group, kinds in found.items():
        most = max(kinds, key=lambda kind: (bool(kind), kinds[kind]))
        if most and kinds[most] >= max(FEWEST, MOST_OF * kinds.total()):
            yield group, most, kinds
