"""What a shell proposes, from the script that ``lorekeeper completion`` prints."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from lorekeeper.cli.completion import SHELLS, completion_script, filter_names
from lorekeeper.cli.main import declared, parser
from lorekeeper.entities import COLLECTIONS
from tests.support.commands import run_inside

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    file = tmp_path_factory.mktemp("completion") / "lorekeeper.bash"
    file.write_text(run_inside(file.parent, "completion", "bash").stdout)
    return file


def proposed(script, *words: str) -> set[str]:
    """What bash proposes for the last word."""
    typed = " ".join(f"'{word}'" for word in words)
    program = f"""
source {script}
COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}
_shtab_lorekeeper
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, timeout=200)
    return set(done.stdout.split())


def test_commands_and_options_are_completed(script):
    assert {command.name for command in declared()} <= proposed(script, "lorekeeper", "")
    assert proposed(script, "lorekeeper", "do") == {"doctor", "documents"}
    assert {"--explain", "--edition"} <= proposed(script, "lorekeeper", "search", "fire", "--e")


def test_types_filters_orders_and_editions_are_completed(script):
    assert proposed(script, "lorekeeper", "search", "fire", "--type", "") == set(COLLECTIONS)
    assert proposed(script, "lorekeeper", "search", "fire", "--filter", "level") == {
        "level=",
        "level_min=",
        "level_max=",
    }
    assert "2024" in proposed(script, "lorekeeper", "search", "fire", "--edition", "20")
    assert "cr" in proposed(script, "lorekeeper", "search", "fire", "--order", "c")
    assert proposed(script, "lorekeeper", "ask", "lookup_s") == {"lookup_spell"}
    assert {"level_max="} <= proposed(script, "lorekeeper", "ask", "lookup_spell", "level_")


def test_paths_are_completed_where_a_path_is_wanted(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "homebrew.orcbrew").touch()
    for command in ("import", "restore", "migrate"):
        assert proposed(script, "lorekeeper", command, "home") == {"homebrew.orcbrew"}
    assert proposed(script, "lorekeeper", "sync", "o") == {"open5e"}


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_every_shell(shell):
    assert "doctor" in completion_script(parser(), shell)


def test_every_filter_is_proposed_once():
    names = filter_names()
    assert len(names) == len(set(names))
    assert {field.name for collection in COLLECTIONS.values() for field in collection.fields} <= set(names)
