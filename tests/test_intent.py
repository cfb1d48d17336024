"""What questions state in words about the entries they ask for."""

from __future__ import annotations

from lorekeeper.search.intent import MAX_CHARS, stated_conditions, type_asked_for
from tests.support.tables import each_row


@each_row(
    ("question", "expected"),
    [
        ("immune to poison, fly speed", "immune:poison speed_fly>0"),
        ("creatures immune to poison and fire that can fly", "immune:poison immune:fire speed_fly>0"),
        ("immune to being charmed", "immune:charmed"),
        ("creatures that can't be frightened", "immune:frightened"),
        ("vulnerable to fire damage", "vulnerable:fire"),
        ("resistance to nonmagical weapons", "resistant:nonmagical"),
        (
            "resistance to nonmagical bludgeoning, piercing and slashing",
            'resistant:"nonmagical bludgeoning" resistant:"nonmagical piercing" resistant:"nonmagical slashing"',
        ),
        ("resistant to cold and lightning", "resistant:cold resistant:lightning"),
        ("speaks Draconic", "languages:draconic"),
        ("a beast that understands deep speech", 'languages:"deep speech"'),
        ("telepathic aberrations", "languages:telepathy"),
        ("a swimming speed of 40", "speed_swim>=40"),
        ("no fly speed", ""),
        ("darkvision 120 ft", "darkvision>=120 senses:darkvision"),
        ("something with legendary actions", "legendary"),
        ("a monster that stuns", "conditions:stunned"),
        ("dragons CR 10 to 14 with cold breath", "damage_types:cold cr:10..14"),
        ("undead of CR 4 or lower", "cr<=4"),
        ("fiends under CR 2", "cr<2"),
        ("challenge rating 1/4 or less", "cr<=1/4"),
        ("a creature with AC over 20", "ac>20"),
        ("something wet that moves in the corridor", ""),
        ("the flying dutchman", ""),
        ("an undead encounter in a swamp", "type:undead"),
        ("CR 5 fey", "type:fey cr:5"),
        ("dragons of challenge rating 13", "cr:13"),
        ("CR 10+ fiends", "cr>=10"),
        ("about CR 5", ""),
        ("CR 2 or 3", ""),
        ("CR 5-7 giants", "cr:5..7"),
        ("resistant to fire or cold", "resistant:fire,cold"),
        ("fire or cold breath", ""),
        ("can fly or swim", ""),
        ("CR 5 undead or fiends", "cr:5"),
        ("not immune to poison", ""),
        ("isn't vulnerable to fire", ""),
        ("monsters without legendary actions", ""),
        ("doesn't have darkvision", ""),
        ("what is undead", ""),
    ],
)
def test_creatures(question, expected):
    assert stated_conditions("creatures", question) == expected


@each_row(
    ("question", "expected"),
    [
        ("no verbal component, can be cast while silenced", "-components:verbal"),
        ("range longer than 500 feet", "range>500"),
        ("range over 1,000 ft", "range>1000"),
        ("lasts 8 hours", "duration:480"),
        ("lasts an hour without concentration", "concentration:false duration:60"),
        ("deals cold damage on a dexterity saving throw", "damage_types:cold saves:dexterity"),
        ("a 3rd-level spell to fly", "level:3"),
        ("falling off a cliff", ""),
        ("bard spells that charm", "classes:bard"),
        ("ritual spells for wizards", "ritual classes:wizard"),
        ("a cantrip for my warlock", "level:0 classes:warlock"),
        ("level 3 cleric spells", "level:3 classes:cleric"),
        ("2nd-level wizard illusion spells", "level:2 school:illusion classes:wizard"),
        ("evocation spells of 4th level", "level:4 school:evocation"),
        ("a druid's bonus action spells", 'classes:druid casting_time:"bonus action"'),
        ("reaction spell to avoid a hit", "casting_time:reaction"),
        ("what can a paladin cast", ""),
        ("spells that a ranger can cast", "classes:ranger"),
        ("wizard spell slots", ""),
        ("cleric healing spells", "classes:cleric"),
        ("the wizard casts spells at us", ""),
        ("a wizard and his spells", ""),
        ("keep wizards from finding me", ""),
        ("what is a cantrip?", ""),
        ("a spell under level 3 that makes light", "level<3"),
        ("spells of 2nd level or lower that heal", "level<=2"),
        ("level 3 or higher wizard spells", "level>=3 classes:wizard"),
        ("1st and 2nd level spells", ""),
        ("wizard or sorcerer spells", ""),
        ("non-concentration spells", ""),
        ("spells that can't be cast as a ritual", ""),
    ],
)
def test_spells(question, expected):
    assert stated_conditions("spells", question) == expected


@each_row(
    ("question", "expected"),
    [
        ("armour under 60 gp", "cost<60"),
        ("a ring that does not require attunement", "requires_attunement:false"),
        ("a +2 sword", "bonus:2"),
        ("a ring that is not cursed", ""),
        ("a rope", ""),
    ],
)
def test_equipment(question, expected):
    assert stated_conditions("equipment", question) == expected


def test_a_question_for_monsters_is_about_creatures_only():
    assert type_asked_for(["spells"], "monsters") == "spells"
    assert type_asked_for(["spells", "creatures"], "An encounter with undead") == "creatures"
    assert type_asked_for(["spells", "creatures"], "a monstrous sword") is None
    assert type_asked_for(["spells", "rules"], "monsters") is None
    assert type_asked_for(["spells", "creatures"], "CR 5 fey") == "creatures"
    assert type_asked_for(["spells", "creatures", "rules"], "bard spells that charm") == "spells"
    assert type_asked_for(["spells", "creatures", "rules"], "dragon CR 13") == "creatures"
    assert type_asked_for(["spells", "equipment", "rules"], "weapons under 10 gp") is None
    assert type_asked_for(["spells", "rules"], "how many spells does a wizard know") is None
    assert type_asked_for(["spells", "rules"], "What are cantrips?") is None


def test_other_types_and_long_stories_state_nothing():
    assert stated_conditions("rules", "immune to poison") == ""
    assert stated_conditions("creatures", "immune to poison " * MAX_CHARS) == ""


def test_a_long_question_is_read_in_linear_time():
    stated_conditions("creatures", ("resist fire, " * MAX_CHARS)[:MAX_CHARS])
    stated_conditions("spells", "a" * MAX_CHARS)
