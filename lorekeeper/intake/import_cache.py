"""What the objects of earlier imports gave: one small file beside the library, which can be deleted at any time without harm.

An object that has given certain entities gives the same ones again, under the same rules. If the library has them, it need
not be normalised, which is nine tenths of the work of an import. The file counts for the rules that it was written under: any
change of the package is another set of rules.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from lorekeeper.cache.protocol import Identity
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.intake.rules import rules
from lorekeeper.normalize.book_tables import may_have_tables
from lorekeeper.normalize.creatures import is_stub
from lorekeeper.normalize.equipment import is_table_row
from lorekeeper.regular_files import read_regular
from lorekeeper.system import private_file, private_folder

logger = logging.getLogger(__name__)

FORMAT = 3

DIGEST_BYTES = 16


class Digest(NamedTuple):
    """What it takes to tell whether a library has an entity.

    Attributes:
        type: of the entity.
        document: key of its document.
        slug: its slug.
        content_hash: `Entity.content_hash`.
        table_row: whether it is a row of a table or a stub, which the whole entry replaces, as `is_table_row` and `is_stub` say.
        tables: whether it may have tables to roll on, as `may_have_tables` says.
    """

    type: str
    document: str
    slug: str
    content_hash: str
    table_row: bool
    tables: bool

    @classmethod
    def of(cls, entity: Entity) -> Self:
        """The digest of an entity."""
        told = is_table_row(entity) or is_stub(entity), may_have_tables(entity)
        return cls(entity.type, *entity.identity, entity.content_hash, *told)

    @property
    def identity(self) -> Identity:
        """As `Entity.identity`."""
        return self.document, self.slug


class Remembered:
    """What objects have given. Blocking; it is not used by several threads at once.

    Args:
        path: its file; None for none.
        known: digests by the key of the object.
    """

    def __init__(self, path: Path | None = None, known: Mapping[str, Sequence[Digest]] | None = None) -> None:
        self._path = path
        self._known = dict(known or {})
        self._changed = False

    @classmethod
    def load(cls, path: Path | None) -> Self:
        """What a file remembers; nothing if there is none that can be used."""
        if path is None or not path.exists():
            return cls(path)
        try:
            content = json.loads(read_regular(path))
            if (content["format"], content["rules"]) != (FORMAT, rules()):
                return cls(path)
            known = {key: [Digest(*digest) for digest in digests] for key, digests in content["objects"].items()}
            if not all(digest.type in COLLECTIONS for digests in known.values() for digest in digests):
                raise ValueError("it has types that are not known")
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            logger.warning("%s cannot be used (%s): every entry is read in full", path, error)
            return cls(path)
        return cls(path, known)

    @property
    def types(self) -> set[str]:
        """The types of the entities."""
        return {digest.type for digests in self._known.values() for digest in digests}

    def confirm(self, stored: Mapping[str, Mapping[Identity, str]]) -> None:
        """Forget what the library does not have as it is remembered; ``stored`` are its content hashes by type."""
        kept = {
            key: digests
            for key, digests in self._known.items()
            if all(stored[d.type].get(d.identity) == d.content_hash for d in digests)
        }
        self._changed = self._changed or len(kept) < len(self._known)
        self._known = kept

    def digests(self, key: str | None) -> Sequence[Digest] | None:
        """What an object has given; None if it is not known."""
        return None if key is None else self._known.get(key)

    def add(self, key: str | None, entities: Iterable[Entity]) -> None:
        """Remember what an object has given."""
        if key is not None and self._path is not None:
            self._known[key] = [Digest.of(entity) for entity in entities]
            self._changed = True

    def save(self) -> None:
        """Write the file, if there is anything new; what goes wrong is logged, since nothing depends on it."""
        if self._path is None or not self._changed:
            return
        content = {"format": FORMAT, "rules": rules(), "objects": self._known}
        try:
            new = private_file(private_folder(self._path.parent) / f"{self._path.name}.new")
            new.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
            new.replace(self._path)
        except (OSError, ValueError) as error:
            logger.warning("%s cannot be written: %s", self._path, error)


def key_of(value: Any, hint: str, document: str | None, audience: str | None = None) -> str | None:
    """The key of an object from a file of that name, for that document and audience; None if it is nested too deeply."""
    try:
        text = json.dumps([hint, document, audience, value], ensure_ascii=False)
    except RecursionError:
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()
