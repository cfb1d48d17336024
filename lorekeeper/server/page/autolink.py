"""Which entries the names on a page mean: of the same document if it has one of that name, else of the same edition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from lorekeeper.entities import COLLECTIONS, WHOLE_NAME, Entity
from lorekeeper.folding import fold
from lorekeeper.render.mentions import CONDITIONS, Mention
from lorekeeper.text.name_list import NameList
from lorekeeper.views.view import View

MAX_NAMES = 200
"""Most names of a type that are looked up for a page."""

MAX_FOUND = 600
"""Most entries that are read for them."""

_CONDITION: dict[str, Any] = {"kind": "condition"}

_WORDS: WeakKeyDictionary[View, tuple[Sequence[str], frozenset[str]]] = WeakKeyDictionary()
"""The folded names of the conditions that each viewer sees, with the names of all its rules: the same list until they change."""


@dataclass(frozen=True)
class Kind:
    """What a mention may be.

    Attributes:
        entity_type: of the entries.
        filters: that they meet.
        foreign: whether they may be of another edition than the page, where that has one.
    """

    entity_type: str
    filters: dict[str, Any]
    foreign: bool = True


KINDS = {
    **{name: Kind(name, {}, foreign=name != "rules") for name in COLLECTIONS},
    CONDITIONS[0]: Kind("rules", _CONDITION, foreign=False),
}
"""Of each type that a mention names."""


async def condition_words(view: View) -> frozenset[str]:
    """The folded names of conditions that are one word."""
    names = await view.cache.names("rules")
    known = _WORDS.get(view)
    if known is None or known[0] is not names:
        found = await view.cache.get_entities("rules", limit=MAX_FOUND, **_CONDITION)
        words = frozenset(name for each in found if " " not in (name := fold(each.name)))
        _WORDS[view] = known = names, words
    return known[1]


async def entries_named(view: View, entity: Entity, mentions: Sequence[Mention]) -> dict[Mention, Entity]:
    """The entries that the page of an entry mentions, in the order of the mentions; never the entry itself."""
    own = fold(entity.name)
    wanted: dict[str, set[str]] = {}
    for mention in mentions:
        for kind in mention.types if mention.name != own else ():
            wanted.setdefault(kind, set()).add(mention.name)
    found = {kind: await _of_kind(view, entity, KINDS[kind], names) for kind, names in wanted.items()}
    return {
        mention: best[0]
        for mention in mentions
        if (best := [found[kind][mention.name] for kind in mention.types if mention.name in found.get(kind, ())])
    }


async def _of_kind(view: View, entity: Entity, kind: Kind, names: set[str]) -> dict[str, Entity]:
    """The best entry of each of some folded names, as far as there are any."""
    known = NameList.of(await view.cache.names(kind.entity_type))
    looked_up = sorted(name for name in names if name in known)[:MAX_NAMES]
    if not looked_up:
        return {}
    documents = view.searcher.documents
    edition = await documents.edition_of(entity.document)
    order = [entity.document, *await documents.order([edition] if edition else None)]
    asked: dict[str, Any] = {**kind.filters, WHOLE_NAME.name: looked_up}
    found: dict[str, Entity] = {}
    for each in await view.cache.get_entities(kind.entity_type, limit=MAX_FOUND, prefer=order, **asked):
        own = each.document == entity.document or await documents.edition_of(each.document) == edition
        if own or kind.foreign or not edition:
            found.setdefault(fold(each.name), each)
    return found
