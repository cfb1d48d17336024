"""Values that texts of Foundry VTT name by their path: ``[[lookup @save.dc.value activity=ID]]``."""

from __future__ import annotations

import re
from collections.abc import Callable

from lorekeeper.normalize.foundry import formulas, rolls
from lorekeeper.normalize.foundry.rolls import Activity, Doer
from lorekeeper.normalize.foundry.sheets import NOBODY
from lorekeeper.normalize.foundry.values import Object, at, number, text, whole
from lorekeeper.normalize.foundry.words import LENGTHS, spoken

_SAID = {"half": "half", "none": "no", "full": "full"}


def _capitalized(found: str) -> str:
    return found[:1].upper() + found[1:]


_CASES: dict[str, Callable[[str], str]] = {"lowercase": str.lower, "uppercase": str.upper, "capitalize": _capitalized}


def looked_up(source: str, doer: Doer, before: str) -> str | None:
    """The words for a path, None if nothing is known of it; ``before`` is the text before it."""
    words = source.split()
    path = next((word[1:] for word in words if word.startswith("@")), "")
    identifier = next((word.partition("=")[2] for word in words if word.startswith("activity=")), "")
    activity = doer.activity(identifier) if identifier else next(iter(doer.activities), None)
    found = _value(path, doer, activity if identifier or path.startswith("labels") else None)
    if not found:
        return None
    if path.endswith(".units") and found in LENGTHS:
        found = _unit(found, joined=before.endswith("-"))
    for word in words:
        found = _CASES.get(word, str)(found)
    return found


def _unit(unit: str, *, joined: bool) -> str:
    """The word for a unit of length: whole where a hyphen joins it to its number, as in "30-foot"."""
    if joined:
        return LENGTHS[unit]
    return "ft" if LENGTHS[unit] == "foot" else unit


def _value(path: str, doer: Doer, activity: Activity | None) -> str:
    if path == "name":
        return doer.sheet.name or text(doer.item, "name")
    if path == "resources.legact.label":
        return legendary(doer.sheet.system)
    if path.startswith("labels."):
        return _label(path, doer, activity)
    if path == "initiative":
        return text(doer.sheet.system, "initiative") or "20"
    if path == "item.level":
        return text(doer.system, "level")
    if activity:
        return _of_activity(path, doer, activity)
    found = None if doer.sheet is NOBODY else doer.sheet.at(path)
    return text(found) if found is not None else text(doer.system, path)


def _of_activity(path: str, doer: Doer, activity: Activity) -> str:
    match path:
        case "save.dc.value" | "save.dc":
            return text(rolls.save_dc(doer, activity))
        case "healing.formula":
            roll = rolls.healing(doer, activity)
            return roll.formula if roll else ""
        case "damage.onSave":
            return _SAID.get(activity.text(path), activity.text(path))
        case "target.affects.labels.statblock" | "target.affects.labels.sheet":
            return affected(activity.raw) or affected(doer.system)
    found = activity.at(path)
    found = at(doer.system, path) if found in (None, "", [], {}) else found
    worked_out = formulas.value(text(found), doer.sheet.at) if doer.sheet.name else None
    return text(worked_out if worked_out is not None else found)


def legendary(system: Object) -> str:
    """How many legendary actions a creature has, in a sentence; "" for none."""
    most = whole(system, "resources.legact.max") or whole(system, "attributes.legendary.max")
    if not most:
        return ""
    actions = "legendary action" if most == 1 else "legendary actions"
    return (
        f"It can take {most} {actions} from the options below, one at a time, and only at the end of another creature's turn. "
        "What it has spent comes back at the start of its own turn."
    )


# --- labels ---------------------------------------------------------------------------------------------------------


def _label(path: str, doer: Doer, activity: Activity | None) -> str:
    match path:
        case "labels.reach":
            return rolls.reach_of(doer, activity)
        case "labels.range":
            return rolls.range_of(doer, activity)
        case "labels.description.affects":
            return affected(doer.system)
        case "labels.description.template":
            return template(doer.system)
    return ""


def affected(system: Object) -> str:
    """Whom something affects: "one creature", "each creature"."""
    kind = spoken(text(system, "target.affects.type"))
    kind = {"creature or object": "creature or object", "": "target", "any": "target"}.get(kind, kind)
    count = number(system, "target.affects.count")
    if not count:
        return f"each {kind}"
    return f"one {kind}" if count == 1 else f"up to {count} {kind}s"


_SHAPES = {
    "sphere": "{size}-foot-radius Sphere",
    "radius": "{size}-foot Emanation",
    "emanation": "{size}-foot Emanation",
    "cone": "{size}-foot Cone",
    "cube": "{size}-foot Cube",
    "square": "{size}-foot square",
    "line": "{size}-foot-long, {width}-foot-wide Line",
    "cylinder": "{size}-foot-radius, {height}-foot-high Cylinder",
    "wall": "{size}-foot-long wall",
}


def template(system: Object) -> str:
    """The area of something: "20-foot-radius Sphere"."""
    kind = text(system, "target.template.type")
    sizes = {key: text(system, f"target.template.{key}") for key in ("size", "width", "height")}
    form = _SHAPES.get(kind, "")
    needed = re.findall(r"\{(\w+)\}", form)
    return form.format(**sizes) if form and all(sizes[key] for key in needed) else ""
