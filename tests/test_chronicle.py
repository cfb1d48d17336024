"""What a vault shows of itself: sessions, plans, dates and kinds are read from how its notes are written."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Mapping
from pathlib import Path

from lorekeeper.audience import GAME_MASTER
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.order import parse_orders
from lorekeeper.server.tools import all_tools
from tests.support.gateway import gateway
from tests.support.vaults import notes_of, vault_library, write

EVENINGS = {
    f"Abende/Abend {number}.md": f"# Rückblick\n\n**Gespielt:** {day}\n\nDie Gruppe kam in das Dorf {number}.\n"
    for number, day in enumerate(("3/5/2024", "17/5/2024", "31/5/2024"), 1)
}
FIGHTS = {
    f"Runs/{day} Job.md": f"---\ndate: {world}\nyear: 2065\n---\nThe crew broke into the vault of block {day}.\n"
    for day, world in (("2026-01-13", "2065-03-04"), ("2026-02-10", "2065-03-09"), ("2026-03-10", "2065-04-01"))
}


async def read(library: Library, root: Path, notes: Mapping[str, str]) -> dict[str, Entity]:
    write(root, notes)
    if not await library.vaults.status():
        await library.vaults.add(root)
    await library.vaults.sync()
    return await notes_of(library)


async def kinds(folder: Path, notes: dict[str, str]) -> list[str]:
    """The kinds of the notes of a vault, in their order."""
    async with vault_library(folder) as library:
        found = await read(library, folder / "vault", notes)
    return [str(found[path].kind) for path in notes]


def said(note: Entity) -> tuple[object, ...]:
    return note.name, note.kind, note.fields.get("session"), note.fields.get("session_date")


async def test_what_counts_up_and_what_repeats_says_which_session_a_note_tells_of(tmp_path):
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", {**EVENINGS, **FIGHTS})
    evenings = [said(found[path]) for path in EVENINGS]
    days = [timegm((2024, 5, day, 0, 0, 0)) for day in (3, 17, 31)]
    assert evenings == [(f"Abend {n}", "session", n, day) for n, day in enumerate(days, 1)]
    runs = [said(found[path])[1:] for path in FIGHTS]
    assert runs == [
        ("session", None, timegm((2026, month, day, 0, 0, 0))) for month, day in ((1, 13), (2, 10), (3, 10))
    ]
    assert [found[path].fields["world_date"] for path in FIGHTS] == [20650304, 20650309, 20650401]


async def test_notes_are_read_again_when_others_show_what_they_are(tmp_path):
    first, *others = EVENINGS
    async with vault_library(tmp_path) as library:
        before = await read(library, tmp_path / "vault", {first: EVENINGS[first]})
        after = await read(library, tmp_path / "vault", {path: EVENINGS[path] for path in others})
    assert before[first].name == "Rückblick"
    assert [after[path].name for path in EVENINGS] == ["Abend 1", "Abend 2", "Abend 3"]


async def test_a_plan_is_told_by_a_property_a_folder_or_a_name_in_any_language(tmp_path):
    plans = {
        "Sessions/Session 4 Plans.md": "The party will meet the duke at the gate.",
        "Sessions/spunti/Session 5.md": "The duke will betray them in the hall.",
        "Sessions/Session 6.md": "**Tipo:** pianificazione sessione\n\nThe duke flees over the river at night.",
        "Sessions/Session 7.md": "---\nstatus: planned\n---\nThe duke returns with an army from the north.",
    }
    played = {"Sessions/Session 3.md": "The party met the duke at the bridge and let him go."}
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", {**plans, **played})
    assert {path: note.kind for path, note in found.items()} == {
        **dict.fromkeys(plans, "prep"),
        **dict.fromkeys(played, "session"),
    }


async def test_players_characters_and_what_has_hit_points_are_found_by_their_properties_in_any_language(tmp_path):
    notes = {
        "personaggi/Tove.md": "**Giocatore:** Cipri\n**Classe:** Mago\n**Livello:** 4\n\nNata nel bosco del nord.",
        "personaggi/Orm.md": "Un uomo del fiume.\n\n## Scheda di gioco\n\n**CA/PF/Velocità:** 12 / 27 / 30 ft.\n",
        "Folk/Ulv.md": "Bor i skogen.\n\n## DM Notes\n\n| RK | 15 |\n|---|---|\n| TP | 40 |\n",
        "Folk/Gate.md": "The gate of the town has a keeper. AC: 15 is all that we know.",
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
        creatures = await library.cache.get_entities("creatures", "vault")
    assert [found[path].kind for path in notes][:2] == ["character", "npc"]
    assert {(each.name, each.fields["armor_class"], each.fields["hit_points"]) for each in creatures} == {
        ("Orm", 12, 27),
        ("Ulv", 15, 40),
    }


async def test_a_note_that_nothing_else_places_is_what_its_name_its_folder_s_names_or_its_first_words_say(tmp_path):
    told = {
        "Orden/Caballero Gris.md": ("Murió en el incendio del molino viejo.", "npc"),
        "Orden/Caballero del Vado.md": ("Su nombre está en el arco de piedra.", "npc"),
        "Orden/Caballero Sin Luna.md": ("Nadie lo vio después de la fiesta.", "npc"),
        "Orden/Ser Odo.md": ("Su escudo cuelga en la sala grande.", "npc"),
        "Heron Clan.md": ("They hold the fords of the north.", "faction"),
        "Wyll.md": ("Professora de ervas na escola do porto.", "npc"),
        "Bree.md": ("Long grey hair and a bad knee, and she sells rope.", "npc"),
        "Old rumours.md": ("What the ferrymen tell each other at night.", "note"),
        "The Party/Holdings/Towns & Buildings/Mill.md": ("Two floors and a wheel of oak.", "location"),
        "sagas/a.md": ("---\nlayout: saga\n---\nThe ford was lost and won again.", "saga"),
        "sagas/b.md": ("---\nlayout: saga\n---\nThe bell was rung three times.", "saga"),
        "sagas/c.md": ("---\nlayout: saga\n---\nThe duke was buried at sea.", "saga"),
        "Records/1.md": ("---\ntype: gdr\ntags: [location]\n---\nHow places are written down.", "gdr"),
        "Records/2.md": ("---\ntype: gdr\ntags: [npc]\n---\nHow people are written down.", "gdr"),
        "Records/3.md": ("---\ntype: gdr\n---\nHow rooms are written down here.", "gdr"),
    }
    found = await kinds(tmp_path, {path: text for path, (text, _) in told.items()})
    assert dict(zip(told, found, strict=True)) == {path: kind for path, (_, kind) in told.items()}


async def test_a_session_with_a_past_date_is_played_also_where_only_plans_are_filled_in(tmp_path):
    texts = [f"## Date: {day}\n\n## Plans for next time\n\n- Climb the tower.\n" for day in ("28-06-23", "3-7-2099")]
    assert await kinds(tmp_path, {f"Sessions/Session {n}.md": text for n, text in enumerate(texts)}) == [
        "session",
        "prep",
    ]


async def test_one_line_of_the_vault_s_own_settings_overrides_what_was_understood(tmp_path):
    notes = {
        **EVENINGS,
        "Abende/Skizze.md": "Ein Blatt mit einer Karte des Dorfes.",
        "Lose/Blatt.md": "Drei alte Worte hier.",
    }
    async with vault_library(tmp_path) as library:
        before = await read(library, tmp_path / "vault", notes)
        settings = '[kinds]\n"Lose" = "handout"\n"Abende/Abend 2.md" = "plan"\n'
        after = await read(library, tmp_path / "vault", {".lorekeeper.toml": settings})
        write(tmp_path / "vault", {".lorekeeper.toml": "kind = 3\n"})
        report = await library.vaults.sync()
    assert (before["Lose/Blatt.md"].kind, after["Lose/Blatt.md"].kind) == ("note", "handout")
    assert [after[path].kind for path in EVENINGS] == ["session", "prep", "session"]
    assert [str(each) for each in report.failed] == [
        "vault/.lorekeeper.toml: 'kind' is not one of kinds, date, day_first, title"
    ]


async def test_a_sync_says_in_ten_lines_what_was_understood_and_what_is_doubtful(tmp_path):
    notes = {
        **EVENINGS,
        "Abende/Abend 3 (Kopie der Runde).md": "**Gespielt:** 31/5/2024\n\nNoch einmal die Gruppe im Wald.",
        "NPCs/Mira.md": "The smith of the town.",
        "Sessions/Session 9 plan.md": "What the party will meet.",
        **{f"Zettel/{n}.md": f"Loses Blatt mit drei Worten {n}." for n in "abcd"},
    }
    async with vault_library(tmp_path) as library:
        await read(library, tmp_path / "vault", notes)
        report = await library.vaults.sync()
    assert report.understood == [
        "4 sessions (1 to 3, 2024-05)",
        "4 notes of no kind, 1 person, 1 plan",
        "Abende/Abend 3.md: session 3, as is Abende/Abend 3 (Kopie der Runde).md",
        'Zettel/: 4 notes of no kind; [kinds] "Zettel" = "item" in .lorekeeper.toml names it',
    ]


FORM = "## Riassunto\n\n## Decisioni\n\nIl gruppo ha deciso di:\n-\n-\n\n## Ricompense\n\n- XP:\n- Oro:\n"
LOG = """**Date:** {day}

## Recap of last session

Before this the party had buried the old miller under the burnt oak beside the mill race.

## At stake

What the duke wants is the bell, and whoever holds the bell by the new moon holds the ford too.

## What happened

{told}

## Plans for next time

They will climb into the bell tower before the guards of the duke come back from the market.
"""
TOLD = "The party rang the drowned bell and the ford sank under the water. Mira the smith lost her left hand."


async def ask(library: Library, question: str) -> str:
    tool = next(each for each in all_tools() if each.name == "lookup_note")
    return (await tool.run(library, tool.check({"semantic_query": question}))).text


async def test_the_last_session_is_the_highest_number_that_tells_something_and_shows_what_happened(tmp_path):
    notes = {
        "Sessions/Session 7.md": LOG.format(
            day="2025-03-09", told="They crossed the salt marsh and sold the mule to a monk."
        ),
        "Sessions/Session 7.5.md": "**Date:** 2025-03-16\n\nA night at the mill, where the party won a lame goose at dice.",
        "Sessions/Session 8.md": LOG.format(day="2025-02-23", told=TOLD),  # its date was copied from an older note
        "Sessions/Session 9.md": f"---\ndata: 2025-03-30\n---\n{FORM}",
        "Sessions/Session 10 plans.md": "The duke will burn the ford and hang the smith from the bell tower.",
    }
    async with vault_library(tmp_path) as library:
        await read(library, tmp_path / "vault", notes)
        asked = ["what happened last session", "what did we do last time", "recap of the last session please"]
        asked += ["was geschah in der letzten Sitzung?", "cosa è successo nell'ultima sessione?"]
        asked += ["¿qué pasó en la sesión pasada?", "что было на последней сессии?"]
        answers = [
            await ask(library, question)
            for question in (*asked, "what happened in session 7", "what happened in session 7.5")
        ]
        async with gateway(library, GAME_MASTER) as client:
            desk = (await client.get("/")).text
    for answer in answers[:-2]:
        first = answer.partition("Session 7")[0]
        assert "Session 8" in first
        assert "rang the drowned bell" in first
        assert not any(word in first for word in ("holds the ford", "buried the old miller", "They will climb"))
    assert "sold the mule to a monk" in answers[-2]
    assert "Session 7.5, vault (session 7.5, 2025-03-16" in answers[-1].partition("a lame goose")[0]
    assert "rang the drowned bell" in desk


async def test_who_somebody_is_begins_their_note_in_any_language_and_a_long_session_tells_as_much_as_fits(tmp_path):
    clauses = "".join(f"- We crossed ford number {number} below the drowned mill at dusk.\n" for number in range(40))
    life = "\n\n".join(f"## Years {n}\n\nRalen Thorn walked the salt road and slept in barns." for n in range(30))
    notes = {
        "People/Ralen Thorn.md": f"**Role:** reeve of the eel market\n\nA thin man in a patched coat.\n\n{life}\n",
        "Arcs/The weight of Ralen Thorn.md": "# Ralen Thorn: Ralen Thorn and the weight\n\nRalen Thorn, Ralen Thorn, who is he?\n",
        "Sessions/Session 4.5.md": f"---\ndate: 2026-02-09\n---\n\n## Session notes\n\n{clauses}",
        "Sessions/Session 4.md": "---\ndate: 2026-02-02\n---\n\nWe slept in the barn.\n",
    }
    async with vault_library(tmp_path) as library:
        await read(library, tmp_path / "vault", notes)
        asked = [
            "Who is Ralen Thorn?",
            "Chi è Ralen Thorn?",
            "Qui est Ralen Thorn ?",
            "¿Quién es Ralen Thorn?",
            "Wer ist Ralen Thorn?",
        ]
        for question in asked:
            first = (await ask(library, question)).partition("\n- ")[2]
            assert first.startswith("Ralen Thorn, "), question
            assert "reeve of the eel market" in first.partition("Less sure")[0], question
        told = await ask(library, "what happened last session")
    assert "Session 4.5" in told.partition("We slept")[0]
    assert told.count("ford number") > 8


async def test_names_that_are_dates_order_sessions_and_a_number_without_a_date_goes_between_those_that_have_one(
    tmp_path,
):
    notes = {
        "Abende/250608.md": "Wir fuhren nach Norden und sahen den Turm.\n",
        "Abende/251214.md": "Wir kauften die alte Schenke.\n",
        "Abende/260111.md": "Date: 2025-12-14\n\nWir bauten den Keller aus.\n",  # copied from the note before
        "Sesiones/Sesion-5.md": "Bajamos al pozo y oímos la campana.\n",
        "Sesiones/Sesion-6.md": "---\nfecha: 2026-02-09\n---\n\nLas arañas nos rodearon en el túnel.\n",
        "Sesiones/Sesion-7.md": "Salimos del túnel con un prisionero.\n",
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
        order = (parse_orders(["notes"], "newest") or {})["notes"]
        newest = await library.cache.get_entities("notes", kind="session", order=order)
        last = await ask(library, "¿qué pasó en la última sesión?")
    days = [timegm((*day, 0, 0, 0)) for day in ((2025, 6, 8), (2025, 12, 14), (2026, 1, 11))]
    assert [found[path].fields["session_date"] for path in list(notes)[:3]] == days
    assert [note.name for note in newest] == ["Sesion-7", "Sesion-6", "Sesion-5", "260111", "251214", "250608"]
    assert "prisionero" in last


async def test_a_first_heading_that_other_notes_have_or_whose_folder_goes_by_file_names_is_no_title(tmp_path):
    notes = {
        "Helden/Ser Ludo.md": "# Biografie\n\nHe rows.\n\n# Taten\n\nHe won.\n",
        "Helden/Anna Tann.md": "# Taten\n\nShe won.\n\n# Ende\n\nShe left.\n",
        "Helden/Bo.md": "# Taten\n\nHe lost.\n\n# Ende\n\nHe died.\n",
        "Orte/n-01.md": "# The Mill\n\nIt turns.\n",
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
    assert [found[path].name for path in notes] == ["Ser Ludo", "Anna Tann", "Bo", "The Mill"]


async def test_what_only_the_date_in_a_heading_and_the_name_of_a_file_say_is_read(tmp_path):
    notes = {
        f"adventures/s0{number}{part}_{name}.md": f"## {name.title()}\n#### Date: {day}\n\nThe party came to the house.\n"
        for number, part, name, day in (
            (1, "a", "mill", "2/26/2025"),
            (1, "b", "race", "3/5/2025"),
            (2, "", "oak", "3/12/2025"),
        )
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
    days = [timegm((2025, month, day, 0, 0, 0)) for month, day in ((2, 26), (3, 5), (3, 12))]
    assert [said(found[path])[1:] for path in notes] == [
        ("session", n, day) for n, day in zip((1, 1, 2), days, strict=True)
    ]


async def test_beside_npcs_another_word_for_people_means_players_characters(tmp_path):
    notes = {"10-Personajes/Ludo.md": "Un caballero del norte.", "50-PNJs/Brank.md": "El escudero de Ludo."}
    async with vault_library(tmp_path) as library:
        alone = await read(library, tmp_path / "vault", {"Personaggi/Aldo.md": "Un oste del porto."})
        found = await read(library, tmp_path / "vault", notes)
    assert [found[path].kind for path in notes] == ["character", "npc"]
    assert alone["Personaggi/Aldo.md"].kind == "npc"


async def test_places_within_a_folder_of_people_tell_only_where_they_are(tmp_path):
    notes = {
        "site/Home.md": "Welcome to all who come.",
        "site/Quests/Silver Forest/The Old Well.md": "The party may look into the well.",
        "site/NPCs/Mill plot/Ada.md": "A miller who lost her mill.",
        "site/NPCs/Villains/figure from session 2.md": "A figure with a hood.",
        "site/MagicalArtifacts/Coal.md": "A piece of coal that glows.",
        "site/ITDD Session Notes/Session 1.md": "The party set out at dawn.",
    }
    assert await kinds(tmp_path, notes) == ["note", "quest", "npc", "npc", "item", "session"]


async def test_what_only_the_people_of_a_vault_have_above_their_text_makes_another_note_a_person(tmp_path):
    people = {f"NPCs/{name}.md": f"STATUS: ALIVE\n\n{name} lives in the mill." for name in ("Ada", "Bo", "Cy")}
    others = {"mine/Greep.md": "STATUS: DEAD SOON\n\nAn isopod in the mine.", "mine/Lamp.md": "A lamp of the mine."}
    assert await kinds(tmp_path, {**people, **others}) == ["npc", "npc", "npc", "npc", "note"]


async def test_beside_a_folder_of_the_party_the_other_characters_are_people(tmp_path):
    notes = {
        "Characters/Ada.md": "A miller of the town.",
        "Characters/Villains/Ulf.md": "A robber of the road.",
        "Characters/AdventuringParty/Bo.md": "A bard from the coast.",
    }
    assert await kinds(tmp_path, notes) == ["npc", "npc", "character"]


async def test_a_date_above_the_text_is_the_session_s_with_a_key_or_alone(tmp_path):
    lines = ("Data: 17/06/2025", "[[2025-06-24]]", "Monday, 30 June 2025", "Date: 07/07-2025", "giorno 21, la sera")
    notes = {
        f"Sessioni/Sessione {number}.md": f"{line}\n\n#### NPC\n\nReikala\n\n#### Riassunto\n\nI pescatori tornano.\n"
        for number, line in enumerate(lines, 1)
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
    days = [timegm((2025, month, day, 0, 0, 0)) for month, day in ((6, 17), (6, 24), (6, 30), (7, 7))]
    assert [said(found[path])[2:] for path in notes] == [*enumerate(days, 1), (5, None)]


async def test_a_session_all_of_whose_headings_say_that_they_plan_is_a_plan(tmp_path):
    notes = {
        "Sessions/Session 1.md": "# Session Prep\n\n## Recap\n\nThe party hid in the tomb.\n\n## Prep\n\nThe duke waits.",
        "Sessions/Session 2.md": "Before: [[Session 1]]\n\n# Session Prep\n\n## Recap\n\n## Prep\n\nThe duke waits.",
        "Sessions/Session 3.md": "The party met the duke.\nHe fled.\n\n## Plan\n\nFollow him.",
    }
    assert await kinds(tmp_path, notes) == ["session", "prep", "session"]


async def test_names_of_people_lead_to_their_notes_without_brackets_and_those_of_several_lead_nowhere(tmp_path):
    notes = {
        "NPCs/Mira Voss.md": "---\naliases: [the Grey Smith, Old Tom]\n---\nA smith of the upper town.",
        "NPCs/Tom Reed.md": "---\naliases: [Old Tom]\n---\nA ferryman at the lower ford.",
        "NPCs/Hope.md": "A nun of the hill.",
        "Sessions/Session 1.md": "They met Mira Voss and Old Tom. Mira Voss swore `Tom Reed` was dead. Hope is lost. See [[Hope]].",
    }
    async with vault_library(tmp_path) as library:
        await read(library, tmp_path / "vault", notes)
        async with gateway(library, GAME_MASTER) as client:
            page = (await client.get("/entries/notes/vault/Sessions%2FSession%201.md")).text
    text = page[page.index("They met") :].partition("was dead")[0]
    assert text.count("<a ") == 1
    assert text.index("<a ") < text.index("Mira Voss</a>") < text.index("Old Tom. Mira Voss swore")


async def test_days_of_a_world_that_rise_with_numbers_make_sessions_and_plans_and_tasks_say_what_comes_next(tmp_path):
    days = {
        f"Zápisky/00{n} Večer.md": f"## {day}. Oťávra 735\n\n- Došli jsme k brodu {n}."
        for n, day in enumerate((2, 2, 3), 1)
    }
    notes = {
        **days,
        "Příprava/Session 4 plan.md": "Vévoda spálí brod.",
        "Úkoly/Mlýn.md": "Mlýn hoří.\n"
        + "Mlynář mlčí o mlýně.\n" * 60
        + "- [x] Najít mlynáře\n- [ ] Koupit mlýnský kámen\n",
        "Kniha/Ada.md": "# Vzhled\n\nJizva na čele.\n\n# Povaha\n\nTichá a pomalá.",
        "Kniha/Brod.md": "---\ntags: Location\n---\n",
    }
    async with vault_library(tmp_path) as library:
        found = await read(library, tmp_path / "vault", notes)
        coming = await ask(library, "what is planned for the next session?")
        left = await ask(library, "co ještě zbývá pro mlýn?")
    told = [said(found[path])[:3] for path in notes]
    evenings = [(f"00{n} Večer", "session", n) for n in (1, 2, 3)]
    others = [("Session 4 plan", "prep", 4), ("Mlýn", "quest", None), ("Ada", "note", None), ("Brod", "location", None)]
    assert told == [*evenings, *others]
    assert coming.index("Vévoda spálí brod") < coming.index("003 Večer")
    assert "[ ] Koupit mlýnský kámen" in left
