"""A table of rows is one case, which goes through all of them and names those that fail."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.tables import each_row


def test_each_row_that_fails_is_named_and_the_others_are_tried():
    tried = []

    @each_row(("number", "half"), [(2, 1), (3, 1), (4, 2), (5, 2)])
    def halves(start: int, number: int, half: int) -> None:
        tried.append(number)
        assert start + half == number / 2

    @each_row("number", [1, 2])
    async def odd(number: int) -> None:
        assert number % 2

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail") as failed:
        halves(start=0)
    assert tried == [2, 3, 4, 5]
    assert [error.__notes__[-1] for error in failed.value.exceptions] == ["in the row (3, 1)", "in the row (5, 2)"]
    with pytest.raises(ExceptionGroup, match="1 of 2 rows fail"):
        asyncio.run(odd())
