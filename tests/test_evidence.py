"""What is shown of an entry beside its facts: the words that answer."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import Entity
from lorekeeper.normalize import normalize
from lorekeeper.text.evidence import evidence, field_line, lengths, overview, read
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.facts import facts
from tests.support.entities import make

MARSH_OGRE = {
    "desc": "An ogre that lives where the reeds are high. It eats what drowns.",
    "traits": [
        {
            "name": "Keen Ears",
            "desc": "It hears whatever moves in the reeds, and a good deal that does not, however far away.",
        },
        {"name": "Regeneration", "desc": "It heals at dawn, unless it was burnt."},
    ],
    "actions": [
        {"name": "Spellcasting", "desc": f"It casts one of these: {'ash hand, ' * 30} thunder wall, and soft landing."},
        {"name": "Club", "desc": "It hits one creature with a tree."},
    ],
}


def ogre(**fields) -> Entity:
    return Entity("creatures", "ogre", "Marsh Ogre", "creature", "own", "lorekeeper", MARSH_OGRE, fields)


def test_the_sentence_that_answers_is_shown_with_its_heading():
    shown = evidence(ogre(), "which ogre heals itself at dawn")
    assert (shown.text, shown.section) == ("Regeneration: It heals at dawn, unless it was burnt.", "Regeneration")


def test_a_snippet_is_not_cut_before_the_word_that_was_asked_for():
    shown = evidence(ogre(), "casts thunder wall", limit=150)
    assert "thunder wall" in shown.text
    assert shown.text.startswith("Spellcasting: … ")


CHOICE = """
from lorekeeper.entities import Entity
from lorekeeper.normalize import normalize
from lorekeeper.text.evidence import evidence
words = "amber brine cedar delta ember flint".split()
prose = " ".join(f"{word} and then it goes on and on for a good while" for word in words)
entity = Entity("rules", "long", "Long", "rule", "own", "lorekeeper", {"desc": f"It is a long sentence. Here {prose}."})
print(evidence(entity, " ".join(words), limit=150).text)
"""


def test_of_equal_words_the_first_is_shown_in_every_process():
    commands = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2", "3")]
    shown = [subprocess.check_output([sys.executable, "-c", CHOICE], env=env, text=True) for env in commands]
    assert shown[0].startswith("… Here amber")
    assert len(set(shown)) == 1


def test_a_creature_that_is_only_named_is_told_from_its_beginning_and_whole_if_there_is_room():
    assert evidence(ogre(), "ogre", nearest="It eats what drowns.") == evidence(ogre(), "")
    assert evidence(ogre(), "what does an ogre do", limit=800).text.endswith("It hits one creature with a tree.")


def test_what_the_fields_have_said_is_not_said_again_by_a_section():
    def shown(said: str) -> str:
        data = {"traits": [{"name": "Languages", "desc": said}]}
        made = Entity(
            "creatures", "o", "Ogre", "creature", "own", "x", data, {"languages": ("common", "elvish", "giant")}
        )
        return evidence(made, "who speaks elvish languages").text

    assert shown("Common, Elvish, Giant.") == "Languages: common, elvish, giant."
    assert "whales sing" in shown("Common, Elvish, Giant, and what whales sing.")


def test_fields_that_are_asked_for_come_first_if_the_facts_lack_them():
    made = ogre(immune=("poison", "cold"), speed_fly=60.0, armor_class=12)
    assert field_line(made, "immune to poison, flies") == "Immune: poison, cold. Fly: 60 ft."
    assert field_line(made, "", {"speed_fly"}) == "Fly: 60 ft."
    assert field_line(made, "hard to hit", {"armor_class"}) == ""
    assert evidence(made, "immune to poison").text.startswith("Immune: poison, cold.")
    told = {"name": "Reed Ward", "casting_time": "1 reaction, which you take when it rains"}
    ward = make("reed-ward", data=told, casting_time="reaction")
    assert field_line(ward, "reed ward reaction") == "Casting time: reaction, which you take when it rains."
    assert field_line(make("reed-ward", data={"casting_time": "reaction"}, casting_time="reaction"), "reaction") == ""


def test_an_overview_of_a_creature_names_its_traits_and_tells_the_decisive_one():
    shown = overview(ogre(), 220, read(ogre())).text
    assert shown.startswith("Keen Ears; Regeneration; Spellcasting; Club.")
    assert shown.endswith("Regeneration: It heals at dawn, unless it was burnt.")


def test_an_overview_with_room_begins_with_defences_that_are_not_shown_already():
    made = ogre(immune=("poison",), vulnerable=("fire",))
    assert overview(made, 700, read(made)).text.startswith("Immune: poison. Vulnerable: fire. Keen Ears;")
    assert overview(made, 220, read(made)).text.startswith("Keen Ears;")
    assert evidence(made, "", asked={"immune"}, limit=700).text.startswith(
        "Immune: poison. Vulnerable: fire. Keen Ears;"
    )


def test_facts_say_what_components_cost_and_how_strong_armor_asks_one_to_be():
    spell = make("revive", level=3, material_cost=300.0, material_consumed=True)
    assert "material 300 gp, consumed" in facts(spell)
    mail = make("mail", type="equipment", kind="armor", data={"strength_requirement": 13})
    assert "Str 13" in facts(mail)


def test_an_entry_without_prose_shows_its_facts():
    assert evidence(make("bare", level=3), "").text == "level 3"


@given(st.text(max_size=300), st.text(max_size=60), st.integers(20, 300))
def test_evidence_is_one_line_and_never_longer_than_asked(text, query, limit):
    shown = evidence(make("any", data={"desc": text}), query, limit=limit).text
    assert len(shown) <= limit
    assert "\n" not in shown


@given(st.integers(0, 50))
def test_every_result_of_a_page_has_a_length(results):
    assert len(lengths(results)) == results


def test_a_level_that_is_asked_for_is_shown_with_what_a_class_has_then():
    features = [
        {"name": "Filing", "gained_at": [{"level": 1}, {"level": 5}], "desc": "You file."},
        {"name": "Stamps", "gained_at": [{"level": 2}], "desc": "You stamp."},
        {"name": "Tricks", "data_for_class_table": [{"level": 5, "column_value": "3d6"}]},
        {"name": "1st", "data_for_class_table": [{"level": 5, "column_value": "4"}]},
        {"name": "Reach", "data_for_class_table": [{"level": 3, "column_value": "+10 ft."}]},
    ]
    clerk = make("clerk", type="character_options", kind="class", name="Clerk", data={"features": features})
    for query in ("what does a clerk get at level 5", "5th-level clerk"):
        assert evidence(clerk, query).text.startswith("Level 5: Filing; Tricks 3d6.")
    assert "Level" not in evidence(clerk, "how does a clerk file").text
    assert evidence(clerk, "clerk at level 3").text.startswith("Level 3: Reach +10 ft. ")


def test_a_question_that_names_a_feature_is_answered_by_it_and_not_by_what_only_has_its_words():
    features = [
        {"name": "Level 1: Quiet Filing", "desc": "Once per turn you file a letter that nobody has read."},
        {"name": "Level 5: Cunning Stamp", "desc": "When you use Quiet Filing, Quiet Filing may work twice."},
        {"name": "Level 9: Quiet Filing Hall", "desc": "You own a hall."},
        {"name": "Level 11: Work", "desc": "You work."},
    ]
    clerk = make("clerk", type="character_options", kind="class", name="Clerk", data={"features": features})
    for query in ("how does quiet filing work", "quiet filing", "how much does quiet filing file"):
        assert "letter that nobody has read" in evidence(clerk, query).text
    assert "You own a hall" in evidence(clerk, "the quiet filing hall of a clerk").text


def test_an_overview_goes_on_with_what_has_a_heading_as_far_as_there_is_room():
    spark = make("spark", data={"higher_level": "Slot 2: 2d6.", "effects_desc": "1d6 fire."})
    assert evidence(spark, "").text == "1d6 fire. At higher levels: Slot 2: 2d6."


def test_a_heading_that_is_asked_for_whole_comes_before_one_that_says_more():
    arms = [{"name": "Reed Whip Lash", "desc": "Whoever is grappled takes 10 damage and escapes, DC 14 for 12 feet."},
            {"name": "Reed Whip", "desc": "Whoever it hits is grappled, escape DC 13."}]  # fmt: skip
    eel = Entity("creatures", "eel", "Bog Eel", "creature", "own", "lorekeeper", {"actions": arms}, {})
    assert "escape DC 13" in evidence(eel, "eel reed whip grapple dc", nearest=arms[0]["desc"]).text


def test_a_sentence_that_points_back_is_shown_with_the_one_before_it():
    rule = "A clerk sleeps as many hours as there are stamps in the drawer, and no less than one."
    example = "For example, a clerk with a drawer of four stamps may sleep until noon."
    clerk = make(
        "clerk", type="rules", name="Clerk", data={"desc": f"{rule} {example} If it snores, it wakes the abbot."}
    )
    shown = evidence(clerk, "who wakes the abbot", limit=130).text
    assert shown == f"… {example} If it snores, it wakes the abbot."
    assert evidence(clerk, "who wakes the abbot", limit=60).text == "… If it snores, it wakes the abbot."


def test_a_label_stands_with_its_sentence():
    desc = "You file what comes in. Damage at 0 Stamps. If anybody hits you then, you lose a stamp. Late Filing. It costs one."
    clerk = make("clerk", type="rules", kind="rule", name="Clerk", data={"desc": desc})
    shown = evidence(clerk, "damage while without stamps", limit=70).text
    assert shown == "… Damage at 0 Stamps. If anybody hits you then, you lose a stamp."
    assert (
        snippet(desc, 95, 0.5)
        == "You file what comes in. Damage at 0 Stamps. If anybody hits you then, you lose a stamp."
    )


def test_a_question_for_a_number_is_answered_by_the_sentence_that_has_one():
    desc = "The blade deals damage with its flames. While it burns, the blade deals 2d6 fire damage."
    blade = make("blade", type="equipment", kind="magic-item", name="Blade", data={"desc": desc})
    assert "2d6" in evidence(blade, "how much damage does the blade deal", limit=60).text


def test_what_only_announces_is_shown_with_what_follows():
    benefits = [{"name": "Grip", "desc": "You hold on."}]
    feat = make("grip", type="character_options", kind="feat", data={"desc": "You gain this.", "benefits": benefits})
    assert "You hold on" in evidence(feat, "").text


def test_a_table_that_only_its_name_answers_is_shown_from_its_first_row():
    rows = [f"| {number} | A trinket of {metal} |" for number, metal in enumerate(("tin", "lead", "zinc", "gold"), 1)]
    table = make(
        "finds",
        type="rules",
        kind="table",
        name="Finds",
        data={"desc": "\n".join(["| d4 | Find |", "|---|---|", *rows])},
    )
    assert "d4" in evidence(table, "what turns up", nearest="4; A trinket of gold").text
    assert "gold" in evidence(table, "made of gold").text


def test_a_class_is_listed_with_what_it_gets_by_level():
    features = [
        {"name": "Second Breath", "desc": "You breathe.", "gained_at": [{"level": 5}, {"level": 2}]},
        {"name": "Hit Points", "desc": "You have some.", "gained_at": []},
        {"name": "Oath", "desc": "You swear.", "gained_at": [{"level": 1}]},
        {"name": "Stride", "desc": "", "data_for_class_table": [{"level": 5, "column_value": "+10 ft."}]},
    ]
    data = {"name": "Guard", "desc": "", "features": features}
    guard = make("guard", type="character_options", kind="class", data=data)
    assert overview(guard, 220, read(guard)).text == "By level: 1: Oath; 2: Second Breath; 5: Second Breath."
    assert evidence(guard, "swear", limit=60).text.startswith("Level 1: Oath: You swear.")
    assert evidence(guard, "how fast at level 5").text.startswith("Level 5: Second Breath; Stride +10 ft. ")


SCREENS = """Reeds and walls screen those behind them.

| Screen | Benefit | Given by |
|---|---|---|
| Half | +2 bonus to rolls | Another sailor or a barrel that screens at least half of the target |
| Most | +5 bonus to rolls | A wall with a gap that screens at least most parts of the target |
| Whole | No aim | A thing that screens all of it |
"""


def test_rows_of_a_table_that_are_asked_for_are_shown_from_the_first_of_them_on():
    screens = make("screens", SCREENS, type="rules", name="Screens", document="own")
    shown = evidence(screens, "screen bonus of half and of a gap", limit=260).text
    assert "Half | +2 bonus to rolls" in shown
    assert "gap" in shown


def test_a_snippet_has_the_text_as_it_is_repaired():
    text = "As a Bonus Action, you drink it and are safe for 1 hour. abo"
    source = {
        "key": "srd-2024_antitoxin",
        "name": "Antitoxin",
        "document": "srd-2024",
        "category": "gear",
        "desc": text,
    }
    (made,) = normalize(source)
    assert made.data["desc"] == text
    for query in ("", "drink safe hour"):
        assert evidence(made, query).text.endswith("for 1 hour.")


def test_the_passage_that_is_nearest_in_meaning_is_shown_as_it_is_repaired():
    base = {"level": 4, "school": "illusion", "casting_time": "action", "document": "srd-2024"}
    source = {**base, "key": "srd-2024_greater-invisibility", "name": "Greater Invisibility", "desc": ""}
    (made,) = normalize(source)
    shown = evidence(made, "make the fighter vanish", nearest="spell level 4 illusion · action · wizard")
    assert shown.text.startswith("A creature that you touch")
