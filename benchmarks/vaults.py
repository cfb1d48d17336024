"""A vault of 5,000 generated notes in a full library: first indexing, no changes, saved notes, renames, lookups.

    python -m benchmarks.vaults [--json]

The vectors of the vault, and of a book that is imported beside it, are cached beforehand: what is measured is everything but the
model. What the model takes for a text of the vault is measured on some of them, and added to both. Cached are vectors of texts of
the library with some noise, so that questions, which the real model embeds, are as near to notes as they are to books, and find
some. No question is asked twice. Lookups are measured on a server that has been asked before, and left alone for some seconds.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    Result,
    Server,
    environment,
    library,
    median,
    milliseconds,
    percentile,
    questions,
    run,
    settings_of,
)
from benchmarks.generated_vault import NOTES, SEED, GeneratedVault
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import load_provider
from lorekeeper.embedding.protocol import normalized
from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import read_note
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

KEY = "campaign"

RATE, UNCHANGED_SECONDS, FOUND_SECONDS, LOOKUP_FACTOR = 0.9, 0.5, 1.0, 1.3
"""What is claimed: of the rate of imports, of a sync without changes, of a note that was saved, of lookups of spells."""

EMBEDDED = 640
"""Texts of the vault that are embedded to know what the model takes."""

TRIES, RENAMES, LOOKUPS, REPEATS = 50, 500, 40, 5

NOISE = 0.3
"""Length of the noise beside a vector, which has the length 1: questions are then about as near as they are to real texts."""

WORDS_OF_BOOKS = 480
"""Words of an entry of a book: about four texts, as in the open ones."""


def measure() -> Result:
    """Measure all of it in a copy of the library that is asked."""
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as temporary:
        folder, vault = Path(temporary) / "library", Path(temporary) / KEY
        shutil.copytree(library(), folder)
        generated = GeneratedVault()
        generated.write(vault)
        rows, claims = _indexed(folder, vault, generated)
        for measured in (_unchanged(folder), _saved_and_asked(folder, vault), _renamed(folder, vault)):
            rows += measured[0]
            claims += measured[1]
    notes = [f"{NOTES:,} notes, seed {SEED}; vectors of texts come from the cache, those of questions from the model"]
    return Result("Vaults", ["what", "measured", "beside"], rows, claims, notes)


Measured = tuple[list[list[str]], list[tuple[str, str, bool]]]


def _indexed(folder: Path, vault: Path, generated: GeneratedVault) -> Measured:
    """First indexing, and an import of a book of as many texts, into copies of one library."""
    texts = [text for path in generated.paths for text in _texts([_entity(vault, path)])]
    book = vault.with_name("book.jsonl")
    from_book = _write_book(book, generated, len(texts))
    _file_vectors(folder, [*texts, *from_book])
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    _command(folder, "search", "fire", "--type", "spells")
    _command(other, "search", "fire", "--type", "spells")
    imported = _command(other, "import", str(book))
    added = _command(folder, "vault", "add", str(vault), "--key", KEY)
    seconds = added["seconds"] / len(texts), imported["seconds"] / len(from_book)
    model = _model_seconds(folder, texts)
    factor = (seconds[1] + model) / (seconds[0] + model)
    rows = [
        ["first indexing, without the model", f"{1 / seconds[0]:.0f} texts/s", f"import: {1 / seconds[1]:.0f} texts/s"],
        ["first indexing", *(f"{1 / (own + model):.0f} texts/s" for own in seconds)],
    ]
    claims = [
        (f"first indexing at least at {RATE} x the rate of imports", f"{factor:.2f} x", factor >= RATE),
        ("nothing is embedded that has a vector", f"{added['embedded']} texts", added["embedded"] <= 1),
    ]
    return rows, claims


def _model_seconds(folder: Path, texts: list[str]) -> float:
    """What the model takes for a text."""
    provider, chosen = load_provider(settings_of(folder)), random.Random(SEED).sample(texts, EMBEDDED)
    provider.embed(chosen[:8])
    began = time.perf_counter()
    provider.embed(sorted(chosen, key=len))
    return (time.perf_counter() - began) / EMBEDDED


def _unchanged(folder: Path) -> Measured:
    """A sync without changes, in processes of its own and in this one."""
    starts: list[float] = []
    syncs: list[float] = []
    for _ in range(REPEATS):
        for arguments, into in ((("stats",), starts), (("vault", "sync"), syncs)):
            began = time.perf_counter()
            _command(folder, *arguments)
            into.append(time.perf_counter() - began)
    alone = max(0.0, median(syncs) - median(starts))
    within = asyncio.run(_synced_again(folder))
    rows = [
        ["nothing changed, a new process", f"{median(syncs):.2f} s", f"{median(starts):.2f} s for 'stats'"],
        ["nothing changed, a running process", f"{within:.2f} s", ""],
    ]
    claim = f"nothing changed: at most {UNCHANGED_SECONDS} s"
    claims = [
        (f"{claim} beside the start of a process", f"{alone:.2f} s", alone <= UNCHANGED_SECONDS),
        (f"{claim} in a running process", f"{within:.2f} s", within <= UNCHANGED_SECONDS),
    ]
    return rows, claims


async def _synced_again(folder: Path) -> float:
    seconds = []
    async with Library.from_settings(settings_of(folder, offline=1)) as opened:
        await opened.vaults.sync()
        for _ in range(REPEATS):
            began = time.perf_counter()
            await opened.vaults.sync()
            seconds.append(time.perf_counter() - began)
    return median(seconds)


def _saved_and_asked(folder: Path, vault: Path) -> Measured:
    """Saved notes, and lookups, through a server over stdio."""
    chance = random.Random(SEED)
    with Server(folder, offline="1") as server:
        for tool in ("lookup_note", "lookup_spell"):
            server.ask(tool, semantic_query="warm up")
        asked = _lookups(server, chance, vault)
        paths = chance.sample(sorted(vault.rglob("*.md")), TRIES)
        changed = [
            _found(server, path, f"{path.read_text('utf-8')}\n#t{n}x\n", f"t{n}x") for n, path in enumerate(paths)
        ]
        new = [_found(server, vault / "New" / f"Saved {n}.md", f"Just saved. #n{n}x\n", f"n{n}x") for n in range(TRIES)]
    rows, claims = [], []
    for what, seconds in (("changed", changed), ("new", new)):
        late = percentile(seconds, 0.95)
        rows.append([f"one {what} note found", f"p95 {late:.2f} s", f"p50 {median(seconds):.2f} s"])
        claims.append(
            (f"a {what} note is found within {FOUND_SECONDS:.0f} s, p95", f"{late:.2f} s", late <= FOUND_SECONDS)
        )
    both = (
        [seconds for own, _ in asked.values() for seconds in own],
        [seconds for _, own in asked.values() for seconds in own],
    )
    for what, (notes, spells) in {**asked, "in all three ways": both}.items():
        factor = median(notes) / median(spells)
        rows.append([f"lookup {what}, p50", milliseconds(median(notes)), f"spells: {milliseconds(median(spells))}"])
        claims.append(
            (f"lookup of notes {what} within {LOOKUP_FACTOR} x of spells", f"{factor:.2f} x", factor <= LOOKUP_FACTOR)
        )
    return rows, claims


def _lookups(server: Server, chance: random.Random, vault: Path) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds of lookups of notes and of spells in turn, by what is asked."""
    names = [path.stem for path in chance.sample(sorted(vault.rglob("*.md")), LOOKUPS)]
    total = server.ask("lookup_spell", limit=50)
    spells = [str(entry["name"]) for entry in total["results"]]
    tags = ("undead", "harbour", "npc/ally", "place", "open")
    schools = ("evocation", "necromancy", "illusion", "divination", "conjuration")
    asked = questions(2 * LOOKUPS)
    chance.shuffle(asked)
    kinds: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
        "by name": [({"name": name}, {"name": spells[n % len(spells)]}) for n, name in enumerate(names)],
        "by filters": [({"tags": [tags[n % 5]]}, {"school": schools[n % 5]}) for n in range(LOOKUPS)],
        "by meaning": [
            ({"semantic_query": one}, {"semantic_query": other})
            for one, other in zip(asked[::2], asked[1::2], strict=True)
        ],
    }
    for number in range(2):
        for tool in ("lookup_note", "lookup_spell"):
            server.ask(tool, semantic_query=f"before the first of them, {number}")
    found: dict[str, tuple[list[float], list[float]]] = {}
    for what, pairs in kinds.items():
        times = [(server.timed("lookup_note", **own), server.timed("lookup_spell", **other)) for own, other in pairs]
        found[what] = [note for note, _ in times], [spell for _, spell in times]
    return found


def _found(server: Server, path: Path, text: str, tag: str) -> float:
    """Seconds from saving a note until a lookup finds its new tag."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    began = time.perf_counter()
    while not server.ask("lookup_note", tags=[tag])["results"]:
        if time.perf_counter() - began > 10 * FOUND_SECONDS:
            break
    return time.perf_counter() - began


def _renamed(folder: Path, vault: Path) -> Measured:
    """Rename notes in another folder, and sync."""
    (vault / "Moved").mkdir()
    for number, path in enumerate(random.Random(SEED).sample(sorted(vault.glob("NPCs/*.md")), RENAMES)):
        path.rename(vault / "Moved" / f"{path.stem} or {number}.md")
    report = _command(folder, "vault", "sync")
    rows = [[f"{RENAMES} renamed", f"{report['seconds']:.1f} s", f"{report['embedded']} texts embedded"]]
    return rows, [(f"{RENAMES} renamed notes: nothing embedded", str(report["embedded"]), report["embedded"] == 0)]


def _command(folder: Path, *arguments: str) -> dict[str, Any]:
    """The JSON of a command in a process of its own."""
    command = [sys.executable, "-m", "lorekeeper", *arguments, "--json"]
    done = subprocess.run(command, env=environment(folder, offline="1"), stdout=subprocess.PIPE, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _entity(vault: Path, path: str) -> Entity:
    note = read_note(path, (vault / path).read_text("utf-8"))
    return note_entity(note, KEY, KEY, 0.0, lambda _: None)


def _texts(entities: Iterable[Entity]) -> list[str]:
    return [part.embedded for entity in entities for part in passages(entity, hint=hint_text(entity))]


def _write_book(path: Path, generated: GeneratedVault, number: int) -> list[str]:
    """Write rules until they have that many texts; returns these."""
    texts: list[str] = []
    written = 0
    with path.open("w", encoding="utf-8") as file:
        while len(texts) < number:
            part = path.with_name("part.jsonl")
            lines = [
                json.dumps({"collection": "rules", "kind": "rule", "name": f"Rule {n}", "slug": f"rule-{n}",
                            "document": "generated-book", "description": generated.prose(WORDS_OF_BOOKS)})
                for n in range(written, written + 1000)
            ]  # fmt: skip
            written += len(lines)
            part.write_text("\n".join(lines), "utf-8")
            file.write("\n".join([*lines, ""]))
            texts += _texts(entity for entity, _ in Reader([part], None, ImportReport()).read())
            part.unlink()
            if not texts:
                raise RuntimeError("the generated book cannot be read")
    return texts


def _file_vectors(folder: Path, texts: list[str]) -> None:
    """Cache a vector for each text: that of some text of the library, with noise."""
    distinct = list(dict.fromkeys(texts))
    provider, cache = load_provider(settings_of(folder)), VectorCache(folder / "vectors.db")
    chance = np.random.default_rng(SEED)
    known = list(cache.get(provider.fingerprint, _texts_of(folder), provider.dimension).values())
    noise = NOISE / math.sqrt(provider.dimension) * chance.normal(size=(len(distinct), provider.dimension))
    drawn = np.stack(known)[chance.integers(len(known), size=len(distinct))] + noise
    cache.put(provider.fingerprint, distinct, normalized(drawn.astype(np.float32)))
    cache.close()


def _texts_of(folder: Path) -> list[str]:
    """The texts of the spells of a library."""

    async def read() -> list[str]:
        async with Library.from_settings(settings_of(folder, offline=1)) as opened:
            return [text async for batch in opened.cache.iterate("spells") for text in _texts(batch)]

    return asyncio.run(read())


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
