"""Notes that turn secret, and public again, while a player asks: what was saved as secret is in no answer that began after it."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from lorekeeper.composition import people_of
from lorekeeper.shares import NOTE, TAG, Opened
from lorekeeper.vaults.shares import SharesFile, kept, opened, shared
from tests.support.commands import run_lorekeeper
from tests.support.libraries import settings, shelf_folder
from tests.support.serving import http_server
from tests.support.vaults import save
from tests.support.waiting import until
from tests.support.wires import HttpWire, RestWire, Wire

pytestmark = pytest.mark.slow

SECRETS, MET, QUESTIONS = 20, 10, 100
"""How many words have turned secret at the end, how many of all a player has met, and how many questions were answered."""

PATIENCE = 200.0
"""Seconds after which that is given up."""

NOTES = ("Bell", "Tower", "Warden")
WORD = re.compile(r"zq\d{6}")

PUBLIC = "---\nvisibility: players\n---\nThe {} of the harbour rings: {}.\n"
SECRET = (
    "---\nvisibility: dm\n---\nThe {} of the harbour rings: {}.\n",
    "---\nvisibility: players\n---\nThe {0} of the harbour.\n\n## GM Notes\nIt rings: {1}.\n",
    "---\nvisibility: players\n---\nThe {0} of the harbour.\n\n> [!dm]\n> It rings: {1}.\n",
    "The {} of the harbour rings: {}.\n",
)
"""A note that keeps its word from players: as a whole, in a section, in a callout, and by having no mark."""

UNMARKED = SECRET[-1]


@dataclass
class Table:
    """A server over a vault whose notes change, and what a player has received of them.

    Attributes:
        folder: of the vault.
        shares: what is shared of it beside its marks.
        address: of the server.
        token: a player's.
        kept: since when a word is secret, on the monotonic clock.
        seen: words that were received.
        leaks: words that were received although they had been secret before their question.
        questions: how many were answered.
        ended: says that all is done.
    """

    folder: Path
    shares: SharesFile
    address: str
    token: str
    kept: dict[str, float] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    leaks: list[str] = field(default_factory=list)
    questions: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def enough(self) -> bool:
        """Whether so much was saved and asked that a leak would have shown."""
        return len(self.kept) >= SECRETS and len(self.seen) >= MET and self.questions >= QUESTIONS

    def change(self, chance: Random) -> None:
        """Save one note after another, public and then secret, each time with a word of its own."""
        number = 0
        while not self.ended.is_set():
            name = chance.choice(NOTES)
            number += 1
            word = f"zq{number:06}"
            if chance.random() < 0.5:
                self.share(name, word, chance)
                continue
            save(self.folder / f"{name}.md", PUBLIC.format(name, word))
            self.ended.wait(chance.uniform(0, 0.3))
            save(self.folder / f"{name}.md", chance.choice(SECRET).format(name, word))
            self.kept[word] = time.monotonic()
            self.ended.wait(chance.uniform(0, 0.2))

    def share(self, name: str, word: str, chance: Random) -> None:
        """Share a note without a mark, by itself or by its tag, and keep it again."""
        kind, shared_as = chance.choice([(NOTE, f"{name}.md"), (TAG, name.lower())])
        save(self.folder / f"{name}.md", f"{UNMARKED.format(name, word)}\n#{name.lower()}\n")
        seen = {f"{name}.md": Opened()}
        self.shares.edit(lambda rows: opened(shared(rows, "harbour", kind, shared_as), "harbour", seen))
        self.ended.wait(chance.uniform(0.1, 0.4))
        self.shares.edit(lambda rows: kept(rows, "harbour", kind, shared_as))
        self.kept[word] = time.monotonic()
        self.ended.wait(chance.uniform(0, 0.2))
        self.shares.edit(lambda _: [])  # the note has no mark, and is secret without any decision

    def ask(self, wire: Wire) -> None:
        """Search and read, over and over."""
        while not self.ended.is_set():
            for question in questions(wire):
                wire.received.clear()
                began = time.monotonic()
                question()
                self.take("\n".join(wire.received), began)

    def take(self, received: str, began: float) -> None:
        """Note what an answer has that began at a time."""
        words = set(WORD.findall(received))
        self.seen |= words
        self.leaks += [word for word in words if self.kept.get(word, began) < began]
        self.questions += 1


def questions(wire: Wire) -> Iterator[Callable[[], object]]:
    """What a player asks, in turn."""
    yield lambda: wire.ask("search_lore", query="what rings in the harbour", types=["notes"], limit=10)
    yield lambda: wire.ask("lookup_note", order="newest", detail="full")
    yield lambda: wire.ask("gather_topic", topic="Bell")
    for name in NOTES:
        yield lambda name=name: wire.ask("get_entity", uri=f"lore://notes/harbour/{name}.md")  # type: ignore[misc]


@pytest.fixture
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = shelf_folder(tmp_path_factory)
    vault = folder / "harbour"
    vault.mkdir()
    for name in NOTES:
        save(vault / f"{name}.md", PUBLIC.format(name, "zq000000"))
    added = run_lorekeeper(folder, "vault", "add", str(vault))
    assert added.returncode == 0, added.stderr
    token = people_of(settings(milvus_db_path=folder / "milvus.db")).add("Ana", "player")[1]
    with http_server(folder, RATE_LIMIT="0") as url:
        yield Table(vault, SharesFile(folder / "milvus.db.shares"), url.removesuffix("/mcp"), token)


@pytest.mark.parametrize("client", [RestWire, HttpWire], ids=["rest", "http"])
def test_no_answer_has_what_was_secret_before_its_question(
    table: Table, client: Callable[[str, str], Wire], seed: int
) -> None:
    wire = client(table.address, table.token)
    threads = [
        threading.Thread(target=table.change, args=[Random(seed)]),
        threading.Thread(target=table.ask, args=[wire]),
    ]
    for thread in threads:
        thread.start()
    with contextlib.suppress(TimeoutError):
        until(table.enough, PATIENCE)
    table.ended.set()
    for thread in threads:
        thread.join()
    wire.close()
    assert table.leaks == []
    assert table.enough(), f"{len(table.kept)} secrets, {len(table.seen)} words met, {table.questions} questions"
