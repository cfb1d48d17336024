"""Commands that read the library: search, documents, stats."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DOCUMENT, DONE, JSON, TYPE, Call, Commands, argument, entry_of, refreshed
from lorekeeper.editions import LABELS, parse_edition
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.order import NEWEST, RANDOM, SHORT
from lorekeeper.printable import shown
from lorekeeper.where import EXAMPLE

if TYPE_CHECKING:
    from lorekeeper.search.query import Query
    from lorekeeper.search.results import ResultPage

commands = Commands()

ORDERS = ("name", *SHORT, NEWEST, RANDOM)


def known_filters_by_type() -> str:
    """The filters of each type, for the help."""
    known = {name: " ".join(field.name for field in c.fields) for name, c in COLLECTIONS.items() if c.fields}
    listed = [
        textwrap.fill(f"{name}: {fields}", 78, initial_indent="  ", subsequent_indent="    ")
        for name, fields in known.items()
    ]
    return "\n".join(["filters (numbers also with _min and _max):", *listed])


@commands.add(
    "search",
    "search the library",
    argument("query", metavar="QUERY", help="what to find, in plain words, or a name"),
    argument(
        "--also", action="append", default=[], metavar="QUERY", help="the same in other words (up to three times)"
    ),
    TYPE,
    DOCUMENT,
    argument(
        "--filter", action="append", default=[], metavar="FIELD=VALUE", help="as in level_max=3 (may be repeated)"
    ),
    argument("--where", metavar="TESTS", help=f"tests that all hold, as in '{EXAMPLE}'"),
    argument("--order", metavar="ORDER", help=f"sort by {', '.join(ORDERS)}; with asc or desc"),
    argument("--seed", type=int, metavar="N", help="of a random order, to see it again"),
    argument("--edition", metavar="EDITION", help=f"comes first: {', '.join(LABELS)}, or document keys"),
    argument("--limit", type=int, default=10, metavar="N", help="number of results, 1 to 50 (default: 10)"),
    argument("--offset", type=int, default=0, metavar="N", help="results to skip, for the next page (default: 0)"),
    argument(
        "--mode",
        choices=["auto", "semantic", "keyword"],
        default="auto",
        help="search by meaning (semantic), by words (keyword), or by both (auto, the default)",
    ),
    argument("--explain", action="store_true", help="say how each result was found, or why nothing was"),
    JSON,
    examples=(
        'lorekeeper search "an undead that drains life" --type creatures --filter cr_max=4',
        "lorekeeper search dragon --type creatures --where 'immune:poison speed.fly>=60' --order 'cr asc'",
        'lorekeeper search "survive a long fall" --also "fall slowly like a feather" --also "land unharmed"',
        "lorekeeper search fireball --edition 2014 --json",
        'lorekeeper search "an undead that drains life" --explain',
    ),
    notes=known_filters_by_type,
)
async def search(call: Call) -> int:
    """Search, and show the best results."""
    from lorekeeper.server.answers import page_content

    query = _query(call)
    async with call.library() as library:
        if query.mode != "keyword":
            with suppress(LoreKeeperError):  # the search itself reports what is missing
                await library.open(query.types)
        page = await library.view().search(query)
    explained = {"explanation": page.explanation and page.explanation.as_dict()} if query.explain else {}
    call.show({**page_content(page), **explained}, lambda: _print(page))
    return DONE


def _query(call: Call) -> Query:
    """The search that the arguments ask for."""
    from lorekeeper.search.query import Query
    from lorekeeper.server.tools import SEARCHED

    return Query(
        types=call.arguments.type or SEARCHED,
        text=call.arguments.query,
        also=call.arguments.also,
        filters=_filters(call.arguments.filter),
        documents=call.arguments.document,
        limit=call.arguments.limit,
        offset=call.arguments.offset,
        mode=call.arguments.mode,
        where=call.arguments.where,
        order=call.arguments.order,
        seed=call.arguments.seed,
        edition=None if call.arguments.edition is None else parse_edition(call.arguments.edition),
        explain=call.arguments.explain,
    )


def _print(page: ResultPage) -> None:
    from lorekeeper.cli.explained import print_explanation
    from lorekeeper.cli.render import print_page

    print_page(page)
    if page.explanation:
        print_explanation(page.explanation)


@commands.add(
    "show",
    "show a whole entry: a stat block, a spell, a rule",
    argument("entry", metavar="NAME_OR_URI", help="its name, or its uri as search results give it"),
    TYPE,
    DOCUMENT,
    argument("--markdown", action="store_true", help="print Markdown, not formatted for a terminal"),
    JSON,
    examples=('lorekeeper show "adult red dragon"', "lorekeeper show lore://spells/srd-2014/fireball --markdown"),
)
async def show(call: Call) -> int:
    """Show one entry; FAILED, with the nearest names, if there is none."""
    from lorekeeper.cli.page import print_entry
    from lorekeeper.server.answers import entity_answer

    async with call.library() as library:
        view = library.view()
        entry = await entry_of(call, view, call.arguments.entry)
        answer = await entity_answer(view, entry.entity)
    call.show(answer.structured, lambda: print_entry(answer, entry.others, markdown=call.arguments.markdown))
    return DONE


@commands.add(
    "documents",
    "list the books: source, licence, number of entries",
    JSON,
    examples=("lorekeeper documents",),
)
async def documents(call: Call) -> int:
    """List the documents."""
    from lorekeeper.cli.render import print_documents
    from lorekeeper.server.answers import document_list

    async with call.library() as library:
        view = await refreshed(library)
        documents = await document_list(view)
    call.show({"documents": documents}, lambda: print_documents(documents))
    return DONE


@commands.add("stats", "count the entries of the library", JSON, examples=("lorekeeper stats",))
async def stats(call: Call) -> int:
    """Count what is in the library."""
    from lorekeeper.cli.render import print_statistics
    from lorekeeper.cli.render_vaults import print_vaults
    from lorekeeper.composition import open5e_of
    from lorekeeper.intake.freshness import freshness

    async with call.library() as library:
        view = await refreshed(library)
        statistics = await view.cache.statistics()
        vaults = await library.vaults.status() if view.viewer.sees_all else []
    fresh = await asyncio.to_thread(freshness, open5e_of(call.settings), offline=call.settings.offline)
    content = {
        "backend": statistics.backend,
        "location": statistics.location,
        "embedding": statistics.embedding,
        "total": sum(statistics.counts.values()),
        "counts": statistics.counts,
        "kinds": statistics.kinds,
        "passages": statistics.passages,
        "open5e": fresh.as_dict(),
        "vaults": [status.as_dict() for status in vaults],
    }
    call.show(content, lambda: print_statistics(statistics, fresh))
    if vaults and not call.json:
        print_vaults(vaults)
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
