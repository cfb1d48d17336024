"""Explanations of a page: which filter left it empty, which values there are, how many entries do not say, how it came about."""

from __future__ import annotations

import difflib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lorekeeper import dates
from lorekeeper.cache.protocol import SearchCache, ValueCounts
from lorekeeper.entities import COLLECTIONS, NAME, WHOLE_NAME, Collection, Field, FieldType
from lorekeeper.filters import WHERE, Condition, loaded, parse_filters, where_text, without_bound
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line, quantity, shown
from lorekeeper.search.documents import Scopes
from lorekeeper.search.doubt import CLOSED, closed_name, is_closed
from lorekeeper.search.expansion import expanded_keywords, expanded_text
from lorekeeper.search.explanation import Doubt, Explained, Explanation, Side
from lorekeeper.search.fusion import NOTES, Retriever, weights_of
from lorekeeper.search.query import Query
from lorekeeper.search.query_syntax import written
from lorekeeper.search.results import Key, Result, ResultPage
from lorekeeper.search.retrieved import Ranking, Retrieved
from lorekeeper.terms import CREATURE_TYPES, RARITIES, SCHOOLS, SIZES
from lorekeeper.text.facts import figure
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.names import canonical_name
from lorekeeper.where import parse_where

MAX_AGE_SECONDS = 10.0
"""How long counts are used before they are taken again."""

MAX_KEPT = 64
"""Most counts that are kept: all fields of a library over all documents are fewer, and scopes of documents come and go."""

SIMILAR = 0.6
"""Least similarity (difflib's ratio, 0 to 1) at which a value is taken for a misspelling of another."""


def nearest(value: object, known: Iterable[object]) -> str | None:
    """The known text that a value is probably a misspelling of, None if none is similar.

    A known value that contains the words of the other, or whose words are among the other's, counts as similar:
    "light armor" is near to "light".
    """
    wanted = fold(str(value))[:MAX_SHOWN]
    folded = {fold(str(other)): str(other) for other in known if isinstance(other, str)}
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=SIMILAR)
    if close:
        return folded[close[0]]
    words = set(wanted.split())
    shared = [other for other in folded if words and (words <= set(other.split()) or set(other.split()) <= words)]
    return folded[min(shared, key=len)] if shared else None


@dataclass(frozen=True)
class _Counted:
    """Counts, and when they were taken on the monotonic clock."""

    counts: ValueCounts
    taken_at: float


class ValueRegistry:
    """The values of the filter fields of one cache, each kept for `MAX_AGE_SECONDS`, the latest `MAX_KEPT` of them."""

    def __init__(self, cache: SearchCache) -> None:
        self._cache = cache
        self._counted: dict[tuple[str, str, tuple[str, ...] | None], _Counted] = {}
        self._lock = threading.Lock()

    async def known(self, entity_type: str, field: str, documents: Sequence[str] | None = None) -> ValueCounts:
        """The values of a field over documents, by default all.

        Raises:
            FilterError: the type has no such field.
            CacheError: the library cannot be read.
        """
        key = (entity_type, field, None if documents is None else tuple(documents))
        counted = self._counted.get(key)
        if counted is None or time.monotonic() - counted.taken_at > MAX_AGE_SECONDS:
            counted = _Counted(await self._cache.count_values(entity_type, field, documents), time.monotonic())
            with self._lock:
                self._counted.pop(key, None)
                self._counted[key] = counted
                if len(self._counted) > MAX_KEPT:
                    del self._counted[next(iter(self._counted))]
        return counted.counts


EXPECTED: Mapping[str, frozenset[str]] = {
    "spells": frozenset({"level", "school", "classes", "casting_time", "range", "duration", "components"}),
    "creatures": frozenset(
        {"challenge_rating", "type", "size", "alignment", "armor_class", "hit_points", "environments", "speed_walk"}
    ),
    "equipment": frozenset({"category", "cost"}),
}
"""Fields that every entry of a type has by nature: without a value nobody has said it. A spell may well have no damage."""

LINKS = "links"
"""The field of a note with what it links to."""

MANY_LEFT_OUT = 0.1
"""Least share of entries without a value at which they are mentioned."""

FEWEST_LEFT_OUT = 5
"""Fewest entries without a value that are mentioned."""

MAX_VALUES = 16
"""Most known values that a note lists, the most frequent ones."""

MOST_VALUES = 500
"""Most values of a list field that are counted: as many as a filter takes."""

MAX_NAMES = 3
"""Most names that a note suggests."""

CANDIDATES = 12
"""Entries whose names may be suggested: several books may have the same one."""

RULES: Mapping[tuple[str, str], frozenset[object]] = {
    ("spells", "level"): frozenset(range(10)),
    ("spells", "school"): frozenset(SCHOOLS),
    ("creatures", "type"): frozenset(CREATURE_TYPES),
    ("creatures", "size"): frozenset(SIZES) - {"titanic"},  # which one source has
    ("equipment", "rarity"): frozenset([*RARITIES, "varies"]),
}
"""The values of fields that the rules of the game settle, by type and field."""

Filters = Mapping[str, object]


@dataclass(frozen=True)
class Part:
    """One filter of a query.

    Attributes:
        text: as it was given, such as "environment=swamp".
        conditions: what it stands for.
        others: all other filters of the query.
    """

    text: str
    conditions: Sequence[Condition]
    others: Filters


class Explainer:
    """Explains pages of one cache.

    Args:
        cache: the library's entries.
        values: the values that its fields have.
    """

    def __init__(self, cache: SearchCache, values: ValueRegistry) -> None:
        self._cache = cache
        self._values = values

    async def explained(self, page: ResultPage, entity_type: str, filters: Filters, scopes: Scopes) -> list[str]:
        """What is to be said of the filters of a page.

        Args:
            page: the page, of entries of one type.
            entity_type: that type.
            filters: as in the query.
            scopes: the documents that were searched.
        """
        parts = filter_parts(entity_type, filters)
        scope = scopes[entity_type]
        unknown, impossible = await self._unknown(entity_type, parts)
        if page.total:
            closed = [await self._closed_part(entity_type, part) for part in parts if page.approximate]
            qualified = await self._qualified(entity_type, parts, scope)
            return [*filter(None, closed), *unknown, *qualified, *await self._left_out(entity_type, parts, scope)]
        return unknown if impossible else [*unknown, *await self._emptied(entity_type, parts, scope)]

    async def unknown(self, types: Sequence[str], filters: Filters) -> list[str]:
        """Which values of a search of several types no entry of any of them has."""
        said = [(await self._unknown(name, filter_parts(name, filters)))[0] for name in types]
        return said[0] if said and all(said) else []

    async def _unknown(self, entity_type: str, parts: Sequence[Part]) -> tuple[list[str], bool]:
        """Which values that are tested no entry of the type has in any document, and whether that alone leaves a page empty.

        A test that leaves out such a value, or that takes others as well, finds entries, but not as it was meant.
        """
        sentences, impossible = [], False
        for part in parts:
            for condition in part.conditions:
                if condition.field is NAME or (condition.absent and condition.field.type is not FieldType.TEXT):
                    continue
                known = await self._values.known(entity_type, condition.field.name)
                if sentence := _never(COLLECTIONS[entity_type], condition, known, part.text):
                    sentences.append(await self._unlinked(condition) or sentence)
                    others = condition.op == "any" and not known.counts.keys().isdisjoint(_values(condition))
                    impossible |= not (condition.negate or others)
        return sentences, impossible

    async def _unlinked(self, condition: Condition) -> str | None:
        """That no note links to notes which there are: their names are not misspelt. None for another condition."""
        names = [str(value).rpartition("/")[2] for value in condition.values] if condition.field.name == LINKS else []
        are_there = {WHOLE_NAME.name: names}
        if not names or not await self._cache.count_entities(NOTES, **are_there):
            return None
        return f"No note links to {' or '.join(map(shown, names))}."

    async def cannot_exist(self, entity_type: str, filters: Filters) -> bool:
        """Whether a filter asks only for values that neither the rules of the game nor the library have.

        So does a name that has that of what is not open content.
        """
        for part in filter_parts(entity_type, filters):
            if (name := _wanted_name(part)) and await self._closed(entity_type, name):
                return True
            for condition in part.conditions:
                ruled = RULES.get((entity_type, condition.field.name))
                if ruled and condition.op == "any" and not condition.negate and ruled.isdisjoint(condition.values):
                    known = await self._values.known(entity_type, condition.field.name)
                    if set(condition.values).isdisjoint(known.counts):
                        return True
        return False

    async def without(self, entity_type: str, filters: Filters, scope: list[str] | None) -> list[tuple[str, int]]:
        """Every filter as it was given, and how many entries of the type meet all the others."""
        return await self._without(entity_type, filter_parts(entity_type, filters), scope)

    async def _without(self, entity_type: str, parts: Sequence[Part], scope: list[str] | None) -> list[tuple[str, int]]:
        return [(part.text, await self._cache.count_entities(entity_type, scope, **part.others)) for part in parts]

    async def _emptied(self, entity_type: str, parts: Sequence[Part], scope: list[str] | None) -> list[str]:
        """How many entries there are without each of the filters, and which names are near to the one asked for."""
        label = COLLECTIONS[entity_type].label
        if not await self._cache.count_entities(entity_type, scope):
            return []
        counts = await self._without(entity_type, parts, scope)
        names = [await self._other_names(entity_type, part, scope) for part in parts]
        notes = [name for name in names if name]
        if len(parts) == 1 and not notes:
            notes.append(f"None of {quantity(counts[0][1], label)} meets {parts[0].text}.")
        elif len(parts) > 1:
            without = ", ".join(f"without {text} {number:,}" for text, number in counts)
            notes.append(f"No {label} meets all filters: {without}.")
        return notes + await self._left_out(entity_type, parts, scope)

    async def _other_names(self, entity_type: str, part: Part, scope: list[str] | None) -> str | None:
        """The names that are nearest to a name that no entry has."""
        wanted = _wanted_name(part)
        if wanted is None or await self._cache.count_entities(entity_type, scope, name=wanted):
            return None
        ranked = [] if is_closed(wanted) else await self._cache.rank_names(entity_type, wanted, scope)
        entities = await self._cache.load(entity_type, [near.identity for near in ranked[:CANDIDATES]])
        names = list(dict.fromkeys(one_line(entity.name) for entity in entities))[:MAX_NAMES]
        hint = f" Did you mean {' or '.join(names)}?" if names else ""
        closed = "" if names else await self._closed(entity_type, wanted)
        elsewhere = "" if closed else await self._elsewhere(entity_type, wanted, scope)
        written = part.text.partition("=")[2] if part.text.startswith("name=") else wanted
        return f"No {COLLECTIONS[entity_type].label} has {shown(written)} in its name.{hint}{closed}{elsewhere}"

    async def _elsewhere(self, entity_type: str, wanted: str, scope: list[str] | None) -> str:
        """Where else a name that no entry of a type has is to be found: in other books, or other types."""
        if scope is not None and (beyond := await self._in_other_books(entity_type, wanted)):
            return f" Another book has it: {' or '.join(beyond)}."
        others = [each for name, each in COLLECTIONS.items() if each.tool and name != entity_type]
        named = [each for each in others if await self._cache.count_entities(each.name, scope, name=wanted)]
        listed = " or ".join(f"{each.label} ({each.tool})" for each in named)
        return f" Entries of another kind have it in theirs: {listed}." if named else ""

    async def _in_other_books(self, entity_type: str, wanted: str) -> list[str]:
        """The uris of a type's entries of a name, in any book."""
        ranked = await self._cache.rank_names(entity_type, wanted)
        entities = await self._cache.load(entity_type, [near.identity for near in ranked[:CANDIDATES]])
        return [entity.uri for entity in entities if canonical_name(fold(entity.name)) == canonical_name(wanted)][
            :MAX_NAMES
        ]

    async def _closed_part(self, entity_type: str, part: Part) -> str:
        """The same of the name that a filter asks for, if it asks for one."""
        wanted = _wanted_name(part)
        return (await self._closed(entity_type, wanted, it=None)).strip() if wanted else ""

    async def _closed(self, entity_type: str, wanted: str, it: str | None = "It") -> str:
        """That what a folded name says is not open content; "" if it may be.

        Args:
            entity_type: of what has the name.
            wanted: the name.
            it: what the sentence calls the whole name; None for the name itself, if another name stands before.
        """
        name = closed_name(wanted, await self._cache.word_counts(entity_type, wanted.split()))
        subject = it if it and name == wanted else shown(name)
        return f" {CLOSED.format(subject)}" if name else ""

    async def _qualified(self, entity_type: str, parts: Sequence[Part], scope: list[str] | None) -> list[str]:
        """How many more have a value with a qualifier before it: who resists nonmagical bludgeoning does not resist all of it."""
        notes: list[str] = []
        for part in parts:
            for condition in part.conditions:
                if condition.op != "any" or condition.negate or condition.field.type is not FieldType.TEXTS:
                    continue
                known = await self._values.known(entity_type, condition.field.name)
                ends = tuple(f" {value}" for value in condition.values)
                longer = [str(value) for value in known.counts if str(value).endswith(ends)]
                if 0 < len(longer) <= MAX_NAMES:
                    name, plain = condition.field.name, [str(value) for value in condition.values]
                    rest = [str(part.others[WHERE])] if WHERE in part.others else []
                    tests = written(name, longer)
                    where = " ".join([*rest, tests, written(name, plain, negated=True)])
                    number = await self._cache.count_entities(entity_type, scope, **{**part.others, WHERE: where})
                    notes += [f"{number:,} more have only {' or '.join(longer)}: where='{tests}'."] if number else []
        return notes

    async def _left_out(self, entity_type: str, parts: Sequence[Part], scope: list[str] | None) -> list[str]:
        """How many entries do not say what the filters ask for, of those that meet the others: left out, or listed if negated."""
        notes = []
        for part in parts:
            field = part.conditions[0].field
            if field.name in EXPECTED.get(entity_type, ()):
                met, total = await self._saying(entity_type, field, scope, part.others)
                if total - met >= max(MANY_LEFT_OUT * total, FEWEST_LEFT_OUT):
                    notes.append(_gap(entity_type, part, met, total))
        return notes

    async def _saying(
        self, entity_type: str, field: Field, scope: list[str] | None, others: Filters
    ) -> tuple[int, int]:
        """How many of the entries under some filters have a value of a field, and how many entries these are."""
        if not others:
            counts = await self._values.known(entity_type, field.name, scope)
            return counts.known, counts.total
        if field.type is not FieldType.TEXTS:
            counts = await self._cache.count_values(entity_type, field.name, scope, **others)
            return counts.known, counts.total
        known = [*(await self._values.known(entity_type, field.name)).counts][:MOST_VALUES]
        filters: dict[str, Any] = {**others, field.name: known}
        total = await self._cache.count_entities(entity_type, scope, **others)
        return await self._cache.count_entities(entity_type, scope, **filters), total


def filter_parts(entity_type: str, filters: Filters) -> list[Part]:
    """The filters of a query one by one; a text of ``where`` is taken apart into its tests."""
    parts = []
    for key, value in filters.items():
        others = {name: other for name, other in filters.items() if name != key and other is not None}
        if key == WHERE and value is not None:
            parts += _tests(entity_type, where_text(value), others)
        elif value is not None:
            conditions = parse_filters(entity_type, {key: value})
            name = key.replace(conditions[0].field.name, _called(conditions[0].field))
            listed = value if isinstance(value, (list, tuple, set)) else [value]
            parts.append(Part(one_line(f"{name}={','.join(map(_written, listed))}", 60), conditions, others))
    return parts


def _tests(entity_type: str, text: str, others: Filters) -> list[Part]:
    tests = [test.text.strip() for test in parse_where(text)]
    parts = []
    for number, test in enumerate(tests):
        rest = " ".join(tests[:number] + tests[number + 1 :])
        remaining = {**others, WHERE: rest} if rest else others
        parts.append(Part(one_line(test, 60), parse_filters(entity_type, {WHERE: test}), remaining))
    return parts


def _wanted_name(part: Part) -> str | None:
    """The folded part of a name that a filter asks for."""
    return next((str(c.values[0]) for c in part.conditions if c.field is NAME and not c.negate), None)


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _called(field: Field) -> str:
    """What users call a field: the tool's parameter for it, or its name."""
    return next((without_bound(name) for name in field.tool), field.name)


def _values(condition: Condition) -> list[Any]:
    """The values of a condition as entries have them."""
    field = condition.field
    values = [loaded(field, (v,) if field.type is FieldType.TEXTS else v) for v in condition.values]
    return [v[0] if isinstance(v, tuple) else v for v in values]


def _never(collection: Collection, condition: Condition, known: ValueCounts, written: str) -> str | None:
    """Which values of a condition no entry has, and which others there are; None if each of them has some."""
    field, called = condition.field, _called(condition.field)
    if condition.op == "any" and not condition.values:
        return f"{called} is an empty list, which no {collection.label} meets; leave it out for any."
    if not known.total:
        return None
    if not known.counts:
        return f"No {collection.label} in the library states its {called}."
    wanted = _values(condition)
    missing = [value for value in wanted if value not in known.counts] if condition.op == "any" else wanted
    if field.type.ordered and missing:
        return _beyond(called, condition, [v for v in missing if not isinstance(v, str)], known)
    if condition.op != "any" or field.type is FieldType.FLAG or not missing:
        return None
    near = next(filter(None, (nearest(value, known.counts) for value in missing)), None)
    name, _, value = written.partition("=")
    said = [value] if name == called and len(wanted) == 1 else missing
    never = f"{called} is never {' or '.join(map(shown, said))}"
    return f"{never}; did you mean {near!r}? {_listed(known)}" if near else f"{never}. {_listed(known)}"


def _listed(known: ValueCounts) -> str:
    """The most frequent values."""
    frequent = sorted(known.counts, key=lambda value: (-known.counts[value], str(value)))[:MAX_VALUES]
    more = " and others" if len(known.counts) > MAX_VALUES else ""
    return f"Known: {', '.join(one_line(str(value), 30) for value in frequent)}{more}."


def _beyond(called: str, condition: Condition, wanted: Sequence[float], known: ValueCounts) -> str | None:
    """Why none of some numbers is in the library, or none meets the comparison with one; None if one may."""
    numbers = [value for value in known.counts if not isinstance(value, str)]
    low, high = min(numbers), max(numbers)
    beyond = {
        "any": True,
        "min": wanted[0] > high,
        "above": wanted[0] >= high,
        "max": wanted[0] < low,
        "below": wanted[0] <= low,
    }
    if not beyond.get(condition.op, False):
        return None
    asked, lowest, highest = (_as_read(condition.field, values) for values in (wanted, [low], [high]))
    stated = "" if known.known == known.total else " where it is stated"
    return f"{called} is never {_SIGNS.get(condition.op, '')}{asked}{stated}: it ranges from {lowest} to {highest}."


def _as_read(field: Field, numbers: Sequence[float]) -> str:
    """Numbers, or dates, for people."""
    is_date = field.type is FieldType.DATE
    return " or ".join(dates.written(number) if is_date else figure(number) for number in numbers)


_SIGNS = {"min": "at least ", "above": "above ", "max": "at most ", "below": "below "}


def _gap(entity_type: str, part: Part, met: int, total: int) -> str:
    """How many entries say a field, and that the others were left out, or are shown."""
    counted, (first, *_) = quantity(total, COLLECTIONS[entity_type].label), part.conditions
    which = " that meet the other filters" if part.others else ""
    stated = f"The library knows the {first.field.name.replace('_', ' ')} of only {met:,} of {counted}{which}"
    return f"{stated}; the other {total - met:,} {'are listed too' if first.met_by(None) else 'were left out'}."


# --- how a page came about -----------------------------------------------------------------------------------------


def explanation_of(page: ResultPage, wordings: Sequence[str], retrieved: Retrieved, doubt: Doubt | None) -> Explanation:
    """How the results of a ranked page were found.

    Args:
        page: the page.
        wordings: of the query.
        retrieved: what the retrievers found.
        doubt: of the first hit, None if it was not tested.
    """
    keywords = KeywordQuery(()) if page.mode == "semantic" else expanded_keywords(wordings)
    rankings: dict[Retriever, Ranking] = {
        "semantic": retrieved.semantic,
        "keyword": retrieved.keyword,
        "name": retrieved.names,
    }
    places = {
        retriever: {key: (rank, ranked.score) for rank, (key, ranked) in enumerate(ranking.items(), 1)}
        for retriever, ranking in rankings.items()
    }
    found = {retriever: len(ranking) for retriever, ranking in rankings.items()}
    return Explanation(
        embedded=() if page.mode == "keyword" else tuple(map(expanded_text, wordings)),
        words=keywords.words,
        alternatives=keywords.alternatives,
        related=keywords.related,
        weights=weights_of([name for name, number in found.items() if number], retrieved.nearest_corpus.shares),
        found=found,
        entries=retrieved.count,
        doubt=doubt,
        results=tuple(_explained(result, places) for result in page.results),
    )


async def with_filters(page: ResultPage, explainer: Explainer, query: Query, scopes: Scopes) -> ResultPage:
    """A page; if it is empty and to be explained, with the number of entries that there are without each filter."""
    if page.explanation is None or page.total:
        return page
    without = Counter[str]()
    for entity_type in query.types:
        without.update(dict(await explainer.without(entity_type, query.filters, scopes[entity_type])))
    return replace(page, explanation=replace(page.explanation, without=dict(without)))


def _explained(result: Result, places: Mapping[Retriever, Mapping[Key, tuple[int, float]]]) -> Explained:
    entity, hit = result.entity, result.hit
    keys = (hit.key, *hit.duplicates) if hit else ()
    parts = hit.parts if hit else {}
    total = sum(parts.values())
    sides: dict[Retriever, Side] = {}
    for retriever, found in places.items():
        rank, score = min((found[key] for key in keys if key in found), default=(None, None))
        sides[retriever] = Side(rank, score, parts.get(retriever, 0.0) / total if total else 0.0)
    return Explained(entity.uri, entity.name, result.score, result.wording, sides, _why(result, sides))


def _why(result: Result, sides: Mapping[Retriever, Side]) -> str:
    """Why a result was found, in one plain line."""
    meaning, words, name = (sides[retriever] for retriever in ("semantic", "keyword", "name"))
    reasons = []
    if name.rank is not None and name.score is not None:
        reasons.append(
            "its name is the query's" if name.score == 1 else f"its name is like the query's ({name.score:.0%})"
        )
    if meaning.rank is not None:
        where = f" in '{one_line(result.path, 40)}'" if result.path else ""
        reasons.append(f"{ordinal(meaning.rank)} by meaning{where}")
    if words.rank is not None:
        reasons.append(f"{ordinal(words.rank)} by keywords")
    return f"{', '.join(reasons)}{'' if result.sure else '; less sure than the first'}"


def ordinal(number: int) -> str:
    """A number as a rank: "2nd"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
