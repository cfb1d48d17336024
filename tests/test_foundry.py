"""Documents of Foundry VTT: their texts and numbers in the words of the books, their secrets, and every container they come in."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import GM_PART, Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.intake.formats.yaml_document import MAX_DEPTH, parse
from lorekeeper.library import Library
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.markup import text_of
from lorekeeper.render import markdown
from lorekeeper.rolling.tables import tables_of
from lorekeeper.search.query import Query
from tests.support.foundry import (
    FANG,
    GLARE,
    STATS,
    attack,
    described,
    document,
    imported,
    in_words,
    journal,
    marsh_owl,
    named,
    page,
    part,
    spark,
    write,
)
from tests.support.libraries import settings

# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>One.</p><p>Two<br>lines</p>", "One.\n\nTwo\nlines"),
        ("<p><strong>Name. </strong>Text <em> here</em>.<b> </b></p>", "**Name.** Text *here*."),
        ("or <strong>6 <em>fire </em></strong>damage", "or **6 *fire*** damage"),
        ("<h2>Head</h2><p>x</p>", "## Head\n\nx"),
        ("<ul><li><p>a</p></li><li>b<ul><li>c</li></ul></li></ul>", "- a\n- b\n  - c"),
        ('<ol start="3"><li>x</li><li>y</li></ol>', "3. x\n4. y"),
        (
            "<table><caption>Odds</caption><tr><th>d4</th><th>a|b</th></tr><tr><td><p>1</p></td><td>x<br>y</td></tr></table>",
            "**Odds**\n\n| d4 | a\\|b |\n|---|---|\n| 1 | x y |",
        ),
        ("a&nbsp;b &amp;amp; soft\u00adhyphen", "a b &amp; softhyphen"),
        ("<script>alert(1)</script>x<!-- y --><a href='javascript:z'>link</a><iframe>q</iframe>", "xlink"),
        ("<p>unclosed <b>bold", "unclosed **bold"),
        ("<td>loose</td> 1 < 2", "loose 1 < 2"),
        ('<p title="a > b">x</p>', "x"),
        ("plain", "plain"),
        (None, ""),
        (7, ""),
    ],
)
def test_html_becomes_markdown(html, expected):
    assert text_of(html).open == expected


@pytest.mark.parametrize(
    ("html", "shown", "secret"),
    [
        ('Seen<section class="secret" id="x"><p>Hidden</p></section>too', "Seentoo", "Hidden"),
        ('<section id="x" class="secret revealed"><p>Told</p></section>', "Told", ""),
        ('<section class="secret"><p><strong>Foundry Note</strong></p><p>Click.</p></section>x', "x", ""),
        ("<section class='secret'>a<section class=secret>b</section>c</section>d", "d", "abc"),
        ('<table><tr><td>x<section class="secret">h</td><td>y</td></tr></table>', "| x | y | |---|---|", "h"),
        ('a<section class="secret">never closed <p>b</p>', "a", "never closed b"),
        ('<section data-x="1>0" class="secret">h</section>x', "x", "h"),
        ('<blockquote class="secret">only sections are secret</blockquote>', "only sections are secret", ""),
    ],
)
def test_what_is_secret_in_a_text_is_kept_apart(html, shown, secret):
    found = text_of(html)
    assert " ".join(found.secret.split()) == secret
    assert " ".join(found.open.split()) == shown


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<ul><li>",
        "<table><tr><td>",
        "<section class=secret>",
        "<b><i>",
        "<a ",
        "<!--",
        '<p class="',
        "* ",
        "@UUID[",
    ],
)
def test_no_text_takes_long(piece):
    hostile = piece * (200_000 // len(piece))
    assert len(text_of(hostile).open) <= len(hostile)
    assert len(in_words(hostile)) <= len(hostile)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[[/attack extended]]", "*Melee Weapon Attack:* +5 to hit, reach 10 ft., one target"),
        ("[[/attack extended]]. [[/damage extended]].",
         "*Melee Weapon Attack:* +5 to hit, reach 10 ft., one target. *Hit:* 10 (2d6 + 3) piercing damage."),
        ("[[/attack]], reach 5 ft.", "+5 to hit, reach 5 ft."),
        ("takes [[/damage average]] damage", "takes 10 (2d6 + 3) piercing damage"),
        ("plus [[/damage 1d4 cold average]] damage", "plus 2 (1d4) cold damage"),
        ("takes [[/damage 10 type=fire]].", "takes 10 fire damage."),
        ("a [[/save con 14]] saving throw", "a DC 14 Constitution saving throw"),
        ("a [[/save con 14 format=long]] or", "a DC 14 Constitution saving throw or"),
        ("a [[/check skill=ath ability=str dc=12]] check", "a DC 12 Strength (Athletics) check"),
        ("[[/skill ath 15]]", "DC 15 Strength (Athletics)"),
        ("lasts [[/r 2d4 # days]] days", "lasts 2d4 days"),
        ("[[/r 1d4 * 10]] or [[2d6]]", "1d4 × 10 or 2d6"),
        ("[[/award 50gp 3sp]]", "50 GP, 3 SP"),
        ("its [[/item Fang]] and [[/item .glare00000000001]]", "its Fang and Glare"),
        ("the [[lookup @name lowercase]]{monster}", "the marsh owl"),
        ("[[lookup @no.such.path]]{fallback}", "fallback"),
        ("DC [[lookup @abilities.cha.dc]]", "DC 10"),
        ("&amp;Reference[invisible apply=false] &Referrence[prone]{lying}", "invisible lying"),
        ("@UUID[Compendium.dnd5e.spells.Item.abcdefghijklmnop]{Bless}", "Bless"),
        ("@UUID[.fang000000000001] @Item[fang000000000001]", "Fang Fang"),
        ("@JournalEntry[The Bell]", "The Bell"),
        ("@Embed[Compendium.a.b.Item.abcdefghijklmnop inline]", ""),
        ("[[/unknown thing]]{label}", "label"),
        ("[[ceil(@attributes.prof / 2) + 1]]", "2"),
        ("[[9 ** 9 ** 9]] [[/r (((((]]", "9 × × 9 × × 9 ((((("),
    ],
)  # fmt: skip
def test_marks_become_words(source, expected):
    assert in_words(f"<p>{source}</p>") == expected


def test_the_rules_of_2024_have_words_of_their_own():
    assert in_words("[[/attack extended]]. [[/damage extended]].", rules="2024") == (
        "*Melee Attack Roll:* +5, reach 10 ft. *Hit:* 10 (2d6 + 3) Piercing damage."
    )


@pytest.mark.parametrize(
    ("weapon", "expected"),
    [
        ({"properties": ["fin"], "type": {"value": "martialM"}}, "+5 to hit, reach 5 ft., one target"),
        ({"properties": ["rch"], "type": {"value": "martialM"}}, "+5 to hit, reach 10 ft., one target"),
        ({"properties": ["thr"], "range": {"value": 20, "long": 60}}, "+5 to hit, reach 5 ft. or range 20/60 ft., one target"),
        ({"magicalBonus": 2}, "+7 to hit, reach 5 ft., one target"),
        ({"activities": attack("wis")}, "+3 to hit, reach 5 ft., one target"),
        ({"activities": attack(attack={"flat": True, "bonus": "9"})}, "+9 to hit, reach 5 ft., one target"),
    ],
)  # fmt: skip
def test_the_numbers_of_an_attack_follow_from_its_weapon_and_the_scores(weapon, expected):
    system = {"damage": FANG["system"]["damage"], "activities": attack(), **weapon}
    assert in_words("[[/attack extended]]", part("Spear", "weapon", system, "x")).endswith(expected)


def test_formulas_are_worked_out_within_bounds():
    values: dict[str, float] = {"prof": 3, "abilities.str.mod": -1}
    assert formulas.value("8 + @prof + @abilities.str.mod", values.get) == 10
    assert formulas.value("floor(7 / 2) * 2") == 6
    assert (formulas.value("7 / 2"), formulas.value("11 / 3"), formulas.value("-11 / 3")) == (3, 3, -4)
    assert [formulas.value(source) for source in ("", "1d6", "@gone", "().__class__", "9**9", "1/0", "1" * 400)] == [
        None
    ] * 7


# --- creatures -------------------------------------------------------------------------------------------------------


def test_a_creature_is_a_whole_stat_block(tmp_path):
    entities, report = imported(write(tmp_path / "pack", owl_json=marsh_owl()))
    owl = named(entities, "Marsh Owl")
    assert (report.failed, report.warnings) == ([], [])
    assert (owl.uri, owl.document_name) == ("lore://creatures/dnd5e-2014/marsh-owl", "D&D 5e 2014 (Foundry VTT)")
    shown = markdown(owl)
    for line in (
        "*Large monstrosity, neutral evil*",
        "- **Armor Class** 15 (natural armor)",
        "- **Hit Points** 33 (6d8 + 6)",
        "- **Speed** 20 ft., fly 60 ft. (hover)",
        "- **Saving Throws** Wis +3",
        "- **Skills** Perception +3",
        "- **Damage Resistances** cold; bludgeoning from nonmagical attacks",
        "- **Senses** darkvision 120 ft., passive Perception 13",
        "- **Languages** Common, Owl Speech",
        "- **Challenge** 3 (700 XP; proficiency bonus +2)",
        "An owl as tall as a door.",
        "**Silent Wings.** It makes no sound.",
        "**Fang.** *Melee Weapon Attack:* +5 to hit, reach 10 ft., one target. *Hit:* 10 (2d6 + 3) piercing damage.",
        "## Bonus Actions\n\n**Glare (Recharge 5–6).** Each creature within 20 feet makes a DC 10 Wisdom saving throw against the "
        "marsh owl's glare, taking 7 (3d4) psychic damage and being prone.",
    ):
        assert line in shown
    assert owl.fields["challenge_rating"] == 3
    assert owl.fields["environments"] == ("swamp", "forest")
    assert owl.fields["damage_types"] == ("piercing", "psychic")
    assert owl.fields["saves"] == ("wisdom",)
    assert derive_fields(owl) == owl.fields


def test_what_a_creature_does_not_say_is_absent(tmp_path):
    details = {"cr": None, "biography": {"value": "<p>It glows.</p>"}}
    bare = document("Wisp", "npc", {"details": details, "source": {"rules": "2014"}}, "actors!wisp000000000001")
    entities, _ = imported(write(tmp_path / "pack", wisp_json=bare))
    wisp = named(entities, "Wisp")
    assert wisp.fields.keys() == {"audience"}
    assert "Armor Class" not in markdown(wisp)


@pytest.mark.parametrize(
    ("ac", "worn", "expected"),
    [
        ({"calc": "flat", "flat": 18}, [], 18),
        ({"calc": "default", "flat": 18}, [], 12),
        ({"calc": "default"}, [("light", 11, None)], 13),
        ({"calc": "default"}, [("medium", 14, 1)], 15),
        ({"calc": "default"}, [("heavy", 18, None), ("shield", 2, None)], 20),
        ({"calc": "mage"}, [], 15),
        ({"calc": "unarmoredMonk"}, [], 13),
        ({"calc": "custom", "formula": "10 + @prof"}, [], 12),
    ],
)
def test_armor_class_follows_the_calculation_of_the_creature(tmp_path, ac, worn, expected):
    owl = marsh_owl()
    owl["system"]["attributes"]["ac"] = ac
    owl["items"] = [
        part(
            "Worn",
            "equipment",
            {"type": {"value": kind}, "armor": {"value": value, "dex": dex}, "equipped": True},
            f"worn{n}",
        )
        for n, (kind, value, dex) in enumerate(worn)
    ]
    entities, _ = imported(write(tmp_path / "pack", owl_json=owl))
    assert named(entities, "Marsh Owl").fields["armor_class"] == expected


def test_an_enabled_effect_sets_how_armor_class_is_calculated(tmp_path):
    change = {"key": "system.attributes.ac.calc", "value": "mage"}
    owl = marsh_owl() | {"effects": [{"disabled": False, "changes": [change]}]}
    owl["system"]["attributes"]["ac"] = {"calc": "default"}
    entities, _ = imported(write(tmp_path / "pack", owl_json=owl))
    assert named(entities, "Marsh Owl").fields["armor_class"] == 15


def test_how_a_creature_casts_a_spell_is_no_part_of_its_name(tmp_path):
    names = ("Light", "Invisibility (Self Only)", "Augury (as an action)", "Invisibility")
    owl = marsh_owl() | {"items": [part(name, "spell", {"level": 1}, f"spell{n}") for n, name in enumerate(names)]}
    entities, _ = imported(write(tmp_path / "pack", owl_json=owl))
    spells = named(entities, "Marsh Owl").fields["spells"]
    assert isinstance(spells, tuple)
    assert set(spells) == {"light", "invisibility", "augury"}


def test_black_flag_prints_modifiers_and_words_of_its_own(tmp_path):
    claw = {
        "description": {
            "value": "<p><em>Melee Weapon Attack:</em> [[/attack]], reach 5 ft. [[/save dexterity 12]] save.</p>"
        },
        "damage": {"base": {"number": 1, "denomination": 6, "type": "slashing"}},
        "properties": ["finesse"],
        "activities": {"a": {"type": "attack", "system": {"damage": {"includeBase": True}}}},
    }
    system = {
        "attributes": {"cr": 0.25, "hp": {"max": 9}, "ac": {"override": 13}},
        "abilities": {"dexterity": {"mod": 4, "proficient": True}, "strength": {"mod": -1}},
        "traits": {
            "movement": {"base": 30, "types": {"walk": "@base", "fly": "@base * 2"}, "units": "foot"},
            "size": "small",
        },
    }
    imp = document("Reed Imp", "npc", system, "actors!imp0000000000001", items=[part("Claw", "weapon", claw, "claw")])
    imp["_stats"] = {"systemId": "black-flag"}
    entities, _ = imported(write(tmp_path / "pack", imp_json=imp))
    shown = markdown(named(entities, "Reed Imp"))
    assert "| -1 | +4 | +0 | +0 | +0 | +0 |" in shown
    assert "*Melee Weapon Attack:* +4 to hit, reach 5 ft. DC 12 DEX save." in shown
    assert "- **Speed** 30 ft., fly 60 ft." in shown


# --- spells, items, options ------------------------------------------------------------------------------------------


def test_a_spell_has_all_its_values_and_its_classes_from_a_list_of_spells(tmp_path):
    text = (
        "<p>A 20-foot-radius sphere burns.</p><p><strong>Using a Higher-Level Spell Slot.</strong> It burns longer.</p>"
    )
    listing = page("Seer Spells", "", "page000000000001") | {
        "type": "spells",
        "system": {"type": "class", "identifier": "seer", "spells": ["Compendium.x.spells.Item.spark00000000001"]},
    }
    folder = write(
        tmp_path / "pack", spark_json=spark(text), lists_json=journal(listing) | {"_key": "!journal!journal000000001"}
    )
    entities, _ = imported(folder)
    found = named(entities, "Wick Spark")
    shown = markdown(found)
    assert "- **Components** V, M (a wick worth 25 gp)" in shown
    assert "- **Duration** Concentration, up to 1 minute" in shown
    assert "**Using a Higher-Level Spell Slot.** It burns longer." in shown
    expected = {"level": 2, "school": "evocation", "range": 60, "duration": 1, "concentration": True, "ritual": False}
    expected |= {"classes": ("seer",), "material_cost": 25, "area": "sphere", "area_size": 20}
    assert {name: found.fields[name] for name in expected} == expected
    assert "Wick Spark" in markdown(named(entities, "Seer Spells"))
    assert derive_fields(found) == found.fields


def test_items_have_kind_price_weight_and_what_they_do(tmp_path):
    blade = described(
        "<p><em>Weapon, rare (requires attunement by a seer)</em></p><p>It hums.</p>",
        damage={"base": {"number": 1, "denomination": 8, "types": ["slashing"]}},
        type={"value": "martialM"},
        properties=["mgc", "ver"],
        rarity="veryRare",
        attunement="required",
        price={"value": 5, "denomination": "pp"},
        weight={"value": 48, "units": "ounce"},
        magicalBonus=1,
        uses={"max": "3", "recovery": [{"period": "dawn"}]},
    )
    mail = described(
        "<p>Mail.</p>", type={"value": "medium"}, armor={"value": 14}, properties=["stealthDisadvantage"], strength=13
    )
    folder = write(
        tmp_path / "pack",
        blade_json=document("Hum Blade", "weapon", blade, "items!blade00000000001"),
        mail_json=document("Reed Mail", "equipment", mail, "items!mail000000000001"),
        rope_json=document("Rope", "loot", {}, "items!rope000000000001"),
    )
    entities, _ = imported(folder)
    sword, armor, rope = (named(entities, name) for name in ("Hum Blade", "Reed Mail", "Rope"))
    assert [entity.kind for entity in (sword, armor, rope)] == ["magic-item", "armor", "gear"]
    assert "*Martial weapon, very rare (requires attunement by a seer)*" in markdown(sword)
    assert "- **Properties** Versatile (1d10)" in markdown(sword)
    expected = {"cost": 50, "weight": 3, "bonus": 1, "charges": 3, "requires_attunement": True, "damage": 4.5}
    assert {name: sword.fields[name] for name in expected} == expected
    assert "- **Armor Class** 14 + Dex modifier (max 2)" in markdown(armor)
    assert armor.fields["armor_class"] == 14
    assert "cost" not in rope.fields
    assert "requires_attunement" not in rope.fields


def test_a_class_has_its_features_by_level_and_says_which_are_missing(tmp_path):
    def grant(level: int, *ids: str) -> dict[str, Any]:
        uuids = [{"uuid": f"Compendium.x.features.Item.{identifier}"} for identifier in ids]
        return {"type": "ItemGrant", "level": level, "configuration": {"items": uuids}}

    scale = {"type": "ScaleValue", "title": "Omens", "configuration": {"scale": {"1": {"value": 2}, "5": {"value": 3}}}}
    seer = described(
        "<p>Sees.</p>",
        hd={"denomination": "d8"},
        identifier="seer",
        advancement=[grant(1, "omen000000000001", "gone00000000001"), grant(3, "omen000000000001"), scale],
    )
    omen = described("<p>Draw a lot.</p>", type={"value": "class"}, requirements="Seer 1")
    tide = described(
        "<p>Of the tide.</p>", identifier="tide", classIdentifier="seer", advancement=[grant(2, "omen000000000001")]
    )
    folder = write(
        tmp_path / "pack",
        seer_json=document("Seer", "class", seer, "items!seer000000000001"),
        omen_json=document("Omen", "feat", omen, "items!omen000000000001"),
        tide_json=document("Tide Circle", "subclass", tide, "items!tide000000000001"),
    )
    entities, report = imported(folder)
    found = named(entities, "Seer")
    shown = markdown(found)
    assert found.fields["hit_die"] == "d8"
    assert "| 3 | Omen | 2 |" in shown
    assert "### Level 1: Omen\n\n*again at level 3*\n\nDraw a lot." in shown
    assert named(entities, "Tide Circle").fields["parent"] == "seer"
    assert (named(entities, "Omen").kind, named(entities, "Omen").fields["parent"]) == ("feature", "seer")
    (warning,) = report.warnings
    assert "1 of its features are in packs that are not in this import" in warning.reason


def test_a_subrace_knows_its_race_and_a_feat_what_it_requires(tmp_path):
    dwarf = described("<p>Small and old.</p>", type={"value": "humanoid", "subtype": "dwarf"})
    grip = described(
        "<p>You grip.</p>",
        type={"value": "feat", "subtype": "general"},
        prerequisites={"level": 4},
        requirements="Strength 13+",
    )
    folder = write(
        tmp_path / "pack",
        dwarf_json=document("Reed Dwarf", "race", dwarf, "items!dwarf00000000001"),
        grip_json=document("Grip", "feat", grip, "items!grip000000000001"),
    )
    entities, _ = imported(folder)
    assert (named(entities, "Reed Dwarf").kind, named(entities, "Reed Dwarf").fields["parent"]) == ("subrace", "dwarf")
    assert "- **Prerequisite** Level 4+, Strength 13+" in markdown(named(entities, "Grip"))


def test_a_table_can_be_rolled_on(tmp_path):
    results = [
        {"type": "text", "range": [3, 4], "description": "<p>Fog, or [[/r 1d4]] frogs</p>"},
        {"type": "text", "range": [1, 2], "text": "Rain | hail", "name": "Wet"},
        {"type": "pack", "range": [5, 6], "documentId": "spark00000000001", "documentCollection": "x.pack"},
        {"type": "text", "range": [9, 8], "text": "backwards"},
    ]
    weather = {"_id": "table00000000001", "name": "Weather", "formula": "d6", "results": results, "_stats": STATS}
    entities, _ = imported(write(tmp_path / "pack", weather_json=weather, spark_json=spark()))
    found = named(entities, "Weather")
    assert (found.type, found.kind) == ("rules", "table")
    assert found.data["table"] == {
        "columns": ["Result"],
        "rows": [["**Wet.** Rain | hail"], ["Fog, or 1d4 frogs"], ["Wick Spark"]],
        "ranges": [[1, 2], [3, 4], [5, 6]],
        "dice": "1d6",
    }
    (table,) = tables_of(found)
    assert table.roll(random.Random(1)).row is not None
    assert "| 1–2 | **Wet.** Rain \\| hail |" in markdown(found)


# --- containers ------------------------------------------------------------------------------------------------------


def test_the_files_of_a_folder_are_one_import(tmp_path):
    folders = {
        "_id": "folder0000000001",
        "name": "Sparks",
        "type": "Item",
        "sorting": "a",
        "_key": "!folders!folder0000000001",
    }
    inner = {
        **folders,
        "_id": "folder0000000002",
        "name": "Wet",
        "folder": "folder0000000001",
        "_key": "!folders!folder0000000002",
    }
    loop = {**folders, "_id": "folder0000000003", "folder": "folder0000000003", "_key": "!folders!folder0000000003"}
    embedding = described(
        "<p>@Embed[Compendium.x.pack.Item.spark00000000001 inline]{Spark} and @UUID[Item.spark00000000001]</p>"
    )
    folder = write(
        tmp_path / "pack",
        _folder_json=folders,
        wet_yml=json.dumps(inner),
        loop_json=loop,
        spark_json=spark() | {"folder": "folder0000000002"},
        lamp_json=document("Lamp", "loot", embedding, "items!lamp000000000001", folder="folder0000000003"),
    )
    entities, report = imported(folder)
    assert report.failed == []
    assert named(entities, "Wick Spark").data["tags"] == ["Sparks", "Wet"]
    assert named(entities, "Lamp").data["desc"] == "**Spark.** A spark. and Wick Spark"
    assert named(entities, "Lamp").data["tags"] == ["Sparks"]


def test_the_names_of_unpacked_packs_may_begin_with_an_underscore(tmp_path):
    write(
        tmp_path / "_source",
        _container_json=document("Sack", "container", {}, "items!sack000000000001"),
        _other_json=spark(),
    )
    assert [entity.name for entity in imported(tmp_path)[0]] == ["Sack"]


def test_embedding_ends_where_it_turns_in_a_circle(tmp_path):
    one = page(
        "One",
        "<p>1 @Embed[JournalEntry.journal000000002.JournalEntryPage.page000000000002]{two}</p>",
        "page000000000001",
    )
    two = page(
        "Two",
        "<p>2 @Embed[JournalEntry.journal000000001.JournalEntryPage.page000000000001]{one}</p>",
        "page000000000002",
    )
    other = journal(two, name="Other") | {"_id": "journal000000002"}
    entities, _ = imported(write(tmp_path / "pack", one_json=journal(one), two_json=other))
    assert named(entities, "One").data["desc"] == "1 **two.** 2 **one.** 1 two"


def test_lines_of_a_database_file_the_last_of_a_document_counts(tmp_path):
    lines = [spark("<p>old</p>"), {"$$indexCreated": {"fieldName": "x"}}, {**marsh_owl(), "_key": None}, spark("<p>new</p>"),
             {"_id": "owl0000000000001", "$$deleted": True}]  # fmt: skip
    for line in lines:
        line.pop("_key", None)
    entities, report = imported(write(tmp_path / "pack", spells_db=lines))
    assert [entity.name for entity in entities] == ["Wick Spark"]
    assert entities[0].data["desc"] == "new"
    assert report.failed == []


def test_bad_lines_are_named_by_their_numbers_and_the_others_stay(tmp_path):
    text = f'{json.dumps(spark())}\nnot json\n{{"_id": "cut\n{json.dumps(marsh_owl())}\n'
    entities, report = imported(write(tmp_path / "pack", mixed_db=text))
    assert sorted(entity.name for entity in entities) == ["Marsh Owl", "Wick Spark"]
    assert [failure.where.rpartition(":")[2] for failure in report.failed] == ["2", "3"]


def test_an_export_is_known_by_the_id_in_its_name_also_gzipped(tmp_path):
    export = {key: value for key, value in spark().items() if key not in ("_id", "_key")} | {"folder": None}
    (tmp_path / "fvtt-Item-wick-spark-spark00000000001.json.gz").write_bytes(gzip.compress(json.dumps(export).encode()))
    lamp = document("Lamp", "loot", described("<p>@UUID[Item.spark00000000001]</p>"), "items!lamp000000000001")
    entities, _ = imported(write(tmp_path, lamp_json=lamp))
    assert named(entities, "Lamp").data["desc"] == "Wick Spark"


def test_an_adventure_is_taken_apart(tmp_path):
    adventure = {"_id": "adv0000000000001", "name": "Adventure", "_key": "!adventures!adv0000000000001",
                 "actors": [marsh_owl()], "items": [spark()], "journal": [], "scenes": []}  # fmt: skip
    entities, _ = imported(write(tmp_path / "pack", adventure_json=adventure))
    assert [entity.name for entity in entities] == ["Marsh Owl", "Wick Spark"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes\nb: 12:30\nc: 010\nd: 2024-01-01", {"a": "yes", "b": "12:30", "c": 10, "d": "2024-01-01"}),
        ("a: ~\nb: .nan\nc: -.inf\nd: 1.5e3\ne: '7'", {"a": None, "b": None, "c": None, "d": 1500.0, "e": "7"}),
        ("- true\n- False\n- >-\n  folded\n  text\n- {}", [True, False, "folded text", {}]),
    ],
)
def test_yaml_is_read_as_the_tools_write_it(text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x", "alias in line 2"),
        (
            "a: !!python/object/apply:os.system ['true']",
            "tag 'tag:yaml.org,2002:python/object/apply:os.system' in line 1",
        ),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("- " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("{a: " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("a: [", "invalid YAML in line"),
        ("? [a]\n: b", "a key that is not a text"),
        ("", "the file is empty"),
        ("a: 1\n---\nb: 2", "more than one YAML document"),
        ("a: \x07", "invalid YAML"),
    ],
)
def test_yaml_beyond_the_limits_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse(text)


def test_a_pack_that_is_a_database_is_refused_once_with_what_to_do(tmp_path):
    pack = tmp_path / "packs" / "monsters"
    pack.mkdir(parents=True)
    for name in ("CURRENT", "LOCK", "000005.ldb", "MANIFEST-000004"):
        (pack / name).write_bytes(b"\x00")
    write(tmp_path / "packs", spark_json=spark())
    entities, report = imported(tmp_path / "packs")
    assert [entity.name for entity in entities] == ["Wick Spark"]
    (failure,) = report.failed
    assert failure.where == str(pack)
    assert 'fvtt package unpack -n "monsters"' in failure.reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("spell_json", {"_id": "x" * 16, "type": "spell", "system": {}}, "it has no name"),
        ("thing_json", {"name": "Thing", "system": {"level": 1}, "_stats": STATS}, "it has no type"),
        ("thing_json", {"name": "Thing", "type": "spell", "_stats": STATS}, "without 'system'"),
        ("thing_json", document("Thing", "spell", {}, "items!thing00000000001"), "'system' is empty"),
        ("goblin_json", marsh_owl() | {"_stats": {"systemId": "pf2e"}}, "for the game system 'pf2e'"),
        ("pointer_json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        ("empty_db", "", "the file is empty"),
        ("nan_json", '{"_id": "x", "name": "N", "type": "loot", "system": {"a": NaN}}', "NaN"),
        ("bomb_yml", "_id: aaaaaaaaaaaaaaaa\nsystem: &a [x]\nb: [*a, *a]\n", "alias"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_reason(tmp_path, name, content, reason):
    entities, report = imported(write(tmp_path / "pack", **{name: content}))
    assert entities == []
    (failure,) = report.failed
    assert reason in failure.reason
    assert ".".join(name.rsplit("_", 1)) in failure.where


def test_a_foreign_system_is_named_once_for_a_file(tmp_path):
    foreign = [spark() | {"_id": f"spark{n:011}", "_stats": {"systemId": "pf2e"}} for n in range(30)]
    entities, report = imported(write(tmp_path / "pack", spells_db=[*foreign, marsh_owl()]))
    assert [entity.name for entity in entities] == ["Marsh Owl"]
    assert [failure.reason.split(";")[0] for failure in report.failed] == [
        "30 documents are for the game system 'pf2e'"
    ]


def test_shapes_of_version_9_are_read(tmp_path):
    old = {
        "_id": "old0000000000001", "name": "Old Spark", "type": "spell", "permission": {"default": 0},
        "data": {
            "description": {"value": "<p>Old text.</p>"}, "source": "PHB pg. 241", "level": 1, "school": "evo",
            "components": {"vocal": True, "somatic": False, "ritual": True}, "activation": {"type": "minute", "cost": 10},
            "duration": {"units": "inst"}, "range": {"units": "touch"}, "damage": {"parts": [["1d6", "fire"]]},
            "save": {"ability": "dex"}, "actionType": "save",
        },
    }  # fmt: skip
    entities, _ = imported(write(tmp_path / "pack", old_json=old))
    found = entities[0]
    expected = {
        "level": 1,
        "casting_time": "10 minutes",
        "components": ("verbal",),
        "ritual": True,
        "damage_types": ("fire",),
    }
    assert {name: found.fields[name] for name in expected | {"saves": ()}} == expected | {"saves": ("dexterity",)}
    assert found.document == "dnd5e-phb"


# --- documents and identity ------------------------------------------------------------------------------------------


def test_entries_belong_to_their_book_or_to_the_rules_of_their_system(tmp_path):
    booked = spark() | {"_id": "spark00000000002", "_key": "!items!spark00000000002"}
    booked["system"] = {
        **booked["system"],
        "source": {"book": "MB", "custom": "Marsh Book", "page": "7", "license": "ORC"},
    }
    folder = write(tmp_path / "pack", one_json=spark(), two_json=booked, three_json=marsh_owl())
    report_of = imported(folder)
    assert sorted(entity.document for entity in report_of[0]) == ["dnd5e-2014", "dnd5e-2024", "dnd5e-mb"]
    assert {e.document for e in imported(folder, document="table")[0]} == {"table"}


def test_two_documents_with_one_name_have_slugs_of_their_own(tmp_path):
    pages = [page("Bell", "<p>Rings.</p>", f"page{n:012}") for n in range(3)]
    folder = write(
        tmp_path / "pack", one_json=journal(pages[0], name="Tower"), two_json=journal(pages[1], pages[2], name="Marsh")
    )
    entities, _ = imported(folder)
    assert [entity.slug for entity in entities] == ["bell", "bell-marsh", "bell-journal000000001-page000000000002"]


# --- secrets ---------------------------------------------------------------------------------------------------------


def world() -> dict[str, Any]:
    """A world: a journal whose pages not everybody may read, a creature, and an item of which nobody knows what it is."""
    pages = [
        page(
            "Open",
            "<p>Seen.</p><section class='secret'>SECTIONSECRET</section>",
            "page000000000001",
            ownership={"default": 2},
        ),
        page("Closed", "<p>PAGESECRET</p>", "page000000000002", ownership={"default": 0}),
        page("Inherited", "<p>INHERITSECRET</p>", "page000000000003", ownership={"default": -1}),
        page("Titled", "<p>TITLESECRET</p>", "page000000000004", ownership={"default": 1}),
        page("Letter", "<p>LETTERSECRET</p>", "page000000000005", ownership={"default": 0, "robin": 2}),
    ]
    crown = described("<p>CROWNSECRET drowns.</p>", identified=False, rarity="rare", properties=["mgc"],
                      unidentified={"name": "Wet Circlet", "description": "<p>A circlet.</p>"})  # fmt: skip
    return {
        "journal_json": journal(*pages, ownership={"default": 0}),
        "owl_json": marsh_owl(),
        "crown_json": document("Drowned Crown", "equipment", crown, "items!crown00000000001"),
    }


SECRETS = ("SECTIONSECRET", "PAGESECRET", "INHERITSECRET", "TITLESECRET", "CROWNSECRET", "BIOSECRET", "GLARESECRET")
TYPES = ("creatures", "equipment", "rules")


@pytest.mark.asyncio
async def test_no_player_meets_what_foundry_keeps_secret_and_the_game_master_finds_all_of_it(tmp_path):
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(tmp_path / "vectors.db"))
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "cache.db", offline=1), embedding)
    async with Library(cache, embedding, offline=True, views=tmp_path / "views") as library:
        assert (await library.import_paths([write(tmp_path / "world", **world())])).failed == []
        view = library.view(Viewer.player("Robin"))
        await view.refresh()
        seen = {e.name: str(e.as_record()) for name in TYPES for e in await view.cache.get_entities(name)}
        assert seen.keys() == {"Marsh Owl", "Wet Circlet", "Open", "Titled", "Letter"}
        shown = " ".join(seen.values())
        assert not [secret for secret in (*SECRETS, "Drowned", "drowned", GM_PART) if secret in shown]
        assert "LETTERSECRET" in shown
        for secret in SECRETS:
            query = Query(TYPES, secret, mode="keyword")
            assert ((await view.search(query)).total, (await library.search(query)).total) == (0, 1), secret


def test_a_journal_of_a_world_that_does_not_say_who_may_read_it_is_warned_of(tmp_path):
    unsaid = journal(page("Bell", "<p>Rings.</p>", "page000000000001"), flags={"exportSource": {"world": "marsh"}})
    entities, report = imported(write(tmp_path / "pack", bell_json=unsaid))
    assert [entity.name for entity in entities] == ["Bell"]
    assert ["--audience dm" in warning.reason for warning in report.warnings] == [True]


# --- damage ----------------------------------------------------------------------------------------------------------


def mutated(text: str, chance: random.Random) -> str:
    """A text with pieces cut out, doubled, exchanged or replaced."""
    junk = [
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
        "@Embed[",
        "9" * 40,
    ]
    for _ in range(chance.randint(1, 8)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((1, 2, 5, 30, 400)))
        text = text[:start] + chance.choice(["", text[start:end] * 2, chance.choice(junk)]) + text[end:]
    return text


def test_mutated_files_neither_crash_nor_give_half_an_entry(tmp_path, seed):
    chance = random.Random(seed)
    samples = {
        "owl_json": marsh_owl(),
        "spark_json": spark(),
        "glare_json": document("Glare", "feat", GLARE["system"], "items!g"),
        **world(),
    }
    for number in range(60):
        name, sample = chance.choice(list(samples.items()))
        suffix = chance.choice(["_json", "_yml", "_db"])
        text = (
            mutated(json.dumps(sample, indent=2 if suffix == "_yml" else None), chance)
            .encode("utf-8", "replace")
            .decode()
        )
        entities, report = imported(write(tmp_path / f"pack{number}", **{name.rsplit("_", 1)[0] + suffix: text}))
        assert all(entity.name and markdown(entity) for entity in entities)
        assert entities or report.failed or report.skipped or report.warnings or not text.strip()


def test_a_file_is_read_from_its_own_path_as_well(tmp_path: Path):
    folder = write(tmp_path / "pack", spark_yml=json.dumps(spark()))
    assert [entity.name for entity in imported(folder / "spark.yml")[0]] == ["Wick Spark"]
