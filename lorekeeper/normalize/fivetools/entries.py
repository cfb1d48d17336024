"""The nested entries of 5etools as Markdown.

An entry is a text, or an object with a type and further entries in it, to any depth. What has no type that is known still
gives all the texts that are in it: nothing is lost because it is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivetools.tags import Reader
from lorekeeper.normalize.fivetools.values import Object, abilities, at, listed, mapping, number, objects, text, uid
from lorekeeper.play.dice import Dice
from lorekeeper.play.tables import TableData, as_markdown, dice_heading, numbers_of, shown_as
from lorekeeper.render.tables import plain

MAX_LEVELS = 130
"""Most levels of entries that are read; three stack frames each, far below Python's limit of a thousand."""

CHILDREN = ("entries", "entry", "items", "wrapped", "blocks", "text", "tables")
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
        self._within.append(id(entry))
        desc = self.markdown(_children(entry))
        self._within.pop()
        return {"name": self._name(entry), "desc": desc}

    def _name(self, entry: Object) -> str:
        return self.reader.plain(entry, "name")

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
                blocks += _WRITERS.get(text(entry, "type"), Writer._titled)(self, entry)
            elif isinstance(entry, list):
                blocks += self._blocks(entry)
            else:
                blocks.append(text(entry))
        self._level -= 1
        return [block for block in blocks if block]

    def _titled(self, entry: Object) -> list[str]:
        """Entries under their name, which is a heading or begins the first paragraph in bold; without entries, all texts."""
        name, children = self._name(entry), _children(entry)
        if not any(key in entry for key in CHILDREN):
            children = [
                each for key, each in entry.items() if key not in _NO_TEXT and not isinstance(each, (int, float))
            ]
        if not (name and self._headings):
            return _led(name, self._blocks(children))
        heading = f"{'#' * (4 - min(self._headings, 2))} {name}"
        self._headings -= 1
        blocks = [heading, *self._blocks(children)]
        self._headings += 1
        return blocks

    def _list(self, entry: Object) -> list[str]:
        """A list as items, those of lists in it indented."""
        rows = _led(self._name(entry), [])
        for item in listed(entry, "items"):
            first, *more = "\n\n".join(self._blocks([item])).split("\n")
            rows.append(f"- {first}".replace("- - ", "- "))
            rows += [f"  {row.strip()}" for row in more if row.strip()]
        return ["\n".join(rows)]

    def _read_aloud(self, entry: Object) -> list[str]:
        return _led("Read aloud", self._titled(entry))

    def _table(self, entry: Object) -> list[str]:
        rows = as_markdown(table_of(entry, self.line))
        notes = [f"*{note}*" for note in self._blocks(entry.get("footnotes"))]
        caption = self.reader.plain(entry, "caption")
        around = [self._blocks(entry.get(key)) for key in ("intro", "outro")]
        return [f"**{caption}**" if caption else "", *around[0], rows, *around[1], *notes]

    def _quote(self, entry: Object) -> list[str]:
        by = ", ".join(self.line(entry[key]) for key in ("by", "from") if entry.get(key))
        return [f"> {block}" for block in (*self._blocks(entry.get("entries")), f"— {by}" if by else "") if block]

    def _together(self, entry: Object) -> list[str]:
        """Parts that are one paragraph."""
        return [" ".join(self._blocks(entry.get("entries")))]

    def _formula(self, entry: Object) -> list[str]:
        """What a difficulty class or a modifier is made of, with its abilities: "Wisdom or Charisma"."""
        of = joined(abilities(entry.get("attributes")), "or") or "spellcasting ability"
        what = "save DC** = 8 +" if entry["type"] == "abilityDc" else "attack modifier** ="
        return [f"**{self._name(entry) or 'Spell'} {what} your proficiency bonus + your {of} modifier"]

    def _bonus(self, entry: Object) -> list[str]:
        value, unit = text(entry, "value"), " ft." if entry["type"] == "bonusSpeed" else ""
        return [f"{'' if value.startswith('-') else '+'}{value}{unit}" if value else ""]

    def _dice(self, entry: Object) -> list[str]:
        rolls = (f"{text(roll, 'number') or 1}d{text(roll, 'faces')}" for roll in objects(entry, "toRoll"))
        return [text(entry, "displayText") or " + ".join(rolls)]

    def _attack(self, entry: Object) -> list[str]:
        kinds = {"MW": "Melee Weapon Attack:", "RW": "Ranged Weapon Attack:"}
        attack, hit = self.line(entry.get("attackEntries")), self.line(entry.get("hitEntries"))
        how = kinds.get(text(entry, "attackType"), "Attack:")
        return _led(self._name(entry), [f"{how} {attack}{f' Hit: {hit}' if hit else ''}"])

    def _mention(self, entry: Object) -> list[str]:
        """The name of an entry of its own, which stands in the text as a whole in the books."""
        name = text(entry, "name", "data.name")
        tag = text(entry, "tag", "prop", "dataType") or "note"
        return [self.reader.prose(f"{{@{tag} {name}|{text(entry, 'source')}}}")] if name else []

    def _option(self, entry: Object) -> list[str]:
        """The name of an option that may be chosen; it is an entry of its own."""
        tag = {"refOptionalfeature": "optfeature", "refFeat": "feat"}.get(str(entry["type"]), "psionic")
        words = self.reader.plain(f"{{@{tag} {text(entry, 'optionalfeature', 'feat', 'psionic', 'itemProperty')}}}")
        return [f"- {words}"] if words else []

    def _feature(self, entry: Object) -> list[str]:
        """The text of a class feature that stands elsewhere."""
        key = "classFeature" if "classFeature" in entry else "subclassFeature"
        named = text(entry, key)
        found = self._find(key, named)
        if found is None or id(found) in self._within:
            return _led(uid(named)[0], [])
        self._within.append(id(found))
        blocks = _led(self._name(found), self._blocks(found.get("entries")))
        self._within.pop()
        return blocks

    def _nothing(self, _: Object) -> list[str]:
        return []


_WRITERS: Mapping[str, Callable[[Writer, Object], list[str]]] = {
    each: write
    for kinds, write in (
        ("refClassFeature refSubclassFeature", Writer._feature),
        ("refOptionalfeature refFeat refPsionic refItemProperty", Writer._option),
        ("image gallery hr code", Writer._nothing),
        ("inline inlineBlock", Writer._together),
        ("bonus bonusSpeed", Writer._bonus),
        ("statblock statblockInline", Writer._mention),
        ("abilityDc abilityAttackMod", Writer._formula),
        ("list", Writer._list),
        ("insetReadaloud", Writer._read_aloud),
        ("table", Writer._table),
        ("quote", Writer._quote),
        ("dice", Writer._dice),
        ("attack", Writer._attack),
    )
    for each in kinds.split()
}
"""How entries of some types are written, beside those that are written under their names."""


def _children(entry: Object) -> list[object]:
    return [each for key in CHILDREN for each in listed(entry, key)]


def _led(name: str, blocks: Sequence[str]) -> list[str]:
    """Paragraphs of which the first begins with a name in bold."""
    label = f"**{name if name.endswith(('.', '!', '?', ':')) else f'{name}.'}**"
    if not name:
        return list(blocks)
    if not blocks or blocks[0].startswith(("- ", "|", "#", ">")):
        return [label, *blocks]
    return [f"{label} {blocks[0]}", *blocks[1:]]


# --- tables ---------------------------------------------------------------------------------------------------------

Line = Callable[[object], str]


def table_of(entry: Object, line: Line) -> TableData:
    """The regular shape of a table; ``line`` writes the entries of a cell in one line."""
    labels = entry.get("colLabels") or next(reversed(listed(entry, "colLabelRows")), None)  # the last of several rows
    columns = [line(label) for label in listed(labels)]
    raw = [listed(row if (styled := at(row, "row")) is None else styled) for row in listed(entry, "rows")]
    rows = [[_cell(cell, line) for cell in row] for row in raw if row]
    found: TableData = {"columns": columns, "rows": rows}
    dice = dice_heading(plain(columns[0])) if columns else None
    if dice and (ranges := _ranges(dice, raw, rows)):
        found["dice"], found["ranges"] = str(dice), ranges
    return found


def _cell(cell: object, line: Line) -> str:
    found = mapping(cell)
    if found.get("type") != "cell":
        return line(cell)
    return line(found["entry"]) if found.get("entry") is not None else _roll_words(mapping(found, "roll"))


def _roll_words(roll: Object) -> str:
    """ "01-10", "00" or "5" of the roll of a cell."""
    width = 2 if roll.get("pad") is True else 1
    ends = dict.fromkeys(number(roll.get(key)) for key in ("exact", "min", "max"))
    return "–".join(f"{int(end):0{width}d}" for end in ends if end is not None)


def _ranges(dice: Dice, raw: list[list[object]], rows: list[list[str]]) -> list[list[int]]:
    """What must be rolled for each row; [] if a row does not say it."""
    cells = (each[0] for each in raw if each)
    found = [_range(mapping(cell, "roll"), row[0], dice) for cell, row in zip(cells, rows, strict=True)]
    return [list(ends) for ends in found if ends] if all(found) else []


def _range(roll: Object, words: str, dice: Dice) -> tuple[int, ...] | None:
    if not roll:
        return numbers_of(plain(words), dice)
    exact = number(roll, "exact")
    low, high = (exact if exact is not None else number(roll.get(key)) for key in ("min", "max"))
    ends = (dice.least if low is None else low, dice.most if high is None else high)
    return tuple(shown_as(int(end), dice) for end in ends)
