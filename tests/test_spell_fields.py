"""What a spell's wording says: saving throws, conditions, damage, healing, areas, components, durations and classes."""

from __future__ import annotations

import time

from lorekeeper.normalize import spells
from lorekeeper.records import Distance, Duration, Material, Spell
from lorekeeper.records.grammar import prices
from lorekeeper.search.query import Query
from tests.support.libraries import open_library
from tests.support.samples import write_lines
from tests.support.tables import each_row


async def test_what_does_not_end_lasts_longer_than_any_number(tmp_path):
    lasting = {"Ember": "until dispelled", "Mire": "permanent", "Reed": "8 hours", "Silt": "special", "Clay": "30 days"}
    spells = [{"collection": "spells", "name": name, "level": 1, "duration": words} for name, words in lasting.items()]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "spells.jsonl", spells)])
        page = await library.search(Query(["spells"], filters={"where": "duration>=1440"}, order="duration desc"))
        assert [result.entity.name for result in page.results] == ["Ember", "Mire", "Clay"]
        assert "without end" in page.results[0].facts + page.results[0].snippet
        below = await library.search(Query(["spells"], filters={"where": "duration<1440"}))
        assert [result.entity.name for result in below.results] == ["Reed"]


async def test_one_duration_is_one_fact_however_a_book_writes_it(tmp_path):
    mist = {"collection": "spells", "name": "Mist", "level": 1, "duration": "Concentration, up to 1 minute"}
    haze = mist | {"name": "Haze", "duration": "Up to 1 minute", "concentration": True}
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "spells.jsonl", [mist, haze])])
        page = await library.search(Query(["spells"]))
    assert ["concentration, 1 minute" in result.facts for result in page.results] == [True, True]


@each_row(
    "text",
    [
        "is or " * 20_000,
        "1d6 " * 30_000,
        "a [b](" * 20_000,
        "choose acid, " * 12_000,
        "10-foot-" * 15_000,
        "* " * 60_000,
    ],
)
def test_hostile_texts_take_linear_time(text):
    began = time.thread_time()
    spells.fields(Spell(text=text, material=Material(text), duration=Duration(text), range=Distance(text)))
    assert time.thread_time() - began < 5


def test_prices_in_silver_and_copper_are_parts_of_gold():
    assert prices("worth 1,000 gp, 5 sp, 1 copper piece, 20 feet") == [1000, 0.5, 0.01]
