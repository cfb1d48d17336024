"""Files and folders to entities: the format is seen from the content, and what is broken costs only itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorekeeper.entities import MAX_KEY_LENGTH, MAX_TEXT_LENGTH, Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.hints import STARTER
from lorekeeper.normalize import normalize
from lorekeeper.report import ImportReport
from lorekeeper.sources.files import read_path
from lorekeeper.text import full_text
from tests.shelf import open_library


def spell(name: str, **more: Any) -> dict[str, Any]:
    return {"collection": "spells", "name": name, "description": f"{name} shines.", **more}


A, B, C = spell("Ash Storm"), spell("Brine Lance"), spell("Cinder Veil")


def lines(*objects: Any) -> str:
    return "".join(f"{o if isinstance(o, str) else json.dumps(o, ensure_ascii=False)}\n" for o in objects)


class Reading:
    """What came of reading paths."""

    def __init__(self, entities: list[Entity], failed: list[ImportFileError], skipped: dict[str, int]) -> None:
        self.entities, self.failed, self.skipped = entities, failed, skipped
        self.names = [e.name for e in entities]
        self.where = [Path(f.where).name for f in failed]
        self.why = " / ".join(f.reason for f in failed)


async def read(*paths: Path, document: str | None = None) -> Reading:
    report = ImportReport()
    return Reading(await read_path(paths, document, report), report.failed, report.skipped)


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a file and gives its path."""

    def write(content: str | bytes, name: str = "lore.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# --- formats -------------------------------------------------------------------------------------------------------

FORMATS = {
    "one object": (json.dumps(A), ["Ash Storm"]),
    "an indented object": (json.dumps(A, indent=2), ["Ash Storm"]),
    "a list": (json.dumps([A, B]), ["Ash Storm", "Brine Lance"]),
    "an API page": (
        json.dumps({"count": 2, "next": None, "previous": None, "results": [A, B]}),
        ["Ash Storm", "Brine Lance"],
    ),
    "an empty list": ("[]", []),
    "an empty API page": ('{"count": 0, "results": []}', []),
    "lines": (lines(A, B, C), ["Ash Storm", "Brine Lance", "Cinder Veil"]),
    "one line": (lines(A), ["Ash Storm"]),
    "lines with blank ones between": ("\n" + lines(A, "", "  ", B) + "\n\n", ["Ash Storm", "Brine Lance"]),
    "lines without a last line end": (lines(A, B).rstrip(), ["Ash Storm", "Brine Lance"]),
    "lines of Windows": (lines(A, B).replace("\n", "\r\n"), ["Ash Storm", "Brine Lance"]),
}


@pytest.mark.parametrize("name", ["lore.json", "lore.jsonl", "lore.txt", "lore"])
@pytest.mark.parametrize("shape", FORMATS)
async def test_the_format_is_seen_from_the_content_whatever_the_file_is_called(file, shape, name):
    content, names = FORMATS[shape]
    found = await read(file(content, name))
    assert (found.names, found.failed) == (names, [])


@pytest.mark.parametrize("shape", FORMATS)
@pytest.mark.parametrize("name", ["lore.jsonl.gz", "lore.jsonl"])
async def test_gzip_is_seen_from_the_content(file, shape, name):
    content, names = FORMATS[shape]
    found = await read(file(gzip.compress(content.encode()), name))
    assert (found.names, found.failed) == (names, [])


@pytest.mark.parametrize("shape", FORMATS)
async def test_a_byte_order_mark_is_no_part_of_the_content(file, shape):
    content, names = FORMATS[shape]
    found = await read(file("\ufeff" + content))
    assert (found.names, found.failed) == (names, [])


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
async def test_only_line_feeds_end_a_line(file, separator):
    odd = spell("Ash Storm", note=f"one{separator}two")
    content = lines(odd, B) if separator not in "\x0b\x0c\x1c" else "\n".join(map(json.dumps, (odd, B)))
    found = await read(file(content))
    assert (found.names, found.failed) == (["Ash Storm", "Brine Lance"], [])
    assert found.entities[0].data["note"] == f"one{separator}two"


async def test_an_api_page_of_foreign_objects_is_read_by_their_keys(file):
    page = {
        "results": [{"key": "ta_ebb", "name": "Ebb", "desc": "The sea goes.", "document": "tide", "ruleset": "ta_sea"}]
    }
    found = await read(file(json.dumps(page)))
    assert [e.uri for e in found.entities] == ["lore://rules/tide/ebb"]


async def test_objects_without_lore_are_counted_and_no_failure(file):
    page = lines(
        {"key": "tiny", "name": "Tiny", "space_diameter": 2}, {"key": "huge", "name": "Huge", "space_diameter": 15}
    )
    found = await read(file(page, "sizes.jsonl"))
    assert (found.entities, found.failed, found.skipped) == ([], [], {"sizes.jsonl": 2})


async def test_everything_is_filed_under_the_document_that_is_asked_for(file):
    found = await read(file(lines(spell("Ash Storm", document="other"), B)), document="my-shelf")
    assert {e.document for e in found.entities} == {"my-shelf"}


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), min_size=1, max_size=5))
@settings(deadline=None, max_examples=50)
async def test_any_text_comes_through_a_file_unchanged(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("any") / "lore.jsonl"
    path.write_text(lines(*(spell(f"Spell {i}", note=text) for i, text in enumerate(texts))), "utf-8", newline="\n")
    found = await read(path)
    assert [e.data["note"] for e in found.entities] == texts


# --- folders and paths ---------------------------------------------------------------------------------------------


async def test_a_folder_is_read_with_its_subfolders_in_order(file, tmp_path):
    file(lines(B), "b.jsonl")
    file(json.dumps([A]), "a.json")
    file(gzip.compress(lines(C).encode()), "deep/er/c.JSONL.GZ")
    found = await read(tmp_path)
    assert (found.names, found.failed) == (["Ash Storm", "Brine Lance", "Cinder Veil"], [])


async def test_a_folder_keeps_its_hidden_underscored_and_foreign_files_to_itself(file, tmp_path):
    for name in ("_stats.json", ".hidden.json", ".git/x.json", "_old/x.json", "readme.md", "map.png"):
        file("not JSON", name)
    file(lines(A, B), "spells.jsonl")
    found = await read(tmp_path)
    assert (found.names, found.failed) == (["Ash Storm", "Brine Lance"], [])


async def test_a_hidden_file_that_is_named_is_read(file):
    assert (await read(file(json.dumps(A), "_one.json"))).names == ["Ash Storm"]


async def test_a_folder_may_lie_below_a_hidden_one(file, tmp_path):
    file(json.dumps(A), ".shelf/lore/a.json")
    assert (await read(tmp_path / ".shelf" / "lore")).names == ["Ash Storm"]


@pytest.mark.parametrize("missing", ["nowhere.json", "no/where", "a\nb.json", "x" * 300])
async def test_a_path_that_is_not_there_stops_the_import_before_anything_is_read(file, tmp_path, missing):
    with pytest.raises(ImportFileError) as refused:
        await read(file(lines(A, B)), tmp_path / missing)
    assert refused.value.where == str(tmp_path / missing)


# --- broken files --------------------------------------------------------------------------------------------------


async def test_broken_lines_are_reported_by_file_and_line_and_the_rest_is_read(file):
    path = file(
        lines(A, '{"collection": "spells", "name": "half', B, "[1, 2]", '"text"', {"what": "ever"}, spell(""), C, "}"),
        "lore.jsonl",
    )
    found = await read(path)
    assert found.names == ["Ash Storm", "Brine Lance", "Cinder Veil"]
    assert [f.where for f in found.failed] == [f"{path}:{n}" for n in (2, 4, 5, 6, 7, 9)]
    reasons = [f.reason for f in found.failed]
    assert reasons[0].startswith("no valid JSON")
    assert reasons[1:5] == [
        "a JSON object is needed, not list",
        "a JSON object is needed, not str",
        "its keys are not those of an Open5e object, nor of our own JSON ('collection', 'name')",
        "it has no name: name must be a text that is not empty, not ''",
    ]


async def test_a_broken_first_line_does_not_hide_that_a_file_is_lines(file):
    found = await read(file(lines("{broken", A, B), "lore.jsonl"))
    assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], ["lore.jsonl:1"])


async def test_a_line_of_invalid_utf8_costs_only_itself(file):
    found = await read(
        file(lines(A).encode() + b'{"collection": "spells", "name": "\xff\xfe"}\n' + lines(B).encode(), "lore.jsonl")
    )
    assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], ["lore.jsonl:2"])


async def test_wrong_entries_of_a_list_are_reported_by_their_place(file):
    found = await read(file(json.dumps([A, 3, None, [], B, spell("x", level="three")])))
    assert found.names == ["Ash Storm", "Brine Lance"]
    assert found.where == ["lore.json[1]", "lore.json[2]", "lore.json[3]", "lore.json[5]"]
    assert "level must be a number" in found.why


BROKEN = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t\r\n ", "empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "empty"),
    "invalid UTF-8": (b'{"collection": "spells", "name": "\xff"}', "utf-8"),
    "UTF-16": (json.dumps(A).encode("utf-16"), "utf-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "utf-8"),
    "plain text": (b"Once upon a time\nthere was a drake.\n", "no valid JSON"),
    "a page of a web server": (b"<!doctype html><html><body>502</body></html>", "no valid JSON"),
    "a cut object": (json.dumps(A, indent=2).encode()[:-9], "no valid JSON"),
    "a number": (b"42", "a JSON object is needed, not int"),
    "null": (b"null", "a JSON object is needed"),
    "NaN": (b'{"collection": "spells", "name": "x", "level": NaN}', "NaN is no JSON number"),
    "Infinity": (b'{"collection": "spells", "name": "x", "odd": -Infinity}', "-Infinity is no JSON number"),
    "a number beyond all": (b'{"collection": "spells", "name": "x", "odd": 1e999}', "JSON"),
    "an integer of 5000 digits": (
        b'{"collection": "spells", "name": "x", "odd": ' + b"9" * 5000 + b"}",
        "no valid JSON",
    ),
    "half a surrogate pair": (b'{"collection": "spells", "name": "x", "odd": "\\ud800"}', "JSON"),
    "a control character in a text": (b'{"collection": "spells", "name": "a\0b"}', "no valid JSON"),
    "nested without end": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    "lists without end": (b"[" * 100_000, "nested too deeply"),
    "a cut gzip": (gzip.compress(lines(A, B, C).encode())[:-12], "cannot be read"),
    "a gzip of its head alone": (gzip.compress(b"x")[:5], "cannot be read"),
    "a damaged gzip": (gzip.compress(lines(A).encode())[:20] + b"\xff" * 30, "cannot be read"),
    "a gzip with a wrong sum": (gzip.compress(lines(A).encode())[:-8] + b"\0" * 8, "cannot be read"),
    "a gzip of nothing": (gzip.compress(b""), "empty"),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_broken_file_is_one_failure_with_its_reason_and_the_others_are_read(file, tmp_path, fault):
    content, reason = BROKEN[fault]
    file(json.dumps(A), "a.json")
    broken = file(content, "broken.json")
    file(json.dumps(B), "c.json")
    found = await read(tmp_path)
    assert found.names == ["Ash Storm", "Brine Lance"]
    assert [f.where for f in found.failed] == [str(broken)]
    assert reason in found.why
    assert "\n" not in found.why


@pytest.mark.parametrize(
    "line", ['{"level": NaN}', "[" * 5000, '{"a":' * 5000, "9" * 5000, '{"odd": 1e999, "collection": "spells"}']
)
async def test_a_dangerous_line_costs_only_itself(file, line):
    found = await read(file(lines(A, line, B), "lore.jsonl"))
    assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], ["lore.jsonl:2"])


@pytest.mark.parametrize("depth", [20, 200, 500, 800, 950])
async def test_what_is_nested_deeply_is_either_refused_or_can_be_used(file, depth):
    found = await read(
        file(lines({**A, "description": "@"}, B).replace('"@"', "[" * depth + '"It burns."' + "]" * depth))
    )
    assert "Brine Lance" in found.names
    assert len(found.names) + len(found.failed) == 2
    assert [full_text(e) and e.content_hash for e in found.entities]


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=100)
async def test_no_bytes_at_all_stop_an_import(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "lore.json"
    path.write_bytes(content)
    found = await read(path)
    assert found.failed or not found.entities


# --- through the library -------------------------------------------------------------------------------------------


async def test_an_import_stores_what_it_can_and_reports_the_rest(file, tmp_path):
    source = file(lines(A, "{broken", B, {"what": 1}), "in/lore.jsonl")
    file(b"", "in/empty.json")
    async with open_library(tmp_path) as library:
        report = await library.import_paths([source.parent])
        again = await library.import_paths([source.parent])
        assert len(await library.cache.get_entities("spells")) == 2
    assert (report.stored, report.unchanged, len(report.failed)) == (2, 0, 3)
    assert {tuple(f) for f in report.as_dict()["failed"]} == {("where", "why")}
    assert (again.stored, again.unchanged, again.embedded, len(again.failed)) == (0, 2, 0, 3)


async def test_a_dry_run_reads_and_counts_but_stores_nothing(file, tmp_path):
    source = file(lines(A, "{broken", B), "in/lore.jsonl")
    async with open_library(tmp_path) as library:
        report = await library.import_paths([source], dry_run=True)
        assert await library.cache.get_entities("spells") == []
    assert (report.stored, report.embedded, len(report.failed)) == (2, 0, 1)


async def test_the_last_of_two_entries_with_one_identity_wins(file, tmp_path):
    source = file(
        lines(spell("Ash Storm", level=1), spell("Ash Storm", level=2), spell("Ash Storm", document="other", level=3))
    )
    async with open_library(tmp_path) as library:
        await library.import_paths([source])
        stored = await library.cache.get_entities("spells")
    assert {e.document: e.fields["level"] for e in stored} == {"homebrew": 2, "other": 3}


async def test_a_missing_path_stores_nothing(file, tmp_path):
    async with open_library(tmp_path) as library:
        with pytest.raises(ImportFileError):
            await library.import_paths([file(lines(A)), tmp_path / "nowhere"])
        assert await library.cache.get_entities("spells") == []


WIDE = "\U0001f525"
"""Four bytes in UTF-8."""

EXTREME: dict[str, dict[str, Any]] = {
    "the longest plain name": spell("x" * MAX_TEXT_LENGTH, slug="a"),
    "the longest wide name": spell(WIDE * MAX_TEXT_LENGTH, slug="a"),
    "a name that grows when folded": spell("\ufdfa" * MAX_TEXT_LENGTH, slug="a"),
    "the longest wide keys": spell("x", slug=WIDE * MAX_KEY_LENGTH, document=WIDE * MAX_KEY_LENGTH),
    "a field that grows when folded": spell("x", school="\ufdfa" * MAX_TEXT_LENGTH),
    "a thousand classes": spell("x", classes=[f"class {i}" for i in range(1000)]),
    "a very long document name": spell("x", document_name="d" * 10_000),
    "a document name that is a number": spell("x", document_name=7),
    "a very long kind": {"collection": "rules", "kind": "k" * 10_000, "name": "x"},
    "a very long heading": spell("x", traits=[{"name": "trait " * 5000, "desc": "It burns and smokes."}]),
    "a whole book of text": spell("x", desc="It burns and smokes. " * 10_000),
    "a text without spaces": spell("x", desc="火" * 20_000),
    "quotes and control characters": spell(
        "a\"'\\\n\t\x01%{}`", school="e\"'\\\nv", classes=["w\"'\\"], slug="a\"'\\%"
    ),
    "extreme numbers": spell("x", odd=[2**63 - 1, -(2**63), 1e308, 5e-324, -0.0], level=2**40),
    "empty keys and values": spell("x", **{"": "", "n": None, "l": [], "o": {}}),
}


@pytest.mark.parametrize("case", EXTREME)
async def test_what_is_read_can_be_stored_and_comes_back_whole_or_is_reported(file, tmp_path, case):
    source = file(lines(A, EXTREME[case]))
    async with open_library(tmp_path) as library:
        report = await library.import_paths([source])
        assert report.stored + len(report.failed) == 2
        stored = {e.uri: e for t in ("spells", "rules") for e in await library.cache.get_entities(t)}
    assert len(stored) == report.stored
    (wanted,) = normalize(EXTREME[case]) if report.stored == 2 else normalize(A)
    assert stored[wanted.uri] == wanted


# --- the starter compendium ----------------------------------------------------------------------------------------


async def test_the_starter_compendium_is_read_without_failure():
    found = await read(STARTER)
    assert found.failed == []
    assert found.skipped == {}
    assert len({e.uri for e in found.entities}) == len(found.entities) >= 120
