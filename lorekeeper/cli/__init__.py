"""The command line."""

import os

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""A command needs no plugin of another package, and a start need not read the entry points of all of them (17 ms of CPU)."""
