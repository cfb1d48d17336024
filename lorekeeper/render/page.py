"""The parts of which pages are made: lines with a label in bold, sections, and whatever no renderer knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from lorekeeper.records.values import mapping, named_text
from lorekeeper.render.prose import HEADING
from lorekeeper.render.source import Source, text_of, title, words

Line = tuple[str, str | Callable[[Source], str]]
"""A label, and what comes after it, or how that is read: "" leaves the line out."""

LONG_TEXT = 120
"""A value of more characters than this gets a section of its own."""

PLUMBING = frozenset(
    "key slug name title url document document_name collection kind asked_as crossreferences illustration icon option_pack "
    "img_main image page pages page_order "
    "page_no v2_converted_path v2_related_key document__slug document__title document__license_url "
    "document__url creaturesets source source_api references".split()
)
"""Keys that say nothing about the entry itself, or what the answer says beside it."""


def line(label: str, *keys: str) -> Line:
    """A line with the value of the first key that has one."""
    return label, lambda source: source.words(*keys)


def labelled(source: Source, lines: Iterable[Line]) -> str:
    """The lines that have a value, as a list."""
    values = ((label, value if isinstance(value, str) else value(source)) for label, value in lines)
    return "\n".join(f"- **{label}** {value}" for label, value in values if value)


def section(heading: str, *blocks: str, level: int = 2) -> str:
    """Blocks under a heading of ours, "" without any."""
    body = "\n\n".join(block for block in blocks if block)
    return f"{'#' * level} {heading}\n\n{body}" if body else ""


def italic(*parts: str, separator: str = " ") -> str:
    """The line in italics below a name."""
    text = separator.join(part for part in parts if part)
    return f"*{text}*" if text else ""


def capital(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def rest(source: Source) -> Iterator[str]:
    """What no renderer has read: short values as lines, others as sections with headings of the entry's own."""
    short, long = [], []
    for key, value in source.rest():
        if key in PLUMBING:
            continue
        text = words(value)
        if _is_structured(value) or len(text) > LONG_TEXT:
            long.append(section(title(key), text_of(value) or text, level=4))
        elif text:
            short.append(f"- **{title(key.removeprefix('is_'))}** {text}")
    yield section("Details", "\n".join(short))
    yield from long


def _is_structured(value: object) -> bool:
    """Whether a value holds texts under names: a list of objects, or an object with a text."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(item, Mapping) and named_text(item)[1] for item in items)


def names(values: Iterable[object]) -> str:
    """The names of features, with commas."""
    return ", ".join(words(mapping(value).get("name") or value) for value in values)


def assembled(blocks: Iterable[str]) -> str:
    """Blocks as one page, without headings of ours that nothing follows; those of the entry's own text all stay."""
    text = "\n\n".join(block for block in blocks if block)
    kept: list[str] = []
    following = 0
    for row in reversed(text.split("\n")):
        match = HEADING.fullmatch(row)
        level = len(match[1]) if match else TEXT_LEVEL
        if 1 < level <= OUR_LEVELS and following <= level:
            continue
        if row or (kept and kept[-1]):
            kept.append(row)
        following = level if row else following
    return "\n".join(reversed(kept)).strip()


OUR_LEVELS = 3
"""The deepest level of a heading of ours; those of an entry's own text are deeper."""

TEXT_LEVEL = 7
"""The level of a line that is no heading."""
