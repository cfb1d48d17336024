"""Foreign objects to entities: pure functions, one module per source.

`normalize` recognises an object by its own keys; the name of its file only decides between shapes that look alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.normalize import beyond, characters, note_characters, open5e, own, statblocks, unsupported_formats
from lorekeeper.normalize.build import Origin, reason_of
from lorekeeper.records.parts import is_players


class UnknownShapeError(ValueError):
    """An object of unknown shape, or without what an entity needs; the message says which."""


class ForeignFormatError(UnknownShapeError):
    """An object of another program's format, which is not read; the message names it, and says what to do."""


def normalize(obj: Mapping[str, Any], *, hint: str | None = None, document: str | None = None) -> list[Entity]:
    """The entities of a foreign object: usually one; a class of Open5e's API v1 also holds its subclasses.

    Args:
        obj: a JSON object as its source wrote it. It is kept whole in ``Entity.data``.
        hint: name of the endpoint or file it is from, used if its keys are ambiguous.
        document: key of the document to assign it to; its own by default.

    Returns:
        An empty list for objects that hold no lore (licences, publishers, ...).

    Raises:
        UnknownShapeError: with the reason in one sentence.
    """
    with _reasons():
        if not isinstance(obj, Mapping):
            pass
        elif own.recognises(obj):
            return [own.entity(obj, document)]
        elif beyond.recognises(obj):
            return [beyond.character_entity(obj, document)]
        elif statblocks.recognises(obj) and is_players(obj):
            name = None if document else characters.DOCUMENT_NAME
            origin = Origin(statblocks.SOURCE, document or characters.DOCUMENT, name)
            return [characters.entity(note_characters.of_values(obj), origin)]
        elif statblocks.recognises(obj):
            return [statblocks.creature(obj, Origin(statblocks.SOURCE, document or own.DEFAULT_DOCUMENT))[0]]
    return normalize_open5e(obj, hint=hint, document=document)


def normalize_open5e(obj: Mapping[str, Any], *, hint: str | None = None, document: str | None = None) -> list[Entity]:
    """As `normalize`, for Open5e objects only: what a server sends is never read as our own shape."""
    with _reasons():
        endpoint = open5e.endpoint_of(obj, hint)
        if endpoint is None:
            if known := unsupported_formats.format_of(obj, hint or ""):
                raise ForeignFormatError(f"this is {known.reason}")
            raise UnknownShapeError(unsupported_formats.of_keys(obj))
        return open5e.entities(obj, endpoint, document)


@contextmanager
def _reasons() -> Iterator[None]:
    """Translate the errors that a malformed object raises to `UnknownShapeError`."""
    try:
        yield
    except (UnknownShapeError, MemoryError):
        raise
    except Exception as error:
        raise UnknownShapeError(reason_of(error)) from error
