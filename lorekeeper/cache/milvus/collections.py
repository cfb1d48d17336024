"""The collections of one library in Milvus: made, described, swapped and scanned. Blocking."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from lorekeeper.cache.milvus import plain as milvus_plain
from lorekeeper.cache.milvus import schema as ms
from lorekeeper.cache.milvus.connection import MilvusConnection
from lorekeeper.cache.milvus.recovery import REBUILT
from lorekeeper.cache.milvus.schema import Layout, Row
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.store import Chunked
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError

INFO_SECONDS = 5.0
"""How long what was read of a collection's description is relied on: another process may reindex."""

LAYOUTS: dict[int, Layout] = {ms.FORMAT: ms, milvus_plain.FORMAT: milvus_plain}
"""How entities are laid out, by format."""

SWAP_SECONDS = 10.0
"""Longest time in which a rebuilt collection takes the place of the old one."""


@dataclass(frozen=True)
class CollectionInfo:
    """What a collection says of itself.

    Attributes:
        store: random id, kept when the collection is rebuilt; ties the keyword index to it.
        embedding: fingerprint of the model and the chunker.
        dimension: of its vectors.
        format: of its rows.
        words: version of the words that a server ranks; None where there are none.
    """

    store: str
    embedding: str
    dimension: int
    format: int = ms.FORMAT
    words: int | None = None

    @property
    def layout(self) -> Layout:
        """How entities are laid out in it."""
        return LAYOUTS[self.format]


class MilvusCollections:
    """The collections behind one connection, loaded and ready."""

    def __init__(self, connection: MilvusConnection) -> None:
        self.connection = connection
        self._infos: dict[str, tuple[int, float, CollectionInfo]] = {}
        self.examine: Callable[[str, CollectionInfo | None], None] = lambda _entity_type, _info: None
        """Called with what was found of a type before it is relied on; raises where it cannot be."""

    def info(self, entity_type: str) -> CollectionInfo | None:
        """What the collection of a type says of itself, loaded; None where nothing was stored yet."""
        generation, now = self.connection.open(), time.monotonic()
        known = self._infos.get(entity_type)
        if known and known[0] == generation and now - known[1] < INFO_SECONDS:
            return known[2]
        try:
            info = self._described(entity_type) if self._exists(entity_type) else None
            if info is None:
                self.examine(entity_type, None)
                return None
            if known is None or known[0] != generation or known[2] != info:
                self.connection.call("load_collection", entity_type)
                self._infos[entity_type] = generation, now, info
                self.examine(entity_type, info)
        except CacheError as error:
            self._infos.pop(entity_type, None)
            if self.connection.path is None or isinstance(error, (MilvusConnectionError, MilvusSchemaError)):
                raise
            raise damaged(self.connection.location, entity_type, error) from error
        self._infos[entity_type] = generation, now, info
        return info

    def _exists(self, entity_type: str) -> bool:
        """Whether a type has a collection; waits while a rebuilt one takes its place, and lets it where nothing else does."""
        fresh, deadline = entity_type + REBUILT, time.monotonic() + SWAP_SECONDS
        while not self.connection.call("has_collection", entity_type):
            if not self.connection.call("has_collection", fresh):
                return bool(self.connection.call("has_collection", entity_type))
            if time.monotonic() > deadline:
                self.connection.call("rename_collection", fresh, entity_type)
            time.sleep(0.05)
        return True

    def require_words(self, entity_type: str) -> None:
        """MilvusSchemaError where a server's words are not as this version stores and asks for them."""
        info = self.info(entity_type)
        if info and info.words not in (None, ms.WORDS_FORMAT):
            raise MilvusSchemaError(
                f"another version of LoreKeeper made the collection {entity_type} at {self.connection.location}, with words "
                "that this one cannot rank; run 'lorekeeper reindex' to store them again. All else can be read as it is"
            )

    def create(self, entity_type: str, embedding: str, dimension: int) -> CollectionInfo:
        """Make the collection of a type that has none."""
        return self.make(entity_type, entity_type, uuid.uuid4().hex, embedding, dimension)

    def make(self, name: str, entity_type: str, store: str, embedding: str, dimension: int) -> CollectionInfo:
        """Create and load an empty collection; one of that name that was left half filled is dropped first."""
        if self.connection.call("has_collection", name):
            self.connection.call("drop_collection", name)
        able = self.connection.abilities
        info = CollectionInfo(store, embedding, dimension, able.format, able.words)
        columns = info.layout.columns(COLLECTIONS[entity_type], dimension, words=info.words is not None)
        said = {key: value for key, value in asdict(info).items() if value is not None}
        self.connection.call("create_collection", name, columns, json.dumps(said))
        return info

    def swap(self, entity_type: str) -> None:
        """Let the rebuilt collection take the place of the old one; if the process ends between, the next one finishes it."""
        fresh = entity_type + REBUILT
        self.connection.call("flush", fresh)
        self.connection.call("release_collection", fresh)
        self.connection.call("drop_collection", entity_type)
        self.connection.call("rename_collection", fresh, entity_type)
        self.connection.call("load_collection", entity_type)
        self._infos.pop(entity_type, None)

    def scan(self, entity_type: str, test: str, fields: list[str]) -> list[Row]:
        """All rows under a filter, however many."""
        if self.info(entity_type) is None:
            return []
        rows: list[Row] = self.connection.call("query", entity_type, test, fields)
        return rows

    def upsert(self, name: str, chunked: Chunked, vectors: Vectors, info: CollectionInfo) -> dict[Identity, int]:
        """Write rows, whole entities at a time, to the collection of that name that says this of itself.

        Returns how many each entity has.
        """
        remaining, lengths = iter(vectors), dict[Identity, int]()

        def made() -> Iterator[list[Row]]:
            for entity, found in chunked:
                words = self._words(entity) if info.words else None
                rows = info.layout.rows(entity, found, list(itertools.islice(remaining, len(found))), words)
                self._require_room(info, entity, rows[0])
                lengths[entity.identity] = len(rows)
                yield rows

        for rows in ms.groups(made()):
            self.connection.call("upsert", name, rows)
        return lengths

    def _require_room(self, info: CollectionInfo, entity: Entity, head: Row) -> None:
        """CacheError where an entity is too large for a collection that an earlier version made on a server."""
        if self.connection.uri and info.format == ms.FORMAT and len(head["entity"].encode("utf-8")) > ms.JSON_BYTES:
            raise CacheError(
                f"{entity.uri[:200]} is larger than the {ms.JSON_BYTES:,} bytes that its collection at "
                f"{self.connection.location} takes, which an earlier version of LoreKeeper made; run 'lorekeeper reindex', "
                "after which entries of any size can be stored"
            )

    def _words(self, entity: Entity) -> str:
        """What a server ranks an entity by."""
        from lorekeeper.cache.milvus.words import stored_words

        return stored_words(entity)

    def surplus(self, entity_type: str, lengths: Mapping[Identity, int]) -> list[str]:
        """Keys of rows that earlier versions of entities left behind, which now have only so many."""
        keys = [ms.primary_key(*identity, length) for identity, length in lengths.items()]
        longer = {row["pk"] for row in self.connection.call("get", entity_type, keys, ["pk"])}
        stale: list[str] = []
        for (identity, length), key in zip(lengths.items(), keys, strict=True):
            if key in longer:
                document, slug = map(ms.quoted, identity)
                test = f"document == {document} and slug == {slug} and part >= {length}"
                stale += [row["pk"] for row in self.scan(entity_type, test, ["pk"])]
        return stale

    def leftovers(self, entity_type: str) -> list[str]:
        """Keys of passages that do not belong to their entity's head, as a write that was cut off leaves them."""
        rows = self.scan(entity_type, "part >= 0", ["pk", "part", "hash", "document", "slug"])
        current = {ms.identity(row): row["hash"] for row in rows if row["part"] == 0}
        return [row["pk"] for row in rows if current.get(ms.identity(row)) != row["hash"]]

    def count(self, entity_type: str, test: str = "") -> int:
        """Number of rows under a filter."""
        return 0 if self.info(entity_type) is None else int(self.connection.call("count", entity_type, test))

    def _described(self, entity_type: str) -> CollectionInfo:
        location = self.connection.location
        said = ms.described(self.connection.call("description", entity_type))
        if not said:
            raise MilvusSchemaError(
                f"the collection {entity_type} at {location} was not made by LoreKeeper; use another database"
            )
        if said["format"] not in LAYOUTS:
            raise MilvusSchemaError(
                f"the collection {entity_type} at {location} has format {said['format']}, this version of LoreKeeper reads "
                f"{' and '.join(map(str, LAYOUTS))}; import again into a new library, or use the version that made it"
            )
        return CollectionInfo(said["store"], said["embedding"], said["dimension"], said["format"], said.get("words"))


def damaged(location: str, entity_type: str, reason: object) -> MilvusSchemaError:
    """The error for a collection that cannot be read, or has lost entries."""
    return MilvusSchemaError(
        f"the library {location} is damaged: its {entity_type} cannot be relied on ({reason}). Run 'lorekeeper repair': "
        "it puts the library aside and keeps all that can still be read. Other types go on working"
    )
