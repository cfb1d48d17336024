"""Commands that read the library: search, documents, stats."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DOCUMENT, DONE, JSON, TYPE, Call, Commands, argument, entry_of, refreshed
from lorekeeper.editions import LABELS, parse_edition
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.order import NEWEST, RANDOM, SHORT
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.where import EXAMPLE

if TYPE_CHECKING:
    from lorekeeper.search.query import Query
    from lorekeeper.search.results import ResultPage

commands = Commands()

ORDERS = ("name", *SHORT, NEWEST, RANDOM)

MOST_SHOWN, MOST_READ = 5, 10
"""Results where no number is given: for people, and with ``--json``."""

CLOSE = 0.75
"""Likeness from which on a word may be a misspelt command, from 0 to 1."""


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
    argument("query", nargs="+", metavar="QUERY", help="what to find, in plain words, or a name"),
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
    argument("--limit", type=int, metavar="N", help="number of results, 1 to 50 (default: 5; with --json 10)"),
    argument("--offset", type=int, default=0, metavar="N", help="results to skip, for the next page (default: 0)"),
    argument(
        "--mode",
        choices=["auto", "semantic", "keyword"],
        default="auto",
        help="search by meaning (semantic), by words (keyword), or by both (auto, the default)",
    ),
    argument("--explain", action="store_true", help="show scores and uris, and how each result was found"),
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
    _require_no_typing_error(call, page)
    explained = {"explanation": page.explanation and page.explanation.as_dict()} if query.explain else {}
    call.show({**page_content(page), **explained}, lambda: _print(call, page))
    return DONE


def _require_no_typing_error(call: Call, page: ResultPage) -> None:
    """FilterError if words that name no command look like one, and no result has the first of them."""
    from lorekeeper.cli.main import COMMANDS
    from lorekeeper.text.keywords import STOP_WORDS

    word = call.arguments.instead_of
    if len(call.arguments.query) > 1 and fold(word) in STOP_WORDS:
        return  # "how does grappling work" is a question, although "how" is close to "show"
    if not get_close_matches(word, COMMANDS, n=1, cutoff=CLOSE):
        return
    texts = (f"{result.entity.name} {result.facts} {result.snippet}" for result in page.results)
    if not any(fold(word) in fold(text) for text in texts):
        searched = one_line(" ".join(call.arguments.query), MAX_SHOWN)
        raise FilterError(f"{unknown_name(word, list(COMMANDS), 'command')}; to search: lorekeeper search {searched}")


def _query(call: Call) -> Query:
    """The search that the arguments ask for."""
    from lorekeeper.search.query import Query
    from lorekeeper.server.tools import SEARCHED

    return Query(
        types=call.arguments.type or SEARCHED,
        text=" ".join(call.arguments.query),
        also=call.arguments.also,
        filters=_filters(call.arguments.filter),
        documents=call.arguments.document,
        limit=_limit(call),
        offset=call.arguments.offset,
        mode=call.arguments.mode,
        where=call.arguments.where,
        order=call.arguments.order,
        seed=call.arguments.seed,
        edition=None if call.arguments.edition is None else parse_edition(call.arguments.edition),
        explain=call.arguments.explain,
    )


def _limit(call: Call) -> int:
    """How many results: as many as a terminal of 24 lines has room for, unless the caller or a program wants others."""
    if call.arguments.limit is not None:
        return int(call.arguments.limit)
    return MOST_READ if call.json else MOST_SHOWN


def _print(call: Call, page: ResultPage) -> None:
    from lorekeeper.cli.explained import print_explanation
    from lorekeeper.cli.render import print_page

    print_page(page, explained=call.arguments.explain, whole=call.arguments.limit is not None)
    if page.explanation:
        print_explanation(page.explanation)


@commands.add(
    "show",
    "show a whole entry: a stat block, a spell, a rule",
    argument("entry", nargs="+", metavar="NAME_OR_URI", help="its name, or its uri as search results give it"),
    TYPE,
    DOCUMENT,
    argument("--markdown", action="store_true", help="print Markdown, not formatted for a terminal"),
    JSON,
    examples=("lorekeeper show adult red dragon", "lorekeeper show lore://spells/srd-2014/fireball --markdown"),
)
async def show(call: Call) -> int:
    """Show one entry; FAILED, with the nearest names, if there is none."""
    from lorekeeper.cli.page import print_entry
    from lorekeeper.server.answers import entity_answer

    async with call.library() as library:
        view = library.view()
        entry = await entry_of(call, view, " ".join(call.arguments.entry))
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
