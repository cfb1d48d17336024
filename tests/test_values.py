"""Known values: kept for a moment, and the nearest one to a misspelt value."""

from __future__ import annotations

from typing import cast

from lorekeeper.cache.protocol import SearchCache, ValueCounts
from lorekeeper.search.explain import ValueRegistry, nearest
from tests.support.tables import each_row


@each_row(
    ("value", "known", "meant"),
    [
        ("swmp", ["forest", "swamp", "urban"], "swamp"),
        ("Wizzard", ["wizard", "warlock"], "wizard"),
        ("light armor", ["light", "medium", "heavy"], "light"),
        ("evil", ["chaotic evil", "lawful good"], "chaotic evil"),
        ("fire", ["evocation", "abjuration"], None),
        (12, [1, 2, 9], None),
        ("12", [1, 2, 9], None),
        ("", ["swamp"], None),
        ("x" * 100_000, ["swamp"], None),
    ],
)
def test_the_nearest_value_is_a_similar_text_or_none(value, known, meant):
    assert nearest(value, known) == meant


class Counting:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def count_values(self, entity_type: str, field: str, _document: object = None) -> ValueCounts:
        self.asked.append((entity_type, field))
        return ValueCounts({field: 1}, 1, 1)


async def test_counts_are_taken_once_in_a_while_for_each_field(monkeypatch):
    cache = Counting()
    registry = ValueRegistry(cast("SearchCache", cache))
    for field in ("school", "school", "classes", "school"):
        assert (await registry.known("spells", field)).counts == {field: 1}
    assert cache.asked == [("spells", "school"), ("spells", "classes")]
    monkeypatch.setattr("lorekeeper.search.explain.MAX_AGE_SECONDS", -1.0)
    await registry.known("spells", "school")
    assert cache.asked[-1] == ("spells", "school")
    assert len(cache.asked) == 3
