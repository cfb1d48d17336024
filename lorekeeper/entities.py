"""Entity types, their kinds and filter fields: the table from which everything else follows.

The Milvus and SQLite schemas, the filters, the parameters of the lookup tools, their documentation and the command
line read `COLLECTIONS`. To add an entity type or a filter field, add one declaration here, and in `normalize` a line that
says where its value comes from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote, unquote

from lorekeeper import terms
from lorekeeper.errors import ConfigError
from lorekeeper.fields import (
    ALIASES,
    AUDIENCE,
    BASE_FIELDS,
    MAX_KEY_LENGTH,
    MAX_MANY,
    MAX_PATH_LENGTH,
    MAX_TEXT_LENGTH,
    MAX_URI_LENGTH,
    NAME,
    PROPERTIES,
    WHOLE_NAME,
    Collection,
    Field,
    FieldType,
    Value,
)
from lorekeeper.folding import (
    fold_alignment,
    fold_class,
    fold_component,
    fold_environment,
    fold_key,
    fold_property,
    fold_time,
    key_alone,
)
from lorekeeper.paths import fold_link, fold_path, fold_tag, path_name, path_parents
from lorekeeper.printable import shown

__all__ = [
    "ALIASES",
    "AUDIENCE",
    "BASE_FIELDS",
    "COLLECTIONS",
    "MAX_KEY_LENGTH",
    "MAX_LINKS",
    "MAX_MANY",
    "MAX_PATH_LENGTH",
    "MAX_RECORD_BYTES",
    "MAX_TEXT_LENGTH",
    "MAX_URI_LENGTH",
    "NAME",
    "PROPERTIES",
    "RECORD_KEYS",
    "WHOLE_NAME",
    "Collection",
    "Entity",
    "Field",
    "FieldType",
    "Value",
    "canonical_json",
    "declare",
    "declared_type",
    "held",
    "parse_json",
    "parse_uri",
    "refuse_constant",
    "uri_of",
]

MAX_LINKS = 4_096
"""Most values in the list of a note's links, their names included: the longest array of Milvus."""

MAX_RECORD_BYTES = 1 << 20
"""Largest entry, in bytes: all that is kept of it (`Entity.as_record`) as canonical JSON in UTF-8."""


T = FieldType

EFFECTS = (
    Field("damage_types", T.TEXTS, "damage type that it deals"),
    Field("saves", T.TEXTS, "ability of a saving throw that it forces on others"),
    Field("conditions", T.TEXTS, "condition that it inflicts"),
    Field("heals", T.FLAG, "restores hit points", omitted=True),
    Field("summons", T.FLAG, "brings creatures, or makes them", omitted=True),
    Field("area", T.TEXT, "shape of its area", omitted=True),
    Field("area_size", T.DECIMAL, "size of its area in feet: radius, length or side"),
)
"""What the texts of an item or of a character option do to others."""

VAULT = "vault"
"""`Entity.source_api` of what is from a vault: the user's own notes."""

_AUDIENCE = Field(AUDIENCE, T.TEXTS, "who may see it, if not everyone: dm, players, names")

COLLECTIONS: dict[str, Collection] = {
    c.name: replace(c, fields=(*c.fields, _AUDIENCE))
    for c in (
        Collection(
            "spells",
            tool="lookup_spell",
            label="spell",
            kinds=("spell",),
            fields=(
                Field("level", T.INTEGER, "spell level, 0 = cantrip", ("level", "level_min", "level_max"), facet=True),
                Field("school", T.TEXT, "abjuration, evocation, ...", ("school",), revision=2, facet=True),
                Field(
                    "classes",
                    T.TEXTS,
                    'class that can cast it ("wizard": every edition\'s)',
                    ("class_key",),
                    fold_class,
                    revision=3,
                    facet=True,
                ),
                Field("ritual", T.FLAG, "castable as a ritual", ("ritual",), facet=True),
                Field("concentration", T.FLAG, "needs concentration", ("concentration",), revision=2, facet=True),
                Field(
                    "casting_time",
                    T.TEXT,
                    '"action", "bonus action", "reaction", "1 minute"',
                    ("casting_time",),
                    fold_time,
                    revision=3,
                    facet=True,
                ),
                Field("damage_types", T.TEXTS, "damage it deals: fire, ...", ("damage_type",), revision=5, facet=True),
                Field("range", T.DECIMAL, "range in feet, 0 = self or touch", revision=3),
                Field("saves", T.TEXTS, "ability of a saving throw that it forces on others", revision=4),
                Field("conditions", T.TEXTS, "condition that it inflicts", revision=4),
                Field("attack", T.TEXT, "its spell attack: melee, ranged", revision=2),
                Field("components", T.TEXTS, "verbal, somatic, material", fold=fold_component),
                Field("material_cost", T.DECIMAL, "price of its material components in gp", revision=2, omitted=True),
                Field("material_consumed", T.FLAG, "consumes its material components"),
                Field(
                    "duration",
                    T.DECIMAL,
                    "duration in minutes, 0 = instantaneous, 0.1 = a round, 1000000000 = without end",
                    revision=3,
                ),
                Field(
                    "area",
                    T.TEXT,
                    "shape of its area: sphere, cone, line, cube, cylinder, ...",
                    revision=3,
                    omitted=True,
                ),
                Field(
                    "area_size", T.DECIMAL, "size of its area in feet: radius, length or side", revision=3, omitted=True
                ),
                Field("heals", T.FLAG, "restores hit points", revision=3),
                Field("summons", T.FLAG, "brings creatures, or makes them"),
            ),
        ),
        Collection(
            "creatures",
            tool="lookup_creature",
            label="creature",
            kinds=("creature",),
            fields=(
                Field(
                    "challenge_rating",
                    T.DECIMAL,
                    'challenge rating, as 0.25 or "1/4"',
                    ("cr", "cr_min", "cr_max"),
                    revision=3,
                    facet=True,
                ),
                Field("type", T.TEXTS, "beast, undead, ...; swarm", ("type",), parts=terms.type_parts, facet=True),
                Field(
                    "size",
                    T.TEXTS,
                    "tiny, small, medium, large, huge, gargantuan",
                    ("size",),
                    parts=terms.size_parts,
                    revision=2,
                    facet=True,
                ),
                Field(
                    "alignment",
                    T.TEXTS,
                    '"chaotic evil", or a part: "evil"',
                    ("alignment",),
                    fold_alignment,
                    terms.alignment_parts,
                    revision=3,
                    facet=True,
                ),
                Field("armor_class", T.INTEGER, "armor class", ("armor_class_min",), revision=2),
                Field("hit_points", T.INTEGER, "hit points", ("hit_points_min",), revision=2),
                Field(
                    "environments",
                    T.TEXTS,
                    "where it lives: forest, caves, ...",
                    ("environment",),
                    fold_environment,
                    terms.wider_environments,
                    revision=2,
                    facet=True,
                ),
                Field("damage_types", T.TEXTS, "damage type that it deals", revision=3),
                Field("conditions", T.TEXTS, "condition that it inflicts", revision=4),
                Field("saves", T.TEXTS, "ability of a saving throw that it forces on others", revision=3),
                Field("spells", T.TEXTS, "spell that it casts", revision=3),
                Field(
                    "immune",
                    T.TEXTS,
                    'damage type or condition; "nonmagical piercing" if only from nonmagical attacks',
                    revision=4,
                ),
                Field("resistant", T.TEXTS, "damage type that it resists", revision=3),
                Field("vulnerable", T.TEXTS, "damage type that it is vulnerable to", revision=3),
                *(
                    Field(f"speed_{kind}", T.DECIMAL, "speed in feet", revision=3, facet=True, omitted=True)
                    for kind in terms.MOVEMENTS
                ),
                Field("hover", T.FLAG, "hovers"),
                Field("senses", T.TEXTS, ", ".join(terms.SENSES), revision=2),
                *(Field(sense, T.DECIMAL, "range in feet", revision=3, omitted=True) for sense in terms.SENSES),
                Field("passive_perception", T.INTEGER, "passive Perception", revision=2),
                Field("languages", T.TEXTS, "language that it speaks or understands, telepathy", revision=2),
                Field("telepathy", T.DECIMAL, "range in feet", omitted=True),
                Field("legendary", T.FLAG, "has legendary actions", facet=True),
                Field("lair", T.FLAG, "has lair actions or effects of its lair", omitted=True),
            ),
        ),
        Collection(
            "equipment",
            tool="lookup_equipment",
            label="item",
            kinds=("weapon", "armor", "magic-item", "gear"),
            fields=(
                Field(
                    "category",
                    T.TEXTS,
                    "potion, light armor, martial weapon, ...",
                    ("category",),
                    revision=4,
                    facet=True,
                ),
                Field(
                    "rarity",
                    T.TEXT,
                    "common, uncommon, rare, very rare, legendary, artifact",
                    ("rarity",),
                    revision=3,
                    facet=True,
                    omitted=True,
                ),
                Field("requires_attunement", T.FLAG, "must be attuned to", ("requires_attunement",), revision=3),
                Field("cost", T.DECIMAL, "price in gp", ("cost_min", "cost_max"), revision=2),
                Field("weight", T.DECIMAL, "weight in lb", ("weight_max",), revision=3),
                Field(
                    "damage_type",
                    T.TEXT,
                    "damage type of a weapon",
                    ("damage_type",),
                    revision=3,
                    facet=True,
                ),
                Field(
                    "properties", T.TEXTS, "property: finesse, two-handed, ...", ("property",), revision=4, facet=True
                ),
                Field("armor_class", T.INTEGER, "base AC of armour, bonus of a shield"),
                Field("damage", T.DECIMAL, "average of a weapon's damage dice", revision=2),
                Field("bonus", T.INTEGER, "bonus of a magic item: 1 to 3", revision=2, omitted=True),
                Field("charges", T.INTEGER, "most charges it has", revision=2, omitted=True),
                Field("charge_cost", T.INTEGER, "fewest charges that a use takes"),
                Field("cursed", T.FLAG, "is cursed", revision=2, omitted=True),
                *EFFECTS,
            ),
        ),
        Collection(
            "character_options",
            tool="lookup_character_option",
            label="character option",
            kinds=("class", "subclass", "race", "subrace", "background", "feat"),
            fields=(
                Field(
                    "parent",
                    T.TEXT,
                    "class of a subclass, race of a subrace",
                    ("parent",),
                    fold_key,
                    facet=True,
                    omitted=True,
                ),
                Field("hit_die", T.TEXT, "hit die of a class, for example d10"),
                Field("skills", T.TEXTS, "skill that a background gives, or offers"),
                Field(
                    "ability", T.TEXTS, "ability score that a background or feat raises, or offers to raise", revision=3
                ),
                Field("tools", T.TEXTS, "tool that a background gives, or offers"),
                Field("prerequisite", T.TEXTS, "what a feat asks for: level 4, strength, strength 13, spellcasting"),
                *EFFECTS[:-2],
            ),
        ),
        Collection(
            "rules",
            tool="lookup_rule",
            label="rule",
            kinds=("rule", "section", "condition"),
            open_kinds=True,
            fields=(Field("parent", T.TEXT, "chapter it belongs to", ("parent",), fold_key, facet=True, omitted=True),),
        ),
        Collection(
            "notes",
            tool="lookup_note",
            label="note",
            kinds=("note", "npc", "location", "faction", "item", "session", "quest", "character"),
            open_kinds=True,
            max_slug=MAX_PATH_LENGTH,
            indexed=True,
            fields=(
                Field(
                    "folder",
                    T.TEXTS,
                    "with all below it",
                    ("folder",),
                    fold_path,
                    path_parents,
                    longest=MAX_URI_LENGTH,
                    facet=True,
                ),
                Field(ALIASES, T.TEXTS, "another name"),
                Field("tags", T.TEXTS, "npc is also npc/ally", ("tags",), fold_tag, path_parents, facet=True),
                Field("modified", T.DATE, "2026-11-20 or 7d", ("modified_after", "modified_before")),
                Field("session", T.DECIMAL, "its number", ("session",), facet=True, omitted=True),
                Field("session_date", T.DATE, "date of the session"),
                Field("dated", T.DATE, "date that it states: of its session, in its keys or its name"),
                Field(
                    "links",
                    T.TEXTS,
                    "note it links to: name or path",
                    ("links_to",),
                    fold_link,
                    path_name,
                    longest=MAX_URI_LENGTH,
                    most=MAX_LINKS,
                ),
                Field("state", T.TEXT, "open or done: by its status, else by its tasks", facet=True),
                Field("world_date", T.INTEGER, "date in its world, 14920310 for day 10 of month 3 in 1492"),
                Field(PROPERTIES, T.TEXTS, "key with its value: status=ready", (), fold_property, key_alone),
            ),
        ),
        Collection(
            "characters",
            tool="lookup_character",
            label="character",
            kinds=("character", "companion"),
            text=("desc", "features", "prepared", "items", "attuned", "languages", "skills"),
            fields=(
                Field("player", T.TEXT, "person who plays it", ("player",), facet=True),
                Field("classes", T.TEXTS, "class that it has levels in", ("class_key",), fold_class, facet=True),
                Field("subclasses", T.TEXTS, "subclass that it has"),
                Field("level", T.INTEGER, "level, all classes together", ("level_min",), facet=True),
                Field("race", T.TEXT, "race or species", facet=True),
                Field("background", T.TEXT, "background"),
                Field("armor_class", T.INTEGER, "armor class"),
                Field("hit_points", T.INTEGER, "hit point maximum"),
                Field("hit_points_lost", T.INTEGER, "hit points lost, if its source states them"),
                *(Field(f"speed_{kind}", T.DECIMAL, "speed in feet", omitted=True) for kind in terms.MOVEMENTS),
                *(Field(sense, T.DECIMAL, "range in feet", omitted=True) for sense in terms.SENSES),
                *(Field(f"passive_{skill}", T.INTEGER, f"passive {skill.capitalize()}") for skill in terms.PASSIVES),
                *(Field(f"save_{ability}", T.INTEGER, "bonus to the saving throw") for ability in terms.ABILITIES),
                Field("skills", T.TEXTS, "skill that it is proficient in"),
                Field("languages", T.TEXTS, "language that it knows"),
                Field("resistant", T.TEXTS, "damage type that it resists"),
                Field("immune", T.TEXTS, "damage type or condition that does it no harm"),
                Field("prepared", T.TEXTS, "spell that it can cast now, cantrips included"),
                Field("known", T.TEXTS, "spell that it has, prepared or not"),
                Field("spell_dc", T.INTEGER, "difficulty class of its spells"),
                Field("features", T.TEXTS, "feature or feat that it has"),
                Field("items", T.TEXTS, "item that it carries"),
                Field("attuned", T.TEXTS, "item that it is attuned to"),
                Field("conditions", T.TEXTS, "condition that it suffers from"),
                Field("gold", T.DECIMAL, "coins, in gp"),
            ),
        ),
        Collection(
            "documents",
            label="document",
            kinds=("document",),
            fields=(
                Field("publisher", T.TEXT, "publisher", facet=True),
                Field("game_system", T.TEXT, "game system and edition", facet=True),
                Field("licenses", T.TEXTS, "licence it is published under", facet=True),
            ),
        ),
    )
}
"""Every entity type by name, in the order in which results and tables list them."""

SEARCHED = [name for name, collection in COLLECTIONS.items() if collection.tool]
"""The types that a search goes over: all but the documents."""


_FURTHER: dict[str, Collection] = {}
"""The types that programs have declared besides, by name; of several of one name the last."""

_HELD: ContextVar[Mapping[str, Collection]] = ContextVar("held", default=MappingProxyType({}))
"""Those of the cache that is being used, by name."""

_NAMES = re.compile(r"[a-z][a-z0-9_]{0,39}")

_BETWEEN = "__"
"""Stands before what stores add to the name of a type."""

_DATABASES = frozenset({"temp", "main", "earlier"})
"""Names of the databases of a connection. Which tables a store has is known there."""

_SQL = frozenset(
    "add all alter and as autoincrement between case cast check collate commit constraint create default deferrable delete "
    "distinct drop else escape except exists foreign from group having if in index insert intersect into is isnull join limit not "
    "nothing notnull null on or order primary raise references returning select set table then to transaction union unique update "
    "using values when where current_date current_time current_timestamp".split()
)
"""Words that SQLite does not take for the name of a table."""

_TAKEN_FIELDS = frozenset(
    "id rowid oid pk part slug hash record section passage vector words words_ranked name_folded name_key kind_name "
    "entity_type limit offset order prefer where query among and or not in is like between exists null true false".split()
)
"""Columns of stores, parameters of a cache's methods, and words of Milvus's expressions."""


def declare(collection: Collection) -> Collection:
    """Declare a type of entity, as a cache does with those that a program gives it; those of `COLLECTIONS` are declared already.

    Two caches may each have a type of one name, see `held`.

    Raises:
        ConfigError: its name or that of a field cannot be used, or a type of `COLLECTIONS` has the name, with other fields.
    """
    known = COLLECTIONS.get(collection.name)
    if known is collection:
        return collection
    _require_names(collection)
    whole = replace(collection, fields=(*(f for f in collection.fields if f.name != AUDIENCE), _AUDIENCE))
    if known is None:
        _FURTHER[whole.name] = whole
        return whole
    if [(f.name, f.type) for f in known.fields] != [(f.name, f.type) for f in whole.fields]:
        fields = ", ".join(f.name for f in known.fields)
        raise ConfigError(
            f"{known.name} is a type of 5e with the fields {fields}, and its entries are read as such. Give yours another name, as "
            f"in my_{known.name}; or pass COLLECTIONS[{known.name!r}], which keeps all keys of an entity but filters by no others"
        )
    return known


@contextmanager
def held(types: Mapping[str, Collection]) -> Iterator[None]:
    """Within the block, and in threads that asyncio starts there, the names of types mean these."""
    token = _HELD.set(types)
    try:
        yield
    finally:
        _HELD.reset(token)


def _require_names(collection: Collection) -> None:
    """ConfigError unless its name and those of its fields can be those of tables and columns."""
    names = [field.name for field in collection.fields]
    if not _NAMES.fullmatch(collection.name) or collection.name in _DATABASES | _SQL or _BETWEEN in collection.name:
        raise ConfigError(
            f"{shown(collection.name)} cannot be the name of a type; use lower-case letters, digits and single _, and no "
            "word of SQL, for example ships"
        )
    taken = _TAKEN_FIELDS | {field.name for field in BASE_FIELDS}
    if wrong := [name for name in names if not _NAMES.fullmatch(name) or name in taken]:
        raise ConfigError(
            f"{shown(wrong[0])} of {collection.name} cannot be the name of a field; use lower-case letters, digits and _, and none "
            f"of {', '.join(sorted(taken))}, which are taken"
        )
    if len(set(names)) < len(names):
        raise ConfigError(f"two fields of {collection.name} have one name: {', '.join(names)}")


def declared_type(name: str) -> Collection:
    """The declaration of a type: one of `COLLECTIONS`, or what a program has declared; KeyError if there is none."""
    return COLLECTIONS.get(name) or _HELD.get().get(name) or _FURTHER[name]


def canonical_json(value: object) -> str:
    """One JSON text per value: sorted keys, no spaces, no escapes; raises ValueError on NaN and infinities."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def refuse_constant(constant: str) -> NoReturn:
    """For ``parse_constant`` of the json module, which otherwise accepts NaN and infinities."""
    raise ValueError(f"{constant} is not a JSON number")


def parse_json(text: str | bytes | bytearray) -> Any:
    """The value of a JSON text; also raises ValueError for NaN, infinities, and nesting too deep for the parser."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


UNREAD = "unread"
"""Under which an entity has the JSON of its ``data`` until that is asked for."""

RECORD_KEYS = ("slug", "name", "kind", "document", "source_api", "document_name", "data", "fields")
_BEHIND = frozenset(RECORD_KEYS) - {"data"}


@dataclass(frozen=True)
class Entity:
    """One entry of the library. Its identity is (type, document, slug).

    Attributes:
        type: name of its collection.
        slug: its key within the document, at most `Collection.max_slug` characters.
        name: as shown to people.
        kind: within its collection: "weapon", "condition", ...
        document: key of the document it is from.
        source_api: where it is from: "open5e-v2", "open5e-v1", "lorekeeper", ...
        data: the whole entry as its source wrote it, a JSON object.
        fields: normalised filter values by field name; unknown values are left out.
        document_name: title of the document if the entry itself has it.
    """

    type: str
    slug: str
    name: str
    kind: str
    document: str
    source_api: str
    data: Mapping[str, Any]
    fields: Mapping[str, Value] = field(default_factory=dict)
    document_name: str | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The object of its source, read when it is first asked for (`restored`)."""
            memory = vars(self)
            if name == "data" and (content := memory.get(UNREAD)):
                memory["data"] = parse_json(content)
                memory.pop(UNREAD, None)
            if name != "data" or name not in memory:
                raise AttributeError(name)
            return memory[name]

    @property
    def collection(self) -> Collection:
        """The declaration of its type."""
        return declared_type(self.type)

    @property
    def identity(self) -> tuple[str, str]:
        """(document, slug), unique within its type."""
        return self.document, self.slug

    @cached_property
    def uri(self) -> str:
        """``lore://{type}/{document}/{slug}``, percent-encoded."""
        return uri_of(self.type, self.document, self.slug)

    @cached_property
    def content_hash(self) -> str:
        """Hash of all that is stored of it, 32 hexadecimal digits: entities with equal hashes are embedded once."""
        content = canonical_json(
            [self.name, self.kind, self.source_api, self.document_name, dict(self.fields), self.data]
        )
        return hashlib.blake2b(content.encode("utf-8"), digest_size=16).hexdigest()

    def as_record(self) -> dict[str, Any]:
        """All of it but the type as a JSON object, for copies and backups."""
        return {name: getattr(self, name) for name in RECORD_KEYS} | {"fields": dict(self.fields)}

    @classmethod
    def from_record(cls, entity_type: str, record: Mapping[str, Any]) -> Entity:
        """The inverse of `as_record`, also after a trip through JSON; KeyError or TypeError if it is not a record.

        For records that this library has written itself; values of fields that are no longer declared are left out. Other
        records go through `lorekeeper.normalize.build.checked`.
        """
        declared = declared_type(entity_type).filters
        fields = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record["fields"].items()
            if name in declared
        }
        return cls(entity_type, **{name: record[name] for name in RECORD_KEYS} | {"fields": fields})


R = TypeVar("R")


def remembered(read: Callable[[Entity], R], restored: Callable[[Any], R] | None = None) -> Callable[[Entity], R]:
    """A function of an entity that is called once for each object: the entity remembers what it returns.

    ``restored`` makes what it returns of the value that was stored, for a function that is `made_once`.
    """
    key = f"{read.__module__}.{read.__qualname__}"

    @wraps(read)
    def known(entity: Entity) -> R:
        memory = vars(entity)  # as `cached_property` does it
        if key not in memory:
            made = memory.get(MADE) if restored else None
            memory[key] = restored(made[key]) if restored and made and key in made else read(entity)
        found: R = memory[key]
        return found

    if restored:
        MADE_ONCE[key] = known
    return known


MADE, REVISION = "made", 3
"""Under which an entity has, and a record stores, what the functions return that are `made_once`, and the revision of these. Raise
it when one of them returns something else: what was stored before counts no more."""

MADE_ONCE: dict[str, Callable[[Entity], Any]] = {}


def made_once(restored: Callable[[Any], R]) -> Callable[[Callable[[Entity], R]], Callable[[Entity], R]]:
    """A function that is `remembered`, and called when the entity is stored: searches read what it returned.

    It returns JSON, or what ``restored`` makes of that.
    """
    return lambda read: remembered(read, restored)


def restored(entity_type: str, content: bytes) -> Entity:
    """The entity of a record in canonical JSON, with what was made of it once, unless that is missing or of an earlier revision.

    The object of its source comes first in it, and most searches do without: it is read when it is asked for.
    """
    head, between, rest = content.rpartition(b',"document":')
    record, data = dict[str, Any](), head.removeprefix(b'{"data":')
    with suppress(ValueError):  # where that is the name of something else besides
        record = parse_json(b"{" + between[1:] + rest) if between else {}
    is_whole = len(data) < len(head) and record.keys() >= _BEHIND
    record = {**record, "data": {}} if is_whole else parse_json(content)
    entity, made = Entity.from_record(entity_type, record), record.get(MADE)
    memory = vars(entity)
    if is_whole:
        del memory["data"]
        memory[UNREAD] = data
    if isinstance(made, dict) and made.get("") == REVISION:
        memory[MADE] = made
    return entity


def uri_of(entity_type: str, document: str, slug: str) -> str:
    """``lore://{type}/{document}/{slug}``, percent-encoded."""
    return f"lore://{entity_type}/{quote(document, safe='')}/{quote(slug, safe='')}"


def parse_uri(uri: str) -> tuple[str, str, str]:
    """Split ``lore://type/document/slug`` into its three decoded parts; ValueError if it is not one.

    A slash of the slug needs no encoding, for example in ``lore://notes/my-vault/World/Skara.md``.
    """
    scheme, _, rest = uri.partition("://")
    parts = [unquote(p) for p in rest.split("/", 2)]
    if scheme != "lore" or len(parts) != 3 or not all(parts) or parts[0] not in {*COLLECTIONS, *_FURTHER}:
        raise ValueError(
            f"{shown(uri)} is not a lore URI; use lore://TYPE/DOCUMENT/SLUG with TYPE one of {', '.join(COLLECTIONS)}, "
            "for example lore://spells/srd-2014/fireball"
        )
    return parts[0], parts[1], parts[2]
