"""The documents that entries belong to, a book, or a game system and its rules; and who may see an entry."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.foundry.documents import Document
from lorekeeper.normalize.foundry.values import Data, Object, at, mapping, spaced, text, whole, word

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

    def data(self) -> Data:
        """Its own entry, in the shape of Open5e."""
        found: Data = {"key": self.key, "name": self.name, "gamesystem": self.game}
        return {**found, "licenses": [{"name": name} for name in sorted(self.licenses)]} if self.licenses else found


def rules_of(raw: Object, system: str) -> str:
    """The rules of a document: "2014", "2024", "" where it does not say."""
    said = text(raw, "system.source.rules")
    return said if system == "dnd5e" and said in RULES else ""


def book_of(raw: Object, system: str, rules: str) -> Book:
    """The book that a document names; else its game system and rules."""
    source = _source(raw)
    custom, license_ = text(source, "custom"), text(source, "license")
    title = _PAGE.sub("", text(source, "book", "custom", "fallback")).strip()
    name = custom if custom and title and len(title) <= 12 and not _PAGE.search(custom) else title
    games = word["games"]
    key = "-".join(filter(None, (system, slugify(title) or rules)))
    shown = name or f"{spaced(word('titles', system), rules)} (Foundry VTT)"
    game = games.get(f"{system} {rules}") or games[f"{system} "]
    return Book(key[:100].strip("-"), shown, dict(game), {license_} if license_ else set())


def page_of(raw: Object) -> str:
    """The page in its book that a document names, "" for none."""
    source = _source(raw)
    fallback = text(source, "fallback")
    match = _PAGE_NUMBER.search(fallback) if _PAGE.search(fallback) else None
    return text(source, "page") or (match[1] if match else "")


def _source(raw: Object) -> Object:
    """What a document says about its source, a text or an object, in the place of its system."""
    for path in ("system.source", "system.details.source", "system.description.source"):
        found = at(raw, path)
        if isinstance(found, str) and found.strip():
            return {"custom": found}
        if mapping(found):
            return mapping(found)
    return {}


# --- ownership, as worlds have it --------------------------------------------------------------------------------------

INHERIT, LIMITED, OBSERVER = -1, 1, 2
"""Levels of ownership: as the journal of a page, the name only, to read."""


def says_something(document: Document) -> bool:
    """Whether the ownership of a document means anything: it grants something, or is what a world says.

    Exports of worlds may leave it out, and everything in a compendium has the same defaults.
    """
    owned = [mapping(each, "ownership") for each in (document.raw, *document.pages)]
    is_granted = any((whole(level) or 0) > 0 for each in owned for level in each.values())
    return not document.in_pack and (is_granted or (is_from_world(document) and bool(owned[0])))


def is_from_world(document: Document) -> bool:
    """Whether a document is an export of a world."""
    return bool(at(document.raw, "_stats.exportSource.worldId") or at(document.raw, "flags.exportSource.world"))


def is_unsaid(document: Document) -> bool:
    """Whether a journal of a world does not say who may read it."""
    return document.collection == "journal" and is_from_world(document) and not says_something(document)


def audience(raw: Object, *, within: Object | None = None) -> Audience:
    """Who may read a document, or a page within a journal."""
    ownership = mapping(raw, "ownership")
    if within is not None and (whole(ownership, "default") or 0) == INHERIT:
        ownership = {**mapping(within, "ownership"), **{k: v for k, v in ownership.items() if k != "default"}}
    readers = sorted(text(key) for key, level in ownership.items() if (whole(level) or 0) >= OBSERVER)
    return PLAYERS if "default" in readers else tuple(readers) or DM


def is_limited(raw: Object, within: Object) -> bool:
    """Whether players see the title of a page only."""
    default = whole(raw, "ownership.default")
    return (whole(within, "ownership.default") if default in (None, INHERIT) else default) == LIMITED
