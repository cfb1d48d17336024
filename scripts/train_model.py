"""Train all-MiniLM-L6-v2 for questions, on the shipped phrases, and measure what that is worth on books left out.

    python scripts/train_model.py CORPUS OUT [--leave-out KEY ...] [--steps 3500] [--share 0.3 0.5] [--queries FILE] [--seed 13]

Only questions are embedded with the trained model: passages keep the vectors of the original, so that no library has to be
embedded again. A phrase of an entry is trained towards the entry's passages, embedded without phrases, against all other
passages of its type, the nearest of which count most (the full softmax that in-batch and mined negatives approximate:
Henderson et al. 2017, Karpukhin et al. 2020). Names, misspelt names and words of passages are trained on beside the phrases,
so that they keep their places. The weights are then averaged with the original's, which keeps what it knew (Wortsman et al.
2022); --share is the part of the trained ones, and each value is measured.

Entries that occur only in books left out are not trained on: their phrases are the test. With --queries, graded queries
without filters are ranked too (see benchmarks/quality.py). Both are ranked by meaning alone. 3,500 steps take half an hour on
two cores. OUT becomes a model folder with the last share. What came of it is in benchmarks/TUNING.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoTokenizer

from benchmarks.quality import ndcg
from lorekeeper.embedding.model import MINILM, find_model
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.folding import fold
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.text.keywords import content_words
from lorekeeper.text.names import base_name
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_of

BATCH, SCALE, RATE, WARM_UP = 64, 20.0, 3e-5, 0.05
TOKENS = 48
"""Word pieces of a question."""

OTHERS = 0.25
"""Names and words of passages to train on, for each phrase."""

TESTED = 1500
LEFT_OUT = ("deepm", "tob2", "vom", "a5e-ddg")

Name = tuple[str, str]
"""Entity type and base name."""

Asked = list[tuple[str, str, str, dict[str, int]]]
"""Kind, entity type, text, and the grades of the relevant names."""


@dataclass(frozen=True)
class Shelf:
    """All entries by name.

    Attributes:
        texts: passages as they are embedded, without phrases.
        owners: for each text, its name.
        phrases: by name.
        documents: by name, those in which it occurs.
        titles: the first name of each as it is written.
    """

    texts: list[str] = field(default_factory=list)
    owners: list[Name] = field(default_factory=list)
    phrases: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    documents: defaultdict[Name, set[str]] = field(default_factory=lambda: defaultdict(set))
    titles: dict[Name, str] = field(default_factory=dict)


def read(corpus: Path) -> Shelf:
    """All entries of a corpus that are not documents."""
    shelf, seen = Shelf(), set[str]()
    for entity, _ in Reader([corpus], None, ImportReport()).read():
        if entity.type == "documents":
            continue
        name, hint = (entity.type, base_name(entity.name)), hint_of(entity)
        shelf.documents[name].add(entity.document)
        shelf.titles.setdefault(name, entity.name)
        shelf.phrases[name] = hint.asked_as if hint else ()
        texts = [p.embedded for p in passages(entity) if p.embedded not in seen]
        seen.update(texts)
        shelf.texts.extend(texts)
        shelf.owners.extend([name] * len(texts))
    return shelf


@dataclass(frozen=True)
class Index:
    """Vectors of all passages, by type.

    Attributes:
        vectors: by type, shape (passages, dimension).
        owners: by type, the number of each passage's name.
        names: numbers of the names.
    """

    vectors: dict[str, torch.Tensor]
    owners: dict[str, torch.Tensor]
    names: dict[Name, int]

    @classmethod
    def of(cls, shelf: Shelf, vectors: Vectors, without: set[Name]) -> Index:
        """The passages of a shelf whose names are not left out."""
        names = {name: number for number, name in enumerate(dict.fromkeys(shelf.owners))}
        rows: dict[str, list[int]] = defaultdict(list)
        for row, owner in enumerate(shelf.owners):
            if owner not in without:
                rows[owner[0]].append(row)
        return cls(
            {kind: torch.from_numpy(vectors[places]) for kind, places in rows.items()},
            {kind: torch.tensor([names[shelf.owners[row]] for row in places]) for kind, places in rows.items()},
            names,
        )


class Encoder:
    """The model, with mean pooling and vectors of length 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = AutoModel.from_pretrained(folder, local_files_only=True)
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """Vectors of shape (len(texts), dimension)."""
        read = self._tokenizer(list(texts), padding=True, truncation=True, max_length=TOKENS, return_tensors="pt")
        with torch.autocast("cpu", torch.bfloat16):
            states = self.model(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((states.float() * mask).sum(1) / mask.sum(1), dim=1)

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The same for many texts, without gradients."""
        self.model.eval()
        parts = [self(texts[start : start + BATCH]).numpy() for start in range(0, len(texts), BATCH)]
        self.model.train()
        return np.concatenate(parts)


# --- training --------------------------------------------------------------------------------------------------------


def train(encoder: Encoder, shelf: Shelf, index: Index, names: Sequence[Name], steps: int, seed: int) -> None:
    """Train for a number of steps; the rate rises at first and then falls to nothing."""
    chance = random.Random(seed)
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(encoder.model.parameters(), lr=RATE, weight_decay=0.01)
    losses: list[float] = []
    encoder.model.train()
    for step, (kind, batch) in zip(range(steps), batches(shelf, names, chance), strict=False):
        share = step / steps
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(share / WARM_UP, (1 - share) / (1 - WARM_UP)) + 1e-8
        loss = _loss(encoder, index, kind, batch)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
        if step % 250 == 249:
            print(f"step {step + 1}  loss {statistics.fmean(losses[-250:]):.3f}", flush=True)


def batches(shelf: Shelf, names: Sequence[Name], chance: random.Random) -> Iterator[tuple[str, list[tuple[str, Name]]]]:
    """Questions with the names that they ask for, of one type each time, without end."""
    texts: dict[Name, list[str]] = defaultdict(list)
    for text, owner in zip(shelf.texts, shelf.owners, strict=True):
        texts[owner].append(text)
    while True:
        pairs = [(phrase, name) for name in names for phrase in shelf.phrases[name]]
        others = chance.choices(names, k=int(OTHERS * len(pairs)))
        pairs += [(other_question(shelf.titles[name], chance.choice(texts[name]), chance), name) for name in others]
        chance.shuffle(pairs)
        groups: dict[str, list[tuple[str, Name]]] = defaultdict(list)
        for pair in pairs:
            groups[pair[1][0]].append(pair)
        ready = [(kind, group[n : n + BATCH]) for kind, group in groups.items() for n in range(0, len(group), BATCH)]
        chance.shuffle(ready)
        yield from ready


def other_question(title: str, text: str, chance: random.Random) -> str:
    """A name, one with a slip of the finger, or some words of a passage that stand together."""
    kind, name = chance.random(), fold(title)
    words = content_words(fold(chance.choice(re.split(r"(?<=[.!?])\s+", text))))
    if kind < 0.2 or (kind > 0.4 and len(words) < 3) or len(name) < 4:
        return name
    if kind < 0.4:
        place = chance.randrange(1, len(name) - 1)
        swapped = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
        return chance.choice([name[:place] + name[place + 1 :], swapped, name[:place] + name[place] + name[place:]])
    first = chance.randrange(max(1, len(words) - 5))
    return " ".join(words[first : first + chance.randrange(3, 6)])


def _loss(encoder: Encoder, index: Index, kind: str, batch: Sequence[tuple[str, Name]]) -> torch.Tensor:
    """Cross entropy of the passages of each question's name among all passages of its type."""
    scores = encoder([text for text, _ in batch]) @ index.vectors[kind].T * SCALE
    own = index.owners[kind][None] == torch.tensor([index.names[name] for _, name in batch])[:, None]
    right = scores.masked_fill(~own, -torch.inf)
    return (torch.logsumexp(scores, 1) - torch.logsumexp(right, 1)).mean()


def averaged(start: dict[str, torch.Tensor], trained: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
    """Weights between two models'."""
    return {
        name: torch.lerp(weight, trained[name], share) if weight.is_floating_point() else weight
        for name, weight in start.items()
    }


# --- measuring -------------------------------------------------------------------------------------------------------


def left_out_phrases(shelf: Shelf, names: Sequence[Name], chance: random.Random) -> Asked:
    """Phrases of names that were not trained on, each with the one right answer."""
    pairs = [(name, phrase) for name in names for phrase in shelf.phrases[name]]
    chosen = chance.sample(pairs, min(TESTED, len(pairs)))
    return [("books left out", name[0], phrase, {shelf.titles[name]: 1}) for name, phrase in chosen]


def graded(path: Path) -> Asked:
    """Graded queries without filters."""
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [(q["kind"], q["type"], q["query"], q["relevant"]) for q in found if not q.get("filters")]


def quality(encoder: Encoder, shelf: Shelf, vectors: Vectors, asked: Asked) -> dict[str, float]:
    """nDCG@10 by kind, by meaning alone."""
    values: dict[str, list[float]] = defaultdict(list)
    for (kind, wanted, _, relevant), question in zip(asked, encoder.vectors([q[2] for q in asked]), strict=True):
        owners = (shelf.owners[row] for row in np.argsort(-(vectors @ question)))
        names = (owner for owner in owners if wanted in ("any", owner[0]))
        first = dict.fromkeys(name for _, name in zip(range(100), names, strict=False))
        values[kind].append(ndcg(relevant, [shelf.titles[name] for name in first])[0])
    return {kind: round(statistics.fmean(found), 3) for kind, found in sorted(values.items())}


def embedded(texts: Sequence[str]) -> Vectors:
    """Vectors of passages by the original model."""
    return OnnxProvider(find_model(MINILM, offline=True)).embed(texts)


def main() -> None:
    """Train, measure, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--leave-out", nargs="*", default=list(LEFT_OUT))
    parser.add_argument("--steps", type=int, default=3500)
    parser.add_argument("--share", type=float, nargs="+", default=[0.3, 0.5])
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    shelf = read(arguments.corpus)
    left_out = {name for name, documents in shelf.documents.items() if documents <= set(arguments.leave_out)}
    names = sorted(name for name in shelf.phrases if shelf.phrases[name] and name not in left_out)
    asked = left_out_phrases(shelf, sorted(left_out), random.Random(arguments.seed))
    asked += graded(arguments.queries) if arguments.queries else []
    print(f"{len(names)} names to train on, {len(left_out)} left out, {len(shelf.texts)} passages", flush=True)
    vectors = embedded(shelf.texts)
    encoder = Encoder(find_model(MINILM, offline=True).path)
    print("original ", quality(encoder, shelf, vectors, asked), flush=True)
    start = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    train(encoder, shelf, Index.of(shelf, vectors, left_out), names, arguments.steps, arguments.seed)
    trained = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    for share in arguments.share:
        encoder.model.load_state_dict(averaged(start, trained, share))
        print(f"share {share}", quality(encoder, shelf, vectors, asked), flush=True)
    shutil.copytree(encoder.folder, arguments.out, dirs_exist_ok=True)
    save_file(encoder.model.state_dict(), arguments.out / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
