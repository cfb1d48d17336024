"""Who may see a document: ownership, as worlds have it."""

from __future__ import annotations

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.normalize.foundry.documents import Document
from lorekeeper.normalize.foundry.values import Object, at, mapping, objects, text, whole

INHERIT, LIMITED, OBSERVER = -1, 1, 2
"""Levels of ownership: as the journal of a page, the name only, to read."""


def says_something(document: Document) -> bool:
    """Whether the ownership of a document means anything: it grants something, or is what a world says.

    Exports of worlds may leave it out, and everything in a compendium has the same defaults.
    """
    if document.in_pack:
        return False
    raw = document.raw
    owned = [mapping(raw, "ownership"), *(mapping(page, "ownership") for page in objects(raw, "pages"))]
    is_granted = any((whole(level) or 0) > 0 for each in owned for level in each.values())
    return is_granted or (is_from_world(document) and bool(owned[0]))


def is_from_world(document: Document) -> bool:
    """Whether a document is an export of a world."""
    raw = document.raw
    return bool(at(raw, "_stats.exportSource.worldId") or at(raw, "flags.exportSource.world"))


def is_unsaid(document: Document) -> bool:
    """Whether a journal of a world does not say who may read it."""
    return document.collection == "journal" and is_from_world(document) and not says_something(document)


def audience(raw: Object, *, within: Object | None = None) -> Audience:
    """Who may read a document, or a page within a journal."""
    ownership = mapping(raw, "ownership")
    if within is not None and (whole(ownership, "default") or 0) == INHERIT:
        ownership = {**mapping(within, "ownership"), **{k: v for k, v in ownership.items() if k != "default"}}
    if (whole(ownership, "default") or 0) >= OBSERVER:
        return PLAYERS
    users = tuple(
        sorted(text(key) for key, level in ownership.items() if key != "default" and (whole(level) or 0) >= OBSERVER)
    )
    return users or DM


def is_limited(raw: Object, within: Object) -> bool:
    """Whether players see the title of a page only."""
    ownership = mapping(raw, "ownership")
    default = whole(ownership, "default")
    default = whole(within.get("ownership"), "default") if default in (None, INHERIT) else default
    return default == LIMITED
