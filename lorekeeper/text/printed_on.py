"""The page of a printed book on which a text stands, as the book numbers it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.text.sections import full_text

PDF = "pdf"
"""``Entity.source_api`` of what was read from the pages of a PDF."""

LOOKED_FOR = 40
"""Characters of a passage by which it is found in the text of its entry."""

_PAGE = re.compile(r"(?:pp?\.?|pages?) ?(\S{1,12})", re.IGNORECASE)


def page_of(entity: Entity, passage: str = "") -> str:
    """The page on which an entry, or a passage of it, begins; "" for an entry that was not read from a PDF."""
    if entity.source_api != PDF:
        return ""
    starts = _starts(entity)
    if passage and starts:
        text, sought = _text(entity), fold(passage)
        whole = fold(text)
        pieces = (sought[at : at + LOOKED_FOR] for at in range(0, max(len(sought) - LOOKED_FOR // 2, 1), LOOKED_FOR))
        at = next((found for piece in pieces if (found := whole.find(piece)) >= 0), -1)
        if at >= 0:
            return [page for page, start in starts if not start or len(fold(text[:start])) <= at + 1][-1]
    return str(entity.data.get("page") or "")


def pages_of(entity: Entity) -> list[str]:
    """All pages on which an entry stands."""
    return [page for page, _ in _starts(entity)] or list(filter(None, [page_of(entity)]))


def with_page(title: str, page: str) -> str:
    """The title of a document with a page of it: "p. 87 of The Peat Marches"."""
    return f"p. {page} of {title}" if page else title


def page_asked(section: str) -> str:
    """The page that a section such as "p. 87" is; "" for any other."""
    found = _PAGE.fullmatch(section.strip())
    return found[1] if found else ""


def text_on(entity: Entity, page: str) -> str:
    """What an entry has on a page; "" if it has nothing there."""
    starts, text = _starts(entity), _text(entity)
    if not starts:
        return (text or entity.name) if page == page_of(entity) else ""
    ends = [start for _, start in starts[1:]] + [len(text)]
    return "".join(text[start:end] for (own, start), end in zip(starts, ends, strict=True) if own == page).strip()


def _text(entity: Entity) -> str:
    """The text of an entry in which pages begin: a section has it as it is, a printed entry in parts."""
    return str(entity.data.get("desc") or "") if entity.type == "rules" else full_text(entity)


def _starts(entity: Entity) -> Sequence[tuple[str, int]]:
    """The pages of an entry that stands on several, each with the place in its text where it begins."""
    pages = entity.data.get("pages")
    return [(str(page), int(start)) for page, start in pages] if isinstance(pages, (list, tuple)) else []
