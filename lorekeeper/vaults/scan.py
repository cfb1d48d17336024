"""Which files of a vault may be notes or characters' sheets, by their names: only the list of what to leave out is opened."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.entities import MAX_RECORD_BYTES
from lorekeeper.errors import ImportFileError
from lorekeeper.normalize.unsupported_formats import of_placeholder, of_programs
from lorekeeper.notes.skipping import has_templates
from lorekeeper.printable import one_line, shown
from lorekeeper.regular_files import open_within, read_at_most
from lorekeeper.vaults.ignoring import MAX_PATTERNS, Ignored, Pattern, parse

SUFFIXES = (".md", ".markdown")

SHEETS = ".json"
"""Suffix of files that may be characters' sheets."""

SHEET_BYTES = 2 * MAX_RECORD_BYTES
"""Largest of these that is read."""

IGNORE_FILE = ".lorekeeperignore"
"""Patterns of what is not read, as in .gitignore, in the folder of a vault."""

IGNORE_BYTES = 1 << 16
"""Largest file of patterns that is read."""

HIDDEN, TEMPLATE, EXCLUDED, LINK, PROGRAMS = "hidden", "a template", "excluded", "a symbolic link", "of a program"


CONFLICT = "copies of other notes"

_CONFLICT = re.compile(
    r"\.sync-conflict-[0-9]{8}-|[(\[ _-](?:conflicted copy|case conflict|conflict copy|in conflict|konfliktkopie|in konflikt|"
    r"copie en conflit|copia en conflicto|copia in conflitto|copia em conflito|conflicterende kopie|kopia powodujaca konflikt)\b",
    re.IGNORECASE,
)
"""How Syncthing, Dropbox, Nextcloud and Obsidian Sync call a copy of a note that was changed in two places."""

_ADDED = re.compile(
    r"(?:[ _.-]+|(?=\())\(?[0-9]{1,2}\)?|[ _.-]+[A-Z0-9]{2,}(?:-[A-Z0-9]+)*"
    r"|[ _.-]*(?:~|(?:copy|kopie|copie|copia|kopia|backup|orig|bak|old|conflict|remote|local|base)(?:[ _.-]?\(?[\w-]{1,40}\)?)?)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:copy|kopie|copie|copia|kopia) (?:of|von|de|di|van)? ?", re.IGNORECASE)
"""What programs put behind or before the name of a file when they keep a copy of it: "X (1)", "X-DESKTOP-7H2K", "Copy of X"."""

COPIED = 0.8
"""Of the lines of the shorter one of two files, the share that a copy has too."""

_COMPARED_BYTES, _FEWEST_WORDS = 1 << 16, 4
"""How much of a file is compared with the one it may be a copy of, and the words of a line that counts."""


@dataclass(frozen=True)
class File:
    """A file that may be a note, or the sheet of a character.

    Attributes:
        path: within the vault, with "/", in NFC.
        name: the same as the file system has it.
        size: in bytes.
        changed: time of the last change of its content, in nanoseconds since 1970.
        touched: time of the last change of anything about it, likewise.
    """

    path: str
    name: str
    size: int
    changed: int
    touched: int


@dataclass
class Scan:
    """What is in a vault.

    Attributes:
        files: those that may be notes or characters' sheets, by path.
        others: paths of other files that notes can link to.
        passed: numbers of files and folders that were passed over, by reason: a suffix, or one of the words above.
        problems: what cannot be read.
        unreadable: paths of files and folders that cannot be read, and may be or hold notes all the same; "" for the vault itself.
        conflicts: paths of the copies that sync programs made of notes which were changed twice; they are passed over.
        root: device and number of its folder; None if it is missing.
    """

    files: dict[str, File] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    passed: Counter[str] = field(default_factory=Counter)
    problems: list[ImportFileError] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    root: tuple[int, int] | None = None

    def may_have(self, path: str) -> bool:
        """Whether a path may exist, although it was not found."""
        return any(not each or path == each or path.startswith(f"{each}/") for each in self.unreadable)


def scan(root: Path, exclude: Sequence[str] = ()) -> Scan:
    """Look through a vault. Blocking; symbolic links are not followed.

    Of two files whose paths are equal in NFC, the second is a problem; paths that differ in case are two notes.
    """
    found = Scan()
    try:
        status = root.stat()
    except OSError:
        found.unreadable.append("")
        return found
    found.root = status.st_dev, status.st_ino
    _Walk(root, _patterns(root, exclude, found), found).run()
    for path in [path for path, other in _pairs(found.files) if _is_copy(root, found.files[path], found.files[other])]:
        del found.files[path]
        found.passed[CONFLICT] += 1
        found.conflicts.append(path)
    return found


def _pairs(files: dict[str, File]) -> Iterator[tuple[str, str]]:
    """The files that are called as if they were copies of others beside them, and these."""
    by_folder: dict[str, dict[str, str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        by_folder.setdefault(folder, {})[name.rpartition(".")[0]] = path
    for names in by_folder.values():
        for name, path in names.items():
            begun = [name[:end] for end in range(len(name) - 1, 0, -1) if _ADDED.fullmatch(name[end:])]
            before = _BEFORE.match(name)
            bases = [*begun, *([name[before.end() :]] if before else [])]
            if base := next((names[each] for each in bases if each in names), ""):
                yield path, base


def _is_copy(root: Path, file: File, other: File) -> bool:
    """Whether one of two files says nearly all that the other says: two notes with like names, or of one template, do not."""
    lines = [_prose(root, each) for each in (file, other)]
    fewest = min(map(len, lines))
    return fewest > 0 and len(lines[0] & lines[1]) >= COPIED * fewest


def _prose(root: Path, file: File) -> set[bytes]:
    try:
        with open_within(root, file.name) as opened:
            text = opened.read(_COMPARED_BYTES)
    except OSError:
        return set()
    return {line.strip() for line in text.splitlines() if len(line.split()) >= _FEWEST_WORDS}


class _Walk:
    """Goes through the folders of a vault, however deeply they are nested."""

    def __init__(self, root: Path, ignored: Ignored, found: Scan) -> None:
        self._root, self._ignored, self._found = str(root), ignored, found

    def run(self) -> None:
        """Look through the folder and those in it; each folder where its name has its place among the files."""
        levels = [self._listed("")]
        while levels:
            if (entry := next(levels[-1], None)) is None:
                levels.pop()
            elif folder := self._entry(*entry):
                levels.append(self._listed(folder))

    def _listed(self, name: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        """What is in a folder, by the folder's name within the vault, each with its own."""
        try:
            with os.scandir(os.path.join(self._root, name) if name else self._root) as listed:  # noqa: PTH118
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            self._unreadable(name, f"the folder cannot be read: {error.strerror or error}")
            self._found.unreadable.append(unicodedata.normalize("NFC", name))
            entries = []
        return iter([(entry, f"{name}/{entry.name}" if name else entry.name) for entry in entries])

    def _entry(self, entry: os.DirEntry[str], name: str) -> str:
        """Record an entry; its name if it is a folder to look through, else ""."""
        if (reason := of_placeholder(entry.name)) and (note := _replaced(entry.name)):
            path = unicodedata.normalize("NFC", f"{name[: -len(entry.name)]}{note}")
            self._unreadable(path, reason)
            self._found.unreadable.append(path)
        elif reason := self._passed(entry, name):
            self._found.passed[reason] += 1
        elif not is_text(name):
            self._unreadable(name, "its name is not valid UTF-8; rename it")
        elif entry.is_dir(follow_symlinks=False):
            return name
        elif entry.is_file(follow_symlinks=False):
            self._file(entry, name)
        return ""

    def _passed(self, entry: os.DirEntry[str], name: str) -> str:
        """Why an entry is passed over, "" if it is not."""
        if entry.name.startswith("."):
            return HIDDEN
        if entry.is_symlink():
            return LINK
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and has_templates(entry.name):
            return TEMPLATE
        if of_programs(entry.name, is_folder=is_folder):
            return PROGRAMS
        return EXCLUDED if self._ignored.has(name, is_folder=is_folder) else ""

    def _file(self, entry: os.DirEntry[str], name: str) -> None:
        path, suffix = unicodedata.normalize("NFC", name), os.path.splitext(entry.name)[1].lower()  # noqa: PTH122
        if suffix not in SUFFIXES and not _may_be_sheet(entry, suffix):
            self._found.passed[suffix or "without a suffix"] += 1
            self._found.others.add(path)
            return
        if _CONFLICT.search(entry.name):
            self._found.passed[CONFLICT] += 1
            self._found.conflicts.append(path)
            return
        if twin := self._found.files.get(path):
            self._unreadable(name, f"its name differs from {shown(twin.name)} only in how accents are written")
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._unreadable(name, f"cannot be read: {error.strerror or error}")
            self._found.unreadable.append(path)
            return
        self._found.files[path] = File(path, name, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def _unreadable(self, name: str, reason: str) -> None:
        self._found.problems.append(ImportFileError(one_line(name), reason))


def _replaced(placeholder: str) -> str:
    """The name of the note that a placeholder stands for: "Mira.md" for ".Mira.md.icloud"; "" if it was no note."""
    note = os.path.splitext(placeholder)[0].removeprefix(".")  # noqa: PTH122
    return note if note.lower().endswith(SUFFIXES) else ""


def _may_be_sheet(entry: os.DirEntry[str], suffix: str) -> bool:
    try:
        return (
            suffix == SHEETS
            and entry.stat(follow_symlinks=False).st_size <= SHEET_BYTES
            and not _CONFLICT.search(entry.name)
        )
    except OSError:
        return False


def is_text(name: str) -> bool:
    """Whether the bytes of a file name are UTF-8: Python has lone surrogates in place of others."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def _patterns(root: Path, exclude: Sequence[str], found: Scan) -> Ignored:
    try:
        with open_within(root, IGNORE_FILE) as file:
            lines = read_at_most(file, IGNORE_BYTES).decode("utf-8-sig", "replace").splitlines()
    except FileNotFoundError:
        lines = []
    except OSError as error:
        found.problems.append(ImportFileError(IGNORE_FILE, f"cannot be read: {error.strerror or error}"))
        lines = []
    patterns = list(_valid([*lines, *exclude], found))
    if len(patterns) > MAX_PATTERNS:
        reason = f"it has {len(patterns):,} patterns; the first {MAX_PATTERNS:,} count. Use fewer, such as folders"
        found.problems.append(ImportFileError(IGNORE_FILE, reason))
    return Ignored(patterns[:MAX_PATTERNS])


def _valid(lines: Iterable[str], found: Scan) -> Iterator[Pattern]:
    for line in lines:
        try:
            pattern = parse(line)
        except ValueError as error:
            reason = f"{shown(line, 60)} is not a pattern as in .gitignore: it {error}"
            found.problems.append(ImportFileError(IGNORE_FILE, reason))
        else:
            if pattern:
                yield pattern
