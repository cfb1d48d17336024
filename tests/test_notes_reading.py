"""Reading notes: every trap that real vaults hold, each with a small text of its own."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from lorekeeper.audience import DM
from lorekeeper.notes import Link, Note, passed_over, read_note
from lorekeeper.notes.marks import LOOKED_AT, OwnMarks
from lorekeeper.shares import Opened, Share, Shares, digest_of
from tests.support.vaults import PUBLIC


def read(text: str, path: str = "Note.md", own: OwnMarks = LOOKED_AT) -> Note:
    return read_note(path, text, own)


def shown(note: Note) -> list[tuple[str, str]]:
    return [(section.path, section.text) for section in note.sections]


def secrets(note: Note) -> list[tuple[str, str, object]]:
    return [(section.text, section.mark, section.audience) for section in note.sections if section.audience]


def targets(note: Note) -> list[str]:
    return [link.target for link in note.links]


# --- what a note is called -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "name", "origin"),
    [
        ("npcs/veth.md", "---\nname: Veth\ntitle: Duke\n---\n# Lord Veth", "Veth", "name"),
        ("npcs/veth.md", "---\ntitle: Veth the Old\n---\n# Lord Veth", "Veth the Old", "title"),
        ("npcs/veth.md", "# Lord **Veth**\ntext", "Lord Veth", "heading"),
        ("npcs/veth.md", "## Description\ntext", "veth", "file"),
        ("npcs/veth.md", "# Overview\ntext\n# History\ntext", "veth", "file"),
        ("npcs/veth.md", "# General\ntext", "veth", "file"),
        ("npcs/veth.md", "# Description\ntext\n## History\ntext", "veth", "file"),
        ("npcs/veth.md", "# {{title}}\ntext", "veth", "file"),
        ("rules/General.md", "# General\ntext", "General", "heading"),
        ("npcs/veth.md", "# General Veth\ntext", "General Veth", "heading"),
        ("World/Waterdeep/index.md", "text", "Waterdeep", "folder"),
        ("World/Waterdeep/_index.md", "text", "Waterdeep", "folder"),
        ("World/Waterdeep/README.md", "text", "Waterdeep", "folder"),
        ("World/Waterdeep/Waterdeep.md", "text", "Waterdeep", "folder"),
        ("index.md", "text", "index", "file"),
        ("index.md", "# My World", "My World", "heading"),
    ],
)
def test_a_name_is_from_front_matter_the_heading_the_file_or_the_folder(path, text, name, origin):
    note = read(text, path)
    assert (note.name, note.title_from) == (name, origin)


def test_a_generic_heading_is_no_alias_and_still_says_who_may_see_the_note():
    assert "General" not in read("# General\ntext", "npcs/veth.md").aliases
    assert read("# Secrets\ntext", "npcs/veth.md").audience == "dm"


def test_control_characters_of_a_converted_windows_file_are_the_letters_that_it_had():
    note = read("---\nstatus: to the north \x96 far away\n---\n# Veth\nThe dragon\x92s \x93hoard\x94\x85")
    assert note.facts == {"status": "to the north \u2013 far away"}
    assert [section.text for section in note.sections] == ["The dragon\u2019s \u201choard\u201d\u2026"]
    assert (note.audience, note.problems) == (read("# Veth\ntext").audience, [])


def test_a_title_beside_a_name_is_a_fact():
    assert read("---\nname: Veth\ntitle: Duke of Ash\n---\n").facts == {"title": "Duke of Ash"}


@pytest.mark.parametrize(
    "written",
    ["aliases: [Veth, Old One]", "alias: Veth, Old One", "aka: Veth; Old One", "Aliases:\n  - Veth\n  - Old One"],
)
def test_aliases_are_a_list_or_text_with_commas(written):
    assert read(f"---\n{written}\n---\n# Morvethri", "Morvethri.md").aliases == ["Veth", "Old One"]


@pytest.mark.parametrize(
    ("path", "text", "aliases"),
    [
        ("Morvethri.md", "# Morvethri (Trade Name: Veth)", ["Morvethri", "Veth"]),
        ("Morvethri.md", "# Morvethri (aka Veth, the Ash)", ["Morvethri", "Veth", "the Ash"]),
        ("Solheart.md", "# Solheart (The Lost Capital)", ["Solheart"]),
        ("Hogpog.md", "# Hogpog 🐗", ["Hogpog"]),
        ("npcs/holya-townmaster.md", "# Holya - Townmaster of the End", ["Holya", "holya-townmaster"]),
        ("npcs/mires-end.md", "# Mire's End", []),
        ("npcs/mires-end.md", "---\nname: Mire\n---\n# The Drowned Town", ["The Drowned Town", "mires-end"]),
        ("README.md", "# My World", []),
    ],
)
def test_aliases_are_in_headings_and_file_names_too(path, text, aliases):
    assert read(text, path).aliases == aliases


# --- kinds and sessions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("x.md", "---\ntype: NPC\n---\n", "npc"),
        ("x.md", "---\nkind: Settlements\n---\n", "location"),
        ("x.md", "---\ncategory: Trade Route\n---\n", "trade route"),
        ("x.md", "---\ntype: []\ntags: [faction/cult]\n---\n", "faction"),
        ("Places/x.md", "---\ntags: npc/ally\n---\n", "npc"),
        ("World/Locations/x.md", "text", "location"),
        ("People/x.md", "text", "npc"),
        ("02-SESSIONS/x.md", "text", "session"),
        ("01 - NPCs/x.md", "text", "npc"),
        ("Campaign Journal/x.md", "text", "session"),
        ("Notes/Session 3/x.md", "text", "session"),
        ("Important NPCs/Barovia/x.md", "text", "npc"),
        ("npcs/README.md", "text", "note"),
        ("Session 12.md", "text", "session"),
        ("misc/x.md", "text", "note"),
        ("Places/x.md", "---\ntype: entity\nsubtype: npc\n---\n", "npc"),
        ("Places/x.md", "---\ntype: entity\n---\n", "location"),
        ("misc/x.md", "---\ntype: entity\n---\n", "entity"),
        ("21_Orte/x.md", "text", "location"),
        ("Personajes/x.md", "text", "npc"),
        ("x.md", "---\ntipo: x\ntags: [entiteit/plaats]\n---\n", "location"),
        ("Postacie/x.md", "text", "npc"),
        ("11_Sitzungen/03 - Eulenturm.md", "text", "session"),
        ("Session Prep/Session 12.md", "text", "prep"),
        ("Harbour Game/Session 04 (2025-06-20).md", "---\ntype: notes\n---\n", "session"),
        ("Harbour Game/Mill.md", "---\ntype: locale\n---\n", "location"),
        ("05---planning/arc two.md", "text", "prep"),
        ("Sessions/Session 12 prep.md", "---\ntype: session\n---\n", "prep"),
        ("Planetary Sessions/Session 12.md", "text", "session"),
    ],
)
def test_a_kind_is_from_front_matter_tags_or_folders(path, text, kind):
    assert read(text, path).kind == kind


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("11_Sitzungen/03 - Eulenturm.md", 3),
        ("Sessions/007 The Well.md", 7),
        ("Sessions/2024-10-09 The Well.md", None),
        ("Sesiones/Sesión 4.md", 4),
        ("Session Prep/12 - The Well.md", None),
        ("People/03 - Mira.md", None),
    ],
)
def test_the_leading_number_in_a_folder_of_sessions_is_the_sessions(path, number):
    assert read("She rows over the water.", path).session == number


@pytest.mark.parametrize(
    ("path", "text", "number", "day"),
    [
        ("Sessions/Session 12.md", "text", 12, None),
        ("Sessions/S03 - The Bridge.md", "text", 3, None),
        ("Sessions/2024-05-12 The Bridge.md", "text", None, date(2024, 5, 12)),
        ("Sessions/x.md", "# Session 7: July 8th, 2025", 7, date(2025, 7, 8)),
        ("Notes/Session 3/x.md", "text", 3, None),
        ("Sessions/x.md", "---\nsession: 4\ndate: 2025-07-18\n---\n", 4, date(2025, 7, 18)),
        (
            "Sessions/x.md",
            '---\nsession-number: "05"\ndate: Tuesday, July 8th 2025, 5:13:47 pm\n---\n',
            5,
            date(2025, 7, 8),
        ),
        ("Sessions/x.md", "---\ndate: 8.7.2025\n---\n", None, date(2025, 7, 8)),
        ("Sessions/x.md", "---\ndate: 12 Kythorn 1492 DR\n---\n", None, None),
        ("Sessions/x.md", "---\ndate: 1492-05-12\n---\n", None, None),
        ("Sessions/x.md", "---\ndate: 2025-13-45\n---\n", None, None),
        ("npcs/Session 3 guest.md", "---\ndate: 2025-07-18\n---\n", None, None),
        ("10-Session Plan.md", "text", None, None),
    ],
)
def test_sessions_have_a_number_and_a_date_of_our_calendar(path, text, number, day):
    note = read(text, path)
    assert (note.session, note.session_date) == (number, day)


@pytest.mark.parametrize(
    ("path", "text", "day"),
    [
        ("Journal/2025-05-12.md", "text", date(2025, 5, 12)),
        ("Lore/Feast.md", "# Feast of 12 May 2025", date(2025, 5, 12)),
        ("Lore/Feast.md", "---\ncreated: 2025-05-12T18:30\n---\n", date(2025, 5, 12)),
        ("Lore/Feast.md", "---\ncreated: 2025-05-12\nupdated: 2025-06-01\n---\n", date(2025, 6, 1)),
        ("Lore/2025-05-12.md", "---\ncreated: 2025-07-12\n---\n", date(2025, 5, 12)),
        ("Wissen/Fest.md", "---\nDatum: 12.5.2025\nerstellt: 2025-07-12\n---\n", date(2025, 5, 12)),
        ("Lore/Fête.md", "---\ncréé: 2025-05-12\n---\n", date(2025, 5, 12)),
        ("Sessions/x.md", "---\nsession: 4\ndate: 2025-07-18\ncreated: 2025-07-01\n---\n", date(2025, 7, 18)),
        ("Lore/Feast.md", "---\ncreated: 12 Kythorn 1492 DR\n---\n", None),
        ("Lore/Feast.md", "On 2025-05-12 we ate.", None),
    ],
)
def test_any_note_states_its_date_by_keys_and_names(path, text, day):
    assert read(text, path).dated == day


def test_a_date_of_another_calendar_is_a_fact():
    assert read("---\ndate: 12 Kythorn 1492 DR\n---\n", "Sessions/x.md").facts == {"date": "12 Kythorn 1492 DR"}


# --- front matter --------------------------------------------------------------------------------------------------


def test_front_matter_becomes_facts_without_names_settings_and_marks():
    note = read(
        "---\nname: Ash\naliases: Cinder\ntags: [npc]\ntype: npc\nvisibility: dm\ncssclasses: wide\nbanner: x.png\n"
        'Current Home: "[[Mire|the Mire]]"\nallies:\n  - [[Bo]]\n  - Cy\nempty:\nborn: 2025-01-02\nstats:\n  STR: 10\n'
        "alive: yes\ntime: 12:30\n---\n"
    )
    assert note.facts == {
        "Current Home": "the Mire",
        "allies": "Bo, Cy",
        "born": "2025-01-02",
        "stats": "STR: 10",
        "alive": "yes",
        "time": "12:30",
    }
    assert targets(note) == ["Mire", "Bo"]


@pytest.mark.parametrize("yaml", ["a: [b", "title: {{title}}", "a: b: c", "x: [[A]], [[B]]", 'a: "b'])
def test_yaml_that_does_not_parse_is_a_problem_and_its_marks_and_the_body_are_read(yaml):
    note = read(f"---\n{yaml}\nvisibility: dm\n---\nThe body.\n")
    assert shown(note) == [("", "The body.")]
    assert note.audience == "dm"
    assert len(note.problems) == 1
    assert note.problems[0].startswith("front matter: ")


@pytest.mark.parametrize(
    ("yaml", "facts"),
    [
        ("race: tiefling\naffiliation: [[A]], [[B]]", {"race": "tiefling", "affiliation": "A, B"}),
        ("motto: A: B", {"motto": "A: B"}),
        (
            'motto: "To the end" and back\nfriends:\n  - Bo\n  - Cy',
            {"motto": '"To the end" and back', "friends": "Bo, Cy"},
        ),
        ("home: [the keep", {"home": "[the keep"}),
        ("handle: @otto", {"handle": "@otto"}),
    ],
)
def test_front_matter_that_can_be_read_key_by_key_closes_no_note(yaml, facts):
    note = read(f"---\n{yaml}\n---\nThe body.\n")
    assert (note.facts, note.audience, shown(note)) == (facts, None, [("", "The body.")])
    assert [problem.startswith("front matter: ") for problem in note.problems] == [True]
    assert "players" not in note.problems[0]


@pytest.mark.parametrize(
    "yaml",
    [
        *(
            "visibility: players\nx: [[A]], [[B]]",
            "visibility: [players, [Ana",
            "secret: no: yes",
            "tags: [dm, npc",
            "dmNotes: A: B",
        ),
        *("race: elf\nno key\nx: [[A]], [[B]]", "race: elf\nx: [a,\n  b"),
    ],
)
def test_front_matter_that_cannot_be_read_closes_the_note_if_it_may_have_a_mark(yaml):
    note = read(f"---\n{yaml}\n---\nThe body.\n")
    assert note.audience == "dm"
    assert [problem.endswith("players do not see the note") for problem in note.problems] == [True]


@pytest.mark.parametrize("text", ["- a\n- b", "only text", "[]", "[[Ash]] [[Bo]]", "> said\n\nshe"])
def test_what_stands_between_two_rules_without_a_key_is_text(text):
    note = read(f"---\n{text}\n---\nThe body.\n")
    assert note.sections[0].text.startswith(text.replace("[[", "").replace("]]", ""))
    assert (note.sections[0].text.endswith("The body."), note.problems, note.audience) == (True, [], None)


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("date: 2025-13-45", "date: 2025-13-45 is not a date"),
        ("Date played: 2025-02-40", "Date played: 2025-02-40 is not a date"),
        ("date: 2025-07-08", ""),
        ("date: 1492-13-05", ""),
        ("date: 3rd of Mirtul", ""),
    ],
)
def test_a_date_that_is_none_is_a_problem(yaml, problem):
    problems = read(f"---\n{yaml}\n---\nThe body.\n").problems
    assert [each.partition(";")[0] for each in problems] == ([problem] if problem else [])


@pytest.mark.parametrize("yaml", ["", "# a comment", "   "])
def test_empty_front_matter_is_none(yaml):
    note = read(f"---\n{yaml}\n---\nThe body.\n")
    assert (shown(note), note.problems) == ([("", "The body.")], [])


def test_aliases_of_yaml_cannot_make_millions_of_values():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]" for i in range(9)]
    bomb = "\n".join(lines)
    assert sum(map(len, read(f"---\n{bomb}\n---\n").facts.values())) < 50_000
    assert read(f"```statblock\n{bomb}\n```").problems == ["stat block: too many values"]


def test_tags_are_in_front_matter_and_text_without_case():
    note = read("---\ntags: NPC/Ally, '#Ghost'\n---\n#Undead and (a#b) #12 `#code`\n\n#only #tags\n")
    assert note.tags == ["npc/ally", "ghost", "undead", "only", "tags"]
    assert shown(note) == [("", "#Undead and (a#b) #12 `#code`")]


# --- text ----------------------------------------------------------------------------------------------------------


def test_windows_line_ends_a_byte_order_mark_and_decomposed_letters_are_taken():
    name = unicodedata.normalize("NFD", "Café")
    note = read(
        f"\ufeff---\r\ntype: npc\r\n---\r\n# {name}\r\n\r\n## Très\r\nUn\r\nDeux\r\n".replace("è", "e\u0300"),
        f"{name}.md",
    )
    assert (note.path, note.name, note.kind, note.aliases) == ("Café.md", "Café", "npc", [])
    assert shown(note) == [("Très", "Un\nDeux")]


def test_sections_are_heading_paths_without_the_title_and_repeated_ones_stay_apart():
    note = read(
        "# Ash\nTop.\n## What Happens\nOne.\n### **Deep** #\nTwo.\n## Empty\n\n---\n## What Happens\nThree.\n# Other\nFour."
    )
    assert note.heading == "Ash"
    assert shown(note) == [
        ("", "Top."),
        ("What Happens", "One."),
        ("What Happens > Deep", "Two."),
        ("What Happens", "Three."),
        ("Other", "Four."),
    ]


def test_underlined_headings_are_headings_and_a_paragraph_over_a_rule_is_none():
    assert shown(read("Title\n=====\nA.\n\nPart\n----\nB.\n\n**Age**: 30\nlong prose.\n---\nC.", "Title.md")) == [
        ("", "A."),
        ("Part", "B.\n\n**Age**: 30\nlong prose.\n\nC."),
    ]


def test_lists_tables_and_quotes_are_kept_as_markdown():
    text = "- a\n  - b\n\n| x | y | z |\n|---|---|---|\n| 1 | 2 | 3 |\n\n> said"
    assert shown(read(text)) == [("", text)]


def test_programs_inline_queries_and_block_ids_are_gone_and_other_code_stays():
    note = read(
        "A `= this.x`b `$= dv.x` `code`. ^abc-1\n\n```dataviewjs\ndv.list()\n```\n```button\nname x\n```\n```leaflet\nid: x\n```\n"
        "> ```dataview\n> LIST\n> ```\n\n```\nmap [[x]]\n```"
    )
    assert shown(note) == [("", "A b  `code`.\n\n```\nmap [[x]]\n```")]


def test_comments_are_gone_and_what_stands_between_them_stays():
    note = read(
        "A <!-- b\n\n[[no]] --> c.\n\n%% kanban:settings %%\n<!-- QueryToSerialize: TABLE -->\nKept %% begin waypoint %%"
    )
    assert shown(note) == [("", "A\n\n c.\n\nKept")]
    assert note.links == []


def test_lists_that_programs_make_are_not_searched_and_their_links_are_kept():
    note = read(
        "One.\n<!-- SerializedQuery: LIST -->\n- [[A]]\n- [[B]]\n- Written by hand\n<!-- SerializedQuery END -->\n- [[C]]\n"
        "## Backlinks\n- [[D]]\n- said by [[E]]\n"
    )
    assert shown(note) == [("", "One.\n- Written by hand\n\n- C"), ("Backlinks", "- said by E")] or shown(note) == [
        ("", "One.\n\n- Written by hand\n\n- C"),
        ("Backlinks", "- said by E"),
    ]
    assert targets(note) == ["A", "B", "C", "D", "E"]


@pytest.mark.parametrize(
    "line", ["[[A]] | [[B]]", "[[A|Home]] → [B](B.md)", "← Previous: [[A]]", "Back to [[A]]", "**[[A]]** • [[B]]"]
)
def test_navigation_is_not_searched(line):
    note = read(f"{line}\n\nText of the note.")
    assert shown(note) == [("", "Text of the note.")]
    assert targets(note)[0] == "A"


@pytest.mark.parametrize("line", ["- [[A]]", "[[A]], [[B]]", "[[A]] met [[B]]", "| [[A]] | [[B]] |"])
def test_a_line_of_links_that_tells_something_is_searched(line):
    assert len(shown(read(line))) == 1


def test_html_and_highlights_lose_their_signs():
    assert shown(read('<div class="x">One</div><br>**two** ==three==\n\n<img src="a.png">')) == [
        ("", "One **two** three")
    ]


# --- links ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("[[a]]", Link("a", shown="a")),
        ("[[a|shown]]", Link("a", shown="shown")),
        ("[[path/A B]]", Link("path/A B", shown="A B")),
        ("[[a#Some heading]]", Link("a", "Some heading", "a > Some heading")),
        ("[[a#^block]]", Link("a", shown="a")),
        ("[[ A ]]", Link("A", shown="A")),
        ("[[a.md|b]]", Link("a.md", shown="b")),
        ("[[Dr. Who]]", Link("Dr. Who", shown="Dr. Who")),
        ("![[a]]", Link("a", shown="a", embedded=True)),
        ("![[a#h|b]]", Link("a", "h", "b", embedded=True)),
        ("[b](../x/a%20c.md)", Link("../x/a c.md", shown="b")),
        ("[b](x\\a.md#h%20i)", Link("x/a.md", "h i", "b")),
        ("[b](<x/a c.md>)", Link("x/a c.md", shown="b")),
        ('[b](a.md "title")', Link("a.md", shown="b")),
        ("[`b`](a.md)", Link("a.md", shown="`b`")),
        ("[b](a_(c).md)", Link("a_(c).md", shown="b")),
    ],
)
def test_links_in_every_form(written, link):
    note = read(f"He met {written}.")
    found = [
        Link(
            n.target, n.heading, read(n.shown).sections[0].text if "`" in link.shown else n.shown, n.section, n.embedded
        )
        for n in note.links
    ]
    assert [(n.target, n.heading, n.embedded) for n in found] == [(link.target, link.heading, link.embedded)]
    assert shown(note) == [("", f"He met {link.shown}.")]


def test_a_link_in_a_table_has_its_bar_escaped():
    note = read("| x | y | z |\n|---|---|---|\n| [[a.md\\|b]] | c | d |")
    assert note.links == [Link("a.md", shown="b")]
    assert shown(note)[0][1].endswith("| b | c | d |")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("![[map.png|cover hsmall]]", "See ."),
        ("![Map|300](map.png)", "See ."),
        ("[[rules.pdf]]", "See rules.pdf."),
        ("[rules](rules.pdf)", "See rules."),
        ("[site](https://example.org/a)", "See [site](https://example.org/a)."),
        ("[mail](mailto:a@example.org)", "See [mail](mailto:a@example.org)."),
        ("[[#below]]", "See below."),
        ("[x](#below)", "See x."),
        ("`[[code]]`", "See `[[code]]`."),
        ("``[[co`de]]``", "See ``[[co`de]]``."),
        ("    [[indented]]", "See     [[indented]]."),
    ],
)
def test_what_leads_to_no_note_is_no_link(written, text):
    if "indented" in written:
        assert read(f"A\n\n{written}").links == []
        return
    note = read(f"See {written}.")
    assert (shown(note), note.links) == ([("", text)], [])


def test_links_know_their_section_and_who_may_see_it():
    note = read("# Ash\n[[a]]\n## Ties to [[b]]\n[[c]]\n## GM Notes\n[[d]]")
    assert [(n.target, n.section, n.audience) for n in note.links] == [
        ("a", "", None),
        ("b", "Ties to b", None),
        ("c", "Ties to b", None),
        ("d", "GM Notes", "dm"),
    ]


# --- facts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "**Role**: Smith",
        "**Role:** Smith",
        "- **Role**: Smith",
        "* **Role:** Smith",
        "__Role__: Smith",
        "Role:: Smith",
        "- Role:: [[x|Smith]]",
        "| | |\n|---|---|\n| **Role** | Smith |",
        "> [!infobox]\n> # Ash\n> ![[a.png|cover]]\n> ###### Facts\n> | Type | Stat |\n> | --- | --- |\n> | Role | Smith |",
        "> [!infobox|left]-\n> **Role**: Smith",
    ],
)
def test_facts_below_the_title_leave_the_text(written):
    note = read(f"# Ash\n[[A]] | [[B]]\n\n{written}\n\nHe works.\n\n**Later**: not a fact of his.")
    assert dict(note.facts) == {"Role": "Smith"}
    assert note.facts_in_text == []
    assert shown(note) == [("", "He works.\n\n**Later**: not a fact of his.")]


def test_facts_under_a_heading_of_their_own_stay_there_and_are_said_to():
    table = "| | |\n|---|---|\n| **Race** | Human |"
    note = read(f"# Ash\n## Quick Reference\n{table}\n## Story\nmood:: grim\nHe is [status:: dead] and (age:: 30).")
    assert note.facts == {"Race": "Human", "mood": "grim", "status": "dead", "age": "30"}
    assert note.facts_in_text == ["Race", "mood", "status", "age"]
    assert shown(note) == [("Quick Reference", table), ("Story", "mood: grim\nHe is status: dead and 30.")]


def test_one_key_in_several_places_keeps_what_each_says():
    note = read("---\nstatus: alive\n---\n# Ash\n**Status**: Alive\n**status**: hidden\n")
    assert note.facts == {"status": "alive; hidden"}


def test_a_fact_whose_key_keeps_it_secret_is_a_secret_stretch():
    note = read("---\nsecret: he is a lich\ngm: Ann\n---\n# Ash\n**Secret**: he is a lich\n**Role**: king\n")
    assert note.facts == {"gm": "Ann", "Role": "king"}
    assert [(mark, who) for _, mark, who in secrets(note)] == [("secret:", "dm"), ("Secret", "dm")]


def test_facts_in_a_secret_are_left_there():
    note = read("# Ash\n## GM Notes\n| | |\n|---|---|\n| Weak | sun |\n\n> [!infobox]\n> **True name**: Bo\n")
    assert note.facts == {}
    assert "sun" in note.sections[0].text
    assert "Bo" in note.sections[0].text


# --- callouts and stat blocks --------------------------------------------------------------------------------------


def test_callouts_of_any_word_become_readable():
    note = read(
        "> [!note]- A title\n> text\n> > [!Quote|wide]+\n> > nested\n> | a | b | c |\n> |---|---|---|\n> | 1 | 2 | 3 |"
    )
    assert shown(note)[0][1].startswith("> **A title**\n> text\n> > **Quote**\n> > nested")


def test_links_embedded_notes_and_callouts_are_kept_as_written_beside_what_is_searched():
    lines = [
        "Ask [[Oda|her]] or [Bors](Bors%20the%20Red.md), see [[#Toll]] and ![[map.png]]![[Vale#Roads]] there.",
        "",
        "> [!tip]- Mind [[Skara]]",
        "> role:: ==guide== <u>once</u> ^block",
        "",
        "`[[code]]` stays.",
    ]
    (section,) = read("\n".join(lines)).sections
    assert section.text.splitlines() == [
        "Ask her or Bors, see Toll and Vale > Roads there.",
        "",
        "> **Mind Skara**",
        "> role:: guide once",
        "",
        "`[[code]]` stays.",
    ]
    assert section.written.splitlines() == [
        "Ask [[Oda|her]] or [Bors](Bors%20the%20Red.md), see [[#Toll]] and ![[Vale#Roads]] there.",
        "",
        "> [!tip]- **Mind [[Skara]]**",
        "> role:: ==guide== once",
        "",
        "`[[code]]` stays.",
    ]


def test_stat_blocks_are_read_and_leave_the_text():
    note = read(
        '# Ash\n## Fight\n```statblock\nname: Ash\nac: !!int "15"\nhp: 1\nhp: 30\nactions:\n\t- name: Bite\n```\n'
        "> ```statblock\n> monster: Acolyte\n> name: Bo\n> ```\nAfter.\n## GM Notes\n```statblock\ncreature: Alce\n```\n"
    )
    assert [(block.values, block.section, block.base, block.mark) for block in note.stat_blocks] == [
        ({"name": "Ash", "ac": 15, "hp": 30, "actions": [{"name": "Bite"}]}, "Fight", "", ""),
        ({"monster": "Acolyte", "name": "Bo"}, "Fight", "Acolyte", ""),
        ({"creature": "Alce"}, "GM Notes", "Alce", "GM Notes"),
    ]
    assert shown(note) == [("Fight", "After.")]


@pytest.mark.parametrize("yaml", ["{{bad", "- a", "only text", "a: !!int x", "a: 2025-13-45"])
def test_a_stat_block_that_does_not_parse_is_a_problem_and_stays(yaml):
    note = read(f"```statblock\n{yaml}\n```")
    assert shown(note) == [("", f"```statblock\n{yaml}\n```")]
    assert (note.stat_blocks, len(note.problems)) == ([], 1)


# --- secrets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "Secrets (GM only)",
            "GM Notes",
            "DM Notes",
            "Private Knowledge (requires trust)",
            "Campaign Arc (GM Eyes Only)",
        ),
        *(
            "Hidden Information",
            "Hidden Properties (GM Knowledge)",
            "Secrets & Hidden Things",
            "📝 GM Notes",
            "For the DM",
        ),
        *("DM", "The Cult (secret)", "Secret Agenda", "What the players don't know", "GM's Eyes Only", "Spoilers"),
    ],
)
def test_headings_that_keep_secrets(heading):
    note = read(f"# Ash\nOpen.\n## {heading}\nOne.\n### Below\nTwo.\n## Open\nThree.")
    assert secrets(note) == [("One.", heading, "dm"), ("Two.", heading, "dm")]


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "The Master Smith",
            "Planar Gates",
            "Masterwork Blades",
            "The Lighthouse Keeper",
            "Truthful Tam",
            "Key Players",
        ),
        *(
            "Preparing Food in the Wild",
            "Privateers",
            "Player Characters",
            "Party",
            "History",
        ),
    ],
)
def test_headings_that_only_sound_like_it(heading):
    assert secrets(read(f"# Ash\n## {heading}\nOne.")) == []


@pytest.mark.parametrize("heading", ["The Secret Door", "Hidden Valley", "Private Rooms", "GM Style Analysis"])
def test_a_heading_with_a_stem_waits_and_is_listed_with_it_and_opens_by_its_text(heading):
    (held,) = read(f"# Ash\n## {heading}\nOne.").held
    assert (held.place, held.text) == ("heading", heading)
    assert held.stem in heading.casefold()
    opened = Share("v", "opened", "Note.md", "players", Opened(stems=(digest_of(held.said),)))
    note = read(f"# Ash\n## {heading}\nOne.", own=replace(LOOKED_AT, shares=Shares([opened])))
    assert (secrets(note), note.held) == ([], [])


@pytest.mark.parametrize("heading", ["Public Knowledge", "What the party knows", "Player Handout", "For the players"])
def test_a_heading_that_says_it_is_for_players_opens_nothing_before_it_was_looked_at(heading):
    note = read(f"# Ash\n## GM Notes\nOne.\n### {heading}\nTwo.\n## {heading}\nThree.")
    assert ([who for *_, who in secrets(note)], note.said) == (["dm", "dm"], [heading])


def test_of_nested_headings_the_narrower_decides():
    heading = "Public Knowledge"
    text = f"# Ash\n## GM Notes\nOne.\n### {heading}\nTwo.\n## {heading}\nThree.\n### GM Notes\nFour."
    note = read(text, own=PUBLIC)
    assert secrets(note) == [
        ("One.", "GM Notes", "dm"),
        ("Two.", "GM Notes", "dm"),
        ("Three.", "", "players"),
        ("Four.", "GM Notes", "dm"),
    ]


def test_the_title_marks_the_whole_note():
    note = read("# The Plot (GM only)\nOne.\n## Two\nThree.")
    assert (note.audience, note.mark) == ("dm", "The Plot (GM only)")
    assert [who for *_, who in secrets(note)] == ["dm", "dm"]


@pytest.mark.parametrize("head", ["[!dm]", "[!GM]+ Title", "[!secret]- DM Only", "[!dm-only]", "[!note|gm]"])
def test_secret_callouts_are_stretches_of_their_own(head):
    note = read(f"# Ash\n## Part\nBefore.\n\n> {head}\n> Behind [[x]].\nlazy line\n\nAfter.")
    assert [(path, who) for path, who in ((s.path, s.audience) for s in note.sections)] == [
        ("Part", None),
        ("Part", "dm"),
        ("Part", None),
    ]
    assert note.sections[1].text.endswith("Behind x.\nlazy line")
    assert note.sections[1].mark.startswith("> [!")
    assert note.links[0].audience == "dm"


def test_blocks_of_the_admonition_plugin_are_callouts():
    note = read("```ad-note\ntitle: Rumours\nSeen by [[Bo]].\n```\n\n```ad-dm\ncollapse: open\nHidden.\n```\nAfter.")
    assert [(section.text, section.mark) for section in note.sections] == [
        ("> **Note**\n> **Rumours**\n> Seen by Bo.", ""),
        ("Hidden.", "> [!dm]"),
        ("After.", ""),
    ]
    assert targets(note) == ["Bo"]


def test_a_secret_callout_within_another_is_cut_out():
    note = read("> [!note] Open\n> text\n>\n> > [!dm]\n> > hidden\n>\n> after")
    assert secrets(note) == [("hidden", "> [!dm]", "dm")]
    assert "hidden" not in "".join(text for _, text in shown(note) if text != "hidden")


@pytest.mark.parametrize(
    ("written", "mark"),
    [
        ("<!-- dm:start -->\nHidden.\n<!-- dm:end -->", "<!-- dm:start -->"),
        ("<!--gm-start-->\nHidden.\n<!--gm-end-->", "<!--gm-start-->"),
        ("%% dm:start %%\nHidden.\n%% dm:end %%", "%% dm:start %%"),
        ("%%\nHidden.\n%%", "%%"),
        ("%%Hidden.%%", "%%"),
        ('<section class="secret" id="x">\nHidden.\n</section>', '<section class="secret" id="x">'),
    ],
)
def test_comments_and_sections_that_keep_secrets(written, mark):
    note = read(f"# Ash\n## Part\nBefore.\n\n{written}\n\nAfter.")
    assert [(s.path, s.text, s.mark) for s in note.sections] == [
        ("Part", "Before.", ""),
        ("Part", "Hidden.", mark),
        ("Part", "After.", ""),
    ]


def test_a_comment_within_a_sentence_leaves_the_sentence_whole():
    note = read("One %%two%% three\nfour.\n\nFive.")
    assert shown(note) == [("", "One three\nfour."), ("", "two"), ("", "Five.")]


def test_headings_within_a_secret_do_not_last_beyond_it():
    note = read(
        "# Ash\n## Part\n<!-- dm:start -->\n### Plan\nOne.\n#### Public Knowledge\nTwo.\n<!-- dm:end -->\nThree."
    )
    assert [(s.path, s.audience) for s in note.sections] == [
        ("Part > Plan", "dm"),
        ("Part > Plan > Public Knowledge", "dm"),
        ("Part", None),
    ]


@pytest.mark.parametrize("opening", ["<!-- dm:start -->", "%%", '<section class="secret">'])
def test_a_secret_without_an_end_lasts_to_the_end(opening):
    note = read(f"Open.\n\n{opening}\nHidden.\n\n## More\nHidden too.")
    assert [s.audience for s in note.sections] == [None, "dm", "dm"]
    assert len(note.problems) == 1


def test_marks_within_code_are_none():
    note = read("`%%` and `<!-- dm:start -->` open.\n\n```\n%% a %%\n```\n100 %% sure")
    assert secrets(note) == []
    assert "100 %% sure" in note.sections[0].text


@pytest.mark.parametrize(
    ("yaml", "audience"),
    [
        ("visibility: players", "players"),
        ("visibility: dm", "dm"),
        ("visibility: mixed", None),
        ("visibility: sometimes", "dm"),
        ("publish: true", "players"),
        ("publish: false", "dm"),
        ("secret: true", "dm"),
        ("secret: false", None),
        ("audience: [Ana, Ben]", ("Ana", "Ben")),
        ("audience: Ana", ("Ana",)),
        ("Audience: GM", "dm"),
        ("publish: true\nsecret: true", "dm"),
        ("gm: Geoff", None),
    ],
)
def test_front_matter_says_who_may_see_a_note(yaml, audience):
    note = read(f"---\n{yaml}\n---\nText.")
    assert note.audience == audience
    assert bool(note.mark) == (audience not in (None, "players"))


@pytest.mark.parametrize(
    ("path", "audience"),
    [
        ("party-knowledge.md", None),
        ("tilda-brannock-brief.md", "dm"),
        ("session-brief.md", "dm"),
        ("gm-notes.md", "dm"),
        ("DM Only/x.md", "dm"),
        ("Player Secrets/Ana.md", "dm"),
        ("Session 12 prep.md", "dm"),
        ("Adventures/The Mine.md", "dm"),
        ("Handouts/letter.md", None),
        ("gm-profile-geoff.md", "dm"),
        ("party/tilda.md", None),
    ],
)
def test_file_names_say_who_may_see_a_note(path, audience):
    assert read("Text.", path).audience == audience


# --- what is no note -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("Templates/npc.md", "one two three four", "a template"),
        ("99 - _templates/npc.md", "one two three four", "a template"),
        ("Meta/z_Templates/npc.md", "one two three four", "a template"),
        ("campaign-notebook-template/npc.md", "one two three four", None),
        ("Templates of Doom/npc.md", "one two three four", None),
        ("npc-template.md", "one two three four", "a template"),
        ("a.md", "---\ntags: [template]\n---\none two three four", "a template"),
        ("a.md", "# <% tp.file.title %>\none two three four", "a template"),
        ("a.md", "created {{date:YYYY}} one two three", "a template"),
        ("CLAUDE.md", "one two three four", "about tools"),
        ("sub/AGENTS.md", "one two three four", "about tools"),
        ("CONTRIBUTING.md", "one two three four", "about tools"),
        ("board.md", "---\nkanban-plugin: basic\n---\none two three four", "a kanban board"),
        ("map.excalidraw.md", "one two three four", "a drawing"),
        ("map.md", "---\nexcalidraw-plugin: parsed\n---\none two three four", "a drawing"),
        ("a.md", "# Old Barn", "fewer than three words"),
        ("a.md", "one two <!-- three four -->", "fewer than three words"),
        ("a.md", "```dataview\nLIST FROM somewhere nice\n```", "fewer than three words"),
        ("a.md", "", "fewer than three words"),
        ("a.md", "Write `{{date}}` where the date belongs.", None),
        ("a.md", "```\n<% tp.file.title %>\n```\n", None),
        ("a.md", "---\nrace: elf\nrole: village smith\n---\n", None),
        ("a.md", "```statblock\nname: Big Bad\n```", None),
        ("Contributing Factors.md", "one two three four", None),
    ],
)
def test_what_is_passed_over(path, text, why):
    assert passed_over(path, text) == why


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "The tavern of [[Ash]] is **dark**.\n\n## Part\n- item\n",
            "` `` ``` ",
            "[[",
            "[a](",
            "[](<",
            "%%",
            "%%a%% b\n",
            "<!-- ",
        ),
        *(
            "<!-- dm:start -->",
            '<section class="secret">',
            ">",
            "> [!dm] x\n\n",
            "> [!note] x\n> > [!dm] y\n\n",
            "- ",
            " ",
            "* *a ",
        ),
        *(
            "| | |\n|---|---|\n| a | b |\n\n",
            "| a ",
            "**a**: b\n",
            "[a:: ",
            "==a",
            "_a",
            "# a (b) ",
            "a\n---\n",
            "```\na\n",
            "<a ",
        ),
        *("#a ", "e\u0301", "\u0301", "\\", "\n", "[a]: b\n", "-" + " " * 1000, "^a ", "{{", "<% "),
    ],
)
def test_long_notes_take_time_in_proportion(piece):
    """What takes quadratic time does not end before the time limit of a test."""
    text = piece * ((1 << 17) // len(piece))
    for whole in (text, f"# {text}"):
        assert read(whole).name
        passed_over("Note.md", whole)


@pytest.mark.slow
def test_a_note_of_a_megabyte_is_read():
    piece = "The tavern of [[Ash]] is **dark**.\n\n## Part\n- item\n\n"
    number = (1 << 20) // len(piece)
    note = read(piece * number)
    assert len(note.links) == number
    assert len(note.sections) == number + 1


# --- anything at all -----------------------------------------------------------------------------------------------

SNIPPETS = (
    *(
        "---\n",
        "# ",
        "## GM Notes\n",
        "\n",
        "\n\n",
        " ",
        "> ",
        "> [!dm] x\n",
        "> [!infobox]\n",
        "%%",
        "<!--",
        "-->",
        "- ",
        "\t",
    ),
    *(
        "<!-- dm:start -->",
        "<!-- dm:end -->",
        '<section class="secret">',
        "</section>",
        "[[",
        "]]",
        "![[",
        "|",
        "\\|",
        "](",
        ")",
    ),
    *(
        "```statblock\n",
        "```\n",
        "```dataview\n",
        "`",
        "a: b\n",
        "key:: value\n",
        "**k**: v\n",
        "| | |\n|---|---|\n| a | b |\n",
    ),
    *(
        "#tag ",
        "^id\n",
        "\r\n",
        "\ufeff",
        "\x00",
        "\ufdd0",
        "\ufdd1",
        "\ufdd03\ufdd1",
        "e\u0301",
        "🧛",
        "===\n",
        "&a [*a]\n",
        "{",
        "[",
        "Session 3",
    ),
    *(
        "<!-- SerializedQuery: x -->\n",
        "<!-- SerializedQuery END -->\n",
        "2025-13-45",
        "!!int x",
        "\u2028",
        "\ud800",
        "(aka x)",
        " > ",
    ),
)

ANY_TEXT = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=6)), max_size=40).map("".join)


@pytest.mark.parametrize("examples", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_any_text_is_read(examples, seed):
    print(f"seed {seed}")

    @seeded(seed)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(st.just("Note.md"), st.text(min_size=1, max_size=20)), ANY_TEXT)
    def holds(path, text):
        note = read_note(path, text)
        passed_over(path, text)
        assert read_note(path, text) == note
        for section in note.sections:
            assert section.text.strip()
            assert not set("\ufdd0\ufdd1\ufdd2\ufdd3\r") & set(section.text + section.path)
            assert "<!--" not in section.text or "`" in text or "<" in section.text
        assert all(link.target and "\ufdd0" not in link.target + link.shown for link in note.links)

    holds()


@pytest.mark.parametrize(
    "secret",
    ["%%{}%%", "<!-- dm:start -->{}<!-- dm:end -->", "\n\n> [!dm]\n> {}\n\n", '<section class="secret">{}</section>'],
)
def test_what_is_kept_secret_is_in_no_open_stretch(secret, seed):
    print(f"seed {seed}")
    around = st.lists(
        st.sampled_from(["word ", "\n", "\n\n", "- item\n", "> quote\n", "## Part\n", "**k**: v\n", "[[x]] "]),
        max_size=12,
    )

    @seeded(seed)
    @settings(max_examples=60, deadline=None, database=None)
    @given(around.map("".join), around.map("".join))
    def holds(before, after):
        note = read(f"# Ash\n{before}{secret.format('sesame')}{after}")
        told = [section for section in note.sections if "sesame" in section.text]
        assert [section.audience for section in told] == ["dm"]
        assert "sesame" not in str(note.facts) + note.name + str(note.tags)

    holds()


def test_code_in_a_heading_is_read_as_text():
    assert shown(read("# Ash\n## Use `[[x]]` now\nText.")) == [("Use [[x]] now", "Text.")]


# --- what stands elsewhere in a note ------------------------------------------------------------------------------------


def test_footnotes_stand_where_they_are_referred_to():
    note = read(
        "He prays[^1] and drinks^[only ale].\n\n| a |\n|---|\n| x[^b] |\n\n"
        "[^1]: To the god\n  of bread.\n[^b]: dear | old\n\nEnd[^no]."
    )
    assert shown(note) == [
        ("", "He prays (To the god of bread) and drinks (only ale).\n\n| a |\n|---|\n| x (dear / old) |\n\nEnd.")
    ]
    assert shown(read("`[^1]` is code.\n\n[^1]: Unused."))[0][1] == "`[^1]` is code.\n\n[^1]: Unused."


def test_no_footnote_leaves_what_keeps_it_secret():
    note = read(
        "Open[^1][^2]^[DM: she lies] text[^3].\n\n[^2]: DM: he lies\n\n"
        "## GM Notes\nDark[^3].\n\n[^1]: a lich\n\n## Foot\n[^3]: a smith"
    )
    assert shown(note)[0] == ("", "Open text (a smith).")
    assert [(s.text, s.audience) for s in note.sections if s.path == "GM Notes"] == [
        ("Dark (a smith).\n\n[^1]: a lich", DM)
    ]
    assert all("lich" not in s.text and "lies" not in s.text for s in note.sections if s.audience is None)


def test_queries_for_keys_of_the_note_are_answered_but_for_secret_ones():
    keys = "---\nRace: dwarf\nHome Town: '[[Skara]]'\nsecret_name: Ulf\nvisibility: dm\n---\n"
    asked = "`=this.race`, `$=dv.current().Race`, `= this['Home Town']`, `=this.file.name`, "
    asked += "`=this.secret_name`, `=this.visibility`, `=now()`"
    note = read(keys + asked + "\n\n## Public Knowledge\nA `=this.race` of [[Orm]].", own=PUBLIC)
    said = {s.path: s.text for s in note.sections if "Ulf" not in s.text}
    assert said == {
        "": "dwarf, dwarf, Skara, Note, , ,",
        "Public Knowledge": "A  of Orm.",
    }  # which is for others than the note
    assert ("Skara", "") in [(link.target, link.section) for link in note.links]
