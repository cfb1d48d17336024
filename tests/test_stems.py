"""Names by stems and by corrected words."""

from __future__ import annotations

import random

from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import SIMILAR, name_key, nearest, similar_names
from lorekeeper.text.similar import SimilarTexts
from tests.support.tables import each_row

NAMES = NameList(
    ["grappling", "grappled", "goblin", "goblin boss", "dire wolf", "wolf", "elf drow", "adult red dragon", "harpy"]
)


def test_the_nearest_names_are_those_of_the_greatest_similarity():
    assert [name for name, _ in nearest("goblni", NAMES)] == ["goblin"]
    assert nearest("beholder", NAMES) == []
    assert all(similarity >= SIMILAR for _, similarity in nearest("grapplng", NAMES))


WORDS = """
    bosses boss dragons dragon dwarf dwarves elf elven fire fires fly flies goblin goblins grapple grappled grappling harpies
    harpy hoping hope knife knives lizard mad man men of oxen red relate relational the wolf wolves woman women 1 12
""".split()


def some_names(chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(200)]


@each_row("seed", range(3))
def test_names_are_looked_through_as_one_text_as_one_by_one(seed):
    print(f"seed {seed}")
    chance = random.Random(seed)
    names = [*some_names(chance), "", "a", "a a"]
    known = NameList(names)
    for part in ["", "a", "s", "go", "boss", " of ", "no such", *WORDS, *chance.sample(names, 30)]:
        assert list(known.places(part)) == [place for place, name in enumerate(names) if part in name], part
        assert known.beginning_with(part) == [name for name in names if name.startswith(part)], part
        assert (part in known) is (part in names), part
        assert set(known.words_beginning_with(part)) == {word for word in known.words if word.startswith(part)}, part
        assert set(known.words_ending_with(part)) == {word for word in known.words if word.endswith(part)}, part
    assert list(NameList().places("a")) == list(NameList().places("")) == []
    assert NameList.of(known) is known


def test_texts_that_cannot_be_similar_are_not_compared(seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab ", k=chance.randint(0, 12))) for _ in range(300)] + ["a" * 400]
    keys = dict(enumerate(map(name_key, texts)))
    for text in ["", "a" * 380, *chance.sample(texts, 50)]:
        assert SimilarTexts.of(texts).like(text, None) == similar_names(text, dict(enumerate(texts)), keys, None)
