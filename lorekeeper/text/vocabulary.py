"""The vocabulary of the game table: abbreviations and spellings, and what the rules call them.

It holds only plain matters of language; the phrases for particular entries are kept with the entries (`phrases`).
"""

ABBREVIATIONS = {
    "ac": "armor class",
    "adv": "advantage",
    "aoe": "area of effect",
    "aoo": "opportunity attack",
    "asi": "ability score increase",
    "ba": "bonus action",
    "barb": "barbarian",
    "capt": "captain",
    "con save": "constitution saving throw",
    "cr": "challenge rating",
    "dc": "difficulty class",
    "dex save": "dexterity saving throw",
    "crit": "critical hit",
    "disadv": "disadvantage",
    "dmg": "damage",
    "ft": "feet",
    "gp": "gold pieces",
    "hp": "hit points",
    "int save": "intelligence saving throw",
    "lt": "lieutenant",
    "lvl": "level",
    "nat 1": "1 on the d20",
    "nat 20": "20 on the d20",
    "oa": "opportunity attack",
    "pally": "paladin",
    "npc": "nonplayer character",
    "pb": "proficiency bonus",
    "prereq": "prerequisite",
    "sgt": "sergeant",
    "sorc": "sorcerer",
    "str save": "strength saving throw",
    "temp hp": "temporary hit points",
    "thp": "temporary hit points",
    "thru": "through",
    "wildshape": "wild shape",
    "wis save": "wisdom saving throw",
    "xp": "experience points",
}
"""Abbreviations, folded, and what they stand for."""

SPELLINGS = {
    "armour": "armor",
    "centre": "center",
    "colour": "color",
    "defence": "defense",
    "grey": "gray",
    "licence": "license",
    "mould": "mold",
    "offence": "offense",
    "sceptre": "scepter",
    "sulphur": "sulfur",
    "vapour": "vapor",
}
"""British spellings, folded, and the spellings that most books use."""
