"""What is at hand at the table: dice, tables to roll on, spell lists."""

from __future__ import annotations

import json
from random import Random
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.play.dice import Dice, Formula, Term, dice_in, dice_of, formula_of, parsed_formula
from lorekeeper.play.tables import Table, numbers_of, tables_of
from lorekeeper.server.answers import Answer
from lorekeeper.server.tools import all_tools
from lorekeeper.spell_lists import spell_list
from tests.support.commands import run_inside
from tests.support.entities import make
from tests.support.gateway import gateway
from tests.support.libraries import open_library
from tests.support.pages import elements
from tests.support.samples import write_lines
from tests.support.tables import each_row

MISHAPS = """What goes wrong in the marsh.

**Mishaps (table)**

| d100 | What happens |
|---|---|
| 01-50 | The boat leaks; 2d4 turns to bail it out. |
| 51–99 | Nothing |
| 00 | The bell rings |

Who is met there.

| 1d6 | Stranger | Mood |
|---|---|---|
| 1 | A fisher | Merry |
| 2-5 | A heron | **Cross** |
| 6 | The bell | |

| Level | Spells |
|---|---|
| 3rd | *mirk*, reed song (once) |
"""


@pytest.fixture
def marsh():
    return make("marsh", MISHAPS, type="rules", kind="rule", name="Marsh")


@each_row(
    ("text", "dice"),
    [
        ("d20", Dice(1, 20)),
        ("2d6+3", Dice(2, 6, 1, 3)),
        ("1D10 × 10", Dice(1, 10, 10)),
        ("d%", Dice(1, 100)),
        ("3d8 − 2", Dice(3, 8, 1, -2)),
        ("1d4 x 1,000", Dice(1, 4, 1000)),
    ],
)
def test_dice_are_read_as_books_write_them(text, dice):
    assert dice_of(text) == dice
    assert dice_of(str(dice)) == dice


@each_row("text", ["", "d", "0d6", "d0", "2d6 fire", "9999d6", "d9999999", "1d6+", "level 3"])
def test_what_is_not_dice_is_refused_with_an_example(text):
    assert dice_of(text) is None
    with pytest.raises(FilterError, match="2d6"):
        parsed_formula(text)


def test_as_many_dice_and_sides_as_the_message_says_are_thrown_and_no_more():
    assert parsed_formula("1000d100000") == Formula((Term(Dice(1_000, 100_000)),))
    for beyond in ("1001d6", "1d100001", "0d6", "1d0"):
        with pytest.raises(FilterError, match=r"at most 1,000 dice of 100,000 sides"):
            parsed_formula(beyond)


@given(st.integers(1, 20), st.integers(1, 100), st.integers(-9, 9), st.integers())
def test_a_roll_lies_between_the_least_and_the_most(count, sides, more, seed):
    dice = Dice(count, sides, 1, more)
    assert dice.least <= dice.roll(Random(seed)) <= dice.most


@each_row(
    ("text", "written", "least", "most"),
    [
        ("d20 advantage", "2d20 keep highest 1", 1, 20),
        ("1d20+5 with disadvantage", "2d20+5 keep lowest 1", 6, 25),
        ("4d6 drop lowest", "4d6 keep highest 3", 3, 18),
        ("4d6 drop the highest 2", "4d6 keep lowest 2", 2, 12),
        ("4d6kh3", "4d6 keep highest 3", 3, 18),
        ("2d20kl1", "2d20 keep lowest 1", 1, 20),
        ("keep best 2 4d6", "4d6 keep highest 2", 2, 12),
        ("2d6 + 1d4 + 3", "2d6 + 1d4+3", 6, 19),
        ("3d8-1d4", "3d8 - 1d4", -1, 23),
    ],
)
def test_sums_of_dice_and_the_best_or_worst_of_some_are_thrown(text, written, least, most):
    formula = formula_of(text)
    assert str(formula) == written
    assert formula is not None
    totals = {formula.throw(Random(seed))[0] for seed in range(3_000)}
    assert least <= min(totals) <= max(totals) <= most
    assert len(totals) > (most - least) / 2


@each_row("text", ["advantage", "4d6 drop 4", "3d6 advantage", "2d6 + fire", "keep 3", "wand of wonder"])
def test_what_is_no_sum_of_dice_is_none(text):
    assert formula_of(text) is None


DECK = "\n".join(["| Playing Card | Card |", "|---|---|", *(f"| No. {n} | Fate {n} |" for n in range(6))])


async def test_a_model_rolls_dice_tables_and_decks(tmp_path, marsh):
    tool = next(each for each in all_tools() if each.name == "roll")

    async def roll(**asked: object) -> Answer:
        return await tool.run(library, tool.check(asked))

    async with open_library(tmp_path, backend="sqlite") as library:
        deck = make("deck", DECK, type="equipment", kind="magic-item", name="Deck of Fates")
        plain = make("plain", "| Name | Price |\n|---|---|\n| Rope | 1 gp |", type="rules", kind="rule", name="Prices")
        await library.cache.store_entities([marsh, plain], "rules")
        await library.cache.store_entities([deck], "equipment")
        dice = await roll(what="d20+5 advantage", seed=3, times=2)
        assert dice == await roll(what="d20+5 advantage", seed=3, times=2)
        assert dice.structured["dice"] == "2d20+5 keep highest 1"
        assert len(dice.structured["numbers"]) == 2
        one = await roll(what="marsh", table="mishaps", seed=1)
        assert [each["table"] for each in one.structured["rolls"]] == ["Mishaps"]
        assert one.text.startswith("Rolled: Mishaps, 1d100: ")
        assert len(one.text) < 400, "the row, and not the table"
        drawn = await roll(what="deck of fates", times=6)
        assert sorted(each["number"] for each in drawn.structured["rolls"]) == [1, 2, 3, 4, 5, 6], "each card once"
        assert "row " in drawn.text
        behind = make("reed", "It sings, as below. | d4 | Song |\n| --- | --- |\n| 1 | Low |\n| 2-4 | High |\n",
                      type="rules", kind="rule", name="Reed")  # fmt: skip
        await library.cache.store_entities([behind], "rules")
        assert (await roll(what="reed")).structured["rolls"][0]["dice"] == "1d4"
        with pytest.raises(NotFoundError, match="no table to roll on"):
            await roll(what="prices")
        assert "Rope" in (await roll(what="prices", table="prices")).text
        with pytest.raises(NotFoundError, match="no entry is called 'dragonfish'"):
            await roll(what="dragonfish")


def test_dice_within_a_text_are_found_and_nothing_else():
    assert [written for written, _ in dice_in("takes 2d6 fire, id3, d20s and 1d4+1 more, +3d6")] == ["2d6", "1d4+1"]


@each_row(
    ("text", "dice", "rows"),
    [
        ("The GM rolls a d 100.\n\n**01-40** Owl **41-90** Hawk, red **91-00** Wren \nThe bird sings.", "1d100", 3),
        ("Roll a d4 for the colour.\n\n**1. Red.** Warm.\n\n**2. Blue.** Cold.\n\n**3-4. None.** Roll 1d6.", "1d4", 3),
        ("Choose, or roll 1d6:\n1. Mist\n2. Fog\n3. Rain\n4. Hail\n5. Snow\n6. Sun", "1d6", 6),
        ("Roll a d6:\n1. Mist\n2. Fog\n3. Rain", "", 0),
        ("It has six buttons:\n1. Mist\n2. Fog\n3. Rain\n4. Hail\n5. Snow\n6. Sun", "", 0),
        ("Add a d4 to the roll.\n1. Mist\n3. Fog\n4. Rain", "", 0),
    ],
)
def test_numbered_texts_after_the_name_of_their_die_are_a_table(text, dice, rows):
    found = tables_of(make("bird", type="rules", kind="rule", name="Bird", data={"desc": text}))
    assert [(str(table.dice), len(table.rows), table.gaps) for table in found] == [(dice, rows, "")] * bool(rows)
    if dice == "1d100":
        assert [row.cells for row in found[0].rows] == [("Owl",), ("Hawk, red",), ("Wren",)]
        assert found[0].rows[-1].most == 100


def test_a_number_without_a_row_is_said():
    gap = Table("Gap", Dice(1, 1), ("What",), ())
    assert "no row for this number" in gap.roll(Random(1)).line()


@each_row("told", [{}, {"rows": [["a"]]}, {"rows": [["a"]], "ranges": [[2, 1]]}, {"rows": 3, "ranges": "x"}])
def test_a_broken_table_is_none(told):
    assert tables_of(make("broken", type="rules", kind="table", data={"name": "Broken", "table": told})) == []


@each_row(
    ("written", "ends"),
    [
        ("7", (7, 7)),
        ("01–20.", (1, 20)),
        ("3 bis 5", (3, 5)),
        ("96-00", (96, 100)),
        ("0", (100, 100)),
        ("20+", (20, 100)),
        ("20 or Higher", (20, 100)),
        ("5 or lower", (2, 5)),
    ],
)
def test_the_numbers_of_a_row_are_read_as_books_write_them(written, ends):
    assert numbers_of(written, Dice(2, 50)) == ends


async def test_the_page_of_an_entry_rolls_on_each_of_its_tables(tmp_path, marsh):
    async with open_library(tmp_path, backend="sqlite") as library, gateway(library) as client:
        await library.cache.store_entities([marsh], "rules")
        await library.cache.store_entities([make("plain", "No table.")], "spells")
        page = elements((await client.get(f"/entries/{marsh.uri.removeprefix('lore://')}")).text)
        forms = [attributes for tag, attributes in page.tags if tag == "form" and attributes.get("action") == "/roll"]
        hidden = [attributes for tag, attributes in page.tags if tag == "input" and attributes.get("type") == "hidden"]
        asked = [(str(each["name"]), str(each["value"])) for each in hidden if each["name"] in ("uri", "table")]
        assert len(forms) == 2
        assert asked == [("uri", marsh.uri), ("table", "1"), ("uri", marsh.uri), ("table", "2")]
        whole = await client.get(f"/roll?{urlencode(asked[2:])}")
        assert whole.headers["cache-control"] == "no-store"
        assert "etag" not in whole.headers
        assert elements(whole.text).words.count("Marsh") == 1
        assert "Stranger: A " in whole.text or "Stranger: The bell" in whole.text
        line = (await client.get(f"/roll?{urlencode(asked[:2])}", headers={"hx-request": "true"})).text
        assert "<html" not in line
        assert line.startswith("<b>")
        assert 'action="/roll"' not in (await client.get("/entries/spells/own/plain")).text
        for query in ("", "uri=lore://rules/own/none", "uri=lore://spells/own/plain", f"uri={marsh.uri}&table=weather"):
            refused = await client.get(f"/roll?{query}")
            assert refused.status_code == 404, query
            assert 'role="alert"' in refused.text


# --- spell lists -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def cache(tmp_path):
    spells = [
        make("mirk", name="Mirk", level=1, classes=["wizard"], school="illusion", ritual=True),
        make("mirk", name="Mirk", document="other", level=1, classes=["wizard"]),
        make("spark", name="Spark", level=0, classes=["wizard", "bard"]),
        make("hum", name="Hum", level=2, classes=["bard"]),
    ]
    circle = make("reeds", MISHAPS, type="character_options", kind="subclass", name="Circle of Reeds", parent="druid")
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(spells, "spells")
        await library.cache.store_entities([circle], "character_options")
        yield library.cache


async def test_a_class_has_its_spells_by_level_each_once(cache):
    listed = await spell_list(cache, ["other", "own"], "Wizard")
    assert [(level, [each.name for each in group]) for level, group in listed.groups] == [
        ("Cantrips", ["Spark"]),
        ("1st level", ["Mirk"]),
    ]
    assert [entity.document for entity in listed.groups[1][1][0].entities] == ["other", "own"]
    turned = await spell_list(cache, ["own", "other"], "Wizard")
    assert [entity.document for entity in turned.groups[1][1][0].entities] == ["own", "other"]
    assert "**Mirk**" in listed.markdown()
    only = await spell_list(cache, [], "wizard", ["other"])
    assert only.spells == 1


async def test_a_subclass_has_the_spells_of_its_table(cache):
    bare = make("reeds", "Reeds.", document="bare", type="character_options", kind="subclass", name="Circle of Reeds")
    await cache.store_entities([bare], "character_options")
    listed = await spell_list(cache, ["bare", "own"], "circle of reeds")
    assert listed.uri == "lore://character_options/own/reeds"
    ((level, group),) = listed.groups
    assert "3rd" in level
    assert [(each.name, len(each.entities)) for each in group] == [("mirk", 2), ("reed song", 0)]
    assert "in no book" in listed.markdown()


async def test_an_unknown_class_is_named_with_the_nearest(cache):
    with pytest.raises(NotFoundError, match="wizard"):
        await spell_list(cache, [], "wizzard")


# --- commands --------------------------------------------------------------------------------------------------------


def test_rolling_on_the_command_line(tmp_path):
    entry = {"collection": "rules", "name": "Marsh", "kind": "rule", "document": "own", "desc": MISHAPS}
    write_lines(tmp_path / "marsh.jsonl", [entry])
    assert run_inside(tmp_path, "import", "marsh.jsonl").returncode == 0
    asked = "roll", "Marsh", "--table", "1", "--seed", "3", "--json"
    first, again = (run_inside(tmp_path, *asked).stdout for _ in "12")
    assert first == again
    (rolled,) = json.loads(first)["rolls"]
    assert rolled["table"] == "Mishaps"
    assert 1 <= rolled["number"] <= 100
    assert len(json.loads(run_inside(tmp_path, "roll", "3d6", "--times", "4", "--json").stdout)["numbers"]) == 4
    misspelt = run_inside(tmp_path, "roll", "Marrsh", "--table", "1")
    assert "Mishaps" in misspelt.stdout
    assert "showing the nearest name: Marsh" in misspelt.stdout
    wrong = run_inside(tmp_path, "roll", "3d6", "--times", "0")
    assert wrong.returncode != 0
    assert "times must be 1 to 1,000" in wrong.stderr


# --- gaps ------------------------------------------------------------------------------------------------------------


def mended(rows: str, dice: str = "d100") -> Table:
    """A table of these rows in a text."""
    text = f"| {dice} | What happens |\n|---|---|\n{rows}"
    (table,) = tables_of(make("wand", text, type="equipment", kind="magic-item", name="Reed Wand"))
    return table


def test_a_row_that_holds_the_next_range_in_its_text_is_two_rows():
    table = mended("| 01-05 | The bell rings. 06-10 The tide turns. |\n| 11-00 | Fog rises. |")
    assert [(row.least, row.most, *row.cells) for row in table.rows] == [
        (1, 5, "The bell rings."),
        (6, 10, "The tide turns."),
        (11, 100, "Fog rises."),
    ]
    assert table.gaps == ""


@each_row(
    "cell",
    [
        "Lasts 6-10 hours.",
        "It sleeps. 6 goblins come.",
        "See below. 07-10 The tide.",
        "The bell rings. 06-12 The tide.",
    ],
)
def test_numbers_in_a_text_that_are_not_the_missing_range_separate_nothing(cell):
    table = mended(f"| 01-05 | {cell} |\n| 11-00 | Fog rises. |")
    assert len(table.rows) == 2
    assert table.gaps == "no row for 6–10"


@given(st.integers(0, 2**32))
def test_a_roll_never_gives_nothing_where_some_row_can_be_hit(seed):
    table = mended("| 1 | Bell |\n| 4-5 | Tide |", "d6")
    rolled = table.roll(Random(seed))
    assert rolled.text in ("Bell", "Tide")
    assert set(rolled.missed) <= {2, 3, 6}
    assert all(f"{number}" in rolled.line() for number in rolled.missed)
    assert ("missed" in rolled.content()) == bool(rolled.missed)
