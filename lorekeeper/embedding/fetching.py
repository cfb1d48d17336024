"""Downloading a model in the background, so that no question waits for it.

A process of its own downloads, see `fetch_process`: it can be abandoned at any time, and what it locks is free when it ends.
This process starts it once; whoever asks for the model meanwhile is told that it is on its way. It ends when it is done, or
when the hub has sent nothing for some time, and is not started again before the next session.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from lorekeeper.errors import EmbeddingError

GIVEN_UP = 2
"""Status of a process whose last line says why there is no model."""


class ModelPendingError(EmbeddingError):
    """The model is being downloaded: it may be there at the next attempt."""


class Download:
    """A download in a process of its own, whose lines are passed on to stderr.

    The process writes to a pipe, never to the terminal or the log of this one, which may end before it.

    Args:
        name: of the model, as in ``LOREKEEPER_EMBEDDING_MODEL``.
        graphs: whether an ONNX graph is wanted rather than weights.
    """

    def __init__(self, name: str, *, graphs: bool) -> None:
        self._name = name
        self._said = "it has just begun"
        command = [sys.executable, "-P", "-m", "lorekeeper.embedding.fetch_process", name, *["--graphs"] * graphs]
        self._process = subprocess.Popen(  # noqa: S603  # our own program; the name is one of its arguments
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self._process.stdout is not None
        self._relay = threading.Thread(target=self._pass_on, args=(self._process.stdout,), daemon=True)
        self._relay.start()

    def check(self) -> None:
        """Return once the model is there.

        Raises:
            ModelPendingError: it is being downloaded.
            EmbeddingError: it was given up; the message says why.
        """
        status = self._process.poll()
        if status is None:
            raise ModelPendingError(
                f"the embedding model {self._name} is being downloaded ({self._said}). Ask again in a minute"
            )
        self._relay.join()
        if status == GIVEN_UP:
            raise EmbeddingError(self._said)
        if status:
            raise EmbeddingError(
                f"the embedding model {self._name} could not be downloaded: the process ended with status {status} "
                f"({self._said}). The next start tries again"
            )

    def _pass_on(self, lines: IO[bytes]) -> None:
        for line in lines:
            self._said = line.decode(errors="replace").strip()
            with suppress(OSError, ValueError, AttributeError):  # stderr is closed, or there is none
                os.write(sys.stderr.fileno(), line)  # past its buffer, which may not be locked when the process ends


_downloads: dict[tuple[str, bool], Download] = {}
"""Those that this process has begun, by model and ``graphs``."""


def require_download(name: str, *, graphs: bool) -> None:
    """Return once a model was downloaded; the first call begins it. Never blocks. Raises as `Download.check`."""
    key = name, graphs
    if key not in _downloads:
        _downloads[key] = Download(name, graphs=graphs)
    _downloads[key].check()
