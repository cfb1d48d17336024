"""Small files of the corpus in shapes that people have, and what must come out of each: ``cases/new`` there has a README."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.reports import ImportReport
from lorekeeper.render import markdown
from lorekeeper.search.query import Query
from lorekeeper.text.sections import full_text
from tests.support.homebrew import read
from tests.support.libraries import open_library
from tests.support.vaults import vault_library


def of(corpus: Path, name: str) -> tuple[dict[str, Entity], ImportReport]:
    """The entries of a case by name, without documents; two of one name are a failure."""
    entities, report = read(corpus / "cases" / "new" / name)
    found = [entity for entity in entities if entity.type != "documents"]
    names = [entity.name for entity in found]
    assert len(set(names)) == len(names)
    assert (report.failed, report.not_taken) == ([], [])
    return dict(zip(names, found, strict=True)), report


@pytest.mark.corpus
def test_traits_with_summaries(corpus: Path):
    found, report = of(corpus, "orc-trait-summaries.orcbrew")
    race = markdown(found["Mudkin"])
    assert all(words in race for words in ("25 feet", "60 feet", "Silt Skin", "while you stand in mud."))
    assert "Bog Sense" in markdown(found["Peat Cutter"])
    assert found["Peat Cutter"].fields["skills"] == ("athletics", "survival")
    assert found["Bog Scribe"].fields["skills"] == ("history", "insight")
    assert (found["Mire Clasp"].type, report.skipped) == ("spells", {})


@pytest.mark.corpus
def test_subraces_within_their_race(corpus: Path):
    found, _ = of(corpus, "5etools-inline-subraces.json")
    assert {name: e.kind for name, e in found.items()} == {
        "Mudkin": "race",
        "Mudkin (Deep)": "subrace",
        "Mudkin (Shore)": "subrace",
    }
    assert "120 feet" in markdown(found["Mudkin (Deep)"])
    assert "swim 25" in markdown(found["Mudkin (Shore)"])


@pytest.mark.corpus
async def test_a_spell_for_each_class(corpus: Path, tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        report = await library.import_paths([corpus / "cases" / "new" / "fc-spell-per-class.xml"])
        (spell,) = await library.cache.get_entities("spells")
    assert spell.fields["classes"] == ("druid", "ranger", "wizard")
    assert report.warnings == []


@pytest.mark.corpus
def test_subclasses_of_2017(corpus: Path):
    found, _ = of(corpus, "fc-2017-subclasses.xml")
    kinds = {name: (e.kind, len(e.data["features"])) for name, e in found.items()}
    assert kinds == {"Warden": ("class", 3), "Path of the Reed": ("subclass", 2), "Path of the Stone": ("subclass", 3)}


@pytest.mark.corpus
async def test_rubrics_of_ones_own_in_a_vault(corpus: Path, tmp_path):
    folder = corpus / "cases" / "new" / "vault-rubrics"
    async with vault_library(tmp_path, [folder], backend="sqlite") as library:
        await library.vaults.sync()
        found = {e.name: e for e in await library.cache.get_entities("creatures")}
        page = await library.search(Query(["creatures"], text="rally the peat", mode="keyword"))
        assert "hold person" in found["Peat Paladin"].fields["spells"]  # type: ignore[operator]
        paladin, toad = markdown(found["Peat Paladin"]), full_text(found["Peat Toad"])
        assert "#### Villain Actions\n\n**Rally the Peat.** All allies within 60 feet stand up." in paladin
        assert "fights from the causeway" in full_text(found["Peat Paladin"])
        assert "spits from below the waterline" in toad
        assert page.results[0].entity.name == "Peat Paladin"


@pytest.mark.corpus
def test_tables_races_and_feats_of_a_book(corpus: Path):
    entities, report = read(corpus / "cases" / "new" / "book-tables")
    kinds = {e.name: e.kind for e in entities if e.type in ("equipment", "character_options", "spells")}
    assert kinds == {"Mudkin": "race", "Deep Mudkin": "subrace", "Bogwise": "feat", "Mire Clasp": "spell"}
    found = {e.name: e for e in entities}
    assert found["Deep Mudkin"].fields["parent"] == "mudkin"
    assert found["Bogwise"].fields["prerequisite"] == ("wisdom", "wisdom 13")
    assert "base walking speed is 25 feet" in markdown(found["Mudkin"])
    assert (report.failed, report.not_taken) == ([], [])
