"""What the wording of the rules says: who saves, what condition or damage follows, who is healed, how large an area is.

Games of this family write their rules in fixed phrases ("must succeed on a Dexterity saving throw or take 2d6 fire damage").
The functions read these phrases in a text that `plain` has prepared, and leave out what only mentions a thing: protection
from it, a creature that already has it, or what happens to the caster. All patterns take time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lorekeeper.terms import ABILITIES, CONDITIONS, DAMAGE_TYPES


def any_of(words: Iterable[str]) -> str:
    """A group that matches one of the words."""
    return f"(?:{'|'.join(words)})"


_LINK = re.compile(r"\[([^][]{1,80})\]\([^()\s]{0,200}\)")
_MARKUP = re.compile(r"[*_`]+")
_TYPOGRAPHIC = str.maketrans({"’": "'", "‑": "-", "–": "-", "−": "-", "\u00a0": " ", "\u00ad": ""})
_HYPHENS = re.compile(r"(?<=\w)-{2,}")
_GLUED = re.compile(r"foot(?=by\b|radius|wide|long|tall|high|cube|cone)")
_SENTENCE = re.compile(r"[^.!?;:\n]+(?:\.(?=\d)[^.!?;:\n]+)*")


def plain(text: str) -> str:
    """A text in lower case, without emphasis, links and typographic apostrophes."""
    text = _LINK.sub(r"\1", text.translate(_TYPOGRAPHIC))
    text = _GLUED.sub("foot-", _HYPHENS.sub("-", _MARKUP.sub("", text)))
    return re.sub(r"[ \t]+", " ", text).lower()


def sentences(text: str) -> Iterator[str]:
    """The sentences of a plain text; a colon or semicolon ends one too, a decimal point does not."""
    return (m[0].strip() for m in _SENTENCE.finditer(text))


# --- saving throws ---------------------------------------------------------------------------------------------------

_ABILITY = any_of(ABILITIES)
_SAVE = re.compile(
    rf"\b{_ABILITY}(?:(?:,| or| and|, or) (?:an? )?{_ABILITY}){{0,5}} (?:saving throws?|saves?)\b(?! (?:dc|modifier|bonus))"
)
_FORCES = re.compile(
    r"\b(?:makes?|succeeds?|attempts?|pass(?:es)?|fails?|failed|failing|failure|successful|success|succeed|repeats?|rolls?|"
    r"making|succeeding|resists?|forced?|forces|requires?|allowed|dc|following|entitled|gets?|negates?|with|on|a new)"
    r"(?: (?:on|in|at|to|with|an?|another|its|their|the|this|that|your|spell|dc|\d+|successful|new|second|immediate|"
    r"contested|initial|first|each|a failure|make|further|additional)){0,5} $"
)
_NO_FORCE = re.compile(
    r"(?:(?:^|,|\band|\bor|\bbut|\bthat|\bif|\bwhen|\bthen|\bturns?)\s*you(?: (?:must|can|may|also|then|each|immediately)){0,3} "
    r"(?:makes?|succeeds?|fails?|attempts?|rolls?)|"
    r"\b(?:dis)?advantages? (?:on|to)|bonus (?:on|to)|penalty (?:on|to)|automatically|"
    r"proficien\w+ (?:in|with)|\b(?:add|adds|reroll\w*|subtract\w*)\b[^,]*|auto-fails?)[\w ]{0,30} $|"
    r"\bagainst (?:an?|any|its|the) $"
)


def saves(text: str) -> list[str]:
    """Abilities of the saving throws that others have to make, in the order of the text."""
    found = []
    for sentence in sentences(text):
        for match in _SAVE.finditer(sentence):
            before = sentence[max(0, match.start() - 90) : match.start()]
            bonus = match[0].endswith(("throws", "saves")) and not re.search(r"\bmust |\bmake ", before)
            if _FORCES.search(before) and not _NO_FORCE.search(before) and not bonus:
                found += re.findall(_ABILITY, match[0])
    return list(dict.fromkeys(found))


def mentions_save(text: str, ability: str) -> bool:
    """Whether a text names a kind of saving throw, whoever makes it."""
    return re.search(rf"\b{ability}(?: or {_ABILITY})? (?:saving throw|save)", text) is not None


# --- conditions ------------------------------------------------------------------------------------------------------

_CONDITION = any_of(CONDITIONS)
_FILLER = (
    r"(?:also|both|either|instead|immediately|temporarily|automatically|completely|magically|permanently|effectively|"
    r"knocked|struck|rendered|considered|to be|as|the|and|or|then|becomes?|is|are|be|left|fall|falls)"
)
_BECOMES = re.compile(
    rf"\b(?:is|are|be|being|becomes?|becoming|remains?|falls?|falling|knock(?:s|ed|ing)?(?: (?:it|them|him|her|that|the|a|"
    rf"one|each|any|target|targets|creature|creatures|you hit|hit|of|down|back|and|all|other)){{0,5}}|rendered|renders?|left|"
    rf"leaving|struck|made|mak(?:es?|ing)(?: (?:it|them|the target))?|stays?|lies|lands?|turned|"
    rf"considered|stand|as if|has|have|"
    rf"gains?|suffers?|subject(?:ed)? to|inflicts?|impos(?:es?|ing)|causes?|dropp?(?:s|ed)?)"
    rf"(?: {_FILLER}){{0,4}} (?P<condition>{_CONDITION})\b"
)
_LISTED = re.compile(rf"\b(?P<condition>{_CONDITION})\b")
_EXHAUSTION = re.compile(
    r"\b(?:gains?|suffers?|takes?|inflicts?|accumulates?|acquires?|receives?|adds?|and|or) "
    r"(?:(?:one|two|three|four|five|an?|another|additional|\d+|d\d+|\dd\d|1d4|extra|further|of|the|more) ){0,4}"
    r"(?:levels? of )?exhaustion\b"
)
_ADDITION = re.compile(rf"(?:\band|\bor|\beither|,)(?: {_FILLER}){{0,3}} $")
_VERBS = {
    "blinded": r"\b(?:blinds|blinding|to blind) (?:the|a|an|any|each|every|all|one|creatures?|it|them|your|those|nearby)\b",
    "charmed": r"\b(?:charms|to charm|you charm) (?:the|a|an|any|each|one|creatures?|it|them|up)\b",
    "deafened": r"\b(?:deafens|to deafen) (?:the|a|an|any|each|creatures?|it|them)\b",
    "grappled": r"\b(?:grapples|to grapple) (?:the|a|an|any|each|creatures?|it|them)\b",
    "paralyzed": r"\b(?:paralyzes|to paralyze) (?:the|a|an|any|each|creatures?|it|them)\b",
    "restrained": r"\b(?:restrains|to restrain) (?:the|a|an|any|each|creatures?|it|them)\b",
    "stunned": r"\b(?:stuns|to stun) (?:the|a|an|any|each|creatures?|it|them)\b",
}
_SELF = re.compile(
    r"\b(?:you|yourself|the caster|your (?:own )?body)(?: (?:also|then|immediately|can|each|must|will|instead)){0,3} $|"
    r"(?:^|,|\bthen) ?you (?:also )?(?:take|suffer|are|become|fall|gain)\b[^,]* and $"
)
_TABLE_CELL = re.compile(rf"\|\s*(?:target )?(?P<condition>{_CONDITION})\s*(?=\|)")


def conditions(text: str) -> list[str]:
    """Conditions that a text says somebody gets, in the order of `CONDITIONS`."""
    found = {m["condition"] for m in _TABLE_CELL.finditer(text)}
    for sentence in sentences(text):
        found |= _conditions_of(sentence)
    return [name for name in CONDITIONS if name in found]


def _conditions_of(sentence: str) -> set[str]:
    found, end = set(), None
    if listed := re.match(rf"[\s-]*(?P<condition>{_CONDITION})\b(?:,? (?:and )?{_CONDITION}){{0,6}} for ", sentence):
        found, end = {listed["condition"]}, listed.end("condition")
    for match in _BECOMES.finditer(sentence):
        if _holds(sentence, match.start()):
            found.add(match["condition"])
            end = match.end() if end is None else end
    if end is not None:
        found |= {
            m["condition"] for m in _LISTED.finditer(sentence, end) if _ADDITION.search(sentence[end - 15 : m.start()])
        }
    if any(_holds(sentence, m.start()) for m in _EXHAUSTION.finditer(sentence)):
        found.add("exhaustion")
    for name, pattern in _VERBS.items():
        found |= {name for m in re.finditer(pattern, sentence) if _holds(sentence, m.start())}
    return found


_BLOCKS = re.compile(
    r"\b(?:immun\w+|resist\w*|against|can't|cannot|not|never|no longer|ends?|ended|ending|removes?|removing|removed|cures?|"
    r"cured|curing|suppress\w*|already|if|while|unless|until|whether|avoid\w*|ignores?|prevents?|preventing|protects?|"
    r"unaffected|frees?|freed|recovers?|neither|nor|when|whenever|conditions?|n't|without|stops|rather|instead|except|doesn't|isn't|"
    r"aren't|don't|won't|due|whose|advantage|as|though|relieved?|once|effects?|"
    r"(?:that|who|which) (?:is|are|was|were|has|have|become|becomes|falls?))\b"
)
_RESETS = re.compile(
    r",|\bfail(?:s|ed|ure)?\b(?: (?:its|the|a|an|this|that|their|on|saving|throw|save|by|\d+|or|more)\b){0,6}|\bhit\b|"
    r"\bcreature(?= it $)|\b(?:sav\w+|throws?|damage|away|feet|turn|success\w*)\b[^,]{0,40} (?:or|and)(?= (?:(?:it|they|else|"
    r"the target|the creature|instead) )?$)"
)
_AT_ZERO = re.compile(r"\bunconscious (?:if|when|unless) (?:the|its|that|this|any)? ?(?:excess )?damage\b")


def _holds(sentence: str, start: int) -> bool:
    """Whether what follows is said to happen: the clause before it does not deny it or make it a premise."""
    before = sentence[max(0, start - 140) : start]
    clause = before[max((m.end() for m in _RESETS.finditer(before)), default=0) :]
    own = re.match(r"(?:is|are|has|have)\b", sentence[start:]) is None
    if _SELF.search(before) or _AT_ZERO.search(sentence, start):
        return False
    if re.search(r"\b(?:that|who|which|already)(?: already| also| currently)? $", before) and not own:
        return False
    return _BLOCKS.search(clause) is None


# --- damage ----------------------------------------------------------------------------------------------------------

_TYPE = any_of(DAMAGE_TYPES)
_TYPES = rf"{_TYPE}(?:(?:, or |, and |, | or | and |/|-){_TYPE}){{0,12}}"
_DICE = r"\d+(?:d\d+)?(?: ?[+x×-] ?(?:\d+(?:d\d+)?|your [a-z ]{1,40}?|the [a-z ]{1,40}?))?"
_ROLLED = re.compile(
    rf"\b{_DICE} (?:\(\w+\) )?(?:(?:points? of|extra|additional|ongoing|bonus|nonmagical|magical) ){{0,2}}"
    rf"(?P<types>{_TYPES})(?: (?:damage|dmg)\b|(?= (?:and|plus|or) \d+d))"
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
_GUARD = re.compile(
    r"\b(?:resist\w*|immun\w+|vulnerab\w+|absorb\w*|reduc\w+|prevent\w*|protect\w*|ignor\w*|against|unaffected|not|can't|cannot|"
    r"doesn't|don't|no|unless|halve\w*|sources? of|susceptib\w+|heal\w*)\b[^.]*$"
)
_TRIGGER = re.compile(r"\b(?:if|when|whenever|until|after|unless|once|while|each time|that|who|which)\b[^,]*$")
_OWN = re.compile(
    r"\b(?<!if )you(?:'re| are)\b[^,]*$|(?:^|,|\band|\bor|\bbut|\bthat|\bif|\bthen) ?you (?:also |each )?(?:take|suffer)\b[^,]*$"
)


def damage_types(text: str) -> list[str]:
    """Types of the damage that a text says is dealt to others, in the order of `DAMAGE_TYPES`."""
    found: set[str] = set()
    for sentence in sentences(text):
        for pattern in (_ROLLED, _DEALT, _CHOSEN, _DAMAGE_IS):
            for match in pattern.finditer(sentence):
                if _deals(sentence, match, rolled=pattern is _ROLLED):
                    found |= set(re.findall(_TYPE, match["types"]))
    return [name for name in DAMAGE_TYPES if name in found]


def _deals(sentence: str, match: re.Match[str], *, rolled: bool) -> bool:
    before = sentence[max(0, match.start() - 100) : match.start()]
    after = sentence[match.end() : match.end() + 12]
    if _OWN.search(before + match[0].split(" ")[0] + " ") or after.startswith((" to you", " to the caster")):
        return False
    if rolled or after.startswith(" equal to"):
        return not re.search(r"\b(?:resist\w*|immun\w+|reduced?|absorbs?|prevents?)\b[^,]*$", before)
    return not _GUARD.search(sentence[max(0, match.start() - 100) : match.end()]) and not _TRIGGER.search(before)


def mentions_damage(text: str, damage_type: str) -> bool:
    """Whether a text speaks of a type of damage, whoever takes it."""
    return re.search(rf"\b{damage_type}\b[^.\n]{{0,60}}\bdamage\b", text) is not None


# --- attacks, healing ------------------------------------------------------------------------------------------------

_ATTACK = re.compile(
    r"\b(?:mak(?:e|es|ing)|with|attempt|requires?|succeeds? on|roll|use|as)(?: (?:an?|one|the|two|three|four|another|your|up|to|"
    r"successful|separate|of|its|each|single|immediate)){0,4} (?P<kind>melee|ranged)(?: or ranged)? spell attacks?\b"
)


def attack(text: str) -> str | None:
    """Whether the first spell attack is "melee" or "ranged"; None if there is none."""
    match = _ATTACK.search(text)
    return match["kind"] if match else None


_HEAL = re.compile(
    r"\b(?:regains?|regaining|restor(?:e|es|ing)|recovers?|recovering|heals?|healing|healed)\b"
    r"(?P<amount>[^.;|]{0,70}?)\b(?:hit points?|hp)\b|\b(?:hit points?|hp) (?:are|is) (?:restored|regained)\b"
    r"|\bheals? (?:for )?(?:\d+d\d+|an amount|\d+)"
)
_NO_HEAL = re.compile(
    r"\b(?:can't|cannot|not|n't|never|no|unable|prevent\w*|until|if|when|whenever|unless|without|neither|once|or)\b[^,]{0,40}$"
)


def heals(text: str) -> bool:
    """Whether a text restores hit points. Temporary ones do not count."""
    return any(_restores(sentence) for sentence in sentences(text))


def _restores(sentence: str) -> bool:
    for match in _HEAL.finditer(sentence):
        amount = match["amount"] or ""
        if re.search(r"\b(?:temporary|maximum|no)\b", amount):
            continue
        if not _NO_HEAL.search(sentence[max(0, match.start() - 60) : match.start()]):
            return True
    return False


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


def areas(text: str) -> Iterator[tuple[str, float]]:
    """Shape and size in feet of each area of a text: the radius, or the length or side of what has none.

    The reach of a light, and the largest thing that a spell can move or hold, are no areas.
    """
    for sentence in sentences(text):
        for match in sorted([*_SIZED.finditer(sentence), *_NAMED.finditer(sentence)], key=lambda m: m.start()):
            lit = match["shape"] == "radius" and _LIGHT.search(sentence)
            other = (match["shape"], match["measure"]) in _OTHER_MEASURES
            if not lit and not other and not _NOT_AREA.search(sentence[max(0, match.start() - 40) : match.start()]):
                yield _shape(match["shape"], sentence), _size(match)
        for line in _LINE.finditer(sentence):
            yield "line", float(line["after"] or line["before"])


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
        feet *= 5280
    return feet / 2 if "diameter" in (match["measure"] or "") else feet
