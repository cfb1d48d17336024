"""The names of Milvus Lite and FAISS that are used here and that may change, and what is disabled without each."""

from __future__ import annotations

import importlib
import types
from dataclasses import dataclass
from typing import Any

COLLECTION = "milvus_lite.engine.collection:Collection"
COMPACTION = "milvus_lite.engine.compaction:CompactionManager"
DATABASE = "milvus_lite:MilvusLite"
DATA_FILE = "milvus_lite.storage.data_file"
DELETIONS = "milvus_lite.storage.delta_index:DeltaIndex"
FILTER = "milvus_lite.search.filter"
FLUSH = "milvus_lite.engine.flush"
IVF_FLAT = "milvus_lite.index.faiss_ivf_flat:FaissIvfFlatIndex"
QUANTIZED = "faiss:IndexIVFScalarQuantizer"
SEGMENT = "milvus_lite.storage.segment:Segment"

READS, SEGMENTS, WRITES = ACCELERATORS = ("fast reads", "lazy segments", "lean writes")

OPENERS = ("get_collection", "create_collection")
"""Methods of the database that create collections."""


@dataclass(frozen=True)
class Reliance:
    """A name that accelerators rely on.

    Attributes:
        accelerators: those that are disabled without it.
        owner: module, or ``module:class``, that has it.
        name: attribute of the owner.
        uses: names that its code must use.
        takes: parameters that it must have.
    """

    accelerators: tuple[str, ...]
    owner: str
    name: str
    uses: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its full name, for people."""
        return f"{self.owner.replace(':', '.')}.{self.name}"

    def problem(self) -> str | None:
        """Why the name cannot be used, None if it can."""
        try:
            member = lookup(self.owner, self.name)
        except (ImportError, AttributeError):
            return f"{self.label} is missing"
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if not set(self.uses) <= set(code.co_names if code else ()):
            return f"{self.label} does not use {' and '.join(self.uses)}"
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
        if not set(self.takes) <= set(parameters):
            return f"{self.label} does not take {' and '.join(self.takes)}"
        return None


RELIED_ON = (
    *(Reliance(ACCELERATORS, DATABASE, name, uses=("Collection",)) for name in OPENERS),
    Reliance((WRITES,), COLLECTION, "__init__", uses=("CompactionManager",)),
    Reliance((READS, SEGMENTS), COLLECTION, "_read_snapshot", uses=("_maintenance_lock",)),
    Reliance((SEGMENTS,), COLLECTION, "_refresh_segment_cache", uses=("Segment",)),
    Reliance((WRITES,), COLLECTION, "_trigger_flush", uses=("execute_flush",)),
    Reliance((WRITES,), FLUSH, "execute_flush", uses=("write_data_file",)),
    Reliance((WRITES,), DATA_FILE, "write_data_file", uses=("pq", "write_table")),
    Reliance((WRITES,), COMPACTION, "_compact_files", uses=("write_data_file",)),
    Reliance((WRITES,), COMPACTION, "_dedup_max_seq", uses=("_pk_name",), takes=("table",)),
    *(Reliance((READS,), DELETIONS, name) for name in ("is_deleted", "snapshot")),
    Reliance((READS,), COLLECTION, "_compile_filter"),
    Reliance((READS,), FILTER, "evaluate"),
    Reliance(
        (READS, SEGMENTS), IVF_FLAT, "search", uses=("_index",), takes=("queries", "top_k", "valid_mask", "params")
    ),
    Reliance((SEGMENTS,), IVF_FLAT, "build", uses=("faiss", "IndexIVFFlat"), takes=("vectors", "metric", "params")),
    Reliance((SEGMENTS,), IVF_FLAT, "load", uses=("faiss", "read_index"), takes=("path", "metric", "dim")),
    Reliance((SEGMENTS,), IVF_FLAT, "save", takes=("path",)),
    *(Reliance((READS,), SEGMENT, name) for name in ("find_row", "pks", "seqs")),
    *(Reliance((READS, SEGMENTS), SEGMENT, name) for name in ("indexes", "num_rows", "table")),
    *(Reliance((SEGMENTS,), SEGMENT, name) for name in ("vectors", "vector_data", "row_to_dict")),
    *(Reliance((SEGMENTS,), QUANTIZED, name, takes=("x",)) for name in ("train", "add")),
    Reliance((SEGMENTS,), "faiss:ScalarQuantizer", "QT_8bit_direct_signed"),
    Reliance(
        (SEGMENTS,),
        SEGMENT,
        "__init__",
        takes=("file_path", "partition", "pk_field", "vector_field", "pks", "seqs", "vectors", "table"),
    ),
    Reliance((SEGMENTS,), SEGMENT, "load", takes=("file_path", "partition", "pk_field", "vector_field")),
    Reliance((SEGMENTS,), SEGMENT, "build_or_load_index", takes=("spec", "index_dir")),
    Reliance((SEGMENTS,), SEGMENT, "index_file_path", takes=("index_dir", "index_type", "field_name")),
    Reliance((SEGMENTS,), SEGMENT, "attach_index", takes=("index", "field_name")),
    *(
        Reliance((SEGMENTS,), "faiss", name)
        for name in (
            *("IndexIVFScalarQuantizer", "read_index", "knn", "IO_FLAG_MMAP_IFC"),
            *("SearchParametersIVF", "IDSelectorBitmap"),
        )
    ),
    *(
        Reliance((SEGMENTS,), "faiss:ClusteringParameters", name)
        for name in ("min_points_per_centroid", "max_points_per_centroid", "niter")
    ),
)


def problems() -> dict[str, list[str]]:
    """The accelerators that are left out, each with the reasons."""
    reasons: dict[str, list[str]] = {}
    for reliance in RELIED_ON:
        if problem := reliance.problem():
            for accelerator in reliance.accelerators:
                reasons.setdefault(accelerator, []).append(problem)
    return reasons


def lookup(owner: str, name: str) -> Any:
    """An attribute of a module or class; ImportError or AttributeError if there is none."""
    module, _, class_name = owner.partition(":")
    namespace: Any = importlib.import_module(module)
    return getattr(getattr(namespace, class_name) if class_name else namespace, name)


def lookup_class(owner: str) -> Any:
    """A class to inherit from; ``object`` if it is missing, since the accelerators that need it are then left out."""
    module, _, class_name = owner.partition(":")
    try:
        return lookup(module, class_name)
    except (ImportError, AttributeError):
        return object


def rebound(function: Any, **names: Any) -> Any:
    """A copy of a function whose code finds other objects under these global names; the function itself stays as it is."""
    original = getattr(function, "__func__", function)
    code, namespace = original.__code__, {**original.__globals__, **names}
    copy = types.FunctionType(code, namespace, original.__name__, original.__defaults__, original.__closure__)
    copy.__kwdefaults__ = original.__kwdefaults__
    return copy
