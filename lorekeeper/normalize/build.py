"""Shared by all normalisers: building a checked entity, and reading loosely typed foreign values."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.entities import (
    AUDIENCE,
    MAX_KEY_LENGTH,
    MAX_RECORD_BYTES,
    MAX_TEXT_LENGTH,
    RECORD_KEYS,
    Entity,
    Value,
    canonical_json,
)
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields, collection_of
from lorekeeper.folding import fold
from lorekeeper.normalize.effects import with_effects
from lorekeeper.printable import has_controls, without_controls

MAX_DEPTH = 100
"""Most levels of lists and objects in an entry."""

DIGEST_LENGTH = 8
"""Hexadecimal digits at the end of a slug that tell parts of one name apart."""


@dataclass
class Imported:
    """What a file gives that is read as a whole.

    Attributes:
        entities: in its order.
        failed: (place, reason) of what cannot be imported.
        warnings: (place, reason) of what was fixed, or could not be read.
        skipped: number of its parts without lore, by kind.
        texts: what its source says, see `taken.texts_of`.
    """

    entities: list[Entity] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    texts: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Origin:
    """The source of an entry.

    Attributes:
        source_api: as in `Entity.source_api`.
        document: key of its document.
        document_name: title of the document, if the entry has it.
    """

    source_api: str
    document: str
    document_name: str | None = None


@contextmanager
def own_error() -> Iterator[None]:
    """Whatever making one entry raises becomes a FilterError with the reason: the entry's error is its own, the rest goes on."""
    try:
        yield
    except (FilterError, MemoryError):
        raise
    except Exception as error:
        raise FilterError(reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Why an entry cannot be made, by the error that making it raised."""
    if isinstance(error, FilterError):
        return str(error)
    if isinstance(error, KeyError):
        return f"the key {error} is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"one of its values is not of the type that its source uses ({type(error).__name__})"


def build(
    entity_type: str,
    data: Mapping[str, Any],
    origin: Origin,
    *,
    name: str,
    kind: str,
    slug: str | None = None,
    fields: Mapping[str, Any],
) -> Entity:
    """A checked entity; every entity of a library is built here. FilterError, with the reason, if it cannot be one.

    Names, titles and kinds of real sources contain line breaks and tabs now and then: these become spaces, and other
    `FORBIDDEN` characters are removed. Keys that contain any are refused, since they are identities, and so is our own
    JSON shape, as its schema says. The slug is made from the name by default. Fields that are None or not declared for the
    type are left out.
    """
    _check_types(name, data)
    _check_values(data)
    title = origin.document_name
    values = clean_fields(entity_type, with_effects(entity_type, kind, data, fields))
    entity = Entity(
        type=entity_type,
        name=_text("name", name).strip(),
        kind=_text("kind", kind),
        slug=_key("slug", slug or slugify(name), collection_of(entity_type).max_slug),
        document=_key("document", origin.document),
        source_api=_text("source_api", origin.source_api),
        data=data,
        fields={key: _checked_field(key, value) for key, value in values.items()},
        document_name=None if title is None else _text("document_name", title),
    )
    _check_size(entity)
    return entity


def book_record(origin: Origin, game: str, key: str) -> Entity:
    """The record of a book of which only its title is known, and its game with the key of that; "" for none."""
    title = origin.document_name or origin.document
    data = {"name": title} | ({"gamesystem": {"name": game, "key": key}} if game else {})
    fields = {"game_system": game or None}
    return build("documents", data, origin, name=title, kind="document", slug=origin.document, fields=fields)


def readable(entity_type: str, values: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Value]:
    """The filter values that can be read; why another cannot is told."""
    fields: dict[str, Value] = {}
    for declared in collection_of(entity_type).fields:
        value = values.get(declared.name)
        try:
            cleaned = clean_fields(entity_type, {declared.name: None if value == "" else value})
            fields |= {name: _checked_field(name, value) for name, value in cleaned.items()}
        except FilterError as error:
            tell(f"{error}; left out as a value to filter by")
    return fields


def _check_types(name: object, data: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise FilterError("it has no name")
    if not isinstance(data, Mapping):
        raise FilterError(f"its data must be a JSON object, not {type(data).__name__}")


def checked(entity_type: str, record: object) -> Entity:
    """The entity of a record (see `Entity.as_record`) from an untrusted file, checked like every import.

    The record of an entity that was built by `build` gives an equal entity.

    Raises:
        FilterError: it is not a record, or an import would have refused it; the message says why.
    """
    if not isinstance(record, Mapping):
        raise FilterError(f"it must be a JSON object, not {type(record).__name__}")
    if missing := [key for key in RECORD_KEYS if key not in record]:
        raise FilterError(f"it lacks {', '.join(missing)}")
    fields, declared = record["fields"], {f.name for f in collection_of(entity_type).fields}
    if not isinstance(fields, Mapping) or not fields.keys() <= declared:
        raise FilterError(f"its fields must be an object with no other keys than {', '.join(sorted(declared))}")
    return build(
        entity_type,
        record["data"],
        Origin(record["source_api"], record["document"], record["document_name"]),
        name=record["name"],
        kind=record["kind"],
        slug=_key("slug", record["slug"], collection_of(entity_type).max_slug),
        fields=fields,
    )


LISTED = frozenset({"dnd_class", "archetype", "book"})
"""Keys whose texts are lists with commas."""


def united(one: Entity, other: Entity) -> Entity | None:
    """Two entities of one identity as one, if they differ in lists alone, such as classes or tags; None if not.

    Files list a spell once for each of its classes. Lists of objects that say more than a name are no such lists.
    """
    if (one.type, one.kind, one.name, one.source_api) != (other.type, other.kind, other.name, other.source_api):
        return None
    data = _united(one.data, other.data)
    fields = _united(one.fields, other.fields) if one.fields.get(AUDIENCE) == other.fields.get(AUDIENCE) else None
    if data is None or fields is None:
        return None
    try:
        return checked(one.type, {**other.as_record(), "data": data, "fields": fields})
    except FilterError:  # together they are too much for one entry
        return None


def _united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
    """Two objects whose values are equal, or lists of names; None if any other value differs."""
    found: dict[str, Any] = {}
    for key in {**one, **other}:
        first, second = one.get(key), other.get(key)
        if first == second:
            found[key] = first
        elif (names := _names_of(key, first)) is None or (more := _names_of(key, second)) is None:
            return None
        elif isinstance(first or second, dict):
            found[key] = {**(first or {}), **(second or {})}
        else:
            every = [*names, *(name for name in more if name not in names)]
            found[key] = tuple(every) if isinstance(first or second, tuple) else every
            if isinstance(first or second, str):
                found[key] = ", ".join(every)
    return found


def _names_of(key: str, value: object) -> Sequence[Any] | None:
    """The names in a list, also one with commas, or of flags; None if it is another value."""
    if value is None:
        return ()
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()] if key in LISTED else None
    if isinstance(value, Mapping):
        return list(value) if value and all(isinstance(each, bool) for each in value.values()) else None
    if isinstance(value, (list, tuple)) and all(
        isinstance(each, str) or (isinstance(each, Mapping) and each.keys() <= {"name", "key", "url"}) for each in value
    ):
        return value
    return None


def slugify(name: str) -> str:
    """A key from a name, "will-o-wisp" from "Will-o'-Wisp": lower-case letters and digits of any script, and hyphens."""
    return fold(name).replace(" ", "-")


def part_key(readable: str, *identity: str) -> str:
    """A key of a part of an entry: what can be read of it, and a digest of what the part is known by."""
    whole = "\0".join(identity).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(whole, digest_size=DIGEST_LENGTH // 2).hexdigest()
    return f"{readable[: MAX_KEY_LENGTH - DIGEST_LENGTH - 1]}-{digest}"


def _check_values(value: object, depth: int = 0) -> None:
    """FilterError for what no store can keep: integers beyond 64 bits come back as floats, deep nesting cannot be parsed."""
    if depth > MAX_DEPTH:
        raise FilterError(f"it cannot be stored as JSON: it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise FilterError("it cannot be stored as JSON: it contains an integer of more than 64 bits")
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_values(item, depth + 1)


def _check_size(entity: Entity) -> None:
    try:
        size = len(canonical_json(entity.as_record()).encode("utf-8"))
    except UnicodeEncodeError as error:
        raise FilterError(
            "it cannot be stored as JSON: it contains a lone surrogate, which is half of a character"
        ) from error
    except (ValueError, TypeError) as error:
        raise FilterError(f"it cannot be stored as JSON: {error}") from error
    if size > MAX_RECORD_BYTES:
        raise FilterError(
            f"it has {size:,} bytes as JSON, more than the {MAX_RECORD_BYTES:,} of an entry; split it into several entries"
        )


def _text(what: str, value: object) -> str:
    """A text for people, in one line."""
    if isinstance(value, str) and value.strip() and len(value) <= MAX_TEXT_LENGTH:
        text = without_controls(value)
        if text.strip() and len(fold(text)) <= MAX_TEXT_LENGTH:
            return text
    raise FilterError(f"its {what} must be a non-empty text of at most {MAX_TEXT_LENGTH} characters")


def _checked_field(name: str, value: Value) -> Value:
    """A folded value, without control characters, which folding leaves in a text without letters and digits."""
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and has_controls(text):
            raise FilterError(f"{name} must have no control characters")
    return value


def _key(what: str, value: object, longest: int = MAX_KEY_LENGTH) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FilterError(f"its {what} must be a non-empty text")
    if len(value) > longest or has_controls(value):
        raise FilterError(f"its {what} has control characters or more than {longest} characters")
    return value.strip()


def without_empty(data: Mapping[str, object]) -> dict[str, object]:
    """An object without what says nothing: null, "", empty lists and objects. 0 and false stay."""
    return {key: value for key, value in data.items() if value is not None and value not in ("", [], {})}


def joined(words: Iterable[str], last: str = "and") -> str:
    """Words as a list in a sentence: "a, b, and c"."""
    found = [word for word in words if word]
    if len(found) < 3:
        return f" {last} ".join(found)
    return f"{', '.join(found[:-1])}, {last} {found[-1]}"
