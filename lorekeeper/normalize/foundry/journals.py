"""Pages of journals as rules, and tables that are rolled on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.class_lists import class_of, is_level
from lorekeeper.normalize.foundry.enrich import page_text, table_text, to_markdown
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.values import Object, at, items, mapping, objects, paragraphs, text
from lorekeeper.normalize.foundry.words import spoken

MEDIA = frozenset({"image", "pdf", "video"})
"""Types of pages that show a file."""

SPELL_LIST = "spell-list"

_KINDS = {
    "text": "section",
    "spells": SPELL_LIST,
    "class": "class-guide",
    "subclass": "subclass-guide",
    "map": "location",
}
"""Kinds of pages that are not rules of a stated kind."""


_ONLY_A_TABLE = re.compile(
    r"(?:<p>)?@Embed\[([\w.-]{0,80}RollTable\.[A-Za-z0-9]{16})[^\[\]]{0,200}\](?:\{[^{}]{0,200}\})?(?:</p>)?"
)


def only_inserts_a_table(page: Object, scope: Scope) -> bool:
    """Whether a page has nothing but a table that is in the import, and so an entry by itself."""
    match = _ONLY_A_TABLE.fullmatch(str(at(page, "text.content") or "")[:500].strip())
    return match is not None and scope.index.document(match[1]) is not None


def kind_of(page: Object) -> str:
    """The kind of a page: "condition" of a rule of that kind, "section" of plain text."""
    kind = text(page, "type") or "text"
    stated = text(page, "system.type")
    if kind == "rule":
        return spoken(stated or "rule").replace(" ", "-")
    return _KINDS.get(kind, spoken(kind).replace(" ", "-"))


def page(raw: Object, scope: Scope) -> dict[str, object]:
    """A page: its text, with what class pages and spell lists have in other places."""
    system = mapping(raw, "system")
    blocks = [page_text(raw, scope)]
    description = system.get("description")
    blocks += [
        to_markdown(html, scope) for html in (items(description) if isinstance(description, dict) else [description])
    ]
    if text(raw, "type") in MEDIA:
        blocks.append(text(raw, "image.caption"))
    if text(raw, "type") == "spells":
        blocks.append(", ".join(sorted(spell_names(system, scope))))
    return without_empty({"desc": paragraphs(*blocks), "parent": scope.document.name})


def spell_uuids(system: Object) -> list[str]:
    """The references of a page that is a list of spells."""
    return [text(found) for found in items(system, "spells") if text(found)]


_TITLE = re.compile(r"<h[1-6][^<>]{0,200}>(.{1,100}?)</h[1-6]>")
_REFERENCE = re.compile(r"@(?:Compendium|UUID|Item)\[([\w.-]{1,200})\]")


def class_list(page: Object) -> tuple[str, list[str]]:
    """The class whose spells a page lists, and the references to them; "" for a page that lists none.

    It is a page of that type; before there were such, one called "Bard Spells" with titles of levels.
    """
    system = mapping(page, "system")
    if page.get("type") == "spells":
        return (text(system, "identifier"), spell_uuids(system)) if text(system, "type") in ("class", "") else ("", [])
    class_name, html = class_of(text(page, "name")), text(page, "text.content")
    if not class_name or not any(map(is_level, _TITLE.findall(html))):
        return "", []
    return class_name, _REFERENCE.findall(html)


def spell_names(system: Object, scope: Scope) -> Iterable[str]:
    """The names of the spells in a list, as far as they are in the import."""
    found = (scope.index.document(uuid) for uuid in spell_uuids(system))
    unlinked = (text(each, "name") for each in objects(system, "unlinkedSpells"))
    return {name for name in (*(document.name for document in found if document), *unlinked) if name}


def table(raw: Object, scope: Scope) -> dict[str, object]:
    """A table: its description, and the table itself, as Markdown and as data."""
    desc, found = table_text(raw, scope)
    return without_empty({"desc": desc, "table": found if found["rows"] else None})
