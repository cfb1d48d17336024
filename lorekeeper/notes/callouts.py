"""Callouts: quoted blocks of Obsidian that begin with a word in brackets, ``> [!note]- Title``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from lorekeeper.notes.source import HEAD, TITLE, span
from lorekeeper.words import listed

INFOBOX, LAYOUT = frozenset(listed("callout infobox")), frozenset(listed("callout layout"))
"""Words of boxes of facts, and those that arrange text and tell nothing, so that no title stands in their place."""

_QUOTE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*>[ \t]?")
HEAD_LINE = re.compile(r"[ \t]*\[!([^\[\]|\n]{1,60})(?:\|([^\[\]\n]{0,200}))?\]([-+]?)[ \t]*(.*)")
"""The first line of a callout without the marks of its quotes: word, options, "-" or "+" for one that can be folded, title."""

_HEAD_HIDDEN = re.compile(f"{HEAD}([^{HEAD}{TITLE}]*){TITLE}")


@dataclass(frozen=True)
class Callout:
    """A callout.

    Attributes:
        start: number of its first line.
        end: number of the first line after it.
        depth: how many quotes it stands in, its own included.
        word: "note", "dm", "infobox", as written.
        title: "" for none.
        fold: "-" if it is folded, "+" if it can be, "" if neither.
        options: what stands behind a bar after the word.
    """

    start: int
    end: int
    depth: int
    word: str
    title: str
    fold: str = ""
    options: str = ""


def unquoted(line: str, depth: int = 1) -> str:
    """A line without the marks of so many quotes; a line that continues a quote without them stays."""
    for _ in range(depth):
        match = _QUOTE.match(line)
        if not match:
            break
        line = line[match.end() :]
    return line


def callouts(lines: Sequence[str], tokens: Sequence[Token]) -> Iterator[Callout]:
    """The callouts among the blocks, outer before inner ones."""
    depth = 0
    for token in tokens:
        depth -= token.type == "blockquote_close"
        if token.type != "blockquote_open":
            continue
        depth += 1
        start, end = span(token)
        if head := HEAD_LINE.fullmatch(unquoted(lines[start], depth)):
            word, options, sign, title = head.groups("")
            yield Callout(start, end, depth, word.strip(), title.strip(), sign, options.strip())


def headline(callout: Callout) -> str:
    """A title for readers: as written, else the word of the callout."""
    if not callout.title and callout.word.casefold() in LAYOUT:
        return ""
    return f"**{callout.title or callout.word[:1].upper() + callout.word[1:]}**"


def retitled(line: str, callout: Callout) -> str:
    """The first line of a callout with its title in place of the word in brackets, which `as_written` brings back."""
    inner = unquoted(line, callout.depth)
    return f"{line[: len(line) - len(inner)]}{HEAD}[!{callout.word}]{callout.fold}{TITLE}{headline(callout)}"


def as_read(line: str) -> str:
    """A line for readers: of the first one of a callout its title."""
    return _HEAD_HIDDEN.sub("", line)


def as_written(line: str) -> str:
    """A line with the beginning of a callout in front of its title: ``> [!note]- **Title**``."""
    return _HEAD_HIDDEN.sub(r"\1 ", line)
