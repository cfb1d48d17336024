"""Variants of one thing on one line: whose price and rarity stand there, and that the others' are not the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import label_of, other_facts
from lorekeeper.server.found import Shown, page_content, page_text
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")


def item(slug: str, name: str, text: str, **values: Any) -> Entity:
    return make(slug, text, type="equipment", kind="gear", name=name, **values)


def elixir(slug: str, strength: str, **values: Any) -> Entity:
    text = "Who drinks this murky elixir feels warm for an hour, whatever its strength."
    return item(slug, f"Elixir of {strength} Warmth", text, category="potion", **values)


SLEDS = [
    item("sled-a", "Sled (Dog)", "A light sled for two.", category="vehicle", cost=20.0, weight=90.0),
    item("sled-b", "Sled (Reindeer)", "A long sled for freight.", category="vehicle", cost=65.0, weight=90.0),
]
ELIXIRS = [
    elixir("warmth-1", "Faint", rarity="common", cost=30.0),
    elixir("warmth-2", "Fair", rarity="uncommon"),
    elixir("warmth-3", "Fierce", rarity="rare"),
    elixir("warmth-4", "Fiery", rarity="very rare", requires_attunement=True),
]
LAMPS = [item(f"lamp-{n}", f"Lamp ({n})", "It burns.", category="gear", cost=5.0) for n in ("Tin", "Brass")]


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with open_library(tmp_path_factory.mktemp("variants"), backend="sqlite") as opened:
        await opened.cache.store_entities([*SLEDS, *ELIXIRS, *LAMPS], "equipment")
        yield opened


async def first(library: Library, text: str | None = None, **filters: object) -> dict[str, object]:
    page = await library.search(Query(["equipment"], text, filters=filters))
    content = page_content(page)["results"][0]
    assert str(content["facts"]) in page_text(Shown(page))
    return dict(content)


@pytest.mark.parametrize(
    ("asked", "name", "facts"),
    [
        ("reindeer sled price", "Sled (Reindeer)", "vehicle · 65 gp · 90 lb; Dog: 20 gp"),
        ("what does a dog sled cost", "Sled (Dog)", "vehicle · 20 gp · 90 lb; Reindeer: 65 gp"),
    ],
)
async def test_the_variant_that_the_query_names_leads_and_the_price_of_the_other_is_named(library, asked, name, facts):
    found = await first(library, asked)
    assert (found["name"], found["facts"]) == (name, facts)


async def test_facts_of_any_kind_that_differ_are_told_apart() -> None:
    blade = item("a", "Blade", "x", category="weapon", damage_type="cold", properties=("light",))
    others = [
        item("b", "Blade (Long)", "x", category="weapon", damage_type="cold", properties=("heavy", "reach")),
        item("c", "Blade (Odd)", "x", category="weapon", damage_type="fire"),
    ]
    assert other_facts(blade, others) == "Long: heavy, reach; Odd: fire, not light"


@each_row(
    ("name", "variant", "label"),
    [
        ("Casting (Level 4-5)", "Casting (Level 1)", "Level 1"),
        ("Casting (Cantrip)", "Casting (Level 1)", "Level 1"),
        ("Potion of Healing", "Potion of Greater Healing", "Greater Healing"),
        ("Rope, silk", "Rope", "Rope"),
    ],
)
async def test_a_variant_is_called_by_what_differs_in_its_name(name: str, variant: str, label: str) -> None:
    assert label_of(name, variant) == label
