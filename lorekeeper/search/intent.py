"""The type of entry that a question asks for by a noun: "a spell to fly"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

OTHERS = 0.7
"""What entries of other types score beside those of the one that every wording asks for: 0.6 to 0.8 are alike. It is a preference
and no filter, and asks for no session either. Asked of all types, nDCG@10 is 0.713 instead of 0.709; few questions have a noun."""

NOUNS = {
    "spells": "spells?|cantrips?",
    "creatures": "monsters?|creatures?|beasts?|undead|dragons?|demons?|devils?|fiends?",
    "equipment": "items?|weapons?|armou?rs?|potions?|rings?|wands?|staffs?|staves|scrolls?|poisons?|gear|tools?",
    "character_options": "feats?|backgrounds?|(?:sub)?class(?:es)?|species|races?",
    "rules": "conditions?",
}
"""What entries of each type are called."""

_OPENING = (
    r"(?:(?:what|which|what['’]?s|is|are|there|do|we|have|find|show|give|me|us|i|you|need|want|looking|look|search|for|an?|any"
    r"|some|the|good|best|low|high|level|cheap|\d+(?:st|nd|rd|th)?|cr|of)\s+)*"
)
_QUALITIES = r"(?:(?!(?:an?|the|of|my|your|his|her|their|some|how|why)\b)[\w'’-]+\s+){0,2}?"
"""Up to two words before the noun: "tiny flying creature that". Behind an article it would be an object: "shrink a creature"."""

_WENT_ON = (
    r"(?=\s+(?:to|that|which|who|whose|for|with|of|when|where|from|against|used|letting|lets?|an?|i|we|you|my|under|immune"
    r"|resistant|can|could|cannot|has|have|do|does|is|are|makes?|gives?|deals?|turns?|regenerates?|heals?)\b|\s*[?.!]*$)"
)
_ASKING = re.compile(
    "|".join(rf"{_OPENING}{_QUALITIES}(?P<{name}>{nouns}){_WENT_ON}" for name, nouns in NOUNS.items()), re.IGNORECASE
)

_DEFINITION = re.compile(r"\s*what(?:['’]?s| is| are)\s+(?:an?\s+|the\s+)?[\w'’-]+\s*[?.!]*\s*", re.IGNORECASE)

MAX_NOUN_CHARS = 300
"""Longest wording that is looked at for a noun, in characters."""

_PROPER_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]{2,}")


@dataclass(frozen=True)
class AskedType:
    """A type that is preferred.

    Attributes:
        name: the type.
        others: what entries of other types score, as a share.
        of_someone: whether the question has a proper name: "the ring that Seraphina gave us" may be about the campaign.
    """

    name: str
    others: float
    of_someone: bool = False

    def weight(self, entity_type: str) -> float:
        """What entries of a type score, as a share."""
        return 1.0 if entity_type == self.name else self.others


def asked_type(types: Sequence[str], wordings: Sequence[str]) -> AskedType | None:
    """The type that a query over several types asks for: the only one that its wordings name; the more do, the more it counts."""
    named = [_named(wording) for wording in wordings] if len(types) > 1 else []
    found = set(filter(None, named))
    name = next(iter(found), "")
    if name not in types or len(found) > 1:
        return None
    share = sum(each is not None for each in named) / len(named)
    return AskedType(name, 1.0 - (1.0 - OTHERS) * share, any(map(_PROPER_NAME.search, wordings)))


def _named(wording: str) -> str | None:
    if len(wording) > MAX_NOUN_CHARS or is_definition(wording):
        return None
    match = _ASKING.match(wording.strip())
    return match.lastgroup if match else None


def is_definition(text: str) -> bool:
    """Whether a question asks what a word means, as "what is a cantrip?" does, and not for entries that are called so."""
    return _DEFINITION.fullmatch(text) is not None
