"""Resources: entries as the books print them, lists of entries, and the skill for assistants, as Markdown."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from lorekeeper.entities import COLLECTIONS, MAX_URI_LENGTH, Entity, parse_uri
from lorekeeper.errors import CacheError, LoreKeeperError
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.server.answers import entity_answer
from lorekeeper.server.icons import icon
from lorekeeper.views.view import View

PAGE_TYPE = "text/markdown"
"""The media type of resources."""

PAGE = 50
"""Resources on a page of `resources/list`."""

LIST_PAGE = 200
"""Entries on a page of a list: about 5,000 tokens."""

MAX_DIGITS = 9
"""Most digits of a cursor."""

MAX_ERROR = 2000
"""Longest error text sent to a client, in characters."""

TEMPLATES = {
    "lore://{type}/{document}/{slug}": (
        "entry",
        "One entry",
        "an entry as its book prints it, with source and licence",
    ),
    "lore://{type}/{document}{?offset}": (
        "document",
        "Entries of a book",
        "names and uris of a book's entries of a type",
    ),
    "lore://{type}{?offset}": ("type", "Entries of a type", "names and uris of all entries of a type"),
}
"""Name, title and description of each template."""

SKILL_NAME = "look-up-before-you-answer"
SKILL_USE = "for assistants: when to look things up, and with which tool"
SKILL_URI = f"skill://lorekeeper/{SKILL_NAME}"
"""Instructions for an assistant: when to look things up, and with which tool."""

SKILL_FILE = Path(__file__).parents[1] / "data" / "skill.md"
"""The skill with its front matter, as the plugin for Claude Code ships it."""

_LIST_URI = re.compile(r"lore://([^/?#]+)(?:/([^/?#]+))?(?:\?offset=(\d{1,9}))?")


@dataclass(frozen=True)
class _List:
    """A page of a list: of which type, of one document or of all, and how many entries come before it."""

    entity_type: str
    document: str | None
    offset: int

    def at(self, offset: int) -> str:
        """The address of the page that begins there."""
        document = f"/{quote(self.document, safe='')}" if self.document else ""
        return f"lore://{self.entity_type}{document}{f'?offset={offset}' if offset else ''}"


def not_found(message: str, uri: str) -> MCPError:
    """The error for a resource that is not there."""
    return MCPError(
        code=types.INVALID_PARAMS, message=one_line(message, MAX_ERROR), data={"uri": one_line(uri, MAX_URI_LENGTH)}
    )


def templates() -> list[types.ResourceTemplate]:
    """The addresses of all resources."""
    known = f"; type is one of {', '.join(COLLECTIONS)}"
    return [
        types.ResourceTemplate(
            uri_template=template,
            name=name,
            title=title,
            description=description + known,
            mime_type=PAGE_TYPE,
            icons=[icon("book")],
        )
        for template, (name, title, description) in TEMPLATES.items()
    ]


async def listed(view: View, cursor: str | None) -> types.ListResourcesResult:
    """A page of the documents, of the lists of entries of each, and of the skill, which is the last.

    Raises:
        MCPError: the cursor is none of ours.
        CacheError: the library cannot be read.
    """
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= MAX_DIGITS):
        raise MCPError(code=types.INVALID_PARAMS, message="unknown cursor: begin again without one")
    start = int(cursor or 0)
    resources = await _resources(view)
    more = str(start + PAGE) if start + PAGE < len(resources) else None
    return types.ListResourcesResult(resources=resources[start : start + PAGE], next_cursor=more)


async def _resources(view: View) -> list[types.Resource]:
    records = await view.cache.get_entities("documents")
    titles = await view.searcher.documents.titles()
    counts = await view.cache.documents()
    described = [
        (each.uri, each.slug, each.name, "source document", {"annotations": _annotations(each)}) for each in records
    ]
    described += [
        (
            _List(name, key, 0).at(0),
            f"{key} {name}",
            f"{collection.label.capitalize()}s of {titles.get(key) or key}",
            f"{number} names with their uris",
            {},
        )
        for name, collection in COLLECTIONS.items()
        for key, by_type in counts.items()
        if name != "documents" and (number := by_type.get(name))
    ]
    described.append((SKILL_URI, SKILL_NAME, "Look up before you answer", SKILL_USE, {}))
    return [
        types.Resource(
            uri=uri, name=one_line(name), title=one_line(title), mime_type=PAGE_TYPE, description=use, **more
        )
        for uri, name, title, use, more in described
    ]


def _annotations(record: Entity) -> types.Annotations | None:
    """When a document was last changed, as far as its source says so."""
    published = str(record.data.get("publication_date") or "")
    known = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", published)
    return types.Annotations(last_modified=f"{published}Z") if known else None


async def read(view: View, uri: str) -> str:
    """The Markdown of an entry, of a page of a list, or of the skill.

    Raises:
        MCPError: there is nothing at that address.
        CacheError: the library cannot be read.
    """
    if uri == SKILL_URI:
        text = await asyncio.to_thread(SKILL_FILE.read_text, "utf-8")
        return text.split("\n---\n", 1)[1].strip()  # without its front matter
    page = _list_at(uri)
    if page:
        return await _list_page(view, page, uri)
    try:
        found = await view.entities_at(*parse_uri(uri))
    except CacheError:
        raise
    except (ValueError, LoreKeeperError) as error:
        raise not_found(str(error), uri) from error
    if not found:
        raise not_found(f"there is no {one_line(uri, MAX_SHOWN)} in the library", uri)
    return (await entity_answer(view, *found)).page


def _list_at(uri: str) -> _List | None:
    """The page of a list at an address, None if it is not one of a list."""
    match = _LIST_URI.fullmatch(uri)
    if match is None or match[1] not in COLLECTIONS:
        return None
    return _List(match[1], unquote(match[2]) if match[2] else None, int(match[3] or 0))


async def _list_page(view: View, page: _List, uri: str) -> str:
    try:
        entities = await view.cache.get_entities(page.entity_type, page.document, limit=LIST_PAGE, offset=page.offset)
        last = page.offset + len(entities)
        full = len(entities) == LIST_PAGE
        total = max(last, await view.cache.count_entities(page.entity_type, page.document)) if full else last
    except CacheError:
        raise
    except LoreKeeperError as error:
        raise not_found(str(error), uri) from error
    if not entities:
        raise not_found(f"there is no {one_line(uri, MAX_SHOWN)} in the library, or it ends before that offset", uri)
    titles = await view.searcher.documents.titles()
    of = f" of {one_line(titles.get(page.document) or page.document)}" if page.document else ""
    heading = f"# {COLLECTIONS[page.entity_type].label.capitalize()}s{of}"
    more = f"\n\nNext: <{page.at(last)}>" if last < total else ""
    names = "\n".join(_line(entity, titled=not page.document) for entity in entities)
    return f"{heading}\n\n{page.offset + 1} to {last} of {total}\n\n{names}{more}"


def _line(entity: Entity, *, titled: bool) -> str:
    """An entry of a list, by a name in which Markdown finds no link; with ``titled`` the key of its document stands beside it."""
    name = re.sub(r"([\[\]\\])", r"\\\1", one_line(entity.name))
    return f"- [{name}]({entity.uri})" + (f", {one_line(entity.document)}" if titled else "")
