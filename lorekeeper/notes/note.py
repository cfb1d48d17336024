"""What there is to know of one note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from lorekeeper.audience import Audience
from lorekeeper.records.notes import WRITTEN as WRITTEN

PATH_SEPARATOR = " > "
"""Between the headings of a section's path."""


@dataclass(frozen=True)
class Link:
    """A link from a note to another one.

    Attributes:
        target: name or path of the other note as written, without heading, percent signs or backslashes.
        heading: the heading it points to, "" for the whole note.
        shown: what the reader sees of it.
        section: heading path of the section that it is in.
        embedded: whether the other note is shown in its place.
        audience: who may see the section that it is in, as for `Section`.
        opened: of that heading path, as for `Section`.
    """

    target: str
    heading: str = ""
    shown: str = ""
    section: str = ""
    embedded: bool = False
    audience: Audience | None = None
    opened: str = ""


@dataclass(frozen=True)
class Section:
    """A stretch of a note's text under one heading.

    Attributes:
        path: the headings above it, outermost first, joined by `PATH_SEPARATOR`, without the title of the note; "" for what
            stands before the first of them.
        text: Markdown, without what only Obsidian understands.
        mark: what makes it secret, as written: a heading, a callout, a comment. "" if nothing does, also where a heading
            such as "Public Knowledge" opens it to all players.
        audience: who may see it, if a mark says so; None if only the note decides.
        continues: whether it goes on with the section before, from which something with a mark of its own was cut out.
        opened_by: what opens it to all players, as written; "" if nothing does.
        opened: of its path what stands from the heading on that opens it; "" if none does.
        written: the same with links, embedded notes and callouts as written; "" if there are none.
        tells: "told" if its headings say that it tells what happened, "ahead" of what is to come, "before" of what was; else "".
    """

    path: str
    text: str
    mark: str = ""
    audience: Audience | None = None
    continues: bool = False
    opened_by: str = ""
    opened: str = ""
    written: str = ""
    tells: str = ""


@dataclass(frozen=True)
class StatBlock:
    """A stat block in a note, as its keys and values were written; also a spell or an item as books print them.

    Attributes:
        values: by key; text, numbers, lists and objects.
        section: heading path of the section that it is in.
        base: name of a creature of the library that it changes, "" for none.
        mark: as for `Section`.
        audience: as for `Section`.
        opened_by: as for `Section`.
        opened: as for `Section`.
        kind: creature, spell or item.
    """

    values: Mapping[str, object]
    section: str = ""
    base: str = ""
    mark: str = ""
    audience: Audience | None = None
    opened_by: str = ""
    opened: str = ""
    kind: str = "creature"


NEW, MOVED_PLACE = "new heading", "moved text"
"""Places of `Held`: what waits since nobody has looked at it."""


@dataclass(frozen=True)
class Held:
    """Something that is closed, in a note that is or could be open.

    Attributes:
        place: what it is: "heading", "callout", "key", "text", "alias", "name", `NEW` or `MOVED_PLACE`.
        text: what is closed, as written.
        stem: the word or sign that closes it; "" where another mark does, or nobody has looked at it.
        said: the text that has the stem: by this it is opened.
    """

    place: str
    text: str
    stem: str = ""
    said: str = ""


@dataclass(frozen=True)
class Note:
    """One note, read.

    Attributes:
        path: within its vault, with "/", in NFC.
        name: from front matter, the first heading, or the file or folder.
        kind: "npc", "session", ...; "note" if nothing says so.
        aliases: its other names, each once.
        tags: without "#", in lower case.
        secret_tags: those of them that stand in secret stretches only.
        secret_aliases: those of its other names that a stem closes.
        session: number of the session it is about, None for none.
        session_date: its date, if that is a date of our calendar.
        dated: the date that the note states, of its session or another, if that is a date of our calendar.
        facts: from front matter, ``**Key**: value`` lines, tables and infoboxes, by key as written; none from a stretch
            that is kept secret.
        facts_in_text: keys of the facts that a section states as well. The others stand in no section.
        keys: those of front matter, with their values, that are no facts: its type, and how it looks.
        sections: in reading order; paths may repeat.
        links: in reading order, repetitions included.
        stat_blocks: in reading order.
        audience: who may see the whole note, if front matter or the file's name says so.
        mark: what keeps it from players; "" if nothing does.
        opened_by: what opens it to all of them; "" if nothing does.
        title_from: what the name comes from: "name" or "title" of the front matter, "heading", "file" or "folder".
        heading: the first heading, if it is the title of the whole note: it stands in no section's path. "" for none.
        headings: paths of the headings that nothing closes, in reading order; a path stands there as often as in the note.
        said: paths of those that say they are for players.
        held: what is closed of it, by stems and since nobody has looked at it.
        waits: whether it is shared, and closed since nobody has looked at it.
        problems: what could not be read, and was left out.
        doubts: what stands where it is said who may see the note, and is not understood.
        unread: why the note is not read as it is meant, and its text is stored as it stands; "" if it is.
    """

    path: str
    name: str
    kind: str = "note"
    aliases: Sequence[str] = ()
    tags: Sequence[str] = ()
    secret_tags: Sequence[str] = ()
    secret_aliases: Sequence[str] = ()
    session: float | None = None
    session_date: date | None = None
    dated: date | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    facts_in_text: Sequence[str] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    links: Sequence[Link] = ()
    stat_blocks: Sequence[StatBlock] = ()
    audience: Audience | None = None
    mark: str = ""
    opened_by: str = ""
    title_from: str = "file"
    heading: str = ""
    headings: Sequence[str] = ()
    said: Sequence[str] = ()
    held: Sequence[Held] = ()
    waits: bool = False
    problems: Sequence[str] = ()
    doubts: Sequence[str] = ()
    unread: str = ""
