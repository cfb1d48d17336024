"""Editions of a page of results: those that are asked for come first, each result says its own, and what one lacks is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.editions import LABELS, edition_label, with_twins
from lorekeeper.search.corpora import NOTES
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.fusion import FusedHit
from lorekeeper.search.results import Key, Result, ResultPage

COMPLETE = 0.5
"""Share of another edition's largest book from which on a book has as good a choice of a type. Books are compared one by
one, so that an edition with many books of further creatures does not make a full set of another one look poor."""

LEADING = 3
"""How many of the first results are looked at."""


async def editions_first(
    documents: DocumentRegistry, wanted: Sequence[str], hits: Sequence[FusedHit[Key]]
) -> list[FusedHit[Key]]:
    """Hits with those of the wanted editions and documents first, among the sure ones and among the others; each keeps its score.

    Notes are of no edition: they are what the reader's own game adds to all of them, and stay where they are among the first.
    """
    if not wanted:
        return list(hits)
    wanted = with_twins(wanted)
    editions = {key: await documents.edition_of(key) for key in dict.fromkeys(hit.key[1][0] for hit in hits)}

    def place(hit: FusedHit[Key]) -> int:
        entity_type, (document, _) = hit.key
        names = (document, editions[document])
        return 0 if entity_type == NOTES else next((n for n, name in enumerate(wanted) if name in names), len(wanted))

    return sorted(hits, key=lambda hit: (not hit.sure, place(hit)))


async def with_editions(
    documents: DocumentRegistry, wanted: Sequence[str], page: ResultPage, *, asked: bool
) -> tuple[ResultPage, list[str]]:
    """A page whose results say their editions, and notes: what the wanted edition lacks, and what follows it.

    Args:
        documents: of the library.
        wanted: editions and documents that come first.
        page: the page.
        asked: whether the search asks for them, beside what the reader has set for good.
    """
    results = [replace(r, edition=await documents.edition_of(r.entity.document)) for r in page.results]
    edition = next((name for name in wanted if name in LABELS), None)
    lack = await _lack(documents, edition, results[:LEADING]) if edition else None
    own = _of_editions(wanted, results, page.total, ranked=page.mode != "structured") if asked and edition else None
    return replace(page, results=results), [note for note in (own, lack) if note]


def _of_editions(wanted: Sequence[str], results: Sequence[Result], total: int, *, ranked: bool) -> str | None:
    """Which of some results are of an edition that was asked for; None if all are."""
    editions = [name for name in wanted if name in LABELS]
    books = [result for result in results if result.entity.type != NOTES]
    own = [result for result in books if result.edition in editions or result.entity.document in wanted]
    labels = " or ".join(map(edition_label, editions))
    if (
        not books or len(own) == len(books) or (own and not ranked)
    ):  # a list by name or filters shows editions and their order
        return None
    if not own:
        if total > len(results):
            return (
                f"None of these {len(results)} of {total} is of the {labels} edition; documents takes its books alone."
            )
        return f"None of these is of the {labels} edition."
    verb, come = ("is", "comes") if len(own) == 1 else ("are", "come")
    return (
        f"{len(own)} of these {len(books)} {verb} of the {labels} edition, and {come} before others that are as sure."
    )


async def _lack(documents: DocumentRegistry, wanted: str, leading: Sequence[Result]) -> str | None:
    """What to say if one of the leading results is of another edition, and the wanted one's books have few of its type."""
    other = next((result for result in leading if result.edition not in ("", wanted)), None)
    if other is None:
        return None
    counts = await documents.editions([other.entity.type])
    own, others = counts.get(wanted, Counter()), counts.get(other.edition, Counter())
    if max(own.values(), default=0) >= COMPLETE * max(others.values(), default=0):
        return None
    what, which = f"{other.entity.collection.label}s", edition_label(other.edition)
    return (
        f"Your books have {own.total() or 'no'} {what} of the {edition_label(wanted)} edition and {others.total()} of "
        f"{which}, which are shown {'too' if own.total() else 'instead'}."
    )
