"""All versions of one entry: those that different books and editions have under one name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.search.resolve_entry import Search, called
from lorekeeper.search.results import Result


@dataclass(frozen=True)
class Versions:
    """The entries of one name and type, of one kind if several are.

    Attributes:
        entities: one of each edition first, in the order in which a search lists them.
        left_out: uris of further ones.
        note: how the name was understood, None if it is the entries' own.
    """

    entities: list[Entity]
    left_out: list[str]
    note: str | None


async def versions(
    search: Search, name: str, types: Sequence[str], most: int, documents: Sequence[str] | None = None
) -> Versions:
    """The versions of an entry.

    Args:
        search: a library's search.
        name: as people write it.
        types: the entity types to look in.
        most: number of entries to give.
        documents: keys of the only documents to look in; None for all.

    Raises:
        NotFoundError: there is no entry of that name, or only one; the message says what to give instead.
    """
    page = await called(search, name, types, documents)
    first = page.results[0].entity
    of_type = [result for result in page.results if result.entity.type == first.type]
    of_kind = [result for result in of_type if result.entity.kind == first.kind]
    # one book has as gear what another has as a magic item
    alike = of_kind if len(of_kind) > 1 else of_type
    if len(alike) < 2:
        raise NotFoundError(
            f"only one entry is called {first.name}: {first.uri}; give the uris of what to compare it with"
        )
    ordered = [result.entity for result in _editions_first(alike)]
    return Versions(ordered[:most], [entity.uri for entity in ordered[most:]], page.note)


def _editions_first(results: Sequence[Result]) -> list[Result]:
    """One result of each edition, then the others; both in order."""
    firsts = {result.edition: result for result in reversed(results)}
    return sorted(results, key=lambda result: result is not firsts[result.edition])
