"""Links that show something else than where they lead: who does not see the target receives only the words that are shown."""

from __future__ import annotations

from pathlib import Path

from lorekeeper.audience import Viewer
from tests.support.tools import answer
from tests.support.vaults import vault_library, write

ANYBODY, ANA = Viewer.player(), Viewer.player("Ana")


STRANGER = """---
visibility: players
patron: "[[Azal the Lich|a friend]]"
---
# Mira

A hooded [[Azal the Lich|stranger]] pays. So does [another](../dm/Lady%20Vex.md), and [a third][3].

She knows [[Keep|the keep]], [[Keep#Under the lich's throne|its hall]] and [[Nowhere]].

![[Azal the Lich|a portrait]]

[3]: ../dm/Lady%20Vex.md
"""
NOTES = {
    "npcs/Mira.md": STRANGER,
    "npcs/Keep.md": "---\nvisibility: players\n---\n# Keep\n\nTowers above the reeds.\n",
    "dm/Azal the Lich.md": "# Azal the Lich\n\nHe sleeps below [[Mira]].\n",
    "dm/Lady Vex.md": "# Lady Vex\n\nShe leads the cult of [[Keep]].\n",
}


async def test_who_sees_the_target_follows_the_link(tmp_path: Path) -> None:
    notes = {**NOTES, "dm/Azal the Lich.md": "---\nvisibility: [Ana]\n---\n# Azal the Lich\n\nHe sleeps.\n"}
    notes = {path.replace("dm/", "crypt/"): text for path, text in notes.items()}
    async with vault_library(tmp_path, [write(tmp_path / "saga", notes)], "sqlite") as library:
        await library.vaults.sync()
        assert "npcs%2FMira.md" in await answer(library, ANA, "lookup_note", links_to="Azal the Lich")
        assert "npcs%2FMira.md" not in await answer(library, ANYBODY, "lookup_note", links_to="Azal the Lich")
        await library.view(ANA).refresh()
        (mira,) = await library.view(ANA).entities_at("notes", "saga", "npcs/Mira.md")
        written = " ".join(section["written"] for section in mira.data["sections"])
        assert "[[Azal the Lich|stranger]]" in written
        assert "Vex" not in written
