"""Excerpts: the few words of an entry that are shown beside its name, from the sentence nearest to a query."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.text.cleaning import sentences
from lorekeeper.text.facts import facts
from lorekeeper.text.keywords import content_words
from lorekeeper.text.sections import sections

SNIPPET_CHARS = 120
"""Longest snippet, in characters."""

STEM = 5
"""Letters by which words are compared."""

ELLIPSIS = "…"

_LOOSE = re.compile(r" ([,:;.])(?= |$)")
"""Punctuation after words in bold, which have lost their asterisks to a space."""


def snippet(text: str, limit: int = SNIPPET_CHARS, least: float = 1 / 3) -> str:
    """The start of a text in one line, at most ``limit`` characters, up to the end of a sentence or else of a word.

    It ends with a sentence if that leaves at least the share ``least`` of the limit.
    """
    text = " ".join(text.split(maxsplit=limit))  # so many words are longer than the limit
    text = _LOOSE.sub(r"\1", text)
    if len(text) <= limit:
        return text
    start = text[:limit]
    end = max(start.rfind(". "), start.rfind("! "), start.rfind("? "))
    if end >= int(limit * least):
        return start[: end + 1]
    return start[: limit - 1].rsplit(" ", 1)[0].rstrip(",;:") + ELLIPSIS


def excerpt(passage: str, section: str, query: str, limit: int = SNIPPET_CHARS) -> str:
    """A passage from the sentence on that shares most words with a query, shortened as by `snippet`.

    If that is not its first sentence, the heading of its section comes before it.

    Args:
        passage: text of a `Passage`.
        section: heading under which the passage begins.
        query: the words searched for.
        limit: most characters.
    """
    first, *others = passage.split("\n")
    lines = [(section, first), *((line.partition(": ")[0], line) for line in others)]
    return snippet(_from_nearest(lines, query) or passage, limit)


def entity_excerpt(entity: Entity, query: str, limit: int = SNIPPET_CHARS) -> str:
    """The same of an entry's whole prose; its facts if it has none."""
    stop = None if query else 1
    lines = [(section.heading, str(section)) for section in itertools.islice(sections(entity), stop)]
    beginning = lines[0][1] if lines else facts(entity)
    return snippet(_from_nearest(lines, query) or beginning, limit)


def _from_nearest(lines: Iterable[tuple[str, str]], query: str) -> str:
    """What begins with the sentence nearest to a query, of texts with their headings; "" if none shares a word."""
    stems = _stems(content_words(fold(query)))
    most, nearest = 0, ""
    for heading, line in lines if stems else ():
        folded = fold(line)
        if sum(stem in folded for stem in stems) <= most:
            continue
        parts = sentences(line)
        shared = [len(stems & _stems(fold(sentence).split())) for sentence in parts]
        start = shared.index(max(shared))
        if shared[start] > most:
            most, nearest = shared[start], _from_sentence(heading, parts, start)
    return nearest


def _from_sentence(heading: str, parts: list[str], start: int) -> str:
    """Sentences from one on; the heading and an ellipsis stand for those before it."""
    rest = " ".join(parts[start:])
    if not start:
        return rest
    return f"{heading}: {ELLIPSIS} {rest}" if heading else f"{ELLIPSIS} {rest}"


def _stems(words: Iterable[str]) -> set[str]:
    return {word[:STEM] for word in words}
