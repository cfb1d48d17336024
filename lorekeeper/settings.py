"""Settings from the environment and the user's own file, read once, checked, and each with its origin.

Nothing is read from the current folder, which cannot be trusted: editors start servers in any folder that is open.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values, set_key, unset_key
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.audience import DM, GAME_MASTER, ROLES, Viewer
from lorekeeper.editions import parse_edition
from lorekeeper.errors import ConfigError, FilterError
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.regular_files import open_regular, read_regular
from lorekeeper.system import private_file, private_folder

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKENDS = ("milvus", "sqlite")
"""Our cache backends, which `cache.places` opens; the setting NAME_db_path is the path of a library of each."""

BACKEND_GROUP = "lorekeeper.cache_backends"
"""Entry points of other packages' backends: each a function of `Settings` and `EmbeddingService` that gives a `CacheProtocol`."""

PROVIDERS = {
    "auto": "lorekeeper.embedding.auto",
    "onnx": "lorekeeper.embedding.onnx",
    "sentence-transformers": "lorekeeper.embedding.sentence_transformers",
    "http": "lorekeeper.embedding.http",
}
"""The module of each embedding provider; its ``load(settings)`` gives an `EmbeddingProvider`, or raises EmbeddingError."""

PREFIX = "LOREKEEPER_"

ENV_FILE = PREFIX + "ENV_FILE"

HOME = Path("~/.lorekeeper")

OWN_FILE = HOME / ".env"
"""The user's own settings, unless LOREKEEPER_ENV_FILE names another file."""

FOLDER_FILE = Path(".env")
"""A file that may be in the current folder; settings are never read from it."""

LARGEST_BYTES = 1 << 20
"""Largest file of settings that is read."""

FOLDER_FILE_BYTES = 64 * 1024
"""How much of that file is searched for lines intended for LoreKeeper."""


_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\]")

_RATE = re.compile(r"0|[1-9][0-9]{0,8} ?/ ?(second|minute|hour|day)")


def _absolute(path: Path) -> Path:
    try:
        return Path(os.path.abspath(path.expanduser()))
    except RuntimeError as error:
        raise ValueError(f"{error}; write the full path") from error


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:  # its message repeats the address, password and all
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("it must be an address like https://api.open5e.com")
    return re.sub(r"(/v[12])?/*$", "", text)


def _issuer(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    secure = parts.scheme == "https" or (parts.scheme == "http" and is_local(text))
    if not secure or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it must be an address like https://login.example.com, as its tokens name it")
    return text


def _networks(value: object) -> object:
    """Addresses and networks in one text, separated by commas, each as `ipaddress` writes networks."""
    import ipaddress

    if not isinstance(value, str):
        return value
    networks = [ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip()]
    if any(network.prefixlen == 0 for network in networks):
        raise ValueError("that is every address there is; name those of your proxies")
    return tuple(map(str, networks))


def _hosts(value: object) -> object:
    """Names of this server in one text, separated by commas, without ports."""
    if not isinstance(value, str):
        return value
    names = tuple(part.strip().lower() for part in value.split(",") if part.strip())
    if any(not _HOST.fullmatch(name) for name in names):
        raise ValueError("it must be names like lore.example.com, without a scheme, a port or a path")
    return names


def _one_of(names: Iterable[str]) -> AfterValidator:
    allowed = ", ".join(names)

    def check(text: str) -> str:
        if text not in names:
            raise ValueError(f"allowed: {allowed}")
        return text

    return AfterValidator(check)


def installed_backends() -> dict[str, EntryPoint]:
    """The cache backends that other installed packages offer, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=BACKEND_GROUP) if point.name not in BACKENDS}


def _backend(text: str) -> str:
    """One of `BACKENDS`, or of other packages, which are looked for only then: that takes some milliseconds."""
    if text not in BACKENDS and text not in (others := installed_backends()):
        raise ValueError(f"allowed: {', '.join([*BACKENDS, *others])}")
    return text


def _edition(text: str) -> str:
    try:
        return ",".join(parse_edition(text))
    except FilterError as error:
        raise ValueError(str(error)) from error


def _rate(text: str) -> str:
    if not _RATE.fullmatch(text):
        raise ValueError("it must be a rate like 100/minute (second, minute, hour, day), or 0")
    return text


def _separated(value: object) -> object:
    """Paths in one text, separated as PATH is."""
    return tuple(filter(str.strip, value.split(os.pathsep))) if isinstance(value, str) else value


WebAddress = Annotated[str, AfterValidator(_address)]

LibraryPath = Annotated[Path, AfterValidator(_absolute)]

LibraryPaths = Annotated[tuple[LibraryPath, ...], BeforeValidator(_separated)]


Hosts = Annotated[tuple[str, ...], BeforeValidator(_hosts)]

Networks = Annotated[tuple[str, ...], BeforeValidator(_networks)]


class Settings(BaseModel):
    """Every setting; the variable of ``x`` is ``LOREKEEPER_X``. Empty variables count as not set, except `LITERAL` ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    cache_backend: Annotated[str, AfterValidator(_backend)] = Field(
        default="milvus", description="where entries are stored"
    )
    milvus_db_path: LibraryPath = Field(default=HOME / "milvus.db", description="folder of the embedded library")
    milvus_uri: str | None = Field(
        default=None, description="a Milvus server or cluster instead of the embedded library"
    )
    milvus_token: str | None = Field(default=None, description="its token, or user:password")
    milvus_index: Literal["FLAT", "IVF_FLAT", "HNSW"] = Field(
        default="FLAT", description="index of the collections that are made on it"
    )
    milvus_search: Literal["index", "milvus"] = Field(
        default="index", description="what answers by meaning in the embedded library; a server always searches itself"
    )
    milvus_share: bool = Field(
        default=True, description="serve the embedded library to other processes while this one has it open"
    )
    sqlite_db_path: LibraryPath = Field(default=HOME / "cache.db", description="file of the library in SQLite")
    embedding_model: str = Field(
        default="all-MiniLM-L6-v2", min_length=1, description="name or folder of the embedding model"
    )
    embedding_provider: Annotated[str, _one_of(PROVIDERS)] = Field(default="auto", description="what runs it")
    embedding_url: str | None = Field(default=None, description="base URL of an OpenAI-compatible embedding server")
    embedding_api_key: str | None = Field(default=None, description="its key")
    query_prefix: str | None = Field(
        default=None, max_length=500, description="text before queries instead of the model's own"
    )
    passage_prefix: str | None = Field(default=None, max_length=500, description="the same before passages")
    rerank_url: str | None = Field(default=None, description="address of a reranker that orders the best hits")
    rerank_model: str | None = Field(default=None, description="its model")
    rerank_api_key: str | None = Field(default=None, description="its key")
    open5e_base_url: WebAddress = Field(default="https://api.open5e.com", description="Open5e server to sync with")
    cache_ttl_days: float = Field(default=30.0, gt=0, le=36500, description="days after which synced entries are stale")
    background_sync: bool = Field(default=True, description="refresh stale entries while the server is idle")
    http_token: str | None = Field(
        default=None, description="the game master's bearer token for 'serve --transport http'"
    )
    oauth_issuer: Annotated[str, AfterValidator(_issuer)] | None = Field(
        default=None,
        description="issuer of the access tokens or assertions with which people log in over HTTP",
    )
    oauth_audience: str | None = Field(default=None, description="audience of these tokens: how they name this library")
    oauth_trust_email: bool = Field(
        default=False, description="accept e-mail addresses that tokens do not mark as verified"
    )
    trusted_proxies: Networks = Field(
        default=(), description="addresses or networks of proxies that log people in, separated by commas"
    )
    public_hosts: Hosts = Field(default=(), description="further host names of this server, separated by commas")
    rate_limit: Annotated[str, AfterValidator(_rate)] = Field(
        default="100/minute",
        description="requests of a person over HTTP in a second, minute, hour or day; 0: any number",
    )
    rate_burst: int = Field(default=20, ge=0, le=10_000, description="how many of them at once; further ones wait")
    audit_log: LibraryPath | None = Field(default=None, description="file to which a line for each request is written")
    offline: bool = Field(default=False, description="never touch the network")
    edition: Annotated[str, AfterValidator(_edition)] | None = Field(
        default=None, description="what ranks first: 2014, 2024, a5e, black-flag, or document keys, in order"
    )
    vaults: LibraryPaths = Field(
        default=(), description="folders of Markdown notes to search too, separated as PATH is"
    )
    marks: LibraryPath | None = Field(default=None, description="file of your own words for what is secret")
    view: Annotated[str, _one_of(ROLES)] = Field(
        default="dm", description="viewer of requests without a token: dm or player"
    )
    person: str | None = Field(default=None, max_length=500, description="the player's names, separated by commas")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="how much is logged, on stderr"
    )
    env_file: LibraryPath | None = Field(
        default=None,
        description=f"file to read settings from instead of {OWN_FILE.as_posix()}; only from the environment",
    )

    @property
    def library_path(self) -> Path:
        """Path of the current library; with a Milvus server or another package's backend, that of the files on this machine."""
        if self.cache_backend not in BACKENDS:
            return self.milvus_db_path.with_name(f"{self.cache_backend}.db")
        path: Path = getattr(self, f"{self.cache_backend}_db_path")
        return path

    @property
    def house_edition(self) -> tuple[str, ...]:
        """The editions and documents that come first, in order; () for none."""
        return parse_edition(self.edition) if self.edition else ()

    @property
    def viewer(self) -> Viewer:
        """Who asks if no token identifies the caller."""
        if self.view == DM:
            return GAME_MASTER
        person, *characters = (name.strip() for name in (self.person or "").split(","))
        return Viewer.player(person, characters)

    def require_local(self, name: str) -> None:
        """ConfigError if these settings forbid the network, but the address in the setting of that name is on it."""
        address = getattr(self, name)
        if self.offline and address and not is_local(address):
            raise ConfigError(
                f"LOREKEEPER_OFFLINE is set, but {PREFIX}{name.upper()} is {shown_address(address)}, which is not on "
                "this machine; unset one of the two, or use an address like http://127.0.0.1:8080"
            )


OTHERS = frozenset({"browser", "corpus", "milvus_server"})
"""Variables with our prefix that are not settings: the tests read LOREKEEPER_BROWSER, _CORPUS and _MILVUS_SERVER."""

SECRETS = frozenset({"milvus_token", "embedding_api_key", "rerank_api_key", "http_token"})

ADDRESSES = frozenset({"milvus_uri", "embedding_url", "rerank_url", "open5e_base_url", "oauth_issuer"})
"""Settings that may contain a password in an address."""

COMMA_SEPARATED = frozenset({"trusted_proxies", "public_hosts"})
"""Settings with several values that are separated by commas, and not as PATH is."""

LITERAL = frozenset({"query_prefix", "passage_prefix"})
"""Settings whose spaces count, and that may be set to nothing."""


def load_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """The current settings, and where each came from ("environment", the file, "default").

    Args:
        environ: the environment; the process's own by default.
        env_file: a file of NAME=value lines, which need not exist; by default the one that LOREKEEPER_ENV_FILE names,
            which must exist, or `OWN_FILE`. The environment takes precedence. Values are literal: ``${NAME}`` is not expanded.

    Raises:
        ConfigError: an unknown variable or value (the message lists the allowed ones), or a file that cannot be read.
    """
    environ = os.environ if environ is None else environ
    file, required = (env_file, False) if env_file else _settings_file(environ)
    values, origins = _collected([(_read_file(file, required=required), str(file)), (environ, "environment")])
    _refuse_unknown(values)
    if values.get("log_level"):
        values["log_level"] = values["log_level"].upper()
    settings = settings_of({k: v for k, v in values.items() if k not in OTHERS})
    _check_together(settings)
    return settings, origins


def settings_of(values: Mapping[str, object]) -> Settings:
    """Settings of values by name; ConfigError, which names the variable of each, if some are wrong."""
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(e, values) for e in error.errors())) from error


def _check_together(settings: Settings) -> None:
    """ConfigError if settings contradict each other."""
    if settings.embedding_provider == "http" and not settings.embedding_url:
        raise ConfigError(
            f"{PREFIX}EMBEDDING_PROVIDER=http needs {PREFIX}EMBEDDING_URL, for example http://127.0.0.1:8080/v1"
        )
    if settings.person and settings.view == DM:
        raise ConfigError(f"{PREFIX}PERSON is the name of a player: set {PREFIX}VIEW=player too, or leave it out")
    if bool(settings.oauth_issuer) != bool(settings.oauth_audience):
        raise ConfigError(
            f"{PREFIX}OAUTH_ISSUER and {PREFIX}OAUTH_AUDIENCE belong together: without an audience, tokens that were issued "
            "for other services would open this library"
        )


def _collected(sources: Iterable[tuple[Mapping[str, str], str]]) -> tuple[dict[str, str], dict[str, str]]:
    """The values of variables with our prefix, by setting, and the origin of every setting; later sources take precedence."""
    values: dict[str, str] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for variables, origin in sources:
        for variable, value in variables.items():
            name = variable.removeprefix(PREFIX).lower()
            if variable.startswith(PREFIX) and (name in LITERAL or value.strip()):
                values[name] = value if name in LITERAL else value.strip()
                if name in origins:
                    origins[name] = origin
    return values, origins


def ignored_file(settings: Settings) -> str | None:
    """A warning if the current folder has a ``.env`` with lines for LoreKeeper, which is ignored; otherwise None."""
    try:
        if not FOLDER_FILE.is_file() or FOLDER_FILE.samefile(own_file(settings.env_file)):
            return None
    except OSError:  # the user's own file does not exist, or the current folder is gone
        pass
    try:
        with open_regular(FOLDER_FILE) as opened:
            start = opened.read(FOLDER_FILE_BYTES)
    except OSError:
        return None
    if not re.search(rb"^[^\S\n]*(export\s+)?%s\w+[^\S\n]*=" % PREFIX.encode(), start, re.MULTILINE):
        return None
    return (
        f"the {FOLDER_FILE} in the current folder has {PREFIX} lines, which are ignored: move the ones you need to "
        f"{own_file(settings.env_file)}, or set them in the environment"
    )


def misspelt_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings but are not read, each with the setting that is nearest: LOREKEEPR_OFFLINE."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    nearest = {
        name: difflib.get_close_matches(name[:MAX_SHOWN], known, n=1, cutoff=0.85)
        for name in environ
        if not name.startswith(PREFIX) and name[:4] == PREFIX[:4]
    }
    return {name: near[0] for name, near in nearest.items() if near}


def shown_value(name: str, value: object) -> str:
    """A setting's value for display, without secrets and passwords."""
    if value is None:
        return ""
    if name in SECRETS:
        return "***"
    if name in LITERAL:
        return json.dumps(value, ensure_ascii=False)
    if name in COMMA_SEPARATED and isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, tuple):
        return os.pathsep.join(map(str, value))
    return shown_address(str(value)) if name in ADDRESSES else str(value)


def _settings_file(environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The file to read settings from, and whether it must exist."""
    named = (environ.get(ENV_FILE) or "").strip()
    try:
        return own_file(Path(named) if named else None), bool(named)
    except ValueError as error:
        raise ConfigError(f"{ENV_FILE} is {shown(named)}: {error}") from error


def own_file(named: Path | None) -> Path:
    """Path of the user's own settings: the named file, or `OWN_FILE`."""
    return _absolute(named or OWN_FILE)


def write_setting(file: Path, name: str, value: str | None) -> None:
    """Set a setting in a file of settings, or remove it from there; other lines stay. Blocking.

    Raises:
        ConfigError: the file cannot be written.
    """
    target, variable = Path(os.path.realpath(file)), PREFIX + name.upper()
    if target.exists() and not target.is_file():
        raise ConfigError(
            f"{file} is not a regular file, so nothing can be set there; set {variable} in the environment"
        )
    try:
        if value is None:
            if target.is_file():
                unset_key(target, variable)
            return
        private_file(private_folder(target.parent) / target.name)
        set_key(target, variable, value, quote_mode="auto")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be written: {error}; set {variable} in the environment instead") from error


def _read_file(file: Path, *, required: bool) -> dict[str, str]:
    try:
        if not required and not file.is_file():
            return {}
        text = "" if file == Path(os.devnull) else read_regular(file, LARGEST_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"{ENV_FILE} names {file}, which does not exist; create it, or unset the variable") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{file} cannot be read: {reason}") from error
    values = {k: v for k, v in dotenv_values(stream=io.StringIO(text), interpolate=False).items() if v is not None}
    if values.get(ENV_FILE):
        raise ConfigError(f"{file} sets {ENV_FILE}, which is read from the environment only; remove that line")
    return values


def _refuse_unknown(values: Mapping[str, str]) -> None:
    unknown = sorted(values.keys() - Settings.model_fields.keys() - OTHERS)
    if unknown:
        names = ", ".join(PREFIX + name.upper() for name in Settings.model_fields)
        raise ConfigError(f"unknown setting {one_line(PREFIX + unknown[0].upper(), MAX_SHOWN)}; known: {names}")


def _explain(error: object, values: Mapping[str, object]) -> str:
    assert isinstance(error, dict)
    name = str(error["loc"][0])
    value = "***" if name in SECRETS else shown(shown_value(name, values.get(name)))
    allowed = "; allowed: 1, true, yes, on, 0, false, no, off" if error["type"].startswith("bool") else ""
    return f"{PREFIX}{name.upper()} is {value}: {error['msg'].removeprefix('Value error, ')}{allowed}"
