"""What was read last stays in memory up to a size, and until what it was read of changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import Entity, remembered
from lorekeeper.text.passages import passages
from tests.support.entities import make


def test_something_is_read_once_of_each_object_of_an_entity() -> None:
    read: list[str] = []

    @remembered
    def shouted(entity: Entity) -> str:
        read.append(entity.name)
        return entity.name.upper()

    one = make("one", "Text.", name="Ipsum")
    assert [shouted(one), shouted(one)] == ["IPSUM", "IPSUM"]
    assert read == ["Ipsum"]
    assert shouted(replace(one, name="Dolor")) == "DOLOR"
    assert one == make("one", "Text.", name="Ipsum")
    assert one.as_record() == make("one", "Text.", name="Ipsum").as_record()


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "library.sqlite", lambda _: {})


def test_an_entity_is_decoded_again_only_after_its_type_has_changed(store: SqliteStore) -> None:
    def write(text: str) -> None:
        entity = make("one", text)
        parts = passages(entity)
        store.write("spells", [(entity, parts)], np.eye(1, 2, dtype=np.float32).repeat(len(parts), 0), "model")

    write("Amber.")
    first, again = (store.load("spells", [("own", "one"), ("own", "none"), ("own", "one")]) for _ in range(2))
    assert [entity.slug for entity in first] == ["one", "one"]
    assert again[0] is first[0]
    write("Brass.")
    assert store.load("spells", [("own", "one")])[0].data["desc"] == "Brass."
    store.close()
