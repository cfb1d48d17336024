"""Filters are checked once, before any backend sees them; what is wrong is named, with the known names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS, MAX_TEXT_LENGTH, Field, FieldType
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import (
    MAX_VALUES,
    Condition,
    clean_fields,
    known_filters,
    loaded,
    name_rank,
    parse_filters,
    stored,
    unknown_name,
)
from tests.support.examples import examples

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


def test_equality_bounds_any_of_and_names_are_told_apart():
    assert parsed("spells", level=3, level_min=1, level_max="5", school=["Evocation", "NECROMANCY"], name="Fire") == [
        ("level", "any", (3,)),
        ("level", "min", (1,)),
        ("level", "max", (5,)),
        ("school", "any", ("evocation", "necromancy")),
        ("name", "name", ("fire",)),
    ]


@pytest.mark.parametrize(
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


def test_what_has_no_list_of_words_has_none_of_them():
    (condition,) = parse_filters("spells", {"where": "-class:wizard"})
    assert [condition.met_by(value) for value in (None, ("wizard",), ("bard",))] == [True, False, True]


def test_none_means_no_filter_but_zero_false_and_no_values_are_filters():
    assert parsed("spells", level=None, school=None) == []
    assert parsed("spells", level=0, ritual=False, classes=[]) == [
        ("level", "any", (0,)),
        ("ritual", "any", (False,)),
        ("classes", "any", ()),
    ]


@pytest.mark.parametrize(
    ("value", "thousandths"),
    [("1/4", 250), (0.25, 250), ("0.25", 250), (" 1/8 ", 125), (0.125, 125), (5, 5000), ("30", 30000), (0, 0)],
)
def test_challenge_ratings_are_exact_in_every_spelling(value, thousandths):
    assert parsed("creatures", challenge_rating=value) == [("challenge_rating", "any", (thousandths,))]


@pytest.mark.parametrize("spelling", ["wizard", "Wizard", "srd_wizard", "srd-2024_wizard"])
def test_a_class_matches_in_every_edition(spelling):
    assert parsed("spells", classes=spelling) == [("classes", "any", ("wizard",))]


def test_texts_compare_without_case_and_punctuation_but_document_keys_exactly():
    assert parsed("creatures", alignment="Chaotic-Evil", document=["SRD-2014"]) == [
        ("alignment", "any", ("chaotic evil",)),
        ("document", "any", ("SRD-2014",)),
    ]


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("TRUE", True), ("no", False), ("false", False)])
def test_flags_understand_words_of_the_command_line(word, value):
    assert parsed("spells", ritual=word) == [("ritual", "any", (value,))]


@pytest.mark.parametrize(
    "text",
    [
        '"; drop table spells; --',
        "' or '1'='1",
        "a\\b",
        "line\nbreak",
        "tab\tstop",
        "\x1b[31mred",
        "100%",
        "{x}",
        "\u2028",
    ],
)
def test_quotes_backslashes_and_control_characters_are_plain_text(text):
    for field in TEXTS:
        (condition,) = parse_filters("spells", {field: f"fire{text}"})
        assert condition.values, field
        assert all(isinstance(value, str) and value.startswith("fire") for value in condition.values), field


TEXTS = ["name", "school", "classes", "casting_time", "document", "kind"]


NOT_TEXT: list[Any] = [3, 1.5, True, b"fire", {"a": 1}, "", "   ", "\n", "nul\0", "x" * (MAX_TEXT_LENGTH + 1), object()]
NOT_NUMBER: list[Any] = [
    "three", "", " ", "1/0", "1/", "/2", "1//2", "--1", "1e5", "1_000", "0x10", "NaN", "inf", "-Infinity", "1 2", "3\n4",
    "½", float("nan"), float("inf"), -float("inf"), Decimal("NaN"), Decimal("Infinity"), 1j, True, False, b"1", {}, {"a": 1},
    object(), 10**400, -(2**63) - 1, 2**63, 1e300, "9" * 5000,
]  # fmt: skip
NOT_FLAG: list[Any] = [0, 1, 1.0, "1", "maybe", "", "t", object(), b"yes", {}, float("nan")]


def refuses(entity_type: str, key: str, value: Any) -> str:
    try:
        parsed = parse_filters(entity_type, {key: value})
    except FilterError as refused:
        return str(refused)
    pytest.fail(f"{key}={value!r:.40} is taken as {parsed}")


@pytest.mark.parametrize("field", TEXTS)
def test_a_text_field_refuses_every_other_type(field):
    for value in NOT_TEXT:
        assert field in refuses("spells", field, value)


@pytest.mark.parametrize("field", ["level", "level_min", "level_max", "range", "range_min"])
def test_a_number_field_refuses_every_other_type(field):
    for value in NOT_NUMBER:
        assert field.removesuffix("_min").removesuffix("_max") in refuses("spells", field, value)


@pytest.mark.parametrize("value", [0.5, "1/2", "2.5", 1e-9])
def test_a_whole_number_field_refuses_fractions(value):
    assert "level must be a whole number" in refuses("spells", "level", value)


@pytest.mark.parametrize("value", NOT_FLAG, ids=lambda value: repr(value)[:20])
def test_a_flag_refuses_what_is_neither_true_nor_false(value):
    assert "ritual must be true or false" in refuses("spells", "ritual", value)


@pytest.mark.parametrize("value", [[3], (1, 2), [], {1}])
def test_a_bound_takes_one_value(value):
    assert "level" in refuses("spells", "level_min", value)


@pytest.mark.parametrize("value", [["fire", "ice"], [], ["fire"]])
def test_a_name_takes_one_value(value):
    assert "name" in refuses("spells", "name", value)


@pytest.mark.parametrize("wrong", [None, 7, ["wizard"], ""])
def test_one_wrong_value_in_a_list_refuses_the_filter(wrong):
    assert "classes" in refuses("spells", "classes", ["wizard", wrong])


def test_any_of_takes_many_values_up_to_a_stated_limit():
    assert len(parse_filters("spells", {"level": list(range(MAX_VALUES))})[0].values) == MAX_VALUES
    assert f"at most {MAX_VALUES}" in refuses("spells", "level", list(range(MAX_VALUES + 1)))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "key", ["", "zzz", "school_min", "ritual_max", "classes_min", "name_min", "level'--", "le\nvel", "_min"]
)
def test_an_unknown_field_is_refused_even_where_nothing_is_near(key):
    assert "known: name" in refuses("spells", key, 1)


def test_a_field_of_another_type_is_unknown_here():
    assert "unknown filter for spells" in refuses("spells", "challenge_rating", 1)


@pytest.mark.parametrize("entity_type", ["potions", "", "Spells", "spell"])
def test_an_unknown_type_is_refused_with_the_known_ones(entity_type):
    with pytest.raises(FilterError, match="known: spells, creatures, equipment"):
        parse_filters(entity_type, {})


def test_bounds_are_known_filters_of_numbers_only():
    known = known_filters(COLLECTIONS["spells"])
    assert {"level", "level_min", "level_max", "range_min", "school", "name", "document"} <= set(known)
    assert "school_min" not in known
    assert "ritual_max" not in known


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


def test_fields_that_are_not_known_stay_out():
    assert clean_fields("spells", {"level": None, "school": "Evocation", "ritual": False, "unrelated": 1}) == {
        "school": "evocation",
        "ritual": False,
    }


def test_a_list_holds_each_text_once_in_the_order_it_came():
    field: Field = COLLECTIONS["spells"].field("classes")
    assert stored(field, ["srd_wizard", "Bard", "srd-2024_wizard"]) == ("wizard", "bard")


def test_names_rank_whole_before_beginning_before_part():
    assert [name_rank(name, "fire bolt") for name in ("fire bolt", "fire bolt storm", "great fire bolt")] == [0, 1, 2]
    assert [name_rank(name, "hag") for name in ("hag brine", "green hag", "arcanaphage")] == [1, 2, 3]


@pytest.mark.parametrize("name", ["name", "school", "classes", "kind", "level", "ritual"])
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
