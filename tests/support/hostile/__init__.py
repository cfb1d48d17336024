"""Hostile inputs: good archives, caches, packs, files, answers of a server and vectors, each spoilt in one way.

`inputs` gives any number of them: known kinds of attack, and random mutations. The same seed gives the same ones.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from tests.support.hostile.answers import server_mutation, servers, synced
from tests.support.hostile.archives import archive_mutation, archives, good_archives
from tests.support.hostile.input import Good, Input
from tests.support.hostile.server import Attack
from tests.support.hostile.sqlite_files import cache_mutation, caches, good_caches, libraries
from tests.support.hostile.texts import file_mutation, files, good_files, pack_mutation, packs
from tests.support.hostile.vectors import known_vectors

__all__ = ["FAMILIES", "MUTATIONS", "Good", "Input", "good_ones", "inputs"]

FAMILIES: dict[str, Callable[[], Iterator[Input]]] = {
    "archives": archives,
    "caches": caches,
    "libraries": libraries,
    "packs": packs,
    "files": files,
    "servers": servers,
    "known vectors": known_vectors,
}

MUTATIONS = (archive_mutation, file_mutation, cache_mutation, pack_mutation, server_mutation)


def inputs(chance: random.Random, number: int) -> list[Input]:
    """The good ones, and that many that are not: three in five are attacks of their own kind, taken in turns from all
    families, and of the rest one half has swapped values and one half is mutated at random.

    Where not all attacks have room, those that take long to fail are left out.
    """
    families = [list(family()) for family in FAMILIES.values()]
    for family in families:
        chance.shuffle(family)
    own = _in_turns([[i for i in family if not i.swapped] for family in families])
    if number * 3 // 5 < len(own):
        own = [i for i in own if not i.lasting][: number * 3 // 5]
    swapped = _in_turns([[i for i in family if i.swapped and not i.lasting] for family in families])
    swapped = swapped[: (number - len(own)) // 2]
    mutated = (mutation(n) for n in itertools.count() for mutation in MUTATIONS)
    return [*good_ones(), *own, *swapped, *itertools.islice(mutated, number - len(own) - len(swapped))]


def _in_turns(families: list[list[Input]]) -> list[Input]:
    """The first of each family, the second of each, and so on."""
    return [i for turn in itertools.zip_longest(*families) for i in turn if i is not None]


def good_ones() -> Iterator[Input]:
    """Inputs with nothing wrong: a command that refuses these shows nothing by refusing the others."""
    yield from (*good_archives(), *good_caches(), *good_files())
    right = synced(Attack("as it is"))
    yield Input(right.name, right.build, right.attack, good=True)
