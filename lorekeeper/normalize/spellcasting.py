"""The spells that a creature casts, by the texts of its stat block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lorekeeper.folding import fold
from lorekeeper.records import Feature

_LABEL = (
    r"(?:at[ -]will|cantrips?|constant|rituals?|\d{1,2}(?:st|nd|rd|th)?[ -]?levels?"
    r"|\d{1,2}/(?:day|rest|short rest|long rest|turn|hour|week)|\d(?:st|nd|rd|th))"
)
_REMARK = r"\([^()\n]{0,80}\)"
_LABELLED = rf"{_LABEL}(?:[ ,*_]*(?:each|at will|{_REMARK}))*[ *_]*(?:[:.—–]|(?<=slots\)))"
_LIST = re.compile(rf"(?:^|[\n.;>]|[a-z)]\b)[\s>*_-]*{_LABELLED}[ *_:]*([^\n]+)", re.IGNORECASE)
"""A line of a list: "At will: light, fly", "* 1st level (4 slots): shield", "- **2/Day Each:** Web"."""

_BREAK = re.compile(rf"<br ?/?>|[ ;](?=[*_]*{_LABEL}(?: (?:each|{_REMARK}))*[*_]*:)", re.IGNORECASE)
"""Where a list follows another on the same line."""

_IS_LIST = re.compile(r"spellcast|\bspells?\b|psionic|magic", re.IGNORECASE)

_A5E = re.compile(r"^\s*\((?:cantrip|\d(?:st|nd|rd|th)[ -]level);", re.IGNORECASE)
"""How the text of a spell begins that Level Up prints as an action: "(3rd-Level; V, S)"."""

_WORD = r"[A-Za-z][\w’'/-]*"
_TITLE = r"[A-Z][\w’'/-]*(?: (?:of|the|from|with|to|[A-Z][\w’'/-]*)){0,6}"
_JOINT = r"(?:, or |, and |, | or | and )"
_CASTS = (
    re.compile(r"\bcast(?:s|ing)?(?: the| a| either| one of)? [*_]+([^*_\n]{3,40})[*_]+", re.IGNORECASE),
    re.compile(rf"\bcast(?:s|ing)?(?: the)? ({_TITLE}(?:{_JOINT}{_TITLE}){{0,8}})"),
    re.compile(rf"\bcast(?:s|ing)? (?:the|an?) ({_WORD}(?: (?!spell|cantrip){_WORD}){{0,4}}) (?:spell|cantrip)s?\b"),
    re.compile(
        rf"\bcasts? ({_WORD}(?:,? (?!at will|once|as|on|without|using|again|with|requiring){_WORD}){{0,8}})"
        r"(?: \(|,? (?:at will|once|as an?|on itself|without|using|with no|requiring no)\b)"
    ),
)
"""Sentences: "casts _web_", "casts Fear", "can cast the web spell", "can cast invisibility at will"."""

_NOT_A_SPELL = re.compile(
    r"\b(?:spells?|cantrips?|levels?|lower|higher|slots?|its|it|this|that|these|those|their|any|one|following|dim|bright|shadow|"
    r"target|action|dc|save|damage|requir\w*|component\w*|innately|item|doubt|aside|out|off|casts?|each|(?<!enhance )ability|an?|"
    r"legendary|scroll|but|has|is|no|only|by|if|as|when)\b|\d"
)


_KINDS_OF_SPELLS = frozenset(
    "first second third stored divine arcane psionic illusion enchantment evocation greater".split()
)


def spells_cast(features: Iterable[Feature]) -> list[str] | None:
    """The names of the spells that the features of a creature cast; None if there are none."""
    names = [fold(name) for feature in features for name in _spells(feature)]
    return list(dict.fromkeys(name for name in names if _is_spell(name))) or None


def _spells(feature: Feature) -> Iterator[str]:
    if _A5E.search(feature.text):
        yield feature.name.partition("(")[0]
    if _IS_LIST.search(feature.name) or "following spells" in feature.text or "spells:" in feature.text:
        for match in _LIST.finditer(_BREAK.sub("\n", feature.text)):
            yield from _names(match[1])
    for pattern in _CASTS:
        for match in pattern.finditer(feature.text):
            yield from re.split(r",(?: and| or)? | or | and (?!evil|good|law|water)", match[1], flags=re.IGNORECASE)


def _names(line: str) -> Iterator[str]:
    """The names in the line of a list, without remarks in brackets."""
    line = re.sub(r"\([^()]{0,200}\)", "", line)
    for name in re.split(r"[,;]|\. ", line):
        yield re.sub(r"^\s*(?:and|or)\s", "", name).strip(" *_.")


def _is_spell(name: str) -> bool:
    if name in _KINDS_OF_SPELLS:
        return False
    return bool(name) and len(name.split()) <= 6 and len(name) > 2 and not _NOT_A_SPELL.search(name)
