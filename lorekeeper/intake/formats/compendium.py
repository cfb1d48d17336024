"""XML compendiums of Fight Club 5 and Game Master 5, which are read as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from lorekeeper.intake.formats.text_file import Entry, TextFile, each_of
from lorekeeper.intake.json_stream import Window
from lorekeeper.normalize.compendium import READERS, ClassLists, compendium

MAX_CHARS = 64 << 20
"""Longest file: reading it takes about ten times as much memory."""

MAX_OTHER_CHARS = 512 << 20
"""Most characters of all files of an import in which lists of classes are looked for, one file after the other."""

OTHERS = {
    "collection": "list of compendiums",
    "source": "index of sources",
    "notes": "file of notes of Fight Club",
    "characters": "file of characters of players",
}
"""Root elements of files without lore."""

CAMPAIGN = (
    "a campaign of Game Master 5, which is not read: export its compendium as a file of Fight Club 5, or save "
    "its notes as Markdown and add their folder with 'lorekeeper vault add'"
)
READ = "LoreKeeper reads compendiums of Fight Club 5 and Game Master 5"

_LOOKS_SO = re.compile(r"\ufeff?\s*<(?:\?xml|!--|compendium\b)", re.IGNORECASE)

_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")


def recognises(name: str, head: str) -> bool:
    """Whether a file is XML, by its name and by the beginning of its text."""
    return name.endswith(".xml") or _LOOKS_SO.match(head) is not None


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; what it lacks is reported by element."""
    whole = file.whole(MAX_CHARS)
    if whole is None:
        return
    try:
        root = parsed(whole)
    except CompendiumError as error:
        file.fail(str(error), f"{file.path}{error.place}")
        return
    if not any(element.tag in READERS for element in root):
        if kind := "compendium without entries" if root.tag == "compendium" and not len(root) else OTHERS.get(root.tag):
            file.skip(kind)
        elif root.tag == "campaign" or root.find("campaign") is not None:
            file.fail(CAMPAIGN)
        else:
            file.fail(f"its root <{root.tag[:50]}> has no {', '.join(READERS)}: {READ}")
        return
    lists = file.all_files.once(_class_lists) or None
    content = compendium(root, *file.book("compendium"), lists)
    yield from file.entries(content, ": ")


class CompendiumError(ValueError):
    """A text is no XML that is read.

    Attributes:
        place: line and column, as they follow the path of a file; "" if there are none.
    """

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.place = place


def parsed(whole: str) -> Element:
    """The outermost element of a text; CompendiumError, with the reason, if it cannot be read."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    text = whole.lstrip("\ufeff")
    if declared := _DECLARATION.match(text):  # it names an encoding, and the text is decoded already
        text = text[declared.end() :]
    try:
        root: Element = fromstring(text)
    except ParseError as error:
        line, column = error.position
        raise CompendiumError(f"not well-formed XML: {error.msg}", f":{line}:{column + 1}") from error
    except DefusedXmlException as error:
        raise CompendiumError(
            "it declares entities of its own, which can make a file explode; remove its DOCTYPE"
        ) from error
    except RecursionError as error:
        raise CompendiumError("it is nested too deeply") from error
    return root


def _class_lists(paths: Sequence[Path]) -> ClassLists | None:
    """The lists of classes in all compendiums among some files; None for one file, which has its own.

    What cannot be read is reported where the file itself is imported.
    """
    lists, remaining = ClassLists(), MAX_OTHER_CHARS

    def take(_: Path, window: Window) -> None:
        nonlocal remaining
        text = window.rest(min(MAX_CHARS, max(remaining, 0)) + 1)
        remaining -= len(text)
        if remaining >= 0:
            lists.add(parsed(text))

    each_of(paths if len(paths) > 1 else (), recognises, take)
    return lists if len(paths) > 1 else None
