"""Foreign objects to entities. All names and texts are invented; the shapes are those of Open5e's two APIs."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS, MAX_KEY_LENGTH, MAX_RECORD_BYTES, MAX_TEXT_LENGTH, Entity, canonical_json
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold_key
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import checked, slugify
from lorekeeper.normalize.open5e import ENDPOINTS
from lorekeeper.records.values import feet, first_number, gold
from lorekeeper.text.cleaning import sentences
from lorekeeper.text.facts import facts
from lorekeeper.text.passages import passages
from tests.support import golden
from tests.support.examples import examples
from tests.support.libraries import need_books, whole_books
from tests.support.tables import each_row


def one(obj: Mapping[str, Any], **options: Any) -> Entity:
    (entity,) = normalize(obj, **options)
    return entity


OBJECTS = [
    obj
    for files in golden.imports_of(golden.FOLDER / "json" / "open5e.yaml")
    for objects in files.values()
    for obj in objects
]
"""Objects of all kinds in the shapes of Open5e's two APIs, and of our own; some are refused."""

OWN = {"collection": "spells", "name": "Frost Step"}


def test_the_original_object_is_kept_whole_unless_a_document_is_stated():
    kept = [(obj, entity) for obj in OBJECTS for entity in normalized_or_refused(copy.deepcopy(obj))]
    assert len([obj for obj, entity in kept if entity.data == obj]) > 60
    assert {each.document for obj, _ in kept for each in normalize(obj, document="my-shelf")} == {"my-shelf"}


@each_row("odd", [{"level": float("nan")}, {"odd": float("inf")}, {"odd": "\ud800"}])
def test_what_json_has_not_is_refused(odd):
    with pytest.raises(UnknownShapeError, match=r"number|JSON"):
        normalize({**OWN, **odd})


def test_numbers_and_prices_may_be_fractions():
    written = {
        "1/4 lb.": 0.25, "3/4": 0.75, "1 1/2": 1.5, "1-1/2 lb": 1.5, "½": 0.5, "1½ lb": 1.5, "2 ¼": 2.25, "3 lb.": 3.0,
        "2.50": 2.5, "1,500": 1500.0, "25,000.5 gp": 25000.5, "-3": -3.0, "-1/2": -0.5, 4: 4, "20/60": 20.0, "5/15 ft.": 5.0,
        "1/0": 1.0, "no weight": None, None: None, True: None,
    }  # fmt: skip
    assert {text: first_number(text) for text in written} == written
    prices = {"1/2 gp": 0.5, "1 1/2 gp": 1.5, "½ sp": 0.05, "5 sp": 0.5, "5sp": 0.5, "1,000 gp": 1000.0, "25.00": 25.0}
    assert {text: gold(text) for text in prices} == pytest.approx(prices)
    near = ("Self (30-foot radius)", "Self (60ft line)", "Self", "self (1 mile)", "Touch")
    assert {feet(text) for text in near} == {0}


def test_a_name_makes_a_readable_slug():
    names = {"Will-o'-Wisp": "will-o-wisp", "Éclair  (Greater)": "eclair-greater", "火球": "火球", "+1 Hook": "1-hook"}
    assert {name: slugify(name) for name in names} == names


@pytest.mark.parametrize("sign", [" ", "\n", "(", "[a](", "1,", "1_", "-"])
def test_b7_long_runs_of_a_sign_are_read_in_linear_time(sign):
    run = sign * (500_000 // len(sign))
    for read in (first_number, gold, sentences, fold_key):
        read(run)
    for field in ({"type": run}, {"weapon": {"properties": [{"name": run}], "damage_type": None}, "category": None}):
        refused = {"key": "ta_run", "name": "Run", "weapon": None, "armor": None, "category": None, **field}
        with suppress(UnknownShapeError):
            normalize(refused, hint="items")


# --- laws ----------------------------------------------------------------------------------------------------------

KEYS = sorted(
    {key for obj in OBJECTS for key in obj}
    | {sign for e in ENDPOINTS.values() for keys in e.signatures for sign in keys}
    | {"collection", "kind", "document_name", "archetypes", "subraces", "document__slug", "document__title", "url"}
)
ANY_STRING = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_STRING
    | st.sampled_from(
        ["", " ", "1 gp", "9" * 400, "9" * 400 + " cp", "https://x/", "srd_", "spells", "rules", "3rd-level", "\0"]
    )
    | st.sampled_from([10**400, -(2**70), 1e308]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(ANY_STRING | st.sampled_from(["name", "key", "url", "property", "desc"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def check(entity: Entity) -> None:
    """What the rest of the program relies on in any entity."""
    collection = COLLECTIONS[entity.type]
    assert isinstance(entity.name, str)
    assert entity.name.strip()
    assert len(entity.name) <= MAX_TEXT_LENGTH
    assert isinstance(entity.kind, str)
    assert 0 < len(entity.kind) <= MAX_TEXT_LENGTH
    assert entity.kind in collection.kinds or collection.open_kinds
    assert all(isinstance(k, str) and 0 < len(k) <= MAX_KEY_LENGTH and k == k.strip() for k in entity.identity)
    assert entity.document_name is None or isinstance(entity.document_name, str)
    assert len(entity.document_name or "") <= MAX_TEXT_LENGTH
    assert clean_fields(entity.type, entity.fields) == entity.fields
    assert json.loads(canonical_json(entity.data)) == entity.data
    assert len(entity.content_hash) == 32
    assert passages(entity)
    assert isinstance(facts(entity), str)


def normalized_or_refused(obj: Mapping[str, Any], **options: Any) -> list[Entity]:
    try:
        return normalize(obj, **options)
    except UnknownShapeError as refused:
        assert str(refused)  # noqa: PT017
        return []


@given(
    st.dictionaries(st.sampled_from(KEYS) | ANY_STRING, JSON, max_size=12), st.none() | st.sampled_from(list(ENDPOINTS))
)
@examples(400)
def test_any_object_is_normalised_well_or_refused_as_unknown(obj, hint):
    for entity in normalized_or_refused(obj, hint=hint):
        check(entity)


@given(st.sampled_from(OBJECTS), st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=3))
@examples(400)
def test_a_real_object_with_some_odd_values_is_normalised_well_or_refused_as_unknown(obj, odd):
    for entity in normalized_or_refused({**obj, **odd}):
        check(entity)


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
@examples(100)
def test_normalising_does_not_change_its_input(obj):
    before = repr(obj)
    normalized_or_refused(obj)
    assert repr(obj) == before


# --- the corpus ----------------------------------------------------------------------------------------------------


NO_LORE = {"creaturesets", "gamesystems", "itemcategories", "itemrarities", "licenses", "publishers", "sizes"}


@pytest.mark.corpus
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_every_page_the_api_answered_is_read_without_failure(corpus, version):
    pages = sorted((corpus / "open5e" / version).glob("*/limit100/*.gz"))
    assert pages
    for page in pages:
        endpoint = page.parents[1].name
        name = endpoint if version == "v2" else f"{endpoint}_v1"
        assert normalized_page(page, name) or endpoint in NO_LORE | {"images", "spelllist"}, page


def normalized_page(page: Path, endpoint: str) -> list[Entity]:
    results = json.loads(gzip.decompress(page.read_bytes()))["results"]
    return [entity for obj in results for entity in normalize(obj, hint=f"{endpoint}.json")]


# --- records from elsewhere ------------------------------------------------------------------------------------------


RECORD = one({"collection": "spells", "name": "Frost Step", "level": 2, "classes": ["Wizard"]}).as_record()


@each_row(
    ("change", "reason"),
    [
        ({"name": 5}, "no name"),
        ({"name": "x" * 501}, "name"),
        ({"name": "\x1b"}, "name"),
        ({"slug": None}, "slug"),
        ({"slug": ""}, "slug"),
        ({"slug": ["a"]}, "slug"),
        ({"slug": "a\x1bb"}, "slug"),
        ({"slug": "a\u202eb"}, "slug"),
        ({"slug": "s" * 1_000_000}, "slug"),
        ({"document": None}, "document"),
        ({"kind": None}, "kind"),
        ({"source_api": 3}, "source_api"),
        ({"document_name": ["x"]}, "document_name"),
        ({"data": [1]}, "JSON object"),
        ({"data": {"a": float("nan")}}, "JSON"),
        ({"data": {"a": "\ud800"}}, "surrogate"),
        ({"name": "a\udfff"}, "surrogate"),
        ({"data": {"a": 2**70}}, "64 bits"),
        ({"data": {"a": "x" * MAX_RECORD_BYTES}}, "bytes as JSON"),
        ({"fields": [1]}, "fields"),
        ({"fields": {"name": "x"}}, "fields"),
        ({"fields": {"level": "many"}}, "level must be a number"),
        ({"fields": {"classes": [["a"]]}}, "classes"),
        ({"fields": {"school": "\x1b]"}}, "school"),
    ],
)
def test_b9_a_record_from_elsewhere_is_checked_as_an_import_is(change, reason):
    with pytest.raises(FilterError, match=reason):
        checked("spells", RECORD | change)


@each_row("record", [None, 3, [], "text", {}, {"slug": "a"}, {**RECORD, "data": None}])
def test_b9_what_is_no_record_is_refused(record):
    with pytest.raises(FilterError):
        checked("spells", record)


def test_b9_deep_nesting_in_a_record_is_refused():
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(FilterError, match="deep"):
        checked("spells", RECORD | {"data": deep})


def test_b9_a_checked_record_of_a_good_entry_is_that_entry():
    """Its content hash is the same, so that a restore of what is there changes nothing."""
    need_books()
    entities = whole_books()[::3]
    assert entities
    for entity in entities:
        again = checked(entity.type, json.loads(json.dumps(entity.as_record())))
        assert again == entity
        assert again.content_hash == entity.content_hash
