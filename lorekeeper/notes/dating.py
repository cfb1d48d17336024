"""Dates as people write them: those of our calendar, and those of a world."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from itertools import pairwise

from lorekeeper.folding import fold
from lorekeeper.words import by_beginning, table

_FIRST_YEAR, _AHEAD = 1970, 1
"""The first year of which a note may be, and how many years from now the last one may be: other dates are of a world."""

_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.|º|er)?"
_MONTH = r"(?P<month>[^\W\d_]{3,12})\.?"
_ISO = re.compile(rf"(?<![0-9]){_YEAR}[-._/](?P<month>[0-9]{{1,2}})[-._/](?P<day>[0-9]{{1,2}})(?![0-9])")
_NUMBERS = re.compile(
    r"(?<![\w./-])(?P<one>[0-9]{1,2})(?P<sign>[./-]) ?(?P<other>[0-9]{1,2})[./-] ?"
    r"(?P<year>(?:19|20)[0-9]{2}(?![0-9])|[0-9]{2}(?![\w/-]|\.[0-9]))"
)
_WRITTEN = (
    re.compile(rf"(?<!\w){_MONTH}[ ]{_DAY},?[ ]{_YEAR}(?![0-9])"),
    re.compile(rf"(?<![0-9]){_DAY}[ ](?:(?:of|de|del)[ ])?{_MONTH},?[ ](?:(?:de|del)[ ])?{_YEAR}(?![0-9])"),
    re.compile(rf"(?<![0-9]){_YEAR}(?P<month>[01][0-9])(?P<day>[0-3][0-9])(?![0-9])"),
    re.compile(r"^(?P<year>[0-9]{2})(?P<month>[01][0-9])(?P<day>[0-3][0-9])(?=(?:\.[a-z]+)?$)"),
)
"""The last is the name of a file, and no more: 240505."""
_ANY_YEAR = re.compile(
    r"(?<![0-9])[0-9]{3,5}[-._/][0-9]{1,2}[-._/][0-9]{1,2}(?![0-9])|(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])"
)
_LONGEST, _SHORTEST_YEAR = 200, 3
_WORD = re.compile(r"[^\W\d_]+")

_OF_A_WORLD = re.compile(r"(?P<year>-?[0-9]{1,5})(?:\W(?P<month>[0-9]{1,2})(?:\W(?P<day>[0-9]{1,2}))?)?(?![0-9])")
_PART = re.compile(r"(year|month|day)\W{1,3}(-?[0-9]{1,5})")
_NAMED_MONTH = re.compile(r"(?P<day>[0-9]{1,2})\W{1,3}(?:[^\W\d_]\D{0,40}?)(?P<year>[0-9]{2,5})(?![0-9])")


def date_in(text: str, *, day_first: bool | None = None) -> date | None:
    """The first date of our calendar in a text: "2025-07-08", "Tuesday, July 8th 2025, 5:13:47 pm", "8.7.2025", "8 juillet 2025".

    Args:
        text: any; what stands far behind its beginning is not looked at.
        day_first: which of "5/12/2024" is the day; None where nobody knows, and it is no date.
    """
    text = text[:_LONGEST]
    if match := _ISO.search(text):
        found = _date(match["year"], int(match["month"]), match["day"])
        if found:
            return found
    for match in _NUMBERS.finditer(text):
        is_day_first = _order_of(match)
        if is_day_first is None:
            is_day_first = match["sign"] == "." or match["one"] == match["other"] or day_first
        if is_day_first is not None:
            day, month = (match["one"], match["other"]) if is_day_first else (match["other"], match["one"])
            if found := _date(match["year"], int(month), day):
                return found
    for pattern in _WRITTEN:
        for match in pattern.finditer(text):
            if found := _date(match["year"], _month(match["month"]), match["day"]):
                return found
    return None


def day_first_in(texts: Iterable[str]) -> bool | None:
    """Which of two numbers is the day in the dates of these texts, by those where only one can be; None if none says so."""
    found = {
        said for text in texts for match in _NUMBERS.finditer(text[:_LONGEST]) if (said := _order_of(match)) is not None
    }
    return found.pop() if len(found) == 1 else None


def without_dates(text: str) -> str:
    """A name without its dates and years, whose numbers count nothing."""
    for pattern in (_ISO, _NUMBERS, *_WRITTEN, _ANY_YEAR):
        text = pattern.sub(" ", text)
    return text


def may_be_date(text: str) -> bool:
    """Whether a text has a date, of whatever calendar."""
    return len(text) <= _LONGEST and bool(_ANY_YEAR.search(text) or _NUMBERS.search(text) or _NAMED_MONTH.search(text))


def is_date(line: str) -> bool:
    """Whether a line is a date of our calendar, with a word such as its weekday at most."""
    if not any(map(str.isdigit, line)) or date_in(line, day_first=True) is None:
        return False
    rest = without_dates(line)
    return len(_WORD.findall(rest)) <= 1 and not any(map(str.isdigit, rest))


def impossible(text: str) -> bool:
    """Whether a text begins as a date does that no calendar has: "2025-13-45"."""
    match = _ISO.match(text)
    return match is not None and not (int(match["month"]) in range(1, 13) and int(match["day"]) in range(1, 32))


def world_date(text: str) -> int | None:
    """A date of another world as digits, 14920310 for day 10 of month 3 in 1492; None for none. A month by its name is none."""
    text = text.strip()
    match = _NAMED_MONTH.match(text) or _OF_A_WORLD.match(text)
    parts = match.groupdict() if match else dict(_PART.findall(text))
    if not parts.get("year"):
        return None
    numbers = (int(parts.get(part) or 0) for part in ("year", "month", "day"))
    year, month, day = numbers
    return year * 10_000 + month * 100 + day


def is_of_a_world(text: str) -> bool:
    """Whether a date is written in full, with a year that none of our notes is of."""
    match = _NAMED_MONTH.match(text.strip()) or _OF_A_WORLD.match(text.strip())
    parts = match.groupdict() if match else {}
    is_full = len(parts.get("year") or "") >= _SHORTEST_YEAR and bool(parts.get("month") or parts.get("day"))
    return is_full and not _FIRST_YEAR <= int(parts["year"]) <= date.today().year + _AHEAD


def _order_of(match: re.Match[str]) -> bool | None:
    """Whether the first of two numbers is the day: the other one can be no month, or the first can be none."""
    one, other = int(match["one"]), int(match["other"])
    return None if (one > 12) == (other > 12) else one > 12


def _month(written: str) -> int:
    if written.isdigit():
        return int(written)
    months, folded = table("month "), fold(written)
    found = months.get(folded, frozenset()) or by_beginning(months, folded)
    return int(next(iter(found), 0))


def _date(year: str, month: int, day: str) -> date | None:
    try:
        found = date(int(year) + 2000 * (len(year) == 2), month, int(day))
    except ValueError:
        return None
    return found if _FIRST_YEAR <= found.year <= date.today().year + _AHEAD else None


def rising(days: Iterable[date | None]) -> bool:
    """Whether dates, in the order of their numbers, rise nearly always: at least three, and four of five steps."""
    known = [day for day in days if day is not None]
    steps = [one < other for one, other in pairwise(known)]
    return len(steps) > 1 and sum(steps) >= 0.8 * len(steps)
