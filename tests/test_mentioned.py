"""What a question names comes before other entries that have its words."""

from __future__ import annotations

from collections import Counter

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.search.entity_mentions import (
    OPTIONS,
    names_its_subject,
    with_named,
    with_subject,
)
from lorekeeper.search.retrieved import Retrieved
from lorekeeper.text.name_list import NameList
from tests.support.entities import make
from tests.support.tables import each_row


def of_books(*names: str) -> Retrieved:
    """Creatures of these names, each of which scores 2.0 by keywords."""
    hits = [Ranked(("own", name), name, 2.0) for name in names]
    return Retrieved({}, {("creatures", hit.identity): hit for hit in hits}, {}, len(hits), None)


@each_row(
    ("wordings", "wolf", "dire"),
    [
        (["stats of a wolf"], 3.0, 2.0),
        (["dire wolves at night"], 2.0 + 2.0 / 3, 2.0 + 4.0 / 3),
        (["wolf"], 2.0, 2.0),
        (["a wolf that howls at the silver moon"], 2.0, 2.0),
        (["stats of a wolf", "howling pack"], 2.0, 2.0),
        (["a cub"], 2.0, 2.0),
        (["we are hunting a wolf"], 2.0, 2.0),
        (["I'm chased by a wolf"], 2.0, 2.0),
    ],
)
def test_a_short_query_that_names_an_entry_of_a_book_raises_it(wordings, wolf, dire):
    raised = with_named(of_books("Wolf", "Dire Wolf", "Bear"), wordings).keyword
    assert {key[1][1]: pytest.approx(hit.score) for key, hit in raised.items()} == {
        "Wolf": wolf,
        "Dire Wolf": dire,
        "Bear": 2.0,
    }


@each_row(
    ("wordings", "named"),
    [
        (["how does a wolf work"], {"Wolf"}),
        (["explain dire wolves"], {"Dire Wolf"}),
        (["howling dire wolves"], set()),
        (["wolf hunters lore"], set()),
        (["wolf"], set()),
        (["stats of a wolf", "howling pack"], set()),
        (["hologram wolf"], set()),
    ],
)
def test_what_a_short_query_only_asks_for_by_name_is_surely_meant(wordings, named):
    assert {key[1][1] for key in with_named(of_books("Wolf", "Dire Wolf"), wordings).named} == named


@each_row(
    ("wording", "gained"),
    [
        ("burglar features at level 5", 1.0),
        ("burglar level 3", 1.0),
        ("what level does a burglar get twist away", 1 / 3),
        ("burglar", 0.0),
        ("which level of burglar gets twist away and a low blow", 0.0),
    ],
)
def test_a_class_is_named_whatever_the_level(wording, gained):
    hit, creature = Ranked(("own", "Burglar"), "Burglar", 2.0), Ranked(("own", "Level"), "Level Head", 2.0)
    ranking = {(OPTIONS, hit.identity): hit, ("creatures", creature.identity): creature}
    raised = with_named(Retrieved({}, ranking, {}, 2, None), [wording]).keyword
    assert raised[OPTIONS, hit.identity].score == pytest.approx(2.0 * (1 + gained))
    assert raised["creatures", creature.identity].score == 2.0


@each_row(
    ("wording", "named"),
    [
        ("what does a rogue get at level 7", {"Rogue"}),
        ("barbarian level 5 features", {"Barbarian"}),
        ("I just reached 3rd level as a rogue, what do I gain", {"Rogue"}),
        ("what does a rogue get", set()),
        ("how does a rogue pick a lock at level 7", set()),
        ("rogue and barbarian at level 7", set()),
    ],
)
def test_a_class_is_named_by_a_question_of_what_it_gets_at_a_level(wording: str, named: set[str]) -> None:
    options = [make(name.casefold(), type=OPTIONS, kind="class", name=name) for name in ("Rogue", "Barbarian")]
    ranking = {(OPTIONS, e.identity): Ranked(e.identity, e.name, 1.0) for e in options}
    found = with_subject(Retrieved(ranking, {}, {}, len(options), None), [wording])
    assert {hit.name for hit in found.names.values()} == named


@each_row(
    ("wording", "occurring", "named"),
    [
        ("what level do wizards get emberlance", 3, {"Emberlance"}),
        ("is emberlance on the bard list", 3, {"Emberlance"}),
        ("when does a druid learn call of the heron", 3, {"Call of the Heron"}),
        ("what level do wizards get emberlance", 400, set()),
        ("when does a druid learn call of the heron", 400, {"Call of the Heron"}),
        ("emberlance", 3, set()),
        ("emberlance against a heron", 3, set()),
        ("emberlance spells for a druid", 3, set()),
        ("we cast emberlance", 3, set()),
        ("what level is a spell", 3, set()),
    ],
)
def test_the_subject_of_a_question_is_named_whatever_it_asks(wording: str, occurring: int, named: set[str]) -> None:
    hits = [Ranked(("own", name), name, 1.0) for name in ("Emberlance", "Call of the Heron", "Spell Level", "Druid")]
    counted = {"books": Counter(dict.fromkeys(wording.split(), occurring))}
    found = Retrieved({}, {("spells", h.identity): h for h in hits}, {}, 1_000, None, counted=counted)
    assert {hit.name for hit in with_subject(found, [wording]).names.values()} == named
    assert {hit.name for hit in with_subject(found, ["another", wording]).names.values()} == named


@each_row(
    ("text", "is_one"),
    [
        ("is emberlance a cleric spell", True),
        ("is call of the heron a concentration spell", True),
        ("cleric spells like emberlance", False),
        ("a cleric spell to call a heron", False),
    ],
)
def test_a_question_about_one_entry_is_told_from_one_for_entries(text: str, is_one: bool) -> None:
    assert names_its_subject(text, NameList.of(["emberlance", "call of the heron", "cleric"])) is is_one
