"""The facts of a book as LoreKeeper prints them: its pages, and the filters where they have the value too."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.intake import data_packages
from lorekeeper.normalize import open5e
from lorekeeper.render.pages import markdown
from lorekeeper.text.facts import facts as stated
from scripts.books.facts import (
    ABILITIES,
    Book,
    Facts,
    class_table,
    class_traits,
    lines,
    listed,
    money,
    name,
    pounds,
    prose,
    spell,
    stat_block,
    value,
)

FILES = ("spells", "creatures", "items", "magicitems", "services", "classes")


def entries(corpus: Path, document: str) -> Iterator[Entity]:
    """The entries of a document, read from the objects of Open5e in a folder."""
    for file in FILES:
        for path in (corpus / "entities").glob(f"{file}.jsonl*"):
            packed = path.suffix == ".gz"
            with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as text:
                for line in text:
                    obj = json.loads(line)
                    if _document(obj) == document and (endpoint := open5e.endpoint_of(obj, file)):
                        yield from open5e.entities(obj, endpoint)


def _document(obj: Mapping[str, object]) -> object:
    document = obj.get("document")
    return document.get("key") if isinstance(document, Mapping) else document


def book(corpus: Path, document: str) -> Book:
    """The facts of all entries of a document as Open5e gives them."""
    return facts_of(entries(corpus, document))


def packaged(document: str) -> Book:
    """The facts of all entries of a document as its packages give them."""
    book = facts_of(data_packages.entries((document,)))
    for facts in book.values():
        facts |= _following(facts)
    return book


def _following(facts: Facts) -> Facts:
    """What other values of a creature of 2024 say and its page does not repeat: saves that are modifiers."""
    if "(" not in facts.get("initiative", ""):
        return {}
    saves = {f"save {key}": f"{int(facts[key]) // 2 - 5:+d}" for key in ABILITIES if key in facts}
    return {k: v for k, v in saves.items() if k not in facts}


def facts_of(found: Iterable[Entity]) -> Book:
    """The facts of entries."""
    book: Book = {}
    for entity in found:
        kind, read = _READERS.get(entity.kind, ("", None))
        if read is not None:
            key = kind, key_of(kind, entity.name)
            facts = {fact: each for fact, each in read(entity).items() if each}
            book[key] = max(book.get(key, {}), facts, key=len)
    return book


def key_of(kind: str, title: str) -> str:
    """The name of an entry as it is compared. What stands in brackets tells goods apart."""
    return value(title) if kind in ("magic item", "gear") else name(title)


def _creature(entity: Entity) -> Facts:
    fields, facts = entity.fields, stat_block(markdown(entity))
    known = {"armor class": fields.get("armor_class"), "hit points": fields.get("hit_points")}
    known |= {f"speed {mode}": fields.get(f"speed_{mode}") for mode in ("walk", "burrow", "climb", "fly", "swim")}
    known |= {f"sense {sense}": fields.get(sense) for sense in ("blindsight", "darkvision", "tremorsense", "truesight")}
    return facts | _contradicted(facts, known)


def _spell(entity: Entity) -> Facts:
    facts = spell(markdown(entity))
    ritual, concentration = entity.fields.get("ritual"), entity.fields.get("concentration")
    known = {"level": entity.fields.get("level"), "school": entity.fields.get("school")}
    known |= {"ritual": "yes" if ritual else "no", "concentration": "yes" if concentration else "no"}
    return facts | _contradicted(facts, known)


def _contradicted(facts: Mapping[str, str], known: Mapping[str, object]) -> Facts:
    """Values of filters that are not those of the page."""
    shown = {key: f"{found:g}" if isinstance(found, float) else str(found) for key, found in known.items()}
    return {
        f"{key} (filter)": each
        for key, each in shown.items()
        if known[key] not in (None, 0) and each != facts.get(key, "")
    }


def _priced(entity: Entity) -> Facts:
    head = lines(markdown(entity))
    cost, weight = entity.fields.get("cost"), entity.fields.get("weight")
    facts = {"cost": money(head.get("cost", "")), "weight": pounds(head.get("weight", ""))}
    return facts | _contradicted(facts, {"cost": cost, "weight": weight})


def _weapon(entity: Entity) -> Facts:
    head = lines(markdown(entity))
    given = re.split(r", (?![^(]*\))", value(head.get("properties", "")))
    mastery = [each.removesuffix(MASTERY) for each in given if each.endswith(MASTERY)]
    return _priced(entity) | {
        "damage": value(head.get("damage", "")),
        "mastery": listed(mastery),
        "properties": properties(each for each in given if not each.endswith(MASTERY)),
    }


MASTERY = " (mastery)"


def properties(parts: Iterable[str]) -> str:
    """Properties of a weapon, each with its numbers."""
    return listed(
        re.sub(r"range | ft|ammunition \(|; [^)]*|thrown \(", lambda m: m[0] if "(" in m[0] else "", p) for p in parts
    )


def _armor(entity: Entity) -> Facts:
    head = lines(markdown(entity))
    return _priced(entity) | {
        "armor class": armor_class(head.get("armor class", "")),
        "strength": value(head.get("strength", "")),
        "stealth": value(head.get("stealth", "")),
    }


def armor_class(text: str) -> str:
    """An armor class: "14 + dex (max 2)"."""
    return value(text).replace(" modifier", "").replace("+2", "2")


def _magic_item(entity: Entity) -> Facts:
    page = markdown(entity)
    kind = re.search(r"(?m)^\*([^*\n]+)\*$", page)
    text = re.split(r"(?m)^## ", re.sub(r"(?m)^- \*\*.*$", "", page))[0]
    return magic_item(kind[1] if kind else "") | {"text dice": prose(text).get("dice", "")}


def magic_item(kind: str) -> Facts:
    """Rarity, attunement and kind of a magic item, from the line under its name."""
    found = value(kind)
    by_bonus = re.findall(rf"({_RARITY}) \((\+\d)\)", found)
    category = re.split(r"[ ,(]", found)[0]
    return {
        "rarity": listed(set(re.findall(_RARITY, found))),
        "attunement": "yes" if "attunement" in found else "no",
        "category": _CATEGORIES.get(category, category),
        **{f"rarity of {bonus}": rarity for rarity, bonus in by_bonus},
    }


_RARITY = r"artifact|very rare|legendary|uncommon|common|\brare\b|\bvaries"
_CATEGORIES = {"simple": "weapon", "martial": "weapon", "ammunition": "weapon", "shield": "armor"}


def _class(entity: Entity) -> Facts:
    page = markdown(entity, in_style=False)
    head = lines(page)
    traits = class_traits(head.get("saving throws", ""), head.get("hit die", ""))
    line = re.search(r"saves ([a-z, ]+)", stated(entity).replace(" and ", ", "))
    return class_table(page) | traits | _contradicted(traits, {"saves": listed(line[1].split(", ")) if line else None})


_READERS: Mapping[str, tuple[str, Callable[[Entity], Facts]]] = {
    "creature": ("creature", _creature),
    "spell": ("spell", _spell),
    "gear": ("gear", _priced),
    "weapon": ("weapon", _weapon),
    "armor": ("armor", _armor),
    "magic-item": ("magic item", _magic_item),
    "class": ("class", _class),
}
