"""Searching while somebody types: names by their beginnings, words that are not typed to their ends, and phrases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError
from lorekeeper.library import Library
from lorekeeper.search.by_name import begun, completed
from lorekeeper.search.query import Query
from lorekeeper.search.query_syntax import parse_query
from lorekeeper.search.results import ResultPage
from lorekeeper.text.keywords import KeywordQuery
from tests.support.backends import BACKENDS
from tests.support.campaign import campaign
from tests.support.entities import make
from tests.support.homebrew import brew, read

TYPES = [name for name in COLLECTIONS if name != "documents"]

NAMES = {
    "spells": [
        "Fireball",
        "Delayed Blast Fireball",
        "Fire Bolt",
        "Fireblade Dance",
        "Bonfire",
        "Wall of Fire",
        "Wall of Ice",
    ],
    "creatures": ["Beholder", "Beholder Zombie", "Gauth", "Eye Beholden", "Ancient Red Dragon", "Red Hag"],
    "equipment": ["Wand of Fireballs", "Necklace of Fireballs", "Potion of Healing", "Superior Potion of Healing"],
    "rules": ["Fire", "Walls"],
}


BOTH = pytest.mark.parametrize("library", ["milvus", "sqlite"], indirect=True)


@pytest.fixture
async def library(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Library]:
    settings = BACKENDS[getattr(request, "param", "sqlite")](tmp_path, request)
    embedding = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(settings, embedding), embedding, offline=True) as opened:
        for entity_type, names in NAMES.items():
            entries = [make(f"e{n}", "Some text.", type=entity_type, name=name) for n, name in enumerate(names)]
            await opened.cache.store_entities(entries, entity_type)
        await opened.cache.store_entities(campaign(), "notes")
        yield opened


async def found(library: Library, text: str, *, typing: bool = True) -> list[str]:
    page = await library.searcher.search(parse_query(text, {}, TYPES).query(typing=typing, limit=20))
    return [result.entity.name for result in page.results]


BEGUN = [
    ("f", "Fire"),
    ("firebal", "Fireball"),
    ("fireb", "Fireball"),
    ("Fire b", "Fire Bolt"),
    ("beho", "Beholder"),
    ("beholder z", "Beholder Zombie"),
    ("wall o", "Wall of Ice"),
    ("healing p", "Potion of Healing"),
    ("ancient red dr", "Ancient Red Dragon"),
    ("the ree", "Oda Reedmother"),
    ("level:x beho", "Beholder"),
]


@BOTH
async def test_the_beginning_of_a_name_finds_it_first(library: Library) -> None:
    assert [(text, (await found(library, text))[0]) for text, _ in BEGUN] == BEGUN
    names = await found(library, "fire")
    assert names[0] == "Fire"
    assert {"Fire Bolt", "Fireball", "Fireblade Dance", "Wall of Fire"} <= set(names)
    assert "Beholder Zombie" in await found(library, "beholder")
    assert "Beholder Zombie" in await found(library, "beholder zo")
    page = await library.searcher.search(Query(["creatures"], "beho"))
    assert "Beholder" not in [result.entity.name for result in page.results if result.match == "name"]


COMPLETED = [
    ("wand of neckl", "wand of necklace"),
    ("ancient r", "ancient red"),
    ("some tex", "some"),
    ("fire", "fire"),
    ("Some zzz", "some"),
    ("zzz", "zzz"),
    ("wall of", "wall of"),
    ("!?", "!?"),
]


async def test_the_last_word_is_completed_for_meaning_and_keywords(library: Library) -> None:
    assert [(text, await completed(library.cache, TYPES, text)) for text, _ in COMPLETED] == COMPLETED


# --- phrases -------------------------------------------------------------------------------------------------------------


TEXTS = {
    "in-name": ("Wall of Thorns", "Something pricks."),
    "in-text": ("Bramble", "It makes a wall of green thorns. Then it ends."),
    "apart": ("Hedge", "A wall. Of course it is green."),
    "other-order": ("Fence", "Of wall and green."),
    "far": ("Ditch", "A wall made of green earth."),
    "endings": ("Rows", "There are walls of green stone, alchemist's fire, and half-elves."),
}


async def led(library: Library, text: str, first: str = "") -> list[str]:
    """The names that a text begins, one of each entry, as they are listed while somebody types."""
    query = parse_query(text, {}, TYPES).query(typing=True)
    groups = await begun(library.cache, library.searcher.documents, query, first)
    entities = [(await library.cache.load(kind, [identity]))[0] for (kind, identity), *_ in groups]
    return [entity.name for entity in entities]


@BOTH
async def test_two_kinds_of_one_name_in_a_book_are_two_things_and_its_versions_one(
    library: Library, tmp_path: Path
) -> None:
    card = {
        "name": "Peat Heart",
        "source": "Tide",
        "set": "Deck",
        "entries": ["A card of the deck that is drawn last."],
    }
    reward = {"name": "Peat Heart", "source": "Tide", "entries": ["A charm that ignores damage by cold once."]}
    made, _ = read(brew(tmp_path, card=[card], reward=[reward]))
    rules = [entity for entity in made if entity.type == "rules"]
    other = make(
        "peat", "A charm of a later printing.", type="rules", name="Peat Heart", document="later", kind="charm"
    )
    await library.cache.store_entities([*rules, other], "rules")
    kinds = {"card", "reward"}
    for mode in ("auto", "semantic"):
        page = await library.searcher.search(Query(["rules"], text="Peat Heart", mode=mode, limit=20))
        hits = [result for result in page.results if result.entity.name == "Peat Heart"]
        assert kinds <= {result.entity.kind for result in hits}
    assert (await led(library, "peat he")).count("Peat Heart") >= len(kinds)
    await library.cache.store_entities([*rules[1:], other], "rules")
    assert await library.cache.delete_entities("rules", [rules[0].identity]) == 1
    assert await led(library, "peat he") == ["Peat Heart"]


@pytest.fixture
async def texts(library: Library) -> Library:
    entries = [make(slug, text, name=name, document="texts", level=len(slug)) for slug, (name, text) in TEXTS.items()]
    await library.cache.store_entities(entries, "spells")
    return library


async def phrased(library: Library, text: str) -> tuple[set[str], ResultPage]:
    page = await library.searcher.search(parse_query(text, {}, TYPES).query(limit=50))
    return {r.entity.slug for r in page.results if r.entity.document == "texts"}, page


PHRASED = [
    ('"wall of green"', {"in-text", "endings"}),
    ('"of green"', {"in-text", "endings"} | {"far"}),
    ('"wall of thorns"', {"in-name"}),
    ('"WALL, of: thorns!"', {"in-name"}),
    ('"wall of green" "it ends"', {"in-text"}),
    ('green "wall of"', {"in-name", "in-text", "apart", "endings"}),
    ('unicorn "wall of green"', {"in-text", "endings"}),
    ('"wall of green" level>=7', {"in-text", "endings"}),
    ('"wall of green" level:7', {"in-text", "endings"}),
    ('"wall of green" level<7', set[str]()),
    ('"alchemist\'s fire"', {"endings"}),
    ("“alchemist’s fire”", {"endings"}),
    ('"half-elves"', {"endings"}),
    ('"green wall"', set[str]()),
    ('"of the and"', set[str]()),
]  # fmt: skip


@BOTH
async def test_a_phrase_is_its_words_in_that_order(texts: Library) -> None:
    for text, slugs in PHRASED:
        own, page = await phrased(texts, f"{text} in:spells")
        assert own == slugs, text
        assert page.total == len(page.found) == len(page.results), text
    _, page = await phrased(texts, '"wall of"')
    names = [result.entity.name for result in page.results]
    assert all(name.startswith("Wall of") for name in names[:3])
    assert "Bramble" in names[3:]


@BOTH
async def test_nothing_in_a_phrase_is_an_operator(texts: Library) -> None:
    for hostile in (
        'wall" OR "x',
        "wall AND",
        "NEAR(wall of)",
        "{name}: wall",
        "wall*",
        "^wall",
        "(",
        "-wall",
        "\0wall",
        "wa" * 400,
    ):
        page = await texts.searcher.search(Query(["spells"], "wall", phrases=(hostile,)))
        assert page.total == len(page.found)
    query = KeywordQuery((), phrases=('wall" OR "some',))
    assert await texts.cache.rank_keyword("spells", query, 50) == []
    with pytest.raises(FilterError, match="at most"):
        await texts.searcher.search(Query(["spells"], "wall", phrases=("x" * 3000,)))
