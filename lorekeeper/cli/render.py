"""Output for people: tables on stdout, progress bars and problems on stderr."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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

from lorekeeper.cli.terminal import columns, shortened
from lorekeeper.dates import written
from lorekeeper.editions import edition_label
from lorekeeper.intake.reports import by_weight
from lorekeeper.printable import counted, one_line, quantity, shown
from lorekeeper.search.dossier.lines import Dossier, session_of
from lorekeeper.search.query import MAX_LIMIT
from lorekeeper.search.recent import Recent
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.system import private_file, private_folder

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import Statistics
    from lorekeeper.intake.freshness import Freshness
    from lorekeeper.intake.reports import ImportReport
    from lorekeeper.maintenance.backup import ArchiveReport
    from lorekeeper.maintenance.doctor import Findings
    from lorekeeper.maintenance.fixes import Fixes
    from lorekeeper.maintenance.migrate import MigrationReport
    from lorekeeper.maintenance.repair import RepairReport

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

    def print_row(self, label: str, text: str, width: int) -> None:
        """Print a label, and beside it a text; below it where there is too little room beside it.

        Args:
            label: printed as it is.
            text: may have markup.
            width: columns of the longest label.
        """
        marked, room = self._marked(text), self.columns - width - 2
        if room < width or any(cell_len(word) > room for word in marked.plain.split()):
            super().print(Text(label), soft_wrap=True)
            self.print_indented(marked, 2)
            return
        for n, line in enumerate(broken(marked, room)):
            super().print(Text(f"{'' if n else label:{width}}  ") + line, soft_wrap=True)

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


def print_page(page: ResultPage, *, explained: bool = False, whole: bool = False) -> None:
    """Search results, two lines each; with scores, sources and uris where they are explained.

    Args:
        page: the results.
        explained: whether the search is explained.
        whole: whether less sure results are shown below sure ones.
    """
    if not page.results:
        from lorekeeper.server.answers import nothing_found

        console.print(plain(nothing_found(page.note)))
        return
    if page.note:
        console.print(f"[yellow]{plain(page.note)}[/]")
    sure = [result for result in page.results if result.sure]
    results = sure if sure and not (whole or explained) else page.results
    for line in hit_lines(results, console.columns, explained=explained):
        console.print(line)
    _print_remainder(page, results)


def _print_remainder(page: ResultPage, results: Sequence[Result]) -> None:
    """How many results there are besides, and how to see them, and one of these."""
    if len(results) < len(page.results):
        remaining = f"{page.total - len(results):,} more, less sure: --limit {min(page.total, MAX_LIMIT)} shows them"
    else:
        following = "" if page.next_offset is None else f"; next: --offset {page.next_offset}"
        remaining = f"{len(results)} of {quantity(page.total, 'result')}{following}"
    console.print(f"[dim]{remaining}[/]")
    console.print(f"[dim]Read one: lorekeeper show {plain(results[0].entity.uri)}[/]")


def hit_lines(results: Sequence[Result], width: int, *, explained: bool = False) -> Iterator[Text]:
    """Results as lines of that width: name, facts and source, below them the snippet; nothing is cut within a word."""
    is_sure = True
    for result in results:
        if is_sure and not result.sure:
            yield Text("Less sure:", "yellow")
        is_sure = result.sure
        yield from _headline(result, width)
        if result.others:
            yield Text(f"  {shortened(one_line(result.others), width - 2)}", "green")
        if result.snippet:
            yield Text(f"  {shortened(one_line(result.snippet), width - 2)}")
        if result.wording:
            yield Text(f"  found by: {one_line(result.wording)}", "dim")
        if explained:
            score = "" if result.score is None else f"{result.score:.2f}  "
            yield Text(f"  {score}{one_line(result.entity.uri)}", "dim")


def _headline(result: Result, width: int) -> Iterator[Text]:
    """Name, as many facts as there is room for, and at the right the source; this below, if the name is too long."""
    label = edition_label(result.edition)
    source = one_line(result.document_name if label in result.document_name else f"{result.document_name} [{label}]")
    head = Text(one_line(result.entity.name), "bold")
    if result.variants:
        head.append(f" also as {one_line(', '.join(result.variants))}", "dim not bold")
    below = cell_len(head.plain) + cell_len(source) + 2 > width
    room = width - cell_len(head.plain) - 2 - (0 if below else cell_len(source) + 2)
    facts = one_line(result.facts).split(" · ")
    while facts and cell_len(" · ".join(facts)) > room:
        facts.pop()
    head.append(f"  {' · '.join(facts)}" if facts else "", "green not bold")
    if below:
        yield head
        yield Text(f"  {source}", "cyan")
    else:
        gap = 2 if width == MOST_COLUMNS else width - cell_len(head.plain) - cell_len(source)
        yield head + Text(" " * gap) + Text(source, "cyan")


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
                console.print(f"[green]{plain(label(line))}[/]  [dim]{plain(line.entity.uri)}[/]")
                before = line.entity.uri
            if line.quote.sentences:
                console.print_indented(f"[cyan]{plain(where(line.quote))}[/]{plain(line.quote.text)}", 3)
        if part.left_out:
            console.print(f"[dim]{part.left_out} more: {plain(part.more or '')}[/]")


def print_recent(notes: Sequence[Recent]) -> None:
    """Notes by date; those whose date is that of a session say so."""
    if not notes:
        console.print("No notes with a date.")
        return
    for each in notes:
        number = session_of(each.note)
        kind = each.note.kind if number is None else f"{each.note.kind} {number}"
        console.print(f"[cyan]{written(each.date):16}[/]  [bold]{plain(each.note.name)}[/]  [green]{plain(kind)}[/]")
        console.print_indented(f"[dim]{plain(each.note.uri)}[/]", 18)


def print_report(report: ImportReport, *, dry_run: bool, whole: Path | None = None) -> None:
    """What an import did; failures on stderr, in full in the file ``whole`` if they are many."""
    verb = "would be stored" if dry_run else "stored"
    repeated = f", {report.repeated:,} repeated by later ones" if report.repeated else ""
    console.print(
        f"{report.stored:,} {verb}, {report.unchanged:,} unchanged{repeated}, {quantity(report.embedded, 'text')} embedded, "
        f"{len(report.failed):,} failed, in {report.seconds:.1f} s"
    )
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
        whole: file that gets all lines if they are too many to print.
    """
    lines = by_weight(report, failed=failed)
    for line in lines if len(lines) <= SHOWN_PROBLEMS else lines[: SHOWN_PROBLEMS - 1]:
        errors.print(_LABELS.sub(lambda match: f"[{_STYLES[match[0]]}]{match[0]}[/]", plain(line)))
    if len(lines) > SHOWN_PROBLEMS:
        where = "--json lists the failures"
        if whole is not None:
            with suppress(OSError):
                private_folder(whole.parent)
                private_file(whole).write_text("\n".join(map(one_line, lines)) + "\n", "utf-8")
                where = f"all of them are in {plain(str(whole))}"
        errors.print(f"... and {len(lines) - SHOWN_PROBLEMS + 1:,} more lines; {where}")


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
    console.print(
        f"Kept: {counted(report.kept)}; {quantity(report.embedded, 'text')} embedded again, in {report.seconds:.1f} s"
    )
    console.print(
        f"The damaged library was moved to {plain(report.aside)}; delete it when you are sure that nothing is missing."
    )
    if report.left:
        console.print(f"Still there, and not in the library: {counted(report.left)}, which another program declares.")


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
    """Documents that have entries: keys, numbers of entries, titles and licences; nothing is cut."""
    counts = {document["key"]: sum(document["counts"].values()) for document in documents}
    filled = [document for document in documents if counts[document["key"]]]
    width = max((len(document["key"]) for document in filled), default=0)
    console.print_row(f"{'key':{width}}  entries", "title · licence", width + 9)
    for document in filled:
        label = f"{one_line(document['key']):{width}}  {counts[document['key']]:7,}"
        licences = f"  [dim]{plain(', '.join(document['licenses']))}[/]" if document["licenses"] else ""
        console.print_row(label, f"{plain(document['name'])}{licences}", width + 9)
    empty = len(documents) - len(filled)
    without = f", and {empty} without entries" if empty else ""
    console.print(f"[dim]{len(filled)} in all{without}; --json has publishers, and the numbers by type[/]")


def print_fixes(fixes: Fixes) -> None:
    """What was put right, and what is left to the reader."""
    for sentence in fixes.fixed:
        console.print(f"[green]fixed[/] {plain(sentence)}")
    for sentence in fixes.left:
        console.print(f"[yellow]left[/]  {plain(sentence)}")
    if not (fixes.fixed or fixes.left):
        console.print("There was nothing to fix.")


def print_findings(findings: Findings) -> None:
    """Settings with their origins, then each check; a setting that has no room for its value has it below its name."""
    width = max((len(setting["name"]) for setting in findings.settings), default=0)
    for setting in findings.settings:
        said = f"{plain(setting['value']) or 'not set'}  [dim]({plain(setting['from'])})[/]"
        console.print_row(setting["name"], said, width)
    console.print()
    for check in findings.checks:
        mark = "[green]ok[/]  " if check.ok else "[red]bad[/] "
        console.print(f"{mark} {plain(check.name)}: {plain(check.message)}")
