"""The checks of `scripts/lint.py` find what is planted, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import prose, sizes
from scripts.lint import faults
from tests.support.tables import each_row

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
        ("tests/test_a.py", "def test_a():\n time.sleep(0.5)\n assert found()", "2: a sleep as a wait"),
        ("tests/support/a.py", "async def f():\n while not g(): await asyncio.sleep(1)", "2: a sleep as a wait"),
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
        "time.sleep(SECONDS_A_PAGE)\n assert found()",
        "b = time.process_time()\n assert time.process_time() - b < 5",
    ],
)
def test_a_test_that_can_fail_is_not_reported(body, tmp_path):
    assert found(tmp_path, **{"tests/test_a.py": f"def test_a():\n {body}"}) == []


OF_FACES = (
    PLAN
    + """
[faces]
faces = "editions search.query"
arithmetic = ""
nailed = "test_old"
"""
)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        (
            "test_a",
            "from lorekeeper.text.words import w",
            ["1: a test imports lorekeeper.text.words.w, which is no face"],
        ),
        ("test_a", "from lorekeeper.search.queries import q", ["1: a test imports lorekeeper.search.queries.q"]),
        ("test_a", "import lorekeeper\nfrom lorekeeper.search.query import Query\nfrom lorekeeper import Library", []),
        ("test_old", "from lorekeeper.editions import x", ["1: this test imports faces alone"]),
        ("test_it", "", ["there is no test_old any more"]),
    ],
)
def test_a_test_imports_faces_alone_unless_it_is_listed(tmp_path, name, text, what):
    listed = {"tests/test_old.py": "import lorekeeper.text"} if name != "test_it" else {}
    said = found(tmp_path, OF_FACES, **{**listed, f"tests/{name}.py": text})
    assert len(said) == len(what)
    assert all(part in line for part, line in zip(what, said, strict=True))


def test_a_plan_that_leads_upward_is_found(tmp_path):
    upward = PLAN.replace('text = "ground"', 'text = "ground search"')
    assert found(tmp_path, upward) == ["scripts/rooms.toml:1: text would import search, which is not above it"]


# --- English ----------------------------------------------------------------------------------------------------------

WORDS = """
[sentences]
longest = 12
usual = 11
[texts]
public = ["lorekeeper/library.py"]
data = ["lorekeeper/words/"]
files = ["README.md", "lorekeeper/**/*.py", "lorekeeper/**/*.html", "lorekeeper/**/*.js"]
[instead]
"told" = "'informed'"
"""

PLAIN = {
    "README.md": "# Told\n\nIt finds notes.\n\n```\ntold to him\n```\n\n| a | b |\n|---|---|\n| words | `told` and more words |\n",
    "lorekeeper/library.py": '"""What it does."""\ndef open():\n    """Open it at once."""\n    raise E(f"{x} is no file")',
    "lorekeeper/cli/main.py": '"""A docstring that was told to nobody."""\nSQL = "told"\nMANY = "one two"\n',
    "lorekeeper/text/words.py": '''MANY = "all who told him so".split()\nSAID = r"\\b(?:he|she) told the \\w+"''',
    "lorekeeper/page/a.html": "{# what he told us #}<p class='told of it'>All <b>open</b> notes.</p><code>as I told you</code>",
    "lorekeeper/page/a.js": '// as he told us\nfind("[data-told] of a b");',
    "lorekeeper/words/list.py": 'MARKS = ["what she was told by him"]',
}


def english(folder: Path, **changes: str) -> list[str]:
    for name, text in {**PLAIN, **changes}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return list(prose.faults(folder, prose.House.read(WORDS)))


def test_plain_english_has_no_fault(tmp_path):
    assert english(tmp_path) == []


LONG = "it has one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("lorekeeper/cli/main.py", '\nraise E("he was told so")', "2: 'told': write 'informed'"),
        ("lorekeeper/cli/main.py", 'x = f"{he} was told {what} so"', "1: 'told'"),
        ("lorekeeper/cli/main.py", f'help="{LONG}"', "1: a sentence of 14 words, at most 12"),
        ("lorekeeper/library.py", 'def open():\n    """Open what was told."""', "1: 'told'"),
        ("lorekeeper/library.py", f'class A:\n    """{LONG}."""', "1: a sentence of 14 words"),
        ("lorekeeper/page/a.html", "<p>\n</p><p>{{ he }} was\n<b>told</b> so</p>", "2: 'told'"),
        ("lorekeeper/page/a.html", '<input title="what he was told">', "1: 'told'"),
        ("lorekeeper/page/a.js", "\nalert('He was told so');", "2: 'told'"),
        ("README.md", "# A\n\nSo it\nwas told.\n", "3: 'told'"),
        ("README.md", f"| a | b |\n|---|---|\n| x | {LONG} |\n", "1: a sentence of 14 words"),
    ],
)
def test_a_planted_fault_of_language_is_found(tmp_path, name, text, what):
    found = english(tmp_path, **{name: text})
    assert [fault for fault in found if fault.startswith(f"{name}:{what}")]


def test_too_many_long_sentences_are_found_together(tmp_path):
    words = "This sentence of the page has exactly twelve words in it today. "
    assert "a tenth of the sentences has more than" not in " ".join(english(tmp_path))
    assert any("a tenth of the sentences" in fault for fault in english(tmp_path, **{"README.md": words * 20}))


def test_the_declared_modules_exist():
    root = prose.WORDS.parents[1]
    house = prose.House.read(prose.WORDS.read_text("utf-8"))
    assert [path for path in (*house.public, *house.data) if not (root / path).exists()] == []
    assert all(list(root.glob(pattern)) for pattern in house.files)


def test_layout_comments_and_docstrings_have_no_code_tokens():
    plain = "def f(a):\n    return a + 1\n"
    documented = '"""Module."""\n\n\ndef f(a):\n    """Text."""  # why\n\n    return (\n        a + 1\n    )\n'
    assert sizes.code_tokens(plain) == 10
    assert sizes.code_tokens(documented) == 12  # the brackets count


@each_row(
    ("size", "what"), [(1001, "above its ceiling of 1000"), (1000, ""), (980, ""), (979, "lower its ceiling of 1000")]
)
def test_a_room_stays_just_below_its_ceiling(size, what):
    said = list(sizes.faults({"text": size}, {"text": 1000}))
    assert (said == []) if not what else (len(said) == 1 and what in said[0])


def test_each_room_has_a_ceiling_and_each_ceiling_a_room():
    assert [*sizes.faults({"text": 5}, {"notes": 5})] == [
        "there is no room notes: remove its ceiling",
        "the room text has no ceiling: it has 5 code tokens",
    ]


def test_rooms_are_folders_and_the_modules_beside_them(tmp_path):
    for name in ("lorekeeper/a.py", "lorekeeper/text/b/c.py", "tests/support/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    assert sizes.sizes(tmp_path) == {"modules": 3, "text": 3, "tests": 3}
