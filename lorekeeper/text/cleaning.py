"""Prose without its markup, and its sentences: pure functions over text, in time linear in its length."""

from __future__ import annotations

import itertools
import re

_PLACEHOLDER = re.compile(r"\[(No description provided|None provided|Column data)\.?\]", re.IGNORECASE)
_SOFT_HYPHEN = re.compile(r"\u00ad")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_TABLE_RULE = re.compile(r"^(?:[^\S\n]|[:-])*+\|(?:[^\S\n]|[|:-])*+$", re.MULTILINE)
_TABLE_BAR = re.compile(r"(?<![^\S\n])[^\S\n]*+\|(?:[^\S\n]|\|)*+")
_EMPHASIS = re.compile(r"[*_`#>]+")
_MARKUP = (
    ("[", _PLACEHOLDER, ""),
    ("\u00ad", _SOFT_HYPHEN, ""),
    ("<", _TAG, " "),
    ("[", _LINK, r"\1"),
    ("|", _TABLE_RULE, ""),
    ("|", _TABLE_BAR, "; "),
    ("*_`#>", _EMPHASIS, " "),
)
"""Characters of which a text must have one, the pattern to search for then, and its replacement.

No pattern scans a run of characters again from each position in it, so the time is linear in the length of any text.
"""

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)|[\"'”’)]?\s+(?=[\"'“(]?[A-Z0-9]))")
"""From the last character of a sentence, or a line's end, to the next sentence; a quotation mark between them is dropped."""


def clean(text: str) -> str:
    """Prose without Markdown, HTML, table rules, soft hyphens and placeholders; paragraphs keep lines of their own."""
    for characters, pattern, replacement in _MARKUP:
        if any(character in text for character in characters):
            text = pattern.sub(replacement, text)
    lines = (" ".join(line.split()).strip(" ;") for line in text.split("\n"))
    return "\n".join(filter(None, lines))


def sentences(text: str) -> list[str]:
    """A cleaned text split at the ends of sentences and paragraphs."""
    ends = [(0, 0), *((end.start() + 1, end.end()) for end in _SENTENCE_END.finditer(text)), (len(text), len(text))]
    parts = (text[start:end].strip() for (_, start), (end, _) in itertools.pairwise(ends))
    return list(filter(None, parts))
