"""The spells that a creature casts, by the texts of its stat block."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from lorekeeper.folding import fold
from lorekeeper.normalize.spells import CLASSES
from lorekeeper.records import Feature

_LABEL = (
    r"(?:at[ -]will|cantrips?|constant|rituals?|\d{1,2}(?:st|nd|rd|th)?[ -]?levels?"
    r"|\d{1,2}/(?:day|rest|short rest|long rest|turn|hour|week)|\d(?:st|nd|rd|th))"
)
NAMES = CLASSES.with_name("names") / "spells.tsv"
"""The spells of the SRDs, with their names in other books."""

_REMARK = r"\([^()\n]{0,80}\)"
_LABELLED = rf"{_LABEL}(?:[ ,*_]*(?:each|at will|{_REMARK}))*[ *_]*(?:[:.—–]|(?<=slots\)))"
_LIST = re.compile(rf"(?:^|[\n.;:>]|[a-z)]\b)[\s>*_-]{{0,40}}{_LABELLED}[ *_:]*([^\n]+)", re.IGNORECASE)
"""A line of a list: "At will: light, fly", "* 1st level (4 slots): shield", "- **2/Day Each:** Web"."""

_BREAK = re.compile(
    rf"<br ?/?>|(?:[ ;]|(?<=[a-z])(?=\d))(?=[*_]*{_LABEL}(?: (?:each|{_REMARK}))*[*_]*:)", re.IGNORECASE
)
"""Where a list follows another on the same line, or is glued to it: "hex3/day each: fear"."""

_IS_LIST = re.compile(r"spellcast|\bspells?\b|psionic|magic", re.IGNORECASE)

_A5E = re.compile(r"^\s*\((?:cantrip|\d(?:st|nd|rd|th)[ -]level);", re.IGNORECASE)
"""How the text of a spell begins that Level Up prints as an action: "(3rd-Level; V, S)"."""

_CASTS = re.compile(r"\bcasts? (?=([^.;:\n]{3,300}))", re.IGNORECASE)
"""What somebody does: "casts _web_", "can cast the web spell". Casting is no deed: a curse ends by casting Remove Curse."""

_BEFORE = re.compile(r"(?:the|an?|either|one of|its|version of)\s+", re.IGNORECASE)
_EMPHASISED = re.compile(r"[*_]+([^*_\n]{3,60})[*_]+")
_AFTER = re.compile(rf"(?: (?:spells?|cantrips?)\b)?(?: ?{_REMARK})?")
_JOINT = re.compile(r",? (?:and|or) |, ", re.IGNORECASE)
MOST_WORDS = 6
"""Words of the longest name of a spell."""

_CLAUSE = re.compile(r"[.;:\n]|, ")
_OTHERS = re.compile(
    r"\s*(?:(?:when|if|unless|until|once|while|and|or|but|that) )*"
    r"(?:(?:an?|any|another|each|no) (?P<noun>\w+)|(?:anyone|someone|anybody|somebody|you|the target)\b)",
    re.IGNORECASE,
)
"""The subject of a clause if that is somebody else than the creature, unless the noun is its name: "When a creature casts"."""

_NOT_DONE = re.compile(r"\b(?:as if|as though|can(?:not|[’']t)|unable to)\b", re.IGNORECASE)

LONGEST_CLAUSE = 200
"""Characters before "casts" in which its clause is looked for."""

_GLUED = re.compile(r"(?<=\w)[*_]+(?=\w)")
_TITLE = re.compile(r"(?<=[a-z ]) (?=[A-Z])")
"""Where the title of the next trait follows a list that is written small: "blink, shatter Stone Stride"."""

_NOT_A_SPELL = re.compile(
    r"\b(?:spells?|cantrips?|levels?|lower|higher|slots?|its|it|this|that|these|those|their|any|one|following|dim|bright|shadow|"
    r"target|action|dc|save|damage|requir\w*|component\w*|innately|item|doubt|aside|out|off|casts?|each|(?<!enhance )ability|an?|"
    r"legendary|scroll|but|has|is|no|only|by|if|as|when)\b|\d"
)


_KINDS_OF_SPELLS = frozenset(
    "first second third stored divine arcane psionic illusion enchantment evocation greater".split()
)


def spells_cast(features: Iterable[Feature], name: str = "") -> list[str] | None:
    """The names of the spells that the features of a creature cast; None if there are none.

    Args:
        features: its traits and actions.
        name: its own, by which a sentence may call it.
    """
    names = [fold(spell) for feature in features for spell in _spells(feature, frozenset(fold(name).split()))]
    return list(dict.fromkeys(spell for spell in names if _is_spell(spell))) or None


def _spells(feature: Feature, own: Collection[str]) -> Iterator[str]:
    if _A5E.search(feature.text):
        yield feature.name.partition("(")[0]
    if _IS_LIST.search(feature.name) or "following spells" in feature.text or "spells:" in feature.text:
        for match in _LIST.finditer(_BREAK.sub("\n", feature.text)):
            yield from _names(match[1])
    for match in _CASTS.finditer(feature.text):
        clause = _CLAUSE.split(feature.text[max(match.start() - LONGEST_CLAUSE, 0) : match.start()])[-1]
        others = _OTHERS.match(clause)
        if not _NOT_DONE.search(clause) and (others is None or fold(others["noun"] or "") in own):
            yield from _said(match[1])


def _names(line: str) -> Iterator[str]:
    """The names in the line of a list, without remarks in brackets, up to the end of its sentence."""
    line = re.sub(r"\([^()]{0,200}\)", "", _GLUED.sub("", line)).split(". ")[0]
    for part in re.split(r"[,;]", line):
        name = re.sub(r"^\s*(?:and|or)\s", "", part).strip(" *_.")
        yield from [name] if fold(name) in known_spells() else _apart(name)


def _apart(name: str) -> Iterator[str]:
    """A name that no known spell has: two of known ones that stand together, a known one before a title, or itself."""
    words = name.split()
    pairs = ((" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words)))
    known = next((pair for pair in pairs if all(fold(each) in known_spells() for each in pair)), None)
    before = _TITLE.split(name)[0].strip()
    yield from known or ([before] if fold(before) in known_spells() else [name])


def _said(text: str) -> Iterator[str]:
    """The names that a sentence goes on with: those of known spells, and what is emphasised; up to the first other word."""
    while True:
        while article := _BEFORE.match(text):
            text = text[article.end() :]
        emphasised = _EMPHASISED.match(text)
        name = emphasised[0] if emphasised else _known_at(text)
        if not name or text[len(name) :].startswith(" from "):  # a scroll, or where light comes from
            return
        yield from re.split(r",(?: and| or)? | or | and (?!evil|good|law|water)", emphasised[1] if emphasised else name)
        text = text[len(name) :]
        after = _AFTER.match(text)
        text = text[after.end() :] if after else text
        joint = _JOINT.match(text)
        if joint is None:
            return
        text = text[joint.end() :]


def _known_at(text: str) -> str:
    """The longest name of a known spell that a text begins with, "" for none."""
    ends = [word.end() for word in itertools.islice(re.finditer(r"[\w’'/-]+", text[:120]), MOST_WORDS)]
    return next((text[:end] for end in reversed(ends) if fold(text[:end]) in known_spells()), "")


@cache
def known_spells() -> frozenset[str]:
    """The names of the spells of the books, folded, those of two effects also by one: "blindness" of "blindness/deafness"."""
    slugs = (line.split(" ")[1] for line in CLASSES.read_text("utf-8").splitlines())
    named = (line.split("\t")[:2] for line in NAMES.read_text("utf-8").splitlines()[1:])
    printed = [
        name for english, books in named for name in (english, *english.split("/"), *filter(None, books.split("; ")))
    ]
    return frozenset(map(fold, (*(slug.replace("-", " ") for slug in slugs), *printed)))


def _is_spell(name: str) -> bool:
    if name in _KINDS_OF_SPELLS:
        return False
    return bool(name) and len(name.split()) <= 6 and len(name) > 2 and not _NOT_A_SPELL.search(name)
