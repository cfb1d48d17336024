"""What the library does not have: how far the first hit of a ranking is to be doubted, which names no open licence covers or other
games have, and why a page has no results.

One test decides whether results are shown as unsure: the nearer the hit is in meaning, the rarer the words of the query may be that
it lacks. A question that the library answers has words that many entries have, and mostly those of its answer; a question about
another game, real life, or a creature that no open licence covers has not (``openspec/decisions/2026-11-27-doubt-by-one-test.md``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.snapshot import in_turn
from lorekeeper.entities import COLLECTIONS, SEARCHED, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.expansion import spelt_out
from lorekeeper.search.explanation import Doubt
from lorekeeper.search.fusion import NOTES, corpus_name
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key, ResultPage, words_of
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.text.evidence import read
from lorekeeper.text.keywords import content_words, subject_words
from lorekeeper.text.matching import STEM, occurring, word_stems
from lorekeeper.text.names import similarity
from lorekeeper.words import listed_words

SHORT_WORD = 3
"""Letters of a word that is too short to be missed."""

MAX_UNKNOWN = 3
"""Most words that a note names."""

MAX_SUBJECT = 4
"""Words of the longest query of which a word that no entry has is the subject."""

KEYWORDS = 2
"""Most content words of a query that asks for what has them, whatever it means: "fire", "open locks"."""

COMPLETE_HITS = 3
"""How many of the best keyword hits are looked at for one with all words of a query."""

LARGE_LIBRARY = 300
"""Fewest entries with which a query can be doubted because its words do not occur."""

HARDLY_CLOSE = "{} is close enough to be sure of; these are the nearest."


def is_certain(found: Retrieved, text: str) -> bool:
    """Whether nothing that was found is to be doubted: a name, all of one or two words, a small library."""
    if found.names or found.count < LARGE_LIBRARY:
        return True
    first = islice(found.keyword.values(), COMPLETE_HITS)
    return 0 < len(content_words(fold(text))) <= KEYWORDS and any(ranked.complete for ranked in first)


def doubt_of(hit: Key, entity: Entity, found: Retrieved, wordings: Sequence[str]) -> Doubt:
    """How far the first hit of a ranking is to be doubted; of several wordings, that which it fits best counts.

    Args:
        hit: its key.
        entity: the hit.
        found: what the retrievers found.
        wordings: of the query; none if its words say nothing, as those of a question in another language do.
    """
    nearest = found.semantic.get(hit)
    near = max(found.phrases.get(hit, 0.0), nearest.score if nearest else 0.0)
    text = spelt_out(f"{entity.name} {words_of(entity, read(entity))}")
    doubts = (_of_wording(spelt_out(wording), text, near, found) for wording in wordings)
    return min(doubts, key=lambda doubt: doubt.lacking, default=Doubt(near, 0.0, 1.0))


def answers(entity: Entity, wordings: Sequence[str]) -> bool:
    """Whether one section of an entry, with its name, has all content words of a wording, of which there are several."""
    asked = [stems for stems in map(word_stems, wordings) if len(stems) > 1]
    texts = [f"{entity.name} {section}" for section in read(entity)] if asked else []
    return any(len(occurring(stems, text)) == len(stems) for stems in asked for text in texts)


def _of_wording(wording: str, text: str, near: float, found: Retrieved) -> Doubt:
    stems = word_stems(wording)
    words = [word for word in content_words(fold(wording)) if word[:STEM] in stems]
    if not words:
        return Doubt(near, 1.0, 0.0)
    held = set(occurring(stems, text))  # by their beginnings: a shadow holds no "shadowheart", which no entry has
    lacks = (word for word in words if word[:STEM] not in held or word not in found.occurring)
    lacking = sum(rarity(found.occurring.get(word, 0), found.count) for word in lacks)
    return Doubt(near, lacking / len(words), sum(word in found.occurring for word in words) / len(words))


def rarity(number: int, entries: int) -> float:
    """How rare a word is that so many entries have: its weight in BM25, as Lucene counts it, as a share of the highest one."""

    def weight(having: int) -> float:
        return math.log1p((max(entries - having, 0) + 0.5) / (having + 0.5))

    return weight(number) / weight(0)


async def names_a_note(cache: SearchCache, text: str) -> bool:
    """Whether a text has a word like the name of a note: a keyword search of notes sets it right."""
    names = {part for word in text.split() if word[:1].isupper() for part in fold(word).split()}
    return any(await in_turn(cache.rank_keyword(NOTES, name, 1) for name in names))


def doubted(types: Sequence[str], documents: Sequence[str] | None, wordings: Sequence[str], found: Retrieved) -> str:
    """What to say of results that are doubted: which words of a short query no entry has, or that nothing is close."""
    words = [w for w in subject_words(fold(" ".join(wordings))) if len(w) > SHORT_WORD and w.isalpha()]
    unknown = [word for word in words if word not in found.occurring][:MAX_UNKNOWN]
    if unknown and len(words) <= MAX_SUBJECT:
        return f"{no_entry(types)} has the word {' or '.join(repr(one_line(word, MAX_SHOWN)) for word in unknown)}."
    return HARDLY_CLOSE.format(nothing(types, documents))


def nothing(types: Sequence[str], documents: Sequence[str] | None) -> str:
    """The subject of a sentence that denies what was searched: "Nothing in the library", or less if less was searched."""
    if documents is not None or 1 < len(types) < len(SEARCHED):
        return "Nothing that was searched"
    return no_entry(types) if len(types) == 1 else "Nothing in the library"


def no_entry(types: Sequence[str]) -> str:
    """The same of entries of some types, whatever their documents: "No entry", "No spell"."""
    if len(types) == 1:
        return f"No {COLLECTIONS[types[0]].label}"
    return "No entry" if len(types) >= len(SEARCHED) else "No entry that was searched"


async def word_counts(cache: SearchCache, types: Collection[str], text: str) -> dict[str, Counter[str]]:
    """How many entries of some types have each content word of a text, in any form, by corpus, without those that none has."""
    counts = {corpus_name(name): Counter[str]() for name in types}
    words = content_words(fold(text))
    if words:
        found = await in_turn(cache.word_counts(each, words) for each in types)
        for name, of_type in zip(types, found, strict=True):
            counts[corpus_name(name)].update(of_type)
    return counts


async def known_words(cache: SearchCache, types: Collection[str], text: str) -> set[str]:
    """The content words of a text that an entry of one of the types has, in any form."""
    return set[str]().union(*(await word_counts(cache, types, text)).values())


DATA = Path(__file__).parent.parent / "data"

OTHER_GAMES: Mapping[str, str] = dict(
    row.split("\t", 1) for row in (DATA / "other_games.tsv").read_text("utf-8").splitlines()
)
"""Names of other games, and of rules that only they have, folded; and the game to name in the note."""

NOT_OPEN = frozenset((DATA / "closed_names.txt").read_text("utf-8").split("\n")) - {""}
"""What people often ask for and no open licence covers, or covered nowhere at the time of writing: folded names, one a line."""


_TERMS = (*OTHER_GAMES, *sorted(NOT_OPEN, key=lambda term: (-len(term), term)))
"""Both, in the order in which they are looked for."""

NAMES = DATA / "not_open.txt"
"""Further names that no open licence covers, folded, one a line: of spells, creatures, options and items. Some are everyday words
as well, so a query is about one of them only if it says nothing else."""

CLOSED = "{} is not open content: no open book has it."

MISSPELT = 0.83
"""Least similarity of a word that no entry has to the closed name that it is a misspelling of: one wrong letter in six."""

MISSPELT_LETTERS = 6
"""Fewest letters of a closed name that is recognised misspelt: shorter ones are near to too many words."""


@dataclass(frozen=True)
class Absent:
    """What a query asks for that the library does not have.

    Attributes:
        name: as in the query, folded.
        game: the other game that has it, None if it is the same game and not open content.
    """

    name: str
    game: str | None = None

    @property
    def note(self) -> str:
        """What the reader should know."""
        if self.game:
            return f"This asks about {self.game}; the library has nothing on it."
        return f"No entry is called '{self.name}'. {CLOSED.format('It')}{instead_of(self.name)}"


TREASURE = (
    "No open book has tables of treasure. lookup_equipment with kind='magic-item', a rarity and order='random' draws items; the "
    "rule Magic Item Prices says what they are worth."
)
"""What a game master can do who asks for treasure: the SRDs of both editions leave its tables out."""


def instead_of(closed: str) -> str:
    """What follows the note on a closed name, "" for nothing: what can be had instead."""
    return "" if listed_words("asked treasure").isdisjoint(closed.split()) else f" {TREASURE}"


NEAREST = "These are the nearest in meaning."


def absent(query: str, names: Iterable[str], occurring: Collection[str]) -> Absent | None:
    """What a query names that no entry is named after; None if there is nothing to say.

    Args:
        query: its words.
        names: of the best entries, and the titles of the documents: what has the name there is in the library.
        occurring: those of its content words that an entry has: the others may be misspelt.
    """
    asked = f" {fold(query)} "
    named = [term for term in _TERMS if f" {term} " in asked]
    subject = tuple(subject_words(fold(query)))
    named += [_names()[subject]] if subject in _names() else []
    named += filter(None, [_misspelt(subject, occurring)]) if not named else []
    present = [fold(name) for name in names] if named else []
    missing = (term for term in named if not any(term in name for name in present))
    return next((Absent(term, OTHER_GAMES.get(term)) for term in missing), None)


def is_closed(name: str) -> bool:
    """Whether a folded name is, as a whole, that of something that is not open content."""
    return name in NOT_OPEN or name in _names().values()


def closed_name(name: str, occurring: Collection[str]) -> str:
    """The closed name that a folded name is, has among its words, or misspells; "" for none.

    Args:
        name: as it was asked for.
        occurring: those of its words that an entry has.
    """
    if is_closed(name):
        return name
    within = (term for term in _TERMS if term in NOT_OPEN and f" {term} " in f" {name} ")
    return next(within, _misspelt(name.split(), occurring))


def _misspelt(words: Sequence[str], occurring: Collection[str]) -> str:
    """The closed name that is nearest to some adjacent words, one of which no entry has; "" if none is near."""
    unknown = {word for word in words if word not in occurring}
    if not unknown:
        return ""
    best, nearest = MISSPELT, ""
    for number in range(1, len(words) + 1):
        parts = [words[start : start + number] for start in range(len(words) - number + 1)]
        for text in ("".join(part) for part in parts if not unknown.isdisjoint(part)):
            for term in NOT_OPEN if text else ():
                whole = term.replace(" ", "")
                if whole[0] == text[0] and len(whole) >= MISSPELT_LETTERS and number <= len(term.split()):
                    best, nearest = max((best, nearest), (similarity(text, whole), term))
    return nearest


@cache
def _names() -> Mapping[tuple[str, ...], str]:
    """The names of the file by their content words."""
    return {tuple(content_words(name)): name for name in NAMES.read_text("utf-8").split("\n") if name}


BRING_NOTES = "'lorekeeper vault add FOLDER' adds a folder of notes"

BRING_BOOKS = "'lorekeeper sync open5e' and 'lorekeeper import PATH' add books"

BRING_CHARACTERS = (
    "'lorekeeper import FILE' adds those of Foundry VTT or D&D Beyond; a note with 'kind: pc' and a class is one too"
)

NONE_AT_ALL = "The library has no "
"""How a note begins that denies all entries of a type: it is not known while notes are still being read."""

BRINGS = {NOTES: BRING_NOTES, "characters": BRING_CHARACTERS}
"""What brings entries of the types that no book has."""


async def why_nothing(documents: DocumentRegistry, query: Query, page: ResultPage) -> str | None:
    """What to say of a page without results; None if it has some, or if its entries are there but none is meant.

    Args:
        documents: those of the library, as the viewer sees them.
        query: the search.
        page: its page.
    """
    if page.results:
        return None
    if page.total and query.offset >= page.total:
        return f"offset={query.offset} is beyond the end: {page.total:,} found in all, so offset goes up to {page.total - 1}."
    if query.documents is not None and not query.documents:
        return "documents is an empty list, so nothing was searched; leave it out to search all."
    if await documents.count(await documents.scopes(query.types, query.documents)):
        return None
    if not await documents.count(await documents.scopes(list(COLLECTIONS), None)):
        return None  # the first search of a library without any entry loads the first books, and says so
    labels = _listed([f"{COLLECTIONS[name].label}s" for name in query.types])
    if query.documents and await documents.count(await documents.scopes(query.types, None)):
        keys = _listed([repr(one_line(key, MAX_SHOWN)) for key in query.documents])
        return f"The library has {labels}, but not in {keys}; list_documents counts what each document has."
    return f"{NONE_AT_ALL}{labels} to search: {what_brings(query.types)}."


def what_brings(types: Sequence[str]) -> str:
    """The commands that bring entries of some types."""
    books = [BRING_BOOKS] if any(name not in BRINGS for name in types) else []
    return "; ".join([*books, *(BRINGS[name] for name in types if name in BRINGS)])


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
