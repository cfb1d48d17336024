"""Dates: read from what people write, as stretches of seconds since 1970 in UTC, and written for people."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta

EXAMPLE = "2026-11-20, 2026-11-20T18:30 or 7d"
"""What a date may be, for messages."""

_DAY_SECONDS = 86_400

_DATE = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](?P<time>\d{2}:\d{2})(?P<second>:\d{2}(?:\.\d{1,9})?)?(?P<zone>[Zz]|[+-]\d{2}:\d{2})?)?"
)
_LENGTH = re.compile(r"(\d{1,5})\s*(h|d|w)")
_SECONDS = re.compile(r"-?\d{5,12}")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def span(text: str) -> tuple[int, int]:
    """The first and the last second of what a date says: of a day, a minute or a second; UTC unless it says otherwise.

    Raises:
        ValueError: it is not a date, or not one of the calendar.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return int(text), int(text)
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("it is not a date")
    if not match["time"]:
        first = int(datetime.combine(date.fromisoformat(match["day"]), datetime.min.time(), UTC).timestamp())
        return first, first + _DAY_SECONDS - 1
    zone = (match["zone"] or "Z").upper().replace("Z", "+00:00")
    clock = match["time"] + (match["second"] or ":00").partition(".")[0]
    first = int(datetime.fromisoformat(f"{match['day']}T{clock}{zone}").timestamp())
    return first, first if match["second"] else first + 59


def ago(text: str) -> int | None:
    """The second that lies as long before now as a text says, as "7d" or "24h"; None if it says no such thing."""
    length = seconds_in(text)
    return None if length is None else int(time.time() - length)


def seconds_in(text: str) -> float | None:
    """The length of time that a text such as "7d" or "24h" says; None if it says no such thing."""
    match = _LENGTH.fullmatch(text.strip().casefold())
    return int(match[1]) * _UNITS[match[2]].total_seconds() if match else None


def written(seconds: float) -> str:
    """A date for people: the day, with the minute unless it is midnight; the number itself if no calendar has it."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return str(seconds)
    day = f"{moment.year:04}-{moment:%m-%d}"  # %Y has no leading zeros on some systems
    return day if seconds % _DAY_SECONDS == 0 else f"{day} {moment:%H:%M}"
