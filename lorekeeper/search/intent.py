"""What a question states about what it asks for: the type of entry, by a noun ("a spell to fly"), and conditions in words: "immune
to poison and able to fly" is ``immune:poison speed_fly>0``.

A table per entity type: a way of saying it, and the test that it stands for in the grammar of ``where``. Only plain
statements are read; everything else is left to the search by meaning and keywords.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lorekeeper.terms import ABILITIES, CONDITIONS, CREATURE_TYPES, DAMAGE_TYPES, PHYSICAL, SCHOOLS, SENSES

OTHERS = 0.7
"""What entries of other types score beside those of the one that every wording asks for: 0.6 to 0.8 are alike. It is a preference
and no filter, and asks for no session either. Asked of all types, nDCG@10 is 0.713 instead of 0.709; few questions have a noun."""

NOUNS = {
    "spells": "spells?|cantrips?",
    "creatures": "monsters?|creatures?|beasts?|undead|dragons?|demons?|devils?|fiends?",
    "equipment": "items?|weapons?|armou?rs?|potions?|rings?|wands?|staffs?|staves|scrolls?|poisons?|gear|tools?",
    "character_options": "feats?|backgrounds?|(?:sub)?class(?:es)?|species|races?",
    "rules": "conditions?",
}
"""What entries of each type are called."""

_OPENING = (
    r"(?:(?:what|which|what['’]?s|is|are|there|do|we|have|find|show|give|me|us|i|you|need|want|looking|look|search|for|an?|any"
    r"|some|the|good|best|low|high|level|cheap|\d+(?:st|nd|rd|th)?|cr|of)\s+)*"
)
_QUALITIES = r"(?:(?!(?:an?|the|of|my|your|his|her|their|some|how|why)\b)[\w'’-]+\s+){0,2}?"
"""Up to two words before the noun: "tiny flying creature that". Behind an article it would be an object: "shrink a creature"."""

_WENT_ON = (
    r"(?=\s+(?:to|that|which|who|whose|for|with|of|when|where|from|against|used|letting|lets?|an?|i|we|you|my|under|immune"
    r"|resistant|can|could|cannot|has|have|do|does|is|are|makes?|gives?|deals?|turns?|regenerates?|heals?)\b|\s*[?.!]*$)"
)
_ASKING = re.compile(
    "|".join(rf"{_OPENING}{_QUALITIES}(?P<{name}>{nouns}){_WENT_ON}" for name, nouns in NOUNS.items()), re.IGNORECASE
)

_DEFINITION = re.compile(r"\s*what(?:['’]?s| is| are)\s+(?:an?\s+|the\s+)?[\w'’-]+\s*[?.!]*\s*", re.IGNORECASE)

MAX_NOUN_CHARS = 300
"""Longest wording that is looked at for a noun, in characters."""

_PROPER_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]{2,}")


@dataclass(frozen=True)
class AskedType:
    """A type that is preferred.

    Attributes:
        name: the type.
        others: what entries of other types score, as a share.
        of_someone: whether the question has a proper name: "the ring that Seraphina gave us" may be about the campaign.
    """

    name: str
    others: float
    of_someone: bool = False

    def weight(self, entity_type: str) -> float:
        """What entries of a type score, as a share."""
        return 1.0 if entity_type == self.name else self.others


def asked_type(types: Sequence[str], wordings: Sequence[str]) -> AskedType | None:
    """The type that a query over several types asks for: the only one that its wordings name; the more do, the more it counts."""
    named = [_named(wording) for wording in wordings] if len(types) > 1 else []
    found = set(filter(None, named))
    name = next(iter(found), "")
    if name not in types or len(found) > 1:
        return None
    share = sum(each is not None for each in named) / len(named)
    return AskedType(name, 1.0 - (1.0 - OTHERS) * share, any(map(_PROPER_NAME.search, wordings)))


def _named(wording: str) -> str | None:
    if len(wording) > MAX_NOUN_CHARS or is_definition(wording):
        return None
    match = _ASKING.match(wording.strip())
    return match.lastgroup if match else None


def is_definition(text: str) -> bool:
    """Whether a question asks what a word means, as "what is a cantrip?" does, and not for entries that are called so."""
    return _DEFINITION.fullmatch(text) is not None


DAMAGE = "|".join(DAMAGE_TYPES)

INFLICTS = {
    "blind": "blinded",
    "charm": "charmed",
    "deafen": "deafened",
    "frighten": "frightened",
    "grapple": "grappled",
    "incapacitate": "incapacitated",
    "paralyze": "paralyzed",
    "paralyse": "paralyzed",
    "petrify": "petrified",
    "restrain": "restrained",
    "stun": "stunned",
}
"""The condition that each verb inflicts."""

CONDITION = "|".join(CONDITIONS)

ABILITY = "|".join(ABILITIES)

LANGUAGE = (
    "abyssal|aquan|auran|celestial|common|deep speech|draconic|druidic|dwarvish|elvish|giant|gnomish|goblin|halfling|"
    "ignan|infernal|orc|primordial|sylvan|terran|undercommon"
)

SENSE = "|".join(SENSES)

CLASS = "artificer|bard|cleric|druid|paladin|ranger|sorcerer|warlock|wizard"

SCHOOL = "|".join(SCHOOLS)

KIND = "|".join(CREATURE_TYPES)

MOVES = {"fly": "fl(?:y|ies)", "swim": "swims?", "burrow": "burrows?", "climb": "climbs?"}
"""The forms of the verb of each way of moving."""

NUMBER = r"(?P<n>\d{1,6}(?:,\d{3})?)"

RATING = r"\d{1,2}(?:/\d)?"

CR = r"(?:cr|challenge(?: rating)?)"

SIGNS = {
    ">": "more than|longer than|greater than|higher than|farther than|further than|above|over|beyond|exceeding",
    "<": "less than|cheaper than|lower than|shorter than|below|under",
    ">=": "at least|no less than",
    "<=": "at most|up to|no more than|not over",
}
"""What people say for each comparison."""

MINUTES = {"minute": 1.0, "hour": 60.0, "day": 1440.0}

MAX_CHARS = 600
"""Longest question that is read, in characters: one that is longer tells a story."""


_OF_CREATURES = re.compile(rf"\b(?:encounters?|monsters?|creatures?|{CR} \d+)\b", re.IGNORECASE)


_NEGATION = re.compile(
    r"(?:\b(?:no|not|non|cannot|never|without|lack(?:s|ing)?|neither|nor|except|other than|rather than|instead of)|n't)[ -]"
    r"(?:(?:an?|any|the|be|being|cast|have|having|has|need|use) )*$"
)
_OR_BEFORE = re.compile(r"\bor $")
_OR_AFTER = re.compile(
    r",? or (?!better|more|less|higher|lower|greater|longer|farther|further|above|below|over|under|so\b)"
)


@dataclass(frozen=True)
class Pattern:
    """One way of stating a condition.

    Attributes:
        regex: finds it in a text in lower case.
        tests: the tests that a match stands for.
    """

    regex: re.Pattern[str]
    tests: Callable[[re.Match[str]], list[str]]


def stated_conditions(entity_type: str, text: str) -> str:
    """What a question says about the entries of a type, as a text for the filter ``where``; "" if nothing is understood.

    Args:
        entity_type: the type that is searched.
        text: the question.
    """
    if len(text) > MAX_CHARS or is_definition(text):
        return ""
    question = " ".join(text.lower().replace("’", "'").split())
    tests = [
        test
        for pattern in PATTERNS.get(entity_type, ())
        for match in pattern.regex.finditer(question)
        if _is_required(question, match)
        for test in pattern.tests(match)
    ]
    return " ".join(dict.fromkeys(tests))


def _is_required(question: str, match: re.Match[str]) -> bool:
    """Whether the question says it of all that it asks for: neither with a negation nor as one of several choices."""
    before, after = question[: match.start()], question[match.end() :]
    return not (_NEGATION.search(before) or _OR_BEFORE.search(before) or _OR_AFTER.match(after))


def type_asked_for(types: Sequence[str], text: str) -> str | None:
    """The one type whose entries a question is about; None if it may be about several."""
    if len(types) == 1:
        return types[0]
    if "creatures" in types and _OF_CREATURES.search(text):
        return "creatures"
    asked = asked_type(types, [text])
    return asked.name if asked and asked.name in ASKED else None


# --- patterns ----------------------------------------------------------------------------------------------------------


def _says(regex: str, *tests: str) -> Pattern:
    """Tests with the groups of the regex in braces."""
    return Pattern(_whole_words(regex), lambda match: [test.format_map(_groups(match)) for test in tests])


def _lists(regex: str, field: str, words: str) -> Pattern:
    """``LIST`` in the regex stands for a list of words, each of which the field has to contain, or one of them if it says "or"."""
    listed = rf"(?P<list>(?:{words})(?:(?:,? (?:and|or) |, )(?:{words}))*)"

    def tests(match: re.Match[str]) -> list[str]:
        named = [_quoted(word) for word in re.findall(rf"\b(?:{words})\b", match["list"])]
        return [f"{field}:{','.join(named)}"] if " or " in match["list"] else [f"{field}:{word}" for word in named]

    return Pattern(_whole_words(regex.replace("LIST", listed)), tests)


def _compares(regex: str, field: str) -> Iterator[Pattern]:
    """``THAN`` in the regex stands for every way of comparing; its group ``n`` is the number."""
    for sign, words in SIGNS.items():
        yield _says(regex.replace("THAN", f"(?:{words})"), f"{field}{sign}{{n}}")


def _nonmagical(regex: str, field: str) -> Pattern:
    """A defence against nonmagical attacks, of the kinds of damage that follow."""
    kinds = "|".join(PHYSICAL)
    listed = rf"(?P<list>(?:(?:,? and |,? or |, | )(?:{kinds}))*)"

    def tests(match: re.Match[str]) -> list[str]:
        named = re.findall(kinds, match["list"])
        return [f'{field}:"nonmagical {kind}"' for kind in named] or [f"{field}:nonmagical"]

    return Pattern(_whole_words(rf"{regex} (?:damage from )?non-?magical{listed}"), tests)


def _rated() -> Pattern:
    """One challenge rating, of which nothing says that others will do."""
    than = "|".join([*SIGNS.values(), "about", "around", "between", "roughly"])
    others = r"(?: ?(?:to|or|and|-|–) ?\w+|\+)"
    regex = rf"(?P<than>(?:{than}) )?{CR} (?:of )?(?P<n>{RATING})(?P<others>{others})?"
    return Pattern(_whole_words(regex), lambda match: [] if match["than"] or match["others"] else [f"cr:{match['n']}"])


def _inflicts() -> Pattern:
    """ "that can stun" and the like."""
    verbs = "|".join(INFLICTS)
    regex = rf"(?:that|which|who|can|could) (?:can )?(?P<verb>{verbs})(?:s|es)?"
    return Pattern(_whole_words(regex), lambda match: [f"conditions:{INFLICTS[match['verb']]}"])


def _lasts() -> Pattern:
    """A duration, in minutes."""
    regex = rf"(?:lasts?|lasting|duration of) (?:for )?(?P<n>\d{{1,3}}|an?|one) (?P<unit>{'|'.join(MINUTES)})s?"

    def tests(match: re.Match[str]) -> list[str]:
        number = int(match["n"]) if match["n"].isdigit() else 1
        return [f"duration:{number * MINUTES[match['unit']]:g}"]

    return Pattern(_whole_words(regex), tests)


def _whole_words(regex: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9])(?:{regex})(?![a-z0-9])")


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {name: _quoted(value) if value else "" for name, value in match.groupdict().items()}


def _quoted(value: str) -> str:
    if value[0].isdigit():
        return value.replace(",", "")
    return f'"{value}"' if " " in value else value


def _movement() -> Iterator[Pattern]:
    for verb, forms in MOVES.items():
        gerund = f"{verb}(?:m?ing)?"
        yield _says(rf"(?<!no )(?<!without )(?<!without a )(?:{gerund}) speed(?: of)? {NUMBER}", f"speed_{verb}>={{n}}")
        yield _says(rf"(?<!no )(?<!without )(?<!without a )(?:{gerund}) speed(?! of)(?! \d)", f"speed_{verb}>0")
        yield _says(rf"(?:can|able to|that|which|who) (?:also )?(?:{forms})", f"speed_{verb}>0")


CREATURES = (
    _says(rf"(?P<kind>{KIND}) (?:encounters?|monsters?|creatures?)", "type:{kind}"),
    _nonmagical(r"immun(?:e|ity) (?:to|against)", "immune"),
    _nonmagical(r"resist(?:s|ant|ance)?(?: (?:to|against))?", "resistant"),
    _lists(r"immun(?:e|ity|ities) (?:to|against) (?:being |becoming )?LIST", "immune", f"{DAMAGE}|{CONDITION}"),
    _lists(r"(?:can ?not|can't|can’t) be (?:magically )?LIST", "immune", CONDITION),
    _lists(r"resist(?:s|ant|ance|ances)? (?:(?:to|against) )?LIST", "resistant", DAMAGE),
    _lists(r"vulnerab(?:le|ility|ilities) to LIST", "vulnerable", DAMAGE),
    *_movement(),
    _lists(r"(?:speak|speaks|speaking|understand|understands) LIST", "languages", LANGUAGE),
    _says(r"telepath(?:y|ic|ically)", "languages:telepathy"),
    _says(rf"(?P<sense>{SENSE}) (?:of )?{NUMBER}", "{sense}>={n}"),
    _says(rf"(?P<sense>{SENSE})", "senses:{sense}"),
    _says(r"legendary actions?", "legendary"),
    _says(r"lair actions?", "lair"),
    _lists(r"(?:deal|deals|dealing) LIST(?: damage)", "damage_types", DAMAGE),
    _says(rf"(?P<damage>{DAMAGE}) breath", "damage_types:{damage}"),
    _inflicts(),
    _says(rf"{CR} (?P<low>{RATING}) ?(?:to|-|–) ?(?P<high>{RATING})", "cr:{low}..{high}"),
    _says(rf"{CR} (?P<n>{RATING}) (?:or|and) (?:less|lower|below|under)", "cr<={n}"),
    _says(rf"{CR} (?P<n>{RATING}) (?:or|and) (?:more|higher|above|over)", "cr>={n}"),
    _says(rf"{CR} (?P<n>{RATING})\+", "cr>={n}"),
    _says(rf"{CR} {RATING} (?P<kind>{KIND})s?", "type:{kind}"),
    _rated(),
    *_compares(rf"THAN {CR} (?P<n>{RATING})", "cr"),
    *_compares(rf"{CR} THAN (?P<n>{RATING})", "cr"),
    *_compares(rf"(?:ac|armou?r class) (?:of )?THAN {NUMBER}", "ac"),
)

_QUALIFIED = (
    rf"(?:(?:{CLASS}|{SCHOOL}|ritual|concentration|bonus action|reaction) )*"
    r"(?:(?!(?:an?|and|casts?|casting|has|have|her|his|knows?|learns?|of|or|prepares?|that|the|their|throws?|uses?|using|with)\b)"
    r"[a-z]+ )?"
)
"""What else may be said of spells before the word, and one word more, as in "cleric healing spells"."""

_ALONE = r"(?<!and )(?<!, )(?<!/)"
"""Before a value of which an entry has one only, or is asked for by one: "1st and 2nd level spells" are not all of the 2nd."""

_LEVEL = r"(?:the )?(?:level (?P<n>[1-9])|(?P<m>[1-9])(?:st|nd|rd|th)[- ]level)"

_CAST = r"(?:cantrip|spell)s?(?! (?:slots?|attacks?|lists?|points?|books?|saves?|scrolls?|components?))"


def _levels() -> Iterator[Pattern]:
    """Levels of spells up to one, or from one on."""
    for sign, words in SIGNS.items():
        yield _says(rf"spells? (?:of )?(?:{words}) {_LEVEL}", f"level{sign}{{n}}{{m}}")
    for sign, words in {"<=": "less|lower|below|under", ">=": "more|higher|above|over"}.items():
        yield _says(rf"spells? of {_LEVEL} (?:or|and) (?:{words})", f"level{sign}{{n}}{{m}}")
        yield _says(rf"{_LEVEL} (?:or|and) (?:{words}) {_QUALIFIED}spells?", f"level{sign}{{n}}{{m}}")


SPELLS = (
    _says(r"(?:no|without|lacks?)(?: an?| any)? (?P<part>verbal|somatic|material) components?", "-components:{part}"),
    _says(r"(?:no|without) concentration|not? (?:need|require) concentration", "concentration:false"),
    _says(r"(?:no|without) components", "-components:verbal,somatic,material"),
    *_compares(rf"range (?:is |of )?THAN {NUMBER} ?(?:feet|foot|ft)", "range"),
    _lasts(),
    _lists(r"(?:deal|deals|dealing) LIST(?: damage)", "damage_types", DAMAGE),
    _says(rf"(?P<save>{ABILITY}) (?:save|saves|saving throw|saving throws)", "saves:{save}"),
    _says(r"as a ritual|ritual spells?", "ritual"),
    _says(r"cantrips?", "level:0"),
    _says(rf"{_ALONE}{_LEVEL} {_QUALIFIED}spells?", "level:{n}{m}"),
    _says(rf"spells? of {_LEVEL}(?! (?:or|and) )", "level:{n}{m}"),
    *_levels(),
    _says(rf"{_ALONE}(?P<school>{SCHOOL}) {_QUALIFIED}{_CAST}", "school:{school}"),
    _says(rf"{_ALONE}(?P<class>{CLASS})(?:'?s)? {_QUALIFIED}{_CAST}", "classes:{class}"),
    _says(rf"(?:cantrip|spell)s? (?:for|of) (?:an? |my |our |the )?(?P<class>{CLASS})s?", "classes:{class}"),
    _says(rf"(?:that|which) (?:an? |my |our |the )?(?P<class>{CLASS})s? (?:can|could) cast", "classes:{class}"),
    _says(rf"(?P<time>bonus action|reaction) {_QUALIFIED}{_CAST}", "casting_time:{time}"),
    _says(r"concentration spells?|spells? (?:that|which) (?:need|require)s? concentration", "concentration"),
    *_compares(rf"diamonds? worth THAN {NUMBER}", "material_cost"),
)

EQUIPMENT = (
    *_compares(rf"(?:costs?|costing|price|priced|worth)?,? ?THAN {NUMBER} ?(?:gp|gold)", "cost"),
    _says(r"(?:no|without|not? (?:need|needing|require|requiring)) attunement", "requires_attunement:false"),
    _says(r"cursed", "cursed"),
    _lists(r"(?:deal|deals|dealing) LIST(?: damage)", "damage_types", DAMAGE),
    _says(r"\+(?P<n>[1-3]) (?:weapon|armou?r|shield|sword|bow|dagger|axe)s?", "bonus:{n}"),
)

ASKED = frozenset({"creatures", "spells"})
"""The types that a noun is enough to ask for: what people say about "weapons" and "items" does not say of which kind."""

PATTERNS = {"creatures": CREATURES, "spells": SPELLS, "equipment": EQUIPMENT}
"""The patterns of each entity type."""
