"""What the tools answer: a model for each answer, from which text, JSON, the REST interface and its description are made."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lorekeeper.entities import COLLECTIONS
from lorekeeper.search.dossier.lines import Relation
from lorekeeper.search.fusion import Retriever
from lorekeeper.search.results import Mode

JsonObject = dict[str, Any]

EntryType = Annotated[str, Field(json_schema_extra={"enum": list(COLLECTIONS)}, description="type of the entry")]


class Model(BaseModel):
    """An answer, or a part of one; fields with a default are left out where there is nothing to say."""

    model_config = ConfigDict(extra="forbid")

    def content(self) -> JsonObject:
        """Every field that is given, also those that are null."""
        return self.model_dump(exclude_unset=True)

    def stated(self) -> JsonObject:
        """The fields that have a value."""
        return dict(_stated(self.content()))


AS_STORED = ("entity", "rolls")
"""Fields whose objects are a source's own: nothing is left out of them."""


def _stated(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if each is not None and each != ""}
        return {key: each if key in AS_STORED else _stated(each) for key, each in kept.items()}
    return [_stated(each) for each in value] if isinstance(value, list) else value


class Identity(Model):
    """Which entry it is."""

    uri: str = Field(description="lore://TYPE/DOCUMENT/SLUG; with /api/v1/entities/ for lore:// the path of the entry")
    name: str = Field(description="name of the entry")
    type: EntryType
    kind: str = Field(description="what it is within its type")
    document: str = Field(description="key of its document")


class Sourced(Identity):
    """The same with its document."""

    document_name: str = Field(description="title of its document")
    edition: str = Field(description="edition of its document, empty if it is unknown")
    page: str = Field("", description="page of the printed book on which it begins, or the snippet")
    secret: bool = Field(False, description="true where a game master sees what players do not")


class Result(Sourced):
    """One entry of a page."""

    score: float | None = Field(description="0 to 1, comparable within one query; null without a query")
    match: Retriever | None = Field(description="what found it; null without a query")
    section: str = Field(description="headings above the snippet, joined by ' > ', empty for the main text")
    facts: str = Field(description="key facts in one line")
    snippet: str = Field(description="the text that answers, or the beginning; empty with detail=full")
    sure: bool = Field(True, description="false from the first result on that is less sure")
    entity: JsonObject = Field({}, description="all of it, with detail=full")
    variants: str = Field("", description="names of the variants that are grouped under it")
    entries: int = Field(1, description="number of entries that are grouped under it")
    differs: str = Field(
        "", description="the editions in which its name has another text, with their uris if the result is sure"
    )
    wording: int = Field(0, description="number of the wording that found it, of several, from 1 on")


class Page(Model):
    """Results of a search."""

    results: list[Result] = Field(description="best first")
    total: int = Field(description="number of results on all pages")
    mode: Mode = Field(description="how it was searched")
    next_offset: int | None = Field(description="offset of the next page, null on the last one")
    note: str | None = Field(description="what the reader should know")


class Entry(Sourced):
    """One whole entry, a part of it, or rolls on its tables."""

    licenses: list[str] = Field(description="licences of its document")
    attribution: str | None = Field(description="give it when quoting")
    facts: str = Field(description="key facts in one line")
    entity: JsonObject = Field({}, description="all of it, as its source has it; without it only rolls are asked for")
    note: str = Field("", description="other books that have the entry")
    rolls: list[JsonObject] = Field([], description="what rolls on its tables gave, with roll=true")


class Document(Model):
    """A book or vault."""

    key: str = Field(description="for the parameter documents")
    name: str = Field(description="title")
    publisher: str | None
    author: str | None
    game_system: str | None
    licenses: list[str]
    url: str | None
    statement: str = Field("", description="what its licence asks to say of it")
    counts: dict[str, int] = Field(description="number of entries by type")
    searched_with: list[str] = Field(
        [], description="keys of the other parts of the same book, which a search of one searches too"
    )


class Documents(Model):
    """The books and vaults of a library."""

    documents: list[Document] = Field(description="by key")


class Line(Identity):
    """What one entry says of a topic."""

    section: str = Field(description="headings above the text, empty for the main text")
    session: int | float | None = Field(description="number of the session")
    date: str | None = Field(description="date of the session, as 2026-11-20")
    relation: Relation = Field(description="what the entry has to do with the topic")
    text: str = Field(description="what it says, in one line")
    mark: str = Field("", description="what makes the text secret, as written")
    source: str = Field("", description="name of the note that the text is embedded from")
    page: str = Field("", description="page of the printed book on which it stands")


class Part(Model):
    """Lines of one kind."""

    title: str
    lines: list[Line]
    left_out: int = Field(description="lines that did not fit")
    more: str = Field("", description="uri at which to read on")


class Topic(Model):
    """All about a person, place or theme."""

    topic: str = Field(description="as it was asked for")
    uri: str | None = Field(description="the entry that is about it")
    parts: list[Part] = Field(description="those that have lines")
    note: str | None = Field(description="what the reader should know")


class Fact(Model):
    """A fact in which entries differ."""

    label: str
    values: list[str | None] = Field(description="of each entry, null for one without")


class SharedFact(Model):
    """A fact that entries have alike."""

    label: str
    value: str


class Passage(Model):
    """A text in which entries differ."""

    places: list[str | None] = Field(description="headings and name of each entry, null for one without")
    rows: list[list[str | None]] = Field(description="sentences that say the same, of each entry")


class Alike(Model):
    """How much is alike."""

    facts: int
    sentences: int


class Comparison(Model):
    """What differs between entries."""

    entries: list[Sourced] = Field(description="in the order of all values and texts")
    facts: list[Fact] = Field(description="those that differ; changed words are between double asterisks")
    shared: list[SharedFact] = Field(description="those that all have alike")
    texts: list[Passage] = Field(description="those that differ")
    same: Alike
    note: str | None = Field(description="what the reader should know")


class Monster(Model):
    """Monsters of one kind in an encounter."""

    count: int
    name: str
    uri: str
    cr: int | float | None
    xp: int | float | None
    document: str
    edition: str
    defences: str
    secret: bool = False


class Encounter(Model):
    """One encounter."""

    title: str
    reason: str
    monsters: list[Monster]
    difficulty: str
    xp: int | float
    adjusted_xp: int | float
    arithmetic: list[str]
    advice: list[str]


class Encounters(Model):
    """Encounters for a party, rated or proposed."""

    rules: str
    party: list[int]
    difficulty: str | None
    budget: Any
    arithmetic: list[str]
    encounters: list[Encounter]
    note: str | None
    characters: list[JsonObject] = []
    day: list[str] = []
    seed: int = 0


class Rolls(Model):
    """Dice, or rolls on tables."""

    dice: str = ""
    numbers: list[int] = []
    fell: list[str] = []
    uri: str = ""
    document: str = ""
    rolls: list[JsonObject] = []
    note: str | None = None


UNEXPECTED = "LoreKeeper failed unexpectedly; its log has the details. Run 'lorekeeper doctor'."
"""What is said of an error that nobody has foreseen."""


class Problem(Model):
    """Why a request has no answer."""

    type: str = Field(description="about:blank: the status says it all")
    title: str = Field(description="the status in words")
    status: int = Field(description="the status")
    detail: str = Field(description="what is wrong, and what to do next")
    instance: str = Field(description="path of the request")
