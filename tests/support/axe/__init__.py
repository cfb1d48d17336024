"""axe-core, which finds what people with disabilities cannot use: the file of its npm package, MPL-2.0, only for tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCRIPT = Path(__file__).with_name("axe.min.js")
"""axe-core 4.14.1."""

IMPACTS = ("serious", "critical")


def findings(page: Page, *rules: str) -> list[str]:
    """Serious and critical findings on a page, of all rules or of some: each rule and reason once, with an element of that kind."""
    page.evaluate(SCRIPT.read_text("utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert found["passes"], "axe has found nothing to check"
    shown = {
        f"{each['impact']}: {each['id']}: {node['failureSummary']}": node["html"][:200]
        for each in found["violations"]
        if each["impact"] in IMPACTS
        for node in each["nodes"]
    }
    return [f"{rule} {html}" for rule, html in shown.items()]
