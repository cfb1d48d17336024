"""Query expansion: the vocabulary of the game table is written out where it stands alone, and nothing else changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.search.expansion import expanded_keywords, expanded_text
from lorekeeper.text.keywords import MAX_WORDS, KeywordQuery
from tests.support.tables import each_row


def test_a_query_of_very_many_words_is_cut():
    words = [f"w{number}" for number in range(2 * MAX_WORDS)]
    assert expanded_keywords([" ".join([*words, "aoo"])]) == KeywordQuery(tuple(words[:MAX_WORDS]))
    few = expanded_keywords([" ".join(["aoo", "ko", *words[: MAX_WORDS - 3]])])
    assert few.alternatives == ("opportunity",)
    assert len(few.any) == MAX_WORDS


@each_row(
    ("text", "shares"),
    [
        ("goblin AC", {"armor": 1 / 2, "class": 1 / 2}),
        ("temp hp of a bear", {"temporary": 2 / 3, "hit": 2 / 3, "points": 2 / 3}),
        ("class and AC", {"armor": 1 / 2}),
        ("AC of armour", {"class": 1 / 2}),
        ("dmg of a mage", {"damage": 1.0}),
        ("an acrobat", {}),
    ],
)
def test_an_abbreviation_that_is_written_out_counts_as_much_as_it_does(text, shares):
    assert dict(expanded_keywords([text]).shares) == shares
    assert dict(expanded_keywords([text, "with a crown"]).shares) == shares


@given(st.text(max_size=60))
def test_the_query_itself_is_always_kept(text):
    assert expanded_text(text).startswith(text)
    assert expanded_keywords([text]).words == KeywordQuery.of(text).words
