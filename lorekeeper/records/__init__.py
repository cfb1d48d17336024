"""The things of the game: what every source is read as, and what everything else reads.

Sources call one thing by several names. A record has it once, with its unit, under the name that the rules have for it; None
and "" stand for what is not known. Entries keep the object that their source wrote, and a record is made of that object, with
what is known to be wrong repaired: a library needs no new download to be read in another way.
"""

from __future__ import annotations

from lorekeeper.records.creatures import Creature, creature, feature
from lorekeeper.records.grammar import effects
from lorekeeper.records.items import Item, item
from lorekeeper.records.notes import Link, Note, Section, note
from lorekeeper.records.options import Option, option
from lorekeeper.records.parts import Area, Attack, Damage, Distance, Duration, Effects, Feature, Material, Speed
from lorekeeper.records.rules import Document, Rule, document, rule
from lorekeeper.records.spells import Spell, spell
from lorekeeper.records.values import Source

__all__ = [
    "Area",
    "Attack",
    "Creature",
    "Damage",
    "Distance",
    "Document",
    "Duration",
    "Effects",
    "Feature",
    "Item",
    "Link",
    "Material",
    "Note",
    "Option",
    "Rule",
    "Section",
    "Source",
    "Speed",
    "Spell",
    "creature",
    "document",
    "effects",
    "feature",
    "item",
    "note",
    "option",
    "rule",
    "spell",
]
