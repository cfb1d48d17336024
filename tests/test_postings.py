"""All words of a table are learned while questions go on, and change no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite import postings
from lorekeeper.cache.sqlite.impacts import Impacts
from lorekeeper.cache.sqlite.postings import ASKED, Postings
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import Entity
from lorekeeper.filters import Selection
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.passages import passages
from tests.support.waiting import until

WORDS = ["ape", "boats", "boating", "cave", "dune", "éclair", "fire"]

SPELLS = Selection("spells")


def entity(number: int, chance: random.Random) -> Entity:
    text = " ".join(chance.choices(WORDS, k=chance.randint(1, 40)))
    name = f"{chance.choice(WORDS)} {number % 7}"
    return Entity(
        type="spells", slug=f"s{number}", name=name, kind="spell", document="own", source_api="own", data={"desc": text}
    )


def write(store: SqliteStore, entities: list[Entity]) -> None:
    chunked = [(each, passages(each)[:1]) for each in entities]
    store.write("spells", chunked, np.eye(len(entities), 8, dtype=np.float32), "model")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    chance, opened = random.Random(5), SqliteStore(tmp_path / "cache.db", lambda entity: entity.fields)
    write(opened, [entity(number, chance) for number in range(200)])
    yield opened
    opened.close()


def impacts_of(store: SqliteStore) -> Impacts:
    return store.file.read(lambda c: store._impacts_of(c, "spells"))


def search(store: SqliteStore, *words: str) -> list[Ranked]:
    return store.rank_keyword(SPELLS, KeywordQuery(words), 300)


def learned(store: SqliteStore) -> Postings:
    """What is learned after two questions."""
    for _ in range(ASKED):
        search(store, "cave")
    until(lambda: impacts_of(store).postings)
    found = impacts_of(store).postings
    assert found is not None
    return found


def test_answers_are_the_same_once_the_words_are_learned(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    questions = [chance.sample([*WORDS, "absent", "7", "boat"], chance.randint(1, 4)) for _ in range(60)]
    among = chance.sample(store.identities("spells"), 50)

    def answers() -> list[object]:
        return [
            (
                search(store, *words),
                store.known_words("spells", words),
                {
                    identity: pytest.approx(score)
                    for identity, score in store.word_scores("spells", words, among, lambda found, _: found).items()
                },
            )
            for words in questions
        ]

    before = answers()
    found = learned(store)
    assert answers() == before
    assert found.count("boat") == len(search(store, "boating"))
    assert found.count("absent") == 0


def test_one_question_learns_nothing(store: SqliteStore) -> None:
    for _ in range(ASKED - 1):
        search(store, "cave")
    assert store._learning._thread is None


def test_what_is_learned_is_of_one_state(store: SqliteStore) -> None:
    assert learned(store).count("golem") == 0
    write(store, [replace(entity(500, random.Random(1)), name="Golem")])
    assert impacts_of(store).postings is None
    assert [hit.name for hit in search(store, "golem")] == ["Golem"]
    assert learned(store).count("golem") == 1


def test_the_words_of_large_tables_are_not_learned(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = learned(store).starts[-1]
    ids = impacts_of(store).texts.ids
    for most, is_read in ((rows, True), (rows - 1, False)):
        monkeypatch.setattr(postings, "MOST", most)
        found = store.file.read(lambda c: Postings.read(c, "spells", ids, lambda _: None))
        assert (found is not None) == is_read


def test_an_empty_table_has_no_words(tmp_path: Path) -> None:
    opened = SqliteStore(tmp_path / "cache.db", lambda entity: entity.fields)
    ids = np.empty(0, np.int64)
    assert opened.file.read(lambda c: Postings.read(c, "spells", ids, lambda _: None)) is None
    assert search(opened, "fire") == []
    opened.close()


def test_closing_ends_what_is_being_learned(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "TOKENS", 1)
    monkeypatch.setattr(postings, "RESTS", 10**9)
    for _ in range(ASKED):
        search(store, "cave")
    assert store._learning._thread is not None
    store.close()
    assert store._learning._thread is None
    assert impacts_of(store).postings is None
    assert search(store, "cave")


def test_a_file_that_cannot_be_read_leaves_questions_answered(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = search(store, "fire")
    impacts = impacts_of(store)
    monkeypatch.setattr(store._learning, "_path", store.file.path / "nowhere")
    store._learning._learn("spells", impacts.version, impacts.texts.ids)
    assert impacts_of(store).postings is None
    assert search(store, "fire") == before
