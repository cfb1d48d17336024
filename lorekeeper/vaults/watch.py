"""Notices changes of folders: by the operating system where it tells about them, else it cannot say and they are scanned."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from watchfiles import Change, watch

from lorekeeper.system import Closing
from lorekeeper.vaults.scan import IGNORE_FILE

STEP_MILLISECONDS = 0
"""How long a poll sleeps between two looks: not at all, since the system reports a change within a fifth of a millisecond.

With 1, each question in a library with vaults waits 2.7 ms for it instead of 0.5."""

GROUP_MILLISECONDS = 50
"""How long a poll gathers changes at most while one follows another without a pause."""

NEW_FOLDER_SECONDS = 2.0
"""How long a vault with a new folder is scanned: what is put there before it is watched goes unnoticed."""

MAX_WATCHED = 32
"""Vaults that are watched; with more of them, all are scanned."""

FENCE_MILLISECONDS = 300
"""How long the system may take to report a change of our own.

Not shorter: `watchfiles` drops what is reported while it gives up waiting. With 1 and a second try, a busy machine lost 10 of 4,000
changes."""

KNOCK_SECONDS = 0.001
"""Between two marks while a watch begins."""

REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.rclone", "drvfs"})
"""File systems whose changes on other machines the operating system does not tell."""

MOUNTS = Path("/proc/self/mounts")


class Fence:
    """A folder of our own in which each poll makes a file: the system tells of changes in their order, so once it has told of that
    file, it has told of all that was changed before. Otherwise a note that was saved a millisecond ago could go unnoticed.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lorekeeper-fence-")
        self.path = Path(os.path.realpath(self._folder.name))
        self._number = 0

    def make(self) -> str | None:
        """Make the next file, in the place of the one before; its path, None if that is not possible."""
        before, self._number = self.path / str(self._number), self._number + 1
        try:
            (self.path / str(self._number)).touch()
            before.unlink(missing_ok=True)
        except OSError:
            return None
        return str(self.path / str(self._number))

    def has(self, path: str) -> bool:
        """Whether a path is of one of these files."""
        return path.startswith(f"{self.path}{os.sep}")

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


class Watcher(Closing):
    """Tells whether folders may have changed. Blocking, and safe to use from several threads."""

    def __init__(self) -> None:
        self._fence: Fence | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._changes: Generator[set[tuple[Change, str]], None, None] | None = None
        self._watched: list[tuple[Path, tuple[int, int] | None]] | None = None
        self._again_until = 0.0
        self.problem = ""
        """Why folders are scanned instead of being watched, "" if they are watched."""

    def changed(self, folders: Sequence[Path]) -> bool:
        """Whether folders may have changed since the last call; True at the first one, and if they cannot be watched.

        Takes half a millisecond if they are watched.
        """
        with self._lock:
            roots = [(folder, _identity(folder)) for folder in folders]
            if roots != self._watched:
                self._begin(roots)
                return True
            return bool(self.problem) or self._poll()

    def close(self) -> None:
        """Stop watching; the next call begins again."""
        self._stop.set()
        with self._lock:
            self._end()
            self._watched = None

    def _begin(self, roots: list[tuple[Path, tuple[int, int] | None]]) -> None:
        self._end()
        self._watched = roots
        there = [folder for folder, identity in roots if identity]
        self.problem = _obstacle(there)
        if self.problem or not there:
            return
        self._fence = Fence()
        watched = [*there, self._fence.path]
        self._changes = watch(
            *watched,
            watch_filter=_Filter([f"{root}{os.sep}" for root in watched]),
            debounce=GROUP_MILLISECONDS,
            step=STEP_MILLISECONDS,
            rust_timeout=FENCE_MILLISECONDS,
            yield_on_timeout=True,
            raise_interrupt=False,
            stop_event=self._stop,
            ignore_permission_denied=True,
        )
        with _knocking(self._fence):
            begun = self._reported()
        self._noticed(begun)
        if begun is None:
            self._end()

    def _end(self) -> None:
        if self._changes is not None:
            self._changes.close()
            self._changes = None
        if self._fence is not None:
            self._fence.close()
            self._fence = None
        self._stop = threading.Event()

    def _poll(self) -> bool:
        """Whether the system tells of changes until now."""
        return self._noticed(self._told())

    def _noticed(self, changes: set[tuple[Change, str]] | None) -> bool:
        """Whether changes mean that the folders are to be looked through."""
        if any(change == Change.added and Path(path).is_dir() for change, path in changes or ()):
            self._again_until = time.monotonic() + NEW_FOLDER_SECONDS
        return changes is None or bool(changes) or time.monotonic() < self._again_until

    def _told(self) -> set[tuple[Change, str]] | None:
        """All changes that were made before this call; None if that is not known, or if they cannot be watched."""
        if self._changes is None or self._fence is None:
            return set()
        fence, waiting = self._fence.make(), time.monotonic() + FENCE_MILLISECONDS / 1000
        told: set[tuple[Change, str]] = set()
        while True:
            changes = self._reported()
            if changes is None:
                self._end()
                return None
            told |= {(change, path) for change, path in changes if not self._fence.has(path)}
            if any(path == fence for _, path in changes):
                return told
            if fence is None or not changes or time.monotonic() > waiting:  # the folders are looked through
                return None

    def _reported(self) -> set[tuple[Change, str]] | None:
        """What the system reports next, nothing if that takes too long; None if it watches no folders, or no more of them."""
        try:
            changes = next(self._changes or iter(()), None)
        except (OSError, RuntimeError) as error:  # the system watches no more folders, or not these
            changes, self.problem = None, f"changes cannot be watched: {error}"
        if changes is None:
            self.problem = self.problem or "changes cannot be watched: the watcher has ended"
        return changes


@contextmanager
def _knocking(fence: Fence) -> Iterator[None]:
    """Make marks meanwhile: a watch is there only when its first report is asked for, which would wait for a change in vain."""
    heard = threading.Event()

    def knock() -> None:
        while not heard.wait(KNOCK_SECONDS):
            fence.make()

    knocking = threading.Thread(target=knock, daemon=True)
    knocking.start()
    try:
        yield
    finally:
        heard.set()
        knocking.join()


class _Filter:
    """Lets through changes outside hidden folders, in which programs keep what they do all the time."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots

    def __call__(self, _: Change, path: str) -> bool:
        inner = next((path[len(root) :] for root in self._roots if path.startswith(root)), path)
        return inner == IGNORE_FILE or not any(part.startswith(".") for part in Path(inner).parts)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Device and number of a folder, None if it is not there."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _obstacle(folders: Sequence[Path]) -> str:
    """Why folders cannot be watched, "" if they can, as far as is known."""
    if len(folders) > MAX_WATCHED:
        return f"more than {MAX_WATCHED} vaults are not watched"
    mounts = _mounts()
    for folder in folders:
        real = Path(os.path.realpath(folder))
        above = [mount for mount in mounts if real.is_relative_to(mount)]
        if above and mounts[max(above, key=lambda mount: len(mount.parts))] in REMOTE:
            return f"{folder} is on a network drive, which reports no changes"
    return ""


def _mounts() -> dict[Path, str]:
    """The file systems of this machine by their folders, as far as Linux tells them."""
    if sys.platform != "linux":
        return {}
    try:
        lines = MOUNTS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return {Path(parts[1].replace("\\040", " ")): parts[2] for line in lines if len(parts := line.split(" ")) > 2}
