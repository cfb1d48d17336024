"""Changes of the embedding model: the settings and the library change together.

The setting is changed first, then everything is embedded again, type by type, each replaced whole. If that is interrupted, types
that still have vectors of the other model are searched by keywords, which notes say; the same command continues, and the one for
the other model undoes it. Vectors that were computed stay in the cache of vectors, so that neither embeds a text twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.composition import load_provider
from lorekeeper.embedding import multilingual
from lorekeeper.errors import ConfigError, EmbeddingError
from lorekeeper.library import Library
from lorekeeper.settings import Settings, own_file, write_setting

DEFAULT, MULTILINGUAL = "default", "multilingual"

Step = Callable[[str, int, int], None]
"""Called with a label, and the numbers by which its total and what is done of it grow."""

BUILDING, EMBEDDING = "Building the model", "Embedding"


@dataclass(frozen=True)
class ModelReport:
    """What a change of the model did.

    Attributes:
        model: fingerprint of the model that the library has now.
        embedded: entries that were embedded again; 0 if the library had its vectors already.
        folder: of the multilingual model on this machine, None if it is not there.
    """

    model: str
    embedded: int
    folder: Path | None


def multilingual_folder(settings: Settings) -> Path:
    """Where the multilingual model is, or will be: beside the library."""
    return settings.library_path.with_name(multilingual.NAME)


def require_switchable(settings: Settings, origins: Mapping[str, str]) -> None:
    """ConfigError if other settings decide which model runs."""
    if origins["embedding_model"] == "environment":
        raise ConfigError(
            "LOREKEEPER_EMBEDDING_MODEL is set in the environment, which overrides your own settings; unset it first"
        )
    if settings.embedding_provider not in ("auto", "onnx"):
        raise ConfigError(
            f"LOREKEEPER_EMBEDDING_PROVIDER is {settings.embedding_provider}, and both models run on ONNX Runtime; set it to auto "
            "first"
        )


async def change_model(settings: Settings, wanted: str, step: Step, wheel: Path | None = None) -> ModelReport:
    """Change the model of the settings and of the library.

    Args:
        settings: the current ones; see `require_switchable`.
        wanted: `DEFAULT` or `MULTILINGUAL`.
        step: is told the progress.
        wheel: of the data package, to build the multilingual model from instead of the installed package.

    Raises:
        EmbeddingError: the model cannot be built or loaded; nothing was changed.
        ConfigError: the setting cannot be written.
        CacheError: the library cannot be written.
    """
    folder = multilingual_folder(settings)
    value = str(folder) if wanted == MULTILINGUAL else None
    if wanted == MULTILINGUAL and not multilingual.is_built(folder):
        step(BUILDING, multilingual.DATA_BYTES, 0)
        await asyncio.to_thread(multilingual.build, folder, wheel, lambda done: step(BUILDING, 0, done))
    default = Settings.model_fields["embedding_model"].default
    changed = settings.model_copy(update={"embedding_model": value or default})
    provider = await asyncio.to_thread(load_provider, changed)  # before anything is changed
    write_setting(own_file(settings.env_file), "embedding_model", value)
    async with Library.from_settings(changed) as library:
        embedded = 0 if await _is_made_with_it(library) else await _reindexed(library, step)
    return ModelReport(provider.fingerprint, embedded, folder if multilingual.is_built(folder) else None)


async def _is_made_with_it(library: Library) -> bool:
    """Whether all vectors of a library are of its model."""
    try:
        await library.check_model()
    except EmbeddingError:
        return False
    return True


async def _reindexed(library: Library, step: Step) -> int:
    step(EMBEDDING, sum((await library.statistics()).counts.values()), 0)
    return await library.reindex(lambda done: step(EMBEDDING, 0, done))
