"""Notes that rank higher by keywords: those that a question names, and those in the words of the nearest ones."""

from __future__ import annotations

from collections.abc import Sequence

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.search.feedback import fed_back
from lorekeeper.search.mentioned import named_notes
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.search.shelves import NOTES


async def with_raised_notes(cache: SearchCache, found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with what `fed_back` and `named_notes` add to the scores of notes by keywords."""
    if not found.keyword:
        return found
    fed = await fed_back(cache, found, wordings)
    named = await named_notes(cache, found, wordings)
    scores = {key: ranked.score for key, ranked in found.keyword.items() if key[0] == NOTES}
    best = max((scores.get(key, 0.0) + fed.get(key, 0.0) for key in scores | fed), default=0.0)
    further = {key: fed.get(key, 0.0) + best * named.get(key, 0.0) for key in fed | named}
    return found.with_further({key: score for key, score in further.items() if score})
