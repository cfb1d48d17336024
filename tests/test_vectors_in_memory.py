"""The matrix of a type leaves out no passage that belongs to a result: a law."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.cache.protocol import SCORE_DIGITS
from lorekeeper.cache.sqlite.file import vectors_file
from lorekeeper.cache.sqlite.passages import Matrix, Owned, _matrix
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.composition import open_store
from lorekeeper.embedding import HashingProvider
from lorekeeper.settings import Settings
from lorekeeper.text.passages import CHUNKER, passages
from tests.support.entities import make, versioned
from tests.support.libraries import settings


def sqlite_in(folder: Path) -> Settings:
    return settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")


def units(chance: np.random.Generator, number: int, dimension: int, kind: str) -> Any:
    """Vectors of length 1: spread evenly, near each other, equal, along axes, or with one large number."""
    vectors = chance.standard_normal((number, dimension))
    match kind:
        case "near":
            vectors = vectors[:1] + 1e-3 * vectors
        case "equal":
            vectors = vectors[chance.integers(0, min(3, number), number)]
        case "axes":
            vectors = np.eye(dimension)[chance.integers(0, dimension, number)]
        case "large":
            vectors[:, 0] += 30 * np.sqrt(dimension)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def wanted(vectors: Any, query: Any, owners: Any, limit: int, looked: int, allowed: Any) -> set[int]:
    """The passages that belong to a result, by brute force over whole vectors with numbers of 53 bits."""
    scores = np.round(vectors.astype(np.float64) @ query.astype(np.float64), SCORE_DIGITS)
    places = [place for place in range(len(scores)) if allowed is None or allowed[owners[place]]]
    best: dict[int, float] = {}
    for place in places:
        best[owners[place]] = max(best.get(owners[place], -np.inf), scores[place])
    ordered = sorted(best.values(), reverse=True)
    last = ordered[limit - 1] if len(ordered) >= limit else -np.inf
    found = {place for place in places if scores[place] >= last}
    return found | set(sorted(places, key=lambda place: -scores[place])[:looked])


@given(
    seed=st.integers(0, 2**32 - 1),
    dimension=st.sampled_from([2, 3, 16, 50, 384]),
    number=st.integers(1, 300),
    kind=st.sampled_from(["even", "near", "equal", "axes", "large"]),
    limit=st.integers(1, 40),
    looked=st.sampled_from([0, 0, 5, 120]),
    share=st.sampled_from([None, 0.0, 0.05, 0.5, 1.0]),
    length=st.sampled_from([1.0, 1.0, 0.0, 1e-3, 40.0]),
)
def test_no_passage_of_a_result_is_left_out(
    seed: int, dimension: int, number: int, kind: str, limit: int, looked: int, share: float | None, length: float
) -> None:
    chance = np.random.default_rng(seed)
    vectors = units(chance, number, dimension, kind)
    owners = np.sort(chance.integers(0, max(1, number // 3), number))
    parts = np.arange(number)
    split = int(chance.integers(0, number + 1))
    pieces = [Owned(vectors[part], owners[part], parts[part]) for part in (slice(0, split), slice(split, None))]
    matrix = Matrix.of(piece for piece in pieces if len(piece.owners))
    assert matrix is not None
    allowed = None if share is None else chance.random(len(matrix.entities)) < share
    query = (length * units(chance, 1, dimension, "even")[0]).astype(np.float32)
    if chance.random() < 0.5:
        query = (length * vectors[int(chance.integers(0, number))]).astype(np.float32)
    rank = np.searchsorted(matrix.entities, owners)
    places, similar = matrix.near(query, limit, looked, allowed)
    near = places.tolist()
    best = wanted(vectors, query, rank, limit, looked, allowed)
    scores = np.round(vectors.astype(np.float64) @ query.astype(np.float64), SCORE_DIGITS)
    lowest = min((scores[place] for place in best), default=np.inf)
    assert {place for place in best if not looked or scores[place] > lowest} <= set(near)
    assert similar == [scores[place] for place in near]
    assert near == sorted(near, key=lambda place: (-scores[place], place))
    assert allowed is None or all(allowed[rank[place]] for place in near)


@pytest.mark.parametrize("seed", range(3))
def test_after_any_writes_the_matrix_is_that_of_the_file(tmp_path: Path, seed: int) -> None:
    store, chance, provider = open_store(sqlite_in(tmp_path)), random.Random(seed), HashingProvider(16)
    assert isinstance(store, SqliteStore)
    for version in range(15):
        slugs = [f"s{n}" for n in chance.sample(range(40), chance.randrange(1, 12))]
        if version and chance.random() < 0.3:
            store.delete_entities("spells", [("own", slug) for slug in slugs])
        else:
            cut = [(entity, passages(entity)) for entity in (versioned(slug, version) for slug in slugs)]
            vectors = provider.embed([passage.embedded for _, own in cut for passage in own])
            store.write("spells", cut, vectors, f"{provider.fingerprint} {CHUNKER}")
        kept, read = store.file.read(lambda c: (store.matrix(c, "spells"), _matrix(c, "spells")))
        assert same(kept, read)
    store.close()


# --- the stored matrix -----------------------------------------------------------------------------------------------


def same(one: Matrix | None, other: Matrix | None) -> bool:
    """Whether two matrices have the same numbers."""
    names = Matrix.__dataclass_fields__ if one and other else []
    return (one is None) == (other is None) and all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


class Filled:
    """A library in SQLite with some spells."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.provider = folder, HashingProvider(16)

    def open(self) -> SqliteStore:
        store = open_store(sqlite_in(self.folder))
        assert isinstance(store, SqliteStore)
        return store

    def write(self, store: SqliteStore, version: int, entity_type: str = "spells") -> None:
        made = [make(f"s{n}", f"{entity_type} {version} {n}", type=entity_type) for n in range(version, 30)]
        cut = [(entity, passages(entity)) for entity in made]
        vectors = self.provider.embed([passage.embedded for _, own in cut for passage in own])
        store.write(entity_type, cut, vectors, f"{self.provider.fingerprint} {CHUNKER}")

    def is_stored(self) -> bool:
        """Whether the next opening takes the stored matrix, which then is that of the file; it is closed without storing."""
        store = self.open()
        read = store.file.read(lambda c: _matrix(c, "spells"))
        stored = store.file.read(lambda c: store._read_stored(c, "spells", store._state_of(c, "spells")))
        assert stored is None or same(stored, read)
        assert same(store.file.read(lambda c: store.matrix(c, "spells")), read)
        store.file.close()
        return stored is not None


def test_a_damaged_stored_matrix_is_made_again(tmp_path: Path) -> None:
    library = Filled(tmp_path)
    store = library.open()
    library.write(store, 0)
    library.write(store, 0, "creatures")
    store.open(["spells", "creatures"])
    store.file.close()
    stored, other = (vectors_file(tmp_path / "cache.db", name) for name in ("spells", "creatures"))
    for damaged in (other.read_bytes(), stored.read_bytes().replace(b"\0", b"\1", 1), b""):
        stored.write_bytes(damaged)
        assert not library.is_stored()
    store = library.open()
    store.open(["spells"])
    store.close()
    assert library.is_stored()
