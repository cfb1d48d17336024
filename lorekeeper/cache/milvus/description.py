"""The description of a collection: a line of JSON that is stored with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from lorekeeper.cache.formats import RENEW, NewerLibraryError, OlderLibraryError, declared, is_later, newer, older
from lorekeeper.cache.milvus import layout_v2, layout_v3
from lorekeeper.cache.milvus.backend import Capabilities
from lorekeeper.cache.milvus.layout_v3 import Layout
from lorekeeper.entities import declared_type
from lorekeeper.errors import MilvusSchemaError
from lorekeeper.version import VERSION

LAYOUTS: dict[int, Layout] = {layout_v2.FORMAT: layout_v2.LayoutV2(), layout_v3.FORMAT: Layout()}
"""The layouts by format: that of servers, and that of embedded libraries."""


class NewerCollectionError(NewerLibraryError, MilvusSchemaError):
    """A later version of LoreKeeper wrote a collection, in a format that this one cannot read."""


class OlderCollectionError(OlderLibraryError, MilvusSchemaError):
    """A collection has an earlier format, or other filter fields than are declared."""


def described(text: str | None) -> dict[str, Any]:
    """What the description of a collection says; nothing if another program created it."""
    try:
        description = json.loads(text or "")
    except ValueError:
        return {}
    ours = isinstance(description, dict) and {"format", "store", "embedding", "dimension"} <= description.keys()
    return description if ours else {}


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
        if not values:
            raise MilvusSchemaError(f"{where} was not made by LoreKeeper; use another database")
        if values["format"] < min(LAYOUTS) or "fields" not in values:
            raise OlderCollectionError(older(where, values["format"], str(values.get("version", ""))))
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

    def is_current(self, entity_type: str, layout: int) -> bool:
        """Whether this version creates collections with these fields in that format."""
        return (self.format, self.fields) == (layout, declared(declared_type(entity_type)))

    def require_current(self, entity_type: str, layout: int, where: str, renew: str = RENEW) -> None:
        """OlderCollectionError unless it is; ``renew`` says what to do."""
        if not self.is_current(entity_type, layout):
            changed = [entity_type] if self.format == layout else []
            raise OlderCollectionError(older(where, self.format, self.version, changed, renew))

    @property
    def layout(self) -> Layout:
        """How its entities are read and written."""
        return LAYOUTS[self.format]
