"""The body of a note: its sections, links, facts, tags and stat blocks, and what is secret of them."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.folding import fold
from lorekeeper.notes.callouts import INFOBOX, Callout, callouts, retitled, unquoted
from lorekeeper.notes.cuts import Cut, cut_callouts, cut_lines, cut_spans, infobox_lines, is_underlined
from lorekeeper.notes.facts import Pair, infobox, leading, tables
from lorekeeper.notes.footnotes import Footnotes
from lorekeeper.notes.kinds import ALONE, Usage, told_under
from lorekeeper.notes.links import read_inline
from lorekeeper.notes.marks import (
    MOVED,
    TAG,
    UNMARKED,
    WAITS,
    Mark,
    OwnMarks,
    audience_of,
    is_of_tags,
    key_mark,
    narrowest,
    title_mark,
)
from lorekeeper.notes.names import file_name, is_generic, plain
from lorekeeper.notes.note import MOVED_PLACE, NEW, PATH_SEPARATOR, Held, Link, Section, StatBlock
from lorekeeper.notes.source import OPEN, Code, blocks, language, span
from lorekeeper.notes.spans import LEAD
from lorekeeper.notes.tidying import Tidying
from lorekeeper.records.printed import Printed, printed
from lorekeeper.records.stat_blocks import LANGUAGE, StatBlockError, read_stat_block

DEEPEST = 8
"""Marked stretches within marked stretches; what is deeper is for the game master alone."""


@dataclass(frozen=True)
class Heading:
    """A heading: its level (1 to 6), its text without marks of Markdown, and what it says of who may see what follows."""

    level: int
    text: str
    mark: Mark = UNMARKED


@dataclass(frozen=True)
class Place:
    """Where in a note something stands: under which headings, and within which secret."""

    headings: tuple[Heading, ...] = ()
    mark: Mark = UNMARKED
    depth: int = 0
    line: int = 0

    @property
    def path(self) -> str:
        """The headings, outermost first."""
        return PATH_SEPARATOR.join(heading.text for heading in self.headings)

    @property
    def marked(self) -> Mark:
        """What says who may see it: of the headings above it and what it is within, what lets the fewest see it."""
        return narrowest((*(heading.mark for heading in reversed(self.headings)), self.mark))

    def under(self, heading: Heading) -> Place:
        """The place below a heading that stands here."""
        above = tuple(h for h in self.headings if h.level < heading.level)
        return replace(self, headings=(*above, heading) if heading.text else above)

    def within(self, mark: Mark, line: int) -> Place:
        """The place within a secret that was cut out here."""
        unmarked = tuple(replace(heading, mark=UNMARKED) for heading in self.headings)
        return Place(unmarked, narrowest((mark, self.marked)), self.depth + 1, line)


@dataclass(frozen=True)
class Fact:
    """A fact, and whether the text of a section states it as well."""

    key: str
    value: str
    in_text: bool = False


@dataclass
class Body:
    """What was read of a note's body, each in reading order.

    Attributes:
        code: the code that is hidden in its lines.
        path: the note's own.
        own: the user's own marks.
        lone_tags: of the lines that have tags alone: those are of the whole note.
        values: what queries for the note's own keys are answered with, by folded key.
        usage: what its vault says of the note.
        is_open: whether a mark of the whole note opens it, so that its headings wait until they were looked at.
        title: its first heading, if that is the title of the whole; "" for none.
        headings: paths of those that nothing closes.
        said: paths of those among them that say they are for players.
        held: what a stem closes.
    """

    code: Code
    path: str
    own: OwnMarks
    values: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = False
    usage: Usage = ALONE
    title: str = ""
    headings: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    footnotes: Footnotes = field(default_factory=Footnotes)
    sections: list[Section] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    links: list[tuple[int, Link]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    lone_tags: list[str] = field(default_factory=list)
    secret_tags: list[str] = field(default_factory=list)
    stat_blocks: list[StatBlock] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read(self, lines: Sequence[str], place: Place) -> None:
        """Read a stretch of lines that stands at a place."""
        if place.depth >= DEEPEST:
            place = replace(place, mark=narrowest((place.mark, Mark("marks within marks", DM))))
        left, cuts = self._cut(lines, place)
        tokens = blocks(left)
        printed_in = printed(list(map(self.code.show, left)))
        parts = self._parts(left, tokens, place)
        starts = [start for start, _ in parts]
        cuts = [cut for cut in cuts if not _put_back(left, cut, _place_at(parts, cut.line))]
        closed = (_held(cut) for cut in cuts if _place_at(parts, cut.line).marked.audience != DM)
        self.held += [replace(each, text=self.code.show(each.text)) for each in closed]
        self._complete(left, parts)
        self._read_printed(printed_in, parts)
        self._read_blocks(left, tokens, parts)
        waiting: dict[int, list[Cut]] = {}
        for cut in cuts:
            waiting.setdefault(max(0, bisect.bisect_right(starts, cut.line) - 1), []).append(cut)
        for i, (start, here) in enumerate(parts):
            end = starts[i + 1] if i + 1 < len(parts) else len(left)
            self._read_part(left, start, end, here, waiting.get(i, []))

    def _complete(self, lines: list[str], parts: Sequence[tuple[int, Place]]) -> None:
        """Put in place what stands elsewhere in the note: footnotes, and values of its front matter.

        The values are those of the note: a part that is open to others than the note has none.
        """

        def audience_at(line: int) -> Audience | None:
            return _place_at(parts, line).marked.audience

        self.footnotes.place(lines, audience_at)
        for number, line in enumerate(lines):
            if OPEN in line and audience_at(number) in (None, DM):
                lines[number] = self.code.answered(line, self.values)

    def _cut(self, lines: Sequence[str], place: Place) -> tuple[list[str], list[Cut]]:
        if place.depth >= DEEPEST:
            return list(lines), []
        left, cuts = list(lines), list[Cut]()
        if any("[!" in line for line in lines):
            left, cuts = cut_callouts(lines, blocks(lines), self.own)
        left, stretches, problems = cut_spans(left, self.own)
        self.problems += problems
        keyed = list[Cut]()
        if place.marked.audience != DM:
            boxes = infobox_lines(left, blocks(left)) if any("[!" in line for line in left) else frozenset[int]()
            left, keyed = cut_lines(left, boxes, self.own)
        found = sorted(cuts + stretches + keyed, key=lambda cut: cut.line)
        return left, found

    def _parts(self, lines: list[str], tokens: Sequence[Token], place: Place) -> list[tuple[int, Place]]:
        """The places of a stretch, each with the number of its first line; the headings leave the lines."""
        found = [
            (start, end, Heading(each.level, self.code.show(each.text).replace("`", "")))
            for start, end, each in headings(lines, tokens)
        ]
        levels = [
            each.level
            for i, (_, _, each) in enumerate(found)
            if not i or title_mark(each.text, self.own).audience != DM
        ]
        has_title = bool(found) and place.depth == 0 and is_title(found[0][2].text, levels, self.path, self.usage)
        places = [place]
        for _, _, each in found[has_title:]:
            places.append(places[-1].under(each))
        counts = Counter(each.path for each in places)
        parts = [(0, place)]
        for i, (start, end, each) in enumerate(found):
            if i == 0 and has_title:
                self.title = each.text
                mark = title_mark(each.text, self.own)
                # the title stands in no path, but what it says of secrecy holds for all below it
                here = replace(place, mark=mark if mark.audience is not None else place.mark)
            else:
                here = self._under(parts[-1][1], each, counts)
            parts.append((start, here))
            for number in range(start, end):
                self._add_links(lines[number], place.line + number, here)
                lines[number] = ""
        return parts

    def _under(self, place: Place, heading: Heading, counts: Mapping[str, int]) -> Place:
        """The place below a heading: a stem closes it, and so does that nobody has looked at it where the note is open."""
        unmarked = place.under(heading)
        said, path = audience_of(heading.text, own=self.own), unmarked.path
        mark = title_mark(heading.text, self.own)
        is_shown = self.own.seen is not None and self.own.seen.is_shown
        is_open = self.is_open or is_shown or unmarked.marked.audience == PLAYERS
        if mark.audience is None and place.depth == 0 and heading.text:
            if said.audience == PLAYERS and self.own.opens(path):
                mark = Mark(heading.text, PLAYERS)
            elif is_open and not self.own.has_seen(path, counts[path]):
                mark = Mark(WAITS, DM)
                if unmarked.marked.audience != DM:
                    self.held.append(Held(NEW, path))
        elif mark.audience == DM and unmarked.marked.audience != DM:
            self.held.append(held_by(mark, "heading"))
        here = place.under(replace(heading, mark=mark))
        if place.depth == 0 and heading.text and here.marked.audience != DM:
            self.headings.append(path)
            self.said += [path] if said.audience == PLAYERS else []
        return here

    def _read_blocks(self, lines: list[str], tokens: Sequence[Token], parts: Sequence[tuple[int, Place]]) -> None:
        """Take facts and stat blocks out of the blocks that hold them, and give callouts their titles."""

        def place_of(line: int) -> Place:
            return _place_at(parts, line)

        for callout in callouts(lines, tokens):
            self._read_callout(lines, callout, place_of(callout.start))
        for token in tokens:
            if token.type == "fence" and language(token) == LANGUAGE:
                self._read_stat_block(lines, token, place_of(span(token)[0]))
        for rows in tables(lines, tokens):
            here = place_of(rows[0][0])
            if here.path and not secret(here):
                self.facts += (Fact(key, self._value(value), in_text=True) for _, key, value in rows if key and value)

    def _read_callout(self, lines: list[str], callout: Callout, place: Place) -> None:
        if callout.word.casefold() not in INFOBOX or secret(place):
            lines[callout.start] = retitled(lines[callout.start], callout)
            return
        inner = [unquoted(line, callout.depth) for line in lines[callout.start + 1 : callout.end]]
        pairs, rest = infobox(inner, callout.start + 1)
        self._take(pairs, place)
        length = callout.end - callout.start
        lines[callout.start : callout.end] = (rest + [""] * length)[:length]

    def _read_stat_block(self, lines: list[str], token: Token, place: Place) -> None:
        start, end = span(token)
        try:
            values, base = read_stat_block(self.code.show(token.content))
        except StatBlockError as error:
            self.problems.append(f"stat block: {error}")
            return
        self._add_stat_block(values, place, base)
        lines[start:end] = [""] * (end - start)

    def _read_printed(self, found: Sequence[Printed], parts: Sequence[tuple[int, Place]]) -> None:
        """Add what the text prints as books do; it stays in the text as well."""
        for entry in found:
            self._add_stat_block(entry.values, _place_at(parts, entry.start), kind=entry.kind)

    def _add_stat_block(
        self, values: Mapping[str, object], place: Place, base: str = "", kind: str = "creature"
    ) -> None:
        mark = place.marked
        opened = self._opened(place, mark)
        self.stat_blocks.append(
            StatBlock(values, place.path, base, mark.text, mark.audience, mark.opening, opened, kind)
        )

    def _read_part(self, lines: list[str], start: int, end: int, place: Place, cuts: Sequence[Cut]) -> None:
        if not place.path and not secret(place) and place.depth == 0:
            pairs, taken = leading(lines[start:end], start)
            self._take(pairs, place)
            for i in taken:
                lines[start + i] = ""
        at, begun = start, False
        for cut in cuts:
            to = min(max(cut.line, at), end)
            begun |= self._add_section(lines[at:to], place.line + at, place, continues=begun)
            self.read(cut.lines, place.within(cut.mark, place.line + cut.line))
            at = to
        self._add_section(lines[at:end], place.line + at, place, continues=begun)

    def _take(self, pairs: Sequence[Pair], place: Place) -> None:
        """Facts that leave the text; a key such as "Secret" makes a secret stretch of its own instead."""
        for line, key, value in pairs:
            mark = key_mark(key, value, self.own)
            self._add_links(value, place.line + line, place.within(mark, 0) if mark.audience == DM else place)
            if mark.audience == DM:
                self.held.append(held_by(mark, "key"))
                self.sections.append(Section(place.path, f"**{key}**: {self._value(value)}", mark.text, mark.audience))
            elif key and value:
                self.lone_tags += TAG.findall(value) if is_of_tags(value) else []
                self.facts.append(Fact(self.code.show(key), self._value(value)))

    def _add_links(self, text: str, line: int, place: Place) -> None:
        self._keep_links(((line, link) for link in read_inline(text, place.path).links), place)

    def _keep_links(self, found: Iterable[tuple[int, Link]], place: Place) -> None:
        mark = place.marked
        opened = self._opened(place, mark)
        self.links += ((line, replace(link, audience=mark.audience, opened=opened)) for line, link in found)

    def _opened(self, place: Place, mark: Mark) -> str:
        """Of the headings of a place those from the one on that opens it to players; "" if none does."""
        if mark.audience in (None, DM):
            return ""
        texts = [heading.text for heading in place.headings]
        opening = (
            i
            for i, text in enumerate(texts)
            if title_mark(text, self.own).audience == PLAYERS or self.own.opens(PATH_SEPARATOR.join(texts[: i + 1]))
        )
        return PATH_SEPARATOR.join(texts[next(opening, len(texts)) :])

    def _value(self, written: str) -> str:
        return self.code.show(read_inline(written).text).strip()

    def _add_section(self, lines: Sequence[str], line: int, place: Place, *, continues: bool) -> bool:
        """Add a stretch as a section; whether it has any words."""
        last = place.headings[-1].text if place.headings else ""
        tidying = Tidying(place.path, fold(last))
        text, written = map(self.code.show, tidying.texts(lines, line))
        mark = place.marked
        self._keep_links(tidying.links, place)
        (self.secret_tags if secret(place) else self.tags).extend(tidying.tags)
        self.lone_tags += [] if secret(place) else tidying.lone_tags
        if not secret(place):
            self.facts += (Fact(key, value, in_text=True) for key, value in tidying.fields)
        has_words = re.search(r"\w", text) is not None
        if has_words:
            opened = self._opened(place, mark)
            told = (place.path, text, mark.text, mark.audience, continues, mark.opening, opened, written)
            section = Section(*told, told_under(heading.text for heading in place.headings))
            self.sections.append(section)
        return has_words


def is_title(heading: str, levels: Sequence[int], path: str, usage: Usage) -> bool:
    """Whether the first of the headings, whose levels are given, is the title of a note.

    One of the first level is; among others of its level only if it has a word of the file's name, a lower one if it is that.
    """
    words, named = fold(heading).split(), fold(file_name(path)).split()
    if levels[0] > 1:
        return bool(words) and words == named
    return bool(words) and (levels.count(1) == 1 or not (is_generic(heading, usage) or set(named).isdisjoint(words)))


def _place_at(parts: Sequence[tuple[int, Place]], line: int) -> Place:
    return parts[max(0, bisect.bisect_right(parts, line, key=lambda part: part[0]) - 1)][1]


def _put_back(lines: list[str], cut: Cut, place: Place) -> bool:
    """Put back what only its key keeps secret, where all around it is for the game master alone; whether it was."""
    if cut.stood is None or place.marked.audience != DM:
        return False
    first, stood = cut.stood
    lines[first : first + len(stood)] = stood
    return True


def _held(cut: Cut) -> Held:
    """What was cut out, for the list of what waits: a callout by its head, anything else by its first line."""
    if cut.mark.written.startswith("> [!"):
        return held_by(cut.mark, "callout")
    text = next((LEAD.sub("", line, count=1).strip() for line in cut.lines if line.strip()), "")
    return Held(MOVED_PLACE if cut.mark.written == MOVED else "text", text, cut.mark.stem, cut.mark.said)


def held_by(mark: Mark, place: str) -> Held:
    """What a mark closes, for the list of what waits."""
    return Held(place, mark.written, mark.stem, mark.said)


def secret(place: Place) -> bool:
    """Whether something says that not everybody may see what stands at a place."""
    return place.marked.audience not in (None, PLAYERS)


def headings(lines: Sequence[str], tokens: Sequence[Token]) -> list[tuple[int, int, Heading]]:
    """The headings that are not within other blocks: first line, the line after, and the heading.

    A line over "---" is a heading by the rules of Markdown, but more often a paragraph over a rule: it is taken as one
    only if it is short and no fact.
    """
    found = []
    for i, token in enumerate(tokens):
        if (
            token.type != "heading_open"
            or token.level
            or (token.markup == "-" and not is_underlined(lines, span(token)[0]))
        ):
            continue
        start, end = span(token)
        found.append((start, end, Heading(int(token.tag[1:]), plain(tokens[i + 1].content))))
    return found
