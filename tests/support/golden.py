"""Golden files: what users get of the files that they import, as text that people review.

`tests/golden/FORMAT/NAME.yaml` is a list of imports. Each is a mapping from the names of its files to what is in them: objects
are written as JSON, a text as it is. `NAME.md` beside it has what comes of them: each entry with its kind, its uri and its source,
its filter fields, its line of facts and its page, and what the import reports. An entry that is much like the one before it of its
type is told by the lines that differ. Imports of the folder `notes` are vaults; those of the folder `corpus` are lists of paths in
the corpus, of whose entries only numbers are kept: of each kind, and of values of each field.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
import yaml

from lorekeeper.audience import Viewer
from lorekeeper.entities import VAULT, Entity
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport, by_weight
from lorekeeper.normalize import normalize
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.note_characters import characters_of
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.normalize.note_tables import note_tables
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import passed_over, read_note
from lorekeeper.notes.marks import LOOKED_AT
from lorekeeper.render import markdown
from lorekeeper.repairs.entries import repaired_entry
from lorekeeper.text.facts import facts
from lorekeeper.text.passages import passages
from lorekeeper.views.redact import is_visible, redact
from tests.support.corpus import ENTITIES
from tests.support.corpus import imported as imported_corpus

FOLDER = Path(__file__).parent.parent / "golden"
NOTES, CORPUS = "notes", "corpus"
LINES = (".jsonl", ".db")
"""Suffixes of files with an object in each line."""

_FORMATS = re.compile(r"LoreKeeper reads JSON, .*? OrcBrew packs\b")
"""The list of all formats, which grows with each."""

CASES = sorted(FOLDER.rglob("*.yaml"))

UPGRADED_OTHERWISE = {"fantasy-statblocks", "fight-club", "improved-initiative", "orcbrew", "plain", "printed"}
"""Sources of which not every field follows from what is stored of an entry."""

PLAYER = Viewer.player("ana")

Made = tuple[list[Entity], list[str]]
"""The entries of an import, and what is reported of it."""


def imports_of(case: Path) -> list[dict[str, Any]]:
    """The imports of a golden file."""
    found: list[dict[str, Any]] = yaml.load(case.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def imported(files: Mapping[str, Any], folder: Path) -> Made:
    """What an import of files makes, which are written into a new folder."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(written(name, content), "utf-8")
    entries, report = _read([folder / name for name in files] if len(files) == 1 else [folder])
    return entries, [
        _FORMATS.sub("LoreKeeper reads ...", line.replace(f"{folder}/", "").replace(str(folder), "the folder"))
        for line in by_weight(report)
    ]


def _read(paths: Sequence[Path]) -> tuple[list[Entity], ImportReport]:
    report = ImportReport()
    return [entry.entity for entry in Reader(paths, None, report).read()], report


def counted(paths: Sequence[str], corpus: Path, factory: pytest.TempPathFactory) -> Made:
    """The entries of files of the corpus, and the numbers of their kinds, of the values of their fields, and of problems."""
    whole = paths == [ENTITIES]
    entries, report = imported_corpus(corpus, factory) if whole else _read([corpus / path for path in paths])
    kinds = Counter(f"{entity.type}, {entity.kind}" for entity in entries)
    fields: defaultdict[str, list[object]] = defaultdict(list)
    for entity in entries:
        for name, value in entity.fields.items():
            fields[f"{entity.type}, {name}"].append(value)
    told = [f"{number} times {kind}" for kind, number in sorted(kinds.items())]
    told += [f"{name}: {len(found)} values, {len(set(found))} different" for name, found in sorted(fields.items())]
    problems = len(report.failed), len(report.warnings), len(report.not_taken), sum(report.skipped.values())
    return entries, [*told, "{} failed, {} warnings, {} not taken, {} skipped".format(*problems)]


def written(name: str, content: Any) -> str:
    """The content of a file."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and name.endswith(LINES):
        return "".join(f"{json.dumps(line)}\n" for line in content)
    return json.dumps(content)


def read_vault(files: Mapping[str, Any]) -> Made:
    """The entries of the notes of a vault: the notes, and the creatures, tables and characters in them.

    JSON files are of the library, for stat blocks that change a creature of it; others change one of another note.
    """
    library = [normalize(content)[0] for path, content in files.items() if path.endswith(".json")]
    files = {path: text for path, text in files.items() if not path.endswith(".json")}
    reasons = {path: passed_over(path, text) for path, text in files.items()}
    notes = {path: read_note(path, text, LOOKED_AT) for path, text in files.items() if not reasons[path]}
    by_name = {fold(note.name): path for path, note in notes.items()}
    known = {entity.name: entity for entity in library}
    for note in notes.values():
        known |= {entity.name: entity for entity in creatures_of(note, "vale", "The Vale", known.get).entities}
    entries: list[Entity] = []
    report = [f"{path} is passed over: {reason}" for path, reason in reasons.items() if reason]
    for path, note in notes.items():
        creatures = creatures_of(note, "vale", "The Vale", known.get)
        tables = note_tables(note, "vale", "The Vale")
        characters, problems = characters_of(note, "vale", "The Vale")
        entries.append(note_entity(note, "vale", "The Vale", 0.0, lambda target: by_name.get(fold(target))))
        entries += [*creatures.entities, *tables.entities, *characters]
        report += [f"{path}: {each}" for each in (*note.problems, *creatures.problems, *tables.problems, *problems)]
    return entries, report


def keep_laws(entity: Entity) -> None:
    """What holds for each entry: its fields follow from what is stored, what is repaired stays so, its record is taken back,
    and it has text to find it by."""
    if entity.source_api not in UPGRADED_OTHERWISE:
        assert clean_fields(entity.type, derive_fields(entity)) == entity.fields, f"stored again: {entity.uri}"
    repaired = repaired_entry(entity.data)
    assert repaired_entry(repaired) == repaired
    assert checked(entity.type, json.loads(json.dumps(entity.as_record()))) == entity
    assert passages(entity)


def described(entity: Entity) -> list[str]:
    """The filter fields of an entry, its line of facts and its page, as lines."""
    fields = (
        f"{name}: {'; '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in entity.fields.items()
        if name != "modified"
    )
    told, page = facts(entity), _page(entity)
    return [*fields, *([f"facts: {told}"] if told else []), *(["", *page] if page else []), *_of_players(entity, page)]


def _page(entity: Entity) -> list[str]:
    return markdown(entity).removeprefix(f"# {entity.name}\n").strip("\n").split("\n")


def _of_players(entity: Entity, page: list[str]) -> Iterator[str]:
    """How a player's view of an entry from a vault differs from the game master's."""
    if entity.source_api != VAULT and "note" not in entity.data:
        return
    if not is_visible(entity, PLAYER):
        yield "players: nothing"
    else:
        yield from (f"players: {line}" for line in _changes(page, _page(redact(entity, PLAYER, lambda _: None))))


def read(case: Path, factory: pytest.TempPathFactory) -> Iterator[Made]:
    """What each import of a golden file makes; files are written into a folder."""
    folder = factory.mktemp("imports")
    for number, files in enumerate(imports_of(case)):
        if case.parent.name == CORPUS:
            yield counted(files[CORPUS], Path(os.environ["LOREKEEPER_CORPUS"]), factory)
        else:
            yield read_vault(files) if case.parent.name == NOTES else imported(files, folder / str(number))


def shown(made: Sequence[Made], *, listed: bool = True) -> str:
    """What comes of the imports of a golden file, as its expected file has it; the entries themselves only if they are listed."""
    if not listed:
        return "\n".join(line for _, report in made for line in ("=" * 20, *report)) + "\n"
    known: dict[str, list[str]] = {}
    return "\n".join(line for entries, report in made for line in _import(entries, report, known)) + "\n"


def _import(entries: Sequence[Entity], report: Sequence[str], known: dict[str, list[str]]) -> Iterator[str]:
    yield "=" * 20
    yield from (f"report: {line}" for line in report)
    for entity in entries:
        origin = f"{entity.document_name or 'no title'}, {entity.source_api}"
        yield f"=== {entity.name} = {entity.kind} = {entity.uri} = {origin}"
        lines = described(entity)
        changed = list(_changes(known[entity.type], lines)) if entity.type in known else lines
        yield from changed if len(changed) < 0.7 * len(lines) else lines
        known[entity.type] = lines


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for _, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if before[start:end] != after[first:last]:
            yield from (f"- {line}" for line in before[start:end])
            yield from (f"+ {line}" for line in after[first:last])
