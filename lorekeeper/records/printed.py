"""Creatures, spells and magic items as books print them: in Markdown of any dialect, or as text copied from a page or a PDF.

All of these have the same lines. An entry is found by the line below its name: size, type and mostly alignment; level and school;
or category and rarity. What follows are lines that begin with known words, and then the text. Markdown only helps: a heading
ends an entry, and bold words begin a feature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, zip_longest

from lorekeeper.records.values import keys
from lorekeeper.terms import ABILITY_OF, CONDITIONS, CREATURE_TYPES, SCHOOLS

CREATURE, SPELL, ITEM = "creature", "spell", "item"

_HINT = re.compile(
    r"armou?r class|\bAC\b\W{0,12}(?:\d|$)|casting time|(?:, |^\W*)(?:very )?(?:common|uncommon|rare|legendary|artifact|rarity)",
    re.IGNORECASE,
)

FAR = 14
"""Lines, blank ones not counted, within which a line below a name must be followed by one that confirms it."""

MAX_SCORES = 300
"""Longest line of ability scores."""

MAX_LEVEL = 6
"""Of a heading."""

MAX_LINES = 200_000
"""Most lines of a text that are read."""


@dataclass(frozen=True)
class Line:
    """A line of a text.

    Attributes:
        raw: without marks of quotes and Homebrewery.
        text: without Markdown.
        level: of a heading, 0 for none.
        quoted: whether it is quoted.
        closes: whether it is the end of a block of Homebrewery.
    """

    raw: str
    text: str
    level: int
    quoted: bool
    closes: bool


@dataclass
class Printed:
    """An entry as it is printed.

    Attributes:
        kind: creature, spell or item.
        values: of its lines; of a creature in the keys of Fantasy Statblocks.
        start: number of the line with its name.
        end: number of the line after it.
        left: lines that were not understood.
    """

    kind: str
    values: dict[str, object]
    start: int
    end: int
    left: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.values["name"])


def printed(written: Sequence[str], *, bare: bool = False) -> list[Printed]:
    """The entries of a text, in its order; with ``bare`` also creatures of whose headings only their values say it."""
    if not any(map(_HINT.search, written)):
        return []
    lines = _rejoined([_line(line) for line in written[:MAX_LINES]])
    named: list[tuple[int, int, str, dict[str, object]]] = []
    for at in range(len(lines)):
        kind, said = _said_at(lines, at, bare=bare)
        is_bare = bare and not kind and _is_whole(lines, at)
        start, last = _name_above(lines, at, bare=is_bare) if kind or is_bare else None, at
        if start is None or (named and start <= named[-1][0]) or (is_bare and not lines[start].level):
            continue
        if is_bare:
            kind, last = CREATURE, next(n for n in range(start + 1, at + 1) if has_value(lines[n].text))
        if bare:
            said = _told_above(lines[start + 1 : last]) | said
        named.append((start, last + (not is_bare), kind, said))
    found: list[Printed] = []
    for place, (start, first, kind, said) in enumerate(named):
        following = named[place + 1][0] if place + 1 < len(named) else len(lines)
        if bare and place + 1 < len(named):  # a heading of the next one's name introduces that
            name = _name(lines[following])
            own = (n for n in range(first, following) if lines[n].level and _name(lines[n]) == name)
            following = next(own, following)
        entry = Printed(
            kind, {"name": _name(lines[start]), **said}, start, _end(lines, start, first, following, bare=bare)
        )
        _READERS[kind](entry, lines[first : entry.end])
        found.append(entry)
    return found


# --- lines -----------------------------------------------------------------------------------------------------------

_QUOTE = re.compile(r"\s{0,9}(?:>\s?)+")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(?=\S)")
_RULE = re.compile(r"[\s_*:=\\-]*$|\\(?:column|page\w*)\b.*$|\^[\w-]+$")
_BRACES = re.compile(r"\{\{[\w,:#;%.='\"-]*\s?|\}\}")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|\{[#.:][^{}]{0,100}\}")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\([^()\s]{0,300}(?: \"[^\"]{0,200}\")?\)")
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_BULLET = re.compile(r"^\s*[-*+\u2022]\s+(?=\S)")
_MARKS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|`")


def _line(written: str) -> Line:
    quote = _QUOTE.match(written)
    raw = written[quote.end() :] if quote else written
    closes = raw.strip() == "}}"
    if "{{" in raw or "}}" in raw:
        raw = _BRACES.sub("", raw)
    raw = raw.replace(" :: ", " ").replace("::", " ") if "::" in raw else raw
    raw = _TAG.sub(" ", raw) if "<" in raw or "{" in raw else raw
    raw = "" if _RULE.match(raw) else raw.rstrip()
    heading = _HEADING.match(raw)
    text = plain(raw[heading.end() :].rstrip("# ") if heading else raw)
    return Line(raw, text, len(heading[1]) if heading else 0, bool(quote), closes)


def _rejoined(lines: list[Line]) -> list[Line]:
    """Lines of which the first of several has what belongs together: keys above their values, and a rarity within parentheses."""
    for at, line in enumerate(lines):
        run = _KEYS_ALONE.match(line.text)
        is_open = line.text.count("(") > line.text.count(")") and _ITEM.fullmatch(line.text)
        if line.level or not (run or is_open):
            continue
        keys, told = (_ALONE.findall(run[0]), line.text[run.end() :]) if run else ([line.text], "")
        below = (n for n in range(at + 1, min(at + 5, len(lines))) if lines[n].text.strip("|- :"))
        place = at if told else next(below, at)
        text = told or lines[place].text
        if (place == at and not told) or lines[place].level or _KEYS_ALONE.fullmatch(text):
            continue
        parts = [
            [part.strip() for part in text.split("|") if part.strip()],
            *(each.findall(text) for each in _ROW_VALUES),
        ]
        values = next((found for found in parts if len(found) == len(keys)), []) if len(keys) > 1 else [told or text]
        if values and not (told and len(keys) == 1):
            whole = " ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
            lines[place] = replace(lines[place], raw="", text="")
            lines[at] = replace(line, raw=whole, text=whole)
    return lines


def plain(raw: str) -> str:
    """A line without Markdown."""
    text = _WIKI_LINK.sub(r"\1", raw) if "[[" in raw else raw
    text = _LINK.sub(r"\1", text) if "](" in text else text
    return " ".join(_MARKS.sub("", _BULLET.sub("", text, count=1)).replace("\u2019", "'").split())


def _name(line: Line) -> str:
    name = line.text.strip(" .:")
    return _title(name) if name.isupper() and len(name) > 3 else name


def _title(name: str) -> str:
    words = name.lower().split()
    return " ".join(w if i and w in _SMALL else w[:1].upper() + w[1:] for i, w in enumerate(words))


_IMAGE = re.compile(r"!(?:\[[^\[\]]*\]\([^()]*\)|\[\[[^\[\]]*\]\])")


def _name_above(lines: Sequence[Line], at: int, *, bare: bool = False) -> int | None:
    """The line of the name above the line that shows what an entry is, a heading if there is one; None without one."""
    near = range(at - 1, max(-1, at - (9 if bare else 5)), -1)
    told = [n for n in near if lines[n].text and not _IMAGE.fullmatch(lines[n].raw.strip())]
    above = next(iter(sorted(told[: None if bare else 2], key=lambda n: not lines[n].level)), None)
    return above if above is not None and len(lines[above].text) <= 120 and "|" not in lines[above].text else None


def _end(lines: Sequence[Line], start: int, below: int, following: int, *, bare: bool) -> int:
    """The line after an entry: it ends with its quote or block, before the next entry, and at a heading that is higher than those
    of its rubrics, or as high as its own."""
    first = lines[start]
    highest = first.level or MAX_LEVEL
    for number in range(below, following):
        line = lines[number]
        if line.level and _rubric(line) is not None:
            highest = max(highest, line.level - 1) if bare else highest
        elif 0 < line.level <= highest:
            return number
        if line.closes or (first.quoted and not line.quoted and line.text):
            return number
    return following


# --- what a line begins -----------------------------------------------------------------------------------------------

_SIZE = r"(?:tiny|small|medium|large|huge|gargantuan)"
_CREATURE = re.compile(
    rf"(?P<size>{_SIZE}(?: (?:or|to) (?:{_SIZE}|smaller|larger))?) "
    r"(?P<type>[a-z][a-z' /-]{2,60}?) ?(?:\((?P<subtype>[^()]{1,80})\))?"
    r"(?:, ?(?P<alignment>[a-z(][^|]{2,80}))?",
    re.IGNORECASE,
)
_RATING = re.compile(r"[\s,]+(?:(?:CR|Challenge(?: Rating)?):? (\d+(?:/\d)?)\b|[\d,]+ XP\b).{0,40}$", re.IGNORECASE)
_ALIGNMENT = re.compile(r"\b(?:lawful|neutral|chaotic|good|evil|unaligned|alignment)\b", re.IGNORECASE)
_LEVEL = re.compile(
    r"\b(?:(?:level|circle):? )?(?P<level>\d)(?:st|nd|rd|th)?(?:[. -]{1,2}(?:level|circle))?\b|\bcantrip\b",
    re.IGNORECASE,
)
_SCHOOL = re.compile("|".join(SCHOOLS), re.IGNORECASE)
_BRACKETED = re.compile(r"\(([^()]{1,120})\)")
_MARKED = ("ritual", "concentration")
_OWN = re.compile(r"(?:[,/ ]{0,3}[\w'-]{1,24}){0,4}[,/ ]{0,3}")
"""What else stands in the line below a spell's name: words of a school of a book's own, or classes."""

_THING = (
    r"(?:armou?r|weapon|(?:magic|wondrous) item|potion|ring|rod|staff|wand|scroll|ammunition|instrument|tattoo|shield"
    r"|adventuring gear)"
)
_RARITY = r"(?:common|uncommon|rare|legendary|artifact|rarity|varies)"
_ITEM = re.compile(
    rf"(?P<category>{_THING})(?: \((?P<which>[^()]{{1,120}})\))?, (?P<rarity>[^.|]{{0,90}}?\b{_RARITY}\b[^.]{{0,160}})",
    re.IGNORECASE,
)
_HEADED_ITEM = re.compile(
    rf"(?:(?P<category>[^,.:;|()]{{2,40}})(?: \((?P<which>[^()]{{1,120}})\))?, ?)??"
    rf"(?P<rarity>(?:very )?{_RARITY}(?: (?P<thing>{_THING})| varies)?(?:,? ?(?:\(|requires|attune)[^.]{{0,160}})?)",
    re.IGNORECASE,
)
"""The line right below a heading that says how rare it is."""

_ATTUNEMENT = re.compile(r"\(?((?:requires )?attune[^()]*)\)?", re.IGNORECASE)
_ALONE = re.compile(
    r"\b(?:armou?r class|hit points|speed|challenge|initiative|casting time|range(?:/area)?|components|duration)\b",
    re.IGNORECASE,
)
_KEYS_ALONE = re.compile(rf"(?:[| ]{{0,4}}(?:{_ALONE.pattern})[:| ]{{0,5}})+", re.IGNORECASE)
"""Keys that a page prints above their values."""

_ROW_VALUES = re.compile(r"\([^()]*\)|[^\s()|]+"), re.compile(r"[^\s()|]+(?: (?:ft\.|\([^()]*\)))*")

_HAS_ARMOR_CLASS = re.compile(r"[| ]{0,3}(?:armou?r class|AC)\b[:| ]{0,4}\d", re.IGNORECASE)
_HIT_POINTS = re.compile(r"\b(?:hit points|HP):? ?\d", re.IGNORECASE)
_HAS_CASTING_TIME = re.compile(r"casting time\b", re.IGNORECASE)

_LONGEST_KIND = 250
"""Most characters of a line that says what an entry is."""


def _said(text: str) -> tuple[str, dict[str, object]]:
    """The kind of entry that a line, which stands below its name, says it is, with what it says of it; "" and {} for any other."""
    described = type_line(text)
    if described and _ALIGNMENT.search(described.get("alignment", "unaligned")):
        return CREATURE, dict(described)
    if spell := _spell_line(text):
        return SPELL, spell
    item = _ITEM.fullmatch(text)
    return (ITEM, item.groupdict()) if item else ("", {})


def _spell_line(text: str) -> dict[str, object]:
    """Level, school and what else a line such as "2nd-level evocation (ritual)" says, in any order; {} for any other line."""
    level, school = _LEVEL.search(text), _SCHOOL.search(text)
    left = _LEVEL.sub("", _BRACKETED.sub("", text), count=1) if level else ""
    if level is None or not _OWN.fullmatch(left := _SCHOOL.sub("", left, count=1)):
        return {}
    marks = [part.strip() for own in _BRACKETED.findall(text) for part in own.split(",")]
    return {
        "level": int(level["level"] or 0),
        "school": (school[0] if school else left).strip(" ,").lower(),
        "classes": [name for name in marks if _is_class(name) and name.lower() not in (*_MARKED, *SCHOOLS)],
        **{mark: mark in text.lower() for mark in _MARKED},
    }


@lru_cache(maxsize=8192)
def kind_said(line: str) -> str:
    """The kind of entry that a line, which stands below its name, says it is; "" for any other line, and of schools unknown."""
    kind, said = _said(plain(line)) if len(line) <= _LONGEST_KIND else ("", {})
    return kind if said.get("school", SCHOOLS[0]) in SCHOOLS else ""


_CONFIRMED_BY = {CREATURE: _HAS_ARMOR_CLASS, SPELL: _HAS_CASTING_TIME}
"""How a line begins that follows soon after the one that says the kind; at once, where a spell's school is a book's own."""


def _said_at(lines: Sequence[Line], at: int, *, bare: bool) -> tuple[str, dict[str, object]]:
    """What the line is the second of, and what it says; "" and {} for nothing."""
    text = "" if lines[at].level or len(lines[at].text) > _LONGEST_KIND else lines[at].text
    kind, said = _said(text)
    if bare and not kind and (above := _name_above(lines, at)) is not None and lines[above].level:
        item = None if _KEY.fullmatch(f"{lines[above].text} ") else _HEADED_ITEM.fullmatch(text)
        return (ITEM, item.groupdict()) if item else ("", {})
    far = FAR if said.get("school", SCHOOLS[0]) in SCHOOLS else 1
    return (kind, said) if kind not in _CONFIRMED_BY or _follows(lines, at, _CONFIRMED_BY[kind], far) else ("", {})


def _is_whole(lines: Sequence[Line], at: int) -> bool:
    """Whether the line is an armor class, with hit points and six abilities near it."""
    if not _HAS_ARMOR_CLASS.match(lines[at].text):
        return False
    near = " ".join(line.text for line in lines[max(at - 4, 0) : at + 2 * FAR])
    return bool(_HIT_POINTS.search(near)) and {*ABILITY_OF} == {name.lower() for name in _NAMED.findall(near)}


def _told_above(lines: Sequence[Line]) -> dict[str, object]:
    """What stands between the name of a creature and its values: size and type, and what describes it."""
    told = [line.text for line in lines if line.text]
    described = next(filter(None, map(_CREATURE.fullmatch, told)), None)
    rest = [text for text in told if not described or text != described[0]]
    return {**(described.groupdict("") if described else {}), "desc": "\n\n".join(rest)}


def _follows(lines: Sequence[Line], at: int, sign: re.Pattern[str], far: int = FAR) -> bool:
    near = [line.text for line in lines[at + 1 : at + 2 * FAR] if line.text][:far]
    return any(sign.match(text) for text in near)


# --- creatures -------------------------------------------------------------------------------------------------------

_KEYS = keys("printed lines")
"""How the lines of a stat block begin, and the keys of their values."""

_KEY = re.compile(rf"({'|'.join(sorted(map(re.escape, _KEYS), key=len, reverse=True))})\b ?:? ?", re.IGNORECASE)
_WITHIN = re.compile(
    r"(?<=[\w)\].]) (?=(?:Hit Points|HP|Speed|Initiative|Proficiency Bonus|Challenge(?: Rating)?|CR|AC):? [\d+(\u2212-])"
)
_ABILITY = "|".join(ABILITY_OF)
_SIGN = r"[+\u2212\u2013-]"
_SCORE = re.compile(
    rf"{_ABILITY}|{'|'.join(ABILITY_OF.values())}|mods?|saves?|scores?|stats?|abilit(?:y|ies)|{_SIGN}?\d{{1,2}}|{_SIGN}+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s|:().,/]+")
_NAMED = re.compile(rf"\b(?:{_ABILITY})", re.IGNORECASE)
_ABILITIES = re.compile(rf"((?:\b(?:{_ABILITY})[a-z]*\b[^\w+\u2212\u2013-]{{0,12}}){{1,6}})", re.IGNORECASE)
"""Names of abilities in a row."""

_FIRST, _UNSIGNED = re.compile(r"(\d{1,2})\s*\("), re.compile(r"(?<![\d+\u2212\u2013-])\d{1,2}\b")
_SIGNED = re.compile(rf"{_SIGN}\d+")

RUBRICS = keys("printed rubrics")

_SMALL = frozenset("a an and as at by for from in into of on or per the to with vs".split())
_BOLD = r"(?:\*\*\*|\*\*_|_\*\*|___|\*\*|__)"
_FEATURE = re.compile(
    rf"\s*(?:[-*+]\s+)?{_BOLD}(?P<name>[^*\n]{{1,120}}?)(?:[.:]{_BOLD}|{_BOLD}[.:]|{_BOLD}(?=\s*$))\.?\s*(?P<rest>.*)"
)
_ITALIC_FEATURE = re.compile(r"\s*[*_](?P<name>[^*_\n]{1,60})\.[*_]\s*(?P<rest>\S.*)")
_PLAIN_FEATURE = re.compile(r"(?P<name>[A-Z][^.:;!?|]{0,70}?(?: ?\([^()]{1,60}\))?)[.] (?P<rest>\S.*)")
_ENDS = re.compile(r"[.!?:)\u201d\"'*]$")


def _rubric(line: Line) -> str | None:
    """The rubric that a line is the title of."""
    name = line.text.rstrip(".: ").lower()
    plain = name.partition(" (")[0] if name.endswith(")") else name
    return RUBRICS.get(plain) if len(name) < 60 else None


def _creature(entry: Printed, lines: Sequence[Line]) -> None:
    name, rated = _without_rating(entry.name)
    entry.values |= {"name": name, **rated}
    lines = list(_unrolled(lines))
    size = _header_size(lines)
    told = [line for line in lines[:size] if _FORMULA.search(line.text) or _is_key_of_its_own(line)]
    _read_header(entry, [line for line in lines[:size] if line not in told])
    _read_features(entry, [*told, *lines[size:]])


def _unrolled(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines in which rows that begin with a key are read column by column, a key alone with its value."""
    for is_row, run in groupby(lines, lambda line: line.text[:1] == "|" and not _is_scores(line.text)):
        own = list(run)
        rows = [[cell.strip() for cell in line.text.strip("|").split("|")] for line in own] if is_row else [[""]]
        if not _KEY.match(f"{rows[0][0]} "):
            yield from own
            continue
        rows = [[" ".join(filter(None, row))] if _KEY.fullmatch(f"{row[0]} ") else row for row in rows]
        wide = [row[0] for row in rows if not any(row[1:]) and not _KEY.match(row[0])]
        columns = zip_longest(*(row for row in rows if row[0] not in wide), fillvalue="")
        told = [*(cell for column in columns for cell in column), *wide]
        yield from (replace(own[0], raw=text, text=text) for text in told if text)


def _is_key_of_its_own(line: Line) -> bool:
    """Whether a line of values begins with bold words that no stat block has otherwise."""
    return line.raw.lstrip().startswith("**") and not (_KEY.match(line.text) or _is_scores(line.text))


def type_line(text: str) -> dict[str, str]:
    """Size, type, subtype and alignment of a line such as "Medium humanoid (elf), neutral"; {} for any other.

    What is summoned may have no alignment; then the type is one of the game's.
    """
    kind, rated = _without_rating(text)
    match = _CREATURE.fullmatch(kind)
    if match is None or not (match["alignment"] or match["type"].lower() in CREATURE_TYPES):
        return {}
    return {key: match[key] for key in ("size", "type", "subtype", "alignment") if match[key]} | rated


def _without_rating(text: str) -> tuple[str, dict[str, str]]:
    """A name or a type without the challenge rating at its right, and that."""
    match = _RATING.search(text)
    return (text[: match.start()], {"cr": match[1]} if match[1] else {}) if match else (text, {})


def _header_size(lines: Sequence[Line]) -> int:
    """How many lines come before the features: up to the challenge rating, which is the last of the values."""
    size = 0
    for number, line in enumerate(lines):
        if _rubric(line) is not None or (line.level and number):
            break
        key = _KEY.match(line.text)
        if key or (_is_scores(line.text)):
            size = number + 1
        elif size and _begins_feature(line, lines[number - 1], marked=False):
            break
    return size


def has_value(text: str) -> bool:
    """Whether a line is one of the values below the line that says the kind."""
    key = None if text[:1].islower() else _KEY.match(text)
    return bool(key and text[key.end() :]) or _is_scores(text) or _SPELL_KEY.match(text) is not None


def _is_scores(text: str) -> bool:
    """Whether a line has nothing but abilities and numbers."""
    found = _WORD.findall(text) if len(text) <= MAX_SCORES else ()
    own = text if text[:1] == "|" else found
    return any(map(str.isalnum, own)) and all(map(_SCORE.fullmatch, found))


def _read_header(entry: Printed, lines: Sequence[Line]) -> None:
    scores: list[str] = []
    key = ""
    found: dict[str, str] = {}
    for line in lines:
        if not line.text:
            continue
        if _is_scores(line.text):
            scores.append(line.text)
            key = ""
            continue
        for part in _WITHIN.split(line.text):
            match = _KEY.match(part)
            if match and part[match.end() :]:
                key = _KEYS[match[1].lower()]
                if key and key not in found:
                    found[key] = part[match.end() :].strip()
            elif _RULED.fullmatch(part) or (match and not part[match.end() :]):
                continue
            elif key:
                found[key] = f"{found[key]} {part}"  # a line that was broken
            else:
                entry.left.append(part)
    entry.values |= _values(found) | _ability_scores(" ".join(scores)[: 4 * MAX_SCORES])


_RULED = re.compile(r"[|:\s-]*")

_FORMULA = re.compile(r"^(?:armou?r class|AC|hit points|HP|challenge|CR)\b.*\byour\b", re.IGNORECASE)
"""What depends on whoever has the creature, as that of a companion: a number in it is none of the creature's."""


def _values(found: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = dict(found)
    for key in ("saves", "skillsaves"):
        if key in found:
            values[key] = [part.strip() for part in found[key].replace("\u2212", "-").split(",")]
    if "initiative_bonus" in found:
        bonus = re.match(r"[+-]?\d+", found["initiative_bonus"].replace("\u2212", "-"))
        values["initiative_bonus"] = int(bonus[0]) if bonus else found["initiative_bonus"]
    if "cr" in found:
        values["cr"] = re.split(r"[(,]| XP", found["cr"])[0].strip()
    if "damage_immunities" in found and "condition_immunities" not in found:
        parts = re.split(r";\s*", found["damage_immunities"])
        states = [part for part in parts if set(re.findall(r"\w+", part.lower())) & {*CONDITIONS, "exhaustion"}]
        values["condition_immunities"] = ", ".join(states)
        values["damage_immunities"] = "; ".join(part for part in parts if part not in states)
    return {
        key: value for key, value in values.items() if value not in ("", "-", "\u2014", "\u2013", ["\u2014"], "None")
    }


def _ability_scores(text: str) -> dict[str, object]:
    """Scores that stand below or beside their names, and the bonuses of saving throws where they stand beside the modifiers."""
    stats, saves = dict[str, int](), list[dict[str, int]]()
    parts = _ABILITIES.split(text)
    for run, told in zip(parts[1::2], parts[2::2], strict=True):
        names, numbers = _NAMED.findall(run), _FIRST.findall(told)
        numbers = numbers if len(numbers) == len(names) else _UNSIGNED.findall(told)
        if len(numbers) >= len(names):
            stats |= zip(map(str.lower, names), map(int, numbers), strict=False)
        if len(names) == 1 and numbers and len(signed := list(map(_signed, _SIGNED.findall(told)))) > 1:
            saves += [{ABILITY_OF[names[0].lower()]: signed[1]}] if signed[0] != signed[1] else []
    return ({"stats": stats} if stats else {}) | ({"saves": saves} if saves else {})


def _signed(text: str) -> int:
    return int(re.sub(r"[\u2212\u2013]", "-", text).replace(" ", "").replace("+", ""))


def _begins_feature(line: Line, before: Line | None, *, marked: bool) -> re.Match[str] | None:
    """The name and the rest of a line with which a feature begins, by its bold words; in plain text by their case."""
    if match := _FEATURE.match(line.raw):
        return match if "." in line.raw[match.start("name") : match.end("name") + 5] or not match["rest"] else None
    if marked:
        return _ITALIC_FEATURE.match(line.raw) if line.raw.lstrip()[:1] in "*_" else None
    match = _PLAIN_FEATURE.match(line.text)
    if match is None or (before and before.text and len(before.text) > 45 and not _ENDS.search(before.text)):
        return None
    words = re.sub(r"\(.*", "", match["name"]).split()
    titled = all(word[:1].isupper() or word.lower() in _SMALL or word[:1].isdigit() for word in words)
    return match if titled and len(words) <= 8 and not _KEY.match(line.text) else None


def _read_features(entry: Printed, lines: Sequence[Line]) -> None:
    marked = any(_FEATURE.match(line.raw) for line in lines)
    rubric = "traits"
    features: dict[str, list[tuple[str, list[Line]]]] = {}
    for number, line in enumerate(lines):
        if (found := _rubric(line)) is not None:
            rubric = found
            features.setdefault(rubric, [])
            continue
        own = features.setdefault(rubric, [])
        start = None if line.level else _begins_feature(line, lines[number - 1] if number else None, marked=marked)
        if line.level:
            own.append((line.text, []))
        elif start and rubric != "desc":
            rest = start["rest"]
            own.append((plain(start["name"]).rstrip(".: "), [Line(rest, plain(rest), 0, line.quoted, False)]))
        elif line.text or own:
            if not own:
                own.append(("", []))
            own[-1][1].append(line)
    for rubric, found_features in features.items():
        _add_features(entry, rubric, [(name, _joined(text, marked=marked)) for name, text in found_features])


def _add_features(entry: Printed, rubric: str, features: list[tuple[str, str]]) -> None:
    named = [{"name": name, "desc": text} for name, text in features if name]
    told = "\n\n".join(text for name, text in features if not name and text)
    if rubric == "desc" or (rubric == "traits" and told):
        rest = told if rubric == "traits" else "\n\n".join(f"{n}. {t}".lstrip(". ") for n, t in features)
        entry.values["desc"] = "\n\n".join(filter(None, (str(entry.values.get("desc") or ""), rest)))
    elif rubric == "legendary_actions" and told and named:
        entry.values["legendary_description"] = told
    elif told:
        named.insert(0, {"name": "", "desc": told})
    if named and rubric != "desc":
        entry.values[rubric] = named


def _joined(lines: Sequence[Line], *, marked: bool) -> str:
    """Lines as Markdown: in copied text the lines of a paragraph are joined, which the page has broken."""
    if marked or any(line.raw != line.text for line in lines[1:] if "*" in line.raw or "|" in line.raw):
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.raw for line in lines)).strip()
    paragraphs: list[str] = [""]
    for line in lines:
        if not line.text:
            paragraphs.append("")
        else:
            paragraphs[-1] = f"{paragraphs[-1]} {line.text}".strip()
    return "\n\n".join(filter(None, paragraphs))


# --- spells and items ------------------------------------------------------------------------------------------------

_SPELL_KEYS = keys("printed spells")
_SPELL_KEY = re.compile(
    rf"(?-i:(?![a-z]))({'|'.join(sorted(_SPELL_KEYS, key=len, reverse=True))})(?-i:(?![a-z])) ?:? ?(?=\S)",
    re.IGNORECASE,
)
_LAST_CLASSES = re.compile(r"classes: ?\S.{0,2000}", re.IGNORECASE)
"""The classes of a spell below its text."""

_SPELL_WITHIN = re.compile(r" (?=(?:Casting Time|Range|Components?|Duration|Classes): )")
"""Where another value begins on the same line."""

_HIGHER = re.compile(
    r"(?:(?:\A|\n[^\S\n]*)[*_]{0,3}(?:at higher levels?|using a higher[- ]level spell slot|cantrip upgrade)[.:]?[*_]{0,3}[.:]?"
    r"|(?<=[.!)]) (?-i:At Higher Levels?|Using a Higher-Level Spell Slot|Cantrip Upgrade)\.(?= ))\s*",
    re.IGNORECASE,
)


def _spell(entry: Printed, lines: Sequence[Line]) -> None:
    name, _, listed = entry.name.removesuffix(")").partition(" (")
    if len(names := listed.split(", ")) > 1 and all(map(_is_class, names)):
        entry.values |= {"name": name, "classes": names}
    key, size, values = "", 0, dict[str, str]()
    for number, line in enumerate(lines):
        found = _SPELL_KEY.match(line.text)
        if found and (key or not values):
            for part in _SPELL_WITHIN.split(line.text):
                if found := _SPELL_KEY.match(part):
                    key = _SPELL_KEYS[found[1].lower()]
                    values[key] = part[found.end() :]
            size = number + 1
        elif key and line.text and not (number and not lines[number - 1].text) and "duration" not in values:
            values[key] += f" {line.text}"  # a line that was broken
            size = number + 1
        elif line.text and values:
            break
    text, classes = _classes_below(lines[size:]) if "classes" not in values else (lines[size:], values.pop("classes"))
    if classes:
        named = [part.strip() for part in re.split("[,;]", classes)]
        entry.values["classes"] = [name for name in named if "(" not in name]  # with it, a subclass that grants it
    entry.values |= values
    if "ritual" in values.get("time", "").lower():
        entry.values["ritual"] = True
    _with_text(entry, text)


def _classes_below(lines: Sequence[Line]) -> tuple[Sequence[Line], str]:
    """A spell's text without the line of its classes that ends it, and what that line lists, "" without one."""
    place = next((n for n in reversed(range(len(lines))) if _LAST_CLASSES.fullmatch(lines[n].text)), None)
    if place is None:
        return lines, ""
    return [*lines[:place], *lines[place + 1 :]], lines[place].text.partition(":")[2]


def _is_class(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?", name))


def _item(entry: Printed, lines: Sequence[Line]) -> None:
    thing = str(entry.values.get("thing") or "")
    rarity, *attunement = _ATTUNEMENT.split(str(entry.values["rarity"]).removesuffix(thing), maxsplit=1)
    entry.values |= {
        "category": str(entry.values["category"] or thing).lower(),
        "rarity": f"{rarity}{''.join(attunement[1:])}".strip(" ,"),
        "attunement": "".join(attunement[:1]),
    }
    _with_text(entry, lines)


def _with_text(entry: Printed, lines: Sequence[Line]) -> None:
    marked = any(line.level or line.raw.lstrip()[:1] in "*_|" for line in lines if line.raw)
    text = _joined(lines, marked=marked)
    own, *higher = _HIGHER.split(text, maxsplit=1) if marked or entry.kind == SPELL else [text]
    entry.values |= {"text": own.strip(), "higher_level": "".join(higher).strip()}


_READERS: dict[str, Callable[[Printed, Sequence[Line]], None]] = {CREATURE: _creature, SPELL: _spell, ITEM: _item}
