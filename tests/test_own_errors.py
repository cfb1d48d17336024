"""The error of one note, or of one entry of a file, is its own: it is listed, and all the rest goes on."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.library import Library
from lorekeeper.notes.source import front_matter
from lorekeeper.play import tables
from lorekeeper.render import lean, markdown
from lorekeeper.search.query import Query
from tests.support import golden, homebrew
from tests.support.mutated_notes import mutated_notes
from tests.support.vaults import notes_of, vault_library, write

EMPTY_TABLE = "# Plans\n\n| d6 | Rumour |\n|---|---|\n|  |  |\n\nFor Friday.\n"
NUMBERED_IN_WORDS = "# Plans\n\n| d6 | Rumour |\n|---|---|\n| one | Rats. |\n| two | A well. |\n"
GOOD = "# Mira\n\nShe rows the drowned home.\n"


async def seen(library: Library, viewer: Viewer) -> str:
    """All that a viewer sees of the notes."""
    view = library.view(viewer)
    await view.refresh()
    return json.dumps([e.as_record() async for found in view.cache.iterate("notes") for e in found], default=str)


@pytest.mark.parametrize("text", [EMPTY_TABLE, NUMBERED_IN_WORDS, EMPTY_TABLE.replace("|  |  |\n", "")])
async def test_a_table_that_is_to_be_filled_in_stops_nothing(text: str, tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {"Plans.md": text, "Mira.md": GOOD})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        report = await library.vaults.sync()
        assert (report.notes, report.failed) == (2, [])
        assert await library.vaults.check() == []
        write(vault, {"Otto.md": "# Otto\n\nThe smith of the town.\n"})
        assert (await library.search(Query(("notes",), filters={"name": "Otto"}))).total == 1
        assert set(await notes_of(library)) == {"Plans.md", "Mira.md", "Otto.md"}


@pytest.fixture
def unreadable_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads the rows of a table fails, as a fault of ours would make it."""

    def fail(*_: object) -> tuple[()]:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(tables, "separated", fail)


@pytest.fixture
def unreadable_wells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a note fails if its text has a well."""

    def fail(text: str) -> Any:
        if "well" in text:
            raise IndexError("a fault of ours")
        return front_matter(text)

    monkeypatch.setattr("lorekeeper.notes.reading.front_matter", fail)


@pytest.mark.usefixtures("unreadable_tables")
async def test_a_note_whose_tables_cannot_be_read_has_its_text(tmp_path: Path) -> None:
    table = "---\nvisibility: players\n---\n# Inn\n\nOpen.\n\n| d2 | Who |\n|---|---|\n| 1 | Otto |\n| 2 | Ana |\n"
    vault = write(tmp_path / "saga", {"Inn.md": table, "Mira.md": GOOD})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        report = await library.vaults.sync()
        assert report.notes == 2
        assert [(each.where, "ZeroDivisionError" in each.reason) for each in report.warnings] == [("saga/Inn.md", True)]
        assert [finding.path for finding in await library.vaults.check()] == ["Inn.md"]
        assert "Otto" in await seen(library, library.asks)


@pytest.mark.usefixtures("unreadable_wells")
async def test_a_note_that_cannot_be_read_is_plain_text_for_the_game_master_until_it_can(tmp_path: Path) -> None:
    shared = "---\nvisibility: players\n---\n# Otto\n\nThe smith by the {}.\n"
    vault = write(tmp_path / "saga", {"Otto.md": shared.format("gate"), "Mira.md": GOOD})
    player = Viewer.player()
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await library.vaults.sync()
        assert "by the gate" in await seen(library, player)
        write(vault, {"Otto.md": shared.format("well"), "Ana.md": GOOD.replace("Mira", "Ana")})
        report = await library.vaults.sync()
        assert [failure.where for failure in report.failed] == ["saga/Otto.md"]
        assert "IndexError" in report.failed[0].reason
        assert report.notes == 3
        assert "by the well" in await seen(library, library.asks)
        assert "Otto" not in await seen(library, player)
        assert [(each.kind, each.path) for each in await library.vaults.check()] == [("unreadable", "Otto.md")]
        (status,) = await library.vaults.status()
        assert "saga/Otto.md" in status.summary.problems[0]
        write(vault, {"Otto.md": shared.format("bridge")})
        assert (await library.vaults.sync()).failed == []
        assert "by the bridge" in await seen(library, player)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, 2, 3, 4, 6, 8, 14])  # of twenty, those that reach what others do not
async def test_no_note_however_mutilated_stops_a_vault(part: int, seed: int, tmp_path: Path) -> None:
    number = 500 if part else 200
    texts = {f"n{i}.md": text for i, text in enumerate(mutated_notes(number, seed * 100 + part))}
    async with vault_library(tmp_path, [write(tmp_path / "saga", texts)], "sqlite") as library:
        report = await library.vaults.sync()
        assert [failure for failure in report.failed if "cannot be read" in failure.reason] == []
        assert report.notes + sum(report.passed.values()) == number
        assert [each for each in await library.vaults.check() if each.kind == "unreadable"] == []


IMPORTS = [
    files
    for case in golden.CASES
    if case.parent.name not in (golden.NOTES, golden.CORPUS)
    for files in golden.imports_of(case)
]
"""Files of every format."""

WHOLE = {"collection": "rules", "kind": "rule", "name": "Whole", "description": "It is read whatever stands beside it."}

JUNK = (
    *(
        "null",
        "[]",
        "{}",
        '"x"',
        "NaN",
        "1e999",
        "-1",
        "true",
        '{"a":',
        "]",
        "}",
        "\x00",
        "\ud83d",
        "&x",
        "*x",
        '[["/',
        "- ",
    ),
    *("@Embed[", "[[/damage ", "<section class=secret>", "<&\0[{", "9" * 40),
)


def _real() -> list[Path]:
    """Files of others, where there is a corpus."""
    folder = Path(os.environ.get("LOREKEEPER_CORPUS", os.devnull))
    found = (path for name in ("5etools", "foundry") for path in sorted((folder / name).rglob("*")))
    return [path for path in found if path.suffix in (".json", ".yml", ".db") and path.stat().st_size < 200_000]


def _mutilated(text: str, dice: random.Random) -> str:
    """JSON with some of its values replaced, lost or doubled; any text with pieces cut out, doubled or replaced."""
    if dice.random() < 0.7:
        with contextlib.suppress(ValueError):
            return json.dumps(homebrew.mutated(json.loads(text), dice, dice.choice((0.01, 0.05, 0.2))))
    for _ in range(dice.randint(1, 8)):
        start = dice.randrange(len(text) + 1)
        end = start + dice.choice((1, 2, 5, 30, 400))
        text = text[:start] + dice.choice(["", text[start:end] * 2, dice.choice(JUNK)]) + text[end:]
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 21))])
def test_no_file_of_any_format_however_mutilated_stops_an_import(part: int, seed: int, tmp_path: Path) -> None:
    dice, real, given = random.Random(seed * 100 + part), _real() if part else [], 0
    for number in range(200):
        folder = tmp_path / str(number)
        if real and dice.random() < 0.5:
            path = dice.choice(real)
            files = {path.name: path.read_text("utf-8", "replace")}
        else:
            files = {name: golden.written(name, content) for name, content in dice.choice(IMPORTS).items()}
        name = dice.choice(sorted(files))
        files[name] = _mutilated(files[name], dice)
        write(folder, {**files, "whole.json": json.dumps(WHOLE)})
        entities, report = homebrew.read(folder)
        told = (number, name)
        ends = tuple(f"/{each}" for each in files)
        assert [each for each in report.failed if "Error)" in each.reason and str(each.where).endswith(ends)] == [], (
            told
        )
        assert "Whole" in [entity.name for entity in entities], told
        assert len(homebrew.problems(report)) < 100_000, told
        for entity in entities:
            assert entity.name, told
            assert markdown(entity), told
            lean(entity)
            if entity.source_api == "5etools":
                golden.keep_laws(entity)
        given += len(entities) > 1
    assert given > 20, given
