"""The published interface: what the package exports, and the tables and examples of README and docs/, held against the code."""

from __future__ import annotations

import argparse
import ast
import gzip
import importlib.util
import inspect
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

import lorekeeper
from lorekeeper.cli.main import parser
from lorekeeper.errors import ConfigError
from lorekeeper.server.tools import Tool, all_tools
from lorekeeper.settings import OTHERS, OWN_FILE, PREFIX, Settings, load_settings
from tests.support.commands import environment, run_lorekeeper
from tests.support.legacy_cache import TABLES, write_cache
from tests.support.libraries import starter_folder
from tests.support.pdf import lines, write_pdf
from tests.support.samples import write_lines
from tests.support.tables import each_row
from tests.support.vaults import write

PACKAGE = Path(lorekeeper.__file__).parent
ROOT = Path(__file__).parent.parent

ASKING = {"compare", "encounter", "roll", "search", "show", "spells", "topic"}
"""Commands that ask the library and change nothing."""

CHANGING = {
    **dict.fromkeys(("import", "migrate", "vault"), 0),
    **dict.fromkeys(("backup", "install", "people"), 1),
    **dict.fromkeys(("restore", "share"), 2),
    **dict.fromkeys(("shared", "unshare", "doctor"), 3),
}
"""Commands that change something or look after it, and when they come: some need what others have made."""

PUBLIC = [
    "COLLECTIONS",
    "CacheConfig",
    "CacheError",
    "CacheProtocol",
    "Collection",
    "Condition",
    "ConfigError",
    "EmbeddingError",
    "EmbeddingProvider",
    "EmbeddingService",
    "Entity",
    "EntityCache",
    "EntityError",
    "Field",
    "FieldType",
    "FilterError",
    "HashingProvider",
    "Hit",
    "ImportFileError",
    "ImportReport",
    "KeywordQuery",
    "Library",
    "LoreKeeperError",
    "MilvusCache",
    "MilvusConnectionError",
    "MilvusSchemaError",
    "NotFoundError",
    "Passage",
    "Query",
    "Ranked",
    "Result",
    "ResultPage",
    "Settings",
    "SourceError",
    "SourceUnavailableError",
    "SqliteCache",
    "Statistics",
    "UnknownDocumentError",
    "UpgradingError",
    "__version__",
    "create_cache",
    "load_settings",
    "open_cache",
    "parse_filters",
    "parse_uri",
    "passages",
    "select_entities",
]


# --- the package -----------------------------------------------------------------------------------------------------


def test_the_package_exports_these_names():
    assert lorekeeper.__all__ == PUBLIC
    assert dir(lorekeeper) == PUBLIC


@each_row("name", PUBLIC)
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
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200)
    assert {"numpy", "pydantic", "sqlite3", "httpx"}.isdisjoint(done.stdout.split())


# --- README and its neighbours ---------------------------------------------------------------------------------------

PAGES = {
    str(file.relative_to(ROOT)): file.read_text("utf-8")
    for file in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
        *sorted((ROOT / "docs").glob("*.md")),
    )
}

README = PAGES["README.md"]


MOST_LINES = 130
"""README is read in four minutes; reference belongs on a page of docs/."""


def table(first_column: str, page: str) -> list[list[str]]:
    """The rows of the one table of a page whose first column has that title, each as its cells."""
    _, _, rest = page.partition(f"\n| {first_column} |")
    rows = rest.split("\n\n", 1)[0].splitlines()[2:]
    assert rows, f"there is no table with the column {first_column}"
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def code(cell: str) -> list[str]:
    """What a cell has between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


TOOLS = {tool.name: tool for tool in all_tools()}


@pytest.fixture(scope="module")
def documented_parameters() -> dict[str, list[str]]:
    rows = {tool: code(parameters) for tool, _, parameters in table("tool", PAGES["docs/tools.md"])}
    by_name, paged = rows.pop("*every lookup*"), rows.pop("*every lookup and `search_lore`*")
    of_all = rows.pop("*every tool*")
    parameters = {code(tool)[0]: names for tool, names in rows.items()}
    for tool in parameters:
        if tool.startswith("lookup_"):
            parameters[tool] += by_name
        if tool.startswith("lookup_") or tool == "search_lore":
            parameters[tool] += paged
        parameters[tool] += of_all
    return parameters


def test_the_page_of_tools_lists_every_tool_in_order(documented_parameters):
    assert list(documented_parameters) == list(TOOLS)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_the_page_of_tools_lists_every_parameter_and_marks_the_required_ones(tool: Tool, documented_parameters):
    assert sorted(documented_parameters[tool.name]) == sorted(tool.arguments.model_fields)
    row = next(row for row in table("tool", PAGES["docs/tools.md"]) if row[0] == f"`{tool.name}`")
    assert re.findall(r"\*\*`(\w+)`\*\*", row[2]) == tool.input_schema.get("required", [])


PARSER = parser()


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (commands,) = (a for a in PARSER._actions if isinstance(a, argparse._SubParsersAction))
    return dict(commands.choices)


MOST_CHOICES_SHOWN = 3


def usage(command: str, parser: argparse.ArgumentParser) -> list[str]:
    """The words of a command as the page of commands writes them, each option in brackets, in the order of the alphabet."""
    words = [word(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    return sorted(["lorekeeper", command, *words])


def word(action: argparse.Action) -> str:
    """One argument as the page of commands writes it."""
    value = action.metavar or action.dest.upper()
    if action.choices and len(list(action.choices)) <= MOST_CHOICES_SHOWN:
        value = "|".join(action.choices)
    if not action.option_strings:
        return {"+": f"{value}...", "?": f"[{value}]"}.get(str(action.nargs), str(value))
    option = action.option_strings[-1]
    if action.nargs == 0:
        return f"[{option}]"
    return f"[{option} {value}]" + ("..." if isinstance(action, argparse._AppendAction) else "")


def test_the_page_of_commands_lists_every_command():
    assert sorted(code(row[0])[0].split()[1] for row in table("command", PAGES["docs/commands.md"])) == sorted(
        parsers()
    )


@each_row("command", parsers())
def test_the_page_of_commands_lists_every_option_of_a_command(command):
    rows = [code(row[0])[0] for row in table("command", PAGES["docs/commands.md"])]
    documented = next(row for row in rows if row.split()[1] == command)
    assert sorted(re.findall(r"\[[^]]+\](?:\.\.\.)?|\S+", documented)) == usage(command, parsers()[command])


def shown_default(name: str) -> str:
    """The default of a setting as the page of settings shows it; nothing if there is none."""
    default = OWN_FILE if name == "env_file" else Settings.model_fields[name].default
    if default in (None, ()):
        return ""
    if isinstance(default, bool):
        return f"`{default:d}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default}`"


def load(name: str, value: str) -> None:
    """Load settings with that value; ConfigError if it is not allowed."""
    address = {f"{PREFIX}EMBEDDING_URL": "http://127.0.0.1:1"}  # required with the provider for HTTP
    load_settings({**address, f"{PREFIX}{name.upper()}": value}, Path(os.devnull))


def allowed_values(name: str) -> list[str]:
    """The values that the error about a wrong one lists, if it lists any; each is tried."""
    try:
        load(name, "nonsense")
    except ConfigError as error:
        words = dict.fromkeys(re.findall(r"[\w-]+", str(error)))
    else:
        return []
    return sorted(word for word in words if is_allowed(name, word))


def is_allowed(name: str, value: str) -> bool:
    try:
        load(name, value)
    except ConfigError:
        return False
    return True


def test_the_page_of_settings_lists_every_setting_with_its_default_and_values():
    rows = table("variable", PAGES["docs/settings.md"])
    documented = sorted((variable, default, sorted(code(values))) for variable, default, values, _ in rows)
    settings = [(f"`{PREFIX}{n.upper()}`", shown_default(n), allowed_values(n)) for n in Settings.model_fields]
    assert documented == sorted(settings)


def test_the_page_of_python_lists_every_public_name():
    assert sorted(name for row in table("names", PAGES["docs/python.md"]) for name in code(row[0])) == PUBLIC


def test_the_map_of_the_house_has_every_room():
    documented = [name for row in table("room", PAGES["CONTRIBUTING.md"]) for name in code(row[0])]
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "__main__.py", "__init__.py", "py.typed"}
    assert sorted(documented) == sorted(f"{name}/" if (PACKAGE / name).is_dir() else name for name in names)


def commands(page: str) -> Iterator[list[str]]:
    """The arguments of each call of the command in the examples of a page."""
    for line in (line for block in blocks(PAGES[page], "sh") for line in block.replace("\\\n", " ").splitlines()):
        words = shlex.split(re.sub(r"<\(.*?\)", "PIPE", line), comments=True)
        if "lorekeeper" in words:
            yield words[words.index("lorekeeper") + 1 :]


@each_row("page", PAGES)
def test_commands_in_examples_parse(page):
    for arguments in commands(page):
        PARSER.parse_args(arguments)


def test_commands_in_examples_that_ask_are_answered(starter_library):
    asked = {tuple(arguments) for page in PAGES for arguments in commands(page) if ASKING.intersection(arguments[:1])}
    assert {arguments[0] for arguments in asked} == ASKING
    for arguments in sorted(asked):
        done = run_lorekeeper(starter_library, *arguments, env=environment(starter_library))
        assert (done.returncode, bool(done.stdout)) == (0, True), (arguments, done.stderr)


CAMPAIGN = {
    "Town.md": "# Town\n\nA harbour. #town\n\n## Secret doors\n\nBehind the mill.",
    "Places/Inn.md": "# Inn\n\nThe Drowned Rat.",
    "People/Mira.md": "# Mira\n\nShe keeps the inn.",
    "Drafts/Ideas.md": "# Ideas\n\nPerhaps a storm.",
}


def _table(path: Path) -> None:
    """A file with the tables of another program that the documentation names."""
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript("""
            CREATE TABLE monsters (name, desc); INSERT INTO monsters VALUES ('Reed Stalker', 'It waits in reeds.');
            CREATE TABLE spell_table (title, body); INSERT INTO spell_table VALUES ('Reed Song', 'Reeds sing.');
            CREATE TABLE cards (payload); INSERT INTO cards VALUES ('{"name": "Reed Veil", "desc": "Reeds hide you."}');
        """)


def _what_examples_name(home: Path) -> None:
    """What the commands of the documentation take: files of entries, a vault, libraries and tables of other programs."""
    write(home / "Campaign", {**CAMPAIGN, "Prep/Session 9.md": "The ferry sinks.\n"})
    for name in ("spells.json", "homebrew.json", "my-folder/a.jsonl", "my-books/b.jsonl"):
        (home / name).parent.mkdir(exist_ok=True)
        write_lines(home / name)
    (home / "creatures.jsonl.gz").write_bytes(gzip.compress((home / "spells.json").read_bytes()))
    write_pdf(home / "peat.pdf", [lines(["Bogs", "A bog is deep, wet and cold, and nobody crosses it alone."])])
    _table(home / "other.db")
    for folder in (home / "library", home / ".lorekeeper"):
        folder.mkdir(exist_ok=True)
        write_cache(folder / "cache.db", TABLES)
        done = run_lorekeeper(folder, "import", "../spells.json", env=environment(folder))
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_commands_in_examples_that_change_something_do_it(tmp_path):
    _what_examples_name(tmp_path)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    env = environment(shelf, ENV_FILE="") | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    documented = {tuple(a) for page in PAGES for a in commands(page) if a and a[0] in CHANGING and a[-1] != "-"}
    assert {arguments[0] for arguments in documented} == CHANGING.keys()
    for arguments in sorted(documented, key=lambda each: (CHANGING[each[0]], each)):
        agreed = ("--yes",) if arguments[0] == "share" and not {"--yes", "--dry-run"}.intersection(arguments) else ()
        given = [each.replace("~", str(tmp_path)) for each in (*arguments, *agreed)]
        done = run_lorekeeper(tmp_path, *given, env=env)
        assert (done.returncode, bool(done.stdout)) == (0, True), (arguments, done.stderr)


@each_row("page", PAGES)
def test_variables_that_a_page_names_exist(page):
    variables = {name.lower() for name in re.findall(rf"\b{PREFIX}([A-Z0-9_]+)", PAGES[page])}
    assert variables <= {*Settings.model_fields, *OTHERS}


def anchors(page: str) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@each_row("page", PAGES)
def test_files_and_headings_that_a_page_links_or_names_exist(page):
    text = PAGES[page]
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
        assert file.exists(), target
        if heading:
            assert heading in anchors(str(file.relative_to(ROOT))), target
    for module in re.findall(r"python -m ([a-z_.]+)", text):
        assert importlib.util.find_spec(module), module
    named = re.findall(r"`((?:lorekeeper|tests|benchmarks|scripts|openspec)/[\w./-]*)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_readme_leads_to_every_page_and_image_of_the_documentation():
    linked = set(
        re.findall(r"\]\(([^)#]+)", PAGES["README.md"] + PAGES["docs/page.md"].replace("(images", "(docs/images"))
    )
    files = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "images").glob("*.png")]
    assert [file.name for file in files if str(file.relative_to(ROOT)) not in linked] == []


def test_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES


@each_row("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_a_page_installs_nothing_from_an_index_that_does_not_have_it(page):
    commands = [line for block in blocks(PAGES[page], "sh") for line in block.splitlines()]
    assert [line for line in commands if re.search(r"(pip|pipx|uv|uvx).* lorekeeper(-rpg)?\b(?!_)", line)] == []


@pytest.fixture(scope="module")
def starter_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return starter_folder(tmp_path_factory)


def test_the_answer_in_readme_is_the_answer(starter_library):
    command = shlex.split(next(block for block in blocks(README, "sh") if block.startswith("lorekeeper search")))
    done = run_lorekeeper(starter_library, *command[1:], env=environment(starter_library) | {"COLUMNS": "92"})
    lines = [
        "  …" if line.startswith("  ") and "lore://" not in line else line.rstrip() for line in done.stdout.splitlines()
    ]
    assert [line for line, _ in groupby(lines)] == blocks(README, "text")[0].splitlines()


def test_the_entry_on_the_page_of_commands_begins_as_it_is_shown(starter_library):
    (text,) = blocks(PAGES["docs/commands.md"], "text")
    block = text.splitlines()
    environ = environment(starter_library) | {"COLUMNS": "80"}
    done = run_lorekeeper(starter_library, "show", "adult red dragon", env=environ)
    assert [line.rstrip() for line in done.stdout.splitlines()][: len(block)] == block


def test_the_python_example_runs_as_written(starter_library):
    (example,) = blocks(PAGES["docs/python.md"], "python")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=starter_library,
        env=environment(starter_library),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("Feather Fall | level 1 transmutation")
    assert second.endswith("| 5e 2024 Rules")


def test_readme_says_what_the_installer_says_that_it_takes_and_what_the_page_can():
    told = (ROOT / "install.py").read_text("utf-8")
    (stays,) = set(re.findall(r"dependencies, ([\d.]+ GB)", told))
    assert f"installs {stays}, which takes two to seven minutes" in README
    assert "initiative and hit points" in README
