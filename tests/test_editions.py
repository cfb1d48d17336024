"""Editions: which documents come first, what is said of them, and what earlier versions stored for several at once."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lorekeeper.editions import LABELS, Book, edition_label, edition_of, in_order, parse_edition
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, UnknownDocumentError
from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.search.documents import COMPARED, STATED
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.server.answers import document_list
from lorekeeper.settings import load_settings, write_setting
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row
from tests.support.tools import call

SYSTEMS = {
    "a5e-ag": ("5e Advanced", "Advanced 5th Edition", "2021-11-01"),
    "bfrd": ("Black Flag SRD", "5th Edition 2014", "2023-10-16"),
    "srd-2014": ("Rules of 2014", "5th Edition 2014", "2023-01-23"),
    "srd-2024": ("Rules of 2024", "5th Edition 2024", "2024-01-01"),
    "tide-atlas": ("The Tide Atlas", "5th Edition 2014", "2025-03-01"),
}


def record(key: str) -> Entity:
    title, system, date = SYSTEMS[key]
    data = {"name": title, "publication_date": date}
    return make(key, type="documents", name=title, document=key, kind="document", data=data, game_system=system)


SPELLS = [make("spark", f"A spark leaps, says {key}.", name="Spark", document=key, level=0) for key in SYSTEMS]
OTHERS = [make("spark-shield", "It stops sparks.", name="Spark Shield", document=key, level=1) for key in SYSTEMS]
RULES = [
    make(f"rule-{n}", f"Turn {n} of the tide.", type="rules", name=f"Tide Rule {n}", document="srd-2014")
    for n in range(6)
]


async def filled(library: Library) -> Library:
    await library.cache.store_entities([record(key) for key in SYSTEMS], "documents")
    await library.cache.store_entities([*SPELLS, *OTHERS, make("spark", name="Spark", document="my-table")], "spells")
    await library.cache.store_entities(RULES, "rules")
    return library


@pytest.fixture(params=["milvus", "sqlite"])
async def library(request, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(tmp_path, backend=request.param) as opened:
        yield await filled(opened)


async def order_of(library: Library, **arguments: Any) -> list[str]:
    return [r["document"] for r in (await call(library, "lookup_spell", **arguments)).structured["results"]]


# --- names with an edition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "edition"),
    [
        ("Spark 2024", "2024"),
        ("spark (2024)", "2024"),
        ("2024 Spark", "2024"),
        ("Spark [A5E]", "a5e"),
        ("Spark (PHB 2014)", "2014"),
        ("Spark, 2024 rules", "2024"),
        ("spark (5th level)", None),
        ("Spark [cantrip]", None),
    ],
)
async def test_a_name_with_what_people_add_to_it_is_that_name(library, name, edition):
    plain = await call(library, "lookup_spell", name="spark", **({"edition": edition} if edition else {}))
    found = await call(library, "lookup_spell", name=name)
    assert found.structured["results"] == plain.structured["results"]
    assert found.structured["results"][0]["name"] == "Spark"
    assert (f"edition='{edition}'" in (found.structured["note"] or "").casefold()) is (edition is not None)


# --- the table -------------------------------------------------------------------------------------------------------


@each_row(
    ("document", "system", "edition"),
    [
        ("srd-2014", "5th Edition 2014", "2014"),
        ("tob", "5th edition 2014", "2014"),
        ("srd-2024", None, "2024"),
        ("a5e-mm", "Advanced 5th Edition", "a5e"),
        ("a5e-mm", "a5e", "a5e"),
        ("bfrd", "5th Edition 2014", "black-flag"),
        ("wotc-srd", None, "2014"),
        ("my-game", "Tide & Tower", "tide tower"),
        ("my-table", None, ""),
    ],
)
def test_a_documents_edition_follows_from_its_game_system_and_a_short_table(document, system, edition):
    assert edition_of(document, system) == edition


@each_row(
    ("text", "parsed"),
    [
        ("2014", ("2014",)),
        ("A5E", ("a5e",)),
        ("Black Flag", ("black-flag",)),
        ("5e-2024", ("2024",)),
        (" my-table , 2014 ,, 2014", ("my-table", "2014")),
    ],
)
def test_an_edition_is_written_in_any_of_its_names_alone_or_in_a_list(text, parsed):
    assert parse_edition(text) == parsed


def test_books_are_ordered_by_wish_then_reference_then_age(seed):
    pick = Random(seed)
    editions, keys = [*LABELS, "", "tide tower"], [*SYSTEMS, *(f"book-{n}" for n in range(20))]
    for _ in range(100):
        books = [Book(k, pick.choice(editions), str(pick.randrange(2010, 2026))) for k in keys]
        wanted = pick.sample([*LABELS, *keys], pick.randrange(4))
        order = in_order(pick.sample(books, len(books)), wanted)
        assert order == in_order(books, wanted)
        assert sorted(order) == sorted(keys)
        named = [key for key in wanted if key in keys]
        if wanted and wanted == named:
            assert order[: len(named)] == named
        if wanted and wanted[0] in LABELS:
            chosen = {b.key for b in books if b.edition == wanted[0] and b.key not in wanted}
            assert set(order[: len(chosen)]) <= {b.key for b in books if b.edition == wanted[0]}


# --- what comes first ------------------------------------------------------------------------------------------------


async def test_the_tables_own_edition_comes_first_in_lists_and_pages_join(library):
    library.searcher = Searcher(library.cache, ("a5e", "2014"))
    assert await order_of(library, name="spark", limit=1) == ["a5e-ag"]
    whole = await order_of(library, name="spark", limit=50)
    assert whole[:3] == ["a5e-ag", "srd-2014", "tide-atlas"]
    pages = [await order_of(library, name="spark", limit=2, offset=offset) for offset in range(0, len(whole), 2)]
    assert [document for page in pages for document in page] == whole
    listed = [(await call(library, "lookup_spell", edition="2014", limit=3, offset=at)).text for at in (0, 3)]
    said = ["8 more, 7 outside that edition: offset=3", "5 more, 5 outside that edition: offset=6"]
    assert [text.splitlines()[-1] for text in listed] == said
    names = [e.name for e in await library.cache.get_entities("spells", name="spark", prefer=["a5e-ag"])]
    assert names == sorted(names, key=lambda name: (fold(name) != "spark", fold(name)))


@pytest.mark.parametrize(
    ("written", "document"),
    [
        ("Spark, srd-2014", "srd-2014"),
        ("spark (tide-atlas)", "tide-atlas"),
        ("Spark [The Tide Atlas]", "tide-atlas"),
        ("Spark from Rules of 2024", "srd-2024"),
        ("Spark, 2014", "srd-2014"),
        ("Spark (2024)", "srd-2024"),
    ],
)
async def test_a_name_may_have_its_book_or_edition_behind_it(library, written, document):
    entry = (await call(library, "get_entity", uri=written)).structured
    assert entry["uri"] == f"lore://spells/{document}/spark"
    page = (await call(library, "lookup_spell", name=written)).structured
    assert page["results"][0]["document"] == document
    assert ("documents=" in page["note"]) is not written.strip(")").endswith((", 2014", "(2024"))


async def test_the_house_edition_stands_for_its_variants_and_names_them(library):
    for edition, document in [
        ("2014", "srd-2014"),
        ("a5e", "a5e-ag"),
        ("black-flag", "bfrd"),
        ("my-table", "my-table"),
    ]:
        answer = await call(library, "search_lore", query="spark", types=["spells"], edition=edition, limit=2)
        first = answer.structured["results"][0]
        assert first["document"] == document
        others = {edition_label(edition_of(key, SYSTEMS[key][1])) for key in SYSTEMS} - {edition_label(edition)}
        assert all(f"{label}: lore://spells/" in first["differs"] for label in others)


def rule(document: str, chapter: str, name: str, text: str, kind: str = "rule") -> Entity:
    slug = f"{fold(chapter)}_{fold(name)}".replace(" ", "-")
    return make(slug, text, type="rules", kind=kind, name=name, document=document, parent=chapter or None)


GLOSSARY = "lorekeeper-rules-2024"


async def rows(library: Library, query: str, *rules: Entity, limit: int) -> dict[str, str]:
    """The first rows, by document and slug: what has none of its own comes after all others."""
    await library.cache.store_entities(list(rules), "rules")
    library.searcher.documents.forget()
    answer = await call(library, "lookup_rule", semantic_query=query, edition="2024", limit=limit)
    found = answer.structured["results"]
    return {each["uri"].removeprefix("lore://rules/"): f"{each['facts']} | {each.get('differs', '')}" for each in found}


async def test_a_glossary_is_beside_what_the_books_have_once(library):
    told = await rows(
        library,
        "becalmed ship anchor watch",
        rule("srd-2024", "", "Becalmed", "A becalmed ship does not move under sail.", "condition"),
        rule(GLOSSARY, "Rules Glossary", "Becalmed", "No sail moves you.", "condition"),
        rule(GLOSSARY, "Rules Glossary", "Anchor Watch", "Stay awake beside the anchor.", "action"),
        rule("srd-2014", "Aboard", "Anchor Watch", "One sailor keeps the anchor watch each night."),
        rule(GLOSSARY, "Rules Glossary", "Swift Haul", "A swift haul needs a trait that gives you one."),
        rule("srd-2014", "Nets", "Swift Haul", "A net with a swift haul comes up at once."),
        rule("srd-2014", "Turns", "Swift Hauls", "Some traits give you a swift haul on your turn."),
        limit=20,
    )
    assert "also in lore://rules/srd-2024/_becalmed" in told[f"{GLOSSARY}/rules-glossary_becalmed"]
    watch = told[f"{GLOSSARY}/rules-glossary_anchor-watch"]
    assert "differs in 2014: lore://rules/srd-2014/aboard_anchor-watch" in watch
    told = await rows(library, "swift haul", limit=3)
    assert "differs" not in told[f"{GLOSSARY}/rules-glossary_swift-haul"]
    assert "srd-2014/nets_swift-haul" in told


async def test_one_rule_stands_in_other_chapters_of_other_editions(library):
    text = "Whoever rides a seahorse into a fight keeps one hand on the reins and steers with the knees."
    told = await rows(
        library,
        "seahorse riding",
        rule("srd-2024", "Fights", "Seahorse Riding", text),
        rule(GLOSSARY, "Toolbox", "Seahorse Riding", "Keep one hand on the reins, and steer with the knees."),
        rule("srd-2014", "", "Seahorse Riding", "A rider may be thrown when the beast is startled.", "section"),
        rule(
            "srd-2024",
            "Views",
            "Tide Sight",
            "Fog and night veil what sailors see: both impose Disadvantage on checks.",
        ),
        rule(
            "srd-2014",
            "Weather",
            "Tide Sight",
            "Fog and night veil what sailors see, which imposes disadvantage on checks.",
        ),
        limit=2,
    )
    riding = told[f"{GLOSSARY}/toolbox_seahorse-riding"]
    assert "also in lore://rules/srd-2024/fights_seahorse-riding" in riding
    assert "differs in 2014: lore://rules/srd-2014/_seahorse-riding" in riding
    told = await rows(library, "tide sight", limit=1)
    assert "differs in 2014: lore://rules/srd-2014/weather_tide-sight" in told["srd-2024/views_tide-sight"]


async def test_another_edition_is_known_by_name_whatever_was_found(library):
    """A filter, a limit, or words that only one edition has leave the other one out of what is found, not out of its mark."""
    await library.cache.store_entities(
        [
            make("kelp-mail", "Woven kelp turns blades.", name="Kelp Mail", document="srd-2024", level=4),
            make("kelp-mail", "A shirt of weed.", name="Kelp Mail", document="srd-2014", level=2),
            make("kelp-mail-2", "A long shirt.", name="Kelp Mail (2nd Knot)", document="a5e-ag", level=2),
        ],
        "spells",
    )
    await library.cache.store_entities(
        [
            make("mail-1", "A shirt.", name="Kelp Mail", document="srd-2014", type="equipment", kind="armor"),
            make("mail-2", "A fine shirt.", name="Kelp Mail (+1)", document="srd-2024", type="equipment", kind="armor"),
        ],
        "equipment",
    )
    library.searcher.documents.forget()
    mark = "differs in 2014: lore://spells/srd-2014/kelp-mail, A5E: lore://spells/a5e-ag/kelp-mail-2"
    for asked in ({"semantic_query": "woven turns blades"}, {"semantic_query": "kelp mail", "level": 4}):
        first = (await call(library, "lookup_spell", **asked, limit=1)).structured["results"][0]
        assert (first["document"], first["differs"]) == ("srd-2024", mark)
    named = (await call(library, "lookup_spell", name="kelp mail", limit=1)).structured["results"]
    assert [each["differs"] for each in named] == [mark]
    named = (await call(library, "lookup_spell", name="kelp mail")).structured["results"]
    assert ["differs" in each for each in named] == [False] * 3  # each is listed
    alone = (await call(library, "lookup_spell", name="kelp mail 2nd knot")).structured["results"][0]
    assert (
        alone["differs"] == "differs in 2024: lore://spells/srd-2024/kelp-mail, 2014: lore://spells/srd-2014/kelp-mail"
    )
    within = (await call(library, "lookup_spell", name="kelp mail", documents=["srd-2024"])).structured["results"]
    assert ["differs" in each for each in within] == [False]
    for asked in ({"name": "kelp mail +1"}, {"semantic_query": "a fine shirt"}):  # one with a bonus is another thing
        first = (await call(library, "lookup_equipment", **asked, limit=1)).structured["results"][0]
        assert (first["name"], "differs" in first) == ("Kelp Mail (+1)", False)


async def test_a_book_is_searched_with_the_glossary_that_completes_it(library):
    glossary = make("drift", "Drift with it.", type="rules", name="Drift", document="lorekeeper-rules-2024")
    book = make("tide-2024", "Drift of no tide.", type="rules", name="Sand", document="srd-2024")
    await library.cache.store_entities([glossary], "rules")
    library.searcher.documents.forget()
    await library.cache.store_entities([book], "rules")
    library.searcher.documents.forget()
    for documents, found in [
        (["srd-2024"], ["lorekeeper-rules-2024", "srd-2024"]),
        (["lorekeeper-rules-2024"], ["lorekeeper-rules-2024"]),
    ]:
        for arguments in ({"semantic_query": "drift"}, {}):
            answer = await call(library, "lookup_rule", documents=documents, **arguments)
            assert sorted(each["document"] for each in answer.structured["results"]) == found
    listed = {each["key"]: each for each in await document_list(library, "rules")}
    assert listed["srd-2024"]["searched_with"] == ["lorekeeper-rules-2024"]
    assert "searched_with" not in listed["lorekeeper-rules-2024"]


@pytest.mark.parametrize(
    ("query", "edition", "first"),
    [
        ("how does spark work in 2014?", "2014", "srd-2014"),
        ("Spark (2014)", "2014", "srd-2014"),
        ("spark in the 5e 2014 rules", "2014", "srd-2014"),
        ("2014 rules: spark", "2014", "srd-2014"),
        ("spark, A5E", "A5E", "a5e-ag"),
        ("spark", None, "srd-2024"),
        ("what did we spark in 2014", None, "srd-2024"),
        ("spark of 3 March 2014", None, "srd-2024"),
        ("2014", None, "srd-2024"),
    ],
)
async def test_a_question_may_name_the_edition(library, query, edition, first):
    page = await library.search(Query(["spells"], query))
    assert (page.results[0].entity.document if page.results else None) == first
    assert (STATED.format(edition) in (page.note or "")) if edition else (STATED[:10] not in (page.note or ""))
    asked = await library.search(Query(["spells"], query, edition=("2024",)))
    assert STATED[:10] not in (asked.note or "")


async def test_what_the_edition_of_a_question_calls_by_a_longer_name_comes_first(library):
    tides = [make(slug, "It comes and goes.", type="rules", name=name, document=document)
             for slug, name, document in [("ebb", "Ebb", "srd-2014"), ("great-ebb", "Great Ebb", "srd-2024")]]  # fmt: skip
    await library.cache.store_entities(tides, "rules")
    page = await library.search(Query(["rules"], "ebb 2024"))
    assert [each.entity.name for each in page.results[:2]] == ["Great Ebb", "Ebb"]
    assert page.results[0].sure
    none = (await call(library, "lookup_rule", semantic_query="tide rule 3 2024")).structured
    assert "from the 2024 edition." in none["note"]


async def test_a_question_that_names_several_editions_has_what_each_says(library):
    page = await library.search(Query(["spells"], "spark 2014 vs 2024"))
    assert {each.entity.document for each in page.results[:2]} == {"srd-2014", "srd-2024"}
    assert page.note == COMPARED.format("2014 and 2024")


async def test_an_unknown_edition_is_an_error_that_names_the_known_ones(library):
    with pytest.raises(UnknownDocumentError, match=r"2014, 2024, a5e, black-flag.*tide-atlas"):
        await call(library, "lookup_spell", name="spark", edition="adnd")
    with pytest.raises(FilterError, match="known: 2014"):
        await call(library, "lookup_spell", name="spark", edition="1987")


# --- what is said ----------------------------------------------------------------------------------------------------


async def test_every_result_says_its_edition_in_both_copies(library):
    answer = await call(library, "lookup_spell", name="spark", limit=50)
    editions = {r["document"]: r["edition"] for r in answer.structured["results"]}
    assert editions == {
        "a5e-ag": "a5e",
        "bfrd": "black-flag",
        "srd-2014": "2014",
        "srd-2024": "2024",
        "tide-atlas": "2014",
        "my-table": "",
    }
    assert "- Spark, srd-2024 (spell; Rules of 2024; differs from Spark, srd-2014; " in answer.text
    assert "; differs from Spark, bfrd; " in answer.text


async def test_versions_of_a_list_with_other_texts_are_said_to_differ(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        texts = {"srd-2014": "You hide unseen.", "srd-2024": "You hide at DC 15.", "toh": "You hide at DC 15."}
        for document, text in texts.items():
            hide = make("hide", document=document, name="Hide", type="rules", kind="rule", data={"desc": text})
            await library.cache.store_entities([hide], "rules")
        answer = await call(library, "lookup_rule", name="hide")
    row, text = answer.text.splitlines()[:2]
    assert "differs from Hide, srd-2014" in row
    assert "also Hide, toh" in row
    assert text.strip() == "You hide at DC 15."


async def test_what_the_books_of_the_edition_lack_is_said(library):
    library.searcher = Searcher(library.cache, ("2024",))
    answer = await call(library, "lookup_rule", semantic_query="turn of the tide")
    said = "Your books have no rules of the 2024 edition; those of 2014 are shown instead."
    assert said in answer.structured["note"]
    few = [make("tide-2024", "Turn of no tide.", type="rules", name="Sand", document="srd-2024")]
    await library.cache.store_entities(few, "rules")
    library.searcher.documents.forget()
    for silent in (
        {"name": "tide rule"},
        {"name": "tide rule", "edition": "2014"},
        {"name": "sand"},
        {"name": "tide rule", "documents": ["srd-2014"]},
    ):
        assert (await call(library, "lookup_rule", **silent)).structured["note"] is None


# --- the setting -----------------------------------------------------------------------------------------------------


def test_a_setting_is_written_beside_the_other_lines_and_stays_private(tmp_path):
    file = tmp_path / "new" / "own.env"
    write_setting(file, "edition", "2014")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("# mine\nLOREKEEPER_OFFLINE=1\nexport LOREKEEPER_EDITION=2014\nOTHER='a b'\n")
    write_setting(file, "edition", "my-table,a5e")
    assert load_settings({}, file)[0].house_edition == ("my-table", "a5e")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = [line for line in file.read_text().splitlines() if "EDITION" not in line]
    assert kept == ["# mine", "LOREKEEPER_OFFLINE=1", "OTHER='a b'"]
    write_setting(file, "edition", None)
    assert load_settings({}, file)[0].edition is None
    assert "LOREKEEPER_OFFLINE=1" in file.read_text()
