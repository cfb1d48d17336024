"""Pages as HTML: safe whatever is in them, with the structure of a stat block, and links to what they name."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from lorekeeper.entities import Entity
from lorekeeper.render import markdown
from lorekeeper.render.html import MAX_CHARS, Article, html
from lorekeeper.render.structure import MAX_CELLS, MAX_COLUMNS
from tests.support.corpus import imported_entries
from tests.support.hostile_pages import LARGE, SCRIPT, hostile_pages, large_page
from tests.support.libraries import need_books, whole_books
from tests.support.safe_html import checked
from tests.support.tables import each_row

STAT_BLOCK = """\
# Gloom Heron

*Huge monstrosity, neutral evil*

- **Armor Class** 16 (scaly plumes)
- **Condition Immunities** prone, *poisoned*

| STR | DEX | CON | INT | WIS | CHA |
|---|---|---|---|---|---|
| 19 (+4) | 13 (+1) | 17 (+3) | 6 (-2) | 15 (+2) | 9 (-1) |

## Traits

**Spells.** It casts Misty Step or Fire Shield:

- **At Will:** light, and mage hand
- 1st level (4 slots): *shield*, fog cloud (self only)

## Legendary Actions

**Wingbeat (Costs 2 Actions).** Leaves are blown away; the target is **prone**.
"""


def to_entries(uri: str) -> str | None:
    return uri.replace("lore://", "/entries/") if uri.startswith("lore://") else None


# --- structure -------------------------------------------------------------------------------------------------------


def test_a_stat_block_has_its_facts_abilities_and_sections():
    read = checked(html(STAT_BLOCK))
    assert read.problems == []
    assert read.classes == {"kind", "facts", "scroll", "abilities", "traits", "legendary", "feature"}
    assert read.tags.count("section") == 2
    assert read.tags.count("dt") == read.tags.count("dd") == 2
    assert "Armor Class" in read.text
    assert "16 (scaly plumes)" in read.text


def test_a_list_after_facts_is_a_list_of_its_own():
    both = checked(html("- **Prerequisite** Level 4\n\n- one\n- two **three**"))
    assert (both.tags.count("dt"), both.tags.count("li")) == (1, 2)
    assert both.problems == []
    mixed = checked(html("- **One** two\n- three"))
    assert (mixed.tags.count("dt"), mixed.tags.count("li")) == (0, 2)


@each_row(
    ("table", "name"),
    [
        ("| d8 | Bond |\n|---|---|\n| 1 | a |", "rolled"),
        ("| Level | Features |\n|---|---|\n| 1 | a |", "levels"),
        ("| STR | DEX | CON | INT | WIS |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |", ""),
    ],
)
def test_tables_are_told_apart_by_their_headings(table, name):
    assert checked(html(table)).classes == {"scroll", *filter(None, [name])}


# --- links -----------------------------------------------------------------------------------------------------------


def test_links_lead_to_paths_of_ours_and_nowhere_else():
    page = "[a](lore://notes/v/a%20b.md) [b](https://x.example) [c](/books) From (lore://spells/own/x)."
    read = checked(html(page, to_entries))
    assert read.problems == []
    assert read.links == [
        ("/entries/notes/v/a%20b.md", "a"),
        ("/entries/spells/own/x", "lore://spells/own/x"),
    ]
    assert "b c From" in read.text
    assert checked(html(page)).links == []


@each_row("path", ["//evil.example", "/\\evil.example", "/\t/evil", "/a\nb", "javascript:x", "http://a/"])
def test_a_path_of_another_host_is_no_link_whoever_gives_it(path):
    assert checked(html("[a](lore://notes/v/a)", lambda _: path)).links == []
    assert "evil" not in html("[a](lore://notes/v/a)", lambda _: path)


def test_names_are_found_where_authors_write_them():
    found = Article(STAT_BLOCK).mentions(frozenset({"prone"}))
    assert [mention.name for mention in found] == [
        "prone", "poisoned", "misty step", "fire shield", "light", "mage hand", "shield", "fog cloud", "self only", "prone",
    ]  # fmt: skip
    by_name = {mention.name: mention.types[0] for mention in found}
    assert (by_name["misty step"], by_name["poisoned"], by_name["prone"]) == ("spells", "rules", "creatures")


def test_words_that_are_always_names_are_found_in_running_text_only_if_they_are_known():
    page = Article("The target is blinded, Prone or unblinded.")
    assert [m.name for m in page.mentions(frozenset({"blinded", "prone"}))] == ["blinded", "prone"]
    assert page.mentions() == []


@each_row(
    ("text", "found"),
    [
        ("It becomes invisible.", True),
        ("You are also invisible until then.", True),
        ("It has the Invisible condition.", True),
        ("Invisible strands of magic.", False),
        ("An invisible wall, and it falls.", False),
    ],
)
def test_an_adjective_is_a_condition_only_of_whom_it_is_said(text, found):
    assert bool(Article(text).mentions(frozenset({"invisible"}))) == found


# --- hostile text ----------------------------------------------------------------------------------------------------


class _Text(HTMLParser):
    """Collects what a browser would show as text."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = ""

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.shown += data


def test_nothing_of_hostile_entries_and_notes_is_more_than_text(seed):
    count = shown = 0
    for entity in hostile_pages(random.Random(seed), 500):
        page = markdown(entity)
        article = Article(page)
        mentions = article.mentions(frozenset({"prone"}))
        written = article.html(to_entries, {m: f"/entries/spells/own/{number}" for number, m in enumerate(mentions)})
        assert checked(written).problems == [], entity.data
        reader = _Text()
        reader.feed(written)
        assert reader.shown.count(SCRIPT) >= written.count(SCRIPT)
        count, shown = count + 1, shown + (SCRIPT in reader.shown)
    assert count == 500
    assert shown > 100, "hardly any attack arrived"


@pytest.mark.alike(2)
@pytest.mark.parametrize("number", range(len(LARGE)))
def test_large_texts_stay_within_bounds(number):
    written = html(markdown(large_page(number)))
    read = checked(written)
    assert read.problems == []
    assert len(read.text) < 2 * MAX_CHARS
    assert read.tags.count("td") <= MAX_CELLS * 2


def test_what_is_left_out_is_said():
    assert "5 further characters are left out" in html("a" * (MAX_CHARS + 5))
    rows = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 2_600
    assert f"{2_601 - MAX_CELLS // 2:,} rows and 0 columns of this table are left out" in html(rows)
    wide = f"{'|a' * 80}|\n{'|-' * 80}|\n{'|b' * 80}|"
    assert checked(html(wide)).tags.count("td") == MAX_COLUMNS
    assert f"0 rows and {80 - MAX_COLUMNS} columns" in html(wide)


# --- entries ---------------------------------------------------------------------------------------------------------


def empty_parts(written: str) -> list[str]:
    """Sections, items and values of HTML with nothing in them but their heading."""
    return re.findall(r"<section[^>]*>\s*<h2[^>]*>[^<]*</h2>\s*</section>|<(?:li|dd|p)[^>]*>\s*</(?:li|dd|p)>", written)


def complete(entity: Entity) -> None:
    """Fail if the page of an entry is not whole as HTML."""
    page = markdown(entity)
    written = html(page)
    read = checked(written)
    assert read.problems == [], entity.uri
    assert empty_parts(written) == [], entity.uri
    unnumbered = re.sub(r"^[\s>]*\d{1,3}[.)] ", "", page, flags=re.MULTILINE)
    assert re.findall(r"[^\W_]+", unnumbered) == re.findall(r"[^\W_]+", read.text), entity.uri


@pytest.mark.alike(2)
@pytest.mark.parametrize("part", range(10))
def test_every_entry_of_the_first_books_is_whole(part):
    need_books()
    entities = whole_books()[part::10]
    assert len(entities) > 100
    for entity in entities:
        complete(entity)


@pytest.mark.corpus
def test_500_entries_of_the_corpus_are_whole(corpus, seed, tmp_path_factory):
    entities = random.Random(seed).sample(imported_entries(corpus, tmp_path_factory), 500)
    for entity in entities:
        complete(entity)


@each_row(
    ("text", "kind", "dice"),
    [
        ("takes 8d6 fire damage", "spells", ["8d6"]),
        ("Hit: 13 (2d10 + 2) damage", "creatures", ["2d10+2"]),
        ("Melee Weapon Attack: +14 to hit, reach 5 ft.", "creatures", ["1d20+14"]),
        ("Con −1 and d4 − 1", "creatures", ["1d20-1", "1d4-1"]),
        ("1d4 × 10 gp", "rules", ["1d4×10"]),
        ("a +1 longsword", "equipment", []),
        ("proficiency bonus +7, levels 3-5, AC 15, a3d6, 0d6", "creatures", []),
        ("[2d6](lore://spells/x/2d6)", "spells", []),
    ],
)
def test_dice_in_texts_are_links_that_roll_them(text, kind, dice):
    page = Article(f"# Thing\n\n{text}\n").html(lambda uri: uri.replace("lore:/", ""), dice=kind)
    checked(page)
    found = re.findall(r'<a href="/roll\?dice=([^"]+)" class="dice">', page)
    assert [unquote(each) for each in found] == dice
    assert "/roll?" not in Article(f"# Thing\n\n{text}\n").html()
