"""How the vaults of a library stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lorekeeper.vaults.registry import Vault

if TYPE_CHECKING:
    from lorekeeper.vaults.state import Summary

MISSING, FORMER = "folder missing", "no longer in LOREKEEPER_VAULTS"
"""How a vault stands that is not kept in step."""

FOREIGN = "folder not known"
"""State of a vault of which the library has the notes only: they came with a backup, or from another library."""


@dataclass(frozen=True)
class Status:
    """A vault, and how it stands.

    Attributes:
        vault: the vault.
        summary: what was known when it was read last.
        state: "in step", "not read yet", "folder missing", "no longer in LOREKEEPER_VAULTS" or `FOREIGN`.
    """

    vault: Vault
    summary: Summary
    state: str

    @property
    def folder(self) -> str:
        """The folder of the vault, "" if it is not known."""
        return "" if self.state == FOREIGN else str(self.vault.path)

    def as_dict(self) -> dict[str, object]:
        """``{"key", "name", "path", "exclude", "from", "state", "notes", "synced", "problems"}``."""
        return {
            "key": self.vault.key,
            "name": self.vault.name,
            "path": self.folder,
            "exclude": list(self.vault.exclude),
            "from": "LOREKEEPER_VAULTS" if self.vault.listed else "vault add",
            "state": self.state,
            "notes": self.summary.notes,
            "synced": self.summary.synced,
            "problems": self.summary.problems,
        }


def state_of(vault: Vault, summary: Summary) -> str:
    """How a vault stands that is to be kept in step."""
    if not vault.path.is_dir():
        return MISSING
    return "not read yet" if summary.synced is None else "in step"
