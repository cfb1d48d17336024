"""Documents of Foundry VTT: which kind an object is, its shape in earlier versions, and how documents refer to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.creatures import readings
from lorekeeper.normalize.foundry.values import Data, Object, at, mapping, objects, text, word
from lorekeeper.terms import MOVEMENTS, SENSES

SYSTEMS = ("dnd5e", "black-flag")
"""The systems that are read."""

NESTED = ("actors", "items", "journal", "tables", "folders")
"""The lists of an adventure, which holds documents of all kinds."""

COLLECTIONS = (*NESTED, "adventures")
"""What a key begins with, as in ``!actors!id``, if it is read."""

OTHERS = frozenset("macros scenes playlists cards combats messages users settings fog".split())
"""Collections without lore."""

OF_PLAYERS = ("character", "pc")
"""Types of the actors of players."""

ACTORS = frozenset({*OF_PLAYERS, "npc", "vehicle", "lair", "group", "encounter", "siege"})

MAX_FOLDERS = 12
"""Most folders that lie in each other."""

_KEY = re.compile(r"!([a-z]+)!([A-Za-z0-9]{1,40})")
_ID_IN_NAME = re.compile(r"(?:^|[-._])([A-Za-z0-9]{16})(?:\.[a-z.]{2,9})?$")
_REFERENCE = re.compile(r"(?:^|\.)(Actor|Item|JournalEntryPage|JournalEntry|RollTable|Advancement)(?=\.)")


@dataclass(frozen=True)
class Document:
    """A primary document.

    Attributes:
        collection: one of `COLLECTIONS`.
        id: its ``_id``; "" if it has none.
        raw: the object in its current shape.
        where: file, and line or place in it.
        packs: names of the folders and of the file that it is in, by which references name a pack.
        in_pack: whether its key says that it is from a compendium, in which ownership means nothing.
    """

    collection: str
    id: str
    raw: Object
    where: str
    packs: frozenset[str] = frozenset()
    in_pack: bool = False

    @property
    def name(self) -> str:
        """Its name, "" if it has none."""
        return text(self.raw, "name")

    @property
    def type(self) -> str:
        """Its type within its collection, "" if it has none."""
        return text(self.raw, "type")

    @property
    def system(self) -> Object:
        """What its system says of it."""
        return mapping(self.raw, "system")

    @property
    def pages(self) -> list[Object]:
        """The pages of a journal."""
        return objects(self.raw, "pages")


class NoDocumentError(ValueError):
    """An object that is no document, or none that can be told."""


def documents(raw: object, where: str, packs: Iterable[str] = ()) -> Iterator[Document]:
    """The documents of an object: itself, or those of an adventure.

    Raises:
        NoDocumentError: it is none; the message says why.
    """
    if not isinstance(raw, Mapping):
        raise NoDocumentError(f"it must be a JSON object, not {type(raw).__name__}")
    key = _KEY.match(text(raw, "_key"))
    collection = key[1] if key else _collection_of(raw)
    parts = [(name, part) for name in NESTED for part in objects(raw.get(name))]
    is_adventure = collection == "adventures" and (key is not None or "journal" in raw)
    for name, part in parts if is_adventure else [(collection, raw)]:
        own = text(part, "_id") or (key[2] if key and part is raw else "") or _id_in_name(where)
        yield Document(name, own, modern(part), where, frozenset(packs), is_adventure or "_key" in raw)


def _id_in_name(where: str) -> str:
    """The id in the name of an exported file: ``fvtt-Item-fireball-phbsplFireball00.json``."""
    match = _ID_IN_NAME.search(re.split(r"[/\\]", where)[-1].removesuffix(".gz"))
    return match[1] if match else ""


def _collection_of(raw: Object) -> str:
    """The collection of an object without a key, by its own keys."""
    kind, signs = (
        raw.get("type"),
        {
            "journal": "pages" in raw or (isinstance(raw.get("content"), str) and "type" not in raw),
            "tables": "results" in raw,
            "adventures": "journal" in raw and ("actors" in raw or "scenes" in raw),
            "folders": ("sorting" in raw or "sortingMode" in raw) and "system" not in raw,
            "macros": raw.get("type") in ("script", "chat") and "command" in raw,
        },
    )
    if found := next((name for name, holds in signs.items() if holds), ""):
        return found
    if not isinstance(kind, str) or not kind:
        raise NoDocumentError("it has no type")
    if "system" not in raw and "data" not in raw:
        raise NoDocumentError(f"a document of the type {kind[:40]!r} without 'system'")
    return "actors" if kind in ACTORS or "prototypeToken" in raw or "items" in raw else "items"


def system_of(raw: Object) -> str:
    """The key of the game system that a document is for; by its shape where it does not say."""
    if said := text(raw, "_stats.systemId", "_stats.exportSource.systemId", "flags.exportSource.system"):
        return said
    system = mapping(raw, "system")
    if mapping(system, "details.level") or at(system, "traits.rarity") or at(system, "traits.traditions"):
        return "pf2e"
    signs = ("circle", "identifier.value", "traits.movement.base", "description.source")
    return "black-flag" if any(at(system, sign) not in (None, {}, "") for sign in signs) else "dnd5e"


# --- shapes of earlier versions -------------------------------------------------------------------------------------

_RENAMED = {"data": "system", "permission": "ownership"}


def modern(raw: Object) -> dict[str, Any]:
    """A document in its current shape.

    Foundry 9 had other names for two keys. dnd5e had pairs for damage, texts for the type, speed and senses of creatures, and
    until version 2.4 it gave mundane items the rarity "common".
    """
    older = {renamed: raw[key] for key, renamed in _RENAMED.items() if key in raw}
    found: dict[str, Any] = {
        **older,
        **{key: each for key, each in raw.items() if key not in (*_RENAMED, "prototypeToken")},
    }
    if isinstance(found.get("system"), Mapping):
        found["system"] = _modern_system(found["system"])
        if is_mundane(found):
            found["system"]["rarity"] = ""
    if isinstance(found.get("content"), str) and "pages" not in found and "type" not in found:
        page = {"name": found.get("name"), "type": "text", "text": {"format": 1, "content": found["content"]}}
        found["pages"] = [{**page, "ownership": {"default": -1}}]
    for parts in ("items", "pages"):
        if isinstance(found.get(parts), list):
            found[parts] = [modern(part) if isinstance(part, Mapping) else part for part in found[parts]]
    return found


def _modern_system(system: Object) -> dict[str, Any]:
    found = dict(system)
    components = found.get("components")
    if isinstance(components, Mapping) and "required" not in components and "properties" not in found:
        found["properties"] = [key for key, value in components.items() if value is True]
    if isinstance(found.get("source"), str) and "circle" not in found:
        found["source"] = {"custom": found["source"]}
    if found.get("attuned") is True and "attunement" not in found:
        found["attunement"] = "required"
    if isinstance(found.get("details"), Mapping):
        found |= _modern_creature(found)
    old = damage_of_pairs(at(found, "damage.parts"))
    if (old or found.get("actionType")) and "activities" not in found:
        found["activities"] = {"": _activity(found, old)}
    return found


_KIND = re.compile(r"([^()]*)(?:\(([^()]*)\))?")
_A_SENSE = re.compile(rf"\b(?:{'|'.join(SENSES)})\b[^,;()]*[,;]?|\bpassive perception \d+[,;]?", re.IGNORECASE)


def _modern_creature(system: Object) -> Data:
    """What a creature of dnd5e before version 1.4 has as texts, in the objects of later versions."""
    details, attributes, traits = (dict(mapping(system, key)) for key in ("details", "attributes", "traits"))
    kind, speed, senses = details.get("type"), mapping(attributes, "speed"), traits.get("senses")
    if isinstance(kind, str) and (parts := _KIND.match(kind.strip())):
        details["type"] = {"value": parts[1].strip().lower(), "subtype": (parts[2] or "").strip()}
    if speed and "movement" not in attributes:
        found = readings({"speed": f"{text(speed, 'value')}, {text(speed, 'special')}"})
        modes = {mode: found.get(f"speed_{mode}") for mode in MOVEMENTS}
        attributes["movement"] = {**modes, "hover": found.get("hover")}
    if isinstance(senses, str) and "senses" not in attributes:
        special = _A_SENSE.sub("", senses).strip(" ,;.()")
        attributes["senses"] = {**readings({"senses": senses}), "special": special}
    stated = mapping(attributes, "ac")
    if stated.get("value") and not {"calc", "flat"} & stated.keys():
        attributes["ac"] = {"calc": "flat", "flat": stated["value"]}
    return {"details": details, "attributes": attributes, "traits": traits}


_NEWEST_DEFAULT = (2, 4)
"""From this version of dnd5e on, an item has a rarity only if it is magical."""

_MAGICAL_NAME = re.compile(r"\+[1-3]\b|\b(?:potion|spell scroll|philter|elixir|ring of|wand|rod of)\b", re.IGNORECASE)
_MAGICAL = re.compile(r"\bmagic(?:al|ally)?\b", re.IGNORECASE)


def is_mundane(item: Object) -> bool:
    """Whether the rarity "common" of an item is only the default of older versions."""
    system = mapping(item, "system")
    version = tuple(map(int, re.findall(r"\d+", text(item, "_stats.systemVersion"))[:2]))
    if text(system, "rarity").lower() != "common" or system_of(item) != "dnd5e" or version >= _NEWEST_DEFAULT:
        return False
    properties = system.get("properties")
    is_marked = bool(at(properties, "mgc")) or (isinstance(properties, list) and "mgc" in properties)
    attuned = system.get("attuned") is True or system.get("attunement") in (1, 2, "required")
    told = _MAGICAL_NAME.search(text(item, "name")) or _MAGICAL.search(text(system, "description.value"))
    return not (attuned or is_marked or told)


def damage_of_pairs(value: object) -> list[Object]:
    """Parts of damage that are pairs of a formula and a type, as objects."""
    pairs = value if isinstance(value, list) else []
    return [
        {"custom": {"enabled": True, "formula": text(pair[0])}, "types": [text(pair[1])]}
        for pair in pairs[:20]
        if isinstance(pair, list) and len(pair) == 2
    ]


def _activity(system: Object, parts: list[Object]) -> Object:
    """What an item does, in one activity, as versions from 4 on of dnd5e have it."""
    kind, ability = text(system, "actionType"), text(system, "save.ability")
    reach, arms = "ranged" if kind.startswith("r") else "melee", "spell" if kind.endswith("sak") else "weapon"
    return {
        "type": word("actions", kind, "utility"),
        "activation": system.get("activation"),
        "damage": {"parts": parts},
        "attack": {
            "ability": system.get("ability"),
            "bonus": system.get("attackBonus"),
            "type": {"value": reach, "classification": arms},
        },
        "save": {"ability": [ability] if ability else [], "dc": {"formula": text(system, "save.dc")}},
    }


# --- references -----------------------------------------------------------------------------------------------------


@dataclass
class Index:
    """The documents of one import, by id.

    Attributes:
        by_id: primary documents; several may have one id.
        pages: pages of journals, each with its journal.
        allowance: how much may be inserted into entries in all.
        classes: those whose spell lists have a spell, by its id.
    """

    by_id: dict[str, list[Document]] = field(default_factory=dict)
    pages: dict[str, list[tuple[Document, Object]]] = field(default_factory=dict)
    allowance: Allowance = field(default_factory=lambda: Allowance(0))
    classes: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[Document]) -> Index:
        """The index of some documents."""
        documents = list(found)
        index = cls(allowance=Allowance(sum(size_of(document.raw) for document in documents)))
        for document in documents:
            index.by_id.setdefault(document.id, []).append(document)
            for page in document.pages:
                index.pages.setdefault(text(page, "_id"), []).append((document, page))
        return index

    def document(self, uuid: str, pack: str = "") -> Document | None:
        """The document that a reference means, None if it is not in the import."""
        parts = uuid.split(".")
        pack = pack or (parts[2] if parts[0] == "Compendium" and len(parts) > 3 else "")
        return _preferred(self.by_id.get(_primary_id(uuid), []), pack)

    def page(self, uuid: str) -> tuple[Document, Object] | None:
        """The page that a reference means, with its journal."""
        found, wanted = self.pages.get(uuid.rpartition(".")[2], []), _primary_id(uuid)
        return next((pair for pair in found if pair[0].id == wanted), next(iter(found), None))

    def folders(self, document: Document) -> list[str]:
        """The names of the folders that a document lies in, the outermost first."""
        found: dict[str, str] = {}
        parent = text(document.raw, "folder")
        while parent and parent not in found and len(found) < MAX_FOLDERS:
            folders = [each for each in self.by_id.get(parent, []) if each.collection == "folders"]
            folder = _preferred(folders, *sorted(document.packs))
            found[parent] = folder.name if folder else ""
            parent = text(folder.raw, "folder") if folder else ""
        return [name for name in reversed(found.values()) if name]


def _preferred(found: list[Document], *packs: str) -> Document | None:
    """The document in one of these packs, else the first."""
    return next((d for d in found if not d.packs.isdisjoint(packs)), next(iter(found), None))


def _primary_id(uuid: str) -> str:
    """The id of the primary document in a reference such as ``Compendium.dnd5e.spells.Item.ID`` or ``Actor.ID.Item.ID``."""
    match = _REFERENCE.search(uuid)
    rest = uuid[match.end() + 1 :] if match else uuid.rpartition(".")[2]
    return rest.partition(".")[0]
