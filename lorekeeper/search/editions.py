"""Editions of a page of results: which one each result is of, and what the books of an edition lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.editions import LABELS, edition_label
from lorekeeper.entities import COLLECTIONS
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.results import Result, ResultPage

COMPLETE = 0.5
"""Share of the entries of another edition from which on an edition is taken to have as good a choice of a type."""


async def with_editions(documents: DocumentRegistry, edition: Sequence[str] | None, page: ResultPage) -> ResultPage:
    """A page whose results say their editions; its note says if the books of the edition that comes first have too few.

    Args:
        documents: of the library.
        edition: what the query puts first, None for the library's own.
        page: the page.
    """
    results = [replace(r, edition=await documents.edition_of(r.entity.document)) for r in page.results]
    wanted = next((name for name in (documents.edition if edition is None else edition) if name in LABELS), None)
    lack = await _lack(documents, wanted, results[0]) if wanted and results else None
    return replace(page, results=results, note=" ".join(filter(None, [page.note, lack])) or None)


async def _lack(documents: DocumentRegistry, wanted: str, first: Result) -> str | None:
    """What to say if the first result is of another edition, and the wanted one has far fewer entries of its type."""
    entity_type, found = first.entity.type, first.edition
    if not found or found == wanted:
        return None
    counts = await documents.editions([entity_type])
    own, other = counts.get(wanted, 0), counts.get(found, 0)
    if own >= COMPLETE * other:
        return None
    label, what = COLLECTIONS[entity_type].label, edition_label(wanted)
    number = f"No {what} {label}s are" if not own else f"Only {own} {what} {label}s are"
    return f"{number} among your books ({other} of {edition_label(found)}): the first of these is of {edition_label(found)}."
