"""Notes as people write them, cut up and put together again at random: half of a table, a block without its end, odd values."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

NOTES = (
    "---\ntype: npc\naliases: [The Ferrywoman]\ntags: [river, guild]\nplayer: false\n---\n# Mira\n\n**Role**: ferrywoman\n"
    "**Home:** [[Keep|the keep]]\n\nShe rows %%and lies%% at night.\n\n## Secrets (GM only)\n\n- Serves [[Wyrm#Lair]].\n",
    "# Tavern\n\n## Rumours\n\n| d6 | Rumour |\n|---|---|\n| 1-2 | Rats. |\n| 3-5 | A well. 6 A ghost. |\n\n"
    "| d100 | Guest | d4 | Drink |\n|--|--|--|--|\n| 01-50 | Otto | 1 | ale |\n| 51-00 | Ana | 2 | tea |\n",
    "---\nstatblock: true\nname: Reed Ghoul\nac: 13\nhp: 22 (4d8 + 4)\nstats: [14, 15, 12, 6, 10, 8]\ncr: 1/2\n"
    "actions:\n  - name: Claw\n    desc: 'Melee Weapon Attack: +4 to hit, reach 5 ft."
    " Hit: 6 (1d8 + 2) slashing damage.'\n---\nIt waits.\n",
    "# Session 3 - 2024-05-07\n\n```statblock\nmonster: Reed Ghoul\nname: Old Grim\nhp: 40\n```\n\n"
    "> [!dm]- Plot\n> He is alive.\n\n"
    "- [ ] pay Otto\n- [x] find the boat\n\n**GM:** he lies.\n\nMet [[Otto]] and ![[Keep#Cellar]].[^1]\n\n[^1]: By the well.\n",
    "### Reed Ghoul\n*Medium undead, neutral evil*\n\n**Armor Class** 13\n**Hit Points** 22 (4d8 + 4)\n**Speed** 30 ft.\n\n"
    "| STR | DEX | CON | INT | WIS | CHA |\n|--|--|--|--|--|--|\n| 14 (+2) | 15 (+2) | 12 (+1) | 6 (-2) | 10 (+0) | 8 (-1) |\n\n"
    "**Senses** passive Perception 10\n**Languages** Common\n**Challenge** 1/2 (100 XP)\n\n### Actions\n\n***Claw.*** It claws.\n",
    "---\nname: Ana\nclass: Rogue\nlevel: 3\nplayer: Bo\nspells: [Light]\n---\n\n"
    "| Ability | Score |\n|--|--|\n| STR | 10 |\n| DEX | 16 |\n\n"
    "**HP:** 21 / 24\n**AC:** 14\n\n## Inventory\n\n- 3 x torch\n- Dagger (attuned)\n",
)

PIECES = (
    *(
        "| d6 | Rumour |\n|---|---|\n|  |  |\n",
        "| d8 | x |\n|-|-|\n| one | y |\n",
        "| | |\n|-|-|\n",
        "---\n",
        "%%",
        "<!-- dm:start -->",
    ),
    *(
        "```statblock\nname: [1]\nhp: {}\nstats: 7\nactions: x\n```\n",
        "```dm\n",
        "> [!secret]\n> ",
        "[[",
        "]]",
        "|",
        "#",
        "**",
        "::",
    ),
    *(
        "\x00",
        "\x1f",
        "\u200b",
        "&#x110000;",
        "1d0",
        "d0",
        "9" * 30,
        "- [ ] ",
        "[^1]: ",
        "`=this.level`",
        "\\",
        "~~~\n",
        "\n\n",
        "\t",
    ),
)
VALUES = (
    "",
    "[",
    "{}",
    "null",
    "[1, [2]]",
    '"',
    "- x",
    "1e999",
    "2025-13-45",
    "true",
    "[[A]], [[B]]",
    "0",
    "-1",
    "10-2",
    "99999",
)


def _without_some(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + text[at + dice.choice((1, 3, 20, 200)) :]


def _with_piece(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(PIECES) + text[at:]


def _with_line_elsewhere(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    line = dice.choice(lines) if dice.random() < 0.5 else lines.pop(dice.randrange(len(lines)))
    lines.insert(dice.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _with_value(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    i = dice.randrange(len(lines))
    sign = "|" if "|" in lines[i] else ":"
    parts = lines[i].split(sign)
    parts[dice.randrange(len(parts))] = f" {dice.choice(VALUES)} "
    return "\n".join([*lines[:i], sign.join(parts), *lines[i + 1 :]])


def _with_other(dice: random.Random, text: str) -> str:
    other = dice.choice(NOTES)
    return text[: dice.randrange(len(text) + 1)] + other[dice.randrange(len(other)) :][:400]


_CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    _without_some,
    _with_piece,
    _with_line_elsewhere,
    _with_value,
    _with_other,
)


def mutated_notes(number: int, seed: int) -> Iterator[str]:
    """So many texts of notes, each changed in one to six places; the same for a seed."""
    dice = random.Random(seed)
    for _ in range(number):
        text = dice.choice(NOTES)
        for _ in range(dice.choice((1, 1, 2, 3, 6))):
            text = dice.choice(_CHANGES)(dice, text)
        yield text
