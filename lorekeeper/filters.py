"""Filters, parsed and checked once; each cache backend renders the conditions in its own language."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from lorekeeper.entities import COLLECTIONS, MAX_TEXT_LENGTH, NAME, Collection, Entity, Field, FieldType, Value, fold
from lorekeeper.errors import FilterError
from lorekeeper.printable import MAX_SHOWN, shown

SCALE = 1000
"""Decimals are stored and compared as whole thousandths: equality on floats is unreliable in the engines."""

MAX_VALUES = 500
"""Most values one any-of filter takes."""

MAX_MANY = 256
"""Most values a list field of one entity holds."""

_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,9})?|\d{1,6}/\d{1,6}")

_SURROGATE = re.compile("[\ud800-\udfff]")

Stored = str | int | bool | tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    """One test on one field. Values are in stored form (folded strings, thousandths).

    ``any`` holds where the field equals one of the values (for lists: holds one of them), ``min`` and ``max`` are
    inclusive bounds, ``name`` holds where the folded name contains the value. An absent field matches nothing.
    """

    field: Field
    op: Literal["any", "min", "max", "name"]
    values: tuple[str | int | bool, ...]


@dataclass(frozen=True)
class Selection:
    """Which entities are looked at.

    Attributes:
        entity_type: their type.
        conditions: what holds of all of them.
        documents: keys of the only documents they are from; None for all.
    """

    entity_type: str
    conditions: Sequence[Condition] = ()
    documents: Sequence[str] | None = None

    @property
    def name(self) -> str | None:
        """What their folded names contain; None where they may have any."""
        return next((str(c.values[0]) for c in self.conditions if c.op == "name"), None)

    @property
    def everything(self) -> bool:
        """Whether all entities of the type are meant."""
        return not self.conditions and self.documents is None


def parse_filters(entity_type: str, filters: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Check ``filters`` against the declared fields of a type.

    Keys are field names, or ``<field>_min`` / ``<field>_max`` for numbers; a list of values means any of them; None
    means no filter.

    Raises:
        FilterError: unknown type or field (the message lists the known ones), or a value of the wrong type.
    """
    collection = collection_of(entity_type)
    return tuple(_condition(collection, key, value) for key, value in filters.items() if value is not None)


def collection_of(entity_type: str) -> Collection:
    """The declaration of an entity type; FilterError naming the known ones."""
    if entity_type not in COLLECTIONS:
        raise FilterError(f"unknown type {shown(entity_type)}; known: {', '.join(COLLECTIONS)}")
    return COLLECTIONS[entity_type]


def stored(field: Field, value: Any) -> Stored:
    """The stored form of one field value: folded, scaled; raises FilterError on the wrong type."""
    match field.type:
        case FieldType.TEXT:
            return _folded(field, value)
        case FieldType.TEXTS:
            values = value if isinstance(value, (list, tuple, set)) else (value,)
            if len(values) > MAX_MANY:
                raise FilterError(f"{field.name} holds at most {MAX_MANY} values, not {len(values)}")
            return tuple(dict.fromkeys(_folded(field, v) for v in values))
        case FieldType.FLAG:
            return _flag(field, value)
        case FieldType.INTEGER:
            number = _number(field, value)
            if number.denominator != 1:
                raise FilterError(f"{field.name} must be a whole number, not {shown(value)}")
            return _in_range(field, int(number))
        case FieldType.DECIMAL:
            return _in_range(field, round(_number(field, value) * SCALE))


def clean_fields(entity_type: str, raw: Mapping[str, Any]) -> dict[str, Value]:
    """The filter values of an entity in their one canonical form; None values are left out.

    Strings are folded, decimals exact to a thousandth. Raises FilterError on a value of the wrong type.
    """
    collection = collection_of(entity_type)
    return {f.name: loaded(f, stored(f, raw[f.name])) for f in collection.fields if raw.get(f.name) is not None}


def loaded(field: Field, value: Any) -> Value:
    """The canonical value of a stored one: the inverse of `stored` on canonical values."""
    if field.type is FieldType.DECIMAL:
        return int(value) / SCALE
    return tuple(value) if field.type is FieldType.TEXTS else value


def _condition(collection: Collection, key: str, value: Any) -> Condition:
    name, op = key, "any"
    for bound in ("min", "max"):
        base = key.removesuffix(f"_{bound}")
        if base != key and base in collection.filters and collection.field(base).type.ordered:
            name, op = base, bound
    if name not in collection.filters:
        raise FilterError(unknown_name(key, known_filters(collection), f"filter for {collection.name}"))
    field = collection.field(name)
    if field is NAME:
        return Condition(field, "name", (fold(_text(field, value)),))
    if op != "any":
        (bound_value,) = _stored_values(field, [value])
        return Condition(field, op, (bound_value,))  # type: ignore[arg-type]
    values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if len(values) > MAX_VALUES:
        raise FilterError(f"{key} takes at most {MAX_VALUES} values, not {len(values)}")
    return Condition(field, "any", tuple(_stored_values(field, values)))


def _stored_values(field: Field, values: list[Any]) -> list[str | int | bool]:
    result: list[str | int | bool] = []
    for value in values:
        if isinstance(value, (list, tuple, set)):
            raise FilterError(f"{field.name} takes single values or one list of them, not lists in a list")
        item = stored(field, value)
        result.extend(item if isinstance(item, tuple) else [item])
    return result


def matches(entity: Entity, conditions: Iterable[Condition]) -> bool:
    """Whether an entity holds under filters, as a store would say."""
    base = {"kind": entity.kind, "document": entity.document, "source_api": entity.source_api}
    for condition in conditions:
        if condition.op == "name":
            if str(condition.values[0]) not in fold(entity.name):
                return False
            continue
        value: Any = base.get(condition.field.name, entity.fields.get(condition.field.name))
        if value is None:
            return False
        own: Any = stored(condition.field, value)
        if condition.op == "any" and not set(condition.values) & set(own if isinstance(own, tuple) else [own]):
            return False
        if condition.op in ("min", "max") and (
            own < condition.values[0] if condition.op == "min" else own > condition.values[0]
        ):
            return False
    return True


def known_filters(collection: Collection) -> list[str]:
    """Every filter name a collection understands, bounds included."""
    names: list[str] = []
    for field in collection.filters.values():
        names.append(field.name)
        if field.type.ordered:
            names += [f"{field.name}_min", f"{field.name}_max"]
    return names


def name_rank(name: str, wanted: str) -> int:
    """Order of folded names that contain a folded text: 0 the whole name, 1 its beginning, 2 a part of it."""
    return 0 if name == wanted or not wanted else 1 if name.startswith(wanted) else 2


def unknown_name(name: str, known: list[str], what: str) -> str:
    """One sentence for a misspelt name, with the nearest known one first."""
    near = difflib.get_close_matches(name[:MAX_SHOWN], known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {what}: {shown(name)}; {hint}known: {', '.join(known)}"


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FilterError(f"{field.name} must be a text that is not empty, not {shown(value)}")
    if len(value) > MAX_TEXT_LENGTH or "\0" in value:
        raise FilterError(f"{field.name} must have no NUL and at most {MAX_TEXT_LENGTH} characters")
    return require_unicode(field.name, value)


def require_unicode(what: str, text: str) -> str:
    """The text; FilterError where it holds a lone surrogate, which stands for a byte or half a pair that is no text."""
    if _SURROGATE.search(text):
        raise FilterError(f"{what} is not valid Unicode: {text[:200]!r}; check the encoding of your terminal or client")
    return text


def _folded(field: Field, value: Any) -> str:
    return _text(field, field.fold(_text(field, value)))


def _flag(field: Field, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and fold(value) in ("true", "yes", "false", "no"):
        return fold(value) in ("true", "yes")
    raise FilterError(f"{field.name} must be true or false, not {shown(value)}")


def _number(field: Field, value: Any) -> Fraction:
    """A finite number, or a text like "1/4" or "2.5"."""
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            raise ValueError
        return Fraction(value.strip() if isinstance(value, str) else value)
    except (ValueError, TypeError, ArithmeticError):
        raise FilterError(f"{field.name} must be a number, not {shown(value)}") from None


def _in_range(field: Field, number: int) -> int:
    if not -(2**63) < number < 2**63:
        raise FilterError(f"{field.name} is out of range")
    return number
