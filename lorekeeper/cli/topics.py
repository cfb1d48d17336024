"""Commands that bring things together: topic, recent."""

from __future__ import annotations

from contextlib import suppress

from lorekeeper.cli.command import DONE, JSON, TYPE, Call, Commands, argument, refreshed
from lorekeeper.errors import LoreKeeperError

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
    from lorekeeper.cli.render import print_dossier

    async with call.library() as library:
        with suppress(LoreKeeperError):  # what is missing is reported when it is needed
            await library.open()
        limit = call.arguments.limit
        if limit is None:
            limit = MOST_READ if call.json else MOST_SHOWN
        dossier = await library.view().topic(" ".join(call.arguments.topic), call.arguments.type, limit)
    call.show(dossier.content(), lambda: print_dossier(dossier, whole=call.arguments.limit is not None))
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
