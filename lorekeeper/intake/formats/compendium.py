"""XML compendiums of Fight Club 5 and Game Master 5, which are read as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import ParseError

from lorekeeper.intake.formats.text_file import Entry, TextFile
from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.compendium import READERS, compendium

MAX_CHARS = 64 << 20
"""Longest file: reading it takes about ten times as much memory."""

_LOOKS_SO = re.compile(r"\ufeff?\s*<(?:\?xml|!--|compendium\b)", re.IGNORECASE)

_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")


def recognises(name: str, head: str) -> bool:
    """Whether a file is XML, by its name and by the beginning of its text."""
    return name.endswith(".xml") or _LOOKS_SO.match(head) is not None


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; what it lacks is reported by element."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    whole = file.whole(MAX_CHARS)
    if whole is None:
        return
    text = whole.lstrip("\ufeff")
    if declared := _DECLARATION.match(text):  # it names an encoding, and the text is decoded already
        text = text[declared.end() :]
    try:
        root = fromstring(text)
    except ParseError as error:
        line, column = error.position
        file.fail(f"not well-formed XML: {error.msg}", f"{file.path}:{line}:{column + 1}")
        return
    except DefusedXmlException:
        file.fail("it declares entities of its own, which can make a file explode; remove its DOCTYPE")
        return
    except RecursionError:
        file.fail("it is nested too deeply")
        return
    if not any(element.tag in READERS for element in root):
        known = ", ".join(READERS)
        file.fail(
            f"its root <{root.tag[:50]}> has no {known}: LoreKeeper reads compendiums of Fight Club 5 and Game Master 5"
        )
        return
    content = compendium(root, file.document or slugify(file.title) or "compendium", file.title)
    yield from file.entries(content, ": ")
