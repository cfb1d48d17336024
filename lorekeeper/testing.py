"""The tests of a cache backend, for packages that offer one: subclass `CacheContract` in a module of tests, and run it with pytest.

    class TestOurBackend(CacheContract):
        def open_cache(self, folder, embedding):
            return OurCache(folder / "ours.json", embedding)

No model and no plugin of pytest is needed: texts are embedded by `HashingProvider`, and each test runs its own event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import EmbeddingError, FilterError
from lorekeeper.filters import clean_fields

Body = Callable[[CacheProtocol], Awaitable[None]]

DIGITS = 1e-3
"""How far a cosine similarity may be from -1 to 1: some stores round vectors."""


class CacheContract:
    """What every `CacheProtocol` must do."""

    def open_cache(self, folder: Path, embedding: EmbeddingService) -> CacheProtocol:
        """The backend under test, on a store in that folder; opened again with the same folder, it has the same entities."""
        raise NotImplementedError

    def _run(self, folder: Path, body: Body, provider: Callable[[], HashingProvider] = HashingProvider) -> None:
        async def run() -> None:
            embedding = EmbeddingService(provider)
            try:
                async with self.open_cache(folder, embedding) as cache:
                    await body(cache)
            finally:
                embedding.close()

        asyncio.run(run())

    # --- storing and finding ---------------------------------------------------------------------------------------

    def test_an_empty_store_answers(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            assert await cache.get_entities("spells") == []
            assert await cache.semantic_search("spells", "fire") == []
            assert await cache.get_entity("spells", "own", "fireball") is None
            assert await cache.count_entities("spells") == 0
            assert await cache.documents() == {}
            assert await cache.delete_document("own") == 0
            assert await cache.reindex() == 0

        self._run(tmp_path, body)

    def test_what_is_stored_comes_back_whole(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            assert await cache.store_entities(SPELLS, "spells") == len(SPELLS)
            assert await cache.get_entity("spells", "own", "fireball") == FIREBALL
            assert await cache.get_entity("spells", "other", "fireball") is None

        self._run(tmp_path, body)

    def test_entities_survive_closing(self, tmp_path: Path) -> None:
        async def store(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")

        async def read(cache: CacheProtocol) -> None:
            assert await cache.get_entities("spells", name="fireball") == [FIREBALL]
            await cache.close()
            assert await cache.count_entities("spells") == len(SPELLS)

        self._run(tmp_path, store)
        self._run(tmp_path, read)

    def test_an_equal_identity_replaces_and_another_document_does_not(self, tmp_path: Path) -> None:
        changed, elsewhere = _spell("fireball", "Frost.", level=5), _spell("fireball", "Ash.", document="other")

        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities([FIREBALL], "spells")
            assert await cache.store_entities([FIREBALL, changed, elsewhere], "spells") == 2
            assert await cache.get_entity("spells", "own", "fireball") == changed
            assert await cache.get_entity("spells", "other", "fireball") == elsewhere
            assert await cache.count_entities("spells") == 2

        self._run(tmp_path, body)

    def test_progress_adds_up(self, tmp_path: Path) -> None:
        steps: list[int] = []

        async def body(cache: CacheProtocol) -> None:
            many = [_spell(f"s{number}", f"Text number {number}.") for number in range(300)]
            assert await cache.store_entities(many, "spells", steps.append) == 300

        self._run(tmp_path, body)
        assert sum(steps) == 300

    # --- filters ---------------------------------------------------------------------------------------------------

    def test_filters_match_what_is_known(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")

            async def found(**filters: Any) -> list[str]:
                entities = await cache.get_entities("spells", **filters)
                assert await cache.count_entities("spells", **filters) == len(entities)
                return [entity.slug for entity in entities]

            assert await found(level=3) == ["fireball"]
            assert await found(level_min=1, level_max=4) == ["fireball", "ice-storm"]
            assert await found(level=[0, 3]) == ["fireball", "light"]
            assert await found(school="EVOCATION", ritual=False) == ["light"]
            assert await found(damage_types="cold") == ["ice-storm"]
            assert await found(level_max=9) == ["fireball", "ice-storm", "light"]  # the ward's level is not known
            assert await found(name="storm") == ["ice-storm"]
            assert await found(level=None) == ["fireball", "ice-storm", "light", "ward"]

        self._run(tmp_path, body)

    def test_filters_and_documents_apply_before_the_limit_and_the_order_is_by_name(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            pages = [
                _spell(f"s{number:02}", "Text.", document=f"d{number % 3}", level=number % 2) for number in range(30)
            ]
            await cache.store_entities(list(reversed(pages)), "spells")
            odd = [spell.slug for spell in pages if spell.fields["level"] == 1]
            assert [s.slug for s in await cache.get_entities("spells", level=1, limit=5, offset=5)] == odd[5:10]
            assert [s.slug for s in await cache.get_entities("spells", "d0", limit=2)] == ["s00", "s03"]
            assert await cache.count_entities("spells", ["d0", "d2"]) == 20
            assert await cache.count_entities("spells", []) == 0

        self._run(tmp_path, body)

    def test_whole_names_come_before_beginnings_and_parts(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            names = ["Wall of Fire", "Fire", "Fire Bolt", "Ash"]
            await cache.store_entities([_spell(name.lower(), "Text.", name=name) for name in names], "spells")
            assert [s.name for s in await cache.get_entities("spells", name="fire")] == [
                "Fire",
                "Fire Bolt",
                "Wall of Fire",
            ]

        self._run(tmp_path, body)

    def test_what_cannot_be_asked_is_an_error(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")
            wrong: list[tuple[str, dict[str, Any], str]] = [
                ("nosuch", {}, "spells"),
                ("spells", {"colour": "red"}, "level"),
                ("spells", {"level": "three"}, "level"),
            ]
            for entity_type, filters, known in wrong:
                for ask in (
                    lambda t=entity_type, f=filters: cache.get_entities(t, **f),
                    lambda t=entity_type, f=filters: cache.count_entities(t, **f),
                    lambda t=entity_type, f=filters: cache.semantic_search(t, "fire", **f),
                ):
                    message = await _failure(FilterError, ask)
                    assert known in message, message

        self._run(tmp_path, body)

    # --- search by meaning -----------------------------------------------------------------------------------------

    def test_the_nearest_in_meaning_come_first_with_their_cosines(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")
            hits = await cache.semantic_search("spells", "hail and freezing rain")
            scores = [hit.score for hit in hits]
            assert hits[0].entity == ICE_STORM
            assert len(hits) == len(SPELLS)
            assert scores == sorted(scores, reverse=True)
            assert all(-1 - DIGITS <= score <= 1 + DIGITS for score in scores)

        self._run(tmp_path, body)

    def test_a_search_fills_its_limit_under_filters(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            near = [_spell(f"n{number}", "hail and freezing rain", level=9) for number in range(40)]
            far = [_spell(f"f{number}", f"a quiet word, number {number}", level=1) for number in range(5)]
            await cache.store_entities([*near, *far], "spells")
            hits = await cache.semantic_search("spells", "hail and freezing rain", limit=5, level=1)
            assert sorted(hit.entity.slug for hit in hits) == [spell.slug for spell in far]

        self._run(tmp_path, body)

    def test_a_failure_of_the_model_is_an_error_and_no_empty_list(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")
            message = await _failure(EmbeddingError, lambda: cache.semantic_search("spells", "fire"))
            assert "no memory" in message

        self._run(tmp_path, body, _FailingProvider)

    # --- the rest --------------------------------------------------------------------------------------------------

    def test_iteration_gives_everything_in_order(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(list(reversed(SPELLS)), "spells")
            batches = [batch async for batch in cache.iterate("spells", 3)]
            assert [entity for batch in batches for entity in batch] == sorted(SPELLS, key=lambda spell: spell.identity)
            assert all(0 < len(batch) <= 3 for batch in batches)

        self._run(tmp_path, body)

    def test_entities_are_removed_by_identity_and_by_document(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities([*SPELLS, _spell("x", "Text.", document="other")], "spells")
            assert await cache.delete_entities("spells", [("own", "ward"), ("own", "no-such")]) == 1
            assert await cache.get_entity("spells", "own", "ward") is None
            assert await cache.delete_document("own", "spells") == 3
            assert await cache.documents() == {"other": {"spells": 1}}
            assert await cache.delete_document("other") == 1
            assert await cache.semantic_search("spells", "light") == []

        self._run(tmp_path, body)

    def test_documents_and_statistics_count_what_is_there(self, tmp_path: Path) -> None:
        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities([*SPELLS, _spell("x", "Text.", document="other")], "spells")
            assert await cache.documents() == {"other": {"spells": 1}, "own": {"spells": 4}}
            assert await cache.documents(["creatures"]) == {}
            statistics = await cache.statistics()
            assert statistics.counts["spells"] == 5
            assert statistics.kinds["spells"] == {"spell": 5}
            assert statistics.embedding

        self._run(tmp_path, body)

    def test_everything_is_embedded_again(self, tmp_path: Path) -> None:
        steps: list[int] = []

        async def body(cache: CacheProtocol) -> None:
            await cache.store_entities(SPELLS, "spells")
            assert await cache.reindex(steps.append) == len(SPELLS)
            assert (await cache.semantic_search("spells", "hail and freezing rain"))[0].entity == ICE_STORM

        self._run(tmp_path, body)
        assert sum(steps) == len(SPELLS)


class _FailingProvider(HashingProvider):
    """One whose queries fail, as a machine without memory does."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError(f"no memory for {len(texts)} texts")


async def _failure(expected: type[Exception], ask: Callable[[], Awaitable[object]]) -> str:
    """The message of the error that a call is expected to raise."""
    try:
        answer = await ask()
    except expected as error:
        return str(error)
    raise AssertionError(f"{expected.__name__} is not raised; the answer is {answer!r}")


def _spell(slug: str, desc: str, *, name: str | None = None, document: str = "own", **fields: Any) -> Entity:
    title = name or slug.replace("-", " ").title()
    data = {"name": title, "desc": desc, "nested": {"list": [1, None, "ä"]}}
    return Entity("spells", slug, title, "spell", document, "tests", data, clean_fields("spells", fields))


FIREBALL = _spell(
    "fireball", "A bead of flame bursts among your foes.", level=3, school="Evocation", damage_types=["fire"]
)
ICE_STORM = _spell(
    "ice-storm", "Hail and freezing rain batter the ground.", level=4, school="Evocation", damage_types=["cold"]
)
LIGHT = _spell("light", "The object that you touch shines.", level=0, school="Evocation", ritual=False)
WARD = _spell("ward", "A ring of salt keeps the restless dead away.", school="abjuration", ritual=True)
SPELLS = [FIREBALL, ICE_STORM, LIGHT, WARD]
