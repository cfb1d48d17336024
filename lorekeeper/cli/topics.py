"""Commands that bring things together: topic, recent."""

from __future__ import annotations

from lorekeeper.cli.command import DONE, JSON, TYPE, Call, Commands, argument, refreshed
from lorekeeper.cli.tools import ask_tool

commands = Commands()

MOST_SHOWN, MOST_READ = 3, 10
"""Lines of a part where no number is given: for people, and with ``--json``."""


@commands.add(
    "topic",
    "gather everything about a person, place or theme",
    argument("topic", nargs="+", metavar="WORDS", help="a name, a theme in a few words, or a uri"),
    TYPE,
    argument("--limit", type=int, metavar="N", help="lines of each part, 1 to 50 (default: 3, with --json 10)"),
    JSON,
    examples=(
        "lorekeeper topic Nine-Fingers Keene",
        'lorekeeper topic "the dying fires" --type notes --limit 5',
        "lorekeeper topic lore://creatures/srd-2014/vampire",
    ),
)
async def topic(call: Call) -> int:
    """Gather a dossier, and show it."""
    asked = call.arguments
    limit = asked.limit or (MOST_READ if call.json else MOST_SHOWN)
    await ask_tool(call, "gather_topic", {"topic": " ".join(asked.topic), "types": asked.type, "limit": limit})
    return DONE


@commands.add(
    "recent",
    "list the newest notes, by session or by change",
    argument("--since", metavar="DATE", help="only since this date, 2026-11-20, or for this long: 24h, 7d, 2w"),
    argument("--limit", type=int, default=10, metavar="N", help="number of notes, 1 to 50 (default: 10)"),
    JSON,
    examples=("lorekeeper recent", "lorekeeper recent --since 7d --limit 20"),
)
async def recent(call: Call) -> int:
    """List the newest notes."""
    from lorekeeper.cli.render import print_recent
    from lorekeeper.search.sorting import recent_notes

    async with call.library() as library:
        view = await refreshed(library)
        notes = await recent_notes(view.cache, call.arguments.since, call.arguments.limit)
    call.show({"results": [each.content() for each in notes]}, lambda: print_recent(notes))
    return DONE
