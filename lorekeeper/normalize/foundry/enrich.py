"""What Foundry VTT puts in place of its marks in texts, as words: rolls, references, links and the texts of other pages."""

from __future__ import annotations

import re
from dataclasses import replace

from lorekeeper.normalize.foundry.enrichers import WORD, rolled
from lorekeeper.normalize.foundry.markup import text_of
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.tables import table_of
from lorekeeper.normalize.foundry.values import Object, at, mapping, objects, paragraphs, text
from lorekeeper.normalize.foundry.words import spoken
from lorekeeper.rolling.tables import TableData, as_markdown, numbered

MAX_DEPTH = 4
"""Most texts that are inserted into each other."""

ABSENT = "an entry that is not here"
"""What stands for a link without words to a document that is not in the import."""

INSERTION = 100
"""Characters that an insertion counts beside its text, so that there are not many thousands of them."""

MAX_INSERTED = 200_000
"""Most characters of other pages that are inserted into one entry."""

_MARK = re.compile(
    r"\[\[(?P<roll>[^\[\]]{1,300}(?:\[[^\[\]]{0,100}\][^\[\]]{0,100})?)\]\](?:\{(?P<roll_label>[^{}\n]{0,300})\})?"
    r"|@(?P<kind>[A-Za-z]{2,20})\[(?P<target>[^\[\]\n]{1,300})\](?:\{(?P<label>[^{}\n]{0,300})\})?"
    r"|~def\[(?P<defined>[^\[\]\n]{1,100})\](?:\{(?P<defined_label>[^{}\n]{0,300})\})?"
    r"|&(?:amp;)?(?P<reference>referr?ence)\[(?P<term>[^\[\]\n]{1,200})\](?:\{(?P<term_label>[^{}\n]{0,300})\})?",
    re.IGNORECASE,
)


def to_markdown(html: object, scope: Scope) -> str:
    """A text in HTML as Markdown, its marks in words; what is secret is added to the scope's secrets."""
    found = text_of(html)
    if found.secret:
        scope.secrets.append(enriched(found.secret, replace(scope, secrets=[])))
    return enriched(found.open, scope)


def markdown(source: object, scope: Scope) -> str:
    """The same of a text that is Markdown already."""
    return enriched(source.strip(), scope) if isinstance(source, str) else ""


def line(html: object, scope: Scope) -> str:
    """The same in one line."""
    return " ".join(to_markdown(html, scope).split())


def enriched(source: str, scope: Scope) -> str:
    """A text with words in place of its marks."""
    if "[" not in source:
        return source
    parts: list[str] = []
    at_ = 0
    for match in _MARK.finditer(source):
        parts.append(source[at_ : match.start()])
        at_ = match.end()
        parts.append(_word(match, scope, "".join(parts[-1:])[-40:], source[at_ : at_ + 40]))
    return _smooth("".join([*parts, source[at_:]]))


_BARE_HEADING = re.compile(r"^#{1,6} [^\n]*\n*(?=#{1,6} |\Z)", re.MULTILINE)


def _smooth(text_: str) -> str:
    """A text without the seams of what was put into it: double spaces and stops, headings that nothing follows."""
    text_ = re.sub(r"(?<=\S) {2,}", " ", text_).replace("to hit to hit", "to hit").replace("ft..", "ft.")
    text_ = re.sub(r"(:\*{0,2}) ?,", r"\1", text_)
    return _BARE_HEADING.sub("", text_).strip() if "#" in text_ else text_


def _word(match: re.Match[str], scope: Scope, before: str, after: str) -> str:
    if match["defined"]:
        return match["defined_label"] or match["defined"].partition("|")[2] or match["defined"]
    if match["reference"]:
        return match["term_label"] or _term(match["term"])
    if match["kind"]:
        return _linked(match["kind"].lower(), match["target"], match["label"] or "", scope)
    label = match["roll_label"] or ""
    if "[[" in label and not match["roll"].startswith(("/", "lookup")):
        return ""  # a button that rolls what the text says already
    found = rolled(match["roll"].strip(), scope, before, after)
    if label and (found is None or not match["roll"].lstrip().startswith("lookup")):
        return enriched(label, scope) if "[[" in label else label
    if found and len(found) > INSERTION and not scope.may_insert(len(found), MAX_INSERTED):
        return ""
    if found and "[" in found and len(scope.within) < MAX_DEPTH:
        return enriched(found, replace(scope, within=(*scope.within, match["roll"])))
    return found or ""


def _term(term: str) -> str:
    """The rule that a reference names: "invisible" of ``invisible apply=false``."""
    words = [word for word in WORD.findall(term) if "=" not in word]
    named = next((word.partition("=")[2].strip('"') for word in WORD.findall(term) if "=" in word), "")
    return spoken_name(" ".join(words) or named)


def spoken_name(name: str) -> str:
    """A name as it is, or the words of a key: "difficult terrain" of ``difficultTerrain``."""
    return spoken(name) if re.search(r"[a-z][A-Z]", name) else name


# --- links ----------------------------------------------------------------------------------------------------------


def _linked(kind: str, target: str, label: str, scope: Scope) -> str:
    if kind == "embed":
        return _embedded(target, label, scope)
    if label:
        return enriched(label, scope) if "[[" in label else label
    uuid = target.strip()
    item = scope.item(uuid)
    if item:
        return text(item, "name")
    page = scope.index.page(uuid) if "JournalEntryPage" in uuid else None
    if page:
        return text(page[1], "name")
    document = scope.index.document(uuid)
    if document:
        return document.name
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
    inner = replace(scope, within=(*scope.within, key))
    if uuid.startswith(".Advancement."):
        return _lead(label, _hint(uuid.rpartition(".")[2], scope))
    name, body = _body(uuid, inner)
    scope.may_insert(len(body), MAX_INSERTED)
    shows_name = not label and "inline" not in options and "caption=false" not in options
    return _lead(label or (name if shows_name else ""), body)


def _lead(label: str, body: str) -> str:
    """A text behind its name in bold; the name alone without one."""
    if not label or not body:
        return body or label
    separator = "\n\n" if body.startswith(("#", "|", "- ")) else " "
    return f"**{label.rstrip('.')}.**{separator}{body}"


def _hint(identifier: str, scope: Scope) -> str:
    """What an advancement of the same item says of itself."""
    advancement = scope.document.system.get("advancement")
    found = mapping(advancement).get(identifier) if isinstance(advancement, dict) else None
    found = found or next((a for a in objects(advancement) if a.get("_id") == identifier), None)
    return " ".join(text_of(at(found, "hint")).open.split())


def _body(uuid: str, scope: Scope) -> tuple[str, str]:
    """Name and text of a page, an item or a table; ("", "") if it is not in the import."""
    if uuid.startswith("."):
        pages = objects(scope.document.raw, "pages")
        page = next((p for p in pages if text(p, "_id") == uuid.lstrip(".")), None)
        if page:
            return text(page, "name"), page_text(page, replace(scope, page=text(page, "_id")))
        item = scope.item(uuid)
        return (text(item, "name"), described(item, scope.of_item(item))) if item else ("", "")
    if "JournalEntryPage" in uuid:
        found = scope.index.page(uuid)
        if not found:
            return "", ""
        journal, page = found
        return text(page, "name"), page_text(page, replace(scope, document=journal))
    document = scope.index.document(uuid)
    if document and document.collection == "tables":
        return document.name, table_text(document.raw, scope)[0]
    if document is None or document.collection not in ("items", "journal"):
        return (document.name if document else ""), ""
    inner = replace(scope, document=document, doer=replace(scope.doer, item=document.raw))
    pages = objects(document.raw, "pages")
    body = paragraphs(*(page_text(page, inner) for page in pages[:20]))
    return document.name, body or described(document.raw, inner)


def table_text(raw: Object, scope: Scope) -> tuple[str, TableData]:
    """A table that is rolled on: its description above it as Markdown, and the table itself."""
    found = table_of(raw, scope.index, lambda html: line(html, scope))
    rolled_on = as_markdown(numbered(found)) if found["rows"] else ""
    return paragraphs(to_markdown(raw.get("description"), scope), rolled_on), found


def page_text(page: Object, scope: Scope) -> str:
    """The text of a page of a journal."""
    said = mapping(page, "text")
    if scope.within and len(str(said.get("content") or "")) > MAX_INSERTED:
        return ""
    if said.get("format") == MARKDOWN and isinstance(said.get("markdown"), str):
        return markdown(said["markdown"], scope)
    return to_markdown(said.get("content"), scope)


MARKDOWN = 2
"""The format of a page that is Markdown."""


def described(item: Object, scope: Scope) -> str:
    """The description of an item."""
    system = mapping(item, "system")
    description = system.get("description")
    return to_markdown(at(description, "value") if isinstance(description, dict) else description, scope)
