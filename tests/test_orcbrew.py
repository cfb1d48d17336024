"""OrcBrew packs: EDN to values, values to entities, and what becomes of every way in which packs are damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.edn import MAX_DEPTH, MAX_PROBLEMS, read
from lorekeeper.normalize.orcbrew import looks_like_orcbrew, packs
from tests.support.commands import run_lorekeeper
from tests.support.libraries import open_library
from tests.support.tables import each_row, rows

SPARK = (
    '{:key :salt-spark, :name "Salt Spark", :option-pack "Gull Pack", :level 1, :school "evocation", '
    ':casting-time "1 action", :range "60 feet", :duration "Concentration, up to 1 minute", :ritual false, '
    ':description "A spark of salt water stings one creature.", :spell-lists {:wizard true, :bard false, :druid true}}'
)


def pack(entry: str = SPARK, key: str = ":salt-spark", content: str = "spells") -> str:
    return f"{{:orcpub.dnd.e5/{content} {{{key} {entry}}}}}"


def one(text: str, **options: Any) -> Entity:
    found = packs(text, "gulls", **options)
    assert found.failed == []
    (entity,) = found.entities
    return entity


def values(text: str) -> list[Any]:
    reading = read(text)
    assert reading.problems == []
    return reading.values


# --- EDN -------------------------------------------------------------------------------------------------------------


@each_row(
    ("text", "value"),
    rows("edn"),
)
def test_edn_becomes_plain_values(text, value):
    assert values(text) == [value]


@each_row(
    ("text", "place", "reason", "harm"),
    rows("edn_problems"),
)
def test_a_problem_is_reported_with_its_place(text, place, reason, harm):
    reading = read(text)
    problem = reading.problems[0]
    assert (reading.place(problem.at), problem.harm) == (place, harm)
    assert reason in problem.reason


def test_reading_goes_on_behind_what_is_wrong():
    assert read("{:a [1 {:b 2], :c 3} ] [4").values == [{"a": [1, {"b": 2}], "c": 3}, [4]]


@each_row("text", ["[" * 200_000, "{:a " * 200_000 + "}" * 200_000, "[" * 200_000 + "]" * 200_000])
def test_no_depth_of_nesting_ends_the_process(text):
    reading = read(text)
    assert f"more than {MAX_DEPTH} levels deep" in reading.problems[0].reason


@given(st.text(alphabet='{}[]()#:_"\\;, \n\r\ufeffab1/“nil~@^', max_size=60))
def test_no_text_breaks_the_reader_or_the_importer(text):
    reading = read(text)
    assert all(0 <= p.at <= len(text) for p in reading.problems)
    assert all(reading.place(p.at) for p in reading.problems)
    packs(text, "any")
    packs("{:orcpub.dnd.e5/spells {:x {:description " + text, "any")


SIZE = 500_000

HOSTILE = {
    "brackets that do not fit": "[(]\n" * (SIZE // 4),
    "brackets that close nothing": "[" * MAX_DEPTH + "}" * SIZE,
    "prefixes of maps": r"\a#:" * (SIZE // 4),
    "tags before discards": "#a " * (SIZE // 6) + "#_ 1 " * (SIZE // 10),
    "escapes without an end": '"' + r"\q" * (SIZE // 2),
    "maps as keys of maps": "{" * 90 + r'"\\" 1' + "} 1" * 89 + "}",
    "a name of marks": '{:orcpub.dnd.e5/spells {:a {:name "a' + "\u0301\u0327" * (SIZE // 2) + '"}}}',
    "digits": "1" * SIZE,
}
"""Texts that took hours, or more memory than there is, where the time grew with the square of their length or faster."""


@pytest.mark.alike(4)
@pytest.mark.parametrize("what", HOSTILE)
def test_b7_whatever_the_text_is_it_is_read_in_linear_time(what):
    found = packs(HOSTILE[what], "hostile")
    assert found.entities == []
    assert 1 <= len(found.failed) <= MAX_PROBLEMS + 1


def test_b7_problems_are_counted_where_there_are_too_many_to_list():
    found = packs("] " * (MAX_PROBLEMS + 234), "p")
    assert len(found.failed) == MAX_PROBLEMS + 1
    assert found.failed[-1][1] == "and 234 more problems in this file"


def test_b7_an_entry_is_refused_for_a_problem_that_is_not_listed_any_more():
    filler = "".join(f":f{i} {{:name}} " for i in range(MAX_PROBLEMS + 10))
    found = packs(f"{{:orcpub.dnd.e5/spells {{{filler} :bad {{:name oops}} :good {SPARK}}}}}", "p")
    assert [e.slug for e in found.entities] == ["good"]


@given(st.text(alphabet="ab\n", max_size=5000), st.floats(0, 1))
def test_b7_places_are_lines_and_columns(text, where):
    at = int(where * len(text))
    before = text[:at].split("\n")
    assert read(text).place(at) == f"{len(before)}:{len(before[-1]) + 1}"


def test_d6_a_set_with_white_space_before_its_brace_is_a_set_and_told_once():
    text = "{:a #\n{1 2} :b # {3} :c #,{4} :d #{5}}"
    reading = read(text)
    assert reading.values == [{"a": [1, 2], "b": [3], "c": [4], "d": [5]}]
    (problem,) = reading.problems
    assert (reading.place(problem.at), problem.harm) == ("1:5", "none")
    assert "between the # and the {" in problem.reason
    entry = SPARK.replace("{:key", "{:saves #\n{:str :dex} :key")
    found = packs(f"{{:orcpub.dnd.e5/spells {{:a {entry} :b {entry}}}}}", "p")
    assert found.failed == []
    assert [e.data["saves"] for e in found.entities] == [["str", "dex"]] * 2
    assert len(found.warnings) == 1


scalars = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=20)


@given(
    st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=20)
)
def test_what_is_written_is_read(value):
    def edn(v: Any) -> str:
        if isinstance(v, dict):
            return "{" + ", ".join(f"{edn(k)} {edn(w)}" for k, w in v.items()) + "}"
        if isinstance(v, list):
            return "[" + " ".join(map(edn, v)) + "]"
        if isinstance(v, str):
            return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return (
            {None: "nil", True: "true", False: "false"}.get(v, str(v))
            if not isinstance(v, int) or isinstance(v, bool)
            else str(v)
        )

    assert values(edn([value])) == [[value]]


# --- entities --------------------------------------------------------------------------------------------------------


def test_a_document_of_the_users_choice():
    assert one(pack(), document="mine").identity == ("mine", "salt-spark")


@each_row("text", [pack(), '{"A" ' + pack() + "}", ";; c\n\ufeff {:a 1}", '{"" #:orcpub.dnd.e5{}}'])
def test_packs_are_known_by_their_content(text):
    assert looks_like_orcbrew(text)


@each_row("text", ['{"a": {}}', '{"a" : 1}', "[{}]", "", '{\n "a": 1}', '{"a":\n{"b": 2}}'])
def test_json_is_not_taken_for_a_pack(text):
    assert not looks_like_orcbrew(text)


# --- files and the library -------------------------------------------------------------------------------------------


async def test_packs_are_imported_from_files_and_found(tmp_path):
    folder = tmp_path / "packs"
    folder.mkdir()
    (folder / "Gull Pack.orcbrew").write_text("\ufeff" + pack(), "utf-8")
    with gzip.open(folder / "zipped.orcbrew.gz", "wb") as file:
        file.write(pack().encode())
    (folder / "named-otherwise.json").write_text(pack(), "utf-8")
    (folder / "bad.orcbrew").write_bytes(b'{:orcpub.dnd.e5/spells\n {:x {:name "caf\xe9"}}}')
    async with open_library(tmp_path) as library:
        report = await library.import_paths([folder])
        assert (report.stored, [f.reason.split(":")[0] for f in report.failed]) == (3, ["not UTF-8"])
        assert report.failed[0].where.endswith("bad.orcbrew:2:17")
        hits = await library.cache.semantic_search("spells", "stings with salt water", 5, "gull-pack")
        assert [h.entity.uri for h in hits] == ["lore://spells/gull-pack/salt-spark"]
        assert (await library.import_paths([folder])).unchanged == 3


@pytest.mark.slow
def test_the_command_reports_warnings_and_what_was_skipped(tmp_path):
    file = tmp_path / "gulls.orcbrew"
    file.write_text(pack(SPARK.replace(":level 1", ""))[:-1] + " :orcpub.dnd.e5/selections {:a {} :b {}}}", "utf-8")
    done = run_lorekeeper(tmp_path, "import", str(file), "--dry-run")
    assert done.returncode == 0
    assert "1 would be stored" in done.stdout
    assert "skipped 2 without lore: gulls.orcbrew: selections" in done.stderr
    assert "gulls.orcbrew:1:" in done.stderr
    assert "it has no level" in done.stderr
    done = run_lorekeeper(tmp_path, "import", str(file), "--dry-run", "--json")
    assert json.loads(done.stdout)["failed"] == []
    assert "it has no level" in done.stderr


# --- the corpus ------------------------------------------------------------------------------------------------------

KEPT = {
    "ok-bom": 1, "ok-crlf": 1, "ok-multi-pack-disabled": 2, "ok-namespaced-map": 2, "ok-same-key-in-two-packs": 2,
    "ok-sets-chars-ratios-discard": 1, "ok-single-pack": 1, "dirty-empty-option-pack": 1,
    "dirty-missing-key-name-level-school": 4, "dirty-nil-nil": 1, "dirty-smart-quotes-in-text": 1,
    "broken-content": 6, "coverage-pak": 1, "demo-content": 2, "drift-04-trailing-commas": 1, "nameless-trait-class": 1,
    "bad-duplicate-item-keys": 1, "bad-duplicate-keys": 1, "bad-extra-closing": 1, "bad-key-starts-with-digit": 1,
}  # fmt: skip
"""Entries that each file of the corpus brings; none where it is not listed."""


async def imported(path: Path) -> tuple[list[Entity], ImportReport]:
    report = ImportReport()
    return [entity for entity, _ in Reader([path], None, report).read()], report


@pytest.mark.corpus
async def test_every_file_of_the_corpus_gives_its_entries_or_its_reasons(corpus):
    files = sorted([*(corpus / "orcbrew" / "synthetic").iterdir(), *(corpus / "orcbrew" / "samples").glob("*.orcbrew")])
    assert len(files) > 25
    for file in files:
        entities, report = await imported(file)
        name = file.stem
        assert len(entities) == KEPT.get(name, 0), name
        assert len({e.uri for e in entities}) == len(entities), name
        if name.startswith(("bad-", "broken-parse")):
            assert [*report.failed, *report.warnings], name
            assert all(str(file) in f.where and f.reason for f in report.failed), name
            assert all(f.where[len(str(file)) :].count(":") == 2 for f in report.failed), name
        else:
            assert report.failed == [], name
        if name.startswith("dirty-"):
            assert report.warnings, name
        if name.startswith("ok-") and name != "ok-multi-pack-disabled":
            assert report.warnings == [], name


@pytest.mark.corpus
async def test_the_generated_pack_is_imported_whole_and_found(corpus, tmp_path):
    async with open_library(tmp_path) as library:
        report = await library.import_paths([corpus / "orcbrew" / "generated"])
        assert (report.failed, len(report.warnings)) == ([], 1)
        assert "invisible characters" in report.warnings[0].reason
        counts = (await library.statistics()).counts
        assert (counts["spells"], counts["creatures"]) == (319, 325)
        assert {e.document_name for e in await library.cache.get_entities("spells", limit=5)} == {"SRD 5.1"}
