"""Questions about the players' characters: "who speaks Elvish", "which of us can see in the dark", "who is hurt".

What such a question asks for stands on their sheets: a value that one of them has ("Elvish", "potion of healing", "poisoned")
beside a word that says of what ("speaks", "carries", "is"), or a number that has a name ("passive Perception", "hurt"). The
characters that have it come first, and a note says which filter finds them. Nothing is left out for it: other people of a campaign
speak Elvish too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lorekeeper.entities import Entity
from lorekeeper.folding import fold, fold_person
from lorekeeper.search.query_syntax import written
from lorekeeper.terms import ABILITIES, MAX_LEVEL, PASSIVES, SENSES
from lorekeeper.text.keywords import content_words
from lorekeeper.text.stems import stems

CHARACTERS, ITEMS = "characters", "items"

MAX_CHARACTERS = 100
"""Most characters of a library whose sheets are looked at: more are no party."""

MAX_CHARS = 300
"""Longest question, in characters: one that is longer tells a story."""

US = re.compile(
    r"\b(?:of (?:us|them)|(?:at|of|in|from) (?:the|our) table|(?:the|our|my) (?:party|group|characters?|players?|pcs|heroes)|"
    r"party members?)\b",
    re.IGNORECASE,
)
"""What means the players' characters, and nobody else of a campaign."""

PEOPLE = re.compile(
    rf"{US.pattern}|^\W*(?:who(?:'s|se)?|wer|qui|qui[eé]n(?:es)?|chi|quem|kto)\b|"
    r"^\W*(?:which (?:character|pc|player|hero|one)|(?:does|do|can|could|is|are|has|have) (?:any|some|every)(?:one|body))|"
    r"^\W*(?:what|which|how (?:much|many)|do|can|could|are|have|is)\b.*\b(?:we|us|our|every(?:one|body))\b",
    re.IGNORECASE,
)
"""What a question has whose answer is persons, or the players' characters together."""

CUES: Mapping[str, str] = {
    "languages": "speaks? understands? languages? reads? talks? fluent",
    "conditions": "is are suffers? suffering still",
    "attuned": "attuned attunements?",
    "items": "carry carries carrying has have owns? holds? holding got wears? wearing brings? brought",
    "features": "has have gets? got features? feats? uses? with",
    "prepared": "prepared prepares? ready",
    "known": "can could casts? casting knows? learned spells? cantrips? spellbook has have",
    "skills": "proficient proficiency trained skills? skilled expertise good best",
    "resistant": "resists? resistant resistance",
    "immune": "immune immunity",
    "classes": "is are plays? playing class levels? list all any which",
    "subclasses": "is are plays? playing subclass",
    "race": "is are plays? playing race species",
    "background": "is was were background",
}
"""For fields with words as values: what says in a question that it is about them."""

NUMBERS: Mapping[str, str] = {
    "hit_points_lost>0": r"hurt|wounded|injured|bloodied|damaged|lost hit points|(?:needs?|need of) (?:healing|a heal)",
    "darkvision>0": r"darkvision|see (?:at night|in (?:the |total )?dark(?:ness)?)|night ?vision|without (?:a )?(?:light|torch)",
    **{f"{sense}>0": sense for sense in SENSES if sense != "darkvision"},
    "speed_fly>0": r"fly|flies|flying speed",
    "speed_swim>0": r"swims?|swim(?:ming)? speed",
    "speed_climb>0": r"climbs?|climb(?:ing)? speed",
    "speed_burrow>0": r"burrows?",
}
"""Tests of numbers, and what people say for them."""

MEASURES: Mapping[str, str] = {
    **{f"passive_{skill}": rf"passive {skill}" for skill in PASSIVES},
    **{f"save_{ability}": rf"{ability[:3]}\w* sav(?:es?|ing)\b" for ability in ABILITIES},
    "armor_class": r"ac|armou?r class",
    "spell_dc": r"(?:spell |save )+dc",
    "hit_points": r"hit points|hp|health",
    "gold": r"gold|money|coins?",
    "level": r"level",
    "darkvision": "darkvision",
    "speed_walk": "speed",
}
"""Numbers by which characters are compared, and what they are called."""

MOST = re.compile(r"\b(?:highest|best|most(?! likely)|greatest|largest|biggest|strongest|longest)\b")
LEAST = re.compile(r"\b(?:fails?|lowest|worst|least|fewest|smallest|weakest|shortest)\b")

OURS = re.compile(
    r"^\W*(?:how (?:much|many)|what(?: is| are|'s| level))\b.*\b(?:we|us|our|party|group|everyone|everybody)\b"
)

MORE = {"slowest": "speed_walk asc", "fastest": "speed_walk desc", "richest": "gold desc", "poorest": "gold asc"}
"""Words that say both a number and an end of it."""

_OF_A_SHEET = (
    "cast casts casting prepare prepares prepared spell spells slot slots cantrip cantrips ac armor armour hp hit speed save saves",
    "saving passive level levels class subclass language languages speak speaks carry carries attuned gold skill skills bonus",
    "modifier dc darkvision sheet stats proficient feature features hurt gain gained change changed new levelled leveled learned",
)
OF_A_SHEET = re.compile(rf"\b(?:{'|'.join(' '.join(_OF_A_SHEET).split())})\b")
"""Words of questions about one character that a sheet answers."""


@dataclass(frozen=True)
class Party:
    """What a question asks of the players' characters.

    Attributes:
        found: identities of those that it means, the first first.
        asks: the call that finds them alone, or compares what a character was and is; "" for a character by name.
        fields: names of the fields that it is about.
        only: whether it is about nobody else.
    """

    found: Sequence[tuple[str, str]]
    asks: str = ""
    fields: Sequence[str] = ()
    only: bool = False

    @property
    def note(self) -> str:
        """How to ask for them alone."""
        return f"Of the players' characters: {self.asks}." if self.asks else ""


def current(characters: Iterable[Entity]) -> list[Entity]:
    """The characters by name; of one that is there twice, as with last month's sheet, the newest."""
    found = {fold_person(each.name): each for each in sorted(characters, key=age)}
    return [found[name] for name in sorted(found)]


def age(character: Entity) -> tuple[bool, int, str, str]:
    """What orders the copies of one character, the newest last: a sheet with ability scores stands for notes without any.

    Of two sheets, a higher level is newer, then a later change.
    """
    is_sheet = bool(character.data.get("ability_scores"))
    return is_sheet, level_of(character), str(character.data.get("modified") or ""), character.uri


def level_of(character: Entity) -> int:
    """The level of a character, 0 if it is unknown or none that the rules have."""
    level = character.fields.get("level")
    return level if isinstance(level, int) and 1 <= level <= MAX_LEVEL else 0


def may_ask(types: Sequence[str], text: str, names: Sequence[str]) -> bool:
    """Whether a question may be about characters: of persons, of no other type, or of one of them.

    Args:
        types: the types that are searched.
        text: the question.
        names: of all characters.
    """
    if CHARACTERS not in types or not 0 < len(names) <= MAX_CHARACTERS or len(text) > MAX_CHARS:
        return False
    return len(types) == 1 or bool(PEOPLE.search(text)) or any(_is_named(name, text) for name in names)


def asked_of(characters: Sequence[Entity], text: str, types: Sequence[str]) -> Party | None:
    """What a question asks of characters; None if no sheet answers it."""
    question = " ".join(text.casefold().replace("’", "'").split())
    named = [each for each in characters if _is_named(each.name, text)]
    if named and (OF_A_SHEET.search(question) or any(_tests_of(each, question) for each in named)):
        versions = [each for each in named if fold(each.name) == fold(named[0].name)]
        return Party(
            [each.identity for each in sorted(named, key=age, reverse=True)],
            f"compare_entries with name='{named[0].name}'" if versions[1:] else "",
        )
    characters = current(characters)
    if len(types) > 1 and not PEOPLE.search(text):
        return None
    only = bool(US.search(question))
    if order := _order(question):
        field, _, direction = order.partition(" ")
        valued = [(value, each) for each in characters if isinstance(value := each.fields.get(field), (int, float))]
        valued.sort(key=lambda pair: pair[0], reverse=direction == "desc")
        return (
            Party([each.identity for _, each in valued], f"lookup_character with order='{order}'", [field], only)
            if valued
            else None
        )
    things = _things(characters, stems(fold(question)))
    meeting = {each.identity: _tests_of(each, question, things) for each in characters}
    tests = list(dict.fromkeys(test for own in meeting.values() for test in own))
    chosen = [test for test in tests if not any(test != other and _within(test, other) for other in tests)]
    found = [identity for identity, own in meeting.items() if chosen and set(chosen) <= own.keys()]
    if not found:
        return None
    fields = [field for own in meeting.values() for test, field in own.items() if test in chosen]
    return Party(found, f"lookup_character with where='{' '.join(chosen)}'", list(dict.fromkeys(fields)), only)


def _order(question: str) -> str:
    """The order that a question asks for with a superlative, or by asking how much all have; "" for none."""
    for word, order in MORE.items():
        if re.search(rf"\b{word}\b", question):
            return order
    direction = "desc" if MOST.search(question) or OURS.search(question) else ""
    direction = "asc" if LEAST.search(question) else direction
    field = next((name for name, said in MEASURES.items() if re.search(rf"\b(?:{said})\b", question)), "")
    return f"{field} {direction}" if direction and field else ""


def _things(characters: Iterable[Entity], words: frozenset[str]) -> dict[str, str]:
    """For items that a question names in other words, the test that finds all that are called so: "rope" of "Rope, silk"."""
    named: dict[frozenset[str], set[str]] = {}
    for each in characters:
        items = each.data.get(ITEMS)
        for item in map(str, items if isinstance(items, list) else ()):
            own = stems(" ".join(content_words(fold(re.split(r"[,(]", item, maxsplit=1)[0]))))
            if own and own <= words:
                named.setdefault(own, set()).add(fold(item))
    return {item: written(ITEMS, sorted(items)) for items in named.values() for item in items}


def _tests_of(character: Entity, question: str, things: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The tests in a question that a character meets, each with its field; ``things`` as `_things` gives them."""
    found = {}
    for test, said in NUMBERS.items():
        field = test.partition(">")[0]
        value = character.fields.get(field)
        if isinstance(value, (int, float)) and value > 0 and re.search(rf"\b(?:{said})\b", question):
            found[test] = field
    folded = f" {fold(question)} "
    for field, value in _values(character, question):
        if field == ITEMS and value in things:
            found[things[value]] = field
        elif any(f" {fold(value)}{ending} " in folded for ending in ("", "s")):
            found[written(field, [fold(value)])] = field
    return found


def _values(character: Entity, question: str) -> Iterator[tuple[str, str]]:
    """The values of the fields that words of a question are about."""
    for field, words in CUES.items():
        if not re.search(rf"\b(?:{words.replace(' ', '|')})\b", question):
            continue
        value = character.fields.get(field)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str) and each:
                yield field, each


def _within(test: str, other: str) -> bool:
    """Whether a test says no more than another one: the same in another field, or a part of the value."""
    (field, _, value), (wider, _, longer) = test.partition(":"), other.partition(":")
    if not value or not longer:
        return False
    if value == longer:
        return list(CUES).index(field) > list(CUES).index(wider)
    return f" {value.strip(QUOTE)} " in f" {longer.strip(QUOTE)} "


QUOTE = '"'

TITLES = frozenset(
    "the sir ser dame lord lady captain brother sister father mother master mistress doctor old young saint".split()
)


def _is_named(name: str, text: str) -> bool:
    """Whether a text has the first word of a name, with a capital letter; titles are no such words."""
    words = [word for word in re.findall(r"[^\W\d_]+", name) if word.casefold() not in TITLES]
    first = words[0] if words and len(words[0]) > 2 else ""
    found = re.search(rf"\b{re.escape(first)}\b", text, re.IGNORECASE) if first else None
    return found is not None and found[0][0].isupper()
