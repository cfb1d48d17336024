"""The version of LoreKeeper: of the distribution, and of what it writes into libraries and archives."""

VERSION = "0.2.0"

DISTRIBUTION = "lorekeeper-rpg"
"""What pip installs, since `lorekeeper` is another project; there is a command of that name too, for ``uvx``."""
