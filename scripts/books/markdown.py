"""The facts of the SRD 5.2 as its edition in Markdown prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.books.facts import (
    Book,
    Facts,
    class_table,
    class_traits,
    money,
    name,
    pounds,
    prose,
    rows,
    spell,
    stat_block,
    value,
)
from scripts.books.ours import armor_class, key_of, magic_item, properties


def book(corpus: Path) -> Book:
    """The facts of the book in the folder `srd52` of the corpus."""
    source = corpus / "srd52" / "src"
    found: Book = {}
    for file in ("12_MonstersA-Z.md", "13_Animals.md"):
        for title, text in _entries(source / file, "## "):
            if "**Armor Class" in text:
                found["creature", name(title)] = stat_block(text)
    for title, text in _entries(source / "07_Spells.md", "#{3,4} (?=[A-Z*])"):
        if "**Casting Time" in text:
            found["spell", name(title.removesuffix("a") if title == "Thunderwavea" else title)] = spell(_in_lines(text))
    for title, text in _entries(source / "10_MagicItems.md", "#### "):
        if kind := re.match(r"\s*\*([A-Z][^*\n]*?(?:Common|Uncommon|Rare|Legendary|Artifact|Varies)[^*\n]*)\*", text):
            found["magic item", value(title)] = magic_item(kind[1]) | {"text dice": prose(text).get("dice", "")}
    for path in sorted((source / "03_Classes").glob("[01][0-9]_*.md")):
        title = name(path.stem[3:])
        if facts := class_table(text := path.read_text("utf-8")):
            traits = {value(cells[0]): cells[1] for cells in rows(text) if len(cells) == 2}
            found["class", title] = facts | class_traits(traits["saving throw proficiencies"], traits["hit point die"])
    found |= _equipment((source / "06_Equipment.md").read_text("utf-8"))
    return found


def _entries(path: Path, mark: str) -> Iterator[tuple[str, str]]:
    """The titles and texts of the sections at one level of headings."""
    for part in re.split(rf"(?m)^{mark}", path.read_text("utf-8"))[1:]:
        title, _, text = part.partition("\n")
        yield title.strip("* "), re.split(r"(?m)^#{1,3} [A-Z]", text)[0] if mark != "## " else text


_LABEL = re.compile(r" *(?:kj)?\*\*(Casting Time|Range|Components?|Duration):\*\*")
_DURATION = re.compile(r"(\*\*Duration:\*\* (?:Instantaneous|(?:Concentration, up to )?\d+ \w+)) (?=[A-Z])")


def _in_lines(text: str) -> str:
    """A spell with each label at the beginning of a line, and its text after the last."""
    return _DURATION.sub(r"\1\n\n", _LABEL.sub(r"\n**\1:**", text))


def _equipment(text: str) -> Book:
    """Weapons, armor and gear, from the tables of their prices."""
    found: Book = {}
    head: list[str] = []
    for cells in rows(text):
        if "cost" in (found_head := [value(cell) for cell in cells]) and not any(map(str.isdigit, "".join(cells))):
            head = found_head
            continue
        if len(head) != len(cells):
            continue
        row = dict(zip(head, cells, strict=True))
        kind = "weapon" if "mastery" in row else "armor" if "armor class (ac)" in row else "gear"
        facts: Facts = {"cost": money(row["cost"]), "weight": pounds(row.get("weight", ""))}
        if kind == "weapon":
            given = re.split(r", (?![^(]*\))", value(row["properties"].replace("—", "")))
            facts |= {"damage": value(row["damage"]), "mastery": value(row["mastery"]), "properties": properties(given)}
        if kind == "armor":
            facts |= {
                "armor class": armor_class(row["armor class (ac)"]),
                "strength": value(row["strength"]).removeprefix("str ").strip("—"),
                "stealth": value(row["stealth"]).strip("—"),
            }
        found.setdefault((kind, key_of(kind, cells[0])), facts)
    for title, price, body in re.findall(r"(?m)^#### ([^(\n]+) \(([^)\n]*)\)\n((?:(?!#).*\n)*)", text):
        tool = {"cost": money(price), "weight": pounds("".join(re.findall(r"\*\*Weight:\*\* (.*)", body)))}
        if tool["weight"]:
            found.setdefault(("gear", key_of("gear", title)), {key: each for key, each in tool.items() if each})
        for variants in re.findall(r"\*\*Variants:\*\* (.*)", body):
            for variant, cost, weight in re.findall(r"([A-Za-z -]+) \(([\d,]+ [CSG]P)(?:, ([^)]+))?\)", variants):
                names = key_of("gear", f"{title}, {variant.strip()}")
                found[("gear", names)] = {"cost": money(cost), "weight": pounds(weight)}
    return found
