"""Names by stems and by corrected words."""

from __future__ import annotations

import pytest

from lorekeeper.text.names import SIMILAR, nearest
from lorekeeper.text.stems import corrected, names_of_stems, names_with_words

NAMES = ["grappling", "grappled", "goblin", "goblin boss", "dire wolf", "wolf", "elf drow", "adult red dragon", "harpy"]


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("grapple", ["grappling", "grappled"], []),
        ("goblins", ["goblin"], ["goblin boss"]),
        ("wolves", ["wolf"], ["dire wolf"]),
        ("elves", [], ["elf drow"]),
        ("harpies", ["harpy"], []),
        ("red dragons", [], ["adult red dragon"]),
        ("bosses of the goblins", ["goblin boss"], []),
        ("dragonfly", [], []),
        ("the", [], []),
        ("", [], []),
    ],
)
def test_names_with_the_same_stems(text, whole, parts):
    assert names_of_stems(text, NAMES) == (whole, parts)


def test_only_unknown_words_are_corrected():
    assert corrected("red dragn", NAMES) == "red dragon"
    assert corrected("dire wolf", NAMES) == "dire wolf"
    assert corrected("red qqqqq", NAMES) is None


def test_names_with_all_words_in_any_order():
    assert names_with_words("dragon red", NAMES) == ["adult red dragon"]
    assert names_with_words("red wolf", NAMES) == []


def test_the_nearest_names_are_those_of_the_greatest_similarity():
    assert [name for name, _ in nearest("goblni", NAMES)] == ["goblin"]
    assert nearest("beholder", NAMES) == []
    assert all(similarity >= SIMILAR for _, similarity in nearest("grapplng", NAMES))
