"""The creatures of a library that may be proposed: how many of each challenge rating, and some of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lorekeeper.editions import edition_label
from lorekeeper.entities import Entity
from lorekeeper.play.encounters.proposals import rating_of
from lorekeeper.play.reader import Reader
from lorekeeper.printable import one_line
from lorekeeper.records.values import amount
from lorekeeper.render.creature import lacks_actions
from lorekeeper.search.query import MAX_LIMIT, Query

CREATURES = "creatures"

POOL = 16
"""Creatures of one challenge rating that are looked at: as many at random, if there are more."""


@dataclass(frozen=True)
class Wanted:
    """Which creatures are wanted.

    Attributes:
        filters: as `filters.parse_filters` reads them.
        where: further ones, in the grammar of `lorekeeper.where`.
        wordings: what they are like, in words; [] for any.
        documents: keys of the only documents; None for all.
    """

    filters: Mapping[str, object] = field(default_factory=dict)
    where: str | None = None
    wordings: Sequence[str] = ()
    documents: Sequence[str] | None = None


class Candidates:
    """The creatures that meet the filters, by challenge rating.

    Attributes:
        counts: number of creatures by challenge rating.
    """

    def __init__(self, view: Reader, query: Query, rules: str) -> None:
        self._view, self._rules = view, rules
        self._query = query.resolved()
        self._found: list[Entity] | None = None
        self._documents: list[str] | None = None
        self._others: list[str] = []
        self.counts: dict[float, int] = {}
        self._unknown = 0
        self._said: list[str] = []
        self._idle = 0

    @classmethod
    async def of(cls, view: Reader, wanted: Wanted, rules: str) -> Candidates:
        """The creatures under the filters, those of the books of an edition if none is named."""
        text = next(iter(wanted.wordings), None)
        query = Query(
            [CREATURES],
            text,
            wanted.filters,
            wanted.documents,
            limit=MAX_LIMIT if text else 1,
            where=wanted.where,
            order=None if text else "name",
            edition=(rules,) if text else (),  # without words the books are chosen below
            also=wanted.wordings[1:],
            counted=False,
        )
        page = await view.search(query)
        candidates = cls(view, query, rules)
        candidates._said += filter(None, [page.note and one_line(page.note)])
        if text:
            candidates._found = candidates._able([result.entity for result in page.results])
            candidates._count([rating_of(each) for each in candidates._found])
        else:
            await candidates._choose_documents(wanted.documents)
        return candidates

    async def _choose_documents(self, documents: Sequence[str] | None) -> None:
        registry = self._view.searcher.documents
        scope = (await registry.scopes([CREATURES], documents))[CREATURES]
        present = (await self._view.cache.documents([CREATURES])).keys()
        keys = sorted(present if scope is None else present & set(scope))
        own = [key for key in keys if await registry.edition_of(key) in (self._rules, "")]
        self._others = [] if documents is not None else [key for key in keys if key not in own]
        self._documents = keys if documents is not None else own
        await self._count_stored()

    async def widen(self) -> bool:
        """Take the books of other editions too; whether there are any."""
        if not self._others:
            return False
        before = sum(self.counts.values())
        self._documents, self._others = [*(self._documents or []), *self._others], []
        await self._count_stored()
        if sum(self.counts.values()) == before:
            return False
        few = f"Only {amount(before)} creature{'s' if before > 1 else ''}" if before else "No creature"
        fit = f"meet{'' if before > 1 else 's'} the filters" if self._query.filters else "can be used"
        label = edition_label(self._rules)
        self._said.append(f"{few} of the {label} edition {fit}, so other editions are included.")
        return True

    async def _count_stored(self) -> None:
        values = await self._view.cache.count_values(
            CREATURES, "challenge_rating", self._documents, **self._query.filters
        )
        self.counts = {float(rating): number for rating, number in values.counts.items()}
        self._unknown = values.total - values.known

    def _count(self, ratings: Sequence[float | None]) -> None:
        self.counts = {rating: ratings.count(rating) for rating in ratings if rating is not None}
        self._unknown = ratings.count(None)

    @property
    def notes(self) -> list[str]:
        """What the search has to say, and what is left out."""
        notes = list(self._said)
        if self._unknown:
            notes.append(f"Left out, since their challenge rating is unknown: {amount(self._unknown)}.")
        if self._idle:
            notes.append(f"Left out of those looked at, since their source lists no actions: {amount(self._idle)}.")
        return notes

    def _able(self, creatures: Sequence[Entity]) -> list[Entity]:
        """The creatures of which the source says what they can do."""
        able = [each for each in creatures if not lacks_actions(each)]
        self._idle += len(creatures) - len(able)
        return able

    async def pools(self, ratings: Sequence[float], order: random.Random) -> dict[float, list[Entity]]:
        """Creatures of some challenge ratings, `POOL` at random of each."""
        if self._found is not None:
            return {rating: [each for each in self._found if rating_of(each) == rating] for rating in ratings}
        return {rating: await self._pool(rating, order) for rating in ratings}

    async def _pool(self, rating: float, order: random.Random) -> list[Entity]:
        """Creatures of a challenge rating, at random: as many as `POOL` that can do something, if there are."""
        cache, filters = self._view.cache, {**self._query.filters, "challenge_rating": rating}
        left = sorted(await cache.identities(CREATURES, self._documents, **filters))
        order.shuffle(left)
        able: list[Entity] = []
        while left and len(able) < POOL:
            picked, left = left[: POOL - len(able)], left[POOL - len(able) :]
            able += self._able(await cache.load(CREATURES, picked))
        return able
