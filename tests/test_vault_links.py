"""Which note a link means, by Obsidian's rules."""

from __future__ import annotations

import pytest

from lorekeeper.vaults.links import Links

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
    [
        ("Keep", "Index.md", "Keep.md"),  # the whole path
        ("keep.MD", "Index.md", "Keep.md"),
        ("World/North/Keep", "Index.md", "World/North/Keep.md"),
        ("/World/North/Keep.md", "Index.md", "World/North/Keep.md"),
        ("north/keep", "Index.md", "World/North/Keep.md"),  # the end of a path
        ("th/keep", "Index.md", None),
        ("World\\South\\Keep", "Index.md", "World/South/Keep.md"),
        ("Lake", "Index.md", "World/South/Lake.markdown"),
        ("Lake#Depths", "Index.md", "World/South/Lake.markdown"),
        ("#Depths", "Index.md", "Index.md"),
        ("", "Index.md", "Index.md"),
        ("./Lake", "World/South/Keep.md", "World/South/Lake.markdown"),
        ("../North/Keep.md", "World/South/Lake.markdown", "World/North/Keep.md"),
        ("../../..", "World/South/Lake.markdown", None),
        ("South/Lake", "World/index.md", "World/South/Lake.markdown"),  # from the folder of the note
        ("World", "Index.md", "World/index.md"),  # the note of a folder
        ("World/", "Index.md", "World/index.md"),
        ("People", "Index.md", "People/People.md"),
        ("skara", "Index.md", "People/Skara.md"),  # a name goes before an alias
        ("the grey tower", "Index.md", "Keep.md"),
        ("deep water", "Index.md", "World/South/Lake.markdown"),
        ("u\u0308nder wald", "Index.md", "People/Ünder Wald.md"),
        ("v1.2 Notes", "Index.md", "v1.2 Notes.md"),
        ("Log/a", "Index.md", "Log/a.md"),
        ("Log/A", "Index.md", "Log/A.md"),
        ("Nobody", "Index.md", None),
        ("map.png", "Index.md", None),
    ],
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
