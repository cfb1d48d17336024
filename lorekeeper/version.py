"""The version of LoreKeeper: of the distribution, and of what it writes into libraries and archives."""

VERSION = "0.1.0"

DISTRIBUTION = "lorekeeper-rpg"
"""What pip installs: `lorekeeper` is another project."""
