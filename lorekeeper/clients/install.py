"""Installing into a client and uninstalling: what would change, and the change, with a copy of the file beside it."""

from __future__ import annotations

import codecs
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from lorekeeper.clients import json_file, yaml_file
from lorekeeper.clients.server import Server
from lorekeeper.clients.table import Client
from lorekeeper.errors import ClientFileError
from lorekeeper.printable import shown
from lorekeeper.regular_files import read_regular

COPY_SUFFIX = ".before-lorekeeper"
"""What the copy of a client's file is called, after the file's own name."""


BY_HAND = "Remove the entry 'lorekeeper' from it by hand"
"""What remains to be done where uninstalling is refused."""

LARGEST_BYTES = 1 << 26
"""Largest file of a client that is read: some keep their whole history in it."""


class Editor(Protocol):
    """What edits the text of a file in one format; `json_file` describes the functions."""

    def find(self, text: str, path: Sequence[str]) -> object | None:
        """What is at the path, or None."""

    def put(self, text: str, path: Sequence[str], entry: Mapping[str, object]) -> str:
        """The text with the entry at the path."""

    def take(self, text: str, path: Sequence[str]) -> str:
        """The text without what is at the path."""


EDITORS: Mapping[str, Editor] = {"json": json_file, "yaml": yaml_file}
"""By the format of the client's file."""


@dataclass(frozen=True)
class Change:
    """What installing or uninstalling changes in a client's file.

    Attributes:
        client: whose file it is.
        file: its path, with links resolved.
        before: its content; None if it does not exist.
        after: its content afterwards; None if it is deleted, with its folder if that has nothing else.
        copy: what is kept in `copy_file`; None to leave what is there.
        restores: whether the file becomes what it was before LoreKeeper was installed; `copy_file` is deleted then.
        remedy: what to do if it cannot be written; "" for what an installation needs.
    """

    client: Client
    file: Path
    before: bytes | None
    after: bytes | None
    copy: bytes | None = None
    restores: bool = False
    remedy: str = ""

    @property
    def copy_file(self) -> Path:
        """The copy beside the file."""
        return _copy_file(self.file)

    def apply(self) -> None:
        """Write it. Blocking.

        Raises:
            ClientFileError: the file cannot be written, or something else has written it since it was read.
        """
        if self.before == self.after:
            return
        if _content(self.client, self.file, self.remedy) != self.before:
            raise _refused(self.client, self.file, "something else has changed it meanwhile; try again", self.remedy)
        try:
            if self.before is not None and not self.file.stat().st_mode & stat.S_IWUSR:
                raise _refused(self.client, self.file, "it is read-only; make it writable first", self.remedy)
            self._write()
        except OSError as error:
            raise _refused(
                self.client, self.file, f"it cannot be written: {error.strerror or error}", self.remedy
            ) from error

    def _write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.copy is not None:
            _write(self.copy_file, self.copy, like=self.file)
        if self.after is None:
            self.file.unlink()
        else:
            _write(self.file, self.after, like=self.file)
        if self.restores:
            self.copy_file.unlink(missing_ok=True)
        if self.after is None:
            with contextlib.suppress(OSError):  # it has other files
                self.file.parent.rmdir()


def installation(client: Client, file: Path, server: Server) -> Change:
    """What installing changes: the server's entry, and nothing else. Reads files and writes none.

    Raises:
        ClientFileError: the file cannot be read, or not be edited safely; the message says why.
    """
    file = Path(os.path.realpath(file))
    before = _content(client, file)
    with _explained(client, file):
        text, mark = _decoded(before or b"")
        present = EDITORS[client.format].find(text, client.path) is not None
        after = mark + EDITORS[client.format].put(text, client.path, server.entry(client)).encode()
        again = present and (_copy_file(file).exists() or _is_own(client, text))
    return Change(client, file, before, after, copy=None if again else before)


def removal(client: Client, file: Path) -> Change:
    """What uninstalling changes: the file is as it was, or loses just the entry if something else has changed meanwhile.

    Raises:
        ClientFileError: as for `installation`.
    """
    file = Path(os.path.realpath(file))
    before = _content(client, file, BY_HAND)
    change = partial(Change, client, file, before, remedy=BY_HAND)
    if before is None:
        return change(None)
    with _explained(client, file, BY_HAND):
        text, mark = _decoded(before)
        rest = EDITORS[client.format].take(text, client.path)
        if rest == text:
            return change(before)
        if _copy_file(file).exists():
            original = _original(client, file, before)
            if original is not None:
                return change(original, restores=True)
        elif _is_own(client, text):
            return change(None, restores=True)
    return change(mark + rest.encode())


def is_installed(client: Client, file: Path) -> bool:
    """Whether a client's file has our entry; False if it cannot be read."""
    try:
        text, _ = _decoded(_content(client, file) or b"")
        return EDITORS[client.format].find(text, client.path) is not None
    except ClientFileError:
        return False


def new_file(client: Client, server: Server) -> str:
    """The text of a client's file that has our server and nothing else."""
    return EDITORS[client.format].put("", client.path, server.entry(client))


def _is_own(client: Client, text: str) -> bool:
    """Whether a text holds nothing but what an installation without a file writes."""
    return _rest(client, EDITORS[client.format].put("", client.path, {})) == _rest(client, text)


def _original(client: Client, file: Path, content: bytes) -> bytes | None:
    """The copy of a file, if the content differs from it by our entry only; None also if it cannot be read."""
    with contextlib.suppress(OSError, ClientFileError):
        original = read_regular(_copy_file(file), LARGEST_BYTES)
        return original if _is_without_entry(client, original, content) else None
    return None


def _is_without_entry(client: Client, original: bytes, content: bytes) -> bool:
    """Whether the original differs from the content by our entry only, which it does not have."""
    (text, mark), (new, new_mark) = _decoded(original), _decoded(content)
    if mark != new_mark or _rest(client, text) != text:
        return False
    return _rest(client, EDITORS[client.format].put(text, client.path, {})) == _rest(client, new)


def _rest(client: Client, text: str) -> str:
    return EDITORS[client.format].take(text, client.path)


def _copy_file(file: Path) -> Path:
    return file.with_name(file.name + COPY_SUFFIX)


def _content(client: Client, file: Path, remedy: str = "") -> bytes | None:
    try:
        return read_regular(file, LARGEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(client, file, f"it cannot be read: {error.strerror or error}", remedy) from error


def _decoded(content: bytes) -> tuple[str, bytes]:
    """The text of a file, and the byte order mark before it, which may be empty."""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return content[len(mark) :].decode(), mark
    except UnicodeDecodeError as error:
        raise ClientFileError(f"it is not text in UTF-8 (byte {error.start})") from error


@contextlib.contextmanager
def _explained(client: Client, file: Path, remedy: str = "") -> Iterator[None]:
    """Adds to an error which client's file it is about, and what to do."""
    try:
        yield
    except ClientFileError as error:
        raise _refused(client, file, str(error), remedy) from error


def _refused(client: Client, file: Path, reason: str, remedy: str = "") -> ClientFileError:
    remedy = remedy or f"'lorekeeper install --client {client.name} --print' shows what to add by hand"
    return ClientFileError(
        f"{shown(str(file))}, the configuration of {client.title}, was left as it is: {reason}. {remedy}"
    )


def _write(file: Path, content: bytes, like: Path) -> None:
    """Write a file in one step, with the permissions of another one; without one, for this user only."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if like.exists():
            shutil.copymode(like, name)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
