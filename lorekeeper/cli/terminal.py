"""Lines for a terminal: broken between words, never within one. Where there is no terminal, a paragraph stays one line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import IO

LEAST = 20
"""Fewest columns that text is wrapped to."""

_ROW = re.compile(r"( +\S+(?: \S+)* {2,}| *)\S")
"""The beginning of an indented line, with its first column if it has several."""

YES = frozenset({"y", "yes", "j", "ja", "o", "oui", "s", "si", "sim", "t", "tak"})
"""What people type who mean it."""


def columns(stream: IO[str]) -> int | None:
    """How wide lines may be: of COLUMNS, else of the terminal behind a stream; None if it is no terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None
    except (OSError, ValueError):
        return None


def wrapped(text: str, width: int | None) -> str:
    """A text with lines of at most so many characters, but for words that are longer, such as uris and paths.

    What follows an indented line stands below its last column.

    Args:
        text: with line breaks of its own.
        width: None for lines of any length.
    """
    if width is None:
        return text
    return "\n".join(each for line in text.split("\n") for each in _wrapped(line, max(width, LEAST)))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    row = _ROW.match(line)
    indent = row.end() - 1 if row and row.end() <= width * 0.7 else len(line) - len(line.lstrip(" "))
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def say(text: str) -> None:
    """Print a message about the work of a command on stderr."""
    print(wrapped(text, columns(sys.stderr)), file=sys.stderr)


def typed(question: str) -> str:
    """What the user types in answer to a question. Blocking."""
    print(wrapped(question.rstrip(), columns(sys.stderr)), end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def show(text: str) -> None:
    """Print a result on stdout."""
    print(wrapped(text, columns(sys.stdout)))


class _Held(io.StringIO):
    """What is printed, kept back; as wide and colourful as on the terminal that it is kept from."""

    def __init__(self, terminal: IO[str]) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._terminal.fileno()


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Print what the body prints; on a terminal that has too few lines for it by a pager, that of PAGER or `less`, as git does."""
    out = sys.stdout
    if not out.isatty():
        yield
        return
    held = _Held(out)
    with contextlib.redirect_stdout(held):
        yield
    text, pager = held.getvalue(), shlex.split(os.environ.get("PAGER") or "less")
    program = shutil.which(pager[0])
    if program is None or text.count("\n") < os.get_terminal_size(out.fileno()).lines:
        out.write(text)
        return
    done = subprocess.run([program, *pager[1:]], input=text.encode(), env={"LESS": "FRX", **os.environ}, check=False)  # noqa: S603 - what the user has set
    if done.returncode:
        out.write(text)
