"""Files and folders to entities: the format is seen from the content, and what is broken costs only itself."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import socket
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import MAX_KEY_LENGTH, MAX_TEXT_LENGTH, Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake import files, formats, json_stream, streams
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import SAME_LISTED, ImportReport
from lorekeeper.normalize import normalize
from lorekeeper.text.phrases import RULES_2024
from lorekeeper.text.sections import full_text
from tests.support.examples import examples
from tests.support.libraries import open_library
from tests.support.tables import each_row
from tests.support.waiting import eventually


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
    found = [entity for entity, _ in Reader(paths, document, report).read()]
    return Reading(found, report.failed, report.skipped)


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


@each_row("shape", FORMATS)
async def test_the_format_is_seen_from_the_content_packed_or_not_whatever_the_file_is_called(file, shape):
    content, names = FORMATS[shape]
    packed = gzip.compress(content.encode())
    written = [(content, name) for name in ("lore.json", "lore.jsonl", "lore.txt", "lore")]
    for each, name in (*written, (packed, "lore.jsonl.gz"), (packed, "lore.jsonl"), ("\ufeff" + content, "lore.json")):
        found = await read(file(each, name))
        assert (found.names, found.failed) == (names, []), name


@each_row("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
async def test_only_line_feeds_end_a_line(file, separator):
    odd = spell("Ash Storm", note=f"one{separator}two")
    content = lines(odd, B) if separator not in "\x0b\x0c\x1c" else "\n".join(map(json.dumps, (odd, B)))
    found = await read(file(content))
    assert (found.names, found.failed) == (["Ash Storm", "Brine Lance"], [])
    assert found.entities[0].data["note"] == f"one{separator}two"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), min_size=1, max_size=5))
@examples(50)
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


async def test_a_hidden_file_that_is_named_is_read(file):
    assert (await read(file(json.dumps(A), "_one.json"))).names == ["Ash Storm"]


async def test_a_folder_may_lie_below_a_hidden_one(file, tmp_path):
    file(json.dumps(A), ".shelf/lore/a.json")
    assert (await read(tmp_path / ".shelf" / "lore")).names == ["Ash Storm"]


@each_row("missing", ["nowhere.json", "no/where", "a\nb.json", "x" * 300])
async def test_a_path_that_is_not_there_stops_the_import_before_anything_is_read(file, tmp_path, missing):
    with pytest.raises(ImportFileError) as refused:
        await read(file(lines(A, B)), tmp_path / missing)
    assert refused.value.where == str(tmp_path / missing)


# --- broken files --------------------------------------------------------------------------------------------------


async def test_a_line_of_invalid_utf8_costs_only_itself(file):
    found = await read(
        file(lines(A).encode() + b'{"collection": "spells", "name": "\xff\xfe"}\n' + lines(B).encode(), "lore.jsonl")
    )
    assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], ["lore.jsonl:2"])


BROKEN = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t\r\n ", "empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "empty"),
    "invalid UTF-8": (b'{"collection": "spells", "name": "\xff"}', "not UTF-8"),
    "plain text": (b"Once upon a time\nthere was a drake.\n", "neither JSON nor of another format"),
    "a cut object": (json.dumps(A, indent=2).encode()[:-9], "invalid JSON"),
    "a number": (b"42", "it is a number, where an entry is an object"),
    "null": (b"null", "it is the word null, where an entry is an object"),
    "NaN": (b'{"collection": "spells", "name": "x", "level": NaN}', "NaN is not a JSON number"),
    "Infinity": (b'{"collection": "spells", "name": "x", "odd": -Infinity}', "-Infinity is not a JSON number"),
    "a number beyond all": (b'{"collection": "spells", "name": "x", "odd": 1e999}', "JSON"),
    "an integer of 5000 digits": (
        b'{"collection": "spells", "name": "x", "odd": ' + b"9" * 5000 + b"}",
        "invalid JSON",
    ),
    "half a surrogate pair": (b'{"collection": "spells", "name": "x", "odd": "\\ud800"}', "JSON"),
    "a control character in a text": (b'{"collection": "spells", "name": "a\0b"}', "invalid JSON"),
    "nested without end": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    "lists without end": (b"[" * 100_000, "nested too deeply"),
    "a cut gzip": (gzip.compress(lines(A, B, C).encode())[:-12], "cannot be read"),
    "a gzip of its head alone": (gzip.compress(b"x")[:5], "cannot be read"),
    "a damaged gzip": (gzip.compress(lines(A).encode())[:20] + b"\xff" * 30, "cannot be read"),
    "a gzip with a wrong sum": (gzip.compress(lines(A).encode())[:-8] + b"\0" * 8, "cannot be read"),
    "a gzip of nothing": (gzip.compress(b""), "empty"),
}


@each_row("fault", BROKEN)
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


@each_row("line", ['{"level": NaN}', "[" * 5000, '{"a":' * 5000, "9" * 5000, '{"odd": 1e999, "collection": "spells"}'])
async def test_a_dangerous_line_costs_only_itself(file, line):
    found = await read(file(lines(A, line, B), "lore.jsonl"))
    assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], ["lore.jsonl:2"])


@each_row("depth", [20, 200, 500, 800, 950])
async def test_what_is_nested_deeply_is_either_refused_or_can_be_used(file, depth):
    found = await read(
        file(lines({**A, "description": "@"}, B).replace('"@"', "[" * depth + '"It burns."' + "]" * depth))
    )
    assert "Brine Lance" in found.names
    assert len(found.names) + len(found.failed) == 2
    assert [full_text(e) and e.content_hash for e in found.entities]


@given(st.binary(max_size=200))
@examples(100)
async def test_no_bytes_at_all_stop_an_import(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "lore.json"
    path.write_bytes(content)
    found = await read(path)
    assert found.failed or not found.entities


# --- streams -------------------------------------------------------------------------------------------------------

FOREIGN = {"index": "acid-arrow", "url": "/api/spells/acid-arrow"}
"""An object of a shape that is not known."""


@pytest.fixture
def small_window(monkeypatch):
    """Makes what is held of a text small, so that small files are as large ones."""

    def shrink(chunk: int, entry: int = json_stream.MAX_ENTRY_CHARS) -> None:
        monkeypatch.setattr(json_stream, "CHUNK_CHARS", chunk)
        monkeypatch.setattr(json_stream, "MAX_ENTRY_CHARS", entry)

    return shrink


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(ANY_JSON, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans(), st.booleans())
@examples(60)
def test_b24_a_document_is_read_the_same_whatever_part_of_it_is_held(values, chunk, indent, page, ascii_only):
    whole = {"count": len(values), "results": values, "next": None} if page else values
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace").decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK_CHARS", chunk)
        read = [value for _, value in json_stream.entries("x", json_stream.Window(io.StringIO(text, newline="\n")))]
    parsed = json.loads(text)
    wanted = parsed["results"] if page else parsed
    assert repr(read) == repr(wanted)


@given(st.lists(st.dictionaries(st.text(), ANY_JSON, max_size=3), min_size=2, max_size=5), st.integers(1, 9))
@examples(40)
def test_b24_lines_are_read_the_same_whatever_part_of_them_is_held(values, chunk):
    text = "\n\n".join(json.dumps(value) for value in values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK_CHARS", chunk)
        read = list(json_stream.entries("x", json_stream.Window(io.StringIO(text, newline="\n"))))
    assert repr(read) == repr([(f"x:{2 * n + 1}", value) for n, value in enumerate(values)])


@pytest.mark.parametrize(
    "document", [json.dumps([A, B, C] * 100), json.dumps({"results": [A, B, C] * 100}), lines(A, B, C) * 100]
)
async def test_b24_entries_are_given_while_the_rest_is_not_read(file, small_window, document):
    small_window(100, 2000)

    class Watched(io.StringIO):
        given = 0

        def read(self, size: int | None = -1) -> str:
            part = super().read(size)
            Watched.given += len(part)
            return part

    entries = json_stream.entries("x", json_stream.Window(Watched(document, newline="\n")))
    assert next(entries)[1] == A
    assert Watched.given < len(document) / 2


async def test_b24_a_line_that_is_too_long_costs_only_itself(file, small_window):
    small_window(50, 300)
    for place in range(3):
        objects = [A, B]
        objects.insert(place, spell("x", note="y" * 1000))
        found = await read(file(lines(*objects), "lore.jsonl"))
        assert (found.names, found.where) == (["Ash Storm", "Brine Lance"], [f"lore.jsonl:{place + 1}"])
        assert "longer than" in found.why


@pytest.mark.parametrize("shape", ["[{}]", '{{"results": [{}]}}', "{}"])
async def test_b24_an_entry_that_is_too_long_is_refused(file, small_window, shape):
    small_window(50, 300)
    found = await read(file(shape.format(json.dumps(spell("x", note="y" * 1000), indent=1))))
    assert (found.names, len(found.failed)) == ([], 1)
    assert "longer than" in found.why


BOMBS = {
    "zeros": b"\0",
    "line feeds": b"\n",
    "a text without end": b"a",
    "objects": b"{}\n",
    "lists": b"[",
    "numbers": b"[1,1],",
}


@pytest.mark.alike(2)
@pytest.mark.parametrize("bomb", BOMBS)
async def test_b24_a_gzip_bomb_is_refused_without_being_held(file, bomb, monkeypatch):
    monkeypatch.setattr(json_stream, "MAX_CHARS", 16 << 20)
    content = gzip.compress(b'{"a": ' + BOMBS[bomb] * ((20 << 20) // len(BOMBS[bomb])), 1)
    path = file(content, "bomb.json.gz")
    del content
    tracemalloc.start()
    found = await read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.names == []
    assert found.failed
    assert peak < 40 << 20


async def test_b24_a_file_of_failures_only_is_given_up(file, monkeypatch):
    monkeypatch.setattr(formats.json, "MAX_FAILURES", 10)
    found = await read(file(lines(*[FOREIGN] * 12, A), "lore.jsonl"))
    assert (found.names, len(found.failed)) == ([], 11)
    assert "the rest of the file was not read" in found.why


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.parametrize(
    "content", [lines(A, B).encode(), json.dumps([A, B]).encode(), gzip.compress(lines(A, B).encode())]
)
async def test_b23_a_pipe_that_is_named_is_read_once(tmp_path, content):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    found = await asyncio.to_thread(lambda: asyncio.run(read(tmp_path / "pipe")))
    writer.join()
    assert (found.names, found.failed) == (["Ash Storm", "Brine Lance"], [])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
async def test_b23_a_pipe_without_a_writer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "WRITER_SECONDS", 0.05)
    os.mkfifo(tmp_path / "pipe")
    found = await read(tmp_path / "pipe")
    assert "no program is writing" in found.why


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
async def test_b23_waiting_for_a_pipe_can_be_interrupted(tmp_path, monkeypatch):
    begun, readinto = threading.Event(), streams._Pipe.readinto

    def noticed(pipe: streams._Pipe, buffer: Any) -> int:
        begun.set()
        return readinto(pipe, buffer)

    monkeypatch.setattr(streams._Pipe, "readinto", noticed)
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        async with open_library(tmp_path) as library:
            task = asyncio.create_task(library.import_paths([tmp_path / "pipe"]))
            await eventually(begun.is_set)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await asyncio.get_running_loop().shutdown_default_executor()
    finally:
        os.close(held)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
async def test_b23_a_device_is_refused(device):
    found = await read(Path(device))
    assert found.where == [Path(device).name]
    assert "device" in found.why


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
async def test_b23_in_a_folder_only_regular_files_are_read(file, tmp_path):
    file(json.dumps(A), "a.json")
    os.mkfifo(tmp_path / "b.json")
    (tmp_path / "c.json").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "d.json"))
        report = ImportReport()
        found = [entity.name for entity, _ in Reader([tmp_path], None, report).read()]
    assert (found, report.failed) == (["Ash Storm"], [])
    told = {Path(o.where).name: o.reason for o in report.warnings}
    assert {name: reason.split(",")[0] for name, reason in told.items()} == {
        "b.json": "skipped: it is a pipe",
        "c.json": "skipped: it is a device",
        "d.json": "skipped: it is a socket",
    }


async def test_d9_a_folder_without_a_file_that_is_read_says_what_it_has(file, tmp_path):
    for name in ("a.md", "b.MD", "deep/c.md", "map.png", "README", ".hidden.txt"):
        file("x", name)
    found = await read(tmp_path)
    assert found.where == [tmp_path.name]
    assert "3 .md, 1 without a suffix, 1 .png" in found.why
    assert "adds a folder of Markdown notes" in found.why
    (tmp_path / "empty").mkdir()
    assert "no files" in (await read(tmp_path / "empty")).why


def test_d5_failures_are_listed_singly_until_they_are_many():
    report = ImportReport()
    report.failed = [ImportFileError(f"a.json[{n}]", "wrong") for n in range(SAME_LISTED)]
    report.failed += [ImportFileError(f"b.jsonl:{n}", "wrong") for n in range(1, SAME_LISTED + 2)]
    report.failed += [ImportFileError("c.orcbrew:1:2", "other"), ImportFileError("c.orcbrew:3:4", "other")]
    failed = report.as_dict()["failed"]
    assert [f["where"] for f in failed[:SAME_LISTED]] == [f"a.json[{n}]" for n in range(SAME_LISTED)]
    assert failed[SAME_LISTED] == {"where": "b.jsonl:1", "why": f"wrong ({SAME_LISTED + 1} times)"}
    assert [f["where"] for f in failed[SAME_LISTED + 1 :]] == ["c.orcbrew:1:2", "c.orcbrew:3:4"]


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


@pytest.mark.parametrize("batch", [1, 1000])
async def test_d4_entries_of_one_identity_are_told_and_the_last_is_kept(file, tmp_path, monkeypatch, batch):
    monkeypatch.setattr("lorekeeper.intake.changes.IMPORT_BATCH", batch)
    monkeypatch.setattr(files, "BATCH_ENTITIES", batch)
    first = file(lines(spell("Ash Storm", level=1), B, B), "in/a.jsonl")
    last = file(json.dumps([C, spell("Ash Storm", level=2)]), "in/b.json")
    async with open_library(tmp_path) as library:
        for stored, unchanged, dry_run in ((3, 0, True), (3, 0, False), (0, 3, False), (0, 3, True)):
            report = await library.import_paths([tmp_path / "in"], dry_run=dry_run)
            assert (report.stored, report.unchanged, report.failed) == (stored, unchanged, [])
            (told,) = report.warnings
            assert told.where == f"{last}[1]"
            assert f"lore://spells/homebrew/ash-storm is also in {first}:1," in told.reason
        levels = {e.name: e.fields.get("level") for e in await library.cache.get_entities("spells")}
    assert levels == {"Ash Storm": 2, "Brine Lance": None, "Cinder Veil": None}


async def test_b24_the_first_batch_is_stored_before_the_last_is_read(file, tmp_path, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.changes.IMPORT_BATCH", 10)
    monkeypatch.setattr(files, "BATCH_ENTITIES", 10)
    source = file(lines(*(spell(f"Spell {n}") for n in range(100))), "lore.jsonl")
    held: list[int] = []
    size: list[int] = []
    async with open_library(tmp_path) as library:
        whole = library.cache.store_entities

        async def watched(entities, *arguments):
            held.append(len(entities))
            assert len(size) == len(held)
            return await whole(entities, *arguments)

        monkeypatch.setattr(library.cache, "store_entities", watched)
        report = await library.import_paths([source], start=size.append, progress=size.append)
    assert (report.stored, held) == (100, [10] * 10)
    assert size[0] == sum(size[1:]) == source.stat().st_size


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


# --- the rules that ship ---------------------------------------------------------------------------------------------


async def test_the_rules_of_2024_are_read_without_failure():
    found = await read(RULES_2024)
    assert found.failed == []
    assert found.skipped == {}
    assert len({e.uri for e in found.entities}) == len(found.entities) >= 120
