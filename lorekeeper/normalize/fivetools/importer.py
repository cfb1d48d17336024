"""The objects of a homebrew file as entries of the library."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lorekeeper.audience import DM
from lorekeeper.entities import AUDIENCE, MAX_KEY_LENGTH, Entity, uri_of
from lorekeeper.errors import FilterError
from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.build import Origin, build, own_error, readable, slugify, without_empty
from lorekeeper.normalize.fivetools import rules
from lorekeeper.normalize.fivetools.brew import NEW_BOOKS, Book, Brew, Index, known_book
from lorekeeper.normalize.fivetools.kinds import JOINED, KINDS, TABLE_GROUPS, TEXTS_OF, Kind, fields_of
from lorekeeper.normalize.fivetools.mods import Copies, versions
from lorekeeper.normalize.fivetools.rules import Chapter, chapters, overview
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import Data, Object, mapping, number, text, texts, word
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
        identities: Identities,
        known: Known | None,
    ) -> None:
        self._brew, self._name, self._document, self._report = brew, name, document, report
        self._own, self._others = Index([brew]), others
        self._allowance = Allowance(size_of(list(brew.lists.values())))
        self._sizes: dict[int, int] = {}
        self._known = known or (lambda *_: None)
        self._copies = Copies(self._found, self._searched, self._allowance, self._in_library)
        self._codes, self._books = brew.codes(), brew.books()
        self._used_books: dict[str, Book] = {}
        self._wholes: dict[int, Object] = {}
        self._used: set[int] = set()
        self._read: dict[int, Object] = {}
        self._identities = identities
        self._chapters: Counter[tuple[str, str]] = Counter()
        self._problems = 0

    def entities(self) -> Iterator[Entity]:
        """The entries, kind by kind, and at the end the documents that they are from."""
        self._tell_odd_lists()
        for key, kind in KINDS.items():
            for place, raw in enumerate(self._brew.lists.get(key, [])):
                yield from self._of_object(key, kind, f"{key}[{place}]", raw)
        for key, texts_key in TEXTS_OF.items():
            yield from self._texts(key, texts_key)
        for book in self._used_books.values() if self._document is None else ():
            origin, fields = Origin(SOURCE, book.key), fields_of("documents", book.record)
            yield build(
                "documents", book.record, origin, name=book.title, kind="document", slug=book.key, fields=fields
            )

    def skipped(self) -> Counter[str]:
        """Numbers of objects that gave no entry, and are part of none, by kind; to be asked for at the end."""
        read = {*KINDS, *TEXTS_OF.values()}
        lists = {key: values for key, values in self._brew.lists.items() if key not in read}
        return +Counter({key: sum(id(each) not in self._used for each in values) for key, values in lists.items()})

    def read(self) -> list[Object]:
        """The objects of the file that gave entries, or are part of one; to be asked for at the end."""
        parts = (each for kind in self._brew.lists for each in self._brew.objects(kind) if id(each) in self._used)
        return [*(self._read | {id(each): each for each in parts}).values()]

    # --- problems --------------------------------------------------------------------------------------------------------

    def _tell(self, place: str, reason: str, *, is_failure: bool = False) -> None:
        self._problems += 1
        if self._problems == MAX_PROBLEMS:
            place, reason = "", "it has more problems, which are not listed"
        if self._problems <= MAX_PROBLEMS:
            self._report(Problem(place, reason, is_failure))

    def _teller(self, place: str, label: str) -> Callable[[str], None]:
        """Tells what was mended in an entry."""
        return lambda reason: self._tell(place, f"{label}: {reason}")

    @contextlib.contextmanager
    def _telling(self, place: str, label: str) -> Iterator[None]:
        """A failure to make an entry is told."""
        try:
            with own_error():
                yield
        except FilterError as error:
            self._tell(place, f"{label}: {error}", is_failure=True)

    def _tell_odd_lists(self) -> None:
        """Lists of unknown kinds, and what stands where a list belongs."""
        for key, value in self._brew.others.items():
            if key in KINDS and value is None:
                self._tell(key, "it is null instead of a list of objects; nothing was read from it")
            elif key in KINDS:
                reason = f"it must be a list of objects, not {_kind(value)}; put it in brackets: [{{...}}]"
                self._tell(key, reason, is_failure=True)
            else:
                number = f"{len(value):,} " if isinstance(value, (list, Mapping)) else ""
                reason = f"unknown kind of content, {number}skipped; the kinds that are read: {', '.join(KINDS)}"
                self._tell(shown(key, MAX_SHOWN), reason, is_failure=isinstance(value, list))
        if not (self._brew.lists or self._brew.others):
            self._tell("", "it has no content, such as a list of spells, monsters or items", is_failure=True)

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _of_object(self, key: str, kind: Kind, place: str, raw: object) -> Iterator[Entity]:
        """The entries of an object: one, and one for each of its versions."""
        if not isinstance(raw, Mapping):
            self._tell(place, f"it must be an object, not {_kind(raw)}", is_failure=True)
            return
        label = shown(text(raw, "name") or "(no name)", MAX_SHOWN)
        tell = self._teller(place, label)
        drafts: list[Object] = []
        with self._telling(place, label):
            whole = self._whole(key, raw, tell)
            if id(whole) in self._used and (key in JOINED or key.endswith("Feature")):
                return
            for problem in self._brew.problems.get(id(raw), []):
                tell(problem)
            is_group = key in TABLE_GROUPS
            drafts = rules.tables_of_group(whole) if is_group else [whole, *versions(whole, tell, self._allowance)]
        for draft in drafts:
            with self._telling(place, label):
                entity = self._entity(key, kind, draft, tell)
                self._read[id(raw)] = raw
                yield entity

    def _whole(self, kind: str, raw: Object, tell: Callable[[str], None]) -> Object:
        """An object with what it inherits from the one that it is a copy of."""
        if "_copy" not in raw:
            return raw
        if id(raw) not in self._wholes:
            self._wholes[id(raw)] = self._copies.whole(kind, raw, tell)
        return self._wholes[id(raw)]

    def _found(self, kind: str, name: str, source: str, *, everywhere: bool = True) -> list[Object]:
        """Objects of the file, or else of the other files, as these have them."""
        found = self._own.find(kind, name, source)
        return found if found or not everywhere else self._others().find(kind, name, source)

    def _searched(self) -> str:
        """Where was looked for what was not found, for messages."""
        return f"the first {limit >> 20} MB of the files" if (limit := self._others().limit) else "the files"

    def _find(self, kind: str, name: str, source: str, *, everywhere: bool = True) -> list[Object]:
        """The same with what they inherit; their texts are inserted into those of others."""
        found = self._found(kind, name, source, everywhere=everywhere)
        wholes = [
            self._whole(kind, each, lambda _: None) for each in found
        ]  # its problems are told where it is read itself
        for whole in wholes[:1]:
            if id(whole) not in self._sizes:
                self._sizes[id(whole)] = size_of(whole)
            self._allowance.take(self._sizes[id(whole)])
        return wholes

    def _entity(self, key: str, kind: Kind, obj: Object, tell: Callable[[str], None]) -> Entity:
        subject = Subject(key, obj, self._codes, self._find, tell, self._used)
        if not isinstance(obj.get("name"), (str, type(None))):
            raise FilterError(f'its "name" must be a text, not {_kind(obj["name"])}')
        name = subject.reader.plain(kind.name(obj))
        if not name:
            raise FilterError('it has no name; give it a "name"')
        data = without_empty(overview(subject) if key in TEXTS_OF else kind.data(subject))
        if subject.writer.was_too_deep:
            tell("its text is nested too deeply; the deepest levels were left out")
        source = subject.source or text(obj, "inherits.source")
        book = self._book(source, tell)
        kept = {"name": name, **data, "page": number(obj, "page") or None, "source": source or None}
        kept |= {"also_called": texts(obj, "alias"), "references": self._references(subject, source, name)}
        whole: Data = {key: value for key, value in kept.items() if value is not None and value != []}
        fields: Data = {**readable(kind.type, fields_of(kind.type, whole), tell)}
        if base := self._copies.filled.get(id(obj)):
            own = {key: value for key, value in whole.items() if value not in ("", {})}
            whole = {**base.data, "base": base.uri, "base_name": base.name, **own}
            fields = {**base.fields, **{key: value for key, value in fields.items() if value not in (None, False)}}
        kind_name = kind.kind or text(data, "kind")
        if key == "optionalfeature":
            kind_name = next((slugify(each) for each in rules.feature_kinds(subject)), kind_name)
        apart = [text(obj.get(part)) for part in word["apart by"].get(key, ())]
        return build(
            kind.type,
            whole,
            Origin(SOURCE, self._document or book.key, book.title),
            name=name,
            kind=kind_name,
            slug=self._slug(kind, book.key, name, kind_name, apart),
            fields={**fields, AUDIENCE: (DM,) if key in TEXTS_OF else None},
        )

    def _in_library(self, kind: str, name: str, source: str) -> Entity | None:
        """The entry of the library that fills a copy of what is not in the files."""
        if kind not in FILLED:
            return None
        return self._known(KINDS[kind].type, name, "srd-2024" if source.upper() in NEW_BOOKS else "srd-2014")

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
            keys = (key for key, kind in KINDS.items() if kind.type == reference.type)
            book = self._books.get(source.casefold())
            if book and any(self._own.find(key, reference.name, source) for key in keys):
                slug = slugify(reference.name)[:MAX_KEY_LENGTH]
                entry["uri"] = uri_of(reference.type, self._document or book.key, slug)
            found.append(entry)
        return found

    # --- sources ---------------------------------------------------------------------------------------------------------

    def _book(self, code: str, tell: Callable[[str], None]) -> Book:
        """The source of an entry: of its file, of another file, a well-known book, or one that is named by its code."""
        book = self._books.get(code.casefold())
        if not code:
            book = next(iter(self._books.values())) if len(self._books) == 1 else known_book(self._name)
            tell(f"it has no source; assigned to {shown(book.title, MAX_SHOWN)}")
        elif book is None:
            elsewhere = None if code.upper() in word["books"] else self._others().books.get(code.casefold())
            book = self._books[code.casefold()] = elsewhere or known_book(code)
            if book.title == code:
                self._tell("_meta", f"the source {shown(code, MAX_SHOWN)} {UNDECLARED}")
        if not book.key:
            raise FilterError(f"its source {shown(code, MAX_SHOWN)} has no letters or digits; correct _meta.sources")
        self._used_books.setdefault(book.key, book)
        return book

    # --- adventures and books ----------------------------------------------------------------------------------------------

    def _texts(self, key: str, texts_key: str) -> Iterator[Entity]:
        """The sections of the adventures or books of the file."""
        indexes = {text(each, "id").casefold(): each for each in self._brew.objects(key)}
        for place, each in enumerate(self._brew.lists.get(texts_key, [])):
            where, found = f"{texts_key}[{place}]", mapping(each)
            unlisted = {"name": text(found, "id"), "source": text(found, "source")}
            index = indexes.get(text(found, "id").casefold(), unlisted)
            label = shown(text(index, "name"), MAX_SHOWN)
            tell = self._teller(where, label)
            subject = Subject(key, index, self._codes, self._find, tell, self._used)
            self._read[id(found)] = found
            with self._telling(where, label):
                book = self._book(subject.source, tell)
                for chapter in chapters(subject, found.get("data")):
                    with self._telling(where, shown(chapter.name, MAX_SHOWN)):
                        yield self._chapter(subject, book, chapter)

    def _chapter(self, subject: Subject, book: Book, chapter: Chapter) -> Entity:
        name = chapter.name[:MAX_KEY_LENGTH]
        title, rest = slugify(chapter.path[0])[:60], slugify(" ".join(chapter.path[1:]))[-120:].strip("-")
        self._chapters[book.key, slug := f"{title}-{rest}"] += 1  # of all headings that it is under
        number = self._chapters[book.key, slug]
        return build(
            "rules",
            {"name": name, **chapter.data} | ({"source": subject.source} if subject.source else {}),
            Origin(SOURCE, self._document or book.key, book.title),
            name=name,
            kind=chapter.kind,
            slug=slug if number == 1 else f"{slug}-{number}",
            fields={"parent": chapter.path[-2], AUDIENCE: (DM,) if chapter.is_secret else None},
        )


def _kind(value: object) -> str:
    """What a JSON value is, in a word."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
