"""The room of a dossier: which lines of each part fit, and what is counted as left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lorekeeper.folding import fold
from lorekeeper.search.dossier.lines import Dossier, Line, Part

MAX_TOKENS = 2_500
"""Longest dossier."""

TOKEN_CHARS = 4
"""Characters of a token, about."""

ROOM = MAX_TOKENS * TOKEN_CHARS
"""Characters of a dossier as JSON: as Markdown it is shorter."""


@dataclass(frozen=True)
class Draft:
    """A part before it is known what fits.

    Attributes:
        title: of the part.
        lines: all that could be said, in order of use.
        share: of the room that it may take if all parts are long, 0 to 1.
        silent: whether a line without a quote says something.
    """

    title: str
    lines: Sequence[Line]
    share: float
    silent: bool = False


def fitted(dossier: Dossier, drafts: Sequence[Draft], limit: int) -> Dossier:
    """A dossier with as many lines of its parts as `ROOM` allows for, at most ``limit`` a part."""
    room = ROOM - _length(dossier)
    while True:
        full = replace(dossier, parts=packed(drafts, limit, room))
        excess = _length(full) - ROOM
        if excess <= 0 or room <= 0:
            return full
        room -= excess  # the titles of the parts, and where to read on


def _length(dossier: Dossier) -> int:
    return len(json.dumps(dossier.content(), ensure_ascii=False))


def packed(drafts: Sequence[Draft], limit: int, room: int) -> list[Part]:
    """The parts with as many lines as fit, without those that have none; no sentence and no entry stands in two of them.

    A part may use what those before it left, and what those after it do not need.

    Args:
        drafts: in order of use.
        limit: most lines of a part.
        room: characters of all lines as JSON.
    """
    told: set[str] = set()
    parts: list[Part] = []
    free = room
    for place, draft in enumerate(drafts):
        reserved = sum(min(later.share * room, _needed(later, limit)) for later in drafts[place + 1 :])
        lines, left_out = _fitting(draft, limit, max(free - reserved, 0), told)
        free -= sum(map(size, lines))
        if lines or left_out:
            parts.append(Part(draft.title, lines, len(left_out), left_out[0].entity.uri if left_out else None))
    return parts


def _fitting(draft: Draft, limit: int, room: float, told: set[str]) -> tuple[list[Line], list[Line]]:
    """The lines of a part that fit, and those that do not; ``told`` gets the sentences of the former."""
    lines: list[Line] = []
    left_out: list[Line] = []
    for candidate in draft.lines:
        line = candidate.untold(told)
        if not line.quote.sentences and not draft.silent:
            continue  # all of it has been said
        if len(lines) >= limit or size(line) > room:
            left_out.append(line)
            continue
        lines.append(line)
        room -= size(line)
        told.update(map(fold, line.quote.sentences))
    return lines, left_out


def size(line: Line) -> int:
    """Characters of a line as JSON."""
    return len(json.dumps(line.content(), ensure_ascii=False)) + 2


def _needed(draft: Draft, limit: int) -> int:
    return sum(map(size, draft.lines[:limit]))
