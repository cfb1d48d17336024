"""Homebrew files of 5etools: what an import makes of every kind of thing, and of every way in which files are damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.library import Library
from lorekeeper.normalize.fivetools import recognises
from lorekeeper.search.query import Query
from lorekeeper.settings import load_settings
from tests.support.commands import variables
from tests.support.homebrew import FOLDER, brew, problems, read
from tests.support.tables import each_row

# --- kinds ---------------------------------------------------------------------------------------------------------------


# --- files ---------------------------------------------------------------------------------------------------------------


@each_row(
    ("head", "is_brew"),
    [
        ('{"_meta": {"sources": []}, "spell": []}', True),
        ('\ufeff {"$schema": "https://x/5etools-utils/homebrew.json"', True),
        ('{"siteVersion": "1.2", "monster": [{"name": "x", "sour', True),
        ('{"collection": "spells", "name": "x", "spell": [{}]}', False),
        ('{"name": "x", "action": [{"name": "Bite"}], "spell": [{}]}', False),
        ('{"results": [{"name": "x"}]}', False),
        ('[{"name": "x", "source": "y"}]', False),
        ('{"items": [{"name": "x"}]}', False),
        ("{", False),
        ("", False),
    ],
)
def test_files_are_recognised_by_their_content(head: str, is_brew: bool) -> None:
    assert recognises(head) is is_brew


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"_meta": {"sources": []}, "spell": [{"name": "x"', "it ends in the middle"),
        ('{"_meta": {"sources": []}, // mine\n "spell": []}', "a comment, which JSON does not have"),
        ('{"_meta": {"sources": []}, "spell": [{"name": "x",}]}', "a comma too many before the closing bracket }"),
        ('{"_meta": {"sources": []}, "spell": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ('{"_meta": {"sources": []}}', "it has no content"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.json").write_text(text, "utf-8")
    entities, report = read(tmp_path / "bad.json")
    assert (entities, len(report.failed)) == ([], 1)
    assert reason in report.failed[0].reason


def test_double_keys_and_what_is_no_json_are_mended_and_told(tmp_path: Path) -> None:
    text = (
        '\ufeff{"_meta": {"sources": [{"json": "T", "full": "T"}]},\r\n"monster": [{"name": "A", "source": "T", "str": NaN,'
        ' "dex": 1e999, "int": 12345678901234567890, "ac": [12], "ac": [13], "entries": ["a\\ud800b so\\u00adft no\\u00a0break"]}],'
        ' "monster": [{"name": "B", "name": "C", "source": "T", "size": ["M"]}]}'
    )
    (tmp_path / "odd.json").write_text(text, "utf-8")
    entities, report = read(tmp_path / "odd.json")
    first, second = (e for e in entities if e.type == "creatures")
    assert (first.name, second.name, first.fields["armor_class"]) == ("A", "C", 12)
    assert first.data["desc"] == "a\ufffdb soft no break"
    assert "ability_scores" not in first.data
    said = problems(report)
    for part in (
        "the key 'monster' appears twice",
        "the last value, 'C', was stored",
        "nan is not a JSON number",
        "too many digits",
        "half a character",
    ):
        assert part in said


def test_lists_of_files_and_gzipped_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"Tide": {"tide.json": "monster"}}', "utf-8")
    (tmp_path / "tide.json.gz").write_bytes(
        gzip.compress(brew(tmp_path, "x", skill=[{"name": "A", "source": "Tide", "entries": ["It is."]}]).read_bytes())
    )
    (tmp_path / "x.json").unlink()
    entities, report = read(tmp_path)
    assert ([e.name for e in entities], problems(report)) == (["A", "Tide Tables"], "")
    assert report.skipped == {"index.json: list of homebrew files": 1}


# --- a library -----------------------------------------------------------------------------------------------------------


async def test_an_adventure_is_for_the_game_master_and_what_is_read_aloud_for_all(tmp_path: Path) -> None:
    embedding = EmbeddingService(lambda: HashingProvider(64))
    settings, _ = load_settings(variables(tmp_path, "sqlite"), tmp_path / "no-env-file")
    async with Library(open_cache(settings, embedding), embedding, offline=True, views=tmp_path / "views") as library:
        report = await library.import_paths([FOLDER])
        assert (report.failed, report.warnings) == ([], [])
        again = await library.import_paths([FOLDER])
        assert (again.stored, again.unchanged) == (0, report.stored)
        pages = [await view.search(Query(("rules",), limit=50)) for view in (library, library.view(Viewer.player()))]
        everything, shown = ({r.entity.name for r in page.results} for page in pages)
        assert everything - shown == {"The Empty Berth", "The Berth"}
        aloud = next(r.entity for r in pages[1].results if r.entity.kind == "read-aloud")
        assert (aloud.name, aloud.data["desc"]) == ("Read-aloud text 1", "Fog lies on the water.")


# --- damage --------------------------------------------------------------------------------------------------------------
