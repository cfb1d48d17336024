"""What the note of a page says about its filters: why nothing is left, which values there are, who does not say."""

from __future__ import annotations

import pytest

from lorekeeper.library import Library
from lorekeeper.search.query import Query
from tests.support.libraries import open_library
from tests.support.samples import write_lines

HABITATS = ["swamp", "forest", "swamp", None, None, None, None, None, None]


@pytest.fixture(params=["milvus", "sqlite"])
async def library(request, tmp_path):
    entries = [
        {
            "collection": "creatures",
            "name": f"Marsh Beast {number}",
            "type": "beast" if number % 2 else "ooze",
            "challenge_rating": number,
            **({"environments": [habitat]} if habitat else {}),
        }
        for number, habitat in enumerate(HABITATS)
    ]
    async with open_library(tmp_path, backend=request.param) as opened:
        await opened.import_paths([write_lines(tmp_path / "marsh.jsonl", entries)])
        yield opened


async def note_of(library: Library, **filters: object) -> str:
    return (await library.search(Query(["creatures"], filters=filters))).note or ""


async def test_a_name_that_only_another_book_has_is_answered_with_its_uri(library, tmp_path):
    entry = {"collection": "creatures", "name": "Tide Wight", "type": "undead", "document": "coast"}
    await library.import_paths([write_lines(tmp_path / "coast.jsonl", [entry])])
    found = [
        await library.search(Query(["creatures"], filters={"name": name})) for name in ("tide wight", "marsh beast")
    ]
    wight, beast = (page.results[0].entity for page in found)
    page = await library.search(Query(["creatures"], filters={"name": "tide wight"}, documents=[beast.document]))
    assert page.note == f"No creature has 'tide wight' in its name. Another book has it: {wight.uri}."


async def test_a_value_names_those_who_have_it_with_a_qualifier(library, tmp_path):
    entries = [
        {"collection": "creatures", "name": name, "document": "coast", "resistant": values}
        for name, values in [("Eel", ["cold"]), ("Wraith", ["nonmagical cold"]), ("Both", ["cold", "nonmagical cold"])]
    ]
    await library.import_paths([write_lines(tmp_path / "coast.jsonl", entries)])
    page = await library.search(Query(["creatures"], filters={"where": "resistant:cold"}))
    assert page.total == 2
    assert page.note == "1 more have only nonmagical cold: where='resistant:\"nonmagical cold\"'."


@pytest.mark.parametrize(
    ("test", "found", "said"),
    [
        ("-type:oozes", 9, "type is never 'oozes'; did you mean 'ooze'? Known: ooze, beast."),
        ("type:ooze,beats", 5, "type is never 'beats'; did you mean 'beast'? Known: ooze, beast."),
        ("-environments:swmp cr<1", 1, "environment is never 'swmp'; did you mean 'swamp'? Known: swamp, forest."),
        ("cr:3,41", 1, "cr is never 41: it ranges from 0 to 8."),
        ("-cr:40", 9, "cr is never 40: it ranges from 0 to 8."),
        ("-type:ooze", 4, None),
    ],
)
@pytest.mark.parametrize("types", [["creatures"], ["creatures", "spells"]])
async def test_a_value_that_no_entry_has_is_said_of_a_page_with_results(library, test, found, said, types):
    page = await library.search(Query(types, filters={"where": test}))
    assert page.total == found
    assert (said in (page.note or "")) if said else "never" not in (page.note or "")


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"challenge_rating": 30}, "cr is never 30: it ranges from 0 to 8."),
        ({"challenge_rating_min": 9}, "cr is never at least 9: it ranges from 0 to 8."),
        ({"where": "cr>8"}, "cr is never above 8: it ranges from 0 to 8."),
    ],
)
async def test_a_number_beyond_all_is_answered_with_the_range(library, filters, said):
    assert await note_of(library, **filters) == said


async def test_filters_that_leave_nothing_together_are_told_one_by_one(library):
    said = await note_of(library, type="beast", challenge_rating_max=0)
    assert said == "No creature meets all filters: without type=beast 1, without cr_max=0 4."
    said = await note_of(library, where="type:beast cr<1")
    assert said == "No creature meets all filters: without type:beast 1, without cr<1 4."


async def test_entries_that_do_not_say_are_counted(library):
    page = await library.search(Query(["creatures"], filters={"environments": "swamp"}))
    assert (page.total, page.note) == (
        2,
        "The library knows the environments of only 3 of 9 creatures; the other 6 were left out.",
    )
    said = await note_of(library, environments="swamp", type="ooze")
    assert said == "", "of five, three do not say: too few to mention"


async def test_entries_that_a_negated_test_lists_are_not_said_to_be_left_out(library):
    page = await library.search(Query(["creatures"], filters={"where": "-environments:swamp"}))
    assert page.total == 7
    assert page.note == "The library knows the environments of only 3 of 9 creatures; the other 6 are listed too."
    assert (await library.search(Query(["creatures"], filters={"where": "-lair:true"}))).total == 9
