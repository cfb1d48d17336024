"""The rules of 5e-bits: chapters, and sections of them with headings, each of which is a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.fivebits.classes import Tables
from lorekeeper.normalize.fivebits.texts import Object, index_of, names, objects, prose
from lorekeeper.normalize.reading import paragraphs

Made = tuple[str, str, dict[str, Any]]
"""The endpoint of Open5e, the slug and the object of a rule."""

_HEADING = re.compile(r"^(#{1,6}) +([^\n]{1,200})$", re.MULTILINE)


def _chapter(o: Object, _: Tables) -> Iterator[Made]:
    text = _HEADING.sub("", prose(o, "desc")).strip()
    listed = "\n".join(f"- {name}" for name in names(o, "subsections"))
    yield "rulesets", f"{o['index']}", {"name": o.get("name"), "desc": paragraphs(text, listed)}


def _section(o: Object, tables: Tables) -> Iterator[Made]:
    """A rule for each heading, whose parent is the heading above it; the section itself has what stands before the first one."""
    text, section = prose(o, "desc"), str(o["index"])
    chapters = [each for each in tables.get("rules", ()) if section in map(index_of, objects(each, "subsections"))]
    parent = str(chapters[0].get("name")) if chapters else None
    before, *parts = _split(text)
    listed = "" if before[2] else "\n".join(f"- {name}" for _, name, words in parts if words)
    yield "rules", section, {"name": o.get("name"), "ruleset": parent, "desc": before[2] or listed}
    above = [(0, str(o.get("name")))]
    for level, name, words in parts:
        above = [each for each in above if each[0] < level]
        if words:
            yield "rules", f"{section}_{slugify(name)}", {"name": name, "ruleset": above[-1][1], "desc": words}
        above.append((level, name))


def _split(text: str) -> list[tuple[int, str, str]]:
    """The headings of a text with their levels and what follows each; the first one is that of the text, "" for none."""
    found = list(_HEADING.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)]
    parts = [
        (len(each[1]), each[2].strip(), text[each.end() : end].strip()) for each, end in zip(found, ends, strict=True)
    ]
    before = text[: found[0].start()].strip() if found else text
    if not parts or before:
        return [(0, "", before), *parts]
    return parts


LISTS: dict[str, Callable[[Object, Tables], Iterator[Made]]] = {"rules": _chapter, "rule_sections": _section}
