"""Filters are checked once, before any backend sees them; what is wrong is named, with the known names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS, FieldType
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import (
    MAX_VALUES,
    Condition,
    clean_fields,
    known_filters,
    loaded,
    parse_filters,
    stored,
    unknown_name,
)
from tests.support.examples import examples
from tests.support.tables import each_row

FIELDS = [(c.name, f) for c in COLLECTIONS.values() for f in c.fields]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)

VALUES: dict[FieldType, st.SearchStrategy[Any]] = {
    FieldType.TEXT: TEXT,
    FieldType.TEXTS: st.lists(TEXT, max_size=5),
    FieldType.INTEGER: st.integers(-(2**63) + 1, 2**63 - 1),
    FieldType.DECIMAL: st.floats(-1e12, 1e12, allow_nan=False),
    FieldType.FLAG: st.booleans(),
    FieldType.DATE: st.integers(-(10**11), 10**11),
}

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.complex_numbers()
    | st.text(st.characters())
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3) | st.tuples(inner)
    ),
    max_leaves=5,
)


def parsed(entity_type: str, **filters: Any) -> list[tuple[str, str, tuple[Any, ...]]]:
    return [(c.field.name, c.op, c.values) for c in parse_filters(entity_type, filters)]


@each_row(
    ("test", "met"),
    [
        ("level>=2", [2, 3, 4, 5]),
        ("level<=2", [0, 1, 2]),
        ("level>2", [3, 4, 5]),
        ("level<2", [0, 1]),
        ("-level:2..4", [0, 1, 5]),
        ("-level:2", [0, 1, 3, 4, 5]),
    ],
)
def test_bounds_hold_to_their_ends_and_an_absent_number_meets_none(test, met):
    (condition,) = parse_filters("spells", {"where": test})
    assert [level for level in (None, *range(6)) if condition.met_by(level)] == met


@each_row(
    ("value", "thousandths"),
    [("1/4", 250), (0.25, 250), ("0.25", 250), (" 1/8 ", 125), (0.125, 125), (5, 5000), ("30", 30000), (0, 0)],
)
def test_challenge_ratings_are_exact_in_every_spelling(value, thousandths):
    assert parsed("creatures", challenge_rating=value) == [("challenge_rating", "any", (thousandths,))]


@each_row("spelling", ["wizard", "Wizard", "srd_wizard", "srd-2024_wizard"])
def test_a_class_matches_in_every_edition(spelling):
    assert parsed("spells", classes=spelling) == [("classes", "any", ("wizard",))]


@each_row(("word", "value"), [("yes", True), ("TRUE", True), ("no", False), ("false", False)])
def test_flags_understand_words_of_the_command_line(word, value):
    assert parsed("spells", ritual=word) == [("ritual", "any", (value,))]


@each_row(
    ("key", "field", "op"),
    [("cr", "challenge_rating", "any"), ("cr_max", "challenge_rating", "max"), ("environment", "environments", "any")],
)
def test_a_field_has_the_name_of_the_parameter_of_its_tool_too(key, field, op):
    assert [(name, how) for name, how, _ in parsed("creatures", **{key: "1"})] == [(field, op)]


TEXTS = ["name", "school", "classes", "casting_time", "document", "kind"]


def refuses(entity_type: str, key: str, value: Any) -> str:
    try:
        parsed = parse_filters(entity_type, {key: value})
    except FilterError as refused:
        return str(refused)
    pytest.fail(f"{key}={value!r:.40} is taken as {parsed}")


def test_any_of_takes_many_values_up_to_a_stated_limit():
    assert len(parse_filters("spells", {"level": list(range(MAX_VALUES))})[0].values) == MAX_VALUES
    assert f"at most {MAX_VALUES}" in refuses("spells", "level", list(range(MAX_VALUES + 1)))


@each_row(
    ("entity_type", "key", "meant"),
    [
        ("spells", "lvl", "level"),
        ("spells", "schol", "school"),
        ("spells", "level_mim", "level_min"),
        ("spells", "Concentration", "concentration"),
        ("creatures", "challenge_ratings", "challenge_rating"),
        ("creatures", "armour_class", "armor_class"),
        ("equipment", "propertys", "properties"),
    ],
)
def test_a_misspelt_field_is_answered_with_the_nearest_one_and_the_known_ones(entity_type, key, meant):
    message = refuses(entity_type, key, "x")
    assert repr(key) in message
    assert f"did you mean {meant!r}?" in message
    assert all(name in message for name in known_filters(COLLECTIONS[entity_type]))


@given(ANYTHING, st.sampled_from([(c.name, key) for c in COLLECTIONS.values() for key in known_filters(c)]))
@examples(400)
def test_any_value_is_either_parsed_or_refused_as_a_filter_error(value, where):
    entity_type, key = where
    try:
        conditions = parse_filters(entity_type, {key: value})
    except LoreKeeperError as refused:
        assert isinstance(refused, FilterError)  # noqa: PT017
        return
    for condition in conditions:
        assert isinstance(condition, Condition)
        assert all(type(v) in (str, int, bool) for v in condition.values)


@given(st.data())
@examples(300)
def test_storing_and_loading_a_canonical_value_gives_it_back(data):
    _, field = data.draw(st.sampled_from(FIELDS))
    canonical = loaded(field, stored(field, data.draw(VALUES[field.type])))
    assert loaded(field, stored(field, canonical)) == canonical


@given(st.data())
@examples(300)
def test_cleaning_the_fields_of_an_entity_twice_changes_nothing_more(data):
    entity_type, field = data.draw(st.sampled_from(FIELDS))
    once = clean_fields(entity_type, {field.name: data.draw(VALUES[field.type])})
    assert clean_fields(entity_type, once) == once


@given(st.integers(0, 30_000))
def test_a_decimal_is_exact_to_a_thousandth(thousandths):
    field = COLLECTIONS["creatures"].field("challenge_rating")
    assert stored(field, loaded(field, thousandths)) == thousandths


@each_row("name", ["name", "school", "classes", "kind", "level", "ritual"])
def test_b21_half_a_pair_in_a_filter_is_refused(name):
    for value in ("\udcff", "a\ud800b", ["fine", "\udfff"]):
        message = refuses("spells", name, value)
        assert name in message
        assert message.encode()


def test_what_people_call_a_type_is_answered_with_the_type():
    types = ["spells", "creatures", "equipment", "character_options", "rules", "notes"]
    for called, meant in (
        ("monsters", "creatures"),
        ("NPC", "creatures"),
        ("items", "equipment"),
        ("classes", "character_options"),
        ("feat", "character_options"),
        ("conditions", "rules"),
        ("spell", "spells"),
    ):
        assert f"did you mean {meant!r}?" in unknown_name(called, types, "type")
    assert "creatures" not in unknown_name("monsters", ["order", "limit"], "parameter")
