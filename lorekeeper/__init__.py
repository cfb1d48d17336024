"""LoreKeeper: search for tabletop role-playing lore, as an MCP server, a command and a library.

The names in ``__all__`` are the public interface; everything else may change without notice. Importing the package loads
nothing else: a name loads its module when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lorekeeper.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import CacheProtocol as CacheProtocol
    from lorekeeper.cache.protocol import Hit as Hit
    from lorekeeper.cache.protocol import Ranked as Ranked
    from lorekeeper.cache.protocol import Statistics as Statistics
    from lorekeeper.cache.selecting import select_entities as select_entities
    from lorekeeper.embedding.protocol import EmbeddingProvider as EmbeddingProvider
    from lorekeeper.embedding.protocol import HashingProvider as HashingProvider
    from lorekeeper.embedding.service import EmbeddingService as EmbeddingService
    from lorekeeper.entities import COLLECTIONS as COLLECTIONS
    from lorekeeper.entities import Collection as Collection
    from lorekeeper.entities import Entity as Entity
    from lorekeeper.entities import Field as Field
    from lorekeeper.entities import FieldType as FieldType
    from lorekeeper.entities import parse_uri as parse_uri
    from lorekeeper.errors import CacheError as CacheError
    from lorekeeper.errors import ConfigError as ConfigError
    from lorekeeper.errors import EmbeddingError as EmbeddingError
    from lorekeeper.errors import EntityError as EntityError
    from lorekeeper.errors import FilterError as FilterError
    from lorekeeper.errors import ImportFileError as ImportFileError
    from lorekeeper.errors import LoreKeeperError as LoreKeeperError
    from lorekeeper.errors import MilvusConnectionError as MilvusConnectionError
    from lorekeeper.errors import MilvusSchemaError as MilvusSchemaError
    from lorekeeper.errors import NotFoundError as NotFoundError
    from lorekeeper.errors import SourceError as SourceError
    from lorekeeper.errors import SourceUnavailableError as SourceUnavailableError
    from lorekeeper.errors import UnknownDocumentError as UnknownDocumentError
    from lorekeeper.errors import UpgradingError as UpgradingError
    from lorekeeper.filters import Condition as Condition
    from lorekeeper.filters import parse_filters as parse_filters
    from lorekeeper.intake.reports import ImportReport as ImportReport
    from lorekeeper.library import Library as Library
    from lorekeeper.opening import open_cache as open_cache
    from lorekeeper.plugin import CacheConfig as CacheConfig
    from lorekeeper.plugin import EntityCache as EntityCache
    from lorekeeper.plugin import MilvusCache as MilvusCache
    from lorekeeper.plugin import SqliteCache as SqliteCache
    from lorekeeper.plugin import create_cache as create_cache
    from lorekeeper.search.query import Query as Query
    from lorekeeper.search.results import Result as Result
    from lorekeeper.search.results import ResultPage as ResultPage
    from lorekeeper.settings import Settings as Settings
    from lorekeeper.settings import load_settings as load_settings
    from lorekeeper.text.keywords import KeywordQuery as KeywordQuery
    from lorekeeper.text.passages import Passage as Passage
    from lorekeeper.text.passages import passages as passages

_MODULES = {
    "lorekeeper.cache.protocol": ("CacheProtocol", "Hit", "Ranked", "Statistics"),
    "lorekeeper.cache.selecting": ("select_entities",),
    "lorekeeper.embedding.protocol": ("EmbeddingProvider", "HashingProvider"),
    "lorekeeper.embedding.service": ("EmbeddingService",),
    "lorekeeper.entities": ("COLLECTIONS", "Collection", "Entity", "Field", "FieldType", "parse_uri"),
    "lorekeeper.errors": (
        "CacheError",
        "ConfigError",
        "EmbeddingError",
        "EntityError",
        "FilterError",
        "ImportFileError",
        "LoreKeeperError",
        "MilvusConnectionError",
        "MilvusSchemaError",
        "NotFoundError",
        "SourceError",
        "SourceUnavailableError",
        "UnknownDocumentError",
        "UpgradingError",
    ),
    "lorekeeper.filters": ("Condition", "parse_filters"),
    "lorekeeper.intake.reports": ("ImportReport",),
    "lorekeeper.library": ("Library",),
    "lorekeeper.opening": ("open_cache",),
    "lorekeeper.plugin": ("CacheConfig", "EntityCache", "MilvusCache", "SqliteCache", "create_cache"),
    "lorekeeper.search.query": ("Query",),
    "lorekeeper.search.results": ("Result", "ResultPage"),
    "lorekeeper.settings": ("Settings", "load_settings"),
    "lorekeeper.text.keywords": ("KeywordQuery",),
    "lorekeeper.text.passages": ("Passage", "passages"),
}
"""The public names by the module that defines them; the imports above say the same to type checkers."""

__all__ = sorted(["__version__", *(name for names in _MODULES.values() for name in names)])

if not TYPE_CHECKING:  # a type checker that saw `__getattr__` would accept any name

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(module), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
