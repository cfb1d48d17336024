"""What would change in a library: compared by content hashes, once for imports, migrations, restores and syncs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.intake.changes import Changes

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
