"""Links within a line, and the line as a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from lorekeeper.notes.note import PATH_SEPARATOR, Link
from lorekeeper.words import listed

LINK = re.compile(
    r"(?P<embed>!?)\[\[(?P<wiki>[^\[\]\n]+)\]\]"
    r"|(?P<image>!?)\[(?P<text>[^\[\]\n]*)\]\("
    r"(?:<(?P<bracketed>[^<>\n]{0,2000})>|(?P<url>[^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,2000})?))"
    r"(?:[ \t]{1,9}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'))?[ \t]{0,9}\)"
)
"""A wikilink, or a Markdown link: to a note, a file or a page, shown or embedded."""

FILES = frozenset(
    "png jpg jpeg gif webp svg bmp avif tif tiff heic ico pdf canvas base excalidraw mp3 m4a wav ogg flac opus mp4 mov "
    "webm mkv avi zip json csv txt html htm css js docx xlsx pptx odt ttf otf dungeondraft_map dd2vtt uvtt".split()
)
"""Suffixes of files that are no notes."""

_NOTES = frozenset({"md", "markdown", "mdown", "mkd"})
_SUFFIX = re.compile(r"\.([a-z0-9_]{1,16})$", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]{0,30}:|//|www\.", re.IGNORECASE)
_BACKSLASH = re.compile(r"\\(?=([!-/:-@\[-`{-~])?)")
_LIST_OR_TABLE = re.compile(r"[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]|[ \t]*\|")
_BETWEEN = re.compile(r"[|•·←→⟵⟶«»‹›⬅➡◀▶⏮⏭⬆↑/]|<-|->|<<|>>|::")
_WAYS = frozenset(listed("word way"))
_WORDS = re.compile(r"[^\W_]+")
_DEFINITION = re.compile(
    r"[ \t]{0,3}\[(?P<name>[^\[\]\n^][^\[\]\n]{0,200})\]:[ \t]*(?:<(?P<bracketed>[^<>\n]{1,2000})>|(?P<url>[^\s<>]{1,2000}))"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*"
)
_REFERENCE = re.compile(r"(?P<image>!?)(?<!\[)\[(?P<text>[^\[\]\n]+)\](?![(\]:])(?:\[(?P<name>[^\[\]\n]*)\])?")
_UNLINKABLE = re.compile(r"[\[\]|#^\n]")
_APPS = re.compile(r"(?:obsidian|file|vscode|logseq):", re.IGNORECASE)
_BLANK_LINK = re.compile(r"\[\s{0,9}\]\([^\s()]{0,2000}\)")


@dataclass(frozen=True)
class Inline:
    """A line as a reader sees it, and the links to other notes in it, in reading order."""

    text: str
    links: Sequence[Link]


def read_inline(line: str, section: str = "") -> Inline:
    """Replace the links of a line by what they show. Links to pages elsewhere stay; images and other files go."""
    if "](" not in line and "[[" not in line:
        return Inline(line, ())
    links: list[Link] = []

    def shown(match: re.Match[str]) -> str:
        found = _link(match, section)
        if isinstance(found, str):
            return found
        links.append(found)
        return found.shown

    text = LINK.sub(shown, line)
    return Inline(_BLANK_LINK.sub("", text), links)


def without_references(lines: Sequence[str]) -> list[str]:
    """Lines with the links whose targets stand elsewhere in the text, ``[shown][name]``, as links of their own.

    Only those that lead to files are changed, and the lines go that say where they lead.
    """
    found = {i: match for i, line in enumerate(lines) if "]:" in line and (match := _DEFINITION.fullmatch(line))}
    targets = {
        " ".join(match["name"].casefold().split()): match["bracketed"] or match["url"]
        for match in found.values()
        if not _ELSEWHERE.match(match["bracketed"] or match["url"])
    }
    if not targets:
        return list(lines)

    def leading(match: re.Match[str]) -> str:
        target = targets.get(" ".join((match["name"] or match["text"]).casefold().split()))
        return match[0] if target is None else f"{match['image']}[{match['text']}](<{target}>)"

    return [
        "" if i in found and " ".join(found[i]["name"].casefold().split()) in targets else _REFERENCE.sub(leading, line)
        for i, line in enumerate(lines)
    ]


def keeping_links(line: str) -> str:
    """A line with its links to notes, headings and pages as written; images and other files go."""
    if "](" not in line and "[[" not in line:
        return line

    def kept(match: re.Match[str]) -> str:
        found = _link(match)
        leads = isinstance(found, Link) or (not match["embed"] and (match["wiki"] or "").startswith("#"))
        return match[0] if leads else str(found)

    return _BLANK_LINK.sub("", LINK.sub(kept, line))


@dataclass(frozen=True)
class Written:
    """A link as its author wrote it.

    Attributes:
        written: all of it.
        target: name or path of the other note; "" for a heading of the same one.
        heading: the heading that it leads to, "" for none.
        shown: what a reader sees of it.
        embedded: whether the other note is shown in its place.
    """

    written: str
    target: str
    heading: str
    shown: str
    embedded: bool


def relinked(text: str, instead: Callable[[Written], str]) -> str:
    """A text with something else in the place of its links to notes and to headings of its own."""

    def written(match: re.Match[str]) -> str:
        target, heading, shown = target_of(match)
        is_embedded = bool(match["embed"] or match["image"])
        if not target and not ((match["wiki"] or "").startswith("#") or (match["url"] or "").startswith("#")):
            return match[0]
        return instead(Written(match[0], target, heading, shown, is_embedded))

    return LINK.sub(written, text) if "](" in text or "[[" in text else text


def wikilink(target: str, shown: str, *, embedded: bool = False) -> str:
    """A link to a note; without a link what is shown, if a link cannot hold that."""
    if not target or _UNLINKABLE.search(target + shown):
        return shown
    inside = target if target == shown else f"{target}|{shown}"
    return f"{'!' if embedded else ''}[[{inside}]]"


def target_of(match: re.Match[str]) -> tuple[str, str, str]:
    """The target, the heading, and what is shown of a link that `LINK` matches; the target is "" for the note itself."""
    found = _link(match)
    if isinstance(found, Link):
        return found.target, found.heading, found.shown
    _, _, heading = (match["wiki"] or match["url"] or match["bracketed"] or "").partition("|")[0].partition("#")
    return "", _heading(heading), found


def without_links(line: str) -> tuple[str, int]:
    """What stands between the links of a line, and how many there are."""
    return LINK.subn("", line)


def is_navigation(line: str) -> bool:
    """Whether a line has links and separators only, or words such as "Previous", and is no item of a list or table."""
    rest, number = without_links(line)
    words = _WORDS.findall(rest.casefold())
    if not number or _LIST_OR_TABLE.match(line) or any(word not in _WAYS for word in words):
        return False
    return bool(words) or (number > 1 and bool(_BETWEEN.search(rest)))


def _link(match: re.Match[str], section: str = "") -> Link | str:
    """The link to a note, or what a reader sees if it leads to no other note."""
    return _wikilink(match, section) if match["wiki"] else _markdown_link(match, section)


def _wikilink(match: re.Match[str], section: str) -> Link | str:
    written, _, shown = match["wiki"].replace("\\|", "|").partition("|")
    target, _, heading = written.partition("#")
    target, shown = _target(target), shown.strip()
    embedded = bool(match["embed"])
    if suffix(target) in FILES:
        return "" if embedded else shown or _last(target)
    if not target:
        return "" if embedded else shown or _heading(heading)
    label = shown or PATH_SEPARATOR.join(filter(None, (_last(target), _heading(heading))))
    return Link(target, _heading(heading), label, section, embedded)


def _markdown_link(match: re.Match[str], section: str) -> Link | str:
    written = match["url"] if match["bracketed"] is None else match["bracketed"]
    if _APPS.match(written):
        return match["text"].strip()  # a path of this computer is no address for readers
    if _ELSEWHERE.match(written):
        return "" if match["image"] else match[0]
    target, _, heading = written.partition("#")
    target, text = _target(target), match["text"].strip()
    ending = _SUFFIX.search(target)
    if ending and ending[1].casefold() not in _NOTES:
        return "" if match["image"] else text
    if not target:
        return "" if match["image"] else text or _heading(heading)
    return Link(target, _heading(heading), text or _last(target), section, bool(match["image"]))


def _target(written: str) -> str:
    """A path with "/" and without percent signs; a backslash before punctuation only escapes it."""
    return unquote(_BACKSLASH.sub(lambda match: "" if match[1] else "/", written)).strip()


def _heading(written: str) -> str:
    """The heading that a link names; "" for a block, which has none."""
    last = unquote(written).replace("\\", "").rpartition("#")[2].strip()
    return "" if last.startswith("^") else last


def _last(target: str) -> str:
    """The name in a path, without the suffix of a note."""
    name = target.rstrip("/").rpartition("/")[2]
    return name[: name.rindex(".")] if suffix(name) in _NOTES else name


def suffix(target: str) -> str:
    """What follows the last full stop, in lower case; "" if that is no suffix."""
    match = _SUFFIX.search(target)
    return match[1].casefold() if match else ""
