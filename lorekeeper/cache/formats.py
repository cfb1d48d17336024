"""The format of stored libraries, and the entities of one that has another.

A format has two parts. The layout says how tables and columns are arranged; its number is raised by hand, rarely, when the
code that reads them changes. The declared columns follow from `lorekeeper.entities.COLLECTIONS` and need no number: a filter field
that is added, removed or revised there differs from what a library records. If either differs, the library is refused, with the
command that makes it again from its own entries: `lorekeeper repair`, which embeds nothing that is in the embedding cache.

The value of an added or revised field comes from normalising the entity's stored ``data`` again, for archives, migrated files and
libraries that are made again.
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
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

RENEW = (
    "Run 'lorekeeper repair': it makes the library again from its own entries, with the stored vectors, and leaves the "
    "earlier one in the same folder"
)
"""What to do about a library of an earlier format."""

Normalized = Callable[[Entity], Mapping[str, Value]]
"""The filter values that an entity's ``data`` gives under the current rules; {} if it cannot be normalised."""


class UnknownFormatError(CacheError):
    """The library has a format that this version cannot read; it was left alone."""


class NewerLibraryError(UnknownFormatError):
    """A later version of LoreKeeper wrote the library, in a format that this one cannot read."""


class OlderLibraryError(UnknownFormatError):
    """The library has an earlier format, or other filter fields than are declared."""


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

    def require_current(self, location: str, layout: int, types: Iterable[str]) -> None:
        """UnknownFormatError unless it is this version's, which writes the given layout with these types.

        The library may lack types, or have further ones, which another program has declared.
        """
        current = declarations(types)
        if self.layout > layout or ((self.layout, dict(self.fields)) != (layout, current) and is_later(self.version)):
            raise newer(location, self.layout, self.version)
        changed = [name for name, columns in current.items() if self.fields.get(name, columns) != columns]
        if self.layout < layout or changed:
            raise OlderLibraryError(older(location, self.layout, self.version, changed))


def newer(location: str, layout: int, version: str) -> NewerLibraryError:
    """The error for a library that only a later version can use."""
    writer = f"LoreKeeper {version}" if is_later(version) else "a later LoreKeeper"
    return NewerLibraryError(
        f"{location} was written by {writer} in a format (layout {layout}) that LoreKeeper {VERSION} cannot read; "
        "nothing was changed. Update LoreKeeper, or choose another library"
    )


def older(location: str, layout: int, version: str, changed: Iterable[str] = (), renew: str = RENEW) -> str:
    """What is wrong with a library of an earlier format, and what to do about it.

    Args:
        location: which one.
        layout: its layout.
        version: of the LoreKeeper that wrote it, "" if it is not known.
        changed: the types that have other fields than are declared.
        renew: how it is made again.
    """
    writer, own = f" by LoreKeeper {version}" if version else "", [name for name in changed if name not in COLLECTIONS]
    if own:
        renew = f"Choose a new library and store the {', '.join(own)} there, or declare the fields with which they were stored"
    fields = f", with other fields of {', '.join(changed)}" if changed else ""
    return (
        f"{location} was written{writer} in an earlier format (layout {layout}{fields}) than that of LoreKeeper {VERSION}; "
        f"nothing was changed. {renew}"
    )


def is_later(version: str) -> bool:
    """Whether a version is later than this program's."""
    return _numbers(version) > _numbers(VERSION)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def declared(collection: Collection) -> str:
    """The filter columns of a collection in one line."""
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


# --- opening ---------------------------------------------------------------------------------------------------------

Shown = Callable[[str, int], AbstractContextManager[Progress]]
"""Shows the progress of something long: called with what is done, and the number of its entities."""

shown: ContextVar[Shown | None] = ContextVar("shown", default=None)
"""Shows such progress to a person; None if nothing does."""


ANSWER_SECONDS = 15.0
"""How long a question waits for the library to open: clients give up after a minute, and an answer takes several steps."""

_patience: ContextVar[float | None] = ContextVar("patience", default=None)
"""How long reading waits for the library to open; None for as long as it takes."""


@contextmanager
def answering() -> Iterator[None]:
    """A question is answered in the body: if the library takes longer to open, reading raises `UpgradingError`.

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
def reported(doing: str, what: str, total: int) -> Iterator[Progress]:
    """Show the progress of something that answers wait for, if `shown` is set; else warn of it.

    Args:
        doing: what is done, as "copying".
        what: to what.
        total: number of its entries.
    """
    show = shown.get()
    logger.log(logging.WARNING if show is None else logging.INFO, "%s %s: %d entries", doing, what, total)
    with nullcontext(lambda _: None) if show is None else show(f"{doing.capitalize()} {what}", total) as progress:
        yield progress
    logger.info("%s: done", what)


class Opening:
    """Opens a library, or a part of it, before its first use; safe in several threads.

    Args:
        examine: opens it; what it raises is raised at every use, until it raises nothing.
        doing: what is done meanwhile, as in "the library is being opened".
    """

    def __init__(self, examine: Callable[[], object], doing: Callable[[], str] = lambda: "opened") -> None:
        self._examine, self._doing = examine, doing
        self._threads, self._starting = threading.RLock(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = False

    @property
    def pending(self) -> bool:
        """Whether the library is not ready yet to be read."""
        return not self._done

    @property
    def under_way(self) -> bool:
        """Whether a question has found it so, and it is being opened since."""
        return self.pending and self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Open it, unless it is open; UpgradingError if that takes longer than an `answering` one waits."""
        patience = _patience.get()
        if not self._done and patience is not None:
            self._wait(patience)
        self._once()

    def settle(self) -> None:
        """Open it, unless it is open; from then on it is used as it is, even if it is damaged or of an earlier format.

        Raises:
            NewerLibraryError: it is of a later one.
        """
        try:
            self.wait()
        except NewerLibraryError:
            raise
        except CacheError as error:
            logger.info("it is used as it is: %s", error)
            self._done = True

    def forget(self) -> None:
        """Examine the library again before its next use."""
        self._done = False

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
            raise UpgradingError(f"the library is being {self._doing()}. Ask again in a moment")

    def _in_background(self) -> None:
        """Open the library; who waits for it tries again what fails, and gets the error."""
        with suppress(Exception):
            self._once()

    def _once(self) -> None:
        if not self._done:
            with self._threads:
                if not self._done:
                    self._examine()
                    self._done = True
