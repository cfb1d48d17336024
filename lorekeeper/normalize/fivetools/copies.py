"""Objects that are copies of others, ``_copy``, and versions of themselves, ``_versions``, with all their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.fivetools.mods import modified
from lorekeeper.normalize.fivetools.values import listed, mapping, objects, text
from lorekeeper.printable import shown

Object = Mapping[str, object]

MAX_CHAIN = 30
"""Most objects of which each is a copy of the next."""

MAX_VERSIONS = 100
"""Most versions of one object."""

_OWN = frozenset(
    "_copy _versions _preserve page otherSources additionalSources reprintedAs srd srd52 basicRules basicRules2024 freeRules2024"
    " hasFluff hasFluffImages hasToken token tokenUrl".split()
)
"""Keys that a copy does not inherit, unless it says so."""

_OWN_OF_KIND = {
    "monster": frozenset("legendaryGroup environment soundClip altArt variant dragonCastingColor familiar".split()),
    "item": frozenset(("lootTables", "tier")),
    "itemGroup": frozenset(("lootTables", "tier")),
}

_TOLD_APART_BY = ("className", "classSource", "subclassShortName", "level", "raceName", "pantheon", "set", "shortName")
"""What tells objects of one name and source apart."""

Find = Callable[[str, str, str], list[Object]]
"""All objects of a kind with that name and source."""

Tell = Callable[[str], None]


class Copies:
    """Resolves copies.

    Args:
        find: finds the objects that are copied, in all files of an import.
        searched: says where, for messages.
        allowance: how much copies may have in all; that of a file without any size if None.
        elsewhere: says what an object that is not in the files is filled from, by its kind, name and source; "" for nothing.
    """

    def __init__(
        self,
        find: Find,
        searched: Callable[[], str] = lambda: "the files",
        allowance: Allowance | None = None,
        elsewhere: Callable[[str, str, str], str] = lambda *_: "",
    ) -> None:
        self._find, self._searched, self._allowance = find, searched, allowance or Allowance(0)
        self._elsewhere = elsewhere
        self.unresolved: dict[int, Object] = {}
        """What objects are copies of that is not in the files, by `id`."""

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
            self.unresolved[id(result)] = wanted
        return result

    def _chain(self, kind: str, obj: Object, tell: Tell) -> list[Object]:
        """An object, the one that it copies, and so on."""
        chain = [obj]
        while (wanted := mapping(chain[-1], "_copy")) and len(chain) < MAX_CHAIN:
            name, source = text(wanted, "name"), text(wanted, "source")
            what = f"it is a copy of {shown(name, 60)} of {shown(source, 60)}"
            parent = self._parent(kind, wanted, name, source)
            if parent is None and (filled := self._elsewhere(kind, name, source)):
                tell(f"{what}; missing values come from {filled} of the library")
                break
            if parent is None:
                tell(
                    f"{what}, which is not in {self._searched()}; only its own values were stored. Import both files together"
                )
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
        alike = [each for each in found if all(each.get(k) == wanted[k] for k in _TOLD_APART_BY if k in wanted)]
        return next(iter(alike or found), None)

    def _copied(self, kind: str, child: Object, parent: Object, tell: Tell) -> Object:
        """A copy with its own values, those of its parent, and the changes that it asks for."""
        wanted = mapping(child, "_copy")
        preserved = mapping(wanted, "_preserve") or mapping(child, "_preserve")
        left_out = _OWN | _OWN_OF_KIND.get(kind, frozenset())
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


def versions(obj: Object, tell: Tell, allowance: Allowance | None = None) -> Iterator[Object]:
    """The versions of an object, each with what it has in common with the object.

    Args:
        obj: the object.
        tell: is told what cannot be read.
        allowance: how much they may have in all; that of a file without any size if None.

    Raises:
        FilterError: the allowance is used up.
    """
    allowance = allowance or Allowance(0)
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
