"""Homebrew files of 5etools: what an import makes of every kind of thing, and of every way in which files are damaged."""

from __future__ import annotations

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.fivetools import recognises
from lorekeeper.render import lean, markdown
from lorekeeper.search.query import Query
from lorekeeper.settings import load_settings
from tests.support.commands import variables
from tests.support.homebrew import FOLDER, brew, mutated, one, problems, read

Raw = dict[str, Any]


@pytest.fixture(scope="module")
def harbour() -> dict[str, Entity]:
    """Our own two files, by the names of their entries; of two of one name the first."""
    entities, report = read(FOLDER)
    assert (report.failed, report.warnings, report.skipped) == ([], [], {})
    return {e.name: e for e in reversed(entities)}


def test_other_entries_that_texts_name_are_kept_with_the_addresses_of_those_in_the_file(
    harbour: dict[str, Entity],
) -> None:
    assert harbour["Salt Veil"].data["references"] == [{"type": "spells", "name": "fog cloud"}]
    assert harbour["Flotsam"].data["references"] == [
        {"type": "equipment", "name": "rope"},
        {"type": "creatures", "name": "Harbour Master", "uri": "lore://creatures/the-harbour-book/harbour-master"},
    ]


# --- kinds ---------------------------------------------------------------------------------------------------------------


def test_a_creature_has_the_values_of_what_it_copies_from_another_file(harbour: dict[str, Entity]) -> None:
    master = harbour["Harbour Master"]
    assert dict(master.fields) == {
        "challenge_rating": 3.0,
        "type": ("humanoid", "any race"),
        "size": ("small", "medium"),
        "alignment": ("any evil alignment", "evil"),
        "armor_class": 14,
        "hit_points": 22,
        "speed_walk": 30.0,
        "speed_fly": 20.0,
        "hover": True,
        "senses": ("darkvision",),
        "darkvision": 60.0,
        "passive_perception": 12,
        "languages": ("common",),
        "resistant": ("cold", "nonmagical bludgeoning", "nonmagical piercing", "nonmagical slashing", "nonmagical"),
        "immune": ("prone",),
        "damage_types": ("piercing",),
        "conditions": ("frightened",),
        "saves": ("wisdom",),
        "legendary": True,
    }
    page = markdown(master)
    for line in (
        "*Small or medium humanoid (any race), any evil alignment*",
        "- **Armor Class** 14 (chain shirt)",
        "- **Speed** 30 ft., fly 20 ft. (hover)",
        "- **Challenge** 3 (700 XP; proficiency bonus +2)",
        "**Sea Legs.** The master keeps its feet.",
        "**Whistle (Recharge 5–6).** Two **guards** come.",
        "## Legendary Actions",
    ):
        assert line in page.split("\n")
    assert "Duck" not in page
    assert harbour["Pier Guard"].fields["environments"] == ("coast",)
    assert "environments" not in master.fields


def test_a_spell_has_every_value_that_its_object_has(harbour: dict[str, Entity]) -> None:
    veil = harbour["Salt Veil"]
    assert dict(veil.fields) == {
        "level": 2,
        "school": "tidecraft",
        "classes": ("wizard",),
        "ritual": False,
        "concentration": True,
        "casting_time": "reaction",
        "damage_types": ("cold",),
        "range": 0.0,
        "components": ("verbal", "material"),
        "material_cost": 10.0,
        "material_consumed": True,
        "duration": 10.0,
        "area": "cone",
        "area_size": 15.0,
        "heals": False,
        "summons": False,
    }
    page = markdown(veil).split("\n")
    assert "- **Casting Time** 1 reaction, which you take when you are seen" in page
    assert "- **Range** Self (15-foot cone)" in page
    assert "- **Duration** Concentration, up to 10 minutes" in page
    assert "**At Higher Levels.** 1d6 more." in page


def test_an_item_has_its_price_in_gold_and_its_codes_in_words(harbour: dict[str, Entity]) -> None:
    blade = harbour["Anchor Blade"]
    assert blade.kind == "magic-item"
    assert dict(blade.fields) == {
        "category": ("martial melee weapon", "martial weapon", "melee weapon", "weapon"),
        "rarity": "rare",
        "requires_attunement": True,
        "cost": 1500.0,
        "weight": 3.0,
        "damage_type": "slashing",
        "damage_types": ("slashing",),
        "properties": ("versatile", "finesse"),
        "damage": 4.5,
        "bonus": 1,
        "charges": 3,
        "cursed": False,
    }
    assert "*Martial melee weapon, rare (requires attunement by a sailor)*" in markdown(blade)


def test_a_class_has_its_features_by_level_and_its_table(harbour: dict[str, Entity]) -> None:
    pilot, reef = harbour["Pilot"], harbour["Reef Course"]
    page = markdown(pilot)
    assert (pilot.fields["hit_die"], reef.kind, reef.fields["parent"]) == ("d8", "subclass", "pilot")
    assert "| 3 | +2 | Course | 1d4 |" in page
    assert "### Level 1: Sounding\n\nYou measure the depth." in page
    assert "**Sounding save DC** = 8 + your proficiency bonus + your Wisdom modifier" in page
    assert "- **Skills** One of Survival or Nature" in page
    assert "### Level 3: Reef Course\n\nYou know the reefs." in markdown(reef)
    assert (harbour["Stowaway"].kind, harbour["Stowaway"].fields["parent"]) == ("class-feature", "fighter")


def test_a_table_is_kept_in_a_shape_that_can_be_rolled_on(harbour: dict[str, Entity]) -> None:
    table = harbour["Flotsam"]
    assert (table.type, table.kind) == ("rules", "table")
    assert table.data["table"] == {
        "columns": ["d6", "What drifts by"],
        "rows": [["1-2", "A crate"], ["3–5", "*rope*"], ["6", "A **Harbour Master**'s hat"]],
        "dice": "1d6",
        "ranges": [[1, 2], [3, 5], [6, 6]],
    }
    assert "| 3–5 | *rope* |" in markdown(table)
    assert markdown(table).count("A crate") == 1


def test_tables_of_encounters_can_be_rolled_on_too(tmp_path: Path) -> None:
    results = [
        {"min": 1, "max": 3, "result": "{@dice 1d4} {@creature crab|MM|crabs}"},
        {"min": 4, "max": 4, "result": "fog"},
    ]
    found = one(tmp_path, "encounter", tables=[{"diceExpression": "d4", "table": results}])
    assert (found.kind, found.name, found.fields["parent"]) == ("table", "Thing: 1", "thing")
    assert found.data["table"] == {
        "columns": ["d4", "Result"],
        "rows": [["1–3", "1d4 **crabs**"], ["4", "fog"]],
        "dice": "1d4",
        "ranges": [[1, 3], [4, 4]],
    }


def test_features_that_name_each_other_in_a_circle_are_written_once(tmp_path: Path) -> None:
    def feature(name: str, other: str) -> Raw:
        entries = [f"Text of {name}.", {"type": "refClassFeature", "classFeature": f"{other}|Thing|Tide|1"}]
        return {
            "name": name,
            "source": "Tide",
            "className": "Thing",
            "classSource": "Tide",
            "level": 1,
            "entries": entries,
        }

    found, report = read(
        brew(
            tmp_path,
            "tide",
            "one",
            **{
                "class": [{"name": "Thing", "source": "Tide", "classFeatures": ["A|Thing|Tide|1"]}],
                "classFeature": [feature("A", "B"), feature("B", "A")],
            },
        )
    )
    assert problems(report) == ""
    page = markdown(next(e for e in found if e.kind == "class"))
    assert (page.count("Text of A."), page.count("Text of B.")) == (1, 1)


def test_things_without_a_type_of_their_own_are_rules_of_their_kind(harbour: dict[str, Entity]) -> None:
    assert (harbour["Bowline"].kind, harbour["Marra"].kind, harbour["Marra"].fields["parent"]) == (
        "knot",
        "deity",
        "tides",
    )
    assert "- **Prerequisite** 5th level; or light cantrip" in markdown(harbour["Bowline"])
    assert "- **Alignment** neutral good" in markdown(harbour["Marra"])


def test_things_of_one_name_that_are_not_the_same_are_two_entries() -> None:
    entities, _ = read(FOLDER)
    assert [e.slug for e in entities if e.name == "Marra"] == ["marra", "marra-stones"]


def test_sources_are_documents_with_their_titles_authors_and_edition(harbour: dict[str, Entity]) -> None:
    book = harbour["The Harbour Book"]
    assert (book.type, book.document, book.data["author"]) == ("documents", "the-harbour-book", "A. Gull, B. Tern")
    assert book.fields["game_system"] == "5th edition 2024"
    assert harbour["Notes from the Pier"].fields["game_system"] == "5th edition 2014"
    assert {e.document_name for e in harbour.values() if e.document == "the-harbour-book"} - {None} == {
        "The Harbour Book"
    }
    everything, _ = read(FOLDER, document="mine")
    assert {e.document for e in everything} == {"mine"}


def test_the_rules_read_stored_entries_again_as_they_made_them(harbour: dict[str, Entity]) -> None:
    assert len(harbour) > 12
    for entity in harbour.values():
        assert derive_fields(entity) == dict(entity.fields)


def test_every_entry_has_a_page_without_empty_sections_and_markup(harbour: dict[str, Entity]) -> None:
    for entity in harbour.values():
        page = markdown(entity)
        assert "{@" not in page + json.dumps(lean(entity))
        rows = [row for row in page.split("\n") if row] + ["# end"]
        empty = [row for row, after in pairwise(rows) if row.startswith("## ") and after.startswith(("# ", "## "))]
        assert empty == []


@pytest.mark.parametrize(
    ("kind", "values", "fields"),
    [
        (
            "monster",
            {
                "ac": [{"special": "11 + x"}],
                "hp": {"special": "as many"},
                "cr": "Unknown",
                "trait": [{"name": "Odd", "entries": ["It is."]}],
            },
            {},
        ),
        (
            "monster",
            {"ac": "15 (natural armor)", "hp": "22 (4d8 + 4)", "cr": 0.5},
            {"armor_class": 15, "hit_points": 22, "challenge_rating": 0.5},
        ),
        (
            "monster",
            {"type": {"type": "beast", "swarmSize": "T"}, "cr": {"cr": "1/8", "lair": "2"}},
            {"type": ("beast", "swarm"), "challenge_rating": 0.125},
        ),
        ("monster", {"spellcasting": [{"will": ["{@spell light}"], "hidden": ["will"]}]}, {"spells": ("light",)}),
        ("spell", {"level": 10, "school": "necromancy"}, {"level": 10, "school": "necromancy"}),
        (
            "spell",
            {"level": 1, "range": {"type": "point", "distance": {"type": "miles", "amount": 1}}},
            {"level": 1, "range": 5280.0},
        ),
        (
            "spell",
            {"duration": [{"type": "permanent", "ends": ["dispel"]}], "entries": ["x"]},
            {"duration": 1e9, "concentration": False, "heals": False, "summons": False},
        ),
        (
            "item",
            {"type": "HA", "ac": 16, "strength": "13", "stealth": True, "value": 5},
            {
                "armor_class": 16,
                "cost": 0.05,
                "properties": ("stealth disadvantage",),
                "category": ("heavy armor", "armor"),
            },
        ),
        ("item", {"type": "G", "value": 0, "rarity": "none"}, {"category": ("adventuring gear",)}),
        (
            "item",
            {"wondrous": True, "reqAttune": "optional", "rarity": "unknown (magic)"},
            {"category": ("wondrous item",)},
        ),
        ("subrace", {"raceName": "Elf", "raceSource": "PHB"}, {"parent": "elf"}),
        ("feat", {"prerequisite": [{"level": 4}]}, {"prerequisite": ("level 4",)}),
    ],
)
def test_what_is_absent_is_absent_and_old_shapes_are_read(tmp_path: Path, kind: str, values: Raw, fields: Raw) -> None:
    assert dict(one(tmp_path, kind, **values).fields) == fields


@pytest.mark.parametrize(("value", "said"), [(True, True), (False, False), ("yes", False)])
def test_a_feat_says_if_it_can_be_taken_again(tmp_path: Path, value: object, said: bool) -> None:
    feat = one(tmp_path, "feat", entries=["You swim."], repeatable=value)
    assert ("**Repeatable** yes" in markdown(feat)) is said


# --- files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "is_brew"),
    [
        ('{"_meta": {"sources": []}, "spell": []}', True),
        ('\ufeff {"$schema": "https://x/5etools-utils/homebrew.json"', True),
        ('{"siteVersion": "1.2", "monster": [{"name": "x", "sour', True),
        ('{"collection": "spells", "name": "x", "spell": [{}]}', False),
        ('{"name": "x", "action": [{"name": "Bite"}], "spell": [{}]}', False),
        ('{"results": [{"name": "x"}]}', False),
        ('[{"name": "x", "source": "y"}]', False),
        ('{"items": [{"name": "x"}]}', False),
        ("{", False),
        ("", False),
    ],
)
def test_files_are_recognised_by_their_content(head: str, is_brew: bool) -> None:
    assert recognises(head) is is_brew


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"_meta": {"sources": []}, "spell": [{"name": "x"', "it ends in the middle"),
        ('{"_meta": {"sources": []}, // mine\n "spell": []}', "a comment, which JSON does not have"),
        ('{"_meta": {"sources": []}, "spell": [{"name": "x",}]}', "a comma too many before the closing bracket }"),
        ('{"_meta": {"sources": []}, "spell": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ('{"_meta": {"sources": []}}', "it has no content"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.json").write_text(text, "utf-8")
    entities, report = read(tmp_path / "bad.json")
    assert (entities, len(report.failed)) == ([], 1)
    assert reason in report.failed[0].reason


def test_one_bad_object_is_told_with_its_place_and_the_others_are_read(tmp_path: Path) -> None:
    monsters = [
        {"source": "Tide"},
        None,
        {"name": "Good", "source": "Tide", "size": ["M"]},
        {"name": "N" * 501, "source": "Tide"},
    ]
    entities, report = read(brew(tmp_path, monster=monsters, spell={"name": "x"}, item=None, fooBar=[{"name": "y"}]))
    assert [e.name for e in entities] == ["Good", "Tide Tables"]
    said = problems(report)
    for part in (
        "tide.json: monster[0]: '(no name)': it has no name",
        "tide.json: monster[1]: it must be an object, not null",
        "its name must be a non-empty text of at most 500 characters",
        "tide.json: spell: it must be a list of objects, not an object; put it in brackets",
        "tide.json: item: it is null",
        "tide.json: 'fooBar': unknown kind of content, 1 skipped; the kinds that are read: spell, monster",
    ):
        assert part in said


def test_double_keys_and_what_is_no_json_are_mended_and_told(tmp_path: Path) -> None:
    text = (
        '\ufeff{"_meta": {"sources": [{"json": "T", "full": "T"}]},\r\n"monster": [{"name": "A", "source": "T", "str": NaN,'
        ' "dex": 1e999, "int": 12345678901234567890, "ac": [12], "ac": [13], "entries": ["a\\ud800b so\\u00adft no\\u00a0break"]}],'
        ' "monster": [{"name": "B", "name": "C", "source": "T", "size": ["M"]}]}'
    )
    (tmp_path / "odd.json").write_text(text, "utf-8")
    entities, report = read(tmp_path / "odd.json")
    first, second = (e for e in entities if e.type == "creatures")
    assert (first.name, second.name, first.fields["armor_class"]) == ("A", "C", 12)
    assert first.data["desc"] == "a\ufffdb soft no break"
    assert "ability_scores" not in first.data
    said = problems(report)
    for part in (
        "the key 'monster' appears twice",
        "the last value, 'C', was stored",
        "nan is not a JSON number",
        "too many digits",
        "half a character",
    ):
        assert part in said


def test_a_source_that_is_missing_or_not_declared_is_told_once(tmp_path: Path) -> None:
    things = [
        {"name": "A"},
        {"name": "B", "source": "Odd"},
        {"name": "C", "source": "Odd"},
        {"name": "D", "source": "MM"},
    ]
    entities, report = read(brew(tmp_path, skill=[{**thing, "entries": ["It is."]} for thing in things]))
    assert {e.name: e.document for e in entities if e.type == "rules"} == {
        "A": "tide-tables", "B": "odd", "C": "odd", "D": "monster-manual-2014",
    }  # fmt: skip
    said = problems(report)
    assert said.count("is not declared in _meta.sources") == 1
    assert "'A': it has no source; assigned to 'Tide Tables'" in said


def test_lists_of_files_and_gzipped_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"Tide": {"tide.json": "monster"}}', "utf-8")
    (tmp_path / "tide.json.gz").write_bytes(
        gzip.compress(brew(tmp_path, "x", skill=[{"name": "A", "source": "Tide", "entries": ["It is."]}]).read_bytes())
    )
    (tmp_path / "x.json").unlink()
    entities, report = read(tmp_path)
    assert ([e.name for e in entities], problems(report)) == (["A", "Tide Tables"], "")
    assert report.skipped == {"index.json: list of homebrew files": 1}


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (
            {"name": "Loose", "source": "Tide", "level": 1, "entries": ["x"]},
            "this is an entry of 5etools without its file",
        ),
        *(
            ({"name": "Loose", "source": "Tide", **more}, f'its kind{like}: {{"_meta": {{"sources": []}}, "{kind}": [')
            for more, kind, like in (
                ({"level": 1, "school": "V", "entries": ["x"]}, "spell", ""),
                ({"rarity": "rare", "entries": ["x"]}, "item", ""),
                ({"hp": {"average": 9}, "page": 3}, "monster", ""),
                ({"entries": ["x"]}, "spell", ", as spells are"),
            )
        ),
        ({"index": "acid-arrow", "name": "Acid Arrow", "url": "/api/spells/acid-arrow"}, "this is 5e-database"),
        ({"name": "Crab", "stats": {}, "flavor": {}}, "this is CritterDB"),
    ],
)
def test_formats_that_are_not_read_are_named_once_a_file(tmp_path: Path, obj: Raw, name: str) -> None:
    (tmp_path / "loose.json").write_text(json.dumps([obj, obj, obj]), "utf-8")
    entities, report = read(tmp_path)
    assert (entities, len(report.failed)) == ([], 1)
    assert report.failed[0].where == str(tmp_path / "loose.json")
    assert name in report.failed[0].reason
    assert report.failed[0].reason.endswith("(3 objects)")


# --- a library -----------------------------------------------------------------------------------------------------------


async def test_an_adventure_is_for_the_game_master_and_what_is_read_aloud_for_all(tmp_path: Path) -> None:
    embedding = EmbeddingService(lambda: HashingProvider(64))
    settings, _ = load_settings(variables(tmp_path, "sqlite"), tmp_path / "no-env-file")
    async with Library(open_cache(settings, embedding), embedding, offline=True, views=tmp_path / "views") as library:
        report = await library.import_paths([FOLDER])
        assert (report.failed, report.warnings) == ([], [])
        again = await library.import_paths([FOLDER])
        assert (again.stored, again.unchanged) == (0, report.stored)
        pages = [await view.search(Query(("rules",), limit=50)) for view in (library, library.view(Viewer.player()))]
        everything, shown = ({r.entity.name for r in page.results} for page in pages)
        assert everything - shown == {"The Empty Berth", "The Berth"}
        aloud = next(r.entity for r in pages[1].results if r.entity.kind == "read-aloud")
        assert (aloud.name, aloud.data["desc"]) == ("Read-aloud text 1", "Fog lies on the water.")


# --- damage --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(30))
def test_damaged_files_never_stop_an_import(tmp_path: Path, seed: int, number: int) -> None:
    dice = random.Random(seed * 1000 + number)
    source = dice.choice(sorted(FOLDER.iterdir()))
    content = json.loads(source.read_text("utf-8"))
    meta = content.pop("_meta")
    text = json.dumps(
        {"_meta": meta, **{key: mutated(each, dice, dice.choice((0.01, 0.05, 0.2))) for key, each in content.items()}}
    )
    if dice.random() < 0.2:
        text = text[: dice.randrange(60, len(text))]
    (tmp_path / "damaged.json").write_text(text, "utf-8")
    entities, report = read(tmp_path / "damaged.json", FOLDER / "pier.json")
    assert "Pier Guard" in [e.name for e in entities][-2:]
    for entity in entities:
        assert markdown(entity)
        lean(entity)
        assert derive_fields(entity) == dict(entity.fields)
    assert len(problems(report)) < 100_000


def test_subraces_within_their_race_are_subraces_and_one_without_a_name_is_the_race_itself(tmp_path):
    sight = {"name": "Sight", "type": "entries", "entries": ["See."]}
    nested = [
        {
            "name": "Deep",
            "source": "Tide",
            "darkvision": 120,
            "entries": [sight],
        },
        {"name": "Shore", "speed": {"walk": 25, "swim": 30}, "entries": ["They wade."]},
        {"source": "Tide", "ability": [{"cha": 2}], "entries": ["All of them sing well."]},
    ]
    race = {"name": "Mudkin", "source": "Tide", "speed": 25, "entries": ["They dig."], "subraces": nested}
    entities, report = read(brew(tmp_path, race=[race]))
    found = {e.name: e for e in entities if e.type == "character_options"}
    assert {name: e.kind for name, e in found.items()} == {
        "Mudkin": "race",
        "Mudkin (Deep)": "subrace",
        "Mudkin (Shore)": "subrace",
    }
    assert found["Mudkin (Deep)"].fields["parent"] == found["Mudkin (Shore)"].fields["parent"] == "mudkin"
    page = markdown(found["Mudkin"])
    assert "They dig." in page
    assert "All of them sing well." in page
    assert "Charisma +2" in page
    assert "120 feet" in markdown(found["Mudkin (Deep)"])
    assert "swim 30 ft" in markdown(found["Mudkin (Shore)"])
    assert (report.failed, report.warnings, report.not_taken) == ([], [], [])


def test_what_an_unknown_change_of_a_copy_adds_is_reported_and_what_it_has_no_more_is_not(tmp_path: Path) -> None:
    peat = {"name": "Old Peat", "entries": ["It smells of old peat."]}
    lurker = {"name": "Lurker", "source": "Tide", "size": ["L"], "type": "ooze", "cr": "1", "trait": [peat]}
    fresh = {"mode": "replaceArr", "replace": "Old Peat", "items": {"name": "Peat", "entries": ["It smells of reeds."]}}
    odd = {"mode": "twistArr", "items": {"name": "Twist", "entries": ["It twists the paths of the bog."]}}
    of = {"name": "Lurker", "source": "Tide", "_mod": {"trait": [fresh, odd]}}
    _, report = read(brew(tmp_path, monster=[lurker, {"name": "Deep Lurker", "source": "Tide", "_copy": of}]))
    assert [each.example for each in report.not_taken] == ["It twists the paths of the bog."]
