"""Random vaults with secrets in them, and the same vaults as if their secrets had never been written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer, within

WHEN = 1_760_000_000
"""When all files were changed, in seconds since 1970."""

NAMES = "Ana Brannoch Cindel Dorrick Esmerel Fenwick Grimsby Holloway Isolde Jorunn Kestrel Lysander".split()
NOUNS = "bridge ferry witch oath lantern crypt harvest dragon key market storm mirror wolf tower ledger poison".split()
VERBS = "hides keeps sells fears owes guards steals remembers burns betrays carries promised".split()

FRONT: dict[str, Audience | None] = {
    "": None,
    "visibility: players": PLAYERS,
    "publish: true": PLAYERS,
    "visibility: dm": DM,
    "secret: true": DM,
    "visibility: [Ana, Bo]": ("Ana", "Bo"),
    "audience: Ana": ("Ana",),
    "visibility: mixed": None,
}
HEADINGS: dict[str, Audience | None] = {
    "Looks": None,
    "Deeds": None,
    "Public Knowledge": PLAYERS,
    "GM Notes": DM,
    "Secrets (GM only)": DM,
    "Player Handout": PLAYERS,
}
WRAPPERS: Sequence[str] = (
    "> [!dm]\n> {}",
    "> [!secret]- Hidden\n> {}",
    "%%\n{}\n%%",
    "<!-- dm:start -->\n{}\n<!-- dm:end -->",
    '<section class="secret">\n{}\n</section>',
)


@dataclass
class Words:
    """Makes sentences; every secret one holds a token of its own."""

    random: Random
    tokens: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        """A sentence about people and things of the vault."""
        who, what, whom = (self.random.choice(words) for words in (NAMES, NOUNS, NAMES))
        return f"{who} {self.random.choice(VERBS)} the {what} of {self.random.choice((whom, f'[[{whom}]]'))}."

    def secret(self) -> str:
        """A sentence that nobody must meet who may not."""
        self.tokens.append(f"zq{len(self.tokens)}xv")
        words = f"{self.random.choice(NOUNS)} {self.tokens[-1]} #tag{self.tokens[-1]}"
        return f"{self.sentence()} It is about the {words} and [[{self.random.choice(NAMES)}]]."


@dataclass(frozen=True)
class Vault:
    """A vault in two folders, and the tokens of what the viewer must not meet."""

    whole: Path
    cut: Path
    tokens: Sequence[str]


def secret_vault(folder: Path, random: Random, viewer: Viewer) -> Vault:
    """Write a random vault with secrets, and what the viewer may see of it, beside each other under equal names."""
    words = Words(random)
    whole, cut = folder / "whole" / "saga", folder / "cut" / "saga"
    for path in (whole, cut):
        path.mkdir(parents=True)
    for name in random.sample(NAMES, 9):
        path = Path(random.choice(("npcs", "places", ".", "GM only", "Sessions"))) / f"{name}.md"
        text, left = _note(name, path, words, viewer)
        _write(whole / path, text)
        if left is not None:
            _write(cut / path, left)
    return Vault(whole, cut, words.tokens)


def _note(name: str, path: Path, words: Words, viewer: Viewer) -> tuple[str, str | None]:
    """A note, and what the viewer may see of it; None if that is nothing."""
    random = words.random
    front = random.choice(list(FRONT))
    whole = FRONT[front] if FRONT[front] is not None or path.parts[0] != "GM only" else DM
    shared = viewer.sees(within(None, whole, DM))
    secret_front = "" if shared else f"\nalias: {name} {words.secret().split()[-3]}"
    head = f"---\n{front}\naliases: [{name} the Elder]\ntags: [npc, saga]{secret_front}\n---\n"
    first = words.sentence() if shared else words.secret()
    full, left = [f"{head}# {name}\n\n{first}"], [f"{head}# {name}\n\n{first}" if shared else ""]
    for _ in range(random.randint(0, 4)):
        heading = random.choice(list(HEADINGS))
        seen = viewer.sees(within(HEADINGS[heading], whole, DM))
        full.append(f"## {heading}\n\n{words.sentence() if seen else words.secret()}")
        if seen:
            left.append(full[-1])
        if random.random() < 0.5:
            wrapped = random.choice(WRAPPERS).format(words.secret())
            after = words.sentence() if seen else words.secret()
            full.append(f"{wrapped}\n\n{after}")
            if seen:
                left.append(after)
    visible = shared or len(left) > 1
    if not visible:
        return "\n\n".join(full), None
    opened = [] if shared else ["---\nvisibility: mixed\n---\n# " + name]
    return "\n\n".join(full), "\n\n".join([*opened, *filter(None, left)])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (WHEN, WHEN))
