"""Who or what a topic is: what dossiers are gathered from, the entries that are about it, and what they say."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import MAX_TEXT_LENGTH, SEARCHED, Entity, parse_uri
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.search.by_name import MAX_NAME_WORDS, known_aliases
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.dossier.lines import Line, Quote
from lorekeeper.search.dossier.names import Called, Lexicon, plain_names, short_names
from lorekeeper.search.dossier.spans import Span, spans
from lorekeeper.search.doubt import CLOSED, is_closed, known_words
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.facts import facts
from lorekeeper.text.keywords import content_words
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name
from lorekeeper.text.notes import aliases, note_facts
from lorekeeper.text.stems import corrected, names_of_stems, names_with_words
from lorekeeper.words import listed_words

NOTES = "notes"

SESSION = "session"
"""The kind of notes that tell what happened in a session."""

CANDIDATES = 25
"""Notes of one name, or with a part of a name, that are looked at."""

TYPES = tuple(SEARCHED)
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


FURTHER = 3
"""Notes beside the main one that count as being about the topic."""

NEAREST = 30
"""Entries that are looked at for a theme."""

PIECE_CHARS = 560
"""Characters after which no further sentence of a section is quoted."""

THEME_CHARS, THEME_LINES = 420, 3
"""The same of what is quoted on a theme, and most sections of one entry."""

BRIEF_CHARS = 260
"""The same of a note beside the main one."""

MAIN_LINES, BRIEF_LINES = 4, 2
"""Lines of the main entry before those of others, and lines of each of these."""

S = TypeVar("S", bound=str)

# --- which entries ---------------------------------------------------------------------------------------------------


async def subject_of(sources: Sources, topic: str) -> Subject:
    """What a topic is, a uri or words: an entry, several, or a theme.

    Raises:
        FilterError: the uri is not one of an entry.
        NotFoundError: there is no entry of the uri.
    """
    if topic.startswith("lore://"):
        return await _named(sources, topic, [await _entity_at(sources, topic)])
    by_name = await _by_name(sources, topic)
    if by_name:
        return by_name
    if await _is_name(sources, topic):
        return await _mentioned(sources, topic)
    return await _theme(sources, topic)


async def _is_name(sources: Sources, topic: str) -> bool:
    """Whether a topic is a name rather than a theme: its words have capitals, or the library does not know half of them."""
    words = topic.split()[: MAX_NAME_WORDS + 1]
    content = [word for word in words if content_words(fold(word))]
    if not 1 < len(content) <= len(words) <= MAX_NAME_WORDS:
        return False
    if all(word[0].isupper() for word in content):
        return True
    known = await known_words(sources.cache, sources.types, topic)
    return 2 * len(known) <= len(content_words(fold(topic)))


async def _mentioned(sources: Sources, topic: str) -> Subject:
    """Whatever has a name in its text that no entry is called by: entries that share one of its words are not about it."""
    page = await sources.search(Query(list(sources.types), topic, phrases=[topic], limit=NEAREST))
    about = [result.entity for result in page.results if result.entity.type == NOTES and result.entity.kind != SESSION]
    note = None if about else _nothing_called(topic, "this is what mentions it")
    return Subject(topic, about[: 1 + FURTHER], note=note, nearest=page.results, is_name=True)


def _nothing_called(topic: str, instead: str) -> str:
    """That no entry has a name, what is shown instead, and whether the name is one that no open licence covers."""
    closed = f" {CLOSED.format(shown(topic))}" if is_closed(fold(topic)) else ""
    return f"Nothing is called {shown(topic)}: {instead}.{closed}"


async def _entity_at(sources: Sources, uri: str) -> Entity:
    try:
        found = await sources.entities_at(*parse_uri(uri))
    except ValueError as error:
        raise FilterError(str(error)) from error
    if not found:
        raise NotFoundError(f"there is no {one_line(uri, MAX_SHOWN)} in the library; take an address from an answer")
    return found[0]


async def _by_name(sources: Sources, topic: str) -> Subject | None:
    """The entries that a topic names: as their whole name, within it, as a part of their names, or nearly."""
    notes = await _notes_named(sources, topic) if sources.notes else []
    whole = [note for note in notes if fold(topic) in all_names(note)]
    if whole:
        titled = [note for note in whole if fold(note.name) == fold(topic)]  # before those with an alias of that name
        return await _named(sources, topic, _fullest(titled or whole))
    book = [entity for name in sources.books for entity in await _books_called(sources, name, fold(topic))]
    if book:
        return await _named(sources, topic, book[:1])
    within = await _notes_within(sources, topic) if sources.notes else []
    if within or notes:
        return await _named(sources, topic, within or _fullest(notes))
    near = await _nearly_named(sources, topic) if sources.notes else []
    note = f"Nothing is called {shown(topic)}; this is the nearest name."
    return await _named(sources, topic, near, note) if near else None


async def _books_called(sources: Sources, entity_type: str, wanted: str) -> list[Entity]:
    """The book entries of a name, in the singular or in the plural."""
    named = await sources.called(entity_type, [wanted])
    if named or len(wanted.split()) > MAX_NAME_WORDS:
        return named
    whole, _ = names_of_stems(wanted, await sources.names(entity_type))
    return await sources.called(entity_type, whole[:CANDIDATES])


async def _nearly_named(sources: Sources, topic: str) -> list[Entity]:
    """The note whose name is a topic misspelt, or has its misspelt words if the library knows none of them."""
    near = await sources.cache.rank_names(NOTES, topic)
    if near:
        return await sources.cache.load(NOTES, [near[0].identity])
    if await sources.knows(topic):
        return []
    known = await sources.names(NOTES)
    text = corrected(fold(topic), known)
    names = names_with_words(text, known)[:1] if text else []
    return await sources.cache.get_entities(NOTES, limit=1, name_folded=names) if names else []


async def _notes_named(sources: Sources, topic: str) -> list[Entity]:
    """The notes with all words of a topic in one of their names: those that are called so come first."""
    wanted = fold(topic)
    if not content_words(wanted):
        return []
    whole = await sources.notes_called([wanted, f"the {wanted}", wanted.removeprefix("the ")])
    names = names_with_words(wanted, await sources.names(NOTES))
    aliases = names_with_words(wanted, NameList.of((await known_aliases(sources.cache, NOTES)).folded))
    part = await sources.notes_called([*names[:CANDIDATES], *aliases[:CANDIDATES]])
    return list({note.identity: note for note in [*whole, *part]}.values())


async def _notes_within(sources: Sources, topic: str) -> list[Entity]:
    """The notes whose name, or alias, a question has: of several the longest."""
    names = names_in(topic, await sources.note_names())
    telling = [name for name in names if not listed_words("name everyday").issuperset(content_words(name))]
    notes = await sources.notes_called(telling[:1])
    if notes and await _is_name(sources, topic):
        return [note for note in notes if _is_called(note, topic)]
    return notes


def _is_called(note: Entity, topic: str) -> bool:
    """Whether a longer name may be that of a note: what it has beside the note's own is a title, or in the note's text."""
    own = {word for name in all_names(note) for word in name.split()}
    others = [word for word in content_words(fold(topic)) if word not in own and word not in listed_words("name title")]
    text = " ".join([note.name, *(part.text for part in spans(note))])
    return all(occurring(word_stems(word), text) for word in others)


async def _named(sources: Sources, topic: str, found: Sequence[Entity], note: str | None = None) -> Subject:
    """The subject of a named entry, with what else has its name."""
    main = found[0]
    same = [entity for entity in found[1:] if all_names(entity) & all_names(main)]
    others = [entity for entity in found[1:] if entity not in same]
    beginning_so = (await sources.names(NOTES)).beginning_with(f"{fold(main.name)} ")[
        :CANDIDATES
    ]  # "Holya - Background"
    continued = await sources.notes_called(beginning_so)
    notes = [note or "", _named_as("the same name", same), _named_as("it in the name", others)]
    further = [entity for entity in [*others, *continued] if entity.kind != SESSION]
    unique = {entity.uri: entity for entity in [main, *further] if entity not in same}
    return Subject(
        topic, list(unique.values())[: 1 + FURTHER], await _called(sources, main), " ".join(filter(None, notes)) or None
    )


def _named_as(what: str, entities: Sequence[Entity]) -> str:
    """Which other entries have a name, the first of them with their uris."""
    if not entities:
        return ""
    listed = ", ".join(f"{one_line(entity.name, MAX_SHOWN)} ({entity.uri})" for entity in entities[:FURTHER])
    have = "has" if len(entities) == 1 else "have"
    return f"{len(entities)} more {have} {what}: {listed}{', ...' if len(entities) > FURTHER else '.'}"


async def _called(sources: Sources, main: Entity) -> Called:
    names = all_names(main)
    if main.type != NOTES:
        return Called(names, common=main.type == "creatures")
    if fold(main.kind) not in listed_words("kinds named"):
        return Called(names)
    others = [name for name in await sources.note_names() if name not in names]
    return Called(names, short_names(main.name, others))


async def _theme(sources: Sources, topic: str) -> Subject:
    """A theme: the notes that are nearest in meaning, of those that are near among all entries or have half of its words."""
    page = await sources.search(Query(list(sources.types), topic, limit=NEAREST))
    results = list(page.results)
    if sources.notes:
        results += (await sources.search(Query([NOTES], topic, limit=NEAREST))).results
    near, stems = {result.entity.uri for result in page.results}, word_stems(topic)

    def is_about(note: Entity) -> bool:
        text = " ".join([note.name, *(part.text for part in spans(note))])
        return note.kind != SESSION and (note.uri in near or 2 * len(occurring(stems, text)) >= len(stems))

    notes = [result.entity for result in results if result.entity.type == NOTES and result.sure]
    about = [note for note in {note.uri: note for note in notes}.values() if is_about(note)]
    unnamed = not about and all(word[0].isupper() for word in topic.split())
    note = _nothing_called(topic, "this is what mentions it or is near in meaning") if unnamed else None
    return Subject(topic, about[: 1 + FURTHER], note=note, nearest=results)


def all_names(entity: Entity) -> frozenset[str]:
    """The folded names of an entry: its name, that without an article, and its aliases."""
    names = plain_names([entity.name, *aliases(entity)]) or frozenset([fold(entity.name)])
    return names | {name.removeprefix("the ") for name in names if len(name) > 8}


def _fullest(notes: Sequence[Entity]) -> list[Entity]:
    """Notes in the order of how much they say; sessions come last."""
    return sorted(notes, key=lambda note: (note.kind == SESSION, -sum(len(s.text) for s in spans(note))))


# --- what they say ---------------------------------------------------------------------------------------------------


def about_lines(subject: Subject) -> list[Line]:
    """What the entries say: of the main one its facts and the sections that say most, then something of each other one.

    Of a theme, each says what it has of it. What else the main one says comes last.
    """
    if not subject.called:
        return [line for entity in subject.about for line in _theme_lines(subject, entity)]
    main, *others = subject.about
    first = [Line(main, "about", [quote]) for quote in _quotes(main, subject.wanted, PIECE_CHARS)]
    further = [
        Line(entity, "about", [quote])
        for entity in others
        for quote in itertools.islice(_quotes(entity, subject.wanted, BRIEF_CHARS), BRIEF_LINES)
    ]
    return [*first[:MAIN_LINES], *further, *first[MAIN_LINES:]]


def _theme_lines(subject: Subject, entity: Entity) -> list[Line]:
    """What an entry says of a theme, in a few sections."""
    quotes = quotes_about(entity, subject.topic, subject.sections.get(entity.uri))
    return [Line(entity, "about", [quote]) for quote in quotes[:THEME_LINES]]


def quotes_about(entity: Entity, text: str, nearest: str | None) -> list[Quote]:
    """The sentences of an entry with most words of a text, by section, the best first.

    Args:
        entity: the entry.
        text: some words.
        nearest: the section nearest in meaning, which is quoted even without any of the words; None for none.
    """
    stems = list(word_stems(text))
    quotes: list[tuple[tuple[int, bool], Quote]] = []
    for span in spans(entity):
        counts = [len(occurring(stems, sentence)) for sentence in span.sentences]
        most, near = max(counts, default=0), span.section == nearest
        if near or most > 1 or (most and len(stems) == 1):
            told = [s for s, n in zip(span.sentences, counts, strict=True) if n and n >= most - 1]
            quote = Quote(beginning(told or span.sentences, THEME_CHARS), span.section, span.mark)
            quotes.append(((most + near, near), quote))
    return [quote for _, quote in sorted(quotes, key=lambda each: each[0], reverse=True) if quote.sentences]


def _quotes(entity: Entity, wanted: Sequence[str], chars: int) -> Iterator[Quote]:
    """The facts of an entry, then the beginnings of its sections."""
    told, parts = facts_of(entity), spans(entity)
    if len(told) > 1 or entity.type != NOTES or not any(part.sentences for part in parts):
        yield Quote(told)  # the kind alone stands beside the name
    for span in _by_weight(parts, wanted):
        sentences = beginning(span.sentences, chars)
        if sentences:
            yield Quote(sentences, span.section, span.mark)


def beginning(sentences: Sequence[S], chars: int) -> list[S]:
    """The first sentences up to a number of characters, at least one."""
    taken: list[S] = []
    for sentence in sentences:
        if taken and sum(map(len, taken)) + len(sentence) > chars:
            break
        taken.append(sentence)
    return taken


def _by_weight(parts: Sequence[Span], wanted: Sequence[str]) -> list[Span]:
    """Stretches in the order of what they say: what was asked for, the opening, then by their number of different words."""
    opening = next((part for part in parts if len(content_words(fold(part.text))) > 5), None)

    def weight(part: Span) -> tuple[int, bool, int]:
        asked = len(occurring(wanted, f"{part.heading} {part.text}")) if wanted else 0
        return asked, part is opening, len(content_words(fold(part.text)))

    return sorted(parts, key=weight, reverse=True)


def facts_of(entity: Entity) -> list[str]:
    """Kind and facts of an entry, none of them cut."""
    own = note_facts(entity)
    if not own:
        return [one_line(facts(entity))]
    telling = [
        one_line(f"{key}: {value}") for key, value in own.items() if fold(key) not in listed_words("key needless")
    ]
    return [one_line(entity.kind), *beginning(telling, BRIEF_CHARS)]
