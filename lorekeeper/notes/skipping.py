"""Files that are no notes: templates, boards and drawings, notes about tools, and empty ones."""

from __future__ import annotations

import re
from itertools import chain, islice

from lorekeeper.folding import fold
from lorekeeper.notes.kinds import own_kind
from lorekeeper.notes.properties import TAG_KEYS, joined, written_tags
from lorekeeper.notes.source import PROGRAMS, front_matter, normal
from lorekeeper.words import listed

FEWEST_WORDS = 3

TOOLS = frozenset(listed("file tools"))
"""Folded names of files about the vault's tools, not about its world."""

_TEMPLATES = frozenset(listed("file template"))
_TEMPLATE_CODE = re.compile(
    r"<%[-_*+]?\s{0,9}(?:await\s{1,9})?tp\.|\{\{\s{0,9}(?:date|time|title|name|value)\b[^{}\n]{0,60}\}\}", re.IGNORECASE
)
_BOARDS = {"kanban plugin": "a kanban board", "excalidraw plugin": "a drawing"}
_FENCED = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--|-->")
_WORD = re.compile(r"[^\W_]+")


def passed_over(path: str, text: str) -> str | None:
    """Why a file is no note: "a template", "a drawing", ...; None for a note, and for what cannot be read."""
    try:
        return _passed_over(path, text)
    except MemoryError:
        raise
    except Exception:
        return None  # reading it as a note says what is wrong


def _passed_over(path: str, text: str) -> str | None:
    *folders, file = path.replace("\\", "/").split("/")
    stem = file.rpartition(".")[0] or file
    if fold(stem) in TOOLS:
        return "about tools"
    if (fold(stem).split() or [""])[-1] in _TEMPLATES or any(map(has_templates, folders)):
        return "a template"
    front = front_matter(normal(text))
    lines, (properties, _) = front.lines, joined(front.blocks)
    if stem.casefold().endswith(".excalidraw"):
        return "a drawing"
    if board := next((what for key, what in _BOARDS.items() if properties.texts(key)), ""):
        return board
    prose = _without_code("\n".join(lines))
    if any(fold(tag) in _TEMPLATES for tag in written_tags(properties)) or _TEMPLATE_CODE.search(
        "\n".join((*front.blocks, prose))
    ):
        return "a template"
    told = (prose, *(text for key in properties.values if fold(key) not in TAG_KEYS for text in properties.texts(key)))
    has_words = any(islice(chain.from_iterable(map(_WORD.finditer, told)), FEWEST_WORDS - 1, None))
    return None if has_words or own_kind(properties, written_tags(properties)) else "fewer than three words"


def has_templates(folder: str) -> bool:
    """Whether a folder is named as one of templates, also where a number or letter sorts it: "99 - Templates"."""
    words = [word for word in fold(folder).split() if len(word) > 1 and not word.isdigit()]
    return len(words) == 1 and words[0] in _TEMPLATES


def _without_code(text: str) -> str:
    """A text without comments, code and programs; the words of stat blocks and of other languages stay out of it."""
    parts, at, fence, language = list[str](), 0, "", ""
    for match in _FENCED.finditer(text):
        if not fence:
            parts.append(text[at : match.start()])
            fence, language, at = match[1], match[2].casefold(), match.end()
        elif match[1].startswith(fence) and not match[2]:
            parts.append("" if language in PROGRAMS else _blotted(text[at : match.start()]))
            fence, at = "", match.end()
    text = "".join(parts) + ("" if fence else text[at:])
    text = re.sub(r"`[^`\n]{0,500}`", lambda match: _blotted(match[0]), text)
    parts, depth, at = list[str](), 0, 0
    for match in _COMMENT.finditer(text):
        if not depth:
            parts.append(text[at : match.start()])
        depth, at = int(match[0] == "<!--"), match.end()
    return "".join(parts) + ("" if depth else text[at:])


def _blotted(code: str) -> str:
    """Code as words, which no template is recognised by."""
    return " ".join(["", *_WORD.findall(code)[:FEWEST_WORDS], ""])
