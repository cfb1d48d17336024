"""Attribution: who wrote a document, and under which licence, read from the various shapes of the sources."""

from __future__ import annotations

from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.records import Source, document
from lorekeeper.records.values import line

MAX_AUTHOR = 60
"""Longest name of an author or several, in characters, that is given beside the publisher."""

SHORT_LICENCES = {
    "creative commons attribution 4.0": "CC-BY-4.0",
    "creative commons attribution share alike 4.0": "CC-BY-SA-4.0",
    "open game license version 1.0a": "OGL-1.0a",
    "open gaming license 1.0a": "OGL-1.0a",
    "ogl 1.0a": "OGL-1.0a",
    "mit license": "MIT",
}
"""SPDX identifiers of licences by folded name; OGL-1.0a is the usual name of one that has none."""


def short_licence(name: str) -> str:
    """The short name of a licence, or the name itself."""
    return SHORT_LICENCES.get(
        " ".join(name.lower().replace("-", " ").replace("(", " ").replace(")", " ").split()), name
    )


@dataclass(frozen=True)
class Attribution:
    """The credits of a document, to be shown with its entries; None or empty if its source does not give them.

    Attributes:
        title: of the document.
        publisher: its publisher.
        author: its author, if the source names one beside the publisher.
        game_system: game and edition.
        licenses: names or URLs of its licences, the short names of well-known ones.
        url: of its publication.
    """

    title: str | None
    publisher: str | None
    author: str | None
    game_system: str | None
    licenses: list[str]
    url: str | None

    @property
    def line(self) -> str:
        """Authors, licences and URL in one line, "" if nothing is known; of long lists of authors, the publisher only."""
        author = self.author if self.author and (len(self.author) <= MAX_AUTHOR or not self.publisher) else None
        people = " / ".join(dict.fromkeys(p for p in (author, self.publisher) if p))
        return ", ".join(part for part in (f"by {people}" if people else "", *self.licenses, self.url or "") if part)


def attribution(described: Entity | None, entry: Entity | None = None) -> Attribution:
    """The credits of a document.

    Args:
        described: its own record in `documents`.
        entry: any entry of the document; the fallback when it has no record of its own.
    """
    record = document(Source(described.data if described else {}))
    own = document(Source(entry.data if entry else {}))
    excerpt = entry.data if entry else {}
    licenses = own.licenses or record.licenses or filter(None, [line(excerpt.get("document__license_url"))])
    return Attribution(
        title=(line(described.data.get("display_name")) if described else "") or _title(described, entry),
        publisher=record.publisher or None,
        author=record.author or None,
        game_system=record.system or None,
        licenses=list(map(short_licence, licenses)),
        url=record.address or (None if described else line(excerpt.get("document__url")) or None),
    )


def _title(described: Entity | None, entry: Entity | None) -> str | None:
    if described:
        return described.name
    return entry.document_name if entry else None
