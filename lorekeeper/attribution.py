"""Whose work it is, and under which licence: what a source says of a document, in whatever shape it says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lorekeeper.entities import Entity


@dataclass(frozen=True)
class Attribution:
    """What is to be said with everything that is shown of a document; None or empty where its source does not say it.

    Attributes:
        title: the document's.
        publisher: who published it.
        author: who wrote it, where that is somebody else.
        game_system: game and edition.
        licenses: names or addresses of its licences.
        url: where it can be had.
    """

    title: str | None
    publisher: str | None
    author: str | None
    game_system: str | None
    licenses: list[str]
    url: str | None

    @property
    def line(self) -> str:
        """Authors, licences and address in one line, "" where nothing is known."""
        people = " / ".join(dict.fromkeys(p for p in (self.author, self.publisher) if p))
        return ", ".join(part for part in (f"by {people}" if people else "", *self.licenses, self.url or "") if part)


def attribution(described: Entity | None, entry: Entity | None = None) -> Attribution:
    """What is known of a document.

    Args:
        described: the entry in `documents` that describes it.
        entry: any entry of it, which says some of that itself where nobody describes the document.
    """
    data = described.data if described else {}
    own = entry.data if entry else {}
    said = _licenses(data, "licenses", "license")
    return Attribution(
        title=_name(data.get("display_name"))
        or (described.name if described else entry.document_name if entry else None),
        publisher=_name(data.get("publisher") or data.get("organization")),
        author=_name(data.get("author")),
        game_system=_name(data.get("gamesystem") or data.get("game_system")),
        licenses=_licenses(own, "licenses", "license") or said or _licenses(own, "document__license_url"),
        url=_name(data.get("permalink") or data.get("url") or (None if described else own.get("document__url"))),
    )


def _licenses(data: Mapping[str, Any], *keys: str) -> list[str]:
    listed: Any = next((data[key] for key in keys if data.get(key)), [])
    return [name for name in map(_name, listed if isinstance(listed, list) else [listed]) if name]


def _name(value: object) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("key")
    return value.strip() or None if isinstance(value, str) else None
