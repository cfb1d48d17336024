"""Tests over a table of rows, as one case: it goes through all rows and names each that fails.

A row has no fixtures of its own, and costs nothing when tests are collected. Where rows need an empty folder each, or take long,
`pytest.mark.parametrize` makes a case of each.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Test = Callable[..., Any]

DATA = Path(__file__).parent.parent / "data"


def rows(name: str) -> list[Any]:
    """The rows of a table in ``tests/data/rows``, as JSON has them: one in each line."""
    return [json.loads(line) for line in (DATA / "rows" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for each row, whose values have these names; a single name takes each row as its value."""
    columns, filled = ([names], [(row,) for row in rows]) if isinstance(names, str) else (list(names), list(rows))

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        own = [parameter for parameter in signature.parameters.values() if parameter.name not in columns]

        def finish(failed: list[Exception]) -> None:
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(filled)} rows fail", failed)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed = []
            for row in filled:
                try:
                    test(**fixtures, **dict(zip(columns, row, strict=True)))
                except Exception as error:
                    error.add_note(f"in the row {row!r:.500}")
                    failed.append(error)
            finish(failed)

        @functools.wraps(test)
        async def run_async(**fixtures: Any) -> None:
            failed = []
            for row in filled:
                try:
                    await test(**fixtures, **dict(zip(columns, row, strict=True)))
                except Exception as error:
                    error.add_note(f"in the row {row!r:.500}")
                    failed.append(error)
            finish(failed)

        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        chosen.__signature__ = signature.replace(parameters=own)
        del chosen.__wrapped__  # or pytest asks that for its arguments
        return chosen  # type: ignore[no-any-return]

    return decorate
