"""What the library has of the names on a character's sheet: its spells, features, feats, items, species and classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lorekeeper.editions import LABELS
from lorekeeper.entities import Entity
from lorekeeper.folding import fold, fold_class
from lorekeeper.records import Option, Source, option
from lorekeeper.records.values import number
from lorekeeper.render.character import UNKNOWN, Reference, Rules
from lorekeeper.render.option import feature_names, table_values
from lorekeeper.render.source import words
from lorekeeper.search.party import CHARACTERS
from lorekeeper.views.view import View

OPTIONS = "character_options"

MOST_NAMES = 200
"""Most names of a sheet that are looked up in one type."""


async def rules_of(view: View, entity: Entity) -> Rules:
    """The entries that a character's sheet names, those of its edition first; nothing for other entries."""
    if entity.type != CHARACTERS:
        return UNKNOWN
    return await _Lookup(view, entity).found()


class _Lookup:
    """One look at the library."""

    def __init__(self, view: View, entity: Entity) -> None:
        self._view, self._entity = view, entity
        said = words(entity.data.get("rules"))
        self._edition = said if said in LABELS else ""
        self._order: dict[str, int] = {}
        self._references: list[Reference] = []
        self._missing: list[str] = []

    async def found(self) -> Rules:
        documents = self._view.searcher.documents
        order = await documents.order((self._edition,) if self._edition else None)
        self._order = {key: place for place, key in enumerate(order)}
        classes = await self._classes()
        growing: dict[str, str] = {}
        for level, each in classes:
            growing |= table_values(_read(each), level) if level is not None else {}
        await self._refer(self._names("known"), ["spells"])
        await self._refer(self._names("features"), [OPTIONS, "rules"], [each for _, each in classes])
        for name in ("race", "background"):
            await self._refer([told] if (told := words(self._entity.data.get(name))) else [], [OPTIONS])
        await self._refer(self._names("items"), ["equipment"])
        return Rules(self._references, self._missing, growing)

    def _names(self, key: str) -> list[str]:
        listed = self._entity.data.get(key)
        return [words(name) for name in listed][:MOST_NAMES] if isinstance(listed, (list, tuple)) else []

    async def _classes(self) -> list[tuple[int | None, Entity]]:
        """The entries of its classes and subclasses, with its levels in them."""
        levels: dict[str, int | None] = {}
        listed = self._entity.data.get("class_levels")
        for each in listed if isinstance(listed, (list, tuple)) else ():
            if isinstance(each, Mapping):
                level = number(each.get("level"))
                names = (fold_class(words(each.get("name"))), fold(words(each.get("subclass"))))
                levels |= {name: None if level is None else int(level) for name in names if name}
        found = await self._entries(OPTIONS, list(levels))
        chosen = []
        for name, level in levels.items():
            if best := self._best(found.get(name, ())):
                chosen.append((level, best))
                self._references.append(await self._reference(best.name, best))
            else:
                self._missing.append(name)
        return chosen

    async def _refer(self, names: Sequence[str], types: Sequence[str], within: Sequence[Entity] = ()) -> None:
        """Note the entry of each name: of the first type that has one, else the class that has a feature of it."""
        left = list(dict.fromkeys(name for name in names if fold(name)))
        inside = {fold(feature): (each, feature) for each in within for feature in feature_names(_read(each))}
        for entity_type in types:
            wanted = {form for name in left for form in _forms(name)}
            found = await self._entries(entity_type, list(wanted)) if wanted else {}
            for name in tuple(left):
                if fold(name) in inside:
                    owner, feature = inside[fold(name)]
                    self._references.append(await self._reference(name, owner, feature))
                elif best := next((b for form in _forms(name) if (b := self._best(found.get(form, ())))), None):
                    self._references.append(await self._reference(name, best))
                else:
                    continue
                left.remove(name)
        self._missing += left

    async def _entries(self, entity_type: str, names: list[str]) -> dict[str, list[Entity]]:
        if not names:
            return {}
        found: dict[str, list[Entity]] = {}
        for each in await self._view.cache.get_entities(entity_type, name_folded=names):
            found.setdefault(fold(each.name), []).append(each)
        return found

    def _best(self, entries: Iterable[Entity]) -> Entity | None:
        """The one whose document comes first in the character's edition."""
        last = len(self._order)
        return min(entries, key=lambda each: (self._order.get(each.document, last), each.document), default=None)

    async def _reference(self, name: str, entry: Entity, inside: str = "") -> Reference:
        edition = await self._view.searcher.documents.edition_of(entry.document)
        other = self._edition and edition not in ("", self._edition)
        level = number(entry.fields.get("level")) if entry.type == "spells" else None
        label = LABELS.get(edition, edition) if other else ""
        return Reference(name, entry.type, entry.document, entry.slug, inside, label, level)


def _read(each: Entity) -> Option:
    return option(Source(each.data), each.kind)


def _forms(name: str) -> list[str]:
    """A name as entries may have it: whole, without what stands in brackets, and without the bonus of a magic item."""
    plain = name.partition("(")[0].strip()
    turned = " ".join(reversed(plain.split(", ", 1))) if ", " in plain else plain
    bare = plain.rstrip("0123456789").rstrip(" ,+")
    return list(dict.fromkeys(folded for form in (name, plain, turned, bare) if (folded := fold(form))))
