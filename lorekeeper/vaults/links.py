"""Which note a link means, by Obsidian's rules."""

from __future__ import annotations

import itertools
import posixpath
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from lorekeeper.vaults.scan import SUFFIXES

FOLDER_NOTES = ("index", "readme")
"""Names of a note that stands for its folder, beside the folder's own name."""

FOLDER = ".."
"""What `asked` gives of a link to a folder that it does not name."""

NEAREST = 3


class Links:
    """The notes of a vault, and what links to them.

    A target is a path or the end of one, in any case, with or without the suffix. What matches a whole path comes first, then
    what is in the folder of the link's own note, then the shortest path; an alias only if no path matches.

    Args:
        aliases: other names of each note, by its path.
        others: paths of files that are no notes.
    """

    def __init__(self, aliases: Mapping[str, Sequence[str]], others: Collection[str] = ()) -> None:
        self._paths = {path: _comparable(path) for path in aliases}
        self._others = {form(path) for path in others for form in (_folded, _comparable)}
        self._other_names = {path.rsplit("/", 1)[-1] for path in self._others}
        self._by_path: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._by_alias: dict[str, list[str]] = {}
        self._first: dict[str, dict[str, str]] = {}
        """By the end of a path: the first note that has it in each folder and below; of all, under ""."""
        self._backwards = sorted((_backwards(folded), path) for path, folded in self._paths.items())
        """The paths read from their ends, so that those with one end stand together."""
        for path, folded in self._paths.items():
            self._by_path.setdefault(folded, []).append(path)
            self._by_name.setdefault(folded.rsplit("/", 1)[-1], []).append(path)
            for alias in aliases[path]:
                self._by_alias.setdefault(_folded(alias), []).append(path)
        for alias, named in self._by_alias.items():
            self._by_alias[alias] = sorted(dict.fromkeys(named), key=lambda path: (path.count("/"), path))

    def resolve(self, target: str, source: str) -> str | None:
        """The path of the note that a link in the note ``source`` means, None if there is none."""
        return next(iter(self._meant(target, source, self._first_ending)), None)

    def candidates(self, target: str, source: str) -> list[str]:
        """All notes that a link may mean, the one it does first; one alone if it gives the whole path."""
        return self._meant(target, source, self._ending)

    def _meant(self, target: str, source: str, ending: Callable[[str, str], list[str]]) -> list[str]:
        """The notes that a link may mean, with those by the end of their paths as ``ending`` gives them."""
        written = unicodedata.normalize("NFC", target.replace("\\", "/")).partition("#")[0].strip()
        if not written:
            return [source]
        folder = posixpath.dirname(source)
        if written.startswith(("./", "../")):
            return self._at(posixpath.normpath(posixpath.join(folder, written)))
        wanted = posixpath.normpath(written).strip("/")
        return (
            self._at(wanted)
            or (self._at(posixpath.join(folder, wanted)) if "/" in wanted else [])
            or ending(wanted, folder)
            or self._aliased(written)
        )

    def is_file(self, target: str) -> bool:
        """Whether a target is a file that is no note."""
        folded = _folded(target.partition("#")[0].replace("\\", "/").strip().strip("/"))
        return folded in self._others or folded.rsplit("/", 1)[-1] in self._other_names

    def nearest(self, target: str) -> list[str]:
        """Paths of notes that a dangling link may have meant, the nearest first."""
        name, named = _comparable(target).rsplit("/", 1)[-1], {**self._by_alias, **self._by_name}
        near = get_close_matches(name, named, n=NEAREST, cutoff=0.75)
        return list(dict.fromkeys(named[each][0] for each in near))

    def _at(self, wanted: str) -> list[str]:
        """The note of a whole path, or of a folder of that path; the one in the same case if there are several."""
        folded = _comparable(wanted)
        found = self._by_path.get(folded)
        if not found:
            own = dict.fromkeys((*FOLDER_NOTES, folded.rsplit("/", 1)[-1]))
            found = [path for name in own for path in self._by_path.get(f"{folded}/{name}", ())]
        stem = _without_suffix(wanted)
        return sorted(found, key=lambda path: (_without_suffix(path) != stem, path))[:1]

    def _ending(self, wanted: str, folder: str) -> list[str]:
        end = _backwards(_comparable(wanted))
        there = range(bisect_left(self._backwards, (end,)), len(self._backwards))
        ending = itertools.takewhile(lambda place: self._backwards[place][0].startswith(end), there)
        found = [self._backwards[place][1] for place in ending]

        def rank(path: str) -> tuple[bool, int, str]:
            return bool(folder) and not path.startswith(f"{folder}/"), path.count("/"), path

        return sorted(found, key=rank)

    def _first_ending(self, wanted: str, folder: str) -> list[str]:
        """The first of `_ending`; all notes of that name are compared once, whatever number of links leads to one of them."""
        folded = _comparable(wanted)
        if folded not in self._first:
            first = self._first[folded] = {}
            for path in self._ending(wanted, ""):
                parents = path.split("/")[:-1]
                for depth in range(len(parents) + 1):
                    first.setdefault("/".join(parents[:depth]), path)
        first = self._first[folded]
        return [first.get(folder) or first[""]] if first else []

    def _aliased(self, written: str) -> list[str]:
        return self._by_alias.get(_folded(written), [])


def answers(path: str, aliases: Iterable[str]) -> set[str]:
    """What `asked` may give of the links that mean a note: its name, that of the folder it stands for, its aliases."""
    *folders, name = _comparable(path).split("/")
    stands_for = {folders[-1]} if folders and name in FOLDER_NOTES else set()
    return {name, *stands_for, *map(_folded, aliases)}


def asked(target: str) -> set[str]:
    """What one of the `answers` of a note must be for a link to mean it; `FOLDER` is of any."""
    written = unicodedata.normalize("NFC", target.replace("\\", "/")).partition("#")[0].strip()
    name = _comparable(posixpath.normpath(written).strip("/")).rsplit("/", 1)[-1]
    return {FOLDER if name in (".", FOLDER) else name, _folded(written)}


def _backwards(path: str) -> str:
    return f"/{path}"[::-1]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _without_suffix(path: str) -> str:
    stem, suffix = posixpath.splitext(path)
    return stem if suffix.lower() in SUFFIXES else path


def _comparable(path: str) -> str:
    return _folded(_without_suffix(path))
