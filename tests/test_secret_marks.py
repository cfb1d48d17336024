"""Marks of secrecy as people write them, and what of them disagrees or cannot be read."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import read_note
from lorekeeper.notes.kinds import known
from lorekeeper.notes.marks import BUILT_IN, LOOKED_AT, NAME, audience_of
from lorekeeper.shares import FOLDER, NOTE, Share, Shares, digest_of
from lorekeeper.vaults.state import State
from lorekeeper.views.redact import is_visible, redact
from lorekeeper.words import marks
from tests.support.mark_rows import ROWS, WORD
from tests.support.tools import TOOLS, answer
from tests.support.vaults import open_marked, vault_library, write

ANYBODY = Viewer.player()
DATA = Path(__file__).parent / "data"


def labelled(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a file, each with the one before it that has no bar."""
    label = ""
    for line in text.splitlines():
        if "|" in line:
            yield label, line
        elif not line.startswith("#"):
            label = line


def seen(path: str, text: str, viewer: Viewer = ANYBODY, resolve: Callable[[str], str | None] = lambda _: None) -> Any:
    """What a viewer sees of a note whose headings were looked at, as JSON; None for nothing."""
    entity = note_entity(read_note(path, text, LOOKED_AT), "saga", "Saga", 0.0, resolve)
    return json.dumps(redact(entity, viewer, resolve).as_record(), default=str) if is_visible(entity, viewer) else None


# --- marks as people write them ---------------------------------------------------------------------------------------


def test_every_row_of_the_table_of_marks_is_closed_and_what_only_sounds_like_one_is_open_or_listed() -> None:
    notes = {row: read_note(row.path, row.text, LOOKED_AT) for row in ROWS}
    is_open = {row: WORD in (seen(row.path, row.text) or "") for row in ROWS}
    assert [row for row in ROWS if row.hidden and is_open[row]] == []
    closed = [row for row in ROWS if not row.hidden and not is_open[row]]
    assert [row for row in closed if not any(each.stem and each.said for each in notes[row].held)] == []
    assert len(closed) <= 35


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "milvus"])
async def test_a_player_of_a_library_meets_only_the_rows_that_are_shown(backend: str, tmp_path: Path) -> None:
    notes = {f"r{n:03}/{row.path}": row.text.replace(WORD, f"zq{n:03}bell") for n, row in enumerate(ROWS)}
    async with vault_library(tmp_path, [write(tmp_path / "saga", notes)], backend) as library:
        await open_marked(library)
        view = library.view(ANYBODY)
        await view.refresh()
        stored = json.dumps([entity.as_record() async for found in view.cache.iterate("notes") for entity in found])
        met = [f"zq{n:03}bell" in stored.lower() for n in range(len(ROWS))]
        assert [n for n, row in enumerate(ROWS) if row.hidden and met[n]] == []
        assert sum(met) > 40
        for n in range(0, len(ROWS), 40):
            found = await answer(library, ANYBODY, "search_lore", query=f"zq{n:03}bell")
            told = await answer(library, library.asks, "search_lore", query=f"zq{n:03}bell")
            assert (f"r{n:03}" in found, f"r{n:03}" in told) == (met[n], True)


def test_a_stem_is_one_word_or_two_in_comparable_form() -> None:
    rows = marks()
    assert {"en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "cs", "sv"} <= {language for _, _, language in rows}
    words = [stem.rstrip("-~") for stem, what, _ in rows if what != "sign"]
    assert [word for word in words if len(word.split()) > 2 or fold(word) != word] == []
    assert len(set(rows)) == len(rows)
    assert len({stem for stem, _, _ in rows}) <= 400
    assert (known("Sessies"), known("wydarzenie")) == ("session", "event")


@pytest.mark.parametrize("row", (DATA / "marks_in_lines.txt").read_text("utf-8").splitlines())
def test_a_stem_counts_where_something_is_marked_and_never_within_a_sentence(row: str) -> None:
    said, _, line = row.replace("\\n", "\n").partition("|")
    text = f"---\nvisibility: players\n---\n# Mira\n\nShe rows.\n\n{line}\n\nAfter it.\n"
    given = seen("Mira.md", text) or ""
    assert "After it." in given
    assert any(word in given for word in ("map", "Karten", "door", "chest", "Valley", "room", "jars")) == (
        said == "open"
    )


PARTS = (
    "; GM:; (secret); [GM]; (GM:; ); **Secret:**; **GM**; -; secretly; TWIST!; the; ,; .; :; [secret::; ]; (hidden until May); 🔒; "
    "—; {gm}; |; ||; `a`; [[Link]]; The players do not know; ==Secret==; not for players -"
).split("; ")


def test_what_the_list_says_waits_is_what_players_are_not_shown(seed: int) -> None:
    chance = random.Random(seed)
    words = [f"zq{letter}x" for letter in "abcdef"]
    for _ in range(300):
        line = " ".join(f"{chance.choice(PARTS)} {word}" for word in words)
        note = read_note("Mira.md", f"# Mira\n\n{line}\n", LOOKED_AT)
        shown = " ".join(s.text for s in note.sections if s.audience != DM)
        waits = " ".join(each.text for each in note.held)
        assert [(word in shown) + (word in waits) for word in words] == [1] * len(words), line


def test_a_line_opens_as_it_stands_and_another_one_that_begins_alike_waits() -> None:
    one, other = "Secret: she rows", "Secret: she is a lich"
    own = replace(LOOKED_AT, stems=frozenset({digest_of(fold(one))}))
    note = read_note("Mira.md", f"# Mira\n\n{one}\n\n{other}\n", own)
    assert [(section.text, section.audience) for section in note.sections] == [(one, None), (other, DM)]


def test_of_a_table_with_a_column_for_the_game_master_players_see_the_other_columns() -> None:
    table = "| Name | GM | Job |\n|---|---|---|\n| Otto | zqspy | smith |\n| Ana | zqodd | x | cook |\n| Bo | zqlich | baker |\n"
    given = seen("a.md", f"---\nvisibility: players\n---\n# Folk\n\n{table}\nRain.\n")
    assert "| Name | Job |\\n| --- | --- |\\n| Otto | smith |\\n| Bo | baker |" in given
    assert "Rain." in given
    assert not any(word in given for word in ("zqspy", "zqodd", "zqlich", "Ana"))
    note = read_note("a.md", f"---\nvisibility: players\n---\n# Folk\n\n{table}\nRain.\n")
    (secret,) = [section.text for section in note.sections if section.audience == DM]
    assert secret == "| Name | GM |\n| --- | --- |\n| Otto | zqspy |\n| Ana | zqodd | x | cook |\n| Bo | zqlich |"
    (whole,) = [section.text for section in read_note("a.md", f"# GM Notes\n\n{table}").sections]
    assert whole == table.strip(), "where all is secret, nothing is taken apart"


async def test_a_result_is_secret_only_if_players_do_not_see_what_it_quotes(tmp_path: Path) -> None:
    note = "---\nvisibility: players\n---\n# Otto\n\nThe smith forges horseshoes all day.\n\nSecret: he forges daggers at night.\n"
    async with vault_library(tmp_path, [write(tmp_path / "saga", {"Otto.md": note})], "sqlite") as library:
        await library.vaults.sync()
        look = TOOLS["lookup_note"]
        for query, secret in (("who forges horseshoes", False), ("who forges daggers at night", True)):
            answer = await look.run(library.view(library.asks), look.check({"semantic_query": query, "limit": 1}))
            (found,) = answer.structured["results"]
            assert ("daggers" in found["snippet"], found.get("secret", False)) == (secret, secret), found


# --- of two marks the narrower ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "audience"),
    [
        ("DM/a.md", "---\nvisibility: players\n---\nText.", DM),
        ("Player Handouts/GM only/a.md", "---\nvisibility: players\n---\nText.", DM),
        ("a.md", "---\npublish: true\n---\n# GM Notes\n\nText.", DM),
        ("Handouts/a.md", "---\ntags: [dm]\n---\nText.", DM),
        ("a.md", "---\nvisibility: [Ana, Bo]\naudience: [Bo, Cy]\n---\nText.", ("Bo",)),
        ("a.md", "---\nvisibility: Ana\naudience: Bo\n---\nText.", DM),
        ("Ana Brief.md", "---\nvisibility: players\n---\nText.", DM),
        ("a.md", "---\ntype: session plan\nvisibility: players\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\nrevealed: false\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\npro_hráče: ne\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\n---\n# Mira\n\n**Tags:** #npc #dm_only\n\nText.", DM),
        ("a.md", "---\nvisibility: players\nsummary: Private plans of the reeve\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\naliases: [Mira, GM secret file]\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\naliases:\n- Old Pier\n- Old Pier - secrets\n---\nText.", DM),
        ("a.md", "---\nvisibility: players\naliases: [Mira, 'Prep: the siege']\n---\nText.", DM),
        ("a.md", "---\naliases: [Mira, For the players]\n---\nText.", None),
        ("a.md", "---\nvisibility: players\nalias: Mira (secret)\nwork: Sekretarz miasta\n---\nText.", PLAYERS),
        ("a.md", "---\nvisibility: players\nsummary: The party fought off a raid, GM and all\n---\nText.", PLAYERS),
        ("a.md", "---\nstatus: draft\narmor: 14 (hide)\n---\nText.", DM),
        ("a.md", "---\nstatus: alive\narmor: 14 (hide)\nparty: yes\n---\nText.", None),
        ("a.md", "---\nvisibility: players\nknown_to_players: false\n---\nText.", DM),
        ("a.md", "---\nvisibility: player-safe\n---\nText.", PLAYERS),
        ("Handouts/a.md", "---\ntype:npc\nfaction: guild\n---\nText.", None),
        ("a.md", "---\ngm:only\nvisibility: players\n---\nText.", DM),
    ],
)
def test_of_front_matter_path_title_and_tags_the_narrowest_decides(
    path: str, text: str, audience: Audience | None
) -> None:
    assert read_note(path, text).audience == audience


@pytest.mark.parametrize(
    ("front", "audience"),
    [
        ("visibility: [Ana, Bo the Bold]", ("Ana", "Bo the Bold")),
        ("visible_to: '[[Ana von Harz]]'", ("Ana von Harz",)),
        ("shared-with: ana@example.com", ("ana@example.com",)),
        ("visibility: 王芳", ("王芳",)),
        ("visibility: 'Dangerous; local fishers avoid it'", DM),
        ("audience: agent", DM),
        ("access: [Ana, Bo]", ("Ana", "Bo")),
        ("access: 'Dangerous; local fishers avoid it'", None),
        ("permissions: players", PLAYERS),
        ("access: gm only", DM),
    ],
)
def test_only_names_are_people_and_the_way_into_a_harbour_is_none(front: str, audience: Audience | None) -> None:
    note = read_note("a.md", f"---\n{front}\n---\nText.")
    assert note.audience == audience
    key = front.partition(":")[0]
    assert (key in note.facts) == (audience is None)


async def test_the_check_reports_what_should_say_who_sees_a_note_and_does_not(tmp_path: Path) -> None:
    texts = {
        "who.md": "audience: agent",
        "when.md": "publish: soon",
        "where.md": "access: Ruined",
        "good.md": "visibility: [Ana]\naccess: by boat, at low tide",
        "broken.md": "visibility: players\nnotes: [unclosed",
        "twice.md": "visibility: players\n---\n\n---\nvisibility: dm",
    }
    vault = write(tmp_path / "saga", {path: f"---\n{front}\n---\nThree words here." for path, front in texts.items()})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        found = {(each.kind, each.path): each.what for each in await library.vaults.check()}
    assert sorted(found) == [
        ("front-matter", "broken.md"),
        ("front-matter", "twice.md"),
        *(("mark", f"{name}.md") for name in ("when", "where", "who")),
    ]
    assert "'agent' is neither an audience" in found["mark", "who.md"]
    assert "visibility: [Ruined]" in found["mark", "where.md"]
    assert "players do not see the note" in found["front-matter", "broken.md"]


# --- libraries of earlier versions ------------------------------------------------------------------------------------


async def test_notes_that_earlier_rules_opened_are_read_again_before_a_player_sees_them(tmp_path: Path) -> None:
    song = "She rows the ferry over the drowned river by night, and asks of all who cross for a song of their homes."
    note = f"---\nvisibility: players\n---\n# Mira\n\n{song}\n\n## DM Wissen\n\nShe is zqbell.\n"
    vault = write(tmp_path / "saga", {"Mira.md": note})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await library.vaults.sync()
        (stored,) = await library.cache.load("notes", [("saga", "Mira.md")])
        earlier = as_stored_earlier(stored)
        await library.cache.store_entities([earlier], "notes")
        with State(tmp_path / "library.vaults.db") as state:
            state.save(
                "saga",
                {"Mira.md": replace(state.rows("saga")["Mira.md"], entities={"notes Mira.md": earlier.content_hash})},
            )
            state.save_summary("saga", replace(state.summary("saga"), marks=""))
    (tmp_path / "library.shares").unlink()
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        assert "zqbell" not in await answer(library, ANYBODY, "get_entity", uri="lore://notes/saga/Mira.md")
        await library.vaults.sync()
        given = await answer(library, ANYBODY, "get_entity", uri="lore://notes/saga/Mira.md")
        assert song in given
        assert "zqbell" not in given
        assert library.embedding.computed == 0
        assert "DM Wissen" not in await answer(library, ANYBODY, "search_lore", query="zqbell")
        assert (await library.cache.load("notes", [("saga", "Mira.md")]))[0].content_hash == stored.content_hash


def as_stored_earlier(entity: Entity) -> Entity:
    """A note whose sections have no marks, as rules stored it that did not know them."""
    sections = [
        {key: value for key, value in section.items() if key in ("name", "desc")} for section in entity.data["sections"]
    ]
    fields: Mapping[str, Any] = {name: value for name, value in entity.fields.items() if name != "audience"}
    return replace(entity, data={**entity.data, "sections": sections}, fields=fields)


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.alike(3)
@pytest.mark.parametrize(
    "row",
    [
        "|-|-|\n",
        "| a | b |\n|---|---|\n",
        "<a 'b\n",
        "(gm: b\n",
        "**GM** x\n",
        "<details><summary>\n",
    ],
)
def test_reading_takes_as_much_longer_as_a_text_is_longer(row: str) -> None:
    def seconds(times: int) -> float:
        begun = time.process_time()
        read_note("a.md", row * times)
        return time.process_time() - begun

    seconds(100)
    short, long = (min(seconds(times) for _ in range(2)) for times in (400, 3200))
    assert long < short * 24, "eight times the text, and 64 times the time if each row looked at all others"


# --- marks in eight languages ------------------------------------------------------------------------------------------

IN_LANGUAGES = [
    (language, *line.split("|", 1)) for language, line in labelled((DATA / "marks_in_languages.txt").read_text("utf-8"))
]
SAID = f"the {WORD} sold the maps"
FORMS: dict[str, tuple[str, str, str]] = {
    "h": ("Folk/Mira.md", "", "## {}\n\n{said}."),
    "e": ("Folk/Mira.md", "", "## {}\n\n{said}."),
    "b": ("Folk/Mira.md", "", "**{}**\n\n- {said}."),
    "c": ("Folk/Mira.md", "", "> [!info]- {}\n> {said}."),
    "C": ("Folk/Mira.md", "", "> [!{}]\n> {said}."),
    "k": ("Folk/Mira.md", "", "- **{}:** {said}"),
    "d": ("Folk/Mira.md", "", "{}:: {said}"),
    "i": ("Folk/Mira.md", "", "She rows [{}:: {said}] at dawn."),
    "l": ("Folk/Mira.md", "", "{}: {said}"),
    "T": ("Folk/Mira.md", "", "| Name | {} |\n|---|---|\n| Otto | {said} |"),
    "x": ("Folk/Mira.md", "", '<div class="{}">\n\n{said}.\n\n</div>'),
    "p": ("Folk/Mira.md", "", "{}"),
    "f": ("Folk/Mira.md", "{}: {said}\n", ""),
    "t": ("Folk/Mira.md", "tags: [{}]\n", "{said}."),
    "n": ("Folk/{}.md", "", "{said}."),
    "o": ("{}/Mira.md", "", "{said}."),
}
"""Path, front matter and text of each form of mark."""


def is_held(form: str, words: str) -> bool:
    """Whether a mark is closed in a vault that is shared as a whole, when all that stands there was looked at."""
    path, front, body = (part.replace("{said}", SAID).replace("{}", words).replace("@", SAID) for part in FORMS[form])
    text = f"---\n{front}---\n# Mira\n\nShe rows the ferry.\n\n{body}\n\n## After\n\nThe water is cold.\n"
    own = replace(LOOKED_AT, shares=Shares([Share("saga", FOLDER, "", PLAYERS)]))
    entity = note_entity(read_note(path, text, own), "saga", "Saga", 0.0, lambda _: None)
    if not is_visible(entity, ANYBODY):
        return True
    return WORD not in json.dumps(redact(entity, ANYBODY, lambda _: None).as_record(), default=str)


def test_marks_in_eight_languages_are_closed() -> None:
    open_still = [row for row in IN_LANGUAGES if not is_held(row[1][0], row[2])]
    assert len(IN_LANGUAGES) == 400
    assert len(open_still) <= 4
    assert [row for row in open_still if row[1].endswith("!")] == []


def test_a_negation_counts_beside_players_in_its_own_language_and_in_english() -> None:
    said = {"O grupo no castelo": "pt", "El grupo no sabe": "es", "Personne ne fuit": "fr", "Nicht für PCs": "de"}
    own = {words: BUILT_IN.of_note("", spoken) for words, spoken in said.items()}
    assert [audience_of(words, own=own[words]).audience for words in said] == [None, DM, None, DM]


def test_a_mark_above_all_text_that_keeps_nothing_below_it_is_about_the_note() -> None:
    for mark in ("*GM only, not for the players!*", "[GM ONLY] Do not show the players", "Secret"):
        assert WORD not in (seen("Mira.md", f"---\nvisibility: players\n---\n{mark}\n\n## Job\n\n{WORD}\n") or "")
    shown = seen("Mira.md", f"---\nvisibility: players\n---\nGM only: a lie\n\n## Job\n\n{WORD}\n")
    assert WORD in shown, "it has something of its own"


def test_of_what_stands_in_brackets_the_narrowest_holds():
    assert audience_of("Knowledge (players)").audience == PLAYERS
    assert audience_of("Knowledge (players) (GM only)").audience == DM
    for spoken, said in {"cs en": DM, "fr": None}.items():
        assert audience_of("Mira (PJ)", NAME, BUILT_IN.of_note("", spoken)).audience == said


def test_a_stem_of_a_vault_with_letters_of_its_own_is_met_in_slugs() -> None:
    own = {spoken: BUILT_IN.of_note("", spoken) for spoken in ("ru", "en")}
    closed = ["globalnyi-syuzhet", "glavnyj-sjuzhet", "taynyy-hod", "podgotovka", "dlya-mastera", "tvisti"]
    assert [name for name in closed if audience_of(name, NAME, own["ru"]).audience != DM] == []
    for name in ("teni", "planeta", "gorod", "polnyi-spisok"):
        assert audience_of(name, NAME, own["ru"]).audience is None
    assert audience_of("globalnyi-syuzhet", NAME, own["en"]).audience is None


def test_a_note_that_has_the_names_of_others_alone_waits_and_is_opened_by_itself() -> None:
    contents = "# Contents\n\n- [The siege](arc/siege.md)\n  - [[The traitor]]\n"
    whole, itself = (
        replace(LOOKED_AT, shares=Shares([Share("saga", kind, name, PLAYERS)]))
        for kind, name in ((FOLDER, ""), (NOTE, "SUMMARY.md"))
    )
    assert read_note("SUMMARY.md", contents, whole).audience == DM
    assert read_note("SUMMARY.md", contents, itself).audience == PLAYERS
    for more in ("- ![[Map]]", "- [[Mira]], a smuggler", "## Friends\n\n- [[Mira]]"):
        assert read_note("SUMMARY.md", f"# Contents\n\n{more}\n", whole).audience == PLAYERS


def test_a_secret_in_a_list_of_front_matter_keeps_its_key() -> None:
    said = "---\nvisibility: players\nnpcs:\n  - name: Ana\n    note: {}\n---\nShe rows."
    assert WORD not in (seen("Mira.md", said.format(f"'Secret: {WORD}'")) or "")
    assert WORD in (seen("Mira.md", said.format(WORD)) or "")
