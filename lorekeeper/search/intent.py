"""What a question states about what it asks for: the type of entry, by a noun ("a spell to fly"), and conditions in words: "immune
to poison and able to fly" is ``immune:poison speed_fly>0``.

The ways of saying it, and the tests of ``where`` that they stand for, are rows of ``data/asking.tsv``. Only plain statements are
read; everything else is left to the search by meaning and keywords.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lorekeeper.search.query_syntax import quoted
from lorekeeper.terms import ABILITIES, CONDITIONS, CREATURE_TYPES, DAMAGE_TYPES, PHYSICAL, SCHOOLS, SENSES

TABLE = Path(__file__).parent.parent / "data" / "asking.tsv"

OTHERS = 0.7
"""What entries of other types score beside those of the one that every wording asks for: 0.6 to 0.8 are alike. It is a preference
and no filter, and asks for no session either. Asked of all types, nDCG@10 is 0.713 instead of 0.709; few questions have a noun."""

MAX_NOUN_CHARS = 300
"""Longest wording that is looked at for a noun, in characters."""

MAX_CHARS = 600
"""Longest question that is read, in characters: one that is longer tells a story."""

TERMS = {
    "ABILITY": ABILITIES,
    "CONDITION": CONDITIONS,
    "DAMAGE": DAMAGE_TYPES,
    "HARM": (*DAMAGE_TYPES, *CONDITIONS),
    "KIND": CREATURE_TYPES,
    "PHYSICAL": PHYSICAL,
    "SCHOOL": SCHOOLS,
    "SENSE": SENSES,
}
"""The words of the rules that patterns name."""

ASKED = frozenset({"creatures", "spells"})
"""The types that a noun is enough to ask for: what people say about "weapons" and "items" does not say of which kind."""

_PROPER_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]{2,}")

_PLACE = re.compile(r"\{([A-Z]+)(?:\*([A-Z]+))?(\+?)\}")
_TEST = re.compile(r"([^:<>]+)([:<>]=?)(.+)")


class _Row(NamedTuple):
    """A row of the table; `TABLE` says what its columns are."""

    what: str
    name: str
    value: str
    words: str


@cache
def _rows(what: str) -> tuple[_Row, ...]:
    lines = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return tuple(_Row(*line) for line in lines if line[0] == what)


@cache
def _words(name: str) -> dict[str, str]:
    """What words are called that a pattern names, with the value of each; "" for the word itself."""
    said = {row.words: row.value for row in _rows("word") if row.name == name}
    return dict.fromkeys(TERMS[name], "") if name in TERMS else said


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with the parts and words that it names."""

    def named(match: re.Match[str]) -> str:
        name, is_list = match[1], bool(match[3])
        if part := next((row.value for row in _rows("part") if row.name == name), ""):
            return _PLACE.sub(named, part)
        any_of = "|".join(_words(name.removeprefix("ANY")))
        if is_list:
            return rf"(?P<{name}>(?:{any_of})(?:(?:,? (?:and|or) |, )(?:{any_of}))*)"
        return f"(?:{any_of})" if name.startswith("ANY") else f"(?P<{name}>{any_of})"

    return re.compile(_PLACE.sub(named, pattern), re.IGNORECASE)


@cache
def ways(name: str) -> re.Pattern[str]:
    """A part of the table as a pattern of its own."""
    return _compiled(f"{{{name}}}")


@cache
def _asking() -> re.Pattern[str]:
    """What a question begins with that asks for entries of a type, whose name is that of a group."""
    nouns = (rf"{{OPENING}}{{QUALITIES}}(?P<{row.name}>{row.value}){{GOING}}" for row in _rows("noun"))
    return _compiled("|".join(nouns))


@dataclass(frozen=True)
class AskedType:
    """A type that is preferred.

    Attributes:
        name: the type.
        others: what entries of other types score, as a share.
        of_someone: whether the question has a proper name: "the ring that Seraphina gave us" may be about the campaign.
    """

    name: str
    others: float
    of_someone: bool = False

    def weight(self, entity_type: str) -> float:
        """What entries of a type score, as a share."""
        return 1.0 if entity_type == self.name else self.others


def asked_type(types: Sequence[str], wordings: Sequence[str]) -> AskedType | None:
    """The type that a query over several types asks for: the only one that its wordings name; the more do, the more it counts."""
    named = [_named(wording) for wording in wordings] if len(types) > 1 else []
    found = set(filter(None, named))
    name = next(iter(found), "")
    if name not in types or len(found) > 1:
        return None
    share = sum(each is not None for each in named) / len(named)
    return AskedType(name, 1.0 - (1.0 - OTHERS) * share, any(map(_PROPER_NAME.search, wordings)))


def _named(wording: str) -> str | None:
    if len(wording) > MAX_NOUN_CHARS or is_definition(wording):
        return None
    match = _asking().match(wording.strip())
    return match.lastgroup if match else None


def is_noun(entity_type: str, word: str) -> bool:
    """Whether a word is what entries of a type are called."""
    return any(_compiled(row.value).fullmatch(word) for row in _rows("noun") if row.name == entity_type)


def is_definition(text: str) -> bool:
    """Whether a question asks what a word means, as "what is a cantrip?" does, and not for entries that are called so."""
    return ways("DEFINITION").fullmatch(text) is not None


@cache
def _patterns(entity_type: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The patterns of a type, each as whole words, and the test that a match stands for."""
    rows = _rows(entity_type) if entity_type not in ("part", "word", "noun", "unsaid", "what") else ()
    return tuple((_compiled(rf"(?<![a-z0-9])(?:{row.name})(?![a-z0-9])"), row.value) for row in rows)


@cache
def _taken_back(where: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row.value) for row in _rows("unsaid") if row.name == where)


def stated_conditions(entity_type: str, text: str) -> str:
    """What a question says about the entries of a type, as a text for the filter ``where``; "" if nothing is understood.

    It counts if the question says it of all that it asks for: neither with a negation nor as one of several choices, nor as a part
    of what says more of the same field.

    Args:
        entity_type: the type that is searched.
        text: the question.
    """
    if len(text) > MAX_CHARS or is_definition(text):
        return ""
    question = " ".join(text.lower().replace("’", "'").split())
    found = [
        (field_of(test), match.span(), test)
        for pattern, template in _patterns(entity_type)
        for match in pattern.finditer(question)
        if _is_required(question, *match.span())
        for test in _tests(template, match)
    ]
    tests = (
        test
        for field, span, test in found
        if not test.startswith("!") and not any(f == field and _within(span, other) for f, other, _ in found)
    )
    return " ".join(dict.fromkeys(tests))


def field_of(test: str) -> str:
    """What a test is about."""
    return re.split("[:<>]", test.lstrip("!-"))[0]


def is_meant(question: str, words: str) -> bool:
    """Whether a question says some of its words of all that it asks for."""
    return _is_required(question, start := question.find(words), start + len(words))


def _is_required(question: str, start: int, end: int) -> bool:
    """Whether what stands there is said neither with a negation nor as one of several choices."""
    before = any(each.search(question[:start]) for each in _taken_back("before"))
    return not (before or any(each.match(question[end:]) for each in _taken_back("after")))


def _within(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def _tests(template: str, match: re.Match[str]) -> Iterator[str]:
    """The tests of a template, whose lists stand for a test of each of their words, or for one of any of them."""
    listed = next((place[1] for place in _PLACE.finditer(template) if place[3]), "")
    own = re.findall(rf"\b(?:{'|'.join(_words(listed))})\b", match[listed]) if listed else [""]
    texts = [_PLACE.sub(lambda place, word=word: word if place[3] else _value(place, match), template) for word in own]  # type: ignore[misc]
    parted = [_TEST.fullmatch(text) for text in texts]
    if listed and " or " in match[listed]:
        yield f"{template.partition(':')[0]}:{','.join(quoted(test[3]) for test in parted if test)}"
    else:
        yield from (
            f"{test[1]}{test[2]}{quoted(test[3]) if ' ' in test[3] else test[3]}" if test else text
            for test, text in zip(parted, texts, strict=True)
        )


def _value(place: re.Match[str], match: re.Match[str]) -> str:
    """What a place of a template stands for: the value of a word, or the product of two."""
    if place[2]:
        return f"{math.prod(float(_said(name, match)) for name in (place[1], place[2])):g}"
    return _said(place[1], match)


def _said(name: str, match: re.Match[str]) -> str:
    said = match[name] or ""
    value = next((value for word, value in _words(name).items() if re.fullmatch(word, said)), "")
    return value or (said.replace(",", "") if said[:1].isdigit() else said)


def type_asked_for(types: Sequence[str], text: str) -> str | None:
    """The one type whose entries a question is about; None if it may be about several."""
    if len(types) == 1:
        return types[0]
    if "creatures" in types and ways("CREATURES").search(text):
        return "creatures"
    asked = asked_type(types, [text])
    return asked.name if asked and asked.name in ASKED else None
