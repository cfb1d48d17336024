"""The table's vocabulary is written out where it stands alone, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import fold
from lorekeeper.text.vocabulary import ABBREVIATIONS, SPELLINGS, SYNONYMS, spelt_out, with_synonyms


@pytest.mark.parametrize("table", [ABBREVIATIONS, SPELLINGS, SYNONYMS])
def test_every_entry_is_folded_and_says_something_new(table):
    assert all(fold(word) == word and fold(full) == full != word for word, full in table.items())


def test_abbreviations_and_spellings_are_written_out_behind_the_question():
    assert spelt_out("what raises my AC?") == "what raises my AC? (armor class)"
    assert spelt_out("mage armour") == "mage armour (armor)"


def test_only_whole_words_count():
    assert spelt_out("an acrobat with a crown") == "an acrobat with a crown"


def test_synonyms_are_for_the_keyword_side_only():
    assert "wizard" in with_synonyms("a mage's tower spell for a mage")
    assert "wizard" not in spelt_out("a spell for a mage")


@given(st.text(max_size=60))
def test_the_question_itself_is_always_kept(text):
    assert spelt_out(text).startswith(text)
    assert with_synonyms(text).startswith(text)
