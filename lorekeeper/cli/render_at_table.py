"""Output of the commands for the game at the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.cli.render import console, plain
from lorekeeper.differences.result import same_texts
from lorekeeper.printable import quantity
from lorekeeper.server.answers import source_of
from lorekeeper.server.comparisons import LETTERS, MAIN_TEXT
from lorekeeper.server.models import JsonObject

COLOURS = ("cyan", "green", "magenta", "yellow")
"""Of the letters of the entries."""

_CHANGED = re.compile(r"\*\*(.+?)\*\*")


def print_comparison(content: JsonObject) -> None:
    """What differs: the entries with their letters, facts, then each passage; changed words in bold."""
    for letter, entry in zip(_letters(), content["entries"], strict=False):
        console.print(f"{letter} [bold]{plain(entry['name'])}[/]  {plain(source_of(entry))}")
        console.print_indented(f"[dim]{plain(entry['uri'])}[/]", 2)
    if content["note"]:
        console.print(f"[yellow]{plain(content['note'])}[/]")
    if content["facts"]:
        console.print("\n[bold]Facts[/]")
    for fact in content["facts"]:
        console.print(f"[dim]{plain(fact['label'])}[/]")
        _print_texts(fact["values"], "[dim]not stated[/]")
    if shared := [f"{fact['label']} {fact['value']}" for fact in content["shared"]]:
        console.print(f"[dim]The same: {plain('; '.join(shared))}[/]")
    for passage in content["texts"]:
        console.print(f"\n[bold]{_heading(passage['places'])}[/]")
        if not passage["rows"]:
            console.print("  [dim]the same text[/]")
        for row in passage["rows"]:
            _print_texts(row)
    same = content["same"]
    console.print(f"\n[dim]Identical, and left out: {quantity(same['sentences'], 'sentence')}.[/]")


def _letters() -> list[str]:
    return [f"[bold {colour}]{letter}[/]" for letter, colour in zip(LETTERS, COLOURS, strict=True)]


def _print_texts(texts: Sequence[str | None], missing: str = "") -> None:
    """Texts below each other, each behind the letters of the entries that have it."""
    letters = _letters()
    for numbers, text in same_texts(texts):
        said = missing if text is None else _CHANGED.sub(r"[bold]\1[/]", plain(text))
        if said:
            console.print_indented(f"{' '.join(letters[number] for number in numbers)} {said}", 2)


def _heading(places: Sequence[str | None]) -> str:
    """Where a passage stands; with the letters of the entries unless it stands there in all."""
    found: dict[str, list[str]] = {}
    for letter, place in zip(_letters(), places, strict=False):
        if place is not None:
            found.setdefault(place, []).append(letter)
    if len(found) == 1 and None not in places:
        return plain(next(iter(found)))
    return ", ".join(f"{plain(place)} ({' '.join(letters)})" for place, letters in found.items()) or MAIN_TEXT


def print_plan(content: JsonObject) -> None:
    """Encounters: the party's budget, then each with its monsters and its arithmetic."""
    from lorekeeper.server.encounters import NOTHING, described

    party, *limits = content["arithmetic"]
    console.print(f"[bold]{plain(party)}[/], rules of {content['rules']}")
    console.print(f"[dim]{plain('; '.join(limits))}[/]")
    if content["note"]:
        console.print(f"[yellow]{plain(content['note'])}[/]")
    for line in content.get("day", ()):
        console.print(f"Day: {plain(line)}")
    if not content["encounters"] and "day" not in content:
        console.print(NOTHING)
    for encounter in content["encounters"]:
        title = encounter["title"].capitalize() or "This encounter"
        console.print(f"\n[bold]{title}[/]: [green]{plain(encounter['difficulty'])}[/]  {plain(encounter['reason'])}")
        for monster in encounter["monsters"]:
            console.print_indented(plain(described(monster)), 2)
            if monster["defences"]:
                console.print_indented(plain(monster["defences"]), 4)
            console.print_indented(f"[dim]{plain(monster['uri'])}[/]", 4)
        for line in encounter["arithmetic"]:
            console.print_indented(f"[dim]{plain(line)}[/]", 2)
        for line in encounter["advice"]:
            console.print_indented(f"[yellow]Take care: {plain(line)}[/]", 2)
    if "seed" in content:
        console.print(f"\n[dim]Repeat these with --seed {content['seed']}.[/]")
