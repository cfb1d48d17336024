"""A note's text as it is worked on: one form of Unicode and of line ends, parsed into blocks, with code out of the way."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lorekeeper.folding import fold
from lorekeeper.notes.marks import BUILT_IN, NAME, OwnMarks, closes

DEEPEST = 20
"""Blocks within blocks; what is deeper stays in the text as it is."""

PROGRAMS = frozenset(
    "dataview dataviewjs dataviewapi button buttons leaflet tasks query meta-bind meta-bind-button meta-bind-embed "
    "meta-bind-js-view js-engine templater timeline-labeled tracker chart charts zoommap kanban excalidraw "
    "compressed-json base mapview execute run-js folder-index table-of-contents toc".split()
)
"""Languages of code blocks that are programs or settings of plugins and say nothing of the world."""

ADMONITION = "ad-"
"""How the languages of the plugin Admonition begin."""

OPEN, CLOSE = "\ufdd0", "\ufdd1"
"""Around the number of a piece of code that was hidden: characters that no text may contain."""


HEAD, TITLE = "\ufdd4", "\ufdd5"
"""Around the beginning of a callout as it was written, ``[!note]-``, in front of its title."""

_WINDOWS = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0)}
"""Control characters that no text has: those of Windows-1252, taken for Unicode by a converter. Browsers show them so, too."""

_RESERVED = _WINDOWS | dict.fromkeys(range(0xFDD0, 0xFDF0)) | {0xFEFF: None, 0: 0xFFFD}
_HIDDEN = re.compile(f"{OPEN}([0-9]+){CLOSE}")
_TICKS = re.compile("`+")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*")
_QUOTE_MARKS = re.compile(r"[ \t]*(?:>[ \t]?)*")
_SAID = re.compile(r"`+[\w' -]{1,40}`+")
"""Code that may be words: a mark among them is read."""
_QUERY = re.compile(r"`+\s*\$?=\s*\S")
_OWN_KEY = re.compile(
    r"`+\s*(?:=\s*this|\$=\s*dv\.current\(\))(?:\.(?P<key>[\w. -]{1,60}?)|\[[\"'](?P<quoted>[^\"'`]{1,60})[\"']\])\s*`+"
)
"""A query for one key of the note that it stands in, as ``=this.Race``."""

_ADMONITION_KEY = re.compile(r"^(?:title:[ \t]*(.*)|(?:collapse|icon|color):.*)$")
_WORD_FENCE = re.compile(r"(?<![`~])(?:`{3,}|~{3,})[ \t]*\{?\.?[^\W\d_]")
_LONGEST_MARKS = 30
_SIGNS_OF_CODE = ("```", "~~~", "    ", "\t")

YAML_FENCE, TOML_FENCE = "---", "+++"

_FENCE_OF_KEYS = re.compile(r"-{3,}|\+{3}")

MOST_BLOCKS = 5
"""Blocks of front matter below each other that are read."""

_KEY_LINE = re.compile(r"[\"']?[^\W_][\w .-]{0,60}[\"']?[ \t]*[:=](?:[ \t]|$)")

_MAY_BE_KEY = re.compile(r"[ \t]*(?:-[ \t]+)?(?:[{\"'%]|[^\s\[!*#>|:<-][^:\n]{0,60}:(?:[ \t]|$))")
"""How a line begins that may be a key with its value, in YAML or JSON."""

_parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).enable("table").disable(["inline", "reference"])


def normal(text: str) -> str:
    """A text in NFC with ``\\n`` as line end, without byte order marks and the characters that mark hidden code.

    Marks beyond the 30th on one letter are left out, as in the stream-safe text format of Unicode (UAX 15): ordering
    them takes quadratic time.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_RESERVED)
    if text.isascii():
        return text
    marks = "".join(re.escape(character) for character in set(text) if unicodedata.combining(character))
    if marks:
        text = re.sub(f"([{marks}]{{{_LONGEST_MARKS}}})[{marks}]+", r"\1", text)
    return unicodedata.normalize("NFC", text)


def blocks(lines: Sequence[str]) -> list[Token]:
    """The blocks of a text, as markdown-it sees them; what is within a paragraph is left unparsed."""
    return _parser.parse("\n".join(lines))


def span(token: Token) -> tuple[int, int]:
    """Number of a block's first line, and of the first one after it."""
    start, end = token.map or (0, 0)
    return start, end


@dataclass(frozen=True)
class FrontMatter:
    """The front matter of a text.

    Attributes:
        blocks: one, or several below each other; none for none.
        lines: the rest of the text.
        is_unclosed: whether the text begins as if it had some, which never ends.
    """

    blocks: Sequence[str]
    lines: list[str]
    is_unclosed: bool = False


def front_matter(text: str) -> FrontMatter:
    """The front matter of a text, and the rest. Blank lines may stand before it."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    fence = lines[first].rstrip()
    if not _FENCE_OF_KEYS.fullmatch(fence):
        return FrontMatter([], lines)
    found = [block] if (block := _block(lines, first, fence)) else []
    if found and fence != TOML_FENCE and not _has_keys(found[0][0]):
        end = found[0][1] - 1
        # without keys it is text between two rules, of which the second makes no heading of it
        return FrontMatter([], [line if i not in (first, end) else "" for i, line in enumerate(lines)])
    if not found:
        keyed = next((line for line in lines[first + 1 :] if line.strip()), "")
        return FrontMatter([], lines, is_unclosed=bool(_KEY_LINE.match(keyed)) and (first == 0 or fence == TOML_FENCE))
    while len(found) < MOST_BLOCKS and (following := _following(lines, found[-1][1])):
        found.append(following)
    prefix = f"{TOML_FENCE}\n" if fence == TOML_FENCE else ""
    return FrontMatter(
        [prefix + content for content, _ in found[:1]] + [c for c, _ in found[1:]], lines[found[-1][1] :]
    )


def _has_keys(block: str) -> bool:
    """Whether what stands between two rules may be keys and values, or nothing."""
    written = [line for line in block.split("\n") if line.strip()]
    return not written or any(map(_MAY_BE_KEY.match, written))


def _block(lines: Sequence[str], start: int, fence: str) -> tuple[str, int] | None:
    """The content of a block between two fences, and the number of the line after it."""
    end = re.compile(re.escape(fence) if fence == TOML_FENCE else rf" {{0,3}}{fence}-*|\.\.\.")
    closing = next((i for i in range(start + 1, len(lines)) if end.fullmatch(lines[i].rstrip())), None)
    if closing is None:
        return None
    return "\n".join(lines[start + 1 : closing]), closing + 1


def _following(lines: Sequence[str], at: int) -> tuple[str, int] | None:
    """The block of keys and values that comes next below another one; a rule above some text is none."""
    start = next((i for i in range(at, len(lines)) if lines[i].strip()), len(lines))
    if start >= len(lines) or lines[start].rstrip() != YAML_FENCE:
        return None
    block = _block(lines, start, YAML_FENCE)
    inside = [line for line in block[0].split("\n") if line.strip()] if block else []
    is_keyed = bool(inside) and all(_KEY_LINE.match(line) or line[0] in " \t-#" for line in inside)
    return block if is_keyed and _KEY_LINE.match(inside[0]) else None


class Code:
    """The code of one note: out of the way of whatever looks for links, comments and tags, until it is shown again."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._asked: dict[int, str] = {}
        """Keys that queries ask for, by the number of the piece."""

    def hide(self, piece: str) -> str:
        """A placeholder for a piece of code."""
        self._pieces.append(piece)
        return f"{OPEN}{len(self._pieces) - 1}{CLOSE}"

    def show(self, text: str) -> str:
        """A text with its code again."""
        return _HIDDEN.sub(lambda match: self._pieces[int(match[1])], text)

    def answered(self, line: str, values: Mapping[str, str]) -> str:
        """A line with the values, by folded key, that its queries ask for; `show` leaves out queries."""

        def answer(match: re.Match[str]) -> str:
            key = self._asked.get(int(match[1]))
            return match[0] if key is None else values.get(fold(key), "")

        return _HIDDEN.sub(answer, line) if self._asked and OPEN in line else line

    def hidden(self, lines: Sequence[str], own: OwnMarks = BUILT_IN) -> list[str]:
        """Lines without code: programs are gone, anything else is a placeholder. As many lines as before."""
        result = _without_admonitions(lines, own)
        lines = list(result)
        inside = set[int]()
        # parsing is most of the time that a note takes
        may_hold_code = any(sign in line for line in lines for sign in _SIGNS_OF_CODE)
        for token in blocks(lines) if may_hold_code else ():
            if token.type in ("fence", "code_block"):
                start, end = span(token)
                if token.type == "fence" and language(token) not in PROGRAMS and not _is_shut(lines[start:end]):
                    continue  # a fence that never ends would hide all marks of the note
                inside.update(range(start, end))
                self._hide_block(result, token)
        return [line if i in inside else self._without_spans(line) for i, line in enumerate(result)]

    def _hide_block(self, lines: list[str], token: Token) -> None:
        start, end = span(token)
        if language(token) in PROGRAMS:
            lines[start:end] = [""] * (end - start)
            return
        if token.type == "fence":
            start += 1
            end -= _is_shut(lines[start - 1 : end])
        for i in range(start, end):
            marks = _QUOTE_MARKS.match(lines[i])
            kept = marks[0] if marks else ""
            if lines[i][len(kept) :]:
                lines[i] = kept + self.hide(lines[i][len(kept) :])

    def _without_spans(self, line: str) -> str:
        if "`" not in line:
            return line
        parts, at = list[str](), 0
        for start, end in _spans(line):
            piece = line[start:end]
            is_mark = _SAID.fullmatch(piece) and closes(piece)
            hidden = self._query(piece) if _QUERY.match(piece) else self.hide(piece)
            parts += line[at:start], piece if is_mark else hidden
            at = end
        return "".join(parts) + line[at:]

    def _query(self, piece: str) -> str:
        """A placeholder for a query that `answered` answers; "" for any other."""
        if (match := _OWN_KEY.fullmatch(piece)) is None:
            return ""
        self._asked[len(self._pieces)] = match["key"] or match["quoted"]
        return self.hide("")


def _without_admonitions(lines: Sequence[str], own: OwnMarks) -> list[str]:
    """Lines with the code blocks of the plugin Admonition ("ad-note", "ad-dm") as the callouts that they are.

    So is a block whose language is a mark, as "gm".
    """
    result = list(lines)
    if not any("```" in line or "~~~" in line for line in lines):
        return result
    for token in blocks(lines) if any("ad-" in line or _WORD_FENCE.search(line) for line in lines) else ():
        word = language(token).strip("{.}") if token.type == "fence" else ""
        is_admonition = word.startswith(ADMONITION) and not token.level
        if is_admonition or (word and closes(word, NAME, own)):
            start, end = span(token)
            first = result[start]
            before = re.sub(r"[^>]", " ", re.split(r"[`~]", first, maxsplit=1)[0])
            closed = _is_shut(result[start:end])
            inner = [_without(line, before) for line in result[start + 1 : end - closed]]
            inner = [_ADMONITION_KEY.sub(_title, line) for line in inner] if is_admonition else inner
            inner = _without_admonitions(inner, own)
            head = f"{first[: len(before)]}> [!{word.removeprefix(ADMONITION)}]"
            result[start:end] = [head, *(f"{before}> {line}" for line in inner), *[before.rstrip()] * closed]
    return result


def _is_shut(block: Sequence[str]) -> bool:
    """Whether the lines of a fenced block end with a fence."""
    return len(block) > 1 and _FENCE.fullmatch(block[-1]) is not None


def _without(line: str, before: str) -> str:
    """A line without what stands before the lines of its block."""
    return (
        line[len(before) :] if line[: len(before)].replace(" ", "") in ("", before.replace(" ", "")) else line.lstrip()
    )


def _title(match: re.Match[str]) -> str:
    return f"**{match[1].strip()}**" if match[1] else ""


def language(token: Token) -> str:
    """Language of a code block, in lower case; "" for none."""
    return (token.info.split() or [""])[0].casefold()


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Where a line has code: from a run of backticks to the next one of the same length."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    later, partners = dict[int, int](), list[int | None]()
    for i in reversed(range(len(runs))):
        length = runs[i][1] - runs[i][0]
        partners.append(later.get(length))
        later[length] = i
    partners.reverse()
    i = 0
    while i < len(runs):
        partner = partners[i]
        if partner is not None:
            yield runs[i][0], runs[partner][1]
        i = i + 1 if partner is None else partner + 1
