"""A small campaign: notes of two folders, sessions, links and aliases, as they are in a library."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Sequence
from datetime import date

from lorekeeper.entities import Entity
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes.note import Link, Note, Section

VAULT, TITLE = "fens", "The Drowned Fens"

NOTES: Sequence[Note] = (
    Note(
        "World/Fens/Oda.md",
        "Oda Reedmother",
        kind="npc",
        aliases=("The Reed Witch",),
        tags=("npc/ally", "fens"),
        facts={"Role": "witch", "Favourite drink": "nettle tea"},
        sections=(
            Section("", "She lives in a hut of woven reeds and keeps promises for people."),
            Section("Deeds > In the war", "She held [the bridge](x) against the salt men for three nights."),
            Section("Secrets (GM only)", "She drowned once, and the marsh gave her back.", mark="Secrets (GM only)"),
        ),
        links=(
            Link("Tallow Bridge", shown="the bridge", section="Deeds > In the war"),
            Link("Nowhere", shown="Nowhere"),
        ),
    ),
    Note(
        "World/Tallow Bridge.md",
        "Tallow Bridge",
        kind="location",
        tags=("fens",),
        sections=(
            Section("", "A toll bridge of black timber."),
            Section("Toll", "Three candles for a cart, one for a rider. The ferryman Bors collects it."),
            Section("History", "The salt men burned it twice."),
        ),
    ),
    Note(
        "Sessions/Session 1.md",
        "The Broken Toll",
        kind="session",
        session=1,
        session_date=date(2026, 10, 2),
        sections=(Section("", "The party refused to pay the ferryman."), Section("Loot", "A silver candle snuffer.")),
        links=(Link("World/Tallow Bridge", shown="Tallow Bridge"),),
    ),
    Note("Sessions/Session 9.md", "Nine", kind="session", session=9, sections=(Section("", "They slept."),)),
    Note("Sessions/Session 10.md", "Ten", kind="session", session=10, sections=(Section("", "They woke."),)),
    Note("Ideas/Bors.md", "Bors", sections=(Section("", "A pirate captain with a wooden jaw, for another campaign."),)),
    Note("People/Bors.md", "Bors", kind="npc", tags=("npc",), sections=(Section("", "He collects the toll."),)),
)

PATHS = {"Tallow Bridge": "World/Tallow Bridge.md", "World/Tallow Bridge": "World/Tallow Bridge.md"}

FIRST_DAY = timegm(date(2026, 11, 1).timetuple())
"""When the first note was changed; each of the others was a day later."""


def campaign() -> list[Entity]:
    """The notes as entities."""
    return [
        note_entity(note, VAULT, TITLE, FIRST_DAY + number * 86_400 + 3_600, PATHS.get)
        for number, note in enumerate(NOTES)
    ]
