"""The changes that a copy makes to what it inherits: the modes of ``_mod``.

Every mode is a function of the object, the property and the operation. What an operation cannot do is told, and the others are
still applied. Some change a stat block as a whole: senses, saves, skills, spells, attack bonuses and the like.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.fivetools.values import Data, Object, at, listed, mapping, number, objects, text, thawed, word
from lorekeeper.normalize.formulas import modifier, proficiency
from lorekeeper.printable import shown
from lorekeeper.terms import ABILITY_OF, SKILL_ABILITIES

if TYPE_CHECKING:
    import regex

Tell = Callable[[str], None]
Mode = Callable[[Data, str, Object], None]
"""Changes a property of an object in place. FilterError, with the reason, if it cannot."""

TEXT_PROPERTIES = ("action", "reaction", "trait", "legendary", "variant", "spellcasting", "bonus", "mythic")
"""What "*" stands for: the properties that have texts."""

MAX_OPERATIONS = 500
"""Most operations of one object."""

PATTERN_SECONDS = 0.25
"""Longest time for the replacements of one operation: its pattern comes from outside."""

MAX_PATTERN, MAX_WORDS = 500, 10_000
"""Longest pattern, and longest text that replaces what matches it, in characters."""

MAX_TEXT, MAX_TEXTS = 200_000, 1_000_000
"""Longest text after a change, and longest texts of one property together, in characters."""

MAX_COMPARED = 1_000_000
"""Most comparisons of the items of two lists in one operation."""

_TOO_LONG = "it makes a text too long"


def modified(obj: Object, mods: object, tell: Tell) -> Data:
    """An object with changes; the object itself is left as it is."""
    if not mods:
        return dict(obj)
    result: Data = dict(mapping(thawed(obj)))
    operations = [(name, each) for name, found in mapping(mods).items() for each in listed(found)]
    if len(operations) > MAX_OPERATIONS:
        tell(f"it asks for {len(operations):,} changes; the first {MAX_OPERATIONS} were made")
    for name, operation in operations[:MAX_OPERATIONS]:
        for each in [key for key in TEXT_PROPERTIES if key in result] if name == "*" else [name]:
            where = "the whole" if each == "_" else shown(each, 40)
            try:
                _apply(result, each, operation)
            except FilterError as error:
                tell(f"a change of {where} was left out: {error}")
            except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
                tell(f"a change of {where} was left out: its values have the wrong type")
    return result


def _apply(obj: Data, name: str, operation: object) -> None:
    if operation == "remove":
        obj.pop(name, None)
        return
    if not isinstance(operation, Mapping):
        raise FilterError(f"it must be an object with a mode, or 'remove', not {shown(operation, 60)}")
    mode = text(operation, "mode")
    if mode not in MODES:
        raise FilterError(f"the mode {shown(mode, 40)} is unknown; known: {', '.join(sorted(MODES))}")
    MODES[mode](obj, name, operation)


# --- texts -----------------------------------------------------------------------------------------------------------


class _Replacement:
    """What an operation puts in the place of what its pattern matches: each text, and all of them, within limits.

    Raises:
        FilterError: pattern or replacement cannot be used.
    """

    def __init__(self, operation: Object) -> None:
        import regex

        self._pattern, self._with, flags = (text(operation.get(key)) for key in ("replace", "with", "flags"))
        if not 0 < len(self._pattern) <= MAX_PATTERN:
            raise FilterError(f"its pattern must have 1 to {MAX_PATTERN} characters")
        if len(self._with) > MAX_WORDS:
            raise FilterError(f"its replacement has more than {MAX_WORDS:,} characters")
        known = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
        try:
            self._compiled = regex.compile(self._pattern, sum(flag for key, flag in known.items() if key in flags))
        except regex.error as error:
            raise FilterError(f"its pattern {shown(self._pattern, 60)} is not valid: {error}") from error
        words = regex.sub(r"\$(\d)", r"\\g<\1>", self._with.replace("\\", "\\\\"))
        self._words = words.replace("$&", r"\g<0>")
        self._groups = self._words.count(r"\g<")
        self._ends = time.monotonic() + PATTERN_SECONDS
        self._left, self._added = MAX_TEXTS, 0

    def __call__(self, value: str) -> str:
        """A text with its matches replaced; FilterError if that takes too long, or makes it too long."""
        import regex

        self._added = 0
        try:
            result = str(self._compiled.sub(self._expanded, value, timeout=max(self._ends - time.monotonic(), 0.001)))
        except TimeoutError as error:
            raise FilterError(f"its pattern {shown(self._pattern, 60)} takes too long") from error
        except (regex.error, IndexError) as error:
            raise FilterError(f"its replacement {shown(self._with, 60)} is not valid") from error
        self._left -= len(result)
        if self._left < 0:
            raise FilterError(_TOO_LONG)
        return _limited(result)

    def _expanded(self, match: regex.Match[str]) -> str:
        """What replaces one match; its length is known before it is made."""
        self._added += len(self._words) + self._groups * max(map(len, (match[0], *match.groups(""))))
        if self._added > MAX_TEXT:
            raise FilterError(_TOO_LONG)
        return str(match.expand(self._words))


def _each_text(value: object, change: Callable[[str], str], is_meant: Callable[[str], bool], key: str = "") -> object:
    """A value with the texts under some keys changed; those in lists are under ""."""
    if isinstance(value, str):
        return change(value) if is_meant(key) else value
    if isinstance(value, list):
        return [_each_text(item, change, is_meant) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _each_text(item, change, is_meant, name) for name, item in value.items()}


def _replace_text(is_meant: Callable[[str], bool], obj: Data, name: str, operation: Object) -> None:
    obj[name] = _each_text(obj.get(name), _Replacement(operation), is_meant)


def _append_text(obj: Data, name: str, operation: Object) -> None:
    before = text(obj, name)
    obj[name] = _limited(f"{before}{text(operation, 'joiner') if before else ''}{text(operation, 'str')}")


def _limited(words: str) -> str:
    if len(words) > MAX_TEXT:
        raise FilterError(_TOO_LONG)
    return words


# --- lists -----------------------------------------------------------------------------------------------------------


def _require_few(found: list[object], others: list[object]) -> None:
    """FilterError if it would take too long to look for each of some items in a list."""
    if len(found) * len(others) > MAX_COMPARED:
        raise FilterError(f"{len(others):,} items in a list of {len(found):,} are too many to look for")


def _list(obj: Data, name: str) -> list[object]:
    """The list of a property, which is made where there is none."""
    value = obj.setdefault(name, [])
    if not isinstance(value, list):
        value = obj[name] = [value]
    return value


def _insert(first: object, obj: Data, name: str, operation: Object) -> None:
    """Items at the place that the operation says, else at this one; None for the end."""
    found, place = _list(obj, name), number(operation.get("index", first))
    place = len(found) if place is None else int(place)
    found[place:place] = listed(operation, "items")


def _replace(obj: Data, name: str, operation: Object, *, or_append: bool = False) -> None:
    found, wanted = _list(obj, name), operation.get("replace")
    place = len(found) if or_append and _place(found, wanted) is None else _required(found, wanted, "replace")
    found[place : place + 1] = listed(operation, "items")


def _remove(obj: Data, name: str, operation: Object) -> None:
    found = _list(obj, name)
    unwanted = [*listed(operation, "names"), *listed(operation, "items")]
    _require_few(found, unwanted)
    for wanted in unwanted:
        if operation.get("force") is not True or _place(found, wanted) is not None:
            del found[_required(found, wanted, "remove")]


def _rename(obj: Data, name: str, operation: Object) -> None:
    found, renames = _list(obj, name), objects(operation, "renames")
    _require_few(found, [*renames])
    for rename in renames:
        place = _required(found, rename.get("rename"), "rename")
        found[place] = {**mapping(found[place]), "name": text(rename, "with")}


def _required(found: list[object], wanted: object, to: str) -> int:
    """Where in a list an item is; FilterError if it is not there to be changed."""
    if (place := _place(found, wanted)) is None:
        raise FilterError(f"there is no {shown(wanted, 60)} to {to}")
    return place


def _place(found: list[object], wanted: object) -> int | None:
    """Where in a list an item is: by its name, as it is, by its place, or by a pattern that its name matches."""
    if isinstance(wanted, Mapping) and "index" in wanted:
        place = number(wanted, "index")
        return int(place) if place is not None and 0 <= place < len(found) else None
    if isinstance(wanted, Mapping) and "regex" in wanted:
        return _matching(found, wanted)
    names = (place for place, item in enumerate(found) if isinstance(wanted, str) and _name(item) == wanted)
    return next(names, found.index(wanted) if wanted in found else None)


def _matching(found: list[object], wanted: Object) -> int | None:
    import regex

    try:
        pattern = regex.compile(text(wanted, "regex")[:MAX_PATTERN], regex.IGNORECASE if wanted.get("flags") else 0)
        places = (place for place, item in enumerate(found) if pattern.search(_name(item), timeout=PATTERN_SECONDS))
        return next(places, None)
    except (regex.error, TimeoutError) as error:
        raise FilterError(f"its pattern {shown(wanted.get('regex'), 60)} is not valid or takes too long") from error


def _name(item: object) -> str:
    return text(item, "name") or text(item)


# --- values ----------------------------------------------------------------------------------------------------------


def _part(obj: Data, name: str, operation: Object) -> tuple[Data, str]:
    """The object and the key that "hp.formula" means, within a property, or within the whole."""
    part = obj
    *path, last = ([] if name == "_" else [name]) + text(operation, "prop").split(".")
    for key in path:
        nested = part.setdefault(key, {})
        if not isinstance(nested, dict):
            raise FilterError(f"{shown(key, 40)} has no properties")
        part = nested
    return part, last


def _set(obj: Data, name: str, operation: Object) -> None:
    part, key = _part(obj, name, operation)
    part[key] = thawed(operation.get("value"))


# --- stat blocks -----------------------------------------------------------------------------------------------------

_RANGE = re.compile(r"(\d{1,6})")
_RATING = re.compile(r"\s*1/([248])\s*")


def rating(obj: Object) -> float | None:
    """The challenge rating as a number: 0.25 of "1/4"; None if it is unknown."""
    found = at(obj, "cr.cr") if isinstance(obj.get("cr"), Mapping) else obj.get("cr")
    if isinstance(found, str) and (match := _RATING.fullmatch(found)):
        return 1 / int(match[1])
    result = number(found)
    return None if result is None or not 0 <= result <= 40 else result


def ability_modifier(obj: Object, code: str) -> int:
    """The modifier of an ability by its score, 0 if it is unknown."""
    score = number(obj, code)
    return 0 if score is None else modifier(score)


def _add_senses(obj: Data, _: str, operation: Object) -> None:
    senses = [text(sense) for sense in listed(obj, "senses")]
    for added in objects(operation, "senses"):
        kind, reach = text(added, "type"), number(added, "range")
        place = next((place for place, sense in enumerate(senses) if sense.lower().startswith(kind.lower())), None)
        if place is None:
            senses.append(f"{kind} {reach} ft.")
        elif (match := _RANGE.search(senses[place])) and reach is not None and int(match[1]) < reach:
            senses[place] = _RANGE.sub(str(reach), senses[place], count=1)
    obj["senses"] = senses


def _raise(prop: str, abilities: Mapping[str, str], obj: Data, _: str, operation: Object) -> None:
    """Bonuses of proficiency (1) or expertise (2), where those that are there are not higher."""
    found = dict(mapping(obj.get(prop)))
    for name, level in mapping(operation, f"{prop}s").items():
        own = ability_modifier(obj, abilities.get(name.lower(), "int"))
        bonus = own + proficiency(rating(obj)) * int(number(level) or 1)
        before = number(found.get(name))
        found[name] = f"{bonus if before is None else max(bonus, before):+g}"
    obj[prop] = found


_SAVES = {code: code for code in ABILITY_OF}
_SKILLS = {skill: ability[:3] for skill, ability in SKILL_ABILITIES.items()}

Change = Callable[[list[object], object], Iterable[object]]


def _change_spells(change: Change, obj: Data, _: str, operation: Object) -> None:
    """The first list of spells with those of each level and frequency changed."""
    lists = objects(obj, "spellcasting")
    if not lists:
        raise FilterError("it casts no spells")
    wanted = {key: each for key, each in operation.items() if key != "mode"}
    obj["spellcasting"] = [_with_spells(change, lists[0], wanted), *lists[1:]]


def _with_spells(change: Change, before: object, wanted: object) -> object:
    """A list of spells that is changed, or lists by frequency or level of which some are; numbers of slots are replaced."""
    if isinstance(wanted, Mapping):
        changed = {key: _with_spells(change, mapping(before).get(key), each) for key, each in wanted.items()}
        return {**mapping(before), **changed}
    if number(wanted) is not None:
        return before if isinstance(before, Mapping) else wanted
    if isinstance(before, Mapping):
        return {**before, "spells": [*change(listed(before, "spells"), wanted)]}
    return [*change(listed(before), wanted)]


def _replaced(names: list[object], wanted: object) -> Iterator[object]:
    by_name = {text(each, "replace"): listed(each, "with") for each in objects(wanted)}
    return (new for name in names for new in by_name.get(text(name), [name]))


MODES: dict[str, Mode] = {
    "replaceTxt": partial(_replace_text, lambda key: key not in ("name", "type", "source")),
    "replaceName": partial(_replace_text, lambda key: key == "name"),
    "appendStr": _append_text,
    "prependArr": partial(_insert, 0),
    "appendArr": partial(_insert, None),
    "insertArr": partial(_insert, None),
    "replaceArr": _replace,
    "replaceOrAppendArr": partial(_replace, or_append=True),
    "removeArr": _remove,
    "renameArr": _rename,
    "setProp": _set,
    "addSenses": _add_senses,
    "addSaves": partial(_raise, "save", _SAVES),
    "addSkills": partial(_raise, "skill", _SKILLS),
    "addSpells": partial(
        _change_spells, lambda names, added: [*names, *(each for each in listed(added) if each not in names)]
    ),
    "replaceSpells": partial(_change_spells, _replaced),
    "removeSpells": partial(
        _change_spells, lambda names, removed: [name for name in names if name not in listed(removed)]
    ),
}
"""The modes that homebrew uses. The others of the format reckon with the numbers of a stat block; they are told as unknown."""


# --- copies and versions --------------------------------------------------------------------------------------------


MAX_CHAIN = 30
"""Most objects of which each is a copy of the next."""

MAX_VERSIONS = 100
"""Most versions of one object."""

_OWN = frozenset(
    "_copy _versions _preserve page otherSources additionalSources reprintedAs srd srd52 basicRules basicRules2024 freeRules2024"
    " hasFluff hasFluffImages hasToken token tokenUrl".split()
)
"""Keys that a copy does not inherit, unless it says so."""

Find = Callable[[str, str, str], list[Object]]
"""All objects of a kind with that name and source."""


class Copies:
    """Resolves copies.

    Args:
        find: finds the objects that are copied, in all files of an import.
        searched: says where, for messages.
        allowance: how much copies may have in all.
        elsewhere: finds what an object that is not in the files is filled from, by its kind, name and source.

    Attributes:
        filled: what objects are filled from that are copies of what is not in the files, by `id`.
    """

    def __init__(
        self,
        find: Find,
        searched: Callable[[], str],
        allowance: Allowance,
        elsewhere: Callable[[str, str, str], Entity | None],
    ) -> None:
        self._find, self._searched, self._allowance, self._elsewhere = find, searched, allowance, elsewhere
        self.filled: dict[int, Entity | None] = {}

    def whole(self, kind: str, obj: Object, tell: Tell) -> Object:
        """An object with what it inherits. What cannot be resolved is left out, and told in a sentence.

        Raises:
            FilterError: the allowance is used up.
        """
        self._allowance.take(0)
        chain = self._chain(kind, obj, tell)
        result = chain[-1]
        if "_copy" in result:
            result = {key: value for key, value in result.items() if key != "_copy"}
        for child in reversed(chain[:-1]):
            result = self._copied(kind, child, result, tell)
        if wanted := mapping(chain[-1], "_copy"):
            self.filled[id(result)] = self._elsewhere(kind, text(wanted, "name"), text(wanted, "source"))
        return result

    def _chain(self, kind: str, obj: Object, tell: Tell) -> list[Object]:
        """An object, the one that it copies, and so on."""
        chain = [obj]
        while (wanted := mapping(chain[-1], "_copy")) and len(chain) < MAX_CHAIN:
            name, source = text(wanted, "name"), text(wanted, "source")
            what = f"it is a copy of {shown(name, 60)} of {shown(source, 60)}"
            parent = self._parent(kind, wanted, name, source)
            if parent is None:
                filled = self._elsewhere(kind, name, source)
                lost = (
                    f", which is not in {self._searched()}; only its own values were stored. Import both files together"
                )
                tell(f"{what}; missing values come from {filled.uri} of the library" if filled else f"{what}{lost}")
                break
            if any(parent is each for each in chain):
                tell("it is, through other copies, a copy of itself; only its own values were stored")
                break
            chain.append(parent)
        if len(chain) == MAX_CHAIN:
            tell(f"more than {MAX_CHAIN} copies of copies; the others are left out")
        return chain

    def _parent(self, kind: str, wanted: Object, name: str, source: str) -> Object | None:
        found = self._find(kind, name, source)
        apart = wanted.keys() & {*word["copies"]["apart by"]}
        alike = [each for each in found if all(each.get(key) == wanted[key] for key in apart)]
        return next(iter(alike or found), None)

    def _copied(self, kind: str, child: Object, parent: Object, tell: Tell) -> Object:
        """A copy with its own values, those of its parent, and the changes that it asks for."""
        wanted = mapping(child, "_copy")
        preserved = mapping(wanted, "_preserve") or mapping(child, "_preserve")
        left_out = _OWN.union(word["own of kinds"].get(kind, ()))
        inherited = {k: v for k, v in parent.items() if k not in left_out or preserved.get(k) or preserved.get("*")}
        own = {key: value for key, value in child.items() if key != "_copy"}
        result = {key: value for key, value in {**inherited, **own}.items() if value is not None}
        for template in objects(wanted, "_templates"):
            result = self._templated(kind, template, result, tell)
        copied = modified(result, wanted.get("_mod"), tell)
        self._allowance.take(size_of(copied))
        return copied

    def _templated(self, kind: str, wanted: Object, obj: dict[str, object], tell: Tell) -> dict[str, object]:
        """An object with a template applied, as "a skeleton of that creature"."""
        name, source = text(wanted, "name"), text(wanted, "source")
        found = next(iter(self._find(f"{kind}Template", name, source)), None)
        if found is None:
            tell(
                f"its template {shown(name, 60)} of {shown(source, 60)} is not in {self._searched()}; it was not applied"
            )
            return obj
        apply = mapping(found, "apply")
        return modified({**obj, **mapping(apply, "_root")}, apply.get("_mod"), tell)


def versions(obj: Object, tell: Tell, allowance: Allowance) -> Iterator[Object]:
    """The versions of an object, each with what it has in common with the object.

    Args:
        obj: the object.
        tell: is told what cannot be read.
        allowance: how much they may have in all.

    Raises:
        FilterError: the allowance is used up.
    """
    base = {key: value for key, value in obj.items() if key not in ("_versions", "_copy")}
    drafts = [each for version in objects(obj, "_versions") for each in _drafts(version, allowance)]
    if len(drafts) > MAX_VERSIONS:
        tell(f"it has {len(drafts):,} versions; the first {MAX_VERSIONS} are read")
    for draft in drafts[:MAX_VERSIONS]:
        own = {key: value for key, value in draft.items() if key not in ("_mod", "_preserve")}
        version = modified({**base, **own}, draft.get("_mod"), tell)
        allowance.take(size_of(version))
        yield version


def _drafts(version: Object, allowance: Allowance) -> list[Object]:
    """A version as it is; of one with variables, a version for each set of their values."""
    implementations = listed(version, "_implementations")[: MAX_VERSIONS + 1]
    if "_abstract" not in version:
        return [version]
    abstract = json.dumps(version["_abstract"])
    found: list[Object] = []
    for implementation in objects(implementations):
        filled = abstract
        for name, value in mapping(implementation, "_variables").items():
            mark, words = f"{{{{{name}}}}}", json.dumps(text(value))[1:-1]
            allowance.take(filled.count(mark) * len(words) + len(filled))
            filled = filled.replace(mark, words)
        own = {key: value for key, value in implementation.items() if key != "_variables"}
        found.append({**mapping(json.loads(filled)), **own})
    return found
