"""What is wrong with the notes of a vault: dangling links, ambiguous names, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from lorekeeper.notes import passed_over
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.registry import Vault
from lorekeeper.vaults.scan import TEMPLATE, Scan
from lorekeeper.vaults.state import Row

KINDS = {
    "unreadable": "cannot be read",
    "front-matter": "was read otherwise than it is written, or left out",
    "mark": "does not state who may see the note",
    "stat-block": "is not a creature",
    "table": "is not an entry of its own",
    "template": "is a template outside a folder of templates, and is not read",
    "conflict": "is a copy of another note, as sync programs make them, and is not read; compare the two, and delete one",
    "dangling": "there is no such note",
    "ambiguous": "may mean several notes",
}
"""The kinds of what can be wrong, in the order of the list, and what is said of it."""

_ANY_TEXT = "three words only"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes:
        kind: of `KINDS`.
        vault: key of the vault.
        path: of the note.
        section: heading path in it, "" for the whole note.
        what: the link, or what was not understood.
        near: names or paths that may have been meant.
    """

    kind: str
    vault: str
    path: str
    section: str = ""
    what: str = ""
    near: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Its attributes, for JSON."""
        return asdict(self) | {"near": list(self.near)}


def wrong_with(vault: Vault, rows: Mapping[str, Row], found: Scan) -> Iterator[Finding]:
    """What is wrong with a vault, as it was read. Blocking.

    Args:
        vault: the vault.
        rows: what is known of its files.
        found: what is in it.
    """
    key = vault.key
    yield from (Finding("conflict", key, path) for path in found.conflicts)
    notes = {path: row for path, row in rows.items() if not row.passed}
    links = Links({path: row.aliases for path, row in notes.items()}, found.others | (rows.keys() - notes.keys()))
    for path, row in rows.items():
        yield from (Finding(kind, key, path, what=what) for kind, what in row.problems)
        # only its text gives it away, neither its name nor that of its folder
        if row.passed == TEMPLATE and passed_over(path, _ANY_TEXT) != TEMPLATE:
            yield Finding("template", key, path)
        for target, resolved in row.links.items():
            section, candidates = row.sections.get(target, ""), links.candidates(target, path)
            if len(candidates) > 1:
                yield Finding("ambiguous", key, path, section, target, tuple(candidates))
            elif resolved is None:
                yield Finding("dangling", key, path, section, target, tuple(links.nearest(target)))
