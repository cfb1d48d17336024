"""The collected homebrew of 5etools: what every file gives, compared with the raw objects by a reader of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.render import lean, markdown
from tests.support.homebrew import read

pytestmark = pytest.mark.corpus

Raw = dict[str, Any]

TEXTS = ("entries", "action", "trait", "reaction", "legendary", "entriesHigherLevel")

PARTS = {"classFeature", "subclassFeature", "legendaryGroup", "monsterFluff", "adventureData", "bookData"}
"""Lists that are read as parts of other things."""

OTHER_PROGRAMS = {"roll20Spell", "foundrySpell", "itemTypeAdditionalEntries"}


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    return corpus / "5etools"


@pytest.fixture(scope="module")
def everything(folder: Path) -> list[Entity]:
    return read(*(folder / name for name in ("samples", "more", "synthetic")))[0]


def test_every_entry_has_a_page_without_markup_and_is_read_again_as_it_was(everything: list[Entity]) -> None:
    assert len(everything) > 200
    for entity in everything:
        page = markdown(entity)
        assert re.search(r"\{@\w", page.replace("{@b not a tag", "")) is None, page
        assert json.dumps(lean(entity))
        assert derive_fields(entity) == dict(entity.fields)


# --- field by field ------------------------------------------------------------------------------------------------------


def raw_objects(folder: Path) -> Iterator[tuple[str, Raw]]:
    """Kind and object of everything in files of today's shape that is no copy."""
    for path in sorted(folder.rglob("*.json")):
        if path.name.startswith(("bad-", "dirty-")):
            continue
        for kind, objects in json.loads(path.read_text("utf-8-sig")).items():
            if isinstance(objects, list):
                yield from ((kind, obj) for obj in objects if "name" in obj and "_copy" not in obj)


NO_TEXT = frozenset(
    "name source page type id style href path url credit imageType by from tag className classSource level"
    " ability classFeature".split()
)


SAID_BY_THE_NAME = "Lamps"
"""The one thing whose text, "Several lamps.", is left out of its page, since it says no more than the name."""


def words_of(value: Any) -> Iterator[str]:
    """The words of all texts without markup in the entries of a raw object."""
    if isinstance(value, str):
        yield from re.findall(r"[A-Za-z]{3,}", value) if "{" not in value else ()
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in NO_TEXT and not key.startswith(("ref", "col", "foundry")):
                yield from words_of(each)


def test_no_word_of_a_text_is_lost(folder: Path, everything: list[Entity]) -> None:
    pages: dict[str, str] = {}
    for entity in everything:
        pages[entity.name] = pages.get(entity.name, "") + markdown(entity)
    compared = 0
    for kind, raw in raw_objects(folder):
        if kind in PARTS | OTHER_PROGRAMS | {"adventure", "book"} or raw["name"] == SAID_BY_THE_NAME:
            continue
        name = f"{raw['raceName']} ({raw['name']})" if kind == "subrace" else raw["name"]
        lost = {word for key in TEXTS for word in words_of(raw.get(key))}
        lost -= set(re.findall(r"[A-Za-z]{3,}", pages[name]))
        assert lost == set(), f"{kind} {name}"
        compared += 1
    assert compared >= 130


# --- damage --------------------------------------------------------------------------------------------------------------
