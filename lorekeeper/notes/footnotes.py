"""Footnotes, where they are referred to: a reader of an answer does not see the foot of the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lorekeeper.audience import DM, Audience

_DEFINITION = re.compile(r"[ ]{0,3}\[\^([^\[\]\s]{1,60})\]:[ \t]*(.*)")
_REFERENCE = re.compile(r"[ \t]?\[\^([^\[\]\s]{1,60})\](?!:)")
_INLINE = re.compile(r"[ \t]?\^\[([^\[\]\n]{1,500})\]")
_LEFT = re.compile(r"[ \t]?(?<![\^_])\^(?=[\s.,;:!?)]|\Z)")
"""What is left of one whose text was cut out."""

_CONTINUED = re.compile(r"(?: {2,}|\t)[ \t]*(?=\S)")


@dataclass
class _Footnote:
    text: str
    audience: Audience | None
    first: int
    end: int
    is_placed: bool = False


@dataclass
class Footnotes:
    """The footnotes of a note, those of the stretches around a secret before its own."""

    known: dict[str, _Footnote] = field(default_factory=dict)

    def place(self, lines: list[str], audience_at: Callable[[int], Audience | None]) -> None:
        """Put footnotes in brackets behind what they explain.

        One that not all may see who see the reference stays where it is; what refers to it, or to none, goes without a trace.

        Args:
            lines: of a stretch; they are changed, and stay as many.
            audience_at: says by the number of a line who may see it.
        """
        if not any("^" in line for line in lines):
            return
        own = dict(_definitions(lines, audience_at))
        self.known |= own
        inside = {number for note in own.values() for number in range(note.first, note.end)}
        for number, line in enumerate(lines):
            if number not in inside and "^" in line:
                lines[number] = self._placed(line, audience_at(number), own)
        for note in own.values():
            if note.is_placed:
                lines[note.first : note.end] = [""] * (note.end - note.first)

    def _placed(self, line: str, audience: Audience | None, own: dict[str, _Footnote]) -> str:
        def text(match: re.Match[str]) -> str:
            note = self.known.get(match[1])
            if note is None or audience not in (note.audience, DM):
                return ""
            note.is_placed |= note is own.get(match[1]) and audience == note.audience
            return f" ({note.text.removesuffix('.')})"

        line = _LEFT.sub("", _INLINE.sub(lambda match: f" ({match[1].strip().removesuffix('.')})", line))
        return _REFERENCE.sub(text, line) if "[^" in line else line


def _definitions(lines: list[str], audience_at: Callable[[int], Audience | None]) -> list[tuple[str, _Footnote]]:
    """The footnotes of a stretch, each with the indented lines that go on with it."""
    found = list[tuple[str, _Footnote]]()
    for number, line in enumerate(lines):
        if (match := _DEFINITION.fullmatch(line)) is None:
            continue
        end = number + 1
        while end < len(lines) and _CONTINUED.match(lines[end]):
            end += 1
        text = " ".join([match[2], *(each.strip() for each in lines[number + 1 : end])]).strip()
        if text and audience_at(end - 1) == audience_at(number):
            found.append((match[1], _Footnote(text.replace("|", "/"), audience_at(number), number, end)))
    return found
