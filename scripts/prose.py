"""The check of the English that users read: messages, help, public docstrings and documentation.

`scripts/words.toml` has the words and forms that are not used, with what to write instead, and the limits of sentences.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = Path(__file__).with_name("words.toml")

LEAST_WORDS = 3
"""Words of a text from which on it may be a sentence."""

LONG_LIST = 300
"""Characters from which on a text without punctuation is a list of words."""

_CODE = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"|lore://\S+|https?://\S+|LOREKEEPER_\w+|\(https?:[^)]*\)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?=[-*|├└│] ?|\d+\. )")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_PROSE = re.compile(r"[a-z]{2,} [a-z]")
_STOP = re.compile(r"[.,;:!?]")
_FENCE = re.compile(r"^```.*?^```\s*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^\s*(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """A text for users: where it stands, and what it says, without code."""

    path: str
    line: int
    words: str


@dataclass(frozen=True)
class House:
    """What `words.toml` declares.

    Attributes:
        forms: a pattern for each word or form that is not used, and what to write instead.
        longest: most words of a sentence.
        usual: most words of nine in ten sentences.
        public: modules whose docstrings users read.
        data: paths whose strings are data, not messages.
        pages: documentation.
    """

    forms: tuple[tuple[re.Pattern[str], str], ...]
    longest: int
    usual: int
    public: tuple[str, ...]
    data: tuple[str, ...]
    pages: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> House:
        """The declarations of a file."""
        content: dict[str, Any] = tomllib.loads(text)
        forms = tuple(
            (re.compile(rf"\b(?:{form})\b", re.IGNORECASE), better) for form, better in content["instead"].items()
        )
        sentences, texts = content["sentences"], content["texts"]
        return cls(
            forms, sentences["longest"], sentences["usual"], *(tuple(texts[k]) for k in ("public", "data", "pages"))
        )


def messages(path: str, tree: ast.Module, *, public: bool) -> Iterator[Text]:
    """The strings of a module that read like prose, and its docstrings if it is part of the public interface."""
    documented = {node: ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)}
    skipped = {id(node.body[0].value) for node in documented if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))  # what a constant or an attribute is
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        said = _said(node)
        if said and _PROSE.search(said) and len(said.split()) >= LEAST_WORDS:
            yield Text(
                path,
                node.lineno,
                _CODE.sub(
                    "X",
                    said.replace("\n", "\n\n"),
                ),
            )
    for node, docstring in documented.items() if public else ():
        name = getattr(node, "name", "")
        if docstring and not (name.startswith("_") and name != "__init__"):
            line = 1 if isinstance(node, ast.Module) else node.lineno
            yield Text(path, line, _CODE.sub("X", _SECTION.sub("\n\n", docstring)))


_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _said(node: ast.Constant | ast.JoinedStr) -> str | None:
    """What a string says; X for each value that it is filled with."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
    return None


def prose(path: str, content: str) -> Iterator[Text]:
    """The paragraphs of a page of Markdown, each cell of a table by itself, without code."""
    plain = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), content)
    for found in re.finditer(r"(?:^[^\n]+\n?)+", plain, re.MULTILINE):
        line = plain.count("\n", 0, found.start()) + 1
        words = _CODE.sub("X", _LINK.sub(r"\1", found[0]))
        if words.lstrip().startswith("|"):
            words = words.replace("|", "\n\n")
        if not words.lstrip().startswith("#"):
            yield Text(path, line, words)


def sentences(text: Text) -> Iterator[str]:
    """The sentences of a text, as far as they have enough words to be ones, and are no lists of words."""
    for part in _SENTENCE.split(text.words):
        if (_STOP.search(part) or len(part) < LONG_LIST) and len(_WORD.findall(part)) >= LEAST_WORDS:
            yield " ".join(part.split())


def texts(root: Path, house: House) -> Iterator[Text]:
    """All that users read below a folder."""
    for module in sorted((root / "lorekeeper").rglob("*.py")):
        path = module.relative_to(root).as_posix()
        if not path.startswith(house.data):
            yield from messages(path, ast.parse(module.read_text("utf-8")), public=path in house.public)
    for pattern in house.pages:
        for page in sorted(root.glob(pattern)):
            yield from prose(page.relative_to(root).as_posix(), page.read_text("utf-8"))


def faults(root: Path, house: House) -> Iterator[str]:
    """Each word that is not used, each sentence that is too long, and too many long ones, as ``file:line: what``."""
    lengths: list[int] = []
    for text in texts(root, house):
        place = f"{text.path}:{text.line}"
        for form, better in house.forms:
            yield from (f"{place}: {found[0]!r}: write {better}" for found in form.finditer(text.words))
        for sentence in sentences(text):
            lengths.append(len(_WORD.findall(sentence)))
            if lengths[-1] > house.longest:
                yield f"{place}: a sentence of {lengths[-1]} words, at most {house.longest}: {sentence[:60]} ..."
    usual = sorted(lengths)[len(lengths) * 9 // 10] if lengths else 0
    if usual > house.usual:
        yield f"lorekeeper:1: a tenth of the sentences has more than {usual} words, at most {house.usual} are usual"
