"""The form in which what people write is compared with marks."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

from lorekeeper.folding import fold

_INITIALS = re.compile(r"\b(?:[^\W\d_]\.[ ]?){2,}(?!\w)")
_SEPARATOR = re.compile(r"\s*[&+/,;]\s*")
_INVISIBLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
"""Characters that nobody sees, beside those of Unicode's category Cf."""


def visible_text(text: str) -> str:
    """A text without the characters that nobody sees: zero-width spaces, soft hyphens, marks of direction."""
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and ord(c) not in _INVISIBLE)


def comparable(text: str) -> str:
    """The form in which texts are compared with marks: `fold` of what a reader sees of them, "&" and the like as "and"."""
    return _comparable_short(text) if len(text) <= _SHORT else _comparable(text)


def _comparable(text: str) -> str:
    text = visible_text(html.unescape(text)) if "&" in text or not text.isascii() else text
    if "." in text:
        text = _INITIALS.sub(lambda match: f"{match[0].replace('.', '').replace(' ', '')} ", text)
    return fold(_SEPARATOR.sub(" and ", text.strip(" \t&+/,;")))


_SHORT = 100
_comparable_short = lru_cache(maxsize=8192)(_comparable)
"""Keys and headings repeat from note to note."""
