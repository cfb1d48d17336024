"""What an import or a sync did."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.errors import ImportFileError

SAME_LISTED = 20
"""Failures of one file for one reason that `ImportReport.as_dict` lists one by one; of more, the first and their number."""

SUFFIXES_SHOWN = 10

_PLACE = re.compile(r"(:\d+){1,2}$|\[\d+\]$")
"""What follows a file's name in ``ImportFileError.where``."""


@dataclass
class ImportReport:
    """What an import or a sync did. `as_dict` is its public shape."""

    stored: int = 0
    unchanged: int = 0
    embedded: int = 0
    removed: int = 0
    failed: list[ImportFileError] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    oddities: list[ImportFileError] = field(default_factory=list)
    """What was corrected while it was read, and entries that another one of the same import replaced."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Files in folders that are not named like data, by suffix, where others were read."""
    seconds: float = 0.0
    by_type: dict[str, Counter[str]] = field(default_factory=dict)
    """A sync's numbers of stored, unchanged and removed entries by type."""

    def as_dict(self) -> dict[str, Any]:
        """``{"stored", "unchanged", "embedded", "removed", "failed": [{"where", "why"}], "seconds"}``.

        ``failed`` lists every failure; those of one file for one and the same reason, where they are more than `SAME_LISTED`,
        are listed once, with the place of the first and with their number behind the reason.
        """
        failed = [
            {"where": one.where, "why": one.reason}
            for same in grouped(self.failed)
            for one in (same if len(same) <= SAME_LISTED else [summary(same)])
        ]
        return {
            "stored": self.stored,
            "unchanged": self.unchanged,
            "embedded": self.embedded,
            "removed": self.removed,
            "failed": failed,
            "seconds": round(self.seconds, 2),
        }


def grouped(problems: Iterable[ImportFileError]) -> list[list[ImportFileError]]:
    """Problems of one file for one and the same reason together, in the order of the first of each group."""
    groups: dict[tuple[str, str], list[ImportFileError]] = {}
    for problem in problems:
        groups.setdefault((_PLACE.sub("", problem.where), problem.reason), []).append(problem)
    return list(groups.values())


def summary(group: list[ImportFileError]) -> ImportFileError:
    """One problem in place of a group: the first, with the number of all of them behind its reason."""
    first, number = group[0], len(group)
    return first if number == 1 else ImportFileError(first.where, f"{first.reason} ({number:,} times)")


def by_suffix(files: Mapping[str, int]) -> str:
    """Numbers of files by suffix, most first: "116 .md, 2 .png, 1 without a suffix"."""
    ranked = Counter(files).most_common()
    shown = [f"{number:,} {suffix or 'without a suffix'}" for suffix, number in ranked[:SUFFIXES_SHOWN]]
    others = sum(number for _, number in ranked[SUFFIXES_SHOWN:])
    return ", ".join([*shown, f"{others:,} others"] if others else shown)
