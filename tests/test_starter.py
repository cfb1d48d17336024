"""The starter compendium: well formed, right in its facts, and in our own words."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cache.vectors import load_vectors, vector_key
from lorekeeper.embedding.configured import load_provider
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.render import markdown
from lorekeeper.search.query import Query
from lorekeeper.text.evidence import level_line
from lorekeeper.text.names import base_name
from lorekeeper.text.phrases import (
    PHRASES,
    RULES_2024,
    RULES_2024_DOCUMENT,
    SHIPPED_BOOKS,
    SHIPPED_VECTORS,
    STARTER,
    STARTER_2024,
)
from scripts.build_starter_facts import shared_facts
from scripts.build_starter_stat_blocks import creature, read, spell
from scripts.build_starter_vectors import starter_texts
from tests.support.libraries import settings

RUN = 8
"""So many words in a row, shared with a source, count as copied."""

ASKED = 5
"""So many words in a row, shared with a graded query, count as fitted to it."""

FILES = sorted(STARTER.glob("*.jsonl"))
SHIPPED = sorted(file for folder in SHIPPED_BOOKS for file in folder.glob("*.jsonl"))
QUESTIONS = Path(__file__).parent / "data" / "questions_2024.tsv"
"""Names of the rules of 2024, each with a question of every day that none of its phrases repeats."""
EVERYDAY = QUESTIONS.with_name("everyday_2024.tsv")
"""The same with other questions, which were written later, without a look at phrases and questions."""
TERMS = 155
"""Terms of the rules glossary."""
PHRASE_FILES = sorted(PHRASES.glob("*.jsonl"))


def entries(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", fold(text))


def runs(text: str, length: int = RUN) -> Iterator[tuple[str, ...]]:
    found = words(text)
    return (tuple(found[i : i + length]) for i in range(len(found) - length + 1))


def test_every_file_is_of_a_collection_and_has_enough_entries():
    assert {file.stem for file in FILES} <= set(COLLECTIONS)
    counts = {file.stem: len(entries(file)) for file in FILES}
    assert counts["spells"] == 319
    assert counts["creatures"] == 325
    assert min(counts["equipment"] - 400, counts["rules"] - 95, counts["character_options"] - 38) >= 0, counts


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_entries_are_sorted_unique_and_valid(file):
    found = entries(file)
    slugs = [entry["slug"] for entry in found]
    assert slugs == sorted(set(slugs))
    for entry in found:
        (entity,) = normalize(entry)
        assert (entity.type, entity.slug, entity.document) == (
            file.stem,
            entry["slug"],
            f"lorekeeper-{file.parent.name}",
        )


@pytest.mark.parametrize("file", [f for f in FILES if f.stem != "documents"], ids=lambda file: file.stem)
def test_every_entry_is_described_and_asked_for_without_its_name(file):
    assert entries(file)
    for entry in entries(file):
        assert 40 <= len(entry["description"]) <= 700, entry["slug"]
        assert 3 <= len(entry["asked_as"]) <= 8, entry["slug"]
        assert len(set(map(fold, entry["asked_as"]))) == len(entry["asked_as"]), entry["slug"]


@pytest.mark.parametrize("file", PHRASE_FILES, ids=lambda file: file.stem)
def test_phrases_are_sorted_short_and_for_names_that_the_starter_does_not_hold(file):
    found = entries(file)
    names = [base_name(entry["name"]) for entry in found]
    assert names == sorted(set(names))
    assert set(names).isdisjoint({base_name(entry["name"]) for entry in entries(STARTER / file.name)})
    for entry in found:
        assert entry.keys() == {"collection", "name", "asked_as"}, entry["name"]
        assert entry["collection"] == file.stem
        assert 3 <= len(entry["asked_as"]) <= 8, entry["name"]
        assert len(set(map(fold, entry["asked_as"]))) == len(entry["asked_as"]), entry["name"]
        assert all(2 <= len(words(phrase)) <= 14 for phrase in entry["asked_as"]), entry["name"]


def test_there_are_phrases_for_every_collection_of_the_starter_that_is_searched():
    assert {file.stem for file in PHRASE_FILES} == {file.stem for file in FILES if COLLECTIONS[file.stem].tool}


def comparable(value: Any) -> Any:
    return sorted(value) if isinstance(value, tuple) else value


def known(value: Any) -> Any:
    """The value as it can be compared; None for an empty list, which says nothing either."""
    return None if value == () else comparable(value)


def source(name: str) -> Iterator[dict[str, Any]]:
    folder = Path(os.environ["LOREKEEPER_CORPUS"]) / "entities"
    packed = folder / f"{name}.jsonl.gz"
    content = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / f"{name}.jsonl").read_bytes()
    yield from map(json.loads, content.decode("utf-8").strip().split("\n"))


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["spells", "creatures"])
def test_the_facts_are_those_of_the_srd(name):
    theirs = {}
    for obj in source(name):
        (entity,) = normalize(obj, hint=name)
        if entity.document == "srd-2014":
            theirs[entity.slug] = entity
    ours = {entity.slug: entity for entry in entries(STARTER / f"{name}.jsonl") for entity in normalize(entry)}
    assert ours.keys() == theirs.keys()
    different = {
        (slug, field): values
        for slug, entity in ours.items()
        for field in entity.fields.keys() | theirs[slug].fields.keys()
        if (values := [known(e.fields.get(field)) for e in (entity, theirs[slug])])[0] != values[1]
    }
    assert different == {}


OWN_NAMES = {"Magic Weapon, +1, +2 or +3"}
"""Entries that stand for many of the source's, which have no name in common."""

ENDPOINTS = "weapons armor items magicitems classes species backgrounds feats".split()


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["equipment", "character_options"])
def test_the_facts_of_items_and_options_are_those_of_the_srd(name):
    """Facts are those of one of an entry's variants, or, of a list, what all of them share. The source writes 0 for a cost or
    weight that it does not know.

    Nothing is left out but what magic items have from the item that was enchanted.
    """
    theirs: dict[str, list[Entity]] = {}
    for endpoint in ENDPOINTS:
        for entity in (e for obj in source(endpoint) for e in normalize(obj, hint=endpoint)):
            if (entity.type, entity.document) == (name, "srd-2014"):
                theirs.setdefault(base_name(entity.name), []).append(entity)
    wrong: list[tuple[str, str, Any]] = []
    for ours in (e for entry in entries(STARTER / f"{name}.jsonl") for e in normalize(entry)):
        same = theirs.get(base_name(ours.name), [])
        if not same and ours.name not in OWN_NAMES:
            wrong.append((ours.name, "not in the source", None))
        known: dict[str, list[Any]] = {}
        for entity in same:
            for field, value in entity.fields.items():
                if value not in (None, (), 0):
                    known.setdefault(field, []).append(comparable(value))
        shared = shared_facts(same)
        wrong += [
            (ours.name, f, v)
            for f, v in ours.fields.items()
            if f in known and comparable(v) not in (*known[f], comparable(shared.get(f)))
        ]
        stated = set[str]().union(*(e.fields.keys() for e in same if e.kind == ours.kind != "magic-item"))
        wrong += [(ours.name, f, None) for f in stated & known.keys() - ours.fields.keys()]
    assert wrong == []


def test_every_class_says_what_its_levels_bring():
    lines = (STARTER / "character_options.jsonl").read_text("utf-8").splitlines()
    classes = [each for each in map(json.loads, lines) if each["kind"] == "class"]
    assert len(classes) == 12
    for each in classes:
        gained = {feature["name"]: {at["level"] for at in feature.get("gained_at", ())} for feature in each["features"]}
        assert {4, 8, 12, 16, 19} <= gained["Ability Score Improvement"], each["name"]
        assert 1 in set().union(*gained.values())
        cells = [cell for feature in each["features"] for cell in feature.get("data_for_class_table", ())]
        assert all(1 <= cell["level"] <= 20 and cell["column_value"] for cell in cells)
    (rogue,) = normalize(next(each for each in classes if each["slug"] == "rogue"))
    assert level_line(rogue, "a rogue at level 7") == "Level 7: Evasion; Sneak Attack 4d6."


@pytest.mark.corpus
def test_no_sentence_is_copied_from_a_source():
    ours = {
        run: entry["name"]
        for file in [*FILES, *PHRASE_FILES]
        for entry in entries(file)
        for text in [entry.get("description", ""), *entry.get("asked_as", [])]
        for run in runs(text)
    }

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                yield from texts(item)

    copied = set()
    for name in ("spells", "creatures", "magicitems", "items", "classes", "species", "feats", "backgrounds", "rules",
                 "rulesets", "conditions"):  # fmt: skip
        for obj in source(name):
            for text in texts(obj):
                copied |= {(ours[run], " ".join(run)) for run in runs(text) if run in ours}
    assert copied == set()


def srd52() -> str:
    """The SRD 5.2 in Markdown."""
    files = sorted((Path(os.environ["LOREKEEPER_CORPUS"]) / "srd52").rglob("*.md"))
    if not files:
        pytest.skip("the SRD 5.2 is not there")
    return "\n".join(file.read_text("utf-8") for file in files)


def letters(text: str) -> str:
    """A text without its tables and figures, which are facts."""
    return re.sub(r"\S*\d\S*", "", "\n".join(row for row in text.splitlines() if not row.startswith("|")))


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+d\d+|\d+", re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("½", " 1/2").replace("⅓", " 1/3"))


@pytest.mark.corpus
def test_no_sentence_of_the_rules_of_2024_is_copied():
    theirs = set(runs(letters(srd52())))
    ours = entries(RULES_2024 / "rules.jsonl")
    copied = [
        (entry["name"], " ".join(run))
        for entry in ours
        for text in [entry["description"], *entry["asked_as"]]
        for run in runs(letters(text))
        if run in theirs
    ]
    assert copied == []


@pytest.mark.corpus
def test_the_figures_of_the_rules_of_2024_are_those_of_the_srd():
    """Each row of a table has the numbers of the source's row of that name, and each other number stands in the source."""
    text = srd52()
    rows: dict[str, list[str]] = {}
    for row in text.splitlines():
        if row.startswith("|"):
            first, *cells = (cell.strip() for cell in row.strip("|").split("|"))
            rows.setdefault(fold(first.split("(")[0]), []).extend(numbers(" ".join(cells)))
    everywhere = set(numbers(text)) | {"18", "38"}  # degrees Celsius
    wrong: list[tuple[str, Any]] = []
    for entry in entries(RULES_2024 / "rules.jsonl"):
        wrong += [(entry["name"], n) for n in numbers(entry["description"]) if n not in everywhere]
        if entry["name"] == "Sample Poisons":
            continue  # each has a heading of its own in the source
        for row in entry["description"].splitlines():
            first, *cells = (cell.strip() for cell in row.strip("|").split("|")) if row.startswith("|") else [""]
            if first and not set(first) <= set("-| "):
                wrong += [(entry["name"], row) for n in numbers(" ".join(cells)) if n not in rows.get(fold(first), [])]
    assert wrong == []


@pytest.mark.corpus
@pytest.mark.parametrize("collection", ["creatures", "spells"])
def test_what_creatures_and_spells_do_is_what_the_source_says(collection):
    """Run scripts/build_starter_stat_blocks.py where this fails."""
    make = {"creatures": creature, "spells": spell}[collection]
    ours = {(f.parent, e["slug"]): e for f in SHIPPED if f.stem == collection for e in entries(f)}
    folders = {"srd-2014": STARTER, "srd-2024": STARTER_2024}
    seen = 0
    for obj, entity in read(Path(os.environ["LOREKEEPER_CORPUS"]) / "entities", collection):
        made, entry = make(obj), ours[folders[obj["document"]["key"]], entity.slug]
        assert {key: entry.get(key) for key in made} == made, entity.name
        stated = set(numbers(json.dumps(obj, ensure_ascii=False)))
        for feature in [f for key in ("traits", "actions", "legendary_actions") for f in made.get(key, [])]:
            damage = set(re.findall(r"\d+d\d+", feature["desc"])) | set(re.findall(r"(?<=DC )\d+", feature["desc"]))
            assert damage <= stated, (entity.name, feature)
        seen += 1
    assert seen == len(ours)


@pytest.mark.corpus
def test_no_sentence_of_a_stat_block_is_copied():
    """Lists of spells and of demons that may come are facts."""
    sections = ("traits", "actions", "bonus_actions", "reactions", "legendary_actions")

    def texts(obj: dict[str, Any]) -> Iterator[str]:
        yield from (
            f["desc"] for key in sections for f in obj.get(key) or () if not re.search("pellcasting|Summon", f["name"])
        )
        yield from (obj[key] for key in ("desc", "effects_desc", "higher_level") if obj.get(key))

    theirs = {
        run for name in ("creatures", "spells") for obj in source(name) for t in texts(obj) for run in runs(letters(t))
    }
    files = [file for file in SHIPPED if file.stem in ("creatures", "spells")]
    ours = {run: e["name"] for file in files for e in entries(file) for t in texts(e) for run in runs(letters(t))}
    assert {(name, " ".join(run)) for run, name in ours.items() if run in theirs} == set()


@pytest.mark.corpus
def test_no_phrase_is_taken_from_a_graded_query():
    queries = Path(os.environ["LOREKEEPER_CORPUS"]).parent / "eval" / "queries.jsonl"
    if not queries.exists():
        pytest.skip(f"{queries} is not there")
    asked = {run for query in entries(queries) for run in runs(query["query"], ASKED)}
    taken = [
        (entry["name"], phrase)
        for file in [*SHIPPED, *PHRASE_FILES]
        for entry in entries(file)
        for phrase in entry.get("asked_as", [])
        if asked.intersection(runs(phrase, ASKED))
    ]
    assert taken == []


async def test_the_vectors_that_ship_are_those_of_the_starter_and_of_nothing_else():
    """Run scripts/build_starter_vectors.py where this fails."""
    provider = load_provider(settings())
    packed = load_vectors(SHIPPED_VECTORS)
    texts = starter_texts()
    assert packed.keys() == {vector_key(provider.fingerprint, text) for text in texts}
    for text in texts[:: len(texts) // 20]:
        (computed,) = provider.embed([text])
        assert float(computed @ packed[vector_key(provider.fingerprint, text)]) > 0.9999


async def test_first_questions_find_what_they_ask_for_among_all_types(tmp_path):
    async with Library.from_settings(settings(milvus_db_path=tmp_path / "milvus.db", offline=1)) as library:
        await library.import_paths([STARTER])
        for text, name in [("we are falling off a cliff", "Feather Fall"), ("stats of a wolf", "Wolf")]:
            assert (await library.search(Query(list(COLLECTIONS), text))).results[0].entity.name == name


def test_the_rules_of_2024_are_complete_and_asked_for():
    found = entries(RULES_2024 / "rules.jsonl")
    assert sum(entry["parent"] == "Rules Glossary" for entry in found) == TERMS
    asked = dict(row.split("\t") for row in QUESTIONS.read_text("utf-8").splitlines())
    assert asked.keys() == {entry["name"] for entry in found}
    for entry in found:
        assert 20 <= len(entry["description"]) <= 1500, entry["slug"]
        assert 3 <= len(set(map(fold, entry["asked_as"]))) == len(entry["asked_as"]) <= 20, entry["slug"]
        assert all(len(words(phrase)) <= 14 for phrase in entry["asked_as"]), entry["slug"]
    taken = Counter(fold(phrase) for entry in found for phrase in entry["asked_as"])
    assert [phrase for phrase, times in taken.items() if times > 1] == []
    assert [question for question in asked.values() if fold(question) in taken] == []


async def test_a_stat_block_of_the_starter_runs_the_fight():
    for folder, breath in ((STARTER, "63 (18d6) fire"), (STARTER_2024, "59 (17d6) fire")):
        (entry,) = (e for e in entries(folder / "creatures.jsonl") if e["name"] == "Adult Red Dragon")
        (dragon,) = normalize(entry)
        page = markdown(dragon)
        for text in (
            "Melee attack +14, reach 10 ft.",
            "Fire Breath (Recharge 5\u20136)",
            "DC 21 Dexterity save",
            breath,
        ):
            assert text in page
        assert "## Legendary Actions" in page
        assert "## Details" not in page


@pytest.mark.slow
async def test_each_rule_of_2024_is_found_by_its_name_its_first_phrase_and_a_question(tmp_path):
    """Measured: by name 204 of 204 come first, by the first phrase 185, by a question written apart from the phrases 139, of which
    195 are among the first ten. Of the later questions 173 come first, and 203 are among the first ten."""
    phrases = [(entry["name"], entry["asked_as"][0]) for entry in entries(RULES_2024 / "rules.jsonl")]
    rows = [row.split("\t") for row in QUESTIONS.read_text("utf-8").splitlines()]
    later = [row.split("\t") for row in EVERYDAY.read_text("utf-8").splitlines()]
    assert {name for name, _ in later} == {name for name, _ in rows}
    async with Library.from_settings(settings(milvus_db_path=tmp_path / "milvus.db", offline=1)) as library:
        await library.import_paths(SHIPPED_BOOKS)

        async def found(**asked: Any) -> list[str]:
            page = await library.search(Query(["rules"], edition=("2024",), **asked))
            return [hit.entity.name for hit in page.results if hit.entity.document == RULES_2024_DOCUMENT]

        assert [name for name, _ in rows if (await found(filters={"name": name}))[:1] != [name]] == []
        assert sum([(await found(text=text))[:1] == [name] for name, text in phrases]) >= 0.88 * len(phrases)
        assert sum([name in await found(text=text) for name, text in rows]) >= 0.93 * len(rows)
        answers = [(name, await found(text=text)) for name, text in later]
        assert sum(names[:1] == [name] for name, names in answers) >= 0.82 * len(later)
        assert sum(name in names for name, names in answers) >= 0.98 * len(later)
