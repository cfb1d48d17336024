"""The modes of ``_mod`` that change a stat block as a whole: senses, saves, skills, spells, attack bonuses and the like."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping

from lorekeeper.errors import FilterError
from lorekeeper.normalize.fivetools.values import listed, mapping, number, objects, text
from lorekeeper.printable import shown
from lorekeeper.terms import ABILITY_OF

Object = Mapping[str, object]
Draft = dict[str, object]

SKILLS = {
    "acrobatics": "dex",
    "animal handling": "wis",
    "arcana": "int",
    "athletics": "str",
    "deception": "cha",
    "history": "int",
    "insight": "wis",
    "intimidation": "cha",
    "investigation": "int",
    "medicine": "wis",
    "nature": "int",
    "perception": "wis",
    "performance": "cha",
    "persuasion": "cha",
    "religion": "int",
    "sleight of hand": "dex",
    "stealth": "dex",
    "survival": "wis",
}
"""The ability of each skill."""

_SIZES = "FDTSMLHGC"
_RANGE = re.compile(r"(\d{1,6})")


def rating(obj: Object) -> float | None:
    """The challenge rating as a number: 0.25 of "1/4"; None if it is unknown."""
    value = obj.get("cr")
    found = mapping(value).get("cr") if isinstance(value, Mapping) else value
    if isinstance(found, str) and (match := re.fullmatch(r"\s*1/([248])\s*", found)):
        return 1 / int(match[1])
    result = number(found)
    return None if result is None or not 0 <= result <= 40 else result


def proficiency(obj: Object) -> int:
    """The proficiency bonus that a creature has by its challenge rating (SRD 5.1, "Proficiency Bonus")."""
    return max(2, 1 + -(-int(rating(obj) or 0) // 4))


def modifier(obj: Object, code: str) -> int:
    """The modifier of an ability by its score, 0 if it is unknown."""
    score = number(obj.get(code))
    return 0 if score is None else int(score - 10) // 2


def _add_senses(obj: Draft, _: str, operation: Object) -> None:
    senses = [text(sense) for sense in listed(obj.get("senses"))]
    for added in objects(operation.get("senses")):
        kind, reach = text(added.get("type")), number(added.get("range"))
        has = next((at for at, sense in enumerate(senses) if sense.lower().startswith(kind.lower())), None)
        if has is None:
            senses.append(f"{kind} {reach} ft.")
        elif (match := _RANGE.search(senses[has])) and reach is not None and int(match[1]) < reach:
            senses[has] = _RANGE.sub(str(reach), senses[has], count=1)
    obj["senses"] = senses


def _raise(obj: Draft, prop: str, wanted: Iterable[tuple[str, str, object]]) -> None:
    """Bonuses of proficiency (1) or expertise (2), where those that are there are not higher."""
    found = dict(mapping(obj.get(prop)))
    for name, code, level in wanted:
        bonus = modifier(obj, code) + proficiency(obj) * int(number(level) or 1)
        before = number(found.get(name))
        found[name] = f"{bonus if before is None else max(bonus, before):+g}"
    obj[prop] = found


def _add_saves(obj: Draft, _: str, operation: Object) -> None:
    _raise(obj, "save", ((code, code, level) for code, level in mapping(operation.get("saves")).items()))


def _add_all_saves(obj: Draft, _: str, operation: Object) -> None:
    _raise(obj, "save", ((code, code, operation.get("saves")) for code in ABILITY_OF))


def _add_skills(obj: Draft, _: str, operation: Object) -> None:
    wanted = mapping(operation.get("skills")).items()
    _raise(obj, "skill", ((name, SKILLS.get(name.lower(), "int"), level) for name, level in wanted))


def _add_all_skills(obj: Draft, _: str, operation: Object) -> None:
    _raise(obj, "skill", ((name, code, operation.get("skills")) for name, code in SKILLS.items()))


# --- spells ----------------------------------------------------------------------------------------------------------

Change = Callable[[list[object], object], list[object]]

_FREQUENCIES = ("daily", "rest", "restLong", "weekly", "monthly", "yearly", "charges", "recharge", "legendary")


def _change_spells(obj: Draft, operation: Object, change: Change) -> None:
    """The first list of spells with those of each level and frequency changed."""
    lists = objects(obj.get("spellcasting"))
    if not lists:
        raise FilterError("it casts no spells")
    trait: Draft = dict(lists[0])
    for key in ("will", "constant", "ritual"):
        if key in operation:
            trait[key] = change(listed(trait.get(key)), operation[key])
    for key in _FREQUENCIES:
        groups = dict(mapping(trait.get(key)))
        for often, wanted in mapping(operation.get(key)).items():
            groups[often] = change(listed(groups.get(often)), wanted)
        trait |= {key: groups} if groups else {}
    levels = dict(mapping(trait.get("spells")))
    for level, wanted in mapping(operation.get("spells")).items():
        before, added = mapping(levels.get(level)), mapping(wanted)
        names = added.get("spells") if added else wanted
        more = {key: value for key, value in added.items() if key != "spells"}
        levels[level] = {**before, **more, "spells": change(listed(before.get("spells")), names)}
    trait |= {"spells": levels} if levels else {}
    obj["spellcasting"] = [trait, *lists[1:]]


def _add_spells(obj: Draft, _: str, operation: Object) -> None:
    _change_spells(
        obj, operation, lambda names, added: [*names, *(name for name in listed(added) if name not in names)]
    )


def _remove_spells(obj: Draft, _: str, operation: Object) -> None:
    _change_spells(obj, operation, lambda names, removed: [name for name in names if name not in listed(removed)])


def _replace_spells(obj: Draft, _: str, operation: Object) -> None:
    def replaced(names: list[object], wanted: object) -> list[object]:
        by_name = {text(each.get("replace")): listed(each.get("with")) for each in objects(wanted)}
        return [new for name in names for new in by_name.get(text(name), [name])]

    _change_spells(obj, operation, replaced)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _add_to_tags(tag: str) -> Callable[[Draft, str, Object], None]:
    """Adds to the numbers of a tag in all texts of a stat block."""
    pattern = re.compile(rf"(\{{@{tag} )([+-]?\d{{1,3}})(?=[|}}])")

    def add(obj: Draft, name: str, operation: Object) -> None:
        by = number(operation.get("scalar"))
        if by is None:
            raise FilterError("its scalar must be a number")
        for key in list(obj) if name == "_" else [name]:
            obj[key] = _tags_changed(
                obj.get(key), lambda words: pattern.sub(lambda m: f"{m[1]}{int(m[2]) + int(by)}", words)
            )

    return add


def _tags_changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_tags_changed(item, change) for item in value]
    if isinstance(value, Mapping):
        return {key: _tags_changed(item, change) for key, item in value.items()}
    return value


def _most_size(obj: Draft, _: str, operation: Object) -> None:
    most = text(operation.get("max"))
    if most not in _SIZES or not most:
        raise FilterError(f"{shown(most, 20)} is not a size")
    kept = [
        size
        for size in map(text, listed(obj.get("size")))
        if size in _SIZES and _SIZES.index(size) <= _SIZES.index(most)
    ]
    obj["size"] = kept or [most]


def _multiply_points(obj: Draft, _: str, operation: Object) -> None:
    by, points = number(operation.get("scalar")), number(mapping(obj.get("cr")).get("xp"))
    if by is None or points is None:
        raise FilterError("it has no experience points of its own, or the scalar is not a number")
    result = points * by
    obj["cr"] = {**mapping(obj["cr"]), "xp": int(result) if operation.get("floor") or result == int(result) else result}


def _calculate(obj: Draft, name: str, operation: Object) -> None:
    """A number from a formula with ``<$prof_bonus$>`` and ``<$dex_mod$>``."""
    formula = text(operation.get("formula"))[:200]
    values = {"prof_bonus": proficiency(obj), **{f"{code}_mod": modifier(obj, code) for code in ABILITY_OF}}
    for variable, value in values.items():
        formula = formula.replace(f"<${variable}$>", str(value))
    result = _value(_parsed(formula))
    part = dict(mapping(obj.get(name))) if name != "_" else obj
    part[text(operation.get("prop"))] = f"{result:+g}"
    obj |= {name: part} if name != "_" else {}


def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FilterError(f"its formula {shown(formula, 60)} cannot be calculated") from error


_CALCULATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _value(node: ast.expr) -> float:
    """The value of sums and products of numbers; FilterError for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATIONS:
            return _CALCULATIONS[type(op)](_value(left), _value(right))
    raise FilterError("its formula is not made of sums and products of numbers")


STAT_MODES: dict[str, Callable[[Draft, str, Object], None]] = {
    "addSenses": _add_senses,
    "addSaves": _add_saves,
    "addAllSaves": _add_all_saves,
    "addSkills": _add_skills,
    "addAllSkills": _add_all_skills,
    "addSpells": _add_spells,
    "replaceSpells": _replace_spells,
    "removeSpells": _remove_spells,
    "scalarAddHit": _add_to_tags("hit"),
    "scalarAddDc": _add_to_tags("dc"),
    "maxSize": _most_size,
    "scalarMultXp": _multiply_points,
    "calculateProp": _calculate,
}
"""These modes."""
