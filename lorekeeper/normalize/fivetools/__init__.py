"""Homebrew files of 5etools to entities: JSON with a list for each kind of thing.

`recognises` tells such a file by its beginning, `Brew.all` parses it, and `Importer` makes its entries. Markup becomes text,
copies are resolved over all files of an import, and what is not understood is told and left out, never the rest of the file.
"""

from lorekeeper.normalize.fivetools.brew import Brew, Index, recognises, recognises_index
from lorekeeper.normalize.fivetools.importer import SOURCE, Identities, Importer, Known, Problem
from lorekeeper.normalize.fivetools.kinds import fields_of, is_for_other_program

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
