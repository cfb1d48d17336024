"""The process that takes the text out of a PDF; `formats.pdf` starts it.

    python -m lorekeeper.intake.pdf_process FILE FIRST_PAGE PAGE_SECONDS

A PDF is a stranger's program for a large library in C, so it never runs in the server, and this process ends itself when a page
takes longer than PAGE_SECONDS. Each line on stdout is JSON: first the
book, ``{"pages", "title", "outline": [[title, depth, page]]}`` with pages from 0, or ``{"refused"}`` with the reason; then, from
FIRST_PAGE on, ``{"page", "label", "text": [[[left, top, right, baseline, size, style, text]]], "unmapped", "pictured"}``: for each
direction in which type runs, stretches of one font in the order in which they are drawn, in points downward as they are read, with
style 1 for bold type, 2 for italic, and 3 for both; and whether a page of few letters is covered by a picture.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from lorekeeper.system import give_way

MEMORY, SECONDS = 768 << 20, 600
"""Most bytes of address space, and seconds of CPU time: a book of 400 pages takes some ten, and a third of that space."""

MAX_PAGES, MAX_CHARS, MAX_OUTLINE = 5_000, 60_000, 5_000
"""Most pages of a book, characters of a page, and lines of the outline."""

BOLD, ITALIC = 1, 2
_HEAVY, _HEAVIER = 600, 1.4
"""Least weight of bold type whose name does not say it: by itself, and in weights of most type."""

_SAMPLED = 40
"""Of so many characters the weight of one is counted."""

FEW_CHARS = 5
"""Characters of a page, at most, that are those of its number, and no text."""

_FORCE_BOLD, _SLANTED = 1 << 18, 1 << 6
_BOLD_NAME = re.compile(r"bold|black|heavy|demi|\b(?:\w{6}\+)?(?:cm|ec|sf|tc)(?:ss)?(?:bx|sx|xi)")
"""Names of bold fonts, and TeX's, whose bold ones are extended."""

_ITALIC_NAME, _PLAIN_NAME = re.compile("italic|oblique"), re.compile("regular|roman|book|light|thin|italic|oblique")
_PASSWORD = 4
_BREAKS, _HYPHENS = (10, 13, 32, 160), (0x2, 0x2D, 0xAD, 0x2010, 0x2011)
"""Codes between words, and those of hyphens; some fonts say all of these of one."""

_SPACES = " ", "\x1f"
"""A space that the file has, and a gap that is as wide as one."""

_APART = re.compile(rf"(?<!\w)(?:[^\W\d]{_SPACES[1]}){{3,}}[^\W\d](?!\w)")

_TURN = 15
"""Degrees by which directions of type differ at least."""


def main(path: str, first: int, seconds: float) -> int:
    """Write the book and its pages; 0 when that is done."""
    _limit()
    import pypdfium2

    watch = partial(faulthandler.dump_traceback_later, seconds, exit=True)  # it needs no turn of the interpreter
    watch()
    try:
        document = pypdfium2.PdfDocument(path)
        count = len(document)
    except pypdfium2.PdfiumError as error:
        is_locked = getattr(error, "err_code", 0) == _PASSWORD or "assword" in str(error)
        _write(refused="locked" if is_locked else "damaged")
        return 0
    _write(pages=count, title=str(document.get_metadata_value("Title") or ""), outline=_outline(document))
    weights = Counter[int]()
    for number in range(first, min(count, MAX_PAGES)):
        watch()
        try:
            read = _Page(document[number], weights).read()
            _write(page=number, label=str(document.get_page_label(number) or ""), **read)
        except pypdfium2.PdfiumError:
            _write(page=number, text=None)
    return 0


def _limit() -> None:
    """Take from this process what a hostile file might use: memory, time, and files to write; and let questions go first."""
    give_way()
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limits; the other end watches the time
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _write(**values: Any) -> None:
    """Say something; the other end may take its time to read it."""
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{json.dumps(values, separators=(',', ':'))}\n")
    sys.stdout.flush()


def _outline(document: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    for mark in document.get_toc(max_depth=6):
        target = mark.get_dest()
        place = target.get_index() if target else None
        if place is not None:
            found.append([mark.get_title(), mark.level, place])
        if len(found) == MAX_OUTLINE:
            break
    return found


class _Page:
    """One page of a document, the weights of whose type are counted page by page."""

    def __init__(self, page: Any, weights: Counter[int]) -> None:
        import pypdfium2.raw as raw

        self._raw, self._page, self._text = raw, page, page.get_textpage()
        self._chars = min(raw.FPDFText_CountChars(self._text.raw), MAX_CHARS)
        weights.update(raw.FPDFText_GetFontWeight(self._text.raw, at) for at in range(0, self._chars, _SAMPLED))
        usual = max(weights, key=lambda weight: weights[weight], default=0)
        self._heavy = max(_HEAVY, _HEAVIER * usual)

    def read(self) -> dict[str, Any]:
        """What is on it, in each direction in which its type runs, that of most type first."""
        texts, unmapped = dict[int, list[Any]](), 0
        for turn, *place, style, text, failed in self._stretches():
            unmapped += failed
            texts.setdefault(turn, []).append([*(round(each, 1) for each in place), style, text])
        few = sum(len(each[-1].strip()) for own in texts.values() for each in own) <= FEW_CHARS
        own = sorted(texts.values(), key=len, reverse=True)
        return {"text": own, "unmapped": unmapped, "pictured": few and self._is_pictured()}

    def _is_pictured(self) -> bool:
        width, height = self._page.get_size()
        boxes = (each.get_bounds() for each in self._page.get_objects([self._raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
        return any((right - left) * (top - bottom) > width * height / 2 for left, bottom, right, top in boxes)

    def _stretches(self) -> Iterator[tuple[int, float, float, float, float, float, int, str, int]]:
        raw, handle = self._raw, self._text.raw
        box, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
        thing, kind = None, (0, 0.0, 0)
        run, own, failed, is_apart = list[str](), kind, 0, False
        left = top = right = base = start = 0.0
        for index in range(self._chars):
            code = raw.FPDFText_GetUnicode(handle, index)
            address = ctypes.cast(raw.FPDFText_GetTextObject(handle, index), ctypes.c_void_p).value
            if code in _BREAKS or address is None or 0xD800 <= code < 0xE000:
                is_apart = is_apart or code in (10, 13)
                if run and run[-1] not in _SPACES:
                    run.append(_SPACES[raw.FPDFText_IsGenerated(handle, index) > 0])
                continue
            if address != thing:
                thing, kind = address, self._set(index)
            raw.FPDFText_GetLooseCharBox(handle, index, box)
            raw.FPDFText_GetCharOrigin(handle, index, x, y)
            x0, y0, x1 = _levelled(kind[0], box.left, box.bottom, box.right, box.top)
            baseline = _levelled(kind[0], x.value, y.value, x.value, y.value)[1]
            if code in _HYPHENS and run and run[-1] == "-" and x0 == start:
                continue
            size, start = kind[1], x0
            is_far = abs(baseline - base) > size / 2 or not -size < x0 - right < 1.2 * size
            is_mark = len(run) < 3 and len("".join(run).strip()) == 1 and x0 - right > size / 2
            if run and (is_apart or is_far or is_mark or kind != own):
                yield own[0], left, top, right, base, *own[1:], _spaced(run), failed
                run = []
            if not run:
                left, top, right, base, own, failed = x0, y0, x1, baseline, kind, 0
            is_apart = False
            left, top, right = min(left, x0), min(top, y0), max(right, x1)
            run.append("-" if code in _HYPHENS else chr(code))
            failed += raw.FPDFText_HasUnicodeMapError(handle, index) > 0
        if run:
            yield own[0], left, top, right, base, *own[1:], _spaced(run), failed

    def _set(self, index: int) -> tuple[int, float, int]:
        """Direction in degrees, size and style of the type of a character."""
        raw, handle = self._raw, self._text.raw
        matrix, flags, name = raw.FS_MATRIX(), ctypes.c_int(), ctypes.create_string_buffer(200)
        raw.FPDFText_GetMatrix(handle, index, matrix)
        turn = round(math.degrees(math.atan2(matrix.b, matrix.a)) / _TURN) * _TURN % 360
        size = raw.FPDFText_GetFontSize(handle, index) * (math.hypot(matrix.c, matrix.d) or 1.0)
        raw.FPDFText_GetFontInfo(handle, index, name, 200, flags)
        called = name.value.decode("utf-8", "replace").lower()
        is_heavy = raw.FPDFText_GetFontWeight(handle, index) >= self._heavy and not _PLAIN_NAME.search(called)
        style = BOLD if is_heavy or flags.value & _FORCE_BOLD or _BOLD_NAME.search(called) else 0
        style |= ITALIC if flags.value & _SLANTED or _ITALIC_NAME.search(called) else 0
        return turn, round(abs(size), 1), style


def _spaced(run: list[str]) -> str:
    """The text of a stretch, without the gaps between letters of a word that are set apart."""
    return _APART.sub(lambda word: word[0].replace(_SPACES[1], ""), "".join(run)).replace(_SPACES[1], _SPACES[0])


def _levelled(turn: int, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float]:
    """Left, top and right of a box as its type is read, with y downward."""
    if not turn:
        return x0, -y1, x1
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    along = [x * cos + y * sin for x in (x0, x1) for y in (y0, y1)]
    return min(along), min(x * sin - y * cos for x in (x0, x1) for y in (y0, y1)), max(along)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
