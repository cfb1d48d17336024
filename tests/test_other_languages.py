"""Homebrew and notes in other languages: what is shown is the source's own spelling, and lengths are read."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import GAME_MASTER
from lorekeeper.library import Library
from lorekeeper.search.facets import facets
from lorekeeper.search.query_syntax import parse_query
from tests.support.commands import run_lorekeeper
from tests.support.libraries import open_library
from tests.support.tools import call

TROLL = {
    "collection": "creatures",
    "name": "Торфяной тролль",
    "type": "Большой великан",
    "alignment": "нейтрально-злой",
    "challenge_rating": 5,
    "languages": ["Общий", "Йоркский"],
    "speed": "30 фт., полёт 60 фт.",
    "desc": "Живёт в торфе.",
}
FIRE = {
    "collection": "creatures",
    "name": unicodedata.normalize("NFD", "Élémentaire de feu"),
    "type": unicodedata.normalize("NFD", "Élémentaire"),
    "alignment": "Neutre Mauvais",
    "challenge_rating": 5,
    "speed": "15 m, vol 18 m",
    "desc": "Il brûle.",
}
SPELL = {
    "collection": "spells",
    "name": "Nebelwand",
    "level": 1,
    "school": "Beschwörung",
    "classes": ["Wächter"],
    "desc": "Nebel.",
}
GOBLIN = {
    "collection": "creatures",
    "name": "Goblin",
    "type": "Humanoid",
    "size": "Small",
    "challenge_rating": 1,
    "desc": "Sly.",
}


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "own.json").write_text(json.dumps([TROLL, FIRE, SPELL, GOBLIN]), "utf-8")
    async with open_library(folder, backend="sqlite") as opened:
        await opened.import_paths([folder / "own.json"])
        yield opened


async def ask(library: Library, tool: str, **arguments: Any) -> str:
    answer = await call(library.view(GAME_MASTER), tool, **arguments)
    return str(answer.text)


in_module = pytest.mark.asyncio(loop_scope="module")


@in_module
@pytest.mark.parametrize(
    ("tool", "asked", "shown"),
    [
        ("search_lore", {"query": "тролль", "types": ["creatures"]}, "большой великан, нейтрально-злой"),
        ("lookup_creature", {"type": "большой великан"}, "большой великан, нейтрально-злой"),
        ("lookup_creature", {"where": "languages:йоркский"}, "общий, йоркский"),
        ("lookup_creature", {"type": "elementaire"}, ", neutre mauvais"),
        ("lookup_spell", {"class_key": "wachter"}, "**Classes** Wächter"),
        ("lookup_creature", {"name": "goblin", "limit": 5}, "humanoid"),
    ],
)
async def test_values_are_shown_as_their_source_spells_them(
    library: Library, tool: str, asked: dict[str, Any], shown: str
) -> None:
    text = await ask(library, tool, **asked)
    assert shown.casefold() in text.casefold()
    assert "большои" not in text
    assert "неитрально" not in text


def test_the_command_prints_no_folded_value(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps({**TROLL, "desc": "Зол."}), "utf-8")
    run_lorekeeper(tmp_path, "import", "own.json")
    done = run_lorekeeper(tmp_path, "search", "торфяной тролль")
    assert "большой великан · нейтрально-злой" in done.stdout
    assert "большои" not in done.stdout


@in_module
async def test_choices_of_a_page_are_labelled_so_and_chosen_by_what_is_compared(library: Library) -> None:
    searcher = library.view(GAME_MASTER).searcher
    found = await facets(searcher, parse_query("in:creatures", await searcher.documents.titled()))
    labels = {value.label for facet in found for value in facet.values}
    assert {"большой великан", "humanoid"} <= labels
    assert "большои великан" not in labels
