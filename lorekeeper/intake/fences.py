"""Data in a code block, as chats give it: what is between the lines of three backticks is read, and nothing around them."""

from __future__ import annotations

import io
import re

from lorekeeper.intake.json_stream import MAX_ENTRY_CHARS, Window

_DATA = r"\s*(?:\{\s*\"|\[\s*[\[{\]]|<\?xml|<compendium)"
_OPENED = re.compile(rf"^(?P<fence>`{{3,}}|~{{3,}})[\w-]{{0,20}}[ \t]*\r?\n(?={_DATA})", re.MULTILINE)

MOST_CHARS = 16 * MAX_ENTRY_CHARS
"""Longest text that is searched for its code blocks."""


def unfenced(window: Window, head: str, *, is_markdown: bool) -> tuple[list[Window], str]:
    """The blocks of code with data that a text has, each with its lines in their places; the text itself if it has none.

    Args:
        window: the text.
        head: the beginning of it.
        is_markdown: whether only a text that begins with a block is meant: others are notes.

    Returns:
        The blocks, and what was left out around them, "" if there is nothing.
    """
    first = _OPENED.search(head)
    if first is None or head.lstrip()[:1] in ("{", "[", "<") or (is_markdown and head[: first.start()].strip()):
        return [window], ""
    text = window.rest(MOST_CHARS)
    blocks, around, at = list[Window](), "", 0
    while opened := _OPENED.search(text, at):
        closed = re.compile(rf"^{opened['fence']}[ \t]*\r?$", re.MULTILINE).search(text, opened.end())
        end = closed.start() if closed else len(text)
        around += text[at : opened.start()]
        blocks.append(Window(io.StringIO("\n" * text.count("\n", 0, opened.end()) + text[opened.end() : end])))
        at = closed.end() if closed else len(text)
    return blocks, " ".join(f"{around} {text[at:]}".split())
