"""Passages: an entry in pieces that the embedding model reads whole, each the text behind one vector."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from lorekeeper.entities import Entity
from lorekeeper.records.notes import BETWEEN
from lorekeeper.text.cleaning import sentences
from lorekeeper.text.facts import indexed_facts, lead
from lorekeeper.text.sections import Section, sections
from lorekeeper.text.spelling import as_spelt

logger = logging.getLogger(__name__)

CHUNKER = "sections-120-v2"
"""Name and version of the chunking; part of a library's fingerprint."""

PASSAGE_TOKENS = 120
"""Longest passage, in estimated word pieces, its heading included."""

SHORT_TEXT_TOKENS = 4
"""An entry with less text than this is embedded by its name, kind and facts."""

_PICTOGRAM = re.compile(r"[^\w\s.,;:!?'\"()\-\u2013\u2014>/&%+#\u00b7]")
"""What the model would read as words of its own."""

_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")


@dataclass(frozen=True)
class Passage:
    """The text behind one vector: a few sentences of one entry.

    Attributes:
        section: heading under which they begin, "" for the main text.
        text: the sentences as shown, one section a line.
        embedded: the text the model reads, with the entry's name in front.
    """

    section: str
    text: str
    embedded: str


def passages(entity: Entity, max_tokens: int = PASSAGE_TOKENS, hint: str = "") -> list[Passage]:
    """Split an entry into passages of at most about ``max_tokens`` word pieces; none of its text is left out.

    Sections are packed whole while they fit; a longer one is split at sentence ends, and each piece repeats its
    heading. The first passage says what kind of thing the entry describes. An entry without prose gets one passage of
    name, kind and facts. A ``hint``, words that people search for the entry by, gets passages of its own: they are
    embedded with the hint, and show the entry's beginning. No passage of a note spans two sections.
    """
    if entity.type == "notes":
        return list(_of_note(entity, max_tokens))
    name = _capped(entity.name, max_tokens // 4)
    prefix = f"{name} ({_capped(lead(entity), max_tokens // 8)}): "
    budget = max_tokens - estimate_tokens(prefix)
    result: list[Passage] = []
    for section, parts in _pack(_sections_or_facts(entity), budget):
        text = " ".join(parts).replace(" \n", "\n")
        result.append(Passage(section, text, prefix + text.replace("\n", " ")))
        prefix = f"{name}: "
    first = result[0]
    for _, parts in _pack([Section("", hint)], budget):
        result.append(Passage(first.section, first.text, f"{name}: {' '.join(parts)}"))
    return result


def _of_note(entity: Entity, max_tokens: int) -> Iterator[Passage]:
    """The passages of a note; the model reads "Heading: text" of each, of the text before the first heading the title.

    On graded questions over two vaults that is better than the title and all headings in front of each passage (nDCG@10
    0.66 and 0.63): these make the passages of a note all alike. Title and headings are searched by keywords.
    """
    name = _capped(entity.name, max_tokens // 4)
    label = f"{name} ({_capped(lead(entity), max_tokens // 8)})"
    for section in _together(_sections_or_facts(entity)):
        heading = _capped(plain(section.heading.rpartition(BETWEEN)[2]), max_tokens // 4) or label
        for _, parts in _pack([Section("", section.text)], max_tokens - estimate_tokens(f"{heading}: ")):
            text = " ".join(parts)
            yield Passage(section.heading, text, f"{heading}: {plain(text)}")
        label = name


def _together(prose: list[Section]) -> Iterator[Section]:
    """The sections of a note, its facts in one with the text before the first heading."""
    first, *others = prose
    if others and not others[0].heading and not first.heading:
        first = Section("", f"{first.text}\n{others.pop(0).text}")
    yield from (first, *others)


def plain(text: str) -> str:
    """A text of a note as the model reads it: without pictograms."""
    return " ".join(_PICTOGRAM.sub(" ", text).split())


def estimate_tokens(text: str) -> int:
    """Estimated word pieces of a text: one for every six letters of a word, two digits of a number, or other character.

    Letters outside ASCII count one each.
    """
    return sum(map(_piece_tokens, _PIECE.findall(text)))


@lru_cache(maxsize=20_000)
def _piece_tokens(piece: str) -> int:
    if not piece.isascii():
        return len(piece)
    return math.ceil(len(piece) / (2 if piece.isdigit() else 6))


def _sections_or_facts(entity: Entity) -> list[Section]:
    """An entry's prose, with its kind and facts before it if it has hardly any."""
    prose = list(sections(entity))
    if sum(estimate_tokens(section.text) for section in prose) >= SHORT_TEXT_TOKENS:
        return prose
    logger.debug("%s has no text of its own: embedded by name, kind and facts", entity.uri)
    spelt = as_spelt(entity)  # passages are shown too
    line, kind = indexed_facts(spelt), spelt.kind.replace("-", " ")
    return [Section("", line if kind in line else f"{kind} {line}"), *prose]


def _pack(prose: Iterable[Section], budget: int) -> Iterator[tuple[str, list[str]]]:
    """Greedy packing of sentences into groups of at most ``budget`` tokens; (heading at the start, sentences).

    The first sentence of a further section begins with a line break.
    """
    start, used = "", 0
    group: list[str] = []
    for section in prose:
        heading = _capped(section.heading, budget // 4)
        label = f"{heading}: " if heading else ""
        unlabelled = True
        for piece in _pieces(section.text, budget - estimate_tokens(label)):
            line = label + piece if unlabelled else piece
            size = estimate_tokens(line)
            if group and used + size > budget:
                yield start, group
                group, used = [], 0
                line = label + piece
                size = estimate_tokens(line)
            if not group:
                start = heading
            further = bool(group and label and unlabelled)
            group.append(f"\n{line}" if further else line)
            used += size
            unlabelled = False
    if group:
        yield start, group


def _pieces(text: str, budget: int) -> Iterator[str]:
    """Sentences of a text; one over the budget is split at words, a word over the budget at characters."""
    for sentence in sentences(text):
        if estimate_tokens(sentence) <= budget:
            yield sentence
        else:
            yield from _word_groups(sentence, budget)


def _word_groups(sentence: str, budget: int) -> Iterator[str]:
    words: list[str] = []
    used = 0
    for word in _short_words(sentence, budget):
        size = estimate_tokens(word)
        if words and used + size > budget:
            yield " ".join(words)
            words, used = [], 0
        words.append(word)
        used += size
    yield " ".join(words)


def _short_words(sentence: str, budget: int) -> Iterator[str]:
    for word in sentence.split():
        for start in range(0, len(word), budget):
            yield word[start : start + budget]


@lru_cache(maxsize=256)
def _capped(text: str, tokens: int) -> str:
    """The start of a name or heading, up to a number of tokens: real names are far shorter."""
    while estimate_tokens(text) > tokens:
        text = text[: max(len(text) * 3 // 4, 1)] if len(text) > 1 else ""
    return text
