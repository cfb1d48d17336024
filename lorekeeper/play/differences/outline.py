"""The page of an entry taken apart: lines with labels, and sentences under their headings and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lorekeeper.entities import Entity
from lorekeeper.play.differences.align import CELLS
from lorekeeper.play.differences.words import keys, plain, sentences
from lorekeeper.render import markdown
from lorekeeper.render.creature import ABILITY_HEADINGS
from lorekeeper.render.prose import HEADING, cells, is_table_rule

_LINE = re.compile(r"- \*\*([^*\n]{1,80})\*\* (.+)")
"""A line with a label, as `render.page.labelled` writes it."""

_NAMED = re.compile(r"(\*{2,3})_?([^*\n]{1,120}?)(?:[.:!?]_?\1|_?\1[.:])(?:\s+|$)")
"""The name of a trait, an action or a feature, as `render.source.feature` writes it."""

_RUN_IN = re.compile(r"(?:- )((?:[A-Z0-9][\w'’]{0,30}(?: (?:of|to|the|and|in|or))*(?: |(?=\.))){1,6})\.\s+(?=[A-Z0-9])")
"""The name that an item of a list begins with, as the books print those of conditions: "- Speed 0. Your Speed is 0"."""

_ITALIC = re.compile(r"\*([^*\n]+)\*")
_QUOTED = re.compile(r"\A(?:> ?)+")
"""What a line of a box begins with."""

_BULLET = re.compile(r"\A\s*- ")
_ITEM = re.compile(r"\s*(?:- |\d{1,3}[.)] )")

KINDS = {"spells": "Level", "creatures": "Type", "equipment": "Category"}
"""What the line in italics below the name says, by entity type."""

DETAILS = ("Details",)
"""Where `render.page.rest` puts further lines."""

LONGEST_FACT = 300
"""A longer value is a text, in characters."""


@dataclass
class Block:
    """Sentences of one place: the headings above them and the name before them."""

    place: tuple[str, ...]
    name: str = ""
    sentences: list[str] = field(default_factory=list)

    @property
    def path(self) -> tuple[str, ...]:
        """Headings and name."""
        return (*self.place, self.name) if self.name else self.place


@dataclass
class Outline:
    """A page: its facts as label and value, and its blocks, both in order."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


def outline(entity: Entity) -> Outline:
    """The page of an entry without its title."""
    return _Reader(entity.type).read(markdown(entity, in_style=False))


class _Reader:
    """Reads a page paragraph by paragraph."""

    def __init__(self, entity_type: str) -> None:
        self._kind = KINDS.get(entity_type, "Kind")
        self._is_note = entity_type == "notes"
        self._page = Outline()
        self._headings: list[tuple[int, str]] = []
        self._block: Block | None = None
        self._unnamed: Block | None = None

    def read(self, page: str) -> Outline:
        for number, paragraph in enumerate(_paragraphs([_QUOTED.sub("", row) for row in page.split("\n")[1:]])):
            match = HEADING.fullmatch(paragraph[0])
            if match:
                self._enter(len(match[1]), plain(match[2]))
            elif paragraph[0].startswith("|"):
                self._table([row for row in paragraph if not is_table_rule(row)])
            elif number == 0 and len(paragraph) == 1 and (italic := _ITALIC.fullmatch(paragraph[0])):
                self._page.facts.append((self._kind, plain(italic[1])))
            else:
                self._text(paragraph)
        kinds = [keys(value) for label, value in self._page.facts if label == self._kind]
        self._page.facts = [  # what says again what the entry is, says nothing of its own
            (label, value) for label, value in self._page.facts if label == self._kind or keys(value) not in kinds
        ]
        self._page.blocks = [block for block in self._page.blocks if block.sentences or block.name]
        for block in self._page.blocks:
            block.sentences = block.sentences or [block.name]
        return self._page

    @property
    def _place(self) -> tuple[str, ...]:
        return tuple(heading for _, heading in self._headings)

    def _enter(self, level: int, heading: str) -> None:
        self._headings = [*(each for each in self._headings if each[0] < level), (level, heading)]
        self._block = self._unnamed = None

    def _add(self, *texts: str) -> None:
        if self._block is None:
            self._begin("")
        assert self._block is not None
        self._block.sentences += filter(keys, texts)

    def _begin(self, name: str) -> None:
        self._block = Block(self._place, name)
        self._page.blocks.append(self._block)
        self._unnamed = self._unnamed if name else self._block

    def _table(self, rows: Sequence[str]) -> None:
        told = [list(map(plain, cells(row))) for row in rows]
        if len(told) == 2 and told[0] == ABILITY_HEADINGS:
            self._page.facts += zip(*told, strict=True)
        else:
            self._add(*(CELLS.join(row) for row in told))

    def _text(self, paragraph: Sequence[str]) -> None:
        """Items of a list one by one, other lines together."""
        for item in _items(paragraph):
            if self._is_fact(item):
                continue
            text = _BULLET.sub("", item, count=1)
            if name := _NAMED.match(text):
                self._begin(plain(name[2]))
                text = text[name.end() :]
            elif name := _RUN_IN.match(item):
                self._begin(plain(name[1]))
                text = item[name.end() :]
            elif self._is_note:
                # in a note "**Secret:** ..." names its own line, in a stat block all to the next name
                self._block = self._unnamed
            self._add(*map(plain, sentences(text)))

    def _is_fact(self, item: str) -> bool:
        """Whether an item is a line with a label, which then is kept."""
        match = _LINE.fullmatch(item) if self._place in ((), DETAILS) else None
        if match is None or len(match[2]) > LONGEST_FACT:
            return False
        self._page.facts.append((plain(match[1]).rstrip(".:"), plain(match[2])))
        return True


def _paragraphs(rows: Sequence[str]) -> Iterator[list[str]]:
    """Lines that stand together; a heading is by itself."""
    block: list[str] = []
    for row in [*rows, ""]:
        heading = HEADING.fullmatch(row)
        if block and (not row or heading or row.startswith("|") != block[0].startswith("|")):
            yield block
            block = []
        if heading:
            yield [row]
        elif row:
            block.append(row)


def _items(paragraph: Sequence[str]) -> Iterator[str]:
    """The items of a list; lines that begin none belong to what is before them."""
    item: list[str] = []
    for row in paragraph:
        if item and (_ITEM.match(row) or _NAMED.match(row)):
            yield " ".join(item)
            item = []
        item.append(row.strip())
    yield " ".join(item)
