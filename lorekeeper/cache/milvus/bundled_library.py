"""A new embedded library as a copy of a ready one: a folder of Milvus Lite and the files beside it, packed in one archive.

They are compressed as one, by LZMA: the collections and the companion have the same vectors, of which only one copy takes space.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from lorekeeper.system import keep_private

NAME = "library"
"""Name of the folder in an archive; the names of the files beside it begin with it."""

COLLECTIONS = "collections"
"""Folder of Milvus Lite that has one of each collection."""

LOGS = "wal"
"""Folder of a collection that has the rows which are not in its other files yet."""

INDEXES = "indexes"
"""Folders of what Milvus Lite builds of the other files when a program loads a collection: LoreKeeper never reads them."""

REBUILT = {INDEXES, "LOCK"}
"""Folders and files that Milvus Lite makes again when it opens a library."""


PACKED = "library.zip.xz"
"""The member of an archive that has the files."""

WINDOW_BYTES = 2**25
"""How far apart LZMA finds the same bytes: more than all files together."""


def pack(archive: zipfile.ZipFile, path: Path) -> None:
    """Add the library at a path, which no process has open, to an archive."""
    import lzma

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as files:
        for file in sorted(path.parent.rglob("*")):
            part, *rest = file.relative_to(path.parent).parts
            if (
                part.startswith(path.name)
                and not part.endswith(".lock")
                and file.is_file()
                and REBUILT.isdisjoint(rest)
            ):
                files.write(file, str(Path(NAME + part.removeprefix(path.name), *rest)))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": WINDOW_BYTES}]
    archive.writestr(PACKED, lzma.compress(content.getvalue(), filters=filters), zipfile.ZIP_STORED)


def unpack(archive: zipfile.ZipFile, path: Path) -> None:
    """Make the library at a path, where there is none, from an archive of `pack`.

    A process that opens the library for the first time meanwhile is not disturbed: what it has made stays.

    Raises:
        OSError: it cannot be written, or another process has just made it; nothing was changed.
        BadZipFile: it is damaged, or this Python cannot read it.
    """
    files = _files(archive)
    folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.", dir=path.parent))
    try:
        files.extractall(folder, [name for name in files.namelist() if name.startswith(NAME)])
        for file in folder.rglob("*"):
            _settle(file)
        (folder / NAME).replace(path)  # refused where a folder has content
        for file in folder.iterdir():
            with suppress(OSError):  # without it, it is made from what is in the folder
                os.link(file, path.with_name(path.name + file.name.removeprefix(NAME)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _files(archive: zipfile.ZipFile) -> zipfile.ZipFile:
    try:
        import lzma
    except ImportError as error:  # some builds of Python lack it
        raise zipfile.BadZipFile("this Python cannot decompress it: it was built without lzma") from error
    try:
        return zipfile.ZipFile(io.BytesIO(lzma.decompress(archive.read(PACKED))))
    except lzma.LZMAError as error:
        raise zipfile.BadZipFile(f"it is damaged: {error}") from error


def _settle(file: Path) -> None:
    """Keep a file or folder private, and have it on the disk before it gets its name."""
    keep_private(file)
    if file.is_file():
        with file.open("r+b") as opened:
            os.fsync(opened.fileno())
