"""What Foundry VTT puts in place of its marks in texts, as words: rolls, references, links and the texts of other pages."""

from __future__ import annotations

import re
from dataclasses import replace

from lorekeeper.normalize.foundry.marks import WORD, Scope, rolled
from lorekeeper.normalize.foundry.markup import text_of
from lorekeeper.normalize.foundry.values import (
    Object,
    at,
    items,
    mapping,
    objects,
    paragraphs,
    spoken,
    text,
    whole,
)
from lorekeeper.play.tables import TableData, as_markdown, numbered

MAX_DEPTH = 4
"""Most texts that are inserted into each other."""

ABSENT = "an entry that is not here"
"""What stands for a link without words to a document that is not in the import."""

INSERTION = 100
"""Characters that an insertion counts beside its text, so that there are not many thousands of them."""

MAX_INSERTED = 200_000
"""Most characters of other pages that are inserted into one entry."""

MAX_ROWS = 2_000

MARKDOWN = 2
"""The format of a page that is Markdown."""

_MARK = re.compile(
    r"\[\[(?P<roll>[^\[\]]{1,300}(?:\[[^\[\]]{0,100}\][^\[\]]{0,100})?)\]\](?:\{(?P<roll_label>[^{}\n]{0,300})\})?"
    r"|@(?P<kind>[A-Za-z]{2,20})\[(?P<target>[^\[\]\n]{1,300})\](?:\{(?P<label>[^{}\n]{0,300})\})?"
    r"|~def\[(?P<defined>[^\[\]\n]{1,100})\](?:\{(?P<defined_label>[^{}\n]{0,300})\})?"
    r"|&(?:amp;)?(?P<reference>referr?ence)\[(?P<term>[^\[\]\n]{1,200})\](?:\{(?P<term_label>[^{}\n]{0,300})\})?",
    re.IGNORECASE,
)
_BARE_HEADING = re.compile(r"^#{1,6} [^\n]*\n*(?=#{1,6} |\Z)", re.MULTILINE)


def to_markdown(html: object, scope: Scope) -> str:
    """A text in HTML as Markdown, its marks in words; what is secret is added to the scope's secrets."""
    found = text_of(html)
    if found.secret:
        scope.secrets.append(enriched(found.secret, replace(scope, secrets=[])))
    return enriched(found.open, scope)


def line(html: object, scope: Scope) -> str:
    """The same in one line."""
    return " ".join(to_markdown(html, scope).split())


def enriched(source: str, scope: Scope) -> str:
    """A text with words in place of its marks, without seams: double spaces and stops, headings that nothing follows."""
    if "[" not in source:
        return source
    parts: list[str] = []
    place = 0
    for match in _MARK.finditer(source):
        parts.append(source[place : match.start()])
        place = match.end()
        parts.append(_word(match, scope, "".join(parts[-1:])[-40:], source[place : place + 40]))
    told = re.sub(r"(?<=\S) {2,}", " ", "".join([*parts, source[place:]]))
    told = re.sub(r"(:\*{0,2}) ?,", r"\1", told.replace("to hit to hit", "to hit").replace("ft..", "ft."))
    return _BARE_HEADING.sub("", told).strip() if "#" in told else told


def _word(match: re.Match[str], scope: Scope, before: str, after: str) -> str:
    if defined := match["defined"]:
        return match["defined_label"] or defined.partition("|")[2] or defined
    if match["reference"]:
        return match["term_label"] or _term(match["term"])
    if match["kind"]:
        return _linked(match["kind"].lower(), match["target"], match["label"] or "", scope)
    roll, label = match["roll"], match["roll_label"] or ""
    if "[[" in label and not roll.startswith(("/", "lookup")):
        return ""  # a button that rolls what the text says already
    found = rolled(roll.strip(), scope, before, after)
    if label and (found is None or not roll.lstrip().startswith("lookup")):
        return enriched(label, scope) if "[[" in label else label
    if not found or (len(found) > INSERTION and not scope.may_insert(len(found), MAX_INSERTED)):
        return ""
    inserts = "[" in found and len(scope.within) < MAX_DEPTH
    return enriched(found, replace(scope, within=(*scope.within, roll))) if inserts else found


def _term(term: str) -> str:
    """The rule that a reference names: "invisible" of ``invisible apply=false``, "difficult terrain" of ``difficultTerrain``."""
    found = WORD.findall(term)
    named = next((each.partition("=")[2].strip('"') for each in found if "=" in each), "")
    name = " ".join(each for each in found if "=" not in each) or named
    return spoken(name) if re.search(r"[a-z][A-Z]", name) else name


# --- links ----------------------------------------------------------------------------------------------------------


def _linked(kind: str, target: str, label: str, scope: Scope) -> str:
    if kind == "embed":
        return _embedded(target, label, scope)
    if label:
        return enriched(label, scope) if "[[" in label else label
    uuid = target.strip()
    page = scope.index.page(uuid) if "JournalEntryPage" in uuid else None
    document = scope.index.document(uuid)
    if found := scope.item(uuid) or (page[1] if page else None) or (document.raw if document else None):
        return text(found, "name")
    is_id = kind in ("uuid", "compendium") or re.fullmatch(r"[\w.]*[A-Za-z0-9]{16}", uuid)
    return ABSENT if is_id else uuid


def _embedded(target: str, label: str, scope: Scope) -> str:
    """The text of the document that is inserted, behind its label; the label alone if it is not in the import."""
    uuid, *options = target.split()
    if "hide-in-embed" in target:
        return ""
    key = f"{scope.document.id}{uuid}" if uuid.startswith(".") else uuid
    if key in scope.within or len(scope.within) >= MAX_DEPTH or not scope.may_insert(INSERTION, MAX_INSERTED):
        return label
    if uuid.startswith(".Advancement."):
        name, body = "", _hint(uuid.rpartition(".")[2], scope)
    else:
        name, body = _body(uuid, replace(scope, within=(*scope.within, key)))
        scope.may_insert(len(body), MAX_INSERTED)
    shows_name = not label and "inline" not in options and "caption=false" not in options
    label = label or (name if shows_name else "")
    if not label or not body:
        return body or label
    separator = "\n\n" if body.startswith(("#", "|", "- ")) else " "
    return f"**{label.rstrip('.')}.**{separator}{body}"


def _hint(identifier: str, scope: Scope) -> str:
    """What an advancement of the same item says of itself."""
    advancement = scope.document.system.get("advancement")
    found = mapping(advancement).get(identifier)
    found = found or next((a for a in objects(advancement) if a.get("_id") == identifier), None)
    return " ".join(text_of(at(found, "hint")).open.split())


def _body(uuid: str, scope: Scope) -> tuple[str, str]:
    """Name and text of a page, an item or a table; ("", "") if it is not in the import."""
    if uuid.startswith("."):
        page = next((page for page in scope.document.pages if text(page, "_id") == uuid.lstrip(".")), None)
        item = None if page else scope.item(uuid)
        if page:
            return text(page, "name"), page_text(page, replace(scope, page=text(page, "_id")))
        return (text(item, "name"), described(scope.of_item(item))) if item else ("", "")
    if "JournalEntryPage" in uuid:
        found = scope.index.page(uuid)
        return (text(found[1], "name"), page_text(found[1], replace(scope, document=found[0]))) if found else ("", "")
    document, body = scope.index.document(uuid), ""
    if document and document.collection == "tables":
        body = table_text(document.raw, scope)[0]
    elif document and document.collection in ("items", "journal"):
        inner = scope.of(document)
        body = paragraphs(*(page_text(page, inner) for page in document.pages[:20])) or described(inner)
    return (document.name if document else ""), body


def page_text(page: Object, scope: Scope) -> str:
    """The text of a page of a journal."""
    said = mapping(page, "text")
    if scope.within and len(str(said.get("content") or "")) > MAX_INSERTED:
        return ""
    source = said.get("markdown")
    if said.get("format") == MARKDOWN and isinstance(source, str):
        return enriched(source.strip(), scope)
    return to_markdown(said.get("content"), scope)


def described(scope: Scope) -> str:
    """The description of an item."""
    description = scope.system.get("description")
    return to_markdown(at(description, "value") if isinstance(description, dict) else description, scope)


# --- tables that are rolled on ---------------------------------------------------------------------------------------


def table_text(raw: Object, scope: Scope) -> tuple[str, TableData]:
    """A table: its description above it as Markdown, and the table itself, without rows that lack a range or a text."""
    results = sorted(objects(raw, "results"), key=lambda result: (_range(result) or [0, 0])[0])[:MAX_ROWS]
    told = [(ends, body) for result in results if (ends := _range(result)) and (body := _result(result, scope))]
    found: TableData = {
        "columns": ["Result"],
        "rows": [[body] for _, body in told],
        "ranges": [ends for ends, _ in told],
    }
    if dice := text(raw, "formula"):
        found["dice"] = f"1{dice}" if dice.startswith("d") else dice
    rows = as_markdown(numbered(found)) if told else ""
    return paragraphs(to_markdown(raw.get("description"), scope), rows), found


def _range(result: Object) -> list[int] | None:
    first, last = (*map(whole, items(result, "range")[:2]), None, None)[:2]
    return [first, last] if first is not None and last is not None and first <= last else None


def _result(result: Object, scope: Scope) -> str:
    """What a row says: its text, the name in front of it, or the document that it means."""
    body, name = line(result.get("description") or result.get("text"), scope), text(result, "name")
    if name and body and name.lower() not in body.lower():
        return f"**{name}.** {body}"
    uuid = text(result, "documentUuid", "documentId", "resultId")
    document = scope.index.document(uuid, text(result, "documentCollection").rpartition(".")[2]) if uuid else None
    return body or name or (document.name if document else "")
