"""A small vault as entities: people, places and sessions of a marsh town, its notes written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.filters import clean_fields

VAULT = "marsh"


def note(
    path: str,
    name: str,
    kind: str = "note",
    sections: Mapping[str, str] | Sequence[tuple[str, str] | tuple[str, str, str]] = (),
    *,
    aliases: Sequence[str] = (),
    facts: Mapping[str, str] | None = None,
    links: Sequence[tuple[str, str, str]] = (),
    document: str = VAULT,
    **fields: Any,
) -> Entity:
    """A note as a vault gives it; links are (path, what is shown, heading), sections (heading, text, mark)."""
    parts = [(*part, "")[:3] for part in (sections.items() if isinstance(sections, Mapping) else sections)]
    data = {
        "path": path,
        "aliases": list(aliases),
        "facts": dict(facts or {}),
        "sections": [
            {"name": head, "desc": text, **({"mark": mark, "audience": "dm"} if mark else {})}
            for head, text, mark in parts
        ],
        "links": [{"to": to, "target": text, "text": text, "heading": heading} for to, text, heading in links],
    }
    values = clean_fields(
        "notes", {"links": [to for to, _, _ in links] or None, "aliases": list(aliases) or None, **fields}
    )
    return Entity("notes", path, name, kind, document, "vault", data, values, "The Marsh")


HOLYA = note(
    "People/Holya.md",
    "Holya Reedmother",
    "npc",
    [
        ("", "Holya keeps the fire of Eelgate burning. She trusts nobody from the capital."),
        ("Basics", "| Role | Townmaster. Elected twice |\n|---|---|\n| Home | The Stilt House |"),
        ("Goals", "She wants Captain Orsolo Vane gone before winter, and she has asked Brandt for help."),
        (
            "Secrets (GM only)",
            "She let the pyre die. Her brother wears the mask of the Drowned King.",
            "Secrets (GM only)",
        ),
    ],
    aliases=["The Reedmother", "Old Hol"],
    facts={"Role": "townmaster", "Race": "half-elf"},
    links=[("Places/Eelgate.md", "Eelgate", "")],
    modified="2026-11-01",
)

NOTES = [
    HOLYA,
    note(
        "Places/Eelgate.md",
        "Eelgate",
        "location",
        {"": "A town on stilts above the brown water.", "Rulers": "Holya decides here, whatever the council says."},
        links=[("People/Holya.md", "Holya", "Rulers")],
        modified="2026-11-02",
    ),
    note(
        "People/Orsolo Vane.md",
        "Captain Orsolo Vane",
        "npc",
        {"": "He buys eels and rumours. Two goblins row his boat, and a Will-o'-Wisp lights it."},
        modified="2026-10-02",
    ),
    note("People/Brandt.md", "Brandt", "npc", {"": "A ferryman who owes the Reedmother his life, and says so."}),
    note(
        "Places/The Stilt House.md", "The Stilt House", "location", {"": "It creaks. Nobody sleeps on the upper floor."}
    ),
    note("People/Ash.md", "Ash", "npc", {"": "A girl who sells reeds."}),
    note(
        "Sessions/03.md",
        "The Dying Pyre",
        "session",
        {
            "What Happens > At the gate": "The party reached Eelgate at dusk. Old Hol's guards let them in. It rained.",
            "What Happens > The bargain": "Then Holya offered them forty silver for the captain's ledger. They agreed.",
        },
        session=3,
        session_date="2026-10-20",
        modified="2026-11-09",
    ),
    note(
        "Sessions/04.md",
        "Ledger and Ashes",
        "session",
        {"Recap": "They brought the Reedmother the ledger. She burnt it unread, and there was ash everywhere."},
        session=4,
        session_date="2026-11-03",
        modified="2026-11-04",
    ),
    note(
        "Sessions/05.md",
        "The Mask",
        "session",
        {"Recap": "Nobody has seen Vane since Holya spoke at the pyre."},
        session=5,
    ),
    note("Sessions/02.md", "Arrival", "session", {"Recap": "Eels for breakfast, again. The ferryman sang."}, session=2),
    note("Index.md", "Index", "note", {"": "People, places, sessions."}),
]
"""Its notes."""
