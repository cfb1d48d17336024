"""Search results on a terminal: what the first says, and two lines of each other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from lorekeeper.cli.command import JsonObject
from lorekeeper.cli.render import MOST_COLUMNS, console, plain, print_read_one
from lorekeeper.editions import edition_label
from lorekeeper.printable import one_line, quantity, shortened
from lorekeeper.search.query import MAX_LIMIT
from lorekeeper.text.printed_on import with_page


def print_hits(found: JsonObject, wordings: Sequence[str], *, explained: bool = False, whole: bool = False) -> None:
    """Print search results; with scores and uris where they are explained.

    Args:
        found: a page of results, as the tools give it.
        wordings: of the query.
        explained: whether the search is explained.
        whole: whether less sure results are shown below sure ones.
    """
    results, note = found["results"], found["note"]
    if not results:
        from lorekeeper.server.found import nothing_found

        console.print(plain(nothing_found(note)))
        return
    if note:
        console.print(f"[yellow]{plain(note)}[/]")
    sure = [hit for hit in results if hit.get("sure", True)]
    hits = sure if sure and not (whole or explained) else results
    for line in hit_lines(hits, console.columns, wordings, explained=explained):
        indent = len(line.plain) - len(line.plain.lstrip())
        console.print_indented(line[indent:], indent)
    if len(hits) < len(results):
        total = found["total"]
        remaining = f"{total - len(hits):,} more, less sure: --limit {min(total, MAX_LIMIT)} shows them"
    else:
        following = "" if found["next_offset"] is None else f"; next: --offset {found['next_offset']}"
        remaining = f"{len(hits)} of {quantity(found['total'], 'result')}{following}"
    console.print(f"[dim]{remaining}[/]")
    print_read_one(hits[0]["uri"])


def hit_lines(
    hits: Sequence[JsonObject], width: int, wordings: Sequence[str], *, explained: bool = False
) -> Iterator[Text]:
    """Results as lines of that width: name, facts and source, below them the snippet, of all but the first in one line."""
    was_sure = True
    for place, hit in enumerate(hits):
        if was_sure and not hit.get("sure", True):
            yield Text("Less sure:", "yellow")
        was_sure = hit.get("sure", True)
        facts, _, others = hit["facts"].partition("; ")
        yield from _headline(hit, facts.split(" · "), width)
        if others:
            yield Text(f"  {shortened(others, width - 2)}", "green")
        if "differs" in hit:
            yield Text(f"  {hit['differs']}", "green")
        if hit["snippet"]:
            yield Text(f"  {shortened(hit['snippet'], width - 2) if place else hit['snippet']}")
        if "wording" in hit:
            yield Text(f"  found by: {one_line(wordings[hit['wording'] - 1])}", "dim")
        if explained:
            score = "" if hit["score"] is None else f"{hit['score']:.2f}  "
            yield Text(f"  {score}{one_line(hit['uri'])}", "dim")


def _headline(hit: JsonObject, facts: list[str], width: int) -> Iterator[Text]:
    """Name, as many facts as there is room for, and at the right the source; this below, if the name is too long."""
    label = edition_label(hit["edition"])
    title = hit["document_name"] if label in hit["document_name"] else f"{hit['document_name']} [{label}]"
    source = with_page(title, hit.get("page", ""))
    head = Text(hit["name"], "bold")
    if "variants" in hit:
        head.append(f" also as {hit['variants']}", "dim not bold")
    below = cell_len(head.plain) + cell_len(source) + 2 > width
    room = width - cell_len(head.plain) - 2 - (0 if below else cell_len(source) + 2)
    while facts and cell_len(" · ".join(facts)) > room:
        facts.pop()
    head.append(f"  {' · '.join(facts)}" if any(facts) else "", "green not bold")
    if below:
        yield head
        yield Text(f"  {source}", "cyan")
    else:
        gap = 2 if width == MOST_COLUMNS else width - cell_len(head.plain) - cell_len(source)
        yield head + Text(" " * gap) + Text(source, "cyan")
