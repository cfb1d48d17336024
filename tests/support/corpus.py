"""The captured Open5e corpus: which of its files make which collection, and the program that serves it."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from tests.support.once import made_once

ENDPOINTS = {
    "spells": ["spells"],
    "creatures": ["creatures"],
    "equipment": ["magicitems", "items", "services"],
    "character_options": ["classes", "species", "feats", "backgrounds"],
    "rules": """rules rulesets sections_v1 planes_v1 conditions abilities skills languages environments alignments
        damagetypes creaturetypes spellschools weaponproperties itemsets""".split(),
    "documents": ["documents"],
}
"""The corpus's files by the collection their objects belong to."""

ENTITIES = "entities"
"""The folder of its files."""

_ROLLED_ON = re.compile(
    r"^[| ]*\**(?:roll )?1?d\d+\**(?: roll)?:? *\|.*\n[|: -]+-[|: -]*$", re.MULTILINE | re.IGNORECASE
)
"""The first lines of a table that is rolled on."""

_BEHIND = re.compile(r"^[^\n]*[^|\s][^\n]*\| *(?:dice: )?1?d(?:\d+|%) *\|[^\n]*\n[|: -]+-[|: -]*$", re.MULTILINE)
"""The same where its head stands behind a sentence, or behind the last row of another table."""

_DECKS = re.compile(r"\| *1?d\d+ \([^|()\n]+\) *(?=\|)")
"""A column of dice for one of several ways to use a table, as for two sizes of a deck."""

_IN_ONE_LINE = re.compile(r"\| *1?d\d+ *\|[^|\n]+\| +\|(?: *:?-{3,}:? *\|){2} +\|")
"""The beginning of one whose lines are run together."""

SECOND = {"srd_elf-drow", "srd_gnome-deep-svirfneblin", "srd_donkey"}
"""Keys of creatures that the corpus has a second time, under another name and with half of their values: never stored."""

Raw = dict[str, Any]


def statistics_of(corpus: Path) -> dict[str, Any]:
    """What the corpus says of itself, with an object that several documents share counted once for each; none of `SECOND`."""
    stats: dict[str, Any] = json.loads((corpus / ENTITIES / "_stats.json").read_text("utf-8"))
    for name, stat in stats.items():
        file = corpus / ENTITIES / f"{name}.jsonl"
        if file.exists() and '"descriptions"' in (text := file.read_text("utf-8")):
            parts = [part for line in text.splitlines() for part in apart(json.loads(line))]
            stat["count"] = len(parts)
            stat["by_document"] = Counter(str(part["document"]) for part in parts if isinstance(part["document"], str))
            stat["by_document"] += Counter(
                part["document"]["key"] for part in parts if isinstance(part["document"], dict)
            )
    stats["creatures"]["count"] -= len(SECOND)
    stats["creatures"]["by_document"]["srd-2014"] -= len(SECOND)
    return stats


def apart(obj: Raw) -> list[Raw]:
    """A raw object as LoreKeeper keeps it: for each document that its descriptions are from, an object of its own."""
    documents = list(dict.fromkeys(d["document"] for d in obj.get("descriptions") or []))
    own = obj.get("document")
    own_key = own["key"] if isinstance(own, dict) else own
    if documents in ([], [own_key]):
        return [obj]
    return [
        {
            **obj,
            "document": own if key == own_key else key,
            "descriptions": [d for d in obj["descriptions"] if d["document"] == key],
        }
        for key in documents
    ]


def tables_by_document(corpus: Path, types: Iterable[str] = tuple(ENDPOINTS)) -> Counter[str]:
    """How many tables to roll on the texts of some types have, by document, read by their first two lines alone."""
    found: Counter[str] = Counter()
    for name in (name for entity_type in types for name in ENDPOINTS[entity_type]):
        for obj in objects(corpus, name):
            number = sum(
                len(begun.findall(text))
                for text in _texts(obj)
                for begun in (_ROLLED_ON, _BEHIND, _IN_ONE_LINE, _DECKS)
            )
            found[_document(obj)] += number
    return +found


def _document(obj: Raw) -> str:
    document = obj.get("document") or obj.get("document__slug")
    return str(document["key"] if isinstance(document, dict) else document)


def _texts(value: object) -> Iterator[str]:
    """All texts of an object, with line breaks instead of what stands for them."""
    if isinstance(value, str):
        yield value.replace("\\r", "").replace("\\n", "\n").replace("\r", "")
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in _texts(each))


@contextmanager
def replaying(corpus: Path, *options: str) -> Iterator[str]:
    """Address of a server that answers as Open5e did; the options are its faults."""
    program = corpus.parent / "tools" / "open5e_replay.py"
    server = subprocess.Popen([sys.executable, str(program), *options], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


PAGE = 100
SPARE = 1.15
"""How many requests there may be for one that is needed."""


def pages_of(described: Mapping[str, Any], types: Iterable[str]) -> int:
    """How many requests the lists of some types need, by what a corpus says of itself."""
    return sum(math.ceil(described[name]["count"] / PAGE) for t in types for name in ENDPOINTS[t])


def requests_of(address: str) -> tuple[int, int]:
    """How many requests that server has had, and how many of these it failed."""
    with urllib.request.urlopen(f"{address}/__stats") as response:
        statistics = json.load(response)
    return statistics["requests"], statistics["failed"]


def objects(corpus: Path, name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file of the corpus, plain or packed."""
    path = next((corpus / ENTITIES).glob(f"{name}.jsonl*"))
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def imported(corpus: Path, factory: pytest.TempPathFactory) -> tuple[list[Entity], ImportReport]:
    """What an import reads of the corpus, and reports of it; read once for all workers of a run."""
    folder = made_once(factory, "imported-entries", lambda made: _write(made / "entries", corpus))
    with (folder / "entries").open("rb") as file:
        found: tuple[list[Entity], ImportReport] = pickle.load(file)
        return found


def imported_entries(corpus: Path, factory: pytest.TempPathFactory) -> list[Entity]:
    """What an import reads of the corpus, but for `SECOND`."""
    return [each for each in imported(corpus, factory)[0] if is_first(each)]


def is_first(entity: Entity) -> bool:
    """Whether an entry is none of `SECOND`."""
    return entity.data.get("key") not in SECOND


def _write(file: Path, corpus: Path) -> None:
    report = ImportReport()
    entries = [each.entity for each in Reader([corpus / ENTITIES], None, report).read()]
    file.write_bytes(pickle.dumps((entries, report), pickle.HIGHEST_PROTOCOL))
