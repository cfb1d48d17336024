"""Icons of the server and its prompts, drawn in a few strokes: SVG as data URIs, so that no client has to fetch one."""

from __future__ import annotations

from urllib.parse import quote

import mcp_types as types

_SHAPES = {
    "book": "M3,4h7l2,2,2-2h7v15h-7l-2,2-2-2H3zM12,6v15",
    "flag": "M5,21V3h13l-4,4,4,4H5",
    "scales": "M12,3v18M7,21h10M4,7h16M4,7l-3,7h6zM20,7l-3,7h6z",
    "beast": "M4,3l4,5h8l4-5v11l-8,7-8-7zM9,12h1M14,12h1",
    "place": "M2,20L9,6l4,8,3-5,6,11z",
    "swords": "M4,4l14,14M20,4L6,18M4,15l5,5M20,15l-5,5",
    "shop": "M3,10l2-6h14l2,6zM5,10v10h14V10M10,20v-6h4v6",
    "hourglass": "M6,3h12M6,21h12M7,3c0,6,10,12,10,18M17,3c0,6-10,12-10,18",
}
"""Strokes by name, in a square of 24 units."""

_SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='peru' stroke-width='2'><path d='{}'/></svg>"
"""Their colour shows on light and on dark ground."""


def icon(shape: str) -> types.Icon:
    """The icon of that name; KeyError if there is none."""
    drawing = quote(_SVG.format(_SHAPES[shape]), safe="'/:=,")
    return types.Icon(src=f"data:image/svg+xml,{drawing}", mime_type="image/svg+xml")
