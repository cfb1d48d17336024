"""Who may see something by what it is called: the stems and signs of ``data/words.tsv``, and the marks of a user's own.

    dm: [Spielleitung, Hinter den Kulissen]
    players: [Was alle wissen]
    none: [Hidden Valley]

A user's own marks come first. A text under ``dm`` also counts in whole words within a longer heading or name; one under ``players``
or ``none`` only where it is the whole of it, or all of it but what stands in brackets, or what stands there. A stem only ever keeps
something from players: that a heading says it is for them opens nothing before the game master has looked at it.

The classes of stems: ``master``, ``said`` and a ``sign`` close wherever something is marked; ``secret``, ``inner`` and a ``not``
right before ``tell``, "don't tell", do in the first two words of a sentence; ``plan`` as its first, and in what names something;
``ahead`` and ``draft`` in names of files and folders. A ``role`` closes by itself, beside a word of ``own`` ("Keeper's notes"),
and where something is for one ("Hints for the keeper", "Mira [keeper]" as a name); ``player`` and ``group`` beside a ``not`` of
their language ("Not for players"). A name of ``player``, ``group``, ``public`` and ``open`` alone is for players ("What the party
knows"); ``the``, and words of up to three letters that the table does not have, count for nothing. A word that is ``plain`` as
well, "planes", closes only beside another language's letters or words ("Pläne", "Planes del villano"). A stem of one language
only, "actual" or the Czech "PJ", counts in no vault that is known to be in others.
``none`` and ``unset`` are values of front matter.
"""

from __future__ import annotations

import functools
import hashlib
import html
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.audience import DM, PLAYERS, Audience, narrower
from lorekeeper.folding import fold
from lorekeeper.printable import shown
from lorekeeper.shares import Opened, Shares, digest_of, heading_key
from lorekeeper.words import Table, by_beginning, first, in_slugs, listed, rows, spelt, table

KEYS = ("dm", "players", "none")

RULES = 26
"""Raised whenever the built-in rules let a note say something else, above all of who may see it: every vault is read again then,
and players see nothing of it before. Libraries without a number were written before 1."""

MOST, LONGEST = 1000, 200
"""Most texts of a file, and the longest, in characters."""

LARGEST = 1 << 16
"""Characters of a file: what reads YAML takes some 100,000 a second."""

NAME, TITLE, ASIDE, LINE, START, WORD, CLAUSE = "name", "title", "aside", "line", "start", "word", "clause"
VALUE, FRONT = "value", "front"
"""Where a text stands: a file, folder or kind; a heading, callout, key, column or tag, and a line to its first sign of punctuation;
a bracket within a line; a line to its second word, to its third, its first, and to a comma; a value that says who may see a note;
how any other value begins."""

_CLOSING = {
    NAME: frozenset({"master", "secret", "said", "inner", "plan", "ahead", "draft"}),
    TITLE: frozenset({"master", "secret", "said", "inner", "plan"}),
    ASIDE: frozenset({"master", "secret", "said", "inner"}),
    LINE: frozenset({"master", "secret", "said", "inner"}),
    START: frozenset({"master", "said"}),
    WORD: frozenset({"plan"}),
    CLAUSE: frozenset(),
    FRONT: frozenset({"master", "secret", "said"}),
    VALUE: frozenset({"master", "secret", "said", "inner", "none"}),
}
_SENTENCES = (LINE, START, WORD, CLAUSE)
_OPENING = frozenset({"player", "group", "public", "open", "the"})
_READERS = frozenset({"player", "group", "public"})

WAITS = "waits until you open it"
"""What keeps a heading that was not looked at."""

MOVED = "stood in a part that was not open"
"""What keeps a line that was moved out of such a part."""

_INITIALS = re.compile(r"(?<![^\W\d_]\.)(?<![^\W\d_]\. )\b(?:(?:[^\W\d_]\.[ ]?){2,}(?!\w)|(?:[A-Z] ){2,}[A-Z]\b)")
_DRAWN = re.compile(r"LATIN (?:LETTER SMALL CAPITAL|CAPITAL LETTER) [A-Z]$(?<!^LATIN CAPITAL LETTER .)")
_SEPARATOR = re.compile(r"[&+/,;]")
_ELIDED = re.compile(r"(?<=\w)['’](?=\w{3})")
"""Between two words, one of which has lost its end: "l'intention", but not "GM's"."""
_BEHIND_DASH = re.compile(r"\s[-–—]\s")
_INVISIBLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
"""Characters that nobody sees, beside those of Unicode's category Cf."""

_NO_MARK = re.compile(
    rf"\b(?:{'|'.join((*listed('word also'), *(each for each in listed('kind npc') if each.count(' ') > 1)))})\b"
)
"""In which a stem keeps nothing from anybody: "not only players", floors, "primo piano", and names of who is none, "personaggi non
giocanti"."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
FIRST_WORDS, BEGINNING = 3, 2
"""Words of what says that something is not known, and of the beginning of a text, at most; those of it in which all marks count."""

_END_OF_LABEL = re.compile(r"[:：,;!?…](?=[\s*_~=]|$)|(?<=\w\w)\.(?=\s|$)|::|\s(?:[-–—]|[-=]>)(?=\s|$)|[—→]")
_EMPHASISED = re.compile(r"(\*{1,3}|_{1,3}|==|~~)(?=\S)(?P<said>[^\n]{1,80}?)(?<=\S)\1[ \t]*[:：]?[ \t]*")
_BRACKETS = re.compile(r"(?<![\[\]])(?:[({]|\[(?!!))([^\[\](){}\n|]{1,200})[\])}](?![(\[])")
_STOPS = tuple(".!?…;")
MOST_KEY_WORDS = 7
"""Words of a label, at most; more are a sentence."""

LINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]|!?\[[^\[\]\n]*\]\([^()\n]*\)|https?://\S+|\ufdd0[0-9]+\ufdd1")
_LINKED = "Linked"
"""A link tells the name of another note, and no more of this one: it is one word, and so is a piece of code."""

_ASIAN = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Letters of languages that write their words without spaces: "GM用" is two."""
_WORD, _LETTERS = re.compile(r"[^\W_]"), re.compile(rf"[^\W\d_{_ASIAN}]+|[{_ASIAN}]+")
_SPACED = re.compile(r"\S+")
TAG = re.compile(r"(?:(?<=\s)|^)#([^\W_][\w/-]*|_[\w/-]+)")


def visible_text(text: str) -> str:
    """A text without the characters that nobody sees: zero-width spaces, soft hyphens, marks of direction."""
    if text.isascii():
        return text
    return "".join(map(_drawn, (c for c in text if unicodedata.category(c) != "Cf" and ord(c) not in _INVISIBLE)))


def _drawn(character: str) -> str:
    """A small or white capital as the letter that it is drawn for; any other character as it is."""
    name = unicodedata.name(character, "")
    return name[-1] if _DRAWN.search(name) else character


def comparable(text: str) -> str:
    """The form in which texts are compared with marks: `fold` of what a reader sees of them, "&" and the like as "and"."""
    text = visible_text(html.unescape(text)) if "&" in text or not text.isascii() else text
    if "." in text or " " in text:
        text = _INITIALS.sub(lambda match: f"{match[0].replace('.', '').replace(' ', '')} ", text)
    return fold(_ELIDED.sub(" ", _SEPARATOR.sub(" and ", text.strip(" \t&+/,;"))))


def humps_apart(key: str) -> str:
    """A key in camel case as words: "gmOnly" is "gm Only"."""
    return _HUMP.sub(" ", visible_text(key))


# --- stems ------------------------------------------------------------------------------------------------------------


@functools.cache
def _foreign() -> frozenset[str]:
    """The words of languages other than English that tell the language of a text."""
    return frozenset(stem for stem, what, language in rows() if what == "the" and language != "en")


@functools.cache
def _signs() -> re.Pattern[str]:
    """The signs, and their names as Markdown writes them, which may leave out the last word: ":see_no_evil:"."""
    named = (re.split("[ -]", unicodedata.name(sign).lower()) for sign in listed("sign") if len(sign) == 1)
    codes = (f":{'_'.join(words)}:" for name in named for words in (name, name[:-1]) if words)
    return re.compile("|".join(map(re.escape, (*listed("sign"), *codes))))


_BEGIN, _END, _LABEL = 400, 100, 120
"""Characters of a heading or key in which marks stand: nobody writes one in the midst of a longer text."""

_ENDING, _SHORT, _LONG = 2, 3, 24
"""Letters of a part of a compound, at least; of a word that counts for nothing, and of a compound, at most."""


@functools.lru_cache(maxsize=8192)
def stem_kinds(word: str, spoken: str = "") -> frozenset[str]:
    """The classes of one word, or of two with a space between them: "next session" is a plan in any language.

    Where the languages of a vault are known and English is none of them, "actual" and "lie" are other words than those of English.
    """
    known, (one, _, other) = table("", spoken), word.partition(" ")
    if {first("word ", one), first("word ", other)} == {"next", "session"}:
        return frozenset({"plan"})
    joined = one + other
    if other and (found := known.get(joined) or known.get(joined.removesuffix("s"))):
        return found  # "to do", "game masters"
    if found := _looked_up(word, known) or _looked_up(spelt(word), in_slugs(spoken)):
        return found
    ends = range(_ENDING, len(word) - _ENDING) if len(word) <= _LONG else ()
    for begun, rest in [(one, other)] if other else ((word[:end], word[end:]) for end in ends):
        before, after = _looked_up(begun, known), _looked_up(rest, known)
        # "don't tell", "neukazovat"
        if "not" in before and "tell" in after and (other or len(begun) == _ENDING):
            return frozenset({"secret"})
        # "gmonly", "Meisterinfo", "propj"
        is_own = (before & {"master", "role"} and "own" in after) or ("open" in before and "master" in after)
        if is_own and not other:
            return frozenset({"master"})
    return found


def _looked_up(word: str, known: Table) -> frozenset[str]:
    if word in known or " " in word:
        return known.get(word, frozenset())
    if word.endswith("s") and "inner" not in known.get(word[:-1], {"inner"}):
        return known[word[:-1]]
    return by_beginning(known, word) or frozenset({"the"} if len(word) <= _SHORT else ())


def _closing_word(folded: str, place: str, spoken: str = "", *, has_letters: bool = False) -> str:
    """The word of a comparable text that closes what it stands for; "" if none does.

    Args:
        folded: the text.
        place: where it stands.
        spoken: the languages of its vault.
        has_letters: whether it was written with letters that English has not.
    """
    written = words_of(_NO_MARK.sub(" ", folded))
    words = [word for word in written if "the" not in stem_kinds(word)]
    found = _stems_in(written, words, spoken, has_letters=has_letters)
    if closing := next((word for word, kinds in found.items() if kinds & _CLOSING[place]), ""):
        return closing
    said = frozenset[str]().union(*found.values())
    if "not" in said and (kept := _kept_from(found, spoken)):
        return kept
    if place in _SENTENCES:
        return ""
    if "not" in said and "open" in said and len(words) <= FIRST_WORDS:
        return next(word for word, kinds in found.items() if "not" in kinds)
    of_a_role = next((word for word, kinds in found.items() if "role" in kinds), "")
    is_own = any("own" in kinds for word, kinds in found.items() if word != of_a_role)
    return of_a_role if is_own or _is_for_a_role(written) else ""


@functools.cache
def _negating() -> Sequence[str]:
    """The languages of which the table has negations."""
    return sorted({language[:2] for _, what, language in rows() if what == "not"})


def _kept_from(words: Iterable[str], spoken: str) -> str:
    """The word for players beside a negation of the same language, or English, which games speak everywhere; "" for none.

    "O grupo no castelo" is Portuguese, and "no" a negation in Spanish.
    """
    for code in _negating():
        kinds = {word: _looked_up(word, table("", spoken, code)) for word in words}
        found = next((word for word, each in kinds.items() if each & {"player", "group"}), "")
        if found and any("not" in each for each in kinds.values()):
            return found
    return ""


def words_of(folded: str) -> list[str]:
    """The words of a comparable text: its runs of letters; numbers and single letters are none, "n" being one in French."""
    return [word for word in _LETTERS.findall(folded) if len(word) > 1 or word in table("")]


def _is_for_a_role(words: Sequence[str]) -> bool:
    """Whether words name a role and nothing else, or say of something that it is for one: "Bog Keeper" does neither."""
    named = [stem_kinds(word) for word in words if "the" not in table("").get(word, ())]
    told = [each for each in map(stem_kinds, words) if "the" not in each or "open" in each]
    is_for_one = any(one >= {"the", "open"} and "role" in other for one, other in itertools.pairwise(told))
    return is_for_one or all(each & {"role", "open"} for each in named)


def _stems_in(
    written: Sequence[str], words: Sequence[str], spoken: str, *, has_letters: bool
) -> dict[str, frozenset[str]]:
    """The words, and pairs of words side by side, that the table has."""
    pairs = (f"{one} {other}" for one, other in (*itertools.pairwise(words), *itertools.pairwise(written)))
    found = {word: kinds for word in (*words, *pairs) if (kinds := stem_kinds(word, spoken))}
    if not has_letters and _foreign().isdisjoint(written):
        found = {word: kinds for word, kinds in found.items() if "plain" not in kinds}
    return found


def says_plan(text: str) -> bool:
    """Whether the name of something says that it is a plan, or a draft of one."""
    words = comparable(humps_apart(text)).split()
    found = _stems_in(words, words, "", has_letters=_has_letters(text))
    return any(kinds & {"plan", "draft"} for kinds in found.values())


def _has_letters(text: str) -> bool:
    """Whether a text has letters that English has not."""
    return any(letter.isalpha() and letter > "\x7f" for letter in text)


def _says_players(folded: str, place: str) -> bool:
    """Whether a text says that something is for players; "Party" alone says so as a value, and as a heading names them."""
    kinds = [stem_kinds(word) for word in folded.split()]
    is_said = place == VALUE or any("open" in each for each in kinds)
    return is_said and any(each & _READERS for each in kinds) and all(each & _OPENING for each in kinds)


@dataclass(frozen=True)
class Mark:
    """What somebody wrote to say who may see something.

    Attributes:
        written: as written.
        audience: who may see it, None where nothing was said.
        stem: the word or sign that says so; "" where another mark does.
        said: the text that has it: by this it can be opened all the same.
    """

    written: str = ""
    audience: Audience | None = None
    stem: str = ""
    said: str = ""

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


@dataclass(frozen=True, eq=False)
class OwnMarks:
    """What holds beside the stems: a user's own marks, and what the game master has decided.

    Attributes:
        texts: which list a folded text is in: "dm", "players" or "none".
        shares: what was decided on the vault that is read.
        is_looking: whether the game master is being shown what could be opened: no heading waits.
        stems: digests of what is opened although a stem stands in it, besides what was looked at before.
        seen: what was looked at of the note that is read.
        path: of that note.
        spoken: the languages of its vault; "" if nobody knows them.
        said: what its texts were found to say, by text and place: the same keys are asked for again and again.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    shares: Shares = field(default_factory=Shares)
    is_looking: bool = False
    stems: frozenset[str] = frozenset()
    seen: Opened | None = None
    path: str = ""
    spoken: str = ""
    said: dict[tuple[str, str], Mark] = field(default_factory=dict)

    @property
    def rules(self) -> str:
        """Changes whenever notes are read otherwise, by the built-in rules or by these marks."""
        return f"{RULES} {self.digest}".rstrip()

    @property
    def digest(self) -> str:
        """Changes whenever something else is marked; "" without any."""
        said = sorted(self.texts.items())
        return hashlib.blake2b(json.dumps(said).encode("utf-8"), digest_size=8).hexdigest() if said else ""

    def whole(self, folded: str) -> str:
        """The list that has a folded text; "" for none. What was opened although a stem closes it counts as "none"."""
        if listed := self.texts.get(folded, ""):
            return listed
        stems = {*self.stems, *(self.seen.stems if self.seen else ())}
        return "none" if stems and digest_of(folded) in stems else ""

    def is_opened(self, text: str) -> bool:
        """Whether a text was opened as it stands: one that begins alike was not."""
        return bool(self.stems or self.seen or self.texts) and self.whole(comparable(text)) == "none"

    def of_note(self, path: str, spoken: str = "") -> OwnMarks:
        """The same for one note, in the languages of its vault."""
        return replace(self, seen=self.shares.opened(path), path=path, spoken=spoken, said={})

    def of(self, folded: str) -> str:
        """The list that decides on a folded text: the one that has it as a whole, else "dm" if it has a part of it."""
        if listed := self.whole(folded):
            return listed
        within = (text for text, kind in self.texts.items() if kind == "dm")
        return "dm" if any(f" {text} " in f" {folded} " for text in within) else ""

    def has_seen(self, path: str, number: int) -> bool:
        """Whether a heading of the note was looked at, which stands there so often; or others of the folder have it."""
        key = heading_key(path)
        if self.is_looking or (self.seen and number <= self.seen.headings.count(key)):
            return True
        return number == 1 and self.seen is not None and self.shares.is_common(self.path, key)

    def opens(self, path: str) -> bool:
        """Whether a heading that says it is for players was opened by the game master."""
        return self.seen is not None and heading_key(path) in self.seen.said

    def is_closed_before(self, digest: str) -> bool:
        """Whether a line, by its digest, stood in a part of the note that was not open."""
        return bool(digest) and not self.is_looking and self.seen is not None and digest in self.seen.closed


BUILT_IN = OwnMarks()
"""No marks beside the built-in ones, and nothing shared."""

LOOKED_AT = OwnMarks(is_looking=True)
"""The same where no heading waits: the notes are our own, or the game master is being shown them."""


def audience_of(text: str, place: str = TITLE, own: OwnMarks = BUILT_IN) -> Mark:
    """Who may see what a text stands for, by what it is called: "dm", "players" if it says so, None if it says nothing.

    Args:
        text: a heading, a name, a key, or how a line begins.
        place: where it stands; more words close a name than a line.
        own: the user's own marks.
    """
    if (text, place) not in own.said:
        found = _audience_of(text, place, own)
        if not own.path:
            return found
        own.said[text, place] = found
    return own.said[text, place]


def _audience_of(text: str, place: str, own: OwnMarks) -> Mark:
    ends = text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]}\n{text[-_END:]}"
    whole = comparable(humps_apart(ends))
    if own.texts or own.seen or own.stems:
        asides = _BRACKETS.findall(text)
        rest, unnumbered = comparable(_BRACKETS.sub(" ", text)), whole.lstrip("0123456789 ")
        parts = map(own.whole, (*map(comparable, asides), rest, unnumbered))
        said = own.of(comparable(text)) or own.of(whole) or next(filter(None, parts), "")
        # what stands in brackets may take back what a user's own mark opens
        if said and not (
            said == "players" and any(_closing_word(comparable(each), place, own.spoken) for each in asides)
        ):
            return Mark(text, OWN[said])
    if sign := _signs().search(text):
        return Mark(text, DM, sign[0], text)
    # "GMonly" has a hump in the wrong place
    for folded in dict.fromkeys((whole, comparable(ends))):
        if word := _closing_word(folded, place, own.spoken, has_letters=_has_letters(text)):
            return Mark(text, DM, word, text)
    for apart in (*_BRACKETS.findall(text), _BEHIND_DASH.split(text)[-1]) if place == NAME else ():
        behind = words_of(comparable(apart))
        if role := next((word for word in behind if "role" in stem_kinds(word) and _is_for_a_role(behind)), ""):
            return Mark(text, DM, role, text)
    if place not in _SENTENCES and _says_players(whole, place):
        return Mark(text, PLAYERS, whole, text)
    return UNMARKED


def first_words(text: str, most: int = FIRST_WORDS) -> str:
    """A text to one of its first words; those that count for nothing stand among them: "Unknown to the party"."""
    counted = 0
    for word in _SPACED.finditer(text):
        counted += any("the" not in table("").get(each, ()) for each in comparable(word[0]).split())
        if counted == most:
            return text[: word.end()]
    return text


def beginning_mark(text: str, own: OwnMarks, place: str) -> Mark:
    """What a value closes by its first words."""
    mark = audience_of(first_words(text), place, own)
    return replace(mark, written=text.strip()[:_BEGIN]) if mark.audience == DM else UNMARKED


def line_mark(text: str, own: OwnMarks = BUILT_IN) -> tuple[Mark, str]:
    """What a paragraph, item or cell says of itself, and what stands in it besides.

    It says so at its beginning, in a bracket, behind its last dash, by a tag or a sign; words elsewhere are those of a sentence.
    """
    if own.is_opened(text):
        return UNMARKED, text
    for said, place, rest in _places(LINK.sub(_LINKED, text)):
        mark = key_mark(said, rest, own) if place == TITLE else audience_of(said, place, own)
        # "Next session: [[Session 4]]" tells nothing of a plan
        is_pointer = "plan" in stem_kinds(mark.stem) and rest.strip("*_. ") == _LINKED
        if mark.audience == DM and not is_pointer:
            return replace(mark, said=text), rest.strip("*_~=:.!, \t")
    sign = _signs().search(text)
    mark = Mark(text, DM, sign[0]) if sign else tag_mark(TAG.findall(text), own)
    return replace(mark, said=text) if mark.audience == DM else mark, text


def _places(text: str, whole: str = "") -> Iterator[tuple[str, str, str]]:
    """What may mark a text, where that stands, and the text without it.

    The beginning is what is emphasised there or ends at the first sign of punctuation; of a sentence it is the first three words,
    the last of which tells less: "Lost ruins hide" says what is there, and "He is secretly" what nobody knows.

    Args:
        text: a line, or what a bracket has in it.
        whole: where all of a text stands that is no sentence; "" for a line, of which only a few words are a label by themselves.
    """
    bold, sign = _EMPHASISED.match(text), _END_OF_LABEL.search(text, 0, _LABEL)
    end, ended = bold or sign, sign[0] if sign and not bold else ""
    label, behind = (bold["said"] if bold else text[: end.start()], text[end.end() :]) if end else (text, "")
    words, first, begun = comparable(label).split(), first_words(label), first_words(label, BEGINNING)
    is_known, is_joined = all(map(stem_kinds, words)), ended in (*_STOPS, ",")
    # "Next time, she" begins a sentence, and "Hidden in the mill." is one
    is_label = not is_joined or whole or (label == begun if ended == "," else is_known or label == first)
    if (end or whole or first == label) and len(words) <= MOST_KEY_WORDS and (is_label or ended == ","):
        before_comma, elsewhere = LINE if is_label else CLAUSE, whole if whole and not end else TITLE
        place = before_comma if ended == "," else elsewhere
        yield label, place, behind if is_known or not is_joined else text
    yield begun, LINE, text[len(begun) :]
    yield first, START, text[len(first) :]
    yield first.partition(" ")[0], WORD, text[len(first) :]
    for bracket in _BRACKETS.finditer(text):
        without = text[: bracket.start()] + text[bracket.end() :]
        aside = ASIDE if _WORD.search(text, 0, bracket.start()) else TITLE
        yield from ((said, place, without) for said, place, _ in _places(bracket[1].lstrip(": "), aside))
    *before, last = _BEHIND_DASH.split(text)
    if before and first_words(last) == last:
        yield last, LINE, " - ".join(before)


def closes(text: str, place: str = TITLE, own: OwnMarks = BUILT_IN) -> bool:
    """Whether what a text stands for is the game master's."""
    return audience_of(text, place, own).audience == DM


def title_mark(text: str, own: OwnMarks = BUILT_IN, place: str = TITLE) -> Mark:
    """What a heading, a key or a name says of what it stands for; that it is for players only where a user's own mark does."""
    mark = audience_of(text, place, own)
    return UNMARKED if mark.audience == PLAYERS and mark.stem else mark


def tag_mark(tags: Iterable[str], own: OwnMarks = BUILT_IN) -> Mark:
    """What tags say of what they stand for: "dm-only", "secret/plot". Only ever that it is secret."""
    marks = (audience_of(part, TITLE, own) for tag in tags for part in dict.fromkeys((tag, *tag.split("/"))))
    return next((replace(mark, written=f"#{mark.written}") for mark in marks if mark.audience == DM), UNMARKED)


def is_of_tags(text: str) -> bool:
    """Whether a line has tags and nothing else but a key before them: they are of the whole note then."""
    behind = text.rpartition(":")[2]
    return "#" in behind and _WORD.search(TAG.sub("", behind)) is None


def path_mark(path: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the names of a note's file and folders say together."""
    return narrowest(replace(title_mark(name, own, NAME), written=written) for name, written in _names_of(path))


def says_players(path: str) -> str:
    """The name of a note's file or folders that says it is for players; "" if none does."""
    return next((name for name, _ in _names_of(path) if audience_of(name, NAME).audience == PLAYERS), "")


def _names_of(path: str) -> list[tuple[str, str]]:
    """The names of a note's file and folders, innermost first, and how they are written in a path."""
    *folders, file = path.split("/")
    return [(file.rpartition(".")[0] or file, file), *((each, f"{each}/") for each in reversed(folders))]


# --- values and people ---------------------------------------------------------------------------------------------------

_NAME_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w)?\.?")
_EMAIL = re.compile(r"[^\s@,;]{1,64}@[^\s@,;]{1,200}")
_MOST_WORDS = 4
_IN_BRACKETS = re.compile(r"\([^()\n]{0,40}\)")
_NO_WORDS = re.compile(r"[\W\d_]*\d[\W\d_]*")


def value_audience(text: str, own: OwnMarks = BUILT_IN) -> Audience | None:
    """What a value of front matter says: "player-safe" is for players, "gm" for the game master; None for anything else."""
    return audience_of(text, VALUE, own).audience


def is_undecided(text: str) -> bool:
    """Whether a value leaves it to marks within the note: "mixed"."""
    return "unset" in stem_kinds(comparable(text))


def is_name(text: str) -> bool:
    """Whether a text may be the name of a person: up to four words that begin with capitals, or an e-mail address."""
    words = text.split()
    if _EMAIL.fullmatch(text):
        return True
    if not 0 < len(words) <= _MOST_WORDS or words[0][0].islower() or not all(map(_NAME_WORD.fullmatch, words)):
        return False
    return not any(word[0].islower() and word not in listed("word particle") for word in words)


def is_number(value: str) -> bool:
    """Whether a value is a number and no more, as in "SL: 3"."""
    return _NO_WORDS.fullmatch(value) is not None


def introduces(key: str, value: str) -> bool:
    """Whether a key of front matter only names a person, as "gm: Geoff" does. In a text "GM: Geoff" may as well be a secret."""
    value = _IN_BRACKETS.sub("", value).strip("*_[] \t")
    return bool(_looked_up(comparable(key), table("")) & {"master", "role"}) and (is_name(value) or is_number(value))


def key_mark(key: str, value: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What a key within a text says of its value: "SL: 3" is a number, and "Keeper: Old Tom" only names who has a role."""
    mark = title_mark(key, own)
    is_fact = mark.stem and (is_number(value) or "role" in stem_kinds(mark.stem)) and introduces(key, value)
    return UNMARKED if is_fact else mark


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
        if (said := value_audience(name, own)) is not None:
            words.append(said)
        elif not own.whole(comparable(name)):
            (people if is_name(name) else others).append(name)
    return Readers(tuple(words), tuple(dict.fromkeys(people)), tuple(others))


def people_or_all(found: list[str], own: OwnMarks = BUILT_IN) -> Audience:
    """ "dm", "players", or the people of a list, whatever they are called; the narrower if it has words and people."""
    said = readers(found, own)
    return (*said.people, *said.others) or said.audience


# --- a user's own marks ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=2)
def read_marks(text: str) -> OwnMarks:
    """The marks of a YAML or JSON text; of the same text the same object.

    Raises:
        ValueError: it is something else; the message says what is wrong with it.
    """
    lists = _lists(text)
    texts: dict[str, str] = {}
    for key, written in lists:
        for each in written:
            folded = comparable(each)
            if not re.search(r"\w", folded) or len(each) > LONGEST:
                raise ValueError(
                    f"{shown(each)} under '{key}' must have letters or digits, and at most {LONGEST} characters"
                )
            if texts.setdefault(folded, key) != key:
                raise ValueError(f"{shown(each)} is both under '{texts[folded]}' and under '{key}'")
    if len(texts) > MOST:
        raise ValueError(f"it has {len(texts):,} marks, more than the {MOST:,} that are read")
    return OwnMarks(texts)


def _lists(text: str) -> list[tuple[str, list[str]]]:
    """The lists by their keys, as they are written."""
    import yaml

    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} characters")
    try:
        root = yaml.compose(text, yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(root, yaml.MappingNode):
        raise ValueError(f"it must have the keys {', '.join(KEYS)}, each with a list of texts")
    found: list[tuple[str, list[str]]] = []
    for key, value in root.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        if name not in KEYS or name in dict(found):
            reason = "appears twice" if name in dict(found) else f"is not one of {', '.join(KEYS)}"
            raise ValueError(f"its key {shown(name)} {reason}")
        if not isinstance(value, yaml.SequenceNode) or not all(isinstance(n, yaml.ScalarNode) for n in value.value):
            raise ValueError(f"'{name}' must be a list of texts, for example {name}: [Some Words]")
        found.append((name, [str(each.value) for each in value.value]))
    return found
