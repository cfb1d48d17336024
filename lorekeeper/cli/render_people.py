"""Output about people for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from lorekeeper.cli.render import console, plain
from lorekeeper.dates import written
from lorekeeper.people.person import Person

ROLES = {"dm": "game master", "player": "player"}


def print_people(people: Sequence[Person]) -> None:
    """Who is at the table: names, roles, characters and times."""
    if not people:
        console.print("No people yet. Add one: lorekeeper people add NAME --role player")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "role", "characters", "added", "expires", "new token"):
        table.add_column(title, overflow="fold")  # nothing of an address is left out
    for person in people:
        table.add_row(
            plain(person.name),
            ROLES[person.role],
            plain(", ".join(person.characters)),
            written(person.created),
            _expiry(person),
            written(person.rotated) if person.rotated else "",
        )
    console.print(table)


def _expiry(person: Person) -> str:
    if person.expires is None:
        return "never"
    return f"[red]expired {written(person.expires)}[/]" if person.expired else written(person.expires)
