"""The application that shows entries in a chat: who gets it, and that nobody else meets any of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.library import Library
from lorekeeper.server.apps import APP_TYPE, APP_URI, ARTICLE, EXTENSION
from lorekeeper.server.mcp import build_server
from tests.support.libraries import sample_library
from tests.support.samples import ATLAS
from tests.support.vaults import vault_library, write

HOUND = f"lore://creatures/{ATLAS}/brine-hound"

SHOWS_APPS = [advertise(EXTENSION, {"mimeTypes": ["text/plain", APP_TYPE]})]

SHOWS_NONE: dict[str, Sequence[Any]] = {
    "no extension": [],
    "another extension": [advertise("io.example/other", {"mimeTypes": [APP_TYPE]})],
    "another type": [advertise(EXTENSION, {"mimeTypes": ["text/html"]})],
    "no types": [advertise(EXTENSION, {})],
    "types that are none": [advertise(EXTENSION, {"mimeTypes": APP_TYPE})],
}

ERAS: tuple[Literal["auto", "legacy"], ...] = ("auto", "legacy")


@pytest.fixture
async def library(tmp_path) -> AsyncIterator[Library]:
    async with sample_library(tmp_path, "sqlite") as opened:
        yield opened


@asynccontextmanager
async def client(library: Library, extensions: Sequence[Any], mode: Literal["auto", "legacy"] = "auto", **options: Any):
    async with Client(build_server(library, **options), mode=mode, extensions=extensions) as connected:
        yield connected


async def asked(client: Client) -> dict[str, Any]:
    """All that the application could show in, as JSON, by what was asked."""
    answers = {
        "tools": await client.list_tools(),
        "resources": await client.list_resources(),
        "templates": await client.list_resource_templates(),
        "entry": await client.call_tool("get_entity", {"uri": HOUND}),
        "lookup": await client.call_tool("lookup_creature", {"name": "hound", "detail": "full"}),
        "json": await client.call_tool("lookup_creature", {"name": "hound", "detail": "json"}),
        "nothing": await client.call_tool("get_entity", {"uri": f"{HOUND}-gone"}),
    }
    return {name: answer.model_dump_json(by_alias=True, exclude_none=True) for name, answer in answers.items()}


@pytest.mark.parametrize("mode", ERAS)
async def test_who_shows_apps_gets_the_document_and_the_article_of_the_page(library, mode):
    async with client(library, SHOWS_APPS, mode) as shows:
        tied = {t.name: t.meta for t in (await shows.list_tools()).tools if t.meta}
        (content,) = (await shows.read_resource(APP_URI)).contents
        entry = await shows.call_tool("get_entity", {"uri": HOUND})
    assert tied == {"get_entity": {"ui": {"resourceUri": APP_URI}, "ui/resourceUri": APP_URI}}
    assert (content.uri, content.mime_type) == (APP_URI, APP_TYPE)
    assert content.text.startswith("<!doctype html>")
    assert entry.structured_content is None
    article = entry.meta[ARTICLE]
    assert article.startswith("<article")
    assert "</article>" in article
    assert "Brine Hound" in article
    assert "lean dog of the salt flats" in article


@pytest.mark.parametrize("extensions", SHOWS_NONE.values(), ids=SHOWS_NONE)
@pytest.mark.parametrize("mode", ERAS)
async def test_nobody_else_meets_anything_of_it(library, extensions, mode):
    async with client(library, SHOWS_APPS, mode) as shows:
        whole = await asked(shows)
    async with client(library, extensions, mode) as plain:
        answers = await asked(plain)
        with pytest.raises(MCPError) as there:
            await plain.read_resource(APP_URI)
        with pytest.raises(MCPError) as elsewhere:
            await plain.read_resource("ui://lorekeeper/other")
    assert there.value.code == elsewhere.value.code
    assert there.value.message == elsewhere.value.message.replace("other", "entry")
    assert {name for name in answers if answers[name] != whole[name]} == {"tools", "entry"}
    assert not [name for name, text in answers.items() if "ui/" in text or "resourceUri" in text or ARTICLE in text]


async def test_the_article_is_made_of_what_its_viewer_sees(tmp_path):
    note = "---\nvisibility: players\n---\n# Oda\n\nShe keeps bees.\n\n## GM only\n\nShe drowned once.\n"
    vault = write(tmp_path / "vault", {"Oda.md": note})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await library.vaults.sync()
        (uri,) = [entity.uri for entity in await library.cache.get_entities("notes")]
        articles = [await article(library, viewer, uri) for viewer in (GAME_MASTER, Viewer.player())]
    assert ["She keeps bees." in each for each in articles] == [True, True]
    assert ["drowned" in each for each in articles] == [True, False]


async def article(library: Library, viewer: Viewer, uri: str) -> str:
    async with client(library, SHOWS_APPS, viewer_of=lambda _: viewer, greeted=viewer) as shows:
        result = await shows.call_tool("get_entity", {"uri": uri})
    assert "drowned" not in str(result) or viewer.sees_all
    return str(result.meta[ARTICLE])


async def test_an_article_that_cannot_be_made_leaves_the_text(library, monkeypatch):
    async def fails(*_: object) -> str:
        raise RuntimeError("no template")

    monkeypatch.setattr("lorekeeper.server.page.app.article_html", fails)
    async with client(library, SHOWS_APPS) as shows:
        entry = await shows.call_tool("get_entity", {"uri": HOUND})
    assert not entry.is_error
    assert ARTICLE not in (entry.meta or {})
    assert "Brine Hound" in entry.content[0].text


def test_the_document_asks_nobody_for_anything(tmp_path: Path):
    from lorekeeper.server.page.app import document

    text = document()
    assert "default-src &#39;none&#39;" in text
    assert not [words for words in ("http:", "https:", "src=", "@import", "url(", "fetch(") if words in text.lower()]
