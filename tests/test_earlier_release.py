"""A library of the last release opens, answers as it did, and needs nothing embedded again.

``data/library-0.1.0.tar.gz`` was written by the code of commit a30dea9, for both backends, from entries of the starter.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from lorekeeper.cache import phrase_vectors
from lorekeeper.cache.phrase_vectors import PhraseVectors
from lorekeeper.library import Library
from lorekeeper.search import pipeline
from lorekeeper.search.query import Query
from lorekeeper.server.tools import SEARCHED
from lorekeeper.settings import Settings
from lorekeeper.text import thesaurus
from tests.support.libraries import settings

DATA = Path(__file__).parent / "data"

ANSWERS: dict[str, list[str]] = json.loads((DATA / "library-0.1.0.json").read_text("utf-8"))
"""Questions, and the uris that the code of that release answered with."""


@pytest.fixture(params=["milvus", "sqlite"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of a copy of the library of the last release, by backend."""
    with tarfile.open(DATA / "library-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / request.param
    return settings(
        cache_backend=request.param,
        milvus_db_path=folder / "milvus.db",
        sqlite_db_path=folder / "cache.db",
        offline=1,
    )


async def test_a_library_of_the_last_release_answers_as_it_did(
    earlier: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thesaurus, "_table", dict)  # that release knew no everyday words,
    monkeypatch.setattr(phrase_vectors, "shipped", lambda: PhraseVectors(Path("none")))  # no phrase by itself,
    monkeypatch.setattr(pipeline, "asked_type", lambda *_: None)  # and not which type a question asks for
    async with Library.from_settings(earlier) as library:
        before = library.embedding.computed
        assert sum((await library.statistics()).counts.values()) == 21
        for question, uris in ANSWERS.items():
            page = await library.search(Query(types=SEARCHED, text=question))
            assert [result.entity.uri for result in page.results] == uris
        assert library.embedding.computed - before <= len(ANSWERS), "only the questions may be embedded"


async def test_a_library_of_the_last_release_takes_in_new_entries(earlier: Settings, tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    file.write_text('{"collection": "spells", "name": "Frost Step", "description": "You step out of ice."}', "utf-8")
    async with Library.from_settings(earlier) as library:
        report = await library.import_paths([file])
        assert (report.stored, report.failed) == (1, [])
        assert sum((await library.statistics()).counts.values()) == 22
