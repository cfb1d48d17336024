"""What backgrounds and feats give and ask for: skills, ability scores, tools and prerequisites, read from their texts.

Of a choice every part is a value, as whoever asks for Stealth may choose it; "one of your choice" without a list is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.records.values import objects
from lorekeeper.terms import ABILITIES, SKILLS

Object = Mapping[str, Any]

_BENEFITS = {"skill_proficiency": "skills", "tool_proficiency": "tools", "ability_score": "ability"}
"""Fields by the type of a benefit."""

_KEYS = {"skill_proficiencies": "skills", "tool_proficiencies": "tools", "ability_score_increase": "ability"}
"""Fields by the key of an object that has texts instead of benefits."""

_RAISED = re.compile(
    r"(?:\byour [^.]{0,60}\bscore )?\b(?:increase|raise)s?\b[^.]*?\b(?:score|by \d|maximum of)", re.IGNORECASE
)
"""A sentence of a feat that raises scores."""

_ANY = re.compile(r"\b(?:one|two|any|an)(?: other)? ability scores?\b", re.IGNORECASE)
"""What a text that names no ability offers to raise: any of them."""

_LIST = re.compile(r"[,;.]|\bplus\b|\band\b|\beither\b|\bor\b", re.IGNORECASE)
_LEVEL = re.compile(r"\blevel (\d+)|\b(\d+)(?:st|nd|rd|th) level")
_SCORE = re.compile(r"\b\d{1,2}\b")
_NO_TOOL = re.compile(r"^\W*(?:no|none|any|additional|of your choice|proficienc(?:y|ies))\b", re.IGNORECASE)
_CHOICE = re.compile(r"^.*\b(?:your choice of|choose|one|two|three|type of|kind of|from(?: among)?)\s+", re.IGNORECASE)

_NOTHING = ("n a", "none")

_WORDS = ("spellcasting", "spell", "proficiency", "armor", "weapon")
"""What is asked for by one word, whatever the source says around it."""

MAX_PART = 60
"""Longest tool or prerequisite, in characters: longer parts of a text are sentences."""


def read(obj: Object) -> dict[str, Any]:
    """The values of the fields of a background or feat, None for those that it does not state."""
    texts: dict[str, list[str]] = {"skills": [], "tools": [], "ability": []}
    for benefit in objects(obj.get("benefits")):
        text = benefit.get("desc")
        if isinstance(text, str):
            field = _BENEFITS.get(str(benefit.get("type")))
            texts.get(field or "", []).append(text)
            texts["ability"] += [] if field else _RAISED.findall(text)
    for key, field in _KEYS.items():
        value = obj.get(key)
        texts[field] += [value] if isinstance(value, str) else []
    desc = obj.get("desc")
    texts["ability"] += _RAISED.findall(desc) if isinstance(desc, str) else []
    asked = obj.get("prerequisite")
    return {
        "skills": _named(texts["skills"], SKILLS),
        "ability": _named(texts["ability"], ABILITIES)
        or (list(ABILITIES) if any(map(_ANY.search, texts["ability"])) else None),
        "tools": list(dict.fromkeys(tool for text in texts["tools"] for tool in _tools(text))) or None,
        "prerequisite": _prerequisites(asked) if isinstance(asked, str) else None,
    }


def restated(obj: Object) -> dict[str, Any]:
    """A prerequisite that an entry states in a sentence, in parts."""
    asked = obj.get("prerequisite")
    return {"prerequisite": _prerequisites(asked)} if isinstance(asked, str) else {}


def _named(texts: list[str], names: tuple[str, ...]) -> list[str] | None:
    """Those of some names that a text has."""
    words = f" {' '.join(map(fold, texts))} "
    return [name for name in names if f" {name} " in words] or None


def _tools(text: str) -> Iterator[str]:
    """The tools of a text: "Disguise kit, thieves' tools"; "one type of gaming set" is the gaming set."""
    for part in _LIST.split(text):
        name = fold(_CHOICE.sub("", part.strip())).removesuffix("of your choice").strip()
        if name and len(name) <= MAX_PART and not _NO_TOOL.search(part):
            yield name


def _prerequisites(text: str) -> list[str] | None:
    """What has to be met, in parts and by name: "level 4", "strength" and "strength 13" of "Level 4+, Strength 13+"."""
    parts = [fold(re.sub(r"^\W*prerequisites?:?", "", part, flags=re.IGNORECASE)) for part in re.split("[,;]", text)]
    found: list[str] = []
    for part in parts:
        words = part.split()
        level, score = None if "spell" in words else _LEVEL.search(part), _SCORE.search(part)
        abilities = [ability for ability in ABILITIES if ability in words]
        if level:
            found.append(f"level {level[1] or level[2]}")
        elif abilities:
            found += [value for name in abilities for value in (name, *([f"{name} {score[0]}"] if score else []))]
        elif part and part not in _NOTHING and len(part) <= MAX_PART:
            found.append(part)
        found += [name for name in (*SKILLS, *_WORDS) if f" {name} " in f" {part} "]
    return list(dict.fromkeys(found)) or None
