"""Marks by which game masters say who may see something: in headings, callouts, comments, names of files, tags and keys.

What the marks are is in `vocabulary`. Of several marks the narrower holds, wherever they stand.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lorekeeper.audience import DM, PLAYERS, Audience, narrower
from lorekeeper.notes import vocabulary
from lorekeeper.notes.comparing import comparable, visible_text
from lorekeeper.notes.languages import ALL, Language, alternatives
from lorekeeper.notes.marks import BUILT_IN, OwnMarks

_WORDS = {place: vocabulary.words_at(place) for place in ("callout", "aside", "value", "tag", "line", "fence")}

_BRIEF = re.compile(r"(.*?)[\s_-]+brief(?:ing)?$", re.IGNORECASE)
_NOBODY = frozenset(
    "session mission quest campaign adventure world setting story the a party player players character gm dm one shot "
    "encounter combat chapter act arc faction location npc prep general intro introduction new guest secret".split()
)
_ASIDE = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
KEY_CHARS = 80
"""Characters of a heading in which a key is looked for that stands before it."""

_KEYED = re.compile(r"\W*+([^:–—\n]{1,30}?)(?::|[^\S\n]+[-–—](?=\s))\s*\S")
_NUMBER = re.compile(r"(?:(?:[0-9]+|[ivxlc]+|[a-h]|part|chapter|act) )+")
TAG = re.compile(r"(?:(?<=\s)|^)#([^\W_][\w/-]*|_[\w/-]+)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class Mark:
    """What somebody wrote to say who may see something.

    Attributes:
        written: as written.
        audience: who may see it, None where nothing was said.
    """

    written: str = ""
    audience: Audience | None = None

    @property
    def text(self) -> str:
        """What keeps something from players; "" where it opens it to all of them."""
        return "" if self.audience == PLAYERS else self.written

    @property
    def opening(self) -> str:
        """What opens something to all players; "" where it keeps it from them."""
        return self.written if self.audience == PLAYERS else ""


UNMARKED = Mark()


def narrowest(marks: Iterable[Mark]) -> Mark:
    """What all marks together say: who is in each of them, by the first that says so; `UNMARKED` without any."""
    said = [mark for mark in marks if mark.audience is not None]
    if not said:
        return UNMARKED
    together = functools.reduce(narrower, (mark.audience for mark in said if mark.audience is not None))
    alone = next((mark for mark in said if mark.audience == together), None)
    return alone or Mark("; ".join(mark.written for mark in said if mark.audience != PLAYERS), together)


OWN: dict[str, Audience | None] = {"dm": DM, "players": PLAYERS, "none": None}
"""What the lists of a user's own marks say."""


def word_audience(word: str, place: str, own: OwnMarks = BUILT_IN) -> Audience | None:
    """What one text says as a whole at a place of `vocabulary`; None if nothing."""
    folded = comparable(word)
    listed = own.whole(folded)
    return OWN[listed] if listed else _WORDS[place].get(folded)


@functools.lru_cache(maxsize=4096)
def heading_mark(heading: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What a heading says of the text below it: "Secrets (GM only)", "Public Knowledge"."""
    asides = [comparable(aside) for aside in _ASIDE.findall(heading)]
    whole, rest = comparable(heading), comparable(_ASIDE.sub(" ", heading))
    if listed := _own_heading(whole, rest, asides, own):
        return _own_mark(heading, listed)
    if vocabulary.CLOSED_TITLE.search(whole):
        return Mark(heading, DM)
    if said := {_WORDS["aside"][aside] for aside in asides if aside in _WORDS["aside"]}:
        return Mark(heading, DM if DM in said else PLAYERS)
    if "#" in heading and tag_mark(TAG.findall(heading), own).audience == DM:
        return Mark(heading, DM)
    if keyed := _KEYED.match(heading[:KEY_CHARS]):
        key = comparable(keyed[1])
        if word_audience(keyed[1], "line", own) == DM or _said("heading", (key, _unnumbered(key))) == DM:
            return Mark(heading, DM)
    who = _said("heading", (whole, rest, _unnumbered(whole), _unnumbered(rest)))
    # what stands in brackets may take back what opens it: "What the players know (wrong)"
    return UNMARKED if who is None or (who == PLAYERS and asides) else Mark(heading, who)


def _said(place: str, forms: Iterable[str]) -> Audience | None:
    """What the first saying of a place says that one of some comparable texts has."""
    forms = dict.fromkeys(forms)
    return next((who for pattern, who in vocabulary.SAYINGS[place] if any(map(pattern.search, forms))), None)


def _unnumbered(folded: str) -> str:
    match = _NUMBER.match(folded)
    return folded[match.end() :] if match else folded


def _own_heading(whole: str, rest: str, asides: Iterable[str], own: OwnMarks) -> str:
    """The list of a user's own marks that decides on a heading, "" for none."""
    if listed := own.of(whole):
        return listed
    if any(_WORDS["aside"].get(aside) == DM for aside in asides):
        return ""
    return next((listed for part in (*asides, rest) if (listed := own.whole(part))), "")


def _own_mark(written: str, listed: str) -> Mark:
    return UNMARKED if OWN[listed] is None else Mark(written, OWN[listed])


def humps_apart(key: str) -> str:
    """A key in camel case as words: "gmOnly" is "gm Only"."""
    return _HUMP.sub(" ", visible_text(key))


def key_mark(key: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the key of a fact says of its value; "GM" alone introduces a person."""
    folded = comparable(key)
    if folded in ("gm", "dm", "sl") and not own.whole(folded):
        return UNMARKED
    forms = dict.fromkeys((key, humps_apart(key)))
    mark = narrowest(heading_mark(form, own) for form in forms)
    if mark is UNMARKED and not own.whole(folded) and _said("key", map(comparable, forms)) == DM:
        return Mark(key, DM)
    return mark if mark is UNMARKED else Mark(key, mark.audience)


def callout_mark(word: str, title: str = "", options: str = "", own: OwnMarks = BUILT_IN) -> Mark:
    """What a callout says of its content by its word, the options behind it, and its title: ``[!dm]``, ``[!note|gm] Plot``.

    Options and title are read like headings, and only ever keep something secret.
    """
    listed = own.of(comparable(word))
    audience = OWN[listed] if listed else _WORDS["callout"].get(comparable(word))
    marks = [Mark(f"> [!{word}]", audience)]
    further = [(f"> [!{word}|{options}]", each) for each in re.split(r"[|\s]+", options)]
    for written, said in (*([] if listed else [(f"> [!{word}]", word)]), *further, (f"> [!{word}] {title}", title)):
        if said and DM in (word_audience(said, "callout", own), heading_mark(said, own).audience):
            marks.append(Mark(written, DM))
    return narrowest(marks)


def tag_mark(tags: Iterable[str], own: OwnMarks = BUILT_IN) -> Mark:
    """What tags say of what they stand for: "dm-only", "secret/plot". Only ever that it is secret."""
    parts = ((tag, part) for tag in tags for part in tag.split("/"))
    return next((Mark(f"#{tag}", DM) for tag, part in parts if word_audience(part, "tag", own) == DM), UNMARKED)


def path_mark(path: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the names of a note's file and folders say together."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0] or file
    return narrowest((_file_mark(stem, file, own), *(_name_mark(each, f"{each}/", own) for each in reversed(folders))))


def _file_mark(stem: str, file: str, own: OwnMarks) -> Mark:
    brief = None if own.of(comparable(stem)) else _BRIEF.fullmatch(visible_text(stem))
    return Mark(file, _reader_of(brief[1])) if brief else _name_mark(stem, file, own)


def _name_mark(name: str, written: str, own: OwnMarks) -> Mark:
    """What one name of a path says."""
    folded = comparable(name).lstrip("0123456789 ")
    if listed := own.whole(comparable(name)) or own.of(folded):
        return _own_mark(written, listed)
    if any(_WORDS["aside"].get(comparable(aside)) == DM for aside in _ASIDE.findall(name)):
        return Mark(written, DM)
    if vocabulary.CLOSED_TITLE.search(folded):
        return Mark(written, DM)
    return next((Mark(written, who) for pattern, who in vocabulary.SAYINGS["name"] if pattern.search(folded)), UNMARKED)


def _reader_of(name: str) -> Audience:
    """The person for whom a brief is, the game master if its name names nobody."""
    words = [word for word in re.split(r"[\s_-]+", name) if word]
    if not words or len(words) > 4 or any(word.casefold() in _NOBODY or not word.isalpha() for word in words):
        return DM
    return (" ".join(word[0].upper() + word[1:] for word in words),)


# --- people -----------------------------------------------------------------------------------------------------------

_PARTICLES = frozenset("of the von van der den de del della di da du la le el al bin ibn ter y".split())
_NAME_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w)?\.?")
_EMAIL = re.compile(r"[^\s@,;]{1,64}@[^\s@,;]{1,200}")
_MOST_WORDS = 4


def is_name(text: str) -> bool:
    """Whether a text may be the name of a person: up to four words that begin with capitals, or an e-mail address."""
    words = text.split()
    if _EMAIL.fullmatch(text):
        return True
    if not 0 < len(words) <= _MOST_WORDS or words[0][0].islower() or not all(map(_NAME_WORD.fullmatch, words)):
        return False
    return not any(word[0].islower() and word not in _PARTICLES for word in words)


_GAME_MASTER = re.compile(alternatives("master"))
_IN_BRACKETS = re.compile(r"\([^()\n]{0,40}\)")
_NO_WORDS = re.compile(r"[\W\d_]*\d[\W\d_]*")


def is_number(value: str) -> bool:
    """Whether a value is a number and no more, as in "SL: 3"."""
    return _NO_WORDS.fullmatch(value) is not None


def introduces(key: str, value: str) -> bool:
    """Whether a key of front matter only names a person, as "gm: Geoff" does. In a text "GM: Geoff" may as well be a secret."""
    value = _IN_BRACKETS.sub("", value).strip("*_[] \t")
    return _GAME_MASTER.fullmatch(comparable(key)) is not None and (is_name(value) or is_number(value))


@dataclass(frozen=True)
class Readers:
    """Who is named as those who may see something.

    Attributes:
        words: what the words among them say.
        people: names of people.
        others: what is neither.
    """

    words: tuple[Audience, ...] = ()
    people: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def audience(self) -> Audience:
        """Who may see it; the game master alone if anything is not understood."""
        if self.others:
            return DM
        return self.people or (PLAYERS if PLAYERS in self.words else DM)


def readers(found: Iterable[str], own: OwnMarks = BUILT_IN) -> Readers:
    """Words and names apart."""
    words, people, others = list[Audience](), list[str](), list[str]()
    for text in found:
        name = visible_text(text).strip("[]@ \t")
        if (said := word_audience(name, "value", own)) is not None:
            words.append(said)
        elif not own.whole(comparable(name)):
            (people if is_name(name) else others).append(name)
    return Readers(tuple(words), tuple(dict.fromkeys(people)), tuple(others))


def people_or_all(found: list[str], own: OwnMarks = BUILT_IN) -> Audience:
    """ "dm", "players", or the people of a list, whatever they are called; the narrower if it has words and people."""
    said = readers(found, own)
    return (*said.people, *said.others) or said.audience


_OF_MARKS = (
    *(
        "master",
        "notes",
        "advice",
        "only",
        "for_",
        "the",
        "secrets",
        "its",
        "about",
        "truth",
        "true",
        "facts",
        "key_facts",
        "table",
    ),
    *("unaware", "withholds", "behind", "secretly", "closing_keys"),
)
"""The attributes of a language that make marks."""

_OF_KINDS = (
    *("kind_keys", "session", "dated", "changed", "created", "race", "class_", "player", "state", "open", "done"),
)
"""Those that say what a note is, and when."""


def declared() -> list[dict[str, str]]:
    """The table of words: ``language``, ``audience``, ``places`` and ``what``, words or the example of an idiom.

    Words for kinds, dates and states have no audience.
    """
    rows = []
    for each in ALL:
        rows.append(_row(each, DM, "heading name key", _attributes(each, _OF_MARKS)))
        rows += [_row(each, words.audience, words.places, words.words) for words in each.alone]
        rows += [_row(each, idiom.audience, idiom.places, idiom.example) for idiom in each.idioms]
        kinds = [f"{kind}: {_plain(words)}" for kind, words in each.kinds.items()]
        rows.append(
            _row(each, "", "kind date state", "; ".join(filter(None, ("; ".join(kinds), _attributes(each, _OF_KINDS)))))
        )
    return sorted((row for row in rows if row["what"]), key=lambda row: (row["audience"] or "~", row["language"]))


def _row(language: Language, audience: str, places: str, what: str) -> dict[str, str]:
    return {"language": language.code or "*", "audience": audience, "places": places, "what": what}


def _attributes(language: Language, names: Iterable[str]) -> str:
    said = ((name.rstrip("_").replace("_", " "), _plain(getattr(language, name))) for name in names)
    return "; ".join(f"{name}: {words}" for name, words in said if words.strip(" ."))


def _plain(pattern: object) -> str:
    """A pattern of `languages` for people."""
    text = " ... ".join(pattern) if isinstance(pattern, tuple) else str(pattern)
    return text.replace("(?:", "(").replace("|", ", ").replace("\\w", "").replace("\\", "")
