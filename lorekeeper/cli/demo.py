"""``lorekeeper demo``: questions to the starter compendium, through a real MCP server over stdio."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from lorekeeper.cli.render import Bar, console, plain
from lorekeeper.clients.server import program
from lorekeeper.library import Library
from lorekeeper.settings import PREFIX, Settings

QUESTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Which spell keeps us alive when we fall off this cliff?",
        "lookup_spell",
        {"semantic_query": "we are falling off a cliff"},
    ),
    (
        "It gets up again and again!",
        "lookup_creature",
        {"semantic_query": "heals its wounds unless burned with fire"},
    ),
    ("An undead of challenge rating 1/4?", "lookup_creature", {"type": "undead", "cr": "1/4"}),
    (
        "The hoard is ours. How do we get it home?",
        "lookup_equipment",
        {"semantic_query": "we found a dragon's hoard and cannot carry it all"},
    ),
    ("What was that tarasque again?", "search_lore", {"query": "tarasque"}),
)

SHOWN = 3

NEXT = """[bold]What next?[/]
  lorekeeper search "a spell against undead"      ask it yourself
  lorekeeper show fireball                        read an entry
  lorekeeper sync open5e                          add Open5e's books
  lorekeeper import FILE                          add your own
To ask from an AI assistant, see which ones it can be added to:"""


async def run_demo(settings: Settings) -> None:
    """Load the starter compendium into the configured library, then ask a server questions and show its answers.

    Raises:
        LoreKeeperError: the library or the model is not available.
    """
    async with Library.from_settings(settings) as library:
        with Bar("Loading the starter compendium", sizes=True) as bar:
            report = await library.load_starter(start=bar.start, progress=bar.advance)
        location = (await library.statistics()).location
    console.print(
        f"Starter compendium: {report.stored:,} entries stored, {report.unchanged:,} already there, in {plain(location)}\n"
    )

    from mcp import Client, StdioServerParameters

    environment = {
        **os.environ,
        **{PREFIX + k.upper(): str(v) for k, v in settings if v is not None and v is not False},
    }
    parameters = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "lorekeeper", "serve"], env=environment
    )
    async with Client(parameters, read_timeout_seconds=120) as client:
        for question, tool, arguments in QUESTIONS:
            began = time.perf_counter()
            result = await client.call_tool(tool, {**arguments, "limit": SHOWN})
            milliseconds = (time.perf_counter() - began) * 1e3
            _show(question, tool, arguments, result.structured_content or {}, milliseconds)
    console.print(NEXT)
    command = " ".join(program(Path(sys.executable)))
    console.print(Text(f"  {command} install"), soft_wrap=True)


def _show(question: str, tool: str, arguments: dict[str, Any], content: dict[str, Any], milliseconds: float) -> None:
    console.print(f"[bold]{question}[/]")
    call = ", ".join(f"{k}={v!r}" for k, v in arguments.items())
    console.print(f"[dim]{tool}({call})  {milliseconds:.0f} ms[/]")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", width=4)
    table.add_column(ratio=1)
    table.add_column(style="cyan", no_wrap=True)
    for hit in content.get("results", []):
        score = "" if hit["score"] is None else f"{hit['score']:.2f}"
        table.add_row(
            score,
            f"[bold]{plain(hit['name'])}[/]  [green]{plain(hit['facts'])}[/]\n{plain(hit['snippet'])}",
            plain(hit["document_name"]),
        )
    console.print(table)
    console.print()
