"""Homebrew files of 5etools to entities: JSON with a list for each kind of thing.

`recognises` tells such a file by its beginning, `Brew.read` parses it, and `Importer` makes its entries. Markup becomes text,
copies are resolved over all files of an import, and what is not understood is told and left out, never the rest of the file.
"""

from lorekeeper.normalize.fivetools.brew import Brew, Index
from lorekeeper.normalize.fivetools.importer import SOURCE, Identities, Importer, Known, Problem
from lorekeeper.normalize.fivetools.kinds import KINDS, fields_of, is_for_other_program
from lorekeeper.normalize.fivetools.reading import is_homebrew, is_index, is_pathfinder, is_save_file

__all__ = [
    "SOURCE",
    "Brew",
    "Identities",
    "Importer",
    "Index",
    "Known",
    "Problem",
    "fields_of",
    "is_for_other_program",
    "recognises",
    "recognises_index",
]


_LISTS = frozenset((*KINDS, *(f"{kind}Fluff" for kind in KINDS)))


def recognises(head: str) -> bool:
    """Whether a text begins like a homebrew file."""
    return is_homebrew(head, _LISTS) or is_save_file(head) or is_pathfinder(head)


def recognises_index(head: str) -> bool:
    """Whether a text is a list of homebrew files, which has no content of its own."""
    return is_index(head)
