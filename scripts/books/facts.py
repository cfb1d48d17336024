"""What is compared: facts of entries in one shape, and the readers of printed stat blocks, spells and tables that make it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

Facts = dict[str, str]
"""A fact's name, such as "speed fly", and its value, in the form that `value` gives."""

Book = dict[tuple[str, str], Facts]
"""Facts by kind and by the name of the entry, as `name` gives it."""

ABILITIES = ("str", "dex", "con", "int", "wis", "cha")
DAMAGE = "acid|bludgeoning|cold|fire|force|lightning|necrotic|piercing|poison|psychic|radiant|slashing|thunder"

_DICE = r"\d+d\d+(?: ?[+-] ?\d+)?"
_DAMAGE = re.compile(rf"(?:\b(\d+) \(({_DICE})\)|\b({_DICE})|\b(\d+)) ({DAMAGE})\b")
_ATTACK = re.compile(
    r"(?:attack roll: ([+-]\d+)|([+-]\d+) to hit),?(?: with [^,]{1,40},)? ((?:reach|ranged?) [^.]{1,60}?(?:ft|feet))"
)
_FEATURE = re.compile(r"(?m)^\*{2,3}_?([^*\n]{1,90}?)[.:]?_?\*{2,3}[.:]? *(.*(?:\n(?!\*{2,3}|#)[^\n]*)*)")
_LINE = re.compile(r"(?m)^(?:- )?\*\*([A-Z][A-Za-z ]{1,40}?):?\*\*:? *(.+?) *$")
_MEASURE = re.compile(r"(\d[\d,]*)[ -](?:feet|foot|ft)\b")


def value(text: object) -> str:
    """A value without capitals, marks and differences of type: "5 feet" is "5 ft", "20 ft./60 ft." is "20/60 ft"."""
    found = str(text).replace("*", "").replace("−", "-").replace("–", "-").replace("’", "'").replace("_", " ")
    found = re.sub(r"\b(?:feet|foot)\b|\bft\.", "ft", found.casefold())
    found = re.sub(r" ?ft(?= ?/ ?\d)", "", found)
    return re.sub(r"\s+", " ", found.replace("½", ".5")).strip(" .;,")


def name(text: str) -> str:
    """The name of an entry or of a part of it, without marks and what stands in brackets."""
    found = value(re.sub(r"\([^)]*\)", "", text)).replace("-", " ")
    return re.sub(r"[^a-z0-9'+ /,]", "", found).strip()


def listed(items: Iterable[str]) -> str:
    """A list, in the order of the alphabet."""
    return ", ".join(sorted(filter(None, items)))


def numbers(feature: str) -> dict[str, str]:
    """The numbers of a text of the rules: attacks, damage, difficulty classes and distances."""
    text = value(feature)
    attacks = [f"{hit or to_hit} {re.sub(r'ranged? ', 'range ', far)}" for hit, to_hit, far in _ATTACK.findall(text)]
    damage = [
        f"{(dice or alone or flat).replace(' ', '')} {kind}" for _, dice, alone, flat, kind in _DAMAGE.findall(text)
    ]
    found = {
        "attack": "; ".join(attacks),
        "damage": listed(damage),
        "dc": listed(set(re.findall(r"\bdc (\d+)", text))),
        "distances": listed({each.replace(",", "") for each in _MEASURE.findall(text)}),
    }
    return {key: each for key, each in found.items() if each}


def features(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the traits and actions of a stat block."""
    yield from _FEATURE.findall(text)


def lines(text: str) -> dict[str, str]:
    """The labelled lines at the head of an entry, by their labels in lower case."""
    return {label.casefold(): body for label, body in _LINE.findall(text)}


def bonuses(text: str) -> dict[str, str]:
    """ "Con +6, Int +8" by the first letters of the abilities, or by skill."""
    return {
        key.casefold().strip(): sign
        for key, sign in re.findall(r"([A-Za-z][A-Za-z ]+?) ([+-]\d+)", text.replace("−", "-"))
    }


def speeds(text: str) -> Facts:
    """Speeds in feet, by the way of moving."""
    found: Facts = {}
    for mode, feet in re.findall(r"(?:\b(burrow|climb|fly|swim) )?(\d+) ft", value(text)):
        if int(feet):
            found.setdefault(f"speed {mode or 'walk'}", feet)
    if "hover" in value(text):
        found["hover"] = "yes"
    return found


def senses(text: str) -> Facts:
    """Ranges of senses in feet, and passive Perception."""
    found: Facts = {}
    for sense, feet in re.findall(r"\b(blindsight|darkvision|tremorsense|truesight) (\d+)", value(text)):
        found[f"sense {sense}"] = feet
    if passive := re.search(r"passive perception (\d+)", value(text)):
        found["passive perception"] = passive[1]
    return found


def stat_block(text: str) -> Facts:
    """The facts of a stat block in Markdown."""
    head = lines(text)
    facts: Facts = {}
    if kind := re.search(r"(?m)^\*([A-Z][^*\n]+)\*$", text):
        facts |= _kind(kind[1])
    facts["armor class"] = value(head.get("armor class", "")).split(" ")[0]
    if hit_points := re.match(r"(\d+) \(([^)]+)\)", value(head.get("hit points", ""))):
        facts |= {"hit points": hit_points[1], "hit dice": hit_points[2].replace(" ", "")}
    facts |= speeds(head.get("speed", "")) | senses(head.get("senses", ""))
    facts["initiative"] = value(head.get("initiative", ""))
    facts["languages"] = value(head.get("languages", ""))
    facts |= {f"skill {skill}": bonus for skill, bonus in bonuses(head.get("skills", "")).items()}
    facts |= {f"save {ability[:3]}": bonus for ability, bonus in bonuses(head.get("saving throws", "")).items()}
    for key, labels in _DEFENCES.items():
        facts[key] = listed(part for label in labels for part in defences(head.get(label, "")))
    facts |= _challenge(text) | _abilities(text)
    for title, body in features(text):
        facts |= {f"{name(title)}: {key}": each for key, each in numbers(body).items()}
        facts |= uses(title)
    return {key: each for key, each in facts.items() if each and each != "-"}


_DEFENCES = {
    "vulnerable": ("damage vulnerabilities", "vulnerabilities"),
    "resistant": ("damage resistances", "resistances"),
    "immune": ("damage immunities", "condition immunities", "immunities"),
}


def defences(text: str) -> list[str]:
    """Damage types and conditions of a line, by themselves."""
    return re.findall(rf"\b(?:{DAMAGE}|{CONDITIONS})\b", value(text))


CONDITIONS = (
    "blinded|charmed|deafened|exhaustion|frightened|grappled|incapacitated|invisible|paralyzed|petrified|poisoned|prone|"
    "restrained|stunned|unconscious"
)


def uses(title: str) -> Facts:
    """How often a trait or an action can be used, as stands behind its name."""
    found = re.search(r"\((?:[^)]*; )?(\d+/day|recharge \d(?:-\d)?|costs \d actions)", value(title))
    return {f"{name(title)}: uses": found[1]} if found else {}


def _kind(text: str) -> Facts:
    before, _, alignment = value(text).partition(", ")
    if before.count("(") > before.count(")"):
        more, _, alignment = alignment.partition("), ")
        before = f"{before}, {more})"
    size = listed(re.findall(r"\b(?:tiny|small|medium|large|huge|gargantuan)\b", before.partition("swarm")[0]))
    kind = re.findall(
        r"\b(aberration|beast|celestial|construct|dragon|elemental|fey|fiend|giant|humanoid|monstrosity|ooze|plant|undead)",
        before.partition("(")[0],
    )
    return {"size": size, "type": kind[-1] if kind else "", "alignment": alignment}


def _challenge(text: str) -> Facts:
    found = re.search(r"(?m)^- \*\*(?:Challenge|CR)\*\* ([\d/]+) \(([^)]*)\)", text)
    if not found:
        return {}
    points = re.search(r"[\d,]+", found[2].replace("0 or 10", "10"))
    return {"challenge": found[1], "experience": points[0].replace(",", "") if points else ""}


def _abilities(text: str) -> Facts:
    if row := re.search(r"(?m)^\| STR .*\n\|[-| ]+\n\|(.*)\|$", text):
        return {ability: cell.split()[0] for ability, cell in zip(ABILITIES, row[1].split("|"), strict=True)}
    rows = re.findall(r"(?m)^\| (STR|DEX|CON|INT|WIS|CHA) \| (\d+) \| [+-]?\d+ \| ([+-]?\d+)", text.replace("−", "-"))
    scores = {short.lower(): score for short, score, _ in rows}
    return scores | {f"save {short.lower()}": f"{int(bonus):+d}" for short, _, bonus in rows}


# --- spells, items, tables -------------------------------------------------------------------------------------------


def spell(text: str) -> Facts:
    """The facts of a spell in Markdown."""
    kind = re.search(r"(?m)^\*([^*\n]+)\*", text)
    head, body = lines(text), re.split(r"(?m)^(?:- )?\*\*(?:Duration|Classes):?\*\*.*$", text)[-1]
    facts = spell_head(kind[1] if kind else "", head)
    return facts | {key: each for key, each in prose(body).items() if each}


_SCHOOLS = "abjuration|conjuration|divination|enchantment|evocation|illusion|necromancy|transmutation"


def spell_head(kind: str, head: Mapping[str, str]) -> Facts:
    """Level, school, classes and the lines of a spell."""
    first, casting = value(kind), value(head.get("casting time", ""))
    level, school = re.search(r"(\d)", first), re.search(_SCHOOLS, first)
    within = re.search(r"\(([^)]*)\)", first) if "classes" not in head else None
    duration = value(head.get("duration", ""))
    components = value(head.get("components", head.get("component", "")))
    return {
        "level": "0" if "cantrip" in first else level[1] if level else "",
        "school": school[0] if school else "",
        "classes": listed(re.split(r", ?", within[1] if within else value(head.get("classes", "")))),
        "casting time": re.sub(
            r"^1 (?=action|bonus|reaction)", "", re.sub(r" or ritual|,? \(?which.*|, *taken.*|\(.*", "", casting)
        ).strip(" ,"),
        "ritual": "yes" if "ritual" in f"{casting} {first}" else "no",
        "range": re.sub(r" \(.*", "", value(head.get("range", ""))),
        "components": re.sub(r" \(.*", "", components),
        "material cost": listed(re.findall(r"([\d,]+) ?gp", components)),
        "duration": re.sub(r"^concentration,? (?:up to )?|^up to ", "", duration),
        "concentration": "yes" if "concentration" in duration else "no",
    }


def prose(text: str) -> Facts:
    """The numbers of a spell's or an item's text: dice, damage, saving throws and distances."""
    plain = value(re.sub(r"(?m)^\|.*$", "", text))
    saves = re.findall(r"\b(strength|dexterity|constitution|intelligence|wisdom|charisma) (?:saving throw|save)", plain)
    return {
        "dice": listed(set(re.findall(r"\b\d*d\d+\b", plain))),
        "damage": listed(set(re.findall(rf"\b({DAMAGE}) damage", plain))),
        "saves": listed(set(saves)),
        "distances": listed({each.replace(",", "") for each in _MEASURE.findall(plain)}),
    }


def money(text: str) -> str:
    """A price in gold pieces: "5 CP" is "0.05"; "" if it varies."""
    found = re.search(r"([\d,.]+) ?(cp|sp|ep|gp|pp)", value(text))
    if not found:
        return ""
    worth = {"cp": 0.01, "sp": 0.1, "ep": 0.5, "gp": 1, "pp": 10}[found[2]]
    return f"{float(found[1].replace(',', '')) * worth:g}"


def pounds(text: str) -> str:
    """A weight in pounds: "1/4 lb." is "0.25"."""
    found = re.search(r"(?:(\d+)/(\d+)|([\d,.]+)) ?lb", value(text))
    if not found:
        return ""
    weight = int(found[1]) / int(found[2]) if found[1] else float(found[3].replace(",", ""))
    return f"{weight:g}" if weight else ""


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the tables of a text, cell by cell."""
    for line in text.splitlines():
        if line.startswith("|") and not re.match(r"^[|\s:-]+$", line):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def class_table(text: str) -> Facts:
    """A class by level: proficiency bonus, features and every column."""
    facts: Facts = {}
    head: list[str] = []
    for cells in rows(text):
        if value(cells[0]) == "level":
            head = [column(cell) for cell in cells]
        elif head and cells[0].isdigit() and len(cells) == len(head):
            for title, cell in zip(head[1:], cells[1:], strict=True):
                found = value(cell)
                if title == "features":
                    found = listed(feature(each) for each in re.split(r", (?![^(]*\))", found))
                found = re.sub(r"^(\d)(?:st|nd|rd|th)$", r"\1", found.removeprefix("+"))
                facts[f"level {int(cells[0]):02d} {title}"] = "" if found in ("-", "—", "0") else found
    return {key: each for key, each in facts.items() if each}


def class_traits(saves: str, hit_die: str) -> Facts:
    """The saving throws and the hit die of a class: "Strength and Dexterity", "D8 per Monk level"."""
    die = re.search(r"d\d+", value(hit_die))
    return {"saves": listed(re.split(r", (?:and )?| and ", value(saves))), "hit die": die[0] if die else ""}


def feature(text: str) -> str:
    """The name of a class's feature, without what its level adds to it."""
    return re.sub(r" feature$| \(.*|—|^-$", "", value(text)).replace("-", " ")


def column(text: str) -> str:
    """The name of a column of a class's table."""
    found = re.sub(r"^class ", "", value(text))
    slot = re.match(r"(\d)(?:st|nd|rd|th)?(?: level slots)?$", found)
    return f"slots {slot[1]}" if slot else found
