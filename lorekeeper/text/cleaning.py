"""Prose without its markup, and its sentences: pure functions over text, in time linear in its length."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(r"\[(No description provided|None provided|Column data)\.?\]", re.IGNORECASE)
_SOFT_HYPHEN = re.compile(r"\u00ad")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_TABLE_RULE = re.compile(r"^(?:[^\S\n]|[:-])*+\|(?:[^\S\n]|[|:-])*+$", re.MULTILINE)
_TABLE_BAR = re.compile(r"(?<![^\S\n])[^\S\n]*+\|(?:[^\S\n]|\|)*+")
_EMPHASIS = re.compile(r"[*_`#>]+")
_MARKUP = (
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

_SPACE = re.compile(r"[^\S\n]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]?\s+(?=[\"'“(]?[A-Z0-9])|(?<!\s)[^\S\n]*+\n\s*")


def clean(text: str) -> str:
    """Prose without Markdown, HTML, table rules, soft hyphens and placeholders; paragraphs keep lines of their own."""
    text = _PLACEHOLDER.sub("", text)
    for characters, pattern, replacement in _MARKUP:
        if any(character in text for character in characters):
            text = pattern.sub(replacement, text)
    text = _SPACE.sub(" ", text)
    return "\n".join(line.strip(" ;") for line in text.splitlines() if line.strip(" ;"))


def sentences(text: str) -> list[str]:
    """A cleaned text split at the ends of sentences and paragraphs."""
    return [s for s in (part.strip() for part in _SENTENCE_END.split(text) if part) if s]
