"""Notes that were renamed keep their vectors, even where the name is part of the text that was embedded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.text.passages import Passage, passages
from lorekeeper.text.phrases import hint_text


async def keep_vectors(
    cache: SearchCache, embedding: EmbeddingService, renames: Sequence[tuple[Entity, Identity]], entity_type: str
) -> int:
    """File the vectors of notes under the texts that they have with their new names; returns the number of notes.

    Args:
        cache: still has the notes under their old names.
        embedding: has their vectors cached.
        renames: new entities, and the identities of the old ones.
        entity_type: theirs.
    """
    if not renames:
        return 0
    old = {e.identity: e for e in await cache.load(entity_type, [identity for _, identity in renames])}
    known = [(new, old[identity]) for new, identity in renames if identity in old]
    texts = {text: source for new, before in known for text, source in _texts(new, before)}
    await embedding.file_under(texts)
    return len(known)


def _texts(new: Entity, old: Entity) -> Iterator[tuple[str, str]]:
    """The text of each passage, with that of the passage in the same place before.

    A longer name can move the ends of passages by a sentence: then it is the passage that is as far into its section.
    """
    before = _by_section(passages(old, hint=hint_text(old)))
    for section, parts in _by_section(passages(new, hint=hint_text(new))).items():
        sources = before.get(section) or [part for group in before.values() for part in group]
        for number, part in enumerate(parts):
            yield part.embedded, sources[number * len(sources) // len(parts)].embedded


def _by_section(parts: Sequence[Passage]) -> dict[str, list[Passage]]:
    groups: dict[str, list[Passage]] = {}
    for part in parts:
        groups.setdefault(part.section, []).append(part)
    return groups
