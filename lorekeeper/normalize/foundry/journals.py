"""Pages of journals as rules, and tables that are rolled on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorekeeper.normalize.class_lists import class_of, is_level
from lorekeeper.normalize.foundry.enrich import page_text, table_text, to_markdown
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.values import (
    Data,
    Object,
    items,
    mapping,
    objects,
    paragraphs,
    spoken,
    text,
    texts,
    word,
)

MEDIA = frozenset({"image", "pdf", "video"})
"""Types of pages that show a file."""

_ONLY_A_TABLE = re.compile(
    r"(?:<p>)?@Embed\[([\w.-]{0,80}RollTable\.[A-Za-z0-9]{16})[^\[\]]{0,200}\](?:\{[^{}]{0,200}\})?(?:</p>)?"
)


def only_inserts_a_table(page: Object, scope: Scope) -> bool:
    """Whether a page has nothing but a table that is in the import, and so an entry by itself."""
    match = _ONLY_A_TABLE.fullmatch(text(page, "text.content")[:500])
    return match is not None and scope.index.document(match[1]) is not None


def kind_of(page: Object) -> str:
    """The kind of a page: "condition" of a rule of that kind, "section" of plain text."""
    kind = text(page, "type") or "text"
    told = text(page, "system.type") or kind if kind == "rule" else word("pages", kind)
    return spoken(told).replace(" ", "-")


def page(raw: Object, scope: Scope) -> Data:
    """A page: its text, with what class pages and spell lists have in other places."""
    system, kind = mapping(raw, "system"), text(raw, "type")
    description = system.get("description")
    others = items(description) if isinstance(description, dict) else [description]
    blocks = [page_text(raw, scope), *(to_markdown(html, scope) for html in others)]
    blocks.append(text(raw, "image.caption") if kind in MEDIA else "")
    blocks.append(", ".join(sorted(spell_names(system, scope))) if kind == "spells" else "")
    return {"desc": paragraphs(*blocks), "parent": scope.document.name}


_TITLE = re.compile(r"<h[1-6][^<>]{0,200}>(.{1,100}?)</h[1-6]>")
_REFERENCE = re.compile(r"@(?:Compendium|UUID|Item)\[([\w.-]{1,200})\]")


def class_list(page: Object) -> tuple[str, list[str]]:
    """The class whose spells a page lists, and the references to them; "" for a page that lists none.

    It is a page of that type; before there were such, one called "Bard Spells" with titles of levels.
    """
    system, html = mapping(page, "system"), text(page, "text.content")
    if page.get("type") == "spells":
        is_of_class = text(system, "type") in ("class", "")
        return (text(system, "identifier"), texts(system, "spells")) if is_of_class else ("", [])
    class_name = class_of(text(page, "name"))
    has_levels = class_name and any(map(is_level, _TITLE.findall(html)))
    return (class_name, _REFERENCE.findall(html)) if has_levels else ("", [])


def spell_names(system: Object, scope: Scope) -> Iterable[str]:
    """The names of the spells in a list, as far as they are in the import."""
    found = (scope.index.document(uuid) for uuid in texts(system, "spells"))
    unlinked = (text(each, "name") for each in objects(system, "unlinkedSpells"))
    return {name for name in (*(document.name for document in found if document), *unlinked) if name}


def table(raw: Object, scope: Scope) -> Data:
    """A table: its description, and the table itself, as Markdown and as data."""
    desc, found = table_text(raw, scope)
    return {"desc": desc, "table": found if found["rows"] else None}
