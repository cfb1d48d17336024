"""The table's vocabulary: abbreviations and spellings of game talk, written out for both sides of the search.

A word is written out only where it stands alone in a question; the question itself is kept. Only what is a plain matter of
language stands here; how particular entries are asked for stands with the entries (`hints`).
"""

from __future__ import annotations

from lorekeeper.entities import fold

ABBREVIATIONS = {
    "ac": "armor class",
    "adv": "advantage",
    "aoe": "area of effect",
    "aoo": "opportunity attack",
    "asi": "ability score increase",
    "ba": "bonus action",
    "con save": "constitution saving throw",
    "cr": "challenge rating",
    "dc": "difficulty class",
    "dex save": "dexterity saving throw",
    "disadv": "disadvantage",
    "dmg": "damage",
    "gp": "gold pieces",
    "hp": "hit points",
    "int save": "intelligence saving throw",
    "oa": "opportunity attack",
    "npc": "nonplayer character",
    "pb": "proficiency bonus",
    "str save": "strength saving throw",
    "temp hp": "temporary hit points",
    "thp": "temporary hit points",
    "wis save": "wisdom saving throw",
    "xp": "experience points",
}
"""Short forms, folded, and what they stand for."""

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
"""British spellings, folded, and the ones that most books use."""

SYNONYMS = {
    "creep": "sneak stealth hide",
    "invisible": "unseen",
    "ko": "unconscious",
    "mage": "wizard",
    "magician": "wizard",
    "monster": "creature",
    "regain": "heal",
    "sneak": "stealth hide",
    "stealthy": "stealth hide",
    "tiptoe": "stealth sneak",
}
"""Words of players, folded, and those of the rules; only the keyword side reads them."""


def spelt_out(query: str) -> str:
    """A question with its abbreviations written out behind it and its spellings changed; the question itself if it has none."""
    folded = f" {fold(query)} "
    extra = [full for short, full in ABBREVIATIONS.items() if f" {short} " in folded]
    extra += [usual for british, usual in SPELLINGS.items() if f" {british} " in folded]
    return f"{query} ({', '.join(dict.fromkeys(extra))})" if extra else query


def with_synonyms(query: str) -> str:
    """A question with what its words are called in the rules, for the keyword side."""
    words = fold(query).split()
    extra = [SYNONYMS[word] for word in words if word in SYNONYMS]
    return " ".join([spelt_out(query), *extra])
