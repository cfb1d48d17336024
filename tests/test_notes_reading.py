"""Reading notes: every trap that real vaults hold, each with a small text of its own."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from lorekeeper.audience import DM
from lorekeeper.notes import Note, passed_over, read_note
from lorekeeper.notes.marks import LOOKED_AT, OwnMarks
from tests.support.tables import each_row, rows
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


def test_a_generic_heading_is_no_alias_and_still_says_who_may_see_the_note():
    assert "General" not in read("# General\ntext", "npcs/veth.md").aliases
    assert read("# Secrets\ntext", "npcs/veth.md").audience == "dm"


def test_a_text_with_several_aliases_closes_them_all_if_it_closes_one():
    note = read('---\naliases: "Zed, true name secret"\n---\nHe sells.', "npcs/veth.md")
    assert {"Zed", "true name secret"} <= {*note.secret_aliases}
    assert not read("---\naliases: [Zed, Old Tom]\n---\nHe sells.", "npcs/veth.md").secret_aliases


# --- front matter --------------------------------------------------------------------------------------------------


@each_row(
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


def test_aliases_of_yaml_cannot_make_millions_of_values():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]" for i in range(9)]
    bomb = "\n".join(lines)
    assert sum(map(len, read(f"---\n{bomb}\n---\n").facts.values())) < 50_000
    assert read(f"```statblock\n{bomb}\n```").problems == ["stat block: too many values"]


# --- text ----------------------------------------------------------------------------------------------------------


def test_windows_line_ends_a_byte_order_mark_and_decomposed_letters_are_taken():
    name = unicodedata.normalize("NFD", "Café")
    note = read(
        f"\ufeff---\r\ntype: npc\r\n---\r\n# {name}\r\n\r\n## Très\r\nUn\r\nDeux\r\n".replace("è", "e\u0300"),
        f"{name}.md",
    )
    assert (note.path, note.name, note.kind, note.aliases) == ("Café.md", "Café", "npc", [])
    assert shown(note) == [("Très", "Un\nDeux")]


# --- callouts and stat blocks --------------------------------------------------------------------------------------


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


# --- secrets -------------------------------------------------------------------------------------------------------


@each_row("heading", ["Public Knowledge", "What the party knows", "Player Handout", "For the players"])
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


@each_row("head", ["[!dm]", "[!GM]+ Title", "[!secret]- DM Only", "[!dm-only]", "[!note|gm]"])
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


def test_a_secret_callout_within_another_is_cut_out():
    note = read("> [!note] Open\n> text\n>\n> > [!dm]\n> > hidden\n>\n> after")
    assert secrets(note) == [("hidden", "> [!dm]", "dm")]
    assert "hidden" not in "".join(text for _, text in shown(note) if text != "hidden")


@each_row(
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


@each_row("opening", ["<!-- dm:start -->", "%%", '<section class="secret">'])
def test_a_secret_without_an_end_lasts_to_the_end(opening):
    note = read(f"Open.\n\n{opening}\nHidden.\n\n## More\nHidden too.")
    assert [s.audience for s in note.sections] == [None, "dm", "dm"]
    assert len(note.problems) == 1


def test_marks_within_code_are_none():
    note = read("`%%` and `<!-- dm:start -->` open.\n\n```\n%% a %%\n```\n100 %% sure")
    assert secrets(note) == []
    assert "100 %% sure" in note.sections[0].text
    assert secrets(read("Open.\n\n**A letter**\n~~~~~~~~\n\nGM: he lies")) != [], "a fence that never ends is none"


# --- what is no note -----------------------------------------------------------------------------------------------


@each_row(
    ("path", "text", "why"),
    rows("passed_over"),
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


@each_row(
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


# --- what stands elsewhere in a note ------------------------------------------------------------------------------------


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
