"""Entries as the books print them, and a lean copy of their objects.

`markdown` gives a page of Markdown for an entry of any kind and source, `lean` the same as JSON.
"""

from lorekeeper.render.lean import lean
from lorekeeper.render.pages import markdown

__all__ = ["lean", "markdown"]
