"""Languages by their function words.

The words are in `lorekeeper/data/function_words.tsv`: articles, pronouns, prepositions, conjunctions, auxiliary verbs and question
words of eight languages, compiled for this file, folded. They are closed classes, so that a few dozen words mark most sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

WORDS = Path(__file__).parent / "data" / "function_words.tsv"

FEWEST, FEW, SHARE = 20, 3, 0.2
"""Function words that show a language of a vault, and of a few passages; and their share of those of the one that has most."""

_ENGLISH = frozenset("and from have her his of that the their they was were what with".split())


class Language(NamedTuple):
    """A language: the function words that English has not, and those that English, or names, have too."""

    name: str
    own: frozenset[str]
    shared: frozenset[str]
    code: str


@cache
def languages() -> tuple[Language, ...]:
    """The languages of the table."""
    rows = (line.split("\t") for line in WORDS.read_text("utf-8").splitlines()[1:])
    return tuple(
        Language(name, frozenset(own.split()), frozenset(shared.split()), code) for name, own, shared, code in rows
    )


def by_language(words: Iterable[str]) -> dict[str, int]:
    """How many function words of each language folded words have, by its code: where they are many, only those of one language."""
    found = [_codes().get(word, []) for word in words]
    own = Counter(codes[0] for codes in found if len(codes) == 1)
    return dict(own if max(own.values(), default=0) >= FEW else Counter(code for codes in found for code in codes))


def spoken(counts: Iterable[dict[str, int]]) -> str:
    """The codes of the languages of several texts, with spaces between them; "" where nothing shows them."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    least = max(FEWEST, SHARE * max(total.values(), default=0))
    return " ".join(sorted(code for code, number in total.items() if number >= least))


def name_of(words: Iterable[str]) -> str | None:
    """The language of folded words, by its name, if they have three times as many of its function words as of English ones."""
    counts = Counter(by_language(words))
    english = counts.pop("en", 0)
    code, number = next(iter(counts.most_common(1)), ("", 0))
    names = (each.name for each in languages() if each.code == code)
    return next(names, None) if number > max(FEW, 3 * english) else None


@cache
def _codes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {word: ["en"] for word in _ENGLISH}
    for language in languages():
        for word in language.own:
            found.setdefault(word, []).append(language.code)
    return found
