"""A homebrew file as it was read: its sources, its codes, and its objects by kind, name and source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.fivetools.kinds import KINDS, has_no_lore, name_of_property
from lorekeeper.normalize.fivetools.reading import Cleaner, is_save_file, parsed
from lorekeeper.normalize.fivetools.subject import Codes
from lorekeeper.normalize.fivetools.values import Object, listed, mapping, objects, text, texts

MAX_TITLE = 200

BOOKS = {
    "PHB": "Player's Handbook (2014)",
    "DMG": "Dungeon Master's Guide (2014)",
    "MM": "Monster Manual (2014)",
    "XPHB": "Player's Handbook (2024)",
    "XDMG": "Dungeon Master's Guide (2024)",
    "XMM": "Monster Manual (2024)",
    "EFA": "Eberron: Forge of the Artificer",
    "FRHOF": "Forgotten Realms: Heroes of Faerûn",
    "FRAIF": "Forgotten Realms: Adventures in Faerûn",
    "ABH": "Astarion's Book of Hungers",
    "XGE": "Xanathar's Guide to Everything",
    "TCE": "Tasha's Cauldron of Everything",
    "SCAG": "Sword Coast Adventurer's Guide",
    "VGM": "Volo's Guide to Monsters",
    "MTF": "Mordenkainen's Tome of Foes",
    "MPMM": "Mordenkainen Presents: Monsters of the Multiverse",
    "FTD": "Fizban's Treasury of Dragons",
}
"""Titles of books by the codes that homebrew refers to them with."""

NEW_BOOKS = frozenset({"XPHB", "XDMG", "XMM", "EFA", "FRHOF", "FRAIF", "ABH"})
"""Books of the rules of 2024."""

EDITIONS = {
    "classic": {"name": "5th Edition 2014", "key": "5e-2014"},
    "one": {"name": "5th Edition 2024", "key": "5e-2024"},
}
"""The game systems of the editions that files name."""


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
    def read(cls, source: str, tell: Callable[[str], None]) -> Brew:
        """The content of a file; ValueError, with the reason, if it is none."""
        return cls.of(parsed(source, tell))

    @classmethod
    def all(cls, source: str, tell: Callable[[str], None]) -> list[Brew]:
        """The content of a file, or of each of the files that a save file of the site has."""
        content = parsed(source, tell)
        if not is_save_file(source):
            return [cls.of(content)]
        saved = listed(mapping(content.get("async")).get("HOMEBREW_2_STORAGE"))
        return [cls.of(mapping(mapping(each).get("body"))) for each in saved]

    @classmethod
    def of(cls, content: Object) -> Brew:
        """The content of a file that has been parsed."""
        brew = cls(mapping(content.get("_meta")))
        for key, value in content.items():
            brew._take(key, value)
        for sub in _nested_subclasses(brew.lists.get("class", [])):
            brew.lists.setdefault("subclass", []).append(sub)
        for place, race in enumerate(brew.lists.get("race", [])):
            if isinstance(race, Mapping) and (subraces := objects(race.get("subraces"))):
                brew.lists["race"][place] = _with_nameless(race, subraces)
                brew.problems.setdefault(id(brew.lists["race"][place]), brew.problems.get(id(race), []))
                brew.lists.setdefault("subrace", []).extend(_nested_subraces(race, subraces))
        return brew

    def _take(self, key: str, value: object) -> None:
        """A value at the top of a file."""
        is_list = isinstance(value, list)
        if (key in KINDS and is_list) or (has_no_lore(key) and is_list):
            self.lists[key] = [self._cleaned(each) for each in listed(value)]
        elif (isinstance(value, (list, Mapping)) and key != "_meta") or key in KINDS:
            self.others[key] = value

    def _cleaned(self, value: object) -> object:
        cleaner = Cleaner()
        cleaned = cleaner.clean(value)
        if cleaner.problems:
            self.problems[id(cleaned)] = list(cleaner.problems)
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

    @property
    def sources(self) -> list[Object]:
        """What the file declares of its sources."""
        return objects(self.meta.get("sources"))

    def codes(self) -> Codes:
        """What codes of this file stand for."""
        schools = {
            code: text(mapping(each).get("full")) for code, each in mapping(self.meta.get("spellSchools")).items()
        }
        units = {
            code: text(mapping(each).get("plural"))
            for code, each in mapping(self.meta.get("spellDistanceUnits")).items()
        }
        features = {code: text(each) for code, each in mapping(self.meta.get("optionalFeatureTypes")).items()}
        types = {text(each.get("abbreviation")): text(each.get("name")) for each in self._objects("itemType")}
        properties = {text(each.get("abbreviation")): name_of_property(each) for each in self._objects("itemProperty")}
        return Codes(schools, features, types, properties, units)

    def _objects(self, kind: str) -> list[Object]:
        return [each for each in self.lists.get(kind, []) if isinstance(each, Mapping)]

    def books(self) -> dict[str, Book]:
        """The sources that it declares, by their codes without case."""
        return {text(each.get("json")).casefold(): self._book(each) for each in self.sources if text(each.get("json"))}

    def _book(self, source: Object) -> Book:
        code = text(source.get("json"))
        title = (" ".join(text(source.get("full")).split()) or code)[:MAX_TITLE]
        people = {"author": "authors", "converted_by": "convertedBy"}
        record = {key: ", ".join(texts(source.get(theirs))) for key, theirs in people.items()}
        record |= {key: text(source.get(key)) for key in ("version", "url")}
        system = EDITIONS.get(text(self.meta.get("edition")))
        found = {key: value for key, value in {"name": title, **record, "gamesystem": system}.items() if value}
        return Book(slugify(title)[:MAX_TITLE] or slugify(code), title, found)


def known_book(code: str) -> Book:
    """A book that no file declares, by its code."""
    title = BOOKS.get(code.upper(), code)
    system = EDITIONS["one" if code.upper() in NEW_BOOKS else "classic"]
    record: dict[str, object] = {"name": title} | ({"gamesystem": system} if code.upper() in BOOKS else {})
    return Book(slugify(title)[:MAX_TITLE], title, record)


def _nested_subraces(race: Object, subraces: Sequence[Object]) -> Iterator[Object]:
    """The subraces that stand within their race, as those that stand apart."""
    for sub in subraces:
        if text(sub.get("name")):
            source = {"source": sub.get("source") or race.get("source")}
            yield {**sub, **source, "raceName": race.get("name"), "raceSource": race.get("source")}


def _with_nameless(race: Object, subraces: Sequence[Object]) -> Object:
    """A race without its subraces: what one without a name says is said of the race itself."""
    whole = {key: value for key, value in race.items() if key != "subraces"}
    for sub in subraces:
        if not text(sub.get("name")):
            entries = [*listed(whole.get("entries")), *listed(sub.get("entries"))]
            whole |= {**sub, "name": race.get("name"), "entries": entries}
    return whole


def _nested_subclasses(classes: Iterable[object]) -> Iterator[Object]:
    """Subclasses that old files nest in their class."""
    for each in classes:
        found = mapping(each)
        for child in objects(found.get("subclasses")):
            yield {
                "source": found.get("source"),
                "className": found.get("name"),
                "classSource": found.get("source"),
                **child,
            }


ALSO = {"item": ("baseitem", "itemGroup", "magicvariant"), "baseitem": ("item",), "race": ("subrace",)}
"""Kinds whose objects may stand in for those of another when they are copied."""


class Shelf:
    """Finds objects in a file, and in the other files of its import, which are read only when that is needed.

    Args:
        own: the file.
        others: gives the others.
    """

    def __init__(self, own: Brew, others: Callable[[], Index]) -> None:
        self._own, self._others = Index([own]), others

    def find(self, kind: str, name: str, source: str, *, everywhere: bool = True) -> list[Object]:
        """All objects of a kind with that name and source, of the file or else of the others; any source for ""."""
        found = self._own.find(kind, name, source)
        return found if found or not everywhere else self._others().find(kind, name, source)

    @property
    def searched(self) -> str:
        """Where it has looked for what it has not found, for messages."""
        return f"the first {self._others().limit >> 20} MB of the files" if self._others().limit else "the files"

    def book(self, code: str) -> Book | None:
        """The source that has a code."""
        return self._own.books.get(code.casefold()) or self._others().books.get(code.casefold())


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
        for kind, values in brew.lists.items():
            for each in values:
                if isinstance(each, Mapping) and (name := _key(each.get("name"))):
                    self._by_name.setdefault((kind, name), []).append(each)

    def find(self, kind: str, name: str, source: str) -> list[Object]:
        """As `Shelf.find`."""
        for each in (kind, *ALSO.get(kind, ())):
            found = self._by_name.get((each, _key(name)), [])
            if alike := [obj for obj in found if not source or _source(obj) == _key(source)]:
                return alike
        return []


def _key(value: object) -> str:
    return text(value).strip().casefold()


def _source(obj: Object) -> str:
    return _key(obj.get("source") or mapping(obj.get("inherits")).get("source"))
