"""Reading the loosely typed values of 5etools objects, and writing them in words."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.records import values
from lorekeeper.records.values import amount as amount
from lorekeeper.records.values import listed as listed
from lorekeeper.records.values import mapping as mapping
from lorekeeper.records.values import objects as objects
from lorekeeper.records.values import whole
from lorekeeper.terms import ABILITY_OF

Object = Mapping[str, object]

SIZES = {"F": "fine", "D": "diminutive", "T": "tiny", "S": "small", "M": "medium", "L": "large", "H": "huge"} | {
    "G": "gargantuan",
    "C": "colossal",
    "V": "varies",
}


def texts(value: object) -> list[str]:
    """The texts in a list; a single text as a list."""
    return [each for each in listed(value) if isinstance(each, str) and each.strip()]


def text(value: object) -> str:
    """A text or a number as text, "" for anything else."""
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, (str, int, float)) else ""


def number(value: object) -> float | None:
    """A number, also as a text that has nothing else; None for anything else."""
    return whole(values.number(value))


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


def sizes(value: object) -> list[str]:
    """Sizes by their names."""
    return [SIZES.get(code.strip().upper(), code.strip().lower()) for code in texts(value)]


def uid(value: object) -> tuple[str, str]:
    """(name, source) of "longsword|phb"; ("", "") if it is no text."""
    parts = value.split("|") if isinstance(value, str) else [""]
    return parts[0].strip(), parts[1].strip() if len(parts) > 1 else ""


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
    """A copy of a JSON value that can be changed, one stack frame a level."""
    if isinstance(value, list):
        items: list[object] = []
        for item in value:
            items.append(thawed(item))  # noqa: PERF401 (a comprehension takes a second frame)
        return items
    if not isinstance(value, Mapping):
        return value
    result: dict[str, object] = {}
    for key, item in value.items():
        result[key] = thawed(item)
    return result
