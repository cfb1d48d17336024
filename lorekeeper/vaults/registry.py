"""Which folders of notes a library has: a small file beside it, and the setting LOREKEEPER_VAULTS."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lorekeeper.errors import ImportFileError, NotFoundError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.people.rows import Rows
from lorekeeper.printable import shown

REMEDY = "delete it, and add the vaults again with 'lorekeeper vault add'"

MAX_KEY = 60
"""Longest key of a vault, in characters."""

_KEY = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_KEY - 1}}}")


@dataclass(frozen=True)
class Vault:
    """A folder of notes.

    Attributes:
        key: of its document in the library.
        name: title of that document.
        path: of the folder.
        exclude: patterns of what is not read, as in .gitignore.
        listed: whether it is known from the setting only.
    """

    key: str
    name: str
    path: Path
    exclude: tuple[str, ...] = ()
    listed: bool = False


class Registry:
    """The vaults of a library. All methods are blocking.

    Args:
        file: remembers the vaults, and the keys of those that the setting lists.
        listed: the folders of the setting.
        library: path of the library, which must not be in a vault.
    """

    def __init__(self, file: Path, listed: Sequence[Path], library: Path) -> None:
        self.file = file
        self.listed = list(dict.fromkeys(listed))
        self.refused: dict[Path, ImportFileError] = {}
        """What the setting names and cannot be a vault, and why."""
        self._library = library
        self._rows = Rows(file, "vaults", _vault, REMEDY)

    @property
    def is_empty(self) -> bool:
        """Whether there is surely no vault; takes microseconds."""
        return not self.listed and not self.file.exists()

    def vaults(self) -> list[Vault]:
        """The vaults to keep in step: those that were added, and those of the setting that have a key.

        Raises:
            CacheError: the file cannot be read.
        """
        return [vault for vault in self._rows.all() if not vault.listed or vault.path in self.listed]

    def former(self) -> list[Vault]:
        """Vaults that the setting listed once: their notes stay as they are until they are removed."""
        return [vault for vault in self._rows.all() if vault.listed and vault.path not in self.listed]

    def vault(self, key: str) -> Vault:
        """The vault of that key; NotFoundError if there is none."""
        vaults = {vault.key: vault for vault in self._rows.all()}
        if key not in vaults:
            known = unknown_name(key, list(vaults), "vault") if vaults else "there is no vault yet"
            raise NotFoundError(f"{known}; 'lorekeeper vault list' shows all")
        return vaults[key]

    def take_in_listed(self, books: Collection[str]) -> list[ImportFileError]:
        """Give keys to new folders of the setting; they keep them. Returns what is wrong with others.

        Args:
            books: document keys that are taken.
        """
        problems = []
        for path in self.new():
            try:
                self._check(path)
                with self._rows.edited() as vaults:
                    key = free_key(path.name, {*books, *(vault.key for vault in vaults)})
                    vaults.append(Vault(key, path.name or key, path, listed=True))
            except ImportFileError as error:
                self.refused[path] = error
                problems.append(error)
        return problems

    def new(self) -> list[Path]:
        """Folders of the setting that have no key yet, and were not refused."""
        known = {vault.path for vault in self._rows.all()}
        return [path for path in self.listed if path not in known and path not in self.refused and path.exists()]

    def absent(self) -> list[Path]:
        """Folders of the setting that have no key yet, as they are not there."""
        known = {vault.path for vault in self._rows.all()}
        return [path for path in self.listed if path not in known and not path.exists()]

    def add(
        self,
        path: Path,
        books: Collection[str],
        key: str | None = None,
        name: str | None = None,
        exclude: Sequence[str] = (),
    ) -> Vault:
        """Add a vault, or change name and patterns of one.

        Args:
            path: the folder.
            books: document keys that are taken.
            key: by default made from the folder's name.
            name: by default the folder's name.
            exclude: patterns as in .gitignore.

        Raises:
            ImportFileError: the folder cannot be a vault, or the key is wrong or taken.
            CacheError: the file cannot be read or written.
        """
        path = Path(os.path.abspath(path.expanduser()))
        self._check(path)
        with self._rows.edited() as vaults:
            present = next((vault for vault in vaults if vault.path == path), None)
            if present:
                vaults.remove(present)
                vaults.append(_changed(present, key, name, exclude))
            else:
                taken = {*books, *(vault.key for vault in vaults)}
                chosen = free_key(path.name, taken - set(books)) if key is None else key
                _check_key(path, chosen, taken)
                vaults.append(Vault(chosen, name or path.name or chosen, path, tuple(exclude)))
            return vaults[-1]

    def move(self, key: str, path: Path) -> None:
        """Let a vault have another folder."""
        with self._rows.edited() as vaults:
            vaults[:] = [replace(vault, path=path) if vault.key == key else vault for vault in vaults]

    def remove(self, key: str) -> None:
        """Forget a vault."""
        with self._rows.edited() as vaults:
            vaults[:] = [vault for vault in vaults if vault.key != key]

    def _check(self, path: Path) -> None:
        """ImportFileError if a folder cannot be a vault."""
        where, real = shown(str(path)), Path(os.path.realpath(path))
        if path.exists() and not path.is_dir():
            raise ImportFileError(where, "it is a file; a vault is a folder of notes")
        if not path.is_dir():
            raise ImportFileError(where, "there is no such folder")
        library = Path(os.path.realpath(self._library))
        if library.is_relative_to(real) or real.is_relative_to(library):
            raise ImportFileError(where, "it holds the library itself, and nothing is ever written into a vault")
        for vault in self._rows.all():
            other = Path(os.path.realpath(vault.path))
            if real != other and (real.is_relative_to(other) or other.is_relative_to(real)):
                relation = "inside" if real.is_relative_to(other) else "around"
                raise ImportFileError(where, f"it is {relation} the vault {vault.key}, {shown(str(vault.path))}")
            if real == other and path != vault.path:
                raise ImportFileError(where, f"it is the vault {vault.key}, {shown(str(vault.path))}, by another name")


def free_key(name: str, taken: Collection[str]) -> str:
    """A key for a folder of that name: ASCII, at most `MAX_KEY` characters, and none of those that are taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    key = fold(plain).replace(" ", "-")[:MAX_KEY].strip("-")
    key = key if _KEY.fullmatch(key) else "vault"
    numbered = (f"{key[: MAX_KEY - 4]}-{number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in (key, *numbered) if candidate not in taken)


def _changed(vault: Vault, key: str | None, name: str | None, exclude: Sequence[str]) -> Vault:
    """A vault that is added again; ImportFileError if that were to change its key."""
    if key not in (None, vault.key):
        raise ImportFileError(shown(str(vault.path)), f"it is the vault {vault.key} already; remove that first")
    return replace(vault, name=name or vault.name, exclude=tuple(exclude), listed=False)


def _check_key(path: Path, key: str, taken: Collection[str]) -> None:
    where = shown(str(path))
    if not _KEY.fullmatch(key):
        raise ImportFileError(where, f"a key has at most {MAX_KEY} letters, digits, dots and hyphens of ASCII")
    if key in taken:
        raise ImportFileError(where, f"{shown(key)} is the key of a book or vault in the library; choose another --key")


def _vault(row: Mapping[str, object]) -> Vault:
    key, name, path, exclude = (row[each] for each in ("key", "name", "path", "exclude"))
    if not isinstance(exclude, list):
        raise ValueError("one of its rows is none")
    return Vault(str(key), str(name), Path(str(path)), tuple(map(str, exclude)), bool(row["listed"]))
