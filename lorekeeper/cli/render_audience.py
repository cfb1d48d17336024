"""Output about who sees what, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lorekeeper.audience import DM, PLAYERS
from lorekeeper.cli.render import console, plain
from lorekeeper.printable import quantity

if TYPE_CHECKING:
    from lorekeeper.views.explained import Shares

WHO = {DM: "the game master", PLAYERS: "everybody"}


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
    console.print(f"  {_who(told)}")
    for section in told.get("sections", ()):
        console.print(f"  [bold]{plain(section['heading'] or '(beginning)')}[/]: {_who(section)}")
    for what, values in told.get("players_see", {}).items():
        console.print(f"  {what} that players see: {plain(', '.join(values)) or 'none'}")


def _who(told: Mapping[str, Any]) -> str:
    who = told["audience"]
    people = WHO[who] if isinstance(who, str) else ", ".join(who)
    return f"{plain(people)}  [dim]({plain(told['why'])})[/]"
