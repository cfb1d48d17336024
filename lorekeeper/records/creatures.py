"""Creatures, as their stat blocks have them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lorekeeper.folding import fold
from lorekeeper.records.parts import Attack, Bonuses, Damage, Feature, Figure, Senses, Speed
from lorekeeper.records.values import (
    Object,
    Source,
    amount,
    feet,
    first_number,
    flag,
    is_empty,
    is_true,
    length,
    line,
    local_key,
    local_keys,
    mapping,
    names,
    number,
    stated,
    text,
    text_of,
    title,
    whole,
)
from lorekeeper.repairs.values import MEDIUM_OR_SMALL, believed
from lorekeeper.terms import ABILITIES, MOVEMENTS, SENSES

_POINTS = (
    "25 50 100 200 450 700 1100 1800 2300 2900 3900 5000 5900 7200 8400 10000 11500 13000 15000 18000 20000 22000 25000 33000 "
    "41000 50000 62000 75000 90000 105000 120000 135000 155000"
)

EXPERIENCE: dict[float, int] = dict(zip((0.125, 0.25, 0.5, *range(1, 31)), map(int, _POINTS.split()), strict=True))
"""Experience points by challenge rating (SRD 5.1, "Experience Points by Challenge Rating")."""

TRAIT, ACTION, LEGENDARY = "trait", "action", "legendary action"

KINDS = (
    TRAIT,
    ACTION,
    "bonus action",
    "reaction",
    LEGENDARY,
    "mythic action",
    "lair action",
    "regional effect",
)
"""The kinds of features in the order of a stat block."""

_LISTS = {
    "traits": TRAIT,
    "actions": ACTION,
    "special_abilities": TRAIT,
    **{f"{kind.replace(' ', '_')}s": kind for kind in KINDS[2:]},
}
"""The kinds of features by the keys of their lists, unless a feature says it itself."""

OF_PLACES = frozenset({"lair action", "regional effect"})
"""Features of the place where a creature lives, and not of the creature."""

_INTRODUCTIONS = {LEGENDARY: "legendary_desc", "mythic action": "mythic_desc", "lair action": "lair_desc"}

_USES = {
    "per day": "{0}/Day",
    "recharge on roll": "Recharge {0}–6",
    "recharge": "Recharge {0}–6",
    "recharge after rest": "Recharges after a Short or Long Rest",
}
"""How often something can be used, by the type of limit; with its number."""

_SPEEDS = ("walk", "burrow", "climb", "fly", "swim")
"""Kinds of movement in the order of a stat block."""

_SENSES = ("blindsight", "darkvision", "tremorsense", "truesight")
"""Senses in the order of a stat block."""

_SPEED = re.compile(
    r"(?:\b(walk|fly|swim|climb|burrow)(?:ing)?(?: speed)?(?: of)? )?(\d{1,4}) ?(?:ft|feet|foot|')", re.IGNORECASE
)
_RANGE = r"\b{0} \(?(\d{{1,4}}) ?(ft|feet|foot|miles?|')"
_RANGES = {sense: re.compile(_RANGE.format(sense), re.IGNORECASE) for sense in (*SENSES, "telepathy")}
_PASSIVE = re.compile(r"\bpassive perception (\d{1,2})\b", re.IGNORECASE)
_SPELL_SAVE = re.compile(r"\bspell save DC (\d{1,2})\b", re.IGNORECASE)
_ATTACK = re.compile(r"\b(?:attack roll|to hit)\b", re.IGNORECASE)
_SWARM_NAME = re.compile(r"^swarm\b|swarm\b(?! \w)|\bswarm of\b", re.IGNORECASE)


@dataclass(frozen=True)
class Creature:
    """A creature, as its source says it. "" and None stand for what is not known.

    Attributes:
        size, type, subtype, alignment: as they are printed.
        sizes: one, or the two of "Medium or Small".
        types: the type, the subtypes that a text lists, and "swarm".
        armor: what the armor class comes from.
        hit_dice: "19d12+133".
        initiative: the bonus.
        abilities: scores by ability.
        modifiers: the same of a game that has no scores.
        saves, skills: its bonuses, where they are not those of its abilities.
        forced_saves: abilities of the saving throws that it forces on others, as the source lists them.
        vulnerabilities, resistances, immunities, condition_immunities: the lines of the stat block.
        rating: challenge rating.
        experience: points, where the source has them.
        proficiency: bonus, where the source has it.
        environments: names of them, as values; none of a source that lists none.
        environment: the same as they are printed.
        group: the heading under which a book has it: "Dragons, Chromatic", or "Animals".
        text: what is told of it.
        features: traits, actions and the rest, in the order of the source.
        introductions: what comes before the features of a kind.
        acts: whether it lists something to do; None if its source has no place for that.
    """

    name: str = ""
    size: str = ""
    sizes: tuple[str, ...] = ()
    type: str = ""
    types: tuple[str, ...] = ()
    subtype: str = ""
    alignment: str = ""
    armor_class: Figure = field(default_factory=Figure)
    armor: str = ""
    hit_points: Figure = field(default_factory=Figure)
    hit_dice: str = ""
    initiative: float | None = None
    speed: Speed = field(default_factory=Speed)
    abilities: Mapping[str, float] = field(default_factory=dict)
    modifiers: Mapping[str, float] = field(default_factory=dict)
    saves: Bonuses = field(default_factory=Bonuses)
    forced_saves: tuple[str, ...] = ()
    skills: Bonuses = field(default_factory=Bonuses)
    vulnerabilities: str = ""
    resistances: str = ""
    immunities: str = ""
    condition_immunities: str = ""
    senses: Senses = field(default_factory=Senses)
    languages: str = ""
    rating: Figure = field(default_factory=Figure)
    experience: float | None = None
    proficiency: float | None = None
    environments: tuple[str, ...] | None = None
    environment: str = ""
    group: str = ""
    text: str = ""
    features: tuple[Feature, ...] = ()
    introductions: Mapping[str, str] = field(default_factory=dict)
    acts: bool | None = None

    @property
    def deeds(self) -> tuple[Feature, ...]:
        """Its own features, without those of its lair."""
        return tuple(each for each in self.features if each.kind not in OF_PLACES)

    @property
    def initiative_bonus(self) -> int:
        """What it adds to a d20 for initiative: what its book says, else its Dexterity modifier, else 0."""
        if self.initiative is None and "dexterity" in self.abilities:
            return int((self.abilities["dexterity"] - 10) // 2)
        return int(self.initiative or 0)

    @property
    def spell_save(self) -> str:
        """The DC of saves against its spells, as its book says it; "" if it says none."""
        return next((found[1] for each in self.features if (found := _SPELL_SAVE.search(each.text))), "")

    @property
    def experience_in_lair(self) -> float | None:
        """Those that it is worth in its lair, where its features are more: of one challenge rating more (SRD 5.2.1)."""
        is_more = any("in lair)" in each.name.casefold() for each in self.features)
        return EXPERIENCE.get((self.rating.value or 0) + 1) if is_more else None

    @property
    def experience_points(self) -> float | None:
        """Those that the source has, else those of the challenge rating: at 0, whether it has attacks."""
        if self.experience or self.rating.value:
            return self.experience or EXPERIENCE.get(self.rating.value or 0)
        if any(_ATTACK.search(each.text) for each in self.features):
            return 10
        return 0 if self.features else None

    @property
    def proficiency_bonus(self) -> float:
        """The one that the source has, else that of the challenge rating."""
        return self.proficiency or max(2, 1 + math.ceil((self.rating.value or 0) / 4))


def creature(source: Source) -> Creature:
    """A creature of any source."""
    features = tuple(_features(source))
    forced = source.raw("saves")
    forced_saves = (
        names(forced) if isinstance(forced, list) and {str(e).lower() for e in forced} <= {*ABILITIES} else ()
    )
    environments, size = source.value("environments", "environment"), source.value("size")
    points, dice = _hit_points(source)
    return Creature(
        **stated(source, "creature"),
        name=line(source.peek("name")),
        size=line(size),
        sizes=_sizes(size),
        types=_types(source, features),
        armor_class=figure(source.value("armor_class", "ac")),
        hit_points=points,
        hit_dice=dice,
        speed=speed_of(source),
        abilities=_abilities(source),
        modifiers=_numbers(source.mapping("modifiers")),
        saves=_saves(source, forced_saves),
        forced_saves=forced_saves,
        skills=_bonuses(source.value("skill_bonuses", "skills"), title),
        vulnerabilities=_defence(source, "damage_vulnerabilities"),
        resistances=_defence(source, "damage_resistances"),
        immunities=_defence(source, "damage_immunities"),
        condition_immunities=_defence(source, "condition_immunities"),
        senses=_senses(source),
        languages=_languages(source.value("languages")),
        rating=_rating(source),
        environments=_environments(source.raw("environments"), environments),
        environment=line(environments),
        group=_group(source),
        features=features,
        introductions={kind: told for kind, key in _INTRODUCTIONS.items() if (told := text(source.value(key)))},
        acts=_acts(source, features),
    )


def figure(value: object) -> Figure:
    """A number of any source."""
    return Figure(whole(number(value)), line(value))


def _numbers(values: Object) -> dict[str, float]:
    found = {ability: number(values.get(ability)) for ability in ABILITIES}
    return {ability: value for ability, value in found.items() if value is not None}


# --- what it is ------------------------------------------------------------------------------------------------------


def _sizes(size: object) -> tuple[str, ...]:
    key = local_key(size)
    if key is None:
        return ()
    return (key.lower(), "medium") if size == MEDIUM_OR_SMALL else (key.lower(),)


def _types(source: Source, features: tuple[Feature, ...]) -> tuple[str, ...]:
    main, subtypes = local_key(source.peek("type")), source.peek("subtype")
    if main is None:
        return ()
    named = [part for part in re.split(r",\s*", subtypes) if part.strip()] if isinstance(subtypes, str) else []
    is_swarm = _SWARM_NAME.search(line(source.peek("name"))) or any(fold(each.name) == "swarm" for each in features)
    return (main.lower(), *named, *(["swarm"] if is_swarm else []))


def _group(source: Source) -> str:
    category, group = source.line("category"), source.line("subcategory", "group")
    return group or (category if category != "Monsters" else "")


def _environments(stated: object, known: object) -> tuple[str, ...] | None:
    keys = local_keys(stated if isinstance(stated, list) else known)
    return names(known) or None if keys is None else tuple(keys)


def _rating(source: Source) -> Figure:
    """The challenge rating: the number where a source has a text beside it."""
    value, decimal = source.value("challenge_rating", "challenge"), source.value("challenge_rating_decimal", "cr")
    rating = number(decimal) if isinstance(value, str) or value is None else number(value)
    return Figure(whole(number(value) if rating is None else rating), line(value))


# --- its numbers -----------------------------------------------------------------------------------------------------


def _hit_points(source: Source) -> tuple[Figure, str]:
    """Hit points and their dice; OrcBrew has both in one object: ``{"die": 8, "die-count": 2, "modifier": 2}``."""
    value, dice = source.value("hit_points", "hp"), source.line("hit_dice")
    if not isinstance(value, Mapping):
        return figure(value), dice
    count, die, more = (number(value.get(key)) for key in ("die-count", "die", "modifier"))
    mean = number(value.get("mean"))
    if count is None or die is None:
        return figure(value.get("mean")), ""
    average = mean or count * (die + 1) // 2 + (more or 0)
    return figure(average), f"{count:g}d{die:g}{more:+g}" if more else f"{count:g}d{die:g}"


def _abilities(source: Source) -> dict[str, float]:
    scores = source.mapping("ability_scores", "abilities")
    return _numbers(scores or {ability: source.value(ability, ability[:3]) for ability in ABILITIES})


def _saves(source: Source, forced: tuple[str, ...]) -> Bonuses:
    saves = source.value("saving_throws") or (None if forced else source.value("saves"))
    if saves is None:
        saves = {ability: source.value(f"{ability}_save") for ability in ABILITIES}
    if isinstance(saves, Mapping):
        saves = {str(name): saves[name] for name in sorted(saves, key=_place_of)}
    return _bonuses(saves, lambda name: name[:3].capitalize())


def _place_of(name: object) -> int:
    """Where an ability comes among the six, by its name or abbreviation; after them if it is none of them."""
    short = str(name)[:3].lower()
    return next((place for place, ability in enumerate(ABILITIES) if ability.startswith(short)), len(ABILITIES))


def _bonuses(values: object, called: Callable[[str], str]) -> Bonuses:
    if not isinstance(values, Mapping):
        return Bonuses(text=line(values))
    found = ((called(str(name)), number(value)) for name, value in values.items())
    return Bonuses({name: value for name, value in found if value is not None})


def _defence(source: Source, key: str) -> str:
    """A line of what harms a creature less or more: API v2 has it in words, and as a list of references."""
    nested = mapping(source.value("resistances_and_immunities"))
    return line(nested.get(f"{key}_display")) or line(nested.get(key)) or source.line(key)


# --- movement, senses, languages -------------------------------------------------------------------------------------


def speed_of(source: Source) -> Speed:
    """How fast a creature moves. A speed of 0 counts only for walking, and beside another one: alone it is a gap."""
    value = source.value("speed")
    modes = mapping(value)
    if not modes:
        words = f"{amount(value)} ft." if isinstance(value, (int, float)) else line(value).removeprefix("walk ")
        return _speed_of_line(words)
    hover = flag(modes.get("hover"))
    found = {mode: _distance(modes.get(mode), modes.get("unit") or "feet") for mode in MOVEMENTS}
    known = {mode: far for mode, far in found.items() if far or (far == 0 and mode == "walk" and any(found.values()))}
    named = [mode for mode in _SPEEDS if mode in modes]
    named += [mode for mode in modes if mode not in _SPEEDS and mode not in ("unit", "hover")]
    parts = (_one_speed(mode, modes[mode], hovers=is_true(modes.get("hover"))) for mode in named)
    every = mapping(source.value("speed_all")) if hover is None else {}
    return Speed(", ".join(filter(None, parts)), known, flag(every.get("hover")) if hover is None else hover)


def _speed_of_line(words: str) -> Speed:
    """Speeds of a line such as "30 ft., fly 60 ft. (hover)"; the first of each kind."""
    found: dict[str, float] = {}
    for match in _SPEED.finditer(words):
        found.setdefault((match[1] or "walk").lower(), int(match[2]))
    if not found and (walking := length(words, first=True)) is not None:
        return Speed(
            words, {"walk": walking}, None
        )  # of another language: its words for kinds of movement are not known
    return Speed(words, found, "hover" in words.lower() if found else None)


def _distance(value: object, unit: object) -> float | None:
    return (
        None if isinstance(value, bool) or is_empty(value) else feet(value, unit if number(value) is not None else None)
    )


def _one_speed(mode: str, value: object, *, hovers: bool) -> str:
    words = f"{amount(value)} ft." if isinstance(value, (int, float)) and value is not True else line(value)
    if not words or (words == "0 ft." and mode != "walk"):
        return ""
    return (
        f"{'' if mode == 'walk' else f'{title(mode).lower()} '}{words}{' (hover)' if hovers and mode == 'fly' else ''}"
    )


def _senses(source: Source) -> Senses:
    """The senses of numbers by sense, of a map, or of the line of a stat block."""
    value, passive = source.value("senses"), figure(source.value("passive_perception"))
    keyed = {sense: first_number(source.value(f"{sense}_range", sense)) for sense in _SENSES}
    given = mapping(value)
    by_name = {str(sense): believed(first_number(far), passive.value) for sense, far in given.items()}
    if isinstance(value, list):
        value = [each for each in value if not (isinstance(each, str) and keyed.get(each))]
    told = [] if given else [line(value)]
    parts = [*map(_one_sense, keyed.items()), *map(_one_sense, by_name.items()), *told]
    words = ", ".join(filter(None, parts))
    found = {sense: by_name.get(sense) or keyed[sense] or reach(sense, words) for sense in SENSES}
    stated = _PASSIVE.search(words)
    return Senses(words, {s: far for s, far in found.items() if far}, Figure(int(stated[1])) if stated else passive)


def _one_sense(sense: tuple[str, float | None]) -> str:
    name, far = sense
    return f"{title(name).lower()} {amount(far)} ft." if far else ""


def reach(sense: str, words: str) -> float | None:
    """The range after the name of a sense, in feet."""
    match = _RANGES[sense].search(words)
    return feet(match[1], "feet" if match[2] == "'" else match[2]) if match else None


def _languages(value: object) -> str:
    nested = mapping(value)
    if "as_string" in nested or "data" in nested:
        return line(nested.get("as_string")) or line(nested.get("data"))
    return line(value)


# --- what it does ----------------------------------------------------------------------------------------------------


def _features(source: Source) -> Iterator[Feature]:
    """Traits, actions and the rest, in the order of the source."""
    for key, kind in _LISTS.items():
        yield from (feature(item, kind) for item in source.items(key))


def feature(item: object, kind: str) -> Feature:
    """A feature of any source, of a kind unless it names its own."""
    found = mapping(item)
    own, name, order = (
        found.get("action_type") or found.get("type"),
        found.get("name"),
        number(found.get("order_in_statblock")),
    )
    kind = (fold(own) if isinstance(own, str) else "") or kind
    name = name if isinstance(name, str) else ""
    attacks = found.get("attacks")
    return Feature(
        name=name,
        text=text_of(found) if found else text(item),
        kind=kind,
        uses="" if "(Recharge" in name else _uses(mapping(found.get("usage_limits"))),
        cost=number(found.get("legendary_action_cost")) if kind == LEGENDARY else None,
        form=line(found.get("limited_to_form")),
        attacks=tuple(_attack(mapping(each)) for each in attacks) if isinstance(attacks, list) else (),
        place=number(found.get("order")) if order is None else order,
    )


def _uses(limits: Object) -> str:
    form = _USES.get(fold(str(limits.get("type", ""))))
    count = line(limits.get("param"))
    if form is None:
        return f"{title(line(limits.get('type')).lower())} {count}".strip()
    return form.format(count).replace("6–6", "6")


def _attack(found: Object) -> Attack:
    bonus, near, far = (number(found.get(key)) for key in ("to_hit_mod", "reach", "range"))
    return Attack(bonus, near, far, _damage(found, "damage"), _damage(found, "extra_damage"))


def _damage(attack: Object, prefix: str) -> Damage:
    count, die = (line(attack.get(f"{prefix}_die_{part}")) for part in ("count", "type"))
    bonus = number(attack.get(f"{prefix}_bonus"))
    more = f" {'+' if bonus > 0 else '-'} {amount(abs(bonus))}" if bonus else ""
    return Damage(f"{count}{die.lower()}{more}" if count and die else "", line(attack.get(f"{prefix}_type")).lower())


def _acts(source: Source, features: tuple[Feature, ...]) -> bool | None:
    idle = (TRAIT, *OF_PLACES)
    if any(each.kind not in idle for each in features):
        return True
    return False if source.has(*(key for key, kind in _LISTS.items() if kind not in idle)) else None
