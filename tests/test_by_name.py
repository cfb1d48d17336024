"""Lookups by name and ranked searches, with names as people say them, over a real library."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row

LORE = ["spells", "creatures", "rules"]

ENTRIES = [
    make("fireball", "A ball of flame bursts.", name="Fireball", document="one", level=3),
    make("fireball", "Flame fills a wide room.", name="Fireball", document="two", level=4),
    make("delayed", "It bursts later.", name="Delayed Blast Fireball", document="one", level=7),
    make("acid-arrow", "A green streak hisses.", name="Acid Arrow", document="one", level=2),
    make("arcane-hand", "A huge palm of force.", name="Arcane Hand", document="one", level=5),
    make("hex", "Bad luck clings to one foe.", name="Hex", document="one", level=1),
    make("gate", "A ring opens to another plane.", name="Gate", document="one", level=9),
    make("tarrasque", "It eats whole towns.", type="creatures", name="Tarrasque", document="one"),
    make("ghost", "A restless soul.", type="creatures", name="Ghost", document="one"),
    make("poltergeist", "It throws the plates.", type="creatures", name="Poltergeist", document="one"),
    make("goblin", "Small and mean.", type="creatures", name="Goblin", document="one"),
    make("goblin-boss", "It shouts at the others.", type="creatures", name="Goblin Boss", document="one"),
    make("red", "Its den is hot.", type="creatures", name="Adult Red Dragon", document="one"),
    make("old-red", "Its den is hotter.", type="creatures", name="Ancient Red Dragon", document="one"),
    make("grappling", "How to hold somebody.", type="rules", name="Grappling", document="one"),
    make("grappled", "What it is like to be held.", type="rules", name="Grappled", document="one"),
    make(
        "sea-rules", "Roll on the table of sea omens at dawn.", type="rules", name="Sea Omens at Dawn", document="one"
    ),
    make("omens", "1: gulls. 2: fog.", type="rules", name="Sea Omens", document="one", kind="table"),
    make("bann", "Ein Bann aus eigener Feder.", name="Windhauch des Grafen", document="deutsch", level=2),
    make("tanzlied", "Alle tanzen.", name="Tanzlied", document="deutsch", level=1),
]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=["milvus", "sqlite"])
async def library(request, tmp_path_factory):
    async with open_library(tmp_path_factory.mktemp("names"), backend=request.param) as opened:
        for entity_type in LORE:
            await opened.cache.store_entities([e for e in ENTRIES if e.type == entity_type], entity_type)
        yield opened


async def lookup(
    library: Library,
    entity_type: str,
    name: str,
    *,
    documents: Sequence[str] | None = None,
    limit: int = 10,
    offset: int = 0,
    **filters: object,
) -> ResultPage:
    query = Query([entity_type], None, {"name": name, **filters}, documents, limit, offset)
    return await library.searcher.search(query)


def names(page: ResultPage) -> list[str]:
    return [result.entity.name for result in page.results]


@each_row(("text", "named"), [("ghast", {"Ghast"}), ("what is a ghast", {"Ghast"}), ("ghist", {"Ghast", "Ghost"})])
async def test_a_search_for_a_whole_name_finds_nothing_by_a_similar_name_of_any_type(library, text, named):
    await library.cache.store_entities(
        [make("ghast", "It smells of the grave.", name="Ghast", document="more")], "spells"
    )
    try:
        results = (await library.search(Query(LORE, text))).results
        assert {result.entity.name for result in results if result.match == "name"} == named
    finally:
        await library.cache.delete_document("more")


@each_row(("text", "named"), [("what does a gool eat", {"Ghoul"}), ("gools", {"Ghoul"}), ("gull", set())])
async def test_a_name_is_recognised_by_its_sound(library, text, named):
    await library.cache.store_entities([make("ghoul", "It eats the dead.", name="Ghoul", document="more")], "spells")
    try:
        page = await library.search(Query(LORE, text))
        assert {result.entity.name for result in page.results if result.match == "name"} == named
        assert ("read as 'ghoul'" in (page.note or "")) == bool(named)
    finally:
        await library.cache.delete_document("more")


async def test_a_name_that_notes_link_to_is_no_filter(library):
    notes = [make("diary", "Mira rows.", type="notes", name="Diary", document="more", links=["mira"], aliases=["log"])]
    await library.cache.store_entities(notes, "notes")
    try:
        pages = [await library.search(Query(["notes"], text)) for text in ("who is mira", "the log")]
        assert [page.note for page in pages] == [None, None]
    finally:
        await library.cache.delete_document("more")


async def test_of_two_names_in_a_question_the_longer_one_is_meant(library):
    await library.cache.store_entities(
        [make("mage", "He has a hand.", type="creatures", name="Mage", document="more")], "creatures"
    )
    await library.cache.store_entities([make("mage-hand", "It floats.", name="Mage Hand", document="more")], "spells")
    try:
        results = (await library.search(Query(LORE, "how does mage hand work"))).results
        assert results[0].entity.name == "Mage Hand"
    finally:
        await library.cache.delete_document("more")


async def test_who_asks_for_a_spell_means_no_rule_by_a_name(library):
    await library.cache.store_entities(
        [make("supper", "You make food for ten.", name="Supper", document="more")], "spells"
    )
    await library.cache.store_entities(
        [make("food", "All eat daily.", type="rules", name="Food", document="more")], "rules"
    )
    try:
        found = {text: (await library.search(Query(LORE, text))).results[0].entity.name for text in SUPPERS}
        assert found == SUPPERS
    finally:
        await library.cache.delete_document("more")


SUPPERS = {"a spell to make food": "Supper", "how does food work": "Food"}

TEMPLAR = {
    "name": "Templar",
    "desc": "He keeps the ways of the dead.",
    "features": [
        {
            "name": "Sacred Word",
            "desc": "You speak one of these.\n\n***Ban Spirits.*** Each ghost flees.\n\n***Call Dawn.*** A dim light shines.",
        },
        {"name": "Sacred Word: Still Waters", "desc": "No wave rises near you."},
    ],
}


@each_row(
    ("text", "told"),
    [
        ("how does ban spirits work", "Each ghost"),
        ("still waters", "No wave"),
        ("what does sacred word do", "one of these"),
    ],
)
async def test_a_question_about_a_feature_finds_who_has_it(library, text, told):
    options = [make("templar", data=TEMPLAR, type="character_options", kind="class", name="Templar", document="more")]
    options += [
        make(f"vow-{n}", f"A vow to ban spirits {n}.", type="character_options", document="more") for n in "abc"
    ]
    await library.cache.store_entities(options, "character_options")
    try:
        first = (await library.search(Query([*LORE, "character_options"], text))).results[0]
        assert (first.entity.name, first.match) == ("Templar", "name")
        assert told in first.snippet
    finally:
        await library.cache.delete_document("more")


@each_row(("text", "named"), [("a goslin", {"Goblin"}), ("gobbin", {"Goblin"}), ("what about a whistle", set())])
async def test_known_words_are_not_misspelt_names(library, text, named):
    for name, words in (("Thistle", "It stings."), ("Wood", "A whistle is heard.")):
        await library.cache.store_entities([make(name.lower(), words, name=name, document="more")], "spells")
    try:
        results = (await library.search(Query(LORE, text))).results
        assert {result.entity.name for result in results if result.match == "name"} == named
    finally:
        await library.cache.delete_document("more")


async def test_a_whole_name_brings_nothing_similar_and_no_note(library):
    page = await lookup(library, "creatures", "ghost")
    assert (names(page), page.note, page.approximate) == (["Ghost"], None, False)


@each_row(
    ("written", "found", "note"),
    [
        ("Feuerball", "Fireball", "Feuerball is Fireball in German."),
        ("bola de fuego", "Fireball", "Bola de fuego is Fireball in Spanish."),
        ("boule de feu", "Fireball", "Boule de feu is Fireball in French."),
        ("Saeurepfeil", "Acid Arrow", "Säurepfeil is Acid Arrow in German."),
        ("Melf's Acid Arrow", "Acid Arrow", "Melf's Acid Arrow is called Acid Arrow in the SRD."),
        ("Bigby's Hand", "Arcane Hand", "Bigby's Hand is called Arcane Hand in the SRD."),
    ],
)
async def test_other_names_find_the_entry_and_say_so(library, written, found, note):
    page = await lookup(library, "spells", written)
    assert set(names(page)) == {found}
    assert {result.match for result in page.results} == {"name"}
    assert (page.note, page.total) == (note, len(page.results))


async def test_parts_of_names_come_before_translations(library):
    page = await lookup(library, "creatures", "Geist")
    assert names(page) == ["Poltergeist", "Ghost"]
    assert page.note == "Geist is Ghost in German."


@each_row(("written", "found"), [("tarasqe", "Tarrasque"), ("Goblni Bos", "Goblin Boss"), ("ghosst", "Ghost")])
async def test_misspelt_names_find_the_nearest_and_say_so(library, written, found):
    page = await lookup(library, "creatures", written)
    assert names(page) == [found]
    assert page.note == f"No creature is called '{written}'; showing the nearest name: {found}."
    assert page.approximate


async def test_the_name_of_a_wizard_finds_the_spells_that_the_books_call_after_him(library):
    page = await lookup(library, "spells", "Melf")
    assert names(page) == ["Acid Arrow"]
    assert page.note == "No spell is called 'Melf'; showing entries whose names in the books have it."


@each_row("written", ["Feuerball", "firebll", "Fireball"])
async def test_other_filters_and_documents_hold(library, written):
    assert names(await lookup(library, "spells", written, level=3)) == ["Fireball"]
    page = await lookup(library, "spells", written, documents=["two"])
    assert [result.entity.document for result in page.results] == ["two"]
    assert (await lookup(library, "spells", written, level=9)).total == 0


async def test_a_ranked_search_among_the_entries_of_a_name_understands_it_too(library):
    query = Query(["creatures"], "a hot den", {"name": "Roter Drache"})
    page = await library.searcher.search(query)
    assert set(names(page)) == {"Adult Red Dragon", "Ancient Red Dragon"}
    assert page.note == "No creature is called 'Roter Drache'; showing entries whose German names have it."
    plain = await library.searcher.search(Query(["creatures"], "a hot den", {"name": "red dragon"}))
    assert (set(names(plain)), plain.note) == (set(names(page)), None)


@each_row("written", ["Windhauch des Grafen", "tanzlied", "windhauch"])
async def test_entries_in_other_languages_are_found_by_their_own_names(library, written):
    assert len(names(await lookup(library, "spells", written))) == 1
    page = await library.searcher.search(Query(LORE, text=written))
    assert page.results[0].entity.document == "deutsch"


# --- ranked searches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "keyword"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Feuerball", "Fireball"),
        ("bola de fuego", "Fireball"),
        ("Melf's Acid Arrow", "Acid Arrow"),
        ("how does Bigby's Hand grapple?", "Arcane Hand"),
        ("Wie viel Schaden macht ein Feuerball?", "Fireball"),
        ("goblins", "Goblin"),
        ("tarasque", "Tarrasque"),
    ],
)
async def test_ranked_searches_put_the_entry_of_another_name_first(library, text, found, mode):
    page = await library.searcher.search(Query(LORE, text=text, mode=mode))
    assert (names(page)[0], page.results[0].match) == (found, "name")


async def test_an_entry_that_is_itself_called_so_comes_first(library):
    own = make("portal", "A door that leads back.", name="Portal", document="two", level=6)
    await library.cache.store_entities([own], "spells")
    try:
        assert names(await library.searcher.search(Query(["spells"], text="portal")))[0] == "Portal"
        assert names(await lookup(library, "spells", "portal")) == ["Portal"]
    finally:
        await library.cache.delete_entities("spells", [own.identity])
    assert names(await lookup(library, "spells", "portal")) == ["Gate"]


@each_row("text", ["sea omens table", "roll on the sea-omens table", "roll twice on the table of sea omens"])
async def test_a_table_that_is_asked_for_comes_first(library, text):
    page = await library.searcher.search(Query(LORE, text=text))
    assert (names(page)[0], page.results[0].match) == ("Sea Omens", "name")
    filtered = await library.searcher.search(Query(["rules"], text=text, filters={"kind": "table"}))
    assert names(filtered) == ["Sea Omens"]
