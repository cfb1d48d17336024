"""XML compendiums, as Fight Club 5 and Game Master 5 read them: spells, monsters, items, classes, races, backgrounds, feats.

The names of elements, and what the letters in them stand for, are those of files that both programs accept.

Collections of such files are made to be merged by name. A spell without level, school and text is a list of further classes
for the spell of that name, perhaps in another file. A class without hit dice holds the features of a subclass, or further ones of
the class. Names end in the edition where a collection has several: ``Shield [5.5e]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self
from xml.etree.ElementTree import Element

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import equipment, lined, options, statblocks
from lorekeeper.normalize.build import Imported, Origin, build, own_error, part_key, slugify, without_empty
from lorekeeper.printable import shown
from lorekeeper.records.values import first_number
from lorekeeper.terms import ABILITY_OF

SOURCE = "fight-club"

SCHOOLS = {
    "A": "abjuration",
    "C": "conjuration",
    "D": "divination",
    "EN": "enchantment",
    "EV": "evocation",
    "I": "illusion",
    "N": "necromancy",
    "T": "transmutation",
}

SIZES = {"T": "Tiny", "S": "Small", "M": "Medium", "L": "Large", "H": "Huge", "G": "Gargantuan"}

DAMAGES = {
    "A": "acid",
    "B": "bludgeoning",
    "C": "cold",
    "F": "fire",
    "FC": "force",
    "L": "lightning",
    "N": "necrotic",
    "P": "piercing",
    "PS": "poison",
    "PY": "psychic",
    "R": "radiant",
    "S": "slashing",
    "T": "thunder",
}

PROPERTIES = {
    "2H": "Two-Handed",
    "A": "Ammunition",
    "F": "Finesse",
    "H": "Heavy",
    "L": "Light",
    "LD": "Loading",
    "M": "Martial",
    "R": "Reach",
    "S": "Special",
    "T": "Thrown",
    "V": "Versatile",
}

ITEMS: Mapping[str, tuple[str, str]] = {
    "LA": ("armor", "Light Armor"),
    "MA": ("armor", "Medium Armor"),
    "HA": ("armor", "Heavy Armor"),
    "S": ("armor", "Shield"),
    "M": ("weapon", "Weapon"),
    "R": ("weapon", "Weapon"),
    "A": ("gear", "Ammunition"),
    "RD": ("magic-item", "Rod"),
    "ST": ("magic-item", "Staff"),
    "WD": ("magic-item", "Wand"),
    "RG": ("magic-item", "Ring"),
    "P": ("magic-item", "Potion"),
    "SC": ("magic-item", "Scroll"),
    "W": ("magic-item", "Wondrous Item"),
    "G": ("gear", "Adventuring Gear"),
    "$": ("gear", "Treasure"),
}
"""Kind and category of an item by the letters of its type."""

NO_LORE = frozenset({"campaign", "player", "pc", "npc", "encounter", "note", "combat", "adventure"})
"""Elements that are useful only in the program they are from."""

_SOURCE = re.compile("Source:", re.IGNORECASE)
_PAGE = re.compile(r" p\.? ?\d", re.IGNORECASE)
_RARITY = re.compile(r"\b(very rare|rare|uncommon|common|legendary|artifact)\b", re.IGNORECASE)
_NO_CLASS = re.compile(r"school\b|ritual caster\b|touch spells\b", re.IGNORECASE)
"""What some files list among classes without being one."""

_CLASSES = frozenset(
    "artificer barbarian bard cleric druid fighter monk paladin ranger rogue sorcerer warlock wizard".split()
)
"""Classes of the books: what stands in parentheses behind their names is a subclass, or another version of the class."""

_FOLLOWED = re.compile(r"(?:(?<!\s)\s+)?[(\[].*")
_EDITION = re.compile(r"(?:(?<!\s)\s+)?(?:\[(?:(5\.5e?|2024)|5\.?0?e?|2014)\]|\(Legacy\))", re.IGNORECASE)

GAME_SYSTEMS = {
    "2014": {"name": "5th Edition 2014", "key": "5e-2014"},
    "2024": {"name": "5th Edition 2024", "key": "5e-2024"},
}
"""The game systems of the editions that names end in."""

CLASS_LIST = "list of classes of a spell"
"""What a spell element is that only has classes."""


class Name(NamedTuple):
    """The name of an element.

    Attributes:
        text: without the edition.
        edition: that it ends in, "" for none.
    """

    text: str
    edition: str

    @classmethod
    def of(cls, element: Element) -> Self:
        """The name of an element, "" without one."""
        written = _text(element, "name") or ""
        match = _EDITION.search(written)
        if match is None:
            return cls(written, "")
        return cls(_EDITION.sub("", written).strip(), "2024" if match[1] else "2014")

    @property
    def key(self) -> tuple[str, str]:
        """What spells of several files are merged by."""
        return slugify(self.text), self.edition


@dataclass
class ClassLists:
    """The classes that files list for spells of other files, and the spells that they have whole, by `Name.key`."""

    classes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    spells: set[tuple[str, str]] = field(default_factory=set)

    def add(self, root: Element) -> None:
        """Take in the spells of a compendium."""
        for element in root.iterfind("spell"):
            key = Name.of(element).key
            if is_class_list(element):
                self.classes.setdefault(key, []).extend(_listed(_text(element, "classes")))
            else:
                self.spells.add(key)


def is_class_list(element: Element) -> bool:
    """Whether a spell element only lists classes of the spell of that name."""
    return not any(_text(element, tag) for tag in ("level", "school", "time", "range", "duration"))


def compendium(root: Element, document: str, document_name: str, lists: ClassLists | None = None) -> Imported:
    """Everything in a compendium.

    Entries of an edition that other entries of the file do not have are of a document of their own.

    Args:
        root: its outermost element.
        document: key of the document to assign everything to.
        document_name: title of that document.
        lists: those of all files that are imported together; of this one by default.
    """
    if lists is None:
        lists = ClassLists()
        lists.add(root)
    result = Imported()
    origins = _origins(root, document, document_name)
    result.entities += [_book(origin, edition) for edition, origin in origins.items() if edition]
    for place, element in enumerate(root):
        name = Name.of(element)
        where = f"{element.tag}[{place}] {shown(name.text, 60)}"
        reader = READERS.get(element.tag)
        if element.tag == "spell" and is_class_list(element) and _text(element, "classes"):
            result.skipped[
                CLASS_LIST if name.key in lists.spells else f"{CLASS_LIST} that is in none of the files"
            ] += 1
            continue
        if reader is None:
            result.skipped[element.tag] += 1
            continue
        if element.tag == "spell":
            _add_classes(element, lists.classes.get(name.key, []))
        try:
            with own_error():
                for entity, problems in reader(element, origins[name.edition]):
                    result.entities.append(entity)
                    result.warnings += [(where, problem) for problem in problems]
            result.texts += _said(element)
        except FilterError as error:
            result.failed.append((where, str(error)))
    return result


def _origins(root: Element, document: str, title: str) -> dict[str, Origin]:
    """The document of each edition that names in a file end in: the file's own if there is only one."""
    editions = Counter(Name.of(element).edition for element in root if element.tag in READERS)
    if len(editions) < 2:
        return dict.fromkeys(editions, Origin(SOURCE, document, title))
    return {
        edition: Origin(
            SOURCE, f"{document}-{edition}" if edition else document, f"{title} ({edition})" if edition else title
        )
        for edition in editions
    }


def _book(origin: Origin, edition: str) -> Entity:
    """The document of an edition."""
    title, system = origin.document_name or origin.document, GAME_SYSTEMS[edition]
    data = {"name": title, "gamesystem": system}
    fields = {"game_system": system["name"]}
    return build("documents", data, origin, name=title, kind="document", slug=origin.document, fields=fields)


def _add_classes(element: Element, classes: Iterable[str]) -> None:
    """Add what other elements list to the classes of a spell."""
    found = [*_listed(_text(element, "classes")), *classes]
    child = element.find("classes")
    if found and child is None:
        child = Element("classes")
        element.append(child)
    if child is not None:
        child.text = ", ".join(dict.fromkeys(found))


def _said(element: Element) -> Iterator[tuple[str, str]]:
    """The texts in an element: without the book that it is from. Lists and names are taken apart as they are read."""
    for part in element.iter():
        if part.tag in _LISTS:
            yield from ((part.tag, _FOLLOWED.sub("", each)) for each in _listed(part.text))
        elif part.tag == "name":
            yield part.tag, _FOLLOWED.sub("", (part.text or "").rpartition(": ")[2])
        else:
            yield part.tag, _SOURCE.split(part.text or "")[0]


_LISTS = frozenset({"classes", "proficiency"})

Read = tuple[Entity, list[str]]

# --- elements --------------------------------------------------------------------------------------------------------


def _text(element: Element, tag: str) -> str | None:
    """The text of the first child of that name, None without one."""
    found = element.find(tag)
    return (found.text or "").strip() or None if found is not None else None


def _texts(element: Element, tag: str = "text") -> str:
    """The texts of all children of that name, a line each: an empty one parts paragraphs."""
    return "\n".join((each.text or "").strip() for each in element.findall(tag)).strip()


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _described(element: Element, tag: str = "text") -> tuple[str, str | None]:
    """The text of an element in children of a name, and the book that its last line names as the source."""
    text = _texts(element, tag)
    match = _SOURCE.search(text, text.rfind("\n") + 1)
    if match is None:
        return text, None
    book = _PAGE.split(" ".join(text[match.end() :].split()), maxsplit=1)[0]
    return text[: match.start()].rstrip(), book.strip(" ,") or None


def _is_yes(text: str | None) -> bool:
    return (text or "").casefold() in ("yes", "1", "true")


def _made(entity_type: str, kind: str, data: Mapping[str, Any], origin: Origin, fields: Mapping[str, Any]) -> Read:
    return build(
        entity_type, without_empty(data), origin, name=str(data.get("name") or ""), kind=kind, fields=fields
    ), []


# --- spells ----------------------------------------------------------------------------------------------------------


def _school(code: str) -> str | None:
    """A school by its letters or its name."""
    return SCHOOLS.get(code.upper()) or (code.lower() if len(code) > 2 else None)


def _classes(listed: list[str]) -> dict[str, Any]:
    """The classes on whose lists a spell is, and what else has it: ``Fighter (Eldritch Knight)`` is none of fighters.

    What follows the name of any other class says whose class it is.
    """
    classes: dict[str, None] = {}
    others: dict[str, None] = {}
    for written in listed:
        name = _EDITION.sub("", written)
        base = _FOLLOWED.sub("", name)
        if base != name and base.lower() in _CLASSES:
            others[name] = None
        elif not _NO_CLASS.match(base):
            classes[base] = None
    return {"classes": list(classes), "archetype": ", ".join(others)}


_SPELL_LINES = ("time", "range", "components", "duration")


def _spell(element: Element, origin: Origin) -> Iterator[Read]:
    """A spell, or an option of a class that stands among spells because a character chooses it like one."""
    name = Name.of(element).text
    if not _text(element, "school") and (": " in name or not any(_text(element, tag) for tag in _SPELL_LINES)):
        yield _chosen(element, origin)
        return
    text, book = _described(element)
    level, school = first_number(_text(element, "level")), _school(_text(element, "school") or "")
    is_whole = school is not None and _text(element, "time") is not None  # files leave the level of cantrips out
    values: dict[str, Any] = {
        "name": name,
        "level": int(level or 0) if level is not None or is_whole else None,
        "school": school,
        "ritual": _is_yes(_text(element, "ritual")),
        **{tag: _text(element, tag) or "" for tag in _SPELL_LINES},
        **_classes(_listed(_text(element, "classes"))),
        "text": text,
        "book": book,
    }
    yield lined.spell(values, origin), []


def _chosen(element: Element, origin: Origin) -> Read:
    """An invocation, a maneuver, a metamagic option, ...: an optional feature, with the lines that a spell would have."""
    text, book = _described(element)
    lines = {tag: _text(element, tag) for tag in _SPELL_LINES}
    data = {"name": Name.of(element).text, **lines, **_classes(_listed(_text(element, "classes")))}
    return _made("rules", "optional-feature", {**data, "desc": text, "book": book}, origin, {})


# --- monsters --------------------------------------------------------------------------------------------------------

_RUBRICS = {"trait": "traits", "action": "actions", "reaction": "reactions", "legendary": "legendary_actions"}

_LINES = {
    "save": "saves",
    "skill": "skillsaves",
    "resist": "damage_resistances",
    "vulnerable": "damage_vulnerabilities",
    "immune": "damage_immunities",
    "conditionImmune": "condition_immunities",
    "senses": "senses",
    "languages": "languages",
    "cr": "cr",
    "environment": "environment",
    "alignment": "alignment",
    "speed": "speed",
    "ac": "ac",
    "hp": "hp",
    "init": "initiative_bonus",
}
"""Elements of a monster, and the keys of a stat block that they are."""


def _monster(element: Element, origin: Origin) -> Iterator[Read]:
    kind, _, book = (_text(element, "type") or "").partition(",")
    description, named = _described(element, "description")
    size, senses = _text(element, "size") or "", _text(element, "senses") or ""
    passive = _text(element, "passive")
    scores = [_text(element, ability) for ability in ABILITY_OF]
    values: dict[str, object] = {key: _text(element, tag) for tag, key in _LINES.items()}
    values |= {
        "name": Name.of(element).text,
        "size": SIZES.get(size.upper(), size),
        "type": kind.strip(),
        "stats": scores if any(scores) else None,
        "saves": _listed(_text(element, "save")),
        "skillsaves": _listed(_text(element, "skill")),
        "senses": ", ".join(filter(None, [senses, f"passive Perception {passive}" if passive else ""])),
        "desc": description,
        "book": named or book.strip(),
        **{key: [_feature(each) for each in element.findall(tag)] for tag, key in _RUBRICS.items()},
    }
    yield statblocks.creature(values, origin)


def _feature(element: Element) -> dict[str, str]:
    return {"name": Name.of(element).text, "desc": _texts(element)}


# --- items -----------------------------------------------------------------------------------------------------------


def _item(element: Element, origin: Origin) -> Iterator[Read]:
    text, book = _described(element)
    detail, letters = _text(element, "detail") or "", _text(element, "type") or ""
    kind, category = ITEMS.get(letters.upper(), ("gear", letters))
    rarity = _RARITY.search(detail) or _RARITY.search(_text(element, "rarity") or "")
    is_magic = _is_yes(_text(element, "magic")) or rarity is not None
    names = [PROPERTIES.get(code, code) for code in _listed(_text(element, "property"))]
    name = Name.of(element).text
    words = {
        "name": name,
        "category": category,
        "rarity": rarity[0].lower() if rarity else None,
        "requires_attunement": ("attunement" in detail.casefold() or None) if is_magic else None,
        "cost": first_number(_text(element, "value")),
        "weight": first_number(_text(element, "weight")),
        **_weapon(element),
        "properties": names,
        **_armor(element),
        "desc": text,
        "book": book,
    }
    more = [f"{training} weapon" for training in _training(kind, letters, names)]
    fields = {
        **(equipment.read_magic if is_magic else equipment.read)(words),
        "properties": [each.lower() for each in names if each != "Martial"] or None,
        "category": equipment.categories(category, *more),
    }
    data = {**words, "requires_attunement": fields["requires_attunement"]}
    yield _made("equipment", "magic-item" if is_magic else kind, data, origin, fields)


def _weapon(element: Element) -> dict[str, str | None]:
    return {
        "damage_dice": _text(element, "dmg1"),
        "versatile_dice": _text(element, "dmg2"),
        "damage_type": DAMAGES.get((_text(element, "dmgType") or "").upper()),
        "range": _text(element, "range"),
    }


def _armor(element: Element) -> dict[str, float | None]:
    armor = first_number(_text(element, "ac"))
    return {
        "armor_class": int(armor) if armor is not None else None,
        "strength_requirement": first_number(_text(element, "strength")),
        "stealth_disadvantage": _is_yes(_text(element, "stealth")) or None,
    }


def _training(kind: str, letters: str, names: list[str]) -> Iterator[str]:
    """What weapon it is, as the categories have it."""
    if kind == "weapon":
        yield "martial" if "Martial" in names else "simple"
        yield "ranged" if letters.upper() == "R" else "melee"


# --- character options -----------------------------------------------------------------------------------------------


MORE = {
    "resist": "Damage Resistance",
    "conditionResist": "Condition Resistance",
    "spellAbility": "Spellcasting Ability",
    "spells": "Spells",
    "armor": "Armor Proficiencies",
    "weapons": "Weapon Proficiencies",
    "tools": "Tool Proficiencies",
    "special": "Special",
}
"""Elements of an option that its traits do not repeat, and what they are called."""


def _option(kind: str, *lines: tuple[str, str]) -> Callable[[Element, Origin], Iterator[Read]]:
    """A reader of elements with traits: the key of each of their lines, by its element."""

    def read(element: Element, origin: Origin) -> Iterator[Read]:
        text, book = _described(element)
        read_as_lines = {tag for _, tag in lines}
        more = [
            {"name": label, "desc": value}
            for tag, label in MORE.items()
            if tag not in read_as_lines and (value := _text(element, tag))
        ]
        data = {
            "name": Name.of(element).text,
            **{key: _text(element, tag) for key, tag in lines},
            "desc": text,
            "traits": [*map(_feature, element.findall("trait")), *more],
            "book": book,
        }
        yield _made("character_options", kind, data, origin, options.read(data) if kind != "race" else {})

    return read


@dataclass(frozen=True)
class ClassFeature:
    """A feature of a class or subclass.

    Attributes:
        name: without the edition, the level and the subclass.
        text: of it, without the source.
        level: at which it is gained.
        optional: whether only some characters of the class have it.
    """

    name: str
    text: str
    level: int
    optional: bool

    @property
    def data(self) -> dict[str, str]:
        """As classes of Open5e have it."""
        return {"name": f"{self.name} (level {self.level})", "desc": self.text}


_LEVEL = re.compile(r"level \d+: ", re.IGNORECASE)
_OPENS = re.compile(r"(?P<what>[^:]{2,60}): (?P<name>.+)")
_SUBCLASS = re.compile(
    r"(?:archetype|bloodline|circle|college|conclave|domain|oath|order|origin|path|patron|specialist|subclass|tradition)$",
    re.IGNORECASE,
)
"""What the first feature of a subclass calls it, at the end of the words before the colon."""


def _class(element: Element, origin: Origin) -> Iterator[Read]:
    """A class with its features by level, and the subclasses whose features are optional ones of the class.

    A class without hit dice is none: its features are those of subclasses, or entries of their own.
    """
    name = Name.of(element).text
    features = list(_class_features(element))
    subclasses = _subclasses(features, alone=_text(element, "hd") is None)
    taken = {id(feature) for own in subclasses.values() for feature in own}
    own = [feature for feature in features if id(feature) not in taken]
    if _text(element, "hd"):
        yield _whole_class(element, name, own, origin)
    else:
        yield from (_class_feature(name, feature, origin) for feature in own)
    for subclass, found in subclasses.items():
        data = {
            "name": subclass,
            "subclass_of": name,
            "features": [replace(each, name=_of_subclass(each.name, subclass)).data for each in found],
        }
        yield _made("character_options", "subclass", data, origin, {"parent": name})


def _class_features(element: Element) -> Iterator[ClassFeature]:
    for part in element.findall("autolevel"):
        level = first_number(part.get("level"))
        for each in part.findall("feature") if level is not None else ():
            name, (text, _) = Name.of(each).text, _described(each)
            yield ClassFeature(_LEVEL.sub("", name, count=1), text, int(level or 0), _is_yes(each.get("optional")))


def _subclasses(features: Iterable[ClassFeature], *, alone: bool) -> dict[str, list[ClassFeature]]:
    """The features of each subclass by its name: "Order: Name" opens it, and "... (Name)" and "Name: ..." follow.

    What has the word of no subclass opens none: "Totem Spirit: Bear" is a choice within one. Files that use other words open
    theirs where the feature alone does it. Where they stand alone, apart from the class, a subclass may have no others.
    """
    optional = [feature for feature in features if feature.optional]
    openings = [(match, each) for each in optional if (match := _OPENS.fullmatch(each.name))]
    named = {match["name"] for match, _ in openings if _SUBCLASS.search(match["what"])}
    found: dict[str, list[ClassFeature]] = {}
    for match, opening in openings:
        name = match["name"]
        if match["what"] in named or (named and name not in named):
            continue
        own = [each for each in optional if each.name.endswith(f"({name})") or each.name.startswith(f"{name}: ")]
        if own or (alone and name in named):
            found[name] = [opening, *own]
    return found


def _of_subclass(feature: str, subclass: str) -> str:
    """The name of a feature of a subclass without the subclass's."""
    if feature.endswith(f": {subclass}"):
        return subclass
    return feature.removesuffix(f"({subclass})").removeprefix(f"{subclass}: ").strip()


def _class_feature(class_name: str, feature: ClassFeature, origin: Origin) -> Read:
    """A feature for a class that is not in the file, as an entry of its own."""
    slug = part_key(slugify(f"{class_name} {feature.name}"), class_name, feature.name, str(feature.level))
    data = {"name": feature.name, "class": class_name, "level": feature.level, "desc": feature.text}
    entity = build(
        "rules", data, origin, name=feature.name, kind="class-feature", slug=slug, fields={"parent": class_name}
    )
    return entity, []


def _whole_class(element: Element, name: str, features: Iterable[ClassFeature], origin: Origin) -> Read:
    die, proficiencies = first_number(_text(element, "hd")), _listed(_text(element, "proficiency"))
    skills, chosen = ", ".join(proficiencies[2:]), _text(element, "numSkills")
    data = {
        "name": name,
        "hit_dice": f"d{die:g}" if die else None,
        "prof_saving_throws": ", ".join(proficiencies[:2]),
        "prof_armor": _text(element, "armor"),
        "prof_weapons": _text(element, "weapons"),
        "prof_tools": _text(element, "tools"),
        "prof_skills": f"Choose {chosen} from {skills}" if chosen and skills else skills,
        "spellcasting_ability": _text(element, "spellAbility"),
        "equipment": _text(element, "wealth") and f"Starting wealth: {_text(element, 'wealth')}",
        "table": _level_table(element),
        "features": [*map(_feature, element.findall("trait")), *(each.data for each in features)],
    }
    return _made("character_options", "class", data, origin, {"hit_die": data["hit_dice"]})


RESETS = {"S": "short rest", "L": "long rest"}


def _level_table(element: Element) -> str:
    """What a class has by level, in Markdown: cantrips and spell slots, and what is counted; "" without any."""
    columns: dict[str, dict[int, str]] = {}
    for part in element.findall("autolevel"):
        level = first_number(part.get("level"))
        if level is None:
            continue
        for place, value in enumerate(_listed(_text(part, "slots"))):
            columns.setdefault(f"Level {place} slots" if place else "Cantrips", {})[int(level)] = value
        for counter in part.findall("counter"):
            reset = RESETS.get((_text(counter, "reset") or "").upper())
            label = f"{_text(counter, 'name')} ({reset})" if reset else f"{_text(counter, 'name')}"
            columns.setdefault(label, {})[int(level)] = _text(counter, "value") or ""
    rows = sorted({level for values in columns.values() for level in values})
    lines = [["Level", *columns], ["---"] * (len(columns) + 1)]
    lines += [[str(level), *(values.get(level, "-") for values in columns.values())] for level in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if columns else ""


READERS: dict[str, Callable[[Element, Origin], Iterator[Read]]] = {
    "spell": _spell,
    "monster": _monster,
    "item": _item,
    "class": _class,
    "race": _option(
        "race",
        ("size", "size"),
        ("speed", "speed"),
        ("ability", "ability"),
        ("proficiency", "proficiency"),
        ("languages", "languages"),
    ),
    "background": _option(
        "background",
        ("skill_proficiencies", "proficiency"),
        ("tool_proficiencies", "tools"),
        ("languages", "languages"),
    ),
    "feat": _option("feat", ("prerequisite", "prerequisite"), ("proficiency", "proficiency")),
}
"""The elements with lore, and what makes entities of each."""
