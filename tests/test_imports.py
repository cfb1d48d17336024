"""What each program imports: a command starts, and a client is greeted, without what neither needs."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.commands import environment
from tests.support.programs import command_of, use_embedded_library


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200)
    return set(done.stdout.split())


def test_the_command_line_starts_without_any_heavy_library():
    heavy = {
        "torch",
        "transformers",
        "sentence_transformers",
        "pymilvus",
        "milvus_lite",
        "faiss",
        "mcp",
        "rich",
        "numpy",
        "httpx",
        "sqlite3",
    }
    loaded = loaded_by("import lorekeeper.cli.main")
    assert "lorekeeper.cli.main" in loaded
    assert loaded & heavy == set()


NOT_FOR_A_GREETING = {
    *("torch", "transformers", "sentence_transformers", "onnxruntime", "tokenizers"),
    *("pymilvus", "milvus_lite", "faiss", "pyarrow", "pandas", "grpc", "Stemmer"),
    *("httpx", "stamina", "huggingface_hub", "requests", "rich", "pygments"),
    *("markdown_it", "yaml", "lorekeeper.notes", "lorekeeper.vaults.watch"),
    *("lorekeeper.normalize", "lorekeeper.intake.files", "lorekeeper.intake.freshness", "lorekeeper.intake.open5e"),
    *(
        "lorekeeper.search.dossier.gather",
        "lorekeeper.intake.misses",
        "lorekeeper.maintenance",
        "lorekeeper.clients.install",
    ),
}
"""What `initialize` is answered without. A client waits for that before it shows anything; all of these come to a second."""


def test_a_client_is_greeted_before_anything_is_loaded_that_is_not_needed_for_it(tmp_path):
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})
    command = [sys.executable, "-X", "importtime", "-m", "lorekeeper", "serve"]
    done = subprocess.run(
        command,
        input=f"{message}\n",
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "lorekeeper"
    assert "lorekeeper.server.mcp" in loaded
    assert loaded & NOT_FOR_A_GREETING == set()


def test_what_makes_entities_of_notes_is_imported_without_what_reads_them():
    loaded = loaded_by("import lorekeeper.normalize.notes, lorekeeper.notes")
    assert "lorekeeper.notes.note" in loaded
    assert loaded & {"markdown_it", "yaml"} == set()


def test_an_embedded_library_needs_no_driver_and_a_client_no_engine(tmp_path):
    program = command_of(use_embedded_library, tmp_path)
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=200)
    loaded = set(done.stdout.split())
    assert "milvus_lite" in loaded
    assert loaded & {"pymilvus", "grpc", "Stemmer", "pandas", "faiss"} == set()
    unused = {"milvus_lite", "faiss", "pyarrow", "Stemmer"}
    assert loaded_by("import lorekeeper.cache.milvus.embedded, lorekeeper.cache.milvus.remote") & unused == set()


def test_the_package_itself_loads_nothing():
    assert {name for name in loaded_by("import lorekeeper") if name.startswith("lorekeeper")} == {
        "lorekeeper",
        "lorekeeper.version",
    }
