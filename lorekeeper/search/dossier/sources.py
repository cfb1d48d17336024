"""What dossiers are gathered from: the entries of a library, its documents, and its search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, MAX_TEXT_LENGTH, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.search.by_name import known_aliases
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.dossier.names import Called, Lexicon
from lorekeeper.search.dossier.spans import Span, spans
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.keywords import content_words
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name

NOTES = "notes"

SESSION = "session"
"""The kind of notes that tell what happened in a session."""

CANDIDATES = 25
"""Notes of one name, or with a part of a name, that are looked at."""

TYPES = tuple(name for name in COLLECTIONS if name != "documents")
"""The types that dossiers are gathered from."""

BOOKS = tuple(name for name in TYPES if name != NOTES)
"""The types of what books have."""

EntitiesAt = Callable[[str, str, str], Awaitable[list[Entity]]]
"""Gives the entries at a type, document and slug."""


@dataclass(frozen=True)
class Sources:
    """What dossiers are gathered from.

    Attributes:
        cache: the entries.
        documents: their documents.
        search: a library's search.
        entities_at: gives entries by uri.
        types: only entries of these types are gathered.
    """

    cache: SearchCache
    documents: DocumentRegistry
    search: Callable[[Query], Awaitable[ResultPage]]
    entities_at: EntitiesAt
    types: Collection[str]

    @classmethod
    def of(
        cls,
        cache: SearchCache,
        documents: DocumentRegistry,
        search: Callable[[Query], Awaitable[ResultPage]],
        entities_at: EntitiesAt,
        types: Sequence[str] | None,
    ) -> Self:
        """Sources of some types, all if None.

        Raises:
            FilterError: there is no such type.
        """
        for name in types or ():
            if name not in TYPES:
                raise FilterError(unknown_name(name, list(TYPES), "type"))
        return cls(cache, documents, search, entities_at, TYPES if types is None else tuple(types))

    @property
    def notes(self) -> bool:
        """Whether notes are gathered."""
        return NOTES in self.types

    @cached_property
    def books(self) -> list[str]:
        """The types of book entries that are gathered."""
        return [name for name in BOOKS if name in self.types]

    async def names(self, entity_type: str) -> NameList:
        """The folded names of a type."""
        return NameList.of(await self.cache.names(entity_type))

    async def note_names(self) -> frozenset[str]:
        """The folded names of all notes, and their aliases."""
        return frozenset([*await self.cache.names(NOTES), *(await known_aliases(self.cache, NOTES)).folded])

    async def notes_called(self, names: Sequence[str], document: str | None = None) -> list[Entity]:
        """The notes that have one of some folded names as their name or an alias."""
        return await notes_called(self.cache, names, document)

    async def knows(self, text: str) -> bool:
        """Whether an entry has a word of a text: otherwise nothing can be about it."""
        words = content_words(fold(text))
        return not words or any([await self.cache.word_counts(entity_type, words) for entity_type in self.types])

    async def called(self, entity_type: str, names: Sequence[str]) -> list[Entity]:
        """The entries of some folded names: of several that share one, that of the preferred document."""
        names = _possible(names)
        if not names:
            return []
        scopes = await self.documents.scopes([entity_type], None)
        prefer = await self.documents.order()
        found = await self.cache.get_entities(
            entity_type, scopes[entity_type], limit=4 * len(names), prefer=prefer, name_folded=names
        )
        return list({canonical_name(entity.name): entity for entity in reversed(found)}.values())[::-1]


async def notes_called(cache: SearchCache, names: Sequence[str], document: str | None = None) -> list[Entity]:
    """The notes that have one of some folded names as their name or an alias."""
    names = _possible(names)
    if not names:
        return []
    limit = CANDIDATES + len(names)
    by_name = await cache.get_entities(NOTES, document, limit=limit, name_folded=names)
    by_alias = await cache.get_entities(NOTES, document, limit=limit, aliases=names)
    return list({note.identity: note for note in [*by_name, *by_alias]}.values())


def _possible(names: Iterable[str]) -> list[str]:
    """Those of some names that an entry may have: whole topics are looked up as names too, however long they are."""
    return [name for name in names if len(name) <= MAX_TEXT_LENGTH and "\0" not in name]


@dataclass(frozen=True)
class Subject:
    """What a dossier is about.

    Attributes:
        topic: as it was asked for.
        about: the entries that are about it, the main one first; [] if none is.
        called: the names to look for in texts; None for a theme, which is looked for by meaning.
        note: how the topic was understood, None if as written.
        nearest: of a theme, all that search finds, the best first; of a name that no entry has, all that mentions it.
        is_name: whether it is such a name.
    """

    topic: str
    about: Sequence[Entity]
    called: Called | None = None
    note: str | None = None
    nearest: Sequence[Result] = ()
    is_name: bool = False

    @property
    def notes(self) -> list[Entity]:
        """The notes among the entries."""
        return [entity for entity in self.about if entity.type == NOTES]

    @cached_property
    def sections(self) -> dict[str, str]:
        """Of what is nearest to a theme, the section that is, by uri."""
        return {result.entity.uri: result.section for result in reversed(self.nearest)}

    def parts(self, entity: Entity) -> list[Span]:
        """The spans of an entry that are about the topic: of a theme those with a word of it, and the nearest one."""
        if self.called:
            return spans(entity)
        stems, nearest = word_stems(self.topic), self.sections.get(entity.uri)
        return [
            part for part in spans(entity) if part.section == nearest or occurring(stems, f"{part.section} {part.text}")
        ]

    @property
    def main(self) -> Entity | None:
        """The entry that it is, None for a theme."""
        return self.about[0] if self.about and self.called else None

    @cached_property
    def wanted(self) -> list[str]:
        """The stems of what is asked beside the names."""
        named = word_stems(self.called.query) if self.called else {}
        return [stem for stem in word_stems(self.topic) if stem not in named and not self.topic.startswith("lore://")]


def names_in(text: str, known: Iterable[str]) -> list[str]:
    """The known names in the words of a question, which may be without capitals; the longest first."""
    found = dict.fromkeys(mention.name for mention in Lexicon(known).mentions(text))
    return sorted(found, key=len, reverse=True)
