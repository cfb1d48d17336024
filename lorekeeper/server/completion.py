"""Completion of the arguments of prompts and of resource addresses, from what is in the view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mcp_types as types

from lorekeeper.editions import LABELS
from lorekeeper.entities import COLLECTIONS, WHOLE_NAME
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.server.prompts import Suggested, prompt_named
from lorekeeper.server.resources import TEMPLATES
from lorekeeper.text.names import nearest
from lorekeeper.views.view import View

MAX_VALUES = 100
"""Most values of an answer, as the protocol has it."""

MAX_TYPED = 200
"""Characters of a beginning that are compared; no name is longer."""

NEAR_CHARS = 4
"""Fewest characters typed that misspelt beginnings are looked for."""

_NOTHING = Suggested()


class Completer:
    """Completes arguments from a view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._written: dict[str, str] = {}
        """Names as the books write them, by their folded form, as far as they have been shown."""

    async def complete(self, params: types.CompleteRequestParams) -> types.Completion:
        """The values that an argument may have, the best of them first, and how many there are.

        Raises:
            PromptError: there is no such prompt.
            CacheError: the library cannot be read.
        """
        typed = params.argument.value[:MAX_TYPED]
        given = params.context.arguments if params.context and params.context.arguments else {}
        if isinstance(params.ref, types.PromptReference):
            argument = prompt_named(params.ref.name).argument(params.argument.name)
            values = await self._suggestions(argument.suggested if argument else _NOTHING, typed)
        elif str(params.ref.uri) in TEMPLATES:
            values = best(typed, await self._parts(params.argument.name, given))
        else:
            values = []
        return types.Completion(values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES)

    async def _suggestions(self, suggested: Suggested, typed: str) -> list[str]:
        """Values for an argument of a prompt."""
        if suggested.field == "name":
            return await self._names(suggested.types, typed)
        if suggested.field == "document":
            return await self._documents(typed, suggested.types)
        if suggested.field == "edition":
            return best(typed, LABELS)
        if suggested.field:
            counted = [await self._view.searcher.values.known(each, suggested.field) for each in suggested.types]
            return best(typed, {one_line(str(value)) for counts in counted for value in counts.counts})
        return [
            value for value in suggested.fixed if _place(fold(typed) if typed.strip() else "", fold(value)) is not None
        ]

    async def _names(self, entity_types: Sequence[str], typed: str) -> list[str]:
        """Names as the books write them; those after the first `MAX_VALUES` only count, and stay folded."""
        known = {
            name: entity_type for entity_type in entity_types for name in await self._view.cache.names(entity_type)
        }
        folded = best(typed, known)
        unseen = [name for name in folded[:MAX_VALUES] if name not in self._written]
        for entity_type in dict.fromkeys(known[name] for name in unseen):
            wanted = [name for name in unseen if known[name] == entity_type]
            filters: dict[str, Any] = {WHOLE_NAME.name: wanted}
            for entity in await self._view.cache.get_entities(entity_type, **filters):
                self._written[fold(entity.name)] = one_line(entity.name)
        return [self._written.get(name, name) for name in folded]

    async def _documents(self, typed: str, entity_types: Iterable[str]) -> list[str]:
        """Keys of documents, found by their titles too."""
        titles = await self._view.searcher.documents.titles()
        keys = await self._view.cache.documents(entity_types)
        by_title = {f"{titles.get(key) or ''} {key}": key for key in keys}
        found = best(typed, keys)
        return list(dict.fromkeys([*found, *(by_title[title] for title in best(typed, by_title))]))

    async def _parts(self, name: str, given: Mapping[str, str]) -> list[str]:
        """Values for a part of a resource's address, as far as the parts before it are known."""
        entity_type, document = given.get("type", ""), given.get("document", "")
        if name == "type":
            return list(COLLECTIONS)
        searched = [entity_type] if entity_type in COLLECTIONS else list(COLLECTIONS)
        if name == "document":
            return list(await self._view.cache.documents(searched))
        if name == "slug" and entity_type in COLLECTIONS:
            return sorted({slug for _, slug in await self._view.cache.identities(entity_type, document or None)})
        return []


def best(typed: str, values: Iterable[str]) -> list[str]:
    """The values that a text may be the beginning of.

    First those that begin with it, then those with a word that does, then those that contain it, each in alphabetical order.
    If there are none, those whose beginning or whole is nearly the same, the most similar ones only.
    """
    folded = {fold(value): value for value in sorted(values, reverse=True)}
    wanted = fold(typed) if typed.strip() else ""
    ranked = sorted((place, name) for name in folded if (place := _place(wanted, name)) is not None)
    return [folded[name] for name in ([name for _, name in ranked] or _near(wanted, list(folded)))]


def _place(wanted: str, name: str) -> int | None:
    """0 if a name begins with a text, 1 if a word of it does, 2 if it contains it, else None."""
    if name.startswith(wanted):
        return 0
    if f" {wanted}" in name:
        return 1
    return 2 if wanted in name else None


def _near(wanted: str, names: Sequence[str]) -> list[str]:
    """Names that are nearly a text, or begin so."""
    if len(wanted) < NEAR_CHARS:
        return []
    whole = [name for name, _ in nearest(wanted, names)]
    beginnings: dict[str, list[str]] = {}
    for name in names:
        beginnings.setdefault(name[: len(wanted)], []).append(name)
    begun = [name for beginning, _ in nearest(wanted, list(beginnings)) for name in sorted(beginnings[beginning])]
    return list(dict.fromkeys([*whole, *begun]))
