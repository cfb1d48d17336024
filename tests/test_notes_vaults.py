"""Real vaults, read and compared with what regular expressions count in their files."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from lorekeeper.notes import Note, Section, passed_over, read_note
from tests.support.vaults import notes_of, vault_library

pytestmark = pytest.mark.corpus

VAULTS = ("vaults/age-of-umbra", "vaults/the-rot-beneath", "notes/campaign-notebook-template")

NO_NOTE = re.compile(
    r"(?:^|/)templates/|[ -]template\.md$|(?:^|/)(?:CHANGELOG|LICENSE|CLAUDE|AGENTS|CONTRIBUTING)\.md$", re.IGNORECASE
)
FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]")
MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\[\]\n]*\]\(((?!https?:|mailto:|#)[^\s()]+)\)")
FILE = re.compile(r"\.(?:png|jpe?g|gif|webp|pdf|sh|py|json|csv|txt|ya?ml|mdc)$|^LICENSE$", re.IGNORECASE)
IMAGE = re.compile(
    r"\[!\[[^\[\]]*\]\([^()]*\)\]\([^()]*\)|!\[\[[^\[\]]*\.(?:png|jpe?g|webp|gif)[^\[\]]*\]\]|!\[[^\[\]]*\]\([^()]*\)",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("vault", "below"), [(vault, "") for vault in VAULTS] + [("notes", "campaign-notebook-template")]
)
async def test_a_vault_is_imported_with_the_counts_of_an_independent_count(tmp_path, vault, below):
    root = Path(os.environ["LOREKEEPER_CORPUS"]) / vault
    texts = {path: text for path, text in files(vault).items() if not NO_NOTE.search(path)}
    plain = [without_code(text) for text in texts.values()]
    links = sum(len(WIKILINK.findall(text)) + len(MARKDOWN_LINK.findall(text)) for text in plain)
    no_notes = sum(
        bool(FILE.search(to)) for text in plain for to in WIKILINK.findall(text) + MARKDOWN_LINK.findall(text)
    )
    async with vault_library(tmp_path) as library:
        await library.vaults.add(root)
        report = await library.vaults.sync()
        stored = await notes_of(library)
    counts = report.as_dict()
    assert (report.failed, report.notes) == ([], len(texts))
    assert stored.keys() == texts.keys()
    assert all(path.startswith(below) for path in stored)
    assert counts["links_resolved"] + counts["links_dangling"] == links - no_notes
    assert counts["links_dangling"] == dangling(texts, root)
    assert report.tags == len({tag for text in texts.values() for tag in tags_of(text)})
    assert counts["aliases"] >= sum(len(set(listed("aliases", text))) for text in texts.values())
    assert counts["sections"] == sum(len(read_note(path, text).sections) for path, text in texts.items())


def dangling(texts: dict[str, str], root: Path) -> int:
    """How many links of some notes lead to no alias, and not to the end of a path: of a file, or a folder with its own note.

    What is in folders of templates or in hidden ones is not seen.
    """
    files = [f"/{file.relative_to(root).as_posix()}".casefold() for file in root.rglob("*") if file.is_file()]
    paths = [path for path in files if not re.search(r"/\.|/templates/", path)]
    paths += [path.rpartition("/")[0] for path in paths if re.search(r"([^/]+)/(?:index|readme|\1)\.md$", path)]
    parts = [path.removesuffix(".md").split("/") for path in paths] + [path.split("/") for path in paths]
    known = {"/".join(each[start:]) for each in parts for start in range(len(each))}
    known |= {alias.casefold() for path, text in texts.items() for alias in read_note(path, text).aliases}
    plain = [without_code(text) for text in texts.values()]
    targets = [
        to for text in plain for to in (*WIKILINK.findall(text), *MARKDOWN_LINK.findall(text)) if not FILE.search(to)
    ]
    written = [to.replace("%20", " ").partition("#")[0].strip().casefold() for to in targets]
    return sum(re.sub(r"^(?:\.{1,2}/)+|/$", "", to).removesuffix(".md") not in known for to in written if to)


def files(vault: str) -> dict[str, str]:
    root = Path(os.environ["LOREKEEPER_CORPUS"]) / vault
    found = (path for path in sorted(root.rglob("*")) if path.suffix.lower() == ".md")
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in found}


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))


def body_of(text: str) -> str:
    return re.sub(r"\A---\n.*?^---[ \t]*$", "", text, flags=re.DOTALL | re.MULTILINE)


def front(text: str) -> str:
    match = re.match(r"---\n(.*?)^---[ \t]*$", text, re.DOTALL | re.MULTILINE)
    return match[1] if match else ""


def listed(key: str, text: str) -> list[str]:
    """Values of a key of front matter: on its line in brackets or with commas, or on the lines below."""
    match = re.search(rf"^{key}:(.*)\n((?:[ \t]*- .*\n)*)", front(text), re.MULTILINE)
    if not match:
        return []
    inline = [part.strip() for part in match[1].strip(" []").split(",")]
    below = [line.strip()[2:] for line in match[2].splitlines()]
    return [value.strip("\"' ") for value in (*inline, *below) if value.strip("\"' ")]


def tags_of(text: str) -> set[str]:
    inline = re.findall(r"(?:(?<=\s)|^)#([A-Za-z_][\w/-]*)", without_code(body_of(text)), re.MULTILINE)
    return {tag.casefold() for tag in (*listed("tags", text), *inline)}


def stretches(text: str) -> list[str]:
    """The headings that have text of their own below them, "" for the text before any."""
    body = FENCE.sub("code", body_of(text))
    parts = re.split(r"^ {0,3}(#{1,6}[ \t].*)$", body, flags=re.MULTILINE)
    texts = zip(["", *parts[1::2]], parts[::2], strict=True)
    rule = re.compile(r"^[ \t]*[-*_](?:[ \t]*[-*_]){2,}[ \t]*$", re.MULTILINE)
    return [heading.lstrip("# ").strip() for heading, below in texts if re.search(r"\w", rule.sub("", below))]


@pytest.fixture(scope="module", params=VAULTS)
def vault(request) -> tuple[dict[str, str], dict[str, Note]]:
    texts = files(request.param)
    assert texts
    return texts, {path: read_note(path, text) for path, text in texts.items()}


def test_every_note_is_read_without_problems(vault):
    _, notes = vault
    assert [(path, note.problems) for path, note in notes.items() if note.problems] == []
    assert all(note.name and note.sections for note in notes.values())


def test_what_is_passed_over_are_templates_and_notes_about_tools(vault):
    texts, _ = vault
    passed = {path for path, text in texts.items() if passed_over(path, text)}
    assert passed == {path for path in texts if NO_NOTE.search(path)}


def test_links_are_as_many_as_an_independent_count(vault):
    texts, notes = vault
    plain = {path: without_code(text) for path, text in texts.items()}
    wiki = {path: not_files(WIKILINK.findall(text)) for path, text in plain.items()}
    markdown = {path: not_files(MARKDOWN_LINK.findall(text)) for path, text in plain.items()}
    targets = {path: [link.target for link in notes[path].links] for path in texts}
    assert {path: len(found) for path, found in targets.items()} == {p: len(wiki[p] + markdown[p]) for p in texts}
    assert [path for path in texts if not Counter(wiki[path]) <= Counter(targets[path])] == []


def not_files(targets: list[str]) -> list[str]:
    return [target.strip() for target in targets if not FILE.search(target)]


def test_tags_are_those_of_an_independent_count(vault):
    texts, notes = vault
    assert {path: set(notes[path].tags) for path in texts} == {path: tags_of(text) for path, text in texts.items()}


def test_aliases_are_those_of_an_independent_count(vault):
    texts, notes = vault
    names = {path: {plain(name) for name in (notes[path].name, *notes[path].aliases)} for path in texts}
    stems = {path: path.rpartition("/")[2].rpartition(".")[0] for path in texts}
    unnamed = [p for p, stem in stems.items() if plain(stem) not in names[p] | {"readme", "index"}]
    assert [path for path, text in texts.items() if not set(listed("aliases", text)) <= set(notes[path].aliases)] == []
    assert unnamed == []


def plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.replace("'", "")).strip().casefold()


def test_sections_are_those_of_an_independent_count(vault):
    """What is not a section stood above the first heading: facts, or links of navigation."""
    texts, notes = vault
    expected = {path: headings_of(text) for path, text in texts.items()}
    found = {
        path: Counter(simple(s.path.rpartition(" > ")[2]) for s in notes[path].sections if not is_of_a_key(s))
        for path in texts
    }
    assert [path for path in texts if not found[path] <= expected[path]] == []
    headed = {path: {simple(s.path.rpartition(" > ")[2]) for s in notes[path].sections} for path in texts}
    assert {heading for path in texts for heading in expected[path].keys() - headed[path]} <= {""}


def is_of_a_key(section: Section) -> bool:
    """Whether a section is a line with a mark in it, such as a key "Secret", or goes on after that."""
    return section.continues or (bool(section.mark) and section.mark in section.text)


def headings_of(text: str) -> Counter[str]:
    """The headings with text below them, "" for that of the note."""
    title = re.search(r"^# +(.*?)[ \t]*$", FENCE.sub("", body_of(text)), re.MULTILINE)
    return Counter("" if title and heading == title[1] else simple(heading) for heading in stretches(text))


def simple(heading: str) -> str:
    shown = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", heading)
    return " ".join(re.findall(r"\w+", shown.replace("_", " ").casefold()))


def test_no_word_of_a_note_is_lost(vault):
    """Every word of the text stands in the name, the headings, the facts, the tags or the sections."""
    texts, notes = vault
    told = {path: words("\n".join(told_by(notes[path], text))) for path, text in texts.items()}
    lost = {path: words(IMAGE.sub("", body_of(text))) - told[path] for path, text in texts.items()}
    assert {path: missing for path, missing in lost.items() if missing} == {}


def told_by(note: Note, text: str) -> list[str]:
    told = [note.name, note.heading, *note.facts, *note.facts.values(), *note.tags]
    told += [part for section in note.sections for part in (section.path, section.text)]
    told += [part for link in note.links for part in (link.target, link.heading, link.shown, link.section)]
    return told + re.findall(r"^ {0,3}#{1,6}[ \t](.*)$", text, re.MULTILINE)


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))
