"""Names in texts: which known names a sentence has, as whole words, also in the possessive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from lorekeeper.folding import fold
from lorekeeper.text.keywords import STOP_WORDS, content_words
from lorekeeper.words import listed_words

MOST_WORDS = 7
"""Words of the longest name that is looked for."""

MIN_CHARS = 3
"""Letters of the shortest name that is looked for."""

_ARTICLE = "the "

_WORD = re.compile(r"(\A|[:.!?;|·—–-]\s*[\"'“‘(\[]*\s*)?([^\W_]+(?:['’][^\W_]+)*)")
_POSSESSIVE = re.compile(r"['’]s\Z|(?<=s)['’]\Z")


class Word(NamedTuple):
    """A word of a text: folded, without a possessive ending, whether it begins with a capital, and a sentence or clause."""

    folded: str
    bare: str
    capital: bool
    initial: bool


@dataclass(frozen=True)
class Mention:
    """A name in a text.

    Attributes:
        name: folded, as it is known.
        capital: whether its first word that carries meaning begins with a capital.
        alone: whether that capital is not one of a sentence's beginning, or of a title of several words.
        single: whether it has one word that carries meaning.
    """

    name: str
    capital: bool
    alone: bool
    single: bool


def words_of(text: str) -> list[Word]:
    """The words of a text, those of hyphenated words apart."""
    return [_word(word, bool(before)) for before, word in _WORD.findall(text)]


@lru_cache(maxsize=50_000)
def _word(word: str, initial: bool) -> Word:
    """A word as it is written: one object for all its places, which spares the garbage collector a heap of them."""
    return Word(fold(word), fold(_POSSESSIVE.sub("", word)), word[0].isupper(), initial)


class Lexicon:
    """Names to look for in texts.

    Args:
        names: folded.
        others: further folded names: they are no mentions, but no name is seen within one of them.
    """

    def __init__(self, names: Iterable[str], others: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self._all = self.names | frozenset(others)
        self._lengths: dict[str, int] = {}
        """By the first word of a name, without its article: the words of the longest one."""
        for name in self._all:
            first, *rest = name.removeprefix(_ARTICLE).split() or [""]
            self._lengths[first] = max(self._lengths.get(first, 0), min(len(rest) + 1, MOST_WORDS))

    def __bool__(self) -> bool:
        return bool(self.names)

    def mentions(self, text: str, *, plurals: bool = False) -> Iterator[Mention]:
        """The names in a sentence, the longest where they overlap; with ``plurals``, "goblins" is a mention of "goblin"."""
        words, start = words_of(text), 0
        while start < len(words):
            found, used = self._longest(words, start, plurals=plurals)
            if found and found.name in self.names:
                yield found
            start += used

    def _longest(self, words: Sequence[Word], start: int, *, plurals: bool) -> tuple[Mention | None, int]:
        """The longest name that begins at a place, and the words to go on."""
        first = words[start + 1] if words[start].folded == "the" and start + 1 < len(words) else words[start]
        firsts = {first.folded, first.bare, *([first.bare[:-1]] if plurals else [])}
        most = 1 + max(self._lengths.get(word, -1) for word in firsts)
        for number in range(min(most, len(words) - start), 0, -1):
            part = words[start : start + number]
            name = next((key for key in _keys(part, plurals=plurals) if key in self._all), None)
            if name and len(name) >= MIN_CHARS:
                content = [word for word in part if word.folded not in STOP_WORDS]
                if content:
                    capital = content[0].capital
                    alone = capital and _is_alone(words, start, start + number)
                    return Mention(name, capital, alone, len(content) == 1), number
        return None, 1


def _is_alone(words: Sequence[Word], start: int, end: int) -> bool:
    """Whether some words do not begin a clause, and have no word with a capital beside them."""
    after = words[end] if end < len(words) and not words[end].initial else None
    beside = [word for word in (words[start - 1], after) if word and word.folded not in STOP_WORDS]
    return not words[start].initial and not any(word.capital for word in beside)


def _keys(part: Sequence[Word], *, plurals: bool) -> Iterator[str]:
    """How some words may be written as a name."""
    before = [word.folded for word in part[:-1]]
    ends = dict.fromkeys([part[-1].folded, part[-1].bare])
    if plurals and part[-1].bare.endswith("s"):
        ends[part[-1].bare[:-1]] = None
    for end in ends:
        key = " ".join([*before, end])
        yield key
        yield _ARTICLE + key


@dataclass(frozen=True)
class Called:
    """The names by which something is called.

    Attributes:
        names: folded: its name and its aliases.
        short: folded: what a person is called for short, written with a capital.
        common: whether the names are common nouns, such as "goblin", which have plurals and need no capital.
    """

    names: frozenset[str]
    short: frozenset[str] = frozenset()
    common: bool = False

    @property
    def query(self) -> str:
        """The words to search for."""
        return " ".join(dict.fromkeys(word for name in sorted(self.names) for word in content_words(name)))

    def count(self, text: str) -> int:
        """How often a text names it."""
        if not self.possible(text):
            return 0
        return sum(map(self._meant, self._lexicon.mentions(text, plurals=self.common)))

    def surely(self, text: str) -> bool:
        """Whether a text names it with a capital, and by more than everyday words."""
        return self.possible(text) and any(map(is_telling, self._lexicon.mentions(text)))

    def possible(self, text: str) -> bool:
        """Whether the letters of a name are in a text: a quick look before its words are compared."""
        folded = fold(text)
        return any(name in folded for name in self._letters)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon(self.names | self.short)

    @cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset(name.removeprefix(_ARTICLE) for name in self.names | self.short)

    def _meant(self, mention: Mention) -> bool:
        """Whether a name is one in its sentence: a single word has a capital, unless it is a noun with an article."""
        if mention.name in self.short:
            return mention.capital
        return self.common or mention.capital or not mention.single or mention.name.startswith(_ARTICLE)


def is_telling(mention: Mention) -> bool:
    """Whether a name in a note means the entry of that name: it is no everyday word, and written with a capital."""
    words = mention.name.removeprefix("the ").split()
    return mention.capital and not listed_words("name everyday").issuperset(words)


def plain_names(names: Iterable[str]) -> frozenset[str]:
    """Folded names that are long enough to be looked for."""
    return frozenset(name for name in map(fold, names) if len(name) >= MIN_CHARS)


def short_names(name: str, others: Iterable[str]) -> frozenset[str]:
    """The words of a person's name that nothing else is called: "ashford" of "Lieutenant Moira Ashford".

    Args:
        name: of the person.
        others: folded names of everything else.
    """
    words = [word for word in content_words(fold(name)) if len(word) > MIN_CHARS and not word.isdigit()]
    own = {*words} - listed_words("name title") - listed_words("name everyday")
    if len(words) < 2 or not own:
        return frozenset()
    for other in others:
        if other != fold(name):
            own.difference_update(other.split())
    return frozenset(own)
