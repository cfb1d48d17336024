"""The one table of entity types, comparable strings, identities and hashes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import BASE_FIELDS, COLLECTIONS, Entity, canonical_json, parse_uri
from lorekeeper.errors import FilterError
from lorekeeper.field_values import stored
from lorekeeper.folding import fold, fold_key, fold_time
from tests.support.examples import examples
from tests.support.tables import each_row

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
PRINTED = TEXT.filter(lambda text: bool(text.strip()))

ENTITY = Entity(
    type="spells",
    slug="frost-step",
    name="Frost Step",
    kind="spell",
    document="my-world",
    source_api="lorekeeper",
    data={"name": "Frost Step", "level": 2},
    fields={"level": 2, "classes": ("wizard",)},
)


def test_no_collection_that_libraries_hold_is_missing_and_none_of_its_kinds():
    kinds = {
        "spells": ("spell",),
        "creatures": ("creature",),
        "equipment": ("weapon", "armor", "magic-item", "gear"),
        "character_options": ("class", "subclass", "race", "subrace", "background", "feat"),
        "rules": ("rule", "section", "condition"),
        "notes": ("note", "npc", "location", "faction", "item", "session", "quest", "character"),
        "documents": ("document",),
    }
    assert [name for name in kinds if not set(kinds[name]) <= set(COLLECTIONS[name].kinds)] == []


@each_row("collection", COLLECTIONS.values())
def test_every_filter_of_a_collection_has_one_name_and_a_line_of_help(collection):
    declared = [f.name for f in (*BASE_FIELDS, *collection.fields)]
    assert len(set(declared)) == len(declared) == len(collection.filters)
    assert all(f.help for f in collection.filters.values())


@each_row("collection", COLLECTIONS.values())
def test_a_tool_parameter_belongs_to_one_field_and_bounds_only_to_numbers(collection):
    parameters = [(p, f) for f in collection.fields for p in f.tool]
    assert len({p for p, _ in parameters}) == len(parameters)
    assert all(f.type.ordered for p, f in parameters if p.endswith(("_min", "_max")))


@each_row(
    ("text", "folded"),
    [
        ("Half-Elf", "half elf"),
        ("half elf", "half elf"),
        ("HALF_ELF", "half elf"),
        ("  half -  elf ", "half elf"),
        ("Will-o'-Wisp", "will o wisp"),
        ("Hunter’s Mark", "hunters mark"),
        ("hunter's mark", "hunters mark"),
        ("Éowyn's Glyphe", "eowyns glyphe"),
        ("straße", "strasse"),
        ("+1 Shield", "1 shield"),
        ("ﬁre", "fire"),
        ("дракон", "дракон"),
    ],
)
def test_spellings_of_one_name_fold_to_one_text(text, folded):
    assert fold(text) == folded


@each_row("text", ["!!", "—", "_", "'", "’", "\u0301", "★ ★"])
def test_a_text_without_letters_folds_to_itself_and_not_to_nothing(text):
    assert fold(text) == text


@given(TEXT)
@examples(300)
def test_folding_twice_changes_nothing_more(text):
    assert fold(fold(text)) == fold(text)


@each_row("key", ["Wizard", "wizard", "srd_wizard", "srd-2024_wizard", "a5e_WIZARD"])
def test_a_key_folds_without_the_prefix_of_its_source(key):
    assert fold_key(key) == "wizard"


@each_row(
    ("time", "folded"),
    [
        ("action", "action"),
        ("1 Action", "action"),
        ("1action", "action"),
        ("bonus-action", "bonus action"),
        ("1 bonus action", "bonus action"),
        ("1 reaction", "reaction"),
        ("10minutes", "10 minutes"),
        ("10 Minutes", "10 minutes"),
        ("1minute", "1 minute"),
        ("1hour", "1 hour"),
        ("12 hours", "12 hours"),
        ("2 actions", "2 actions"),
        ("turn", "turn"),
        ("1round", "round"),
    ],
)
def test_casting_times_fold_to_one_spelling_that_stays(time, folded):
    assert fold_time(time) == folded
    assert fold_time(folded) == folded


def test_canonical_json_is_one_text_per_value():
    assert canonical_json({"b": [1, "ä"], "a": None}) == canonical_json({"a": None, "b": [1, "ä"]}) == (
        '{"a":null,"b":[1,"ä"]}'
    )  # fmt: skip


@each_row("value", [float("nan"), float("inf"), -float("inf")])
def test_canonical_json_refuses_what_json_cannot_say(value):
    with pytest.raises(ValueError):
        canonical_json({"level": value})


@each_row(
    "change",
    [
        {"name": "Frost Leap"},
        {"kind": "cantrip"},
        {"source_api": "open5e-v2"},
        {"document_name": "My World"},
        {"fields": {"level": 3, "classes": ("wizard",)}},
        {"fields": {"level": 2}},
        {"data": {"name": "Frost Step", "level": 2, "desc": "You step over ice."}},
    ],
)
def test_the_content_hash_changes_with_anything_that_is_stored(change: dict[str, Any]):
    assert replace(ENTITY, **change).content_hash != ENTITY.content_hash


@given(document=PRINTED, slug=PRINTED, kind=st.sampled_from(list(COLLECTIONS)))
def test_a_uri_of_any_identity_can_be_read_back(document, slug, kind):
    entity = replace(ENTITY, type=kind, document=document, slug=slug)
    assert parse_uri(entity.uri) == (kind, document, slug)
    assert entity.identity == (document, slug)


@each_row(
    "uri",
    [
        "",
        "fireball",
        "lore://",
        "lore://spells",
        "lore://spells/srd-2014",
        "lore://spells/srd-2014/",
        "lore://spells//fireball",
        "lore://potions/srd-2014/fireball",
        "http://spells/srd-2014/fireball",
        "Spells/srd-2014/fireball",
    ],
)
def test_what_is_no_lore_uri_is_refused_with_an_example(uri):
    with pytest.raises(ValueError, match="lore://spells/srd-2014/fireball") as refused:
        parse_uri(uri)
    assert all(name in str(refused.value) for name in COLLECTIONS)


def test_a_field_of_texts_holds_as_many_values_as_it_declares_and_no_more():
    field = COLLECTIONS["spells"].field("classes")
    values = [f"class {number}" for number in range(field.most)]
    assert stored(field, values) == tuple(values)
    with pytest.raises(FilterError, match=f"at most {field.most} values"):
        stored(field, [*values, "another class"])
