"""The program of the desktop bundle, in which it is called ``server.py``: serves with what the app's settings were set to.

    python server.py [VAULT ...]

Apps pass a setting that was left empty as it stands in the manifest, as ``${user_config.NAME}``; it counts as not set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from lorekeeper.cli.main import main

PREFIX = "LOREKEEPER_"

UNSET = "${user_config."


def serve(vaults: Sequence[str]) -> int:
    """Serve on stdin and stdout until the end of input; returns the exit status."""
    for name in [name for name, value in os.environ.items() if name.startswith(PREFIX) and UNSET in value]:
        del os.environ[name]
    folders = [vault for vault in vaults if vault and UNSET not in vault]
    if folders:
        os.environ[f"{PREFIX}VAULTS"] = os.pathsep.join(folders)
    return main(["serve"])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
