"""Output about who sees what, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.padding import Padding

from lorekeeper.audience import DM, PLAYERS
from lorekeeper.cli.render import console, plain
from lorekeeper.printable import quantity, shortened

if TYPE_CHECKING:
    from lorekeeper.shares import Share
    from lorekeeper.vaults.state import Row
    from lorekeeper.views.explained import Shares
    from lorekeeper.views.opening import Look

SHOWN, MOST_NAMES = 100, 12

INDENT = 6
"""Columns before what stands below the path of a note."""

FEW = 3
"""Notes that are named beside a reason."""

SEEN_BY = {DM: "the game master alone", PLAYERS: "everyone"}

WHO = {DM: "the game master", PLAYERS: "everyone"}


def print_shares(shares: Sequence[Shares]) -> None:
    """The documents, and how many of their entries are kept from whom."""
    for each in shares:
        counts = each.counts
        people = f" ({', '.join(sorted(each.names))})" if each.names else ""
        said = [
            f"{counts['everybody']:,} for everyone",
            f"{counts['part']:,} shared in part" if counts["part"] else "",
            f"{counts['named']:,} for people by name{plain(people)}" if counts["named"] else "",
            f"{counts['dm']:,} for the game master only" if counts["dm"] else "",
        ]
        console.print(f"[bold]{plain(each.document)}[/]  {', '.join(filter(None, said))}")
    if not shares:
        console.print("The library is empty.")


def print_counts(counts: Mapping[str, int]) -> None:
    """The documents that a player knows, with the number of entries."""
    for key, number in counts.items():
        console.print(f"[bold]{plain(key)}[/]  {quantity(number, 'entry')}")
    if not counts:
        console.print("There is nothing to see.")


def print_explained(told: Mapping[str, Any]) -> None:
    """Who sees an entry, and why."""
    console.print(f"[bold]{plain(told['name'])}[/]  [dim]{plain(told['uri'])}[/]")
    if told.get("seen"):
        console.print(f"  {plain(told['seen'])}")
    console.print(f"  {'where no mark of a section decides: ' if told.get('seen') else ''}{_who(told)}")
    for section in told.get("sections", ()):
        console.print(f"  [bold]{plain(section['heading'] or '(beginning)')}[/]: {_who(section)}")
    for what, values in told.get("players_see", {}).items():
        console.print(f"  {what} that players see: {plain(', '.join(values)) or 'none'}")


def print_look(found: Look, what: str, people: str, *, headings: bool, lines: bool) -> None:
    """What opens of something, what waits and why, and the headings that several notes share; more where it is asked for."""
    words = sum(note.words for note in found.open)
    waits = f", {found.waiting:,} wait" if found.waiting else ""
    console.print(
        f"[bold]{plain(what)}[/]  opens to {plain(people)}: {quantity(len(found.open), 'note')}, "
        f"{quantity(words, 'word')}; {quantity(found.sections, 'section')} open{waits}"
    )
    _print_closed(found)
    if found.unread:
        console.print(f"  [yellow]not shared, since unreadable: {plain(', '.join(found.unread))}[/]")
    _print_held(found)
    common, others = found.headings()
    if common:
        listed = ", ".join(f"{text} ({number})" for text, number in common[:MOST_NAMES])
        more = f", and {len(common) - MOST_NAMES:,} more" if len(common) > MOST_NAMES else ""
        console.print(f"  Headings that open in several notes: {plain(listed + more)}")
    if others and not headings:
        console.print(f"  Other headings that open: {len(others):,} (--headings lists them)")
    own = {path: [text for _, text in texts] for path, texts in groupby(others, key=itemgetter(0))}
    for note in found.open if headings else ():
        console.print(f"    {plain(note.path)}")
        console.print(Padding.indent(plain("; ".join(own.get(note.path, ()))), INDENT))
    telling = [(note.path, line, stem) for note in found.open for line, stem in note.lines]
    if telling and not lines:
        console.print(f"  Lines that open with such a word within them: {len(telling):,} (--lines lists them)")
    for path, told in groupby(telling if lines else (), key=itemgetter(0)):
        console.print(f"    {plain(path)}")
        for _, line, stem in told:
            console.print(Padding.indent(f"{plain(shortened(line, SHOWN))}  [dim]({plain(stem)})[/]", INDENT))
    if len(found.parts) > 1:
        _print_parts(found)


def _print_parts(found: Look) -> None:
    """The folders and notes that open by their numbers, those within one folder in one paragraph."""
    console.print("  What opens:")
    listed = [(name[len(found.folder) :].lstrip("/"), notes) for name, notes in found.parts]
    by_folder = groupby(enumerate(listed, start=1), key=lambda each: each[1][0].rpartition("/")[0].partition("/")[0])
    for folder, group in by_folder:
        told = ", ".join(
            f"[bold]{number}[/] {plain(name.removeprefix(f'{folder}/') or name)}"
            + (f" ({notes:,})" if name.endswith("/") else "")
            for number, (name, notes) in group
        )
        console.print(Padding.indent(told, INDENT))


def _print_held(found: Look) -> None:
    """What waits of the notes that open, each once."""
    if found.held:
        console.print("  These wait, by the word or sign in brackets:")
    for each, paths in found.held:
        number = f"{len(paths):,} notes: " if len(paths) > 1 else ""
        said = f"[yellow]{each.place}[/] {plain(shortened(each.text, SHOWN))}  ({plain(each.stem)})"
        names = _names([path.rpartition("/")[2] for path in paths])
        console.print(Padding.indent(f"{said}  [dim]{number}{names}[/]", INDENT))


def _names(paths: Sequence[str]) -> str:
    return plain(", ".join(paths[:FEW]) + (", ..." if len(paths) > FEW else ""))


def _print_closed(found: Look) -> None:
    """The notes that stay closed: plans first, then one line for each reason."""
    plans = [note for note in found.closed if note.plan]
    if plans:
        names = ", ".join(note.path for note in plans[:MOST_NAMES])
        more = f", and {len(plans) - MOST_NAMES:,} more" if len(plans) > MOST_NAMES else ""
        verb = "looks like a plan, and waits" if len(plans) == 1 else "look like plans, and wait"
        console.print(f"  [yellow]{quantity(len(plans), 'note')} {verb}[/]: {plain(names + more)}")
    reasons: dict[str, list[str]] = {}
    for note in (note for note in found.closed if not note.plan):
        reasons.setdefault(note.why, []).append(note.path)
    for why, paths in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        verb = "stays" if len(paths) == 1 else "stay"
        console.print(f"  {quantity(len(paths), 'note')} {verb} closed: {plain(why)}  [dim]{_names(paths)}[/]")


def print_open(decisions: Sequence[Share], vaults: Mapping[str, Mapping[str, Row]]) -> None:
    """What was decided, then the open notes of each vault by folder, and what of them waits."""
    for each in decisions:
        who = (
            ", ".join(each.audience) if isinstance(each.audience, tuple) else SEEN_BY.get(each.audience, each.audience)
        )
        console.print(f"{plain(each.vault)}  {each.kind}  {plain(each.written)}  for {plain(who)}")
    for key, rows in vaults.items():
        listed = sorted((path, row) for path, row in rows.items() if row.open_to or row.waits)
        for folder, group in groupby(listed, key=lambda pair: pair[0].rpartition("/")[0]):
            notes = list(group)
            opened = sum(bool(row.open_to) for _, row in notes)
            waiting = sum(len(row.waits) for _, row in notes)
            waits = f", {waiting:,} wait" if waiting else ""
            console.print(f"[bold]{plain(key)}/{plain(folder)}[/]  {quantity(opened, 'note')} open{waits}")
            for path, row in notes:
                name = path.rpartition("/")[2]
                new = [each for each in row.waits if each]
                said = f"for {SEEN_BY.get(row.open_to, row.open_to)}" if row.open_to else "closed"
                said = "waits" if "" in row.waits else said + (f"; waits: {', '.join(new)}" if new else "")
                console.print(f"  {plain(name)}  [dim]{plain(said)}[/]")
        if any(row.waits for _, row in listed):
            console.print(f"To open what waits: lorekeeper share NOTE --vault {plain(key)}")
    if not decisions and not any(row.open_to for rows in vaults.values() for row in rows.values()):
        console.print("Nothing is shared: 'lorekeeper share PLACES --dry-run' tries it.")


def print_stems(rows: Sequence[Mapping[str, str]]) -> None:
    """The stems by class."""
    for kind, group in groupby(rows, key=lambda row: row["class"]):
        console.print(f"[bold]{kind}[/]  {plain(', '.join(row['stem'] for row in group))}")


def _who(told: Mapping[str, Any]) -> str:
    who = told["audience"]
    people = WHO[who] if isinstance(who, str) else ", ".join(who)
    return f"{plain(people)}  [dim]({plain(told['why'])})[/]"
