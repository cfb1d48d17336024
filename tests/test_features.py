"""Features by their names: a class is found by the heading of one of its sections, which is shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.entities import Entity
from lorekeeper.search.entity_mentions import FEATURE_SIMILARITY, OPTIONS, with_features
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.query import Query
from lorekeeper.search.retrieved import Retrieved
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row

FEATURES = {
    "Expertise in Locks": "You open what others cannot, with a pick and patience. " * 8,
    "Low Blow": "Once on each turn you hit harder from the shadows. " * 8,
    "Twist Away": "You halve the damage of a hit that you see, low blow or not. " * 8,
}


def burglar(name: str = "Burglar") -> Entity:
    features = [{"name": heading, "desc": text} for heading, text in FEATURES.items()]
    return make(name.casefold(), type=OPTIONS, name=name, kind="class", data={"features": features})


def found(*near: Sequence[str]) -> Retrieved:
    """Options with these headings near, named by letters, and a rule, all of which keywords have found as well."""
    options = {}
    for place, headings in enumerate(near):
        identity = "own", chr(97 + place)
        options[OPTIONS, identity] = Ranked(
            identity, chr(65 + place), 0.5, near=tuple((each, 0.5) for each in headings)
        )
    rule = {("rules", ("own", "rule")): Ranked(("own", "rule"), "Rule", 0.6)}
    return Retrieved(
        {**rule, **options}, {key: Ranked(hit.identity, hit.name, 2.0) for key, hit in options.items()}, {}, 9, None
    )


@each_row("wording", ["low blow", "Low Blows", "what is the low blow?", "explain low blow", "low blow at level 9"])
def test_the_name_of_a_feature_names_who_has_it(wording):
    named = with_features(found(["Low Blow", "Twist Away"], ["Twist Away"]), [wording]).names
    assert {key[1][1]: hit.score for key, hit in named.items()} == {"a": FEATURE_SIMILARITY}


@each_row(
    ("wording", "share"),
    [
        ("how does low blow work", 2 / 3),
        ("low blow dice at level 7", 2 / 3),
        ("damage of a low blow by turns", 2 / 4),
        ("blow up", 0),
    ],
)
def test_a_part_of_a_short_query_raises_who_has_it(wording, share):
    raised = with_features(found(["Low Blow", "Blow"], ["Twist Away"]), [wording])
    assert not raised.names
    scores = {key[1][1]: hit.score for key, hit in raised.keyword.items()}
    assert scores == {"a": pytest.approx(2.0 + 2.0 * share), "b": 2.0}


@each_row(("place", "number"), [(FUSED_BY_SCORE - 1, 1), (FUSED_BY_SCORE, 0)])
def test_what_lies_beyond_the_head_names_nobody(place, number):
    hits = [Ranked(("own", f"{n:03}"), f"Option {n}", 1.0 - n / 100) for n in range(FUSED_BY_SCORE + 5)]
    hits[place] = hits[place]._replace(section="Low Blow")
    ranking = {(OPTIONS, hit.identity): hit for hit in hits}
    assert len(with_features(Retrieved(ranking, {}, {}, 99, None), ["low blow"]).names) == number


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_library_knows_which_sections_of_a_class_are_near(tmp_path, backend):
    others = [make(f"s{n}", "A low blow of the wind, once on each turn.", name=f"Gale {n}") for n in range(3)]
    async with open_library(tmp_path, backend=backend) as library:
        await library.cache.store_entities([burglar(), burglar("Acrobat")], OPTIONS)
        await library.cache.store_entities(others, "spells")
        page = await library.search(Query([OPTIONS, "spells"], text="twist away"))
        first, *_ = page.results
    assert first.entity.type == OPTIONS
    assert (first.match, first.section) == ("name", "Twist Away")
