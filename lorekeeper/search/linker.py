"""What a question names: "stats of a wolf" the wolf, "what level is fireball" the spell, "sneak attack" the rogue, who has it.

One rule for all of it: the names of an entry, and of a class those of its features, are compared with a wording. If what is left of
that beside the names in it only asks for what entries have, or is a number, the entries are meant, and count as named. One that
tells what is left counts more: "when does a fighter get extra attack" asks the fighter. If more is left of a short wording, they
rank higher by keywords, by the share of the wording that the name is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as cached
from typing import Any

from lorekeeper.cache.protocol import Documents, Ranked, SearchCache
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.folding import fold
from lorekeeper.search.doubt import LARGE_LIBRARY
from lorekeeper.search.fusion import CAMPAIGN, NOTES, corpus_name
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.text.evidence import read
from lorekeeper.text.keywords import ASKING_WORDS, KeywordQuery, content_words
from lorekeeper.text.matching import possible
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name
from lorekeeper.text.stems import BEGINNING, stems
from lorekeeper.words import listed, listed_words

SHORT = 3
"""Most words of a wording in which a part of it raises its entry: with 4, nDCG@10 over books falls from 0.831 to 0.828."""

COMMON = 0.03
"""Share of the entries from which on a word is too common to be a name by itself, but that of a creature, which is no verb."""

MAX_READ = 24
"""Most entries in which the name of a feature is looked for."""

MAX_HAVING = 6
"""Most entries that have a feature whose name says something: all have "Equipment"."""

AS_NAMED = 0.9
"""How similar the name of an entry counts that a question is about: one that is itself called so is nearer."""

OF_PART = 0.97
"""The same of one that tells all else that the question says: it is no question about the rule of that name."""

OPTIONS = "character_options"
"""The type of classes, whose features come level by level."""

_NUMBER = re.compile(r"\d+(?:st|nd|rd|th)?")

_WORD, _OWNED = re.compile(r"\w+"), re.compile(r"['’]s\b")


def _listed(what: str) -> Sequence[str]:
    """The words of the table that say something; "column" is what tables of classes have by level."""
    return listed(f"word {what}")


@cached
def asking_stems() -> frozenset[str]:
    """The stems of words that only ask, as "how does surprise work" asks of surprise, and of what fields of entries of books are
    called: "armor class" is one."""
    fields = (field for name, of in COLLECTIONS.items() if name not in CAMPAIGN for field in of.filters.values())
    called = (" ".join([field.name, *field.tool]).replace("_", " ") for field in fields)
    return stems(fold(" ".join([*_listed("asking"), *ASKING_WORDS, *called])))


@cached
def _beside_names() -> frozenset[str]:
    """The same, and who does it: "what level do wizards get fireball" is about the fireball."""
    return asking_stems() | stems(" ".join(_listed("class")))


@cached
def _columns() -> frozenset[str]:
    """The stems of what classes have by level."""
    return stems(" ".join(_listed("column")))


@dataclass(frozen=True)
class _Wording:
    """A wording as it is compared with names; all words are stems.

    Attributes:
        words: those of its content.
        common: those that many entries have.
        about: those of what it asks something of, if it says nothing else.
        of_several: whether it asks for entries of a kind.
        text: as it is written, folded.
    """

    words: frozenset[str]
    common: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    of_several: bool = False
    text: str = ""

    @classmethod
    def of(cls, text: str, is_common: Callable[[str], bool] = lambda _: False) -> _Wording:
        common = stems(" ".join(filter(is_common, content_words(fold(text)))))
        words = _WORD.findall(text.casefold())
        of_several = not {*words}.isdisjoint(listed_words("asked several"))
        return cls(
            stems(_words(text)), common, stems(" ".join(asked_about(_NUMBER.sub("", text)))), of_several, fold(text)
        )

    def is_about(self, own: frozenset[str], *others: frozenset[str], whole: bool = False) -> bool:
        """Whether what is left of the wording beside names only asks; the first is all of it only if ``whole`` allows that."""
        rest = self.words - own
        return bool(rest or whole) and all(
            w in _beside_names() or _NUMBER.fullmatch(w) for w in rest.difference(*others)
        )

    def may_name(self, own: frozenset[str], of: str = "") -> bool:
        """Whether it has a name, of an entry of a type, that tells one entry from others; a creature's is no verb."""
        is_common = of != "creatures" and len(own) == 1 and own <= self.common
        if self.of_several or not own <= self.words or is_common:
            return False
        return not own <= _beside_names()

    def asks_for_part(self, own: frozenset[str], of: str, headings: Iterable[frozenset[str]], passage: str) -> bool:
        """Whether it has the name of an entry, of a type, and says beside it only what that tells: an option by its headings, and
        at a level by what classes have by level; another entry in a passage."""
        rest, levels = self.words - own - _beside_names(), frozenset(filter(_NUMBER.fullmatch, self.words))
        if not (rest and own and own < self.words and (of == OPTIONS or self.may_name(own, of))):
            return False
        columns = levels and levels | _columns()
        return rest <= (columns.union(*headings) if of == OPTIONS else stems(_NUMBER.sub("", fold(passage))))

    def subjects(self, names: Iterable[tuple[frozenset[str], str]]) -> set[frozenset[str]]:
        """Those of some names, of types, of whose entries it asks something: the longest, beside each other."""
        found = {own for own, of in names if self.may_name(own, of)}
        longest = {own for own in found if not any(own < other for other in found)}  # a healing word is no word
        return {own for own in longest if self.is_about(own, *longest)}

    def share(self, own: frozenset[str], name: str = "") -> float:
        """The share of a short wording that a name is which is only a part of it; words that only ask do not count beside one that
        stands in it as it is."""
        left_out = asking_stems() if len(own) > 1 and name and f" {name} " in f" {self.text} " else ()
        subject = self.about or frozenset(w for w in self.words.difference(left_out) if not _NUMBER.fullmatch(w))
        is_part = bool(own) and own < self.words and own <= subject and len(subject) <= SHORT
        return len(own) / len(subject) if is_part else 0.0


def with_linked(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with the entries of books in the heads that wordings name.

    Parts of a wording raise entries only if it is the only one: who writes several knows that a name finds its entry. Who asks for
    a type names no entry of others, but what has it: "what weapons can a rogue use" asks the rogue.
    """
    number = COMMON * max(found.count, LARGE_LIBRARY)
    asked = [_Wording.of(wording, lambda word: found.occurring.get(word, 0) > number) for wording in wordings]
    only = asked[0] if len(asked) == 1 else None
    beginnings = {own[:BEGINNING] for each in asked for own in each.words}
    is_owned = any(_OWNED.search(wording) for wording in wordings)  # a goblin's armor is the goblin's
    asked_for = found.asked.name if found.asked and found.asked.name != OPTIONS and not is_owned else ""
    names = {
        key: stems(_words(found.all_ranked[key].name))
        for key in found.heads
        if key[0] not in CAMPAIGN
        and (not asked_for or key[0] in (asked_for, OPTIONS))
        and possible(beginnings, found.all_ranked[key].name)
    }
    subjects = set[frozenset[str]]().union(
        *(each.subjects((own, key[0]) for key, own in names.items()) for each in asked)
    )
    shorter = {own for own in names.values() for longer in subjects if own < longer}
    named: dict[Key, Ranked] = {}
    shares: dict[Key, float] = {}
    for key in found.heads:
        hit, own = found.all_ranked[key], names.get(key, frozenset[str]())
        headings = _headings(hit) if key[0] == OPTIONS and only else set[frozenset[str]]()
        is_part = own not in shorter and only is not None and only.asks_for_part(own, key[0], headings, hit.passage)
        if own in subjects or is_part:
            named[key] = hit._replace(score=OF_PART if is_part else AS_NAMED)
        called = stems(_words(hit.name)) if key[0] == NOTES else own
        parts = [heading for heading in headings if len(heading) > 1]
        if only and (share := max(only.share(called, fold(hit.name)), *map(only.share, parts), 0.0)):
            shares[key] = share
    worded = [(corpus_name(key[0]), hit.score) for key, hit in found.keyword.items()]
    best = dict(sorted(worded))  # of each the highest score
    raised = found.with_further({key: best.get(corpus_name(key[0]), 0.0) * share for key, share in shares.items()})
    return raised.with_names({key: hit for key, hit in named.items() if key not in found.names})


async def with_features(
    cache: SearchCache, found: Retrieved, text: str, documents: Documents, **filters: Any
) -> Retrieved:
    """What the retrievers found, with the few options that have what a question is about for the name of a feature.

    That is the heading of a section, its part behind a colon, or what a paragraph begins with: "turn undead" is the cleric's.
    """
    folded, about = fold(text), [word for word in _about(text) if not _NUMBER.fullmatch(word)]
    own, asked = stems(" ".join(about)), _Wording.of(text)
    if not own or any(own <= stems(_words(hit.name)) for hit in found.names.values()):
        return found
    query = KeywordQuery((), phrases=(folded[folded.find(about[0]) : folded.rfind(about[-1]) + len(about[-1])],))
    hits = await cache.rank_keyword(OPTIONS, query, MAX_READ, documents, **filters)
    options = {entity.identity: entity for entity in await cache.load(OPTIONS, [hit.identity for hit in hits])}
    having = {
        (OPTIONS, hit.identity): hit._replace(score=OF_PART)
        for hit in hits
        if any(asked.may_name(term) and asked.is_about(term, whole=True) for term in _terms(options[hit.identity]))
    }
    return (
        found.with_names(having) if len({canonical_name(hit.name) for hit in having.values()}) <= MAX_HAVING else found
    )


def _terms(entity: Entity) -> Iterator[frozenset[str]]:
    """What an entry has, in stems: headings of sections, their parts behind a colon, the beginnings of paragraphs."""
    for section in read(entity):
        yield from (stems(fold(heading)) for heading in {section.heading, section.heading.rpartition(": ")[2]})
        yield from (stems(fold(line.partition(". ")[0])) for line in section.text.split("\n"))


def without_asking(text: str) -> str:
    """A question without the words that only ask; as it is if it has no others."""
    return " ".join(_about(text)) or text


def _about(text: str) -> list[str]:
    """The content words of a question that do not only ask."""
    return [word for word in content_words(fold(text)) if not stems(word) <= asking_stems()]


def asked_about(text: str) -> list[str]:
    """The one or two words together that a question is about which says nothing else: "flanking" of "how does flanking work"."""
    folded, about = fold(text), _about(text)
    if not {*folded.split()}.isdisjoint(listed_words("asked teller")):
        return []
    is_question = len(about) < len(content_words(folded)) or folded.startswith(("how ", "what "))
    is_name = " ".join(about) in folded and all(map(str.isalpha, about))
    return about if is_question and is_name and len(about) in (1, 2) else []


def is_about_one(text: str, known: NameList) -> bool:
    """Whether a question asks something of entries that it names word by word: "is fireball a cleric spell"."""
    folded = f" {fold(text)} "
    names = (known[place] for place in known.with_words(content_words(folded)))
    return bool(_Wording.of(text).subjects((stems(name), "") for name in names if f" {name} " in folded))


def _headings(hit: Ranked) -> set[frozenset[str]]:
    """The words of the headings of the sections that are near, also within the nearest passage, as stems."""
    within = (line.partition(": ")[0] for line in hit.passage.split("\n") if ": " in line)
    return {stems(fold(heading)) for heading in {hit.section, *(heading for heading, _ in hit.near), *within}}


def _words(text: str) -> str:
    """A text, folded, without the "'s" of its words: "goblin's armor class" is about a goblin."""
    return fold(_OWNED.sub("", text))
