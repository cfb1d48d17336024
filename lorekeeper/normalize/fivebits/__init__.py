"""The data of the 5e-bits project, which dnd5eapi.co serves: the system reference documents as lists of objects.

A list is a table of an SQLite file, or a JSON file such as ``5e-SRD-Monsters.json``. Classes, species and items refer to objects
of other lists, so that all lists are read together. The objects become those of Open5e, which has the same documents: entries have
the same identities from both, and read alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import open5e
from lorekeeper.normalize.build import Imported, own_error
from lorekeeper.normalize.fivebits import classes, creatures, items, options, rules, spells
from lorekeeper.normalize.fivebits.classes import Tables
from lorekeeper.normalize.fivebits.printed import Printed
from lorekeeper.normalize.fivebits.texts import Object, Words, name_of, strings, text, text_of, word
from lorekeeper.normalize.taken import texts_of

SOURCE = "5e-bits"
"""`Entity.source_api` of these entries."""

ADDRESS = "/api/"
"""How the address of every object begins."""

EDITIONS = ("2014", "2024")


def _as_in_print(told: str) -> str:
    """A text with what the books have in place of a misprint of these objects."""
    for misprint, words in word["misprints"].items():
        told = told.replace(misprint, words)
    return told


def _corrected(edition: str, name: str, o: Object) -> Object:
    """An object with what the book has otherwise; of an object within it, the values that it has otherwise."""
    found = {**strings(o, _as_in_print)}
    for key, new in word["corrected"][edition].get(name, {}).get(o["index"], {}).items():
        found[key] = {**o[key], **new} if isinstance(o.get(key), dict) and isinstance(new, dict) else new
    return found


LISTS: dict[str, tuple[str, Callable[[Object, Tables], dict[str, Any]]]] = {
    "monsters": ("creatures", lambda o, _: creatures.creature(o)),
    "spells": ("spells", lambda o, _: spells.spell(o)),
    "equipment": ("items", lambda o, tables: items.item(o, _properties(tables))),
    "magic_items": ("magicitems", lambda o, _: items.magic_item(o)),
    "poisons": ("items", lambda o, _: items.poison(o)),
    "classes": (
        "classes",
        lambda o, tables: classes.character_class(o, tables, word["columns"][(list_of(o) or ("2014",))[0]]),
    ),
    "subclasses": ("classes", classes.subclass),
    "races": ("species", options.species),
    "subraces": ("species", options.species),
    "species": ("species", options.species),
    "backgrounds": ("backgrounds", lambda o, _: options.background(o)),
    "feats": ("feats", lambda o, _: options.feat(o)),
    **{name: (endpoint, lambda o, _: options.rule(o)) for name, endpoint in word["rules"].items()},
    "weapon_mastery_properties": ("weaponproperties", lambda o, _: {**options.rule(o), "type": "Mastery"}),
}
"""The endpoint of Open5e that has what a list has, and how its objects are read."""


LINED = {
    "monsters": (creatures.SIGN, creatures.as_printed),
    "spells": (spells.SIGN, spells.as_printed),
    "magic_items": (items.SIGN, items.as_printed),
    "equipment": (items.TOOL_SIGN, items.tool_as_printed),
    "races": (options.SIGN, options.as_printed),
    "classes": (classes.SIGN, classes.as_printed),
}
"""Lists whose things have values in lines below their titles: how these begin, and how they are read."""


def list_of(obj: object) -> tuple[str, str] | None:
    """(edition, list) of an object, by its address: "/api/2014/monsters/owl". None if it is no object of 5e-bits."""
    address = obj.get("url") if isinstance(obj, Mapping) else None
    if (
        not isinstance(address, str)
        or not address.startswith(ADDRESS)
        or not isinstance(obj, Mapping)
        or "index" not in obj
    ):
        return None
    parts = address.removeprefix(ADDRESS).split("/")
    edition = parts.pop(0) if parts[0] in EDITIONS else "2014"
    name = "levels" if "levels" in parts[1:] else parts[0].replace("-", "_")
    return edition, name


def read(
    found: Iterable[object],
    document: str | None = None,
    others: Sequence[object] = (),
    texts: Sequence[object] = (),
    printed: Sequence[str] = (),
) -> Imported:
    """The entries that objects give, of all editions among them.

    Args:
        found: objects, in any order.
        document: key of the document to assign all entries to; by default that of their edition.
        others: objects of other files, in which their parts are looked for.
        texts: what else of these books tells how a word is written that a line's end has split.
        printed: the paragraphs of the book, whose words are the right ones; empty if it is not at hand.
    """
    result, found = Imported(), list(found)
    book = Printed(printed, word["variants"])
    # each once: a file is among all files
    every = {each.get("url"): each for each in (*others, *found) if isinstance(each, Mapping)}
    together = _editions(every.values() if others else found)
    for edition, tables in _editions(found).items():
        raw = together[edition]
        words = Words([*raw.values(), *texts])
        parts = {
            name for name, owners in word["parts"].items() if name in raw and any(owner in tables for owner in owners)
        }
        own = [name for name in tables if name not in word["parts"]]
        rows = {name: tables[name] if name in own else raw[name] for name in raw}
        whole = {name: _as_printed(edition, name, each, words, book) for name, each in rows.items()}
        for name in tables.keys() & word["parts"].keys():
            if not any(owner in raw for owner in word["parts"][name]):
                result.skipped[f"{name} of entries in other files of 5e-bits; import these with it"] += len(
                    tables[name]
                )
        # parts of what another file has stand in the entries of that one
        whole_here = {name for name in parts if all(owner in tables for owner in word["parts"][name] if owner in raw)}
        for name in (*own, *sorted(whole_here)):
            result.texts += texts_of(whole[name], SOURCE, f".{name}")
        for name in own:
            _read(edition, name, whole[name], whole, document, result)
        if document is None and result.entities:
            result.entities.append(document_of(edition))
    return result


def _as_printed(edition: str, name: str, rows: Iterable[Object], words: Words, book: Printed) -> list[Object]:
    """The objects of a list that the book has too, in its words."""
    absent = word["left_out"].get(edition, {}).get(name, ())
    kept = [each for each in rows if each["index"] not in absent]
    mended = [words.mended(_corrected(edition, name, each)) for each in kept]
    if name not in LINED:
        return book.corrected(mended)
    sign, as_printed = LINED[name]
    found = book.corrected(mended, sign)
    below = book.below(found, sign)
    return [as_printed(each, below[own]) if (own := name_of(each)) in below else each for each in found]


def _editions(found: Iterable[object]) -> dict[str, dict[str, list[Object]]]:
    """The objects by edition and list."""
    editions: dict[str, dict[str, list[Object]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        if (known := list_of(each)) and isinstance(each, Mapping):
            editions[known[0]][known[1]].append(each)
    return editions


def _read(edition: str, name: str, rows: list[Object], tables: Tables, document: str | None, result: Imported) -> None:
    if name not in (*LISTS, *rules.LISTS):
        result.failed.append((name, f"the list {name!r} is not known here; its {len(rows):,} objects were not read"))
        return
    bare = [each for each in rows if each.keys() <= _REFERENCE]
    if bare:
        number = f" ({len(bare):,} objects)" if len(bare) > 1 else ""
        result.failed.append(
            (name, f"this is 5e-database, but names and addresses only; import the whole lists{number}")
        )
    for place, each in enumerate(each for each in rows if each not in bare):
        try:
            with own_error():
                result.entities += _entities(edition, name, each, tables, document)
        except FilterError as error:
            result.failed.append((name, f"{name}[{place}]: {error}"))


_REFERENCE = frozenset({"index", "name", "url", "level", "school", "updated_at"})
"""Keys of an object in a list of the API, which has the whole object at its address."""


def _entities(edition: str, name: str, o: Object, tables: Tables, document: str | None) -> Iterator[Entity]:
    if name in LISTS:
        endpoint, read_one = LISTS[name]
        made = {"name": o.get("name"), "desc": text_of(o), **read_one(o, tables)}
        if any(made[key] for key in made if key != "name"):  # a name by itself says nothing
            yield _entity(edition, endpoint, document, _slug(edition, name, o), made)
    elif name in rules.LISTS:
        for endpoint, slug, made in rules.LISTS[name](o, tables):
            yield _entity(edition, endpoint, document, slug, made)


def _entity(edition: str, endpoint: str, document: str | None, slug: str, made: Mapping[str, Any]) -> Entity:
    key = f"srd-{edition}"
    obj = {
        "key": f"{key}_{slug}",
        **made,
        "document": {"key": key, **{name: word["documents"][edition][name] for name in ("display_name", "gamesystem")}},
    }
    entity = open5e.entities(obj, open5e.ENDPOINTS[endpoint], document or key)[0]
    return replace(entity, source_api=SOURCE)


def document_of(edition: str) -> Entity:
    """The document of an edition, with its licence, and the statement that the licence asks for."""
    obj = {"key": f"srd-{edition}", **word["documents"][edition]}
    return replace(open5e.entities(obj, open5e.ENDPOINTS["documents"])[0], source_api=SOURCE)


def _slug(edition: str, name: str, o: Object) -> str:
    """The key of an entry in its document: the index, or what Open5e has for it."""
    return str(word[f"srd-{edition}"].get(name, {}).get(o["index"], o["index"]))


def _properties(tables: Tables) -> dict[str, str]:
    rows = (*tables.get("weapon_properties", ()), *tables.get("weapon_mastery_properties", ()))
    return {text(each): text_of(each) for each in rows}
