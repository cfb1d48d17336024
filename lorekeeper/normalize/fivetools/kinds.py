"""Which lists of a homebrew file hold what: the table from which the import follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lorekeeper.normalize.fivetools import classes, creatures, items, options, rules, spells
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import Object, mapping, objects, text

NameOf = Callable[[Object], str]


def _own_name(obj: Object) -> str:
    return text(obj.get("name"))


def name_of_property(entry: Object) -> str:
    """The name of a property of items, which may stand in its text only."""
    nested = next((text(each.get("name")) for each in objects(entry.get("entries")) if text(each.get("name"))), "")
    return text(entry.get("name")) or nested or text(entry.get("abbreviation"))


@dataclass(frozen=True)
class Kind:
    """A list of a homebrew file.

    Attributes:
        type: the collection of its entries.
        kind: of the entries; "" if it depends on the object.
        data: an object in the shape in which it is kept.
        apart_by: keys of what tells two objects of one name and source apart.
        name: the name of an entry.
    """

    type: str
    kind: str
    data: Callable[[Subject], Data]
    apart_by: tuple[str, ...] = ()
    name: NameOf = _own_name


def _rule(kind: str, *apart_by: str) -> Kind:
    return Kind("rules", kind, rules.rule, apart_by)


TABLE_GROUPS = ("tableGroup", "encounter")
"""Lists of objects with several tables each, all of which are entries."""

_ITEM = Kind("equipment", "", items.item)

KINDS: dict[str, Kind] = {
    "spell": Kind("spells", "spell", spells.spell),
    "monster": Kind("creatures", "creature", creatures.creature),
    "item": _ITEM,
    "baseitem": _ITEM,
    "magicvariant": _ITEM,
    "itemGroup": _ITEM,
    "class": Kind("character_options", "class", classes.character_class),
    "subclass": Kind("character_options", "subclass", classes.subclass, ("className", "classSource")),
    "race": Kind("character_options", "race", options.race),
    "subrace": Kind("character_options", "subrace", options.race, ("raceName",), options.name_of_subrace),
    "background": Kind("character_options", "background", options.background),
    "feat": Kind("character_options", "feat", options.feat),
    "table": Kind("rules", "table", rules.table),
    **dict.fromkeys(TABLE_GROUPS, Kind("rules", "table", rules.table)),
    "optionalfeature": _rule("optional-feature"),
    "classFeature": _rule("class-feature", "className", "level"),
    "subclassFeature": _rule("class-feature", "subclassShortName", "level"),
    "variantrule": _rule("rule"),
    "condition": _rule("condition"),
    "disease": _rule("disease"),
    "status": _rule("status"),
    "hazard": _rule("hazard"),
    "trap": _rule("trap"),
    "deity": _rule("deity", "pantheon"),
    "object": _rule("object"),
    "vehicle": _rule("vehicle"),
    "vehicleUpgrade": _rule("vehicle-upgrade"),
    "reward": _rule("reward"),
    "cult": _rule("cult"),
    "boon": _rule("boon"),
    "language": _rule("language"),
    "psionic": _rule("psionic"),
    "charoption": _rule("character-creation-option"),
    "facility": _rule("facility"),
    "recipe": _rule("recipe"),
    "action": _rule("action"),
    "skill": _rule("skill"),
    "sense": _rule("sense"),
    "deck": _rule("deck"),
    "card": _rule("card", "set"),
    "itemProperty": Kind("rules", "weapon-property", rules.rule, name=name_of_property),
    "itemType": _rule("item-type"),
    "itemMastery": _rule("weapon-mastery"),
    "legendaryGroup": _rule("lair"),
    "adventure": _rule("adventure"),
    "book": _rule("book"),
}
"""The lists that are read, in the order in which they are."""

TEXTS_OF = {"adventure": "adventureData", "book": "bookData"}
"""Indexes, and the lists with their texts, joined by ``id``."""

JOINED = frozenset({"legendaryGroup"})
"""Lists of objects that are read as parts of others, and on their own only where no other names them."""

NO_LORE = frozenset(
    "citation itemTypeAdditionalEntries itemEntry blocklist monsterTemplate adventureData bookData raceFeature languageScript"
    " monsterfeatures variantEntry magicvariantGroup spellList subclassSpells lifeFeature lifeClass lifeBackground lifeTrinket"
    " converterSample".split()
)
"""Lists that are no entries of their own."""

_NO_LORE_PREFIXES = ("foundry", "roll20", "makebrew", "_")
_FLUFF = "Fluff"


def is_for_other_program(name: str) -> bool:
    """Whether a file of that name has what other programs need for entries of other files: automation, stylesheets, ..."""
    return name.lower().startswith(_NO_LORE_PREFIXES)


def has_no_lore(key: str) -> bool:
    """Whether a list holds only what belongs to other entries, or to other programs."""
    return key in NO_LORE or key.startswith(_NO_LORE_PREFIXES) or key.endswith((_FLUFF, "FluffMeta", "Template"))


FIELDS: dict[str, Callable[[Object], dict[str, object]]] = {
    "spells": spells.fields,
    "creatures": creatures.fields,
    "equipment": items.fields,
    "character_options": options.fields,
    "rules": rules.fields,
    "documents": lambda data: {"game_system": text(mapping(data.get("gamesystem")).get("name")) or None},
}
"""The raw filter values of the data that is kept, by collection."""


def fields_of(entity_type: str, data: Object) -> dict[str, object]:
    """The raw filter values of the data of an entry of this source."""
    return FIELDS[entity_type](data) if entity_type in FIELDS else {}
