"""What the game master has shared or kept of the vaults, and what stood in each note when it was looked at."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.folding import fold

NOTE, FOLDER, TAG, OPENED = "note", "folder", "tag", "opened"

BETWEEN = " > "
"""Between the headings of a path."""

FEWEST_COMMON = 3
"""Notes of a folder in which a heading was opened, from which on it opens in the others of that folder too."""

_DIGITS = 10


@dataclass(frozen=True)
class Opened:
    """What stood in a note when the game master looked at it and opened it: all that players see of it.

    Attributes:
        is_shown: whether the note itself was opened; False where only some of its headings say that they are for players.
        headings: keys of its headings (`heading_key`), as often as each stood there.
        said: keys of those that are open although the note is not shared, as they say that they are for players.
        stems: digests of what is open although a stem stands in it.
        closed: digests of the lines that stood in what was not open: they stay closed wherever they are moved to.
        left: digest of the file as it was when it was gone, "" while it is there: another file at its path is another note.
    """

    is_shown: bool = True
    headings: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    left: str = ""

    @cached_property
    def digest(self) -> str:
        """Changes with any of it."""
        return _hashed([self.is_shown, self.headings, self.said, self.stems, self.closed, self.left])


@dataclass(frozen=True)
class Share:
    """One decision of the game master.

    Attributes:
        vault: key of the vault.
        kind: "note", "folder" or "tag"; "opened" for what was looked at.
        name: path of the note or folder, "" for the whole vault; or a folded tag.
        audience: "players", names of people, or "dm", which keeps it although something else shares it.
        seen: what was looked at; None for the other kinds.
    """

    vault: str
    kind: str
    name: str
    audience: Audience
    seen: Opened | None = None

    @property
    def written(self) -> str:
        """What was shared, for people."""
        return {TAG: f"#{self.name}", FOLDER: f"{self.name}/" if self.name else "the whole vault"}.get(
            self.kind, self.name
        )


def digest_of(text: str) -> str:
    """What a text is known by in a file of decisions, which so tells nothing of it."""
    return hashlib.blake2b(fold(text).encode("utf-8", "replace"), digest_size=_DIGITS // 2).hexdigest()


def heading_key(path: str) -> str:
    """What a heading is known by: where it stands, and its own text."""
    return digest_of(path) + digest_of(path.rpartition(BETWEEN)[2])


def folders_of(path: str) -> Iterator[str]:
    """The folders that a note is in, the nearest first; the vault itself, "", is the last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


@dataclass(frozen=True)
class Shares:
    """The decisions on one vault.

    A note is for whom it, a folder that it is in, or a tag of it was shared with, once the game master has looked at it. What is
    kept closes it, unless something nearer is shared: the note itself, or a folder within the one that is kept.
    """

    listed: Sequence[Share] = ()
    _by_name: dict[tuple[str, str], Share] = field(init=False, default_factory=dict, compare=False, repr=False)
    _common: dict[str, frozenset[str]] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._by_name.update({(each.kind, each.name): each for each in self.listed})
        counts: dict[str, Counter[str]] = {}
        for each in self.listed:
            if each.seen and not each.seen.left and each.name:
                texts = {key[_DIGITS:] for key in each.seen.headings}
                counts.setdefault(each.name.rpartition("/")[0], Counter()).update(texts)
        for folder, found in counts.items():
            self._common[folder] = frozenset(text for text, number in found.items() if number >= FEWEST_COMMON)

    @cached_property
    def digest(self) -> str:
        """Changes whenever another note may be shared; "" without any decision."""
        return _digest(self.listed)

    @property
    def is_begun(self) -> bool:
        """Whether it was recorded what stood open before anything was looked at."""
        return (OPENED, "") in self._by_name

    def opened(self, path: str) -> Opened | None:
        """What was looked at of a note; None for nothing."""
        seen = self.once_opened(path)
        return None if seen and seen.left else seen

    def once_opened(self, path: str) -> Opened | None:
        """The same, also of a note that is gone."""
        found = self._by_name.get((OPENED, path))
        return found.seen if found else None

    def is_common(self, path: str, key: str) -> bool:
        """Whether a heading was opened in several notes of the folder of this one."""
        return key[_DIGITS:] in self._common.get(path.rpartition("/")[0], ())

    def concerning(self, path: str, tags: Iterable[str]) -> list[Share]:
        """The decisions that hold for a note together: those that share it, or the one that keeps it."""
        if not self._by_name:
            return []
        own = self._by_name.get((NOTE, path))
        if own and own.audience == DM:
            return [own]
        names = dict.fromkeys(inner for tag in tags for inner in _tags(tag))
        by_tag = [self._by_name[TAG, name] for name in names if (TAG, name) in self._by_name]
        found = [own] if own else []
        if kept := [each for each in by_tag if each.audience == DM]:
            return found or kept[:1]
        for folder in folders_of(path):
            decision = self._by_name.get((FOLDER, folder))
            if decision and decision.audience == DM:
                return [*found, *by_tag] if found else [decision]
            found += [decision] if decision else []
        return [*found, *by_tag]

    def recorded(self, path: str, tags: Iterable[str]) -> str:
        """Changes whenever a note may be for others than before; "" if nothing was decided on it."""
        seen = self._by_name.get((OPENED, path))
        common = sorted(self._common.get(path.rpartition("/")[0], ())) if seen else []
        return _digest([*self.concerning(path, tags), *([seen] if seen else [])], common)

    def decided(self, path: str, tags: Iterable[str]) -> tuple[str, Audience | None]:
        """What was decided on a note, for people, and who may see it; None if nothing was."""
        found = self.concerning(path, tags)
        if kept := next((each for each in found if each.audience == DM), None):
            return f"kept: {kept.written}", DM
        if opened := next((each for each in found if each.audience == PLAYERS), None):
            return f"shared: {opened.written}", PLAYERS
        names = tuple(dict.fromkeys(name for each in found for name in each.audience))
        return (f"shared: {', '.join(each.written for each in found)}", names) if names else ("", None)


def folded_tag(tag: str) -> str:
    """A tag as decisions have it, parts apart by slashes."""
    return "/".join(filter(None, map(fold, tag.lstrip("#").split("/"))))


def _tags(tag: str) -> Iterator[str]:
    """A tag, and those that it is one of: "place/town" is one of "place"."""
    folded = folded_tag(tag)
    while folded:
        yield folded
        folded = folded.rpartition("/")[0]


def _digest(shares: Iterable[Share], more: Sequence[str] = ()) -> str:
    content = sorted(
        json.dumps([each.kind, each.name, each.audience, each.seen.digest if each.seen else ""]) for each in shares
    )
    return _hashed([content, more]) if content else ""


def _hashed(content: object) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()
