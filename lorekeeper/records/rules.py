"""Rules, conditions and whatever else explains something, and the documents that entries are from."""

from __future__ import annotations

from dataclasses import dataclass

from lorekeeper.records.parts import Feature
from lorekeeper.records.values import Object, Source, line, listed, mapping, named_text, number, stated, text, title


@dataclass(frozen=True)
class Rule:
    """A rule, a condition or another entry that explains something. "" stands for what is not known.

    Attributes:
        parent: the chapter that it is in.
        summary: the same in short.
        text: what it says.
        by_game: of what several games describe, the text of each behind the key of its game.
        chapters: of a set of rules, in order.
        skills: of an ability, in the words of its document; if it describes none, all of them.
        traits: what else it says under names.
    """

    parent: str = ""
    summary: str = ""
    text: str = ""
    by_game: tuple[tuple[str, str], ...] = ()
    chapters: tuple[Feature, ...] = ()
    skills: tuple[Feature, ...] = ()
    traits: tuple[Feature, ...] = ()


def rule(source: Source) -> Rule:
    """A rule of any source."""
    source.skip("index", "initialHeaderLevel", "ruleset", "table")
    chapters = sorted(map(mapping, source.items("rules")), key=lambda found: number(found.get("index")) or 0)
    described = map(mapping, source.items("descriptions"))
    return Rule(
        **stated(source, "rule"),
        by_game=tuple((line(each.get("gamesystem")), text(each.get("desc"))) for each in described),
        chapters=tuple(Feature(line(found.get("name")) or "Rule", text(found.get("desc"))) for found in chapters),
        skills=_skills(source.items("skills"), source.raw("document")),
        traits=tuple(Feature(*named_text(each)) for each in source.items("traits")),
    )


def _skills(found: list[object], document: object) -> tuple[Feature, ...]:
    described = [(skill, list(map(mapping, listed(skill.get("descriptions"))))) for skill in map(mapping, found)]
    own = [(skill, mine) for skill, texts in described if (mine := [t for t in texts if t.get("document") == document])]
    return tuple(_skill(*each) for each in own or described)


def _skill(found: Object, texts: list[Object]) -> Feature:
    name = line(found.get("name")) or title(line(found.get("key")))
    return Feature(name, next((told for each in texts if (told := text(each.get("desc")))), ""))


@dataclass(frozen=True)
class Document:
    """A book, a vault or a file of homebrew. "" stands for what is not known.

    Attributes:
        publisher, author, version: in words.
        system: the game and edition.
        licenses: their names, or addresses.
        published: the day.
        address: where it is published.
        text: what it is.
        notice: what its licence asks for.
    """

    publisher: str = ""
    author: str = ""
    system: str = ""
    licenses: tuple[str, ...] = ()
    version: str = ""
    published: str = ""
    address: str = ""
    text: str = ""
    notice: str = ""


def document(source: Source) -> Document:
    """A document of any source."""
    source.skip("display_name", "distance_unit", "weight_unit", "type", "license_url", "slug")
    return Document(
        **stated(source, "document"),
        licenses=tuple(filter(None, map(line, source.items("licenses", "license")))),
        published=source.line("publication_date").partition("T")[0],
    )
