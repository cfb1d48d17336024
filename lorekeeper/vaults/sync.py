"""Brings the library in step with a vault: what is new or changed is read and stored, what is gone is removed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from functools import partial

from lorekeeper.audience import DM, PLAYERS, Audience, parsed
from lorekeeper.cache.protocol import Identity, Progress, SearchCache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import AUDIENCE, Entity, uri_of
from lorekeeper.errors import FilterError, ImportFileError
from lorekeeper.folding import fold, fold_person
from lorekeeper.intake.changes import IMPORT_BATCH, store_in_batches
from lorekeeper.normalize.build import Origin, build
from lorekeeper.normalize.characters import is_sheet
from lorekeeper.normalize.note_characters import characters_of
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.normalize.note_tables import note_tables
from lorekeeper.normalize.notes import SOURCE, note_entity
from lorekeeper.notes import Note, passed_over, read_note
from lorekeeper.notes.conventions import SETTINGS_FILE, Clue, clue_of
from lorekeeper.notes.marks import BUILT_IN, OwnMarks
from lorekeeper.notes.reading import plain_note
from lorekeeper.printable import one_line, shown
from lorekeeper.shares import FOLDER, NOTE, OPENED, Opened, Share, Shares, folders_of
from lorekeeper.system import in_own_thread, return_memory
from lorekeeper.vaults.opened import closed_lines, is_marked, open_to_of, opened_of, waiting_in
from lorekeeper.vaults.plan import Plan, Read, StoppedError
from lorekeeper.vaults.reading import Content, UnreadableError, content
from lorekeeper.vaults.registry import Vault
from lorekeeper.vaults.renames import keep_vectors
from lorekeeper.vaults.reports import VaultReport
from lorekeeper.vaults.scan import SHEETS, File, Scan, scan
from lorekeeper.vaults.shares import begun, followed, kept, opened, taken_over
from lorekeeper.vaults.sheets import Sheets, is_cut_off, sheets_of
from lorekeeper.vaults.sheets import characters_of as sheets_as_entities
from lorekeeper.vaults.state import SHEET, Row, State, Summary, all_entities
from lorekeeper.vaults.understood import settings_of, understood

NOTES = "notes"

TYPES = (NOTES, "creatures", "rules", "spells", "equipment", "characters")
"""The types of entities that notes give."""

BATCH = IMPORT_BATCH
"""Notes that are stored, and recorded as stored, at a time."""

Edit = Callable[[Callable[[list[Share]], list[Share]]], None]
"""Changes the decisions in their file by a function."""

RACY_NANOSECONDS = 2_000_000_000
"""A file that was read so soon after its last change is read again: another change may have left the same time and size."""


class VaultSync:
    """One sync of one vault.

    Args:
        vault: the vault.
        state: what was read of it.
        cache: the library's.
        embedding: files the vectors of notes that were renamed.
        report: is updated.
        stopped: ends the reading of files when it is set.
        own: the user's own marks; if they were others when the vault was read last, all of it is read again.
        start: called with the number of files to read, and of notes to store.
        progress: called with the number of further ones read or stored.
        edit: changes the file of what was shared; None for a library that has none.
    """

    def __init__(
        self,
        vault: Vault,
        state: State,
        cache: SearchCache,
        embedding: EmbeddingService,
        report: VaultReport,
        stopped: threading.Event,
        own: OwnMarks = BUILT_IN,
        start: Progress | None = None,
        progress: Progress | None = None,
        edit: Edit | None = None,
    ) -> None:
        self._vault, self._state, self._cache, self._embedding = vault, state, cache, embedding
        self._report, self._stopped, self._start, self._progress = report, stopped, start, progress
        self._own, self._is_marked_otherwise = own, False
        self._edit, self._kept = edit, frozenset[str]()
        """Digests of the notes that the game master keeps: a copy of one is kept too."""
        self._left: dict[str, list[str]] = {}
        """Paths of the notes that are gone and were shared or looked at, by digest."""
        self._by_digest: dict[str, list[str]] = {}
        """Paths of all files that were known, by digest."""
        self._was: list[Share] = []
        """The decisions before any note took over those on another one."""

    async def run(self, *, verify: bool) -> None:
        """Bring the library in step with the vault.

        Nothing is removed if the folder is missing. What is stored is recorded afterwards, so that a sync that was killed is
        completed by the next one.

        Args:
            verify: compare what was recorded with what the library has, and store again what it lacks.

        Raises:
            CacheError: the library cannot be read or written.
            EmbeddingError: the embedding model is not available.
        """
        vault, state = self._vault, self._state
        summary = await asyncio.to_thread(state.summary, vault.key)
        found = await in_own_thread(scan, vault.path, vault.exclude)
        if _is_missing(found, summary):
            self._report.missing.append(vault.key)
            where = shown(str(vault.path))
            self._fail(
                "", f"the folder {where} is missing, and its notes stay in the library; if it was moved, add it again"
            )
            return
        self._is_marked_otherwise = summary.marks != self._own.rules
        if self._edit and not self._own.shares.is_begun:
            seen, by_name = await self._open_now()
            await asyncio.to_thread(self._change, partial(begun, vault=vault.key, seen=seen, by_name=by_name))
        stored = await self._hashes() if verify or summary.synced is None else None
        plan = await in_own_thread(self._plan, found, stored)
        if self._start:
            self._start(len(plan.read))
        await self._store_document()
        for batch in await asyncio.to_thread(_batches, plan, BATCH):
            await self._store(plan, batch)
            await asyncio.to_thread(_forget, plan, batch)
        await self._remove(plan)
        await asyncio.to_thread(self._finish, plan)

    # --- reading -----------------------------------------------------------------------------------------------------

    def _plan(self, found: Scan, stored: dict[str, str] | None) -> Plan:
        """Read what has changed. Blocking."""
        plan = Plan(found, self._state.rows(self._vault.key))
        plan.stored = all_entities(plan.before.values()) if stored is None else stored
        self._report.failed += [ImportFileError(self._where(p.where), p.reason) for p in found.problems]
        decided = {each.name: each.audience for each in self._own.shares.listed if each.kind in (NOTE, OPENED)}
        self._was = list(self._own.shares.listed)
        for path, known in plan.before.items():
            self._by_digest.setdefault(known.digest, []).append(path)
            if path in decided and path not in found.files and not found.may_have(path):
                self._left.setdefault(known.digest, []).append(path)
        # where a note was before it moved says nothing of where it goes from here
        moving = frozenset(self._left)
        for each in self._was:
            if each.seen and each.seen.left and each.seen.left not in moving and each.name not in found.files:
                self._left.setdefault(each.seen.left, []).append(each.name)
        kept = (each for path, each in plan.before.items() if decided.get(path) == DM)
        self._kept = frozenset(each.digest for each in kept)
        self._collect(plan)
        due = self._due(plan, verified=stored is not None)
        if self._start:
            self._start(len(due))
        for path, row in due.items():
            if self._stopped.is_set():
                raise StoppedError
            self._read(plan, path, row)
            if self._progress:
                self._progress(1)
        self._state.save(self._vault.key, {path: row for path in due if (row := plan.kept.get(path))})
        missing = plan.before.keys() - plan.kept.keys() - plan.read.keys() - plan.rows.keys()
        present = (path for path in missing if path in found.files or found.may_have(path))
        # what cannot be read may be for fewer than before
        plan.kept |= {path: row for path in present if self._is_read_right(path, row := plan.before[path])}
        plan.gone = missing - plan.kept.keys()
        self._read_again(plan)
        return plan

    def _collect(self, plan: Plan) -> None:
        """Collect what the notes show of the conventions of the vault; those that have changed are read for it."""
        plan.declared = settings_of(self._vault.path)
        self._report.failed += [ImportFileError(self._where(SETTINGS_FILE), why) for why in plan.declared.problems]
        new: dict[str, list[str]] = {}
        for path, file in plan.scan.files.items():
            row = plan.before.get(path)
            if row and _is_unchanged(row, file) and not self._is_marked_otherwise:
                plan.clues |= {path: Clue(*row.clue)} if row.clue else {}
            elif not path.lower().endswith(SHEETS):
                with suppress(OSError, UnreadableError):
                    read = content(self._vault.path, file)
                    plan.clues |= {} if passed_over(path, read.text) else {path: clue_of(path, read.text)}
                    new.setdefault(read.digest, []).extend([path] if row is None else ())
        if folders := dict(self._renamed_folders(plan, new)):
            self._change(partial(followed, vault=self._vault.key, folders=folders))

    def _renamed_folders(self, plan: Plan, new: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        """The folders on which something was decided and that are gone, each with the new one that has half of their notes now.

        What was decided on a folder holds for it by whatever name; a note that is moved into another folder leaves it.
        """
        present = {folder for path in plan.scan.files for folder in folders_of(path)}
        known = {folder for path in plan.before for folder in folders_of(path)}
        for name in (each.name for each in self._own.shares.listed if each.kind == FOLDER):
            if not name or name in present or plan.scan.may_have(name):
                continue
            notes = [path for path in plan.before if path.startswith(f"{name}/")]
            moved = ((path, new.get(plan.before[path].digest, ())) for path in notes)
            found = Counter(_folder_now(path.removeprefix(f"{name}/"), to[0]) for path, to in moved if len(to) == 1)
            folder, number = next(iter(found.most_common(1)), ("", 0))
            if folder and folder not in known and number >= len(notes) / 2:
                yield name, folder

    def _due(self, plan: Plan, *, verified: bool) -> dict[str, Row | None]:
        """The files to read, with what they said before if the library still has it; the others are kept."""
        recorded = _recorded(plan.before.values())
        due: dict[str, Row | None] = {}
        for path, file in plan.scan.files.items():
            row = plan.before.get(path)
            if row and any(plan.stored.get(key) not in recorded[key] for key in row.entities):
                row = None  # the library has lost what this file gave
            if row and row.bases and verified:
                row = None  # the creatures that it changes may have changed
            if row and not self._is_read_right(path, row):
                row = None  # what it says is as before, but not who may see it
            if row and not row.passed and row.usage != list(astuple(plan.conventions.usage(path))):
                row = None  # other notes show otherwise what it is
            if row and _is_unchanged(row, file):
                plan.kept[path] = row
            else:
                due[path] = row
        return due

    def _is_read_right(self, path: str, row: Row) -> bool:
        """Whether a file was read by what holds now of who may see it."""
        if self._is_marked_otherwise:
            return False
        return row.is_left_out or row.shared == self._own.shares.recorded(path, row.tags)

    def _read(self, plan: Plan, path: str, row: Row | None) -> None:
        """Read a file; if it says what it said before, its row is updated and kept."""
        try:
            read = content(self._vault.path, plan.scan.files[path])
            if row and row.digest == read.digest:
                row.size, row.changed, row.touched, row.read = _times(read)
                plan.kept[path] = row
                return
            if path not in plan.before or plan.before[path].digest != read.digest:
                self._take_over(plan, path, read.digest)
            reason, note, sheets = self._understood(plan, path, read.text, plan.before.get(path))
        except FileNotFoundError:
            del plan.scan.files[path]
        except UnreadableError as error:
            if path.lower().endswith(SHEETS) and not (path in plan.before and plan.before[path].is_sheet):
                file = plan.scan.files[path]
                times = file.size, file.changed, file.touched, time.time_ns()
                plan.rows[path] = Row(*times, "", file.changed / 1e9, passed=SHEETS)
            else:
                self._fail(path, str(error))
        except MemoryError:
            raise
        except Exception as error:
            self._fail(path, f"cannot be read ({type(error).__name__}: {error})")
        else:
            before = plan.before.get(path)
            is_same = before is not None and before.digest == read.digest
            modified = before.modified if before and is_same else read.file.changed / 1e9
            if note is None:
                problems = _kinds(("stat-block", sheets.problems)) if sheets else []
                plan.rows[path] = Row(*_times(read), read.digest, modified, passed=reason, problems=problems)
            else:
                bases = creatures_of(note, "", "", _nothing).bases if note.stat_blocks else ()
                plan.read[path] = Read(read, note, modified, sheets, bases, _people(note, sheets))

    def _understood(
        self, plan: Plan, path: str, text: str, before: Row | None
    ) -> tuple[str, Note | None, Sheets | None]:
        """Why a file is passed over, or its note, with the characters in its place if it is no note.

        Raises:
            UnreadableError: it had characters, and cannot be read now.
        """
        if not path.lower().endswith(SHEETS):
            reason = passed_over(path, text) or ""
            return reason, None if reason else read_note(path, text, self._own, plan.conventions.usage(path)), None
        sheets = sheets_of(path, text, self._own)
        if before and before.is_sheet and not (sheets and sheets.found) and is_cut_off(text):
            raise UnreadableError("is not complete JSON; the library keeps the characters that it had before")
        if sheets is None or sheets.passed or not sheets.found:
            return (sheets.passed if sheets else "") or SHEETS, None, sheets
        return "", sheets.note, sheets

    def _change(self, change: Callable[[list[Share]], list[Share]]) -> None:
        """Change what was decided, in its file and for this sync. Blocking."""
        if self._edit:
            self._edit(change)
            self._own = replace(self._own, shares=Shares(change(list(self._own.shares.listed))))

    def _take_over(self, plan: Plan, path: str, digest: str) -> None:
        """Let a file that has new content have what was decided on the note whose content that is, and nothing else.

        A new file may be a note that has moved, that is there again, or a copy; a known one may have changed places with another.
        """
        vault, known = self._vault.key, plan.before.get(path)
        once = self._own.shares.once_opened(path)
        if once and once.left == digest:
            return self._change(partial(opened, vault=vault, seen={path: replace(once, left="")}))
        sources = self._left.pop(digest, []) if known is None else self._by_digest.get(digest, [])
        sources = [source for source in sources if source != path]
        if known is None and len(sources) != 1:
            if digest in self._kept:
                self._change(partial(kept, vault=vault, kind=NOTE, name=path))
            return None
        if not sources:
            return None
        # of several with this content one that is closed
        source = min(sources, key=lambda each: self._own.shares.once_opened(each) is not None)
        return self._change(partial(taken_over, vault=vault, path=path, source=source, was=self._was))

    async def _open_now(self) -> tuple[dict[str, Opened], dict[str, Audience]]:
        """What the library shows players of the vault, read before anything had to be looked at, by path.

        And the notes that their names alone opened, with whom they are open to: those count as shared from now on.
        """
        found, by_name = dict[str, Opened](), dict[str, Audience]()
        stored = [identity for identity in await self._cache.content_hashes(NOTES) if identity[0] == self._vault.key]
        for first in range(0, len(stored), BATCH):
            for entity in await self._cache.load(NOTES, stored[first : first + BATCH]):
                if (seen := opened_of(entity)) is not None:
                    found[entity.slug] = seen
                    whole, said = parsed(entity.data.get(AUDIENCE)), str(entity.data.get("opened_by") or "")
                    by_name |= {entity.slug: whole} if whole == PLAYERS and ":" not in said else {}
        return found, by_name

    def _read_again(self, plan: Plan) -> None:
        """Read notes again whose links mean others than before, or that give what a changed file gave too."""
        changed = all_entities(row for path, row in plan.before.items() if path not in plan.kept)
        affected, people = plan.affected_targets(), plan.affected_people()
        for path, row in list(plan.kept.items()):
            given = not changed.keys().isdisjoint(row.entities)
            targets = affected.intersection(row.links) if affected else ()
            linked = any(row.links[target] != self._target(plan, target, path) for target in targets)
            if path in plan.scan.files and (given or linked or not people.isdisjoint(row.people)):
                self._read(plan, path, None)
                if path in plan.read or path in plan.rows:
                    del plan.kept[path]

    def _target(self, plan: Plan, target: str, path: str) -> str | None:
        resolved = plan.links.resolve(target, path)
        return "" if resolved is None and plan.links.is_file(target) else resolved

    # --- storing -----------------------------------------------------------------------------------------------------

    async def _store(self, plan: Plan, paths: Sequence[str]) -> None:
        """Store some of the notes that were read, then record that."""
        bases = await self._bases({name for path in paths for name in plan.read[path].bases})
        rows, entities = await asyncio.to_thread(self._entities, plan, paths, bases)
        changed = [e for e in entities if plan.stored.get(_key(e)) != e.content_hash]
        self._report.unchanged += len(entities) - len(changed)
        self._report.renamed += await keep_vectors(self._cache, self._embedding, self._renames(plan, changed), NOTES)
        by_type = {entity_type: [e for e in changed if e.type == entity_type] for entity_type in TYPES}
        self._report.stored += await store_in_batches(self._cache, by_type)
        plan.stored |= {_key(e): e.content_hash for e in changed}
        plan.rows |= rows
        await asyncio.to_thread(self._state.save, self._vault.key, rows)
        if self._progress:
            self._progress(len(paths))

    async def _bases(self, names: Collection[str]) -> dict[str, Entity]:
        """The creatures that stat blocks change, by name: those of books before those of the vault itself."""
        key, found = self._vault.key, dict[str, Entity]()
        for name in names:
            named = await self._cache.get_entities("creatures", name_folded=name)
            if named:
                found[name] = min(named, key=lambda entity: (AUDIENCE in entity.fields, entity.document == key))
        return found

    def _entities(
        self, plan: Plan, paths: Sequence[str], bases: Mapping[str, Entity]
    ) -> tuple[dict[str, Row], list[Entity]]:
        """The entities of notes, and the rows that record them. Blocking."""
        rows: dict[str, Row] = {}
        found: dict[str, Entity] = {}
        for path in paths:
            rows[path], entities = self._given(plan, path, bases)
            found |= {_key(e): e for e in entities}
        self._remember_closed({path: plan.read[path].note for path in paths})
        for path, row in rows.items():
            row.shared = self._own.shares.recorded(path, row.tags)
        return rows, list(found.values())

    def _remember_closed(self, notes: Mapping[str, Note]) -> None:
        """Record what stands in the closed parts of notes that were looked at: there it is closed wherever it moves."""
        seen: dict[str, Opened] = {}
        for path, note in notes.items():
            before = self._own.shares.opened(path)
            is_parted = note.audience != DM and not note.unread  # of what is closed as a whole no part is known
            if before and is_parted and (closed := closed_lines(note)) != before.closed:
                seen[path] = replace(before, closed=closed)
        if seen and self._edit:
            self._change(partial(opened, vault=self._vault.key, seen=seen))

    def _given(self, plan: Plan, path: str, bases: Mapping[str, Entity]) -> tuple[Row, list[Entity]]:
        """What one file gives: its error is its own, and it is a plain note then."""
        read = plan.read[path]
        try:
            return self._of_sheets(read, read.sheets) if read.sheets else self._of_note(plan, path, read, bases)
        except MemoryError:
            raise
        except Exception as error:
            note = plain_note(path, read.content.text, error)
            if read.sheets:
                times = *_times(read.content), read.content.digest, read.modified
                return Row(*times, passed=SHEETS, failed=[note.unread]), []
            return self._of_note(plan, path, replace(read, note=note, bases=()), bases)

    def _of_sheets(self, read: Read, sheets: Sheets) -> tuple[Row, list[Entity]]:
        entities, unread = sheets_as_entities(sheets, self._vault.key, self._vault.name, read.modified)
        row = Row(
            *_times(read.content),
            read.content.digest,
            read.modified,
            {_key(e): e.content_hash for e in entities},
            counts={"characters": len(entities)},
            passed=SHEET,
            problems=_kinds(("stat-block", unread)),
            open_to=open_to_of(read.note.audience),
            waits=[""] * read.note.waits,
            people=dict(read.people),
        )
        return row, entities

    def _of_note(self, plan: Plan, path: str, read: Read, bases: Mapping[str, Entity]) -> tuple[Row, list[Entity]]:
        note = read.note
        creatures = creatures_of(note, self._vault.key, self._vault.name, bases.get)
        resolve, entities, failed = partial(plan.links.resolve, source=path), list[Entity](), list[str]()
        try:
            entities = [note_entity(note, self._vault.key, self._vault.name, read.modified, resolve)]
        except FilterError as error:
            failed = [str(error)]
        tables = note_tables(note, self._vault.key, self._vault.name)
        characters, unread = characters_of(note, self._vault.key, self._vault.name)
        characters = [each for each in characters if is_sheet(each) or plan.owners.get(fold_person(each.name)) == path]
        entities += creatures.entities + tables.entities + characters
        links = {link.target: self._target(plan, link.target, path) for link in note.links}
        sections = {link.target: link.section for link in reversed(note.links) if link.section}
        row = Row(
            *_times(read.content),
            read.content.digest,
            read.modified,
            {_key(e): e.content_hash for e in entities},
            list(note.aliases),
            links,
            sections,
            _counts(note, links, Counter(e.type for e in entities), len(tables.entities)),
            list(note.tags),
            creatures.bases,
            problems=_kinds(
                ("front-matter", note.problems),
                ("mark", note.doubts),
                ("stat-block", [*creatures.problems, *unread]),
                ("table", tables.problems),
            ),
            failed=[*([note.unread] if note.unread else []), *failed],
            open_to=open_to_of(note.audience),
            waits=waiting_in(note),
            is_marked=is_marked(note, self._own.shares),
            people=dict(read.people),
            clue=list(astuple(plan.clues.get(path, Clue()))),
            usage=list(astuple(plan.conventions.usage(path))),
            kind=note.kind,
            session=note.session,
            played=str(note.session_date or ""),
        )
        return row, entities

    def _remember_left(self, plan: Plan) -> None:
        """Record with which content notes are gone: a later file at the path of one is open only if it is the same."""
        looked = ((path, self._own.shares.opened(path)) for path in plan.gone)
        gone = {path: replace(seen, left=plan.before[path].digest) for path, seen in looked if seen}
        if gone:
            self._change(partial(opened, vault=self._vault.key, seen=gone))

    def _renames(self, plan: Plan, changed: Sequence[Entity]) -> list[tuple[Entity, Identity]]:
        """New notes with the content of one that is gone, and the identity of that one."""
        gone = {plan.before[path].digest: path for path in plan.gone}
        pairs = []
        for entity in changed:
            read = plan.read.get(entity.slug) if entity.type == NOTES else None
            old = gone.get(read.content.digest) if read and entity.slug not in plan.before else None
            if old is not None:
                pairs.append((entity, (self._vault.key, old)))
        return pairs

    async def _store_document(self) -> None:
        """The vault as a document, so that titles and filters know it."""
        vault = self._vault
        origin = Origin(SOURCE, vault.key, vault.name)
        data = {"name": vault.name, "desc": f"{vault.name}: notes of this library's user."}
        document = build("documents", data, origin, name=vault.name, kind="document", slug=vault.key, fields={})
        present = await self._cache.get_entity("documents", vault.key, vault.key)
        if present is None or present.content_hash != document.content_hash:
            await self._cache.store_entities([document], "documents")

    # --- removing, finishing -----------------------------------------------------------------------------------------

    async def _remove(self, plan: Plan) -> None:
        """Remove the entities that no file gives any more, then record that."""
        current = all_entities([*plan.kept.values(), *plan.rows.values()])
        await self._delete(plan.stored.keys() - current.keys())
        rows = {path: row for path, row in plan.rows.items() if row.passed}
        await asyncio.to_thread(self._state.save, self._vault.key, rows, plan.gone)

    async def _delete(self, keys: Collection[str]) -> None:
        for entity_type in TYPES:
            slugs = [slug for kind, _, slug in (key.partition(" ") for key in keys) if kind == entity_type]
            if slugs:
                identities = [(self._vault.key, slug) for slug in slugs]
                self._report.removed += await self._cache.delete_entities(entity_type, identities)

    async def _hashes(self) -> dict[str, str]:
        """Content hashes of what the library has of the vault, by "type slug"."""
        found: dict[str, str] = {}
        for entity_type in TYPES:
            hashes = await self._cache.content_hashes(entity_type)
            found |= {f"{entity_type} {slug}": h for (key, slug), h in hashes.items() if key == self._vault.key}
        return found

    def _finish(self, plan: Plan) -> None:
        """Count what the vault holds, and record when it was read."""
        self._remember_left(plan)
        rows, report = {**plan.kept, **plan.rows}, self._report
        stored = [row for row in rows.values() if not row.passed]
        report.vaults.append(self._vault.key)
        report.notes += len(stored)
        for row in (row for row in rows.values() if not row.is_left_out):
            report.counts.update(row.counts)
        report.tags += len({tag for row in stored for tag in row.tags})
        report.passed.update(plan.scan.passed)
        report.passed.update(row.passed for row in rows.values() if row.is_left_out)
        report.unchanged += len(all_entities(plan.kept.values()))
        for path, row in rows.items():
            report.warnings += [ImportFileError(self._where(path), why) for _, why in row.problems]
            report.failed += [ImportFileError(self._where(path), why) for why in row.failed]
        report.waiting["notes"] += sum("" in row.waits for row in rows.values())
        report.waiting["headings"] += sum(len(list(filter(None, row.waits))) for row in rows.values())
        report.understood += understood(rows)
        report.marked += sum(row.is_marked for row in rows.values())
        problems = [str(problem) for problem in report.failed]
        root = list(plan.scan.root) if plan.scan.root else None
        own, now, number = self._own, time.time(), len(stored)
        summary = Summary(root, now, number, problems, own.rules, own.shares.digest)
        self._state.save_summary(self._vault.key, summary)

    def _fail(self, path: str, reason: str) -> None:
        self._report.failed.append(ImportFileError(self._where(path), reason))

    def _where(self, path: str) -> str:
        return one_line(f"{self._vault.key}/{path}" if path else self._vault.key)


def changed_entities(vault: Vault, state: State) -> list[str]:
    """Uris of the entries of a vault whose files have changed, or are gone, since they were read. Blocking."""
    files = scan(vault.path, vault.exclude).files
    rows = [
        row for path, row in state.rows(vault.key).items() if path not in files or not _is_unchanged(row, files[path])
    ]
    keys = (key.partition(" ") for key in all_entities(rows))
    return [uri_of(entity_type, vault.key, slug) for entity_type, _, slug in keys]


def has_changed(vault: Vault, state: State) -> bool:
    """Whether a file of a vault is new, changed or gone since the vault was read. Blocking."""
    files, rows = scan(vault.path, vault.exclude).files, state.rows(vault.key)
    return files.keys() != rows.keys() or not all(_is_unchanged(row, files[path]) for path, row in rows.items())


def _is_missing(found: Scan, summary: Summary) -> bool:
    """Whether a folder is not there, or an empty one stands in its place, as where a drive was."""
    if found.root is None:
        return True
    empty = not (found.files or found.passed or found.problems)
    return empty and summary.root not in (None, list(found.root))


def _is_unchanged(row: Row, file: File) -> bool:
    same = (row.size, row.changed, row.touched) == (file.size, file.changed, file.touched)
    return same and row.read - max(row.changed, row.touched) > RACY_NANOSECONDS


def _folder_now(inner: str, path: str) -> str:
    """The folder whose note, by its path within it, has another path now: it may have another name as well; "" for none."""
    depth = inner.count("/") + 1
    return path.rsplit("/", depth)[0] if path.count("/") >= depth else ""


def _recorded(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Content hashes that were recorded for each entity: several notes may give one of the same name."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for key, content_hash in row.entities.items():
            found.setdefault(key, set()).add(content_hash)
    return found


def _times(read: Content) -> tuple[int, int, int, int]:
    return read.file.size, read.file.changed, read.file.touched, read.read


def _people(note: Note, sheets: Sheets | None) -> dict[str, bool]:
    """The characters that a file states, by name, and whether as a sheet."""
    if sheets:
        return {fold_person(each.name): True for each in sheets.found}
    try:
        return {fold_person(each.name): is_sheet(each) for each in characters_of(note, SOURCE, SOURCE)[0]}
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError):
        return {}  # storing the note reports it


def _kinds(*found: tuple[str, Iterable[str]]) -> list[list[str]]:
    return [[kind, what] for kind, problems in found for what in problems]


def _key(entity: Entity) -> str:
    return f"{entity.type} {entity.slug}"


def _nothing(_: str) -> None:
    """No creature has any name."""


def _counts(note: Note, links: Mapping[str, str | None], types: Mapping[str, int], tables: int) -> dict[str, int]:
    dangling = sum(links[link.target] is None for link in note.links)
    return {
        "sections": len(note.sections),
        "links_resolved": len(note.links) - dangling,
        "links_dangling": dangling,
        "aliases": len(note.aliases),
        "creatures": types["creatures"],
        "characters": types["characters"],
        "tables": tables,
    }


def _forget(plan: Plan, paths: Sequence[str]) -> None:
    """Let go of notes that are stored: what they are called, and whom they tell of, is known by then."""
    _ = plan.links, plan.owners  # made at their first use, of all notes that were read
    for path in paths:
        del plan.read[path]
    return_memory()


def _batches(plan: Plan, size: int) -> list[list[str]]:
    """The notes in batches: what stat blocks change is stored before these."""
    bases = {path: read.bases for path, read in plan.read.items() if read.bases}
    names = {path: {fold(str(b.values.get("name"))) for b in plan.read[path].note.stat_blocks} for path in bases}
    waiting = list(bases)
    batches = [[path for path in plan.read if path not in bases]]
    while waiting:
        given = {name: path for path in waiting for name in names[path]}
        ready = [
            path for path in waiting if all(given.get(fold(base), path) == path for base in bases[path])
        ] or waiting
        batches.append(ready)
        waiting = [path for path in waiting if path not in ready]
    return [batch[first : first + size] for batch in batches for first in range(0, len(batch), size)]
