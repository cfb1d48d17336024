"""The library's store: `CacheProtocol`, and one backend per module, imported only when it is used."""

from lorekeeper.cache.protocol import CacheProtocol, Hit

__all__ = ["CacheProtocol", "Hit"]
