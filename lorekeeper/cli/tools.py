"""Commands that are a question to a tool: its answer, as the tool gives it, on a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DONE, JSON, Call, Commands, JsonObject, answers, argument
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.printable import shown

if TYPE_CHECKING:
    from lorekeeper.library import Library

commands = Commands()

OF_MEANING = ("query", "semantic_query", "topic")
"""Parameters whose text is embedded, so that an answer waits for the model."""


async def ask_tool(
    call: Call, tool: str, arguments: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> JsonObject:
    """Ask a tool, print what it answers, and return that as structured content.

    Args:
        call: of the command.
        tool: name of the tool.
        arguments: its parameters; what is None or empty counts as not given.
        options: the options that set its parameters, as which its text calls these; none for ``NAME=VALUE``.
    """
    found = await call.answer(tool_answer, {"tool": tool, "arguments": dict(arguments)})
    call.show(found["content"], lambda: _print(found["text"], options or {}))
    content: JsonObject = found["content"]
    return content


@answers
async def tool_answer(library: Library, question: JsonObject) -> JsonObject:
    """What a tool answers, as structured content and as text."""
    from lorekeeper.server.tools import tools_by_name

    tool = tools_by_name().get(question["tool"])
    if tool is None:
        raise FilterError(f"unknown tool {shown(question['tool'])}; known: {', '.join(tools_by_name())}")
    arguments = tool.check(question["arguments"])
    if any(name in arguments for name in OF_MEANING):
        with suppress(LoreKeeperError):  # what is missing is reported when it is needed
            await library.open()
    answer = await tool.run(library.view(), arguments)
    return {"content": answer.structured, "text": answer.text}


def as_options(text: str, options: Mapping[str, str]) -> str:
    """A text that calls parameters as the options that set them: "rules=2024" is "--rules 2024"."""
    names = "|".join(options)
    return re.sub(rf"\b({names})=(?=\S)", lambda found: f"{options[found[1]]} ", text) if options else text


def _print(text: str, options: Mapping[str, str]) -> None:
    from lorekeeper.cli.render import print_text

    print_text(as_options(text, options))


@commands.add(
    "ask",
    "ask any tool of the server, and print its answer",
    argument("tool", nargs="?", metavar="TOOL", help="name of the tool; without it, all are listed"),
    argument("values", nargs="*", metavar="NAME=VALUE", help="a parameter; given several times, a list"),
    JSON,
    examples=(
        "lorekeeper ask",
        "lorekeeper ask lookup_creature cr=1/4 type=undead limit=3",
        "lorekeeper ask get_entity 'uri=Fireball, srd-2024' --json",
    ),
)
async def ask(call: Call) -> int:
    """Ask a tool, or list the tools with their parameters."""
    if call.arguments.tool is None:
        from lorekeeper.server.tools import all_tools

        listed = {
            tool.name: {"about": tool.description, "parameters": list(tool.arguments.model_fields)}
            for tool in all_tools()
        }
        text = "\n".join(
            f"**{name}** {each['about']}\n   {', '.join(each['parameters'])}" for name, each in listed.items()
        )
        call.show(listed, lambda: _print(text, {}))
        return DONE
    await ask_tool(call, call.arguments.tool, pairs(call.arguments.values, "NAME=VALUE"))
    return DONE


def pairs(given: list[str], form: str) -> dict[str, Any]:
    """Pairs of that form; several values of one name are a list.

    Raises:
        FilterError: one is no pair.
    """
    values: dict[str, list[str]] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if not name or not value:
            raise FilterError(f"{shown(pair)} is not {form}; write, for example, level_max=3")
        values.setdefault(name, []).append(value)
    return {name: several if len(several) > 1 else several[0] for name, several in values.items()}
