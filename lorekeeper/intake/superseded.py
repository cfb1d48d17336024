"""What of the packages' entries (see `data_packages`) Open5e's entries take the place of, once a sync has brought a type whole.

Both give the same two documents. Most things have one key in both. The others are known by their names and forms: "Adamantine
Armor" by the suits that are made of it, "Werebear, Bear Form" by the werebear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize import fivebits, lined
from lorekeeper.text.sections import full_text

Phrase = tuple[str, ...]
"""Words that stand together."""

ALL_BUT_A_FEW = 0.8
"""Least share of the phrases of a rule that stands in others too if its text does."""

DOCUMENTS = ("srd-2014", "srd-2024")
"""The two documents."""

SHARED = "core"
"""The document in which Open5e keeps what both editions have, such as languages."""

SOURCES = frozenset({fivebits.SOURCE, lined.SOURCE})
"""`Entity.source_api` of what the packages give."""

OPEN5E = "open5e"
"""How that of Open5e's entries begins."""

FORMS = frozenset({"equipment", "creatures", "character_options"})
"""Types of things that have forms."""

_PRINTED, _NOTED, _ROWS = ("gear", "subtype"), "(", "\n|"
"""Keys that only the printed entries have, and signs of a remark and of a table."""

_OF = "of"
"""What follows the name of a thing if both together name another one."""

_GROUP = re.compile(r", | - ")
"""What stands between the name of a group and that of a thing in it: "Musical Instrument, Lute"."""

_ONE_KIND = {"section": "rule"}
"""Kinds that the sources tell apart differently."""


def is_packaged(entity: Entity) -> bool:
    """Whether an entry of one of the two documents is from a package, or from a file in the same format."""
    return entity.document in DOCUMENTS and entity.source_api in SOURCES


def of_open5e(entities: Iterable[Entity]) -> list[Entity]:
    """Those that a server of Open5e, or a file of it, has given."""
    return [each for each in entities if each.source_api.startswith(OPEN5E)]


async def remove_superseded(
    cache: SearchCache, entity_type: str, documents: Sequence[str]
) -> tuple[list[Identity], list[Entity]]:
    """Remove the packages' entries of a type that Open5e's cover, all in one call; (what was removed, what stays).

    Args:
        cache: the library's.
        entity_type: has been read whole from Open5e.
        documents: keys of those of the two documents that were.
    """
    entities = await cache.get_entities(entity_type, [*documents, SHARED])
    theirs = of_open5e(entities)
    covered, kept = list[Identity](), list[Entity]()
    for document in documents:
        if not any(each.document == document for each in theirs):
            continue
        known = Known(theirs, document)
        for each in (each for each in entities if each.document == document and is_packaged(each)):
            if known.place(each):
                covered.append(each.identity)
            else:
                kept.append(each)
    if covered:
        await cache.delete_entities(entity_type, covered)
    return covered, kept


def with_printed(data: Mapping[str, Any], printed: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object of Open5e with what only the printed entry of its key has: the same object if that has no more.

    These are what a creature carries, the tags of its type, remarks on its senses, and the tables of a text that has none.
    """
    added = {key: printed[key] for key in _PRINTED if printed.get(key) and not data.get(key)}
    if _NOTED in str(printed.get("senses")) and not data.get("senses"):
        added["senses"] = printed["senses"]
    text, tables = data.get("desc"), [each for each in str(printed.get("desc")).split("\n\n") if _ROWS in each]
    if isinstance(text, str) and tables and "|" not in text:
        added["desc"] = "\n\n".join([text, *tables])
    return {**data, **added} if added else data


class Known:
    """What Open5e has of a document, by kind.

    Args:
        entities: of Open5e, of one type.
        document: the document.
    """

    def __init__(self, entities: Iterable[Entity], document: str) -> None:
        self._theirs = [each for each in entities if each.document in (document, SHARED)]
        ordered = sorted(self._theirs, key=lambda e: e.slug, reverse=True)
        self._keys = {(kind, _tail(e.slug)): e for e in ordered for kind in (_kind(e), "")}
        grouped = {(kind, name): e for e in ordered for kind in (_kind(e), "") for name in _names_of_forms(e)}
        self._names = grouped | {(kind, fold(e.name)): e for e in ordered for kind in (_kind(e), "")}
        self._phrases: list[tuple[Entity, set[Phrase]]] = []

    def place(self, entity: Entity) -> Entity | None:
        """What has taken the place of an entry: has its name or key, is the first of its forms, or what it is a form of.

        Of rules several have one name, or one key and say different things: the shortest that has the text is taken, else one of
        the name. None if there is nothing.

        Args:
            entity: one without a kind is of any.
        """
        kind, key = _kind(entity), _tail(entity.slug)
        named = self._names.get((kind, fold(entity.name)))
        place = named or self._keys.get((kind, key))
        if entity.type in FORMS:
            return place or self._form(kind, key) or self._base(kind, key)
        if place is None or entity.type != "rules":
            return place
        self._phrases = self._phrases or [(each, phrases(full_text(each))) for each in self._theirs]
        own = phrases(full_text(entity))
        telling = (each for each in self._phrases if stands(own, each[1]))
        return min(telling, key=lambda each: len(each[1]), default=(named,))[0] if own else place

    def _form(self, kind: str, key: str) -> Entity | None:
        """The first form of something: it has all its words, and more; if that is one word, it begins the form."""
        own, (first, *more) = {*key.split("-")}, key.split("-")
        forms = [
            each
            for its, each in self._keys
            if its == kind
            and own <= {*(words := each.split("-"))}
            and (more or (words[0] == first and words[1] != _OF))
        ]
        return self._keys[kind, min(forms)] if forms else None

    def _base(self, kind: str, key: str) -> Entity | None:
        """What something is a form of: its words begin those of the form, and no "of" follows, which names another thing."""
        words = key.split("-")
        shorter = ("-".join(words[:number]) for number in range(len(words) - 1, 0, -1) if words[number] != _OF)
        return next((self._keys[kind, each] for each in shorter if (kind, each) in self._keys), None)


def _kind(entity: Entity) -> str:
    return _ONE_KIND.get(entity.kind, entity.kind)


def _names_of_forms(entity: Entity) -> tuple[str, ...]:
    """The name of a thing without a remark, and what of it stands behind the name of a group."""
    alone = entity.name.partition(_NOTED)[0]
    return (fold(alone), fold(_GROUP.split(alone)[-1])) if entity.type in FORMS else ()


def _tail(slug: str) -> str:
    """A slug without the chapter that it begins with."""
    return slug.rpartition("_")[2]


def phrases(text: str) -> set[Phrase]:
    """All words that stand together, four of them at a time."""
    words = fold(text).split()
    return {*zip(words, words[1:], words[2:], words[3:], strict=False)}


def stands(own: set[Phrase], among: set[Phrase]) -> bool:
    """Whether the phrases of a text are among others, but for a few words."""
    return len(own & among) >= ALL_BUT_A_FEW * len(own) > 0
