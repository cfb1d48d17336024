"""The table of other names: complete for the SRD, each name once, and found however it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lorekeeper.entities import COLLECTIONS
from lorekeeper.folding import fold
from lorekeeper.text.aliases import (
    ALIASES,
    ENGLISH,
    LANGUAGES,
    aliases_of,
    aliases_within,
)
from tests.support.corpus import ENDPOINTS, objects
from tests.support.tables import each_row

TABLES = sorted(path.stem for path in ALIASES.glob("*.tsv"))

SRD = ("srd-2014", "srd-2024")


def rows(entity_type: str) -> list[list[list[str]]]:
    """The lines of a table, each a list of columns, each a list of names."""
    head, *lines = (ALIASES / f"{entity_type}.tsv").read_text("utf-8").splitlines()
    assert head.split("\t") == ["name", *LANGUAGES]
    return [[[name for name in column.split("; ") if name] for column in line.split("\t")] for line in lines]


def explained(aliases: object) -> set[tuple[str, str]]:
    return {(alias.name, alias.language) for alias in aliases}  # type: ignore[attr-defined]


# --- the table -----------------------------------------------------------------------------------------------------


@each_row("entity_type", TABLES)
def test_a_table_has_every_english_name_once_and_no_name_twice_in_a_line(entity_type):
    assert entity_type in COLLECTIONS
    names = [fold(name) for ((name,), *_) in rows(entity_type)]
    assert names == sorted(set(names), key=names.index)
    for _, *columns in rows(entity_type):
        for names in columns:
            assert len(set(map(fold, names))) == len(names), names


@each_row("entity_type", TABLES)
def test_every_line_has_every_language(entity_type):
    lines = list(rows(entity_type))
    assert lines
    for (name,), _, *languages in lines:
        assert all(languages), name


@each_row("entity_type", TABLES)
def test_every_name_of_a_table_is_found_as_it_is_printed(entity_type):
    lines = list(rows(entity_type))
    assert lines
    for (name,), *columns in lines:
        for language, names in zip(LANGUAGES.values(), columns, strict=True):
            for written in names:
                if fold(written) != fold(name):
                    assert (name, language) in explained(aliases_of(entity_type, fold(written))), written


@pytest.mark.corpus
@pytest.mark.parametrize("entity_type", TABLES)
def test_every_english_name_exists_in_the_srd(entity_type, corpus):
    known = names_of_the_srd(corpus, entity_type)
    missing = [name for ((name,), *_) in rows(entity_type) if name not in known]
    assert missing == []


@pytest.mark.corpus
@pytest.mark.parametrize("entity_type", ["spells", "creatures"])
def test_every_spell_and_creature_of_both_srds_is_in_the_table(entity_type, corpus):
    assert names_of_the_srd(corpus, entity_type) <= {name for ((name,), *_) in rows(entity_type)}


@pytest.mark.corpus
def test_no_word_of_an_english_text_is_taken_for_a_name_within_it(corpus):
    words = {
        word for files in ENDPOINTS.values() for file in files for o in objects(corpus, file) for word in words_of(o)
    }
    found = {word for t in TABLES for word in words for _ in aliases_within(t, word)}
    assert found == set()


def names_of_the_srd(corpus: Path, entity_type: str) -> set[str]:
    """Names of its entries, as they are and without what stands in brackets; of rules and options in all open books."""
    books = SRD if entity_type in ("spells", "creatures", "equipment") else None
    entries = [o for file in ENDPOINTS[entity_type] for o in objects(corpus, file) if "name" in o]
    names = {o["name"] for o in entries if books is None or o["document"]["key"] in books}
    return names | (set() if books and entity_type != "equipment" else {re.sub(r" \([^()]*\)$", "", n) for n in names})


def words_of(value: object) -> set[str]:
    return {word for word in fold(str(value)).split() if len(word) > 5}


# --- looking up ----------------------------------------------------------------------------------------------------


@each_row(
    ("written", "name", "language"),
    [
        ("Feuerball", "Fireball", "German"),
        ("BOULE DE FEU", "Fireball", "French"),
        ("bola de fuego", "Fireball", "Spanish"),
        ("Säurepfeil", "Acid Arrow", "German"),
        ("Saeurepfeil", "Acid Arrow", "German"),
        ("saurepfeil", "Acid Arrow", "German"),
        ("oeil magique", "Arcane Eye", "French"),
        ("Œil magique", "Arcane Eye", "French"),
        ("Melf's Acid Arrow", "Acid Arrow", ""),
        ("melf’s acid arrow", "Acid Arrow", ""),
        ("Tasha's Hideous Laughter", "Hideous Laughter", ""),
        ("Mordenkainen's Private Sanctum", "Private Sanctum", ""),
    ],
)
def test_a_name_is_found_in_any_spelling(written, name, language):
    assert (name, language) in explained(aliases_of("spells", fold(written)))


@each_row("sentence", ["is that ours or theirs", "a portal to the labyrinth", *sorted(ENGLISH)])
def test_english_words_are_no_names_within_a_sentence(sentence):
    assert [alias for t in TABLES for alias in aliases_within(t, sentence)] == []
