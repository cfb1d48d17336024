"""The published interface: what the package exports, and README's tables and examples, held against the code."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import lorekeeper

PACKAGE = Path(lorekeeper.__file__).parent
ROOT = PACKAGE.parent

PUBLIC = [
    "COLLECTIONS",
    "CacheError",
    "CacheProtocol",
    "Collection",
    "ConfigError",
    "EmbeddingError",
    "EmbeddingProvider",
    "EmbeddingService",
    "Entity",
    "Field",
    "FieldType",
    "FilterError",
    "HashingProvider",
    "Hit",
    "ImportFileError",
    "ImportReport",
    "Library",
    "LoreKeeperError",
    "MilvusConnectionError",
    "MilvusSchemaError",
    "Page",
    "Query",
    "Ranked",
    "Result",
    "Settings",
    "SourceError",
    "SourceUnavailableError",
    "Statistics",
    "UnknownDocumentError",
    "__version__",
    "load_settings",
    "open_cache",
    "parse_uri",
]


# --- the package -----------------------------------------------------------------------------------------------------


def test_the_package_exports_these_names():
    assert lorekeeper.__all__ == PUBLIC
    assert dir(lorekeeper) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_and_what_is_callable_is_documented(name):
    value = getattr(lorekeeper, name)
    if callable(value):
        assert inspect.getdoc(value), f"{name} has no docstring"


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'lorekeeper' has no attribute 'Libary'"):
        lorekeeper.Libary  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_the_names_from_the_modules_that_they_are_loaded_from():
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = {
        (node.module, alias.name, alias.asname)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imports == {(module, name, name) for module, names in lorekeeper._MODULES.items() for name in names}


def test_the_errors_and_the_entity_load_nothing_heavy():
    program = "from lorekeeper import CacheError, Entity; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert {"numpy", "pydantic", "sqlite3", "httpx"}.isdisjoint(done.stdout.split())


def test_no_module_of_the_package_imports_through_the_public_interface():
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "lorekeeper":
                assert {alias.name for alias in node.names}.isdisjoint(PUBLIC), module
