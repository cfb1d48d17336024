"""Time of a first import of the open books with the vectors of the data package, beside the time without them.

python -m benchmarks.first_sync [--json] FOLDER...

`lorekeeper_rpg_vectors` must be installed, or be in packaging/vectors (`make vectors`). The time without it is extrapolated: to
the measured import comes the embedding of the texts that it did not embed, by the pace of a random sample in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import Result, report
from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.open_vectors import PACKAGE
from lorekeeper.settings import PREFIX, load_settings
from scripts.build_open_vectors import corpus_texts

SAMPLE, SEED = 768, 17
"""Texts of the sample: twelve batches."""

MOST_SHARE, MOST_TEXTS = 0.2, 600
"""What the vectors must leave: of the time, and of the texts."""

PACKAGES = Path(__file__).parent.parent / "packaging" / "vectors"


def imported(paths: Sequence[Path]) -> tuple[float, int]:
    """(seconds, texts embedded) of an import into a new library, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        places = [str(Path.cwd()), *([str(PACKAGES)] if list((PACKAGES / PACKAGE).glob("*.vectors")) else [])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*places, os.environ.get("PYTHONPATH", "")]),
            f"{PREFIX}MILVUS_DB_PATH": f"{folder}/milvus.db",
            f"{PREFIX}OFFLINE": "1",
        }
        began = time.monotonic()
        command = [sys.executable, "-m", "lorekeeper", "import", "--json", *map(str, paths)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return time.monotonic() - began, json.loads(done.stdout)["embedded"]


async def seconds_per_text(texts: Sequence[str]) -> float:
    """How long the model takes for one of these texts, once it is loaded."""
    service = EmbeddingService(lambda: load_provider(load_settings()[0]))
    await service.embed(texts[:1])
    began = time.monotonic()
    await service.embed(texts)
    seconds = time.monotonic() - began
    service.close()
    return seconds / len(texts)


def measure(paths: list[Path]) -> Result:
    """Import with the vectors, then embed a sample."""
    seconds, embedded = imported(paths)
    texts = sorted({text for path in paths for text in corpus_texts(path)})
    sample = random.Random(SEED).sample(texts, min(SAMPLE, len(texts)))
    pace = asyncio.run(seconds_per_text(sample))
    without = seconds + pace * (len(texts) - embedded)
    rows = [
        ["with the vectors", f"{seconds:.0f} s", f"{embedded:,}"],
        ["without (extrapolated)", f"{without:.0f} s", f"{len(texts):,}"],
    ]
    claims = [
        (f"at most {MOST_SHARE} x the time without", f"{seconds / without:.3f} x", seconds <= MOST_SHARE * without),
        (f"at most {MOST_TEXTS} texts embedded", f"{embedded:,}", embedded <= MOST_TEXTS),
    ]
    notes = [f"The model took {1000 * pace:.1f} ms for a text, by {len(sample)} drawn at random."]
    return Result("First import of the open books", ["import", "time", "texts embedded"], rows, claims, notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time of a first import with and without shipped vectors.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="FOLDER", help="what is imported")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    sys.exit(report(measure(arguments.paths), as_json=arguments.json))
