"""What players see: nothing that is kept from them, and all else as if that had never been written."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lorekeeper.audience import PLAYERS, Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.server import resources
from lorekeeper.server.tools import all_tools
from lorekeeper.settings import Settings
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.shares import SharesFile
from lorekeeper.views.view import View
from tests.support.backends import BACKENDS, MARKS
from tests.support.entities import make
from tests.support.secret_vaults import NAMES, NOUNS, secret_vault
from tests.support.vaults import open_marked

ANYBODY, ANA = Viewer.player(), Viewer.player("ana")
TOOLS = {tool.name: tool for tool in all_tools()}


@asynccontextmanager
async def library_of(
    settings: Settings, folder: Path, vault: Path, homebrew: Sequence[Entity]
) -> AsyncIterator[Library]:
    """A library of a vault and some homebrew, in a folder of its own."""
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    registry = Registry(folder / "library.vaults", [vault], settings.library_path)
    library = Library(
        open_cache(settings, embedding),
        embedding,
        offline=True,
        vaults=registry,
        views=folder / "library.views",
        shares=SharesFile(folder / "library.shares"),
    )
    async with library:
        for entity_type in ("spells", "characters"):
            await library.cache.store_entities([e for e in homebrew if e.type == entity_type], entity_type)
        await open_marked(library)
        yield library


def homebrew(random: Random, viewer: Viewer) -> tuple[list[Entity], list[Entity]]:
    """Random spells and characters, some of them secret, and what the viewer sees of them, as if nothing were said of who does."""
    spells, seen = [], []
    for number in range(12):
        audience = random.choice((None, ("dm",), (PLAYERS,), ("ana", "bo")))
        name, text = (
            f"{random.choice(NOUNS).title()} Ward {number}",
            f"A {random.choice(NOUNS)} and a {random.choice(NOUNS)}.",
        )
        spell = make(f"s{number}", text, name=name, level=number % 4, school=random.choice(("Illusion", "Conjuration")))
        spells.append(spell if audience is None else replace(spell, fields={**spell.fields, "audience": audience}))
        if audience is None or any(who == PLAYERS or who in viewer.names for who in audience):
            seen.append(spell)
    characters = [character(random, number) for number in range(5)]
    for each in characters:
        people = each.fields.get("audience")
        if not isinstance(people, tuple) or not viewer.names.isdisjoint(people):
            seen.append(replace(each, fields={n: value for n, value in each.fields.items() if n != "audience"}))
    return [*spells, *characters], seen


def character(random: Random, number: int) -> Entity:
    """A character of somebody, its player's own or shared with all."""
    (made,) = normalize(
        {
            "collection": "characters",
            "kind": "character",
            "name": f"{random.choice(NAMES)} {number}",
            "document": "own",
            "player": random.choice(("Ana", "Bo", "Cem")),
            "level": number + 1,
            "prepared": [f"{random.choice(NOUNS)} ward 3"],
            "languages": [random.choice(("elvish", "orc"))],
            **random.choice(({}, {}, {"audience": "players"}, {"audience": "dm"})),
        }
    )
    return made


def calls(random: Random) -> list[tuple[str, dict[str, Any]]]:
    """Random calls of every tool."""
    what, who = random.choice(NOUNS), random.choice(NAMES)
    asked = [f"who {what}s the {random.choice(NOUNS)}", f"{who} and the {what}", who.lower()[:-1] + "x"]
    return [
        ("search_lore", {"query": random.choice(asked), "limit": 20}),
        ("search_lore", {"query": [what, who], "limit": 5, "offset": 3}),
        ("lookup_note", {"semantic_query": random.choice(asked), "limit": 20}),
        ("lookup_note", {"name": who, "detail": "full"}),
        ("lookup_note", {"tags": ["npc"], "order": "name", "limit": 50}),
        ("lookup_note", {"links_to": who, "limit": 50}),
        ("lookup_note", {"links_to": f"{who[:-1]}x"}),
        ("lookup_note", {"links_to": random.choice(("a stranger", "the other", f"gm only/{who}"))}),
        ("lookup_note", {"where": f'links:"{who.lower()}"'}),
        ("lookup_note", {"order": "newest", "limit": 50}),
        ("lookup_note", {"folder": "npcs", "semantic_query": what}),
        ("lookup_note", {"similar_to": f"lore://notes/saga/npcs%2F{who}.md"}),
        ("lookup_spell", {"semantic_query": f"a {what}", "limit": 20}),
        ("lookup_spell", {"name": f"{what} ward", "level_max": 2}),
        ("lookup_creature", {"semantic_query": f"a {what}", "limit": 20}),
        ("lookup_character", {"semantic_query": f"{who} of the {what}", "limit": 20}),
        ("lookup_character", {"where": "languages:elvish", "order": "level desc", "limit": 20}),
        ("lookup_character", {"player": random.choice(("ana", "bo")), "detail": "full"}),
        ("search_lore", {"query": f"what can {who} prepare", "limit": 5}),
        ("get_entity", {"uri": f"lore://characters/own/{who.lower()}-3"}),
        ("plan_encounter", {"party": "the table", "monsters": [f"2 {what} beast"]}),
        ("lookup_creature", {"name": f"{what} beast", "detail": "full"}),
        ("lookup_creature", {"order": "name", "limit": 50}),
        ("lookup_rule", {"semantic_query": f"a {what}", "limit": 20}),
        ("lookup_rule", {"kind": "table", "order": "name", "limit": 50, "detail": "full"}),
        ("gather_topic", {"topic": who}),
        ("gather_topic", {"topic": f"the {what}"}),
        ("get_entity", {"uri": f"lore://notes/saga/npcs%2F{who}.md"}),
        ("get_entity", {"uri": f"lore://notes/saga/{who}.md"}),
        ("get_entity", {"uri": "lore://spells/own/s3"}),
        ("compare_entries", {"name": f"{what} ward"}),
        ("compare_entries", {"uris": ["lore://spells/own/s3", "lore://spells/own/s4"]}),
        ("plan_encounter", {"party": "4x1", "seed": random.randrange(99)}),
        ("plan_encounter", {"party": "4x1", "monsters": [f"2 {what} beast"]}),
        ("list_documents", {}),
        ("list_documents", {"type": "notes"}),
    ]


async def answer(view: View, tool: str, arguments: dict[str, Any]) -> Any:
    """What a call gives: structured content and text, or the error."""
    try:
        found = await TOOLS[tool].run(view, TOOLS[tool].check(arguments))
    except LoreKeeperError as error:
        return str(error)
    return json.loads(json.dumps(found.structured)), found.text


async def notes_of(view: View) -> Any:
    """The notes that a view has, as they are stored: pages are made of them."""
    await view.refresh()
    return {note.slug: json.loads(json.dumps(note.data)) for note in await view.cache.get_entities("notes", limit=50)}


async def listed(view: View) -> Any:
    """All resources, and the lists among them."""
    found = (await resources.listed(view, None)).resources
    lists = [await resources.read(view, str(each.uri)) for each in found if str(each.uri).count("/") == 3]
    return [each.model_dump(mode="json") for each in found], lists


def rounded(value: Any) -> Any:
    """A value with numbers to six digits."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


EXAMPLES = {"sqlite": (0, 1), "milvus": (0, 2)}
"""The random vaults that a backend is tried with; the others differ from these in how they store only."""

ROUNDS = 2
"""How often each kind of call is made on these, with other random words; on the others it is made once."""

CASES = [
    *((name, n, viewer) for name, numbers in EXAMPLES.items() for n in numbers for viewer in (ANYBODY, ANA)),
    *((name, 0, ANA) for name in BACKENDS if name not in EXAMPLES),
]
DEFAULT = [("sqlite", 0, ANA), ("milvus", 0, ANYBODY)]
"""The cases that are quick and differ most; the others are thorough."""


def marks_of(case: tuple[str, int, Viewer]) -> list[pytest.MarkDecorator]:
    return [] if case in DEFAULT else [*MARKS.get(case[0], []), pytest.mark.slow]


@pytest.mark.parametrize(
    ("backend", "example", "viewer"),
    [
        pytest.param(*case, marks=marks_of(case), id=f"{case[0]}-{case[1]}-{case[2].person or 'anybody'}")
        for case in CASES
    ],
)
async def test_a_player_receives_what_a_library_without_the_secrets_gives(
    backend: str, example: int, viewer: Viewer, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    random = Random(f"{seed} {example} {viewer.person}")
    vault = secret_vault(tmp_path, random, viewer)
    spells, seen = homebrew(random, viewer)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    settings = BACKENDS[backend](tmp_path / "a", request)
    async with library_of(settings, tmp_path / "a", vault.whole, spells) as library:
        asked = [call for _ in range(ROUNDS if backend in EXAMPLES else 1) for call in calls(random)]
        given = [await answer(library.view(viewer), *call) for call in asked]
        resources_given = await listed(library.view(viewer))
        notes_given = await notes_of(library.view(viewer))
        told = [await answer(library, *call) for call in asked]
    without = BACKENDS["sqlite" if backend == "sqlite" else "milvus"](tmp_path / "b", request)
    async with library_of(without, tmp_path / "b", vault.cut, seen) as library:
        expected = [await answer(library.view(viewer), *call) for call in asked]
        resources_expected = await listed(library.view(viewer))
        notes_expected = await notes_of(library.view(viewer))
    for call, got, wanted in zip(asked, given, expected, strict=True):
        assert rounded(got) == rounded(wanted), call
    assert resources_given == resources_expected
    assert notes_given == notes_expected
    assert [token for token in vault.tokens if token in json.dumps([given, resources_given, notes_given])] == []
    assert any(token in json.dumps(told) for token in vault.tokens), "the game master meets secrets"
