"""The party as the characters of the library: their levels, and a matrix of their saves and passive values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lorekeeper.entities import VAULT, Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.play.reader import Reader
from lorekeeper.printable import one_line
from lorekeeper.search.party import CHARACTERS, current, level_of
from lorekeeper.terms import ABILITIES, PASSIVES
from lorekeeper.text.facts import lead
from lorekeeper.text.spelling import as_spelt

THE_TABLE = frozenset(
    "the table|table|our table|our party|the party|party|us|we|our characters|the characters|my party|my table".split(
        "|"
    )
)
"""How a caller asks for the library's characters, folded."""

MAX_CHARACTERS = 30
"""Most characters of a party."""

NONE_KNOWN = (
    "the library has no characters with a level that you may see; give the levels, for example 3,3,4, have them remembered with "
    "'lorekeeper party 3 3 4', or import the characters' sheets"
)

CHOOSE = "name one of them as the party, give levels, for example 4x3, or save them with 'lorekeeper party 4x3'"
"""What to do where a library has the characters of several campaigns."""


def is_the_table(party: object) -> bool:
    """Whether a party is asked for as that of the library."""
    return fold(name_of(party)) in THE_TABLE


def name_of(party: object) -> str:
    """The name that a party is given by, "" if it is none: levels are several numbers or texts."""
    only = party[0] if isinstance(party, list) and len(party) == 1 else party
    if not isinstance(only, str):
        return ""
    whose, of, campaign = only.partition(" of ")
    return campaign if of and fold(whose) in THE_TABLE else only


async def at_the_table(view: Reader, campaign: str | None = None) -> list[Entity]:
    """The characters of players that the viewer sees, as their files are now, by name; the newest of one that is there twice.

    Args:
        view: of who asks.
        campaign: only the characters of the vault or book with this key or title, maybe none; None for all.

    Raises:
        FilterError: there is none whose level is known, there are too many for one party, or they are of several campaigns and
            the caller does not say of which.
    """
    await view.refresh()
    known = [each for each in await view.cache.get_entities(CHARACTERS, kind="character") if level_of(each)]
    if campaign is None:
        if not known:
            raise FilterError(NONE_KNOWN)
        await _of_one_campaign(view, known)
    else:
        wanted = fold(campaign)
        known = [each for each in known if wanted in (fold(each.document), fold(each.document_name or ""))]
    found = current(known)
    if len(found) > MAX_CHARACTERS:
        raise FilterError(
            f"the library has {len(found)} characters, and a party has at most {MAX_CHARACTERS}; give their levels"
        )
    return found


async def _of_one_campaign(view: Reader, characters: Sequence[Entity]) -> None:
    """Pass characters that may be one party: those of two vaults are not; FilterError says how to choose."""
    vaults = {each.document for each in await view.cache.get_entities("documents", source_api=VAULT)}
    counts = Counter(each.document for each in characters if each.document in vaults)
    if len(counts) > 1:
        listed = ", ".join(f"{one_line(name)} ({count})" for name, count in sorted(counts.items()))
        raise FilterError(f"the library has characters of {len(counts)} campaigns: {listed}; {CHOOSE}")


def levels_of(characters: Sequence[Entity]) -> tuple[int, ...]:
    """Their levels, in their order."""
    return tuple(map(level_of, characters))


def matrix_row(character: Entity) -> dict[str, object]:
    """What a game master asks of each character: armor class, hit points, saves and passive values; None if unknown."""
    fields = character.fields
    return {
        "name": one_line(character.name),
        "uri": character.uri,
        "classes": one_line(lead(as_spelt(character))),
        "level": level_of(character),
        "armor_class": fields.get("armor_class"),
        "hit_points": fields.get("hit_points"),
        "saves": {ability: fields.get(f"save_{ability}") for ability in ABILITIES},
        "passives": {skill: fields.get(f"passive_{skill}") for skill in PASSIVES},
    }


def matrix_line(row: Mapping[str, object]) -> str:
    """The same in one line of text, without what is unknown."""
    saves, passives = row["saves"], row["passives"]
    saved = (
        [f"{a[:3].capitalize()} {b:+d}" for a, b in saves.items() if b is not None]
        if isinstance(saves, Mapping)
        else []
    )
    passive = (
        [f"{s.capitalize()} {v}" for s, v in passives.items() if v is not None] if isinstance(passives, Mapping) else []
    )
    numbers = [
        f"{label} {row[key]}" for label, key in (("AC", "armor_class"), ("HP", "hit_points")) if row[key] is not None
    ]
    parts = [
        *numbers,
        f"saves {', '.join(saved)}" if saved else "",
        f"passive {', '.join(passive)}" if passive else "",
    ]
    return f"- {row['name']} ({row['classes']}): {'; '.join(filter(None, parts))} | {row['uri']}"
