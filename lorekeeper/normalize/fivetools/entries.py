"""The nested entries of 5etools as Markdown.

An entry is a text, or an object with a type and further entries in it, to any depth. What has no type that is known still
gives all the texts that are in it: nothing is lost because it is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivetools import tables
from lorekeeper.normalize.fivetools.tags import Reader, Reference
from lorekeeper.normalize.fivetools.values import ability, listed, mapping, objects, text, texts, title, uid
from lorekeeper.rolling.tables import as_markdown

Object = Mapping[str, object]

MAX_LEVELS = 130
"""Most levels of entries that are read; three stack frames each, far below Python's limit of a thousand."""

CHILDREN = ("entries", "entry", "items", "wrapped", "blocks", "text")
"""Keys of what is in an entry, in reading order."""

_NO_TEXT = frozenset(
    "type name page source id style data colStyles href imageType title width height credit alias tag prop count mapRegions"
    " token header hash by from dataType ordinal hasFluff hasFluffImages".split()
)
"""Keys whose values are no text to read."""

Find = Callable[[str, str], Object | None]
"""The object of a kind that a uid names, None if there is none."""


def _nowhere(_: str, __: str) -> Object | None:
    return None


class Writer:
    """Writes the entries of one object.

    Args:
        reader: reads its texts.
        find: finds class features and other objects that entries refer to.

    Attributes:
        was_too_deep: whether something was left out because it is nested more than `MAX_LEVELS` deep.
    """

    def __init__(self, reader: Reader, find: Find = _nowhere) -> None:
        self.reader, self.was_too_deep = reader, False
        self._find = find
        self._level = 0
        self._headings = 0
        self._within: list[int] = []
        """The features whose text is being written, by `id`: they may refer to each other in a circle."""

    def markdown(self, entries: object, headings: int = 0) -> str:
        """Entries as Markdown, paragraph by paragraph; names of the first ``headings`` levels are headings, others bold."""
        self._headings = headings
        return "\n\n".join(self._blocks(entries))

    def line(self, entries: object) -> str:
        """Entries in one line."""
        return " ".join(" ".join(self._blocks(entries)).split())

    def named(self, entry: Object) -> dict[str, object]:
        """A trait, an action or a feature: its name and its text."""
        name = self.reader.plain(text(entry.get("name")))
        self._within.append(id(entry))
        desc = self.markdown(self._children(entry))
        self._within.pop()
        return {"name": name, "desc": desc}

    def _children(self, entry: Object) -> list[object]:
        return [each for key in CHILDREN for each in listed(entry.get(key))]

    def _blocks(self, entries: object) -> list[str]:
        """The paragraphs of entries."""
        blocks: list[str] = []
        if self._level >= MAX_LEVELS:
            self.was_too_deep = True
            return blocks
        self._level += 1
        for entry in listed(entries):
            if isinstance(entry, str):
                blocks.append(self.reader.prose(entry))
            elif isinstance(entry, Mapping):
                blocks += self._typed(entry)
            elif isinstance(entry, list):
                blocks += self._blocks(entry)
            else:
                blocks.append(text(entry))
        self._level -= 1
        return [block for block in blocks if block]

    def _typed(self, entry: Object) -> list[str]:
        """The paragraphs of an object."""
        kind = entry.get("type")
        write = _WRITERS.get(kind) if isinstance(kind, str) else Writer._titled
        return write(self, entry) if write else self._unknown(entry)

    def _titled(self, entry: Object) -> list[str]:
        """Entries under their name, which is a heading or begins the first paragraph in bold."""
        name = self.reader.plain(text(entry.get("name")))
        if not name:
            return self._blocks(self._children(entry))
        heading = self._headings and f"{'#' * (4 - min(self._headings, 2))} {name}"
        if heading:
            self._headings -= 1
            blocks = [heading, *self._blocks(self._children(entry))]
            self._headings += 1
            return blocks
        return _led(name, self._blocks(self._children(entry)))

    def _list(self, entry: Object) -> list[str]:
        """A list as items, those of lists in it indented."""
        name = self.reader.plain(text(entry.get("name")))
        rows = [f"**{_ended(name)}**"] if name else []
        for item in listed(entry.get("items")):
            first, *more = "\n\n".join(self._blocks([item])).split("\n") or [""]
            rows.append(f"- {first}".replace("- - ", "- "))
            rows += [f"  {row.strip()}" for row in more if row.strip()]
        return ["\n".join(rows)]

    def _read_aloud(self, entry: Object) -> list[str]:
        return _led("Read aloud", self._titled(entry))

    def _table(self, entry: Object) -> list[str]:
        rows = as_markdown(tables.table_of(entry, self.line))
        notes = [f"*{note}*" for note in self._blocks(entry.get("footnotes"))]
        intro, outro = self._blocks(entry.get("intro")), self._blocks(entry.get("outro"))
        caption = self.reader.plain(text(entry.get("caption")))
        return [*([f"**{caption}**"] if caption else []), *intro, rows, *outro, *notes]

    def _table_group(self, entry: Object) -> list[str]:
        return _led(self.reader.plain(text(entry.get("name"))), self._blocks(entry.get("tables")))

    def _quote(self, entry: Object) -> list[str]:
        words = self._blocks(entry.get("entries"))
        by = ", ".join(self.line(entry.get(key)) for key in ("by", "from") if entry.get(key))
        return [*(f"> {block}" for block in words), *([f"> — {by}"] if by else [])]

    def _together(self, entry: Object) -> list[str]:
        """Parts that are one paragraph."""
        return [" ".join(self._blocks(entry.get("entries")))]

    def _save_dc(self, entry: Object) -> list[str]:
        return [f"**{self._name(entry)} save DC** = 8 + your proficiency bonus + your {_of(entry)} modifier"]

    def _attack_modifier(self, entry: Object) -> list[str]:
        return [f"**{self._name(entry)} attack modifier** = your proficiency bonus + your {_of(entry)} modifier"]

    def _name(self, entry: Object) -> str:
        return self.reader.plain(text(entry.get("name"))) or "Spell"

    def _bonus(self, entry: Object) -> list[str]:
        value, unit = text(entry.get("value")), " ft." if entry.get("type") == "bonusSpeed" else ""
        return [f"{'' if value.startswith('-') else '+'}{value}{unit}" if value else ""]

    def _dice(self, entry: Object) -> list[str]:
        rolls = (f"{text(roll.get('number')) or 1}d{text(roll.get('faces'))}" for roll in objects(entry.get("toRoll")))
        return [text(entry.get("displayText")) or " + ".join(rolls)]

    def _attack(self, entry: Object) -> list[str]:
        kinds = {"MW": "Melee Weapon Attack:", "RW": "Ranged Weapon Attack:"}
        attack, hit = self.line(entry.get("attackEntries")), self.line(entry.get("hitEntries"))
        how = kinds.get(text(entry.get("attackType")), "Attack:")
        return _led(self.reader.plain(text(entry.get("name"))), [f"{how} {attack}{f' Hit: {hit}' if hit else ''}"])

    def _shown_text(self, entry: Object) -> list[str]:
        return self._blocks(entry.get("text"))

    def _mention(self, entry: Object) -> list[str]:
        """The name of an entry of its own, which stands in the text as a whole in the books."""
        tag = text(entry.get("tag")) or text(entry.get("prop")) or text(entry.get("dataType"))
        name = text(entry.get("name")) or text(mapping(entry.get("data")).get("name"))
        source = text(entry.get("source"))
        return [self.reader.prose(f"{{@{tag or 'note'} {name}|{source}}}")] if name else []

    def _option(self, entry: Object) -> list[str]:
        """The name of an option that may be chosen; it is an entry of its own."""
        key = next((key for key in ("optionalfeature", "feat", "psionic", "itemProperty") if key in entry), "")
        name, source = uid(entry.get(key))
        kind = "character_options" if key == "feat" else "rules"
        if name:
            self.reader.references.setdefault(Reference(kind, name, source))
        return [f"- {name}"] if name else []

    def _feature(self, entry: Object) -> list[str]:
        """The text of a class feature that stands elsewhere."""
        key = "classFeature" if "classFeature" in entry else "subclassFeature"
        named = text(entry.get(key))
        found = self._find(key, named)
        if found is None or id(found) in self._within:
            return _led(uid(named)[0], [])
        self._within.append(id(found))
        blocks = _led(self.reader.plain(text(found.get("name"))), self._blocks(found.get("entries")))
        self._within.pop()
        return blocks

    def _nothing(self, _: Object) -> list[str]:
        return []

    def _unknown(self, entry: Object) -> list[str]:
        """The texts of an object of a type that is not known, in the order of its keys."""
        if any(key in entry for key in CHILDREN):
            return self._titled(entry)
        found = [value for key, value in entry.items() if key not in _NO_TEXT and not isinstance(value, (int, float))]
        return _led(self.reader.plain(text(entry.get("name"))), self._blocks(found))


Write = Callable[[Writer, Object], list[str]]


def _writers() -> dict[str, Write]:
    titled = (
        "entries section inset item itemSub itemSpell options variant variantInner variantSub actions flowBlock flowchart"
        " ingredient wrapper homebrew"
    )
    return {
        **dict.fromkeys(titled.split(), Writer._titled),
        **dict.fromkeys(("refClassFeature", "refSubclassFeature"), Writer._feature),
        **dict.fromkeys(("refOptionalfeature", "refFeat", "refPsionic", "refItemProperty"), Writer._option),
        **dict.fromkeys(("image", "gallery", "hr", "code"), Writer._nothing),
        **dict.fromkeys(("inline", "inlineBlock"), Writer._together),
        **dict.fromkeys(("bonus", "bonusSpeed"), Writer._bonus),
        **dict.fromkeys(("statblock", "statblockInline"), Writer._mention),
        "list": Writer._list,
        "insetReadaloud": Writer._read_aloud,
        "table": Writer._table,
        "tableGroup": Writer._table_group,
        "quote": Writer._quote,
        "abilityDc": Writer._save_dc,
        "abilityAttackMod": Writer._attack_modifier,
        "abilityGeneric": Writer._shown_text,
        "dice": Writer._dice,
        "attack": Writer._attack,
        "link": Writer._shown_text,
    }


_WRITERS = _writers()
"""How an entry of a type is written."""


def _of(entry: Object) -> str:
    """The abilities of a difficulty class: "Wisdom or Charisma"."""
    return joined((title(ability(code)) for code in texts(entry.get("attributes"))), "or") or "spellcasting ability"


def _led(name: str, blocks: Sequence[str]) -> list[str]:
    """Paragraphs of which the first begins with a name in bold."""
    if not name:
        return list(blocks)
    label = f"**{_ended(name)}**"
    if not blocks or blocks[0].startswith(("- ", "|", "#", ">")):
        return [label, *blocks]
    return [f"{label} {blocks[0]}", *blocks[1:]]


def _ended(name: str) -> str:
    return name if name.endswith((".", "!", "?", ":")) else f"{name}."
