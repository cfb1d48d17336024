"""The errors LoreKeeper raises.

    LoreKeeperError
    ├── ConfigError                  a setting is wrong or contradicts another
    ├── FilterError                  a filter names an unknown field or has a value of the wrong type
    │   ├── EntityError              an entity cannot be stored as it is
    │   └── UnknownDocumentError     a search names a document that is not in the library
    ├── NotFoundError                there is no entry of that name or uri
    ├── CacheError                   the library could not be read or written
    │   ├── MilvusConnectionError    no Milvus at the configured path or address
    │   └── MilvusSchemaError        its collections are not LoreKeeper's, or of another version
    ├── UpgradingError               the library is being opened, which takes longer than a question waits
    ├── EmbeddingError               the embedding model cannot be found, loaded or run
    ├── SourceError                  a remote source gave an invalid answer, or none
    │   └── SourceUnavailableError   it is unreachable or busy: a later attempt may succeed
    ├── ImportFileError              a file, or an entry in it, cannot be imported
    ├── PeopleError                  a person cannot be added
    ├── TokenError                   a token does not open the library
    │   └── StrangerError            a login is valid, but the person was not added
    └── ClientFileError              the configuration of an MCP client cannot be edited

The driver's own exception is always the ``__cause__``. Every message says what is wrong and what to do next.
"""


class LoreKeeperError(Exception):
    """Base of all errors that LoreKeeper raises on purpose."""


class ConfigError(LoreKeeperError):
    """A setting is wrong; the message names the variable and the allowed values."""


class FilterError(LoreKeeperError):
    """A filter names an unknown field, or its value is of the wrong type."""


class EntityError(FilterError):
    """An entity cannot be stored: it has no name or key, or a filter field has a value of the wrong type."""


class UnknownDocumentError(FilterError):
    """A search names a document that is not in the library."""


class NotFoundError(LoreKeeperError):
    """There is no entry of that name or uri; the message has the nearest ones."""


class CacheError(LoreKeeperError):
    """The library could not be read or written."""


class MilvusConnectionError(CacheError):
    """No Milvus answers at the configured path or address."""


class MilvusSchemaError(CacheError):
    """The collections do not have the schema that this version of LoreKeeper writes."""


class UpgradingError(LoreKeeperError):
    """The library is being opened or checked, and a question cannot wait for that: nothing is wrong with it."""


class EmbeddingError(LoreKeeperError):
    """The embedding model cannot be found, loaded or run."""


class SourceError(LoreKeeperError):
    """A remote source gave an invalid answer, or none."""


class SourceUnavailableError(SourceError):
    """A remote source is unreachable or busy: the same request may succeed later."""


class PeopleError(LoreKeeperError):
    """A person cannot be added; the message says which names can."""


class TokenError(LoreKeeperError):
    """A token does not open the library; the message, which never has the token in it, is for the log."""


class StrangerError(TokenError):
    """A login is valid, but the person was not added, or was removed."""


class ClientFileError(LoreKeeperError):
    """The configuration of an MCP client cannot be read or edited; it is unchanged."""


class ImportFileError(LoreKeeperError):
    """A file, or one entry in it, cannot be imported.

    Attributes:
        where: ``file:line``, or ``file``.
        reason: why, in one sentence.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason
