"""XML compendiums and bestiaries in YAML: what they give, and what is said of those that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.audiences import Audiences, ListedAudience
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.records.stat_blocks import read_stat_block

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


def read(path: Path, audience: ListedAudience | None = None) -> tuple[list[Entity], ImportReport]:
    report = ImportReport()
    reader = Reader([path], None, report, audiences=Audiences(audience))
    return [entry.entity for entry in reader.read()], report


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


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
