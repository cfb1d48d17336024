"""Two to four entries side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from lorekeeper.entities import Entity
from lorekeeper.play.differences.align import Bag, Draft, Effort, aligned, bag_of, likeness, similarity
from lorekeeper.play.differences.declared import declared
from lorekeeper.play.differences.facts import facts, marked, reworded
from lorekeeper.play.differences.outline import Block, Outline, outline
from lorekeeper.play.differences.result import Differences, Passage, Row
from lorekeeper.play.differences.words import keys, sentences

MAX_ENTRIES = 4
"""Most entries that are compared at once."""

SAME_PASSAGE = 0.5
"""Least similarity of two passages with different names that are one passage."""

MOVED = 0.7
"""Least similarity of two sentences of different passages that are one sentence."""

MOVED_WORDS = 5
"""Fewest words of such a sentence that carry meaning: shorter ones stand in many places."""

CROSSED = 0.5
"""Least similarity of two sentences of one passage that stand in another order."""

Path = tuple[str, ...]


@dataclass(eq=False)
class _Group:
    """Blocks of several entries that are one passage, and their rows."""

    paths: dict[int, Path]
    blocks: list[Block]
    rows: list[Draft] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(sentence for block in self.blocks for sentence in block.sentences)


def differences(entities: Sequence[Entity]) -> Differences:
    """What differs between entries: facts by their labels, texts by their sentences.

    Punctuation, case, the form of quotation marks, markup, and the order of the values of a list are no differences;
    numbers are. Every word of each page is in a fact, in a row or in the place of a passage.

    Args:
        entities: two to `MAX_ENTRIES`, as their viewer sees them.
    """
    pages = _told_alike([outline(entity) for entity in entities])
    groups = _groups(pages)
    passages = [_passage(group, len(entities)) for group in _with_moved(groups, len(entities), Effort())]
    lines = [
        [*page.facts, *declared(entity, {label for label, _ in page.facts})]
        for entity, page in zip(entities, pages, strict=True)
    ]
    return Differences(tuple(entities), tuple(facts(lines, [page.facts for page in pages])), tuple(passages))


def _told_alike(pages: Sequence[Outline]) -> Sequence[Outline]:
    """The pages; what one tells in a line and another in a passage of that name is a passage of both."""
    told = {keys(block.name) for page in pages for block in page.blocks if block.name}
    for page in pages:
        page.blocks += [Block((), label, [*sentences(value)]) for label, value in page.facts if keys(label) in told]
        page.facts = [(label, value) for label, value in page.facts if keys(label) not in told]
    return pages


# --- passages --------------------------------------------------------------------------------------------------------


def _groups(pages: Sequence[Outline]) -> list[_Group]:
    """The passages of all pages, those of one page beside those of the others that are the same."""
    effort = Effort()
    groups: list[_Group] = []
    for entry, page in enumerate(pages):
        partners = _partners(groups, page.blocks, effort)
        added: dict[_Group | None, list[_Group]] = {}
        before = None
        for number, block in enumerate(page.blocks):
            group = partners.get(number)
            if group is None:
                group = _Group({}, [])
                added.setdefault(before, []).append(group)
            else:
                before = group
            group.rows = aligned(group.rows, block.sentences, entry, effort)
            group.paths[entry] = block.path
            group.blocks.append(block)
        groups = [each for group in (None, *groups) for each in (group, *added.get(group, [])) if each is not None]
    return groups


_LEVEL = re.compile(r"^Level \d+: ")
"""What stands before the name of a class feature."""

BY = Callable[[Block], Hashable]

SAME: tuple[BY, ...] = (
    lambda block: (tuple(map(keys, block.place)), keys(block.name)),
    lambda block: keys(block.name) or None,
    lambda block: keys(block.name.partition("(")[0]) or None,
    lambda block: None if block.name else tuple(map(keys, block.place[-1:])),
    lambda block: keys(_LEVEL.sub("", block.path[-1])) if block.path else None,
)
"""By what two passages are one, the surest first; None if a passage cannot be told by it."""


def _partners(groups: Sequence[_Group], blocks: Sequence[Block], effort: Effort) -> dict[int, _Group]:
    """The group that each block belongs to, by the number of the block."""
    found: dict[int, _Group] = {}
    free = dict.fromkeys(groups)
    for by in SAME:
        named: dict[Hashable, list[_Group]] = {}
        for group in reversed(free):
            for key in {by(block) for block in group.blocks} - {None}:
                named.setdefault(key, []).append(group)
        for number, block in enumerate(blocks):
            candidates = [] if number in found else named.get(by(block), [])
            while candidates and candidates[-1] not in free:
                candidates.pop()
            if candidates:
                found[number] = candidates.pop()
                del free[found[number]]
    left = {number: block for number, block in enumerate(blocks) if number not in found}
    return found | _by_text(list(free), left, effort)


def _by_text(free: Sequence[_Group], blocks: dict[int, Block], effort: Effort) -> dict[int, _Group]:
    """The groups of blocks that have other names, by what they say: the most similar pairs first."""
    if not effort.take(len(free) * len(blocks)):
        return {}
    bags = {number: bag_of(" ".join(block.sentences)) for number, block in blocks.items()}
    pairs = [
        (alike, place, number)
        for place, group in enumerate(free)
        for number, bag in bags.items()
        if (alike := similarity(bag_of(group.text), bag)) >= SAME_PASSAGE
    ]
    found: dict[int, _Group] = {}
    for _, place, number in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if number not in found and free[place] not in found.values():
            found[number] = free[place]
    return found


# --- sentences -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Lonely:
    """A row that not every entry has."""

    group: _Group
    row: Draft
    bags: list[Bag]

    def fits(self, other: _Lonely, alike: float) -> bool:
        """Whether both may say the same: in one passage with few words in common, in two with nearly all of many.

        Args:
            other: a row of other entries.
            alike: similarity of those texts of both that are nearest to each other.
        """
        if self.group is other.group:
            return alike >= CROSSED
        if alike < MOVED:
            return False
        mine, theirs = ([bag for bag in row.bags if len(bag.telling) >= MOVED_WORDS] for row in (self, other))
        return any(similarity(bag, beside) >= MOVED for bag in mine for beside in theirs)


def _with_moved(groups: Sequence[_Group], entries: int, effort: Effort) -> Sequence[_Group]:
    """The passages; a sentence that stands elsewhere in another entry is one row, in a passage of its own if need be."""
    while True:
        lonely = [_Lonely(group, row, row.bags()) for group in groups for row in group.rows if len(row.texts) < entries]
        following: dict[_Group, list[_Group]] = {}
        joined = [_join(one, other, following) for one, other in _pairs(lonely, effort)]
        groups = [each for group in groups for each in (group, *following.get(group, [])) if each.rows]
        if not any(joined):
            return groups


def _pairs(lonely: Sequence[_Lonely], effort: Effort) -> Iterator[tuple[_Lonely, _Lonely]]:
    """Rows of different entries that may be one, the most similar first; of very many, only equal ones."""
    sets = [lonely] if effort.take(len(lonely) ** 2 // 2) else _equal(lonely)
    found = [
        (alike, one, other)
        for rows in sets
        for one, other in combinations(rows, 2)
        if one.row.texts.keys() != other.row.texts.keys()
        and one.fits(other, alike := max(likeness(one.bags, bag) for bag in other.bags))
    ]
    yield from ((one, other) for _, one, other in sorted(found, key=lambda pair: -pair[0]))


def _equal(lonely: Sequence[_Lonely]) -> list[list[_Lonely]]:
    """Rows with the same words, at most as many together as there can be entries."""
    found: dict[tuple[str, ...], dict[frozenset[int], _Lonely]] = {}
    for each in lonely:
        for key in {keys(text) for text in each.row.texts.values()}:
            found.setdefault(key, {}).setdefault(frozenset(each.row.texts), each)
    return [list(rows.values()) for rows in found.values()]


def _join(one: _Lonely, other: _Lonely, following: dict[_Group, list[_Group]]) -> bool:
    """Make one row of two; of rows that share an entry, of one and those texts of the other that are equal to it."""
    if one.row not in one.group.rows or other.row not in other.group.rows:
        return False
    moved = one.row.lacking(other.row)
    if not moved:
        one, other, moved = other, one, other.row.lacking(one.row)
    if not moved:
        return False
    place = other.group.rows.index(other.row)
    left = {entry: text for entry, text in other.row.texts.items() if entry not in moved}
    other.group.rows[place : place + 1] = [Draft(left)] if left else []
    row = one.row.joined(Draft(moved))
    if one.group is other.group:
        one.group.rows[one.group.rows.index(one.row)] = row
        return True
    one.group.rows.remove(one.row)
    paths = {
        entry: each.group.paths[entry] for each, texts in ((one, one.row.texts), (other, moved)) for entry in texts
    }
    added = following.setdefault(one.group, [])
    if added and added[-1].paths == paths:
        added[-1].rows.append(row)
    else:
        added.append(_Group(paths, [], [row]))
    return True


def _passage(group: _Group, entries: int) -> Passage:
    """A passage as it is handed out."""
    paths = tuple(group.paths.get(entry) for entry in range(entries))
    rows = tuple(_row([row.texts.get(entry) for entry in range(entries)]) for row in group.rows)
    return Passage(paths, rows, len({tuple(map(keys, path)) for path in paths if path is not None}) > 1)


def _row(texts: Sequence[str | None]) -> Row:
    said = {None if text is None else keys(text) for text in texts}
    return Row(marked(texts, reworded), len(said) > 1)
