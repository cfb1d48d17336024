"""The text of a source as clean Markdown, whatever markup it was written in.

Headings of an entry's own text have levels 4 to 6, since the renderers use 1 to 3: no text can pose as a section of the
page. Every pattern takes time linear in the length of the text, which may be hostile.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from lorekeeper.printable import lines, one_line
from lorekeeper.text.excerpts import without_keys

HEADING = re.compile(r"(#{1,6})[ \t]++(?=[^\s#])(.*)")
"""A heading of Markdown: its marks, and its text."""

LONGEST_HEADING = 80
"""Characters from which on a line with the mark of a heading is an item of a list."""

_STOP = re.compile(r"[a-z]{2}\.$")
"""How a sentence ends; a heading does not."""

_HEADED = re.compile(r"^(#{2,6})(?=[A-Z][a-z])")
"""A heading without the space behind its marks."""

_ENTITY = re.compile(r"&[A-Za-z#0-9]{1,10};")
_PLACEHOLDER = re.compile(
    r"\[(?:no description provided|none provided|column data)\.?\]|\Ano description provided by \w+\.\Z", re.IGNORECASE
)
_LEFTOVER = re.compile(r"\[/?(?:\+{1,2}|em|condition|rule)/?\]")
"""Tags of other programs' markup that sources have left in their texts."""

_TAG = re.compile(r"(<(?:/ ?)?[A-Za-z][^<>]{0,200}>)")
_TAG_NAME = re.compile(r"</?[A-Za-z0-9]+")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_LETTER_IN_BRACKETS = re.compile(r"\( (\w|\*\w\*) \)")
_NO_WIDTH = re.compile("[\u00ad\u200b\u2060\ufeff]")
_SPACES = re.compile(r"[^\S\n]+")
_RULE = re.compile(r"[\s*_=-]{3,}|[`~]{3}.*")
"""A line that is a rule, the underline of a heading, or the beginning or end of a block of code."""

_BULLET = re.compile(r"[*+•-] *")
_ITEM = re.compile(r"- |\d{1,3}[.)] ")
_TABLE_RULE = re.compile(r"[\s|:—-]*+")
_BAR = re.compile(r"(?<!\\)\|")
"""A bar that ends a cell: one without a backslash."""

MAX_FILLED = 100
"""To how many cells rows of a table are filled: filling many rows of a very wide one takes more than memory has."""

_ENDS_PARAGRAPH = (".", "!", "?", ":", ")", "*", '"', "”", "_")

_TAGS = {
    "<br": "\n",
    "<p": "\n\n",
    "</p": "\n\n",
    "<li": "\n- ",
    "<tr": "\n| ",
    "</td": " | ",
    "</th": " | ",
    "</table": "\n\n",
    **dict.fromkeys(("<em", "</em", "<i", "</i"), "*"),
    **dict.fromkeys(("<strong", "</strong", "<b", "</b"), "**"),
    **{f"<h{level}": f"\n\n{'#' * level} " for level in range(1, 7)},
    **{f"</h{level}": "\n\n" for level in range(1, 7)},
}
"""What Markdown has for a tag of HTML; other tags are left out."""

_CELL_TAGS = {"<table", "</table", "<tr", "</tr", "<td", "</td", "<th", "</th", "<thead", "<tbody"}
"""Tags next to which white space means nothing."""


def prose(text: str) -> str:
    """Markdown of a text: tables whole, no HTML, no links, no placeholders, no line breaks written as two characters."""
    text = _without_markup(text)
    rows = _tables([_line(line) for line in text.split("\n")])
    return "\n".join(_spaced(rows)).strip("\n")


def inline(text: str) -> str:
    """The same of a text for one line."""
    return " ".join(one_line(_without_markup(text)).split())


def _without_markup(text: str) -> str:
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    text = _NO_WIDTH.sub("", lines(text.replace("\\r\\n", "\n").replace("\\n", "\n")))
    if "<" in text:
        text = _without_tags(text)
    if "[" in text or "provided by" in text:
        text = _LEFTOVER.sub("", _PLACEHOLDER.sub("", _LINK.sub(r"\1", _LINK.sub(r"\1", text))))
    return _LETTER_IN_BRACKETS.sub(r"(\1)", without_keys(text))


def _without_tags(text: str) -> str:
    """HTML as Markdown; a line break within a row of a table becomes a semicolon."""
    parts = _TAG.split(text)
    result, row = [], False
    for number, part in enumerate(parts):
        if number % 2:
            part = _markdown_of(part, row)
        else:
            around = parts[max(number - 1, 0) : number + 2 : 2]
            part = part.strip() if any(_tag_name(tag) in _CELL_TAGS for tag in around) else part
        result.append(part)
        if "\n" in part or number == 0:
            row = part.rpartition("\n")[2].lstrip().startswith("|")
    return "".join(result)


def _markdown_of(tag: str, row: bool) -> str:
    name = _tag_name(tag)
    return "; " if row and name == "<br" else _TAGS.get(name, "")


def _tag_name(tag: str) -> str:
    match = _TAG_NAME.match(tag.replace("/ ", "/"))
    return match[0].lower() if match else ""


def _line(line: str) -> str:
    """A line without indentation, but for items of lists; "" for a rule."""
    text = _SPACES.sub(" ", line).strip()
    indented = line[:2].isspace() and len(line) > 1
    if "|" not in text and _RULE.fullmatch(text):
        return ""
    if text.startswith("#"):
        return _heading(text)
    text = _BULLET.sub("- ", text, count=1) if _is_bullet(text) else text
    return f"  {text}" if indented and _ITEM.match(text) else text


def _is_bullet(text: str) -> bool:
    """Whether a line is an item of a list, also where the space after the mark is missing."""
    if text.startswith("•") or text[1:2] == " ":
        return _BULLET.match(text) is not None
    return text.startswith("*") and text.count("*") == 1 and len(text) > 1


def _heading(text: str) -> str:
    match = HEADING.fullmatch(_HEADED.sub(r"\1 ", text))
    if not match:
        return f"\\{text}" if text.strip("# ") else ""
    words = match[2].rstrip("# ")
    if len(words) > LONGEST_HEADING or _STOP.search(words):
        return f"- {words}"  # some formats mark the items of lists so
    level = min(max(len(match[1]) + 2, 4), 6)
    return f"{'#' * level} {words}"


def _tables(rows: list[str]) -> Iterator[str]:
    """The lines of a text, each table with its rule and an equal number of cells in its rows."""
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and "|" in rows[end]:
            end += 1
        block = rows[start:end]
        if _is_table(block):
            lines = [*_parted(block)]
            if "|" not in lines[0]:
                yield lines.pop(0)
            yield from _table(lines)
        else:
            yield from block or [rows[start]]
        start = max(end, start + 1)


def _parted(block: list[str]) -> Iterator[str]:
    """The lines of a table, whose headers have as many cells as the rules below them.

    What stands in a line before a header is a line of its own: a sentence, or the last row of the table above.
    """
    for number, (row, rule) in enumerate(zip(block, [*block[1:], ""], strict=True)):
        may_be_behind = is_table_rule(rule) and (number or not row.startswith("|"))
        parts, width = (cells(row), len(cells(rule))) if may_be_behind else ([], 0)
        if len(parts) > width:
            yield f"| {' | '.join(parts[:-width])} |" if number else parts[0]
            yield f"| {' | '.join(parts[-width:])} |"
        else:
            yield row


def _is_table(block: list[str]) -> bool:
    if any(map(is_table_rule, block)):
        return len(block) > 1
    return len(block) > 1 and all(row.startswith("|") for row in block)


def is_table_rule(row: str) -> bool:
    """Whether a row is the one below the header of a table."""
    return ("-" in row or "—" in row) and _TABLE_RULE.fullmatch(row) is not None


def _table(block: list[str]) -> Iterator[str]:
    """A table, or several without a line between them: each rule has the header of its own table before it."""
    heads = {max(number - 1, 0) for number, row in enumerate(block) if is_table_rule(row)} or {0}
    rows: list[list[str]] = []
    for number, row in enumerate(block):
        if number in heads and rows:
            yield from _one_table(rows)
            yield ""
            rows = []
        if not is_table_rule(row):
            rows.append(cells(row))
    yield from _one_table(rows)


def _one_table(rows: list[list[str]]) -> Iterator[str]:
    """A table; one of two columns without headings as a list of its first cells with the second ones."""
    head, *others = _without_stray_cells(rows) or [[]]
    if others and len(head) == 2 and not any(head) and all(len(row) <= 2 and row[0] for row in others):
        yield from (f"- **{row[0].strip('*_ ')}** {row[1] if len(row) > 1 else ''}".rstrip() for row in others)
    else:
        yield from table([head, *others])


def _without_stray_cells(rows: list[list[str]]) -> list[list[str]]:
    """Rows without cells beyond the header that have no letters or digits."""
    return [row[: _end(row, len(rows[0]))] for row in rows]


def _end(row: list[str], width: int) -> int:
    end = len(row)
    while end > width and not any(character.isalnum() for character in row[end - 1]):
        end -= 1
    return end


def table(rows: list[list[str]]) -> list[str]:
    """The lines of a table of Markdown, of which the first row is the header; bars in its cells are escaped."""
    width = max(map(len, rows), default=0)
    if not width:
        return []
    rows = [[_BAR.sub(r"\|", cell) if "|" in cell else cell for cell in row] for row in rows]
    head, *others = (_filled(row, min(width, MAX_FILLED) if number else width) for number, row in enumerate(rows))
    return [head, "|" + "---|" * width, *others]


def _filled(row: list[str], width: int) -> str:
    return f"| {' | '.join([*row, *[''] * (width - len(row))])} |"


def cells(row: str) -> list[str]:
    """The cells of a row of a table, the bars in them still escaped."""
    return [cell.strip() for cell in _BAR.split(row.strip().removeprefix("|").removesuffix("|"))]


def _spaced(rows: Iterable[str]) -> Iterator[str]:
    """Lines with an empty one between paragraphs, and none twice."""
    before = ""
    for row in rows:
        if row and before and _apart(before, row):
            yield ""
        if row or before:
            yield row
        before = row


def _apart(before: str, row: str) -> bool:
    """Whether two lines one after the other belong to different blocks."""
    kinds = _block(before), _block(row)
    if kinds == ("text", "text"):
        return before.endswith(_ENDS_PARAGRAPH) or row.startswith("*")
    return kinds[0] != kinds[1] or kinds[0] == "heading"


def _block(row: str) -> str:
    if row.startswith("|"):
        return "table"
    if HEADING.match(row):
        return "heading"
    return "list" if _ITEM.match(row.lstrip()) else "text"
