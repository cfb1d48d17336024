"""The law of all readers: a text of a file stands in the entries that are made of it, or is reported."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from tests.support.commands import run_lorekeeper
from tests.support.gateway import gateway
from tests.support.libraries import open_library

BLURB = "The mud sings to you tonight, and tomorrow, too."

NESTED = f"{'{n: ' * 7}{{blurb: '{BLURB}'}}{'}' * 7}"

FORMATS = {
    "own.json": json.dumps(
        {
            "collection": "character_options",
            "kind": "feat",
            "name": "Bogwise",
            "benefits": [{"name": "Ode", "desc": "x", "blurb": BLURB}],
        }
    ),
    "open5e.json": json.dumps(
        {"key": "bogwise", "name": "Bogwise", "has_prerequisite": False, "benefits": [{"desc": "x", "blurb": BLURB}]}
    ),
    "pack.orcbrew": f'{{:orcpub.dnd.e5/feats {{:bog {{:name "Bogwise" :traits [{{:name "Ode" :blurb "{BLURB}"}}]}}}}}}',
    "fight.xml": f"<compendium><item><name>Reed Horn</name><type>W</type><text>x</text><blurb>{BLURB}</blurb></item></compendium>",
    "brew.json": json.dumps(
        {
            "_meta": {"sources": [{"json": "PEAT", "full": "Peat"}]},
            "spell": [
                {"name": "Mire Song", "source": "PEAT", "level": 1, "school": "E", "entries": ["x"], "blurb": BLURB}
            ],
        }
    ),
    "fvtt-Item-mire-horn.json": json.dumps(
        {
            "name": "Mire Horn",
            "type": "loot",
            "system": {"description": {"value": "<p>x</p>"}, "blurb": f"<p>{BLURB}</p>"},
            "_stats": {"systemId": "dnd5e"},
        }
    ),
    "beasts.yaml": f"name: Toad\nstats: [6, 12, 10, 2, 10, 4]\nhp: 7\nlayers: {NESTED}\n",
}
"""A file of each format with a text under a key that its reader does not know."""


@pytest.mark.processes
def test_the_command_says_it_in_text_and_json_with_each_import(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(FORMATS["own.json"], "utf-8")
    for _ in range(2):  # the second time, the library has the entry
        done = run_lorekeeper(tmp_path, "import", str(path), "--json")
        assert json.loads(done.stdout)["not_taken"] == [
            {"where": str(path), "key": "blurb", "texts": 1, "example": BLURB}
        ]
    assert "not taken over: a text under 'blurb'" in run_lorekeeper(tmp_path, "import", str(path)).stderr


async def test_the_page_says_it_of_what_is_pasted(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library, gateway(library, None) as client:
        page = await client.post(
            "/paste", data={"text": FORMATS["own.json"]}, headers={"sec-fetch-site": "same-origin"}
        )
        assert "not taken over: a text under 'blurb'" in unescape(page.text)


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["srd52", "cases"])
def test_of_the_corpus_everything_is_taken_or_left_out_with_a_reason(corpus: Path, folder):
    """Of the other folders the golden files have it."""
    report = ImportReport()
    assert sum(1 for _ in Reader([corpus / folder], None, report).read()) > 20
    assert report.not_taken == []
