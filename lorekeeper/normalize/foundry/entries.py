"""Documents of Foundry VTT to entities of the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lorekeeper.audience import DM, GM_PART, PLAYERS, Audience, listed
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.normalize import characters as records
from lorekeeper.normalize.build import Origin, build, own_error, slugify
from lorekeeper.normalize.foundry import books, characters, items, journals, npcs, options, spells, visible
from lorekeeper.normalize.foundry.documents import OF_PLAYERS, Document, Index, system_of
from lorekeeper.normalize.foundry.enrich import line
from lorekeeper.normalize.foundry.fields import SOURCE, fields_of
from lorekeeper.normalize.foundry.markup import line_of, text_of
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.sheets import NOBODY, Sheet
from lorekeeper.normalize.foundry.values import mapping, objects, paragraphs, text
from lorekeeper.normalize.foundry.words import spoken

MAX_SLUG = 100


@dataclass(frozen=True)
class Found:
    """An entity, or a problem.

    Attributes:
        where: file, and place in it.
        entity: None for a problem.
        reason: of a problem.
        is_failure: whether something cannot be imported; otherwise it was imported in part.
    """

    where: str
    entity: Entity | None = None
    reason: str = ""
    is_failure: bool = True


@dataclass(frozen=True)
class Shaped:
    """An entry before it is an entity.

    Attributes:
        type, kind, name: of the entry.
        data: in the shape of Open5e.
        key: what its slug is made from.
        audience: who may see it.
        context: told apart by this from another entry with the same key.
        unique: told apart by this from any other.
    """

    type: str
    kind: str
    name: str
    data: dict[str, Any]
    key: str
    audience: Audience = PLAYERS
    context: str = ""
    unique: str = ""


_PACK_OF_2024 = re.compile(r"[a-z]24$")
"""How dnd5e names its packs for the rules of 2024: ``content24``."""


class Importer:
    """Makes entities of the documents of one import.

    Args:
        found: all documents of the import, to which references may lead.
    """

    def __init__(self, found: Iterable[Document]) -> None:
        documents = list(found)
        self._index = Index.of(documents)
        self._classes = _classes_of_spells(documents)
        self._owned = {_file(d) for d in documents if visible.says_something(d)}
        """The files in which ownership means something."""
        self._books: dict[str, books.Book] = {}
        for document in documents:
            book = self._book(document)
            self._books.setdefault(book.key, book).licenses.update(book.licenses)
        self._told: set[str] = set()
        """Keys of the books whose own entries have been given."""
        self._slugs: dict[tuple[str, str, str], str] = {}
        """For each type, document and slug what has it."""

    def entities(self, documents: Sequence[Document], key: str | None = None) -> Iterator[Found]:
        """The entities and problems of some documents of the import.

        Args:
            documents: of one file.
            key: of the library's document to assign all entries to; that of their books by default.
        """
        for document in documents:
            if document.collection == "folders":
                continue
            try:
                with own_error():
                    yield from self._of(document, key)
            except FilterError as error:
                yield Found(document.where, reason=f"{_what(document)}: {error}")

    def _of(self, document: Document, key: str | None) -> Iterator[Found]:
        if not document.name:
            raise FilterError("it has no name")
        book = self._books[self._book(document).key]
        for shaped in self._shaped(document):
            if isinstance(shaped, Found):
                yield shaped
                continue
            if shaped.type == "characters":
                yield from self._built(
                    shaped, document, replace(book, key=records.DOCUMENT, name=records.DOCUMENT_NAME), key
                )
                continue
            if key is None and book.key not in self._told:
                self._told.add(book.key)
                yield Found(document.where, _entity_of(book))
            yield from self._built(shaped, document, book, key)

    def _book(self, document: Document) -> books.Book:
        system = system_of(document.raw)
        rules = books.rules_of(document.raw, system)
        if not rules and system == "dnd5e" and document.collection in ("journal", "tables"):
            rules = "2024" if any(map(_PACK_OF_2024.search, document.packs)) else ""
        return books.book_of(document.raw, system, rules)

    # shaping

    def _shaped(self, document: Document) -> Iterator[Shaped | Found]:
        if document.collection == "journal":
            yield from self._pages(document)
            return
        scope = self._scope(document)
        name = _name_of(document, scope)
        if document.collection == "tables":
            data = journals.table(document.raw, scope)
            yield self._finished(Shaped("rules", "table", name, data, name), document, scope)
            if "table" not in data:
                yield Found(
                    document.where, reason=f"{_what(document)}: it has no results with a range", is_failure=False
                )
            return
        shape = SHAPES.get(document.type, _unknown)
        if not document.system and shape is not _item:
            raise FilterError("'system' is empty")
        for shaped in shape(document, scope, name, self):
            yield shaped if isinstance(shaped, Found) else self._finished(shaped, document, scope)

    def _scope(self, document: Document) -> Scope:
        system = system_of(document.raw)
        rules = books.rules_of(document.raw, system)
        is_actor = document.collection == "actors"
        sheet = Sheet.of(line_of(document.name), document.system, rules) if is_actor else NOBODY
        return Scope(self._index, document, Doer(document.raw, sheet, rules, system))

    def _finished(self, shaped: Shaped, document: Document, scope: Scope) -> Shaped:
        """An entry with its source, its folders as tags, and what is for the game master only."""
        key = text(document.system, "identifier", "identifier.value")
        data = {"name": shaped.name, **shaped.data}
        folders = self._index.folders(document)
        if folders:
            data["tags"] = folders
        data["source"] = {"id": document.id, "page": books.page_of(document.raw), "system": system_of(document.raw)}
        secret = paragraphs(*scope.secrets)
        if secret:
            data[GM_PART] = secret
        who = visible.audience(document.raw) if _file(document) in self._owned else PLAYERS
        own = shaped.audience if shaped.audience != PLAYERS else who
        return replace(
            shaped,
            data=data,
            audience=own,
            key=key if shaped.key == shaped.name and key else shaped.key,
            context=shaped.context or shaped.kind,
            unique=document.id,
        )

    def _pages(self, document: Document) -> Iterator[Shaped | Found]:
        owned = _file(document) in self._owned
        for page in objects(document.raw, "pages"):
            scope = replace(self._scope(document), page=text(page, "_id"))
            if journals.only_inserts_a_table(page, scope):
                continue
            name = line(page.get("name"), scope) or document.name
            data = {"name": name, **journals.page(page, scope)}
            if "desc" not in data and not scope.secrets:
                continue
            secrets: list[str] = [*scope.secrets]
            who = visible.audience(page, within=document.raw) if owned else PLAYERS
            if owned and who == DM and visible.is_limited(page, document.raw):
                secrets, who = [str(data.pop("desc", "")), *secrets], PLAYERS
            folders = self._index.folders(document)
            data |= {"tags": folders} if folders else {}
            data |= {GM_PART: paragraphs(*secrets)} if any(secrets) else {}
            data["source"] = {"id": f"{document.id}.{text(page, '_id')}", "system": system_of(document.raw)}
            unique = f"{document.id}-{text(page, '_id')}"
            yield Shaped("rules", journals.kind_of(page), name, data, name, who, document.name, unique)

    # building

    def _built(self, shaped: Shaped, document: Document, book: books.Book, key: str | None) -> Iterator[Found]:
        library_key = key or book.key
        data = {**shaped.data, "document": {"key": library_key, "name": book.name, "gamesystem": book.game}}
        fields: dict[str, Any] = {}
        for name, value in fields_of(shaped.type, shaped.kind, data).items():
            try:
                fields |= clean_fields(shaped.type, {name: value}) if name in COLLECTIONS[shaped.type].filters else {}
            except FilterError as error:
                yield Found(document.where, reason=f"{_what(document)}: {error}; left out", is_failure=False)
        fields[AUDIENCE] = listed([shaped.audience, *([DM] if GM_PART in data else [])]) or None
        yield Found(
            document.where,
            build(
                shaped.type,
                data,
                Origin(SOURCE, library_key, book.name),
                name=shaped.name,
                kind=shaped.kind,
                slug=self._slug(shaped, library_key),
                fields=fields,
            ),
        )

    def _slug(self, shaped: Shaped, key: str) -> str:
        """A slug that no other entry of the import has in its document."""
        own = slugify(shaped.key)[:MAX_SLUG].strip("-") or slugify(shaped.unique) or shaped.kind
        longer = f"{own}-{slugify(shaped.context)[:MAX_SLUG]}".strip("-")
        for slug in (own, longer, f"{own}-{slugify(shaped.unique)}"):
            if self._slugs.setdefault((shaped.type, key, slug), shaped.unique or shaped.name) == (
                shaped.unique or shaped.name
            ):
                return slug
        return longer

    def classes_with(self, document: Document) -> list[str]:
        """The classes whose spell list has a spell."""
        return sorted(self._classes.get(document.id, ()))


def _file(document: Document) -> str:
    """The file that a document is in."""
    return re.sub(r"(:\d+|\[\d+\])$", "", document.where)


def _what(document: Document) -> str:
    kind = document.type or {"journal": "journal", "tables": "table"}.get(document.collection, document.collection)
    return f"{kind} {document.name[:60]!r}" if document.name else f"{kind} {document.id[:40]}".strip()


def _name_of(document: Document, scope: Scope) -> str:
    """The name in plain text; of a name that is only markup, its type and id."""
    return line(document.name, scope) or f"{spoken(document.type).capitalize()} {document.id}".strip()


def _entity_of(book: books.Book) -> Entity:
    data = book.data()
    return build(
        "documents",
        data,
        Origin(SOURCE, book.key, book.name),
        name=book.name,
        kind="document",
        slug=book.key,
        fields=fields_of("documents", "document", data),
    )


def _classes_of_spells(documents: Iterable[Document]) -> dict[str, set[str]]:
    """The classes of spells by their ids, from pages that are spell lists of classes."""
    found: dict[str, set[str]] = {}
    for document in documents:
        for page in objects(document.raw, "pages"):
            class_name, references = journals.class_list(page)
            for reference in references if class_name else ():
                found.setdefault(reference.rpartition(".")[2], set()).add(class_name)
    return found


# --- shapes ---------------------------------------------------------------------------------------------------------

Shaper = Callable[[Document, Scope, str, Importer], "Iterator[Shaped | Found]"]


def _spell(document: Document, scope: Scope, name: str, importer: Importer) -> Iterator[Shaped | Found]:
    data = spells.spell(document.raw, scope, importer.classes_with(document))
    yield Shaped("spells", "spell", name, data, name)


def _creature(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    yield Shaped("creatures", "creature", name, npcs.creature(document.raw, scope), name)


def _vehicle(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    yield Shaped("equipment", "gear", name, npcs.vehicle(document.raw, scope), name)


def _lair(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    yield Shaped("rules", "lair", name, npcs.lair(document.raw, scope), name)


def _character(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    made = characters.character(document.raw, scope, name)
    data = records.completed(made.as_data())
    shared = visible.audience(document.raw) == PLAYERS and not document.in_pack
    who: Audience = PLAYERS if shared else records.audience_of(data, name)
    yield Shaped("characters", made.kind, name, data, name, who)


def _group(document: Document, *_: object) -> Iterator[Shaped | Found]:
    reason = f"{_what(document)}: it only lists other actors, and was left out"
    yield Found(document.where, reason=reason, is_failure=False)


def _item(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    kind = items.kind_of(document.raw)
    if document.system.get("identified") is False:
        yield from _unidentified(document, scope, name, kind)
        return
    yield Shaped("equipment", kind, name, items.item(document.raw, scope), name)


def _unidentified(document: Document, scope: Scope, name: str, kind: str) -> Iterator[Shaped | Found]:
    """Two entries: what the item is, for the game master, and what everybody sees of it."""
    outside = mapping(document.system, "unidentified")
    seen_as = line_of(outside.get("name")) or f"Unidentified {spoken(document.type)}"
    yield Shaped("equipment", kind, name, {**items.item(document.raw, scope), "seen_as": seen_as}, name, DM)
    scope.secrets[:] = [f"It is {name}."]
    desc = text_of(outside.get("description")).open
    yield Shaped("equipment", "gear", seen_as, {"desc": desc} if desc else {}, f"{seen_as} (unidentified)", PLAYERS)


def _class(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    data, missing = options.character_class(document.raw, scope)
    yield Shaped("character_options", document.type, name, data, name)
    if missing:
        reason = f"{_what(document)}: {missing} of its features are in packs that are not in this import; import these together"
        yield Found(document.where, reason=reason, is_failure=False)


def _species(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    kind = "subrace" if options.parent_of(document.raw) else "race"
    yield Shaped("character_options", kind, name, options.species(document.raw, scope), name)


def _background(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    yield Shaped("character_options", "background", name, options.background(document.raw, scope), name)


def _feat(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    if options.is_feat(document.raw):
        yield Shaped("character_options", "feat", name, options.feat(document.raw, scope), name)
    else:
        yield Shaped("rules", "feature", name, options.feature(document.raw, scope), name)


def _talent(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    yield Shaped("character_options", "feat", name, options.feat(document.raw, scope), name)


def _feature(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    data = options.feature(document.raw, scope)
    yield Shaped("rules", "feature", name, data, name, context=text(data, "parent"))


def _unknown(document: Document, scope: Scope, name: str, _: Importer) -> Iterator[Shaped | Found]:
    """A document of a type that a module has added: its text is kept."""
    data = options.feature(document.raw, scope)
    if "desc" not in data:
        raise FilterError(f"the type {document.type[:40]!r} is not known, and it has no text")
    yield Shaped("rules", slugify(document.type.rpartition(".")[2]) or "entry", name, data, name)
    reason = (
        f"{_what(document)}: the type {document.type[:40]!r} is unknown; its text was stored as an entry of type rules"
    )
    yield Found(document.where, reason=reason, is_failure=False)


SHAPES: dict[str, Shaper] = {
    "spell": _spell,
    "npc": _creature,
    "vehicle": _vehicle,
    "lair": _lair,
    **dict.fromkeys(OF_PLAYERS, _character),
    **dict.fromkeys(("group", "encounter"), _group),
    **dict.fromkeys(("weapon", "equipment", "consumable", "tool", "loot", "container", "backpack"), _item),
    **dict.fromkeys(("gear", "armor", "sundry", "ammunition"), _item),
    **dict.fromkeys(("class", "subclass"), _class),
    **dict.fromkeys(("race", "species", "lineage", "heritage"), _species),
    "background": _background,
    "feat": _feat,
    "talent": _talent,
    "feature": _feature,
}
"""How a document of each type becomes entries."""
