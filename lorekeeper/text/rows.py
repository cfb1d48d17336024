"""Tables in one line: cells apart with " | ", rows with " / ".

The texts that are embedded and searched keep cells apart with ";" and rows with a blank, as they always have: vectors are looked up
by them. Only what is shown is put in this form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lorekeeper.text.cleaning import clean

CELLS, ROWS = " | ", " / "

_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:-]+")
_EDGE = "\0"
"""Stands at both ends of a row until all are found; no text has it."""


def with_rows(text: str, rows: Mapping[str, str]) -> str:
    """A cleaned text in which the rows of tables are apart.

    Args:
        text: an excerpt of cleaned sources, in one line or several.
        rows: the `rows_of` these sources.
    """
    found = [row for row in rows if row in text]
    if not found:
        return text
    longest_first = "|".join(map(re.escape, found))
    marked = re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", lambda match: f"{_EDGE}{rows[match[0]]}{_EDGE}", text)
    apart = re.sub(rf"{_EDGE}\s*{_EDGE}", ROWS, marked)
    return re.sub(rf"{_EDGE}\s+(?=\S)", ROWS, apart).replace(_EDGE, "")


def rows_of(sources: Iterable[str]) -> dict[str, str]:
    """The rows of the tables in texts with their markup, longest first: as they are cleaned, and as they are shown."""
    rows = {clean(line): _row(line) for source in sources if "|" in source for line in _lines(source)}
    return {row: rows[row] for row in sorted(rows, key=len, reverse=True) if "; " in row}


def in_line(text: str) -> str:
    """A text in Markdown in one line, without its markup, the rows of its tables apart."""
    return with_rows(clean(text), rows_of([text]))


def _lines(source: str) -> Iterator[str]:
    """The rows of the tables of a text, without the rule below their heads."""
    for line in source.replace("\\r", "").replace("\\n", "\n").splitlines():
        if "|" in line and not _RULE.fullmatch(line):
            yield line


def _row(line: str) -> str:
    cells = [clean(cell.replace("\\|", "|")) for cell in _BAR.split(line.strip().strip("|"))]
    return CELLS.join(cells)
