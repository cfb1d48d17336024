"""How a model is to be used: by its own files, else as its family is, else as sentence-transformers uses any model.

The files are those of sentence-transformers, https://sbert.net/docs/package_reference/sentence_transformer/models.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lorekeeper.embedding.families import DEFAULT_FAMILY, LAST, MEAN, Family, family_of
from lorekeeper.embedding.protocol import NO_PREFIXES, Prefixes
from lorekeeper.entities import parse_json
from lorekeeper.errors import EmbeddingError
from lorekeeper.regular_files import read_regular

T = TypeVar("T")

MAX_TOKENS = 512
"""Most tokens of a text that are read, whatever a model could read: passages are made shorter than that."""

_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The flags by which sentence-transformers before version 6 states the pooling."""

_PASSAGE_PROMPTS = ("document", "passage", "corpus")
"""Names of the prompt for passages, as ``SentenceTransformer.encode_document`` looks for them."""

_PLAIN_MODULES = {"Transformer", "Pooling", "Normalize"}


@dataclass(frozen=True)
class Usage:
    """How a model is to be used.

    Attributes:
        pooling: how the vectors of tokens become one, in the words of sentence-transformers; several joined by "+".
        max_tokens: longest text that is read, in tokens, at most `MAX_TOKENS`.
        prefixes: what stands before queries and passages.
        licence: of the weights, "" if it is not known.
        plain: whether pooling the vectors of the tokens, and scaling, is all that follows the transformer.
    """

    pooling: str
    max_tokens: int
    prefixes: Prefixes
    licence: str = ""
    plain: bool = True


DEFAULT_USAGE = Usage(
    DEFAULT_FAMILY.pooling, DEFAULT_FAMILY.max_tokens, DEFAULT_FAMILY.prefixes, DEFAULT_FAMILY.licence
)
"""How the default model is used, wherever its files are and whatever their folder is called."""


def usage_of(name: str, folder: Path) -> Usage:
    """How the model in a folder is to be used.

    Raises:
        EmbeddingError: a file of its configuration cannot be read.
    """
    family = family_of(name)
    modules = _modules(folder)
    pooling = _section(folder / modules.get("Pooling", ["1_Pooling"])[0] / "config.json")
    transformer = _section(folder / "sentence_bert_config.json")
    return Usage(
        pooling=_pooling(pooling) or (family.pooling if family else _usual_pooling(folder)),
        max_tokens=_max_tokens(transformer, family, folder),
        prefixes=_prefixes(_section(folder / "config_sentence_transformers.json"), family),
        licence=family.licence if family else "",
        plain=modules.keys() <= _PLAIN_MODULES
        and pooling.get("include_prompt") is not False
        and not transformer.get("do_lower_case"),
    )


def _modules(folder: Path) -> dict[str, list[str]]:
    """The folders of a model's modules by type, {} if it does not list them."""
    listed = _read(folder / "modules.json", list) or []
    modules: dict[str, list[str]] = {}
    for module in listed:
        if not isinstance(module, dict):
            raise _unreadable(folder / "modules.json", "it is not a list of modules")
        modules.setdefault(str(module.get("type")).rpartition(".")[2], []).append(str(module.get("path") or ""))
    return modules


def _pooling(config: Mapping[str, object]) -> str:
    """The pooling that a configuration states, "" if it states none."""
    stated = config.get("pooling_mode") or [mode for flag, mode in _LEGACY_POOLING.items() if config.get(flag)]
    return "+".join(map(str, stated)) if isinstance(stated, list) else str(stated)


def _usual_pooling(folder: Path) -> str:
    """What sentence-transformers takes if nothing is stated: the last token of a causal language model, else the mean."""
    architectures = _section(folder / "config.json").get("architectures")
    first = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    return LAST if first.endswith("ForCausalLM") else MEAN


def _max_tokens(transformer: Mapping[str, object], family: Family | None, folder: Path) -> int:
    """The longest text that a model reads, in tokens: never more than it has positions.

    sentence-transformers 6 states it in the tokenizer's configuration alone, where other makers leave what is usual.
    """
    positions = _whole(_section(folder / "config.json").get("max_position_embeddings"))
    usual = _whole(_section(folder / "tokenizer_config.json").get("model_max_length"))
    stated = _whole(transformer.get("max_seq_length")) or (usual if transformer else 0)
    limit = stated or (family.max_tokens if family else usual)
    return min(number for number in (limit, positions, MAX_TOKENS) if number)


def _prefixes(config: Mapping[str, object], family: Family | None) -> Prefixes:
    """The prompts of a configuration; each that it does not state, or leaves empty, is the family's."""
    known = family.prefixes if family else NO_PREFIXES
    prompts = config.get("prompts")
    stated = prompts if isinstance(prompts, dict) else {}
    default = str(config.get("default_prompt_name"))
    return Prefixes(
        query=_prompt(stated, ["query", default]) or known.query,
        passage=_prompt(stated, [*_PASSAGE_PROMPTS, default]) or known.passage,
    )


def _prompt(prompts: Mapping[str, object], names: Sequence[str]) -> str:
    return next((text for name in names if isinstance(text := prompts.get(name), str) and text), "")


def _whole(value: object) -> int:
    """A number of tokens, 0 if that is none; files say 10^30 where there is no limit."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 1:
        return 0
    return int(min(value, MAX_TOKENS))


def _section(path: Path) -> dict[str, object]:
    return _read(path, dict) or {}


def _read(path: Path, kind: type[T]) -> T | None:
    """The value of a JSON file, None if there is no such file."""
    try:
        value = parse_json(read_regular(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(value, kind):
        raise _unreadable(path, f"it is not a JSON {'object' if kind is dict else 'list'}")
    return value


def _unreadable(path: Path, why: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} of the embedding model cannot be read: {why}. Download the model again, or set "
        "LOREKEEPER_EMBEDDING_MODEL to another one"
    )
