"""A book of rules in Markdown, such as an SRD: its printed entries, and what its headings and tables hold besides.

Whatever is no entry of another kind is a rule: nothing of the text is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lorekeeper.entities import MAX_KEY_LENGTH, Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize import equipment, lined, options
from lorekeeper.normalize.build import Imported, Origin, book_record, build, own_error, part_key, slugify, without_empty
from lorekeeper.notes.facts import cells
from lorekeeper.records.printed import SPELL, Printed, plain, printed
from lorekeeper.records.values import first_number, gold
from lorekeeper.text.printed_on import LOOKED_FOR
from lorekeeper.text.sections import full_text

EDITIONS = {"5e-2024": "5th Edition 2024", "5e-2014": "5th Edition 2014"}

_OF_2024 = re.compile(
    r"\(XP [\d,]+|\bOrigin Feat\b|\bLevel \d (?:abjur|conj|div|ench|evoc|illus|necro|transm)", re.IGNORECASE
)
_OF_2014 = re.compile(
    r"Challenge\W{1,6}[\d/]+ \([\d,]+ XP|\d(?:st|nd|rd|th)-level (?:abjur|conj|div|ench|evoc|illus|necro|transm)",
    re.IGNORECASE,
)

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(?=\S)")
_TAG = re.compile(r"(.+?) \[(.+)\]$")
_PRICED = re.compile(r"(.+?) \(((?:[\d,]+ ?[CSEGP]P)\b[^()]*|varies|free)\)$", re.IGNORECASE)
FEAT = re.compile(
    r"\W{0,3}(?P<category>[\w ]{1,30}) feat\b\W*(?:\(?prerequisites?: (?P<prerequisite>.+?)\)?)?\W{0,3}$", re.IGNORECASE
)
_LEVEL = re.compile(r"level (\d{1,2}): (.+)", re.IGNORECASE)
_SUBCLASS = re.compile(r"(?:.+ )?subclass: (.+)", re.IGNORECASE)
_HIT_DIE = re.compile(r"hit (?:point )?di(?:e|ce)\W{1,60}(?:1)?(d\d{1,2})", re.IGNORECASE)
BEGINNING = 1_500
"""Characters of a section in which the lines of a species or a background are."""

_HTML = re.compile(r"<[^<>]{1,200}>")
_OF_CLASS = re.compile(r"^(?:hit points|hit dice|class features|(?:core )?[\w ]* traits|becoming .*)$", re.IGNORECASE)
"""Headings within the description of a class, below which its hit die may stand."""

_SPECIES = re.compile(
    r"^[^a-z\d\n]*creature type\b.*(?:^|\*\*)[^a-z\d\n]{0,9}size\b.*(?:^|\*\*)[^a-z\d\n]{0,9}speed\b",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_RAISES = re.compile(r"^[^a-z\d\n]*ability score increase\b", re.IGNORECASE | re.MULTILINE)
_SPEED = re.compile(r"^[^a-z\d\n]*speed\b", re.IGNORECASE | re.MULTILINE)
"""What the traits of a race say in books of 2014; those of a subrace have no speed."""

_ASKS = re.compile(r"\W{0,3}prerequisites?: (.+?)\W{0,3}", re.IGNORECASE)
_BACKGROUND = re.compile(
    r"(?:^|\*\*)[^a-z\d\n]{0,9}skill proficiencies\b.*(?:^|\*\*)[^a-z\d\n]{0,9}equipment\b",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_TRAIT = re.compile(r"^\*\*\*([^*\n]{1,80})\.\*\*\* ", re.MULTILINE)
"""The name of a trait that begins a paragraph."""

_LABEL = re.compile(
    r"(?:^[^A-Za-z\d\n]*|\*\*)(?P<key>[A-Z][\w' ]{2,40})\s*(?::\*\*|\*\*:|:)\s*(?P<value>\S.*?)(?=\s\*\*[A-Z][\w' ]{2,40}:?\*\*|$)",
    re.MULTILINE,
)
"""A label with its value: at the beginning of a line, or in bold behind another one's."""
_CAPTION = re.compile(r"\W*table\W*: (.+?)\W*$", re.IGNORECASE)
_NAMES = re.compile(r"^(?!.*\b(?:level|rarity|lifestyle)\b)[a-z]")
"""The title of a column of names of things, such as "item" or "weapon"."""

_DAMAGE = re.compile(r"(\d{1,2}(?:d\d{1,2})?) (\w+)")


Starts = tuple[tuple[int | str, int], ...]
"""Pages, each with the place in a text where it begins."""


@dataclass
class Section:
    """A heading with what stands below it, up to the next one.

    Attributes:
        name: of the heading; "" for what stands before the first.
        level: of the heading.
        parents: the headings above it, the outermost first.
        text: Markdown, without what became an entry of its own.
        line: number of its heading's line.
        starts: of a text on several pages, where in it each of them begins.
        is_bare: whether a printed page has a heading with nothing below it.
    """

    name: str
    level: int
    parents: tuple[str, ...] = ()
    text: str = ""
    line: int = 0
    starts: Starts = ()
    is_bare: bool = False

    @property
    def parent(self) -> str:
        """The heading above it."""
        return self.parents[-1] if self.parents else ""


@dataclass
class Book:
    """Makes the entries of the texts of one book.

    Attributes:
        origin: of its entries.
        classes: of spells by their folded names, from its lists; a spell that states its classes has no others.
        slugs: the keys that are taken, by type, with what has them.
        weights: of things that a table lists and a section describes, by name.
        pages: of the lines of its text, where it was printed.
        is_5e: whether it is of the game whose entries are read; else all of it is sections.
        rules: headings of rules, wherever they stand.
    """

    origin: Origin
    classes: Mapping[str, list[str]] = field(default_factory=dict)
    weights: dict[str, float | None] = field(default_factory=dict)
    slugs: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    pages: Sequence[int | str] = ()
    is_5e: bool = True
    rules: Container[str] = ()

    def read(self, text: str) -> Imported:
        """Everything in a text of the book."""
        result, lines = Imported(), text.split("\n")
        found = printed(lines, bare=bool(self.pages)) if self.is_5e else []
        for entry in found:
            self._add(result, entry.name, partial(self._printed, entry, result, lines), entry.start)
        sections = list(_sections(lines, found, self.pages))
        owner = _Owner()
        if found and not self.pages and len(sections) == 1 and (rest := sections.pop().text):
            result.warnings += [("text", f"not understood: {line[:100]}") for line in rest.split("\n") if line.strip()]
        described = {match[1] for section in sections if (match := _PRICED.fullmatch(section.name))}
        for section in sections:
            for table in _priced_tables(section.text) if self.is_5e else ():
                for row in table.rows:
                    if row[0] in described:
                        self.weights[row[0]] = first_number(dict(zip(table.columns, row, strict=True)).get("weight"))
                    else:
                        self._add(result, row[0], partial(_of_row, table, row, self.origin), section.line)
        for section in sections:
            owner = self._section(result, section, owner)
        self._finish(result, owner)
        result.texts += _said(lines)
        return result

    def _add(self, result: Imported, name: str, make: Callable[[], Entity], line: int, starts: Starts = ()) -> None:
        try:
            with own_error():
                made = make()
                printed_on = {"page": self.pages[line]} if self.pages else {}
                more = {"pages": [list(start) for start in starts]} if starts else {}
                result.entities.append(replace(made, data={**made.data, **printed_on, **more}) if self.pages else made)
        except FilterError as error:
            result.failed.append((name, str(error)))

    def _printed(self, entry: Printed, result: Imported, lines: Sequence[str]) -> Entity:
        if entry.kind == SPELL and not entry.values["classes"]:
            entry.values["classes"] = self.classes.get(fold(entry.name), [])
        made, problems = lined.entity(entry, self.origin)
        result.warnings += [(entry.name, problem) for problem in problems]
        starts = [(self.pages[entry.start], 0)] if self.pages else []
        for place in range(entry.start, entry.end) if self.pages else ():
            end = plain(lines[place])
            if end and self.pages[place] != starts[-1][0] and (at := full_text(made).find(end[-LOOKED_FOR:])) > 0:
                starts.append((self.pages[place], max(at + min(len(end), LOOKED_FOR) - len(end), 1)))
        return replace(made, data={**made.data, "pages": [list(each) for each in starts]}) if len(starts) > 1 else made

    def _section(self, result: Imported, section: Section, owner: _Owner) -> _Owner:
        """Add what a section is; the class or subclass to which the following features belong.

        What stands before the first heading has no name, so it is text, whatever it says.
        """
        if not (self.is_5e and section.name):
            if section.text or section.is_bare:
                self._add(result, section.name, partial(self._rule, section), section.line, section.starts)
            return owner
        if die := _HIT_DIE.search(_HTML.sub(" ", section.text)):
            self._finish(result, owner)
            path = (*section.parents, section.name)
            depth = next((at for at in reversed(range(len(path))) if not _OF_CLASS.search(path[at])), len(path) - 1)
            whole = replace(section, name=path[depth], parents=path[:depth])
            return _Owner(whole, "class", die[1].lower())
        if owner.section and len(section.parents) < len(owner.section.parents):
            self._finish(result, owner)
            owner = _Owner()
        if owner.section and (subclass := _SUBCLASS.fullmatch(section.name)):
            class_name = owner.class_name
            self._finish(result, owner)
            own = replace(section, name=subclass[1], parents=owner.section.parents)
            return _Owner(own, "subclass", parent=class_name)
        if owner.section and (feature := _LEVEL.fullmatch(section.name)):
            owner.features.append(replace(section, name=feature[2], level=int(feature[1])))
            return owner
        if owner.features and section.level > 3 and section.text and section.name not in self.rules:
            owner.features[-1].text += f"\n\n**{section.name}.** {section.text}"
            return owner
        if section.text or section.is_bare:
            self._add(result, section.name, partial(self._of_section, section), section.line, section.starts)
        return owner

    def _finish(self, result: Imported, owner: _Owner) -> None:
        """Add a class or subclass with its features, each of which is a rule as well."""
        if owner.section is None:
            return
        section, class_name = owner.section, owner.class_name
        features = [{"name": f"{each.name} (level {each.level})", "desc": each.text} for each in owner.features]
        data = {
            "name": section.name,
            "desc": section.text,
            "features": features,
            "subclass_of": owner.parent,
            "hit_dice": owner.die,
        }
        fields = {"hit_die": owner.die or None, "parent": owner.parent or None}
        self._add(
            result, section.name, partial(self._made, "character_options", owner.kind, data, fields), section.line
        )
        for each in owner.features:
            more = {"name": each.name, "class": class_name, "level": each.level, "desc": each.text}
            parent = {"parent": section.name}
            make = partial(self._made, "rules", "class-feature", more, parent, section.name, str(each.level))
            self._add(result, each.name, make, each.line)

    def _of_section(self, section: Section) -> Entity:
        """The entry that a section is: a feat, a background, a species, gear with its price, or a rule."""
        first = section.text.split("\n", 1)[0]
        labels = {match["key"].lower(): match["value"].strip(" *") for match in _LABEL.finditer(section.text)}
        data: dict[str, Any] = {"name": section.name, "desc": section.text}
        if (feat := FEAT.fullmatch(first)) and section.parents:
            data |= {
                "desc": section.text[len(first) :].strip(),
                "category": feat["category"].lower(),
                "prerequisite": feat["prerequisite"],
            }
            return self._made("character_options", "feat", data, {})
        if _SPECIES.search(section.text[:BEGINNING]) and section.level > 2:
            data |= _species(section.text) or {key: labels.get(key) for key in ("size", "speed")}
            return self._made("character_options", "race", data, {})
        if _RAISES.search(section.text[:BEGINNING]) and section.parents:
            return self._race(section, data)
        if (asks := _ASKS.fullmatch(first)) and fold(section.parent) == "feats":
            data |= {"desc": section.text[len(first) :].strip(), "prerequisite": asks[1]}
            return self._made("character_options", "feat", data, options.read(data))
        if _BACKGROUND.search(section.text[:BEGINNING]):
            return self._made("character_options", "background", data, {})
        if priced := _PRICED.fullmatch(section.name):
            data |= {
                "name": priced[1],
                "category": section.parent,
                "cost": gold(priced[2]),
                "weight": first_number(labels.get("weight")) or self.weights.get(priced[1]),
            }
            return self._made("equipment", "gear", data, equipment.read(data))
        return self._rule(section)

    def _rule(self, section: Section) -> Entity:
        tag = _TAG.fullmatch(section.name)
        tagged = "condition" if tag and tag[2].lower() == "condition" else "rule"
        kind = tagged if tag else "section"
        name = tag[1] if tag else section.name or self.origin.document_name or self.origin.document
        data = {"name": name, "desc": section.text, "tag": tag[2] if tag else None}
        return self._made("rules", kind, data, {"parent": section.parent or None}, *reversed(section.parents))

    def _race(self, section: Section, data: Mapping[str, Any]) -> Entity:
        """A race of 2014, whose traits stand below its name, or a subrace, which stands below its race."""
        own = re.sub(r" traits$", "", section.name, flags=re.IGNORECASE)
        if _SPEED.search(section.text):
            return self._made("character_options", "race", {**data, "name": own}, {})
        parent = re.sub(r" (?:traits|subraces)$", "", section.parent, flags=re.IGNORECASE)
        return self._made(
            "character_options", "subrace", {**data, "name": own, "subrace_of": parent}, {"parent": parent}
        )

    def _made(
        self, entity_type: str, kind: str, data: Mapping[str, Any], fields: Mapping[str, Any], *apart: str
    ) -> Entity:
        """An entry; one whose name is taken is told apart by the headings above it."""
        name = str(data["name"])[:MAX_KEY_LENGTH]
        slug, whole = slugify(name), (kind, *apart)
        if self.slugs.setdefault((entity_type, slug), whole) != whole:
            slug = part_key(slugify(f"{name} {apart[0] if apart else kind}"), name, *whole)
        return build(entity_type, without_empty(data), self.origin, name=name, kind=kind, slug=slug, fields=fields)


def _species(text: str) -> dict[str, Any]:
    """The traits of a species: its labelled lines, and paragraphs that begin with a name; {} if it has none of these."""
    before, *parts = _TRAIT.split(text)
    lines = [{"name": match["key"], "desc": match["value"].strip(" *")} for match in _LABEL.finditer(before)]
    traits = [{"name": name, "desc": words.strip()} for name, words in zip(parts[::2], parts[1::2], strict=True)]
    return {"desc": _LABEL.sub("", before).strip(), "traits": lines + traits} if traits else {}


@dataclass
class _Owner:
    """The class or subclass whose features are being read."""

    section: Section | None = None
    kind: str = ""
    die: str = ""
    parent: str = ""
    features: list[Section] = field(default_factory=list)

    @property
    def class_name(self) -> str:
        return self.parent or (self.section.name if self.section else "")


def document(origin: Origin, texts: Sequence[str], game: str = "") -> Entity:
    """The record of a book, with its game if that is known, else with the edition that most of its entries are printed for."""
    new, old = (sum(len(sign.findall(text)) for text in texts) for sign in (_OF_2024, _OF_2014))
    key = "5e-2024" if new > old else "5e-2014"
    game = game or (EDITIONS[key] if new or old else "")
    key = next((each for each, name in EDITIONS.items() if name == game), slugify(game))
    return book_record(origin, game, key)


def _sections(lines: Sequence[str], found: Sequence[Printed], pages: Sequence[int | str]) -> Iterator[Section]:
    """The sections of a text, without the lines of printed entries."""
    taken = {place for entry in found for place in range(entry.start, entry.end)}
    above: list[Section] = []
    section, text, starts, is_group = Section("", 0), list[str](), list[tuple[int | str, int]](), False
    for place, line in enumerate([*lines, "# -"]):
        if place in taken:
            is_group = True
            continue
        heading = _HEADING.match(line)
        if heading is None:
            if pages and line and (not starts or starts[-1][0] != pages[place]):
                starts.append((pages[place], len(before := "\n".join(text).lstrip()) + bool(before)))
            text.append(line)
            continue
        level, name = len(heading[1]), plain(line[heading.end() :].rstrip("# "))
        section.starts = tuple(starts) if len(starts) > 1 else ()
        section.text = "\n".join(text).strip()
        section.is_bare = bool(pages and section.name and not section.text) and level <= section.level and not is_group
        yield section
        if place == len(lines):
            return
        above = [each for each in above if each.level < level]
        section, text, is_group = Section(name, level, tuple(each.name for each in above), line=place), [], False
        starts = [(pages[place], 0)] if pages else []
        above.append(section)


_LABELLED = re.compile(r"[\s>-]{0,9}[*_]{1,3}(?P<label>[^*_]{1,200})[*_]{1,3}(?P<text>.*)$")


def _said(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sentences of a text: headings and labels in bold are names, and what is all in italics, or follows a label without a
    full stop, is a value, which is told if it is not understood."""
    for line in lines:
        labelled = _LABELLED.match(line)
        if labelled and labelled["label"].endswith((".", "!", "?")):
            yield "text", labelled["text"]
        elif not labelled and not _HEADING.match(line):
            yield "text", line


# --- tables with prices ----------------------------------------------------------------------------------------------


@dataclass
class _Table:
    """A table of things with their prices: its caption, the names of its columns, and its rows."""

    caption: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)


def _priced_tables(text: str) -> Iterator[_Table]:
    caption, table = "", None
    for line in text.split("\n"):
        row = [plain(cell) for cell in cells(line)] if line.lstrip().startswith("|") else []
        if match := _CAPTION.fullmatch(line):
            caption = match[1].partition(" (")[0] if match[1].endswith(")") else match[1]
        if not row:
            if table and table.rows:
                yield table
            table = None
        elif table is None:
            columns = list(dict.fromkeys(cell.lower() for cell in row))
            table = _Table(caption, columns if "cost" in columns[1:] and _NAMES.search(columns[0]) else [])
        elif table.columns:
            table.rows += _things(row, table.columns)
    if table and table.rows:
        yield table


def _things(row: Sequence[str], columns: Sequence[str]) -> Iterator[list[str]]:
    """What a row has under these columns, once for each table that stands beside another; a number is the name of nothing."""
    width, cost = len(columns), columns.index("cost")
    for start in range(0, len(row) if len(row) % width == 0 else 0, width):
        thing = list(row[start : start + width])
        if gold(thing[cost]) is not None and any(map(str.isalpha, thing[0])):
            yield thing


def _of_row(table: _Table, values: Sequence[str], origin: Origin) -> Entity:
    """A weapon, armor or other gear of a row."""
    row = {key: "" if value in ("\u2014", "-") else value for key, value in zip(table.columns, values, strict=True)}
    name, category = values[0], table.caption
    damage, armor = (
        _DAMAGE.match(row.get("damage", "")),
        first_number(row.get("armor class (ac)") or row.get("armor class")),
    )
    kind = "gear" if armor is None else "armor"
    kind = "weapon" if damage else kind
    properties = [
        part.strip() for part in re.split(r",\s*(?![^()]{0,300}\))", row.get("properties", "")) if part.strip()
    ]
    data = {
        "name": name,
        "category": category,
        "cost": gold(row["cost"]),
        "weight": first_number(row.get("weight")),
        "damage_dice": damage[1] if damage else None,
        "damage_type": damage[2].lower() if damage else None,
        "armor_class": int(armor) if armor is not None else None,
        "properties": properties,
        "mastery": row.get("mastery"),
    }
    data |= {
        key: value
        for key, value in row.items()
        if key in ("stealth", "strength", "speed", "carrying capacity", "storage")
    }
    fields = equipment.read(data) | {"category": equipment.categories(category, kind if kind != "gear" else None)}
    return build("equipment", without_empty(data), origin, name=name, kind=kind, fields=fields)
