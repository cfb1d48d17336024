"""Write what the creatures and spells of the starter compendium do, as figures in our own words, from the Open5e files.

    python scripts/build_starter_stat_blocks.py CORPUS

CORPUS is as for `build_starter_facts`, to be run first. Creatures get their traits, actions and saving throws, species their
size, speed and darkvision, spells their figures and what a higher slot brings. The entries of the SRD 5.2 are made whole, in
``data/starter-2024``. `stat_lines` words them; `tests/test_starter.py` compares the figures with the source.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.normalize import normalize
from lorekeeper.text.phrases import STARTER, STARTER_2024, STARTER_2024_DOCUMENT
from scripts.build_starter_facts import objects, plain
from scripts.stat_lines import Block, Object, line, slots

SECTIONS = {
    "TRAIT": "traits",
    "ACTION": "actions",
    "BONUS_ACTION": "bonus_actions",
    "REACTION": "reactions",
    "LEGENDARY_ACTION": "legendary_actions",
}

LEGENDARY = "3 a round, one at a time, each as another creature's turn ends; all are back when its own turn begins."

MADE = frozenset(
    {
        *SECTIONS.values(),
        "legendary_desc",
        "saving_throws",
        "skill_bonuses",
        "initiative_bonus",
        "effects_desc",
        "higher_level",
    }
)
"""The keys that this script writes."""


def main(corpus: str) -> None:
    """Write the files, and say how many entries they have."""
    folder = Path(corpus) / "entities"
    for collection, made in (("creatures", creature), ("spells", spell)):
        sources = {(doc(obj), entity.slug): (obj, entity) for obj, entity in read(folder, collection)}
        ours = [json.loads(row) for row in (STARTER / f"{collection}.jsonl").read_text("utf-8").splitlines()]
        write(STARTER, collection, [{**without_made(o), **made(sources["srd-2014", o["slug"]][0])} for o in ours])
        texts = {o["name"]: o["description"] for o in ours}
        newer = [whole(entity, made(obj), texts) for (book, _), (obj, entity) in sources.items() if book == "srd-2024"]
        write(STARTER_2024, collection, sorted(newer, key=lambda o: o["slug"]))
    kinds = {obj["key"].removeprefix("srd_"): obj for obj in objects(folder, "species") if doc(obj) == "srd-2014"}
    ours = [json.loads(row) for row in (STARTER / "character_options.jsonl").read_text("utf-8").splitlines()]
    write(STARTER, "character_options", [{**without_made(o), **species(o, kinds)} for o in ours])
    record = json.loads((STARTER / "documents.jsonl").read_text("utf-8"))
    write(STARTER_2024, "documents", [{**record, **RECORD}])


ATTRIBUTION = (
    'This work includes material from the System Reference Document 5.2 ("SRD 5.2") by Wizards of the Coast LLC, available at '
    "https://www.dndbeyond.com/srd. The SRD 5.2 is licensed under the Creative Commons Attribution 4.0 International License, "
    "available at https://creativecommons.org/licenses/by/4.0/legalcode."
)

RECORD = {
    "slug": STARTER_2024_DOCUMENT,
    "name": "LoreKeeper Starter Compendium of 2024",
    "document": STARTER_2024_DOCUMENT,
    "game_system": "5th Edition 2024",
    "description": "Figures of the creatures and spells of the System Reference Document 5.2 in LoreKeeper's own words.",
    "attribution": ATTRIBUTION,
}


def doc(obj: Object) -> str:
    """The key of the book of an object."""
    return str(obj["document"]["key"])


def read(folder: Path, collection: str) -> Iterator[tuple[Object, Entity]]:
    """The objects of both SRDs, with what is made of them."""
    for obj in objects(folder, collection):
        if doc(obj) in ("srd-2014", "srd-2024"):
            yield from ((obj, entity) for entity in normalize(obj, hint=collection))


def without_made(entry: Object) -> Object:
    """An entry without what an earlier run wrote."""
    return {key: value for key, value in entry.items() if key not in MADE}


def write(folder: Path, collection: str, entries: list[Object]) -> None:
    """Write the entries of a type, and say how many there are."""
    folder.mkdir(exist_ok=True)
    text = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
    (folder / f"{collection}.jsonl").write_text(text, encoding="utf-8")
    print(f"{folder.name}/{collection}: {len(entries)}, {len(text) / 1000:.0f} KB")


def whole(entity: Entity, made: Object, texts: Mapping[str, str]) -> Object:
    """An entry of the SRD 5.2: the values of its fields, what it is in the starter's words, and what it does."""
    fields = COLLECTIONS[entity.type].filters
    values = {name: plain(entity.fields[name]) for name in fields if entity.fields.get(name) not in (None, ())}
    head = {"collection": entity.type, "slug": entity.slug, "name": entity.name, "document": STARTER_2024_DOCUMENT}
    described = {"description": texts[entity.name]} if entity.type == "creatures" and entity.name in texts else {}
    kept = {key: entity.data[key] for key in ("hit_dice", "range_text", "reaction_condition") if entity.data.get(key)}
    return {**head, **values, **kept, **printed(entity), **described, **made}


def printed(entity: Entity) -> Object:
    """Values as stat blocks print them, where fields have them in another form."""
    data = entity.data
    if entity.type == "spells":
        letters = [letter for letter, key in (("V", "verbal"), ("S", "somatic"), ("M", "material")) if data.get(key)]
        cost = {"material_cost": data["material_cost"]} if data.get("material_cost") else {}
        return {
            "components": letters,
            "duration": data.get("duration"),
            "casting_time": data.get("casting_time"),
            **cost,
        }
    speed = {mode: feet for mode, feet in data["speed"].items() if mode != "unit"}
    found = entity.fields["size"]
    sizes = list(found) if isinstance(found, tuple) else [str(found)]
    lines = data["resistances_and_immunities"]
    stances = ("damage_immunities", "damage_resistances", "damage_vulnerabilities", "condition_immunities")
    return {
        **{name: names(data[name]) for name in ("type", "alignment") if data.get(name)},
        **{name: text for name in stances if (text := lines.get(f"{name}_display"))},
        "size": sizes[0] if len(sizes) == 1 else sizes,
        "speed": speed,
        "ability_scores": data["ability_scores"],
        **({"languages": spoken} if (spoken := data["languages"]["as_string"]) else {}),
    }


def names(value: Any) -> str:
    """A value that is a text, or an object with a name."""
    return str(value["name"] if isinstance(value, dict) else value).lower()


def creature(obj: Object) -> Object:
    """What a creature does, by section."""
    features = [*obj["traits"], *obj["actions"]]
    block = Block([action["name"] for action in obj["actions"]])
    found: Object = {name: [] for name in SECTIONS.values()}
    for feature in sorted(features, key=lambda f: f.get("order_in_statblock") or 0):
        if text := line(feature["name"], feature["desc"], block):
            found[SECTIONS[feature.get("action_type") or "TRAIT"]].append({"name": named(feature), "desc": text})
    return {
        "saving_throws": obj.get("saving_throws") or {},
        "skill_bonuses": obj.get("skill_bonuses") or {},
        **({"initiative_bonus": obj["initiative_bonus"]} if doc(obj) == "srd-2024" else {}),
        **{name: value for name, value in found.items() if value},
        **({"legendary_desc": LEGENDARY} if found["legendary_actions"] else {}),
    }


def named(feature: Object) -> str:
    """The name of a feature with how often it can be used and what it costs."""
    limit, cost = feature.get("usage_limits") or {}, feature.get("legendary_action_cost") or 1
    count = limit.get("param")
    uses = {
        "PER_DAY": f"{count}/Day",
        "RECHARGE_ON_ROLL": f"Recharge {count}\u20136" if count != 6 else "Recharge 6",
        "RECHARGE_AFTER_REST": "Recharges after a Short or Long Rest",
    }.get(limit.get("type", ""), "")
    costs = f"Costs {cost} Actions" if cost > 1 and feature.get("action_type") == "LEGENDARY_ACTION" else ""
    marks = "; ".join(mark for mark in (uses, costs) if mark and mark not in feature["name"])
    return f"{feature['name']} ({marks})" if marks else str(feature["name"])


def species(entry: Object, sources: Mapping[str, Object]) -> Object:
    """Size, speed and darkvision of a species; nothing of what is none."""
    found = sources.get(entry["slug"], {}) if entry["kind"] == "race" else {}
    texts = {each["name"]: each["desc"] for each in found.get("traits", ())}
    read_of = {"Size": r"size is (\w+)", "Speed": r"speed is (\d+) feet", "Darkvision": r"within (\d+) feet"}
    figures = {name: re.search(pattern, texts.get(name, "")) for name, pattern in read_of.items()}
    traits = [
        {"name": name, "desc": f"{match[1]}." if name == "Size" else f"{match[1]} ft."}
        for name, match in figures.items()
        if match
    ]
    return {"traits": traits} if traits else {}


def spell(obj: Object) -> Object:
    """The figures of a spell, and what a higher slot or level brings."""
    text = re.split(r"\n#|\n\|", obj["desc"])[0]
    figures = line(obj["name"], text, Block([]))
    if (
        any(option.get("target_count") for option in obj.get("casting_options") or ())
        and (obj.get("target_count") or 0) > 1
    ):
        figures = f"{obj['target_count']} targets. {figures}"
    higher = slots(obj)
    return {
        **({"effects_desc": figures} if figures else {}),
        **({"higher_level": higher} if higher else {}),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
