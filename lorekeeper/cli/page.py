"""A whole entry on a terminal. Apart from the other output, since Rich loads a Markdown parser for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, Paragraph
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


class EntryMarkdown(Markdown):
    """The Markdown of an entry for a terminal."""

    elements: ClassVar = {**Markdown.elements, "heading_open": _Heading, "paragraph_open": _Paragraph}
