"""The text of an entry as spans under one heading, and their sentences, which are quoted whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from lorekeeper.entities import Entity
from lorekeeper.printable import one_line
from lorekeeper.records.notes import BETWEEN, sections_of
from lorekeeper.search.intent import ways
from lorekeeper.text.cleaning import clean
from lorekeeper.text.sections import sections

_EMPHASIS = re.compile(r"\*+|`+|~~|==|(?<!\w)_+|_+(?!\w)")
_LIST_MARK = re.compile(r"\A\s*(?:>\s*)*([-*+•]|\d{1,3}[.)])\s+(\[[ xX]\]\s+)?")
_KEY = re.compile(r"\s*\*\*[^*]+(?:\*\*:|:\*\*)")
_WHOLE = re.compile(r"\s*([*_]{1,3})[^*_]+\1\s*\Z")
"""A line of which all is emphasised."""

_ROW = re.compile(r"(?:\s*>)*\s*\|")
_QUOTED = re.compile(r"(?:\s*>)*")
_PLACEHOLDER = re.compile(r"(?:\A|: )\[[^\[\]]+\]\.?\Z")
"""As in "Fear: [to be determined]"."""

_RULE = re.compile(r"[\s|:-]*\Z|\s*[*_-]{3,}\s*\Z")

_DELIMITER = re.compile(r"\s*\|?[ \t]*:?-[\s|:-]*\Z")
_ENDS = tuple('.!?:;…"”’')
"""What a sentence ends with."""

_STOPS = tuple('.!?:;…"”’)')
_FACT = re.compile(r"[^:.!?]{1,40}: [^.!?]{1,80}\Z")
"""A text that is no sentence of an entry, as "Armor Class: 18 (chain mail)"."""

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-ZÀ-ÞА-ЯЁ0-9])")


class Sentence(str):
    """A sentence, or a row of a table, in one line; it knows the shape that it had in its text.

    Attributes:
        item: what the item of a list begins with that this is the first sentence of: "-", "1." or "- [x]".
        in_list: whether it stands in an item.
        cells: of a row.
        is_head: whether a row is the head of its table.
        block: number of the paragraph, item or row that it is from.
        pieces: of a secret span all that it has.
    """

    item: str = ""
    in_list: bool = False
    cells: tuple[str, ...] = ()
    is_head: bool = False
    block: int = 0
    pieces: tuple[Sentence, ...] = ()


@dataclass(frozen=True)
class Span:
    """A span of an entry's text under one heading.

    Attributes:
        section: heading path, "" for the main text.
        text: Markdown.
        mark: what makes it secret, as written; "" if nothing does.
    """

    section: str
    text: str
    mark: str = ""

    @property
    def heading(self) -> str:
        """The innermost heading."""
        return self.section.rsplit(BETWEEN, 1)[-1]

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences and table rows, each in one line, without what a template left to be filled in.

        A secret span is one piece, which is never cut.
        """
        pieces = tuple(_pieces(self.text))
        if self.mark and pieces:
            whole = Sentence(joined(pieces))
            whole.pieces = pieces
            return (whole,)
        return tuple(piece for piece in pieces if not _PLACEHOLDER.search(piece))


def joined(sentences: Sequence[str]) -> str:
    """Sentences in one line, with a dot in the middle behind those that are none, such as table rows."""
    ends = [sentence if sentence.endswith(_ENDS) else f"{sentence} ·" for sentence in sentences]
    return " ".join(ends).removesuffix(" ·")


Shape = Literal["table", "list", "text", "facts"]


@dataclass
class Block:
    """Sentences in the shape that they had.

    Attributes:
        shape: a table, a list, a text, or facts.
        rows: the cells of a table's rows; what each item of a list begins with, and its text; else a sentence each.
        has_head: whether the first row of a table is its head.
    """

    shape: Shape
    rows: list[list[str]]
    has_head: bool = False

    @property
    def lines(self) -> list[str]:
        """The block as lines of Markdown."""
        if self.shape in ("text", "facts"):
            return [joined([row[0] for row in self.rows])]
        if self.shape == "list":
            return [" ".join(row) for row in self.rows]
        rows = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in self.rows]
        return [*rows[:1], f"|{'---|' * len(self.rows[0])}", *rows[1:]] if self.has_head else rows


def blocks(sentences: Sequence[str]) -> list[Block]:
    """Sentences as the tables, lists and texts that they stood in; what is none of an entry's sentences is mostly a fact."""
    found, paragraph = list[Block](), 0
    for each in sentences:
        pieces = each.pieces if isinstance(each, Sentence) else ()
        for piece in pieces or (each,):
            shape, row, begins = _placed(piece)
            is_same = bool(found) and found[-1].shape == shape
            paragraph, before = (piece.block if isinstance(piece, Sentence) else 0), paragraph
            if not is_same or (shape == "table" and begins) or (shape == "text" and paragraph != before):
                found.append(Block(shape, [row], has_head=shape == "table" and begins))
            elif shape == "list" and not begins:
                found[-1].rows[-1][1] += f" {piece}"
            else:
                found[-1].rows.append(row)
    return found


def _placed(piece: str) -> tuple[Shape, list[str], bool]:
    """What a sentence stood in, its row there, and whether it begins the table or the item."""
    if not isinstance(piece, Sentence):
        return "text" if piece.endswith(_STOPS) and not _FACT.match(piece) else "facts", [piece], True
    if piece.cells:
        return "table", list(piece.cells), piece.is_head
    if piece.in_list:
        return "list", [piece.item or "-", str(piece)], bool(piece.item)
    return "text", [str(piece)], True


def spans(entity: Entity) -> list[Span]:
    """All of an entry's text that may leave, in reading order: every sentence of a dossier comes through here."""
    if entity.type == "notes":
        return [Span(part.path, part.text, part.mark) for part in sections_of(entity.data)]
    return [Span(section.heading, section.text) for section in sections(entity)]


def _pieces(text: str) -> Iterator[Sentence]:
    """The sentences of Markdown; a table row is one of them, whatever it contains."""
    lines = text.splitlines()
    heads = {line.strip() for line, below in pairwise(lines) if _ROW.match(line) and _DELIMITER.match(_unquoted(below))}
    for number, block in enumerate(_joined(lines)):
        if _ROW.match(block):
            yield from _row(block, is_head=block in heads)
            continue
        mark = _LIST_MARK.match(block)
        plain = clean(_EMPHASIS.sub("", block[mark.end() :] if mark else block))
        item = f"{mark[1] if mark[1][0].isdigit() else '-'} {(mark[2] or '').strip().lower()}".strip() if mark else ""
        for told in _sentences(" ".join(plain.split())):
            if line := one_line(told):
                sentence = Sentence(line)
                sentence.item, sentence.in_list, sentence.block = item, mark is not None, number
                item = ""
                yield sentence


def _unquoted(line: str) -> str:
    match = _QUOTED.match(line)
    return line[match.end() :] if match else line


def _row(line: str, *, is_head: bool) -> Iterator[Sentence]:
    """A table row: of two cells a key and its value, of others the cells between bars."""
    inner = _unquoted(line).strip().strip("|").replace("\\|", "/")
    found = [one_line(clean(_EMPHASIS.sub("", cell))) for cell in inner.split("|")]
    is_pair = len(found) == 2 and all(found)
    told = f"{found[0].rstrip(':')}: {found[1]}" if is_pair else " | ".join(filter(None, found))
    if told:
        row = Sentence(told)
        row.cells, row.is_head = tuple(found), is_head
        yield row


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Table rows, list items and paragraphs, with the lines of which an author has wrapped them."""
    block: list[str] = []
    broken = False
    for line in [*lines, ""]:
        begins = not line.strip() or any(start.match(line) for start in (_ROW, _LIST_MARK, _KEY, _WHOLE))
        if block and (begins or broken or _ROW.match(block[0])):
            yield " ".join(block)
            block = []
        broken = line.endswith(("  ", "\\")) or bool(_WHOLE.match(line))
        if line.strip() and not _RULE.match(_unquoted(line)):
            block.append(line.strip())


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if not ways("ABBREVIATED").search(text[start : end.end()]):
            yield text[start : end.end()].strip()
            start = end.end()
    if text[start:].strip():
        yield text[start:].strip()
