"""XML compendiums and bestiaries in YAML: what they give, and what is said of those that cannot be read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.audiences import Audiences, ListedAudience
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.notes.statblocks import read_stat_block
from lorekeeper.render.pages import markdown

XML = """<?xml version="1.0" encoding="UTF-8"?>
<compendium version="5" auto_indent="NO">
  <spell>
    <name>Reed Song</name><level>2</level><school>EN</school><ritual>YES</ritual>
    <time>1 action</time><range>60 feet</range><components>V, S, M (a reed worth 5 gp)</components>
    <duration>Concentration, up to 10 minutes</duration><classes>Bard, Druid (Marsh), School: Enchantment</classes>
    <text>Each creature of your choice must succeed on a Wisdom saving throw or be charmed.</text>
    <text></text>
    <text>Source: The Reed Book p. 12</text>
    <roll>2d6</roll>
  </spell>
  <monster>
    <name>Mire Heron</name><size>L</size><type>monstrosity, The Reed Book</type><alignment>unaligned</alignment>
    <ac>13 (natural armor)</ac><hp>33 (6d10)</hp><speed>30 ft., fly 60 ft.</speed>
    <str>14</str><dex>16</dex><con>10</con><int>3</int><wis>12</wis><cha>6</cha>
    <save>Dex +5</save><skill>Perception +3, Stealth +5</skill><immune>poison</immune>
    <senses>darkvision 60 ft.</senses><passive>13</passive><languages></languages><cr>1/2</cr>
    <trait><name>Still</name><text>It has advantage on Stealth checks in reeds.</text></trait>
    <action><name>Beak</name><text>Melee Weapon Attack: +5 to hit, reach 5 ft. Hit: 7 (1d8 + 3) piercing damage.</text>
      <attack>Beak|5|1d8+3</attack></action>
    <legendary><name>Cry</name><text>It cries.</text></legendary>
    <environment>swamp, coastal</environment>
  </monster>
  <item>
    <name>Boatman's Pike +1</name><type>M</type><magic>1</magic><detail>uncommon (requires attunement)</detail>
    <weight>18</weight><value>200</value><dmg1>1d10</dmg1><dmgType>P</dmgType><property>H,R,2H,M</property>
    <text>You have a +1 bonus to attack and damage rolls made with it.</text>
  </item>
  <item><name>Reed Coat</name><type>LA</type><ac>11</ac><stealth>YES</stealth><text>A coat.</text></item>
  <class><name>Fen Warden</name><hd>10</hd><proficiency>Wisdom, Strength, Nature</proficiency>
    <autolevel level="1"><feature><name>Mud Step</name><text>Mud does not slow you.</text></feature></autolevel></class>
  <race><name>Toadfolk</name><size>S</size><speed>25</speed><trait><name>Leap</name><text>You leap far.</text></trait></race>
  <background><name>Ferrier</name><trait><name>Boat</name><text>You own a boat.</text></trait></background>
  <feat><name>Punter</name><prerequisite>Strength 13</prerequisite><text>You pole fast.</text></feat>
  <encounter><name>On the water</name></encounter>
</compendium>
"""

YAML = """---
- name: Bog Lamp
  size: tiny
  type: elemental
  ac: 14
  hp: 9
  hit_dice: 2d4 + 4
  speed: 0 ft., fly 30 ft. (hover)
  stats: [1, 18, 14, 6, 12, 10]
  cr: 1/4
  damage_immunities: fire, poison
  traits:
    - name: Glow
      desc: It sheds dim light.
- name: Bog Lamp, Elder
  stats: [3, 18, 16, 8, 14, 12]
  cr: 3
  actions:
    - [Burn, "Melee Spell Attack: +6 to hit. Hit: 9 (2d8) fire damage."]
"""


BOMB = (
    "a: &a [" + "x, " * 9 + "]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in ("ab", "bc", "cd"))
)

MERGES = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n" for a, b in pairwise("abcdefghij")
)


def read(path: Path, audience: ListedAudience | None = None) -> tuple[list[Entity], ImportReport]:
    report = ImportReport()
    reader = Reader([path], None, report, audiences=Audiences(audience))
    return [entry.entity for entry in reader.read()], report


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


@pytest.fixture(scope="module")
def reed_book(tmp_path_factory) -> dict[str, Entity]:
    entities, report = read(written(tmp_path_factory.mktemp("xml") / "Reed Book.xml", XML))
    assert report.failed == []
    assert report.warnings == []
    assert report.skipped == {"Reed Book.xml: encounter": 1}
    return {entity.name: entity for entity in entities}


def test_every_kind_of_element_gives_its_entry(reed_book):
    assert {name: (e.type, e.kind, e.document) for name, e in reed_book.items()} == {
        "Reed Song": ("spells", "spell", "reed-book"),
        "Mire Heron": ("creatures", "creature", "reed-book"),
        "Boatman's Pike +1": ("equipment", "magic-item", "reed-book"),
        "Reed Coat": ("equipment", "armor", "reed-book"),
        "Fen Warden": ("character_options", "class", "reed-book"),
        "Toadfolk": ("character_options", "race", "reed-book"),
        "Ferrier": ("character_options", "background", "reed-book"),
        "Punter": ("character_options", "feat", "reed-book"),
    }


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "Reed Song",
            {
                "level": 2,
                "school": "enchantment",
                "ritual": True,
                "concentration": True,
                "casting_time": "action",
                "range": 60,
                "classes": ("bard",),
                "components": ("verbal", "somatic", "material"),
                "material_cost": 5,
                "duration": 10,
                "saves": ("wisdom",),
                "conditions": ("charmed",),
            },
        ),
        (
            "Mire Heron",
            {
                "challenge_rating": 0.5,
                "type": ("monstrosity",),
                "size": ("large",),
                "armor_class": 13,
                "hit_points": 33,
                "speed_fly": 60,
                "darkvision": 60,
                "passive_perception": 13,
                "immune": ("poison",),
                "damage_types": ("piercing",),
                "legendary": True,
            },
        ),
        (
            "Boatman's Pike +1",
            {
                "rarity": "uncommon",
                "requires_attunement": True,
                "bonus": 1,
                "cost": 200,
                "weight": 18,
                "damage": 5.5,
                "damage_type": "piercing",
                "properties": ("heavy", "reach", "two handed"),
            },
        ),
        ("Reed Coat", {"armor_class": 11, "category": ("light armor", "armor")}),
        ("Fen Warden", {"hit_die": "d10"}),
    ],
)
def test_what_an_element_says_is_filtered_by(reed_book, name, fields):
    found = reed_book[name].fields
    assert {key: found.get(key) for key in fields} == fields


def test_pages_of_a_compendium_are_whole(reed_book):
    heron = markdown(reed_book["Mire Heron"])
    for part in (
        "13 (natural armor)",
        "33 (6d10)",
        "16 (+3)",
        "Dex +5",
        "**Still.**",
        "## Actions",
        "**Beak.**",
    ):
        assert part in heron
    assert "Mud does not slow you" in markdown(reed_book["Fen Warden"])
    song = markdown(reed_book["Reed Song"])
    assert "2nd-level enchantment" in song
    assert "Source:" not in song
    assert "The Reed Book" in song


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<compendium><spell></compendium>", "not well-formed"),
        ("<campaign><pc/></campaign>", "Fight Club"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><compendium>&a;</compendium>', "DOCTYPE"),
        ("<compendium><spell><name></name></spell></compendium>", "name"),
        ("<compendium>\udcff</compendium>", "UTF-8"),
    ],
)
def test_what_is_no_compendium_is_said_with_the_reason(tmp_path, text, said):
    entities, report = read(written(tmp_path / "bad.xml", text))
    assert entities == []
    assert [said in failure.reason for failure in report.failed] == [True]


def test_a_bestiary_gives_its_creatures(tmp_path):
    entities, report = read(written(tmp_path / "bog.yaml", YAML))
    assert report.failed == []
    lamp, elder = entities
    assert (lamp.name, lamp.document, lamp.fields["challenge_rating"], lamp.fields["armor_class"]) == (
        "Bog Lamp",
        "bog",
        0.25,
        14,
    )
    assert lamp.fields["immune"] == ("fire", "poison")
    assert lamp.fields["hover"] is True
    assert elder.fields["damage_types"] == ("fire",)
    assert "**Glow.**" in markdown(lamp)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "YAML cannot be read"),
        ("a: 1", "stats"),
        ("!!python/object/apply:os.system ['true']", "YAML cannot be read"),
        (BOMB, "YAML cannot be read"),
        (MERGES, "merge keys"),
        ("a:\n" + "  <<: {x: 1}\n" * 200, "merge keys"),
        ("a: 1" + ":1" * 300_000, "digits"),
        ("- &a {name: x, l: [" + "1," * 3000 + "]}\n" + "- *a\n" * 300, "too many values"),
    ],
)
def test_what_is_no_bestiary_is_said_with_the_reason(tmp_path, text, said):
    entities, report = read(written(tmp_path / "bad.yml", text))
    assert entities == []
    assert [said in failure.reason for failure in report.failed] == [True]


SPELL = "<compendium><spell><name>Reed Song</name><level>1</level><text>{}</text></spell>{}</compendium>"


@pytest.mark.parametrize(
    "text",
    [
        SPELL.format("It charms herons.", " " * 1_000_000),
        SPELL.format("It charms herons.", f"<!--{'<?xml ' * 200_000}-->"),
        SPELL.format("It charms herons." + "\n" * 1_000_000 + "Source: ", ""),
        SPELL.format("It charms herons." + " Source:" * 100_000, ""),
    ],
)
def test_no_compendium_takes_long(tmp_path, text):
    """Each of these took minutes or more while its time was quadratic."""
    entities, report = read(written(tmp_path / "long.xml", text))
    assert report.failed == []
    assert "Reed Song" in [entity.name for entity in entities]


def test_merge_keys_and_numbers_of_base_60_are_read_within_bounds():
    values, _ = read_stat_block("base: &base {ac: 12, speed: 1:30}\nname: Heron\n<<: *base")
    assert (values["ac"], values["speed"]) == (12, 90)


@pytest.mark.parametrize("number", range(6))
def test_damaged_files_are_refused_or_read_never_half(tmp_path, seed, number):
    """What is cut, doubled or overwritten gives whole entries and reasons."""
    random = Random(f"{seed} {number}")
    for text, suffix in ((XML, ".xml"), (YAML, ".yaml")):
        place, length = random.randrange(len(text)), random.randrange(1, 60)
        damaged = random.choice(
            [text[:place], text[:place] + text[place + length :], text[:place] + "<&\0[{" + text[place:]]
        )
        entities, report = read(written(tmp_path / f"damaged{suffix}", damaged))
        assert entities or report.failed
        for entity in entities:
            assert markdown(entity).startswith("# ")


# --- collections, which are merged by name -----------------------------------------------------------------------------

LISTS = "<compendium>{}</compendium>"
WHISPER = (
    "<spell><name>Marsh Whisper</name><level>1</level><school>D</school><time>1 action</time><range>30 feet</range>"
    "<duration>1 minute</duration><classes>Druid</classes><text>Water tells you who crossed it.</text></spell>"
)
WHISPER_IS_FOR = "<spell><name>Marsh Whisper</name><classes>{}</classes></spell>"


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
def test_lists_of_classes_in_other_files_are_merged_into_their_spell(tmp_path, order):
    texts = (WHISPER, WHISPER_IS_FOR.format("Ranger"), WHISPER_IS_FOR.format("Bogwalker (Circle of Peat)"))
    for name, text in zip(order, texts, strict=True):
        written(tmp_path / f"{name}.xml", LISTS.format(text))
    entities, report = read(tmp_path)
    (whisper,) = entities
    classes = whisper.fields["classes"]
    assert isinstance(classes, tuple)
    assert set(classes) == {"bogwalker", "druid", "ranger"}
    assert (whisper.fields["level"], whisper.data["desc"]) == (1, "Water tells you who crossed it.")
    assert (sum(report.skipped.values()), report.failed) == (2, [])


def test_files_of_one_name_in_several_folders_are_documents_of_their_own_unless_they_are_alike(tmp_path):
    older = WHISPER.replace("Water tells", "Mud tells")
    for folder, text in (("Core/Peat", WHISPER), ("Core_Legacy/Peat", older), ("Copy/Peat", WHISPER)):
        (tmp_path / folder).mkdir(parents=True)
        written(tmp_path / folder / "spells-peat.xml", LISTS.format(text))
    entities, _ = read(tmp_path)
    found = {(each.document, each.data["desc"].split()[0]) for each in entities}
    assert found == {("spells-peat", "Water"), ("spells-peat-core-legacy", "Mud")}
    (alone,), _ = read(tmp_path / "Core_Legacy" / "Peat" / "spells-peat.xml")
    assert alone.document == "spells-peat"


def test_a_spell_of_a_subclass_is_not_on_the_list_of_its_class(tmp_path):
    listed = "Fighter (Eldritch Knight), Wizard, Artificer (Revisited) (UA), Psion (Marsh Press), School: Evocation"
    (spell,), _ = read(written(tmp_path / "a.xml", LISTS.format(WHISPER.replace("Druid", listed))))
    assert spell.fields["classes"] == ("wizard", "psion")
    assert spell.data["archetype"] == "Fighter (Eldritch Knight), Artificer (Revisited) (UA)"


@pytest.mark.parametrize(("lacking", "level"), [("", 1), ("<level>1</level>", 0), ("<time>1 action</time>", 1)])
def test_a_whole_spell_without_a_level_is_a_cantrip(tmp_path, lacking, level):
    (spell,), _ = read(written(tmp_path / "a.xml", LISTS.format(WHISPER.replace(lacking, ""))))
    assert spell.fields["level"] == level


def test_a_list_of_classes_never_replaces_a_spell_and_one_without_its_spell_is_counted(tmp_path):
    other = WHISPER_IS_FOR.format("Bard").replace("Marsh Whisper", "Song of Elsewhere")
    entities, report = read(written(tmp_path / "a.xml", LISTS.format(WHISPER + WHISPER_IS_FOR.format("Bard") + other)))
    assert [(each.name, each.fields["classes"]) for each in entities] == [("Marsh Whisper", ("druid", "bard"))]
    assert list(report.skipped.values()) == [1, 1]
    assert [key for key in report.skipped if "in none of the files" in key]


def test_the_edition_at_the_end_of_names_is_that_of_the_document(tmp_path):
    new = WHISPER.replace("Whisper<", "Whisper [5.5e]<").replace(
        "Druid", "Wizard [5.5e], Druid [5.5e] (Circle of Mud [5.5e])"
    )
    entities, _ = read(written(tmp_path / "Marsh.xml", LISTS.format(new)))
    book, spell = entities
    assert (book.type, book.slug, book.fields["game_system"]) == ("documents", "marsh", "5th edition 2024")
    assert (spell.name, spell.slug, spell.document, spell.fields["classes"]) == (
        *("Marsh Whisper", "marsh-whisper", "marsh"),
        ("wizard",),
    )
    assert spell.data["archetype"] == "Druid (Circle of Mud)"
    both, _ = read(written(tmp_path / "Marsh.xml", LISTS.format(new + WHISPER)))
    assert [(e.document, e.slug) for e in both if e.type == "spells"] == [
        ("marsh-2024", "marsh-whisper"),
        ("marsh", "marsh-whisper"),
    ]
    legacy, _ = read(written(tmp_path / "Old.xml", LISTS.format(WHISPER.replace("Whisper<", "Whisper (Legacy)<"))))
    assert [(e.name, e.fields.get("game_system")) for e in legacy] == [
        ("Old", "5th edition 2014"),
        ("Marsh Whisper", None),
    ]


SUBCLASS = """<class><name>Fighter [5.5e]</name>
<autolevel level="3"><feature optional="YES"><name>{opening}: Silt Knight (Old)</name><text>You swear to the silt.

Source: Marsh Almanac p. 3</text></feature>
<feature optional="YES"><name>Level 3: Silt Stance (Silt Knight (Old))</name><text>Nothing moves you.</text></feature></autolevel>
<autolevel level="7"><feature optional="YES"><name>Silt Wall (Silt Knight (Old))</name><text>You raise silt.</text></feature>
<feature optional="YES"><name>Fighting Style: Oars</name><text>You fight with oars.</text></feature></autolevel></class>"""


@pytest.mark.parametrize("opening", ["Martial Archetype", "Fighter Subclass", "Silt Discipline"])
def test_a_class_without_hit_dice_is_its_subclass_and_features_of_its_own(tmp_path, opening):
    entities, _ = read(written(tmp_path / "a.xml", LISTS.format(SUBCLASS.format(opening=opening))))
    (subclass,) = [each for each in entities if each.kind == "subclass"]
    assert (subclass.name, subclass.fields["parent"]) == ("Silt Knight (Old)", "fighter")
    page = markdown(subclass)
    assert "Silt Stance" in page
    assert "You raise silt." in page
    assert "Source:" not in page
    assert "(Silt Knight (Old))" not in page
    (style,) = [each for each in entities if each.kind == "class-feature"]
    assert (style.name, style.fields["parent"], style.data["level"]) == ("Fighting Style: Oars", "fighter", 7)
    assert not [each for each in entities if each.kind == "class"]


def test_what_a_character_chooses_like_a_spell_is_no_cantrip(tmp_path):
    chosen = "<spell><name>Invocation: Mud Sight</name><level>0</level><classes>Invocations</classes><text>You see in mud.</text>"
    entities, _ = read(written(tmp_path / "a.xml", LISTS.format(chosen + "</spell>" + WHISPER)))
    assert [(each.kind, each.name) for each in entities] == [
        ("optional-feature", "Invocation: Mud Sight"),
        ("spell", "Marsh Whisper"),
    ]


def test_slots_counters_initiative_and_lines_of_options_are_read(tmp_path):
    text = """<class><name>Marshal</name><hd>8</hd><proficiency>Wisdom, Strength, Nature, Survival</proficiency>
    <numSkills>1</numSkills><autolevel level="1"><slots>2,2</slots></autolevel><autolevel level="3"><slots>3,4,2</slots></autolevel>
    <autolevel level="1"><counter><name>Wade</name><value>2</value><reset>S</reset></counter></autolevel></class>
    <race><name>Mudling</name><resist>poison</resist><languages>Aquan</languages><spells>marsh whisper</spells></race>
    <monster><name>Silt Duke</name><hp>9</hp><ac>12</ac><init>5</init><dex>10</dex></monster>"""
    entities, _ = read(written(tmp_path / "a.xml", LISTS.format(text)))
    pages = {each.name: markdown(each) for each in entities}
    assert "| 3 | 3 | 4 | 2 |" in pages["Marshal"]
    assert "Wade (short rest)" in pages["Marshal"]
    assert "Choose 1 from Nature, Survival" in pages["Marshal"]
    for part in ("poison", "Aquan", "marsh whisper"):
        assert part in pages["Mudling"]
    assert "+5" in pages["Silt Duke"]


def test_files_that_only_name_other_files_are_skipped_and_campaigns_say_what_to_export(tmp_path):
    _, report = read(written(tmp_path / "all.xml", "<collection><doc href='a.xml'/></collection>"))
    assert (report.failed, sum(report.skipped.values())) == ([], 1)
    _, report = read(written(tmp_path / "c.xml", "<data><campaign><npc/></campaign></data>"))
    assert [("campaign of Game Master 5" in f.reason, "vault add" in f.reason) for f in report.failed] == [(True, True)]


# --- entries that say nothing ------------------------------------------------------------------------------------------

STUBS = {
    "fight-club.xml": "<compendium><feat><name>Reed Net</name></feat></compendium>",
    "pack.orcbrew": '{:orcpub.dnd.e5/spells {:reed-net {:name "Reed Net" :key :reed-net :option-pack "Marsh"}}}',
    "homebrew.json": '{"_meta": {"sources": [{"json": "M", "full": "Marsh"}]}, "item": [{"name": "Reed Net", "source": "M"}]}',
}


@pytest.mark.parametrize("audience", [None, "dm"])
@pytest.mark.parametrize("name", STUBS)
def test_an_entry_with_nothing_but_a_name_is_counted_and_not_stored(tmp_path, name, audience):
    entities, report = read(written(tmp_path / name, STUBS[name]), audience)
    assert [each.name for each in entities if each.type != "documents"] == []
    assert sum(report.skipped.values()) == 1
    assert [key for key in report.skipped if "nothing but a name" in key]


def test_an_entry_of_our_own_json_may_have_nothing_but_a_name(tmp_path):
    entities, report = read(
        written(tmp_path / "own.json", '{"collection": "equipment", "kind": "gear", "name": "Reed Net"}')
    )
    assert ([each.name for each in entities], report.skipped) == (["Reed Net"], {})


def test_automation_of_other_programs_never_replaces_a_class(tmp_path):
    meta = '{"_meta": {"sources": [{"json": "M", "full": "Marsh"}]}, '
    whole = '"class": [{"name": "Marshal", "source": "M", "hd": {"number": 1, "faces": 8}, "classFeatures": []}]}'
    stub = '"class": [{"name": "Marshal", "source": "M", "advancement": [], "entries": ["Automated."]}]}'
    for first, last in (("class-m.json", "foundry.json"), ("a.json", "foundry-class.json")):
        folder = tmp_path / first
        folder.mkdir()
        written(folder / first, meta + whole)
        written(folder / last, meta + stub)
        entities, report = read(folder)
        assert [(e.name, e.fields["hit_die"]) for e in entities if e.kind == "class"] == [("Marshal", "d8")]
        assert [key for key in report.skipped if key.startswith(last)]


def test_subclasses_that_are_opened_by_their_word_have_the_features_that_begin_with_their_names(tmp_path):
    def feature(name: str) -> str:
        return f'<feature optional="YES"><name>{name}</name><text>It is {name}.</text></feature>'

    names = (
        "Bard College: College of Reeds",
        "College of Reeds: Reed Pipe",
        "Wind Song (College of Reeds)",
        "Reed Pipe: Heron",
        "Squawk (Heron)",
        "Fighting Style: Archery",
    )
    features = "".join(map(feature, names))
    path = tmp_path / "bards.xml"
    text = f"<class><name>Bard</name><hd>8</hd><autolevel level='3'>{features}</autolevel></class>"
    path.write_text(f"<compendium>{text}</compendium>", "utf-8")
    found, report = read(path)
    told = {each.name: [feature["name"] for feature in each.data["features"]] for each in found}
    assert told == {
        "Bard": ["Reed Pipe: Heron (level 3)", "Squawk (Heron) (level 3)", "Fighting Style: Archery (level 3)"],
        "College of Reeds": ["College of Reeds (level 3)", "Reed Pipe (level 3)", "Wind Song (level 3)"],
    }
    assert (report.failed, report.warnings, report.not_taken) == ([], [], [])
