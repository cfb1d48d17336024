"""Commands that read the library: search, documents, stats."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lorekeeper.cli.command import DOCUMENT, DONE, JSON, TYPE, Call, Commands, argument
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.printable import shown

commands = Commands()


@commands.add(
    "search",
    "search the library",
    argument("query", metavar="QUERY", help="what to find, in plain words, or a name"),
    TYPE,
    DOCUMENT,
    argument(
        "--filter", action="append", default=[], metavar="FIELD=VALUE", help="as in level_max=3 (may be repeated)"
    ),
    argument("--limit", type=int, default=10, help="number of results, 1 to 50 (default: 10)"),
    argument("--mode", choices=["auto", "semantic", "keyword"], default="auto", help="auto (default) combines both"),
    JSON,
)
async def search(call: Call) -> int:
    """Search, and show the best results."""
    from lorekeeper.cli.render import print_page
    from lorekeeper.search.pipeline import Query
    from lorekeeper.server.answers import page_content
    from lorekeeper.server.tools import SEARCHED

    query = Query(
        types=call.arguments.type or SEARCHED,
        text=call.arguments.query,
        filters=_filters(call.arguments.filter),
        documents=call.arguments.document,
        limit=call.arguments.limit,
        mode=call.arguments.mode,
    )
    async with call.library() as library:
        if query.mode != "keyword":
            with suppress(LoreKeeperError):  # the search itself reports what is missing
                await library.open(query.types)
        page = await library.search(query)
    call.show(page_content(page), lambda: print_page(page))
    return DONE


@commands.add("documents", "list the source documents with their licences and numbers of entries", JSON)
async def documents(call: Call) -> int:
    """List the documents."""
    from lorekeeper.cli.render import print_documents
    from lorekeeper.server.answers import document_list

    async with call.library() as library:
        documents = await document_list(library)
    call.show({"documents": documents}, lambda: print_documents(documents))
    return DONE


@commands.add("stats", "count the entries of the library", JSON)
async def stats(call: Call) -> int:
    """Count what is in the library."""
    from lorekeeper.cli.render import print_statistics

    async with call.library() as library:
        statistics = await library.statistics()
    content = {
        "backend": statistics.backend,
        "location": statistics.location,
        "embedding": statistics.embedding,
        "total": sum(statistics.counts.values()),
        "counts": statistics.counts,
        "kinds": statistics.kinds,
        "passages": statistics.passages,
    }
    call.show(content, lambda: print_statistics(statistics))
    return DONE


def _filters(pairs: Sequence[str]) -> dict[str, Any]:
    """``field=value`` pairs; several values of one field mean any of them."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not name or not value:
            raise FilterError(f"--filter {shown(pair)} is not FIELD=VALUE, as in level_max=3")
        values.setdefault(name, []).append(value)
    return {name: several if len(several) > 1 else several[0] for name, several in values.items()}
