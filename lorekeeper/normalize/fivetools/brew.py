"""A homebrew file as it was read: its sources, its codes, and its objects by kind, name and source.

JSON allows the same key twice and lets Python's parser through with numbers that JSON does not have; texts of real files have
invisible characters. All of that is mended here, and told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from lorekeeper.normalize.build import slugify, without_empty
from lorekeeper.normalize.fivetools.kinds import KINDS, has_no_lore, name_of_property
from lorekeeper.normalize.fivetools.subject import Codes
from lorekeeper.normalize.fivetools.values import Object, commas, listed, mapping, objects, text, texts, word
from lorekeeper.normalize.json_errors import invalid
from lorekeeper.printable import shown

MAX_TITLE = 200

NEW_BOOKS = frozenset("XPHB XDMG XMM EFA FRHOF FRAIF ABH".split())
"""Books of the rules of 2024."""

MAX_LEVELS = 300
"""Most levels of lists and objects; what is deeper is left out."""

MAX_SAME_KEYS = 20
"""Most double keys that are told one by one."""

Tell = Callable[[str], None]

# --- which files these are -------------------------------------------------------------------------------------------

_HEAD = 4_000
_INDEX = re.compile(r'\{\s*"[^"]{1,200}"\s*:\s*\{\s*"[^"]{1,200}\.json"\s*:|\{\s*"[^"]{1,200}\.json"\s*:')
_META = re.compile(
    r'"(?:sources|edition|dateAdded|dateLastModified|dependencies|includes|internalCopies|spellSchools)"\s*:'
)
_PATHFINDER = re.compile(r'\{\s*"(?:creature|ancestry|archetype|versatileHeritage)"\s*:\s*\[\s*\{\s*"name"')
_SAVED = re.compile(r'\{\s*"fileType"\s*:\s*"5etools"|\{\s*"(?:siteVersion|sync|async)"\s*:')
_BLANK = " \t\n\r\f\v\ufeff\u00a0"
_DECODER = json.JSONDecoder(strict=False)
_KEY = re.compile(r'[\s,]*"([^"\\]{0,100})"\s*:\s*')
_LIST = re.compile(r"\[\s*(?:\{|\]|$)")

_NOT_OURS = frozenset({"collection", "_id", "results", "document", "slug", "key", "count"})
"""Keys that objects of other formats have, and homebrew files do not."""

_LISTS = frozenset((*KINDS, *(f"{kind}Fluff" for kind in KINDS)))


def recognises_index(head: str) -> bool:
    """Whether a text is a list of homebrew files, which has no content of its own."""
    return _INDEX.match(head.lstrip(_BLANK)) is not None


def recognises(head: str) -> bool:
    """Whether a text begins like a homebrew file, a save file of the site, or a file of its sister for Pathfinder."""
    head = head.lstrip(_BLANK)
    is_pathfinder = _PATHFINDER.match(head) is not None and '"source"' in head
    return _is_homebrew(head) or _SAVED.match(head) is not None or is_pathfinder


def _is_homebrew(head: str) -> bool:
    """Whether a text begins like an object with ``_meta``, or with a list under the name of a kind."""
    at, found = 1, False
    while head.startswith("{") and (match := _KEY.match(head, at)):
        key, at = match[1], match.end()
        if key in _NOT_OURS or (key == "name" and not found):
            return False
        value = head[at : at + _HEAD]
        found = found or (key in _LISTS and _LIST.match(value) is not None)
        found = found or (key == "_meta" and value.startswith("{") and _META.search(value) is not None)
        found = found or (key == "$schema" and "5etools" in value[:300])
        try:
            _, at = _DECODER.raw_decode(head, at)
        except (ValueError, RecursionError):
            break
    return found


# --- its content -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Book:
    """The source of an entry, which is a document of the library.

    Attributes:
        key: of the document.
        title: of it.
        record: what the file says of it: authors, address, version, ...
    """

    key: str
    title: str
    record: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Brew:
    """A homebrew file.

    Attributes:
        lists: its objects by kind, as the file has them, cleaned; what stands in a list that is no object too.
        problems: what was mended in an object, by its `id`.
        others: what stands where a list was expected, or in a list of unknown kind, by its key.
    """

    meta: Object
    lists: dict[str, list[object]] = field(default_factory=dict)
    problems: dict[int, list[str]] = field(default_factory=dict)
    others: dict[str, object] = field(default_factory=dict)

    @classmethod
    def all(cls, source: str, tell: Tell) -> list[Brew]:
        """The content of a file, or of each of the files that a save file of the site has; ValueError if it is none."""
        content = parsed(source, tell)
        if not _SAVED.match(source.lstrip(_BLANK)):
            return [cls.of(content)]
        return [cls.of(mapping(each, "body")) for each in listed(content, "async.HOMEBREW_2_STORAGE")]

    @classmethod
    def of(cls, content: Object) -> Brew:
        """The content of a file that has been parsed."""
        brew = cls(mapping(content, "_meta"))
        for key, value in content.items():
            brew._take(key, value)
        for each in brew.objects("class"):
            source = {"source": each.get("source"), "className": each.get("name"), "classSource": each.get("source")}
            for sub in objects(each, "subclasses"):  # as old files nest them
                brew.lists.setdefault("subclass", []).append({**source, **sub})
        for place, race in enumerate(brew.lists.get("race", [])):
            if subraces := objects(race, "subraces"):
                whole = brew.lists["race"][place] = _with_nameless(mapping(race), subraces)
                brew.problems.setdefault(id(whole), brew.problems.get(id(race), []))
                brew.lists.setdefault("subrace", []).extend(_nested_subraces(mapping(race), subraces))
        return brew

    def _take(self, key: str, value: object) -> None:
        """A value at the top of a file."""
        if isinstance(value, list) and (key in KINDS or has_no_lore(key)):
            self.lists[key] = [self._cleaned(each) for each in value]
        elif (isinstance(value, (list, Mapping)) and key != "_meta") or key in KINDS:
            self.others[key] = value

    def _cleaned(self, value: object) -> object:
        problems: dict[str, None] = {}
        cleaned = _cleaned(value, problems)
        if problems:
            self.problems[id(cleaned)] = list(problems)
        return cleaned

    @property
    def is_pathfinder(self) -> bool:
        """Whether it is of Pf2eTools, the sister of 5etools for another game, whose files look alike."""
        first = [mapping(next(iter(self.lists.get(key, [])), None)) for key in ("spell", "feat", "item")]
        return (
            any(key in self.others for key in ("creature", "ancestry", "archetype", "versatileHeritage"))
            or "traditions" in first[0]
            or any({"traits", "level"} <= each.keys() for each in first)
        )

    def objects(self, kind: str) -> list[Object]:
        """Its objects of a kind."""
        return [each for each in self.lists.get(kind, []) if isinstance(each, Mapping)]

    def codes(self) -> Codes:
        """What codes of this file stand for, by the tables that they add to."""
        return {
            table: {code: text(each, key) for code, each in mapping(self.meta, place).items()}
            for table, (place, key) in word["declared"].items()
        } | {
            "features": {code: text(each) for code, each in mapping(self.meta, "optionalFeatureTypes").items()},
            "item types": {text(each, "abbreviation"): text(each, "name") for each in self.objects("itemType")},
            "properties": {text(each, "abbreviation"): name_of_property(each) for each in self.objects("itemProperty")},
        }

    def books(self) -> dict[str, Book]:
        """The sources that it declares, by their codes without case."""
        sources = objects(self.meta, "sources")
        return {text(each, "json").casefold(): self._book(each) for each in sources if text(each, "json")}

    def _book(self, source: Object) -> Book:
        code = text(source, "json")
        title = (" ".join(text(source, "full").split()) or code)[:MAX_TITLE]
        record = {
            "name": title,
            "author": commas(*texts(source, "authors")),
            "converted_by": commas(*texts(source, "convertedBy")),
            "version": text(source, "version"),
            "url": text(source, "url"),
            "gamesystem": word["editions"].get(text(self.meta, "edition")),
        }
        return Book(slugify(title)[:MAX_TITLE] or slugify(code), title, without_empty(record))


def known_book(code: str) -> Book:
    """A book that no file declares, by its code."""
    title = word("books", code.upper(), code)
    system = word["editions"]["one" if code.upper() in NEW_BOOKS else "classic"]
    record = {"name": title, "gamesystem": system if code.upper() in word["books"] else None}
    return Book(slugify(title)[:MAX_TITLE], title, without_empty(record))


def _nested_subraces(race: Object, subraces: Sequence[Object]) -> Iterator[Object]:
    """The subraces that stand within their race, as those that stand apart."""
    for sub in subraces:
        if text(sub, "name"):
            source = {"source": sub.get("source") or race.get("source")}
            yield {**sub, **source, "raceName": race.get("name"), "raceSource": race.get("source")}


def _with_nameless(race: Object, subraces: Sequence[Object]) -> Object:
    """A race without its subraces: what one without a name says is said of the race itself."""
    whole = {key: value for key, value in race.items() if key != "subraces"}
    for sub in subraces:
        if not text(sub, "name"):
            entries = [*listed(whole, "entries"), *listed(sub, "entries")]
            whole |= {**sub, "name": race.get("name"), "entries": entries}
    return whole


# --- JSON ------------------------------------------------------------------------------------------------------------


def parsed(source: str, tell: Tell) -> Object:
    """The object of a file; ValueError, with the reason and what to do, if it is none."""
    problems: list[str] = []

    def joined(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in pairs:
            if key in result:
                problems.append(_join(result, key, value))
            else:
                result[key] = value
        return result

    try:
        value = json.loads(source, object_pairs_hook=joined, strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(invalid(error)) from error
    except RecursionError as error:
        raise ValueError("invalid JSON: it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"it must be an object with lists of entries, not {type(value).__name__}")
    if len(problems) > MAX_SAME_KEYS:
        problems[MAX_SAME_KEYS:] = [f"and {len(problems) - MAX_SAME_KEYS:,} more double keys"]
    for problem in problems:
        tell(problem)
    return value


def _join(result: dict[str, object], key: str, value: object) -> str:
    """Take a second value under a key: of two lists all entries, otherwise the second value."""
    before, name = result[key], result.get("name")
    where = f" in {shown(name, 60)}" if isinstance(name, str) and key != "name" else ""
    both = isinstance(before, list) and isinstance(value, list)
    result[key] = [*listed(before), *listed(value)] if both else value
    kept = "the entries of both lists are read" if both else f"the last value, {shown(value, 40)}, was stored"
    return f"the key {shown(key, 40)} appears twice{where}; {kept}"


_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


@cache
def _characters() -> dict[int, str]:
    """What stands for characters that nobody can see, or that no store can keep."""
    return {int(code, 16): seen for code, seen in word["characters"].items()} | _SURROGATES


def _cleaned(value: object, problems: dict[str, None], level: int = 0) -> object:
    """A value that a library can keep, one stack frame a level; what was mended is added to the problems."""
    if not isinstance(value, (dict, list)):
        return _scalar(value, problems)
    if level == MAX_LEVELS:
        problems.setdefault(f"it is nested more than {MAX_LEVELS} levels deep; the deeper levels were left out")
        return None
    if isinstance(value, list):
        items: list[object] = []
        for item in value:
            items.append(_cleaned(item, problems, level + 1))  # noqa: PERF401 (a comprehension takes a second frame)
        return items
    result: dict[str, object] = {}
    for key, item in value.items():
        result[key] = _cleaned(item, problems, level + 1)
    return result


def _scalar(value: object, problems: dict[str, None]) -> object:
    if isinstance(value, str) and (not value.isascii() or "\0" in value):
        if any("\ud800" <= character <= "\udfff" for character in value):
            problems.setdefault("one of its texts has half a character (a lone surrogate), which was replaced")
        return value.translate(_characters())
    if isinstance(value, float) and not math.isfinite(value):
        problems.setdefault(f"{value} is not a JSON number; the value was left out")
        return None
    if isinstance(value, int) and not -(2**53) <= value <= 2**53:
        problems.setdefault("one of its numbers has too many digits; the value was left out")
        return None
    return value


# --- finding objects -------------------------------------------------------------------------------------------------


class Index:
    """The objects of several files, by kind, name and source.

    Attributes:
        books: their sources, by code without case.
        limit: if there are more files than were read, most characters of those that were; otherwise 0.
    """

    def __init__(self, brews: Sequence[Brew]) -> None:
        self.limit = 0
        self.books: dict[str, Book] = {}
        self._by_name: dict[tuple[str, str], list[Object]] = {}
        for brew in brews:
            self.add(brew)

    def add(self, brew: Brew) -> None:
        """Add the objects of a file."""
        self.books = {**brew.books(), **self.books}
        for kind in brew.lists:
            for each in brew.objects(kind):
                if name := _key(each.get("name")):
                    self._by_name.setdefault((kind, name), []).append(each)

    def find(self, kind: str, name: str, source: str) -> list[Object]:
        """All objects of a kind with that name and source; any source for ""."""
        for each in (kind, *word["also"].get(kind, ())):
            found = self._by_name.get((each, _key(name)), [])
            if alike := [
                obj for obj in found if not source or _key(text(obj, "source", "inherits.source")) == _key(source)
            ]:
                return alike
        return []


def _key(value: object) -> str:
    return text(value).strip().casefold()
