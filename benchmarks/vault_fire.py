"""Edits of a vault under fire: a program saves, renames and deletes notes while servers answer questions.

python -m benchmarks.vault_fire [--edits 2000] [--seconds 60] [--servers 4] [--seed 13]

Prints what came of it as JSON; fails if the library does not equal the folder afterwards, if an answer was an error, or if a
file of the vault is not as the program left it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys


def main() -> int:
    """Run the program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    values = [str(value) for value in (options.edits, options.seconds, options.servers, options.seed)]
    return subprocess.run([sys.executable, "-m", "tests.support.vault_fire", *values], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
