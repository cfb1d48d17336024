"""The values that a question names: of "undead of the swamp" a type and an environment, of "fire damage at level 3" what a spell
deals and its level.

They are the texts that entries of a type have in its fields, of the user's own those that are counted as facets, the flags by their
own names, and numbers beside the name of a field. A value that several fields have is that of the one whose name the question has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, Field, FieldType
from lorekeeper.filters import without_bound
from lorekeeper.folding import fold
from lorekeeper.search.intent import is_meant, is_noun
from lorekeeper.search.linker import asking_stems
from lorekeeper.search.query_syntax import written
from lorekeeper.text.keywords import content_words
from lorekeeper.text.stems import stem

MOST_VALUES = 80
"""Most values of a field whose words name them: of more, as of tags, each may be any word."""

SHARED = ("kind", "document")
"""Fields of all types: what they are called says little of what is asked for."""

VALUED = ("creatures", "equipment", "spells")
"""The types whose values a question names that does not say which type it asks for."""

LONGEST = 3
"""Most words of a value."""

_NUMBER = re.compile(r"(\d{1,4})(?:st|nd|rd|th)?")

_Words = tuple[str, ...]


@dataclass(frozen=True)
class Values:
    """The values of a type.

    Attributes:
        names: of its entries, as the cache gave them: the same list until the type changes.
        called: what each of its fields is called, in stems.
        named: the fields and values that some words name.
    """

    names: Sequence[str]
    called: Mapping[str, frozenset[_Words]]
    named: Mapping[_Words, Sequence[tuple[str, str]]]


_KNOWN: WeakKeyDictionary[SearchCache, dict[str, Values]] = WeakKeyDictionary()


async def known_values(cache: SearchCache, entity_type: str) -> Values:
    """The values of a type, counted once until it changes."""
    names, of_cache = await cache.names(entity_type), _KNOWN.setdefault(cache, {})
    known = of_cache.get(entity_type)
    if known is None or known.names is not names:
        told = [each for each in COLLECTIONS[entity_type].filters.values() if each.facet or entity_type in VALUED]
        fields = [each for each in told if each.name not in SHARED]
        texts = [each.name for each in fields if each.type in (FieldType.TEXT, FieldType.TEXTS)]
        named: dict[_Words, list[tuple[str, str]]] = {}
        for name, counts in (await cache.count_fields(entity_type, texts)).items():
            for value in map(str, counts.counts if len(counts.counts) <= MOST_VALUES else ()):
                named.setdefault(_stems(value), []).append((name, value))
        for each in fields:
            if each.type is FieldType.FLAG:
                named.setdefault(_stems(each.name.replace("_", " ")), []).append((each.name, ""))
        known = of_cache[entity_type] = Values(names, {each.name: _called(each) for each in fields}, named)
    return known


def linked(known: Values, entity_type: str, text: str) -> tuple[list[str], bool]:
    """The tests of ``where`` that a question names values for, and whether it says nothing else."""
    folded = fold(text).split()
    words = [*map(stem, folded)]
    rest, tests = set(range(len(words))), dict[str, str]()
    for length in range(LONGEST, 0, -1):
        for start in range(len(words) - length + 1):
            own = range(start, start + length)
            found = known.named.get(tuple(words[start : start + length]), []) if rest.issuperset(own) else []
            cued = [each for each in found if not _words(known, each[0]).isdisjoint(words)]
            if len(meant := cued or found) == 1 and is_meant(
                " ".join(folded), " ".join(folded[start : start + length])
            ):
                name, value = meant[0]
                tests.setdefault(name, written(name, [value]) if value else name)
                rest -= set(own)
    for place, number in enumerate(map(_NUMBER.fullmatch, folded)):
        beside = words[max(place - 1, 0) : place] + words[place + 1 : place + 2]
        for name, called in known.called.items() if number else ():
            if alias := next((each for each in beside if (each,) in called), None):
                tests.setdefault(name, f"{alias}:{number[1] if number else ''}")
                rest -= {place}
    cues = asking_stems().union(*(_words(known, name) for name in tests))
    said = (folded[place] for place in rest if words[place] not in cues and not is_noun(entity_type, folded[place]))
    return [*tests.values()], not any(map(content_words, said))


def _words(known: Values, field: str) -> frozenset[str]:
    return frozenset(word for called in known.called[field] for word in called)


def _called(field: Field) -> frozenset[_Words]:
    return frozenset(_stems(name.replace("_", " ")) for name in (field.name, *map(without_bound, field.tool)))


def _stems(text: str) -> _Words:
    return tuple(map(stem, fold(text).split()))
