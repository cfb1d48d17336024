"""Documents of Foundry VTT to entities of the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lorekeeper.audience import DM, GM_PART, PLAYERS, Audience, listed
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import characters as records
from lorekeeper.normalize.build import Origin, build, own_error, readable, slugify, without_empty
from lorekeeper.normalize.foundry import books, characters, items, journals, npcs, options, spells
from lorekeeper.normalize.foundry.documents import OF_PLAYERS, Document, Index, system_of
from lorekeeper.normalize.foundry.enrich import line
from lorekeeper.normalize.foundry.fields import SOURCE, fields_of
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.markup import line_of, text_of
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.sheets import NOBODY, Sheet
from lorekeeper.normalize.foundry.values import Data, mapping, paragraphs, spoken, text

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
        audience: who may see it.
        key: what its slug is made from, if not from its name.
        context: told apart by this from another entry with the same key, if not by its kind.
        unique: told apart by this from any other.
    """

    type: str
    kind: str
    name: str
    data: Data
    audience: Audience = PLAYERS
    key: str = ""
    context: str = ""
    unique: str = ""


Shape = tuple[str, str | Callable[[Scope], str], Callable[[Scope], Data]]
"""The type of an entry, its kind, and what its data are made by."""

_FEAT: Shape = ("character_options", "feat", options.feat)
_FEATURE: Shape = ("rules", "feature", options.feature)

SHAPES: dict[str, Shape] = {
    "spell": ("spells", "spell", spells.spell),
    "npc": ("creatures", "creature", npcs.creature),
    "vehicle": ("equipment", "gear", npcs.vehicle),
    "lair": ("rules", "lair", npcs.lair),
    **dict.fromkeys(
        "weapon equipment consumable tool loot container backpack gear armor sundry ammunition".split(),
        ("equipment", items.kind_of, items.item),
    ),
    **dict.fromkeys(
        ("race", "species", "lineage", "heritage"),
        ("character_options", lambda scope: "subrace" if options.parent_of(scope) else "race", options.species),
    ),
    "background": ("character_options", "background", options.background),
    "talent": _FEAT,
    "feature": _FEATURE,
}
"""How a document of each type becomes an entry, beside those for which it takes more."""

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
        self._index.classes = _classes_of_spells(documents)
        self._owned = {_file(document) for document in documents if books.says_something(document)}
        """The files in which ownership means something."""
        self._books: dict[str, books.Book] = {}
        for document in documents:
            book = _book(document)
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
                yield _problem(document, str(error), is_failure=True)

    def _of(self, document: Document, key: str | None) -> Iterator[Found]:
        if not document.name:
            raise FilterError("it has no name")
        book = self._books[_book(document).key]
        for shaped in self._pages(document) if document.collection == "journal" else self._shaped(document):
            if isinstance(shaped, Found):
                yield shaped
                continue
            its_book = book
            if shaped.type == "characters":
                its_book = replace(book, key=records.DOCUMENT, name=records.DOCUMENT_NAME)
            elif key is None and book.key not in self._told:
                self._told.add(book.key)
                yield Found(document.where, _entity_of(book))
            yield from self._built(shaped, document, its_book, key)

    # shaping

    def _scope(self, document: Document) -> Scope:
        system = system_of(document.raw)
        rules = books.rules_of(document.raw, system)
        is_actor = document.collection == "actors"
        sheet = Sheet.of(line_of(document.name), document.system, rules) if is_actor else NOBODY
        return Scope(self._index, document, Doer(document.raw, sheet, rules, system))

    def _shaped(self, document: Document) -> Iterator[Shaped | Found]:
        """The entries of a document, with its source, its folders as tags, and what is for the game master only."""
        scope = self._scope(document)
        name = line(document.name, scope) or f"{spoken(document.type).capitalize()} {document.id}".strip()
        who = books.audience(document.raw) if _file(document) in self._owned else PLAYERS
        source: Data = {"id": document.id, "page": books.page_of(document.raw), "system": system_of(document.raw)}
        key = text(document.system, "identifier", "identifier.value")
        for shaped in (
            self._table(document, scope, name) if document.collection == "tables" else self._made(document, scope, name)
        ):
            if isinstance(shaped, Found):
                yield shaped
                continue
            yield replace(
                shaped,
                data=self._with_more({"name": shaped.name, **shaped.data}, document, source, scope.secrets),
                audience=shaped.audience if shaped.audience != PLAYERS else who,
                key=shaped.key or key,
                unique=document.id,
            )

    def _with_more(self, data: Data, document: Document, source: Data, secrets: Iterable[str]) -> Data:
        secret, folders = paragraphs(*secrets), self._index.folders(document)
        data |= {"tags": folders} if folders else {}
        return data | {"source": source} | ({GM_PART: secret} if secret else {})

    def _table(self, document: Document, scope: Scope, name: str) -> Iterator[Shaped | Found]:
        data = without_empty(journals.table(document.raw, scope))
        yield Shaped("rules", "table", name, data)
        if "table" not in data:
            yield _problem(document, "it has no results with a range")

    def _made(self, document: Document, scope: Scope, name: str) -> Iterator[Shaped | Found]:
        kind, system = document.type, document.system
        shape = SHAPES.get(kind)
        if not system and not (shape and shape[2] is items.item):
            raise FilterError("'system' is empty")
        if kind == "feat":
            shape = _FEAT if options.is_feat(scope) else _FEATURE
        if kind in OF_PLAYERS:
            yield _character(document, scope, name)
        elif kind in ("group", "encounter"):
            yield _problem(document, "it only lists other actors, and was left out")
        elif kind in ("class", "subclass"):
            data, missing = options.character_class(scope)
            yield Shaped("character_options", kind, name, without_empty(data))
            if missing:
                reason = f"{missing} of its features are in packs that are not in this import; import these together"
                yield _problem(document, reason)
        elif not shape:
            yield from _unknown(document, scope, name)
        else:
            entry_type, entry_kind, make = shape
            entry_kind, data = (
                entry_kind if isinstance(entry_kind, str) else entry_kind(scope),
                without_empty(make(scope)),
            )
            context = text(data, "parent") if kind == "feature" else ""
            is_known = make is not items.item or system.get("identified") is not False
            shaped = Shaped(entry_type, entry_kind, name, data, context=context)
            yield from [shaped] if is_known else _unidentified(shaped, scope)

    def _pages(self, document: Document) -> Iterator[Shaped | Found]:
        owned = _file(document) in self._owned
        for page in document.pages:
            scope = replace(self._scope(document), page=text(page, "_id"))
            if journals.only_inserts_a_table(page, scope):
                continue
            name = line(page.get("name"), scope) or document.name
            data: Data = without_empty({"name": name, **journals.page(page, scope)})
            if "desc" not in data and not scope.secrets:
                continue
            secrets = [*scope.secrets]
            who = books.audience(page, within=document.raw) if owned else PLAYERS
            if owned and who == DM and books.is_limited(page, document.raw):
                secrets, who = [text_ if isinstance(text_ := data.pop("desc", ""), str) else "", *secrets], PLAYERS
            source: Data = {"id": f"{document.id}.{scope.page}", "system": system_of(document.raw)}
            data = self._with_more(data, document, source, secrets)
            kind, unique = journals.kind_of(page), f"{document.id}-{scope.page}"
            yield Shaped("rules", kind, name, data, who, context=document.name, unique=unique)

    # building

    def _built(self, shaped: Shaped, document: Document, book: books.Book, key: str | None) -> Iterator[Found]:
        library_key = key or book.key
        data = {**shaped.data, "document": {"key": library_key, "name": book.name, "gamesystem": book.game}}
        problems: list[str] = []
        fields: Data = {**readable(shaped.type, fields_of(shaped.type, shaped.kind, data), problems.append)}
        yield from (_problem(document, problem) for problem in problems)
        fields[AUDIENCE] = listed([shaped.audience, *([DM] if GM_PART in data else [])]) or None
        origin = Origin(SOURCE, library_key, book.name)
        slug = self._slug(shaped, library_key)
        kept = build(shaped.type, data, origin, name=shaped.name, kind=shaped.kind, slug=slug, fields=fields)
        yield Found(document.where, kept)

    def _slug(self, shaped: Shaped, key: str) -> str:
        """A slug that no other entry of the import has in its document."""
        own = slugify(shaped.key or shaped.name)[:MAX_SLUG].strip("-") or slugify(shaped.unique) or shaped.kind
        longer = f"{own}-{slugify(shaped.context or shaped.kind)[:MAX_SLUG]}".strip("-")
        identity = shaped.unique or shaped.name
        for slug in (own, longer, f"{own}-{slugify(shaped.unique)}"):
            if self._slugs.setdefault((shaped.type, key, slug), identity) == identity:
                return slug
        return longer


def _book(document: Document) -> books.Book:
    system = system_of(document.raw)
    rules = books.rules_of(document.raw, system)
    if not rules and system == "dnd5e" and document.collection in ("journal", "tables"):
        rules = "2024" if any(map(_PACK_OF_2024.search, document.packs)) else ""
    return books.book_of(document.raw, system, rules)


def _entity_of(book: books.Book) -> Entity:
    data, origin = book.data(), Origin(SOURCE, book.key, book.name)
    fields = fields_of("documents", "document", data)
    return build("documents", data, origin, name=book.name, kind="document", slug=book.key, fields=fields)


def _file(document: Document) -> str:
    """The file that a document is in."""
    return re.sub(r"(:\d+|\[\d+\])$", "", document.where)


def _problem(document: Document, reason: str, *, is_failure: bool = False) -> Found:
    kind = document.type or {"tables": "table"}.get(document.collection, document.collection)
    what = f"{kind} {document.name[:60]!r}" if document.name else f"{kind} {document.id[:40]}".strip()
    return Found(document.where, reason=f"{what}: {reason}", is_failure=is_failure)


def _classes_of_spells(documents: Iterable[Document]) -> dict[str, set[str]]:
    """The classes of spells by their ids, from pages that are spell lists of classes."""
    found: dict[str, set[str]] = {}
    for page in (page for document in documents for page in document.pages):
        class_name, references = journals.class_list(page)
        for reference in references if class_name else ():
            found.setdefault(reference.rpartition(".")[2], set()).add(class_name)
    return found


def _character(document: Document, scope: Scope, name: str) -> Shaped:
    made = characters.character(scope, name)
    data = records.completed(made.as_data())
    shared = books.audience(document.raw) == PLAYERS and not document.in_pack
    return Shaped("characters", made.kind, name, data, PLAYERS if shared else records.audience_of(data, name))


def _unidentified(shaped: Shaped, scope: Scope) -> Iterator[Shaped]:
    """Two entries: what the item is, for the game master, and what everybody sees of it."""
    outside = mapping(scope.system, "unidentified")
    seen_as = line_of(outside.get("name")) or f"Unidentified {spoken(text(scope.raw, 'type'))}"
    yield replace(shaped, data={**shaped.data, "seen_as": seen_as}, audience=DM)
    scope.secrets[:] = [f"It is {shaped.name}."]
    desc = text_of(outside.get("description")).open
    yield Shaped("equipment", "gear", seen_as, {"desc": desc} if desc else {}, key=f"{seen_as} (unidentified)")


def _unknown(document: Document, scope: Scope, name: str) -> Iterator[Shaped | Found]:
    """A document of a type that a module has added: its text is kept."""
    data, kind = without_empty(options.feature(scope)), repr(document.type[:40])
    if "desc" not in data:
        raise FilterError(f"the type {kind} is not known, and it has no text")
    yield Shaped("rules", slugify(document.type.rpartition(".")[2]) or "entry", name, data)
    yield _problem(document, f"the type {kind} is unknown; its text was stored as an entry of type rules")
