"""Which lists of a homebrew file hold what: the table from which the import follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lorekeeper.normalize.fivetools import creatures, items, options, rules, spells
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import Data, Object, objects, text, word


@dataclass(frozen=True)
class Kind:
    """A list of a homebrew file.

    Attributes:
        type: the collection of its entries.
        kind: of the entries; "" if it depends on the object.
        data: an object in the shape in which it is kept.
        name: the name of an entry.
    """

    type: str
    kind: str
    data: Callable[[Subject], Data]
    name: Callable[[Object], str] = lambda obj: text(obj, "name")


def name_of_property(entry: Object) -> str:
    """The name of a property of items, which may stand in its text only."""
    nested = next((text(each, "name") for each in objects(entry, "entries") if text(each, "name")), "")
    return text(entry, "name") or nested or text(entry, "abbreviation")


TABLE_GROUPS = ("tableGroup", "encounter")
"""Lists of objects with several tables each, all of which are entries."""

KINDS = {
    "spell": Kind("spells", "spell", spells.spell),
    "monster": Kind("creatures", "creature", creatures.creature),
    **dict.fromkeys("item baseitem magicvariant itemGroup".split(), Kind("equipment", "", items.item)),
    "class": Kind("character_options", "class", options.character_class),
    "subclass": Kind("character_options", "subclass", options.subclass),
    "race": Kind("character_options", "race", options.race),
    "subrace": Kind("character_options", "subrace", options.race, options.name_of_subrace),
    "background": Kind("character_options", "background", options.background),
    "feat": Kind("character_options", "feat", options.feat),
    **dict.fromkeys(("table", *TABLE_GROUPS), Kind("rules", "table", rules.table)),
    **{key: Kind("rules", kind, rules.rule) for key, kind in word["rules"].items()},
    "itemProperty": Kind("rules", word("rules", "itemProperty"), rules.rule, name_of_property),
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


def is_for_other_program(name: str) -> bool:
    """Whether a file of that name has what other programs need for entries of other files: automation, stylesheets, ..."""
    return name.lower().startswith(_NO_LORE_PREFIXES)


def has_no_lore(key: str) -> bool:
    """Whether a list holds only what belongs to other entries, or to other programs."""
    return key in NO_LORE or key.startswith(_NO_LORE_PREFIXES) or key.endswith(("Fluff", "FluffMeta", "Template"))


def fields_of(entity_type: str, data: Object) -> Data:
    """The raw filter values of the data of an entry of this source."""
    return _FIELDS[entity_type](data)


_FIELDS: Mapping[str, Callable[[Object], Data]] = {
    "spells": spells.fields,
    "creatures": creatures.fields,
    "equipment": items.fields,
    "character_options": options.fields,
    "rules": lambda data: {"parent": text(data, "parent") or None},
    "documents": lambda data: {"game_system": text(data, "gamesystem.name") or None},
}
