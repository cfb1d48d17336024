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
from lorekeeper.entities import AUDIENCE, COLLECTIONS, MAX_MANY, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold, fold_class
from lorekeeper.normalize.build import Origin, build, without_empty
from lorekeeper.normalize.foundry.values import mapping, objects, text, texts, whole
from lorekeeper.terms import ABILITIES, ABILITY_OF, MAX_LEVEL, PASSIVES, SKILL_ABILITIES

CHARACTER, COMPANION = "character", "companion"

DOCUMENT, DOCUMENT_NAME = "characters", "Characters"
"""The document of characters that are read from files of their own, whatever program wrote these."""

TOLD = {
    "public": "In public",
    "backstory": "Backstory",
    "appearance": "Appearance",
    "trait": "Personality traits",
    "personality": "Personality traits",
    "personalityTraits": "Personality traits",
    "ideal": "Ideals",
    "ideals": "Ideals",
    "bond": "Bonds",
    "bonds": "Bonds",
    "flaw": "Flaws",
    "flaws": "Flaws",
    "allies": "Allies",
    "organizations": "Organizations",
    "enemies": "Enemies",
    "personalPossessions": "Possessions",
    "otherHoldings": "Holdings",
    "otherNotes": "Notes",
    "faith": "Faith",
    "gender": "Gender",
    "age": "Age",
    "height": "Height",
    "weight": "Weight",
    "eyes": "Eyes",
    "hair": "Hair",
    "skin": "Skin",
}
"""Keys of sheets under which a player tells of a character, and what is printed for them."""


def told(desc: str, sheet: Mapping[str, Any], plain: Callable[[str], str]) -> str:
    """The description of a character and, under their labels, what else its player has written about it.

    Args:
        desc: its life.
        sheet: has the keys of `TOLD`.
        plain: turns a text of the sheet into Markdown.
    """
    said = ((label, plain(value).strip()) for key, label in TOLD.items() if isinstance(value := sheet.get(key), str))
    lines = (f"**{label}.** {written}" for label, written in said if written and written not in desc)
    return "\n\n".join(filter(None, (desc, *lines)))


FULL, HALF, PACT = "full", "half", "pact"


@dataclass(frozen=True)
class CasterClass:
    """What a class of the SRD brings that numbers of a sheet depend on (SRD 5.1 and 5.2, the classes' chapters).

    Attributes:
        saves: abilities of the saving throws that it is proficient in.
        casting: ability that it casts with, "" for none.
        slots: how its levels count for spell slots, "" for none.
        prepares: whether it chooses its spells anew each day under the rules of 2014.
    """

    saves: tuple[str, str]
    casting: str = ""
    slots: str = ""
    prepares: bool = True


CLASSES = {
    "barbarian": CasterClass(("strength", "constitution")),
    "bard": CasterClass(("dexterity", "charisma"), "charisma", FULL, prepares=False),
    "cleric": CasterClass(("wisdom", "charisma"), "wisdom", FULL),
    "druid": CasterClass(("intelligence", "wisdom"), "wisdom", FULL),
    "fighter": CasterClass(("strength", "constitution")),
    "monk": CasterClass(("strength", "dexterity")),
    "paladin": CasterClass(("wisdom", "charisma"), "charisma", HALF),
    "ranger": CasterClass(("strength", "dexterity"), "wisdom", HALF, prepares=False),
    "rogue": CasterClass(("dexterity", "intelligence")),
    "sorcerer": CasterClass(("constitution", "charisma"), "charisma", FULL, prepares=False),
    "warlock": CasterClass(("wisdom", "charisma"), "charisma", PACT, prepares=False),
    "wizard": CasterClass(("intelligence", "wisdom"), "intelligence", FULL),
}
"""The classes of the SRD by their folded names."""

_SLOTS = (
    "2", "3", "4 2", "4 3", "4 3 2", "4 3 3", "4 3 3 1", "4 3 3 2", "4 3 3 3 1", "4 3 3 3 2", "4 3 3 3 2 1", "4 3 3 3 2 1",
    "4 3 3 3 2 1 1", "4 3 3 3 2 1 1", "4 3 3 3 2 1 1 1", "4 3 3 3 2 1 1 1", "4 3 3 3 2 1 1 1 1", "4 3 3 3 3 1 1 1 1",
    "4 3 3 3 3 2 1 1 1", "4 3 3 3 3 2 2 1 1",
)  # fmt: skip
"""Spell slots of each spell level, by the levels of a spellcaster (SRD 5.1, "Multiclassing")."""


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
        """The data of its entity, without what is not stated."""
        parts = asdict(self)
        for name in ("class_levels", "spells", "inventory"):
            parts[name] = [without_empty(each) for each in parts[name]]
        parts |= {f"speed_{kind}": feet for kind, feet in parts.pop("speeds").items()}
        parts |= {f"passive_{skill}": value for skill, value in parts.pop("passives").items()}
        parts |= parts.pop("senses")
        parts["trained_in_none"] = True if self.skills is not None and not self.skills else None
        del parts["kind"]
        return without_empty({k: list(v) if isinstance(v, tuple) else v for k, v in parts.items()})


# --- what follows by the rules ---------------------------------------------------------------------------------------


def written_at(seconds: float) -> str:
    """A time, given in seconds since 1970, as the data of characters have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def modifier(score: int) -> int:
    """The modifier of an ability score."""
    return (score - 10) // 2


def proficiency(level: int) -> int:
    """The proficiency bonus of a character of a level."""
    return 2 + (level - 1) // 4


def completed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a character with what follows from them by the rules, as far as they do not state it.

    The names of what was added are in ``derived``. Nothing is taken to be as usual: without scores there are no saves.
    """
    given = {key: value for key, value in data.items() if value is not None}
    for parts, name in (("speeds", "speed_{}"), ("senses", "{}"), ("passives", "passive_{}")):
        given = {**{name.format(k): v for k, v in mapping(given.pop(parts, None)).items()}, **given}
    added = _Additions(given, [*texts(given.get("derived"))])
    _classes(added)
    _spells(added)
    _items(added)
    added.add("scales", growing(objects(added.get("class_levels")), text(added.get("rules"))))
    most, now = whole(added.get("hit_points")), whole(added.get("hit_points_now"))
    if most is not None and now is not None:
        added.copy("hit_points_lost", max(0, most - now))
    level, scores = whole(added.get("level")), _scores(added)
    bonus = proficiency(level) if level is not None and 1 <= level <= MAX_LEVEL else None
    if bonus is not None:
        added.add("proficiency_bonus", bonus)
        _saves(added, scores, bonus)
        _skills(added, scores, bonus)
        _casting(added, scores, bonus)
    for skill in PASSIVES:
        if (total := whole(mapping(added.get("skill_bonuses")).get(skill))) is not None:
            added.add(f"passive_{skill}", 10 + total)
    for ability in ABILITIES:
        if (total := whole(mapping(added.get("saving_throws")).get(ability))) is not None:
            added.copy(f"save_{ability}", total)
    return added.data


@dataclass
class _Additions:
    """The data of a character in the making, and the names of those that its source does not state."""

    data: dict[str, Any]
    derived: list[str]

    def get(self, name: str) -> Any:
        return self.data.get(name)

    def copy(self, name: str, value: object) -> None:
        """What says the same as something that is there."""
        if name not in self.data and value not in (None, "", [], {}):
            self.data[name] = value

    def add(self, name: str, value: object) -> None:
        """What follows from something that is there."""
        if name not in self.data and value not in (None, "", [], {}):
            self.data[name] = value
            self.derived = list(dict.fromkeys([*self.derived, name]))
            self.data["derived"] = self.derived


def _classes(added: _Additions) -> None:
    levels = objects(added.get("class_levels"))
    names = texts(added.get("classes"))
    if not levels and len(names) == 1:  # homebrew with a class and a level
        level = whole(added.get("level"))
        levels = [without_empty({"name": names[0], "level": level})]
        added.copy("class_levels", levels)
    added.copy("classes", [text(each.get("name")) for each in levels])
    added.copy("subclasses", [told for each in levels if (told := text(each.get("subclass")))])
    found = [whole(each.get("level")) for each in levels]
    if found and None not in found:
        added.copy("level", sum(each or 0 for each in found))


def _spells(added: _Additions) -> None:
    """What can be cast now: what is prepared, cantrips, and all that a class knows which need not prepare.

    Not prepared is only a spell of a class that prepares some. Of others that are not marked nobody knows.
    """
    spells = objects(added.get("spells")) or _of_names(texts(added.get("known")), texts(added.get("prepared")))
    classes = [text(each.get("name")) for each in objects(added.get("class_levels"))] or texts(added.get("classes"))
    casters = [name for name in classes if (kind := CLASSES.get(fold_class(name))) and kind.slots] or classes
    answers = {_prepares(name, spells) for name in casters}
    unsaid = answers.pop() if len(answers) == 1 else None
    told = []
    for each in spells:
        prepares = _prepares(text(each.get("caster")), spells) if each.get("caster") else unsaid
        ready = each.get("prepared") is True or prepares is False or (prepares and whole(each.get("level")) == 0)
        told.append(without_empty({**each, "prepared": True if ready else prepares and False}))
    if told:
        added.data["spells"] = told
    added.copy("prepared", [text(each.get("name")) for each in told if each.get("prepared")])
    added.copy("known", [text(each.get("name")) for each in told] or texts(added.get("prepared")))


def _of_names(known: Sequence[str], prepared: Sequence[str]) -> list[Mapping[str, Any]]:
    """The spells of a source that names them, and those of them that are prepared, if it says both."""
    ready = set(map(fold, prepared))
    return [{"name": name, "prepared": fold(name) in ready} for name in known] if ready else []


def _prepares(caster: str, spells: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether a class prepares its spells: if it may, and some that it chose are marked; None if nothing says so."""
    known = CLASSES.get(fold_class(caster))
    if known and not (known.slots and known.prepares):
        return False
    marked = any(
        each.get("prepared") is True
        and whole(each.get("level")) != 0
        and not each.get("granted")
        and fold_class(text(each.get("caster"))) in ("", fold_class(caster))
        for each in spells
    )
    return marked or None


def _items(added: _Additions) -> None:
    held = objects(added.get("inventory"))
    added.copy("items", list(dict.fromkeys(text(each.get("name")) for each in held)))
    added.copy("attuned", [text(each.get("name")) for each in held if each.get("attuned") is True])


def _scores(added: _Additions) -> dict[str, int]:
    given = mapping(added.get("ability_scores"))
    return {name: score for name in ABILITIES if (score := whole(given.get(name))) is not None}


def _saves(added: _Additions, scores: Mapping[str, int], bonus: int) -> None:
    trained = texts(added.get("trained_saves")) or _saves_of_first_class(added)
    stated = mapping(added.get("saving_throws"))
    if trained and scores and not scores.keys() <= stated.keys():
        folded = {ABILITY_OF.get(fold(each)[:3], "") for each in trained}
        found = {a: modifier(s) + (bonus if a in folded else 0) for a, s in scores.items()}
        added.data.pop("saving_throws", None)
        added.add("saving_throws", {**found, **stated})


def _saves_of_first_class(added: _Additions) -> Sequence[str]:
    first = next(iter(texts(added.get("classes"))), "")
    known = CLASSES.get(fold_class(first))
    return known.saves if known and len(texts(added.get("classes"))) == 1 else ()


def _skills(added: _Additions, scores: Mapping[str, int], bonus: int) -> None:
    """The bonuses of all skills, if the source says in which ones the character is proficient; else of those with expertise."""
    expert = set(map(fold, texts(added.get("expertise"))))
    trained = set(map(fold, texts(added.get("skills")))) | expert
    known = added.get("skills") is not None or added.get("trained_in_none")
    stated = {fold(name): total for name, total in mapping(added.get("skill_bonuses")).items()}
    found = {
        skill: modifier(scores[ability]) + bonus * ((skill in trained) + (skill in expert))
        for skill, ability in SKILL_ABILITIES.items()
        if ability in scores and (known or skill in expert)
    }
    if found and not stated:
        added.add("skill_bonuses", found)
    elif stated and (total := found.get("perception")) is not None and "perception" not in stated:
        added.add("passive_perception", 10 + total)


def _casting(added: _Additions, scores: Mapping[str, int], bonus: int) -> None:
    levels = objects(added.get("class_levels"))
    known = [(CLASSES.get(fold_class(text(each.get("name")))), whole(each.get("level")) or 0) for each in levels]
    casters = [(kind, level) for kind, level in known if kind is not None and kind.slots]
    added.add("slots", slots([(kind.slots, level) for kind, level in casters], text(added.get("rules"))))
    if added.get("slots") and len(casters) == 1 and casters[0][0].casting in scores:
        added.add("spell_dc", 8 + bonus + modifier(scores[casters[0][0].casting]))


def slots(casters: Iterable[tuple[str, int]], rules: str = "") -> dict[str, int]:
    """Spell slots by spell level, of levels in classes by how these count (SRD 5.1, "Multiclassing"; "Pact Magic")."""
    counted = list(casters)
    halves = [level for how, level in counted if how == HALF]
    alone = len([how for how, _ in counted if how != PACT]) == 1
    # a half-caster alone rounds up from its second level on, and in 2024 always
    half = sum((n + 1) // 2 if rules == "2024" or (alone and n > 1) else n // 2 for n in halves)
    caster = sum(level for how, level in counted if how == FULL) + half
    found: dict[str, int] = {}
    if caster:
        for level, number in enumerate(_SLOTS[min(caster, MAX_LEVEL) - 1].split(), 1):
            found[str(level)] = int(number)
    pact = min(sum(level for how, level in counted if how == PACT), MAX_LEVEL)
    if pact:
        key = str(min(5, (pact + 1) // 2))
        found[key] = found.get(key, 0) + 1 + sum(pact >= gained for gained in (2, 11, 17))
    return found


def growing(levels: Iterable[Mapping[str, Any]], rules: str = "") -> dict[str, str]:
    """What grows with levels in classes of the SRD, by its name: "Sneak Attack" of a rogue of level 7 is "4d6".

    Sources: the tables of the classes in SRD 5.1 and 5.2. Where these differ and the rules are unknown, it is left out.
    """
    found: dict[str, str] = {}
    for each in levels:
        level = whole(each.get("level")) or 0
        for name, value in _GROWING.get(fold_class(text(each.get("name"))), {}).items() if level else ():
            if told := value(level, rules):
                found[name] = told
    return found


def _step(level: int, *gained: int) -> int:
    """How many of these levels have been reached."""
    return sum(level >= each for each in gained)


_FIRST_DIE = {"2014": 4, "2024": 6}
"""Sides of a monk's first die of Martial Arts."""

_GROWING: dict[str, dict[str, Callable[[int, str], str]]] = {
    "barbarian": {"Rage Damage": lambda level, _: f"+{2 + _step(level, 9, 16)}"},
    "bard": {"Bardic Inspiration": lambda level, _: f"d{6 + 2 * _step(level, 5, 10, 15)}"},
    "fighter": {"Attacks": lambda level, _: str(1 + _step(level, 5, 11, 20)) if level >= 5 else ""},
    "monk": {
        "Martial Arts": lambda level, rules: (
            f"1d{_FIRST_DIE[rules] + 2 * _step(level, 5, 11, 17)}" if rules in _FIRST_DIE else ""
        ),
        "Unarmored Movement": lambda level, _: f"+{5 + 5 * _step(level, 2, 6, 10, 14, 18)} ft." if level >= 2 else "",
    },
    "paladin": {"Lay on Hands": lambda level, _: f"{5 * level} hit points"},
    "rogue": {"Sneak Attack": lambda level, _: f"{(level + 1) // 2}d6"},
    "sorcerer": {"Sorcery Points": lambda level, _: str(level) if level >= 2 else ""},
}


# --- entities --------------------------------------------------------------------------------------------------------


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The filter values of a character's completed data, each that a filter can hold."""
    fields: dict[str, Any] = {}
    for declared in COLLECTIONS["characters"].fields:
        if declared.name == AUDIENCE:
            continue
        value = data.get(declared.name)
        if declared.name == "skills" and data.get("expertise"):
            value = list(dict.fromkeys([*texts(value), *texts(data["expertise"])]))
        if isinstance(value, list):
            value = value[:MAX_MANY]
        try:
            fields |= clean_fields("characters", {declared.name: value})
        except FilterError:
            continue
    return fields


def is_sheet(character: Entity) -> bool:
    """Whether the source of a character is a sheet, with ability scores."""
    return bool(character.data.get("ability_scores"))


def audience_of(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Who may see a character that says nothing of it: its player, and whoever plays a character of that name.

    The game master sees everything; nobody else does if there are no such people. What stands in brackets behind a name, as in
    "Zanna (Gnome Wizard)", is no part of it here.
    """
    people = [text(data.get("player")), text(data.get("owner")), name, name.partition("(")[0].strip()]
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
