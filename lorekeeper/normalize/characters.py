"""Characters: the record that every reader makes of one, what follows from it by the rules, and its entity.

The data of a character are those of its filter fields under their names, and these besides, as homebrew may state them too:

* ``class_levels``: a list of ``{"name", "level", "subclass"}``
* ``rules``: "2014" or "2024"
* ``ability_scores``: by the ability's name; ``saving_throws``: bonuses by the same; ``trained_saves``: names of abilities
* ``skill_bonuses``: by the skill's name; ``expertise``: names of skills
* ``spells``: a list of ``{"name", "level", "prepared", "caster", "granted"}``, cantrips of level 0: ``caster`` is the class whose
  spell it is, ``granted`` says that it did not choose it; ``slots``: numbers by spell level
* ``scales``: what grows with levels, by its name, as ``{"Sneak Attack": "3d6"}``
* ``inventory``: a list of ``{"name", "quantity", "equipped", "attuned"}``
* ``modified``: when it was changed, as in "2026-11-26T20:15:00Z"
* ``derived``: names of the values that the source does not state, and that follow from what it states
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from lorekeeper.audience import DM
from lorekeeper.entities import AUDIENCE, MAX_MANY, Entity
from lorekeeper.folding import fold, fold_class
from lorekeeper.normalize.build import Origin, build, readable, without_empty
from lorekeeper.normalize.formulas import modifier, proficiency
from lorekeeper.normalize.foundry.values import mapping, number, objects, text, texts, whole
from lorekeeper.normalize.reading import Words, paragraphs
from lorekeeper.records.values import COINS
from lorekeeper.terms import ABILITIES, ABILITY_OF, MAX_LEVEL, PASSIVES, SKILL_ABILITIES

CHARACTER, COMPANION = "character", "companion"

DOCUMENT, DOCUMENT_NAME = "characters", "Characters"
"""The document of characters that are read from files of their own, whatever program wrote these."""

word = Words(__file__)


def told(desc: str, sheet: Mapping[str, Any], plain: Callable[[str], str]) -> str:
    """The description of a character and, under their labels, what else its player has written about it.

    Args:
        desc: its life.
        sheet: has keys of the table of what players tell.
        plain: turns a text of the sheet into Markdown.
    """
    said = (
        (label, plain(value).strip()) for key, label in word["told"].items() if isinstance(value := sheet.get(key), str)
    )
    lines = (f"**{label}.** {written}" for label, written in said if written and written not in desc)
    return paragraphs(desc, *lines)


FULL, HALF, PACT = "full", "half", "pact"


@dataclass(frozen=True)
class CasterClass:
    """What a class of the SRD brings that numbers of a sheet depend on.

    Attributes:
        saves: abilities of the saving throws that it is proficient in.
        casting: ability that it casts with, "" for none.
        slots: how its levels count for spell slots, "" for none.
        prepares: whether it chooses its spells anew each day under the rules of 2014.
    """

    saves: Sequence[str]
    casting: str = ""
    slots: str = ""
    prepares: bool = True


def class_of(name: str) -> CasterClass | None:
    """The class of the SRD that has a name."""
    found = word["classes"].get(fold_class(name))
    return CasterClass(**found) if found else None


@dataclass(frozen=True)
class ClassLevel:
    """Levels in a class; ``subclass`` is "" for none."""

    name: str
    level: int | None = None
    subclass: str = ""


@dataclass(frozen=True)
class Spell:
    """A spell of a character.

    Attributes:
        name: as its source has it.
        level: 0 for a cantrip; None if unknown.
        prepared: whether it can be cast now; None if the source does not say.
        caster: the class whose spell it is; "" if the source does not say.
        granted: whether it is always ready, whatever the character chose: of a subclass, a feat, an item.
    """

    name: str
    level: int | None = None
    prepared: bool | None = None
    caster: str = ""
    granted: bool | None = None


@dataclass(frozen=True)
class Held:
    """An item of a character; flags are None if the source does not say."""

    name: str
    quantity: int | None = None
    equipped: bool | None = None
    attuned: bool | None = None


@dataclass(frozen=True)
class Character:
    """A character as its source states it: None, "" or empty for what is not stated. Distances are in feet, coins in gp."""

    name: str
    kind: str = CHARACTER
    player: str = ""
    rules: str = ""
    class_levels: Sequence[ClassLevel] = ()
    level: int | None = None
    race: str = ""
    background: str = ""
    alignment: str = ""
    armor_class: int | None = None
    hit_points: int | None = None
    hit_points_now: int | None = None
    speeds: Mapping[str, float] = field(default_factory=dict)
    senses: Mapping[str, float] = field(default_factory=dict)
    ability_scores: Mapping[str, int] = field(default_factory=dict)
    trained_saves: Sequence[str] = ()
    saving_throws: Mapping[str, int] = field(default_factory=dict)
    skills: Sequence[str] | None = None
    expertise: Sequence[str] = ()
    skill_bonuses: Mapping[str, int] = field(default_factory=dict)
    passives: Mapping[str, int] = field(default_factory=dict)
    languages: Sequence[str] = ()
    resistant: Sequence[str] = ()
    immune: Sequence[str] = ()
    spells: Sequence[Spell] = ()
    slots: Mapping[str, int] = field(default_factory=dict)
    spell_dc: int | None = None
    features: Sequence[str] = ()
    scales: Mapping[str, str] = field(default_factory=dict)
    inventory: Sequence[Held] = ()
    conditions: Sequence[str] = ()
    gold: float | None = None
    desc: str = ""
    modified: str = ""
    derived: Sequence[str] = ()

    def as_data(self) -> dict[str, Any]:
        """What `completed` makes the data of its entity of: without what is not stated."""
        parts = asdict(self)
        for name in ("class_levels", "spells", "inventory"):
            parts[name] = [without_empty(each) for each in parts[name]]
        parts["trained_in_none"] = True if self.skills is not None and not self.skills else None
        del parts["kind"]
        return without_empty({k: list(v) if isinstance(v, tuple) else v for k, v in parts.items()})


def gold_of(coins: object) -> float | None:
    """What coins are worth in gp; None without any."""
    found = [worth * many for coin, worth in COINS.items() if (many := number(coins, coin)) is not None]
    return round(sum(found), 2) if found else None


# --- what follows by the rules ---------------------------------------------------------------------------------------


def written_at(seconds: float) -> str:
    """A time, given in seconds since 1970, as the data of characters have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def completed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a character with what follows from them by the rules, as far as they do not state it.

    The names of what was added are in ``derived``. Nothing is taken to be as usual: without scores there are no saves.
    """
    given = {key: value for key, value in data.items() if value is not None}
    for parts, name in (("speeds", "speed_{}"), ("senses", "{}"), ("passives", "passive_{}")):
        given = {**{name.format(k): v for k, v in mapping(given.pop(parts, None)).items()}, **given}
    sheet = _Sheet(given)
    _classes(sheet)
    _spells(sheet)
    held = objects(given, "inventory")
    sheet.copy("items", list(dict.fromkeys(text(each, "name") for each in held)))
    sheet.copy("attuned", [text(each, "name") for each in held if each.get("attuned") is True])
    sheet.add("scales", growing(objects(given, "class_levels"), text(given, "rules")))
    most, now, level = (whole(given, name) for name in ("hit_points", "hit_points_now", "level"))
    if most is not None and now is not None:
        sheet.copy("hit_points_lost", max(0, most - now))
    if level is not None and 1 <= level <= MAX_LEVEL:
        bonus = proficiency(level)
        sheet.add("proficiency_bonus", bonus)
        _saves(sheet, bonus)
        _skills(sheet, bonus)
        _casting(sheet, bonus)
    for skill in PASSIVES:
        if (total := whole(mapping(given, "skill_bonuses").get(skill))) is not None:
            sheet.add(f"passive_{skill}", 10 + total)
    for ability in ABILITIES:
        sheet.copy(f"save_{ability}", whole(given, f"saving_throws.{ability}"))
    return given


@dataclass(frozen=True)
class _Sheet:
    """The data of a character in the making."""

    data: dict[str, Any]

    def copy(self, name: str, value: object) -> bool:
        """Keep what says the same as something that is there; whether it is new."""
        is_new = name not in self.data and value not in (None, "", [], {})
        if is_new:
            self.data[name] = value
        return is_new

    def add(self, name: str, value: object) -> None:
        """Keep what follows from something that is there, and that its source does not state."""
        if self.copy(name, value):
            self.data["derived"] = list(dict.fromkeys([*texts(self.data, "derived"), name]))

    @property
    def classes(self) -> list[str]:
        """The names of its classes."""
        return [text(each, "name") for each in objects(self.data, "class_levels")] or texts(self.data, "classes")

    @property
    def modifiers(self) -> dict[str, int]:
        """Those of its scores."""
        scores = {ability: whole(self.data, f"ability_scores.{ability}") for ability in ABILITIES}
        return {ability: modifier(score) for ability, score in scores.items() if score is not None}


def _classes(sheet: _Sheet) -> None:
    levels, names = objects(sheet.data, "class_levels"), texts(sheet.data, "classes")
    if not levels and len(names) == 1:  # homebrew with a class and a level
        levels = [without_empty({"name": names[0], "level": whole(sheet.data, "level")})]
        sheet.copy("class_levels", levels)
    sheet.copy("classes", [text(each, "name") for each in levels])
    sheet.copy("subclasses", [told for each in levels if (told := text(each, "subclass"))])
    found = [whole(each, "level") for each in levels]
    if found and None not in found:
        sheet.copy("level", sum(each or 0 for each in found))


def _spells(sheet: _Sheet) -> None:
    """What can be cast now: what is prepared, cantrips, and all that a class knows which need not prepare.

    Not prepared is only a spell of a class that prepares some. Of others that are not marked nobody knows.
    """
    spells = objects(sheet.data, "spells") or _of_names(texts(sheet.data, "known"), texts(sheet.data, "prepared"))
    casters = [name for name in sheet.classes if (kind := class_of(name)) and kind.slots] or sheet.classes
    answers = {_prepares(name, spells) for name in casters}
    unsaid = answers.pop() if len(answers) == 1 else None
    told = []
    for each in spells:
        prepares = _prepares(text(each, "caster"), spells) if each.get("caster") else unsaid
        ready = each.get("prepared") is True or prepares is False or (prepares and whole(each, "level") == 0)
        told.append(without_empty({**each, "prepared": True if ready else prepares and False}))
    if told:
        sheet.data["spells"] = told
    sheet.copy("prepared", [text(each, "name") for each in told if each.get("prepared")])
    sheet.copy("known", [text(each, "name") for each in told] or texts(sheet.data, "prepared"))


def _of_names(known: Sequence[str], prepared: Sequence[str]) -> list[Mapping[str, Any]]:
    """The spells of a source that names them, and those of them that are prepared, if it says both."""
    ready = set(map(fold, prepared))
    return [{"name": name, "prepared": fold(name) in ready} for name in known] if ready else []


def _prepares(caster: str, spells: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether a class prepares its spells: if it may, and some that it chose are marked; None if nothing says so."""
    known = class_of(caster)
    if known and not (known.slots and known.prepares):
        return False
    marked = any(
        each.get("prepared") is True
        and whole(each, "level") != 0
        and not each.get("granted")
        and fold_class(text(each, "caster")) in ("", fold_class(caster))
        for each in spells
    )
    return marked or None


def _saves(sheet: _Sheet, bonus: int) -> None:
    first = class_of(sheet.classes[0]) if len(texts(sheet.data, "classes")) == 1 else None
    trained = texts(sheet.data, "trained_saves") or (first.saves if first else ())
    modifiers, stated = sheet.modifiers, mapping(sheet.data, "saving_throws")
    if trained and modifiers and not modifiers.keys() <= stated.keys():
        folded = {ABILITY_OF.get(fold(each)[:3], "") for each in trained}
        sheet.data.pop("saving_throws", None)
        sheet.add("saving_throws", {a: m + (bonus if a in folded else 0) for a, m in modifiers.items()} | {**stated})


def _skills(sheet: _Sheet, bonus: int) -> None:
    """The bonuses of all skills, if the source says in which ones the character is proficient; else of those with expertise."""
    data, modifiers = sheet.data, sheet.modifiers
    expert = set(map(fold, texts(data, "expertise")))
    trained = set(map(fold, texts(data, "skills"))) | expert
    known = data.get("skills") is not None or data.get("trained_in_none")
    stated = {fold(name): total for name, total in mapping(data, "skill_bonuses").items()}
    found = {
        skill: modifiers[ability] + bonus * ((skill in trained) + (skill in expert))
        for skill, ability in SKILL_ABILITIES.items()
        if ability in modifiers and (known or skill in expert)
    }
    if found and not stated:
        sheet.add("skill_bonuses", found)
    elif stated and (total := found.get("perception")) is not None and "perception" not in stated:
        sheet.add("passive_perception", 10 + total)


def _casting(sheet: _Sheet, bonus: int) -> None:
    levels = objects(sheet.data, "class_levels")
    known = [(class_of(text(each, "name")), whole(each, "level") or 0) for each in levels]
    casters = [(kind, level) for kind, level in known if kind is not None and kind.slots]
    sheet.add("slots", slots([(kind.slots, level) for kind, level in casters], text(sheet.data, "rules")))
    if sheet.data.get("slots") and len(casters) == 1 and casters[0][0].casting in sheet.modifiers:
        sheet.add("spell_dc", 8 + bonus + sheet.modifiers[casters[0][0].casting])


def slots(casters: Iterable[tuple[str, int]], rules: str = "") -> dict[str, int]:
    """Spell slots by spell level, of levels in classes by how these count (SRD 5.1, "Multiclassing"; "Pact Magic")."""
    counted = list(casters)
    alone = len([how for how, _ in counted if how != PACT]) == 1
    levels = {FULL: 0, HALF: 0, PACT: 0}
    for how, level in counted:  # a half-caster alone rounds up from its second level on, and in 2024 always
        rounds_up = rules == "2024" or (alone and level > 1)
        levels[how] += level if how != HALF else (level + rounds_up) // 2
    caster, pact = levels[FULL] + levels[HALF], min(levels[PACT], MAX_LEVEL)
    numbers = word["slots"]["full"][min(caster, MAX_LEVEL) - 1].split() if caster else ()
    found = {str(level): int(number) for level, number in enumerate(numbers, 1)}
    if pact:
        key = str(min(5, (pact + 1) // 2))
        found[key] = found.get(key, 0) + 1 + sum(pact >= gained for gained in (2, 11, 17))
    return found


def growing(levels: Iterable[Mapping[str, Any]], rules: str = "") -> dict[str, str]:
    """What grows with levels in classes of the SRD, by its name: "Sneak Attack" of a rogue of level 7 is "4d6".

    Where the tables of 2014 and 2024 differ and the rules are unknown, it is left out.
    """
    tables = [word[f"growing by the rules of {rules}"] if rules in ("2014", "2024") else {}, word["growing"]]
    found: dict[str, str] = {}
    for each in levels:
        level, name = min(whole(each, "level") or 0, MAX_LEVEL), fold_class(text(each, "name"))
        if level > 0:
            found |= {what: said[level - 1] for table in tables for what, said in table.get(name, {}).items()}
    return {what: said for what, said in found.items() if said}


# --- entities --------------------------------------------------------------------------------------------------------


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The filter values of a character's completed data, each that a filter can hold."""
    values = {**data, AUDIENCE: None}
    if data.get("expertise"):
        values["skills"] = list(dict.fromkeys([*texts(data, "skills"), *texts(data, "expertise")]))
    held = {name: value[:MAX_MANY] if isinstance(value, list) else value for name, value in values.items()}
    return readable("characters", held, lambda _: None)


def is_sheet(character: Entity) -> bool:
    """Whether the source of a character is a sheet, with ability scores."""
    return bool(character.data.get("ability_scores"))


def audience_of(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Who may see a character that says nothing of it: its player, and whoever plays a character of that name.

    The game master sees everything; nobody else does if there are no such people. What stands in brackets behind a name, as in
    "Zanna (Gnome Wizard)", is no part of it here.
    """
    people = [text(data, "player"), text(data, "owner"), name, name.partition("(")[0].strip()]
    return tuple(sorted({person for person in people if fold(person)})) or (DM,)


def entity(
    character: Character,
    origin: Origin,
    *,
    slug: str | None = None,
    audience: Sequence[str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Entity:
    """The entity of a character.

    Args:
        character: as its source states it.
        origin: its source and document.
        slug: made from the name by default.
        audience: who may see it, () for everybody; by default as `audience_of` says.
        more: further data, such as where it is from.

    Raises:
        FilterError: it cannot be stored; the message says why.
    """
    data = completed({**character.as_data(), **(more or {})})
    who = audience_of(data, character.name) if audience is None else audience
    return build(
        "characters",
        data,
        origin,
        name=character.name,
        kind=character.kind,
        slug=slug,
        fields={**fields_of(data), AUDIENCE: tuple(who) or None},
    )
