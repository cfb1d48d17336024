"""A user's own marks: what they say of headings, callouts, front matter and paths, and how a change of them takes effect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.errors import ConfigError, NotFoundError
from lorekeeper.library import Library
from lorekeeper.notes import Note, read_note
from lorekeeper.notes.marks import OwnMarks, read_marks
from lorekeeper.search.query import Query
from lorekeeper.search.resolve_entry import entries_of
from lorekeeper.settings import load_settings
from lorekeeper.vaults.marks import MarksFile
from lorekeeper.vaults.vaults import EVERY_VAULT
from tests.support.commands import environment, run_inside, variables
from tests.support.vaults import open_marked, open_to, vault_library, write

ANYBODY = Viewer.player()

OWN = """
dm: [Spielleitung, "Hinter den Kulissen", SL]
players: ["Was alle wissen", Öffentlich]
none: ["Secret Society", hidden, secret]
"""


def sections(text: str, own: str = OWN, path: str = "Note.md") -> list[tuple[str, Audience | None]]:
    """The heading paths of a note's sections, and who may see them."""
    return [(section.path, section.audience) for section in _note(text, own, path).sections]


def _note(text: str, own: str = OWN, path: str = "Note.md") -> Note:
    """A note whose headings were looked at."""
    return read_note(path, text, replace(read_marks(own), is_looking=True))


@pytest.mark.parametrize(
    ("heading", "audience"),
    [
        ("Spielleitung", DM),
        ("Nur SPIELLEITUNG: der Fluch", DM),
        ("Hinter den Kulissen (Akt 2)", DM),
        ("Der Plan (SL)", DM),
        ("Spielleitungen", DM),
        ("Was alle wissen", PLAYERS),
        ("Was alle wissen (Akt 2)", PLAYERS),
        ("Gerüchte (öffentlich)", PLAYERS),
        ("Was alle wissen sollten", None),
        ("Was alle wissen (GM only)", DM),
        ("Was alle wissen (Spielleitung)", DM),
        ("Secret Society", None),
        ("Secret Plans of the Secret Society", DM),
        ("Secrets", DM),
        ("Secret", None),
        ("Public Knowledge", None),
    ],
)
def test_own_words_come_before_the_built_in_ones_in_headings(heading: str, audience: Audience | None) -> None:
    assert sections(f"# Note\n\n## {heading}\n\nSome words.") == [(heading, audience)]


@pytest.mark.parametrize(
    ("word", "audience"), [("spielleitung", DM), ("öffentlich", PLAYERS), ("hidden", None), ("dm", DM)]
)
def test_own_words_say_it_of_callouts(word: str, audience: Audience | None) -> None:
    assert sections(f"# Note\n\n> [!{word}]\n> Some words.") == [("", audience)]


@pytest.mark.parametrize(
    ("yaml", "audience"),
    [
        ("spielleitung: true", DM),
        ("spielleitung: false", None),
        ("öffentlich: ja\nspielleitung: yes", DM),
        ("öffentlich: true", PLAYERS),
        ("öffentlich: false", DM),
        ("visibility: Spielleitung", DM),
        ("visibility: öffentlich", PLAYERS),
        ("secret: true", None),
        ("publish: true", PLAYERS),
        ("published: true", None),
        ("published: false", DM),
        ("draft: true", DM),
        ("draft: false", None),
        ("arc: 1", None),
    ],
)
def test_own_words_are_keys_and_values_of_front_matter(yaml: str, audience: Audience | None) -> None:
    assert read_note("Note.md", f"---\n{yaml}\n---\nSome words.", read_marks(OWN)).audience == audience


def test_an_own_word_as_the_key_of_a_text_keeps_that_text_secret() -> None:
    note = read_note("Note.md", "---\nSpielleitung: He is a lich.\n---\nSome words.", read_marks(OWN))
    assert note.facts == {}
    assert (note.sections[0].text, note.sections[0].audience) == ("**Spielleitung**: He is a lich.", DM)


@pytest.mark.parametrize(
    ("path", "audience"),
    [
        ("Spielleitung/Note.md", DM),
        ("Notizen der Spielleitung/Note.md", DM),
        ("02 Öffentlich/Note.md", PLAYERS),
        ("Öffentlich/Der Plan SL.md", DM),
        ("Secrets/Note.md", DM),
        ("GM only/Secret.md", DM),
        ("Secret/Note.md", None),
    ],
)
def test_own_words_are_names_of_files_and_folders(path: str, audience: Audience | None) -> None:
    assert read_note(path, "Some words here.", read_marks(OWN)).audience == audience


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must have the keys"),
        ("- Spielleitung", "must have the keys"),
        ("gm: [SL]", "its key 'gm' is not one of dm, players, none"),
        ("dm: SL", "'dm' must be a list of texts"),
        ("dm: [[SL]]", "'dm' must be a list of texts"),
        ("dm: [SL]\ndm: [GM]", "its key 'dm' appears twice"),
        ("dm: [SL]\nplayers: [sl]", "'sl' is both under 'dm' and under 'players'"),
        ("dm: ['!!!']", "must have letters or digits"),
        ("dm: [SL", "it is not YAML"),
        ("dm: [" + ", ".join(f"w{n}" for n in range(1001)) + "]", "1,001 marks"),
        ("dm: [" + "x" * 70_000 + "]", "more than 65,536 characters"),
    ],
)
def test_what_are_no_marks_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_marks(text)


def test_json_does_as_well_and_the_digest_is_of_what_is_marked() -> None:
    one, other = read_marks(json.dumps({"dm": ["SL", "Plan"], "none": []})), read_marks("# mine\ndm: [plan, sl]")
    assert (one.texts, one.digest) == (other.texts, other.digest)
    assert read_marks("players: [plan, sl]").digest != one.digest != OwnMarks().digest == ""


# --- a change takes effect --------------------------------------------------------------------------------------------

NOTE = "---\nvisibility: players\n---\n# Mira\n\nA ferryman.\n\n## Kulissen\n\nShe drowned the zqlich.\n"


async def visible(library: Library) -> Sequence[str]:
    """The sections of the note that players see, [] if they do not see it."""
    await library.view(ANYBODY).refresh()
    try:
        (note,) = await entries_of(library.view(ANYBODY).entities_at, "lore://notes/saga/Mira.md")
    except NotFoundError:
        return []
    return [section["name"] for section in note.data["sections"]]


async def found(library: Library) -> int:
    """How many notes a player finds."""
    return (await library.view(ANYBODY).search(Query(("notes",)))).total


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_changed_file_is_noticed_like_a_changed_note(backend: str, tmp_path: Path) -> None:
    vault, marks = write(tmp_path / "saga", {"Mira.md": NOTE}), tmp_path / "marks.yaml"
    marks.write_text("none: [nothing]")
    async with vault_library(tmp_path, [vault], backend, marks=marks) as library:
        await open_marked(library)
        embedded = library.embedding.computed
        assert await visible(library) == ["", "Kulissen"]
        before = (await library.cache.load("notes", [("saga", "Mira.md")]))[0].fields["modified"]
        marks.write_text("dm: [Kulissen]")
        assert await visible(library) == [""]
        assert (await library.view(ANYBODY).search(Query(("notes",), "zqlich", mode="keyword"))).total == 0
        marks.write_text("players: [Kulissen]")
        assert await visible(library) == [""], "its text was closed: it opens when it is looked at again"
        assert library.vaults.rows("saga")["Mira.md"].waits == ["She drowned the zqlich."]
        await open_to(library, "Mira")
        assert await visible(library) == ["", "Kulissen"]
        assert library.embedding.computed == embedded
        assert (await library.cache.load("notes", [("saga", "Mira.md")]))[0].fields["modified"] == before


async def test_a_change_between_two_processes_is_noticed(tmp_path: Path) -> None:
    vault, marks = write(tmp_path / "saga", {"Mira.md": NOTE}), tmp_path / "marks.yaml"
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await open_marked(library)
        assert await visible(library) == ["", "Kulissen"]
    marks.write_text("dm: [Kulissen]")
    async with vault_library(tmp_path, [vault], "sqlite", marks=marks) as library:
        assert await visible(library) == [""]


@pytest.mark.alike(1)
@pytest.mark.parametrize("damage", ["dm: [Kulissen", "", None, b"\xff\xfe"], ids=["broken", "empty", "gone", "no text"])
async def test_players_see_no_vault_while_the_file_is_wrong(damage: str | bytes | None, tmp_path: Path) -> None:
    vault, marks = write(tmp_path / "saga", {"Mira.md": NOTE}), tmp_path / "marks.yaml"
    marks.write_text("dm: [Kulissen]")
    async with vault_library(tmp_path, [vault], "sqlite", marks=marks) as library:
        assert await visible(library) == [""]
        assert await found(library) == 1
        if damage is None:
            marks.unlink()
        else:
            marks.write_bytes(damage.encode() if isinstance(damage, str) else damage)
        assert await visible(library) == []
        view = library.view(ANYBODY)
        assert view.unreadable_vaults == {EVERY_VAULT}
        assert (await found(library), await view.cache.count_entities("notes"), await view.cache.names("notes")) == (
            0,
            0,
            [],
        )
        assert await view.cache.documents() == {}
        assert await view.cache.get_entities("documents") == []
        page = await view.search(Query(("notes",)))
        assert "marks" not in (page.note or "").lower()
        told = await library.search(Query(("notes",)))
        assert (told.total, "LOREKEEPER_MARKS" in str(told.note)) == (1, True)
        marks.write_text("dm: [Kulissen]")
        assert await visible(library) == [""]
        assert "LOREKEEPER_MARKS" not in str((await library.search(Query(("notes",)))).note)


async def test_what_was_read_with_other_marks_is_not_shown(tmp_path: Path) -> None:
    vault, marks = write(tmp_path / "saga", {"Mira.md": NOTE}), tmp_path / "marks.yaml"
    marks.write_text("none: [nothing]")
    async with vault_library(tmp_path, [vault], "sqlite", marks=marks) as library:
        await open_marked(library)
        assert await visible(library) == ["", "Kulissen"]
        vault.rename(tmp_path / "elsewhere")
        marks.write_text("dm: [Kulissen]")
        assert await visible(library) == [], "its folder is gone, so that nobody knows what it would say"
        (tmp_path / "elsewhere").rename(vault)
        assert await visible(library) == [""]


def test_commands_refuse_to_start_with_a_wrong_file(tmp_path: Path) -> None:
    env = environment(tmp_path, MARKS=str(tmp_path / "marks.yaml"), CACHE_BACKEND="sqlite")
    for arguments in (["search", "ferry"], ["vault", "check"], ["serve"]):
        done = run_inside(tmp_path, *arguments, env=env)
        assert done.returncode == 2
        assert "LOREKEEPER_MARKS" in done.stderr
        assert "marks.yaml" in done.stderr
    checks = {c["name"]: c for c in json.loads(run_inside(tmp_path, "doctor", "--json", env=env).stdout)["checks"]}
    assert (checks["marks"]["ok"], "marks.yaml" in checks["marks"]["message"]) == (False, True)


def test_the_doctor_counts_marks(tmp_path: Path) -> None:
    (tmp_path / "marks.yaml").write_text(OWN, "utf-8")
    env = environment(tmp_path, MARKS=str(tmp_path / "marks.yaml"), CACHE_BACKEND="sqlite")
    checks = {c["name"]: c for c in json.loads(run_inside(tmp_path, "doctor", "--json", env=env).stdout)["checks"]}
    assert checks["marks"]["ok"]
    assert checks["marks"]["message"].endswith("marks.yaml: 3 dm, 2 players, 3 none")


def test_a_file_is_read_once_while_it_stays_as_it_is(tmp_path: Path) -> None:
    file = MarksFile(tmp_path / "marks.yaml")
    with pytest.raises(ConfigError, match="No such file"):
        file.current()
    (tmp_path / "marks.yaml").write_text("dm: [SL]")
    assert file.current() is file.current()
    assert load_settings(variables(tmp_path) | {"LOREKEEPER_MARKS": "x.yaml"}, tmp_path / "no")[0].marks is not None
