"""Commands that ask a running server: the same answers and errors, from a server of the same library and settings only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cli import asking
from lorekeeper.cli.asking import PURPOSE, answered, answering
from lorekeeper.cli.lookup import search_page, whole_entry
from lorekeeper.cli.tools import tool_answer
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.library import Library
from lorekeeper.private_sockets import MeetingPoint
from lorekeeper.settings import Settings
from tests.support.commands import ROOT, environment, run_lorekeeper
from tests.support.libraries import sample_library, settings, shelf_folder
from tests.support.serving import http_server

QUESTION: dict[str, Any] = {
    "types": None,
    "text": "a bright streak of fire",
    "also": [],
    "filters": {},
    "documents": None,
    "limit": 5,
    "offset": 0,
    "mode": "auto",
    "where": None,
    "order": None,
    "seed": None,
    "edition": None,
    "explain": False,
}


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings(milvus_db_path=tmp_path / "milvus.db", offline=True)


@pytest.fixture
async def library(tmp_path: Path):
    async with sample_library(tmp_path) as library:
        yield library


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        (search_page, QUESTION),
        (whole_entry, {"wanted": "ember whisper", "types": None, "documents": None}),
        (tool_answer, {"tool": "compare_entries", "arguments": {"name": "soft landing"}}),
    ],
)
async def test_a_server_gives_the_answers_of_its_library(library: Library, own: Settings, answer, question):
    async with answering(library, own):
        expected = await answer(library, question)
        assert expected.get("content") or expected["results"]
        assert await answered(own, answer, question) == json.loads(json.dumps(expected))


async def test_errors_of_the_server_are_those_of_the_command(library: Library, own: Settings):
    async with answering(library, own):
        with pytest.raises(FilterError, match="levle"):
            await answered(own, search_page, {**QUESTION, "where": "levle<=3"})
        with pytest.raises(NotFoundError, match="no entry is called"):
            await answered(own, whole_entry, {"wanted": "no such thing", "types": None, "documents": None})


@pytest.mark.parametrize(
    "other", [{"view": "player"}, {"embedding_model": "another"}, {"edition": "2014"}, {"offline": False}], ids=str
)
async def test_a_server_with_other_settings_is_not_asked(library: Library, own: Settings, other):
    async with answering(library, own):
        assert await answered(own.model_copy(update=other), search_page, QUESTION) is None
        assert await answered(own.model_copy(update={"http_token": "x", "log_level": "INFO"}), search_page, QUESTION)


def meeting_point(own: Settings) -> MeetingPoint:
    return MeetingPoint(own.library_path, PURPOSE)


async def test_a_server_that_ended_or_hangs_is_not_asked(library: Library, own: Settings, monkeypatch):
    point = meeting_point(own)
    assert await answered(own, search_page, QUESTION) is None
    async with answering(library, own):
        record = point.published() or {}
    assert point.published() is None
    point.publish(record)  # as after a kill
    assert await answered(own, search_page, QUESTION) is None
    monkeypatch.setattr(asking, "GREETING_SECONDS", 0.05)
    silent, address = point.listen()
    with silent:
        point.publish({**record, "address": address})
        assert await answered(own, search_page, QUESTION) is None


async def test_who_has_no_token_gets_no_answer(library: Library, own: Settings):
    point = meeting_point(own)
    async with answering(library, own):
        point.publish({**(point.published() or {}), "token": "guessed"})
        assert await answered(own, search_page, QUESTION) is None


def test_a_command_neither_opens_the_library_nor_loads_the_model_while_a_server_runs(tmp_path_factory):
    folder = shelf_folder(tmp_path_factory)
    asked = ["search", "we are falling off a cliff"]
    alone = run_lorekeeper(folder, *asked)
    code = f"from lorekeeper.cli.main import main; main({asked!r}); import sys; print('numpy' in sys.modules)"
    with http_server(folder):
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**environment(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert alone.returncode == 0
    assert found.stdout == f"{alone.stdout}False\n"
