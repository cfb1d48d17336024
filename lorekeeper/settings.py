"""Settings from the environment and a ``.env`` file, read once, checked, and each with its origin."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from lorekeeper.errors import ConfigError

PREFIX = "LOREKEEPER_"

HOME = Path("~/.lorekeeper")


def _absolute(path: Path) -> Path:
    try:
        return Path(os.path.abspath(path.expanduser()))
    except RuntimeError as error:
        raise ValueError(f"{error}; write the whole path") from error


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("an address like https://api.open5e.com is needed")
    return re.sub(r"(/v[12])?/*$", "", text)


WebAddress = Annotated[str, AfterValidator(_address)]

LibraryPath = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseModel):
    """Every setting; the variable of ``x`` is ``LOREKEEPER_X``. Empty variables count as not set."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    cache_backend: Literal["milvus", "sqlite"] = Field("milvus", description="where entities are kept")
    milvus_db_path: LibraryPath = Field(HOME / "milvus.db", description="folder of the embedded library")
    milvus_uri: str | None = Field(None, description="a Milvus server or cluster instead of the embedded library")
    milvus_token: str | None = Field(None, description="its token, or user:password")
    sqlite_db_path: LibraryPath = Field(HOME / "cache.db", description="file of the library in SQLite")
    embedding_model: str = Field("all-MiniLM-L6-v2", min_length=1, description="name or folder of the embedding model")
    embedding_provider: Literal["auto", "onnx", "sentence-transformers", "http"] = Field(
        "auto", description="what runs it"
    )
    embedding_url: str | None = Field(None, description="base URL of an OpenAI-compatible embedding server")
    embedding_api_key: str | None = Field(None, description="its key")
    open5e_base_url: WebAddress = Field("https://api.open5e.com", description="Open5e server to sync with")
    cache_ttl_days: float = Field(30.0, gt=0, le=36500, description="days after which what was synced counts as stale")
    http_token: str | None = Field(None, description="bearer token that clients of 'serve --transport http' must send")
    offline: bool = Field(False, description="never touch the network")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "WARNING", description="how much is logged, on stderr"
    )

    @property
    def library_path(self) -> Path:
        """Where the library in force is; with a Milvus server, where its companion files are."""
        return self.sqlite_db_path if self.cache_backend == "sqlite" else self.milvus_db_path


OTHERS = frozenset({"corpus"})
"""Variables with our prefix that are no settings: LOREKEEPER_CORPUS is read by the tests."""

SECRETS = frozenset({"milvus_token", "embedding_api_key", "http_token"})


def load_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """The settings in force, and where each came from ("environment", the file, "default").

    Args:
        environ: the environment; the process's own by default.
        env_file: a file of NAME=value lines; ``.env`` in the current folder by default. The environment wins.

    Raises:
        ConfigError: an unknown variable or value; the message lists the allowed ones.
    """
    file = env_file or Path(".env")
    sources = [(os.environ if environ is None else environ, "environment"), (_read_file(file), str(file))]
    values: dict[str, str] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for source, origin in reversed(sources):
        for variable, value in source.items():
            name = variable.removeprefix(PREFIX).lower()
            if variable.startswith(PREFIX) and value and value.strip():
                values[name] = value.strip()
                if name in origins:
                    origins[name] = origin
    _refuse_unknown(values)
    if values.get("log_level"):
        values["log_level"] = values["log_level"].upper()
    try:
        settings = Settings.model_validate({k: v for k, v in values.items() if k not in OTHERS})
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(e, values) for e in error.errors())) from error
    if settings.embedding_provider == "http" and not settings.embedding_url:
        raise ConfigError(
            f"{PREFIX}EMBEDDING_PROVIDER=http needs {PREFIX}EMBEDDING_URL, as in http://127.0.0.1:8080/v1"
        )
    return settings, origins


def _read_file(file: Path) -> dict[str, str]:
    try:
        return {k: v for k, v in dotenv_values(file).items() if v} if file.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def _refuse_unknown(values: Mapping[str, str]) -> None:
    unknown = sorted(values.keys() - Settings.model_fields.keys() - OTHERS)
    if unknown:
        known = ", ".join(PREFIX + name.upper() for name in Settings.model_fields)
        raise ConfigError(f"unknown setting {PREFIX}{unknown[0].upper()}; known: {known}")


def _explain(error: object, values: Mapping[str, str]) -> str:
    assert isinstance(error, dict)
    name = str(error["loc"][0])
    value = "***" if name in SECRETS else repr(values.get(name))
    allowed = "; allowed: 1, true, yes, on, 0, false, no, off" if error["type"].startswith("bool") else ""
    return f"{PREFIX}{name.upper()} is {value}: {error['msg'].removeprefix('Value error, ')}{allowed}"
