"""Random libraries, random tool calls, and an oracle that says what a lookup may answer.

The oracle is plain Python over the raw records. It follows the published semantics of the filters and uses nothing of
LoreKeeper's own: neither its folding, nor its filters, nor its list of fields. All randomness comes from one seed.
"""

from __future__ import annotations

import json
import math
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from lorekeeper.normalize import own
from lorekeeper.render import lean
from lorekeeper.server.tools import UNSURE_LIMIT
from tests.support.tables import rows

Record = dict[str, Any]
Predicate = Callable[[Record], bool]

MAX_ERROR_CHARS = 2000
"""Longest error text that an answer may hold."""

TRACES = ("Traceback", 'File "', "failed unexpectedly")
"""What an answer must never hold."""

DOCUMENTS = ("srd-2014", "srd-2024", "my world", "Ältere/Bücher & mehr", "50%_off")


# --- the library -----------------------------------------------------------------------------------------------------

_FIRST = (
    "Ember Tide Half-Elf half_elf Ünruly Élan Straße O’Malley's Will-o'-Wisp 夜の Ночь 𝔉𝔦𝔯𝔢 ﬁre 🔥 Crème Ash Salt İstanbul Ωmega "
    "%like_ «Quoted» C++ Ἀθηνᾶ"
).split()  # fmt: skip
_SECOND = "Lance Ward drake Hound of-the-Sea Lantern half elf Bolt Ring Step Veil STORM storm-caller №7 II 2nd".split()

_WORDS = (
    "salt tide harbour ember ash lantern storm fire cold sleep wall stone wings poison king road night bell mirror rope "
    "heal harm fall fly hide light dark water blood iron silver gate dream song"
).split()

_VALUES: dict[str, Sequence[Any]] = {name: tuple(values) for name, values in rows("fuzzed_values")}

_MANY = ("classes", "damage_types", "environments", "properties")

_FIELDS: dict[str, tuple[str, ...]] = {
    "spells": ("level", "school", "classes", "ritual", "concentration", "casting_time", "damage_types"),
    "creatures": ("challenge_rating", "type", "size", "alignment", "armor_class", "hit_points", "environments"),
    "equipment": ("category", "rarity", "requires_attunement", "cost", "weight", "damage_type", "properties"),
    "character_options": ("parent", "hit_die"),
    "rules": ("parent",),
}

_KINDS: dict[str, tuple[str, ...]] = {
    "spells": ("spell",),
    "creatures": ("creature",),
    "equipment": ("weapon", "armor", "magic-item", "gear"),
    "character_options": ("class", "subclass", "race", "background", "feat"),
    "rules": ("rule", "section", "condition", "Variant Rule", "variant-rule"),
}

_SLUGS = ("{}", "n-{}", "Ä {}", "a/{}", "{}?x=1#y", "100%{}", "{}.")


def make_records(chance: random.Random, number: int) -> list[Record]:
    """Entries of every type in LoreKeeper's own JSON: ties, absent values, lists, names of many scripts."""
    records: list[Record] = [
        {
            "collection": "documents",
            "document": key,
            "slug": key,
            "name": f"Book {n} of {key}",
            "description": "A book.",
        }
        for n, key in enumerate(DOCUMENTS[:3])
    ]
    for n in range(number - len(records)):
        collection = chance.choice(list(_FIELDS))
        record: Record = {
            "collection": collection,
            "document": chance.choice(DOCUMENTS),
            "slug": chance.choice(_SLUGS).format(n),
            "name": f"{chance.choice(_FIRST)} {chance.choice(_SECOND)}",
            "kind": chance.choice(_KINDS[collection]),
            "description": " ".join(chance.choices(_WORDS, k=chance.choice([3, 12, 40]))).capitalize() + ".",
        }
        for name in _FIELDS[collection]:
            if chance.random() < 0.8:
                values = _VALUES[name]
                record[name] = (
                    chance.sample(values, chance.randint(0, 3)) if name in _MANY else chance.choice(values)
                )  # an empty list is as good as none
            elif chance.random() < 0.3:
                record[name] = None
        records.append(record)
    return records


def uri_of(record: Record) -> str:
    return f"lore://{record['collection']}/{quote(record['document'], safe='')}/{quote(record['slug'], safe='')}"


# --- what filters mean -----------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Without case, accents, punctuation: what makes "half-elf", "Half Elf" and "half elf" equal."""
    letters = unicodedata.normalize("NFKD", text.replace("'", "").replace("’", "").casefold()).casefold()
    spaced = "".join(c if c.isalnum() else "" if unicodedata.combining(c) else " " for c in letters)
    return " ".join(spaced.split()) or text.strip().casefold()


def plain_class(text: str) -> str:
    """Every edition's: "phb_wizard" and "srd-2024_wizard" are wizards."""
    return plain(text.rsplit("_", 1)[-1])


def plain_key(text: str) -> str:
    """Without the document that a source's key begins with."""
    head, separator, tail = text.partition("_")
    named = head == "srd" or bool(re.fullmatch(r"[a-z0-9-]+", head) and re.search(r"[0-9-]", head))
    return plain(tail if separator and named and plain(tail) and any(c.isalnum() for c in tail) else text)


def plain_time(text: str) -> str:
    """ "1 action" and "action" are the same time, and so are "10minutes" and "10 minutes"."""
    words = re.sub(r"(\d)([^\W\d_])", r"\1 \2", plain(text)).split(" ")
    while len(words) > 1 and words[0] == "1" and re.match(r"(re)?action|bonus|turn|round", words[1]):
        if words[1] == "bonus" and (len(words) < 3 or not words[2].startswith("action")):
            break
        words = words[1:]
    return " ".join(words)


@dataclass(frozen=True)
class Rule:
    """What one parameter of a lookup tool means: which key of the record, how it is compared."""

    key: str
    kind: str
    bound: str = ""


def _rules() -> dict[str, tuple[str, dict[str, Rule]]]:
    text, number = {"parent": "key", "casting_time": "time"}, ("challenge_rating", "cost", "weight")
    shared = {"name": Rule("name", "name"), "kind": Rule("kind", "text")}

    def own(*parameters: str, **renamed: str) -> dict[str, Rule]:
        rules = {}
        for parameter in parameters:
            base, bound = (parameter[:-4], parameter[-3:]) if parameter.endswith(("_min", "_max")) else (parameter, "")
            key = renamed.get(base, base)
            kind = (
                "decimal" if key in number
                else "integer" if key in ("level", "armor_class", "hit_points")
                else "flag" if key in ("ritual", "concentration", "requires_attunement")
                else {"classes": "class", "environments": "key"}.get(key, text.get(key, "text"))
            )  # fmt: skip
            rules[parameter] = Rule(key, kind, bound)
        return rules

    return {
        "lookup_spell": (
            "spells",
            {"name": shared["name"]}
            | own("level", "level_min", "level_max", "school", "class_key", "ritual", "concentration", "casting_time",
                  "damage_type", class_key="classes", damage_type="damage_types"),
        ),
        "lookup_creature": (
            "creatures",
            {"name": shared["name"]}
            | own("cr", "cr_min", "cr_max", "type", "size", "alignment", "armor_class_min", "hit_points_min",
                  "environment", cr="challenge_rating", environment="environments"),
        ),
        "lookup_equipment": (
            "equipment",
            shared
            | own("category", "rarity", "requires_attunement", "cost_min", "cost_max", "weight_max", "damage_type",
                  "property", property="properties"),
        ),
        "lookup_character_option": ("character_options", shared | own("parent")),
        "lookup_rule": ("rules", shared | own("parent")),
    }  # fmt: skip


LOOKUPS = _rules()

_FOLDS: dict[str, Callable[[str], str]] = {"text": plain, "class": plain_class, "key": plain_key, "time": plain_time}

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,9})?|[0-9]{1,6}/[0-9]{1,6}")


class Unclear(Exception):  # noqa: N818  # a verdict on a value, never seen outside
    """A value that the published interface does not describe: refused, or taken as ``meant``."""

    def __init__(self, meant: Any = None) -> None:
        self.meant = meant


def meant(kind: str, value: Any) -> Any:
    """What a filter value stands for; Unclear where nothing promises that it is taken."""
    match kind:
        case "integer":
            return _integer(value)
        case "decimal":
            return _decimal(value)
        case "flag":
            if isinstance(value, bool):
                return value
            words = {"true": True, "yes": True, "1": True, "on": True, "t": True, "y": True, "1.0": True}
            words |= {"false": False, "no": False, "0": False, "off": False, "f": False, "n": False, "0.0": False}
            raise Unclear(words.get(str(value).strip().lower()))
    fold = _FOLDS.get(kind, plain)
    if not isinstance(value, str):
        raise Unclear
    if not value.strip() or max(len(value), len(fold(value))) > 500 or not _storable(value):
        raise Unclear(fold(value))
    return fold(value)


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value):
        return int(value)
    try:
        number = Fraction(value)
    except (TypeError, ValueError, ArithmeticError):
        raise Unclear from None
    raise Unclear(int(number) if number.denominator == 1 else None)


def _decimal(value: Any) -> int:
    """In thousandths."""
    try:
        number = Fraction(value.strip() if isinstance(value, str) else value)
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        raise Unclear from None
    thousandths = round(number * 1000)
    clear = not isinstance(value, (bool, str)) and abs(number) <= 10**12
    if clear or (isinstance(value, str) and value == value.strip() and _NUMBER.fullmatch(value)):
        return thousandths
    raise Unclear(thousandths)


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def holds(rule: Rule, wanted: Any, record: Record) -> bool:
    """Whether a record has what is wanted; what is absent never has."""
    value = record.get(rule.key)
    if value is None or wanted is None:
        return False
    if rule.kind == "name":
        return wanted in plain(value)
    if rule.kind in _FOLDS:
        values = value if isinstance(value, list) else [value]
        return wanted in [_FOLDS[rule.kind](v) for v in values]
    own = _decimal(value) if rule.kind == "decimal" else value
    return bool(own >= wanted if rule.bound == "min" else own <= wanted if rule.bound == "max" else own == wanted)


@dataclass
class Verdict:
    """What the oracle says of one call.

    Attributes:
        expected: uris of the records that may be answered; with exact filters only, all of them in the end.
        clear: whether the call is one that the published interface describes, so that an error is wrong.
        ranked: whether it is ranked by meaning, so that the number of results is not the oracle's to say.
        limit: rows at most.
        offset: rows passed over; None where it is not known how it was read.
    """

    expected: set[str]
    clear: bool = True
    ranked: bool = False
    limit: int | None = 10
    offset: int | None = 0


def _is_blank(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(each is None or _is_blank(each) for each in value)
    return isinstance(value, str) and value.strip().casefold() in ("", "null")


class Oracle:
    """Says what tools may answer over these records.

    Args:
        records: in LoreKeeper's own JSON.
        holds: whether a record has what one parameter wants; to be replaced by a wrong one in the oracle's own test.
    """

    def __init__(self, records: Sequence[Record], holds: Callable[[Rule, Any, Record], bool] = holds) -> None:
        self.records = {uri_of(r): r for r in records}
        self._holds = holds
        self._documents = {r["document"] for r in records}

    def verdict(self, tool: str, arguments: Mapping[str, Any]) -> Verdict:
        """Of a lookup, or of `search_lore`."""
        collection, rules = LOOKUPS.get(tool, ("", {}))
        optional = {*rules, "documents", "limit", "offset", "detail", "types" if not collection else "semantic_query"}
        given = {k: v for k, v in arguments.items() if not (v is None or (k in optional and _is_blank(v)))}
        verdict = Verdict(set(), ranked=not collection or "semantic_query" in given)
        if verdict.ranked and given.get("detail") != "full":
            verdict.limit = UNSURE_LIMIT
        tests: list[Predicate] = [self._types(given, verdict) if not collection else _of_type(collection)]
        for name, value in given.items():
            if name in rules:
                wanted = self._settled(verdict, meant, rules[name].kind, value)
                tests.append(lambda r, rule=rules[name], w=wanted: self._holds(rule, w, r))  # type: ignore[misc]
            elif name == "documents":
                tests.append(self._of_documents(value, verdict))
            elif name in ("limit", "offset"):
                number = self._settled(verdict, _paging, name, value)
                setattr(verdict, name, number)
            elif name in ("query", "semantic_query"):
                verdict.clear &= (
                    isinstance(value, str)
                    and bool(value.strip())
                    and len(value) <= 2000
                    and _storable(value)
                    and "lore://" not in value
                )
            elif name == "detail":
                verdict.clear &= value in ("concise", "full", "json")
            elif name != "types" or collection:
                verdict.clear = False
        if not collection and "query" not in given:
            verdict.clear = False
        verdict.expected = {uri for uri, record in self.records.items() if all(test(record) for test in tests)}
        return verdict

    @staticmethod
    def _settled(verdict: Verdict, read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except Unclear as unclear:
            verdict.clear = False
            return unclear.meant

    def _types(self, given: Mapping[str, Any], verdict: Verdict) -> Predicate:
        types = given.get("types", list(_FIELDS))
        strings = isinstance(types, list) and all(isinstance(t, str) for t in types)
        verdict.clear &= strings and bool(types) and set(types) <= set(_FIELDS) and len(set(types)) == len(types)
        allowed = set(types or _FIELDS) if strings else set[str]()
        return lambda record: record["collection"] in allowed

    def _of_documents(self, value: Any, verdict: Verdict) -> Predicate:
        keys = [k for k in value if isinstance(k, str)] if isinstance(value, list) else []
        verdict.clear &= bool(keys) and keys == value and self._documents.issuperset(keys)
        return lambda record: record["document"] in {k for key in keys for k in (key, key.strip())}


def _of_type(collection: str) -> Predicate:
    return lambda record: bool(record["collection"] == collection)


def _paging(name: str, value: Any) -> int:
    number = _integer(value)
    if not (1 <= number <= 50 if name == "limit" else 0 <= number <= 10**9):
        raise Unclear(number)
    return number


# --- calls -----------------------------------------------------------------------------------------------------------

MEGABYTE = 1_000_000


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


HOSTILE: tuple[Any, ...] = (
    "\ud800", "a\udfffb", "\0", "a\0b", "", " ", "\t\n", "\x07\x1b[31m", "\u202egnp", "\ufeff", "\u2028", "ﷺ" * 200, "ß" * 300,
    "x" * 501, "'; DROP TABLE spells; --", '" or 1 == 1 or "', "%", "_", "*", "(", "\\", "\\\"", '"', "NEAR(a b)", "a AND NOT b",
    "name:x", "lore://spells/x/y", "lore://", "true", "NaN", "1e308", "1e999", "-1", "1/0", "1/4 ", "0x10", "٣", "½", "1_0",
    1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, 10**30, 10**400, 2**31, 2**53, 2**63, -(2**63), 2**64, -1, 0.1 + 0.2,
    True, False, [], {}, [None], [[]], {"a": {"b": [1]}}, ["a", 1], _deep(30), _deep(200),
)  # fmt: skip
"""Deeper ones a client cannot write; raw lines can."""

_QUESTIONS = (
    "a wall of stone",
    "sleep",
    "half elf of the harbour",
    "WINGS and SONG",
    "Ember Lance",
    "ember lanse",
    "夜の",
    "xyzzy qwfp",
    "what heals, and what harms?",
    "a" * 2000,
)


@dataclass(frozen=True)
class Call:
    """One tool call."""

    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        text = f"{self.tool} {self.arguments!a}"
        return text if len(text) < 600 else f"{text[:600]}…"


class Caller:
    """Makes calls: most of them sensible, some with a hostile value, a few with several."""

    def __init__(self, chance: random.Random, records: Sequence[Record]) -> None:
        self._chance = chance
        self._records = records
        self._by_type = {name: [r for r in records if r["collection"] == name] for name in _FIELDS}

    def __iter__(self) -> Iterator[Call]:
        while True:
            yield self.call()

    def call(self) -> Call:
        """The next call."""
        kind = self._chance.random()
        if kind < 0.75:
            call = self._lookup(self._chance.choice(list(LOOKUPS)))
        elif kind < 0.87:
            call = Call("search_lore", {"query": self._question(), **self._paging()})
            if self._chance.random() < 0.4:
                call.arguments["types"] = self._chance.sample(list(_FIELDS), self._chance.randint(1, 3))
        elif kind < 0.95:
            call = Call("get_entity", {"uri": uri_of(self._chance.choice(self._records)), "detail": "json"})
        else:
            call = Call("list_documents", {"type": self._chance.choice([None, *_FIELDS]), "detail": "json"})
        for _ in range(self._chance.choices([0, 1, 3], [70, 27, 3])[0]):
            self._spoil(call)
        return call

    def hostile_value(self) -> Any:
        """A value that no parameter was made for; a few of a megabyte."""
        if self._chance.random() < 0.03:
            return self._chance.choice(["x", "\ud800", "é ", "1", "("]) * MEGABYTE
        return self._chance.choice(HOSTILE)

    def _lookup(self, tool: str) -> Call:
        collection, rules = LOOKUPS[tool]
        arguments = self._paging()
        for name in self._chance.sample(list(rules), self._chance.choices([0, 1, 2, 3], [10, 45, 30, 15])[0]):
            arguments[name] = self._fitting(collection, rules[name])
        if self._chance.random() < 0.3:
            arguments["semantic_query"] = self._question()
        return Call(tool, arguments)

    def _fitting(self, collection: str, rule: Rule) -> Any:
        """A value of the kind that some record has, written in another way."""
        values = [r[rule.key] for r in self._by_type[collection] if r.get(rule.key) not in (None, [])]
        value = self._chance.choice(values) if values else "none"
        value = self._chance.choice(value) if isinstance(value, list) else value
        if rule.kind == "name":
            start = self._chance.randrange(len(value))
            value = self._chance.choice([value, value[: start + 1], value[start:]]).strip() or value
        if rule.kind in ("decimal", "integer", "flag"):
            return self._rewritten_number(rule.kind, value)
        if isinstance(value, str) and "_" not in value:
            value = self._chance.choice([value, value.upper(), value.lower(), value.title()])
            value = self._chance.choice([value, value.replace("-", " "), value.replace(" ", "-"), f" {value}"])
        return value

    def _rewritten_number(self, kind: str, value: Any) -> Any:
        if kind == "flag":
            return value
        if kind == "integer":
            return self._chance.choice([int(value), int(value), float(value), str(int(value))])
        exact = Fraction(value)
        written = f"{exact.numerator}/{exact.denominator}"
        return self._chance.choice([float(exact), written if exact < 10**6 else float(exact), str(float(exact))])

    def _question(self) -> str:
        asked: list[str] = [
            *_QUESTIONS,
            self._chance.choice(self._records)["name"],
            " ".join(self._chance.choices(_WORDS, k=4)),
        ]
        return self._chance.choice(asked)

    def _paging(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if self._chance.random() < 0.5:
            arguments["limit"] = self._chance.choice([1, 2, 7, 25, 50])
        if self._chance.random() < 0.25:
            arguments["offset"] = self._chance.choice([0, 1, 3, 20, 1000])
        arguments["detail"] = self._chance.choices(["json", "concise", "full"], [85, 5, 10])[0]
        if self._chance.random() < 0.3:
            arguments["documents"] = self._chance.sample(DOCUMENTS, self._chance.randint(1, 3))
        return arguments

    def _spoil(self, call: Call) -> None:
        rules = LOOKUPS.get(call.tool, ("", {}))[1]
        names = {
            "get_entity": ["uri"],
            "list_documents": ["type"],
            "search_lore": ["query", "types", "documents", "limit", "offset", "detail"],
        }.get(call.tool, [*rules, *rules, "documents", "limit", "offset", "detail", "semantic_query", "unknown\n"])
        name, value = self._chance.choice(names), self.hostile_value()
        if name in ("documents", "types") and self._chance.random() < 0.5:
            value = [value]
        if name == "uri" and isinstance(value, str):
            value = self._chance.choice([value, f"lore://spells/{value}/x", f"lore://spells/srd-2014/{value}"])
        call.arguments[name] = value


# --- answers ---------------------------------------------------------------------------------------------------------


@dataclass
class Answer:
    """What came back: a tool's result, or the protocol's error."""

    text: str
    structured: Any = None
    is_error: bool = False


@dataclass
class Judge:
    """Holds answers against the oracle; collects what is wrong instead of stopping at the first."""

    oracle: Oracle
    label: str = ""
    calls: int = 0
    compared: int = 0
    errors: int = 0
    wrong: list[str] = field(default_factory=list)

    def judge(self, call: Call, answer: Answer) -> Verdict | None:
        """Note what is wrong with an answer; the verdict on a lookup or search that was answered."""
        self.calls += 1
        self._expect(not any(t in answer.text for t in TRACES), call, f"a traceback or failure: {answer.text[:300]}")
        if answer.is_error:
            self.errors += 1
            self._expect(len(answer.text) <= MAX_ERROR_CHARS, call, f"an error of {len(answer.text):,} characters")
            self._expect(bool(answer.text.strip()), call, "an empty error")
        if call.tool in LOOKUPS or call.tool == "search_lore":
            return self._search(call, answer)
        if call.tool == "get_entity":
            self._entity(call, answer)
        elif not answer.is_error:
            self._documents(call, answer)
        elif call.tool == "list_documents":
            known = call.arguments.get("type") in (None, *_FIELDS, "documents") and set(call.arguments) <= {"type"}
            self._expect(not known, call, f"refused: {answer.text[:300]}")
        return None

    def _search(self, call: Call, answer: Answer) -> Verdict | None:
        verdict = self.oracle.verdict(call.tool, call.arguments)
        if "name" in call.arguments and not verdict.expected and verdict.clear and not answer.is_error:
            # nothing has the name: what only has a similar one may be shown, under all other filters
            others = {name: value for name, value in call.arguments.items() if name != "name"}
            verdict = replace(self.oracle.verdict(call.tool, others), ranked=True)
        if answer.is_error:
            self._expect(not verdict.clear, call, f"refused: {answer.text[:300]}")
            return None
        if answer.structured is None:
            self._expect(bool(answer.text), call, "an empty text")
            return verdict
        self.compared += 1
        page = answer.structured
        rows = [r["uri"] for r in page["results"]]
        self._expect(len(set(rows)) == len(rows), call, f"a row twice: {rows}")
        outside = [uri for uri in rows if uri not in verdict.expected]
        self._expect(not outside, call, f"{len(outside)} rows outside the filters, as {outside[:3]}")
        self._expect(len(rows) <= (verdict.limit or 50), call, f"{len(rows)} rows")
        self._expect(page["total"] >= len(rows), call, f"a total of {page['total']} with {len(rows)} rows")
        self._expect(all(uri in answer.text for uri in rows), call, "the text lacks a row")
        if not verdict.ranked and verdict.limit is not None and verdict.offset is not None:
            total = len(verdict.expected)
            entries = sum(row.get("entries", 1) for row in page["results"])  # variants share a row
            grouped = entries > len(rows)
            shown = entries if grouped else max(0, min(verdict.limit, total - verdict.offset))
            following = verdict.offset + shown if shown and verdict.offset + shown < total else None
            found = page["total"], entries, page.get("next_offset")
            self._expect(
                found == (total, shown, following),
                call,
                f"total, rows and next page are {found}, not {(total, shown, following)}",
            )
        for row in page["results"]:
            self._row(call, row)
        return verdict

    def _row(self, call: Call, row: Mapping[str, Any]) -> None:
        record = self.oracle.records.get(row["uri"])
        if record is None:
            return  # told above, as outside
        shown = {k: row[k] for k in ("name", "document", "type", "kind")}
        own = {"name": record["name"], "document": record["document"], "type": record["collection"]}
        self._expect(shown == own | {"kind": record["kind"]}, call, f"a row that is not its record: {shown!a}")

    def _entity(self, call: Call, answer: Answer) -> None:
        uri = call.arguments.get("uri")
        is_asked = call.arguments == {"uri": uri, "detail": "json"}  # a mutated line asks for another detail
        record = self.oracle.records.get(uri) if isinstance(uri, str) and is_asked else None
        if record is not None:
            good = (
                not answer.is_error
                and same(answer.structured["entity"], copy_of(record))
                and answer.structured["uri"] == uri
            )
            self._expect(good, call, f"not the entry that was imported: {answer.text[:300]}")
        else:
            self._expect(answer.is_error, call, "an entry that was never imported")

    def _documents(self, call: Call, answer: Answer) -> None:
        wanted = call.arguments.get("type")
        wanted = None if _is_blank(wanted) else wanted
        counts: dict[str, dict[str, int]] = {}
        for record in self.oracle.records.values():
            own = counts.setdefault(record["document"], {})
            if record["collection"] != "documents" and wanted in (None, record["collection"]):
                own[record["collection"]] = own.get(record["collection"], 0) + 1
        expected = {key: own for key, own in counts.items() if own or wanted is None}
        found = {d["key"]: d["counts"] for d in answer.structured["documents"]}
        self._expect(found == expected, call, f"documents {found!a}")

    def note(self, call: Call | str, what: str) -> None:
        """Something is wrong."""
        self.wrong.append(f"{self.label}: {what}\n    after {call}")

    def _expect(self, good: bool, call: Call, what: str) -> None:
        if not good:
            self.note(call, what)

    def report(self, seed: int) -> str:
        """All that is wrong, for a failed assertion."""
        shown = "\n".join(self.wrong[:20])
        more = f"\n... and {len(self.wrong) - 20} more" if len(self.wrong) > 20 else ""
        return f"seed {seed}: {len(self.wrong)} of {self.calls} calls\n{shown}{more}"


def copy_of(record: Mapping[str, Any]) -> dict[str, object]:
    """What is shown of a record: the lean copy of its entry, whose keys a library keeps in order."""
    return lean(own.entity(json.loads(json.dumps(record, sort_keys=True)), None))


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; keys without a value are no different from none."""

    def kept(value: Any) -> Any:
        return {k: v for k, v in value.items() if v is not None} if isinstance(value, Mapping) else value

    return json.dumps(kept(one), sort_keys=True) == json.dumps(kept(other), sort_keys=True)
