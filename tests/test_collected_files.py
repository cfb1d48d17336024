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
from lorekeeper.normalize.note_characters import characters_of
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


@pytest.mark.parametrize("case", [c for c in EXPECTED if c.startswith(("printed", "front", "fenced"))])
def test_stat_blocks_spells_and_items_in_notes(vault, case):
    note, made = vault[Path(case).name]
    assert [entry.name for entry in made.entities] == [entry["name"] for entry in expected(case)]
    for entry, wanted in zip(made.entities, expected(case), strict=True):
        check(entry, wanted)
    if EXPECTED[case].get("problem"):
        assert [*made.problems, *note.problems]


def test_the_type_of_a_creature_in_front_matter_is_not_the_kind_of_the_note(vault):
    note, _ = vault["10 kind.md"]
    assert (note.kind, note.facts) == ("creature", {})


FRONT = "---\nstatblock: true\nname: Bog Worm\nac: 18\nhp: 247\nstats: [28, 8, 22, 2, 10, 4]\n---\n"


BLOCK = "---\nstatblock: true\nname: {name}\n{more}ac: 16\nhp: 30\nlevel: 4\n---\n"


def test_a_name_that_a_template_left_is_no_name_of_a_creature():
    _, creatures = read_vault({"Boar.md": BLOCK.format(name='"{{title}}"', more="")})["Boar.md"]
    assert [made.name for made in creatures.entities] == ["Boar"]


def test_a_player_in_front_matter_is_a_character_and_no_creature():
    note, creatures = read_vault({"Tom.md": BLOCK.format(name="Old Tom", more="player: true\n")})["Tom.md"]
    (made,), problems = characters_of(note, "vault", "Vault")
    assert (creatures.entities, creatures.problems, problems) == ([], [], [])
    assert (made.name, made.fields["level"], made.fields["hit_points"]) == ("Old Tom", 4, 30)


@pytest.mark.parametrize(
    "fence", ["monster: Bog Worm", "name: Bog Worm\nac: 18\nhp: 247\nstats: [28, 8, 22, 2, 10, 4]"]
)
def test_a_stat_block_in_front_matter_that_the_note_shows_again_is_one_creature(fence):
    made = creatures_of(read_note("Worm.md", f"{FRONT}```statblock\n{fence}\n```\n"), "v", "V", lambda _: None)
    assert [(entry.name, entry.fields["armor_class"]) for entry in made.entities] == [("Bog Worm", 18)]
    assert (made.problems, made.bases) == ([], [])


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


@pytest.mark.parametrize("case", [case for case in EXPECTED if case.startswith("named")])
def test_formats_that_are_not_read_are_named_once(case):
    found, report = read(COLLECTED / case)
    if "named" in EXPECTED[case]:
        (failure,) = report.failed
        assert EXPECTED[case]["named"].lower() in failure.reason.lower()
    assert [entry.name for entry in found] == [entry["name"] for entry in expected(case)]
    for entry, wanted in zip(found, expected(case), strict=True):
        check(entry, wanted)


# --- books -----------------------------------------------------------------------------------------------------------

BOOK = {
    "01_Rules.md": "# The Rules\n\n## Mud\n\nMud is slow.\n\n## Terms\n\n#### Sunk [Condition]\n\nYou are stuck.\n",
    "02_Options.md": "# Options\n\n### Peatfoot\n\n*Origin Feat*\n\nYou do not sink.\n\n#### Bogling\n\n"
    "**Creature Type:** Humanoid\n\n**Size:** Small\n\n**Speed:** 25 feet\n\nYou are small.\n",
    "03_Bogwalker.md": "## Bogwalker\n\n| | |\n|---|---|\n| Hit Point Die | D8 per Bogwalker level |\n\n#### Level 1: Wet Feet\n\n"
    "Water is no hindrance.\n\n### Bogwalker Subclass: Path of Reeds\n\nReeds.\n\n#### Level 3: Reed Skin\n\nYou rustle.\n",
    "04_Gear.md": "# Gear\n\n#### Peat Pot (3 SP)\n\nA pot.\n\n"
    "Table: Simple Weapons\n\n| Name | Damage | Properties | Weight | Cost |\n"
    "|---|---|---|---|---|\n| Reed Spear | 1d6 Piercing | Thrown (Range 20/60), Light | 2 lb. | 1 GP |\n\n"
    "Table: Gear\n\n| Item | Weight | Cost |\n|---|---|---|\n| Peat Pot | 4 lb. | 3 SP |\n| Reed Rope | 5 lb. | 2 GP |\n",
    "05_Spells.md": "# Spells\n\n#### Peat Step\n\n*Level 2 Conjuration (Druid, Ranger)*\n\n**Casting Time:** Bonus Action\n\n"
    "**Range:** Self\n\n**Components:** V\n\n**Duration:** Instantaneous\n\nYou step.\n",
    "README.md": "# How to build this book\n\nRun make.\n",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_a_book_in_markdown(tmp_path):
    found, report = read(write(tmp_path / "peat-almanac" / "src", BOOK).parent)
    assert (report.failed, report.warnings, dict(report.other_files)) == ([], [], {".md": 1})
    by_name = {entry.name: (entry.type, entry.kind) for entry in found}
    assert by_name == {
        "Mud": ("rules", "section"),
        "Sunk": ("rules", "condition"),
        "Peatfoot": ("character_options", "feat"),
        "Bogling": ("character_options", "race"),
        "Bogwalker": ("character_options", "class"),
        "Wet Feet": ("rules", "class-feature"),
        "Path of Reeds": ("character_options", "subclass"),
        "Reed Skin": ("rules", "class-feature"),
        "Reed Spear": ("equipment", "weapon"),
        "Reed Rope": ("equipment", "gear"),
        "Peat Pot": ("equipment", "gear"),
        "Peat Step": ("spells", "spell"),
    }
    assert {entry.document for entry in found} == {"peat-almanac"}
    pot = next(entry for entry in found if entry.name == "Peat Pot")
    assert (pot.fields["cost"], pot.fields["weight"]) == (0.3, 4)


LISTS = """# Spell Lists

## Druid Spells

#### 2nd Level

- Peat Step
- [Mud Veil](veil.md)

### Witch Spell List

**Cantrips:** *Reed Song*, *Mud Veil*

**Level 2 Witch Spells**

| Spell | School |
|---|---|
| Bog Door (ritual) | Conjuration |

## Marsh Domain Spells

| Cleric Level | Spells |
|---|---|
| 3rd | Reed Song |

## The Witch in Play

Salt Wind
"""


def test_spells_that_state_no_classes_take_them_from_the_lists_of_their_book(tmp_path):
    names = ("Mud Veil", "Reed Song", "Bog Door", "Salt Wind")
    plain = BOOK["05_Spells.md"].replace(" (Druid, Ranger)", "")
    spells = BOOK["05_Spells.md"] + "".join(
        plain.replace("Peat Step", name).removeprefix("# Spells\n") for name in names
    )
    found, _ = read(write(tmp_path, {"lists.md": LISTS, "spells.md": spells}))
    classes = {entry.name: entry.fields.get("classes") for entry in found if entry.type == "spells"}
    assert classes == {
        "Peat Step": ("druid", "ranger"),
        "Mud Veil": ("druid", "witch"),
        "Reed Song": ("witch",),
        "Bog Door": ("witch",),
        "Salt Wind": None,
    }


def test_a_folder_of_notes_is_no_book(tmp_path):
    note = "---\ntags: [npc]\n---\n" + (COLLECTED / "printed" / "09 secret.md").read_text("utf-8")
    found, report = read(write(tmp_path, {"Duke.md": note, "Plain.md": BOOK["05_Spells.md"]}))
    assert found == []
    assert "adds a folder of Markdown notes" in report.failed[0].reason


def test_a_note_is_not_imported_by_itself(tmp_path):
    note = "---\nvisibility: dm\n---\n" + BOOK["05_Spells.md"]
    found, report = read(write(tmp_path, {"Note.md": note}) / "Note.md")
    assert (found, len(report.failed)) == ([], 1)
    assert "it is a note" in report.failed[0].reason


def test_a_code_block_with_a_stat_block_is_imported(tmp_path):
    fence = (COLLECTED / "fenced" / "09 Zed.md").read_text("utf-8")
    (found,), report = read(write(tmp_path, {"Zed.md": f"# Zed\n\n{fence}"}) / "Zed.md")
    assert (found.name, found.fields["hit_points"], report.failed) == ("Zed Lord", 77, [])


# --- Foundry, 5etools ------------------------------------------------------------------------------------------------


def old_creature(**values: Any) -> dict[str, Any]:
    """A creature as dnd5e 0.9 wrote it."""
    abilities = {key: {"value": 10} for key in ("str", "dex", "con", "int", "wis", "cha")}
    attributes = {
        "ac": {"min": 0, "value": 15},
        "hp": {"max": 52},
        "speed": {"value": "30 ft.", "special": "Fly 60 ft. (hover)"},
    }
    details = {"type": "swarm of tiny beasts", "cr": 2, "alignment": "unaligned"}
    traits = {"size": "lg", "senses": "Blindsight 10 ft. (blind beyond this radius), Darkvision 60 ft."}
    data = {"abilities": abilities, "attributes": attributes, "details": details, "traits": traits}
    return {
        "_id": "old0000000000001",
        "name": "Old Thing",
        "type": "npc",
        "permission": {"default": 0},
        "data": data,
        "items": [],
    } | values


def old_item(name: str, kind: str = "loot", **data: Any) -> dict[str, Any]:
    """An item as dnd5e 0.9 wrote it."""
    system = {"description": {"value": "<p>A thing.</p>"}, "rarity": "Common", "price": 1, "weight": 1} | data
    return {"_id": f"old{name:0<13}"[:16], "name": name, "type": kind, "permission": {"default": 0}, "data": system}


def packed(folder: Path, *documents: dict[str, Any]) -> Path:
    """A pack of Foundry before version 11."""
    file = folder / "old.db"
    file.write_text("\n".join(map(json.dumps, documents)), "utf-8")
    return file


def test_creatures_of_old_dnd5e_keep_type_armor_speeds_and_senses(tmp_path):
    (found,), _ = read(packed(tmp_path, old_creature()))
    fields = {
        key: found.fields[key]
        for key in ("armor_class", "speed_walk", "speed_fly", "hover", "blindsight", "darkvision")
    }
    assert fields == {
        "armor_class": 15,
        "speed_walk": 30,
        "speed_fly": 60,
        "hover": True,
        "blindsight": 10,
        "darkvision": 60,
    }
    assert {"beast", "swarm"} <= words(found, "type")
    assert found.data["special_senses"] == "blind beyond this radius"


def test_goods_of_old_dnd5e_are_not_magical_because_they_are_common(tmp_path):
    mundane = [
        old_item("Rope"),
        old_item("Club", "weapon", weaponType="simpleM", damage={"parts": [["1d4", "bludgeoning"]]}),
    ]
    magical = [
        old_item("Potion of Peat", "consumable", consumableType="potion"),
        old_item("Club +1", "weapon", rarity="Uncommon"),
        old_item("Lamp", description={"value": "<p>This magic lamp glows.</p>"}),
    ]
    found, _ = read(packed(tmp_path, *mundane, *magical))
    assert {entry.name for entry in found if entry.kind != "magic-item"} == {"Rope", "Club"}


def test_armor_counts_in_old_dnd5e(tmp_path):
    mail = {
        "name": "Scale",
        "type": "equipment",
        "system": {"armor": {"type": "medium", "value": 14, "dex": 2}, "equipped": True},
    }
    system = {
        "abilities": {"dex": {"value": 18}},
        "attributes": {"ac": {"calc": "default"}, "hp": {"max": 9}},
        "details": {"cr": 1},
    }
    guard = {"_id": "guard00000000001", "name": "Guard", "type": "npc", "system": system, "items": [mail]}
    (found,), _ = read(packed(tmp_path, guard))
    assert found.fields["armor_class"] == 16


def worn(kind: str, value: int) -> dict[str, Any]:
    """Armor or a shield that an actor wears."""
    return {
        "name": kind,
        "type": "equipment",
        "system": {"armor": {"value": value}, "type": {"value": kind}, "equipped": True},
    }


@pytest.mark.parametrize(
    ("stated", "dexterity", "items", "armor_class"),
    [
        ({"calc": "default"}, 6, [worn("heavy", 18)], 18),
        ({"calc": "default"}, 6, [worn("medium", 14)], 12),
        ({"calc": "natural", "flat": 13}, 14, [worn("shield", 2)], 15),
        ({"calc": "flat", "flat": 13}, 14, [worn("shield", 2)], 13),
        ({"calc": "mage + 2", "flat": 17}, 14, [], 17),
        ({"calc": "default", "flat": 17}, 14, [], 12),
    ],
)
def test_the_armor_class_of_an_actor_is_that_of_its_calculation(tmp_path, stated, dexterity, items, armor_class):
    system = {
        "abilities": {"dex": {"value": dexterity}},
        "attributes": {"ac": stated, "hp": {"max": 9}},
        "details": {"cr": 1},
    }
    guard = {"_id": "guard00000000001", "name": "Guard", "type": "npc", "system": system, "items": items}
    (found,), _ = read(packed(tmp_path, guard))
    assert found.fields["armor_class"] == armor_class


@pytest.mark.parametrize(("journal", "classes"), [("Bard Spells", ("bard",)), ("A Tale of the Fen", None)])
def test_spells_of_old_dnd5e_take_their_classes_from_journals_that_list_them(tmp_path, journal, classes):
    spell = {
        "_id": "spell00000000001",
        "name": "Reed Whisper",
        "type": "spell",
        "data": {"description": {"value": "<p>Reeds speak.</p>"}, "level": 1, "school": "div"},
    }
    content = "<h3>1st Level</h3>\n<p>@Compendium[module.spells.spell00000000001]{Reed Whisper}</p>"
    listed = {"_id": "journal000000001", "name": journal, "content": content, "permission": {"default": 0}}
    (tmp_path / "whisper.json").write_text(json.dumps(spell), "utf-8")
    packed(tmp_path, listed)
    found, report = read(tmp_path)
    assert [entry.fields.get("classes") for entry in found if entry.type == "spells"] == [classes]
    assert report.failed == []


def homebrew(folder: Path, name: str, **lists: Any) -> Path:
    """A homebrew file of 5etools."""
    meta = {"sources": [{"json": "PEAT", "full": "Peat"}, {"json": "BOG", "full": "Bog"}]}
    file = folder / name
    file.write_text(json.dumps({"_meta": meta, **lists}), "utf-8")
    return file


def test_features_of_several_levels_and_subclasses_of_both_editions_are_apart(tmp_path):
    trick = {"name": "Trick", "source": "PEAT", "className": "Rogue"}
    features = [{**trick, "level": level, "entries": [f"At level {level}."]} for level in (4, 8)]
    subclass = {"name": "Reeds", "shortName": "Reeds", "source": "PEAT", "className": "Druid", "subclassFeatures": []}
    both = [{**subclass, "classSource": "PHB"}, {**subclass, "classSource": "XPHB"}]
    found, report = read(homebrew(tmp_path, "a.json", classFeature=features, subclass=both))
    assert len({each.identity for each in found}) == 4
    assert report.failed == []


def test_entries_of_two_files_are_apart_by_their_kind(tmp_path):
    homebrew(tmp_path, "a.json", card=[{"name": "Fog", "source": "PEAT", "set": "Deck", "entries": ["A card."]}])
    homebrew(tmp_path, "b.json", reward=[{"name": "Fog", "source": "PEAT", "entries": ["A reward."]}])
    found, _ = read(tmp_path)
    assert len({each.identity for each in found}) == 2


def test_fluff_without_meta_gives_its_descriptions(tmp_path):
    fluff = {"monsterFluff": [{"name": "Lurker", "source": "PEAT", "entries": ["It sleeps for years."]}]}
    (tmp_path / "fluff.json").write_text(json.dumps(fluff), "utf-8")
    monster = {"name": "Lurker", "source": "PEAT", "size": ["L"], "type": "ooze", "cr": "1", "hasFluff": True}
    homebrew(tmp_path, "bestiary.json", monster=[monster])
    found, report = read(tmp_path)
    assert report.failed == []
    assert "It sleeps for years." in found[0].data["desc"]


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


def test_a_reason_is_one_line_whatever_number_of_files_and_places_it_has(tmp_path, capsys):
    for number in range(30):
        (folder := tmp_path / "many" / f"p{number}").mkdir(parents=True)
        (folder / "own.json").write_text(f'{{"keys": "of another program {number}"}}', "utf-8")
    (tmp_path / "many" / "good.json").write_text(
        json.dumps({"name": "Fog", "level": 1, "collection": "spells"}), "utf-8"
    )
    _, report = read(tmp_path / "many")
    print_problems(report, whole=tmp_path / "last-import.txt")
    line, rest = capsys.readouterr().err.splitlines()
    assert line.startswith("failed")
    assert "p0" in line
    assert line.endswith("(also 29 more)")
    assert rest.startswith("By file, all are in ")
    assert len((tmp_path / "last-import.txt").read_text("utf-8").splitlines()) == 30


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


PAGE_SPELL = """Whispering Well
Divination cantrip
Casting Time
1 minute
Range
60 feet
Components
V, S
Duration
Concentration, up to 1 minute
You listen at a well.
"""

ONE_LINE_SPELL = """Thunder Stride
2nd level transmutation
Casting Time: 1 bonus action   Range: 60 feet
Components: V   Duration: 1 round
Classes: Sorcerer, Wizard
Your step cracks like thunder.
"""


CONVERTED_SPELL = """# Fen Fire
*7th-level, Evocation (ritual)*

- **Casting time:** 1 Action
- **Range:** 150 feet
- **Components:** V, S, M (a reed)
- **Duration:** Concentration, up to 1 minute

A light flashes over the fen.

**Classes**: [Sorcerer](lists/sorcerer.md); [Wizard (Evoker)](lists/evoker.md "subclass=XPHB;class=XPHB"); [Bard](lists/bard.md)

*Source: Lantern Tales p. 12*
"""

COLONS = """# Fen Owl
*Large wyvern (bird), unaligned*
- **Armor Class:** 17 (natural armor)
- **Hit Points:** 153 (18d10 + 54)
- **Proficiency Bonus:** +4
- **Challenge:** 9
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            CONVERTED_SPELL,
            {"level": 7, "school": "evocation", "ritual": True, "range": 150, "classes": ("sorcerer", "bard")},
        ),
        (
            CONVERTED_SPELL.replace("7th-level, Evocation (ritual)", "cantrip, Illusion"),
            {"level": 0, "school": "illusion"},
        ),
        (COLONS, {"armor_class": 17, "hit_points": 153, "challenge_rating": 9}),
        (PAGE_SPELL, {"casting_time": "1 minute", "range": 60, "concentration": True}),
        (ONE_LINE_SPELL, {"range": 60, "classes": ("sorcerer", "wizard")}),
        (
            "Staff of Reeds\nStaff, rare (requires attunement by a druid,\nsorcerer, or warlock)\nIt has 10 charges.",
            {"rarity": "rare", "requires_attunement": True},
        ),
        (
            "Ember Kit\nTiny beast, unaligned\nArmor Class\n12\nHit Points\n3 (1d4 + 1)\nSpeed\n30 ft.\nChallenge 1/8 (25 XP)",
            {"armor_class": 12, "hit_points": 3, "challenge_rating": 0.125},
        ),
    ],
)
def test_values_below_and_behind_each_other_are_read(tmp_path, text, values):
    file = tmp_path / "pasted.txt"
    file.write_text(text, "utf-8")
    (found,), report = read(file)
    assert {key: found.fields[key] for key in values} == values
    assert report.warnings == []


@pytest.mark.parametrize(
    ("name", "text", "game"),
    [
        ("a.json", '{"name": "Imp", "tier": 1, "difficulty": 12, "thresholds": "5/9", "hp": 4}', "Daggerheart"),
        (
            "a.json",
            '{"name": "Ogre", "level": 3, "defenses": {"ac": {"std": 17}, "savingThrows": {}}}',
            "Pathfinder 2e",
        ),
        ("a.md", "# Goblin\n\n**AC** 16; **Fort** +5, **Ref** +7, **Will** +3\n\n**HP** 6\n", "Pathfinder"),
        ("a.txt", "Goblin\nAC 6, HD 1-1, THAC0 19, Morale 7\n", "old-school"),
    ],
)
def test_stat_blocks_of_other_games_are_refused_by_the_name_of_the_game(tmp_path, name, text, game):
    (tmp_path / name).write_text(text, "utf-8")
    found, report = read(tmp_path / name)
    assert (found, len(report.failed)) == ([], 1)
    assert game in report.failed[0].reason
    assert "LoreKeeper reads D&D of the fifth edition" in report.failed[0].reason


def test_a_block_of_homebrewery_is_no_json(tmp_path):
    file = tmp_path / "pasted.txt"
    file.write_text(
        "{{monster,frame\n## Kit\n*Tiny beast, unaligned*\n**Armor Class** :: 12\n**Hit Points** :: 3\n}}\n"
    )
    (found,), _ = read(file)
    assert (found.name, found.fields["armor_class"]) == ("Kit", 12)


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


PRINTED = "{}\n\n*Small giant, unaligned*\n\n**Armor Class** 15\n\n**Hit Points** 9\n\n**Speed** 25 ft.\n\n{}\n\n**Challenge** 1\n"
TABLE = "|   |   |\n|---|---|\n|STR|DEX|CON|INT|WIS|CHA|\n|---|---|---|---|---|---|\n|15|12|18|3|5|5|"


@pytest.mark.parametrize(
    ("above", "name"),
    [
        ("## Bog Keeper\n\n![bog_keeper.webp](/images/bog_keeper.webp)", "Bog Keeper"),
        ("## Bog Keeper\n\n![[keeper.png]]", "Bog Keeper"),
        ("## Stat Block", "Old Morwen"),
        ("## Statistics:", "Old Morwen"),
        ("## Bog Keeper", "Bog Keeper"),
    ],
)
def test_a_picture_and_a_title_of_stat_blocks_name_no_creature(above, name):
    _, made = read_vault({"Old Morwen.md": PRINTED.format(above, TABLE)})["Old Morwen.md"]
    assert [each.name for each in made.entities] == [name]
    assert made.entities[0].data["speed"] == "25 ft."
