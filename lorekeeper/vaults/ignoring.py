"""Patterns of what is not read of a vault, as in .gitignore. Matching takes time in proportion to pattern and path."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

MAX_CHARS = 1_000
"""Longest pattern, in characters."""

MAX_PATTERNS = 1_000
"""Most patterns of a vault: each is compared with each of its files."""

Glob = Callable[[str], object]
"""Whether the name of a file or folder matches one part of a pattern."""

_TRAILING = re.compile(r"(?<!\\)\s+\Z")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CLASS = re.compile(r"\\.|\[[!^]?\]?[^\]]*\]|\[", re.DOTALL)


@dataclass(frozen=True)
class Pattern:
    """One pattern.

    Attributes:
        excludes: False for one that begins with "!".
        only_folders: whether it ends with "/".
        parts: for each part of a path one; None stands for any number of parts.
    """

    excludes: bool
    only_folders: bool
    parts: tuple[Glob | None, ...]

    def matches(self, path: Sequence[str]) -> bool:
        """Whether the parts of a path match: after "**" the next parts are looked for from there on, and the first place counts."""
        at = place = 0
        again: tuple[int, int] | None = None
        while place < len(path):
            glob = self.parts[at] if at < len(self.parts) else _nothing
            if glob is None:
                at, again = at + 1, (at + 1, place)
            elif glob(path[place]):
                at, place = at + 1, place + 1
            elif again:
                at, place = again[0], again[1] + 1
                again = at, place
            else:
                return False
        return all(part is None for part in self.parts[at:])


class Ignored:
    """What a list of patterns excludes; of those that match a path, the last one counts."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._patterns = list(patterns)[::-1]

    def has(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder is excluded, by its path within the vault; its parents are not."""
        parts = path.split("/")
        fitting = (each for each in self._patterns if is_folder or not each.only_folders)
        return next((pattern.excludes for pattern in fitting if pattern.matches(parts)), False)


def parse(line: str) -> Pattern | None:
    """The pattern of a line; None of one that has none, such as a comment, or whose brackets are not closed, as git does.

    Raises:
        ValueError: it is too long, or ends with a backslash.
    """
    if len(line) > MAX_CHARS:
        raise ValueError(f"has more than {MAX_CHARS:,} characters")
    text = _TRAILING.sub("", line)
    if not text.strip("/") or text.startswith("#"):
        return None
    excludes, text = not text.startswith("!"), text.removeprefix("!")
    only_folders, text = text.endswith("/"), text.removesuffix("/")
    names = text.removeprefix("/").split("/")
    if "/" not in text:
        names.insert(0, "**")
    if names[-1] == "**":
        names.append("*")  # what is within, and not the folder itself
    if not text or any("[" in _CLASS.findall(name) for name in names):
        return None
    return Pattern(excludes, only_folders, tuple(None if name == "**" else _glob(name) for name in names))


@cache
def _glob(name: str) -> Glob:
    if re.search(r"(?<!\\)(?:\\\\)*\\\Z", name):
        raise ValueError("ends with a backslash")
    plain = _ESCAPED.sub(r"\1", name)
    if not re.search(r"[*?\[]", _ESCAPED.sub("", name)):
        return plain.__eq__
    pieces = _CLASS.sub(_as_fnmatch, name)
    return re.compile(fnmatch.translate(pieces)).match  # which matches without backtracking over earlier stars


def _as_fnmatch(found: re.Match[str]) -> str:
    """An escaped character, or a class, as `fnmatch` has it."""
    text = found[0]
    if text.startswith("\\"):
        return f"[{text[1]}]" if text[1] in "*?[" else text[1]
    return f"[!{text[2:]}" if text.startswith("[^") else text


def _nothing(_: str) -> bool:
    return False
