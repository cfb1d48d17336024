"""Other names of SRD entries: those that the books use, and those of the German, French and Spanish translations.

The table is `lorekeeper/data/names`: one file per entity type with a line per English name; several names are separated
by semicolons. A type's file is read when one of its names is first asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from lorekeeper.entities import COLLECTIONS
from lorekeeper.folding import fold
from lorekeeper.text.names import SIMILAR, similarity

ALIASES = Path(__file__).parent.parent / "data" / "names"
"""The tables: one file per collection that has any."""

LANGUAGES = {"books": "", "de": "German", "fr": "French", "es": "Spanish"}
"""The columns of a table after the English name, and the languages of the names in them."""

MAX_ALIAS_WORDS = 8
"""Words of the longest name that is recognised within a sentence."""

MAX_SENTENCE_WORDS = 64
"""Words of a sentence in which names are looked for; a longer one is a pasted text."""

DISTINCTIVE = 6
"""Fewest letters of a name of one word that is recognised within a sentence: "Ours", a bear, is an English word too."""

ENGLISH = frozenset(
    """
    acolyte assistance benediction chevalier communion consecration contamination eloquence fabrication garrote guerrero hirsch
    identification imposition interdiction labyrinth levitation lindwurm mirage necrophage orientation petrification phantom
    portal possession premonition preservation regeneration reincarnation ritter sanctification sequestration sprung svirfneblin
    tarasque teleportation terror tyrannosaurus umbral veteran
    """.split()
)
"""Longer names of one word that are not recognised within a sentence either, since they are words of English texts."""

SHOWING = "showing "
"""How an explanation begins that only says what is shown."""

NAMES_KEPT = 1024
"""Names whose entries are kept: to find those of one takes a look at every line of its table."""

_TRANSCRIPTIONS = {"ä": "ae", "ö": "oe", "ü": "ue", "œ": "oe", "æ": "ae"}
"""How letters are written where the keyboard has none of them."""

_MARKS = re.compile("[\u0300-\u036f]")

_BETWEEN_NAMES = re.compile(r" ?[\t\n;] ?")

_PUNCTUATION, _SPACES = re.compile(r"[^\w\t\n; ]"), re.compile(" {2,}")


class Alias(NamedTuple):
    """One other name of an entry.

    Attributes:
        written: the name, as it is printed.
        name: the English name of the entry in the SRD.
        language: of the name, "" for one that only the books have ("Melf's Acid Arrow").
    """

    written: str
    name: str
    language: str

    @property
    def explanation(self) -> str:
        """What the name stands for, as a sentence without its full stop.

        A name that is spelt nearly as the English one may be a misspelling, of which nobody wants to learn in which language it is
        right.
        """
        if self.language and similarity(fold(self.written), fold(self.name)) >= SIMILAR:
            return f"{SHOWING}{self.name}"
        if self.language:
            return f"{self.written} is {self.name} in {self.language}"
        return f"{self.written} is called {self.name} in the SRD"


def aliases_of(entity_type: str, folded: str) -> tuple[Alias, ...]:
    """The entries of a type that have a folded name as their other name."""
    return _aliases_of(entity_type, folded) if folded in _table(entity_type).names else ()


@lru_cache(maxsize=NAMES_KEPT)
def _aliases_of(entity_type: str, folded: str) -> tuple[Alias, ...]:
    lines = [line for line in _table(entity_type).lines if folded in line.folded]
    return tuple(alias for line in lines for name, alias in line.aliases if name == folded)


def aliases_within(entity_type: str, folded: str, *, foreign: bool = False) -> list[Alias]:
    """The same for each name that occurs in a folded sentence and cannot be a plain English word, the longest ones first.

    Words that belong to a longer name are not read again: "verzögerter Feuerball" holds one name. In a sentence that is
    not English, names of any length count: "Oger", "Ours".
    """
    words, beginnings = folded.split()[:MAX_SENTENCE_WORDS], _table(entity_type).beginnings
    starts = [start for start, word in enumerate(words) if word in beginnings]
    found: list[Alias] = []
    free = [True] * len(words)
    for length in range(min(MAX_ALIAS_WORDS, len(words)) if starts else 0, 0, -1):
        for start in (start for start in starts if start + length <= len(words)):
            name = " ".join(words[start : start + length])
            is_distinctive = " " in name or (len(name) >= DISTINCTIVE and name not in ENGLISH)
            aliases = aliases_of(entity_type, name) if foreign or is_distinctive else ()
            if aliases and all(free[start : start + length]):
                found += aliases
                free[start : start + length] = [False] * length
    return found


def aliases_with(entity_type: str, folded: str) -> list[Alias]:
    """The other names that have a folded text from the beginning of a word on: "Roter Drache", "Mordenkainen"."""
    lines = [line for line in _table(entity_type).lines if folded in line.folded]
    found = [alias for line in lines for name, alias in line.aliases if f" {folded}" in f" {name}"]
    return list(dict.fromkeys(found))


def aliases_anywhere(folded: str) -> list[Alias]:
    """The entries of any type that a folded text names, as a whole or within it."""
    return [
        alias
        for entity_type in COLLECTIONS
        for alias in aliases_of(entity_type, folded) or aliases_within(entity_type, folded)
    ]


def alias_names(entity_type: str) -> list[str]:
    """All names of the table of a type, folded."""
    return sorted(_table(entity_type).names)


class _Line(NamedTuple):
    """A line of a table: as it stands, and with its names folded, as printed and as transcribed."""

    text: str
    printed: str
    transcribed: str

    @property
    def folded(self) -> str:
        return f"{self.printed}\n{self.transcribed}"

    @property
    def aliases(self) -> Iterator[tuple[str, Alias]]:
        """The other names, folded, and what they stand for, without those that are the same in English."""
        english, written = fold(self.text.partition("\t")[0]), list(_aliases(self.text))
        for spelling in dict.fromkeys((self.printed, self.transcribed)):
            names = [name for _, name in _cells(spelling)]
            yield from ((name, alias) for name, alias in zip(names, written, strict=True) if name != english)


class _Table(NamedTuple):
    """The table of a type: its folded names, their first words, and its lines."""

    names: frozenset[str]
    beginnings: frozenset[str]
    lines: list[_Line]


@lru_cache(maxsize=len(COLLECTIONS))
def _table(entity_type: str) -> _Table:
    """The table of a type.

    The names are folded all at once, and a line is taken apart when one of its names is asked for: so it takes some milliseconds
    to read a table, instead of fifty.
    """
    path = ALIASES / f"{entity_type}.tsv"
    text = path.read_text("utf-8").partition("\n")[2] if path.is_file() else ""
    printed, transcribed = _folded(text.lower()), _folded(_transcribed(text.lower()))
    names = frozenset(_BETWEEN_NAMES.split(f"{printed}\n{transcribed}"))
    beginnings = frozenset(name.partition(" ")[0] for name in names)
    lines = zip(*map(str.splitlines, (text, printed, transcribed)), strict=True)
    return _Table(names, beginnings, [_Line(*line) for line in lines])


def _folded(table: str) -> str:
    """A table with each of its names as `fold` makes it."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", table.replace("'", "")))
    return _SPACES.sub(" ", _PUNCTUATION.sub(" ", plain.casefold()))


def _transcribed(table: str) -> str:
    for letter, letters in _TRANSCRIPTIONS.items():
        table = table.replace(letter, letters)
    return table


def _aliases(line: str) -> Iterator[Alias]:
    name = line.partition("\t")[0]
    yield from (Alias(written, name, language) for language, written in _cells(line))


def _cells(line: str) -> Iterator[tuple[str, str]]:
    """The language and the name of each other name in a line."""
    for language, column in zip(LANGUAGES.values(), line.split("\t")[1:], strict=True):
        yield from ((language, name.strip()) for name in column.split(";") if name)
