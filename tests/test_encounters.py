"""Encounters from a library: proposals under filters, monsters by name, what players see, and clear errors."""

from __future__ import annotations

import random
import statistics
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.play.encounters.arithmetic import window
from lorekeeper.play.encounters.proposals import chosen
from lorekeeper.play.encounters.shapes import GROUP, Budget, patterns
from lorekeeper.records.creatures import EXPERIENCE
from lorekeeper.server.answers import Answer
from lorekeeper.server.encounters import PLAN_ENCOUNTER
from lorekeeper.vaults.registry import Registry
from lorekeeper.views.view import View
from tests.support.bestiary import NEW, OLD, bestiary, books, creature
from tests.support.libraries import settings
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

# --- a library -------------------------------------------------------------------------------------------------------

NAMED = [
    creature("Goblin", OLD, challenge_rating=0.25, type="humanoid", environments=["forest"]),
    creature("Goblin", NEW, challenge_rating=0.5, type="fey"),
    creature("Fen Wolf", OLD, challenge_rating=1, type="beast"),
    creature("Harpy", OLD, challenge_rating=1, type="monstrosity"),
    creature("Unmeasured Thing", OLD, type="ooze"),
    replace(creature("Hidden Tyrant", OLD), fields={"challenge_rating": 2.0, "type": ("fiend",), "audience": ("dm",)}),
]

SHELF = [*NAMED, *bestiary(random.Random(11), 150), *bestiary(random.Random(12), 8, NEW)]


@pytest.fixture(scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("encounters")
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    registry = Registry(folder / "library.vaults", [], folder / "library")
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"), embedding)
    async with Library(cache, embedding, offline=True, vaults=registry, views=folder / "library.views") as opened:
        await opened.cache.store_entities(books(), "documents")
        await opened.cache.store_entities(SHELF, "creatures")
        yield opened


async def plan(view: View, **arguments: Any) -> Answer:
    return await PLAN_ENCOUNTER.run(view, PLAN_ENCOUNTER.check(arguments))


def monsters_of(answer: Answer) -> list[dict[str, Any]]:
    return [monster for encounter in answer.structured["encounters"] for monster in encounter["monsters"]]


def entity_at(uri: str) -> Entity:
    (found,) = [each for each in SHELF if each.uri == uri]
    return found


@each_row(("arguments", "holds"), [
        ({}, lambda entity: entity.document == OLD),
        ({"environment": "swamp"}, lambda entity: "swamp" in entity.fields["environments"]),
        ({"environment": ["hills", "desert"], "cr_max": 5}, lambda entity: entity.fields["challenge_rating"] <= 5),
        ({"type": "undead"}, lambda entity: "undead" in entity.fields["type"]),
        ({"cr_min": "1/2", "cr_max": 2}, lambda entity: 0.5 <= entity.fields["challenge_rating"] <= 2),
        ({"where": "-type:beast cr<4"}, lambda entity: "beast" not in entity.fields["type"]),
        ({"documents": [NEW], "difficulty": "low"}, lambda entity: entity.document == NEW),
        ({"semantic_query": "undead of the salt fens"}, lambda entity: True),
        ({"semantic_query": ["gull", "fen undead"], "cr_max": 3}, lambda entity: entity.fields["challenge_rating"] <= 3),
    ])  # fmt: skip
async def test_proposals_meet_the_filters_and_the_budget_and_are_repeated_by_their_seed(
    library, seed, arguments, holds
):
    asked = {"party": "4x5", "rules": "2014", "difficulty": "hard", **arguments}
    answer = await plan(library.view(), seed=seed, **asked)
    assert (await plan(library.view(), seed=seed, **asked)).structured == answer.structured
    assert answer.structured["seed"] == seed
    least, most = window((5,) * 4, "2014", answer.structured["difficulty"])
    encounters_found = answer.structured["encounters"]
    assert encounters_found
    for monster in monsters_of(answer):
        assert holds(entity_at(monster["uri"])), monster
        assert f"{monster['name']}, {monster['document']} (" in answer.text
    for encounter in encounters_found:
        enough = least <= encounter["adjusted_xp"] or "come nearest" in answer.structured["note"]
        assert enough
        assert encounter["adjusted_xp"] <= most
        assert encounter["reason"] in answer.text
        assert all(line in answer.text for line in encounter["arithmetic"])


async def test_proposals_fill_the_budget_with_few_foes():
    counts = dict.fromkeys((rating for rating in EXPERIENCE if 0 < rating <= 24), 20)
    shares, sizes = [], []
    for levels in ((1,) * 4, (3,) * 4, (5,) * 5, (12,) * 6):
        budget = Budget.of(levels, "2024", "moderate")
        for number in range(20):
            picked = chosen(patterns(budget, counts), budget, random.Random(number))
            shares += [each.cost / budget.most for several in picked.values() for each in several[:1]]
            sizes += [sum(count for _, count in each.parts) / len(levels) for each in picked[GROUP][:1]]
    assert statistics.median(shares) >= 0.85
    assert sum(size > 2 for size in sizes) <= len(sizes) / 20


async def test_what_the_library_lacks_is_said(library):
    unknown = await plan(library.view(), party="4x5", environment="swmp")
    assert (unknown.structured["encounters"], "No creature" in unknown.structured["note"]) == ([], True)
    assert "swamp" in unknown.structured["note"]
    weak = await plan(library.view(), party="4x20", type="beast", cr_max=1, difficulty="high")
    assert "these come nearest" in weak.structured["note"]
    assert weak.structured["encounters"]
    strong = await plan(library.view(), party="1", cr_min=20)
    assert (strong.structured["encounters"], "the weakest creature has CR" in strong.structured["note"]) == ([], True)
    some = await plan(library.view(), party="4x5", environment="swamp", rules="2014")
    assert "knows the environments of only" in some.structured["note"]
    lacking = await plan(library.view(), party="4x5", rules="2014", type="ooze")
    assert "challenge rating is unknown: 1" in lacking.structured["note"]


async def test_a_filter_that_an_edition_has_nothing_for_is_no_lack_of_the_edition(library):
    other = await plan(library.view(), party="4x2", rules="2024", where='name:"fen wolf"')
    assert "No creature of the 2024 edition meets the filters, so other editions" in other.structured["note"]


async def test_monsters_are_rated_by_number_name_and_edition(library):
    answer = await plan(library.view(), party=[3, 3, 3, 3], rules="2014", monsters=["3 goblins", "2x fen wolves"])
    assert [(m["count"], m["name"], m["document"]) for m in monsters_of(answer)] == [
        (2, "Fen Wolf", OLD),
        (3, "Goblin", OLD),
    ]
    (encounter,) = answer.structured["encounters"]
    assert (encounter["xp"], encounter["adjusted_xp"], encounter["difficulty"]) == (550, 1100, "hard")
    newer = await plan(library.view(), party="4x3", rules=2024, monsters=["goblin x3", "1 goblin"])
    assert [(m["count"], m["document"]) for m in monsters_of(newer)] == [(4, NEW)]
    assert "seed" not in newer.structured
    of_a_book = await plan(library.view(), party="4x3", rules=2024, monsters=["goblin"], documents=[OLD])
    assert [m["document"] for m in monsters_of(of_a_book)] == [OLD]


@each_row("text", ["3 goblins, fen wolf", "goblin x3 and fen wolf", "three goblins; a fen wolf"])
async def test_a_text_of_several_kinds_is_rated_whole(library, text):
    answer = await plan(library.view(), party="4x3", rules="2014", monsters=text)
    assert [(m["count"], m["name"]) for m in monsters_of(answer)] == [(1, "Fen Wolf"), (3, "Goblin")]


async def test_a_monster_without_a_challenge_rating_is_not_counted_and_said(library):
    answer = await plan(library.view(), party="4x3", rules="2014", monsters=["unmeasured thing", "2 harpies"])
    assert answer.structured["encounters"][0]["xp"] == 400
    assert "Unmeasured Thing" in answer.structured["note"]
    with pytest.raises(LoreKeeperError, match="the challenge rating of Unmeasured Thing is unknown"):
        await plan(library.view(), party="4x3", monsters=["unmeasured thing"])


@each_row(("arguments", "said"), [
        ({}, "the library has no characters with a level"),
        ({"party": []}, "the party is empty"),
        ({"party": [0]}, "from 1 to 20, not '0'"),
        ({"party": [3, 21]}, "from 1 to 20, not '21'"),
        ({"party": "four"}, "not 'four'"),
        ({"party": "99x3 " * 10_000}, "at most 30 characters"),
        ({"party": "9" * 5000}, "from 1 to 20"),
        ({"party": 3, "rules": "5e"}, "unknown rules '5e'; known: 2014, 2024"),
        ({"party": 3, "difficulty": "brutal"}, "low, moderate, high"),
        ({"party": 3, "monsters": ["goblin"], "environment": "swamp"}, "'monsters' cannot be combined with environment"),
        ({"party": 3, "monsters": []}, "monsters is empty"),
        ({"party": 3, "monsters": ["0 goblin"]}, "a number from 1 to"),
        ({"party": 3, "monsters": ["x" * 5000]}, "at most 1000 characters"),
        ({"party": 3, "monsters": ["goblin"] * 51}, "at most 50 kinds"),
        ({"party": 3, "monsters": ["grblnx"]}, "no entry is called 'grblnx'"),
        ({"party": 3, "monsters": ["lore://spells/a/b"]}, "there is no lore://spells/a/b"),
        ({"party": 3, "where": "sped>3"}, "sped"),
        ({"party": 3, "documents": ["nothing"]}, "unknown document"),
    ])  # fmt: skip
async def test_bad_input_is_refused_with_what_to_do(library, arguments, said):
    with pytest.raises(LoreKeeperError) as caught:
        await plan(library.view(), **arguments)
    assert said in str(caught.value)


async def test_a_player_is_proposed_only_what_players_see(library):
    dm, player = library.view(), library.view(Viewer.player("ana"))
    asked = {"party": "4x3", "rules": "2014", "type": "fiend", "cr_min": 2, "cr_max": 2, "difficulty": "easy"}
    seen = {side: {m["name"] for n in range(6) for m in monsters_of(await plan(view, seed=n, **asked))}
            for side, view in (("dm", dm), ("player", player))}  # fmt: skip
    assert "Hidden Tyrant" in seen["dm"]
    assert seen["player"] < seen["dm"]
    assert "Hidden Tyrant" not in seen["player"]
    with pytest.raises(LoreKeeperError, match="no entry is called 'hidden tyrant'"):
        await plan(player, party="4x3", monsters=["hidden tyrant"])


async def test_a_day_is_answered_without_monsters(library):
    answer = await plan(library.view(), party="4x6", difficulty="day", rules="2014")
    assert answer.structured["encounters"] == []
    assert "16,000 adjusted XP a day: about 13 easy, 6 medium, 4 hard or 2 deadly encounters" in answer.text
    assert "Nothing found" not in answer.text
    newer = await plan(library.view(), party="4x6", difficulty="day", rules="2024")
    assert "Day: The rules of 2024 set no XP for a day" in newer.text
