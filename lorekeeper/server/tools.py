"""The MCP tools: names, descriptions, parameters; the lookups follow from the declarations in `entities`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pydantic import Field

from lorekeeper.editions import LABELS, parse_edition
from lorekeeper.entities import COLLECTIONS, MAX_URI_LENGTH, SEARCHED, Collection, FieldType, parse_uri
from lorekeeper.errors import NotFoundError
from lorekeeper.filters import bounds_of, unknown_name
from lorekeeper.order import NEWEST, RELEVANCE, order_names
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.addresses import uri_at
from lorekeeper.search.query import MAX_LIMIT, Query
from lorekeeper.search.resolve_entry import find_entry
from lorekeeper.server.answers import Answer, documents_answer, entity_answer
from lorekeeper.server.arguments import (
    WORDINGS,
    FurtherWordings,
    Keys,
    Names,
    Wordings,
    accepted,
    filters_of,
    wordings_of,
)
from lorekeeper.server.by_words import by_words
from lorekeeper.server.comparisons import COMPARE_ENTRIES
from lorekeeper.server.encounters import PLAN_ENCOUNTER
from lorekeeper.server.found import page_answer
from lorekeeper.server.models import Documents, Entry, Page, Topic
from lorekeeper.server.rolls import ROLL, only_rolls
from lorekeeper.server.tool import DETAIL, Parameter, model, optional_text
from lorekeeper.server.tool import Arguments as Arguments
from lorekeeper.server.tool import Tool as Tool
from lorekeeper.server.tool import ToolError as ToolError
from lorekeeper.server.topics import topic_answer
from lorekeeper.views.view import View

MAX_EDITION = 2000
"""Longest list of editions and document keys, in characters."""

WHERE_EXAMPLES = {
    "spells": "range>=60 -class:wizard level:1..3",
    "creatures": "cr:5..8 -speed_fly>0 type:ooze",
    "equipment": "cost<=50 damage_types:fire",
    "character_options": "skills:stealth -heals",
    "rules": "kind:condition",
    "notes": "dated>=7d -tags:dead",
    "characters": "languages:elvish level>=3",
}
"""Tests that show the grammar of ``where``, by entity type."""

EXAMPLES = {
    "spells": "level=3, class_key='wizard'",
    "creatures": "where='cr<=2 type:undead'",
    "equipment": "kind='magic-item', rarity='rare'",
    "character_options": "name='fighter', kind='class'",
    "rules": "semantic_query='hold breath', wordings=['drowning']",
    "characters": "where='class:wizard'",
    "notes": "semantic_query='who owes the guild money'",
}
"""One call of each lookup."""

SUBJECTS = {
    "creatures": "monsters, animals and people with a stat block",
    "character_options": "classes, subclasses, races, backgrounds, feats",
    "rules": "rules, conditions, actions, hazards, tables",
    "notes": "notes of the user's campaign: people, places, sessions",
    "characters": "the players' characters: what they can do, cast, carry",
}
"""What a lookup finds, where the label does not say it."""

MORE_KINDS = {"rules": ("table", "action", "hazard", "trap", "weapon property")}
"""Kinds of an open type that its declaration does not name, and nobody would look for there."""

LISTED: dict[str, dict[str, str]] = {
    "spells": {"level": "", "school": "", "class_key": "wizard", "concentration": ""},
    "creatures": {"cr": "0.25 or 1/4", "type": "", "environment": "", "order": "cr desc", "seed": ""},
    "equipment": {"kind": "weapon, armor, magic-item, gear", "rarity": "", "order": "cost, random", "seed": ""},
    "character_options": {"kind": "", "parent": "class of a subclass"},
    "rules": {"kind": ""},
    "notes": {"kind": "", "session": "its number", "tags": "", "order": "newest"},
    "characters": {"order": "passive_perception desc", "seed": ""},
}
"""The filters of each lookup that models read of, and the orders where answers name one; ``where`` has the other filters."""

NOTE_ORDERS = (RELEVANCE, NEWEST, "name")


@functools.cache
def all_tools() -> tuple[Tool, ...]:
    """Every tool, in the order in which they are listed: made once, since their models take a tenth of a second."""
    lookups = [_lookup(collection.tool, collection) for collection in COLLECTIONS.values() if collection.tool]
    return (*lookups, SEARCH_LORE, GATHER_TOPIC, COMPARE_ENTRIES, PLAN_ENCOUNTER, GET_ENTITY, ROLL, LIST_DOCUMENTS)


@functools.cache
def tools_by_name() -> Mapping[str, Tool]:
    """Every tool by its name."""
    return {tool.name: tool for tool in all_tools()}


# --- parameters ------------------------------------------------------------------------------------------------------


NAMES = frozenset({"parent", "folder", "links_to", "player"})
"""Parameters of which a value may have commas."""

_FURTHER: Parameter = (
    FurtherWordings | None,
    Field(None, description="2-3 further short wordings, or the parts of a question"),
)
"""What makes a model ask in more than one way."""

LIMIT, UNSURE_LIMIT = 10, 20
"""Results a page, and where their order is unsure: what answers is among 20 more often than first, and a model can tell which."""


def _asked(orders: Sequence[str], example: str) -> dict[str, Parameter]:
    """What narrows and sorts a search beside its own filters."""
    return {
        "where": (str | None, Field(None, description=f"tests of any field, e.g. {example}")),
        "order": (str | None, Field(None, description=", ".join(orders))),
        "seed": (int | None, Field(None, description="for random")),
    }


FURTHER, BOOKS = "2-3 others, or a question's parts", "keys of books"
"""What models read of parameters that several tools have."""

COMMON = {"edition": "first: 2014, 2024", "documents": BOOKS, "limit": "", "offset": "", "detail": ""}


_PAGING: dict[str, Parameter] = {
    "similar_to": (str | None, Field(None, description="a uri", max_length=MAX_URI_LENGTH)),
    "documents": (Keys | None, Field(None, description="keys: only these books")),
    "edition": (
        str | None,
        Field(None, description=f"comes first: {', '.join(LABELS)} or keys", max_length=MAX_EDITION),
    ),
    "limit": (int, Field(LIMIT, ge=1, le=MAX_LIMIT, description=f"results, {LIMIT} if not given")),
    "offset": (int, Field(0, ge=0, description="to skip")),
    "detail": DETAIL,
}


# --- lookups ---------------------------------------------------------------------------------------------------------


_Filter = tuple[str, Parameter]
"""The filter that a parameter of a lookup sets (`filters.parse_filters`), and the parameter."""


def _lookup(name: str, collection: Collection) -> Tool:
    """The lookup tool of a collection."""
    filters = _filters(collection)
    targets = {name: target for name, (target, _) in filters.items()}

    async def run(view: View, arguments: Arguments) -> Answer:
        values = filters_of(collection.name, targets, arguments)
        return await _search(view, arguments, [collection.name], wordings_of(arguments, "semantic_query"), values)

    parameters = {name: parameter for name, (_, parameter) in filters.items()}
    example = WHERE_EXAMPLES.get(collection.name, "-name:OLD kind:X,Y")
    return Tool(
        name=name,
        title=f"Look up {collection.label}s",
        description=f"Find {SUBJECTS.get(collection.name, f'{collection.label}s')}. "
        f"Example: {EXAMPLES.get(collection.name, 'limit=5')}.",
        arguments=model(
            name,
            {
                **parameters,
                "semantic_query": (Wordings | None, Field(None, description="meaning, in a short wording")),
                WORDINGS: _FURTHER,
                **_asked(NOTE_ORDERS if collection.name == "notes" else order_names(collection), example),
                **_PAGING,
            },
        ),
        function=run,
        answer=Page,
        listed={
            "name": "",
            "semantic_query": "",
            "wordings": "",
            **LISTED.get(collection.name, {}),
            "where": example,
            **dict.fromkeys(COMMON, ""),
        },
        entity_type=collection.name,
    )


def _filters(collection: Collection) -> dict[str, _Filter]:
    """The filters of a lookup by the name of their parameter."""
    filters = {"name": ("name", optional_text("or part of it"))}
    if len(collection.kinds) > 1 or collection.open_kinds:
        kinds = [*collection.kinds, *MORE_KINDS.get(collection.name, ()), *(["..."] if collection.open_kinds else [])]
        said = Field(None, description=", ".join(kinds))
        filters["kind"] = ("kind", (accepted(FieldType.TEXT, several=True), said))
    for field in collection.fields:
        for name in field.tool:
            bound = next((ending for ending in _BOUNDS if name.endswith(ending) and ending in bounds_of(field)), "")
            said = Field(None, description=f"{_BOUNDS.get(bound, '')} {field.help}".strip())
            kind = Names | None if name in NAMES else accepted(field.type, several=not bound)
            filters[name] = (field.name + bound, (kind, said))
    return filters


_BOUNDS = {"_min": "at least", "_max": "at most", "_after": "", "_before": ""}


async def _search(
    view: View, arguments: Arguments, types: Sequence[str], wordings: Sequence[str], filters: Mapping[str, object]
) -> Answer:
    edition, alike = arguments.get("edition"), arguments.get("similar_to")
    query = Query(
        types=types,
        text=wordings[0] if wordings else None,
        also=wordings[1:],
        filters=filters,
        documents=arguments.get("documents"),
        edition=None if edition is None else parse_edition(edition),
        limit=arguments.get("limit", LIMIT),
        unsure_limit=None if "limit" in arguments or arguments.get("detail") == "full" else UNSURE_LIMIT,
        offset=arguments.get("offset", 0),
        where=arguments.get("where"),
        order=arguments.get("order"),
        seed=arguments.get("seed"),
        similar_to=alike
        and (await uri_at(view.cache, alike) or alike),  # what is no address is left for the search to refuse
    )
    page = await by_words(view, query, await view.search(query))
    return await page_answer(view, page, wordings, arguments.get("name"), full=arguments.get("detail") == "full")


# --- search_lore, get_entity, list_documents -------------------------------------------------------------------------


def _types(arguments: Arguments) -> list[str]:
    """The entity types that are asked for, all by default; ToolError for one that there is not."""
    types: list[str] = arguments.get("types") or SEARCHED
    for name in types:
        if name not in SEARCHED:
            raise ToolError(unknown_name(name, SEARCHED, "type"))
    return types


async def _gather_topic(view: View, arguments: Arguments) -> Answer:
    topic = await uri_at(view.cache, arguments["topic"]) or arguments["topic"]
    return await topic_answer(view, topic, _types(arguments), arguments.get("limit", LIMIT))


async def _get_entity(view: View, arguments: Arguments) -> Answer:
    uri = arguments["uri"].strip()
    uri = await uri_at(view.cache, uri) or uri
    if uri and "://" not in uri:  # a name: whoever has read no results knows no uri
        uri = (await find_entry(view.search, view.entities_at, uri, SEARCHED)).entity.uri
    try:
        entity_type, document, slug = parse_uri(uri)
    except ValueError as error:
        raise ToolError(str(error)) from error
    entities = await view.entities_at(entity_type, document, slug)
    if not entities:
        tool = COLLECTIONS[entity_type].tool or "list_documents"
        lacking = await view.unread_note(entity_type, document)
        name = " ".join(slug.replace("-", " ").split())
        asked = Query([entity_type], filters={"name": name}, limit=MOST_MEANT, counted=False)
        is_name = entity_type in SEARCHED and 0 < len(name) <= MAX_NAME
        near = [one_line(each.entity.uri, MAX_SHOWN) for each in (await view.search(asked)).results] if is_name else []
        meant = f"did you mean {' or '.join(near)}? Else " if near else ""
        raise NotFoundError(
            f"there is no {one_line(uri, MAX_SHOWN)} in the library; {meant}take an address from an answer, or look it up by "
            f"name with {tool}{f'. {lacking}' if lacking else ''}"
        )
    try:
        answer = await entity_answer(
            view, *entities, section=arguments.get("section"), offset=arguments.get("offset", 0), brief=True
        )
    except NotFoundError:
        others = SEARCHED if arguments.get("section") else ()  # a druid is a creature, and a class, which may have it
        for name in others:
            other = await uri_at(view.cache, arguments["uri"], [name])
            if other not in (None, uri):
                with suppress(ToolError, NotFoundError):
                    return await _get_entity(view, {**arguments, "uri": other})
        raise
    return only_rolls(answer, entities[0]) if arguments.get("roll") else answer


MAX_NAME, MOST_MEANT = 100, 3
"""Longest name that is looked for in the place of a uri that does not exist, and how many uris are named."""


SEARCH_LORE = Tool(
    name="search_lore",
    title="Search all lore",
    description=f"Search all kinds of entries ({', '.join(SEARCHED)}). Example: query='a ghost will not leave the mill'.",
    arguments=model(
        "search_lore",
        {
            "query": (
                Wordings,
                Field(description="a name, a uri (finds similar entries), or a meaning in a short wording"),
            ),
            WORDINGS: (
                FurtherWordings | None,
                Field(None, description="2-3 further short ones, or a question's parts: ['ghost', 'speak with dead']"),
            ),
            "types": (Keys | None, Field(None, description=f"only these: {', '.join(SEARCHED)}")),
            **_asked([RELEVANCE, "as in lookups; asc, desc"], "level<=2"),
            **_PAGING,
        },
    ),
    function=lambda view, asked: _search(view, asked, _types(asked), wordings_of(asked, "query"), {}),
    answer=Page,
    listed={"query": "", "wordings": FURTHER, "types": "", "where": "", **COMMON},
)

GATHER_TOPIC = Tool(
    name="gather_topic",
    title="Gather a topic",
    description="All about a person, place or theme: notes, sessions, links, stat blocks, rules. Example: topic='dragons'.",
    arguments=model(
        "gather_topic",
        {
            "topic": (str, Field(description="name, words or uri", max_length=MAX_URI_LENGTH)),
            "types": (Keys | None, Field(None, description="only these")),
            "limit": (int, Field(LIMIT, ge=1, le=MAX_LIMIT, description=f"lines a kind, {LIMIT} if not given")),
        },
    ),
    function=_gather_topic,
    answer=Topic,
    listed={"topic": "", "types": "", "limit": ""},
)

GET_ENTITY = Tool(
    name="get_entity",
    title="Read one entry",
    description="Read an entry whole, or a part of it, with its licence. Example: uri='Fireball, srd-2024'.",
    arguments=model(
        "get_entity",
        {
            "uri": (str, Field(max_length=MAX_URI_LENGTH)),
            "section": optional_text(),
            "offset": (int, Field(0, ge=0)),
            "roll": (bool | None, None),
        },
    ),
    function=_get_entity,
    answer=Entry,
    listed={
        "uri": "address or name",
        "section": "a heading, feature, table, row, or 'level 5'",
        "offset": "",
        "roll": "",
    },
)

LIST_DOCUMENTS = Tool(
    name="list_documents",
    title="List source documents",
    description="List the books and vaults: key, title, publisher, licence, counts. Example: type='spells'.",
    arguments=model("list_documents", {"type": optional_text("only documents with entries of this type")}),
    function=lambda view, asked: documents_answer(view, asked.get("type")),
    answer=Documents,
    listed={"type": ""},
)
