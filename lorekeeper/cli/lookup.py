"""Commands that read the library: search, show, documents, stats, topic, recent."""

from __future__ import annotations

import asyncio
import textwrap
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lorekeeper.cli.command import (
    DOCUMENT,
    DONE,
    JSON,
    TYPE,
    Call,
    Commands,
    JsonObject,
    answers,
    argument,
    find,
    refreshed,
    say_note,
)
from lorekeeper.cli.terminal import say
from lorekeeper.cli.tools import ask_tool, pairs
from lorekeeper.editions import LABELS, parse_edition
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.order import NEWEST, RANDOM, SHORT
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.where import EXAMPLE

if TYPE_CHECKING:
    from lorekeeper.library import Library
    from lorekeeper.search.results import ResultPage

commands = Commands()

ORDERS = ("name", *SHORT, NEWEST, RANDOM)

MOST_SHOWN, MOST_READ = 5, 10
"""Results where no number is given: for people, as many as 24 lines have room for, and with ``--json``."""

MOST_LINES = 3
"""Lines of a part of a dossier where no number is given, for people."""

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
    argument(
        "query", nargs="*", metavar="QUERY", help="what to find, in plain words, or a name; none lists by the filters"
    ),
    argument("--also", action="append", default=[], metavar="QUERY", help="alternative wording (up to three)"),
    TYPE,
    DOCUMENT,
    argument(
        "--filter",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a filter, for example level_max=3 (may be repeated)",
    ),
    argument("--where", metavar="CONDITIONS", help=f"conditions that must all match, for example '{EXAMPLE}'"),
    argument("--order", metavar="ORDER", help=f"sort by {', '.join(ORDERS)}, followed by asc or desc"),
    argument("--seed", type=int, metavar="N", help="repeat a random order with this seed"),
    argument("--edition", metavar="EDITION", help=f"edition to rank first: {', '.join(LABELS)}, or document keys"),
    argument("--limit", type=int, metavar="N", help="number of results, 1 to 50 (default: 5, with --json 10)"),
    argument("--offset", type=int, default=0, metavar="N", help="results to skip, for the next page (default: 0)"),
    argument(
        "--mode",
        choices=["auto", "semantic", "keyword"],
        default="auto",
        help="search by meaning (semantic), by words (keyword), or by both (auto, the default)",
    ),
    argument("--explain", action="store_true", help="show scores, uris and how each result was found"),
    JSON,
    examples=(
        "lorekeeper search undead that drain life --type creatures --filter cr_max=4",
        "lorekeeper search dragon --where 'immune:poison speed.fly>0' --order cr",
        "lorekeeper search --where 'cr:5 type:undead'",
        "lorekeeper search survive a long fall --also 'land unharmed'",
        "lorekeeper search fireball --edition 2014 --json",
        "lorekeeper search undead that drain life --explain",
    ),
    notes=known_filters_by_type,
)
async def search(call: Call) -> int:
    """Search, and show the best results."""
    question = _question(call)
    if question["explain"]:
        return await _explain(call, question)
    found = await call.answer(search_page, question)
    _require_no_typing_error(call, found)
    call.show(found, lambda: _print(call, found))
    return DONE


@answers
async def search_page(library: Library, question: JsonObject) -> JsonObject:
    """A page of results, as the tools give it; the question is that of `_question`."""
    from lorekeeper.server.found import page_content

    return page_content(await _searched(library, question))


async def _searched(library: Library, question: JsonObject) -> ResultPage:
    from lorekeeper.entities import SEARCHED
    from lorekeeper.search.query import Query

    query = Query(**{**question, "types": question["types"] or SEARCHED})
    if query.mode != "keyword":
        with suppress(LoreKeeperError):  # the search itself reports what is missing
            await library.open(query.types)
    return await library.view().search(query)


async def _explain(call: Call, question: JsonObject) -> int:
    """Search, and show the results with their explanation."""
    from lorekeeper.cli.explained import print_explanation
    from lorekeeper.server.found import page_content

    async with call.library() as library:
        page = await _searched(library, question)
    explanation, found = page.explanation, page_content(page)
    _require_no_typing_error(call, found)

    def print_all() -> None:
        _print(call, found)
        if explanation:
            print_explanation(explanation)

    call.show({**found, "explanation": explanation and explanation.as_dict()}, print_all)
    return DONE


def _require_no_typing_error(call: Call, found: JsonObject) -> None:
    """FilterError if words that name no command look like one, and no result has the first of them."""
    from lorekeeper.cli.main import COMMANDS

    word = call.arguments.instead_of
    if word in COMMANDS or not get_close_matches(word, COMMANDS, n=1, cutoff=CLOSE):
        return  # "help me out of a grapple" asks for no help
    if len(call.arguments.query) > 1:
        from lorekeeper.text.keywords import STOP_WORDS

        if fold(word) in STOP_WORDS:
            return  # "how does grappling work" is a question, although "how" is close to "show"
    texts = (f"{hit['name']} {hit['facts']} {hit['snippet']}" for hit in found["results"])
    if not any(fold(word) in fold(text) for text in texts):
        searched = one_line(" ".join(call.arguments.query), MAX_SHOWN)
        raise FilterError(
            f"{unknown_name(word, list(COMMANDS), 'command', brief=True)}; to search: lorekeeper search {searched}"
        )


def _question(call: Call) -> JsonObject:
    """What the arguments ask for, by the attributes of a `Query`; no types for all that are searched by default."""
    from lorekeeper.search.query import MAX_LIMIT

    arguments, limit = call.arguments, call.arguments.limit
    if not (arguments.query or arguments.where or arguments.filter or arguments.document):
        raise FilterError(
            "say what to search for, as in 'lorekeeper search fireball', or give --where, --filter or --document"
        )
    if limit is not None and limit > MAX_LIMIT and not call.json:
        say(
            f"Here are {MAX_LIMIT} results, the most of a page; --offset {arguments.offset + MAX_LIMIT} has those that follow."
        )
        limit = MAX_LIMIT
    usual = MOST_READ if call.json else MOST_SHOWN
    return {
        "types": arguments.type,
        "text": " ".join(arguments.query) if arguments.query else None,
        "also": arguments.also,
        "filters": pairs(arguments.filter, "FIELD=VALUE"),
        "documents": arguments.document,
        "limit": usual if limit is None else limit,
        "offset": arguments.offset,
        "mode": arguments.mode,
        "where": arguments.where,
        "order": arguments.order,
        "seed": arguments.seed,
        "edition": None if arguments.edition is None else parse_edition(arguments.edition),
        "explain": arguments.explain,
    }


def _print(call: Call, found: JsonObject) -> None:
    from lorekeeper.cli.hits import print_hits

    asked = call.arguments
    wordings = [" ".join(asked.query), *asked.also]
    print_hits(found, wordings, explained=asked.explain, whole=asked.limit is not None)


@commands.add(
    "show",
    "show a whole entry: a stat block, a spell, a note",
    argument("entry", nargs="+", metavar="NAME_OR_URI", help="name of the entry, or its uri from search results"),
    TYPE,
    DOCUMENT,
    argument("--markdown", action="store_true", help="print the Markdown source"),
    JSON,
    examples=("lorekeeper show adult red dragon", "lorekeeper show lore://spells/srd-2014/fireball --markdown"),
)
async def show(call: Call) -> int:
    """Show one entry; FAILED, with the nearest names, if there is none."""
    from lorekeeper.cli.page import print_entry

    arguments = call.arguments
    question = {"wanted": " ".join(arguments.entry), "types": arguments.type, "documents": arguments.document}
    found = await call.answer(whole_entry, question)
    say_note(found["note"])
    call.show(found["content"], lambda: print_entry(found["page"], found["others"], markdown=arguments.markdown))
    return DONE


@answers
async def whole_entry(library: Library, question: JsonObject) -> JsonObject:
    """An entry by the arguments of `find`: its content and page, the uris of others of its name, and how that was understood."""
    from lorekeeper.server.answers import entity_answer

    view = library.view()
    entry = await find(view, **question)
    answer = await entity_answer(view, entry.entity)
    return {"content": answer.structured, "page": answer.page, "others": entry.others, "note": entry.note}


@commands.add(
    "documents",
    "list the books with their licences and numbers of entries",
    JSON,
    examples=("lorekeeper documents",),
)
async def documents(call: Call) -> int:
    """List the documents."""
    await ask_tool(call, "list_documents", {})
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


@commands.add(
    "topic",
    "gather everything about a person, place or theme",
    argument("topic", nargs="+", metavar="WORDS", help="a name, a theme in a few words, or a uri"),
    TYPE,
    argument("--limit", type=int, metavar="N", help="lines of each part, 1 to 50 (default: 3, with --json 10)"),
    JSON,
    examples=(
        "lorekeeper topic Nine-Fingers Keene",
        'lorekeeper topic "the dying fires" --type notes --limit 5',
        "lorekeeper topic lore://creatures/srd-2014/vampire",
    ),
)
async def topic(call: Call) -> int:
    """Gather a dossier, and show it."""
    asked = call.arguments
    limit = asked.limit or (MOST_READ if call.json else MOST_LINES)
    await ask_tool(call, "gather_topic", {"topic": " ".join(asked.topic), "types": asked.type, "limit": limit})
    return DONE


@commands.add(
    "recent",
    "list the newest notes, by session or by change",
    argument("--since", metavar="DATE", help="only since this date, 2026-11-20, or for this long: 24h, 7d, 2w"),
    argument("--limit", type=int, default=10, metavar="N", help="number of notes, 1 to 50 (default: 10)"),
    JSON,
    examples=("lorekeeper recent", "lorekeeper recent --since 7d --limit 20"),
)
async def recent(call: Call) -> int:
    """List the newest notes."""
    from lorekeeper.cli.render import print_recent
    from lorekeeper.search.sorting import recent_notes

    async with call.library() as library:
        view = await refreshed(library)
        notes = await recent_notes(view.cache, call.arguments.since, call.arguments.limit)
    call.show({"results": [each.content() for each in notes]}, lambda: print_recent(notes, call.arguments.limit))
    return DONE
