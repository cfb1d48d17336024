"""Open5e objects to entities: API v2 in its three historical shapes (references as URLs, as nested objects with and
without ``url``) and v1.

One `Endpoint` per kind of object says how to know it, where it goes, and which of its values are filter fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize.build import build, feet, flag, gold, local_key, local_keys, number, ref_key, slugify

UNKNOWN_DOCUMENT = "open5e-unknown"
"""Where an object is filed that does not name its document."""

Object = Mapping[str, Any]
Fields = dict[str, Any]


def _none(_: Object) -> Fields:
    return {}


@dataclass(frozen=True)
class Endpoint:
    """One kind of Open5e object.

    Attributes:
        name: the endpoint's name in the API, which is also the file name in exports.
        signs: sets of keys; an object that has all keys of one set is of this kind.
        type: the collection it goes to, None for bookkeeping that holds no lore.
        kind: the entity's kind, or how to tell it.
        fields: its filter fields, raw.
        twin: a suffix for the slug where another endpoint of the same collection uses the same keys for the same things.
        version: the version of the API that lists it; None where the lists of other endpoints hold the same.
        children: objects nested inside it that are entities of their own, each with the endpoint it is read as.
    """

    name: str
    signs: tuple[frozenset[str], ...]
    type: str | None = None
    kind: str | Callable[[Object], str] = ""
    fields: Callable[[Object], Fields] = _none
    twin: str = ""
    version: int | None = 2
    children: Callable[[Object], Iterable[tuple[Object, str]]] = field(default=lambda _: ())


def _signs(*alternatives: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(keys.split()) for keys in alternatives)


def _first(obj: Object, *keys: str) -> Any:
    return next((obj[k] for k in keys if obj.get(k) not in (None, "")), None)


def _spell(o: Object) -> Fields:
    distance = feet(o["range"], o.get("range_unit")) if o.get("range") is not None else None
    classes = local_keys(o.get("classes"))
    if classes is None:
        listed = _first(o, "spell_lists") or re.split(r",\s*", _first(o, "dnd_class") or "")
        classes = [c for c in listed if c] or None
    return {
        "level": _first(o, "level_int", "level"),
        "school": local_key(o.get("school")),
        "classes": classes,
        "ritual": flag(o.get("ritual")),
        "concentration": flag(o.get("concentration")),
        "casting_time": _first(o, "casting_time"),
        "damage_types": local_keys(o.get("damage_types")),
        "range": distance,
    }


def _creature(o: Object) -> Fields:
    return {
        "challenge_rating": _first(o, "cr", "challenge_rating_decimal", "challenge_rating"),
        "type": local_key(_first(o, "type")),
        "size": local_key(_first(o, "size")),
        "alignment": _first(o, "alignment"),
        "armor_class": o.get("armor_class"),
        "hit_points": o.get("hit_points"),
        "environments": local_keys(o.get("environments")),
    }


def _price_and_weight(o: Object) -> Fields:
    return {"cost": gold(o.get("cost")), "weight": number(o.get("weight"))}


def _before_bracket(text: str) -> str:
    return text.partition("(")[0].rstrip()


def _weapon_fields(o: Object) -> Fields:
    names = []
    for entry in o.get("properties") or []:
        inner = entry.get("property", entry) if isinstance(entry, Mapping) else entry
        name = inner.get("name") if isinstance(inner, Mapping) else ref_key(inner)
        names.append(_before_bracket(name) if name and name.endswith(")") else name or "")
    return {"damage_type": local_key(o.get("damage_type")), "properties": [n for n in names if n]}


def _armor_fields(o: Object) -> Fields:
    worn = _first(o, "category")
    known = [f"{worn} armor" if worn and "armor" not in worn.lower() and worn != "shield" else worn]
    if flag(_first(o, "grants_stealth_disadvantage", "stealth_disadvantage")):
        known.append("stealth disadvantage")
    return {"properties": [k for k in known if k]}


def _item(o: Object) -> Fields:
    nested: Fields = {}
    if isinstance(o.get("weapon"), Mapping):
        nested = _weapon_fields(o["weapon"])
    elif isinstance(o.get("armor"), Mapping):
        nested = _armor_fields(o["armor"])
    category = local_key(o.get("category")) or _before_bracket(o.get("type") or "") or None
    return {"category": category, **_price_and_weight(o), **nested}


def _item_kind(o: Object) -> str:
    return "weapon" if o.get("weapon") else "armor" if o.get("armor") else "gear"


def _magic_item(o: Object) -> Fields:
    attunement = o.get("requires_attunement")
    if isinstance(attunement, str):
        attunement = "attunement" in attunement.lower()
    return {**_item(o), "rarity": local_key(o.get("rarity")), "requires_attunement": attunement}


def _weapon(o: Object) -> Fields:
    return {"category": _first(o, "category") or "weapon", **_price_and_weight(o), **_weapon_fields(o)}


def _armor(o: Object) -> Fields:
    return {"category": _first(o, "category") or "armor", **_price_and_weight(o), **_armor_fields(o)}


def _service(o: Object) -> Fields:
    return {"category": "service", **_price_and_weight(o)}


def _class(o: Object) -> Fields:
    die = _first(o, "hit_dice")
    return {
        "parent": local_key(o.get("subclass_of")),
        "hit_die": re.sub(r"^1(?=d)", "", die.lower()) if isinstance(die, str) else None,
    }


def _subclass(o: Object) -> str:
    return "subclass" if o.get("subclass_of") else "class"


def _species(o: Object) -> Fields:
    return {"parent": local_key(_first(o, "subspecies_of", "subrace_of"))}


def _subrace(o: Object) -> str:
    nested = o.get("is_subspecies") or o.get("is_subrace") or _first(o, "subspecies_of", "subrace_of")
    return "subrace" if nested else "race"


def _chapter(o: Object) -> Fields:
    return {"parent": local_key(_first(o, "ruleset", "parent"))}


def _document(o: Object) -> Fields:
    return {
        "publisher": _name(_first(o, "publisher", "organization")),
        "game_system": _name(_first(o, "gamesystem", "ruleset")),
        "licenses": [n for n in map(_name, o.get("licenses") or [o.get("license")]) if n] or None,
    }


def _nested(key: str, endpoint: str, link: str) -> Callable[[Object], Iterable[tuple[Object, str]]]:
    """Children of a v1 object: they borrow the parent's document and name it as what they belong to."""

    def children(o: Object) -> Iterable[tuple[Object, str]]:
        borrowed = {k: v for k, v in o.items() if k.startswith("document__")}
        nested = o.get(key) or []
        if not isinstance(nested, list) or not all(isinstance(child, Mapping) for child in nested):
            raise FilterError(f"{key} must be a list of objects")
        for child in nested:
            yield {**borrowed, **child, link: o.get("slug") or o.get("name")}, endpoint

    return children


def _lore(name: str, *signs: str, kind: str | None = None, twin: str = "", version: int = 2) -> Endpoint:
    """A small reference endpoint that is filed among the rules."""
    return Endpoint(name, _signs(*signs), "rules", kind or name.rstrip("s"), _chapter, twin, version)


ENDPOINTS: dict[str, Endpoint] = {
    e.name: e
    for e in (
        Endpoint("spells", _signs("school level casting_time", "school level_int"), "spells", "spell", _spell),
        Endpoint(
            "creatures",
            _signs("challenge_rating hit_points", "challenge_rating_decimal hit_points", "cr hit_points"),
            "creatures",
            "creature",
            _creature,
        ),
        Endpoint("monsters", (), "creatures", "creature", _creature, version=None),
        Endpoint(
            "magicitems", _signs("rarity requires_attunement", "rarity desc"), "equipment", "magic-item", _magic_item
        ),
        Endpoint("items", _signs("category weapon armor"), "equipment", _item_kind, _item),
        Endpoint("weapons", _signs("damage_dice damage_type"), "equipment", "weapon", _weapon, twin="-stats"),
        Endpoint("armor", _signs("ac_base", "base_ac"), "equipment", "armor", _armor, twin="-stats"),
        Endpoint("services", _signs("cost detail desc"), "equipment", "gear", _service),
        Endpoint(
            "classes",
            _signs("features hit_dice", "hp_at_1st_level", "subclass_of"),
            "character_options",
            _subclass,
            _class,
            children=_nested("archetypes", "classes", "subclass_of"),
        ),
        Endpoint(
            "species", _signs("is_subspecies", "subspecies_of", "is_subrace"), "character_options", _subrace, _species
        ),
        Endpoint(
            "races",
            _signs("asi_desc", "asi traits", "subrace_of"),
            "character_options",
            _subrace,
            _species,
            version=None,
            children=_nested("subraces", "races", "subrace_of"),
        ),
        Endpoint("feats", _signs("has_prerequisite", "effects_desc"), "character_options", "feat"),
        Endpoint("backgrounds", _signs("benefits", "skill_proficiencies feature"), "character_options", "background"),
        Endpoint("rules", _signs("ruleset initialHeaderLevel", "ruleset desc"), "rules", "rule", _chapter),
        Endpoint("rulesets", _signs("rules desc"), "rules", "section", _chapter),
        Endpoint("sections", _signs("slug desc parent"), "rules", "section", _chapter, version=1),
        Endpoint("documents", _signs("licenses publisher", "license title slug"), "documents", "document", _document),
        _lore("planes", kind="plane", version=1),
        _lore("conditions"),
        _lore("abilities", "short_desc skills", kind="ability"),
        _lore("skills", "ability descriptions"),
        _lore("languages", "is_exotic"),
        _lore("environments", "aquatic planar"),
        _lore("alignments", "societal_attitude morality"),
        _lore("damagetypes", kind="damage-type"),
        _lore("creaturetypes", kind="creature-type", twin="-creature-type"),
        _lore("spellschools", kind="spell-school"),
        _lore("weaponproperties", kind="weapon-property"),
        _lore("itemsets", "items desc", kind="item-set"),
        Endpoint("sizes", _signs("space_diameter")),
        Endpoint("creaturesets", _signs("creatures name")),
        Endpoint("itemcategories", ()),
        Endpoint("itemrarities", _signs("rank name")),
        Endpoint("licenses", ()),
        Endpoint("publishers", ()),
        Endpoint("gamesystems", _signs("content_prefix")),
        Endpoint("images", _signs("file_url")),
        Endpoint("spelllist", _signs("spells slug")),
    )
}
"""Every endpoint by name; where an object fits several, the first one listed wins."""

_BARE = frozenset({"key", "name", "url", "document"})
"""Keys of what only has a name, as publishers and item categories do: bookkeeping, whichever of them it is."""


def endpoint_of(obj: Object, hint: str | None = None) -> Endpoint | None:
    """The endpoint an object came from, by its keys, else by the hint; None where nothing fits."""
    if not _local_key(obj):
        return None
    named = ENDPOINTS.get((hint or "").split(".")[0].removesuffix("_v1"))
    for endpoint in ENDPOINTS.values():
        if any(signs <= obj.keys() for signs in endpoint.signs):
            return named if named and not named.signs and named.type == endpoint.type else endpoint
    if named:
        return named
    if "descriptions" in obj:
        return ENDPOINTS["conditions"]
    if {"key", "name"} <= obj.keys() <= _BARE:
        return ENDPOINTS["publishers"]
    return ENDPOINTS["rules"] if isinstance(obj.get("desc"), str) else None


def entities(obj: Object, endpoint: Endpoint, document: str | None = None) -> list[Entity]:
    """The entity of one object, and those of its children; an empty list for bookkeeping objects."""
    if endpoint.type is None:
        return []
    version = 1 if "key" not in obj else 2
    key, doc = _document_of(obj, endpoint)
    slug = str(_local_key(obj)).split("_", 1)[-1] if version == 2 else str(_local_key(obj))
    kind = endpoint.kind if isinstance(endpoint.kind, str) else endpoint.kind(obj)
    own = build(
        endpoint.type,
        obj,
        slug=slug + (endpoint.twin if version == 2 else ""),
        name=_first(obj, "name", "title") or slug.replace("-", " ").title(),
        kind=kind,
        document=document or key or UNKNOWN_DOCUMENT,
        document_name=doc,
        source_api=f"open5e-v{version}",
        **endpoint.fields(obj),
    )
    found = [own]
    for child, name in endpoint.children(obj):
        found += entities(child, ENDPOINTS[name], document)
    return found


def _local_key(obj: Object) -> str | None:
    key = _first(obj, "key", "slug") or (slugify(obj["name"]) if "document__slug" in obj and "name" in obj else None)
    return key if isinstance(key, str) else None


def _document_of(obj: Object, endpoint: Endpoint) -> tuple[str | None, str | None]:
    """(key, title) of the document an object is from. The key's prefix is not the document: srd_fireball is srd-2014's."""
    if endpoint.type == "documents":
        return _local_key(obj), None
    if "document__slug" in obj:
        return obj["document__slug"], obj.get("document__title")
    ref = obj.get("document")
    title = ref.get("display_name") or ref.get("name") if isinstance(ref, Mapping) else None
    return ref_key(ref), title


def _name(ref: object) -> str | None:
    if isinstance(ref, Mapping):
        ref = ref.get("name") or ref.get("key")
    return ref_key(ref) if isinstance(ref, str) else None
