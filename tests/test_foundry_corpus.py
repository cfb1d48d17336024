"""Every file of a corpus of Foundry VTT's documents: counts, values against their source, and against Open5e's."""

from __future__ import annotations

import functools
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lorekeeper.audience import DM, GM_PART, PLAYERS
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.folding import fold
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.render import lean, markdown
from lorekeeper.rolling.tables import tables_of
from tests.support.foundry import imported, named

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]

Raw = dict[str, Any]

FOLDERS = ("dnd5e", "black-flag", "db", "exports")

KINDS = {
    "spell": ("spells", {"spell"}), "npc": ("creatures", {"creature"}), "class": ("character_options", {"class"}),
    "subclass": ("character_options", {"subclass"}), "background": ("character_options", {"background"}),
    "race": ("character_options", {"race", "subrace"}), "lineage": ("character_options", {"race"}),
    "heritage": ("character_options", {"race"}), "talent": ("character_options", {"feat"}), "lair": ("rules", {"lair"}),
    "feat": ("character_options", {"feat"}), "feature": ("rules", {"feature"}),
}  # fmt: skip
"""Type and kinds of the entries by the type of the document; every other document is equipment."""

JUNK = [b"", b"null", b"[", b"{", b'"', b"\xff", b"NaN", b"- ", b"[[/damage ", b"<section class=secret>"]

EMBEDDED_ELSEWHERE = {"aYmUMcQfSIqYWpKk.n0gCL50RM2QjHw6F", "aYmUMcQfSIqYWpKk.nqt4mR004wWbljhw"}
"""Pages that only insert pages which are not in the corpus."""

MUTATED = 150


@pytest.fixture(scope="module")
def foundry(corpus: Path) -> Path:
    """Folder of the documents."""
    folder = corpus / "foundry"
    if not folder.is_dir():
        pytest.skip("this corpus has no documents of Foundry VTT")
    return folder


@functools.cache
def content(folder: Path) -> tuple[list[Entity], ImportReport]:
    """What an import of a folder gives."""
    return imported(folder)


@functools.cache
def sources(folder: Path) -> dict[str, Raw]:
    """The documents of a folder by id, without folders."""
    found: dict[str, Raw] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yml", ".json"):
            text = path.read_text("utf-8")
            raw = yaml.load(text, yaml.CSafeLoader) if path.suffix == ".yml" else json.loads(text)
            if not raw["_key"].startswith("!folders"):
                found[raw["_id"]] = raw
    return found


def primary(entities: list[Entity]) -> list[Entity]:
    """Entries that are documents by themselves, and no pages of journals."""
    return [entity for entity in entities if "." not in entity.data["source"]["id"]]


@pytest.mark.parametrize("name", FOLDERS)
def test_every_document_of_a_folder_becomes_an_entry_and_nothing_fails(foundry, name):
    entities, report = content(foundry / name)
    assert report.failed == []
    assert not [
        w for w in report.warnings if "features are in packs" not in w.reason and "--audience dm" not in w.reason
    ]
    assert len({entity.uri for entity in entities}) == len(entities) - (2 if name == "db" else 0)
    for entity in entities:
        assert derive_fields(entity) == entity.fields
        assert entity.name
        page = markdown(entity)
        assert page
        assert lean(entity)
        assert not [
            mark for mark in ("[[", "]]", "@UUID", "@Embed", "&Reference", "&amp;", "<p", "~def") if mark in page
        ]


@pytest.mark.parametrize("name", ["dnd5e", "black-flag"])
def test_counts_and_types_are_those_of_the_manifest(foundry, name):
    lines = [json.loads(line) for line in (foundry / "MANIFEST.jsonl").read_text("utf-8").splitlines()]
    told = [
        each
        for each in lines
        if each["file"].startswith(f"{name}/") and not str(each.get("key")).startswith("!folders")
    ]
    entities, _ = content(foundry / name)
    by_id = {entity.data["source"]["id"]: entity for entity in primary(entities)}
    documents = [each for each in told if str(each.get("key", "")).startswith(("!items", "!actors", "!tables"))]
    assert len(documents) > 50
    assert {each["key"].rpartition("!")[2] for each in documents} == by_id.keys()
    for each in documents:
        entity = by_id[each["key"].rpartition("!")[2]]
        default = ("rules", {"table"}) if each["key"].startswith("!tables") else ("equipment", {entity.kind})
        entity_type, kinds = KINDS.get(str(each.get("type")), default)
        if each.get("type") == "feat" and entity.kind == "feature":
            continue  # a feature of a class, which has the same type
        assert (entity.type, entity.kind in kinds, entity.name) == (entity_type, True, each["name"])
        if each.get("rules"):
            assert entity.document == f"dnd5e-{each['rules']}"


@pytest.mark.parametrize("name", ["dnd5e", "black-flag"])
def test_every_page_with_text_and_every_table_is_there(foundry, name):
    entities, _ = content(foundry / name)
    pages = {entity.data["source"]["id"] for entity in entities} - {e.data["source"]["id"] for e in primary(entities)}
    raw = sources(foundry / name).values()
    wanted = {
        f"{d['_id']}.{p['_id']}"
        for d in raw
        for p in d.get("pages", [])
        if (p.get("text") or {}).get("content", "").strip() and "RollTable" not in p["text"]["content"]
    }
    assert wanted
    assert wanted - pages <= EMBEDDED_ELSEWHERE
    for document in raw:
        if "results" in document:
            entity = next(e for e in entities if e.data["source"]["id"] == document["_id"])
            assert len(entity.data["table"]["rows"]) == len(document["results"])
            assert [row.least for row in tables_of(entity)[0].rows] == sorted(
                r["range"][0] for r in document["results"]
            )


# --- against the source ----------------------------------------------------------------------------------------------

SCHOOLS = {"abj": "abjuration", "con": "conjuration", "div": "divination", "enc": "enchantment", "evo": "evocation",
           "ill": "illusion", "nec": "necromancy", "trs": "transmutation"}  # fmt: skip
SIZES = {"tiny": "tiny", "sm": "small", "med": "medium", "lg": "large", "huge": "huge", "grg": "gargantuan"}
GOLD = {"cp": 0.01, "sp": 0.1, "gp": 1}


def spell_values(system: Raw) -> Iterator[tuple[str, object]]:
    """What the source of a spell says, by field."""
    flags = [*(system.get("properties") or []), *(system.get("tags") or [])]
    names = [*flags, *((system.get("components") or {}).get("required") or [])]
    yield "level", system["level"] if "level" in system else system["circle"]["base"]
    yield "school", SCHOOLS.get(system["school"], system["school"])
    yield "ritual", "ritual" in flags
    yield "concentration", "concentration" in flags
    parts = {"vocal": "verbal", "verbal": "verbal", "somatic": "somatic", "material": "material"}
    yield "components", {parts[name] for name in names if name in parts} or None
    if system["range"]["units"] in ("ft", "foot"):
        yield "range", float(system["range"]["value"])


def creature_values(system: Raw) -> Iterator[tuple[str, object]]:
    """What the source of a creature says, by field."""
    attributes, traits = system["attributes"], system["traits"]
    yield "hit_points", attributes["hp"]["max"]
    yield "challenge_rating", system["details"]["cr"] if "details" in system else attributes["cr"]
    yield "size", {SIZES.get(traits["size"], traits["size"])}
    movement = attributes.get("movement") or {**traits["movement"]["types"], "walk": traits["movement"]["base"]}
    yield "speed_walk", float(movement["walk"]) or None
    senses = attributes.get("senses") or traits["senses"]
    ranges = senses.get("ranges") or senses.get("types") or senses
    yield "darkvision", float(ranges["darkvision"]) if ranges.get("darkvision") not in (None, "", 0) else None
    if attributes["ac"].get("calc") in ("natural", "flat"):
        yield "armor_class", attributes["ac"]["flat"]


def item_values(system: Raw) -> Iterator[tuple[str, object]]:
    """What the source of an item says, by field."""
    price, weight = system.get("price") or {}, system.get("weight") or {}
    if price.get("value"):
        yield "cost", price["value"] * GOLD[price["denomination"]]
    if weight.get("value") and weight["units"] in ("lb", "pound"):
        yield "weight", weight["value"]
    yield "rarity", {"veryRare": "very rare", "": None}.get(system.get("rarity") or "", system.get("rarity"))
    kinds = system.get("attunement")
    if (kinds.get("value") if isinstance(kinds, dict) else kinds) == "required":
        yield "requires_attunement", True


READERS: dict[str, Callable[[Raw], Iterator[tuple[str, object]]]] = {
    "spells": spell_values,
    "creatures": creature_values,
    "equipment": item_values,
}


def alike(value: object, expected: object) -> bool:
    if isinstance(expected, set):
        return isinstance(value, tuple) and set(value) == expected
    if isinstance(expected, float | int) and not isinstance(expected, bool):
        return isinstance(value, float | int) and abs(value - expected) < 0.001
    return value == expected or (expected is None and value in (None, 0))


def test_fifty_entries_have_the_values_of_their_source(foundry, seed):
    pairs = [
        (entity, sources(foundry / name)[entity.data["source"]["id"]])
        for name in ("dnd5e", "black-flag")
        for entity in primary(content(foundry / name)[0])
        if entity.type in READERS and entity.data.get("category") != "vehicle"
    ]
    compared: Counter[str] = Counter()
    for entity, raw in random.Random(seed).sample(pairs, 50):
        for field, expected in READERS[entity.type](raw["system"]):
            assert alike(entity.fields.get(field), expected), (entity.uri, field, entity.fields.get(field), expected)
            compared[field] += 1
    assert sum(compared.values()) > 150


# --- against Open5e --------------------------------------------------------------------------------------------------

OTHERWISE = {
    ("lore://spells/dnd5e-2014/revivify", "school"): "Foundry says necromancy",
    ("lore://creatures/dnd5e-2024/commoner", "size"): "Medium or Small is stored as one",
    ("lore://creatures/dnd5e-2024/mage", "size"): "Medium or Small is stored as one",
    ("lore://creatures/dnd5e-2014/werewolf", "speed_walk"): "that of the wolf",
    ("lore://creatures/dnd5e-2024/couatl", "languages"): "telepathy is not among the data",
    ("lore://creatures/dnd5e-2024/couatl", "spells"): "those of Divine Aid are named in its text only",
    ("lore://equipment/dnd5e-2014/cow", "weight"): "1,000 and 1,400 pounds",
}
"""Facts in which the two differ, and why."""

NOT_COMPARED = {"environments", "hover", "lair", "classes", "category", AUDIENCE}
"""What one of the two has more of, or knows from elsewhere."""


@functools.cache
def gold(corpus: Path) -> dict[tuple[str, str, str], Entity]:
    """The SRD as Open5e has it, by type, rules and name."""
    found: dict[tuple[str, str, str], Entity] = {}
    for name in ("spells", "creatures", "magicitems", "items"):
        file = corpus / "entities" / f"{name}.jsonl"
        packed = Path(f"{file}.gz")
        text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else file.read_text("utf-8")
        for line in text.splitlines():
            raw = json.loads(line)
            if raw["document"]["key"] in ("srd-2014", "srd-2024"):
                entity = normalize(raw, hint=name)[0]
                found.setdefault((entity.type, entity.document[-4:], fold(entity.name)), entity)
    return found


def test_every_fact_that_open5e_has_too_agrees_or_is_listed(foundry, corpus):
    compared, different = 0, set()
    for entity in primary(content(foundry / "dnd5e")[0]):
        same = gold(corpus).get((entity.type, entity.document[-4:], fold(entity.name)))
        if same is None:
            continue
        for field in (same.fields.keys() & entity.fields.keys()) - NOT_COMPARED:
            ours, theirs = entity.fields[field], same.fields[field]
            compared += 1
            both = isinstance(ours, tuple) and isinstance(theirs, tuple) and set(ours) >= set(theirs)
            equal = both or ours == theirs
            if not equal and not (field == "weight" and not theirs):
                different.add((entity.uri, field))
    assert compared > 500
    assert different == OTHERWISE.keys()


OTHERWISE_IN_BLACK_FLAG = {
    ("mage", "armor_class"), ("mage", "hit_points"), ("mage", "spells"), ("iron-golem", "damage_types"),
    ("adult-red-dragon", "conditions"), ("husk-demon", "languages"), ("crimson-jelly", "immune"), ("specter", "resistant"),
}  # fmt: skip
"""Facts in which the data and the printed stat blocks of Open5e differ: a mage of twice the hit points, gas without a type."""


def test_black_flag_agrees_with_open5e_but_for_what_is_listed(foundry, corpus):
    text = gzip.decompress((corpus / "entities" / "creatures.jsonl.gz").read_bytes()).decode()
    printed = [normalize(json.loads(line), hint="creatures")[0] for line in text.splitlines() if '"bfrd"' in line]
    by_name = {fold(entity.name): entity for entity in printed if entity.document == "bfrd"}
    compared, different = 0, set()
    for entity in content(foundry / "black-flag")[0]:
        same = by_name.get(fold(entity.name)) if entity.type == "creatures" else None
        for field in (
            (same.fields.keys() & entity.fields.keys()) - NOT_COMPARED - {"passive_perception"} if same else ()
        ):
            ours, theirs = entity.fields[field], same.fields[field] if same else None
            compared += 1
            both = isinstance(ours, tuple) and isinstance(theirs, tuple) and set(ours) >= set(theirs)
            if not both and ours != theirs:
                different.add((entity.slug, field))
    assert compared > 650
    assert different == OTHERWISE_IN_BLACK_FLAG


# --- invented files, and damaged ones --------------------------------------------------------------------------------


def test_the_invented_files_give_what_their_manifest_expects(foundry):
    entities, report = content(foundry / "synthetic")
    reasons = {Path(failure.where).name: failure.reason for failure in report.failed}
    assert {
        "bad-empty.db",
        "bad-lfs-pointer.json",
        "bad-yaml-bomb.yml",
        "bad-yaml-tag.yml",
        "bad-leveldb",
    } <= reasons.keys()
    assert {"bad-lines.db:2", "bad-lines.db:3", "dirty-other-system.json"} <= reasons.keys()
    assert sum(name.startswith("dirty-missing.json") for name in reasons) == 6
    names = Counter(entity.name for entity in entities)
    assert names["Good Line"] == names["Good Again"] == names["Unknown Type"] == names["Lamp"] == 1
    warden = named(entities, "Ash Warden")
    wanted = {"armor_class": 14, "challenge_rating": 0.25, "speed_fly": 60, "hover": True}
    assert {name: warden.fields[name] for name in wanted} == wanted
    assert "+4, reach 5 ft. *Hit:* 5 (1d6 + 2) Fire damage." in markdown(warden)
    assert (warden.data["desc"], "miller" in warden.data[GM_PART]) == ("A burnt guard.", True)
    assert named(entities, "Crown of the Drowned King").fields[AUDIENCE] == (DM,)
    hidden = [e for e in entities if "SECRETWORD" in json.dumps({k: v for k, v in e.data.items() if k != GM_PART})]
    assert [entity.fields[AUDIENCE] for entity in hidden] == [(DM,)]
    who = {e.name: e.fields.get(AUDIENCE) for e in entities if e.data.get("parent") == "The Drowned Bell"}
    assert {name for name, audience in who.items() if audience is None or audience == (DM, PLAYERS)} == {
        "For everybody", "Mixed", "Limited", "Markdown page", "Map",
    }  # fmt: skip
    assert len(named(entities, "Bell Omens").data["table"]["rows"]) == 4


def test_packs_that_are_databases_are_named_with_what_to_do(foundry):
    entities, report = content(foundry / "compiled")
    assert entities == []
    assert len(report.failed) == 4
    assert all("fvtt package unpack" in failure.reason for failure in report.failed)


@pytest.mark.slow
def test_damaged_files_neither_crash_nor_hang_nor_give_half_an_entry(foundry, tmp_path, seed):
    chance = random.Random(seed)
    files = [
        p for p in sorted(foundry.rglob("*")) if p.suffix in (".yml", ".json", ".db") and p.stat().st_size < 200_000
    ]
    for number in range(MUTATED):
        file = chance.choice(files)
        data = bytearray(file.read_bytes())
        for _ in range(chance.randint(1, 12)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.choice((0, 1, 40, 2000))] = chance.choice(
                [
                    b"",
                    b"null",
                    b"[",
                    b"{",
                    b'"',
                    b"\xff",
                    b"NaN",
                    b"- ",
                    b"[[/damage ",
                    b"<section class=secret>",
                    bytes(data[:300]),
                ]
            )
        damaged = tmp_path / f"{number}{file.suffix}"
        damaged.write_bytes(data)
        entities, report = imported(damaged)
        assert entities or report.failed or report.skipped or report.warnings or b"folders" in data or not data.strip()
        for entity in entities:
            assert entity.name
            assert entity.kind
            assert markdown(entity)
            assert entity.data["source"]
