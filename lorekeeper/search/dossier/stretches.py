"""The text of an entry as stretches under one heading, and their sentences, which are quoted whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lorekeeper.entities import Entity
from lorekeeper.printable import one_line
from lorekeeper.text.cleaning import clean
from lorekeeper.text.notes import BETWEEN, heading_path
from lorekeeper.text.sections import sections

_EMPHASIS = re.compile(r"\*+|`+|~~|==|(?<!\w)_+|_+(?!\w)")
_LIST_MARK = re.compile(r"\A\s*(?:>\s*)*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_KEY = re.compile(r"\s*\*\*[^*]+(?:\*\*:|:\*\*)")
_WHOLE = re.compile(r"\s*([*_]{1,3})[^*_]+\1\s*\Z")
"""A line of which all is emphasised."""

_ROW = re.compile(r"\s*\|")
_PLACEHOLDER = re.compile(r"(?:\A|: )\[[^\[\]]+\]\.?\Z")
"""As in "Fear: [to be determined]"."""

_RULE = re.compile(r"[\s|:-]*\Z|\s*[*_-]{3,}\s*\Z")

_ENDS = tuple('.!?:;…"”’')
"""What a sentence ends with."""

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-ZÀ-ÞА-ЯЁ0-9])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Lt|Sgt|Capt|Cpt|Col|Gen|Prof|Fr|vs|etc|approx|no|e\.g|i\.e)|\b[A-Z])\.\s*\Z"
)


@dataclass(frozen=True)
class Piece:
    """A sentence or a table row, in one line.

    Attributes:
        text: what is quoted.
        block: number of the paragraph, list item or row that it is from.
        is_item: whether that is a list item.
        cells: of a row, () for others.
    """

    text: str
    block: int
    is_item: bool = False
    cells: Sequence[str] = ()


@dataclass(frozen=True)
class Stretch:
    """A stretch of an entry's text under one heading.

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
    def sentences(self) -> tuple[str, ...]:
        """Its sentences and table rows, each in one line, without what a template left to be filled in.

        A secret stretch is one piece, which is never cut.
        """
        texts = tuple(piece.text for piece in self.pieces)
        if self.mark:
            return (joined(texts),) if texts else ()
        return tuple(text for text in texts if not _PLACEHOLDER.search(text))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The sentences with the shape that they have in the text."""
        return tuple(_pieces(self.text))


def joined(sentences: Sequence[str]) -> str:
    """Sentences in one line, with a dot in the middle behind those that are none, such as table rows."""
    ends = [sentence if sentence.endswith(_ENDS) else f"{sentence} ·" for sentence in sentences]
    return " ".join(ends).removesuffix(" ·")


def stretches(entity: Entity) -> list[Stretch]:
    """All of an entry's text that may leave, in reading order: every sentence of a dossier comes through here."""
    parts = entity.data.get("sections") if entity.type == "notes" else None
    if isinstance(parts, list):
        return [_stretch(part) for part in parts if isinstance(part, Mapping)]
    return [Stretch(section.heading, section.text) for section in sections(entity)]


def _stretch(part: Mapping[str, object]) -> Stretch:
    return Stretch(heading_path(part), str(part.get("desc") or ""), str(part.get("mark") or ""))


def _pieces(text: str) -> Iterator[Piece]:
    """The sentences of Markdown; a table row is one of them, whatever it contains."""
    for number, block in enumerate(_joined(text)):
        if _ROW.match(block):
            cells = _cells(block)
            found = [Piece(_row(cells), number, cells=cells)]
        else:
            plain = clean(_EMPHASIS.sub("", _LIST_MARK.sub("", block, count=1)))
            is_item = bool(_LIST_MARK.match(block))
            found = [Piece(sentence, number, is_item) for sentence in _sentences(" ".join(plain.split()))]
        yield from (replace(piece, text=line) for piece in found if (line := one_line(piece.text)))


def _cells(line: str) -> list[str]:
    """The cells of a table row."""
    inner = line.strip().strip("|").replace("\\|", "/")
    return [one_line(" ".join(clean(_EMPHASIS.sub("", cell)).split())) for cell in inner.split("|")]


def _row(cells: Sequence[str]) -> str:
    """A table row in one line: of two cells a key and its value, of others the cells between bars."""
    if len(cells) == 2 and all(cells):
        return f"{cells[0].rstrip(':')}: {cells[1]}"
    return " | ".join(filter(None, cells))


def _joined(text: str) -> Iterator[str]:
    """Table rows, list items and paragraphs, with the lines of which an author has wrapped them."""
    block: list[str] = []
    broken = False
    for line in [*text.splitlines(), ""]:
        begins = not line.strip() or any(start.match(line) for start in (_ROW, _LIST_MARK, _KEY, _WHOLE))
        if block and (begins or broken or _ROW.match(block[0])):
            yield " ".join(block)
            block = []
        broken = line.endswith(("  ", "\\")) or bool(_WHOLE.match(line))
        if line.strip() and not _RULE.match(line):
            block.append(line.strip())


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATED.search(text[start : end.end()]):
            yield text[start : end.end()].strip()
            start = end.end()
    if text[start:].strip():
        yield text[start:].strip()
