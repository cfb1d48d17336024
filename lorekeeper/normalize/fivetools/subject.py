"""One object of a homebrew file that is being made into an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from lorekeeper.normalize.fivetools.entries import Writer
from lorekeeper.normalize.fivetools.tags import Reader
from lorekeeper.normalize.fivetools.values import Data, Object, commas, listed, mapping, number, text, texts, uid, word

MAX_VARIABLE = 500
"""Longest value of an object that its own texts can repeat by its key, in characters."""


class Find(Protocol):
    """Finds objects."""

    def __call__(self, kind: str, name: str, source: str, *, everywhere: bool = True) -> list[Object]:
        """All objects of a kind with that name and source: of the file, or else of all files of the import."""


Codes = Mapping[str, Mapping[str, str]]
"""What the codes of a file stand for, beside those that every file has, by the tables of ``words.toml``."""


@dataclass(frozen=True)
class Subject:
    """An object with all that is needed to read it.

    Attributes:
        kind: the key under which it stands in its file: "monster", "spell", ...
        obj: the object, with what it inherits.
        codes: of its file.
        find: finds other objects of the import.
        tell: reports a problem.
        used: objects that were read as parts of others, by `id`.
    """

    kind: str
    obj: Object
    codes: Codes
    find: Find
    tell: Callable[[str], None]
    used: set[int] = field(default_factory=set)

    def word(self, table: str, code: str) -> str:
        """What a code stands for, in the file or in all files; itself if it is not known."""
        return self.codes.get(table, {}).get(code) or word(table, code.upper(), code)

    def stated(self, table: str) -> Data:
        """The values of an entry that its object states as they are: the table says under which key, and how each is read."""
        return {name: _STATED[how](self, key) for name, (how, key) in word[table].items()}

    @cached_property
    def reader(self) -> Reader:
        """Reads its texts."""
        return Reader(self._variables())

    @cached_property
    def writer(self) -> Writer:
        """Writes its entries."""
        return Writer(self.reader, self.feature)

    @cached_property
    def name(self) -> str:
        """Its name, "" without one."""
        return self.words("name")

    @property
    def source(self) -> str:
        """The code of its source, "" without one."""
        return text(self.obj, "source").strip()

    def words(self, key: str) -> str:
        """A text of the object in one line, "" if there is none."""
        return self.reader.plain(self.obj.get(key))

    def prose(self, *keys: str, headings: int = 0) -> str:
        """Entries under these keys, one after the other, as Markdown."""
        return self.writer.markdown([entry for key in keys for entry in listed(self.obj.get(key))], headings)

    def names(self, key: str) -> str:
        """The texts of a list with commas, in one line."""
        return commas(*(self.plain(each) for each in listed(self.obj, key)))

    def plain(self, value: object) -> str:
        """A text, or entries, in one line: a text has no emphasis."""
        return self.reader.plain(value) if isinstance(value, str) else self.writer.line(value)

    def fluff(self) -> str:
        """The description that stands apart from the rules: in the object itself, or in a list of its own."""
        own = self.obj.get("fluff")
        entries, name = listed(own) if isinstance(own, list) else listed(own, "entries"), text(self.obj, "name")
        if not entries:
            found = self.find(f"{self.kind}Fluff", name, self.source, everywhere=self.obj.get("hasFluff") is True)[:1]
            self.used.update(map(id, found))
            entries = [entry for each in found for entry in listed(each, "entries")]
        own_name = name.casefold()
        return self.writer.markdown(
            [
                {**each, "name": None}
                if isinstance(each, Mapping) and text(each, "name").casefold() == own_name
                else each
                for each in entries
            ]
        )

    def _variables(self) -> Mapping[str, str]:
        inherits = mapping(self.obj, "inherits")
        words = {key: text(value) for key, value in {**self.obj, **inherits}.items()}
        return {key: value for key, value in words.items() if 0 < len(value) <= MAX_VARIABLE}

    def feature(self, kind: str, named: str) -> Object | None:
        """A class feature by its uid: the parts after the name must be those of the feature, where both have them."""
        name, *parts = [part.strip() for part in named.split("|")]
        keys = word["parts of features"].get(kind, ())
        for found in self.find(kind, name, ""):
            wanted = zip(keys, parts, strict=False)
            if all(not part or text(found.get(key)).casefold() in ("", part.casefold()) for key, part in wanted):
                self.used.add(id(found))
                return found
        return None


_STATED: Mapping[str, Callable[[Subject, str], object]] = {
    "line": Subject.names,
    "names": lambda subject, key: ", ".join(uid(each)[0] for each in listed(subject.obj, key)),
    "texts": lambda subject, key: texts(subject.obj, key),
    "number": lambda subject, key: number(subject.obj, key),
    "flag": lambda subject, key: subject.obj.get(key) is True or None,
}
"""How values are read that are stated as they are."""
