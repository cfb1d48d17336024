"""What the parts of a typed text are about: the names of fields, types and documents, as people use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from lorekeeper.entities import COLLECTIONS, Field, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.field_values import Stored, stored
from lorekeeper.filters import WHERE, named_field, parse_filters, without_bound
from lorekeeper.folding import fold
from lorekeeper.search.query_syntax.parts import Kind, Part
from lorekeeper.where import FieldTest

IN, BOOK, ORDER = "in", "book", "order"
"""The names of what is no field."""

SPECIAL = {
    **dict.fromkeys(("in", "types"), IN),
    **dict.fromkeys(("book", "books", "document", "documents", "source", "sources"), BOOK),
    **dict.fromkeys(("order", "sort"), ORDER),
}
"""What they are called."""

ALSO = {"lvl": "level", "env": "environment", "dmg": "damage_type", "conc": "concentration", "terrain": "environment"}
"""What fields are called besides what `filters.named_field` knows."""

TYPES_ALSO = {"monster": "creatures"}
"""The same for types."""

_KIND = "kind"

_TYPE = "type"
"""The name that means a type of entries if its value is one, and else a field."""


_KINDS = frozenset(fold(kind) for collection in COLLECTIONS.values() for kind in collection.kinds)


def meant(part: Part) -> Part:
    """A part with ``kind`` in place of ``type`` if that is what its value is: "type:npc" asks for a kind of notes."""
    values = part.test.values if part.field == _TYPE and part.test else ()
    if part.test is None or not values or not {fold(value) for value in values} <= _KINDS or key_of(part) == IN:
        return part
    text = part.text.replace(part.test.field, _KIND, 1)
    return replace(part, text=text, test=replace(part.test, text=text, field=_KIND), field=_KIND)


def key_of(part: Part) -> str:
    """What a part is about: the name of a field, `IN`, `BOOK` or `ORDER`; "" for words and phrases."""
    if part.field == _TYPE and part.test and part.test.values and all(map(types_named, part.test.values)):
        return IN
    return SPECIAL.get(part.field) or next((f.name for f in fields_called(part.field)), "")


def is_test(part: Part) -> bool:
    """Whether a part is a test by its sign."""
    return part.kind is Kind.TEST and bool(key_of(part))


def is_flag(part: Part, types: Sequence[str]) -> bool:
    """Whether a part is the name of a flag, and nothing else, of one of some types."""
    found = [field_in(name, part.field) for name in types] if part.test and not part.test.sign else []
    return any(f is not None and f.type is FieldType.FLAG for f in found)


def is_choice(test: FieldTest) -> bool:
    """Whether a test asks for one of some values."""
    return not test.negated and test.ends is None and test.sign in (":", "")


def fields_called(name: str) -> list[Field]:
    """The fields of all types that people call so; none for ""."""
    return [found for entity_type in COLLECTIONS if (found := field_in(entity_type, name))]


def called(declared: Field) -> str:
    """What people call a field: as its tool does, in the singular."""
    name = next((without_bound(parameter) for parameter in declared.tool), declared.name)
    return {"document": BOOK, "tags": "tag", "licenses": "license"}.get(name, name.removesuffix("_key"))


@cache
def types_named(text: str) -> tuple[str, ...]:
    """The entity type that people call so, in the singular or plural; none for another text."""
    name = fold(text)
    return tuple(
        c.name for c in COLLECTIONS.values() if name.rstrip("s") in {n.rstrip("s") for n in _type_names(c.name)}
    )


def _type_names(entity_type: str) -> list[str]:
    own = [fold(entity_type), fold(COLLECTIONS[entity_type].label)]
    return [*own, *(name for name, other in TYPES_ALSO.items() if other == entity_type)]


def books_named(text: str, titles: Mapping[str, str]) -> list[str]:
    """Keys of the documents that people call so: by key or title, else by the beginning or a part of one of them."""
    name = fold(text)
    if not titles:
        return [text]
    names = {key: (fold(key), fold(title)) for key, title in titles.items()}
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [key for key, own in names.items() if any(fits(other, name) for other in own)]
        if found:
            return found
    return []


@cache
def field_in(entity_type: str, name: str) -> Field | None:
    """The field of a type that people call so."""
    return named_field(COLLECTIONS[entity_type], ALSO.get(name, name)) if name else None


def known_names(types: Sequence[str]) -> list[str]:
    """The names of fields that a note lists: those that people use."""
    listed = (f for entity_type in types for f in COLLECTIONS[entity_type].filters.values() if f.tool or f.facet)
    return list(dict.fromkeys([IN, BOOK, ORDER, *map(called, listed)]))


def renamed(test: FieldTest) -> str:
    """The text of a test, with the declared name of a field for another one."""
    name = fold(test.field).replace(" ", "_")
    return test.text.replace(test.field, ALSO[name], 1) if name in ALSO else test.text


def is_valid(entity_type: str, test: str) -> bool:
    """Whether a test can be made of the entries of a type."""
    try:
        parse_filters(entity_type, {WHERE: test})
    except FilterError:
        return False
    return True


def stored_values(declared: Field, value: str) -> Sequence[Stored]:
    """A value as it is stored; of a date nothing, since it is a time that lasts."""
    if declared.type is FieldType.DATE:
        return ()
    item = stored(declared, value)
    return item if isinstance(item, tuple) else (item,)


def meanings(part: Part, value: str, titles: Mapping[str, str]) -> frozenset[Stored]:
    """What a value of a part stands for: types, keys of documents, or values as they are stored."""
    match key_of(part):
        case "in":
            return frozenset(types_named(value))
        case "book":
            return frozenset(books_named(value, titles))
    found: set[Stored] = set()
    for declared in fields_called(part.field):
        with suppress(FilterError):
            found.update(stored_values(declared, value))
    return frozenset(found)
