"""What the texts of a stat block do to others: damage dealt, conditions inflicted, saving throws forced.

The rules of the games word these in few ways, which the patterns below name. A text is read sentence by sentence; what a
sentence says of the creature itself ("the troll takes 10 fire damage if ...") is not an effect on others, and a state that it
only asks for ("while the target is grappled", "a charmed creature") is not a condition inflicted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from lorekeeper.folding import fold
from lorekeeper.records import Feature
from lorekeeper.terms import ABILITIES, ABILITY_OF, CONDITIONS, DAMAGE_TYPES

IsOwn = Callable[[str], bool]
"""Whether a text ends in the creature itself as a subject."""

_OWN_HARM = re.compile(
    r"weakness|suscept|hypersens|vulnerab|harmed by|aversion|absorption|undead fortitude|fortitude$|rejuvenat|\bstake|resistan"
    r"|resilience|immun|incorporeal movement|malfunction|misty escape|wolfsbane|tippable|catching$"
)
"""Names, in lower case, of features that say what happens to the creature itself."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")

_BEFORE_OBJECT = frozenset(
    "of by from against with to on at near hits hit touches touch touching see sees grappling toward towards inside into around "
    "within than attacking attacks beside behind under until like as for harm reach reaches targets targeting over".split()
)
"""Words before a name that is not the subject: "each creature within 10 feet of the dragon must ..."."""

_FILLER = r"(?:instead|also|itself|immediately|then|automatically|only)"


def effects(name: str, features: Iterable[Feature]) -> dict[str, list[str] | None]:
    """Damage types, conditions and saves of the features of a creature with that name, None where there are none."""
    found: dict[str, list[str]] = {"damage_types": [], "conditions": [], "saves": []}
    is_own = _own_subject(name)
    for feature in features:
        if _OWN_HARM.search(feature.name.lower()):
            continue
        dealt: list[str] = []
        for sentence in _sentences(feature.text):
            dealt += damage_dealt(sentence, is_own)
            found["conditions"] += conditions_inflicted(sentence, is_own)
            found["saves"] += saves_forced(sentence, is_own)
        found["damage_types"] += dealt or ([] if " damage" in feature.text.lower() else _attack_types(feature))
    return {field: list(dict.fromkeys(values)) or None for field, values in found.items()}


def _attack_types(feature: Feature) -> list[str]:
    """Damage types of the attacks that a source lists apart from the text."""
    types = (damage.type for attack in feature.attacks for damage in (attack.damage, attack.extra_damage))
    return [kind for kind in types if kind in DAMAGE_TYPES]


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text in plain lower case, without apostrophes and emphasis.

    Where Level Up has lost a comma, Open5e's text has two spaces.
    """
    plain = re.sub(r"\b(it|they)[’'](s|re)\b", lambda m: f"{m[1]} is", text.lower().replace("ft.", "ft"))
    plain = re.sub(r"[’'*_]", "", plain)
    plain = re.sub(r"(?<=[\w)])  (?=\w)", ", ", plain)
    return (sentence for sentence in _SENTENCE.split(plain) if sentence)


def _before(sentence: str, match: re.Match[str]) -> str:
    """The words before a match, as many as decide what it means."""
    return sentence[max(match.start() - 200, 0) : match.start()]


def _own_subject(name: str) -> IsOwn:
    """Recognises "the red dragon" and "dragon" at the end of a text as an adult red dragon, unless it is an object there."""
    words = [word for word in fold(name).split() if len(word) > 2 and word not in ("creature", "target", "the", "and")]
    if not words:
        return lambda _: False
    names = "|".join(re.escape(word) for word in words)
    subject = re.compile(rf"(?:\b(\w+),? )?\b(?:(?:the|an?) )?(?:(?:{names})(?: |$)){{1,5}}(?:{_FILLER} ?)?$")

    def is_own(text: str) -> bool:
        match = subject.search(text[-120:])
        return match is not None and match[1] not in _BEFORE_OBJECT

    return is_own


# --- damage ----------------------------------------------------------------------------------------------------------

_TYPE = rf"(?:{'|'.join(DAMAGE_TYPES)})"
_TYPES = rf"({_TYPE}(?:(?:, or |, and |, | or | and |/| plus ){_TYPE}){{0,12}})"

_DEALT = (
    re.compile(rf"\d\)?,? (?:(?:of|points of|extra|additional|ongoing|magical|ranged|melee) )?{_TYPES} damage\b"),
    re.compile(
        r"\b(?:takes?|taking|deals?|dealing|suffers?|inflicts?)(?: an)?(?: \w+)?(?: extra| additional)? "
        rf"{_TYPES} damage (?:equal|from)\b"
    ),
    re.compile(rf"\b(?:extra|additional) {_TYPES} damage\b"),
    re.compile(rf"\dd\d{{1,2}}(?: ?[+-] ?\d{{1,2}})?\)? {_TYPES}\b"),
)
"""Damage with an amount in front of its type, or equal to an amount that follows; "2d6 poison" of terse books."""

_ONE_TYPE = re.compile(_TYPE)
_TAKES = re.compile(r"\b(?:takes?|suffers?)\b[^,;:]{0,40}$")
_NOT_DEALT = re.compile(
    r"\b(?:resistance|resistant|immune|immunity|vulnerab\w+|(?<!cant )regains?|restores?|reduced? by|at least|more than|"
    r"(?:if|when|whenever|unless) (?:it|she|he|they) takes?)\b[^,;:]{0,60}$"
)


def damage_dealt(sentence: str, is_own: IsOwn) -> list[str]:
    """The types of the damage that a sentence deals to others."""
    found: list[str] = []
    for pattern in _DEALT:
        for match in pattern.finditer(sentence):
            before = _before(sentence, match)
            if not (_NOT_DEALT.search(before) or _is_taken(before, is_own)):
                found += _ONE_TYPE.findall(match[1])
    return found


def _is_taken(before: str, is_own: IsOwn) -> bool:
    """Whether the creature itself takes the damage that follows."""
    takes = _TAKES.search(before)
    return takes is not None and is_own(before[: takes.start()])


# --- conditions ------------------------------------------------------------------------------------------------------

_STATE = "|".join(condition for condition in CONDITIONS if condition != "exhaustion")
_JOINT = r"(?:, and |, or |, | and | or )(?:also |is |be |are |falls? |becomes? |knocked )?"
_STATES = rf"((?:{_STATE})(?:(?:, \w+)?{_JOINT}(?:{_STATE})){{0,6}})\b"
_ADVERBS = r"(?:(?:\w+ly|also|both|instead|then|either|now|knocked) ){0,2}"

_INFLICTED = (
    re.compile(
        r"\b(?:is|are|be|becomes?|becoming|being|gets?|falls?|falling|knock(?:s|ed|ing)?|rendered|left|was|were) "
        rf"{_ADVERBS}{_STATES}"
    ),
    re.compile(
        r"\b(?:leav(?:es?|ing)|renders?|rendering|makes|making|knock(?:s|ing)?|pull(?:s|ing)?|drag(?:s|ging)?|holds?|holding) "
        rf"(?:[\w-]+ ){{1,6}}{_STATES}"
    ),
    re.compile(
        r"\b(?:has|have|gains?|gaining|suffers?|receives?|inflicts?|imposes?|giving|with) "
        rf"(?:both )?(?:the )?{_STATES}(?: and [a-z]+)? conditions?"
    ),
    re.compile(rf"(?:\b(?:targets?|creatures?)|:|escape dc \d+\),? and) {_STATES}(?= (?:until|til|for|while)\b)"),
    re.compile(rf"(?:saving throw|\bsaves?|\bdc \d+ [a-z]{{3}})\b[^,.;:]{{0,40}} or {_STATES}"),
)
"""Wordings of "the target is prone", "knocking it prone", "has the Prone condition", "DC 12 Str or prone"."""

_EXHAUSTED = re.compile(
    r"\b(?:gain(?:s|ing)?|suffer(?:s|ing)?|tak(?:es?|ing)|receives?|inflicts?|and|or|has|have) (?:\w+ ){0,3}"
    r"levels? of (?:exhaustion|fatigue)\b|\b(?:gains?|suffers?|has) (?:\w+ ){0,2}exhaustion\b"
)

_ASKED = re.compile(
    r"\b(?:while|if|when|whenever|unless|as long as|until|because|since|though|once|whether)\b([^,:;]{0,90})$"
    r"|\blasts? (?:[\w-]+ ){0,4}until\b.*$"
    r"|(?<!,) \b(?:that|who|which|already|isnt|arent|not|never|no longer|cant|cannot|wouldnt|dont|doesnt|from|instead of)"
    r"(?: (?:already|currently|also|be|also be))? $"
)
"""What stands before a state that is only asked for, or denied; "if the save fails the target" inflicts it."""

_ENDED = re.compile(
    r"\b(?:immune|immunity|advantage|ends|end|ending|remov\w+|cur(?:es?|ing)|avoid|against (?:being|becoming)|resist\w*|reduces?"
    r"|prevents?|restores?)\b"
    r"[^,;:]{0,60}$"
)
"""What stands before a condition that is ended or resisted."""

_MUST = re.compile(r"\b(?:must (?:make|succeed)|makes|succeeds on|fails)\b")


def conditions_inflicted(sentence: str, is_own: IsOwn) -> list[str]:
    """The conditions that a sentence inflicts on others."""
    if any(is_own(_before(sentence, match)) for match in _MUST.finditer(sentence)):
        return []  # the outcome of the creature's own saving throw
    found: list[str] = []
    for pattern in _INFLICTED:
        for match in pattern.finditer(sentence):
            if _inflicts(_before(sentence, match), is_own):
                found += re.findall(_STATE, match[1])
    if any(_inflicts(_before(sentence, match), is_own) for match in _EXHAUSTED.finditer(sentence)):
        found.append("exhaustion")
    return found


def _inflicts(before: str, is_own: IsOwn) -> bool:
    """Whether the words before a state let it come about, for others."""
    asked = _ASKED.search(before)
    if asked and not (asked[1] and "fail" in asked[1]):
        return False
    return not (_ENDED.search(before) or is_own(before))


# --- saving throws ---------------------------------------------------------------------------------------------------

_ABILITY = rf"({'|'.join([*ABILITIES, *ABILITY_OF])})"
_EITHER = rf"{_ABILITY}(?: or {_ABILITY})?"

_FORCED = (
    re.compile(rf"\bdc (?:of )?\d+ {_EITHER}(?: sav| or\b|[:,]|$)"),
    re.compile(rf"\b{_EITHER} (?:saving throws?|saves?)(?: \(dc|,? with a dc|:? dc|:? \d| against a dc)"),
    re.compile(
        r"\b(?:makes?|making|succeeds? (?:on|at)|fails?|failing|attempts?|repeats?|requires?|forces?) "
        rf"(?:(?:an?|its|their|the|another) )?(?:successful )?{_EITHER} (?:saving throws?|saves?)\b"
    ),
    re.compile(rf"^{_EITHER} saving throw or\b"),
)
"""Wordings of "a DC 15 Dexterity saving throw", "Dexterity Saving Throw: DC 15", "makes a Wisdom saving throw"."""

_NOT_FORCED = re.compile(r"\b(?:advantage on|bonus (?:to|on)|proficien\w+ (?:in|with)|concentration)\b[^.;:]{0,60}$")
_TO_THE_SAVE = re.compile(
    r"(?:\bmust |\bcan )?\b(?:makes?|succeeds? (?:on|at)|fails?|attempts?)(?: (?:an?|immediate|successful|its))* $"
)


def saves_forced(sentence: str, is_own: IsOwn) -> list[str]:
    """The abilities of the saving throws that a sentence forces on others."""
    found: list[str] = []
    for pattern in _FORCED:
        for match in pattern.finditer(sentence):
            before = _before(sentence, match)
            verb = _MUST.match(match[0])
            subject = before if verb else _TO_THE_SAVE.sub("", before)
            subject = re.sub(r"\bmust $|\bcan $", "", subject)
            if not (_NOT_FORCED.search(before) or is_own(subject)):
                found += [ABILITY_OF[ability[:3]] for ability in match.groups() if ability]
    return found
