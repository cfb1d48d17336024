"""Formats of other programs that are not read: what they are called, and what to do with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ForeignFormat:
    """A format that is recognised only to be named.

    Attributes:
        name: for messages.
        keys: paths of keys; an object that has all of them is of this format. A list stands for its first element.
        advice: what to do.
    """

    name: str
    keys: tuple[str, ...]
    advice: str

    def recognises(self, obj: Mapping[str, object]) -> bool:
        """Whether an object has all the keys."""
        return all(_has(obj, path.split(".")) for path in self.keys)


def _has(value: object, path: Sequence[str]) -> bool:
    for key in path:
        while isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def _format(name: str, keys: str, advice: str) -> ForeignFormat:
    return ForeignFormat(name, tuple(keys.split()), advice)


_AS_TEXT = "copy the stat block as text and give it to 'lorekeeper import -'"

OTHER_GAME = "LoreKeeper reads D&D of the fifth edition and games made from it"

FORMATS = (
    _format("5e-database (the D&D 5e API)", "index name url", "'lorekeeper sync open5e' gets the same rules"),
    _format(
        "a bestiary of CritterDB", "name creatures.flavor creatures.stats", f"export it as Markdown, or {_AS_TEXT}"
    ),
    _format("CritterDB", "name stats flavor", f"export it as Markdown, or {_AS_TEXT}"),
    _format(
        "a bestiary of Bestiary Builder",
        "metadata creatures.stats.description",
        "export it there in the format of 5etools or as Markdown, and import that file",
    ),
    _format(
        "a bestiary of Avrae", "monsters.display_resists", f"import the source that it was made from, or {_AS_TEXT}"
    ),
    _format(
        "a bestiary of Avrae",
        "monsters.hitdice monsters.ability_scores",
        f"import the source that it was made from, or {_AS_TEXT}",
    ),
    _format("a monster of D&D Beyond", "averageHitPoints challengeRatingId", f"open its page, and {_AS_TEXT}"),
    _format("a monster of D&D Beyond", "data.averageHitPoints", f"open its page, and {_AS_TEXT}"),
    _format("Tetra-cube's stat block generator", "name armorName shieldBonus", f"export it as Markdown, or {_AS_TEXT}"),
    _format("a character of Roll20", "schema_version attribs", f"open its sheet, and {_AS_TEXT}"),
    _format("a character of Roll20", "schema_version character.attribs", f"open its sheet, and {_AS_TEXT}"),
    _format("a stat block of Daggerheart", "tier difficulty thresholds", OTHER_GAME),
    _format("a stat block of Pathfinder 2e", "level defenses.savingThrows", OTHER_GAME),
    _format("a stat block of Pathfinder 2e", "system.details.level system.saves.fortitude", OTHER_GAME),
    _format("a stat block of an old-school game", "name thac0", OTHER_GAME),
    *(
        _format(
            "an entry of 5etools without its file",
            f"name source {keys}",
            f'put it into a list under its kind{like}: {{"_meta": {{"sources": []}}, "{kind}": [...]}}',
        )
        for keys, kind, like in (
            ("level school", "spell", ""),
            ("hp", "monster", ""),
            ("rarity", "item", ""),
            ("entries", "spell", ", as spells are"),
            ("page", "spell", ", as spells are"),
        )
    ),
)
"""Formats that people have at hand, the first one that matches counts."""

_PRINTED = {
    "Pathfinder": re.compile(
        r"\bFort(?:itude)?\W{1,6}\d{1,2}\W{1,6}Ref(?:lex)?\W{1,6}\d{1,2}\W{1,6}Will\W{1,6}\d", re.IGNORECASE
    ),
    "Daggerheart": re.compile(r"\bthresholds?\W{1,9}\d{1,3} ?/ ?\d{1,3}\b.{0,40}\bHP\b", re.IGNORECASE | re.DOTALL),
    "an old-school game": re.compile(r"\bTHAC0\b"),
}
"""What stat blocks of other games say, by the name of the game."""

BINARY = {
    "%PDF": "a PDF, which is not read; save its text as Markdown and add the folder as a vault, or copy a stat block, spell or "
    "item from it and give it to 'lorekeeper import -'",
    "PK\x03\x04": "a zip archive, which is not read; unpack it, and import the folder",
    "Rar!": "a RAR archive, which is not read; unpack it, and import the folder",
    "SQLite format 3": "a database of SQLite, which is not read; 'lorekeeper migrate FILE' imports the cache of an earlier server",
}
"""How files of other programs begin that are no text, and what to do with them."""

_SUFFIXES = {".pdf": "%PDF", ".zip": "PK\x03\x04", ".rar": "Rar!"}


def of_suffix(suffix: str) -> str:
    """What files with a suffix are that are not read, and what to do with them; "" for any other."""
    return BINARY.get(_SUFFIXES.get(suffix, ""), "")


def binary(head: str) -> str:
    """What a file is that is no text, and what to do with it; "" for any other."""
    return next((advice for sign, advice in BINARY.items() if head.startswith(sign)), "")


def of_text(text: str) -> str:
    """Which other game a text has stat blocks of, and what is read instead; "" if none is known."""
    game = next((name for name, sign in _PRINTED.items() if sign.search(text)), "")
    return f"its stat blocks are of {game}; {OTHER_GAME}" if game else ""


def format_of(obj: Mapping[str, object]) -> ForeignFormat | None:
    """The format of an object, None if it is not known."""
    return next((known for known in FORMATS if known.recognises(obj)), None)
