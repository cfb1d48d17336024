"""Search results on a terminal, two lines each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.cells import cell_len
from rich.text import Text

from lorekeeper.cli.render import MOST_COLUMNS, console, plain
from lorekeeper.cli.terminal import shortened
from lorekeeper.editions import edition_label
from lorekeeper.printable import one_line, quantity
from lorekeeper.search.query import MAX_LIMIT
from lorekeeper.text.printed_on import with_page

if TYPE_CHECKING:
    from lorekeeper.search.results import Result, ResultPage


@dataclass(frozen=True)
class Hit:
    """What is shown of a `Result`."""

    name: str
    uri: str
    document_name: str
    edition: str
    facts: str
    snippet: str
    variants: Sequence[str]
    others: str
    differs: str
    wording: str
    score: float | None
    sure: bool
    page: str = ""

    @classmethod
    def of(cls, result: Result) -> Self:
        """The hit of a result."""
        entity = result.entity
        same = {name: getattr(result, name) for name in cls.__dataclass_fields__ if name not in ("name", "uri")}
        return cls(name=entity.name, uri=entity.uri, **same)


@dataclass(frozen=True)
class Hits:
    """What is shown of a `ResultPage`."""

    hits: Sequence[Hit]
    total: int
    next_offset: int | None
    note: str | None

    @classmethod
    def of(cls, page: ResultPage) -> Self:
        """The hits of a page."""
        return cls([Hit.of(result) for result in page.results], page.total, page.next_offset, page.note)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """What `as_dict` gave."""
        return cls(**{**content, "hits": [Hit(**hit) for hit in content["hits"]]})


def print_hits(found: Hits, *, explained: bool = False, whole: bool = False) -> None:
    """Print search results, two lines each; with scores and uris where they are explained.

    Args:
        found: the results.
        explained: whether the search is explained.
        whole: whether less sure results are shown below sure ones.
    """
    if not found.hits:
        from lorekeeper.server.found import nothing_found

        console.print(plain(nothing_found(found.note)))
        return
    if found.note:
        console.print(f"[yellow]{plain(found.note)}[/]")
    sure = [hit for hit in found.hits if hit.sure]
    hits = sure if sure and not (whole or explained) else found.hits
    for line in hit_lines(hits, console.columns, explained=explained):
        console.print(line)
    _print_remainder(found, hits)


def _print_remainder(found: Hits, hits: Sequence[Hit]) -> None:
    """How many results there are besides, and how to see them, and one of these."""
    if len(hits) < len(found.hits):
        remaining = f"{found.total - len(hits):,} more, less sure: --limit {min(found.total, MAX_LIMIT)} shows them"
    else:
        following = "" if found.next_offset is None else f"; next: --offset {found.next_offset}"
        remaining = f"{len(hits)} of {quantity(found.total, 'result')}{following}"
    console.print(f"[dim]{remaining}[/]")
    console.print(f"[dim]Read one: lorekeeper show {plain(hits[0].uri)}[/]")


def hit_lines(hits: Sequence[Hit], width: int, *, explained: bool = False) -> Iterator[Text]:
    """Results as lines of that width: name, facts and source, below them the snippet; nothing is cut within a word."""
    is_sure = True
    for hit in hits:
        if is_sure and not hit.sure:
            yield Text("Less sure:", "yellow")
        is_sure = hit.sure
        yield from _headline(hit, width)
        if hit.others:
            yield Text(f"  {shortened(one_line(hit.others), width - 2)}", "green")
        if hit.differs:
            yield Text(f"  {one_line(hit.differs)}", "green")
        if hit.snippet:
            yield Text(f"  {shortened(one_line(hit.snippet), width - 2)}")
        if hit.wording:
            yield Text(f"  found by: {one_line(hit.wording)}", "dim")
        if explained:
            score = "" if hit.score is None else f"{hit.score:.2f}  "
            yield Text(f"  {score}{one_line(hit.uri)}", "dim")


def _headline(hit: Hit, width: int) -> Iterator[Text]:
    """Name, as many facts as there is room for, and at the right the source; this below, if the name is too long."""
    label = edition_label(hit.edition)
    title = hit.document_name if label in hit.document_name else f"{hit.document_name} [{label}]"
    source = one_line(with_page(title, hit.page))
    head = Text(one_line(hit.name), "bold")
    if hit.variants:
        head.append(f" also as {one_line(', '.join(hit.variants))}", "dim not bold")
    below = cell_len(head.plain) + cell_len(source) + 2 > width
    room = width - cell_len(head.plain) - 2 - (0 if below else cell_len(source) + 2)
    facts = one_line(hit.facts).split(" · ")
    while facts and cell_len(" · ".join(facts)) > room:
        facts.pop()
    head.append(f"  {' · '.join(facts)}" if facts else "", "green not bold")
    if below:
        yield head
        yield Text(f"  {source}", "cyan")
    else:
        gap = 2 if width == MOST_COLUMNS else width - cell_len(head.plain) - cell_len(source)
        yield head + Text(" " * gap) + Text(source, "cyan")
