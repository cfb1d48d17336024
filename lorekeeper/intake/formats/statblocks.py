"""Bestiaries of the plugin Fantasy Statblocks: YAML with one creature, a list, or one per document of the file; its own store.

Exports of Improved Initiative, which are stores as well, are put into the same form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from lorekeeper.errors import FilterError
from lorekeeper.intake.formats.text_file import Entry, TextFile
from lorekeeper.normalize.build import Origin, own_error
from lorekeeper.normalize.json_errors import invalid
from lorekeeper.normalize.lined import spell
from lorekeeper.normalize.statblocks import INITIATIVE, SOURCE, creature, stored, stored_spells
from lorekeeper.normalize.statblocks import recognises as is_creature
from lorekeeper.normalize.taken import texts_of
from lorekeeper.printable import shown
from lorekeeper.records.stat_blocks import StatBlockError, read_documents

MAX_CHARS = 16 << 20
"""Longest file."""

SUFFIXES = (".yaml", ".yml")

_FENCE = re.compile(r"^```.*$", re.MULTILINE)


_STORES = re.compile(
    r'\A\s*\{\s*"monsters"\s*:\s*\[\s*\]|"monsters"\s*:\s*\[\s*\[\s*"|"Creatures"\s*:\s*\[|"(?:Creatures|Spells)\.[^"]+"\s*:|"HP"\s*:\s*\{\s*"Value"\s*:'
    r'|"(?:CastingTime|School)"\s*:\s*"'
)
"""What the plugin's own store, and an export of Improved Initiative, have near their beginning."""


def recognises(name: str, head: str) -> bool:
    """Whether a file may be a bestiary: YAML, by its name, or a store in JSON."""
    return name.endswith(SUFFIXES) or (
        head.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and _STORES.search(head) is not None
    )


def read(file: TextFile) -> Iterator[Entry]:
    """The creatures of a file; what is none is reported by its place."""
    text = file.whole(MAX_CHARS)
    if text is None:
        return
    origin = Origin(SOURCE, *file.book("bestiary"))
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        yield from _of_store(text, origin, file)
        return
    try:
        blocks = list(read_documents(_FENCE.sub("---", text)))
    except StatBlockError as error:
        file.fail(f"its YAML cannot be read: {error}")
        return
    if not any(map(is_creature, blocks)):
        file.fail(
            "it has no creature with a name and six ability scores ('stats'): LoreKeeper reads bestiaries of Fantasy Statblocks"
        )
        return
    yield from _creatures(((SOURCE, values) for values in blocks), origin, file)


def _of_store(whole: str, origin: Origin, file: TextFile) -> Iterator[Entry]:
    try:
        value = json.loads(whole)
    except json.JSONDecodeError as error:
        file.fail(invalid(error))
        return
    except (ValueError, RecursionError) as error:
        file.fail(f"invalid JSON: {error}")
        return
    spells = list(stored_spells(value))
    creatures = list(stored(value))
    if not (spells or creatures):
        file.skip("store without creatures and spells")
    yield from _creatures(creatures, origin, file)
    for place, values in enumerate(spells):
        try:
            with own_error():
                made = spell(values, replace(origin, source_api=INITIATIVE))
            yield Entry(file.audiences.decided(made), str(file.path))
        except FilterError as error:
            file.fail(str(error), f"{file.path}: spell[{place}]")


def _creatures(blocks: Iterable[tuple[str, Mapping[str, object]]], origin: Origin, file: TextFile) -> Iterator[Entry]:
    for place, (source, values) in enumerate(blocks):
        where = f"{file.path}[{place}] {shown(str(values.get('name') or ''), 60)}"
        try:
            with own_error():
                entity, problems = creature(values, replace(origin, source_api=source))
        except FilterError as error:
            file.fail(str(error), where)
            continue
        for problem in problems:
            file.warn(problem, where)
        file.compare(texts_of(values, source), [entity])
        yield Entry(file.audiences.decided(entity), where)
