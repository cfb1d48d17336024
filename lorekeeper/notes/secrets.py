"""Marks by which game masters say who may see something: in headings, callouts, comments, file names and front matter."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.folding import fold
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
        text: as written; "" where it opens something to all players.
        audience: who may see it, None where nothing was said.
    """

    text: str = ""
    audience: Audience | None = None


UNMARKED = Mark()


def narrowest(marks: Iterable[Mark]) -> Mark:
    """The mark that lets the fewest see something, the first of several; `UNMARKED` without any."""
    said = (mark for mark in marks if mark.audience is not None)
    return min(said, key=lambda mark: _reach(mark.audience), default=UNMARKED)


def _mark(text: str, audience: Audience) -> Mark:
    return Mark("" if audience == PLAYERS else text, audience)


@functools.lru_cache(maxsize=4096)
def heading_mark(heading: str) -> Mark:
    """What a heading says of the text below it: "Secrets (GM only)", "Public Knowledge"."""
    for aside in _ASIDE.findall(heading):
        if (audience := WORDS.get(fold(aside))) is not None and fold(aside) not in ("all", "none", "true", "party"):
            return _mark(heading, audience)
    forms = {fold(heading), fold(_ASIDE.sub(" ", heading))}
    said = (who for pattern, who in HEADINGS if any(pattern.search(form) for form in forms))
    return next((_mark(heading, who) for who in said), UNMARKED)


def key_mark(key: str) -> Mark:
    """What the key of a fact says of its value; "GM" alone introduces a person."""
    return UNMARKED if fold(key) in ("gm", "dm") else heading_mark(key)


def callout_mark(word: str) -> Mark:
    """What the word of a callout says of its content: "dm", "gm-only"."""
    audience = WORDS.get(fold(word))
    return UNMARKED if audience is None else _mark(f"> [!{word}]", audience)


def path_mark(path: str) -> Mark:
    """What the names of a note's file and folders say; the file's own comes first."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0] or file
    if brief := _BRIEF.fullmatch(stem):
        return Mark(file, _reader_of(brief[1]))
    for part in (stem, *reversed(folders)):
        folded = fold(part).lstrip("0123456789 ")
        for pattern, audience in FILES:
            if pattern.search(folded):
                return _mark(file if part is stem else f"{part}/", audience)
    return UNMARKED


def _reader_of(name: str) -> Audience:
    """The person for whom a brief is, the game master if its name names nobody."""
    words = [word for word in re.split(r"[\s_-]+", name) if word]
    if not words or len(words) > 4 or any(word.casefold() in _NOBODY or not word.isalpha() for word in words):
        return DM
    return (" ".join(word[0].upper() + word[1:] for word in words),)


def property_mark(properties: Properties) -> Mark:
    """What front matter says of the whole note; where several keys disagree, the narrowest."""
    return narrowest(_key_mark(key, properties) for key in properties.values)


def _key_mark(key: str, properties: Properties) -> Mark:
    folded = fold(key)
    found = listed(properties.texts(folded)) if folded in KEYS else []
    if not found:
        return UNMARKED
    audience = _audience(folded, found)
    return UNMARKED if audience is None else _mark(f"{key}: {', '.join(found)}", audience)


def _audience(key: str, found: list[str]) -> Audience | None:
    value = fold(found[0])
    if key in _VISIBILITY:
        return None if value in UNDECIDED else people_or_all(found)
    if value not in _YES | _NO:
        return WORDS.get(value)
    if (value in _YES) != (key in _PUBLIC):
        return DM
    # "secret: false" opens nothing: it only says that the note is no secret by itself
    return PLAYERS if key in _PUBLIC else None


def people_or_all(found: list[str]) -> Audience:
    """ "dm", "players", or the people of a list; the narrower if it has words and people."""
    said = {who for text in found if isinstance(who := WORDS.get(fold(text)), str)}
    people = tuple(dict.fromkeys(text.strip("[]") for text in found if fold(text) not in WORDS))
    if people:
        return people
    return PLAYERS if PLAYERS in said else DM


def _reach(audience: Audience | None) -> int:
    """How many may see it, roughly: nobody, some, all."""
    return {DM: 0, PLAYERS: 2}.get(audience, 1) if isinstance(audience, str) else 1
