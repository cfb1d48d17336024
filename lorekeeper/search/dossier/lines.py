"""The lines of a dossier: what each of them says, and of which entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lorekeeper.dates import written
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.search.dossier.spans import joined
from lorekeeper.text.notes import session_of
from lorekeeper.text.printed_on import page_of

Relation = Literal["about", "said", "link", "backlink", "mention", "statblock", "rule"]

Content = dict[str, str | float | None]
"""A line as JSON."""


DAY_CHARS = len("2026-11-20")


@dataclass(frozen=True)
class Quote:
    """What a line quotes.

    Attributes:
        sentences: whole sentences or table rows, in one line each.
        section: heading path of the section of the line's entry that they are from, "" if they are from elsewhere.
        mark: what makes that section secret, as written; "" if nothing does.
        source: name of the entry that says it, if that is not the line's own.
    """

    sentences: Sequence[str]
    section: str = ""
    mark: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """The sentences in one line."""
        return joined(self.sentences)

    def without(self, told: set[str]) -> Quote:
        """The same without the sentences that have been told, given by `fold`."""
        return replace(self, sentences=[each for each in self.sentences if fold(each) not in told])


@dataclass(frozen=True)
class Line:
    """One line of a dossier.

    Attributes:
        entity: the entry that it is about, or that says it.
        relation: what that entry has to do with the topic.
        quotes: what may be quoted, the best first; one of them is.
    """

    entity: Entity
    relation: Relation
    quotes: Sequence[Quote] = ()

    @property
    def quote(self) -> Quote:
        """What is quoted."""
        return self.quotes[0] if self.quotes else Quote(())

    def untold(self, told: set[str]) -> Line:
        """The same with the first quote that has a sentence which has not been told; with none if there is no such quote."""
        rest = (quote.without(told) for quote in self.quotes)
        return replace(self, quotes=[next((quote for quote in rest if quote.sentences), Quote(()))])

    def content(self) -> Content:
        """The line as JSON; ``mark`` only if its text is secret."""
        entity, quote = self.entity, self.quote
        content: Content = {
            "uri": entity.uri,
            "name": one_line(entity.name),
            "type": entity.type,
            "kind": one_line(entity.kind),
            "document": entity.document,
            "section": one_line(quote.section),
            "session": session_of(entity),
            "date": date_of(entity),
            "relation": self.relation,
            "text": one_line(quote.text),
        }
        more = {"mark": quote.mark, "source": quote.source, "page": page_of(entity, quote.text)}
        return content | {key: one_line(value) for key, value in more.items() if value}


@dataclass(frozen=True)
class Part:
    """A part of a dossier.

    Attributes:
        title: what its lines have in common.
        lines: in order of use.
        left_out: number of lines that did not fit.
        more: uri at which to read on, None if nothing was left out.
    """

    title: str
    lines: Sequence[Line]
    left_out: int = 0
    more: str | None = None


@dataclass(frozen=True)
class Dossier:
    """What a library has on a topic.

    Attributes:
        topic: as it was asked for.
        main: the entry that is about it, None if none is.
        parts: those that have lines, in order of use.
        note: what the reader should know, None if there is nothing to say.
    """

    topic: str
    main: Entity | None
    parts: Sequence[Part]
    note: str | None = None

    def content(self) -> Mapping[str, object]:
        """The dossier as JSON."""
        return {
            "topic": one_line(self.topic),
            "uri": self.main.uri if self.main else None,
            "parts": [_part(part) for part in self.parts],
            "note": self.note and one_line(self.note),
        }


def _part(part: Part) -> Mapping[str, object]:
    content = {"title": part.title, "lines": [line.content() for line in part.lines], "left_out": part.left_out}
    return content | ({"more": part.more} if part.more else {})


def date_of(entity: Entity) -> str | None:
    """The date of the session that a note is about, as ``2026-11-20``; None if it has none."""
    seconds = entity.fields.get("session_date")
    return written(seconds)[:DAY_CHARS] if isinstance(seconds, (int, float)) else None
