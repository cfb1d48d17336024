"""What an import makes of files of every format, beside what was expected of them: see `tests/support/golden.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lorekeeper.filters import clean_fields
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.text.passages import passages
from tests.support import golden

UPGRADED_OTHERWISE = {"fantasy-statblocks", "fight-club", "improved-initiative", "orcbrew", "plain", "printed"}
"""Sources of which not every field follows from what is stored of an entry."""


def cases() -> Iterator[object]:
    for case in golden.CASES:
        marks = [pytest.mark.corpus, pytest.mark.timeout(600)] if case.parent.name == golden.CORPUS else []
        yield pytest.param(case, marks=marks, id=f"{case.parent.name}-{case.stem}")


@pytest.mark.parametrize("case", cases())
def test_files_give_the_entries_that_are_expected_of_them(
    case: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    made = list(golden.read(case, tmp_path))
    assert made
    for entity in (entity for entries, _ in made for entity in entries):
        if entity.source_api not in UPGRADED_OTHERWISE:
            assert clean_fields(entity.type, derive_fields(entity)) == entity.fields, f"stored again: {entity.uri}"
        assert checked(entity.type, entity.as_record()) == entity
        assert passages(entity)
    text, expected = golden.shown(made, listed=case.parent.name != golden.CORPUS), case.with_suffix(".md")
    if request.config.getoption("update_golden"):
        expected.write_text(text, "utf-8")
    assert text == expected.read_text("utf-8"), (
        "if it should be so, run the test with --update-golden, and review the change"
    )
