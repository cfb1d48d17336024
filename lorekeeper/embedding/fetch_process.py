"""The process that downloads a model; `fetching` starts it.

    python -m lorekeeper.embedding.fetch_process NAME [--graphs]

Its lines on stdout tell how far it is; the last one, if it fails, why. It goes on when the process that started it has ended,
and gives up when the hub has sent nothing for `SILENT_SECONDS`, whatever the hub's client is waiting for.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from lorekeeper.embedding.fetching import GIVEN_UP
from lorekeeper.system import give_way

SILENT_SECONDS = 20.0
"""How long the hub may send nothing."""

LOOK_SECONDS, TELL_SECONDS = 0.5, 3.0

HUB_SETTINGS = {
    "HF_HUB_DISABLE_XET": "1",  # plain HTTP continues what an earlier process began
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_VERBOSITY": "error",  # its warnings tell of every attempt
}


def main(name: str, *, graphs: bool) -> int:
    """Download a model into the hub cache; 0 if it is there now, `GIVEN_UP` if not."""
    os.environ.update(HUB_SETTINGS)
    give_way()
    from lorekeeper.embedding.model import find_model, hub_folder, repository_of
    from lorekeeper.errors import EmbeddingError
    from lorekeeper.printable import one_line

    try:
        threading.Thread(target=_watch, args=(name, hub_folder(repository_of(name))), daemon=True).start()
        find_model(name, offline=False, graphs=graphs)
    except EmbeddingError as error:
        _tell(one_line(str(error)))
        return GIVEN_UP
    _tell(f"The embedding model {name} is here; searches by meaning use it from now on.")
    return 0


def _watch(name: str, folder: Path | None) -> None:
    """Tell how far the download is, and end the process when nothing has come for a while."""
    size, since, told = _size(folder), time.monotonic(), time.monotonic()
    while time.monotonic() - since < SILENT_SECONDS:
        time.sleep(LOOK_SECONDS)
        now = _size(folder)
        if now != size:
            size, since = now, time.monotonic()
        if size and time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            _tell(f"{size / 1e6:,.0f} MB are here")
    _tell(
        f"the embedding model {name} could not be downloaded: the model hub has sent nothing for {SILENT_SECONDS:.0f} s. "
        "Until the next start, questions are answered by keywords, names and filters"
    )
    os._exit(GIVEN_UP)


def _size(folder: Path | None) -> int:
    """Bytes of the files in a folder of the hub cache."""
    size = 0
    if folder is None:
        return size
    for file in folder.glob("blobs/*"):
        with suppress(OSError):
            size += file.stat().st_size
    return size


def _tell(line: str) -> None:
    with suppress(OSError):  # nobody listens any more
        os.write(1, f"{line}\n".encode(errors="replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], graphs="--graphs" in sys.argv[2:]))
