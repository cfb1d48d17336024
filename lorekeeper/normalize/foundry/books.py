"""The documents that entries belong to: a book, or a game system and its rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.foundry.values import Object, at, mapping, spaced, text

TITLES = {"dnd5e": "D&D 5e", "black-flag": "Black Flag"}

GAMES = {
    ("dnd5e", "2014"): {"name": "5th Edition 2014", "key": "5e-2014"},
    ("dnd5e", "2024"): {"name": "5th Edition 2024", "key": "5e-2024"},
    ("dnd5e", ""): {"name": "5th Edition", "key": "5e"},
    ("black-flag", ""): {"name": "Black Flag Roleplaying", "key": "black-flag"},
}
"""The game by system and rules, as Open5e names games."""

RULES = frozenset({"2014", "2024"})

_PAGE = re.compile(r"(?:,|(?<!\s))\s*(?:page|pages|pg\.?|p\.|pp\.)\s*[\d–-]{1,9}\.?$", re.IGNORECASE)
_PAGE_NUMBER = re.compile(r"(\d{1,4})\D{0,6}$")


@dataclass
class Book:
    """A document of the library that entries of an import belong to.

    Attributes:
        key, name: of the document.
        game: game system, ``{"name", "key"}``.
        licenses: those that its entries state.
    """

    key: str
    name: str
    game: dict[str, str]
    licenses: set[str] = field(default_factory=set)

    def data(self) -> dict[str, object]:
        """Its own entry, in the shape of Open5e."""
        found: dict[str, object] = {"key": self.key, "name": self.name, "gamesystem": self.game}
        return {**found, "licenses": [{"name": name} for name in sorted(self.licenses)]} if self.licenses else found


def rules_of(raw: Object, system: str) -> str:
    """The rules of a document: "2014", "2024", "" where it does not say."""
    said = text(raw, "system.source.rules")
    return said if system == "dnd5e" and said in RULES else ""


def book_of(raw: Object, system: str, rules: str) -> Book:
    """The book that a document names; else its game system and rules."""
    source = _source(raw)
    title = _PAGE.sub("", text(source, "book", "custom", "fallback")).strip()
    custom = text(source, "custom")
    name = custom if custom and title and len(title) <= 12 and not _PAGE.search(custom) else title
    game = GAMES.get((system, rules)) or GAMES[system, ""]
    key = "-".join(filter(None, (system, slugify(title) or rules)))
    shown = name or spaced(TITLES[system], rules)
    book = Book(key[:100].strip("-"), shown if name else f"{shown} (Foundry VTT)", dict(game))
    license_ = text(source, "license")
    book.licenses |= {license_} if license_ else set()
    return book


def page_of(raw: Object) -> str:
    """The page in its book that a document names, "" for none."""
    source = _source(raw)
    if text(source, "page"):
        return text(source, "page")
    match = _PAGE_NUMBER.search(text(source, "fallback")) if _PAGE.search(text(source, "fallback")) else None
    return match[1] if match else ""


def _source(raw: Object) -> Object:
    """What a document says about its source, a text or an object, in the place of its system."""
    for path in ("system.source", "system.details.source", "system.description.source"):
        found = at(raw, path)
        if isinstance(found, str) and found.strip():
            return {"custom": found}
        if mapping(found):
            return mapping(found)
    return {}
