"""How well the search finds what is meant: own questions over the starter's spells, with the real model.

The bounds are generous: they catch a break, not a change of taste.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lorekeeper.cache.milvus_connection import MilvusConnection
from lorekeeper.cache.milvus_store import MilvusStore
from lorekeeper.cache.threaded import ThreadedCache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.hints import STARTER
from lorekeeper.library import Library, load_provider
from lorekeeper.search import Query
from lorekeeper.settings import Settings

QUESTIONS = {
    "the rope snapped and all five of us are plummeting": "Feather Fall",
    "make myself impossible to see": "Invisibility",
    "walk around on the ceiling like an insect": "Spider Climb",
    "a huge explosion of flames": "Fireball",
    "understand what the foreign merchant says": "Comprehend Languages",
    "open a locked door loudly": "Knock",
    "close the wounds of a friend with a touch": "Cure Wounds",
    "travel to another city in an instant": "Teleport",
    "ask a dead body what happened": "Speak with Dead",
    "bring light to a dark corridor with a cantrip": "Light",
    "stop the enemy mage from finishing his spell": "Counterspell",
    "a carpet of webs that holds people fast": "Web",
}
"""What a player says, and the spell that has to be among the first five."""

NAMES = {
    "fierball": "Fireball",
    "magic misile": "Magic Missile",
    "MAGE ARMOUR": "Mage Armor",
    "missile magic": "Magic Missile",
}

NONSENSE = ["asdf qwer", "lorem ipsum dolor sit amet consectetur adipiscing elit", "some of the things about it"]


@pytest_asyncio.fixture(scope="module")
async def spells(tmp_path_factory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("quality")
    service = EmbeddingService(lambda: load_provider(Settings.model_validate({"offline": True})))
    cache = ThreadedCache(MilvusStore(MilvusConnection(folder / "milvus.db"), folder / "keywords"), service)
    async with Library(cache, service) as library:
        report = await library.import_paths([STARTER / "spells.jsonl"])
        assert (report.stored, report.failed) == (319, [])
        yield library


async def first(library: Library, text: str, limit: int = 5) -> list[str]:
    page = await library.searcher.search(Query(["spells"], text=text, limit=limit))
    return [result.entity.name for result in page.results]


@pytest.mark.asyncio(loop_scope="module")
async def test_most_situations_find_their_spell(spells):
    missed = [text for text, name in QUESTIONS.items() if name not in await first(spells, text)]
    assert len(missed) <= 2, missed


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("text", NAMES)
async def test_a_name_comes_first_also_misspelt(spells, text):
    assert (await first(spells, text))[0] == NAMES[text]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("text", NONSENSE)
async def test_nonsense_finds_nothing_and_says_so(spells, text):
    page = await spells.searcher.search(Query(["spells"], text=text))
    assert (page.results, page.total) == ([], 0)
    assert "Nothing on the shelf comes close" in (page.note or "")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_uri_finds_entries_like_that_one_and_not_itself(spells):
    page = await spells.searcher.search(Query(["spells"], text="lore://spells/lorekeeper-starter/fireball", limit=5))
    names = [result.entity.name for result in page.results]
    assert "Fireball" not in names
    assert {"Delayed Blast Fireball", "Flame Strike", "Fire Storm", "Wall of Fire", "Burning Hands"} & set(names)
