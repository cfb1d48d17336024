"""The text of an entry as stretches under one heading, and their sentences, which are quoted whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        pieces = tuple(piece for block in _blocks(self.text) if (piece := one_line(block)))
        if self.mark:
            return (joined(pieces),) if pieces else ()
        return tuple(piece for piece in pieces if not _PLACEHOLDER.search(piece))


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


def _blocks(text: str) -> Iterator[str]:
    """The sentences of Markdown; a table row is one of them, whatever it contains."""
    for block in _joined(text):
        if _ROW.match(block):
            yield _row(block)
        else:
            plain = clean(_EMPHASIS.sub("", _LIST_MARK.sub("", block, count=1)))
            yield from _sentences(" ".join(plain.split()))


def _row(line: str) -> str:
    """A table row: of two cells a key and its value, of others the cells between bars."""
    inner = line.strip().strip("|").replace("\\|", "/")
    cells = [" ".join(clean(_EMPHASIS.sub("", cell)).split()) for cell in inner.split("|")]
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
