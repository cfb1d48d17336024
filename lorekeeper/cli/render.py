"""Output for people: tables on stdout, progress bars and problems on stderr."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from lorekeeper.cli.terminal import columns
from lorekeeper.dates import written
from lorekeeper.intake.reports import by_weight
from lorekeeper.printable import counted, lines, one_line, quantity, shown
from lorekeeper.system import private_file, private_folder

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import Statistics
    from lorekeeper.intake.freshness import Freshness
    from lorekeeper.intake.reports import ImportReport
    from lorekeeper.library import Library
    from lorekeeper.maintenance.backup import ArchiveReport
    from lorekeeper.maintenance.doctor import Findings
    from lorekeeper.maintenance.fixes import Fixes
    from lorekeeper.maintenance.migrate import MigrationReport
    from lorekeeper.maintenance.repair import DataReport, RepairReport
    from lorekeeper.search.sorting import Recent

SHOWN_FAILURES = 20

SHOWN_PROBLEMS = 10
"""Most lines about the problems of an import."""


class _Console(Console):
    """Breaks paragraphs between words only, never a uri or path; where there is no terminal, each is one line."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As `rich.console.Console.print`."""
        if len(objects) == 1 and isinstance(objects[0], str | Text):
            self.print_indented(objects[0], 0)
        else:
            super().print(*objects, **{"crop": False, **options})

    def print_indented(self, text: str | Text, indent: int) -> None:
        """Print paragraphs, of which those of strings may have markup, behind some spaces."""
        for line in broken(self._marked(text), self.columns - indent):
            super().print(Text(" " * indent) + line if indent else line, soft_wrap=True)

    @property
    def columns(self) -> int:
        """How wide lines may be."""
        return columns(self.file) or MOST_COLUMNS

    def _marked(self, text: str | Text) -> Text:
        return self.render_str(text) if isinstance(text, str) else text


def broken(text: Text, width: int) -> Iterator[Text]:
    """The lines of a text, each with as many words as there is room for; a longer word has a line of its own."""
    for line in text.split(allow_blank=True):
        places, used = [], 0
        for word in _WORD.finditer(line.plain):
            if used and used + cell_len(word[0].rstrip()) > width:
                places.append(word.start())
                used = 0
            used += cell_len(word[0])
        for part in line.divide(places):
            part.rstrip()
            yield part


_WORD = re.compile(r"\s*\S+\s*")

MOST_COLUMNS = 10_000
"""Columns of a line that goes to no terminal."""

console = _Console(highlight=False)
errors = _Console(stderr=True, highlight=False)


def plain(text: str) -> str:
    """A text from outside as one line for the console: without markup and terminal control sequences."""
    return escape(one_line(text))


class _CountColumn(ProgressColumn):
    """How much is done, and how fast, once the total is known: bytes where ``task.fields["sizes"]``, else items."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        columns = _BYTES if task.fields["sizes"] else _ITEMS
        return Text(" ").join(column.render(task) for column in columns)


class _RateColumn(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class _SpeedColumn(TransferSpeedColumn):
    """Bytes per second, once it is known."""

    def render(self, task: Task) -> Text:
        return super().render(task) if task.finished_speed or task.speed else Text("")


_BYTES = (DownloadColumn(), _SpeedColumn())
_ITEMS = (MofNCompleteColumn(), _RateColumn())


class Bars:
    """Progress bars with a rate and the time left, one per label, on stderr, and only on a terminal.

    Args:
        sizes: the label whose bar counts bytes; "" for none.
    """

    def __init__(self, *, sizes: str = "") -> None:
        self._sizes = sizes
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            _CountColumn(),
            TimeRemainingColumn(),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def step(self, label: str, more: int, done: int) -> None:
        """Add to the total, and to what is done."""
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=None, sizes=label == self._sizes)
        task = self._progress.tasks[self._tasks[label]]
        self._progress.update(task.id, advance=done, total=(task.total or 0) + more if more else task.total)

    def embedding(self, library: Library) -> None:
        """Show in a bar of its own how many texts a library has embedded."""
        library.embedding.watched = lambda more, done: self.step("Embedding", more, done)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bars off the terminal while something else is printed or asked."""
        self._progress.stop()
        yield
        self._progress.start()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


class Bar(Bars):
    """One progress bar.

    Args:
        label: stands before it.
        sizes: whether it counts bytes.
    """

    def __init__(self, label: str, *, sizes: bool = False) -> None:
        super().__init__(sizes=label if sizes else "")
        self._label = label
        self.step(label, 0, 0)

    def start(self, total: int) -> None:
        """Add to the total."""
        self.step(self._label, total, 0)

    def advance(self, done: int) -> None:
        """Add to what is done."""
        self.step(self._label, 0, done)


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table without lines; the columns in ``right`` hold numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    return table


_BOLD = re.compile(r"\*\*(.+?)\*\*")
_START = re.compile(r"(#+ )?( *(?:- |\d+\. )?)")


def print_text(text: str) -> None:
    """The text of an answer: headings and what is bold are shown as such, and lines go on below their first word."""
    for line in lines(text).split("\n"):
        start = _START.match(line)
        assert start
        said = _BOLD.sub(r"[bold]\1[/]", escape(line[start.end() :]))
        marked, width = console.render_str(f"[bold]{said}[/]" if start[1] else said), len(start[2])
        for number, part in enumerate(broken(marked, console.columns - width)):
            console.print(Text(" " * width if number else start[2]) + part)


def print_recent(notes: Sequence[Recent], limit: int) -> None:
    """Notes under their dates, at most so many; those whose date is that of a session say so."""
    from lorekeeper.search.query import MAX_LIMIT
    from lorekeeper.text.notes import session_of

    if not notes:
        console.print("No notes with a date.")
        return
    for date, group in groupby(notes, lambda each: written(each.date)):
        console.print(f"[cyan]{date}[/]")
        for each in group:
            number = session_of(each.note)
            kind = each.note.kind if number is None else f"{each.note.kind} {number}"
            console.print_indented(f"[bold]{plain(each.note.name)}[/]  [green]{plain(kind)}[/]", 2)
    if len(notes) == limit < MAX_LIMIT:
        console.print(f"[dim]The newest {limit}: --limit shows up to {MAX_LIMIT}[/]")
    print_read_one(notes[0].note.uri)


def print_read_one(uri: str) -> None:
    """Print the command that shows an entry, unbroken: it is copied as a line."""
    Console.print(console, Text(f"Read one: lorekeeper show {one_line(uri)}", "dim"), soft_wrap=True)


def print_report(report: ImportReport, *, dry_run: bool, whole: Path | None = None) -> None:
    """What an import did; failures on stderr, in full in the file ``whole`` if they are many."""
    verb = "would be stored" if dry_run else "stored"
    repeated = f", {report.repeated:,} repeated by later ones" if report.repeated else ""
    console.print(
        f"{report.stored:,} {verb}, {report.unchanged:,} unchanged{repeated}, {quantity(report.embedded, 'text')} embedded, "
        f"{len(report.failed):,} failed, in {report.seconds:.1f} s"
    )
    for line in report.books:
        console.print(plain(line))
    print_tables(report, verb)
    print_problems(report, whole=whole)


def print_sync(report: ImportReport) -> None:
    """What a sync did, by type; failures on stderr."""
    outcomes = ("stored", "unchanged", "removed")
    table = _table("type", *outcomes, right=outcomes)
    for entity_type, numbers in sorted(report.by_type.items()):
        table.add_row(entity_type, *(f"{numbers[outcome]:,}" for outcome in outcomes))
    table.add_row("all", f"{report.stored:,}", f"{report.unchanged:,}", f"{report.removed:,}", style="bold")
    console.print(table)
    console.print(
        f"{quantity(report.embedded, 'text')} embedded, {len(report.failed):,} failed, in {report.seconds:.1f} s"
    )
    print_tables(report, "stored")
    print_problems(report)


def print_tables(report: ImportReport, verb: str) -> None:
    """What became of the tables to roll on in the texts of entries, if there are any."""
    stored, unchanged, removed = (report.tables[outcome] for outcome in ("stored", "unchanged", "removed"))
    if stored or unchanged or removed:
        gone = f", {removed:,} removed" if removed else ""
        console.print(f"tables to roll on in their texts: {stored:,} {verb}, {unchanged:,} unchanged{gone}")


def print_problems(report: ImportReport, *, failed: bool = True, whole: Path | None = None) -> None:
    """What was skipped, what was fixed, and (with ``failed``) what could not be imported, on stderr: what is lost first.

    Args:
        report: of the import.
        failed: whether failures are printed.
        whole: file that gets a line for each file and reason if that is more than is printed.
    """
    lines, each = by_weight(report, failed=failed), by_weight(report, failed=failed, by_file=True)
    printed = lines if len(lines) <= SHOWN_PROBLEMS else lines[: SHOWN_PROBLEMS - 1]
    for line in printed:
        errors.print(_LABELS.sub(lambda match: f"[{_STYLES[match[0]]}]{match[0]}[/]", plain(line)))
    if len(each) > len(printed):
        where = "--json lists the failures"
        if whole is not None:
            with suppress(OSError):
                private_folder(whole.parent)
                private_file(whole).write_text("\n".join(map(one_line, each)) + "\n", "utf-8")
                where = f"all are in {plain(str(whole))}"
        hidden = len(lines) - len(printed)
        errors.print(f"... and {hidden:,} more lines; {where}" if hidden else f"By file, {where}")


_STYLES = {"failed": "red", "warning": "yellow", "skipped": "dim"}
_LABELS = re.compile("^(?:failed|warning|skipped)")


def print_migration(report: MigrationReport, *, dry_run: bool) -> None:
    """What a migration did, table by table; failures on stderr."""
    outcomes = ("read", "stored", "unchanged", "merged", "skipped")
    headers = ["to store" if dry_run and outcome == "stored" else outcome for outcome in (*outcomes, "failed")]
    table = _table("table", *headers, right=headers)
    for name, counts in report.tables.items():
        table.add_row(plain(name), *(f"{getattr(counts, o):,}" for o in outcomes), f"{len(counts.failed):,}")
    table.add_row("all", *(f"{report.total(o):,}" for o in outcomes), f"{len(report.failed):,}", style="bold")
    console.print(table)
    console.print(f"{quantity(report.embedded, 'text')} embedded, in {report.seconds:.1f} s")
    for name, failure in report.failed[:SHOWN_FAILURES]:
        errors.print(f"[red]failed[/] {plain(name)} {plain(shown(failure.slug))}: {plain(failure.reason)}")
    if len(report.failed) > SHOWN_FAILURES:
        errors.print(f"... and {len(report.failed) - SHOWN_FAILURES} more; --json lists them all")


def print_backup(report: ArchiveReport) -> None:
    """The content of an archive."""
    counts = counted(report.counts)
    console.print(
        f"{plain(report.archive)}: {counts or 'nothing'}, {quantity(report.vectors, 'vector')}, in {report.seconds:.1f} s"
    )
    if report.left_out:
        console.print(f"Left out: {counted(report.left_out)}, which only the program that declares them can read.")
    if report.counts.get("notes"):
        console.print("Indexed notes are included. The files of the vaults and the list of vaults are not.")


def print_restore(report: ArchiveReport) -> None:
    """What a restore changed."""
    if not (report.stored or report.removed):
        console.print(f"Nothing to change: the library has all {quantity(report.unchanged, 'entry')} of the archive.")
        return
    console.print(
        f"{report.stored:,} stored, {report.unchanged:,} unchanged, {report.removed:,} removed, "
        f"{quantity(report.embedded, 'text')} embedded, in {report.seconds:.1f} s"
    )
    if report.before:
        console.print(f"The library's previous content is in {plain(report.before)}.")
    if report.counts.get("notes"):
        console.print(
            "The backup included notes; 'lorekeeper vault list' shows the folders that they are updated from."
        )


def print_repair(report: RepairReport) -> None:
    """What was wrong, and what was kept."""
    for problem, types in list(report.problems.by_sentence().items())[:SHOWN_FAILURES]:
        console.print(f"[red]{', '.join(types)}[/]: {plain(problem)}")
    if report.dropped:
        console.print(f"{report.dropped:,} invalid vectors were removed from the embedding cache.")
    if report.aside is None:
        console.print("The library is sound." if report.dropped else "The library is sound; nothing was changed.")
        return
    console.print(
        f"Saved: {counted(report.kept)}; {quantity(report.embedded, 'text')} embedded again, in {report.seconds:.1f} s"
    )
    console.print(
        f"The library as it was is now {plain(report.aside)}; delete it when you are sure that nothing is missing."
    )
    if report.left:
        console.print(f"Not moved: {counted(report.left)}, which another program declares.")


def print_data_repairs(report: DataReport) -> None:
    """What is repaired in the data of the entries, by reason, with how many entries and one of them."""
    table = _table("what the source gets wrong", "entries", "such as", right=("entries",))
    for reason, entries in sorted(report.repairs.items(), key=lambda row: -len(row[1])):
        table.add_row(plain(reason), f"{len(entries):,}", plain(next(iter(entries))))
    console.print(table)
    repaired = len({uri for entries in report.repairs.values() for uri in entries})
    console.print(
        f"{repaired:,} of {quantity(report.entries, 'entry')} are repaired whenever they are read; --json lists them."
    )


def print_statistics(statistics: Statistics, fresh: Freshness) -> None:
    """Counts by type and kind, the location of the library, and how fresh it is."""
    table = _table("type", "entries", "passages", "kinds", right=("entries", "passages"))
    for name, count in statistics.counts.items():
        kinds = ", ".join(f"{plain(k)} {n:,}" for k, n in statistics.kinds.get(name, {}).items())
        table.add_row(name, f"{count:,}", f"{statistics.passages[name]:,}", kinds)
    console.print(table)
    total, vectors = sum(statistics.counts.values()), sum(statistics.passages.values())
    console.print(
        f"{quantity(total, 'entry')}, {quantity(vectors, 'vector')}, {plain(statistics.embedding or 'no model yet')}"
    )
    console.print(f"{statistics.backend} at {plain(statistics.location)}")
    console.print(f"Open5e: {plain(fresh.sentence())}")


def print_fixes(fixes: Fixes) -> None:
    """What was put right, and what is left to the reader."""
    for sentence in fixes.fixed:
        console.print(f"[green]fixed[/] {plain(sentence)}")
    for sentence in fixes.left:
        console.print(f"[yellow]left[/]  {plain(sentence)}")
    if not (fixes.fixed or fixes.left):
        console.print("There was nothing to fix.")


def print_findings(findings: Findings) -> None:
    """What is wrong, and how many other checks passed."""
    wrong = [check for check in findings.checks if not check.ok]
    for check in wrong:
        console.print(f"[red]bad[/] {plain(check.name)}: {plain(check.message)}")
    passed = quantity(len(findings.checks) - len(wrong), "check")
    console.print(f"{passed} passed. [dim]--json lists them, with all settings and where each came from.[/]")
