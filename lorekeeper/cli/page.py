"""A whole entry on a terminal. Apart from the other output, since Rich loads a Markdown parser for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, Paragraph, TableElement, TableRowElement
from rich.table import Table
from rich.text import Text

from lorekeeper.cli.render import broken, console, plain
from lorekeeper.printable import lines


def print_entry(page: str, others: Sequence[str], *, markdown: bool) -> None:
    """A whole entry, and the uris of others of its name; as Markdown source if wanted."""
    print_markdown(lines(page), markdown=markdown)
    if others and not markdown:
        console.print(f"\n[dim]Also: {plain(', '.join(others))}[/]")


def print_markdown(text: str, *, markdown: bool) -> None:
    """A page of Markdown; as its source if wanted."""
    if markdown:
        print(text)
    else:
        console.print(EntryMarkdown(text, hyperlinks=False))


class _Heading(Heading):
    """A heading at the left: Rich centres the first level in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        if self.tag != "h1":
            yield Text("")
        yield self.text


class _Paragraph(Paragraph):
    """A paragraph that is broken between words only, also if one is wider than the terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < console.width:  # within a list or quotation, beyond whose width all is lost
            yield from super().__rich_console__(console, options)
            return
        for line in broken(self.text, options.max_width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line


_BETWEEN_COLUMNS = 2


class _Table(TableElement):
    """A table, or where its words have no room in columns, each row as a paragraph of what it has in which of them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head, *rows = ([cell.content for cell in row.cells] for row in self._rows())
        columns = [*zip(head, *rows, strict=True)]
        widths = [max(cell_len(word) for text in texts for word in text.plain.split() or [""]) for texts in columns]
        room = options.max_width - sum(widths) - _BETWEEN_COLUMNS * len(widths)
        if room >= 0:
            whole = [max(text.cell_len for text in texts) for texts in columns]
            for _ in range(min(room, sum(whole) - sum(widths))):
                widths[max(range(len(widths)), key=lambda at: whole[at] / max(widths[at], 1))] += 1
            table = Table(box=SIMPLE, pad_edge=False, collapse_padding=True, style="markdown.table.border")
            for title, width in zip(head, widths, strict=True):
                table.add_column(title, width=width, header_style="markdown.table.header")
            for row in rows:
                table.add_row(*row)
            yield table
            return
        for first, *others in rows:
            told = (Text(": ").join(pair) for pair in zip(head[1:], others, strict=True) if pair[1].plain.strip(" —"))
            called = Text(" ").join([head[0], first])
            called.stylize("bold")
            yield ""
            yield from broken(Text("; ").join([called, *told]), options.max_width)

    def _rows(self) -> list[TableRowElement]:
        head = self.header.row if self.header else None
        return [*([head] if head else []), *(self.body.rows if self.body else [])]


class EntryMarkdown(Markdown):
    """The Markdown of an entry for a terminal."""

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "paragraph_open": _Paragraph,
        "table_open": _Table,
    }
