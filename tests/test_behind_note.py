"""The note that notes are still being read: said only where an answer may lack something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.measures import ProgressCounter
from lorekeeper.search.query import Query
from lorekeeper.server.tools import all_tools
from lorekeeper.vaults import sync as sync_module
from lorekeeper.vaults import vaults as vaults_module
from tests.support.entities import make
from tests.support.vaults import vault_library, write

STILL = "still being read"


@pytest.fixture
async def read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Library, Path, Path]]:
    """A library whose two vaults were read before, in a process that begins to compare them and never waits; and the vaults."""
    monkeypatch.setattr(sync_module, "RACY_NANOSECONDS", 0)
    saga, atlas = (write(tmp_path / name, {"Ford.md": "# Ford\nAn inn stands there.\n"}) for name in ("saga", "atlas"))
    async with vault_library(tmp_path) as library:
        for vault in (saga, atlas):
            await library.vaults.add(vault)
        await library.vaults.sync()
    monkeypatch.setattr(vaults_module, "WAIT_SECONDS", 0.0)
    async with vault_library(tmp_path) as library:
        yield library, saga, atlas


async def note(library: Library, *types: str, documents: list[str] | None = None) -> str:
    return (await library.search(Query(types, filters={"name": "ford"}, documents=documents))).note or ""


async def test_nothing_is_said_while_vaults_are_only_compared(read_again):
    library, *_ = read_again
    assert STILL not in await note(library, "notes")


async def test_it_is_said_of_a_changed_vault_to_those_who_search_it(read_again):
    library, saga, _ = read_again
    write(saga, {"Mill.md": "# Mill\nIt grinds barley.\n"})
    library.vaults._noticed += 1  # as a sync under way has it
    assert STILL in await note(library, "notes")


@pytest.mark.parametrize(
    ("types", "documents"), [(("documents",), None), (("notes",), ["atlas"]), (("character_options",), None)]
)
async def test_it_is_not_said_of_another_vault_or_of_types_that_no_note_gives(read_again, types, documents):
    library, saga, _ = read_again
    write(saga, {f"Mill {n}.md": f"# Mill {n}\nIt grinds barley.\n" for n in range(40)})
    assert STILL not in await note(library, *types, documents=documents)


async def test_it_is_not_said_of_an_answer_of_a_book_if_notes_were_read_before(read_again):
    library, saga, _ = read_again
    rule = make("tolls", "A toll is paid in barley.", type="rules", kind="rule", name="Tolls", document="book")
    await library.cache.store_entities([rule], "rules")
    for number, (text, said) in enumerate([("how is a toll paid", False), ("who stands at the ford", True)]):
        write(saga, {f"Mill {number}.md": "# Mill\nIt grinds barley.\n"})
        library.vaults._noticed += 1  # as a sync under way has it
        page = await library.search(Query(["rules", "notes"], text))
        assert (page.results[0].entity.type == "notes", STILL in (page.note or "")) == (said, said)


async def test_a_process_that_ends_with_its_answer_waits_until_everything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[ProgressCounter] = []

    @asynccontextmanager
    async def waiting(steps: ProgressCounter) -> AsyncIterator[None]:
        waited.append(steps)
        yield

    vault = write(tmp_path / "saga", {f"Ford {n}.md": f"# Ford {n}\nAn inn stands there.\n" for n in range(40)})
    monkeypatch.setattr(vaults_module, "WAIT_SECONDS", 0.0)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        library.vaults.waiting = waiting
        page = await library.search(Query(["notes"], filters={"name": "ford"}))
        assert (page.total, STILL in (page.note or ""), len(waited)) == (40, False, 1)
        assert await library.vaults.fresh() == "", "what has not changed is waited for"
        assert len(waited) == 1


async def test_a_type_is_not_denied_while_notes_that_may_give_it_are_read(read_again):
    library, saga, _ = read_again
    write(saga, {"Mill.md": "# Mill\nIt grinds barley.\n"})
    library.vaults._noticed += 1  # as a sync under way has it
    said = await note(library, "characters")
    assert STILL in said
    assert "has no characters" not in said


async def test_an_entry_that_may_not_have_been_read_yet_is_not_only_denied(read_again):
    library, saga, _ = read_again
    write(saga, {"Mill.md": "# Mill\nIt grinds barley.\n"})
    library.vaults._noticed += 1  # as a sync under way has it
    tool = next(tool for tool in all_tools() if tool.name == "get_entity")
    for document, said in (("saga", True), ("atlas", False)):
        with pytest.raises(NotFoundError) as error:
            await tool.run(library, {"uri": f"lore://notes/{document}/Weir.md"})
        assert (STILL in str(error.value)) == said
