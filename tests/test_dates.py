"""Dates in filters: what people write, as stretches of seconds."""

from __future__ import annotations

import time
from calendar import timegm
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper import dates
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields, matches, parse_filters
from tests.support.entities import make
from tests.support.tables import each_row

DAY = timegm((2026, 11, 20, 0, 0, 0))
HOUR = 3600


@each_row(
    ("text", "first", "last"),
    [
        ("2026-11-20", DAY, DAY + 86_399),
        (" 2026-11-20T18:30", DAY + 18 * HOUR + 1800, DAY + 18 * HOUR + 1859),
        ("2026-11-20 18:30:15", DAY + 18 * HOUR + 1815, DAY + 18 * HOUR + 1815),
        ("2026-11-20T18:30:15.75Z", DAY + 18 * HOUR + 1815, DAY + 18 * HOUR + 1815),
        ("2026-11-20T18:30+02:00", DAY + 16 * HOUR + 1800, DAY + 16 * HOUR + 1859),
        ("1969-12-31", -86_400, -1),
        (str(DAY), DAY, DAY),
    ],
)
def test_a_date_is_the_stretch_that_it_names(text, first, last):
    assert dates.span(text) == (first, last)


@each_row("text", ["", "soon", "2026", "2026-13-01", "2026-02-30", "20-11-2026", "2026-11-20T25:00", "7d"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError):
        dates.span(text)


@each_row(("text", "seconds"), [("24h", 86_400), ("7d", 7 * 86_400), ("2 W", 14 * 86_400)])
def test_a_time_ago_is_counted_from_now(text, seconds):
    assert dates.ago(text) == pytest.approx(time.time() - seconds, abs=60)
    assert dates.ago(f"in {text}") is None


@given(st.integers(-60_000_000_000, 250_000_000_000))
def test_a_written_date_says_the_minute_of_its_second(seconds):
    first, last = dates.span(dates.written(seconds))
    assert first <= seconds <= last


def test_a_number_that_no_calendar_has_is_written_as_it_is():
    assert dates.written(10**15) == str(10**15)


STAMPS = {"before": DAY - 1, "first": DAY, "last": DAY + 86_399, "after": DAY + 86_400, "unknown": None}
NOTES = [make(name, "Text.", type="notes", modified=stamp) for name, stamp in STAMPS.items()]


def those(**filters: Any) -> list[str]:
    return [note.slug for note in NOTES if matches(note, parse_filters("notes", filters))]


@each_row(
    ("filters", "expected"),
    [
        ({"modified": "2026-11-20"}, ["first", "last"]),
        ({"modified_after": "2026-11-20"}, ["first", "last", "after"]),
        ({"modified_min": "2026-11-20"}, ["first", "last", "after"]),
        ({"modified_before": "2026-11-20"}, ["before", "first", "last"]),
        ({"modified_max": DAY}, ["before", "first"]),
        ({"modified": DAY}, ["first"]),
        ({"modified": [DAY, DAY - 1]}, ["before", "first"]),
        ({"where": "modified>2026-11-20"}, ["after"]),
        ({"where": "modified<2026-11-20"}, ["before"]),
        ({"where": "modified<=2026-11-20"}, ["before", "first", "last"]),
        ({"where": "modified>=2026-11-20T00:00:01"}, ["last", "after"]),
        ({"where": "modified:2026-11-20..2026-11-21"}, ["first", "last", "after"]),
        ({"where": "-modified:2026-11-20"}, ["before", "after"]),
        ({"where": "modified:..2026-11-19"}, ["before"]),
    ],
)
def test_a_bound_of_a_day_includes_that_day(filters, expected):
    assert those(**filters) == expected


def test_a_time_ago_is_where_a_stretch_begins():
    recent = make("recent", "Text.", type="notes", modified=int(time.time()) - 3 * 86_400)
    for filters, met in [
        ({"modified": "7d"}, True),
        ({"modified_after": "48h"}, False),
        ({"where": "modified>1w"}, True),
        ({"where": "modified<7d"}, False),
        ({"modified_before": "2d"}, True),
    ]:
        assert matches(recent, parse_filters("notes", filters)) is met, filters


@each_row("value", ["yesterday", "", True, [["a"]], {}, float("nan"), ["2026-11-20", "2026-11-21"], 2**70])
def test_what_is_no_date_is_an_error_that_shows_one(value):
    with pytest.raises(FilterError, match="modified"):
        parse_filters("notes", {"modified": value})


def test_dates_are_whole_seconds_in_an_entry():
    assert clean_fields("notes", {"modified": DAY + 0.75, "session_date": "2026-11-20"}) == {
        "modified": DAY,
        "session_date": DAY,
    }
    with pytest.raises(FilterError, match="date"):
        clean_fields("notes", {"modified": "7d"})
