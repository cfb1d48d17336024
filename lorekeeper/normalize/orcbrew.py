"""OrcBrew packs (homebrew of Dungeon Master's Vault and OrcPub) to entities.

A file is one pack, ``{:orcpub.dnd.e5/spells {:key {...}}}``, named after the file, or several, ``{"Pack" {...}}``. The pack is
the document, the key is the slug. Packs that go round are damaged in many ways: what can be read is, and the rest is told.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.normalize.build import build, feet, slugify
from lorekeeper.normalize.edn import MAX_PROBLEMS, Keyword, Map, Problem, Reading, read

NAMESPACE = "orcpub.dnd.e5"

MAX_SHOWN = 60
"""Characters of a name or key of the file in a message."""

_INVISIBLE = re.compile("[\u00a0\u00ad\u200b\u200c\u200d\u2060\ufeff]")

_LOOKS_SO = re.compile(
    r'(?:[\s,\ufeff]|;[^\n]*\n)*\{[\s,]*(?::[a-z]|#|\}|"(?:[^"\\]|\\.){0,200}"[\s,]+(?:\{|#:|nil))', re.DOTALL
)

Object = Mapping[str, Any]


@dataclass
class Imported:
    """What a file of packs holds.

    Attributes:
        entities: in the order of the file.
        failed: (``line:column``, reason) of what was lost; a file lists `MAX_PROBLEMS`, and how many more there are.
        warnings: (``line:column``, reason) of what was corrected; as many at most.
        skipped: entries of types that are no lore, by type.
    """

    entities: list[Entity] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def _text(value: object) -> str | None:
    return value.replace("-", " ") if isinstance(value, Keyword) else value if isinstance(value, str) else None


def _chosen(value: object) -> list[str] | None:
    """Names that are marked as true in a map, or that stand in a list."""
    if isinstance(value, Mapping):
        value = [name for name, chosen in value.items() if chosen is True]
    return [str(v) for v in value if v] if isinstance(value, list) else None


def _spell(o: Object) -> dict[str, Any]:
    distance, duration = _text(o.get("range")), _text(o.get("duration")) or ""
    return {
        "level": o.get("level"),
        "school": _text(o.get("school")),
        "classes": _chosen(o.get("spell-lists")) or None,
        "ritual": o.get("ritual"),
        "concentration": True if "concentration" in duration.lower() else None,
        "casting_time": _text(o.get("casting-time")),
        "range": feet(distance) if distance else None,
    }


def _monster(o: Object) -> dict[str, Any]:
    dice = o.get("hit-points")
    if isinstance(dice, Mapping):
        number, sides, more = (dice.get(k) for k in ("die-count", "die", "modifier"))
        known = isinstance(number, int) and isinstance(sides, int) and isinstance(more, int | None)
        dice = dice.get("mean") or (number * (sides + 1) // 2 + (more or 0) if known else None)  # type: ignore[operator]
    return {
        "challenge_rating": o.get("challenge"),
        "type": _text(o.get("type")),
        "size": _text(o.get("size")),
        "alignment": _text(o.get("alignment")),
        "armor_class": o.get("armor-class"),
        "hit_points": dice,
        "environments": _chosen(o.get("environments")),
    }


def _class(o: Object) -> dict[str, Any]:
    die = o.get("hit-die")
    return {"hit_die": f"d{die}" if isinstance(die, int) else _text(die)}


def _child(link: str) -> Callable[[Object], dict[str, Any]]:
    return lambda o: {"parent": o.get(link)}


def _nothing(_: Object) -> dict[str, Any]:
    return {}


TYPES: dict[str, tuple[str, str, Callable[[Object], dict[str, Any]]]] = {
    "spells": ("spells", "spell", _spell),
    "monsters": ("creatures", "creature", _monster),
    "classes": ("character_options", "class", _class),
    "subclasses": ("character_options", "subclass", _child("class")),
    "races": ("character_options", "race", _nothing),
    "subraces": ("character_options", "subrace", _child("race")),
    "feats": ("character_options", "feat", _nothing),
    "backgrounds": ("character_options", "background", _nothing),
    "languages": ("rules", "language", _nothing),
    "invocations": ("rules", "invocation", _nothing),
    "boons": ("rules", "boon", _nothing),
}
"""Content types that are lore: collection, kind and filter fields."""

NO_LORE = frozenset({"selections", "encounters"})
"""Content types that only work inside the program they are from: lists of choices, and of monsters to fight."""


def looks_like_orcbrew(text: str) -> bool:
    """Whether a text begins as OrcBrew does, and JSON does not."""
    return _LOOKS_SO.match(text[:10_000]) is not None


def packs(text: str, name: str, document: str | None = None) -> Imported:
    """Everything in the text of one file.

    Args:
        text: the file's.
        name: the file's, without its ending: the name of a pack that has none.
        document: key of the document to file everything under; that of the pack by default.
    """
    return _Packs(read(text), name, document).imported()


class _Packs:
    def __init__(self, reading: Reading, name: str, document: str | None) -> None:
        self._reading = reading
        self._name = name
        self._document = document
        self._found = Imported()
        self._told: set[int] = set()
        """Offsets of the problems that were reported with an entry."""
        self._taken: dict[tuple[str, str, str], str] = {}
        self._invisible: list[int] = []
        """Offsets of entries with signs that cannot be seen."""
        self._places = [p.at for p in reading.problems]
        self._more = Counter(failed=reading.more["map"] + reading.more["value"], warnings=reading.more["none"])
        """How many of each list there are beyond those that are listed."""

    def imported(self) -> Imported:
        if self._reading.problems and _is_json(self._reading.text):
            self._fail(
                0, "this is JSON and no OrcBrew pack, which is written in EDN; give the file a name that ends in .json"
            )
            return self._found
        if not self._reading.values and not self._reading.problems:
            self._fail(0, "the file is empty" if not self._reading.text.strip() else "the file holds comments only")
        for value in self._reading.values:
            if isinstance(value, Map):
                self._file(value)
            else:
                self._fail(0, f"a pack is a map of content types, as {{:{NAMESPACE}/spells {{...}}}}; this is none")
        self._finish()
        return self._found

    def _finish(self) -> None:
        """What is said of the file as a whole, and how much is not listed."""
        for problem in self._reading.problems:
            if problem.at not in self._told:
                (self._odd if problem.harm == "none" else self._fail)(problem.at, problem.reason)
        if self._invisible:
            number = len(self._invisible)
            self._odd(
                self._invisible[0], f"{number} entries from here on hold signs that cannot be seen, as no-break spaces"
            )
        found = self._found
        if not (found.entities or found.failed or found.skipped):
            self._fail(
                0, f"the file holds no entry; a pack is a map of content types, as {{:{NAMESPACE}/spells {{...}}}}"
            )
        for listed, more in ((found.failed, self._more["failed"]), (found.warnings, self._more["warnings"])):
            if more:
                listed.append((listed[-1][0] if listed else "1:1", f"and {more:,} more problems in this file"))

    def _file(self, top: Map) -> None:
        if any(isinstance(key, Keyword) for key in top) or not top:
            self._pack(self._name, top)
            return
        for name, pack in top.items():
            if isinstance(pack, Map):
                self._pack(name, pack)
            else:
                self._fail(top.at, f"the pack {name[:MAX_SHOWN]!r} is no map of content types")

    def _pack(self, name: str, pack: Map) -> None:
        if pack.get("disabled?") is True:
            self._odd(
                pack.at, f"the pack {name[:MAX_SHOWN]!r} is switched off in its file; it is imported all the same"
            )
        for key, entries in pack.items():
            namespace, _, content = key.rpartition("/")
            if not namespace and not isinstance(entries, (Map, list)):
                continue  # a property of the pack itself, as :disabled?
            if not namespace and isinstance(key, Keyword) and (content in TYPES or content in NO_LORE):
                self._odd(pack.at, f"{content} is written without {NAMESPACE}/ before it; it is read all the same")
                namespace = NAMESPACE
            self._content(namespace, content, entries, name, pack)

    def _content(self, namespace: str, content: str, entries: object, name: str, pack: Map) -> None:
        """The entries of one content type of a pack."""
        key = f"{namespace}/{content}".lstrip("/")[:MAX_SHOWN]
        number = len(entries) if isinstance(entries, (Map, list)) else 1
        if namespace == NAMESPACE and content in NO_LORE:
            self._found.skipped[content] += number
        elif namespace != NAMESPACE or content not in TYPES:
            if len(self._found.skipped) < MAX_PROBLEMS:
                self._found.skipped[key] += number
            known = ", ".join(sorted({*TYPES, *NO_LORE}))
            at = entries.at if isinstance(entries, Map) else pack.at
            self._fail(at, f"the content type {key} is not one of OrcBrew's ({known}); {number} passed over")
        elif isinstance(entries, Map):
            for slug, entry in entries.items():
                self._entry(content, slug, entry, name, entries)
        elif entries is not None:
            self._fail(pack.at, f"{key} is no map of entries")

    def _entry(self, content: str, key: str, entry: object, pack: str, entries: Map) -> None:
        what = f"{content} {key[:MAX_SHOWN]}"
        if not isinstance(entry, Map):
            self._fail(entries.at, f"{what}: it is no map, but {'nil' if entry is None else 'a single value'}")
            return
        problems = list(self._within(entry))
        self._told.update(p.at for p in problems if p.harm != "value")
        broken = entry.broken
        if broken is not None or not entry.whole:
            place, reason = (broken.at, broken.reason) if broken else (entry.at, "it is cut off")
            self._fail(place, f"{what}: {reason}")
            return
        for problem in problems:
            if problem.harm == "none":
                self._odd(problem.at, f"{what}: {problem.reason}")
        try:
            self._found.entities.append(self._made(content, key, entry, pack))
        except FilterError as error:
            self._fail(entry.at, f"{what}: {error}")

    def _made(self, content: str, key: str, entry: Map, pack: str) -> Entity:
        entity_type, kind, fields_of = TYPES[content]
        own = entry.get("option-pack")
        title = next((t for t in (pack, own, self._name) if isinstance(t, str) and t.strip()), self._name).strip()
        what = f"{content} {key[:MAX_SHOWN]}"
        if not pack.strip():
            self._odd(entry.at, f"{what}: its pack has no name; filed under {title[:MAX_SHOWN]!r}")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            name = key.replace("-", " ").title()
            self._odd(entry.at, f"{what}: it has no name; called {name[:MAX_SHOWN]!r}")
        for missing in [k for k in ("level", "school") if content == "spells" and entry.get(k) is None]:
            self._odd(entry.at, f"{what}: it has no {missing}")
        if any(_INVISIBLE.search(text) for text in _texts(entry)):
            self._invisible.append(entry.at)
        document = self._document or slugify(title)
        return build(
            entity_type,
            entry,
            slug=self._slug(entity_type, document, key, kind),
            name=name,
            kind=kind,
            document=document,
            document_name=title,
            source_api="orcbrew",
            **self._fields(entity_type, fields_of(entry), what, entry.at),
        )

    def _slug(self, entity_type: str, document: str, key: str, kind: str) -> str:
        """The key; with the kind behind it where an entry of another kind in the same pack has it too."""
        first = self._taken.setdefault((entity_type, document, key), kind)
        return key if first == kind else f"{key}-{kind}"

    def _fields(self, entity_type: str, raw: dict[str, Any], what: str, at: int) -> dict[str, Any]:
        """The filter values that can be read; others are told and left out."""
        known: dict[str, Any] = {}
        for name, value in raw.items():
            try:
                known |= clean_fields(entity_type, {name: value or None if isinstance(value, (str, list)) else value})
            except FilterError as error:
                self._odd(at, f"{what}: {error}; left out")
        return known

    def _within(self, entry: Map) -> Iterator[Problem]:
        for problem in self._reading.problems[bisect_left(self._places, entry.at) :]:
            if problem.at > entry.end or (problem.at == entry.end and entry.whole):
                return
            yield problem

    def _fail(self, at: int, reason: str) -> None:
        self._list("failed", at, reason)

    def _odd(self, at: int, reason: str) -> None:
        self._list("warnings", at, reason)

    def _list(self, name: str, at: int, reason: str) -> None:
        listed: list[tuple[str, str]] = getattr(self._found, name)
        if len(listed) < MAX_PROBLEMS:
            listed.append((self._reading.place(at), reason))
        else:
            self._more[name] += 1


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _texts(value: object) -> Iterator[str]:
    """All texts in a value, which is not nested deeply."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
