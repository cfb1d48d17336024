"""One note: from its text to what there is to know of it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from operator import itemgetter

from lorekeeper.audience import DM
from lorekeeper.folding import fold
from lorekeeper.notes.body import Body, Fact, Place, held_by
from lorekeeper.notes.facts import HEADED, KNOWN, pairs_in
from lorekeeper.notes.keys import DONE, state_of
from lorekeeper.notes.kinds import (
    ALONE,
    CHARACTER,
    KIND_KEYS,
    NOTE,
    PREP,
    QUEST,
    SESSION,
    Usage,
    date_of,
    kind_of,
    known,
    misdated,
    session_of,
    stated_date,
)
from lorekeeper.notes.links import read_inline, without_references
from lorekeeper.notes.marks import (
    BUILT_IN,
    LINK,
    NAME,
    UNMARKED,
    Mark,
    OwnMarks,
    audience_of,
    narrowest,
    path_mark,
    says_plan,
    tag_mark,
    title_mark,
)
from lorekeeper.notes.names import ALIAS_KEYS, aliases_of, file_name, is_generic, name_of
from lorekeeper.notes.note import PATH_SEPARATOR, Link, Note, Section, StatBlock
from lorekeeper.notes.properties import (
    READ_ALONE,
    TAG_KEYS,
    Properties,
    joined,
    joined_with,
    listed,
    texts,
    written_tags,
)
from lorekeeper.notes.source import Code, front_matter, normal
from lorekeeper.notes.visibility import (
    STRICT,
    doubts,
    field_mark,
    has_unsure_mark,
    is_key,
    is_mark,
    is_secret_key,
    kind_mark,
    property_mark,
    says_audience,
)
from lorekeeper.printable import one_line
from lorekeeper.records.notes import AHEAD, TOLD
from lorekeeper.records.printed import CREATURE
from lorekeeper.records.stat_blocks import base_of, in_front_matter
from lorekeeper.shares import NOTE as BY_ITSELF
from lorekeeper.words import listed as words

_HTML_HEADING = re.compile(r"<h([1-6])(\s[^<>]{0,500})?>([^\n]{0,500}?)</h\1\s*>", re.IGNORECASE)

_WORD = re.compile(r"[^\W\d_]")

SETTINGS = frozenset(words("key look"))
"""Folded keys of front matter by which people and plugins say how a note looks."""


FEWEST_AHEAD = 3
"""Parts by which a note of no kind is a plan, at least."""

UNREAD = Mark("a note that cannot be read", DM)
"""What keeps a note from players of which nobody knows what its marks are."""


def read_note(path: str, text: str, own: OwnMarks = BUILT_IN, usage: Usage = ALONE) -> Note:
    """Read one note. Nothing that a text may hold is an error: what has no sense is in `Note.problems`.

    A note at which reading fails is a `plain_note`: its error is its own, and other notes are read.

    Args:
        path: of the note within its vault, with "/" or "\\\\" between folders.
        text: of the whole file; a byte order mark, any line ends and any form of Unicode are taken.
        own: the user's own marks of who may see something, and what was shared and looked at.
        usage: what its vault says of it.
    """
    path = unicodedata.normalize("NFC", path.replace("\\", "/"))
    try:
        return _read(path, normal(text), own.of_note(path, usage.spoken), usage)
    except MemoryError:
        raise
    except Exception as error:
        return plain_note(path, text, error)


def plain_note(path: str, text: str, error: Exception) -> Note:
    """A note that cannot be read as it is meant: its text as it stands, for the game master alone."""
    said = f"{type(error).__name__}: {one_line(str(error))[:200]}".removesuffix(": ")
    reason = f"cannot be read ({said}); its text is stored as it stands, and players do not see it"
    section = Section("", normal(text).strip(), UNREAD.text, DM)
    return Note(path, file_name(path), sections=[section], mark=UNREAD.text, audience=DM, unread=reason)


def _read(path: str, text: str, own: OwnMarks, usage: Usage) -> Note:
    """The note that a text in normal form is."""
    front = front_matter(text)
    properties, problems = joined(front.blocks)
    block = in_front_matter(properties.values, lambda key, value: is_mark(key, value, own))
    if block:
        named = {"name": name} if (name := properties.text("name")) else {}
        properties = _without(properties, block)
    if front.is_unclosed:
        properties.is_broken = True
        problems.append("front matter: it has no end (---); players do not see the note")
    if has_unsure_mark(properties, own):
        closed = "; players do not see the note"
        problems = [problem.replace(READ_ALONE, closed) for problem in problems]
    problems += misdated(properties)
    code = Code()
    opening = narrowest((property_mark(properties, own), path_mark(path, own)))
    body = Body(code, path, own, _values(path, properties, own), opening.audience not in (None, DM), usage)
    lines = itertools.chain.from_iterable(map(_headings, code.hidden(front.lines, own)))
    body.read(without_references(list(lines)), Place())
    body.problems[:0] = problems
    if block and fold(str(named.get("name"))) not in {fold(str(each.values.get("name"))) for each in body.stat_blocks}:
        body.stat_blocks.insert(0, StatBlock({**named, **block}, base=base_of(block)))
    return _note(path, properties, body, opening)


def _without(properties: Properties, block: Mapping[str, object]) -> Properties:
    """Front matter without the values of its stat block; its type, "plant", says of no note what it is, but "npc" does."""
    kinds = {key for key in block if fold(key) in KIND_KEYS and known(str(block[key]))}
    values = {key: value for key, value in properties.values.items() if key not in block or key in kinds}
    if not any(fold(key) in KIND_KEYS for key in values):
        values = {**values, "type": CREATURE}
    pairs = [(key, value) for key, value in properties.pairs if key not in block or key in kinds]
    return Properties(values, pairs, is_broken=properties.is_broken, mended=properties.mended)


def _note(path: str, properties: Properties, body: Body, opening: Mark) -> Note:
    """What front matter, text and path say together."""
    title, usage = body.title, body.usage
    is_closed = title_mark(title, body.own).audience == DM  # and the whole note with it
    plain = (section for section in body.sections if is_closed or section.audience is None)
    told = [pair for each in plain for pair in pairs_in(each.text, KNOWN if each.path else HEADED)]
    headed = pairs_in("\n".join(path.rpartition(PATH_SEPARATOR)[2] for path in body.headings), HEADED)
    table = joined_with(properties, ((fact.key, fact.value) for fact in body.facts), told, headed)
    tags, secret_tags = _tags(properties, body.tags), _clean_tags(body.secret_tags)
    kind = kind_of(properties, table, tags, path, title, usage)
    played = date_of(table, kind, path, title, usage)
    if kind in (NOTE, SESSION) and _is_planned(kind, body.sections) and not (played and played < date.today()):
        kind, played = PREP, None
    name, origin = name_of(properties, title, path, usage)
    facts, secrets = _property_facts(properties, origin, body.own)
    told_facts = _merged(facts + body.facts)
    is_done = kind != QUEST or state_of(told_facts, (each.written or each.text for each in body.sections), path) == DONE
    waiting = "" if is_done else "a quest that is not done"
    waiting = "names of other notes, and nothing else" if _only_names(body) else waiting
    planned = _plan_mark(kind, body.own, opening, _tags(properties, body.tags), waiting)
    mark, waits = _note_mark(opening, name, planned, properties, body)
    aliases = aliases_of(properties, name, "" if is_generic(title, usage) else title, path, kind)
    # "Mira, true name secret" is one text with two names, and closes both
    written = [*aliases, *(text for key in ALIAS_KEYS for text in properties.texts(key))]
    said = {text: closing for text in written if (closing := audience_of(text, own=body.own)).audience == DM}
    closed = {alias: closing for text, closing in said.items() for alias in aliases if alias in (text, *listed([text]))}
    held = [*body.held, *(held_by(each, "alias") for each in closed.values())]
    return Note(
        path=path,
        name=name,
        kind=kind,
        aliases=aliases,
        secret_aliases=list(closed),
        tags=list(dict.fromkeys((*tags, *secret_tags))),
        secret_tags=[tag for tag in secret_tags if tag not in tags],
        session=session_of(table, kind, path, title, usage),
        session_date=played,
        dated=stated_date(table, path, title, usage),
        facts=told_facts,
        facts_in_text=_in_text(facts, body.facts),
        keys=_settings(properties, body.own),
        sections=[*secrets, *body.sections],
        links=[*_property_links(properties, body.own), *(link for _, link in sorted(body.links, key=itemgetter(0)))],
        stat_blocks=body.stat_blocks
        or ([] if kind == CHARACTER else list(_told_creature(name, body.sections, body.facts))),
        audience=mark.audience,
        mark=mark.text,
        opened_by=mark.opening,
        title_from=origin,
        heading=title,
        headings=body.headings,
        said=body.said,
        held=[held_by(mark, "name"), *held] if mark.audience == DM and mark.stem else held,
        waits=waits,
        problems=body.problems,
        doubts=doubts(properties, body.own),
    )


def _is_planned(kind: str, sections: Sequence[Section]) -> bool:
    """Whether a note tells what is to come, by its headings; those of its parts that are closed count as well.

    A session does if they say of all that stands below any that it is a plan: above them a line may name the session before. A note
    of no kind does if more of its parts tell what is to come than what happened, and others beside them are the game master's; what
    stands below a heading that says so is a part of it.
    """
    if kind == SESSION:
        under = [each for each in sections if each.path or "\n" in each.text]
        plans = (each.tells == AHEAD and any(map(says_plan, each.path.split(PATH_SEPARATOR))) for each in under)
        return bool(under) and all(plans)
    ahead, told = ({each.path for each in sections if each.tells == what} for what in (AHEAD, TOLD))
    ahead -= {path for path in ahead if path.rpartition(PATH_SEPARATOR)[0] in ahead}
    closed = {each.path for each in sections if each.audience == DM}
    return len(ahead) > max(1, len(told)) and len(ahead | closed) >= FEWEST_AHEAD


def _only_names(body: Body) -> bool:
    """Whether a note has the names of other notes, and nothing else."""
    links = [link for _, link in body.links]
    text = "".join(each.path + (each.written or each.text) for each in body.sections)
    return bool(links) and not any(link.embedded for link in links) and not _WORD.search(LINK.sub("", text))


def _told_creature(name: str, sections: Sequence[Section], facts: Sequence[Fact]) -> Iterator[StatBlock]:
    """What facts and lines say of a creature, in the keys of a stat block: what has an armor class and hit points is one."""
    parts = [Section("", "\n".join(f"{fact.key}: {fact.value}" for fact in facts)), *sections]
    for mark in dict.fromkeys((part.mark, part.audience, part.opened_by, part.opened) for part in parts):
        these = [each for each in parts if (each.mark, each.audience, each.opened_by, each.opened) == mark]
        told = {fold(key): value for each in reversed(these) for key, value in pairs_in(each.text)}
        values = {
            name: value
            for name in ("ac", "hp", "speed")
            if (value := next((told[key] for key in words(f"key {name}") if key in told), ""))
        }
        if all(re.match(r"\D{0,3}\d", values.get(key, "")) for key in ("ac", "hp")):
            where = next(
                each.path for each in these if any(fold(key) in words("key ac") for key, _ in pairs_in(each.text))
            )
            yield StatBlock({"name": name, **values}, where, "", *mark)


def _headings(line: str) -> list[str]:
    """A line with its headings of HTML as those of Markdown, between blank lines: they count within a block of HTML too."""
    if "<h" not in line.casefold() or line.lstrip().startswith((">", "|")):
        return [line]

    def heading(match: re.Match[str]) -> str:
        text = f"<span{match[2]}>{match[3].strip()}</span>" if match[2] else match[3].strip()
        return f"\n\n{'#' * int(match[1])} {text}\n\n"

    return _HTML_HEADING.sub(heading, line).split("\n")


def _plan_mark(kind: str, own: OwnMarks, opening: Mark, tags: Sequence[str], waiting: str) -> Mark:
    """What keeps a plan, and what may have one: a quest until it is done, a table of contents.

    Not where it was given to the players: marked for them, or shared by itself.
    """
    if kind == PREP:
        return title_mark(PREP, own, NAME)
    given = opening.audience is not None or any(
        each.kind == BY_ITSELF for each in own.shares.concerning(own.path, tags)
    )
    return replace(title_mark(PREP, own, NAME), written=waiting) if waiting and not given else UNMARKED


def _note_mark(opening: Mark, name: str, planned: Mark, properties: Properties, body: Body) -> tuple[Mark, bool]:
    """Who may see the whole note, and whether it is shared but was not looked at.

    The narrowest holds of what front matter and path, the title, tags and fields in the text say. Sharing opens what has no mark.
    """
    own = body.own
    bold = "\n".join(line for each in body.sections if not each.path for line in each.text.split("\n") if "**" in line)
    fields = (*((fact.key, fact.value) for fact in body.facts), *pairs_in(bold, STRICT))
    told_tags = (tag for key, value in fields if fold(key) in TAG_KEYS for tag in listed([value]))
    marks = (opening, title_mark(body.title, own), title_mark(name, own))
    closing = (
        planned,
        kind_mark(properties, own),
        tag_mark((*written_tags(properties), *body.lone_tags, *told_tags), own),
        field_mark(fields, own),
    )
    said = narrowest((*marks, *closing))
    decided = Mark(*own.shares.decided(own.path, _tags(properties, body.tags)))
    if decided.audience == DM or said is not UNMARKED:
        return narrowest((said, decided)) if decided.audience == DM else said, False
    if decided.audience is None or own.is_looking or (own.seen and own.seen.is_shown):
        return decided, False
    return UNMARKED, True


def _tags(properties: Properties, inline: Sequence[str]) -> list[str]:
    return _clean_tags((*written_tags(properties), *inline))


def _clean_tags(written: Iterable[str]) -> list[str]:
    tags = (tag.strip("#\"'").strip("/").casefold() for tag in written)
    return [tag for tag in dict.fromkeys(tags) if tag]


def _values(path: str, properties: Properties, own: OwnMarks) -> dict[str, str]:
    """What a query for a key of the note is answered with, by folded key: nothing that a key keeps secret."""
    values = {"file name": file_name(path)}
    for key, value in properties.values.items():
        if not is_mark(key, value, own):
            values[fold(key)] = one_line(", ".join(texts(value)))
    return values


def _property_facts(properties: Properties, origin: str, own: OwnMarks) -> tuple[list[Fact], list[Section]]:
    """What front matter tells of the world, and what of it its keys keep secret."""
    facts, secrets = list[Fact](), list[Section]()
    for key, value in properties.values.items():
        shown = ", ".join(read_inline(text).text for text in texts(value))
        if not shown or not _tells(key, value, properties, origin, own):
            continue
        if is_secret_key(key, value, own):
            secrets.append(Section("", f"**{key}**: {shown}", f"{key}:", DM))
        else:
            facts.append(Fact(key, shown))
    return facts, secrets


def _settings(properties: Properties, own: OwnMarks) -> dict[str, str]:
    """The keys of front matter that tell nothing of the world, and by which notes can be found all the same."""
    return {
        key: ", ".join(texts(value))
        for key, value in properties.values.items()
        if (fold(key) in SETTINGS or fold(key) in KIND_KEYS) and texts(value) and not is_mark(key, value, own)
    }


def _tells(key: str, value: object, properties: Properties, origin: str, own: OwnMarks) -> bool:
    """Whether a key of front matter tells something that stands nowhere else in the note."""
    folded = fold(key)
    if folded in ALIAS_KEYS or folded in TAG_KEYS or folded in SETTINGS or key == properties.key(*KIND_KEYS):
        return False
    if folded in ("name", origin):
        return False
    # "gm: Geoff" and "secret: he is a lich" say more than who may see a note
    return not says_audience(key, value, own)


def _property_links(properties: Properties, own: OwnMarks) -> Iterator[Link]:
    """The links of front matter; those under a key that is secret, or that says who may see the note, are as secret."""
    for key, value in properties.values.items():
        is_secret = is_key(key, own) or is_secret_key(key, value, own)
        for text in texts(value):
            yield from (replace(link, audience=DM) if is_secret else link for link in read_inline(text).links)


def _merged(facts: Sequence[Fact]) -> dict[str, str]:
    """Facts by key; a key that is told several times, in whatever spelling, has what is new of each."""
    keys: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for fact in facts:
        key = keys.setdefault(fold(fact.key), fact.key)
        values.setdefault(key, {}).setdefault(fold(fact.value), fact.value)
    return {key: "; ".join(told.values()) for key, told in values.items()}


def _in_text(front: Sequence[Fact], body: Sequence[Fact]) -> list[str]:
    """Keys of the facts that sections state word for word, none of which would be lost without the list of facts."""
    apart = {fold(fact.key) for fact in (*front, *body) if not fact.in_text}
    return list(dict.fromkeys(key for key in _merged(body) if fold(key) not in apart))
