"""What a search returns: entries with their source, score, facts and snippet, page by page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.search.explanation import Explanation
from lorekeeper.search.fusion import FusedHit, Retriever
from lorekeeper.search.variants import other_facts
from lorekeeper.search.wordings import found_by
from lorekeeper.text.evidence import evidence, read
from lorekeeper.text.excerpts import SNIPPET_CHARS
from lorekeeper.text.facts import SEPARATOR, facts
from lorekeeper.text.names import name_key
from lorekeeper.text.notes import section_shown

Mode = Literal["structured", "semantic", "hybrid", "keyword"]

Key = tuple[str, Identity]
"""(type, identity) of an entity."""


RULES, WHOLE_RULE = "rules", 600
"""The type of rules, and the longest text of one, in characters, that is shown whole as the first result."""


@dataclass(frozen=True)
class Result:
    """One entry of a page.

    Attributes:
        entity: the whole entry.
        document_name: title of its source document.
        score: 0 to 1, higher is better, comparable within one query only; None in a lookup by filters alone.
        match: the retriever that contributed most; None in a lookup by filters alone.
        facts: its key facts in one line, and the other documents that have a duplicate of it.
        snippet: the text that answers, or the beginning.
        section: heading of the section that the snippet is from, "" for the main text.
        path: the same as the entry has it: of the text below the title of a note "", not the title.
        variants: names of the variants of the same thing that it stands for.
        others: those facts of the variants that differ from its own, "" for none.
        sure: whether it is close enough to the best result to be taken for an answer.
        edition: code of its document's edition, "" if that is unknown.
        wording: of a query in several wordings, the one that found it; "" for others.
        wording_number: its number from 1 on, 0 for others.
        hit: its place in the fused ranking; None in a lookup by filters alone.
    """

    entity: Entity
    document_name: str
    score: float | None
    match: Retriever | None
    facts: str
    snippet: str
    section: str = ""
    path: str = ""
    variants: tuple[str, ...] = ()
    others: str = ""
    sure: bool = True
    edition: str = ""
    wording: str = ""
    wording_number: int = 0
    hit: FusedHit[Key] | None = None


@dataclass(frozen=True)
class ResultPage:
    """Results, best first.

    Attributes:
        results: at most ``limit``.
        total: number of entries under the filters; in a ranked search, of the results that are relevant.
        mode: the retrievers that were used.
        next_offset: where the next page begins, None on the last one.
        note: what the reader should know, None if there is nothing to say.
        approximate: whether the results of a lookup by name only have names like the one that was asked for.
        explanation: how the results were found, if the query asks for that.
        found: keys of all results, of this page and the others; of a ranked search only.
    """

    results: list[Result]
    total: int
    mode: Mode
    next_offset: int | None = None
    note: str | None = None
    approximate: bool = False
    explanation: Explanation | None = None
    found: Sequence[Key] = ()


@dataclass(frozen=True)
class Asked:
    """What a search asks for, as far as it decides what is shown of a result.

    Attributes:
        wordings: of its query, none for a lookup by filters alone.
        fields: names of the fields that its filters are about.
    """

    wordings: Sequence[str] = ()
    fields: Collection[str] = ()


def unranked_result(
    entity: Entity,
    titles: Mapping[str, str],
    match: Retriever | None,
    asked: Asked,
    variants: Sequence[Entity] = (),
    limit: int = SNIPPET_CHARS,
) -> Result:
    """An entry of a structured lookup; ``titles`` has the title of each document by key."""
    shown = evidence(entity, "", "", asked.fields, limit)
    return Result(
        entity=entity,
        document_name=_title(entity, titles),
        score=None,
        match=match,
        facts=facts(entity),
        snippet=shown.text,
        section=shown.section,
        path=shown.section,
        variants=tuple(variant.name for variant in variants),
        others=other_facts(entity, variants),
    )


def ranked_result(
    entity: Entity,
    hit: FusedHit[Key],
    titles: Mapping[str, str],
    ranked: Mapping[Key, Ranked],
    asked: Asked,
    limit: int = SNIPPET_CHARS,
    variants: Sequence[Entity] = (),
    *,
    first: bool = False,
) -> Result:
    """A hit as a result.

    Args:
        entity: the entity of the hit.
        hit: its place in the fused ranking, and its duplicates.
        titles: of the documents, by key.
        ranked: the places of all entries in any ranking; those of the semantic one have the passage nearest to the query.
        asked: what the search asks for.
        limit: most characters of the snippet.
        variants: those of its duplicates that are variants of one thing.
        first: whether it is the first of its page: a short rule is then shown whole, since its sentences need each other.
    """
    elsewhere = dict.fromkeys(document for _, (document, _) in hit.duplicates if document != entity.document)
    also = [f"also in {', '.join(elsewhere)}"] if elsewhere else []
    nearest = ranked.get(hit.key)
    prose = read(entity) if len(asked.wordings) > 1 else None
    wording = found_by(entity, prose, asked.wordings) if prose is not None else next(iter(asked.wordings), "")
    passage, place, near = (nearest.passage, nearest.section, nearest.near) if nearest else ("", "", ())
    is_whole = first and entity.type == RULES and len(" ".join(map(str, read(entity)))) <= WHOLE_RULE
    if is_whole:
        shown = evidence(entity, "", limit=WHOLE_RULE, prose=prose)
    else:
        shown = evidence(entity, wording, passage, asked.fields, limit, prose, place, near)
    return Result(
        entity=entity,
        document_name=_title(entity, titles),
        score=round(hit.score, 4),
        match=hit.retriever,
        facts=SEPARATOR.join([facts(entity), *also]),
        snippet=shown.text,
        section=section_shown(entity, shown.section),
        path=shown.section,
        variants=_other_names(entity, [ranked[key].name for key in hit.duplicates if key in ranked]),
        others=other_facts(entity, _otherwise_named(entity, variants)),
        sure=hit.sure,
        wording=wording if prose is not None else "",
        wording_number=1 + list(asked.wordings).index(wording) if prose is not None else 0,
        hit=hit,
    )


def _other_names(entity: Entity, names: Sequence[str]) -> tuple[str, ...]:
    """The names that have other words than an entry's own, each once."""
    others = {name_key(fold(name)): name for name in names if name != entity.name}
    if not others:
        return ()
    others.pop(name_key(fold(entity.name)), None)
    return tuple(others.values())


def _otherwise_named(entity: Entity, variants: Sequence[Entity]) -> list[Entity]:
    """Variants with other names than an entry's own, one of each name: if possible that of its document."""
    own = name_key(fold(entity.name))
    named: dict[str, Entity] = {}
    for variant in sorted(variants, key=lambda each: each.document != entity.document):
        named.setdefault(name_key(fold(variant.name)), variant)
    return [variant for key, variant in named.items() if key != own]


def _title(entity: Entity, titles: Mapping[str, str]) -> str:
    return titles.get(entity.document) or entity.document_name or entity.document
