"""install.py: where it puts things on the three systems, what it asks, and that it can be run again and taken back."""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import install
from install import MAC, MARK, WINDOWS, InstallError, Places
from scripts import data_packages
from tests.support.tables import each_row

LINUX = "linux"

HOME = Path("/home/mira")

SOURCE = Path(install.__file__).read_text("utf-8")


# --- the program itself ----------------------------------------------------------------------------------------------


def test_nothing_outside_the_standard_library_is_imported():
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def with_an_older_python(folder: Path, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What install.py says to a Python that it is too new for."""
    old = SOURCE.replace("import sys\n", "import sys\nsys.version_info = (3, 8, 2)\n", 1)
    (folder / "install.py").write_text(old, "utf-8")
    command = [sys.executable, str(folder / "install.py"), *arguments]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=False)


def test_an_older_python_gets_a_message_with_the_next_step(tmp_path):
    done = with_an_older_python(tmp_path, str(tmp_path))
    assert done.returncode == 1
    assert "needs Python 3.11 or later, and this is 3.8" in done.stderr
    assert "https://www.python.org/downloads/" in done.stderr


def test_an_older_python_hands_over_to_a_newer_one_on_the_path(tmp_path):
    newer = tmp_path / "python3.13"
    newer.write_text('#!/bin/sh\necho "newer: $2 $3"\nexit 7\n')
    newer.chmod(0o755)
    done = with_an_older_python(tmp_path, f"{tmp_path}:/bin", "--yes", "--uninstall")
    assert (done.returncode, done.stdout) == (7, "newer: --yes --uninstall\n")


# --- where things go -------------------------------------------------------------------------------------------------


@each_row(
    ("system", "environ", "data", "program", "command"),
    [
        (
            LINUX,
            {},
            "/home/mira/.local/share/lorekeeper",
            "environment/bin/lorekeeper",
            "/home/mira/.local/bin/lorekeeper",
        ),
        (
            LINUX,
            {"XDG_DATA_HOME": "/data"},
            "/data/lorekeeper",
            "environment/bin/lorekeeper",
            "/home/mira/.local/bin/lorekeeper",
        ),
        (
            MAC,
            {},
            "/home/mira/Library/Application Support/LoreKeeper",
            "environment/bin/lorekeeper",
            "/home/mira/.local/bin/lorekeeper",
        ),
        (
            WINDOWS,
            {"LOCALAPPDATA": "/c/Local"},
            "/c/Local/LoreKeeper",
            "environment/Scripts/lorekeeper.exe",
            "/c/Local/LoreKeeper/bin/lorekeeper.cmd",
        ),
        (
            WINDOWS,
            {},
            "/home/mira/AppData/Local/LoreKeeper",
            "environment/Scripts/lorekeeper.exe",
            "/home/mira/AppData/Local/LoreKeeper/bin/lorekeeper.cmd",
        ),
    ],
)
def test_each_system_has_its_own_places(system, environ, data, program, command):
    places = Places(system, HOME, environ)
    assert places.data == Path(data)
    assert places.program == Path(data, program)
    assert places.command == Path(command)


@pytest.mark.parametrize(
    ("system", "shell", "existing", "expected"),
    [
        (LINUX, "/bin/bash", [], ".bashrc"),
        (LINUX, "/usr/bin/zsh", [], ".zshrc"),
        (LINUX, "/usr/bin/fish", [], None),
        (LINUX, "", [], None),
        (MAC, "/bin/zsh", [], ".zshrc"),
        (MAC, "/bin/bash", [], ".bash_profile"),
        (MAC, "/bin/bash", [".profile"], ".profile"),
    ],
)
def test_the_startup_file_is_the_one_that_the_shell_reads(tmp_path, system, shell, existing, expected):
    for name in existing:
        (tmp_path / name).touch()
    assert Places(system, tmp_path, {"SHELL": shell}).startup_file == (tmp_path / expected if expected else None)


# --- the path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, b"", b"alias ll='ls -l'\n", b"# no end of line", b"caf\xe9\r\nset\r\n"])
def test_the_line_in_the_startup_file_is_added_once_and_taken_back_alone(tmp_path, before):
    places = Places(LINUX, tmp_path, {"SHELL": "/bin/bash"})
    file = tmp_path / ".bashrc"
    if before is not None:
        file.write_bytes(before)
    install.add_to_path(places)
    once = file.read_bytes()
    install.add_to_path(places)
    assert file.read_bytes() == once
    assert once.startswith(before or b"")
    assert once.decode("latin-1").splitlines()[-1] == f'export PATH={tmp_path}/.local/bin:"$PATH"  {MARK}'
    install.remove_from_path(places)
    left = file.read_bytes()
    assert left == (before or b"") + (b"\n" if before == b"# no end of line" else b"")


HARMFUL = ["$(touch PWNED)", "`touch PWNED`", '"; touch PWNED; "', "$HOME", "it's", "a b", "über"]


@pytest.mark.processes
@pytest.mark.parametrize("name", HARMFUL)
def test_a_shell_finds_the_command_and_runs_nothing_of_the_name_of_the_home_folder(tmp_path, name):
    home = tmp_path / name.replace("/", "_")
    places = Places(LINUX, home, {"SHELL": "/bin/bash"})
    places.commands.mkdir(parents=True)
    install.add_to_path(places)
    asked = ["bash", "--norc", "-c", '. "$1"; printf %s "${PATH%%:*}"', "bash", home / ".bashrc"]
    shell = subprocess.run(asked, cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, check=True)
    assert os.fsdecode(shell.stdout) == str(places.commands)
    assert [each.name for each in tmp_path.iterdir()] == [home.name]


class Registry:
    """The part of `winreg` that is used, over one key."""

    KEY_READ, KEY_WRITE, HKEY_CURRENT_USER, REG_SZ, REG_EXPAND_SZ = 1, 2, 3, 1, 2

    def __init__(self, **values: tuple[str, int]) -> None:
        self.values = dict(values)
        self.writes = 0

    def OpenKey(self, root: int, name: str, reserved: int, access: int) -> Registry:  # noqa: N802
        assert (root, name, access) == (self.HKEY_CURRENT_USER, "Environment", self.KEY_READ | self.KEY_WRITE)
        return self

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def QueryValueEx(self, key: Registry, name: str) -> tuple[str, int]:  # noqa: N802
        if name not in key.values:
            raise FileNotFoundError(name)
        return key.values[name]

    def SetValueEx(self, key: Registry, name: str, reserved: int, kind: int, value: str) -> None:  # noqa: N802
        key.values[name] = (value, kind)
        self.writes += 1


@each_row(("before", "kind"), [("", Registry.REG_EXPAND_SZ), (r"%USERPROFILE%\bin;C:\Tools", 2), (r"C:\Tools;", 1)])
def test_the_path_of_windows_gets_one_folder_and_loses_only_that(before, kind):
    places = Places(WINDOWS, HOME, {"LOCALAPPDATA": "/c/Local"})
    registry = Registry(Path=(before, kind)) if before else Registry()
    install.add_to_path(places, registry)
    install.add_to_path(places, registry)
    folders = [folder for folder in before.split(";") if folder]
    assert registry.values["Path"] == (";".join([*folders, "/c/Local/LoreKeeper/bin"]), kind)
    assert registry.writes == 1
    install.remove_from_path(places, registry)
    assert registry.values["Path"] == (";".join(folders), kind)


# --- questions -------------------------------------------------------------------------------------------------------


@each_row(
    ("answer", "chosen"),
    [
        ("", ["cursor"]),
        ("1 3", ["cursor", "zed"]),
        ("3;1,3", ["zed", "cursor"]),
        ("Zed", ["zed"]),
        ("yes", ["cursor"]),
        ("all", ["cursor", "goose", "zed", "vscode", "vscode-insiders"]),
        ("none", []),
        ("0", []),
        ("n", []),
        ("6", None),
        ("emacs", None),
        ("1 -2", None),
        ("goo", ["goose"]),
        ("VS Code", ["vscode"]),
        ("vs code insiders and Zed", ["vscode-insiders", "zed"]),
        ("vs", None),
    ],
)
def test_an_answer_names_clients_by_number_or_name(answer, chosen):
    options = ["cursor", "goose", "zed", "vscode", "vscode-insiders"]
    assert install.choose(answer, options, ["cursor"]) == chosen


@each_row(
    ("text", "system", "folder"),
    [
        ("~/My Campaign", LINUX, HOME / "My Campaign"),
        ("'/media/stick/My Campaign' ", LINUX, Path("/media/stick/My Campaign")),
        ('"/media/My Campaign"', MAC, Path("/media/My Campaign")),
        (r"/Users/mira/My\ Campaign ", MAC, Path("/Users/mira/My Campaign")),
        ("  notes", LINUX, Path("notes")),
        (r"/Users/mira/Mira\'s\ Notes", MAC, Path("/Users/mira/Mira's Notes")),
        (r"'/home/mira/Mira'\''s Notes'", LINUX, Path("/home/mira/Mira's Notes")),
        ("/home/mira/Mira's Notes", LINUX, Path("/home/mira/Mira's Notes")),
        ("file:///home/mira/My%20Notes", LINUX, Path("/home/mira/My Notes")),
        (r'"C:\Users\Mira\My Campaign"', WINDOWS, Path(r"C:\Users\Mira\My Campaign")),
        (r"C:\Campaign", WINDOWS, Path(r"C:\Campaign")),
        (r"& 'C:\My Campaign'", WINDOWS, Path(r"C:\My Campaign")),
        ("~", LINUX, HOME),
    ],
)
def test_a_folder_may_be_typed_quoted_or_dragged_into_the_terminal(text, system, folder):
    assert install.typed_folder(text, HOME, system) == folder


@pytest.fixture
def open5e() -> Iterator[str]:
    """The address of a server on this machine, which is there and answers that it cannot do what it is asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(("answers", "taken"), [("y", True), ("", False), ("yep", True), ("later n", False)])
def test_open_books_are_offered_with_their_size_where_their_server_answers(open5e, answers, taken, capsys):
    places = Places(LINUX, HOME, {"LOREKEEPER_OPEN5E_BASE_URL": open5e})
    given = iter(answers.split(" "))
    assert install.ask_books(places, lambda _: next(given)) is taken
    assert "0.3 GB" in (told := capsys.readouterr().out)
    assert ("Please answer y" in told) == ("later" in answers)


@pytest.mark.parametrize("answer", ["yep", "Yes", "", "nope"])
def test_a_word_that_begins_as_yes_does_is_yes(tmp_path, answer):
    places = Places(LINUX, tmp_path, {"PATH": os.defpath, "SHELL": "/bin/bash"})
    places.program.parent.mkdir(parents=True)
    places.program.touch()
    called = install.show_on_path(places, lambda _: answer, None)
    assert (called == "lorekeeper") is (answer != "nope")
    assert (tmp_path / ".bashrc").exists() is (answer != "nope")


@pytest.mark.parametrize("width", [40, 0])
def test_lines_and_questions_are_broken_between_words_in_a_terminal(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: width > 0)
    monkeypatch.setattr("builtins.input", lambda prompt: prompt)
    told = "Add 'lorekeeper' to /home/mira/a-folder-with-a-name/that-has-a-long-name, for new terminals? (Y/n):"
    asked = install.asked(told)
    install.say(told)
    assert capsys.readouterr().out == asked[:-1] + "\n"
    assert (asked.split(), asked[-1]) == (told.split(), " ")
    assert asked.count("\n") == (2 if width else 0)


@pytest.mark.processes
def test_the_counter_of_packages_names_its_step_and_begins_anew_with_the_next(tmp_path, monkeypatch, capsys):
    places = Places(LINUX, tmp_path, {"PATH": os.defpath})
    places.log.parent.mkdir(parents=True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for title, packages in (("LoreKeeper", 2), ("the texts", 1)):
        install.run(places, [sys.executable, "-c", f"for n in range({packages}): print('Collecting', n)"], title)
    shown = [part.strip() for part in capsys.readouterr().out.split("\r")]
    assert list(filter(None, shown)) == [
        "LoreKeeper: package 1",
        "LoreKeeper: package 2",
        "the texts: package 1",
    ]


@pytest.mark.parametrize(
    "environ",
    [
        {"LOREKEEPER_OFFLINE": "1"},
        {"LOREKEEPER_OPEN5E_BASE_URL": "file:///"},
        {"LOREKEEPER_OPEN5E_BASE_URL": "http://[::1"},
    ],
)
def test_open_books_are_not_offered_where_they_cannot_be_had(open5e, environ, capsys):
    places = Places(LINUX, HOME, {"LOREKEEPER_OPEN5E_BASE_URL": open5e, **environ})
    assert not install.ask_books(places, lambda _: pytest.fail("it was asked"))
    assert capsys.readouterr().out == ""


# --- what goes wrong -------------------------------------------------------------------------------------------------


@each_row(
    ("output", "said"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError(...)'", "cannot be reached"),
        ("Failed to resolve 'host' ([Errno -3] Temporary failure in name resolution)", "cannot be reached"),
        ("OSError: [Errno 122] Disk quota exceeded", "disk is full"),
        ("ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407", "HTTPS_PROXY"),
        ("ConnectionResetError(104, 'Connection reset by peer')", "cannot be reached"),
        ("OSError: [Errno 30] Read-only file system: '/home'", "could not be written"),
        ("socket.gaierror: [Errno 11001] getaddrinfo failed", "cannot be reached"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "certificate"),
        ("PermissionError: [WinError 32] The process cannot access the file", "Close the chat apps"),
        ("The virtual environment was not created successfully because ensurepip is not available.", "python3-venv"),
        ("/usr/bin/python3: No module named venv", "python3-venv"),
        ("ERROR: No matching distribution found for onnxruntime", "Try another Python"),
        ("ERROR: ResolutionImpossible: for help visit", "Try another Python"),
    ],
)
def test_a_known_failure_has_its_next_step(output, said):
    assert said in (install.cause(output) or "")


def test_a_disk_that_is_too_full_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "NEEDED_BYTES", 1 << 60)
    with pytest.raises(InstallError, match="Free some space and run this again"):
        install.check_machine(Places(LINUX, tmp_path, {}))


# --- the packages with the texts of the SRDs --------------------------------------------------------------------------


@pytest.mark.processes
def test_a_package_that_cannot_be_had_is_named_and_the_others_are_installed(tmp_path, capfd):
    """One is there, one is not what its hash says, and one is nowhere."""
    for name in ("there", "other"):
        with zipfile.ZipFile(tmp_path / f"lk_{name}-1.0-py3-none-any.whl", "w") as wheel:
            info = f"lk_{name}-1.0.dist-info"
            wheel.writestr(f"lk_{name}/data.txt", name)
            metadata = (
                f"Metadata-Version: 2.1\nName: lk-{name}\nVersion: 1.0\nRequires-Python: >=9\nRequires-Dist: nothing\n"
            )
            wheel.writestr(f"{info}/METADATA", metadata)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256((tmp_path / "lk_there-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    pins = tmp_path / "pins.txt"
    pins.write_text(
        "# texts\n" + "".join(f"lk-{name}==1.0 --hash=sha256:{digest}\n" for name in ("nowhere", "other", "there"))
    )
    options = ("--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "target"))
    assert data_packages.main(options, pins) == 1
    said = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["lk-nowhere==1.0", "lk-other==1.0"]
    assert (tmp_path / "target" / "lk_there" / "data.txt").read_text() == "there"
    assert not (tmp_path / "target" / "lk_other").exists()


# --- a wheel that was built before -----------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a package, and a wheel that was built after its last change."""
    (tmp_path / "lorekeeper" / "data" / "model").mkdir(parents=True)
    (tmp_path / "dist").mkdir()
    for number, name in enumerate(("lorekeeper/a.py", "dist/lorekeeper_rpg-0.1.0-py3-none-any.whl")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 + number, 1000 + number))
    return tmp_path


def test_the_wheel_of_make_wheel_is_taken_while_the_package_is_the_same(checkout):
    assert install.built_wheel(checkout) == checkout / "dist" / "lorekeeper_rpg-0.1.0-py3-none-any.whl"
    (checkout / "lorekeeper" / "data" / "model" / "model.onnx").touch()
    (checkout / "lorekeeper" / "a.pyc").touch()
    assert install.built_wheel(checkout), "what the build itself writes is no change"


# --- a whole installation, of a small program that stands for ours ---------------------------------------------------

PROGRAM = """
import json, os, sys
from pathlib import Path

home = Path(os.environ["HOME"])


def main():
    with (home / "calls").open("a") as calls:
        print(*sys.argv[1:], file=calls)
    words = sys.argv[1:]
    entry = home / "client.json"
    if words == ["install", "--json"]:
        state = "installed" if entry.exists() else "there"
        other = {"client": "other", "file": str(home / "other.json"), "state": "not found"}
        print(json.dumps([{"client": "app", "file": str(entry), "state": state}, other]))
    elif words[0] == "install":
        entry.write_text(json.dumps({"command": sys.executable}))
    elif words[0] == "uninstall":
        entry.unlink()
    elif words[0] == "search" and (home / "fail").exists():
        return 1
    return 0
"""


@pytest.fixture(scope="module")
def small_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with the command `lorekeeper`, which writes down how it is called, and without dependencies."""
    wheel = tmp_path_factory.mktemp("wheel") / "lorekeeper_rpg-0.1.0-py3-none-any.whl"
    info = "lorekeeper_rpg-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr("lorekeeper_program.py", PROGRAM)
        written.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: lorekeeper-rpg\nVersion: 0.1.0\n")
        written.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        written.writestr(f"{info}/entry_points.txt", "[console_scripts]\nlorekeeper = lorekeeper_program:main\n")
        written.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """An empty home, in which one installation is done by all tests below."""
    home = tmp_path_factory.mktemp("home")
    environ = {
        "HOME": str(home),
        "PATH": os.defpath,
        "SHELL": "/bin/bash",
        "PIP_NO_INDEX": "1",
        "LOREKEEPER_OFFLINE": "1",
    }
    return Places(sys.platform, home, environ, sys.base_prefix)


def options(wheel: Path | None, **more: Any) -> argparse.Namespace:
    """The options of the command line."""
    return argparse.Namespace(**{"wheel": wheel, "client": None, "vault": None, **more})


def calls(places: Places) -> Iterator[str]:
    """How the program was called since the last time."""
    file = places.home / "calls"
    yield from file.read_text().splitlines()
    file.unlink()


@pytest.mark.processes
def test_an_installation_answers_connects_clients_and_adds_notes(places, small_wheel, monkeypatch, capfd):
    install.install(places, options(small_wheel, vault=[places.home]), None)
    assert list(calls(places)) == [
        f"search {install.QUESTION} --type spells --limit 2",
        "install --json",
        "install --client app",
        f"vault add {places.home}",
    ]
    assert places.command.readlink() == places.program
    assert MARK in (places.home / ".bashrc").read_text()
    assert "Try in a new terminal window:" in capfd.readouterr().out
    monkeypatch.setattr(install, "pip", lambda *_: pytest.fail("what has not changed was installed again"))
    install.install(places, options(small_wheel, client=["none"]), None)
    assert len(list(calls(places))) == 2


@pytest.mark.slow
def test_running_it_again_updates_in_place_and_asks_with_the_state_of_now(places, small_wheel, capfd):
    stamp = places.python.lstat().st_ino
    places.finished.write_text("of another wheel")
    startup = (places.home / ".bashrc").read_bytes()
    install.install(places, options(small_wheel), lambda _: "")
    assert places.python.lstat().st_ino == stamp
    assert (places.home / ".bashrc").read_bytes() == startup
    assert "install --client app" in list(calls(places))
    assert "app  (found on this computer)" in capfd.readouterr().out


@pytest.mark.processes
def test_a_program_that_does_not_answer_is_an_error(places, small_wheel):
    (places.home / "fail").touch()
    with pytest.raises(InstallError, match="did not answer"):
        install.install(places, options(small_wheel, client=["none"]), None)
    assert not install.is_usable(places), "the next run would take it for unchanged"
    (places.home / "fail").unlink()
    (places.home / "calls").unlink()


@pytest.mark.processes
def test_uninstalling_takes_everything_back_and_leaves_the_library(places):
    library = places.home / ".lorekeeper"
    library.mkdir()
    install.uninstall(places)
    assert not places.data.exists()
    assert not os.path.lexists(places.command)
    assert MARK not in (places.home / ".bashrc").read_text()
    assert list(calls(places)) == ["install --json", "uninstall --client app"]
    assert library.is_dir()
    install.uninstall(places)


@pytest.fixture
def installed(tmp_path: Path) -> Places:
    """Something that looks like an installation."""
    places = Places(LINUX, tmp_path, {"SHELL": "/bin/bash", "PATH": os.defpath})
    places.environment.mkdir(parents=True)
    for file in (places.environment / "pyvenv.cfg", places.finished, places.log):
        file.touch()
    return places


def test_a_folder_of_its_name_that_it_has_not_made_stays(tmp_path, capsys):
    places = Places(WINDOWS, tmp_path, {}, "/PythonSoftwareFoundation/")
    notes = places.data / "environment" / "Swamp.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    install.uninstall(places)
    assert notes.read_text() == "mine"
    assert "is not installed" in capsys.readouterr().out
    with pytest.raises(InstallError, match="is not an environment that install"):
        install.create_environment(places)
    assert notes.read_text() == "mine"


def test_a_linked_folder_is_emptied_and_a_linked_environment_is_refused_in_words(installed, tmp_path, capsys):
    elsewhere = installed.data.rename(tmp_path / "elsewhere")
    installed.data.symlink_to(elsewhere)
    install.uninstall(installed)
    assert (installed.data.is_symlink(), list(elsewhere.iterdir())) == (True, [])
    assert f"The link {installed.data} stays" in capsys.readouterr().out
    (tmp_path / "environment").mkdir()
    installed.environment.symlink_to(tmp_path / "environment")
    installed.finished.touch()
    with pytest.raises(InstallError, match="is a link to another folder"):
        install.uninstall(installed)
    assert (tmp_path / "environment").is_dir()
