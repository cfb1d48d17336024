"""Keeping fresh what was synced: what is read again and when, who does it, what is said, and that no question waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp import Client

from lorekeeper.composition import open5e_of, open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.intake import background, freshness
from lorekeeper.intake.background import Leisure, Pace, Questions
from lorekeeper.intake.freshness import failing_note, next_attempt, stale_lists
from lorekeeper.intake.refresh import Refresher
from lorekeeper.intake.sync_state import (
    Read,
    Refresh,
    Source,
    SyncState,
    load_state,
    refresh_lock,
    save,
)
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.server.mcp import build_server
from tests.support.asking import asked
from tests.support.entities import everything
from tests.support.libraries import settings
from tests.support.open5e_server import Reply, creature, spell
from tests.support.syncing import address, library, server  # noqa: F401 (fixtures)
from tests.support.waiting import eventually

SECONDS = 30.0
"""How long to wait for what does not happen."""

AT_ONCE = Pace(start=0.0, look=0.02, quiet=0.0, request=0.0, rest=0.0)


def source_of(library: Library) -> Source:
    assert library.source
    return library.source


def state_of(library: Library) -> SyncState:
    return load_state(source_of(library).state_path, source_of(library).base_url)


def age(source: Source, days: float = 40.0, *names: str) -> None:
    """Make what was synced so many days older; only these lists if any are named."""
    state = load_state(source.state_path, source.base_url)
    for name in names or state.lists:
        whole = state.lists[name].whole
        whole.update({key: since - days * 86400 for key, since in whole.items()})
    save(source.state_path, state)


async def refresh(library: Library, pace: Pace = AT_ONCE) -> None:
    """One attempt."""
    leisure = Leisure(library.questions, pace)
    await Refresher(library.cache, source_of(library), leisure, library.embedding.embed).refresh()


@contextlib.asynccontextmanager
async def kept_fresh(library: Library, pace: Pace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The library as a server keeps it."""
    monkeypatch.setattr(background, "PACE", pace)
    task = asyncio.create_task(library.keep_fresh())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    await eventually(lambda: asyncio.to_thread(holds))


async def titles(library: Library, entity_type: str = "spells") -> set[str]:
    return {e.name for e in await everything(library.cache, entity_type)}


# --- what is read again ----------------------------------------------------------------------------------------------


async def test_what_is_stale_is_read_again_with_its_changes_and_removals(library, server):
    await library.sync(["spells"])
    age(source_of(library))
    del server.lists["v2/spells"][0]
    server.lists["v2/spells"][0] = spell("Soft Landing", desc="Now you bounce.")
    server.lists["v2/spells"].append(spell("Salt Mirror"))
    server.asked.clear()
    before = library.embedding.computed
    await refresh(library)
    assert await titles(library) == {"Soft Landing", "Lantern of Hush", "Ember Whisper", "Ash Storm", "Salt Mirror"}
    (changed,) = await library.cache.get_entities("spells", name="soft landing")
    assert changed.data["desc"] == "Now you bounce."
    assert library.embedding.computed - before <= 4, "two texts, which a library without stored vectors embeds twice"
    assert {a.split("/?")[0] for a in server.asked} == {"v2/documents", "v2/spells"}, "nothing else was asked for"
    assert stale_lists(state_of(library), 30) == []
    assert state_of(library).refresh == Refresh()


# --- interrupted, failed, contended ----------------------------------------------------------------------------------


async def test_a_server_that_fails_is_tried_again_after_ever_longer_pauses(library, server, monkeypatch):
    await library.sync(["spells"])
    age(source_of(library))
    monkeypatch.setattr(freshness, "RETRY_SECONDS", 0.2)
    monkeypatch.setattr(freshness, "LONGEST_RETRY_SECONDS", 0.4)
    early, pauses = list[float](), dict[int, float]()

    def fault(path: str, number: int) -> Reply | None:
        state = state_of(library)
        if state.refresh.failures:
            early.append(next_attempt(state) - time.time())
            pauses[state.refresh.failures] = next_attempt(state) - state.refresh.tried
        return Reply(503) if number < 19 else None

    server.fault = fault
    server.asked.clear()
    async with kept_fresh(library, AT_ONCE, monkeypatch):
        await until(lambda: state_of(library).refresh.failures == 2)
        assert "503" in state_of(library).refresh.problem
        await until(lambda: state_of(library).refresh == Refresh())
    assert not stale_lists(state_of(library), 30)
    assert pauses == pytest.approx({1: 0.2, 2: 0.4, 3: 0.4})
    assert max(early) <= 0, "nothing is asked before its time"


async def test_a_list_that_cannot_be_read_leaves_the_others_fresh_and_its_progress_for_next_time(library, server):
    await library.sync(["spells", "creatures"])
    age(source_of(library))
    server.fault = lambda path, number: Reply(404) if path == "v2/spells" else None
    await refresh(library)
    assert [each.name for each in stale_lists(state_of(library), 30)] == ["spells"]
    assert state_of(library).refresh.failures == 1
    server.fault = lambda path, number: Reply(503) if len(server.pages_asked("v2/spells")) > 2 else None
    server.asked.clear()
    await refresh(library)
    assert state_of(library).refresh.failures == 2
    done = server.pages_asked("v2/spells")[:2]
    server.fault = lambda path, number: None
    server.asked.clear()
    await refresh(library)
    assert not set(done) & set(server.pages_asked("v2/spells"))
    assert state_of(library).refresh == Refresh()


async def test_what_a_sync_has_begun_is_continued_and_the_other_way_round(library, server):
    async def sync() -> None:
        await library.sync(["spells"])

    async def again() -> None:
        await refresh(library)

    await sync()
    for begin, go_on in ((sync, again), (again, sync)):
        age(source_of(library))
        server.fault = lambda path, number: Reply(503) if len(server.pages_asked("v2/spells")) > 2 else None
        server.asked.clear()
        await begin()
        done = server.pages_asked("v2/spells")[:2]
        server.fault = lambda path, number: None
        server.asked.clear()
        await go_on()
        assert server.pages_asked("v2/spells")
        assert not set(done) & set(server.pages_asked("v2/spells"))
        assert not stale_lists(state_of(library), 30)


# --- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", [{"background": False}, {"offline": True}])
async def test_nothing_is_sent_if_the_settings_forbid_it(off, server, address, tmp_path, monkeypatch):
    monkeypatch.setattr(background, "PACE", AT_ONCE)
    chosen = settings(
        cache_backend="sqlite",
        sqlite_db_path=tmp_path / "sqlite.db",
        open5e_base_url=address,
        background_sync=int(off.get("background", True)),
    )
    service = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(chosen, service), service, source=open5e_of(chosen)) as library:
        await library.sync(["spells"])
        age(source_of(library))
        server.asked.clear()
        library.offline = bool(off.get("offline"))
        await asyncio.wait_for(library.keep_fresh(), SECONDS)
    assert server.asked == []


async def test_work_waits_for_questions_and_for_silence_after_them(library, server, monkeypatch):
    await library.sync(["spells"])
    age(source_of(library))
    server.asked.clear()
    looks, left = 0, Questions._left

    def looked(questions: Questions, seconds: float) -> float:
        nonlocal looks
        looks += 1
        return left(questions, seconds)

    monkeypatch.setattr(Questions, "_left", looked)

    async def further_looks(number: int) -> None:
        wanted = looks + number
        await eventually(lambda: looks >= wanted)

    async with kept_fresh(library, Pace(start=0.1, look=0.02, quiet=0.1, request=0.0, rest=0.0), monkeypatch):
        with library.questions.one():
            await further_looks(3)
            assert server.asked == []
        began = time.monotonic()
        await until(lambda: bool(server.asked))
        assert time.monotonic() - began >= 0.09
        with library.questions.one():
            await further_looks(1)
            number = len(server.asked)
            await further_looks(2)
            assert len(server.asked) == number
        await until(lambda: not stale_lists(state_of(library), 30))


# --- what is said ----------------------------------------------------------------------------------------------------


async def test_freshness_says_what_is_stale_under_way_and_failing(library):
    source = source_of(library)

    def said(**changes: Any) -> str:
        shown = Source(source.base_url, source.state_path, source.days, background=changes.pop("background", True))
        return freshness.freshness(shown, offline=changes.pop("offline", False)).sentence()

    assert said() == "not synced yet; run 'lorekeeper sync open5e'"
    await library.sync(["spells"])
    assert said().startswith("2 lists, all read within 30 days, the oldest on 20")
    age(source)
    assert "2 of 2 lists were read more than 30 days ago (documents, spells; the oldest on 20" in said()
    assert "'lorekeeper serve' refreshes them" in said()
    assert "LOREKEEPER_BACKGROUND_SYNC is 0, so only 'lorekeeper sync open5e'" in said(background=False)
    assert "LOREKEEPER_OFFLINE is set, so only" in said(offline=True)
    state = state_of(library)
    state.refresh = Refresh(failures=2, tried=time.time(), problem="it is down")
    state.of("spells").reading = Read(None, "limit=100", 1200)
    save(source.state_path, state)
    assert "reading them failed 2 times in a row: it is down. 'lorekeeper serve' tries again after 20" in said()
    with refresh_lock(source.state_path):
        assert said().endswith("spells are being read now, 1,200 so far")


async def test_an_answer_says_that_its_entries_are_old_only_if_they_cannot_be_read_again(library):
    await library.sync(["spells"])
    age(source_of(library))
    assert failing_note(state_of(library), ["spells"], 30) is None
    state = state_of(library)
    state.refresh = Refresh(failures=1, tried=time.time(), problem="it is down")
    save(source_of(library).state_path, state)
    page = await library.search(Query(["spells"], text="a wave of water"))
    assert page.note is not None
    assert page.note.startswith("Open5e's spells are as of 20")
    assert len(page.note) < 120
    page = await library.search(Query(["documents"], filters={"name": "Ember"}))
    assert "Open5e's documents" in (page.note or "")
    assert failing_note(state, ["creatures"], 30) is None


# --- in a server -----------------------------------------------------------------------------------------------------


async def test_a_server_works_once_a_client_is_there_and_answers_meanwhile(library, server, monkeypatch):
    await library.sync(["creatures"])
    age(source_of(library))
    server.lists["v2/creatures"] = [creature("Brine Hound", rating=3.0)]
    server.asked.clear()
    monkeypatch.setattr(background, "PACE", AT_ONCE)
    tasks = asyncio.all_tasks()
    serving_library = build_server(library)
    assert asyncio.all_tasks() == tasks, "nothing has begun that could work"
    assert server.asked == []
    async with Client(serving_library) as client:

        async def is_refreshed() -> bool:
            (result,) = (await asked(client, "lookup_creature", name="Brine Hound"))["results"]
            return "CR 3" in result["facts"]

        await eventually(is_refreshed)
    await eventually(lambda: asyncio.all_tasks() <= tasks)  # it ended with its last client
