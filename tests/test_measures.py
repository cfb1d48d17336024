"""What is measured where it happens, for whoever listens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lorekeeper.measures import PHASES, Event, Phase, counted, listening, timed
from lorekeeper.search.query import Query
from tests.support.libraries import sample_library


class Heard:
    """What a listener gets."""

    def __init__(self) -> None:
        self.phases = Counter[Phase]()
        self.events = Counter[Event]()
        self.seconds = 0.0

    def took(self, phase: Phase, seconds: float) -> None:
        self.phases[phase] += 1
        self.seconds += seconds

    def happened(self, event: Event, number: int) -> None:
        self.events[event] += number


@pytest.mark.store
async def test_each_phase_of_a_search_is_measured_once(tmp_path: Path) -> None:
    heard = Heard()
    async with sample_library(tmp_path, "sqlite") as library:
        with listening(heard):
            page = await library.search(Query(types=["spells"], text="a lance of water"))
            assert page.results
            assert heard.phases == Counter(PHASES)
            await library.search(Query(types=["spells"], text="a lance of water", limit=3))
        again = heard.phases.copy()
        await library.search(Query(types=["spells"], text="a wall of fire"))
    assert heard.events == {"query_embedded": 1, "query_cached": 1}
    assert again.total() > len(PHASES)
    assert heard.phases == again, "nobody listens any more"
    assert heard.seconds > 0


def test_what_fails_is_measured_too_and_nothing_is_not_counted() -> None:
    heard = Heard()
    with listening(heard):
        counted("vault_note_stored", 0)
        counted("vault_note_removed", 3)
        try:
            with timed("load"):
                raise RuntimeError
        except RuntimeError:
            pass
    assert heard.events == {"vault_note_removed": 3}
    assert heard.phases == {"load": 1}
