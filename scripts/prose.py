"""The check of the English that users read: messages, help, pages in the browser, public docstrings and documentation.

`scripts/words.toml` has the words and forms that are not used, with what to write instead, and the limits of sentences.

    python -m scripts.prose [N [SEED]]

prints N of the sentences that it checks (default: 60), a sample to be read as an editor would.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = Path(__file__).with_name("words.toml")

LEAST_WORDS = 3
"""Words of a text from which on it may be a sentence."""

SAMPLED_WORDS = 6
"""Words of a sentence from which on a sample takes it."""

LONG_LIST = 300
"""Characters from which on a text without punctuation is a list of words."""

_CODE = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"|lore://\S+|https?://\S+|LOREKEEPER_\w+|\(https?:[^)]*\)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?=[-*|├└│] ?|\d+\. )")
_WHOLE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n\s*(?=[-*|├└│] ?|\d+\. )")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_PROSE = re.compile(r"[a-z]{2,} [a-z]")
_STOP = re.compile(r"[.,;:!?]")
_PATTERN = re.compile(r"\\\\[bwdsSW]|\(\?|\[\^|\w\|\w")
_MARKUP = re.compile(r"\s*</?[a-z]+[ >]|.*[{;]\s*$", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```\s*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_TEMPLATE = re.compile(
    r"\{#.*?#\}|\{%.*?%\}|<(?:script|style|svg|code|pre|kbd)\b.*?</(?:script|style|svg|code|pre|kbd)>", re.DOTALL
)
_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_SHOWN = re.compile(r"\b(?:placeholder|title|aria-label|alt)=\"([^\"]*)\"")
_INLINE = re.compile(r"</?(?:a|b|i|em|strong|span|mark|abbr)\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")
_SCRIPT_TEXT = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`")
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
        files: all files with texts for users: modules, pages, documentation.
    """

    forms: tuple[tuple[re.Pattern[str], str], ...]
    longest: int
    usual: int
    public: tuple[str, ...]
    data: tuple[str, ...]
    files: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> House:
        """The declarations of a file."""
        content: dict[str, Any] = tomllib.loads(text)
        forms = tuple(
            (re.compile(rf"\b(?:{form})\b", re.IGNORECASE), better) for form, better in content["instead"].items()
        )
        sentences, texts = content["sentences"], content["texts"]
        return cls(
            forms, sentences["longest"], sentences["usual"], *(tuple(texts[k]) for k in ("public", "data", "files"))
        )


def messages(path: str, tree: ast.Module, *, public: bool) -> Iterator[Text]:
    """The strings of a module that read like prose, and its docstrings if it is part of the public interface."""
    documented = {node: ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)}
    skipped = {id(node.body[0].value) for node in documented if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as constant):  # what a constant or an attribute is
                skipped.add(id(constant))
            case ast.JoinedStr(values=parts):
                skipped |= {id(part) for part in parts}
            case ast.Call(func=ast.Attribute(attr="split", value=words)):  # a list of words
                skipped.add(id(words))
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        said = _said(node)
        if said and is_prose(said):
            yield Text(path, node.lineno, _CODE.sub("X", said.replace("\n", "\n\n")))
    for node, docstring in documented.items() if public else ():
        name = getattr(node, "name", "")
        if docstring and not (name.startswith("_") and name != "__init__"):
            line = 1 if isinstance(node, ast.Module) else node.lineno
            yield Text(path, line, _CODE.sub("X", _SECTION.sub("\n\n", docstring)))


def is_prose(text: str) -> bool:
    """Whether a string reads like words for people: no name, pattern, or code in another language."""
    if _PATTERN.search(text) or _MARKUP.match(text):
        return False
    return bool(_PROSE.search(text)) and len(text.split()) >= LEAST_WORDS


def template(path: str, content: str) -> Iterator[Text]:
    """The texts of a page's template: what its elements contain, and attributes that browsers show or read aloud."""
    plain = _VALUE.sub("X", _TEMPLATE.sub(lambda found: "\n" * found[0].count("\n"), content))
    for found in re.finditer(r"[^<>]+", _TAG.sub(lambda tag: _shown(tag[0]), _INLINE.sub("", plain))):
        words = found[0].strip()
        if len(words.split()) >= LEAST_WORDS and _PROSE.search(words):
            yield Text(path, plain.count("\n", 0, plain.find(words.splitlines()[0])) + 1, " ".join(words.split()))


def _shown(tag: str) -> str:
    """What of a tag is shown, between signs that end a text."""
    return f"<{'<'.join(_SHOWN.findall(tag))}<" + "\n" * tag.count("\n")


def script(path: str, content: str) -> Iterator[Text]:
    """The strings of a script for browsers that read like prose."""
    for line, code in enumerate(content.splitlines(), 1):
        if code.lstrip().startswith("//"):
            continue
        for found in _SCRIPT_TEXT.finditer(code):
            said = re.sub(r"\$\{[^}]*\}", "X", next(filter(None, found.groups()), ""))
            if is_prose(said) and not re.search(r"[=\[\]#>]", said):
                yield Text(path, line, said)


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
        if not words.lstrip().startswith(("#", ">")):  # headings, and words of others
            yield Text(path, line, words)


def sentences(text: Text) -> Iterator[str]:
    """The sentences of a text, as far as they have enough words to be ones, and are no lists of words."""
    for part in _SENTENCE.split(text.words):
        if (_STOP.search(part) or len(part) < LONG_LIST) and len(_WORD.findall(part)) >= LEAST_WORDS:
            yield " ".join(part.split())


def texts(root: Path, house: House) -> Iterator[Text]:
    """All that users read below a folder."""
    for file in sorted(path for pattern in house.files for path in root.glob(pattern)):
        path = file.relative_to(root).as_posix()
        if path.startswith(house.data) or file.name.endswith(".min.js"):
            continue
        content = file.read_text("utf-8")
        match file.suffix:
            case ".py":
                yield from messages(path, ast.parse(content), public=path in house.public)
            case ".html":
                yield from template(path, content)
            case ".js":
                yield from script(path, content)
            case _:
                yield from prose(path, content)


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


def main(arguments: list[str]) -> int:
    count, seed = (*(int(number) for number in arguments), *(60, 1)[len(arguments) :])
    house = House.read(WORDS.read_text("utf-8"))
    found = {
        (f"{text.path}:{text.line}", " ".join(sentence.split()))
        for text in texts(Path(), house)
        for sentence in _WHOLE.split(text.words)
        if len(_WORD.findall(sentence)) >= SAMPLED_WORDS and _STOP.search(sentence)
    }
    for place, sentence in random.Random(seed).sample(sorted(found), count):
        print(f"{place}: {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
