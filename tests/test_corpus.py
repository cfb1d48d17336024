"""The whole Open5e corpus in one library, compared with the raw objects by a reader that knows nothing of ours."""

from __future__ import annotations

import functools
import gzip
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.composition import open5e_of
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.normalize.book_tables import entry_of
from lorekeeper.repairs.values import repaired_values
from lorekeeper.search.query import Query
from lorekeeper.server.answers import document_list
from lorekeeper.server.tools import Tool, all_tools
from lorekeeper.text.names import canonical_name
from tests.support.corpus import (
    ENDPOINTS,
    SPARE,
    apart,
    pages_of,
    replaying,
    requests_of,
    statistics_of,
    tables_by_document,
)
from tests.support.libraries import open_library, settings

pytestmark = [pytest.mark.corpus, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(1200)]

Raw = dict[str, Any]

NO_LORE = {"sizes", "creaturesets", "itemcategories", "itemrarities", "licenses", "publishers", "gamesystems"}
TABLES = {"weapons", "armor"}
"""Files whose objects are all among the items, under the same identities."""

LICENCES = {"cc-by-40": "CC-BY-4.0", "cc0": "Creative Commons 0", "ogl-10a": "OGL-1.0a"}
"""How answers name the licences of the corpus."""

TOOL_TYPES = [name for name in ENDPOINTS if name != "documents"]
COMBINATIONS = 300
MOST_RANKED = 300
"""Most entries that a combination with a semantic query may have: each of its pages ranks all of them."""
TOOLS: dict[str, Tool] = {tool.name: tool for tool in all_tools()}


@pytest.fixture(scope="module")
def raw(corpus: Path) -> dict[str, list[Raw]]:
    """Every object of the corpus by file."""
    found: dict[str, list[Raw]] = {}
    for file in sorted((corpus / "entities").iterdir()):
        if not file.name.startswith("_"):
            with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as f:
                found[file.name.split(".")[0]] = [part for line in f for part in apart(json.loads(line))]
    return found


@pytest.fixture(scope="module")
def described(corpus: Path) -> dict[str, Any]:
    """What the corpus says of itself."""
    return statistics_of(corpus)


@pytest.fixture(scope="module")
def tables(corpus: Path) -> Counter[str]:
    """Tables to roll on in the texts of the corpus, by document; each is a rule of its own."""
    return tables_by_document(corpus)


@pytest.fixture(scope="module")
async def imported(corpus, tmp_path_factory):
    async with open_library(tmp_path_factory.mktemp("corpus")) as library:
        report = await library.import_paths([corpus / "entities"])
        yield library, report


@pytest.fixture(scope="module")
def library(imported: tuple[Library, ImportReport]) -> Library:
    return imported[0]


# --- counts ----------------------------------------------------------------------------------------------------------


async def test_everything_is_stored_and_nothing_fails(imported, described, tables):
    _, report = imported
    lore = sum(d["count"] for name, d in described.items() if name not in NO_LORE | TABLES)
    assert (report.stored, report.failed, report.unchanged) == (lore, [], 0)
    assert report.stored >= 9000
    assert report.tables == Counter(stored=tables.total())
    assert tables.total() > 200
    assert sum(report.skipped.values()) == sum(described[name]["count"] for name in NO_LORE)


async def test_a_second_import_stores_and_embeds_nothing(imported, corpus):
    library, first = imported
    second = await library.import_paths([corpus / "entities"])
    assert (second.stored, second.embedded, second.failed) == (0, 0, [])
    assert second.unchanged == first.stored
    assert second.tables == Counter(unchanged=first.tables["stored"])


async def test_a_sync_of_all_finds_what_was_imported(imported, corpus, described, tmp_path, monkeypatch):
    library, first = imported
    with replaying(corpus, "--keep-hosts") as address:
        chosen = settings(open5e_base_url=address, milvus_db_path=tmp_path / "milvus.db")  # beside which its state is
        monkeypatch.setattr(library, "source", open5e_of(chosen))
        monkeypatch.setattr(library, "offline", False)
        synced = await library.sync()
        made, _ = requests_of(address)
    assert (synced.stored, synced.embedded, synced.removed, synced.failed) == (0, 0, 0, [])
    assert synced.unchanged == first.stored
    assert synced.tables == Counter(unchanged=first.tables["stored"])
    assert made <= SPARE * pages_of(described, ENDPOINTS)


async def test_statistics_agree_with_the_corpus_by_collection(library, described, tables):
    counts = (await library.statistics()).counts
    sums = {c: sum(described[name]["count"] for name in names) for c, names in ENDPOINTS.items()}
    assert counts == sums | {"notes": 0, "characters": 0, "rules": sums["rules"] + tables.total()}


async def test_documents_agree_with_the_corpus_by_document_and_collection(library, described, tables):
    expected = {document: Counter(rules=number) for document, number in tables.items()}
    for collection, names in ENDPOINTS.items():
        for name in names if collection != "documents" else []:
            for document, number in described[name]["by_document"].items():
                expected.setdefault(document, Counter())[collection] += number
    listed = {d["key"]: d["counts"] for d in await document_list(library)}
    assert {key: counts for key, counts in listed.items() if counts} == expected


async def test_documents_bring_title_and_licences_of_the_corpus(library, raw):
    listed = {d["key"]: d for d in await document_list(library)}
    assert raw["documents"]
    for document in raw["documents"]:
        assert listed[document["key"]]["name"] == document["display_name"]
        assert listed[document["key"]]["licenses"] == [LICENCES[licence["key"]] for licence in document["licenses"]]


async def test_every_object_is_kept_whole(library, raw):
    for collection, names in ENDPOINTS.items():
        entries = [e async for batch in library.cache.iterate(collection) for e in batch if not entry_of(e)]
        kept = Counter(json.dumps(e.data, sort_keys=True) for e in entries)
        assert kept == Counter(json.dumps(o, sort_keys=True) for name in names for o in raw[name])


# --- the oracle ------------------------------------------------------------------------------------------------------


@functools.cache
def plain(text: str) -> str:
    """Lower case and without accents, everything but letters and digits as single spaces."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[a-z0-9]+", re.sub("['’]", "", bare)))


def key_of(ref: Any) -> str | None:
    """Key of a reference: "srd-2024_wizard" is "wizard"."""
    key = ref.get("key") if isinstance(ref, dict) else ref
    return plain(key.split("_")[-1]) if key else None


def document_of(o: Raw) -> str:
    document = o.get("document") or o.get("document__slug")
    return str(document["key"] if isinstance(document, dict) else document)


def name_of(o: Raw) -> str:
    return plain(o.get("name") or o["key"])


def number(value: Any) -> float | None:
    return None if value is None else float(value)


def damage_of(o: Raw) -> str | None:
    return key_of(o.get("damage_type") or (o.get("weapon") or {}).get("damage_type"))


def equipment_kind(o: Raw) -> str:
    if "rarity" in o:
        return "magic item"
    if "damage_dice" in o or o.get("weapon"):
        return "weapon"
    return "armor" if "ac_base" in o or o.get("armor") else "gear"


def option_kind(o: Raw) -> str:
    if "features" in o:
        return "subclass" if o["subclass_of"] else "class"
    if "is_subspecies" in o:
        return "subrace" if o["subspecies_of"] else "race"
    return "feat" if "has_prerequisite" in o else "background"


def sizes_of(o: Raw) -> set[str]:
    """The size; of the 2024 rules' "Medium or Small" only the hit dice tell the other one."""
    size, medium = str(key_of(o["size"])), re.match(r"\d+d8", o["hit_dice"] or "")
    return {size, "medium"} if size == "small" and medium and document_of(o) == "srd-2024" else {size}


def alignment_of(o: Raw) -> str | None:
    """The alignment, which is a placeholder in two books, and in three entries the rest of another line."""
    known = plain(o["alignment"] or "")
    placeholder = known == "chaotic evil" and document_of(o) in ("a5e-mm", "bfrd")
    if not known or placeholder or known in ("shapechanger", "titan"):
        return None
    return (
        f"{known} alignment"
        if known in ("any", "any evil", "any good", "any chaotic", "any non good", "any non lawful")
        else known
    )


def aligned(known: str | None, wanted: str) -> bool:
    """Whether an alignment is the wanted one, or the wanted one is a part of it."""
    wanted = "any alignment" if plain(wanted) == "any" else plain(wanted)
    part = wanted != "neutral" and "non" not in wanted and not wanted.startswith("any")
    return known is not None and (known == wanted or (part and "non" not in known and f" {wanted} " in f" {known} "))


def environments_of(o: Raw) -> set[str | None]:
    """The environments; two documents list all of them where they know none."""
    keys = {key_of(e) for e in o.get("environments") or []}
    return set() if document_of(o) in ("srd-2014", "tob") and len(keys) > 20 else keys


def concentrates(o: Raw) -> bool:
    """As the flag or the duration says: one spell of Deep Magic has it in its duration alone."""
    return o["concentration"] or "concentration" in (o.get("duration") or "").lower()


def parent_of(o: Raw) -> str | None:
    return key_of(o.get("subclass_of") or o.get("subspecies_of") or o.get("ruleset") or o.get("parent"))


Read = Callable[[Raw], Any]


def derived(name: str) -> Read:
    """The value of a field that is made from several values of an object, or from its text."""
    return lambda o: _fields(json.dumps(o)).get(name)


@functools.cache
def _fields(text: str) -> Mapping[str, Any]:
    return normalize(json.loads(text))[0].fields


Test = Callable[[Any, Any], bool]


def same(known: Any, wanted: Any) -> bool:
    return known is not None and known == (plain(wanted) if isinstance(wanted, str) else wanted)


def holds(known: Any, wanted: Any) -> bool:
    return known is not None and plain(wanted) in known


def at_least(known: Any, wanted: Any) -> bool:
    return known is not None and known >= wanted


def at_most(known: Any, wanted: Any) -> bool:
    return known is not None and known <= wanted


def has_part(known: Any, wanted: Any) -> bool:
    return plain(wanted) in known


def begins_alike(known: Any, wanted: Any) -> bool:
    """Whether a name has a word that may be another form of the wanted one, as "rot" of "rotting"."""
    return any(word[:3] == plain(wanted)[:3] for word in known.split())


NAME: dict[str, tuple[Read, Test]] = {"name": (name_of, has_part)}
PARAMETERS: dict[str, dict[str, tuple[Read, Test]]] = {
    "lookup_spell": {
        **NAME,
        "level": (lambda o: o["level"], same),
        "level_min": (lambda o: o["level"], at_least),
        "level_max": (lambda o: o["level"], at_most),
        "school": (lambda o: key_of(o["school"]), same),
        "class_key": (derived("classes"), holds),
        "ritual": (lambda o: o["ritual"], same),
        "concentration": (concentrates, same),
        "damage_type": (derived("damage_types"), holds),
    },
    "lookup_creature": {
        **NAME,
        "cr": (lambda o: o["challenge_rating"], same),
        "cr_min": (lambda o: o["challenge_rating"], at_least),
        "cr_max": (lambda o: o["challenge_rating"], at_most),
        "type": (lambda o: key_of(o["type"]), same),
        "size": (sizes_of, holds),
        "alignment": (alignment_of, aligned),
        "armor_class_min": (lambda o: o["armor_class"], at_least),
        "hit_points_min": (lambda o: o["hit_points"], at_least),
        "environment": (environments_of, holds),
    },
    "lookup_equipment": {
        **NAME,
        "kind": (equipment_kind, same),
        "category": (derived("category"), holds),
        "rarity": (lambda o: key_of(o.get("rarity")), same),
        "requires_attunement": (derived("requires_attunement"), same),
        "cost_min": (lambda o: number(o.get("cost")) or None, at_least),
        "cost_max": (lambda o: number(o.get("cost")) or None, at_most),
        "weight_max": (lambda o: number(o.get("weight")) or None, at_most),
        "damage_type": (damage_of, same),
        "property": (derived("properties"), holds),
    },
    "lookup_character_option": {**NAME, "kind": (option_kind, same), "parent": (parent_of, same)},
    "lookup_rule": {**NAME, "parent": (parent_of, same)},
}
COLLECTION = {
    "lookup_spell": "spells",
    "lookup_creature": "creatures",
    "lookup_equipment": "equipment",
    "lookup_character_option": "character_options",
    "lookup_rule": "rules",
}
QUERIES = ["fire in the dark", "a healing touch", "something that flies", "poisoned blade", "the dead walk", "in water"]


@dataclass
class Shelf:
    """The objects of a tool, whose repaired values are read once for each parameter.

    Attributes:
        tool: the tool.
        objects: all that it may find.
    """

    tool: str
    objects: list[Raw]

    @functools.cached_property
    def repaired(self) -> list[Raw]:
        return [dict(repaired_values(COLLECTION[self.tool], o)) for o in self.objects]

    @functools.cached_property
    def documents(self) -> list[str]:
        return [document_of(o) for o in self.objects]

    def values(self, read: Read) -> list[Any]:
        """The value of each object."""
        if read not in self._read:
            self._read[read] = [read(o) for o in self.repaired]
        return self._read[read]

    @functools.cached_property
    def _read(self) -> dict[Read, list[Any]]:
        return {}

    def oracle(self, arguments: Raw, **other: tuple[Read, Test]) -> list[Raw]:
        """The objects under all filters, by their raw values as repaired; some with other tests."""
        tests = PARAMETERS[self.tool] | other
        left = [n for n, key in enumerate(self.documents) if key in arguments.get("documents", [key])]
        for parameter, wanted in arguments.items():
            if parameter in tests:
                read, test = tests[parameter]
                values = self.values(read)
                left = [n for n in left if test(values[n], wanted)]
        return [self.objects[n] for n in left]


def spelled(chance: random.Random, value: str) -> str:
    """The same text as somebody else would write it."""
    return chance.choice([value, value.upper(), value.title(), value.replace(" ", "-")])


def wish(chance: random.Random, tool: str, parameter: str, model: Raw) -> Any:
    """A value for a parameter, taken from an object, so that something is found more often than not."""
    read, test = PARAMETERS[tool][parameter]
    known = read(model)
    if not known and known not in (0, False):
        return None
    if test is holds:
        known = chance.choice(sorted(known))
    if test is has_part:
        return spelled(chance, chance.choice(known.split()))
    if isinstance(known, str):
        return spelled(chance, known)
    if parameter == "cr" and known in (0.125, 0.25, 0.5):
        return chance.choice([known, f"1/{round(1 / known)}"])
    return known


def combinations(raw: dict[str, list[Raw]]) -> Iterator[tuple[str, Raw, list[Raw], list[Raw]]]:
    """(tool, arguments, objects that must be found, those that may be), seeded; every second one asks by meaning too."""
    chance = random.Random(20240531)
    shelves = {
        tool: Shelf(tool, [o for name in ENDPOINTS[collection] for o in raw[name]])
        for tool, collection in COLLECTION.items()
    }
    made = 0
    while made < COMBINATIONS:
        tool = chance.choice(["lookup_spell", "lookup_creature", "lookup_equipment"] * 2 + list(PARAMETERS)[3:])
        objects = shelves[tool].objects
        model = chance.choice(objects)
        chosen = chance.sample(sorted(PARAMETERS[tool]), k=min(chance.randint(1, 4), len(PARAMETERS[tool])))
        arguments = {p: value for p in chosen if (value := wish(chance, tool, p, model)) is not None}
        if chance.random() < 0.3:
            arguments["documents"] = sorted({document_of(model), document_of(chance.choice(objects))})
        values = {k: fraction(v) for k, v in arguments.items()}
        expected = shelves[tool].oracle(values)
        possible = shelves[tool].oracle(values, name=(name_of, begins_alike)) if "name" in values else []
        if made % 2:
            arguments["semantic_query"] = chance.choice(QUERIES)
        if len(arguments) > made % 2 and (len(expected) <= MOST_RANKED or not made % 2):
            yield tool, arguments, expected, possible
            made += 1


def fraction(value: Any) -> Any:
    return 1 / int(value[2:]) if isinstance(value, str) and re.fullmatch(r"1/\d", value) else value


async def all_uris(library: Library, tool: str, arguments: Raw) -> tuple[list[str], int, set[int]]:
    """Uris over all pages, how many entries they stand for, and the totals the pages stated."""
    uris: list[str] = []
    entries = 0
    totals: set[int] = set()
    offset: int | None = 0
    while offset is not None:
        page = {**arguments, "limit": 50, "offset": offset}
        answer = (await TOOLS[tool].run(library, TOOLS[tool].check(page))).structured
        uris += [r["uri"] for r in answer["results"]]
        entries += sum(r.get("entries", 1) for r in answer["results"])
        totals.add(answer["total"])
        offset = answer["next_offset"]
    return uris, entries, totals


async def uris_by_object(library: Library, collection: str, objects: Iterable[Raw]) -> dict[int, str]:
    """Uri of each raw object, by its id: entities keep them whole."""
    known = {
        json.dumps(e.data, sort_keys=True): e.uri async for batch in library.cache.iterate(collection) for e in batch
    }
    return {id(o): known[json.dumps(o, sort_keys=True)] for o in objects}


async def test_random_filters_find_exactly_what_the_raw_objects_say(library, raw):
    known: dict[int, str] = {}
    for collection in COLLECTION.values():
        known |= await uris_by_object(library, collection, (o for name in ENDPOINTS[collection] for o in raw[name]))
    tables = {e.uri async for batch in library.cache.iterate("rules") for e in batch if entry_of(e)}
    wrong: list[str] = []
    sizes: list[int] = []
    for tool, arguments, *objects in combinations(raw):
        wanted, possible = ({known[id(o)] for o in several} for several in objects)
        possible |= tables  # no raw object says what these are
        uris, entries, totals = await all_uris(library, tool, arguments)
        sizes.append(len(wanted))
        missing, extra = wanted - set(uris), set(uris) - wanted - possible
        ranked = "semantic_query" in arguments  # ranks what is relevant, and names duplicates and variants beside it
        whole = ranked or (len(wanted) <= entries <= len(wanted | possible) and totals == {entries})
        if extra or len(uris) != len(set(uris)) or not whole or (missing and entries == len(uris) and not ranked):
            wrong.append(
                f"{tool} {arguments}: {len(uris)} found, totals {sorted(totals)}, {len(wanted)} expected; "
                f"missing {sorted(missing)[:2]}, extra {sorted(extra)[:2]}, {len(uris) - len(set(uris))} twice"
            )
    assert not wrong, "\n".join([f"{len(wrong)} of {len(sizes)} differ", *wrong])
    assert len(sizes) == COMBINATIONS
    assert sum(size > 0 for size in sizes) > COMBINATIONS / 2
    assert sum(size > 50 for size in sizes) > COMBINATIONS / 10


# --- names -----------------------------------------------------------------------------------------------------------


def misspelt(name: str, chance: random.Random) -> str:
    """A name with one letter changed, added, left out or swapped with the next."""
    place = chance.choice([i for i, letter in enumerate(name) if letter.isalpha()])
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    edits = [letter + name[place + 1 :], letter + name[place:], name[place + 1 :]]
    swapped = name[place + 1 : place + 2] + name[place] + name[place + 2 :]
    return name[:place] + chance.choice([*edits, swapped])


async def found_first(library: Library, entity_type: str, query: str, name: str) -> bool:
    page = await library.searcher.search(Query([entity_type], query, limit=1))
    return bool(page.results) and canonical_name(page.results[0].entity.name) == canonical_name(name)


async def test_a_name_puts_its_entry_first_and_so_does_a_misspelt_one(library):
    """One thing under several names ("Boar, Giant" and "Giant Boar") counts as one."""
    chance = random.Random(5)
    every = {(t, e.name) for t in TOOL_TYPES async for batch in library.cache.iterate(t) for e in batch}
    sample = chance.sample(sorted(every), 400)
    right = [await found_first(library, t, name, name) for t, name in sample]
    assert sum(right) >= 398
    long = [(t, name) for t, name in sample if sum(letter.isalpha() for letter in name) >= 5]
    wrong = [await found_first(library, t, misspelt(name, chance), name) for t, name in long]
    assert sum(wrong) >= 0.95 * len(long)
