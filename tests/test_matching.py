"""Which words of a query a text has: the quick looks find what taking the text apart finds."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.folding import words_apart
from lorekeeper.text.matching import occurring, possible, word_stems

WORDS = st.sampled_from(
    "there thereafter something sometimes fire fires fiery 12 12th Élan don't b-movie half_elf".split()
)
TEXTS = st.lists(st.sampled_from([" ", ". ", ", ", "\n", "—"]).flatmap(lambda gap: WORDS.map(lambda word: word + gap)))
PROSE = TEXTS.map("".join)


@given(PROSE, PROSE)
def test_stems_occur_that_the_words_of_a_text_have(query, text):
    wanted = word_stems(query)
    assert occurring(wanted, text) == [stem for stem in wanted if stem in word_stems(text)]


@given(PROSE, PROSE)
def test_what_occurs_is_possible(text, query):
    wanted = word_stems(query)
    assert set(occurring(wanted, text)) <= set(possible(wanted, text))


@given(st.text(max_size=60) | st.text(st.sampled_from("aB1_ '’“—🔍é́ßϊйſİͺ½"), max_size=20))
def test_words_are_those_that_the_whole_text_has_without_case_and_accents(text):
    decomposed = unicodedata.normalize("NFKD", text.replace("'", "").replace("’", "").casefold())
    plain = "".join(character for character in decomposed if not unicodedata.combining(character)).casefold()
    assert words_apart(text).split() == re.findall(r"[^\W_]+", plain)
