"""Without a private name of Milvus Lite, its public interface serves: slower, and with the same answers."""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import milvus_lite
import pytest

from lorekeeper.cache.milvus import _internals
from lorekeeper.cache.milvus._internals import names
from lorekeeper.cache.milvus.lite import Engine, StoreTakenError
from lorekeeper.errors import MilvusConnectionError
from tests.support import engine_process
from tests.support.backends import Caches
from tests.support.entities import make

ROOT = Path(__file__).parent.parent

PUBLIC = {*names.OPENERS, "num_rows"}
"""Names that Milvus Lite exports, or shares with PyArrow."""


def without(monkeypatch: pytest.MonkeyPatch, missing: names.Reliance) -> None:
    """Let one name be found no more."""
    lookup = names.lookup

    def searched(owner: str, name: str) -> Any:
        if (owner, name) == (missing.owner, missing.name):
            raise AttributeError(name)
        return lookup(owner, name)

    monkeypatch.setattr(names, "lookup", searched)


def class_names(engine: Engine) -> list[str]:
    return [cls.__qualname__ for cls in type(engine._collection(engine_process.NAME)).__mro__]


@pytest.mark.alike(12)
@pytest.mark.parametrize("missing", names.RELIED_ON, ids=lambda reliance: reliance.label)
def test_a_name_that_is_missing_costs_speed_only(
    missing: names.Reliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, missing)
    assert f"{missing.label} is missing" in _internals.status()
    assert all(accelerator in _internals.status() for accelerator in missing.accelerators)
    for answers, truth in engine_process.run(tmp_path):
        assert answers == truth


def test_with_all_names_the_accelerators_serve(tmp_path: Path) -> None:
    for answers, truth in engine_process.run(tmp_path):
        assert answers == truth
    with closing(Engine(tmp_path / "milvus.db")) as engine:
        assert "FastReads" in class_names(engine)
    assert _internals.status() == f"{milvus_lite.__version__}, accelerated"


@pytest.mark.alike(1)
@pytest.mark.parametrize("accelerator", names.ACCELERATORS)
def test_another_release_with_other_private_names_serves(accelerator: str, tmp_path: Path) -> None:
    distinctive = {
        reliance.name
        for reliance in names.RELIED_ON
        if accelerator in reliance.accelerators
        and reliance.owner.startswith("milvus_lite")
        and "_" in reliance.name.strip("_")
    }
    renamed = sorted(distinctive - PUBLIC)
    assert renamed
    package = Path(milvus_lite.__file__).parent
    shutil.copytree(package, tmp_path / "milvus_lite")
    for module in (tmp_path / "milvus_lite").rglob("*.py"):
        text = module.read_text("utf-8")
        changed = re.sub(rf"\b({'|'.join(renamed)})\b", r"\1_2", text)
        if changed != text:
            module.write_text(changed, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.engine_process", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert accelerator in said["status"]
    assert all(f".{name} is missing" in said["status"] for name in renamed)
    assert said["pairs"]
    for answers, truth in said["pairs"]:
        assert answers == truth


@pytest.mark.parametrize("changed", ["uses", "takes"])
def test_a_name_that_has_changed_is_noticed(changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(reliance for reliance in names.RELIED_ON if getattr(reliance, changed))
    other = names.Reliance(first.accelerators, first.owner, first.name, **{changed: ("no_such",)})
    monkeypatch.setattr(names, "RELIED_ON", (other,))
    assert re.search(r"does not (use|take) no_such", _internals.status())
    for answers, truth in engine_process.run(tmp_path):
        assert answers == truth


async def test_the_log_says_once_and_the_statistics_say_that_it_is_slower(
    embedded: Caches, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lorekeeper")
    without(monkeypatch, next(reliance for reliance in names.RELIED_ON if reliance.name == "find_row"))
    _internals.report.cache_clear()
    for _ in range(2):
        cache = embedded.open()
        await cache.store_entities([make("a", "text")], "spells")
        details = (await cache.statistics()).details
        assert (
            "slower without fast reads: milvus_lite.storage.segment.Segment.find_row is missing"
            in details["Milvus Lite"]
        )
        await cache.close()
    assert sum("find_row is missing" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("error", [ImportError("cannot import name 'x'"), AttributeError("no attribute 'x'")])
def test_a_milvus_lite_that_cannot_be_used_is_an_error_that_says_what_to_do(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path) -> Any:
        raise error

    monkeypatch.setattr(_internals, "open_database", broken)
    with pytest.raises(MilvusConnectionError, match=r"'x'.*install LoreKeeper again"):
        Engine(tmp_path / "milvus.db")


# --- other users of the same libraries -------------------------------------------------------------------------------


def visible() -> dict[str, object]:
    """All that a program can see of Milvus Lite, FAISS and PyArrow, and of its own settings, by name."""
    seen: dict[str, object] = {}
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] not in ("milvus_lite", "faiss", "pyarrow") or module is None:
            continue
        for attribute, value in vars(module).items():
            seen[f"{name}.{attribute}"] = value
            if isinstance(value, type) and value.__module__ == name:
                seen |= {f"{name}.{attribute}.{key}": member for key, member in vars(value).items()}
    for name in ("milvus_lite", "faiss"):
        seen[f"level of {name}"] = logging.getLogger(name).level
    seen |= {"pandas": sys.modules.get("pandas"), "meta_path": list(sys.meta_path), "environ": dict(os.environ)}
    return seen | {"filters": list(warnings.filters), "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())}


def differences(before: dict[str, object]) -> list[str]:
    after = visible()
    private = ("_abc_impl", "__abstractmethods__")
    same = {
        k for k, v in before.items() if k in after and (after[k] is v or ((" " in k or "." not in k) and after[k] == v))
    }
    return sorted(k for k in before.keys() - same if not k.endswith(private))


def test_nothing_that_others_see_is_replaced_while_a_store_is_open_or_afterwards(tmp_path: Path) -> None:
    for reliance in names.RELIED_ON:
        importlib.import_module(reliance.owner.partition(":")[0])
    engine_process.run(tmp_path / "first")  # whatever is imported or computed at the first use is there now
    before = visible()
    assert len(before) > 1000
    with closing(Engine(tmp_path / "milvus.db")) as engine:
        engine.create_collection(engine_process.NAME, engine_process.COLUMNS, "{}")
        engine.upsert(engine_process.NAME, engine_process.rows_of(0, range(9)))
        engine.flush(engine_process.NAME)
        with closing(Engine(tmp_path / "other.db")):
            pass
        assert differences(before) == ["level of faiss", "level of milvus_lite"]
    assert differences(before) == []


def test_a_store_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    with closing(Engine(tmp_path / "milvus.db")):
        pass
    before = visible()
    with closing(Engine(tmp_path / "milvus.db")), pytest.raises(StoreTakenError):
        Engine(tmp_path / "milvus.db")
    assert differences(before) == []


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_settings_that_last_are_made_in_processes_of_our_own_only(own: bool, tmp_path: Path) -> None:
    program = (
        "import json, os, sys; from pathlib import Path; from lorekeeper import system; "
        f"{own} and system.claim_process(); from tests.support import engine_process; engine_process.run(Path({str(tmp_path)!r})); "
        "pandas = 'pandas' in sys.modules; import pyarrow; "
        "print(json.dumps([pyarrow.default_memory_pool().backend_name, pandas, 'ARROW_DEFAULT_MEMORY_POOL' in os.environ]))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    pool, pandas, variable = json.loads(done.stdout)
    assert done.stderr == ""
    assert (pool == "system", pandas, variable) == (own, not own, own)
