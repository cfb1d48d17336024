"""What a library of open content does not have: other games, and names and tables that no open licence covers.

A query about them finds neighbours in meaning, which a reader could take for answers; so the page says what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lorekeeper.folding import fold
from lorekeeper.text.keywords import content_words, subject_words
from lorekeeper.text.names import similarity

DATA = Path(__file__).parent.parent / "data"

OTHER_GAMES: Mapping[str, str] = dict(
    row.split("\t", 1) for row in (DATA / "other_games.tsv").read_text("utf-8").splitlines()
)
"""Names of other games, and of rules that only they have, folded; and the game to name in the note."""

NOT_OPEN = frozenset((DATA / "closed_names.txt").read_text("utf-8").split("\n")) - {""}
"""What people often ask for and no open licence covers, or covered nowhere at the time of writing: folded names, one a line."""


_TERMS = (*OTHER_GAMES, *sorted(NOT_OPEN, key=lambda term: (-len(term), term)))
"""Both, in the order in which they are looked for."""

NAMES = DATA / "not_open.txt"
"""Further names that no open licence covers, folded, one a line: of spells, creatures, options and items. Some are everyday words
as well, so a query is about one of them only if it says nothing else."""

CLOSED = "{} is not open content, so no sync would add it."

MISSPELT = 0.83
"""Least similarity of a word that no entry has to the closed name that it is a misspelling of: one wrong letter in six."""

MISSPELT_LETTERS = 6
"""Fewest letters of a closed name that is recognised misspelt: shorter ones are near to too many words."""


@dataclass(frozen=True)
class Absent:
    """What a query asks for that the library does not have.

    Attributes:
        name: as in the query, folded.
        game: the other game that has it, None if it is the same game and not open content.
    """

    name: str
    game: str | None = None

    @property
    def note(self) -> str:
        """What the reader should know."""
        if self.game:
            return f"This asks about {self.game}; the library has nothing on it."
        instead = f" {TREASURE}" if not _TREASURE.isdisjoint(self.name.split()) else ""
        return f"No entry is called '{self.name}'. {CLOSED.format('It')}{instead}"


_TREASURE = frozenset({"treasure", "loot", "hoard"})

TREASURE = (
    "No open book has tables of treasure. lookup_equipment with kind='magic-item', a rarity and order='random' draws items; the "
    "rule Magic Item Prices says what they are worth."
)
"""What a game master can do who asks for treasure: the SRDs of both editions leave its tables out."""

NEAREST = "These are the nearest in meaning."


def absent(query: str, names: Iterable[str], occurring: Collection[str]) -> Absent | None:
    """What a query names that no entry is named after; None if there is nothing to say.

    Args:
        query: its words.
        names: of the best entries, and the titles of the documents: what has the name there is in the library.
        occurring: those of its content words that an entry has: the others may be misspelt.
    """
    asked = f" {fold(query)} "
    named = [term for term in _TERMS if f" {term} " in asked]
    subject = tuple(subject_words(fold(query)))
    named += [_names()[subject]] if subject in _names() else []
    named += filter(None, [_misspelt(subject, occurring)]) if not named else []
    present = [fold(name) for name in names] if named else []
    missing = (term for term in named if not any(term in name for name in present))
    return next((Absent(term, OTHER_GAMES.get(term)) for term in missing), None)


def is_closed(name: str) -> bool:
    """Whether a folded name is, as a whole, that of something that is not open content."""
    return name in NOT_OPEN or name in _names().values()


def closed_name(name: str, occurring: Collection[str]) -> str:
    """The closed name that a folded name is, has among its words, or misspells; "" for none.

    Args:
        name: as it was asked for.
        occurring: those of its words that an entry has.
    """
    if is_closed(name):
        return name
    within = (term for term in _TERMS if term in NOT_OPEN and f" {term} " in f" {name} ")
    return next(within, _misspelt(name.split(), occurring))


def _misspelt(words: Sequence[str], occurring: Collection[str]) -> str:
    """The closed name that is nearest to some adjacent words, one of which no entry has; "" if none is near."""
    unknown = {word for word in words if word not in occurring}
    if not unknown:
        return ""
    best, nearest = MISSPELT, ""
    for number in range(1, len(words) + 1):
        parts = [words[start : start + number] for start in range(len(words) - number + 1)]
        for text in ("".join(part) for part in parts if not unknown.isdisjoint(part)):
            for term in NOT_OPEN if text else ():
                whole = term.replace(" ", "")
                if whole[0] == text[0] and len(whole) >= MISSPELT_LETTERS and number <= len(term.split()):
                    best, nearest = max((best, nearest), (similarity(text, whole), term))
    return nearest


@cache
def _names() -> Mapping[tuple[str, ...], str]:
    """The names of the file by their content words."""
    return {tuple(content_words(name)): name for name in NAMES.read_text("utf-8").split("\n") if name}
