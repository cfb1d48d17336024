"""The blocks of a page with what makes a stat block, a card or a class table of them: sections, facts, kinds of tables.

All of it is read off the Markdown of `pages.markdown`: sections begin at headings of level 2, facts are the items of a list that
begin with a label in bold. Nothing is added but elements and classes; what is left out of huge tables is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from markdown_it.token import Token

from lorekeeper.folding import fold
from lorekeeper.terms import ABILITY_OF

SECTIONS = {
    "traits": "traits",
    "actions": "actions",
    "bonus actions": "actions",
    "reactions": "actions",
    "legendary actions": "legendary",
    "mythic actions": "legendary",
    "lair actions": "lair",
    "regional effects": "lair",
    "by level": "by-level",
    "features": "features",
    "details": "details",
    "links": "linked",
    "linked from": "linked",
}
"""Classes of sections by their folded headings."""

TABLES = ("abilities", "levels", "rolled")
"""Classes of tables: ability scores, what a class has by level, and what is rolled on."""

MAX_CELLS = 5_000
"""Most cells of a table that are shown."""

MAX_COLUMNS = 60

_DIRECTED = frozenset({"p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "th", "td"})
"""Elements whose text may be of either direction, whatever is around them."""

_SENTENCE = (".", "!", "?", ":")
"""How the bold beginning of a feature ends; labels of facts end otherwise."""

_DIE = re.compile(r"[1-9]?\d?d\d{1,3}", re.IGNORECASE)
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}


def structured(tokens: Sequence[Token]) -> list[Token]:
    """The blocks of a page with their structure."""
    return [_directed(token) for token in _in_sections(list(_blocks(tokens)))]


def opening(tag: str, class_: str = "", **attributes: str) -> Token:
    """The beginning of an element."""
    return Token(f"{tag}_open", tag, 1, attrs={**({"class": class_} if class_ else {}), **attributes}, block=True)


def closing(tag: str) -> Token:
    """The end of an element."""
    return Token(f"{tag}_close", tag, -1, block=True)


def text(content: str) -> Token:
    """A text."""
    return Token("text", "", 0, content=content)


def _element(tag: str, children: Sequence[Token], class_: str = "") -> Iterator[Token]:
    """An element with a line of text."""
    yield opening(tag, class_)
    yield Token("inline", "", 0, children=list(children), content=text_in(children), block=True)
    yield closing(tag)


def lead(children: Sequence[Token]) -> int:
    """How many tokens the bold text takes with which a line begins, its marks included; 0 without one."""
    start = next((place for place, token in enumerate(children) if token.type != "text" or token.content.strip()), 0)
    if not children or children[start].type != "strong_open":
        return 0
    return next((place + 1 for place, token in enumerate(children) if token.type == "strong_close"), 0)


def text_in(children: Sequence[Token]) -> str:
    """The text of a line, without its marks."""
    return "".join(token.content for token in children)


# --- blocks ----------------------------------------------------------------------------------------------------------


def _blocks(tokens: Sequence[Token]) -> Iterator[Token]:
    """The blocks, those that a reader knows as it makes them."""
    place = 0
    while place < len(tokens):
        token = tokens[place]
        whole = _READERS.get(token.type)
        end = _end(tokens, place) if whole else place
        part = tokens[place : end + 1]
        read = whole(part) if whole else None
        if read is not None:
            yield from read
            place = end + 1
            continue
        if token.type == "paragraph_open":
            token = _paragraph(tokens, place)
        yield token
        place += 1


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where the element ends that begins at a place."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += tokens[place].nesting
        if depth == 0:
            return place
    return len(tokens) - 1


def _paragraph(tokens: Sequence[Token], place: int) -> Token:
    """A paragraph with its class: the kind of the entry below its name, or a feature that begins with its own name."""
    token, children = tokens[place], tokens[place + 1].children or []
    named = lead(children)
    if place and tokens[place - 1].type == "heading_close" and tokens[place - 1].tag == "h1" and _all_italic(children):
        return opening("p", "kind")
    if named and not token.hidden and text_in(children[:named]).rstrip().endswith(_SENTENCE):
        return opening("p", "feature")
    return token


def _all_italic(children: Sequence[Token]) -> bool:
    marks = [token.type for token in children if token.type in ("em_open", "em_close")]
    return len(children) > 2 and (children[0].type, children[-1].type, len(marks)) == ("em_open", "em_close", 2)


# --- facts -----------------------------------------------------------------------------------------------------------

_ITEM = ["list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close"]


def _facts(part: Sequence[Token]) -> Iterator[Token] | None:
    """A list of facts as labels and values, with what is left of the list if another one follows; None for any other list.

    Lists one after the other are one in Markdown, whatever is between them.
    """
    items = [part[place : place + len(_ITEM)] for place in range(1, len(part) - 1, len(_ITEM))]
    number = next((place for place, item in enumerate(items) if not _is_fact(item)), len(items))
    if number == 0 or (number < len(items) and not _apart(items[number - 1], items[number])):
        return None
    return chain(_described([item[2].children or [] for item in items[:number]]), _rest(part, number))


def _is_fact(item: Sequence[Token]) -> bool:
    if [token.type for token in item] != _ITEM:
        return False
    children = item[2].children or []
    label = text_in(children[: lead(children)]).strip()
    return bool(label) and not label.endswith(_SENTENCE)


def _apart(item: Sequence[Token], following: Sequence[Token]) -> bool:
    """Whether an empty line is between two items."""
    end, start = item[1].map, following[0].map
    return bool(end and start and start[0] > end[1])


def _rest(part: Sequence[Token], number: int) -> Iterator[Token]:
    """A list without its first items."""
    rest = part[1 + number * len(_ITEM) : -1]
    if rest:
        yield opening("ul")
        yield from _blocks(rest)
        yield closing("ul")


def _described(items: Sequence[Sequence[Token]]) -> Iterator[Token]:
    yield opening("dl", "facts")
    for children in items:
        label = lead(children)
        yield opening("div")
        yield from _element("dt", [text(text_in(children[:label]))])
        yield from _element("dd", _unspaced(children[label:]))
        yield closing("div")
    yield closing("dl")


def _unspaced(children: Sequence[Token]) -> list[Token]:
    """The tokens of a line without the space at its beginning."""
    if children and children[0].type == "text":
        return [text(children[0].content.lstrip()), *children[1:]]
    return list(children)


# --- tables ----------------------------------------------------------------------------------------------------------


def _table(part: Sequence[Token]) -> Iterator[Token]:
    """A table with its class, in a frame of its own that can be scrolled."""
    headings = _headings(part)
    name = _table_class(headings)
    yield opening("div", "scroll", role="group", tabindex="0", **{"aria-label": _caption(headings)})
    yield opening("table", name)
    rows, body, left_out = list(_rows(part)), False, 0
    width = min(len(headings), MAX_COLUMNS)
    for number, (is_body, cells) in enumerate(rows):
        if (number + 1) * width > MAX_CELLS:
            left_out = len(rows) - number
            break
        if is_body != body or number == 0:
            yield from ([closing("thead"), opening("tbody")] if is_body and number else [opening("thead")])
            body = is_body
        yield from _row(cells[:MAX_COLUMNS])
    yield from (closing("tbody" if body else "thead"), closing("table"), closing("div"))
    if left_out or len(headings) > width:
        note = f"({left_out:,} rows and {len(headings) - width:,} columns of this table are left out.)"
        yield from _element("p", [text(note)], "note")


def _headings(part: Sequence[Token]) -> list[str]:
    return [fold(part[place + 1].content) for place, token in enumerate(part) if token.type == "th_open"]


def _table_class(headings: Sequence[str]) -> str:
    if headings == list(ABILITY_OF):
        return "abilities"
    if headings[:1] == ["level"] and "features" in headings:
        return "levels"
    return "rolled" if headings and _DIE.fullmatch(headings[0]) else ""


def _caption(headings: Sequence[str]) -> str:
    """What a table is called to those who hear it."""
    return f"Table: {', '.join(filter(None, headings[:6]))}"[:120]


def _rows(part: Sequence[Token]) -> Iterator[tuple[bool, list[tuple[Token, Token]]]]:
    """Of each row whether it is below the head, and its cells: their beginnings and contents."""
    cells: list[tuple[Token, Token]] = []
    body = False
    for place, token in enumerate(part):
        if token.type == "tbody_open":
            body = True
        elif token.type in ("th_open", "td_open"):
            cells.append((token, part[place + 1]))
        elif token.type == "tr_close":
            yield body, cells
            cells = []


def _row(cells: Sequence[tuple[Token, Token]]) -> Iterator[Token]:
    yield opening("tr")
    for beginning, content in cells:
        scope = {"scope": "col"} if beginning.tag == "th" else {}
        alignment = _ALIGNED.get(str(beginning.attrs.get("style", "")), "")
        yield from (opening(beginning.tag, alignment, **scope), content, closing(beginning.tag))
    yield closing("tr")


_READERS: dict[str, Callable[[Sequence[Token]], Iterator[Token] | None]] = {
    "bullet_list_open": _facts,
    "table_open": _table,
}
"""What reads a block whole, by the type of its first token."""


# --- sections --------------------------------------------------------------------------------------------------------


def _in_sections(tokens: Sequence[Token]) -> Iterator[Token]:
    """The blocks under each heading of level 2, with that heading, as a section."""
    within, depth = False, 0
    for place, token in enumerate(tokens):
        if token.tag == "h2" and token.nesting == 1 and depth == 0:
            if within:
                yield closing("section")
            yield opening("section", SECTIONS.get(fold(tokens[place + 1].content), ""))
            within = True
        depth += token.nesting
        yield token
    if within:
        yield closing("section")


def _directed(token: Token) -> Token:
    if token.nesting == 1 and token.tag in _DIRECTED and not token.hidden:
        token.attrs["dir"] = "auto"
    return token
