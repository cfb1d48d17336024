"""Inline tags of 5etools texts, ``{@spell fireball|phb|a ball of fire}``, as plain text or Markdown.

Tags nest, so a text is read once from its beginning, with a stack of the tags that are open. Broken markup is kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lorekeeper.terms import ABILITY_OF

MAX_OPEN = 24
"""Most tags that are open at once; further ones are read as text, so that the time stays linear in the length."""

_TOKEN = re.compile(r"\\[{}]|\{[@=#]|[{}|]")

_PROMPT = re.compile(r"#\$[^#]{0,200}#")
"""A place where the site asks for a number."""

_SPACES = re.compile(r"[ \t]{2,}")

Parts = Sequence[str]


@dataclass(frozen=True)
class Reference:
    """Another entry that a text names.

    Attributes:
        type: its collection.
        name: as the tag has it.
        source: code of its source, "" if the tag has none.
    """

    type: str
    name: str
    source: str = ""


@dataclass(frozen=True)
class Target:
    """What the tag of a reference names.

    Attributes:
        type: the collection of the entry.
        source: which part of the tag is the code of its source.
        shown: which part is shown, if it is there.
        mark: around it in Markdown, as the books print names of that type; page and searches know names by it.
    """

    type: str
    source: int = 1
    shown: int = 2
    mark: str = ""


def _rules(*names: str) -> dict[str, Target]:
    return dict.fromkeys(names, Target("rules"))


TARGETS: dict[str, Target] = {
    "spell": Target("spells", mark="*"),
    "creature": Target("creatures", mark="**"),
    "item": Target("equipment", mark="*"),
    "itemEntry": Target("equipment", mark="*"),
    "feat": Target("character_options"),
    "background": Target("character_options"),
    "race": Target("character_options"),
    "class": Target("character_options"),
    "subclass": Target("character_options", 3, 4),
    "deity": Target("rules", 2, 3),
    "card": Target("rules", 2, 3),
    **_rules(
        "condition", "disease", "status", "skill", "sense", "action", "optfeature", "table", "variantrule", "reward"
    ),
    **_rules("hazard", "trap", "vehicle", "vehupgrade", "object", "language", "cult", "boon", "deck", "itemProperty"),
    **_rules("itemMastery", "charoption", "recipe", "facility", "psionic", "legroup"),
}
"""Tags that name other entries."""

SHOWN = {"classFeature": 5, "subclassFeature": 7, "quickref": 4, "scaledice": 4, "scaledamage": 4}
"""Which part of other tags is shown, if it is there; the first one otherwise."""

SHOWN_SECOND = ("dice", "damage", "d20", "hit", "dc", "chance", "autodice", "ability", "savingThrow")
"""Tags whose second part is shown instead of what the first one gives."""

_ORDINALS = {"1": "First ", "2": "Second ", "3": "Third "}

_WORDS = {
    "h": "Hit: ",
    "m": "Miss: ",
    "hom": "Hit or Miss: ",
    "actSaveSuccess": "Success:",
    "actSaveSuccessOrFail": "Failure or Success:",
    "actTrigger": "Trigger:",
    "actResponse": "Response:",
    "dcYourSpellSave": "your spell save DC",
    "hitYourSpellAttack": "your spell attack modifier",
}
"""What tags say whatever their parts are."""

_WITH_OWN_WORDS = frozenset({"hitYourSpellAttack", "dcYourSpellSave"})
"""Those of them that may have words of their own."""

_MARKS = {"b": "**", "bold": "**", "i": "*", "italic": "*", "note": "*"}

_ATTACKS = {"m": "Melee", "r": "Ranged", "a": "Area"}
_WEAPONS = {"w": "Weapon ", "s": "Spell ", "p": "Power "}


def signed(text: str) -> str:
    """A number with its sign: "+5" of "5"."""
    text = text.strip()
    return f"+{text}" if text[:1].isdigit() else text


def _attack(parts: Parts) -> str:
    """ "Melee or Ranged Weapon Attack:" of "mw,rw"."""
    codes = [code.strip() for code in parts[0].split(",")]
    ways = dict.fromkeys(_ATTACKS[code[0]] for code in codes if code[:1] in _ATTACKS)
    arms = dict.fromkeys(_WEAPONS[code[1]] for code in codes if code[1:2] in _WEAPONS)
    return f"{' or '.join(ways)} {'or '.join(arms)}Attack:".strip()


def _attack_roll(parts: Parts) -> str:
    ways = dict.fromkeys(_ATTACKS[code.strip()] for code in parts[0].split(",") if code.strip() in _ATTACKS)
    return f"{' or '.join(ways)} Attack Roll:".strip()


def _recharge(parts: Parts) -> str:
    """ "(Recharge 5–6)"; without brackets if a second part asks for that."""
    lowest = parts[0].strip() or "6"
    words = "Recharge 6" if lowest == "6" else f"Recharge {lowest}–6"
    return words if "m" in parts[1:] else f"({words})"


def _ability(parts: Parts) -> str:
    """ "20 (+5)" of "str 20"."""
    score = parts[0].rpartition(" ")[2]
    return f"{score} ({(int(score) - 10) // 2:+d})" if score.isdecimal() and len(score) < 4 else parts[0]


def _last_signed(parts: Parts) -> str:
    """ "+5" of "animal_handling 5"."""
    return signed(parts[0].rpartition(" ")[2])


def _save(parts: Parts) -> str:
    return f"{ABILITY_OF.get(parts[0].strip()[:3], parts[0]).title()} Saving Throw:"


def _failure(parts: Parts) -> str:
    return f"{_ORDINALS.get(parts[0].strip(), '')}Failure:"


def _dice(words: str) -> str:
    """Dice, with words for what the site fills in."""
    for variable, meaning in (
        ("summonSpellLevel", "the spell's level"),
        ("summonClassLevel", "your level"),
        (";", "/"),
    ):
        words = words.replace(variable, meaning)
    return _PROMPT.sub("a bonus", words)


def _link(parts: Parts) -> str:
    """The words that are shown, with an address of the web behind them."""
    address = parts[1].strip() if len(parts) > 1 else ""
    is_web = re.fullmatch(r"https?://[^\s()]{1,500}", address) is not None
    return f"{parts[0]} ({address})" if is_web and address != parts[0] else parts[0]


SAID: dict[str, Callable[[Parts], str]] = {
    "atk": _attack,
    "atkr": _attack_roll,
    "recharge": _recharge,
    "ability": _ability,
    "savingThrow": _last_signed,
    "skillCheck": _last_signed,
    "actSave": _save,
    "actSaveFail": _failure,
    "link": _link,
    "hit": lambda parts: signed(parts[0]),
    "d20": lambda parts: signed(parts[0]),
    "initiative": lambda parts: signed(parts[0]),
    "dc": lambda parts: f"DC {parts[0]}",
    "chance": lambda parts: f"{parts[0]} percent",
    "coinflip": lambda parts: parts[0] or "flip a coin",
    "scaledice": lambda parts: parts[min(2, len(parts) - 1)],
    "scaledamage": lambda parts: parts[min(2, len(parts) - 1)],
    "dice": lambda parts: _dice(parts[0]),
    "damage": lambda parts: _dice(parts[0]),
}
"""What other tags say."""


class Reader:
    """Reads texts of one entry.

    Args:
        variables: what ``{=name}`` stands for.

    Attributes:
        references: other entries that the texts name, each once, in order.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self.references: dict[Reference, None] = {}
        self._variables = variables or {}

    def plain(self, text: str) -> str:
        """A text without any markup, in one line, for names and values."""
        return " ".join(self._read(text, marked=False).split())

    def prose(self, text: str) -> str:
        """A text as Markdown: bold and italics are kept."""
        words = _SPACES.sub(" ", self._read(text, marked=True)).strip()
        is_footnote = words.startswith("*") and words.count("*") == 1
        return f"\\{words}" if is_footnote else words

    def _read(self, text: str, *, marked: bool) -> str:
        if "{" not in text:
            return text
        open_tags: list[_Open] = [_Open("")]
        at = 0
        for token in _TOKEN.finditer(text):
            open_tags[-1].add(text[at : token.start()])
            self._take(token[0], open_tags, marked=marked)
            at = token.end()
        open_tags[-1].add(text[at:])
        while len(open_tags) > 1:  # never closed: their words stay
            unclosed = open_tags.pop()
            open_tags[-1].add(unclosed.raw())
        return "".join(open_tags[0].parts[0])

    def _take(self, mark: str, open_tags: list[_Open], *, marked: bool) -> None:
        inner = open_tags[-1]
        if mark in ("{@", "{=", "{#", "{"):
            if len(open_tags) <= MAX_OPEN:
                open_tags.append(_Open(mark, is_emphasised=inner.is_emphasised or inner.name in _MARKS))
        elif mark == "}" and len(open_tags) > 1:
            open_tags.pop()
            open_tags[-1].add(self._closed(inner, marked=marked))
        elif mark == "|" and inner.opener in ("{@", "{=", "{#"):
            inner.parts.append([])
        else:
            inner.add(mark.removeprefix("\\"))

    def _closed(self, tag: _Open, *, marked: bool) -> str:
        """What a tag says."""
        first, *others = ("".join(part) for part in tag.parts)
        if tag.opener == "{":
            return f"{{{first}}}"
        if tag.opener == "{=":
            return self._variables.get(first.partition("/")[0], "")
        name, _, content = first.strip().partition(" ")
        if name in TARGETS:
            return self._reference(TARGETS[name], [content, *others], marked=marked and not tag.is_emphasised)
        return self._said(name, [content, *others], marked=marked)

    def _said(self, name: str, parts: list[str], *, marked: bool) -> str:
        if name in _WORDS:
            return parts[0] if parts[0] and name in _WITH_OWN_WORDS else _WORDS[name]
        if name in _MARKS:
            mark, words = _MARKS[name] if marked else "", parts[0].strip()
            return f"{mark}{words}{mark}" if words else ""
        shown = 1 if name in SHOWN_SECOND else SHOWN.get(name, 0)
        if 0 < shown < len(parts) and parts[shown].strip():
            return f"DC {parts[shown]}" if name == "dc" else parts[shown]
        said = SAID.get(name)
        return said(parts) if said else parts[0]

    def _reference(self, target: Target, parts: list[str], *, marked: bool) -> str:
        name = parts[0].strip()
        source = parts[target.source].strip() if len(parts) > target.source else ""
        if name:
            self.references.setdefault(Reference(target.type, name, source))
        shown = parts[target.shown] if len(parts) > target.shown else ""
        words, mark = (shown or name).strip(), target.mark if marked else ""
        return f"{mark}{words}{mark}" if words else ""


class _Open:
    """A tag, or a lone brace, that is not closed yet; the parts of its content so far.

    Attributes:
        is_emphasised: whether a tag around it makes it bold or italic.
    """

    def __init__(self, opener: str, *, is_emphasised: bool = False) -> None:
        self.opener, self.is_emphasised = opener, is_emphasised
        self.parts: list[list[str]] = [[]]

    @property
    def name(self) -> str:
        """The name of the tag, as far as it is read."""
        return self.parts[0][0].split(" ", 1)[0] if self.opener == "{@" and self.parts[0] else ""

    def add(self, text: str) -> None:
        """More of the part that is being read."""
        if text:
            self.parts[-1].append(text)

    def raw(self) -> str:
        """The words of a tag that was never closed, without its name."""
        first, *others = ("".join(part) for part in self.parts)
        if self.opener == "{@":
            first = first.partition(" ")[2]
        return "|".join([first if self.opener != "{" else f"{{{first}", *others])
