"""Stat blocks, in the order of the books."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lorekeeper import records
from lorekeeper.entities import Entity
from lorekeeper.records import Attack, Creature, Feature
from lorekeeper.records.creatures import KINDS, LEGENDARY, TRAIT
from lorekeeper.records.parts import Bonuses
from lorekeeper.records.values import amount, mapping, text
from lorekeeper.render.origin import origin
from lorekeeper.render.page import capital, italic, labelled, section
from lorekeeper.render.prose import inline, prose, table
from lorekeeper.render.source import OF_2014, OF_2024, Source, style_of, system_of, title, titled, without_title
from lorekeeper.repairs import repaired, with_values
from lorekeeper.terms import ABILITIES, ABILITY_OF, CONDITIONS
from lorekeeper.text.facts import format_rating

ABILITY_HEADINGS = [short.upper() for short in ABILITY_OF]

NO_EXPERIENCE = "0 or 10 XP"
"""At challenge rating 0, where it depends on whether the creature has attacks, and nothing says so."""

NO_ACTIONS = "The source lists no actions for this creature."

DERIVED = (
    "speed_all modifiers saving_throws_all skill_bonuses_all normal_sight_range v2_converted_path spell_list cr perception"
).split()
"""Keys whose values are made from others."""

Lines = Sequence[tuple[str, str]]
"""Labels with what comes after them, "" for nothing."""


def creature(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a stat block."""
    read, system = records.creature(source), system_of(source)
    source.skip(*DERIVED)
    yield italic(_kind(read), inline(read.alignment), separator=", ")
    yield labelled(source, _above(read, system))
    yield _abilities(read)
    yield "\n".join(filter(None, (labelled(source, _below(read, source.words("gear"))), origin(source))))
    yield prose(read.text)
    yield from _sections(read, source)
    if entity.source_api == "lorekeeper" and read.features:
        source.skip(*entity.collection.filters)  # what it does is said above
    yield italic(NO_ACTIONS) if read.acts is False else ""


def lacks_actions(creature: Entity) -> bool:
    """Whether the source of a creature has lists of actions, and all of them are empty. Descriptions in words have no lists."""
    return records.creature(Source(with_values(creature))).acts is False


def initiative(creature: Entity) -> int:
    """What a creature adds to a d20 for initiative."""
    return records.creature(Source(with_values(creature))).initiative_bonus


def spell_save(creature: Entity) -> str:
    """The DC of saves against its spells; "" if its block says none."""
    return records.creature(Source(with_values(creature))).spell_save


def counters(creature: Entity) -> list[str]:
    """Its features, each with how often it can be used ("3/Day", "Recharge 5-6") where that is said, and legendary actions."""
    features = records.creature(Source(with_values(creature))).features
    used = [f"{each.name}: {each.uses or each.name.partition('(')[2]}" for each in features]
    return [*used, *(["Legendary actions: 3/Round"] if any(each.kind == LEGENDARY for each in features) else [])]


GLANCE = {
    "Armor Class": "AC",
    "Hit Points": "HP",
    "Saving Throws": "saves",
    **{f"{damage}Vulnerabilities": "vulnerable" for damage in ("", "Damage ")},
    **{f"{damage}Resistances": "resistant" for damage in ("", "Damage ")},
    **{f"{damage}Immunities": "immune" for damage in ("", "Damage ")},
    "Condition Immunities": "immune to conditions",
    "Senses": "senses",
}
"""What is asked for of each foe in a fight: lines of a stat block, and what they are called in one line."""


def defences(entity: Entity) -> str:
    """How a creature defends itself, in one line: "AC 15, HP 7 (2d6); resistant: cold; senses darkvision 60 ft."."""
    source = Source(repaired(entity))
    read = records.creature(source)
    lines = dict((*_above(read, system_of(source)), *_below(read)))
    return "; ".join(f"{called} {lines[label]}" for label, called in GLANCE.items() if lines.get(label))


# --- lines -----------------------------------------------------------------------------------------------------------


def _kind(creature: Creature) -> str:
    sizes = inline(creature.size).lower()
    sizes = "medium or small" if sizes == "small, medium" else sizes
    kind = " ".join(filter(None, (sizes, inline(creature.type).lower())))
    return capital(f"{kind} ({inline(creature.subtype)})" if creature.subtype else kind)


def _above(creature: Creature, system: str) -> Lines:
    """The lines above the table of abilities."""
    return (
        ("Armor Class", _armor_class(creature, system)),
        ("Initiative", _initiative(creature, system)),
        ("Hit Points", _hit_points(creature)),
        ("Speed", inline(creature.speed.text)),
    )


def _below(creature: Creature, gear: str = "") -> Lines:
    """The lines below it; ``gear`` is what the creature carries."""
    return (
        ("Saving Throws", _bonuses(creature.saves)),
        ("Skills", _bonuses(creature.skills)),
        _defence("Damage Vulnerabilities", creature.vulnerabilities),
        _defence("Damage Resistances", creature.resistances),
        _defence("Damage Immunities", creature.immunities),
        ("Condition Immunities", inline(creature.condition_immunities)),
        ("Gear", gear),
        ("Senses", _senses(creature)),
        ("Languages", inline(creature.languages)),
        ("Challenge", _challenge(creature)),
        ("Forces Saves", ", ".join(map(inline, creature.forced_saves))),
        ("Group", inline(creature.group)),
        ("Environment", inline(creature.environment)),
    )


_NO_DAMAGE = re.compile(rf"\b(?:{'|'.join(CONDITIONS)})\b|\b[A-Z][a-z]+ Resilience\b")
"""What is no damage: a condition, or the name of a trait that has both."""


def _defence(label: str, words: str) -> tuple[str, str]:
    """A line of what harms less or more; "Immunities" alone where a book has conditions among them."""
    found = inline(words)
    return label.removeprefix("Damage ") if _NO_DAMAGE.search(found) else label, found


def _armor_class(creature: Creature, system: str) -> str:
    value, detail = inline(creature.armor_class.text), inline(creature.armor)
    if detail == "natural armor" and system == OF_2024:
        detail = ""  # stat blocks of 2024 do not say it, and Open5e says it of all of them, mages included
    return f"{value} ({detail})" if value and detail else value


def _initiative(creature: Creature, system: str) -> str:
    """The bonus, in books that print it: those of 2014 do not."""
    bonus = creature.initiative
    if bonus is None or system == OF_2014:
        return ""
    return f"{signed(bonus)} ({amount(10 + bonus)})" if system == OF_2024 else signed(bonus)


def _hit_points(creature: Creature) -> str:
    """Points with their dice, as the books print them: "256 (19d12 + 133)"."""
    points = inline(creature.hit_points.text)
    dice = " ".join(inline(creature.hit_dice).replace("+", " + ").replace("-", " - ").split())
    return f"{points} ({dice})" if points and dice else points or dice


def _bonuses(bonuses: Bonuses) -> str:
    """Names with their bonuses: "Dex +6, Con +13"."""
    return inline(bonuses.text or ", ".join(f"{name} {signed(bonus)}" for name, bonus in bonuses.by_name.items()))


def signed(value: float) -> str:
    """A bonus with its sign."""
    return f"{value:+g}"


def _senses(creature: Creature) -> str:
    senses = inline(creature.senses.text)
    passive = inline(creature.senses.passive.text)
    is_stated = not passive or "passive perception" in senses.casefold()
    return senses if is_stated else ", ".join(filter(None, (senses, f"passive Perception {passive}")))


def _challenge(creature: Creature) -> str:
    rating = creature.rating.value
    if rating is None:
        return inline(creature.rating.text)
    points = creature.experience_points
    worth = f"{amount(points)} XP" if points is not None else NO_EXPERIENCE
    in_lair = creature.experience_in_lair
    worth += "" if in_lair is None else f", or {amount(in_lair)} in lair"
    return f"{format_rating(rating)} ({worth}; proficiency bonus {signed(creature.proficiency_bonus)})"


def _abilities(creature: Creature) -> str:
    """The table of abilities: each score with its modifier; modifiers alone of a game that has no scores."""
    scores, modifiers = creature.abilities, creature.modifiers
    if scores:
        cells = [f"{amount(scores[a])} ({signed((scores[a] - 10) // 2)})" if a in scores else "—" for a in ABILITIES]
    else:
        cells = [signed(modifiers[a]) if a in modifiers else "—" for a in ABILITIES]
    return "\n".join(table([ABILITY_HEADINGS, cells])) if scores or modifiers else ""


# --- traits and actions ----------------------------------------------------------------------------------------------


def _sections(creature: Creature, source: Source) -> Iterator[str]:
    """Traits, actions and the rest, each under its heading."""
    for kind in dict.fromkeys((*KINDS, *(each.kind for each in creature.features))):
        alike = (each for each in creature.features if each.kind == kind)
        features = sorted(alike, key=lambda each: (each.place is None, each.place or 0))
        before = prose(creature.introductions.get(kind, ""))
        if kind == LEGENDARY and features and not before:
            before = _legendary(creature, source)
        blocks = before, *map(action_text, features)
        if kind == TRAIT and style_of(source) == OF_2014:
            yield "\n\n".join(filter(None, blocks))  # these books have no heading there
        else:
            yield section(f"{title(kind)}s", *blocks)


PRINTED_WITH_USES = frozenset({"srd-2014", "srd-2024"})
"""Documents whose creatures all have three legendary actions, which Open5e leaves out."""


def _legendary(creature: Creature, source: Source) -> str:
    """How legendary actions are used, as the edition has it."""
    if not source.in_style or text(mapping(source.value("document")).get("key")) not in PRINTED_WITH_USES:
        return ""
    if system_of(source) == OF_2024:
        uses = (
            "3 (4 in Lair)" if any("in Lair)" in each.name for each in creature.features if each.kind == TRAIT) else "3"
        )
        return (
            f"*Legendary Action Uses: {uses}. Right after another creature's turn, it can expend a use for one of these. "
            "It regains all uses at the start of each of its turns.*"
        )
    return (
        "It can take 3 legendary actions, one at a time and only at the end of another creature's turn. It regains those spent at "
        "the start of its turn."
    )


def action_text(feature: Feature) -> str:
    """An action or trait, with what its use depends on behind its name."""
    name = inline(feature.name).strip("*_. ")
    text = without_title(prose(_CASTS.sub(_cast, feature.text)), name)
    text = capital(text) if name else text
    cost = f"Costs {amount(feature.cost)} Actions" if feature.cost and feature.cost > 1 else ""
    block = titled(name, text, feature.uses, cost, inline(feature.form), ends=not feature.attacks)
    return block if text else f"{block} {' '.join(map(_attack, feature.attacks))}".rstrip()


_CASTS = re.compile(
    r"(?:^[ \t>*•-]*|<br ?/?>|(?<=[a-z)*_]) (?=\d(?:st|nd|rd|th)))"
    r"(?P<label>at will|cantrips|constant|\d{1,2}/(?:day|rest|week)(?: each)?|\d(?:st|nd|rd|th)[ -]level)"
    r" ?(?P<slots>\([^()\n]{1,60}\))?: (?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a line with spells that a source has not made an item of a list: "1/day each: blur"."""


def _cast(match: re.Match[str]) -> str:
    label, slots = re.sub(r"\b[a-z]", lambda first: first[0].upper(), match["label"].lower()), match["slots"]
    return f"\n- **{label}** {slots}: " if slots else f"\n- **{label}:** "


def _attack(attack: Attack) -> str:
    """An attack of an action that has no text."""
    damage = " ".join(filter(None, (attack.damage.dice, attack.damage.type, "damage"))) if attack.damage.dice else ""
    parts = (
        f"{signed(attack.bonus)} to hit" if attack.bonus is not None else "",
        f"reach {amount(attack.reach)} ft." if attack.reach else "",
        f"range {amount(attack.range)} ft." if attack.range else "",
        inline(damage),
    )
    return f"Attack: {', '.join(filter(None, parts))}."
