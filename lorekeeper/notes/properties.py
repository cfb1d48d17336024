"""Front matter: YAML of any shape as keys and texts."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import yaml

from lorekeeper.folding import fold
from lorekeeper.notes.marks import humps_apart
from lorekeeper.records.stat_blocks import LARGEST

MOST_TEXTS, MOST_STEPS = 1000, 20_000
"""Texts taken from one value, and steps to find them: aliases of YAML can make millions of a few lines."""

DEEPEST = 6

TOML = "+++\n"
"""How front matter begins that is TOML, as `source.front_matter` gives it."""

_LINE = re.compile(r"([^\W_][\w -]{0,60}):[ \t]+(\S.*)")
_KEY_OF_LINE = re.compile(r"[\"']?([^\W_][\w .-]{0,60})[\"']?:(?![:/])")
READ_ALONE = "; each key was read by itself"
"""How the problem of front matter ends that was mended."""

_ABSENT = frozenset({"", "~", "null", "none", "undefined"})


MERGE = "<<"
"""The key by which YAML takes over what another object has."""


class Properties:
    """The keys and values of a note's front matter, found by their folded keys: "Session Number" is "session-number".

    Args:
        values: by key, as they are written; of equal keys the last.
        pairs: all keys with their values, those that stand there twice and those that were merged in too; None for `values`.
        is_broken: whether something of it could not be read.
        mended: the keys whose lines are no YAML, and were read as texts; nothing else was wrong then.
    """

    def __init__(
        self,
        values: Mapping[str, object],
        pairs: Sequence[tuple[str, object]] | None = None,
        *,
        is_broken: bool = False,
        mended: frozenset[str] = frozenset(),
    ) -> None:
        self.values = values
        self.pairs = list(values.items()) if pairs is None else pairs
        self.is_broken = is_broken
        self.mended = mended
        forms = ((form, key) for key in reversed(list(values)) for form in (fold(humps_apart(key)), fold(key)))
        self._keys = dict(forms)

    def texts(self, *keys: str) -> list[str]:
        """The texts of the first of these keys that has any."""
        return next((found for key in keys if (found := self._texts(key))), [])

    def text(self, *keys: str) -> str:
        """The first text of the first of these keys that has any, "" for none."""
        return next(iter(self.texts(*keys)), "")

    def key(self, *keys: str) -> str:
        """The first of these keys that has a text, as it was written; "" for none."""
        return next((self._keys[key] for key in keys if self._texts(key)), "")

    def _texts(self, key: str) -> list[str]:
        return texts(self.values[self._keys[key]]) if key in self._keys else []


def joined_with(properties: Properties, *others: Iterable[tuple[str, object]]) -> Properties:
    """All properties of a note in one table: front matter, what an object within it holds, and what the text says.

    Of keys that are equal the first that has a text counts.
    """
    objects = (value for value in properties.values.values() if isinstance(value, Mapping))
    inner = ((str(key), value) for each in objects for key, value in each.items())
    found: dict[str, tuple[str, object]] = {}
    for key, value in itertools.chain(properties.values.items(), inner, *others):
        if texts(value):
            found.setdefault(fold(key), (key, value))
    return Properties(dict(found.values()))


TAG_KEYS = ("tags", "tag")
"""Keys of the tags of a note, some of which are marks."""


def written_tags(properties: Properties) -> list[str]:
    """The tags of front matter, as they are written."""
    return " ".join(properties.texts(*TAG_KEYS)).replace(",", " ").split()


def read_properties(text: str) -> tuple[Properties, list[str]]:
    """Front matter by key, scalars as they are written; and what is wrong with it.

    Where YAML finds no sense in it, the lines of the form ``key: value`` are taken by themselves.
    """
    try:
        values, pairs = _toml(text) if text.startswith(TOML) else _yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        if not text.startswith(TOML) and (mended := _mended(text)):
            return mended, [f"front matter: {_reason(error)}{READ_ALONE}"]
        return Properties(_lines(text), is_broken=True), [
            f"front matter: {_reason(error)}; players do not see the note"
        ]
    if not values:
        return Properties({}), []
    if not isinstance(values, dict):
        return Properties({}, is_broken=True), [
            f"front matter: a {'list' if isinstance(values, list) else 'text'}, not keys and values; players do not see the note"
        ]
    return Properties({str(key).strip(): value for key, value in values.items()}, pairs), []


def joined(blocks: Sequence[str]) -> tuple[Properties, list[str]]:
    """What several blocks of front matter say together: of equal keys the first that has one, and all of the marks."""
    read = [read_properties(block) for block in blocks]
    problems = [problem for _, found in read for problem in found]
    if len(read) > 1:
        problems.append(
            "there is a second block of front matter below the first: both are read, and the stricter mark applies"
        )
    values: dict[str, object] = {}
    for properties, _ in read:
        values = {**properties.values, **values}
    pairs = [pair for properties, _ in read for pair in properties.pairs]
    is_broken = any(properties.is_broken for properties, _ in read)
    mended = frozenset[str]().union(*(properties.mended for properties, _ in read))
    return Properties(values, pairs, is_broken=is_broken, mended=mended), problems


def _checked(text: str) -> str:
    if len(text) > LARGEST:
        raise ValueError(f"longer than {LARGEST:,} characters")
    return text


def _toml(text: str) -> tuple[object, list[tuple[str, object]]]:
    values = tomllib.loads(_checked(text.removeprefix(TOML)))
    return values, list(values.items())


def _yaml(text: str) -> tuple[object, list[tuple[str, object]]]:
    """The value of a text, and, if it is an object, all its keys with their values."""
    loader = yaml.BaseLoader(_checked(text).replace("\t", "  "))
    try:
        root = loader.get_single_node()
        if root is None:
            return None, []
        values = loader.construct_document(root)
        return values, list(_pairs(loader, root, values)) if isinstance(root, yaml.MappingNode) else []
    finally:
        loader.dispose()


def _pairs(
    loader: yaml.BaseLoader, root: yaml.MappingNode, values: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    counts = Counter(str(key.value) for key, _ in root.value)
    for key_node, value_node in root.value:
        key = str(key_node.value)
        alone = counts[key] == 1 and key in values
        value = values[key] if alone else loader.construct_object(value_node, deep=True)
        yield key.strip(), value
        if key == MERGE:
            merged = value if isinstance(value, list) else [value]
            yield from ((str(k), v) for each in merged if isinstance(each, Mapping) for k, v in each.items())


def _mended(text: str) -> Properties | None:
    """Keys and values each read by itself, a line that is no YAML as a text; None if there is more that cannot be read."""
    parts: list[tuple[str, list[str]]] = []
    for line in text[:LARGEST].split("\n") if len(text) <= LARGEST else ():
        if match := _KEY_OF_LINE.match(line):
            parts.append((match[1].strip(), [line]))
        elif line.strip() and not line.startswith("#"):
            if not parts or line[0] not in " \t-":
                return None
            parts[-1][1].append(line)
    values: dict[str, object] = {}
    mended = set[str]()
    for key, lines in parts:
        try:
            value, _ = _yaml("\n".join(lines))
        except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError):
            value = None
        if key in values or (len(lines) > 1 and not isinstance(value, dict)):
            return None
        if isinstance(value, dict):
            values |= {str(each).strip(): inner for each, inner in value.items()}
        else:
            values[key] = lines[0].partition(":")[2].strip()
            mended.add(key)
    return Properties(values, mended=frozenset(mended)) if mended else None


def _lines(text: str) -> dict[str, object]:
    matches = (_LINE.fullmatch(line.rstrip()) for line in text[:LARGEST].split("\n"))
    return {match[1].strip(): match[2].strip("\"' ") for match in matches if match}


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{problem} (line {mark.line + 2})" if mark else str(problem)


def texts(value: object) -> list[str]:
    """The texts of a value, at most 1,000: of each item of a list, of each "key: value" of an object."""
    found: list[str] = []
    waiting: list[tuple[str, object, int]] = [("", value, 0)]
    for _ in range(MOST_STEPS):
        if not waiting or len(found) >= MOST_TEXTS:
            break
        before, part, depth = waiting.pop()
        inner = list(_parts(part))
        if inner and depth < DEEPEST:
            waiting += [(before + key, item, depth + 1) for key, item in reversed(inner[:MOST_TEXTS])]
        elif not inner and (text := _scalar(part)):
            found.append(before + text)
    return found


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """What a list or an object holds, with what to write before it."""
    if _link(value) is not None:
        return
    if isinstance(value, Mapping):
        yield from ((f"{key}: ", part) for key, part in value.items())
    elif isinstance(value, (list, tuple, set)):
        yield from (("", part) for part in value)


def _scalar(value: object) -> str:
    if (link := _link(value)) is not None:
        return link
    if value is None or isinstance(value, (Mapping, list, tuple, set)):
        return ""
    text = " ".join(str(value).split())
    return "" if text.casefold() in _ABSENT else text


def _link(value: object) -> str | None:
    """The wikilink that YAML reads as a list in a list where it is not quoted."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        (inner,) = value
        if len(inner) == 1 and isinstance(inner[0], str):
            return f"[[{inner[0]}]]"
    return None


def listed(found: list[str]) -> list[str]:
    """Texts apart where one holds several, between commas or semicolons."""
    parts = (part.strip().strip("\"'").strip() for text in found for part in re.split(r"[,;\n]", text))
    return [part for part in parts if part]
