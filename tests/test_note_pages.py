"""Notes as pages: their Markdown, what is embedded in them, and the picture of what they are connected with."""

from __future__ import annotations

import math
import re
import time
from html import unescape
from itertools import groupby, pairwise

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.entities import Entity
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import read_note
from lorekeeper.render import Related, markdown
from lorekeeper.render.embeds import MAX_DEPTH, MAX_EMBEDDED, embedded_in
from lorekeeper.render.graph import CHARS, IN_WHEEL, LINE, MAX_NODES, RADIUS, Node, graph_svg, wheel_svg
from lorekeeper.render.note_html import (
    ATTRIBUTES,
    CLASSES,
    TAGS,
    fact_rows,
    linking_lines,
    note_body,
)
from lorekeeper.server.page.site import entry_address
from lorekeeper.vaults.links import Links
from lorekeeper.views.redact import redact
from tests.support.pages import elements
from tests.support.tables import each_row
from tests.support.vaults import PUBLIC

KEEP = "/entries/notes/saga/World%2FKeep.md"


def vault(**notes: str) -> dict[str, Entity]:
    """The notes of a vault by path; underscores in names stand for slashes."""
    texts = {f"{name.replace('_', '/')}.md": text for name, text in notes.items()}
    read = {path: read_note(path, text, PUBLIC) for path, text in texts.items()}
    links = Links({path: note.aliases for path, note in read.items()})

    def entity(path: str) -> Entity:
        return note_entity(read[path], "saga", "Saga", 0, lambda target: links.resolve(target, path))

    return {path: entity(path) for path in read}


def html(text: str, **notes: str) -> str:
    """A note of a vault with "World/Keep.md" as HTML, without line breaks."""
    found = vault(Skara=text, **{"World_Keep": "# Keep\nA tower.\n", **notes})
    return note_body(found["Skara.md"], entry_address, found).html.replace("\n", "")


@each_row(
    ("written", "shown"),
    [
        ("See [[Keep]].", f'See <a href="{KEEP}">Keep</a>.'),
        ("See [[world/keep|the *tower*]].", f'<a href="{KEEP}">the *tower*</a>'),
        ("See [[Keep#The Cellar]].", f'<a href="{KEEP}#s-the-cellar">Keep &gt; The Cellar</a>'),
        ("See [the **tower**](World/Keep.md).", f'<a href="{KEEP}">the <strong>tower</strong></a>'),
        ("| a |\n|---|\n| [[Keep\\|tower]] |", f'<td><a href="{KEEP}">tower</a></td>'),
        ("See [[Nobody]].", '<span class="dangling" title="There is no such note">Nobody</span>'),
        ("See [nobody](None.md).", '<span class="dangling" title="There is no such note">nobody</span>'),
        ("See [[#Deeds]].\n\n## Deeds\nMany.", '<a href="#s-deeds">Deeds</a>'),
        ("`[[Keep]]`", "<code>[[Keep]]</code>"),
        ("```\n[[Keep]]\n```\nText.", "<pre><code>[[Keep]]</code></pre>"),
        ("It is ==very **old**==.", "<mark>very <strong>old</strong></mark>"),
        ("An #npc/ally here.", '<a class="tag" href="/?q=type%3Anote%20tag%3Anpc/ally">#npc/ally</a>'),
        ("Not a#tag, nor #12 one.", "Not a#tag, nor #12 one."),
        ("Words.\n\nage:: 33", "<strong>age</strong>: 33"),
        ("She is [mood:: glad] now.", "<strong>mood</strong>: glad now."),
        ("One<br>two", "One<br>two"),
        ("One\ntwo", "One<br>two"),
        ("- [ ] ask\n- [x] go", 'aria-label="to do">☐</span> ask'),
        ("- [ ] ask\n- [x] go", '<li class="task"><span class="box" role="img" aria-label="done">☑</span> go</li>'),
        (
            "[there](https://example.org/a)",
            'href="https://example.org/a" class="away" rel="noopener noreferrer nofollow"',
        ),
        ("~~gone~~", "<s>gone</s>"),
    ],
)
def test_what_obsidian_shows_is_shown(written: str, shown: str) -> None:
    assert shown in html(written)


def test_callouts_are_boxes_with_titles_that_fold_where_their_author_said_so() -> None:
    page = html(
        "> [!warning]- Mind [[Keep]]\n> It falls.\n> > [!tip]\n> > Run.\n\n> [!column]\n> Left.\n\n> No callout."
    )
    assert '<details class="callout warning"><summary>' in page
    assert f'Mind <a href="{KEEP}">Keep</a>' in page
    assert '<div class="callout tip"><p class="callout-title"><strong>Tip</strong></p><p>Run.</p></div>' in page
    assert '<div class="callout plain"><p>Left.</p></div>' in page
    assert "<blockquote><p>No callout.</p></blockquote>" in page
    assert '<details class="callout note" open' in html("> [!lore thing]+ Open\n> It is.")
    assert "[!" not in page


def test_an_embedded_note_is_shown_in_its_place_with_its_secrets_marked() -> None:
    keep = "---\nvisibility: players\n---\nA tower of [[Skara]].\n\n## Cellar\nDark.\n\n## Secrets (GM only)\nA lich.\n"
    page = html("---\nvisibility: players\n---\nShe owns it:\n\n![[Keep]]\n\nIt stands.", World_Keep=keep)
    inner = page[page.index('<div class="embed">') :]
    assert f'<p class="embed-title"><a href="{KEEP}">Keep</a></p>' in inner
    assert 'A tower of <a href="/entries/notes/saga/Skara.md">Skara</a>.' in inner
    assert "<h6>Cellar</h6>" in inner
    assert '<div class="secret" dir="auto"><h6>Secrets (GM only)</h6><p>A lich.</p></div>' in inner
    part = html("![[Keep#cellar]]", World_Keep=keep)
    assert "Dark." in part
    assert "tower of" not in part
    assert "Dark." in html("> [!note] Look\n> ![[Keep#cellar]]", World_Keep=keep)


def test_an_embedded_note_that_the_viewer_does_not_see_is_no_more_than_a_link_to_nothing() -> None:
    found = vault(Skara="![[Keep]]", Keep="A tower.")
    page = note_body(found["Skara.md"], entry_address, {}).html
    assert "tower" not in page
    assert "embed" not in page


def test_embedded_notes_stand_in_the_page_for_programs_and_terminals() -> None:
    shared = "---\nvisibility: players\n---\n"
    found = vault(
        Skara=f"{shared}Here:\n\n> ![[Keep#Cellar]]\n\n- see ![[Lair]]\n\n![[Skara]] ![[Keep#^block]]",
        Keep=f"{shared}Tall.\n\n## Cellar\nDark.\n\n![[Skara]]\n\n### Secrets (GM only)\nA lich.\n\n## Roof\nWet.",
        Lair="Under the mill.",
    )
    page = markdown(found["Skara.md"], related=Related({}, embedded=found))
    assert "> > **Keep > Cellar**\n> >\n> > Dark." in page
    assert "> > (secret: Secrets (GM only))\n> >\n> > A lich." in page
    assert "- see Lair\n\n> **Lair**\n>\n> Under the mill." in page
    assert ("Wet." in page, "Tall." in page, page.count("Here:")) == (False, False, 1)
    ana = Viewer.player("ana")
    seen = {
        path: redact(each, ana, lambda name: f"{name}.md" if name != "Lair" else None)
        for path, each in found.items()
        if path != "Lair.md"
    }
    page = markdown(seen["Skara.md"], related=Related({}, embedded=seen))
    assert "Dark." in page
    assert not any(word in page for word in ("lich", "mill", "Secrets", "secret"))


def test_notes_that_embed_each_other_end() -> None:
    loop = html("Round\n\n![[Keep]]", World_Keep="and\n\n![[Skara]]\n\n![[Keep]]")
    assert loop.count('class="embed"') == 1
    deep = {f"N{n}": f"Text {n}.\n\n![[N{n + 1}]]" for n in range(9)}
    assert html("![[N0]]", **deep).count('class="embed"') == MAX_DEPTH
    wide = {f"W{n}": "Many words." for n in range(50)}
    assert html("\n\n".join(f"![[{name}]]" for name in wide), **wide).count('class="embed"') == MAX_EMBEDDED
    found = vault(Skara="![[N0]] is no whole paragraph.\n\n![[N1]]\n\n> ![[N2]]", **deep)
    assert embedded_in(found["Skara.md"]) == ["N0.md", "N1.md", "N2.md"]


def test_headings_have_anchors_and_an_outline_that_marks_what_is_secret() -> None:
    parts = [
        "# Skara",
        "Tall.",
        "## Deeds",
        "Many.",
        "### Early",
        "Few.",
        "## GM Notes",
        "A lich.",
        "## Other",
        "### Early",
        "No.",
    ]
    text = "\n\n".join(["---\nvisibility: players\n---", *parts])
    body = note_body(vault(Skara=text)["Skara.md"], entry_address)
    assert [(each.level, each.text, each.secret) for each in body.outline] == [
        (2, "Deeds", False),
        (3, "Early", False),
        (2, "GM Notes", True),
        (2, "Other", False),
        (3, "Early", False),
    ]
    anchors = [each.anchor for each in body.outline]
    assert len(set(anchors)) == len(anchors)
    assert all(f'id="{name}"' in body.html for name in anchors)
    assert '<div class="secret" dir="auto"><h2 id="s-gm-notes"' in body.html


def test_of_a_note_that_is_not_shared_what_players_see_is_marked() -> None:
    assert '<p class="mark">players see this</p>' in html("Kept.\n\n## Public Knowledge\nShe is tall.")


def test_facts_lead_to_the_notes_that_they_name() -> None:
    found = vault(Skara="**Home**: the [[Keep]] & more\n\nText.", Keep="A tower.")
    rows = fact_rows(found["Skara.md"], entry_address)
    assert rows == [("Home", 'the <a href="/entries/notes/saga/Keep.md">Keep</a> &amp; more')]


def test_the_lines_that_link_to_a_note_are_quoted() -> None:
    table = "| a | [[keep]] |\n|---|---|\n| b | c |"
    text = f"# Log\n- We met **[[Keep|the keeper]]** at night.\n- Nothing else.\n\n## GM Notes\n{table}"
    found = vault(Log=f"---\nvisibility: players\n---\n{text}", Keep="A tower.")
    lines = [(each.heading, each.text, each.secret) for each in linking_lines(found["Log.md"], "Keep.md")]
    assert lines == [("", "We met the keeper at night.", False), ("GM Notes", "| a | keep |", True)]


def test_a_library_of_an_earlier_version_shows_what_it_has() -> None:
    section = {"name": "Deeds", "desc": "She left **Keep**.\n\n> **Mind**\n> it"}
    stored = Entity(
        "notes", "A.md", "A", "note", "saga", "vault", {"path": "A.md", "sections": [section], "links": []}, {}
    )
    page = note_body(stored, entry_address).html
    assert "<p>She left <strong>Keep</strong>.</p>" in page
    assert "<blockquote>" in page


# --- hostile notes ---------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><animate onbegin=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1)) [y](JaVaScRiPt&colon;alert(1)) [z](<javascript:alert(1)>) <javascript:alert(1)>",
    "[x](data:text/html,<script>alert(1)</script>) [y](vbscript:x) [z](file:///etc/passwd) [w](//evil.example/x)",
    '[[javascript:alert(1)]] [[x|<img src=x onerror=alert(1)>]] [["><script>alert(1)</script>]]',
    '![[x" onload="alert(1)]] ![x](https://evil.example/pixel.png) ![[https://evil.example/pixel.png]]',
    "> [!<script>alert(1)</script>]- <b onclick=alert(1)>title</b>\n> text",
    '> [!note" onclick="alert(1)] title\n> text',
    '## "><script>alert(1)</script>\ntext',
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example><meta http-equiv=refresh content=0>",
    '<form action="/view"><button formaction="//evil.example">x</button></form><iframe srcdoc="<script>1</script>"></iframe>',
    "`<script>` **<script>alert(1)</script>** ==<script>==",
    "```js\n</code></pre><script>alert(1)</script>\n```",
    '#tag"><script>alert(1)</script> #<b>',
    "key:: <script>alert(1)</script>\n[k:: <img src=x onerror=alert(1)>]",
    "| <script> | [[a\\|<script>]] |\n|---|---|\n| <img onerror=x> | ` |",
    "a \u202e txt.exe \u2066 b \u200f c \U000e0041",
    "<!--> <script>alert(1)</script> --> %% <script> %%",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
]
"""Notes that would run something, load something, or look like something else."""


def check(page: str) -> None:
    """Fail unless a page has the declared elements, attributes and classes only, and leads to harmless addresses."""
    for tag, attributes in elements(page).tags:
        assert tag in TAGS | {"h2"}, tag
        allowed = ATTRIBUTES.get(tag, set()) | {"class", "dir", "id", "href"}
        assert attributes.keys() <= allowed, (tag, attributes)
        assert set((attributes.get("class") or "").split()) <= CLASSES.get(tag, set()) | {"quiet"}
        assert re.match(r"/(?!/)|#|https?://|mailto:|$", attributes.get("href") or ""), attributes
    assert not re.search("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", page)


@each_row("written", HOSTILE)
def test_a_hostile_note_is_text(written: str) -> None:
    for around in ("{}", "> {}", "- {}", "> [!note] x\n> {}", "Text {} text", "## {}\ntext {}"):
        check(html(f"Words.\n\n{around.replace('{}', written)}\n\nMore words."))


PIECES = [
    "[",
    "![[",
    "[[a|",
    "==",
    "> ",
    "> [!note] ",
    "- ",
    "`",
    "*",
    "#a ",
    "<",
    "|",
    "(",
    "[k:: ",
    "\\",
    "~~",
    "a::b ",
]


@pytest.mark.alike(4)
@pytest.mark.parametrize("piece", PIECES)
def test_a_note_of_a_line_without_end_takes_time_in_proportion(piece: str) -> None:
    def seconds(length: int) -> float:
        text = f"Words {(piece * length)[:length]} words.\n\n{(piece + chr(10)) * (length // (20 * (len(piece) + 1)))}"
        entity = vault(Skara=text)["Skara.md"]
        began = time.process_time()
        check(note_body(entity, entry_address).html)
        return time.process_time() - began

    assert min(seconds(18_000) for _ in range(2)) < 12 * max(seconds(4_500), 0.05)


@pytest.mark.alike(1)
@pytest.mark.parametrize("line", ["## h{0}\n[[a{0}]]\n", "k{0}:: [[a{0}]]\n", "## h\nx\n## i\ny\n"])
def test_a_note_of_many_links_headings_or_facts_takes_time_in_proportion(line: str) -> None:
    def seconds(number: int) -> float:
        entity = vault(Skara="".join(map(line.format, range(number))))["Skara.md"]
        began = time.process_time()
        body, facts = note_body(entity, entry_address), fact_rows(entity, entry_address)
        assert len(body.outline) + len(facts) >= number
        return time.process_time() - began

    assert seconds(2_000) < 10 * max(seconds(500), 0.05)


def test_a_note_of_a_megabyte_is_shown_as_far_as_a_page_goes() -> None:
    page = html(f"{'word ' * 180_000}\n\n## Later\nThe end.")
    check(page)
    assert len(page) < 400_000
    assert "left out" in page


# --- the picture -----------------------------------------------------------------------------------------------------


def nodes(number: int) -> list[Node]:
    kinds = ("npc", "location", "session", "odd <kind>")
    return [
        Node(f"Note {n} {'of a long name ' * (n % 3)}", kinds[n % 4], f"/entries/notes/v/{n}.md") for n in range(number)
    ]


def labels(svg: str) -> list[tuple[float, float, str, str]]:
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]*)', svg)
    return [(float(x), float(y), anchor, text) for x, y, anchor, text in found]


@each_row("number", [2, 3, 9, 40, 90])
def test_a_picture_has_links_to_its_notes_and_labels_that_do_not_overlap(number: int) -> None:
    edges = [(0, n) for n in range(1, min(number, 25))] + [(n % 12, n) for n in range(1, number)]
    svg = graph_svg(nodes(number), edges)
    assert svg == graph_svg(nodes(number), list(reversed(edges)))
    found = elements(svg)
    links = [attributes for tag, attributes in found.tags if tag == "a"]
    assert len(links) == min(number, MAX_NODES) - 1
    assert len({link["href"] for link in links}) == len(links)
    assert svg.count("<title>") == len(links) + 1
    width, height = (float(part) for part in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    shown = labels(svg)
    assert all(0 < x < width and 0 < y < height and len(unescape(text)) <= CHARS[2] for x, y, _, text in shown)
    names = {each.name.strip() for each in nodes(number)}
    labelled = {" ".join(re.findall(r"<text[^>]*>([^<]*)", link)) for link in re.findall(r"<a .*?</a>", svg)}
    assert len(labelled) == len(links)
    assert labelled <= names, "every label is a whole name"
    for i, (x, y, anchor, _) in enumerate(shown):
        beside = [other for other in shown[:i] if other[2] == anchor and abs(other[0] - x) < 150]
        assert all(abs(other[1] - y) >= LINE - 1 for other in beside)


def test_a_picture_of_nothing_is_none_and_names_stay_text() -> None:
    assert graph_svg(nodes(3), [(1, 2)]) == ""
    assert graph_svg(nodes(1), []) == ""
    svg = graph_svg([Node("<script>", "npc", "/a"), Node('"><b>\u202e', "<b>", '/x"y')], [(0, 1)])
    assert "<script" not in svg
    assert "<b>" not in svg
    assert "\u202e" not in svg
    assert 'href="/x&quot;y"' in svg


@each_row("number", [2, 40, 700])
def test_the_picture_of_a_vault_has_the_most_connected_notes_by_kind_and_no_names_that_overlap(number: int) -> None:
    edges = [(n, n // 2) for n in range(1, number)]
    svg = wheel_svg(nodes(number), edges)
    assert svg == wheel_svg(nodes(number), [(b, a) for a, b in reversed(edges)])
    links = [attributes for tag, attributes in elements(svg).tags if tag == "a"]
    assert len(links) == svg.count("<title>") == min(number, IN_WHEEL)
    kinds = [link["class"] for link in links]
    assert len(list(groupby(kinds))) == len(set(kinds))
    turns = [float(turn) for turn in re.findall(r"<a[^>]*rotate\(([-\d.]+) [^>]*>(?:(?!</a>).)*<text", svg)]
    assert all(abs(one - other) * RADIUS * math.pi / 180 >= LINE - 1 for one, other in pairwise(sorted(turns)))
    assert wheel_svg(nodes(number), []) == ""


def test_a_narrow_picture_has_what_is_directly_connected() -> None:
    svg = graph_svg(nodes(6), [(0, 1), (0, 2), (1, 3), (3, 4)], steps=1)
    assert svg.count("<a ") == 2
    assert graph_svg(nodes(6), [(0, 1), (0, 2), (1, 3), (3, 4)]).count("<a ") == 3
