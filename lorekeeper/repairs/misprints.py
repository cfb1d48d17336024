"""Words that Open5e's texts have lost a space from, or gained one in.

Found by a script: a word that no other book has, and that falls into two that very many have. Each was checked by eye.
"""

from __future__ import annotations

import re

_GLUED = """
a|creature a|dungeon a|foot a|jump a|number a|secret a|successful adventurers|interact air|before an|adventurer an|area
an|expertise any|effect as|bats as|normal as|oozes assumes|short be|removed beyond|that bludgeoning|damage breath|for
bright|light brilliant|full can|be can|breathe can|cover character|must character|suffers cover|the creature|lands
darkness|and darkness|outdoors days|provide decide|that decide|to dense|foliage dwell|underground even|less exact|distances
far|the fast|pace feet|on feet|that finding|hidden from|one from|the further|adventure gain|benefits her|character hit|points
if|the immediately|before in|turn is|dying its|constitution key|role land|prone last|longer magical|darkness
might|allow moving|over normal|and number|of objects|always of|attacks of|the of|twilight of|walking on|sight on|the only|half
only|shades or|her or|slow or|swimming pace|makes relatively|simple rolls|the see|into simple|to so|areas some|spent
sources|of special|vehicles speed|and surface|or the|crew the|day the|difficulty the|dungeon the|gm the|help the|jump their|minds
this|section threatening|situation three|categories throws|against to|effects to|name travel|for water|must with|darkvision
you|normally
"""
"""Two words each, which stand without the space between them."""

_BROKEN = "na ture|ar mor|ar rows|ar cane|un known|glos- sary|move- ment|main- tain|addi- tional"
"""Words that a line break of the source has left in two pieces."""

_WHOLE = {pair.replace("|", ""): pair.replace("|", " ") for pair in _GLUED.split()}
_WHOLE |= {pieces: re.sub("-? ", "", pieces) for pieces in _BROKEN.split("|")}

MISPRINT = re.compile(
    rf"(?<![\w'’-])(?:{'|'.join(sorted(map(re.escape, _WHOLE), key=len, reverse=True))})(?![\w'’])", re.IGNORECASE
)

BOOKS = frozenset({"srd-2014", "wotc-srd", "srd-2024", "a5e-ag", "a5e-mm", "tdcs", "core"})
"""The documents that have such words; elsewhere a word may be a name."""


def corrected(text: str) -> str:
    """A text with its misprinted words as they should be, their capitals where they were."""
    return MISPRINT.sub(_correct, text)


def _correct(match: re.Match[str]) -> str:
    printed, letters = _WHOLE[match[0].lower()], iter(re.sub("-? ", "", match[0]))
    return "".join(" " if letter == " " else next(letters) for letter in printed)
