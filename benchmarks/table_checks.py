"""What a good answer to a call of `benchmarks.table_calls` is: checks of names, texts, notes, and facts of the entries.

A check is a JSON object of one kind; `CHECKS` has a function for each. Names are compared without case, accents and marks;
texts are regular expressions, searched without case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.folding import fold

Object = Mapping[str, Any]
Result = Mapping[str, Any]


@dataclass
class Answer:
    """What a tool answered.

    Attributes:
        text: its text block.
        content: its structured content.
        is_error: whether it is a tool error.
        followed: text of get_entity for the first result, where a check asks for it.
        entries: data of the entries found, as their source wrote them, by uri.
    """

    text: str
    content: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False
    followed: str = ""
    entries: Mapping[str, Object] = field(default_factory=dict)

    @property
    def results(self) -> list[Result]:
        """The entries found, best first."""
        return list(self.content.get("results") or ())

    @property
    def note(self) -> str:
        """Its note; of an error, the error."""
        return self.text if self.is_error else str(self.content.get("note") or "")

    @property
    def tokens(self) -> int:
        """Estimated tokens of the text: four characters each."""
        return len(self.text) // 4

    def said_of(self, name: str) -> str:
        """What the answer says of the entries of that name: facts, snippets, sources and, where it has one, the whole text."""
        lines = [
            json.dumps({k: v for k, v in result.items() if k != "entity"}, ensure_ascii=False)
            for result in self.results
            if same_name(result["name"], name)
        ]
        return "\n".join([*lines, *_blocks(self.text, name)])


def _blocks(text: str, name: str) -> list[str]:
    """The paragraphs of the results of that name: from the line that begins with it to the next numbered one."""
    blocks = re.split(r"(?m)^(?=(?:#+ )?\d+\. )", text)
    heading = re.compile(rf"\W*\d+\. \W*{re.escape(name)}[*_`]*\s*(?:[(|\[·–—]|from\b|$)", re.IGNORECASE | re.MULTILINE)
    return [block for block in blocks if heading.match(block)]


def same_name(found: str, wanted: str) -> bool:
    """Whether a name is the wanted one, in any spelling; edition and variant in brackets do not count."""
    return fold(found) == fold(wanted) or fold(found.partition("(")[0]) == fold(wanted)


# --- the checks ------------------------------------------------------------------------------------------------------


def _names(answer: Answer, check: Object) -> bool:
    found = [r["name"] for r in answer.results[: check["first"]]]
    return bool(sum(any(same_name(f, name) for f in found) for name in check["names"]) >= check["least"])


def _absent(answer: Answer, check: Object) -> bool:
    found = [r["name"] for r in answer.results[: check["first"]]]
    return not any(same_name(f, name) for f in found for name in check["absent"])


def _uris(answer: Answer, check: Object) -> bool:
    return set(check["uris"]) <= {r["uri"] for r in answer.results}


def _absent_uris(answer: Answer, check: Object) -> bool:
    return not set(check["absent_uris"]) & {r["uri"] for r in answer.results}


def _says(answer: Answer, check: Object) -> bool:
    said = answer.said_of(check["of"]) if "of" in check else answer.text
    return all(re.search(pattern, said, re.IGNORECASE) for pattern in check["says"])


def _silent(answer: Answer, check: Object) -> bool:
    return not any(re.search(pattern, answer.text, re.IGNORECASE) for pattern in check["silent"])


def _note(answer: Answer, check: Object) -> bool:
    return all(re.search(pattern, answer.note, re.IGNORECASE) for pattern in check["note"])


def _follow(answer: Answer, check: Object) -> bool:
    said = f"{answer.text}\n{answer.followed}"
    return all(re.search(pattern, said, re.IGNORECASE) for pattern in check["says"])


def _fact(answer: Answer, check: Object) -> bool:
    """So many of the first results have it; where there are fewer results, as large a share of them."""
    found = answer.results[: check["first"]]
    if not found:
        return False
    true = sum(FACTS[check["fact"]](answer.entries[r["uri"]]) for r in found if r["uri"] in answer.entries)
    return bool(true / len(found) >= check["least"] / check["first"])


def _results(answer: Answer, check: Object) -> bool:
    least, most = check["results"]
    return bool(least <= len(answer.results) <= most) and not answer.is_error


def _total(answer: Answer, check: Object) -> bool:
    return bool((answer.content.get("total") or 0) >= check["total_least"])


def _pattern(answer: Answer, check: Object) -> bool:
    found = [r["name"] for r in answer.results[: check.get("first", 10)]]
    matching = sum(bool(re.search(check["pattern"], name, re.IGNORECASE)) for name in found)
    return bool(check.get("least", 0) <= matching <= check.get("most", len(found)))


def _distinct(answer: Answer, check: Object) -> bool:
    names = {fold(r["name"]) for r in answer.results[:10]}
    return bool(len(names) >= min(check["distinct"], len(answer.results)))


def _documents(answer: Answer, check: Object) -> bool:
    found = [r["document"] for r in answer.results[: check["first"]]]
    return bool(found) and set(found) <= set(check["documents"])


def _sources(answer: Answer, check: Object) -> bool:
    return bool(len({r["document"] for r in answer.results}) >= check["sources_least"])


def _ratio(answer: Answer, check: Object) -> bool:
    return bool(len(json.dumps(answer.content)) <= check["ratio"] * len(answer.text))


def _any(answer: Answer, check: Object) -> bool:
    return any(holds(answer, one) for one in check["any"])


CHECKS: dict[str, Callable[[Answer, Object], bool]] = {
    "names": _names,
    "absent": _absent,
    "uris": _uris,
    "absent_uris": _absent_uris,
    "follow": _follow,
    "says": _says,
    "silent": _silent,
    "note": _note,
    "fact": _fact,
    "results": _results,
    "total_least": _total,
    "pattern": _pattern,
    "distinct": _distinct,
    "documents": _documents,
    "sources_least": _sources,
    "ratio": _ratio,
    "any": _any,
}
"""By the key that a check of that kind has; the first one counts."""


def holds(answer: Answer, check: Object) -> bool:
    """Whether an answer passes a check; ValueError if it is of no known kind."""
    kind = next((key for key in CHECKS if key in check), None)
    if kind is None:
        raise ValueError(f"{json.dumps(check)} is no check; known: {', '.join(CHECKS)}")
    return CHECKS[kind](answer, check)


# --- facts of entries ------------------------------------------------------------------------------------------------


def _words(entry: Object) -> str:
    """Everything that an entry says, in one text."""
    return json.dumps(entry, ensure_ascii=False).lower()


def _rubrics(entry: Object) -> str:
    return _words({"actions": entry.get("actions"), "traits": entry.get("traits")})


def _defences(entry: Object, kind: str) -> str:
    """Its resistances, immunities or vulnerabilities as printed, and as data."""
    values = entry.get("resistances_and_immunities") or {}
    return _words({k: v for k, v in values.items() if kind in k})


def _speed(entry: Object, way: str) -> bool:
    return bool((entry.get("speed") or {}).get(way))


def _languages(entry: Object) -> str:
    languages = entry.get("languages") or ""
    return str(languages.get("as_string", "") if isinstance(languages, Mapping) else languages).lower()


def _armor_class(entry: Object) -> int:
    return int(entry.get("armor_class") or 0)


def _key(value: object) -> str:
    return str(value.get("key", "")) if isinstance(value, Mapping) else str(value)


def _reach(entry: Object) -> float:
    """Range of a spell in feet; what can be seen, or has no limit, is far."""
    text = str(entry.get("range_text", "")).lower()
    if re.search(r"sight|unlimited|mile|special", text):
        return float("inf")
    return float(entry.get("range") or 0)


AREA = r"\b(radius|cone|cube|cylinder|sphere|emanation|feet wide|-foot-wide|each creature (in|within|that))\b"
INVISIBLE = (
    r"(turn|turns|become|becomes|becoming|is|are|remain|remains|magically) invisible|invisibility|invisible until"
)

FACTS: dict[str, Callable[[Object], bool]] = {
    "undead": lambda e: _key(e.get("type")) == "undead",
    "turns_invisible": lambda e: bool(re.search(INVISIBLE, _rubrics(e))),
    "casts_fireball": lambda e: "fireball" in _rubrics(e),
    "flies_immune_poison": lambda e: (
        _speed(e, "fly") and "poison" in _defences(e, "damage_immun") + _resilience(e, "immune")
    ),
    "uncommon": lambda e: _key(e.get("rarity")) == "uncommon",
    "subclass_of_rogue": lambda e: _key(e.get("subclass_of")).endswith("rogue"),
    "area": lambda e: bool(re.search(AREA, str(e.get("desc", "")).lower())),
    "ac22": lambda e: _armor_class(e) >= 22,
    "ac24": lambda e: _armor_class(e) >= 24,
    "vulnerable_fire": lambda e: "fire" in _defences(e, "vuln") + _resilience(e, "vulnerable"),
    "resists_nonmagical": lambda e: "nonmagic" in _defences(e, "resist") + _defences(e, "damage_immun"),
    "swims": lambda e: _speed(e, "swim"),
    "legendary": lambda e: any(a.get("action_type") == "LEGENDARY_ACTION" for a in e.get("actions") or []),
    "eyes": lambda e: "eye" in _words({**e, "key": ""}) or "gaze" in _rubrics(e),
    "draconic": lambda e: "draconic" in _languages(e),
    "telepathy_as_language": lambda e: "telepath" in _languages(e),
    "telepathic": lambda e: "telepath" in _languages(e) or "telepath" in _rubrics(e),
    "eight_hours": lambda e: str(e.get("duration")) == "8 hours" and not e.get("concentration"),
    "range_over_500": lambda e: _reach(e) > 500,
    "no_verbal": lambda e: e.get("verbal") is False,
}
"""What can be true of an entry, read from the data of its source, whatever the library makes of it."""


def _resilience(entry: Object, word: str) -> str:
    """Sentences of its traits with the word: some books put defences there."""
    sentences = re.split(r"[.;]", _words(entry.get("traits") or []))  # type: ignore[arg-type]
    return " ".join(s for s in sentences if f"is {word} to" in s)
