"""Entity to text: the passages that are embedded and searched, the facts line and the snippet that people read."""

from __future__ import annotations

import itertools
import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lorekeeper.entities import MAX_TEXT_LENGTH, Entity, Value, fold

logger = logging.getLogger(__name__)

CHUNKER = "sections-120-v2"
"""Name and version of the way texts are cut; part of a library's fingerprint."""

PASSAGE_TOKENS = 120
"""Longest passage, in estimated word pieces, its heading included."""

SHORT_TEXT_TOKENS = 4
"""An entry with less text than this is embedded by its name, kind and facts."""

STEM = 5
"""Letters by which words are compared when a passage is chosen to be shown."""

SNIPPET_CHARS = 120

TEXT_KEYS = (
    ("desc", ""),
    ("description", ""),
    ("descriptions", ""),
    ("prerequisite", "Prerequisite"),
    ("higher_level", "At higher levels"),
    ("reaction_condition", "Reaction"),
    ("asi_desc", ""),
    ("speed_desc", ""),
    ("vision", ""),
    ("skill_proficiencies", "Skill proficiencies"),
    ("feature_desc", "Feature"),
    ("suggested_characteristics", ""),
    ("effects_desc", ""),
    ("special_abilities", ""),
    ("benefits", ""),
    ("features", ""),
    ("traits", ""),
    ("actions", ""),
    ("bonus_actions", ""),
    ("reactions", ""),
    ("legendary_desc", "Legendary actions"),
    ("legendary_actions", ""),
    ("weapon", ""),
    ("properties", ""),
)
"""Where the sources keep their prose, in reading order, and the heading where the source gives none."""

_PLACEHOLDER = re.compile(r"\[(No description provided|None provided|Column data)\.?\]", re.IGNORECASE)
_MARKUP = (
    ("\u00ad", re.compile(r"\u00ad"), ""),
    ("<", re.compile(r"</?[A-Za-z][^<>]{0,200}>"), " "),
    ("[", re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)"), r"\1"),
    ("|", re.compile(r"^(?:[^\S\n]|[:-])*+\|(?:[^\S\n]|[|:-])*+$", re.MULTILINE), ""),
    ("|", re.compile(r"(?<![^\S\n])[^\S\n]*+\|(?:[^\S\n]|\|)*+"), "; "),
    ("*_`#>", re.compile(r"[*_`#>]+"), " "),
)
"""Characters of which a text has to have one, what to look for then, and what to put in its place.

No pattern looks at a run of characters again from each place in it: the time is linear in the length of any text.
"""

_SPACE = re.compile(r"[^\S\n]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]?\s+(?=[\"'“(]?[A-Z0-9])|(?<!\s)[^\S\n]*+\n\s*")
_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")


STOP_WORDS = frozenset(
    """
    a about all an and any are as at be but by can could do does for from had has have he her him his how i if
    in into is it its me my no not of on or our she so some somebody someone something stuff than that the
    their them then there these they thing things this to us was we what when where which who why will with
    would you your
    """.split()
)
"""Words that carry no meaning of their own in a question."""


def content_words(folded: str) -> list[str]:
    """The words of a folded text that carry meaning, each once, in order."""
    return [w for w in dict.fromkeys(folded.split()) if w not in STOP_WORDS]


@dataclass(frozen=True)
class Section:
    """A stretch of an entry's prose under one heading ("" for its main text)."""

    heading: str
    text: str


@dataclass(frozen=True)
class Passage:
    """What one vector stands for: a few sentences of one entry.

    Attributes:
        section: heading under which they begin, "" for the main text.
        text: the sentences as shown, one section a line.
        embedded: the text the model reads, with the entry's name in front.
    """

    section: str
    text: str
    embedded: str


def clean(text: str) -> str:
    """Prose without Markdown, HTML, table rules, soft hyphens and placeholders; paragraphs stay on their own lines."""
    text = _PLACEHOLDER.sub("", text)
    for signs, pattern, replacement in _MARKUP:
        if any(sign in text for sign in signs):
            text = pattern.sub(replacement, text)
    text = _SPACE.sub(" ", text)
    return "\n".join(line.strip(" ;") for line in text.splitlines() if line.strip(" ;"))


def sections(entity: Entity) -> list[Section]:
    """All prose of an entry, section by section, in reading order; empty ones left out."""
    return list(_sections(entity))


def lead(entity: Entity) -> str:
    """What kind of thing it is, in a few words: "large aberration", "level 3 evocation spell"."""
    f = entity.fields
    match entity.type:
        case "spells":
            level = f.get("level")
            if level == 0:
                return _words(f.get("school"), "cantrip")
            return _words(None if level is None else f"level {level}", f.get("school"), "spell")
        case "creatures":
            return _words(f.get("size"), f.get("type"))
        case "equipment":
            return _words(f.get("rarity"), f.get("category") or entity.kind)
        case "character_options":
            return _words(f.get("parent"), entity.kind)
        case _:
            return entity.kind


def passages(entity: Entity, max_tokens: int = PASSAGE_TOKENS, hint: str = "") -> list[Passage]:
    """Cut an entry into passages of at most about ``max_tokens`` word pieces, none of its text left out.

    Sections are packed whole while they fit; a longer one is cut at sentence ends, and each piece repeats its heading.
    The first passage says what kind of thing the entry is. An entry without prose gets one passage of name, kind and
    facts. A ``hint``, words that the entry is asked for by, gets passages of its own: they are embedded with the hint and
    show the entry's beginning.
    """
    found = sections(entity)
    if sum(estimate_tokens(s.text) for s in found) < SHORT_TEXT_TOKENS:
        logger.debug("%s has no text of its own: embedded by name, kind and facts", entity.uri)
        known, kind = facts(entity), entity.kind.replace("-", " ")
        found = [Section("", known if kind in known else f"{kind} {known}"), *found]
    result: list[Passage] = []
    name = _capped(entity.name, max_tokens // 4)
    prefix = f"{name} ({_capped(lead(entity), max_tokens // 8)}): "
    budget = max_tokens - estimate_tokens(prefix)
    for section, lines in _pack(found, budget):
        text = " ".join(lines).replace(" \n", "\n")
        result.append(Passage(section, text, prefix + text.replace("\n", " ")))
        prefix = f"{name}: "
    if hint:
        for _, lines in _pack([Section("", hint)], budget):
            result.append(Passage(result[0].section, result[0].text, f"{name}: {' '.join(lines)}"))
    return result


def estimate_tokens(text: str) -> int:
    """Estimated word pieces of a text: a word counts one per six letters, a digit pair or a sign one."""
    return sum(math.ceil(len(p) / (2 if p.isdigit() else 6)) if p.isascii() else len(p) for p in _PIECE.findall(text))


def full_text(entity: Entity) -> str:
    """All prose of an entry in one string, for keyword search."""
    return "\n".join(f"{s.heading}: {s.text}" if s.heading else s.text for s in sections(entity))


def facts(entity: Entity) -> str:
    """The key facts in one line, as "level 3 evocation · action · 150 ft · sorcerer, wizard"."""
    f = entity.fields
    match entity.type:
        case "spells":
            parts = [
                lead(entity).removesuffix(" spell"),
                f.get("casting_time"),
                _unit(f.get("range"), "ft") if f.get("range") else None,
                "concentration" if f.get("concentration") else None,
                "ritual" if f.get("ritual") else None,
                _join(f.get("damage_types")),
                _join(f.get("classes")),
            ]
        case "creatures":
            cr = f.get("challenge_rating")
            parts = [
                f"CR {format_rating(cr)}" if isinstance(cr, (int, float)) else None,
                lead(entity),
                f.get("alignment"),
                f"AC {f['armor_class']}" if "armor_class" in f else None,
                f"HP {f['hit_points']}" if "hit_points" in f else None,
            ]
        case "equipment":
            parts = [
                lead(entity),
                "attunement" if f.get("requires_attunement") else None,
                _words(entity.data.get("damage_dice") or _inner(entity, "weapon", "damage_dice"), f.get("damage_type")),
                _unit(f.get("cost"), "gp") if f.get("cost") else None,
                _unit(f.get("weight"), "lb") if f.get("weight") else None,
                _join(f.get("properties")),
            ]
        case "character_options":
            parts = [lead(entity), _words("hit die", f["hit_die"]) if "hit_die" in f else None]
        case "documents":
            parts = [f.get("publisher"), f.get("game_system"), _join(f.get("licenses"))]
        case _:
            parts = [entity.kind, f.get("parent")]
    return " · ".join(str(p) for p in parts if p)


def format_rating(rating: float) -> str:
    """Challenge rating as printed in books: 0.125 is "1/8"."""
    return {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}.get(rating, f"{rating:g}")


def snippet(text: str, limit: int = SNIPPET_CHARS) -> str:
    """The start of a text, cut at a sentence end where one fits, else at a word, at most ``limit`` characters."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    cut = text[:limit]
    end = max(cut.rfind(". "), cut.rfind("! "), cut.rfind("? "))
    if end >= limit // 3:
        return cut[: end + 1]
    return cut[: limit - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def excerpt(passage: str, section: str, query: str, limit: int = SNIPPET_CHARS) -> str:
    """A passage from the sentence on that shares most words with a query, cut as `snippet` does.

    Where that is not its first sentence, the heading of the section that it stands in comes before it.

    Args:
        passage: text of a `Passage`.
        section: heading under which it begins.
        query: what was asked.
        limit: most characters.
    """
    first, *others = passage.split("\n")
    lines = [(section, first), *((line.partition(": ")[0], line) for line in others)]
    return snippet(_from_best(lines, query) or passage, limit)


def entity_excerpt(entity: Entity, query: str, limit: int = SNIPPET_CHARS) -> str:
    """The same of an entry's whole prose, or of its facts where it has none."""
    shown = _sections(entity) if query else itertools.islice(_sections(entity), 1)
    lines = [(s.heading, f"{s.heading}: {s.text}" if s.heading else s.text) for s in shown]
    return snippet(_from_best(lines, query) or (lines[0][1] if lines else facts(entity)), limit)


def _from_best(lines: Iterable[tuple[str, str]], query: str) -> str:
    """Of texts with their headings, what begins with the sentence nearest to a query; "" where none is near."""
    wanted = _stems(content_words(fold(query)))
    best, chosen = 0, ""
    for heading, line in lines if wanted else ():
        folded = fold(line)
        if sum(stem in folded for stem in wanted) <= best:
            continue
        found = sentences(line)
        for start, sentence in enumerate(found):
            if (shared := len(wanted & _stems(fold(sentence).split()))) > best:
                rest = " ".join(found[start:])
                best, chosen = shared, f"{heading}: … {rest}" if start and heading else f"… {rest}" if start else rest
    return chosen


def sentences(text: str) -> list[str]:
    """A cleaned text cut at sentence and paragraph ends."""
    return [s for s in (part.strip() for part in _SENTENCE_END.split(text) if part) if s]


def _stems(words: Iterable[str]) -> set[str]:
    return {word[:STEM] for word in words}


def _sections(entity: Entity) -> Iterator[Section]:
    for key, heading in TEXT_KEYS:
        yield from _sections_of(entity.data.get(key), heading)


def _sections_of(value: Any, heading: str) -> Iterator[Section]:
    if isinstance(value, str):
        text = clean(value)
        if text:
            yield Section(heading, text)
    elif isinstance(value, (list, tuple)):
        if value and all(isinstance(v, str) for v in value):
            yield from _sections_of("\n".join(value), heading)
        else:
            for item in value:
                yield from _sections_of(item, heading)
    elif isinstance(value, Mapping):
        nested = value.get("property")
        inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else value
        title = inner.get("name") if isinstance(inner.get("name"), str) else None
        for key in ("desc", "description", "properties"):
            yield from _sections_of(inner.get(key), clean(title[:MAX_TEXT_LENGTH]) if title else heading)


def _pack(found: Iterable[Section], budget: int) -> Iterator[tuple[str, list[str]]]:
    """Greedy packing of sentences into groups of at most ``budget`` tokens; (heading at the start, sentences).

    The first sentence of a further section begins with a line break.
    """
    start, used = "", 0
    lines: list[str] = []
    for section in found:
        heading = _capped(section.heading, budget // 4)
        label = f"{heading}: " if heading else ""
        for piece in _pieces(section.text, budget - estimate_tokens(label)):
            line = label + piece
            size = estimate_tokens(line)
            if lines and used + size > budget:
                yield start, lines
                lines, used = [], 0
                line = f"{heading}: {piece}" if heading else piece
                size = estimate_tokens(line)
            if not lines:
                start = heading
            lines.append(f"\n{line}" if lines and label else line)
            used += size
            label = ""
    if lines:
        yield start, lines


def _pieces(text: str, budget: int) -> Iterator[str]:
    """Sentences of a text; one that is longer than the budget is cut at words, a longer word at characters."""
    for sentence in sentences(text):
        if estimate_tokens(sentence) <= budget:
            yield sentence
            continue
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
    """A name or heading cut to a number of tokens: those of real entries are far shorter."""
    while estimate_tokens(text) > tokens:
        text = text[: max(len(text) * 3 // 4, 1)] if len(text) > 1 else ""
    return text


def _words(*parts: Value | None) -> str:
    return " ".join(str(p) for p in parts if p not in (None, ""))


def _join(value: Value | None) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def _unit(value: Value | None, unit: str) -> str:
    return f"{value:,g} {unit}" if isinstance(value, (int, float)) else ""


def _inner(entity: Entity, *path: str) -> Any:
    value: Any = entity.data
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
