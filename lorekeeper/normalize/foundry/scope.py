"""Where a text of Foundry VTT is, which decides what its marks refer to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.documents import Document, Index
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.values import Object, objects, text


@dataclass(frozen=True)
class Scope:
    """Where a text is: what its marks refer to.

    Attributes:
        index: the documents of the import.
        document: the primary document that it is in.
        doer: the item that it describes, and the creature whose it is.
        page: id of the page of the journal that it is on.
        secrets: takes what only the game master may read.
        within: the references whose texts it is being inserted for.
        inserted: how many characters have been inserted into the entry.
    """

    index: Index
    document: Document
    doer: Doer
    page: str = ""
    secrets: list[str] = field(default_factory=list)
    within: tuple[str, ...] = ()
    inserted: list[int] = field(default_factory=lambda: [0])

    def may_insert(self, chars: int, most: int) -> bool:
        """Count what is inserted; whether there was room for it, with at most so many characters in one entry.

        Raises:
            FilterError: too much is inserted into all entries together.
        """
        if self.inserted[0] > most:
            return False
        self.inserted[0] += chars
        self.index.allowance.take(chars)
        return True

    def of_item(self, item: Object) -> Scope:
        """The scope of the text of an item of the same creature."""
        return replace(self, doer=replace(self.doer, item=item))

    @property
    def values(self) -> formulas.Values:
        """The numbers that formulas may name: those of the creature, none for a text that is of none."""
        return self.doer.sheet.at if self.doer.sheet.name else formulas.nothing_known

    def item(self, reference: str) -> Object | None:
        """The item of the same creature that a reference such as ``.ID`` means, also by its name."""
        wanted = reference.rpartition(".")[2]
        found = objects(self.document.raw, "items")
        return next((item for item in found if wanted and wanted in (text(item, "_id"), text(item, "name"))), None)
