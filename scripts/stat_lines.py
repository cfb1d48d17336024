"""The features of a stat block in our own words: their figures, in the short lines that a game master reads off.

A text of the source is read for facts, such as attacks, saves, damage, conditions, areas, ranges and durations. Each has a
template, and they stand in the order in which the text has them. What has no figures is worded by hand, by the name of the
trait: `TRAITS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lorekeeper.terms import ABILITIES, CONDITIONS, DAMAGE_TYPES

ABILITY = "|".join(ability.capitalize() for ability in ABILITIES)
DAMAGE = "|".join(DAMAGE_TYPES)
CONDITION = "|".join((*CONDITIONS, "invisible"))
DICE = r"\d+ ?\(\d+d\d+(?: ?[+\u2212-] ?\d+)?\)|\d+d\d+(?: ?[+\u2212-] ?\d+)?|\d+"
FEET = r"(\d[\d,]*)[- ](?:feet|foot|ft\.?)"
NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "ten": 10,
}

TRAITS = {
    "Abduct": "Dragging what it grapples costs it nothing extra.",
    "Agile": "Leaving an enemy's reach provokes no opportunity attack.",
    "Air Form": "Enters and stops in enemies' spaces; fits through a gap of 1 inch.",
    "Water Form": "Enters and stops in enemies' spaces; fits through a gap of 1 inch.",
    "Amorphous": "Flows through gaps 1 inch wide.",
    "Amphibious": "Breathes in air and in water.",
    "Ambusher": "Advantage on attacks against the surprised.",
    "Beast of Burden": "Carries as if one size larger.",
    "Blood Frenzy": "Advantage on melee attacks against the wounded.",
    "Bloodied Fury": "Advantage on attacks while at half its hit points or fewer.",
    "Brave": "Advantage on saves against fear.",
    "Brute": "Its melee hits have one damage die more, counted in already.",
    "Confer Fire Resistance": "Its rider resists fire if it wishes.",
    "Dark Devotion": "Advantage on saves against charm and fear.",
    "Devil's Sight": "Sees through magical darkness.",
    "Damage Transfer": "While attached it takes half of any damage, and its victim the rest.",
    "Demonic Restoration": "Killed outside the Abyss, it forms again there.",
    "Diabolical Restoration": "Killed outside the Nine Hells, it forms again there.",
    "Fiendish Restoration": "Killed outside the Nine Hells, it forms again there.",
    "Exalted Restoration": "Killed outside its home heaven, it forms again there.",
    "Elemental Restoration": "Killed outside its elemental plane, it forms again there in 1d4 days.",
    "Eldritch Restoration": "Slain, it comes back with all its hit points after a time.",
    "Elemental Demise": "When it dies only its belongings are left.",
    "Divine Awareness": "Hears every lie as one.",
    "Earth Glide": "Burrows through natural earth and rock and leaves no trace.",
    "Echolocation": "Deafened, it has no blindsight.",
    "Ephemeral": "Can neither wear nor carry things.",
    "Evasion": "Dexterity saves for half damage: none on a success, half on a failure.",
    "False Appearance": "Motionless, it passes for an ordinary thing of its kind.",
    "Fey Ancestry": "Advantage on saves against charm; no magic puts it to sleep.",
    "Flyby": "Flying out of reach provokes no opportunity attack.",
    "Ice Walk": "Walks and climbs on ice without checks, and ice or snow never slows it.",
    "Immutable Form": "No spell or effect changes its shape.",
    "Incorporeal Movement": "Passes through creatures and objects at double cost; ending a turn inside an object "
    "hurts: 5 (1d10) force.",
    "Inscrutable": "Thoughts and feelings cannot be read; divination works only if it lets it.",
    "Invisibility": "It is invisible, until it attacks or casts where that is an action.",
    "Keen Hearing": "Advantage on Perception by ear.",
    "Keen Hearing and Sight": "Advantage on Perception by ear and eye.",
    "Keen Hearing and Smell": "Advantage on Perception by ear and nose.",
    "Keen Sight": "Advantage on Perception by eye.",
    "Keen Sight and Smell": "Advantage on Perception by eye and nose.",
    "Keen Smell": "Advantage on Perception by nose.",
    "Legendary Resistance": "Turns a failed save into a success.",
    "Light Sensitivity": "In bright light: disadvantage on attacks and on Perception by eye.",
    "Magic Resistance": "Advantage on saves against spells and other magic.",
    "Magic Weapons": "Its weapons count as magical.",
    "Multiple Heads": "With two heads or more: advantage against blindness, charm, deafness, fear, stunning and being knocked out.",
    "Pack Tactics": "Advantage on attacks while an able ally is within 5 ft. of the target.",
    "Probing Telepathy": "Whoever speaks with it by telepathy, in its sight, shows it their greatest desire.",
    "Reactive": "One reaction on every turn.",
    "Reactive Heads": "One more reaction for each head after the first, for opportunity attacks.",
    "Reckless": "May take advantage on its melee attacks for a turn; attacks against it then have advantage until its next.",
    "Siege Monster": "Double damage to objects and buildings.",
    "Shielded Mind": "Cannot be scried on, located, or read in thought or feeling.",
    "Speak with Beasts and Plants": "Talks with beasts and plants.",
    "Spider Climb": "Climbs walls and ceilings without checks.",
    "Stone Camouflage": "Advantage on hiding among rocks.",
    "Sunlight Sensitivity": "In sunlight: disadvantage on attacks and on Perception by eye.",
    "Sunlight Weakness": "In sunlight: disadvantage on attacks, checks and saves.",
    "Sure-Footed": "Advantage on saves against being knocked down.",
    "Swarm": "Shares spaces with others and passes where one of its small members fits; regains no hit "
    "points and gains no temporary ones.",
    "Telepathic Bond": "On one plane, master and creature speak by thought and share senses.",
    "Two Heads": "Advantage on Perception and against blindness, charm, deafness, fear, stunning and being knocked out.",
    "Underwater Camouflage": "Advantage on hiding under water.",
    "Wakeful": "One head is always awake.",
    "Water Breathing": "Breathes water only.",
    "Web Sense": "Feels where anything in the same web is.",
    "Web Walker": "Webs never slow it.",
    "Change Shape": "Takes the shape of a beast or humanoid of no higher challenge rating, or its own again; back at death.",
    "Shape-Shift": "Takes another shape that its kind has, or its own again; figures but size stay; back at death.",
    "Shapechanger": "Uses its action to take another shape of its kind or its own; figures but size stay; back at death.",
    "Etherealness": "Steps between the Material and the Ethereal Plane.",
    "Ethereal Stride": "Takes up to three willing creatures near it between the Material and the Ethereal Plane.",
    "Detect": "A Wisdom (Perception) check.",
    "Cantrip": "Casts a cantrip.",
    "Cast a Spell": "Casts a prepared spell with a slot.",
    "Nimble Escape": "Disengage or Hide.",
    "Cunning Action": "Dash, Disengage or Hide.",
    "Deathless Agility": "Dash or Disengage.",
    "Split": "Hit by lightning or slashing with 10 hit points left and Medium or larger: two puddings, "
    "half the points each, one size smaller.",
    "Parry": "Raises its AC against one melee hit that it sees coming, with a weapon in hand.",
    "Spell Storing": "Stores one spell of level 4 or lower for its wearer to release.",
    "Bound": "Its amulet's wearer, on the same plane, calls it and takes half damage, the guardian the other half.",
    "Sense Magic": "Feels magic within 120 ft.",
    "Gnome Cunning": "Advantage on mental saves against magic.",
    "Steadfast": "No fear while it sees an ally within 30 ft.",
    "Turn Defiance": "It and ghouls near it have advantage against being turned.",
    "Two-Headed": "Advantage on Perception and against blindness, charm, deafness, fear, stunning and being knocked out.",
    "Mimicry": "Copies voices and animal sounds.",
    "Assassinate": "Advantage on those who have not had a turn yet; hits on the surprised are critical.",
    "Duergar Resilience": "Advantage against poison, spells, illusions, charm and paralysis.",
    "Read Thoughts": "Reads the surface thoughts of one creature near it while it concentrates.",
    "Heated Weapons": "Its metal weapons burn, counted in already.",
    "Swallow": "Bites a creature that it grapples and swallows it: blinded, restrained, under full cover "
    "from outside, and digested each turn.",
    "Illumination": "Sheds light.",
    "Limited Telepathy": "Sends simple messages and pictures to whoever knows a language.",
    "Shark Telepathy": "Commands sharks within 120 ft.",
    "Rampage": "After felling or wounding a foe: half its speed and a bite.",
    "Charge": "Moves up to half its speed straight at an enemy it sees.",
    "Misty Escape": "At 0 hit points outside its grave it becomes mist, if it can, and must reach its resting "
    "place within 2 hours.",
    "Hag Coven": "Three hags together cast shared spells.",
    "Hag Eye": "A coven makes a gem of an eye, and sees through it.",
    "Variant: Familiar": "Serves a master whose senses and magic resistance it shares within 1 mile.",
    "Variant: Genie Powers": "Some know more magic, or disguise themselves.",
    "Vampire Weaknesses": "Enters no home unbidden; 20 acid damage each turn ended in running water; a stake through the heart "
    "paralyzes it "
    "in its resting place; each turn begun in sunlight 20 radiant damage, and disadvantage on attacks and checks there.",
    "Vampire Weakness": "Enters no home unbidden; 20 acid damage each turn ended in running water; a stake through the heart "
    "paralyzes it "
    "in its resting place; each turn begun in sunlight 20 radiant damage, and disadvantage on attacks and checks there.",
    "Rejuvenation": "Slain, it comes back with all its hit points unless what it is bound to is destroyed, or a wish stops it.",
    "Spirit Jar": "Slain, it comes back with all its hit points beside its jar.",
    "Undead Restoration": "Slain, it comes back.",
    "Undead Fortitude": "At 0 hit points a Constitution save, DC 5 + the damage, leaves it 1; not against radiant "
    "damage or critical hits.",
    "Turn Resistance": "Advantage on saves against being turned.",
    "Teleport": "Vanishes with its gear and appears elsewhere.",
    "Ethereal Sight": "Sees 60 ft. between the Material and the Ethereal Plane.",
    "Ethereal Jaunt": "Steps between the Material and the Ethereal Plane.",
    "Tunneler": "Burrows through rock at half speed and leaves a tunnel.",
    "Reflective Carapace": "Magic missile, line spells and ranged spell attacks at it fail on a d6 of 1 to 5, and "
    "turn on the caster on a 6.",
    "Phantasms": "Three false images, out of bright light: each attack may hit one, which then vanishes.",
    "Corrode Metal": "Nonmagical metal that hits it wears away, -1 each time, gone at -5; ammunition is lost.",
    "Rust Metal": "Nonmagical metal that hits it wears away, -1 each time, gone at -5; ammunition is lost.",
    "Faultless Tracker": "Knows the way to its quarry on its plane.",
    "Tail Spike Regrowth": "24 tail spikes; spent ones are back after a long rest.",
    "Labyrinthine Recall": "Never loses its way.",
    "Keen Senses": "Advantage on Perception.",
    "Limited Magic Immunity": "Spells of level 6 or lower do nothing to it unless it wishes; advantage on saves against others.",
    "Greater Magic Resistance": "Spells of level 1 or lower do nothing to it unless it wishes; advantage on saves against others.",
    "Grasping Tendrils": "Up to six tendrils, AC 20, 10 hit points each; a lost one grows again.",
    "Snow Camouflage": "Advantage on hiding in snow.",
    "Jumper": "Jumps by Dexterity instead of Strength.",
    "Berserk": "At 60 hit points or fewer it may run wild and attack whatever is nearest.",
    "Misty Step": "Casts Misty Step.",
    "Spiritual Weapon": "Casts Spiritual Weapon.",
    "Compression": "Fits through a gap of 1 inch.",
    "Antimagic Susceptibility": "Incapacitated in an antimagic field; dispel magic calls for a Constitution save or knocks "
    "it out for 1 minute.",
    "Variant: Spider Climb": "Climbs walls and ceilings without checks.",
    "Flying Sword": "The greatsword hovers by itself and strikes within 50 ft. as a bonus action.",
}
"""Own words for features without figures, by name; those with figures may add to them."""


NO_ATTACK = frozenset({"Multiattack", "Attack", "Move", "Detect"})
"""Names of actions that are words of the sentences about others."""


@dataclass(frozen=True)
class Block:
    """What the lines of a stat block need to know of it.

    Attributes:
        actions: names of its actions.
    """

    actions: Sequence[str]


Found = tuple[int, str]

Object = dict[str, Any]


def line(name: str, text: str, block: Block) -> str:
    """A feature in our own words; "" if nothing can be said of it."""
    plain = re.sub(r"\s*\(.*", "", name)
    text = " ".join(text.replace("*", "").split())
    if plain == "Multiattack":
        return _multiattack(text, block)
    if "pellcasting" in plain:
        return _spellcasting(text)
    found = _attack(text)
    own = "" if found else TRAITS.get(plain, "")
    facts = list(dict.fromkeys(_mined(text[found[0] if found else 0 :], block)))
    if own:
        facts = [fact for fact in facts if set(re.findall(r"\d+", fact)) - set(re.findall(r"\d+", own)) - {"0"}]
    parts = [found[1] if found else "", own, "; ".join(facts)]
    worded = " ".join(part for part in (_sentence(part) for part in parts) if part)
    return worded or ("As the action of that name." if block.actions.count(name) > 1 else "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.;')}." if text else ""


def _spaced(dice: str) -> str:
    return (
        re.sub(r" ?([+\u2212-]) ?", lambda m: f" {'+' if m[1] == '+' else '-'} ", dice)
        .replace("(", " (")
        .replace("  ", " ")
    )


# --- attacks ---------------------------------------------------------------------------------------------------------

_HEAD = re.compile(
    r"(?P<kind>Melee or Ranged|Melee|Ranged)(?: (?P<what>Weapon|Spell))? Attack(?: Roll)?: ?(?P<bonus>[+-]\d+)(?: to hit)?,? ?"
    r"(?P<how>(?:(?:or )?(?:reach|range) [\d/]+(?: ?(?:ft\.?|feet))?(?: (?=or))?)+)[^:]*?(?:Hit:?|\. (?=\d)|(?=\d+ \(\d+d))"
)
_HIT = re.compile(rf"({DICE}) ({DAMAGE})(?: or (?:{DAMAGE}))? damage", re.IGNORECASE)


def _attack(text: str) -> tuple[int, str] | None:
    """Where the damage of an attack ends, and the attack."""
    head = _HEAD.search(text)
    if head is None:
        return None
    reach = re.sub(r"(\d)(?: ?(?:ft\.?|feet))", r"\1 ft.", head["how"]).strip()
    reach = reach if reach.endswith("ft.") else f"{reach} ft."
    hits, end = [], head.end()
    while (match := _HIT.search(text, end)) and re.fullmatch(
        r"[\s,:]*(?:plus|and|the target takes)?\s*", text[end : match.start()]
    ):
        hits.append(f"{_spaced(match[1]).strip()} {match[2].lower()}")
        end = match.end()
    kind = f"{head['kind']} {'spell ' if head['what'] == 'Spell' else ''}attack"
    return end, f"{kind} {head['bonus']}, {reach}{': ' + ' + '.join(hits) if hits else ''}"


def _joined(parts: list[Found], text: str) -> str:
    """The attacks in order, with "or" where the text has it between two of them, and what may take the place of one."""
    listed, last, seen = "", 0, set[str]()
    for place, part in parts:
        between = text[last:place]
        if part in seen and not re.search(r"\bor\b", between):
            continue
        seen.add(part)
        swapped = re.search(r"replace (?:one|any|the)", between)
        joint = " or " if re.search(r"\bor\b", between) else "; instead of one " if swapped else ", "
        listed += f"{joint if listed else ''}{part}"
        last = place
    return listed


def _multiattack(text: str, block: Block) -> str:
    total = re.search(r"makes? (?:up to )?(\w+)\b[^.:]*?attacks?", text)
    names = sorted(
        {re.sub(r"\s*\(.*", "", n) for n in block.actions if n not in NO_ATTACK and not n.startswith("Variant")},
        key=len,
        reverse=True,
    )
    parts: list[Found] = []
    taken: list[range] = []
    for name in names:
        stem = re.escape(name.lower().removesuffix("s"))
        for match in re.finditer(
            rf"\b(?:(one|two|three|four|five|six|a|an) (?:[\w-]+ )?(?:with (?:its|his|her|their|the) )?)?({stem}(?:s|es|ves)?)\b",
            text.lower(),
        ):
            if any(match.start(2) in span for span in taken):
                continue
            taken.append(range(match.start(2), match.end(2)))
            count = NUMBERS.get(match[1] or "", 0)
            parts.append((match.start(2), f"{count} {name}" if count else name))
    more = re.search(r"\b(one|two|three|four|five) other attacks", text)
    parts += [(more.start(), f"{NUMBERS[more[1]]} more of:")] if more else []
    if re.search(r"as many \w+ attacks as (?:it|the \w+) has heads", text):
        return "1 attack a head."
    listed = _joined(sorted(parts), text).replace("of:,", "of:")
    whole = NUMBERS.get(total[1].lower()) if total else None
    attacks = f"{whole} attack{'s' if (whole or 0) > 1 else ''}"
    if most := re.search(r"only one (?:of which |of them )?can be (?:a|with its) (\w+)", text):
        return f"{attacks}, at most 1 {most[1].title()}."
    if re.search(r"in any combination", text):
        return f"{listed} in any mix." if re.search(r"\d", listed) else f"{attacks}: {listed} in any mix."
    if listed:
        return f"{listed}." if re.search(r"\d", listed) or not whole else f"{attacks}: {listed}."
    return f"{attacks}." if whole else ""


# --- spells ----------------------------------------------------------------------------------------------------------

_SLOTS = re.compile(
    r"(cantrips? \(at will\)|at will|\d+(?:st|nd|rd|th) level \(\d+ slots?\)|\d/day(?: each)?)\s*:\s*(.*?)"
    r"(?=\s*-?\s*(?:cantrips? \(at will\)|at will\b|\d+(?:st|nd|rd|th) level \(\d|\d/day|the \w+ (?:casts|can)|$))",
    re.IGNORECASE,
)


def _spellcasting(text: str) -> str:
    ability = re.search(rf"\b({ABILITY})\b", text)
    level = re.search(r"(\d+)\w\w-level spellcaster", text)
    save, bonus = re.search(r"save DC (\d+)", text), re.search(r"\+(\d+) to hit", text)
    head = ", ".join(
        part
        for part in (
            f"level {level[1]} caster" if level else "",
            ability[1] if ability else "",
            f"save DC {save[1]}" if save else "",
            f"spell attack +{bonus[1]}" if bonus else "",
            "no material components" if re.search(r"no material components", text, re.IGNORECASE) else "",
        )
        if part
    )
    lists = [
        f"{re.sub(r'(?i)cantrips? [(]at will[)]', 'cantrips', match[1]).lower()}: {match[2].strip(' -.;').lower()}"
        for match in _SLOTS.finditer(re.sub(r"\s-\s", " ", text))
    ]
    return " ".join(_sentence(part) for part in (head, "; ".join(lists)) if part)


# --- other facts -----------------------------------------------------------------------------------------------------

Template = str | Callable[[re.Match[str]], str]
"""What a fact is worded as: always the same, or with what was found in it."""


PATTERNS: tuple[tuple[re.Pattern[str], Template], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), template)
    for pattern, template in (
        (rf"DC (\d+) ({ABILITY}) sav(?:e|ing throw)", lambda m: f"DC {m[1]} {m[2]} save"),
        (rf"({ABILITY}) Saving Throw: DC (\d+)", lambda m: f"DC {m[2]} {m[1]} save"),
        (r"(ranged|melee) spell attack", lambda m: f"{m[1].lower()} spell attack"),
        (rf"\b({ABILITY}) (?:saving throw|save)", lambda m: f"{m[1].capitalize()} save"),
        (rf"DC (\d+) ({ABILITY}) \((\w+)\)", lambda m: f"{m[2]} ({m[3]}) DC {m[1]}"),
        (rf"DC (\d+) ({ABILITY}) check", lambda m: f"{m[2]} check DC {m[1]}"),
        (r"(?:fails|failed).{0,40}by 5 or more|by 5 or more", "by 5 or more"),
        (r"(first|second|third) failure:", lambda m: f"{m[1].lower()} failure"),
        (r"escape DC (\d+)", lambda m: f"escape DC {m[1]}"),
        (rf"{FEET}[- ](cone|cube|sphere|cylinder|line|emanation|radius)", lambda m: f"{m[1]}-ft. {m[2].lower()}"),
        (r"line that is (\d+) (?:feet|ft\.) long and (\d+) (?:feet|ft\.) wide", lambda m: f"line {m[1]} x {m[2]} ft."),
        (r"(\d+)-foot-long, (\d+)-foot-wide line", lambda m: f"line {m[1]} x {m[2]} ft."),
        (rf"within {FEET}", lambda m: f"within {m[1]} ft."),
        (rf"({DICE}) ({DAMAGE}) damage", lambda m: f"{_spaced(m[1]).strip()} {m[2].lower()}"),
        (rf"extra ({DICE}) damage", lambda m: f"{_spaced(m[1]).strip()} more"),
        (r"half as much damage|success: half damage|half damage", "half on a success"),
        (rf"(?<!against being )(?<!immune to )(?<!while )(?<!already )\b({CONDITION})\b", lambda m: m[1].lower()),
        (r"for (?:the next )?(\d+ (?:minute|hour|day|round)s?)", lambda m: f"for {m[1]}"),
        (r"until the (start|end) of (?:its|the \w+?(?:'s)?|the \w+ \w+'s|their|his|her) next turn",
         lambda m: f"until the next turn {m[1]}s"),
        (r"repeats? the sav(?:e|ing throw) at the end of each", "save again as each turn ends"),
        (r"immune to (?:this|the|that) [\w' -]+ for (?:the next )?24 hours", "after that immune to it for 24 hours"),
        (rf"regains? ({DICE}) hit points", lambda m: f"regains {_spaced(m[1]).strip()} hit points"),
        (rf"regains? (?:a number of )?hit points equal to ({DICE}) ?(?:plus|\+) your spellcasting (?:ability )?modifier",
         lambda m: f"regains {m[1]} + spellcasting modifier hit points"),
        (r"regains? (?:a number of )?hit points equal to", "regains as many hit points"),
        (r"hit point maximum (?:is reduced|decreases)", "lowers the hit point maximum as well"),
        (r"reduced by (\d+d\d+|\d+)", lambda m: f"reduced by {m[1]}"),
        (rf"push\w* .{{0,40}}?{FEET}", lambda m: f"pushes {m[1]} ft."),
        (rf"pull\w* .{{0,50}}?{FEET}", lambda m: f"pulls {m[1]} ft."),
        (rf"teleports? .{{0,60}}?{FEET}", lambda m: f"teleports {m[1]} ft."),
        (rf"jumps? up to {FEET}", lambda m: f"jumps {m[1]} ft."),
        (rf"long jump (?:is )?up to {FEET}", lambda m: f"long jump {m[1]} ft."),
        (rf"high jump is up to {FEET}", lambda m: f"high jump {m[1]} ft."),
        (rf"moves? at least {FEET} straight", lambda m: f"after {m[1]} ft. straight ahead"),
        (r"(moves?|fly|flies|swims?) up to (half )?its (?:\w+ )?speed", lambda m: f"moves {'half ' if m[2] else ''}its speed"),
        (r"speed is halved", "speed halved"),
        (r"speed (?:is reduced|decreases) by (\d+)", lambda m: f"speed -{m[1]} ft."),
        (r"(\d+) percent chance", lambda m: f"{m[1]} % chance"),
        (r"\b(\d+d\d+) (?!plus)([a-z]+s)\b", lambda m: f"{m[1]} {m[2]}"),
        (r"hold its breath for (\d+ \w+)", lambda m: f"holds its breath for {m[1]}"),
        (r"once every (\d+ hours)", lambda m: f"once every {m[1]}"),
        (r"adds (\d+) to its AC", lambda m: f"AC +{m[1]}"),
        (r"\+(\d+) bonus to (?:its |the [\w' ]+ )?AC", lambda m: f"AC +{m[1]}"),
        (r"can't take this action again(?: until the start of its next turn)?", "once a round"),
        (r"drops? to 0 hit points|reduced to 0 hit points|reduces? (?:it|a creature|the \w+) to 0 hit points", "at 0 hit points"),
        (r"\bdies?\b", "on death"),
        (r"(\d+) hit points or fewer", lambda m: f"with {m[1]} hit points or fewer"),
        (r"takes? the ([A-Z]\w+(?:, [A-Z]\w+)*,? or [A-Z]\w+|[A-Z]\w+) action", lambda m: m[1]),
        (r"\b(tiny|small|medium|large|huge) or smaller\b", lambda m: f"{m[1].lower()} or smaller"),
        (r"difficult terrain", "difficult terrain"),
        (r"can't regain hit points", "no healing"),
        (r"can't take reactions", "no reactions"),
        (r"disadvantage on attack rolls", "disadvantage on attacks"),
        (r"(?<!dis)advantage on (?:melee )?attack rolls", "advantage on attacks"),
        (r"heavily obscured", "heavily obscured"),
        (r"casts? ((?:[A-Z][\w'/]+(?: (?:of|and|from|the|with|to|or))*(?: (?=[A-Z]))?)+)(?: \((level \d) version\))?",
         lambda m: f"casts {m[1].strip()}{f' ({m[2]})' if m[2] else ''}"),
    )
)  # fmt: skip

_MADE = re.compile(
    r"makes? (a|an|one|two|three|four) (?:[\w-]+ )?([A-Za-z' ]+?) attacks?\b|makes? one attack with (?:its|her|his) (\w+)",
    re.IGNORECASE,
)


def _mined(text: str, block: Block) -> Iterator[str]:
    """The facts of a text in its order, without those that lie within another."""
    end = 0
    for start, stop, fact in sorted(_matches(text, block), key=lambda found: (found[0], -found[1])):
        if start >= end:
            yield fact
            end = stop


def _matches(text: str, block: Block) -> Iterator[tuple[int, int, str]]:
    for pattern, template in PATTERNS:
        flags_matter = pattern.pattern.startswith(("casts?", "takes? the"))
        for match in (re.compile(pattern.pattern) if flags_matter else pattern).finditer(text):
            yield match.start(), match.end(), template if isinstance(template, str) else template(match)
    for match in _MADE.finditer(text):
        number = NUMBERS.get((match[1] or "one").lower(), 1)
        names = [n for n in block.actions if n not in NO_ATTACK and n.lower() in (match[2] or match[3]).lower()]
        what = " or ".join(dict.fromkeys([*names, "attack"]))[:60] if names else "attack"
        what = what.removesuffix(" or attack") + (" attack" if names else "")
        yield match.start(), match.end(), f"{number} {what}{'s' if number > 1 else ''}"
    for name in {re.sub(r"\s*\(.*", "", each) for each in block.actions}:
        if used := re.search(rf"\buses? (?:its |her |his )?{re.escape(name)}\b", text):
            yield used.start(), used.end(), f"uses {name}"


# --- spells by slot --------------------------------------------------------------------------------------------------

_OPTION = re.compile(r"(slot|player)_level_(\d+)")

_CHANGES = (
    ("damage_roll", "{}"),
    ("target_count", "{} targets"),
    ("duration", "{}"),
    ("range", "range {} ft."),
    ("shape_size", "size {} ft."),
)


def slots(spell: Object) -> str:
    """What a spell does from higher slots, or at higher levels: "Slot 4: 9d6; slot 5: 10d6."."""
    said: dict[str, str] = {}
    base = {key: spell.get(key) for key, _ in _CHANGES}
    for option in spell.get("casting_options") or ():
        match = _OPTION.fullmatch(option.get("type") or "")
        changes = [
            form.format(f"{value:g}" if isinstance(value, float) else value)
            for key, form in _CHANGES
            if (value := option.get(key)) not in (None, "") and value != base[key]
        ]
        if match and changes:
            said[f"{'slot' if match[1] == 'slot' else 'level'} {match[2]}"] = ", ".join(changes)
    told = "" if said else _told(str(spell.get("higher_level") or ""))
    return _sentence(told or "; ".join(f"{when}: {what}" for when, what in said.items()))


_STEP = re.compile(
    r",? (?:for )?(?:each|every) (?P<two>two )?[a-z ]*?\b(?:level|slot)s?\b[a-z ]*? (?:above|beyond|to) "
    r"(?:the )?(?P<level>\d|fifth)"
)
_MORE = re.compile(
    r"(?P<dice>\d+d\d+)|by (?:an additional )?(?P<feet>\d+) feet|by (?:an additional )?(?P<by>\d+)\b"
    r"|\b(?P<count>\d+|an|one|two|three) (?:additional|willing)\b(?! \d)(?P<what> gallons| temporary hit points)?"
    r"|(?:one|1) level higher",
    re.IGNORECASE,
)
_AT_LEVEL = re.compile(r"(?P<times>twice|three times|four times) as many with an? (?P<slot>\d)th")
_FROM_LEVEL = re.compile(r"slot of (?P<slot>\d)\w\w[^.]*?(?P<what>\d+ hours|\+\d|until dispelled)")


def _told(text: str) -> str:
    """The same of a source that has it in words alone: "Each slot above 1: +1d8", "Slot 3: 8 hours; slot 5: 24 hours"."""
    for sentence in text.replace("\n", " ").split(". "):
        if step := _STEP.search(sentence):
            level = "5" if step["level"] == "fifth" else step["level"]
            more = ", ".join(dict.fromkeys(_added(match) for match in _MORE.finditer(sentence, 0, step.start())))
            return f"{'each two slots' if step['two'] else 'each slot'} above {level}: {more}" if more else ""
    many = [f"slot {match['slot']}: {match['times']} as many" for match in _AT_LEVEL.finditer(text)]
    lasting = [f"slot {match['slot']}: {match['what']}" for match in _FROM_LEVEL.finditer(text)]
    return "; ".join(many or lasting)


def _added(match: re.Match[str]) -> str:
    if match["count"]:
        number = NUMBERS.get(match["count"], match["count"])
        return f"+{number}{match['what'].lower()}" if match["what"] else f"{number} more"
    if match["feet"]:
        return f"+{match['feet']} ft."
    return f"+{match['dice'] or match['by'] or '1 level'}"
