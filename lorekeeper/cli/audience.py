"""The command that says who sees what, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lorekeeper.audience import Viewer
from lorekeeper.cli.command import DONE, FAILED, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import show
from lorekeeper.errors import ConfigError, NotFoundError
from lorekeeper.printable import one_line

if TYPE_CHECKING:
    from lorekeeper.library import Library

commands = Commands()


@commands.add(
    "audience",
    "show who can see each document, or one entry, and why",
    argument("uri", nargs="?", metavar="URI", help="an entry (default: list all documents)"),
    argument("--person", metavar="NAME", help="show what this player sees: the name, then characters after commas"),
    argument(
        "--marks", action="store_true", help="print the words that hide something from players, and where they count"
    ),
    argument(
        "--as", dest="role", choices=["player"], help="show what a player sees with whom nothing is shared by name"
    ),
    JSON,
    examples=(
        "lorekeeper audience",
        "lorekeeper audience lore://notes/my-vault/Skara.md",
        "lorekeeper audience lore://notes/my-vault/Skara.md --person Ana",
        "lorekeeper audience --marks",
    ),
)
async def audience(call: Call) -> int:
    """Say who sees what; FAILED if a player would see nothing of the entry."""
    if not call.settings.viewer.sees_all:
        raise ConfigError(
            "'lorekeeper audience' reveals what only the game master may see: it needs LOREKEEPER_VIEW=dm"
        )
    if call.arguments.marks:
        return _marks(call)
    async with call.library() as library:
        await library.refresh()
        if call.arguments.person or call.arguments.role:
            return await _as_seen(call, library, _player(call.arguments.person or ""))
        return await (_entry(call, library) if call.arguments.uri else _documents(call, library))


def _marks(call: Call) -> int:
    from lorekeeper.cli.render_audience import print_stems
    from lorekeeper.words import marks

    rows = [{"stem": stem, "class": what, "language": language} for stem, what, language in marks()]
    call.show({"marks": rows}, lambda: print_stems(rows))
    return DONE


def _player(person: str) -> Viewer:
    name, *characters = (each.strip() for each in person.split(","))
    return Viewer.player(name, characters)


async def _documents(call: Call, library: Library) -> int:
    from lorekeeper.cli.render_audience import print_shares
    from lorekeeper.views.explained import overview

    shares = await overview(library.cache)
    call.show({"documents": [each.as_dict() for each in shares]}, lambda: print_shares(shares))
    return DONE


async def _entry(call: Call, library: Library) -> int:
    from lorekeeper.cli.render_audience import print_explained
    from lorekeeper.search.resolve_entry import entries_of
    from lorekeeper.views.explained import explained

    entity, *_ = await entries_of(library.entities_at, call.arguments.uri)
    told = explained(entity)
    call.show(told, lambda: print_explained(told))
    return DONE


async def _as_seen(call: Call, library: Library, viewer: Viewer) -> int:
    """What a player sees: the entry as it is cut, or the number of entries of each document."""
    from lorekeeper.cli.page import print_entry
    from lorekeeper.cli.render_audience import print_counts
    from lorekeeper.search.resolve_entry import entries_of
    from lorekeeper.server.answers import entity_answer
    from lorekeeper.views.explained import ENTRIES

    view = library.view(viewer)
    await view.refresh()
    if not call.arguments.uri:
        counts = {key: sum(by_type.values()) for key, by_type in (await view.cache.documents(ENTRIES)).items()}
        content = [{"document": key, "entries": number} for key, number in counts.items()]
        call.show({"documents": content}, lambda: print_counts(counts))
        return DONE
    await entries_of(library.entities_at, call.arguments.uri)  # that there is none at all is another answer
    try:
        entity, *_ = await entries_of(view.entities_at, call.arguments.uri)
    except NotFoundError:
        nothing: dict[str, Any] = {"uri": call.arguments.uri, "visible": False}
        call.show(nothing, lambda: show(f"{one_line(viewer.person) or 'A player'} cannot see this entry."))
        return FAILED
    answer = await entity_answer(view, entity)
    call.show({"visible": True, **answer.structured}, lambda: print_entry(answer.page, [], markdown=False))
    return DONE
