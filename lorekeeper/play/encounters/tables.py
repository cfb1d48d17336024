"""The numbers by which encounters are measured, and where each is published."""

from __future__ import annotations

EASY, MEDIUM, HARD, DEADLY = "easy", "medium", "hard", "deadly"
LOW, MODERATE, HIGH = "low", "moderate", "high"

DIFFICULTIES: dict[str, tuple[str, ...]] = {"2014": (EASY, MEDIUM, HARD, DEADLY), "2024": (LOW, MODERATE, HIGH)}
"""Names of the difficulties by rules, the easiest first."""

COUNTERPARTS = {
    ("2014", LOW): EASY,
    ("2014", MODERATE): MEDIUM,
    ("2014", HIGH): HARD,
    ("2024", EASY): LOW,
    ("2024", MEDIUM): MODERATE,
    ("2024", HARD): HIGH,
    ("2024", DEADLY): HIGH,
}
"""What comes nearest to a difficulty of the other rules."""

THRESHOLDS: tuple[tuple[int, int, int, int], ...] = (
    (25, 50, 75, 100),
    (50, 100, 150, 200),
    (75, 150, 225, 400),
    (125, 250, 375, 500),
    (250, 500, 750, 1100),
    (300, 600, 900, 1400),
    (350, 750, 1100, 1700),
    (450, 900, 1400, 2100),
    (550, 1100, 1600, 2400),
    (600, 1200, 1900, 2800),
    (800, 1600, 2400, 3600),
    (1000, 2000, 3000, 4500),
    (1100, 2200, 3400, 5100),
    (1250, 2500, 3800, 5700),
    (1400, 2800, 4300, 6400),
    (1600, 3200, 4800, 7200),
    (2000, 3900, 5900, 8800),
    (2100, 4200, 6300, 9500),
    (2400, 4900, 7300, 10_900),
    (2800, 5700, 8500, 12_700),
)
"""XP thresholds of a character for easy, medium, hard and deadly encounters, by level from 1 (D&D Basic Rules 2014, part 4,
"XP Thresholds by Character Level")."""

DAYS: tuple[int, ...] = (
    *(300, 600, 1200, 1700, 3500, 4000, 5000, 6000, 7500, 9000),
    *(10_500, 11_500, 13_500, 15_000, 18_000, 20_000, 25_000, 27_000, 30_000, 40_000),
)
"""Adjusted XP of a character for a day, by level from 1 (Basic Rules 2014, part 4, "Adventuring Day XP")."""

MULTIPLIERS: tuple[tuple[int, float], ...] = ((1, 1), (2, 1.5), (3, 2), (7, 2.5), (11, 3), (15, 4))
"""From how many monsters on the total is multiplied by what (Basic Rules 2014, part 4, "Encounter Multipliers")."""

FEWER, MORE = 0.5, 5.0
"""What large parties multiply a single monster by, and small ones 15 and more (there, "Party Size")."""

SMALL_PARTY, LARGE_PARTY = 3, 5
"""Parties of fewer characters take the next higher multiplier, and of more the next lower one (there, "Party Size")."""

BUDGETS: tuple[tuple[int, int, int], ...] = (
    (50, 75, 100),
    (100, 150, 200),
    (150, 225, 400),
    (250, 375, 500),
    (500, 750, 1100),
    (600, 1000, 1400),
    (750, 1300, 1700),
    (1000, 1700, 2100),
    (1300, 2000, 2600),
    (1600, 2300, 3100),
    (1900, 2900, 4100),
    (2200, 3700, 4700),
    (2600, 4200, 5400),
    (2900, 4900, 6200),
    (3300, 5400, 7800),
    (3800, 6100, 9800),
    (4500, 7200, 11_700),
    (5000, 8700, 14_200),
    (5500, 10_700, 17_200),
    (6400, 13_200, 22_000),
)
"""XP budget of a character for low, moderate and high difficulty, by level from 1 (SRD 5.2, Gameplay Toolbox, "XP Budget per
Character")."""

MANY_PER_CHARACTER = 2
"""More monsters than this for each character should be weak ones (SRD 5.2, Gameplay Toolbox, "Troubleshooting")."""

LAZY_LEVEL = 5
"""Average level from which on the benchmark of the Lazy GM takes the second of each pair of shares."""

LAZY_SUMS = (0.25, 0.5)
"""An encounter may be deadly if the sum of its challenge ratings is above this share of the sum of all levels (M. Shea, The
Lazy GM's 5e Monster Builder Resource Document, "The Lazy Encounter Benchmark", CC-BY-4.0)."""

LAZY_SINGLES = (1.0, 1.5)
"""The same for a single monster whose challenge rating is above this multiple of the average level."""
