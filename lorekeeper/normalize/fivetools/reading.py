"""The text of a homebrew file as an object without what no library can keep.

JSON allows the same key twice and lets Python's parser through with numbers that JSON does not have; texts of real files have
invisible characters. All of that is mended here, and told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from lorekeeper.normalize.json_errors import invalid
from lorekeeper.printable import shown

MAX_LEVELS = 300
"""Most levels of lists and objects; what is deeper is left out."""

MAX_SAME_KEYS = 20
"""Most double keys that are told one by one."""

_HEAD = 4_000
_INDEX = re.compile(r'\{\s*"[^"]{1,200}"\s*:\s*\{\s*"[^"]{1,200}\.json"\s*:|\{\s*"[^"]{1,200}\.json"\s*:')
_META = re.compile(
    r'"(?:sources|edition|dateAdded|dateLastModified|dependencies|includes|internalCopies|spellSchools)"\s*:'
)
_PATHFINDER = re.compile(r'\{\s*"(?:creature|ancestry|archetype|versatileHeritage)"\s*:\s*\[\s*\{\s*"name"')
_SAVED = re.compile(r'\{\s*"fileType"\s*:\s*"5etools"|\{\s*"(?:siteVersion|sync|async)"\s*:')
_BLANK = re.compile(r"[\s\ufeff]*")
_DECODER = json.JSONDecoder(strict=False)

_NOT_OURS = frozenset({"collection", "_id", "results", "document", "slug", "key", "count"})
"""Keys that objects of other formats have, and homebrew files do not."""

_SPACES = {
    0xA0: " ",
    0x202F: " ",
    0x2007: " ",
    0x2009: " ",
    0xFEFF: None,
    0xAD: None,
    0x200B: None,
    0x2060: None,
    0: None,
}
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_CHARACTERS: dict[int, str | None] = {**_SPACES, **_LIGATURES, **_SURROGATES}
"""What stands for characters that nobody can see, or that no store can keep."""

_ODD = re.compile(f"[{''.join(map(chr, (*_SPACES, *_LIGATURES)))}\ud800-\udfff]")

Tell = Callable[[str], None]


def is_index(head: str) -> bool:
    """Whether a text is a list of the files of a homebrew collection."""
    return _INDEX.match(head, _start(head)) is not None


def is_save_file(head: str) -> bool:
    """Whether a text is a save file of the site, which has the homebrew of a user among settings."""
    return _SAVED.match(head, _start(head)) is not None


def is_pathfinder(head: str) -> bool:
    """Whether a text begins like a list of creatures or ancestries of Pf2eTools, the sister of the site for another game."""
    return _PATHFINDER.match(head, _start(head)) is not None and '"source"' in head


def is_homebrew(head: str, kinds: frozenset[str]) -> bool:
    """Whether a text begins like a homebrew file: an object with ``_meta``, or with a list under the name of a kind."""
    at, found = _start(head), False
    if not head.startswith("{", at):
        return False
    at += 1
    while match := _KEY.match(head, at):
        key, at = match[1], match.end()
        if key in _NOT_OURS or (key == "name" and not found):
            return False
        value = head[at : at + _HEAD]
        found = found or (key in kinds and _LIST.match(value) is not None)
        found = found or (key == "_meta" and value.startswith("{") and _META.search(value) is not None)
        found = found or (key == "$schema" and "5etools" in value[:300])
        try:
            _, at = _DECODER.raw_decode(head, at)
        except (ValueError, RecursionError):
            break
    return found


_KEY = re.compile(r'[\s,]*"([^"\\]{0,100})"\s*:\s*')
_LIST = re.compile(r"\[\s*(?:\{|\]|$)")


def _start(head: str) -> int:
    match = _BLANK.match(head)
    return match.end() if match else 0


def parsed(text: str, tell: Tell) -> dict[str, object]:
    """The object of a file; ValueError, with the reason and what to do, if it is none."""
    problems: list[str] = []

    def joined(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in pairs:
            if key in result:
                problems.append(_join(result, key, value))
            else:
                result[key] = value
        return result

    try:
        value = json.loads(text, object_pairs_hook=joined, strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(invalid(error)) from error
    except RecursionError as error:
        raise ValueError("invalid JSON: it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"it must be an object with lists of entries, not {type(value).__name__}")
    for problem in problems[:MAX_SAME_KEYS]:
        tell(problem)
    if len(problems) > MAX_SAME_KEYS:
        tell(f"and {len(problems) - MAX_SAME_KEYS:,} more double keys")
    return value


def _join(result: dict[str, object], key: str, value: object) -> str:
    """Take a second value under a key: of two lists all entries, otherwise the second value."""
    before = result[key]
    name = result.get("name")
    where = f" in {shown(name, 60)}" if isinstance(name, str) and key != "name" else ""
    if isinstance(before, list) and isinstance(value, list):
        result[key] = [*before, *value]
        return f"the key {shown(key, 40)} appears twice{where}; the entries of both lists are read"
    result[key] = value
    return f"the key {shown(key, 40)} appears twice{where}; the last value, {shown(value, 40)}, was stored"


class Cleaner:
    """Cleans values, and remembers what it has found.

    Attributes:
        problems: what was mended that people should know, in a few words each.
    """

    def __init__(self) -> None:
        self.problems: dict[str, None] = {}

    def clean(self, value: object, level: int = 0) -> object:
        """A value that a library can keep, one stack frame a level."""
        if isinstance(value, str):
            return self._text(value) if _ODD.search(value) else value
        if isinstance(value, (int, float)):
            return self._number(value)
        if not isinstance(value, (dict, list)):
            return value
        if level == MAX_LEVELS:
            self.problems.setdefault(
                f"it is nested more than {MAX_LEVELS} levels deep; the deeper levels were left out"
            )
            return None
        if isinstance(value, list):
            items: list[object] = []
            for item in value:
                items.append(self.clean(item, level + 1))  # noqa: PERF401 (a comprehension takes a second frame)
            return items
        result: dict[str, object] = {}
        for key, item in value.items():
            result[key] = self.clean(item, level + 1)
        return result

    def _text(self, value: str) -> str:
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.problems.setdefault("one of its texts has half a character (a lone surrogate), which was replaced")
        return value.translate(_CHARACTERS)

    def _number(self, value: float) -> object:
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.setdefault(f"{value} is not a JSON number; the value was left out")
            return None
        if isinstance(value, int) and not -(2**53) <= value <= 2**53:
            self.problems.setdefault("one of its numbers has too many digits; the value was left out")
            return None
        return value
