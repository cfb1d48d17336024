"""What is wrong with the notes of a vault: dangling links, ambiguous names, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from lorekeeper.folding import fold
from lorekeeper.normalize.note_characters import characters_of
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.normalize.note_tables import note_tables
from lorekeeper.notes import Note, passed_over, read_note
from lorekeeper.notes.conventions import SETTINGS_FILE, Conventions, clue_of
from lorekeeper.notes.marks import BUILT_IN, OwnMarks
from lorekeeper.notes.reading import plain_note
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.reading import content
from lorekeeper.vaults.registry import Vault
from lorekeeper.vaults.scan import SHEETS, TEMPLATE, scan
from lorekeeper.vaults.sheets import characters_of as sheets_as_entities
from lorekeeper.vaults.sheets import sheets_of
from lorekeeper.vaults.understood import settings_of

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

_ANY_NOTE, _ANY_TEXT = "Note.md", "three words only"


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


def check(vault: Vault, own: OwnMarks = BUILT_IN) -> list[Finding]:
    """All that is wrong with a vault, by kind and path. Blocking; reads every note."""
    found = scan(vault.path, vault.exclude)
    findings = [Finding("unreadable", vault.key, p.where, what=p.reason) for p in found.problems]
    findings += [Finding("conflict", vault.key, path) for path in found.conflicts]
    if found.root is None:
        findings.append(Finding("unreadable", vault.key, "", what="the folder is missing"))
    texts, declared = dict[str, str](), settings_of(vault.path)
    findings += [Finding("unreadable", vault.key, SETTINGS_FILE, what=why) for why in declared.problems]
    for path, file in found.files.items():
        try:
            text = content(vault.path, file).text
            if path.lower().endswith(SHEETS):
                found.others.add(path)
                sheets = sheets_of(path, text, own)
                problems = sheets_as_entities(sheets, vault.key, vault.name, 0.0)[1] if sheets else ()
                findings += [Finding("stat-block", vault.key, path, what=problem) for problem in problems]
            elif passed_over(path, text):
                found.others.add(path)
                findings += _disguised(vault, path, text)
            else:
                texts[path] = text
        except MemoryError:
            raise
        except Exception as error:
            findings.append(Finding("unreadable", vault.key, path, what=str(error)))
    conventions = Conventions({path: clue_of(path, text) for path, text in texts.items()}, declared)
    notes = {path: read_note(path, text, own, conventions.usage(path)) for path, text in texts.items()}
    links = Links({path: note.aliases for path, note in notes.items()}, found.others)
    creatures = {fold(str(block.values.get("name"))) for note in notes.values() for block in note.stat_blocks}
    for note in notes.values():
        unread = note.unread
        try:
            findings += list(_of_note(vault, note, links, creatures))
        except MemoryError:
            raise
        except Exception as error:
            unread = plain_note(note.path, "", error).unread
        findings += [Finding("unreadable", vault.key, note.path, what=unread)] if unread else []
    order = list(KINDS)
    return sorted(findings, key=lambda finding: (order.index(finding.kind), finding.path))


def _disguised(vault: Vault, path: str, text: str) -> Iterator[Finding]:
    """A template that only its text gives away, neither its name nor that of its folder."""
    if passed_over(_ANY_NOTE, text) == TEMPLATE and passed_over(path, _ANY_TEXT) != TEMPLATE:
        yield Finding("template", vault.key, path)


def _of_note(vault: Vault, note: Note, links: Links, creatures: set[str]) -> Iterator[Finding]:
    for problem in note.problems:
        yield Finding("front-matter", vault.key, note.path, what=problem)
    for doubt in note.doubts:
        yield Finding("mark", vault.key, note.path, what=doubt)
    made = creatures_of(note, vault.key, vault.name, lambda _: None)
    of_the_vault = {problem for base, problem in made.missing.items() if fold(base) in creatures}
    for problem in made.problems:
        if problem in of_the_vault:
            continue
        yield Finding("stat-block", vault.key, note.path, what=problem)
    for problem in characters_of(note, vault.key, vault.name)[1]:
        yield Finding("stat-block", vault.key, note.path, what=problem)
    for problem in note_tables(note, vault.key, vault.name).problems:
        yield Finding("table", vault.key, note.path, what=problem)
    for target, section in dict.fromkeys((link.target, link.section) for link in note.links):
        candidates = links.candidates(target, note.path)
        if len(candidates) > 1:
            yield Finding("ambiguous", vault.key, note.path, section, target, tuple(candidates))
        elif not candidates and not links.is_file(target):
            yield Finding("dangling", vault.key, note.path, section, target, tuple(links.nearest(target)))
