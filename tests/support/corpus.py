"""The captured Open5e corpus: which of its files make which collection, and the program that serves it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENDPOINTS = {
    "spells": ["spells"],
    "creatures": ["creatures"],
    "equipment": ["magicitems", "items", "weapons", "armor", "services"],
    "character_options": ["classes", "species", "feats", "backgrounds"],
    "rules": """rules rulesets sections_v1 planes_v1 conditions abilities skills languages environments alignments
        damagetypes creaturetypes spellschools weaponproperties itemsets""".split(),
    "documents": ["documents"],
}
"""The corpus's files by the collection their objects belong to."""


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


def requests_of(address: str) -> tuple[int, int]:
    """How many requests that server has had, and how many of these it failed."""
    with urllib.request.urlopen(f"{address}/__stats") as response:
        statistics = json.load(response)
    return statistics["requests"], statistics["failed"]


def objects(corpus: Path, name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file of the corpus, plain or packed."""
    path = next((corpus / "entities").glob(f"{name}.jsonl*"))
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
