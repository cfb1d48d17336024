"""Two entries beside each other: facts and sentences, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.play.differences import Differences, Passage, differences
from lorekeeper.server.page.versions import Version, version_of
from lorekeeper.server.rest.problems import bad_request
from lorekeeper.views.view import View, apart

MAX_ROWS = 1_000
"""Most rows of sentences that are shown."""


@dataclass(frozen=True)
class Compared:
    """Two entries as a page shows them beside each other.

    Attributes:
        versions: where they are from, the entry of the page first.
        found: what differs.
        passages: the passages that are shown, each with its headings.
        left_out: number of rows that are not.
    """

    versions: Sequence[Version]
    found: Differences
    passages: Sequence[tuple[str, Passage]]
    left_out: int


async def beside(view: View, *entities: Entity) -> Compared:
    """Two entries of one type beside each other; RefusedError if they cannot be compared."""
    entity, other = entities
    if other.type != entity.type or other.identity == entity.identity:
        raise bad_request(f"compare an entry with another {entity.collection.label}")
    versions = [await version_of(view, each) for each in entities]
    return await apart(_compared, versions)


def _compared(versions: Sequence[Version]) -> Compared:
    result = differences([version.entity for version in versions])
    passages: list[tuple[str, Passage]] = []
    rows = 0
    for passage in result.passages:
        if rows + len(passage.rows) <= MAX_ROWS:
            # the headings above it and its name, both if the entries have different ones
            heading = " / ".join(dict.fromkeys(" › ".join(place) for place in passage.places if place))
            passages.append((heading, passage))
            rows += len(passage.rows)
    return Compared(versions, result, passages, sum(len(each.rows) for each in result.passages) - rows)
