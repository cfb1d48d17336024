"""What answers say of themselves is true: closed names, nothing found, other languages, unknown words, editions, twins."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lorekeeper
from lorekeeper.entities import SEARCHED, Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.search.doubt import BRING_BOOKS, BRING_CHARACTERS, BRING_NOTES, NOT_OPEN, absent, closed_name, nothing
from lorekeeper.search.facets import facets
from lorekeeper.search.languages import (
    FOREIGN,
    FOREIGN_BOOKS,
    FOREIGN_NAMED,
    FOREIGN_NOTES,
    FOREIGN_UNSURE,
    language_of,
)
from lorekeeper.search.pages import SHORT_PAGE
from lorekeeper.search.query import Query
from lorekeeper.search.query_syntax import parse_query
from lorekeeper.search.resolve_entry import find_entry, versions
from lorekeeper.search.results import ResultPage
from lorekeeper.server.answers import documents_answer
from lorekeeper.server.found import Shown, page_text
from lorekeeper.text.keywords import content_words
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tools import call

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
async def starter(tmp_path_factory: pytest.TempPathFactory, whole_starter: None) -> AsyncIterator[Library]:
    """A library with the first books, and no notes."""
    async with open_library(tmp_path_factory.mktemp("starter"), backend="sqlite") as opened:
        await opened.load_starter()
        yield opened


async def ask(library: Library, types: list[str], text: str | None = None, **values: Any) -> ResultPage:
    return await library.search(Query(types, text, **values))


# --- names that no open licence covers -------------------------------------------------------------------------------


async def test_closed_names_are_clean_data():
    assert len(NOT_OPEN) > 70
    assert all(name == fold(name) for name in NOT_OPEN)


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        ("beholder", "beholder"),
        ("beholders", "beholder"),
        ("beholdr", "beholder"),
        ("mindflayer", "mind flayer"),
        ("mind flayer arcanist", "mind flayer"),
        ("strahd von zarovich", "strahd"),
        ("githyanky knight", "githyanki"),
        ("kuo toa warrior", "kuo toa"),
        ("goblin", ""),
        ("orcas", ""),
        ("treasure map", ""),
    ],
)
async def test_a_closed_name_is_recognised_as_a_whole_word_and_misspelt(name, closed):
    assert closed_name(name, {"goblin", "treasure", "map", "warrior", "knight", "arcanist", "von"}) == closed


async def test_a_word_that_the_library_has_is_no_misspelling_of_a_closed_name():
    assert closed_name("changing", {"changing"}) == ""
    assert absent("a changing landscape", [], ["changing", "landscape"]) is None


@pytest.mark.parametrize("name", ["beholder", "Mind Flayer", "Strahd von Zarovich", "eberron", "spelljammer"])
async def test_a_lookup_by_a_closed_name_says_that_it_is_not_open(starter, name):
    note = (await ask(starter, ["creatures"], filters={"name": name})).note
    assert note is not None
    assert note.endswith("is not open content: no open book has it.")


async def test_a_search_for_a_closed_name_says_the_same_instead_of_asking_to_rephrase(starter):
    page = await ask(starter, ["spells", "creatures"], "Strahd von Zarovich")
    assert "'strahd'" in (page.note or "")
    assert "not open content" in (page.note or "")
    assert "Rephrase" not in (page.note or "")


async def test_few_entries_are_shown_for_a_closed_name(starter):
    page = await starter.search(Query(["rules"], "mass combat between armies", limit=10, unsure_limit=20))
    assert "not open content" in (page.note or "")
    assert 0 < len(page.results) <= SHORT_PAGE < page.total


@pytest.mark.parametrize("asked", ["random treasure by CR", "roll loot for an ogre", "hoard table of a dragon"])
async def test_tables_of_treasure_are_said_to_be_in_no_open_book(starter, asked):
    note = (await ask(starter, ["rules", "equipment"], asked)).note or ""
    assert "No open book has tables of treasure." in note
    assert "order='random'" in note
    assert "treasure" not in ((await ask(starter, ["rules", "equipment"], "map to a buried treasure")).note or "")


async def test_the_nearest_name_to_a_closed_one_comes_with_that_note(starter):
    page = await ask(starter, ["creatures"], filters={"name": "beholdr zombie"})
    assert page.results == [] or "'beholder' is not open content" in (page.note or "")
    with pytest.raises(NotFoundError, match="'beholder' is not open content"):
        await find_entry(starter.search, starter.entities_at, "Beholder", ["creatures"])


async def test_a_note_beside_a_nearer_name_names_what_is_closed(starter):
    page = await ask(starter, ["equipment"], filters={"name": "wand of vecna"})
    assert "It is not open content" not in (page.note or "") or not page.results
    page = await ask(starter, ["creatures"], filters={"name": "beholder"})
    assert (page.note or "").endswith("It is not open content: no open book has it.")


# --- nothing found -----------------------------------------------------------------------------------------------------


async def test_a_type_without_any_entry_is_said_with_the_command_that_brings_some(starter):
    for query in (Query(["notes"], filters={"name": "mirra"}), Query(["notes"], "what did we promise")):
        page = await starter.search(query)
        assert page_text(Shown(page)) == f"The library has no notes to search: {BRING_NOTES}."
    characters = await ask(starter, ["characters"], filters={"classes": "wizard"})
    assert page_text(Shown(characters)) == f"The library has no characters to search: {BRING_CHARACTERS}."


async def test_books_that_are_not_there_are_said_too(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([make("mirra", "An innkeeper.", type="notes", name="Mirra")], "notes")
        page = await ask(library, ["spells"], "a ball of fire")
        both = await ask(library, ["spells", "rules"], filters={"name": "fire"})
    assert page_text(Shown(page)) == f"The library has no spells to search: {BRING_BOOKS}."
    assert page_text(Shown(both)) == f"The library has no spells or rules to search: {BRING_BOOKS}."


async def test_a_document_without_the_type_is_not_the_whole_library(starter):
    await starter.cache.store_entities([make("glass-rat", "A rat.", type="creatures", document="zoo")], "creatures")
    starter.searcher.documents.forget()
    page = await ask(starter, ["spells"], filters={"level": 3}, documents=["zoo"])
    assert "has spells, but not in 'zoo'" in (page.note or "")


@pytest.mark.parametrize(("text", "filters"), [(None, {"level": 1}), ("a burst of fire", {})])
async def test_an_offset_beyond_the_end_says_how_many_there_are(starter, text, filters):
    total = (await ask(starter, ["spells"], text, filters=filters)).total
    page = await ask(starter, ["spells"], text, filters=filters, offset=5000)
    assert page.results == []
    assert f"{total:,} found in all" in page_text(Shown(page))


async def test_nothing_found_is_one_sentence(starter):
    page = await ask(starter, ["spells", "rules"], "qqzx vrrp xkcdq")
    assert page_text(Shown(page)).startswith("Nothing that was searched is close")
    assert "Nothing found" not in page_text(Shown(page))


@pytest.mark.parametrize(
    ("types", "documents", "subject"),
    [
        (list(SEARCHED), None, "Nothing in the library"),
        (["spells"], None, "No spell"),
        (["equipment"], None, "No item"),
        (["spells", "rules"], None, "Nothing that was searched"),
        (["spells"], ["srd-2014"], "Nothing that was searched"),
        (list(SEARCHED), ["srd-2014"], "Nothing that was searched"),
    ],
)
async def test_only_what_was_searched_is_denied(types, documents, subject):
    assert nothing(types, documents) == subject


# --- other languages ---------------------------------------------------------------------------------------------------

FOREIGN_QUESTIONS = [
    "Welcher Zauber macht mich unsichtbar",
    "Waffe gegen Werwölfe",
    "quelle créature se nourrit de cauchemars",
    "un sort pour réparer une corde",
    "criatura que devora gemas",
    "cómo se curan los venenos",
    "qual incantesimo serve per respirare sott'acqua",
    "magia para encontrar armadilhas",
    "o que faz um mago de nível cinco",
    "Как работает захват",
]


@pytest.mark.parametrize("question", FOREIGN_QUESTIONS)
async def test_a_question_in_another_language_is_told_that_the_books_are_in_english(starter, question):
    page = await ask(starter, ["spells", "creatures", "rules"], question)
    assert (page.note or "").startswith(FOREIGN)
    assert "is close to this query" not in page_text(Shown(page))


@pytest.mark.parametrize(
    "question",
    [
        "die of thirst in the desert",
        "war caster with a spear",
        "the count of Las Mareas",
        "El Corvo",
        "con artist background",
        "sans sword",
        "Ser Aldric van der Mere",
        "how do I not die",
        "so was it a hat",
        "me in a bar",
        "best pizza in Naples",
        "no trains to Tokyo",
        "is Zagreb on fire",
        "do i take damage",
        "1d6 per 10 feet",
        "non magical dmg",
    ],
)
async def test_english_questions_with_words_of_other_languages_are_english(question):
    words = content_words(fold(question))
    names = {"mareas", "corvo", "mere", "aldric", "pizza", "naples", "trains", "tokyo", "zagreb", "dmg"}
    assert language_of(question, [word for word in words if word not in names], 9000) is None


@pytest.mark.parametrize("question", ["drache im wald", "veneno en la cueva", "drago con le corna"])
async def test_a_few_words_of_another_language_that_no_entry_has_are_recognised(question):
    assert language_of(question, [], 9000) is not None


async def test_a_name_in_another_language_is_found_and_named(starter):
    page = await ask(starter, ["spells"], "Wie viel Schaden macht ein Feuerball")
    assert page.results[0].entity.name == "Fireball"
    assert page.results[0].sure
    assert "It names Fireball." in (page.note or "")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("quantos pontos de vida tem um goblin", "Goblin"),
        ("qué hace un troll cuando se quema", "Troll"),
        ("Wie schwer ist es, einen Oger zu treffen?", "Ogre"),
    ],
)
async def test_a_sentence_in_another_language_leads_to_what_it_names(starter, question, name):
    page = await ask(starter, ["spells", "creatures", "rules"], question)
    assert page.results[0].entity.name.startswith(name)
    assert (page.note or "").startswith(FOREIGN)
    assert f"It names {name}" in (page.note or "")


async def test_a_note_that_a_question_in_another_language_names_is_surely_meant(tmp_path):
    others = [
        make(f"n{n}", f"Cargo list {n}: salt, rope and lamp oil.", type="notes", name=f"Cargo {n}") for n in range(400)
    ]
    note = make("veyra", "She keeps the old lighthouse of the cape.", type="notes", name="Veyra")
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([*others, note], "notes")
        page = await ask(library, ["notes"], "Wer ist Veyra wirklich?")
        unnamed = await ask(library, ["notes"], "Wie backe ich einen Kuchen?")
    assert page.results[0].entity.name == "Veyra"
    assert page.note == FOREIGN_NAMED.format("Veyra")
    assert (unnamed.results, unnamed.note) == ([], FOREIGN_NOTES)


async def test_notes_in_the_language_of_the_question_answer_it_without_that_note(tmp_path):
    text = "Die Wirtin hat uns gebeten, nach dem Boten zu suchen, weil er seit drei Tagen nicht mehr da ist. "
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([make("wirtin", text, type="notes", name="Die Wirtin")], "notes")
        german = await ask(library, ["notes"], "worum hat uns die Wirtin gebeten und warum")
        french = await ask(library, ["notes"], "qu'est-ce que nous avons promis et pourquoi")
    assert german.note is None
    assert (french.note or "").startswith(FOREIGN_UNSURE)


async def test_words_of_notes_in_another_language_are_found_in_their_other_forms(tmp_path):
    """By the words alone: of a vault in Cyrillic letters, and of one that has most function words of Czech."""
    little = (
        (Path(lorekeeper.__file__).parent / "data" / "function_words.tsv")
        .read_text("utf-8")
        .split("Czech\t")[1]
        .split("\t")[0]
    )
    texts = {
        "реки": "Как текут потоки кислотных рек.",
        "город": "Улицы, дома и рынок.",
        "kostel": f"Kostel v údolí. {little}",
        "průsmyk": "Démoni z kamenných soch.",
    }
    notes = [make(name, text, type="notes", name=f"Nota {n}") for n, (name, text) in enumerate(texts.items())]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(notes, "notes")
        for question, name in (("кислотные реки", "реки"), ("démon kamenná socha", "průsmyk")):
            page = await library.search(Query(["notes"], question, mode="keyword"))
            assert [result.entity.slug for result in page.results][:1] == [name], question


# --- words that no entry has -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "kinda sneaky spells for rogues",
        "wanna fly around",
        "chainmail armor",
        "firball spell damge",
        "colourfull spray",
        "we yeeted the goblin king off a bridge and now his zorbonauts follow us through every town of the valley",
        "gonna need a bigger boat",
    ],
)
async def test_slang_misspellings_compounds_and_asides_are_no_missing_words(starter, question):
    page = await ask(starter, ["spells", "creatures", "equipment", "rules"], question)
    assert "No entry has the word" not in (page.note or "")


@pytest.mark.parametrize(
    ("question", "word"),
    [("zeppelin wizard", "zeppelin"), ("hologram trap", "hologram"), ("photocopier trap", "photocopier")],
)
async def test_the_word_that_a_short_question_is_about_is_named(starter, question, word):
    page = await ask(starter, ["spells", "creatures", "equipment", "rules"], question)
    assert f"'{word}'" in (page.note or "") or "is close" in (page.note or "")


@pytest.mark.parametrize(
    ("question", "name"),
    [("spirt gaurdians dmg per slot", "Spirit Guardians"), ("mage armer", "Mage Armor"), ("owlbare atack", "Owlbear")],
)
async def test_misspelt_words_are_read_in_the_name_that_they_nearly_are_together(starter, question, name):
    assert (await ask(starter, ["spells", "creatures", "rules"], question)).results[0].entity.name == name


async def test_a_misspelt_word_is_read_as_the_word_of_a_name_that_it_nearly_is(starter):
    page = await ask(starter, SEARCHED, "suprise how does it work")
    assert page.results[0].entity.name == "Surprise"
    assert page.note == "'suprise' was read as 'surprise'."
    old = await ask(starter, SEARCHED, "\u017fuprise how does it work")  # the long s, a letter of the same word
    assert (old.results[0].entity.name, old.note) == ("Surprise", page.note)
    several = "does suprise or beeing invisibel or incapacitatd give advantage on attacks against creatures"
    told = (await ask(starter, SEARCHED, several)).note or ""
    assert re.findall(r"'(\w+)' was read", told) == ["suprise", "invisibel", "incapacitatd"], told


@pytest.mark.parametrize(
    "question",
    [
        "wie viel Schaden macht ein Feuerball",
        "combien de dégâts fait une boule de feu",
        "cuánto daño hace una bola de fuego",
        "quanti danni fa una palla di fuoco",
        "ile obrażeń zadaje kula ognia",
    ],
)
async def test_words_of_another_language_are_not_misspelt(starter, question):
    assert "was read as" not in ((await ask(starter, SEARCHED, question)).note or "")


async def test_what_an_abbreviation_stands_for_is_no_word_that_is_missing(starter):
    page = await ask(starter, SEARCHED, "concentration check dc after dmg")
    assert (page.results[0].entity.name, page.results[0].sure, page.note) == ("Concentration", True, None)


async def test_words_that_only_ask_are_not_missed(starter):
    assert "cant" not in str((await ask(starter, SEARCHED, "a bag that can't be opened by thieves")).note)
    page = await ask(starter, SEARCHED, "how does cover work")
    assert (page.results[0].entity.name, page.results[0].sure, page.note) == ("Cover", True, None)


async def test_a_question_about_a_figure_or_two_editions_sets_no_filter(starter):
    for question, said in (("how much xp is a cr 5", ""), ("help action 2024 vs 2014", "compare_entries")):
        page = await ask(starter, SEARCHED, question)
        assert page.results[0].entity.type == "rules"
        assert "set " not in (page.note or "")
        assert said in (page.note or "")


async def test_what_a_class_has_at_a_level_is_asked_in_the_words_of_its_table(starter):
    for question, name in (("wizard cantrips known lvl 4", "Wizard"), ("warlock spell slots at level 5", "Warlock")):
        assert (await ask(starter, SEARCHED, question)).results[0].entity.name == name


# --- editions ----------------------------------------------------------------------------------------------------------


def rule(slug: str, document: str, text: str) -> Entity:
    return make(slug, text, type="rules", kind="rule", name=slug.title(), document=document)


SWIMMING = [
    rule("swimming in rivers", "srd-2014", "Swimming in rivers: swimming costs extra movement, in rivers even more."),
    rule(
        "swimming and diving",
        "srd-2014",
        "Swimming and diving in rivers, lakes and seas: how long you hold your breath.",
    ),
    rule("water", "srd-2024", "Water: swimming in rivers costs one extra foot."),
    rule("rivers", "a5e-ag", "Rivers: swimming in a river."),
]


@pytest.fixture(scope="module")
async def swimmers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with open_library(tmp_path_factory.mktemp("swimmers"), backend="sqlite") as opened:
        await opened.cache.store_entities(SWIMMING, "rules")
        yield opened


async def test_the_edition_that_is_asked_for_comes_first_among_the_sure_hits(swimmers):
    for edition in ("2024", "2014"):
        page = await ask(swimmers, ["rules"], "swimming in rivers", edition=(edition,), mode="auto")
        sure = [result.edition for result in page.results if result.sure]
        own = [each == edition for each in sure]
        assert own == sorted(own, reverse=True), (edition, sure)
    wordings = await ask(swimmers, ["rules"], "river swimming cost", also=["how to swim in rivers"], edition=("2024",))
    assert next(r.edition for r in wordings.results if r.sure) == "2024"
    assert wordings.note is None


async def test_pages_in_the_order_of_an_edition_neither_overlap_nor_miss_any(swimmers):
    asked = Query(["rules"], "swimming in rivers", edition=("2024",), limit=1)
    pages = [await swimmers.search(replace(asked, offset=n)) for n in range(4)]
    whole = await swimmers.search(replace(asked, limit=10))
    assert [p.results[0].entity.uri for p in pages if p.results] == [r.entity.uri for r in whole.results]


async def test_that_nothing_is_of_the_edition_is_said(swimmers):
    page = await ask(swimmers, ["rules"], filters={"name": "diving"}, edition=("2024",))
    assert "None of these is from the 2024 edition." in (page.note or "")


# --- the SRD of 2014 is one book -----------------------------------------------------------------------------------------


@pytest.fixture(params=["milvus", "sqlite"])
async def halves(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Library]:
    """A library with both parts of the SRD of 2014, and another book."""
    async with open_library(tmp_path, backend=request.param) as opened:
        await opened.cache.store_entities(
            [
                rule("rest", "wotc-srd", "A rest of one hour is short, one of eight is long."),
                rule("madness", "srd-2014", "A mind that breaks needs a rest."),
                rule("repose", "a5e-ag", "A rest is called repose."),
            ],
            "rules",
        )
        await opened.cache.store_entities([make("spark", "A spark.", document="srd-2014")], "spells")
        yield opened


@pytest.mark.parametrize("key", ["srd-2014", "wotc-srd"])
@pytest.mark.parametrize("text", [None, "rest"])
async def test_either_key_of_the_srd_of_2014_finds_both_of_its_parts(halves, key, text):
    page = await ask(halves, ["rules"], text, documents=[key])
    assert {result.entity.document for result in page.results} == {"srd-2014", "wotc-srd"}
    assert {result.edition for result in page.results} == {"2014"}
    assert [r.entity.name for r in (await ask(halves, ["spells"], text and "spark", documents=[key])).results] == [
        "spark"
    ]


async def test_the_list_of_documents_says_that_they_are_one_book(halves):
    answer = await documents_answer(halves)
    by_key = {document["key"]: document for document in answer.structured["documents"]}
    assert by_key["srd-2014"]["searched_with"] == ["wotc-srd"]
    assert by_key["wotc-srd"]["searched_with"] == ["srd-2014"]
    assert "searched_with" not in by_key["a5e-ag"]
    assert "searched together with wotc-srd" in answer.text


@pytest.mark.parametrize("key", ["srd-2014", "wotc-srd"])
async def test_the_facet_of_books_counts_what_choosing_the_book_finds(halves, key):
    titles = await halves.searcher.documents.titled()
    sought = parse_query(f"type:rule book:{key}", titles, ["rules", "spells"])
    book = next(facet for facet in await facets(halves.searcher, sought) if facet.name == "book")
    assert [(value.value, value.count, value.chosen) for value in book.values] == [(key, 2, True)]
    assert (await halves.search(sought.query())).total == 2


async def test_its_entries_have_the_key_of_the_book_and_are_no_versions_of_each_other(halves):
    traps = [rule("traps", key, f"Traps are sprung by {key}.") for key in ("srd-2014", "wotc-srd")]
    await halves.cache.store_entities(traps, "rules")
    assert (await call(halves, "lookup_rule", name="rest")).text.startswith("- Rest, srd-2014 (")
    assert "one of eight is long" in (await call(halves, "get_entity", uri="rest, srd-2014")).text
    asked = await call(halves, "lookup_rule", semantic_query="how are traps sprung")
    assert ["differs" in each for each in asked.structured["results"] if each["name"] == "Traps"] == [False, False]
    for key in ("srd-2014", "wotc-srd"):
        assert f"by {key}" in (await call(halves, "get_entity", uri=f"traps, {key}")).text


async def test_a_library_with_one_part_takes_the_key_of_the_other(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([rule("rest", "wotc-srd", "A rest.")], "rules")
        assert (await ask(library, ["rules"], documents=["srd-2014"])).total == 1


async def test_the_list_of_an_empty_library_says_so_and_how_to_fill_it(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        answer = await documents_answer(library.view())
        assert answer.text.startswith("0 documents\nThe library is empty: ")
        of_type = await documents_answer(library.view(), "notes")
        assert of_type.text == "0 documents"


@pytest.mark.parametrize("query", ["Warhammer 40k bolter damage", "a duel of the Star Wars", "WFRP careers"])
async def test_a_question_about_another_game_of_science_fiction_or_fantasy_names_the_game(query):
    found = absent(query, ["Warhammer", "Star Iron"], [])
    assert found
    assert found.game
    assert absent("warhammer of war", ["Warhammer"], []) is None


async def test_a_dossier_on_a_name_that_nothing_has_says_that_it_is_only_near(starter):
    place = await starter.view().topic("Sunlight")
    assert "Nothing is called 'Sunlight'" in (place.note or "")
    closed = await starter.view().topic("Strahd")
    assert "'Strahd' is not open content" in (closed.note or "") or not closed.parts
    theme = await starter.view().topic("sunlight against undead")
    assert "Nothing is called" not in (theme.note or "")


# --- what is there, although the first look says that it is not --------------------------------------------------------


async def test_short_notes_in_the_language_of_the_question_answer_it_together(tmp_path):
    texts = {
        "mond": "Heute ist der 14. Erntemond.",
        "hecht": "Die Wirtin ist Trude.",
        "mühle": "Das ist die Mühle nicht mehr.",
    }
    notes = [make(name, text, type="notes", name=name.title()) for name, text in texts.items()]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(notes, "notes")
        found = await ask(library, ["notes"], "welcher Mond ist heute und wer ist die Wirtin")
        among_books = await ask(library, ["notes", "spells"], "welcher Mond ist heute und wer ist die Wirtin")
    assert found.note is None
    assert among_books.note == FOREIGN_BOOKS, "that no entry has a word of another language says nothing"


async def test_entries_of_one_name_are_compared_although_a_book_has_them_as_another_kind(tmp_path):
    tonic = [
        make("tonic", "It mends wounds.", document=book, name="Marsh Tonic", type="equipment", kind=kind)
        for book, kind in (("reeds", "gear"), ("fens", "magic-item"))
    ]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(tonic, "equipment")
        found = await versions(library.search, "marsh tonic", ["equipment"], 4)
    assert sorted(entity.document for entity in found.entities) == ["fens", "reeds"]


async def test_an_entry_of_a_short_name_is_found_behind_many_that_have_a_part_of_it(tmp_path):
    spells = [make(f"restore-{n}", name=f"Restoration {n}") for n in range(30)]
    rests = [make("rest", document=book, name="Rest", type="rules", kind="rule") for book in ("reeds", "fens")]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(spells, "spells")
        await library.cache.store_entities(rests, "rules")
        found = await versions(library.search, "rest", ["spells", "rules"], 4)
    assert [entity.name for entity in found.entities] == ["Rest", "Rest"]


async def test_a_dossier_of_entries_near_in_meaning_alone_says_that_no_note_is_about_the_topic(starter):
    dossier = await starter.view().topic("setting things on fire from afar")
    assert [part.title for part in dossier.parts] == ["Stat blocks and rules"]
    assert (
        dossier.note == "No note is about 'setting things on fire from afar'; these entries are the nearest in meaning."
    )
