"""The command that reads the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DONE, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import say, show
from lorekeeper.errors import ConfigError
from lorekeeper.printable import json_text, one_line

if TYPE_CHECKING:
    from lorekeeper.server.audit import Audit

commands = Commands()

MAX_ASKED = 200
"""Longest text of what was asked, in characters."""


@commands.add(
    "audit",
    "show who asked the server what, from its audit log",
    argument("--person", metavar="NAME", help="only requests from this person"),
    argument("--since", metavar="DATE", help="only since this date, 2026-11-20, or for this long: 24h, 7d, 2w"),
    JSON,
    examples=("lorekeeper audit", "lorekeeper audit --person ana --since 7d"),
)
async def audit(call: Call) -> int:
    """Read the log, its rotated files too."""
    from lorekeeper.server.audit import read_audit

    path = call.settings.audit_log
    if path is None:
        raise ConfigError(
            "no audit log is configured: set LOREKEEPER_AUDIT_LOG to a file, for the server and for this command"
        )
    found = await asyncio.to_thread(read_audit, path, call.arguments.person, call.arguments.since)
    call.show(found.content(), lambda: _print(found))
    return DONE


def _print(found: Audit) -> None:
    for entry in found.entries:
        show(one_line(_line(entry)))
    if not found.entries:
        print("No requests.")
    if found.damaged:
        say(f"lorekeeper: damaged lines are skipped: {one_line(', '.join(found.damaged), 500)}")


def _line(entry: Mapping[str, Any]) -> str:
    """One request: when, who, by which interface, what, and what came of it."""
    who = entry.get("person") or {"dm": "game master", "player": "a player"}.get(entry.get("view") or "", "unknown")
    outcome = f"{entry.get('outcome')}: {entry['refused']}" if entry.get("refused") else f"{entry.get('outcome')}"
    figures = f"{outcome}, {entry.get('results')} results, {entry.get('ms')} ms"
    asked = entry.get("asked")
    return f"{entry.get('time')}  {who}  {entry.get('how')}  {_asked(asked if isinstance(asked, dict) else {})}  ({figures})"


def _asked(asked: Mapping[str, Any]) -> str:
    """What was asked, on one line: the tool, method or route, and the rest as JSON."""
    names = ("tool", "route", "method")
    rest = {name: value for name, value in asked.items() if name not in names}
    details = next(iter(rest.values())) if len(rest) == 1 else rest
    text = " ".join([*(str(asked[name]) for name in names if name in asked), json_text(details) if details else ""])
    return one_line(text.strip(), MAX_ASKED)
