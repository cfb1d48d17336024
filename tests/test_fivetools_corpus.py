"""The collected homebrew of 5etools: what every file gives, compared with the raw objects by a reader of its own."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.render import lean, markdown
from lorekeeper.repairs.entries import repaired_entry
from lorekeeper.terms import ENDLESS
from tests.support.homebrew import brew, mutated, problems, read

pytestmark = pytest.mark.corpus

Raw = dict[str, Any]

SCHOOLS = "abjuration conjuration divination enchantment evocation illusion necromancy transmutation"
LETTERS = dict(zip("ACDEVINT", SCHOOLS.split(), strict=True))
SIZES = dict(zip("TSMLHG", "tiny small medium large huge gargantuan".split(), strict=True))
COMPONENTS = {"v": "verbal", "s": "somatic", "m": "material"}
SENSES = ("darkvision", "blindsight", "tremorsense", "truesight")
TEXTS = ("entries", "action", "trait", "reaction", "legendary", "entriesHigherLevel")

PARTS = {"classFeature", "subclassFeature", "legendaryGroup", "monsterFluff", "adventureData", "bookData"}
"""Lists that are read as parts of other things."""

OTHER_PROGRAMS = {"roll20Spell", "foundrySpell", "itemTypeAdditionalEntries"}

EXPECTED: dict[str, tuple[int, int, int]] = {
    "ok-adventure.json": (6, 0, 0),  # adventure, book, 3 sections, 1 text to read aloud
    "ok-bestiary-2024.json": (1, 0, 0),
    "ok-bestiary-polymorphic.json": (6, 0, 0),
    "ok-class-subclass.json": (5, 0, 0),
    "ok-copy-mod.json": (6, 0, 0),
    "ok-items.json": (14, 0, 0),
    "ok-options.json": (6, 0, 0),
    "ok-rules-tables.json": (18, 0, 0),
    "ok-spells.json": (10, 0, 0),
    "ok-tags.json": (1, 0, 0),
    "dirty-bom-crlf.json": (1, 0, 0),
    "dirty-circular-copy.json": (3, 0, 8),
    "dirty-deep-120.json": (1, 0, 0),
    "dirty-duplicates.json": (6, 0, 3),
    "dirty-generated-index.json": (0, 0, 0),
    "dirty-hostile.json": (5, 1, 0),
    "dirty-missing-name.json": (3, 8, 3),
    "dirty-no-meta.json": (6, 0, 1),
    "dirty-numbers.json": (2, 0, 5),
    "dirty-old-shapes.json": (7, 0, 0),
    "dirty-unknown-keys.json": (1, 1, 0),
    **{
        f"bad-{name}.json": (0, 1, 0)
        for name in "deep-entries empty html-page latin1 top-array trailing-comma truncated".split()
    },
    "bad-utf16.json": (1, 0, 0),  # it has a byte order mark
}
"""Entries, failures and warnings of each invented file, read with all others that it copies from."""


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    return corpus / "5etools"


@pytest.fixture(scope="module")
def manifest(folder: Path) -> list[Raw]:
    lines = (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if entry["file"].endswith(".json")]


@pytest.fixture(scope="module")
def everything(folder: Path) -> list[Entity]:
    return read(*(folder / name for name in ("samples", "more", "synthetic")))[0]


def test_every_file_gives_what_its_manifest_says(folder: Path, manifest: list[Raw]) -> None:
    real = [entry for entry in manifest if not entry["generated"]]
    assert len(real) == 31
    for entry in real:
        entities, report = read(folder / entry["file"])
        counts = {kind: number for kind, number in entry["arrays"].items() if kind not in PARTS | OTHER_PROGRAMS}
        found = Counter(
            e.kind for e in entities if e.kind not in ("document", "section", "read-aloud", "class-feature")
        )
        assert found.total() == sum(counts.values()), entry["file"]
        assert report.failed == []
        assert [w.reason[:9] for w in report.warnings] == (["'Iceball'"] if "Uninspired" in entry["file"] else [])
        assert set(report.skipped) == {
            f"{Path(entry['file']).name}: {kind}" for kind in entry["arrays"].keys() & OTHER_PROGRAMS
        }


def test_every_invented_file_gives_what_was_expected_of_it(folder: Path, manifest: list[Raw]) -> None:
    invented = {Path(entry["file"]).name for entry in manifest if entry["generated"]}
    assert invented == set(EXPECTED)
    parents = [folder / "synthetic" / f"ok-{name}.json" for name in ("bestiary-polymorphic", "spells", "items")]
    others, _ = read(*parents)
    for name, (number, failures, warnings) in EXPECTED.items():
        path = folder / "synthetic" / name
        copied = parents if name == "ok-copy-mod.json" else []
        entities, report = read(path, *copied)
        own = [e for e in entities if e.type != "documents"]
        more = [e for e in others if e.type != "documents"] if copied else []
        said = (len(own) - len(more), len(report.failed), len(report.warnings))
        assert said == (number, failures, warnings), f"{name}\n{problems(report)}"


def test_what_is_read_aloud_is_open_and_the_rest_of_adventures_is_not(everything: list[Entity]) -> None:
    told = {
        e.kind: e.fields.get("audience") for e in everything if e.kind in ("adventure", "book", "section", "read-aloud")
    }
    assert told == {"adventure": ("dm",), "book": ("dm",), "section": ("dm",), "read-aloud": None}


def test_every_entry_has_a_page_without_markup_and_is_read_again_as_it_was(everything: list[Entity]) -> None:
    assert len(everything) > 200
    for entity in everything:
        page = markdown(entity)
        assert re.search(r"\{@\w", page.replace("{@b not a tag", "")) is None, page
        assert json.dumps(lean(entity))
        assert derive_fields(entity) == dict(entity.fields)


# --- field by field ------------------------------------------------------------------------------------------------------


def raw_objects(folder: Path) -> Iterator[tuple[str, Raw]]:
    """Kind and object of everything in files of today's shape that is no copy."""
    for path in sorted(folder.rglob("*.json")):
        if path.name.startswith(("bad-", "dirty-")):
            continue
        for kind, objects in json.loads(path.read_text("utf-8-sig")).items():
            if isinstance(objects, list):
                yield from ((kind, obj) for obj in objects if "name" in obj and "_copy" not in obj)


def of_monster(raw: Raw) -> Raw:
    (ac, *_), hp, cr = raw.get("ac") or [{}], raw.get("hp") or {}, raw.get("cr")
    rating = cr["cr"] if isinstance(cr, dict) else cr
    return {
        "armor_class": ac if isinstance(ac, int) else ac.get("ac"),
        "hit_points": hp.get("average"),
        "size": tuple(SIZES[size] for size in raw.get("size", ()) if size in SIZES) or None,
        "challenge_rating": float(Fraction(rating)) if rating and rating != "Unknown" else None,
        "passive_perception": raw.get("passive") if isinstance(raw.get("passive"), int) else None,
    }


def of_spell(raw: Raw) -> Raw:
    minutes = {"instant": 0, "round": 0.1, "minute": 1, "hour": 60, "day": 1440, "permanent": ENDLESS}
    length = raw["duration"][0]
    amount = length.get("duration", {}).get("amount", 1) * minutes.get(length.get("duration", length)["type"], -1)
    return {
        "level": raw["level"],
        **({"school": LETTERS[raw["school"]]} if raw["school"] in LETTERS else {}),
        "ritual": raw.get("meta", {}).get("ritual", False),
        "concentration": any(each.get("concentration", False) for each in raw["duration"]),
        "components": tuple(name for key, name in COMPONENTS.items() if key in raw["components"]) or None,
        "duration": None if amount < 0 else amount,
    }


def of_item(raw: Raw) -> Raw:
    return {
        "weight": raw.get("weight"),
        "cost": raw["value"] / 100 if "value" in raw else None,
        "rarity": raw["rarity"] if raw["rarity"] not in ("none", "unknown (magic)") else None,
        "armor_class": raw.get("ac"),
        "charges": raw.get("charges"),
    }


def child_of(key: str) -> Callable[[Raw], Raw]:
    return lambda raw: {"parent": fold(raw[key])} if key in raw else {}


FACTS: dict[str, tuple[str, Callable[[Raw], Raw]]] = {
    "monster": ("creatures", of_monster),
    "spell": ("spells", of_spell),
    "item": ("equipment", of_item),
    "baseitem": ("equipment", of_item),
    "class": ("character_options", lambda raw: {"hit_die": f"d{raw['hd']['faces']}"}),
    "subclass": ("character_options", child_of("className")),
    "psionic": ("rules", child_of("order")),
    "deity": ("rules", child_of("pantheon")),
    "card": ("rules", child_of("set")),
}
"""What the objects of a kind say in values that need no interpretation, and the collection of their entries."""


def test_fields_are_those_of_the_raw_objects(folder: Path, everything: list[Entity]) -> None:
    by_name = {(e.type, e.name): e for e in everything}
    compared = values = 0
    for kind, raw in raw_objects(folder):
        entity_type, facts = FACTS.get(kind, ("", lambda _: {}))
        if wanted := facts(raw):
            entity = by_name[entity_type, raw["name"]]
            assert {name: entity.fields.get(name) for name in wanted} == wanted, entity.uri
            compared, values = compared + 1, values + len(wanted)
    assert compared >= 80
    assert values >= 200


NO_TEXT = frozenset(
    "name source page type id style href path url credit imageType by from tag className classSource level"
    " ability classFeature".split()
)


SAID_BY_THE_NAME = "Lamps"
"""The one thing whose text, "Several lamps.", is left out of its page, since it says no more than the name."""


def words_of(value: Any) -> Iterator[str]:
    """The words of all texts without markup in the entries of a raw object."""
    if isinstance(value, str):
        yield from re.findall(r"[A-Za-z]{3,}", value) if "{" not in value else ()
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in NO_TEXT and not key.startswith(("ref", "col", "foundry")):
                yield from words_of(each)


def test_no_word_of_a_text_is_lost(folder: Path, everything: list[Entity]) -> None:
    pages: dict[str, str] = {}
    for entity in everything:
        pages[entity.name] = pages.get(entity.name, "") + markdown(entity)
    compared = 0
    for kind, raw in raw_objects(folder):
        if kind in PARTS | OTHER_PROGRAMS | {"adventure", "book"} or raw["name"] == SAID_BY_THE_NAME:
            continue
        name = f"{raw['raceName']} ({raw['name']})" if kind == "subrace" else raw["name"]
        lost = {word for key in TEXTS for word in words_of(raw.get(key))}
        lost -= set(re.findall(r"[A-Za-z]{3,}", pages[name]))
        assert lost == set(), f"{kind} {name}"
        compared += 1
    assert compared >= 130


# --- the same things in Open5e -------------------------------------------------------------------------------------------


def as_monster(o: Raw) -> Raw:
    """A creature of Open5e as 5etools would have it."""
    speeds = {
        mode: feet for mode, feet in o["speed"].items() if mode not in ("unit", "hover") and (feet or mode == "walk")
    }
    defences = o["resistances_and_immunities"]
    features = {"ACTION": "action", "BONUS_ACTION": "bonus", "REACTION": "reaction", "LEGENDARY_ACTION": "legendary"}
    raw: Raw = {
        "name": o["name"],
        "source": "Tide",
        "size": [size for size, name in SIZES.items() if name == o["size"]["key"]],
        "type": o["type"]["key"],
        "alignment": o["alignment"],
        "ac": [o["armor_class"]],
        "hp": {"average": o["hit_points"], "formula": o["hit_dice"]},
        "speed": {**speeds, **({"canHover": True} if o["speed"].get("hover") else {})},
        "cr": {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}.get(o["challenge_rating"], f"{o['challenge_rating']:g}"),
        "passive": o["passive_perception"],
        "languages": [o["languages"]["as_string"]],
        "senses": [
            f"{s} {o[f'{s}_range']:g} ft."
            for s in ("darkvision", "blindsight", "tremorsense", "truesight")
            if o[f"{s}_range"]
        ],
        "immune": [{"special": defences["damage_immunities_display"]}],
        "resist": [{"special": defences["damage_resistances_display"]}],
        "vulnerable": [{"special": defences["damage_vulnerabilities_display"]}],
        "conditionImmune": [{"special": defences["condition_immunities_display"]}],
        "environment": [each["key"] for each in o["environments"]],
        "trait": [{"name": t["name"], "entries": [t["desc"]]} for t in o["traits"]],
    }
    for action in o["actions"]:
        raw.setdefault(features[action["action_type"]], []).append(
            {"name": action["name"], "entries": [action["desc"]]}
        )
    return raw


def as_spell(o: Raw) -> Raw:
    """A spell of Open5e as 5etools would have it."""
    flags = {letter: True for letter, name in (("v", "verbal"), ("s", "somatic")) if o[name]}
    material = {"m": o["material_specified"] or True} if o["material"] else {}
    return {
        "name": o["name"],
        "source": "Tide",
        "level": o["level"],
        "school": next(letter for letter, name in LETTERS.items() if name == o["school"]["key"]),
        "time": [o["casting_time"]],
        "range": o["range_text"],
        "components": {**flags, **material},
        "duration": f"Concentration, up to {o['duration']}" if o["concentration"] else o["duration"],
        "meta": {"ritual": o["ritual"]},
        "entries": o["desc"].split("\n"),
        "entriesHigherLevel": o["higher_level"].split("\n"),
        "savingThrow": [o["saving_throw_ability"]] if o["saving_throw_ability"] else [],
        "classes": {"fromClassList": [{"name": each["name"], "source": "PHB"} for each in o["classes"]]},
    }


def in_any_order(value: object) -> object:
    return sorted(value) if isinstance(value, tuple) else value


UNLIKE = {
    "monster": {
        "alignment": 1,  # two alignments with percentages, which 5etools keeps apart and Open5e in one text
        "environments": 15,  # three are an empty list in Open5e, twelve a list of all of them, which says nothing
        "blindsight": 1,  # two numbers run together in Open5e, of which one is read
    },
    "spell": {
        "area": 9,  # structured in Open5e, and not said by the text
        "area_size": 9,
        "classes": 99,  # with subclasses among them, or wrong ones: a table replaces those of Open5e
    },
}
"""How many of the entries of the SRD differ in a field, and why; all others are equal."""


@pytest.mark.parametrize(
    ("file", "kind", "build"), [("creatures", "monster", as_monster), ("spells", "spell", as_spell)]
)
def test_the_same_thing_has_the_same_values_from_open5e(
    corpus: Path, tmp_path: Path, file: str, kind: str, build: Any
) -> None:
    with gzip.open(corpus / "entities" / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        raws = [raw for raw in map(json.loads, lines) if raw["document"]["key"] == "srd-2014"]
    srd = {raw["name"]: dict(repaired_entry(raw)) for raw in raws}
    entities, report = read(brew(tmp_path, "srd", "classic", **{kind: list(map(build, srd.values()))}))
    assert problems(report) == ""
    unlike: Counter[str] = Counter()
    for entity in (e for e in entities if e.type != "documents"):
        (other,) = normalize(srd[entity.name], hint=file)
        for name in entity.fields.keys() | other.fields.keys():
            mine, theirs = (in_any_order(each.fields.get(name)) for each in (entity, other))
            unlike[name] += mine != theirs
    assert len(entities) == len(srd) + 1 > 300
    assert +unlike == UNLIKE[kind]


# --- damage --------------------------------------------------------------------------------------------------------------


def test_damaged_files_never_stop_an_import(folder: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    files = [path for path in sorted(folder.rglob("*.json")) if not path.name.startswith("bad-")]
    whole = brew(tmp_path, "whole", skill=[{"name": "Whole", "source": "Tide", "entries": ["It is."]}])
    for _ in range(120):
        content = json.loads(dice.choice(files).read_text("utf-8-sig"))
        rate = dice.choice((0.01, 0.05, 0.2))
        text = json.dumps({key: each if key == "_meta" else mutated(each, dice, rate) for key, each in content.items()})
        (tmp_path / "damaged.json").write_text(
            text[: dice.randrange(1, len(text))] if dice.random() < 0.1 else text, "utf-8"
        )
        entities, _ = read(tmp_path / "damaged.json", whole)
        assert [fold(e.name) for e in entities][-2:] == ["whole", "tide tables"]
        for entity in entities:
            assert markdown(entity)
            assert derive_fields(entity) == dict(entity.fields)
