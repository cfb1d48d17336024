"""Reading the loosely typed values of 5etools objects, and writing them in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lorekeeper.normalize.reading import Words, by_path
from lorekeeper.normalize.reading import at as at
from lorekeeper.normalize.reading import commas as commas
from lorekeeper.normalize.reading import mapping as mapping
from lorekeeper.normalize.reading import paragraphs as paragraphs
from lorekeeper.normalize.reading import spaced as spaced
from lorekeeper.records import values
from lorekeeper.records.values import amount as amount
from lorekeeper.records.values import whole
from lorekeeper.terms import ABILITY_OF

Object = Mapping[str, object]
Data = dict[str, object]

listed = by_path(values.listed)
objects = by_path(values.objects)

word = Words(__file__)
"""What codes of the format stand for."""


@by_path
def texts(value: object) -> list[str]:
    """The texts in a list; a single text as a list."""
    return [each for each in listed(value) if isinstance(each, str) and each.strip()]


@by_path
def text(value: object) -> str:
    """A text or a number as text, "" for anything else."""
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, (str, int, float)) else ""


number = by_path(lambda value: whole(values.number(value)))
"""A number, also as a text that has nothing else; None for anything else."""


def capital(words: str) -> str:
    """A text that begins with a capital letter."""
    return words[:1].upper() + words[1:]


def title(words: str) -> str:
    """Words with capitals, but for small ones: "Sleight of Hand"."""
    parts = words.replace("_", " ").split(" ")
    return " ".join(part if part in ("of", "and", "the", "with") else capital(part) for part in parts)


def ability(code: object) -> str:
    """The name of an ability, by its abbreviation or name; "" if it is none."""
    return ABILITY_OF.get(text(code).strip().lower()[:3], "")


def abilities(codes: object) -> list[str]:
    """The names of some abilities as they begin lines; of what is none, nothing."""
    return [title(name) for code in listed(codes) if (name := ability(code))]


@by_path
def sizes(value: object) -> list[str]:
    """Sizes by their names."""
    return [word("sizes", code.strip().upper(), code.strip().lower()) for code in texts(value)]


def uid(value: object) -> tuple[str, str]:
    """(name, source) of "longsword|phb"; ("", "") if it is no text."""
    name, source, *_ = f"{value if isinstance(value, str) else ''}||".split("|")
    return name.strip(), source.strip()


_NO_SPELLS = ("ability", "name", "resourceName", "choose", "all")

MAX_LISTS = 6
"""Most levels of lists of spells."""


def spell_names(value: object, level: int = 0) -> list[str]:
    """The names of spells in lists by level and frequency."""
    if isinstance(value, Mapping):
        value = [each for key, each in value.items() if key not in _NO_SPELLS]
    if isinstance(value, list):
        return [name for each in value if level <= MAX_LISTS for name in spell_names(each, level + 1)]
    name = uid(value)[0].partition("#")[0]
    return [name] if name and "=" not in name else []


def counted_name(name: str, count: object) -> str:
    """A name, with how many there are in brackets where there are several: "net (2)"."""
    several = number(count) or 1
    return f"{name} ({several})" if several > 1 and name else name


def coins(copper: object) -> str:
    """A price in copper pieces in the largest coin that has no fraction: "8 gp" of 800."""
    price = number(copper)
    if price is None:
        return ""
    for worth, coin in ((100, "gp"), (10, "sp")):
        if price % worth == 0:
            return f"{amount(price / worth)} {coin}"
    return f"{amount(price)} cp"


def thawed(value: object) -> object:
    """A copy of a JSON value that can be changed."""
    copy: object = json.loads(json.dumps(value))
    return copy
