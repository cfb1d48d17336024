"""Files as people have them, in every form that is read: what of each must come out.

The inputs of the repository are invented, in the shapes of public files. More of them are in the corpus, in ``cases/``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cli.render import print_problems
from lorekeeper.entities import Entity, Value
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport, by_weight
from tests.support import forking, golden
from tests.support.commands import environment
from tests.support.libraries import open_library


def read(*paths: Path) -> tuple[list[Entity], ImportReport]:
    """The entries of an import without documents, and its report."""
    report = ImportReport()
    entities = [entry.entity for entry in Reader(paths, None, report).read()]
    return [each for each in entities if each.type != "documents"], report


# --- Foundry, 5etools ------------------------------------------------------------------------------------------------


def homebrew(folder: Path, name: str, **lists: Any) -> Path:
    """A homebrew file of 5etools."""
    meta = {"sources": [{"json": "PEAT", "full": "Peat"}, {"json": "BOG", "full": "Bog"}]}
    file = folder / name
    file.write_text(json.dumps({"_meta": meta, **lists}), "utf-8")
    return file


def test_a_copy_of_an_srd_spell_is_filled_from_the_library(tmp_path):
    fields: dict[str, Value] = {"level": 2, "school": "evocation"}
    shatter = Entity("spells", "shatter", "Shatter", "spell", "srd-2014", "open5e", {"desc": "Loud."}, fields)
    copy = {"name": "Shatter", "source": "PEAT", "_copy": {"name": "Shatter", "source": "PHB"}, "school": "T"}
    file = homebrew(tmp_path, "a.json", spell=[copy])

    def made(known: Callable[[str, str, str], Entity | None]) -> tuple[list[Entity], ImportReport]:
        report = ImportReport()
        entities = [entry.entity for entry in Reader([file], None, report, known=known).read()]
        return [each for each in entities if each.type == "spells"], report

    (found,), report = made(lambda *asked: shatter if asked == ("spells", "Shatter", "srd-2014") else None)
    assert (found.fields["level"], found.fields["school"], found.data["desc"]) == (2, "transmutation", "Loud.")
    assert "missing values come from lore://spells/srd-2014/shatter" in report.warnings[0].reason
    found_without, report = made(lambda *_: None)
    assert found_without == []
    assert report.skipped == {"a.json: spell with nothing but a name": 1}


# --- the command -----------------------------------------------------------------------------------------------------


def test_pasted_text_is_shown_and_what_is_not_understood_is_said(tmp_path):
    given = golden.imports_of(golden.FOLDER / "pasted" / "texts.yaml")
    text = "Page 12\n" + [files["pasted.txt"] for files in given if "pasted.txt" in files][-1]
    done = subprocess.run(
        forking.command("lorekeeper", "import", "-", "--dry-run"),
        input=text,
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    first, parts, counts = done.stdout.splitlines()
    assert first == "Queen of Nettles  creature · CR 15 · large fey · chaotic evil · AC 17 · HP 168 · climb 40 ft"
    assert parts.strip() == "traits: 1, actions: 1, legendary actions: 2"
    assert counts.startswith("1 would be stored")
    assert done.stderr.strip() == "warning pasted.txt: text: not understood: Page 12"


def test_problems_are_ten_lines_loss_first_and_all_of_them_are_in_a_file(tmp_path, capsys):
    report = ImportReport(skipped={"a.xml: note": 2, "b.xml: note": 3})
    noise = [
        ImportFileError(f"n{n}.json: _meta", f"the source 'X{n}' is not declared in _meta.sources; ...")
        for n in range(30)
    ]
    lost = ImportFileError("z.json", "lore://spells/x/y is also in a.json, with other content; the last one is stored")
    report.warnings += [*noise, ImportFileError("m.json", "a number was mended"), lost]
    report.failed.append(ImportFileError("f.json", "it is no JSON"))
    print_problems(report, whole=tmp_path / "last-import.txt")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["failed", "warning", "warning", "skipped"]
    assert "with other content" in lines[1]
    assert lines[3] == "skipped 5 without lore in 2 files: note"
    assert len(lines) == 10
    assert lines[-1].startswith("... and 25 more lines; all are in ")
    assert len((tmp_path / "last-import.txt").read_text("utf-8").splitlines()) == 34
    assert (tmp_path / "last-import.txt").stat().st_mode & 0o077 == 0


def test_the_files_of_one_reason_are_named_if_they_are_few():
    report = ImportReport(
        failed=[ImportFileError(f"some/{name}", "it is empty") for name in ("a.txt", "b.txt", "c.txt")]
    )
    report.failed += [ImportFileError(f"d.xml: {name}", "it has no level") for name in ("spell X", "spell Y")]
    assert by_weight(report) == [
        "failed  some/a.txt: it is empty (also b.txt, c.txt)",
        "failed  d.xml: spell X: it has no level (also spell Y)",
    ]


def test_entries_that_replace_those_of_another_file_are_one_line(tmp_path):
    reason = "lore://spells/x/s{} is also in a.xml, with other content; the last one is stored"
    report = ImportReport(warnings=[ImportFileError("b.xml", reason.format(number)) for number in range(5)])
    report.warnings.append(ImportFileError("c.xml", reason.format(9)))
    first, second = by_weight(report)
    assert first.startswith(
        "warning b.xml: 5 entries are also in a.xml, with other content; these, the last, are stored: "
    )
    assert first.endswith("lore://spells/x/s0, lore://spells/x/s1, lore://spells/x/s2, ...")
    assert second == f"warning c.xml: {reason.format(9)}"


def test_files_of_a_folder_that_are_not_read_are_named_once_a_kind(tmp_path):
    homebrew(tmp_path, "a.json", spell=[{"name": "Fog", "source": "PEAT", "level": 1, "entries": ["Fog."]}])
    for name in ("a.docx", "b.docx", "c.zip", "d.png"):
        (tmp_path / name).write_bytes(b"")
    _, report = read(tmp_path)
    pdf, archive, counts = [line for line in by_weight(report) if line.startswith("skipped in folders")]
    assert pdf.startswith("skipped in folders: 2 times a Word document, which is not read; save its text as Markdown")
    assert archive == "skipped in folders: 1 times a zip archive, which is not read; unpack it, and import the folder"
    assert counts == "skipped in folders: 2 .docx, 1 .zip, 1 .png"


async def test_counts_of_an_import_add_up(tmp_path):
    for name, level in (("a", 1), ("b", 2), ("c", 2)):
        homebrew(
            tmp_path, f"{name}.json", spell=[{"name": "Fog", "source": "PEAT", "level": level, "entries": ["Fog."]}]
        )
    async with open_library(tmp_path, backend="sqlite") as library:
        report = await library.import_paths(sorted(tmp_path.glob("*.json")), dry_run=True)
    read_ = len(read(*sorted(tmp_path.glob("*.json")))[0]) + 1
    assert (report.stored, report.repeated, read_) == (2, 2, 4)


# --- the corpus ------------------------------------------------------------------------------------------------------

CASES: dict[str, list[str]] = {
    "5etools-feature-levels.json": ["Peat Trick", "Peat Trick", "Peat Trick"],
    "5etools-fluff": ["Peat Lurker"],
    "5etools-overlay": ["Bogwalker"],
    "5etools-save-file.json": ["Peat Step"],
    "5etools-copy-of-srd-spell.json": ["Peat Spirit"],
    "fantasy-statblocks-data.json": ["Fen Acolyte"],
    "improved-initiative-export.json": ["Fen Oni"],
    "pf2etools-homebrew.json": [],
    "peat-book.pdf": [],
    "gm5-campaign.xml": [],
    "fc-class-list-additions.xml": ["Reed Whisper"],
    "fc-edition-suffix.xml": ["Reed Shield", "Peat Warlord"],
    "fc-subclass-in-class.xml": ["Peat Knight"],
    "fc-slots-and-traits.xml": ["Bogwalker", "Peatling"],
    "fvtt-dnd5e-0.9-npc.db": ["Peat Ogre"],
    "fvtt-dnd5e-2.4-npc.db": ["Peat Guard"],
    "fvtt-dnd5e-0.9-items.db": ["Rope, Reed (50 feet)", "Peat Blade"],
}
"""The entries of each input of the corpus; one without any is refused once, by name."""

VALUES: dict[str, dict[str, Any]] = {
    "Peat Ogre": {
        "armor_class": 14,
        "speed_walk": 40,
        "speed_swim": 20,
        "speed_burrow": 10,
        "darkvision": 60,
        "tremorsense": 30,
    },
    "Peat Guard": {"armor_class": 16},
    "Peat Blade": {"rarity": "rare", "requires_attunement": True},
    "Fen Oni": {"armor_class": 16, "hit_points": 110, "challenge_rating": 7, "speed_walk": 30, "speed_fly": 30},
    "Peat Step": {"level": 2},
    "Mire Goblin": {"challenge_rating": 0.5, "armor_class": 15, "hit_points": 9, "speed_walk": 30, "speed_swim": 20},
    "Mire Hag": {"challenge_rating": 3, "armor_class": 17, "hit_points": 82},
    "Mire Wisp": {"challenge_rating": 2, "armor_class": 19, "speed_fly": 50, "hover": True},
    "Bog Ogre Champion": {"armor_class": 16, "hit_points": 50},
}


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES)
def test_inputs_of_the_corpus(corpus, case):
    path = corpus / "cases" / case
    if not path.exists():
        pytest.skip(f"the corpus has no {path}")
    found, report = read(path)
    assert [entry.name for entry in found] == CASES[case]
    assert len(report.failed) == (not CASES[case])
    for entry in found:
        assert {key: entry.fields.get(key) for key in VALUES.get(entry.name, ())} == VALUES.get(entry.name, {})


@pytest.mark.corpus
def test_the_vault_of_the_corpus(corpus):
    folder = corpus / "cases" / "vault-statblocks"
    if not folder.exists():
        pytest.skip(f"the corpus has no {folder}")
    made, report = golden.read_vault({file.name: file.read_text("utf-8") for file in folder.glob("*.md")})
    assert report == []
    found = [entry for entry in made if entry.type != "notes"]
    assert len(found) == 6
    for entry in found:
        assert {key: entry.fields.get(key) for key in VALUES.get(entry.name, ())} == VALUES.get(entry.name, {})
