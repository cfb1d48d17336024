"""The tables of a page: what stands in their cells, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lorekeeper.render.prose import HEADING, cells, is_table_rule

MAX_CAPTION = 100
"""Longest line that is a caption, in characters."""

_ESCAPE = re.compile(r"\\(?=[*_`])")
_MARKS = re.compile(r"[*_`]+")
_NAMED = re.compile(r"\s*\(table\)|^table[:.]?\s+", re.IGNORECASE)
_TITLED = re.compile(r"(?:[^\Wa-z][^\s:]*|[a-z]{1,3})(?: (?:[^\Wa-z][^\s:]*|[a-z]{1,3})){0,9}:")


@dataclass(frozen=True)
class PageTable:
    """A table within a page.

    Attributes:
        name: its caption, or the heading that it stands under; "" if it stands under that of the page only.
        columns: its headings.
        rows: cells by row; a row may have fewer or more of them than there are columns.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def page_tables(page: str) -> Iterator[PageTable]:
    """The tables of a page that `render.pages.markdown` has made, in order."""
    heading, before, title, block = "", "", False, list[str]()
    for line in [*page.split("\n"), ""]:
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            yield from _read(_caption(before) or heading, block)
            block, before = [], ""
        match = HEADING.fullmatch(line)
        if match:
            title = len(match[1]) == 1
            heading, before = "" if title else plain(match[2]), ""
        elif line.strip():
            before, title = "" if title else line, False  # below the title stands the kind of the entry, in italics


def plain(text: str) -> str:
    """A text without the marks of Markdown, in one line."""
    return " ".join(_MARKS.sub("", _ESCAPE.sub("", text)).split())


def _caption(line: str) -> str:
    """The caption of a table: a line before it that is bold or in italics as a whole, or in title case with a colon at its end."""
    text = line.strip()
    is_marked = (text[:1] in "*_" and text[-1:] in "*_:.") or _TITLED.fullmatch(text)
    return _NAMED.sub("", plain(text).rstrip(":.")) if text and is_marked and len(text) < MAX_CAPTION else ""


def _read(name: str, block: Sequence[str]) -> Iterator[PageTable]:
    rows = [tuple(map(plain, cells(line))) for line in block if not is_table_rule(line)]
    if len(rows) > 1:
        yield PageTable(name, rows[0], tuple(rows[1:]))
