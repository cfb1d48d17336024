"""The command line for a person at a terminal: help, suggestions, whole entries, a server that ends at Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lorekeeper.cli.main import declared, main
from tests.support.commands import environment, run_lorekeeper
from tests.support.samples import ATLAS, write_lines
from tests.support.service import message
from tests.support.serving import INITIALIZE

SECONDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory, embeddings) -> Path:
    """A library with the sample entries."""
    folder: Path = tmp_path_factory.mktemp("terminal")
    write_lines(folder / "shelf.jsonl")
    assert run_lorekeeper(folder, "import", "shelf.jsonl", env=variables(folder, embeddings)).returncode == 0
    return folder


def variables(folder: Path, embeddings) -> dict[str, str]:
    return environment(folder, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url)


@pytest.fixture
def run(folder, embeddings, monkeypatch, capsys):
    """Run a command in this process; status, stdout and stderr."""
    monkeypatch.delenv("LOREKEEPER_CORPUS", raising=False)
    monkeypatch.chdir(folder)
    for name, value in variables(folder, embeddings).items():
        monkeypatch.setenv(name, value)

    def start(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return start


# --- help --------------------------------------------------------------------------------------------------------------


def test_without_a_command_the_next_steps_are_shown_and_help_lists_all(run):
    status, out, _ = run()
    assert status == 0
    assert "lorekeeper help" in out
    status, out, _ = run("help")
    assert status == 0
    assert "commands:" in out
    assert "examples:" in out


@pytest.mark.parametrize("command", [command.name for command in declared()])
def test_every_help_has_examples_that_can_be_parsed(command, run):
    status, out, _ = run("help", command)
    assert status == 0
    examples = out.partition("examples:\n")[2].split("\n")
    assert examples[0].strip().startswith(f"lorekeeper {command}")
    assert max(map(len, examples)) < 80, "an example that is broken over two lines cannot be copied"
    assert "None" not in out


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["search", "x", "--type", "spel"], "did you mean 'spells'?"),
        (["schema", "spell"], "did you mean 'spells'?"),
        (["sync", "foo"], "known: open5e"),
        (["serve", "--port", "abc"], "a port is a number from 1 to 65535, not 'abc'"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(arguments, suggestion, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert suggestion in " ".join(capsys.readouterr().err.split())


# --- entries -----------------------------------------------------------------------------------------------------------


def test_an_entry_is_shown_by_its_name(run):
    status, out, err = run("show", "tide lance")
    assert (status, err) == (0, "")
    assert "Tide Lance" in out
    assert f"lore://spells/{ATLAS}/tide-lance" in out


def test_an_entry_is_shown_by_its_uri_as_json_and_as_markdown(run):
    uri = f"lore://spells/{ATLAS}/tide-lance"
    status, out, _ = run("show", uri, "--json")
    assert (status, json.loads(out)["uri"]) == (0, uri)
    status, out, _ = run("show", uri, "--markdown")
    assert status == 0
    assert uri in out


def test_results_have_uris_and_pages(run):
    _, out, _ = run("search", "ash", "--type", "spells", "--limit", "1", "--mode", "semantic")
    assert "lore://spells/" in out
    assert "--offset 1" in out
    status, _, err = run("search", "ash", "--limit", "99", "--mode", "keyword")
    assert (status, "Here are 50 results" in err) == (0, True)


# --- files -------------------------------------------------------------------------------------------------------------


def test_a_backup_replaces_nothing_unless_it_is_forced(run, folder):
    assert run("backup", "kept.zip")[0] == 0
    before = (folder / "kept.zip").stat()
    status, _, err = run("backup", "kept.zip")
    assert status == 1
    assert "--force" in err
    assert (folder / "kept.zip").stat() == before
    assert run("backup", "kept.zip", "--force")[0] == 0
    (folder / "notes.txt").write_text("mine")
    assert run("backup", "notes.txt", "--force")[0] == 1
    assert (folder / "notes.txt").read_text() == "mine"


# --- serve -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_server_in_a_terminal_says_what_it_does_and_ends_at_the_first_ctrl_c(folder, embeddings):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "lorekeeper", "serve"]
    with subprocess.Popen(
        command, env=variables(folder, embeddings), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert b"waiting for an MCP client" in process.stderr.readline()
        assert b"Ctrl-C" in process.stderr.readline()
        assert process.stdout is not None
        os.write(ours, json.dumps(message("initialize", **INITIALIZE)).encode() + b"\n")
        assert b'"result"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
        os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert err == b"Interrupted.\n"
