"""What the game master has shared or kept, beside what notes say themselves: notes, folders, tags, and lines of text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.folding import fold

NOTE, FOLDER, TAG, TEXT = "note", "folder", "tag", "text"


@dataclass(frozen=True)
class Share:
    """One decision of the game master.

    Attributes:
        vault: key of the vault.
        kind: "note", "folder", "tag", or "text", which only ever keeps something.
        name: path of the note or folder, "" for the whole vault; a folded tag; the comparable form of a heading, key or line.
        audience: "players", names of people, or "dm", which keeps it although something else shares it.
    """

    vault: str
    kind: str
    name: str
    audience: Audience

    @property
    def written(self) -> str:
        """What was shared, for people."""
        return {TAG: f"#{self.name}", FOLDER: f"{self.name}/" if self.name else "the whole vault"}.get(
            self.kind, self.name
        )


def folders_of(path: str) -> Iterator[str]:
    """The folders that a note is in, the nearest first; the vault itself, "", is the last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


@dataclass(frozen=True)
class Shares:
    """The decisions on one vault.

    Everybody may see a note with whom it, a folder that it is in, or a tag of it was shared: sharing closes nothing. What is kept
    closes it, unless something nearer is shared: the note itself, or a folder within the one that is kept.
    """

    listed: Sequence[Share] = ()
    _by_name: dict[tuple[str, str], Share] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._by_name.update({(each.kind, each.name): each for each in self.listed if each.kind != TEXT})

    @cached_property
    def texts(self) -> frozenset[str]:
        """Comparable texts that are the game master's wherever they stand as a heading, a key or a line."""
        return frozenset(each.name for each in self.listed if each.kind == TEXT)

    @cached_property
    def digest(self) -> str:
        """Changes whenever another note may be shared; "" without any decision."""
        return _digest(each for each in self.listed if each.kind != TEXT)

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

    def keeps(self, path: str) -> bool:
        """Whether a note itself is kept for the game master."""
        own = self._by_name.get((NOTE, path))
        return own is not None and own.audience == DM

    def recorded(self, path: str, tags: Iterable[str]) -> str:
        """Changes whenever a note may be for others than before; "" if nothing was decided on it."""
        return _digest(self.concerning(path, tags))

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


def _digest(shares: Iterable[Share]) -> str:
    content = sorted([each.kind, each.name, each.audience] for each in shares)
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest() if content else ""
