"""A user's own marks: words that say of a heading, a callout, a key of front matter, a file or a folder who may see it.

    dm: [Spielleitung, Hinter den Kulissen]
    players: [Was alle wissen]
    none: [Hidden Valley]

They come before the built-in ones of `secrets`. A text under ``dm`` also counts where it stands in whole words within a longer
heading or name; one under ``players`` or ``none`` only where it is the whole of it, or all of it but what stands in brackets, or
what stands there. So a mark that opens something never holds for more than was written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lorekeeper.notes.comparing import comparable
from lorekeeper.printable import shown
from lorekeeper.shares import Shares

KEYS = ("dm", "players", "none")

RULES = 7
"""Raised whenever the built-in rules let a note say something else, above all of who may see it: every vault is read again then,
and players see nothing of it before. Libraries without a number were written before 1."""

MOST, LONGEST = 1000, 200
"""Most texts of a file, and the longest, in characters."""

LARGEST = 1 << 16
"""Characters of a file: what reads YAML takes some 100,000 a second."""


@dataclass(frozen=True, eq=False)
class OwnMarks:
    """The marks of one file.

    Attributes:
        texts: which list a folded text is in: "dm", "players" or "none".
        shares: what the game master has decided on the vault that is read, beside them.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    shares: Shares = field(default_factory=Shares)

    @property
    def rules(self) -> str:
        """Changes whenever notes are read otherwise, by the built-in rules or by these marks."""
        return f"{RULES} {self.digest}".rstrip()

    @property
    def digest(self) -> str:
        """Changes whenever something else is marked; "" without any."""
        said = [*sorted(self.texts.items()), *sorted(self.shares.texts)]
        return hashlib.blake2b(json.dumps(said).encode("utf-8"), digest_size=8).hexdigest() if said else ""

    def whole(self, folded: str) -> str:
        """The list that has a folded text; "" for none."""
        return "dm" if folded in self.shares.texts else self.texts.get(folded, "")

    def is_secret_within(self, folded: str) -> bool:
        """Whether a folded text has one of the list ``dm`` within it, in whole words."""
        return any(kind == "dm" and f" {text} " in f" {folded} " for text, kind in self.texts.items())

    def of(self, folded: str) -> str:
        """The list that decides on a folded text: the one that has it as a whole, else "dm" if it has a part of it."""
        return self.whole(folded) or ("dm" if self.is_secret_within(folded) else "")


BUILT_IN = OwnMarks()
"""No marks beside the built-in ones."""


def read_marks(text: str) -> OwnMarks:
    """The marks of a YAML or JSON text.

    Raises:
        ValueError: it is something else; the message says what is wrong with it.
    """
    lists = _lists(text)
    texts: dict[str, str] = {}
    for key, written in lists:
        for each in written:
            folded = comparable(each)
            if not re.search(r"\w", folded) or len(each) > LONGEST:
                raise ValueError(
                    f"{shown(each)} under '{key}' must have letters or digits, and at most {LONGEST} characters"
                )
            if texts.setdefault(folded, key) != key:
                raise ValueError(f"{shown(each)} is both under '{texts[folded]}' and under '{key}'")
    if len(texts) > MOST:
        raise ValueError(f"it has {len(texts):,} marks, more than the {MOST:,} that are read")
    return OwnMarks(texts)


def _lists(text: str) -> list[tuple[str, list[str]]]:
    """The lists by their keys, as they are written."""
    import yaml

    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} characters")
    try:
        root = yaml.compose(text, yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(root, yaml.MappingNode):
        raise ValueError(f"it must have the keys {', '.join(KEYS)}, each with a list of texts")
    found: list[tuple[str, list[str]]] = []
    for key, value in root.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        if name not in KEYS or name in dict(found):
            reason = "appears twice" if name in dict(found) else f"is not one of {', '.join(KEYS)}"
            raise ValueError(f"its key {shown(name)} {reason}")
        if not isinstance(value, yaml.SequenceNode) or not all(isinstance(n, yaml.ScalarNode) for n in value.value):
            raise ValueError(f"'{name}' must be a list of texts, for example {name}: [Some Words]")
        found.append((name, [str(each.value) for each in value.value]))
    return found
