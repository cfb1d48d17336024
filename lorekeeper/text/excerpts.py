"""Excerpts: the few words of an entry that are shown beside its name."""

from __future__ import annotations

import re

SNIPPET_CHARS = 120
"""Longest snippet, in characters."""

ELLIPSIS = "…"

_TITLED = r"[A-Z0-9][\w’'()/-]*"
LABEL = re.compile(rf"{_TITLED}(?: (?:{_TITLED}|of|the|an?|and|or|at|in|to|for|by|with|from|on)){{0,7}}\.")
"""What stands before a sentence as its label: "Damage at 0 Hit Points."."""

_LOOSE = re.compile(r" ([,:;.])(?= |$)")
"""Punctuation after words in bold, which have lost their asterisks to a space."""


_KEY = re.compile(r"\bsrd:([a-z]{2,30}(?:-[a-z]{1,30}){0,8})")
"""A key of another entry, where its name is meant."""


def without_keys(text: str) -> str:
    """A text with the names of other entries in the place of their keys: "srd:unseen-attackers" is "unseen attackers"."""
    return _KEY.sub(lambda match: match[1].replace("-", " "), text) if "srd:" in text else text


def snippet(text: str, limit: int = SNIPPET_CHARS, least: float = 1 / 3) -> str:
    """The start of a text in one line, at most ``limit`` characters, up to the end of a sentence or else of a word.

    It ends with a sentence if that leaves at least the share ``least`` of the limit.
    """
    text = without_keys(" ".join(text.split(maxsplit=limit)))  # so many words are longer than the limit
    text = _LOOSE.sub(r"\1", text)
    if len(text) <= limit:
        return text
    start = text[:limit]
    end = max(start.rfind(". "), start.rfind("! "), start.rfind("? "))
    if end >= int(limit * least):
        whole = start[: end + 1]
        last = whole.rfind(". ", 0, end)  # a label says nothing without its sentence
        return whole[: last + 1] if last >= int(limit * least) and LABEL.fullmatch(whole[last + 2 :]) else whole
    return start[: limit - 1].rsplit(" ", 1)[0].rstrip(",;:") + ELLIPSIS
