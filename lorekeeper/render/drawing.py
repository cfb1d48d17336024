"""Covers of books and small charts, as SVG: drawn from what the library knows, with no image of anybody's.

Colours of a cover follow from the key of its book; those of charts, and all text, are classes of the style sheet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from html import escape

from lorekeeper.printable import one_line

WIDTH, HEIGHT = 120, 168
"""Size of a cover in its own units; as large as the page makes it."""

LINE_CHARS, MAX_LINES = 13, 5
"""Characters of a line of a title, and most lines."""

EMBLEMS = {
    "spells": "M60 96l5 15 15 5-15 5-5 15-5-15-15-5 15-5z",
    "creatures": (
        "M60 114c10 0 18 8 18 15 0 6-5 8-9 8-4 0-5-2-9-2s-5 2-9 2c-4 0-9-2-9-8 0-7 8-15 18-15z"
        "M39 106a5 7 0 1 0 10 0a5 7 0 1 0-10 0zM49 96a5 7 0 1 0 10 0a5 7 0 1 0-10 0z"
        "M61 96a5 7 0 1 0 10 0a5 7 0 1 0-10 0zM71 106a5 7 0 1 0 10 0a5 7 0 1 0-10 0z"
    ),
    "equipment": "M60 86l4 8v29h10v4h-10v8a4 4 0 1 1-8 0v-8h-10v-4h10v-29z",
    "character_options": (
        "M60 94c9 0 11 7 11 11 0 6-5 11-11 11s-11-5-11-11c0-4 2-11 11-11zM42 138c0-12 8-18 18-18s18 6 18 18z"
    ),
    "rules": "M42 98h36v5H42zM42 109h36v5H42zM42 120h36v5H42zM42 131h22v5H42z",
    "notes": "M44 94h24l8 8v36H44zM67 96v7h7zM50 110h20v3H50zM50 118h20v3H50zM50 126h13v3H50z",
}
"""The emblem of a type that most entries of a book are of, as a path."""

BAR, BAR_GAP, CHART_HEIGHT, LABEL_HEIGHT = 22, 4, 90, 16
"""Width of a bar, distance between bars, height of the highest one, and of the line of labels below."""


def cover(key: str, title: str, entity_type: str) -> str:
    """The cover of a book.

    Args:
        key: of its document, from which the colours follow.
        title: as it stands on the cover.
        entity_type: what most of its entries are.
    """
    digest = hashlib.blake2b(key.encode(), digest_size=4).digest()
    hue, shade = digest[0] * 360 // 256, 26 + digest[1] % 10
    ground, dark, light = (f"hsl({hue} {share}% {light}%)" for share, light in ((34, shade), (38, shade - 9), (45, 84)))
    lines = title_lines(title)
    text = "".join(
        f'<text x="66" y="{34 + 14 * number}" text-anchor="middle" fill="{light}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg class="cover" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" focusable="false">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{ground}"/>'
        f'<rect width="11" height="{HEIGHT}" rx="3" fill="{dark}"/>'
        f'<rect x="19" y="10" width="92" height="{HEIGHT - 20}" fill="none" stroke="{light}" stroke-opacity=".55"/>'
        f'<g transform="translate(6 14)"><path d="{EMBLEMS.get(entity_type, EMBLEMS["rules"])}" fill="{light}"/></g>'
        f"{text}</svg>"
    )


def _parts(word: str) -> list[str]:
    """A word in parts of at most `LINE_CHARS`: whole, else broken after hyphens and the like, else anywhere."""
    if len(word) <= LINE_CHARS:
        return [word]
    parts: list[str] = []
    for piece in re.findall(r"[^-_/.]*[-_/.]+|[^-_/.]+", word):
        if parts and len(parts[-1]) + len(piece) <= LINE_CHARS:
            parts[-1] += piece
        else:
            parts += (piece[start : start + LINE_CHARS] for start in range(0, len(piece), LINE_CHARS))
    return parts


def title_lines(title: str) -> list[str]:
    """A title in lines of at most `LINE_CHARS`; what does not fit into `MAX_LINES` ends with an ellipsis."""
    lines: list[str] = []
    for word in one_line(title).split():
        for part in _parts(word):
            if lines and len(lines[-1]) + 1 + len(part) <= LINE_CHARS:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], f"{lines[MAX_LINES - 1][: LINE_CHARS - 1]}…"]
    return lines


def chart(title: str, bars: Sequence[tuple[str, int]]) -> str:
    """A bar chart with the number above each bar and its label below.

    Args:
        title: what is counted, for those who hear the page.
        bars: label and number of each, in order; "" without any.
    """
    if not bars:
        return ""
    highest = max(max(number for _, number in bars), 1)
    width = len(bars) * (BAR + BAR_GAP) + BAR_GAP
    drawn = "".join(_bar(place, label, number, highest) for place, (label, number) in enumerate(bars))
    said = "; ".join(f"{label}: {number:,}" for label, number in bars)
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width} {CHART_HEIGHT + 2 * LABEL_HEIGHT}" width="{width}" '
        f'aria-label="{escape(f"{title}. {said}")}">{drawn}</svg>'
    )


def _bar(place: int, label: str, number: int, highest: int) -> str:
    x = BAR_GAP + place * (BAR + BAR_GAP)
    height = max(round(number / highest * CHART_HEIGHT, 1), 1 if number else 0)
    top = LABEL_HEIGHT + CHART_HEIGHT - height
    middle = x + BAR / 2
    return (
        f'<rect class="bar" x="{x}" y="{top:g}" width="{BAR}" height="{height:g}"/>'
        f'<text class="number" x="{middle:g}" y="{top - 3:g}" text-anchor="middle">{number}</text>'
        f'<text class="label" x="{middle:g}" y="{LABEL_HEIGHT + CHART_HEIGHT + 12}" text-anchor="middle">{escape(label)}</text>'
    )
