"""``lorekeeper demo``: questions to both SRDs and some campaign notes, through a real MCP server over stdio.

The notes are invented, so they are in no library but the demo's own, which is removed after it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.text import Text

from lorekeeper.cli.render import Bar, console, plain, print_text
from lorekeeper.clients.server import program
from lorekeeper.intake.shipped_books import lacking
from lorekeeper.library import Library
from lorekeeper.printable import quantity
from lorekeeper.settings import BACKENDS, PREFIX, Settings

QUESTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Which spell keeps us alive when we fall off this cliff?",
        "lookup_spell",
        {"semantic_query": "we are falling off a cliff"},
    ),
    (
        "It gets up again and again!",
        "lookup_creature",
        {"semantic_query": "keeps healing, only fire and acid stop it"},
    ),
    ("An undead of challenge rating 1/4?", "lookup_creature", {"type": "undead", "cr": "1/4"}),
    (
        "The hoard is ours. How do we get it home?",
        "lookup_equipment",
        {"semantic_query": "we found a dragon's hoard and cannot carry it all"},
    ),
    ("What was that tarasque again?", "search_lore", {"query": "tarasque"}),
    (
        "What did we promise the witch?",
        "lookup_note",
        {"semantic_query": "what did we promise the witch", "kind": "quest"},
    ),
    ("Who is Maudlin Fetch, and what has she to do with us?", "gather_topic", {"topic": "Maudlin Fetch"}),
    (
        "Which monster of my own campaign poses as a lantern?",
        "lookup_creature",
        {"semantic_query": "a light in the water that lures people", "documents": ["drowned-bells"]},
    ),
)

SHOWN = 3

NEXT = """[bold]What next?[/]
  lorekeeper search "a spell against undead"      ask it yourself
  lorekeeper show fireball                        read an entry
  lorekeeper sync open5e                          add Open5e's books
  lorekeeper vault add FOLDER                     add your own notes
  lorekeeper import FILE                          add homebrew
To ask from an AI assistant, see which ones it can be added to:"""


async def run_demo(settings: Settings) -> None:
    """Load the first books and the campaign notes into a library of the demo's own, then ask a server questions.

    Args:
        settings: as configured; the library that they name is left alone.

    Raises:
        LoreKeeperError: the model is not available.
    """
    with TemporaryDirectory(prefix="lorekeeper-demo-", ignore_cleanup_errors=True) as folder:
        own = settings.model_copy(update=_own_library(settings, Path(folder)))
        await _load(own)
        await _ask(_environment(own, Path(folder)))
    console.print(NEXT)
    command = " ".join(program(Path(sys.executable)))
    console.print(Text(f"  {command} install"))


def _own_library(settings: Settings, folder: Path) -> dict[str, Any]:
    """What is otherwise in the settings of the demo; in place of a Milvus server, it uses SQLite."""
    paths = {f"{backend}_db_path": folder / f"{backend}.db" for backend in BACKENDS}
    return {
        **paths,
        "milvus_uri": None,
        "milvus_token": None,
        "cache_backend": "sqlite" if settings.milvus_uri else settings.cache_backend,
    }


def _environment(settings: Settings, folder: Path) -> dict[str, str]:
    """The environment of the server: these settings and no others, neither of the user's own file nor folders of notes."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    told = {PREFIX + name.upper(): str(value) for name, value in settings if value not in (None, False, ())}
    file = folder / "no settings"
    file.touch()
    return {**others, **told, f"{PREFIX}ENV_FILE": str(file)}


async def _load(settings: Settings) -> None:
    async with Library.from_settings(settings) as library:
        with Bar("Loading the first books", sizes=True) as bar:
            report = await library.load_starter(notes=True, start=bar.start, progress=bar.advance)
    for package in lacking():
        console.print(
            f"{package} is not installed: its texts of the SRDs are missing here. 'make demo' tries to get it again."
        )
    console.print(f"The first books, and the notes of a small campaign: {quantity(report.stored, 'entry')}.\n")


async def _ask(environment: dict[str, str]) -> None:
    from mcp import Client, StdioServerParameters

    parameters = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "lorekeeper", "serve"], env=environment
    )
    async with Client(parameters, read_timeout_seconds=120) as client:
        for question, tool, arguments in QUESTIONS:
            began = time.perf_counter()
            result = await client.call_tool(tool, {**arguments, "limit": SHOWN})
            milliseconds = (time.perf_counter() - began) * 1e3
            console.print(f"[bold]{question}[/]  [dim]{milliseconds:.0f} ms[/]")
            call = ", ".join(f"{k}={v!r}" for k, v in arguments.items())
            console.print(f"[dim]{plain(tool)}({plain(call)})[/]")
            print_text(result.content[0].text)
            console.print()
