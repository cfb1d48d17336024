"""Every page of the corpus, checked by rules: what a source has broken is repaired, or counted here with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.play.tables import tables_of
from lorekeeper.render.creature import NO_ACTIONS
from lorekeeper.render.lean import MAX_RATIO, lean
from lorekeeper.render.pages import NO_TEXT, markdown
from lorekeeper.render.prose import HEADING
from lorekeeper.repairs.entries import entry_repairs, repairs_of
from lorekeeper.terms import ABILITY_OF
from lorekeeper.text.facts import facts
from scripts.books import markdown as book_of_2024
from scripts.books import ours
from scripts.compare_books import compare
from tests.support.corpus import imported_entries

pytestmark = pytest.mark.corpus

BROKEN = {
    "tags of another format": (r"XPHB|\[Area of Effect\]|Hitom", 0),
    "attacks of 2024 without Hit:": (
        r"Attack Roll: [+-]\d+[^.\n]*(?:reach|range) [\d/]+ (?:ft|feet)\.? (?!Hit|or )",
        0,
    ),
    "an empty list of spells": (r"(?m)^- \*\*At Will:\*\*$", 0),
    "escaped marks of headings": (r"\\#", 0),
    "tables without any heading": (r"(?m)^\|(?:  \|)+\n\|(?:---\|)+$", 0),
    "keys of the source": (r"\bsrd:[a-z]", 0),
    "lists without blanks": (
        r"(?m)^- \*\*(?:Languages|Damage [A-Z][a-z]+|Condition Immunities)\*\* .*[a-z],[A-Za-z]",
        0,
    ),
    "lost apostrophes": (r"\b(?:doesnt|isnt|dont|wouldnt|couldnt|hasnt|havent|didnt)\b", 0),
    "glued words of the rules": (r"\b(?:itsConstitution|anumber|feeton|bludgeoningdamage|theday|ofthe|fromthe)\b", 0),
    "owners without an apostrophe": (
        r"\b(?:creature|target|dragon|hag|vampire)s (?:next turn|space\b|choice|turn\b)",
        0,
    ),
    "labels of spells run into their texts": (r"(?m)^Deep Magic: ", 0),
    "lines of spells that are no items": (r"(?mi)^(?:at will|\d/day(?: each)?): |[a-z*)] \dth level \(\d slots?\):", 0),
    "sentences printed as names": (r"(?m)^\*\*(?:The|If|An?) [^*\n]{16,}? (?:is|are|can|takes|gains) [^*\n]*\.\*\*", 0),
    "small letters after names": (r"(?m)^\*\*[^*\n]+\.\*\* (?:the|it) [a-z]+'?s? (?:innate|spell)", 0),
    "the word for a table in its title": (r"\(table\)", 0),
    "prerequisites of nothing": (r"Prerequisite\*\* \*?N/A", 0),
    "characters that could not be read": ("\ufffd", 0),
    "distances with exponents": (r"\d[eE]\+\d", 0),
    "a die of many": (r"\*\*Hit Die\*\* 1[dD]\d", 0),
    "labels of columns without text": (
        r"(?m)^\*\*(?:Rages|Rage Damage|Sorcery Points|Ki Points|Spells Known)\.\*\*$",
        0,
    ),
    "literal line breaks": (r"\\[nr]\b(?![a-z])", 0),
    "tags of HTML": (
        r"</?(?:p|br|div|span|b|i|em|strong|table|tr|td|ul|li|a)\b[^>]{0,80}>|&(?:nbsp|amp|quot|lt|gt|#\d+);",
        0,
    ),
    "links of the source": (r"\]\((?:https?:|/)|\[\[", 0),
    "several hyphens for one": (r"\w-{2,}\w", 0),
    "damage right behind Hit:": (r"Hit:\d", 0),
    "headings without a text": (r"(?m)^## .+\n\n## ", 0),
    "a recharge twice": (r"\(Recharge[^)]*\) \(Recharge", 0),
    "blanks before marks, as in the source": (r"[a-z] [,.;](?=\s|$)", 5),
    "commas without a blank, as in the source": (r"(?m)^(?!\|).*[a-z],[a-z]", 17),
    "labels alone, of lists or sentences in bold": (r"(?m)^\*\*[^*\n]{1,60}\.\*\*$", 7),
    "blanks after hyphens of measures": (r"\b\d{1,3}- (?:foot|level|gp)\b", 0),
    "pages without text, which say so": (re.escape(NO_TEXT), 22),
    "creatures without actions, which say so": (re.escape(NO_ACTIONS), 201),
}
"""Faults by name: a pattern, and how many pages may have it. 22 environments have no text in the source, and Tome of
Beasts 3 has lost the actions of most of its creatures there."""


@pytest.fixture(scope="module")
def entries(corpus, tmp_path_factory) -> list[Entity]:
    return imported_entries(corpus, tmp_path_factory)


@pytest.fixture(scope="module")
def pages(entries) -> Mapping[str, str]:
    return {entity.uri: markdown(entity) for entity in entries}


@pytest.fixture(scope="module")
def copies(entries) -> Mapping[str, Mapping[str, Any]]:
    return {entity.uri: lean(entity) for entity in entries}


def test_no_page_has_broken_text_and_every_copy_is_short(entries, pages, copies):
    wrong = []
    for uri in (entity.uri for entity in entries):
        page = pages[uri]
        if re.search(r"\\n|\]\(|\bsrd:|&[a-z]+;|\( \w \)|\[(?:No desc|None prov|Column data)", page, re.IGNORECASE):
            wrong.append((uri, "text"))
        if empty_sections(page):
            wrong.append((uri, "empty section"))
        if len(json.dumps(copies[uri], ensure_ascii=False)) > MAX_RATIO * len(page):
            wrong.append((uri, "copy"))
    assert wrong == []


def empty_sections(page: str) -> list[str]:
    """Headings with another of the same or a higher level after them, or nothing."""
    rows = [row for row in page.split("\n") if row]
    levels = [len(match[1]) if (match := HEADING.fullmatch(row)) else 7 for row in rows]
    return [row for row, level, after in zip(rows[1:], levels[1:], [*levels[2:], 0], strict=True) if after <= level < 7]


@pytest.mark.parametrize(("pattern", "most"), BROKEN.values(), ids=BROKEN)
def test_no_page_has_what_a_rule_repairs(pages, pattern, most):
    found = [uri for uri, page in pages.items() if re.search(pattern, page)]
    assert len(found) == most, found[:5]


def test_no_number_of_a_page_is_above_what_creatures_have(entries, pages):
    for entity in entries:
        senses = re.search(r"\*\*Senses\*\* (.*)", pages[entity.uri]) if entity.type == "creatures" else None
        feet = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) ft", senses[1])] if senses else []
        assert max(feet, default=0) <= 360, entity.uri


@pytest.mark.parametrize("sense", ["blindsight", "darkvision", "tremorsense", "truesight"])
def test_page_and_filter_have_the_same_range_of_a_sense(entries, pages, sense):
    for entity in entries:
        if entity.type == "creatures":
            printed = re.search(rf"\*\*Senses\*\* .*\b{sense} ([\d,]+) ft", pages[entity.uri])
            assert (float(printed[1].replace(",", "")) if printed else None) == entity.fields.get(sense), entity.uri


def test_no_invented_alignment_and_no_cut_size_is_shown(entries, pages, copies):
    for entity in entries:
        if entity.type != "creatures":
            continue
        kind = pages[entity.uri].split("\n")[2]
        shown = f"{kind} {facts(entity)} {copies[entity.uri].get('alignment', '')}"
        assert entity.fields.get("alignment") or not re.search(r"\b(?:good|evil|unaligned)\b", shown), entity.uri
        assert set(entity.fields["size"]) <= set(kind.strip("*").lower().split()), entity.uri


def test_page_facts_and_filter_agree_on_attunement_classes_and_places(entries, pages):
    for entity in entries:
        page, fields = pages[entity.uri], entity.fields
        if entity.kind == "magic-item":
            assert ("attunement" in page.split("\n")[2].lower()) == bool(fields.get("requires_attunement")), entity.uri
        if entity.type == "spells":
            line = re.search(r"\*\*Classes\*\* (.*)", page)
            shown = {name.lower() for name in line[1].split(", ")} if line else set()
            assert shown == set(fields.get("classes", ())), entity.uri
        if entity.type == "creatures":
            assert ("**Environment**" in page) == bool(fields.get("environments")), entity.uri


LINE = re.compile(r"(?m)^(?:- )?\*\*([^*\n]{2,40}?)[:.]?\*\*[:.]? *(.+)$")
SAME = {"saving throw proficiencies": "saving throws", "hit point die": "hit die", "challenge": "cr"}
"""Labels of one thing, folded, as far as sources have several."""

STATED = {"saves": "saving throws", "hit die": "hit die", "AC": "armor class", "HP": "hit points", "CR": "cr"}
"""The label of a page for that of the line of facts."""


def words_of(value: str) -> set[str]:
    """The words and numbers of a value, abilities in full."""
    found = re.findall(r"d?\d[\d/]*|[a-z]+", value.lower().replace(",", ""))
    return {ABILITY_OF.get(word, word) for word in found} - {"and"}


KEPT, CONSUMED = re.compile(r"not consumed"), re.compile(r"consume|used up|destroyed")


def test_what_a_page_states_twice_and_the_line_of_facts_agree(entries, pages, copies):
    """Of every entry; a suit of armor that only its name says has no line for it."""
    wrong = []
    for entity in entries:
        stated: dict[str, list[set[str]]] = {}
        for label, value in LINE.findall(pages[entity.uri]):
            name = SAME.get(fold(label), fold(label))
            die = re.match(r"d\d+", value.lower()) if name == "hit die" else None
            stated.setdefault(name, []).append(words_of(die[0] if die else value.replace(",", "")))
        for part in facts(entity).split(" · "):
            label, _, value = part.partition(" ") if not part.startswith("hit die ") else ("hit die", "", part[8:])
            if label in STATED and (own := stated.get(STATED[label])) and not words_of(value) <= own[0]:
                wrong.append((entity.uri, part))
        if entity.type == "spells":
            known, copy = bool(entity.fields.get("material_consumed")), copies[entity.uri]
            line = re.search(r"\*\*Components\*\* (.*)", pages[entity.uri])
            told = [line is not None and CONSUMED.search(KEPT.sub("", line[1])) is not None]
            told += [", consumed" in facts(entity)] if "material" in facts(entity) else []
            told += [bool(copy.get("material_consumed"))] if "text" not in copy else []
            if set(told) != {known}:
                wrong.append((entity.uri, f"consumed: {known}"))
        if entity.kind == "class":
            wrong += [
                (entity.uri, name) for name in SAME.values() if len(set(map(frozenset, stated.get(name, ())))) > 1
            ]
    assert wrong == []


def test_the_tables_with_gaps_are_those_whose_source_lacks_a_row(entries, pages):
    gaps = {
        (entity.slug, table.gaps) for entity in entries for table in tables_of(entity, pages[entity.uri]) if table.gaps
    }
    assert gaps == {("bag-of-bramble-beasts", "no row for 7–8")}  # others of the source are repaired


OTHERWISE_NAMED = {"armor_donning-and-doffing": "Getting Into and Out of Armor"}
"""Rules whose keys have no word of their names, which are those of the book."""


def test_no_rule_has_the_name_of_another_one(entries):
    """A key is made of the name: one that shares no word with it has been given another rule's name."""
    rules = [entry for entry in entries if entry.type == "rules" and entry.kind == "rule" and "_" in entry.slug]
    assert len(rules) > 250
    other = {
        rule.slug: rule.name
        for rule in rules
        if not {word[:4] for word in fold(rule.slug.rpartition("_")[2]).split() if word != "and"}
        & {word[:4] for word in fold(rule.name).split()}
    }
    assert other == OTHERWISE_NAMED


def test_the_book_of_2024_is_printed_as_another_source_has_it(corpus):
    mine, other = ours.book(corpus, "srd-2024"), book_of_2024.book(corpus)
    comparison = compare("srd-2024", mine, other)
    assert comparison.unexplained == []
    assert {kind: row[0] for kind, row in comparison.rows.items()} == {
        "armor": 13,
        "class": 12,
        "creature": 329,
        "gear": 142,
        "magic item": 760,
        "spell": 339,
        "weapon": 38,
    }


def test_a_wrong_number_is_a_difference(corpus):
    other = book_of_2024.book(corpus)
    key = ("creature", "skeleton")
    mine = {key: {**other[key], "vulnerable": ""}}
    (found,) = compare("srd-2024", mine, other).unexplained
    assert (found.entry, found.fact, found.other) == ("skeleton", "vulnerable", "bludgeoning")


def test_every_repair_of_an_entry_changes_it(entries):
    idle = {(key, repair.path) for key, repairs in entry_repairs().items() for repair in repairs}
    for entity in entries:
        data = entity.data
        for repair in repairs_of(data):
            changed = repair.applied(data)
            if changed is not data:  # of the entry, or of its copy in another one
                idle = {(key, path) for key, path in idle if key != repair.key or not repair.path.endswith(path)}
            data = changed
    assert idle == set()
