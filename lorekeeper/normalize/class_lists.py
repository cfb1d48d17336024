"""Lists of the spells of a class, as chapters of books and pages of journals have them: names in groups by level."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lorekeeper.folding import fold
from lorekeeper.notes.facts import cells
from lorekeeper.records.printed import plain

_TITLE = re.compile(r"(?:the )?([^\W\d_][\w' -]{2,40}?)(?:'s)? spells?(?: lists?)?", re.IGNORECASE)
_LEVEL = re.compile(
    r"(?:cantrips?|(?:level|grade) \d\b|\d(?:st|nd|rd|th)?[- ]level)\b[^:,|]{0,40}(?P<colon>:|$)", re.IGNORECASE
)
_HEADING = re.compile(r"(?:>\s*)?(#{1,6})\s+(?=\S)")
_BOLD = re.compile(r"\s*(?:>\s*)?(\*\*|__)")
_AFTER_NAME = re.compile(r"(?<![\s)\]])\s*(?:\([^()]*\)|\[[^\[\]]*\])+$")

SHORTEST = 2
"""Fewest characters of the name of a spell."""


def class_of(title: str) -> str:
    """The class whose spells something called so lists, "" for anything else: "Bard" of "Bard Spells"."""
    match = _TITLE.fullmatch(title.strip())
    return match[1].strip() if match else ""


def is_level(title: str) -> bool:
    """Whether a title is that of a group of spells by level: "Cantrips (0 Level)", "1st Level"."""
    return _LEVEL.match(title) is not None


def classes_of_spells(texts: Iterable[str]) -> dict[str, list[str]]:
    """The classes of spells by folded name, from the lists of classes in the texts of a book in Markdown.

    A list is a section called "Bard Spells" in which titles of levels stand. Its names may be lines, items, rows or separated by
    commas. What is no name of a spell does no harm, as only names of spells are looked up.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        for class_name, names in _lists(text.split("\n")):
            for name in names:
                classes = found.setdefault(fold(name), [])
                if class_name not in classes:
                    classes.append(class_name)
    return found


def _lists(lines: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    class_name, depth, in_level, names = "", 0, False, list[str]()
    for line in lines:
        heading = _HEADING.match(line)
        text = plain(line[heading.end() :].rstrip("# ") if heading else line)
        group = _LEVEL.match(text) if heading or _BOLD.match(line) or ":" in text else None
        if heading and not group and (len(heading[1]) <= depth or class_of(text)):
            yield class_name, names
            class_name, depth, in_level, names = class_of(text), len(heading[1]), False, []
        elif class_name and group:
            in_level = True
            names += _names(text[group.end() :])
        elif class_name and in_level and text and not heading:
            names += _names(cells(line)[0] if line.lstrip().startswith("|") and cells(line) else text)
    yield class_name, names


def _names(text: str) -> list[str]:
    parts = (_AFTER_NAME.sub("", plain(part)) for part in text.split(","))
    return [part for part in parts if len(part) >= SHORTEST]
