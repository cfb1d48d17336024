"""What a creature is, resists, perceives, speaks and does, from the shapes and wordings of the sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.filters import clean_fields, matches, parse_filters
from lorekeeper.normalize import creatures, normalize
from lorekeeper.records import Creature, Feature, Source, Speed, creature
from lorekeeper.records.parts import Bonuses, Figure, Senses
from tests.support.entities import make


def fields(**values: Any) -> dict[str, Any]:
    """The filter fields of a creature of Open5e's API v2 that has these values."""
    base = {
        "key": "ta_gloom-hart",
        "name": "Gloom Hart",
        "document": {"key": "tide-atlas"},
        "challenge_rating": 3.0,
        "hit_points": 40,
    }
    (entity,) = normalize({**base, **values})
    return dict(entity.fields)


def does(text: str, name: str = "Horn", **values: Any) -> dict[str, Any]:
    """The fields of a gloom hart with one action."""
    return fields(actions=[{"name": name, "desc": text, "action_type": "ACTION"}], **values)


def found(filters: dict[str, Any], **values: Any) -> bool:
    return matches(make("x", type="creatures", **values), parse_filters("creatures", filters))


# --- alignment, size, type, environment ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alignment", "finds", "misses"),
    [
        ("chaotic evil", ["Chaotic-Evil", "evil", "chaotic", "CE"], ["lawful evil", "good", "neutral"]),
        ("neutral evil", ["evil", "NE"], ["neutral", "chaotic evil"]),
        ("neutral", ["true neutral", "N", "Neutral"], ["neutral evil"]),
        ("lawful neutral or evil", ["lawful neutral", "evil", "lawful"], ["good", "neutral"]),
        ("neutral good (50%) or neutral evil (50%)", ["neutral good", "neutral evil", "good", "evil"], ["neutral"]),
        ("chaotic good or neutral", ["chaotic good", "neutral"], ["evil"]),
        ("any evil", ["any evil alignment", "evil"], ["chaotic evil", "any alignment"]),
        ("any non-good alignment", ["any non-good"], ["good", "evil"]),
        ("any alignment", ["any"], ["evil", "neutral"]),
        ("unaligned", ["unaligned"], ["neutral"]),
    ],
)
def test_an_alignment_is_found_whole_and_by_its_parts(alignment, finds, misses):
    assert [f for f in finds if not found({"alignment": f}, alignment=alignment)] == []
    assert [f for f in misses if found({"alignment": f}, alignment=alignment)] == []


def test_the_alignment_of_a_book_without_alignments_is_a_placeholder():
    assert "alignment" not in fields(alignment="chaotic evil", document={"key": "bfrd"})
    assert fields(alignment="lawful good", document={"key": "bfrd"})["alignment"][0] == "lawful good"


def test_the_rest_of_a_type_line_is_no_alignment():
    assert "alignment" not in fields(alignment="Shapechanger)")
    assert fields(alignment="any alignment (as its maker)")["alignment"][0] == "any alignment as its maker"


def test_small_or_medium_is_found_as_both():
    assert [size for size in ("small", "medium", "large") if found({"size": size}, size="Small or Medium")] == [
        "small",
        "medium",
    ]
    rules_2024 = {"key": "new-atlas", "gamesystem": {"key": "5e-2024"}}
    assert fields(size={"key": "small"}, hit_dice="9d8 + 9", document=rules_2024)["size"] == ("small", "medium")
    assert fields(size={"key": "small"}, hit_dice="9d6", document=rules_2024)["size"] == ("small",)
    assert fields(size={"key": "small"}, hit_dice="9d8")["size"] == ("small",)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("swarm of Tiny beasts", {"beast", "swarm"}),
        ("medium undead (shapechanger)", {"undead", "shapechanger"}),
        ("humanoid (shadow fey)", {"humanoid"}),
        ("Monstrosities", {"monstrosity"}),
    ],
)
def test_a_type_line_is_found_by_its_type_and_tags(line, parts):
    values = clean_fields("creatures", {"type": line})["type"]
    assert isinstance(values, tuple)
    assert set(values[1:]) == parts


@pytest.mark.parametrize("name", ["Swarm of Gulls", "Gull Swarm", "Gull, Swarm of Gulls", "Swarm, Gull", "Gullswarm"])
def test_a_swarm_is_one_by_its_name(name):
    assert fields(name=name, type={"key": "beast"})["type"] == ("beast", "swarm")


def test_a_swarm_is_one_by_its_trait():
    swarm = [{"name": "Swarm", "desc": "It fills the space of others."}]
    assert fields(type={"key": "undead"}, traits=swarm)["type"] == ("undead", "swarm")


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("Swamp or Marsh", "marsh"),
        ("swamp", "bog"),
        ("srd_feywild", "Feywild"),
        ("Coastal", "coast"),
        ("Caverns", "caves"),
        ("underworld", "Underdark"),
        ("ocean", "underwater"),
        ("lake", "aquatic"),
        ("caves", "underground"),
        ("Jungle", "forest"),
        ("Settlement", "city"),
        ("ruins", "dungeon"),
    ],
)
def test_environments_of_all_sources_have_one_form(source, asked):
    assert found({"environments": asked}, environments=[source])
    assert not found({"environments": "desert"}, environments=[source])


def test_a_list_of_every_environment_is_a_placeholder_in_the_book_that_has_such():
    everywhere = [{"key": f"place-{n}"} for n in range(31)]
    assert "environments" not in fields(environments=everywhere, document={"key": "tob"})
    assert len(fields(environments=everywhere)["environments"]) == 31
    assert fields(environments=everywhere[:3], document={"key": "tob"})["environments"][0] == "place 0"


# --- movement, senses, languages -------------------------------------------------------------------------------------


def test_speeds_are_those_of_the_stat_block_not_the_derived_ones():
    speeds = {"walk": 30, "fly": 60, "unit": "feet"}
    every = {"walk": 30, "fly": 60, "swim": 15, "climb": 15, "burrow": 0, "hover": True, "unit": "feet"}
    values = fields(speed=speeds, speed_all=every)
    assert {k: v for k, v in values.items() if "speed" in k or k == "hover"} == {
        "speed_walk": 30,
        "speed_fly": 60,
        "hover": True,
    }
    assert fields(speed={"walk": 0, "swim": 40, "fly": 0}).get("speed_walk") == 0
    assert not any("speed" in name for name in fields(speed={"walk": 0, "fly": 0}))


def test_homebrew_may_write_the_lines_of_a_stat_block():
    (entity,) = normalize(
        {
            "collection": "creatures",
            "name": "Gloom Hart",
            "speed": "40 ft., fly 80 ft. (hover), burrow 10 ft.",
            "senses": "blindsight 30 ft., darkvision 1 mile, passive Perception 14",
            "languages": "understands Common and Sylvan but can't speak, telepathy 60 ft.",
            "damage_immunities": "poison; bludgeoning and piercing from nonmagical attacks",
            "condition_immunities": "charmed, fatigue",
            "legendary": True,
        }
    )
    assert entity.fields == {
        "speed_walk": 40,
        "speed_fly": 80,
        "speed_burrow": 10,
        "hover": True,
        "senses": ("darkvision", "blindsight"),
        "darkvision": 5280,
        "blindsight": 30,
        "passive_perception": 14,
        "languages": ("common", "sylvan", "telepathy"),
        "telepathy": 60,
        "immune": ("poison", "nonmagical bludgeoning", "nonmagical piercing", "nonmagical", "charmed", "exhaustion"),
        "legendary": True,
    }


@pytest.mark.parametrize(
    ("line", "immune"),
    [
        ("blindness, lightning, poisoned", ("cold", "lightning", "blinded", "poisoned")),
        ("confusion, exhaustion, paralysis", ("cold", "exhaustion", "paralyzed")),
        ("blind, poison, fatigued", ("cold", "blinded", "poisoned", "exhaustion")),
        (
            "charm, fear, deafness, petrification, stun",
            ("cold", "charmed", "frightened", "deafened", "petrified", "stunned"),
        ),
    ],
)
def test_conditions_are_known_by_the_words_that_lines_have_for_them(line, immune):
    (entity,) = normalize(
        {"collection": "creatures", "name": "Gloom Hart", "damage_immunities": "cold", "condition_immunities": line}
    )
    assert entity.fields["immune"] == immune


def test_homebrew_may_also_set_the_fields_themselves():
    own = {
        "collection": "creatures",
        "name": "Gloom Hart",
        "senses": {"darkvision": 60},
        "speed": {"walk": 10},
        "speed_walk": 20,
    }
    (entity,) = normalize(own)
    assert entity.fields == {"senses": ("darkvision",), "darkvision": 60, "speed_walk": 20}


@pytest.mark.parametrize(
    ("line", "names", "telepathy"),
    [
        ("Common, Deep Speech; telepathy (120 ft.)", ("common", "deep speech", "telepathy"), 120),
        ("all, telepathy 1 mile", ("all", "telepathy"), 5280),
        ("understands all languages but can't speak", ("all",), None),
        ("Common plus two other languages", ("common",), None),
        ("Primordial (Ignan)", ("primordial", "ignan"), None),
        ("Sylvan (can't speak in wolf form)", ("sylvan",), None),
        ("the languages it knew in life", None, None),
        ("\x97", None, None),
        ("Common,\x97\nSylvan", ("common", "sylvan"), None),
        ("any one language (usually Common)", ("common",), None),
        ("-", None, None),
        ("Infernal, telepathy 60'", ("infernal", "telepathy"), 60),
    ],
)
def test_languages_are_named_one_by_one(line, names, telepathy):
    values = fields(languages={"as_string": line, "data": []})
    assert (values.get("languages"), values.get("telepathy")) == (names, telepathy)


def test_senses_of_the_first_api_stand_in_a_line():
    values = fields(senses="Darkvision 60 ft., tremorsense 30 ft., passive Perception 9")
    assert (values["senses"], values["darkvision"], values["tremorsense"], values["passive_perception"]) == (
        ("darkvision", "tremorsense"), 60, 30, 9,
    )  # fmt: skip


# --- defences --------------------------------------------------------------------------------------------------------


def defences(**lines: Any) -> dict[str, Any]:
    values = fields(resistances_and_immunities=lines)
    return {stance: set(values[stance]) for stance in ("immune", "resistant", "vulnerable") if stance in values}


def test_weapons_count_as_nonmagical_only_in_the_part_that_says_so():
    weapons = {"nonmagical", "nonmagical bludgeoning", "nonmagical piercing", "nonmagical slashing"}
    line = "cold, fire; bludgeoning, piercing, and slashing from nonmagical attacks not made with silver"
    assert defences(damage_resistances_display=line) == {"resistant": {"cold", "fire"} | weapons}
    assert defences(damage_resistances_display="acid; damage from nonmagical, non-silvered weapons") == {
        "resistant": {"acid"} | weapons
    }
    assert defences(damage_immunities_display="poison; nonmagic B/P/S attacks") == {"immune": {"poison"} | weapons}
    assert defences(damage_immunities_display="poison, piercing from nonmagical attacks") == {
        "immune": {"poison", "nonmagical", "nonmagical piercing"}
    }
    assert defences(damage_vulnerabilities_display="bludgeoning, radiant") == {"vulnerable": {"bludgeoning", "radiant"}}


def test_lists_of_keys_count_where_there_is_no_line():
    assert defences(
        damage_immunities=[{"key": "fire"}], condition_immunities=[{"key": "prone"}], damage_immunities_display=""
    ) == {"immune": {"fire", "prone"}}


def test_a_trait_of_resilience_adds_its_defences():
    trait = {
        "name": "Gloom Resilience",
        "desc": "The hart is resistant to cold damage. In addition, it is immune to necrotic damage, to exhaustion, and to the "
        "charmed condition, and it has advantage on saves against fire.",
    }
    lines = {"damage_immunities_display": "acid,Gloom Resilience", "damage_immunities": [{"key": "acid"}]}
    values = fields(resistances_and_immunities=lines, traits=[trait])
    assert (values["immune"], values["resistant"]) == (("acid", "necrotic", "exhaustion", "charmed"), ("cold",))


# --- damage, conditions, saves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dealt"),
    [
        ("Hit: 11 (2d6 + 4) piercing damage plus 7 (2d6) Fire damage.", {"piercing", "fire"}),
        (
            "Each creature there takes 10 (3d6) cold, fire, or acid damage (the hart's choice).",
            {"cold", "fire", "acid"},
        ),
        ("When it hits, it deals 2d6 poison (included below).", {"poison"}),
        ("The target can't regain hit points and takes 7 (2d6) ongoing acid damage.", {"acid"}),
        ("Its hooves deal an extra 2d6 radiant damage.", {"radiant"}),
        ("The target takes necrotic damage equal to the result.", {"necrotic"}),
        ("Each creature within 10 feet of the hart takes 5 (1d10) fire damage.", {"fire"}),
        ("The hart takes 20 radiant damage when it starts its turn in sunlight.", None),
        ("If the hart takes fire damage, it flees.", None),
        ("It has resistance to 10 fire damage.", None),
        ("The wound closes if it takes at least 10 fire damage.", None),
    ],
)
def test_damage_is_dealt_to_others(text, dealt):
    assert (
        does(text).get("damage_types") == (None if dealt is None else tuple(dealt))
        or set(does(text)["damage_types"]) == dealt
    )


def test_the_text_of_an_attack_decides_over_its_structure():
    attack = {"damage_type": {"key": "thunder"}, "extra_damage_type": None}
    wrong = {"name": "Horn", "desc": "Hit: 9 (1d8 + 5) piercing damage.", "attacks": [attack], "action_type": "ACTION"}
    assert fields(actions=[wrong])["damage_types"] == ("piercing",)
    assert fields(actions=[{**wrong, "desc": "The hart gores."}])["damage_types"] == ("thunder",)


@pytest.mark.parametrize(
    ("text", "inflicted"),
    [
        ("The target is grappled (escape DC 14).", {"grappled"}),
        ("Until this grapple ends, the target is restrained.", {"restrained"}),
        ("It must succeed on a DC 12 Strength saving throw or be knocked prone.", {"prone"}),
        ("Failure: The target has the Blinded and Restrained conditions.", {"blinded", "restrained"}),
        ("On a failure, a creature is stunned until the end of its turn. On a success, it isn't stunned.", {"stunned"}),
        ("While charmed, the target is incapacitated.", {"incapacitated"}),
        ("If the target is a creature, it falls unconscious.", {"unconscious"}),
        ("If the save fails by 5 or more the target is paralyzed.", {"paralyzed"}),
        ("The target suffers one level of exhaustion.", {"exhaustion"}),
        ("The wave leaves the creature poisoned for 1 hour.", {"poisoned"}),
        ("Target: DC 13 Wis or frightened for 1 minute.", {"frightened"}),
        ("It covers the target, which has the Blinded condition.", {"blinded"}),
        ("On a 6 it's also stunned.", {"stunned"}),
        ("It is charmed, addled, or frightened for 1 minute.", {"charmed", "frightened"}),
        ("Target: restrained until the grapple ends.", {"restrained"}),
        ("The light lasts until the hart sleeps, is hit, or is incapacitated.", None),
        ("A charmed creature obeys.", None),
        ("If the target is prone, it takes 3 (1d6) cold damage.", None),
        ("The hart has advantage on saves against being frightened.", None),
        ("Creatures immune to being charmed are immune to this.", None),
        ("The hart can't be charmed or knocked prone.", None),
        ("The hart must succeed on a DC 11 Constitution saving throw or fall unconscious.", None),
        ("The hart is stunned until the end of its next turn.", None),
        ("A swallowed creature is no longer grappled.", None),
    ],
)
def test_conditions_are_inflicted_on_others(text, inflicted):
    values = does(text).get("conditions")
    assert (None if values is None else set(values)) == inflicted


@pytest.mark.parametrize(
    ("text", "forced"),
    [
        ("It must succeed on a DC 15 Dexterity saving throw.", {"dexterity"}),
        ("Dexterity Saving Throw: DC 15, each creature in the area.", {"dexterity"}),
        ("The target makes a DC 14 Strength or Dexterity saving throw.", {"strength", "dexterity"}),
        ("Each creature within 30 feet of the gloom hart must make a DC 18 CON save.", {"constitution"}),
        ("Target must make a Wisdom saving throw against this magic.", {"wisdom"}),
        ("The hart has advantage on Wisdom saving throws.", None),
        ("The hart must succeed on a DC 20 Constitution saving throw or spit it out.", None),
        ("It makes a DC 15 Strength (Athletics) check.", None),
    ],
)
def test_saves_are_forced_on_others(text, forced):
    values = does(text).get("saves")
    assert (None if values is None else set(values)) == forced


def test_what_harms_the_creature_itself_is_not_what_it_does():
    trait = {"name": "Sunlight Weakness", "desc": "It takes 10 radiant damage and is blinded."}
    assert not {"damage_types", "conditions"} & fields(traits=[trait]).keys()


# --- spells, legendary actions, lairs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spells"),
    [
        (
            "It casts these:\n\n* Cantrips (at will): light, mage hand\n* 1st level (4 slots): web*",
            {"light", "mage hand", "web"},
        ),
        (
            "- **At Will:** _dancing lights_\n- **1/Day Each:** _charm_ (as an action)<br>2/day: _heal_",
            {"dancing lights", "charm"},
        ),
        ("- **Cantrips** (at will): light\n- **2nd Level** (3 slots): web, alter self", {"light", "web", "alter self"}),
        ("- **At Will:**\n- **1/Day Each:** locate creature", {"locate creature"}),
        (
            "At will: fear, fire bolt (2d10)\n3/day each: detect evil and good",
            {"fear", "fire bolt", "detect evil and good"},
        ),
        (
            "It casts the following spells:at will: mire clasp3/day each: counterspell, fear1/day each: true seeing",
            {"mire clasp", "counterspell", "fear", "true seeing"},
        ),
        (
            "1/day each: blink, shatter Bog Stride. The hart walks through mud, and all harts know it.",
            {"blink", "shatter"},
        ),
        ("- **At Will:** Scrying Tongues, Identify\n- **1/Day:** h*allucinatory terrain*", {"scrying", "tongues"}),
    ],
)
def test_spells_are_read_from_lists(text, spells):
    found = set(does(text, name="Spellcasting")["spells"])
    assert spells <= found
    assert not any(
        "bog" in name or "harts" in name or "scrying tongues" in name or name.startswith("h ") for name in found
    )


@pytest.mark.parametrize(
    ("text", "spells"),
    [
        ("The hart casts Misty Step or Shield, using the same ability.", ("misty step", "shield")),
        ("The hart can cast the fog cloud spell once a day.", ("fog cloud",)),
        ("The hart can cast invisibility at will.", ("invisibility",)),
        ("The hart casts a spell of 3rd level or lower.", None),
        ("Its eyes cast dim light for 30 feet.", None),
        ("The hart casts light from its antlers.", None),
        ("The hart casts the mending, minor illusion, and web cantrips at will.", ("mending", "minor illusion", "web")),
        ("The hart casts Cure Wounds (level 2 version), Web, or *Mire Clasp*.", ("cure wounds", "web", "mire clasp")),
        ("A gloom can cast a version of the entangle spell.", ("entangle",)),
        ("The hart is invisible until it casts a spell, or until its concentration ends (as if on a spell).", None),
        ("The penalty can be removed by casting the Mending spell on the weapon.", None),
        ("It is put to rest only by finding and casting Remove Curse on its remains.", None),
        ("When a creature casts the knock spell on its chains, they open.", None),
        ("Any caster brave enough to cast a knock spell on it can free it.", None),
        ("The mud rises as if it had cast wall of stone.", None),
        ("The owner can expend points to cast with o using a slot.", None),
    ],
)
def test_spells_are_read_from_sentences(text, spells):
    assert does(text).get("spells") == spells


def test_a_spell_that_is_printed_as_an_action_is_cast():
    assert does("(3rd-Level; V, S) Fire fills the place.", name="Fireball")["spells"] == ("fireball",)


def test_legendary_is_unknown_where_no_action_is_listed():
    assert (
        fields(actions=[{"name": "Leap", "desc": "It leaps.", "action_type": "LEGENDARY_ACTION"}])["legendary"] is True
    )
    assert fields(actions=[{"name": "Leap", "desc": "It leaps.", "action_type": "ACTION"}])["legendary"] is False
    assert "legendary" not in fields(actions=[], traits=[{"name": "Keen", "desc": "It smells."}])
    assert fields(legendary_actions=[{"name": "Leap", "desc": "It leaps."}])["legendary"] is True


def test_a_lair_is_known_by_what_happens_there():
    assert (
        fields(traits=[{"name": "Legendary Resistance (3/Day, or 4/Day in Lair)", "desc": "It succeeds."}])["lair"]
        is True
    )
    assert "lair" not in fields(traits=[{"name": "Keen", "desc": "Its lair is cold."}])


@pytest.mark.slow
def test_hostile_texts_are_read_in_linear_time():
    for piece in (
        "is blinded, ",
        "1 fire, ",
        "dc 1 str or ",
        "casts A of ",
        "the gloom hart ",
        "poison or ",
        "a ",
        "1/day (",
        "_ *",
    ):
        does(piece * 20_000)


# --- character options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "kind"),
    [("species", "race"), ("Race", "race"), ("Subspecies", "subrace"), ("lineage", "race"), ("feats", "feat")],
)
def test_a_kind_is_found_by_the_words_of_other_games(asked, kind):
    option = make("x", type="character_options", kind=kind)
    assert matches(option, parse_filters("character_options", {"kind": asked}))
    assert not matches(option, parse_filters("character_options", {"kind": "background"}))


def test_the_parent_of_a_subrace_is_its_race_in_every_shape():
    species = {
        "key": "ta_tide-elf",
        "name": "Tide Elf",
        "desc": "",
        "traits": [],
        "is_subspecies": True,
        "document": {"key": "ta"},
    }
    for parent in ({"key": "ta_elf"}, "https://example.org/v2/species/ta_elf/", "ta_elf"):
        (entity,) = normalize({**species, "subspecies_of": parent})
        assert (entity.kind, entity.fields["parent"]) == ("subrace", "elf")


# --- one record --------------------------------------------------------------------------------------------------------

_REED_DRAKE = Creature(
    name="Reed Drake",
    size="Large",
    sizes=("large",),
    type="Dragon",
    types=("dragon",),
    alignment="neutral evil",
    armor_class=Figure(15, "15"),
    armor="natural armor",
    hit_points=Figure(52, "52"),
    hit_dice="7d10+14",
    speed=Speed("30 ft., fly 60 ft.", {"walk": 30, "fly": 60}),
    abilities={"strength": 16, "dexterity": 14},
    saves=Bonuses({"Dex": 5}),
    skills=Bonuses({"Sleight of Hand": 5}),
    immunities="poison",
    condition_immunities="poisoned",
    senses=Senses("darkvision 60 ft.", {"darkvision": 60}, Figure(11, "11")),
    languages="Common, Draconic",
    rating=Figure(4, "4"),
    text="It waits in the reeds.",
    features=(Feature("Bite", "*Hit:* 7 (1d8 + 3) piercing damage.", "action"),),
    acts=True,
)

_SHARED = {
    "name": "Reed Drake",
    "alignment": "neutral evil",
    "actions": [{"name": "Bite", "desc": "*Hit:* 7 (1d8 + 3) piercing damage."}],
    "speed": {"walk": 30, "fly": 60},
}


@pytest.mark.parametrize(
    "written",
    [
        {
            **_SHARED,
            "desc": "It waits in the reeds.",
            "size": {"name": "Large", "key": "large"},
            "type": {"name": "Dragon", "key": "dragon"},
            "challenge_rating": 4.0,
            "armor_class": 15,
            "armor_detail": "natural armor",
            "hit_points": 52,
            "hit_dice": "7d10+14",
            "ability_scores": {"strength": 16, "dexterity": 14},
            "saving_throws": {"dexterity": 5},
            "skill_bonuses": {"sleight_of_hand": 5},
            "resistances_and_immunities": {
                "damage_immunities_display": "",
                "damage_immunities": [{"name": "poison", "key": "poison"}],
                "condition_immunities_display": "poisoned",
            },
            "darkvision_range": 60,
            "passive_perception": 11,
            "languages": {"as_string": "Common, Draconic", "data": []},
        },
        {
            **_SHARED,
            "desc": "It waits in the reeds.",
            "size": "Large",
            "type": "Dragon",
            "cr": 4.0,
            "armor_class": 15,
            "armor_desc": "natural armor",
            "hit_points": 52,
            "hit_dice": "7d10+14",
            "strength": 16,
            "dexterity": 14,
            "dexterity_save": 5,
            "skills": {"sleight_of_hand": 5},
            "damage_immunities": "poison",
            "condition_immunities": "poisoned",
            "senses": "darkvision 60 ft.",
            "passive_perception": 11,
            "languages": "Common, Draconic",
        },
        {
            **_SHARED,
            "description": "It waits in the reeds.",
            "size": "Large",
            "type": "Dragon",
            "challenge": 4,
            "armor-class": 15,
            "armor-desc": "natural armor",
            "hit-points": {"die": 10, "die-count": 7, "modifier": 14},
            "abilities": {"strength": 16, "dexterity": 14},
            "saving-throws": {"dex": 5},
            "skills": {"sleight-of-hand": 5},
            "speed": "30 ft., fly 60 ft.",
            "damage-immunities": ["poison"],
            "condition-immunities": "poisoned",
            "senses": {"darkvision": "60 ft."},
            "passive-perception": 11,
            "languages": ["Common", "Draconic"],
        },
    ],
    ids=["api-v2", "api-v1", "orcbrew"],
)
def test_a_creature_is_one_record_whatever_its_source_calls_things(written):
    record = creature(Source(written))
    alike = replace(record, speed=replace(record.speed, hover=None), rating=Figure(record.rating.value, "4"))
    alike = replace(alike, hit_points=Figure(alike.hit_points.value, "52"))
    assert alike == _REED_DRAKE
    found = creatures.read(written)
    assert {name: value for name, value in found.items() if name != "hover"} == {
        name: value for name, value in creatures.fields(_REED_DRAKE).items() if name != "hover"
    }
