"""The words of a text that carry meaning, and the query of a keyword search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from lorekeeper.folding import fold

STOP_WORDS = frozenset(
    """
    a about all an and any are as at be but by can cannot could do does for from had has have he her him his how i if
    in into is it its me my no not of on or our she so some somebody someone something stuff than that the
    their them then there these they thing things this to us was we what when where which who why will with
    would you your
    arent couldnt didnt doesnt dont hadnt hasnt havent heres hows im isnt ive lets shouldnt thats theres theyre theyve wasnt
    werent weve whats wheres whos wont wouldnt youre youve
    """.split()
)
"""Words that carry no meaning of their own in a question, folded; without "cant", which is a language of thieves too."""

ASKING_WORDS = frozenset(
    """
    again describe details did explain happen happened info information know known like more please recap remember remind summarise
    summarize summary tell
    """.split()
)
"""Content words that ask for what is known of a thing, whatever it is."""

MAX_WORDS = 64
"""Most words of a query that are searched for; a longer query is a pasted text."""

RELATED = 0.3
"""How much a related word counts, beside 1 for a word of the query: measured by benchmarks/quality.py."""

RELATED_ALONE, RELATED_ALONE_REWORDED = 0.8, 0.5
"""The same for an entry of a book without phrases, of which nothing else says what people call it; and in several wordings.

If no entry has phrases, nDCG@10 of one wording is 0.652 instead of 0.631 (0.641 with 0.5, up to 1.3 alike), and of several 0.879
instead of 0.872 (0.875 with 0.8: who words a question several times says some of it as books do). If half of the entries have
phrases, as in a library with homebrew, it is 0.729 instead of 0.721, and 0.879 either way. A server, which does not know who has
phrases, counts `RELATED` for all."""


def content_words(folded: str) -> list[str]:
    """The words of a folded text that carry meaning, each once, in order."""
    return [word for word in dict.fromkeys(folded.split()) if word not in STOP_WORDS]


def subject_words(folded: str) -> list[str]:
    """The content words of a folded question that say what it is about: "mirra" of "what do we know about mirra"."""
    return [word for word in content_words(folded) if word not in ASKING_WORDS]


@dataclass(frozen=True)
class KeywordQuery:
    """Words to rank entities by: every entity with one of them is a hit.

    Attributes:
        words: the content words of the query, folded; a hit that has all of them is complete.
        alternatives: other words for the same things, folded.
        wordings: of a query in several wordings, the words of each; a hit that has all words of one is complete.
        related: words that books have for what the query says; each counts `RELATED`.
        phrases: texts as they were written; a hit has the words of each, in that order, in its name or its text.
        shares: alternatives that stand for a word together, as "armor" and "class" for "ac", and what each counts, 0 to 1.
    """

    words: tuple[str, ...]
    alternatives: tuple[str, ...] = ()
    wordings: tuple[tuple[str, ...], ...] = ()
    related: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    shares: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, text: str, alternatives: str = "", shares: Mapping[str, float] = MappingProxyType({})) -> Self:
        """The first `MAX_WORDS` content words of a text, then the words that only the alternatives have."""
        words = content_words(_folded(text))
        others = [word for word in content_words(_folded(alternatives)) if word not in words]
        others = others[: max(MAX_WORDS - len(words), 0)]
        return cls(tuple(words[:MAX_WORDS]), tuple(others), shares=tuple((w, shares[w]) for w in others if w in shares))

    @classmethod
    def joined(cls, queries: Sequence[Self]) -> Self:
        """Several wordings of one query: a word counts as often as it occurs in them."""
        if len(queries) == 1:
            return queries[0]
        words = [word for query in queries for word in query.words][:MAX_WORDS]
        others = tuple(dict.fromkeys(w for query in queries for w in query.alternatives if w not in words))
        others = others[: MAX_WORDS - len(words)]
        related = tuple(dict.fromkeys(w for query in queries for w in query.related if w not in (*words, *others)))
        parts = {word: share for query in queries for word, share in query.shares if word in others}
        wordings = tuple(query.words for query in queries)
        return cls(tuple(words), others, wordings, related[:MAX_WORDS], shares=tuple(parts.items()))

    @property
    def complete(self) -> tuple[tuple[str, ...], ...]:
        """Lists of words; a hit that has all words of one of them is complete."""
        return tuple(filter(None, self.wordings or (self.words,)))

    @property
    def any(self) -> tuple[str, ...]:
        """The words, then the alternatives, without the related ones."""
        return self.words + self.alternatives

    @property
    def alone(self) -> float:
        """How much a related word counts for an entry without phrases."""
        return RELATED_ALONE_REWORDED if self.wordings else RELATED_ALONE

    @property
    def by_weight(self) -> dict[float, list[str]]:
        """The words and the alternatives, by how much each counts where it is there once."""
        shares, words = dict(self.shares), dict[float, list[str]]()
        for word in self.any:
            words.setdefault(shares.get(word, 1.0), []).append(word)
        return words


def _folded(text: str) -> str:
    return fold(text.replace("\0", " "))
