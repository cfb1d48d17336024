"""Output about who sees what, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lorekeeper.audience import DM, PLAYERS
from lorekeeper.cli.render import console, plain
from lorekeeper.cli.terminal import shortened
from lorekeeper.notes.suspicious import NAMED
from lorekeeper.printable import quantity

if TYPE_CHECKING:
    from lorekeeper.views.explained import Shares
    from lorekeeper.views.sharing import Preview

SHOWN, MOST_NAMES = 100, 12

LISTED = (
    "This looks like secrets, but no mark hides it: '--fix' hides all of it from players, without changing the vault; "
    "a mark in the note hides a part."
)
KEPT = "All of this is hidden from players now: 'lorekeeper shared' lists it."

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


def print_preview(preview: Preview, what: str, people: str, *, fixed: bool) -> None:
    """What players would see of something, and what of that looks like a secret."""
    names = Counter(each.word for each in preview.suspicions if each.place == NAMED)
    held = f"; closed by marks: {quantity(len(preview.held), 'note')}" if preview.held else ""
    console.print(f"[bold]{plain(what)}[/]  seen by {plain(people)}: {quantity(len(preview.notes), 'note')}{held}")
    if preview.unread:
        console.print(f"  [yellow]not shared, since unreadable: {plain(', '.join(preview.unread))}[/]")
    words = Counter(each.text for each in preview.secrets if each.is_word)
    for path, rows in groupby((each for each in preview.secrets if not each.is_word), key=lambda each: each.note):
        console.print(f"  {plain(path)}")
        for each in rows:
            console.print(
                f"    [yellow]{each.place}[/] {plain(shortened(each.text, SHOWN))}  [dim]({plain(each.word)})[/]"
            )
    if words:
        console.print(f"  [yellow]names with a word for secrets or game masters[/]: {plain(', '.join(words))}")
    if names:
        listed = ", ".join(f"{name} ({number})" for name, number in names.most_common(MOST_NAMES))
        more = f", and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        console.print(f"  [yellow]names of secret notes[/], with the lines that have them: {plain(listed + more)}")
    if preview.secrets:
        console.print(KEPT if fixed else LISTED)


def print_marks(rows: Sequence[Mapping[str, str]]) -> None:
    """The declared marks: language, who may see it, where it counts, and an example or words."""
    for audience, group in groupby(rows, key=lambda row: row["audience"]):
        console.print(f"[bold]{f'for {WHO[audience]}' if audience else 'kinds, dates and states'}[/]")
        for row in group:
            console.print(f"  {row['language']:2}  [dim]{plain(row['places'])}[/]  {plain(row['what'])}")


def _who(told: Mapping[str, Any]) -> str:
    who = told["audience"]
    people = WHO[who] if isinstance(who, str) else ", ".join(who)
    return f"{plain(people)}  [dim]({plain(told['why'])})[/]"
