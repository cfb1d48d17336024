"""Feedback among notes: words that the nearest ones share find others, and which of a library's corpora comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.entities import Entity
from lorekeeper.search.feedback import NEAREST, with_feedback
from lorekeeper.search.fusion import BOOKS, FUSED_BY_SCORE, NOTES
from lorekeeper.search.query import Query
from lorekeeper.search.retrieved import Ranking, Retrieved
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row

QUESTION = "who put out the fire?"


def note(slug: str, text: str) -> Entity:
    return make(slug, type="notes", name=slug, kind="note", document="vault", data={"sections": [{"desc": text}]})


def ranking(*entities: Entity, passages: Sequence[str] = ()) -> Ranking:
    """Entities in this order, with the passages that matched."""
    texts = [*passages, *[""] * len(entities)]
    return {
        (e.type, e.identity): Ranked(e.identity, e.name, 1.0 - place / 100, texts[place])
        for place, e in enumerate(entities)
    }


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_note_in_the_words_of_the_nearest_ones_is_raised(tmp_path, backend):
    near = [note(f"near{n}", f"Holya guards the pyre, day {n}.") for n in range(2)]
    told = note("told", "The pyre of Holya went dark.")
    others = [note(f"other{n}", f"Nothing of note on day {n}.") for n in range(9)]
    async with open_library(tmp_path, backend=backend) as library:
        await library.cache.store_entities([*near, told, *others], "notes")
        texts = [entity.data["sections"][0]["desc"] for entity in near]
        found = Retrieved(ranking(*near, told, passages=texts), ranking(*others, *near), {}, 12, None)
        fed = await with_feedback(library.cache, found, [QUESTION])
        assert next(iter(fed.keyword))[1][1].startswith("near")
        assert fed.keyword["notes", told.identity].score > 0
        assert fed.keyword["notes", others[0].identity] == found.keyword["notes", others[0].identity]
        far = replace(found, semantic=ranking(*near, passages=texts))
        assert ("notes", told.identity) not in (await with_feedback(library.cache, far, [QUESTION])).keyword


async def test_the_head_is_the_same_however_deep_a_page_is(tmp_path):
    notes = [note(f"n{n:03}", f"Day {n}." if n % 5 else f"The pyre of day {n}.") for n in range(FUSED_BY_SCORE + 20)]
    near = notes[5 : 5 + 5 * NEAREST : 5]
    texts = [entity.data["sections"][0]["desc"] for entity in near]
    async with open_library(tmp_path) as library:
        await library.cache.store_entities(notes, "notes")
        semantic = ranking(*near, passages=texts)
        found = [Retrieved(semantic, ranking(*notes[:depth]), {}, 80, None) for depth in (FUSED_BY_SCORE, len(notes))]
        shallow, deep = [await with_feedback(library.cache, each, [QUESTION]) for each in found]
        head = list(shallow.keyword)[:FUSED_BY_SCORE]
        assert head == list(deep.keyword)[:FUSED_BY_SCORE]
        assert head != list(ranking(*notes[:FUSED_BY_SCORE]))
        assert len(deep.keyword) == len(notes)


@each_row(
    ("having", "leads"),
    [
        ({BOOKS: {"dragon": 900}, NOTES: {"dragon": 40}}, BOOKS),
        ({BOOKS: {"dragon": 900, "sails": 30}, NOTES: {"dragon": 40}}, NOTES),
        ({BOOKS: {}, NOTES: {"mirra": 40}}, NOTES),
    ],
)
def test_a_single_word_that_both_shelves_have_does_not_tell_which_is_asked_for(having, leads):
    turtles = [note(f"turtle{n}", "A dragon turtle.") for n in range(5)]
    dragons = [make(f"dragon{n}", "A dragon.", type="creatures") for n in range(5)]
    near = ranking(*dragons) | {key: hit._replace(score=hit.score - 0.1) for key, hit in ranking(*turtles).items()}
    worded = {key: hit._replace(score=20.0 if key[0] == NOTES else 5.0) for key, hit in near.items()}
    found = Retrieved(near, worded, counted={name: Counter(words) for name, words in having.items()})
    assert found.nearest_corpus.name == leads


ITEMS = "Recap, strong start, secrets, locations, monsters, treasure, and snacks for the game night."


async def test_near_copies_of_a_note_take_one_place_if_the_whole_texts_are_alike_and_those_who_see_them(tmp_path):
    copies = [note(f"list{n}", f"{ITEMS} {n}") for n in range(3)]
    longer = note(
        "state", f"{ITEMS}\n\n" + "The baron sold the seal of the grey heron to smugglers from another coast. " * 2
    )
    players = replace(note("known", ITEMS), fields={"audience": ("players",)})
    async with open_library(tmp_path) as library:
        await library.cache.store_entities([*copies, longer, players], "notes")
        page = await library.search(Query(["notes"], "strong start, secrets, monsters and treasure of the game night"))
        named = (await library.search(Query(["notes"], "list1"))).results[0]
    found = {result.entity.name: len(result.variants) for result in page.results}
    assert sorted(name.rstrip("012") for name in found) == ["known", "list", "state"]
    assert sorted(found.values()) == [0, 0, 2]
    assert (named.entity.name, named.variants) == ("list1", ())
