"""Inline tags of 5etools texts, ``{@spell fireball|phb|a ball of fire}``, as plain text or Markdown.

Tags nest, so a text is read once from its beginning, with a stack of the tags that are open. Broken markup is kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lorekeeper.normalize.fivetools.values import abilities, text, title, word

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


def signed(number: str) -> str:
    """A number with its sign: "+5" of "5"."""
    number = number.strip()
    return f"+{number}" if number[:1].isdigit() else number


def _ways(codes: str, table: str, place: int = 0) -> Iterable[str]:
    """What the letters at a place of some codes stand for, each once."""
    letters = (code.strip()[place : place + 1] for code in codes.split(","))
    return dict.fromkeys(word(table, letter) for letter in letters if letter in word[table])


def _attack(parts: Parts) -> str:
    """ "Melee or Ranged Weapon Attack:" of "mw,rw"."""
    ways, arms = _ways(parts[0], "attacks"), _ways(parts[0], "weapons", 1)
    return f"{' or '.join(ways)} {'or '.join(arms)}Attack:".strip()


def _recharge(parts: Parts) -> str:
    """ "(Recharge 5–6)"; without brackets if a second part asks for that."""
    lowest = parts[0].strip() or "6"
    words = "Recharge 6" if lowest == "6" else f"Recharge {lowest}–6"
    return words if "m" in parts[1:] else f"({words})"


def _ability(parts: Parts) -> str:
    """ "20 (+5)" of "str 20"."""
    score = parts[0].rpartition(" ")[2]
    return f"{score} ({(int(score) - 10) // 2:+d})" if score.isdecimal() and len(score) < 4 else parts[0]


def _dice(words: str) -> str:
    """Dice, with words for what the site fills in."""
    for variable, meaning in word["variables"].items():
        words = words.replace(variable, meaning)
    return _PROMPT.sub("a bonus", words)


def _link(parts: Parts) -> str:
    """The words that are shown, with an address of the web behind them."""
    address = parts[1].strip() if len(parts) > 1 else ""
    is_web = re.fullmatch(r"https?://[^\s()]{1,500}", address) is not None
    return f"{parts[0]} ({address})" if is_web and address != parts[0] else parts[0]


SAID: dict[str, Callable[[Parts], str]] = {
    "atk": _attack,
    "atkr": lambda parts: f"{' or '.join(_ways(parts[0], 'attacks'))} Attack Roll:".strip(),
    "recharge": _recharge,
    "ability": _ability,
    **dict.fromkeys(("savingThrow", "skillCheck"), lambda parts: signed(parts[0].rpartition(" ")[2])),
    "actSave": lambda parts: f"{''.join(abilities(parts[0])) or title(parts[0])} Saving Throw:",
    "actSaveFail": lambda parts: f"{word('ordinals', parts[0].strip(), '')}Failure:",
    "link": _link,
    **dict.fromkeys(("hit", "d20", "initiative"), lambda parts: signed(parts[0])),
    "dc": lambda parts: f"DC {parts[0]}",
    "chance": lambda parts: f"{parts[0]} percent",
    "coinflip": lambda parts: parts[0] or "flip a coin",
    **dict.fromkeys(("scaledice", "scaledamage"), lambda parts: parts[min(2, len(parts) - 1)]),
    **dict.fromkeys(("dice", "damage"), lambda parts: _dice(parts[0])),
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

    def plain(self, value: object, *paths: str) -> str:
        """A text, or the first at some paths, without any markup and in one line, for names and values."""
        return " ".join(self._read(text(value, *paths), marked=False).split())

    def prose(self, source: str) -> str:
        """A text as Markdown: bold and italics are kept."""
        words = _SPACES.sub(" ", self._read(source, marked=True)).strip()
        is_footnote = words.startswith("*") and words.count("*") == 1
        return f"\\{words}" if is_footnote else words

    def _read(self, source: str, *, marked: bool) -> str:
        if "{" not in source:
            return source
        open_tags: list[_Open] = [_Open("")]
        at = 0
        for token in _TOKEN.finditer(source):
            open_tags[-1].add(source[at : token.start()])
            self._take(token[0], open_tags, marked=marked)
            at = token.end()
        open_tags[-1].add(source[at:])
        while len(open_tags) > 1:  # never closed: their words stay
            unclosed = open_tags.pop()
            open_tags[-1].add(unclosed.raw())
        return "".join(open_tags[0].parts[0])

    def _take(self, mark: str, open_tags: list[_Open], *, marked: bool) -> None:
        inner = open_tags[-1]
        if mark in ("{@", "{=", "{#", "{"):
            if len(open_tags) <= MAX_OPEN:
                open_tags.append(_Open(mark, is_emphasised=inner.is_emphasised or inner.name in word["marks"]))
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
        parts = [content, *others]
        if name in word["references"]:
            return self._reference(name, parts, marked=marked and not tag.is_emphasised)
        if name in word["marks"]:
            mark = word("marks", name) if marked else ""
            return f"{mark}{content.strip()}{mark}" if content.strip() else ""
        if name in word["tags"] or (name in word["own tags"] and not content):
            return word("tags", name, word("own tags", name))
        shown = word["shown"].get(name, 0)
        if 0 < shown < len(parts) and parts[shown].strip():
            return f"DC {parts[shown]}" if name == "dc" else parts[shown]
        return SAID[name](parts) if name in SAID else content

    def _reference(self, tag: str, parts: list[str], *, marked: bool) -> str:
        """The words of a tag that names another entry, which is remembered."""
        kind, source, shown, mark = word["references"][tag]
        name, code, words = (parts[place].strip() if len(parts) > place else "" for place in (0, source, shown))
        if name:
            self.references.setdefault(Reference(kind, name, code))
        mark, words = mark if marked else "", words or name
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

    def add(self, words: str) -> None:
        """More of the part that is being read."""
        if words:
            self.parts[-1].append(words)

    def raw(self) -> str:
        """The words of a tag that was never closed, without its name."""
        first, *others = ("".join(part) for part in self.parts)
        if self.opener == "{@":
            first = first.partition(" ")[2]
        return "|".join([first if self.opener != "{" else f"{{{first}", *others])
