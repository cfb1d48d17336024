"""The words of notes and of questions by what they say, in all languages together: ``data/words.tsv``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STEMS = Path(__file__).parent / "data" / "words.tsv"

_LEAST, _ENDING, _LONG = 2, 2, 24
"""Letters of a beginning, at least; of the endings of "~", at most; and of a word that is looked up by its beginning."""

Table = dict[str, frozenset[str]]
"""What each stem says."""


@cache
def rows() -> tuple[tuple[str, str, str], ...]:
    """Each stem, what it says, and a language that has it: "*" for several."""
    lines = (
        line.split("\t") for line in STEMS.read_text("utf-8").splitlines() if not line.startswith(("#", "class\t"))
    )
    return tuple((stem, what, language) for what, language, stems in lines for stem in stems.split(", "))


def marks() -> list[tuple[str, str, str]]:
    """The rows of what keeps a part from players; the others have a class of two words."""
    return [row for row in rows() if " " not in row[1]]


@cache
def listed(what: str) -> tuple[str, ...]:
    """The stems that say something, each once."""
    return tuple(dict.fromkeys(stem for stem, each, _ in rows() if each == what))


@cache
def listed_words(what: str) -> frozenset[str]:
    """The same as a set.

    "asked several": by which a question asks for entries of a kind and not for one, as "healing spells of a cleric" names no spell.
    "asked teller": with which one begins that tells of somebody, and names nothing: "we are falling off a cliff". "name everyday":
    names of notes and of entries that mean nothing in particular in a sentence. "name title": what stands before the names of
    persons. "kinds named": kinds of notes whose names people shorten. "key needless": facts that say nothing of a subject.
    """
    return frozenset(listed(what))


@cache
def table(beginning: str, spoken: str = "", code: str = "") -> Table:
    """The stems that say something which begins so, each with what follows; "" for what has no groups, the marks.

    Args:
        beginning: of what is said.
        spoken: the languages of a vault, English where nobody knows them: a stem of "cs only" says so in a Czech one.
        code: the language that has them, beside English and what several have; "" for any.
    """
    found: dict[str, set[str]] = {}
    for stem, what, language in rows():
        is_said = not language.endswith(" only") or language[:2] in (spoken or "en")
        is_said &= not code or language[:2] in (code, "en", "*")
        if is_said and (" " in what) == bool(beginning) and what.startswith(beginning):
            found.setdefault(stem, set()).add(what.removeprefix(beginning))
    return {stem: frozenset(says) for stem, says in found.items()}


@cache
def in_slugs(spoken: str) -> Table:
    """The marks of a vault's languages that have letters of their own, as `spelt` writes them: slugs have Latin ones."""
    own = {stem for stem, _, language in marks() if language[:2] in (*spoken.split(), "*") and not stem.isascii()}
    found = {spelt(stem): says for stem, says in table("", spoken).items() if stem in own}
    return {stem: says for stem, says in found.items() if stem.isascii()}


def spelt(word: str) -> str:
    """A folded word in one spelling for those of all tables of transliteration: "siuzet" for "syuzhet" and "sjuzhet"."""
    known = table("latin ")
    return _letters().sub(lambda match: "".join(known[match[0]]), word)


@cache
def _letters() -> re.Pattern[str]:
    """The letters that have another spelling, several together first."""
    return re.compile("|".join(sorted(table("latin "), key=len, reverse=True)))


def by_beginning(found_in: Table, word: str) -> frozenset[str]:
    """What the longest stem says that a word begins with."""
    for end in range(min(len(word), _LONG), _LEAST - 1, -1):
        is_near = len(word) - end <= _ENDING
        if found := found_in.get(f"{word[:end]}-") or (is_near and found_in.get(f"{word[:end]}~")):
            return found
    return frozenset()


def first(beginning: str, folded: str) -> str:
    """What a folded word or two says, singular or plural; "" for nothing."""
    known = table(beginning)
    candidates = (folded, folded.removesuffix("s"), folded.removesuffix("es"), folded.removesuffix("ies") + "y")
    found = next((known[each] for each in candidates if each in known), None) or by_beginning(known, folded)
    return min(found, default="", key=_order(beginning).__getitem__)


@cache
def _order(beginning: str) -> dict[str, int]:
    """The place of the first row that says something."""
    found = dict.fromkeys(what.removeprefix(beginning) for _, what, _ in rows() if what.startswith(beginning))
    return {what: place for place, what in enumerate(found)}
