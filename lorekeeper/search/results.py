"""What a search returns: entries with their source, score, facts and snippet, page by page.

Of a query in several wordings, each result says which one found it; of variants that share a place, what differs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.search.explanation import Explanation
from lorekeeper.search.fusion import NOTES, FusedHit, Retriever
from lorekeeper.search.query import MAX_WORDINGS
from lorekeeper.search.sessions import beside_session
from lorekeeper.terms import RARITIES
from lorekeeper.text.evidence import evidence, field_line, read
from lorekeeper.text.excerpts import SNIPPET_CHARS
from lorekeeper.text.facts import SEPARATOR, facts, indexed_facts, lead, listed
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.names import base_name, name_key
from lorekeeper.text.notes import section_shown
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text
from lorekeeper.text.printed_on import page_of
from lorekeeper.text.sections import Section

NAMED_WEIGHT = 2.0
"""What a word of a wording counts that is in the entry's name."""


def found_by(entity: Entity, prose: Sequence[Section], wordings: Sequence[str]) -> str:
    """Of several wordings the one that fits an entry best: most of whose words, rare ones first, are in its name, facts or texts.

    Args:
        entity: the entry.
        prose: its sections.
        wordings: of the query.
    """
    stems = [word_stems(wording).keys() for wording in wordings]
    shared = Counter(stem for own in stems for stem in own)
    name = occurring(shared, entity.name)
    words = {*name, *occurring(shared, words_of(entity, prose))}

    def fit(own: Collection[str]) -> float:
        held = sum((NAMED_WEIGHT if stem in name else 1.0) / shared[stem] for stem in own if stem in words)
        return held / math.sqrt(len(own) or 1)

    return max(zip(stems, wordings, strict=True), key=lambda pair: fit(pair[0]))[1]


def words_of(entity: Entity, prose: Sequence[Section]) -> str:
    """All that an entry says but its name, and the phrases that people have for it."""
    return f"{own_words(entity, prose)} {hint_text(entity)}"


def own_words(entity: Entity, prose: Sequence[Section]) -> str:
    """All that an entry says but its name: its facts and its sections."""
    return f"{facts(entity)} {' '.join(map(str, prose))}"


def described(entity: Entity) -> list[str]:
    """What an entry is, in up to `MAX_WORDINGS` texts for a search by meaning: its name and facts, then its passages.

    Of a long entry those passages count that lie evenly from its beginning to its end.
    """
    parts = [passage.embedded for passage in passages(entity)]
    step = max(1, math.ceil(len(parts) / (MAX_WORDINGS - 1)))
    return [f"{entity.name} ({lead(entity)}): {indexed_facts(entity)}", *parts[::step]]


MAX_LISTED = 2
"""Most variants whose facts are listed by name; of more, the facts are a range."""

MAX_TEXTS = 2
"""Most different texts of a fact that are listed."""

MORE_DIFFERS = "more that differs"
"""What is said of facts that are too different to be listed."""

_AMOUNT = re.compile(r"([\d,.]+) (\w+)")

_UNSTATED = {"gp": "price not stated", "lb": "weight not stated", "attunement": "no attunement"}
"""What is said of an entry without a fact that another one has, by the last word of that fact."""


def other_facts(entity: Entity, variants: Sequence[Entity]) -> str:
    """The facts of variants as far as they differ from those of an entry: "Draft: 50 gp", "others: 2 to 35 gp"; "" for none.

    A reader would otherwise take the price or the rarity of the entry that is shown for that of all its variants.
    """
    if not variants:
        return ""
    own, theirs = listed(entity), [listed(variant) for variant in variants]
    if len(variants) <= MAX_LISTED:
        named = zip(variants, theirs, strict=True)
        told = ((label_of(entity.name, v.name), _differences(own, [facts])) for v, facts in named)
        return "; ".join(f"{label}: {differences}" for label, differences in told if differences)
    differences = _differences(own, theirs)
    return f"others: {differences}" if differences else ""


def label_of(name: str, variant: str) -> str:
    """What a variant's name has after the words that it shares with another: "Club" of "Ash Blade (Club)"."""
    words, others = variant.split(), name.split()
    pairs = zip(words, others, strict=False)
    shared = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(words), len(others)))
    while shared and " ".join(words[shared:]).count("(") < " ".join(words[shared:]).count(")"):
        shared -= 1  # back to the bracket that the difference is in
    rest = " ".join(words[shared:]) or variant
    return one_line(rest.removeprefix("(").removesuffix(")") if rest.startswith("(") else rest)


def _differences(own: Sequence[str], theirs: Sequence[Sequence[str]]) -> str:
    """Those facts of some variants that are not all the same as an entry's own."""
    columns = zip(own, zip(*theirs, strict=True), strict=True)
    merged = [_merged(mine, values) for mine, values in columns if set(values) != {mine}]
    return ", ".join([*filter(None, merged), *([] if all(merged) else [MORE_DIFFERS])])


def _merged(mine: str, values: Sequence[str]) -> str:
    """One fact of several variants in a few words, "" if these are too many; ``mine`` is that of the entry that is shown."""
    stated = list(dict.fromkeys(filter(None, values)))
    if not stated:
        return _UNSTATED.get(mine.split()[-1], f"not {mine}")
    merged = _range(stated) or (" or ".join(stated) if len(stated) <= MAX_TEXTS else "")
    return merged if all(values) or not merged else f"some {merged}"


def _range(values: Sequence[str]) -> str:
    """Amounts, or rarities of the same kind of thing, from the least to the greatest; "" if the values are neither."""
    amounts = [_AMOUNT.fullmatch(value) for value in values]
    if all(amounts) and len({found[2] for found in amounts if found}) == 1:
        numbers = sorted((found[1] for found in amounts if found), key=lambda text: float(text.replace(",", "")))
        unit = amounts[0][2] if amounts[0] else ""
        return f"{' to '.join(dict.fromkeys([numbers[0], numbers[-1]]))} {unit}"
    parts = [_rarity(value) for value in values]
    if all(rarity for rarity, _ in parts) and len({thing for _, thing in parts}) == 1:
        ranked = sorted((rarity for rarity, _ in parts), key=RARITIES.index)
        return " to ".join(dict.fromkeys([ranked[0], ranked[-1]]))
    return ""


def _rarity(value: str) -> tuple[str, str]:
    """The rarity that a fact begins with, "" for none, and what follows it."""
    rarity = next((each for each in reversed(RARITIES) if f"{value} ".startswith(f"{each} ")), "")
    return rarity, value[len(rarity) :].strip()


Mode = Literal["structured", "semantic", "hybrid", "keyword"]

Key = tuple[str, Identity]
"""(type, identity) of an entity."""


EQUIPMENT = "equipment"
"""The type whose entries have variants."""

RULES, WHOLE = "rules", 700
"""The type of rules, and the longest text of an entry of a book, in characters, that is shown whole as the first result."""


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
        differs: where its name stands for another text: editions, with the uri of each if it is sure; "" for nowhere.
        versions: the uris of these, by the label of the edition.
        values: those of the fields that its filters are about, as far as the facts do not show them; of a lookup only.
        sure: whether it is close enough to the best result to be taken for an answer.
        edition: code of its document's edition, "" if that is unknown.
        wording: of a query in several wordings, the one that found it; "" for others.
        wording_number: its number from 1 on, 0 for others.
        hit: its place in the fused ranking; None in a lookup by filters alone.
        page: of a printed book, on which the snippet stands; "" for others.
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
    differs: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    values: str = ""
    sure: bool = True
    edition: str = ""
    wording: str = ""
    wording_number: int = 0
    hit: FusedHit[Key] | None = None
    page: str = ""


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
        read_as: the folded name that the one asked for was read as, None if it was not or has several meanings.
        explanation: how the results were found, if the query asks for that.
        found: keys of all results, of this page and the others; of a ranked search only.
        others: how many of a list in the order of editions are of another one than is asked for; they are its end.
    """

    results: list[Result]
    total: int
    mode: Mode
    next_offset: int | None = None
    note: str | None = None
    approximate: bool = False
    read_as: str | None = None
    explanation: Explanation | None = None
    found: Sequence[Key] = ()
    others: int = 0


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
    differing: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    """An entry of a structured lookup; ``titles`` has the title of each document by key, ``differing`` is as of `ranked_result`."""
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
        differs=_differs(differing, sure=True),
        versions=differing,
        values=field_line(entity, "", asked.fields),
        page=page_of(entity),
    )


def _differs(differing: Mapping[str, str], sure: bool) -> str:
    """Where a name stands for another text, with the uri of each if the result is sure."""
    named = ", ".join(f"{label}: {uri}" if sure else label for label, uri in differing.items())
    return f"differs in {named}" if named else ""


def ranked_result(
    entity: Entity,
    hit: FusedHit[Key],
    titles: Mapping[str, str],
    ranked: Mapping[Key, Ranked],
    asked: Asked,
    limit: int = SNIPPET_CHARS,
    duplicates: Sequence[Entity] = (),
    also: Sequence[str] = (),
    differing: Mapping[str, str] = MappingProxyType({}),
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
        duplicates: the entities of its edition that the hit stands for.
        also: keys of the other documents that have it.
        differing: the uri of what has its name with another text, by edition.
        first: whether it is the first of its page: a short entry is then shown whole, since its sentences need each other.
    """
    others = _otherwise_named(entity, duplicates)
    elsewhere = [f"also in {', '.join(also)}"] if also else []
    nearest = ranked.get(hit.key)
    prose = read(entity) if len(asked.wordings) > 1 else None
    wording = found_by(entity, prose, asked.wordings) if prose is not None else next(iter(asked.wordings), "")
    passage, place, near = (nearest.passage, nearest.section, nearest.near) if nearest else ("", "", ())
    if first and entity.type != NOTES and len(" ".join(map(str, read(entity)))) <= WHOLE:
        limit = max(limit, WHOLE)
    of_it = beside_session(wording) if entity.type == NOTES else wording
    shown = evidence(entity, of_it, passage, asked.fields, limit, prose, place, near)
    return Result(
        entity=entity,
        document_name=_title(entity, titles),
        score=round(hit.score, 4),
        match=hit.retriever,
        facts=SEPARATOR.join([facts(entity), *elsewhere]),
        snippet=shown.text,
        section=section_shown(entity, shown.section),
        path=shown.section,
        variants=tuple(variant.name for variant in others),
        others=other_facts(entity, others if entity.type == EQUIPMENT else ()),
        differs=_differs(differing, hit.sure),
        versions=differing,
        sure=hit.sure,
        wording=wording if prose is not None else "",
        wording_number=1 + list(asked.wordings).index(wording) if prose is not None else 0,
        hit=hit,
        page=page_of(entity, shown.text),
    )


def _otherwise_named(entity: Entity, variants: Sequence[Entity]) -> list[Entity]:
    """Variants with other names than an entry's own, one of each name: if possible that of its document.

    Brackets are part of the name of an item, "Ash Blade (Club)"; of anything else they tell where it stands.
    """
    called = fold if entity.type == EQUIPMENT else base_name
    own = name_key(called(entity.name))
    named: dict[str, Entity] = {}
    for variant in sorted(variants, key=lambda each: each.document != entity.document):
        named.setdefault(name_key(called(variant.name)), variant)
    return [variant for key, variant in named.items() if key != own]


def _title(entity: Entity, titles: Mapping[str, str]) -> str:
    return titles.get(entity.document) or entity.document_name or entity.document
