"""Facets: which values the entries that a search found have, how often, and which of them the search has chosen.

Which fields are counted is marked where they are declared (`Field.facet`). With words all relevant results are counted, without
words all entries under the filters. Everything is read through a searcher, so that a viewer's facets count what the viewer sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lorekeeper.cache.protocol import Documents, Identity, SearchCache, ValueCounts
from lorekeeper.cache.snapshot import in_snapshot
from lorekeeper.editions import parts_of, with_twins
from lorekeeper.entities import COLLECTIONS, Field, FieldType
from lorekeeper.search import by_name
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.query_syntax import BOOK, IN, ParsedQuery, called, stored_values
from lorekeeper.search.results import ResultPage
from lorekeeper.text.facts import format_rating
from lorekeeper.text.spelling import spelling

MOST_VALUES = 12
"""Most values of a facet, the commonest ones; chosen ones come on top."""

MOST_NUMBERS = 40
"""Most numbers of a facet: there are 34 challenge ratings."""

_SHARED = _KIND, _DOCUMENT = ("kind", "document")
"""Fields of all types, which are counted over all of them."""


Value = str | int | float | bool


@dataclass(frozen=True)
class FacetValue:
    """One value of a facet.

    Attributes:
        value: as a test has it: ``typed.with_test(text, facet.name, value)`` chooses it.
        label: for people.
        count: number of entries found that have it.
        chosen: whether the search asks for it.
    """

    value: str
    label: str
    count: int
    chosen: bool = False


@dataclass(frozen=True)
class Facet:
    """The values that the entries found have of one thing: numbers in order, others by how often they occur.

    Attributes:
        name: as a test has it.
        entity_type: the type whose field it is, None for what entries of all types have.
        values: at most `MOST_VALUES`, or `MOST_NUMBERS`, and those chosen.
        more: how many values are not among these.
        numbers: whether they are in order, so that a range of them can be asked for.
    """

    name: str
    entity_type: str | None
    values: Sequence[FacetValue]
    more: int = 0
    numbers: bool = False

    @property
    def label(self) -> str:
        """What it is called, for people."""
        if self.name == IN:
            return "type"
        name = self.name.replace("_", " ")
        return f"{COLLECTIONS[self.entity_type].label} {name}" if self.entity_type and name == "type" else name


@dataclass(frozen=True)
class _Part:
    """Entries of one type: all under some filters, or some of them."""

    entity_type: str
    filters: Mapping[str, object]
    documents: Documents = None
    among: Sequence[Identity] | None = None


async def facets(searcher: Searcher, sought: ParsedQuery, page: ResultPage | None = None) -> list[Facet]:
    """The facets of what a text finds: types, books and kinds first, then the fields of each type, the commonest type first.

    What offers no choice is left out: a facet with a single value that is not chosen. Of a whole library, where nothing is sought,
    there are types, books and kinds only.

    Args:
        searcher: of the viewer.
        sought: the text.
        page: what it found; by default it is searched for, if it has words.

    Raises:
        FilterError: as `Searcher.search`.
        CacheError: the library cannot be read.
    """
    return await in_snapshot(searcher.cache, partial(_of, searcher, sought, page))


async def _of(searcher: Searcher, sought: ParsedQuery, page: ResultPage | None) -> list[Facet]:
    query = sought.query()
    if query.text is not None:
        counted = await _counted(searcher, _of_results(page or await searcher.search(query)))
    else:
        parts = await _under_filters(searcher, query.resolved())
        counted = await _counted(searcher, parts, _SHARED if sought.empty else None)
    found = [
        facet
        for facet in _facets(sought, counted, await searcher.documents.titled())
        if len(facet.values) > 1 or any(v.chosen for v in facet.values)
    ]
    return [await _as_spelt(searcher.cache, facet) for facet in found]


async def _as_spelt(cache: SearchCache, facet: Facet) -> Facet:
    """A facet whose values with letters beyond ASCII are labelled as an entry that has them spells them."""
    if facet.entity_type is None or all(value.label.isascii() for value in facet.values):
        return facet
    name = next(each.name for each in _declared(facet.entity_type) if called(each) == facet.name)
    values = list(facet.values)
    for place, value in enumerate(values):
        if not value.label.isascii():
            test: Any = {name: value.value}
            for entity in await cache.get_entities(facet.entity_type, limit=1, **test):
                values[place] = replace(value, label=spelling(entity, name, value.value))
    return replace(facet, values=values)


_Counts = dict[str, dict[str, ValueCounts]]
"""The counts of each field by type."""


def _of_results(page: ResultPage) -> list[_Part]:
    found: dict[str, list[Identity]] = {}
    for entity_type, identity in page.found:
        found.setdefault(entity_type, []).append(identity)
    return [_Part(entity_type, {}, among=identities) for entity_type, identities in found.items()]


async def _under_filters(searcher: Searcher, query: Query) -> list[_Part]:
    scopes = await searcher.documents.scopes(query.types, query.documents)
    named = await by_name.understand(searcher.cache, query.types, query.filters, scopes)
    return [_Part(entity_type, filters, scopes[entity_type]) for entity_type, filters in named.lookups]


async def _counted(searcher: Searcher, parts_found: Sequence[_Part], names: Sequence[str] | None = None) -> _Counts:
    """The counts of these fields, by default of all that are declared as facets."""
    counted: _Counts = {}
    for part in parts_found:
        fields = names or [declared.name for declared in _declared(part.entity_type)]
        counts = await searcher.cache.count_fields(
            part.entity_type, fields, part.documents, among=part.among, **part.filters
        )
        if part.entity_type in counted:  # entries that are found by other names
            known = counted[part.entity_type]
            counts = {name: _sum([known[name], counts[name]]) for name in counts}
        counted[part.entity_type] = counts
    return {entity_type: counts for entity_type, counts in counted.items() if counts[_DOCUMENT].total}


def _facets(sought: ParsedQuery, counted: _Counts, titles: Mapping[str, str]) -> Iterator[Facet]:
    totals = {entity_type: counts[_DOCUMENT].total for entity_type, counts in counted.items()}
    types = sorted(totals, key=lambda name: -totals[name])
    chosen = sought.chosen.get(IN, frozenset())
    yield _facet(IN, None, [FacetValue(name, name.replace("_", " "), totals[name], name in chosen) for name in types])
    chosen = sought.chosen.get(BOOK, frozenset())
    books = _books(_sum([counts[_DOCUMENT] for counts in counted.values()]).counts, {str(key) for key in chosen})
    yield _facet(BOOK, None, [FacetValue(k, titles.get(k, k), n, k in chosen) for k, n in books.items()])
    kinds = [
        counts[_KIND] for counts in counted.values() if len(counts[_KIND].counts) > 1
    ]  # one says what the type says
    kind = next(iter(COLLECTIONS.values())).field(_KIND)
    yield _of_field(sought, None, kind, _sum(kinds))
    for entity_type in types:
        for field in _declared(entity_type):
            if field.name in counted[entity_type] and field.name not in _SHARED:
                yield _of_field(sought, entity_type, field, counted[entity_type][field.name])


def _books(counts: Mapping[Value, int], chosen: Collection[str]) -> dict[str, int]:
    """The numbers of entries that a search of each book finds; the parts of one together, under the key that is chosen, else the
    first one."""
    books: dict[str, int] = {}
    for key in map(str, counts):
        parts = [part for part in parts_of(key) if part in counts]
        shown = next((part for part in parts if part in chosen), parts[0])
        books[shown] = sum(counts.get(part, 0) for part in with_twins([shown]))
    return books


def _of_field(sought: ParsedQuery, entity_type: str | None, field: Field, counts: ValueCounts) -> Facet:
    chosen = sought.chosen.get(field.name, frozenset())
    found = sorted(counts.counts.items(), key=lambda item: _place(field, item[0]))
    values = [
        FacetValue(written, written, number, not chosen.isdisjoint(stored_values(field, written)))
        for written, number in ((_written(field, value), number) for value, number in found)
        if '"' not in written  # no test can have it
    ]
    return _facet(called(field), entity_type, values, numbers=field.type.ordered)


def _facet(name: str, entity_type: str | None, values: Sequence[FacetValue], *, numbers: bool = False) -> Facet:
    most = MOST_NUMBERS if numbers else MOST_VALUES
    ranked = values if numbers else sorted(values, key=lambda value: (-value.count, value.label))
    shown = [value for place, value in enumerate(ranked) if place < most or value.chosen]
    return Facet(name, entity_type, shown, len(values) - len(shown), numbers)


def _declared(entity_type: str) -> list[Field]:
    """The fields of a type whose values are counted."""
    return [declared for declared in COLLECTIONS[entity_type].filters.values() if declared.facet]


def _sum(counts: Sequence[ValueCounts]) -> ValueCounts:
    values: Counter[Value] = Counter()
    for each in counts:
        values.update(each.counts)
    return ValueCounts(dict(values), sum(each.known for each in counts), sum(each.total for each in counts))


def _place(field: Field, value: Value) -> tuple[float, str]:
    """Where a value stands among those of its field: numbers by size."""
    return (float(value), "") if field.type.ordered and not isinstance(value, str) else (0.0, str(value))


def _written(field: Field, value: Value) -> str:
    """A value as people write it, and as a test can have it."""
    if field.type is FieldType.FLAG:
        return "yes" if value else "no"
    return format_rating(float(value)) if field.type is FieldType.DECIMAL else str(value)
