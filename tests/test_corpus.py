"""The whole Open5e corpus in one library, compared with the raw objects by a reader that knows nothing of ours."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.composition import open5e_of
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.normalize.book_tables import entry_of
from lorekeeper.search.query import Query
from lorekeeper.server.answers import document_list
from lorekeeper.text.names import canonical_name
from tests.support.corpus import (
    ENDPOINTS,
    SECOND,
    SPARE,
    apart,
    pages_of,
    replaying,
    requests_of,
    statistics_of,
    tables_by_document,
)
from tests.support.libraries import open_library, settings

pytestmark = [pytest.mark.corpus, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(1200)]

Raw = dict[str, Any]

NO_LORE = {"sizes", "creaturesets", "itemcategories", "itemrarities", "licenses", "publishers", "gamesystems"}
TABLES = {"weapons", "armor"}
"""Files whose objects are all among the items, under the same identities."""

LICENCES = {"cc-by-40": "CC-BY-4.0", "cc0": "Creative Commons 0", "ogl-10a": "OGL-1.0a"}
"""How answers name the licences of the corpus."""

TOOL_TYPES = [name for name in ENDPOINTS if name != "documents"]


@pytest.fixture(scope="module")
def raw(corpus: Path) -> dict[str, list[Raw]]:
    """Every object of the corpus by file."""
    found: dict[str, list[Raw]] = {}
    for file in sorted((corpus / "entities").iterdir()):
        if not file.name.startswith("_"):
            with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as f:
                found[file.name.split(".")[0]] = [
                    o for line in f for o in apart(json.loads(line)) if o.get("key") not in SECOND
                ]
    return found


@pytest.fixture(scope="module")
def described(corpus: Path) -> dict[str, Any]:
    """What the corpus says of itself."""
    return statistics_of(corpus)


@pytest.fixture(scope="module")
def tables(corpus: Path) -> Counter[str]:
    """Tables to roll on in the texts of the corpus, by document; each is a rule of its own."""
    return tables_by_document(corpus)


@pytest.fixture(scope="module")
async def imported(corpus, tmp_path_factory):
    async with open_library(tmp_path_factory.mktemp("corpus")) as library:
        report = await library.import_paths([corpus / "entities"])
        yield library, report


@pytest.fixture(scope="module")
def library(imported: tuple[Library, ImportReport]) -> Library:
    return imported[0]


# --- counts ----------------------------------------------------------------------------------------------------------


async def test_everything_is_stored_and_nothing_fails(imported, described, tables):
    _, report = imported
    lore = sum(d["count"] for name, d in described.items() if name not in NO_LORE | TABLES)
    assert (report.stored, report.failed, report.unchanged) == (lore, [], 0)
    assert report.stored >= 9000
    assert report.tables == Counter(stored=tables.total())
    assert tables.total() > 200
    assert sum(report.skipped.values()) == sum(described[name]["count"] for name in NO_LORE)


async def test_a_sync_of_all_finds_what_was_imported(imported, corpus, described, tmp_path, monkeypatch):
    library, first = imported
    with replaying(corpus, "--keep-hosts") as address:
        chosen = settings(open5e_base_url=address, milvus_db_path=tmp_path / "milvus.db")  # beside which its state is
        monkeypatch.setattr(library, "source", open5e_of(chosen))
        monkeypatch.setattr(library, "offline", False)
        synced = await library.sync()
        made, _ = requests_of(address)
    assert (synced.stored, synced.embedded, synced.removed, synced.failed) == (0, 0, 0, [])
    assert synced.unchanged == first.stored
    assert synced.tables == Counter(unchanged=first.tables["stored"])
    assert made <= SPARE * pages_of(described, ENDPOINTS)


async def test_statistics_agree_with_the_corpus_by_collection(library, described, tables):
    counts = (await library.statistics()).counts
    sums = {c: sum(described[name]["count"] for name in names) for c, names in ENDPOINTS.items()}
    assert counts == sums | {"notes": 0, "characters": 0, "rules": sums["rules"] + tables.total()}


async def test_documents_agree_with_the_corpus_by_document_and_collection(library, described, tables):
    expected = {document: Counter(rules=number) for document, number in tables.items()}
    for collection, names in ENDPOINTS.items():
        for name in names if collection != "documents" else []:
            for document, number in described[name]["by_document"].items():
                expected.setdefault(document, Counter())[collection] += number
    listed = {d["key"]: d["counts"] for d in await document_list(library)}
    assert {key: counts for key, counts in listed.items() if counts} == expected


async def test_documents_bring_title_and_licences_of_the_corpus(library, raw):
    listed = {d["key"]: d for d in await document_list(library)}
    assert raw["documents"]
    for document in raw["documents"]:
        assert listed[document["key"]]["name"] == document["display_name"]
        assert listed[document["key"]]["licenses"] == [LICENCES[licence["key"]] for licence in document["licenses"]]


async def test_every_object_is_kept_whole(library, raw):
    for collection, names in ENDPOINTS.items():
        entries = [e async for batch in library.cache.iterate(collection) for e in batch if not entry_of(e)]
        kept = Counter(json.dumps(e.data, sort_keys=True) for e in entries)
        assert kept == Counter(json.dumps(o, sort_keys=True) for name in names for o in raw[name])


# --- names -----------------------------------------------------------------------------------------------------------


def misspelt(name: str, chance: random.Random) -> str:
    """A name with one letter changed, added, left out or swapped with the next."""
    place = chance.choice([i for i, letter in enumerate(name) if letter.isalpha()])
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    edits = [letter + name[place + 1 :], letter + name[place:], name[place + 1 :]]
    swapped = name[place + 1 : place + 2] + name[place] + name[place + 2 :]
    return name[:place] + chance.choice([*edits, swapped])


async def found_first(library: Library, entity_type: str, query: str, name: str) -> bool:
    page = await library.searcher.search(Query([entity_type], query, limit=1))
    return bool(page.results) and canonical_name(page.results[0].entity.name) == canonical_name(name)


async def test_a_name_puts_its_entry_first_and_so_does_a_misspelt_one(library):
    """One thing under several names ("Boar, Giant" and "Giant Boar") counts as one."""
    chance = random.Random(5)
    every = {(t, e.name) for t in TOOL_TYPES async for batch in library.cache.iterate(t) for e in batch}
    sample = chance.sample(sorted(every), 400)
    right = [await found_first(library, t, name, name) for t, name in sample]
    assert sum(right) >= 398
    long = [(t, name) for t, name in sample if sum(letter.isalpha() for letter in name) >= 5]
    wrong = [await found_first(library, t, misspelt(name, chance), name) for t, name in long]
    assert sum(wrong) >= 0.95 * len(long)
