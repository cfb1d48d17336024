"""The program of Chromium, for tests and measurements in a real browser."""

from __future__ import annotations

import os
import shutil

BROWSER = "LOREKEEPER_BROWSER"
"""Names the program."""

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Where it is not set: what Chromium is called."""


def chromium() -> str | None:
    """The program that the variable names, else the one on PATH; None if there is none."""
    return os.environ.get(BROWSER) or next(filter(None, map(shutil.which, PROGRAMS)), None)
