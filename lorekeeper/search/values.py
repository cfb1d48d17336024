"""The linker: names and values of the library among the words of a question.

"druid spells that heal", "session 12", "undead of the swamp" and "fireball damage" say what the library calls something: a value of
a filter field, the name of an entry, one of its other names, the heading of a section. All are matched in the same way, as the
n-grams of the question, folded and stemmed; a word that nothing has is taken for the nearest value. What is linked raises what has
it, by the share of the question that it is, its words weighed by their rarity, and by the share of the name that the question has.

Names and values are read from the cache that is searched, so a viewer's question is linked with what this viewer may read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from lorekeeper.cache.protocol import ALIASES_BETWEEN, Ranked, SearchCache
from lorekeeper.entities import AUDIENCE, COLLECTIONS, PROPERTIES, Field, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.filters import parse_filters
from lorekeeper.folding import fold
from lorekeeper.search.doubt import rarity
from lorekeeper.search.fusion import BOOKS, CAMPAIGN, NOTES, corpus_name
from lorekeeper.search.intent import NOUNS
from lorekeeper.search.query_syntax import written
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.search.tuned import (
    AS_NAMED,
    COMMON_NAME,
    COMMON_VALUE,
    MAX_GRAM,
    MISSPELT_WORD,
    NAME_RAISE,
    NAMED,
    NOTE_RAISE,
    STEEP,
    VALUE_RAISE,
)
from lorekeeper.text.keywords import content_words, subject_words
from lorekeeper.text.matching import possible
from lorekeeper.text.names import nearest
from lorekeeper.text.stems import BEGINNING, stem, stems

UNLINKED = frozenset(
    {"name", "document", "source_api", "folder", "links", "aliases", "parent", "spells", AUDIENCE, PROPERTIES}
)
"""Fields whose texts are no values that somebody asks by: keys, paths, and names, which are linked as such."""

NEGATIONS = frozenset("no not non cannot never without lacks lacking except neither nor".split())
"""Words after which a value is what is not wanted: then it is left to the search by meaning."""

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve".split()
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
NUMBERS: Mapping[str, str] = {word: str(number) for words in (_COUNTED, _ORDINALS) for number, word in enumerate(words)}

_TITLE = re.compile(r"\s[-–—|]\s|[:(]")
"""What stands between a name and what is said about it: "Holya - Townmaster", "Solheart (The Lost Capital)"."""

_ASKING = re.compile(
    rf"\b(?:{'|'.join(NOUNS.values())}|anybody|anyone|available|earliest|finds?|gets?|gains?|happen(?:s|ed)?|learns?|lists?|many|means?"
    r"|much|needs?|picks?|rolls?|rules?|soon|stat(?:istic)?s?|tables?|takes?|types?|uses?|works?)\b"
)
"""What says which type is asked for (`intent.asked_type`), or that something is asked, and nothing of the entry."""

OPTIONS = "character_options"
"""The type whose sections have names that are asked for: the features of a class."""


@dataclass(frozen=True)
class Link:
    """A value that a question has.

    Attributes:
        test: in the grammar of ``where``.
        words: the stems of the question that say it.
    """

    test: str
    words: frozenset[str]


@dataclass(frozen=True)
class Values:
    """The values of a type.

    Attributes:
        names: those of its entries, as the cache gave them: the same list until the type changes.
        fields: fields that have a value, by the stems of the value, sorted; with the value and how many have it, that of most
            first.
    """

    names: Sequence[str]
    fields: Mapping[tuple[str, ...], Sequence[tuple[str, str, int]]]


_KNOWN: WeakKeyDictionary[SearchCache, dict[str, Values]] = WeakKeyDictionary()
"""The values of the types of each cache, as they were last read."""


async def known_values(cache: SearchCache, entity_type: str) -> Values:
    """The values of the text fields of a type, without those that most entries have."""
    names, of_cache = await cache.names(entity_type), _KNOWN.setdefault(cache, {})
    known = of_cache.get(entity_type)
    if known is None or known.names is not names:
        texts = [f.name for f in _linked(entity_type) if f.type in (FieldType.TEXT, FieldType.TEXTS)]
        counted = (await cache.count_fields(entity_type, texts)) if names else {}
        fields: dict[tuple[str, ...], list[tuple[str, str, int]]] = {}
        rows = [
            (n, name, str(value), found.total) for name, found in counted.items() for value, n in found.counts.items()
        ]
        for number, name, value, total in sorted(rows, key=lambda row: -row[0]):
            words = fold(value).split()
            gram = tuple(sorted(map(stem, content_words(" ".join(words)))))
            is_said = 1 < len(gram) <= MAX_GRAM or len(gram) == len(words) == 1
            if is_said and number <= COMMON_VALUE * total:
                fields.setdefault(gram, []).append((name, value, number))
        known = of_cache[entity_type] = Values(names, fields)
    return known


def _linked(entity_type: str) -> list[Field]:
    return [field for field in COLLECTIONS[entity_type].filters.values() if field.name not in UNLINKED]


def links(entity_type: str, values: Values, text: str, unknown: Iterable[str] = ()) -> list[Link]:
    """The values of a type that a question has, the longest of those that share words.

    Args:
        entity_type: the type.
        values: of the type.
        text: the question.
        unknown: those of its words that no entry has: they may be misspelt.
    """
    words = [word for word in fold(text).split() if word in NEGATIONS or content_words(word)]
    corrected = _corrected(values, unknown)
    grams = [stem(corrected.get(word, word)) for word in words]
    found: dict[str, Link] = {}
    taken: set[int] = set()
    for length in range(min(MAX_GRAM, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            places = range(start, start + length)
            if not taken.isdisjoint(places) or any(word in NEGATIONS for word in words[max(start - 2, 0) : start]):
                continue
            tests = _tests(entity_type, values, words[start : start + length], grams[start : start + length], grams)
            tests = tests or _numbers(entity_type, words[start : start + length])
            if tests:
                taken |= set(places)
                own = frozenset(stem(words[place]) for place in places)
                found |= {test: Link(test, own | named) for test, named in tests}
    return list(found.values())


def _tests(
    entity_type: str, values: Values, said: Sequence[str], gram: Sequence[str], grams: Sequence[str]
) -> list[tuple[str, frozenset[str]]]:
    """The test for a value, or for a field by itself.

    Of several fields it is the one that the question names, else the one with the value as it is said. Else nothing is taken,
    unless as many entries have it in each: what is attuned is carried too.
    """
    having = values.fields.get(tuple(sorted(gram)), ())
    called = {name: _called(entity_type, name) & set(grams) - set(gram) for name, _, _ in having}
    best = min(((not called[name], fold(value).split() != list(said)) for name, value, _ in having), default=())
    chosen = [each for each in having if (not called[each[0]], fold(each[1]).split() != list(said)) == best]
    if len({number for _, _, number in chosen}) > 1 and not called[chosen[0][0]]:
        return []
    found = [(written(name, [value]), called[name]) for name, value, _ in chosen[:1]]
    if found or len(gram) > 1:
        return found
    for field in _linked(entity_type):
        if field.type is FieldType.FLAG and gram[0] in map(stem, field.name.split("_")):
            return [(f"{field.name}:true", frozenset())]
        if field.omitted and field.type.ordered and stem(field.name.rpartition("_")[2]) == gram[0]:
            return [(f"{field.name}>0", frozenset())]
    return []


def _numbers(entity_type: str, words: Sequence[str]) -> list[tuple[str, frozenset[str]]]:
    """The test for a number beside the name of its field: "level 3", "3rd level", "session twelve"."""
    for number, *rest in (words, words[::-1]):
        digits = NUMBERS.get(number, re.sub(r"(?:st|nd|rd|th)$", "", number))
        for field in _linked(entity_type) if digits.isdigit() and rest else ():
            called = (field.name.replace("_", " "), *(name for name in field.tool if "_" not in name))
            if field.type in (FieldType.INTEGER, FieldType.DECIMAL) and " ".join(
                rest if words[0] == number else rest[::-1]
            ) in (*called, *(f"{name}s" for name in called)):
                return [(f"{field.name}:{digits}", frozenset())]
    return []


@lru_cache(maxsize=1000)
def _called(entity_type: str, name: str) -> frozenset[str]:
    """The stems of what a field is called, and of what it is said to be: "language that it speaks"."""
    own = COLLECTIONS[entity_type].filters[name]
    return frozenset(map(stem, content_words(fold(" ".join([name, *own.tool, own.help]))))) - {"type", "min", "max"}


def _corrected(values: Values, unknown: Iterable[str]) -> dict[str, str]:
    """Words that nothing has, as the values of one word that they misspell."""
    single = [value for (_, *more), fields in values.fields.items() if not more for _, value, _ in fields]
    near = {word: nearest(word, single) for word in unknown if len(word) >= MISSPELT_WORD}
    return {word: found[0][0] for word, found in near.items() if found}


async def meeting(
    cache: SearchCache, entity_type: str, found: Sequence[Link], documents: Any, filters: Mapping[str, Any]
) -> tuple[Link, ...]:
    """Those of some links, the first first, that entries under the filters have together."""
    kept: list[Link] = []
    for link in found:
        tests = " ".join(filter(None, [filters.get("where"), *(each.test for each in kept), link.test]))
        try:
            parse_filters(entity_type, {"where": tests})
        except FilterError:
            continue
        if await cache.count_entities(entity_type, documents, **{**filters, "where": tests}):
            kept.append(link)
    return tuple(kept)


def coverage(own: frozenset[str], asked: Mapping[str, float]) -> float:
    """How much of a question the words of a name are, and of the name those of the question; 0 to 1.

    Args:
        own: the stems of the name.
        asked: the stems of the question, by how rare they are.
    """
    shared = own & asked.keys()
    return share(shared, asked) * len(shared) / len(own) if shared else 0.0


def share(words: Iterable[str], asked: Mapping[str, float]) -> float:
    """How much of a question some of its stems are, by their rarity."""
    return sum(asked.get(word, 0.0) for word in words) / (sum(asked.values()) or 1.0)


def with_linked(found: Retrieved, wordings: Sequence[str], values: Mapping[Key, float]) -> Retrieved:
    """What the retrievers found, entries higher by keywords by the share of the question that their names are.

    An entry whose whole name is most of what a question says counts as named. What lacks the values of a question weighs less
    (`Retrieved.weight`).

    Args:
        found: by the retrievers.
        wordings: of the question.
        values: the share of it that the values of entries are.
    """
    asked = [weights(wording, found) for wording in wordings]
    beginnings = {word[:BEGINNING] for each in asked for word in each}
    best = {corpus: found.best_by_words(corpus) for corpus in (BOOKS, NOTES)}
    further: dict[Key, float] = {}
    named: list[Key] = []
    said = max([NAMED, *values.values()])
    for key in dict.fromkeys([*found.heads, *values]):
        hit, is_own = found.keyword.get(key) or found.all_ranked[key], key[0] in CAMPAIGN
        score = VALUE_RAISE * values.get(key, 0.0) ** STEEP
        if is_own or len(wordings) == 1:  # who words a question several times knows that a name finds its entry
            names = [stems(fold(name)) for name in _names(hit)] if possible(beginnings, hit.name) else []
            names += _sections(found.semantic.get(key)) if key[0] == OPTIONS else []
            linked = max((coverage(own, each) for own in names for each in asked), default=0.0)
            whole = NOTE_RAISE if is_own and any(_is_whole(own, each) for own in names for each in asked) else 0.0
            score += max(NAME_RAISE * linked**STEEP, whole)
            named += [key] if any(_is_named(own, each, said) for own in names for each in asked) else []
        if score:
            further[key] = (best[corpus_name(key[0])] or 1.0) * score
    raised = found.with_further(further)
    books = {key: found.all_ranked[key]._replace(score=AS_NAMED) for key in named if key[0] not in CAMPAIGN}
    raised = raised.with_names({key: hit for key, hit in books.items() if key not in found.names})
    return replace(raised, named=raised.named | frozenset(named), valued=values)


def weights(wording: str, found: Retrieved) -> dict[str, float]:
    """The stems of what a wording is about, by how rare they are among all entries, without what entries of a type are called."""
    asked: dict[str, float] = {}
    for word in subject_words(_ASKING.sub(" ", fold(wording))) or content_words(fold(wording)):
        rare = rarity(found.occurring.get(word, 0), found.count)
        asked[stem(word)] = max(rare, asked.get(stem(word), 0.0))
    return asked


def _is_named(own: frozenset[str], asked: Mapping[str, float], least: float) -> bool:
    """Whether a question is about a name that it has, as it is, and says little else: no more than any values of entries say."""
    return _is_whole(own, asked) and share(own, asked) >= least


def _is_whole(own: frozenset[str], asked: Mapping[str, float]) -> bool:
    """Whether a question has all words of a name, and one that is not common; names of numbers are of sessions and the like."""
    is_whole = bool(own) and own <= asked.keys() and not any(word.isdigit() for word in own)
    return is_whole and max(asked[word] for word in own) >= (COMMON_NAME if len(own) == 1 else 0.0)


def _sections(hit: Ranked | None) -> list[frozenset[str]]:
    """The stems of the headings of the sections that are near, also within the nearest passage."""
    if hit is None:
        return []
    within = (line.partition(": ")[0] for line in hit.passage.split("\n") if ": " in line)
    return [
        stems(fold(heading)) for heading in {hit.section, *(heading for heading, _ in hit.near), *within} if heading
    ]


def _names(hit: Ranked) -> Iterator[str]:
    """The names of an entry: its own, other ones as far as they are known, and each without what is said about it."""
    for name in hit.name.split(ALIASES_BETWEEN):
        yield from dict.fromkeys((name, _TITLE.split(name, maxsplit=1)[0]))
