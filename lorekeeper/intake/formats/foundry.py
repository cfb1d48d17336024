"""Files of Foundry VTT: documents in JSON and YAML, exports, and ``.db`` files with a document a line.

Documents refer to each other across files, so that all files of an import are read before any of them gives entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.intake.formats.text_file import Entry, TextFile, UnknownFormatError, each_of
from lorekeeper.intake.formats.yaml_document import MAX_CHARS, parse
from lorekeeper.intake.json_stream import UNDECODED, NotJsonError, UndecodedError, Window, entries
from lorekeeper.normalize.build import Imported, reason_of
from lorekeeper.normalize.foundry.books import is_unsaid
from lorekeeper.normalize.foundry.documents import (
    COLLECTIONS,
    OF_PLAYERS,
    OTHERS,
    SYSTEMS,
    Document,
    NoDocumentError,
    documents,
    system_of,
)
from lorekeeper.normalize.foundry.entries import Importer
from lorekeeper.normalize.foundry.fields import SOURCE
from lorekeeper.normalize.foundry.values import objects
from lorekeeper.normalize.taken import texts_of

NAME = "Foundry VTT documents"

GAMES = {"pf2e": "Pathfinder 2e", "pf1": "Pathfinder 1e", "sf2e": "Starfinder 2e", "sfrpg": "Starfinder"}
"""Other games by the keys of their systems."""


YAML = (".yml", ".yaml")
LINES = ".db"
SUFFIXES = (".json", *YAML, LINES)

UNPACKED = frozenset(
    {"_source", *(f"_{name}{suffix}" for name in ("folder", "container") for suffix in (".json", *YAML))}
)
"""Names with an underscore that unpacked packs have: their folder, and the files of folders and containers in them."""

UNSAID = (
    "was exported without its permissions, so everyone may read it except its secret sections; "
    "'--audience dm' hides all of it from players"
)

_SIGNS = re.compile(
    r'"_key"\s{0,9}:\s{0,9}"![a-z]{3,12}!|"(?:system|prototypeToken|exportSource|permission)"\s{0,9}:\s{0,9}[{]'
    r'|"data"\s{0,9}:\s{0,9}\{\s{0,99}"(?:description|abilities)"\s{0,9}:\s{0,9}\{'
    r'|"_stats"\s{0,9}:\s{0,9}[{]|"(?:pages|results)"\s{0,9}:\s{0,9}\[\s{0,99}\{\s{0,99}"(?:_id|name|type)"'
)
_YAML_SIGNS = re.compile(
    r"^(?:_key|_stats|system|ownership|permission|prototypeToken|pages|results|sorting):|^_id: ['\"]?[A-Za-z0-9]{16}['\"]?\s*$",
    re.MULTILINE,
)
_OURS = re.compile(r'"collection"\s{0,9}:\s{0,9}"[a-z_]{3,30}"')
_SQLITE = "SQLite format 3"


def recognises(name: str, head: str) -> bool:
    """Whether a file has documents of Foundry VTT, by its name and by the beginning of its text."""
    if name.endswith(LINES):
        return not head.startswith(_SQLITE)
    if name.endswith(YAML):
        return bool(_YAML_SIGNS.search(head) or _SIGNS.search(head))
    return head.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and bool(_SIGNS.search(head)) and not _OURS.search(head)


@dataclass
class Content(Imported):
    """What is in a file.

    Attributes:
        documents: that can be read, in the order of the file; those without lore are skipped, by collection.
    """

    documents: list[Document] = field(default_factory=list)


@dataclass(frozen=True)
class Together:
    """The files of an import that are of this format."""

    contents: dict[Path, Content]
    importer: Importer


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; its problems are reported with their places."""
    together = file.all_files.once(read_together)
    content, importer = together.contents.get(file.path), together.importer
    if content is None:
        content = content_of(file.path, file.window)
        importer = Importer(content.documents)
    for place, reason in content.failed:
        file.fail(reason, place)
    for collection, number in content.skipped.items():
        file.skip(collection, number)
    for document in content.documents if file.audiences.chosen is None else ():
        if is_unsaid(document):
            file.warn(f"the journal {document.name[:60]!r} {UNSAID}", document.where)
    made: dict[str, list[Entity]] = {}
    for found in importer.entities(content.documents, file.document):
        if found.entity is not None:
            made.setdefault(found.where, []).append(found.entity)
            yield Entry(file.audiences.decided(found.entity), found.where)
        elif found.is_failure:
            file.fail(found.reason, found.where)
        else:
            file.warn(found.reason, found.where)
    said = (said_in(document.raw) for document in content.documents if document.where in made)
    texts = ((key, _ADVICE.sub(" ", text)) for raw in said for key, text in texts_of(raw, SOURCE))
    file.compare(texts, [entity for entities in made.values() for entity in entities])


_ADVICE = re.compile(
    r"<section[^<>]*\bsecret\b[^<>]*>\s*(?:<[^<>/]*>\s*){0,4}foundry (?:vtt )?note\b.*?</section>",
    re.IGNORECASE | re.DOTALL,
)
"""A section on the program, which is told to nobody."""

DEEDS = ("feat", "feature", "weapon", "talent")
"""Types of the documents in an actor that are its traits and actions."""


def said_in(raw: Mapping[str, object]) -> Mapping[str, object]:
    """A document without the spells and the gear in it, which are entries of their own; of a character's features only the names.

    What a player's character can do stands in the rules.
    """
    items = [each for each in objects(raw.get("items")) if each.get("type") in DEEDS]
    if raw.get("type") in OF_PLAYERS:
        items = [{"name": each.get("name")} for each in items]
    return {**raw, "items": items}


def read_together(paths: Sequence[Path]) -> Together:
    """The documents of those files that are of this format; files that cannot be read are left out."""
    contents: dict[Path, Content] = {}

    def take(path: Path, window: Window) -> None:
        contents[path] = content_of(path, window)

    each_of(paths, lambda name, head: name.endswith(SUFFIXES) and recognises(name, head), take)
    return Together(contents, Importer([document for content in contents.values() for document in content.documents]))


def content_of(path: Path, window: Window) -> Content:
    """What is in one file.

    Raises:
        UnknownFormatError: it is no JSON at all.
        ValueError: it cannot be read; the message says why.
    """
    name = path.name.lower().removesuffix(".gz")
    content = Content()
    packs = {*path.parts[-6:-1], path.name.partition(".")[0]}
    values = _of_yaml(path, window) if name.endswith(YAML) else _of_json(path, window)
    found = list(_latest(values) if name.endswith(LINES) else values)
    for where, value in found:
        _take(value, where, packs, content)
    _without_foreign(path, content)
    if found and not any((content.documents, content.failed, content.skipped)):
        content.skipped["deleted"] += len(found)
    return content


def _of_yaml(path: Path, window: Window) -> Iterator[tuple[str, object]]:
    text = window.rest(MAX_CHARS + 1)
    if len(text) > MAX_CHARS:
        raise ValueError(f"it is longer than {MAX_CHARS >> 20} MB; split it")
    if undecoded := UNDECODED.search(text):
        raise UndecodedError(undecoded[0])
    yield str(path), parse(text)


def _of_json(path: Path, window: Window) -> Iterator[tuple[str, object]]:
    for where, value in entries(str(path), window, pages=False):
        if isinstance(value, NotJsonError):
            raise UnknownFormatError(str(value))
        yield where, value


def _latest(values: Iterator[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """The last line of each document; none of those that a later line deletes."""
    last: dict[str, tuple[str, object]] = {}
    for number, (where, value) in enumerate(values):
        identifier = value.get("_id") if isinstance(value, Mapping) else None
        key = identifier if isinstance(identifier, str) else f"line {number}"
        if isinstance(value, Mapping) and ("$$indexCreated" in value or "$$indexRemoved" in value):
            continue
        last.pop(key, None)
        if not (isinstance(value, Mapping) and value.get("$$deleted") is True):
            last[key] = (where, value)
    yield from last.values()


def _take(value: object, where: str, packs: set[str], content: Content) -> None:
    """Add the documents of a value to the content of its file."""
    if isinstance(value, ValueError):
        content.failed.append((where, str(value)))
        return
    try:
        for document in documents(value, where, packs):
            if document.collection in COLLECTIONS:
                content.documents.append(document)
            elif document.collection in OTHERS:
                content.skipped[document.collection] += 1
            else:
                content.failed.append((where, f"documents of the collection {document.collection!r} are not read"))
    except NoDocumentError as error:
        content.failed.append((where, f"it is not a Foundry VTT document: {error}"))
    except MemoryError:
        raise
    except Exception as error:
        content.failed.append((where, reason_of(error)))


def _without_foreign(path: Path, content: Content) -> None:
    """Leave out documents of other game systems, each of which is named once."""
    foreign = Counter(system for d in content.documents if (system := system_of(d.raw)) not in SYSTEMS)
    if foreign:
        content.documents = [d for d in content.documents if system_of(d.raw) in SYSTEMS]
    for system, number in foreign.items():
        documents_ = "document is" if number == 1 else "documents are"
        game = f"that is {GAMES[system]}; " if system in GAMES else ""
        read_ = "of Foundry VTT, only dnd5e and black-flag are read"
        reason = f"{number:,} {documents_} for the game system {system[:40]!r}; {game}{read_}"
        content.failed.append((str(path), reason))


# --- packs that are databases ---------------------------------------------------------------------------------------


def is_database(folder: Path) -> bool:
    """Whether a folder is a pack as Foundry VTT keeps it from version 11 on: a LevelDB database."""
    try:
        files = list(folder.iterdir()) if (folder / "CURRENT").is_file() else []
    except OSError:  # it cannot be listed, or its path is too long for another name; reading it reports that
        return False
    return any(file.name.startswith("MANIFEST-") or file.suffix in (".ldb", ".log") for file in files)


HOW_TO_UNPACK = (
    "it is a compendium in Foundry VTT's own database (LevelDB), which LoreKeeper does not read; unpack it with the official "
    "tool (npm install -g @foundryvtt/foundryvtt-cli), and import the folder that it writes: "
    'fvtt package unpack -n "{name}" --inputDirectory "{parent}" --outputDirectory "{name}-unpacked"'
)


def how_to_unpack(folder: Path) -> str:
    """What to do with a pack that is a database."""
    return HOW_TO_UNPACK.format(name=folder.name, parent=folder.resolve().parent)
