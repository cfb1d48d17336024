"""Editions of a search: the one that its text names, and the order and the notes of its results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.editions import LABELS, edition_label, parse_edition, with_twins
from lorekeeper.search.corpora import NOTES
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.fusion import FusedHit
from lorekeeper.search.query import Query
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


# --- the edition that a question names: "how does surprise work in 2024" -----------------------------------------------

STATED = "Your question set edition='{}'."

_NAMED = r"(?:5e |5\.5e? |d&d |dnd )?(?P<edition>2014|2024|a5e)(?: (?P<rules>rules?|rulebook|edition|version|srd|phb|dmg|5e))*"
_AT_END = re.compile(rf"[,(]? *\b(?:in |for |under |by |per |using |from )?(?:the )?{_NAMED}\)?[ ?.!]*$", re.IGNORECASE)
_AT_START = re.compile(rf"^ *{_NAMED}[:,]? ", re.IGNORECASE)

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_OF_DATE = re.compile(rf"\b(?:{_MONTHS})[a-z]*\.?,? *(?:\d{{1,2}},? *)?$", re.IGNORECASE)
_OF_CAMPAIGN = re.compile(r"\b(?:we|our|us|session|happened|campaign|party)\b", re.IGNORECASE)
"""Words of a question about what happened."""


def stated_edition(query: Query) -> tuple[Query, str | None]:
    """A search in the edition that its text names at an end, without these words, and a note; as it is if it names none.

    A year may also be one of the campaign: then what happened is asked for, and a question about that keeps its words.

    Args:
        query: the search; one of notes alone, one that has an edition, or is no plain question, is left as it is.
    """
    found = _found(query)
    text = query.text or ""
    if found is None or (_OF_CAMPAIGN.search(text) and not found["rules"]):
        return query, None
    rest = f"{text[: found.start()]}{text[found.end() :]}".strip()
    edition = parse_edition(found["edition"])
    return replace(query, text=rest, edition=edition), STATED.format(edition_label(edition[0]))


def _found(query: Query) -> re.Match[str] | None:
    """Where the text of a plain question names an edition; None if it does not, or says nothing else."""
    text = query.text or ""
    is_plain = query.mode == "auto" and not (query.also or query.phrases or query.unfinished)
    if not is_plain or query.edition is not None or set(query.types) == {NOTES}:
        return None
    found = _AT_END.search(text) or _AT_START.search(text)
    if found is None or "://" in text or _OF_DATE.search(text[: found.start("edition")]):
        return None
    return found if any(map(str.isalpha, text[: found.start()] + text[found.end() :])) else None
