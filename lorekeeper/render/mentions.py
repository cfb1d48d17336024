"""What a page mentions: texts that may be the whole names of other entries, and the links they become.

Only what an author has marked as a name counts: italics, bold text within a line, the spells of a list, the values of certain
facts, what somebody casts; and words that are always names, as those of conditions. Whether there is an entry of that name
others say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from lorekeeper.folding import fold
from lorekeeper.render.structure import lead, text, text_in

MAX_NAME_CHARS = 80
"""Longest name that is looked up."""

MAX_MENTIONS = 400
"""Most mentions of a page; what follows them is not looked up."""

Types = tuple[str, ...]

IN_ITALICS: Types = ("spells", "equipment", "creatures", "character_options", "rules")
IN_BOLD: Types = ("creatures", "spells", "equipment", "character_options", "rules")
SPELLS: Types = ("spells",)
OPTIONS: Types = ("character_options",)
RULES: Types = ("rules",)
CONDITIONS: Types = ("conditions",)
"""The types of entries that a name may be of, the likeliest first. Conditions are rules of that kind only."""

FACTS: Mapping[str, Types] = {"classes": OPTIONS, "condition immunities": RULES}
"""Facts whose values are names, by their folded labels."""

LISTS: Mapping[str, Types] = {"subclasses": OPTIONS, "subraces": OPTIONS}
"""Sections whose paragraphs are lists of names, by their folded headings."""

_SPELLS = re.compile(
    r"\s*(?:cantrips?|at[ -]will|constant|\d{1,2}/(?:day|rest|short rest|long rest)|\d{1,2}(?:st|nd|rd|th)(?:[ -]level)?)\b"
    r"[^:.]{0,60}:",
    re.IGNORECASE,
)
"""How a list of spells begins; in a list of facts with the label."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_PARTS = re.compile(r"[^,;()*]+")
_BEFORE = re.compile(r"\s*(?:(?:and|or)\s+)?")
_CAST = re.compile(
    r"\b(?:casts?|casting)\s+(?:the\s+)?((?:[A-Z][\w'’/-]*)(?:\s(?:[A-Z][\w'’/-]*|of|and|from|the|with|to|or)){0,6})"
)
_CHOICE = re.compile(r"(?:(?! or ).)+")
_OF = re.compile(r"\b(?:[Ss]ubclass|[Ss]ubrace|[Ss]ubspecies) of (.+)$")
_WORD = re.compile(r"\w+")

ADJECTIVES = frozenset({"invisible"})
"""Names of conditions that things are called as well, which are in none."""

_STATE = re.compile(
    r"\b(?:is|are|be|been|being|becom(?:es?|ing)|turn(?:s|ing)?|remain(?:s|ing)?|while) (?:\w{1,10} )?$"
)


@dataclass(frozen=True)
class Mention:
    """A text that may be the name of an entry.

    Attributes:
        name: the text, folded.
        types: of entries that it may be, the likeliest first.
        block: number of the token of the block that has it.
        child: number of the token within the block.
        start: of the text in that token.
        end: of the text in that token.
    """

    name: str
    types: Types
    block: int
    child: int
    start: int
    end: int


@dataclass(frozen=True)
class _Place:
    """Where in a page a line stands.

    Attributes:
        number: of its token.
        section: folded heading above it.
        label: folded label of the fact that it is the value of.
        column: folded heading of the column of the table that it is in.
        kind: whether it says what kind of entry the page is about.
        words: folded words that are names wherever they stand.
    """

    number: int
    section: str
    label: str
    column: str
    kind: bool
    words: frozenset[str]


_Span = tuple[int, int, int, Types]
"""Child, start, end, and what it may be."""


def mentions(tokens: Sequence[Token], words: frozenset[str]) -> list[Mention]:
    """What may be names, in order.

    Args:
        tokens: of a page, as `structure.structured` gives them.
        words: folded words that are names wherever they stand.
    """
    found: list[Mention] = []
    for place, children in _lines(tokens, words):
        found += _mentions(place, children)
        if len(found) > MAX_MENTIONS:
            break
    return found[:MAX_MENTIONS]


def linked(tokens: Sequence[Token], paths: Mapping[Mention, str]) -> list[Token]:
    """The tokens with links for mentions; of those that lead to the same path for the first one."""
    first: dict[str, Mention] = {}
    for mention, path in paths.items():
        first.setdefault(path, mention)
    by_block: dict[int, list[tuple[Mention, str]]] = {}
    for path, mention in first.items():
        by_block.setdefault(mention.block, []).append((mention, path))
    result = list(tokens)
    for block, of_block in by_block.items():
        result[block] = tokens[block].copy(children=_with_links(tokens[block].children or [], of_block))
    return result


def _with_links(children: Sequence[Token], found: Iterable[tuple[Mention, str]]) -> list[Token]:
    by_child: dict[int, list[tuple[Mention, str]]] = {}
    for mention, path in sorted(found, key=lambda each: each[0].start):
        by_child.setdefault(mention.child, []).append((mention, path))
    result: list[Token] = []
    for number, child in enumerate(children):
        result += _split(child.content, by_child[number]) if number in by_child else [child]
    return result


def _split(content: str, found: Iterable[tuple[Mention, str]]) -> Iterator[Token]:
    """A text with its mentions as links."""
    end = 0
    for mention, path in found:
        yield from linked_text(content[end : mention.start], content[mention.start : mention.end], path)
        end = mention.end
    yield text(content[end:])


OWN = "own"
"""Marks links that were made here: their address is a path already."""


def linked_text(before: str, name: str, path: str) -> Iterator[Token]:
    """A text that is a link, with what is before it."""
    yield text(before)
    yield Token("link_open", "a", 1, attrs={"href": path}, info=OWN)
    yield text(name)
    yield Token("link_close", "a", -1)


# --- where there may be names ----------------------------------------------------------------------------------------


def _lines(tokens: Sequence[Token], words: frozenset[str]) -> Iterator[tuple[_Place, list[Token]]]:
    """The lines of text of a page that may have links, and where each stands."""
    section, label, columns, column = "", "", list[str](), -1
    for number, token in enumerate(tokens):
        if token.type == "table_open":
            columns = []
        column = _column(column, token)
        if token.type != "inline":
            continue
        before, children = tokens[number - 1], token.children or []
        if before.tag in HEADINGS:
            section = fold(token.content)
        elif before.tag == "th":
            columns.append(fold(token.content))
        elif before.tag == "dt":
            label = fold(token.content)
        elif not any(child.type == "link_open" for child in children):
            heading = columns[column] if before.tag == "td" and column < len(columns) else ""
            fact = label if before.tag == "dd" else ""
            yield _Place(number, section, fact, heading, before.attrs.get("class") == "kind", words), children


def _column(column: int, token: Token) -> int:
    """The number of the column of a table after a token."""
    return {"tr": -1, "th": column + 1, "td": column + 1}.get(token.tag, column) if token.nesting == 1 else column


def _mentions(place: _Place, children: list[Token]) -> Iterator[Mention]:
    """What one line mentions; of mentions that overlap the first one."""
    spans = sorted({span[:3]: span for rule in _RULES for span in rule(place, children)}.values())
    before = (-1, -1)
    for child, start, end, types in spans:
        name = fold(children[child].content[start:end])
        if (child, start) >= before and len(name) > 1:
            yield Mention(name, types, place.number, child, start, end)
            before = (child, end)


def _in_italics(place: _Place, children: list[Token]) -> Iterator[_Span]:
    for number in _alone(children, "em"):
        if not place.kind:
            yield from _listed(children, number, IN_ITALICS)


def _in_bold(_: _Place, children: list[Token]) -> Iterator[_Span]:
    for number in _alone(children, "strong"):
        if number >= lead(children) and not children[number].content.rstrip().endswith((":", ".")):
            yield from _listed(children, number, IN_BOLD)


def _alone(children: list[Token], tag: str) -> Iterator[int]:
    """The texts that are all that a mark is around."""
    for number in range(1, len(children) - 1):
        around = children[number - 1].type, children[number].type, children[number + 1].type
        if around == (f"{tag}_open", "text", f"{tag}_close"):
            yield number


def _spells(place: _Place, children: list[Token]) -> Iterator[_Span]:
    """The spells of a list that says how often they can be cast, or of a column of spells."""
    if not {"spell", "spells"}.isdisjoint(place.column.split()):
        yield from _all_listed(children, 0, SPELLS)
        return
    match = _SPELLS.match(f"{place.label} {text_in(children)}".lstrip())
    if match:
        yield from _all_listed(children, match.end() - len(place.label), SPELLS)


def _values(place: _Place, children: list[Token]) -> Iterator[_Span]:
    """The values of facts that are names, and lists of names under a heading."""
    types = FACTS.get(place.label) or LISTS.get(place.section if not place.label else "")
    if types:
        yield from _all_listed(children, 0, types)


def _belongs(place: _Place, children: list[Token]) -> Iterator[_Span]:
    """What the line below the name of an entry says that it belongs to: "Subclass of Wizard", "Rule, combat"."""
    for number in _alone(children, "em") if place.kind else ():
        content = children[number].content
        match = _OF.search(content)
        if match:
            yield number, match.start(1), match.end(1), OPTIONS
        elif content.startswith(("Rule, ", "Section, ")):
            yield number, content.find(", ") + 2, len(content), RULES


def _cast(_: _Place, children: list[Token]) -> Iterator[_Span]:
    """Spells that somebody casts, written with capitals."""
    for number, child in enumerate(children):
        if child.type == "text" and "cast" in child.content:
            for match in _CAST.finditer(child.content):
                for part in _CHOICE.finditer(match[1]):
                    yield from _part(number, match.start(1) + part.start(), part[0], SPELLS)


def _words(place: _Place, children: list[Token]) -> Iterator[_Span]:
    """Words that are names wherever they stand."""
    if not place.words or place.kind:
        return
    for number, child in enumerate(children):
        if child.type == "text":
            for match in _WORD.finditer(child.content):
                if match[0].lower() in place.words and _is_state(match, child.content):
                    yield number, match.start(), match.end(), CONDITIONS


def _is_state(match: re.Match[str], content: str) -> bool:
    """Whether a word says what state somebody is in: "becomes invisible", but not "invisible strands"."""
    if match[0].lower() not in ADJECTIVES:
        return True
    before, after = content[max(0, match.start() - 20) : match.start()], content[match.end() : match.end() + 10]
    return _STATE.search(before) is not None or after.startswith(" condition")


_RULES: tuple[Callable[[_Place, list[Token]], Iterator[_Span]], ...] = (
    _words,
    _cast,
    _in_bold,
    _in_italics,
    _spells,
    _values,
    _belongs,
)
"""What finds names, the rules whose types count where several find the same text last."""


def _all_listed(children: list[Token], after: int, types: Types) -> Iterator[_Span]:
    """The parts of a list with commas, from a place in the text of a line on."""
    position = 0
    for number, child in enumerate(children):
        if child.type == "text":
            yield from _listed(children, number, types, max(0, after - position))
        position += len(child.content)


def _listed(children: list[Token], number: int, types: Types, after: int = 0) -> Iterator[_Span]:
    for match in _PARTS.finditer(children[number].content, after):
        yield from _part(number, match.start(), match[0], types)


def _part(number: int, start: int, part: str, types: Types) -> Iterator[_Span]:
    """A part of a list without what is around its name."""
    name = _BEFORE.sub("", part, count=1)
    start += len(part) - len(name)
    name = name.rstrip(" .:")
    if 1 < len(name) <= MAX_NAME_CHARS:
        yield number, start, start + len(name), types
