"""The parts of which dossiers are made: sentences, names, and the room that lines have."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.search.dossier.gather import Draft, packed
from lorekeeper.search.dossier.lines import Line, Quote
from lorekeeper.search.dossier.spans import Span, blocks, spans
from tests.support.marsh import HOLYA

# --- sentences -------------------------------------------------------------------------------------------------------


def sentences(text: str, mark: str = "") -> list[str]:
    return list(Span("", text, mark).sentences)


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
