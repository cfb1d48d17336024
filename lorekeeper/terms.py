"""Terms of the rules, and which of them mean the same: tables that fields and their normalisation share.

All texts are in folded form, as `lorekeeper.entities.fold` makes them.
"""

from __future__ import annotations

import re

KINDS = {
    "species": "race",
    "lineage": "race",
    "heritage": "race",
    "ancestry": "race",
    "subspecies": "subrace",
    "armour": "armor",
    "monster": "creature",
    "magic items": "magic item",
    "weapons": "weapon",
    "feats": "feat",
    "races": "race",
    "classes": "class",
    "subclasses": "subclass",
    "backgrounds": "background",
    "conditions": "condition",
}
"""Kinds of entries as other games and people call them."""

MAX_LEVEL = 20
"""The highest level of a character."""

ABILITIES = ("strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma")

ABILITY_OF = {name[:3]: name for name in ABILITIES}
"""The abilities by their abbreviations."""

PHYSICAL = ("bludgeoning", "piercing", "slashing")
"""The damage types of weapons, against which some creatures are safe only from nonmagical attacks."""

DAMAGE_TYPES = (
    "acid",
    "bludgeoning",
    "cold",
    "fire",
    "force",
    "lightning",
    "necrotic",
    "piercing",
    "poison",
    "psychic",
    "radiant",
    "slashing",
    "thunder",
)

CONDITIONS = (
    "blinded",
    "charmed",
    "deafened",
    "exhaustion",
    "frightened",
    "grappled",
    "incapacitated",
    "paralyzed",
    "petrified",
    "poisoned",
    "prone",
    "restrained",
    "stunned",
    "unconscious",
)
"""The conditions that harm. Invisible is a benefit."""

CONDITION_NAMES = {
    **{name: name for name in CONDITIONS},
    **dict.fromkeys(("blind", "blindness"), "blinded"),
    "charm": "charmed",
    **dict.fromkeys(("deaf", "deafness"), "deafened"),
    **dict.fromkeys(("exhausted", "fatigue", "fatigued"), "exhaustion"),
    "fear": "frightened",
    "paralysis": "paralyzed",
    "petrification": "petrified",
    "poison": "poisoned",
    **dict.fromkeys(("stun", "stunning"), "stunned"),
}
"""Each condition by the words that lines of conditions have for it; fatigue is Level Up's exhaustion. In other texts some of these
words mean something else: poison is a damage type."""

ENDLESS = 1e9
"""The duration in minutes of what does not end by itself: longer than any other."""

SKILLS = (
    "acrobatics",
    "animal handling",
    "arcana",
    "athletics",
    "culture",
    "deception",
    "engineering",
    "history",
    "insight",
    "intimidation",
    "investigation",
    "medicine",
    "nature",
    "perception",
    "performance",
    "persuasion",
    "religion",
    "sleight of hand",
    "stealth",
    "survival",
)
"""The skills, with two of Level Up."""

_OF_SKILLS = """
acrobatics dex, animal handling wis, arcana int, athletics str, deception cha, history int, insight wis, intimidation cha,
investigation int, medicine wis, nature int, perception wis, performance cha, persuasion cha, religion int, sleight of hand dex,
stealth dex, survival wis"""

SKILL_ABILITIES = {
    skill.strip(): ABILITY_OF[ability] for skill, _, ability in (row.rpartition(" ") for row in _OF_SKILLS.split(","))
}
"""The ability of each skill."""

MOVEMENTS = ("walk", "fly", "swim", "climb", "burrow")

SENSES = ("darkvision", "blindsight", "tremorsense", "truesight")

PASSIVES = ("perception", "insight", "investigation")
"""The skills of which sheets have passive values."""

SCHOOLS = tuple("abjuration conjuration divination enchantment evocation illusion necromancy transmutation".split())
"""The schools of magic."""

RARITIES = ("common", "uncommon", "rare", "very rare", "legendary", "artifact")
"""The rarities of magic items, in the order of the game."""

SIZES = ("tiny", "small", "medium", "large", "huge", "gargantuan", "titanic")

_TYPES = {
    "aberration": "aberrations",
    "beast": "beasts",
    "celestial": "celestials",
    "construct": "constructs",
    "dragon": "dragons",
    "elemental": "elementals",
    "fey": "fey",
    "fiend": "fiends",
    "giant": "giants",
    "humanoid": "humanoids",
    "monstrosity": "monstrosities",
    "ooze": "oozes",
    "plant": "plants",
    "undead": "undead",
}
CREATURE_TYPES = tuple(_TYPES)

_TYPE_OF = {word: singular for singular, plural in _TYPES.items() for word in (singular, plural)}

_TAGS = frozenset({"swarm", "shapechanger", "demon", "devil", "yugoloth", "titan", "angel", "lycanthrope", "goblinoid"})
"""What stands beside a creature's type and is asked for like one."""

_ALIGNMENTS = {
    "lg": "lawful good",
    "ng": "neutral good",
    "cg": "chaotic good",
    "ln": "lawful neutral",
    "n": "neutral",
    "tn": "neutral",
    "true neutral": "neutral",
    "neutral neutral": "neutral",
    "cn": "chaotic neutral",
    "le": "lawful evil",
    "ne": "neutral evil",
    "ce": "chaotic evil",
    "any": "any alignment",
}

_PAIR = re.compile(r"\b(?:lawful|neutral|chaotic) (?:good|neutral|evil)\b")
_SIDE = re.compile(r"(?<!\bnon )\b(?:lawful|chaotic|good|evil)\b")
_NEUTRAL = re.compile(r"(?<!\blawful )(?<!\bchaotic )(?<!\bnon )\bneutral\b(?! good| evil| neutral)")

_ENVIRONMENTS = {
    "arctic": "tundra|arctic or tundra|arctic and tundra|ice|snow|polar|taiga|glacier|frozen|frostfell",
    "badlands": "badland|wasteland|wastelands",
    "caves": "cave|cavern|caverns",
    "coast": "coastal|coasts|beach|shore|seaside|seashore",
    "desert": "deserts|dunes",
    "feywild": "fey|faerie|the feywild",
    "forest": "forests|woods|wood|woodland|woodlands|jungle|jungles|rainforest|forest or jungle",
    "grassland": "grasslands|plains|plain|prairie|savanna|savannah|steppe|meadow|grassland or plains",
    "hell": "nine hells|the nine hells|hells",
    "abyss": "the abyss",
    "hills": "hill|foothills",
    "laboratory": "lab|laboratories",
    "lake": "lakes|river|rivers|freshwater",
    "mountain": "mountains|alpine|mountainous",
    "ocean": "oceans|sea|seas|saltwater",
    "ruins": "ruin",
    "sewer": "sewers",
    "shadowfell": "shadow|the shadowfell",
    "swamp": "swamps|marsh|marshes|bog|fen|mire|wetland|wetlands|bayou|swamp or marsh",
    "temple": "temples|shrine|church",
    "tomb": "tombs|crypt|crypts|graveyard|cemetery|catacombs",
    "underground": "subterranean",
    "underwater": "aquatic|water|undersea",
    "underworld": "underdark|the underdark",
    "urban": "city|cities|town|towns|village|villages|settlement|settlements",
}
_ENVIRONMENT_OF = {word: name for name, words in _ENVIRONMENTS.items() for word in words.split("|")}

_WIDER = {
    "ocean": ("underwater",),
    "lake": ("underwater",),
    "plane of water": ("underwater",),
    "caves": ("underground",),
    "underworld": ("underground",),
    "ruins": ("dungeon",),
    "tomb": ("dungeon",),
}
"""Wider terms that people ask for, and the environments of the sources that are among them."""


def environment(text: str) -> str:
    """The environment of a folded text in one word for all sources: "marsh" and "swamp or marsh" are "swamp"."""
    return _ENVIRONMENT_OF.get(text, text)


def wider_environments(text: str) -> tuple[str, ...]:
    """Wider terms that hold for an environment: an ocean is underwater, caves are underground."""
    return _WIDER.get(text, ())


def alignment(text: str) -> str:
    """An alignment of a folded text in full: "ce" is "chaotic evil", "any evil" is "any evil alignment"."""
    text = _ALIGNMENTS.get(text, text)
    return f"{text} alignment" if re.fullmatch(r"any (?:non )?[a-z]{4,7}", text) else text


def alignment_parts(text: str) -> tuple[str, ...]:
    """What else may be asked for to find an alignment: "chaotic evil" is chaotic and evil.

    Of alternatives ("neutral good 50 or neutral evil 50"), each counts. "neutral" is only the alignment of that name, so
    neutral evil is not among it; "any alignment" and "any non good alignment" are none in particular.
    """
    parts = [*_PAIR.findall(text), *_SIDE.findall(text)]
    if _NEUTRAL.search(text) and not text.startswith("any "):
        parts.append("neutral")
    return tuple(parts)


def size_parts(text: str) -> tuple[str, ...]:
    """Each size of several: "small or medium" is found as small and as medium."""
    return tuple(word for word in text.split() if word in SIZES)


def type_parts(text: str) -> tuple[str, ...]:
    """The type and the tags in a type line: "swarm of tiny beasts" is a beast and a swarm.

    Only the first type counts: "humanoid shadow fey" is a humanoid.
    """
    words = text.split()
    types = [_TYPE_OF[word] for word in words if word in _TYPE_OF]
    return (*types[:1], *(word for word in words if word in _TAGS))
