"""What an import makes of files of every format, beside what was expected of them: see `tests/support/golden.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import golden


def cases() -> Iterator[object]:
    for case in golden.CASES:
        marks = [pytest.mark.corpus] if case.parent.name == golden.CORPUS else []
        yield pytest.param(case, marks=marks, id=f"{case.parent.name}-{case.stem}")


@pytest.mark.parametrize("case", list(cases()))
def test_files_give_the_entries_that_are_expected_of_them(
    case: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    made = list(golden.read(case, tmp_path_factory))
    assert made
    for entity in (entity for entries, _ in made for entity in entries):
        golden.keep_laws(entity)
    text, expected = golden.shown(made, listed=case.parent.name != golden.CORPUS), case.with_suffix(".md")
    if request.config.getoption("update_golden"):
        expected.write_text(text, "utf-8")
    assert text == expected.read_text("utf-8"), (
        "if it should be so, run the test with --update-golden, and review the change"
    )
