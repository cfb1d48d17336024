"""Marks in double brackets, such as ``[[/save con 14]]``, in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from lorekeeper.normalize.foundry import formulas, rolls
from lorekeeper.normalize.foundry.lookups import looked_up
from lorekeeper.normalize.foundry.rolls import Activity, Doer
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.values import spaced, text
from lorekeeper.normalize.foundry.words import ABILITY_NAMES, SKILLS, spoken
from lorekeeper.terms import DAMAGE_TYPES, SKILL_ABILITIES

WORD = re.compile(r'[^\s"=]+="[^"]*"|"[^"]*"|\S+')
_NUMBER = re.compile(r"\d{1,4}")
_AFTER = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+)?)")


@dataclass(frozen=True)
class Arguments:
    """What a mark says behind its name.

    Attributes:
        words: without those that are options.
        options: by name, in lower case; ``average`` and the like are true by themselves.
    """

    words: list[str]
    options: dict[str, str]

    @classmethod
    def of(cls, source: str) -> Arguments:
        """The words of a mark."""
        words: list[str] = []
        options: dict[str, str] = {}
        for word in WORD.findall(source):
            name, equals, value = word.partition("=")
            if equals:
                options[name.lower()] = value.strip('"')
            elif word.lower() in _FLAGS:
                options[word.lower()] = "true"
            else:
                words.append(word.strip('"'))
        return cls(words, options)


_FLAGS = frozenset({"average", "extended", "temp", "temporary", "versatile", "twohanded", "passive", "each", "max"})

Roller = Callable[[Arguments, Scope, str], "str | None"]


def rolled(body: str, scope: Scope, before: str, after: str) -> str | None:
    """The words for a mark in double brackets; None if nothing is known."""
    name, _, rest = body.partition(" ")
    if name.startswith("/"):
        roller = ROLLERS.get(name[1:].lower())
        following = _AFTER.match(after)
        return roller(Arguments.of(rest), scope, following[1].lower() if following else "") if roller else rest
    if name == "lookup":
        return looked_up(rest, scope.doer, before)
    return formulas.shown(rest if name == "calc" else body, scope.values)


def _formula(arguments: Arguments, scope: Scope, _: str) -> str | None:
    return formulas.shown(" ".join(arguments.words), scope.values)


def _attack(arguments: Arguments, scope: Scope, _: str) -> str | None:
    given = next((word for word in arguments.words if re.fullmatch(r"[+-]?\d{1,3}", word)), "")
    if given:
        return f"{int(given):+d}" if scope.doer.rules == "2024" else f"{int(given):+d} to hit"
    activity = _activity(arguments, scope, "attack")
    if activity is None:
        return None
    if _is_extended(arguments):
        return rolls.attack_sentence(scope.doer, activity)
    return rolls.to_hit(scope.doer, activity)


def _activity(arguments: Arguments, scope: Scope, *types: str) -> Activity | None:
    return scope.doer.activity(arguments.options.get("activity", ""), *types)


def _is_extended(arguments: Arguments) -> bool:
    return "extended" in arguments.options or arguments.options.get("format") == "extended"


def _damage(arguments: Arguments, scope: Scope, following: str) -> str | None:
    extended = _is_extended(arguments)
    with_average = extended or "average" in arguments.options or arguments.options.get("format") == "long"
    capitals = scope.doer.rules == "2024"
    versatile = not {"versatile", "twohanded"}.isdisjoint(arguments.options)
    given = _given_roll(arguments, scope)
    if given:
        phrase = given.as_text(with_average=with_average, capitals=capitals)
        return _with_noun(phrase, "damage", following, has_type=bool(given.types))
    activity = _activity(arguments, scope, "attack", "save", "savingThrow", "damage", "check")
    found = rolls.damage(scope.doer, activity, versatile=versatile) if activity else []
    if not found:
        return None
    phrase = rolls.damage_text(found, with_average=with_average, capitals=capitals)
    phrase = _with_noun(phrase, "damage", following, has_type=bool(found[-1].types))
    return f"*Hit:* {phrase}" if extended else phrase


def _with_noun(phrase: str, noun: str, following: str, *, has_type: bool) -> str:
    """A phrase with its noun, unless the text goes on with it or has it in other words."""
    goes_on = following.split(" ")[0] == noun.split(" ")[0] or not has_type
    return phrase if goes_on else f"{phrase} {noun}"


def _given_roll(arguments: Arguments, scope: Scope) -> rolls.Roll | None:
    """The roll that a mark itself gives: ``1d4 slashing``, ``10 type=fire``."""
    types = [word.lower() for word in arguments.words if word.lower() in DAMAGE_TYPES]
    types += [name.strip().lower() for name in re.split(r"[/,|]", arguments.options.get("type", "")) if name.strip()]
    source = " ".join(word for word in arguments.words if word.lower() not in (*DAMAGE_TYPES, "and", "or", "healing"))
    source = source or arguments.options.get("formula", "")
    if not re.search(r"\d|@", source):
        return None
    formula = formulas.shown(source, scope.values)
    return rolls.Roll(formula, formulas.average_of(formula), tuple(types))


def _hit_points(doer: Doer) -> str:
    if doer.is_black_flag:
        return "HP"
    return "Hit Points" if doer.rules == "2024" else "hit points"


def _healing(arguments: Arguments, scope: Scope, following: str) -> str | None:
    with_average = "average" in arguments.options or arguments.options.get("format") in ("long", "extended")
    activity = _activity(arguments, scope, "heal", "healing")
    roll = _given_roll(arguments, scope) or (rolls.healing(scope.doer, activity) if activity else None)
    if roll is None:
        return None
    points = _hit_points(scope.doer)
    temporary = not {"temp", "temporary"}.isdisjoint(arguments.options) or "temphp" in roll.types
    noun = f"temporary {points}" if temporary else points
    phrase = replace(roll, types=()).as_text(with_average=with_average)
    said = following.startswith(("hit point", "hp", "temporary", "additional"))
    return phrase if said else f"{phrase} {noun}"


def _save(arguments: Arguments, scope: Scope, following: str) -> str | None:
    abilities, dc = _abilities(arguments), _dc(arguments, scope)
    activity = _activity(arguments, scope, "save", "savingThrow")
    if activity and not abilities:
        abilities = rolls.save_abilities(activity)
        dc = dc or rolls.save_dc(scope.doer, activity)
    if not abilities:
        return None
    short = scope.doer.is_black_flag
    noun = "save" if short else "saving throw"
    named = [name[:3].upper() if short else name.capitalize() for name in abilities]
    phrase = spaced(f"DC {dc}" if dc else "", " or ".join(named))
    is_long = arguments.options.get("format") == "long"
    return f"{phrase} {noun}" if is_long and not following.startswith(("save", "saving")) else phrase


def _abilities(arguments: Arguments) -> list[str]:
    words = [*arguments.words, *re.split(r"[|/,]", arguments.options.get("ability", ""))]
    return list(dict.fromkeys(ABILITY_NAMES[word.lower()] for word in words if word.lower() in ABILITY_NAMES))


def _dc(arguments: Arguments, scope: Scope) -> int | None:
    """The difficulty class that a mark gives; None if it gives none, or one that depends on who is not known."""
    given = arguments.options.get("dc") or next((w for w in arguments.words if _NUMBER.fullmatch(w)), "")
    return formulas.value(given, scope.values)


def _check(arguments: Arguments, scope: Scope, following: str) -> str | None:
    names = [word.strip("()").lower() for word in arguments.words]
    named = [*names, *re.split(r"[|/,]", arguments.options.get("skill", "").lower())]
    skill = next((s for name in named if (s := _skill_name(name))), "")
    tool = next((word for word in (arguments.options.get("tool", ""), *arguments.words) if _TOOL.fullmatch(word)), "")
    abilities = _abilities(arguments) or ([SKILL_ABILITIES[skill]] if skill else [])
    dc = _dc(arguments, scope)
    if not abilities and not tool:
        activity = _activity(arguments, scope, "check")
        abilities = (
            [ABILITY_NAMES[key] for key in [activity.text("check.ability")] if key in ABILITY_NAMES] if activity else []
        )
        dc = dc or (rolls.check_dc(scope.doer, activity) if activity else None)
    short = scope.doer.is_black_flag
    ability = " or ".join(name[:3].upper() if short else name.capitalize() for name in abilities)
    detail = skill.title().replace(" Of ", " of ") if skill else spoken(tool)
    phrase = spaced(f"DC {dc}" if dc else "", ability, f"({detail})" if detail and ability else detail)
    is_long = arguments.options.get("format") == "long"
    return (f"{phrase} check" if is_long and not following.startswith("check") else phrase) or None


def _skill_name(word: str) -> str:
    name = SKILLS.get(word, word.replace("-", " "))
    joined = {key.replace(" ", ""): key for key in SKILL_ABILITIES}
    return joined.get(name.replace(" ", ""), "")


_TOOL = re.compile(r"[a-z]+(?:Tools|Kit|Supplies|Set|Instrument)|thief|[a-z]+-(?:tools|kit|supplies)", re.IGNORECASE)


def _award(arguments: Arguments, _: Scope, __: str) -> str | None:
    coins = [re.sub(r"(?<=\d)(?=[A-Za-z])", " ", word).upper() for word in arguments.words]
    return ", ".join(coins) or None


def _item(arguments: Arguments, scope: Scope, _: str) -> str | None:
    name = " ".join(arguments.words)
    found = scope.item(name)
    if found:
        return text(found, "name")
    document = scope.index.document(name) if "." in name else None
    if document:
        return document.name
    return None if name.startswith(".") else name.split(".")[-1]


ROLLERS: dict[str, Roller] = {
    **dict.fromkeys(("r", "roll", "gmr", "gmroll", "br", "blindroll", "sr", "selfroll", "pr", "publicroll"), _formula),
    "attack": _attack,
    "damage": _damage,
    **dict.fromkeys(("healing", "heal"), _healing),
    **dict.fromkeys(("save", "concentration"), _save),
    **dict.fromkeys(("check", "skill", "tool"), _check),
    "award": _award,
    "item": _item,
}
"""What is put in place of each kind of mark."""
