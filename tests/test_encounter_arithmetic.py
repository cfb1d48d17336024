"""The arithmetic of encounters against published tables and examples, and proposals within the budget."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.play.encounters.arithmetic import Foes, limits, multiplier, rated, window
from lorekeeper.play.encounters.asked import parse_party
from lorekeeper.play.encounters.proposals import chosen, encounters, kinship
from lorekeeper.play.encounters.shapes import Budget, patterns
from lorekeeper.play.encounters.tables import DIFFICULTIES
from lorekeeper.records.creatures import EXPERIENCE
from lorekeeper.terms import MAX_LEVEL
from tests.support.bestiary import NEW, OLD, bestiary, creature, pools_of
from tests.support.examples import examples
from tests.support.tables import each_row, rows

FRACTIONS = {"1/8": 0.125, "1/4": 0.25, "1/2": 0.5}


def foes(text: str) -> list[Foes]:
    """ "1x1 3x1/2": one of challenge rating 1, three of 1/2."""
    found = []
    for part in text.split():
        count, _, name = part.partition("x")
        rating = FRACTIONS.get(name) or float(name)
        found.append(Foes(f"Monster {name}", int(count), rating, EXPERIENCE[rating]))
    return found


# --- arithmetic ------------------------------------------------------------------------------------------------------


def test_the_example_of_the_basic_rules():
    levels = parse_party(["3 3 3 2"])
    assert limits(levels, "2014") == {"easy": 275, "medium": 550, "hard": 825, "deadly": 1400}
    rating = rated(levels, [Foes("Bugbear", 1, 1, 200), Foes("Hobgoblin", 3, 0.5, 100)], "2014")
    assert (rating.xp, rating.adjusted, rating.difficulty) == (500, 1000, "hard")
    assert rating.lines[:2] == (
        "Monsters: 1 × 200 (Bugbear, CR 1) + 3 × 100 (Hobgoblin, CR 1/2) = 500 XP",
        "Adjusted: 500 × 2 (4 monsters) = 1,000 XP",
    )


CASES = rows("encounters")
"""Party, monsters, XP, adjusted XP, difficulty of 2014 and of 2024, and whether the benchmark says "may be deadly":
calculated apart from the program, from the published tables."""


@each_row(("party", "monsters", "xp", "adjusted", "of_2014", "of_2024", "deadly"), CASES)
def test_encounters_are_as_hard_as_the_tables_say(party, monsters, xp, adjusted, of_2014, of_2024, deadly):
    levels, given_foes = parse_party([party]), foes(monsters)
    old, new = rated(levels, given_foes, "2014"), rated(levels, given_foes, "2024")
    assert (old.xp, old.adjusted, old.difficulty) == (xp, adjusted, of_2014)
    assert (new.xp, new.adjusted, new.difficulty) == (xp, xp, of_2024)
    said = f"Difficulty: {of_2024} ({xp:,} XP, the budget of {of_2024.removeprefix('beyond ')} is "
    assert said in "\n".join(new.lines)
    for rating in (old, new):
        assert rating.lines[-1].startswith(f"Lazy GM benchmark: {'may be deadly' if deadly else 'not deadly'}:")


def test_multipliers_follow_the_number_of_monsters_and_the_size_of_the_party():
    counts = (1, 2, 3, 6, 7, 10, 11, 14, 15, 1000)
    assert [multiplier(count, 4) for count in counts] == [1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 4, 4]
    assert [multiplier(count, 2) for count in counts] == [1.5, 2, 2.5, 2.5, 3, 3, 4, 4, 5, 5]
    assert [multiplier(count, 6) for count in counts] == [0.5, 1, 1.5, 1.5, 2, 2, 2.5, 2.5, 3, 3]


@each_row("rules", DIFFICULTIES)
def test_windows_meet_and_do_not_overlap(rules):
    least, most = zip(*(window((3, 3, 5), rules, name) for name in DIFFICULTIES[rules]), strict=True)
    assert [end + 1 for end in most[:-1]] == list(least[1:])
    assert least[-1] < most[-1]


def test_the_rules_of_2024_warn_of_many_monsters_and_of_strong_ones():
    advice = rated((3, 3), foes("5x1/8 1x4"), "2024").advice
    assert [text.partition(" ")[0] for text in advice] == ["6", "Monster"]
    assert rated((3, 3), foes("2x2"), "2024").advice == ()


# --- proposals -------------------------------------------------------------------------------------------------------

PARTIES = st.lists(st.integers(1, MAX_LEVEL), min_size=1, max_size=8)
RULES = st.sampled_from([(rules, name) for rules, names in DIFFICULTIES.items() for name in names])


@given(party=PARTIES, asked=RULES, number=st.integers(0, 80), seed=st.integers(0, 10_000))
@examples(150)
def test_proposals_are_within_the_budget_different_and_repeatable(party, asked, number, seed):
    rules, difficulty = asked
    creatures = bestiary(random.Random(seed), number)
    pools = pools_of(creatures)
    budget = Budget.of(party, rules, difficulty)
    found = patterns(budget, {rating: len(pool) for rating, pool in pools.items()})

    def proposed() -> Any:
        order = random.Random(seed)
        return encounters(chosen(found, budget, order), pools, budget, order)

    made = proposed()
    assert made == proposed()
    names = [monster.entity.name for encounter in made for monster in encounter.monsters]
    assert len(names) == len(set(names))
    assert bool(made) == any(found.values())
    for encounter in made:
        assert budget.least <= encounter.rating.adjusted <= budget.most
        assert encounter.rating.difficulty == difficulty
        assert rated(party, [monster.foes for monster in encounter.monsters], rules) == encounter.rating


def test_a_full_shelf_gives_one_encounter_of_each_shape():
    creatures = bestiary(random.Random(5), 300)
    pools = pools_of(creatures)
    budget, order = Budget.of((5, 5, 5, 5), "2024", "high"), random.Random(1)
    found = patterns(budget, {rating: len(pool) for rating, pool in pools.items()})
    made = encounters(chosen(found, budget, order), pools, budget, order)
    assert [encounter.title for encounter in made] == ["one strong foe", "a leader with followers", "a group"]
    leader, followers = made[1].monsters
    assert (leader.count, followers.count > 1) == (1, True)
    assert leader.entity.fields["type"] == followers.entity.fields["type"]


@each_row(
    ("name", "document", "fields", "closeness"),
    [
        ("Ash Wolf", NEW, {"type": "beast", "environments": ["hills"]}, 0),
        ("Ash Wolf", OLD, {"type": "beast", "environments": ["hills"]}, 1),
        ("Ash Wolf", NEW, {"type": "beast", "environments": ["hills", "swamp"]}, 1),
        ("Ash Wolf", NEW, {"type": "undead", "environments": ["hills"]}, 2),
        ("Ash Gull", NEW, {"type": "beast", "environments": ["hills"]}, 3),
        ("Ash Gull", OLD, {"type": "undead", "environments": ["swamp"]}, 7),
    ],
)
def test_creatures_belong_together_by_name_type_place_and_book(name, document, fields, closeness):
    one = creature("Fen Gull", OLD, type="undead", environments=["swamp"])
    other = creature(name, document, **fields)
    assert (kinship(one, other), kinship(other, one)) == (closeness, closeness)
