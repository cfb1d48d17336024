"""Documents of Foundry VTT: their texts and numbers in the words of the books, their secrets, and every container they come in."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from lorekeeper.audience import GM_PART, Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.intake.formats.yaml_document import MAX_DEPTH, parse
from lorekeeper.library import Library
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.markup import text_of
from lorekeeper.search.query import Query
from tests.support.foundry import (
    described,
    document,
    imported,
    in_words,
    journal,
    marsh_owl,
    named,
    page,
    spark,
    write,
)
from tests.support.libraries import settings
from tests.support.tables import each_row

# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<ul><li>",
        "<table><tr><td>",
        "<section class=secret>",
        "<b><i>",
        "<a ",
        "<!--",
        '<p class="',
        "* ",
        "@UUID[",
    ],
)
def test_no_text_takes_long(piece):
    hostile = piece * (200_000 // len(piece))
    assert len(text_of(hostile).open) <= len(hostile)
    assert len(in_words(hostile)) <= len(hostile)


def test_formulas_are_worked_out_within_bounds():
    values: dict[str, float] = {"prof": 3, "abilities.str.mod": -1}
    assert formulas.value("8 + @prof + @abilities.str.mod", values.get) == 10
    assert formulas.value("floor(7 / 2) * 2") == 6
    assert (formulas.value("7 / 2"), formulas.value("11 / 3"), formulas.value("-11 / 3")) == (3, 3, -4)
    assert [formulas.value(source) for source in ("", "1d6", "@gone", "().__class__", "9**9", "1/0", "1" * 400)] == [
        None
    ] * 7


# --- containers ------------------------------------------------------------------------------------------------------


def test_an_export_is_known_by_the_id_in_its_name_also_gzipped(tmp_path):
    export = {key: value for key, value in spark().items() if key not in ("_id", "_key")} | {"folder": None}
    (tmp_path / "fvtt-Item-wick-spark-spark00000000001.json.gz").write_bytes(gzip.compress(json.dumps(export).encode()))
    lamp = document("Lamp", "loot", described("<p>@UUID[Item.spark00000000001]</p>"), "items!lamp000000000001")
    entities, _ = imported(write(tmp_path, lamp_json=lamp))
    assert named(entities, "Lamp").data["desc"] == "Wick Spark"


@each_row(
    ("text", "value"),
    [
        ("a: yes\nb: 12:30\nc: 010\nd: 2024-01-01", {"a": "yes", "b": "12:30", "c": 10, "d": "2024-01-01"}),
        ("a: ~\nb: .nan\nc: -.inf\nd: 1.5e3\ne: '7'", {"a": None, "b": None, "c": None, "d": 1500.0, "e": "7"}),
        ("- true\n- False\n- >-\n  folded\n  text\n- {}", [True, False, "folded text", {}]),
    ],
)
def test_yaml_is_read_as_the_tools_write_it(text, value):
    assert parse(text) == value


@each_row(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x", "alias in line 2"),
        (
            "a: !!python/object/apply:os.system ['true']",
            "tag 'tag:yaml.org,2002:python/object/apply:os.system' in line 1",
        ),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("- " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("{a: " * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("a: [", "invalid YAML in line"),
        ("? [a]\n: b", "a key that is not a text"),
        ("", "the file is empty"),
        ("a: 1\n---\nb: 2", "more than one YAML document"),
        ("a: \x07", "invalid YAML"),
    ],
)
def test_yaml_beyond_the_limits_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse(text)


def test_a_foreign_system_is_named_once_for_a_file(tmp_path):
    foreign = [spark() | {"_id": f"spark{n:011}", "_stats": {"systemId": "pf2e"}} for n in range(30)]
    entities, report = imported(write(tmp_path / "pack", spells_db=[*foreign, marsh_owl()]))
    assert [entity.name for entity in entities] == ["Marsh Owl"]
    assert [failure.reason.split(";")[0] for failure in report.failed] == [
        "30 documents are for the game system 'pf2e'"
    ]


# --- secrets ---------------------------------------------------------------------------------------------------------


def world() -> dict[str, Any]:
    """A world: a journal whose pages not everybody may read, a creature, and an item of which nobody knows what it is."""
    pages = [
        page(
            "Open",
            "<p>Seen.</p><section class='secret'>SECTIONSECRET</section>",
            "page000000000001",
            ownership={"default": 2},
        ),
        page("Closed", "<p>PAGESECRET</p>", "page000000000002", ownership={"default": 0}),
        page("Inherited", "<p>INHERITSECRET</p>", "page000000000003", ownership={"default": -1}),
        page("Titled", "<p>TITLESECRET</p>", "page000000000004", ownership={"default": 1}),
        page("Letter", "<p>LETTERSECRET</p>", "page000000000005", ownership={"default": 0, "robin": 2}),
    ]
    crown = described("<p>CROWNSECRET drowns.</p>", identified=False, rarity="rare", properties=["mgc"],
                      unidentified={"name": "Wet Circlet", "description": "<p>A circlet.</p>"})  # fmt: skip
    return {
        "journal_json": journal(*pages, ownership={"default": 0}),
        "owl_json": marsh_owl(),
        "crown_json": document("Drowned Crown", "equipment", crown, "items!crown00000000001"),
    }


SECRETS = ("SECTIONSECRET", "PAGESECRET", "INHERITSECRET", "TITLESECRET", "CROWNSECRET", "BIOSECRET", "GLARESECRET")
TYPES = ("creatures", "equipment", "rules")


@pytest.mark.asyncio
async def test_no_player_meets_what_foundry_keeps_secret_and_the_game_master_finds_all_of_it(tmp_path):
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(tmp_path / "vectors.db"))
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "cache.db", offline=1), embedding)
    async with Library(cache, embedding, offline=True, views=tmp_path / "views") as library:
        assert (await library.import_paths([write(tmp_path / "world", **world())])).failed == []
        view = library.view(Viewer.player("Robin"))
        await view.refresh()
        seen = {e.name: str(e.as_record()) for name in TYPES for e in await view.cache.get_entities(name)}
        assert seen.keys() == {"Marsh Owl", "Wet Circlet", "Open", "Titled", "Letter"}
        shown = " ".join(seen.values())
        assert not [secret for secret in (*SECRETS, "Drowned", "drowned", GM_PART) if secret in shown]
        assert "LETTERSECRET" in shown
        for secret in SECRETS:
            query = Query(TYPES, secret, mode="keyword")
            assert ((await view.search(query)).total, (await library.search(query)).total) == (0, 1), secret


# --- damage ----------------------------------------------------------------------------------------------------------
