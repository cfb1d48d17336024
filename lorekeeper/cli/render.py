"""Output for people: tables on stdout, progress bars and problems on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
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

from lorekeeper.dates import written
from lorekeeper.editions import edition_label
from lorekeeper.intake.reports import by_suffix, grouped, summary
from lorekeeper.printable import one_line, quantity, shown
from lorekeeper.search.dossier.lines import Dossier, session_of
from lorekeeper.search.recent import Recent
from lorekeeper.search.results import Result, ResultPage

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import Statistics
    from lorekeeper.errors import ImportFileError
    from lorekeeper.intake.freshness import Freshness
    from lorekeeper.intake.reports import ImportReport
    from lorekeeper.maintenance.backup import ArchiveReport
    from lorekeeper.maintenance.doctor import Findings
    from lorekeeper.maintenance.fixes import Fixes
    from lorekeeper.maintenance.migrate import MigrationReport
    from lorekeeper.maintenance.repair import RepairReport

SHOWN_FAILURES = 20

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def plain(text: str) -> str:
    """A text from outside as one line for the console: without markup and terminal control sequences."""
    return escape(one_line(text))


class _RateColumn(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class Bars:
    """Progress bars with a rate and the time left, one per label, on stderr, and only on a terminal.

    Args:
        sizes: whether they count bytes.
    """

    def __init__(self, *, sizes: bool = False) -> None:
        counts = (DownloadColumn(), TransferSpeedColumn()) if sizes else (MofNCompleteColumn(), _RateColumn())
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            *counts,
            TimeRemainingColumn(),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def step(self, label: str, more: int, done: int) -> None:
        """Add to the total, and to what is done."""
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=None)
        task = self._progress.tasks[self._tasks[label]]
        self._progress.update(task.id, advance=done, total=(task.total or 0) + more if more else task.total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


class Bar(Bars):
    """One progress bar."""

    def __init__(self, label: str, *, sizes: bool = False) -> None:
        super().__init__(sizes=sizes)
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


def print_page(page: ResultPage) -> None:
    """Search results as a table."""
    if not page.results:
        from lorekeeper.server.answers import nothing_found

        console.print(plain(nothing_found(page.note)))
        return
    if page.note:
        console.print(f"[yellow]{plain(page.note)}[/]")
    console.print(results_table(page.results))
    following = "" if page.next_offset is None else f"; more with --offset {page.next_offset}"
    console.print(
        f"[dim]{len(page.results)} of {page.total:,}, {page.mode}{following}. 'lorekeeper show URI' shows one.[/]"
    )


def results_table(results: Sequence[Result]) -> Table:
    """Results with their scores: name and facts, snippet, source and uri."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", min_width=4)
    table.add_column(ratio=1, overflow="fold")  # a uri that is cut short cannot be copied
    sure = True
    for result in results:
        if sure and not result.sure:
            table.add_row("", "[yellow]Less sure:[/]")
        sure = result.sure
        table.add_row("" if result.score is None else f"{result.score:.2f}", _described(result))
    return table


def _described(result: Result) -> str:
    """Name and facts of a result, its snippet, its source with the edition, its uri, and the wording that found it."""
    variants = f" [dim]also as {plain(', '.join(result.variants))}[/]" if result.variants else ""
    facts = "; ".join(filter(None, [result.facts, result.others]))
    label = edition_label(result.edition)
    source = result.document_name if label in result.document_name else f"{result.document_name} [{label}]"
    wording = f"  [dim]found by: {plain(result.wording)}[/]" if result.wording else ""
    return (
        f"[bold]{plain(result.entity.name)}[/]{variants}  [green]{plain(facts)}[/]\n{plain(result.snippet)}\n"
        f"[cyan]{plain(source)}[/]  [dim]{plain(result.entity.uri)}[/]{wording}"
    )


def print_dossier(dossier: Dossier) -> None:
    """A dossier: a heading for each part, its entries with what they say."""
    from lorekeeper.server.topics import label, where

    if dossier.note:
        console.print(f"[yellow]{plain(dossier.note)}[/]")
    for part in dossier.parts:
        console.print(f"\n[bold]{plain(part.title)}[/]")
        before = ""
        for line in part.lines:
            if line.entity.uri != before:
                console.print(f"[green]{plain(label(line))}[/]  [dim]{plain(line.entity.uri)}[/]", soft_wrap=True)
                before = line.entity.uri
            if line.quote.sentences:
                text = f"[cyan]{plain(where(line.quote))}[/]{plain(line.quote.text)}"
                console.print(Padding(text, (0, 0, 0, 3)))
        if part.left_out:
            console.print(f"[dim]{part.left_out} more: {plain(part.more or '')}[/]", soft_wrap=True)


def print_recent(notes: Sequence[Recent]) -> None:
    """Notes by date; those whose date is that of a session say so."""
    if not notes:
        console.print("No notes with a date.")
        return
    for each in notes:
        number = session_of(each.note)
        kind = each.note.kind if number is None else f"{each.note.kind} {number}"
        console.print(f"[cyan]{written(each.date):16}[/]  [bold]{plain(each.note.name)}[/]  [green]{plain(kind)}[/]")
        console.print(f"{'':18}[dim]{plain(each.note.uri)}[/]", soft_wrap=True)


def print_report(report: ImportReport, *, dry_run: bool) -> None:
    """What an import did; failures on stderr."""
    verb = "would be stored" if dry_run else "stored"
    console.print(
        f"{report.stored:,} {verb}, {report.unchanged:,} unchanged, {quantity(report.embedded, 'text')} embedded, "
        f"{len(report.failed):,} failed, in {report.seconds:.1f} s"
    )
    print_tables(report, verb)
    print_problems(report)


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


def print_problems(report: ImportReport, *, failed: bool = True) -> None:
    """What was skipped, what was fixed, and (with ``failed``) what could not be imported, on stderr."""
    for name, number in sorted(report.skipped.items()):
        errors.print(f"[dim]{plain(name)}: {number:,} without lore, skipped[/]", soft_wrap=True)
    if report.other_files:
        errors.print(f"[dim]skipped in folders: {plain(by_suffix(report.other_files))}[/]", soft_wrap=True)
    _print_grouped("[yellow]warning[/]", report.warnings)
    if failed:
        _print_grouped("[red]failed[/] ", report.failed, where="; --json lists them")


def _print_grouped(label: str, problems: Sequence[ImportFileError], where: str = "") -> None:
    groups = grouped(problems)
    for group in groups[:SHOWN_FAILURES]:
        errors.print(f"{label} {plain(str(summary(group)))}", soft_wrap=True)
    if hidden := sum(map(len, groups[SHOWN_FAILURES:])):
        errors.print(f"... and {hidden:,} more{where}")


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
    counts = ", ".join(f"{number:,} {entity_type}" for entity_type, number in report.counts.items() if number)
    console.print(
        f"{plain(report.archive)}: {counts or 'nothing'}, {quantity(report.vectors, 'vector')}, in {report.seconds:.1f} s"
    )
    if report.counts.get("notes"):
        console.print(
            "Notes are in it as the library has them; the files of the vaults, and which vaults there are, are not."
        )


def print_restore(report: ArchiveReport) -> None:
    """What a restore changed."""
    console.print(
        f"{report.stored:,} stored, {report.unchanged:,} unchanged, {report.removed:,} removed, "
        f"{quantity(report.embedded, 'text')} embedded, in {report.seconds:.1f} s"
    )
    if report.before:
        console.print(f"The library's previous content is in {plain(report.before)}.")
    if report.counts.get("notes"):
        console.print(
            "Notes are in it too: 'lorekeeper vault list' shows from which folders they are kept in step here."
        )


def print_repair(report: RepairReport) -> None:
    """What was wrong, and what was kept."""
    for entity_type, problems in report.problems.items():
        for problem in problems[:SHOWN_FAILURES]:
            console.print(f"[red]{entity_type}[/]: {plain(problem)}")
    if report.corrected:
        console.print(f"{report.corrected:,} entries of an earlier migration were moved to the right document and key.")
    if report.dropped:
        console.print(f"{report.dropped:,} invalid vectors were removed from the embedding cache.")
    if report.aside is None:
        changed = report.corrected or report.dropped
        console.print("The library is sound." if changed else "The library is sound; nothing was changed.")
        return
    kept = ", ".join(f"{number:,} {entity_type}" for entity_type, number in report.kept.items() if number)
    console.print(f"Kept: {kept}; {quantity(report.embedded, 'text')} embedded again, in {report.seconds:.1f} s")
    console.print(
        f"The damaged library was moved to {plain(report.aside)}; delete it when you are sure that nothing is missing."
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


def print_documents(documents: Sequence[Mapping[str, Any]]) -> None:
    """Documents with licences and number of entries, a line each in 80 columns; keys are never cut."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    table.add_column("key", no_wrap=True, min_width=max((len(d["key"]) for d in documents), default=0))
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("licence", no_wrap=True, overflow="ellipsis")
    table.add_column("entries", no_wrap=True, justify="right", min_width=len("entries"))
    for document in documents:
        licences = ", ".join(document["licenses"])
        table.add_row(
            *map(plain, (document["key"], document["name"], licences)), f"{sum(document['counts'].values()):,}"
        )
    console.print(table)
    console.print(f"[dim]{len(documents)} in all; --json has publishers, and the numbers by type[/]")


def print_fixes(fixes: Fixes) -> None:
    """What was put right, and what is left to the reader."""
    for sentence in fixes.fixed:
        console.print(f"[green]fixed[/] {plain(sentence)}", soft_wrap=True)
    for sentence in fixes.left:
        console.print(f"[yellow]left[/]  {plain(sentence)}", soft_wrap=True)
    if not (fixes.fixed or fixes.left):
        console.print("There was nothing to fix.")


def print_findings(findings: Findings) -> None:
    """Settings with their origins, then each check."""
    table = _table("setting", "value", "from")
    for setting in findings.settings:
        table.add_row(setting["name"], plain(setting["value"]), plain(setting["from"]))
    console.print(table)
    for check in findings.checks:
        mark = "[green]ok[/]  " if check.ok else "[red]bad[/] "
        console.print(f"{mark} {plain(check.name)}: {plain(check.message)}")
