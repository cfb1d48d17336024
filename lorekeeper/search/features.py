"""Classes and other options by the name of a feature: "sneak attack" asks for the rogue, who has a section of that name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lorekeeper.cache.protocol import Ranked
from lorekeeper.folding import fold
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.mentioned import WHOLE
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.search.shelves import BOOKS, first
from lorekeeper.text.keywords import subject_words
from lorekeeper.text.names import canonical_name
from lorekeeper.text.stems import stems

OPTIONS = "character_options"
"""The type whose sections are features."""

SIMILARITY = 0.9
"""How similar a name counts that is of a feature: an entry that is itself called so is nearer."""

SHORT = 4
"""Most words of a query, apart from those that ask, of which the name of a feature may be a part."""

MOST = 6
"""Most entries that have a feature whose name says something: all have "Equipment"."""


def with_features(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with options as named by a query of one wording that is the name of a feature of theirs.

    If such a name, of two words or more, is only a part of a short query, they rank higher by keywords. Looked at are the sections
    that are near in meaning. A wording among several may be any section's name: what these ask for is found as it was.
    """
    head = first(found.semantic, FUSED_BY_SCORE)  # the same however deep the page is, so that pages join
    options = [(key, ranked) for key, ranked in head.items() if key[0] == OPTIONS]
    subject = stems(" ".join(subject_words(fold(wordings[0])))) if options and len(wordings) == 1 else frozenset()
    if not subject:
        return found
    having = _few({key: hit for key, hit in options if any(own == subject for own in _sections(hit))})
    partly = options if len(subject) <= SHORT else []
    parts = _few({key: hit for key, hit in partly if any(own < subject and len(own) > 1 for own in _sections(hit))})
    further = WHOLE * found.best_by_words(BOOKS) if parts else 0.0
    raised = found.with_further(dict.fromkeys(parts, further))
    named = {key: replace(hit, score=SIMILARITY) for key, hit in having.items() if key not in found.names}
    return replace(
        raised, names=dict(sorted((found.names | named).items(), key=lambda item: (-item[1].score, item[0])))
    )


def _sections(hit: Ranked) -> Iterator[frozenset[str]]:
    """The words of the headings of the sections that are near, also within the nearest passage, as stems."""
    within = (line.partition(": ")[0] for line in hit.passage.split("\n") if ": " in line)
    for heading in {hit.section, *(heading for heading, _ in hit.near), *within}:
        if own := stems(fold(heading)):
            yield own


def _few(hits: dict[Key, Ranked]) -> dict[Key, Ranked]:
    """Some hits, unless they are of too many entries."""
    return hits if len({canonical_name(hit.name) for hit in hits.values()}) <= MOST else {}
