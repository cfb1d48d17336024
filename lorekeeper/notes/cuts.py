"""What is cut out of a text: callouts, stretches and lines that a mark keeps secret, and comments altogether."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from markdown_it.token import Token

from lorekeeper.audience import DM
from lorekeeper.notes.callouts import INFOBOX, callouts, headline, unquoted
from lorekeeper.notes.facts import cells, is_delimiter
from lorekeeper.notes.marks import (
    CLAUSE,
    FRONT,
    LINK,
    MOVED,
    NAME,
    TITLE,
    UNMARKED,
    Mark,
    OwnMarks,
    audience_of,
    closes,
    is_of_tags,
    line_mark,
    narrowest,
    title_mark,
)
from lorekeeper.notes.spans import LEAD, Span, SpanScanner, begins
from lorekeeper.shares import digest_of

_ITEM = re.compile(r"(?:[-*+•‣◦–—]|[0-9]{1,9}[.)]|[A-Za-z][.)])[ \t]")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-{2,})[ \t]*")
_LONGEST_UNDERLINED, _NO_HEADING = 60, re.compile(r"[.,:;|*]|\[\[|\ufdd0")
"""Characters of a heading over a line of dashes, and what such a heading does not have: it is a paragraph over a rule."""

_HASHES = re.compile(r"(?:#{2,6}[ \t]*|#[ \t]+)(?=[^#\s])")
_ADMONITION = re.compile(
    r"(?:!{3}|\?{3}\+?)[ \t]+(?P<word>[\w-]{1,40})(?:[ \t]+[\w -]{0,60})?(?:[ \t]+\"(?P<title>[^\"\n]*)\")?[ \t]*"
)
"""How a block of MkDocs begins whose text is indented below it: ``!!! gm "Plot"``."""

_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
"""A line that says of the block above it what it is: ``{.gm-only}``."""

_COMMENT_LINE = re.compile(r"\[[^\[\]\n]{1,60}\]:[ \t]*(?:<>|#)[ \t]*[\"'(].*")
"""A link definition that leads nowhere, by which people hide a comment."""

_LABEL = re.compile(r"[ \t]*(?:>[ \t]?)*\[\^([^\]\n]{1,60})\]:")
_HTML = re.compile(r"(</(?:t[dh]|dt|legend|summary|figcaption|caption)\s*>)|</?[a-zA-Z][^<>\n]{0,300}>")
"""A tag; one that ends what names what follows is read as a colon."""


@dataclass(frozen=True)
class Cut:
    """Something secret that was taken out of the text around it.

    Attributes:
        line: number of the line before which it belongs.
        lines: what it says.
        mark: what makes it secret.
        stood: of a key in the text, and of the columns of a table, the lines as they stood, with the number of the first one.
    """

    line: int
    lines: tuple[str, ...]
    mark: Mark
    stood: tuple[int, tuple[str, ...]] | None = None


def cut_callouts(lines: Sequence[str], tokens: Sequence[Token], own: OwnMarks) -> tuple[list[str], list[Cut]]:
    """Lines without the callouts that say who may see them, and these; as many lines as before."""
    left, cuts, after = list(lines), list[Cut](), 0
    for callout in callouts(lines, tokens):
        mark = _callout_mark(callout.word, callout.title, callout.options, own)
        if callout.start < after or mark.audience is None:
            continue
        after = callout.end
        inner = [unquoted(line, callout.depth) for line in lines[callout.start + 1 : callout.end]]
        title = [headline(callout), ""] if callout.title else []
        cuts.append(Cut(callout.start, (*title, *inner), mark))
        left[callout.start : callout.end] = [""] * (callout.end - callout.start)
    return left, cuts


def _callout_mark(word: str, title: str, options: str, own: OwnMarks) -> Mark:
    """What a callout says of its content by its word, the options behind it, and its title: ``[!dm]``, ``[!note|gm] Plot``.

    Options, which are each a word of their own, and the title only ever keep something secret.
    """
    marks = [replace(title_mark(word, own, NAME), written=f"> [!{word}]")]
    opted = ((f"> [!{word}|{options}]", option) for option in options.split())
    for written, said in (*opted, (f"> [!{word}] {title}", title)):
        mark = audience_of(said, TITLE, own) if said else UNMARKED
        marks += [replace(mark, written=written)] if mark.audience == DM else []
    return narrowest(marks)


def infobox_lines(lines: Sequence[str], tokens: Sequence[Token]) -> frozenset[int]:
    """The numbers of the lines of infoboxes, whose rows are facts."""
    boxes = (box for box in callouts(lines, tokens) if box.word.casefold() in INFOBOX)
    return frozenset(number for box in boxes for number in range(box.start, box.end))


# --- lines ------------------------------------------------------------------------------------------------------------


def cut_lines(lines: Sequence[str], boxes: frozenset[int], own: OwnMarks) -> tuple[list[str], list[Cut]]:
    """Lines without those that are secret by how they begin, and these; as many lines as before.

    That is a key (``**Secret**: he is a lich``, ``- [ ] DM: ...``), with what is indented or wrapped below it; a tag; a line
    that stands as a heading (``**GM Notes**``), with all to the next heading; a row or a column of a table.

    Args:
        lines: the text.
        boxes: numbers of the lines of infoboxes: what is cut there leaves a quote, so that they stay whole.
        own: the user's own marks.
    """
    left, cuts = list(lines), list[Cut]()
    tables = _Tables(left, own)
    i = 0
    while i < len(left):
        mark, end = UNMARKED, i + 1
        if left[i].strip() and i not in boxes and tables.is_row(i):
            if (split := tables.split(i)) is not None:
                left[i : split.end], cut = (
                    split.public,
                    Cut(split.end, split.secret, split.mark, (i, tuple(left[i : split.end]))),
                )
                cuts.append(cut)
                i = split.end
                continue
            mark, end = tables.row(i)
        if mark is UNMARKED and left[i].strip() and not _inner(left[i]).lstrip().startswith("|"):
            mark, end = _line_mark(left, i, own)
        # a heading is decided on by itself: without it what stands below would be open
        if mark.audience != DM and not is_heading(left, i) and own.is_closed_before(line_digest(left[i])):
            mark, end = Mark(MOVED, DM), i + 1
        if mark.audience == DM:
            if _ATTRIBUTES.fullmatch(_inner(left[i]).strip()):
                end = i + 1
                i -= next((n for n in range(i) if not left[i - n - 1].strip() or is_heading(left, i - n - 1)), i)
            stood = tuple(left[i:end])
            cuts.append(Cut(i, stood, mark, (i, stood)))
            left[i:end] = [">" if number in boxes else "" for number in range(i, end)]
        i = end
    return left, cuts


def _line_mark(lines: Sequence[str], i: int, own: OwnMarks) -> tuple[Mark, int]:
    """What keeps a line secret by how it begins, and the line after what it keeps."""
    line = lines[i]
    if _HEADING.match(line) or is_underlined(lines, i):
        return UNMARKED, i + 1
    text = line[_lead(line) :]
    if hashes := _HASHES.match(text):
        mark = title_mark(text[hashes.end() :], own)
        return mark, _end_of_heading(lines, i) if mark.audience == DM else i + 1
    if (admonition := _ADMONITION.fullmatch(text)) and (
        mark := _callout_mark(admonition["word"], admonition["title"] or "", "", own)
    ).audience == DM:
        return mark, _end_of_key(lines, i)
    if _COMMENT_LINE.match(line):
        return Mark("a comment", DM), i + 1
    if is_of_tags(text) or text.startswith(("```", "~~~", "[!")):
        return UNMARKED, i + 1
    text = _plain(text)
    mark, rest = line_mark(text, own)
    if mark.audience != DM and (label := _LABEL.match(line)):
        mark, rest = title_mark(label[1], own), text
    if mark.audience != DM:
        return UNMARKED, i + 1
    is_first = all(not each.strip() or _HEADING.match(each) for each in lines[:i])
    # "GM only, not for the players" tells nothing
    if rest and not is_heading(lines, i) and not (is_first and closes(rest, CLAUSE, own)):
        return mark, _end_of_key(lines, i)
    end = _end_of_list(lines, i) if text.rstrip("*_~= \t").endswith((":", "：")) else _end_of_heading(lines, i)
    # above all text, with nothing below it that it keeps, it is about the note
    return mark, end if not is_first or any(map(str.strip, lines[i + 1 : end])) else len(lines)


def line_digest(line: str) -> str:
    """What a line is known by wherever it is moved; "" for one of a single word, which may stand anywhere."""
    text = line[_lead(line) :]
    return digest_of(text) if len(text.split()) > 1 and re.search(r"\w", text) else ""


def _lead(line: str) -> int:
    match = LEAD.match(line)
    return match.end() if match else 0


def _depth(line: str) -> tuple[int, int]:
    """How many quotes a line stands in, and how far it is indented there."""
    quotes = 0
    while (inner := unquoted(line)) != line and line.lstrip().startswith(">"):
        line, quotes = inner, quotes + 1
    expanded = line.expandtabs(4)
    return quotes, len(expanded) - len(expanded.lstrip())


def _inner(line: str) -> str:
    """A line without quotes."""
    return unquoted(line, _depth(line)[0])


def _end_of_key(lines: Sequence[str], first: int) -> int:
    """The line after what a line began: what is wrapped or indented below it, over blank lines too."""
    quotes, indent = _depth(lines[first])
    end, blank = first + 1, False
    for i in range(first + 1, len(lines)):
        inner = _inner(lines[i])
        if not inner.strip():
            blank = True
            continue
        deeper = _depth(lines[i])[1] > indent
        if _depth(lines[i])[0] < quotes or not (deeper or not (blank or begins(inner))):
            break
        end = i + 1
    return end


def _end_of_list(lines: Sequence[str], first: int) -> int:
    """The line after what a key without a value introduces: its paragraph, and the items below it."""
    end = _end_of_key(lines, first)
    is_item = _ITEM.match(_inner(lines[first]).lstrip())
    if is_item and end > first + 1:
        return end
    quotes, indent = _depth(lines[first])
    blank, begun = False, end > first + 1
    for i in range(end, len(lines)):
        inner = _inner(lines[i])
        if not inner.strip():
            blank = True
            continue
        goes_on = _ITEM.match(inner.lstrip()) or _depth(lines[i])[1] > indent or (blank and not begun) or not blank
        is_key = not _ITEM.match(inner.lstrip()) and _is_head(lines, i)
        if _depth(lines[i])[0] < quotes or not goes_on or is_key or (is_item and blank):
            break
        end, begun, blank = i + 1, True, False
    return end


def _end_of_heading(lines: Sequence[str], first: int) -> int:
    """The line after what a line that stands as a heading is above: to the next one, or the end of its list or quote."""
    quotes, _ = _depth(lines[first])
    if _ITEM.match(_inner(lines[first]).lstrip()):
        return _end_of_list(lines, first)
    end = len(lines)
    for i in range(first + 1, len(lines)):
        if lines[i].strip() and (_depth(lines[i])[0] < quotes or _is_head(lines, i)):
            end = i
            break
    return end


def is_underlined(lines: Sequence[str], i: int) -> bool:
    """Whether a line is a heading by the one below it, and not a paragraph over a rule."""
    following = lines[i + 1] if i + 1 < len(lines) else ""
    is_short = len(lines[i].strip()) <= _LONGEST_UNDERLINED and not _NO_HEADING.search(lines[i])
    return bool(_UNDERLINE.fullmatch(following)) and (is_short or following.strip().startswith("="))


def is_heading(lines: Sequence[str], i: int) -> bool:
    """Whether a line is a heading of Markdown, also where it is quoted."""
    following = lines[i + 1] if i + 1 < len(lines) else ""
    underlined = _UNDERLINE.fullmatch(following) and not _UNDERLINE.fullmatch(lines[i])
    return bool(_HEADING.match(_inner(lines[i])) or underlined)


def _is_head(lines: Sequence[str], i: int) -> bool:
    """Whether a line is a heading, or stands as one: all of it in bold."""
    if is_heading(lines, i):
        return True
    text = _inner(lines[i]).strip()
    return bool(re.fullmatch(r"(\*\*|__)(?=\S)[^*_\n]{1,80}\1:?|(\*\*|__)[^*_\n]{1,80}:\2", text))


@dataclass(frozen=True)
class _Split:
    """A table of which some columns are secret.

    Attributes:
        end: number of the line after it.
        public: its lines without these columns, as many as before.
        secret: the first of the others with these columns, and the rows that have more or fewer cells than the head.
        mark: what makes them secret.
    """

    end: int
    public: list[str]
    secret: tuple[str, ...]
    mark: Mark


class _Tables:
    """The tables of a text, each looked at once.

    A delimiter row makes the row above it the head of columns. A column that is secret keeps its cells, and all of a row whose
    cells are not as many as the columns; a first cell keeps its row.
    """

    def __init__(self, lines: Sequence[str], own: OwnMarks) -> None:
        self._lines, self._own = lines, own
        self._end = 0
        """The line after the table that was looked at last."""

    def is_row(self, i: int) -> bool:
        """Whether a line is a row of a table."""
        if i < self._end or _inner(self._lines[i]).lstrip().startswith("|"):
            return True
        return "|" in self._lines[i] and self._is_head(i)

    def row(self, i: int) -> tuple[Mark, int]:
        """What keeps a row secret, and the line after what it keeps."""
        self._look_at(i)
        return (UNMARKED, i + 2) if self._is_head(i) else (self._mark_of(cells(_inner(self._lines[i]))), i + 1)

    def split(self, i: int) -> _Split | None:
        """A table whose head stands at a line, without its secret columns; None if none of them is."""
        if not self._is_head(i):
            return None
        head = cells(_inner(self._lines[i]))
        secret = {n: cell for n, cell in enumerate(head) if self._mark(cell).audience == DM}
        if not secret:
            return None
        self._look_at(i)
        end = self._end_of_rows(i)
        shown = [n for n in range(len(head)) if n not in secret]
        kept = sorted((*shown[:1], *secret))
        public, hidden = list[str](), list[str]()
        for n, line in enumerate(self._lines[i:end]):
            row = cells(_inner(line))
            is_whole = len(row) == len(head) and (n < 2 or self._mark_of(row) is UNMARKED)
            if is_whole and shown:
                public.append(line[: len(line) - len(_inner(line))] + _row(row[n] for n in shown))
            hidden.append(_row((row[n] for n in kept) if is_whole else row))
        public += [""] * (len(hidden) - len(public))
        return _Split(end, public, tuple(hidden), self._mark(next(iter(secret.values()))))

    def _look_at(self, i: int) -> None:
        if i >= self._end:
            self._end = next((n for n in range(i, len(self._lines)) if "|" not in self._lines[n]), len(self._lines))

    def _end_of_rows(self, i: int) -> int:
        """The line after a table and what is wrapped below it: a line without bars is a row of one cell."""
        end = max(self._end, i + 2)
        while end < len(self._lines) and _inner(self._lines[end]).strip() and not begins(_inner(self._lines[end])):
            end += 1
        return end

    def _mark_of(self, row: Sequence[str]) -> Mark:
        """What a row says of itself: its first cell is the key of the second, and each may mark it."""
        said = [_plain(text) for text in (": ".join(row[:2]), *row[1:])]
        marks = ((*line_mark(text, self._own), closes(text, FRONT, self._own)) for text in said)
        # a rumour may be "A lie"
        return next((mark for mark, rest, is_mark in marks if mark.audience == DM and (rest or is_mark)), UNMARKED)

    def _mark(self, cell: str) -> Mark:
        return title_mark(LINK.sub(" ", _plain(cell)), self._own)

    def _is_head(self, i: int) -> bool:
        following = _inner(self._lines[i + 1]) if i + 1 < len(self._lines) else ""
        return is_delimiter(following) and ("|" in following or _inner(self._lines[i]).lstrip().startswith("|"))


def _plain(text: str) -> str:
    """A text without its tags."""
    return _HTML.sub(lambda tag: ": " if tag[1] else "", text)


def _row(row: Iterable[str]) -> str:
    return f"| {' | '.join(row)} |"


# --- spans ---------------------------------------------------------------------------------------------------------------


def cut_spans(lines: Sequence[str], own: OwnMarks) -> tuple[list[str], list[Cut], list[str]]:
    """Lines without comments and secret stretches, what is secret of these, and problems; as many lines as before."""
    scanner = SpanScanner("\n".join(lines), own)
    left = scanner.taken_out().split("\n")
    return left, list(_placed(scanner.found, left)), scanner.problems


def _placed(found: Sequence[Span], left: Sequence[str]) -> Iterator[Cut]:
    """Cuts at the lines where they were; one from within a paragraph comes after it."""
    blank = [len(left)] * (len(left) + 1)
    for i in reversed(range(len(left))):
        blank[i] = blank[i + 1] if left[i].strip() else i
    cuts: dict[tuple[int, Mark], list[str]] = {}
    for each in found:
        inline = any(left[i].strip() for i in (each.first, each.last))
        line = blank[each.last] if inline else each.first
        cuts.setdefault((line, each.mark), []).extend(
            each.content.strip("\n").split("\n") if "\n" in each.content else [each.content.strip()]
        )
    return (Cut(line, tuple(content), mark) for (line, mark), content in cuts.items())
