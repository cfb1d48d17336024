"""Pictures of what a note is connected with, and of a whole vault, as SVG.

The note is in the middle; what it is connected with directly stands to its left and right, further notes outside of these. Names
are shown whole, on several lines if they are long; columns are as wide as their longest line, and equal distances keep them apart.
A vault is a wheel: its notes stand around it by kind, and lines across it are their connections. The same notes and connections
always give the same picture.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from lorekeeper.printable import one_line

KINDS = ("npc", "character", "location", "faction", "item", "quest", "session", "creature", "note")
"""Kinds with a colour of their own; others have that of "note"."""

MAX_NODES = 40
"""Most notes in a picture."""

LINE, BETWEEN = 14, 8
"""The height of a line of a label, and the room between two labels."""

CHARS = {1: 16, 2: 24}
"""Characters of a line, by how far notes may be: a longer word is not broken."""

CHAR_WIDTH = 7.2
"""Of a wide letter of the labels' font, on average."""

NEAR, BULGE = 26, 24
"""How far the first column is from the middle at its ends, and how much more at half its height."""

MARGIN, LABEL_GAP = 10, 10
"""Above and below everything, and between a note and its label."""

RADIUS, IN_WHEEL = 250, 300
"""Of the picture of a vault, and how many notes it has at most."""

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
    labels = {n: textwrap.wrap(one_line(nodes[n].name), CHARS[steps], break_long_words=False) for n in [*near, *outer]}
    rows, row = max(*map(len, sides), *map(len, outer_sides)), LINE * max(map(len, labels.values())) + BETWEEN
    height, places = rows * row + 2 * MARGIN, dict[int, _Place]()
    own = NEAR + BULGE + LABEL_GAP + _width(labels[n] for n in near)
    far = own + BULGE
    reach = far + BULGE + LABEL_GAP + _width(labels[n] for n in outer) if outer else own
    places[centre] = _Place(reach, height / 2, left=False)
    for left, (inner, further) in enumerate(zip(sides, outer_sides, strict=True)):
        places |= _column(inner, reach, height, NEAR, row, left=bool(left))
        places |= _column(further, reach, height, far, row, left=bool(left))
    return _drawn(nodes, edges, centre, places, labels, 2 * reach, height)


def wheel_svg(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """The picture of a vault: its most connected notes, by kind; "" if no two are connected.

    Dots are the larger the more connections a note has; of names that would overlap that of the more connected note is shown, and
    every name is the title of its dot.
    """
    pairs = _pairs(edges)
    degrees = Counter(node for pair in pairs for node in pair)
    by_degree = sorted(degrees, key=lambda n: (-degrees[n], nodes[n].name.casefold(), n))[:IN_WHEEL]
    if not by_degree:
        return ""
    around = sorted(by_degree, key=lambda n: (_rank(nodes[n].kind), nodes[n].name.casefold(), n))
    angles = {n: 2 * math.pi * place / len(around) for place, n in enumerate(around)}
    named: list[int] = []
    for node in by_degree:
        distances = (abs(angles[node] - angles[other]) for other in named)
        if all(min(each, 2 * math.pi - each) * RADIUS >= LINE for each in distances):
            named.append(node)
    labels = {n: textwrap.shorten(one_line(nodes[n].name), CHARS[2], placeholder="…") for n in named}
    middle = RADIUS + LABEL_GAP + MARGIN + _width([list(labels.values())])
    lines = "".join(
        f'<path class="chord k-{kind_class(nodes[b].kind)}" '
        f'd="M{_at(middle, angles[a])}Q{middle:g} {middle:g} {_at(middle, angles[b])}"/>'
        for a, b in pairs
        if a in angles and b in angles
    )
    dots = "".join(_spoke(nodes[n], degrees[n], angles[n], labels.get(n, ""), middle) for n in around)
    said = f"{len(around)} notes and their connections"
    size = f'viewBox="0 0 {2 * middle:g} {2 * middle:g}" width="{2 * middle:g}" height="{2 * middle:g}"'
    return f'<svg class="graph" role="group" aria-label="{said}" {size}>{lines}{dots}</svg>'


def _pairs(edges: Sequence[Edge]) -> list[Edge]:
    """Each two connected nodes once, whichever leads to the other."""
    return sorted({(min(a, b), max(a, b)) for a, b in edges if a != b})


def _at(middle: float, angle: float) -> str:
    """A place on the wheel."""
    return f"{middle + RADIUS * math.sin(angle):.1f} {middle - RADIUS * math.cos(angle):.1f}"


def _spoke(node: Node, degree: int, angle: float, label: str, middle: float) -> str:
    """A note on the wheel, with its label outside, read from the left."""
    turned, left = math.degrees(angle) - 90, angle > math.pi
    title = f"<title>{escape(one_line(f'{node.name} ({node.kind})'))}</title>"
    circle = f'<circle cx="{middle + RADIUS:g}" cy="{middle:g}" r="{min(2.5 + math.sqrt(degree) / 2, 8):.1f}"/>'
    x = middle + RADIUS + LABEL_GAP
    around = f' transform="rotate(180 {x:g} {middle:g})" text-anchor="end"' if left else ""
    text = f'<text x="{x:g}" y="{middle:g}" dominant-baseline="central"{around}>{escape(label)}</text>' if label else ""
    turn = f'transform="rotate({turned:.1f} {middle:g} {middle:g})"'
    return f'<a class="node k-{kind_class(node.kind)}" href="{escape(node.address)}" {turn}>{title}{circle}{text}</a>'


def _width(labels: Iterable[Sequence[str]]) -> int:
    """The room that the longest line of some labels takes."""
    return math.ceil(CHAR_WIDTH * max((len(line) for label in labels for line in label), default=0))


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


def _column(
    nodes: Sequence[int], middle: float, height: float, distance: float, line: float, *, left: bool
) -> dict[int, _Place]:
    """A side's nodes one below the other, in a bow around the middle."""
    top = (height - (len(nodes) - 1) * line) / 2
    places = {}
    for row, node in enumerate(nodes):
        y = top + row * line
        bow = math.sqrt(max(0.0, 1 - ((y - height / 2) / (height / 2)) ** 2))
        x = distance + BULGE * bow
        places[node] = _Place(round(middle - x if left else middle + x, 1), round(y, 1), left)
    return places


def _drawn(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    centre: int,
    places: Mapping[int, _Place],
    labels: Mapping[int, Sequence[str]],
    width: float,
    height: float,
) -> str:
    pairs = ((a, b) for a, b in _pairs(edges) if a in places and b in places)
    lines = "".join(_line(places[a], places[b], direct=centre in (a, b)) for a, b in pairs)
    dots = "".join(_dot(nodes[n], place, labels.get(n, ())) for n, place in places.items())
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


def _dot(node: Node, place: _Place, label: Sequence[str]) -> str:
    """A note: a link with a dot and a label; the one in the middle has neither link nor label."""
    name, kind, centre = one_line(node.name), one_line(node.kind), not label
    title = f"<title>{escape(f'{name} ({kind})')}</title>"
    circle = f'<circle cx="{place.x:g}" cy="{place.y:g}" r="{9 if centre else 5.5}"/>'
    if centre:
        return f'<g class="node centre k-{kind_class(node.kind)}">{title}{circle}</g>'
    x, end = (place.x - LABEL_GAP, "end") if place.left else (place.x + LABEL_GAP, "start")
    first = place.y + 4 - LINE * (len(label) - 1) / 2
    lines = "".join(
        f'<text x="{x:g}" y="{first + LINE * row:g}" text-anchor="{end}">{escape(line)}</text>'
        for row, line in enumerate(label)
    )
    return f'<a class="node k-{kind_class(node.kind)}" href="{escape(node.address)}">{title}{circle}{lines}</a>'
