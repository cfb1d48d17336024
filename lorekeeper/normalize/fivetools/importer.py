"""The objects of a homebrew file as entries of the library."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from lorekeeper.audience import DM
from lorekeeper.entities import AUDIENCE, MAX_KEY_LENGTH, Entity, uri_of
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.build import Origin, build, own_error, slugify
from lorekeeper.normalize.fivetools import rules
from lorekeeper.normalize.fivetools.adventures import Chapter, chapters, overview
from lorekeeper.normalize.fivetools.brew import BOOKS, NEW_BOOKS, Book, Brew, Index, Shelf, known_book
from lorekeeper.normalize.fivetools.copies import Copies, versions
from lorekeeper.normalize.fivetools.kinds import JOINED, KINDS, TABLE_GROUPS, TEXTS_OF, Kind, fields_of
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.tags import Reference
from lorekeeper.normalize.fivetools.values import Object, listed, mapping, number, objects, text, texts
from lorekeeper.printable import shown

SOURCE = "5etools"
"""`Entity.source_api` of these entries."""

FILLED = ("spell", "monster")
"""Kinds of copies that an SRD in the library fills."""

MAX_REFERENCES = 100
"""Most other entries that an entry is said to name."""

MAX_PROBLEMS = 1_000
"""Most problems of one file that are told one by one."""

UNDECLARED = "is not declared in _meta.sources; its book is named after the code"

MAX_SHOWN = 60
"""Most characters of a name in a message."""

Identities = dict[tuple[str, str, str], tuple[str, ...]]
"""What tells the first entry of a key apart from others, by collection, document and slug."""

Known = Callable[[str, str, str], Entity | None]
"""The entry of the library of a type, with a name, in a document."""


@dataclass(frozen=True)
class Problem:
    """What was found in a file.

    Attributes:
        place: where in the file: "monster[3]", or "" for the file as a whole.
        reason: with the name of the entry, and what to do.
        is_failure: whether something could not be imported, or was only mended.
    """

    place: str
    reason: str
    is_failure: bool = False


class Importer:
    """Makes the entries of a file.

    Args:
        brew: the file.
        name: of the file, for entries without a source.
        others: gives the objects of all files of the import.
        document: key of the document to assign all entries to; each entry's own if None.
        report: is called with each problem, of which there are at most `MAX_PROBLEMS`.
        identities: what has each key in the files of the import before this one; is added to.
        known: finds what the library has of an SRD, for copies of what is not in the files.
    """

    def __init__(
        self,
        brew: Brew,
        name: str,
        others: Callable[[], Index],
        document: str | None,
        report: Callable[[Problem], None],
        identities: Identities | None = None,
        known: Known | None = None,
    ) -> None:
        self._brew, self._name, self._document, self._report = brew, name, document, report
        self._shelf = Shelf(brew, others)
        self._allowance = Allowance(size_of(list(brew.lists.values())))
        self._sizes: dict[int, int] = {}
        self._known = known or (lambda *_: None)
        self._copies = Copies(self._shelf.find, lambda: self._shelf.searched, self._allowance, self._filled_from)
        self._codes = brew.codes()
        self._books = brew.books()
        self._unknown_books: set[str] = set()
        self._used_books: dict[str, Book] = {}
        self._wholes: dict[int, Object] = {}
        self._used: set[int] = set()
        self._read: list[Object] = []
        self._identities: Identities = {} if identities is None else identities
        self._chapters: Counter[tuple[str, str]] = Counter()
        self._problems = 0

    def entities(self) -> Iterator[Entity]:
        """The entries, kind by kind, and at the end the documents that they are from."""
        for problem in self._odd_lists():
            self._tell(problem)
        for key, kind in KINDS.items():
            for place, raw in enumerate(self._brew.lists.get(key, [])):
                yield from self._of_object(key, kind, f"{key}[{place}]", raw)
        for key, texts_key in TEXTS_OF.items():
            yield from self._texts(key, texts_key)
        if self._document is None:
            yield from (_document(book) for book in self._used_books.values())

    def skipped(self) -> Counter[str]:
        """Numbers of objects that gave no entry, and are part of none, by kind; to be asked for at the end."""
        read = {*KINDS, *TEXTS_OF.values()}
        lists = {key: values for key, values in self._brew.lists.items() if key not in read}
        return +Counter({key: sum(id(each) not in self._used for each in values) for key, values in lists.items()})

    def read(self) -> list[Object]:
        """The objects of the file that gave entries, or are part of one; to be asked for at the end."""
        known = {id(each): each for each in self._read}
        parts = (each for values in self._brew.lists.values() for each in values if isinstance(each, Mapping))
        return [*known.values(), *(each for each in parts if id(each) in self._used and id(each) not in known)]

    # --- problems --------------------------------------------------------------------------------------------------------

    def _tell(self, problem: Problem) -> None:
        self._problems += 1
        if self._problems < MAX_PROBLEMS:
            self._report(problem)
        elif self._problems == MAX_PROBLEMS:
            self._report(Problem("", "it has more problems, which are not listed", problem.is_failure))

    def _warn(self, place: str, label: str, reason: str) -> None:
        self._tell(Problem(place, f"{label}: {reason}" if label else reason))

    def _odd_lists(self) -> Iterator[Problem]:
        """Lists of unknown kinds, and what stands where a list belongs."""
        for key, value in self._brew.others.items():
            if key in KINDS and value is None:
                yield Problem(key, "it is null instead of a list of objects; nothing was read from it")
            elif key in KINDS:
                yield Problem(
                    key, f"it must be a list of objects, not {_kind(value)}; put it in brackets: [{{...}}]", True
                )
            else:
                known = ", ".join(KINDS)
                number = f"{len(value):,} " if isinstance(value, (list, Mapping)) else ""
                reason = f"unknown kind of content, {number}skipped; the kinds that are read: {known}"
                yield Problem(shown(key, MAX_SHOWN), reason, isinstance(value, list))
        if not (self._brew.lists or self._brew.others):
            yield Problem("", "it has no content, such as a list of spells, monsters or items", True)

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _of_object(self, key: str, kind: Kind, place: str, raw: object) -> Iterator[Entity]:
        """The entries of an object: one, and one for each of its versions."""
        if not isinstance(raw, Mapping):
            self._tell(Problem(place, f"it must be an object, not {_kind(raw)}", True))
            return
        label = shown(text(raw.get("name")) or "(no name)", MAX_SHOWN)
        tell = partial(self._warn, place, label)
        try:
            with own_error():
                whole = self._whole(key, raw, tell)
                if id(whole) in self._used and (key in JOINED or key.endswith("Feature")):
                    return
                for problem in self._brew.problems.get(id(raw), []):
                    tell(problem)
                further = [] if key in TABLE_GROUPS else versions(whole, tell, self._allowance)
                drafts = rules.tables_of_group(whole) if key in TABLE_GROUPS else [whole, *further]
        except FilterError as error:
            self._tell(Problem(place, f"{label}: {error}", True))
            return
        for draft in drafts:
            for entity in self._checked(place, label, partial(self._entity, key, kind, draft, tell)):
                self._read.append(raw)
                yield entity

    def _checked(self, place: str, label: str, make: Callable[[], Entity]) -> Iterator[Entity]:
        """An entity, or a failure."""
        try:
            with own_error():
                yield make()
        except FilterError as error:
            self._tell(Problem(place, f"{label}: {error}", True))

    def _whole(self, kind: str, raw: Object, tell: Callable[[str], None]) -> Object:
        """An object with what it inherits from the one that it is a copy of."""
        if "_copy" not in raw:
            return raw
        if id(raw) not in self._wholes:
            self._wholes[id(raw)] = self._copies.whole(kind, raw, tell)
        return self._wholes[id(raw)]

    def _find(self, kind: str, name: str, source: str, *, everywhere: bool = True) -> list[Object]:
        """Objects of the import, with what they inherit; their texts are inserted into those of others."""
        found = self._shelf.find(kind, name, source, everywhere=everywhere)
        wholes = [self._whole(kind, each, _say_nothing) for each in found]
        for whole in wholes[:1]:
            if id(whole) not in self._sizes:
                self._sizes[id(whole)] = size_of(whole)
            self._allowance.take(self._sizes[id(whole)])
        return wholes

    def _entity(self, key: str, kind: Kind, obj: Object, tell: Callable[[str], None]) -> Entity:
        subject = Subject(key, obj, self._codes, self._find, tell, self._used)
        if not isinstance(obj.get("name"), (str, type(None))):
            raise FilterError(f'its "name" must be a text, not {_kind(obj.get("name"))}')
        name = subject.reader.plain(kind.name(obj))
        if not name:
            raise FilterError('it has no name; give it a "name"')
        is_secret = key in TEXTS_OF
        data = overview(subject) if is_secret else kind.data(subject)
        if subject.writer.was_too_deep:
            tell("its text is nested too deeply; the deepest levels were left out")
        return self._built(subject, kind, name, data, is_secret=is_secret)

    def _built(self, subject: Subject, kind: Kind, name: str, data: Data, *, is_secret: bool) -> Entity:
        """A checked entity of data."""
        source = subject.source or text(mapping(subject.value("inherits")).get("source"))
        book = self._book(source, subject.tell)
        kind_name = self._kind_of(subject, kind, data)
        kept = {"name": name, **data, "page": number(subject.value("page")) or None, "source": source or None}
        kept["also_called"] = texts(subject.value("alias"))
        kept["references"] = self._references(subject, source, name)
        whole = {key: value for key, value in kept.items() if value is not None and value != []}
        fields = self._fields(kind.type, whole, subject.tell)
        if base := self._base(subject):
            own = {key: value for key, value in whole.items() if value not in ("", {})}
            whole = {**base.data, "base": base.uri, "base_name": base.name, **own}
            fields = {**base.fields, **{key: value for key, value in fields.items() if value not in (None, False)}}
        return build(
            kind.type,
            whole,
            Origin(SOURCE, self._document or book.key, book.title),
            name=name,
            kind=kind_name,
            slug=self._slug(kind, book.key, name, kind_name, [text(subject.value(key)) for key in kind.apart_by]),
            fields={**fields, AUDIENCE: (DM,) if is_secret else None},
        )

    def _base(self, subject: Subject) -> Entity | None:
        """The entry of the library that fills a copy of what is not in the files."""
        wanted = self._copies.unresolved.get(id(subject.obj))
        return self._in_library(subject.kind, text(wanted.get("name")), text(wanted.get("source"))) if wanted else None

    def _in_library(self, kind: str, name: str, source: str) -> Entity | None:
        if kind not in FILLED:
            return None
        return self._known(KINDS[kind].type, name, "srd-2024" if source.upper() in NEW_BOOKS else "srd-2014")

    def _filled_from(self, kind: str, name: str, source: str) -> str:
        base = self._in_library(kind, name, source)
        return base.uri if base else ""

    def _kind_of(self, subject: Subject, kind: Kind, data: Data) -> str:
        """The kind of an entry, where it depends on the object."""
        if kind.type == "equipment":
            return text(data.get("kind"))
        codes = [code for code in listed(subject.value("featureType")) if subject.kind == "optionalfeature"]
        named = [found for code in codes if (found := rules.feature_kind(subject, text(code)))]
        return slugify(named[0]) if named else kind.kind

    def _fields(self, entity_type: str, data: Object, tell: Callable[[str], None]) -> dict[str, object]:
        """The filter values that can be read; the others are left out with a warning."""
        given = {name: None if value in ("", []) else value for name, value in fields_of(entity_type, data).items()}
        with contextlib.suppress(FilterError):
            return dict(clean_fields(entity_type, given))
        fields: dict[str, object] = {}
        for name, value in given.items():
            try:
                fields |= clean_fields(entity_type, {name: value})
            except FilterError as error:
                tell(f"{error}; left out as a value to filter by")
        return fields

    def _slug(self, kind: Kind, document: str, name: str, kind_name: str, apart: list[str]) -> str:
        """The key of an entry: of its name, followed by what tells it apart from other things of that name."""
        whole, name = (kind_name, *apart), slugify(name)[:MAX_KEY_LENGTH]
        slug = name
        first = self._identities.setdefault((kind.type, document, slug), whole)
        for size in range(1, len(apart) + 1) if first[0] == kind_name else (0, *range(1, len(apart) + 1)):
            if first == whole:
                break
            more = slugify(" ".join(apart[:size] if size else [kind_name]))
            if 0 < len(more) < MAX_KEY_LENGTH // 2:
                slug = f"{name[: MAX_KEY_LENGTH - len(more) - 1]}-{more}"
                first = self._identities.setdefault((kind.type, document, slug), whole)
        return slug

    def _references(self, subject: Subject, own_source: str, own_name: str) -> list[dict[str, str]]:
        """Other entries that its texts name, those of this file with their addresses."""
        found = []
        for reference in list(subject.reader.references)[:MAX_REFERENCES]:
            if reference.name.casefold() == own_name.casefold():
                continue
            entry = {"type": reference.type, "name": reference.name}
            source = reference.source or own_source
            if (book := self._books.get(source.casefold())) and self._is_here(reference, source):
                slug = slugify(reference.name)[:MAX_KEY_LENGTH]
                entry["uri"] = uri_of(reference.type, self._document or book.key, slug)
            found.append(entry)
        return found

    def _is_here(self, reference: Reference, source: str) -> bool:
        """Whether the file itself has what a text names."""
        keys = (key for key, kind in KINDS.items() if kind.type == reference.type)
        return any(self._shelf.find(key, reference.name, source, everywhere=False) for key in keys)

    # --- sources ---------------------------------------------------------------------------------------------------------

    def _book(self, code: str, tell: Callable[[str], None]) -> Book:
        """The source of an entry."""
        if not code:
            book = next(iter(self._books.values())) if len(self._books) == 1 else known_book(self._name)
            tell(f"it has no source; assigned to {shown(book.title, MAX_SHOWN)}")
        else:
            book = self._books.get(code.casefold()) or self._undeclared(code)
        if not book.key:
            raise FilterError(f"its source {shown(code, MAX_SHOWN)} has no letters or digits; correct _meta.sources")
        self._used_books.setdefault(book.key, book)
        return book

    def _undeclared(self, code: str) -> Book:
        """A source that the file does not declare: of another file, a well-known book, or one that is named by its code."""
        found = known_book(code) if code.upper() in BOOKS else self._shelf.book(code) or known_book(code)
        self._books[code.casefold()] = found
        if found.title == code:
            reason = f"the source {shown(code, MAX_SHOWN)} {UNDECLARED}"
            self._tell(Problem("_meta", reason))
        return found

    # --- adventures and books ----------------------------------------------------------------------------------------------

    def _texts(self, key: str, texts_key: str) -> Iterator[Entity]:
        """The sections of the adventures or books of the file."""
        indexes = {text(each.get("id")).casefold(): each for each in objects(self._brew.lists.get(key))}
        for place, each in enumerate(self._brew.lists.get(texts_key, [])):
            found = mapping(each)
            where, source = f"{texts_key}[{place}]", text(found.get("source"))
            index = indexes.get(text(found.get("id")).casefold(), {"name": text(found.get("id")), "source": source})
            tell = partial(self._warn, where, shown(text(index.get("name")), MAX_SHOWN))
            subject = Subject(key, index, self._codes, self._find, tell, self._used)
            self._read.append(found)
            try:
                with own_error():
                    yield from self._chapters_of(subject, where, found.get("data"))
            except FilterError as error:
                self._tell(Problem(where, f"{error}; the rest was not read", True))

    def _chapters_of(self, subject: Subject, place: str, data: object) -> Iterator[Entity]:
        book = self._book(subject.source, subject.tell)
        for chapter in chapters(subject, data):
            label = shown(chapter.name, MAX_SHOWN)
            yield from self._checked(place, label, partial(self._chapter, subject, book, chapter))

    def _chapter(self, subject: Subject, book: Book, chapter: Chapter) -> Entity:
        name = chapter.name[:MAX_KEY_LENGTH]
        data = {"name": name, **chapter.data, "source": subject.source or None}
        return build(
            "rules",
            {key: value for key, value in data.items() if value is not None},
            Origin(SOURCE, self._document or book.key, book.title),
            name=name,
            kind=chapter.kind,
            slug=self._slug_of(book.key, chapter),
            fields={**fields_of("rules", {"parent": chapter.path[-2]}), AUDIENCE: (DM,) if chapter.is_secret else None},
        )

    def _slug_of(self, document: str, chapter: Chapter) -> str:
        """The key of a section: of all headings that it is under, with a number where several are alike."""
        title, rest = slugify(chapter.path[0])[:60], slugify(" ".join(chapter.path[1:]))[-120:].strip("-")
        self._chapters[document, f"{title}-{rest}"] += 1
        number = self._chapters[document, f"{title}-{rest}"]
        return f"{title}-{rest}" if number == 1 else f"{title}-{rest}-{number}"


def _document(book: Book) -> Entity:
    """The record of a source."""
    return build(
        "documents",
        dict(book.record),
        Origin(SOURCE, book.key),
        name=book.title,
        kind="document",
        slug=book.key,
        fields=fields_of("documents", book.record),
    )


def _say_nothing(_: str) -> None:
    """For problems that are told where the object itself is read."""


def _kind(value: object) -> str:
    """What a JSON value is, in a word."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
