"""Sharing a vault: what is meant by a word, what players would see of it, and what of that looks like a secret."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lorekeeper import records
from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.entities import AUDIENCE, Entity, parse_uri
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import passed_over, read_note
from lorekeeper.notes.comparing import comparable
from lorekeeper.notes.kinds import SESSION
from lorekeeper.notes.links import read_inline
from lorekeeper.notes.marks import OwnMarks
from lorekeeper.notes.note import PATH_SEPARATOR
from lorekeeper.notes.suspicious import (
    HEADING,
    IN_FOLDER,
    NAME,
    NAMED,
    NOBODY,
    SecretNames,
    Suspicion,
    in_facts,
    in_names,
    in_text,
    naming_word,
)
from lorekeeper.printable import shown
from lorekeeper.shares import FOLDER, NOTE, TAG, TEXT, Share, Shares, folded_tag, folders_of
from lorekeeper.vaults.reading import UnreadableError, content
from lorekeeper.vaults.registry import Vault
from lorekeeper.vaults.scan import File
from lorekeeper.vaults.shares import kept, shared
from lorekeeper.vaults.state import Row
from lorekeeper.vaults.vaults import Vaults
from lorekeeper.views.redact import is_visible, redact

MOST_CANDIDATES = 8

_DETAILS = re.compile(
    r"<details\b[^<>]*>(?:\s*<summary\b[^<>]*>(.*?)</summary\s*>)?(.*?)</details\s*>", re.IGNORECASE | re.DOTALL
)
_ANY_TAG = re.compile(r"<[^<>]{0,500}>")
_BEGINNING = 40


@dataclass(frozen=True)
class Target:
    """What is shared: a note, a folder or a tag of a vault.

    Attributes:
        vault: the vault.
        kind: "note", "folder" or "tag".
        name: its path, or the folded tag.
    """

    vault: Vault
    kind: str
    name: str

    @property
    def written(self) -> str:
        """For people."""
        return Share(self.vault.key, self.kind, self.name, DM).written


@dataclass
class Preview:
    """What would be seen.

    Attributes:
        notes: paths of the notes of which players see something.
        held: those of which they see nothing, with the mark that keeps each.
        unread: what could not be read, of which players see nothing either.
        suspicions: what of it looks like a secret.
    """

    notes: list[str] = field(default_factory=list)
    held: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    shown: Entity | None = None
    """The last of the notes as players would see it."""

    @property
    def secrets(self) -> list[Suspicion]:
        """What looks like a secret itself, single words in names last; names of secret notes only their author can take out."""
        return sorted((each for each in self.suspicions if each.place != NAMED), key=lambda each: each.is_word)

    @property
    def names(self) -> list[str]:
        """The names of notes that a mark keeps secret."""
        return sorted({each.word for each in self.suspicions if each.place == NAMED})

    def as_dict(self) -> dict[str, Any]:
        """``{"notes", "held", "unread", "suspicious"}``."""
        held = [{"note": path, "mark": mark} for path, mark in self.held]
        suspicious = [each.as_dict() for each in self.suspicions]
        return {"notes": self.notes, "held": held, "unread": self.unread, "suspicious": suspicious}


# --- what is meant ----------------------------------------------------------------------------------------------------


def target_of(vaults: Vaults, what: str, key: str | None = None) -> Target:
    """What a note, folder or tag means that somebody typed. Blocking.

    A path, a uri, a name of a note, ``#tag``, or "." for a whole vault; nothing is guessed, as it opens something.

    Raises:
        NotFoundError: nothing is called so, or several things are; the message lists them.
    """
    if what.startswith("lore://notes/"):
        _, key, what = parse_uri(what)
    chosen = [vaults.registry.vault(key)] if key else vaults.registry.vaults()
    found = [target for vault in chosen for target in _targets(vault, vaults.rows(vault.key), what)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(shown(f"{each.vault.key}/{each.written}") for each in found[:MOST_CANDIDATES])
        raise NotFoundError(f"{shown(what)} may be {names}; give a path from there, and --vault for one vault")
    raise NotFoundError(
        f"no vault has a note, a folder or a tag {shown(what)}; give a path such as 'People/Mira.md', a name, or '#tag'"
    )


def _targets(vault: Vault, rows: dict[str, Row], what: str) -> list[Target]:
    notes = [path for path, row in rows.items() if not row.passed]
    if what in (".", "/"):
        return [Target(vault, FOLDER, "")]
    if what.startswith("#"):
        tag = folded_tag(what)
        tags = {folded_tag(each) for path in notes for each in rows[path].tags}
        return [Target(vault, TAG, tag)] if any(each == tag or each.startswith(f"{tag}/") for each in tags) else []
    prefix = f"{vault.path}/"
    path = (what.removeprefix(prefix) if what.startswith(prefix) else what).removeprefix(f"{vault.key}/").strip("/")
    folders = {folder for note in notes for folder in folders_of(note) if folder}
    if path in folders:
        return [Target(vault, FOLDER, path)]
    if exact := [note for note in notes if path in (note, note.rpartition(".")[0])]:
        return [Target(vault, NOTE, note) for note in exact]
    wanted = fold(path)
    named = [
        Target(vault, FOLDER, folder)
        for folder in folders
        if fold(folder) == wanted or fold(folder.rpartition("/")[2]) == wanted
    ]
    return [*named, *(Target(vault, NOTE, note) for note in notes if wanted in _names(note, rows[note]))]


def _names(path: str, row: Row) -> set[str]:
    stem = path.rpartition(".")[0]
    return {fold(each) for each in (stem, path.rpartition("/")[2], stem.rpartition("/")[2], *row.aliases)}


# --- what would be seen -----------------------------------------------------------------------------------------------


def preview(
    vaults: Vaults, vault: Vault, after: Sequence[Share], progress: Callable[[int], None] = lambda _: None
) -> Preview:
    """What players see of the notes for which decisions change anything, once they hold. Blocking; reads these notes.

    Args:
        vaults: of the library.
        vault: which of them.
        after: all decisions, as they are to be.
        progress: called with the number of further notes read.
    """
    own = vaults.marks.current()
    before = vaults.shares.of(vault.key)
    then = Shares([each for each in after if each.vault == vault.key])
    rows = vaults.rows(vault.key)
    changed = [
        path
        for path, row in rows.items()
        if not row.passed and before.recorded(path, row.tags) != then.recorded(path, row.tags)
    ]
    return _seen(vault, rows, changed, replace(own, shares=then), progress)


def suspicious(vaults: Vaults, vault: Vault, progress: Callable[[int], None] = lambda _: None) -> Preview:
    """What players see of a vault now, and what of it looks like a secret. Blocking; reads all notes."""
    own = vaults.shares.marks(vault.key, vaults.marks.current())
    rows = vaults.rows(vault.key)
    return _seen(vault, rows, [path for path, row in rows.items() if not row.passed], own, progress)


def fixed(vaults: Vaults, vault: Vault, found: Iterable[Suspicion], before: Sequence[Share]) -> list[Share]:
    """Decisions that keep what looks like a secret: its heading, key, title or line; the whole note where that is not enough.

    Blocking; reads the notes again.
    """
    found, after = list(found), list(before)
    rows = vaults.rows(vault.key)
    paths = dict.fromkeys(each.note.partition("/")[2] for each in found)
    for each in found:
        path = each.note.partition("/")[2]
        if each.place == IN_FOLDER:
            after = kept(after, vault.key, FOLDER, each.text)
            paths |= dict.fromkeys(path for path in rows if each.text in folders_of(path))
        elif each.place == NAME or each.place == "tag":
            after = kept(after, vault.key, NOTE, path)
        else:
            after = kept(after, vault.key, TEXT, comparable(read_inline(each.text).text))
    own = replace(vaults.marks.current(), shares=Shares([each for each in after if each.vault == vault.key]))
    left = _seen(vault, rows, paths, own, lambda _: None)
    wanted = {(each.note, each.place, each.text) for each in found}
    folders = {each.text for each in found if each.place == IN_FOLDER}
    open_still = {
        each.note.partition("/")[2] for each in left.suspicions if (each.note, each.place, each.text) in wanted
    }
    open_still |= {path for path in left.notes if not folders.isdisjoint(folders_of(path))}
    for path in sorted(open_still):
        after = kept(after, vault.key, NOTE, path)
    return after


def _seen(
    vault: Vault,
    rows: dict[str, Row],
    paths: Iterable[str],
    own: OwnMarks,
    progress: Callable[[int], None],
    viewer: Viewer | None = None,
) -> Preview:
    """What a viewer sees of notes, by default what any player does."""
    secret = SecretNames(
        name
        for path, row in rows.items()
        if row.secret
        for name in (row.secret, *row.aliases, path.rpartition("/")[2].rpartition(".")[0])
    )
    preview, folders = Preview(), set[str]()
    for path in paths:
        progress(1)
        try:
            text = content(vault.path, File(path, path, 0, 0, 0)).text
            if passed_over(path, text):
                continue
            note = read_note(path, text, own)
            entity = note_entity(note, vault.key, vault.name, 0.0, lambda _: None)
        except (OSError, UnreadableError, FilterError, ValueError, RecursionError):
            preview.unread.append(path)
            continue
        looking = viewer or _anybody(entity)
        if not is_visible(entity, looking):
            if note.audience is not None or own.shares.concerning(path, note.tags):
                preview.held.append((path, note.mark))
            continue
        preview.notes.append(path)
        preview.shown = redact(entity, looking, lambda _: None)
        names = NOBODY if note.audience == DM else secret
        for each in suspicions(preview.shown, names, text):
            if each.place != IN_FOLDER or each.text not in folders:
                preview.suspicions.append(each)
            folders |= {each.text} if each.place == IN_FOLDER else set()
    return preview


def _anybody(entity: Entity) -> Viewer:
    """A player to whom all is shown that any player is."""
    listed = entity.fields.get(AUDIENCE)
    names = [name for name in listed if name not in (DM, PLAYERS)] if isinstance(listed, tuple) else []
    return Viewer.player("", map(str, names))


def suspicions(entity: Entity, secret: SecretNames = NOBODY, raw: str = "") -> Iterator[Suspicion]:
    """What looks like a secret in a note as players see it.

    Args:
        entity: as it is cut for them.
        secret: names of notes that a mark keeps secret.
        raw: the note's file, whose HTML the entity lacks.
    """
    note = f"{entity.document}/{entity.slug}"
    tags = entity.fields.get("tags")
    read = records.note(entity.data)
    listed = [*in_names(entity.slug, (entity.name, *read.aliases), tags if isinstance(tags, tuple) else ())]
    listed += in_facts(read.facts.items(), secret)
    found = {(text, place): Suspicion(note, place, text, word) for place, text, word in listed}
    told, visible = set[str](), list[str]()
    for section in read.sections:
        for heading in section.path.split(PATH_SEPARATOR) if section.path else ():
            if heading not in told and (word := naming_word(heading)):
                found[heading, HEADING] = Suspicion(note, HEADING, heading, word)
            told.add(heading)
        visible.append(section.source)
        for place, line, word in in_text(section.source, secret, is_recap=entity.kind == SESSION):
            found.setdefault((line, place), Suspicion(note, place, line, word, section.path))
    for summary, inner in _DETAILS.findall(raw) if "<details" in raw else ():
        title, begun = _ANY_TAG.sub("", summary).strip(), comparable(_ANY_TAG.sub("", inner).strip()[: _BEGINNING * 2])
        if begun and begun[:_BEGINNING] in comparable(" ".join(visible)):
            found.setdefault(
                (title, "details"), Suspicion(note, "details", title or inner.strip()[:_BEGINNING], "<details>")
            )
    return iter(found.values())


def who(audience: Audience) -> str:
    """An audience, for people."""
    if isinstance(audience, tuple):
        return ", ".join(audience)
    return {DM: "the game master alone", PLAYERS: "everyone"}.get(audience, audience)


def preview_of(vaults: Vaults, target: Target, people: Sequence[str] = ()) -> Preview:
    """What is seen of a note once it is shared with people, by default with everybody, whatever holds now. Blocking."""
    after = shared(vaults.shares.all(), target.vault.key, target.kind, target.name, people)
    own = replace(vaults.marks.current(), shares=Shares([each for each in after if each.vault == target.vault.key]))
    viewer = Viewer.player("", people) if people else None
    return _seen(target.vault, vaults.rows(target.vault.key), [target.name], own, lambda _: None, viewer)


def decided(vaults: Vaults, target: Target, before: Sequence[Share], people: Sequence[str], action: str) -> list[Share]:
    """Decisions with one more on a note: "share" it, "fix" to keep what looks like a secret besides, or "keep" it. Blocking."""
    vault, kind, name = target.vault.key, target.kind, target.name
    if action == "keep":
        return kept(before, vault, kind, name)
    after = shared(before, vault, kind, name, people)
    if action != "fix":
        return after
    found = preview_of(vaults, target, people).secrets
    found = [replace(each, place=NAME) if each.place == IN_FOLDER else each for each in found]
    return fixed(vaults, target.vault, found, after)


async def store(vaults: Vaults, before: Sequence[Share], after: Sequence[Share]) -> None:
    """Remember decisions, and read the notes by them, so that players need not wait; those made meanwhile are not lost."""
    removed, added = [each for each in before if each not in after], [each for each in after if each not in before]

    def change(rows: list[Share]) -> list[Share]:
        return [*(each for each in rows if each not in removed and each not in added), *added]

    await asyncio.to_thread(vaults.shares.edit, change)
    await vaults.sync([])


def still_open(vaults: Vaults, target: Target, after: Sequence[Share], people: Sequence[str] = ()) -> list[str]:
    """Paths of the notes of a target of which somebody sees something although it is not shared any more. Blocking.

    Args:
        vaults: of the library.
        target: what is not shared any more.
        after: the decisions without it.
        people: who is not to see it; anybody by default.
    """
    own = replace(vaults.marks.current(), shares=Shares([each for each in after if each.vault == target.vault.key]))
    rows = vaults.rows(target.vault.key)
    paths = [path for path, row in rows.items() if not row.passed and _is_of(path, row, target)]
    seen = _seen(target.vault, rows, paths, own, lambda _: None, Viewer.player("", people) if people else None)
    return seen.notes


def _is_of(path: str, row: Row, target: Target) -> bool:
    if target.kind == NOTE:
        return path == target.name
    if target.kind == FOLDER:
        return target.name in folders_of(path)
    return any(folded == target.name or folded.startswith(f"{target.name}/") for folded in map(folded_tag, row.tags))
