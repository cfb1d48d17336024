"""Campaign notes: one note of a vault, from its text to sections, names, facts, links and stat blocks.

The libraries that read Markdown and YAML are loaded when a note is read: a server that answers from its library needs the shape
of notes only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lorekeeper.audience import Audience
from lorekeeper.notes.note import PATH_SEPARATOR, Link, Note, Section, StatBlock

if TYPE_CHECKING:
    from lorekeeper.notes.reading import read_note
    from lorekeeper.notes.skipping import passed_over

__all__ = ["PATH_SEPARATOR", "Audience", "Link", "Note", "Section", "StatBlock", "passed_over", "read_note"]

_LOADED_LATER = {"read_note": "lorekeeper.notes.reading", "passed_over": "lorekeeper.notes.skipping"}

if not TYPE_CHECKING:  # a type checker that saw `__getattr__` would accept any name

    def __getattr__(name: str) -> object:
        if name not in _LOADED_LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_LOADED_LATER[name]), name)
        return value
