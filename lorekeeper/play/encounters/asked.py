"""What callers ask for: parties, difficulties and monsters, as people and models write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lorekeeper.errors import FilterError
from lorekeeper.play.encounters.tables import COUNTERPARTS, DIFFICULTIES
from lorekeeper.printable import shown
from lorekeeper.terms import MAX_LEVEL


@dataclass(frozen=True)
class Difficulty:
    """How hard an encounter is to be.

    Attributes:
        rules: "2014" or "2024".
        name: in these rules.
        note: what the reader should know of how it was read; None if it is a word of the rules that were asked for.
    """

    rules: str
    name: str
    note: str | None = None


MAX_PARTY = 30
"""Most characters of a party."""

MAX_MONSTERS = 1_000_000
"""Most monsters of one kind."""

MAX_NAME = 1000
"""Longest number and name or uri of monsters, in characters."""

_COUNT_BEFORE = re.compile(r"(\d{1,9})\s*[x×*]?\s+(.+)|(\d{1,9})\s*[x×*]\s*(.+)", re.DOTALL)
_COUNT_BEHIND = re.compile(r"(.+?)\s+[x×*]\s*(\d{1,9})", re.DOTALL)
_ARTICLE = re.compile(r"\A\s*an?\s+(?=\S)", re.IGNORECASE)

FORMS = 'give the levels of its characters, for example 3,3,4, or 4x5 or "four level 5" (four of level 5)'
"""How a party is written."""

NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}

_NUMBER = rf"\d|(?:an?|{'|'.join(NUMBERS)})\s"
_BETWEEN = re.compile(
    rf"(?<=[x×*]\d)\s*[,;+&]\s*|(?<=[x×*]\d\d)\s*[,;+&]\s*|\s*(?:[,;+&\n]|\band\b)\s*(?:\band\s+)?(?={_NUMBER})",
    re.IGNORECASE,
)
"""Between monsters with their numbers: names may have a comma too, as in "Archon, Ursan"."""

_WORDS = re.compile(r"(?<![a-z])-?\d+(?:\.\d+)?|[x×*](?![a-z])|[^\W\d_]+|[^\w\s,;-]|\d+")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b-?")
_FILLERS = frozenset(
    "a an and the each party with characters character players player pcs pc adventurers heroes +".split()
)
_PART = re.compile(
    r"(?:n?(?P<times>\d{1,4}) ?[x×*] ?(?:levels? )?n?(?P<each>\d{1,4})"
    r"|(?P<high>\d{1,4}) levels? [x×*] ?n?(?P<by>\d{1,4})"
    r"|n?(?P<of>\d{1,4})(?: at| of)? levels? n?(?P<level>\d{1,4})(?: levels?(?! n?\d))?"
    r"|n?(?P<count>\d{1,4}) (?P<rank>\d{1,4}) levels?(?! n?\d)"
    r"|levels? n?(?P<alone>\d{1,4})|(?P<one>\d{1,4}))(?: |$)"
)
"""4x5 or 4 x level 5; 5th level x 4; 4 level 5; 4 5th-level; level 5, or 5. A number in words begins with n: by itself, it is no
level."""

_COUNTS = ("times", "by", "of", "count")
_LEVELS = ("each", "high", "level", "rank", "alone", "one")

PLURALS = (("wolves", "wolf"), ("ies", "y"), ("ves", "f"), ("men", "man"), ("es", ""), ("s", ""))
"""Endings of several, and of one."""


def parse_party(party: Sequence[int | str]) -> tuple[int, ...]:
    """The levels of a party, of numbers or of texts such as "4x3" or "four level 3" (four characters of level 3).

    Raises:
        FilterError: it is empty or too large, a level is not 1 to 20, or it is written otherwise; the message has the forms.
    """
    levels: list[int] = []
    for each in party:
        for number, level in _groups(str(each)):
            if not 1 <= level <= MAX_LEVEL:
                raise FilterError(f"a level is a whole number from 1 to {MAX_LEVEL}, not {shown(str(level))}; {FORMS}")
            levels += [level] * min(number, MAX_PARTY + 1)
            if len(levels) > MAX_PARTY:
                raise FilterError(f"a party has at most {MAX_PARTY} characters")
    if not levels:
        raise FilterError(f"the party is empty; {FORMS}")
    return tuple(levels)


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """Numbers of characters and their level, of a text in any of the forms."""
    words = _WORDS.findall(_ORDINAL.sub(r"\1", text[:MAX_NAME].casefold().replace("party of", " ")))
    plain = " ".join(f"n{NUMBERS[word]}" if word in NUMBERS else word for word in words if word not in _FILLERS)
    place = 0
    while place < len(plain):
        match = _PART.match(plain, place)
        if match is None:
            raise FilterError(f"a level is a whole number from 1 to {MAX_LEVEL}, not {shown(text)}; {FORMS}")
        number, level = (next(filter(None, match.group(*names)), "1") for names in (_COUNTS, _LEVELS))
        yield int(number), int(level)
        place = match.end()


def parse_difficulty(difficulty: str | None, rules: str | None, usual: str) -> Difficulty:
    """A difficulty, and the rules that it is of.

    Args:
        difficulty: as asked for; the second one of the rules by default.
        rules: that are asked for. None for those that have the word, which only one edition has.
        usual: the rules if neither says.

    Raises:
        FilterError: there is no such difficulty.
    """
    if difficulty is None:
        return Difficulty(rules or usual, DIFFICULTIES[rules or usual][1])
    word = difficulty.strip().casefold()
    own = next((name for name, words in DIFFICULTIES.items() if word in words), None)
    if own is None:
        known = "; ".join(
            f"{', '.join(words)} ({name})" for name, words in DIFFICULTIES.items() if rules in (None, name)
        )
        raise FilterError(f"unknown difficulty {shown(difficulty)}; known: {known}")
    if rules is None:
        note = f"{word!r} is a word of the {own} rules, so the encounter is measured by them; rules={usual} selects the others."
        return Difficulty(own, word, note if own != usual else None)
    if own == rules:
        return Difficulty(rules, word)
    nearest = COUNTERPARTS[rules, word]
    return Difficulty(
        rules, nearest, f"{word!r} is a word of the {own} rules; those of {rules} have {nearest!r} in its place."
    )


def parse_monsters(texts: Sequence[str]) -> list[tuple[int, str]]:
    """Numbers and names of monsters, which a text may have several of: "goblin x3, 2 wolves and an ogre".

    Raises:
        FilterError: as for `parse_monster`.
    """
    return [parse_monster(part) for text in texts for part in _BETWEEN.split(text[: MAX_NAME * 2])]


def parse_monster(text: str) -> tuple[int, str]:
    """Number and name of monsters: "3 goblins", "3x goblin", "goblin x3", "three goblins", or one "goblin".

    Raises:
        FilterError: there is no name, or the number is 0 or too large.
    """
    if len(text) > MAX_NAME:
        raise FilterError(f"the name of a monster has at most {MAX_NAME} characters; {shown(text)} is longer")
    first, *others = text.split(maxsplit=1) or [""]
    if others and first.casefold() in NUMBERS:
        text = f"{NUMBERS[first.casefold()]} {others[0]}"
    before, behind = _COUNT_BEFORE.fullmatch(text.strip()), _COUNT_BEHIND.fullmatch(text.strip())
    count, name = "1", _ARTICLE.sub("", text).strip()
    if before:
        count, name = before[1] or before[3], before[2] or before[4]
    elif behind:
        count, name = behind[2], behind[1]
    if not name.strip() or not 1 <= int(count) <= MAX_MONSTERS:
        raise FilterError(
            f"{shown(text)}: give a number from 1 to {MAX_MONSTERS:,} and a name or uri, for example '3 goblin'"
        )
    return int(count), name.strip()


def singulars(name: str) -> list[str]:
    """What a name may be of one: "goblin" for "goblins", "harpy" for "harpies", "swarm of rats" for "swarms of rats"."""
    head, of, rest = name.partition(" of ")
    if of:
        return [f"{one}{of}{rest}" for one in singulars(head)]
    folded = name.casefold()
    return [
        name[: len(name) - len(many)] + one
        for many, one in PLURALS
        if folded.endswith(many) and len(name) > len(many) + 1
    ]
