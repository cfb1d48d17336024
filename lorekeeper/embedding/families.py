"""Families of embedding models: how the model cards say that each is to be used.

Sources are the cards of the models on the hub, and the ``1_Pooling/config.json`` and prompts beside them:

- MiniLM, mpnet: sentence-transformers/all-MiniLM-L6-v2, all-MiniLM-L12-v2, all-mpnet-base-v2, multi-qa-mpnet-base-dot-v1,
  paraphrase-multilingual-mpnet-base-v2
- bge: BAAI/bge-small-en-v1.5, bge-small-zh-v1.5, bge-m3 (Xiao et al., "C-Pack", 2023; Chen et al., "M3-Embedding", 2024)
- gte: thenlper/gte-base, Alibaba-NLP/gte-base-en-v1.5, gte-multilingual-base, gte-Qwen2-1.5B-instruct (Li et al., "Towards
  General Text Embeddings with Multi-stage Contrastive Learning", 2023)
- e5: intfloat/e5-base-v2, multilingual-e5-base, multilingual-e5-large-instruct, e5-mistral-7b-instruct (Wang et al., "Text
  Embeddings by Weakly-Supervised Contrastive Pre-training", 2022)
- arctic-embed: Snowflake/snowflake-arctic-embed-m-v1.5, -m-long, -l-v2.0 (Merrick et al., "Arctic-Embed", 2024)
- nomic: nomic-ai/nomic-embed-text-v1.5, nomic-embed-text-v2-moe (Nussbaum et al., "Nomic Embed", 2024)
- embeddinggemma: google/embeddinggemma-300m (Schechter Vera et al., "EmbeddingGemma", 2025)
- Qwen3: Qwen/Qwen3-Embedding-0.6B (Zhang et al., "Qwen3 Embedding", 2025)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lorekeeper.embedding.protocol import NO_PREFIXES, Prefixes

MEAN, CLS, LAST = "mean", "cls", "lasttoken"
"""How the vectors of a text's tokens become one, in the words of sentence-transformers: their mean, the first, the last."""


@dataclass(frozen=True)
class Family:
    """Models that are used alike.

    Attributes:
        name: for people.
        pattern: of the models' names in lower case, a regular expression between word boundaries.
        pooling: `MEAN`, `CLS` or `LAST`.
        max_tokens: longest text in tokens that the models read.
        licence: of the weights.
        prefixes: what the models expect before queries and passages.
        multilingual: whether a text and its translation are near each other.
        unrelated: cosine similarity that texts have at least, however unrelated: 0 where that is not known.
    """

    name: str
    pattern: str
    pooling: str
    max_tokens: int
    licence: str
    prefixes: Prefixes = NO_PREFIXES
    multilingual: bool = False
    unrelated: float = 0.0


_REPRESENT = Prefixes("Represent this sentence for searching relevant passages: ")
_REPRESENT_ZH = Prefixes("为这个句子生成表示以用于检索相关文章：")
_QUERY = Prefixes("query: ")
_QUERY_PASSAGE = Prefixes("query: ", "passage: ")
_SEARCH = Prefixes("search_query: ", "search_document: ")
_TASK = Prefixes("task: search result | query: ", "title: none | text: ")
_INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_INSTRUCT = Prefixes(f"{_INSTRUCTION} ")
_INSTRUCT_QWEN3 = Prefixes(_INSTRUCTION)

E5_UNRELATED = 0.7
"""The cards of the e5 models: they are trained with a low temperature, so that similarities are from 0.7 to 1."""

FAMILIES = (
    Family("all-MiniLM-L6-v2", r"all-minilm-l6-v2", MEAN, 256, "Apache-2.0"),
    Family("multi-qa, dot product", r"multi-qa-.*-dot", CLS, 512, "not stated"),
    Family("multi-qa, cosine", r"multi-qa-.*-cos", MEAN, 512, "not stated"),
    Family("MiniLM", r"minilm", MEAN, 128, "Apache-2.0"),
    Family("mpnet, multilingual", r"multilingual-mpnet", MEAN, 128, "Apache-2.0", multilingual=True),
    Family("mpnet", r"mpnet", MEAN, 384, "Apache-2.0"),
    Family("bge-m3", r"bge-m3", CLS, 8192, "MIT", multilingual=True),
    Family("bge, Chinese", r"bge-.*zh", CLS, 512, "MIT", _REPRESENT_ZH),
    Family("bge", r"bge", CLS, 512, "MIT", _REPRESENT),
    Family("gte-Qwen2", r"gte-qwen2", LAST, 32768, "Apache-2.0", _INSTRUCT, multilingual=True),
    Family("gte, multilingual", r"gte-multilingual", CLS, 8192, "Apache-2.0", multilingual=True),
    Family("gte, from 2024", r"gte-(.*en-v1\.5|modernbert)", CLS, 8192, "Apache-2.0"),
    Family("gte", r"gte", MEAN, 512, "MIT"),
    Family("e5-mistral", r"e5-mistral", LAST, 4096, "MIT", _INSTRUCT),
    Family(
        "multilingual-e5, instructed",
        r"e5-.*instruct",
        MEAN,
        512,
        "MIT",
        _INSTRUCT,
        multilingual=True,
        unrelated=E5_UNRELATED,
    ),
    Family(
        "multilingual-e5",
        r"multilingual-e5",
        MEAN,
        512,
        "MIT",
        _QUERY_PASSAGE,
        multilingual=True,
        unrelated=E5_UNRELATED,
    ),
    Family("e5", r"e5", MEAN, 512, "MIT", _QUERY_PASSAGE, unrelated=E5_UNRELATED),
    Family("arctic-embed 2", r"arctic-embed(2|.*-v2\.0)", CLS, 8192, "Apache-2.0", _QUERY, multilingual=True),
    Family("arctic-embed, long", r"arctic-embed-m-long", CLS, 2048, "Apache-2.0", _REPRESENT),
    Family("arctic-embed", r"arctic-embed", CLS, 512, "Apache-2.0", _REPRESENT),
    Family("nomic 2", r"nomic-embed-text-v2", MEAN, 512, "Apache-2.0", _SEARCH, multilingual=True),
    Family("nomic", r"nomic(?!-embed-code)|modernbert-embed", MEAN, 8192, "Apache-2.0", _SEARCH),
    Family("embeddinggemma", r"embeddinggemma", MEAN, 2048, "Gemma Terms of Use", _TASK, multilingual=True),
    Family("Qwen3", r"qwen3-embedding", LAST, 32768, "Apache-2.0", _INSTRUCT_QWEN3, multilingual=True),
)
"""All families; the first whose pattern is in a model's name counts."""

DEFAULT_FAMILY = FAMILIES[0]
"""That of the model which LoreKeeper uses by default."""


def family_of(name: str) -> Family | None:
    """The family of a model, by its own name, without the owner's and a tag: ``BAAI/bge-m3:latest`` is ``bge-m3``."""
    own = name.replace("\\", "/").rstrip("/").rpartition("/")[2].partition(":")[0].casefold()
    return next((f for f in FAMILIES if re.search(rf"(?<![a-z0-9])(?:{f.pattern})(?![a-z0-9])", own)), None)
