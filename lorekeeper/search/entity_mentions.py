"""What a question names counts more by keywords: "stats of a wolf" asks for the wolf, "sneak attack" for the rogue, who has a
feature of that name.

Most entries that are near such a question have the name too, or are named after the rest of it. Graded questions, which
paraphrase, are answered as before: over notes nDCG@10 is 0.709 either way, beside all books 0.628 instead of 0.625, over books
0.831 either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from lorekeeper.cache.protocol import Ranked
from lorekeeper.folding import fold
from lorekeeper.search.fusion import BOOKS, CAMPAIGN, FUSED_BY_SCORE, first
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.text.keywords import content_words, subject_words
from lorekeeper.text.matching import possible
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name
from lorekeeper.text.stems import BEGINNING, stems

SHORT = 3
"""Most content words of a wording in which names of entries of books count:
with 4, nDCG@10 over books falls from 0.831 to 0.828."""

_ASKING = """
    about access available describe detail earliest explain find get gain happen have know learn mean need pick rule stat statistic
    many much soon take tell type use work
    ac attunement cast cantrip challenge class component concentration cost cr damage duration dc hp level list number price range
    rarity rating ritual save school slot speed spell weigh weight
    artificer barbarian bard cleric druid fighter monk paladin ranger rogue sorcerer warlock wizard
    """
"""Words that only ask for what is named beside them, or for what it has: "how does surprise work" is about surprise, and "what
level do wizards get fireball" about the fireball."""

COMMON = 0.03
"""Share of the entries from which on a word is too common to be a name by itself: "who can fly" may not ask for the spell."""

OPTIONS = "character_options"
"""The type of classes, whose features come level by level."""

_PROGRESS = "level feature features get gain gains learn new ability abilities reach reached hit just"
"""Words that ask what somebody gets, and when."""

_SEVERAL = re.compile(r"\b(?:cantrips|creatures|feats|items|monsters|rules|spells|weapons)\b", re.IGNORECASE)
"""Nouns by which a question asks for entries of a kind and not for one: "healing spells of a cleric" names no spell."""

_NUMBER = re.compile(r"\d+(?:st|nd|rd|th)?")

_AT_LEVEL = re.compile(r"\blevel \d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)[ -]level\b", re.IGNORECASE)

AS_NAMED = 0.9
"""How similar the name of a class counts of which a question asks what it gets at a level."""

_TELLS = re.compile(r"\s*(?:i|we|he|she|they|it)\b", re.IGNORECASE)
"""How a wording begins that tells of somebody, and names nothing: "we are falling off a cliff" asks for no rule on falling."""


def with_named(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, entries of books in the heads that a short query names ranked higher by keywords.

    A name adds the share of the query's content words that it has, of the best score by keywords; that of a class does so whatever
    the level that is asked for. The query has one wording: who writes several knows that a name finds its entry.
    """
    names = len(wordings) == 1 and not _TELLS.match(wordings[0])
    whole = stems(fold(wordings[0])) if names else frozenset()
    best = found.best_by_words(BOOKS) if len(whole) > 1 else 0.0
    if not best:
        return found
    subjects, beginnings = {OPTIONS: without_progress(whole)}, {own[:BEGINNING] for own in whole}
    named = [key for key in found.heads if key[0] not in CAMPAIGN and possible(beginnings, found.all_ranked[key].name)]
    shares = {key: _share(found.all_ranked[key].name, subjects.get(key[0], whole), whole) for key in named}
    raised = found.with_further({key: best * share for key, share in shares.items() if share})
    meant = frozenset(key for key in named if shares[key] and _is_meant(stems(fold(found.all_ranked[key].name)), whole))
    return replace(raised, named=found.named | meant) if meant else raised


def with_subject(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with what a question is about as named, whatever it asks of it: "what level is fireball".

    A class is named by a question of what it gets at a level: "rogue at level 7" has no other subject. A name of one common word,
    as "fly" is, names nothing beside other words. Each of several wordings may have a subject.
    """
    asked = [_subject_of(wording, found) for wording in wordings]
    named = {
        key: hit._replace(score=AS_NAMED)
        for key, hit in found.all_ranked.items()
        if key[0] not in CAMPAIGN and key not in found.names and any(is_of(key, hit.name) for is_of in asked)
    }
    return found.with_names(named)


def _subject_of(wording: str, found: Retrieved) -> Callable[[Key, str], bool]:
    """Tells whether an entry of a name is what a wording is about."""
    is_told = bool(_TELLS.match(wording) or _SEVERAL.search(wording))
    words = content_words(fold(wording))
    whole, common = (
        stems(" ".join(words)),
        stems(" ".join(word for word in words if found.occurring.get(word, 0) > COMMON * found.count)),
    )
    of_level = without_progress(whole) if _AT_LEVEL.search(wording) else frozenset[str]()
    beginnings = {own[:BEGINNING] for own in whole}

    def is_subject(key: Key, name: str) -> bool:
        own = stems(fold(name)) if possible(beginnings, name) else frozenset[str]()
        if key[0] == OPTIONS and own and own == of_level:
            return True
        return not is_told and own < whole and _is_meant(own, whole) and (len(own) > 1 or not own <= common)

    return is_subject


def names_its_subject(text: str, known: NameList) -> bool:
    """Whether a question asks something of one entry, whose name it has word by word: "is fireball a cleric spell"."""
    folded = fold(text)
    whole, written = stems(folded), f" {folded} "
    if _SEVERAL.search(text):
        return False
    names = (known[place] for place in known.with_words(content_words(folded)))
    return any(f" {name} " in written and _is_meant(stems(name), whole) for name in names)


def _is_meant(own: frozenset[str], whole: frozenset[str]) -> bool:
    """Whether the words of a question beside those of a name only ask for what the name has; all are stems."""
    asking = stems(" ".join(_ASKING.split()))
    return (
        bool(own)
        and not own <= asking
        and own <= whole <= own | asking | {word for word in whole if _NUMBER.fullmatch(word)}
    )


def _share(name: str, subject: frozenset[str], whole: frozenset[str]) -> float:
    """The share of the subject of a short query that is the whole name of an entry; 0 if that is not in it, or is the query."""
    own = stems(fold(name))
    return len(own) / len(subject) if own and own <= subject and own < whole and len(subject) <= SHORT else 0.0


def without_progress(words: frozenset[str]) -> frozenset[str]:
    """The stems of a question without those that ask what somebody gets at a level: "rogue" of "rogue features at level 5"."""
    progress = stems(_PROGRESS)
    return frozenset(word for word in words if word not in progress and not _NUMBER.fullmatch(word))


FEATURE_SIMILARITY = 0.9
"""How similar a name counts that is of a feature: an entry that is itself called so is nearer."""

MAX_FEATURE_WORDS = 4
"""Most words of a query, apart from those that ask, of which the name of a feature may be a part."""

MAX_HAVING = 6
"""Most entries that have a feature whose name says something: all have "Equipment"."""


def with_features(found: Retrieved, wordings: Sequence[str]) -> Retrieved:
    """What the retrievers found, with options as named by a query of one wording that is the name of a feature of theirs.

    If such a name, of two words or more, is only a part of a short query, they rank higher by keywords, by the share of its words
    that the name has. Looked at are the sections that are near in meaning. A wording among several may be any section's name: what
    these ask for is found as it was.
    """
    head = first(found.semantic, FUSED_BY_SCORE)  # the same however deep the page is, so that pages join
    options = [(key, ranked) for key, ranked in head.items() if key[0] == OPTIONS]
    asked = subject_words(fold(wordings[0])) if options and len(wordings) == 1 else ()
    subject = without_progress(stems(" ".join(asked)))
    if not subject:
        return found
    having = _few({key: hit for key, hit in options if subject in _sections(hit)})
    parts = _few({key: hit for key, hit in options if _part(subject, hit)} if len(subject) <= MAX_FEATURE_WORDS else {})
    best = found.best_by_words(BOOKS) if parts else 0.0
    raised = found.with_further({key: best * _part(subject, hit) for key, hit in parts.items()})
    named = {key: hit._replace(score=FEATURE_SIMILARITY) for key, hit in having.items() if key not in found.names}
    return raised.with_names(named)


def _part(subject: frozenset[str], hit: Ranked) -> float:
    """The largest share of a subject that is the name of a section, of two words or more; 0 without any."""
    return max((len(own) for own in _sections(hit) if own < subject and len(own) > 1), default=0) / len(subject)


def _sections(hit: Ranked) -> set[frozenset[str]]:
    """The words of the headings of the sections that are near, also within the nearest passage, as stems."""
    within = (line.partition(": ")[0] for line in hit.passage.split("\n") if ": " in line)
    return {stems(fold(heading)) for heading in {hit.section, *(heading for heading, _ in hit.near), *within}}


def _few(hits: dict[Key, Ranked]) -> dict[Key, Ranked]:
    """Some hits, unless they are of too many entries."""
    return hits if len({canonical_name(hit.name) for hit in hits.values()}) <= MAX_HAVING else {}
