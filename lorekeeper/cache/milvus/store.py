"""What the Milvus backend does in threads: write, find, rank, and keep the keyword index in step. Blocking."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lorekeeper.cache.milvus import schema as ms
from lorekeeper.cache.milvus.collections import CollectionInfo, MilvusCollections, damaged
from lorekeeper.cache.milvus.companion import KeywordIndex
from lorekeeper.cache.milvus.connection import MilvusConnection
from lorekeeper.cache.milvus.recovery import REBUILT
from lorekeeper.cache.milvus.schema import Row
from lorekeeper.cache.milvus.sharing import read_owner
from lorekeeper.cache.protocol import Identity, Ranked, Statistics
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.store import WRITE_WAIT_SECONDS, Chunked, WriteLock, require_dimension, require_model
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection, name_rank
from lorekeeper.text.keywords import KeywordQuery

MAX_ROWS = 16_384
"""Most rows a search gives."""

GET_KEYS = 1024
"""Primary keys a call."""

HIT_FIELDS = ["document", "slug", "name", "section", "passage"]

ROWS_PER_ENTITY = 1.5
"""Passages asked for per entity wanted, at first; more for a type whose entities prove to have many. Each costs time."""

COMPARE_SECONDS = 30.0
"""How long the copy of a server's entities is relied on before it is compared with what other machines have written."""

COMPARE_SHARE = 20
"""The same as a multiple of the time a comparison takes, where that is longer."""


class MilvusStore:
    """One library in Milvus, with its keyword index.

    Args:
        connection: where the collections are.
        keywords_path: file of the keyword index.
    """

    def __init__(self, connection: MilvusConnection, keywords_path: Path) -> None:
        self.connection = connection
        self.keywords = KeywordIndex(keywords_path)
        self.collections = MilvusCollections(connection)
        if connection.uri is None:
            self.collections.examine = self.require_whole
        self._lock = WriteLock(Path(f"{keywords_path}.lock"), connection.location)
        self._next_comparison: dict[str, float] = {}
        self._breadth: dict[str, float] = {}
        self._rebuilt: dict[str, CollectionInfo] = {}

    @contextmanager
    def write_lock(self, wait: float = WRITE_WAIT_SECONDS) -> Iterator[None]:
        """One writer at a time, over all threads and processes; CacheError after ``wait`` seconds."""
        self.connection.open()
        with self._lock.hold(wait):
            yield

    def closed_lock(self) -> AbstractContextManager[None]:
        """The same lock, without opening the library: for what has to be done to one that cannot be opened."""
        return self._lock.hold()

    def embedding_of(self, entity_type: str) -> str | None:
        """What a type's vectors were made with, None where nothing was stored yet."""
        info = self.collections.info(entity_type)
        return info.embedding if info else None

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        """Store entities with the vectors of all their passages, in order."""
        with self.write_lock():
            self.connection.require_space()
            info = self.collections.info(entity_type)
            if info is None:
                self._create(entity_type, embedding, vectors.shape[1])
            require_model(self.embedding_of(entity_type), embedding)
            require_dimension(info.dimension if info else None, vectors)
            self.collections.require_words(entity_type)
            self._keep_keywords(entity_type)
            self.keywords.begin(entity_type, [entity.identity for entity, _ in chunked])
            info = self.collections.info(entity_type)
            assert info is not None
            lengths = self.collections.upsert(entity_type, chunked, vectors, info)
            self._delete(entity_type, self.collections.surplus(entity_type, lengths))
            self.keywords.apply(entity_type, [entity for entity, _ in chunked])

    def flush(self, entity_type: str) -> None:
        """Seal what was written: unflushed rows are searched 20 to 90 times slower."""
        with self.write_lock():
            self.connection.require_space()
            self.connection.call("flush", entity_type)
            self._note_rows(entity_type)

    def delete_document(self, entity_type: str, document: str) -> int:
        """Remove a document's entities of one type; returns how many."""
        if self.collections.info(entity_type) is None:
            return 0
        with self.write_lock():
            test = self._test(Selection(entity_type, documents=[document]), heads=True)
            return self._remove(entity_type, self.collections.scan(entity_type, test, ["document", "slug"]))

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        """Remove entities by identity; returns how many there were."""
        if self.collections.info(entity_type) is None:
            return 0
        with self.write_lock():
            found: list[Row] = []
            for start in range(0, len(identities), GET_KEYS):
                keys = [ms.primary_key(*i) for i in identities[start : start + GET_KEYS]]
                found += self.connection.call("get", entity_type, keys, ["document", "slug"])
            return self._remove(entity_type, found)

    def begin_rebuild(self, entity_type: str, embedding: str, dimension: int) -> bool:
        """Make the collection that is to be filled anew; False where the type has nothing."""
        info = self.collections.info(entity_type)
        if info is None:
            return False
        self._rebuilt[entity_type] = self.collections.make(
            entity_type + REBUILT, entity_type, info.store, embedding, dimension
        )
        return True

    def rebuild(self, entity_type: str, chunked: Chunked, vectors: Vectors) -> None:
        """Fill that collection."""
        self.collections.upsert(entity_type + REBUILT, chunked, vectors, self._rebuilt[entity_type])

    def end_rebuild(self, entity_type: str) -> None:
        """Let that collection take the first one's place."""
        self.collections.swap(entity_type)
        self._note_rows(entity_type)

    def _create(self, entity_type: str, embedding: str, dimension: int) -> None:
        for other in COLLECTIONS:
            require_model(self.embedding_of(other), embedding)
        info = self.collections.create(entity_type, embedding, dimension)
        self.keywords.rebuild(entity_type, info.store, list)

    def _remove(self, entity_type: str, heads: Sequence[Row]) -> int:
        """Remove the entities of these rows with all their passages. The caller holds the write lock."""
        identities = sorted(map(ms.identity, heads))
        if identities:
            self._keep_keywords(entity_type)
            self.keywords.begin(entity_type, identities)
            for document, group in itertools.groupby(identities, key=lambda i: i[0]):
                slugs = [slug for _, slug in group]
                for start in range(0, len(slugs), GET_KEYS):
                    chosen = ms.quoted(slugs[start : start + GET_KEYS])
                    test = f"document == {ms.quoted(document)} and slug in {chosen}"
                    self._delete(entity_type, [row["pk"] for row in self.collections.scan(entity_type, test, ["pk"])])
            self.connection.call("flush", entity_type)
            self.keywords.remove(entity_type, identities)
            self._note_rows(entity_type)
        return len(identities)

    # --- reading ---------------------------------------------------------------------------------------------------

    def find(self, selection: Selection, limit: int | None, offset: int) -> list[Identity]:
        """Identities under the filters: whole name matches first, then by name, document and slug."""
        if self._catalogued(selection.entity_type):
            return self.keywords.find(selection, limit, offset)
        test = self._test(selection, heads=True)
        found = self.collections.scan(selection.entity_type, test, ["name_folded", "document", "slug"])
        wanted = selection.name or ""
        found.sort(key=lambda row: (name_rank(row["name_folded"], wanted), row["name_folded"], *ms.identity(row)))
        return [ms.identity(row) for row in found[offset : None if limit is None else offset + limit]]

    def count(self, selection: Selection) -> int:
        """Number of entities under the filters."""
        if self._catalogued(selection.entity_type):
            return self.keywords.count(selection)
        return self.collections.count(selection.entity_type, self._test(selection, heads=True))

    def count_by(self, entity_type: str, column: str) -> dict[str, int]:
        """Number of entities by "document" or "kind_name"."""
        if self._catalogued(entity_type):
            return self.keywords.count_by(entity_type, column)
        return dict(Counter(row[column] for row in self.collections.scan(entity_type, "part == 0", [column])))

    def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        """The entities of these identities, in their order; those that are gone are left out."""
        info = self.collections.info(entity_type)
        if not identities or info is None:
            return []

        def get(keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
            parts = (keys[start : start + GET_KEYS] for start in range(0, len(keys), GET_KEYS))
            return [row for part in parts for row in self.connection.call("get", entity_type, part, fields)]

        try:
            found = info.layout.entities(entity_type, identities, get)
        except (ValueError, KeyError, TypeError, DamagedFileError) as error:
            raise damaged(self.connection.location, entity_type, error) from error
        return [found[i] for i in identities if i in found]

    def identities(self, entity_type: str) -> list[Identity]:
        """Identities of all entities of a type, in order."""
        return sorted(ms.identity(row) for row in self.collections.scan(entity_type, "part == 0", ["document", "slug"]))

    def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        """Content hashes of all entities of a type."""
        rows = self.collections.scan(entity_type, "part == 0", ["document", "slug", "hash"])
        return {ms.identity(row): row["hash"] for row in rows}

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        """The entities whose best passage is nearest to a vector; asks for more passages until there are enough."""
        entity_type = selection.entity_type
        if self.collections.info(entity_type) is None:
            return []
        require_model(self.embedding_of(entity_type), embedding)
        test = self._test(selection)
        breadth = self._breadth.get(entity_type, ROWS_PER_ENTITY)
        wanted = min(math.ceil(breadth * limit), MAX_ROWS)
        while True:
            rows = self.connection.call("search", entity_type, vector, test, wanted, HIT_FIELDS)
            best: dict[Identity, Ranked] = {}
            for row in rows:
                place = ms.place(entity_type, row)
                best.setdefault(place.identity, place)
            if len(best) >= limit or len(rows) < wanted or wanted == MAX_ROWS:
                return sorted(best.values(), key=lambda place: (-place.score, place.identity))[:limit]
            wanted = min(2 * wanted, MAX_ROWS)
            self._breadth[entity_type] = min(1.2 * breadth, 2 * ROWS_PER_ENTITY)

    def rank_keyword(self, selection: Selection, query: KeywordQuery, limit: int) -> list[Ranked]:
        """The entities that share words with a query, best first; where a server has BM25 by that, from no copy."""
        info = self.collections.info(selection.entity_type)
        if info is None or info.words is None:
            ready = self._keywords_ready(selection.entity_type)
            return self.keywords.rank_keyword(selection, query, limit) if ready else []
        from lorekeeper.cache.milvus.words import by_words

        self.collections.require_words(selection.entity_type)
        test = self._test(selection, heads=True)
        return by_words(self.connection, selection.entity_type, test, query, limit)

    def rank_names(self, selection: Selection, query: str) -> list[Ranked]:
        """The entities whose names are similar to a query, best first."""
        return self.keywords.rank_names(selection, query) if self._keywords_ready(selection.entity_type) else []

    def known_words(self, entity_type: str, words: Collection[str]) -> set[str]:
        """Those of the words that occur in an entity of the type."""
        return self.keywords.known_words(entity_type, words) if self._keywords_ready(entity_type) else set()

    def statistics(self) -> Statistics:
        """Counts, model, and who owns the store."""
        infos = {t: self.collections.info(t) for t in COLLECTIONS}
        kinds = {t: self.count_by(t, "kind_name") for t in COLLECTIONS}
        details = {"role": self.connection.role, "keyword index": str(self.keywords.path)}
        owner = read_owner(self.connection.path) if self.connection.path else None
        if self.connection.role == "owner":
            from lorekeeper.cache.milvus.lite import status

            details["Milvus Lite"] = status()
        if self.connection.abilities.remarks:
            details["server"] = self.connection.abilities.remarks
        older = [t for t, i in infos.items() if i and i.format != self.connection.abilities.format]
        if older:
            details["made by an earlier version"] = (
                f"{', '.join(older)}; run 'lorekeeper reindex' to search them exactly"
            )
        if owner:
            details["owner"] = f"process {owner.get('pid')}, LoreKeeper {owner.get('version')}"
        return Statistics(
            backend="milvus",
            location=self.connection.location,
            counts={t: sum(kinds[t].values()) for t in COLLECTIONS},
            kinds=kinds,
            passages={t: self.collections.count(t, i.layout.PASSAGES) for t, i in infos.items() if i}
            | {t: 0 for t, i in infos.items() if i is None},
            embedding=", ".join(sorted({i.embedding for i in infos.values() if i})) or None,
            details=details,
        )

    def open(self, types: Iterable[str]) -> None:
        """Open the store, and these types with their keyword index, which is made anew where it is stale."""
        self.connection.open()
        for entity_type in types:
            self._keywords_ready(entity_type)

    def close(self) -> None:
        """Let go of the store and the keyword index."""
        self.connection.close()
        self.keywords.close()

    # --- the keyword index -------------------------------------------------------------------------------------------

    def _catalogued(self, entity_type: str) -> bool:
        """Whether structured questions go to the keyword index, which answers them ten times sooner than Milvus Lite.

        On a server they go to Milvus: other machines may have written a moment ago.
        """
        return self.connection.uri is None and self._keywords_ready(entity_type)

    def _keywords_ready(self, entity_type: str) -> bool:
        """Build a type's keyword index anew where it does not match the store; False where there is nothing to search."""
        info = self.collections.info(entity_type)
        if info is None:
            return False
        store, finished = self.keywords.state(entity_type)
        usable = store == info.store
        astray = self._astray(entity_type) if usable else set()
        if usable and finished and not astray:
            return True
        try:
            with self.write_lock(wait=0 if usable else WRITE_WAIT_SECONDS):
                self._keep_keywords(entity_type, astray)
        except CacheError:
            if not usable:
                raise
        return True

    def _keep_keywords(self, entity_type: str, astray: Collection[Identity] = ()) -> None:
        """Bring a type's keyword index in step with the store, and see to entities that others have written.

        The caller holds the write lock, so that nobody on this machine is writing.
        """
        info = self.collections.info(entity_type)
        if info is None:
            return
        store, finished = self.keywords.state(entity_type)
        if store != info.store or not finished:
            self._sweep(entity_type)
        if store != info.store:
            identities = self.identities(entity_type)
            self.keywords.rebuild(entity_type, info.store, lambda: self._each(entity_type, identities))
        elif astray or not finished:
            changed = sorted({*astray, *self.keywords.unfinished(entity_type)})
            self.keywords.remove(entity_type, changed, kept=list(self._each(entity_type, changed)))
            if self.connection.uri is None:
                self.require_whole(entity_type, info)

    def _test(self, selection: Selection, *, heads: bool = False) -> str:
        """A selection as a Milvus expression. A server that finds no text within another is given the names that hold it."""
        entity_type, wanted = selection.entity_type, selection.name
        info = self.collections.info(entity_type)
        if info is None:
            return ms.NOTHING
        names = None
        if wanted is not None and not self.connection.abilities.infix:
            held = {row["name_folded"] for row in self.collections.scan(entity_type, "part == 0", ["name_folded"])}
            names = sorted(name for name in held if wanted in name)
        return info.layout.expression(selection, heads=heads, names=names)

    def _each(self, entity_type: str, identities: Sequence[Identity]) -> Iterator[Entity]:
        """The entities of these identities, however many, read a part at a time."""
        for start in range(0, len(identities), GET_KEYS):
            yield from self.load(entity_type, identities[start : start + GET_KEYS])

    def require_whole(self, entity_type: str, info: CollectionInfo | None) -> None:
        """MilvusSchemaError where an embedded store has lost, or got back, entries that its companion knows better."""
        before = self.keywords.mark(entity_type)
        store, finished = self.keywords.state(entity_type)
        if store is None or not finished or (info and info.store != store):
            return
        if info and self.keywords.rows(entity_type) == self.collections.count(entity_type):
            return
        known = self.keywords.count(Selection(entity_type))
        held = self.collections.count(entity_type, "part == 0") if info else 0
        if known != held and self.keywords.mark(entity_type) == before:
            location = self.connection.location
            raise damaged(location, entity_type, f"it holds {held:,} entries of {known:,} that were stored")

    def _note_rows(self, entity_type: str) -> None:
        """Note how many rows there are: to compare that on opening takes a hundredth of the time of counting entities."""
        if self.connection.uri is None:
            self.keywords.note_rows(entity_type, self.collections.count(entity_type))

    def _astray(self, entity_type: str) -> set[Identity]:
        """Entities that other machines have added, changed or removed on a server, where it is time to ask for them."""
        began = time.monotonic()
        if self.connection.uri is None or began < self._next_comparison.get(entity_type, -math.inf):
            return set()
        differing = self.content_hashes(entity_type).items() ^ self.keywords.content_hashes(entity_type).items()
        ended = time.monotonic()
        self._next_comparison[entity_type] = ended + max(COMPARE_SECONDS, COMPARE_SHARE * (ended - began))
        return {identity for identity, _ in differing}

    def _sweep(self, entity_type: str) -> None:
        """Remove passages of earlier versions that a write which was cut off left behind."""
        self._delete(entity_type, self.collections.leftovers(entity_type))

    def _delete(self, entity_type: str, keys: list[str]) -> None:
        for start in range(0, len(keys), GET_KEYS):
            self.connection.call("delete", entity_type, keys[start : start + GET_KEYS])
