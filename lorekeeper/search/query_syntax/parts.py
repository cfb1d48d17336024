"""The parts of what is typed into a search box: words, quoted phrases, tests on fields, and what is not typed to its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.where import FIELD_NAME, TEST, FieldTest, field_test

MAX_TYPED = 1000
"""Characters of a text that are read: as many as a text of tests may have."""

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
