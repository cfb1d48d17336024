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
from lorekeeper.entities import AUDIENCE, Entity, Value
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport, by_weight
from lorekeeper.normalize.build import Origin
from lorekeeper.normalize.lined import SOURCE, entity
from lorekeeper.normalize.note_creatures import Creatures, creatures_of
from lorekeeper.notes import Note, read_note
from lorekeeper.notes.printed import printed
from tests.support import forking
from tests.support.commands import environment
from tests.support.libraries import open_library

COLLECTED = Path(__file__).parent / "data" / "collected"
EXPECTED: dict[str, dict[str, Any]] = json.loads((COLLECTED / "expect.json").read_text("utf-8"))

FIELDS = {
    "ac": "armor_class",
    "hp": "hit_points",
    "cr": "challenge_rating",
    "fly": "speed_fly",
    "burrow": "speed_burrow",
    "attune": "requires_attunement",
}
"""Filter fields by their names in the expectations, where these differ."""


def expected(case: str) -> list[dict[str, Any]]:
    """The entries that a case must give."""
    return [entry for key in ("creatures", "spells", "items") for entry in EXPECTED[case].get(key, ())]


def words(found: Entity, name: str) -> set[str]:
    """The values of a filter field that has many."""
    value = found.fields[name]
    assert isinstance(value, tuple)
    return set(value)


def check(found: Entity, wanted: dict[str, Any]) -> None:
    """Hold an entry against what is expected of it."""
    for key, value in wanted.items():
        if key in ("actions", "traits"):
            assert len(found.data[key]) == value, key
        elif key == "legendary":
            assert found.data["legendary_actions"]
        elif key in ("str", "cha"):
            assert found.data["ability_scores"][{"str": "strength", "cha": "charisma"}[key]] == value
        elif key == "secret":
            assert found.fields[AUDIENCE] == ("dm",)
        elif key == "type":
            assert value in words(found, "type")
        elif key == "immunities":
            assert set(value) <= words(found, "immune")
        elif key == "classes":
            assert words(found, "classes") == set(value)
        elif key != "name":
            assert found.fields[FIELDS.get(key, key)] == value, key


def read_vault(texts: dict[str, str]) -> dict[str, tuple[Note, Creatures]]:
    """The notes of a vault and what their stat blocks give, bases of other notes included."""
    notes = {path: read_note(path, text) for path, text in texts.items()}
    known: dict[str, Entity] = {}
    for _ in range(3):
        made = {path: creatures_of(note, "vault", "Vault", known.get) for path, note in notes.items()}
        known = {each.name: each for creatures in made.values() for each in creatures.entities}
    return {path: (notes[path], made[path]) for path in notes}


@pytest.fixture(scope="module")
def vault() -> dict[str, tuple[Note, Creatures]]:
    cases = [case for case in EXPECTED if case.startswith(("printed", "front", "fenced"))]
    by_file = {Path(case).name: (COLLECTED / case).read_text("utf-8") for case in cases}
    return read_vault(by_file)


def test_the_type_of_a_creature_in_front_matter_is_not_the_kind_of_the_note(vault):
    note, _ = vault["10 kind.md"]
    assert (note.kind, note.facts) == ("creature", {})


@pytest.mark.parametrize("case", [case for case in EXPECTED if case.startswith("paste")])
def test_text_that_was_copied_from_a_page(case):
    found = printed((COLLECTED / case).read_text("utf-8").split("\n"))
    made = [entity(each, Origin(SOURCE, "d", "D")) for each in found]
    assert [problems for _, problems in made if problems] == []
    assert [entry.name for entry, _ in made] == [entry["name"] for entry in expected(case)]
    for (entry, _), wanted in zip(made, expected(case), strict=True):
        check(entry, wanted)


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
    text = "Page 12\n" + (COLLECTED / "paste" / "10 legendary.txt").read_text("utf-8")
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
    for name in ("a.pdf", "b.pdf", "c.zip", "d.png"):
        (tmp_path / name).write_bytes(b"")
    _, report = read(tmp_path)
    pdf, archive, counts = [line for line in by_weight(report) if line.startswith("skipped in folders")]
    assert pdf.startswith("skipped in folders: 2 times a PDF, which is not read; save its text as Markdown")
    assert archive == "skipped in folders: 1 times a zip archive, which is not read; unpack it, and import the folder"
    assert counts == "skipped in folders: 2 .pdf, 1 .zip, 1 .png"


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
    made = read_vault({file.name: file.read_text("utf-8") for file in folder.glob("*.md")})
    assert [problem for _, creatures in made.values() for problem in creatures.problems] == []
    found = [entry for _, creatures in made.values() for entry in creatures.entities]
    assert len(found) == 6
    for entry in found:
        assert {key: entry.fields.get(key) for key in VALUES.get(entry.name, ())} == VALUES.get(entry.name, {})
