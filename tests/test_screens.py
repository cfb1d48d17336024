"""What commands print in a terminal of 80 columns: no word is broken or cut, and a person finds what he looks for on the screen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lorekeeper.cli.terminal import wrapped
from lorekeeper.printable import shortened
from tests.support import forking
from tests.support.commands import environment, run_inside, run_lorekeeper
from tests.support.libraries import need_books, table_folder
from tests.support.tables import each_row
from tests.support.vaults import write

COLUMNS, LINES = 80, 24

WIDE = "2000"
"""Columns in which nothing has to be wrapped."""

Screen = Callable[..., subprocess.CompletedProcess[str]]

LORE = "lore://spells/srd-2014/fireball"

BROKEN = {"Loose.md": "[[Nowhere]] and [[Nobody at all|him]]\n", "Untitled/Plain.md": "Nothing links here.\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the starter compendium and the notes of a campaign, in a folder with a name as people have them."""
    folder = table_folder(tmp_path_factory)
    home = folder / "the game master's own folder for the campaign of the long winter evenings"
    home.mkdir()
    write(home / "an-old-vault-with-a-long-name", BROKEN)
    added = run_lorekeeper(folder, "vault", "add", str(home / "an-old-vault-with-a-long-name"))
    assert added.returncode == 0, added.stderr
    return folder


@pytest.fixture
def screen(folder: Path) -> Screen:
    """Runs a command as in a terminal of some columns."""

    def run(*arguments: str, columns: str = str(COLUMNS), **settings: str) -> subprocess.CompletedProcess[str]:
        return run_inside(folder, *arguments, env={**environment(folder, **settings), "COLUMNS": columns})

    return run


def unbroken(text: str, columns: int = COLUMNS) -> list[str]:
    """The lines that are wider than the terminal, though they have a place at which they could be broken."""
    return [line for line in text.splitlines() if len(line.rstrip()) > columns and len(line.split()) > 1]


COMMANDS = [
    [],
    ["help"],
    *(["help", name] for name in ("search", "encounter", "vault", "people", "serve", "install", "roll", "edition")),
    ["stats"],
    ["documents"],
    ["doctor"],
    ["recent"],
    ["edition"],
    ["topic", "Maudlin", "Fetch", "--limit", "10"],
    ["show", "fireball"],
    ["show", LORE],
    ["show", "no such thing as this one here, which nobody has ever written down in any of the books"],
    ["show", "lore://spells/srd-2014/a-very-long-slug-that-is-no-spell-of-this-library-and-never-was-one"],
    ["compare", "ogre", "troll"],
    ["compare", "no such thing"],
    ["compare", "fireball"],
    ["roll", "4d"],
    ["roll", "2d6+3", "--seed", "1", "--times", "40"],
    ["roll", "fireball"],
    ["spells", "wizard"],
    ["spells", "no class of this name"],
    ["encounter", "4x5", "--difficulty", "hard", "--seed", "3"],
    ["encounter", "4x5", "--monster", "2 ogre", "--monster", "troll", "--rules", "2014"],
    ["encounter", "0"],
    ["vault", "list"],
    ["vault", "check"],
    ["vault", "sync"],
    ["vault", "remove", "there-is-no-vault-of-that-name"],
    ["vault", "add"],
    ["people", "list"],
    ["people", "rotate", "somebody"],
    ["people", "add", "Gm", "--role", "player"],
    ["audience"],
    ["audience", LORE],
    ["audit"],
    ["install"],
    ["show", "lore://notes/drowned-bells/Sessions%2FSession%201%20-%20The%20Empty%20Ferry.md"],
    ["import", "there/is/no/such/file.json"],
    ["restore", "nothere.zip"],
    ["migrate", "nothere.db"],
    ["sync", "open5e"],
    ["search", "fireball", "--filter", "levle_max=3"],
    ["search", "fireball", "--where", "cr>=17 fly"],
    ["search", "fireball", "--where", "levle<=3"],
    ["search", "fireball", "--limit", "0"],
    ["search", "fireball", "--document", "no-such-book"],
    ["search", "fireball", "--edition", "3.5"],
]
"""Commands for people, right and wrong: what each prints, results and messages."""


def called(arguments: list[str]) -> str:
    return " ".join(arguments) or "alone"


@pytest.mark.alike(8)
@pytest.mark.parametrize("arguments", COMMANDS, ids=called)
def test_no_word_is_broken_or_cut_at_the_edge(screen, arguments):
    if arguments == ["doctor"]:
        screen(*arguments)  # what it says of a library that was just compared differs from what it says then
    narrow, wide = screen(*arguments), screen(*arguments, columns=WIDE)
    assert narrow.returncode == wide.returncode
    for said, whole in ((narrow.stdout, wide.stdout), (narrow.stderr, wide.stderr)):
        assert unbroken(said) == []
        assert Counter(steady(said)) == Counter(steady(whole))


def steady(text: str) -> list[str]:
    """The words of what is printed, without those that differ from run to run, and the lines that tables are drawn with."""
    return [
        word
        for word in re.sub(r"in\s+\d+\.\d\s+s|[─━═│┃]+|^usage: .*?\n(?=\S)", " ", text, flags=re.DOTALL).split()
        if word
    ]


def test_a_table_that_is_wider_than_the_terminal_is_told_row_by_row(screen):
    """The levels of a class have fourteen columns."""
    need_books()
    narrow, wide = (
        screen("show", "druid", "--document", "srd-2014", columns=each).stdout for each in (str(COLUMNS), WIDE)
    )
    assert "…" not in narrow
    assert unbroken(narrow) == []
    told, whole = ({word.strip(";:,") for word in steady(text)} for text in (narrow, wide))
    assert whole - told <= {"—", ""}


# --- a search -----------------------------------------------------------------------------------------------------------


@pytest.mark.alike(1)
@pytest.mark.parametrize(
    "query", ["we are falling off a cliff", "what did we promise the witch", "an undead that drains life"]
)
def test_five_hits_of_two_lines_fit_a_terminal(screen, query):
    found = screen("search", query)
    lines = found.stdout.splitlines()
    hits = json.loads(screen("search", query, "--limit", "5", "--json").stdout)["results"]
    assert len(lines) <= LINES - 2  # with the command itself, and the prompt
    assert unbroken(found.stdout) == []
    assert max(map(len, lines[:-1])) <= COLUMNS
    heads = [line for line in lines if not re.match(r" |Nothing in|Less sure:|\d+ |Read one:|lore:", line)]
    assert 0 < len(heads) <= 5
    for line, hit in zip(heads, hits, strict=False):
        assert line.startswith(hit["name"])
        assert hit["document_name"] in line
    assert not re.search(r"\b0\.\d\d\b", found.stdout)


@pytest.mark.alike(2)
@pytest.mark.parametrize(
    "words",
    [
        ["falling off a cliff"],
        ["adult", "red", "dragon"],
        ["demon"],
        ["fireball", "--limit", "1"],
        "how does grappling work".split(),
        "help me out of a grapple".split(),
    ],
)
def test_words_that_are_no_command_are_searched_for(screen, words):
    bare, asked = screen(*words), screen("search", *words)
    assert (bare.returncode, bare.stdout) == (0, asked.stdout)
    assert json.loads(screen(*words, "--json").stdout)["results"]


# --- names and dice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["goblin", "hobgoblin"], ["Goblin", "Hobgoblin"]),
        (["dire", "wolf", "wolf"], ["Dire Wolf", "Wolf"]),
        (["dire wolf", "wolf"], ["Dire Wolf", "Wolf"]),
        (["magic", "missile", "fire", "bolt"], ["Magic Missile", "Fire Bolt"]),
    ],
)
def test_two_names_are_two_entries_to_compare(screen, words, names):
    found = screen("compare", *words, "--json")
    assert found.returncode == 0, found.stderr
    assert [entry["name"] for entry in json.loads(found.stdout)["entries"]] == names
    assert len({entry["type"] for entry in json.loads(found.stdout)["entries"]}) == 1


# --- messages -----------------------------------------------------------------------------------------------------------


def test_what_is_wrong_with_a_library_is_said_once_and_without_the_name_of_a_logger(tmp_path):
    (tmp_path / "milvus.db").write_text("not a library")
    for command in (["stats"], ["search", "fireball"], ["documents"]):
        env = {**environment(tmp_path), "COLUMNS": str(COLUMNS)}
        found = run_lorekeeper(tmp_path, *command, env=env)
        assert found.returncode == 1
        assert "WARNING" not in found.stderr
        assert "lorekeeper.cache" not in found.stderr
        assert unbroken(found.stderr) == []
        said = " ".join(found.stderr.split())
        assert said.count("milvus.db") == 1, said


def in_a_terminal(folder: Path, columns: int, words: str, **settings: str) -> tuple[int, str]:
    """Exit status and output of a command in a terminal of 24 lines."""
    ours, theirs = os.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", str(LINES)], stdin=theirs, check=True)
    env = {name: value for name, value in environment(folder, **settings).items() if name != "COLUMNS"}
    with subprocess.Popen(
        forking.command("lorekeeper", *words.split()),
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not more:
                break
            said += more
    os.close(ours)
    return process.returncode, said.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_real_terminal_is_as_wide_as_it_says(folder):
    status, text = in_a_terminal(folder, 60, "show nothing that is in any of these books")
    assert status == 1
    assert "no entry is called 'nothing that is in any of these books'" in " ".join(text.split())
    assert unbroken(text, 60) == []
    assert text.count("\n") > 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("words", "is_paged"), [("show tarrasque", True), ("show blinded", False)])
def test_what_is_longer_than_the_terminal_is_paged(folder, monkeypatch, words, is_paged):
    monkeypatch.setenv("PAGER", "sed s/^/>/")
    status, text = in_a_terminal(folder, COLUMNS, words)
    lines = text.splitlines()
    assert status == 0
    assert (len(lines) >= LINES) == is_paged
    assert {line.startswith(">") for line in lines} == {is_paged}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", [COLUMNS, 50])
def test_the_code_of_a_link_is_whole_on_the_screen_with_what_is_said_of_it(tmp_path, columns):
    status, text = in_a_terminal(
        tmp_path, columns, "people add Wilhelmina --role player --url http://192.168.178.123:8765"
    )
    lines = text.splitlines()
    code = [number for number, line in enumerate(lines) if line.startswith(("█", "▀"))]
    assert status == 0
    assert code == list(range(len(code)))
    assert len(code) > 15
    assert any("/sign-in?key=" in line for line in lines)
    beside = " ".join(line.strip(" █▀▄") for line in lines)
    assert "once, within seven days" in " ".join(beside.split())
    assert all(len(line) <= columns for line in lines if "?key=" not in line)
    assert len(lines) < LINES or columns < COLUMNS


# --- wrapping -----------------------------------------------------------------------------------------------------------


def test_lines_are_broken_between_words_and_hang_below_their_last_column():
    text = "  name of a row  and what is said of it, in more words than fit here"
    assert wrapped(text, 40).splitlines() == [
        "  name of a row  and what is said of it,",
        "                 in more words than fit",
        "                 here",
    ]
    assert wrapped("self-made and well-known things", 20).split() == ["self-made", "and", "well-known", "things"]
    assert wrapped("see lore://notes/a/very-long-uri-of-a-note.md there", 20).splitlines() == [
        "see",
        "lore://notes/a/very-long-uri-of-a-note.md",
        "there",
    ]
    assert wrapped("one\n\ntwo", 80) == "one\n\ntwo"
    assert wrapped("as it is " * 50, None) == "as it is " * 50


@each_row("width", range(1, 40))
def test_a_shortened_text_has_whole_words_alone(width):
    text = "A bright streak flashes from you, to a point"
    short = shortened(text, width)
    assert len(short) <= max(width, 1)
    assert set(short.replace(",", "").split()) <= set(text.replace(",", "").split()) | {"…"}
    assert short == text or short.endswith("…")
