"""Bestiaries in YAML, in the keys of the plugin Fantasy Statblocks: one creature, a list, or one per document of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorekeeper.errors import FilterError
from lorekeeper.intake.formats.text_file import Entry, TextFile
from lorekeeper.normalize.build import Origin, slugify
from lorekeeper.normalize.statblocks import SOURCE, creature
from lorekeeper.normalize.statblocks import recognises as is_creature
from lorekeeper.notes.statblocks import StatBlockError, read_documents
from lorekeeper.printable import shown

MAX_CHARS = 16 << 20
"""Longest file."""

SUFFIXES = (".yaml", ".yml")

_FENCE = re.compile(r"^```.*$", re.MULTILINE)


def recognises(name: str, _: str) -> bool:
    """Whether a file may be a bestiary: YAML, by its name."""
    return name.endswith(SUFFIXES)


def read(file: TextFile) -> Iterator[Entry]:
    """The creatures of a file; what is none is reported by its place."""
    text = file.whole(MAX_CHARS)
    if text is None:
        return
    origin = Origin(SOURCE, file.document or slugify(file.title) or "bestiary", file.title)
    try:
        blocks = list(read_documents(_FENCE.sub("---", text)))
    except StatBlockError as error:
        file.fail(f"it is no YAML that can be read: {error}")
        return
    if not any(map(is_creature, blocks)):
        file.fail(
            "it has no creature with a name and six ability scores ('stats'): LoreKeeper reads bestiaries of Fantasy Statblocks"
        )
        return
    for place, values in enumerate(blocks):
        where = f"{file.path}[{place}] {shown(str(values.get('name') or ''), 60)}"
        try:
            entity, problems = creature(values, origin)
        except FilterError as error:
            file.fail(str(error), where)
            continue
        for problem in problems:
            file.warn(problem, where)
        yield Entry(file.audiences.decided(entity), where)
