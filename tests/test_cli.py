"""The command line: real processes on real libraries; vectors come from a small embedding server, so that each is quick."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cli.main import declared, main, parser
from lorekeeper.filters import parse_filters
from lorekeeper.settings import Settings
from tests.support import forking
from tests.support.commands import environment, run_inside, run_lorekeeper
from tests.support.embedding_server import EmbeddingServer
from tests.support.samples import ATLAS, SAMPLES, TITLES, write_lines

SECONDS = 60
REPORT_KEYS = ["stored", "unchanged", "embedded", "removed", "failed", "not_taken", "seconds"]
COUNTS = Counter(entry["collection"] for entry in SAMPLES)

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(embeddings: EmbeddingServer) -> Run:
    """Run a command on the library in a folder; further settings as keyword arguments."""

    def start(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return run_lorekeeper(folder, *arguments, env=with_embeddings(folder, embeddings, **settings))

    return start


def with_embeddings(folder: Path, server: EmbeddingServer, **settings: str) -> dict[str, str]:
    return environment(folder, **{"EMBEDDING_PROVIDER": "http", "EMBEDDING_URL": server.url, **settings})


@pytest.fixture(scope="module")
def imported(run: Run, tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Folder of a library with the shelf, and what the import said."""
    folder = tmp_path_factory.mktemp("cli")
    return folder, run(folder, "import", str(write_lines(folder / "shelf.jsonl")), "--json")


@pytest.fixture(scope="module")
def library(imported) -> Path:
    folder: Path = imported[0]
    return folder


@pytest.fixture(scope="module")
def inside(embeddings: EmbeddingServer) -> Inside:
    """Run a command on the library in a folder within this process, which is quicker; status, stdout and stderr."""

    def start(folder: Path, *arguments: str, **settings: str) -> tuple[int, str, str]:
        done = run_inside(folder, *arguments, env=with_embeddings(folder, embeddings, **settings))
        return done.returncode, done.stdout, done.stderr

    return start


@pytest.fixture
def here(library, inside) -> Callable[..., tuple[int, str, str]]:
    """The same on the module's library."""
    return partial(inside, library)


def report(printed: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(printed)
    assert list(content) == REPORT_KEYS
    return content


# --- import ----------------------------------------------------------------------------------------------------------


def test_import_prints_one_json_document_of_the_promised_shape_and_nothing_else(imported):
    _, done = imported
    said = report(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (said["stored"], said["unchanged"], said["removed"], said["failed"]) == (len(SAMPLES), 0, 0, [])
    assert said["embedded"] >= len(SAMPLES) - 2
    assert said["seconds"] > 0


def test_import_goes_on_past_broken_lines_and_names_file_and_line(inside, tmp_path):
    good = [json.dumps({"collection": "spells", "name": f"Spell {n}"}) for n in range(3)]
    lines = [
        good[0],
        "{broken",
        good[1],
        '{"collection": "spels", "name": "Misspelt"}',
        "",
        "[1, 2]",
        '{"collection": "spells", "name": "Wrong", "level": "many"}',
        '{"collection": "spells", "name": "No number", "level": NaN}',
        good[2],
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join(lines))
    status, out, err = inside(tmp_path, "import", "mixed.jsonl", "--json")
    said = report(out)
    assert (status, err) == (1, "")
    assert said["stored"] == 3
    assert [f["where"].rsplit("/", 1)[-1] for f in said["failed"]] == [f"mixed.jsonl:{n}" for n in (2, 4, 6, 7, 8)]
    whys = [f["why"] for f in said["failed"]]
    for why, word in zip(whys, ["JSON", "did you mean 'spells'", "object", "level", "NaN"], strict=True):
        assert word in why
    status, out, err = inside(tmp_path, "import", "mixed.jsonl")
    assert status == 1
    assert "3 unchanged" in out
    assert "mixed.jsonl:2: invalid JSON" in " ".join(err.split())


def test_a_dry_run_reads_and_counts_and_stores_nothing(inside, tmp_path):
    write_lines(tmp_path / "shelf.jsonl")
    _, out, _ = inside(tmp_path, "import", "shelf.jsonl", "--dry-run", "--json")
    assert (report(out)["stored"], report(out)["embedded"]) == (len(SAMPLES), 0)
    assert json.loads(inside(tmp_path, "stats", "--json")[1])["total"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_is_shown_on_a_terminal_and_results_stay_on_stdout(embeddings, tmp_path):
    import pty

    write_lines(tmp_path / "shelf.jsonl")
    terminal, errors = pty.openpty()
    with subprocess.Popen(
        forking.command("lorekeeper", "import", "shelf.jsonl", "--json"),
        cwd=tmp_path,
        env=with_embeddings(tmp_path, embeddings) | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    ) as process:
        os.close(errors)
        shown = b""
        with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as screen:
            while part := screen.read(1024):
                shown += part
        out, _ = process.communicate(timeout=SECONDS)
    assert report(out)["stored"] == len(SAMPLES)
    assert b"Reading" in shown
    assert b"Embedding" in shown
    size = f"{(tmp_path / 'shelf.jsonl').stat().st_size / 1000:.1f}"
    assert f"{size}/{size} kB".encode() in shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs process substitution")
@pytest.mark.parametrize(
    "command",
    [
        "{python} -m lorekeeper import <(cat shelf.jsonl) --json --dry-run",
        "cat shelf.jsonl | {lorekeeper} import /dev/stdin --json --dry-run",
    ],
)
def test_b23_what_another_program_writes_is_read(embeddings, tmp_path, command):
    write_lines(tmp_path / "shelf.jsonl")
    done = subprocess.run(
        ["bash", "-c", command.format(python=sys.executable, lorekeeper=shlex.join(forking.command("lorekeeper")))],
        cwd=tmp_path,
        env=with_embeddings(tmp_path, embeddings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, report(done.stdout)["stored"]) == (0, len(SAMPLES)), done.stderr


# --- search ----------------------------------------------------------------------------------------------------------


def test_search_prints_a_page_as_json(run, library):
    done = run(library, "search", "tide lance", "--json")
    page = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(page) == ["results", "total", "mode", "next_offset", "note"]
    assert page["results"][0]["name"] == "Tide Lance"
    assert page["results"][0]["document_name"] == TITLES[ATLAS]
    assert page["mode"] == "hybrid"


def test_a_search_without_words_lists_what_has_the_filters(run, library):
    page = json.loads(run(library, "search", "--where", "level:2", "--type", "spells", "--json").stdout)
    assert page["mode"] == "structured"
    assert page["results"]
    assert all("level 2" in hit["facts"] for hit in page["results"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["x", "--type", "spells", "--filter", "levl=3"], "did you mean 'level'"),
        (["x", "--type", "spells", "--filter", "level=high"], "level must be a number"),
        (["x", "--type", "spells", "--filter", "level"], "FIELD=VALUE"),
        (["x", "--type", "spells", "--filter", "=3"], "FIELD=VALUE"),
        (["x", "--document", "nope"], ATLAS),
        (["x", "--limit", "0"], "1 to 50"),
        (["x", "--limit", "51"], "1 to 50"),
        ([""], "empty"),
        ([], "--where"),
        (["x" * 10_000], "2,000"),
    ],
)
def test_a_wrong_question_is_wrong_use_and_says_what_is_known(here, arguments, named):
    status, out, err = here("search", *arguments, "--json")
    assert (status, out) == (2, "")
    assert named in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("encounter 4x3 --type undead", "unknown option of encounter: '--type'; did you mean '--creature-type'?"),
        ("show x --frobnicate=1", "'--frobnicate'; known: --type, --document, --markdown, --json"),
    ],
)
def test_an_option_that_a_command_lacks_is_answered_with_those_of_that_command(words, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("example", [each for command in declared() for each in command.examples])
def test_the_examples_of_the_help_are_understood(example):
    words = shlex.split(re.split(" [<>] ", example)[0])[1:]
    asked = parser().parse_args(words)
    assert asked.command == words[0]
    for each in getattr(asked, "filter", []):
        name, _, value = each.partition("=")
        assert parse_filters(asked.type[0], {name: value})


# --- stats, documents, reindex ---------------------------------------------------------------------------------------


def test_another_model_is_refused_until_reindex_has_run(inside, tmp_path):
    other = {"EMBEDDING_MODEL": "another-model"}
    write_lines(tmp_path / "shelf.jsonl")
    inside(tmp_path, "import", "shelf.jsonl")
    for command in (
        ["search", "tide", "--mode", "semantic"],
        ["import", "shelf.jsonl", "--document", "copy"],
        ["doctor"],
    ):
        status, out, err = inside(tmp_path, *command, **other)
        assert status == 1, command
        assert "lorekeeper reindex" in " ".join((out + err).split())
    fallback = json.loads(inside(tmp_path, "search", "tide", "--json", **other)[1])
    assert fallback["mode"] == "keyword"
    assert "reindex" in fallback["note"]
    status, out, err = inside(tmp_path, "reindex", **other)
    assert (status, err) == (0, "")
    assert str(len(SAMPLES)) in out
    page = json.loads(inside(tmp_path, "search", "tide lance", "--mode", "semantic", "--json", **other)[1])
    assert page["results"][0]["name"] == "Tide Lance"
    assert page["total"] == len(SAMPLES) - COUNTS["documents"]


# --- doctor and settings ---------------------------------------------------------------------------------------------


def test_doctor_shows_every_setting_with_its_origin_and_no_secret(run, here, library):
    file = library / "my.env"
    file.write_text("LOREKEEPER_HTTP_TOKEN=from-the-file\nLOREKEEPER_LOG_LEVEL=error\nUNRELATED=1\n")
    own = {"ENV_FILE": "my.env", "EMBEDDING_API_KEY": "from-outside"}
    done = run(library, "doctor", "--json", LOG_LEVEL="warning", **own)
    status, *table = here("doctor", **own)
    findings = json.loads(done.stdout)
    shown = {s["name"].removeprefix("LOREKEEPER_").lower(): (s["value"], s["from"]) for s in findings["settings"]}
    assert set(shown) == set(Settings.model_fields)
    assert shown["milvus_db_path"] == (str(library / "milvus.db"), "environment")
    assert shown["http_token"] == ("***", str(file))
    assert shown["embedding_api_key"] == ("***", "environment")
    assert shown["log_level"] == ("WARNING", "environment")
    assert shown["env_file"] == (str(file), "environment")
    assert shown["embedding_model"] == ("all-MiniLM-L6-v2", "default")
    assert (done.returncode, findings["healthy"]) == (0, True)
    assert {c["name"]: c["ok"] for c in findings["checks"]} == {
        "versions": True,
        "settings file": True,
        "embedding model": True,
        "library": True,
        "open5e": True,
        "integrity": True,
    }
    assert next(c["details"] for c in findings["checks"] if c["name"] == "library")
    assert status == 0
    assert " ".join(table[0].split()).startswith("6 checks passed. --json lists them")
    for printed in (done.stdout, done.stderr, *table):
        assert "from-outside" not in printed
        assert "from-the-file" not in printed


def test_a_damaged_library_is_a_failure_of_doctor_and_of_every_command(inside, tmp_path):
    write_lines(tmp_path / "shelf.jsonl")
    inside(tmp_path, "import", "shelf.jsonl")
    segments = list((tmp_path / "milvus.db").rglob("*.parquet"))
    assert segments
    for segment in segments:
        segment.write_bytes(segment.read_bytes()[:20])
    status, out, _ = inside(tmp_path, "doctor", "--json")
    findings = json.loads(out)
    assert (status, findings["healthy"]) == (1, False)
    assert "milvus.db is damaged" in next(c["message"] for c in findings["checks"] if c["name"] == "library")
    for command in (["stats", "--json"], ["search", "tide", "--json"], ["import", "shelf.jsonl"], ["reindex"]):
        status, out, err = inside(tmp_path, *command)
        assert (status, out) == (1, "")
        assert "milvus.db is damaged" in err
        assert "lorekeeper repair" in err


@pytest.mark.parametrize("origin", ["environment", "file"])
@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("LOREKEEPER_MILVUS_PATH", "x", ["LOREKEEPER_MILVUS_DB_PATH", "LOREKEEPER_EMBEDDING_MODEL"]),
        ("LOREKEEPER_CACHE_BACKEND", "postgres", ["milvus"]),
    ],
)
def test_an_unknown_setting_or_value_is_wrong_use(inside, tmp_path, origin, name, value, allowed):
    setting = name.removeprefix("LOREKEEPER_")
    if origin == "environment":
        status, out, err = inside(tmp_path, "stats", "--json", **{setting: value})
    else:
        (tmp_path / "my.env").write_text(f"{name}={value}\n")
        status, out, err = inside(tmp_path, "stats", "--json", **{setting: "", "ENV_FILE": "my.env"})
    assert (status, out) == (2, "")
    assert name in err
    assert all(word in err for word in allowed)


# --- backends --------------------------------------------------------------------------------------------------------
