"""The programs of docs/plugin.md, as they are printed there."""

from __future__ import annotations

import re

from tests.support.commands import ROOT

PAGE = (ROOT / "docs" / "plugin.md").read_text("utf-8")

TWENTY, SHIPS, PROVIDER, VECTORS, SERVER, READING, CONTRACT = re.findall(
    r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)
