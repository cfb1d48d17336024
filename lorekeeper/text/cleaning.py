"""Prose without its markup, and its sentences: pure functions over text, in time linear in its length."""

from __future__ import annotations

import re

from lorekeeper.words import listed

_PLACEHOLDER = re.compile(r"\[(No description provided|None provided|Column data)\.?\]", re.IGNORECASE)
_WRITTEN_BREAK = re.compile(r"(?:\\r)?\\n")
_SOFT_HYPHEN = re.compile(r"\u00ad")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_TABLE_RULE = re.compile(r"^(?:[^\S\n]|[:-])*+\|(?:[^\S\n]|[|:-])*+$", re.MULTILINE)
_TABLE_BAR = re.compile(r"(?<![^\S\n])[^\S\n]*+\|(?:[^\S\n]|\|)*+")
_EMPHASIS = re.compile(r"[*_`#>]+")
_MARKUP = (
    ("\\", _WRITTEN_BREAK, "\n"),
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

_MARKED = re.compile("[" + "".join(re.escape(characters) for characters, _, _ in _MARKUP) + "]")

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)|[\"'”’)]?\s+(?=[\"'“(]?[A-Z0-9]))")
"""From the last character of a sentence, or a line's end, to the next sentence; a quotation mark between them is dropped."""

_BACK = re.compile(rf"(?:[^\s,]+ ){{0,4}}(?:{'|'.join(listed('says back'))})\b", re.IGNORECASE)


def points_back(sentence: str) -> bool:
    """Whether a sentence is only right after the one before it: one of its first words, before a comma, says so."""
    return _BACK.match(sentence) is not None


def clean(text: str) -> str:
    """Prose without Markdown, HTML, table rules, soft hyphens and placeholders; paragraphs keep lines of their own.

    Line breaks that a source has as two characters, a backslash and a letter, are line breaks.
    """
    for characters, pattern, replacement in _MARKUP if _MARKED.search(text) else ():
        if any(map(text.__contains__, characters)):
            text = pattern.sub(replacement, text)
    # one space between words: most lines have no other white space, and are not taken apart
    lines = (each if "  " not in each and each.isprintable() else " ".join(each.split()) for each in text.split("\n"))
    return "\n".join(filter(None, (line.strip(" ;") for line in lines)))


def sentences(text: str) -> list[str]:
    """A cleaned text split at the ends of sentences and paragraphs."""
    start, parts = 0, []
    for end in _SENTENCE_END.finditer(text):
        parts.append(text[start : end.start() + 1])
        start = end.end()
    parts.append(text[start:])
    return list(filter(None, map(str.strip, parts)))
