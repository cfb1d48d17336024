"""Stretches that are cut out of a text: what comments, callouts and HTML sections keep secret, and comments altogether."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from lorekeeper.audience import DM
from lorekeeper.notes.callouts import callouts, headline, unquoted
from lorekeeper.notes.facts import bold_pair, cells, field_pair, is_delimiter
from lorekeeper.notes.marks import OwnMarks
from lorekeeper.notes.secrets import UNMARKED, Mark, callout_mark, key_mark
from lorekeeper.notes.source import GENERATED, WRITTEN

COMMENT_PROGRAMS = re.compile(
    r"\s*(?:(?:begin|end) (?:waypoint|landmark)\b|waypoint\b|landmark\b|kanban:settings|dataview|excalidraw|run (?:start|end)\b|"
    r"query|serializedquery|zoottelkeeper|prettier-ignore|markdownlint|linter|toc\b|mbs\b|auto-generated|[{<\[])",
    re.IGNORECASE,
)
"""How a comment of Obsidian begins that a plugin wrote for itself."""

_OPENING = re.compile(r"%%|<!--|<section\b[^<>]{0,500}>", re.IGNORECASE)
_SECRET_SECTION = re.compile(r"\bclass\s{0,9}=\s{0,9}[\"']?[^\"'<>]{0,200}\bsecret\b", re.IGNORECASE)
_SECTION_END = re.compile(r"</section\s{0,9}>", re.IGNORECASE)
_START = re.compile(r"\s*(?:dm|gm|secret|keeper|private|hidden)\s*[:_ -]\s*(?:start|begin|open)\s*", re.IGNORECASE)
_END = re.compile(
    r"(?:<!--|%%)\s{0,9}(?:dm|gm|secret|keeper|private|hidden)\s{0,9}[:_ -]\s{0,9}(?:end|stop|close)\s{0,9}(?:-->|%%)",
    re.IGNORECASE,
)
_SIGNS = (
    (re.compile(r"\s*SerializedQuery\s+END\b", re.IGNORECASE), WRITTEN),
    (re.compile(r"\s*SerializedQuery\b", re.IGNORECASE), GENERATED),
)
"""Comments of Dataview Serializer around what it wrote, and the lines that stand for them."""


_BEGINNING = re.compile(r"\s*(?:[-*+]\s|\d{1,3}[.)]\s|#{1,6}\s|[|>])")
"""How a line begins that does not go on with the one above it."""


@dataclass(frozen=True)
class Cut:
    """Something secret that was taken out of the text around it.

    Attributes:
        line: number of the line before which it belongs.
        lines: what it says.
        mark: what makes it secret.
        keyed: whether that is a key in the text, and the lines stand where they stood.
    """

    line: int
    lines: tuple[str, ...]
    mark: Mark
    keyed: bool = False


def cut_callouts(lines: Sequence[str], tokens: Sequence[Token], own: OwnMarks) -> tuple[list[str], list[Cut]]:
    """Lines without the callouts that say who may see them, and these; as many lines as before."""
    left, cuts, after = list(lines), list[Cut](), 0
    for callout in callouts(lines, tokens):
        mark = callout_mark(callout.word, own)
        if callout.start < after or mark.audience is None:
            continue
        after = callout.end
        inner = [unquoted(line, callout.depth) for line in lines[callout.start + 1 : callout.end]]
        title = [headline(callout), ""] if callout.title else []
        cuts.append(Cut(callout.start, (*title, *inner), mark))
        left[callout.start : callout.end] = [""] * (callout.end - callout.start)
    return left, cuts


def cut_keys(lines: Sequence[str], own: OwnMarks) -> tuple[list[str], list[Cut]]:
    """Lines without those that a key keeps secret, as ``**Secret**: he is a lich`` does, and these; as many lines as before.

    What is indented or wrapped below such a line belongs to it. Of a table, its rows with such a key are secret, or all of it
    if a column has one.
    """
    left, cuts, i = list(lines), list[Cut](), 0
    while i < len(left):
        pair = field_pair(left[i]) or bold_pair(left[i])
        mark = key_mark(pair[0], own) if pair else UNMARKED
        end = i + 1
        if mark.audience == DM:
            while end < len(left) and _belongs(left[i], left[end]):
                end += 1
        elif left[i].lstrip().startswith("|"):
            mark, end = _row_mark(left, i, own)
        if mark.audience == DM:
            cuts.append(Cut(i, tuple(left[i:end]), mark, keyed=True))
            left[i:end] = [""] * (end - i)
        i = end
    return left, cuts


def _belongs(first: str, line: str) -> bool:
    """Whether a line goes on with what a line above it began."""
    deeper = len(line) - len(line.lstrip()) > len(first) - len(first.lstrip())
    return bool(line.strip()) and (deeper or not (_BEGINNING.match(line) or bold_pair(line) or field_pair(line)))


def _row_mark(lines: Sequence[str], row: int, own: OwnMarks) -> tuple[Mark, int]:
    """What keeps a row of a table secret, and the line after what it keeps: all of the table if the row heads its columns."""
    marks = [key_mark(cell.strip("*_ "), own) for cell in cells(lines[row])]
    if row + 1 < len(lines) and is_delimiter(lines[row + 1]):
        end = next((i for i in range(row, len(lines)) if not lines[i].lstrip().startswith("|")), len(lines))
        mark = next((mark for mark in marks if mark.audience == DM), UNMARKED)
        return mark, end if mark.audience == DM else row + 2
    return (marks[0] if len(marks) > 1 else UNMARKED), row + 1


def cut_comments(lines: Sequence[str]) -> tuple[list[str], list[Cut], list[str]]:
    """Lines without comments and secret HTML sections, what is secret of these, and problems; as many lines as before."""
    text = "\n".join(lines)
    if not _OPENING.search(text):
        return list(lines), [], []
    comments = _Comments(text)
    left = comments.taken_out().split("\n")
    return left, _placed(comments.found, left), comments.problems


def _placed(found: Sequence[tuple[int, int, str, Mark]], left: Sequence[str]) -> list[Cut]:
    """Cuts at the lines where they were; one from within a paragraph comes after it."""
    blank = [len(left)] * (len(left) + 1)
    for i in reversed(range(len(left))):
        blank[i] = blank[i + 1] if left[i].strip() else i
    cuts: dict[tuple[int, Mark], list[str]] = {}
    for first, last, content, mark in found:
        inline = any(left[i].strip() for i in (first, last))
        line = blank[last] if inline else first
        cuts.setdefault((line, mark), []).extend(
            content.strip("\n").split("\n") if "\n" in content else [content.strip()]
        )
    return [Cut(line, tuple(content), mark) for (line, mark), content in cuts.items()]


class _Comments:
    """One pass over a text. A closing mark that was not found once is not looked for again: the pass stays linear."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[tuple[int, int, str, Mark]] = []
        self.problems: list[str] = []
        self._missing: set[str] = set()
        self._line, self._counted = 0, 0

    def taken_out(self) -> str:
        """The text with line ends only where comments were."""
        parts, at = list[str](), 0
        while match := _OPENING.search(self.text, at):
            parts.append(self.text[at : match.start()])
            end, instead = self._read(match)
            # "a %%b%% c" leaves one space
            spaces = not instead and parts[-1].endswith(" ") and self.text.startswith(" ", end)
            at = end + spaces
            parts.append(instead)
        return "".join(parts) + self.text[at:]

    def _read(self, opening: re.Match[str]) -> tuple[int, str]:
        """Where to go on behind an opening mark, and what stands in the place of what was passed."""
        start, inside = opening.span()
        if opening[0] == "%%":
            close = self._find("%%", inside)
        elif opening[0] == "<!--":
            close = self._find("-->", inside)
        else:
            return self._section(opening)
        if close < 0:
            return self._unclosed(opening)
        content, end = self.text[inside:close], close + len("%%" if opening[0] == "%%" else "-->")
        if _START.fullmatch(content):
            return self._secret(start, end, _END, Mark(self.text[start:end], DM))
        if opening[0] == "%%" and content.strip() and not COMMENT_PROGRAMS.match(content):
            return self._keep(start, content, end, Mark("%%", DM))
        alone = self._is_alone(start, end)
        signs = (sign for pattern, sign in _SIGNS if alone and pattern.match(content))
        return end, next(signs, "") + "\n" * self.text.count("\n", start, end)

    def _is_alone(self, start: int, end: int) -> bool:
        """Whether a comment has its lines to itself."""
        before, after = self.text[max(0, start - 1) : start], self.text[end : end + 1]
        return before in ("", "\n") and after in ("", "\n")

    def _section(self, opening: re.Match[str]) -> tuple[int, str]:
        if not _SECRET_SECTION.search(opening[0]):
            return opening.end(), opening[0]
        return self._secret(opening.start(), opening.end(), _SECTION_END, Mark(opening[0], DM))

    def _secret(self, start: int, inside: int, closing: re.Pattern[str], mark: Mark) -> tuple[int, str]:
        """A stretch between two marks; to the end of the note, if the second one is missing."""
        close = None if closing.pattern in self._missing else closing.search(self.text, inside)
        if close is None:
            self._missing.add(closing.pattern)
            self.problems.append(f"{mark.text} has no end: all that follows is taken as secret")
        last, end = close.span() if close else (len(self.text), len(self.text))
        return self._keep(start, self.text[inside:last], end, mark)

    def _unclosed(self, opening: re.Match[str]) -> tuple[int, str]:
        start, inside = opening.span()
        if opening[0] == "%%" and not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip():
            self.problems.append("%% has no end: all that follows is taken as secret")
            return self._keep(start, self.text[inside:], len(self.text), Mark("%%", DM))
        if opening[0] == "<!--" and not any("<!--" in problem for problem in self.problems):
            self.problems.append("a comment (<!--) has no end: it is shown as text")
        return inside, opening[0] if opening[0] == "%%" else ""

    def _keep(self, start: int, content: str, end: int, mark: Mark) -> tuple[int, str]:
        self._line += self.text.count("\n", self._counted, start)
        self._counted = start
        breaks = self.text.count("\n", start, end)
        if content.strip():
            self.found.append((self._line, self._line + breaks, content, mark))
        return end, "\n" * breaks

    def _find(self, mark: str, start: int) -> int:
        position = -1 if mark in self._missing else self.text.find(mark, start)
        if position < 0:
            self._missing.add(mark)
        return position
