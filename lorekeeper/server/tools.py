"""The MCP tools: names, descriptions, parameters; the lookups follow from the declarations in `entities`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from lorekeeper import entities
from lorekeeper.editions import LABELS, parse_edition
from lorekeeper.entities import COLLECTIONS, MAX_URI_LENGTH, PROPERTIES, SEARCHED, Collection, FieldType, parse_uri
from lorekeeper.filters import bounds_of, unknown_name
from lorekeeper.order import NEWEST, RELEVANCE, order_names
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.query import MAX_LIMIT, Query
from lorekeeper.search.resolve_entry import find_entry
from lorekeeper.server.answers import Answer, documents_answer, entity_answer, full_answer, page_answer
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
from lorekeeper.server.outputs import DOCUMENTS, ENTRY, FOUND, LOOKED_UP, TOPIC
from lorekeeper.server.rolls import ROLL, only_rolls
from lorekeeper.server.tool import Arguments as Arguments
from lorekeeper.server.tool import Parameter, model, optional_text
from lorekeeper.server.tool import Tool as Tool
from lorekeeper.server.tool import ToolError as ToolError
from lorekeeper.server.topics import topic_answer
from lorekeeper.views.view import View
from lorekeeper.where import parse_where

MAX_EDITION = 2000
"""Longest list of editions and document keys, in characters."""

WHERE_EXAMPLES = {
    "spells": "range>=60 -class:wizard level:1..3",
    "creatures": "cr:5..8 -speed_fly>0 -type:ooze",
    "equipment": "damage_types:fire -saves:dexterity",
    "character_options": "skills:stealth -heals",
    "notes": "dated>=7d -tags:dead",
    "characters": "languages:elvish darkvision>=60 prepared:fireball",
}
"""Tests that show the grammar of ``where``, by entity type."""


MORE_KINDS = {"rules": ("table", "action", "hazard", "trap", "weapon property")}
"""Kinds of an open type that its declaration does not name, and nobody would look for there."""

EXAMPLES = {
    "spells": "level=3, class_key='wizard', damage_type='fire'",
    "creatures": "cr_max=2, environment='forest'",
    "equipment": "kind='magic-item', rarity='rare'",
    "character_options": "name='fighter', kind='class'",
    "rules": "name='grappled', or semantic_query='hold breath', wordings=['drowning']",
    "characters": "class_key='wizard', level_min=3",
    "notes": "semantic_query='who owes the guild money', order='newest'",
}
"""One call of each lookup."""

SUBJECTS = {
    "notes": "notes of the user's own campaign (people, places, sessions)",
    "characters": "the players' characters: what they can do, cast and carry",
}
"""What a lookup finds, where the label does not say it."""

NOTE_ORDERS = (RELEVANCE, NEWEST, "name")


def all_tools() -> list[Tool]:
    """Every tool, in the order in which they are listed."""
    lookups = [_lookup(collection.tool, collection) for collection in COLLECTIONS.values() if collection.tool]
    return [*lookups, SEARCH_LORE, GATHER_TOPIC, COMPARE_ENTRIES, PLAN_ENCOUNTER, GET_ENTITY, ROLL, LIST_DOCUMENTS]


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


def _typed(kind: FieldType, description: str, *, several: bool = True) -> Parameter:
    return accepted(kind, several=several), Field(None, description=description or None)


def _named(description: str) -> Parameter:
    return Names | None, Field(None, description=description)


def _asked(orders: Sequence[str], example: str, fields: Sequence[str] = ()) -> dict[str, Parameter]:
    """What narrows and sorts a search beside its own filters, which ``where`` need not list again."""
    fields = ["any key" if name == PROPERTIES else name for name in fields]
    further = f"; also {', '.join(_joined(fields))}" if fields else ""
    return {
        "where": (str | None, Field(None, description=f"tests, e.g. {example}{further}")),
        "order": (str | None, Field(None, description=", ".join(orders))),
        "seed": (int | None, Field(None, description="for random")),
    }


def _joined(fields: Sequence[str]) -> list[str]:
    """Names of fields, those with one beginning together: "speed_walk/fly/swim"."""
    joined: list[str] = []
    beginning = ""
    for name in fields:
        prefix, _, rest = name.partition("_")
        if rest and prefix == beginning:
            joined[-1] += f"/{rest}"
        else:
            joined.append(name)
        beginning = prefix if rest else ""
    return joined


_PAGING: dict[str, Parameter] = {
    "similar_to": (str | None, Field(None, description="a uri", max_length=MAX_URI_LENGTH)),
    "documents": (Keys | None, Field(None, description="keys: only these books")),
    "edition": (
        str | None,
        Field(None, description=f"comes first: {', '.join(LABELS)} or keys", max_length=MAX_EDITION),
    ),
    "limit": (int, Field(LIMIT, ge=1, le=MAX_LIMIT, description=f"results, {LIMIT} if not given")),
    "offset": (int, Field(0, ge=0, description="to skip")),
    "detail": (Literal["concise", "full"], Field("concise", description="full: whole entries")),
}


_SHORT_EDITION: Parameter = (str | None, Field(None, description="comes first, as 2024", max_length=MAX_EDITION))
"""The same for lookups: `search_lore` says what there is."""


# --- lookups ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Filter:
    """A parameter of a lookup, and the filter that it sets (`filters.parse_filters`)."""

    target: str
    parameter: Parameter


def _lookup(name: str, collection: Collection) -> Tool:
    """The lookup tool of a collection."""
    filters = _filters(collection)
    targets = {parameter: filters[parameter].target for parameter in filters}

    async def run(view: View, arguments: Arguments) -> Answer:
        values = filters_of(collection.name, targets, arguments)
        return await _search(view, arguments, [collection.name], wordings_of(arguments, "semantic_query"), values)

    parameters = {parameter: filters[parameter].parameter for parameter in filters}
    return Tool(
        name=name,
        title=f"Look up {collection.label}s",
        description=f"Find {SUBJECTS.get(collection.name, f'{collection.label}s')} by name, meaning or filters, "
        f"e.g. {EXAMPLES[collection.name]}.",
        arguments=model(
            name,
            {
                **parameters,
                "semantic_query": (Wordings | None, Field(None, description="meaning, in a short wording")),
                WORDINGS: _FURTHER,
                **_sorting(collection),
                **_PAGING,
                "edition": _SHORT_EDITION,
            },
        ),
        run=run,
        output=LOOKED_UP,
        entity_type=collection.name,
    )


def _sorting(collection: Collection) -> dict[str, Parameter]:
    """`_asked` for a lookup, with the fields that neither a parameter nor the example names."""
    example = WHERE_EXAMPLES.get(collection.name, "-name:OLD kind:X,Y")
    named = {test.field for test in parse_where(example)} | {entities.AUDIENCE}
    fields = [field.name for field in collection.fields if not field.tool and field.name not in named]
    orders = NOTE_ORDERS if collection.name == "notes" else order_names(collection)
    return _asked(orders, example, fields)


def _filters(collection: Collection) -> dict[str, _Filter]:
    """The filters of a lookup by the name of their parameter."""
    filters = {"name": _Filter("name", optional_text("or part of it"))}
    if len(collection.kinds) > 1 or collection.open_kinds:
        kinds = [*collection.kinds, *MORE_KINDS.get(collection.name, ()), *(["..."] if collection.open_kinds else [])]
        filters["kind"] = _Filter("kind", _typed(FieldType.TEXT, ", ".join(kinds)))
    for field in collection.fields:
        for name in field.tool:
            bound = next((ending for ending in _BOUNDS if name.endswith(ending) and ending in bounds_of(field)), "")
            typed = _named(field.help) if name in NAMES else _typed(field.type, _help(field, bound), several=not bound)
            filters[name] = _Filter(field.name + bound, typed)
    return filters


_BOUNDS = {"_min": "at least", "_max": "at most", "_after": "", "_before": ""}


def _help(field: entities.Field, bound: str) -> str:
    """Description of a field's parameter; a bound beside others of the same field need not repeat what it is about."""
    if field.type is FieldType.DATE:
        return field.help if bound == "_after" else "the same"
    if not bound:
        return field.help
    return _BOUNDS[bound] if len(field.tool) > 1 else f"{_BOUNDS[bound]} {field.help}"


async def _search(
    view: View, arguments: Arguments, types: Sequence[str], wordings: Sequence[str], filters: Mapping[str, object]
) -> Answer:
    edition = arguments.get("edition")
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
        similar_to=arguments.get("similar_to"),
    )
    page = await by_words(view, query, await view.search(query))
    if arguments.get("detail") == "full":
        return await full_answer(view, page)
    return page_answer(page, full=False, name=arguments.get("name"))


# --- search_lore, get_entity, list_documents -------------------------------------------------------------------------


async def _search_lore(view: View, arguments: Arguments) -> Answer:
    return await _search(view, arguments, _types(arguments), wordings_of(arguments, "query"), {})


def _types(arguments: Arguments) -> list[str]:
    """The entity types that are asked for, all by default; ToolError for one that there is not."""
    types: list[str] = arguments.get("types") or SEARCHED
    for name in types:
        if name not in SEARCHED:
            raise ToolError(unknown_name(name, SEARCHED, "type"))
    return types


async def _gather_topic(view: View, arguments: Arguments) -> Answer:
    return await topic_answer(view, arguments["topic"], _types(arguments), arguments.get("limit", LIMIT))


async def _get_entity(view: View, arguments: Arguments) -> Answer:
    uri = arguments["uri"].strip()
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
        near = await _called_like(view, entity_type, slug)
        meant = f"did you mean {' or '.join(near)}? Else " if near else ""
        raise ToolError(
            f"there is no {one_line(uri, MAX_SHOWN)} in the library; {meant}take uris from search results, or look it up by "
            f"name with {tool}{f'. {lacking}' if lacking else ''}"
        )
    answer = await entity_answer(
        view, *entities, section=arguments.get("section"), offset=arguments.get("offset", 0), brief=True
    )
    return only_rolls(answer, entities[0]) if arguments.get("roll") else answer


async def _called_like(view: View, entity_type: str, slug: str) -> list[str]:
    """The uris of entries whose names are those that a guessed uri ends with, as of another book."""
    name = " ".join(slug.replace("-", " ").split())
    if entity_type not in SEARCHED or not 0 < len(name) <= MAX_NAME:
        return []
    page = await view.search(Query([entity_type], filters={"name": name}, limit=MOST_MEANT, counted=False))
    return [one_line(result.entity.uri, MAX_SHOWN) for result in page.results]


MAX_NAME, MOST_MEANT = 100, 3
"""Longest name that is looked for in the place of a uri that does not exist, and how many uris are named."""


async def _list_documents(view: View, arguments: Arguments) -> Answer:
    return await documents_answer(view, arguments.get("type"))


SEARCH_LORE = Tool(
    name="search_lore",
    title="Search all lore",
    description="Search all kinds of entries at once, by meaning and keywords. Use it if the kind of entry is unclear.",
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
    run=_search_lore,
    output=FOUND,
)

GATHER_TOPIC = Tool(
    name="gather_topic",
    title="Gather a topic",
    description="All about a person, place or theme: notes, sessions, links, stat blocks, rules.",
    arguments=model(
        "gather_topic",
        {
            "topic": (str, Field(description="name, words or uri", max_length=MAX_URI_LENGTH)),
            "types": (Keys | None, Field(None, description="only these")),
            "limit": (int, Field(LIMIT, ge=1, le=MAX_LIMIT, description=f"lines a kind, {LIMIT} if not given")),
        },
    ),
    run=_gather_topic,
    output=TOPIC,
)

GET_ENTITY = Tool(
    name="get_entity",
    title="Read one entry",
    description="Read a whole entry by its uri from search results, with source and licence.",
    arguments=model(
        "get_entity",
        {
            "uri": (
                str,
                Field(description="such as lore://spells/srd-2014/fireball; or a name", max_length=MAX_URI_LENGTH),
            ),
            "section": optional_text("only this part: a feature, heading, table, row, or 'level 5' of a class"),
            "offset": (int, Field(0, ge=0, description="characters to skip")),
            "roll": (bool | None, Field(None, description="roll on its tables")),
        },
    ),
    run=_get_entity,
    output=ENTRY,
)

LIST_DOCUMENTS = Tool(
    name="list_documents",
    title="List source documents",
    description="List the library's books and vaults: key, title, publisher, licence, counts.",
    arguments=model("list_documents", {"type": optional_text("only documents with entries of this type")}),
    run=_list_documents,
    output=DOCUMENTS,
)
