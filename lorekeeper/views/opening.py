"""Opening a vault to players: what is meant by a word, what of it would be open, and what waits.

What the game master confirms is what stood there when it was shown: of each note its headings (`shares.Opened`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import Note, passed_over, read_note
from lorekeeper.notes.kinds import ALONE, Usage
from lorekeeper.notes.marks import OwnMarks, audience_of, comparable, says_players, stem_kinds
from lorekeeper.notes.note import Held
from lorekeeper.printable import shown
from lorekeeper.shares import (
    BETWEEN,
    FEWEST_COMMON,
    FOLDER,
    NOTE,
    TAG,
    Opened,
    Share,
    Shares,
    digest_of,
    folded_tag,
    folders_of,
)
from lorekeeper.vaults.opened import record_of
from lorekeeper.vaults.reading import UnreadableError, content
from lorekeeper.vaults.registry import Vault
from lorekeeper.vaults.scan import SHEETS, File
from lorekeeper.vaults.shares import kept, opened, shared, unshared
from lorekeeper.vaults.sheets import sheets_of
from lorekeeper.vaults.state import Row
from lorekeeper.vaults.vaults import Vaults
from lorekeeper.views.redact import is_visible, redact

MOST_CANDIDATES = 8

EVERYTHING = "*"
"""Stands for all that a stem closes, where it is opened all the same."""

_DEEPEST = 8
"""How often a note is read again for what stands within what was opened."""


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


@dataclass(frozen=True)
class Looked:
    """One note as the game master is shown it.

    Attributes:
        path: of the note.
        seen: what is recorded of it if it is opened; None for a note that stays closed.
        why: what keeps all of it, as written; "" where it opens.
        plan: whether that says it is a plan for what is to come.
        headings: of what opens.
        held: what waits, by its stem.
        lines: lines of what opens that have a stem elsewhere, each with it.
        words: of what opens.
        sections: of what opens.
        shown: as players would see it.
    """

    path: str
    seen: Opened | None = None
    why: str = ""
    plan: bool = False
    headings: Sequence[str] = ()
    held: Sequence[Held] = ()
    lines: Sequence[tuple[str, str]] = ()
    words: int = 0
    sections: int = 0
    shown: Entity | None = None


@dataclass
class Look:
    """What would be open of something, and what waits.

    Attributes:
        notes: those of it, by path.
        unread: paths of what cannot be read, which stays closed.
        whom: to whom it opens, for people.
        folder: where all of them are, "" for the vault.
        after: the decisions once it is confirmed.
    """

    notes: list[Looked] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    whom: str = "players"
    folder: str = ""
    after: list[Share] = field(default_factory=list)

    @property
    def open(self) -> list[Looked]:
        """The notes of which something opens."""
        return [note for note in self.notes if note.seen is not None]

    @property
    def closed(self) -> list[Looked]:
        """The notes that stay closed."""
        return [note for note in self.notes if note.seen is None]

    @property
    def sections(self) -> int:
        """How many sections open."""
        return sum(note.sections for note in self.open)

    @property
    def waiting(self) -> int:
        """How many parts of the open notes wait."""
        return sum(len(note.held) for note in self.open)

    @property
    def parts(self) -> list[tuple[str, int]]:
        """The folders of what opens, each with how many of its notes do, and the notes that are in none of them.

        A folder that has all that opens of the folder around it is not listed beside that one.
        """
        inside = Counter(f"{each}/" for n in self.open for each in folders_of(n.path) if len(each) > len(self.folder))
        around = {each: f"{each.rstrip('/').rpartition('/')[0]}/" for each in inside}
        several = [(each, notes) for each, notes in sorted(inside.items()) if inside[around[each]] != notes]
        return [*several, *((n.path, 1) for n in self.open if n.path.rpartition("/")[0] == self.folder)]

    @property
    def stands(self) -> str:
        """Changes whenever other notes, headings or closed parts are looked at."""
        told = [f"{n.path} {n.why} {n.headings} {[(each.place, each.text) for each in n.held]}" for n in self.notes]
        return digest_of("\n".join(sorted(told)))

    @property
    def held(self) -> list[tuple[Held, list[str]]]:
        """What waits of the notes that open, or of the only note, each with the paths of those that have it, most notes first."""
        found: dict[Held, list[str]] = {}
        for note in self.open or self.notes[: len(self.notes) == 1]:
            for each in dict.fromkeys(each for each in note.held if each.stem):
                found.setdefault(each, []).append(note.path)
        return sorted(found.items(), key=lambda pair: -len(pair[1]))

    def headings(self) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
        """The headings that open: those that several notes share, with their number, and each other with its note."""
        texts = Counter(text for note in self.open for text in {each.rpartition(BETWEEN)[2] for each in note.headings})
        common = [(text, number) for text, number in texts.most_common() if number >= FEWEST_COMMON]
        names = {text for text, _ in common}
        each = ((note.path, path) for note in self.open for path in note.headings)
        return common, [(note, path) for note, path in each if path.rpartition(BETWEEN)[2] not in names]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        listed = [
            {"note": note.path, "words": note.words, "sections": note.sections, "headings": list(note.headings)}
            | {"waits": [{k: v for k, v in asdict(each).items() if k != "said"} for each in note.held]}
            | {"lines": [{"text": text, "stem": stem} for text, stem in note.lines]}
            for note in self.open
        ]
        closed = [{"note": note.path, "why": note.why, "plan": note.plan} for note in self.closed]
        return {"notes": listed, "closed": closed, "unread": self.unread}


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
    notes = [path for path, row in rows.items() if not row.is_left_out]
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


# --- what would be open -----------------------------------------------------------------------------------------------


def look(
    vaults: Vaults,
    target: Target,
    people: Sequence[str] = (),
    opens: Collection[str] = (),
    progress: Callable[[int], None] = lambda _: None,
    without: Collection[Target] = (),
) -> Look:
    """What is open of a target once it is shared with people, by default with everybody. Blocking; reads its notes.

    Args:
        vaults: of the library.
        target: what is shared.
        people: with whom.
        opens: what a stem closes and is opened all the same: texts as `Held.said` has them; `EVERYTHING` for all.
        progress: called with the number of further notes read.
        without: what of it is kept for the game master, from now on.

    Raises:
        FilterError: something is kept of what is shared with some people, and so would be from all others too.
    """
    if people and without:
        raise FilterError("what is left out is closed for everyone: share with some people folder by folder")
    key, before = target.vault.key, vaults.shares.all()
    rows = vaults.rows(key)
    paths = [path for path, row in rows.items() if not row.is_left_out and _is_of(path, row, target)]
    with_whom, after = people, shared(before, key, target.kind, target.name, people)
    for each in without:
        after = kept(unshared(after, key, each.kind, each.name), key, each.kind, each.name)
    if target.kind == NOTE and not people and rows[target.name].waits:
        # what waits opens to those with whom it is shared already
        decided = vaults.shares.of(key).decided(target.name, rows[target.name].tags)[1]
        if decided not in (None, DM):
            with_whom, after = decided if isinstance(decided, tuple) else (), list(before)
    viewer = Viewer.player("", with_whom) if with_whom else None
    found = _looked(vaults, target.vault, paths, after, opens, progress, viewer)
    found.whom = " and ".join(with_whom) or found.whom
    found.folder = target.name if target.kind == FOLDER else ""
    return found


def look_at_marked(vaults: Vaults, vault: Vault) -> Look:
    """What is open of a vault once what its author marked for players is confirmed. Blocking; reads these notes."""
    after = list(vaults.shares.all())
    paths = [path for path, row in vaults.rows(vault.key).items() if row.is_marked]
    for path in paths:
        if says_players(path):
            after = shared(after, vault.key, NOTE, path)
    return _looked(vaults, vault, paths, after, (), lambda _: None, None)


def _looked(
    vaults: Vaults,
    vault: Vault,
    paths: Iterable[str],
    after: Sequence[Share],
    opens: Collection[str],
    progress: Callable[[int], None],
    viewer: Viewer | None,
) -> Look:
    shares = Shares([each for each in after if each.vault == vault.key])
    own = replace(vaults.marks.current(), shares=shares, is_looking=True)
    found, rows = Look(), vaults.rows(vault.key)
    for path in paths:
        progress(1)
        try:
            text = content(vault.path, File(path, path, 0, 0, 0)).text
            looked = _of_note(vault, path, text, own, opens, viewer, _usage(rows.get(path)))
        except (OSError, UnreadableError, FilterError, ValueError, RecursionError):
            found.unread.append(path)
        else:
            found.notes += [looked] if looked else []
    found.after = opened(after, vault.key, {note.path: note.seen for note in found.open if note.seen})
    return found


def _usage(row: Row | None) -> Usage:
    """What its vault said of a note when it was read last: its headings are those that were stored."""
    return Usage(*row.usage) if row and row.usage else ALONE


def _of_note(
    vault: Vault, path: str, text: str, own: OwnMarks, opens: Collection[str], viewer: Viewer | None, usage: Usage
) -> Looked | None:
    """A note as it is looked at; None for a file that is none."""
    if path.lower().endswith(SHEETS):
        sheets = sheets_of(path, text, own)
        note = sheets.note if sheets and sheets.found else None
    else:
        note = None if passed_over(path, text) else read_note(path, text, own, usage)
    before = own.shares.opened(path)
    for _ in range(_DEEPEST if opens and note else 0):
        note = read_note(path, "" if path.lower().endswith(SHEETS) else text, own, usage)
        # a line is opened by how it begins
        wanted = tuple(f"{comparable(each)} " for each in opens)
        stems = {
            digest_of(comparable(each.said))
            for each in note.held
            if each.said and (EVERYTHING in opens or f"{comparable(each.text)} ".startswith(wanted))
        }
        new = stems.difference(before.stems if before else ())
        if not new:
            break
        before = replace(before or Opened(False), stems=tuple(sorted({*(before.stems if before else ()), *new})))
        own = replace(own, stems=frozenset(before.stems))
    if note is None:
        return None
    if path.lower().endswith(SHEETS):
        note = read_note(path, "", own)
    return _described(vault, note, before, viewer)


def _described(vault: Vault, note: Note, before: Opened | None, viewer: Viewer | None) -> Looked:
    is_shown = note.audience not in (None, DM)
    if not is_shown and not (note.said and note.audience is None):
        name = next((each for each in note.held if each.place == "name"), None)
        kinds = stem_kinds(name.stem) if name else frozenset[str]()
        reason = f"{name.text} ({name.stem})" if name else note.mark
        return Looked(note.path, why=reason or "not shared", plan=bool(kinds & {"plan", "ahead"}), held=note.held)
    entity = note_entity(note, vault.key, vault.name, 0.0, lambda _: None)
    looking = viewer or _anybody(note.audience)
    visible = [section for section in note.sections if section.audience != DM] if is_shown else []
    lines = [line.strip() for section in visible for line in section.text.split("\n") if line.strip()]
    telling = [(line, mark.stem) for line in lines if (mark := audience_of(line)).audience == DM]
    return Looked(
        note.path,
        record_of(note, before, is_shown=is_shown),
        headings=note.headings if is_shown else note.said,
        held=[each for each in note.held if each.stem],
        lines=telling,
        words=sum(len(line.split()) for line in lines),
        sections=len({section.path for section in visible}) if is_shown else len(note.said),
        shown=redact(entity, looking, lambda _: None) if is_visible(entity, looking) else None,
    )


def _anybody(audience: Audience | None) -> Viewer:
    """A player to whom all is shown that any player is."""
    return Viewer.player("", audience if isinstance(audience, tuple) else ())


# --- decisions --------------------------------------------------------------------------------------------------------


async def store(vaults: Vaults, before: Sequence[Share], after: Sequence[Share]) -> None:
    """Remember decisions, and read the notes by them, so that players need not wait; those made meanwhile are not lost."""
    removed, added = [each for each in before if each not in after], [each for each in after if each not in before]

    def change(rows: list[Share]) -> list[Share]:
        return [*(each for each in rows if each not in removed and each not in added), *added]

    await asyncio.to_thread(vaults.shares.edit, change)
    await vaults.sync([])


def closed_for_all(target: Target, before: Sequence[Share]) -> list[Share]:
    """Decisions that keep a target for the game master, whatever opens it."""
    return kept(before, target.vault.key, target.kind, target.name)


def closed_again(vaults: Vaults, target: Target, people: Sequence[str] = ()) -> tuple[list[Share], list[str]]:
    """Decisions without a target, and the notes of it that a mark of theirs or another share would open all the same. Blocking.

    Args:
        vaults: of the library.
        target: what is not shared any more; it is kept if a mark of a note still opens it.
        people: who is not to see it; by default anybody.
    """
    key = target.vault.key
    after = unshared(vaults.shares.all(), key, target.kind, target.name, people)
    own = replace(vaults.marks.current(), shares=Shares([each for each in after if each.vault == key]))
    rows, left = vaults.rows(key), list[str]()
    viewer = Viewer.player("", people) if people else None
    for path, row in rows.items():
        if row.passed or not _is_of(path, row, target):
            continue
        try:
            text = content(target.vault.path, File(path, path, 0, 0, 0)).text
            note = read_note(path, text, own, _usage(row))
        except (OSError, UnreadableError, ValueError, RecursionError):
            continue
        seen = [own.shares.decided(path, row.tags)[1], note.audience, *(section.audience for section in note.sections)]
        open_to = (who for who in seen if who not in (None, DM))
        left += [path] if any((viewer or _anybody(who)).sees(who or DM) for who in open_to) else []
    if left and not people:
        after = kept(after, key, target.kind, target.name)
    return after, left


def who(audience: Audience) -> str:
    """An audience, for people."""
    if isinstance(audience, tuple):
        return ", ".join(audience)
    return {DM: "the game master alone", PLAYERS: "everyone"}.get(audience, audience)


def _is_of(path: str, row: Row, target: Target) -> bool:
    if target.kind == NOTE:
        return path == target.name
    if target.kind == FOLDER:
        return target.name in folders_of(path)
    return any(folded == target.name or folded.startswith(f"{target.name}/") for folded in map(folded_tag, row.tags))
