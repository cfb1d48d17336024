"""Whether what the pages of a document print stands in its entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lorekeeper.entities import Entity
from lorekeeper.intake.data_packages import PAGES
from lorekeeper.normalize.printed_srd import documents, read_pages
from lorekeeper.normalize.printed_srd.layout import Paragraph
from lorekeeper.normalize.printed_srd.titles import is_title

FEWEST_WORDS = 7
"""Of a paragraph; shorter ones are titles, values and cells."""


def unread(edition: str) -> list[Paragraph]:
    """The paragraphs of a document, but titles and values, that no entry has; [] if the package of the pages is missing."""
    folder = PAGES.path(f"srd-{edition}")
    if folder is None:
        return []
    entries = [_Words(entity) for entity in read_pages(folder, edition).entities]
    return [
        each for each in documents.printed_paragraphs(folder, edition) if _is_text(each) and not _stands(each, entries)
    ]


class _Words:
    """The words of an entry."""

    def __init__(self, entity: Entity) -> None:
        self.text = f" {' '.join(map(_words, texts_in(entity.data)))} "
        self.words = set(self.text.split())


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif value is not None:
        yield str(value)


def _is_text(each: Paragraph) -> bool:
    is_other = documents.is_value_or_kind(each.text) or is_title(each.text.rpartition(": ")[2], len(each.text))
    return len(_words(each.text).split()) >= FEWEST_WORDS and not is_other


def _stands(each: Paragraph, entries: list[_Words]) -> bool:
    """Whether an entry has a paragraph: its words in their order, without the name with which it begins, or those of its cells."""
    phrases = [f" {words} " for text in (each.text, each.text.partition(". ")[2]) if (words := _words(text))]
    cells = set(_words(each.text).split()) if each.lines == 1 else set()
    return any(any(phrase in entry.text for phrase in phrases) or (cells and cells <= entry.words) for entry in entries)
