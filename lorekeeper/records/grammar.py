"""The grammar of rules text: what its sentences do, of a spell, an action, an item or a feature alike.

Games of this family write their rules in fixed phrases ("must succeed on a Dexterity saving throw or take 2d6 fire damage").
`effects` reads a text once, sentence by sentence, and leaves out what only mentions a thing: protection from it, a creature
that already has it, or what happens to the one whose effect it is: "you" in a spell, "the troll" in its own stat block. All
patterns take time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from lorekeeper.folding import fold
from lorekeeper.records.parts import Area, Damage, Effects
from lorekeeper.records.values import MILE
from lorekeeper.terms import ABILITIES, ABILITY_OF, CONDITIONS, DAMAGE_TYPES


def effects(text: str, name: str = "") -> Effects:
    """What a text that `plain` has prepared does to others than its caster, and the creature of that name."""
    is_own = _own_subject(name)
    told = list(sentences(text))
    inflicted = {m["condition"] for m in _TABLE_CELL.finditer(text)}.union(
        *(_conditions(each, is_own) for each in told)
    )
    attack = _ATTACK.search(text)
    return Effects(
        damage=_dealt(told, is_own, is_it=bool(name)),
        saves=tuple(dict.fromkeys(found for each in told for found in _saves(each, is_own))),
        conditions=tuple(condition for condition in CONDITIONS if condition in inflicted),
        areas=tuple(found for each in told for found in _areas(each)),
        attack=attack["kind"] if attack else "",
        heals=any(map(_restores, told)),
        summons=any(map(_summons, told)),
        charges=tuple(counted(m["count"] or m["beside"]) for m in _CHARGED.finditer(text)),
    )


def damage(text: str, name: str = "") -> tuple[Damage, ...]:
    """The damage of `effects` alone."""
    return _dealt(sentences(text), _own_subject(name), is_it=bool(name))


def _dealt(told: Iterable[str], is_own: IsOwn, *, is_it: bool) -> tuple[Damage, ...]:
    told = list(told)
    base = next((match["dice"] for each in told if (match := _BASE.search(each))), "")
    dealt = (found for each in told for found in _damage(each, is_own, is_it=is_it))
    return tuple(dict.fromkeys(each if each.dice else replace(each, dice=base) for each in dealt))


# --- sentences -------------------------------------------------------------------------------------------------------

_LINK = re.compile(r"\[([^][]{1,80})\]\([^()\s]{0,200}\)")
_MARKUP = re.compile(r"[*_`]+")
_TYPOGRAPHIC = str.maketrans({"’": "'", "‑": "-", "–": "-", "−": "-", "\u00a0": " ", "\u00ad": ""})
_HYPHENS = re.compile(r"(?<=\w)-{2,}")
_GLUED = re.compile(r"foot(?=by\b|radius|wide|long|tall|high|cube|cone)")
_IT_IS = re.compile(r"\b(it|they)'(?:s|re)\b", re.IGNORECASE)
_LOST_IT_IS = re.compile(rf"\bits (?=(?:{'|'.join(CONDITIONS)}) (?:and|or|for|until|while)\b)", re.IGNORECASE)
_SHORT = re.compile(r"\bft\.(?! [A-Z])|(?<=\w)\.(?= [a-z])")
_LOST_COMMA = re.compile(r"(?<=[\w)])  (?=\w)")
_SENTENCE = re.compile(rf"[^.!?;:\n]+(?:(?:\.(?=\d)|:(?= dc\b| (?:{'|'.join(DAMAGE_TYPES)}), ))[^.!?;:\n]+)*")


def plain(text: str) -> str:
    """A text in lower case, without emphasis, links and typographic apostrophes.

    Where Level Up has lost a comma, Open5e's text has two spaces. A full stop ends no sentence where a small letter
    follows ("vs."), nor that of "ft." unless a capital does.
    """
    text = _LINK.sub(r"\1", text.translate(_TYPOGRAPHIC))
    text = _GLUED.sub("foot-", _HYPHENS.sub("-", _MARKUP.sub("", text)))
    text = _SHORT.sub(lambda match: match[0].rstrip("."), _LOST_IT_IS.sub("it is ", _IT_IS.sub(r"\1 is", text)))
    return re.sub(r"[ \t]+", " ", _LOST_COMMA.sub(", ", text)).lower()


def sentences(text: str) -> Iterator[str]:
    """The sentences of a plain text; a colon or semicolon ends one too, a decimal point and "Saving Throw: DC" do not.

    Nor does a colon before a list of damage types: "of a type you choose: acid, cold, or fire".
    """
    return (m[0].strip() for m in _SENTENCE.finditer(text))


def any_of(words: Iterable[str]) -> str:
    """A group that matches one of the words."""
    return f"(?:{'|'.join(words)})"


# --- who -------------------------------------------------------------------------------------------------------------

IsOwn = Callable[[str], bool]
"""Whether the words before a verb end in the subject whose effect it is."""

_ALSO = r"(?:also|then|immediately|instead|itself|automatically|only|can|each|must|will)"
_CASTER = (
    r"(?:^|[,(]|\b(?:and|or|but|that|if|when|whenever|then|until|unless|while|because|as|before|after|once|turns?)\b) ?"
    r"(?:you|yourself|the caster|your (?:own )?body)(?: |$)"
)
"""A caster who begins a clause: in "the creature you hit takes" it does not."""
_BEFORE_OBJECT = frozenset(
    "of by from against with to on at near hits hit touches touch touching see sees grappling toward towards inside into around "
    "within than attacking attacks beside behind under until like as for harm reach reaches targets targeting over hear hears "
    "around except besides in onto upon through".split()
)
"""Words before a name that is not the subject: "each creature within 10 feet of the dragon must ..."."""


@lru_cache(64)
def _own_subject(name: str) -> IsOwn:
    """Recognises "you", and "the red dragon" and "dragon" of an adult red dragon, unless it is an object there."""
    words = [word for word in fold(name).split() if len(word) > 2 and word not in ("creature", "target", "the", "and")]
    named = any_of(map(re.escape, words)) if words else "(?!)"
    others = r"(?![^,]*\b(?:creature|target|hits?|one)\b)"
    premise = rf"\b(?:if|when|whenever|once) (?:the )?{named}s?\b{others}[^,]{{0,80}}, (?:it|she|he) "
    subject = re.compile(
        rf"(?:(?:\b(\w+),? )?\b(?:(?:the|an?) )?(?:{named}(?: |$)){{1,5}}|{_CASTER}|{premise})(?:{_ALSO} ?){{0,3}}$"
    )

    def is_own(before: str) -> bool:
        match = subject.search(before[-120:].replace("'", ""))
        return match is not None and match[1] not in _BEFORE_OBJECT

    return is_own


def _before(sentence: str, start: int) -> str:
    """The words before a place, as many as decide what follows it means."""
    return sentence[max(start - 200, 0) : start]


# --- saving throws ---------------------------------------------------------------------------------------------------

_ABILITY = any_of([*ABILITIES, *ABILITY_OF])
_EITHER = rf"{_ABILITY}(?:(?:,| or| and|, or) (?:an? )?{_ABILITY}){{0,5}}"
_SAVE = re.compile(
    rf"\b{_EITHER} (?:saving throws?|saves?)\b(?! (?:modifier|bonus))|(?<=\bdc )\d+ {_EITHER}(?= sav| or\b|[:,]| negates\b| half\b)"
)
_FORCES = re.compile(
    r"\b(?:makes?|succeeds?|attempts?|pass(?:es)?|fails?|failed|failing|failure|successful|success|succeed|repeats?|rolls?|"
    r"making|succeeding|resists?|forced?|forces|requires?|allowed|dc|following|entitled|gets?|negates?|with|on|a new)"
    r"(?: (?:on|in|at|to|with|an?|another|its|their|the|this|that|your|spell|dc|\d+|successful|new|second|immediate|"
    r"contested|initial|first|each|a failure|make|further|additional)){0,5} $"
)
_TO_THE_SAVE = re.compile(
    r"(?:\b(?:must|can|may) )?(?:\b(?:immediately|also|then) )?\b(?:makes?|making|succeeds?|fails?|attempts?|repeats?|rolls?)"
    r"(?: (?:on|at|in|an?|another|the|its|your|immediate|successful|dc|\d+)){0,5} $"
)
_NOT_FORCED = re.compile(
    r"(?:\b(?:dis)?advantages? (?:on|to)|bonus (?:on|to)|penalty (?:on|to)|automatically|concentration|"
    r"proficien\w+ (?:in|with)|\b(?:add|adds|reroll\w*|subtract\w*)\b[^,]*|auto-fails?)[\w ]{0,30} $|"
    r"\bagainst (?:an?|any|its|the) $|\bsubjected to an? (?:\w+ ){0,2}effect\b|\bon (?:it|him|her)self\b[^,]*$"
)
_STATED = re.compile(r" ?(?:\(dc|,? with a dc|:? dc|:? \d|against a dc|or\b)")


def _saves(sentence: str, is_own: IsOwn) -> Iterator[str]:
    """Abilities of the saving throws that others have to make."""
    for match in _SAVE.finditer(sentence) if "sav" in sentence or "dc " in sentence else ():
        before = _before(sentence, match.start())
        stated = match[0][0].isdigit() or _STATED.match(sentence, match.end())
        if not (stated or _FORCES.search(before)) or _NOT_FORCED.search(before):
            continue
        several = match[0].endswith(("throws", "saves")) and not re.search(r"\bmust |\bmake ", before)
        if not several and not is_own(_TO_THE_SAVE.sub("", before)):
            yield from (ABILITY_OF[ability[:3]] for ability in re.findall(rf"\b{_ABILITY}\b", match[0]))


def mentions_save(text: str, ability: str) -> bool:
    """Whether a text names a kind of saving throw, whoever makes it."""
    return re.search(rf"\b{ability}(?: or {_ABILITY}| checks and)? (?:saving throw|save)", text) is not None


# --- conditions ------------------------------------------------------------------------------------------------------

_CONDITION = any_of(CONDITIONS)
_ROOTS = {
    name: re.sub(r"i$", "[iy]", re.sub(r"(.)\1$", r"\1+", name.removesuffix("ed")))
    for name in CONDITIONS
    if name.endswith("ed")
}
_ANY_STATE = re.compile(f"fatigue|{'|'.join(_ROOTS.values())}|{_CONDITION}")
_FILLER = (
    r"(?:also|both|either|instead|\w+ly|"
    r"knocked|struck|rendered|considered|to be|as|the|and|or|then|now|becomes?|is|are|be|left|fall|falls)"
)
_BECOMES = re.compile(
    r"\b(?:is|are|be|being|was|were|becomes?|becoming|remains?|falls?|falling|rendered|left|struck|made|stays?|lies|lands?|landing|"
    r"turned|considered|stand|as if|(?:has|have)(?=[^.]{0,60} conditions?\b)|gains?|gaining|suffers?|receives?|"
    r"subject(?:ed)? to|inflicts?|impos(?:es?|ing)|causes?|giving|with|dropp?(?:s|ed)?|"
    r"mak(?:es?|ing)(?: (?:it|them|the target))?|"
    r"(?:knock(?:s|ed|ing)?|leaves|leaving|renders?|rendering|pull(?:s|ing)?|drag(?:s|ging)?|holds?|holding)(?: [\w-]+){0,6}?)"
    rf"(?: {_FILLER}){{0,4}} (?P<condition>{_CONDITION})\b"
)
_OR_ELSE = re.compile(
    rf"(?:\b(?:saving throw|saves?|dc \d+ [a-z]{{3}})\b[^,.;:]{{0,40}} or|\bescape dc \d+\),? and|\b(?:targets?|creatures?))"
    rf" (?P<condition>{_CONDITION})(?=(?:,? (?:and |or )?{_CONDITION}){{0,6}} (?:until|til|for|while)\b)"
    rf"|\b(?:saving throw|saves?|dc \d+ [a-z]{{3}})\b[^,.;:]{{0,40}} or (?P<else>{_CONDITION})\b"
)
_ALONE = re.compile(rf"[\s-]*(?P<condition>{_CONDITION})\b(?:,? (?:and )?{_CONDITION}){{0,6}} (?:for|until|til|while) ")
_LISTED = re.compile(rf"\b(?P<condition>{_CONDITION})\b")
_EXHAUSTION = re.compile(
    r"\b(?:gains?|gaining|suffers?|suffering|takes?|taking|inflicts?|accumulates?|acquires?|receives?|adds?|has|have|and|or) "
    r"(?:(?:one|two|three|four|five|an?|another|additional|\d+|d\d+|\dd\d|1d4|extra|further|of|the|more) ){0,4}"
    r"(?:levels? of (?:exhaustion|fatigue)|(?<!and )(?<!or )exhaustion)\b"
)
LINKING = 100
"""Characters before a further condition that link it to the one before, at most."""

_ADDITION = re.compile(rf"(?:\band|\bor|\beither|,)(?: {_FILLER}){{0,3}} $")
_OBJECT = r"(?:the|an?|any|each|every|all|one|creatures?|it|them|your|those|nearby|up)\b"
_VERBS = {
    name: re.compile(rf"\b(?:{root}e?s|(?:(?<=, )|(?<=and )){root}ing|(?:to|you) {root}e?) {_OBJECT}")
    for name, root in _ROOTS.items()
}
"""How a sentence says that somebody brings others into a state: "blinds it", ", restraining the target", "to stun a creature"."""
_TABLE_CELL = re.compile(rf"\|\s*(?:target )?(?P<condition>{_CONDITION})\s*(?=\|)")
_MUST = re.compile(r"\b(?:must (?:make|succeed)|makes|succeeds on|fails)\b")


def _conditions(sentence: str, is_own: IsOwn) -> set[str]:
    """The conditions that a sentence inflicts on others."""
    if not _ANY_STATE.search(sentence):
        return set()
    if any(is_own(_before(sentence, match.start())) for match in _MUST.finditer(sentence)):
        return set()  # the outcome of the subject's own saving throw
    found, end = set[str](), None
    if listed := _ALONE.match(sentence):
        found, end = {listed["condition"]}, listed.end("condition")
    for match in (*_BECOMES.finditer(sentence), *_OR_ELSE.finditer(sentence)):
        if _holds(sentence, match.start(), is_own):
            found.add(match["condition"] or match["else"])
            end = match.end() if end is None else min(end, match.end())
    if end is not None:
        found |= {
            m["condition"]
            for m in _LISTED.finditer(sentence, end)
            if _ADDITION.search(sentence[max(0, end - 15, m.start() - LINKING) : m.start()])
        }
    if any(_holds(sentence, m.start(), is_own) for m in _EXHAUSTION.finditer(sentence)):
        found.add("exhaustion")
    for name, pattern in _VERBS.items():
        found |= {name for m in pattern.finditer(sentence) if _holds(sentence, m.start(), is_own)}
    return found


_BLOCKS = re.compile(
    r"\b(?:immun\w+|resist\w*|against|can't|cannot|not|never|no longer|ends?|ended|ending|removes?|removing|removed|cures?|"
    r"cured|curing|suppress\w*|already|if|while|unless|until|whether|avoid\w*|ignores?|prevents?|preventing|protects?|"
    r"unaffected|frees?|freed(?! creature)|recovers?|neither|nor|when|whenever|conditions?|n't|without|stops|rather|instead of|"
    r"except|doesn't|isn't|aren't|don't|won't|due|whose|advantage|as|though|relieved?|once|effects?|"
    r"(?:that|who|which) (?:is|are|was|were|has|have|become|becomes|falls?))\b"
)
_COMMA = re.compile(rf",(?! (?:(?:and|or) )?(?:knocked )?{_CONDITION})")
"""A comma that does not go on with a list of conditions."""
_RESETS = re.compile(
    r":|\bbut\b|\bfail(?:s|ed|ure)?\b(?: (?:its|the|a|an|this|that|their|on|saving|throw|save|by|\d+|or|more)\b){0,6}"
    r"(?: against(?: [\w']+){1,3})?|\bhit\b(?! points?)|"
    r"\bcreature(?= it $)|\b(?:sav\w+|throws?|damage|away|feet|turn|success\w*)\b[^,]{0,40} (?:or|and)(?= (?:(?:it|they|else|"
    r"the target|the creature|instead) )?$)"
)
_AT_ZERO = re.compile(r"\bunconscious (?:if|when|unless) (?:the|its|that|this|any)? ?(?:excess )?damage\b")
_BARE = re.compile(r", (?:or )?$")
_PREMISE = re.compile(r"\b(?:if|when|whenever|while|until|unless|once)\b")
_FINITE = re.compile(r"(?:is|are|becomes|falls|has|gains|suffers)\b")
"""Before a comma and a verb without a subject, it goes on: "until it sleeps, is hit, or is stunned"."""
_LASTS = re.compile(r"\blasts? (?:[\w-]+ ){0,4}until\b")
_AS_WELL = re.compile(r"(?:^|,|\bthen) ?you (?:also )?(?:take|suffer|are|become|fall|gain)\b[^,]* and $")


def _holds(sentence: str, start: int, is_own: IsOwn) -> bool:
    """Whether what follows is said to happen to others: the clause before it does not deny it or make it a premise."""
    before = sentence[max(0, start - 140) : start]
    commas = (m.end() for m in _COMMA.finditer(sentence, max(0, start - 140), start + 30))
    ends = (
        *(m.end() for m in _RESETS.finditer(before)),
        *(end - start + len(before) for end in commas if end <= start),
    )
    clause = before[max(ends, default=0) :]
    own = re.match(r"(?:is|are|has|have)\b", sentence[start:]) is None
    if is_own(before) or _AS_WELL.search(before) or _LASTS.search(before) or _AT_ZERO.search(sentence, start):
        return False
    if re.search(r"(?<!, )\b(?:that|who|which|already)(?: already| also| currently)? $", before) and not own:
        return False
    if (
        _BARE.search(before)
        and _FINITE.match(sentence, start)
        and _PREMISE.search(before[max((m.end() for m in _RESETS.finditer(before)), default=0) :])
    ):
        return False
    return _BLOCKS.search(clause) is None


# --- damage ----------------------------------------------------------------------------------------------------------

_TYPE = any_of(DAMAGE_TYPES)
_ANY_TYPE = re.compile(_TYPE)
_TYPES = rf"{_TYPE}(?:(?:, or |, and |, | or | and |/|-| plus ){_TYPE}){{0,12}}"
_DICE = r"\d+(?:d\d+)?(?: ?[+x×-] ?(?:\d+(?:d\d+)?|your [a-z ]{1,40}?|the [a-z ]{1,40}?))?"
_ROLLED = re.compile(
    rf"\b(?P<dice>{_DICE})(?:\)| \((?P<inner>[^()]{{1,30}})\))?,? "
    r"(?:(?:points? of|of|extra|additional|ongoing|bonus|nonmagical|magical|ranged|melee) ){0,2}"
    rf"(?P<types>{_TYPES})(?: (?:damage|dmg)\b|(?= (?:and|plus|or) \d+d))"
)
_TERSE = re.compile(
    rf"(?P<inner>)(?P<dice>\b\d+d\d{{1,2}}(?: ?[+-] ?\d{{1,2}})?)\)? (?P<types>{_TYPES})\b(?: damage)?(?! ?\|)"
)
_DEALT = re.compile(
    rf"\b(?:deals?|dealing|takes?|taking|suffers?|inflicts?|inflicting|causes?|causing|does|dealt|burns?|half|"
    rf"damage of|extra|additional|ongoing|as)(?: (?:an|a|the|extra|additional|ongoing|half|that|much|more|bonus|its|only|"
    rf"same|amount|of|magical|weapon's|either)){{0,5}} (?P<types>{_TYPES}) damage\b"
)
_CHOSEN = re.compile(
    rf"\b(?:choose|choice|choosing|one of the following|type|types|chosen|either|following damage types?)\b[^|]{{0,60}}?[ (]"
    rf"(?P<types>{_TYPE}, {_TYPES})\b"
)
_DAMAGE_IS = re.compile(
    rf"\b(?:damage(?: type)?(?: (?:dealt|done|inflicted))? (?:is|becomes|can be|may be|changes to)|"
    rf"damage,? (?:either|of type)|it can be) "
    rf"(?:either )?(?P<types>{_TYPES})\b"
)
_BASE = re.compile(rf"\bbase damage (?:is|equals|starts at) (?P<dice>\d+d\d+(?: ?[+-] ?\d+)?)(?! {_TYPE})")
"""The dice of damage whose type another sentence has: "fire damage equal to the accumulated damage. Its base damage is 12d6"."""
_HURTS = re.compile(r"\b(?:deal(?:s|ing)?|tak(?:es?|ing)|suffers?)\b")
_GUARD = re.compile(
    r"\b(?:resist\w*|immun\w+|vulnerab\w+|absorb\w*|reduc\w+|prevent\w*|protect\w*|ignor\w*|against|unaffected|not|can't|cannot|"
    r"doesn't|don't|no|unless|halve\w*|half (?:the )?damage from|sources? of|susceptib\w+|heal\w*)\b[^.]*$"
)
_TRIGGER = re.compile(r"\b(?:if|when|whenever|until|after|unless|once|while|each time|that|who|which)\b[^,]*$")
_NOT_ROLLED = re.compile(r"\b(?:resist\w*|immun\w+|vulnerab\w+|reduced?|absorbs?|prevents?)\b[^,]*$")
_TAKES = re.compile(r"\b(?:takes?|has taken|suffers?)\b[^,;:]{0,60}$")
_IF_IT = re.compile(r"\b(?:if|when|whenever|unless) (?:it|she|he|they) (?:takes?|has taken|suffers?)\b[^,;:]{0,60}$")
_YOU_ARE = re.compile(r"\b(?<!if )you(?:'re| are)\b[^,]*$")


def _damage(sentence: str, is_own: IsOwn, *, is_it: bool) -> Iterator[Damage]:
    """The damage that a sentence deals to others; ``is_it``: in "if it takes", it is the one whose effect it is."""
    if not _ANY_TYPE.search(sentence):
        return
    found = {}
    for pattern in (_ROLLED, _TERSE, _DEALT, _CHOSEN, _DAMAGE_IS):
        rolled = pattern in (_ROLLED, _TERSE)
        for match in pattern.finditer(sentence):
            if match.start("types") not in found and _deals(sentence, match, is_own, rolled=rolled):
                if is_it and _IF_IT.search(_before(sentence, match.start("types"))):
                    continue
                if ":" in match[0] and not _HURTS.search(sentence, 0, match.start()):
                    continue  # a type chosen for protection from it
                types = "/".join(re.findall(_TYPE, match["types"]))
                found[match.start("types")] = Damage(_dice(sentence, match, rolled=rolled), types)
    yield from (found[place] for place in sorted(found))


_EQUAL_TO = re.compile(r" equal to (?P<dice>\d+d\d+(?: ?[+x×-] ?\d+)?)")


def _dice(sentence: str, match: re.Match[str], *, rolled: bool) -> str:
    """The dice of damage, where its sentence has them: beside its type, or behind "damage equal to"."""
    if rolled:
        return next((each for each in (match["inner"], match["dice"]) if each and "d" in each), "")
    equal = _EQUAL_TO.match(sentence, match.end())
    return equal["dice"] if equal else ""


def _deals(sentence: str, match: re.Match[str], is_own: IsOwn, *, rolled: bool) -> bool:
    before = sentence[max(0, match.start() - 100) : match.start()]
    after = sentence[match.end() : match.end() + 12]
    told = before + match[0].split(" ")[0] + " "
    takes = _TAKES.search(told)
    if (
        (takes and _does(told[: takes.start()], is_own))
        or _YOU_ARE.search(told)
        or after.startswith((" to you", " to the caster"))
    ):
        return False
    if rolled or after.startswith(" equal to"):
        return not _NOT_ROLLED.search(before)
    return not _GUARD.search(sentence[max(0, match.start() - 100) : match.end()]) and not _TRIGGER.search(before)


def _does(before: str, is_own: IsOwn) -> bool:
    """Whether the one whose effect it is does what follows: "the mummy takes", "the mummy catches fire and takes"."""
    clause = before.rpartition(", ")[2].removesuffix("and ")
    begun = accumulate(clause.split(), "{} {}".format) if before.endswith(" and ") else ()
    return is_own(before) or any(is_own(f"{words} ") for words in begun)


def mentions_damage(text: str, damage_type: str) -> bool:
    """Whether a text speaks of a type of damage, whoever takes it."""
    return re.search(rf"\b{damage_type}\b[^.\n]{{0,60}}\bdamage\b", text) is not None


# --- attacks, healing ------------------------------------------------------------------------------------------------

_ATTACK = re.compile(
    r"\b(?:mak(?:e|es|ing)|with|attempt|requires?|succeeds? on|roll|use|as)(?: (?:an?|one|the|two|three|four|another|your|up|to|"
    r"successful|separate|of|its|each|single|immediate)){0,4} (?P<kind>melee|ranged)(?: or ranged)? spell attacks?\b"
)


_HEAL = re.compile(
    r"\b(?:regains?|regaining|restor(?:e|es|ing)|recovers?|recovering|heals?|healing|healed)\b"
    r"(?P<amount>[^.;|]{0,70}?)\b(?:hit points?|hp)\b|\b(?:hit points?|hp) (?:are|is) (?:restored|regained)\b"
    r"|\bheals? (?:for )?(?:\d+d\d+|an amount|\d+)"
)
_NO_HEAL = re.compile(
    r"\b(?:can't|cannot|not|n't|never|no|unable|prevent\w*|until|if|when|whenever|unless|without|neither|once|way|or)\b[^,]{0,40}$"
)


def _restores(sentence: str) -> bool:
    for match in _HEAL.finditer(sentence):
        amount = match["amount"] or ""
        if re.search(r"\b(?:temporary|maximum|no|or (?:regain|restore))\b", amount):
            continue
        if not _NO_HEAL.search(sentence[max(0, match.start() - 60) : match.start()]):
            return True
    return False


# --- summoning -------------------------------------------------------------------------------------------------------

_BEING = (
    r"(?:creature|beast|animal|spirit|familiar|steed|mount|servant|servitor|guardian|hound|mastiff|watchdog|wol(?:f|ve)|horse|bird|"
    r"swarm|skeleton|zombie|ghoul|ghost|specter|golem|demon|devil|djinni|efreeti|angel|dragon|undead|fey|fiend|celestial|elemental|"
    r"construct|aberration|monstrosity|ooze|avatar|duplicate|simulacrum)(?:e?s)?"
)
_OTHER_OBJECT = (
    r"(?:image|illusi|power|mind|space|help|magic|(?:that|which|who|from|within|whose|lore|words?|arrives?)\b)"
)
_BRINGS = re.compile(
    r"(?:^|\b(?:you|it|that|and|to|spell|caster|can|may|then|magically) |, )(?:summons?|conjures?(?: up)?|calls? forth|animates?|"
    rf"awakens?|raises?)(?: (?!{_OTHER_OBJECT})[\w',-]+){{0,6}}? {_BEING}\b"
)
_APPEARS = re.compile(
    rf"\b{_BEING}\b[^.]{{0,80}} (?:appear(?:s|ing)?|manifests?|materializes?|arrives?)\b[^.]{{0,60}} "
    r"(?<!nearest )(?<!closest )(?<!safe )unoccupied spaces?\b"
)
_SERVES = re.compile(
    r"\bgains? the (?:services?|aid) of (?:an?|one|the)\b|\b(?:becomes?|rises? as|creates?|made into|turns? into) "
    r"(?:an?|one|your|up to \w+)(?: [\w'-]+){0,4} (?:undead|construct|zombies?|skeletons?|ghouls?|servants?|creatures?)\b[^.]{0,30}"
    r"\b(?:under your control|obeys?|serves?|loyal)"
)
_NO_SUMMONS = re.compile(
    r"\b(?:illus\w+|image|summoned|can't|cannot|teleport\w*|transported|banish\w*)\b|\b(?:if|when|whenever)\b[^,]*$"
)


def _summons(sentence: str) -> bool:
    """Whether creatures come, or are made, that act for whoever brings them; images and those who only move do not count."""
    found = filter(None, (pattern.search(sentence) for pattern in (_BRINGS, _APPEARS, _SERVES)))
    return any(not _NO_SUMMONS.search(sentence[: match.end()]) for match in found)


# --- areas -----------------------------------------------------------------------------------------------------------

_SHAPES = "sphere|cone|cube|cylinder|line|emanation|hemisphere|dome|square|circle|globe|bubble|ring|pillar|column"
_FEET = r"(?P<size>\d{1,3}(?:,\d{3})?)[ -]{1,2}(?P<unit>foot|feet|ft\.?|mile)"
_SIZED = re.compile(
    rf"\b{_FEET}(?:[ -](?P<measure>radius|diameter|wide|tall|high|long|deep|square))?,?"
    rf"(?:[ -](?:\d+[ -]foot[ -](?:high|tall|wide|deep|long|thick),?|invisible|vertical|imaginary|immobile|"
    rf"cubic)){{0,2}}[ -](?P<shape>{_SHAPES}|radius)s?\b"
)
_LINE = re.compile(
    r"\b(?:line|bolt|beam|ray)(?:(?: \w{1,20}){0,8} (?:is |that is )?)(?P<after>\d{1,3}) feet long\b"
    r"|\b(?P<before>\d{1,3})[ -](?:foot|feet)[ -]long,?(?: and)?(?: \d{1,3}[ -](?:foot|feet)[ -]wide,?)? line\b"
)
_NAMED = re.compile(
    r"\b(?P<shape>sphere|cube|cylinder|cone|circle|globe)(?:,| that is| with an?| of| up to| is| measuring| a| an| no larger"
    rf" than| radius| diameter| extending){{0,4}} {_FEET}(?: (?P<measure>radius|diameter|on a side|on each side|long|in radius|"
    r"in diameter))?\b(?! (?:high|tall|deep|thick|wide))"
)
_SAME_SHAPE = {"globe": "sphere", "bubble": "sphere", "dome": "hemisphere", "pillar": "cylinder", "column": "cylinder"}
_NOT_AREA = re.compile(
    r"(?:\b(?:larger|bigger|smaller|more|less|greater|exceed\w*) than(?: an?)?|\bfits?(?: (?:in|within|inside|into))? an?|"
    r"\bcontained in an?|\bup to (?:an?|one|ten|five|two)?|\b(?:light|illumination|light in|light to) an?|per) $"
)
_OTHER_MEASURES = {("line", "wide"), ("line", "long"), ("cylinder", "tall"), ("cylinder", "high"), ("cylinder", "deep")}
"""Of these shapes and measures, the size is another one; `_LINE`, and the radius that follows, have it."""
_LIGHT = re.compile(r"\b(?:light|sheds?|illuminat\w+|glow\w*)\b")


def _areas(sentence: str) -> Iterator[Area]:
    """The areas that a sentence fills: of each the radius, or the length or side of what has none.

    The reach of a light, and the largest thing that a spell can move or hold, are no areas.
    """
    for match in sorted([*_SIZED.finditer(sentence), *_NAMED.finditer(sentence)], key=lambda m: m.start()):
        lit = match["shape"] == "radius" and _LIGHT.search(sentence)
        other = (match["shape"], match["measure"]) in _OTHER_MEASURES
        if not lit and not other and not _NOT_AREA.search(sentence[max(0, match.start() - 40) : match.start()]):
            yield Area(_shape(match["shape"], sentence), _size(match))
    for line in _LINE.finditer(sentence):
        yield Area("line", float(line["after"] or line["before"]))


def _shape(word: str, sentence: str) -> str:
    """The shape a word stands for; a mere radius is that of the shape that its sentence names, else a sphere's."""
    if word == "radius":
        word = next(
            (shape for shape in ("cylinder", "circle", "hemisphere", "emanation") if shape in sentence), "sphere"
        )
    return _SAME_SHAPE.get(word, word)


def _size(match: re.Match[str]) -> float:
    feet = float(match["size"].replace(",", ""))
    if match["unit"] == "mile":
        feet *= MILE
    return feet / 2 if "diameter" in (match["measure"] or "") else feet


# --- costs -----------------------------------------------------------------------------------------------------------

_NUMBERS = (
    {"a": 1, "an": 1}
    | {
        word: number
        for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
    }
    | {"twenty": 20}
)
_COUNT = rf"(?:\d{{1,2}}|{any_of(_NUMBERS)})"
_CHARGED = re.compile(
    rf"\b(?:expend|spend|use|consume|cost)(?:s|ing|ed)? (?P<count>{_COUNT})(?: or more)?(?: of)?"
    r"(?: (?:its|the|your|their|these))?(?: [\w-]+'s?)?(?: remaining)? charges?\b"
    rf"|\((?:[^()]{{1,60}}, )?(?P<beside>{_COUNT}) charges?(?: each)?[,;)]"
)
"""What a use of an item takes of its charges: "expend 2 charges", "fireball (3 charges)"."""


def counted(word: str) -> int:
    """A number of things, in digits or as a word."""
    return _NUMBERS.get(word) or int(word)


_COINS = {"gp": 1.0, "gold": 1.0, "sp": 0.1, "silver": 0.1, "cp": 0.01, "copper": 0.01}
_PRICE = re.compile(
    rf"(?P<amount>\d{{1,3}}(?:,\d{{3}})+|\d{{1,6}})\+? ?(?P<coin>{any_of(_COINS)})(?:(?<=[gsc]p)|(?<![gsc]p) pieces?)\b"
)


def prices(text: str) -> list[float]:
    """The prices that a plain text names, in gp."""
    return [
        round(float(match["amount"].replace(",", "")) * _COINS[match["coin"]], 2) for match in _PRICE.finditer(text)
    ]
