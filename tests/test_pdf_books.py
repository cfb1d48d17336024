"""Books as PDF: what is read of their pages, the page in every answer, and files that are not what they should be."""

from __future__ import annotations

import itertools
import random
import re
import zlib
from collections import Counter
from pathlib import Path

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.intake.files import Asked
from tests.support.homebrew import problems, read
from tests.support.libraries import open_library
from tests.support.pdf import (
    BOLD,
    BOTH,
    HEIGHT,
    HYPHENS,
    ITALIC,
    PICTURE,
    UNMAPPED,
    Text,
    drawn,
    lines,
    turned,
    write_pdf,
)
from tests.support.tools import call, text_of

pytest.importorskip("pypdfium2")

pytestmark = pytest.mark.processes

HEAD = (72.0, 40.0, 8.0, ITALIC, "The Peat Marches")


def page(number: int, *texts: Text) -> list[Text]:
    """A page with its running head and its number."""
    return [HEAD, (300, HEIGHT - 40, 8, "F1", str(number)), *texts]


ROADS = [
    "The roads through the marches are laid on bundles of reed,",
    "which the wardens renew each spring before the first car-",
    "avans come. Whoever leaves them after dark is led astray by",
    "lights that nobody has followed and come back.",
]
"""A paragraph of 2014 words that were broken at a line's end: caravans stands whole elsewhere."""


def spell(names: list[str], kind: str, told: list[str], top: float = 100, font: str = ITALIC) -> list[Text]:
    """A printed spell, whose name may take several lines."""
    values = ["Casting Time: 1 action", "Range: 60 feet", "Components: V, S", "Duration: 1 hour"]
    below = top + 18 * len(names)
    head = [*lines(names, 72, top, 16, BOLD, leading=18), (72, below, 9, font, kind)]
    return [*head, *lines(values, 72, below + 18), *lines(told, 72, below + 70)]


def marches() -> list[list[Text]]:
    """A book of five pages: chapters, two columns, a stat block, a spell and a table."""
    goblin: list[Text] = [(72, 262, 9, ITALIC, "Small humanoid (goblinoid), neutral evil")]
    for top, left, name, told in (
        (280, 140, "Armor Class", "13 (leather)"),
        (292, 128, "Hit Points", "11 (2d6 + 4)"),
        (304, 106, "Speed", "30 ft., swim 20 ft."),
        (350, 110, "Senses", "darkvision 60 ft., passive"),
        (374, 128, "Challenge", "1/2 (100 XP)"),
        (392, 130, "Reed Step.", "It leaves no track in"),
        (440, 108, "Spear.", "Melee Weapon Attack: +4 to hit,"),
    ):
        goblin += [(72, top, 10, BOLD, name), (left, top, 10, "F1", told)]
    scores = ["8 (-1)", "14 (+2)", "15 (+2)", "9 (-1)", "10 (+0)", "7 (-2)"]
    for place, (name, score) in enumerate(zip("STR DEX CON INT WIS CHA".split(), scores, strict=True)):
        goblin += [(72.0 + 36 * place, 322.0, 8.0, BOLD, name), (72.0 + 36 * place, 334.0, 8.0, "F1", score)]
    goblin += [(72, 362, 10, "F1", "Perception 10"), (72, 404, 10, "F1", "a marsh."), (72, 424, 13, BOLD, "Actions")]
    goblin += lines(["reach 5 ft., one target. Hit: 5 (1d6 + 2)", "piercing damage."], 72, 452)
    table: list[Text] = []
    for row, cells in enumerate(
        [("d6", "Who comes"), ("1-3", "A warden of the reeds"), ("4-6", "Lights without a bear-"), ("", "er")]
    ):
        table += [
            (72.0, 320.0 + 14 * row, 10.0, BOLD if not row else "F1", cells[0]),
            (160.0, 320.0 + 14 * row, 10.0, BOLD if not row else "F1", cells[1]),
        ]
    columns = [
        *lines([f"Left line {number} of the long account goes on here" for number in range(8)], 72, 100),
        *lines([f"Right line {number} of the long account ends there" for number in range(8)], 330, 100),
    ]
    return [
        page(1, (72, 100, 24, BOLD, "Roads"), *lines(ROADS, 72, 140), *lines(["Caravans pay a toll."], 72, 200)),
        page(2, *columns),
        page(3, (72, 100, 24, BOLD, "Creatures"), (72, 246, 16, BOLD, "Peat Goblin"), *goblin),
        page(
            4,
            (72, 100, 24, BOLD, "Magic"),
            *spell(["Reed Whisper"], "1st-level divination", ["You hear what was last said near a reed."], 130),
        ),
        page(5, (72, 100, 24, BOLD, "Encounters"), *lines(["Roll when the party rests."], 72, 140), *table),
    ]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    outline = [("Roads", 0), ("Creatures", 2), ("Magic", 3), ("Encounters", 4)]
    return write_pdf(tmp_path / "marches.pdf", marches(), outline, "The Peat Marches")


def named(entities: list[Entity]) -> dict[str, Entity]:
    return {entity.name: entity for entity in entities}


def test_a_book_is_read_as_sections_and_printed_entries_with_their_pages_and_what_was_understood_is_told(book):
    entities, report = read(book)
    assert problems(report) == ""
    found = named(entities)
    assert {name: entity.data.get("page") for name, entity in found.items()} == {
        "The Peat Marches": None,
        "Peat Goblin": "3",
        "Reed Whisper": "4",
        "Roads": "1",
        "Encounters": "5",
    }
    told = ("armor_class", "hit_points", "challenge_rating", "speed_walk", "speed_swim")
    assert [found["Peat Goblin"].fields[key] for key in told] == [13, 11, 0.5, 30, 20]
    spell = found["Reed Whisper"]
    assert (spell.fields["level"], spell.fields["school"]) == (1, "divination")
    assert found["The Peat Marches"].fields["game_system"] == "5th edition 2014"
    roads = found["Roads"].data["desc"]
    assert "first caravans come. Whoever leaves" in roads
    assert roads.index("Left line 7") < roads.index("Right line 0")
    assert "The Peat Marches" not in roads
    assert "| 4-6 | Lights without a bearer |" in found["Encounters"].data["desc"]
    assert report.books == [
        "The Peat Marches: 5 pages with text; 2 sections, 1 creature, 1 spell",
        "chapters: Roads, Creatures, Magic, Encounters",
    ]


def described(entities: list[Entity]) -> dict[str, str]:
    return {entity.name: str(entity.data.get("desc") or "") for entity in entities}


def test_columns_are_told_from_the_columns_of_a_table_in_one_of_them(tmp_path):
    prose = lines([f"line {number} of the account of all sources" for number in range(14)], 60, 100)
    table = [
        text
        for row in range(12)
        for text in (
            (318, 109 + 12 * row, 9, "F1", f"S{row}"),
            (372, 109 + 12 * row, 9, "F1", f"The {row}. source of it"),
        )
    ]
    title = (60, 75, 20, BOLD, "Chapter One: All Sources")
    capitals = [(60, 244, 10, "F1", "M"), (68.3, 244, 8, "F1", "ARSH and all")]
    pages = [[title, *prose[:-2], *capitals, (318, 97, 12, BOLD, "Sources"), *table]]
    found = described(read(write_pdf(tmp_path / "sources.pdf", pages))[0])
    assert found["Chapter One: All Sources"].endswith("line 11 of the account of all sources\n\nMARSH and all")
    assert "| S11 | The 11. source of it |" in found["Sources"]


def test_large_type_that_goes_on_is_text_and_large_letters_begin_their_words(tmp_path):
    boxed = [f"row {number} of a box in larger type, which goes on for long" for number in range(5)]
    pages = [
        [
            (72, 90, 20, BOLD, "The Hollow"),
            (72, 132, 36, "F1", "T"),
            (96, 112, 10, "F1", "he hollow lies below the hill, and nobody has come back"),
            *lines([f"from it in row {number} of this account of the hollow" for number in range(12)], 96, 124),
            *lines(boxed, 72, 300, 12, leading=14),
            *[(72, 460 + 30 * row, 16, BOLD, name) for row, name in enumerate(["Hollow Folk", "Mole Wife"])],
            (72, 504, 10, BOTH, "Tier 2 Digger"),
            *lines(ROADS, 72, 530),
            (72, 640, 18, BOLD, "Nothing Below"),
        ]
    ]
    entities, _ = read(write_pdf(tmp_path / "hollow.pdf", pages))
    mole = named(entities)["Mole Wife"]
    assert mole.fields["parent"] == "hollow folk"
    text = described(entities)["The Hollow"]
    assert text.startswith("The hollow lies below")
    assert all(text.count(row) == 1 for row in boxed)
    assert mole.data["desc"].split("**")[1::2] == ["Tier 2 Digger"]
    assert named(entities)["Nothing Below"].data["page"] == "1"


def test_points_and_run_in_names_begin_paragraphs(tmp_path):
    monsters = [(72.0, 260.0 + 30 * row, 10.0, BOLD, f"{name} ") for row, name in enumerate(("bog hound", "reed wisp"))]
    texts = [(140.0, 260.0 + 30 * row, 10.0, "F1", "HD 2 AC 6 MV 9 XP 20; it follows the scent") for row in (0, 1)]
    more = [(84.0, 272.0 + 30 * row, 10.0, "F1", "of what has bled.") for row in (0, 1)]
    points = [
        (72.0, 120.0, 10.0, "F1", "o"),
        (84.0, 120.0, 10.0, "F1", "push the lid"),
        (72, 132, 10, "F1", "-call for help"),
    ]
    pages = [[(72, 90, 20, BOLD, "Coffins"), *points, *monsters, *texts, *more]]
    text = described(read(write_pdf(tmp_path / "coffins.pdf", pages))[0])["Coffins"]
    assert "- push the lid\n\n- call for help" in text
    assert text.count("it follows the scent of what has bled.") == 2
    assert "\n\n**reed wisp** HD 2" in text


def test_what_goes_on_behind_a_page_has_the_page_on_which_it_stands(tmp_path):
    filler = [f"Row {number} of what is told of the marches in this part of it." for number in range(8)]
    song = spell(
        ["Reed Song"], "2nd-level enchantment", ["All that hear the song stay where they are until it ends."], 400
    )
    pages = [
        [(72, 90, 20, BOLD, "Marches"), *lines(filler, 72, 120), *song],
        [*lines(["Whoever leaves in spite of it is led astray."], 72, 80), (72, 700, 20, BOLD, "Roads Beyond")],
        lines(["The roads beyond are not on any map of the wardens."], 72, 80),
    ]
    found = named(read(write_pdf(tmp_path / "song.pdf", pages))[0])
    behind = str(found["Reed Song"].data["desc"]).index("Whoever leaves in spite of it")
    assert found["Reed Song"].data["pages"] == [["1", 0], ["2", behind - 1]]  # where the prose is one text
    assert found["Roads Beyond"].data["pages"] == [["2", 0], ["3", 0]]


def test_large_headings_with_numbers_in_one_place_are_no_running_heads(tmp_path):
    pages = [page(number, (72, 70, 20, BOLD, f"Session {number}"), *lines(ROADS, 72, 100)) for number in range(1, 5)]
    found = described(read(write_pdf(tmp_path / "sessions.pdf", pages))[0])
    assert list(found)[1:] == [f"Session {number}" for number in range(1, 5)]


def test_the_outline_names_headings_that_have_a_number_and_no_other_type(tmp_path):
    texts = [(72.0, 90.0, 20.0, BOLD, "Trade"), (72, 130, 10, "F1", "4.1 Weights"), *lines(ROADS, 72, 154)]
    book = write_pdf(tmp_path / "trade.pdf", [texts], [("Trade", 0), ("Weights", 0)])
    assert list(described(read(book)[0])) == ["trade", "Trade", "4.1 Weights"]


def test_a_stat_block_needs_no_line_of_its_type(tmp_path):
    told = ["AC: 13 (leather)", "HP: 22 (4d8 + 4)", "Speed: 30'", "STR - 16 (+3)  DEX - 12 (+1)  CON - 13 (+1)"]
    told += ["INT - 9 (-1)  WIS - 11 (+0)  CHA - 8 (-1)", "Challenge: 1 (200 XP)"]
    pages = [
        [(72, 90, 14, BOLD, "Gate Warden"), *lines(told, 72, 110), (72, 200, 14, BOLD, "Gate"), *lines(ROADS, 72, 220)]
    ]
    found = named(read(write_pdf(tmp_path / "gate.pdf", pages))[0])
    warden = found["Gate Warden"]
    assert (warden.type, warden.fields["armor_class"], warden.fields["hit_points"]) == ("creatures", 13, 22)
    assert (warden.fields["challenge_rating"], warden.data["ability_scores"]["strength"]) == (1, 16)
    assert found["Gate"].type == "rules"


VALUES = ["Armor Class 13", "Hit Points 22 (4d8 + 4)", "Speed 30 ft.", "STR 16 DEX 12 CON 13 INT 9 WIS 11 CHA 8"]


@pytest.mark.parametrize("told", ["Small or Medium Creature", "Servant of the reed king", "Medium Reedfolk (any)"])
def test_a_heading_above_the_values_of_a_creature_is_its_name_whatever_its_second_line_says(tmp_path, told):
    pages = [[(72, 90, 14, BOLD, "Gate Warden"), (72, 110, 9, ITALIC, told), *lines(VALUES, 72, 130)]]
    warden = named(read(write_pdf(tmp_path / "gate.pdf", pages))[0])["Gate Warden"]
    assert (warden.type, warden.fields["armor_class"], warden.fields["hit_points"]) == ("creatures", 13, 22)
    assert all(word in str(warden.data) for word in re.findall(r"\w{3,}", told.partition(" (")[0]))


def test_a_line_between_a_heading_and_the_kind_of_an_entry_is_no_name(tmp_path):
    kind = [(72, 110, 8, "F1", "SRD, p. 246"), (72, 130, 9, ITALIC, "Medium humanoid (orc), chaotic evil")]
    pages = [[(72, 90, 14, BOLD, "Gate Warden"), *kind, *lines(VALUES, 72, 150)]]
    assert named(read(write_pdf(tmp_path / "gate.pdf", pages))[0])["Gate Warden"].type == "creatures"


def test_values_in_two_columns_of_a_table_are_read_column_by_column(tmp_path):
    rows = [
        ("AC: 13 (hide)", "Languages: Common,"),
        ("HP: 22 (4d8 + 4)", "Reedish"),
        ("Speed: 30 ft.", "CR: 1/2 (100 XP)"),
    ]
    cells = [(x, 180 + 14 * n, 10, "F1", row[c]) for n, row in enumerate(rows) for c, x in enumerate((72, 260))]
    head = [
        (72, 90, 14, BOLD, "Gate Warden"),
        (72, 110, 9, ITALIC, "Medium humanoid (orc), neutral"),
        *lines(VALUES[3:], 72, 140),
    ]
    warden = named(read(write_pdf(tmp_path / "gate.pdf", [[*head, *cells]]))[0])["Gate Warden"]
    told = ("armor_class", "hit_points", "challenge_rating", "speed_walk", "languages")
    assert [warden.fields[key] for key in told] == [13, 22, 0.5, 30, ("common", "reedish")]


def test_what_introduces_a_creature_below_its_name_is_no_text_of_the_one_before(tmp_path):
    block = [(72, 108, 14, BOLD, "Gate Warden"), (72, 126, 9, ITALIC, "Medium humanoid (orc), neutral")]
    following = [(72, 300, 10, BOLD, "Marsh Eel"), *lines(["It hides in the reeds by the gate."], 72, 316)]
    following += [(72, 340, 14, BOLD, "Marsh Eel"), (72, 358, 9, ITALIC, "Small beast, unaligned")]
    told = [*lines(VALUES, 72, 146), (72, 210, 10, BOLD, "Actions"), *lines(["Spear. Hit: 5 damage."], 72, 226)]
    pages = [[*block, *told, *following, *lines(VALUES, 72, 378)]]
    found = read(write_pdf(tmp_path / "gate.pdf", pages))[0]
    warden = next(each for each in found if each.name == "Gate Warden")
    assert "5 damage" in str(warden.data)
    assert "hides in the reeds" not in str(warden.data)
    assert [each.type for each in found if "hides in the reeds" in str(each.data)] == ["rules"]


def test_a_sentence_in_large_type_is_no_heading(tmp_path):
    pages = [[(72, 90, 16, "F1", "The gate opens at noon."), *lines(ROADS, 72, 120)]] * 2
    assert "The gate opens at noon." not in named(read(write_pdf(tmp_path / "gate.pdf", pages))[0])


@pytest.mark.parametrize(
    ("told", "rarity"),
    [
        ("Magic item, rare", "rare"),
        ("Uncommon", "uncommon"),
        ("Rare wondrous item", "rare"),
        ("Wondrous item, very rare, requires attunement", "very rare"),
        ("Lantern, legendary (requires attunement by a warden)", "legendary"),
    ],
)
def test_a_line_below_a_heading_that_says_how_rare_it_is_makes_it_an_item(tmp_path, told, rarity):
    pages = [[(72, 90, 14, BOLD, "Reed Lamp"), (72, 110, 9, ITALIC, told), *lines(ROADS, 72, 130)]]
    lamp = named(read(write_pdf(tmp_path / "lamp.pdf", pages))[0])["Reed Lamp"]
    assert (lamp.kind, lamp.fields["rarity"]) == ("magic-item", rarity)
    assert bool(lamp.fields.get("requires_attunement")) == ("attunement" in told)


def test_languages_below_a_heading_make_no_item(tmp_path):
    pages = [
        [(72, 90, 14, BOLD, "Languages"), *lines(["Common, Elvish"], 72, 110), (72, 140, 14, BOLD, "Roads")],
        [(72, 90, 14, BOLD, "Goods"), *lines(["Rare goods come from the coast"], 72, 110)],
    ]
    assert {entity.type for entity in read(write_pdf(tmp_path / "tongues.pdf", pages))[0]} <= {"documents", "rules"}


def test_a_foot_that_repeats_a_heading_is_a_running_head(tmp_path):
    chapters = ["Roads", "Rivers", "Reeds", "Ruins"]
    pages = [
        [(72, 90, 24, BOLD, name), *lines(ROADS, 72, 140), (72, HEIGHT - 40, 8, "F1", f"Chapter {number}. {name}")]
        for number, name in enumerate(chapters, 1)
    ]
    found = read(write_pdf(tmp_path / "feet.pdf", pages))[0]
    assert [entity.name for entity in found if entity.type == "rules"] == chapters
    assert not any("Chapter" in str(entity.data) for entity in found)


def test_letters_that_are_set_apart_are_words(tmp_path):
    letters: list[Text] = [(72.0 + 15 * place, 90.0, 14.0, BOLD, letter) for place, letter in enumerate("MARCHES")]
    found = read(write_pdf(tmp_path / "apart.pdf", [[*letters, *lines(ROADS, 72, 120)]]))[0]
    assert "MARCHES" in {entity.name for entity in found}


def test_what_stands_before_the_first_heading_is_text_whatever_it_says(tmp_path):
    told = [(72.0, 90.0, 10.0, "F1", "Skill Proficiencies: Insight."), (72, 130, 10, "F1", "Equipment: A lamp.")]
    pages = [[*told, (72, 200, 14, BOLD, "Gate"), *lines(ROADS, 72, 220)]]
    found, _ = read(write_pdf(tmp_path / "gate.pdf", pages))
    assert [entity.type for entity in found if "Insight" in str(entity.data.get("desc"))] == ["rules"]


def drawn_book(rng: random.Random) -> list[list[Text]]:
    """A book of headings, paragraphs, columns, tables and boxes in any order, of words that differ."""
    numbers = itertools.count(200)

    def words(number: int) -> str:
        return " ".join(f"{next(numbers):o}".translate(str.maketrans("01234567", "aeioulmn")) for _ in range(number))

    pages: list[list[Text]] = []
    for _ in range(rng.randint(2, 5)):
        own, top = lines([words(9) for _ in range(4)], 72, 80), 148.0
        while top < 640:
            number = rng.randint(2, 7)
            match rng.choice(["heading", "paragraph", "box", "columns", "table"]):
                case "heading":
                    number = 2
                    own.append((72, top + 8, rng.choice([14, 18, 22]), BOLD, words(2).title()))
                case "paragraph":
                    own += lines([words(9) for _ in range(number)], 72, top)
                case "box":
                    own += lines([words(8) for _ in range(number)], 100, top, 12)
                case "columns":
                    own += [text for left in (72, 330) for text in lines([words(4) for _ in range(number)], left, top)]
                case _:
                    cells = itertools.product(range(number), range(3))
                    own += [(72 + 130 * x, top + 14 * y, 10, "F1" if y else BOLD, words(2)) for y, x in cells]
            top += 14 * number + 24
        pages.append(own)
    return pages


@pytest.mark.parametrize("seed", range(8))
def test_every_word_of_a_book_is_in_one_entry_or_the_heading_above_it(tmp_path, seed):
    pages = drawn_book(random.Random(seed))
    rules = read(write_pdf(tmp_path / "drawn.pdf", pages))[0][1:]
    told = Counter(" ".join(f"{rule.name} {rule.data.get('desc', '')}" for rule in rules).casefold().split())
    above = {word for rule in rules for word in str(rule.fields.get("parent")).casefold().split()}
    written = [word.casefold() for own in pages for *_, text in own for word in text.split()]
    plain = Counter({word.strip("*"): number for word, number in told.items()})
    assert {word: plain[word] for word in written if plain[word] != 1 and not (word in above and not plain[word])} == {}


async def test_the_page_is_in_every_answer(book, tmp_path):
    async with open_library(tmp_path / "library", backend="sqlite") as library:
        await library.import_paths([book])
        found = await call(library, "search_lore", query="roads laid on bundles of reed", detail="json")
        first = found.structured["results"][0]
        assert (first["name"], first["page"]) == ("Roads", "1")
        later = (await call(library, "search_lore", query="right line of the long account ends there")).structured
        assert next(each for each in later["results"] if each["name"] == "Roads")["page"] == "2"
        shown = await call(library, "get_entity", uri="lore://creatures/the-peat-marches/peat-goblin")
        assert "p. 3 of The Peat Marches" in shown.text
        assert "p. 3" in (await call(library, "gather_topic", topic="Peat Goblin")).text
        compared = await text_of(library, "compare_entries", uris=[first["uri"], shown.structured["uri"]])
        assert "p. 1 of The Peat Marches" in compared


async def test_a_page_can_be_asked_for_of_an_entry_and_of_the_book(book, tmp_path):
    async with open_library(tmp_path / "library", backend="sqlite") as library:
        await library.import_paths([book])
        part = await call(library, "get_entity", uri="lore://rules/the-peat-marches/roads", section="p. 2")
        assert "Right line 3" in part.text
        assert "bundles of reed" not in part.text
        whole = await call(
            library, "get_entity", uri="lore://documents/the-peat-marches/the-peat-marches", section="p. 3"
        )
        assert "Reed Step" in whole.text
        assert "Reed Whisper" not in whole.text
        with pytest.raises(NotFoundError, match=r"nothing was read on p\. 9; its pages are 1 to 5"):
            await call(library, "get_entity", uri="lore://documents/the-peat-marches/the-peat-marches", section="p. 9")


async def test_a_book_is_the_game_masters_alone_unless_the_import_opens_it(book, tmp_path):
    async with open_library(tmp_path / "library", backend="sqlite") as library:

        async def seen() -> int:
            view = library.view(Viewer.player("Ann"))
            found = await call(view, "search_lore", query="Peat Goblin")
            return len([each for each in found.structured["results"] if each["document"] == "the-peat-marches"])

        await library.import_paths([book])
        assert await seen() == 0
        await library.import_paths([book], audience="players")
        assert await seen() > 0
        await library.import_paths([book])
        assert await seen() > 0
        await library.import_paths([book], audience="dm")
        assert await seen() == 0


async def test_a_second_import_of_a_file_does_nothing(book, tmp_path):
    async with open_library(tmp_path / "library", backend="sqlite", imports=tmp_path / "imports") as library:
        questions = iter([("Marches", "Knave")])  # there is no second one to answer
        first = await library.import_paths([book], asked=Asked(ask=lambda: next(questions)))
        watched: list[tuple[int, int]] = []
        watching = Asked(pages=lambda more, done: watched.append((more, done)), ask=lambda: next(questions))
        again = await library.import_paths([book], asked=watching)
        assert (again.stored, again.unchanged, again.failed, watched) == (0, first.stored, [], [])
        documents = (await call(library, "list_documents")).structured["documents"]
        assert [(each["key"], each["name"], each["game_system"]) for each in documents if each["key"] == "marches"] == [
            ("marches", "Marches", "Knave")
        ]
        assert "creatures" not in next(each["counts"] for each in documents if each["key"] == "marches")


def test_pictures_of_pages_are_named_with_what_to_do_and_blank_pages_are_not(tmp_path):
    pages: list[list[Text]] = [page(1, *lines(ROADS)), [], [(72, 90, 20, BOLD, "Part II")]]
    entities, report = read(write_pdf(tmp_path / "scan.pdf", pages, streams=[PICTURE, PICTURE]))
    assert "Part II" in named(entities)
    said = "pages 4-5 of the file have no text that can be read; 'ocrmypdf --skip-text IN.pdf OUT.pdf'"
    assert said in problems(report)
    entities, report = read(write_pdf(tmp_path / "bare.pdf", [[], []]))
    assert entities == []
    assert "none of its 2 pages has text that can be read; 'ocrmypdf" in problems(report)


def test_text_that_runs_upwards_is_read_as_it_runs(tmp_path):
    rows = [f"Row {number} of a table that is wider than the page is." for number in range(4)]
    rows_up = [turned((100 + 12 * row, 700, 10, "F1", text)) for row, text in enumerate(rows)]
    margin = turned((20, 400, 10, "F1", "Roads of the marches"))
    level = drawn((72, 92, 10, "F1", ROADS[0]))
    streams = [b"\n".join([*rows_up, margin]), *[b"\n".join([level, margin])] * 3]
    found = "\n".join(described(read(write_pdf(tmp_path / "turned.pdf", [], streams=streams))[0]).values())
    assert " ".join(rows) in found
    assert "Roads of the marches" not in found  # it stands in one place on every page


def test_a_name_of_two_lines_that_begins_like_a_value_is_a_name(tmp_path):
    spells: list[Text] = []
    for top, names in (
        (80, ["Reed Song (Bard)"]),
        (280, ["Peat Luck (Artificer, Bard, Cleric, Druid,", "Ranger, Wizard)"]),
    ):
        told = ["All that hear it stay where they are, and sing with it until", "it ends."]
        spells += spell(names, "2nd-level reed magic", told, top)
    found = named(read(write_pdf(tmp_path / "luck.pdf", [spells]))[0])
    assert {"Reed Song (Bard)", "Peat Luck"} < set(found)
    assert found["Peat Luck"].fields["classes"] == ("artificer", "bard", "cleric", "druid", "ranger", "wizard")
    assert str(found["Reed Song (Bard)"].data["desc"]).startswith("All that hear it")


def test_a_hyphen_that_its_font_calls_by_several_names_is_one(tmp_path):
    song_page = spell(["Reed Song"], "2nd~level enchantment", ["All that hear it stay until it ends."], font=HYPHENS)
    song = named(read(write_pdf(tmp_path / "hyphens.pdf", [song_page]))[0])["Reed Song"]
    assert (song.type, song.fields["level"]) == ("spells", 2)


def test_a_page_whose_font_has_no_map_is_named(tmp_path):
    coded = lines(["".join(f"\x01{chr(ord(letter) - 29)}" for letter in ROADS[0])] * 4, font=UNMAPPED)
    _, report = read(write_pdf(tmp_path / "coded.pdf", [page(1, *lines(ROADS)), coded]))
    assert "page 2 of the file has no text that can be read; 'ocrmypdf" in problems(report)


def test_a_page_that_takes_too_long_is_named_and_the_pages_behind_it_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.formats.pdf.PAGE_SECONDS", 2.0)
    level = drawn((72, 92, 10, "F1", ROADS[0]))
    endless = [zlib.compress(level + b" q Q" * 1_000_000), b"/Before Do " * 5_000, level]
    entities, report = read(write_pdf(tmp_path / "endless.pdf", [page(1, *lines(ROADS))], streams=endless))
    said = "page 3 of the file has no text that could be read within the limits of time and memory; all other pages were read"
    assert problems(report).endswith(f"endless.pdf: {said}")
    assert sum(text.count(ROADS[0]) for text in described(entities).values()) == 3


def test_locked_and_damaged_files_are_refused_in_one_sentence(book, tmp_path):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=book)
    writer.encrypt("reed", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    entities, report = read(tmp_path / "locked.pdf")
    assert entities == []
    assert problems(report).endswith("it is locked with a password: save a copy without one, and import that")
    (tmp_path / "damaged.pdf").write_bytes(b"%PDF-1.7\nnothing of one")
    entities, report = read(tmp_path / "damaged.pdf")
    assert entities == []
    assert "it is damaged, or is no PDF" in problems(report)


def test_several_books_of_one_title_keep_their_own_keys(tmp_path):
    for name in ("north", "south"):
        write_pdf(tmp_path / f"{name}.pdf", marches(), title="Marches")
    entities, _ = read(tmp_path)
    assert {entity.document for entity in entities} == {"marches", "marches-south"}


async def test_hostile_files_end_within_the_limits_and_the_library_goes_on(tmp_path):
    one, other = [("Roads", 0), ("Creatures", 2)], [page(1, *lines(ROADS))]
    bomb = [zlib.compress(b" " * (96 << 20), 1), b"q " * 200_000, b"BT /F1 10 Tf (" + b"reed " * 40_000 + b") Tj ET"]
    write_pdf(tmp_path / "bomb.pdf", marches(), one, streams=bomb)
    looped = write_pdf(tmp_path / "outline.pdf", marches(), one).read_bytes()
    (tmp_path / "outline.pdf").write_bytes(re.sub(rb"/Next (\d+)", lambda at: b"/Next %d" % (int(at[1]) - 1), looped))
    tree = write_pdf(tmp_path / "tree.pdf", other).read_bytes()
    (tmp_path / "tree.pdf").write_bytes(re.sub(rb"/Kids \[.. 0", b"/Kids [ 2 0", tree))
    write_pdf(tmp_path / "long.pdf", [], streams=[b""] * 5_001)
    async with open_library(tmp_path / "library", backend="sqlite") as library:
        report = await library.import_paths([tmp_path / f"{name}.pdf" for name in ("bomb", "outline", "tree", "long")])
        assert sum(line.endswith("2 sections, 1 creature, 1 spell") for line in report.books) == 2
        assert "it has 5,001 pages, and at most 5,000 are read: split it" in problems(report)
        assert "tree.pdf" in problems(report)
        assert "Reed Step" in await text_of(library, "search_lore", query="Peat Goblin")
