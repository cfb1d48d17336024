"""What would change in a library: compared by content hashes, once for imports, migrations, restores and syncs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.intake.changes import Changes, PendingEntities
from lorekeeper.intake.files import Batch
from lorekeeper.intake.formats.text_file import Entry
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize import normalize
from tests.support.libraries import open_library

HASHES = st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), st.sampled_from("12"))


@given(HASHES, HASHES)
def test_changes_lead_from_what_is_stored_to_what_is_to_be_stored(stored, target):
    changes = Changes.between(stored, target)
    kept = {identity: digest for identity, digest in stored.items() if identity not in changes.removed}
    assert {**kept, **{identity: target[identity] for identity in changes.to_store}} == target
    assert all(stored[identity] == target[identity] for identity in changes.unchanged)
    assert changes.new | changes.changed | changes.unchanged == target.keys()
    assert len(changes.new) + len(changes.changed) + len(changes.unchanged) == len(target)
    assert changes.changed <= stored.keys()


MAIL = {"key": "ta_kelp-mail", "name": "Kelp Mail", "document": {"key": "ta", "name": "The Tide Atlas"}}
ROW = {**MAIL, "category": "heavy", "ac_base": 15, "ac_display": "15", "grants_stealth_disadvantage": True}
WHOLE = {
    **MAIL,
    "desc": "Mail of kelp.",
    "weapon": None,
    "armor": {"category": "heavy", "ac_base": 15},
    "category": {"name": "Armor", "key": "armor"},
}


@pytest.mark.parametrize("order", [(ROW, WHOLE), (WHOLE, ROW)], ids=["row first", "row last"])
async def test_a_row_of_a_table_never_replaces_the_whole_entry(order, tmp_path: Path):
    (whole,) = normalize(WHOLE)
    report = ImportReport()
    async with open_library(tmp_path, backend="sqlite") as library:
        pending = PendingEntities(library.cache, report)
        for obj in order:
            await pending.add(Batch([Entry(entity, "items.json") for entity in normalize(obj)], 1, 1))
        assert list(pending.due(everything=True)) == [{"equipment": [whole]}]
        assert (report.stored, report.warnings) == (1, [])
        await library.cache.store_entities([whole], "equipment")
        again = PendingEntities(library.cache, report)
        await again.add(Batch([Entry(entity, "armor.json") for entity in normalize(ROW)], 1, 1))
        assert list(again.due(everything=True)) == [], "nor one that the library has"
