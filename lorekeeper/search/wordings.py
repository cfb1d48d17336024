"""Several wordings of one query: what each counts, which one found an entry, and those by which an entry finds others like it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from lorekeeper.entities import Entity
from lorekeeper.search.query import MAX_WORDINGS
from lorekeeper.text.facts import facts, indexed_facts, lead
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text
from lorekeeper.text.sections import Section

NAMED = 2.0
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
        held = sum((NAMED if stem in name else 1.0) / shared[stem] for stem in own if stem in words)
        return held / math.sqrt(len(own) or 1)

    return max(zip(stems, wordings, strict=True), key=lambda pair: fit(pair[0]))[1]


def words_of(entity: Entity, prose: Sequence[Section]) -> str:
    """All that an entry says but its name: its facts, its sections, and the phrases that people have for it."""
    return f"{facts(entity)} {' '.join(map(str, prose))} {hint_text(entity)}"


def described(entity: Entity) -> list[str]:
    """What an entry is, in up to `MAX_WORDINGS` texts for a search by meaning: its name and facts, then its passages.

    Of a long entry those passages count that lie evenly from its beginning to its end.
    """
    parts = [passage.embedded for passage in passages(entity)]
    step = max(1, math.ceil(len(parts) / (MAX_WORDINGS - 1)))
    return [f"{entity.name} ({lead(entity)}): {indexed_facts(entity)}", *parts[::step]]
