"""Stat blocks: code blocks of YAML, as the plugin Fantasy Statblocks reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

import yaml

from lorekeeper.folding import fold
from lorekeeper.records.parts import is_players

LANGUAGE = "statblock"

LARGEST = 1 << 16
"""Characters of YAML that are parsed: PyYAML reads some 100,000 a second."""

BASE_KEYS = ("creature", "monster", "extends", "base")
"""Keys that name a creature of the books, which the others change."""

KEYS = frozenset(
    "layout size type subtype alignment ac armor_class ac_class hp hit_points hit_dice speed stats "
    "ability_scores saves saving_throws skillsaves skills damage_vulnerabilities damage_resistances "
    "damage_immunities condition_immunities senses languages cr challenge challenge_rating environment "
    "environments initiative modifier legendary_description spells traits trait special_abilities actions "
    "action bonus_actions reactions legendary_actions mythic_actions lair_actions regional_effects".split()
)
"""Keys of front matter that are a stat block's, where that is said to be one."""

_SIGNS = frozenset(
    "ac armor_class hp hit_points stats ability_scores cr challenge challenge_rating actions traits".split()
)
_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]|!?\[([^\[\]\n]+)\]\([^()\n]*\)")

MOST_VALUES, DEEPEST = 5000, 12

MOST_MERGED = 100_000
"""Keys that merge keys may bring in: a few lines of them can stand for billions."""

MOST_MERGES, MOST_DIGITS = 100, 100
"""Merge keys of one mapping, and characters of a whole number: more of either takes quadratic time."""

_MERGE, _INT = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:int"

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]


class StatBlockError(ValueError):
    """What is in a stat block is no YAML of keys and values."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
    """Loads plain values in time linear in the length of the text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._room = len(text) + MOST_MERGED

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge mappings into one: this is called for each of them, each time that it is merged."""
        if sum(key.tag == _MERGE for key, _ in node.value) > MOST_MERGES:
            raise StatBlockError(f"more than {MOST_MERGES} merge keys in one mapping{_line(node.start_mark)}")
        super().flatten_mapping(node)
        self._room -= len(node.value)
        if self._room < 0:
            raise StatBlockError(f"merge keys that bring in too many keys{_line(node.start_mark)}")

    def construct_yaml_int(self, node: yaml.ScalarNode) -> object:
        """A whole number: one of base 60, as 1:30:00, may have any number of parts."""
        if len(node.value) > MOST_DIGITS:
            raise StatBlockError(f"a number of more than {MOST_DIGITS} digits{_line(node.start_mark)}")
        return super().construct_yaml_int(node)


_Loader.add_constructor(_INT, _Loader.construct_yaml_int)


def in_front_matter(values: Mapping[str, object], is_secret: Callable[[str, object], bool]) -> dict[str, object]:
    """The keys and values of a stat block in front matter, which ``statblock: true`` says to be one; {} without any.

    Rubrics of the author's own are part of it, unless their keys say that they are secret.
    """
    if str(values.get("statblock", "")).strip().lower() != "true":
        return {}
    if is_players(values):
        return {key: value for key, value in values.items() if _key_name(key) != LANGUAGE}
    found = {
        key: value
        for key, value in values.items()
        if _key_name(key) in KEYS
        or _key_name(key) in BASE_KEYS
        or (_is_rubric(key, value) and not is_secret(key, value))
    }
    return found if any(_key_name(key) in _SIGNS or _key_name(key) in BASE_KEYS for key in found) else {}


def _is_rubric(key: str, value: object) -> bool:
    """Whether a key has a list of named texts, or a further list of spells."""
    entries = value if isinstance(value, list) else []
    named = entries and all(isinstance(each, Mapping) and {"name", "desc"} <= each.keys() for each in entries)
    return bool(named) or (bool(entries) and re.fullmatch(r"spells_?\d{1,2}", _key_name(key)) is not None)


def _key_name(key: str) -> str:
    return re.sub(r"[\s-]+", "_", key.strip().lower()).removesuffix("+")


def without_links(text: str) -> str:
    """A text with what links show in their place, as the plugin reads it: their brackets and colons are not for YAML."""
    return _LINK.sub(lambda match: (match[1] or match[2]).replace(": ", " - "), text) if "[" in text else text


def read_stat_block(text: str) -> tuple[dict[str, Value], str]:
    """Keys and values of a stat block as JSON has them, and the name of the creature it changes ("" for none).

    Raises:
        StatBlockError: it does not parse, holds no keys, or more than 5,000 values.
    """
    if len(text) > LARGEST:
        raise StatBlockError(f"longer than {LARGEST:,} characters")
    with _reading(" of it"):
        parsed = yaml.load(without_links(text.expandtabs(2)), _Loader)  # noqa: S506 - it is a safe loader
        values = _json(parsed, iter(range(MOST_VALUES)), 0)
    if not isinstance(values, dict) or not values:
        raise StatBlockError("no keys and values")
    return values, base_of(values)


def base_of(values: Mapping[str, object]) -> str:
    """The name of the creature that a stat block changes, "" for none."""
    base = next((value for key, value in values.items() if fold(key) in BASE_KEYS and _is_name(value)), "")
    return base.strip() if isinstance(base, str) else ""


def read_documents(text: str) -> Iterator[dict[str, Value]]:
    """Keys and values of each stat block of a file: one, a list of them, or several documents.

    Raises:
        StatBlockError: it does not parse, a stat block has more than 5,000 values, or aliases make more of them than there are
            characters.
    """
    room = iter(range(len(text)))
    with _reading():
        for document in yaml.load_all(without_links(text.expandtabs(2)), _Loader):
            blocks = document if isinstance(document, list) else [document]
            if isinstance(document, Mapping) and isinstance(document.get("monsters"), list):
                blocks = document["monsters"]
            for block in blocks:
                values = _json(block, islice(room, MOST_VALUES), 0)
                if isinstance(values, dict) and values:
                    yield values


@contextmanager
def _reading(within: str = "") -> Iterator[None]:
    """What is wrong with a text becomes a StatBlockError."""
    try:
        yield
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, OverflowError) as error:
        line = _line(getattr(error, "problem_mark", None), within)
        raise StatBlockError(f"{getattr(error, 'problem', None) or error}{line}") from error


def _line(mark: yaml.Mark | None, within: str = "") -> str:
    """Where a mark is, for messages."""
    return f" (line {mark.line + 1}{within})" if mark else ""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _json(value: object, budget: Iterator[int], depth: int) -> Value:
    """A value as JSON has it; dates and whatever else YAML knows become text."""
    if next(budget, None) is None or depth > DEEPEST:
        raise StatBlockError("too many values")
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(part, budget, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_json(part, budget, depth + 1) for part in value]
    return str(value)
