"""Small files of the corpus in shapes that people have, and what must come out of each: ``cases/new`` there has a README."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.reports import ImportReport
from lorekeeper.render import markdown
from tests.support.homebrew import read

pytestmark = pytest.mark.corpus


def of(corpus: Path, name: str) -> tuple[dict[str, Entity], ImportReport]:
    """The entries of a case by name, without documents; two of one name are a failure."""
    entities, report = read(corpus / "cases" / "new" / name)
    found = [entity for entity in entities if entity.type != "documents"]
    names = [entity.name for entity in found]
    assert len(set(names)) == len(names)
    assert (report.failed, report.not_taken) == ([], [])
    return dict(zip(names, found, strict=True)), report


def test_traits_with_summaries(corpus: Path):
    found, report = of(corpus, "orc-trait-summaries.orcbrew")
    race = markdown(found["Mudkin"])
    assert all(words in race for words in ("25 feet", "60 feet", "Silt Skin", "while you stand in mud."))
    assert "Bog Sense" in markdown(found["Peat Cutter"])
    assert found["Peat Cutter"].fields["skills"] == ("athletics", "survival")
    assert found["Bog Scribe"].fields["skills"] == ("history", "insight")
    assert (found["Mire Clasp"].type, report.skipped) == ("spells", {})


def test_subraces_within_their_race(corpus: Path):
    found, _ = of(corpus, "5etools-inline-subraces.json")
    assert {name: e.kind for name, e in found.items()} == {
        "Mudkin": "race",
        "Mudkin (Deep)": "subrace",
        "Mudkin (Shore)": "subrace",
    }
    assert "120 feet" in markdown(found["Mudkin (Deep)"])
    assert "swim 25" in markdown(found["Mudkin (Shore)"])
