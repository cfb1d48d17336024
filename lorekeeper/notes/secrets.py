"""Marks by which game masters say who may see something: in headings, callouts, comments, file names and front matter."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.folding import fold
from lorekeeper.notes.marks import BUILT_IN, OwnMarks
from lorekeeper.notes.properties import Properties, listed

_MASTER = r"(?:gms?|dms?|game ?masters?|dungeon ?masters?|keepers?|storytellers?|referees?|wardens?)"
_TOLD = (
    r"(?:notes?|knowledge|info|information|lore|facts?|details?|background|version|section|summary|truths?|reference)"
)
_KEPT = (
    rf"(?:{_TOLD}|properties|things?|elements?|agendas?|motives?|motivations?|goals?|plans?|identity|history|nature|"
    "secrets?|abilities|powers?|features?|stuff|content|aspects?|connections?|allegiances?|past)"
)
_TABLE = r"(?:players?|party|pcs|characters|group)"

HEADINGS: tuple[tuple[re.Pattern[str], Audience], ...] = tuple(
    (re.compile(pattern), audience)
    for pattern, audience in (
        (r"^(?:gms?|dms?)$", DM),
        (rf"\b{_MASTER} (?:s )?(?:only|eyes|secrets?|tips|advice|guidance|screen|prep|{_TOLD})\b", DM),
        (rf"\b(?:for|to) (?:the |your )?{_MASTER}(?: only| s eyes| eyes)?$|^for (?:the )?{_MASTER}\b(?! story)", DM),
        (r"\beyes only\b|\bspoilers?\b|\bbehind the (?:scenes|screen)\b|\bwhat is really going on\b", DM),
        (
            rf"\b{_TABLE} (?:do not|don ?t|must not|mustn ?t|should not|shouldn ?t|never|cannot|can ?t) (?:know|see|read|learn)",
            DM,
        ),
        (rf"\b(?:unknown to|hidden from|secret from|kept from|not (?:yet )?known (?:to|by)) (?:the )?{_TABLE}\b", DM),
        (rf"^(?:the |true |dark |deep |known )?secrets?(?:$| (?:and|amp) |s? {_KEPT}\b)", DM),
        (rf"\b(?:secret|hidden|private|confidential|unrevealed) {_KEPT}(?:$| (?:and|amp|of|about)\b)", DM),
        (rf"^(?:public|common|general) {_TOLD}\b|\b(?:public|common) knowledge\b|\bpublicly known\b", PLAYERS),
        (rf"\bplayers? (?:{_TOLD}|handouts?|facing|safe|view|recap|description|introduction)\b", PLAYERS),
        (rf"\bwhat (?:the |your )?{_TABLE} (?:already )?(?:knows?|sees?|have learned|has learned)\b", PLAYERS),
        (r"(?:\bknown to|^for) (?:the |all )?(?:players?|party|pcs)$", PLAYERS),
    )
)
"""What a folded heading says, the first that fits: the sayings "players do not know" come before "players know"."""

WORDS: dict[str, Audience] = {
    **dict.fromkeys(("dm", "gm", "dms", "gms", "secret", "secrets", "keeper", "private", "hidden", "spoiler"), DM),
    **dict.fromkeys(("dm only", "gm only", "dm note", "gm note", "dm notes", "gm notes", "dungeon master"), DM),
    **dict.fromkeys(("game master", "gamemaster", "storyteller", "dm secret", "gm secret", "eyes only"), DM),
    **dict.fromkeys(("dmonly", "gmonly", "dm info", "gm info", "confidential", "unrevealed", "secret note"), DM),
    **dict.fromkeys(("secret only", "keeper only", "true", "yes secret", "none", "nobody", "admin", "owner"), DM),
    **dict.fromkeys(("player", "players", "public", "party", "everyone", "everybody", "all", "table", "pcs"), PLAYERS),
    **dict.fromkeys(("player facing", "player only", "players only", "handout", "shared", "player knowledge"), PLAYERS),
}
"""What one folded word says as a callout, in brackets, or as a value of front matter."""

UNDECIDED = frozenset({"mixed", "partial", "some", "default", "unset"})

FILES: tuple[tuple[re.Pattern[str], Audience], ...] = tuple(
    (re.compile(pattern), audience)
    for pattern, audience in (
        (rf"^{_MASTER}$|\b{_MASTER} (?:s )?(?:only|eyes|secrets?|{_TOLD})\b|^for (?:the )?{_MASTER}$", DM),
        (r"^secrets?$|\beyes only\b|\bspoilers?$|\bsecret (?:notes?|info|information|lore)\b", DM),
        (rf"\b(?:players?|party) (?:{_TOLD}|handouts?|facing|safe|view|primer|guide)\b", PLAYERS),
        (r"\b(?:public|common) knowledge\b|^(?:player |players )?handouts?$|^for (?:the )?players$", PLAYERS),
    )
)
"""What a folded name of a file or folder says."""

_BRIEF = re.compile(r"(.*?)[\s_-]+brief(?:ing)?$", re.IGNORECASE)
_NOBODY = frozenset(
    "session mission quest campaign adventure world setting story the a party player players character gm dm one shot "
    "encounter combat chapter act arc faction location npc prep general intro introduction new guest secret".split()
)
_EVERYDAY = frozenset({"all", "none", "true", "party"})
"""Words that mean something else in the brackets of a heading."""

_ASIDE = re.compile(r"[(\[]([^()\[\]]*)[)\]]")

_VISIBILITY = ("visibility", "audience", "visible to", "shared with", "share with", "viewers", "access", "permission")
_PUBLIC = ("publish", "public", "published", "dg publish", "player facing", "player visible", "share")
_SECRET = ("secret", "private", "gm only", "dm only", "hidden", "gm", "dm", "spoiler")

KEYS = frozenset(_VISIBILITY + _PUBLIC + _SECRET)
"""Folded keys of front matter that say who may see a note."""

_YES, _NO = frozenset({"true", "yes", "on", "1", "y"}), frozenset({"false", "no", "off", "0", "n"})


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
    """The mark that lets the fewest see something, the first of several; `UNMARKED` without any."""
    said = (mark for mark in marks if mark.audience is not None)
    return min(said, key=lambda mark: _reach(mark.audience), default=UNMARKED)


OWN: dict[str, Audience | None] = {"dm": DM, "players": PLAYERS, "none": None}
"""What the lists of a user's own marks say."""


@functools.lru_cache(maxsize=4096)
def heading_mark(heading: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What a heading says of the text below it: "Secrets (GM only)", "Public Knowledge"."""
    asides = [fold(aside) for aside in _ASIDE.findall(heading)]
    rest = fold(_ASIDE.sub(" ", heading))
    if listed := _own_heading(fold(heading), rest, asides, own):
        return _own_mark(heading, listed)
    for aside in asides:
        if (audience := WORDS.get(aside)) is not None and aside not in _EVERYDAY:
            return Mark(heading, audience)
    said = (who for pattern, who in HEADINGS if any(pattern.search(form) for form in (fold(heading), rest)))
    return next((Mark(heading, who) for who in said), UNMARKED)


def _own_heading(whole: str, rest: str, asides: Iterable[str], own: OwnMarks) -> str:
    """The list of a user's own marks that decides on a heading, "" for none."""
    if listed := own.of(whole):
        return listed
    if any(WORDS.get(aside) == DM and aside not in _EVERYDAY for aside in asides):
        return ""
    return next((listed for part in (*asides, rest) if (listed := own.whole(part))), "")


def _own_mark(written: str, listed: str) -> Mark:
    return UNMARKED if OWN[listed] is None else Mark(written, OWN[listed])


def key_mark(key: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the key of a fact says of its value; "GM" alone introduces a person."""
    return UNMARKED if fold(key) in ("gm", "dm") and not own.whole(fold(key)) else heading_mark(key, own)


def callout_mark(word: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the word of a callout says of its content: "dm", "gm-only"."""
    listed = own.of(fold(word))
    audience = OWN[listed] if listed else WORDS.get(fold(word))
    return UNMARKED if audience is None else Mark(f"> [!{word}]", audience)


def path_mark(path: str, own: OwnMarks = BUILT_IN) -> Mark:
    """What the names of a note's file and folders say; the file's own comes first."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0] or file
    marks = (_file_mark(stem, file, own), *(_name_mark(each, f"{each}/", own) for each in reversed(folders)))
    return next((mark for mark in marks if mark.audience is not None), UNMARKED)


def _file_mark(stem: str, file: str, own: OwnMarks) -> Mark:
    brief = None if own.of(fold(stem)) else _BRIEF.fullmatch(stem)
    return Mark(file, _reader_of(brief[1])) if brief else _name_mark(stem, file, own)


def _name_mark(name: str, written: str, own: OwnMarks) -> Mark:
    """What one name of a path says."""
    folded = fold(name).lstrip("0123456789 ")
    if listed := own.whole(fold(name)) or own.of(folded):
        return _own_mark(written, listed)
    return next((Mark(written, audience) for pattern, audience in FILES if pattern.search(folded)), UNMARKED)


def _reader_of(name: str) -> Audience:
    """The person for whom a brief is, the game master if its name names nobody."""
    words = [word for word in re.split(r"[\s_-]+", name) if word]
    if not words or len(words) > 4 or any(word.casefold() in _NOBODY or not word.isalpha() for word in words):
        return DM
    return (" ".join(word[0].upper() + word[1:] for word in words),)


def property_mark(properties: Properties, own: OwnMarks = BUILT_IN) -> Mark:
    """What front matter says of the whole note; where several keys disagree, the narrowest."""
    return narrowest(_key_mark(key, properties, own) for key in properties.values)


def is_key(folded: str, own: OwnMarks = BUILT_IN) -> bool:
    """Whether a folded key of front matter says who may see a note."""
    said = own.whole(folded)
    return OWN[said] is not None if said else folded in KEYS


def _key_mark(key: str, properties: Properties, own: OwnMarks) -> Mark:
    folded = fold(key)
    found = listed(properties.texts(folded)) if is_key(folded, own) else []
    if not found:
        return UNMARKED
    audience = _audience(folded, found, own)
    return UNMARKED if audience is None else Mark(f"{key}: {', '.join(found)}", audience)


def _audience(key: str, found: list[str], own: OwnMarks) -> Audience | None:
    value, listed = fold(found[0]), own.whole(key)
    if key in _VISIBILITY and not listed:
        return None if value in UNDECIDED else people_or_all(found, own)
    if value not in _YES | _NO:
        return _word(value, own)
    opens = listed == "players" if listed else key in _PUBLIC
    if (value in _YES) != opens:
        return DM
    # "secret: false" opens nothing: it only says that the note is no secret by itself
    return PLAYERS if opens else None


def _word(text: str, own: OwnMarks) -> Audience | None:
    listed = own.whole(fold(text))
    return OWN[listed] if listed else WORDS.get(fold(text))


def people_or_all(found: list[str], own: OwnMarks = BUILT_IN) -> Audience:
    """ "dm", "players", or the people of a list; the narrower if it has words and people."""
    said = {who for text in found if (who := _word(text, own)) is not None}
    people = tuple(dict.fromkeys(text.strip("[]") for text in found if _word(text, own) is None))
    if people:
        return people
    return PLAYERS if PLAYERS in said else DM


def _reach(audience: Audience | None) -> int:
    """How many may see it, roughly: nobody, some, all."""
    return {DM: 0, PLAYERS: 2}.get(audience, 1) if isinstance(audience, str) else 1
