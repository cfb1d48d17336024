"""Attribution: who wrote a document, and under which licence, read from the various shapes of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lorekeeper.entities import Entity

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
    record = described.data if described else {}
    excerpt = entry.data if entry else {}
    return Attribution(
        title=_name(record.get("display_name")) or _title(described, entry),
        publisher=_name(record.get("publisher") or record.get("organization")),
        author=_name(record.get("author")),
        game_system=_name(record.get("gamesystem") or record.get("game_system")),
        licenses=_licenses(excerpt, "licenses", "license")
        or _licenses(record, "licenses", "license")
        or _licenses(excerpt, "document__license_url"),
        url=_name(
            record.get("permalink") or record.get("url") or (None if described else excerpt.get("document__url"))
        ),
    )


def _title(described: Entity | None, entry: Entity | None) -> str | None:
    if described:
        return described.name
    return entry.document_name if entry else None


def _licenses(data: Mapping[str, Any], *keys: str) -> list[str]:
    licenses: Any = next((data[key] for key in keys if data.get(key)), [])
    names = map(_name, licenses if isinstance(licenses, list) else [licenses])
    return [short_licence(name) for name in names if name]


def _name(value: object) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("key")
    return value.strip() or None if isinstance(value, str) else None
