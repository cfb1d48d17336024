"""What players see: nothing that is kept from them, and all else as if that had never been written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lorekeeper.audience import GAME_MASTER, PLAYERS, Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.people.person import Person
from lorekeeper.server import resources
from lorekeeper.settings import Settings
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.shares import SharesFile
from tests.support.backends import BACKENDS, MARKS
from tests.support.entities import make
from tests.support.gateway import gateway
from tests.support.pages import addresses, without_switch
from tests.support.secret_vaults import NAMES, NOUNS, secret_vault
from tests.support.tools import TOOLS
from tests.support.vaults import open_marked

ANYBODY, ANA = Viewer.player(), Viewer.player("ana")
Received = list[tuple[object, Any]]


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


# --- the faces ---------------------------------------------------------------------------------------------------------


async def by_tools(library: Library, viewer: Viewer, random: Random, deep: int) -> Received:
    """What calls of every tool give, structured and as text, and all resources with the lists among them."""
    view = library.view(viewer)
    given: Received = []
    for tool, arguments in (call for _ in range(deep) for call in calls(random)):
        try:
            found = await TOOLS[tool].run(view, TOOLS[tool].check(arguments))
            given.append(((tool, arguments), (found.structured, found.text)))
        except LoreKeeperError as error:
            given.append(((tool, arguments), str(error)))
    listed = (await resources.listed(view, None)).resources
    lists = [await resources.read(view, str(each.uri)) for each in listed if str(each.uri).count("/") == 3]
    return [*given, ("resources", [each.model_dump(mode="json") for each in listed]), ("lists", lists)]


async def by_operations(library: Library, viewer: Viewer, random: Random, deep: int) -> Received:
    """What each operation that reads says of a type, and the notes as they are stored: pages are made of them."""
    view = library.view(viewer)
    await view.refresh()
    cache, what, given = view.cache, random.choice(NOUNS), Received()
    for entity_type in ("notes", "spells", "characters", "creatures"):
        identities = sorted(await cache.identities(entity_type))
        asked: dict[str, Any] = {
            "entities": await cache.get_entities(entity_type, limit=50),
            "page": await cache.get_entities(entity_type, limit=3, offset=1),
            "loaded": await cache.load(entity_type, [*identities, ("saga", f"GM only/{random.choice(NAMES)}.md")]),
            "hashes": await cache.content_hashes(entity_type),
            "count": await cache.count_entities(entity_type),
            "values": (await cache.count_values(entity_type, "kind")).counts,
            "meaning": await cache.rank_semantic(entity_type, f"the {what}"),
            "words": await cache.rank_keyword(entity_type, f"the {what}"),
            "names": sorted(await cache.names(entity_type)),
            "named": await cache.rank_names(entity_type, what),
            "beginnings": await cache.rank_beginnings(entity_type, what[:3]),
            "counted": await cache.word_counts(entity_type, [what, "the"]),
            "scores": await cache.word_scores(entity_type, [what], identities, lambda counts, _: counts),
            "documents": await cache.documents([entity_type]),
        }
        given += [((entity_type, name), asdicts(value)) for name, value in asked.items()]
    return given


async def by_rest(library: Library, viewer: Viewer, random: Random, deep: int) -> Received:
    """Status, headers and content of requests to each operation of the gateway, without what differs between equal ones."""
    apart = ("date", "etag", "content-length")
    async with gateway(library, viewer) as client:
        asked = [path for _ in range(deep) for path in paths(random)]
        answers = [await client.get(f"/api/v1/{path}") for path in asked]
    heads = [{name: value for name, value in each.headers.items() if name not in apart} for each in answers]
    return [(p, (a.status_code, head, a.json())) for p, a, head in zip(asked, answers, heads, strict=True)]


async def by_pages(library: Library, viewer: Viewer, random: Random, deep: int) -> Received:
    """The pages that lead from one to the next, and their twins."""
    async with gateway(library, viewer) as client:
        return await crawled(client, random, deep)


async def by_pages_of_the_game_master(library: Library, viewer: Viewer, random: Random, deep: int) -> Received:
    """The pages as the game master has them who looks as the viewer does, without the switch."""
    async with gateway(library, GAME_MASTER, lambda: [Person("Ana", "player", (), "x", 0)]) as client:
        client.cookies.set("lorekeeper_as", "Ana" if viewer.person else "player")
        return await crawled(client, random, deep)


async def crawled(client: httpx.AsyncClient, random: Random, deep: int) -> Received:
    """Lists, searches, dossiers, notes that may be there, and at most so many pages behind them."""
    what, who = random.choice(NOUNS), random.choice(NAMES)
    notes = [f"/entries/notes/saga/{quote(f'{at}{name}.md', safe='')}" for at in ("", "npcs/") for name in NAMES[:3]]
    waiting = ["/recent", "/sessions", "/books/saga", f"/topics?q={who}", f"/?q={what}", f"/?q={who}", *notes]
    waiting += ["/recent.json", "/sessions.json", f"/topics.json?q={who}", f"/search.json?q={what}"]
    waiting += [f"{path}.json" for path in notes]
    most, found = len(waiting) + 12 * deep**2, dict[str, tuple[int, str]]()
    while waiting and len(found) < most:
        if (path := waiting.pop(0)) not in found:
            response = await client.get(path)
            found[path] = response.status_code, without_switch(response.text)
            waiting += [each for each in addresses(found[path][1]) if not each.startswith("/roll?dice=")]
    return list(found.items())


FACES: dict[str, Callable[[Library, Viewer, Random, int], Awaitable[Received]]] = {
    "tools": by_tools,
    "operations": by_operations,
    "rest": by_rest,
    "pages": by_pages,
    "pages of the game master": by_pages_of_the_game_master,
}
"""What is asked of a library by each face: a list of questions with their answers, the same for the same chance."""


def paths(random: Random) -> list[str]:
    """One request at least of each operation."""
    what, who = random.choice(NOUNS), random.choice(NAMES)
    return [
        f"search_lore?query={what}&limit=50",
        f"search_lore?query=who+{what}s+the+{random.choice(NOUNS)}&query={who}&limit=5&offset=3",
        "lookup_note?order=newest&limit=50",
        f"lookup_note?links_to={who}",
        f"lookup_note?similar_to=lore://notes/saga/npcs%2F{who}.md",
        "lookup_spell?order=name&documents=saga",
        "lookup_spell?documents=nowhere",
        "list_documents",
        "list_documents?type=notes",
        f"compare_entries?name={who}",
        f"entities/notes/saga/npcs/{who}.md",
        f"entities/notes/saga/npcs%2F{who}.md",
        "entities/spells/own/s3",
        f"gather_topic?topic={who}",
        f"gather_topic?topic=lore://notes/saga/npcs%2F{who}.md",
    ]


def asdicts(value: Any) -> Any:
    """A value with dataclasses as dicts, whose numbers can be rounded."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: asdicts(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: asdicts(each) for key, each in value.items()}
    return [asdicts(each) for each in value] if isinstance(value, list | tuple) else value


def rounded(value: Any) -> Any:
    """A value with numbers to five digits."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


# --- the law -----------------------------------------------------------------------------------------------------------

CASES = [
    *(("sqlite", number, viewer) for number in (0, 1) for viewer in (ANYBODY, ANA)),
    ("milvus", 0, ANA),
    ("milvus-server", 0, ANA),
]
"""Backends, random vaults and viewers: the other backends differ from these in how they store only."""

DEFAULT = [("sqlite", 0, ANA)]
"""The case that is quick; the others are slow."""


def marks_of(case: tuple[str, int, Viewer]) -> list[pytest.MarkDecorator]:
    return [] if case in DEFAULT else [*MARKS.get(case[0], []), pytest.mark.slow]


@pytest.mark.parametrize(
    ("backend", "example", "viewer"),
    [
        pytest.param(*case, marks=marks_of(case), id=f"{case[0]}-{case[1]}-{case[2].person or 'anybody'}")
        for case in CASES
    ],
)
@pytest.mark.timeout(900)
async def test_by_every_face_a_player_receives_what_a_library_without_the_secrets_gives(
    backend: str, example: int, viewer: Viewer, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    chance = f"{seed} {example} {viewer.person}"
    random, deep = Random(chance), 2 if backend == "sqlite" and request.node.get_closest_marker("slow") else 1
    vault = secret_vault(tmp_path, random, viewer)
    spells, seen = homebrew(random, viewer)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()

    async def received(library: Library, who: Viewer, faces: Collection[str]) -> dict[str, Received]:
        return {face: await FACES[face](library, who, Random(chance + face.split()[0]), deep) for face in faces}

    settings = BACKENDS[backend](tmp_path / "a", request)
    async with library_of(settings, tmp_path / "a", vault.whole, spells) as library:
        given = await received(library, viewer, FACES)
        told = await received(library, GAME_MASTER, ("tools", "operations", "rest", "pages"))
    without = BACKENDS["sqlite" if backend == "sqlite" else "milvus"](tmp_path / "b", request)
    async with library_of(without, tmp_path / "b", vault.cut, seen) as library:
        expected = await received(library, viewer, ("tools", "operations", "rest", "pages"))
    assert given.keys() == FACES.keys() > told.keys()
    for face, answers in given.items():
        assert len(answers) == len(expected[face.split()[0]]) > 10
        for (asked, got), (_, wanted) in zip(answers, expected[face.split()[0]], strict=True):
            assert rounded(got) == rounded(wanted), (face, asked)
        assert [token for token in vault.tokens if token in repr(answers)] == [], face
    for face, answers in told.items():
        assert any(token in repr(answers) for token in vault.tokens), f"the game master meets secrets by {face}"
