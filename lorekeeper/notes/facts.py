"""Facts of a note's text: bold keys with a value, headerless tables, infoboxes and inline fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from markdown_it.token import Token

from lorekeeper.folding import fold
from lorekeeper.notes.dating import is_date
from lorekeeper.notes.links import is_navigation
from lorekeeper.notes.source import span
from lorekeeper.words import listed

Pair = tuple[int, str, str]
"""Number of a line, and the key and value in it."""

_BULLET = r"[ \t]*(?:[-*+][ \t]+)?"
_BOLD = re.compile(_BULLET + r"(\*\*|__)([^*_:\n|][^*:\n|]{0,60}?)(?:[ \t]?:[ \t]?\1|\1[ \t]?:)[ \t]*(\S.*)")
_FIELD = re.compile(_BULLET + r"(\*\*|__|\*|_|)([^\W_][\w /'-]{0,50}?)\1[ \t]?::[ \t]+(\S.*)")
BRACKETED = re.compile(r"(?P<bracket>[\[(])(?P<key>[^\W_][\w '-]{0,50})::[ \t]?(?P<value>[^\[\]()\n]{1,500})[\])]")
"""An inline field within a line: ``[key:: value]`` shows its key, ``(key:: value)`` does not."""

_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)*(?:[ \t]*\|)?")
_CELL_END = re.compile(r"(?<!\\)\|")
_PASSED = re.compile(
    r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)|(?:[-*_][ \t]*){3,}|<!--[\ufdd2\ufdd3]-->|(?:#[\w/-]+[ \t]*)+|"
)
"""What stands among facts without being prose: images, rules, tags, nothing."""

_HEADER_WORDS = frozenset(listed("heading column"))

KNOWN = frozenset(
    key
    for what in ("played", "session", "player", "class", "level", "ac", "hp", "speed")
    for key in listed(f"key {what}")
)
"""Folded keys that are properties of a note wherever they stand in it."""

HEADED = KNOWN.union(listed("key date"))
"""Those that are where a heading says them."""

PLAIN = re.compile(_BULLET + r"([^\W\d_][^:|\n]{1,40}):[ \t]+(\S[^\n]*)")
"""A key without emphasis, and its value."""


def field_pair(line: str, pattern: re.Pattern[str] = _FIELD) -> tuple[str, str] | None:
    """Key and value of ``key:: value``, where that is all of a line; by `_BOLD` of ``**Key**: value`` or ``**Key:** value``."""
    match = pattern.fullmatch(line.rstrip())
    return (_bare(match[2]), match[3].strip()) if match else None


def _pair(line: str, also: re.Pattern[str] | None = None) -> tuple[str, str] | None:
    """Key and value of a line that is a field or has a bold key, or is matched by another pattern."""
    found = field_pair(line) or field_pair(line, _BOLD)
    other = also.fullmatch(line) if also and not found else None
    return (other[1], other[2]) if other else found


def pairs_in(text: str, known: Collection[str] = KNOWN) -> Iterator[tuple[str, str]]:
    """What the lines of a text say of known keys: bold or plain ones before a colon, fields, rows of two cells or a bold one.

    Several keys that share a line say as many things: "CA/PF: 12 / 27". A line that is a date says one where `HEADED` holds.
    """
    for line in text.split("\n"):
        if known is HEADED and is_date(line):
            yield "date", line
        if ":" not in line and "|" not in line:
            continue
        row = cells(line) if line.lstrip().startswith("|") else []
        is_fact = len(row) == 2 or (row[2:] and row[0].startswith("**"))
        pair = (row[0], row[1]) if is_fact else _pair(line, PLAIN)
        for key, value in _apart(*pair) if pair else ():
            if value and fold(key) in known:
                yield _bare(key), value.strip("*_ ")


def _apart(key: str, value: str) -> list[tuple[str, str]]:
    keys, values = key.split("/"), re.split(r"[ \t]/[ \t]|/(?=\d)", value)
    return list(zip(keys, values, strict=True)) if len(keys) == len(values) else [(key, value)]


def cells(line: str) -> list[str]:
    """The cells of a table's row, a bar after a backslash being none of its borders."""
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _CELL_END.split(inner)]


def is_delimiter(line: str) -> bool:
    """Whether a line is the one below the head of a table."""
    return bool(_DELIMITER.fullmatch(line.strip()))


def leading(lines: Sequence[str], first: int, also: re.Pattern[str] | None = None) -> tuple[list[Pair], list[int]]:
    """The facts before any prose, and the numbers of their lines; what this pattern matches is one as well."""
    pairs, taken, i = list[Pair](), list[int](), 0
    while i < len(lines):
        pair = _pair(lines[i], also)
        rows = _rows(lines, i, len(lines)) if pair is None and lines[i].lstrip().startswith("|") else []
        if pair:
            pairs.append((first + i, *pair))
        elif rows:
            pairs += [(first + line, key, value) for line, key, value in rows]
        elif not (_PASSED.fullmatch(lines[i].strip()) or is_navigation(lines[i])):
            break
        length = rows[-1][0] - i + 1 if rows else 1
        taken += range(i, i + length) if pair or rows else ()
        i += length
    return pairs, taken


def _rows(lines: Sequence[str], start: int, end: int) -> list[Pair]:
    """The facts of the headerless table that begins at a line; none if it is no such table."""
    header = cells(lines[start])
    if end < start + 3 or len(header) != 2 or any(header) or not is_delimiter(lines[start + 1]):
        return []
    rows = list[Pair]()
    for i in range(start + 2, end):
        row = cells(lines[i])
        if not lines[i].lstrip().startswith("|") or len(row) != 2:
            break
        rows.append((i, _bare(row[0]), row[1]))
    return rows


def tables(lines: Sequence[str], tokens: Sequence[Token]) -> Iterator[list[Pair]]:
    """The facts of each headerless table of two columns."""
    for token in tokens:
        if token.type == "table_open" and (rows := _rows(lines, *span(token))):
            yield rows


def infobox(lines: Sequence[str], first: int) -> tuple[list[Pair], list[str]]:
    """The facts of an infobox, whose lines are not quoted any more, and the lines that are none."""
    pairs, rest = list[Pair](), list[str]()
    for i, line in enumerate(lines):
        if (pair := _pair(line)) is not None:
            pairs.append((first + i, *pair))
        elif line.lstrip().startswith("|"):
            following = lines[i + 1] if i + 1 < len(lines) else ""
            pairs += _infobox_row(line, following, first + i)
        elif not line.lstrip().startswith("#") and not _PASSED.fullmatch(line.strip()):
            rest.append(line)
    return pairs, rest


def _infobox_row(line: str, following: str, number: int) -> list[Pair]:
    row = cells(line)
    header = is_delimiter(following) and all(cell.casefold() in _HEADER_WORDS for cell in row if cell)
    if header or len(row) < 2 or not row[0] or is_delimiter(line):
        return []
    return [(number, _bare(row[0]), ", ".join(filter(None, row[1:])))]


def _bare(key: str) -> str:
    return key.strip("*_ \t").rstrip(":").strip()
