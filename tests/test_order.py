"""Orders: what may be asked for."""

from __future__ import annotations

import pytest

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError
from lorekeeper.order import BY_NAME, Order, order_names, parse_orders
from tests.support.tables import each_row

SPELLS, CREATURES = COLLECTIONS["spells"], COLLECTIONS["creatures"]


@each_row(
    ("text", "order"),
    [
        ("name", BY_NAME),
        ("name desc", Order(descending=True)),
        ("cr", Order(CREATURES.field("challenge_rating"), descending=True)),
        ("CR asc", Order(CREATURES.field("challenge_rating"))),
        ("hit.points", Order(CREATURES.field("hit_points"), descending=True)),
        ("hp  desc", Order(CREATURES.field("hit_points"), descending=True)),
        ("-HP", Order(CREATURES.field("hit_points"), descending=True)),
        ("-name", Order(descending=True)),
        ("newest", Order(documents=("new", "old"))),
        ("book", Order(documents=("old", "new"))),
        ("-book", Order(documents=("new", "old"))),
        ("edition desc", Order(documents=("old", "new"))),
        ("type", Order(texts=("kind_name", "type"))),
        ("type desc", Order(texts=("kind_name", "type"), descending=True)),
        ("random", Order(seed=7)),
        ("relevance", None),
        ("", None),
        (None, None),
    ],
)
def test_an_order_is_a_name_and_maybe_a_direction(text, order):
    expected = None if order is None else {"creatures": order}
    documents = {"newest": ["new", "old"], "book": ["old", "new"], "edition": ["new", "old"]}
    assert parse_orders(["creatures"], text, seed=7, documents=documents) == expected


def test_help_lists_orders_that_exist():
    assert order_names(SPELLS) == ["name", "level", "newest", "random"]
    assert parse_orders(["spells", "rules"], "type") == {
        "spells": Order(texts=("kind_name", "school")),
        "rules": Order(texts=("kind_name",)),
    }
    for name, collection in COLLECTIONS.items():
        for order in order_names(collection):
            assert parse_orders([name], order)


@each_row(
    ("types", "text", "reason"),
    [
        (["spells"], "cr", "cr is an order of creatures, not of spells$"),
        (
            ["spells", "rules"],
            "cr",
            r"cr is an order of creatures: search these types alone, with types=\['creatures'\]",
        ),
        (["spells"], "levle", r"unknown order: 'levle'; did you mean 'level'\? known: relevance, name, level"),
        (["spells"], "school", r"unknown order: 'school'"),
        (["spells"], "level down", r"asc or desc"),
        (["spells"], "level asc desc", r"asc or desc"),
        (["spells"], "-level asc", r"asc or desc"),
        (["spells"], "relevance desc", r"unknown order"),
    ],
)
def test_an_order_that_does_not_exist_is_refused_with_those_that_do(types, text, reason):
    with pytest.raises(FilterError, match=reason):
        parse_orders(types, text)
