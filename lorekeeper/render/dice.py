"""Dice in the texts of a page, as links that roll them: 8d6, 2d10 + 8, the +14 of an attack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from markdown_it.token import Token

from lorekeeper.render.structure import text

PATH = "/roll"
"""The page that rolls; the script of the page does so in place."""

DICE = "dice"
"""Its parameter, and the class of the links."""

_DICE = (
    r"(?<![\w+-])(?P<count>\d{0,3})[dD](?P<sides>\d{1,3})(?!\w)"
    r"(?: ?[×x] ?(?P<times>\d{1,5})(?!\w))?(?: ?(?P<sign>[+−–-]) ?(?P<more>\d{1,3})(?![\w]|d\d))?"
)
_SIGNED = r"(?<![\w.,)-])(?<!bonus )(?P<modifier>[+−–-]\d{1,2})(?![\w%])"

WITHIN = re.compile(_DICE)
WITHIN_CREATURE = re.compile(f"{_DICE}|{_SIGNED}")
"""The same, with numbers that a d20 is added to: of attacks, saving throws, skills and abilities."""


def with_dice(children: Sequence[Token], *, modifiers: bool = False) -> Iterator[Token]:
    """A line of text whose dice are links, but those within links."""
    pattern, within = WITHIN_CREATURE if modifiers else WITHIN, 0
    for child in children:
        within += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type == "text" and not within:
            yield from _linked(child.content, pattern)
        else:
            yield child


def _linked(content: str, pattern: re.Pattern[str]) -> Iterator[Token]:
    end = 0
    for match in pattern.finditer(content):
        dice = _written(match)
        if dice:
            yield text(content[end : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": f"{PATH}?{urlencode({DICE: dice})}", "class": DICE})
            yield text(match[0])
            yield Token("link_close", "a", -1)
            end = match.end()
    yield text(content[end:])


def _written(match: re.Match[str]) -> str:
    """Dice as a parameter has them: "2d10+8"; "" for none, as a d0."""
    found = match.groupdict()
    if found.get("modifier"):
        return f"1d20{_ascii(found['modifier'])}"
    count, sides = int(found["count"] or 1), int(found["sides"])
    times = f"×{int(found['times'])}" if found["times"] else ""
    more = f"{_ascii(found['sign'])}{int(found['more'])}" if found["more"] else ""
    return f"{count}d{sides}{times}{more}" if count and sides else ""


def _ascii(sign: str) -> str:
    return sign.replace("−", "-").replace("–", "-")
