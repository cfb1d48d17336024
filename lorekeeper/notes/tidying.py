"""The lines of a section as readers see them, without what a program put there or only Obsidian understands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lorekeeper.notes.callouts import as_read, as_written
from lorekeeper.notes.facts import BRACKETED, field_pair
from lorekeeper.notes.links import is_navigation, keeping_links, read_inline, without_links
from lorekeeper.notes.marks import TAG, is_of_tags
from lorekeeper.notes.note import Link
from lorekeeper.words import listed

BACKLINKS = frozenset(listed("heading backlinks"))
"""Folded headings of lists that programs make of the notes that link to this one."""

_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]{1,100}[ \t]*$")
_HTML = re.compile(
    r"</?(?:div|span|center|font|details|summary|u|p|small|big|section|aside|article|figure|figcaption|b|i|em|strong|a|img|hr|"
    r"iframe|video|audio|source|h[1-6]|ul|ol|li|table|tbody|thead|tr|td|th|blockquote|code|mark|sup|sub)(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]+?)(?<=\S)==")
_WORDS = re.compile(r"[^\W_]+")
_EMPTY = re.compile(r"[ \t>]*(?:[-*+](?:[ \t]+\[[ xX]\])?)?")


class Tidying:
    """One section's text, and the links, tags and inline fields that were found on the way."""

    def __init__(self, section: str, heading: str) -> None:
        self.links: list[tuple[int, Link]] = []
        self.tags: list[str] = []
        self.lone_tags: list[str] = []
        self.fields: list[tuple[str, str]] = []
        self._section = section
        self._backlinks = heading in BACKLINKS

    def texts(self, lines: Sequence[str], first: int) -> tuple[str, str]:
        """The text of lines, and the same with links and callouts as written; `first` is the number of the first line."""
        kept = [found for i, line in enumerate(lines) if (found := self._line(line, first + i)) is not None]
        return _joined(text for text, _ in kept), _joined(written for _, written in kept)

    def _line(self, line: str, number: int) -> tuple[str, str] | None:
        """A line for readers and as written, None if it goes."""
        read = as_read(line)
        text = self._read(read, number)
        if not text and (text is None or read.strip()):
            return None if text is None else ("", "")
        return text, _written(line)

    def _read(self, line: str, number: int) -> str | None:
        """A line for readers, None if it goes."""
        if not line.strip():
            return ""
        inline = read_inline(line, self._section)
        self.links += ((number, link) for link in inline.links)
        if _RULE.fullmatch(line) or self._leads_only(line):
            return ""
        return self._shown(inline.text, line)

    def _leads_only(self, line: str) -> bool:
        """Whether a line only leads elsewhere: navigation, or a list of what links here."""
        if not self._backlinks:
            return is_navigation(line)
        rest, number = without_links(line)
        return number > 0 and all(word.isdigit() for word in _WORDS.findall(rest))

    def _shown(self, text: str, line: str) -> str | None:
        tags = [tag for tag in TAG.findall(text) if not tag.isdigit()] if "#" in text else []
        self.tags += tags
        if tags and is_of_tags(text):
            self.lone_tags += tags
            return ""
        text = self._without_fields(text)
        if "<" in text:
            text = _HTML.sub("", _BREAK.sub(" ", text))
        if "==" in text:
            text = _HIGHLIGHT.sub(r"\1", text)
        text = _BLOCK_ID.sub("", text).rstrip()
        # what held an image or a program only
        return None if text != line.rstrip() and _EMPTY.fullmatch(text.strip()) else text

    def _without_fields(self, text: str) -> str:
        if "::" not in text:
            return text
        if (pair := field_pair(text)) is not None:
            self.fields.append(pair)
            return text.replace("::", ":", 1)
        for match in BRACKETED.finditer(text):
            self.fields.append((match["key"].strip(), match["value"].strip()))
        return BRACKETED.sub(
            lambda match: f"{match['key'].strip()}: " * (match["bracket"] == "[") + match["value"].strip(), text
        )


def _joined(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n").rstrip()


def _written(line: str) -> str:
    """A line as its author wrote it, without images, HTML and the names of blocks."""
    text = as_written(keeping_links(line))
    return _BLOCK_ID.sub("", _HTML.sub("", text) if "<" in text else text).rstrip()
