"""JSON formats of other programs that are not read: what they are called, and what to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ForeignFormat:
    """A format that is recognised only to be named.

    Attributes:
        name: for messages.
        keys: an object that has all of them is of this format.
        advice: what to do.
    """

    name: str
    keys: frozenset[str]
    advice: str


def _format(name: str, keys: str, advice: str) -> ForeignFormat:
    return ForeignFormat(name, frozenset(keys.split()), advice)


_AS_A_NOTE = (
    "put it into a note of a vault as a stat block (see 'lorekeeper vault'), or write it in LoreKeeper's own JSON"
)

FORMATS = (
    _format("5e-database (the D&D 5e API)", "index name url", "'lorekeeper sync open5e' gets the same rules"),
    _format("CritterDB", "name stats flavor", _AS_A_NOTE),
    _format("Improved Initiative", "Name HP AC Abilities", _AS_A_NOTE),
    _format("Tetra-cube's stat block generator", "name armorName shieldBonus", _AS_A_NOTE),
    _format("a character of Roll20", "schema_version attribs", _AS_A_NOTE),
    _format(
        "an entry of 5etools without its file",
        "name source entries",
        'put it into a list under its kind: {"_meta": {"sources": []}, "spell": [...]}',
    ),
    _format(
        "an entry of 5etools without its file",
        "name source page",
        'put it into a list under its kind: {"_meta": {"sources": []}, "monster": [...]}',
    ),
)
"""Formats that people have at hand, the first one that matches counts."""


def format_of(obj: Mapping[str, object]) -> ForeignFormat | None:
    """The format of an object, None if it is not known."""
    return next((known for known in FORMATS if known.keys <= obj.keys()), None)
