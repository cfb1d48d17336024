"""Which results are shown, and in which places: relevance, variants of one thing, and what a library cannot have."""

from __future__ import annotations

from collections import Counter

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.folding import fold
from lorekeeper.search.doubt import absent, doubt_of, rarity
from lorekeeper.search.explanation import Doubt
from lorekeeper.search.fusion import BOOKS
from lorekeeper.search.query import Query
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.server.found import Shown, page_content, page_text
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.samples import write_lines
from tests.support.tables import each_row
from tests.support.tools import call

BURNING = "The blade burns with a cold blue fire as long as its wielder sings to it."


def item(name: str, text: str = BURNING, document: str = "own", **changed):
    return make(name, type="equipment", name=name, kind="magic-item", document=document, data={"desc": text}, **changed)


async def test_twenty_variants_take_one_place_in_lists_and_rankings(tmp_path):
    entries = [
        {"collection": "equipment", "kind": "magic-item", "name": f"Song {n}blade", "description": BURNING}
        for n in range(20)
    ] + [
        {
            "collection": "equipment",
            "kind": "gear",
            "name": "Torch",
            "description": "It burns for an hour and then is ash.",
        }
    ]
    async with open_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "items.jsonl", entries)])
        listed = await library.search(Query(["equipment"]))
        ranked = await library.search(Query(["equipment"], text="burns with fire"))
    assert [len(result.variants) for result in listed.results] == [19, 0]
    assert (listed.total, listed.next_offset) == (21, None)
    assert "; also as " in page_text(Shown(listed)) or "(also as " in page_text(Shown(listed))
    assert sorted(len(result.variants) for result in ranked.results) == [0, 19]
    assert ranked.total == 2
    variants = next(r["variants"] for r in page_content(ranked)["results"] if "variants" in r)
    assert variants.endswith(" more")


@each_row(
    ("query", "names", "game", "name"),
    [
        ("three actions in Pathfinder", [], "Pathfinder", "pathfinder"),
        ("three actions in Pathfinder", ["The Pathfinder's Boots"], None, None),
        ("what is a Warforged?", ["Gearforged"], None, "warforged"),
        ("a forge of war", [], None, None),
        ("what does vortex warp do", ["Control Water"], None, "vortex warp"),
        ("summon undead", ["Conjure Undead"], None, "summon undead"),
        ("summon undead servants to fight for me", ["Conjure Undead"], None, None),
        ("summon undead", ["Summon Undead"], None, None),
    ],
)
def test_what_a_query_names_and_no_entry_is_named_after_is_said(query, names, game, name):
    found = absent(query, names, fold(query).split())
    assert (found.game if found else None, found.name if found else None) == (game, name)


async def test_a_question_about_another_game_finds_nothing_and_says_why(tmp_path):
    entry = {
        "collection": "rules",
        "kind": "rule",
        "name": "Actions",
        "description": "You have one action on your turn.",
    }
    async with open_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "rules.jsonl", [entry])])
        page = await library.search(Query(["rules"], text="actions on a turn in Pathfinder"))
    assert (page.results, page.total) == ([], 0)
    assert "Pathfinder" in (page.note or "")


ROPE = "A rope of fifty feet, whatever it is made of, is burst with a test of strength."

FIGHTS = [
    {"collection": "rules", "kind": "rule", "name": "Ships", "description": "A ship fights another ship at sea."},
    {"collection": "rules", "kind": "rule", "name": "Mounts", "description": "A mount fights on land."},
]


async def test_words_that_no_entry_has_are_named_beside_the_nearest(tmp_path, monkeypatch):
    monkeypatch.setattr("lorekeeper.search.doubt.LARGE_LIBRARY", 2)
    async with open_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "rules.jsonl", FIGHTS)])
        page = await library.search(Query(["rules"], text="zeppelin fights"))
        assert (page.results[0].sure, page.note) == (False, "No rule has the word 'zeppelin'.")
        assert (await library.search(Query(["rules"], text="ship fights at sea"))).note is None


async def test_the_offset_that_continues_is_that_of_the_first_result_that_the_text_leaves_out(tmp_path):
    towns = "Ash Brook Cape Dell Elm Fen Glen Holt Isle Jarl Knoll Lake".split()
    texts = [
        {"name": f"{town} Ferry", "description": f"The ferry of {town} carries salt to the sea."} for town in towns
    ]
    rows = [
        {"collection": "rules", "kind": "rule", **each} for each in [{"name": "Ferry", "description": "Salt."}, *texts]
    ]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "rules.jsonl", rows)])
        told, offset = "", "0"
        while offset:
            text = (await call(library, "search_lore", query="ferry", offset=int(offset))).text
            told, _, following = (told + text).rpartition("offset=") if "\noffset=" in text else (told + text, "", "")
            offset = following.partition(" ")[0]
        whole = (await call(library, "search_lore", query="ferry", limit=50)).structured["results"]
    assert len(whole) > 5
    assert [each["name"] for each in whole if each["name"] not in told] == []


async def test_that_nothing_is_called_what_a_question_is_about_is_said(tmp_path):
    anchor = {"collection": "rules", "kind": "rule", "name": "Mooring", "description": "An anchor holds a ship."}
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "rules.jsonl", [*FIGHTS, anchor])])
        asked = await library.search(Query(["rules"], text="how does an anchor work"))
        named = await library.search(Query(["rules"], text="how does mooring work"))
        apart = await library.search(Query(["rules"], text="how much anchor and how many ship"))
    assert apart.note is None
    assert (asked.results[0].entity.name, named.results[0].entity.name) == ("Mooring", "Mooring")
    assert asked.note == "No rule is called 'anchor'; these mention it."
    assert named.note is None


async def test_the_first_of_several_variants_says_what_the_others_have(tmp_path):
    ropes = [item(f"Rope, {stuff}", ROPE, cost=cost) for stuff, cost in (("hemp", 1), ("silk", 10))]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(ropes, "equipment")
        text = (await call(library, "search_lore", query="a rope that is burst with a test of strength")).text
    assert text.count(ROPE) == 1
    assert "silk: 10 gp" in text or "hemp: 1 gp" in text


async def test_dice_before_other_words_are_rolled_and_cells_have_no_marks(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        cards = make("tide-cards", "| d1 | Card |\n|---|---|\n| 1 | Anchor\\* |", type="rules", name="Tide Cards")
        await library.cache.store_entities([cards], "rules")
        drawn = await call(library, "roll", what="tide cards")
        assert ("Anchor" in drawn.text, "\\" in drawn.text) == (True, False)
        rolled = await call(library, "roll", what="1d1+7 ember bolt")
    assert rolled.text.startswith("Note: Only '1d1+7' was rolled, of '1d1+7 ember bolt'.\n")
    assert "8" in rolled.text.splitlines()[1]


async def test_a_rule_that_is_a_chapter_names_the_rules_below_it_and_a_table_is_asked_for_by_its_first_title(tmp_path):
    sinking = (
        "Sinking has levels, as every level of silt has some. " * 30 + "\n\n| Level | Effect |\n|---|---|\n| 2 | Gone |"
    )
    rules = [
        make(name.lower(), text, type="rules", kind="rule", name=name, parent=parent)
        for name, text, parent in (
            ("Wading", "Whoever wades through silt is slow.", None),
            ("Boots", "High ones keep dry.", "Wading"),
            ("Stilts", "They take practice.", "Wading"),
            ("Sinking", sinking, None),
        )
    ]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(rules, "rules")
        text = (await call(library, "lookup_rule", semantic_query="wading through silt is slow")).text
        levels = (await call(library, "lookup_rule", semantic_query="sinking levels")).text
        asked = (await call(library, "lookup_rule", semantic_query="boots when wading through silt is slow")).text
    assert "   Below it: Boots; Stilts." in text
    assert "| 2 | Gone |" in levels
    assert "   Below it, Boots: High ones keep dry.\n   Below it: Boots; Stilts." in asked


def test_the_nearer_a_hit_is_the_rarer_the_words_may_be_that_it_lacks():
    key, ship = (
        ("rules", ("own", "ships")),
        make("ships", "A ship fights at sea.", type="rules", kind="rule", name="Ships"),
    )
    number = Counter({"ships": 400, "ship": 400, "fighting": 900, "fights": 900, "sea": 90, "pay": 40, "tribute": 1})

    def doubt(near: float, *wordings: str) -> Doubt:
        ranked = Ranked(ship.identity, "ships", near)
        return doubt_of(key, ship, Retrieved({key: ranked}, count=1_000, counted={BOOKS: number}), wordings)

    assert doubt(0.5, "ships fighting at sea").lacking == 0
    one, two = doubt(0.5, "ships pay tribute"), doubt(0.5, "zeppelins pay tribute")
    assert 0 < one.lacking < two.lacking < 1
    assert (one.is_doubtful, two.is_doubtful, two.is_hopeless) == (True, True, False)
    assert not doubt(0.9, "a ship fights for tribute").is_doubtful
    assert doubt(0.5, "zeppelins", "ships at sea").lacking == 0  # the wording that it fits best
    assert doubt(0.5, "zeppelin holograms").is_hopeless
    assert (doubt(0.3).is_doubtful, doubt(0.3, "of the").is_hopeless) == (False, True)
    assert doubt(0.5, "shipsworth").lacking == 1  # which no entry has, though it begins as "ships" does
    farther = Retrieved({key: Ranked(ship.identity, "ships", 0.9)}, count=1_000, phrases={key: 0.1})
    assert doubt_of(key, ship, farther, ["ships"]).near == 0.9


@pytest.mark.parametrize("entries", [300, 10_000])
def test_a_word_that_no_entry_has_is_rarest(entries):
    shares = [rarity(number, entries) for number in (0, 1, entries // 10, entries)]
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], round(shares[-1], 2)) == (1, 0)


async def test_a_misspelt_name_of_somebody_in_a_note_is_not_off_topic(tmp_path, monkeypatch):
    monkeypatch.setattr("lorekeeper.search.doubt.LARGE_LIBRARY", 2)
    rules = [make(f"rule-{number}", "A ship fights.", type="rules", kind="rule") for number in range(3)]
    note = make("sewers.md", "Tomlin Greer hides below the bakery.", type="notes", kind="location", name="The Sewers")
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(rules, "rules")
        await library.cache.store_entities([note], "notes")
        page = await library.search(Query(["rules", "notes"], text="Tomlyn Grear"))
        assert [result.entity.name for result in page.results][:1] == ["The Sewers"]
        nothing = await library.search(Query(["rules", "notes"], text="Xqzt Blorp"))
    assert (nothing.results, nothing.total) == ([], 0)
