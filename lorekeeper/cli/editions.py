"""The command that says and sets which edition comes first."""

from __future__ import annotations

from lorekeeper.cli.command import DONE, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import show
from lorekeeper.entities import SEARCHED

commands = Commands()

NONE = "none"
"""The value that removes the setting."""


@commands.add(
    "edition",
    "show or set the edition that ranks first",
    argument(
        "value",
        metavar="VALUE",
        nargs="?",
        help="2014, 2024, a5e, black-flag, or document keys, separated by commas; 'none' for no preference",
    ),
    JSON,
    examples=("lorekeeper edition", "lorekeeper edition 2014", "lorekeeper edition my-house-rules,2024"),
)
async def edition(call: Call) -> int:
    """Show the edition in force and those of the library, or set it in the user's own file."""
    from lorekeeper.library import Library
    from lorekeeper.settings import load_settings, own_file, write_setting

    value = call.arguments.value
    if value is not None:
        file = own_file(call.settings.env_file)
        wanted = None if value.strip().lower() == NONE else await _checked(call, value)
        write_setting(file, "edition", wanted)
        settings, origins = load_settings()
    else:
        settings, origins = call.settings, dict(call.origins)
    async with Library.from_settings(settings) as library:
        editions = await library.view().searcher.documents.editions(SEARCHED)
    counts = {code: numbers.total() for code, numbers in editions.items()}
    content = {"edition": settings.edition, "from": origins["edition"], "counts": counts}
    call.show(content, lambda: _print(settings.edition, origins["edition"], counts))
    return DONE


async def _checked(call: Call, value: str) -> str:
    """The editions and documents of a value, as the setting has them; FilterError if one is neither."""
    from lorekeeper.editions import parse_edition

    wanted = parse_edition(value)
    async with call.library() as library:
        await library.view().searcher.documents.require_edition(wanted)
    return ",".join(wanted)


def _print(wanted: str | None, origin: str, counts: dict[str, int]) -> None:
    from lorekeeper.editions import edition_label
    from lorekeeper.printable import one_line

    if wanted:
        show(f"{one_line(wanted)} comes first (from {one_line(origin)}).")
    else:
        show("No edition is preferred: the system reference documents of 2024 and 2014 rank first.")
    for code, number in sorted(counts.items(), key=lambda item: -item[1]):
        name = edition_label(code) or "unknown edition"
        print(f"{number:7,} entries  {one_line(name)}")
