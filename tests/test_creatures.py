"""What a creature is, resists, perceives, speaks and does, from the shapes and wordings of the sources."""

from __future__ import annotations

from typing import Any

from lorekeeper.filters import clean_fields, matches, parse_filters
from lorekeeper.normalize import normalize
from tests.support.entities import make
from tests.support.tables import each_row


def fields(**values: Any) -> dict[str, Any]:
    """The filter fields of a creature of Open5e's API v2 that has these values."""
    base = {
        "key": "ta_gloom-hart",
        "name": "Gloom Hart",
        "document": {"key": "tide-atlas"},
        "challenge_rating": 3.0,
        "hit_points": 40,
    }
    (entity,) = normalize({**base, **values})
    return dict(entity.fields)


def does(text: str, name: str = "Horn", **values: Any) -> dict[str, Any]:
    """The fields of a gloom hart with one action."""
    return fields(actions=[{"name": name, "desc": text, "action_type": "ACTION"}], **values)


def found(filters: dict[str, Any], **values: Any) -> bool:
    return matches(make("x", type="creatures", **values), parse_filters("creatures", filters))


# --- alignment, size, type, environment ------------------------------------------------------------------------------


@each_row(
    ("alignment", "finds", "misses"),
    [
        ("chaotic evil", ["Chaotic-Evil", "evil", "chaotic", "CE"], ["lawful evil", "good", "neutral"]),
        ("neutral evil", ["evil", "NE"], ["neutral", "chaotic evil"]),
        ("neutral", ["true neutral", "N", "Neutral"], ["neutral evil"]),
        ("lawful neutral or evil", ["lawful neutral", "evil", "lawful"], ["good", "neutral"]),
        ("neutral good (50%) or neutral evil (50%)", ["neutral good", "neutral evil", "good", "evil"], ["neutral"]),
        ("chaotic good or neutral", ["chaotic good", "neutral"], ["evil"]),
        ("any evil", ["any evil alignment", "evil"], ["chaotic evil", "any alignment"]),
        ("any non-good alignment", ["any non-good"], ["good", "evil"]),
        ("any alignment", ["any"], ["evil", "neutral"]),
        ("unaligned", ["unaligned"], ["neutral"]),
    ],
)
def test_an_alignment_is_found_whole_and_by_its_parts(alignment, finds, misses):
    assert [f for f in finds if not found({"alignment": f}, alignment=alignment)] == []
    assert [f for f in misses if found({"alignment": f}, alignment=alignment)] == []


@each_row(
    ("line", "parts"),
    [
        ("swarm of Tiny beasts", {"beast", "swarm"}),
        ("medium undead (shapechanger)", {"undead", "shapechanger"}),
        ("humanoid (shadow fey)", {"humanoid"}),
        ("Monstrosities", {"monstrosity"}),
    ],
)
def test_a_type_line_is_found_by_its_type_and_tags(line, parts):
    values = clean_fields("creatures", {"type": line})["type"]
    assert isinstance(values, tuple)
    assert set(values[1:]) == parts


@each_row(
    ("source", "asked"),
    [
        ("Swamp or Marsh", "marsh"),
        ("swamp", "bog"),
        ("srd_feywild", "Feywild"),
        ("Coastal", "coast"),
        ("Caverns", "caves"),
        ("underworld", "Underdark"),
        ("ocean", "underwater"),
        ("lake", "aquatic"),
        ("caves", "underground"),
        ("Jungle", "forest"),
        ("Settlement", "city"),
        ("ruins", "dungeon"),
    ],
)
def test_environments_of_all_sources_have_one_form(source, asked):
    assert found({"environments": asked}, environments=[source])
    assert not found({"environments": "desert"}, environments=[source])


# --- character options -----------------------------------------------------------------------------------------------


@each_row(
    ("asked", "kind"),
    [("species", "race"), ("Race", "race"), ("Subspecies", "subrace"), ("lineage", "race"), ("feats", "feat")],
)
def test_a_kind_is_found_by_the_words_of_other_games(asked, kind):
    option = make("x", type="character_options", kind=kind)
    assert matches(option, parse_filters("character_options", {"kind": asked}))
    assert not matches(option, parse_filters("character_options", {"kind": "background"}))
