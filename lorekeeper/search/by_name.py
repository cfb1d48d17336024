"""Names as people say them: other names and languages, stems and misspellings, in lookups by name and in ranked searches.

A name that is written as in the library is taken as it is, and nothing similar comes with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from lorekeeper.cache.protocol import Documents, Identity, Ranked, SearchCache
from lorekeeper.cache.snapshot import apart
from lorekeeper.entities import ALIASES, COLLECTIONS, NAME, WHOLE_NAME, uri_of
from lorekeeper.filters import MAX_VALUES, WHERE
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.search import sessions
from lorekeeper.search.documents import DocumentRegistry, Scopes
from lorekeeper.search.doubt import LARGE_LIBRARY, MISSPELT, closed_name, is_closed, known_words
from lorekeeper.search.expansion import spelt_out
from lorekeeper.search.fusion import NOTES
from lorekeeper.search.languages import language_of
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key
from lorekeeper.search.versions import name_label, place_labels
from lorekeeper.text.aliases import (
    MAX_SENTENCE_WORDS,
    SHOWING,
    Alias,
    alias_names,
    aliases_of,
    aliases_with,
    aliases_within,
)
from lorekeeper.text.keywords import ASKING_WORDS, STOP_WORDS, content_words, subject_words
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name, has_numbers, nearest, unnumbered
from lorekeeper.text.similar import SimilarTexts
from lorekeeper.text.stems import corrected, names_of_stems, names_with_words, nearest_words, stems
from lorekeeper.where import MAX_LENGTH

Filters = Mapping[str, object]

K = TypeVar("K")

ALIAS_SIMILARITY = 0.99
"""Similarity of an entry to one of its other names, and to other forms of the words of its name: one that is itself called so is
nearer."""

WITHIN_SIMILARITY = 0.9
"""Similarity of an entry to a sentence that has one of its other names in it."""

MISSPELT_SIMILARITY = 0.9
"""Least similarity of a name to a text that is hardly misspelt, about one wrong letter in ten: to one of words that the library
has, to the name of something else, and to one of several wordings.

Who words a question several times seldom misspells a name, and words that the library has are seldom misspelt ones: what is
less alike is another name, as "Power Caster" is for "war caster" and Poison for "potion". nDCG@10 of several wordings is 0.913
instead of 0.912, without phrases 0.879 instead of 0.877; other graded questions are as before."""

PART_SIMILARITY = 0.9
"""Similarity of a note to what its name begins with, or has among other words: "Davrith" of "Davrith - Investigator"."""

MAX_PART_WORDS, MAX_PARTIAL_NAMES = 3, 4
"""Most words of such a part, and most names that have it: what many have names none of them."""

MAX_RANKED_NAMES = 8
"""Most names of a library that one name is understood as in a ranked search."""

MAX_NAME_WORDS = 5
"""Words of the longest name that is compared with others word by word: longer texts are sentences."""

_OWNED, _ASKING = re.compile(r"['’]s\b"), sorted(STOP_WORDS | ASKING_WORDS)

MIN_PART_CHARS = 4
"""Fewest characters that are looked for within other names."""

MAX_NAMED = 4
"""Most names in a note."""


@dataclass(frozen=True)
class Understood:
    """How a lookup by name is answered.

    Attributes:
        lookups: types and the filters to list entries by, one after the other; no entry meets two of them.
        note: what the name was understood as, None if it is taken as written.
        approximate: whether nothing in the library has the name, and what is nearest to it is shown.
        ranked: the filters of a ranked search among the entries of the name, if no name has it as it is written.
    """

    lookups: Sequence[tuple[str, Filters]]
    note: str | None = None
    approximate: bool = False
    ranked: Filters | None = None

    @property
    def name(self) -> str | None:
        """The folded name that is certainly meant instead of the one that was asked for; None if none is, or several."""
        names = [name for _, filters in self.lookups for name in _listed(filters.get(WHOLE_NAME.name))]
        return names[0] if len({canonical_name(name) for name in names}) == 1 else None


def _listed(names: object) -> list[str]:
    return names if isinstance(names, list) else []


@dataclass(frozen=True)
class _Group:
    """Folded names of a type that a name is understood as, for one reason, which a note may give."""

    entity_type: str
    names: list[str]
    reason: str | None = None


_NEVER = "\n"
"""No folded name has it."""

_Find = Callable[[str, str, NameList], Iterable[_Group]]


async def understand(cache: SearchCache, types: Sequence[str], filters: Filters, scopes: Scopes) -> Understood:
    """What to list for the filter ``name``: whole names, beginnings and parts, then other names, stems, misspellings.

    Other names and stems follow unless the library has the very name; misspellings are looked for if nothing in the library is
    better, whatever the other filters.
    """
    plain: list[tuple[str, Filters]] = [(entity_type, filters) for entity_type in types]
    written = filters.get(NAME.name)
    wanted = fold(written) if isinstance(written, str) else ""
    names = {t: NameList.of(await cache.names(t)) for t in types} if wanted else {}
    if not any(names.values()):
        return Understood(plain)
    plain += await aliased(cache, types, wanted, filters)
    if any(wanted in known for known in names.values()):
        return Understood(plain)
    named = await apart(_each, _named, wanted, names)
    is_part = any(True for known in names.values() for _ in known.places(wanted))
    approximate = not (named or is_part or len(plain) > len(types))
    if approximate and not is_closed(wanted):
        named = await _similar(cache, wanted, names, filters, scopes)
    reasons = dict.fromkeys(group.reason for group in named if group.reason)
    subject = COLLECTIONS[types[0]].label if len(types) == 1 else "entry"
    missing = [f"No {subject} is called '{one_line(str(written))}'"] if approximate and named else []
    said = "; ".join([*missing, *reasons])
    said = said[:1].upper() + said[1:] if said.startswith(SHOWING) else said
    note = f"{said}." if said else None
    further = [*plain[len(types) :], *(lookup for group in named for lookup in _lookups(group, filters))]
    whole = [name for _, other in further for name in _listed(other.get(WHOLE_NAME.name))]
    of_alias = [other for _, other in further if WHOLE_NAME.name not in other] if len(types) == 1 else []
    ranked = next(iter(of_alias), _whole_names(filters, whole[:MAX_VALUES]) if whole else None)
    return Understood([*plain[: len(types)], *further], note, approximate, None if is_part else ranked)


async def is_known(cache: SearchCache, types: Sequence[str], name: str) -> bool:
    """Whether an entry of a library is called so, by a part of its name or by another name."""
    wanted = fold(name)
    known = {entity_type: NameList.of(await cache.names(entity_type)) for entity_type in types}
    return any(
        next(names.places(wanted), None) is not None or _present(aliases_of(entity_type, wanted), names)
        for entity_type, names in known.items()
    )


async def is_called(cache: SearchCache, entity_type: str, text: str) -> bool:
    """Whether an entry of a type has a text for its name, in any form of its words."""
    return bool(names_of_stems(fold(text), NameList.of(await cache.names(entity_type)))[0])


async def rank(
    cache: SearchCache, entity_type: str, wordings: Sequence[str], documents: Documents = None, **filters: object
) -> list[Ranked]:
    """The entities whose names one of the wordings of a query is, best first.

    They are found as by `SearchCache.rank_names`, and by other names and stems unless an entity has the very name; notes also
    by the sessions that they are of.
    """
    found: list[Ranked] = []
    inexact: list[str] = []
    for wording in wordings:
        ranked = await cache.rank_names(entity_type, wording, documents, **filters)
        found += ranked
        if not ranked or ranked[0].score < 1:
            inexact.append(fold(wording))
    found += await rank_aliases(cache, entity_type, wordings, documents, filters)
    found += await sessions.rank(cache, wordings, documents, **filters) if entity_type == NOTES else ()
    known = NameList.of(await cache.names(entity_type) if inexact else ())
    for name, similarity in await apart(_all_understood_as, entity_type, inexact, known):
        same = await cache.rank_names(entity_type, name, documents, **filters)
        found += [hit._replace(score=similarity) for hit in same if hit.score == 1]
    return best_first(found)


async def within(
    cache: SearchCache,
    entity_type: str,
    text: str,
    plain: Collection[str],
    documents: Documents = None,
    **filters: object,
) -> list[Ranked]:
    """The entities that a sentence in another language names among other words, in English or by a translation, best first.

    Args:
        cache: to look in.
        entity_type: the type.
        text: the sentence.
        plain: words of its language that are no names by themselves.
        documents: to look in; None for all.
        **filters: further ones.
    """
    known, folded = NameList.of(await cache.names(entity_type)), fold(text)
    names = _present(aliases_within(entity_type, folded, foreign=True), known)
    words = folded.split()[:MAX_SENTENCE_WORDS]
    for start in range(len(words)):
        for length in range(1, MAX_NAME_WORDS + 1):
            name = " ".join(words[start : start + length])
            if name in known and name not in plain and len(name) >= MIN_PART_CHARS:
                names.append(name)
    found: list[Ranked] = []
    for name in dict.fromkeys(names):
        same = await cache.rank_names(entity_type, name, documents, **filters)
        found += [hit._replace(score=WITHIN_SIMILARITY) for hit in same if hit.score == 1]
    return best_first(found)


async def certain(
    cache: SearchCache,
    types: Sequence[str],
    wordings: Sequence[str],
    ranking: Mapping[K, Ranked],
    typed: str | None = None,
) -> dict[K, Ranked]:
    """A ranking over several types without names that are merely similar: of what is called so, or of what is not misspelt.

    Names with words that begin with what is ``typed`` so far stay.
    """
    is_meant = any(hit.score >= ALIAS_SIMILARITY for hit in ranking.values())
    if ranking and not is_meant and len(wordings) == 1:
        is_meant = await known_words(cache, types, wordings[0]) == set(content_words(fold(wordings[0])))
    least = MISSPELT_SIMILARITY if is_meant or len(wordings) > 1 else 0.0
    begun = f" {fold(typed)}" if typed else _NEVER
    return {key: hit for key, hit in ranking.items() if hit.score >= least or begun in f" {fold(hit.name)}"}


async def respelt(cache: SearchCache, types: Sequence[str], text: str) -> dict[str, str]:
    """The words of a text that no entry has, in any form, and that are nearly a word of a name, with that word.

    A text in another language, or of which most words are unknown and near to none, is misspelt in none.
    """
    folded = fold(_OWNED.sub("", spelt_out(text)))
    words = content_words(folded)
    occurring = await known_words(cache, types, folded)
    unknown = [word for word in dict.fromkeys(words) if word not in occurring]
    if language_of(text, occurring, LARGE_LIBRARY):
        return {}
    misspelt = [
        word for word in unknown if len(word) >= MIN_PART_CHARS and word.isalpha() and not closed_name(word, ())
    ]
    names = [NameList.of(await cache.names(name)) for name in types] if misspelt else []
    meant: dict[str, str] = {}
    for word in misspelt:
        alike = [each for known in names for each in nearest_words(word, known, word[0])]
        alike = [*nearest(word, _ASKING), *alike]
        best = max((similar for _, similar in alike), default=0.0)
        nearest_ones = {name for name, similar in alike if similar == best}
        is_meant = best >= MISSPELT and len(nearest_ones) == 1 and all(map(str.isalpha, nearest_ones))
        own = dict.fromkeys([word], *nearest_ones) if is_meant else {}  # of two names both are looked for as they are
        meant |= _in_a_name(words, words.index(word), names) or own
    return meant if len(set(unknown) - meant.keys()) <= max(1, len(words) / 2) else {}


def _in_a_name(words: Sequence[str], at: int, names: Sequence[NameList]) -> dict[str, str]:
    """The words of a name of two that one of some words and the one beside it nearly are, by those that are spelt otherwise."""
    pairs = (words[start : start + 2] for start in (at - 1, at) if 0 <= start < len(words) - 1)
    alike = [(pair, *each) for pair in pairs for known in names for each in nearest(" ".join(pair), known)]
    pair, name, similarity = max(alike, key=lambda each: each[2], default=((), "", 0.0))
    parts = name.split() if similarity >= MISSPELT else []
    return {word: part for word, part in zip(pair, parts, strict=False) if word != part and len(parts) == len(pair)}


def best_first(found: Iterable[Ranked]) -> list[Ranked]:
    """Hits of several searches as one ranking: each entity once, with the first of its highest scores."""
    best: dict[Identity, Ranked] = {}
    for hit in found:
        if hit.identity not in best or best[hit.identity].score < hit.score:
            best[hit.identity] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.identity))


def _all_understood_as(entity_type: str, texts: Sequence[str], known: NameList) -> list[tuple[str, float]]:
    """Names of a library that one of some folded queries is, and how similar they count, a few for each query."""
    return [name for text in texts for name in _understood_as(entity_type, text, known)[:MAX_RANKED_NAMES]]


def _understood_as(entity_type: str, text: str, known: NameList) -> list[tuple[str, float]]:
    """Names of a library that a folded query is, and how similar they count."""
    aliases = aliases_of(entity_type, text)
    if aliases:
        return [(name, ALIAS_SIMILARITY) for name in _present(aliases, known)]
    if len(content_words(text)) <= MAX_NAME_WORDS:
        whole, _ = names_of_stems(text, known)
        if whole:
            return [(name, ALIAS_SIMILARITY) for name in whole]
    if entity_type == NOTES and (partial := _having(text, known)):
        return [(name, PART_SIMILARITY) for name in partial]
    return [(name, WITHIN_SIMILARITY) for name in _present(aliases_within(entity_type, text), known)]


def _having(text: str, known: NameList) -> list[str]:
    """The few names that have all words of what a question is about, and others."""
    subject = subject_words(text)
    if not 0 < len(subject) <= MAX_PART_WORDS:
        return []
    _, partial = names_of_stems(" ".join(subject), known)
    return partial if len(partial) <= MAX_PARTIAL_NAMES else []


def _named(entity_type: str, wanted: str, known: NameList) -> Iterator[_Group]:
    """Names that a name certainly means, apart from those that contain it."""
    aliases = [alias for alias in aliases_of(entity_type, wanted) if _present([alias], known)]
    whole = [name for name in _present(aliases, known) if wanted not in name]
    if whole:
        yield _Group(entity_type, whole, _explanation(aliases))
    for names in names_of_stems(wanted, known):
        others = [name for name in names if wanted not in name and name not in whole]
        if others:
            yield _Group(entity_type, others)


def _each(find: _Find, wanted: str, names: Mapping[str, NameList]) -> list[_Group]:
    """What a function finds in the names of each type."""
    return [group for entity_type, known in names.items() for group in find(entity_type, wanted, known)]


async def _similar(
    cache: SearchCache, wanted: str, names: Mapping[str, NameList], filters: Filters, scopes: Scopes
) -> list[_Group]:
    """What a name that nothing has may mean: a part of another name, the nearest name, or misspelt words of a name."""
    parts = await apart(_each, _parts, wanted, names)
    if parts:
        return parts
    close = [group for t in names for group in await _nearest(cache, t, wanted, filters, scopes)]
    if close:
        best = max(similarity for similarity, _ in close)
        return [group for similarity, group in close if similarity == best]
    return await apart(_each, _corrected, wanted, names)


def _parts(entity_type: str, wanted: str, known: NameList) -> Iterator[_Group]:
    aliases = aliases_with(entity_type, wanted) if len(wanted) >= MIN_PART_CHARS else []
    names = _present(aliases, known)
    if names:
        languages = sorted({alias.language for alias in aliases})
        whose = f"{languages[0]} names" if languages[0] else "names in the books"
        yield _Group(entity_type, names, f"showing entries whose {whose} have it")


async def _nearest(
    cache: SearchCache, entity_type: str, wanted: str, filters: Filters, scopes: Scopes
) -> list[tuple[float, _Group]]:
    """The nearest name under the other filters, or the entries whose other name is nearer, with its similarity."""
    others = {key: value for key, value in filters.items() if key != NAME.name}
    similar = await cache.rank_names(entity_type, wanted, scopes[entity_type], **others)
    ranked = [hit for hit in similar if has_numbers(hit.name, wanted)]
    best = ranked[0].score if ranked else 0.0
    close = [hit for hit in await apart(nearest, wanted, alias_names(entity_type)) if has_numbers(hit[0], wanted)]
    aliases = [alias for name, _ in close for alias in aliases_of(entity_type, name)]
    present = _present(aliases, NameList.of(await cache.names(entity_type)))
    if present and close[0][1] > best and not {hit.name for hit in ranked}.issuperset(present):
        told = _explanation(aliases)
        shown = f": {told.removeprefix(SHOWING)}" if told.startswith(SHOWING) else f"; {told}"
        return [(close[0][1], _Group(entity_type, present, f"showing the nearest name{shown}"))]
    own = await nearest_alias(cache, entity_type, wanted, scopes[entity_type], others)
    if own and own[0] > best and has_numbers(own[2], wanted):
        return [(own[0], _Group(entity_type, own[1], f"showing the nearest name: {own[2]}"))]
    names = list(dict.fromkeys(hit.name for hit in ranked if hit.score == best))
    if not names:
        return await _numbered(cache, entity_type, wanted, similar)
    first = await cache.load(entity_type, [ranked[0].identity])
    title = first[0].name if first else names[0]
    return [(best, _Group(entity_type, names, f"showing the nearest name: {title}"))]


async def _numbered(
    cache: SearchCache, entity_type: str, wanted: str, similar: Sequence[Ranked]
) -> list[tuple[float, _Group]]:
    """Names with the numbers of one and else only words of it, or the kind of what is similar: "Weapon, +2" of "+2 longbow"."""
    other = next(iter(await cache.load(entity_type, [similar[0].identity])), None) if similar else None
    if other is None:
        return []
    words = stems(unnumbered(f"{wanted} {fold(other.kind or '')}"))
    known = await cache.names(entity_type)
    names = [name for name in known if has_numbers(name, wanted) and frozenset() < stems(unnumbered(name)) <= words]
    if not names:
        return []
    reason = f"showing what has its number; {other.name} is another thing"
    return [(similar[0].score, _Group(entity_type, names, reason))]


def _corrected(entity_type: str, wanted: str, known: NameList) -> Iterator[_Group]:
    text = corrected(wanted, known) if len(wanted.split()) <= MAX_NAME_WORDS else None
    names = names_with_words(text, known) if text else []
    if names:
        yield _Group(entity_type, names, f"showing names with the words '{text}'")


def _present(aliases: Iterable[Alias], known: NameList) -> list[str]:
    """The names of a library that aliases stand for: the English name, else its variants ("Feather Token (Anchor)")."""
    present: dict[str, None] = {}
    for name in dict.fromkeys(fold(alias.name) for alias in aliases):
        variants = [name] if name in known else known.beginning_with(f"{name} ")
        present |= dict.fromkeys(variants)
    return list(present)


def _explanation(aliases: Sequence[Alias]) -> str:
    """What one other name stands for; languages in which it is the same stand together."""
    named: dict[str, list[Alias]] = {}
    for alias in aliases:
        named.setdefault(alias.name, []).append(alias)
    return ", ".join(_together(same).explanation for same in list(named.values())[:MAX_NAMED])


def _together(same: Sequence[Alias]) -> Alias:
    """Aliases of one entry as one; a name of the books is no translation."""
    languages = dict.fromkeys(alias.language for alias in same)
    return same[0]._replace(language="" if "" in languages else " and ".join(languages))


def _lookups(group: _Group, filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Filters for the names of a group instead of the name that was asked for."""
    names = list(dict.fromkeys(group.names))
    for start in range(0, len(names), MAX_VALUES):
        yield group.entity_type, _whole_names(filters, names[start : start + MAX_VALUES])


def _whole_names(filters: Filters, names: list[str]) -> Filters:
    others = {key: value for key, value in filters.items() if key != NAME.name}
    return {**others, WHOLE_NAME.name: names}


OWN_ALIAS_SIMILARITY = 0.99
"""Share of its similarity that an alias keeps: an entry that is itself called so is nearer."""

MAX_ALIASES = 20
"""Most similar aliases whose entries are ranked."""


@dataclass(frozen=True)
class Aliases:
    """The aliases of a type.

    Attributes:
        names: those of the entries themselves, as the cache gave them: the same list until the type changes.
        folded: the aliases, folded, in order.
    """

    names: Sequence[str] = ()
    folded: Sequence[str] = ()

    @cached_property
    def _spelt(self) -> SimilarTexts:
        return SimilarTexts.of(self.folded)

    def similar(self, text: str, limit: int) -> list[tuple[str, float]]:
        """The aliases most similar to a folded text, and their similarity."""
        return [(self.folded[place], similarity) for place, similarity in self._spelt.like(text, limit)]


_KNOWN: WeakKeyDictionary[SearchCache, dict[str, Aliases]] = WeakKeyDictionary()
"""The aliases of the types of each cache, as they were last read: counting them reads the whole table."""


def has_aliases(entity_type: str) -> bool:
    """Whether entries of a type have aliases of their own."""
    return ALIASES in COLLECTIONS[entity_type].filters


async def known_aliases(cache: SearchCache, entity_type: str) -> Aliases:
    """All aliases of a type; none of a type that has none."""
    if not has_aliases(entity_type):
        return Aliases()
    names, of_cache = await cache.names(entity_type), _KNOWN.setdefault(cache, {})
    known = of_cache.get(entity_type)
    if known is None or known.names is not names:
        folded = sorted(map(str, (await cache.count_values(entity_type, ALIASES)).counts))
        known = of_cache[entity_type] = Aliases(names, folded)
    return known


async def aliased(
    cache: SearchCache, types: Sequence[str], wanted: str, filters: Filters
) -> list[tuple[str, dict[str, Any]]]:
    """Filters for the entries of which an alias, but not the name, contains a folded text: those called so come first."""
    found: list[tuple[str, dict[str, Any]]] = []
    for entity_type in types:
        known = () if ALIASES in filters else (await known_aliases(cache, entity_type)).folded
        others = [alias for alias in known if wanted in alias and alias != wanted]
        found += _alias_lookups(entity_type, filters, wanted, [wanted] if wanted in known else [], others)
    return found


def _alias_lookups(
    entity_type: str, filters: Filters, wanted: str, whole: list[str], others: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Filters for aliases that are a text, then for others that contain it; no entry meets two of them."""
    remaining = {key: value for key, value in filters.items() if key != NAME.name}
    excluded = [f'-name:"{wanted}"']
    for aliases in (whole, others[:MAX_VALUES]):
        tests = " ".join([*([str(filters[WHERE])] if filters.get(WHERE) else []), *excluded])
        if aliases and len(tests) <= MAX_LENGTH:
            yield entity_type, {**remaining, ALIASES: aliases, WHERE: tests}
        excluded += [f'-{ALIASES}:"{alias}"' for alias in aliases]


async def rank_aliases(
    cache: SearchCache, entity_type: str, wordings: Sequence[str], documents: Documents, filters: Filters
) -> list[Ranked]:
    """The entries of which an alias is similar to one of the wordings of a query, with that similarity."""
    known = Aliases() if ALIASES in filters else await known_aliases(cache, entity_type)
    best: dict[str, float] = {}
    for wording in map(fold, wordings):
        for alias, similarity in known.similar(wording, MAX_ALIASES):
            best[alias] = max(best.get(alias, 0.0), similarity)
    if not best:
        return []
    asked: dict[str, Any] = {**filters, ALIASES: list(best)[:MAX_VALUES]}
    hits = []
    for entity in await cache.get_entities(entity_type, documents, limit=MAX_VALUES, **asked):
        own = entity.fields.get(ALIASES)
        score = max((best.get(alias, 0.0) for alias in own), default=0.0) if isinstance(own, tuple) else 0.0
        hits.append(Ranked(entity.identity, entity.name, score * OWN_ALIAS_SIMILARITY))
    return hits


async def nearest_alias(
    cache: SearchCache, entity_type: str, wanted: str, documents: Documents, filters: Filters
) -> tuple[float, list[str], str] | None:
    """The alias nearest to a folded text: its similarity, the folded names of its entries, and itself; None for none."""
    known = Aliases() if ALIASES in filters else await known_aliases(cache, entity_type)
    close = known.similar(wanted, 1)
    if not close:
        return None
    (alias, similarity), *_ = close
    asked: dict[str, Any] = {**filters, ALIASES: alias}
    entities = await cache.get_entities(entity_type, documents, limit=MAX_VALUES, **asked)
    names = list(dict.fromkeys(fold(entity.name) for entity in entities))
    return (similarity * OWN_ALIAS_SIMILARITY, names, alias) if names else None


LEAST_TYPED, MOST_TYPED = 0.7, 0.98
"""Similarities of a name of which little was typed, and of one of which nearly all was: a whole name is nearer."""

MOST_BEGUN = 10
"""Most entries of a type whose names are taken to be those that somebody is typing."""


async def completed(cache: SearchCache, types: Sequence[str], text: str) -> str:
    """A text whose last word is one of the library: as it is, or the word of names that most of them have; or without it.

    It is what meaning and keywords are searched for: the beginning of a word has neither.
    """
    *whole, last = fold(text).split() or [""]
    if not last or last in STOP_WORDS or any([await cache.word_counts(name, [last]) for name in types]):
        return text
    common: Counter[str] = Counter()
    for entity_type in types:
        names = NameList.of(await cache.names(entity_type))
        common.update({word: len(names.words[word]) for word in names.words_beginning_with(last)})
    words = [*whole, *(word for word, _ in common.most_common(1))]
    return " ".join(words) or text


async def rank_typed(
    cache: SearchCache, entity_type: str, wordings: Sequence[str], documents: Documents = None, **filters: object
) -> list[Ranked]:
    """The entities whose names are the first of some wordings or begin so, or are one of the others, best first."""
    begun = await cache.rank_beginnings(entity_type, wordings[0], documents, **filters)
    named = await rank(cache, entity_type, list(dict.fromkeys(wordings)), documents, **filters)
    typed = [hit._replace(score=LEAST_TYPED + (MOST_TYPED - LEAST_TYPED) * hit.score) for hit in begun[:MOST_BEGUN]]
    return best_first([*typed, *named])


async def begun(cache: SearchCache, documents: DocumentRegistry, query: Query, first: str = "") -> list[list[Key]]:
    """The entries whose names a text begins, best first; the versions of one entry together, the preferred one first.

    Args:
        cache: has the names.
        documents: of the same cache.
        query: its text is what was typed so far; types, filters and documents narrow the search.
        first: uri of the entry that led the list at the key before: it still does if the text begins its name too.
    """
    query, text = query.resolved(), fold(query.text or "")
    scopes, order = await documents.scopes(query.types, query.documents), await documents.order(query.edition)
    places = {key: place for place, key in enumerate(order)}
    found: dict[Key, Ranked] = {}
    for entity_type in query.types:
        hits = await cache.rank_beginnings(entity_type, text, scopes[entity_type], **query.filters)
        found |= {(entity_type, hit.identity): hit for hit in hits}
    apart = await place_labels(cache, found, found, scopes)
    groups: dict[Hashable, list[tuple[float, int, str, Key]]] = {}
    for key, hit in found.items():
        entry = (-hit.score, places.get(hit.identity[0], len(places)), fold(hit.name), key)
        groups.setdefault(apart.get(key) or name_label(key, hit.name), []).append(entry)
    ranked = sorted(
        (sorted(group, key=lambda each: each[1:3]) for group in groups.values()),
        key=lambda group: (min(each[0] for each in group), *group[0][1:3]),
    )
    stays = [
        group
        for group in ranked
        if group[0][2].startswith(text) and any(uri_of(kind, *identity) == first for *_, (kind, identity) in group)
    ]
    others = (group for group in ranked if group not in stays)
    return [[key for *_, key in group] for group in (*stays, *others)]
