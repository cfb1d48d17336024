"""Compare collections of files that hold an SRD with Open5e's SRD, value by value.

    python -m scripts.compare_collections CORPUS PATH... [--list]

CORPUS has the objects of Open5e (`entities`); each PATH is a file or folder of a collection, which is read as ``lorekeeper import``
reads it. Prints what was read, entries without substance, and how many values of creatures and spells differ from the SRD of the
edition that is nearest to each document. Documents of which more than a tenth of the names are not in that SRD are other books,
and are not compared.

A difference is explained if the raw text of the entry, found without the importer, has our value; of lists, what is more in ours
and nothing of what is less. Exit status 1 if a difference is not explained or an entry is hollow.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.entities import Entity, Value
from lorekeeper.folding import fold
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.compendium import SCHOOLS
from lorekeeper.text.sections import full_text
from scripts.books.ours import entries

EDITIONS = ("srd-2014", "srd-2024")

SPEEDS = ("speed_walk", "speed_fly", "speed_swim", "speed_climb", "speed_burrow")
SENSES = ("darkvision", "blindsight", "tremorsense", "truesight")
FIELDS = {
    "creatures": ("type", "armor_class", "hit_points", "challenge_rating", *SPEEDS, *SENSES),
    "spells": ("level", "school", "classes"),
}
"""The values that are compared, by type."""

NAMES_IN_COMMON = 0.9
"""Least share of the names of a document that are in the SRD, if it is one."""

Names = Mapping[tuple[str, str], Entity]

# --- the raw files ---------------------------------------------------------------------------------------------------

_ELEMENT = re.compile(r"<(spell|monster|item|class|race|background|feat)>.*?</\1>", re.DOTALL)
_NAME = re.compile(r"<name>(.*?)</name>")
_HEADING = re.compile(r"^[ >]*#{1,6} +(.+?)[ #]*$", re.MULTILINE)
_JSON_NAME = re.compile(r'"name": ?"((?:[^"\\]|\\.)*)"')
_YAML_NAME = re.compile(r"^name: (.+)$", re.MULTILINE)
_EDITION = re.compile(r"\s*(?:\[[^\]]*\]|\((?:Legacy|Variant)\))")


def _of_xml(text: str) -> Iterator[tuple[str, str]]:
    for element in _ELEMENT.finditer(text):
        if name := _NAME.search(element[0]):
            yield _EDITION.sub("", name[1].replace("&apos;", "'")), element[0]


def _of_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        names = _JSON_NAME.findall(line)
        yield from ((name, line) for name in dict.fromkeys(names[:1] + names[-1:]))


def _of_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        yield from ((str(each["name"]), json.dumps(each)) for each in _objects(json.loads(text)))
    except ValueError:
        return


def _of_yaml(text: str) -> Iterator[tuple[str, str]]:
    if name := _YAML_NAME.search(text):
        yield name[1].strip("'\"").replace("''", "'"), text


def _of_markdown(text: str) -> Iterator[tuple[str, str]]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        near = min(len(text), max(end, heading.start() + 1500))
        yield heading[1].strip("*"), text[heading.start() : near]


def _objects(value: object) -> Iterator[dict[str, object]]:
    """The objects with a name of a JSON text."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


RAW = {".xml": _of_xml, ".db": _of_lines, ".json": _of_json, ".yml": _of_yaml, ".yaml": _of_yaml, ".md": _of_markdown}
"""What finds the name and the text of each entry of a file without any reader of ours, by its suffix."""


def raw_texts(path: Path) -> dict[str, list[str]]:
    """The texts of all entries below a path, by folded name."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.suffix in RAW:
            for name, text in RAW[file.suffix](file.read_text("utf-8", "replace")):
                found[fold(name)].append(text)
    return found


# --- values ----------------------------------------------------------------------------------------------------------

_SCHOOL_CODES = {school: f"<school>{code}<" for code, school in SCHOOLS.items()}
_CLASS_LINE = re.compile(r"\bclass(?:es)?\b[*\"]*[:>]", re.IGNORECASE)
_FRACTIONS = {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}


def is_said(field: str, value: Value | None, text: str) -> bool:
    """Whether a raw text has a value of a field, as a word, a number or a code."""
    if isinstance(value, tuple):
        return all(is_said(field, each, text) for each in value)
    if isinstance(value, str):
        words = [re.escape(value), re.escape(_SCHOOL_CODES.get(value, value))]
        if field == "school":
            words.append(rf"\b{'trs' if value == 'transmutation' else value[:3]}\b")
        return re.search("|".join(words), text, re.IGNORECASE) is not None
    if isinstance(value, (int, float)):
        written = f"{value:g}" + (f"|{_FRACTIONS[value]}" if value in _FRACTIONS else "")
        return re.search(rf"(?<![\d.])(?:{written})(?![\d])", text) is not None
    return True


def is_explained(field: str, ours: Value | None, other: Value | None, texts: Sequence[str]) -> bool:
    """Whether the raw texts of a name have our value: of a list, what we have more, and one of them not what we have less."""
    if not texts:
        return False
    if field == "classes" and ours is None:
        return not any(_CLASS_LINE.search(text) for text in texts)
    if isinstance(ours, tuple) or isinstance(other, tuple):
        one, two = (set(each) if isinstance(each, tuple) else set() for each in (ours, other))
        more = all(any(is_said(field, each, text) for text in texts) for each in one - two)
        return more and any(not any(is_said(field, each, text) for each in two - one) for text in texts)
    if ours is None:
        return any(field in SENSES or not is_said(field, other, text) for text in texts)
    return any(is_said(field, ours, text) for text in texts)


def same(field: str, ours: Value | None, other: Value | None) -> bool:
    """Whether two values are alike, in any order; a type may have subtypes, and a speed of 0 is none."""
    if isinstance(ours, tuple) and isinstance(other, tuple):
        return set(other) <= set(ours) if field == "type" else set(ours) == set(other)
    return (ours or None) == (other or None) if field in SPEEDS else ours == other


def counterpart(entity: Entity, srd: Names) -> Entity | None:
    """The entry of the SRD of that name, which may have its group behind it, as in "Vrock (Demon)"."""
    plain = re.sub(r" \([^()]*\)$", "", entity.name)
    return srd.get((entity.type, fold(entity.name))) or srd.get((entity.type, fold(plain)))


@dataclass(frozen=True)
class Difference:
    """A value that a collection has otherwise than the SRD."""

    document: str
    entry: str
    field: str
    ours: Value | None
    other: Value | None
    explained: bool

    def __str__(self) -> str:
        note = "" if self.explained else " | not explained"
        return f"  {self.document} | {self.entry} | {self.field} | {self.ours} | {self.other}{note}"


def differences(
    entities: Sequence[Entity], srd: Names, texts: Mapping[str, Sequence[str]]
) -> tuple[Counter[str], list[Difference]]:
    """How many values of each field were compared, and those that differ."""
    compared, found = Counter[str](), list[Difference]()
    for entity in entities:
        name, other = fold(entity.name), counterpart(entity, srd)
        if other is None:
            continue
        for field in FIELDS[entity.type]:
            ours, theirs = entity.fields.get(field), other.fields.get(field)
            compared[field] += 1
            if not same(field, ours, theirs):
                explained = is_explained(field, ours, theirs, texts.get(name, ()))
                found.append(Difference(entity.document, entity.name, field, ours, theirs, explained))
    return compared, found


# --- collections -----------------------------------------------------------------------------------------------------


def is_empty(entity: Entity) -> bool:
    """Whether a creature or spell lacks what one lives by: all of its values, or its level, and its text."""
    values = [entity.fields.get(field) for field in FIELDS[entity.type][:4]]
    return all(value is None for value in values) and len(full_text(entity).strip()) < 20


def compare(path: Path, srds: Mapping[str, Names], *, listed: bool) -> bool:
    """Print what a collection has; whether all of it is right."""
    report = ImportReport()
    last = {(e.entity.type, e.entity.identity): e.entity for e in Reader([path], None, report).read()}
    found = [entity for entity in last.values() if entity.type in FIELDS]
    texts = raw_texts(path)
    hollow = [entity.uri for entity in found if is_empty(entity)]
    skipped = sum(report.skipped.values())
    lacking = [each.name for each in found if fold(each.name) not in texts]
    print(
        f"{path.name}: {len(last):,} entries, {skipped:,} skipped, {len(report.failed):,} failed; creatures and spells "
        f"{len(found):,}, of these not found by name in the raw files {len(lacking):,}; hollow {len(hollow)} {hollow[:5]}"
    )
    documents: dict[str, list[Entity]] = defaultdict(list)
    for entity in found:
        documents[entity.document].append(entity)
    compared, different, edition_of = Counter[str](), list[Difference](), Counter[str]()
    for entities in documents.values():
        results = []
        for edition, srd in srds.items():
            known = sum(counterpart(entity, srd) is not None for entity in entities)
            if known >= NAMES_IN_COMMON * len(entities):
                results.append((*differences(entities, srd, texts), edition))
        if results:
            counts, own, edition = min(results, key=lambda each: len(each[1]) / max(1, each[0].total()))
            compared += counts
            different += own
            edition_of[edition] += len(entities)
    print("  compared with", ", ".join(f"{key}: {number:,}" for key, number in edition_of.items()) or "nothing")
    by_field = Counter(each.field for each in different)
    unexplained = [each for each in different if not each.explained]
    for fields in FIELDS.values():
        for field in fields:
            if number := compared[field]:
                open_ones = sum(each.field == field for each in unexplained)
                share = f"{by_field[field] / number:.1%}"
                print(f"  {field}: {by_field[field]} of {number:,} differ ({share}), not explained {open_ones}")
    print(*(different if listed else unexplained), sep="\n")
    return not (hollow or unexplained)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Compare collections that hold an SRD with Open5e's.")
    parser.add_argument("corpus", type=Path, help="folder with entities")
    parser.add_argument("paths", type=Path, nargs="+", help="files and folders of collections")
    parser.add_argument("--list", action="store_true", help="print the differences that are explained, too")
    options = parser.parse_args(arguments)
    srds = {
        key: {(entity.type, fold(entity.name)): entity for entity in entries(options.corpus, key)} for key in EDITIONS
    }
    right = [compare(path, srds, listed=options.list) for path in options.paths]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
