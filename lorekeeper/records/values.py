"""Reading what sources write, where a value may be missing, or of another type than expected.

Every reader of records takes its values here. What cannot be read is None or "", never an error.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lorekeeper.folding import fold

Object = Mapping[str, object]

COINS = {"cp": 0.01, "sp": 0.1, "ep": 0.5, "gp": 1, "pp": 10}
"""What each coin is worth in gold pieces."""

MILE = 5280

LENGTHS = {"foot": 1.0, "meter": 10 / 3, "kilometer": 10_000 / 3, "mile": float(MILE), "square": 5.0}
"""Units of length in feet: translations of the books have 1.5 m for 5 ft., and a square of a map is 5 ft. wide."""

UNITS = Path(__file__).parent.parent / "data" / "lengths.tsv"
"""Words for these units, a line for each unit and language: unit, language, words. Sources: the unit names of Unicode's CLDR, and
the abbreviations of published translations of the SRD."""

_UNLIMITED = 999_999
"""Open5e's number for an unlimited range; anything above it is one in miles, but not in feet."""

_FLAGS = {"yes": True, "true": True, "no": False, "false": False}

_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e]")
"""Fractions that are one character, as ½."""


_FRACTION = r"(?P<{0}>[1-9])/(?P<{1}>[2-9]|10|16|20|50|100)(?!\d)"
"""A common fraction. Other denominators are not fractions: 5/15 and 20/60 are the two ranges of a thrown weapon."""

_NUMBER = re.compile(
    rf"(?P<sign>-?)(?:{_FRACTION.format('n', 'd')}"
    rf"|(?P<whole>\d[\d,]*(?:\.\d+)?)(?:[\s-]{{1,3}}{_FRACTION.format('more_n', 'more_d')})?)"
)


_NOTHING = frozenset({"", "null", "false", "[no description provided]", "[none provided]", "[column data]"})
"""Texts with which sources say that there is no value."""


def _is_plain(data: Object) -> bool:
    """Whether no key of an object is written otherwise than `_key` has it; looked at in one go, since every reading asks it."""
    try:
        keys = "\n".join(data)
    except TypeError:  # one of them is no text
        return False
    return "-" not in keys and "?" not in keys


def _key(name: object) -> str:
    return str(name).replace("-", "_").rstrip("?")


class Source:
    """The object of an entry. It remembers which keys were read, so that what is left can be shown as well.

    Keys are compared with ``_`` for ``-``: OrcBrew's ``hit-points`` are ``hit_points``.
    """

    def __init__(self, data: Object) -> None:
        self._data = data if _is_plain(data) else {_key(name): value for name, value in data.items()}
        self._read: set[str] = set()

    def value(self, *keys: str) -> object:
        """The first value of these keys that is not empty, None if all are; all of them count as read."""
        self._read.update(keys)
        return next((found for key in keys if not is_empty(found := self._data.get(key))), None)

    def peek(self, *keys: str) -> object:
        """The same of keys that do not count as read."""
        return next((found for key in keys if not is_empty(found := self._data.get(key))), None)

    def raw(self, key: str) -> object:
        """The value of a key, also if it is empty; None if there is none."""
        self._read.add(key)
        return self._data.get(key)

    def unfolded(self, *keys: str) -> Source:
        """This object with the values of the objects under these keys before its own; what is read there is read here."""
        within = Source({key: value for part in keys for key, value in self.mapping(part).items()})
        within._data = {**self._data, **{k: v for k, v in within._data.items() if v not in (None, "", [], {})}}
        within._read = self._read
        return within

    def has(self, *keys: str) -> bool:
        """Whether there is one of these keys, with or without a value."""
        return any(key in self._data for key in keys)

    def line(self, *keys: str) -> str:
        """The first of these values in one line, "" without one."""
        return line(self.value(*keys))

    def text(self, *keys: str) -> str:
        """The first of these values as Markdown."""
        return text(self.value(*keys))

    def number(self, *keys: str) -> float | None:
        """The first of these values as a number."""
        return number(self.value(*keys))

    def flag(self, *keys: str) -> bool:
        """Whether one of these values is true, or "yes"."""
        return is_true(self.value(*keys))

    def mapping(self, *keys: str) -> Object:
        """The first of these values as an object."""
        return mapping(self.value(*keys))

    def items(self, *keys: str) -> list[object]:
        """The first of these values as a list."""
        return listed(self.value(*keys))

    def skip(self, *keys: str) -> None:
        """Count keys as read."""
        self._read.update(keys)

    def rest(self) -> Iterator[tuple[str, object]]:
        """Keys that nobody has read, and their values, without empty ones."""
        for key, value in self._data.items():
            if key not in self._read and not is_empty(value):
                yield key, value


KEYS = Path(__file__).with_name("keys.toml")


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(KEYS.read_text("utf-8"))


def keys(table: str) -> dict[str, Any]:
    """A table of `KEYS`."""
    return _tables()[table]


def stated(source: Source, record: str) -> dict[str, Any]:
    """The attributes of a record that its source states as they are: `KEYS` says under which keys, and how each is read."""
    return {
        name: getattr(source, how)(*found.split())
        for how, attributes in keys(record).items()
        for name, found in attributes.items()
    }


def line(value: object) -> str:
    """A value in one line, its markup as it is: a text, a number, the name of a reference, a list with commas."""
    match value:
        case str():
            return "" if is_empty(value) else value.strip()
        case int() | float() if not isinstance(value, bool):
            return amount(value)
        case list() | tuple():
            return ", ".join(filter(None, map(line, value)))
        case Mapping():
            name = next((value[key] for key in ("name", "key", "as_string") if isinstance(value.get(key), str)), None)
            return line(name) if name else ", ".join(_pairs(value))
    return ""


def _pairs(value: Object) -> Iterator[str]:
    """The values of an object that has no name, each behind its key; of a flag the key alone."""
    for key, found in value.items():
        if not is_empty(found):
            yield title(str(key)) if found is True else f"{title(str(key))} {line(found)}"


SMALL_WORDS = frozenset({"of", "and", "the", "in", "or", "to", "with", "a"})
"""Words without a capital in titles."""


def title(key: str) -> str:
    """A key as a title: "Sleight of Hand" of ``sleight_of_hand``."""
    parts = key.rpartition("/")[2].replace("_", " ").replace("-", " ").split()
    return " ".join(
        part if part in SMALL_WORDS and place else part[:1].upper() + part[1:] for place, part in enumerate(parts)
    )


def text(value: object) -> str:
    """A value as Markdown: the texts of a list are its items, and named texts are paragraphs."""
    match value:
        case str():
            return "" if is_empty(value) else value
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return "\n".join(f"- {each}" for each in value)
        case list() | tuple():
            return "\n\n".join(filter(None, map(text, value)))
        case Mapping():
            name, told = line(value.get("name")), text_of(value)
            return f"**{name}.** {told}".strip() if name and told else told or name
    return line(value)


_TEXTS = ("desc", "description", "text", "entries")


def text_of(found: Object) -> str:
    """The text of an object, under whatever key its source has it."""
    return text(next((value for key in _TEXTS if not is_empty(value := found.get(key))), None))


def named_text(value: object) -> tuple[str, str]:
    """Name and text of a feature of any shape, "" for what it lacks."""
    found = mapping(value)
    name = found.get("name")
    return name if isinstance(name, str) else "", text_of(found) if found else text(value)


def whole(value: float | None) -> float | None:
    """A number without a fraction as an integer."""
    return int(value) if value is not None and float(value).is_integer() else value


def names(value: object) -> tuple[str, ...]:
    """The names in a list of texts or references, in a text with commas, or that a map marks as true."""
    if isinstance(value, Mapping):
        return tuple(str(name) for name, chosen in value.items() if chosen is True)
    if isinstance(value, str):
        return tuple(filter(None, (part.strip() for part in value.split(","))))
    return tuple(filter(None, (local_key(each) if isinstance(each, str) else line(each) for each in listed(value))))


def is_empty(value: object) -> bool:
    """Whether a value says nothing: null, false, a blank text, a placeholder, an empty list or object."""
    if isinstance(value, str):
        return value.strip().casefold() in _NOTHING
    return value is None or value is False or (isinstance(value, (list, tuple, Mapping)) and not value)


def is_true(value: object) -> bool:
    """Whether a flag is set, in any spelling."""
    return value is True or (isinstance(value, str) and value.strip().casefold() in ("yes", "true"))


def number(value: object) -> float | None:
    """A number, also as a text; None for anything else, infinities included."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def mapping(value: object) -> Object:
    """The value if it is an object, otherwise an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[object]:
    """The items of a list; a single value as a list."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def objects(value: object) -> list[Object]:
    """The objects in a list; a single object as a list."""
    return [each for each in listed(value) if isinstance(each, Mapping)]


def amount(value: float) -> str:
    """A number as people write it: 18,000 and 2.5."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return f"{int(value):,}" if value == int(value) else f"{value:,.3f}".rstrip("0")


def ref_key(ref: object) -> str | None:
    """The key of a reference in any of Open5e's shapes: an object with ``key``, a URL, a plain key."""
    if isinstance(ref, Mapping):
        return ref_key(ref.get("key") or ref.get("url") or ref.get("name"))
    if not isinstance(ref, str) or not ref.strip():
        return None
    return ref.rstrip("/").rsplit("/", 1)[-1] if "://" in ref else ref


def local_key(ref: object) -> str | None:
    """`ref_key` without the document prefix: "wizard" of "srd-2024_wizard"."""
    key = ref_key(ref)
    return key.rsplit("_", 1)[-1] or key if key else None


def local_keys(refs: object) -> list[str] | None:
    """`local_key` of each of a list of references; None if it is not a list."""
    if not isinstance(refs, (list, tuple)):
        return None
    return [key for key in map(local_key, refs) if key]


def flag(value: object) -> bool | None:
    """A flag from a yes/no word; None if it is neither."""
    if isinstance(value, bool):
        return value
    return _FLAGS.get(fold(value)) if isinstance(value, str) else None


def first_number(value: object) -> float | None:
    """The first number in a value; None if there is none.

    "3 lb." is 3, "1,500" is 1500, "1/4 lb." and "¼ lb." are 0.25, "1 1/2" and "1½" are 1.5; "20/60" is not a fraction but
    two numbers, of which 20 is the first.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    match = _NUMBER.search(_plain_fractions(value)) if isinstance(value, str) else None
    if match is None:
        return None
    whole = float(match["whole"].replace(",", "")) if match["whole"] else 0.0
    amount = whole + sum(int(match[n]) / int(match[d]) for n, d in (("n", "d"), ("more_n", "more_d")) if match[n])
    return -amount if match["sign"] else amount


def _plain_fractions(text: str) -> str:
    """ "1½" as "1 1/2"."""
    if text.isascii():
        return text
    return _VULGAR.sub(lambda m: f" {unicodedata.normalize('NFKC', m[0])}", text).replace("\u2044", "/")


def gold(value: object) -> float | None:
    """A price in gp: "5 sp" is 0.5, "1/2 gp" is 0.5, "25.00" is 25."""
    amount = first_number(value)
    coin = re.search(r"(?<![^\W\d_])(cp|sp|ep|gp|pp)\b", value.lower()) if isinstance(value, str) else None
    return amount if amount is None or coin is None else amount * COINS[coin[1]]


@cache
def _unit_words() -> dict[str, float]:
    """Words for units of length, each with what it is in feet."""
    rows = (row.split("\t") for row in UNITS.read_text("utf-8").splitlines())
    return {word.lower(): LENGTHS[unit] for unit, _, words in rows for word in words.split(", ")}


@cache
def _length() -> re.Pattern[str]:
    """A number with a unit of length; words of scripts without spaces may be followed by others."""
    words = sorted(_unit_words(), key=len, reverse=True)
    ends = (re.escape(word) + ("" if word[-1] > "\u2e80" else r"(?![^\W\d_])") for word in words)
    return re.compile(
        rf"(?<![\d.,])(?P<amount>\d{{1,4}}(?:[.,]\d{{1,2}})?)[ \u00a0-]?(?P<unit>{'|'.join(ends)})", re.IGNORECASE
    )


def length(text: str, *, first: bool = False) -> float | None:
    """The first length of a text in any language that `UNITS` has, in feet; with ``first`` only if the text begins with it."""
    plain = unicodedata.normalize("NFC", text).strip()
    match = _length().match(plain) if first else _length().search(plain)
    if match is None:
        return None
    return round(float(match["amount"].replace(",", ".")) * _unit_words()[match["unit"].lower()], 3)


def feet(value: object, unit: object = None) -> float | None:
    """A distance in feet; miles are converted. None if the unit is not a length.

    "Self" and "Touch" are 0, even if the size of an area follows, as in "Self (30-foot radius)".
    """
    words = fold(f"{value} {unit or ''}")
    if re.match(r"(self|touch)\b", words):
        return 0
    amount = first_number(value)
    if amount is None or amount == _UNLIMITED or (amount > _UNLIMITED and re.search(r"\bmiles?\b", words)):
        return None
    if re.search(r"\bmiles?\b", words):
        return amount * MILE
    if not re.search(r"\b(feet|foot|ft)\b", words) and (found := length(f"{value} {unit or ''}")) is not None:
        return found
    return amount if unit is None or re.search(r"\b(feet|foot|ft)\b", words) else None
