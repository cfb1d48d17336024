"""Abbreviations and keys of Foundry VTT's systems, and the words that books have for them."""

from __future__ import annotations

import re

from lorekeeper.terms import ABILITIES, ABILITY_OF

ABILITY_NAMES = {**ABILITY_OF, **{name: name for name in ABILITIES}}
"""The six abilities by their keys, short in dnd5e and whole in Black Flag."""

SKILLS = {
    "acr": "acrobatics", "ani": "animal handling", "arc": "arcana", "ath": "athletics", "dec": "deception",
    "his": "history", "ins": "insight", "itm": "intimidation", "inv": "investigation", "med": "medicine",
    "nat": "nature", "prc": "perception", "prf": "performance", "per": "persuasion", "rel": "religion",
    "slt": "sleight of hand", "ste": "stealth", "sur": "survival",
}  # fmt: skip

SIZES = {"tiny": "tiny", "sm": "small", "med": "medium", "lg": "large", "huge": "huge", "grg": "gargantuan"}

SCHOOLS = {
    "abj": "abjuration", "con": "conjuration", "div": "divination", "enc": "enchantment", "evo": "evocation",
    "ill": "illusion", "nec": "necromancy", "trs": "transmutation",
}  # fmt: skip

COMPONENTS = {"vocal": "verbal", "verbal": "verbal", "somatic": "somatic", "material": "material"}

ACTIVATIONS = {
    "action": "action", "bonus": "bonus action", "reaction": "reaction", "minute": "minute", "hour": "hour", "day": "day",
    "longRest": "long rest", "shortRest": "short rest", "special": "special",
}  # fmt: skip

DURATIONS = {
    "inst": "instantaneous", "instantaneous": "instantaneous", "spec": "special", "special": "special",
    "perm": "until dispelled", "disp": "until dispelled", "dispelled": "until dispelled",
    "dstr": "until dispelled or triggered", "triggered": "until dispelled or triggered", "permanent": "permanent",
    "turn": "turn", "round": "round", "minute": "minute", "hour": "hour", "day": "day", "week": "week", "month": "month",
    "year": "year",
}  # fmt: skip

ENDLESS = frozenset({"instantaneous", "special", "until dispelled", "until dispelled or triggered", "permanent"})
"""Durations that have no number."""

LENGTHS = {"ft": "foot", "foot": "foot", "feet": "foot", "mi": "mile", "mile": "mile", "m": "meter", "km": "kilometer"}

RANGES = {
    "self": "Self",
    "touch": "Touch",
    "sight": "Sight",
    "spec": "Special",
    "special": "Special",
    "any": "Unlimited",
}

DISPLAYED_TYPES = {"temphp": "temporary hit points", "healing": "hit points", "temp": "temporary hit points"}

WEAPON_TYPES = {
    "simpleM": ("simple", "melee"), "simpleR": ("simple", "ranged"), "martialM": ("martial", "melee"),
    "martialR": ("martial", "ranged"), "natural": ("natural", ""), "improv": ("improvised", ""), "siege": ("siege", "ranged"),
}  # fmt: skip

PROPERTIES = {
    "ada": "adamantine", "amm": "ammunition", "fin": "finesse", "fir": "firearm", "foc": "focus", "hvy": "heavy",
    "lgt": "light", "lod": "loading", "rch": "reach", "rel": "reload", "ret": "returning", "sil": "silvered",
    "spc": "special", "thr": "thrown", "two": "two-handed", "ver": "versatile", "twoHanded": "two-handed",
}  # fmt: skip

HIDDEN_PROPERTIES = frozenset(
    {"mgc", "magical", "gear", "stealthDisadvantage", "noisy", "naturalMaterials", "cumbersome"}
)
"""Properties that an entry shows elsewhere, or that mean something to the program only."""

ARMOR_WEIGHTS = frozenset({"light", "medium", "heavy"})

COINS = {"cp": 0.01, "sp": 0.1, "ep": 0.5, "gp": 1.0, "pp": 10.0}

POUNDS = {"lb": 1.0, "pound": 1.0, "tn": 2000.0, "ton": 2000.0, "ounce": 0.0625, "kg": 2.0, "Mg": 2000.0}

RARITIES = {"veryRare": "very rare"}

LANGUAGES = {"ALL": "all", "deep": "deep speech", "cant": "thieves' cant", "aarakocra": "aarakocra"}

LANGUAGE_TAGS = {
    "cantSpeak": "it can't speak them", "knownInLife": "the languages it knew in life",
    "creators": "the languages of its creator",
}  # fmt: skip

BASE_ITEMS = {
    "lightcrossbow": "light crossbow", "handcrossbow": "hand crossbow", "heavycrossbow": "heavy crossbow",
    "lighthammer": "light hammer", "warpick": "war pick", "studded": "studded leather", "thief": "thieves' tools",
}  # fmt: skip
"""Keys of weapons and tools that are not the words themselves."""

BYPASSES = {"mgc": "nonmagical", "ada": "not adamantine", "sil": "not silvered"}

PLURALS = {"foot": "feet"}


def spoken(key: str) -> str:
    """A key in words: "wondrous item" of ``wondrousItem``, "thieves tools" of ``thieves-tools``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).replace("-", " ").replace("_", " ").strip().lower()


def plural(word: str, number: float) -> str:
    """A unit after a number: "foot", "feet"."""
    return word if number == 1 else PLURALS.get(word, f"{word}s")
