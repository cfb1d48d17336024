"""Peak resident memory and time of an import into a new library.

python -m benchmarks.import_memory [--json] FOLDER...
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import Result, report
from lorekeeper.settings import PREFIX

LIMIT = 450
"""Most megabytes that an import of 9,000 entities may take."""


def measure(paths: list[Path]) -> Result:
    """Import with nothing known before: every text is embedded."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, f"{PREFIX}MILVUS_DB_PATH": f"{folder}/milvus.db", f"{PREFIX}OFFLINE": "1"}
        began = time.monotonic()
        command = [sys.executable, "-m", "lorekeeper", "import", *map(str, paths)]
        process = os.posix_spawn(sys.executable, command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
        _, status, used = os.wait4(process, 0)
        seconds = time.monotonic() - began
    megabytes = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    claims = [
        (f"at most {LIMIT} MB", f"{megabytes:.0f} MB", megabytes <= LIMIT),
        ("the import succeeds", f"exit status {os.waitstatus_to_exitcode(status)}", status == 0),
    ]
    return Result("Memory of an import", ["peak", "time"], [[f"{megabytes:.0f} MB", f"{seconds:.0f} s"]], claims)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Peak resident memory and time of an import into a new library.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="FOLDER", help="what is imported")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    sys.exit(report(measure(arguments.paths), as_json=arguments.json))
