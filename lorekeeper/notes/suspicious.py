"""What in a note looks like a secret to a reader, although no mark keeps it: the words of `languages` wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import NamedTuple

from lorekeeper.notes.comparing import comparable
from lorekeeper.notes.facts import cells, is_delimiter
from lorekeeper.notes.languages import LANGUAGES, Language, master_phrases
from lorekeeper.notes.links import read_inline
from lorekeeper.notes.secrets import humps_apart, introduces
from lorekeeper.notes.stretches import KEY, LEAD, MOST_KEY_WORDS

NAME, TAG, HEADING, CALLOUT, FACT, COLUMN, LINE, NAMED = (
    *("name", "tag", "heading", "callout", "key", "column"),
    *("line", "secret note"),
)
"""Where something stands that looks like a secret; the last is the name of a note that a mark keeps secret."""

SHOWN_CHARS = 100

_AMBIGUOUS = frozenset(
    "master meister meisterin mestre narrator narratore narratori narrador narradora verteller storyteller storytellers".split()
)
"""Words for a game master that are more often other people: they count where they are all that is said."""

_HEAD = re.compile(r"[ \t]*(?:>[ \t]?)+\[!([^\[\]|\n]{1,60})(?:\|([^\[\]\n]{0,200}))?\][-+]?[ \t]*(.*)")
_BOLD_LINE = re.compile(r"(\*\*|__|==)(?=\S)([^*_=\n]{1,80})\1:?")
_ASIDE = re.compile(r"[(\[{]([^()\[\]{}\n]{1,40})[)\]}](?!\()")


class _Watch(NamedTuple):
    """What is looked for: in what names something, and in prose."""

    naming: re.Pattern[str]
    prose: re.Pattern[str]


def _watch(rows: Iterable[Language]) -> _Watch:
    naming, prose = list[str](), list[str]()
    for row in rows:
        unaware = rf"(?:{row.table}) (?:{row.unaware})"
        held_back = rf"(?:{row.withholds[0]}) (?:\w+ ){{0,4}}(?:{row.withholds[1]})"
        naming += (row.master, row.secret, row.secretly, row.behind, unaware, held_back)
        naming.append(rf"(?:{row.true}) (?:{row.facts}|{row.notes})|(?:{row.facts}) (?:{row.true})")
        prose += (master_phrases(row), unaware, row.secretly)
    return _Watch(re.compile(rf"\b(?:{'|'.join(naming)})\b"), re.compile(rf"\b(?:{'|'.join(prose)})\b"))


_WATCH = _watch(LANGUAGES)


@dataclass(frozen=True)
class Suspicion:
    """Something that players see and that looks like a secret.

    Attributes:
        note: path of the note, with the vault's key before it.
        place: one of the places above.
        text: what stands there.
        word: what makes it look like a secret.
        under: the heading above it, "" for none.
    """

    note: str
    place: str
    text: str
    word: str
    under: str = ""

    def as_dict(self) -> dict[str, str]:
        """Its attributes, for JSON."""
        return asdict(self)


class SecretNames:
    """The names of notes that a mark keeps secret.

    Args:
        names: as written. Those of one short word, and those in small letters, are words of prose as well and left out.
    """

    def __init__(self, names: Iterable[str]) -> None:
        telling = {name for name in names if len(name) >= 4 and name[0].isupper() and (" " in name or len(name) >= 6)}
        self._first: dict[str, list[str]] = {}
        for name in sorted(telling):
            self._first.setdefault(name.split()[0], []).append(name)

    def within(self, line: str) -> str:
        """The first of them that a line has in whole words, "" for none."""
        for match in re.finditer(r"[^\W_][^\s]*", line) if self._first else ():
            for word in {match[0], match[0].rstrip(".,;:!?)'’]”\"*_")}:
                for name in self._first.get(word, ()):
                    rest = line[match.start() :]
                    if rest.startswith(name) and not rest[len(name) : len(name) + 1].isalnum():
                        return name
        return ""


NOBODY = SecretNames(())


def naming_word(text: str, *, whole: bool = True) -> str:
    """What in a name, heading or key looks like a secret; "" if nothing does."""
    forms = dict.fromkeys((comparable(text), comparable(humps_apart(text))))
    parts = {*forms, *(comparable(each) for each in _ASIDE.findall(text))} if whole else set[str]()
    for match in (match for form in forms for match in _WATCH.naming.finditer(form)):
        if match[0] not in _AMBIGUOUS or match[0] in parts:
            return match[0]
    return next((part for part in parts if part in _AMBIGUOUS), "")


def prose_word(line: str) -> str:
    """What in a sentence looks like a secret; "" if nothing does."""
    match = _WATCH.prose.search(comparable(line))
    return match[0] if match else ""


def in_names(path: str, names: Iterable[str], tags: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of the names of a note and its folders, and of its tags."""
    stem = path.rpartition(".")[0] or path
    for name in {comparable(name): name for name in (*names, *stem.split("/"))}.values():
        if word := naming_word(name):
            yield NAME, name, word
    for tag in tags:
        if word := naming_word(tag.replace("/", " ")):
            yield TAG, tag, word


def in_facts(facts: Iterable[tuple[str, str]], secret: SecretNames = NOBODY) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of facts."""
    for key, value in facts:
        if (word := naming_word(key, whole=False)) and not introduces(key, value):
            yield FACT, key, word
        elif name := secret.within(value):
            yield NAMED, f"{key}: {value}"[:SHOWN_CHARS], name


def in_text(text: str, secret: SecretNames = NOBODY, known: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of each line of a text that looks like a secret.

    Args:
        text: in Markdown.
        secret: names of secret notes.
        known: comparable lines that are passed over.
    """
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.strip() and comparable(line) not in known:
            found = _in_line(line, lines[i + 1] if i + 1 < len(lines) else "")
            if found:
                yield found
            elif name := secret.within(read_inline(line).text):
                yield NAMED, line.strip(), name


def _in_line(line: str, following: str) -> tuple[str, str, str] | None:
    if head := _HEAD.match(line):
        said = ((part, naming_word(part)) for part in (head[3], head[1], head[2] or "") if part)
        return next(((CALLOUT, part, word) for part, word in said if word), None)
    lead = LEAD.match(line)
    text = line[lead.end() :] if lead else line
    if "|" in text and is_delimiter(following):
        return next(((COLUMN, cell, word) for cell in cells(text) if (word := naming_word(cell))), None)
    if bold := _BOLD_LINE.fullmatch(text.strip()):
        return (HEADING, bold[2].rstrip(":"), word) if (word := naming_word(bold[2])) else None
    key = KEY.match(text)
    if key and (key["colon"] or key["dash"]) and len(key["key"].split()) <= MOST_KEY_WORDS:
        name = key["key"].strip(" \t_{(")
        if (word := naming_word(name, whole=False)) and not introduces(name, text[key.end() :]):
            return FACT, name, word
    shown = read_inline(text).text
    return (LINE, text.strip(), word) if (word := prose_word(shown)) else None
