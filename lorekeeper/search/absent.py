"""What a library of open content does not have: other games, and names and tables that no open licence covers.

A query about them finds neighbours in meaning, which a reader could take for answers; so the page says what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lorekeeper.folding import fold
from lorekeeper.text.keywords import content_words, subject_words

OTHER_GAMES: Mapping[str, str] = {
    "pathfinder": "Pathfinder",
    "starfinder": "Starfinder",
    "call of cthulhu": "Call of Cthulhu",
    "vampire the masquerade": "Vampire: The Masquerade",
    "world of darkness": "World of Darkness",
    "shadowrun": "Shadowrun",
    "gurps": "GURPS",
    "savage worlds": "Savage Worlds",
    "blades in the dark": "Blades in the Dark",
    "powered by the apocalypse": "Powered by the Apocalypse",
    "dungeon world": "Dungeon World",
    "cyberpunk red": "Cyberpunk",
    "mutants and masterminds": "Mutants & Masterminds",
    "das schwarze auge": "Das Schwarze Auge",
    "fate core": "Fate",
    "traveller rpg": "Traveller",
    "thac0": "an earlier edition of the game",
    "ad d": "an earlier edition of the game",
    "pf2e": "Pathfinder",
    "3 5e": "an earlier edition of the game",
    "4e": "an earlier edition of the game",
}
"""Names of other games, and of rules that only they have, folded; and the game to name in the note."""

NOT_OPEN = frozenset(
    """
    beholder; mind flayer; illithid; githyanki; githzerai; displacer beast; carrion crawler; umber hulk; yuan ti; slaad;
    kuo toa; strahd; vecna; tiamat; bahamut; acererak; drizzt; elminster; lolth; asmodeus; demogorgon; orcus; zariel;
    warforged; kalashtar; changeling; tabaxi; tortle; loxodon; artificer; artificer infusions; blood hunter; bloodhunter;
    hexblade; bladesinger; eldritch knight; arcane trickster; battle master; gloom stalker; swashbuckler; echo knight;
    silvery barbs; booming blade; green flame blade; toll the dead; hex warrior; healing spirit; absorb elements;
    sharpshooter; great weapon master; polearm master; war caster; crossbow expert;
    eberron; dragonmarks; ravenloft; barovia; waterdeep; baldur s gate; forgotten realms; greyhawk; dragonlance;
    spelljammer; planescape; exandria; ravnica; theros; strixhaven; candlekeep;
    wild magic surge table; wild magic table; treasure hoard; hoard table; individual treasure table; treasure table
    """.replace("\n", " ")
    .replace("    ", " ")
    .split("; ")
)
"""What people often ask for and no open licence covers, or covered nowhere at the time of writing, folded."""


_TERMS = tuple(term.strip() for term in [*OTHER_GAMES, *sorted(NOT_OPEN, key=len, reverse=True)])
"""Both, in the order in which they are looked for."""

NAMES = Path(__file__).parent.parent / "data" / "not_open.txt"
"""Further names that no open licence covers, folded, one a line: of spells, creatures, options and items. Some are everyday words
as well, so a query is about one of them only if it says nothing else."""

CLOSED = "It is not open content, so no sync would bring it."


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
        return f"No entry is called '{self.name}'. {CLOSED} These are the nearest in meaning."


def absent(query: str, names: Iterable[str]) -> Absent | None:
    """What a query names that no entry is named after; None if there is nothing to say.

    Args:
        query: its words.
        names: of the best entries, and the titles of the documents: what has the name there is in the library.
    """
    asked = f" {fold(query)} "
    named = [term for term in _TERMS if f" {term} " in asked]
    subject = tuple(subject_words(fold(query)))
    named += [_names()[subject]] if subject in _names() else []
    present = [fold(name) for name in names] if named else []
    missing = (term for term in named if not any(term in name for name in present))
    return next((Absent(term, OTHER_GAMES.get(term)) for term in missing), None)


def not_open(name: str) -> bool:
    """Whether a folded name is that of something that is not open content."""
    return name in NOT_OPEN or name in _names().values()


@cache
def _names() -> Mapping[tuple[str, ...], str]:
    """The names of the file by their content words."""
    return {tuple(content_words(name)): name for name in NAMES.read_text("utf-8").split("\n") if name}
