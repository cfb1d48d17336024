"""How a vault differs from what was read of it before."""

from __future__ import annotations

from dataclasses import dataclass, field

from lorekeeper.notes import Note
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.reading import Content
from lorekeeper.vaults.scan import Scan
from lorekeeper.vaults.state import Row


class StoppedError(Exception):
    """The reading was stopped."""


@dataclass(frozen=True)
class Read:
    """A note that was read, and is to be stored."""

    content: Content
    note: Note
    modified: float


@dataclass
class Plan:
    """How a vault differs from what was read of it before.

    Attributes:
        scan: what is in it now.
        before: what was known of its files, by path.
        kept: the rows of files that are as they were.
        read: the notes that were read, by path.
        rows: rows of files that were read and give nothing.
        gone: paths of files that are no longer there.
        stored: content hashes of what the library has, by "type slug".
        links: which note a link means now.
        renamed: whether there are other names than before.
    """

    scan: Scan
    before: dict[str, Row]
    kept: dict[str, Row] = field(default_factory=dict)
    read: dict[str, Read] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    stored: dict[str, str] = field(default_factory=dict)
    links: Links = field(default_factory=lambda: Links({}))
    renamed: bool = False
