"""The changes that a copy makes to what it inherits: the modes of ``_mod``.

Every mode is a function of the object, the property and the operation. What an operation cannot do is told, and the others are
still applied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from lorekeeper.errors import FilterError
from lorekeeper.normalize.fivetools.stat_mods import STAT_MODES
from lorekeeper.normalize.fivetools.values import listed, mapping, number, objects, text, thawed
from lorekeeper.printable import shown

if TYPE_CHECKING:
    import regex

Object = Mapping[str, object]
Draft = dict[str, object]
Tell = Callable[[str], None]
Mode = Callable[[Draft, str, Object], None]
"""Changes a property of an object in place. FilterError, with the reason, if it cannot."""

TEXT_PROPERTIES = ("action", "reaction", "trait", "legendary", "variant", "spellcasting", "bonus", "mythic")
"""What "*" stands for: the properties that have texts."""

MAX_OPERATIONS = 500
"""Most operations of one object."""

PATTERN_SECONDS = 0.25
"""Longest time for the replacements of one operation: its pattern comes from outside."""

MAX_PATTERN, MAX_WORDS = 500, 10_000
"""Longest pattern, and longest text that replaces what matches it, in characters."""

MAX_TEXT, MAX_TEXTS = 200_000, 1_000_000
"""Longest text after a change, and longest texts of one property together, in characters."""

MAX_COMPARED = 1_000_000
"""Most comparisons of the items of two lists in one operation."""


def modified(obj: Object, mods: object, tell: Tell) -> Draft:
    """An object with changes; the object itself is left as it is."""
    if not mods:
        return dict(obj)
    result: Draft = dict(mapping(thawed(obj)))
    operations = list(_operations(mods))
    if len(operations) > MAX_OPERATIONS:
        tell(f"it asks for {len(operations):,} changes; the first {MAX_OPERATIONS} were made")
    for name, operation in operations[:MAX_OPERATIONS]:
        try:
            _apply(result, name, operation)
        except FilterError as error:
            tell(f"a change of {_where(name)} was left out: {error}")
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
            tell(f"a change of {_where(name)} was left out: its values have the wrong type")
    return result


def _where(name: str) -> str:
    return {"*": "all texts", "_": "the whole"}.get(name, shown(name, 40))


def _operations(mods: object) -> Iterator[tuple[str, object]]:
    """Each property with an operation, in their order."""
    for name, operations in mapping(mods).items():
        for operation in listed(operations):
            if name == "*" and isinstance(operation, Mapping):
                yield from ((each, {**operation, _IF_THERE: True}) for each in TEXT_PROPERTIES)
            else:
                yield name, operation


_IF_THERE = "_if_there"
"""Marks an operation on all texts, none of which need be there."""


def _apply(obj: Draft, name: str, operation: object) -> None:
    if operation == "remove":
        obj.pop(name, None)
        return
    if not isinstance(operation, Mapping):
        raise FilterError(f"it must be an object with a mode, or 'remove', not {shown(operation, 60)}")
    mode = text(operation.get("mode"))
    if operation.get(_IF_THERE) and name not in obj:
        return
    if mode not in MODES:
        raise FilterError(f"the mode {shown(mode, 40)} is unknown; known: {', '.join(sorted(MODES))}")
    MODES[mode](obj, name, operation)


# --- texts -----------------------------------------------------------------------------------------------------------


class _Replacement:
    """What an operation puts in the place of what its pattern matches: each text, and all of them, within limits.

    Raises:
        FilterError: pattern or replacement cannot be used.
    """

    def __init__(self, operation: Object) -> None:
        import regex

        self._pattern, self._with, flags = (text(operation.get(key)) for key in ("replace", "with", "flags"))
        if not self._pattern or len(self._pattern) > MAX_PATTERN:
            raise FilterError(f"its pattern must have 1 to {MAX_PATTERN} characters")
        if len(self._with) > MAX_WORDS:
            raise FilterError(f"its replacement has more than {MAX_WORDS:,} characters")
        known = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
        try:
            self._compiled = regex.compile(self._pattern, sum(flag for key, flag in known.items() if key in flags))
        except regex.error as error:
            raise FilterError(f"its pattern {shown(self._pattern, 60)} is not valid: {error}") from error
        words = regex.sub(r"\$(\d)", r"\\g<\1>", self._with.replace("\\", "\\\\"))
        self._words = words.replace("$&", r"\g<0>")
        self._groups = self._words.count(r"\g<")
        self._ends = time.monotonic() + PATTERN_SECONDS
        self._left = MAX_TEXTS
        self._added = 0

    def __call__(self, value: str) -> str:
        """A text with its matches replaced; FilterError if that takes too long, or makes it too long."""
        import regex

        self._added = 0
        try:
            result = str(self._compiled.sub(self._expanded, value, timeout=max(self._ends - time.monotonic(), 0.001)))
        except TimeoutError as error:
            raise FilterError(f"its pattern {shown(self._pattern, 60)} takes too long") from error
        except (regex.error, IndexError) as error:
            raise FilterError(f"its replacement {shown(self._with, 60)} is not valid") from error
        self._left -= len(result)
        if len(result) > MAX_TEXT or self._left < 0:
            raise FilterError(_TOO_LONG)
        return result

    def _expanded(self, match: regex.Match[str]) -> str:
        """What replaces one match; its length is known before it is made."""
        longest = max(map(len, (match[0], *match.groups(""))))
        self._added += len(self._words) + self._groups * longest
        if self._added > MAX_TEXT:
            raise FilterError(_TOO_LONG)
        return str(match.expand(self._words))


_TOO_LONG = "it makes a text too long"


def _replace_text(obj: Draft, name: str, operation: Object) -> None:
    properties = [key for key in ("name",) if operation.get("_names")] or None
    obj[name] = _each_text(obj.get(name), _Replacement(operation), properties)


def _replace_name(obj: Draft, name: str, operation: Object) -> None:
    _replace_text(obj, name, {**operation, "_names": True})


def _each_text(value: object, change: Callable[[str], str], keys: list[str] | None = None) -> object:
    """A value with every text in it changed: those under these keys, or all but names."""
    if isinstance(value, str):
        return value if keys else change(value)
    if isinstance(value, list):
        return [_each_text(item, change, keys) for item in value]
    if not isinstance(value, Mapping):
        return value
    result: Draft = {}
    for key, item in value.items():
        is_meant = key in keys if keys else key not in ("name", "type", "source")
        if isinstance(item, str):
            result[key] = change(item) if is_meant else item
        else:
            result[key] = _each_text(item, change, keys)
    return result


def _append_text(obj: Draft, name: str, operation: Object) -> None:
    before = text(obj.get(name))
    obj[name] = _limited(f"{before}{text(operation.get('joiner')) if before else ''}{text(operation.get('str'))}")


def _around_text(obj: Draft, name: str, operation: Object) -> None:
    part, key = _part(obj, name, operation)
    part[key] = _limited(f"{text(operation.get('prefix'))}{text(part.get(key))}{text(operation.get('suffix'))}")


def _limited(words: str) -> str:
    if len(words) > MAX_TEXT:
        raise FilterError(_TOO_LONG)
    return words


# --- lists -----------------------------------------------------------------------------------------------------------


def _items(operation: Object) -> list[object]:
    return listed(operation.get("items"))


def _require_few(found: list[object], others: list[object]) -> None:
    """FilterError if it would take too long to look for each of some items in a list."""
    if len(found) * len(others) > MAX_COMPARED:
        raise FilterError(f"{len(others):,} items in a list of {len(found):,} are too many to look for")


def _list(obj: Draft, name: str) -> list[object]:
    """The list of a property, which is made where there is none."""
    value = obj.setdefault(name, [])
    if not isinstance(value, list):
        value = obj[name] = [value]
    return value


def _prepend(obj: Draft, name: str, operation: Object) -> None:
    _list(obj, name)[:0] = _items(operation)


def _append(obj: Draft, name: str, operation: Object) -> None:
    _list(obj, name).extend(_items(operation))


def _append_new(obj: Draft, name: str, operation: Object) -> None:
    found, items = _list(obj, name), _items(operation)
    _require_few([*found, *items], items)
    found.extend(item for item in items if item not in found)


def _insert(obj: Draft, name: str, operation: Object) -> None:
    place = number(operation.get("index"))
    at = len(_list(obj, name)) if place is None else int(place)
    _list(obj, name)[at:at] = _items(operation)


def _replace(obj: Draft, name: str, operation: Object) -> None:
    found = _list(obj, name)
    at = _place(found, operation.get("replace"))
    if at is None:
        raise FilterError(f"there is no {shown(operation.get('replace'), 60)} to replace")
    found[at : at + 1] = _items(operation)


def _replace_or_append(obj: Draft, name: str, operation: Object) -> None:
    is_there = _place(_list(obj, name), operation.get("replace")) is not None
    (_replace if is_there else _append)(obj, name, operation)


def _remove(obj: Draft, name: str, operation: Object) -> None:
    found = _list(obj, name)
    unwanted = [*listed(operation.get("names")), *_items(operation)]
    _require_few(found, unwanted)
    for wanted in unwanted:
        at = _place(found, wanted)
        if at is not None:
            del found[at]
        elif operation.get("force") is not True:
            raise FilterError(f"there is no {shown(wanted, 60)} to remove")


def _rename(obj: Draft, name: str, operation: Object) -> None:
    renames = objects(operation.get("renames"))
    _require_few(_list(obj, name), [*renames])
    for rename in renames:
        at = _place(_list(obj, name), rename.get("rename"))
        if at is None:
            raise FilterError(f"there is no {shown(rename.get('rename'), 60)} to rename")
        _list(obj, name)[at] = {**mapping(_list(obj, name)[at]), "name": text(rename.get("with"))}


def _place(found: list[object], wanted: object) -> int | None:
    """Where in a list an item is: by its name, as it is, by its place, or by a pattern that its name matches."""
    if isinstance(wanted, Mapping) and "index" in wanted:
        at = number(wanted.get("index"))
        return int(at) if at is not None and 0 <= at < len(found) else None
    if isinstance(wanted, Mapping) and "regex" in wanted:
        return _matching(found, wanted)
    names = (at for at, item in enumerate(found) if isinstance(wanted, str) and _name(item) == wanted)
    return next(names, found.index(wanted) if wanted in found else None)


def _matching(found: list[object], wanted: Object) -> int | None:
    import regex

    try:
        pattern = regex.compile(text(wanted.get("regex"))[:MAX_PATTERN], regex.IGNORECASE if wanted.get("flags") else 0)
        return next((at for at, item in enumerate(found) if pattern.search(_name(item), timeout=PATTERN_SECONDS)), None)
    except (regex.error, TimeoutError) as error:
        raise FilterError(f"its pattern {shown(wanted.get('regex'), 60)} is not valid or takes too long") from error


def _name(item: object) -> str:
    return text(mapping(item).get("name")) if isinstance(item, Mapping) else text(item)


# --- values ----------------------------------------------------------------------------------------------------------


def _part(obj: Draft, name: str, operation: Object) -> tuple[Draft, str]:
    """The object and the key that "hp.formula" means, within a property, or within the whole."""
    part: Draft = obj
    *path, last = ([] if name == "_" else [name]) + text(operation.get("prop")).split(".")
    for key in path:
        nested = part.setdefault(key, {})
        if not isinstance(nested, dict):
            raise FilterError(f"{shown(key, 40)} has no properties")
        part = nested
    return part, last


def _set(obj: Draft, name: str, operation: Object) -> None:
    part, key = _part(obj, name, operation)
    part[key] = thawed(operation.get("value"))


def _set_all(obj: Draft, name: str, operation: Object) -> None:
    part = obj if name == "_" else _part(obj, name, {"prop": ""})[0]
    part.update(mapping(thawed(operation.get("props"))))


def _scaled(obj: Draft, name: str, operation: Object, change: Callable[[float, float], float]) -> None:
    """Numbers, also those in texts such as "+5", changed by a factor or a summand."""
    by = number(operation.get("scalar"))
    if by is None:
        raise FilterError("its scalar must be a number")
    part, last = _part(obj, name, operation)
    for key in list(part) if last == "*" else [last]:
        value = number(part.get(key))
        if value is None:
            raise FilterError(f"{shown(key, 40)} is not a number")
        result = change(value, by)
        result = int(result // 1) if operation.get("floor") or result == int(result) else result
        part[key] = f"{result:+g}" if isinstance(part[key], str) else result


def _add(obj: Draft, name: str, operation: Object) -> None:
    _scaled(obj, name, operation, lambda value, by: value + by)


def _multiply(obj: Draft, name: str, operation: Object) -> None:
    _scaled(obj, name, operation, lambda value, by: value * by)


MODES: dict[str, Mode] = {
    "replaceTxt": _replace_text,
    "replaceName": _replace_name,
    "appendStr": _append_text,
    "prefixSuffixStringProp": _around_text,
    "prependArr": _prepend,
    "appendArr": _append,
    "appendIfNotExistsArr": _append_new,
    "insertArr": _insert,
    "replaceArr": _replace,
    "replaceOrAppendArr": _replace_or_append,
    "removeArr": _remove,
    "renameArr": _rename,
    "setProp": _set,
    "setProps": _set_all,
    "scalarAddProp": _add,
    "scalarMultProp": _multiply,
    **STAT_MODES,
}
"""Every mode of the format."""
