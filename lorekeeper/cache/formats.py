"""The format of stored libraries, and what an upgrade does to each entity.

A format has two parts. The layout says how tables and columns are arranged; its number is raised by hand, seldom, where the
reading code changes. The declared columns follow from `lorekeeper.entities.COLLECTIONS` and need no number: a filter field
that is added, removed or revised there differs from what a library says of itself. Either difference means that the library
is upgraded from its own copies when it is opened; no text is embedded for it.

The value of an added or revised field comes from normalising the entity's stored ``data`` again. `cache` may not import
`normalize`, so the composition root passes that function in (`Upgrade.normalized`).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import RLock

import lorekeeper
from lorekeeper.cache.protocol import Progress
from lorekeeper.entities import COLLECTIONS, Collection, Entity, Field, Value
from lorekeeper.errors import CacheError, FilterError
from lorekeeper.filters import clean_fields

logger = logging.getLogger(__name__)

Normalized = Callable[[Entity], Mapping[str, Value]]
"""The filter values that an entity's ``data`` give by today's rules; {} where they cannot be read again."""


def not_again(_entity: Entity) -> Mapping[str, Value]:
    """For libraries that are never upgraded: nothing is normalised again."""
    return {}


UPGRADED = "upgraded"
"""Names what is being built to take the place of a library, or a part of it, of an earlier format."""


class NewerLibraryError(CacheError):
    """A later version of LoreKeeper wrote the library, in a format that this one does not know."""


@dataclass(frozen=True)
class Format:
    """What a library says of its format.

    Attributes:
        layout: version of the arrangement of tables and columns.
        fields: the declared filter columns by type, as `declared` writes them; types that it does not have are missing.
        version: of the LoreKeeper that wrote it, "" where it does not say.
    """

    layout: int
    fields: Mapping[str, str]
    version: str = ""

    def is_current(self, layout: int) -> bool:
        """Whether this version writes libraries of that layout with the same columns."""
        return (self.layout, dict(self.fields)) == (layout, declarations())

    def require_known(self, location: str, layout: int) -> None:
        """NewerLibraryError where the format is a later one than this version's, whose current layout is given."""
        if self.layout > layout or (not self.is_current(layout) and is_later(self.version)):
            raise newer(location, self.layout, self.version)


def newer(location: str, layout: int, version: str) -> NewerLibraryError:
    """The error for a library that only a later version can use."""
    written = f"LoreKeeper {version}" if is_later(version) else "a later LoreKeeper"
    return NewerLibraryError(
        f"{location} was written by {written} in a format (layout {layout}) that this one, version {lorekeeper.__version__}, "
        "does not know; nothing in it was changed. Update this program, or choose another library"
    )


def is_later(version: str) -> bool:
    """Whether a version is later than this program's."""
    return _numbers(version) > _numbers(lorekeeper.__version__)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def declared(collection: Collection) -> str:
    """The filter columns of a collection in one line: what differs in it decides what an upgrade changes."""
    return " ".join(sorted(map(_column, collection.fields)))


def declarations() -> dict[str, str]:
    """`declared` of every type."""
    return {name: declared(collection) for name, collection in COLLECTIONS.items()}


FIRST_DECLARATIONS = {
    "spells": (
        "casting_time:text:fold_time:1 classes:texts:fold_class:1 concentration:flag:fold:1 "
        "damage_types:texts:fold:1 level:integer:fold:1 range:decimal:fold:1 ritual:flag:fold:1 "
        "school:text:fold:1"
    ),
    "creatures": (
        "alignment:text:fold:1 armor_class:integer:fold:1 challenge_rating:decimal:fold:1 "
        "environments:texts:fold_key:1 hit_points:integer:fold:1 size:text:fold:1 type:text:fold:1"
    ),
    "equipment": (
        "category:text:fold:1 cost:decimal:fold:1 damage_type:text:fold:1 properties:texts:fold:1 "
        "rarity:text:fold:1 requires_attunement:flag:fold:1 weight:decimal:fold:1"
    ),
    "character_options": "hit_die:text:fold:1 parent:text:fold_key:1",
    "rules": "parent:text:fold_key:1",
    "documents": "game_system:text:fold:1 licenses:texts:fold:1 publisher:text:fold:1",
}
"""`declarations` of version 0.1.0, whose libraries do not say them."""


def names(declaration: str) -> dict[str, str]:
    """The columns of a declaration by the names of their fields."""
    return {column.split(":")[0]: column for column in declaration.split()}


def fingerprint(layout: int) -> str:
    """A short text that differs where the layout or the declared columns do."""
    return hashlib.blake2b(json.dumps([layout, declarations()]).encode(), digest_size=8).hexdigest()


def parse_declarations(value: object) -> dict[str, str]:
    """`declarations` as they were read from JSON that may be from elsewhere; ValueError if they are none."""
    if isinstance(value, dict) and all(isinstance(declaration, str) for declaration in value.values()):
        return value
    raise ValueError("it does not say its fields as LoreKeeper does")


def _column(field: Field) -> str:
    return f"{field.name}:{field.type.name.lower()}:{field.fold.__name__}:{field.revision}"


def upgraded(entity: Entity, earlier: str, normalized: Normalized) -> Entity:
    """An entity with the filter values that the current declarations ask for.

    A field that is declared as it was keeps its value; where the entity has none, and for a revised field, the value comes
    from the entity's data. Where that gives none either, a revised field keeps its value if that is still a valid one.

    Args:
        entity: as it was stored; values of fields that are not declared any more are dropped.
        earlier: the columns that its library had, as `declared` writes them.
        normalized: gives the values that follow from the data.
    """
    columns = names(earlier)
    changed = [field for field in entity.collection.fields if columns.get(field.name) != _column(field)]
    fields = {f.name: entity.fields[f.name] for f in entity.collection.fields if f.name in entity.fields}
    if changed:
        again = normalized(entity)
        for field in changed:
            added = field.name not in columns
            stored, derived = fields.pop(field.name, None), again.get(field.name)
            fields |= _valid(entity.type, field.name, [stored, derived] if added else [derived, stored])
    return replace(entity, fields=fields) if fields != dict(entity.fields) else entity


def _valid(entity_type: str, name: str, candidates: Sequence[Value | None]) -> dict[str, Value]:
    """The first of the candidates that is a value of the field, by the field's name; {} where none is."""
    for value in candidates:
        try:
            if cleaned := clean_fields(entity_type, {name: value}):
                return cleaned
        except FilterError:
            continue
    return {}


# --- doing it --------------------------------------------------------------------------------------------------------

Shown = Callable[[str, int], AbstractContextManager[Progress]]
"""Shows the progress of an upgrade: called with what is upgraded, and the number of its entities."""

shown: ContextVar[Shown | None] = ContextVar("shown", default=None)
"""What shows the progress of upgrades to a person; None while nobody is watching."""


@contextmanager
def reported(what: str, total: int) -> Iterator[Progress]:
    """Log an upgrade, and show its progress where somebody watches."""
    logger.info("upgrading %s to the format of LoreKeeper %s: %d entries", what, lorekeeper.__version__, total)
    show = shown.get()
    with nullcontext(lambda _: None) if show is None else show(f"Upgrading {what}", total) as progress:
        yield progress
    logger.info("upgraded %s", what)


class Upgrade:
    """Upgrades a library, or a part of it, before its first use; safe in several threads.

    Where that fails, which is logged once, reads go on with the library as it is, and every write tries again.

    Args:
        what: what is upgraded, for people.
        outdated: whether the library has an earlier format; raises NewerLibraryError.
        lock: keeps all other writers out.
        run: upgrades it; called by one process at a time. May raise CacheError, and leaves the library as it was then.

    Attributes:
        failure: why it could not be upgraded; None where it is current, or was not looked at yet.
    """

    def __init__(
        self,
        what: str,
        outdated: Callable[[], bool],
        lock: Callable[[], AbstractContextManager[None]],
        run: Callable[[], None],
    ) -> None:
        self._what = what
        self._outdated, self._lock, self._run = outdated, lock, run
        self._threads = RLock()
        self._tried = False
        self.failure: CacheError | None = None

    def before_reading(self) -> None:
        """Upgrade the library where that was not tried yet."""
        if not self._tried:
            with self._threads:
                if not self._tried:
                    self._try()

    def before_writing(self) -> None:
        """Upgrade the library where that is not done yet; CacheError where it fails."""
        self.before_reading()
        if self.failure:
            with self._threads:
                self._try()
        if self.failure:
            raise self.refusal() from self.failure

    def refusal(self) -> CacheError:
        """The error for a write to a library that could not be upgraded."""
        reason = self.failure or "another process has written it in an earlier format meanwhile; try again"
        return CacheError(f"nothing was written, because {self._what} must be upgraded first: {reason}")

    def settle(self) -> None:
        """Upgrade the library where that was not tried yet; from now on it is used as it is, even where it is damaged."""
        try:
            self.before_reading()
        except NewerLibraryError:
            raise
        except CacheError as error:
            self._tried, self.failure = True, error

    def forget(self) -> None:
        """Look at the library again before its next use."""
        self._tried, self.failure = False, None

    def _try(self) -> None:
        failed_before = self.failure is not None
        self.failure = self._attempt() if self._outdated() else None
        if self.failure and not failed_before:
            logger.warning("%s could not be upgraded, and is read as it is: %s", self._what, self.failure)
        self._tried = True

    def _attempt(self) -> CacheError | None:
        try:
            with self._lock():
                if self._outdated():
                    self._run()
        except NewerLibraryError:
            raise
        except CacheError as error:
            return error
        return None
