"""What somebody types into a search box, as a search: words, quoted phrases and tests, in any order.

::

    level<=3 class:wizard ritual "wall of"
    dragon cr:5..8 -type:undead book:srd-2014
    in:spells fire order:level

Tests are those of `lorekeeper.where`. Besides, ``in:`` and ``type:`` choose types of entries by their names, ``book:`` documents
by their keys or titles, and ``order:`` (or ``sort:``) an order; ``type:npc`` asks for a kind. A flag that stands alone, as "ritual"
does, is a test beside other tests, and a word without any.

Nothing that is typed is an error. What is not typed to its end, as "level<", counts as not typed yet; what is no test is words;
and what cannot be met is left out. Of the last two the notes tell. The text is all there is to a search: `with_test` and
`without_test` change it as somebody does who types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lorekeeper.entities import COLLECTIONS, Field, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.field_values import Stored
from lorekeeper.filters import unknown_name
from lorekeeper.order import parse_orders
from lorekeeper.printable import shown
from lorekeeper.search.query import Query
from lorekeeper.search.query_syntax.names import (
    BOOK,
    IN,
    ORDER,
    books_named,
    field_in,
    fields_called,
    is_choice,
    is_flag,
    is_test,
    is_valid,
    key_of,
    known_names,
    meanings,
    meant,
    renamed,
    stored_values,
    types_named,
)
from lorekeeper.search.query_syntax.parts import Kind, Part, cleaned, parts, written
from lorekeeper.where import MAX_LENGTH, FieldTest

_TAKES = {
    FieldType.TEXT: "a text",
    FieldType.TEXTS: "texts",
    FieldType.INTEGER: "a whole number",
    FieldType.DECIMAL: "a number",
    FieldType.FLAG: "yes or no",
    FieldType.DATE: "a date",
}

NO_TITLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ParsedQuery:
    """A text that was typed, as a search.

    Attributes:
        text: what was read of it.
        types: the entity types to search: those chosen that have the fields of all tests.
        words: the free words, "" for none.
        phrases: what stands in quotes.
        where: the tests, in the grammar of `lorekeeper.where`; None for none.
        documents: keys of the documents to search, None for all.
        order: as `order.parse_orders` reads it, None for none.
        unfinished: whether the text ends with a word, which may go on.
        chosen: the values that tests ask for, as they are stored, by the name of the field; under `IN` types, under `BOOK` keys.
        notes: what the reader should know.
        wrong: the parts that these are about, as they were typed.
    """

    text: str
    types: Sequence[str]
    words: str = ""
    phrases: Sequence[str] = ()
    where: str | None = None
    documents: Sequence[str] | None = None
    order: str | None = None
    unfinished: bool = False
    chosen: Mapping[str, frozenset[Stored]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    wrong: Sequence[str] = ()

    @property
    def empty(self) -> bool:
        """Whether it asks for nothing: what it finds is the whole library."""
        return not (self.words or self.phrases or self.where or self.chosen)

    def query(self, *, limit: int = 10, offset: int = 0, typing: bool = False) -> Query:
        """The search.

        Args:
            limit: results a page.
            offset: results to skip.
            typing: whether somebody is typing, so that the last word may go on.
        """
        text = " ".join(filter(None, [self.words, *self.phrases]))
        return Query(
            types=self.types,
            text=text or None,
            where=self.where,
            documents=self.documents,
            order=self.order,
            phrases=self.phrases,
            limit=limit,
            offset=offset,
            unfinished=typing and self.unfinished and not self.phrases,
        )


def parse_query(
    text: str,
    titles: Mapping[str, str] = NO_TITLES,
    types: Sequence[str] = tuple(COLLECTIONS),
    *,
    ended: bool = False,
) -> ParsedQuery:
    """What a text asks for.

    Args:
        text: of the search box.
        titles: of all documents, by key: what ``book:`` chooses from.
        types: the entity types to search unless the text chooses others, or asks for fields that only others have.
        ended: whether nobody is typing it any more, so that what its last part has wrong is said too.
    """
    read = list(map(meant, parts(cleaned(text))))
    reading = _Reading(titles, list(types), tested=any(map(is_test, read)), ended=ended)
    reading.choose(read)
    reading.narrow(read)
    reading.words_of(read)
    return reading.result(cleaned(text), read)


class _Reading:
    """A text on its way to a search; its parts are taken in three rounds, since what is chosen decides what others mean."""

    def __init__(self, titles: Mapping[str, str], types: list[str], *, tested: bool, ended: bool) -> None:
        self._titles, self._default, self._tested, self._ended = titles, types, tested, ended
        self._types = list(COLLECTIONS)
        self._words: list[str] = []
        self._phrases: list[str] = []
        self._tests: list[str] = []
        self._documents: list[str] = []
        self._order: str | None = None
        self._chosen: dict[str, set[Stored]] = {}
        self._ordered: Part | None = None
        self._notes: list[str] = []
        self._wrong: list[str] = []

    def choose(self, read: Sequence[Part]) -> None:
        """Take the types, the documents and the order."""
        for part in read:
            if part.test is None or not part.test.sign:
                continue
            match key_of(part):
                case "in":
                    self._choose_types(part, part.test)
                case "book":
                    self._choose_books(part, part.test)
                case "order":
                    self._order, self._ordered = " ".join(part.test.values), part
        included = [name for name in self._types if name in self._chosen.get(IN, self._types)]
        self._types = included or self._types

    def narrow(self, read: Sequence[Part]) -> None:
        """Take the tests on fields: each is left to those of the types that have its field."""
        for part in read:
            if part.test and part.test.sign and key_of(part) not in ("", IN, BOOK, ORDER):
                self._narrow(part, part.test)

    def words_of(self, read: Sequence[Part]) -> None:
        """Take the words, the phrases and the flags that stand alone."""
        for part in read:
            if part.kind is Kind.PHRASE:
                self._phrases += [part.text.strip()] if any(map(str.isalnum, part.text)) else []
            elif part.test and is_flag(part, self._types) and (self._tested or part.test.negated):
                self._narrow(part, part.test)
            elif part.kind is Kind.WORD or not key_of(part):
                self._take_word(part)

    def result(self, text: str, read: Sequence[Part]) -> ParsedQuery:
        types = [name for name in self._types if name in self._default or IN in self._chosen] or self._types
        order = self._valid_order(types)
        going_on = bool(read) and read[-1].last and bool(self._words) and self._words[-1] == _as_words(read[-1])
        return ParsedQuery(
            text=text,
            types=tuple(types),
            words=" ".join(self._words),
            phrases=tuple(self._phrases),
            where=" ".join(self._tests) or None,
            documents=tuple(dict.fromkeys(self._documents)) or None,
            order=order,
            unfinished=going_on,
            chosen={key: frozenset(values) for key, values in self._chosen.items()},
            notes=tuple(dict.fromkeys(self._notes)),
            wrong=tuple(dict.fromkeys(self._wrong)),
        )

    def _choose_types(self, part: Part, test: FieldTest) -> None:
        named = [name for value in test.values for name in types_named(value)]
        if test.negated:
            self._types = [name for name in self._types if name not in named] or self._types
        elif named:
            self._chosen.setdefault(IN, set()).update(named)
        elif self._ended or not part.last:
            self._note(part, unknown_name(" ".join(test.values), list(COLLECTIONS), "type"))

    def _choose_books(self, part: Part, test: FieldTest) -> None:
        keys = [key for value in test.values for key in books_named(value, self._titles)]
        if not keys:
            self._leave_out(part, f"no book is called so; known: {', '.join(self._titles)}")
        elif test.negated:
            self._tests.append(written("document", keys, negated=True))
        else:
            self._documents += keys
            self._chosen.setdefault(BOOK, set()).update(keys)

    def _narrow(self, part: Part, test: FieldTest) -> None:
        text = renamed(test)
        owners = [name for name in COLLECTIONS if field_in(name, part.field)]
        having = [name for name in self._types if name in owners]
        meeting = [name for name in having if is_valid(name, text)]
        if not having:
            self._note(part, f"{shown(part.text)} is left out: {part.field} is a field of {' and '.join(owners)}")
        elif not meeting or len(" ".join([*self._tests, text])) > MAX_LENGTH:
            found = field_in(having[0], part.field)
            self._leave_out(part, f"{part.field} takes {_TAKES[found.type]}" if found else "")
        else:
            self._types = meeting
            self._tests.append(text)
            self._note_choice(test, field_in(meeting[0], part.field))

    def _note_choice(self, test: FieldTest, found: Field | None) -> None:
        if found and is_choice(test):
            values = test.values or ("true",)
            self._chosen.setdefault(found.name, set()).update(
                v for value in values for v in stored_values(found, value)
            )

    def _take_word(self, part: Part) -> None:
        if part.test and part.test.negated and not part.test.sign:
            self._leave_out(part, "only conditions are negated, for example -type:undead")
            return
        is_prose = "://" in part.text or any(map(str.isspace, part.text))
        if part.kind is Kind.TEST and not is_prose:
            known = known_names(tuple(self._types))
            self._note(part, f"{unknown_name(part.field, known, 'field', brief=True)}; searched as words")
        self._words += [word] if (word := _as_words(part)) else []

    def _leave_out(self, part: Part, reason: str) -> None:
        """Leave a part out, and say so unless it may not be typed to its end."""
        if self._ended or not part.last:
            self._note(part, f"{shown(part.text)} is left out: {reason}")

    def _note(self, part: Part, text: str) -> None:
        """Say what a part has wrong."""
        self._notes.append(text)
        self._wrong.append(part.text)

    def _valid_order(self, types: Sequence[str]) -> str | None:
        with suppress(FilterError):
            return self._order if parse_orders(types, self._order) else None
        if self._ordered is not None:
            self._note(self._ordered, f"there is no order {shown(self._order)} here")
        return None


def _as_words(part: Part) -> str:
    """A part as words; an address is no longer one, since it would be looked up."""
    return part.text.replace("://", " ").strip()


# --- changes -------------------------------------------------------------------------------------------------------------


def with_test(text: str, name: str, value: str, titles: Mapping[str, str] = NO_TITLES) -> str:
    """A text with one test more, without what is not typed to its end.

    Of what an entry has one only, as its level, the value joins those that the text asks for already: "level:1,3". Of what it
    may have several of, as the classes of a spell, a test of its own is added: all of them hold.

    Args:
        text: as it was typed.
        name: of a field, as people call it, or `IN` or `BOOK`.
        value: without quotes.
        titles: of all documents, by key.
    """
    read, new = _lasting(text), _written_part(name, [value])
    if any(_asks_for(part, new, titles) for part in read):
        return _joined(read)
    for place, part in enumerate(read):
        if part.test and _is_single(key_of(new)) and _says(part, key_of(new), titles):
            read[place] = _written_part(part.test.field, [*part.test.values, value])
            return _joined(read)
    return _joined([*read, new])


def without_test(text: str, name: str, value: str | None = None, titles: Mapping[str, str] = NO_TITLES) -> str:
    """A text without what asks for a value, or without all tests of a field.

    Args:
        text: as it was typed.
        name: of a field, as people call it, or `IN` or `BOOK`.
        value: without quotes; None for every test of the field.
        titles: of all documents, by key.
    """
    gone, kept = _written_part(name, [value or "x"]), []
    for part in _lasting(text):
        is_meant = part.test is not None and bool(part.test.sign) and key_of(part) == key_of(gone)
        if not is_meant or part.test is None or (value is not None and not is_choice(part.test)):
            kept.append(part)
        elif value is not None:
            singles = [_written_part(part.test.field, [other]) for other in part.test.values]
            others = [one.test.values[0] for one in singles if one.test and not _asks_for(one, gone, titles)]
            kept += [part] if len(others) == len(singles) else [_written_part(part.test.field, others)] * bool(others)
    return _joined(kept)


def _lasting(text: str) -> list[Part]:
    """The parts of a text without those that are not typed to their ends, none of which goes on with what is written after it."""
    read = [part for part in map(meant, parts(cleaned(text))) if part.kind is not Kind.BEGUN or not key_of(part)]
    tested = any(map(is_test, read))
    kept = [_lasting_flag(part) if tested and is_flag(part, tuple(COLLECTIONS)) else _ended(part) for part in read]
    return [part for part in kept if any(map(str.isalnum, part.text))]


def _ended(part: Part) -> Part:
    """A part that ends with a word: of "Vampire:" what follows would be the value."""
    if part.kind is not Kind.BEGUN:
        return part
    return replace(part, text=" ".join(part.text.replace('"', " ").split()).rstrip(" ,:=<>"))


def _lasting_flag(part: Part) -> Part:
    return _written_part(part.field, ["no" if part.text.startswith("-") else "yes"])


def _written_part(name: str, values: Sequence[str]) -> Part:
    return parts(written(name, values))[0]


def _asks_for(part: Part, wanted: Part, titles: Mapping[str, str]) -> bool:
    """Whether a part asks for the value of another one."""
    if wanted.test is None or part.test is None or not _says(part, key_of(wanted), titles):
        return False
    meant = meanings(wanted, wanted.test.values[0], titles)
    return any(meant & meanings(part, value, titles) for value in part.test.values)


def _says(part: Part, key: str, titles: Mapping[str, str]) -> bool:
    """Whether a part asks for values of a field, all of which it may have."""
    if part.test is None or not part.test.sign or key_of(part) != key or not is_choice(part.test):
        return False
    return all(meanings(part, value, titles) for value in part.test.values)


def _is_single(key: str) -> bool:
    """Whether an entry has one value only of what a test is about."""
    return key in (IN, BOOK) or any(found.type is not FieldType.TEXTS for found in fields_called(key))


def _joined(read: Iterable[Part]) -> str:
    return " ".join(part.written for part in read)
