"""Answers to the requests of clients, from a library."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.shared.exceptions import MCPError

from lorekeeper.errors import CacheError, LoreKeeperError, UpgradingError
from lorekeeper.library import Library
from lorekeeper.printable import one_line, shown
from lorekeeper.search.addresses import as_paths
from lorekeeper.server import apps, resources
from lorekeeper.server.answers import Answer
from lorekeeper.server.completion import Completer
from lorekeeper.server.cutting import cut_text
from lorekeeper.server.exchange import answered
from lorekeeper.server.icons import icon
from lorekeeper.server.models import UNEXPECTED, JsonObject
from lorekeeper.server.progress import reported
from lorekeeper.server.prompts import PROMPTS, Prompt, prompt_named
from lorekeeper.server.resources import MAX_ERROR
from lorekeeper.server.tools import Tool, ToolError, tools_by_name
from lorekeeper.views.view import View

logger = logging.getLogger(__name__)


JSON = "json"
"""The detail that programs ask for."""

ViewOf = Callable[[Any], View]
"""What the viewer of a request sees, by the context of the request."""


class Handlers:
    """Answers the SDK's requests; each method gets the context of the request and its parameters.

    Args:
        library: tells what a request is waiting for.
        view_of: gives what each request is answered from.
    """

    def __init__(self, library: Library, view_of: ViewOf) -> None:
        self._library = library
        self._view_of = view_of
        self._completers: WeakKeyDictionary[View, Completer] = WeakKeyDictionary()
        self._tools = tools_by_name()

    async def list_tools(self, context: Any, _: Any) -> types.ListToolsResult:
        """All tools, on one page."""
        shows_apps = apps.shows_apps(context)
        listed = [described(each, apps.tool_meta(each.name) if shows_apps else None) for each in self._tools.values()]
        return types.ListToolsResult(tools=listed)

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The answer of a tool; what goes wrong is an answer too, for the model to read."""
        try:
            tool = self._tools.get(params.name)
            if tool is None:
                raise ToolError(f"unknown tool {shown(params.name)}; known: {', '.join(self._tools)}")
            arguments = tool.check(params.arguments or {})
            view = self._view_of(context)
            async with reported(context, lambda: self._library.activity):
                answer = await tool.run(view, arguments)
            answered(lambda: answer.structured)
            result = _in_form(answer, arguments.get("detail"))
            if apps.shows_apps(context):
                result.meta = await apps.result_meta(view, tool.name, answer.structured)
                result.model_dump_json()  # the same
        except LoreKeeperError as error:
            return _failure(str(error))
        except Exception:
            logger.exception("%s failed", params.name)
            return _failure(UNEXPECTED)
        return result

    async def list_prompts(self, _: Any, __: Any) -> types.ListPromptsResult:
        """All prompts, on one page."""
        return types.ListPromptsResult(prompts=[_prompt(prompt) for prompt in PROMPTS.values()])

    async def get_prompt(self, _: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The text of a prompt, as said by the user."""
        with _as_errors():
            prompt = prompt_named(params.name)
            text = prompt.filled(params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def complete(self, context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Values of an argument of a prompt, or of a part of a resource's address."""
        with _as_errors():
            view = self._view_of(context)
            if view not in self._completers:
                self._completers[view] = Completer(view)
            return types.CompleteResult(completion=await self._completers[view].complete(params))

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """A page of the documents, and of the lists of their entries."""
        with _as_errors():
            return await resources.listed(self._view_of(context), params.cursor if params else None)

    async def list_templates(self, _: Any, __: Any) -> types.ListResourceTemplatesResult:
        """The addresses of all resources."""
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """An entry, or a page of a list, as Markdown; the application that shows entries, to who has use for it."""
        uri = str(params.uri)
        if uri == apps.APP_URI and apps.shows_apps(context):
            return await apps.read()
        with _as_errors():
            text = cut_text(await resources.read(self._view_of(context), uri))
        content = types.TextResourceContents(uri=uri, mime_type=resources.PAGE_TYPE, text=text)
        return types.ReadResourceResult(contents=[content])


def described(tool: Tool, meta: JsonObject | None = None) -> types.Tool:
    """A tool as it is listed: it changes nothing, and asking again gives the same."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        meta=meta,
    )


def _prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each.name, description=each.description, required=each.required)
        for each in prompt.arguments
    ]
    return types.Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=arguments,
        icons=[icon(prompt.icon)],
    )


@contextmanager
def _as_errors() -> Iterator[None]:
    """Errors as those of the protocol: what was asked is wrong, unless the library cannot be read."""
    try:
        yield
    except LoreKeeperError as error:
        code = types.INTERNAL_ERROR if isinstance(error, (CacheError, UpgradingError)) else types.INVALID_PARAMS
        raise MCPError(code=code, message=one_line(str(error), MAX_ERROR)) from error


def _in_form(answer: Answer, detail: str | None) -> types.CallToolResult:
    """An answer as text alone, since hosts differ in what they give a model of two forms; to programs that ask for it, as JSON."""
    content = answer.model.stated() if detail == JSON else None
    text = cut_text(answer.text) if content is None else json.dumps(content, ensure_ascii=False)
    text.encode()  # fails here on what cannot be encoded; the SDK would close the connection
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=content)


def _failure(text: str) -> types.CallToolResult:
    """What went wrong, with addresses as answers have them in the place of uris."""
    said = one_line(as_paths(text), MAX_ERROR)
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], is_error=True)
