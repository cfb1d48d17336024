"""Filters: parsed and checked once here, then rendered by each cache backend in its own language."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import ge, gt, le, lt
from typing import Any, Literal

from lorekeeper import dates
from lorekeeper.entities import (
    COLLECTIONS,
    NAME,
    PROPERTIES,
    WHOLE_NAME,
    Collection,
    Entity,
    Field,
    FieldType,
    Value,
    declared_type,
)
from lorekeeper.errors import FilterError
from lorekeeper.field_values import SCALE, Stored, loaded, read_text, require_unicode, seconds_of, stored
from lorekeeper.fields import LABELS
from lorekeeper.folding import fold, fold_property
from lorekeeper.printable import MAX_SHOWN, shown
from lorekeeper.where import EXAMPLE, FieldTest, not_a_test, parse_where

__all__ = [
    "COMPARISONS",
    "MAX_VALUES",
    "SCALE",
    "WHERE",
    "Condition",
    "Operator",
    "Selection",
    "Stored",
    "bounds_of",
    "clean_fields",
    "collection_of",
    "field_of",
    "known_filters",
    "loaded",
    "matches",
    "name_rank",
    "named_field",
    "negated",
    "parse_filters",
    "require_unicode",
    "stored",
    "unknown_name",
    "where_text",
    "without_bound",
]

MAX_VALUES = 500
"""Most values in an any-of filter."""

_SHORT_NAMES = {
    "challenge_rating": ("cr",),
    "armor_class": ("ac",),
    "hit_points": ("hp",),
    "damage_types": ("damage",),
    "casting_time": ("casting", "cast"),
    "immune": ("immunity", "damage_immunity", "condition_immunity"),
    "resistant": ("resistance", "damage_resistance"),
    "vulnerable": ("vulnerability", "damage_vulnerability"),
    "speed_walk": ("speed", "walk"),
    "legendary": ("legendary_action",),
    "lair": ("lair_action",),
}
"""What fields are called besides, in stat blocks and at the table."""

_ANY_OF = ((">", ("0",)), (">=", ("1",)))
"""How people ask whether something has any of what is only known to be there: "legendary_actions>0"."""

_STATES = frozenset({"true", "false"})
"""What no property is called: a name that has such a value is that of a field."""

Operator = Literal["any", "min", "max", "above", "below", "outside", "name"]

COMPARISONS: dict[Operator, str] = {"min": ">=", "max": "<=", "above": ">", "below": "<"}
"""Operators that compare with one value, and their signs."""

_COMPARED: dict[Operator, Callable[[Any, Any], bool]] = {"min": ge, "max": le, "above": gt, "below": lt}

WHERE = "where"
"""The key of a filter that is a text in the grammar of `lorekeeper.where`."""

_BOUNDS: dict[str, Operator] = {"_min": "min", "_max": "max"}
"""What a filter's key ends in when it sets a bound."""

_DATE_BOUNDS: dict[str, Operator] = {"_after": "min", "_before": "max"}
"""The same for dates, besides."""

_OPERATORS: dict[str, Operator] = {sign: op for op, sign in COMPARISONS.items()}

_OPPOSITES: dict[Operator, Operator] = {"min": "below", "max": "above", "above": "max", "below": "min"}


@dataclass(frozen=True)
class Condition:
    """One test on one field. Values are in stored form (folded strings, thousandths).

    ``any`` matches a field that equals one of the values (a list field: contains one), ``min`` and ``max`` are inclusive
    bounds, ``above`` and ``below`` exclusive ones, ``outside`` matches what is below the first value or above the second,
    ``name`` matches a folded name that contains the value. An absent field never matches.

    With ``negate``, which only ``any`` (of texts, numbers and lists) and ``name`` have, it matches what fails the test. A
    single value must then be known: "not a dragon" leaves out a creature of unknown type. A list need only lack the values,
    so an empty or absent list matches: sources leave out empty lists, and a creature without a line of immunities is not
    immune to poison. With ``absent`` it matches what lacks the field too: in ``where``, a
    negated test of a field that is `Field.omitted`, and one for 0.
    """

    field: Field
    op: Operator
    values: tuple[str | int | bool, ...]
    negate: bool = False
    absent: bool = False

    def met_by(self, value: Stored | None) -> bool:
        """Whether a field's stored value, or None for an absent one, meets it. Not for ``name``, which tests another text."""
        if value is None:
            return self.absent or (self.negate and self.field.type is FieldType.TEXTS)
        item: Any = value
        first, *others = self.values or ("",)
        if self.op in _COMPARED:
            return bool(_COMPARED[self.op](item, first))
        if self.op == "outside":
            return bool(item < first or item > others[0])
        found = not set(self.values).isdisjoint(item if isinstance(item, tuple) else [item])
        return found is not self.negate


@dataclass(frozen=True)
class Selection:
    """The entities that an operation works on.

    Attributes:
        entity_type: their type.
        conditions: they meet all of these.
        documents: keys of the documents they are from; None for all documents.
        prefer: keys of documents: among entities of one name, theirs come first, in this order.
    """

    entity_type: str
    conditions: Sequence[Condition] = ()
    documents: Sequence[str] | None = None
    prefer: Sequence[str] = ()

    @property
    def name(self) -> str | None:
        """What their folded names contain; None if names are not filtered."""
        return next((str(c.values[0]) for c in self.conditions if c.op == "name" and not c.negate), None)

    @property
    def everything(self) -> bool:
        """Whether it is all entities of the type."""
        return not self.conditions and self.documents is None


def parse_filters(entity_type: str, filters: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions of ``filters``, checked against the declared fields of a type.

    Keys are field names, or ``<field>_min`` / ``<field>_max`` for numbers; a list of values means any of them; None
    means no filter. A field may also have the name of a tool's parameter. The key ``where`` has a text in the grammar
    of `lorekeeper.where`, in which the singular or plural of these names a field too, and a dot is "_".

    Raises:
        FilterError: unknown type or field (the message lists the known ones), or a value of the wrong type.
    """
    collection = collection_of(entity_type)
    conditions: list[Condition] = []
    for key, value in filters.items():
        if key == WHERE and value is not None:
            conditions += _tested(collection, value)
        elif value is not None:
            conditions += _filtered(collection, key, value)
    return tuple(conditions)


def named_field(collection: Collection, name: str) -> Field | None:
    """The filter field that a name means: its own, that of a tool's parameter, the singular or plural of these, or one behind the
    name of what it is one of: "senses_truesight"."""
    names, key = _names(collection), fold(name).replace(" ", "_")
    group, _, own = key.rpartition("_")
    return names.get(key) or (names.get(own) if group in names else None)


def collection_of(entity_type: str) -> Collection:
    """The declaration of an entity type; FilterError, with the known types, if there is none."""
    try:
        return declared_type(entity_type)
    except (KeyError, TypeError):
        raise FilterError(f"unknown type {shown(entity_type)}; known: {', '.join(COLLECTIONS)}") from None


def field_of(collection: Collection, name: str) -> Field:
    """The filter field of that name; FilterError, with the known fields, if there is none."""
    if name not in collection.filters:
        raise FilterError(unknown_name(name, list(collection.filters), f"field of {collection.name}"))
    return collection.field(name)


def clean_fields(entity_type: str, raw: Mapping[str, Any]) -> dict[str, Value]:
    """The filter values of an entity in canonical form: strings folded, decimals exact to a thousandth, None left out.

    Raises:
        FilterError: a value is of the wrong type.
    """
    collection = collection_of(entity_type)
    return {f.name: _canonical(f, raw[f.name]) for f in collection.fields if raw.get(f.name) is not None}


def _canonical(field: Field, value: Any) -> Value:
    """The canonical value of an entity's field; a list begins with what the source says, and goes on with its parts."""
    item = stored(field, value)
    if isinstance(item, tuple):
        parts = (part for text in item for part in field.parts(text))
        item = tuple(dict.fromkeys((*item, *parts)))[: field.most]
    return loaded(field, item)


def _filtered(collection: Collection, key: str, value: Any) -> list[Condition]:
    """The conditions of a filter: one, or two for a day, which has a first and a last second."""
    field, op = _target(collection, key)
    values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if len(values) > MAX_VALUES:
        raise FilterError(f"{key} takes at most {MAX_VALUES} values, not {len(values)}")
    if field.type is FieldType.DATE:
        return _dated(field, op, values)
    if field is NAME:
        return [Condition(field, "name", (fold(read_text(field, value)),))]
    if op != "any":
        values = [value]
    return [Condition(field, op, tuple(_stored_values(field, values)))]


def _dated(field: Field, op: Operator, values: Sequence[Any]) -> list[Condition]:
    """The conditions of dates: a bound of a day includes that day, and what lies "7d" back is where a stretch begins."""
    if op == "any" and len(values) > 1:
        return [Condition(field, "any", tuple(_instant(field, value) for value in values))]
    if len(values) != 1:
        raise FilterError(f"{field.name} takes one date, such as {dates.EXAMPLE}")
    (value,) = values
    since = dates.ago(value) if isinstance(value, str) else None
    first, last = seconds_of(field, value) if since is None else (since, since)
    if op == "any":
        ends: list[tuple[Operator, int]] = [("min", first), ("max", last)]
        return [Condition(field, end, (second,)) for end, second in ends[: 1 if since is not None else 2]]
    return [Condition(field, op, (first if op in ("min", "below") else last,))]


def _instant(field: Field, value: Any) -> int:
    first, last = seconds_of(field, value)
    if first != last:
        raise FilterError(f"{field.name} takes one day, or a range such as {field.name}:2026-11-01..2026-11-20")
    return first


def _target(collection: Collection, key: str) -> tuple[Field, Operator]:
    """The field that a filter's key names, and the bound it sets, if any."""
    if key == WHOLE_NAME.name:
        return WHOLE_NAME, "any"
    fields = {without_bound(name): field for field in collection.filters.values() for name in field.tool}
    fields |= collection.filters
    if key in fields:
        return fields[key], "any"
    for ending, op in {**_BOUNDS, **_DATE_BOUNDS}.items():
        field = fields.get(key.removesuffix(ending))
        if key.endswith(ending) and field is not None and ending in bounds_of(field):
            return field, op
    raise FilterError(unknown_name(key, known_filters(collection), f"filter for {collection.name}"))


def _stored_values(field: Field, values: list[Any]) -> list[str | int | bool]:
    result: list[str | int | bool] = []
    for value in values:
        if isinstance(value, (list, tuple, set)):
            raise FilterError(f"{field.name} takes a value or a list of values, not a list of lists")
        item = stored(field, value)
        result.extend(item if isinstance(item, tuple) else [item])
    return result


def where_text(text: object) -> str:
    """The text of ``where``; FilterError if it is not valid."""
    if not isinstance(text, str):
        raise FilterError(f"where must be a text, such as {EXAMPLE}")
    return require_unicode(WHERE, text)


def _tested(collection: Collection, text: Any) -> list[Condition]:
    """The conditions of a text in the grammar of `lorekeeper.where`."""
    return [c for test in parse_where(where_text(text)) for c in _conditions(collection, test)]


def _conditions(collection: Collection, test: FieldTest) -> list[Condition]:
    field = named_field(collection, test.field)
    if field is None and PROPERTIES in collection.filters:
        own = collection.field(PROPERTIES)
        with_key = own.fold is fold_property
        is_state = bool(test.values) and _STATES.issuperset(test.values)
        if with_key or not (is_state or _owners(test.field)):
            field, test = own, _of_property(test, with_key=with_key)
    if field is None:
        raise not_a_test(test.text, _unknown_field(collection, test))
    try:
        conditions = _of_test(field, test)
    except FilterError as error:
        other = _also_called(collection, test.field)
        if other is None:
            means = field.type.ordered and field.help
            raise not_a_test(test.text, f"{error}: {means}" if means else str(error)) from error
        conditions = _of_test(other, test)
    if not test.negated:
        return conditions
    return [negated(conditions)]


def _also_called(collection: Collection, name: str) -> Field | None:
    """The field that a name may mean, too, where another one is called so: "damage:fire" of items, whose damage is a number."""
    return next((field for field in collection.filters.values() if name in _SHORT_NAMES.get(field.name, ())), None)


def _of_property(test: FieldTest, *, with_key: bool) -> FieldTest:
    """A test of any key, as one of the keys with their values, or of the values alone; a key alone is true, whatever its value."""
    if test.ends or test.sign not in (":", ""):
        raise not_a_test(test.text, f"{test.field} does not hold numbers: compare it with ':'")
    values = tuple(f"{test.field}={value}" if with_key else value for value in test.values) or (test.field,)
    return replace(test, field=PROPERTIES, sign=":", values=values)


def _owners(name: str) -> list[str]:
    """The types that have a field of a name."""
    return [other.name for other in COLLECTIONS.values() if named_field(other, name)]


def _unknown_field(collection: Collection, test: FieldTest) -> str:
    if owners := _owners(test.field):
        return f"{test.field} is a field of {' and '.join(owners)}, not of {collection.name}, whose texts semantic_query searches"
    return unknown_field(test.field, [collection], f"field of {collection.name}", alone=not test.sign)


def _of_test(field: Field, test: FieldTest) -> list[Condition]:
    """The conditions of a test, not negated."""
    if not test.sign and field.type is not FieldType.FLAG:
        raise FilterError(f"{field.name} needs a value: {field.name}:VALUE")
    if test.ends or test.sign in _OPERATORS:
        return _bounds(field, test)
    if field is NAME:
        return [Condition(field, "name", (fold(read_text(field, " ".join(test.values))),))]
    if field.type is FieldType.DATE:
        return _dated(field, "any", test.values)
    values = tuple(_stored_values(field, list(test.values) or [True]))
    return [Condition(field, "any", values, absent=field.omitted and 0 in values)]


def _bounds(field: Field, test: FieldTest) -> list[Condition]:
    if field.type is FieldType.FLAG and (test.sign, test.values) in _ANY_OF:
        return [Condition(field, "any", (True,))]
    if not field.type.ordered:
        raise FilterError(f"{field.name} is not a number; write {field.name}:VALUE")
    if test.ends is None:
        return _bound(field, _OPERATORS[test.sign], test.values[0])
    low, high = test.ends
    return [*(_bound(field, "min", low) if low else []), *(_bound(field, "max", high) if high else [])]


def _bound(field: Field, op: Operator, value: str) -> list[Condition]:
    if field.type is FieldType.DATE:
        return _dated(field, op, [value])
    return [Condition(field, op, tuple(_stored_values(field, [value])))]


def negated(conditions: Sequence[Condition]) -> Condition:
    """The condition that known values meet if they fail one of these conditions: a single one, or both ends of a range."""
    first, *others = conditions
    first = replace(first, absent=first.field.omitted and not first.absent)
    if others:
        return replace(first, op="outside", values=(*first.values, *others[0].values))
    if first.field.type is FieldType.FLAG:
        return replace(first, values=tuple(flag for flag in (True, False) if flag not in first.values))
    if first.op in _OPPOSITES:
        return replace(first, op=_OPPOSITES[first.op])
    return replace(first, negate=not first.negate)


@cache
def _names(collection: Collection) -> dict[str, Field]:
    """The fields of a type by every name that people may use: the declared ones first, then others that are still free."""
    fields = collection.filters
    names = dict(fields)
    for field in fields.values():
        for name in (field.name, *_SHORT_NAMES.get(field.name, ()), *map(without_bound, field.tool)):
            turned = "_".join(reversed(name.split("_")))  # "swim_speed" is "speed_swim"
            for spelling in (name, *_numbers(name), turned):
                names.setdefault(spelling, field)
    return names


def without_bound(parameter: str) -> str:
    """What a tool's parameter is about: "cost" of "cost_min", "modified" of "modified_after"."""
    for ending in (*_BOUNDS, *_DATE_BOUNDS):
        parameter = parameter.removesuffix(ending)
    return parameter


def _numbers(name: str) -> list[str]:
    """The singulars and plurals that a name may have."""
    endings = [("y", "ies"), ("ies", "y"), ("es", ""), ("s", ""), ("", "s"), ("", "es")]
    return [name.removesuffix(old) + new for old, new in endings if name.endswith(old)]


def matches(entity: Entity, conditions: Iterable[Condition]) -> bool:
    """Whether an entity meets all conditions, by the same rules as in a store."""
    return all(_meets(entity, condition) for condition in conditions)


def _meets(entity: Entity, condition: Condition) -> bool:
    if condition.op == "name":
        return (str(condition.values[0]) in fold(entity.name)) is not condition.negate
    base = {"kind": entity.kind, "document": entity.document, "source_api": entity.source_api}
    base[WHOLE_NAME.name] = entity.name
    value = base.get(condition.field.name, entity.fields.get(condition.field.name))
    return condition.met_by(None if value is None else stored(condition.field, value))


def known_filters(collection: Collection) -> list[str]:
    """Every name of a filter of a collection, bounds included."""
    names: list[str] = []
    for field in collection.filters.values():
        names.append(field.name)
        names += [field.name + ending for ending in bounds_of(field)]
    return names


def bounds_of(field: Field) -> tuple[str, ...]:
    """The endings of filter keys that set a bound on a field: "_min" and "_max"; dates have further ones."""
    if not field.type.ordered:
        return ()
    return (*_BOUNDS, *_DATE_BOUNDS) if field.type is FieldType.DATE else tuple(_BOUNDS)


def name_rank(name: str, wanted: str) -> int:
    """Rank of a folded name that contains a folded text: 0 if equal, 1 if it begins with it, 2 if a word of it does, else 3."""
    if name == wanted or not wanted:
        return 0
    if name.startswith(wanted):
        return 1
    return 2 if f" {wanted}" in name else 3


_TYPES_CALLED: Mapping[str, str] = {
    word: entity_type
    for entity_type, words in {
        "creatures": "monster npc enemy beast foe statblock",
        "equipment": "item weapon armor armour gear treasure loot",
        "character_options": "class subclass race species ancestry background feat",
        "rules": "condition table chapter",
        "spells": "cantrip magic",
    }.items()
    for singular in words.split()
    for word in (singular, f"{singular}s", f"{singular}es")
}
"""What people call an entity type. Its letters say nothing of it: "monsters" are nearer to "notes" than to "creatures"."""


NEAREST = 3
"""Most names that a message suggests."""

MOST_LISTED = 64
"""Most known names that stand in a message which has a suggestion too."""


LIKE = 0.8
"""Likeness of a misspelt name, from 0 to 1. What is less like one may be another form of a word in a name: "flies" of speed_fly."""

_ENDING = re.compile(r"(?<=..)(?:ies|ing|y|es|e|s|ed)$")


def unknown_field(name: str, types: Iterable[Collection], what: str, *, alone: bool = False) -> str:
    """The message for a field that none of some types has; in place of a word that stands alone it suggests whole tests."""
    known = {each: field for collection in types for each, field in collection.filters.items()}
    numbers = [each for each, field in known.items() if alone and field.type.ordered and field.omitted]
    return unknown_name(name, list(known), what, tests={each: f"{each.replace('_', '.')}>0" for each in numbers})


def unknown_name(
    name: str, known: list[str], what: str, *, brief: bool = False, tests: Mapping[str, str] | None = None
) -> str:
    """The message for a misspelt name: the nearest known ones first, then all of them; of very many, only the nearest.

    A name is near by its letters, by another form of a word in it, or by the words that ask for the field of that name.

    Args:
        name: as it was given.
        known: the names there are.
        what: they name.
        brief: whether the nearest are enough, as on a page, which has little room.
        tests: what is suggested in place of a name.
    """
    word = _ENDING.sub("", name.lower().strip("-"))
    within = [
        each
        for each in dict.fromkeys(known)
        if word in (_ENDING.sub("", part) for part in (*re.split("[_-]", each), *LABELS.get(each, ((),))[0]))
    ]
    near = difflib.get_close_matches(name[:MAX_SHOWN], known, n=1, cutoff=LIKE)
    near = near or within[:NEAREST] or difflib.get_close_matches(name[:MAX_SHOWN], known, n=1)
    called = _TYPES_CALLED.get(name.lower()) if what == "type" else None
    if called in known:
        near = [called]
    hint = f"did you mean {' or '.join(repr((tests or {}).get(each, each)) for each in near)}?" if near else ""
    listed = f"known: {', '.join(known)}" if not near or (len(known) <= MOST_LISTED and not brief) else ""
    return f"unknown {what}: {shown(name)}; {' '.join(filter(None, [hint, listed]))}"
