"""Keys of front matter, and of inline fields, that say who may see a whole note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.notes.marks import (
    BUILT_IN,
    FRONT,
    NAME,
    OWN,
    TITLE,
    UNMARKED,
    VALUE,
    Mark,
    OwnMarks,
    audience_of,
    beginning_mark,
    closes,
    comparable,
    humps_apart,
    introduces,
    is_name,
    is_undecided,
    narrowest,
    readers,
    stem_kinds,
    value_audience,
)
from lorekeeper.notes.properties import DEEPEST, MOST_STEPS, TAG_KEYS, Properties, listed, texts
from lorekeeper.words import listed as words

STRICT = frozenset(words("key audience"))
"""Keys whose value is an audience: words, or names of people. Anything else is for the game master alone."""

_LOOSE = frozenset(words("key access"))
"""Keys that say it too, and more often something else, as of the way into a harbour: only words, and lists of names."""

_PUBLISHING = frozenset(words("key publish"))
"""Keys that open a note where they are true, and close it where they are anything else."""

_EVERYDAY = frozenset(words("key public"))
"""Keys that do so where they are true or false; their other values are facts: the year of a book, the share of a treasure."""

_PUBLISHED = frozenset(words("key published"))
"""Keys that only close, where they are false: a program writes the true ones on every page."""

_PERSONS = frozenset((*words("key person"), *words("key player"), *TAG_KEYS, "name", "title"))
"""Keys whose values name people, or the note itself, or are marks by themselves."""

_ALIASES, _ASIDE = frozenset(words("key alias")), re.compile(r"\(([^()]*)\)$")

_YES, _NO = frozenset(words("value yes")), frozenset(words("value no"))

UNREADABLE = Mark("front matter that cannot be read", DM)
"""What it says: nobody knows whether it closes the note."""


def property_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> Mark:
    """What front matter says of the whole note; where several keys disagree, the narrowest.

    A key within the value of another one, and a value that is a word for a secret, "status: hidden", or names the game master,
    "role: dm", only ever close the note.
    """
    marks = [_key_mark(key, value, own) for key, value in properties.pairs]
    inner = list(_within((value for _, value in properties.pairs), in_lists=False))
    marks += [value_mark(key, value, own) for key, value in (*properties.pairs, *inner)]
    nested = (_key_mark(*each, own) for each in inner)
    broken = [UNREADABLE] if properties.is_broken or has_unsure_mark(properties, own) else []
    return narrowest([*broken, *marks, *(mark for mark in nested if mark.audience == DM)])


def value_mark(key: str, value: object, own: OwnMarks = BUILT_IN) -> Mark:
    """What a value says of the whole note by its beginning, or that of one of its lines, whatever its key.

    Under a key that tells who somebody is, or who wrote the note, it is a person.
    """
    name = _key(key, own)
    if name in _PERSONS or is_key(key, own):
        return UNMARKED
    written = (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
    lines = (line for text in written for line in text.split("\n") if not line[:1].isdigit())
    if name in _ALIASES:  # "Mira (secret)" and "The true heir" are secret names, and "GM secret file" that of a secret
        aside = ((line, _ASIDE.search(line)) for line in lines)
        found = (audience_of(line, TITLE, own) for line, last in aside if not last or not _is_secret(last[1]))
        marks = (mark for mark in found if mark.audience == DM and "inner" not in stem_kinds(mark.stem))
    else:
        marks = (beginning_mark(line, own, FRONT) for line in lines)
    return next(
        (
            replace(mark, written=f"{key}: {mark.written}")
            for mark in marks
            if mark is not UNMARKED and (name in _ALIASES or not _is_name(mark))
        ),
        UNMARKED,
    )


def _is_secret(said: str) -> bool:
    return stem_kinds(comparable(said)) == {"secret"}


def _is_name(mark: Mark) -> bool:
    """Whether a value names something that is called secret, as in "government: Secret Council"."""
    value = mark.written if mark.stem else ""
    kinds = [*filter(None, map(stem_kinds, comparable(value).split()))]
    return " " in value and is_name(value) and kinds == [{"secret"}]


def has_unsure_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> bool:
    """Whether front matter that was mended says who may see the note: what was meant is not sure then."""
    if not properties.mended:
        return False
    return not properties.mended.isdisjoint(TAG_KEYS) or any(
        is_key(key, own) or is_secret_key(key, value, own) for key, value in properties.pairs
    )


_SORT_KEYS = (*words("key kind"), *words("key subkind"), *words("key state"))


def kind_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> Mark:
    """What kind or state of a note says: "type: session plan", "subtype: dm-intelligence", "status: draft", "draft: true"."""
    named = [(properties.key(key), properties.text(key)) for key in _SORT_KEYS]
    told = [(text, f"{key}: {text}") for key, text in named if text]
    told += [
        (key, f"{key}: true") for key, value in properties.pairs if comparable("".join(texts(value))) in _YES - {"1"}
    ]
    marks = (replace(audience_of(said, NAME, own), written=written) for said, written in told)
    return next((mark for mark in marks if mark.audience == DM), UNMARKED)


def field_mark(fields: Iterable[tuple[str, str]], own: OwnMarks = BUILT_IN) -> Mark:
    """What ``visibility:: dm`` in the text says of the note: only ever that it is the game master's."""
    told = list(fields)
    marks = ((key, value, _key_mark(key, value, own)) for key, value in told)
    said = (
        mark
        for key, value, mark in marks
        if mark.audience == DM and (value_audience(value, own) == DM or comparable(value) in _YES | _NO)
    )
    return next(said, None) or narrowest(value_mark(key, value, own) for key, value in told)


def doubts(properties: Properties, own: OwnMarks = BUILT_IN) -> list[str]:
    """What front matter has where it should say who may see the note, and what nobody understands."""
    found = []
    for key, value in properties.pairs:
        name, parts = _key(key, own), listed(texts(value))
        others = ", ".join(map(repr, readers(parts, own).others))
        if name in STRICT and others and not is_undecided(parts[0]):
            found.append(
                f"{key}: {others} is neither an audience (dm, players) nor a name, which begins with a capital letter; "
                "the note is for the game master alone"
            )
        elif name in _PUBLISHING and parts and _flag(name, parts, own) is None:
            found.append(f"{key}: {parts[0]!r} is neither true nor false; the note is for the game master alone")
        elif name in _LOOSE and isinstance(value, str) and is_name(value) and _key_mark(key, value, own) is UNMARKED:
            found.append(
                f"{key}: {value!r} is treated as a fact; to share the note with a person, write 'visibility: [{value}]'"
            )
    return found


def is_key(key: str, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key of front matter says who may see a note."""
    if said := own.whole(comparable(key)):
        return OWN[said] is not None
    name = _key(key, own)
    return name in STRICT | _LOOSE or _opens(name, own) or closes(name, own=own) or _names_players(name, own)


def is_secret_key(key: str, value: object, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key, or one within its value, keeps what it stands for secret; "GM" alone introduces a person."""
    if introduces(key, "Ana") and not own.whole(comparable(key)):
        return closes(key, own=own) and not all(introduces(key, text) for text in texts(value))
    inner = _within([value], in_lists=True)
    return closes(key, own=own) or any(
        closes(name, own=own) or value_mark(name, said, own).text for name, said in inner
    )


def is_mark(key: str, value: object, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key keeps its value secret, or says no more than who may see the note."""
    return is_secret_key(key, value, own) or says_audience(key, value, own)


def says_audience(key: str, value: object, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key with its value says only who may see a note, and no more of the world."""
    return is_key(key, own) and _key_mark(key, value, own) is not UNMARKED


def _key(key: str, own: OwnMarks) -> str:
    """A key in comparable form; camel case is taken apart unless a user's own mark has it."""
    folded = comparable(key)
    return folded if own.whole(folded) else comparable(humps_apart(key))


def _opens(name: str, own: OwnMarks) -> bool:
    if listed_as := own.whole(name):
        return listed_as == "players"
    return name in _PUBLISHING | _EVERYDAY or audience_of(name, own=own).audience == PLAYERS


def _names_players(name: str, own: OwnMarks) -> bool:
    """Whether a key names players, or says that something is seen, as "players: false" and "visible: no": it only ever closes."""
    is_seen = name in _PUBLISHED or all("open" in stem_kinds(word) and len(word) > 3 for word in name.split())
    return not own.whole(name) and (is_seen or audience_of(name, VALUE, own).audience == PLAYERS)


def _key_mark(key: str, value: object, own: OwnMarks) -> Mark:
    # "players: none" is no absent value
    found = listed(texts(value)) or (
        [value] if isinstance(value, str) and "none" in stem_kinds(comparable(value)) else []
    )
    if not found or not is_key(key, own):
        return UNMARKED
    audience = _audience(_key(key, own), found, own, is_list=isinstance(value, list))
    return UNMARKED if audience is None else Mark(f"{key}: {', '.join(found)}", audience)


def _audience(key: str, found: list[str], own: OwnMarks, *, is_list: bool) -> Audience | None:
    if not own.whole(key) and key in STRICT | _LOOSE:
        said = readers(found, own)
        if key in _LOOSE and (said.others or (said.people and not is_list)):
            return None
        return None if is_undecided(found[0]) else said.audience
    opens, flag = _opens(key, own), _flag(key, found, own)
    if flag is None:
        # "gm: Geoff" and "public: Everybody fears him" are facts, "publish: soon" is a mistake, and "spoilers: heavy" says so
        is_word = found[0].islower() and found[0].isalpha() and closes(key, own=own)
        return DM if key in _PUBLISHING or is_word else None
    if _names_players(key, own) and not opens:
        return None if flag else DM
    if flag != opens:
        return DM
    # "secret: false" opens nothing: it only says that the note is no secret by itself
    return PLAYERS if opens else None


def _flag(key: str, found: list[str], own: OwnMarks) -> bool | None:
    """Whether a value is true or false, None if it is neither; "publish: dm" is false, and "secret: players" true."""
    value = comparable(found[0])
    if value in _YES | _NO and not own.whole(value):
        return value in _YES
    audience = value_audience(found[0], own)
    if audience is None or len(value.split()) > 2:
        return None
    return audience == PLAYERS if _opens(key, own) or _names_players(key, own) else True


def _within(values: Iterable[object], *, in_lists: bool) -> Iterator[tuple[str, object]]:
    """The keys and values of the objects within values, and of those in lists too, if wanted."""
    waiting = [(value, 0) for value in values]
    for _ in range(MOST_STEPS):
        if not waiting:
            break
        part, depth = waiting.pop()
        inner = part.items() if isinstance(part, Mapping) else ()
        yield from ((str(key), value) for key, value in inner)
        within = part if in_lists and isinstance(part, list) else [value for _, value in inner]
        waiting += [(each, depth + 1) for each in within] if depth < DEEPEST else []
