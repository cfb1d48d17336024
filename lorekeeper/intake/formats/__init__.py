"""The file formats that can be imported. To add one, write its reader in a module here, and its line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.intake.formats import compendium, fivebits, fivetools, foundry, json, markdown, orcbrew, pdf, statblocks
from lorekeeper.intake.formats.text_file import HEAD_CHARS as HEAD_CHARS
from lorekeeper.intake.formats.text_file import Found, Recognises, TextFile, UnknownFormatError
from lorekeeper.normalize import unsupported_formats


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes:
        name: in the plural, for people.
        suffixes: of the files that are read in a folder; each may be followed by ".gz".
        recognises: whether a file is of this format.
        read: gives the entities of a file and reports its problems. ValueError or OSError end the reading of the file.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Recognises
    read: Callable[[TextFile], Iterator[Found]]


FORMATS = (
    Format("books as PDF", pdf.SUFFIXES, pdf.recognises, pdf.read),
    Format("OrcBrew packs", (".orcbrew",), orcbrew.recognises, orcbrew.read),
    Format("compendiums of Fight Club 5", (".xml",), compendium.recognises, compendium.read),
    Format("data of 5e-bits", fivebits.SUFFIXES, fivebits.recognises, fivebits.read),
    Format("5etools homebrew", (".json",), fivetools.recognises, fivetools.read),
    Format(foundry.NAME, foundry.SUFFIXES, foundry.recognises, foundry.read),
    Format("bestiaries of Fantasy Statblocks", statblocks.SUFFIXES, statblocks.recognises, statblocks.read),
    Format("books in Markdown", markdown.SUFFIXES, markdown.recognises, markdown.read),
    Format("JSON, JSON lines", (".json", ".jsonl", ".ndjson"), json.recognises, json.read),
)
"""Every format; the first one that recognises a file reads it."""

SUFFIXES = tuple(
    suffix + packed for file_format in FORMATS for suffix in file_format.suffixes for packed in ("", ".gz")
)


def format_of(path: Path, head: str) -> Format:
    """The format of a file that begins with ``head``.

    Raises:
        UnknownFormatError: no format matches.
        ValueError: it is a file of another program; the message says which, and what to do.
    """
    if not head.startswith(fivebits.DATABASE) and (reason := unsupported_formats.of_beginning(head)):
        raise ValueError(f"this is {reason}")
    name = path.name.lower().removesuffix(".gz")
    for file_format in FORMATS:
        if file_format.recognises(name, head):
            return file_format
    raise UnknownFormatError(name)


def supported(*, markdown: bool) -> str:
    """What can be imported, for messages; ``markdown``: the file may be a Markdown note."""
    *names, last = (file_format.name for file_format in reversed(FORMATS))
    notes = "; 'lorekeeper vault add FOLDER' adds a folder of Markdown notes" if markdown else ""
    return f"LoreKeeper reads {', '.join(names)} and {last}, each also gzipped{notes}"
