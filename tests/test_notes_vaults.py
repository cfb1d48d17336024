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
    for path, text in texts.items():
        plain = without_code(text)
        wiki = [target for target in WIKILINK.findall(plain) if not FILE.search(target)]
        markdown = [target for target in MARKDOWN_LINK.findall(plain) if not FILE.search(target)]
        assert len(notes[path].links) == len(wiki) + len(markdown), path
        assert Counter(target.strip() for target in wiki) <= Counter(link.target for link in notes[path].links), path


def test_tags_are_those_of_an_independent_count(vault):
    texts, notes = vault
    for path, text in texts.items():
        inline = re.findall(r"(?:(?<=\s)|^)#([A-Za-z_][\w/-]*)", without_code(body_of(text)), re.MULTILINE)
        expected = {tag.casefold() for tag in (*listed("tags", text), *inline)}
        assert set(notes[path].tags) == expected, path


def test_aliases_are_those_of_an_independent_count(vault):
    texts, notes = vault
    for path, text in texts.items():
        assert set(listed("aliases", text)) <= set(notes[path].aliases), path
        stem = path.rpartition("/")[2].rpartition(".")[0]
        simple = {
            re.sub(r"[\W_]+", " ", name.replace("'", "")).strip().casefold()
            for name in (notes[path].name, *notes[path].aliases)
        }
        assert (
            stem.strip("_").casefold() in ("readme", "index")
            or re.sub(r"[\W_]+", " ", stem).strip().casefold() in simple
        ), path


def test_sections_are_those_of_an_independent_count(vault):
    texts, notes = vault
    for path, text in texts.items():
        note = notes[path]
        title = re.search(r"^# +(.*?)[ \t]*$", FENCE.sub("", body_of(text)), re.MULTILINE)
        expected = Counter("" if title and heading == title[1] else simple(heading) for heading in stretches(text))
        found = Counter(simple(section.path.rpartition(" > ")[2]) for section in note.sections)
        gone = expected - found
        assert found <= expected, path
        # what stood there are facts now, or links of navigation
        assert set(gone) <= {""}, (path, gone)


def simple(heading: str) -> str:
    shown = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", heading)
    return " ".join(re.findall(r"\w+", shown.replace("_", " ").casefold()))


def test_no_word_of_a_note_is_lost(vault):
    """Every word of the text stands in the name, the headings, the facts, the tags or the sections."""
    texts, notes = vault
    for path, text in texts.items():
        note = notes[path]
        told = [note.name, note.heading, *note.facts, *note.facts.values(), *note.tags]
        told += [part for section in note.sections for part in (section.path, section.text)]
        told += [part for link in note.links for part in (link.target, link.heading, link.shown, link.section)]
        headings = re.findall(r"^ {0,3}#{1,6}[ \t](.*)$", text, re.MULTILINE)
        lost = words(IMAGE.sub("", body_of(text))) - words("\n".join((*told, *headings)))
        assert lost == set(), path


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))
