"""The edition that comes first on the pages: a switch in the header, remembered by the browser."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.editions import LABELS
from lorekeeper.server.page.site import EDITION, Page, Visit, form, remembering

MAX_AGE = 365 * 24 * 3600
"""How long a browser remembers the choice, in seconds."""


def edition_of(request: Request) -> Sequence[str] | None:
    """What the browser has chosen; None for the library's own choice."""
    chosen = request.cookies.get(EDITION, "")
    return (chosen,) if chosen in LABELS else None


async def _choose(visit: Visit) -> Response:
    fields = await form(visit)
    chosen = fields.get("edition", "")
    return remembering(visit, EDITION, chosen if chosen in LABELS else "", fields.get("next"), MAX_AGE)


PAGES = (Page("/edition", _choose, methods=("POST",)),)
"""The form of the switch."""
