"""Values of creatures that Open5e invents, cuts or runs together, and of magic weapons that it takes from their kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lorekeeper.repairs.entries import repaired_entry
from lorekeeper.terms import DAMAGE_TYPES, SENSES

Object = Mapping[str, Any]

WITHOUT_ALIGNMENTS = frozenset({"a5e-mm", "bfrd"})
"""Documents whose stat blocks have no alignment. Open5e calls all of their creatures chaotic evil."""

ABILITIES = 6
"""How many saving throws there are."""

EVERYWHERE = 20
"""More environments than any creature has."""

PLACEHOLDERS = frozenset({"tob", "srd-2014"})
"""Documents that list all 31 environments where they know none: a sea worm in the desert, a golem in the ocean."""

LARGEST = {
    "speed": 1_000,
    "armor_class": 60,
    "hit_points": 10_000,
    "passive_perception": 60,
    **dict.fromkeys(SENSES, 1_000),
}
"""The largest values that are believed, in feet for speeds and senses. The largest of all books are 360 ft (senses), 160 ft
(speeds), 25 (armor class) and 1,230 (hit points)."""

MEDIUM_OR_SMALL = {"name": "Medium or Small", "key": "small"}
"""The key stays that of Open5e: it is the first value of the filter."""

SIZES = {"4": {"name": "Tiny", "key": "tiny"}, "8": MEDIUM_OR_SMALL}
"""By the sides of its hit dice, the size of a creature of 2024 that Open5e calls "Small"."""

_HIT_DICE = re.compile(r"\d{1,3}d(\d{1,2})\b")
_DICE_AFTER_COST = re.compile(r" ?\(Costs \d+ Actions?\)$")
_LEGENDARY = ("LEGENDARY_ACTION", "MYTHIC_ACTION")


def repaired_values(entity_type: str, data: Object) -> Object:
    """An object with its known faults repaired: those of the table of entries, then those that a rule finds.

    What cannot be repaired is None.
    """
    data = repaired_entry(data)
    if entity_type == "equipment":
        return _without_denied(_with_damage(data))
    changed = {key: value for _, key, value in value_changes(entity_type, data)}
    return {**data, **changed} if changed else data


def value_changes(entity_type: str, data: Object) -> Iterator[tuple[str, str, Any]]:
    """What the rules change in an object: the reason, the key, and the value without the fault."""
    for reason, rule in RULES.get(entity_type, ()):
        for key, value in rule(data).items():
            if data.get(key) != value:
                yield reason, key, value


_INSTEAD = re.compile(rf"\bdeals (?P<type>{'|'.join(DAMAGE_TYPES)}) damage instead of\b", re.IGNORECASE)
_SOMETIMES = re.compile(r"\b(?:choose|each time|if|once|until|when|while)\b", re.IGNORECASE)


def _with_damage(data: Object) -> Object:
    """A weapon with the type of damage that its text gives it instead of that of its kind, and one that deals none without any.

    A Sun Blade deals radiant damage; a net has damage dice of "0".
    """
    if str(data.get("damage_dice")) == "0":
        return {**data, "damage_dice": None, "damage_type": None}
    weapon = data.get("weapon")
    if not isinstance(weapon, Mapping):
        return data
    own = _own_damage(data.get("desc"))
    changed = {**weapon, "damage_type": {"name": own.capitalize(), "key": own}} if own else _with_damage(weapon)
    return data if changed is weapon else {**data, "weapon": changed}


_DENIED = re.compile(
    r"(?:[^.\n]*\bif the armor\b(?P<named>[^.\n]+),)?[^.\n]*\b(?:does not|(?:does|do)n['’]t|has no|have no)\b(?P<rest>[^.\n]*)",
    re.IGNORECASE,
)
"""What a sentence says that an armor does not have: it may name it in a condition before that."""

_BURDENS = {"stealth": "grants_stealth_disadvantage", "strength requirement": "strength_score_required"}
"""By the words for them, what an armor takes from its kind and its own text may deny."""


def _without_denied(data: Object) -> Object:
    """An armor without what its own text says that it does not have: mithral plate is not loud and asks for no Strength."""
    armor, text = data.get("armor"), data.get("desc")
    if not isinstance(armor, Mapping) or not isinstance(text, str):
        return data
    denied = " ".join(f"{match['named'] or ''} {match['rest']}" for match in _DENIED.finditer(text)).casefold()
    without = {key: None for words, key in _BURDENS.items() if words in denied and armor.get(key)}
    return {**data, "armor": {**armor, **without}} if without else data


def _own_damage(text: object) -> str | None:
    """The type of damage that a text gives a weapon for always; None if it says nothing of that."""
    if not isinstance(text, str) or "instead of" not in text:
        return None
    always = (sentence for sentence in re.split(r"[.\n]", text) if not _SOMETIMES.search(sentence))
    match = next(filter(None, map(_INSTEAD.search, always)), None)
    return match["type"].lower() if match else None


def _key(reference: object) -> str:
    """The key of a reference, without the document before it."""
    value = reference.get("key") if isinstance(reference, Mapping) else reference
    return value.rstrip("/").rpartition("/")[2].rpartition("_")[2] if isinstance(value, str) else ""


def _document(data: Object) -> str:
    return _key(data.get("document__slug") or data.get("document"))


def _alignment(data: Object) -> dict[str, Any]:
    """No alignment where it is invented, or the rest of a type line that was cut at a comma, as in "Shapechanger)"."""
    alignment = data.get("alignment")
    invented = _document(data) in WITHOUT_ALIGNMENTS and alignment == "chaotic evil"
    cut = isinstance(alignment, str) and alignment.count(")") > alignment.count("(")
    return {"alignment": None} if invented or cut else {}


def _size(data: Object) -> dict[str, Any]:
    """The size that the hit dice of a creature of 2024 tell, which Open5e calls small for want of it: each size has its own die."""
    document = data.get("document")
    system = _key(document.get("gamesystem")) if isinstance(document, Mapping) else ""
    dice = _HIT_DICE.match(str(data.get("hit_dice") or ""))
    is_small = _key(data.get("size")) == "small" and system == "5e-2024"
    return {"size": SIZES[dice[1]]} if is_small and dice and dice[1] in SIZES else {}


def _zeros(data: Object) -> dict[str, Any]:
    """No challenge rating where it is 0 for want of one: in an entry without hit dice, speed and experience points."""
    speeds = data.get("speed")
    moves = isinstance(speeds, Mapping) and any(isinstance(value, (int, float)) and value for value in speeds.values())
    is_stub = (
        "hit_dice" in data and "speed" in data and not (data["hit_dice"] or moves or data.get("experience_points"))
    )
    return {"challenge_rating": None} if is_stub and data.get("challenge_rating") == 0 else {}


def _bonuses(data: Object) -> dict[str, Any]:
    """No saving throws or skills where all are listed as 0 beside ability scores that are not, as of the horses of 2014."""
    scores = data.get("ability_scores")
    usual = isinstance(scores, Mapping) and all(score in (10, 11) for score in scores.values())
    listed = {key: data.get(key) for key in ("saving_throws", "skill_bonuses")}
    return {
        key: None
        for key, bonuses in listed.items()
        if isinstance(bonuses, Mapping) and len(bonuses) >= ABILITIES and not any(bonuses.values()) and not usual
    }


_FROM_WISDOM = frozenset({"tob3"})
"""Documents in which Open5e lists the Wisdom modifier as the bonus to Perception; passive Perception has the right one."""


def _cut_bonuses(data: Object) -> dict[str, Any]:
    """Saving throws that are cut to their first digit, as "+1" is left of "+11", and Perception as passive Perception has it."""
    changes: dict[str, Any] = {}
    saves, skills = data.get("saving_throws"), data.get("skill_bonuses")
    if isinstance(saves, Mapping):
        changes["saving_throws"] = {name: _whole_bonus(data, name, bonus) for name, bonus in saves.items()}
    passive, own = data.get("passive_perception"), _modifier(data, "wisdom")
    if _document(data) in _FROM_WISDOM and isinstance(skills, Mapping) and isinstance(passive, int) and own is not None:
        rest = {name: bonus for name, bonus in skills.items() if name != "perception"}
        changes["skill_bonuses"] = rest | ({"perception": passive - 10} if passive - 10 != own else {})
    return {key: value or None for key, value in changes.items() if value != data.get(key)}


def _whole_bonus(data: Object, ability: str, bonus: object) -> object:
    """The bonus to a saving throw: modifier and proficiency, if that has two digits and the first of them is all there is."""
    rating, own = data.get("challenge_rating"), _modifier(data, ability)
    if own is None or not isinstance(rating, (int, float)) or not isinstance(bonus, int) or bonus >= own:
        return bonus
    whole = own + 2 + max(int(rating) - 1, 0) // 4
    return whole if 10 <= whole < 20 and bonus == 1 else bonus


def _modifier(data: Object, ability: str) -> int | None:
    scores = data.get("ability_scores")
    score = scores.get(ability) if isinstance(scores, Mapping) else None
    return (score - 10) // 2 if isinstance(score, int) else None


def _environments(data: Object) -> dict[str, Any]:
    found = data.get("environments")
    many = isinstance(found, (list, tuple)) and len(found) > EVERYWHERE
    return {"environments": None} if many and _document(data) in PLACEHOLDERS else {}


# --- numbers ---------------------------------------------------------------------------------------------------------


def _numbers(data: Object) -> dict[str, Any]:
    """Numbers that no creature has are left out."""
    changes: dict[str, Any] = {key: None for key, most in LARGEST.items() if _above(data.get(key), most)}
    if isinstance(speeds := data.get("speed"), Mapping):
        changes["speed"] = {mode: value for mode, value in speeds.items() if not _above(value, LARGEST["speed"])}
    return changes


def _above(value: object, most: int) -> bool:
    return isinstance(value, (int, float)) and value > most


def _senses(data: Object) -> dict[str, Any]:
    """Senses whose numbers are run together: "3010" is what is left of "30 ft. or 10 ft. while deafened"."""
    wrong = [sense for sense in sorted(SENSES) if _above(data.get(f"{sense}_range"), LARGEST[sense])]
    changes: dict[str, Any] = {}
    for sense in wrong:
        digits = str(int(data[f"{sense}_range"]))
        twins = [other for other in wrong if data[f"{other}_range"] == data[f"{sense}_range"]]
        ranges = read_ranges(digits, data.get("passive_perception"), len(twins))
        changes[f"{sense}_range"] = ranges[twins.index(sense)] if ranges else None
    return changes


def believed(feet: float | None, passive: object = None) -> float | None:
    """The range of a sense; of one that no creature has, what can be read of its digits, otherwise the range as it is."""
    if feet is None or feet <= LARGEST[SENSES[0]]:
        return feet
    found = read_ranges(str(int(feet)), passive, 1)
    return found[0] if found else feet


def read_ranges(digits: str, passive: object, count: int) -> list[int]:
    """The ranges of which digits are run together, in feet; [] if they can be read in no way or in several.

    Args:
        digits: of a number that is too large.
        passive: passive Perception, which stands behind the senses in a stat block, and is often the other number.
        count: of the senses that have this number: each has a range of its own then.
    """
    if count == 1 and isinstance(passive, int):
        beside = [
            rest for rest in (digits.removesuffix(str(passive)), digits.removeprefix(str(passive))) if rest != digits
        ]
        found = {int(rest) for rest in beside if _is_range(rest)}
        if len(found) == 1:
            return list(found)
    pairs = [(digits[:place], digits[place:]) for place in range(1, len(digits))]
    likely = [(int(one), int(other)) for one, other in pairs if _is_range(one) and _is_range(other)]
    return list(likely[0]) if len(likely) == 1 else []


def _is_range(digits: str) -> bool:
    """Whether digits are a range as stat blocks have them: a multiple of 5 from 5 to 500 feet."""
    return digits[:1] not in ("", "0") and int(digits) % 5 == 0 and 5 <= int(digits) <= 500


# --- actions ---------------------------------------------------------------------------------------------------------


def _actions(data: Object) -> dict[str, Any]:
    """The actions without those that stand among the legendary actions too, with the same text."""
    actions = data.get("actions")
    if not isinstance(actions, (list, tuple)):
        return {}
    legendary = {_told(action) for action in actions if _kind(action) in _LEGENDARY}
    legendary |= {_told(action) for key in ("legendary_actions", "mythic_actions") for action in _maps(data.get(key))}
    kept = [action for action in actions if _kind(action) in _LEGENDARY or _told(action) not in legendary]
    return {"actions": kept} if len(kept) < len(actions) else {}


def _maps(value: object) -> Iterable[Object]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, (list, tuple)) else ()


def _kind(action: object) -> object:
    return action.get("action_type") if isinstance(action, Mapping) else None


def _told(action: object) -> tuple[str, str] | None:
    """Name and text of an action, without what it costs; None if it is no object, or has no text."""
    if not isinstance(action, Mapping) or not isinstance(action.get("desc"), str) or not action["desc"].strip():
        return None
    name = _DICE_AFTER_COST.sub("", str(action.get("name") or "").strip())
    return name.casefold(), " ".join(action["desc"].split()).casefold()


def _items(data: Object) -> dict[str, Any]:
    """The items of a set that its own book has: those of the other edition stand in the same list."""
    listed = data.get("items")
    prefix = f"{_PREFIXES.get(_document(data), _document(data))}_"
    own = [each for each in _maps(listed) if str(each.get("key")).startswith(prefix)]
    return {"items": own} if own and isinstance(listed, list) and len(own) < len(listed) else {}


_PREFIXES = {"srd-2014": "srd"}
"""How the keys of a document's objects begin where they do not begin with its own."""

Rules = Sequence[tuple[str, Callable[[Object], dict[str, Any]]]]

_OF_CREATURES: Rules = (
    ("an invented alignment, or the rest of a type line", _alignment),
    ('"Tiny" and "Medium or Small" given as "Small"', _size),
    ("a challenge rating of 0 in an entry that lacks one", _zeros),
    ("all environments instead of none", _environments),
    ("saving throws or skills listed as 0", _bonuses),
    ("bonuses cut to their first digit, or without proficiency", _cut_bonuses),
    ("a number that no creature has", _numbers),
    ("senses with their numbers run together", _senses),
    ("legendary actions listed among the actions too", _actions),
)

RULES: Mapping[str, Rules] = {"creatures": _OF_CREATURES, "rules": (("items of another edition in a set", _items),)}
"""By entity type: what is wrong, and the values of an object without it."""
