"""What Open5e gets wrong is printed nowhere: page, facts, object and filters agree on the repaired value."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.cache.formats import declared, upgraded
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.maintenance.repair import data_repairs
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.play.differences import differences
from lorekeeper.render.lean import lean
from lorekeeper.render.pages import markdown
from lorekeeper.repairs.entries import EntryRepair, entry_repairs
from lorekeeper.server.answers import entity_answer
from lorekeeper.settings import load_settings
from lorekeeper.text.evidence import evidence
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.facts import facts
from lorekeeper.text.passages import passages
from tests.support.commands import variables
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.samples import write_lines
from tests.support.tools import call

OF_2024 = {"key": "srd-2024", "name": "Rules of 2024", "gamesystem": {"key": "5e-2024"}}

BASE: dict[str, Any] = {
    "key": "x_gloom-hart",
    "name": "Gloom Hart",
    "type": {"name": "Fey", "key": "fey"},
    "size": {"name": "Large", "key": "large"},
    "challenge_rating": 3.0,
    "hit_points": 40,
    "armor_class": 13,
    "speed": {"walk": 40, "unit": "feet"},
    "actions": [{"name": "Horn", "desc": "The hart gores.", "action_type": "ACTION"}],
    "traits": [],
}


def creature(document: str | dict[str, Any] = "tide-atlas", **values: Any) -> Entity:
    """A creature as Open5e sends it."""
    source = document if isinstance(document, dict) else {"key": document, "name": document}
    (made,) = normalize({**BASE, "document": source, **values})
    return made


def action(text: str, **values: Any) -> dict[str, Any]:
    return {"name": "Horn", "desc": text, "action_type": "ACTION", **values}


def everywhere(entity: Entity) -> str:
    """All that is shown of an entry."""
    return f"{markdown(entity)}\n{facts(entity)}\n{lean(entity)}\n{evidence(entity, '').text}"


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_comparison_does_not_compare_invented_alignments():
    compared = differences([creature("bfrd", alignment="chaotic evil"), creature("srd-2014", alignment="unaligned")])
    assert "chaotic" not in repr(compared.facts)


def test_a_list_of_every_environment_is_printed_nowhere():
    places = [{"name": f"Place {n}", "key": f"place-{n}"} for n in range(31)]
    assert "Place" not in everywhere(creature("tob", environments=places))
    assert "Place 3" in markdown(creature("tob", environments=places[:4]))


# --- spells ----------------------------------------------------------------------------------------------------------


# --- texts -----------------------------------------------------------------------------------------------------------


def test_repairs_do_not_change_what_is_embedded():
    made = creature(OF_2024, actions=[action("Melee Attack Roll: +1, reach 5 ft. 3 (1d6) Cold damage. HitomIt flees.")])
    assert "HitomIt" in " ".join(passage.embedded for passage in passages(made))


# --- libraries -------------------------------------------------------------------------------------------------------


def test_stored_values_are_renewed_when_a_library_is_opened():
    made = creature(blindsight_range=3010, passive_perception=13)
    stored = replace(made, fields={**made.fields, "blindsight": 3010.0})
    earlier = declared(COLLECTIONS["creatures"]).replace("blindsight:decimal:fold:3", "blindsight:decimal:fold:1")
    assert upgraded(stored, earlier, derive_fields).fields["blindsight"] == 30


def test_keys_of_other_entries_are_names_in_snippets():
    assert (
        snippet("See srd:unseen-attackers-and-targets, and (srd:web).")
        == "See unseen attackers and targets, and (web)."
    )


@pytest.mark.asyncio
async def test_an_entry_without_text_names_one_of_its_name_that_has_it(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        bare, other, told = (
            make("mirk", text, name="Mirk", document=document)
            for document, text in (("new", ""), ("middle", ""), ("old", "Darkness falls."))
        )
        await library.cache.store_entities([bare, other, told], "spells")
        answer = await entity_answer(library.view(), bare)
        assert answer.structured["note"] == "The source has no text for this entry. old has one: lore://spells/old/mirk"
        assert "note" not in (await entity_answer(library.view(), told)).structured
        none = {"name": "Wilds", "desc": "[None provided]"}
        await library.cache.store_entities(
            [make("wilds", "[None provided]", type="rules", kind="environment", name="Wilds", data=none)], "rules"
        )
        found = (await call(library, "search_lore", query="Wilds")).text
        assert "*The source has no text for this entry.*" in found


# --- single entries --------------------------------------------------------------------------------------------------


async def test_a_second_entry_of_a_creature_with_half_of_its_values_gives_way_to_the_whole_one(tmp_path):
    srd = {"key": "srd-2014", "name": "SRD 5.1"}
    whole = {**BASE, "key": "srd_drow", "name": "Drow", "hit_dice": "3d8", "challenge_rating": 0.25, "document": srd}
    stub = {
        **whole,
        "key": "srd_elf-drow",
        "name": "Elf, Drow",
        "hit_dice": None,
        "speed": {"walk": 0},
        "challenge_rating": 0.0,
    }
    for order in ([whole, stub], [stub, whole]):
        async with open_library(tmp_path / order[0]["key"], backend="sqlite") as library:
            report = await library.import_paths([write_lines(tmp_path / "creatures.jsonl", order)])
            (stored,) = await library.cache.get_entities("creatures")
            assert (stored.name, stored.fields["challenge_rating"], report.warnings) == ("Drow", 0.25, [])
    (alone,) = normalize(stub)
    assert alone.fields.get("challenge_rating") is None
    assert "Challenge" not in markdown(alone)


def test_the_copy_of_an_object_has_the_repaired_values():
    small = creature(OF_2024, size={"name": "Small", "key": "small"}, hit_dice="6d8 + 6", alignment="neutral")
    assert lean(small)["size"] == "Medium or Small"
    assert "chaotic" not in json.dumps(lean(creature("bfrd", alignment="chaotic evil")))
    far = creature(blindsight_range=3010, passive_perception=13)
    assert "3010" not in json.dumps(lean(far))
    base: dict[str, Any] = {"key": "x_bell", "name": "Bell", "document": {"key": "x"}, "desc": "It tolls for 100 feet."}
    item = {
        **base,
        "desc": "While attuned to this crown you hear.",
        "rarity": {"key": "rare"},
        "requires_attunement": False,
    }
    line = {"level": 3, "school": {"name": "Evocation", "key": "evocation"}, "shape_type": "line", "shape_size": 5}
    bell = {
        "material": True,
        "material_specified": "a bell worth 9 gp, used up in the casting",
        "material_consumed": False,
    }
    spell = {**base, **line, **bell, "casting_time": "action", "desc": "A line of sound 100 feet long and 5 feet wide."}
    (crown,), (lance,) = normalize(item), normalize(spell)
    assert lean(crown)["requires_attunement"] is True
    assert (lean(lance)["shape_size"], lean(lance)["material_consumed"]) == (100, True)


def test_every_repair_of_the_table_has_a_reason_and_a_path():
    assert len(entry_repairs()) > 100
    for repairs in entry_repairs().values():
        assert all(repair.reason and repair.path for repair in repairs)


async def test_repair_data_lists_what_is_repaired(tmp_path):
    resistances = {"damage_resistances_display": "cold"}
    made = [
        creature("bfrd", alignment="chaotic evil"),
        creature(OF_2024, key="srd-2024_chain-devil", name="Chain Devil", resistances_and_immunities=resistances),
    ]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(made, "creatures")
    settings, _ = load_settings(variables(tmp_path, "sqlite"), tmp_path / "no-env-file")
    report = await data_repairs(settings)
    assert report.entries == 2
    assert report.repairs["an invented alignment, or the rest of a type line"] == {made[0].uri: "alignment"}
    (reason,) = (reason for reason in report.repairs if reason.startswith("resistances left out"))
    assert made[1].uri in report.repairs[reason]


def test_a_part_of_a_text_can_be_replaced():
    repair = EntryRepair("x", "actions/Horn/desc~", {r" Roar \(.*": "", "gores": "charges"}, "the next action")
    data = {"actions": [action("The hart gores. Roar (1/Day). It roars."), action("It rests.", name="Rest")]}
    once = repair.applied(data)
    assert [each["desc"] for each in once["actions"]] == ["The hart charges.", "It rests."]
    assert repair.applied(once) is once
