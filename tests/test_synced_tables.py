"""Tables to roll on in the texts of Open5e: in step with what its server has, whichever way an entry comes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import replace

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.background import Leisure, Pace, Questions
from lorekeeper.intake.refresh import Refresher
from lorekeeper.intake.sync import store_from_source
from lorekeeper.intake.sync_state import load_state, save
from lorekeeper.library import Library
from lorekeeper.normalize import normalize_open5e
from lorekeeper.normalize.book_tables import KIND, MOST, Tables, entry_of
from tests.support.entities import everything
from tests.support.open5e_server import Open5eServer, lists, spell
from tests.support.samples import write_lines
from tests.support.syncing import address, library  # noqa: F401 (fixtures)

AT_ONCE = Pace(start=0.0, look=0.02, quiet=0.0, request=0.0, rest=0.0)

SKY = "It rains.\n\n| d4 | Sky |\n|---|---|\n| 1-3 | Rain |\n| 4 | Sun |"
BOTH = f"{SKY}\n\nThen\n\n| d6 | Omen |\n|---|---|\n| 1-3 | A crow |\n| 4-6 | A seal |"


@pytest.fixture
def server() -> Open5eServer:
    """The usual lists, and a spell with two tables."""
    server = Open5eServer(lists())
    server.lists["v2/spells"].append(spell("Rain Call", desc=BOTH))
    return server


async def tables(library: Library) -> dict[str, Entity]:
    return {e.name: e for e in await everything(library.cache, "rules") if e.kind == KIND}


def change(server: Open5eServer, desc: str | None) -> None:
    """Another text of the spell with tables; None to remove it."""
    server.lists["v2/spells"][-1:] = [] if desc is None else [spell("Rain Call", desc=desc)]


async def read_again(library: Library) -> None:
    """What a server does in the background with what is old."""
    source = library.source
    assert source is not None
    state = load_state(source.state_path, source.base_url)
    for listed in state.lists.values():
        listed.whole = {key: time.time() - 40 * 86400 for key in listed.whole}
    save(source.state_path, state)
    await Refresher(library.cache, source, Leisure(Questions(), AT_ONCE), library.embedding.embed).refresh()


async def test_a_sync_keeps_tables_in_step_and_counts_them_apart(library, server):
    first = await library.sync()
    assert (first.stored, first.tables) == (11, Counter(stored=2))
    assert first.by_type["rules"]["stored"] == 1
    assert set(await tables(library)) == {"Rain Call: Sky", "Rain Call: Omen"}
    assert {(e.document, e.source_api, entry_of(e)) for e in (await tables(library)).values()} == {
        ("tide-atlas", "open5e-v2", ("spells", ("tide-atlas", "rain-call")))
    }
    second = await library.sync()
    assert (second.stored, second.embedded, second.unchanged, second.tables["unchanged"]) == (0, 0, 11, 2)
    change(server, SKY)
    third = await library.sync(["spells"])
    assert (third.stored, third.removed, third.tables) == (1, 0, Counter(unchanged=1, removed=1))
    assert set(await tables(library)) == {"Rain Call: Sky"}
    change(server, None)
    last = await library.sync(["spells"], ["tide-atlas"])
    assert (last.removed, last.tables["removed"]) == (1, 1)
    assert await tables(library) == {}


async def test_a_sync_tells_of_tables_that_cannot_be_entries(library, server):
    change(server, "\n\n".join(f"#### Sky {n}\n\n{SKY}" for n in range(MOST + 1)))
    report = await library.sync(["spells"])
    assert (report.failed, report.tables) == ([], Counter(stored=MOST))
    (warning,) = report.warnings
    assert warning.where == "lore://spells/tide-atlas/rain-call"
    assert f"it has {MOST + 1} tables" in warning.reason


async def test_a_sync_of_others_leaves_tables_alone(library, server):
    await library.sync()
    before = await tables(library)
    report = await library.sync(["creatures", "rules"])
    assert (report.removed, report.tables.total()) == (0, 0)
    await library.sync(["spells"], ["ember-book"])
    assert await tables(library) == before != {}


async def test_a_library_of_an_earlier_version_gets_its_tables_with_the_next_sync(library, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.book_tables.book_tables", lambda _: Tables())
    await library.sync()
    assert await tables(library) == {}
    monkeypatch.undo()
    report = await library.sync(["spells"])
    assert (report.stored, report.embedded, report.tables["stored"]) == (0, 2, 2)


async def test_what_is_read_again_in_the_background_has_its_tables(library, server, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("lorekeeper.intake.book_tables.book_tables", lambda _: Tables())
        await library.sync(["spells"])
    computed = library.embedding.computed
    await read_again(library)
    assert set(await tables(library)) == {"Rain Call: Sky", "Rain Call: Omen"}
    assert library.embedding.computed - computed <= 4, "two texts, which a library without stored vectors embeds twice"
    change(server, SKY)
    await read_again(library)
    assert set(kept := await tables(library)) == {"Rain Call: Sky"}
    computed = library.embedding.computed
    await read_again(library)
    assert await tables(library) == kept
    assert library.embedding.computed == computed
    change(server, None)
    await read_again(library)
    assert await tables(library) == {}


async def test_files_of_the_same_entries_give_the_same_tables(library, server, tmp_path):
    await library.sync()
    before = await tables(library)
    report = await library.import_paths([write_lines(tmp_path / "spells.jsonl", server.lists["v2/spells"])])
    assert (report.stored, report.embedded, report.tables["unchanged"]) == (0, 0, 2)
    assert await tables(library) == before


async def test_tables_of_what_is_kept_secret_are_kept_secret(library, server, tmp_path):
    file = write_lines(tmp_path / "spells.jsonl", server.lists["v2/spells"])
    await library.import_paths([file], audience="dm")
    change(server, BOTH.replace("crow", "raven"))
    await library.sync()
    assert {e.fields["audience"] for e in (await tables(library)).values()} == {("dm",)}
    assert "raven" in str((await tables(library))["Rain Call: Omen"].data)


async def test_an_entry_that_stands_beside_one_of_the_users_own_has_tables_of_its_own(library):
    (arriving,) = normalize_open5e(spell("Rain Call", desc=BOTH), hint="spells")
    own = replace(arriving, source_api="lorekeeper", data={**arriving.data, "desc": "Mine."})
    await library.cache.store_entities([own], "spells")
    outcome = await store_from_source(library.cache, "spells", [arriving])
    assert outcome.tables.counts["stored"] == 2
    beside = ("spells", ("tide-atlas", "rain-call-open5e"))
    assert {entry_of(e) for e in (await tables(library)).values()} == {beside}
    await library.cache.delete_entities("spells", [own.identity])
    await store_from_source(library.cache, "spells", [arriving])
    assert {entry_of(e) for e in (await tables(library)).values()} == {("spells", ("tide-atlas", "rain-call"))}


async def test_two_processes_at_once_leave_each_table_once(library):
    (arriving,) = normalize_open5e(spell("Rain Call", desc=BOTH), hint="spells")
    await asyncio.gather(*(store_from_source(library.cache, "spells", [arriving]) for _ in range(3)))
    assert len(await everything(library.cache, "rules")) == 2
