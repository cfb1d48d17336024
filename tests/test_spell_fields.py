"""What a spell's wording says: saving throws, conditions, damage, healing, areas, components, durations and classes."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from lorekeeper.normalize import normalize, spells
from lorekeeper.records import Area, Damage, Distance, Duration, Effects, Material, Source, Spell, effects, spell
from lorekeeper.records.grammar import plain, prices
from lorekeeper.search.query import Query
from lorekeeper.text.facts import facts
from tests.support.libraries import open_library
from tests.support.samples import write_lines

DOC = {"key": "tide-atlas", "name": "The Tide Atlas"}


def told(text: str, name: str = "") -> Effects:
    return effects(plain(text), name)


def fields(desc: str, **values: object) -> dict[str, object]:
    spell = {
        "key": "ta_tide",
        "name": "Tide",
        "document": DOC,
        "desc": desc,
        "level": 1,
        "school": "evocation",
        **values,
    }
    return dict(normalize({"casting_time": "action", **spell})[0].fields)


@pytest.mark.parametrize(
    ("text", "abilities"),
    [
        ("Every swimmer must make a Dexterity saving throw.", ["dexterity"]),
        ("Each sailor near you must succeed on a Strength or Dexterity saving throw.", ["strength", "dexterity"]),
        ("It repeats the Wisdom saving throw at dawn, and a DC 12 Charisma save later.", ["wisdom", "charisma"]),
        ("The rower must succeed on a CON save.", ["constitution"]),
        ("Foam blinds each rower (DC 14 Dex negates).", ["dexterity"]),
        (
            "Each creature in the boat must make a DC 13 Intelligence, Wisdom, or Charisma saving throw.",
            ["intelligence", "wisdom", "charisma"],
        ),
        (
            "If the gull is subjected to an effect that allows it to make a Dexterity saving throw, it takes no damage.",
            [],
        ),
        ("The caster must make a Constitution saving throw.", []),
        ("The gull has advantage on Dexterity saving throws.", []),
        ("It adds 2 to every Constitution saving throw it makes.", []),
        ("When the tide turns, you must make a Wisdom saving throw.", []),
        ("Whoever can hear you must make a Wisdom saving throw.", ["wisdom"]),
    ],
)
def test_saving_throws_are_those_that_others_have_to_make(text, abilities):
    assert list(told(text).saves) == abilities


def test_a_structured_saving_throw_that_the_text_only_mentions_is_left_out():
    assert "saves" not in fields("It has advantage on Dexterity saving throws.", saving_throw_ability="dexterity")
    assert fields("The wave hits everybody.", saving_throw_ability="Dexterity")["saves"] == ("dexterity",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("On a failed save the diver is blinded and deafened for a minute.", ["blinded", "deafened"]),
        ("A crab that fails has the Frightened condition.", ["frightened"]),
        ("It takes 2d6 cold damage and is knocked prone.", ["prone"]),
        ("It must succeed on a Wisdom saving throw or be charmed by you.", ["charmed"]),
        ("The rower gains two levels of exhaustion.", ["exhaustion"]),
        ("| 1 | Stunned |\n| 2 | Paralyzed |", ["paralyzed", "stunned"]),
        ("It shivers with cold, rendering it incapacitated.", ["incapacitated"]),
        ("- 40 hp or less: deafened and blinded for 10 minutes", ["blinded", "deafened"]),
        ("It is no longer grappled but is restrained.", ["restrained"]),
        ("The seal can't be charmed or frightened.", []),
        ("It has advantage on saving throws against being charmed, stunned, and knocked unconscious.", []),
        ("It has advantage on saving throws made against effects that would knock it prone.", []),
        ("It is immune to the poisoned condition.", []),
        ("You end the stunned condition on one ally.", []),
        ("A diver who is blinded sees nothing.", []),
        ("While it is restrained, its speed is 0.", []),
        ("The spell ends if you are incapacitated.", []),
        ("You are blinded for a round.", []),
        ("On a failed save, you take 2d6 psychic damage and are stunned.", []),
        ("It is cured of diseases, and of any effect causing it to be deafened.", []),
    ],
)
def test_conditions_are_those_that_somebody_gets(text, names):
    assert list(told(text).conditions) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A sailor trapped in the red tide is blinded and restrained.", ["blinded", "restrained"]),
        (
            "Each sailor near the tide when it takes damage must succeed on a DC 12 CON save or be blinded.",
            ["blinded"],
        ),
        ("When the red tide is reduced to 0 hit points, falls unconscious, or dies, it drains away.", []),
        ("Whenever the tide takes lightning damage, it must succeed on a DC 15 CON save or be incapacitated.", []),
        ("If the target is a sailor, it makes a DC 11 Strength saving throw, falling prone on a failure.", ["prone"]),
    ],
)
def test_what_happens_to_the_creature_itself_is_no_effect(text, names):
    assert list(told(text, "Red Tide").conditions) == names


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("It takes 3d6 cold damage.", ["cold"]),
        ("It takes 2d8 + your spellcasting modifier fire, cold, or acid damage.", ["acid", "cold", "fire"]),
        ("Your weapon deals an extra 1d4 radiant damage.", ["radiant"]),
        ("Choose acid, fire, or thunder for the colour of the wave.", ["acid", "fire", "thunder"]),
        ("The wave strikes, dealing cold damage.", ["cold"]),
        ("The damage is either acid or cold.", ["acid", "cold"]),
        ("It has resistance to cold damage.", []),
        ("Nothing within can be hurt: it is immune to thunder damage.", []),
        ("If the shell breaks, you take 6d6 bludgeoning damage.", []),
        ("When it takes fire damage, the spell ends.", []),
    ],
)
def test_damage_is_what_is_dealt_to_others(text, types):
    assert sorted(told(text).damage_types) == types


def test_damage_has_its_dice_and_a_choice_of_types_is_one():
    text = "_Hit:_ 10 (2d6 + 3) bludgeoning or piercing damage plus 4 (1d8) cold damage. It takes fire damage equal to that."
    assert told(text).damage == (Damage("2d6 + 3", "bludgeoning/piercing"), Damage("1d8", "cold"), Damage("", "fire"))
    assert told(text).damage_types == ("bludgeoning", "piercing", "cold", "fire")


def test_the_text_decides_about_structured_damage():
    assert "damage_types" not in fields("It is immune to thunder damage.", damage_types=["thunder"])
    assert fields("The wave takes its toll.", damage_types=["cold"])["damage_types"] == ("cold",)
    assert fields("It takes 1d8 fire damage.", damage_types=[])["damage_types"] == ("fire",)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Make a ranged spell attack against the gull.", "ranged"),
        ("As an action, make a Melee Spell Attack.", "melee"),
        ("It blocks the next ranged spell attack against you.", None),
    ],
)
def test_the_spell_attack_is_one_that_is_made(text, kind):
    assert told(text).attack == (kind or "")


@pytest.mark.parametrize(
    ("text", "heals"),
    [
        ("One ally regains 2d8 hit points.", True),
        ("The tide restores 10 hit points to each of you.", True),
        ("It gains 5 temporary hit points.", False),
        ("It can't regain hit points until dawn.", False),
        ("Its hit point maximum falls.", False),
    ],
)
def test_healing_restores_hit_points(text, heals):
    assert fields(text)["heals"] is heals


@pytest.mark.parametrize(
    ("text", "summons"),
    [
        ("You summon a heron spirit that obeys you.", True),
        ("Two mud elementals appear in unoccupied spaces that you can see.", True),
        ("The corpse becomes a zombie under your control.", True),
        ("You gain the service of a familiar.", True),
        ("You create the image of a creature.", False),
        ("You summon the power of the tide.", False),
        ("A summoned creature takes 2d6 cold damage.", False),
        ("The creature teleports and appears in the nearest unoccupied space.", False),
    ],
)
def test_what_brings_creatures_summons(text, summons):
    assert fields(text)["summons"] is summons


def test_dice_behind_equal_to_are_those_of_the_damage():
    assert told("The target takes cold damage equal to 2d6 + your level.").damage == (Damage("2d6", "cold"),)


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("A 20-foot-radius sphere of foam appears.", ("sphere", 20.0)),
        ("Each fish in a 60-foot cone swims off.", ("cone", 60.0)),
        ("It fills a 10-foot-radius, 40-foot-high cylinder.", ("cylinder", 10.0)),
        ("A line of spray 100 feet long and 5 feet wide.", ("line", 100.0)),
        ("A 5-foot-diameter sphere rolls.", ("sphere", 2.5)),
        ("The lantern sheds bright light in a 20-foot radius.", None),
        ("It moves a stone no larger than a 5-foot cube.", None),
    ],
)
def test_areas_have_a_shape_and_a_size(text, area):
    assert next(iter(told(text).areas), None) == (Area(*area) if area else None)


def test_the_area_is_the_one_of_the_range_or_of_the_structured_shape():
    foam = fields("A 10-foot cube of foam.", range_text="Self (15-foot cone)", range=0)
    assert (foam["area"], foam["area_size"]) == ("cone", 15.0)
    spray = fields("A line of spray 100 feet long and 5 feet wide.", shape_type="line", shape_size=5)
    assert (spray["area"], spray["area_size"]) == ("line", 100.0)
    wave = fields("It rolls.", shape_type="cube", shape_size=15)
    assert (wave["area"], wave["area_size"]) == ("cube", 15.0)


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ("instantaneous", 0), ("1 round", 0.1), ("6 rounds", 0.6), ("1 minute", 1), ("Up to 10 minutes", 10), ("8 hours", 480),
        ("Concentration, up to 1 hour", 60), ("10 days", 14_400), ("1 year", 525_600), ("1 hour or until triggered", 60),
        ("until dispelled", 1e9), ("Permanent until discharged", 1e9),
        ("special", None), ("1d4+2 rounds", None), ("1 minute or 1 hour", None),
        ("1 hour/caster level", None), ("2-12 hours", None), ("", None), (None, None), (90, 90),
    ],
)  # fmt: skip
def test_durations_are_minutes(words, minutes):
    assert spells.minutes(words) == minutes


async def test_what_does_not_end_lasts_longer_than_any_number(tmp_path):
    lasting = {"Ember": "until dispelled", "Mire": "permanent", "Reed": "8 hours", "Silt": "special", "Clay": "30 days"}
    spells = [{"collection": "spells", "name": name, "level": 1, "duration": words} for name, words in lasting.items()]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "spells.jsonl", spells)])
        page = await library.search(Query(["spells"], filters={"where": "duration>=1440"}, order="duration desc"))
        assert [result.entity.name for result in page.results] == ["Ember", "Mire", "Clay"]
        assert "without end" in page.results[0].facts + page.results[0].snippet
        below = await library.search(Query(["spells"], filters={"where": "duration<1440"}))
        assert [result.entity.name for result in below.results] == ["Reed"]


@pytest.mark.parametrize(
    ("material", "stated", "cost", "consumed"),
    [
        ("a pearl worth at least 1,000 gp, which the spell consumes", False, 1000.0, True),
        ("a silver bell worth 250+ GP", True, 250.0, False),
        ("two shells worth 50 gp each and a net worth 5gp", False, 50.0, False),
        ("a chest worth 500 gp, which is not consumed", True, 500.0, False),
        ("a gull's feather", False, None, False),
    ],
)
def test_material_components_have_a_price_and_may_be_consumed(material, stated, cost, consumed):
    spell = fields("Splash.", verbal=True, material=True, material_specified=material, material_consumed=stated)
    assert spell["components"] == ("verbal", "material")
    assert (spell.get("material_cost"), spell["material_consumed"]) == (cost, consumed)


@pytest.mark.parametrize(
    ("words", "folded"),
    [
        ("1 reaction, which you take when you fall", "reaction"), ("bonus-action", "bonus action"), ("1minute", "1 minute"),
        ("1 action or 8 hours", "action"), ("10 minutes plus 1 hour of attunement", "10 minutes"), ("1 Action", "action"),
    ],
)  # fmt: skip
def test_casting_times_have_one_form(words, folded):
    assert fields("Splash.", casting_time=words)["casting_time"] == folded


def test_spells_of_subclasses_are_not_on_the_list_of_the_class():
    listed = {
        "key": "srd_identify",
        "document": {"key": "srd-2014"},
        "classes": [{"key": "srd_cleric"}, {"key": "srd_bard"}],
    }
    assert fields("You know.", **listed)["classes"] == ("bard", "wizard")


def test_a_list_that_is_missing_is_looked_up_and_others_stay():
    a5e = {"key": "a5e-ag_acid-arrow", "document": {"key": "a5e-ag"}}
    assert fields("It burns.", **a5e, classes=[])["classes"] == ("sorcerer", "wizard")
    assert fields("It burns.", **a5e, classes=[{"key": "a5e_druid"}])["classes"] == ("druid",)
    assert "classes" not in fields("It burns.", classes=[])


def test_the_first_version_of_the_api_lists_classes_as_words():
    spell = {
        "slug": "tide",
        "name": "Tide",
        "desc": "Splash.",
        "school": "Evocation",
        "level_int": 1,
        "document__slug": "ta",
    }
    listed = {"dnd_class": "Ritual Caster, Sorceror, Wizard", "spell_lists": ["wizard"], "components": "V, M"}
    (entity,) = normalize(spell | listed)
    assert entity.fields["classes"] == ("sorcerer", "wizard")
    assert entity.fields["components"] == ("verbal", "material")


def test_homebrew_may_state_a_duration_in_words_and_is_never_told_no():
    spell = {"collection": "spells", "name": "Foam", "description": "It takes 1d6 cold damage.", "duration": "8 hours"}
    (entity,) = normalize({**spell, "components": ["V", "S"]})
    assert dict(entity.fields) == {"duration": 480.0, "damage_types": ("cold",), "components": ("verbal", "somatic")}
    assert normalize({**spell, "damage_types": ["fire"]})[0].fields["damage_types"] == ("fire",)
    assert "duration" not in normalize({**spell, "duration": "as long as it rains"})[0].fields


@pytest.mark.parametrize(
    "text",
    [
        "is or " * 20_000,
        "1d6 " * 30_000,
        "a [b](" * 20_000,
        "choose acid, " * 12_000,
        "10-foot-" * 15_000,
        "* " * 60_000,
    ],
)
def test_hostile_texts_take_linear_time(text):
    began = time.thread_time()
    spells.fields(Spell(text=text, material=Material(text), duration=Duration(text), range=Distance(text)))
    assert time.thread_time() - began < 5


_GULL_STEP = Spell(
    level=2,
    school="conjuration",
    classes=("Wizard", "Druid"),
    ritual=True,
    casting_time="1 action",
    range=Distance("Self (15-foot cone)", 0),
    components=("V", "M"),
    material=Material("a gull's feather worth 5 gp"),
    duration=Duration("Concentration, up to 1 minute", True),
    text="You fly.",
    higher_levels="You fly farther.",
)

_SAID = {
    "casting_time": "1 action",
    "duration": "Concentration, up to 1 minute",
    "desc": "You fly.",
    "higher_level": "You fly farther.",
}


@pytest.mark.parametrize(
    "written",
    [
        {
            **_SAID,
            "level": 2,
            "school": {"name": "Conjuration", "key": "conjuration"},
            "classes": [{"name": "Wizard", "key": "srd_wizard"}, {"name": "Druid", "key": "srd_druid"}],
            "ritual": True,
            "range": 0,
            "range_text": "Self (15-foot cone)",
            "verbal": True,
            "somatic": False,
            "material": True,
            "material_specified": "a gull's feather worth 5 gp",
            "concentration": False,
        },
        {
            **_SAID,
            "level": "2nd-level",
            "level_int": 2,
            "school": "Conjuration",
            "dnd_class": "Ritual Caster, Wizard, Druid",
            "spell_lists": ["druid"],
            "ritual": "yes",
            "range": "Self (15-foot cone)",
            "components": "V, M",
            "material": "a gull's feather worth 5 gp",
            "concentration": "yes",
        },
        {
            "level": 2,
            "school": "conjuration",
            "spell-lists": {"Wizard": True, "Druid": True, "Bard": False},
            "ritual": True,
            "casting-time": "1 action",
            "range": "Self (15-foot cone)",
            "components": {"verbal": True, "material": True, "material-component": "a gull's feather worth 5 gp"},
            "duration": "Concentration, up to 1 minute",
            "description": "You fly.",
            "higher-levels": "You fly farther.",
        },
    ],
    ids=["api-v2", "api-v1", "orcbrew"],
)
def test_a_spell_is_one_record_whatever_its_source_calls_things(written):
    record = spell(Source(written))
    assert replace(record, range=replace(record.range, number=None)) == _GULL_STEP
    assert spells.read(written) == spells.fields(_GULL_STEP)


def test_a_range_in_words_is_a_fact_in_every_shape():
    for shape in ({"range": "Touch"}, {"range": 0, "range_text": "Touch"}):
        (entity,) = normalize({"slug": "tide", "name": "Tide", "school": "evocation", "level_int": 1, **shape})
        assert " · touch" in facts(entity)


def test_a_ley_line_is_no_area():
    text = "You create a 20-foot cube that keeps ley lines out."
    found = fields(text, shape_type="line", shape_size=20)
    assert (found["area"], found["area_size"]) == ("cube", 20)


def test_what_others_receive_is_not_healing():
    assert (
        fields("It can't regain hit points. It can receive magical healing or regain hit points otherwise.")["heals"]
        is False
    )


def test_prices_in_silver_and_copper_are_parts_of_gold():
    assert prices("worth 1,000 gp, 5 sp, 1 copper piece, 20 feet") == [1000, 0.5, 0.01]
