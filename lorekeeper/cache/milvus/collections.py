"""The collections of one library in Milvus, as both stores use them: created, described, written, read and ranked. Blocking."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from lorekeeper.cache.milvus import rows as ms
from lorekeeper.cache.milvus.backend import LazyBackend, damaged
from lorekeeper.cache.milvus.rows import REBUILT, RECORDS, CollectionInfo, Row, quoted
from lorekeeper.cache.protocol import LOOKED, SECTIONED, Identity, Ranked, nearest_sections
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.store import Chunked
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity, declared_type
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection, name_rank
from lorekeeper.order import BY_NAME, Order, arranged, as_text
from lorekeeper.text.passages import Passage

INFO_SECONDS = 5.0
"""How long the description of a collection is used before it is read again: another process may reindex."""

SWAP_SECONDS, SWAP_POLL_SECONDS = 10.0, 0.05
"""Longest time for a rebuilt collection to replace the old one, and the interval between two checks."""

MAX_ROWS = 16_384
"""Most rows that a search returns."""

GET_KEYS = 1024
"""Primary keys per call."""

PASSAGE_ENTITIES = 256
"""Entities whose passages are read with their vectors in one call."""

HIT_FIELDS = ["document", "slug", "name", "section", "passage"]

ROWS_PER_ENTITY = 1.5
"""Passages searched at first per requested entity; more if a type's entities turn out to have many. Each costs time."""


Passages = dict[Identity, tuple[list[Passage], list[Vectors]]]
"""The passages of entities, in order, each with its vector."""

Verify = Callable[[str, CollectionInfo | None], None]
"""Raises CacheError if a collection, or the lack of one, cannot be trusted."""


class Collections:
    """The collections behind one backend; what `Catalogue` has too is documented there.

    Args:
        backend: stores them.
        verify: called when a collection has been loaded, before it is used.
    """

    def __init__(self, backend: LazyBackend, verify: Verify = lambda *_: None) -> None:
        self._backend, self._verify = backend, verify
        self._infos: dict[str, tuple[CollectionInfo, int, float]] = {}
        """Descriptions, and in which opening of the backend and when they were read."""
        self._breadth: dict[str, float] = {}

    @contextlib.contextmanager
    def unverified(self) -> Iterator[None]:
        """Within this block collections are read without verifying them against the companion."""
        verify, self._verify = self._verify, lambda *_: None
        try:
            yield
        finally:
            self._verify = verify

    # --- collections -----------------------------------------------------------------------------------------------

    def info(self, entity_type: str) -> CollectionInfo | None:
        """The description of a type's collection, which is loaded; None if nothing was stored yet."""
        opening, now = self._backend.open(), time.monotonic()
        known, opened, read_at = self._infos.get(entity_type, (None, 0, 0.0))
        if known and opened == opening and now - read_at < INFO_SECONDS:
            return known
        try:
            info = self._described(entity_type) if self._exists(entity_type) else None
            if info is None or (known, opened) != (info, opening):
                if info:
                    self._backend.load_collection(entity_type)
                self._verify(entity_type, info)
        except CacheError:
            self._infos.pop(entity_type, None)
            raise
        if info:
            self._infos[entity_type] = info, opening, now
        return info

    def require_current(self, entity_type: str) -> None:
        """OlderLibraryError if a type's collection has an earlier format; reads its description alone."""
        if self._exists(entity_type):
            layout, renew = self._backend.capabilities.format, self._backend.renew
            self._described(entity_type).require_current(entity_type, layout, self._where(entity_type), renew)

    def forget(self) -> None:
        """Read descriptions again before their next use."""
        self._infos.clear()

    def opened(self) -> dict[str, CollectionInfo]:
        """The current descriptions of the collections that were used here, by type."""
        return {name: self._described(name) for name in list(self._infos) if self._backend.has_collection(name)}

    def create(self, name: str, store: str, embedding: str, dimension: int) -> CollectionInfo:
        """Create and load an empty collection, of a type or to replace a type's; an incomplete one of that name is dropped."""
        if self._backend.has_collection(name):
            self._backend.drop_collection(name)
        entity_type = ms.type_of(name)
        info = CollectionInfo.new(entity_type, store, embedding, dimension, self._backend.capabilities)
        columns = info.layout.columns(declared_type(entity_type), dimension, words=info.words is not None)
        self._backend.create_collection(name, columns, info.as_text())
        return info

    def swap(self, entity_type: str) -> None:
        """Replace a type's collection with the one that was rebuilt; the next process completes an unfinished swap."""
        replacement = entity_type + REBUILT
        self._backend.flush(replacement)
        self._backend.release_collection(replacement)
        self._backend.drop_collection(entity_type)
        self._backend.rename_collection(replacement, entity_type)
        self._backend.load_collection(entity_type)
        self._infos.pop(entity_type, None)

    def _exists(self, entity_type: str) -> bool:
        """Whether a type has a collection. Waits for a swap in another process; completes it if that process ended."""
        deadline = time.monotonic() + SWAP_SECONDS
        while not self._backend.has_collection(entity_type):
            if not self._backend.has_collection(entity_type + REBUILT):
                return self._backend.has_collection(entity_type)
            if time.monotonic() > deadline:
                self._backend.rename_collection(entity_type + REBUILT, entity_type)
            time.sleep(SWAP_POLL_SECONDS)
        return True

    def _described(self, name: str) -> CollectionInfo:
        return CollectionInfo.parse(ms.type_of(name), self._backend.description(name), self._where(name))

    def _where(self, name: str) -> str:
        return f"the collection {name} at {self._backend.location}"

    # --- writing ---------------------------------------------------------------------------------------------------

    def upsert(self, name: str, chunked: Chunked, vectors: Vectors, info: CollectionInfo) -> dict[Identity, int]:
        """Write the rows of whole entities to a collection, of a type or to replace a type's; returns how many rows each has."""
        from lorekeeper.cache.milvus.server import stored_words

        lengths, remaining = dict[Identity, int](), iter(vectors)

        def rows() -> Iterator[list[Row]]:
            for entity, passages in chunked:
                own = list(itertools.islice(remaining, len(passages)))
                words = None if info.words is None else stored_words(entity)
                written = info.layout.rows(entity, passages, own, words)
                lengths[entity.identity] = len(written)
                yield written

        for group in ms.groups(rows()):
            self._backend.upsert(name, group)
        return lengths

    def flush(self, entity_type: str) -> None:
        """Seal what was written: Milvus Lite searches unsealed rows 20 to 90 times slower."""
        self._backend.flush(entity_type)

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> None:
        """Delete entities with all their passages; identities have to be sorted."""
        for document, group in itertools.groupby(identities, key=lambda identity: identity[0]):
            for slugs in _parts([slug for _, slug in group]):
                expression = f"document == {quoted(document)} and slug in {quoted(list(slugs))}"
                self.delete(entity_type, self._keys(entity_type, expression))
        self._backend.flush(entity_type)

    def delete(self, entity_type: str, keys: Sequence[str]) -> None:
        """Delete rows by primary key, however many."""
        for part in _parts(keys):
            self._backend.delete(entity_type, part)

    def surplus(self, entity_type: str, lengths: Mapping[Identity, int]) -> list[str]:
        """Keys of rows that earlier, longer versions of entities left behind. ``lengths`` says how many rows each has now."""
        keys = {ms.primary_key(*identity, length): identity for identity, length in lengths.items()}
        surplus: list[str] = []
        for row in self._get(entity_type, list(keys), ["pk"]):
            identity = keys[row["pk"]]
            document, slug = map(quoted, identity)
            expression = f"document == {document} and slug == {slug} and part >= {lengths[identity]}"
            surplus += self._keys(entity_type, expression)
        return surplus

    def leftovers(self, entity_type: str) -> list[str]:
        """Keys of passages that do not belong to their entity's record, as an interrupted write leaves them."""
        rows = self.scan(entity_type, "part >= 0", ["pk", "part", "hash", "document", "slug"])
        current = {ms.identity(row): row["hash"] for row in rows if row["part"] == 0}
        return [row["pk"] for row in rows if current.get(ms.identity(row)) != row["hash"]]

    # --- reading ---------------------------------------------------------------------------------------------------

    def scan(self, entity_type: str, expression: str, fields: Sequence[str]) -> list[Row]:
        """All rows under an expression, however many."""
        return [] if self.info(entity_type) is None else self._backend.query(entity_type, expression, fields)

    def passages(self, entity_type: str, identities: Sequence[Identity]) -> Iterator[Passages]:
        """The passages and vectors of entities, some hundred of them at a time, in order; identities have to be sorted."""
        for document, group in itertools.groupby(identities, key=lambda identity: identity[0]):
            for slugs in _parts([slug for _, slug in group], PASSAGE_ENTITIES):
                expression = f"document == {quoted(document)} and slug in {quoted(list(slugs))}"
                rows = self.scan(entity_type, expression, [*HIT_FIELDS, "part", "hash", "vector"])
                current = {ms.identity(row): row["hash"] for row in rows if row["part"] == 0}
                found: dict[Identity, tuple[list[Passage], list[Vectors]]] = {key: ([], []) for key in current}
                for row in sorted(rows, key=lambda row: row["part"]):
                    if current.get(ms.identity(row)) == row["hash"]:
                        texts, vectors = found[ms.identity(row)]
                        texts.append(Passage(row["section"], row["passage"], ""))
                        vectors.append(np.asarray(row["vector"], np.float32))
                yield found

    def count_passages(self, entity_type: str) -> int:
        """Number of passages."""
        info = self.info(entity_type)
        return 0 if info is None else self._backend.count(entity_type, info.layout.PASSAGES)

    def count(self, selection: Selection) -> int:
        if self.info(selection.entity_type) is None:
            return 0
        return self._backend.count(selection.entity_type, self.expression(selection, records=True))

    def count_by(self, entity_type: str, column: str) -> dict[str, int]:
        """Number of entities by "document" or "kind_name"."""
        return dict(Counter(row[column] for row in self.scan(entity_type, RECORDS, [column])))

    def find(
        self, selection: Selection, limit: int | None = None, offset: int = 0, order: Order = BY_NAME
    ) -> list[Identity]:
        """Identities under the filters in an order; `Catalogue.find` says what it is by name."""
        fields = ["name_folded", "document", "slug", *order.fields]
        rows = self.scan(selection.entity_type, self.expression(selection, records=True), fields)
        name, places = selection.name or "", {key: place for place, key in enumerate(selection.prefer)}

        def place(row: Row) -> tuple[object, ...]:
            preferred = places.get(row["document"], len(places))
            return name_rank(row["name_folded"], name), row["name_folded"], preferred, *ms.identity(row)

        rows.sort(key=place)
        arranged_rows = arranged(
            rows,
            order,
            identity=ms.identity,
            number=lambda row, name: ms.number(row[name]),
            text=lambda row, name: as_text(row[name]),
        )
        return [ms.identity(row) for row in arranged_rows][offset : None if limit is None else offset + limit]

    def identities(self, entity_type: str) -> list[Identity]:
        return sorted(ms.identity(row) for row in self.scan(entity_type, RECORDS, ["document", "slug"]))

    def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        rows = self.scan(entity_type, RECORDS, ["document", "slug", "hash"])
        return {ms.identity(row): row["hash"] for row in rows}

    def existing(self, entity_type: str, identities: Iterable[Identity]) -> list[Identity]:
        """The identities that exist, in order."""
        keys = [ms.primary_key(*identity) for identity in identities]
        return sorted(ms.identity(row) for row in self._get(entity_type, keys, ["document", "slug"]))

    def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        info = self.info(entity_type)
        if not identities or info is None:
            return []
        try:
            entities = info.layout.entities(entity_type, identities, lambda *query: self._get(entity_type, *query))
        except (ValueError, KeyError, TypeError, DamagedFileError) as error:
            raise damaged(self._backend.location, entity_type, error) from error
        return [entities[identity] for identity in identities if identity in entities]

    def nearest(self, selection: Selection, vector: Vectors, limit: int) -> list[Ranked]:
        """The entities whose best passage is nearest to a vector; searches more passages until there are enough."""
        entity_type, expression = selection.entity_type, self.expression(selection)
        breadth, looked = self._breadth.get(entity_type, ROWS_PER_ENTITY), LOOKED if entity_type in SECTIONED else 0
        number = min(max(math.ceil(breadth * limit), looked), MAX_ROWS)
        while True:
            rows = ms.scored(self._backend.search(entity_type, vector, expression, number, HIT_FIELDS))
            best = _best_rows(rows)
            if len(best) >= limit or len(rows) < number or number == MAX_ROWS:
                near = nearest_sections((ms.identity(row), row["section"], row[ms.SCORE]) for row in rows[:looked])
                return [
                    ms.ranked(entity_type, own[0], own[1:], near.get(ms.identity(own[0]), ())) for own in best[:limit]
                ]
            number = min(2 * number, MAX_ROWS)
            self._breadth[entity_type] = min(1.2 * breadth, 2 * ROWS_PER_ENTITY)

    def expression(self, selection: Selection, *, records: bool = False) -> str:
        """A selection as a Milvus expression; ``records`` restricts it to one row per entity.

        A server that finds no text within another is given the names that contain it.
        """
        info = self.info(selection.entity_type)
        if info is None:
            return ms.NOTHING
        wanted, names = [str(c.values[0]) for c in selection.conditions if c.op == "name"], None
        if wanted and not self._backend.capabilities.infix:
            folded = {row["name_folded"] for row in self.scan(selection.entity_type, RECORDS, ["name_folded"])}
            names = {name: sorted(other for other in folded if name in other) for name in wanted}
        return info.layout.expression(selection, records=records, names=names)

    def _keys(self, entity_type: str, expression: str) -> list[str]:
        return [row["pk"] for row in self.scan(entity_type, expression, ["pk"])]

    def _get(self, entity_type: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        return [row for part in _parts(keys) for row in self._backend.get(entity_type, part, fields)]


def _best_rows(rows: Iterable[Row]) -> list[list[Row]]:
    """The passages that a search returned, best first, by entity, the entity with the best one first."""
    best: dict[Identity, list[Row]] = {}
    for row in rows:
        best.setdefault(ms.identity(row), []).append(row)
    return [own for _, own in sorted(best.items(), key=lambda item: (-item[1][0][ms.SCORE], item[0]))]


def _parts(keys: Sequence[str], number: int = GET_KEYS) -> Iterator[Sequence[str]]:
    return (keys[start : start + number] for start in range(0, len(keys), number))
