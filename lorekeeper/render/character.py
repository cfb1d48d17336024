"""Characters: a sheet of what they are and can do, with the entries of the rules that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lorekeeper.entities import uri_of
from lorekeeper.folding import fold
from lorekeeper.records.values import amount, mapping, number
from lorekeeper.render.page import Line, capital, italic, labelled, line, section
from lorekeeper.render.prose import inline
from lorekeeper.render.source import Source, title, words
from lorekeeper.render.spell import ordinal
from lorekeeper.terms import ABILITIES, MOVEMENTS, PASSIVES, SENSES

SIGNS_OF_SLUG = "SLUG"

WORN, ATTUNED = "worn", "attuned"


@dataclass(frozen=True)
class Reference:
    """The entry that a name on a sheet means.

    Attributes:
        name: as on the sheet.
        entity_type, document, slug: of the entry.
        section: heading within it, "" for the whole.
        level: of a spell.
        edition: label of its edition where that is another than the character's; "" otherwise.
    """

    name: str
    entity_type: str
    document: str
    slug: str
    section: str = ""
    edition: str = ""
    level: float | None = None

    @property
    def uri(self) -> str:
        """Its address."""
        return uri_of(self.entity_type, self.document, self.slug)


@dataclass(frozen=True)
class Rules:
    """What the library has of the names on a character's sheet, as its reader sees it.

    Attributes:
        found: the entries, in the order of the sheet.
        missing: names without an entry.
        growing: what the tables of its classes say for its levels, by column, as "3d6" for Sneak Attack.
        linked: whether each name is to be a link, for people; else addresses are written, as short as they can be.
    """

    found: Sequence[Reference] = ()
    missing: Sequence[str] = ()
    growing: Mapping[str, str] = field(default_factory=dict)
    linked: bool = False


UNKNOWN = Rules()


SAID_ELSEWHERE = (
    "classes subclasses known prepared items attuned skills expertise trained_saves trained_in_none proficiency_bonus "
    "hit_points_now hit_points_lost modified file note note_name note_mark note_audience note_opened_by note_section mark "
    "audience opened opened_by"
).split()
"""Keys that say what others do, or who may see the character."""


def character(source: Source, rules: Rules = UNKNOWN) -> Iterator[str]:
    """The blocks of a character."""
    source.skip(*SAID_ELSEWHERE, *(f"save_{ability}" for ability in ABILITIES))
    player = source.words("player")
    yield italic(
        _levels(source), source.words("race"), source.words("background"), source.words("alignment"),
        f"played by {player}" if player else "", f"rules of {source.words('rules')}" if source.value("rules") else "",
        separator=" · ",
    )  # fmt: skip
    derived = [DERIVED.get(words(name)) or title(words(name)) for name in source.items("derived")]
    yield labelled(source, LINES)
    yield f"*Not stated, but worked out by the rules: {', '.join(derived)}.*" if derived else ""
    growing = _growing(source, rules)
    yield labelled(source, [("At These Levels", lambda _: ", ".join(f"{k} {v}" for k, v in growing.items()))])
    yield section("Spells", *_spells(source, rules))
    yield section("Features", ", ".join(map(inline, map(words, source.items("features")))))
    yield section("Entries of the Rules", *_references(rules, _listed(source)))
    yield section("Items", _items(source))
    yield section("Description", source.prose("desc"))


DERIVED = {"spell_dc": "Spell DC", "scales": "what grows with levels"}
"""What derived values are called, where that is not their name."""


def _growing(source: Source, rules: Rules) -> dict[str, str]:
    """What grows with its levels: as its source says, as the classes of the library do, or as those of the SRD."""
    scales = {name: words(value) for name, value in source.mapping("scales").items()}
    is_derived = "scales" in map(words, source.items("derived"))
    return {**scales, **rules.growing} if is_derived else {**rules.growing, **scales}


def _levels(source: Source) -> str:
    found = []
    for each in map(mapping, source.items("class_levels")):
        subclass = f" ({words(each.get('subclass'))})" if each.get("subclass") else ""
        found.append(f"{words(each.get('name'))} {words(each.get('level'))}".strip() + subclass)
    level = source.words("level")
    return ", ".join(found) or (f"level {level}" if level else "")


def _signed(value: float) -> str:
    return f"{value:+g}"


def _hit_points(source: Source) -> str:
    most, now = source.number("hit_points"), source.number("hit_points_now")
    if most is None:
        return "" if now is None else f"{amount(now)} now"
    return f"{amount(now)} of {amount(most)}" if now is not None and now != most else amount(most)


def _speeds(source: Source) -> str:
    found = [(kind, source.number(f"speed_{kind}")) for kind in MOVEMENTS]
    return ", ".join(f"{'' if kind == 'walk' else f'{kind} '}{amount(feet)} ft." for kind, feet in found if feet)


def _senses(source: Source) -> str:
    found = [(sense, source.number(sense)) for sense in SENSES]
    return ", ".join(f"{sense} {amount(feet)} ft." for sense, feet in found if feet)


def _passives(source: Source) -> str:
    found = [(skill, source.number(f"passive_{skill}")) for skill in PASSIVES]
    return ", ".join(f"{capital(skill)} {amount(value)}" for skill, value in found if value is not None)


def _abilities(source: Source) -> str:
    scores = source.mapping("ability_scores")
    found = [(name, number(scores.get(name))) for name in ABILITIES]
    return ", ".join(f"{capital(n[:3])} {s:g} ({_signed((s - 10) // 2)})" for n, s in found if s is not None)


def _saves(source: Source) -> str:
    bonuses = source.mapping("saving_throws")
    found = [(name, number(bonuses.get(name))) for name in ABILITIES]
    return ", ".join(f"{capital(name[:3])} {_signed(bonus)}" for name, bonus in found if bonus is not None)


def _skills(source: Source) -> str:
    """The skills that it is proficient in, with their bonuses; those with twice the proficiency bonus are marked."""
    bonuses = {fold(name): number(value) for name, value in source.mapping("skill_bonuses").items()}
    expert = {fold(words(name)) for name in source.items("expertise")}
    found = []
    for name in dict.fromkeys(map(words, [*source.items("skills"), *source.items("expertise")])):
        bonus = bonuses.get(fold(name))
        told = capital(inline(name)) if bonus is None else f"{capital(inline(name))} {_signed(bonus)}"
        found.append(f"{told} (expertise)" if fold(name) in expert else told)
    return ", ".join(found)


def _spell_dc(source: Source) -> str:
    """The difficulty class, and the bonus to attack that is eight less."""
    found = source.number("spell_dc")
    return "" if found is None else f"{amount(found)}, spell attack {_signed(found - 8)}"


LINES: tuple[Line, ...] = (
    line("Armor Class", "armor_class"),
    ("Hit Points", _hit_points),
    line("Conditions", "conditions"),
    ("Speed", _speeds),
    ("Abilities", _abilities),
    ("Saving Throws", _saves),
    ("Skills", _skills),
    ("Passive", _passives),
    ("Senses", _senses),
    line("Languages", "languages"),
    line("Resistant to", "resistant"),
    line("Immune to", "immune"),
    line("Gold", "gold"),
    ("As of", lambda source: source.words("modified")[:10]),
)


# --- spells, items, entries -------------------------------------------------------------------------------------------


def _spells(source: Source, rules: Rules) -> Iterator[str]:
    """The spells by level; what the character's source does not say of their levels, the library does."""
    yield labelled(source, [("Spell Save DC", _spell_dc)])
    slots = {words(level): words(value) for level, value in source.mapping("slots").items()}
    known = {fold(each.name): each.level for each in rules.found if each.entity_type == "spells"}
    listed = [mapping(each) for each in source.items("spells")]
    named = listed or [{"name": words(name)} for name in source.items("known")]
    found = [each if "level" in each else {**each, "level": known.get(fold(words(each.get("name"))))} for each in named]
    ready = {fold(words(name)) for name in source.items("prepared")}
    left = {fold(words(each.get("name"))) for each in found if each.get("prepared") is False} - ready
    levels = {number(each.get("level")) for each in found} | {number(level) for level in slots}
    rows = []
    for level in sorted(levels, key=lambda each: (each is None, each or 0)):
        names = [words(each.get("name")) for each in found if number(each.get("level")) == level]
        able = [inline(name) for name in names if fold(name) in ready]
        idle = [inline(name) for name in names if fold(name) in left]
        others = [inline(name) for name in names if fold(name) not in ready | left]
        slot = slots.get(f"{level:g}" if level is not None else "", "")
        heading = _heading(level)
        count = f" ({slot} slot{'s' if slot != '1' else ''})" if slot else ""
        told = [", ".join(able), f"not prepared: {', '.join(idle)}" if idle else ""]
        told.append(f"{'not stated whether prepared: ' if able or idle else ''}{', '.join(others)}" if others else "")
        rows.append(f"- **{heading}**{count} {'; '.join(filter(None, told)) or '—'}")
    yield "\n".join(rows)


def _heading(level: float | None) -> str:
    if level is None:
        return "Level unknown"
    return f"{ordinal(level)} level" if level else "Cantrips"


def _items(source: Source) -> str:
    found = []
    for each in map(mapping, source.items("inventory")):
        quantity = number(each.get("quantity"))
        marks = [mark for mark, key in ((WORN, "equipped"), (ATTUNED, "attuned")) if each.get(key) is True]
        times = f" × {amount(quantity)}" if quantity is not None and quantity != 1 else ""
        found.append(f"{inline(words(each.get('name')))}{times}{f' ({chr(44).join(marks)})' if marks else ''}")
    return ", ".join(found or [inline(words(name)) for name in source.items("items")])


def _listed(source: Source) -> dict[str, list[str]]:
    """What the sheet lists, by what that is called."""
    found = {
        "spells": source.items("known"),
        "features": source.items("features"),
        "items": source.items("items"),
    }
    return {label: [words(name) for name in names] for label, names in found.items()}


def _references(rules: Rules, listed: Mapping[str, list[str]]) -> Iterator[str]:
    """The addresses: what a document has under the usual key of a name, together; others one by one."""
    rows = list(_links(rules.found) if rules.linked else _addresses(rules.found, listed))
    if rules.missing:
        rows.append(f"- Not in the library: {_in_short(rules.missing, listed)}")
    yield "\n".join(rows)


def _in_short(names: Sequence[str], listed: Mapping[str, list[str]]) -> str:
    """Names with commas; a list of the sheet that is among them, whole or but for a few, is not written again."""
    left, told = list(names), []
    for label, own in listed.items():
        there, rest = [name for name in own if name in left], [name for name in own if name not in left]
        if len(there) > MOST_EXCEPT and len(rest) <= MOST_EXCEPT:
            told.append(f"all {label}{' but ' if rest else ''}{', '.join(map(inline, rest))}")
            left = [name for name in left if name not in there]
    return "; ".join(filter(None, [*told, ", ".join(map(inline, left))]))


MOST_EXCEPT = 3
"""Most names of a list that are named as what is not meant, and fewest that are worth it."""


def _links(found: Iterable[Reference]) -> Iterator[str]:
    """The names as links, a row for each type."""
    rows: dict[str, list[str]] = {}
    for each in found:
        rows.setdefault(each.entity_type, []).append(f"[{inline(each.name)}]({each.uri}){_other(each)}")
    for entity_type, links in rows.items():
        yield f"- {TYPES.get(entity_type, title(entity_type))}: {', '.join(links)}"


TYPES = {"character_options": "Classes, species and background", "equipment": "Items", "rules": "Features"}
"""What rows of links are called, where that is not their type."""


def _addresses(found: Iterable[Reference], listed: Mapping[str, list[str]]) -> Iterator[str]:
    references = list(found)
    usual = Counter((each.entity_type, each.document) for each in references if _is_usual(each))
    told: set[tuple[str, str]] = set()
    for each in references:
        key = (each.entity_type, each.document)
        names = [r for r in references if (r.entity_type, r.document) == key and _is_usual(r)]
        if not _is_usual(each) or usual[key] < 2:
            inside = f', section="{each.section}"' if each.section else ""
            yield f"- {inline(each.name)}: {each.uri}{inside}{_other(each)}"
        elif key not in told:
            told.add(key)
            base = uri_of(*key, SIGNS_OF_SLUG)
            meant = _in_short([r.name for r in names], listed)
            yield f"- {base}, the name in lower case with hyphens{_other(each)}: {meant}"


def _is_usual(reference: Reference) -> bool:
    """Whether the key of an entry can be told from the name on the sheet."""
    return not reference.section and reference.slug == fold(reference.name).replace(" ", "-")


def _other(reference: Reference) -> str:
    return f" (of {reference.edition})" if reference.edition else ""
