"""Writes a vault of generated notes: as long, as linked and as named as those of real vaults, in words of the phrases that ship.

python -m benchmarks.generated_vault FOLDER [--notes 5000] [--seed 18]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import sys
from datetime import date, timedelta
from pathlib import Path

from lorekeeper.text.phrases import PHRASES

NOTES, SEED = 5_000, 18

LINKS_PER_NOTE = 4
DANGLING = 0.08
"""Share of the links that lead nowhere."""

WORDS_MEDIAN, WORDS_SPREAD, WORDS_MOST = 350, 0.7, 3_227
"""Of a note: medians of real vaults are 157 to 1,086; lengths are distributed log-normally."""

SECTION_MEDIAN, SECTION_SPREAD = 42, 0.95
"""Words of a section, likewise: medians are 27 to 59, and one in twenty has about 200."""

FOLDERS = {
    "NPCs": 36, "World/Locations": 22, "Lore": 12, "Items": 10, "Sessions": 8, "Quests": 6, "Factions": 6,
}  # fmt: skip
"""Folders, and how many of a hundred notes are in them."""

HEADINGS = (
    "Description", "History", "What Happens", "Secrets (GM only)", "Rumours", "Relations", "Loot", "Hooks", "Appearance", "Goals",
)  # fmt: skip

TAGS = ("npc", "npc/ally", "npc/foe", "place", "arc/one", "arc/two", "open", "closed", "undead", "harbour")

FIRST_DAY = date(2024, 1, 5)


class GeneratedVault:
    """The notes of a vault that is not written yet. Equal seeds give equal vaults.

    Args:
        number: of notes.
        seed: of all that is left to chance.
    """

    def __init__(self, number: int = NOTES, seed: int = SEED) -> None:
        self._chance = random.Random(seed)
        self._texts, self._words = _vocabulary()
        folders = self._chance.choices(list(FOLDERS), list(FOLDERS.values()), k=number)
        self._sessions = itertools.count(1)
        self.paths = [f"{folder}/{self._title(folder, place)}.md" for place, folder in enumerate(folders)]

    def write(self, root: Path) -> None:
        """Write all notes into a folder."""
        for path in self.paths:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.note(path), "utf-8")

    def note(self, path: str) -> str:
        """The text of a note: front matter, facts, sections, links."""
        title = path.rsplit("/", 1)[-1].removesuffix(".md")
        left = min(int(self._chance.lognormvariate(_log(WORDS_MEDIAN), WORDS_SPREAD)), WORDS_MOST)
        sections = []
        while left > 0:
            length = max(8, int(self._chance.lognormvariate(_log(SECTION_MEDIAN), SECTION_SPREAD)))
            sections.append(self.prose(length))
            left -= length
        for _ in range(self._chance.randint(0, 2 * LINKS_PER_NOTE)):
            place = self._chance.randrange(len(sections))
            sections[place] += f" See [[{self._target()}]]."
        below = [f"## {self._chance.choice(HEADINGS)}\n{text}\n" for text in sections[1:]]
        return "\n".join([self._front(path, title), f"# {title}", f"**Status**: alive\n\n{sections[0]}\n", *below])

    def _title(self, folder: str, place: int) -> str:
        if folder == "Sessions":
            return f"Session {next(self._sessions)}"
        words = self._chance.sample(self._words, 2)
        form = self._chance.choice(("{0} {1}", "The {0} of {1}", "{0} the {1}", "Old {0} {1}"))
        return f"{form.format(*map(str.capitalize, words))} {place}" if place % 9 == 0 else form.format(
            *map(str.capitalize, words)
        )  # fmt: skip

    def _front(self, path: str, title: str) -> str:
        lines = ["---", f"tags: [{', '.join(self._chance.sample(TAGS, self._chance.randint(0, 3)))}]"]
        if self._chance.random() < 0.6:
            alias = " ".join(map(str.capitalize, self._chance.sample(self._words, self._chance.randint(1, 2))))
            lines.append(f"aliases: [{alias}, {title.split()[-1]} {alias.split()[0]}]")
        if path.startswith("Sessions/"):
            number = int(title.split()[-1])
            lines.append(f"date: {FIRST_DAY + timedelta(7 * number)}")
        return "\n".join([*lines, "---"])

    def prose(self, words: int) -> str:
        """Sentences of the compendium in another order."""
        text: list[str] = []
        while len(text) < words:
            text += self._chance.choice(self._texts).split()
        return " ".join(text[:words])

    def _target(self) -> str:
        if self._chance.random() < DANGLING:
            return " ".join(map(str.capitalize, self._chance.sample(self._words, 2)))
        return self._chance.choice(self.paths).rsplit("/", 1)[-1].removesuffix(".md")


def _vocabulary() -> tuple[list[str], list[str]]:
    """The sentences of the descriptions that ship, and the words that are in them or their names."""
    texts: list[str] = []
    words: set[str] = set()
    for file in sorted(PHRASES.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            texts += re.split(r"(?<=[.!?])\s+", entry.get("description") or "")
            words |= set(re.findall(r"[a-z]{4,}", f"{entry['name']} {entry.get('description')}".lower()))
    return [text for text in texts if text], sorted(words)


def _log(median: float) -> float:
    return math.log(median)


def main() -> int:
    """Write a vault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=NOTES)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    GeneratedVault(options.notes, options.seed).write(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
