"""The JSON Schema of our own shape: it and the importer say the same of every entry, and messages say what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS, MAX_MANY, FieldType
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.own import NUMBERS_IN_WORDS, schema
from tests.support.tables import each_row

VALIDATORS = {name: jsonschema.Draft202012Validator(schema(c)) for name, c in COLLECTIONS.items()}

VALUES: dict[FieldType, tuple[list[Any], list[Any]]] = {
    FieldType.TEXT: (
        ["wind", "Half-Elf", "風", "😀", None],
        [3, True, [], {}, "", " ", "a\0b", "a\n", "\x1b]", "a\u202e", "x" * 501, ["wind"]],
    ),
    FieldType.INTEGER: ([0, 3, -1, 2.0, None], ["many", 1.5, True, [], {}, 2**70]),
    FieldType.DECIMAL: ([0, 0.125, 12, "1/4", "2.5", None], ["many", True, [], {}, "1/0", "", 1e300, "1e3"]),
    FieldType.DATE: (
        [0, -1, 1_763_600_000, "2026-11-20", "2026-11-20T18:30", "2026-11-20 18:30:15", "1763600000", None],
        ["yesterday", "20-11-2026", "2026-13-01", "7d", "", True, [], {}, 2**70],
    ),
    FieldType.FLAG: ([True, False, None], ["maybe", 0, 1, [], {}]),
    FieldType.TEXTS: (
        [[], ["wizard", "half elf"], None],
        [[3], [""], [["a"]], ["a", "b\tc"], {}, 3, True, ["a"] * 257],
    ),
}
"""Values of each type of field that are allowed, and that are not."""


def entry(collection: str, **values: Any) -> dict[str, Any]:
    return {"collection": collection, "name": "Some Thing", "kind": COLLECTIONS[collection].kinds[0], **values}


def importable(obj: dict[str, Any]) -> bool:
    try:
        return bool(normalize(obj))
    except UnknownShapeError:
        return False


def valid(obj: dict[str, Any]) -> bool:
    return bool(VALIDATORS[obj["collection"]].is_valid(obj))


@each_row("name", list(COLLECTIONS))
def test_every_schema_is_one_and_names_every_field(name):
    written = schema(COLLECTIONS[name])
    jsonschema.Draft202012Validator.check_schema(written)
    assert written["required"] == ["collection", "name", *(["kind"] if len(COLLECTIONS[name].kinds) > 1 else [])]
    assert {f.name for f in COLLECTIONS[name].fields} <= written["properties"].keys()
    assert all(p.get("description") for n, p in written["properties"].items() if n not in ("collection", "name"))


@each_row("name", list(COLLECTIONS))
def test_schema_and_importer_agree_on_every_field(name):
    assert COLLECTIONS[name].fields
    for declared in COLLECTIONS[name].fields:
        good, bad = VALUES[declared.type]
        if declared.most != MAX_MANY:
            bad = [value for value in bad if not isinstance(value, list) or len(value) < MAX_MANY]
            bad.append(["a"] * (declared.most + 1))
        if (name, declared.name) in NUMBERS_IN_WORDS:
            good, bad = [*good, "many", ""], [value for value in bad if not isinstance(value, str)]
        for value, allowed in [*((v, True) for v in good), *((v, False) for v in bad)]:
            obj = entry(name, **{declared.name: value})
            assert (valid(obj), importable(obj)) == (allowed, allowed), (declared.name, value)


@each_row(
    "values",
    [{"name": ""}, {"name": " "}, {"name": 3}, {"name": None}, {"name": "x" * 501}, {"slug": ""}, {"slug": 3},
     {"slug": "a\nb"}, {"document": "x" * 201}, {"document": ["a"]}, {"document_name": 3}, {"kind": "curse"}, {"kind": 3}],
)  # fmt: skip
def test_schema_and_importer_refuse_the_same_base_values(values):
    obj = entry("spells", **values)
    assert (valid(obj), importable(obj)) == (False, False)


@each_row("key", ["name", "kind", "slug", "document", "document_name"])
def test_b11_schema_and_importer_refuse_control_characters_in_names_and_keys(key):
    for place in ("{}Wish", "Wi{}sh", "Wish{}"):
        for control in ("\0", "\t", "\n", "\x1b", "\x7f", "\x9b", "\u2028", "\u2029", "\u202e", "\u2066"):
            obj = entry("rules", **{key: place.format(control)})
            assert (valid(obj), importable(obj)) == (False, False), (place, control)
        obj = entry("rules", **{key: place.format("\u200f ")})
        assert (valid(obj), importable(obj)) == (True, True), place


@given(st.text(max_size=12), st.text(max_size=12), st.lists(st.text(max_size=6), max_size=3))
def test_what_the_schema_allows_is_imported(name, school, classes):
    obj = entry("spells", name=name, school=school, classes=classes)
    assert importable(obj) or not valid(obj)


def test_the_example_of_the_page_of_formats_is_valid():
    text = (Path(__file__).parent.parent / "docs" / "formats.md").read_text("utf-8")
    block = text.split("## Your homebrew\n\n```json\n", 1)[1].split("```", 1)[0]
    for obj in json.loads(block):
        VALIDATORS[obj["collection"]].validate(obj)


@each_row(
    ("obj", "said"),
    [
        (entry("spells", level="many"), ["level must be a number, not 'many'"]),
        (entry("spells", level=1.5), ["level must be a whole number, not 1.5"]),
        (entry("spells", ritual="maybe"), ["ritual must be true or false, not 'maybe'"]),
        (
            entry("spells", school=3, ritual=0),
            ["school must be a non-empty text", "3", "ritual must be true or false, not 0"],
        ),
        (entry("equipment", kind="potion"), ["'kind' of equipment", "weapon, armor, magic-item, gear", "'potion'"]),
        (entry("equipment", kind=None), ["'kind' of equipment", "not None"]),
        (entry("spells", slug=7), ["slug must be a non-empty text", "not 7"]),
        (entry("spells", name=["a"]), ["name must be a non-empty text", "['a']"]),
        ({"collection": "spells"}, ["it has no name", "not None"]),
        ({"collection": "spels", "name": "A"}, ["'spels'", "spells, creatures"]),
        (entry("creatures", hit_points=2**70), ["hit_points is out of range", "1180591620717411303424"]),
        (entry("spells", classes=[{"a": 1}]), ["classes must be a non-empty text", "{'a': 1}"]),
    ],
)
def test_a_message_names_the_field_the_value_and_what_is_allowed(obj, said):
    with pytest.raises(UnknownShapeError) as raised:
        normalize(obj)
    for words in said:
        assert words in str(raised.value)
