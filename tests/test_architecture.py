"""Who may import whom: rooms know only those below them, and each foreign library has one door."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import milvus_lite
import pytest

import lorekeeper
from tests.support.commands import environment
from tests.support.programs import command_of, use_embedded_library

PACKAGE = Path(lorekeeper.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_FUNCTION = 30
"""Lines, without its signature and docstring."""

FOUNDATION = {
    "version",
    "system",
    "regular_files",
    "errors",
    "printable",
    "addresses",
    "terms",
    "folding",
    "audience",
    "paths",
    "measures",
    "fields",
    "dates",
    "entities",
    "where",
    "field_values",
    "filters",
    "order",
    "editions",
}

MAY_KNOW = {
    "system": set[str](),
    "regular_files": set[str](),
    "errors": set[str](),
    "version": set[str](),
    "printable": set[str](),
    "addresses": {"printable"},
    "terms": set[str](),
    "folding": {"terms"},
    "audience": {"folding"},
    "paths": {"folding"},
    "measures": set[str](),
    "fields": {"folding"},
    "dates": set[str](),
    "entities": {"errors", "printable", "terms", "folding", "fields", "paths"},
    "field_values": {"errors", "printable", "folding", "fields", "dates"},
    "where": {"errors", "printable"},
    "filters": {"errors", "printable", "folding", "entities", "where", "dates", "field_values"},
    "order": {"errors", "entities", "filters"},
    "editions": {"errors", "printable", "folding", "entities"},
    "settings": {"errors", "printable", "addresses", "system", "regular_files", "editions", "audience"},
    "attribution": {"entities"},
    "people": FOUNDATION,
    "notes": FOUNDATION,
    "repairs": FOUNDATION,
    "text": FOUNDATION | {"repairs"},
    "render": FOUNDATION | {"notes", "repairs", "text"},
    "rolling": FOUNDATION | {"render"},
    "differences": FOUNDATION | {"render"},
    "normalize": FOUNDATION | {"notes", "repairs", "render", "rolling"},
    "embedding": FOUNDATION | {"settings", "text"},
    "cache": FOUNDATION | {"settings", "text", "embedding"},
    "search": FOUNDATION | {"text", "cache"},
    "spell_lists": FOUNDATION | {"render", "cache"},
    "intake": FOUNDATION | {"text", "notes", "normalize", "cache", "search"},
    "vaults": FOUNDATION | {"text", "notes", "normalize", "embedding", "cache", "intake"},
    "views": FOUNDATION | {"text", "notes", "normalize", "embedding", "cache", "search", "intake", "vaults"},
    "encounters": FOUNDATION | {"text", "render", "search", "views"},
    "composition": FOUNDATION
    | {"vaults", "settings", "people", "text", "normalize", "embedding", "cache", "search", "intake"},
    "plugin": FOUNDATION | {"settings", "text", "normalize", "embedding", "cache", "composition"},
    "testing": FOUNDATION | {"embedding", "cache"},
    "library": FOUNDATION
    | {"vaults", "views", "settings", "text", "normalize", "embedding", "cache", "search", "intake", "composition"},
    "maintenance": FOUNDATION
    | {"settings", "text", "notes", "normalize", "embedding", "cache", "intake", "vaults", "composition", "library"},
    "clients": {"errors", "printable", "regular_files", "settings", "version"},
    "server": FOUNDATION
    | {
        "settings",
        "people",
        "attribution",
        "text",
        "render",
        "differences",
        "rolling",
        "spell_lists",
        "search",
        "views",
        "encounters",
        "library",
    },
    "cli": FOUNDATION
    | {"settings", "normalize", "cache", "search", "intake", "composition", "library", "maintenance", "clients"}
    | {"server", "vaults", "people", "views", "rolling", "spell_lists", "differences"},
    "__main__": {"cli"},
    "__init__": {
        "version",
        "errors",
        "entities",
        "filters",
        "settings",
        "text",
        "embedding",
        "cache",
        "search",
        "intake",
        "composition",
        "plugin",
        "library",
    },
}
"""Every room (a module, or a folder) and the other rooms it may know."""

DOORS = {
    "pymilvus": ("cache/milvus/server.py", "cache/milvus/driver.py"),
    "milvus_lite": ("cache/milvus/lite.py",),
    "grpc": ("cache/milvus/driver.py",),
    "sqlite3": ("cache/", "vaults/state.py"),
    "filelock": ("cache/", "intake/sync_state.py", "vaults/", "people/rows.py", "server/audit.py"),
    "limits": ("server/limits.py",),
    "prometheus_client": ("server/metrics.py",),
    "watchfiles": ("vaults/watch.py",),
    "httpx": ("embedding/http.py", "search/rerank.py", "intake/", "people/keys.py"),
    "defusedxml": ("intake/formats/compendium.py",),
    "jwt": ("people/issuer.py",),
    "markdown_it": ("notes/", "render/"),
    "nh3": ("render/html.py", "render/note_html.py"),
    "yaml": ("notes/", "intake/formats/yaml_document.py"),
    "rapidfuzz": ("text/names.py",),
    "regex": ("normalize/fivetools/mods.py",),
    "Stemmer": ("text/porter.py",),
    "stamina": ("cache/milvus/server.py", "embedding/http.py", "intake/"),
    "mcp": ("server/", "cli/demo.py"),
    "mcp_types": ("server/", "cli/demo.py"),
    "pydantic_core": ("server/stdio.py",),
    "uvicorn": ("server/http.py",),
    "h11": ("server/http.py", "server/heads.py"),
    "starlette": ("server/",),
    "jinja2": ("server/page/site.py",),
    "markupsafe": ("server/page/",),
    "sse_starlette": ("server/http.py",),
    "rich": ("cli/",),
    "shtab": ("cli/",),
    "pydantic": (
        "settings.py",
        "server/tool",
        "server/arguments.py",
        "server/comparisons.py",
        "server/encounters.py",
        "server/rest/operations.py",
        "intake/",
    ),
    "dotenv": ("settings.py",),
    "numpy": ("embedding/", "cache/"),
    "sentence_transformers": ("embedding/",),
    "transformers": ("embedding/",),
    "torch": ("embedding/",),
    "tokenizers": ("embedding/",),
    "onnxruntime": ("embedding/",),
    "huggingface_hub": ("embedding/",),
}
"""Every foreign library and the beginnings of the paths that may import it."""


def place(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


@functools.cache
def imported(module: Path) -> frozenset[str]:
    """Full names of all that a module imports, at any depth of its code, type checking included."""
    return frozenset(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place(module)} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "import_module",
            "importlib.import_module",
            "__import__",
        ):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def rooms_known(module: Path) -> set[str]:
    names = [name.split(".") for name in imported(module)]
    ours = {name[1] for name in names if name[0] == "lorekeeper" and len(name) > 1}
    return {name for name in ours if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()}


def test_every_room_is_in_the_plan_and_the_plan_has_no_other():
    assert {room(place(m)) for m in MODULES} == set(MAY_KNOW)


def test_the_plan_leads_downward_only():
    below: set[str] = set()
    for name, known in MAY_KNOW.items():
        assert known <= below, f"{name} would know rooms that are not below it: {known - below}"
        below.add(name)


@pytest.mark.parametrize("module", MODULES, ids=place)
def test_a_module_knows_only_its_own_room_and_those_below(module):
    own = room(place(module))
    assert rooms_known(module) - {own} <= MAY_KNOW[own]


@pytest.mark.parametrize("module", MODULES, ids=place)
def test_foreign_libraries_are_imported_at_their_door_only(module):
    foreign = {name.split(".")[0] for name in imported(module)} - set(sys.stdlib_module_names) - {"lorekeeper"}
    foreign |= {name for name in DOORS if name in {n.split(".")[0] for n in imported(module)}}
    assert foreign <= set(DOORS), "a library without a door"
    assert [name for name in foreign if not place(module).startswith(DOORS[name])] == []


def own_names(tree: ast.AST) -> set[str]:
    """Attributes that a module sets itself: methods, fields, slots, and what it assigns to on ``self``."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return names


def private_names(module: Path) -> set[str]:
    """Private attributes that a module reads of objects which are not its own."""
    tree = ast.parse(module.read_text("utf-8"))
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in read if name.startswith("_") and not name.startswith("__")} - own_names(tree)


MILVUS = [module for module in MODULES if place(module).startswith("cache/milvus/")]


def test_milvus_lite_is_used_by_its_public_names_alone():
    used = {name for module in MILVUS for name in imported(module) if name.split(".")[0] == "milvus_lite"}
    assert "milvus_lite.MilvusLite" in used
    assert {name for name in used if name.count(".") > 1} == set()
    assert {name.partition(".")[2] for name in used} - {""} <= set(milvus_lite.__all__)
    assert private_names(PACKAGE / "cache/milvus/lite.py") == set()
    assert private_names(PACKAGE / "cache/milvus/recovery.py") == set()


def test_only_the_search_room_expands_queries():
    users = {place(m) for m in MODULES if any(n.startswith("lorekeeper.text.vocabulary") for n in imported(m))}
    assert users == {"search/expansion.py"}


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
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
    *("markdown_it", "yaml", "pathspec", "lorekeeper.notes", "lorekeeper.vaults.watch"),
    *("lorekeeper.normalize", "lorekeeper.intake.files", "lorekeeper.intake.freshness", "lorekeeper.intake.open5e"),
    *(
        "lorekeeper.search.dossier.gather",
        "lorekeeper.intake.on_demand",
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
        command, input=f"{message}\n", env=environment(tmp_path), capture_output=True, text=True, check=True, timeout=60
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
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split())
    assert {"milvus_lite", "faiss"} <= loaded
    assert loaded & {"pymilvus", "grpc", "Stemmer"} == set()
    unused = {"milvus_lite", "faiss", "pyarrow", "Stemmer"}
    assert loaded_by("import lorekeeper.cache.milvus.embedded, lorekeeper.cache.milvus.remote") & unused == set()


def test_the_package_itself_loads_nothing():
    assert {name for name in loaded_by("import lorekeeper") if name.startswith("lorekeeper")} == {
        "lorekeeper",
        "lorekeeper.version",
    }


@pytest.mark.parametrize("module", MODULES, ids=place)
def test_every_module_says_what_it_is_for(module):
    assert ast.get_docstring(ast.parse(module.read_text("utf-8")))


def statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The body of a function without its docstring."""
    return function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body


def test_functions_are_short_and_no_conditional_expression_has_another_in_it():
    found = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - statements(node)[0].lineno + 1
                found += [f"{place(module)}: {node.name} has {lines} lines"] * (lines > LONGEST_FUNCTION)
            if isinstance(node, ast.IfExp) and any(isinstance(e, ast.IfExp) for e in (node.body, node.orelse)):
                found.append(f"{place(module)}:{node.lineno}: {ast.unparse(node)}")
    assert MODULES
    assert found == []
