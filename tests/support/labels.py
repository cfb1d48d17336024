"""The hand labels of ``tests/labels``, and how exactly `normalize` finds what they say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lorekeeper.editions import edition_of
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.folding import fold
from lorekeeper.normalize import normalize
from tests.support.corpus import objects
from tests.support.label_draw import Object, document_of, draw, slug_of

FOLDER = Path(__file__).parent.parent / "labels"

PRECISION, RECALL = 0.98, 0.90
"""Least shares of right values among those found, and of found ones among the right ones."""

ENOUGH = 10
"""Fewest labelled values of a field whose shares mean anything."""

CONDITIONS = frozenset(
    """blinded charmed deafened exhaustion frightened grappled incapacitated paralyzed petrified poisoned prone restrained
    stunned unconscious""".split()
)

EDITION = "edition"
"""The labelled edition, which is no field of every collection."""

SYNONYMS = {"fatigue": "exhaustion", "species": "race", "subspecies": "subrace", "lineage": "race"}
"""Other words for the same value."""


@dataclass(frozen=True)
class Label:
    """What a reader found in one entry.

    Attributes:
        document: key of its document.
        slug: its slug within the document.
        name: its name.
        fields: the true value of each field that the entry says: a list for texts.
        optional: values that a reader may or may not count; they are neither right nor wrong.
        unclear: fields that are not judged here, since readers could differ.
    """

    document: str
    slug: str
    name: str
    fields: Mapping[str, Any]
    optional: Mapping[str, list[str]] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()


@dataclass
class Score:
    """Values of one field: right, wrong and missing ones, and where these are."""

    right: int = 0
    wrong: int = 0
    missing: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def labelled(self) -> int:
        """How many values the labels have."""
        return self.right + self.missing

    @property
    def precision(self) -> float:
        """Share of right values among those found; 1 if none was found."""
        return self.right / ((self.right + self.wrong) or 1) if self.right or self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Share of found values among the labelled ones; 1 if there is none."""
        return self.right / self.labelled if self.labelled else 1.0

    @property
    def holds(self) -> bool:
        """Whether both shares are large enough, or too few values are labelled to say."""
        return self.labelled < ENOUGH or (self.precision >= PRECISION and self.recall >= RECALL)


def labels(collection: str) -> list[Label]:
    """The labels of a collection, in the order in which they were drawn."""
    lines = (FOLDER / f"{collection}.jsonl").read_text("utf-8").splitlines()
    return [Label(**{k: v for k, v in json.loads(line).items() if k != "file"}) for line in lines]


def fields_of(collection: str) -> list[str]:
    """Every field that the labels of a collection have."""
    found = Counter(name for label in labels(collection) for name in label.fields)
    return sorted(found)


def known(collection: str, name: str) -> bool:
    """Whether there is something to compare a labelled field with."""
    return name in COLLECTIONS[collection].filters or name == EDITION


def evaluate(corpus: Path, collection: str) -> dict[str, Score]:
    """The score of each labelled field that is declared."""
    scores = {name: Score() for name in fields_of(collection) if known(collection, name)}
    systems = {document["key"]: document["gamesystem"]["name"] for document in objects(corpus, "documents")}
    for label, entity in _pairs(corpus, collection):
        for name, score in scores.items():
            if name == EDITION and name not in entity.collection.filters:
                edition = edition_of(entity.document, systems.get(entity.document))
                entity = replace(entity, fields={**entity.fields, EDITION: edition})
            if name not in label.unclear:
                compare(label, entity, name, score)
    return scores


def compare(label: Label, entity: Entity, name: str, score: Score) -> None:
    """Count the values of one field of one entry."""
    true = _values(name, label.fields.get(name))
    optional = _values(name, label.optional.get(name))
    found = _values(name, _value(entity, name)) - optional
    score.right += len(true & found)
    score.wrong += len(found - true)
    score.missing += len(true - found)
    for sign, values in (("+", found - true), ("-", true - found)):
        if values:
            score.faults.append(f"{sign} {label.document}/{label.slug}: {', '.join(map(str, sorted(values, key=str)))}")


def _value(entity: Entity, name: str) -> object:
    return entity.kind if name == "kind" else entity.fields.get(name)


def _values(name: str, value: object) -> set[object]:
    """What is compared: of flags only True, of an alignment its words, of resistances no conditions."""
    if value is None or value is False or value == "":
        return set()
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    texts = {SYNONYMS.get(fold(v), fold(v)) if isinstance(v, str) else _number(v) for v in values}
    if name == "alignment":
        return {word for text in texts for word in str(text).split() if word != "any"}
    if name in ("resistant", "vulnerable"):
        return texts - CONDITIONS
    return texts


def _number(value: object) -> object:
    return round(float(value), 3) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _pairs(corpus: Path, collection: str) -> Iterator[tuple[Label, Entity]]:
    for label, (file, obj) in zip(labels(collection), draw(corpus, collection), strict=True):
        yield label, _entity(label, file, obj)


def _entity(label: Label, file: str, obj: Object) -> Entity:
    """The entity that is labelled: the one of that slug, or the first where the entry was taken apart."""
    entities = normalize(obj, hint=file)
    return next((e for e in entities if (e.document, e.slug) == (label.document, label.slug)), entities[0])


def drawn(corpus: Path, collection: str) -> list[tuple[str, str]]:
    """(document, slug) of the entries that are drawn."""
    return [(document_of(obj), slug_of(obj)) for _, obj in draw(corpus, collection)]


def table(scores: Mapping[str, Score]) -> str:
    """A row per field: precision, recall, number of labelled values, and whether that is enough."""
    rows = [f"{'field':20} precision recall labelled"]
    for name, score in sorted(scores.items()):
        verdict = "" if score.holds else "  too low"
        few = "  few" if score.labelled < ENOUGH else ""
        rows.append(f"{name:20} {score.precision:9.3f} {score.recall:6.3f} {score.labelled:8}{verdict}{few}")
    return "\n".join(rows)
