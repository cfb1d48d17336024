"""An import that goes on beside other work, as those see it who wait for it."""

from __future__ import annotations

import time
from asyncio import Task
from dataclasses import dataclass, field

from lorekeeper.intake.reports import ImportReport, by_weight

MAX_LINES = 10
"""Most lines that are told of what was understood, and of what was not."""


@dataclass
class Importing:
    """How far an import is, and what came of it.

    Attributes:
        name: of its file.
        what: is being done.
        done: how much of that.
        total: how much there is, as far as that is known; 0 if it is not.
        report: what the import did, once it is over.
        problem: why it did nothing.
        task: does it.
    """

    name: str
    what: str = "opening"
    done: int = 0
    total: int = 0
    report: ImportReport | None = None
    problem: str = ""
    task: Task[None] | None = None
    _began: float = field(default_factory=time.monotonic)

    def step(self, what: str, more: int, done: int) -> None:
        """Add to what there is to do, and to what is done."""
        if what != self.what:
            self.what, self.done, self.total, self._began = what, 0, 0, time.monotonic()
        self.total += more
        self.done += done

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.report or self.problem)

    @property
    def left(self) -> int:
        """Seconds that what is being done will take yet; 0 if that is not known."""
        spent = time.monotonic() - self._began
        return round(spent * (self.total - self.done) / self.done) if self.done else 0

    @property
    def problems(self) -> list[str]:
        """What was not understood, or left out, what is lost first."""
        lines = by_weight(self.report) if self.report else [self.problem][: bool(self.problem)]
        more = [f"... and {len(lines) - MAX_LINES + 1:,} more"] if len(lines) > MAX_LINES else []
        return [*(" ".join(line.split()) for line in lines[: MAX_LINES - len(more)]), *more]
