"""The checks of `scripts/lint.py` find what is planted, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.lint import faults

PLAN = """
[rooms]
editions = ""
text = "ground"
search = "ground text"

[libraries]
numpy = "search/"
milvus_lite = "search/"
"milvus_lite." = "search/deep.py"
"lorekeeper.text.words" = "search/"
"""

CLEAN = {
    "lorekeeper/editions.py": "import json",
    "lorekeeper/text/__init__.py": "from lorekeeper.editions import x",
    "lorekeeper/search/__init__.py": "import numpy\nfrom milvus_lite import M\nfrom lorekeeper.text.words import w",
    "lorekeeper/search/deep.py": "from milvus_lite.engine import E",
    "tests/test_it.py": "import tests.support.x\ndef test_it():\n    assert sorted([1])",
    "benchmarks/speed.py": "import time",
}


def found(folder: Path, plan: str = PLAN, **changes: str) -> list[str]:
    for name, text in {**CLEAN, **changes}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return list(faults(folder, plan))


def test_a_clean_tree_has_no_fault(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("lorekeeper/text/a.py", "\nimport lorekeeper.search", "2: the room text may not import search"),
        ("lorekeeper/text/a.py", "def f():\n import_module('lorekeeper.search.x')", "2: the room text may not import"),
        (
            "lorekeeper/text/a.py",
            "from lorekeeper import Library",
            "1: Library is imported through the public interface",
        ),
        ("lorekeeper/text/a.py", "import numpy", "1: numpy may be imported in search/ only"),
        (
            "lorekeeper/search/a.py",
            "from milvus_lite.engine import E",
            "1: milvus_lite.engine.E may be imported in search/deep",
        ),
        ("lorekeeper/text/a.py", "import pandas", "1: pandas is not among the libraries"),
        ("lorekeeper/editions.py", "a = 1 if x else (2 if y else 3)", "1: a conditional expression"),
        ("lorekeeper/views.py", "", "1: the plan lacks the room views"),
        ("tests/test_a.py", "from tests.test_it import x", "1: a test imports tests.test_it.x"),
        ("benchmarks/a.py", "from tests.support import x", "1: a benchmark imports a test"),
        ("tests/test_a.py", "import random\nrandom.choice('ab')", "2: random.choice without a seed"),
        ("tests/test_a.py", "Random()", "1: Random without a seed"),
        (
            "tests/test_a.py",
            "def test_a():\n b = time.monotonic()\n assert time.monotonic() - b < 5",
            "3: an assertion on",
        ),
        ("tests/test_a.py", "def test_a():\n b = monotonic()\n c = b\n assert b", "4: an assertion on wall time"),
        ("tests/test_a.py", "def test_a():\n for x in found(): assert x", "1: test_a passes if there is no result"),
        ("tests/test_a.py", "def test_a():\n assert all(x for x in found())", "1: test_a passes if"),
        ("tests/test_a.py", "def test_a():\n y = found()\n for x in y: assert x", "1: test_a passes if"),
        ("tests/test_a.py", "def test_a():\n for x in range(3):\n  for y in found(): assert y", "1: test_a passes if"),
    ],
)
def test_a_planted_fault_is_found_where_it_is(name, text, what, tmp_path):
    (fault,) = found(tmp_path, **{name: text})
    assert f":{what}" in fault
    assert fault.startswith("scripts/rooms.toml" if "plan" in what else name)


@pytest.mark.parametrize(
    "body",
    [
        "for x in [1, 2]: assert x",
        "y = [1]\n for x in y: assert x",
        "y = found()\n assert y\n for x in y: assert x",
        "with pytest.raises(ValueError): found()\n assert all(found())",
        "b = time.process_time()\n assert time.process_time() - b < 5",
    ],
)
def test_a_test_that_can_fail_is_not_reported(body, tmp_path):
    assert found(tmp_path, **{"tests/test_a.py": f"def test_a():\n {body}"}) == []


def test_a_plan_that_leads_upward_is_found(tmp_path):
    upward = PLAN.replace('text = "ground"', 'text = "ground search"')
    assert found(tmp_path, upward) == ["scripts/rooms.toml:1: text would import search, which is not above it"]
