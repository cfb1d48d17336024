"""Rules, conditions and other reference entries, and documents."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper.entities import Entity
from lorekeeper.records.values import Object, mapping, number
from lorekeeper.render.origin import origin
from lorekeeper.render.page import Line, italic, labelled, line, section
from lorekeeper.render.source import Source, feature, features, text_of, title, words

EDITIONS = {"5e-2014": "2014", "5e-2024": "2024", "a5e": "A5E"}
"""What people call the game systems of Open5e."""


def rule(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a rule, a condition, or any other entry."""
    source.skip("index", "initialHeaderLevel", "ruleset", "table")
    yield italic(_kind(entity), source.words("parent"), separator=", ")
    yield origin(source)
    yield source.prose("short_desc")
    yield source.prose("desc", "description")
    yield from _descriptions(source)
    yield from map(_chapter, sorted(map(mapping, source.items("rules")), key=_place))
    yield section("Skills", *map(_skill, own_skills(source.items("skills"), source.raw("document"))))
    yield features(source.items("traits"))


def _kind(entity: Entity) -> str:
    return title(entity.kind).capitalize()


def _place(found: Object) -> float:
    return number(found.get("index")) or 0


def _chapter(found: Object) -> str:
    return section(words(found.get("name")) or "Rule", text_of(found.get("desc")))


def _descriptions(source: Source) -> Iterator[str]:
    """The texts of an entry that several games describe, each under its game if there are several."""
    found = [mapping(value) for value in source.items("descriptions")]
    texts = [(words(each.get("gamesystem")), text_of(each.get("desc"))) for each in found]
    told = [(EDITIONS.get(system, system), text) for system, text in texts if text]
    for system, text in told:
        yield section(system, text) if len(told) > 1 and system else text


def own_skills(skills: list[object], document: object) -> list[object]:
    """The skills of an ability that this document describes, in its words only; all as they are if it describes none."""
    own: list[object] = []
    for skill in map(mapping, skills):
        texts = [text for text in _descriptions_of(skill) if text.get("document") == document]
        if texts:
            own.append({**skill, "descriptions": texts})
    return own or skills


def _skill(skill: object) -> str:
    """A skill of an ability, which only has texts in lists of its own."""
    found = mapping(skill)
    texts = [text_of(text.get("desc")) for text in _descriptions_of(found)]
    name = words(found.get("name")) or title(words(found.get("key")))
    return feature({"name": name, "desc": next(filter(None, texts), "")})


def _descriptions_of(skill: Object) -> list[Object]:
    value = skill.get("descriptions")
    return list(map(mapping, value)) if isinstance(value, list) else []


def document(_: Entity, source: Source) -> Iterator[str]:
    """The blocks of a book."""
    source.skip("display_name", "distance_unit", "weight_unit", "type", "license_url", "slug")
    yield labelled(source, DOCUMENT_LINES)
    yield source.prose("desc", "description")
    yield source.prose("attribution", "copyright")


def _date(source: Source) -> str:
    return source.words("publication_date").partition("T")[0]


def _address(source: Source) -> str:
    return source.words("permalink", "url")


DOCUMENT_LINES: tuple[Line, ...] = (
    line("Publisher", "publisher", "organization"),
    line("Author", "author"),
    line("Game System", "gamesystem", "game_system", "ruleset"),
    line("Licenses", "licenses", "license"),
    line("Version", "version"),
    ("Published", _date),
    ("Address", _address),
)
