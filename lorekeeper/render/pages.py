"""Entries as pages: which renderer an entry has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lorekeeper.entities import Entity
from lorekeeper.records.values import is_empty
from lorekeeper.render.character import UNKNOWN, Rules, character
from lorekeeper.render.creature import creature
from lorekeeper.render.item import item
from lorekeeper.render.note import UNRELATED, Related, note
from lorekeeper.render.option import background, character_class, feat, species
from lorekeeper.render.page import assembled, rest, section
from lorekeeper.render.prose import inline
from lorekeeper.render.rule import document, rule
from lorekeeper.render.source import Source
from lorekeeper.render.spell import spell
from lorekeeper.repairs import repaired
from lorekeeper.text.sections import written

Renderer = Callable[[Entity, Source], Iterator[str]]

BY_TYPE: dict[str, Renderer] = {
    "spells": spell,
    "creatures": creature,
    "equipment": item,
    "documents": document,
}
"""The renderer of an entity type."""

BY_KIND: dict[str, Renderer] = {
    "class": character_class,
    "subclass": character_class,
    "race": species,
    "subrace": species,
    "background": background,
    "feat": feat,
}
"""The renderer of a kind of character option."""


NO_TEXT = "The source has no text for this entry."

WITHOUT_TEXT = ("weapon", "armor", "gear", "table", "item-set")
"""Kinds of entries that may have nothing but their values."""

_HEAD = ("#", "*", "- **", "|")
"""How the lines of an entry begin that say no more than its values."""


def lacks_text(entity: Entity) -> bool:
    """Whether the source of an entry has no text for it, though entries of its kind have one. Stat blocks need none."""
    if (
        entity.type in ("creatures", "characters", "notes", "documents")
        or entity.kind in WITHOUT_TEXT
        or not all(is_empty(text) for _, text in written(entity))
    ):
        return False
    return not isinstance(entity.data.get("table"), Mapping)


def markdown(
    entity: Entity,
    *,
    subclasses: Sequence[str] = (),
    related: Related = UNRELATED,
    rules: Rules = UNKNOWN,
    whole: bool = False,
    in_style: bool = True,
) -> str:
    """An entry as Markdown, as its book would print it.

    Args:
        entity: of any kind and source.
        subclasses: names of those of a class, which its own object may not know.
        related: what a note is linked with.
        rules: what the library has of the names on the sheet of a character.
        whole: all of a long note, of which a page has the beginning.
        in_style: headings and levels in the words of the entry's edition; otherwise in those that all entries share.

    Headings of level 1 to 3 and the labels in bold at the beginning of a line are ours; headings within the entry's own
    text have level 4 or more; those of a note are its own. There are no control characters, and no links but to other notes.
    """
    source = Source(repaired(entity), in_style=in_style)
    own = BY_KIND if entity.type == "character_options" else {}
    renderer = own.get(entity.kind) or BY_TYPE.get(entity.type, rule)
    if entity.type == "notes":
        blocks = note(entity, source, related, whole=whole)
    elif entity.type == "characters":
        blocks = character(source, rules)
    else:
        blocks = renderer(entity, source)
    page = assembled([f"# {inline(entity.name)}", *blocks, *rest(source), _named(subclasses)])
    bare = all(line.startswith(_HEAD) for line in page.split("\n") if line)
    return f"{page}\n\n*{NO_TEXT}*" if bare and lacks_text(entity) else page


def _named(subclasses: Sequence[str]) -> str:
    return section("Subclasses", ", ".join(map(inline, subclasses)))
