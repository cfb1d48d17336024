"""Installing into MCP clients: their files on made-up homes, and edits that leave every other byte alone."""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.cli.main import main
from lorekeeper.clients import json_file, json_tree, yaml_file
from lorekeeper.clients.install import COPY_SUFFIX, installation, removal
from lorekeeper.clients.server import Server, current_server, program
from lorekeeper.clients.table import CLIENTS, LINUX, MAC, NAME, WINDOWS
from lorekeeper.errors import ClientFileError
from lorekeeper.settings import Settings, load_settings
from tests.support.serving import INITIALIZE

SERVER = Server("/opt/lore keeper/bin/lorekeeper", ("serve",), {"LOREKEEPER_OFFLINE": "1", "LOREKEEPER_X": 'C:\\ä "b"'})
PATH = ("mcpServers", NAME)

# --- twelve homes ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Home:
    """A home folder: whose client is in it, on which system, and the client's file (None if it has none)."""

    client: str
    system: str
    content: bytes | None


SERVERS = b"""{
    "mcpServers": {
        "files": {
            "command": "npx",
            "args": ["-y", "files"]
        }
    },
    "theme": "dark"
}
"""

JSONC = b"""// servers of mine
{
\t"inputs": [], // none yet
\t"servers": {
\t\t/* the first one */
\t\t"github": { "type": "http", "url": "https://example.com/mcp" }, // no secrets here: "}" { [
\t},
}
"""

GOOSE = b"""# goose
GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    args:
    - --a: b
    - "x # y"
  # off for now
  memory:
    description: |
      # not a comment
      lorekeeper: no
    enabled: false

GOOSE_MODEL: "some:model"
"""

HOMES = {
    "nothing there": Home("claude-desktop", LINUX, None),
    "an empty file": Home("cursor", MAC, b""),
    "an empty object": Home("lm-studio", WINDOWS, b"{}"),
    "existing servers": Home("claude-desktop", MAC, SERVERS),
    "line ends and byte order mark of Windows": Home(
        "claude-desktop", WINDOWS, codecs.BOM_UTF8 + SERVERS.replace(b"\n", b"\r\n")
    ),
    "comments and a comma too many": Home("vscode", LINUX, JSONC),
    "everything on one line": Home(
        "claude-code", LINUX, b'{"numStartups":7,"mcpServers":{"a":{"command":"b"}},"z":1.50e3}'
    ),
    "other settings, no servers": Home("zed", MAC, b'{\n  "vim_mode": true, // yes\n  "font": "\\u00e9"\n  // end\n}'),
    "no servers yet": Home("gemini-cli", LINUX, b'{\n "mcpServers" : { },\n "ui":{"a":[1,2 ]}}\n'),
    "servers in YAML": Home("goose", LINUX, GOOSE),
    "no servers in YAML": Home("goose", WINDOWS, b"GOOSE_MODE: auto\r\nextensions: {} # none"),
    "an entry of another version": Home(
        "windsurf", LINUX, b'{"mcpServers": {\n  "lorekeeper": {"command": "old"},\n  "b": {"command": "c"}}}'
    ),
}


@pytest.fixture(params=HOMES, ids=lambda name: name.replace(" ", "-"))
def home(request, tmp_path) -> tuple[Home, Path]:
    """A made-up home with its client's file, and the path of that file."""
    made = HOMES[request.param]
    file = CLIENTS[made.client].file(made.system, tmp_path, {})
    if made.content is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.content)
        file.chmod(0o640)
    return made, file


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def content(client: str, file: Path) -> dict[str, Any]:
    """What a client reads in its file: comments and trailing commas are no part of it."""
    text = file.read_bytes().decode("utf-8-sig")
    if CLIENTS[client].format == "yaml":
        return dict(yaml.safe_load(text))
    data = json_tree.read(text).data
    assert isinstance(data, dict)
    return data


def without_entry(data: dict[str, Any], servers: str) -> dict[str, Any]:
    """Everything but our entry; a client knows no difference between no servers and none yet."""
    others = {name: value for name, value in dict(data.get(servers) or {}).items() if name != NAME}
    return {**{name: value for name, value in data.items() if name != servers}, servers: others}


def test_installing_adds_the_entry_and_keeps_every_other_byte(home, tmp_path):
    made, file = home
    client, before = CLIENTS[made.client], made.content or b""
    installation(client, file, SERVER).apply()
    data = content(made.client, file)
    assert data[client.servers][NAME] == SERVER.entry(client)
    if "another version" not in before.decode() and b'"old"' not in before and b"extensions: {}" not in before:
        assert is_subsequence(before, file.read_bytes())
    if before.strip():
        old = tmp_path / "old"
        old.write_bytes(before)
        assert without_entry(data, client.servers) == without_entry(content(made.client, old), client.servers)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    else:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == (0o040 if made.content is not None else 0)


def is_subsequence(part: bytes, whole: bytes) -> bool:
    """Whether bytes were only added."""
    rest = iter(whole)
    return all(byte in rest for byte in part)


def test_the_file_as_it_was_is_kept_beside_it(home):
    made, file = home
    installation(CLIENTS[made.client], file, SERVER).apply()
    copy = file.with_name(file.name + COPY_SUFFIX)
    assert (copy.read_bytes() if copy.exists() else None) == made.content


def test_uninstalling_restores_what_was_there(home, tmp_path):
    made, file = home
    before = everything(tmp_path)
    installation(CLIENTS[made.client], file, SERVER).apply()
    change = removal(CLIENTS[made.client], file)
    change.apply()
    if b'"old"' in (made.content or b""):  # its own entry is gone, which is what was asked for
        assert file.read_bytes() == (made.content or b"").replace(b'\n  "lorekeeper": {"command": "old"},', b"")
    else:
        assert change.restores
        assert everything(tmp_path) == before


@pytest.mark.parametrize("damaged", [b"\xff\xfe", b"{", None])
def test_a_damaged_copy_keeps_nobody_from_uninstalling(damaged, tmp_path):
    file, copy = tmp_path / "mcp.json", tmp_path / f"mcp.json{COPY_SUFFIX}"
    file.write_bytes(SERVERS)
    installation(CLIENTS["cursor"], file, SERVER).apply()
    if damaged is None:
        copy.unlink()
        copy.mkdir()
    else:
        copy.write_bytes(damaged)
    removal(CLIENTS["cursor"], file).apply()
    assert file.read_bytes() == SERVERS


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
@pytest.mark.parametrize("system", [MAC, WINDOWS, LINUX])
def test_every_client_has_a_file_on_every_system(client, system, tmp_path):
    file = client.file(system, tmp_path, {})
    assert file.is_relative_to(tmp_path)
    installation(client, file, SERVER).apply()
    assert content(client.name, file)[client.servers] == {NAME: SERVER.entry(client)}
    removal(client, file).apply()
    assert everything(tmp_path) == {}


# --- refused ---------------------------------------------------------------------------------------------------------

REFUSED = {
    "cut off": ("cursor", b'{"mcpServers": {', "it is not valid JSON: line 1, column 17 has the end of the file"),
    "no comma": ("cursor", b'{"a": 1\n "b": 2}', "line 2, column 2 has '\"b\"' instead of '}' or ','|','"),
    "two values": ("cursor", b"{} {}", "column 4 has '{' instead of the end of the file"),
    "not a number": ("cursor", b'{"a": NaN}', "column 7 has 'NaN' instead of a value"),
    "single quotes": ("cursor", b"{'a': 1}", "column 2"),
    "an open comment": ("cursor", b"{} /* ", "column 4"),
    "a list": ("cursor", b"[]", "its whole content is not an object"),
    "servers in a list": ("cursor", b'{"mcpServers": []}', "'mcpServers' is not an object"),
    "twice": ("vscode", b'{"servers": {}, "servers": {}}', "it has 'servers' twice"),
    "another encoding": ("cursor", '{"a": 1}'.encode("utf-16"), "it is not text in UTF-8"),
    "too deep": ("cursor", b'{"a": ' + b"[" * 100_000, "nested too deeply"),
    "YAML in brackets": ("goose", b"{extensions: {}}\n", "line 1 is not a name with a colon"),
    "YAML servers on one line": ("goose", b"extensions: {a: {b: c}}\n", "'extensions' has its value on the same line"),
    "YAML servers in a list": ("goose", b"extensions:\n  - a\n", "line 2 is not a name"),
    "YAML with tabs": ("goose", b"extensions:\n\ta:\n", "line 2"),
    "several YAML documents": ("goose", b"a: 1\n---\nb: 2\n", "line 2"),
    "YAML indented as a whole": ("goose", b" a: 1\n b: 2\n", "its outermost names are indented"),
    "YAML with old line ends": ("goose", b"a: 1\rextensions:\r  x: 2\r", "ends with a carriage return alone"),
    "YAML with what is no comment": ("goose", b"extensions: null#x\n", "'extensions' has its value on the same line"),
    "YAML with an escaped name": ("goose", b'"ext\\x65nsions":\n  a: {b: 1}\n', "line 1 is not a name with a colon"),
    "broken YAML": ("goose", b"a: 1\nnothing at all\n", "line 2 is not a name with a colon: 'nothing at all'"),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.replace(" ", "-"))
def test_what_cannot_be_edited_safely_is_refused_with_the_reason_and_stays(case, tmp_path):
    name, before, reason = REFUSED[case]
    file = CLIENTS[name].file(LINUX, tmp_path, {})
    file.parent.mkdir(parents=True)
    file.write_bytes(before)
    for attempt in (partial(installation, server=SERVER), removal):
        with pytest.raises(ClientFileError) as refused:
            attempt(CLIENTS[name], file)
        assert any(part in str(refused.value) for part in reason.split("|"))
        assert CLIENTS[name].title in str(refused.value)
    assert everything(tmp_path) == {str(file.relative_to(tmp_path)): before}


@pytest.mark.parametrize("since", [SERVERS + b" ", None])
def test_what_something_else_writes_between_reading_and_writing_stays(since, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_bytes(SERVERS)
    change = installation(CLIENTS["cursor"], file, SERVER)
    if since is None:
        file.unlink()
    else:
        file.write_bytes(since)
    with pytest.raises(ClientFileError, match="something else has changed it meanwhile; try again"):
        change.apply()
    assert everything(tmp_path) == ({} if since is None else {"mcp.json": since})


def test_a_link_to_the_file_stays_a_link(tmp_path):
    (tmp_path / "dotfiles.json").write_bytes(SERVERS)
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles.json")
    installation(CLIENTS["cursor"], link, SERVER).apply()
    assert link.is_symlink()
    assert NAME in link.read_text()
    removal(CLIENTS["cursor"], link).apply()
    assert (tmp_path / "dotfiles.json").read_bytes() == SERVERS


# --- JSON, at random -------------------------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from('ab"\\/é{}[],:* \t\n\u2028😀'), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
GAPS = st.sampled_from(["", "", " ", "\n", "\n\t", "  \n ", "/* a, } */", " // b: {\n", "//\n\n", "/***/ "])


@st.composite
def json_texts(draw: st.DrawFn, with_servers: bool = False) -> tuple[str, dict[str, Any]]:
    """A text of an object with comments and white space anywhere, and what is in it."""
    data: dict[str, Any] = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if with_servers or draw(st.booleans()):
        data["mcpServers"] = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    text = draw(GAPS) + draw(st.builds(lambda *parts: "".join(parts), spread(data))) + draw(GAPS)
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text), data


def spread(value: object) -> st.SearchStrategy[str]:
    """A value as JSON, laid out anyhow, with a comma too many here and there."""
    if not isinstance(value, dict | list):
        return st.just(json.dumps(value, ensure_ascii=False))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    parts = [GAPS.map(lambda gap: opening + gap)]
    for number, item in enumerate(value):
        if isinstance(value, dict):
            parts += [st.just(json.dumps(item)), GAPS, st.just(":"), GAPS]
            item = value[item]
        comma = st.just(",") if number < len(value) - 1 else st.sampled_from(["", ","])
        parts += [spread(item), GAPS, comma, GAPS]
    return st.tuples(*parts, st.just(closing)).map("".join)


@given(json_texts())
def test_an_entry_put_into_any_text_is_there_and_everything_else_too(case):
    text, data = case
    entry = SERVER.entry(CLIENTS["cursor"])
    new = json_file.put(text, PATH, entry)
    assert json_file.find(new, PATH) == entry
    assert json_tree.read(new).data == {**data, "mcpServers": {**dict(data.get("mcpServers") or {}), NAME: entry}}
    assert is_subsequence(text.encode(), new.encode())
    assert json_file.put(new, PATH, entry) == new
    assert new.count("\r\n") == new.count("\n") or "\r\n" not in text


@given(json_texts(with_servers=True), st.data())
def test_taking_any_server_out_leaves_the_others(case, data):
    text, content = case
    names = list(content["mcpServers"])
    if names:
        name = data.draw(st.sampled_from(names))
        left = json_tree.read(json_file.take(text, ("mcpServers", name))).data
        del content["mcpServers"][name]
        assert left == content


@given(json_texts(with_servers=True), st.data())
def test_a_damaged_text_is_refused_or_read_alike_and_never_made_worse(case, data):
    text, _ = case
    position = data.draw(st.integers(0, len(text)))
    broken = text[:position] + data.draw(st.sampled_from(["", "}", "{", '"', ",", "/*", "x"])) + text[position + 1 :]
    try:
        new = json_file.put(broken, PATH, {"command": "x"})
    except ClientFileError:
        return
    assert json_file.find(new, PATH) == {"command": "x"}


# --- YAML, at random -------------------------------------------------------------------------------------------------

WORDS = st.text(st.sampled_from("ab:#-'\" é|>{}\n"), max_size=6)
YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex("[a-z]{1,4}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=8,
)
YAML_NAMES = st.from_regex("[A-Za-z_][a-z0-9_ -]{0,5}[a-z0-9]", fullmatch=True).filter(
    lambda name: isinstance(yaml.safe_load(name), str) and name not in ("extensions", NAME)
)


@given(
    st.dictionaries(YAML_NAMES, YAML_VALUES, max_size=3),
    st.dictionaries(YAML_NAMES, st.dictionaries(YAML_NAMES, YAML_VALUES, min_size=1, max_size=3), max_size=3),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_an_entry_put_into_yaml_is_there_and_everything_else_too(others, extensions, indent, crlf):
    data = {**others, "extensions": extensions, "z": 1} if extensions else others
    text = yaml.safe_dump(data, indent=indent, allow_unicode=True, sort_keys=False, width=40) if data else ""
    text = text.replace("\n", "\r\n") if crlf else text
    client = CLIENTS["goose"]
    new = yaml_file.put(text, client.path, SERVER.entry(client))
    assert yaml.safe_load(new) == {**data, "extensions": {**extensions, NAME: SERVER.entry(client)}}
    assert yaml_file.put(new, client.path, SERVER.entry(client)) == new
    if extensions:
        assert yaml_file.take(new, client.path) == text
    assert new.count("\r\n") == new.count("\n") or not crlf or not text


# --- what is started -------------------------------------------------------------------------------------------------


def settings(**variables: str) -> tuple[Settings, dict[str, str]]:
    return load_settings({f"LOREKEEPER_{name}": value for name, value in variables.items()}, Path(os.devnull))


def test_settings_of_the_environment_go_along_but_no_secrets_and_no_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = current_server(*settings(MILVUS_DB_PATH="lore/my.db", OFFLINE="yes", HTTP_TOKEN="secret"))
    assert server.environment == {
        "LOREKEEPER_MILVUS_DB_PATH": str(tmp_path / "lore/my.db"),
        "LOREKEEPER_OFFLINE": "1",
    }
    assert "env" not in current_server(*settings()).entry(CLIENTS["cursor"])


@pytest.mark.parametrize(
    ("files", "python", "started"),
    [
        (["bin/python", "bin/lorekeeper"], "bin/python", ["{}/bin/lorekeeper"]),
        (["Scripts/python.exe", "Scripts/lorekeeper.exe"], "Scripts/python.exe", ["{}/Scripts/lorekeeper.exe"]),
        (["bin/python"], "bin/python", ["{}/bin/python", "-m", "lorekeeper"]),
        (
            ["archive-v0/x/bin/python", "archive-v0/x/bin/lorekeeper", "uvx"],
            "archive-v0/x/bin/python",
            ["{}/uvx", "lorekeeper-rpg"],
        ),
    ],
)
def test_the_command_is_that_of_this_installation_by_its_full_path(files, python, started, tmp_path, monkeypatch):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program(tmp_path / python) == [part.format(tmp_path) for part in started]


# --- the commands ----------------------------------------------------------------------------------------------------

Said = tuple[int, str, str]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., Said]:
    """Run a command in a made-up home on Linux; status, stdout, stderr."""
    for name in [name for name in os.environ if re.match("LOREKEEPER_|XDG_CONFIG_HOME|CLAUDE_CONFIG_DIR", name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOREKEEPER_ENV_FILE", os.devnull)
    monkeypatch.setenv("LOREKEEPER_MILVUS_DB_PATH", str(tmp_path / "milvus.db"))
    monkeypatch.setattr(sys, "platform", LINUX)
    monkeypatch.chdir(tmp_path)

    def start(*arguments: str) -> Said:
        status = main(arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return start


def test_install_says_what_it_did_and_what_to_do_next_and_uninstall_undoes_it(run, tmp_path):
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(SERVERS)
    status, said, _ = run("install", "--client", "cursor")
    assert status == 0
    for part in (f"Added LoreKeeper to Cursor: {file}", f"{file}{COPY_SUFFIX}", "Next, in Cursor:", "milvus.db"):
        assert part in said
    entry = json.loads(file.read_text())["mcpServers"]["lorekeeper"]
    assert Path(entry["command"]).is_absolute()
    assert entry["env"]["LOREKEEPER_MILVUS_DB_PATH"] == str(tmp_path / "milvus.db")
    assert "is in Cursor already" in run("install", "--client", "cursor")[1]
    undone = run("uninstall", "--client", "cursor")[1]
    assert "is restored" in undone
    assert "Next, in" not in undone
    assert everything(tmp_path) == {".cursor/mcp.json": SERVERS}
    assert "is not in Cursor" in run("uninstall", "--client", "cursor")[1]


def test_what_may_hold_a_secret_is_named_and_left_out(run, tmp_path, monkeypatch):
    assert run("install", "--client", "cursor")[2] == ""
    monkeypatch.setenv("LOREKEEPER_EMBEDDING_URL", "http://me:hush@127.0.0.1:9")
    monkeypatch.setenv("LOREKEEPER_MILVUS_TOKEN", "hush")
    for option in ((), ("--print",), ("--json",)):
        _, said, error = run("install", "--client", "cursor", *option)
        assert "hush" not in said
        assert "LOREKEEPER_EMBEDDING_URL, LOREKEEPER_MILVUS_TOKEN. Set them in" in error
    assert "hush" not in (tmp_path / ".cursor/mcp.json").read_text()


def test_the_entry_that_is_written_starts_a_server_that_answers(run, tmp_path):
    """As an app would, with no other environment than its own and that of the entry."""
    run("install", "--client", "claude-desktop")
    file = CLIENTS["claude-desktop"].file(LINUX, tmp_path, {})
    entry = json.loads(file.read_text())["mcpServers"]["lorekeeper"]
    app = {name: os.environ[name] for name in ("PYTHONPATH", "HOME") if name in os.environ}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(request) + "\n",
        env={**app, "PATH": "/usr/bin:/bin", **entry["env"]},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "lorekeeper"
