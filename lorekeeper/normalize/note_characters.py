"""The characters that notes are sheets of: notes of players' characters, and stat blocks that are marked as a player's.

A note stays a note; its character is an entry of its own beside it, which is read again with it. Only what has no mark of its own
goes into it: front matter, facts, and sections that the whole note decides about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize.build import Origin, build, own_error
from lorekeeper.normalize.characters import (
    CHARACTER,
    COMPANION,
    Character,
    ClassLevel,
    Held,
    Spell,
    audience_of,
    class_of,
    completed,
    fields_of,
)
from lorekeeper.normalize.creatures import readings
from lorekeeper.normalize.notes import SOURCE, marks, slug_of, vault_audiences
from lorekeeper.normalize.reading import Words
from lorekeeper.normalize.stat_block import line, read_block
from lorekeeper.normalize.unsupported_formats import of_text
from lorekeeper.notes.note import PATH_SEPARATOR, Note, Section, StatBlock
from lorekeeper.printable import shown
from lorekeeper.records.parts import is_players
from lorekeeper.records.values import first_number
from lorekeeper.render.prose import inline
from lorekeeper.terms import ABILITIES, ABILITY_OF, MAX_LEVEL, MOVEMENTS, PASSIVES, SENSES, SKILL_ABILITIES

KINDS = frozenset({"character", "pc", "player character", "companion"})
"""Kinds of notes that may be the sheet of a character: one is made of those that state a class or hit points."""

LONGEST = 80
"""Longest value of a list, in characters."""

MAX_VALUES = 200
"""Most values of a list that are read from a note."""


@cache
def _meanings() -> Mapping[str, str]:
    """What a sheet says under a key or heading, folded."""
    found = {word: name for name, words in Words(__file__)["sheets"].items() for word in words.split(", ")}
    found |= {word: ability for short, ability in ABILITY_OF.items() for word in (short, ability)}
    return found | {f"passive {skill}": f"passive_{skill}" for skill in PASSIVES} | {sense: sense for sense in SENSES}


_CLASS = re.compile(r"(?P<before>\d{1,2}(?:st|nd|rd|th)?[- ](?:level )?)?(?P<name>[^\W\d_][^\d(/,;]*?)\s*"
                    r"(?:\((?P<inside>[^()]{1,60})\))?\s*(?:level |lvl )?(?P<level>\d{1,2})?\s*(?:\((?P<after>[^()]{1,60})\))?",
                    re.IGNORECASE)  # fmt: skip
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}\.)\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>.+)$")
_LABEL = re.compile(r"^\W{0,4}(?P<label>[^:*_]{1,40}?)\W{0,3}[:：]\W{0,3}\s+(?P<rest>\S.*)$")
_DENIED = re.compile(
    r"[\W_]*(?:none|n/a)(?=[\W_]*$|[*_]*\s*[,.;:(—–-]|\s+(?:taken|chosen|known|yet|so far|at)\b)", re.IGNORECASE
)
"""A value that denies its label: "None", "none yet", "None taken at level 1"; no "None of them returned"."""
_SPELL_LEVEL = re.compile(r"\b(?:level |lvl )?([1-9])(?:st|nd|rd|th)?\b|\b(cantrip|at will)s?\b", re.IGNORECASE)
_BEHIND = re.compile(r"(?:(?<!\s)\s+)?(?:\([^()]{0,60}\)|[—–:](?s:.*)|(?<=\s)-\s(?s:.*))$")
_HOW_MANY = re.compile(
    r"(?<![^\s,;|*-])(?:\d|an?|any|one|two|three|four|five|another)\b(?: (?:one|two|three|additional|extra|others?|more|further|"
    r"bonus|of|your|my|his|her|their|its|choice|free|languages?|skills?|tools?))*\s*\(([^()]+)\)",
    re.IGNORECASE,
)
"""Words that say how many values there are, and the values behind them in brackets: "One additional (Dwarvish)"."""
_SCORE = re.compile(r"\s*(\d{1,2})\b")
_ATTUNED = re.compile(r"\([^()]{0,40}\battuned\b[^()]{0,40}\)", re.IGNORECASE)
_QUANTITY = re.compile(r"^(?P<before>\d{1,5})(?:\s*[x×]\s+|\s+)(?=[^\W\d_])|(?:(?<!\s)\s+)?[x×]\s*(?P<behind>\d{1,5})$")


def characters_of(note: Note, document: str, document_name: str) -> tuple[list[Entity], list[str]]:
    """The characters of a note, and what could not be stored, each with the reason.

    Args:
        note: as it was read.
        document: key of its vault.
        document_name: name of its vault.
    """
    origin = Origin(SOURCE, document, document_name)
    found: list[Entity] = []
    problems: list[str] = []
    drafts: list[tuple[Character, StatBlock | None]] = [
        (of_values(block.values, note.name), block) for block in note.stat_blocks if is_players(block.values)
    ]
    if not drafts and (sheet := _of_note(note)) is not None:
        drafts = [(sheet, None)]
    for place, (character, block) in enumerate(drafts, 1):
        try:
            with own_error():
                found.append(_entity(note, block, character, place, origin))
        except FilterError as error:
            problems.append(f"character {shown(character.name, 60)}: {error}")
    return found, problems


def _entity(note: Note, block: StatBlock | None, character: Character, place: int, origin: Origin) -> Entity:
    data = completed(
        {
            **character.as_data(),
            "note": Entity("notes", note.path, note.name, note.kind, origin.document, SOURCE, {}).uri,
            "note_name": note.name,
            **(marks(block.mark, block.audience, opened_by=block.opened_by) if block else {}),
            **marks(note.mark, note.audience, "note_", note.opened_by),
        }
    )
    if "audience" not in data and note.audience is None and not note.mark:
        data["audience"] = list(audience_of(data, character.name))
    return build(
        "characters",
        data,
        origin,
        name=character.name,
        kind=character.kind,
        slug=slug_of(note, character.name, place, block.audience if block else None),
        fields={**fields_of(data), AUDIENCE: vault_audiences(data)},
    )


# --- what notes say ---------------------------------------------------------------------------------------------------


def _of_note(note: Note) -> Character | None:
    """The record of a note; None if it is no character's sheet, or one of another game."""
    if fold(note.kind) not in KINDS or _is_to_fill(note.name) or _is_to_fill(note.heading):
        return None
    said = {name: value for key, value in note.facts.items() if (name := _meanings().get(fold(key)))}
    in_front = {_meanings().get(fold(key)) for key in note.facts.keys() - set(note.facts_in_text)}
    rows = list(_rows_of(note))
    said = {**{row.name: row.body for row in reversed(rows) if row.labelled and row.name not in LISTED}, **said}
    said = {key: value for key, value in said.items() if not _is_to_fill(value)}
    said = {**{ability: str(score) for ability, score in _scores_in_text(note).items()}, **said}
    kind = COMPANION if fold(note.kind) == COMPANION else CHARACTER
    made = _record(inline(said.get("name", "")) or note.name, kind, said, _lists(rows))
    if _is_of_another_game(note, made, rows):
        return None
    has_numbers = bool(_numbers_of(made))
    has_class = any(each.level and class_of(each.name) for each in made.class_levels)
    is_named = bool(made.class_levels or made.hit_points) and (has_numbers or not in_front.isdisjoint(_SHEETS_SAY))
    return made if len(made.ability_scores) == len(ABILITIES) or has_class or is_named else None


_SHEETS_SAY = frozenset({"classes", "hit_points", "hit_points_most"})
"""What the front matter of a sheet says, one of these at least."""


def _is_to_fill(text: str) -> bool:
    """Whether a value is a placeholder, as a template has it: nothing but words in brackets, which are no link."""
    return re.fullmatch(r"\s*(?:\[(?!\[)[^\[\]]*\]|\{+[^{}]*\}+|<[^<>]*>)\s*", text) is not None


def _numbers_of(made: Character) -> int:
    """How many of the numbers a character states that only this game has."""
    alone = (made.armor_class, made.spell_dc, made.speeds)
    listed = (made.ability_scores, made.saving_throws, made.skill_bonuses, made.passives)
    return sum(each not in (None, {}) for each in alone) + sum(map(len, listed))


def _is_of_another_game(note: Note, made: Character, rows: Iterable[_Row]) -> bool:
    """Whether a sheet has scores or a stat block that this game does not have, or more numbers of other names than of its own."""
    if any(not LOWEST <= score <= HIGHEST for score in made.ability_scores.values()):
        return True
    if of_text("\n".join(section.text for section in note.sections)):
        return True
    listed = (match.groups() for row in rows if row.name == "abilities" and (match := _LABEL.match(row.body)))
    named = {fold(label) for label, value in (*listed, *note.facts.items()) if _SMALL_NUMBER.match(value.strip())}
    others = {name for name in named if name not in _meanings() and name not in _OF_PEOPLE}
    return len(made.ability_scores) < len(ABILITIES) and len(others) > max(3, _numbers_of(made))


LOWEST, HIGHEST = 1, 30
"""The scores that abilities have."""

_SMALL_NUMBER = re.compile(r"[+\-−]?\d{1,2}(?![\d.]*\d|\s*(?:years?|lbs?|ft|feet|kg|cm))")
_OF_PEOPLE = frozenset(
    "age height weight session sessions xp experience initiative inspiration proficiency bonus".split()
)


def of_values(values: Mapping[str, Any], name: str = "") -> Character:
    """The record of a stat block that is marked as a player's; ``player`` is no name there."""
    folded = {fold(str(key)): value for key, value in values.items()}
    said = {
        known: line(value)
        for key, value in folded.items()
        if (known := _meanings().get(key)) not in _OTHERWISE and known
    }
    scores = read_block(values).values.get("ability_scores")
    said |= {ability: str(score) for ability, score in (scores.items() if isinstance(scores, Mapping) else ())}
    return _record(line(values.get("name")) or name, CHARACTER, said, {})


_OTHERWISE = frozenset({"abilities", "player"})
"""What a stat block says in another way than a note."""


def _open(note: Note) -> list[Section]:
    """The sections that have no mark of their own."""
    return [section for section in note.sections if section.audience is None and not section.mark]


def _rows_of(note: Note) -> Iterator[_Row]:
    """The lines of all lists of a note that say what they are."""
    for section in _open(note):
        headings = section.path.split(PATH_SEPARATOR) if section.path else []
        name = next((known for heading in reversed(headings) if (known := _known(heading))), "")
        yield from _rows(section.text, name, " ".join(filter(_SPELL_LEVEL.search, headings)))


def _lists(rows: Iterable[_Row]) -> dict[str, list[tuple[str, str]]]:
    """What stands in lists, by what it is: items of text, each with the headings and labels that it stands under."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if row.name not in LISTED:
            continue
        parts = _parts(row.body)
        found.setdefault(row.name, []).extend((each, row.under) for each in parts)
        if row.name == "items" and len(parts) == 1 and _ATTUNED.search(row.body):
            found.setdefault("attuned", []).append((parts[0], ""))
    return found


class _Row(NamedTuple):
    """A line of a list: what it is one of, what it stands under, its text, and whether a label of its own says what it is."""

    name: str
    under: str
    body: str
    labelled: bool = False


def _rows(text: str, name: str, under: str) -> Iterator[_Row]:
    """The lines of a section that belong to lists; a line that ends with a colon says what those after it are."""
    within, below = name, under
    for each in _lines(text):
        match = _BULLET.match(each)
        body = match["text"] if match else each.strip()
        if body.startswith(("#", "|", ">")) or not body:
            continue
        if not match and body.rstrip("*_ ").endswith(":"):
            within = _known(body.strip("*_: ")) or name
            below = body if _SPELL_LEVEL.search(body) else under
            continue
        label = _LABEL.match(body)
        own, said = (_known(label["label"]), label["rest"]) if label else ("", "")
        if _DENIED.match(said):
            continue
        at, told = within, below
        is_score = own in ABILITIES and within in ("", "abilities") and _SCORE.match(said) is not None
        if own and own != within and (is_score or own not in ABILITIES):
            at, body = own, said
        elif label and within in _LABELLED:
            told = label["label"] if _SPELL_LEVEL.search(label["label"]) else below
            body = said if re.search(r"[^\W\d_]", said) else f"{label['label']} {said}"
        elif match and within in _EXPLAINED:
            body = body.partition(":")[0]
        elif not match and (not within or "," not in body or body.endswith(".")):
            continue  # prose
        if at:
            ticked = match is not None and match["box"] in ("x", "X")
            yield _Row(at, f"{told} prepared" if ticked else told, body, at == own)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; what bars or dots divide, each part with a label, is as many: "AC: 18 | HP: 52 | Speed: 30 ft."."""
    for each in text.splitlines():
        parts = re.split(r"(?<!\s)\s+[|·•]\s+", each)
        yield from parts if len(parts) > 1 and all(map(_LABEL.match, parts)) else [each]


_LABELLED = frozenset("saves skills expertise languages known prepared cantrips resistant immune conditions".split())
"""Lists in which a label says something of the values behind it; in others it is the value, and what is behind it explains it."""


LISTED = _LABELLED | {"features", "feats", "items", "attuned"}
"""What a sheet says in lists; the rest are single values."""

_EXPLAINED = frozenset({"features", "feats", "items", "attuned"})
"""Lists whose items may be explained behind a colon."""


def _known(heading: str) -> str:
    """What a heading or label says that its list is, "" for nothing: "Prepared Spells", "Domain Spells (Always Prepared)"."""
    words = fold(heading)
    if found := _meanings().get(words) or _meanings().get(fold(heading.partition("(")[0])):
        return found
    if "spells" not in words.split():
        return ""
    return "prepared" if "prepared" in words else "known"


def _parts(text: str) -> list[str]:
    """The values of a text that commas, semicolons or bars divide; those in brackets behind words that only say how many."""
    parts = re.split(r"[,;|](?![^()]{0,300}\))", _HOW_MANY.sub(lambda found: _BEHIND.sub("", found[1]), text))
    plain = [inline(_BEHIND.sub("", part.strip().strip("*_")).strip(" .*_")) for part in parts]
    return [part for part in plain if 0 < len(part) <= LONGEST and fold(part) not in ("none", "")][:MAX_VALUES]


def _scores_in_text(note: Note) -> dict[str, int]:
    """The ability scores of a table whose head names the abilities, or of a line that has them all."""
    for section in _open(note):
        for line_of in section.text.splitlines():
            if "|" not in line_of and len(found := _named_scores(line_of)) == len(ABILITIES):
                return found
        lines = [[cell.strip(" *") for cell in row.strip().strip("|").split("|")] for row in section.text.splitlines()]
        for place, head in enumerate(lines):
            abilities = [known if (known := _meanings().get(fold(cell), "")) in ABILITIES else "" for cell in head]
            if sum(map(bool, abilities)) == len(ABILITIES):
                rows = [row for row in lines[place + 1 : place + 4] if len(row) == len(head)]
                values = [[re.match(r"\d{1,2}(?!\d)", cell) for cell in row] for row in rows]
                full = next((row for row in values if all(row)), [])
                return {a: int(m[0]) for a, m in zip(abilities, full, strict=False) if a and m}
    return {}


def _record(name: str, kind: str, said: Mapping[str, str], lists: Mapping[str, list[tuple[str, str]]]) -> Character:
    def values(key: str) -> list[str]:
        return [*_parts(said.get(key, "")), *(each for each, _ in lists.get(key, ()))]

    def whole(key: str) -> int | None:
        found = first_number(said.get(key))
        return int(found) if found is not None and found == int(found) else None

    read = readings({"speed": said.get("speed", ""), "senses": said.get("senses", "")})
    stated = whole("level")
    level = stated if stated is not None and 1 <= stated <= MAX_LEVEL else None
    skills = [skill for each in values("skills") if (skill := _skill(each))]
    return Character(
        name=name,
        kind=kind,
        player=inline(said.get("player") or (said.get("owner", "") if kind == CHARACTER else "")),
        rules=next((year for year in ("2014", "2024") if year in said.get("rules", "")), ""),
        class_levels=_classes(said.get("classes", ""), said.get("subclass", ""), level),
        level=level,
        race=inline(said.get("race", "")),
        background=inline(said.get("background", "")),
        alignment=inline(said.get("alignment", "")),
        armor_class=whole("armor_class"),
        hit_points=_maximum(said.get("hit_points_most", "")) or _maximum(said.get("hit_points", "")),
        hit_points_now=_hit_points_now(said),
        speeds=_speeds(read, said.get("speed", "")),
        senses={s: f for s in SENSES if (f := first_number(said.get(s) or read.get(s)))},
        ability_scores={
            **_scores(said.get("abilities", "")),
            **{ability: int(m[1]) for ability in ABILITIES if (m := _SCORE.match(said.get(ability, "")))},
        },
        trained_saves=_trained(values("saves")),
        saving_throws={
            ability: bonus
            for each in values("saves")
            if (ability := ABILITY_OF.get(fold(each)[:3])) and (bonus := _bonus(each)) is not None
        },
        skills=skills or None,
        expertise=[skill for each in values("expertise") if (skill := _skill(each))],
        skill_bonuses={
            skill: bonus
            for each in (*values("skills"), *values("expertise"))
            if (skill := _skill(each)) and (bonus := _bonus(each)) is not None
        },
        passives={s: v for s in PASSIVES if (v := whole(f"passive_{s}")) is not None},
        languages=values("languages"),
        resistant=values("resistant"),
        immune=values("immune"),
        spells=_spells(said, lists),
        spell_dc=whole("spell_dc"),
        features=list(dict.fromkeys([*values("features"), *values("feats")])),
        inventory=_inventory(values("items"), values("attuned")),
        conditions=[each for each in values("conditions") if fold(each) not in ("none", "no")],
        gold=first_number(said.get("gold")),
    )


def _trained(saves: list[str]) -> list[str]:
    """The abilities whose saves are listed without a bonus; of a list of a few with bonuses, all of them."""
    named = [(ability, _bonus(each)) for each in saves if (ability := ABILITY_OF.get(fold(each)[:3]))]
    bare = [ability for ability, bonus in named if bonus is None]
    return bare or ([ability for ability, _ in named] if len(named) < len(ABILITIES) else [])


def _maximum(text: str) -> int | None:
    """The maximum of "38", "32/38" and "32 of 38"."""
    numbers = re.findall(r"\d{1,4}", text)
    is_of = re.match(r"\D*\d+\s*(?:/|of)\s*\d+", text)
    found = numbers[1:2] if is_of else numbers[:1]
    return int(found[0]) or None if found else None


def _hit_points_now(said: Mapping[str, str]) -> int | None:
    """What is left: stated, before the maximum in "32/38", or beside a maximum that is stated by itself."""
    text = said.get("hit_points_now", "") or said.get("hit_points", "")
    alone = (
        r"\D*(\d{1,4})\b" if "hit_points_most" in said or "hit_points_now" in said else r"\D*(\d{1,4})\s*(?:/|of)\s*\d"
    )
    match = re.match(alone, text)
    return int(match[1]) if match else None


def _classes(text: str, subclass: str, level: int | None) -> list[ClassLevel]:
    """ "Fighter 3 / Rogue (Thief) 2", "5th-level Wizard", or a class with the level beside it."""
    found = []
    for part in re.split(r"(?:(?<!\s)\s+)?(?:[/,;&+]|\band\b)\s*(?![^()]{0,300}\))", inline(text)):
        match = _CLASS.fullmatch(part.strip())
        if match is None or not match["name"].strip():
            continue
        stated = re.sub(r"\D", "", match["before"] or match["level"] or "")
        stated = stated if stated and 1 <= int(stated) <= MAX_LEVEL else ""
        inside = next((each for each in (match["inside"], match["after"]) if each and not each.isdigit()), "")
        found.append(ClassLevel(match["name"].strip(" -"), int(stated) if stated else None, inside))
    if len(found) == 1:
        only = found[0]
        return [ClassLevel(only.name, only.level or level, only.subclass or inline(subclass).strip("-– "))]
    return found


def _scores(text: str) -> dict[str, int]:
    """ "STR 8, DEX 16 ...", or six numbers in the order of the books."""
    named = _named_scores(text)
    numbers = re.findall(r"(?<![+\-\d])\d{1,2}\b", text)
    return named or (dict(zip(ABILITIES, map(int, numbers), strict=True)) if len(numbers) == len(ABILITIES) else {})


def _named_scores(text: str) -> dict[str, int]:
    """ "STR 8, DEX 16 ..." with the names of the abilities."""
    return {
        ABILITY_OF[m[1].lower()]: int(m[2])
        for m in re.finditer(r"\b(str|dex|con|int|wis|cha)[a-z]*(?!\W*[+\-−])\W{1,6}(\d{1,2})\b", text, re.IGNORECASE)
    }


def _speeds(read: Mapping[str, Any], text: str) -> dict[str, float]:
    found = {
        kind: float(feet) for kind in MOVEMENTS if isinstance(feet := read.get(f"speed_{kind}"), (int, float)) and feet
    }
    alone = re.fullmatch(r"\s*(\d{1,3})\s*(?:ft\.?|feet|')?\s*", text)
    return found or ({"walk": float(alone[1])} if alone else {})


def _skill(text: str) -> str:
    """The skill that a text begins with, "" for none."""
    folded = fold(text)
    return next((skill for skill in SKILL_ABILITIES if folded == skill or folded.startswith(f"{skill} ")), "")


def _bonus(text: str) -> int | None:
    match = re.search(r"[+\-−]\s?(\d{1,2})\b", text)
    return None if match is None else int(match[1]) * (1 if match[0][0] == "+" else -1)


def _spells(said: Mapping[str, str], lists: Mapping[str, list[tuple[str, str]]]) -> list[Spell]:
    """The spells of all lists, each once; those of a list of prepared ones, and ticked ones, can be cast now."""
    found: dict[str, Spell] = {}
    lines = [
        (key, name, under)
        for key in ("prepared", "cantrips", "known")
        for name, under in (*((each, "") for each in _parts(said.get(key, ""))), *lists.get(key, ()))
    ]
    chooses = any(key == "prepared" or under.endswith(" prepared") for key, _, under in lines)
    for key, name, under in lines:
        match = _SPELL_LEVEL.search(under)
        level = int(match[1]) if match and match[1] else None
        level = 0 if key == "cantrips" or (match and match[2]) else level
        ready = key in ("prepared", "cantrips") or level == 0 or under.endswith("prepared")
        before = found.get(fold(name))
        level = before.level if before and level is None else level
        ready = ready or bool(before and before.prepared)
        found[fold(name)] = Spell(before.name if before else name, level, ready if ready or chooses else None)
    return list(found.values())


def _inventory(items: list[str], attuned: list[str]) -> list[Held]:
    worn = {fold(each) for each in attuned if not each.isdigit() and "/" not in each}
    held = []
    for each in dict.fromkeys([*items, *(a for a in attuned if fold(a) in worn and fold(a) not in map(fold, items))]):
        match = _QUANTITY.search(each)
        count = next(filter(None, match.groups()), None) if match else None
        name = _QUANTITY.sub("", each).strip() if match else each
        held.append(Held(name, int(count) if count else None, None, True if fold(name) in worn else None))
    return held
