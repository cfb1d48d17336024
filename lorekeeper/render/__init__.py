"""Entries as the books print them, and a lean copy of their objects.

`markdown` gives a page of Markdown for an entry of any kind and source, `lean` the same as JSON.
"""

from lorekeeper.render.lean import lean
from lorekeeper.render.note import MAX_LINKED, UNRELATED, Linked, Related, linked_paths
from lorekeeper.render.pages import markdown

__all__ = ["MAX_LINKED", "UNRELATED", "Linked", "Related", "lean", "linked_paths", "markdown"]
