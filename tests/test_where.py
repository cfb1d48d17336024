"""The grammar of ``where``: what it reads, and how it says what is wrong."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import Condition, named_field, parse_filters, without_bound
from lorekeeper.search.query import types_with
from lorekeeper.where import MAX_LENGTH
from tests.support.examples import examples
from tests.support.tables import each_row

Read = list[tuple[str, str, tuple[Any, ...], bool]]


def read(entity_type: str, text: str) -> Read:
    return [(c.field.name, c.op, c.values, c.negate) for c in parse_filters(entity_type, {"where": text})]


READ: list[tuple[str, str, Read]] = [
    ("spells", "level:3", [("level", "any", (3,), False)]),
    ("spells", "level=3", [("level", "any", (3,), False)]),
    ("spells", "level:1,3, 5", [("level", "any", (1, 3, 5), False)]),
    ("spells", "level >= 3", [("level", "min", (3,), False)]),
    ("spells", "level>3", [("level", "above", (3,), False)]),
    ("spells", "level<=3", [("level", "max", (3,), False)]),
    ("spells", "level<3", [("level", "below", (3,), False)]),
    ("spells", "-level<3", [("level", "min", (3,), False)]),
    ("spells", "-level>=3", [("level", "below", (3,), False)]),
    ("spells", "level:1..3", [("level", "min", (1,), False), ("level", "max", (3,), False)]),
    ("spells", "level:1..", [("level", "min", (1,), False)]),
    ("spells", "level=..3", [("level", "max", (3,), False)]),
    ("spells", "-level:1..3", [("level", "outside", (1, 3), False)]),
    ("spells", "-level:..3", [("level", "above", (3,), False)]),
    ("spells", "-level:3", [("level", "any", (3,), True)]),
    ("creatures", "cr:1/4..1", [("challenge_rating", "min", (250,), False), ("challenge_rating", "max", (1000,), False)]),
    ("creatures", "CR>1/2", [("challenge_rating", "above", (500,), False)]),
    ("creatures", "ac>=18 hp<50", [("armor_class", "min", (18,), False), ("hit_points", "below", (50,), False)]),
    ("creatures", "senses_truesight>0", [("truesight", "above", (0,), False)]),
    ("creatures", "legendary_actions>0 -lair_action>=1", [("legendary", "any", (True,), False), ("lair", "any", (False,), False)]),
    ("creatures", "environment:Swamp", [("environments", "any", ("swamp",), False)]),
    ("creatures", "alignment:\"Chaotic Evil\",neutral", [("alignment", "any", ("chaotic evil", "neutral"), False)]),
    ("creatures", "-type:dragon,undead", [("type", "any", ("dragon", "undead"), True)]),
    ("spells", "class_key:wizard", [("classes", "any", ("wizard",), False)]),
    ("spells", "class:wizard", [("classes", "any", ("wizard",), False)]),
    ("spells", "damage:fire", [("damage_types", "any", ("fire",), False)]),
    ("spells", "damage.type:fire", [("damage_types", "any", ("fire",), False)]),
    ("spells", "ritual", [("ritual", "any", (True,), False)]),
    ("spells", "-ritual", [("ritual", "any", (False,), False)]),
    ("spells", "ritual:no", [("ritual", "any", (False,), False)]),
    ("spells", "name:\"fire bolt\"", [("name", "name", ("fire bolt",), False)]),
    ("spells", "-name:fire", [("name", "name", ("fire",), True)]),
    ("spells", "document:srd-2014 kind:spell", [("document", "any", ("srd-2014",), False), ("kind", "any", ("spell",), False)]),
    ("equipment", "property:finesse", [("properties", "any", ("finesse",), False)]),
    ("equipment", "mastery:topple", [("properties", "any", ("topple",), False)]),
    ("creatures", "swim_speed>0", [("speed_swim", "above", (0,), False)]),
    ("creatures", "vulnerabilities:radiant", [("vulnerable", "any", ("radiant",), False)]),
    ("creatures", "resistance:cold", [("resistant", "any", ("cold",), False)]),
    ("creatures", "damage_immunities:fire", [("immune", "any", ("fire",), False)]),
    ("creatures", "condition_immunities:prone", [("immune", "any", ("prone",), False)]),
    ("creatures", "speed>=40", [("speed_walk", "min", (40000,), False)]),
]  # fmt: skip


@each_row(("entity_type", "text", "meaning"), READ)
def test_tests_are_read(entity_type, text, meaning):
    assert read(entity_type, text) == meaning
    assert read(entity_type, f"  {text}\n") == meaning


WRONG = [
    ("spells", "", "where is empty"),
    ("spells", "   ", "where is empty"),
    ("spells", "fireball", "unknown field of spells: 'fireball'"),
    ("spells", "level", "level needs a value: level:VALUE"),
    ("spells", "levl:3", "did you mean 'level'"),
    ("spells", "cr:3", "cr is a field of creatures, not of spells"),
    ("equipment", "type:ring", "type is a field of creatures, not of equipment"),
    ("equipment", "attunement:true", "did you mean 'requires_attunement'"),
    ("character_options", "speed>=35", "not of character_options, whose texts semantic_query searches"),
    ("spells", "level:three", "level must be a number, not 'three'"),
    ("spells", "range:touch", "range must be a number, not 'touch': range in feet, 0 = self or touch"),
    ("creatures", "language:deep speech", '-language:"deep speech" cr:5..8, separated by spaces'),
    ("spells", "level:2.5", "whole number"),
    ("spells", "level>=1,2", ">= takes one value"),
    ("spells", "level:1..2,5", "a range is one value"),
    ("spells", "level>1..2", "a range is one value"),
    ("spells", "level:..", "a range is one value"),
    ("spells", "school>=3", "school is not a number; write school:VALUE"),
    ("spells", "school:a..b", "school is not a number"),
    ("spells", "ritual:maybe", "ritual must be true or false"),
    ("spells", 'school:""', "school must be a non-empty text"),
    ("spells", 'school:"open', "is not a condition"),
    ("spells", "level:3)", "level must be a number"),
    ("spells", "(level:3)", "is not a condition"),
    ("spells", "level:3 | level:4", "is not a condition"),
    ("spells", "school!=evocation", "is not a condition"),
    ("spells", "level:3 " * 200, "at most"),
    ("spells", 7, "where must be a text"),
    ("spells", "school:\ud800", "not valid Unicode"),
]


@each_row(("entity_type", "text", "reason"), WRONG)
def test_what_is_wrong_is_named_with_an_example(entity_type, text, reason):
    with pytest.raises(FilterError) as refused:
        parse_filters(entity_type, {"where": text})
    message = str(refused.value)
    assert reason in message
    assert "immune:poison" in message or "at most" in message or "Unicode" in message
    assert message.encode()


def test_the_test_that_is_wrong_is_the_one_named():
    with pytest.raises(FilterError, match=r"^where: 'levl:3': unknown field"):
        parse_filters("spells", {"where": "school:evocation levl:3 ritual"})


def test_every_declared_field_is_reachable_by_its_name_and_its_parameters():
    assert COLLECTIONS["creatures"].fields
    for collection in COLLECTIONS.values():
        for field in collection.filters.values():
            assert named_field(collection, field.name) is field
            assert named_field(collection, field.name.replace("_", ".").upper()) is field
            for parameter in field.tool:
                assert named_field(collection, without_bound(parameter)) is not None


@given(st.text(alphabet='ab level:=<>.,"-_/19 \n', max_size=60) | st.text(max_size=60))
@examples(300)
def test_any_text_is_read_or_refused_as_a_filter_error(text):
    try:
        conditions = parse_filters("spells", {"where": text})
    except LoreKeeperError as refused:
        assert isinstance(refused, FilterError)  # noqa: PT017
        return
    assert conditions
    assert all(isinstance(condition, Condition) for condition in conditions)


@each_row("part", ["a,", '"', "a ", " ", "-", "a:", ":", "level:1,", '""', "a:\t", "..", "é", "a:b,"])
def test_the_longest_texts_take_no_time(part):
    began = time.thread_time()
    with pytest.raises(FilterError):
        parse_filters("spells", {"where": ("level:" + part * MAX_LENGTH)[: MAX_LENGTH - 1] + "!"})
    assert time.thread_time() - began < 1


# --- over several types ----------------------------------------------------------------------------------------------

SEVERAL = ["spells", "creatures", "equipment", "rules"]


@each_row(
    ("filters", "types"),
    [
        ({}, SEVERAL),
        ({"where": "level:3"}, ["spells"]),
        ({"where": "damage_type:fire"}, ["spells", "equipment"]),
        ({"where": "name:fire"}, SEVERAL),
        ({"where": "document:srd-2014 cr>3"}, ["creatures"]),
        ({"level_max": 3}, ["spells"]),
        ({"level_max": None, "where": None}, SEVERAL),
    ],
)
def test_a_filter_restricts_a_search_to_the_types_that_have_it(filters, types):
    assert set(types) <= set(types_with(SEVERAL, filters))
    assert ("rules" in types_with(SEVERAL, filters)) == ("rules" in types)


@each_row(
    ("types", "where", "reason"),
    [
        (["creatures", "rules"], "school:evocation", r"school is a filter of spells: .*types=\['spells'\]"),
        (SEVERAL, "school:evocation cr>3", r"no type has all of these filters: school is a filter of spells; cr is"),
        (SEVERAL, "scool:evocation", r"unknown filter: 'scool'; did you mean 'school'\?"),
        (SEVERAL, "cr>=5 flies", r"unknown filter: 'flies'; did you mean 'speed\.fly>0'\?"),
        (SEVERAL, "swims", r"unknown filter: 'swims'; did you mean 'speed\.swim>0'\?"),
        (SEVERAL, "weakness", r"unknown filter: 'weakness'; did you mean 'vulnerable'\?"),
        (SEVERAL, "telepathic", r"unknown filter: 'telepathic'; did you mean 'telepathy>0'\?"),
        (SEVERAL, "slowest<20", r"unknown filter: 'slowest'; did you mean 'speed_walk'\?"),
    ],
)
def test_filters_that_no_searched_type_has_are_refused_with_those_that_do(types, where, reason):
    with pytest.raises(FilterError, match=reason):
        types_with(types, {"where": where})
