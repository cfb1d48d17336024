"""What an operation did: the base of all reports, and that of imports and syncs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from lorekeeper.errors import ImportFileError
from lorekeeper.printable import shown

if TYPE_CHECKING:
    from lorekeeper.entities import Entity
    from lorekeeper.normalize.taken import Text

SAME_LISTED = 20
"""Failures of one file for one reason that `ImportReport.as_dict` lists one by one; more are listed as one."""

SUFFIXES_SHOWN, SHOWN_URIS, SHOWN_FILES, SHOWN_CHARS = 10, 3, 3, 80

_PLACE = re.compile(r"(:\d+){1,2}$|\[\d+\]$")
"""What follows a file's name in ``ImportFileError.where``."""


class Computes(Protocol):
    """An object that counts the texts it embeds, such as `EmbeddingService`."""

    computed: int


@dataclass
class Report:
    """What an operation did. `as_dict` is its public shape, with the keys in `KEYS`.

    Attributes:
        embedded: texts whose vectors had to be computed.
        seconds: how long it took.
    """

    KEYS: ClassVar[tuple[str, ...]] = ("embedded", "seconds")

    embedded: int = field(default=0, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)

    @contextmanager
    def measured(self, embedding: Computes) -> Iterator[None]:
        """Add the duration of a block, and the texts embedded in it."""
        began, computed = time.monotonic(), embedding.computed
        try:
            yield
        finally:
            self.embedded += embedding.computed - computed
            self.seconds += time.monotonic() - began

    def as_dict(self) -> dict[str, Any]:
        """The values of `KEYS` as JSON takes them, numbers with two decimals."""
        return {key: _plain(getattr(self, key)) for key in self.KEYS}


@dataclass
class NotTaken:
    """Texts of a file that stand in no entry that was made of it.

    Attributes:
        where: the file.
        key: under which they stand in it.
        texts: their number.
        example: the first of them.
    """

    where: str
    key: str
    texts: int
    example: str

    @property
    def reason(self) -> str:
        """What is said of them, without the file."""
        number = f"{self.texts:,} texts" if self.texts > 1 else "a text"
        return f"not taken over: {number} under {shown(self.key, SHOWN_CHARS)}, for example {shown(self.example, SHOWN_CHARS)}"


@dataclass
class ImportReport(Report):
    """What an import or a sync did.

    Attributes:
        stored: entries that were new or had changed.
        unchanged: entries that the library already has, with the same content.
        repeated: entries that a later one of the same import has taken the place of, alike or not; they are in no other number.
        removed: entries that the server no longer has; of a sync only.
        failed: what could not be read.
        skipped: entries without lore, by file.
        warnings: problems that were fixed, and entries that a later one of the same import replaced.
        other_files: files with other suffixes in folders from which files were read, by suffix.
        by_type: numbers of stored, unchanged and removed entries by type; of a sync only.
        not_taken: texts that no reader took over, once per file and key.
        tables: numbers of stored, unchanged and removed tables to roll on, which are counted nowhere else: no source has them
            as entries of their own.
        books: what was understood of books as PDF, a line each.
    """

    KEYS: ClassVar[tuple[str, ...]] = ("stored", "unchanged", "embedded", "removed", "failed", "not_taken", "seconds")

    stored: int = 0
    unchanged: int = 0
    repeated: int = 0
    removed: int = 0
    failed: list[ImportFileError] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    warnings: list[ImportFileError] = field(default_factory=list)
    other_files: Counter[str] = field(default_factory=Counter)
    by_type: dict[str, Counter[str]] = field(default_factory=dict)
    not_taken: list[NotTaken] = field(default_factory=list)
    tables: Counter[str] = field(default_factory=Counter)
    books: list[str] = field(default_factory=list)

    def compare(self, where: str, texts: Iterable[Text], entities: Sequence[Entity]) -> bool:
        """Report the texts of a source that stand in none of the entities that were made of it; whether there are any.

        Args:
            where: the file, or the list of a server.
            texts: see `taken.texts_of`.
            entities: what was made of the source.
        """
        from lorekeeper.normalize.taken import not_taken

        left = not_taken(texts, entities)
        known = {each.key: each for each in self.not_taken if each.where == where} if left else {}
        for key, text in left:
            if key in known:
                known[key].texts += 1
            else:
                known[key] = NotTaken(where, key, 1, text)
                self.not_taken.append(known[key])
        return bool(left)

    def as_dict(self) -> dict[str, Any]:
        """``{"stored", "unchanged", "embedded", "removed", "failed": [{"where", "why"}], "not_taken": [...], "seconds"}``.

        More than `SAME_LISTED` failures of one file for one reason are listed once, with the place of the first, and their
        number after the reason.
        """
        groups = [group if len(group) <= SAME_LISTED else [summary(group)] for group in grouped(self.failed)]
        failed = [{"where": failure.where, "why": failure.reason} for group in groups for failure in group]
        return super().as_dict() | {"failed": failed, "not_taken": [asdict(each) for each in self.not_taken]}

    def left_out(self) -> list[str]:
        """What was not understood, and what was left out with the reason, a line each: of the import of one text."""
        problems = [summary(group) for group in grouped([*self.failed, *self.warnings])]
        lines = []
        for problem in problems:
            place = problem.where.partition(": ")[2]
            lines.append(problem.reason if place in ("", "text") else f"{place}: {problem.reason}")
        lines += [each.reason for each in self.not_taken]
        return lines + [f"left out: {name.partition(': ')[2] or 'an entry without lore'}" for name in self.skipped]


def _plain(value: object) -> Any:
    """A value of a report for JSON."""
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


def grouped(problems: Iterable[ImportFileError], *, by_file: bool = True) -> list[list[ImportFileError]]:
    """Problems grouped by reason, and by file too unless ``by_file`` is false, in the order of the first of each group."""
    groups: dict[tuple[str, str], list[ImportFileError]] = {}
    for problem in problems:
        groups.setdefault((_file(problem) if by_file else "", problem.reason), []).append(problem)
    return list(groups.values())


def summary(group: list[ImportFileError]) -> ImportFileError:
    """One problem for a group of one reason: the first one, with the size of the group and its other places after its reason."""
    first, *others = dict.fromkeys(map(_file, group))
    file = first.partition(": ")[0]
    more = [f"{len(group):,} times"] if len(group) > len(others) + 1 else []
    if len(others) > SHOWN_FILES:
        more.append(f"also {len(others):,} more")
    elif others:
        named = (each.removeprefix(f"{file}: ") for each in others)
        more.append(f"also {', '.join(Path(each).name for each in named)}")
    reason = group[0].reason
    return ImportFileError(group[0].where, f"{reason} ({', '.join(more)})") if more else group[0]


def _file(problem: ImportFileError) -> str:
    return _PLACE.sub("", problem.where)


_LOSS = re.compile(
    r"with other content; th|is not in the files|which is not in|left out|not understood|was not read|replaced"
)
_NOISE = re.compile(r"is not declared in _meta\.sources|has no source; assigned|appears twice")


def by_weight(report: ImportReport, *, failed: bool = True, by_file: bool = False) -> list[str]:
    """The problems of an import, a line each: what is lost before what was fixed, what is expected at the end.

    Problems of one reason are one line, of each file with ``by_file``; so are entries of one kind that were skipped in
    several files.
    """
    groups = [("failed  ", grouped(report.failed, by_file=by_file))] if failed else []
    warned: dict[int, list[list[ImportFileError]]] = {0: [], 1: [], 2: []}
    for group in grouped(_by_files(report.warnings), by_file=by_file):
        is_loss, is_noise = (bool(sign.search(group[0].reason)) for sign in (_LOSS, _NOISE))
        warned[0 if is_loss else 1 + is_noise].append(group)
    lost = [[ImportFileError(each.where, each.reason)] for each in report.not_taken]
    groups += [("warning ", group) for group in (warned[0], lost, warned[1])]
    lines = [f"{label}{summary(group)}" for label, each in groups for group in each]
    kinds: dict[str, list[int]] = {}
    for name, number in sorted(report.skipped.items()):
        kinds.setdefault(name.partition(": ")[2], []).append(number)
    for kind, numbers in kinds.items():
        files = f" in {len(numbers):,} files" if len(numbers) > 1 else ""
        only = next(name for name in report.skipped if name.partition(": ")[2] == kind)
        lines.append(f"skipped {sum(numbers):,} without lore{files}: {(kind or 'entries') if files else only}")
    lines += [f"warning {summary(group)}" for group in warned[2]]
    lines += [f"skipped in folders: {line}" for line in beside(report.other_files)]
    return [*lines, *([f"skipped in folders: {by_suffix(report.other_files)}"] if report.other_files else [])]


def beside(files: Counter[str]) -> list[str]:
    """What files among others may hold that are not read, a line each kind, by the numbers of their suffixes."""
    from lorekeeper.normalize.unsupported_formats import of_suffix

    numbers: Counter[str] = Counter()
    for suffix, number in files.most_common():
        if (known := of_suffix(suffix)) is not None and known.beside:
            numbers[known.reason] += number
    return [f"{number:,} times {reason}" for reason, number in numbers.most_common()]


_REPLACED = re.compile(r"(lore://\S+) is also in (.+), with other content; the last one is stored")


def _by_files(problems: Iterable[ImportFileError]) -> list[ImportFileError]:
    """Problems, with all entries of one file that replace those of another one as one problem, in the place of the first."""
    found: list[ImportFileError | tuple[str, str]] = []
    replaced: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        if match := _REPLACED.fullmatch(problem.reason):
            place = _file(problem), match[2]
            found += [] if place in replaced else [place]
            replaced.setdefault(place, []).append(match[1])
        else:
            found.append(problem)
    return [_replacing(*each, replaced[each]) if isinstance(each, tuple) else each for each in found]


def _replacing(where: str, earlier: str, uris: Sequence[str]) -> ImportFileError:
    if len(uris) == 1:
        return ImportFileError(where, f"{uris[0]} is also in {earlier}, with other content; the last one is stored")
    shown = ", ".join(uris[:SHOWN_URIS]) + (", ..." if len(uris) > SHOWN_URIS else "")
    reason = f"{len(uris):,} entries are also in {earlier}, with other content; these, the last, are stored: {shown}"
    return ImportFileError(where, reason)


def by_suffix(files: Mapping[str, int]) -> str:
    """Numbers of files by suffix, most first: "116 .md, 2 .png, 1 without a suffix"."""
    ranked = Counter(files).most_common()
    shown = [f"{number:,} {suffix or 'without a suffix'}" for suffix, number in ranked[:SUFFIXES_SHOWN]]
    hidden = sum(number for _, number in ranked[SUFFIXES_SHOWN:])
    return ", ".join([*shown, f"{hidden:,} others"] if hidden else shown)
