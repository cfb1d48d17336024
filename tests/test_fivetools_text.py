"""Texts of 5etools: inline tags, nested entries, tables and alignments."""

from __future__ import annotations

from lorekeeper.normalize.fivetools.entries import MAX_LEVELS, Writer, table_of
from lorekeeper.normalize.fivetools.tags import MAX_OPEN, Reader
from tests.support.tables import each_row, rows

# --- markup ------------------------------------------------------------------------------------------------------------


def test_names_have_no_emphasis_and_variables_have_their_values() -> None:
    assert Reader().plain("{@b Undertow} {@recharge 4}") == "Undertow (Recharge 4–6)"
    assert Reader({"bonus": "+1"}).prose("a {=bonus} bonus{=other}") == "a +1 bonus"


def test_nothing_is_lost_in_markup_that_is_nested_deeper_than_anybody_nests() -> None:
    depth = 50 * MAX_OPEN
    read = Reader().plain("{@b " * depth + "core" + "}" * depth)
    assert "core" in read
    assert len(read) < 10 * depth


# --- entries and tables --------------------------------------------------------------------------------------------------


def written(entries: object) -> str:
    return Writer(Reader()).markdown(entries)


def test_entries_become_paragraphs_lists_and_tables() -> None:
    entries = [
        "First.",
        {
            "type": "entries",
            "name": "Named",
            "entries": ["Second.", {"type": "list", "items": ["one", {"type": "item", "name": "Two", "entry": "2"}]}],
        },
        {"type": "table", "caption": "T", "colLabels": ["a", "b|c"], "rows": [["1", "2"], ["3"]]},
        {"type": "quote", "entries": ["Ring."], "by": "the Bell"},
        {"type": "abilityDc", "name": "Song", "attributes": ["wis", "cha"]},
        {"type": "image", "title": "a map"},
        {"type": "somethingNew", "stuff": ["inside"], "page": 4},
        42,
        None,
    ]
    assert written(entries).split("\n\n") == [
        "First.",
        "**Named.** Second.",
        "- one\n- **Two.** 2",
        "**T**",
        "| a | b\\|c |\n|---|---|\n| 1 | 2 |\n| 3 |  |",
        "> Ring.",
        "> — the Bell",
        "**Song save DC** = 8 + your proficiency bonus + your Wisdom or Charisma modifier",
        "inside",
        "42",
    ]


def test_entries_are_read_as_deep_as_is_safe_and_what_is_deeper_is_said_to_be_left_out() -> None:
    nested: object = "the bottom"
    for _ in range(MAX_LEVELS - 1):
        nested = {"type": "entries", "entries": [nested]}
    writer = Writer(Reader())
    assert (writer.markdown([nested]), writer.was_too_deep) == ("the bottom", False)
    assert (
        writer.markdown([{"type": "list", "items": [{"type": "entries", "entries": [nested]}]}]),
        writer.was_too_deep,
    ) == ("- ", True)


@each_row(
    ("label", "first_cells", "dice", "ranges"),
    rows("rolled_rows"),
)
def test_what_must_be_rolled_for_each_row_is_kept(
    label: str, first_cells: list[object], dice: str | None, ranges: object
) -> None:
    rows = [[cell, f"{{@b row}} {number}"] for number, cell in enumerate(first_cells)]
    table = table_of({"colLabels": [label, "What"], "rows": rows}, Writer(Reader()).line)
    assert (table.get("dice"), table.get("ranges")) == (dice, ranges)
    assert [row[1] for row in table["rows"]] == [f"**row** {number}" for number in range(len(rows))]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
