"""The file with what the game master has shared of the vaults, beside the library: read whenever somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.audience import DM, PLAYERS, parsed
from lorekeeper.folding import fold
from lorekeeper.people.rows import Rows
from lorekeeper.shares import FOLDER, NOTE, OPENED, TAG, Opened, Share, Shares

if TYPE_CHECKING:
    from lorekeeper.audience import Audience
    from lorekeeper.notes.marks import OwnMarks

REMEDY = "restore a copy of it, or delete it and share again; until then players see nothing of the vaults"


class SharesFile:
    """The file. All methods are blocking, and safe to use from several threads; those that read take microseconds.

    Args:
        file: where the decisions are kept; None for a library that has none, and cannot have any.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._rows = None if file is None else Rows(file, "shares", _share, REMEDY)
        self._lock = threading.Lock()
        self._made: dict[str, tuple[OwnMarks, Sequence[Share], OwnMarks]] = {}

    def all(self) -> Sequence[Share]:
        """All decisions, in the order in which they were made; CacheError if the file cannot be read."""
        return self._rows.all() if self._rows else ()

    def of(self, vault: str) -> Shares:
        """The decisions on a vault."""
        return Shares([each for each in self.all() if each.vault == vault])

    def marks(self, vault: str, own: OwnMarks) -> OwnMarks:
        """The user's own marks with the decisions on a vault; the same object as long as neither changes."""
        rows = self.all()
        with self._lock:
            before = self._made.get(vault)
            if before is None or before[0] is not own or before[1] is not rows:
                shares = self.of(vault)
                before = own, rows, replace(own, shares=shares) if shares.listed else own
                self._made[vault] = before
            return before[2]

    def edit(self, change: Callable[[list[Share]], list[Share]]) -> None:
        """Replace the decisions by what a function makes of them; CacheError if the file cannot be written."""
        if self._rows:
            with self._rows.edited() as rows:
                rows[:] = change(rows)

    def forget(self, vault: str) -> None:
        """Remove all decisions on a vault."""
        if any(each.vault == vault for each in self.all()):
            self.edit(lambda rows: [each for each in rows if each.vault != vault])


def shared(rows: Iterable[Share], vault: str, kind: str, name: str, people: Sequence[str] = ()) -> list[Share]:
    """Decisions with one more: something is shared with people, by default with everybody."""
    before = next((each for each in rows if (each.vault, each.kind, each.name) == (vault, kind, name)), None)
    audience: Audience = tuple(people) or PLAYERS
    if people and before and before.audience != DM:
        known = before.audience
        names = {fold(each): each for each in ((*known, *people) if isinstance(known, tuple) else ())}
        audience = tuple(names.values()) or PLAYERS
    return [*_without(rows, vault, kind, name), Share(vault, kind, name, audience)]


def unshared(rows: Iterable[Share], vault: str, kind: str, name: str, people: Sequence[str] = ()) -> list[Share]:
    """Decisions without those on something, and on what is in it.

    Args:
        rows: the decisions.
        vault: key of the vault.
        kind: of what is not to be shared any more.
        name: of that.
        people: who is not to see it any more; by default nobody is to. What is shared with everybody stays so for others than
            these: that is for the caller to refuse.
    """
    if people:
        gone = set(map(fold, people))
        rows = [_for_fewer(each, gone) if _is_in(each, vault, kind, name) else each for each in rows]
        return [each for each in rows if each.audience != ()]
    return [each for each in rows if not (_is_in(each, vault, kind, name) and each.audience != DM)]


def kept(rows: Iterable[Share], vault: str, kind: str, name: str) -> list[Share]:
    """Decisions with one more: something is the game master's."""
    return [*_without(rows, vault, kind, name), Share(vault, kind, name, DM)]


def opened(rows: Iterable[Share], vault: str, seen: Mapping[str, Opened]) -> list[Share]:
    """Decisions with what was looked at of notes, by path."""
    found = [each for each in rows if not (each.vault == vault and each.kind == OPENED and each.name in seen)]
    return [*found, *(Share(vault, OPENED, path, PLAYERS, each) for path, each in seen.items())]


def begun(
    rows: Iterable[Share], vault: str, seen: Mapping[str, Opened], by_name: Mapping[str, Audience]
) -> list[Share]:
    """Decisions with what stood open when it was first recorded what is looked at, by path; some by their names alone."""
    rows = [each for each in rows if not (each.vault == vault and each.kind == "text")]
    decided = {each.name for each in rows if each.vault == vault and each.kind == NOTE}
    shares = [Share(vault, NOTE, path, who) for path, who in by_name.items() if path not in decided]
    return [*opened([*rows, *shares], vault, seen), Share(vault, OPENED, "", DM)]


def taken_over(rows: Sequence[Share], vault: str, path: str, source: str, was: Sequence[Share]) -> list[Share]:
    """Decisions on a note that are those on another one, as they were: its file has the content of that one.

    Args:
        rows: the decisions.
        vault: key of the vault.
        path: of the note.
        source: path of the other one.
        was: the decisions before anything moved.
    """

    def is_on(each: Share, name: str) -> bool:
        return each.vault == vault and each.kind in (NOTE, OPENED) and each.name == name

    taken = [replace(each, name=path, seen=_here(each.seen)) for each in was if is_on(each, source)]
    return [*(each for each in rows if not is_on(each, path)), *taken]


def left(rows: Iterable[Share], vault: str, was: Mapping[str, str], now: Mapping[str, str]) -> list[Share]:
    """Decisions after a vault has got another folder: a note there that is not the one that was looked at is another note.

    Args:
        rows: the decisions.
        vault: key of the vault.
        was: digests of its notes, by path.
        now: digests of those in the folder, by path.
    """

    def is_other(each: Share) -> bool:
        is_there = each.vault == vault and each.seen is not None and not each.seen.left
        return is_there and now.get(each.name) != was.get(each.name, "")

    return [replace(e, seen=replace(e.seen, left=was.get(e.name, "?"))) if e.seen and is_other(e) else e for e in rows]


def followed(rows: Iterable[Share], vault: str, folders: Mapping[str, str]) -> list[Share]:
    """Decisions on folders by the names that these have now; folders by their names before."""

    def name(each: Share) -> str:
        return folders.get(each.name, each.name) if each.vault == vault and each.kind == FOLDER else each.name

    return [replace(each, name=name(each)) for each in rows]


def _here(seen: Opened | None) -> Opened | None:
    return replace(seen, left="") if seen and seen.left else seen


def _is_in(share: Share, vault: str, kind: str, name: str) -> bool:
    """Whether a decision is on something, or on what is in it."""
    if share.vault != vault or (share.kind == OPENED and not share.name):
        return False
    if kind == FOLDER and share.kind in (FOLDER, NOTE, OPENED):
        return not name or share.name == name or share.name.startswith(f"{name}/")
    if kind == NOTE and share.kind == OPENED:
        return share.name == name
    return share.kind == kind and (share.name == name or (kind == TAG and share.name.startswith(f"{name}/")))


def _for_fewer(share: Share, gone: set[str]) -> Share:
    if not isinstance(share.audience, tuple):
        return share
    return replace(share, audience=tuple(name for name in share.audience if fold(name) not in gone))


def _without(rows: Iterable[Share], vault: str, kind: str, name: str) -> list[Share]:
    return [each for each in rows if (each.vault, each.kind, each.name) != (vault, kind, name)]


def _share(row: Mapping[str, object]) -> Share:
    vault, kind, name, audience = (row[key] for key in ("vault", "kind", "name", "audience"))
    who = parsed(audience)
    kinds = (NOTE, FOLDER, TAG, OPENED, "text")
    if not (isinstance(vault, str) and isinstance(name, str) and kind in kinds and who):
        raise ValueError("one of its rows is none")
    whom = who if isinstance(audience, list) or who in (DM, PLAYERS) else DM
    return Share(vault, str(kind), name, whom, _seen(row.get("seen")))


def _seen(value: object) -> Opened | None:
    if not isinstance(value, Mapping):
        return None
    lists = {key: tuple(map(str, value[key])) for key in ("headings", "said", "stems", "closed")}
    return Opened(bool(value["is_shown"]), **lists, left=str(value.get("left") or ""))
