"""What a note is called: its name, where that comes from, and its other names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from lorekeeper.folding import fold
from lorekeeper.notes.kinds import ALONE, INDEXES, NAMED, Usage, stands_for_folder
from lorekeeper.notes.links import read_inline
from lorekeeper.notes.properties import Properties, listed
from lorekeeper.words import listed as words

ALIAS_KEYS = words("key alias")

_PARTS = frozenset(words("heading part"))
"""Folded headings that begin many notes and name none."""

_EXPLAINED = re.compile(r"(?<![ \t])[ \t]+[-–—|][ \t]+")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|~~|==)(?=\S)([^*~=\n]+?)(?<=\S)\1")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_UNDERLINED = re.compile(r"(?<!\w)(__|_)(?=\S)([^_\n]+?)(?<=\S)\1(?!\w)")
_JOINERS = frozenset({"\u200d", "\ufe0f", "\ufe0e", "\u20e3"})


def plain(heading: str) -> str:
    """A heading without the marks of Markdown and HTML: links by what they show, no emphasis, no block id."""
    text = re.sub(r"(?:^|[ \t])\^[\w-]+$", "", _TAG.sub("", read_inline(heading.strip()).text))
    for pattern in (_EMPHASIS, _EMPHASIS, _UNDERLINED):
        text = pattern.sub(r"\2", text)
    return " ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("`", "").split())


def without_emoji(name: str) -> str:
    """A name without pictures and what joins them; as it is if nothing else is in it."""
    kept = (
        c
        for c in name
        if unicodedata.category(c) != "So" and c not in _JOINERS and not "\U0001f3fb" <= c <= "\U0001f3ff"
    )
    return " ".join("".join(kept).split()).strip("-–—|: ") or name


def file_name(path: str) -> str:
    """What the file is called, without suffix; for the note of a folder, the folder's name."""
    *folders, file = path.split("/")
    stem = file.rpartition(".")[0] or file
    is_index = folders and stands_for_folder(file, folders) and fold(stem) != fold(folders[-1])
    return folders[-1] if is_index else stem


def is_generic(heading: str, usage: Usage = ALONE) -> bool:
    """Whether a heading names no note: it stands above many, is the like of "Overview", or the placeholder of a template."""
    return usage.is_shared or "{{" in heading or fold(heading) in _PARTS


def name_of(properties: Properties, title: str, path: str, usage: Usage) -> tuple[str, str]:
    """A note's name, and what it comes from: "name" or "title" of the front matter, "heading", "file" or "folder"."""
    for key in ("name", "title"):
        if (written := plain(properties.text(key))) and "{{" not in written:
            return written, key
    if title and (fold(title) == fold(file_name(path)) or not is_generic(title, usage)):
        return title, "heading"
    *folders, file = path.split("/")
    return file_name(path), "folder" if folders and stands_for_folder(file, folders) else "file"


def aliases_of(properties: Properties, name: str, title: str, path: str, kind: str) -> list[str]:
    """Other names, each once and none that only repeats the name."""
    found: dict[str, str] = {}
    for alias in _aliases(properties, name, title, path, kind):
        if alias.strip() and (fold(alias) != fold(name) or alias == without_emoji(name) != name):
            found.setdefault(fold(alias), alias)
    return list(found.values())


def _aliases(properties: Properties, name: str, title: str, path: str, kind: str) -> Iterator[str]:
    for key in ALIAS_KEYS:
        yield from map(plain, listed(properties.texts(key)))
    for shown in dict.fromkeys(filter(None, (title, name))):
        bare = without_emoji(shown)
        yield from (bare, shown, *_in_heading(bare, kind))
    own = path.rpartition("/")[2].rpartition(".")[0]
    yield from (called for called in dict.fromkeys((file_name(path), own)) if fold(called) not in INDEXES)


def _in_heading(heading: str, kind: str) -> Iterator[str]:
    """The name in a heading that also says what somebody is: "Holya - Townmaster" of a person."""
    if kind in NAMED:
        first, *rest = _EXPLAINED.split(heading, maxsplit=1)
        if rest and len(first) > 1:
            yield first
