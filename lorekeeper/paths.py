"""Comparable forms of paths: folders, tags and the links of notes, all of them names between slashes."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from lorekeeper.folding import fold

LONGEST = 500
"""Most characters of a folded path; a longer one ends in a digest of what was cut off."""

_NOTE = "lore://notes/"
_SUFFIX = re.compile(r"\.(md|markdown)$", re.IGNORECASE)
_DIGEST_BYTES = 16


def fold_path(text: str) -> str:
    """Comparable form of a path: each of its names folded, as in "world/north"; "/World//North/" is the same path."""
    names = [fold(name) for name in text.replace("\\", "/").split("/") if name.strip()]
    return _bounded("/".join(names) or text.strip())


def fold_tag(text: str) -> str:
    """`fold_path` of a tag; "#npc" is "npc"."""
    return fold_path(text.strip().lstrip("#").strip() or text)


def fold_link(text: str) -> str:
    """`fold_path` of the note that is linked to, without ".md": of its path, its ``lore://notes/`` uri or its name."""
    path = text.strip()
    if path.startswith(_NOTE):
        path = unquote(path.removeprefix(_NOTE).partition("/")[2]) or path
    return fold_path(_SUFFIX.sub("", path) or path)


def path_parents(path: str) -> tuple[str, ...]:
    """The paths above a folded one, nearest first: "world/north" and "world" of "world/north/skara"."""
    names = path.split("/")
    return tuple("/".join(names[:depth]) for depth in range(len(names) - 1, 0, -1))


def path_name(path: str) -> tuple[str, ...]:
    """The last name of a folded path, by which a link is found too; nothing of a path that is a name already."""
    name = path.rpartition("/")[2]
    return () if name == path else (name,)


def _bounded(path: str) -> str:
    if len(path) <= LONGEST:
        return path
    digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    return path[: LONGEST - len(digest)] + digest
