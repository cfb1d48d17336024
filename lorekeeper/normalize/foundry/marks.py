"""Marks in double brackets, such as ``[[/save con 14]]`` and ``[[lookup @save.dc.value activity=ID]]``, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from lorekeeper.normalize.foundry import formulas, rolls
from lorekeeper.normalize.foundry.documents import Document, Index
from lorekeeper.normalize.foundry.rolls import Activity, Doer
from lorekeeper.normalize.foundry.sheets import NOBODY
from lorekeeper.normalize.foundry.values import (
    Object,
    abilities,
    at,
    number,
    objects,
    skill_of,
    spaced,
    spoken,
    text,
    whole,
    word,
)
from lorekeeper.terms import DAMAGE_TYPES, SKILL_ABILITIES

WORD = re.compile(r'[^\s"=]+="[^"]*"|"[^"]*"|\S+')
_NUMBER = re.compile(r"\d{1,4}")
_AFTER = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+)?)")


@dataclass(frozen=True)
class Scope:
    """Where a text is: what its marks refer to.

    Attributes:
        index: the documents of the import.
        document: the primary document that it is in.
        doer: the item that it describes, and the creature whose it is.
        page: id of the page of the journal that it is on.
        secrets: takes what only the game master may read.
        within: the references whose texts it is being inserted for.
        inserted: how many characters have been inserted into the entry.
    """

    index: Index
    document: Document
    doer: Doer
    page: str = ""
    secrets: list[str] = field(default_factory=list)
    within: tuple[str, ...] = ()
    inserted: list[int] = field(default_factory=lambda: [0])

    @property
    def raw(self) -> Object:
        """The item that it describes."""
        return self.doer.item

    @property
    def system(self) -> Object:
        """What the game system says of the item."""
        return self.doer.system

    def may_insert(self, chars: int, most: int) -> bool:
        """Count what is inserted; whether there was room for it, with at most so many characters in one entry.

        Raises:
            FilterError: too much is inserted into all entries together.
        """
        if self.inserted[0] > most:
            return False
        self.inserted[0] += chars
        self.index.allowance.take(chars)
        return True

    def of_item(self, item: Object) -> Scope:
        """The scope of the text of an item of the same creature."""
        return replace(self, doer=replace(self.doer, item=item))

    def of(self, document: Document) -> Scope:
        """The scope of the text of another document."""
        return replace(self.of_item(document.raw), document=document)

    @property
    def values(self) -> formulas.Values:
        """The numbers that formulas may name: those of the creature, none for a text that is of none."""
        return self.doer.sheet.at if self.doer.sheet.name else formulas.nothing_known

    def item(self, reference: str) -> Object | None:
        """The item of the same creature that a reference such as ``.ID`` means, also by its name."""
        wanted = reference.rpartition(".")[2]
        found = objects(self.document.raw, "items") if wanted else ()
        return next((item for item in found if wanted in (text(item, "_id"), text(item, "name"))), None)


@dataclass(frozen=True)
class Arguments:
    """What a mark says behind its name, and where it stands.

    Attributes:
        words: without those that are options.
        options: by name, in lower case; ``average`` and the like are true by themselves.
        scope: of the text.
        following: the words behind it, in lower case.
    """

    words: list[str]
    options: dict[str, str]
    scope: Scope
    following: str

    @classmethod
    def of(cls, source: str, scope: Scope, following: str) -> Arguments:
        """The words of a mark."""
        words: list[str] = []
        options: dict[str, str] = {}
        for each in WORD.findall(source):
            name, equals, value = each.partition("=")
            if equals:
                options[name.lower()] = value.strip('"')
            elif each.lower() in _FLAGS:
                options[each.lower()] = "true"
            else:
                words.append(each.strip('"'))
        return cls(words, options, scope, following)

    def is_set(self, *flags: str) -> bool:
        """Whether one of some flags or formats is set."""
        return not {*self.options, self.options.get("format")}.isdisjoint(flags)

    def parts(self, option: str) -> list[str]:
        """The values of an option."""
        return [part.strip().lower() for part in re.split(r"[/,|]", self.options.get(option, "")) if part.strip()]

    def activity(self, *types: str) -> Activity | None:
        """The activity that it names, else the first of these types."""
        return self.scope.doer.activity(self.options.get("activity", ""), *types)

    def abilities(self) -> list[str]:
        """The abilities that it names."""
        return abilities([each.lower() for each in (*self.words, *self.parts("ability"))])

    def ended(self, phrase: str, noun: str, *begins: str) -> str:
        """A phrase with its noun, unless the text goes on with it, or in words that begin so."""
        return phrase if self.following.startswith(begins) else f"{phrase} {noun}"

    def shown(self, names: Iterable[str]) -> str:
        """Abilities as the game system prints them."""
        short = self.scope.doer.is_black_flag
        return " or ".join(name[:3].upper() if short else name.capitalize() for name in names)

    def dc(self) -> int | None:
        """The difficulty class that it gives; None if it gives none, or one that depends on who is not known."""
        given = self.options.get("dc") or next((each for each in self.words if _NUMBER.fullmatch(each)), "")
        return formulas.value(given, self.scope.values)

    def roll(self) -> rolls.Roll | None:
        """The roll that it gives itself: ``1d4 slashing``, ``10 type=fire``."""
        types = [each.lower() for each in self.words if each.lower() in DAMAGE_TYPES] + self.parts("type")
        no_dice = (*DAMAGE_TYPES, "and", "or", "healing")
        source = " ".join(each for each in self.words if each.lower() not in no_dice) or self.options.get("formula", "")
        if not re.search(r"\d|@", source):
            return None
        formula = formulas.shown(source, self.scope.values)
        return rolls.Roll(formula, formulas.average_of(formula), tuple(types))


_FLAGS = frozenset("average extended temp temporary versatile twohanded passive each max".split())


def rolled(body: str, scope: Scope, before: str, after: str) -> str | None:
    """The words for a mark in double brackets; None if nothing is known."""
    name, _, rest = body.partition(" ")
    if name.startswith("/"):
        roller, following = ROLLERS.get(name[1:].lower()), _AFTER.match(after)
        return roller(Arguments.of(rest, scope, following[1].lower() if following else "")) if roller else rest
    if name == "lookup":
        return looked_up(rest, scope.doer, before)
    return formulas.shown(rest if name == "calc" else body, scope.values)


def _formula(mark: Arguments) -> str:
    return formulas.shown(" ".join(mark.words), mark.scope.values)


def _attack(mark: Arguments) -> str | None:
    doer = mark.scope.doer
    if given := next((each for each in mark.words if re.fullmatch(r"[+-]?\d{1,3}", each)), ""):
        return rolls.hits(doer, int(given))
    activity = mark.activity("attack")
    if activity is None:
        return None
    return rolls.attack_sentence(activity) if mark.is_set("extended") else rolls.to_hit(activity)


def _damage(mark: Arguments) -> str | None:
    doer, given = mark.scope.doer, mark.roll()
    activity = mark.activity("attack", "save", "savingThrow", "damage", "check")
    found = [given] if given else []
    if activity and not given:
        found = rolls.damage(activity, versatile=mark.is_set("versatile", "twohanded"))
    if not found:
        return None
    with_average = mark.is_set("extended", "average") or mark.options.get("format") == "long"
    phrase = rolls.damage_text(found, with_average=with_average, capitals=doer.is_new)
    phrase = mark.ended(phrase, "damage", "damage") if found[-1].types else phrase
    return f"*Hit:* {phrase}" if mark.is_set("extended") and not given else phrase


def _healing(mark: Arguments) -> str | None:
    doer, activity = mark.scope.doer, mark.activity("heal", "healing")
    roll = mark.roll() or (rolls.healing(activity) if activity else None)
    if roll is None:
        return None
    points = "Hit Points" if doer.is_new else "hit points"
    is_temporary = mark.is_set("temp", "temporary") or "temphp" in roll.types
    noun = f"{'temporary ' if is_temporary else ''}{'HP' if doer.is_black_flag else points}"
    phrase = replace(roll, types=()).as_text(with_average=mark.is_set("average", "long", "extended"))
    return mark.ended(phrase, noun, "hit point", "hp", "temporary", "additional")


def _save(mark: Arguments) -> str | None:
    named, dc, activity = mark.abilities(), mark.dc(), mark.activity("save", "savingThrow")
    if activity and not named:
        named, dc = rolls.save_abilities(activity), dc or rolls.save_dc(activity)
    if not named:
        return None
    phrase = spaced(f"DC {dc}" if dc else "", mark.shown(named))
    noun = "save" if mark.scope.doer.is_black_flag else "saving throw"
    return mark.ended(phrase, noun, "save", "saving") if mark.options.get("format") == "long" else phrase


def _check(mark: Arguments) -> str | None:
    names = [*(each.strip("()").lower() for each in mark.words), *mark.parts("skill")]
    skill = next(filter(None, map(_skill, names)), "")
    tool = next((each for each in (mark.options.get("tool", ""), *mark.words) if _TOOL.fullmatch(each)), "")
    named, dc = mark.abilities() or ([SKILL_ABILITIES[skill]] if skill else []), mark.dc()
    activity = mark.activity("check")
    if activity and not named and not tool:
        named, dc = abilities([activity.text("check.ability")]), dc or rolls.check_dc(activity)
    ability, detail = mark.shown(named), skill.title().replace(" Of ", " of ") if skill else spoken(tool)
    phrase = spaced(f"DC {dc}" if dc else "", ability, f"({detail})" if detail and ability else detail)
    return (mark.ended(phrase, "check", "check") if mark.options.get("format") == "long" else phrase) or None


def _skill(name: str) -> str:
    joined = {key.replace(" ", ""): key for key in SKILL_ABILITIES}
    return joined.get(skill_of(name).replace(" ", ""), "")


_TOOL = re.compile(r"[a-z]+(?:Tools|Kit|Supplies|Set|Instrument)|thief|[a-z]+-(?:tools|kit|supplies)", re.IGNORECASE)


def _award(mark: Arguments) -> str | None:
    coins = (re.sub(r"(?<=\d)(?=[A-Za-z])", " ", each).upper() for each in mark.words)
    return ", ".join(coins) or None


def _item(mark: Arguments) -> str | None:
    name = " ".join(mark.words)
    if found := mark.scope.item(name):
        return text(found, "name")
    document = mark.scope.index.document(name) if "." in name else None
    other = None if name.startswith(".") else name.split(".")[-1]
    return document.name if document else other


ROLLERS: dict[str, Callable[[Arguments], str | None]] = {
    **dict.fromkeys("r roll gmr gmroll br blindroll sr selfroll pr publicroll".split(), _formula),
    "attack": _attack,
    "damage": _damage,
    **dict.fromkeys(("healing", "heal"), _healing),
    **dict.fromkeys(("save", "concentration"), _save),
    **dict.fromkeys(("check", "skill", "tool"), _check),
    "award": _award,
    "item": _item,
}
"""What is put in place of each kind of mark."""


# --- values by their paths ---------------------------------------------------------------------------------------------

_CASES: dict[str, Callable[[str], str]] = {
    "lowercase": str.lower,
    "uppercase": str.upper,
    "capitalize": lambda found: found[:1].upper() + found[1:],
}


def looked_up(source: str, doer: Doer, before: str) -> str | None:
    """The words for a path, None if nothing is known of it; ``before`` is the text before it."""
    words = source.split()
    path = next((each[1:] for each in words if each.startswith("@")), "")
    identifier = next((each.partition("=")[2] for each in words if each.startswith("activity=")), "")
    activity = doer.activity(identifier) if identifier else next(iter(doer.activities), None)
    found = _value(path, doer, activity if identifier or path.startswith("labels") else None)
    if (
        path.endswith(".units") and found in word["lengths"]
    ):  # whole where a hyphen joins it to its number, as in "30-foot"
        unit = word("lengths", found)
        plain = "ft" if unit == "foot" else found
        found = unit if before.endswith("-") else plain
    for each in words:
        found = _CASES.get(each, str)(found)
    return found or None


def _value(path: str, doer: Doer, activity: Activity | None) -> str:
    match path:
        case "name":
            return doer.sheet.name or text(doer.item, "name")
        case "resources.legact.label":
            return legendary(doer.sheet.system)
        case "initiative":
            return text(doer.sheet.system, "initiative") or "20"
        case "item.level":
            return text(doer.system, "level")
        case "labels.reach":
            return rolls.reach_of(doer, activity)
        case "labels.range":
            return rolls.range_of(doer, activity)
        case "labels.description.affects":
            return affected(doer.system)
        case "labels.description.template":
            return template(doer.system)
    if activity:
        return _of_activity(path, doer, activity)
    found = None if doer.sheet is NOBODY else doer.sheet.at(path)
    return text(found) if found is not None else text(doer.system, path)


def _of_activity(path: str, doer: Doer, activity: Activity) -> str:
    match path:
        case "save.dc.value" | "save.dc":
            return text(rolls.save_dc(activity))
        case "healing.formula":
            roll = rolls.healing(activity)
            return roll.formula if roll else ""
        case "damage.onSave":
            return word("saved", activity.text(path))
        case "target.affects.labels.statblock" | "target.affects.labels.sheet":
            return affected(activity.raw)
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


def affected(system: Object) -> str:
    """Whom something affects: "one creature", "each creature"."""
    kind = spoken(text(system, "target.affects.type"))
    kind = "target" if kind in ("", "any") else kind
    count = number(system, "target.affects.count")
    if not count:
        return f"each {kind}"
    return f"one {kind}" if count == 1 else f"up to {count} {kind}s"


def template(system: Object) -> str:
    """The area of something: "20-foot-radius Sphere"; "" if it lacks a size that this shape has."""
    sizes = {key: text(system, f"target.template.{key}") for key in ("size", "width", "height")}
    form = word("areas", text(system, "target.template.type"), "")
    return form.format(**sizes) if all(sizes[key] for key in re.findall(r"\{(\w+)\}", form)) else ""
