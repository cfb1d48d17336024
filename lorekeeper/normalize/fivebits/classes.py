"""Classes and subclasses of 5e-bits, with their levels and features, in the shape of Open5e."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivebits.printed import Below
from lorekeeper.normalize.fivebits.texts import (
    Object,
    ability_of,
    index_of,
    many,
    names,
    objects,
    prose,
    score_of,
    text,
    text_of,
    titled,
    word,
)
from lorekeeper.normalize.printed_srd.structure import table_lines
from lorekeeper.normalize.printed_srd.titles import is_title, is_value
from lorekeeper.normalize.reading import at, commas, mapping, paragraphs, spaced
from lorekeeper.records.options import OF_SUBCLASS
from lorekeeper.render.option import column_name
from lorekeeper.render.spell import ordinal

_DETAIL = re.compile(r" \(([^()]{1,80})\)$")
_SKILL = re.compile(r"^(?:Skill|Tool|Saving Throw): ")
_SLOTS = re.compile(r"spell_slots_level_(\d)$")
_HIGHEST = 9
"""The highest level of spells."""

_APART = re.compile(r"(?<=^Spellcasting):.*| \([^()]{1,80}\)$")
"""What stands behind the name of a feature."""

_LATER = re.compile(r"-improvement(?:-\d+)?$")
"""The end of the key of what a feature gives at a later level, such as the second feature of a subclass."""

Tables = Mapping[str, Sequence[Object]]
"""The objects of a source by the name of their list."""


def character_class(o: Object, tables: Tables, columns: Mapping[str, str]) -> dict[str, Any]:
    """A class with the table of its levels; ``columns`` has the titles that books give to values of a level."""
    name, die = text(o, "name"), o.get("hit_die")
    levels, found = (
        [each for each in _of(tables, table, index_of(o)) if not each.get("subclass")]
        for table in ("levels", "features")
    )
    slots = {int(each["level"]): _slots(each) for each in levels}
    last = slots.get(20, {})
    most = "FULL" if max(last, default=0) == _HIGHEST else "HALF"
    caster = {0: "NONE", 1: PACT}.get(len(last), most)
    values = [*_columns(levels, slots if caster == PACT else {}, columns)]
    return {
        "hit_dice": f"D{die}",
        "hit_points": {
            "hit_dice": f"D{die}",
            "hit_dice_name": f"1D{die} per {name} level",
            "hit_points_at_1st_level": f"{die} + your Constitution modifier",
            "hit_points_at_higher_levels": f"1D{die} (or {int(die or 0) // 2 + 1}) + your Constitution modifier per "
            f"{name.lower()} level after 1st",
        },
        "subclass_of": None,
        "primary_abilities": [{"name": told}] if (told := text(o, "primary_ability.desc")) else [],
        "saving_throws": [{"name": ability_of(each)} for each in objects(o, "saving_throws")],
        "caster_type": caster,
        **_proficiencies(o, tables),
        "equipment": "\n".join(f"- {each}" for each in (*_choices(o), *many(o, "starting_equipment", "× "))),
        **mapping(o, "printed"),
        "table": _printed_table([*map(text, o.get("rows") or ())], values),
        "features": [*_features(found, levels, o), *values],
    }


SIGN = re.compile(r"\n(?:Class Features|Core [^\n]{1,20} Traits)\n")
"""What stands below the name of a class."""

_APART_FROM = re.compile(r" (?=(?:Weapons|Tools|Saving Throws|Skills): )")
_ITS_LINE = re.compile(r"(?<=Throw Proficiencies)\n")
_GIVEN = re.compile(
    r"(Armor|Weapon|Tool|Skill|Saving Throw|Hit Point Die)s?(?::| Proficiencies| Training|(?= D\d)) (.+)"
)
_BECOMING, _BEGINS_WITH, _CHOICE = "Becoming a", "You start with", "(b)"
"""How it begins what a class of 2024 gives, and the equipment of one of 2014, and what a choice of it has."""

_FEATURES = "Features"

_ROW = re.compile(r"(?m)(?:^|(?<= )(?=\d+[snrt]))(\d{1,2})(?:st|nd|rd|th)? \+(\d) ?")
"""The level and the bonus with which a row of the table of a class begins."""

_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_IN_ROW = re.compile(r"\([^()]*\),?|[^\W\d_](?:[^\W\d_]|['-]){1,30}[,.]?|[+\dD][^\s—\x80-\x9f]*")
"""What is in brackets, a word, or a value: signs of dashes, which some fonts have otherwise, are none."""


def as_printed(o: Object, below: Below) -> Object:
    """A class with what the book says of its proficiencies, its equipment and its levels, and of beginning with it."""
    text_below = _ITS_LINE.sub(" ", "\n".join(below.lines))
    lines = _APART_FROM.sub("\n", text_below).split("\n")
    given = [found.groups() for found in map(_GIVEN.fullmatch, reversed(lines)) if found]
    values: dict[str, Any] = {
        f"prof_{kind.lower().replace(' ', '_')}{'' if kind == 'Armor' else 's'}": told for kind, told in given
    }
    values["saving_throws"] = None  # said in its words
    begin = next(at for at, line in enumerate(lines) if line.startswith((_BECOMING, _BEGINS_WITH)))
    sign = " Class Features" if lines[begin].startswith(_BECOMING) else f"The {text(o)} "
    end = next(at for at in range(begin, len(lines)) if sign in lines[at])
    if lines[begin].startswith(_BECOMING):
        values["desc"] = paragraphs(*(f"**{line}**" if is_title(line) else line for line in lines[begin : end + 2]))
        values["equipment"] = lines[begin - 1].partition(" Equipment ")[2]
        values["hit_points"] = {"hit_dice_name": values.pop("prof_hit_point_dies")}
        values.setdefault("prof_tools", "")
    else:
        last = lines[end].partition(sign)[0].strip() or lines[end - 1]
        choices = [each for each in _choices(o) if _CHOICE in each]
        items = choices if _CHOICE in last else [*choices, last.removeprefix("(a) ")]
        values |= {"desc": lines[1], "equipment": paragraphs(lines[begin], "\n".join(f"- {each}" for each in items))}
    return {**o, "printed": values, "rows": [*_rows(text_below)]}


def _rows(text: str) -> Iterator[str]:
    """What the rows of the table of a class say behind the level and its bonus, in a text with more around it."""
    begins = list[re.Match[str]]()
    for found in _ROW.finditer(text):
        level = len(begins) + 1
        if found.groups() == (f"{level}", f"{(level + 7) // 4}"):
            begins.append(found)
    for found, following in pairwise(begins):
        yield text[found.end() : following.start()]
    if begins:
        yield text[begins[-1].end() :].partition("\n")[0]


def _choices(o: Object) -> Iterator[str]:
    """What a class chooses of its equipment."""
    return (text(each, "desc") for each in objects(o, "starting_equipment_options"))


def subclass(o: Object, tables: Tables) -> dict[str, Any]:
    """A subclass, whose features are in the list of all features, in 2024 also in itself."""
    owner = index_of(o, "class")
    levels, listed = (
        [each for each in found if index_of(each, "subclass") == index_of(o)]
        for found in (_of(tables, "levels", owner), tables.get("features", ()))
    )
    features = _features(listed, levels, o)
    known = tuple(str(each["name"]).casefold() for each in features)
    own = [each for each in objects(o, "features") if not text(each, "name").casefold().startswith(known)]
    features += [_feature(each, {(int(each.get("level") or 0), "")}, text_of(each)) for each in own]
    return {
        "desc": paragraphs(f"*{o['summary']}*" if o.get("summary") else "", text_of(o), _spells(o)),
        "subclass_of": {"name": text(o, "class"), "key": f"srd_{owner}"},
        "features": features,
        **{key: o[key] for key in ("subclass_flavor",) if o.get(key)},
    }


def _of(tables: Tables, table: str, owner: str) -> list[Object]:
    return [each for each in tables.get(table, ()) if index_of(each, "class") == owner]


# --- features --------------------------------------------------------------------------------------------------------


def _features(found: Sequence[Object], levels: Sequence[Object], owner: Object) -> list[dict[str, Any]]:
    """The features, each once, with all levels at which it is had, and with those that it lets one choose from."""
    children: dict[str, list[Object]] = defaultdict(list)
    for each in found:
        children[index_of(each, "parent")].append(each)
    whole = {index_of(each) for each in found}
    tops = {index_of(each): each for each in found if index_of(each, "parent") not in whole}
    by_name: dict[str, list[Object]] = defaultdict(list)
    own = {index: _APART.sub("", text(each)) for index, each in tops.items()}
    for index, each in tops.items():
        by_name[own.get(_LATER.sub("", index), own[index])].append(each)
    made = []
    for name, same in by_name.items():
        gained = {level for each in same for level in _gained(each, levels)}
        texts = [*dict.fromkeys(filter(None, (_told(each, children, name, owner) for each in same)))]
        apart = (each for each in texts if not any(each in other and each != other for other in texts))
        made.append(_feature({"name": name, "index": index_of(same[0])}, gained, paragraphs(*apart)))
    if multi := _multiclassing(owner):
        made.append(_feature({"name": "Multiclassing", "index": "multiclassing"}, (), multi))
    return made


def _told(feature: Object, children: Mapping[str, Sequence[Object]], name: str, owner: Object) -> str:
    """Its text, with what is cast and what can be chosen, as far as that says more, and more than its class."""
    info = objects(owner, "spellcasting.info") if name in ("Spellcasting", "Pact Magic") else []
    whole = text_of(feature)
    said = f"{text_of(owner)} {whole}"
    told = ((text(each), prose(each, "desc")) for each in info)
    parts = [titled(label, words) for label, words in told if not _is_in(words, said)]
    for each in children.get(index_of(feature), ()):
        option = text(each).removeprefix(f"{name}: ").removeprefix("Eldritch Invocation: ")
        asked = joined(map(_asked, objects(each, "prerequisites")))
        if not _is_in(text_of(each), said):
            parts.append(titled(option, spaced(f"*Prerequisite: {asked}*" if asked else "", text_of(each))))
        elif "\n|" not in whole:  # a table says what it is
            parts.append(f"- {option}")
    return paragraphs("" if _is_in(whole, text_of(owner)) else whole, *parts)


def _is_in(text: str, whole: str) -> bool:
    """Whether the words of each line of a text stand together in another."""
    return all(fold(line) in fold(whole) for line in text.split("\n"))


def _asked(o: Object) -> str:
    """What an option asks for: a level, a feature or a spell, of which it has the address."""
    return text(o, "spell", "feature").rpartition("/")[2].replace("-", " ") or f"level {o.get('level')}"


def _gained(feature: Object, levels: Sequence[Object]) -> Iterator[tuple[int, str]]:
    """Each level at which it is had, with what is special then: "2 dice"."""
    named = text(feature)
    detail = found[1] if (found := _DETAIL.search(named)) else ""
    own = int(index_of(feature, "level").rpartition("-")[2] or feature.get("level") or 0)
    mine = {int(each["level"]) for each in levels if index_of(feature) in map(index_of, objects(each, "features"))}
    for each in mine or {own}:
        is_later = named.endswith(" feature") or (named == f"{text(feature, 'class')} Subclass" and each > own)
        yield each, OF_SUBCLASS if is_later else detail


def _feature(o: Object, levels: Iterable[tuple[int, str]], text: str) -> dict[str, Any]:
    return {
        "key": index_of(o),
        "name": o.get("name"),
        "desc": text,
        "feature_type": "CLASS_LEVEL_FEATURE",
        "gained_at": [{"level": level, "detail": detail or None} for level, detail in sorted(levels) if level],
        "data_for_class_table": [],
    }


# --- the table -------------------------------------------------------------------------------------------------------


PACT = "PACT"
"""The casting of a class whose slots are all of one level."""


def _slots(level: Object) -> dict[int, Any]:
    """How many slots a level has of each level of spells."""
    found = mapping(level, "spellcasting").items()
    return {int(match[1]): value for key, value in found if value and (match := _SLOTS.match(key))}


def _columns(
    levels: Sequence[Object], pact: Mapping[int, Mapping[int, Any]], titles: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The columns of the table of a class; ``pact`` has the slots by level where they are all of one level."""
    rows = {int(each["level"]): each for each in levels}
    bonuses = {n: f"+{each['prof_bonus']}" for n, each in rows.items() if "prof_bonus" in each}
    yield _column("Proficiency Bonus", bonuses, "PROFICIENCY_BONUS")
    if pact:
        one = {n: [*own.items()][-1] for n, own in pact.items() if own}
        yield _column("Spell Slots", {n: f"{number}" for n, (_, number) in one.items()})
        yield _column("Slot Level", {n: ordinal(rank) for n, (rank, _) in one.items()})
    groups = ("class_specific", "spellcasting")
    for group, key in dict.fromkeys((name, key) for name in groups for each in levels for key in mapping(each, name)):
        shown = {n: cell for n, each in rows.items() if (cell := _cell(key, at(each, f"{group}.{key}")))}
        slots = _SLOTS.match(key)
        name = ordinal(int(slots[1])) if slots else titles.get(key, key.replace("_", " ").title())
        if name and shown and not (slots and pact):
            yield _column(name, shown, "SPELL_SLOTS" if slots else "CLASS_TABLE_DATA")


def _printed_table(rows: Sequence[str], columns: Sequence[Object]) -> str:
    """The table of a class as the book has it, with its columns in that order; "" if the book has other values."""
    cells = {
        text(each): {cell["level"]: cell["column_value"] for cell in each["data_for_class_table"]} for each in columns
    }
    slots = [text(each) for each in columns if each["feature_type"] == "SPELL_SLOTS"]
    bonus, *own = (name for name in (*cells, _FEATURES) if name not in slots)
    cells[_FEATURES], lines = {}, list[list[str]]()
    for level, row in enumerate(rows, 1):
        known = {word for each in cells.values() for word in each.get(level, "").lower().split()}
        words = _IN_ROW.findall(row)
        gained = [word for word in words if not is_value(word) and word.lower() not in known]
        first = words.index(gained[0]) if gained else 0
        cells[_FEATURES][level] = " ".join(gained)
        lines.append([*words[:first], *gained, *(word for word in words[first:] if word not in gained)])
    for order in permutations(own) if rows else ():
        titles = [*order, *slots]
        table = [[cells[name].get(level) or "" for name in titles] for level in range(1, len(rows) + 1)]
        if all(_plain(line) == _plain(row) for line, row in zip(lines, table, strict=True)):
            whole = ([str(n), cells[bonus][n], *(cell or "—" for cell in row)] for n, row in enumerate(table, 1))
            return "\n".join(table_lines([["Level", bonus, *map(column_name, titles)], *whole]))
    return ""


def _plain(cells: Iterable[str]) -> list[str]:
    """The words of cells; of ordinals their numbers."""
    return [_ORDINAL.sub("", word) for word in " ".join(cells).lower().split()]


def _cell(key: str, value: object) -> str:
    """A value of a level as the table prints it; "" for none."""
    if isinstance(value, Mapping):
        return f"{value.get('dice_count')}d{value.get('dice_value')}" if value.get("dice_count") else ""
    if value is True:
        return "yes"
    if not value or not isinstance(value, (int, float)):
        return ""
    if value == _UNLIMITED:
        return "Unlimited"
    if "cr" in key.split("_"):
        return word("ratings", f"{value:g}")
    return next((form for end, form in word["forms"].items() if key.endswith(end)), "{:g}").format(value)


_UNLIMITED = 9999


def _column(name: str, values: Mapping[int, str], kind: str = "CLASS_TABLE_DATA") -> dict[str, Any]:
    cells = [{"level": level, "column_value": value} for level, value in values.items()]
    return {"name": name, "desc": "", "feature_type": kind, "gained_at": [], "data_for_class_table": cells}


# --- what a class begins with ----------------------------------------------------------------------------------------


def _proficiencies(o: Object, tables: Tables) -> dict[str, str]:
    kinds = {index_of(each): text(each, "type").split(" ")[0].lower() for each in tables.get("proficiencies", ())}
    found: dict[str, list[str]] = {f"prof_{kind}": [] for kind in ("armor", "weapons", "tools", "skills")}
    for each in objects(o, "proficiencies"):
        if not index_of(each).startswith("saving-throw"):
            own = found.get(f"prof_{kinds.get(index_of(each))}", found["prof_tools"])
            own.append(_SKILL.sub("", text(each)))
    for each in objects(o, "proficiency_choices"):
        options = objects(each, "from.options")
        is_skill = any(index_of(option, "item").startswith("skill-") for option in options)
        found["prof_skills" if is_skill else "prof_tools"].append(text(each, "desc"))
    return {key: commas(*values) or "None" for key, values in found.items()}


def _multiclassing(owner: Object) -> str:
    o = mapping(owner, "multi_classing")
    scores, either = (
        [score_of(each) for each in objects(o, path)] for path in ("prerequisites", "prerequisite_options.from.options")
    )
    gained = [_SKILL.sub("", name) for name in names(o, "proficiencies")]
    for each in objects(o, "proficiency_choices"):
        named = joined((_SKILL.sub("", text(option, "item")) for option in objects(each, "from.options")), "or")
        gained.append(f"{each.get('choose')} {each.get('desc') or f'of {named}'}")
    return paragraphs(
        titled("Prerequisite", joined(scores) or joined(either, "or")),
        titled("Proficiencies Gained", ", ".join(gained)),
    )


def _spells(o: Object) -> str:
    """The spells that a subclass of 2014 brings, by the level of its class at which they are had."""
    by_level: dict[str, list[str]] = defaultdict(list)
    for each in objects(o, "spells"):
        by_level[joined(names(each, "prerequisites"))].append(text(each, "spell"))
    rows = [[level, ", ".join(found)] for level, found in by_level.items()]
    return "\n".join(table_lines([["Level", "Spells"], *rows])) if rows else ""
