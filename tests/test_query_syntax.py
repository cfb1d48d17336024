"""What is typed into a search box: what it asks for, and how clicks change it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from lorekeeper.entities import COLLECTIONS
from lorekeeper.filters import WHERE, named_field, parse_filters
from lorekeeper.search.query import check, types_with
from lorekeeper.search.query_syntax import MAX_TYPED, ParsedQuery, called, parse_query, with_test, without_test, written
from tests.support.examples import examples
from tests.support.tables import each_row, rows

TITLES = {"srd-2014": "5e 2014 Rules", "srd-2024": "5e 2024 Rules", "tob": "Tome of Beasts", "my-book": "my-book"}

SEARCHED = [name for name in COLLECTIONS if name != "documents"]


def read(text: str) -> ParsedQuery:
    return parse_query(text, TITLES, SEARCHED)


def meant(text: str) -> tuple[object, ...]:
    """What a text asks for, however its tests are written."""
    found = read(text)
    conditions = parse_filters(found.types[0], {WHERE: found.where})
    return found.types, found.words, found.phrases, found.documents, found.order, frozenset(conditions)


SPELLS, CREATURES, EQUIPMENT = ("spells",), ("creatures",), ("equipment",)
LEVELS = ("spells", "characters")
"""The types that have a level."""
ALL = tuple(SEARCHED)

READ: list[tuple[str, dict[str, object]]] = [
    ("", {"types": ALL}),
    ("   ", {"types": ALL}),
    ("fire ball", {"words": "fire ball", "types": ALL, "unfinished": True}),
    ("fire ball ", {"words": "fire ball"}),
    ('level<=3 class:wizard ritual "wall of"', {
        "types": SPELLS, "where": "level<=3 class:wizard ritual", "phrases": ("wall of",)}),
    ("dragon cr:5..8 -type:undead book:srd-2014", {
        "types": CREATURES, "words": "dragon", "where": "cr:5..8 -type:undead", "documents": ("srd-2014",)}),
    ("level <= 3 Fire", {"types": LEVELS, "words": "Fire", "where": "level <= 3", "unfinished": True}),
    ("LEVEL:3 CLASS:Wizard", {"types": LEVELS, "where": "LEVEL:3 CLASS:Wizard"}),
    ("level≤3", {"types": LEVELS, "where": "level<=3"}),
    ("type:“Magic Item”", {"types": ALL, "where": 'kind:"Magic Item"'}),
    ("type:npc,location", {"types": ALL, "where": "kind:npc,location"}),
    ("-type:condition", {"types": ALL, "where": "-kind:condition"}),
    ("“wall of” fire", {"phrases": ("wall of",), "words": "fire"}),
    ("lvl:3", {"types": LEVELS, "where": "level:3"}),
    ("ac>=18 hp<50", {"types": ("creatures", "characters"), "where": "ac>=18 hp<50"}),
    ("ac>=18", {"types": ("creatures", "equipment", "characters"), "where": "ac>=18"}),
    ("school:evocation", {"types": SPELLS}),
    ("tag:npc/ally", {"types": ("notes",)}),
    ("rarity:rare kind:magic-item", {"types": EQUIPMENT}),
    ("damage_type:fire", {"types": ("spells", "creatures", "equipment", "character_options")}),
    ("publisher:x", {"types": ("documents",)}),
    ("type:spell fire", {"types": SPELLS, "words": "fire", "where": None}),
    ("type:spells", {"types": SPELLS}),
    ("in:Character-Options", {"types": ("character_options",)}),
    ("in:item,spell", {"types": ("spells", "equipment")}),
    ("in:monsters", {"types": CREATURES}),
    ("in:document", {"types": ("documents",)}),
    ("-in:spells", {"types": tuple(t for t in ALL if t != "spells")}),
    ("type:undead", {"types": CREATURES, "where": "type:undead"}),
    ("in:creatures type:undead", {"types": CREATURES, "where": "type:undead"}),
    ("in:creatures ac>10", {"types": CREATURES}),
    ("book:TOB", {"documents": ("tob",), "types": ALL}),
    ('book:"tome of beasts"', {"documents": ("tob",)}),
    ("book:srd", {"documents": ("srd-2014", "srd-2024")}),
    ("book:tob book:my-book", {"documents": ("tob", "my-book")}),
    ("book:2024", {"documents": ("srd-2024",)}),
    ("-book:tob", {"documents": None, "where": "-document:tob"}),
    ("ritual", {"words": "ritual", "where": None, "types": ALL}),
    ("ritual magic", {"words": "ritual magic"}),
    ("level:1 ritual magic", {"words": "magic", "where": "level:1 ritual"}),
    ("ritual in:spells", {"where": "ritual", "types": SPELLS}),
    ("level:1 legendary", {"words": "legendary", "where": "level:1", "types": LEVELS}),
    ("-ritual", {"where": "-ritual", "types": SPELLS, "words": ""}),
    ("cr:5 order:cr", {"order": "cr"}),
    ('in:items sort:"cost desc"', {"order": "cost desc"}),
    ("fire order:random", {"order": "random"}),
    ('5" blade', {"words": '5" blade'}),
    ("lore://spells/x/y", {"words": "lore spells/x/y"}),
    ('"!!" fire', {"phrases": (), "words": "fire"}),
    ("half-elf d&d 3.5 +1", {"words": "half-elf d&d 3.5 +1"}),
]  # fmt: skip


@each_row(("text", "expected"), READ)
def test_words_phrases_and_tests_are_read_in_any_order(text, expected):
    found = read(text)
    assert {name: getattr(found, name) for name in expected} == expected
    assert not found.notes


UNFINISHED = rows("unfinished_queries")


@each_row(("text", "words", "noted"), UNFINISHED)
def test_what_is_not_typed_to_its_end_is_no_error_and_what_cannot_be_met_is_noted(text, words, noted):
    found = read(text)
    assert found.words == words
    assert bool(found.notes) == bool(noted)
    assert [part for part in noted if part not in " ".join(found.notes)] == []
    check(found.query().resolved())


def test_the_search_of_a_text():
    query = read('dragon "wall of" cr:5').query(limit=7, offset=14, typing=True)
    assert (query.text, query.phrases, query.where) == ("dragon wall of", ("wall of",), "cr:5")
    assert (query.types, query.limit, query.offset, query.unfinished) == (CREATURES, 7, 14, False)
    assert read("cr:5 drag").query(typing=True).unfinished
    assert not read("cr:5 drag").query().unfinished
    assert not read("drag cr:5").query(typing=True).unfinished
    assert read("cr:5").query().text is None
    assert [read(text).empty for text in ("", "cr<", "cr:5", "x", "in:spells", "book:tob")] == [1, 1, 0, 0, 0, 0]


CHANGED = rows("chosen_values")


@each_row(("text", "name", "value", "changed"), CHANGED)
def test_a_choice_is_written_into_the_text(text, name, value, changed):
    assert with_test(text, name, value, TITLES) == changed
    assert with_test(changed, name, value, TITLES) == changed


WITHOUT = rows("values_taken_out")


@each_row(("text", "name", "value", "changed"), WITHOUT)
def test_a_choice_is_taken_out_of_the_text(text, name, value, changed):
    assert without_test(text, name, value, TITLES) == changed


def test_what_facets_are_called_is_understood():
    marked = [(c, declared) for c in COLLECTIONS.values() for declared in c.filters.values() if declared.facet]
    assert len(marked) > 30
    for collection, declared in marked:
        name = called(declared)
        assert name == "book" or named_field(collection, name) == declared
        assert read(f"in:{collection.name} {name}:1").chosen.keys() - {"in"} or name in (
            "book",
            "ritual",
            "concentration",
            "legendary",
        )


WORDS = st.sampled_from(["fire", "Wall", "of", "half-elf", "+1", "d&d", "ölm", "ritual", "level"])
PHRASES = st.sampled_from(['"wall of"', '"hit points"', "“a b”"])
TESTS = st.sampled_from(
    ["level:3", "level<=3", "-level:1,2", "class:wizard", "class:bard", "in:spells", "book:tob", "school : evocation",
     "ritual:no", "-ritual", "order:level", "range>=30"]
)  # fmt: skip
CHOICES = st.sampled_from(
    [
        ("level", "5"),
        ("class", "blood hunter"),
        ("school", "illusion"),
        ("book", "srd-2014"),
        ("in", "spells"),
        ("ritual", "yes"),
    ]
)


@given(parts=st.lists(st.one_of(WORDS, PHRASES, TESTS), max_size=7), choice=CHOICES)
@example(parts=["ritual"], choice=("level", "5"))
@examples(200)
def test_a_choice_that_is_added_and_taken_back_leaves_the_search_as_it_was(parts, choice):
    text = " ".join(parts)
    before = with_test(text, "in", "spells", TITLES)  # from here on flags are tests
    changed = with_test(before, choice[0], choice[1], TITLES)
    wanted = read(written(choice[0], [choice[1]])).chosen
    assert all(values <= read(changed).chosen[name] for name, values in wanted.items()), changed
    assert (read(changed).words, read(changed).phrases) == (read(before).words, read(before).phrases)
    if not any(values & read(before).chosen.get(name, frozenset()) for name, values in wanted.items()):
        assert meant(without_test(changed, choice[0], choice[1], TITLES)) == meant(before)
    assert parse_query(read(text).text, TITLES, SEARCHED) == read(text)


@given(st.text(alphabet='ab:<>=.,"-_ 13/“\0\ud800é\n', max_size=80) | st.text(max_size=60))
@example('"' * 50)
@example("a:b," * 20)
@example('a : b , a : b , a : b"')
@example("-" * 60)
@example('a:b,"c')
@example("a<=")
@example("_-1:")
@example("a:1 ,1,")
@example("in-world date:")
@example("level:" + "9" * 60)
@example("cr:" + "1/" * 30)
@example('type:"' + "x," * 20)
@example("RITUAL")
@example("a ,:1,")
@examples(400)
def test_nothing_that_is_typed_is_an_error(text):
    found = read(text)
    query = found.query(typing=True)
    check(query)
    assert query.resolved().types
    assert types_with(found.types, {} if found.where is None else {WHERE: found.where}) == list(found.types)
    if len(text) < MAX_TYPED // 2 and not read(text).chosen:
        # not alone: "ritual" is a test beside another one
        assert read(with_test(text, "level", "3", TITLES)).chosen["level"] == {3}
    assert "level" not in read(without_test(with_test(text, "level", "3"), "level")).chosen
    assert isinstance(without_test(text, "class", "a"), str)
