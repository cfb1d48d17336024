"""The marks that the words of `languages` give, place by place, and the keys of front matter that say who may see a note."""

from __future__ import annotations

import re
from typing import NamedTuple

from lorekeeper.audience import DM, Audience
from lorekeeper.notes.languages import (
    ALL,
    FENCE,
    HEADING,
    KEY,
    LANGUAGES,
    LINE,
    NAME,
    Idiom,
    Language,
    Words,
    alternatives,
    filled,
    heading_phrases,
    key_phrases,
    listed,
    name_phrases,
)


class Saying(NamedTuple):
    """A pattern that a comparable text may have, and who may see what it stands for then."""

    pattern: re.Pattern[str]
    audience: Audience


def _sayings(place: str) -> tuple[Saying, ...]:
    """What counts at a place: what keeps something comes before what opens it."""
    grammar = {HEADING: heading_phrases, NAME: name_phrases, KEY: key_phrases}[place]
    idioms = [(row, each) for row in LANGUAGES for each in row.idioms if place in each.places.split()]
    idioms.sort(key=lambda pair: pair[1].audience != DM)
    return (
        *(Saying(re.compile(phrase), DM) for row in LANGUAGES for phrase in grammar(row)),
        *(Saying(re.compile(filled(row, each)), each.audience) for row, each in idioms),
    )


SAYINGS = {place: _sayings(place) for place in (HEADING, NAME, KEY)}

_NOT_FOR = {
    "not|never|don ?t": "players?|party|pcs",
    "nicht|kein(?:e[nrs]?)?": "spieler(?:n|innen)?",
    "pas|jamais": "joueu(?:rs?|ses?)",
    "no|nunca": "jugador(?:es|as)?",
    "non|mai": "giocator[ei]|giocatrici",
    "nao": "jogador(?:es|as)?",
    "niet|geen": "spelers?",
    "nie": "gracz(?:e|y|a|om)?",
}
"""A negation, and the players whom it keeps something from, in each language."""

_ABOUT = rf"{'|'.join(_NOT_FOR.values())}|(?:public|common) knowledge"
_PLANS = f"{alternatives('secrets')}|{'|'.join(row.kinds['prep'] for row in LANGUAGES)}|prep|plan(?:e[ns]?|os|nen|y|s)?|pian[oi]"
CLOSED_TITLE = re.compile(
    rf"^(?=.*\b(?:{_ABOUT})\b).*\b(?:{_PLANS})\b|"
    + "|".join(rf"^(?=.*\b(?:{no})\b).*\b(?:{who})\b" for no, who in _NOT_FOR.items())
)
"""What a title or name has that is no players': secrets, plans or preparation about them, or that it is not for them."""

IDIOMS: tuple[tuple[Language, Idiom], ...] = tuple((row, each) for row in LANGUAGES for each in row.idioms)

WORDS: tuple[tuple[Language, Words], ...] = tuple((row, each) for row in ALL for each in row.alone)


def words_at(place: str) -> dict[str, Audience]:
    """What one comparable text says as a whole at a place; what begins a line begins a code block too."""
    places = {place, LINE} if place == FENCE else {place}
    rows = (words for _, words in WORDS if places & set(words.places.split()))
    return {word.strip(): words.audience for words in rows for word in words.words.split(",")}


UNDECIDED = "mixed, partial, some, default, unset"
"""Values of front matter that leave it to marks within the note."""

STRICT_KEYS = "visibility, audience, visible to, shared with, share with, viewers, visible for, seen by, sichtbarkeit"
"""Keys of front matter whose value is an audience: words, or names of people. Anything else is for the game master alone."""

LOOSE_KEYS = "access, permission, permissions"
"""Keys that say it too, and more often something else, as of the way into a harbour: only words of `WORDS`, and lists of names."""

OPENING_KEYS = "publish, dg publish, player facing, player visible, public, published, share"
"""Keys that open a note where they are true, and close it where they are false."""

EVERYDAY_OPENING_KEYS = "public, published, share"
"""Those of them whose other values are facts: the year of a book, the share of a treasure."""

CLOSING_KEYS, YES, NO = map(frozenset, (listed("closing_keys"), listed("yes"), listed("no")))
"""Keys that close a note where they are true, and what is true and false."""
