"""The vocabulary of the game table: what makes its entries usable."""

from __future__ import annotations

from lorekeeper.folding import fold
from lorekeeper.text.vocabulary import ABBREVIATIONS, SPELLINGS
from tests.support.tables import each_row


@each_row("table", [ABBREVIATIONS, SPELLINGS])
def test_every_entry_is_folded_and_says_something_new(table):
    assert all(fold(word) == word and fold(full) == full != word for word, full in table.items())
