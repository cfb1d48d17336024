"""Homebrew and notes in other languages: what is shown is the source's own spelling, and lengths are read."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import GAME_MASTER
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.notes import read_note
from lorekeeper.search.facets import facets
from lorekeeper.search.query_syntax import parse_query
from lorekeeper.server.tools import all_tools
from tests.support.commands import run_lorekeeper
from tests.support.libraries import open_library
from tests.support.tables import each_row

TOOLS = {tool.name: tool for tool in all_tools()}

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
    answer = await TOOLS[tool].run(library.view(GAME_MASTER), TOOLS[tool].check(arguments))
    return str(answer.text)


in_module = pytest.mark.asyncio(loop_scope="module")


@in_module
@pytest.mark.parametrize(
    ("tool", "asked", "shown"),
    [
        ("search_lore", {"query": "тролль", "types": ["creatures"]}, "CR 5 · большой великан · нейтрально-злой"),
        ("lookup_creature", {"type": "большой великан"}, "CR 5 · большой великан · нейтрально-злой"),
        ("lookup_creature", {"where": "languages:йоркский"}, "общий, йоркский"),
        ("lookup_creature", {"type": "elementaire"}, "CR 5 · élémentaire · neutre mauvais"),
        ("lookup_spell", {"class_key": "wachter"}, "level 1 beschwörung · wächter"),
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


def speeds(text: str) -> dict[str, object]:
    note = read_note(
        "Bog.md", f"```statblock\nname: Bog\nac: 12\nhp: 9\nspeed: {text}\nstats: [10, 10, 10, 10, 10, 10]\n```\n"
    )
    (made,) = creatures_of(note, "vale", "The Vale", lambda _: None).entities
    return {name: value for name, value in made.fields.items() if name.startswith("speed_")}


@each_row(
    ("text", "feet"),
    [
        ("30 фт.", 30),
        ("20 футов (4 клетки)", 20),
        ("30 футів, політ 60 футів", 30),
        ("9 m, Fliegen 18 m", 30),
        ("7,5 mètres", 25),
        ("30 Fuß", 30),
        ("30フィート、飛行60フィート", 30),
        ("30尺", 30),
        ("6 squares", 30),
        ("30 ft., fly 60 ft.", 30),
    ],
)
def test_a_speed_is_read_in_the_units_of_translations(text: str, feet: int) -> None:
    found = speeds(text)
    assert found["speed_walk"] == feet
    assert found.keys() == ({"speed_walk", "speed_fly"} if "fly" in text else {"speed_walk"})


@pytest.mark.parametrize(("text", "feet"), [("120 футов", 120), ("18 m", 60), ("1 миля", 5280), ("1.5 km", 5000)])
def test_the_range_of_a_spell_too(tmp_path: Path, text: str, feet: int) -> None:
    spell = f"<name>Туман</name><level>1</level><school>EV</school><range>{text}</range><text>Туман.</text>"
    (tmp_path / "own.xml").write_text(f"<compendium><spell>{spell}</spell></compendium>", "utf-8")
    ((made, _),) = (
        each for each in Reader([tmp_path / "own.xml"], None, ImportReport()).read() if each.entity.type == "spells"
    )
    assert made.fields["range"] == feet
