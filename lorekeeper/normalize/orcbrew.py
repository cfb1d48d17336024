"""OrcBrew packs (homebrew of Dungeon Master's Vault and OrcPub) to entities.

A file is one pack, ``{:orcpub.dnd.e5/spells {:key {...}}}``, named after the file, or several, ``{"Pack" {...}}``. The pack is
the document, the key is the slug. Many packs in circulation are damaged: minor problems are fixed with a warning, and a broken
entry is reported and skipped.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import creatures, spells
from lorekeeper.normalize.build import Imported, Origin, build, own_error, readable, slugify
from lorekeeper.normalize.edn import MAX_PROBLEMS, Keyword, Map, Problem, Reading, read
from lorekeeper.normalize.orcbrew_options import fields, option
from lorekeeper.normalize.reading import Words, strings
from lorekeeper.normalize.taken import texts_of

SOURCE = "orcbrew"
"""`Entity.source_api` of these entries."""

NAMESPACE = "orcpub.dnd.e5"

MAX_SHOWN = 60
"""Most characters of a name or key in a message."""

_INVISIBLE = re.compile("[\u00a0\u00ad\u200b\u200c\u200d\u2060\ufeff]")

_LOOKS_SO = re.compile(
    r'(?:[\s,\ufeff]|;[^\n]*\n)*\{[\s,]*(?::[a-z]|#|"(?:[^"\\]|\\.){0,200}"[\s,]+(?:\{|#:|nil))', re.DOTALL
)

Object = Mapping[str, Any]


_READ: dict[str, Callable[[Object], dict[str, Any]]] = {
    "spells": spells.read,
    "creatures": creatures.read,
    "rules": lambda _: {},
}

_PARENTS = {"subclass": "class", "subrace": "race"}

TYPES = {
    content: (entity_type, kind, _READ.get(entity_type) or partial(fields, parent=_PARENTS.get(kind, "")))
    for content, (entity_type, kind) in Words(__file__)["content types"].items()
}
"""The content types with lore: collection, kind and filter fields."""

NO_LORE = frozenset({"selections", "encounters"})
"""Content types that are useful only in the program they are from: selections and encounters."""


def looks_like_orcbrew(text: str) -> bool:
    """Whether a text begins like OrcBrew, and not like JSON."""
    return _LOOKS_SO.match(text[:10_000]) is not None


def packs(text: str, name: str, document: str | None = None) -> Imported:
    """Everything in the text of a file.

    Args:
        text: of the file.
        name: of the file, without its suffix: the name of a pack that has none.
        document: key of the document to assign all entries to; that of their pack by default.

    Returns:
        Its places are ``line:column``. At most `MAX_PROBLEMS` problems failed, and one that counts the rest; as many warnings.
    """
    return _Packs(read(text), name, document).imported()


class _Packs:
    def __init__(self, reading: Reading, name: str, document: str | None) -> None:
        self._reading, self._name, self._document = reading, name, document
        self._result = Imported()
        self._reported: set[int] = set()
        """Offsets of the problems that were reported with an entry."""
        self._kinds: dict[tuple[str, str, str], str] = {}
        """Kind of the first entry of each type, document and key: entries of others have it behind their keys."""
        self._invisible: list[int] = []
        """Offsets of entries with invisible characters."""
        self._more = Counter(failed=reading.more["map"] + reading.more["value"], warnings=reading.more["none"])
        """How many problems of each list are omitted."""

    def imported(self) -> Imported:
        if self._reading.problems and _is_json(self._reading.text):
            self._fail(0, "this is JSON, not an OrcBrew pack, which is EDN; rename the file to end in .json")
            return self._result
        if not self._reading.values and not self._reading.problems:
            self._fail(0, "the file contains only comments" if self._reading.text.strip() else "the file is empty")
        for value in self._reading.values:
            if isinstance(value, Map):
                self._file(value)
            else:
                self._fail(0, f"this is not a pack, which is a map of content types: {{:{NAMESPACE}/spells {{...}}}}")
        self._finish()
        return self._result

    def _finish(self) -> None:
        """Report problems of the file as a whole, and how many problems are omitted."""
        for problem in self._reading.problems:
            if problem.at not in self._reported:
                (self._warn if problem.harm == "none" else self._fail)(problem.at, problem.reason)
        if self._invisible:
            more = len(self._invisible) - 1
            subject = f"this entry and {more:,} more contain" if more else "this entry contains"
            self._warn(self._invisible[0], f"{subject} invisible characters, such as no-break spaces")
        result = self._result
        if not (result.entities or result.failed or result.skipped):
            self._fail(0, f"the file has no entries; a pack is a map of content types: {{:{NAMESPACE}/spells {{...}}}}")
        for problems, more in ((result.failed, self._more["failed"]), (result.warnings, self._more["warnings"])):
            if more:
                place = problems[-1][0] if problems else "1:1"
                problems.append((place, f"and {more:,} more problems in this file"))

    def _file(self, top: Map) -> None:
        if any(isinstance(key, Keyword) for key in top) or not top:
            self._pack(self._name, top)
            return
        for name, pack in top.items():
            if isinstance(pack, Map):
                self._pack(name, pack)
            else:
                self._fail(top.at, f"the pack {name[:MAX_SHOWN]!r} is not a map of content types")

    def _pack(self, name: str, pack: Map) -> None:
        if pack.get("disabled?") is True:
            self._warn(pack.at, f"the pack {name[:MAX_SHOWN]!r} is disabled in its file; it is imported anyway")
        for key, entries in pack.items():
            namespace, _, content = key.rpartition("/")
            if not namespace and not isinstance(entries, (Map, list)):
                continue  # a property of the pack itself, as :disabled?
            if not namespace and isinstance(key, Keyword) and (content in TYPES or content in NO_LORE):
                self._warn(pack.at, f"{content} lacks the prefix {NAMESPACE}/; it is read anyway")
                namespace = NAMESPACE
            self._content(namespace, content, entries, name, pack)

    def _content(self, namespace: str, content: str, entries: object, name: str, pack: Map) -> None:
        """The entries of one content type of a pack."""
        key = f"{namespace}/{content}".lstrip("/")[:MAX_SHOWN]
        number = len(entries) if isinstance(entries, (Map, list)) else 1
        if namespace == NAMESPACE and content in NO_LORE:
            self._result.skipped[content] += number
        elif namespace != NAMESPACE or content not in TYPES:
            if len(self._result.skipped) < MAX_PROBLEMS:
                self._result.skipped[key] += number
            content_types = ", ".join(sorted({*TYPES, *NO_LORE}))
            at = entries.at if isinstance(entries, Map) else pack.at
            self._fail(at, f"unknown content type {key}, {number} skipped; known: {content_types}")
        elif isinstance(entries, Map):
            for slug, entry in entries.items():
                self._entry(content, slug, entry, name, entries)
        elif entries is not None:
            self._fail(pack.at, f"{key} is not a map of entries")

    def _entry(self, content: str, key: str, entry: object, pack: str, entries: Map) -> None:
        what = f"{content} {key[:MAX_SHOWN]}"
        if not isinstance(entry, Map):
            self._fail(entries.at, f"{what}: it is not a map but {'nil' if entry is None else 'a single value'}")
            return
        problems = list(self._within(entry))
        self._reported.update(p.at for p in problems if p.harm != "value")
        if entry.broken is not None:
            self._fail(entry.broken.at, f"{what}: {entry.broken.reason}")
            return
        if not entry.whole:
            self._fail(entry.at, f"{what}: it is truncated")
            return
        for problem in problems:
            if problem.harm == "none":
                self._warn(problem.at, f"{what}: {problem.reason}")
        try:
            with own_error():
                self._result.entities.append(self._entity(content, key, entry, pack, what))
            self._result.texts += texts_of(entry, SOURCE)
        except FilterError as error:
            self._fail(entry.at, f"{what}: {error}")

    def _entity(self, content: str, key: str, entry: Map, pack: str, what: str) -> Entity:
        entity_type, kind, fields_of = TYPES[content]
        title = self._title(entry, pack, what)
        if not isinstance(name := entry.get("name"), str) or not name.strip():
            name = key.replace("-", " ").title()
            self._warn(entry.at, f"{what}: it has no name; named {name[:MAX_SHOWN]!r}")
        for missing in [k for k in ("level", "school") if content == "spells" and entry.get(k) is None]:
            self._warn(entry.at, f"{what}: it has no {missing}")
        if any(_INVISIBLE.search(text) for text in strings(entry)):
            self._invisible.append(entry.at)
        document = self._document or slugify(title)
        return build(
            entity_type,
            option(entry) if entity_type == "character_options" else entry,
            Origin(SOURCE, document, title),
            name=name,
            kind=kind,
            slug=key if self._kinds.setdefault((entity_type, document, key), kind) == kind else f"{key}-{kind}",
            fields=readable(
                entity_type,
                fields_of(entry),
                lambda reason: self._warn(entry.at, f"{what}: {reason}"),
            ),
        )

    def _title(self, entry: Map, pack: str, what: str) -> str:
        """The title of an entry's document: the name of its pack, or else what the entry or the file says."""
        candidates = (pack, entry.get("option-pack"), self._name)
        title = next((t for t in candidates if isinstance(t, str) and t.strip()), self._name).strip()
        if not pack.strip():
            self._warn(entry.at, f"{what}: its pack has no name; assigned to {title[:MAX_SHOWN]!r}")
        return title

    def _within(self, entry: Map) -> Iterator[Problem]:
        """The problems between the beginning and the end of an entry."""
        problems = self._reading.problems
        for problem in problems[bisect_left(problems, entry.at, key=lambda each: each.at) :]:
            if problem.at > entry.end or (problem.at == entry.end and entry.whole):
                return
            yield problem

    def _fail(self, at: int, reason: str) -> None:
        self._report("failed", at, reason)

    def _warn(self, at: int, reason: str) -> None:
        self._report("warnings", at, reason)

    def _report(self, name: str, at: int, reason: str) -> None:
        problems: list[tuple[str, str]] = getattr(self._result, name)
        if len(problems) < MAX_PROBLEMS:
            problems.append((self._reading.place(at), reason))
        else:
            self._more[name] += 1


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
