"""Syncing with the captured Open5e API, plain and with faults: the corpus's counts, no more requests than needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.server.answers import document_list
from tests.support.corpus import (
    ENDPOINTS,
    SPARE,
    pages_of,
    replaying,
    requests_of,
    statistics_of,
    tables_by_document,
)
from tests.support.libraries import server_library

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def described(corpus: Path) -> dict[str, Any]:
    return statistics_of(corpus)


async def test_types_are_synced_into_an_empty_library_and_then_nothing(corpus, described, tmp_path):
    """All types are synced with by `test_corpus`, into a library that has them."""
    types = ["character_options", "rules", "documents"]
    with replaying(corpus, "--keep-hosts") as address:
        async with server_library(tmp_path, address) as library:
            first = await library.sync(types)
            assert first.failed == []
            counts = (await library.statistics()).counts
            sums = {t: sum(described[n]["count"] for n in ENDPOINTS[t]) for t in types}
            tables = tables_by_document(corpus, types)
            assert {t: n for t, n in counts.items() if n} == sums | {"rules": sums["rules"] + tables.total()}
            assert first.tables == Counter(stored=tables.total())
            expected = {document: Counter(rules=number) for document, number in tables.items()}
            for entity_type in types:
                for name in ENDPOINTS[entity_type] if entity_type != "documents" else []:
                    for document, number in described[name]["by_document"].items():
                        expected.setdefault(document, Counter())[entity_type] += number
            listed = {d["key"]: d["counts"] for d in await document_list(library)}
            assert {key: own for key, own in listed.items() if own} == expected
            made, _ = requests_of(address)
            assert made <= SPARE * pages_of(described, types)
            second = await library.sync(types)
            assert (second.stored, second.embedded, second.removed, second.failed) == (0, 0, 0, [])
            assert (second.unchanged, second.tables["unchanged"]) == (first.stored, tables.total())


@pytest.mark.parametrize(
    "faults",
    [
        "--fail-every 7 --latency-ms 200",
        "--fail-every 5 --fail-status 524",
        "--rate 5",
        "--cut-every 9",
    ],
)
async def test_faults_cost_no_entry_and_few_requests(faults, corpus, described, tmp_path):
    types = ["spells", "documents"]
    with replaying(corpus, *faults.split()) as address:
        async with server_library(tmp_path, address) as library:
            assert (await library.sync(types)).failed == []
            counts = (await library.statistics()).counts
            assert {t: counts[t] for t in types} == {t: sum(described[n]["count"] for n in ENDPOINTS[t]) for t in types}
            made, failed = requests_of(address)
            cut = made // 9 if "cut" in faults else 0
            assert made <= SPARE * (pages_of(described, types) + failed + cut)


async def test_one_document_is_synced_alone(corpus, described, tmp_path):
    with replaying(corpus) as address:
        async with server_library(tmp_path, address) as library:
            await library.sync(["spells", "documents"], ["srd-2014"])
            counts = (await library.statistics()).counts
            assert (counts["spells"], counts["documents"]) == (319, 1)
            assert requests_of(address)[0] == 5
