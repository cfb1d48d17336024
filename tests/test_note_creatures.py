"""Stat blocks in notes: creatures of their vault, in any shape that people write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import MAX_KEY_LENGTH, Entity
from lorekeeper.normalize import normalize
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.note_creatures import Creatures, creatures_of
from lorekeeper.normalize.stat_block import READERS, RUBRICS
from lorekeeper.notes.note import Note, StatBlock
from lorekeeper.render.pages import markdown
from lorekeeper.text.passages import passages
from lorekeeper.text.sections import sections
from tests.support import golden
from tests.support.tables import each_row
from tests.support.vaults import vault_library

FEN_WYRM: dict[str, Any] = {"name": "Fen Wyrm", "ac": "17 (mossy scales)", "hp": 126, "cr": "9"}

LIBRARY = [
    obj for each in golden.imports_of(golden.FOLDER / "notes" / "creatures.yaml") if (obj := each.get("base.json"))
]

BASES = {json.dumps(obj, sort_keys=True)[:40]: obj for obj in LIBRARY if obj["name"] == "Acolyte"}
"""An acolyte in the shapes of both APIs of Open5e and in our own."""


def read(*blocks: StatBlock | Mapping[str, object], base: Entity | None = None, **note: Any) -> Creatures:
    """The creatures of a note with these stat blocks; ``base`` is the only one that the library has."""
    stat_blocks = [block if isinstance(block, StatBlock) else StatBlock(block) for block in blocks]
    whole = Note(
        **{"path": "Foes/Fens.md", "name": "Foes of the Fens", "kind": "location", "stat_blocks": stat_blocks} | note
    )
    return creatures_of(whole, "fens", "The Fens", lambda name: base if base and name == base.name else None)


def only(result: Creatures) -> Entity:
    """The creature of a note that has one, and no problem."""
    assert result.problems == []
    (entity,) = result.entities
    return entity


# --- a whole stat block ----------------------------------------------------------------------------------------------


def test_a_creature_keeps_the_marks_of_its_block_and_of_its_note():
    block = StatBlock(FEN_WYRM, mark="> [!ana]", audience=("ana",))
    data = only(read(block, mark="publish: true", audience="players")).data
    assert (data["mark"], data["audience"]) == ("> [!ana]", ["ana"])
    assert (data["note_mark"], data["note_audience"]) == ("publish: true", "players")
    assert data["note"].startswith("lore://notes/fens/")


# --- names and slugs -------------------------------------------------------------------------------------------------


def test_slugs_differ_and_stay_the_same_when_a_block_is_edited():
    guard, other = {"name": "Guard", "ac": 12}, {"name": "Guard", "ac": 14}
    first = [entity.slug for entity in read(guard, other, FEN_WYRM).entities]
    assert len(set(first)) == 3
    assert [entity.slug for entity in read({**guard, "hp": 3}, other, {**FEN_WYRM, "cr": 2}).entities] == first
    assert not {entity.slug for entity in read(guard, other, path="Foes/Fens 2.md").entities} & set(first)


@each_row("name", ["x" * 500, "龍" * 300, "!?", "ﷺ" * 20])
def test_a_slug_of_any_name_is_short_enough(name):
    slug = only(read({"name": name, "ac": 12})).slug
    assert 0 < len(slug) <= MAX_KEY_LENGTH


# --- changes of another creature -------------------------------------------------------------------------------------


def base_of(shape: str) -> Entity:
    (entity,) = normalize(BASES[shape])
    return entity


# --- anything --------------------------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.dates(),
    st.binary(max_size=3),
    st.sampled_from(
        ["15 (plate)", "1/4", "[[Mara|her]]", "darkvision 60 ft.", "half \ud800", "\u2028\x00", "9" * 400, "1d8"]
    ),
)
KEYS = st.one_of(
    st.sampled_from(
        [*READERS, *RUBRICS, *(f"{rubric}+" for rubric in RUBRICS), "spells", "name", "monster", "base", "document"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.tuples(inner, inner),
        st.dictionaries(
            st.one_of(st.sampled_from(["name", "desc", "walk", "hover", "str"]), SCALARS), inner, max_size=4
        ),
        st.sets(st.text(max_size=3), max_size=3),
    ),
    max_leaves=12,
)
BLOCKS = st.dictionaries(KEYS, VALUES, max_size=8)


@given(st.lists(BLOCKS, max_size=3), st.sampled_from([None, *BASES]))
def test_values_of_any_shape_give_creatures_or_reasons(blocks: Sequence[dict[str, Any]], shape: str | None):
    base = base_of(shape) if shape else None
    result = read(*(StatBlock(block, base="Acolyte" if base else "") for block in blocks), base=base)
    assert len(result.entities) <= len(blocks)
    assert len({entity.slug for entity in result.entities}) == len(result.entities)
    for entity in result.entities:
        assert checked("creatures", entity.as_record()) == entity
        assert markdown(entity).startswith("# ")
        assert passages(entity)


def test_a_value_that_contains_itself_ends():
    endless: list[Any] = []
    endless.append(endless)
    result = read({"name": "Ring", "ac": 12, **dict.fromkeys([*READERS, *RUBRICS, "spells", "more"], endless)})
    assert len(result.problems) > 10


CAPTAIN = """---
statblock: true
name: Fen Captain
ac: 15
hp: 40
spells:
  - "At will: light"
spells2:
  - "1/day: hold person"
villain_actions:
  - { name: Rally the Reeds, desc: All allies stand up. }
gm notes:
  - { name: Weakness, desc: The captain cannot swim at all. }
---
The captain waits.
"""


@pytest.mark.store
async def test_rubrics_of_ones_own_are_sections_and_secret_ones_stay_out(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Captain.md").write_text(CAPTAIN, "utf-8")
    async with vault_library(tmp_path, [tmp_path / "vault"], backend="sqlite") as library:
        await library.vaults.sync()
        (captain,) = await library.cache.get_entities("creatures")
        (named,) = await library.cache.get_entities("creatures", spells=["hold person"])
    page = markdown(captain)
    assert named.uri == captain.uri
    assert "#### Villain Actions\n\n**Rally the Reeds.** All allies stand up." in page
    assert ("Rally the Reeds", "All allies stand up.") in list(sections(captain))
    assert "cannot swim" not in page


@pytest.mark.store
async def test_a_check_knows_the_creatures_of_the_library_that_stat_blocks_change(tmp_path):
    changed = "```statblock\nmonster: {}\nname: {}\nhp: 20\n```\n"
    (tmp_path / "vault").mkdir()
    for base, name in (("Acolyte", "Ada"), ("Reed Giant", "Bo")):
        (tmp_path / "vault" / f"{name}.md").write_text(f"{name} of the mill.\n\n{changed.format(base, name)}", "utf-8")
    async with vault_library(tmp_path, [tmp_path / "vault"], backend="sqlite") as library:
        await library.cache.store_entities([base_of(next(iter(BASES)))], "creatures")
        found = await library.vaults.check()
    assert [(each.kind, each.path) for each in found] == [("stat-block", "Bo.md")]
    assert "Reed Giant" in found[0].what
