"""Entries as pages: complete, in the order of the books, safe, and a lean copy of each."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.play.differences import differences
from lorekeeper.records import Source, option
from lorekeeper.render import lean, markdown
from lorekeeper.render.lean import MAX_RATIO
from lorekeeper.render.prose import inline, prose
from lorekeeper.repairs import repaired
from tests.support import golden
from tests.support.corpus import imported_entries
from tests.support.tables import each_row


def entry(entity_type: str, kind: str, data: Mapping[str, Any], name: str = "Gloom Heron") -> Entity:
    return Entity(entity_type, "gloom-heron", name, kind, "own", "open5e-v2", data)


def ref(name: str) -> dict[str, str]:
    return {"name": name, "key": name.lower()}


def test_a_creature_with_more_in_its_lair_is_worth_more_there():
    traits = [{"name": "Legendary Resistance (3/Day, or 4/Day in Lair)", "desc": "It succeeds instead."}]
    heron = entry("creatures", "creature", {"challenge_rating": 10.0, "traits": traits})
    assert "**Challenge** 10 (5,900 XP, or 7,200 in lair; proficiency bonus +4)" in markdown(heron)
    assert "in lair" not in markdown(entry("creatures", "creature", {"challenge_rating": 10.0}))


# --- complete entries ------------------------------------------------------------------------------------------------

PAGES = [
    o for files in golden.imports_of(golden.FOLDER / "json" / "pages.yaml") for each in files.values() for o in each
]
"""Objects of all kinds, which `tests/golden/json/pages.md` shows as pages."""


SKILLS = [
    {"key": "wading", "name": "Wading", "descriptions": [
        {"desc": "Their wading.", "document": "other"}, {"desc": "Our wading.", "document": "own"}]},
    {"key": "other_fishing", "name": "Fishing", "descriptions": [{"desc": "Their fishing.", "document": "other"}]},
]  # fmt: skip


@each_row(
    ("document", "told", "names"),
    [
        ("own", ["**Wading.** Our wading."], ["Wading"]),
        ("other", ["**Wading.** Their wading.", "**Fishing.** Their fishing."], ["Wading", "Fishing"]),
        ("third", ["**Wading.** Their wading.", "**Fishing.** Their fishing."], ["Wading", "Fishing"]),
    ],
)
def test_an_ability_has_the_skills_of_its_document_in_the_words_of_that(document, told, names):
    ability = entry("rules", "ability", {"desc": "It is calm.", "document": document, "skills": SKILLS})
    assert markdown(ability).split("## Skills\n\n")[1].strip().split("\n\n") == told
    assert lean(ability)["skills"] == names


def test_an_option_is_one_record_in_the_words_of_every_source():
    column = {"name": "Tides", "desc": "[Column data]", "data_for_class_table": [{"level": 2, "column_value": "3"}]}
    gained = [{"level": 5, "detail": None}, {"level": 2, "detail": "one shell"}]
    call = {"name": "Call", "desc": "It calls.", "gained_at": gained, "feature_type": "CLASS_LEVEL_FEATURE"}
    newer = {"hit_points": {"hit_dice_name": "1D8"}, "saving_throws": [{"name": "Wisdom"}], "features": [call, column]}
    older = {"hit_dice": "1d8", "prof_saving_throws": "Wisdom", "traits": [call, column]}
    read, same = (option(Source(each), "class") for each in (newer, older))
    assert replace(read, hit_dice="") == replace(same, hit_dice="")
    assert [(each.name, each.kind, each.levels, each.column) for each in read.features] == [
        ("Call", "", ((2, "one shell"), (5, "")), {}),
        ("Tides", "column", (), {2: "3"}),
    ]
    assert (read.hit_dice, read.saves, option(Source({"hit-die": 8}), "class").hit_dice) == ("d8", "Wisdom", "d8")


def test_a_class_names_its_subclasses():
    page = markdown(entry("character_options", "class", {"desc": "You catch birds."}), subclasses=["Netter", "Piper"])
    assert page.endswith("## Subclasses\n\nNetter, Piper")


# --- texts -----------------------------------------------------------------------------------------------------------


@each_row("piece", ["|", "<", "[", "](", "( a", "#", "*", "&", "\\n", "- ", "srd:a-", "<td ", "| a |\n|-|\n", " "])
def test_long_runs_take_linear_time(piece):
    """Where the time is not linear it is minutes, and the test's own limit ends it."""
    assert isinstance(prose(piece * (300_000 // len(piece))), str)
    assert isinstance(inline(piece * (300_000 // len(piece))), str)


def test_wide_tables_are_not_filled_to_more_than_there_is():
    wide = prose("|a" * 4_000 + "\n" + "|-" * 4_000 + "\n" + "|1\n" * 4_000)
    assert wide.count("|---") == 4_000
    assert wide.count("\n| 1 |") == 4_000
    assert wide.count("|") < 500_000
    assert prose("| a |\n|-|\n| 1 " + "| " * 150_000) == "| a |\n|---|\n| 1 |"


# --- hostile objects -------------------------------------------------------------------------------------------------

OURS = re.compile(r"#{1,3} ")
POISON = "\n# Actions\n## Reactions\r\n### Level 1: X\n\x1b[2J\u202e[x](http://evil)\n---\n"
KEYS = sorted({key for each in PAGES for key in each})


def anything(chance: random.Random, depth: int = 3) -> Any:
    """A JSON value of any shape, with texts that would pose as headings of a page."""
    scalars = [None, True, False, 0, -1, 3.5, 10**15, 1e300, "", "7", "D8", "text", POISON]
    kind = chance.randrange(4 if depth else 2)
    if kind < 2:
        return chance.choice(scalars)
    if kind == 2:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    names = chance.sample([*KEYS, "level", "gained_at", "data_for_class_table", "param", "property", "index"], 4)
    return {name: anything(chance, depth - 1) for name in names}


@pytest.mark.slow
def test_no_object_breaks_a_page_or_poses_as_our_own_headings(seed):
    chance = random.Random(f"{seed} render")
    for number in range(600):
        data = {key: anything(chance) for key in chance.sample(KEYS, 12)}
        entity_type = chance.choice(list(COLLECTIONS))
        kind = chance.choice(COLLECTIONS[entity_type].kinds)
        made = entry(entity_type, kind, data, name=POISON)
        page = markdown(made)
        where = f"seed {seed}, object {number}: {data}"
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", page), where
        assert "](http" not in page, where
        ours = [line for line in page.split("\n") if OURS.match(line)]
        assert not [line for line in ours[1:] if "evil" in line or line in ("# Actions", "## X")], where
        assert len(json.dumps(lean(made))) > 0


# --- the lean copy ---------------------------------------------------------------------------------------------------


def values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a JSON object that are not objects or lists, with the keys that lead there."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from values(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from values(inner, path)
    else:
        yield path, value


def test_what_the_text_of_a_spell_does_not_say_is_left_out():
    copy = lean(entry("spells", "spell", {
        "desc": "Ink deals 2d6 cold damage. A Dexterity saving throw halves it. It stings those who are near to the water, "
        "and goes on to sting them until they have left it and dried.",
        "damage_roll": "9d9", "damage_types": ["cold", "fire"], "saving_throw_ability": "dexterity"}))  # fmt: skip
    assert (copy.get("damage_roll"), copy["damage_types"], copy["saving_throw_ability"]) == (
        None,
        ["cold"],
        "dexterity",
    )


def test_the_copy_of_a_short_entry_is_its_page_or_its_name():
    assert lean(entry("rules", "environment", {"aquatic": False})) == {"name": "Gloom Heron"}
    long_keys = {f"a_very_long_key_of_its_own_{n}": "x" for n in range(9)}
    copy = lean(entry("rules", "rule", {"option_pack": long_keys, "desc": "It rains."}))
    assert len(json.dumps(copy)) <= MAX_RATIO * len(markdown(entry("rules", "rule", {"desc": "It rains."})))


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entries(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Entity]:
    """Every entry of the corpus."""
    return imported_entries(corpus, tmp_path_factory)


NOT_SHOWN = set(
    "key url document crossreferences illustration icon creaturesets speed_all modifiers saving_throws_all skill_bonuses_all "
    "normal_sight_range unit weight_unit distance_unit range_unit shape_size_unit attacks order_in_statblock index order "
    "initialHeaderLevel ruleset casting_options target_type target_count feature_type rank category_key gamesystem "
    "display_name publication_date".split()
)
"""Keys of the source's own, those made from others, and those that the text of the entry has in another form."""

OTHERWISE = {
    ("creatures", "category"), ("creatures", "armor_detail"), ("creatures", "languages.data.desc"),
    ("creatures", "actions.usage_limits.type"), ("creatures", "actions.legendary_action_cost"),
    ("equipment", "size.name"), ("spells", "range"), ("character_options", "caster_type"), ("character_options", "benefits.type"),
    ("character_options", "traits.type"), ("character_options", "subspecies_of"), ("equipment", "desc"),
    ("rules", "descriptions.document"), ("rules", "skills.descriptions.document"),
}  # fmt: skip
"""What is left out with a reason: filler values, and what is said in other words."""

WRONG_AT_THE_SOURCE = {"lore://spells/srd-2024/freedom-of-movement", "lore://creatures/srd-2014/xorn"}


def plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", prose(text).casefold()))


def own_words(value: Any, document: str) -> Any:
    """A JSON value without the descriptions in it that are another document's, and what only others describe."""
    if isinstance(value, list):
        return [own_words(item, document) for item in value if not of_others(item, document)]
    return {key: own_words(inner, document) for key, inner in value.items()} if isinstance(value, Mapping) else value


def of_others(item: Any, document: str) -> bool:
    if not isinstance(item, Mapping):
        return False
    descriptions = item.get("descriptions") or ([item] if "gamesystem" in item else [])
    return bool(descriptions) and all(description["document"] != document for description in descriptions)


def numbers(text: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text.replace(",", ""))} | {0.0}


@pytest.mark.corpus
@pytest.mark.parametrize("document", ["srd-2014", "srd-2024"])
def test_every_structured_field_of_the_reference_documents_is_on_the_page(entries, document):
    missing = []
    for each in entries:
        if each.document != document or each.uri in WRONG_AT_THE_SOURCE:
            continue
        page = markdown(each)
        text, shown = f" {plain(page)} ", numbers(page)
        for path, value in values(own_words(repaired(each), document)):
            if NOT_SHOWN & set(path) or (each.type, ".".join(path)) in OTHERWISE or isinstance(value, bool | None):
                continue
            if path[0] == "hit_points" and each.fields.get("parent"):
                continue  # which a subclass has from its class
            if path[-1].startswith("hit_points_at") and document == "srd-2024":
                continue  # which the core traits of its classes do not say
            if path[-1] == "hit_dice_name":
                value = str(value).replace("1D", "d")
            if path == ("armor", "category") and each.data["armor"]["name"] == "Shield":
                value = "shield"  # which the source takes for heavy armor
            coins = path[-1] == "cost" and {round(float(value) * worth, 6) for worth in (1, 10, 100)} & shown
            if not coins and not on_page(value, text, shown):
                missing.append((each.uri, ".".join(path), value))
    assert missing == []


def on_page(value: Any, text: str, shown: set[float]) -> bool:
    if isinstance(value, str) and not re.fullmatch(r"\d+\.\d+", value):
        spaced = re.sub(r"(?<=\d)(?=minute|hour|week|day)", " ", plain(value)) if len(value) < 12 else plain(value)
        return spaced.replace("5e 2014", "") in text
    return abs(float(value)) in shown or value in (0.125, 0.25, 0.5)


# --- editions --------------------------------------------------------------------------------------------------------


def of_rules(key: str, document: str = "tide-atlas") -> dict[str, Any]:
    return {"key": document, "name": document, "gamesystem": {"key": key}}


def test_a_comparison_of_editions_does_not_compare_their_style():
    spell = {
        "level": 3,
        "school": ref("Evocation"),
        "casting_time": "action",
        "desc": "Ink rains.",
        "higher_level": "More.",
    }
    both = [
        replace(entry("spells", "spell", {**spell, "document": of_rules(system)}), document=system)
        for system in ("5e-2014", "5e-2024")
    ]
    assert not any(fact.differs for fact in differences(both).facts)
