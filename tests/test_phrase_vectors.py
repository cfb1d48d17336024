"""The vectors of the shipped phrases: how near a question is to the nearest phrase of an entry."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from lorekeeper.embedding.configured import load_provider
from lorekeeper.embedding.phrase_vectors import (
    DIRECTIONS,
    PHRASE_VECTORS,
    PhraseVectors,
    digest_in,
    digest_of,
    save_phrase_vectors,
)
from lorekeeper.embedding.protocol import normalized
from lorekeeper.text.phrases import PHRASES, RULES_2024, shipped_phrases
from tests.support.libraries import settings

MODEL = "a model"
DIMENSION = 2 * DIRECTIONS


@pytest.fixture
def drawn(seed, tmp_path):
    """A file of some entries' phrases, whose vectors differ in few directions, as those of a model do: and the vectors."""
    chance = np.random.default_rng(seed)
    phrases = {("spells", f"spell {n}"): [f"phrase {n} {m}" for m in range(1 + n % 4)] for n in range(60)}
    number = sum(map(len, phrases.values()))
    numbers = chance.normal(size=(number, 40)) @ chance.normal(size=(40, DIMENSION))
    vectors = normalized(numbers.astype(np.float32))
    save_phrase_vectors(tmp_path / "phrases.npz", MODEL, phrases, vectors)
    own = np.split(vectors, np.cumsum([len(texts) for texts in phrases.values()])[:-1])
    return PhraseVectors(tmp_path / "phrases.npz"), dict(zip(phrases, own, strict=True))


def test_an_entry_is_as_near_as_its_nearest_phrase(drawn):
    file, vectors = drawn
    assert len(vectors) == 60
    for own in list(vectors.values())[::7]:
        found = file.similarities(MODEL, own[-1], vectors.keys())
        assert found.keys() == vectors.keys()
        for name, similarity in found.items():
            assert similarity == pytest.approx(float((vectors[name] @ own[-1]).max()), abs=0.08)


def test_variants_have_the_phrases_of_their_base_name_and_others_have_none(drawn):
    file, vectors = drawn
    question = vectors["spells", "spell 7"][0]
    found = file.similarities(
        MODEL, question, [("spells", "Spell 7 (Greater)"), ("rules", "Spell 7"), ("spells", "own")]
    )
    assert found.keys() == {("spells", "Spell 7 (Greater)")}
    assert file.similarities(MODEL, question, []) == {}


def test_without_a_usable_file_there_are_no_phrases_which_is_said_once(tmp_path, caplog):
    (tmp_path / "damaged").write_bytes(b"PK\x03\x04 and nothing else")
    with caplog.at_level(logging.WARNING):
        for path in (tmp_path / "missing", tmp_path / "damaged"):
            file = PhraseVectors(path)
            for _ in range(2):
                assert file.similarities(MODEL, np.ones(1, np.float32), [("spells", "light")]) == {}
    assert len(caplog.records) == 2


def test_the_file_that_ships_is_that_of_the_phrases():
    """Run scripts/build_phrase_vectors.py where this fails."""
    phrases = shipped_phrases()
    assert len(phrases) > 6000
    assert digest_in(PHRASE_VECTORS) == digest_of(phrases)
    provider, file = load_provider(settings()), PhraseVectors(PHRASE_VECTORS)
    chosen = list(phrases)[:: len(phrases) // 20]
    for name in chosen:
        (vector,) = provider.embed(phrases[name][:1])
        found = file.similarities(provider.fingerprint, vector, phrases.keys())
        assert found.keys() == phrases.keys()
        assert found[name] > 0.5
        assert name in sorted(found, key=found.__getitem__)[-5:]


def test_a_name_has_the_phrases_of_every_file_that_has_it():
    files = [folder / "rules.jsonl" for folder in (RULES_2024, PHRASES)]
    entries = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    asked = [set(entry["asked_as"]) for entry in entries if entry["name"] == "Opportunity Attacks"]
    assert len(asked) >= 2
    assert set(shipped_phrases()["rules", "opportunity attacks"]) == set().union(*asked)
