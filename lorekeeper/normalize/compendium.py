"""XML compendiums, as Fight Club 5 and Game Master 5 read them: spells, monsters, items, classes, races, backgrounds, feats.

The names of elements, and what the letters in them stand for, are those of files that both programs accept: `words.toml` has them.

Collections of such files are made to be merged by name. A spell without level, school and text is a list of further classes
for the spell of that name, perhaps in another file. A class without hit dice holds the features of a subclass, or further ones of
the class. Names end in the edition where a collection has several: ``Shield [5.5e]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self
from xml.etree.ElementTree import Element

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import equipment, lined, options, statblocks
from lorekeeper.normalize.build import Imported, Origin, book_record, build, own_error, part_key, slugify, without_empty
from lorekeeper.normalize.reading import Words, commas
from lorekeeper.printable import shown
from lorekeeper.records.values import first_number, names
from lorekeeper.terms import ABILITY_OF

SOURCE = "fight-club"

word = Words(__file__)

_SOURCE = re.compile("Source:", re.IGNORECASE)
_PAGE = re.compile(r" p\.? ?\d", re.IGNORECASE)
_RARITY = re.compile(r"\b(very rare|rare|uncommon|common|legendary|artifact)\b", re.IGNORECASE)
_NO_CLASS = re.compile(r"school\b|ritual caster\b|touch spells\b", re.IGNORECASE)
"""What some files list among classes without being one."""

_FOLLOWED = re.compile(r"(?:(?<!\s)\s+)?[(\[].*")
_EDITION = re.compile(r"(?:(?<!\s)\s+)?(?:\[(?:(5\.5e?|2024)|5\.?0?e?|2014)\]|\(Legacy\))", re.IGNORECASE)

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
        written = _text(element, "name")
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
                self.classes.setdefault(key, []).extend(_listed(element, "classes"))
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
    result.entities += [
        book_record(origin, word("game systems", edition), f"5e-{edition}")
        for edition, origin in origins.items()
        if edition
    ]
    for place, element in enumerate(root):
        name = Name.of(element)
        where = f"{element.tag}[{place}] {shown(name.text, 60)}"
        if element.tag == "spell" and is_class_list(element) and _text(element, "classes"):
            result.skipped[
                CLASS_LIST if name.key in lists.spells else f"{CLASS_LIST} that is in none of the files"
            ] += 1
            continue
        if element.tag not in READERS:
            result.skipped[element.tag] += 1
            continue
        if element.tag == "spell":
            _add_classes(element, lists.classes.get(name.key, []))
        try:
            with own_error():
                for entity, problems in READERS[element.tag](element, origins[name.edition]):
                    result.entities.append(entity)
                    result.warnings += [(where, problem) for problem in problems]
            result.texts += _said(element)
        except FilterError as error:
            result.failed.append((where, str(error)))
    return result


def _origins(root: Element, document: str, title: str) -> dict[str, Origin]:
    """The document of each edition that names in a file end in: the file's own if there is only one."""
    editions = Counter(Name.of(element).edition for element in root if element.tag in READERS)
    own = dict.fromkeys(editions, Origin(SOURCE, document, title))
    if len(editions) < 2:
        return own
    return own | {e: Origin(SOURCE, f"{document}-{e}", f"{title} ({e})") for e in editions if e}


def _add_classes(element: Element, classes: Iterable[str]) -> None:
    """Add what other elements list to the classes of a spell."""
    found = [*_listed(element, "classes"), *classes]
    child = element.find("classes")
    if found and child is None:
        child = Element("classes")
        element.append(child)
    if child is not None:
        child.text = ", ".join(dict.fromkeys(found))


def _said(element: Element) -> Iterator[tuple[str, str]]:
    """The texts in an element: without the book that it is from. Lists and names are taken apart as they are read."""
    for part in element.iter():
        text = part.text or ""
        if part.tag in ("classes", "proficiency"):
            yield from ((part.tag, _FOLLOWED.sub("", each)) for each in names(text))
        elif part.tag == "name":
            yield part.tag, _FOLLOWED.sub("", text.rpartition(": ")[2])
        else:
            yield part.tag, _SOURCE.split(text)[0]


Read = Iterator[tuple[Entity, list[str]]]
"""The entities that are read of an element, each with what of it could not be read."""

# --- elements --------------------------------------------------------------------------------------------------------


def _text(element: Element, tag: str) -> str:
    """The text of the first child of that name, "" without one."""
    return (element.findtext(tag) or "").strip()


def _texts(element: Element, tag: str = "text") -> str:
    """The texts of all children of that name, a line each: an empty one parts paragraphs."""
    return "\n".join((each.text or "").strip() for each in element.findall(tag)).strip()


def _listed(element: Element, tag: str) -> tuple[str, ...]:
    return names(_text(element, tag))


def _number(element: Element, tag: str) -> float | None:
    return first_number(_text(element, tag))


def _lines(element: Element, table: str) -> dict[str, str]:
    """The texts of the children in a table, by the keys that they have there."""
    return {key: _text(element, tag) for tag, key in word[table].items()}


def _described(element: Element, tag: str = "text") -> tuple[str, str]:
    """The text of an element in children of a name, and the book that its last line names as the source."""
    text = _texts(element, tag)
    match = _SOURCE.search(text, text.rfind("\n") + 1)
    if match is None:
        return text, ""
    book = _PAGE.split(" ".join(text[match.end() :].split()), maxsplit=1)[0]
    return text[: match.start()].rstrip(), book.strip(" ,")


def _is_yes(text: str | None) -> bool:
    return (text or "").casefold() in ("yes", "1", "true")


def _made(entity_type: str, kind: str, data: Mapping[str, Any], origin: Origin, fields: Mapping[str, Any]) -> Read:
    yield build(entity_type, without_empty(data), origin, name=str(data["name"]), kind=kind, fields=fields), []


# --- spells ----------------------------------------------------------------------------------------------------------


def _classes(element: Element) -> dict[str, Any]:
    """The classes on whose lists a spell is, and what else has it: ``Fighter (Eldritch Knight)`` is none of fighters.

    What follows the name of any other class says whose class it is.
    """
    classes: dict[str, None] = {}
    others: dict[str, None] = {}
    for written in _listed(element, "classes"):
        name = _EDITION.sub("", written)
        base = _FOLLOWED.sub("", name)
        if base != name and base.lower() in word["compendium"]["classes"]:
            others[name] = None
        elif not _NO_CLASS.match(base):
            classes[base] = None
    return {"classes": list(classes), "archetype": ", ".join(others)}


_SPELL_LINES = ("time", "range", "components", "duration")


def _spell(element: Element, origin: Origin) -> Read:
    """A spell, or an option of a class that stands among spells because a character chooses it like one: an invocation, ..."""
    name, (text, book), code = Name.of(element).text, _described(element), _text(element, "school")
    lines = {tag: _text(element, tag) for tag in _SPELL_LINES}
    if not code and (": " in name or not any(lines.values())):
        data = {"name": name, **lines, **_classes(element), "desc": text, "book": book}
        yield from _made("rules", "optional-feature", data, origin, {})
        return
    level, school = _number(element, "level"), word("schools", code.upper(), code.lower() if len(code) > 2 else "")
    is_whole = school and lines["time"]  # files leave the level of cantrips out
    values = {
        "name": name,
        "level": int(level or 0) if level is not None or is_whole else None,
        "school": school or None,
        "ritual": _is_yes(_text(element, "ritual")),
        **lines,
        **_classes(element),
        "text": text,
        "book": book,
    }
    yield lined.spell(values, origin), []


# --- monsters --------------------------------------------------------------------------------------------------------


def _monster(element: Element, origin: Origin) -> Read:
    kind, _, book = _text(element, "type").partition(",")
    description, named = _described(element, "description")
    lines, size, passive = _lines(element, "monsters"), _text(element, "size"), _text(element, "passive")
    scores = [_text(element, ability) for ability in ABILITY_OF]
    values: dict[str, object] = {
        **lines,
        "name": Name.of(element).text,
        "size": word("sizes", size.upper(), size),
        "type": kind.strip(),
        "stats": scores if any(scores) else None,
        "saves": list(names(lines["saves"])),
        "skillsaves": list(names(lines["skillsaves"])),
        "senses": commas(lines["senses"], passive and f"passive Perception {passive}"),
        "desc": description,
        "book": named or book.strip(),
        **{key: [_feature(each) for each in element.findall(tag)] for tag, key in word["features"].items()},
    }
    yield statblocks.creature(values, origin)


def _feature(element: Element) -> dict[str, str]:
    return {"name": Name.of(element).text, "desc": _texts(element)}


# --- items -----------------------------------------------------------------------------------------------------------


def _item(element: Element, origin: Origin) -> Read:
    text, book = _described(element)
    detail, letters = _text(element, "detail"), _text(element, "type")
    kind, category = word["items"].get(letters.upper(), ("gear", letters))
    rarity = _RARITY.search(detail) or _RARITY.search(_text(element, "rarity"))
    is_magic = _is_yes(_text(element, "magic")) or rarity is not None
    properties = [word("properties", code) for code in _listed(element, "property")]
    armor = _number(element, "ac")
    data = {
        "name": Name.of(element).text,
        "category": category,
        "rarity": rarity[0].lower() if rarity else None,
        "requires_attunement": ("attunement" in detail.casefold() or None) if is_magic else None,
        "cost": _number(element, "value"),
        "weight": _number(element, "weight"),
        "damage_dice": _text(element, "dmg1") or None,
        "damage_type": word("damages", _text(element, "dmgType").upper(), "") or None,
        **_lines(element, "lines of items"),
        "properties": properties,
        "armor_class": int(armor) if armor is not None else None,
        "strength_requirement": _number(element, "strength"),
        "stealth_disadvantage": _is_yes(_text(element, "stealth")) or None,
        "desc": text,
        "book": book,
    }
    training = ["martial" if "Martial" in properties else "simple", "ranged" if letters.upper() == "R" else "melee"]
    fields = {
        **(equipment.read_magic if is_magic else equipment.read)(data),
        "properties": [each.lower() for each in properties if each != "Martial"] or None,
        "category": equipment.categories(category, *(f"{each} weapon" for each in training if kind == "weapon")),
    }
    data["requires_attunement"] = fields["requires_attunement"]
    yield from _made("equipment", "magic-item" if is_magic else kind, data, origin, fields)


# --- character options -----------------------------------------------------------------------------------------------


def _option(kind: str, element: Element, origin: Origin) -> Read:
    """An element with traits, and with lines that they do not repeat."""
    text, book = _described(element)
    lines = word[f"{kind}s"]
    more = [
        {"name": label, "desc": value}
        for tag, label in word["further traits"].items()
        if tag not in lines and (value := _text(element, tag))
    ]
    data = {
        "name": Name.of(element).text,
        **_lines(element, f"{kind}s"),
        "desc": text,
        "traits": [*map(_feature, element.findall("trait")), *more],
        "book": book,
    }
    return _made("character_options", kind, data, origin, options.read(data) if kind != "race" else {})


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

    def data(self, subclass: str = "") -> dict[str, str]:
        """As classes of Open5e have it; of a subclass without that one's name."""
        alone = self.name.removesuffix(f"({subclass})").removeprefix(f"{subclass}: ").strip()
        name = subclass if self.name.endswith(f": {subclass}") else alone
        return {"name": f"{name if subclass else self.name} (level {self.level})", "desc": self.text}


_LEVEL = re.compile(r"level \d+: ", re.IGNORECASE)
_OPENS = re.compile(r"(?P<what>[^:]{2,60}): (?P<name>.+)")
_SUBCLASS = re.compile(
    r"(?:archetype|bloodline|circle|college|conclave|domain|oath|order|origin|path|patron|specialist|subclass|tradition)$",
    re.IGNORECASE,
)
"""What the first feature of a subclass calls it, at the end of the words before the colon."""


def _class(element: Element, origin: Origin) -> Read:
    """A class with its features by level, and the subclasses whose features are optional ones of the class.

    A class without hit dice is none: its features are those of subclasses, or entries of their own.
    """
    name = Name.of(element).text
    features = list(_class_features(element))
    subclasses = _subclasses(features, alone=element.find("hd") is None or not _text(element, "hd"))
    taken = {id(feature) for own in subclasses.values() for feature in own}
    own = [feature for feature in features if id(feature) not in taken]
    if _text(element, "hd"):
        yield from _whole_class(element, name, own, origin)
    else:
        yield from ((_class_feature(name, feature, origin), []) for feature in own)
    for subclass, found in subclasses.items():
        data = {"name": subclass, "subclass_of": name, "features": [each.data(subclass) for each in found]}
        yield from _made("character_options", "subclass", data, origin, {"parent": name})


def _levels(element: Element) -> Iterator[tuple[int, Element]]:
    """What a class has by level."""
    for part in element.findall("autolevel"):
        if (level := first_number(part.get("level"))) is not None:
            yield int(level), part


def _class_features(element: Element) -> Iterator[ClassFeature]:
    for level, part in _levels(element):
        for each in part.findall("feature"):
            name, (text, _) = Name.of(each).text, _described(each)
            yield ClassFeature(_LEVEL.sub("", name, count=1), text, level, _is_yes(each.get("optional")))


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


def _class_feature(class_name: str, feature: ClassFeature, origin: Origin) -> Entity:
    """A feature for a class that is not in the file, as an entry of its own."""
    slug = part_key(slugify(f"{class_name} {feature.name}"), class_name, feature.name, str(feature.level))
    data = {"name": feature.name, "class": class_name, "level": feature.level, "desc": feature.text}
    fields = {"parent": class_name}
    return build("rules", data, origin, name=feature.name, kind="class-feature", slug=slug, fields=fields)


def _whole_class(element: Element, name: str, features: Iterable[ClassFeature], origin: Origin) -> Read:
    die, proficiencies = _number(element, "hd"), _listed(element, "proficiency")
    skills, chosen, wealth = ", ".join(proficiencies[2:]), _text(element, "numSkills"), _text(element, "wealth")
    data = {
        "name": name,
        "hit_dice": f"d{die:g}" if die else None,
        "prof_saving_throws": ", ".join(proficiencies[:2]),
        **_lines(element, "lines of classes"),
        "prof_skills": f"Choose {chosen} from {skills}" if chosen and skills else skills,
        "equipment": wealth and f"Starting wealth: {wealth}",
        "table": _level_table(element),
        "features": [*map(_feature, element.findall("trait")), *(each.data() for each in features)],
    }
    return _made("character_options", "class", data, origin, {"hit_die": data["hit_dice"]})


def _level_table(element: Element) -> str:
    """What a class has by level, in Markdown: cantrips and spell slots, and what is counted; "" without any."""
    columns: dict[str, dict[int, str]] = {}
    for level, part in _levels(element):
        for place, value in enumerate(_listed(part, "slots")):
            columns.setdefault(f"Level {place} slots" if place else "Cantrips", {})[level] = value
        for counter in part.findall("counter"):
            reset, label = word("resets", _text(counter, "reset").upper(), ""), _text(counter, "name")
            columns.setdefault(f"{label} ({reset})" if reset else label, {})[level] = _text(counter, "value")
    rows = sorted({level for values in columns.values() for level in values})
    lines = [["Level", *columns], ["---"] * (len(columns) + 1)]
    lines += [[str(level), *(values.get(level, "-") for values in columns.values())] for level in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if columns else ""


READERS: dict[str, Callable[[Element, Origin], Read]] = {
    "spell": _spell,
    "monster": _monster,
    "item": _item,
    "class": _class,
    **{kind: partial(_option, kind) for kind in ("race", "background", "feat")},
}
"""The elements with lore, and what makes entities of each."""
