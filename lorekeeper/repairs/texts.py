"""The prose of Open5e without the debris of the formats that it came through.

Each rule names the books that have the fault, since the same characters may be right elsewhere. What no rule can know is left
as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lorekeeper.repairs.misprints import BOOKS, corrected

_TWO_ROWS = re.compile(
    r"^(\| ?)(\d{1,3})([-–])(\d{1,3})( *\| *)([^|\n]*[.!?]) (\d{1,3})[-–](\d{1,3}) ([A-Z][^|\n]*?)( *\|[ \r]*)$",
    re.MULTILINE,
)


def _separated(text: str) -> str:
    """The rows "| 01-05 | First. 06-10 Second. |" apart, if the second range begins where the first ends."""
    return _TWO_ROWS.sub(_two_rows, text) if "-" in text or "–" in text else text


def _two_rows(match: re.Match[str]) -> str:
    bar, first, dash, last, between, one, least, most, other, end = match.groups()
    if int(least) != int(last) + 1 or int(most) < int(least):
        return match[0]
    return f"{bar}{first}{dash}{last}{between}{one}{end}\n{bar}{least}{dash}{most}{between}{other}{end}"


_ONE_LINE = re.compile(r"(?m)(?:^|[ \t]+)(\|[^\n]*?\|)[ \t]+(\|(?:[ \t]*:?-{3,}:?[ \t]*\|)+)[ \t]+(\|[^\n]*\|)[ \t]*")


def _in_lines(text: str) -> str:
    """A Markdown table that is run together in one line, "| d10 | Behavior | |---|---| | 1 | It runs. |", in lines."""
    return _ONE_LINE.sub(_table_lines, text) if "---" in text else text


def _table_lines(match: re.Match[str]) -> str:
    head, delimiter, body = match.groups()
    columns = delimiter.count("|") - 1
    cells = [cell.strip() for cell in body.split("|")[1:-1]]
    rows = [cells[place : place + columns] for place in range(0, len(cells), columns + 1)]
    between = cells[columns :: columns + 1]
    if head.count("|") != columns + 1 or any(between) or len(rows[-1]) != columns:
        return match[0]
    return "\n\n" + "\n".join([head, delimiter, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n\n"


@dataclass(frozen=True)
class Rule:
    """A fault of some books, and how it is put right.

    Attributes:
        reason: what the fault is.
        books: the documents that have it; None for all of Open5e's.
        marks: a text has the fault only if it has one of these, in lower case.
        repair: gives the text without it.
    """

    reason: str
    books: frozenset[str] | None
    marks: tuple[str, ...]
    repair: Callable[[str], str]


def _replacing(pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(replacement, text)


_DISTANCE = r"(?:reach|range) [\d/]{1,9} (?:ft\.?|feet\.?)"

_WORD = r"[A-Z][\w'’-]{0,30}"

_BAR = r"(?: ?\| ?|; )"
"""What separates the parts of a tag, in a source and in a snippet."""

_CONTRACTIONS = (
    r"\b(?<!thieves )(?<!thieves’ )(?<!thieves' )(can|do|does|did|is|are|was|were|has|have|had|would|could|should)nt\b"
)

_2024 = frozenset({"srd-2024"})
_LEVEL_UP = frozenset({"a5e-mm"})
_LEVEL_UP_GUIDE = frozenset({"a5e-ag"})
_DEEP_MAGIC = frozenset({"deepmx", "kp", "wz"})

_OWNED = (
    r"(?:next|turns?|choice|actions?|allies|spaces?|saving|reach|[Ss]peed|movement|presence|control|heads?|skull|statistics|stats|"
    r"attacks?|body|size|level|bite|curse|orders|memories|claws?|hands?|eyes?|tail|sight|lair|area|chest|life|poison|hit points|"
    r"statistics|command|concentration|equipment|soul|mind|senses|true|choosing|innate|spellcasting|extended|own|magical|[A-Z]\w+)"
)
"""What is said to be somebody's, most often."""

_NO_OWNER = (
    r"(?:it|ha|bonu|use|make|ignore|start|end|fail|begin|lose|restore|take|become|regain|gain|deal|leave|enter|move|fire|speak|can't|claw|bite|"
    r"second|hour|minute|level)s\b"
)
_POSSESSIVE = (
    r"\b([Tt]he|[Aa]n?|another|each) "
    rf"((?:(?!of\b|that\b|who\b)[a-z]+ )?(?!{_NO_OWNER})[a-z]*[a-rt-z](?<!u))s (?={_OWNED}\b)"
)
"""A noun that has lost its apostrophe: "the dragons choice", "a creatures next turn"."""

_HEADED_BY = r"(?:While|When|Whenever|You|The|This|If|As|Once|In|Each|It|Any|An?|At|For|Your|On|By)"
_RARITY = r"(?: \((?:Common|Uncommon|Rare|Very Rare|Legendary|Artifact)\))?"
_PROPERTY = (
    rf"(?m)(?:(?<=[.!?)]) |^)([A-Z][\w'’-]+(?: (?:of|the|and|to|[A-Z][\w'’-]+)){{0,5}}{_RARITY})\. (?={_HEADED_BY} )"
)
"""The name of a further property of an item, within its text."""

RULES: Sequence[Rule] = (
    Rule(
        'tags of another format: "Sphere [Area of Effect]|XPHB|Sphere" is "Sphere"',
        _2024,
        ("xphb",),
        _replacing(rf"(?:{_WORD} \[{_WORD}[^][|]{{0,40}}\]|(?:{_WORD} ){{0,3}}{_WORD}){_BAR}XPHB(?:{_BAR}|\b)", ""),
    ),
    Rule('lost spaces in "Hit or Miss:"', _2024, ("hitom",), _replacing(r"\bHitom(?=[A-Z])", "Hit or Miss: ")),
    Rule(
        'attacks without "Hit:"',
        _2024,
        ("attack roll:",),
        _replacing(
            rf"(Attack Roll: [+-]\d[^.\n]{{0,120}}?{_DISTANCE}(?:,? or {_DISTANCE})?) (?!\*{{0,2}}Hit)", r"\1 Hit: "
        ),
    ),
    Rule(
        'an empty list of spells "At Will:"',
        _2024,
        ("at will:",),
        _replacing(r"(?m)^[-*• ]*\*\*At Will:\*\*[ \t]*$\n?", ""),
    ),
    Rule("lost apostrophes", _LEVEL_UP, ("nt",), _replacing(_CONTRACTIONS, r"\1n't")),
    Rule("lost commas, where two spaces are left", _LEVEL_UP, ("  ",), _replacing(r"(?<=[\w)])  (?=[a-z0-9])", ", ")),
    Rule("lost apostrophes", _LEVEL_UP, ("s ",), _replacing(_POSSESSIVE, r"\1 \2's ")),
    Rule("lost apostrophes", _LEVEL_UP, ("s choice)",), _replacing(r"\(([a-z]+)s choice\)", r"(\1's choice)")),
    Rule(
        'the label of a spell run into its text: "Deep Magic: clockwork You create"',
        _DEEP_MAGIC,
        ("deep magic: ",),
        _replacing(r"^(Deep Magic: [A-Za-z][a-z -]{2,30}?) (?=[A-Z])", r"*\1*\n\n"),
    ),
    Rule("properties run together", frozenset({"vom"}), (". ",), _replacing(_PROPERTY, r"\n\n**\1.** ")),
    Rule('"with o" for "without"', frozenset({"tob3"}), ("with o ",), _replacing(r"\bwith o\b", "without")),
    Rule("points that Markdown need not escape", _LEVEL_UP_GUIDE, ("\\.",), _replacing(r"(\w)\\\.", r"\1.")),
    Rule("thousands with a space", _LEVEL_UP_GUIDE, (", 000",), _replacing(r"(?<=\d), (?=000\b)", ",")),
    Rule('a lost space before "ft"', None, ("ft",), _replacing(r"(?<=\d)ft\b", " ft")),
    Rule("two full stops for one", None, ("..",), _replacing(r"(?<!\.)\.\.(?!\.)", ".")),
    Rule('"(table)" after the title of a table', None, (" (table)",), _replacing(r" \(table\)", "")),
    Rule("a lost dash between numbers", None, ("\ufffd",), _replacing(r"(?<=\d)\ufffd(?=\d)", "–")),
    Rule(
        "a lost space after a label",
        None,
        ("hit:", ":**"),
        _replacing(r"(\bHit:(?=\d)|\*\*[^*\n]{1,40}:\*\*(?=\w))", r"\1 "),
    ),
    Rule(
        "a space next to the hyphen of a measure, or a star for it",
        None,
        ("- ", " -", "* foot"),
        _replacing(r"\b(\d{1,3}(?:st|nd|rd|th)?)(?:- | -|\* )(foot|level|gp|radius)\b", r"\1-\2"),
    ),
    Rule(
        "a space after the hyphen of a word",
        frozenset({"srd-2014", "wotc-srd"}),
        ("- ",),
        _replacing(r"\b(two|good|fog|higher|self|foot)- (handed|aligned|shrouded|than|destructive|radius)\b", r"\1-\2"),
    ),
    Rule(
        "several hyphens for one",
        frozenset({"srd-2014", "wotc-srd"}),
        ("-", "\xad"),
        _replacing(r"(?<=\w)(?:-\xad?[-‐‑]{1,3}|\xad?[-‐‑]{2,3})(?=\w)", "-"),
    ),
    Rule("two rows of a table in one", None, ("|",), _separated),
    Rule("a table in one line", None, ("--|", "-- |"), _in_lines),
    Rule("misprinted words", BOOKS, ("",), corrected),
)
"""Every rule, in the order in which they are applied."""

_LISTED = re.compile(r",(?=[A-Za-z])")

LISTS = frozenset({"as_string", "languages"})
"""Keys of lines with lists in which blanks after commas are lost; besides those that end as `DISPLAYED`."""

DISPLAYED = "_display"


def repaired_line(document: str, text: str) -> str:
    """A text of an entry of this document, repaired."""
    return _text(text, _rules(document), "")


def _rules(document: str) -> list[Rule]:
    return [rule for rule in RULES if rule.books is None or document in rule.books]


def repaired_texts(document: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object with the texts in it repaired; the same object if no rule has changed any."""
    repaired: Mapping[str, Any] = _repaired(data, _rules(document), "")
    return repaired


def text_changes(document: str, data: Mapping[str, Any]) -> Iterator[str]:
    """The reasons of the rules that change a text of an object."""
    for rule in _rules(document):
        if _repaired(data, [rule], "") is not data:
            yield rule.reason


def _repaired(value: Any, rules: Sequence[Rule], key: str) -> Any:
    """A value with its texts repaired, the same object if it has not changed."""
    match value:
        case str():
            return _text(value, rules, key)
        case list():
            found = [_repaired(item, rules, key) for item in value]
            return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
        case Mapping():
            parts = {name: _repaired(part, rules, str(name)) for name, part in value.items()}
            return parts if any(parts[name] is not part for name, part in value.items()) else value
    return value


def _text(text: str, rules: Sequence[Rule], key: str) -> str:
    if " " not in text and "," not in text:
        return text
    if "," in text and (key in LISTS or key.endswith(DISPLAYED)):
        text = _LISTED.sub(", ", text)
    lowered = text.lower()
    for rule in rules:
        if any(mark in lowered for mark in rule.marks):
            text = rule.repair(text)
    return text
