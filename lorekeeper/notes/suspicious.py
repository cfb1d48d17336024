"""What in a note looks like a secret to a reader, although no mark keeps it: the words of `languages` wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from lorekeeper.notes.comparing import comparable
from lorekeeper.notes.facts import cells, is_delimiter
from lorekeeper.notes.languages import LANGUAGES, Language, master_phrases
from lorekeeper.notes.links import read_inline
from lorekeeper.notes.secrets import humps_apart, introduces, is_name
from lorekeeper.notes.spans import KEY, LEAD, MOST_KEY_WORDS

NAME, IN_FOLDER, TAG, HEADING, CALLOUT, FACT, COLUMN, LINE, NAMED = (
    *("name", "folder", "tag", "heading", "callout", "key", "column"),
    *("line", "secret note"),
)
"""Where something stands that looks like a secret; the last is the name of a note that a mark keeps secret."""

_NAMING = frozenset({NAME, IN_FOLDER, TAG, HEADING, CALLOUT, FACT, COLUMN})

SHOWN_CHARS = 100

_AMBIGUOUS = frozenset(
    "master meister meisterin mestre narrator narratore narratori narrador narradora verteller storyteller storytellers".split()
)
"""Words for a game master that are more often other people: they count where they are all that is said."""

_HEAD = re.compile(r"[ \t]*(?:>[ \t]?)+\[!([^\[\]|\n]{1,60})(?:\|([^\[\]\n]{0,200}))?\][-+]?[ \t]*(.*)")
_BOLD_LINE = re.compile(r"(\*\*|__|==)(?=\S)([^*_=\n]{1,80})\1:?")
_ASIDE = re.compile(r"[(\[{]([^()\[\]{}\n]{1,40})[)\]}](?!\()")
_BARE_LINK = re.compile(r"!?\[\[[^\[\]|\n]*\]\]")
"""A link that shows the name of a note: it tells that name and no more."""

_SENTENCE = re.compile(r"(?<=[.!?…])[*_\"”»)]*\s+")
_CLAUSE = re.compile(r"[.!?](?=\s|$)|[,;:…()\[\]{}\"“”„«»*_/|]+|\s[-–—]+\s|—")


class _Watch(NamedTuple):
    """What is looked for: in what names something, and in sentences.

    Attributes:
        naming: anything that the words of `languages` stand for.
        master: what is for the game master.
        label: the same as a clause begins or ends with it. Within one it is a part of what is said: "the site has my DM notes".
        unaware: what the players do not know.
        secretly: what is done in secret.
        rules: what makes that a rule of the game: "secretly roll a die", "you may secretly".
    """

    naming: re.Pattern[str]
    master: re.Pattern[str]
    label: re.Pattern[str]
    unaware: re.Pattern[str]
    secretly: re.Pattern[str]
    rules: re.Pattern[str]


def _watch(rows: Iterable[Language]) -> _Watch:
    naming, label, unaware, secretly, rules = list[str](), list[str](), list[str](), list[str](), list[str]()
    for row in rows:
        unaware.append(rf"(?:{row.table}) (?:{row.unaware})")
        held_back = rf"(?:{row.withholds[0]}) (?:\w+ ){{0,4}}(?:{row.withholds[1]})"
        naming += (row.master, row.secret, row.secretly, row.behind, unaware[-1], held_back)
        naming.append(rf"(?:{row.true}) (?:{row.facts}|{row.notes})|(?:{row.facts}) (?:{row.true})")
        label.append(master_phrases(row))
        secretly.append(row.secretly)
        rules += (
            row.dice,
            rf"(?:{row.you}) (?:\w+ ){{0,3}}(?:{row.secretly})",
            rf"(?:{row.master}) (?:{row.secretly})",
        )
    labels = "|".join(label)
    return _Watch(
        re.compile(rf"\b(?:{'|'.join(naming)})\b"),
        re.compile(labels),
        re.compile(rf"^(?:\w+ )?(?:{labels})|(?:{labels})(?: \w+)?$"),
        re.compile(rf"\b(?:{'|'.join(unaware)})\b"),
        re.compile(rf"\b(?:{'|'.join(secretly)})\b"),
        re.compile(rf"\b(?:{'|'.join(rules)})\b"),
    )


_WATCH = _watch(LANGUAGES)
_WORD = re.compile("|".join(f"{row.secret}|{row.master}" for row in LANGUAGES))
_SIGHT = re.compile(
    r"(?<!must not )(?<!should not )(?<!shouldn t )(?<!mustn t )\b(?:see|seh|sieht|voi|v[ée]\b|ven\b|vee?m|ved|zie|widz)\w*$"
)
"""What the players do not know is a secret; what they do not see stands behind a pillar."""


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

    @property
    def is_word(self) -> bool:
        """Whether nothing says so but one word in a longer name: "Temple of Lost Secrets", "The lazy dungeon master"."""
        name = self.text.rpartition("/")[2] if self.place == IN_FOLDER else self.text
        return self.place in _NAMING and _WORD.fullmatch(self.word) is not None and comparable(name) != self.word

    def as_dict(self) -> dict[str, Any]:
        """Its attributes, and ``is_word``, for JSON."""
        return asdict(self) | {"is_word": self.is_word}


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


def _key_word(key: str, value: str) -> str:
    """What in a key looks like a secret; before a name "Master" is a smith's."""
    return naming_word(key, whole=not is_name(value.strip(" *_[]")))


def prose_word(line: str, *, is_recap: bool = False) -> str:
    """What in sentences looks like a secret; "" if nothing does.

    Args:
        line: in Markdown.
        is_recap: whether it tells what was played: there only what is addressed to the game master is a secret.
    """
    shown = read_inline(_BARE_LINK.sub(" ", line)).text
    folded = comparable(shown)
    if _WATCH.master.search(folded):
        for clause in map(comparable, _CLAUSE.split(shown)):
            if match := _WATCH.label.search(clause):
                return match[0]
    if is_recap:
        return ""
    if (match := _WATCH.unaware.search(folded)) and not _SIGHT.search(match[0]):
        return match[0]
    if _WATCH.secretly.search(folded):
        for sentence in map(comparable, _SENTENCE.split(shown)):
            if (match := _WATCH.secretly.search(sentence)) and not _WATCH.rules.search(sentence):
                return match[0]
    return ""


def in_names(path: str, names: Iterable[str], tags: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of the names of a note and its folders, each with the folders that it is in, and of its tags."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0] or file
    above = set(map(comparable, folders))
    for folded, name in {comparable(name): name for name in (*names, stem)}.items():
        if folded not in above and (word := naming_word(name)):
            yield NAME, name, word
    for depth, folder in enumerate(folders, 1):
        if word := naming_word(folder):
            yield IN_FOLDER, "/".join(folders[:depth]), word
    for tag in tags:
        if word := naming_word(tag.replace("/", " ")):
            yield TAG, tag, word


def in_facts(facts: Iterable[tuple[str, str]], secret: SecretNames = NOBODY) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of facts."""
    for key, value in facts:
        if (word := _key_word(key, value)) and not introduces(key, value):
            yield FACT, key, word
        elif name := secret.within(value):
            yield NAMED, f"{key}: {value}"[:SHOWN_CHARS], name


def in_text(text: str, secret: SecretNames = NOBODY, *, is_recap: bool = False) -> Iterator[tuple[str, str, str]]:
    """Place, text and word of each line of a text that looks like a secret.

    Args:
        text: in Markdown.
        secret: names of secret notes.
        is_recap: as of `prose_word`.
    """
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.strip():
            found = _in_line(line, lines[i + 1] if i + 1 < len(lines) else "", is_recap=is_recap)
            if found:
                yield found
            elif name := secret.within(read_inline(line).text):
                yield NAMED, line.strip(), name


def _in_line(line: str, following: str, *, is_recap: bool) -> tuple[str, str, str] | None:
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
        if (word := _key_word(name, text[key.end() :])) and not introduces(name, text[key.end() :]):
            return FACT, name, word
    return (LINE, text.strip(), word) if (word := prose_word(text, is_recap=is_recap)) else None
