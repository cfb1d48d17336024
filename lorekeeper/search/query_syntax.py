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

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from types import MappingProxyType

from lorekeeper.entities import COLLECTIONS, Field, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.field_values import Stored, stored
from lorekeeper.filters import WHERE, named_field, parse_filters, unknown_name, without_bound
from lorekeeper.folding import fold
from lorekeeper.order import parse_orders
from lorekeeper.printable import shortened, shown
from lorekeeper.search.query import Query
from lorekeeper.where import FIELD_NAME, MAX_LENGTH, TEST, FieldTest, field_test

MAX_TYPED, MAX_KNOWN = 1000, 100
"""Characters of a text that are read, as many as a text of tests may have; and of the books that a message names."""

_FORGIVEN = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»＂", '"'),
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("：", ":"),
        "≤": "<=",
        "≥": ">=",
        "\0": " ",
    }
)
"""What keyboards and clipboards write for the signs of the grammar."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_PHRASE = re.compile(r'"(?P<text>[^"]*+)"(?=\s|$)')

_BEGUN = re.compile(rf'-?(?P<field>{FIELD_NAME})\s*+(?:>=|<=|[:=<>])(?P<rest>"[^"]*+$|\S*+)')
"""A test without a complete value."""

_WORD = re.compile(r"\S+")


class Kind(Enum):
    """What a part of the text may be."""

    WORD = "word"
    PHRASE = "phrase"
    TEST = "test"
    BEGUN = "begun"


@dataclass(frozen=True)
class Part:
    """One part of a text.

    Attributes:
        kind: what it may be; a word that is a field's name may be a test all the same.
        text: as it was typed; of a phrase what is between the quotes.
        test: what it says as a test; None for a phrase, and for a word that cannot be a field's name.
        field: the folded name that stands where that of a field does, "" for none.
        last: whether the text ends with it, so that it may go on.
    """

    kind: Kind
    text: str
    test: FieldTest | None = None
    field: str = ""
    last: bool = False

    @property
    def written(self) -> str:
        """It as a part of a text."""
        return f'"{self.text}"' if self.kind is Kind.PHRASE else self.text


def cleaned(text: str) -> str:
    """What is read of a text: with plain quotes and signs, and at most `MAX_TYPED` characters."""
    return _SURROGATE.sub(" ", text[:MAX_TYPED].translate(_FORGIVEN))[:MAX_TYPED]


def parts(text: str) -> list[Part]:
    """The parts of a cleaned text. The time it takes is linear in its length, since that is limited."""
    return list(_parts(text))


def _parts(text: str) -> Iterator[Part]:
    position = 0
    while match := _WORD.search(text, position):
        start = match.start()
        phrase = _PHRASE.match(text, start)
        part, position = (Part(Kind.PHRASE, phrase["text"]), phrase.end()) if phrase else _other(text, start)
        yield part


def _other(text: str, start: int) -> tuple[Part, int]:
    """The test or the word at a place, and where it ends."""
    match, begun = TEST.match(text, start), _BEGUN.match(text, start)
    if match is not None and (begun is None or (match["sign"] and match["values"][0] not in "<=>:")):
        field, last = _field(match["field"]), match.end() == len(text)
        try:
            test = field_test(match)
        except FilterError:
            return Part(Kind.BEGUN, match[0], field=field, last=last), match.end()
        return Part(Kind.TEST if test.sign else Kind.WORD, match[0], test, field, last), match.end()
    if begun is not None:
        return Part(Kind.BEGUN, begun[0], field=_field(begun["field"]), last=begun.end() == len(text)), begun.end()
    word = _WORD.match(text, start)
    end = word.end() if word else len(text)
    return Part(Kind.WORD, text[start:end], last=end == len(text)), end


def _field(name: str) -> str:
    return fold(name).replace(" ", "_")


def quoted(value: str) -> str:
    """A value as it stands in a test: in quotes if it has spaces or signs in it."""
    return value if re.fullmatch(r'[^\s",]+', value) and ".." not in value else f'"{value}"'


def written(field: str, values: Sequence[str], *, negated: bool = False) -> str:
    """A test for any of some values."""
    return f"{'-' if negated else ''}{field}:{','.join(map(quoted, values))}"


IN, BOOK, ORDER = "in", "book", "order"
"""The names of what is no field."""

SPECIAL = {
    **dict.fromkeys(("in", "types"), IN),
    **dict.fromkeys(("book", "books", "document", "documents", "source", "sources"), BOOK),
    **dict.fromkeys(("order", "sort"), ORDER),
}
"""What they are called."""

ALSO = {"lvl": "level", "env": "environment", "dmg": "damage_type", "conc": "concentration", "terrain": "environment"}
"""What fields are called besides what `filters.named_field` knows."""

TYPES_ALSO = {"monster": "creatures"}
"""The same for types."""

_KIND = "kind"

_TYPE = "type"
"""The name that means a type of entries if its value is one, and else a field."""


_KINDS = frozenset(fold(kind) for collection in COLLECTIONS.values() for kind in collection.kinds)


def meant(part: Part) -> Part:
    """A part with ``kind`` in place of ``type`` if that is what its value is: "type:npc" asks for a kind of notes."""
    values = part.test.values if part.field == _TYPE and part.test else ()
    if part.test is None or not values or not {fold(value) for value in values} <= _KINDS or key_of(part) == IN:
        return part
    text = part.text.replace(part.test.field, _KIND, 1)
    return replace(part, text=text, test=replace(part.test, text=text, field=_KIND), field=_KIND)


def key_of(part: Part) -> str:
    """What a part is about: the name of a field, `IN`, `BOOK` or `ORDER`; "" for words and phrases."""
    if part.field == _TYPE and part.test and part.test.values and all(map(types_named, part.test.values)):
        return IN
    return SPECIAL.get(part.field) or next((f.name for f in fields_called(part.field)), "")


def is_test(part: Part) -> bool:
    """Whether a part is a test by its sign."""
    return part.kind is Kind.TEST and bool(key_of(part))


def is_flag(part: Part, types: Sequence[str]) -> bool:
    """Whether a part is the name of a flag, and nothing else, of one of some types."""
    found = [field_in(name, part.field) for name in types] if part.test and not part.test.sign else []
    return any(f is not None and f.type is FieldType.FLAG for f in found)


def is_choice(test: FieldTest) -> bool:
    """Whether a test asks for one of some values."""
    return not test.negated and test.ends is None and test.sign in (":", "")


def fields_called(name: str) -> list[Field]:
    """The fields of all types that people call so; none for ""."""
    return [found for entity_type in COLLECTIONS if (found := field_in(entity_type, name))]


def called(declared: Field) -> str:
    """What people call a field: as its tool does, in the singular."""
    name = next((without_bound(parameter) for parameter in declared.tool), declared.name)
    return {"document": BOOK, "tags": "tag", "licenses": "license"}.get(name, name.removesuffix("_key"))


@cache
def types_named(text: str) -> tuple[str, ...]:
    """The entity type that people call so, in the singular or plural; none for another text."""
    name = fold(text)
    return tuple(
        c.name for c in COLLECTIONS.values() if name.rstrip("s") in {n.rstrip("s") for n in _type_names(c.name)}
    )


def _type_names(entity_type: str) -> list[str]:
    own = [fold(entity_type), fold(COLLECTIONS[entity_type].label)]
    return [*own, *(name for name, other in TYPES_ALSO.items() if other == entity_type)]


def books_named(text: str, titles: Mapping[str, str]) -> list[str]:
    """Keys of the documents that people call so: by key or title, else by the beginning or a part of one of them."""
    name = fold(text)
    if not titles:
        return [text]
    names = {key: (fold(key), fold(title)) for key, title in titles.items()}
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [key for key, own in names.items() if any(fits(other, name) for other in own)]
        if found:
            return found
    return []


@cache
def field_in(entity_type: str, name: str) -> Field | None:
    """The field of a type that people call so."""
    return named_field(COLLECTIONS[entity_type], ALSO.get(name, name)) if name else None


def known_names(types: Sequence[str]) -> list[str]:
    """The names of fields that a note lists: those that people use."""
    listed = (f for entity_type in types for f in COLLECTIONS[entity_type].filters.values() if f.tool or f.facet)
    return list(dict.fromkeys([IN, BOOK, ORDER, *map(called, listed)]))


def renamed(test: FieldTest) -> str:
    """The text of a test, with the declared name of a field for another one."""
    name = fold(test.field).replace(" ", "_")
    return test.text.replace(test.field, ALSO[name], 1) if name in ALSO else test.text


def is_valid(entity_type: str, test: str) -> bool:
    """Whether a test can be made of the entries of a type."""
    try:
        parse_filters(entity_type, {WHERE: test})
    except FilterError:
        return False
    return True


def stored_values(declared: Field, value: str) -> Sequence[Stored]:
    """A value as it is stored; of a date nothing, since it is a time that lasts."""
    if declared.type is FieldType.DATE:
        return ()
    item = stored(declared, value)
    return item if isinstance(item, tuple) else (item,)


def meanings(part: Part, value: str, titles: Mapping[str, str]) -> frozenset[Stored]:
    """What a value of a part stands for: types, keys of documents, or values as they are stored."""
    match key_of(part):
        case "in":
            return frozenset(types_named(value))
        case "book":
            return frozenset(books_named(value, titles))
    found: set[Stored] = set()
    for declared in fields_called(part.field):
        with suppress(FilterError):
            found.update(stored_values(declared, value))
    return frozenset(found)


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
            self._leave_out(part, f"no book has that name; known: {shortened(', '.join(self._titles), MAX_KNOWN)}")
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
    is_single = key_of(new) in (IN, BOOK) or any(f.type is not FieldType.TEXTS for f in fields_called(key_of(new)))
    if any(_asks_for(part, new, titles) for part in read):
        return _joined(read)
    for place, part in enumerate(read):
        if part.test and is_single and _says(part, key_of(new), titles):
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
    kept = [
        _written_part(part.field, ["no" if part.text.startswith("-") else "yes"])
        if tested and is_flag(part, tuple(COLLECTIONS))
        else _ended(part)
        for part in read
    ]
    return [part for part in kept if any(map(str.isalnum, part.text))]


def _ended(part: Part) -> Part:
    """A part that ends with a word: of "Vampire:" what follows would be the value. Nor does a word go on with a list of values."""
    if part.kind is Kind.WORD:
        return replace(part, text=" ".join(_OPERATOR.sub(" ", part.text).split()).strip(","))
    if part.kind is not Kind.BEGUN:
        return part
    return replace(part, text=" ".join(part.text.replace('"', " ").split()).rstrip(" ,:=<>"))


_OPERATOR = re.compile(r"[:=<>\"“”„]")


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


def _joined(read: Iterable[Part]) -> str:
    return " ".join(part.written for part in read)
