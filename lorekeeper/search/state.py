"""One search on its way: what its stages have read, found and ranked so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lorekeeper.entities import Entity
from lorekeeper.search.documents import Scopes
from lorekeeper.search.doubt import Absent
from lorekeeper.search.explanation import Doubt, Stage
from lorekeeper.search.fusion import FusedHit
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key, Mode, ResultPage
from lorekeeper.search.retrieved import Retrieved


@dataclass
class Search:
    """One search on its way.

    Attributes:
        query: what is asked for, as it was read so far.
        asked: the same with its filters resolved, before anything was read from the text.
        name: what the name that is asked for was read as before it was looked up, folded; None if it was not.
        drawn: whether the seed of its random order was drawn for it.
        compared: the editions that the text names, if it names several.
        wordings: the texts that are searched for; none for a list by filters alone.
        whole: whether all entries under the filters are wanted, however far from the text.
        like: the entry that others are to be like; None for none.
        scopes: the documents that are searched, by type.
        texts: what is searched for by meaning.
        found: what the retrievers found.
        missing: what is named that the library does not have.
        doubt: how well the first hit stands for the text; None if that was not tested.
        language: the language of the text, None for English.
        hits: the ranking, best first.
        page: the page, as soon as there is one.
        read: what was read from the text, for a note that stays whatever is found.
        notes: what the reader should know, in order.
        stages: what each stage changed.
    """

    query: Query
    asked: Query
    name: str | None = None
    drawn: bool = False
    compared: Sequence[str] = ()
    wordings: Sequence[str] = ()
    whole: bool = False
    like: Entity | None = None
    scopes: Scopes = field(default_factory=dict)
    texts: Sequence[str] = ()
    found: Retrieved = field(default_factory=Retrieved)
    missing: Absent | None = None
    doubt: Doubt | None = None
    language: str | None = None
    hits: list[FusedHit[Key]] = field(default_factory=list)
    page: ResultPage | None = None
    read: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    @property
    def mode(self) -> Mode:
        """The retrievers that were used."""
        if self.query.mode == "keyword" or self.found.unavailable:
            return "keyword"
        return "semantic" if self.query.mode == "semantic" else "hybrid"

    @property
    def text(self) -> str:
        """The wordings as one text."""
        return " ".join(self.wordings)

    @property
    def is_doubtful(self) -> bool:
        """Whether the library may well have no answer."""
        return self.doubt is not None and self.doubt.is_doubtful

    def note(self, *notes: str | None) -> None:
        """Add notes for the reader."""
        self.notes += filter(None, notes)
