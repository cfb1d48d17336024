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
    '<div class="box gm"><div>\n{}\n</div></div>',
    "> [!warning]- GM Notes\n> {}",
    "- [ ] **Secret**: {}",
    "<details><summary>DM only</summary>\n{}\n</details>",
)
LINKS = ("{0}", "[[{0}]]", "[[{0}|a stranger]]", "[the other](<../npcs/{0}.md>)", "[[GM only/{0}|{1}]]", "![[{0}]]")
"""How a sentence names somebody, whose note may be a secret."""


@dataclass
class Words:
    """Makes sentences; every secret one holds a token of its own."""

    random: Random
    tokens: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        """A sentence about people and things of the vault."""
        who, what, whom = (self.random.choice(words) for words in (NAMES, NOUNS, NAMES))
        named = self.random.choice(LINKS).format(whom, self.random.choice(NAMES))
        return f"{who} {self.random.choice(VERBS)} the {what} of {named}."

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
    trade = random.choice(NOUNS) if shared else words.secret().split()[-3]
    head = f"---\n{front}\naliases: [{name} the Elder]\ntags: [npc, saga]\ntrade: {trade}{secret_front}\n---\n"
    first = words.sentence() if shared else words.secret()
    full, left = [f"{head}# {name}\n\n{first}"], [f"{head}# {name}\n\n{first}" if shared else ""]
    _add(full, left, *_infobox(words, seen=shared))
    above: Audience | None = None
    above_seen = True
    for _ in range(random.randint(0, 4)):
        heading, depth = random.choice(list(HEADINGS)), random.choice((2, 2, 3))
        mark = HEADINGS[heading] if depth == 2 or above is None else _both(HEADINGS[heading], above)
        above = mark if depth == 2 else above
        seen = viewer.sees(within(mark, whole, DM))
        above_seen = seen if depth == 2 else above_seen
        text = f"{heading}\n\n{words.sentence() if seen else words.secret()} Trade: `=this.trade`."
        full.append(f"{'#' * depth} {text}")
        if seen:
            left.append(f"{'#' * (depth if above_seen else 2)} {text}")
        _add(
            full, left, *random.choice((_statblock, _table, _nested, _embedded, _footnotes, _nothing))(words, seen=seen)
        )
        if random.random() < 0.5:
            wrapped = random.choice(WRAPPERS).format(words.secret())
            after = words.sentence() if seen else words.secret()
            full.append(f"{wrapped}\n\n{after}")
            if seen:
                left.append(after)
    left = list(filter(None, left))
    visible = bool(left)
    if not visible:
        return "\n\n".join(full), None
    opened = [] if shared else ["---\nvisibility: mixed\n---\n# " + name]
    return "\n\n".join(full), "\n\n".join([*opened, *left])


def _both(part: Audience | None, above: Audience) -> Audience:
    return within(part, above, DM)


Piece = tuple[str, str]
"""A piece of a note, and what is left of it; "" for nothing."""


def _add(full: list[str], left: list[str], piece: str, rest: str) -> None:
    full += filter(None, [piece])
    left += filter(None, [rest])


def _nothing(words: Words, *, seen: bool) -> Piece:
    return "", ""


def _infobox(words: Words, *, seen: bool) -> Piece:
    """A callout with a table, of which cells are secret: by the key of their row, or in a comment."""
    if words.random.random() < 0.5:
        return "", ""
    home, hidden = words.random.choice(NOUNS), words.secret().split()[-3]
    rows = [f"> | Home | the {home} |" if seen else f"> | Home | {words.secret().split()[-3]} |"]
    secret = [f"> | Secret | {words.secret()} |", f"> | Guild | the {home} %%{hidden}%% |"]
    head = "> [!infobox]\n> | | |\n> |---|---|"
    left = "\n".join([head, *rows, f"> | Guild | the {home} |"]) if seen else ""
    return "\n".join([head, *rows, *secret]), left


def _statblock(words: Words, *, seen: bool) -> Piece:
    """A stat block, as secret as the section that it is in."""
    told = words.sentence() if seen else words.secret()
    name = f"{words.random.choice(NOUNS).title()} Beast" + ("" if seen else f" {words.tokens[-1]}")
    block = (
        f"```statblock\nname: {name}\nac: 13\nhp: 22\ntraits:\n  - name: Habit\n    desc: {told.split('#')[0]!r}\n```"
    )
    return block, block if seen else ""


def _table(words: Words, *, seen: bool) -> Piece:
    """A table to roll on, as secret as the section that it is in, of which one row is secret, and a secret one below it."""
    column, caption = words.random.choice(NOUNS), words.random.choice(("", f"**{words.random.choice(NOUNS)}**\n\n"))
    head = f"{caption}| d6 | {column} |\n|---|---|"
    first, last = (f"| {n} | {words.sentence() if seen else words.secret()} |" for n in ("1-4", "6"))
    hidden = f"%%\n| 5 | {words.secret()} |\n%%"
    plot = f"> [!dm]\n> | d4 | {words.secret().split()[-3]} |\n> |---|---|\n> | 1-4 | {words.secret()} |"
    return "\n".join([head, first, hidden, last, "", plot]), "\n".join([head, first, last]) if seen else ""


def _nested(words: Words, *, seen: bool) -> Piece:
    """A callout with a secret one in it."""
    open_part = f"> [!note] Hearsay\n> {words.sentence() if seen else words.secret()}"
    return f"{open_part}\n> > [!dm]\n> > {words.secret()}", open_part if seen else ""


def _embedded(words: Words, *, seen: bool) -> Piece:
    """An embedded note, which may be a secret, or have secrets, and one within a secret."""
    whole = f"![[{words.random.choice(NAMES)}{words.random.choice(('', '#Deeds', '#GM Notes'))}]]"
    return f"{whole}\n\n> [!dm]\n> ![[{words.random.choice(NAMES)}]] {words.secret()}", whole if seen else ""


def _footnotes(words: Words, *, seen: bool) -> Piece:
    """Two footnotes, one of them secret."""
    number = words.random.randint(10, 10**6)
    told = words.sentence() if seen else words.secret()
    open_note, hidden = f"[^{number}]: {told}", f"[^k{number}]: DM: {words.secret()}"
    left = f"It rains[^{number}].\n\n{open_note}"
    return f"It rains[^{number}][^k{number}].\n\n{open_note}\n\n{hidden}", left if seen else ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (WHEN, WHEN))
