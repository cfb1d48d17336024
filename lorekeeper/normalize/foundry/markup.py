"""HTML of Foundry VTT as Markdown, and apart from it what only the game master reads.

The tags are read one after the other, as they are written: parsers that repair HTML take hours for a megabyte of open tags.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field

from lorekeeper.render.prose import table as markdown_table

MAX_CHARS = 1 << 20
"""Longest text that is read, as long as the largest entry."""

MAX_OPEN = 40
"""Most tables, cells and sections in each other; deeper ones are read as plain text."""

_BLOCKS = frozenset(
    "p div article aside blockquote figure figcaption details dl dt dd address center header footer pre".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_EMPHASIS = {"em": "*", "i": "*", "strong": "**", "b": "**", "summary": "**"}
_LISTS = ("ul", "ol")
_CELLS = ("td", "th")
_DROPPED = frozenset(
    "script style iframe object embed noscript template title svg math textarea select audio video canvas head".split()
)
"""Elements of which nothing is kept, not even their text."""

_ADVICE = re.compile(r"[\s*_#]*foundry (?:vtt )?note\b", re.IGNORECASE)
"""How advice on the use of the program begins."""

_TAG = re.compile(
    r"""<(/?)([A-Za-z][A-Za-z0-9]{0,15})(?:((?:[^<>"']|"[^"<]*"|'[^'<]*')*+)>|([^<>]{0,4000})>)""",
)
_CLASS = re.compile(r"""\bclass\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_START = re.compile(r"""\bstart\s{0,5}=\s{0,5}["']?(\d{1,5})""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2000-\u200b\u202f\u205f\u3000]+")
_LOST = re.compile("[\u00ad\u2060\ufeff]")
_ITEM = re.compile(r"(?:- |\d{1,5}\. )")


@dataclass(frozen=True)
class Text:
    """A text as Markdown.

    Attributes:
        open: what everybody may read.
        secret: what only the game master may, "" for nothing.
    """

    open: str
    secret: str = ""


def text_of(source: object) -> Text:
    """The Markdown of a text in HTML; an empty one for what is no text."""
    if not isinstance(source, str) or not source.strip():
        return Text("")
    source = _without_comments(_LOST.sub("", source[:MAX_CHARS]))
    reader = _Reader()
    at, dropped = 0, ""
    for match in _TAG.finditer(source):
        tag, attributes = match[2].lower(), match[3] or match[4] or ""
        if not dropped:
            reader.data(source[at : match.start()])
            reader.tag(tag, closes=bool(match[1]), attributes=attributes)
        at = match.end()
        if tag in _DROPPED and dropped in ("", tag):
            dropped = "" if match[1] or attributes.endswith("/") else tag
    if not dropped:
        reader.data(source[at:])
    return reader.text()


def line_of(source: object) -> str:
    """The text of HTML in one line, without secrets."""
    return " ".join(text_of(source).open.split())


def _without_comments(source: str) -> str:
    """A text without comments; one that does not end goes on to the end of the text."""
    kept, at = [], 0
    while (start := source.find("<!--", at)) >= 0:
        kept.append(source[at:start])
        end = source.find("-->", start + 4)
        if end < 0:
            return "".join(kept)
        at = end + 3
    return "".join([*kept, source[at:]])


@dataclass
class _Part:
    """An element that is open: a section, secret or not, a table, one of its cells, or a caption."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class _Reader:
    """Writes Markdown; what is in a secret section is kept apart."""

    def __init__(self) -> None:
        self._open = [_Part("text")]
        self._counts: Counter[str] = Counter()
        """How many elements of each kind are open."""
        self._lists: list[list[object]] = []
        """For each open list its tag and its next number."""
        self._in_item = False
        self._waiting: list[str] = []
        """Marks of emphasis that are written before the next word: they must touch it."""
        self._secrets: list[str] = []

    def text(self) -> Text:
        """All that was read."""
        while len(self._open) > 1:
            self._close_last()
        return Text(_tidy(self._open[0].text), _tidy("\n\n".join(self._secrets)))

    def data(self, data: str) -> None:
        """A stretch of text."""
        plain = html.unescape(data) if "&" in data else data
        told = _SPACES.sub(" ", _LOST.sub("", plain).replace("\n", " "))
        if self._waiting and told.strip():
            begins = told.lstrip(" ")
            told = f"{told[: len(told) - len(begins)]}{''.join(self._waiting)}{begins}"
            self._waiting.clear()
        self._write(told)

    def tag(self, tag: str, *, closes: bool, attributes: str) -> None:
        """The beginning or the end of an element."""
        if tag in ("section", "table", "caption", "tr", *_CELLS):
            if closes:
                self._end(tag)
            else:
                self._begin(tag, attributes)
        elif tag in _LISTS:
            self._list(tag, attributes, closes=closes)
        elif tag == "li":
            self._in_item = not closes
            if not closes:
                self._item()
        else:
            self._inline(tag, closes=closes)

    def _write(self, text: str) -> None:
        self._open[-1].pieces.append(text)

    def _inline(self, tag: str, *, closes: bool) -> None:
        """An element that is written as marks or as a break."""
        flowing = self._in_item or self._counts["cell"] > 0
        if tag in _HEADINGS and not closes and not flowing:
            self._write(f"\n\n{'#' * _HEADINGS[tag]} ")
        elif tag in _BLOCKS or tag in _HEADINGS or tag == "hr":
            self._write(" " if flowing else "\n\n")
        elif tag == "br":
            self._write(" " if flowing else "\n")
        elif tag == "q":
            self._write('"')
        if tag in _EMPHASIS:
            self._emphasis(_EMPHASIS[tag], closes=closes)

    def _emphasis(self, mark: str, *, closes: bool) -> None:
        """A mark, without white space between it and the words that it encloses; none around nothing."""
        if not closes:
            self._waiting.append(mark)
        elif mark in self._waiting:
            self._waiting.remove(mark)
        else:
            pieces = self._open[-1].pieces
            after: list[str] = []
            while pieces and not pieces[-1].strip():
                after.append(pieces.pop())
            if pieces:
                words = pieces[-1].rstrip()
                after.append(pieces[-1][len(words) :])
                pieces[-1] = words
            pieces += [mark, *reversed(after)]

    # lists

    def _list(self, tag: str, attributes: str, *, closes: bool) -> None:
        if closes:
            if self._lists:
                self._lists.pop()
            self._in_item = bool(self._lists)
        else:
            start = _START.search(attributes)
            self._lists.append([tag, int(start[1]) if start else 1])
        within = "\n" if len(self._lists) > 1 - closes else "\n\n"
        self._write(" " if self._counts["cell"] else within)

    def _item(self) -> None:
        tag, number = self._lists[-1] if self._lists else ("ul", 1)
        mark = "- "
        if tag == "ol" and isinstance(number, int):
            mark = f"{number}. "
            self._lists[-1][1] = number + 1
        indent = "  " if len(self._lists) > 1 else ""
        self._write(f"; {mark.strip('- ')} " if self._counts["cell"] else f"\n{indent}{mark}")

    # sections and tables

    def _table_around(self) -> _Part | None:
        """The table that is open, perhaps with a cell."""
        return next((part for part in reversed(self._open[-2:]) if part.kind == "table"), None)

    def _begin(self, tag: str, attributes: str) -> None:
        if tag == "section":
            self._begin_section(attributes)
            return
        if tag in ("tr", *_CELLS):
            self._end_up_to("cell", "table")
        table = self._table_around()
        if tag == "tr" and table:
            table.rows.append([])
        elif len(self._open) > MAX_OPEN:
            return
        elif tag in _CELLS and table:
            if not table.rows:
                table.rows.append([])
            self._push("cell")
        elif tag in ("table", "caption"):
            self._push(tag)

    def _begin_section(self, attributes: str) -> None:
        match = _CLASS.search(attributes)
        classes = next(filter(None, match.groups()), "").lower().split() if match else []
        secret = "secret" in classes and "revealed" not in classes
        if (secret and not self._counts["secret"]) or len(self._open) <= MAX_OPEN:
            self._push("secret" if secret else "section")

    def _push(self, kind: str) -> None:
        self._open.append(_Part(kind))
        self._counts[kind] += 1

    def _end(self, tag: str) -> None:
        kinds = {"section": ("section", "secret"), "td": ("cell",), "th": ("cell",), "tr": ("cell",)}.get(tag, (tag,))
        if tag == "tr":
            self._end_up_to("cell", "table")
        elif any(self._counts[kind] for kind in kinds):
            while self._close_last() not in kinds:
                pass

    def _end_up_to(self, kind: str, border: str) -> None:
        """Close an open element of a kind, unless it is outside the innermost one of another kind."""
        for part in reversed(self._open):
            if part.kind in ("secret", border):
                return
            if part.kind == kind:
                while self._close_last() != kind:
                    pass
                return

    def _close_last(self) -> str:
        """Close the innermost open element; its kind."""
        part = self._open.pop()
        self._counts[part.kind] -= 1
        told = part.text
        if part.kind == "secret" and self._counts["secret"]:
            self._write(told)  # it is within another one
        elif part.kind == "secret":
            if told.strip() and not _ADVICE.match(told):
                self._secrets.append(told)
        elif part.kind == "cell":
            table = self._table_around()
            if table:
                table.rows[-1].append(" ".join(told.split()))
        elif part.kind == "table":
            nested = self._counts["cell"] > 0
            self._write(f"\n\n{told.strip()}\n\n{_table(part.rows, nested=nested)}\n\n")
        elif part.kind == "caption":
            title = " ".join(told.split()).strip("* ")
            self._write(f"\n\n**{title}**\n\n" if title else "")
        else:
            self._write(f"\n\n{told}\n\n")
        return part.kind


def _table(rows: list[list[str]], *, nested: bool) -> str:
    """The rows of a table, the first as its header; those of one in another table as a line."""
    rows = [row for row in rows if any(row)]
    if nested:
        return "; ".join(", ".join(cell for cell in row if cell) for row in rows)
    return "\n".join(markdown_table(rows))


def _tidy(text: str) -> str:
    """Lines without spaces around them, at most one empty one between two; emphasis close to its words."""
    kept: list[str] = []
    for line in text.split("\n"):
        stripped = _SPACES.sub(" ", line).strip()
        if line.startswith("  ") and _ITEM.match(stripped):
            stripped = f"  {stripped}"
        if _ITEM.match(stripped.lstrip()) and len(kept) > 1 and not kept[-1] and _ITEM.match(kept[-2].lstrip()):
            kept.pop()
        if stripped.strip("-*# ") or (not stripped and kept and kept[-1]):
            kept.append(stripped)
    return "\n".join(kept).strip("\n")
