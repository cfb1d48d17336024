"""The thesaurus: what books call what players say."""

from __future__ import annotations

from lorekeeper.folding import fold
from lorekeeper.text.keywords import content_words
from lorekeeper.text.thesaurus import LONGEST, THESAURUS, related_words
from tests.support.tables import each_row

LINES = [line.partition("\t") for line in THESAURUS.read_text("utf-8").splitlines()]


def test_every_line_has_everyday_words_and_those_of_books():
    assert len(LINES) > 1000
    for everyday, tab, books in LINES:
        assert tab, everyday
        for phrase in everyday.split("|"):
            assert fold(phrase) == phrase, phrase
            words = content_words(phrase)
            assert len(words) == 1 == len(phrase.split()) or 1 < len(words) <= LONGEST, phrase
        assert content_words(fold(books)) == books.split(), books
        assert 1 <= len(books.split()) <= 6, books


def test_no_phrase_is_there_twice_and_no_line_says_nothing():
    phrases = [phrase for everyday, _, _ in LINES for phrase in everyday.split("|")]
    assert len(phrases) == len(set(phrases))
    assert [everyday for everyday, _, books in LINES if books.split() == everyday.split("|")] == []


@each_row(
    ("question", "words"),
    [
        ("I want a parachute", {"feather", "falling"}),
        ("walkie-talkie", {"message"}),
        ("we are dying of thirst", {"water"}),
        ("he is bleeding out!", {"stabilize", "dying"}),
    ],
)
def test_everyday_words_lead_to_those_of_books(question, words):
    assert words <= set(related_words(content_words(fold(question))))
