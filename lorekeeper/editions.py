"""Editions: which game a document belongs to, and in which order the documents of a reader's own edition come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lorekeeper.entities import MAX_KEY_LENGTH
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.printable import has_controls, shown

LABELS = {"2014": "2014", "2024": "2024", "a5e": "A5E", "black-flag": "Black Flag"}
"""The editions that have a code, and how texts name them."""

GAME_SYSTEMS = {
    "5th edition 2014": "2014",
    "5e 2014": "2014",
    "5th edition 2024": "2024",
    "5e 2024": "2024",
    "advanced 5th edition": "a5e",
    "level up advanced 5th edition": "a5e",
    "a5e": "a5e",
    "black flag": "black-flag",
    "black flag roleplaying": "black-flag",
    "tales of the valiant": "black-flag",
}
"""The edition of each game system, by its folded name or key."""

DOCUMENTS = {
    "srd-2014": "2014",
    "srd": "2014",
    "wotc-srd": "2014",
    "srd-2024": "2024",
    "lorekeeper-rules-2024": "2024",
    "a5e": "a5e",
    "menagerie": "a5e",
    "bfrd": "black-flag",
    "blackflag": "black-flag",
}
"""The edition of documents whose source names another game system (Open5e files bfrd under 2014), or none."""

TWINS = (("srd-2014", "wotc-srd"),)
"""Documents that are parts of one book: Open5e files the rules of the SRD of 2014 apart from its spells, creatures and items."""

COMPLETED_BY = {"srd-2024": "lorekeeper-rules-2024"}
"""The document that ships with what a book's own document lacks: the rules glossary of 2024. Whoever searches the book searches it
too; whoever asks for it by its own key gets it alone."""

GLOSSARIES = frozenset({"rules glossary"})
"""Folded chapters of books that define the terms of all chapters."""

SUCCESSORS = {"lorekeeper-starter": "srd-2014", "lorekeeper-starter-2024": "srd-2024"}
"""Documents that libraries of earlier releases began with, and what has their entries now, in whole."""

REFERENCES = ("srd-2024", "srd-2014", "srd", "wotc-srd")
"""The system reference documents of the two main editions, which other books build on, in order of preference."""

ORDER = ("lorekeeper-rules-2024", *REFERENCES)
"""The references with the rules of 2024 in our own words, which come first: they are the short form of what the book says."""

MAIN = ("2014", "2024")
"""The editions that most third-party books are written for; the others are games of their own."""


@dataclass(frozen=True)
class Book:
    """A document as far as its place among others depends on it.

    Attributes:
        key: of the document.
        edition: its code, as `edition_of` gives it.
        published: date of publication as ISO text, "" if unknown.
    """

    key: str
    edition: str = ""
    published: str = ""


def parts_of(key: str) -> tuple[str, ...]:
    """The documents that are one book with a document, itself among them."""
    return next((twins for twins in TWINS if key in twins), (key,))


def with_twins(keys: Iterable[str]) -> list[str]:
    """Keys of documents, each with the other parts of its book and what completes it behind it, once."""
    books = ((key, *parts_of(key), COMPLETED_BY.get(key, key)) for key in keys)
    return list(dict.fromkeys(key for book in books for key in book))


def edition_of(document_key: str, game_system: str | None) -> str:
    """The code of a document's edition; the folded name of a game system without a code, "" if neither is known."""
    if document_key in DOCUMENTS:
        return DOCUMENTS[document_key]
    system = fold(game_system) if game_system else ""
    return GAME_SYSTEMS.get(system, system)


def edition_label(code: str) -> str:
    """How texts name an edition: "A5E" for "a5e", "Black Flag" for "black-flag"; a game system by its name."""
    return LABELS.get(code, code)


def parse_edition(text: str) -> tuple[str, ...]:
    """The editions and documents of a text such as "2014", "A5E" or "my-house-rules, 2024", in order, each once.

    Raises:
        FilterError: a part is neither an edition nor what can be the key of a document.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise FilterError(f"an edition is {ACCEPTED}, not {shown(text)}")
    return tuple(dict.fromkeys(map(_preferred, parts)))


ACCEPTED = f"{', '.join(LABELS)}, or a list of them and of document keys, for example my-house-rules,2014"
"""What names an edition, for messages."""


def _preferred(part: str) -> str:
    """The code of an edition, by any of its names; else the key of a document, which has a letter and no spaces."""
    folded = fold(part)
    code = GAME_SYSTEMS.get(folded, folded.replace(" ", "-"))
    if code in LABELS:
        return code
    is_key = any(c.isalpha() for c in part) and not any(c.isspace() for c in part) and not has_controls(part)
    if not is_key or len(part) > MAX_KEY_LENGTH:
        raise FilterError(f"unknown edition {shown(part)}; known: {ACCEPTED}")
    return part


def in_order(books: Iterable[Book], wanted: Sequence[str]) -> list[str]:
    """Keys of documents, the preferred ones first.

    First come those that are wanted, by key or by edition, in that order; then the system reference documents, further
    books of the two main editions, and those of other games. Within each of these groups a reference comes before other
    books, and a newer book before an older one.
    """
    wanted = with_twins(wanted)
    newest_first = sorted(sorted(books, key=lambda book: book.key), key=lambda book: book.published, reverse=True)
    return [book.key for book in sorted(newest_first, key=lambda book: _place(book, wanted))]


def _place(book: Book, wanted: Sequence[str]) -> tuple[int, int, bool]:
    position = _position((book.key, book.edition), wanted)
    reference = ORDER.index(book.key) if book.key in ORDER else len(ORDER)
    return position, reference, book.edition not in MAIN


def _position(names: Sequence[str], wanted: Sequence[str]) -> int:
    return next((place for place, name in enumerate(wanted) if name in names), len(wanted))
