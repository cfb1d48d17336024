"""The values of a source as they are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lorekeeper.records import Feature, values
from lorekeeper.records.parts import SENTENCE
from lorekeeper.records.values import Object, amount, is_empty, mapping, named_text
from lorekeeper.render.prose import inline, prose


class Source(values.Source):
    """The object of an entry, of which words and prose are printed.

    Attributes:
        in_style: whether headings and levels are printed as the edition has them; otherwise all are printed alike.
    """

    def __init__(self, data: Object, *, in_style: bool = True) -> None:
        super().__init__(data)
        self.in_style = in_style

    def words(self, *keys: str) -> str:
        """The first of these values in one line, "" without one."""
        return words(self.value(*keys))

    def prose(self, *keys: str) -> str:
        """The first of these values as Markdown."""
        return text_of(self.value(*keys))


def words(value: object) -> str:
    """A value in one line: a text, a number, the name of a reference, a list with commas, what a map marks as true."""
    match value:
        case bool():
            return "yes" if value else ""
        case str():
            return "" if is_empty(value) else inline(value)
        case int() | float():
            return amount(value)
        case list() | tuple():
            return ", ".join(part for part in map(words, value) if part)
        case Mapping():
            return _words_of_object(value)
    return ""


def _words_of_object(value: Object) -> str:
    name = next((value[key] for key in ("name", "key", "as_string") if isinstance(value.get(key), str)), None)
    if name:
        return words(name)
    pairs = ((title(str(key)), found) for key, found in value.items() if not is_empty(found))
    return ", ".join(label if found is True else f"{label} {words(found)}" for label, found in pairs)


def text_of(value: object) -> str:
    """A value as Markdown; the texts of a list are its items."""
    match value:
        case str():
            return "" if is_empty(value) else prose(value)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return "\n".join(f"- {text}" for text in map(inline, map(str, value)) if text)
        case list() | tuple():
            return printed_all([Feature(*named_text(each)) for each in value])
        case Mapping():
            return printed(Feature(*named_text(value)))
    return words(value)


def printed_all(found: Sequence[Feature]) -> str:
    """Features, a paragraph each; names alone, as those of the items of a pack, are a list."""
    if len(found) > 1 and all(named(each) and not each.text for each in found):
        return "\n".join(f"- {named(each)}" for each in found)
    return "\n\n".join(filter(None, map(printed, found)))


def printed(found: Feature) -> str:
    """A feature as the books print it: its name in bold before its text."""
    return titled(named(found), told(found))


def named(found: Feature) -> str:
    """The name of a feature as it is printed, "" without one."""
    return inline(found.name).strip("*_. ")


def told(found: Feature) -> str:
    """The text of a feature without its name, which some sources repeat."""
    return without_title(prose(found.text), named(found))


def titled(name: str, text: str, *notes: str, ends: bool = True) -> str:
    """A text after its name in bold, with notes in brackets.

    Args:
        ends: whether nothing follows: a sentence in the place of a name then continues what stands before it.
    """
    if not name:
        return text
    told = [note for note in notes if note and note.casefold() not in name.casefold()]
    if ends and not told and SENTENCE.search(name):
        return f"{_ended(name)} {text}".rstrip()
    label = f"**{name} ({'; '.join(told)}).**" if told else f"**{_ended(name)}**"
    begins_block = text.startswith(("|", "#", "- "))
    return f"{label}{_SEPARATORS[begins_block]}{text}".rstrip()


_SEPARATORS = {False: " ", True: "\n\n"}


def without_title(text: str, name: str) -> str:
    """A text without the title in bold or italics with which it begins, if that is the name of its feature."""
    plain = text.lstrip("*_")
    if plain is text or not name or not plain.casefold().startswith(name.casefold()):
        return text
    after = plain[len(name) :].lstrip(".:*_ ")
    marked = plain[len(name) :][:4].strip(".:")[:1] in ("*", "_")
    return after if after and marked else text


def _ended(name: str) -> str:
    return name if name.endswith((".", "!", "?", ":")) else f"{name}."


def title(key: str) -> str:
    """A key as a title: "Sleight of Hand" of ``sleight_of_hand``."""
    return values.title(inline(key))


def system_of(source: Source) -> str:
    """The key of the rules that an entry is for, such as "5e-2024"; "" if its source does not say it."""
    system = mapping(mapping(source.value("document")).get("gamesystem")).get("key")
    return system if isinstance(system, str) else ""


def style_of(source: Source) -> str:
    """The key of the rules in whose words headings and levels are printed; "" for those of 2014, with all headings."""
    return system_of(source) if source.in_style else ""


OF_2014, OF_2024 = "5e-2014", "5e-2024"
"""Keys of rules whose books print some lines in another way."""
