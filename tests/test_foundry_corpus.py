"""Every file of a corpus of Foundry VTT's documents: counts, values against their source, and against Open5e's."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.render import lean, markdown
from tests.support.foundry import imported

pytestmark = pytest.mark.corpus


FOLDERS = ("dnd5e", "black-flag", "db", "exports")


@pytest.fixture(scope="module")
def foundry(corpus: Path) -> Path:
    """Folder of the documents."""
    folder = corpus / "foundry"
    if not folder.is_dir():
        pytest.skip("this corpus has no documents of Foundry VTT")
    return folder


@functools.cache
def content(folder: Path) -> tuple[list[Entity], ImportReport]:
    """What an import of a folder gives."""
    return imported(folder)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_document_of_a_folder_becomes_an_entry_and_nothing_fails(foundry, name):
    entities, report = content(foundry / name)
    assert report.failed == []
    assert not [
        w for w in report.warnings if "features are in packs" not in w.reason and "--audience dm" not in w.reason
    ]
    assert len({entity.uri for entity in entities}) == len(entities) - (2 if name == "db" else 0)
    for entity in entities:
        assert derive_fields(entity) == entity.fields
        assert entity.name
        page = markdown(entity)
        assert page
        assert lean(entity)
        assert not [
            mark for mark in ("[[", "]]", "@UUID", "@Embed", "&Reference", "&amp;", "<p", "~def") if mark in page
        ]


# --- invented files, and damaged ones --------------------------------------------------------------------------------


def test_packs_that_are_databases_are_named_with_what_to_do(foundry):
    entities, report = content(foundry / "compiled")
    assert entities == []
    assert len(report.failed) == 4
    assert all("fvtt package unpack" in failure.reason for failure in report.failed)
