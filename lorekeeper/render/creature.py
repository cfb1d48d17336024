"""Stat blocks, in the order of the books."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.values import Object, amount, is_empty, is_true, listed, mapping, number
from lorekeeper.render.origin import origin
from lorekeeper.render.page import Line, capital, italic, labelled, line, section
from lorekeeper.render.prose import table
from lorekeeper.render.source import OF_2014, OF_2024, Source, feature, feature_text, style_of, system_of, title, words
from lorekeeper.repairs import repaired
from lorekeeper.repairs.values import believed
from lorekeeper.terms import ABILITIES, ABILITY_OF
from lorekeeper.text.facts import format_rating

ABILITY_HEADINGS = [short.upper() for short in ABILITY_OF]

SPEEDS = ("walk", "burrow", "climb", "fly", "swim")
SENSES = ("blindsight", "darkvision", "tremorsense", "truesight")

_POINTS = (
    *(25, 50, 100, 200, 450, 700, 1100, 1800, 2300, 2900, 3900, 5000, 5900, 7200, 8400, 10_000, 11_500, 13_000, 15_000),
    *(
        18_000,
        20_000,
        22_000,
        25_000,
        33_000,
        41_000,
        50_000,
        62_000,
        75_000,
        90_000,
        105_000,
        120_000,
        135_000,
        155_000,
    ),
)

EXPERIENCE: dict[float, int] = dict(zip((0.125, 0.25, 0.5, *range(1, 31)), _POINTS, strict=True))
"""Experience points by challenge rating (SRD 5.1, "Experience Points by Challenge Rating")."""

NO_EXPERIENCE = "0 or 10 XP"
"""At challenge rating 0, where it depends on whether the creature can do harm."""

SECTIONS = (
    ("trait", "Traits", ("traits", "special_abilities")),
    ("action", "Actions", ("actions",)),
    ("bonus action", "Bonus Actions", ("bonus_actions",)),
    ("reaction", "Reactions", ("reactions",)),
    ("legendary action", "Legendary Actions", ("legendary_actions",)),
    ("mythic action", "Mythic Actions", ("mythic_actions",)),
    ("lair action", "Lair Actions", ("lair_actions",)),
    ("regional effect", "Regional Effects", ("regional_effects",)),
)
"""The sections of a stat block in order: what sources call the type, the heading, and keys with such a list."""

INTRODUCTIONS = {
    "legendary action": ("legendary_desc",),
    "mythic action": ("mythic_desc",),
    "lair action": ("lair_desc",),
}

USES = {
    "per day": "{0}/Day",
    "recharge on roll": "Recharge {0}–6",
    "recharge": "Recharge {0}–6",
    "recharge after rest": "Recharges after a Short or Long Rest",
}
"""How often something can be used, by the type of limit; with its number."""


def creature(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a stat block."""
    source.skip(*DERIVED)
    yield italic(_kind(source), source.words("alignment"), separator=", ")
    yield labelled(source, DEFENCES)
    yield ability_scores(source)
    yield "\n".join(filter(None, (labelled(source, ABLE_TO), origin(source))))
    yield source.prose("desc", "description")
    yield from _sections(source)
    if acts(entity):
        source.skip(*entity.collection.filters)
    yield italic(NO_ACTIONS) if lacks_actions(entity) else ""


def acts(creature: Entity) -> bool:
    """Whether a creature of our own JSON shape says what it does, so that the values of its fields need not be listed."""
    return creature.source_api == "lorekeeper" and any(
        creature.data.get(key) for _, _, keys in SECTIONS for key in keys
    )


NO_ACTIONS = "The source lists no actions for this creature."


def lacks_actions(creature: Entity) -> bool:
    """Whether the source of a creature has lists of actions, and all of them are empty. Descriptions in words have no lists."""
    listed = [creature.data[key] for _, _, keys in SECTIONS[1:6] for key in keys if key in creature.data]
    traits = creature.data.get("traits")
    typed = isinstance(traits, list) and any(_type(trait) not in ("", "trait") for trait in traits)
    return bool(listed) and not any(listed) and not typed


DERIVED = (
    "speed_all",
    "modifiers",
    "saving_throws_all",
    "skill_bonuses_all",
    "normal_sight_range",
    "v2_converted_path",
    "spell_list",
    "cr",
    "perception",
)
"""Keys whose values are made from others."""


def _kind(source: Source) -> str:
    subtype = source.words("subtype", "subtypes")
    sizes = source.words("size").lower()
    sizes = "medium or small" if sizes == "small, medium" else sizes
    kind = " ".join(part for part in (sizes, source.words("type").lower()) if part)
    return capital(f"{kind} ({subtype})" if subtype else kind)


def _armor_class(source: Source) -> str:
    value, detail = source.words("armor_class", "ac"), source.words("armor_detail", "armor_desc")
    if detail == "natural armor" and system_of(source) == OF_2024:
        detail = ""  # stat blocks of 2024 do not say it, and Open5e says it of all of them, mages included
    return f"{value} ({detail})" if value and detail else value


def _initiative(source: Source) -> str:
    """The bonus, in books that print it: those of 2014 do not."""
    bonus = source.number("initiative_bonus", "initiative")
    if bonus is None or system_of(source) == OF_2014:
        return ""
    return f"{signed(bonus)} ({amount(10 + bonus)})" if system_of(source) == OF_2024 else signed(bonus)


def initiative(entity: Entity) -> int:
    """What a creature adds to a d20 for initiative: what its book says, else its Dexterity modifier, else 0."""
    source = Source(repaired(entity))
    bonus = source.number("initiative_bonus", "initiative")
    scores, name = source.mapping("ability_scores", "abilities"), "dexterity"
    dexterity = number(scores.get(name)) if scores else source.number(name, name[:3])
    if bonus is None and dexterity is not None:
        bonus = (dexterity - 10) // 2
    return int(bonus or 0)


def _hit_points(source: Source) -> str:
    value, dice = source.value("hit_points", "hp"), source.words("hit_dice")
    if isinstance(value, dict):
        value, dice = _rolled(value)
    points = words(value)
    return f"{points} ({spaced_dice(dice)})" if points and dice else points or spaced_dice(dice)


def _rolled(value: Object) -> tuple[object, str]:
    """Average and dice of OrcBrew's hit points: ``{"die": 8, "die_count": 2, "modifier": 2}``."""
    count, die, more = (number(value.get(key)) for key in ("die-count", "die", "modifier"))
    if count is None or die is None:
        return value.get("mean"), ""
    average = number(value.get("mean")) or count * (die + 1) // 2 + (more or 0)
    return average, f"{count:g}d{die:g}{more:+g}" if more else f"{count:g}d{die:g}"


def spaced_dice(dice: str) -> str:
    """Dice as the books print them: "19d12 + 133"."""
    return " ".join(dice.replace("+", " + ").replace("-", " - ").split())


def _speed(source: Source) -> str:
    value = source.value("speed")
    modes = mapping(value)
    if not modes:
        return f"{amount(value)} ft." if isinstance(value, (int, float)) else words(value).removeprefix("walk ")
    named = [name for name in SPEEDS if name in modes]
    named += [name for name in modes if name not in SPEEDS and name not in ("unit", "hover")]
    parts = [_one_speed(name, modes[name], is_true(modes.get("hover"))) for name in named]
    return ", ".join(part for part in parts if part)


def _one_speed(name: str, value: object, hover: bool) -> str:
    feet = f"{amount(value)} ft." if isinstance(value, (int, float)) and value is not True else words(value)
    if not feet or (feet == "0 ft." and name != "walk"):
        return ""
    mode = "" if name == "walk" else f"{title(name).lower()} "
    return f"{mode}{feet}{' (hover)' if hover and name == 'fly' else ''}"


def _saves(source: Source) -> str:
    saves = source.value("saving_throws") or (None if _forced_saves(source) else source.value("saves"))
    if saves is None:
        saves = {ability: source.value(f"{ability}_save") for ability in ABILITIES}
    if not isinstance(saves, dict):
        return words(saves)
    return bonuses({_ability(name): saves[name] for name in sorted(saves, key=_ability_place)})


def _forced_saves(source: Source) -> str:
    """The abilities of saving throws that it forces on others: in our own JSON shape, "saves" is a list of them.

    Its own saving throws have bonuses.
    """
    saves = source.raw("saves")
    return words(saves) if isinstance(saves, list) and {str(each).lower() for each in saves} <= {*ABILITIES} else ""


def _ability_place(name: str) -> int:
    """Where an ability comes among the six, by its name or abbreviation; after them if it is none of them."""
    short = name[:3].lower()
    return next((place for place, ability in enumerate(ABILITIES) if ability.startswith(short)), len(ABILITIES))


def _ability(key: str) -> str:
    """The abbreviation of an ability: "Dex"."""
    return key[:3].capitalize()


def _skills(source: Source) -> str:
    skills = source.value("skill_bonuses", "skills")
    return (
        bonuses({title(name): value for name, value in skills.items()}) if isinstance(skills, dict) else words(skills)
    )


def bonuses(values: Object) -> str:
    """Names with their bonuses: "Dex +6, Con +13"."""
    numbers = ((name, number(value)) for name, value in values.items())
    return ", ".join(f"{name} {signed(bonus)}" for name, bonus in numbers if bonus is not None)


def signed(value: float) -> str:
    """A bonus with its sign."""
    return f"{value:+g}"


def _defence(label: str, key: str) -> Line:
    """A line of what harms a creature less or more, from Open5e's nested lists, a text or a list."""

    def value(source: Source) -> str:
        nested = mapping(source.value("resistances_and_immunities"))
        return words(nested.get(f"{key}_display")) or words(nested.get(key)) or source.words(key)

    return label, value


def _senses(source: Source) -> str:
    ranges = {sense: feet for sense in SENSES if (feet := source.number(f"{sense}_range", sense))}
    given = source.value("senses")
    if isinstance(given, list):
        given = [name for name in given if name not in list(ranges)]
    seen = source.value("passive_perception")
    others = (
        [_sense(name, believed(number(value), seen)) for name, value in given.items()]
        if isinstance(given, dict)
        else [words(given)]
    )
    parts = [part for part in (*(_sense(name, feet) for name, feet in ranges.items()), *others) if part]
    passive = source.words("passive_perception")
    if passive and not any("passive perception" in part.casefold() for part in parts):
        parts.append(f"passive Perception {passive}")
    return ", ".join(parts)


def _sense(name: str, value: object) -> str:
    feet = number(value)
    return f"{title(name).lower()} {amount(feet)} ft." if feet else ""


def _languages(source: Source) -> str:
    value = source.value("languages")
    nested = mapping(value)
    if "as_string" in nested or "data" in nested:
        return words(nested.get("as_string")) or words(nested.get("data"))
    return words(value)


def _challenge(source: Source) -> str:
    value = source.value("challenge_rating", "challenge")
    rating = number(source.value("challenge_rating_decimal", "cr")) if isinstance(value, str) else number(value)
    rating = rating if rating is not None else number(value)
    if rating is None:
        return words(value)
    experience = source.number("experience_points", "xp") or EXPERIENCE.get(rating)
    bonus = source.number("proficiency_bonus") or max(2, 1 + math.ceil(rating / 4))
    worth = f"{amount(experience)} XP" if experience else NO_EXPERIENCE
    return f"{format_rating(rating)} ({worth}; proficiency bonus {signed(bonus)})"


def _group(source: Source) -> str:
    """The heading under which a book has it: "Dragons, Chromatic", or "Animals"."""
    category, group = source.words("category"), source.words("subcategory", "group")
    return group or (category if category != "Monsters" else "")


DEFENCES: tuple[Line, ...] = (
    ("Armor Class", _armor_class),
    ("Initiative", _initiative),
    ("Hit Points", _hit_points),
    ("Speed", _speed),
)
"""Lines above the table of abilities."""

ABLE_TO: tuple[Line, ...] = (
    ("Saving Throws", _saves),
    ("Skills", _skills),
    _defence("Damage Vulnerabilities", "damage_vulnerabilities"),
    _defence("Damage Resistances", "damage_resistances"),
    _defence("Damage Immunities", "damage_immunities"),
    _defence("Condition Immunities", "condition_immunities"),
    ("Senses", _senses),
    ("Languages", _languages),
    ("Challenge", _challenge),
    ("Forces Saves", _forced_saves),
    ("Group", _group),
    line("Environment", "environments", "environment"),
)
"""Lines below it."""


def ability_scores(source: Source) -> str:
    """The table of abilities: each score with its modifier."""
    scores = source.mapping("ability_scores", "abilities")
    values = [number(scores.get(a)) if scores else source.number(a, a[:3]) for a in ABILITIES]
    if all(value is None for value in values):
        return _modifiers(source)
    cells = ["—" if value is None else f"{amount(value)} ({signed((value - 10) // 2)})" for value in values]
    return "\n".join(table([ABILITY_HEADINGS, cells]))


def _modifiers(source: Source) -> str:
    """The table of a game that has modifiers instead of scores."""
    given = source.mapping("modifiers")
    values = [number(given.get(ability)) for ability in ABILITIES]
    if all(value is None for value in values):
        return ""
    cells = ["—" if value is None else signed(value) for value in values]
    return "\n".join(table([ABILITY_HEADINGS, cells]))


def _sections(source: Source) -> Iterator[str]:
    """Traits, actions and the rest, each under its heading."""
    by_type: dict[str, list[object]] = {kind: [] for kind, _, _ in SECTIONS}
    for kind, _, keys in SECTIONS:
        for item in source.items(*keys):
            by_type.setdefault(_type(item) or kind, []).append(item)
    headings = {kind: heading for kind, heading, _ in SECTIONS}
    for kind, items in by_type.items():
        before = source.prose(*INTRODUCTIONS.get(kind, ()))
        if kind == LEGENDARY and items and not before:
            before = _legendary(source)
        blocks = before, *map(action_text, sorted(items, key=_place))
        if kind == "trait" and style_of(source) == OF_2014:
            yield "\n\n".join(filter(None, blocks))  # these books have no heading there
        else:
            yield section(headings.get(kind, f"{title(kind)}s"), *blocks)


LEGENDARY = "legendary action"

PRINTED_WITH_USES = frozenset({"srd-2014", "srd-2024"})
"""Documents whose creatures all have three legendary actions, which Open5e leaves out."""


def _legendary(source: Source) -> str:
    """How legendary actions are used, as the edition has it."""
    if not source.in_style or mapping(source.value("document")).get("key") not in PRINTED_WITH_USES:
        return ""
    if system_of(source) == OF_2024:
        lair = any("in Lair)" in words(mapping(trait).get("name")) for trait in listed(source.raw("traits")))
        uses = "3 (4 in Lair)" if lair else "3"
        return (
            f"*Legendary Action Uses: {uses}. Right after another creature's turn, it can expend a use for one of these. "
            "It regains all uses at the start of each of its turns.*"
        )
    return (
        "It can take 3 legendary actions, one at a time and only at the end of another creature's turn. It regains those spent at "
        "the start of its turn."
    )


def _type(item: object) -> str:
    """The type of an action as the source names it: "bonus action" of BONUS_ACTION."""
    found = mapping(item)
    kind = found.get("action_type") or found.get("type")
    return fold(kind) if isinstance(kind, str) else ""


def _place(item: object) -> tuple[bool, float]:
    """Where an action comes in the section: as the source says, or after those of which it does."""
    found = mapping(item)
    place = number(found.get("order_in_statblock"))
    place = number(found.get("order")) if place is None else place
    return place is None, place or 0


def action_text(item: object) -> str:
    """An action or trait, with what its use depends on behind its name."""
    found = mapping(item)
    text = feature(item, _uses(found), cost(found), words(found.get("limited_to_form")))
    return text if feature_text(item) else f"{text} {attacks(found)}".rstrip()


def _uses(action: Object) -> str:
    limits = mapping(action.get("usage_limits"))
    if "(Recharge" in words(action.get("name")):  # the name has it already
        return ""
    form = USES.get(fold(str(limits.get("type", ""))))
    count = words(limits.get("param"))
    if form is None:
        return f"{title(words(limits.get('type')).lower())} {count}".strip()
    return form.format(count).replace("6–6", "6")


def cost(action: Object) -> str:
    """The legendary actions that it takes, if more than one."""
    cost = number(action.get("legendary_action_cost")) if _type(action) == "legendary action" else None
    return f"Costs {amount(cost)} Actions" if cost and cost > 1 else ""


def attacks(action: Object) -> str:
    """The attacks of an action that has no text."""
    found = action.get("attacks")
    return " ".join(_attack(mapping(attack)) for attack in found) if isinstance(found, list) else ""


def _attack(attack: Object) -> str:
    bonus, reach, far = (number(attack.get(key)) for key in ("to_hit_mod", "reach", "range"))
    parts = [
        f"{signed(bonus)} to hit" if bonus is not None else "",
        f"reach {amount(reach)} ft." if reach else "",
        f"range {amount(far)} ft." if far else "",
        damage(attack),
    ]
    return f"Attack: {', '.join(part for part in parts if part)}."


def damage(attack: Object, prefix: str = "damage") -> str:
    """The dice of an attack's damage, with its type."""
    count, die = attack.get(f"{prefix}_die_count"), attack.get(f"{prefix}_die_type")
    if is_empty(count) or is_empty(die):
        return ""
    bonus = number(attack.get(f"{prefix}_bonus"))
    dice = f"{words(count)}{words(die).lower()}" + (
        f" {'+' if bonus > 0 else '-'} {amount(abs(bonus))}" if bonus else ""
    )
    return " ".join(part for part in (dice, words(attack.get(f"{prefix}_type")).lower(), "damage") if part)
