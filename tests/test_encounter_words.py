"""What people say for an encounter is taken as they mean it, and what was chosen for them is said."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.play.encounters.asked import (
    parse_difficulty,
    parse_monsters,
    parse_party,
    singulars,
)
from lorekeeper.play.encounters.proposals import xp_of
from lorekeeper.server.answers import Answer
from lorekeeper.server.encounters import PLAN_ENCOUNTER
from lorekeeper.vaults.registry import Registry
from tests.support.bestiary import NEW, OLD, bestiary, books, creature
from tests.support.libraries import open_library, settings
from tests.support.tables import each_row

# --- parties ---------------------------------------------------------------------------------------------------------


@each_row(
    ("party", "levels"),
    [
        ("4x5", [5] * 4),
        ("4 x 5", [5] * 4),
        ("5,5,5", [5] * 3),
        ("four level 5", [5] * 4),
        ("Four 5th-level characters", [5] * 4),
        ("a party of 4 at level 3", [3] * 4),
        ("two level 3 and two level 4", [3, 3, 4, 4]),
        ("4 players at level 7, 1 at level 8", [7, 7, 7, 7, 8]),
        ("5th level x4", [5] * 4),
        ("level 5", [5]),
        ("3 3 4", [3, 3, 4]),
    ],
)
def test_parties_are_read_as_people_write_them(party, levels):
    assert parse_party([party]) == tuple(levels)


# --- monsters --------------------------------------------------------------------------------------------------------


@each_row(
    ("texts", "parsed"),
    [
        (["1 young green dragon, 4 kobolds"], [(1, "young green dragon"), (4, "kobolds")]),
        (["goblin x5, bugbear"], [(5, "goblin"), (1, "bugbear")]),
        (["3 wolves and an ogre; two worgs", "hag"], [(3, "wolves"), (1, "ogre"), (2, "worgs"), (1, "hag")]),
        (["2 orcs, and 1 orog"], [(2, "orcs"), (1, "orog")]),
        (["Archon, Ursan", "3 Ooze, Sinkhole"], [(1, "Archon, Ursan"), (3, "Ooze, Sinkhole")]),
        (["Sand and Bone Golem"], [(1, "Sand and Bone Golem")]),
    ],
)
def test_a_text_may_have_several_kinds_of_monsters(texts, parsed):
    assert parse_monsters(texts) == parsed


def test_the_head_of_a_name_with_of_is_in_the_plural():
    assert "Swarm of Rats" in singulars("Swarms of Rats")
    assert "Swarm of Rat" not in singulars("Swarm of Rats")


@each_row(("given", "damage", "xp"), [(0, ["piercing"], 10), (0, [], 0), (10, [], 10), (None, [], 10), (0, None, 0)])
def test_a_harmful_creature_of_rating_0_is_worth_10_although_sources_write_0(given, damage, xp):
    fields = {"challenge_rating": 0} | ({} if damage is None else {"damage_types": damage})
    rat = creature("Reed Rat", **fields)
    assert xp_of(replace(rat, data={**rat.data, "experience_points": given})) == xp


# --- difficulties ----------------------------------------------------------------------------------------------------


@each_row(("word", "rules", "usual", "chosen", "name", "noted"), [
        ("medium", None, "2024", "2014", "medium", True),
        ("Deadly", None, "2024", "2014", "deadly", True),
        ("moderate", None, "2014", "2024", "moderate", True),
        ("hard", None, "2014", "2014", "hard", False),
        ("hard", "2024", "2024", "2024", "high", True),
        ("low", "2014", "2014", "2014", "easy", True),
        ("high", "2024", "2024", "2024", "high", False),
        (None, None, "2014", "2014", "medium", False),
    ])  # fmt: skip
def test_a_word_of_one_edition_chooses_its_rules_and_no_mapping_is_silent(word, rules, usual, chosen, name, noted):
    found = parse_difficulty(word, rules, usual)
    assert (found.rules, found.name, found.note is not None) == (chosen, name, noted)


# --- plans -----------------------------------------------------------------------------------------------------------

SOOT = "Idle Soot"

IDLE = [
    replace(creature(f"{SOOT} {n}", OLD, challenge_rating=7.0, type="elemental"), data={"name": SOOT, "actions": []})
    for n in range(20)
]
NAMED = [
    creature("Goblin", OLD, challenge_rating=0.25, type="humanoid"),
    creature("Goblin Warrior", NEW, challenge_rating=0.25, type="fey"),
    creature("Marsh Lord", OLD, challenge_rating=7.0, type="elemental"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("words")
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    registry = Registry(folder / "library.vaults", [], folder / "library")
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"), embedding)
    async with Library(cache, embedding, offline=True, vaults=registry, views=folder / "library.views") as opened:
        await opened.cache.store_entities(books(), "documents")
        await opened.cache.store_entities([*NAMED, *IDLE, *bestiary(random.Random(3), 60)], "creatures")
        yield opened


async def plan(library: Library, **arguments: Any) -> Answer:
    return await PLAN_ENCOUNTER.run(library.view(), PLAN_ENCOUNTER.check(arguments))


def names(answer: Answer) -> set[str]:
    return {monster["name"] for encounter in answer.structured["encounters"] for monster in encounter["monsters"]}


@pytest.mark.asyncio(loop_scope="module")
class TestPlans:
    async def test_the_rules_of_the_word_are_used_and_said(self, library):
        answer = await plan(library, party="four level 5", difficulty="hard", seed=1)
        assert answer.structured["rules"] == "2014"
        assert answer.structured["difficulty"] == "hard"
        assert "'hard' is a word of the 2014 rules" in answer.structured["note"]
        mapped = await plan(library, party="four level 5", difficulty="hard", rules="2024", seed=1)
        assert mapped.structured["difficulty"] == "high"
        assert "have 'high' in its place" in mapped.structured["note"]

    async def test_a_creature_of_another_edition_is_named_with_what_this_one_has(self, library):
        answer = await plan(library, party="4x3", monsters=["4 goblins"], rules="2024")
        assert f"Goblin is from the 2014 edition ({OLD}); of 2024 there is Goblin Warrior." in answer.structured["note"]
        assert "of these" not in answer.structured["note"]
        same = await plan(library, party="4x3", monsters=["4 goblins"], rules="2014")
        assert same.structured["note"] is None

    async def test_notes_count_no_results_that_the_answer_does_not_show(self, library):
        for found in (
            await plan(library, party="4x3", monsters=["2 goblins", "1 goblin"], rules="2014"),
            await plan(library, party="5x7", rules="2014", semantic_query="idle soot", seed=1),
        ):
            assert "of these" not in (found.structured["note"] or "")

    async def test_a_seed_that_proposes_nothing_is_not_offered(self, library):
        answer = await plan(library, party="4x3", difficulty="hard", environment=["nowhere at all"], seed=1)
        assert "No creature in the library meets these filters." in answer.text
        assert "repeats these" not in answer.text

    async def test_creatures_without_actions_are_not_proposed(self, library):
        asked = {"party": "5x7", "rules": "2014", "type": "elemental", "cr_min": 7, "cr_max": 7, "difficulty": "hard"}
        for seed in range(5):
            answer = await plan(library, seed=seed, **asked)
            assert not {name for name in names(answer) if name.startswith(SOOT)}
            assert "since their source lists no actions: 20." in answer.structured["note"]
        found = await plan(library, party="5x7", rules="2014", semantic_query="idle soot", seed=1)
        assert not {name for name in names(found) if name.startswith(SOOT)}

    async def test_creatures_without_actions_are_rated_and_it_is_said(self, library):
        answer = await plan(library, party="5x7", monsters=[f"2 {SOOT} 3"], rules="2014")
        assert names(answer) == {f"{SOOT} 3"}
        assert f"The source lists no actions for this creature: {SOOT} 3." in answer.structured["note"]

    async def test_a_name_that_no_open_licence_covers_is_said_to_be_closed(self, library):
        with pytest.raises(NotFoundError, match="not open content"):
            await plan(library, party="4x5", monsters=["2 mind flayers"])
        with pytest.raises(NotFoundError) as caught:
            await plan(library, party="4x5", monsters=["grblnx"])
        assert "not open content" not in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({}, "states no environments"),
        ({"environments": []}, "states no environments"),
        ({"type": "ooze"}, "states no environments and does not meet the filters"),
        ({"environments": ["swamp"]}, "does not meet the filters"),
    ],
)
async def test_a_creature_that_the_edition_has_but_for_the_filters_is_called_so(tmp_path, stated, said):
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(books(), "documents")
        lamps = [
            creature("Fen Lamp", OLD, challenge_rating=1, type="beast", environments=["forest"]),
            creature("Fen Lamp", NEW, **{"challenge_rating": 1, "type": "beast", **stated}),
        ]
        await library.cache.store_entities(lamps, "creatures")
        wanted = {"environment": "forest", "type": "beast"}
        answer = await plan(library, party="4x2", difficulty="moderate", rules="2024", **wanted)
        assert f"Fen Lamp is from the 2014 edition ({OLD}); that of 2024 {said}." in answer.structured["note"]
