"""Hostile inputs: good archives, caches, packs, files and vectors, each spoilt in one way.

`inputs` gives any number of them: known kinds of attack, and random mutations. The same seed gives the same ones.
What a server may answer is in `tests/test_hostile_open5e.py`.
"""

from __future__ import annotations

import itertools
import random

from tests.support.hostile.archives import archive_mutation, archives
from tests.support.hostile.input import Good, Input
from tests.support.hostile.sqlite_files import cache_mutation, caches, libraries
from tests.support.hostile.texts import file_mutation, files, pack_mutation, packs
from tests.support.hostile.vectors import known_vectors

__all__ = ["Good", "Input", "inputs"]

FAMILIES = (archives, caches, libraries, packs, files, known_vectors)

MUTATIONS = (archive_mutation, file_mutation, cache_mutation, pack_mutation)


def inputs(chance: random.Random, number: int) -> list[Input]:
    """The good ones, and that many that are not: three in five are attacks of their own kind, taken in turns from all
    families, and of the rest one half has swapped values and one half is mutated at random.
    """
    families = [list(family()) for family in FAMILIES]
    for family in families:
        chance.shuffle(family)
    every = [one for turn in itertools.zip_longest(*families) for one in turn if one is not None]
    own = [one for one in every if not (one.good or one.swapped)][: number * 3 // 5]
    swapped = [one for one in every if one.swapped][: (number - len(own)) // 2]
    mutated = (mutation(n) for n in itertools.count() for mutation in MUTATIONS)
    good = [one for one in every if one.good]
    return [*good, *own, *swapped, *itertools.islice(mutated, number - len(own) - len(swapped))]
