"""Notes: their prose by heading path, their aliases and facts, and the passages that the model reads of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from lorekeeper import dates
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.notes import (
    AHEAD,
    BETWEEN,
    TOLD,
    Section,
    aliases_of,
    facts_in_text,
    facts_of,
    sections_of,
    title_of,
)

FEWEST_WORDS, ENOUGH = 10, 200
"""Fewest words of a section that tells something, and how many characters of those that say so are enough."""

MAX_TAGS = 5
"""Tags that are shown among the facts."""

_BEFORE = re.compile(r"[\s>]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[.\][ \t]+)?")
"""What stands before the text of a line: marks of quotes, lists and tasks."""

_LABEL = re.compile(r"(?:(\*\*|__)[^*_\n]{1,60}?(?::\1|\1[ \t]?:{1,2})|[^\W\d_][\w /'’-]{0,40}::?)(?=\s|$)")
"""A label at the beginning of a line: ``**Motivation:**``, ``Voice:``, ``age::``."""

_BRACKETS = '*_~=`()[]{}<>"“”. \t'

_TO_FILL = re.compile(
    r"tb[adc]|to ?do|wip|work in progress|placeholder|coming soon|lorem ipsum.*|"
    r"to be (?:determined|decided|announced|written|added|done)|(?:fill|to be filled)(?: (?:me|this|it))? in(?: later)?|[?…_.]+|"
    r"(?:describe|enter|insert|write|add|put|list|type|fill in)\b.{0,60}\bhere|.{0,60}\bgoes here",
    re.IGNORECASE,
)
"""What a template has where something is to be filled in."""

_NO_VALUE = re.compile(r"-+|–|—|n/?a|none yet|unknown yet|x{3,}", re.IGNORECASE)
"""What is written after a label instead of a value."""

_KEPT_BY_PROGRAMS = re.compile(
    r"(?:date |last |file )?(?:created|modified|updated|edited|changed|ctime|mtime|creation|modification)(?: at| on| date)?",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def note_prose(entity: Entity) -> Iterator[tuple[str, str]]:
    """Heading path and Markdown of each section of a note, in reading order, without what a template left to be filled in."""
    return ((section.path, filled_in(section.text)) for section in sections_of(entity.data))


@lru_cache(maxsize=2_000)  # each lookup reads all sections of the notes that it shows
def filled_in(text: str) -> str:
    """A Markdown text without lines in which nothing was filled in: "Voice: TBD", "describe the character here", "**Secret:**".

    A label without a value stays before anything but another label: it is the heading of what follows.
    """
    kept: list[str] = []
    below = ""
    for line in reversed(text.split("\n")):
        inner = line[_BEFORE.match(line).end() :]  # type: ignore[union-attr]
        label = _LABEL.match(inner)
        value = inner[label.end() :].strip() if label else inner.strip()
        bare = value.strip(_BRACKETS)
        if label and not value:
            is_key = bool(label[1]) or label[0].endswith("::")
            is_blank = is_key and (not below or bool(_LABEL.match(below)))
        else:
            is_bracket = bool(label) and value.startswith("[") and value.endswith("]") and "[" not in value[1:]
            is_blank = bool(value) and (
                is_bracket
                or bool(_TO_FILL.fullmatch(bare or value))
                or bool(label and _NO_VALUE.fullmatch(bare or value))
            )
        if not is_blank:
            kept.append(line)
            below = inner.strip() or ("" if not kept else below)
    return "\n".join(reversed(kept))


def tale(entity: Entity) -> list[Section]:
    """The sections of a note that tell what happened: those whose headings say so, and the others too where these are short.

    None of a form in which nothing was filled in yet; what has one section is no form.
    """
    found = [replace(each, text=filled_in(each.text)) for each in sections_of(entity.data)]
    fewest = FEWEST_WORDS if len(found) > 1 else 1
    found = [each for each in found if each.tells in ("", TOLD) and len(each.text.split()) >= fewest]
    told = [each for each in found if each.tells]
    is_enough = sum(len(each.text) for each in told) >= ENOUGH
    return told if is_enough else sorted(found, key=lambda each: not each.tells)


def to_come(entity: Entity) -> list[Section]:
    """The sections of a note whose headings say that they tell what is to come, as far as they are filled in."""
    found = (replace(each, text=filled_in(each.text)) for each in sections_of(entity.data) if each.tells == AHEAD)
    return [each for each in found if each.text.strip()]


def labels(text: str) -> Iterator[str]:
    """What stands as labels at the beginnings of the lines of a Markdown text: "Population" of "- **Population**: 8,000"."""
    return (label[0] for line in text.split("\n") if (label := _LABEL.match(line, _BEFORE.match(line).end())))  # type: ignore[union-attr]


def parts_under(entity: Entity, heading: str) -> Iterator[Section]:
    """The sections of a note that stand under a heading, all for ""."""
    wanted = fold(heading)
    return (each for each in sections_of(entity.data) if not wanted or wanted in map(fold, each.path.split(BETWEEN)))


def marked(entity: Entity) -> set[str]:
    """Heading paths of the sections of a note that have a mark of their own, by which they are kept from players."""
    return {section.path for section in sections_of(entity.data) if section.mark}


def new_headings(path: str, before: str) -> Iterator[tuple[int, str]]:
    """Depth and text of the headings of a path that the section before does not stand under."""
    names, known = path.split(BETWEEN) if path else [], before.split(BETWEEN) if before else []
    shared = 0
    while shared < min(len(names), len(known)) and names[shared] == known[shared]:
        shared += 1
    yield from ((depth, name) for depth, name in enumerate(names) if depth >= shared)


def aliases(entity: Entity) -> list[str]:
    """The other names of a note."""
    return aliases_of(entity.data) if entity.type == "notes" else []


def note_facts(entity: Entity) -> dict[str, str]:
    """What a note says of its subject by keys: ``{"Race": "dwarf"}``."""
    return facts_of(entity.data)


def said(entity: Entity) -> str:
    """Aliases, and facts that the text does not have: "Also called the Old Wolf. Race: dwarf. Home: Skara."; "" without any."""
    names, in_text = aliases(entity), facts_in_text(entity.data)
    parts = [f"Also called {', '.join(names)}"] if names else []
    parts += [
        f"{key}: {value}" for key, value in note_facts(entity).items() if key not in in_text and _says(key, value)
    ]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


def _says(key: str, value: str) -> bool:
    """Whether a fact says something of its subject: not the times that programs write, and not what is to be filled in."""
    if _KEPT_BY_PROGRAMS.fullmatch(key.replace("_", " ").replace("-", " ").strip()) and _DAY.match(value):
        return False
    bare = value.strip(_BRACKETS)
    return not (_TO_FILL.fullmatch(bare or value) or _NO_VALUE.fullmatch(bare or value))


def section_shown(entity: Entity, path: str) -> str:
    """A heading path as it is shown: of the text below the title of a note its title, as it stands there."""
    return title_of(entity.data) if entity.type == "notes" and not path else path


def folder(entity: Entity) -> str:
    """The folder of a note as it is written, "" for the uppermost one."""
    return entity.slug.rpartition("/")[0]


def session_of(entity: Entity) -> int | float | None:
    """The number of the session that a note is about, a whole one as such: 12, 0.5; None if it has none."""
    number = entity.fields.get("session")
    if not isinstance(number, int | float):
        return None
    return int(number) if number == int(number) else number


def session(entity: Entity) -> str:
    """Number and date of the session that a note is about: "session 12, 2026-11-20"."""
    number, date = session_of(entity), entity.fields.get("session_date")
    parts = [] if number is None else [f"session {number}"]
    return ", ".join([*parts, *([dates.written(date)] if isinstance(date, int) else [])])


def tags(entity: Entity, limit: int = MAX_TAGS) -> str:
    """The first tags of a note, without those that contain others: "#npc/ally #dwarf"."""
    listed = entity.fields.get("tags")
    found = listed if isinstance(listed, tuple) else ()
    inner = [tag for tag in found if not any(other.startswith(f"{tag}/") for other in found)]
    return " ".join(f"#{tag.replace(' ', '-')}" for tag in inner[:limit])


def capped_path(path: str, length: int) -> str:
    """The end of a heading path, at most ``length`` characters: the innermost heading says most."""
    while len(path) > length and BETWEEN in path:
        path = path.partition(BETWEEN)[2]
    return path[:length]
