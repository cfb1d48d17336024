"""A picture of what a note is connected with, as SVG.

The note is in the middle; what it is connected with directly stands to its left and right, further notes outside of these. Equal
distances from line to line keep the labels apart. The same notes and connections always give the same picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from lorekeeper.printable import one_line

KINDS = ("npc", "character", "location", "faction", "item", "quest", "session", "creature", "note")
"""Kinds with a colour of their own; others have that of "note"."""

MAX_NODES = 40
"""Most notes in a picture."""

LINE = 22
"""From one label to the next one below it."""

LABEL_CHARS, LABEL_WIDTH = 16, 120
"""Most characters of a label, and the room for it."""

NEAR, BULGE, FAR = 26, 24, 190
"""How far the first column is from the middle at its ends, how much more at half its height, and how far the second one is."""

MARGIN, LABEL_GAP = 10, 10
"""Above and below everything, and between a note and its label."""

Edge = tuple[int, int]
"""Two connected nodes, by number."""


@dataclass(frozen=True)
class Node:
    """A note in the picture.

    Attributes:
        name: its title.
        kind: "npc", "location", ...
        address: path of its page.
    """

    name: str
    kind: str
    address: str


@dataclass(frozen=True)
class _Place:
    x: float
    y: float
    left: bool


def graph_svg(nodes: Sequence[Node], edges: Sequence[Edge], centre: int = 0, steps: int = 2) -> str:
    """The picture; "" if the note in the middle is connected with nothing.

    Args:
        nodes: the notes, those first that matter most: of further ones than `MAX_NODES` none are drawn.
        edges: which of them are connected.
        centre: number of the note in the middle.
        steps: how far from it a note may be, 1 or 2.
    """
    near = _beside(edges, centre, len(nodes))[: MAX_NODES - 1]
    if not near:
        return ""
    parents = _parents(edges, centre, near, len(nodes)) if steps > 1 else {}
    outer = dict(list(parents.items())[: MAX_NODES - 1 - len(near)])
    near.sort(key=lambda n: (_rank(nodes[n].kind), nodes[n].name.casefold(), n))
    right = near[: math.ceil(len(near) / 2)]
    sides = [right, near[len(right) :]]
    outer_sides = _outer_sides(sides, outer)
    rows = max(*map(len, sides), *map(len, outer_sides))
    height, places = rows * LINE + 2 * MARGIN, dict[int, _Place]()
    reach = (FAR if outer else NEAR) + BULGE + LABEL_GAP + LABEL_WIDTH
    places[centre] = _Place(reach, height / 2, left=False)
    for left, (inner, further) in enumerate(zip(sides, outer_sides, strict=True)):
        places |= _column(inner, reach, height, NEAR, left=bool(left))
        places |= _column(further, reach, height, FAR, left=bool(left))
    return _drawn(nodes, edges, centre, places, 2 * reach, height)


def _beside(edges: Sequence[Edge], node: int, count: int) -> list[int]:
    """The nodes that are connected with one, in their order."""
    found = {b if a == node else a for a, b in edges if node in (a, b)} - {node}
    return sorted(n for n in found if 0 <= n < count)


def _parents(edges: Sequence[Edge], centre: int, near: Sequence[int], count: int) -> dict[int, list[int]]:
    """The nodes one step further, with those through which they are connected, those first that have most of them."""
    known, found = {centre, *near}, dict[int, list[int]]()
    for node in near:
        for other in _beside(edges, node, count):
            if other not in known:
                found.setdefault(other, []).append(node)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _rank(kind: str) -> int:
    return KINDS.index(kind_class(kind))


def kind_class(kind: str) -> str:
    """The one of `KINDS` whose colour a kind has."""
    return kind if kind in KINDS else "note"


def _outer_sides(sides: Sequence[Sequence[int]], outer: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """The outer nodes of each side: beside the first node through which they are connected, as high as these stand."""
    found: list[list[tuple[float, int]]] = [[], []]
    for node, parents in outer.items():
        counts = [sum(parent in side for parent in parents) for side in sides]
        side = 0 if counts[0] > counts[1] or (counts[0] == counts[1] and len(found[0]) <= len(found[1])) else 1
        own = [sides[side].index(parent) / len(sides[side]) for parent in parents if parent in sides[side]]
        found[side].append((sum(own) / len(own), node))
    return [[node for _, node in sorted(side)] for side in found]


def _column(nodes: Sequence[int], middle: float, height: float, distance: float, *, left: bool) -> dict[int, _Place]:
    """A side's nodes one below the other, in a bow around the middle."""
    top = (height - (len(nodes) - 1) * LINE) / 2
    places = {}
    for row, node in enumerate(nodes):
        y = top + row * LINE
        bow = math.sqrt(max(0.0, 1 - ((y - height / 2) / (height / 2)) ** 2))
        x = distance + BULGE * bow
        places[node] = _Place(round(middle - x if left else middle + x, 1), round(y, 1), left)
    return places


def _drawn(
    nodes: Sequence[Node], edges: Sequence[Edge], centre: int, places: Mapping[int, _Place], width: float, height: float
) -> str:
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges if a != b and a in places and b in places})
    lines = "".join(_line(places[a], places[b], direct=centre in (a, b)) for a, b in pairs)
    dots = "".join(_dot(nodes[n], place, centre=n == centre) for n, place in places.items())
    said = escape(one_line(f"{nodes[centre].name} is connected with {len(places) - 1} other notes"))
    return (
        f'<svg class="graph" role="group" aria-label="{said}" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">{lines}{dots}</svg>'
    )


def _line(one: _Place, other: _Place, *, direct: bool) -> str:
    """A connection: straight from the middle, else a curve that passes between the columns."""
    middle = (one.x + other.x) / 2
    bend = 40.0 if one.left else -40.0
    if direct or abs(one.x - other.x) > NEAR:
        bend = 0.0
    return (
        f'<path class="{"direct" if direct else "further"}" d="M{one.x:g} {one.y:g}Q{middle + bend:g} '
        f'{(one.y + other.y) / 2:g} {other.x:g} {other.y:g}"/>'
    )


def _dot(node: Node, place: _Place, *, centre: bool) -> str:
    """A note: a link with a dot and a label."""
    name, kind = one_line(node.name), one_line(node.kind, LABEL_CHARS)
    title = f"<title>{escape(f'{name} ({kind})')}</title>"
    circle = f'<circle cx="{place.x:g}" cy="{place.y:g}" r="{9 if centre else 5.5}"/>'
    if centre:
        return f'<g class="node centre k-{kind_class(node.kind)}">{title}{circle}</g>'
    x, end = (place.x - LABEL_GAP, "end") if place.left else (place.x + LABEL_GAP, "start")
    text = name if len(name) <= LABEL_CHARS else f"{name[: LABEL_CHARS - 1].rstrip()}…"
    label = f'<text x="{x:g}" y="{place.y + 4:g}" text-anchor="{end}">{escape(text)}</text>'
    return f'<a class="node k-{kind_class(node.kind)}" href="{escape(node.address)}">{title}{circle}{label}</a>'
