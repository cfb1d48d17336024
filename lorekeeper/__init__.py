"""LoreKeeper: search for tabletop role-playing lore, as an MCP server, a command and a library."""

__version__ = "0.1.0"
