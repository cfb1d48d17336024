"""The language of a question: books in English are searched in English, and a question in another language finds little."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.languages import Language, languages, name_of
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.doubt import LARGE_LIBRARY
from lorekeeper.search.fusion import CAMPAIGN, NOTES
from lorekeeper.search.intent import ways
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.keywords import STOP_WORDS
from lorekeeper.text.sections import sections
from lorekeeper.words import listed_words

SHARED = 0.5
"""What a function word counts that English, or names, have too: "die", "la"; one alone shows a language if no entry has what is
beside it."""

PROOF = 2
"""Function words that show a language whatever the other words are; beside names alone, those that it shares count as well."""

UNKNOWN = 0.5
"""Share of the other words that no entry has from which on fewer function words do."""

LEADING = 5
"""How many of the first results are looked at for notes in the language of the question."""

NOTE_CHARS, NOTE_WORDS = 3000, 4
"""Characters of a note that are looked at, and function words of all notes that show their language: some have a line or two."""

MAX_NAMED = 3
"""Most names of entries that a note lists."""

OTHER = "another language"
"""The language of a question in letters that English has not, without a function word that is known."""

FOREIGN = "The books are in English; ask in English, or by the entry's name."

FOREIGN_BOOKS = "The books are in English; for what they say, ask in English."

FOREIGN_MEANT = "The books are in English; they were searched by meaning, and English wordings find more."

FOREIGN_NOTES = "No note is close to this query; ask in the language of the notes, or by a note's name."

FOREIGN_UNSURE = "None of these notes is a sure match; ask in the language of the notes, or by a note's name."

FOREIGN_NAMED = "Only {} is a sure match; for the rest, ask in the language of the notes."

IN_OTHER = "The nearest notes are in {0}: ask about them in {0}, or by their names."

OURS, MOST_NOTES = frozenset({"we", "us", "our", "ours"}), 3
"""Words of questions about a campaign; notes in another language, at most, that are shown below what the books have of one."""

_ENGLISH = STOP_WORDS - {"im"}
"""Words that show no other language on their own, since English sentences have them: "in", "no". "im" has an apostrophe."""


def _weight(language: Language, words: Sequence[str]) -> float:
    return sum(word in language.own for word in words) + SHARED * sum(word in language.shared for word in words)


def language_of(text: str, occurring: Collection[str], entries: int, proof: float = PROOF) -> str | None:
    """The language of a question, None for English or if nothing shows that it is another one.

    Args:
        text: the question.
        occurring: those of its content words that an entry has.
        entries: how many there are: in a small library, a word that no entry has says nothing.
        proof: what its function words count at least that show it by themselves.
    """
    if _is_name(text):
        return None
    plain = ways("ELIDED").sub(r"\1 ", text)
    words, names = fold(plain).split(), fold(" ".join(word for word in plain.split() if word[0].isupper())).split()
    language = max(languages(), key=lambda each: _weight(each, words))
    telling = [word for word in words if word in language.own | language.shared and word not in _ENGLISH]
    weight = _weight(language, telling)
    others = [word for word in words if word not in language.own | language.shared and not word.isdigit()]
    unknown = [word for word in others if word not in occurring and word not in STOP_WORDS]
    english = sum(word in STOP_WORDS for word in others)
    is_of_names = len(words) - len(others) >= PROOF and all(each in names for each in others)
    if weight > english and (weight >= proof or is_of_names):
        return language.name
    if entries < LARGE_LIBRARY:
        return None
    if weight > english and unknown and len(unknown) >= (UNKNOWN if weight > SHARED else 1) * len(others):
        return language.name
    is_foreign = any(char.isalpha() and not char.isascii() for char in text)
    return OTHER if is_foreign and others and len(unknown) == len(others) else None


def function_words(language: str) -> frozenset[str]:
    """The function words of a language that `language_of` gives, folded."""
    return next((each.own | each.shared for each in languages() if each.name == language), frozenset())


def telling(text: str) -> str:
    """A question without the function words of its language, which say nothing of what it asks; an English one as it is."""
    own = function_words(language_of(text, (), 0, proof=1) or "")
    return " ".join(word for word in fold(text).split() if word not in own) or text if own else text


@cache
def all_function_words() -> frozenset[str]:
    """Those of all languages that the table has."""
    return frozenset().union(*(each.own | each.shared for each in languages()))


def _is_name(text: str) -> bool:
    """Whether all words of a text but the particles of names begin with a capital, and there are such particles."""
    words = text.split()
    others = [word for word in words if fold(word) not in listed_words("name particle")]
    return 0 < len(others) < len(words) and all(word[0].isupper() for word in others)


def asks_of_notes(text: str, results: Sequence[Result]) -> bool:
    """Whether a question in English is about a campaign, and only books answer it: it reaches notes in other languages less."""
    return not OURS.isdisjoint(fold(text).split()) and not any(each.entity.type in CAMPAIGN for each in results)


def language_of_notes(notes: Iterable[Entity]) -> str | None:
    """The language of notes together; None if that is English, or nothing shows it."""
    return name_of(word for text in map(_told, notes) for word in fold(text).split())


def _told(note: Entity) -> str:
    return " ".join(section.text for section in sections(note))[:NOTE_CHARS]


def foreign_note(types: Sequence[str]) -> str:
    """What to say of a question in another language to which nothing was found."""
    return FOREIGN_NOTES if set(types) == {NOTES} else FOREIGN


def in_language(
    page: ResultPage, language: str, types: Sequence[str], *, understood: bool = False
) -> tuple[ResultPage, list[str]]:
    """A page that answers a question in another language, sure only of what the question names, and notes on it.

    A page with notes in that language keeps its order: they may answer the question. That the books do not is still said.

    Args:
        page: of results.
        language: of the question.
        types: that were searched.
        understood: whether the model that ranks by meaning knows more languages than English: then the page is as sure as others.
    """
    if understood:
        return page, [] if set(types) == {NOTES} else [FOREIGN_MEANT]
    if _answered_by_notes(language, page.results):
        return page, [] if set(types) == {NOTES} else [FOREIGN_BOOKS]
    surely = [result.match == "name" for result in page.results]
    results = [
        result if is_sure else replace(result, sure=False) for result, is_sure in zip(page.results, surely, strict=True)
    ]
    named = list(dict.fromkeys(result.entity.name for result in compress(results, surely)))[:MAX_NAMED]
    listed = ", ".join(one_line(name, MAX_SHOWN) for name in named)
    if set(types) == {NOTES}:
        return replace(page, results=results), [FOREIGN_NAMED.format(listed) if named else FOREIGN_UNSURE]
    shown = list(compress(results, surely))  # the rest is near by chance
    said = f"{FOREIGN} It names {listed}." if named else FOREIGN
    return replace(page, results=shown, total=len(shown), next_offset=None), [said]


def _answered_by_notes(language: str, results: Sequence[Result]) -> bool:
    """Whether notes in that language are among the first results: then not everything in the library is in English."""
    known = next((each for each in languages() if each.name == language), None)
    notes = [result.entity for result in results[:LEADING] if result.entity.type == NOTES]
    texts = map(_told, notes)
    if known is None:
        return any(sum(char.isalpha() and not char.isascii() for char in text) >= NOTE_WORDS for text in texts)
    return sum(word in known.own for text in texts for word in fold(text).split()) >= NOTE_WORDS
