"""Filter fields against what a reader found in entries drawn at random (see ``tests/labels/README.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import COLLECTIONS, Entity, FieldType
from tests.support import labels
from tests.support.label_draw import QUOTAS
from tests.support.labels import Label, Score
from tests.support.tables import each_row

COLLECTION_FIELDS = [(c, name) for c in QUOTAS for name in labels.fields_of(c)]
LONGEST_VALUE = 40
"""Characters of a label's longest value: labels hold values, no text of the books."""


FEWEST_LABELS = 50
"""Of each collection."""


def entry(**fields: Any) -> Entity:
    return Entity("creatures", "owl", "Owl", "creature", "book", "test", {}, fields)


def label(optional: dict[str, list[str]] | None = None, **fields: Any) -> Label:
    return Label("book", "owl", "Owl", fields, optional or {})


def scored(true: Label, found: Entity, name: str) -> tuple[int, int, int]:
    score = Score()
    labels.compare(true, found, name, score)
    return score.right, score.wrong, score.missing


@pytest.fixture(scope="module")
def scores(corpus: Path) -> dict[str, dict[str, Score]]:
    """Of every collection."""
    found = {collection: labels.evaluate(corpus, collection) for collection in QUOTAS}
    for collection, fields in found.items():
        print(f"\n{collection}\n{labels.table(fields)}")
    return found


@pytest.mark.corpus
@pytest.mark.parametrize(("collection", "name"), COLLECTION_FIELDS)
def test_a_field_is_found_as_a_reader_finds_it(scores, collection, name):
    if not labels.known(collection, name):
        pytest.skip(f"{collection} have no field {name}")
    score = scores[collection][name]
    shares = f"precision {score.precision:.3f}, recall {score.recall:.3f} of {score.labelled}"
    assert score.holds, "\n".join([shares, *score.faults])


@pytest.mark.corpus
@pytest.mark.parametrize("collection", QUOTAS)
def test_the_labels_are_of_the_entries_drawn(corpus, collection):
    assert [(x.document, x.slug) for x in labels.labels(collection)] == labels.drawn(corpus, collection)


@each_row("collection", QUOTAS)
def test_labels_hold_values_and_no_texts(collection):
    entry_labels = labels.labels(collection)
    assert len(entry_labels) >= FEWEST_LABELS
    for entry_label in entry_labels:
        for name, value in [*entry_label.fields.items(), *entry_label.optional.items()]:
            values = value if isinstance(value, list) else [value]
            assert values, f"{entry_label.slug} has an empty {name}"
            assert all(len(str(v)) <= LONGEST_VALUE for v in values), f"{entry_label.slug}, {name}: {values}"


@each_row("collection", QUOTAS)
def test_labels_are_of_the_declared_types(collection):
    declared = COLLECTIONS[collection].filters
    numbers = (FieldType.INTEGER, FieldType.DECIMAL)
    entry_labels = labels.labels(collection)
    assert len(entry_labels) >= FEWEST_LABELS
    for entry_label in entry_labels:
        for name, value in entry_label.fields.items():
            if name in declared:
                assert isinstance(value, bool) == (declared[name].type is FieldType.FLAG), name
                is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
                assert is_number == (declared[name].type in numbers), name


@each_row(
    ("true", "found", "name", "counts"),
    [
        (label(saves=["wisdom"]), entry(saves=("wisdom", "charisma")), "saves", (1, 1, 0)),
        (label(saves=["wisdom", "strength"]), entry(saves=("wisdom",)), "saves", (1, 0, 1)),
        (label(), entry(saves=("wisdom",)), "saves", (0, 1, 0)),
        (label({"saves": ["wisdom"]}), entry(saves=("wisdom",)), "saves", (0, 0, 0)),
        (label(hover=True), entry(hover=False), "hover", (0, 0, 1)),
        (label(), entry(hover=False), "hover", (0, 0, 0)),
        (label(speed_fly=60), entry(speed_fly=60.0), "speed_fly", (1, 0, 0)),
        (label(speed_fly=60), entry(speed_fly=30.0), "speed_fly", (0, 1, 1)),
        (label(alignment=["chaotic evil"]), entry(alignment=("evil", "chaotic evil")), "alignment", (2, 0, 0)),
        (label(size=["small", "medium"]), entry(size="small"), "size", (1, 0, 1)),
        (label(resistant=["fire"]), entry(resistant=("fire", "prone")), "resistant", (1, 0, 0)),
    ],
)
def test_values_are_counted(true, found, name, counts):
    assert scored(true, found, name) == counts
