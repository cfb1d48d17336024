"""What files are that are not read, and what to do with them: the table `unsupported_formats.toml`, and how it is compared."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lorekeeper.printable import shown

TABLE = Path(__file__).with_suffix(".toml")

BEGINNING = 600
"""Characters of a file that are compared with the beginnings of the table."""

KEYS_SHOWN = 4

_ZIP = "PK\x03\x04"
_ZIP_NAME = re.compile(r"PK\x03\x04(?=.{26}([ -~]{1,200}))", re.DOTALL)
"""The name of an entry of a ZIP archive, and the beginning of its content if that is not packed."""

_BLANK = " \t\r\n"

OTHER_GAME = "LoreKeeper reads D&D of the fifth edition and games made from it"


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """What is recognised only to be named.

    Attributes:
        name: for messages.
        advice: what to do.
        instead: what it stands in the place of, "" for nothing.
    """

    name: str
    advice: str
    instead: str = ""

    @property
    def reason(self) -> str:
        """Why it is not imported."""
        what = f" instead of {self.instead}" if self.instead else ", which is not read"
        return f"{self.name}{what}; {self.advice}"


@dataclass(frozen=True, kw_only=True)
class ForeignFile(Foreign):
    """A kind of file.

    Attributes:
        begins: what it begins with, in any case, from the character ``at`` on; bytes beyond ASCII as Latin-1 has them.
        at: see ``begins``.
        has: what its beginning has, besides.
        parts: what the name of an entry begins with, in a ZIP archive.
        suffixes: of its files, in lower case.
        beside: whether they are named if they lie among files that are read: they may hold what people look for.
    """

    begins: Sequence[str] = ()
    at: int = 0
    has: str = ""
    parts: Sequence[str] = ()
    suffixes: Sequence[str] = ()
    beside: bool = False

    def recognises(self, head: str, names: Sequence[str]) -> bool:
        """Whether a file is of this kind, by its beginning in lower case and the names in it if it is a ZIP archive."""
        begins = any(head.startswith(sign.lower(), self.at) for sign in self.begins) and self.has in head
        return begins or any(name.startswith(part) for part in self.parts for name in names)


@dataclass(frozen=True, kw_only=True)
class ForeignFormat(Foreign):
    """A format of JSON.

    Attributes:
        keys: paths of keys; an object that has all of them is of this format. A list stands for its first element, and what
            follows "=" is the value.
    """

    keys: Sequence[str] = ()

    def recognises(self, obj: Mapping[str, object]) -> bool:
        """Whether an object has all the keys."""
        return all(_has(obj, *key.partition("=")[::2]) for key in self.keys)


def _has(value: object, path: str, wanted: str) -> bool:
    for key in path.split("."):
        while isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return not wanted or str(value).lower() == wanted


@dataclass(frozen=True)
class Table:
    """The table.

    Attributes:
        files: kinds of files.
        formats: kinds of objects.
        printed: what stat blocks of other games say, by the name of the game.
        folders: names of folders that programs keep for themselves, in lower case.
        own: names of files that programs keep for themselves, likewise.
    """

    files: tuple[ForeignFile, ...]
    formats: tuple[ForeignFormat, ...]
    printed: Mapping[str, re.Pattern[str]]
    folders: frozenset[str]
    own: frozenset[str]


@cache
def table() -> Table:
    """The table, read once."""
    read = tomllib.loads(TABLE.read_text("utf-8"))

    def each(kind: str) -> Iterator[dict[str, Any]]:
        for row in read[kind]:
            yield {**row, "advice": read["advice"].get(row.get("advice"), row.get("advice", ""))}

    return Table(
        tuple(ForeignFile(**row) for row in each("file")),
        tuple(ForeignFormat(**row | {"keys": row["keys"].split()}) for row in each("object")),
        {row["name"]: re.compile(row["sign"]) for row in each("printed")},
        frozenset(read["folders"]),
        frozenset(read["files"]),
    )


def of_programs(name: str, *, is_folder: bool) -> bool:
    """Whether a file or folder is a program's own, by its name: in a folder it is passed over."""
    return name.lower() in (table().folders if is_folder else table().own)


def of_suffix(suffix: str) -> ForeignFile | None:
    """What files with a suffix are that are not read; None for any other."""
    return next((known for known in table().files if suffix.lower() in known.suffixes), None)


def of_placeholder(name: str) -> str:
    """What a hidden file is that a program has put in the place of another, and what to do; "" for any other."""
    suffix = Path(name).suffix.lower()
    return f"this is {found.reason}" if suffix == _PLACEHOLDER and (found := of_suffix(suffix)) else ""


_PLACEHOLDER = ".icloud"


def of_beginning(head: str) -> str:
    """What a file is that is not read, and what to do with it, by its first characters; "" for any other.

    Args:
        head: the beginning of the file; bytes that are not UTF-8 are surrogates.
    """
    plain = head.encode("utf-8", "surrogateescape").decode("latin-1")
    names = _ZIP_NAME.findall(plain) if plain.startswith(_ZIP) else ()
    start = plain[:BEGINNING].lower().lstrip(_BLANK)
    if found := next((known for known in table().files if known.recognises(start, names)), None):
        return found.reason
    return _of_bytes(plain[:BEGINNING])


def _of_bytes(plain: str) -> str:
    """What a beginning is that has many zeros: in texts of UTF-16 every second byte is one."""
    if plain.count("\0") * 10 <= len(plain):
        return ""
    if 4 * max(plain[::2].count("\0"), plain[1::2].count("\0")) > len(plain):
        return "text in UTF-16 without the mark that tells it from others; save the file as UTF-8"
    return "a file of a program, and no text; LoreKeeper reads texts, such as JSON and XML"


def of_text(text: str) -> str:
    """Which other game a text has stat blocks of, and what is read instead; "" if none is known."""
    game = next((name for name, sign in table().printed.items() if sign.search(text)), "")
    return f"its stat blocks are of {game}; {OTHER_GAME}" if game else ""


def format_of(obj: Mapping[str, object], file: str = "") -> ForeignFormat | None:
    """The format of an object, None if it is not known; ``file`` is the name of its file."""
    if of_programs(file, is_folder=False):
        return ForeignFormat(name="a file of a program", advice="there is nothing of the game in it to read")
    return next((known for known in table().formats if known.recognises(obj)), None)


def of_keys(obj: Mapping[str, object]) -> str:
    """That an object is of no format that is known, with its first keys."""
    if not obj:
        return "it is an empty object, {}"
    keys = ", ".join(shown(str(key), 30) for key in list(obj)[:KEYS_SHOWN]) + (", ..." if len(obj) > KEYS_SHOWN else "")
    return (
        f"its keys ({keys}) are those of no format that LoreKeeper knows; its own JSON has 'collection' and 'name', "
        "and 'lorekeeper schema spells' prints the rest"
    )
