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
from tests.support.tables import each_row, rows


def read(entity_type: str, text: str) -> list[list[Any]]:
    return [[c.field.name, c.op, [*c.values], c.negate] for c in parse_filters(entity_type, {"where": text})]


READ = rows("where")
"""Types, texts and what they mean: for each test its field, how and with what it compares, and whether it is negated."""


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
