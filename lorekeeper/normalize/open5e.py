"""Open5e objects to entities: API v2 in its three historical shapes (references as URLs, as nested objects with and
without ``url``) and v1.

One `Endpoint` per kind of object says how to recognise it, where it goes, and which of its values are filter fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import creatures, equipment, options, spells
from lorekeeper.normalize.build import Origin, build, slugify
from lorekeeper.normalize.reading import Words
from lorekeeper.records.values import local_key, ref_key
from lorekeeper.repairs.values import repaired_values

UNKNOWN_DOCUMENT = "open5e-unknown"
"""The document of objects that do not name one."""

Object = Mapping[str, Any]
Fields = dict[str, Any]


def _none(_: Object) -> Fields:
    return {}


@dataclass(frozen=True)
class Endpoint:
    """One kind of Open5e object.

    Attributes:
        name: the endpoint's name in the API, and the file name in exports.
        signatures: sets of keys; an object that has all keys of one set is of this kind.
        type: its collection; None for objects that hold no lore.
        kind: the entity's kind, or a function of the object.
        fields: its raw filter fields.
        slug_suffix: distinguishes its slugs from another endpoint's, of the same collection with the same keys.
        slug_of: its slugs as another endpoint writes them, which has the same things.
        version: of the API that lists it; 0 if the lists of other endpoints have the same objects.
        shared: whether its objects have descriptions of several documents (see `split_shared`).
        children: nested objects that are entities of their own, each with the name of its endpoint.
    """

    name: str
    signatures: tuple[frozenset[str], ...]
    type: str | None = None
    kind: str | Callable[[Object], str] = ""
    fields: Callable[[Object], Fields] = _none
    slug_suffix: str = ""
    slug_of: Callable[[str], str] = str
    version: int = 2
    shared: bool = False
    children: Callable[[Object], Iterable[tuple[Object, str]]] = field(default=lambda _: ())


def _first(obj: Object, *keys: str) -> Any:
    return next((obj[k] for k in keys if obj.get(k) not in (None, "")), None)


def _spell(o: Object) -> Fields:
    return spells.read(o, _document_of(o, ENDPOINTS["spells"])[0], _slug(o))


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
    """Children of a v1 object: they inherit the parent's document, and refer to the parent under ``link``."""

    def children(o: Object) -> Iterable[tuple[Object, str]]:
        document = {k: v for k, v in o.items() if k.startswith("document__")}
        nested = o.get(key) or []
        if not isinstance(nested, list) or not all(isinstance(child, Mapping) for child in nested):
            raise FilterError(f"{key} must be a list of objects")
        for child in nested:
            yield {**document, **child, link: o.get("slug") or o.get("name")}, endpoint

    return children


word = Words(__file__)

_FIELDS: dict[str, Callable[[Object], Fields]] = {
    "spells": _spell,
    **dict.fromkeys(("creatures", "monsters"), creatures.read),
    "magicitems": equipment.read_magic,
    "items": equipment.read,
    "weapons": equipment.weapon_row,
    "armor": equipment.armor_row,
    "services": equipment.service_fields,
    "classes": _class,
    **dict.fromkeys(("species", "races"), _species),
    **dict.fromkeys(("feats", "backgrounds"), options.read),
    "documents": _document,
}
"""The filter fields of the objects of endpoints; rules have their chapter."""

_KINDS = {"items": equipment.item_kind, "classes": _subclass, "species": _subrace, "races": _subrace}

_SLUGS = {"creatures": creatures.whole_slug, "weapons": equipment.table_slug, "armor": equipment.table_slug}

_CHILDREN = {
    "classes": _nested("archetypes", "classes", "subclass_of"),
    "races": _nested("subraces", "races", "subrace_of"),
}


def _endpoint(name: str, signatures: Sequence[str] = (), **stated: Any) -> Endpoint:
    """An endpoint as the table of all endpoints states it."""
    more: Mapping[str, Mapping[str, Any]] = {
        "kind": _KINDS,
        "slug_of": _SLUGS,
        "children": _CHILDREN,
        "fields": _FIELDS,
    }
    known: dict[str, Any] = {"fields": _chapter} if stated.get("type") == "rules" else {}
    known |= stated | {key: of[name] for key, of in more.items() if name in of}
    return Endpoint(name, tuple(frozenset(keys.split()) for keys in signatures), **known)


ENDPOINTS = {name: _endpoint(name, **stated) for name, stated in word["endpoints"].items()}
"""Every endpoint by name; if an object matches several, the first one wins."""

_BARE = frozenset({"key", "name", "url", "document"})
"""Keys of objects that only have a name, such as publishers and item categories; none of them has lore."""


def endpoint_of(obj: Object, hint: str | None = None) -> Endpoint | None:
    """The endpoint of an object, by its keys, else by the hint; None if it matches none."""
    if not key_of(obj):
        return None
    named = ENDPOINTS.get((hint or "").split(".")[0].removesuffix("_v1"))
    for endpoint in ENDPOINTS.values():
        if any(signature <= obj.keys() for signature in endpoint.signatures):
            more_exact = named is not None and not named.signatures and named.type == endpoint.type
            return named if more_exact else endpoint
    if named:
        return named
    if "descriptions" in obj:
        return ENDPOINTS["conditions"]
    if {"key", "name"} <= obj.keys() <= _BARE:
        return ENDPOINTS["publishers"]
    return ENDPOINTS["rules"] if isinstance(obj.get("desc"), str) else None


def entities(obj: Object, endpoint: Endpoint, document: str | None = None) -> list[Entity]:
    """The entities of an object and of its children; an empty list if it has no lore.

    An object that several documents share gives one for each of them, unless all are to go to one ``document``.
    """
    if endpoint.type is None:
        return []
    parts = [obj] if document else split_shared(obj)
    if len(parts) > 1 or parts[0] is not obj:
        return [entity for part in parts for entity in entities(part, endpoint)]
    version = 2 if "key" in obj else 1
    slug = _slug(obj)
    own_document, title = _document_of(obj, endpoint)
    repaired = repaired_values(endpoint.type, obj)
    entity = build(
        endpoint.type,
        obj,
        Origin(f"open5e-v{version}", document or own_document or UNKNOWN_DOCUMENT, title),
        name=_first(repaired, "name", "title") or slug.replace("-", " ").title(),
        kind=endpoint.kind if isinstance(endpoint.kind, str) else endpoint.kind(repaired),
        slug=endpoint.slug_of(slug) + endpoint.slug_suffix if version == 2 else slug,
        fields=endpoint.fields(repaired),
    )
    children = [entities(child, ENDPOINTS[name], document) for child, name in endpoint.children(obj)]
    return [entity, *(child for several in children for child in several)]


def _slug(obj: Object) -> str:
    """The key of an object, without its document in version 2."""
    key = str(key_of(obj))
    return key.split("_", 1)[-1] if "key" in obj else key


def key_of(obj: Object) -> str | None:
    """The key of an object, under whatever name its version has it; None without one."""
    key = _first(obj, "key", "slug")
    if not key and "document__slug" in obj and "name" in obj:
        key = slugify(obj["name"])
    return key if isinstance(key, str) else None


def _document_of(obj: Object, endpoint: Endpoint) -> tuple[str | None, str | None]:
    """(key, title) of an object's document. The prefix of the object's key does not say it: srd_fireball is srd-2014's."""
    if endpoint.type == "documents":
        return key_of(obj), None
    if "document__slug" in obj:
        return obj["document__slug"], obj.get("document__title")
    ref = obj.get("document")
    title = ref.get("display_name") or ref.get("name") if isinstance(ref, Mapping) else None
    return ref_key(ref), title


def _name(ref: object) -> str | None:
    if isinstance(ref, Mapping):
        ref = ref.get("name") or ref.get("key")
    return ref_key(ref) if isinstance(ref, str) else None


# --- objects that several documents share -----------------------------------------------------------------------------
# Open5e keeps one per condition, skill, ability ..., with the words of each document. They are taken apart, so that the words of
# each edition are an entry of the document that they are from.


def split_shared(obj: Object) -> list[Object]:
    """One object for each document that an object's descriptions are from; the object itself if that is its own only.

    A description that names no document belongs to the object's own.
    """
    descriptions = obj.get("descriptions")
    own = ref_key(obj.get("document"))
    by_document: dict[str | None, list[object]] = {}
    for description in descriptions if isinstance(descriptions, list) else []:
        named = ref_key(description.get("document")) if isinstance(description, Mapping) else None
        by_document.setdefault(named or own, []).append(description)
    if by_document.keys() <= {own}:
        return [obj]
    return [  # its own is described more fully, so it is kept
        {**obj, "document": obj.get("document") if document == own else document, "descriptions": part}
        for document, part in by_document.items()
    ]
