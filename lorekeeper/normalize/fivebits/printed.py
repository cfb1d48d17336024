"""The words of 5e-bits as the book prints them, where the pages of the book are at hand.

The objects were typed, and some of them translated back: a few hundred of their sentences have a word, a figure or a half of a
sentence that the book has not. What stands below the title of a thing in the book is what the thing says.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from itertools import pairwise
from operator import itemgetter
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.normalize.fivebits.texts import name_of, strings
from lorekeeper.normalize.printed_srd.layout import CELL_GAP, table_names
from lorekeeper.normalize.printed_srd.structure import Block
from lorekeeper.normalize.printed_srd.titles import is_title

_WORD = re.compile(r"\d[\d,]*|[^\W\d_]+(?:['’`][^\W\d_]+)*")

_TEXTS = frozenset(("desc", "description", "higher_level", "material", "damage_resistances", "damage_immunities"))
"""The keys of texts."""

_PLAIN = str.maketrans("“”’`", "\"\"''")
"""How the objects write the quotation marks of the book."""

_MARKS = frozenset("\n|*_")
"""Of Markdown: what has them stays as it is."""

_ITEM = "- "
"""How an item of a list begins."""

_ANY = re.compile("")
"""A sign that stands everywhere."""

_FEWEST, _FEWEST_RETOLD = 6, 15
"""Words of a text that is looked for, and of one that may be retold."""

_LONGEST = 6_000
"""Words below a title that may be of its thing."""

_ALIKE, _ALIKE_SHORT, _RETOLD = 0.85, 0.6, 0.35
"""Least share of the words of a text that its place in the book has too: to be corrected word by word, the same of a short one that
is not retold, and to be retold."""

_HALF = 0.5
"""Share of the words of a sentence up to which the book does not have it."""

_AS_LONG = 0.6
"""Least share of the words of the longer one that a text or the paragraph has in which the book tells it otherwise."""

_LABEL = re.compile(r"(?:.{0,200}?\bDuration: [A-Z\d]?[^A-Z]* |At Higher Levels\. )(?=[A-Z])")
"""What the paragraph of a spell may begin with in the book and has a key of its own here."""

_AROUND = 2
"""Words that have to be the same on both sides of what is corrected. So many words at an end of a text are corrected beside as many
equal ones, if a sentence of the book ends there, too."""

_NEAR = 40
"""Words before and behind the place of a text that are compared with it."""

_ENDS, _TITLE_ENDS, _SENTENCE_ENDS = frozenset(("", "\n", *".:!?)”")), frozenset(".("), frozenset("\n.!?")

_VARIANT = re.compile(r" \([^()]*\)$")
"""What a name may have behind that of the thing of which it is a variant; else a comma with the rest, if it is a form."""

_ROWS = re.compile(rf"(?m)^(?:(?P<above>[^\n{CELL_GAP}]*)\n)?(?P<rows>(?:[^\n{CELL_GAP}]*{CELL_GAP}[^\n]*(?:\n|\Z))+)")
"""A table with the paragraph above it."""


class _Freedom(IntEnum):
    """What of a text may be as the book has it."""

    WORDS = 0
    """What has no figures: a variant has its own."""
    FIGURES = 1
    """Single words and figures: the parts of a thing share paragraphs."""
    OWN = 2
    """The same of a part with a title."""
    WHOLE = 3
    """A text that is told in other words, too."""


_Place = tuple[int, int]
"""The first word below a title, and the one behind the last."""


@dataclass(frozen=True)
class _Table:
    """A table of the book.

    Attributes:
        caption: folded.
        opening: its caption and its titles, folded.
        rows: each, folded.
        markdown: of the whole.
        begins: where in the text of the book.
        ends: where what follows begins.
        word: its first.
    """

    caption: str
    opening: str
    rows: frozenset[str]
    markdown: str
    begins: int
    ends: int
    word: int

    def put_into(self, text: str) -> str:
        """A text with the table in place of the lines of its cells, if it has such, else at its end."""
        lines = text.split("\n")
        keys, shortest, whole = [*map(fold, lines)], self.caption or self.opening, len(lines)
        begin = next(
            (at for at, key in enumerate(keys) if key.startswith(shortest) and self.opening.startswith(key)), whole
        )
        end = next((at for at in range(begin, whole) if not lines[at]), whole)
        own = {*range(begin, end), *(at for at, line in enumerate(lines) if line[:1] != "|" and keys[at] in self.rows)}
        first = min(own, default=whole)
        rest = [line for at, line in enumerate(lines[first:], first) if at not in own]
        return "\n".join([*lines[:first], *([] if own else [""]), self.markdown, *rest])


@dataclass(frozen=True)
class Below:
    """What stands below the title of a thing, in one line, its paragraphs, and whether that is its own title."""

    text: str
    lines: Sequence[str]
    is_own: bool


class Printed:
    """The paragraphs of a book.

    Args:
        paragraphs: their texts, in the order of the book.
        variants: the titles of the book below which things stand that are called otherwise.
    """

    def __init__(self, paragraphs: Iterable[str], variants: Mapping[str, str]) -> None:
        self._variants = variants
        self._text = "\n".join(paragraphs)
        self._words = [*_WORD.finditer(self._text)]
        self._tables = [*self._read_tables()]
        self._captions = {table.word for table in self._tables}
        self._corrections: dict[str, str] = {}
        self._plain = [word[0].translate(_PLAIN) for word in self._words]
        self._keys = [word.casefold() for word in self._plain]
        self._number = Counter(self._keys)
        self._threes: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, three in enumerate(zip(self._keys, self._keys[1:], self._keys[2:], strict=False)):
            self._threes[three].append(place)
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, key in enumerate(self._keys):
            self._places[key].append(place)

    def corrected(
        self, things: Sequence[Any], sign: re.Pattern[str] = _ANY, within: Sequence[_Place] = ()
    ) -> list[Any]:
        """The objects of a list, with the words of the book in their texts.

        Args:
            things: named objects, whose parts may have names too.
            sign: what stands below the title of such a thing, and not behind a part of another thing that is called the same.
            within: where in the book they stand; empty for anywhere.
        """
        is_part = bool(within)
        within = within or [(0, len(self._keys))]

        def places_of(title: str) -> list[int]:
            return self._signed(title, within, sign) or self._titles(title, within)

        titles = {name: places_of(name) for thing in things if (name := name_of(thing))}
        starts = sorted({start for own in titles.values() for start in own})
        variants = {name for name, own in titles.items() if not own} | {
            name_of(each) for each in things if _is_variant(each)
        }
        for name, own in titles.items():
            titles[name] = own or places_of(self._called(name))

        def freedom(name: str) -> _Freedom:
            if is_part or several[name] > 1:
                return _Freedom.OWN if is_part and titles[name] else _Freedom.FIGURES
            return _Freedom.WORDS if name in variants else _Freedom.WHOLE

        def places(name: str) -> Iterator[_Place]:
            for start in titles.get(name, ()):
                following = bisect_right(starts, start)
                end = next(end for begin, end in within if begin <= start < end)
                yield start, min(end, start + _LONGEST, *starts[following : following + 1])

        several = Counter(map(name_of, things))
        owned = self._each_its_own([each for each in things if several[name_of(each)] > 1], places)
        found = [
            self._thing(thing, owned.get(id(thing)) or tuple(places(name_of(thing))), freedom(name_of(thing)))
            for thing in things
        ]
        said = [
            each if titles.get(name_of(each)) or _is_variant(each) else strings(each, self._of_same) for each in found
        ]
        return [each for each in said if each.get("desc") != "" or not is_part]

    def _each_its_own(
        self, things: Iterable[Any], places: Callable[[str], Iterable[_Place]]
    ) -> dict[int, list[_Place]]:
        """Of things that are called alike, by `id`, where each stands: what stands once is of the one that has most of it."""
        said = {
            id(each): (
                name_of(each),
                *map(_key, _WORD.findall(str([each[key] for key in sorted(_TEXTS & each.keys())]))),
            )
            for each in things
        }
        found = dict[tuple[str, ...], list[_Place]]()
        shares = [
            (self._compared([*own[1:]], place)[0], own, place) for own in {*said.values()} for place in places(own[0])
        ]
        for _, own, place in sorted(shares, reverse=True):
            if own not in found and [place] not in found.values():
                found[own] = [place]
        return {each: found[own] for each, own in said.items() if own in found}

    def below(self, things: Iterable[Any], sign: re.Pattern[str]) -> dict[str, Below]:
        """What stands below the titles of things where a sign matches, up to the next such title, by their names."""
        whole, found = [(0, len(self._keys))], dict[str, tuple[int, bool]]()
        for name in map(name_of, things):
            for title in (name, self._called(name)):
                starts = self._signed(title, whole, sign)
                if starts and name not in found:
                    found[name] = self._behind(title, starts[0]), title == name
        places = sorted({at for at, _ in found.values()})
        ends = dict(pairwise([*places, len(self._text)]))
        lines = {at: self._text[at : ends[at]].translate(_PLAIN).lstrip(")\n").split("\n") for at in places}
        texts = {at: " ".join(" ".join(each).split()) for at, each in lines.items()}
        return {name: Below(texts[at], lines[at], is_own) for name, (at, is_own) in found.items()}

    def _signed(self, title: str, within: Sequence[_Place], sign: re.Pattern[str]) -> list[int]:
        """Where a title stands with a sign behind it."""
        return [at for at in self._titles(title, within) if sign.match(self._text, self._behind(title, at))]

    def _behind(self, title: str, start: int) -> int:
        """Where in the text a title ends."""
        return self._words[start + len(_WORD.findall(title)) - 1].end()

    def _called(self, name: str) -> str:
        """The title of the thing of which something is a form or a variant, or its own without that of the thing it is part of."""
        thing, comma, _ = name.partition(", ")
        return self._variants.get(name, thing if comma else _VARIANT.sub("", name.rpartition(": ")[2]))

    def _of_same(self, text: str) -> str:
        """A text of a thing without a title as another thing has it that has one."""
        return self._corrections.get(text) or self._said(text)

    def _said(self, text: str) -> str:
        """A text; "" for a sentence of which the book does not say half."""
        keys = [*map(_key, _WORD.findall(text))]
        is_sentence = len(self._keys) > len(keys) >= _FEWEST and text.endswith(".")
        return "" if is_sentence and self._compared(keys, (0, len(self._keys)))[0] <= _HALF else text

    def _read_tables(self) -> Iterator[_Table]:
        starts = [word.start() for word in self._words]
        for found in _ROWS.finditer(self._text):
            rows = [line.split(CELL_GAP) for line in found["rows"].strip("\n").split("\n")]
            caption = found["above"] if is_title(found["above"]) else ""
            begins = found.start() if caption else found.start("rows")
            markdown = Block(caption, 0, rows=rows).markdown
            opening = fold(" ".join((caption, *rows[0])))
            said = frozenset(fold(" ".join(row)) for row in rows)
            yield _Table(fold(caption), opening, said, markdown, begins, found.end(), bisect_left(starts, begins))

    def _thing(self, value: Any, places: Sequence[_Place], may: _Freedom, key: str = "") -> Any:
        if not places:
            return value
        if isinstance(value, Mapping):
            return {name: self._thing(each, places, may, name) for name, each in value.items()}
        if isinstance(value, list) and any(map(name_of, value)):
            return self.corrected(value, within=places)
        parts = [value] if isinstance(value, str) else value
        if isinstance(parts, list) and not all(isinstance(each, str) for each in parts):
            return [self._thing(each, places, may, key) for each in parts]
        if key not in _TEXTS or not parts:
            return value
        told = "\n\n".join(self._corrected(each, places, may) for each in parts)
        whole = self._with_tables(told, places, may)
        if parts is value:
            return whole.split("\n\n")
        if whole != value:
            self._corrections[value] = whole
        return whole

    def _titles(self, name: str, within: Sequence[_Place]) -> list[int]:
        """Where a name is a title: behind the end of a sentence, or with a full stop or a bracket behind it."""
        words = _WORD.findall(name.translate(_PLAIN))
        places = [place for place in self._places[_key(words[0])] if place not in self._captions] if words else []
        return [
            place
            for begin, end in within
            for place in places[bisect_left(places, begin) : bisect_left(places, end)]
            if self._plain[place : place + len(words)] == words and self._stands_apart(place, place + len(words) - 1)
        ]

    def _stands_apart(self, first: int, last: int) -> bool:
        end = self._words[last].end()
        return self._begins(first) or self._text[end : end + 2].lstrip(" ")[:1] in _TITLE_ENDS

    def _corrected(self, text: str, places: Sequence[_Place], may: _Freedom) -> str:
        own = [*_WORD.finditer(text)]
        if len(own) < _FEWEST:
            return text
        share, first, operations = self._found(own, places, may)
        corrected = self._in_its_words(text, own, share, first, operations, may)
        if corrected != text:
            self._corrections[text] = corrected
        elif share < _ALIKE_SHORT and may == _Freedom.WHOLE:
            return self._said(text)
        return corrected

    def _found(
        self, words: Sequence[re.Match[str]], places: Sequence[_Place], may: _Freedom
    ) -> tuple[float, int, list[Any]]:
        """Of some places, or of the whole book, the one that has most of some words, as `_compared` says."""
        keys = [_key(word[0]) for word in words]
        found = [self._compared(keys, place) for place in places]
        is_said = len(keys) < _FEWEST_RETOLD or any(share >= _ALIKE for share, _, _ in found)
        if may == _Freedom.WHOLE and not is_said:  # what is said of several things stands once
            found.append(self._compared(keys, (0, len(self._keys))))
        return max(found, key=itemgetter(0))

    def _with_tables(self, text: str, places: Sequence[_Place], may: _Freedom) -> str:
        """A text with the tables in its place in the book, right behind it, or not far from it and named in it."""
        if "table" not in text and not any(
            start <= table.word < end for start, end in places for table in self._tables
        ):
            return text
        share, first, operations = self._found([*_WORD.finditer(text)], places, may)
        if share < _ALIKE_SHORT:
            return text
        end = first + max(each[4] for each in operations if each[0] == "equal")
        behind = self._text.find("\n", self._words[end - 1].end()) + 1
        named = table_names([text])
        for table in self._tables if "\n|" not in text else ():
            is_behind = table.begins == behind and "table" in text
            behind = table.ends if is_behind else behind
            reach = _LONGEST if table.caption in named else 0
            is_near = first - reach <= table.word < end + reach
            if (is_behind or is_near) and (reach or may > _Freedom.WORDS):
                text = table.put_into(text)
        return text

    def _in_its_words(
        self, text: str, own: list[re.Match[str]], share: float, first: int, operations: list[Any], may: _Freedom
    ) -> str:
        if share < (_ALIKE_SHORT if may == _Freedom.OWN else _ALIKE) and len(own) >= _FEWEST_RETOLD:
            same = max(operations, key=lambda each: (each[0] == "equal", each[2] - each[1]), default=None)
            is_told = may == _Freedom.WHOLE and same and share >= _RETOLD
            return self._retold(text, len(own), first + same[3]) if same and is_told else text
        if share < _ALIKE_SHORT:
            return text
        text = self._in_its_letters(text, own, first, operations)
        parts, written, keys = list[str](), 0, [_key(word[0]) for word in own]
        for start, end, theirs, behind in self._others(len(own), first, operations, text.endswith(".")):
            is_first, is_last = not start, end == len(own)
            left = own[0].start() if is_first else own[start - 1].end()
            right = len(text) if is_last else own[end].start()
            begin = self._words[theirs].start() if is_first else self._words[theirs - 1].end()
            until = self._words[behind - 1].end() + 1 if is_last else self._words[behind].start()
            printed = self._text[begin:until].rstrip("\n")
            printed += " " if printed and not is_last and self._text[until - 1] == "\n" else ""
            if _MARKS.isdisjoint(text[left:right] + printed) and self._is_other(keys[start:end], theirs, behind, may):
                parts += [text[written:left], printed.translate(_PLAIN)]
                written = right
        return "".join([*parts, text[written:]])

    def _in_its_letters(self, text: str, own: list[re.Match[str]], first: int, operations: list[Any]) -> str:
        """A text with the capitals that its words have in the book, but for one that begins a sentence on one side."""
        for kind, start, end, theirs, _ in operations:
            for place in range(start + 1, end if kind == "equal" else 0):
                word, at = own[place], first + theirs + place - start
                printed = self._plain[at]
                if word[0].translate(_PLAIN) != printed and len(word[0]) == len(printed) and not self._begins(at):
                    text = text[: word.start()] + printed + text[word.end() :]
        return text

    def _others(
        self, number: int, first: int, operations: list[Any], is_sentence: bool
    ) -> Iterator[tuple[int, int, int, int]]:
        """The words of a text between equal ones, and behind and before all of these, each with those that the book has there.

        A text that ends a sentence where that of the book goes on has lost the rest of it.
        """
        same = [(each[1], each[2], first + each[3], first + each[4]) for each in operations if each[0] == "equal"]
        same = [each for each in same if each[1] - each[0] >= _AROUND]
        if not same:
            return
        if len(same) > 1 and "\n" in self._text[self._words[same[-2][3]].start() : self._words[same[-1][2]].start()]:
            gap, length = same[-1][2] - same[-2][3], same[-1][1] - same[-1][0]
            same = same[:-1] if gap > length else same  # it is of what follows
        start, _, place, _ = same[0]
        _, end, _, behind = same[-1]
        begins = (at for at in range(place - 1, place - (1 + _AROUND) * start - 1, -1) if self._begins(at))
        if 0 < start <= _AROUND and (begin := next(begins, None)) is not None:
            yield 0, start, begin, place
        for before, after in pairwise(same):
            yield before[1], after[0], before[3], after[2]
        at = self._words[behind - 1].end()
        goes_on = is_sentence and number == end and self._text[at : at + 3].lstrip(", ")[:1].islower()
        ends = filter(self._ends, range(behind, behind + (_NEAR if goes_on else number - end + 2 * _AROUND)))
        if (goes_on or 0 < number - end <= _AROUND) and (last := next(ends, None)):
            yield end, number, behind, last + 1

    def _begins(self, word: int) -> bool:
        """Whether a word of the book begins a sentence or a paragraph."""
        start = self._words[word].start()
        return self._text[max(start - 2, 0) : start].rstrip(" ")[-1:] in _ENDS

    def _ends(self, word: int) -> bool:
        """Whether a word of the book ends a sentence or a paragraph."""
        return word < len(self._words) and self._text[(end := self._words[word].end()) : end + 1] in _SENTENCE_ENDS

    def _retold(self, text: str, number: int, word: int) -> str:
        """The paragraph with a word of the book, if it is about as long as a text that it tells in other words; else the text."""
        place = self._words[word].start()
        begin, end = self._text.rfind("\n", 0, place) + 1, self._text.find("\n", place)
        while self._text[end - 1] not in _SENTENCE_ENDS and CELL_GAP not in self._text[begin:end]:
            end = self._text.find("\n", end + 1)
        paragraph = self._text[begin:end].replace("\n", " ")
        label = _LABEL.match(paragraph)
        printed = paragraph[label.end() if label else 0 :].translate(_PLAIN)
        lengths = sorted((number, len(_WORD.findall(printed))))
        is_plain = _MARKS.isdisjoint(text) and CELL_GAP not in printed
        item = _ITEM if text.startswith(_ITEM) else ""
        return item + printed if is_plain and lengths[0] >= _AS_LONG * lengths[1] else text

    def _compared(self, keys: list[str], place: _Place) -> tuple[float, int, list[Any]]:
        """The share of words that a place has too, the first word of the book that was compared, and how words become its."""
        votes: Counter[int] = Counter()
        for number, three in enumerate(zip(keys, keys[1:], keys[2:], strict=False)):
            found_at = self._threes.get(three, ())
            begin, end = bisect_left(found_at, place[0]), bisect_left(found_at, place[1])
            votes.update(at - number for at in found_at[begin:end])
        if not votes:
            return 0.0, 0, []
        at = max(votes, key=lambda offset: (votes[offset], -offset))
        if self._keys[at : at + len(keys)] == keys:
            return 1.0, at, [("equal", 0, len(keys), 0, len(keys))]
        first, behind = max(at - _NEAR, place[0]), min(at + len(keys) + _NEAR, place[1])
        found = SequenceMatcher(None, keys, self._keys[first:behind], autojunk=False)
        share = sum(block.size for block in found.get_matching_blocks()) / len(keys)
        return share, first, found.get_opcodes()

    def _is_other(self, own: list[str], first: int, behind: int, may: _Freedom) -> bool:
        """Whether words of the book are other ones than those of a text; a line of it may have lost a part of a split word."""
        theirs = self._keys[first:behind]
        has_figures, are_figures = any(map(str.isdigit, own)), any(map(str.isdigit, theirs))
        is_own = has_figures and not are_figures
        if may == _Freedom.WORDS:
            is_own = has_figures or are_figures or len(own) != len(theirs)
        one, other = "".join(own), "".join(theirs)
        is_read = all(self._number[word] > 1 or word.isdigit() for word in theirs) or not one.startswith(other)
        return not is_own and is_read and (one != other or len(own) > len(theirs))


def _is_variant(thing: Any) -> bool:
    return isinstance(thing, Mapping) and bool(thing.get("variant"))


def _key(word: str) -> str:
    return word.translate(_PLAIN).casefold()
