"""Output about vaults for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from lorekeeper.cli.render import console, errors, plain, print_problems
from lorekeeper.intake.reports import beside
from lorekeeper.printable import quantity

if TYPE_CHECKING:
    from lorekeeper.vaults.lint import Finding
    from lorekeeper.vaults.reports import VaultReport
    from lorekeeper.vaults.status import Status

SHOWN_FINDINGS = 100

STATES = {"in step": "up to date"}
"""What people read for states that programs know by another word."""

NEXT = "'lorekeeper vault add PATH --key {0}' keeps them up to date, 'lorekeeper vault remove {0}' removes them"
"""What to do with notes whose folder is not known, by the key of their vault."""


def print_vaults(statuses: Sequence[Status]) -> None:
    """Vaults with their folders, and how they stand."""
    for status in statuses:
        vault, summary = status.vault, status.summary
        console.print(f"[bold]{plain(vault.key)}[/]  {plain(vault.name)}  [dim]{plain(status.folder)}[/]")
        notes = quantity(summary.notes, "note")
        if not status.folder:
            console.print(f"  {notes}, {plain(status.state)}: {plain(NEXT.format(vault.key))}")
            continue
        minute = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.synced))
        read = f"; {notes}, read {minute}" if summary.synced else ""
        console.print(f"  {STATES.get(status.state, status.state)}{read}")
        for problem in summary.problems[:3]:
            console.print(f"  [yellow]{plain(problem)}[/]")
        if len(summary.problems) > 3:
            console.print(f"  ... and {len(summary.problems) - 3:,} more: 'lorekeeper vault check {vault.key}'")
    if not statuses:
        console.print("There is no vault yet: 'lorekeeper vault add PATH' adds a folder of Markdown notes.")


def print_vault_report(report: VaultReport) -> None:
    """What a sync did, and what the vaults hold; failures on stderr."""
    counts = report.as_dict()
    console.print(
        f"{quantity(report.notes, 'note')}, {quantity(counts['sections'], 'section')}, "
        f"{quantity(counts['links_resolved'] + counts['links_dangling'], 'link')} ({counts['links_dangling']:,} broken), "
        f"{quantity(report.tags, 'tag')}, {quantity(counts['aliases'], 'alias')}, "
        f"{quantity(counts['creatures'], 'creature')}, {quantity(counts['characters'], 'character')}, "
        f"{quantity(counts['tables'], 'table')} to roll on",
    )
    if report.stored or report.removed or report.renamed or report.failed:
        console.print(
            f"{report.stored:,} stored, {report.unchanged:,} unchanged, {report.removed:,} removed, "
            f"{report.renamed:,} renamed, {quantity(report.embedded, 'text')} embedded, {len(report.failed):,} failed, "
            f"in {report.seconds:.1f} s",
        )
    else:
        console.print("All notes are up to date.")  # a server that runs may have read them just now
    print_understood(report.understood)
    if report.passed:
        passed = ", ".join(f"{reason} {number:,}" for reason, number in report.passed.most_common())
        console.print(f"[dim]Skipped: {plain(passed)}[/]")
        for line in beside(report.passed):
            errors.print(f"[dim]skipped {plain(line)}[/]")
    waiting = [quantity(number, what.removesuffix("s")) for what, number in report.waiting.items() if number]
    if waiting:
        console.print(
            f"Closed to players until you look at them: {' and '.join(waiting)}. 'lorekeeper shared' lists them."
        )
    print_problems(report)


def print_understood(lines: Sequence[str]) -> None:
    """What was understood of vaults, and what is doubtful."""
    for line in lines:
        console.print(f"  {plain(line)}")


TITLES = {"dangling": "broken links"}
"""What people read for kinds of findings that programs know by another word."""


def print_vault_findings(findings: Sequence[Finding], notes: int) -> None:
    """What a check of so many notes found, by kind."""
    from lorekeeper.vaults.lint import KINDS

    for kind, group in groupby(findings, key=lambda finding: finding.kind):
        found = list(group)
        console.print(f"[bold]{TITLES.get(kind, kind)}[/] ({len(found):,}): {KINDS[kind]}")
        for finding in found[:SHOWN_FINDINGS]:
            place = " > ".join(filter(None, [f"{finding.vault}/{finding.path}", finding.section]))
            near = f"  [dim]{plain('; '.join(finding.near))}[/]" if finding.near else ""
            console.print(f"  {plain(place)}: {plain(finding.what)}{near}")
        if len(found) > SHOWN_FINDINGS:
            console.print(f"  ... and {len(found) - SHOWN_FINDINGS:,} more; --json lists them")
    if not findings:
        console.print(f"No problems found in {quantity(notes, 'note')}.")
