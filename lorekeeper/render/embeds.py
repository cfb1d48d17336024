"""Notes that are embedded in the text of another one: what stands in their place, as a quotation.

All is made of entries as their viewer sees them: a secret of an embedded note is no more visible here than in the note itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lorekeeper.entities import Entity
from lorekeeper.records.notes import BETWEEN, Section, links_of, sections_of
from lorekeeper.render.prose import inline, prose
from lorekeeper.text.notes import new_headings, parts_under
from lorekeeper.text.secrecy import said_of_section

MAX_DEPTH = 3
"""Notes embedded in notes that are embedded."""

MAX_EMBEDDED = 20
"""Most notes that are embedded in one, at any depth."""

MAX_CHARS = 40_000
"""Most characters of them."""

_LEAD = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,3}[.)]\s+)?")
_QUOTES = re.compile(r"[ \t]*(?:>[ \t]?)*")


@dataclass(frozen=True)
class Embed:
    """An embedded note: its path, the heading that it is embedded from, "" for all of it, and what is shown of the link."""

    path: str
    heading: str
    shown: str


def embeds(entity: Entity, section: Section) -> list[Embed]:
    """What is embedded in a section of a note, in reading order; not blocks, of which no text is known."""
    from lorekeeper.notes.links import LINK, target_of

    if "![" not in section.written:
        return []
    paths = {link.target: link.to for link in links_of(entity.data)}
    found = list[Embed]()
    for match in LINK.finditer(section.written):
        target, heading, shown = target_of(match)
        path = paths.get(target)
        is_embedded = bool(match["embed"] or match["image"]) and "#^" not in match[0]
        if is_embedded and path:
            found.append(Embed(path, heading, shown))
    return found


def embedded_in(entity: Entity) -> list[str]:
    """The paths of the notes that are embedded in a note."""
    found = (each.path for section in sections_of(entity.data) for each in embeds(entity, section))
    return list(dict.fromkeys(found))


@dataclass
class Embedding:
    """Puts embedded notes into the texts of one page.

    Attributes:
        others: by their paths the notes that may be embedded, as the viewer sees them.
        number, room: how many have been, and the characters that are left for further ones.
    """

    others: Mapping[str, Entity]
    number: int = 0
    room: int = field(default=MAX_CHARS)

    def text(self, entity: Entity, section: Section, within: tuple[str, ...] = ()) -> str:
        """The text of a section, with what is embedded in it below the lines that name it."""
        text = prose(section.text)
        found = embeds(entity, section) if self.others else []
        if not found:
            return text
        lines, at = text.split("\n"), 0
        for each in found:
            place = _place(lines, each.shown, at)
            quoted = list(self._quoted(each, (*within, entity.slug))) if place is not None else []
            if place is None or not quoted:
                continue
            line = lines[place]
            is_alone = line[len(_leading(line, _LEAD)) :].strip() == each.shown
            before = _leading(line, _QUOTES)
            put = [f"{before}> {inner}".rstrip() for inner in quoted]
            lines[place : place + 1] = [*([] if is_alone else [line, before.rstrip()]), *put, before.rstrip()]
            at = place + len(put)
        return "\n".join(lines).strip("\n")

    def _quoted(self, each: Embed, within: tuple[str, ...]) -> Iterator[str]:
        """The lines of an embedded note; none if it is what it stands in, or there is no room for it."""
        other = self.others.get(each.path)
        is_too_much = self.number >= MAX_EMBEDDED or len(within) > MAX_DEPTH or self.room <= 0
        if other is None or each.path in within or is_too_much:
            return
        self.number += 1
        yield f"**{inline(BETWEEN.join(filter(None, (other.name, each.heading))))}**"
        before = each.heading
        for section in parts_under(other, each.heading):
            new = new_headings(section.path, before)
            headings = [f"**{inline(text)}**" for _, text in new if text != each.heading]
            text = self.text(other, section, within)
            shown = text if len(text) <= self.room else f"{text[: self.room]} …"
            self.room -= len(shown)
            for block in filter(None, (*headings, said_of_section(other, section), shown)):
                yield ""
                yield from block.split("\n")
            before = section.path


def _place(lines: list[str], shown: str, at: int) -> int | None:
    """The next line that shows a link: one that has nothing else, or one that is no row of a table."""
    following = range(at, len(lines))
    alone = (i for i in following if lines[i][len(_leading(lines[i], _LEAD)) :].strip() == shown)
    beside = (i for i in following if shown in lines[i] and not lines[i].lstrip("> ").startswith("|"))
    return next(alone, next(beside, None))


def _leading(line: str, pattern: re.Pattern[str]) -> str:
    match = pattern.match(line)
    return match[0] if match else ""
