"""The passage of an entry that answers a question: its whole text if that is short, else the section, the row, the lines."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lorekeeper.entities import Entity, remembered
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.records.notes import aliases_of
from lorekeeper.render import markdown
from lorekeeper.render.prose import HEADING
from lorekeeper.search.expansion import spelt_out
from lorekeeper.search.languages import all_function_words, telling
from lorekeeper.search.linker import without_asking
from lorekeeper.search.sessions import asks_what_comes, beside_session
from lorekeeper.server.answers import HIDDEN, untitled
from lorekeeper.server.parts import outline, own_texts, part
from lorekeeper.text.cleaning import clean, points_back, sentences
from lorekeeper.text.evidence import (
    CLAUSE,
    COUNTED,
    asked_for,
    asks_for_a_figure,
    asks_for_a_level,
    has_a_figure,
    levels,
    overview,
    read,
)
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.keywords import subject_words
from lorekeeper.text.matching import STEM, occurring, word_stems
from lorekeeper.text.notes import tale, to_come
from lorekeeper.text.secrecy import is_secret
from lorekeeper.text.sections import Section, written
from lorekeeper.words import listed_words

NOTES = "notes"

WHOLE, SECTION, LEVEL = 900, 1_100, 1_500
"""Longest page of an entry, longest section, and longest text of a level, in characters, that are given whole."""

LINES = 800
"""Most characters of the lines that are given of a longer text."""

SHORTEST = 4
"""Fewest letters of a word whose lines are added."""

ELSEWHERE, COMMON = 600, 6
"""Most characters of the lines that are added for words which the passage lacks, and most lines of a section that have them."""

CREATURES, SESSION = "creatures", "session"

TASK = "[ ]"
"""How a line marks what is left to do."""

TELLING = 4
"""Fewest words in small letters of a line of a session's note that tells what happened; others say when it was, or who played."""

LONG = 400
"""Characters from which on a paragraph is read sentence by sentence."""

_KIND = re.compile(r"\A\*[^*\n]+\*\n+")
_STUB = re.compile(r"\n+## Details\n+- \*\*Type\*\* [^\n]*\s*\Z")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s|\|")
_NUMBER = re.compile(r"\d+")
_BEGINS_WITH = re.compile(r"^[\s|*-]*(\d+)\b(?!\s*\d)")
_SAID = re.compile(r"\b[a-zß-ÿ]{2,}")
_CAPTION = re.compile(r"\*\*[^*]+\*\*")


@remembered
def _page(entity: Entity) -> str:
    """The page of an entry, of which an answer asks several times."""
    return markdown(entity)


def body(entity: Entity, page: str | None = None) -> str:
    """The page of an entry without its title, and of a rule without the lines that only say what it is."""
    text = untitled(_page(entity) if page is None else page)
    return _STUB.sub("", _KIND.sub("", text)).strip() if entity.type == "rules" else text.strip()


def passage(entity: Entity, section: str, query: str) -> str:
    """What of an entry answers a question.

    Args:
        entity: the entry.
        section: headings of the section that answers, "" for the main text.
        query: the question.
    """
    is_note = entity.type == NOTES
    told = _of_note(entity, section, query) if is_note else _of_book(entity, section, query)
    return "\n".join([told, *_elsewhere(entity, section if is_note else "", told, query)])


def _of_book(entity: Entity, section: str, query: str) -> str:
    """The same of an entry of a book: its page, its section, what a class gets at a level, or what it has."""
    page, text = _page(entity), body(entity)
    if len(text) <= WHOLE:
        return text
    level = asks_for_a_level(query) if entity.kind in ("class", "subclass") else None
    if level is not None and (found := _part(page, f"level {level}")):
        if (named := _named(page, query, level)) and named not in found:
            return f"{found.partition(chr(10))[0]}\n\n{named}"
        return found if len(found) <= LEVEL else lines(found, query, LEVEL)
    found = (_part(page, section) if section else "") or text
    if not _says(found, query, entity) and (entity.type == CREATURES or levels(entity)):
        return overview(entity, SECTION, read(entity)).text
    return found if len(found) <= SECTION else lines(found, query)


def _named(page: str, query: str, level: int) -> str:
    """The feature of a class that a question names, and what features of its levels up to one say of it; "" for none."""
    sections = [Section(heading, text.strip()) for heading, text in own_texts(page)]
    if (named := asked_for(query, sections)) is None:
        return ""
    told = [f"[{named.heading}]\n{named.text if len(named.text) <= SECTION else lines(named.text, query)}"]
    name = named.heading.rpartition(": ")[2]
    for each in sections:
        gained = asks_for_a_level(each.heading)
        if gained and gained <= level and each.heading != named.heading and name in each.text:
            told.append(f"[{each.heading}]\n{snippet(each.text, CLAUSE)}")
    return "\n".join(told)


def _says(text: str, query: str, entity: Entity) -> bool:
    """Whether a text has a word of a question, besides those that say which entry it is about."""
    stems = word_stems(query)
    about = occurring(stems, f"{entity.name} {entity.kind} {entity.collection.label}")
    return bool(occurring([stem for stem in stems if stem not in about], text))


def _elsewhere(entity: Entity, shown: str, told: str, query: str) -> Iterator[str]:
    """The lines of an entry that have words of a question which what is told of it lacks, with the heading of each section.

    Of a group those sections are read that have most of these words. What is secret is marked if the one that is ``shown`` is not.
    """
    asked = " ".join(word for word in without_asking(query).split() if len(word) >= SHORTEST)
    said = spelt_out(f"{entity.name} {entity.kind} {told}")
    lacking = set(word_stems(asked)).difference(occurring(word_stems(asked), said))
    numbers = _NUMBER.findall(query)
    room = ELSEWHERE
    for group in _groups(entity) if lacking else ():
        held = Counter(stem for each in group for piece in _pieces(each.text) for stem in occurring(lacking, piece))
        words = [word for word in asked.split() if 0 < held[word[:STEM]] <= COMMON]
        has = [len(occurring({word[:STEM] for word in words}, each.text)) for each in group]
        for section in (each for each, number in zip(group, has, strict=True) if number == max(has) > 0):
            found = lines(section.text, " ".join([*words, *numbers]), room).strip(" …\n")
            found = "\n".join(
                line for line in found.split("\n") if line.startswith("|") or line.strip("… ") not in told
            )
            if 0 < len(found) <= room:
                is_marked = is_secret(entity, section.heading) and not is_secret(entity, shown)
                mark = f"; {HIDDEN}" if is_marked else ""
                yield f"[{section.heading}{mark}]\n{found}" if section.heading else f"… {found}"
                room -= len(found)


def _groups(entity: Entity) -> Iterator[Sequence[Section]]:
    """The sections of an entry that are read together: each of a note by itself, all of another entry."""
    if entity.type == NOTES:
        yield from ([each] for each in written(entity))
    else:
        yield [Section(*each) for each in own_texts(_page(entity))]


def beginning(entity: Entity) -> str:
    """How the page of a long entry begins, and what else it has: a class its features by level, others their sections."""
    text = body(entity)
    if gained := levels(entity):
        return f"{text.partition(f'{chr(10)}## ')[0].rstrip()}\n\n{gained}"
    further = outline(_page(entity))
    return "\n\n".join([_cut(text, SECTION), *([f"Sections: {further}"] if further else [])])


def _of_note(note: Entity, section: str, query: str) -> str:
    """The same of a note: all of a short one; what one that is only named begins with, and its section; else that, or its lines."""
    facts, *sections = written(note)
    prose = [each for each in sections if each.text.strip()]
    headed = [each._replace(text=f"## {each.heading}\n{each.text}" if each.heading else each.text) for each in prose]
    whole = "\n\n".join(each.text.strip("\n") for each in (facts, *headed) if each.text.strip())
    chosen = [each for each in prose if section and each.heading == section]
    asked = " ".join(subject_words(fold(telling(beside_session(query)))))
    known = {*fold(" ".join([note.name, *aliases_of(note.data)])).split(), *all_function_words()}
    if note.kind != SESSION and len(whole) > WHOLE and known.issuperset(asked.split()):  # who somebody is
        begins = [each.text.strip("\n") for each in (facts, *prose) if not each.heading and each.text.strip()]
        begins += [f"[{section}]\n{each.text}" for each in chosen if section] or [
            each.text for each in headed if each.heading
        ]
        return _cut("\n".join(begins), SECTION)
    if note.kind == SESSION and asks_what_comes(query):
        ahead = "\n".join(each.text.strip("\n") for each in to_come(note) or tale(note))
        return ahead if len(ahead) <= SECTION else f"… {ahead[ahead.find(' ', -SECTION) + 1 :]}"
    if not _says(" ".join(each.text for each in chosen or prose), asked, note):
        if note.kind == SESSION and (arc := _arc(note)):
            return arc
        if len(whole) <= WHOLE:
            return whole
    text = "\n\n".join(each.text.strip("\n") for each in chosen or headed or [facts])
    told = text if len(text) <= SECTION else lines(text, query)
    return f"[{section}]\n{told}" if chosen else told


def _arc(note: Entity) -> str:
    """What a session's note tells: its lines that are more than facts, such as who came; as many of each section as fit."""
    prose = tale(note)
    lines_of = [
        [
            snippet(line.strip("- "), CLAUSE)
            for line in map(clean, each.text.split("\n"))
            if len(_SAID.findall(line)) >= TELLING
        ]
        for each in prose
    ]
    text = ""
    for most in range(max(map(len, lines_of), default=0), 0, -1):
        told = [
            f"{each.heading}: ".removeprefix(": ") + "\n".join(own[:most])
            for each, own in zip(prose, lines_of, strict=True)
            if own
        ]
        if len(text := "\n".join(told)) <= SECTION:
            break
    return _cut(text, SECTION)


def _part(page: str, wanted: str) -> str:
    """The part of a page that is called so, "" for none."""
    try:
        return part(page, wanted).text
    except NotFoundError:
        return ""


def lines(text: str, query: str, most: int = LINES) -> str:
    """The lines of a text that answer a question: those with its rare words, in their order, a list from its first item on.

    A question that has the title of the first column of a table asks for its rows.
    """
    pieces = _pieces(text)
    stems = word_stems(telling(query))
    heads = _heads(pieces)
    # a line says what stands in it and in the head of its table, or in what it stands below
    held = [
        occurring(stems, piece if head == n else f"{pieces[head]}\n{piece}")
        for n, (head, piece) in enumerate(zip(heads, pieces, strict=True))
    ]
    numbers = Counter(stem for own in held for stem in own)
    tables = {head for head in heads if pieces[head].startswith("|")}
    asked = {head for head in tables if frozenset() < word_stems(pieces[head].split("|")[1]).keys() <= stems.keys()}
    counts = asks_for_a_figure(query)
    figures = frozenset(_NUMBER.findall(query))
    is_left = not listed_words("word left").isdisjoint(fold(query).split())
    weights = [
        _weight(own, numbers, figure=(counts and has_a_figure(piece)) or not figures.isdisjoint(_NUMBER.findall(piece)))
        + bool(figures.intersection(_BEGINS_WITH.findall(piece)))
        + (is_left and TASK in piece)
        + COUNTED * (head in asked)
        for own, piece, head in zip(held, pieces, heads, strict=True)
    ]
    if not any(weights):
        return _cut(text, most)
    chosen: set[int] = set()
    for number in sorted(range(len(pieces)), key=lambda n: -weights[n]):
        if not weights[number] or weights[number] < max(weights) / 3:
            break
        needed = {heads[number], *_with_what_it_needs(pieces, heads, number)}
        is_whole = pieces[number].startswith("|") or points_back(pieces[number])
        if is_whole and chosen and _length(pieces, chosen.union(needed)) > most:
            continue
        for each in sorted(needed, key=lambda n: (-weights[n] if _is_row(pieces, heads, n) else -math.inf, n)):
            if chosen and _length(pieces, chosen | {each}) > most:
                break
            chosen.add(each)
    told = {heads[number] for number in chosen if heads[number] != number}  # a heading alone says nothing
    chosen = {number for number in chosen if number in told or not _is_heading(pieces[number])} or chosen
    return _cut(_in_order(pieces, heads, chosen), most + LONG)


def _length(pieces: Sequence[str], chosen: set[int]) -> int:
    return sum(len(pieces[number]) for number in chosen)


def _heads(pieces: Sequence[str]) -> list[int]:
    """For each line its place, for a row of a table that of the head of the table, for others that of the heading above."""
    heads: list[int] = []
    above = None
    for number, piece in enumerate(pieces):
        above = number if _is_heading(piece) else above
        if piece.startswith("|"):
            heads.append(heads[-1] if number and pieces[number - 1].startswith("|") else number)
        else:
            heads.append(number if above is None else above)
    return heads


def _is_row(pieces: Sequence[str], heads: Sequence[int], number: int) -> bool:
    """Whether a line is a row of a table below its head."""
    return heads[number] != number and pieces[number].startswith("|")


def _is_heading(piece: str) -> bool:
    return bool(HEADING.match(piece) or _CAPTION.fullmatch(piece))


def _weight(stems: Sequence[str], numbers: Mapping[str, int], *, figure: bool) -> float:
    """How much a line says: its words, rare ones before common ones, and a figure where one is asked for."""
    return sum(1 / math.sqrt(numbers[stem]) for stem in stems) + (COUNTED if figure and stems else 0.0)


def _pieces(text: str) -> list[str]:
    """Lines, and of long ones their sentences; the rule below the head of a table stays with the head."""
    found: list[str] = []
    for line in text.split("\n"):
        if re.fullmatch(r"[\s|:-]+", line) and "|" in line and found:
            found[-1] += f"\n{line}"
        elif line.startswith(" ") and found and _ITEM.match(found[-1]) and not _ITEM.match(line):
            found[-1] += f" {line.strip()}"  # the item goes on
        elif line.strip():
            found += [line] if len(line) <= LONG or line.startswith("|") else list(sentences(line))
    return found


def _with_what_it_needs(pieces: Sequence[str], heads: Sequence[int], number: int) -> list[int]:
    """A line with the head of its table, what it introduces or is the heading of, the items of a list above and below it, or what
    it points back to."""
    piece = pieces[number]
    if piece.startswith("|"):
        return [heads[number], number]
    if _leads(piece):
        end = number + 1
        while end < len(pieces) and not HEADING.match(pieces[end]) and (end == number + 1 or _ITEM.match(pieces[end])):
            end += 1
        return list(range(number, end))
    if _ITEM.match(piece):
        end = number + 1
        while end < len(pieces) and _indent(pieces[end]) > _indent(piece):
            end += 1
        above = next((n for n in range(number - 1, -1, -1) if _indent(pieces[n]) < _indent(piece)), number)
        return [*([above] if _ITEM.match(pieces[above]) else []), *range(number, end)]
    begin, room = number, LINES
    while begin and points_back(pieces[begin]) and not pieces[begin - 1].startswith(("|", "#")) and room > 0:
        begin -= 1
        room -= len(pieces[begin])
        if _leads(pieces[begin]) or _ITEM.match(pieces[begin]):
            return [*_with_what_it_needs(pieces, heads, begin), *range(begin + 1, number + 1)]
    return list(range(begin, number + 1))


def _leads(piece: str) -> bool:
    """Whether a line is the heading of what follows, or introduces it."""
    return _is_heading(piece) or piece.rstrip().rstrip("*").endswith(":")


def _indent(piece: str) -> int:
    return len(piece) - len(piece.lstrip())


def _in_order(pieces: Sequence[str], heads: Sequence[int], chosen: set[int]) -> str:
    """Chosen lines, with an ellipsis wherever something is left out: between them, at the end, and as a row within a table."""
    text = ""
    for number in range(min(chosen), len(pieces)):
        is_row = _is_row(pieces, heads, number)
        if number in chosen:
            gap = "…\n" if pieces[number].startswith("|") else "… "
            gap = gap if text and number - 1 not in chosen and not is_row else ""
            text += f"{chr(10) if text else ''}{gap}{pieces[number]}"
        elif number - 1 in chosen and is_row:
            text += f"\n{'| … ' * pieces[number].count(' |')}|"
    is_whole = len(pieces) - 1 in chosen or text.endswith("… |")
    return text if is_whole else f"{text}{chr(10) if text.endswith('|') else ' '}…"


def _cut(text: str, most: int) -> str:
    """The beginning of a text up to the end of a line or a sentence."""
    if len(text) <= most:
        return text
    end = max(text.rfind("\n", 0, most), text.rfind(". ", 0, most) + 1, most // 2)
    return f"{text[:end].rstrip()} …"
