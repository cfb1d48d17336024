"""The format of stored libraries, and what an upgrade does to each entity.

A format has two parts. The layout says how tables and columns are arranged; its number is raised by hand, rarely, when the
code that reads them changes. The declared columns follow from `lorekeeper.entities.COLLECTIONS` and need no number: a filter field
that is added, removed or revised there differs from what a library records. If either differs, the library is upgraded
from its own records when it is opened; no text is embedded again.

The value of an added or revised field comes from normalising the entity's stored ``data`` again. `cache` may not import
`normalize`, so the composition root passes that function in (`Upgrade.normalized`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace

from lorekeeper.cache.protocol import Progress
from lorekeeper.entities import COLLECTIONS, Collection, Entity, Field, Value, declared_type
from lorekeeper.errors import CacheError, FilterError, UpgradingError
from lorekeeper.filters import clean_fields
from lorekeeper.measures import ProgressCounter
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

TOO_OLD = "has a format (layout {}) of a development version of LoreKeeper, which this version no longer reads"
"""What is wrong with a library, a file or an archive from before the formats that are upgraded."""

UPGRADE_ONCE = (
    "Open it once with the last release that upgrades it, or move it aside, choose a new library and import your files "
    "again"
)
"""What to do about it."""

Normalized = Callable[[Entity], Mapping[str, Value]]
"""The filter values that an entity's ``data`` gives under the current rules; {} if it cannot be normalised."""


def not_again(_entity: Entity) -> Mapping[str, Value]:
    """For libraries that are never upgraded: nothing is normalised again."""
    return {}


UPGRADED = "upgraded"
"""In the name of what is being built to replace a library of an earlier format, or a part of one."""


class UnknownFormatError(CacheError):
    """The library has a format that this version cannot read; it was left alone."""


class NewerLibraryError(UnknownFormatError):
    """A later version of LoreKeeper wrote the library, in a format that this one cannot read."""


class OlderLibraryError(UnknownFormatError):
    """The library has a format from before those that this version upgrades."""


@dataclass(frozen=True)
class Format:
    """The format of a library, as the library records it.

    Attributes:
        layout: version of the arrangement of tables and columns.
        fields: the declared filter columns by type, as `declared` writes them; types that it lacks are missing.
        version: of the LoreKeeper that wrote it, "" if it is not recorded.
    """

    layout: int
    fields: Mapping[str, str]
    version: str = ""

    def is_current(self, layout: int, types: Iterable[str]) -> bool:
        """Whether this version writes libraries of that layout with the same columns for these types.

        The library may have further types, which another program has declared.
        """
        return self.layout == layout and declarations(types).items() <= self.fields.items()

    def require_known(self, location: str, layout: int, types: Iterable[str]) -> None:
        """NewerLibraryError if the format is later than this version's, which writes the given layout with these types."""
        same = (self.layout, dict(self.fields)) == (layout, declarations(types))
        if self.layout > layout or (not same and is_later(self.version)):
            raise newer(location, self.layout, self.version)


def newer(location: str, layout: int, version: str) -> NewerLibraryError:
    """The error for a library that only a later version can use."""
    writer = f"LoreKeeper {version}" if is_later(version) else "a later LoreKeeper"
    return NewerLibraryError(
        f"{location} was written by {writer} in a format (layout {layout}) that LoreKeeper {VERSION} cannot read; "
        "nothing was changed. Update LoreKeeper, or choose another library"
    )


def older(location: str, layout: int) -> OlderLibraryError:
    """The error for a library from before the formats that are upgraded."""
    return OlderLibraryError(f"{location} {TOO_OLD.format(layout)}; nothing was changed. {UPGRADE_ONCE}")


def is_later(version: str) -> bool:
    """Whether a version is later than this program's."""
    return _numbers(version) > _numbers(VERSION)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def declared(collection: Collection) -> str:
    """The filter columns of a collection in one line; an upgrade changes the columns that differ from it."""
    return " ".join(sorted(map(_column, collection.fields)))


def declarations(types: Iterable[str] = COLLECTIONS) -> dict[str, str]:
    """`declared` of each type."""
    return {name: declared(declared_type(name)) for name in types}


def names(declaration: str) -> dict[str, str]:
    """The columns of a declaration by the names of their fields."""
    return {column.split(":")[0]: column for column in declaration.split()}


def fingerprint(layout: int) -> str:
    """A short text that differs if the layout or the declared columns differ."""
    return hashlib.blake2b(json.dumps([layout, declarations()]).encode(), digest_size=8).hexdigest()


def parse_declarations(value: object) -> dict[str, str]:
    """`declarations` read from JSON that may come from elsewhere; ValueError if they are not declarations."""
    if isinstance(value, dict) and all(isinstance(declaration, str) for declaration in value.values()):
        return value
    raise ValueError("its declared fields are invalid")


def _column(field: Field) -> str:
    return f"{field.name}:{field.type.name.lower()}:{field.fold.__name__}:{field.revision}"


def upgraded(entity: Entity, earlier: str, normalized: Normalized) -> Entity:
    """An entity with the filter values that the current declarations require.

    A field whose declaration is unchanged keeps its value. An added field takes a value that is stored anyway,
    else the one that the entity's data gives; a revised field only what the data gives, unless it cannot be normalised:
    then the stored value, if it is valid.

    Args:
        entity: as it was stored; values of fields that are no longer declared are dropped.
        earlier: the columns that its library had, as `declared` writes them.
        normalized: gives the values that follow from the data.
    """
    columns = names(earlier)
    changed = [field for field in entity.collection.fields if columns.get(field.name) != _column(field)]
    fields = {f.name: entity.fields[f.name] for f in entity.collection.fields if f.name in entity.fields}
    if changed:
        derived = normalized(entity)
        for field in changed:
            stored, value = fields.pop(field.name, None), derived.get(field.name)
            decided = [value] if derived else [stored]  # today's rules decide, also that there is no value
            candidates = decided if field.name in columns else [stored, value]
            fields |= _valid(entity.type, field.name, candidates)
    return replace(entity, fields=fields) if fields != dict(entity.fields) else entity


def _valid(entity_type: str, name: str, candidates: Sequence[Value | None]) -> dict[str, Value]:
    """The first of the candidates that is a value of the field, by the field's name; {} if none is."""
    for value in candidates:
        try:
            if cleaned := clean_fields(entity_type, {name: value}):
                return cleaned
        except FilterError:
            continue
    return {}


# --- upgrades --------------------------------------------------------------------------------------------------------

Shown = Callable[[str, int], AbstractContextManager[Progress]]
"""Shows the progress of an upgrade: called with what is upgraded, and the number of its entities."""

shown: ContextVar[Shown | None] = ContextVar("shown", default=None)
"""Shows the progress of upgrades to a person; None if nothing does."""


ANSWER_SECONDS = 15.0
"""How long a question waits for the library to open: clients give up after a minute, and an answer takes several steps."""

_patience: ContextVar[float | None] = ContextVar("patience", default=None)
"""How long reading waits for the library to open; None for as long as it takes."""

_steps: ContextVar[ProgressCounter | None] = ContextVar("steps", default=None)
"""How far the upgrade has got that runs here."""


@contextmanager
def answering() -> Iterator[None]:
    """A question is answered in the body: if the library takes longer to open, or to upgrade, reading raises `UpgradingError`.

    That goes on, in a thread of its own.
    """
    with _waiting(ANSWER_SECONDS):
        yield


@contextmanager
def at_once() -> Iterator[None]:
    """Something is read in the body that a question can do without: within one, it waits for no opening at all."""
    with at_most(0.0):
        yield


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Within a question, what is read in the body waits so long for the library to open."""
    patience = _patience.get()
    with _waiting(None if patience is None else min(patience, seconds)):
        yield


@contextmanager
def _waiting(seconds: float | None) -> Iterator[None]:
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


@contextmanager
def reported(doing: str, what: str, total: int, purpose: str = "") -> Iterator[Progress]:
    """Show the progress of something that answers wait for, such as an upgrade, if `shown` is set; else warn of it.

    Args:
        doing: what is done, as "upgrading".
        what: to what.
        total: number of its entries.
        purpose: what for.
    """
    show, steps = shown.get(), _steps.get() or ProgressCounter()
    level = logging.WARNING if show is None else logging.INFO
    logger.log(level, "%s %s%s: %d entries", doing, what, purpose, total)
    steps.start(total)
    with nullcontext(lambda _: None) if show is None else show(f"{doing.capitalize()} {what}", total) as progress:

        def advance(number: int) -> None:
            progress(number)
            steps.advance(number)

        yield advance
    logger.info("%s: done", what)


UPGRADING, TO_FORMAT = "upgrading", f" to the format of LoreKeeper {VERSION}, once"


class Upgrade:
    """Opens a library, or a part of it, and upgrades it before its first use; safe in several threads.

    If that fails, which is logged once, the library is read as it is, and every write tries again.

    Args:
        what: what is upgraded, for people.
        part: the same within the library.
        outdated: whether the library has an earlier format; raises UnknownFormatError.
        lock: keeps all other writers out.
        run: upgrades it; called by one process at a time. If it raises CacheError, the library is unchanged.
        opening: what is done while ``outdated`` is not answered yet, as in "the library is being opened".

    Attributes:
        failure: why it could not be upgraded; None if it is current, or was not examined yet.
    """

    def __init__(
        self,
        what: str,
        part: str,
        outdated: Callable[[], bool],
        lock: Callable[[], AbstractContextManager[None]],
        run: Callable[[], None],
        opening: Callable[[], str] = lambda: "opened",
    ) -> None:
        self._what, self._part, self._opening = what, part, opening
        self._outdated, self._lock, self._run = outdated, lock, run
        self._threads, self._starting = threading.RLock(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._steps = ProgressCounter()
        self._tried = self._upgrading = False
        self.failure: CacheError | None = None

    @property
    def pending(self) -> bool:
        """Whether the library is not ready yet to be read."""
        return not self._tried

    @property
    def under_way(self) -> bool:
        """Whether a question has found it so, and it is being opened since."""
        return self.pending and self._thread is not None and self._thread.is_alive()

    def before_reading(self) -> None:
        """Upgrade the library, unless that was tried before; UpgradingError if it takes longer than an `answering` one waits."""
        patience = _patience.get()
        if not self._tried and patience is not None:
            self._wait(patience)
        self._once()

    def before_writing(self) -> None:
        """Upgrade the library, unless that was done before; CacheError if it fails."""
        self._once()
        if self.failure:
            with self._threads:
                self._try()
        if self.failure:
            raise self.refusal() from self.failure

    def refusal(self) -> CacheError:
        """The error for a write to a library that could not be upgraded."""
        reason = self.failure or "another process has since written it in an earlier format; try again"
        return CacheError(f"nothing was written, because {self._what} must be upgraded first: {reason}")

    def settle(self) -> None:
        """Upgrade the library, unless that was tried before; from then on it is used as it is, even if it is damaged."""
        try:
            self.before_reading()
        except UnknownFormatError:
            raise
        except CacheError as error:
            self._tried, self.failure = True, error

    def forget(self) -> None:
        """Examine the library again before its next use."""
        self._tried, self.failure = False, None

    def _wait(self, seconds: float) -> None:
        """Wait for it; it goes on in a thread of its own: the process may end without waiting for it."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                context = copy_context()
                context.run(_patience.set, None)
                self._thread = threading.Thread(target=context.run, args=[self._in_background], daemon=True)
                self._thread.start()
            thread = self._thread
        thread.join(seconds)
        if thread.is_alive():
            steps, doing = self._steps, self._opening()
            if self._upgrading:
                so_far = f": {self._part}, {steps.done:,} of {steps.total:,} entries so far" if steps.total else ""
                doing = f"upgraded{TO_FORMAT}{so_far}"
            raise UpgradingError(f"the library is being {doing}. Ask again in a moment")

    def _in_background(self) -> None:
        """Upgrade the library; who waits for it tries again what fails, and gets the error."""
        with suppress(Exception):
            self._once()

    def _once(self) -> None:
        if not self._tried:
            with self._threads:
                if not self._tried:
                    self._try()

    def _try(self) -> None:
        failed_before = self.failure is not None
        self.failure = self._attempt() if self._outdated() else None
        if self.failure and not failed_before:
            logger.warning("%s could not be upgraded, and is read as it is: %s", self._what, self.failure)
        self._tried = True

    def _attempt(self) -> CacheError | None:
        token, self._upgrading = _steps.set(self._steps), True
        try:
            with self._lock():
                if self._outdated():
                    self._run()
        except UnknownFormatError:
            raise
        except CacheError as error:
            return error
        finally:
            _steps.reset(token)
            self._steps, self._upgrading = ProgressCounter(), False
        return None
