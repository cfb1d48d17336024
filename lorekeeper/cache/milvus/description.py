"""The description of a collection: a line of JSON that is stored with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from lorekeeper.cache.formats import NewerLibraryError, OlderLibraryError, declared, is_later, names, newer, older
from lorekeeper.cache.milvus import layout_v2, layout_v3
from lorekeeper.cache.milvus.backend import Capabilities
from lorekeeper.cache.milvus.layout_v3 import Layout, described
from lorekeeper.entities import BASE_FIELDS, WHOLE_NAME, declared_type
from lorekeeper.errors import MilvusSchemaError
from lorekeeper.filters import Selection
from lorekeeper.version import VERSION

LAYOUTS: dict[int, Layout] = {layout_v2.FORMAT: layout_v2, layout_v3.FORMAT: layout_v3}
"""The layouts by format: that of servers, and that of embedded libraries."""

_BASE = {field.name for field in (*BASE_FIELDS, WHOLE_NAME)}


class NewerCollectionError(NewerLibraryError, MilvusSchemaError):
    """A later version of LoreKeeper wrote a collection, in a format that this one cannot read."""


class OlderCollectionError(OlderLibraryError, MilvusSchemaError):
    """A collection has a format from before those that are upgraded."""


@dataclass(frozen=True)
class CollectionInfo:
    """The description of a collection.

    Attributes:
        store: random id, kept when the collection is rebuilt; ties the companion to it.
        embedding: fingerprint of the model and the chunker.
        dimension: of its vectors.
        format: layout of its rows.
        words: version of the words that a server ranks; None if there are none.
        fields: its declared filter columns, as `lorekeeper.cache.formats.declared` writes them.
        version: of the LoreKeeper that wrote it.
    """

    store: str
    embedding: str
    dimension: int
    format: int
    words: int | None
    fields: str
    version: str

    @classmethod
    def new(cls, entity_type: str, store: str, embedding: str, dimension: int, capabilities: Capabilities) -> Self:
        """The description of a new collection."""
        fields, version = declared(declared_type(entity_type)), VERSION
        return cls(store, embedding, dimension, capabilities.format, capabilities.words, fields, version)

    @classmethod
    def parse(cls, entity_type: str, description: str | None, where: str) -> Self:
        """The description of an existing collection, called ``where`` in errors; MilvusSchemaError if it is not readable."""
        values = described(description)
        if values is None:
            raise MilvusSchemaError(f"{where} was not made by LoreKeeper; use another database")
        if values["format"] < min(LAYOUTS) or "fields" not in values:
            raise OlderCollectionError(str(older(where, values["format"])))
        info = cls(
            store=values["store"],
            embedding=values["embedding"],
            dimension=values["dimension"],
            format=values["format"],
            words=values.get("words"),
            fields=values["fields"],
            version=values.get("version", ""),
        )
        changed = info.fields != declared(declared_type(entity_type))
        if info.format not in LAYOUTS or (changed and is_later(info.version)):
            raise NewerCollectionError(str(newer(where, info.format, info.version)))
        return info

    def as_text(self) -> str:
        """The description, as `parse` reads it."""
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})

    def is_current(self, entity_type: str, capabilities: Capabilities) -> bool:
        """Whether this version creates collections with this format and these fields; others are upgraded."""
        fields = declared(declared_type(entity_type))
        return (self.format, self.fields) == (capabilities.format, fields) and self.words in (None, capabilities.words)

    def has_columns(self, selection: Selection) -> bool:
        """Whether the collection has the columns of all filters of a selection."""
        return all(self.has_column(condition.field.name) for condition in selection.conditions)

    def has_column(self, name: str) -> bool:
        """Whether the collection has a column of that name that can be filtered or sorted by."""
        return name in _BASE or name in names(self.fields)

    @property
    def layout(self) -> Layout:
        """How its entities are read and written."""
        return LAYOUTS[self.format]
