"""Keys of front matter, and of inline fields, that say who may see a whole note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.notes import vocabulary
from lorekeeper.notes.comparing import comparable
from lorekeeper.notes.marks import BUILT_IN, OwnMarks
from lorekeeper.notes.properties import DEEPEST, MOST_STEPS, Properties, listed, texts
from lorekeeper.notes.secrets import (
    OWN,
    UNMARKED,
    Mark,
    humps_apart,
    introduces,
    is_name,
    key_mark,
    narrowest,
    readers,
    word_audience,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(word.strip() for word in words.split(","))


_STRICT, _LOOSE = _set(vocabulary.STRICT_KEYS), _set(vocabulary.LOOSE_KEYS)
_OPENING, _EVERYDAY = _set(vocabulary.OPENING_KEYS), _set(vocabulary.EVERYDAY_OPENING_KEYS)
_CLOSING, _UNDECIDED = vocabulary.CLOSING_KEYS, _set(vocabulary.UNDECIDED)
_YES, _NO = vocabulary.YES, vocabulary.NO

TAG_KEYS = ("tags", "tag")
"""Keys of the tags of a note, some of which are marks."""

_PERSON = frozenset({"gm", "dm"})

KEYS = _STRICT | _LOOSE | _OPENING | _CLOSING
"""Comparable keys that say who may see a note."""

UNREADABLE = Mark("front matter that cannot be read", DM)
"""What it says: nobody knows whether it closes the note."""


def property_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> Mark:
    """What front matter says of the whole note; where several keys disagree, the narrowest.

    A key within the value of another one only ever closes the note.
    """
    marks = [_key_mark(key, value, own) for key, value in properties.pairs]
    nested = (_key_mark(key, value, own) for key, value in islice(_nested(properties), MOST_STEPS))
    broken = [UNREADABLE] if properties.is_broken or has_unsure_mark(properties, own) else []
    return narrowest([*broken, *marks, *(mark for mark in nested if mark.audience == DM)])


def has_unsure_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> bool:
    """Whether front matter that was mended says who may see the note: what was meant is not sure then."""
    if not properties.mended:
        return False
    return not properties.mended.isdisjoint(TAG_KEYS) or any(
        is_key(key, own) or is_secret_key(key, value, own) for key, value in properties.pairs
    )


def field_mark(fields: Iterable[tuple[str, str]], own: OwnMarks = BUILT_IN) -> Mark:
    """What ``visibility:: dm`` in the text says of the note: only ever that it is the game master's."""
    said = (Mark(f"{key}: {value}", DM) for key, value in fields if _closes(key, value, own))
    return next(said, UNMARKED)


def doubts(properties: Properties, own: OwnMarks = BUILT_IN) -> list[str]:
    """What front matter has where it should say who may see the note, and what nobody understands."""
    found = []
    for key, value in properties.pairs:
        if (name := _key(key, own)) not in KEYS:
            continue
        parts = listed(texts(value))
        others = ", ".join(map(repr, readers(parts, own).others))
        if name in _STRICT and others and comparable(parts[0]) not in _UNDECIDED:
            found.append(
                f"{key}: {others} is neither an audience (dm, players) nor a name, which begins with a capital letter; "
                "the note is for the game master alone"
            )
        elif name in _OPENING - _EVERYDAY and parts and _flag(name, parts, own) is None:
            found.append(f"{key}: {parts[0]!r} is neither true nor false; the note is for the game master alone")
        elif name in _LOOSE and isinstance(value, str) and is_name(value) and _key_mark(key, value, own) is UNMARKED:
            found.append(
                f"{key}: {value!r} is treated as a fact; to share the note with a person, write 'visibility: [{value}]'"
            )
    return found


def is_key(key: str, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key of front matter says who may see a note."""
    said = own.whole(comparable(key))
    return OWN[said] is not None if said else _key(key, own) in KEYS


def is_secret_key(key: str, value: object, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key, or one within its value, keeps what it stands for secret; "GM" alone introduces a person."""
    folded = comparable(key)
    if not own.whole(folded) and (folded in _PERSON or word_audience(key, "line", own) == DM):
        return not all(introduces(key, text) for text in texts(value))
    return any(
        key_mark(name, own).audience == DM
        or (_key(name, own) in _CLOSING - _PERSON and not own.whole(comparable(name)))
        for name in (key, *islice(_keys_within(value), MOST_STEPS))
    )


def says_audience(key: str, value: object, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a key with its value says only who may see a note, and no more of the world."""
    return is_key(key, own) and _key_mark(key, value, own) is not UNMARKED


def _key(key: str, own: OwnMarks) -> str:
    """A key as `KEYS` has it; camel case is taken apart if that gives one."""
    folded = comparable(key)
    apart = comparable(humps_apart(key))
    return apart if apart in KEYS and folded not in KEYS and not own.whole(folded) else folded


def _key_mark(key: str, value: object, own: OwnMarks) -> Mark:
    if not is_key(key, own) or not (found := listed(texts(value))):
        return UNMARKED
    audience = _audience(_key(key, own), found, own, is_list=isinstance(value, list))
    return UNMARKED if audience is None else Mark(f"{key}: {', '.join(found)}", audience)


def _audience(key: str, found: list[str], own: OwnMarks, *, is_list: bool) -> Audience | None:
    listed_as, value = own.whole(key), comparable(found[0])
    if not listed_as and key in _STRICT | _LOOSE:
        said = readers(found, own)
        if key in _LOOSE and (said.others or (said.people and not is_list)):
            return None
        return None if value in _UNDECIDED else said.audience
    opens = listed_as == "players" if listed_as else key in _OPENING
    flag = _flag(key, found, own)
    if flag is None:
        # "gm: Geoff" and "public: Everybody fears him" are facts, "publish: soon" is a mistake
        return DM if opens and not listed_as and key not in _EVERYDAY else None
    if flag != opens:
        return DM
    # "secret: false" opens nothing: it only says that the note is no secret by itself
    return PLAYERS if opens else None


def _flag(key: str, found: list[str], own: OwnMarks) -> bool | None:
    """Whether a value is true or false, None if it is neither; "publish: dm" is false, and "secret: players" true."""
    value = comparable(found[0])
    if value in _YES | _NO and not own.whole(value):
        return value in _YES
    audience = word_audience(found[0], "value", own)
    if audience is None:
        return None
    opens = own.whole(key) == "players" or key in _OPENING
    return audience == PLAYERS if opens else True


def _closes(key: str, value: str, own: OwnMarks) -> bool:
    name, folded = _key(key, own), comparable(value)
    if name in _STRICT:
        return word_audience(value, "value", own) == DM
    return (name in _CLOSING and folded in _YES) or (name in _OPENING and folded in _NO)


def _nested(properties: Properties) -> Iterator[tuple[str, object]]:
    """The keys and values within the objects that are values."""
    waiting = [(value, 1) for _, value in properties.pairs]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from ((str(key), inner) for key, inner in value.items())
            waiting += [(inner, depth + 1) for inner in value.values()]


def _keys_within(value: object) -> Iterator[str]:
    """The keys of the objects within a value, in lists too."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth < DEEPEST and isinstance(part, Mapping | list):
            yield from map(str, part) if isinstance(part, Mapping) else ()
            waiting += [(inner, depth + 1) for inner in (part.values() if isinstance(part, Mapping) else part)]
