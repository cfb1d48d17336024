"""Evidence: the words of an entry that answer a query, from anywhere in its text and from its fields."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from lorekeeper.entities import MADE, MADE_ONCE, REVISION, Entity, Value, made_once, remembered
from lorekeeper.fields import LABELS
from lorekeeper.folding import fold
from lorekeeper.records import Feature
from lorekeeper.records.notes import BETWEEN
from lorekeeper.records.options import character_class
from lorekeeper.records.values import Source
from lorekeeper.repairs import repaired, repaired_excerpt, with_values
from lorekeeper.terms import ENDLESS
from lorekeeper.text.cleaning import clean, points_back, sentences
from lorekeeper.text.excerpts import ELLIPSIS, LABEL, SNIPPET_CHARS, snippet
from lorekeeper.text.facts import casting_time_of, distance, facts, figure, range_of
from lorekeeper.text.keywords import ASKING_WORDS, subject_words
from lorekeeper.text.matching import occurring, possible, word_stems
from lorekeeper.text.notes import ENOUGH, labels, marked, said, tale
from lorekeeper.text.passages import passages
from lorekeeper.text.rows import rows_of, with_rows
from lorekeeper.text.sections import Section, sections, written
from lorekeeper.text.spelling import as_spelt
from lorekeeper.words import table

NAMED = 0.3
"""What a word counts that the entry's name has: it is shown anyway."""

NEAREST = 0.6
"""What it counts that a sentence is in the passage nearest in meaning."""

NEAR = 1.5
"""What it counts that the passage nearest in meaning is in a section of a note: more than one rare word of the query."""

MARKED = 0.5
"""What it counts that a section of a note is marked as secret: whoever sees it asks about secrets more often than not.

On graded questions an answering section is among the first five in 70 of 100 cases, without it in 64."""

HEADED, TITLED = 0.6, 2.0
"""What a word of the query counts besides that is in the innermost heading of a section, and what it counts that all of them are
there, apart from those of the note's name: "the appearance of Mirra" asks for the section "Appearance"."""

ENTITLED = 1.0
"""What it counts that a sentence stands below a heading of whose words the query has each: "Tentacle", and not "Tentacle Slam"."""

TOGETHER = 2.0
"""What it counts besides that words of the query, rare ones first, stand in one sentence, line or heading of a section, and more if
little else stands there: what is said at once, or in so many words, outranks what is scattered, and what is near."""

REACH = 0.15
"""How much less near, in cosine similarity, a section is whose nearness counts nothing; in between it counts in proportion."""

BEFORE = 50
"""Most characters before the first word of a query, in a sentence too long to be shown from its beginning."""

FULL = 0.7
"""Least share of a snippet's length at which it ends with a sentence rather than a word."""

MAX_SECTIONS = 200
"""Sections of an entry that are read: no real entry of a book has as many."""

MAX_NOTE_SECTIONS = 2_000
"""The same of a note: a journal of years may have one for each day."""

SHORTEST_TEXT = 40
"""Fewest characters of a text that shows two entries to be variants: "A sword" does not."""

TRAITS = ("special_abilities", "traits")
"""The keys under which sources keep the traits of a creature."""

DEFENCES, ROOMY = ("immune", "resistant", "vulnerable"), 300
"""Fields that an overview of more than so many characters shows of a creature, whatever is asked."""

DECISIVE = ("regenerat", "rejuvenat", "immun", "fortitude", "aversion", "sensitiv", "weakness", "absor")
"""What is in the names of the traits that decide how a creature is beaten: they are shown before others."""

_SAID = {"range": range_of, "casting_time": casting_time_of}
"""Fields that are shown as the source says them."""

COUNTED = 0.5
"""What each of two figures counts that a sentence has where the query asks how much something is: a table before its mention."""

_COUNTING = re.compile(
    r"\bhow (?:much|many|far|long|high|hard)\b|\b(?:dc|damage|dice|costs?|prices?|expenses?|bonus|number)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d+|\b(?:half|twice|double)\b", re.IGNORECASE)
_LEVEL = re.compile(r"\blevel (\d{1,2})\b|\b(\d{1,2})(?:st|nd|rd|th)[- ]level\b", re.IGNORECASE)

OF_CHARACTERS = {"conditions": "Conditions"}
"""What fields are called otherwise for characters, who have what other entries inflict."""

_ASKING_STEMS = frozenset(word_stems(" ".join(ASKING_WORDS)))

_TELLING = ("session", "journal")
"""Kinds of notes that tell what happened."""

LIST_CHARS = 70
"""Most characters of a snippet in a long list: one clause, by which a reader chooses what to read."""

CLAUSE = 220
"""Most characters of the snippets behind the first: a sentence or two."""

MAX_LIST = 60
"""Most characters of a field's values."""

_WORD = re.compile(r"\w+")

HOUR, DAY = 60, 1440
"""In minutes."""


@dataclass(frozen=True)
class Evidence:
    """What is shown of an entry beside its facts.

    Attributes:
        text: in one line.
        section: heading of the section that it is from, "" for the main text.
    """

    text: str
    section: str = ""


class _Sentence(NamedTuple):
    section: Section
    text: str
    stems: Sequence[str]
    """In the order of the query: sums over them, and the first of equals, are the same in every process."""


def evidence(
    entity: Entity,
    query: str,
    nearest: str = "",
    asked: Collection[str] = (),
    limit: int = SNIPPET_CHARS,
    prose: Sequence[Section] | None = None,
    place: str = "",
    near: Sequence[tuple[str, float]] = (),
) -> Evidence:
    """The words of an entry that answer a query best.

    An entry of a book for whose text there is room is shown whole. Else they are the fields that it asks for, then the section that
    it is the heading of, or the text from the sentence that has most of its words, rare ones before common ones; without any such
    sentence the beginning of the passage nearest in meaning, or of the entry. Of a table, and of a note or creature that the query
    only names, it is always the beginning.

    Args:
        entity: the entry.
        query: the words searched for; "" for an overview.
        nearest: text of the passage nearest in meaning, "" if it is not known.
        asked: names of the fields that filters are about.
        limit: most characters.
        prose: its sections as `read` gives them, if they have been read already.
        place: heading of the section of that passage.
        near: headings and cosine similarities of the sections of a note that are near, best first; () if not known.
    """
    wanted = word_stems(query)
    lead = " ".join(filter(None, [level_line(entity, query), field_line(entity, query, asked)]))
    room = limit - len(lead)
    is_note, is_asked = entity.type == "notes", bool(query)
    if (is_note or entity.type == "creatures") and _names(query, entity):
        query, wanted = "", {}
    if is_note and query:
        prose = _best_section(entity, wanted, {**_nearness(near), **({place: 1.0} if nearest else {})}) or prose
    prose = read(entity) if prose is None else prose
    whole = asked_for(query, prose) if not is_note else None
    counts = asks_for_a_figure(query)
    found = _sentence(entity.name, prose, wanted, nearest, counts=counts) if wanted and not whole else None
    if is_asked and not is_note and len(" ".join(map(str, prose))) <= room:
        body = _beginning(entity, prose)
    elif whole:
        body = Evidence(str(whole), whole.heading)
    elif found:
        body = Evidence(_from_sentence(*found, room), found[0].section.heading)
    elif nearest and query and entity.kind != "table":
        body = _nearest(entity, prose, nearest, place)
    else:
        body = overview(entity, room, prose, _fields_of(query).union(asked))
    if lead and set(_WORD.findall(fold(body.text))) <= set(_WORD.findall(fold(lead))):
        body = Evidence("", body.section)  # the fields have said it
    told = with_rows(body.text, dict(_rows(entity))) if ";" in body.text else body.text
    if told.startswith(f"{body.section}: ") and body.section and not lead:
        lead = _gained_at(entity, body.section)
    shown = repaired_excerpt(entity, f"{lead} {told}".strip()) or facts(entity)
    return Evidence(snippet(shown, limit, FULL), body.section)


def asks_for_a_figure(query: str) -> bool:
    """Whether a question asks how much something is."""
    return _COUNTING.search(query) is not None


def has_a_figure(text: str) -> bool:
    """Whether a text says how much something is."""
    return _FIGURE.search(text) is not None


def asks_for_a_level(query: str) -> int | None:
    """The level that a question names."""
    match = _LEVEL.search(query)
    return int(match[1] or match[2]) if match else None


def level_line(entity: Entity, query: str) -> str:
    """What a class has at the level that a query names: "Level 5: Uncanny Dodge; Sneak Attack 3d6."; "" if it says none."""
    level = asks_for_a_level(query)
    if level is None or not (features := _features(entity)):
        return ""
    gained = [each.name for each in features if level in dict(each.levels)]
    cells = [
        f"{each.name} {each.column[level]}" for each in features if level in each.column and not _SLOTS.match(each.name)
    ]
    said = [*filter(None, [", ".join(gained)]), *cells]
    return f"Level {level}: {'; '.join(said).rstrip('.')}." if said else ""


def _gained_at(entity: Entity, feature: str) -> str:
    """The level at which a class gets a feature: "Level 5:"; "" if it does not say that."""
    gained = (each.levels[0][0] for each in _features(entity) if each.name == feature and each.levels)
    return next((f"Level {level}:" for level in gained), "")


def levels(entity: Entity) -> str:
    """What a class or subclass gets, by level: "1: Sneak Attack, Expertise; 2: Cunning Action"; "" if it does not say that.

    What it gets several times stands at each of its levels.
    """
    gained: dict[int, list[str]] = {}
    for each in _features(entity):
        for level, _ in each.levels:
            gained.setdefault(level, []).append(each.name)
    said = "; ".join(f"{level}: {', '.join(dict.fromkeys(names))}" for level, names in sorted(gained.items()))
    return f"By level: {said}." if said else ""


@remembered
def _features(entity: Entity) -> Sequence[Feature]:
    """The features of a class or subclass as they are corrected; none for other entries."""
    return character_class(Source(repaired(entity))).features if entity.kind in ("class", "subclass") else ()


_SLOTS = re.compile(r"\d|proficiency", re.IGNORECASE)
"""How the names of columns begin that each class has."""


@lru_cache(maxsize=64)
def _subject(query: str) -> Mapping[str, int]:
    """The `word_stems` of what a query is about."""
    return word_stems(" ".join(subject_words(fold(query))))


def asked_for(query: str, prose: Sequence[Section]) -> Section | None:
    """The section that a query is the heading of, or whose heading of several words it names, the longest: "how does sneak attack
    work" of a rogue; or the paragraph of one that begins with such a label; None for none."""
    subject = _subject(query).keys()
    called = [(word_stems(name).keys(), part) for section in prose for name, part in _entitled(section)]
    named = [each for each in called if each[0] and each[0] <= subject and len(each[0]) >= min(2, len(subject))]
    return max(named, key=lambda each: len(each[0]))[1] if named else None


def _entitled(section: Section) -> Iterator[tuple[str, Section]]:
    """A section with its heading, and each of its labelled paragraphs with its label."""
    yield section.heading.rpartition(": ")[2], section
    for line in section.text.split("\n"):
        if label := LABEL.match(line):
            yield label[0], section._replace(text=line)


def _names(query: str, entity: Entity) -> bool:
    """Whether a query says no more than the name of an entry, or a part of it: "who is Mirra"; or nothing: "what happened"."""
    subject = _subject(query)
    return bool(query) and set(subject) == set(occurring(subject, entity.name))


def _nearest(entity: Entity, prose: Sequence[Section], nearest: str, place: str) -> Evidence:
    """The passage nearest in meaning; of a note its best section if that is another one."""
    is_other = entity.type == "notes" and len(prose) == 1 and nearest not in prose[0].text
    return Evidence(prose[0].text, prose[0].heading) if is_other else _as_repaired(entity, nearest, place)


def _as_repaired(entity: Entity, stored: str, place: str) -> Evidence:
    """A stored passage as it is in the repaired entry: that of its passages with the most words of the stored one."""
    repaired_entity = _repaired(entity)
    if repaired_entity is entity:
        return Evidence(stored, place)
    words = set(_WORD.findall(fold(stored)))
    found = max(passages(repaired_entity), key=lambda each: len(words.intersection(_WORD.findall(fold(each.text)))))
    return Evidence(found.text.replace("\n", " "), found.section)


def field_line(entity: Entity, query: str, asked: Collection[str] = ()) -> str:
    """The fields that a query or a filter asks for, and that the facts do not show: "Immune: poison. Fly: 60 ft."."""
    wanted = _fields_of(query).union(asked)
    parts = []
    fields = as_spelt(entity).fields if wanted else {}
    for name in LABELS if wanted else ():
        value = fields.get(name)
        if name not in wanted or value is None or (not value and not name.startswith("save_")):
            continue
        _, label, unit = LABELS[name]
        label = OF_CHARACTERS.get(name, label) if entity.type == "characters" else label
        text = _SAID[name](entity) if name in _SAID else _value(value, unit)
        is_bare = isinstance(value, int) and not unit
        if (f"{label} {text}" if is_bare else text).casefold() not in facts(entity).casefold():
            parts.append(f"{label}: {text}.".replace("..", "."))
    return " ".join(parts)


@lru_cache(maxsize=64)
def _fields_of(query: str) -> frozenset[str]:
    """The fields that words of a query ask for."""
    words = set(fold(query).split())
    return frozenset(name for name, (terms, _, _) in LABELS.items() if not words.isdisjoint(terms))


@made_once(lambda rows: tuple(itertools.starmap(Section, rows)))
def read(entity: Entity) -> tuple[Section, ...]:
    """The sections of an entry with repaired values, as many of them as are read."""
    return tuple(
        itertools.islice(sections(_repaired(entity)), MAX_NOTE_SECTIONS if entity.type == "notes" else MAX_SECTIONS)
    )


def with_made(entity: Entity) -> dict[str, Any]:
    """The record of an entity, with what a search reads of it: made once, when it is stored."""
    return entity.as_record() | {MADE: {"": REVISION} | {key: make(entity) for key, make in MADE_ONCE.items()}}


@made_once(str)
def wording(entity: Entity) -> str:
    """The same for entries of the same words; "" for one without any."""
    return _digest(words_of(entity))


@made_once(str)
def main_wording(entity: Entity) -> str:
    """The same for entries of one main text, of those that may have variants; "" for others, and for hardly any text."""
    mains = (section.text for section in sections(entity) if not section.heading)
    text = next(mains, "") if entity.type == "equipment" else ""
    return _digest(text) if len(text) >= SHORTEST_TEXT else ""


def _digest(text: str) -> str:
    return text and hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def words_of(entity: Entity) -> str:
    """All words of an entry's text."""
    return fold(" ".join(map(str, read(entity))))


@made_once(list)
def _rows(entity: Entity) -> list[list[str]]:
    """The rows of its tables, as `with_rows` takes them."""
    return [*map(list, rows_of(section.text for section in written(_repaired(entity))).items())]


@made_once(bool)
def _is_repaired(entity: Entity) -> bool:
    """Whether its values differ from those of its source."""
    return with_values(entity) is not entity.data


def _repaired(entity: Entity) -> Entity:
    return replace(entity, data=dict(with_values(entity))) if _is_repaired(entity) else entity


def overview(entity: Entity, limit: int, prose: Sequence[Section], shown: Collection[str] = ()) -> Evidence:
    """How an entry begins; of a creature, which traits and actions it has, then a decisive trait, or else the longest.

    Where there is room, a creature's defences come before that, unless they are among the fields that are ``shown`` already.
    Of a class it is what it gets at which level.
    """
    if gained := levels(entity):
        return Evidence(gained)
    titled = [section for section in prose if section.heading]
    if entity.type != "creatures" or len(titled) < 2:
        return _beginning(entity, prose)
    names = snippet("; ".join(dict.fromkeys(section.heading for section in titled)), max(limit // 2, SNIPPET_CHARS))
    lists = [each for key in TRAITS if isinstance(each := entity.data.get(key), list)]
    named = {str(item.get("name")) for each in lists for item in each if isinstance(item, dict)}
    traits = [section for section in titled if section.heading in named]
    decisive = [section for section in traits if any(part in section.heading.lower() for part in DECISIVE)]
    best = max(decisive or traits, key=lambda section: len(section.text), default=titled[0])
    defences = field_line(entity, "", set(DEFENCES).difference(shown)) if limit > ROOMY else ""
    return Evidence(f"{defences} {names.rstrip('.')}. {best}".lstrip())


def _beginning(entity: Entity, prose: Sequence[Section]) -> Evidence:
    """How an entry begins: a note with its summary, else with the first section that is no list, since its facts come before."""
    if entity.type != "notes" or not prose:
        return Evidence(" ".join(map(str, sorted(prose, key=lambda section: bool(section.heading)))))
    texts = prose[1:] if said(entity) and len(prose) > 1 else prose
    first = next((section for section in texts if not section.text.startswith(("-", "*", "+", "|"))), texts[0])
    told = tale(entity)
    told = told if entity.kind in _TELLING else [section for section in told if section.tells]
    found = next((section for section in told if len(section.text) >= ENOUGH), next(iter(told), None))
    shown = Section(found.path, clean(found.text)) if found else first
    return Evidence(str(shown), shown.heading)


def _best_section(note: Entity, wanted: Mapping[str, int], nearness: Mapping[str, float]) -> Sequence[Section] | None:
    """The section of a note that answers a query best: by its heading, its words, rare ones first, by meaning, and by its mark.

    None if none does. That the nearest passage is in a section counts `NEAR`; that another one is near, a share of that, by
    heading. Of the notes among the first five that answer graded questions, 63 in 100 show a section that does, with the nearest
    alone 42. Aliases and facts, which come first, answer only what they have a word of, beside those of the name. Only the section
    that is shown is cleaned: that takes longer than to find its words.
    """
    prose = list(itertools.islice(written(note), MAX_NOTE_SECTIONS))
    alike = {stem: found for stem in wanted if (found := note_words().get(stem))}

    def having(stems: Collection[str], text: str) -> list[str]:
        own = occurring(stems, text)
        lacking = [stem for stem in stems if stem in alike and stem not in own and alike[stem].isdisjoint(own)]
        return [*own, *(stem for stem in lacking if occurring(alike[stem], text))]

    held = [having(wanted, f"{section.heading} {section.text}") for section in prose]
    occurrences = Counter(stem for stems in held for stem in set(stems))
    named, secret = set(occurring(wanted, note.name)), marked(note)
    subject = [stem for stem in wanted if stem not in named and stem not in _ASKING_STEMS]

    def weight(number: int) -> float:
        heading = prose[number].heading
        near = NEAR * nearness.get(heading, 0.0)
        if not (held[number] or near) or (number == 0 and named.issuperset(held[number])):
            return 0.0
        words = sum((NAMED if stem in named else 1.0) / math.sqrt(occurrences[stem]) for stem in held[number])
        innermost = heading.rpartition(BETWEEN)[2]
        heads = having(subject, innermost)
        is_titled = len(heads) == len(subject) or (
            set(subject).issubset(held[number])
            and any(
                len(word_stems(each)) == len(having(subject, each)) == len(subject)
                for each in labels(prose[number].text)
            )
        )
        titled = HEADED * len(heads) + (TITLED if subject and is_titled else 0.0)
        asked = [stem for stem in subject if stem in held[number]]
        told = sentences(f"{heading}\n{prose[number].text}")
        together = max((said_at_once(each, asked) for each in told), default=0.0) if asked[1:] else 0.0
        return words + titled + TOGETHER * together + near + (MARKED if heading in secret else 0.0)

    def said_at_once(sentence: str, asked: Sequence[str]) -> float:
        own = occurring(asked, sentence)
        share = len(own) / (len(sentence.split()) or 1)
        return (1 + 2 * share) * sum(1 / math.sqrt(occurrences[stem]) for stem in own) if own[1:] else 0.0

    weights = [weight(number) for number in range(len(prose))]
    best = sorted((number for number, found in enumerate(weights) if found), key=lambda number: -weights[number])
    shown = (Section(prose[number].heading, clean(prose[number].text)) for number in best)
    return next(([section] for section in shown if section.text), None)


@cache
def note_words() -> Mapping[str, frozenset[str]]:
    """The stems of the other words under which notes put what a stem asks for."""
    groups, found = dict[str, set[str]](), dict[str, frozenset[str]]()
    for word, asked in table("asks ").items():
        for each in asked:
            groups.setdefault(each, set()).update(word_stems(word))
    for group in groups.values():
        found |= {stem: found.get(stem, frozenset()).union(group) - {stem} for stem in group}
    return found


def _nearness(near: Sequence[tuple[str, float]]) -> dict[str, float]:
    """How near each section is beside the nearest one, by heading: 1 for that, falling to 0 over `REACH`."""
    best = near[0][1] if near else 0.0
    return {heading: max(1.0 - (best - score) / REACH, 0.0) for heading, score in near}


def _value(value: Value, unit: str) -> str:
    if isinstance(value, tuple):
        return snippet(", ".join(value), MAX_LIST)
    if unit == "min" and isinstance(value, (int, float)):
        return _time(value)
    if unit == "ft" and isinstance(value, (int, float)):
        return distance(value)
    number = figure(value) if isinstance(value, (int, float)) else str(value)
    return f"{number} {unit}".strip()


def _time(minutes: float) -> str:
    """A duration as people say it: 480 minutes are "8 h"."""
    if minutes >= ENDLESS:
        return "without end"
    for size, unit in ((DAY, "d"), (HOUR, "h"), (1, "min")):
        if minutes >= size:
            return f"{minutes / size:,g} {unit}"
    return f"{round(minutes * 10)} rounds" if minutes else "instantaneous"


def _sentence(
    name: str, prose: Sequence[Section], wanted: Mapping[str, int], nearest: str, *, counts: bool = False
) -> tuple[_Sentence, str] | None:
    """The sentence with most of the wanted words, and its rarest word; None if none has any but those of the name."""
    found = list(_candidates(prose, wanted))
    if not found:
        return None
    occurrences = Counter(stem for sentence in found for stem in sentence.stems)
    named = set(occurring(wanted, name))

    def weight(sentence: _Sentence) -> float:
        words = sum((NAMED if stem in named else 1.0) / math.sqrt(occurrences[stem]) for stem in sentence.stems)
        figures = COUNTED * len(_FIGURE.findall(sentence.text)[:2]) if counts else 0.0
        heading = word_stems(sentence.section.heading)
        entitled = ENTITLED if heading and heading.keys() <= wanted.keys() - named else 0.0
        is_near = sentence.text.rpartition(". ")[2] in nearest  # without its label
        return words + figures + entitled + (NEAREST if is_near else 0.0)

    best = max(found, key=weight)
    if named.issuperset(best.stems) and best.text not in nearest:
        return None
    return best, min(best.stems, key=lambda stem: (stem in named, occurrences[stem], -wanted[stem]))


def _candidates(prose: Iterable[Section], wanted: Mapping[str, int]) -> Iterator[_Sentence]:
    """The sentences that have a wanted word, the words of their heading counted as theirs."""
    for section in prose:
        heading = occurring(wanted, section.heading) if section.heading else []
        near = possible(wanted, section.text)
        if not heading and not near:
            continue
        for sentence in _labelled(section.text):
            stems = heading
            if possible(near, sentence):
                own = {*heading, *occurring(wanted, sentence)}
                stems = [stem for stem in wanted if stem in own]
            if stems:
                yield _Sentence(section, sentence, stems)


def _labelled(text: str) -> Iterator[str]:
    """The sentences of a text, each with the label before it: "Damage at 0 Hit Points. If you take any damage ..."."""
    label = ""
    for sentence in sentences(text):
        if LABEL.fullmatch(sentence):
            yield from filter(None, [label])
            label = sentence
            continue
        joined = f"{label} {sentence}"
        is_one = bool(label) and joined in text
        yield from [joined] if is_one else filter(None, [label, sentence])
        label = ""
    yield from filter(None, [label])


def _from_sentence(found: _Sentence, rarest: str, limit: int) -> str:
    """The text from a sentence on, or if its rarest word comes late, from shortly before that or from an earlier word of the query
    with which there is room for it; its heading comes first."""
    start = found.section.text.find(found.text)
    label = f"{found.section.heading}: " if found.section.heading else ""
    lowered = found.text.lower()
    late, room = lowered.find(rarest), limit - len(label) - BEFORE
    whole = limit - len(label) - len(ELLIPSIS) - 1
    shown = found.section.text[max(start, 0) :][:whole]
    ends = [shown.find(each) + len(each) for each in sentences(shown)[:-1] if any(map(each.lower().count, found.stems))]
    spare = whole - max([len(found.text), *ends])
    start -= _needed(found.section.text[: max(start, 0)], found.text, spare)
    text = found.section.text[max(start, 0) :]
    if late > room and spare < 0:
        earlier = [place for stem in found.stems if late - room <= (place := lowered.find(stem)) < late]
        text = text[text.find(" ", max(min([late - BEFORE, *(place - 1 for place in earlier)]), 0)) + 1 :]
        start = 1
    return f"{label}{ELLIPSIS} {text}" if start > 0 else label + text


def _needed(before: str, sentence: str, room: int) -> int:
    """How many of the last characters before a sentence it is only right with: the sentences of its line that it points back to."""
    line, needed = before.rpartition("\n")[2], 0
    for each in reversed(sentences(line)):
        own = len(line) - line.rfind(each)
        if not points_back(sentence) or own > room:
            break
        sentence, needed = each, own
    return needed


def lengths(results: int) -> Sequence[int]:
    """The most characters of each snippet on a page of so many results: the first ones are read, the others chosen from."""
    return [700 if results < 4 else 300, *[CLAUSE] * 3, *[LIST_CHARS] * results][:results]
