"""What a sync of vaults did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lorekeeper.intake.reports import ImportReport

COUNTED = ("sections", "links_resolved", "links_dangling", "aliases", "creatures", "characters", "tables")
"""What is counted in each note: links that lead to a note or a file, dangling ones, stat blocks, characters' sheets,
tables to roll on."""


@dataclass
class VaultReport(ImportReport):
    """What a sync of vaults did, and what they hold now.

    Attributes:
        vaults: keys of the vaults that were read.
        missing: keys of the vaults whose folders are not there; the library keeps their notes.
        notes: notes in the library.
        counts: numbers of `COUNTED` in them.
        tags: different tags in them.
        passed: files and folders that were passed over, by reason.
        renamed: notes that have moved, with their vectors.
        waiting: what is shared and was not looked at: notes, and headings of open notes.
        understood: what the vaults have, and what is doubtful of that, in at most ten lines a vault.
        marked: notes that their author marked for players, and nobody has looked at.
    """

    KEYS: ClassVar[tuple[str, ...]] = (
        *ImportReport.KEYS,
        "vaults",
        "missing",
        "notes",
        "tags",
        "renamed",
        "waiting",
        "marked",
        "understood",
    )

    vaults: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    tags: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    renamed: int = 0
    waiting: dict[str, int] = field(default_factory=lambda: {"notes": 0, "headings": 0})
    marked: int = 0
    understood: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """That of imports, with the attributes above; the `COUNTED` numbers stand beside the others."""
        counted = {name: self.counts[name] for name in COUNTED}
        return super().as_dict() | counted | {"passed": dict(self.passed.most_common())}
