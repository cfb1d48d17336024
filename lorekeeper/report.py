"""What an import or a sync did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.errors import ImportFileError


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
    """What was put right while it was read; nothing of it is lost."""
    seconds: float = 0.0
    by_type: dict[str, Counter[str]] = field(default_factory=dict)
    """A sync's numbers of stored, unchanged and removed entries by type."""

    def as_dict(self) -> dict[str, Any]:
        """``{"stored", "unchanged", "embedded", "removed", "failed": [{"where", "why"}], "seconds"}``."""
        failed = [{"where": f.where, "why": f.reason} for f in self.failed]
        return {
            "stored": self.stored,
            "unchanged": self.unchanged,
            "embedded": self.embedded,
            "removed": self.removed,
            "failed": failed,
            "seconds": round(self.seconds, 2),
        }
