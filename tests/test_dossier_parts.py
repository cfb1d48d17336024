"""The parts of which dossiers are made: sentences, names, and the room that lines have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.search.dossier.gather import Draft, packed
from lorekeeper.search.dossier.lines import Line, Quote
from lorekeeper.search.dossier.names import Called, Lexicon, short_names
from lorekeeper.search.dossier.relations import newest_first
from lorekeeper.search.dossier.spans import Span, blocks, spans
from tests.support.marsh import HOLYA, note

# --- sentences -------------------------------------------------------------------------------------------------------


def sentences(text: str, mark: str = "") -> list[str]:
    return list(Span("", text, mark).sentences)


def test_sentences_rows_and_items_are_whole_whatever_they_contain():
    assert sentences("One. Two!\nstill two\n\n- Item one\n  goes on. Item two") == [
        "One.",
        "Two! still two",
        "Item one goes on.",
        "Item two",
    ]
    assert sentences("| **Who** | What |\n|---|---|\n| Lt. Ash | Slept. Woke. |") == [
        "Who: What",
        "Lt. Ash: Slept. Woke.",
    ]
    assert sentences("Lt. Ashford met St. Cuthbert. *He* said “Go.” Then __she__ left.") == [
        "Lt. Ashford met St. Cuthbert.",
        "He said “Go.”",
        "Then she left.",
    ]


def test_tables_and_lists_are_quoted_as_such_also_within_a_secret():
    text = "Wares:\n\n> | Item | Price |\n> |---|--:|\n> | Ring | 2 gp |\n\n1. Go in. Look.\n- [x] Pay\n\nHe waits. She too."
    written = [
        "Wares:",
        "| Item | Price |",
        "|---|---|",
        "| Ring | 2 gp |",
        "1. Go in. Look.",
        "- [x] Pay",
        "He waits. She too.",
    ]
    for mark in ("", "GM"):
        found = blocks(Span("", text, mark).sentences)
        assert [line for block in found for line in block.lines] == written
    (facts,) = blocks(["npc", "Race: elf"])
    assert facts.lines == ["npc · Race: elf"]


def test_a_secret_stretch_is_one_piece_and_keeps_its_mark():
    assert sentences("She did it. Nobody knows.", "> [!dm]") == ["She did it. Nobody knows."]
    assert [part.mark for part in spans(HOLYA)] == ["", "", "", "Secrets (GM only)"]


def test_a_secret_that_does_not_fit_is_left_out_whole():
    secret = Quote(["It is very long. " * 40], "Secrets", "GM")
    plain = Quote(["It is short."], "Open")
    lines = [Line(HOLYA, "about", [quote]) for quote in (secret, plain)]
    (part,) = packed([Draft("About", lines, 1.0)], 10, 700)
    assert ([line.quote.text for line in part.lines], part.left_out) == (["It is short."], 1)


@given(
    st.lists(st.lists(st.integers(1, 300), max_size=8), min_size=1, max_size=4), st.integers(0, 6000), st.integers(1, 9)
)
def test_whatever_the_lines_the_room_is_kept_and_every_line_counted(lengths, room, limit):
    drafts = [
        Draft(
            str(place),
            [Line(HOLYA, "about", [Quote([f"{place} {n} {'x' * length}"])]) for n, length in enumerate(row)],
            0.3,
        )
        for place, row in enumerate(lengths)
    ]
    parts = packed(drafts, limit, room)
    counted = {part.title: len(part.lines) + part.left_out for part in parts}
    assert counted == {str(place): len(row) for place, row in enumerate(lengths) if row}
    assert all(len(part.lines) <= limit for part in parts)
    assert sum(len(json.dumps(line.content(), ensure_ascii=False)) + 2 for part in parts for line in part.lines) <= room


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("They went to the Stilt House at dawn.", ["the stilt house"]),
        ("Holya's guards saw Mire’s End.", ["holya", "mires end"]),
        ("Nine-Fingers Keene, and Keene again.", ["nine fingers keene", "keene"]),
        ("Holyaland is not meant, nor Al.", []),
        ("ÉLODIE came.", ["elodie"]),
    ],
)
def test_names_are_found_as_whole_words_the_longest_first(text, found):
    known = {"the stilt house", "holya", "mires end", "nine fingers keene", "keene", "al", "elodie"}
    assert [mention.name for mention in Lexicon(known).mentions(text)] == found


def test_a_single_word_is_a_name_only_with_a_capital():
    called = Called(frozenset({"ash", "the pyre"}), frozenset({"vane"}))
    assert [called.count(text) for text in ("Ash fell.", "The ash fell.", "the pyre", "a vane", "Vane")] == [
        1,
        0,
        1,
        0,
        1,
    ]


def test_short_names_are_those_that_nobody_else_has():
    others = ["moira cole", "the ashford inn"]
    assert short_names("Lieutenant Moira Dunmore", others) == {"dunmore"}
    assert short_names("Moira Ashford", others) == frozenset()
    assert short_names("Holya", others) == frozenset()


# --- dates ---


def test_notes_without_dates_stand_behind_the_session_before_them():
    first, third = (note(f"{n}.md", str(n), "session", session=n, session_date=f"2026-0{n}-02") for n in (1, 3))
    second, fourth = (note(f"{n}.md", str(n), "session", session=n) for n in (2, 4))
    undated = note("x.md", "undated", "session", modified="2026-12-31")
    ordered = newest_first([first, undated, second, fourth, third])
    assert [each.name for each in ordered] == ["4", "3", "2", "1", "undated"]
    stated = note("s.md", "stated", "session", dated="2026-02-20", modified="2026-01-01")
    late, early = (
        note(f"{y}.md", str(y), "session", world_date=y * 10_000, modified=f"2026-0{m}-01")
        for y, m in ((1492, 1), (1491, 9))
    )
    ordered = newest_first([early, third, late, stated, first])
    assert [each.name for each in ordered] == ["3", "stated", "1", "1492", "1491"]
