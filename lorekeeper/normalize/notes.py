"""The notes of a vault to entities.

A note keeps its sections, facts and links in its data, from which it is shown, searched and embedded, and the marks by which
its author keeps parts of it secret.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import islice, pairwise
from typing import Any

from lorekeeper.audience import DM, Audience, listed, parsed, within
from lorekeeper.entities import AUDIENCE, COLLECTIONS, MAX_RECORD_BYTES, VAULT, Entity, Field, Value
from lorekeeper.errors import FilterError
from lorekeeper.filters import stored
from lorekeeper.normalize.build import Origin, build, part_key, slugify
from lorekeeper.notes.keys import properties_of, state_of, world_date_of
from lorekeeper.notes.note import Link, Note, Section, StatBlock
from lorekeeper.printable import has_controls
from lorekeeper.records.notes import WRITTEN

SOURCE = VAULT

OPEN_TAGS = "open_tags"
"""Key of the tags that stand outside of secret stretches, of notes that have others too."""

OPEN_ALIASES = "open_aliases"
"""Key of the other names that no mark keeps secret, of notes that have others too."""

MAX_WRITTEN_BYTES = MAX_RECORD_BYTES // 2
"""Most bytes of a note's sections, as searched and as written; of a larger note the former alone are kept."""

_ITEM = re.compile(r"\s*(?:[-*+]\s|\|)")
"""How an item of a list or a row of a table begins."""

Resolve = Callable[[str], str | None]
"""The path of the note that a link's target means, None if there is none."""


def note_entity(note: Note, document: str, document_name: str, modified: float, resolve: Resolve) -> Entity:
    """The entity of a note.

    All its links are in its data. The filter field has as many as it holds of the notes that it links to: their paths, and
    of dangling links the target as written. What no filter can hold, such as a tag of a thousand letters, is in the data or
    the text only.

    Args:
        note: as it was read.
        document: key of its vault.
        document_name: name of its vault.
        modified: when the file was changed, in seconds since 1970 in UTC.
        resolve: finds the note that a link means.

    Raises:
        FilterError: it cannot be stored, as it is too large or has no name; the message says why.
    """
    if note.path != note.path.strip():
        raise FilterError("its path begins or ends with a space, which its uri would lose; rename the file")
    links = [_link(link, resolve) for link in note.links]
    data = _data(note, links)
    return build(
        "notes",
        data,
        Origin(SOURCE, document, document_name),
        name=note.name,
        kind=note.kind,
        slug=note.path,
        fields={
            "folder": _held("folder", [note.path.rpartition("/")[0]]),
            "aliases": aliased(note.aliases),
            "tags": tagged(note.tags),
            "modified": int(modified),
            "session": note.session,
            "session_date": second_of(note.session_date),
            "dated": second_of(note.dated),
            "links": linked(links),
            **stated(data, note.path),
            AUDIENCE: vault_audiences(data),
        },
    )


def second_of(day: date | None) -> int | None:
    """The first second of a day, None for none."""
    return None if day is None else timegm(day.timetuple())


def stated(data: Mapping[str, Any], path: str) -> dict[str, Value | None]:
    """The filter values that the facts and the text of a note's data give: each key with its value, open or done, the date in
    its world. A view makes them of what it shows.
    """
    facts = {str(k): str(v) for part in ("facts", "keys") for k, v in (data.get(part) or {}).items()}
    texts = (str(part.get(WRITTEN) or part.get("desc") or "") for part in data.get("sections") or ())
    return {
        "properties": _held("properties", properties_of(facts)),
        "state": state_of(facts, texts, path),
        "world_date": world_date_of(facts),
    }


def aliased(aliases: Iterable[str]) -> tuple[str, ...] | None:
    """The filter value of a note's other names."""
    return _held("aliases", aliases)


def tagged(tags: Iterable[str]) -> tuple[str, ...] | None:
    """The filter value of a note's tags."""
    return _held("tags", tags)


def linked(links: Iterable[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The filter value of a note's links, as its data has them."""
    return _held("links", (link["to"] or link["target"] for link in links))


def vault_audiences(data: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The filter value of the audiences of what is from a vault, by the marks in its data; None if everybody sees all of it.

    A vault is for the game master unless a mark says otherwise.
    """
    if "note" in data or "file" in data:  # a stat block, a table or a sheet, which is one piece
        return listed([within(parsed(data.get("audience")), parsed(data.get("note_audience")), DM)]) or None
    whole, sections = parsed(data.get("audience")), data.get("sections")
    parts = [parsed(section.get("audience")) for section in sections] if isinstance(sections, list) else []
    return listed(within(part, whole, DM) for part in (None, *parts)) or None


def _held(name: str, texts: Iterable[str]) -> tuple[str, ...] | None:
    """Those texts that a filter field can hold, each once; None without any."""
    field = COLLECTIONS["notes"].field(name)
    held = (text for text in dict.fromkeys(texts) if _can_hold(field, text))
    return tuple(islice(held, field.most)) or None


def _can_hold(field: Field, text: str) -> bool:
    try:
        return not has_controls(text) and bool(stored(field, text))
    except FilterError:
        return False


def _data(note: Note, links: list[dict[str, Any]]) -> dict[str, Any]:
    written = _has_room(note)
    return {
        "path": note.path,
        "aliases": list(note.aliases),
        "facts": dict(note.facts),
        "sections": [_section(section, written=written) for section in note.sections],
        "links": links,
        "title_from": note.title_from,
        **({"heading": note.heading} if note.heading else {}),
        **({"facts_in_text": list(note.facts_in_text)} if note.facts_in_text else {}),
        **({"keys": dict(note.keys)} if note.keys else {}),
        **({OPEN_TAGS: [tag for tag in note.tags if tag not in note.secret_tags]} if note.secret_tags else {}),
        **(
            {OPEN_ALIASES: [each for each in note.aliases if each not in note.secret_aliases]}
            if note.secret_aliases
            else {}
        ),
        **marks(note.mark, note.audience, opened_by=note.opened_by),
    }


def _has_room(note: Note) -> bool:
    """Whether an entry holds the sections of a note as written, beside what is searched of them."""
    size = sum(
        len(text.encode("utf-8", "replace")) for section in note.sections for text in (section.text, section.written)
    )
    return size <= MAX_WRITTEN_BYTES


def _section(section: Section, *, written: bool) -> dict[str, Any]:
    continues = {"continues": True} if section.continues else {}
    opened = {"opened": section.opened} if section.opened else {}
    told = marks(section.mark, section.audience, opened_by=section.opened_by)
    differs = written and section.written not in ("", section.text)
    shown = {WRITTEN: section.written} if differs else {}
    tells = {"tells": section.tells} if section.tells else {}
    return {"name": section.path, "desc": section.text, **shown, **told, **continues, **opened, **tells}


def rejoined(*parts: str) -> str:
    """The parts of a text from the midst of which something was cut: items of a list, or rows of a table, go on."""
    seams = [_seam(before, after) for before, after in pairwise(parts)]
    return "".join(piece for pair in zip(parts, [*seams, ""], strict=True) for piece in pair)


def _seam(before: str, after: str) -> str:
    line, following = before.rpartition("\n")[2], after.partition("\n")[0]
    goes_on = _ITEM.match(line) and _ITEM.match(following) and line.lstrip()[0] == following.lstrip()[0]
    return "\n" if goes_on else "\n\n"


def _link(link: Link, resolve: Resolve) -> dict[str, Any]:
    found = {"to": resolve(link.target), "target": link.target, "text": link.shown, "heading": link.section}
    opened = {"opened": link.opened} if link.opened else {}
    return {**found, **marks("", link.audience), **opened}


def marks(mark: str, audience: Audience | None, prefix: str = "", opened_by: str = "") -> dict[str, Any]:
    """What says that something is secret, or open to all, and who may see it; {} where nothing does."""
    names = list(audience) if isinstance(audience, tuple) else audience
    found = {"mark": mark or None, "audience": names, "opened_by": opened_by or None}
    return {prefix + key: value for key, value in found.items() if value is not None}


# --- parts of notes ---------------------------------------------------------------------------------------------------
# What entries have in common that are parts of notes: where they are from, who may see them, and their keys.


def origin_of(note: Note, part: Section | StatBlock, document: str) -> dict[str, Any]:
    """The data that say which note a part is from, and the marks of secrets of the part and of the note."""
    section = part.path if isinstance(part, Section) else part.section
    return {
        "note": Entity("notes", note.path, note.name, note.kind, document, SOURCE, {}).uri,
        "note_name": note.name,
        **({"note_section": section} if section else {}),
        **({"opened": part.opened} if part.opened else {}),
        **marks(part.mark, part.audience, opened_by=part.opened_by),
        **marks(note.mark, note.audience, "note_", note.opened_by),
    }


def slug_of(note: Note, name: str, number: int, audience: Audience | None) -> str:
    """A key from the name, with a digest of it and the path: it stays the same whatever else of the note is edited or secret.

    Args:
        note: has the part.
        name: of the part.
        number: of the parts of that name and audience in the note, it is this one, from 1 on.
        audience: of the part.
    """
    mark = [str(audience)] if audience else []
    return part_key(slugify(name), note.path, name, str(number), *mark)
