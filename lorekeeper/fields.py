"""What an entity type is declared with: its kinds, its filter fields, and the limits of keys and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from lorekeeper.folding import fold, fold_kind

_ROWS = (Path(__file__).parent / "data" / "field_labels.tsv").read_text("utf-8").splitlines()[1:]
LABELS = {name: (terms.split(), label, unit) for name, terms, label, unit in (row.split("\t") for row in _ROWS)}
"""For a field: the words of a query that ask for it, its label, and its unit."""

Value = str | int | float | bool | tuple[str, ...]

MAX_KEY_LENGTH = 200
"""Longest document key or slug, in characters."""

MAX_TEXT_LENGTH = 500
"""Longest name or filter text, in characters."""

MAX_PATH_LENGTH = 1_000
"""Longest slug that is a path, in characters."""

MAX_URI_LENGTH = 50 + (MAX_KEY_LENGTH + MAX_PATH_LENGTH) * 12
"""Longest ``lore://`` URI: a character of a key has at most four bytes, each written as in ``%C3``."""

MAX_MANY = 256
"""Most values in a list field of an entity, unless the field says otherwise."""


def _nothing_else(_: str) -> tuple[str, ...]:
    return ()


class FieldType(Enum):
    """The type of a filter field's values; each backend maps these six to its own column types."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLAG = "true/false"
    TEXTS = "list of texts"
    DATE = "date"

    @property
    def ordered(self) -> bool:
        """Whether ``_min`` and ``_max`` make sense."""
        return self in (FieldType.INTEGER, FieldType.DECIMAL, FieldType.DATE)


@dataclass(frozen=True)
class Field:
    """One filter field of a collection.

    Attributes:
        name: the field's name in filters, schemas and normalised entities.
        type: of its values. Decimals are exact to a thousandth, dates are whole seconds since 1970 in UTC.
        help: one line for the tools' documentation, with the unit.
        tool: the lookup tool's parameters for it; one that ends in ``_min`` or ``_max``, or of a date
            in ``_after`` or ``_before``, sets that bound.
        fold: makes strings comparable, in entries and in filters.
        parts: what else a folded value of an entry is found by, in a list of texts: "chaotic evil" by "evil".
        longest: longest value as it is written, in characters; folded it has at most `MAX_TEXT_LENGTH`.
        most: most values of a list.
        revision: raised by one if `normalize` makes its values in another way; existing libraries then make theirs again.
        facet: whether its values are worth counting and choosing from, on a page.
        omitted: whether sources leave a value out where there is none, as the flying speed of what cannot fly, the rarity of what
            is not magic, or a flag that is not set: in ``where`` a test of it for 0 or false, or a negated test, matches entries
            without it, as it does for lists.
    """

    name: str
    type: FieldType
    help: str = ""
    tool: tuple[str, ...] = ()
    fold: Callable[[str], str] = fold
    parts: Callable[[str], tuple[str, ...]] = _nothing_else
    longest: int = MAX_TEXT_LENGTH
    most: int = MAX_MANY
    revision: int = 1
    facet: bool = False
    omitted: bool = False


Text = Sequence[str] | Callable[[Mapping[str, Any]], str]
"""Where an entity's prose is: the keys that hold it, in reading order, or a function that makes one text of the whole entity."""


@dataclass(frozen=True)
class Collection:
    """One entity type: a Milvus collection, a group of filters and (except for documents) a lookup tool.

    A program declares one of its own with a name and fields: ``Collection("ships", fields=[Field("crew", FieldType.INTEGER)])``.

    Attributes:
        name: in URIs, filters and storage: lower-case letters, digits and "_".
        label: the singular, for people; made from the name by default.
        kinds: the kinds of entity it holds; the label by default, and others are accepted too then.
        fields: the filter fields beside `BASE_FIELDS`. The value of each is what an entity has under the field's name.
        text: where the prose is that is embedded and searched; by default under the keys that 5e sources use, as "desc".
        tool: name of its lookup tool, None if it has none.
        open_kinds: whether entries of other kinds are accepted too.
        max_slug: longest slug, in characters.
        indexed: whether filters are tested in an index of all fields, because entries are too long to read each for that.
    """

    name: str
    label: str = ""
    kinds: Sequence[str] = ()
    fields: Sequence[Field] = ()
    text: Text = ()
    tool: str | None = None
    open_kinds: bool = False
    max_slug: int = MAX_KEY_LENGTH
    indexed: bool = False

    def __post_init__(self) -> None:
        label = self.label or self.name.removesuffix("s").replace("_", " ")
        given = {
            "label": label,
            "open_kinds": self.open_kinds or not self.kinds,
            "kinds": tuple(self.kinds) or (label,),
            "fields": tuple(self.fields),
            "text": self.text if callable(self.text) else tuple(self.text),
        }
        for attribute, value in given.items():
            object.__setattr__(self, attribute, value)

    @cached_property
    def filters(self) -> dict[str, Field]:
        """Every filter field by name, `BASE_FIELDS` included."""
        return {f.name: f for f in (*BASE_FIELDS, *self.fields)}

    def field(self, name: str) -> Field:
        """The filter field of that name; KeyError if there is none."""
        return self.filters[name]


NAME = Field("name", FieldType.TEXT, "the whole name, or a part of it")
"""The one field that is filtered by what it contains, not by equality."""

WHOLE_NAME = Field("name_folded", FieldType.TEXT, "the whole name")
"""The same by equality, for searches of our own."""

ALIASES = "aliases"
"""Name of the field with other names, which are names too."""

PROPERTIES = "properties"
"""Name of the field with all keys of an entry and their values, of types whose entries have any keys."""

AUDIENCE = "audience"
"""Name of the field with the audiences of an entry's parts, which every collection has."""

BASE_FIELDS = (
    NAME,
    Field("kind", FieldType.TEXT, "kind of entry", fold=fold_kind, facet=True),
    Field("document", FieldType.TEXT, "key of the source document", fold=str.strip, facet=True),
    Field("source_api", FieldType.TEXT, "the source of the entry"),
)
