"""Paragraphs of a printed book as its titles, texts, lists and tables, written in Markdown.

The outline of a book names its upper titles. A title below these is a short line in title case with a text right below it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lorekeeper.folding import fold
from lorekeeper.normalize.book import FEAT
from lorekeeper.normalize.printed_srd.layout import CELL_GAP, Paragraph, is_box, table_names
from lorekeeper.normalize.printed_srd.titles import is_title, is_value, titled
from lorekeeper.records.printed import RUBRICS, has_value, kind_said, plain

FAR = 4
"""Pages after the one that an outline names on which a title may stand."""

_RUN_IN = re.compile(
    r"(?P<name>[\u201c\"]?[A-Z\d][^.:;!?|]{0,70}?(?: ?\([^()]{1,60}\))?[.!?][\u201d\"]?) +(?P<rest>\S.*)"
)
_ENDS_TEXT = re.compile(r"[.!?:;,\u201d]$")
_LABELLED = re.compile(r"[A-Z][\w ]{2,30}: \S")


CHAPTER = 2
"""Level of the titles below which a box stands, whatever it is amid."""

_IN_ORDER = 4
"""Lines of a list that are in the order of the alphabet by no accident."""


_RUBRICS = RUBRICS.keys() - {"description", "features", "reaction", "action"}
"""Titles within an entry, in lower case."""


def says_kind(line: str) -> bool:
    """Whether a line says what the entry below whose name it stands is."""
    return bool(kind_said(line)) or FEAT.fullmatch(line) is not None


def is_value_line(line: str) -> bool:
    """Whether a line is one of the values that follow such a line."""
    return has_value(plain(line))


@dataclass
class Block:
    """A part of a book.

    Attributes:
        text: of a title, a paragraph, or the caption of a table.
        page: on which it begins.
        level: of a title, 0 for none.
        is_point: whether it is a point of a list.
        is_within: whether it belongs to the text above, which ends with a colon.
        rows: of a table, the head first.
    """

    text: str
    page: int
    level: int = 0
    is_point: bool = False
    is_within: bool = False
    rows: list[list[str]] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        """The block as Markdown."""
        if self.rows:
            return "\n".join([*([f"**{self.text}**", ""] if self.text else []), *table_lines(self.rows)])
        if self.level:
            return f"{'#' * self.level} {self.text}"
        name = named(self.text)
        if name and self.is_within:
            return f"- *{name['name']}* {name['rest']}"
        text = f"***{name['name']}*** {name['rest']}" if name else self.text
        return f"- {text}" if self.is_point else text


def named(text: str) -> re.Match[str] | None:
    """The name with which a paragraph begins, and the rest: a sentence in title case."""
    match = _RUN_IN.match(text)
    return match if match and is_title(match["name"].rstrip('.!?\u201d"')) else None


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as a table in Markdown, the head first."""
    width = max(map(len, rows))
    for place, row in enumerate(rows):
        cells = [cell.replace("|", "\\|") for cell in row]
        yield f"| {' | '.join([*cells, *[''] * (width - len(cells))])} |"
        if not place:
            yield f"|{'---|' * width}"


class _List:
    """Named paragraphs below a text that ends with a colon: all that follow, or those that share a word with its name."""

    def __init__(self) -> None:
        self.lead: set[str] | None = None
        self.shares = False

    def has(self, each: Paragraph) -> bool:
        """Whether a paragraph is one of them; asked of each in turn."""
        name = named(each.text)
        words = set(fold(name["name"]).split()) if name else set()
        if self.lead is not None and name and not each.is_indented and not each.is_point:
            self.shares = self.shares or bool(self.lead & words)
            if not self.shares or self.lead & words:
                return True
        self.lead = words if each.text.endswith(":") else None
        self.shares = False
        return False


class Structure:
    """What the paragraphs of a book are.

    Args:
        found: the paragraphs.
        outline: the upper titles of the book in their order: (title, level, page).
        taking: titles, by their pages and folded, of which those below are part of the text that the outline lacks.
        boxes: how many paragraphs boxes have whose end nothing shows, by their titles, as those of ``taking``.
    """

    def __init__(
        self,
        found: Sequence[Paragraph],
        outline: Sequence[tuple[str, int, int]],
        taking: Container[tuple[int, str]] = frozenset(),
        boxes: Mapping[tuple[int, str], int] = MappingProxyType({}),
    ) -> None:
        self.shows_titles = any(each.is_title for each in found)
        self.paragraphs = _whole_titles(found, {fold(title) for title, _, _ in outline})
        self.taking = taking
        self.boxes = boxes
        self.times = Counter(_without_brackets(each.text) for each in found)
        self.levels = _outlined(self.paragraphs, outline)
        self.paragraphs = self._apart_behind()
        self.levels = _outlined(self.paragraphs, outline)
        self.paragraphs = self._with_tables_in_place()
        self.levels = _outlined(self.paragraphs, outline)

    def blocks(self) -> Iterator[Block]:
        """All blocks of the book."""
        place, level, in_head, in_entry, is_taking, list_of = 0, 1, False, False, False, _List()
        while place < len(self.paragraphs):
            each = self.paragraphs[place]
            in_head = says_kind(each.text) or (in_head and is_value_line(each.text))
            in_entry = in_entry or in_head or self.shows_titles  # where the kind is run together with values
            if place in self.levels:
                level, in_entry = self.levels[place], False
                is_taking = _key(each) in self.taking
                yield Block(titled(each.text), each.page, level)
            elif (end := self._table_end(place)) > place:
                yield self._table(place, end)
                place = end
                continue
            elif in_entry and fold(each.text) in _RUBRICS and not each.is_indented:
                list_of = _List()
                yield Block(each.text, each.page, level + 2)
            elif not in_head and self._is_title(place):
                takes = _key(each) in self.taking
                is_part = is_taking and not takes and not says_kind(self._text(place + 1))
                is_taking = is_taking or takes
                title = titled(each.text)
                own = (min(level, CHAPTER) if self._is_sidebar(place) else level) + 1
                yield Block(f"**{title}**" if is_part else title, each.page, 0 if is_part else own)
            else:
                yield Block(each.text, each.page, is_point=each.is_point, is_within=list_of.has(each))
            place += 1

    def _apart_behind(self) -> list[Paragraph]:
        """The paragraphs, with what stood amid a section behind it, and a box above the title of one behind that section."""
        found: list[Paragraph] = []
        apart: list[Paragraph] = []
        above, box = 0, range(0)
        for place, each in enumerate(self.paragraphs):
            start = self._box(place)
            above = len(apart) if start and place != box.stop else above
            box = start or box
            if each.is_apart or place in box:
                apart.append(each)
                continue
            if apart and place in self.levels:
                is_above = place == box.stop and apart[above].page == each.page
                found += apart[: above if is_above else None]
                apart = apart[above:] if is_above else []
                above = 0
            found.append(each)
        return found + apart

    def _is_sidebar(self, place: int) -> bool:
        """Whether a box begins at a paragraph with its title, which is in small capitals or listed."""
        each = self.paragraphs[place]
        if _key(each) in self.boxes:
            return True
        return each.is_small and self._is_title(place) and not says_kind(self._text(place + 1))

    def _box(self, place: int) -> range:
        """The paragraphs of a box that begins with its title, or before an indented name with which the text goes on."""
        if place in self.levels:
            return range(0)
        if number := self.boxes.get(_key(self.paragraphs[place])):
            return range(place, place + 1 + number)
        is_sidebar = self._is_sidebar(place)
        if not is_sidebar and not is_box(self._text(place + 1)):
            return range(0)
        for end in range(place + 1 + (not is_sidebar), len(self.paragraphs)):
            each = self.paragraphs[end]
            is_title = end in self.levels or (self._is_title(end) and not is_value_line(each.text))
            is_title = is_title or each.is_apart != self.paragraphs[place].is_apart
            if is_title if is_sidebar else each.is_indented and named(each.text):
                return range(place, end)
            if is_title:
                break
        return range(0)

    def _text(self, place: int) -> str:
        return self.paragraphs[place].text if place < len(self.paragraphs) else ""

    def _is_text(self, place: int) -> bool:
        """Whether a paragraph is a text: a sentence, or a point of a list."""
        if place >= len(self.paragraphs):
            return False
        each = self.paragraphs[place]
        return (
            each.is_point
            or each.lines > 2
            or (bool(_ENDS_TEXT.search(each.text)) and not is_value(each.text.split()[0]))
        )

    def _is_subtitle(self, place: int) -> bool:
        """Whether a line is the second of an entry: it says what the entry is, or stands below several names."""
        text = self._text(place)
        if says_kind(text):
            return True
        is_labelled = _LABELLED.match(text) and self.paragraphs[place].lines < 3
        recurs = self.times[_without_brackets(text)] > 1 and place not in self.levels and is_title(text)
        above_label = _LABELLED.match(self._text(place + 1)) is not None
        return bool(is_labelled or recurs) and (self._is_text(place + 1) or above_label)

    def _is_title(self, place: int) -> bool:
        each = self.paragraphs[place]
        if self.shows_titles:
            return each.is_title
        if _key(each) in self.boxes:
            return True
        if each.is_indented or each.is_point or each.is_row or each.lines > 2:
            return False
        if not is_title(each.text) or says_kind(each.text):
            return False
        if self._is_subtitle(place) and place and is_title(self._text(place - 1)):
            return False
        below = place + 1
        first = place
        while first and place - first < _IN_ORDER - 1 and self._is_short(first - 1):
            first -= 1
        if self._is_in_order(first, place):
            return False
        return below not in self.levels and (self._is_text(below) or self._is_subtitle(below))

    def _is_short(self, place: int) -> bool:
        each = self.paragraphs[place]
        is_alone = place not in self.levels and not self._is_text(place)
        return is_alone and is_title(each.text) and not (each.is_indented or each.is_point)

    def _is_in_order(self, first: int, last: int) -> bool:
        """Whether lines are several, no texts, of which each might be a title, in the order of the alphabet."""
        names = [fold(self._text(place)) for place in range(first, last + 1)]
        return len(names) >= _IN_ORDER and names == sorted(set(names)) and not any(map(is_value, names[0].split()))

    # --- tables -------------------------------------------------------------------------------------------------------

    def _table_end(self, place: int) -> int:
        """The paragraph after the table that begins at one, the same one if none does."""
        each = self.paragraphs[place]
        first = place if each.is_row or each.is_title or not is_title(each.text) else place + 1
        end = first
        while end < len(self.paragraphs) and self.paragraphs[end].is_row:
            end += 1
        return end if end > first else place

    def _with_tables_in_place(self) -> list[Paragraph]:
        """The paragraphs, with a table that stands in another section behind the last text before that names it."""
        behind: defaultdict[int, list[int]] = defaultdict(list)
        named: dict[str, int] = {}
        begin = end = 0
        for place, each in enumerate(self.paragraphs):
            if place < end:
                continue
            caption, end = fold(each.text), self._table_end(place)
            by = named.get(caption, begin)
            if end == place and (place in self.levels or self._is_title(place)):
                begin = place
            elif (
                end > place
                and by < begin
                and caption != fold(self._text(begin))
                and each.page - self.paragraphs[by].page <= FAR
            ):
                behind[by] += range(place, end)
            named |= dict.fromkeys(table_names([each.text]), place)
        moved = {place for table in behind.values() for place in table}
        places = (at for place in range(len(self.paragraphs)) if place not in moved for at in (place, *behind[place]))
        return [self.paragraphs[place] for place in places]

    def _table(self, place: int, end: int) -> Block:
        each = self.paragraphs[place]
        rows = [found.text.split(CELL_GAP) for found in self.paragraphs[place:end] if found.is_row]
        return Block("" if each.is_row else each.text, each.page, rows=rows)


def _key(title: Paragraph) -> tuple[int, str]:
    return title.page, fold(title.text)


def _without_brackets(text: str) -> str:
    return text.partition(" (")[0]


def _whole_titles(found: Sequence[Paragraph], titles: set[str]) -> list[Paragraph]:
    """Paragraphs, of which titles that were broken are one: those that are in an outline so."""
    whole: list[Paragraph] = []

    def begun(text: str) -> bool:
        return any(f"{title} ".startswith(f"{fold(text)} ") for title in titles)

    for each in found:
        if each.is_title and whole and whole[-1].is_title and begun(f"{whole[-1].text} {each.text}"):
            whole[-1] = replace(whole[-1], text=f"{whole[-1].text} {each.text}")
        else:
            whole.append(each)
    return whole


def _outlined(found: Sequence[Paragraph], outline: Sequence[tuple[str, int, int]]) -> Mapping[int, int]:
    """The levels of the titles that the outline has, by the places of their paragraphs."""
    levels: dict[int, int] = {}
    start = 0
    for title, level, page in outline:
        for place in range(start, len(found)):
            if found[place].page > page + FAR:
                break
            if found[place].page >= page and fold(found[place].text) == fold(title):
                levels[place] = level
                start = place + 1
                break
    return levels
