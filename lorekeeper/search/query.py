"""What a search is asked for, and what no library could answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from lorekeeper.entities import COLLECTIONS, SEARCHED
from lorekeeper.errors import FilterError
from lorekeeper.filters import (
    WHERE,
    collection_of,
    known_filters,
    named_field,
    require_unicode,
    unknown_field,
    where_text,
)
from lorekeeper.where import parse_where

MAX_QUERY_CHARS = 2000
MAX_LIMIT = 50

MAX_PHRASED = 1000
"""Most results of a corpus that have a phrase: a text that more of them have says nothing."""

MAX_WORDINGS = 4
"""Most wordings of one query."""


_CANNOT = re.compile(r"\bcan['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Query:
    """One search.

    Attributes:
        types: the entity types to search; by default all but documents.
        text: plain words; a ``lore://`` uri for entries similar to that one; None for a structured lookup.
        filters: as `filters.parse_filters` reads them.
        documents: keys of the only documents to search; None for all.
        limit: results a page, 1 to 50.
        unsure_limit: results a page where the order of a ranked search is unsure; None for as many as elsewhere. The note then
            says how to ask better.
        offset: results to skip.
        mode: "auto" fuses all retrievers; "semantic" and "keyword" force one.
        where: further filters, in the grammar of `lorekeeper.where`.
        order: as `order.parse_orders` reads it. A search for a text sorts the `sorting.SORTED` most relevant entries.
        seed: of a random order; None for another order every time, whose seed the note says.
        edition: editions and documents that come first among entries of one name, as `editions.parse_edition` gives them;
            None for those of the library.
        similar_to: a ``lore://`` uri: entries similar to that one, and to the text if there is one.
        also: up to `MAX_WORDINGS` - 1 further wordings of the text, which are searched for together with it.
        explain: whether the page says how its results were found.
        phrases: texts that every result has in its name or its text, word for word apart from endings; they are in the text
            too. Keywords and names alone rank these results, of which the best `MAX_PHRASED` of each corpus are kept.
        unfinished: whether the last word of the text may go on, since somebody is typing it.
        counted: whether the note says how many results are of the edition asked for: not if the reader does not see the page.
    """

    types: Sequence[str] = tuple(SEARCHED)
    text: str | None = None
    filters: Mapping[str, object] = field(default_factory=dict)
    documents: Sequence[str] | None = None
    limit: int = 10
    offset: int = 0
    mode: Literal["auto", "semantic", "keyword"] = "auto"
    where: str | None = None
    order: str | None = None
    seed: int | None = None
    edition: Sequence[str] | None = None
    similar_to: str | None = None
    also: Sequence[str] = ()
    explain: bool = False
    phrases: Sequence[str] = ()
    unfinished: bool = False
    counted: bool = True
    unsure_limit: int | None = None

    @property
    def wordings(self) -> list[str]:
        """The text and its further wordings, each once; "can't" as "cannot", since "cant" is a language."""
        texts = [*([] if self.text is None else [self.text]), *self.also]
        return list(dict.fromkeys(_CANNOT.sub("cannot", text) for text in texts))

    def resolved(self) -> Query:
        """The same search with ``where`` among the filters, over those of the types that have the fields of all filters.

        Raises:
            FilterError: no type has them, or ``where`` is wrong.
        """
        filters = {**self.filters, **({} if self.where is None else {WHERE: self.where})}
        types = [collection_of(name).name for name in self.types]
        return replace(self, types=types_with(types, filters), filters=filters, where=None)

    def following(self, shown: int, total: int) -> int | None:
        """The offset of the next page behind some results of a total; None if there is no more."""
        offset = self.offset + shown
        return offset if shown and offset < total else None


def check(query: Query) -> None:
    """FilterError for what no library could answer."""
    for entity_type in query.types:
        collection_of(entity_type)
    if not query.types:
        raise FilterError(f"no type to search; known: {', '.join(COLLECTIONS)}")
    if len(query.wordings) > MAX_WORDINGS:
        raise FilterError(f"the query has {len(query.wordings)} wordings, at most {MAX_WORDINGS} are allowed")
    for wording in (*query.wordings, *query.phrases):
        _check_text(wording)
    if query.similar_to is not None and not query.similar_to.strip():
        raise FilterError("similar_to is empty; give the uri of an entry, or leave it out")
    if query.also and (query.text is None or any(wording.strip().startswith("lore://") for wording in query.wordings)):
        raise FilterError(
            "a query in several wordings is plain words; for entries like another, give similar_to its uri"
        )
    for key in query.documents or ():
        require_unicode("documents", key)
    if not 1 <= query.limit <= MAX_LIMIT:
        raise FilterError(f"limit must be 1 to {MAX_LIMIT}, not {query.limit}")
    if query.offset < 0:
        raise FilterError(f"offset must be 0 or more, not {query.offset}")


def _check_text(text: str) -> None:
    if not text.strip():
        raise FilterError("the query is empty; describe in a few words what to search for")
    require_unicode("the query", text)
    if len(text) > MAX_QUERY_CHARS:
        raise FilterError(
            f"the query has {len(text):,} characters, at most {MAX_QUERY_CHARS:,} are allowed; ask in a sentence or two"
        )


def types_with(types: Sequence[str], filters: Mapping[str, object]) -> list[str]:
    """The types, of several, that have the fields of all filters; all of them if there is only one.

    Raises:
        FilterError: no type has all fields; the message says which type has which.
    """
    if len(types) < 2:
        return list(types)
    keys = [key for key, value in filters.items() if key != WHERE and value is not None]
    tests = parse_where(where_text(filters[WHERE])) if filters.get(WHERE) is not None else []
    having = {key: [t for t in COLLECTIONS if key in known_filters(COLLECTIONS[t])] for key in keys}
    having |= {test.field: [t for t in COLLECTIONS if named_field(COLLECTIONS[t], test.field)] for test in tests}
    knowing = [t for t in types if all(t in having[name] for name in having)]
    if not knowing:
        raise FilterError(_nobody_knows(types, having, {test.field for test in tests if not test.sign}))
    return knowing


def _nobody_knows(types: Sequence[str], having: Mapping[str, Sequence[str]], alone: Set[str]) -> str:
    """Why no type of those searched has all fields, of which some stand alone."""
    for name, owners in having.items():
        if not owners:
            return unknown_field(name, map(COLLECTIONS.__getitem__, types), "filter", alone=name in alone)
        if not set(owners) & set(types):
            return f"{name} is a filter of {' and '.join(owners)}: search these types alone, with types={list(owners)}"
    owned = "; ".join(f"{name} is a filter of {' and '.join(owners)}" for name, owners in having.items())
    return f"no type has all of these filters: {owned}. Search them one by one"
