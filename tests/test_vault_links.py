"""Which note a link means, by Obsidian's rules."""

from __future__ import annotations

import pytest

from lorekeeper.vaults.links import Links
from tests.support.tables import rows

NOTES: dict[str, list[str]] = {
    "Index.md": [],
    "Keep.md": ["The Grey Tower"],
    "World/North/Keep.md": [],
    "World/South/Keep.md": [],
    "World/South/Lake.markdown": ["Deep Water", "Skara"],
    "World/index.md": [],
    "People/People.md": [],
    "People/Skara.md": [],
    "People/Ünder Wald.md": [],
    "v1.2 Notes.md": [],
    "Log/a.md": [],
    "Log/A.md": [],
}


@pytest.fixture(scope="module")
def links() -> Links:
    return Links(NOTES, ["map.png", "Art/Portrait.JPG", "People/Short.md"])


@pytest.mark.parametrize(
    ("target", "source", "note"),
    rows("links"),
)
def test_a_link_means_one_note(links, target, source, note):
    assert links.resolve(target, source) == note


def test_of_several_notes_of_a_name_the_one_in_the_same_folder_is_meant_else_the_shortest_path():
    links = Links({"A/x/Keep.md": [], "B/Keep.md": [], "C/y/z/Keep.md": [], "C/y/Here.md": []})
    assert links.candidates("Keep", "Index.md") == ["B/Keep.md", "A/x/Keep.md", "C/y/z/Keep.md"]
    assert links.resolve("Keep", "C/y/Here.md") == "C/y/z/Keep.md"


def test_files_that_are_no_notes_are_known(links):
    assert all(map(links.is_file, ["map.png", "portrait.jpg", "Art/Portrait.jpg", "Short", "People/Short.md"]))
    assert not any(map(links.is_file, ["Nobody", "other.png", ""]))


def test_the_nearest_names_are_named(links):
    assert links.nearest("Skaara") == ["People/Skara.md"]
    assert links.nearest("World/Deep Watr") == ["World/South/Lake.markdown"]
    assert links.nearest("something else entirely") == []
