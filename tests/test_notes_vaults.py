"""Real vaults, read and compared with what regular expressions count in their files."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from lorekeeper.notes import Note, passed_over, read_note

pytestmark = pytest.mark.corpus

VAULTS = ("vaults/age-of-umbra", "vaults/the-rot-beneath", "notes/campaign-notebook-template")

FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]")
MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\[\]\n]*\]\(((?!https?:|mailto:|#)[^\s()]+)\)")
FILE = re.compile(r"\.(?:png|jpe?g|gif|webp|pdf|sh|py|json|csv|txt|ya?ml|mdc)$|^LICENSE$", re.IGNORECASE)
IMAGE = re.compile(
    r"\[!\[[^\[\]]*\]\([^()]*\)\]\([^()]*\)|!\[\[[^\[\]]*\.(?:png|jpe?g|webp|gif)[^\[\]]*\]\]|!\[[^\[\]]*\]\([^()]*\)",
    re.IGNORECASE,
)


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
    named = re.compile(
        r"(?:^|/)templates/|[ -]template\.md$|(?:^|/)(?:CHANGELOG|LICENSE|CLAUDE|AGENTS|CONTRIBUTING)\.md$",
        re.IGNORECASE,
    )
    assert passed == {path for path in texts if named.search(path)}


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
    tag = re.compile(r"(?:(?<=\s)|^)#([A-Za-z_][\w/-]*)", re.MULTILINE)
    written = {p: [*listed("tags", text), *tag.findall(without_code(body_of(text)))] for p, text in texts.items()}
    expected = {path: {name.casefold() for name in names} for path, names in written.items()}
    assert {path: set(notes[path].tags) for path in texts} == expected


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
    found = {path: Counter(simple(s.path.rpartition(" > ")[2]) for s in notes[path].sections) for path in texts}
    assert [path for path in texts if not found[path] <= expected[path]] == []
    assert {heading for path in texts for heading in expected[path] - found[path]} <= {""}


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
