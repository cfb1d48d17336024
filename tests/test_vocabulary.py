"""The vocabulary of the game table: what makes its entries usable."""

from __future__ import annotations

import pytest

from lorekeeper.folding import fold
from lorekeeper.text.vocabulary import ABBREVIATIONS, SPELLINGS


@pytest.mark.parametrize("table", [ABBREVIATIONS, SPELLINGS])
def test_every_entry_is_folded_and_says_something_new(table):
    assert all(fold(word) == word and fold(full) == full != word for word, full in table.items())
