"""Classes and other options by the name of a feature: "sneak attack" asks for the rogue, who has a section of that name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.cache.protocol import Ranked
from lorekeeper.folding import fold
from lorekeeper.search.corpora import BOOKS, first
from lorekeeper.search.entity_mentions import OPTIONS, without_progress
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.text.keywords import subject_words
from lorekeeper.text.names import canonical_name
from lorekeeper.text.stems import stems

SIMILARITY = 0.9
"""How similar a name counts that is of a feature: an entry that is itself called so is nearer."""

SHORT = 4
"""Most words of a query, apart from those that ask, of which the name of a feature may be a part."""

MOST = 6
"""Most entries that have a feature whose name says something: all have "Equipment"."""


def with_features(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with options as named by a query of one wording that is the name of a feature of theirs.

    If such a name, of two words or more, is only a part of a short query, they rank higher by keywords, by the share of its words
    that the name has. Looked at are the sections that are near in meaning. A wording among several may be any section's name: what
    these ask for is found as it was.
    """
    head = first(found.semantic, FUSED_BY_SCORE)  # the same however deep the page is, so that pages join
    options = [(key, ranked) for key, ranked in head.items() if key[0] == OPTIONS]
    subject = _subject(wordings[0]) if options and len(wordings) == 1 else frozenset()
    if not subject:
        return found
    having = _few({key: hit for key, hit in options if subject in _sections(hit)})
    parts = _few({key: hit for key, hit in options if _part(subject, hit)} if len(subject) <= SHORT else {})
    best = found.best_by_words(BOOKS) if parts else 0.0
    raised = found.with_further({key: best * _part(subject, hit) for key, hit in parts.items()})
    named = {key: hit._replace(score=SIMILARITY) for key, hit in having.items() if key not in found.names}
    return replace(
        raised, names=dict(sorted((found.names | named).items(), key=lambda item: (-item[1].score, item[0])))
    )


def _subject(wording: str) -> frozenset[str]:
    """The stems of the words of a query that say what it is about, whatever the level."""
    return without_progress(stems(" ".join(subject_words(fold(wording)))))


def _part(subject: frozenset[str], hit: Ranked) -> float:
    """The largest share of a subject that is the name of a section, of two words or more; 0 without any."""
    return max((len(own) for own in _sections(hit) if own < subject and len(own) > 1), default=0) / len(subject)


def _sections(hit: Ranked) -> set[frozenset[str]]:
    """The words of the headings of the sections that are near, also within the nearest passage, as stems."""
    within = (line.partition(": ")[0] for line in hit.passage.split("\n") if ": " in line)
    return {stems(fold(heading)) for heading in {hit.section, *(heading for heading, _ in hit.near), *within}}


def _few(hits: dict[Key, Ranked]) -> dict[Key, Ranked]:
    """Some hits, unless they are of too many entries."""
    return hits if len({canonical_name(hit.name) for hit in hits.values()}) <= MOST else {}
