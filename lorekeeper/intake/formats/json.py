"""JSON and JSON lines: any object whose shape `lorekeeper.normalize` recognises, read as a stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.intake.formats.text_file import MARKDOWN, Embedded, Entry, Found, Recalled, TextFile, UnknownFormatError
from lorekeeper.intake.import_cache import key_of
from lorekeeper.intake.json_stream import NotJsonError, entries
from lorekeeper.normalize import ForeignFormatError, UnknownShapeError, normalize, own
from lorekeeper.normalize.taken import texts_of

_OBJECTS = re.compile(r"\s*(\[\s*)?\{")

_WORDS = {
    type(None): "the word null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
}
"""What values of JSON are that are no objects."""

MAX_FAILURES = 10_000
"""After how many failed entries the rest of a file is not read."""


def recognises(name: str, head: str) -> bool:
    """Whether a file may be JSON: any file but a Markdown note."""
    return not name.endswith(MARKDOWN) or _OBJECTS.match(head) is not None


def read(file: TextFile) -> Iterator[Found]:
    """The entities of a file; an invalid entry is reported and skipped.

    Raises:
        UnknownFormatError: it is not JSON at all.
    """
    failures, is_empty = 0, True
    foreign: Counter[str] = Counter()
    for where, value in entries(str(file.path), file.window):
        is_empty = False
        try:
            found = _found(value, where, file)
        except NotJsonError as error:
            raise UnknownFormatError(str(error)) from error
        except ForeignFormatError as error:
            foreign[str(error)] += 1
            continue
        except ValueError as error:
            file.fail(str(error), where)
            failures += 1
            if failures == MAX_FAILURES:
                file.fail(f"{MAX_FAILURES:,} of its entries cannot be read; the rest of the file was not read")
                return
            continue
        if not found:
            file.skip()
        yield from found
    if is_empty:
        file.skip("list with no entry")
    for reason, number in foreign.items():
        file.fail(f"{reason} ({number:,} objects)" if number > 1 else reason)


def _found(value: Any, where: str, file: TextFile) -> Sequence[Found]:
    """The entities of a JSON value, recalled if the library has them; raises a value that is an error."""
    key = key_of(value, file.path.name, file.document, file.audiences.chosen) if isinstance(value, Mapping) else None
    digests = file.remembered.digests(key)
    if digests is not None:
        return [Recalled(d, where, partial(_made, value, file, place)) for place, d in enumerate(digests)]
    entities = _entities(value, file)
    texts = texts_of(value, entities[0].source_api) if entities else ()
    if not file.compare(texts, entities):  # what is reported is read again, and reported, with the next import
        file.remembered.add(key, entities)
    vectors = value.get(own.VECTORS) if isinstance(value, Mapping) and own.recognises(value) else None
    if vectors is not None:
        return [Embedded(entity, where, vectors) for entity in entities]
    return [Entry(entity, where) for entity in entities]


def _made(value: Any, file: TextFile, place: int) -> Entity:
    return _entities(value, file)[place]


def _entities(value: Any, file: TextFile) -> list[Entity]:
    """The entities of a JSON value; raises a value that is an error."""
    if isinstance(value, ValueError):
        raise value
    if not isinstance(value, Mapping):
        raise UnknownShapeError(f"it is {_WORDS[type(value)]}, where an entry is an object: {{...}}")
    return list(map(file.audiences.decided, normalize(value, hint=file.path.name, document=file.document)))
