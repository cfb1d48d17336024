"""The entry in a chat: the article of its page alone, and the one document that shows such articles.

The document has its style and script in it, since a client gives its frame no address to load from. Its policy allows this very
script and style and nothing else: should an article ever have a script in it, that one does not run.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache

from markupsafe import Markup

from lorekeeper.server.page.entries import article
from lorekeeper.server.page.files import FOLDER, SHEET, files
from lorekeeper.server.page.site import templates
from lorekeeper.version import VERSION
from lorekeeper.views.view import View

STYLE = FOLDER / "templates" / "app.css"

SCRIPT = FOLDER / "templates" / "app.js"


async def article_html(view: View, uri: str) -> str:
    """An entry as its page shows it, as HTML.

    Raises:
        NotFoundError: the viewer sees no entry of that uri.
    """
    values = await article(view, uri)
    return templates().get_template("_entry.html").render(viewer=view.viewer, partial=True, **values)


@cache
def document() -> str:
    """The document that shows an entry in a chat."""
    style = f"{files()[SHEET].content.decode()}\n{STYLE.read_text(encoding='utf-8')}"
    script = SCRIPT.read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    return (
        templates()
        .get_template("app.html")
        .render(version=VERSION, policy=policy, style=Markup(style), script=Markup(script))  # noqa: S704
    )


def _hash(text: str) -> str:
    """What a policy calls a script or style by."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
