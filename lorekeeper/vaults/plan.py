"""How a vault differs from what was read of it before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lorekeeper.notes import Note
from lorekeeper.notes.conventions import Clue, Conventions, Declared
from lorekeeper.vaults.links import FOLDER, Links, answers, asked
from lorekeeper.vaults.reading import Content
from lorekeeper.vaults.scan import Scan
from lorekeeper.vaults.sheets import Sheets
from lorekeeper.vaults.state import Row


class StoppedError(Exception):
    """The reading was stopped."""


@dataclass(frozen=True)
class Read:
    """A note that was read, and is to be stored; or the sheets of characters at its place, if that is not None.

    Attributes:
        content: of the file.
        note: as it was read.
        modified: when its content changed last, in seconds since 1970.
        sheets: of a JSON file.
        bases: names of the creatures that its stat blocks change.
        people: as in `Row`.
    """

    content: Content
    note: Note
    modified: float
    sheets: Sheets | None = None
    bases: Sequence[str] = ()
    people: Mapping[str, bool] = field(default_factory=dict)


@dataclass
class Plan:
    """How a vault differs from what was read of it before.

    Attributes:
        scan: what is in it now.
        before: what was known of its files, by path.
        kept: the rows of files that are as they were.
        read: the notes and sheets that were read, by path.
        rows: rows of files that were read and give nothing.
        gone: paths of files that are no longer there.
        stored: content hashes of what the library has, by "type slug".
        clues: what each note shows of the conventions of the vault, by path.
        declared: what the vault's own settings say.
    """

    scan: Scan
    before: dict[str, Row]
    kept: dict[str, Row] = field(default_factory=dict)
    read: dict[str, Read] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    stored: dict[str, str] = field(default_factory=dict)
    clues: dict[str, Clue] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)

    @cached_property
    def conventions(self) -> Conventions:
        """How the vault is written; to be asked for when all clues are known."""
        return Conventions(self.clues, self.declared)

    @cached_property
    def links(self) -> Links:
        """Which note a link means now; to be asked for when all has been read that has changed."""
        passed = {path for rows in (self.kept, self.rows) for path, row in rows.items() if row.passed}
        sheets = {path for path, read in self.read.items() if read.sheets}
        return Links(self._names(), self.scan.others | passed | sheets)

    def affected_targets(self) -> set[str]:
        """Targets of links in the notes that are kept which may mean another note than before, for what they are called."""
        before = {path: row.aliases for path, row in self.before.items() if not row.passed}
        now = self._names()
        differing = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        called = {name for path in differing for names in (before, now) for name in answers(path, names.get(path, ()))}
        if not called:
            return set()
        called.add(FOLDER)
        targets = {target for row in self.kept.values() for target in row.links}
        return {target for target in targets if not called.isdisjoint(asked(target))}

    @cached_property
    def owners(self) -> dict[str, str]:
        """Which file a character is read from, by its name, as `_owners`; to be asked for when all is read that has changed."""
        kept = {path: row.people for path, row in self.kept.items()}
        return _owners({**kept, **{path: read.people for path, read in self.read.items()}})

    def affected_people(self) -> set[str]:
        """Names of the characters that are to be read from other files than before."""
        before = _owners({path: row.people for path, row in self.before.items()})
        return {name for name in {**before, **self.owners} if before.get(name) != self.owners.get(name)}

    def _names(self) -> dict[str, list[str]]:
        """The other names of each note."""
        kept = {path: row.aliases for path, row in self.kept.items() if not row.passed}
        return kept | {path: list(read.note.aliases) for path, read in self.read.items() if not read.sheets}


def _owners(people: Mapping[str, Mapping[str, bool]]) -> dict[str, str]:
    """Which of the files of a vault a character is read from, by its name: "" if there are sheets, which all count.

    A person is one character: notes that say little beside a sheet, such as a class and a level, give none; without a sheet, the
    first of them does.
    """
    found: dict[str, str] = {}
    for path in sorted(people):
        for name, is_sheet in people[path].items():
            found[name] = "" if is_sheet else found.get(name, path)
    return found
