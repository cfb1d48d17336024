"""How game masters mark what players must not see, as they write it: one row each, with whether players see the marked words.

Every row of ``tests/data/rows/marks.jsonl`` is a note that is otherwise for all players, so that nothing but the mark of the row
decides. `WORD` stands for the words that are marked.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.support.tables import rows

WORD = "WORD"


class Row(NamedTuple):
    """A note and what players see of it.

    Attributes:
        hidden: whether players do not see the marked words.
        text: of the file.
        path: of the file.
        why: of what is shown, why it is no mark.
    """

    hidden: bool
    text: str
    path: str = "Mira.md"
    why: str = ""


LONG = f"---\npublish: true\nx: {'y' * 65_536}\nsecret: true\n---\nShe is {WORD}."
"""A note whose mark is far down in its front matter."""

ROWS = [*(Row(*row) for row in rows("marks")), Row(True, LONG)]
