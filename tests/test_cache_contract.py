"""What every cache backend does, whatever it is built on."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from lorekeeper.cache.protocol import SearchCache, ValueCounts
from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import COLLECTIONS, Entity, FieldType, canonical_json
from lorekeeper.errors import EmbeddingError, FilterError, LoreKeeperError
from lorekeeper.filters import clean_fields, matches, parse_filters
from lorekeeper.folding import fold
from lorekeeper.order import BY_NAME, Order, as_text, parse_orders
from lorekeeper.text.keywords import KeywordQuery
from tests.support.backends import Caches
from tests.support.entities import everything, make
from tests.support.examples import examples

pytestmark = pytest.mark.plain_on("sqlite")
"""The laws, marked ``every_backend``, are tried on every backend. The rest is what the SQLite code does that answers for an
embedded library too; `lorekeeper.testing.CacheContract` has what every backend must do, and is tried on each as well."""

SHARED_STORE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
"""All examples of a law are stored in one store."""

FIRE = make(
    "fireball", "A bright streak blossoms into an explosion of flame.", name="Fireball", level=3, school="Evocation"
)
ICE = make("ice-storm", "Hail and freezing rain pound the ground.", name="Ice Storm", level=4, school="Evocation")
LIGHT = make("light", "The touched object sheds bright light.", name="Light", level=0, school="Evocation", ritual=False)
WARD = make("ward", "A circle of salt keeps the restless dead away.", name="Ward", school="abjuration", ritual=True)
SPELLS = [FIRE, ICE, LIGHT, WARD]

NASTY = [
    "'",
    '"',
    "\\",
    '\\"',
    "\\\\",
    "%",
    "_",
    "%%",
    "a\nb",
    "a\\nb",
    "tab\there",
    "\x01\x1f",
    '" or part >= 0 or document == "',
    "' OR 1=1 --",
    "own\\",
    "a/b#1",
    "a%2Fb",
    "{x}",
    "$(x)",
    "café 龍 🐉",
    "]",
    "null",
]
"""Strings that have broken a query language somewhere."""


def slugs(entities: list[Entity]) -> list[str]:
    return [e.slug for e in entities]


# --- storing -------------------------------------------------------------------------------------------------------


async def test_an_entity_of_another_type_is_refused_and_nothing_is_stored(cache: SearchCache) -> None:
    with pytest.raises(FilterError, match="creatures"):
        await cache.store_entities([FIRE, make("wolf", type="creatures")], "spells")
    assert await cache.get_entities("spells") == []


# --- filters -------------------------------------------------------------------------------------------------------


async def test_values_are_counted_in_their_canonical_form_and_the_absent_ones_apart(cache: SearchCache) -> None:
    assert await cache.count_values("creatures", "type") == ValueCounts({}, 0, 0)
    beasts = [
        make("a", "One.", type="creatures", challenge_rating=0.25, environments=["Swamp", "forest"]),
        make("b", "Two.", type="creatures", challenge_rating="1/4", environments=["swamp"], document="other"),
        make("c", "Three.", type="creatures", challenge_rating=3, environments=[]),
        make("d", "Four.", type="creatures"),
    ]
    await cache.store_entities(beasts, "creatures")
    assert await cache.count_values("creatures", "challenge_rating") == ValueCounts({0.25: 2, 3.0: 1}, 3, 4)
    assert await cache.count_values("creatures", "environments") == ValueCounts({"swamp": 2, "forest": 1}, 2, 4)
    assert await cache.count_values("creatures", "type") == ValueCounts({}, 0, 4)
    assert await cache.count_values("creatures", "environments", "other") == ValueCounts({"swamp": 1}, 1, 1)
    low = await cache.count_values("creatures", "environments", challenge_rating_max=1, document="own")
    assert low == ValueCounts({"swamp": 1, "forest": 1}, 1, 1)
    await cache.store_entities(SPELLS, "spells")
    assert (await cache.count_values("spells", "ritual")).counts == {True: 1, False: 1}
    with pytest.raises(FilterError, match="did you mean 'environments'"):
        await cache.count_values("creatures", "environment")


async def test_a_filter_that_was_asked_before_sees_what_has_changed_since(cache: SearchCache) -> None:
    wheres = ["classes:wizard", "-classes:wizard level<=3", "school:evocation", "name:s1"]
    stored = [make(f"s{n}", "Text.", level=n % 6, classes=["wizard"] if n % 2 else ["bard"]) for n in range(12)]
    for change in range(3):
        if change < 2:
            await cache.store_entities(stored[change * 6 : 6 + change * 6], "spells")
            present = stored[: 6 + change * 6]
        else:
            await cache.delete_entities("spells", [entity.identity for entity in stored[:4]])
            present = stored[4:]
        for where in wheres:
            expected = {e.slug for e in present if matches(e, parse_filters("spells", {"where": where}))}
            for _ in range(2):
                assert {r.identity[1] for r in await cache.rank_semantic("spells", "text", 50, where=where)} == expected
                assert {e.slug for e in await cache.get_entities("spells", where=where)} == expected


async def test_without_a_name_filter_the_order_is_name_document_slug(cache: SearchCache) -> None:
    keys = [("b", "x", "Zeta"), ("b", "y", "alpha"), ("a", "z", "Alpha"), ("b", "a", "ALPHA"), ("a", "q", "Élan")]
    await cache.store_entities([make(s, "Text.", document=d, name=n) for d, s, n in keys], "spells")
    found = [(e.name, e.document, e.slug) for e in await cache.get_entities("spells")]
    assert found == [
        ("Alpha", "a", "z"),
        ("ALPHA", "b", "a"),
        ("alpha", "b", "y"),
        ("Élan", "a", "q"),
        ("Zeta", "b", "x"),
    ]


WRONG: list[dict[str, Any]] = [
    {"levle": 3},
    {"level": "high"},
    {"level": 2.5},
    {"level": True},
    {"level": math.nan},
    {"level": 2**70},
    {"level_min": [1, 2]},
    {"school": 3},
    {"school": ""},
    {"school": "x" * 501},
    {"school_min": "a"},
    {"ritual": "maybe"},
    {"ritual": 1},
    {"classes": [None]},
    {"name": "a\0b"},
    {"range": "1e400"},
    {"part": 0},
    {"pk": "x"},
    {"documents": "own"},
]


@pytest.mark.parametrize("stored", [[], [FIRE]], ids=["empty", "filled"])
async def test_a_wrong_filter_is_an_error_with_or_without_entries(cache: SearchCache, stored: list[Entity]) -> None:
    await cache.store_entities(stored, "spells")
    for filters in WRONG:
        calls = [
            cache.get_entities("spells", **filters),
            cache.count_entities("spells", **filters),
            cache.semantic_search("spells", "x", **filters),
            cache.keyword_search("spells", "x", **filters),
        ]
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(error) for error in errors] == [FilterError] * len(calls), filters


async def test_an_unknown_type_is_answered_with_the_known_ones(cache: SearchCache) -> None:
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: cache.store_entities([], "spell"),
        lambda: cache.get_entities("spell"),
        lambda: cache.get_entity("spell", "a", "b"),
        lambda: cache.count_entities("spell"),
        lambda: cache.semantic_search("spell", "x"),
        lambda: cache.keyword_search("spell", "x"),
        lambda: cache.rank_semantic("spell", "x"),
        lambda: cache.rank_keyword("spell", "x"),
        lambda: cache.load("spell", []),
        lambda: cache.content_hashes("spell"),
        lambda: cache.delete_document("own", "spell"),
        lambda: cache.delete_entities("spell", []),
        lambda: everything(cache, "spell"),
    ]
    for call in calls:
        with pytest.raises(FilterError, match="creatures"):
            await call()


# --- nasty strings -------------------------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_no_string_in_an_entity_breaks_or_injects(cache: SearchCache) -> None:
    stored = [
        make(text, f"{text} {i}", name=text, document=text, kind=text, data={"desc": text, text: [text]})
        for i, text in enumerate(NASTY)
    ]
    stored.append(make("plain", "Plain."))
    assert await cache.store_entities(stored, "spells") == len(stored)
    assert await cache.store_entities(stored, "spells") == len(stored)
    assert {e.identity: e for e in await everything(cache)} == {e.identity: e for e in stored}
    for entity in stored:
        assert await cache.get_entity("spells", *entity.identity) == entity
        assert await cache.get_entities("spells", entity.document) == [entity]
        assert [h.entity for h in await cache.semantic_search("spells", "x", document=entity.document)] == [entity]
    for entity in stored[: len(stored) // 2]:
        assert await cache.delete_entities("spells", [entity.identity]) == 1
    for entity in stored[len(stored) // 2 :]:
        assert await cache.delete_document(entity.document) == 1
    assert await cache.count_entities("spells") == 0


@pytest.mark.every_backend
async def test_no_string_in_a_filter_breaks_or_injects(cache: SearchCache) -> None:
    await cache.store_entities(SPELLS, "spells")
    for text in NASTY:
        for filters in ({"school": text}, {"classes": [text]}, {"name": text}, {"kind": text}, {"document": text}):
            assert await cache.get_entities("spells", **filters) == [], filters
            assert await cache.count_entities("spells", **filters) == 0, filters
            assert await cache.semantic_search("spells", text, **filters) == [], filters
            assert await cache.keyword_search("spells", "light", **filters) == [], filters
        assert await cache.delete_document(text) == 0
    assert await cache.count_entities("spells") == 4


async def test_no_query_breaks_a_search(cache: SearchCache) -> None:
    await cache.store_entities(SPELLS, "spells")
    for text in [*NASTY, "light AND (", 'NEAR("a")', "name:light*", "-light", "^light", "light " * 2000, " ", "\0"]:
        near = await cache.semantic_search("spells", text)
        assert len(near) == 4, text
        assert all(math.isfinite(h.score) for h in near)
        words = await cache.keyword_search("spells", text)
        assert slugs([h.entity for h in words]) in ([], ["light"]), text


# --- searches ------------------------------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_semantic_hits_are_ranked_by_cosine_and_carry_their_passage(cache: SearchCache) -> None:
    await cache.store_entities(SPELLS, "spells")
    found = await cache.semantic_search("spells", "freezing rain and hail", limit=3)
    assert found[0].entity == ICE
    assert "freezing rain" in found[0].passage
    scores = [h.score for h in found]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(-1.001 <= s <= 1.001 for s in scores)
    ranked = await cache.rank_semantic("spells", "freezing rain and hail", limit=3)
    assert [(r.identity, r.name, r.score, r.passage, r.section) for r in ranked] == [
        (h.entity.identity, h.entity.name, h.score, h.passage, h.section) for h in found
    ]


async def test_a_ranking_by_meaning_has_the_second_best_passage_of_each_entry(cache: SearchCache) -> None:
    text = " ".join(
        f"The {word} gate opens at dawn for whoever has paid." for word in "amber brass coral dusk ebony".split()
    )
    gates = make("gates", " ".join([text] * 4), name="Gates")
    await cache.store_entities([gates, make("short", "A lamp.", name="Ipsum")], "spells")
    ranked = {r.identity[1]: r for r in await cache.rank_semantic("spells", "the coral gate opens at dawn")}
    second = ranked["gates"].second
    assert second is not None
    assert 0 < second <= ranked["gates"].score
    assert ranked["short"].second is None


async def test_of_notes_it_is_told_how_near_their_sections_are(cache: SearchCache) -> None:
    texts = {"Storm": "Freezing rain and hail.", "Feast": "They ate and drank.", "Road": "Rain fell on the road."}
    data = {"sections": [{"name": name, "desc": text} for name, text in texts.items()]}
    other = {"sections": [{"name": "Hail", "desc": "Hail fell."}]}
    notes = [
        make(slug, type="notes", name=slug, document="vault", data=held, folder=slug)
        for slug, held in (("log", data), ("other", other))
    ]
    await cache.store_entities(notes, "notes")
    every: dict[str, Any] = {}
    for filters in (every, {"folder": "log"}):
        ranked = await cache.rank_semantic("notes", "Storm: Freezing rain and hail.", 1, **filters)
        (hit,) = ranked
        assert (hit.identity[1], hit.near[0]) == ("log", (hit.section, hit.score))
        assert {heading for heading, _ in hit.near} == texts.keys()
        assert [score for _, score in hit.near] == sorted((score for _, score in hit.near), reverse=True)
    await cache.store_entities(SPELLS, "spells")
    assert {hit.near for hit in await cache.rank_semantic("spells", "rain")} == {()}


async def test_a_related_word_counts_less_than_one_of_the_query(cache: SearchCache) -> None:
    asked, related, both = (
        make(slug, f"It gives the traveller {text} for an hour.")
        for slug, text in (("asked", "swiftness"), ("related", "wings"), ("both", "swiftness and wings"))
    )
    await cache.store_entities([asked, related, both], "spells")
    ranked = await cache.rank_keyword("spells", KeywordQuery(("swiftness",), related=("wings",)))
    assert [r.identity[1] for r in ranked] == ["both", "asked", "related"]
    assert [r.complete for r in ranked] == [True, True, False]
    best = await cache.rank_keyword("spells", KeywordQuery(("swiftness",), related=("wings",)), limit=1)
    assert best == ranked[:1]


@pytest.mark.every_backend
async def test_keyword_hits_share_words_and_have_scores_above_zero(cache: SearchCache) -> None:
    await cache.store_entities(SPELLS, "spells")
    found = await cache.keyword_search("spells", "the bright explosions?")
    assert slugs([h.entity for h in found]) == ["fireball", "light"]
    assert found[0].score > found[1].score > 0
    assert (
        await cache.keyword_search("spells", "bright", limit=1) == (await cache.keyword_search("spells", "bright"))[:1]
    )
    assert await cache.keyword_search("spells", "dragons") == []
    ranked = await cache.rank_keyword("spells", "the bright explosions?")
    assert [(r.identity, r.name, r.score) for r in ranked] == [
        (h.entity.identity, h.entity.name, h.score) for h in found
    ]


LONG = " ".join(f"Sentence number {i} speaks of nothing in particular, at some length, as they do." for i in range(80))


async def test_what_stands_last_in_a_long_entity_is_found(cache: SearchCache) -> None:
    late = make("long", f"{LONG} At the very end a purple walrus plays chess.")
    await cache.store_entities([late, *(make(f"s{i}", f"Other text {i}.") for i in range(20))], "spells")
    for search in (cache.semantic_search, cache.keyword_search):
        found = await search("spells", "purple walrus plays chess", limit=5)
        assert found[0].entity == late
        assert sum(h.entity == late for h in found) == 1
    (best, *_) = await cache.semantic_search("spells", "purple walrus plays chess", limit=1)
    assert "purple walrus" in best.passage


async def test_an_entity_that_gets_shorter_leaves_nothing_behind(cache: SearchCache) -> None:
    await cache.store_entities([make("long", f"{LONG} A purple walrus plays chess.")], "spells")
    before = (await cache.statistics()).passages["spells"]
    short = make("long", "Now it is short.")
    await cache.store_entities([short], "spells")
    assert before > 3
    assert (await cache.statistics()).passages["spells"] == 1
    (hit,) = await cache.semantic_search("spells", "purple walrus plays chess")
    assert hit.entity == short
    assert "walrus" not in hit.passage
    assert await cache.keyword_search("spells", "walrus") == []
    assert await everything(cache) == [short]


# --- large entries ---------------------------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_a_large_entry_is_stored_whole_and_replaced_whole(cache: SearchCache) -> None:
    chance = Random(13)
    prose = make("prose", "".join(chr(chance.randrange(0x4E00, 0x9FA5)) for _ in range(20_000)), name="龍" * 500)
    tables = make("tables", data={"desc": "Tables.", "rows": [chance.randbytes(200).hex() for _ in range(750)]})
    noise = make("noise", data={"desc": "Noise.", "noise": chance.randbytes(780_000).hex()[: 2**20]})
    small = make("small", "Nothing much.")
    assert len(canonical_json(tables.data)) > 300_000
    stored = [prose, tables, small, noise]
    await cache.store_entities(stored, "spells")
    assert {e.identity: e for e in await everything(cache)} == {e.identity: e for e in stored}
    for entity in stored:
        assert await cache.get_entity("spells", *entity.identity) == entity
    assert {h.entity.slug for h in await cache.semantic_search("spells", "nothing much", limit=4)} == {
        "prose",
        "tables",
        "noise",
        "small",
    }
    shorter = make("noise", "Hush.")
    await cache.store_entities([shorter], "spells")
    assert await cache.reindex() == 4
    assert await cache.get_entity("spells", "own", "noise") == shorter
    assert await cache.get_entity("spells", "own", "tables") == tables
    assert (await cache.semantic_search("spells", "hush", limit=1))[0].entity == shorter


@pytest.mark.every_backend
async def test_long_texts_of_many_bytes_are_stored_and_found(cache: SearchCache) -> None:
    long = make(
        "龍" * 200, "Text.", type="equipment", name="龍" * 500, document="鬼" * 200, category="猫" * 500,
        properties=[f"{i:03}" + "犬" * 497 for i in range(40, 44)],
    )  # fmt: skip
    await cache.store_entities([long], "equipment")
    wanted: list[dict[str, Any]] = [{"name": "龍" * 500}, {"category": "猫" * 500}, {"properties": "042" + "犬" * 497}]
    for filters in wanted:
        assert await cache.get_entities("equipment", **filters) == [long], filters
    assert await cache.get_entities("equipment", document="鬼" * 200) == [long]
    assert [h.entity for h in await cache.semantic_search("equipment", "text")] == [long]


# --- listing, counting, deleting -----------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_iteration_goes_by_identity_in_batches_of_the_size_asked(cache: SearchCache) -> None:
    many = [make(f"s{i:02}", "Text.", name=f"{99 - i}", document="ba"[i % 2]) for i in range(25)]
    await cache.store_entities(many, "spells")
    batches = [batch async for batch in cache.iterate("spells", batch_size=10)]
    assert [len(b) for b in batches] == [10, 10, 5]
    assert list(itertools.chain.from_iterable(batches)) == sorted(many, key=lambda e: e.identity)


@pytest.mark.every_backend
async def test_deleting_a_document_takes_all_of_it_and_nothing_else(cache: SearchCache) -> None:
    await cache.store_entities([make("x", LONG, document="a"), make("y", "Why.", document="a"), FIRE], "spells")
    await cache.store_entities([make("wolf", "A wolf.", type="creatures", document="a")], "creatures")
    assert await cache.delete_document("a", "spells") == 2
    assert await cache.get_entities("spells") == [FIRE]
    assert [h.entity for h in await cache.semantic_search("spells", "sentence number")] == [FIRE]
    assert await cache.keyword_search("spells", "sentence") == []
    assert await cache.documents() == {"a": {"creatures": 1}, "own": {"spells": 1}}
    assert await cache.delete_document("a") == 1
    assert await cache.delete_document("a") == 0
    assert await cache.documents() == {"own": {"spells": 1}}
    assert await cache.store_entities([make("x", "Again.", document="a")], "spells") == 1
    assert slugs(await cache.get_entities("spells", "a")) == ["x"]


# --- another model -------------------------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_another_model_is_an_error_until_everything_is_embedded_again(caches: Caches) -> None:
    old = caches.open(HashingProvider(512))
    await old.store_entities([*SPELLS, make("long", LONG)], "spells")
    await old.store_entities([make("wolf", "A wolf.", type="creatures")], "creatures")
    await old.close()
    new = caches.open(HashingProvider(256))
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: new.semantic_search("spells", "fire"),
        lambda: new.store_entities([FIRE], "spells"),
        lambda: new.store_entities([make("r", "R.", type="rules")], "rules"),
    )
    for call in calls:
        with pytest.raises(EmbeddingError, match="lorekeeper reindex"):
            await call()
    assert slugs(await new.get_entities("spells", level=3)) == ["fireball"]
    assert slugs([h.entity for h in await new.keyword_search("spells", "hail")]) == ["ice-storm"]
    before, steps = await everything(new), list[int]()
    assert await new.reindex(steps.append) == 6
    assert sum(steps) == 6
    assert await everything(new) == before
    assert (await new.semantic_search("spells", "freezing rain and hail", limit=1))[0].entity == ICE
    assert "hashing-256" in ((await new.statistics()).embedding or "")
    assert await new.store_entities([WARD], "spells") == 1
    assert slugs([h.entity for h in await new.keyword_search("spells", "hail")]) == ["ice-storm"]


async def test_b2_vectors_of_another_dimension_are_refused_and_harm_nothing(caches: Caches) -> None:
    """As a server gives them that has another model now, under the same name."""
    old = caches.open(HashingProvider(512))
    await old.store_entities(SPELLS, "spells")
    await old.close()
    other = HashingProvider(256)
    other.fingerprint = "hashing-512"
    new = caches.open(other)
    with pytest.raises(EmbeddingError, match="512 numbers, but the current model makes 256"):
        await new.store_entities([make("wolf", "A wolf."), FIRE], "spells")
    with pytest.raises(LoreKeeperError):
        await new.semantic_search("spells", "bright light")
    await new.close()
    again = caches.open(HashingProvider(512))
    assert len(await again.semantic_search("spells", "bright light")) == len(await everything(again)) == len(SPELLS)


@pytest.mark.every_backend
async def test_entities_can_be_read_and_stored_while_everything_is_embedded_again(cache: SearchCache) -> None:
    await cache.store_entities([make(f"s{i}", f"Text {i}.") for i in range(200)], "spells")
    reindexed, found, stored = await asyncio.gather(
        cache.reindex(), cache.get_entities("spells"), cache.store_entities([make("late", "Late.")], "spells")
    )
    assert reindexed in (200, 201)
    assert len(found) in (200, 201)
    assert stored == 1
    assert await cache.count_entities("spells") == 201
    assert len(await cache.semantic_search("spells", "text", limit=500)) == 201


# --- life ----------------------------------------------------------------------------------------------------------


@pytest.mark.every_backend
async def test_closing_twice_does_nothing_and_using_it_again_reopens(cache: SearchCache) -> None:
    await cache.close()
    await cache.store_entities([FIRE], "spells")
    await cache.close()
    await cache.close()
    assert await cache.get_entities("spells") == [FIRE]
    assert [h.entity for h in await cache.semantic_search("spells", "flame")] == [FIRE]


@pytest.mark.every_backend
async def test_all_that_happens_at_once_is_kept(cache: SearchCache) -> None:
    parts = [[make(f"s{t}-{i}", f"Text {t} {i}.") for i in range(40)] for t in range(8)]
    done = await asyncio.gather(*(cache.store_entities(part, "spells") for part in parts))
    assert done == [40] * 8
    expected = {e.slug for part in parts for e in part}
    assert {e.slug for e in await everything(cache)} == expected
    assert {h.entity.slug for h in await cache.semantic_search("spells", "text", limit=400)} == expected
    assert {h.entity.slug for h in await cache.keyword_search("spells", "text", limit=400)} == expected


# --- laws ----------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
KEY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
LOOKING_ALIKE = [("a", "b/c"), ("a/b", "c"), ("a", "b%2Fc"), ("A", "b/c"), ("a", "b/c#0"), ("a", "b/c ")]


@pytest.mark.every_backend
@given(
    data=st.lists(
        st.dictionaries(TEXT | st.sampled_from(["desc", "actions"]), JSON, max_size=5), min_size=1, max_size=8
    )
)
@examples(20, SHARED_STORE)
async def test_any_json_object_comes_back_as_it_went_in(cache: SearchCache, data: list[dict[str, Any]]) -> None:
    stored = [make(f"s{i}", data=d, name="Any") for i, d in enumerate(data)]
    await cache.store_entities(stored, "spells")
    found = await cache.load("spells", [e.identity for e in stored])
    assert [canonical_json(e.data) for e in found] == [canonical_json(e.data) for e in stored]
    assert [e.content_hash for e in found] == [e.content_hash for e in stored]


@pytest.mark.every_backend
@example(keys=[(*pair, "x") for pair in LOOKING_ALIKE])
@given(keys=st.lists(st.tuples(KEY, KEY, KEY), min_size=1, max_size=8, unique_by=lambda k: k[:2]))
@examples(20, SHARED_STORE)
async def test_any_name_and_identity_comes_back_as_it_went_in(
    cache: SearchCache, keys: list[tuple[str, str, str]]
) -> None:
    stored = [make(slug, name, document=document, name=name) for document, slug, name in keys]
    await cache.store_entities(stored, "spells")
    assert await cache.load("spells", [e.identity for e in stored]) == stored


SCHOOLS = ["evocation", "abjuration", "half-elf", 'it\'s "odd"']
SPELT = [*SCHOOLS, "EVOCATION", " Abjuration ", "half elf", "HALF-ELF"]
CLASSES = ["wizard", "bard", "war-mage"]


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "document": st.sampled_from(["a", "b", "c d"]) | st.lists(st.sampled_from(["a", "b", "c d", "x"]), min_size=1),
        "level": st.integers(-2, 9) | st.lists(st.integers(-2, 9), max_size=4),
        "level_min": st.integers(-3, 10),
        "level_max": st.integers(-3, 10),
        "school": st.sampled_from(SPELT) | st.lists(st.sampled_from(SPELT), min_size=1, max_size=3),
        "classes": st.sampled_from(CLASSES) | st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3),
        "ritual": st.booleans() | st.lists(st.booleans(), max_size=2),
        "range": st.sampled_from([0, 0.099, 0.1, 0.101, 0.3, 60]),
        "range_min": st.sampled_from([0, 0.1, 0.2, 61]),
        "range_max": st.sampled_from([0, 0.3, 60, 150.125]),
    },
)


def agrees(raw: dict[str, Any], key: str, wanted: Any) -> bool:
    """The meaning of one filter, in plain Python over the raw values."""
    bound = key[-4:] if key.endswith(("_min", "_max")) else ""
    value = raw.get(key.removesuffix(bound))
    if value is None:
        return False
    if bound:
        return bool(value >= wanted if bound == "_min" else value <= wanted)
    options = [plain(v) for v in (wanted if isinstance(wanted, list) else [wanted])]
    return any(plain(v) in options for v in (value if isinstance(value, list) else [value]))


def plain(value: Any) -> Any:
    """A text without case and punctuation, anything else as it is."""
    return fold(value) if isinstance(value, str) else value


Tested = tuple[bool, str, str, list[Any]]
"""One test of ``where``: whether it is negated, its field, its sign (".." for a range), its values."""

ENDS = st.lists(st.integers(-2, 9), min_size=2, max_size=2)
TESTED: st.SearchStrategy[Tested] = st.tuples(
    st.booleans(), st.just("level"), st.just(":"), st.lists(st.integers(-2, 9), min_size=1, max_size=3)
)
TESTED |= st.tuples(st.booleans(), st.just("level"), st.sampled_from([">=", "<=", ">", "<"]), ENDS.map(lambda e: e[:1]))
TESTED |= st.tuples(st.booleans(), st.sampled_from(["level", "range"]), st.just(".."), ENDS)
TESTED |= st.tuples(
    st.booleans(),
    st.just("range"),
    st.sampled_from([":", ">=", "<=", ">", "<"]),
    st.sampled_from([[0], [0.1], [0.3], [60], [150.125]]),
)
TESTED |= st.tuples(
    st.booleans(), st.just("school"), st.just(":"), st.lists(st.sampled_from(SCHOOLS[:3]), min_size=1, max_size=2)
)
TESTED |= st.tuples(
    st.booleans(), st.just("classes"), st.just(":"), st.lists(st.sampled_from(CLASSES), min_size=1, max_size=2)
)
TESTED |= st.tuples(st.booleans(), st.just("ritual"), st.just(":"), st.sampled_from([[True], [False]]))
TESTED |= st.tuples(st.booleans(), st.just("document"), st.just(":"), st.sampled_from([["a"], ["b", "c d"]]))
TESTED |= st.tuples(st.booleans(), st.just("name"), st.just(":"), st.sampled_from([["s1"], ["7"], ["no"]]))


def written(test: Tested) -> str:
    """The test in the grammar of ``where``."""
    negated, field, sign, values = test
    right = "..".join(map(str, values)) if sign == ".." else ",".join(f'"{value}"' for value in values)
    return f"{'-' * negated}{field}{':' if sign == '..' else sign}{right}"


def holds(raw: dict[str, Any], test: Tested) -> bool:
    """The meaning of one test, in plain Python over the raw values."""
    negated, field, sign, values = test
    value = raw.get(field)
    if value is None:
        return negated and field == "classes"
    first = values[0]
    if field == "name":
        met = first in value
    elif sign == ":":
        met = any(v in values for v in (value if isinstance(value, list) else [value]))
    elif sign == "..":
        met = first <= value <= values[1]
    else:
        met = {">=": value >= first, "<=": value <= first, ">": value > first, "<": value < first}[sign]
    return met is not negated


TRIED_IN_FULL = ("milvus", "sqlite")
TRIES = 12
"""How many examples of a law are tried on a backend that differs from one of these in how it is reached."""


@pytest.fixture
def tries(request: pytest.FixtureRequest) -> int | None:
    """How many examples of a law are tried on its backend; None for all."""
    return None if request.node.callspec.params["backend"] in TRIED_IN_FULL else TRIES


@pytest.fixture
def enough(tries: int | None) -> Callable[[], bool]:
    """Whether a law was tried often enough on its backend; asked once for each example."""
    made = itertools.count()
    return lambda: tries is not None and next(made) >= tries


@pytest.fixture
async def filled(cache: SearchCache) -> tuple[SearchCache, list[dict[str, Any]]]:
    """A store of 120 spells whose fields are known or not in all combinations."""
    options: list[list[dict[str, Any]]] = [
        [{}, *({"level": v} for v in (-1, 0, 3, 9))],
        [{}, *({"school": v} for v in SCHOOLS)],
        [{}, {"classes": []}, {"classes": ["wizard"]}, {"classes": ["bard", "war-mage"]}],
        [{}, {"ritual": True}, {"ritual": False}],
        [{}, *({"range": v} for v in (0, 0.1, 0.3, 60, 150.125))],
        [{"document": d} for d in ("a", "b", "c d")],
    ]
    combinations = list(itertools.product(*options))
    raws = [
        dict(itertools.chain.from_iterable(d.items() for d in c)) for c in combinations[:: len(combinations) // 120]
    ]
    stored = [make(f"s{i}", f"Text {i}.", **raw) for i, raw in enumerate(raws)]
    await cache.store_entities(stored, "spells")
    return cache, raws


@pytest.mark.every_backend
@given(filters=FILTERS, tests=st.lists(TESTED, max_size=3))
@examples(100, SHARED_STORE)
async def test_filters_and_tests_of_where_agree_with_plain_python(
    enough: Callable[[], bool],
    filled: tuple[SearchCache, list[dict[str, Any]]],
    filters: dict[str, Any],
    tests: list[Tested],
) -> None:
    if enough():
        return
    cache, raws = filled
    where = " ".join(map(written, tests))
    asked = filters | ({"where": where} if where else {})
    expected = {
        f"s{i}"
        for i, raw in enumerate(raws)
        if all(agrees(raw, k, v) for k, v in filters.items())
        and all(holds({"name": f"s{i}"} | raw, test) for test in tests)
    }
    found = await cache.get_entities("spells", **asked)
    assert {e.slug for e in found} == expected, asked
    documents = asked.pop("document", None)
    assert all(matches(e, parse_filters("spells", asked)) for e in found)
    assert await cache.count_entities("spells", documents, **asked) == len(expected), asked
    for rank in (cache.rank_semantic, cache.rank_keyword):
        ranked = await rank("spells", "text", 500, document=documents, **asked)
        assert {r.identity[1] for r in ranked} == expected, asked


ORDERS: st.SearchStrategy[tuple[str, Order]] = st.one_of(
    st.tuples(st.sampled_from(["level", "range"]), st.booleans()).map(
        lambda drawn: (drawn[0], Order(COLLECTIONS["spells"].field(drawn[0]), drawn[1]))
    ),
    st.sampled_from([("name", BY_NAME), ("name", Order(descending=True))]),
    st.sampled_from([("document", Order(documents=keys)) for keys in (("c d", "a"), ("b",), ("b", "a", "c d"))]),
    st.booleans().map(lambda descending: ("school", Order(texts=("school",), descending=descending))),
    st.booleans().map(lambda descending: ("classes", Order(texts=("classes",), descending=descending))),
    st.integers(0, 5).map(lambda seed: ("random", Order(seed=seed))),
)


def in_order(raws: list[dict[str, Any]], field: str, order: Order) -> list[str]:
    """The slugs of spells in an order that is not random, in plain Python over the raw values."""
    names = sorted(range(len(raws)), key=lambda i: f"s{i}")
    if field == "name":
        return [f"s{i}" for i in (reversed(names) if order.descending else names)]
    if field == "document":
        keys = [*order.documents, *(key for key in ("a", "b", "c d") if key not in order.documents)]
        ranks = [min(keys.index(raw["document"]), len(order.documents)) for raw in raws]
        return [f"s{i}" for i in sorted(names, key=lambda i: ranks[i])]
    if order.texts:
        texts = {i: fold(as_text(raws[i].get(field))) for i in names}
        having = [i for i in names if texts[i]]
        having.sort(key=lambda i: texts[i], reverse=order.descending)
        return [f"s{i}" for i in [*having, *(i for i in names if not texts[i])]]
    known = [i for i in names if field in raws[i]]
    sign = -1 if order.descending else 1
    return [
        f"s{i}" for i in [*sorted(known, key=lambda i: sign * raws[i][field]), *(i for i in names if i not in known)]
    ]


MOST_PAGES = 8
"""How many pages of an order are read, of those that there are."""


@pytest.mark.every_backend
@given(ordered=ORDERS, size=st.integers(1, 200))
@examples(40, SHARED_STORE)
async def test_orders_agree_with_plain_python_on_every_page(
    enough: Callable[[], bool], filled: tuple[SearchCache, list[dict[str, Any]]], ordered: tuple[str, Order], size: int
) -> None:
    if enough():
        return
    cache, raws = filled
    field, order = ordered
    whole = [e.slug for e in await cache.get_entities("spells", order=order)]
    if field == "random":
        assert sorted(whole) == sorted(f"s{i}" for i in range(len(raws)))
    else:
        assert whole == in_order(raws, field, order)
    starts = range(0, len(raws) + 1, size)
    for start in {*starts[:: len(starts) // MOST_PAGES + 1], starts[-1]}:
        page = await cache.get_entities("spells", order=order, limit=size, offset=start)
        assert [e.slug for e in page] == whole[start : start + size]


async def test_a_negated_test_of_what_sources_leave_out_matches_where_there_is_none(cache: SearchCache) -> None:
    speeds: dict[str, dict[str, Any]] = {
        "frog": {"speed_swim": 30},
        "duck": {"speed_swim": 20, "speed_fly": 60},
        "ox": {},
    }
    await cache.store_entities(
        [make(slug, "Text.", type="creatures", kind="creature", **known) for slug, known in speeds.items()], "creatures"
    )
    for where, expected in [
        ("speed_swim>0 -speed_fly>0", ["frog"]),
        ("speed_fly:0", ["frog", "ox"]),
        ("-speed_fly:0", ["duck"]),
        ("-speed_swim:10..25", ["frog", "ox"]),
        ("-armor_class>=15", []),
    ]:
        found = await cache.get_entities("creatures", where=where)
        assert slugs(found) == expected, where
        assert all(matches(entity, parse_filters("creatures", {"where": where})) for entity in found)


SAMPLES: dict[FieldType, list[Any]] = {
    FieldType.TEXT: ["evocation", "odd words", "sphere"],
    FieldType.TEXTS: [[], ["wisdom"], ["wisdom", "light armor"], ["sphere"]],
    FieldType.INTEGER: [-1, 0, 3, 18],
    FieldType.DECIMAL: [0, 0.1, 3.5, 60, 14_400.125],
    FieldType.FLAG: [True, False],
    FieldType.DATE: [-86_400, 0, 1_763_600_000, 1_763_600_001],
}
"""Values of each type of field; that of a text is the same however it is folded."""


def some_filters(chance: Random, entity_type: str) -> dict[str, Any]:
    """Up to three filters on any fields of a type, some of them bounds, some with several values."""
    filters: dict[str, Any] = {}
    for field in chance.sample(COLLECTIONS[entity_type].fields, min(3, len(COLLECTIONS[entity_type].fields))):
        if chance.random() < 0.4:
            continue
        values = [v for sample in SAMPLES[field.type] for v in (sample if isinstance(sample, list) else [sample])]
        bound = chance.choice(["", "_min", "_max"]) if field.type.ordered else ""
        several = not bound and chance.random() < 0.3
        filters[field.name + bound] = chance.sample(values, 2) if several else chance.choice(values)
    return filters


@pytest.mark.every_backend
async def test_filters_on_every_field_agree_with_plain_python(cache: SearchCache, tries: int | None) -> None:
    for entity_type, collection in COLLECTIONS.items():
        chance, fields = Random(f"every field of {entity_type}"), collection.fields
        raws = [{f.name: chance.choice(SAMPLES[f.type]) for f in fields if chance.random() < 0.7} for _ in range(60)]
        entities = [make(f"s{i}", "Text.", type=entity_type) for i in range(len(raws))]
        stored = [replace(e, fields=clean_fields(entity_type, raw)) for e, raw in zip(entities, raws, strict=True)]
        await cache.store_entities(stored, entity_type)
        for _ in range(tries or 40):
            filters = some_filters(chance, entity_type)
            expected = {f"s{i}" for i, raw in enumerate(raws) if all(agrees(raw, k, v) for k, v in filters.items())}
            assert {e.slug for e in await cache.get_entities(entity_type, **filters)} == expected, filters
            ranked = await cache.rank_semantic(entity_type, "text", 500, **filters)
            assert {r.identity[1] for r in ranked} == expected, filters


def every(occurring: Mapping[str, int], _: int) -> Collection[str]:
    """Chooses all words that occur."""
    return occurring.keys()


async def test_words_raise_some_entries_in_the_order_of_their_ranking(cache: SearchCache) -> None:
    entries = [make("ship", "it burns ships, and burns"), make("tower", "a burning tower"), make("sea", "it is wet")]
    await cache.store_entities([*entries, FIRE, ICE], "spells")
    words = ["burn", "tower", "quux", '"']
    among = [entries[0].identity, entries[1].identity, entries[2].identity, ("nowhere", "none")]
    scores = await cache.word_scores("spells", words, among, every)
    ranked = [hit.identity for hit in await cache.rank_keyword("spells", KeywordQuery(tuple(words)))]
    assert sorted(scores, key=lambda identity: -scores[identity]) == [each for each in ranked if each in among]
    assert min(scores.values()) > 0
    assert await cache.word_scores("spells", words, [], every) == {}
    assert await cache.word_scores("spells", [], among, every) == {}
    assert await cache.word_scores("creatures", words, among, every) == {}


async def test_the_newest_notes_come_first_by_date_number_and_change(cache: SearchCache) -> None:
    day = 86_400
    notes = [
        make("dated", "a", type="notes", session=1, session_date=9 * day, modified=0),
        make("changed", "b", type="notes", modified=8 * day),
        make("tenth", "c", type="notes", session=10, modified=2 * day),
        make("ninth", "d", type="notes", session=9, modified=7 * day),
        make("elsewhere", "e", type="notes", session=1, modified=3 * day, document="other"),
        make("unknown", "f", type="notes"),
        make("stated", "g", type="notes", dated=6 * day, modified=99 * day),
        make("later in the world", "h", type="notes", world_date=14920310, modified=4 * day),
        make("earlier in the world", "i", type="notes", world_date=14910310, modified=5 * day),
    ]
    await cache.store_entities(notes, "notes")
    newest = parse_orders(["notes"], "newest")
    assert newest
    found = await cache.get_entities("notes", order=newest["notes"])
    assert [note.slug for note in found] == [
        *("tenth", "ninth", "dated", "changed", "stated", "later in the world", "earlier in the world"),
        *("elsewhere", "unknown"),
    ]
    page = await cache.get_entities("notes", order=newest["notes"], limit=2, offset=2)
    assert [note.slug for note in page] == ["dated", "changed"]
