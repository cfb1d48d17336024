"""Characters: what each source says of them, what follows by the rules, who may see them, and what their sheets name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.errors import CacheError, FilterError, LoreKeeperError
from lorekeeper.filters import clean_fields
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.normalize.characters import completed, slots
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.note_characters import characters_of
from lorekeeper.notes import read_note
from lorekeeper.party import PartyFile
from lorekeeper.render import markdown
from lorekeeper.render.character import Reference, Rules
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.shares import SharesFile
from lorekeeper.views.redact import is_visible, redact
from tests.support import golden
from tests.support.entities import make
from tests.support.libraries import settings
from tests.support.tables import each_row, rows
from tests.support.tools import call
from tests.support.vaults import open_to


def first_of(case: str) -> Any:
    """What the first file of a golden file has."""
    return next(iter(golden.imports_of(golden.FOLDER / case)[0].values()))


ACTOR: dict[str, Any] = first_of("foundry/characters.yaml")
"""A rogue of level 5 and wizard of level 2, Brannoch, as Foundry VTT exports one."""

CLERIC: dict[str, Any] = next(each for each in first_of("json/characters.yaml") if "spells" not in each)
"""What D&D Beyond has of a cleric of level 4, Mira."""

SHEET: str = first_of("notes/characters.yaml")
"""The note of Brannoch, who is Ana's."""

# --- the rules --------------------------------------------------------------------------------------------------------


@each_row(
    ("casters", "rules", "expected"),
    rows("spell_slots"),
)
def test_spell_slots_are_those_of_the_tables(
    casters: list[tuple[str, int]], rules: str, expected: dict[str, int]
) -> None:
    assert slots(casters, rules) == expected


def test_expertise_alone_tells_of_its_skills_only() -> None:
    made = completed({"class_levels": [{"name": "Rogue", "level": 7}], "ability_scores": {"dexterity": 18, "wisdom": 13},
                      "expertise": ["stealth"]})  # fmt: skip
    assert made["skill_bonuses"] == {"stealth": 10}
    assert "passive_perception" not in made


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("vault", "names"),
    [
        ("age-of-umbra", []),  # of another game
        ("the-rot-beneath", ["Corwin Voss", "Gideon Harrowmoor", "Seraphine Duskhollow", "Tilda Brannock"]),
    ],
)
def test_the_characters_of_vaults_of_the_corpus(corpus: Path, vault: str, names: list[str]) -> None:
    folder = corpus / "vaults" / vault
    if not folder.exists():
        pytest.skip(f"the corpus has no {folder}")
    notes = [(str(file.relative_to(folder)), file.read_text("utf-8")) for file in sorted(folder.rglob("*.md"))]
    made = {
        each.name: each for path, text in notes for each in characters_of(read_note(path, text), "vale", "The Vale")[0]
    }
    assert list(made) == names
    if names:
        skills = made["Corwin Voss"].data["skill_bonuses"]
        assert (skills["insight"], skills["investigation"]) == (6, 4)
        assert made["Tilda Brannock"].data["languages"] == ["Common", "Dwarvish"]


@pytest.mark.corpus
def test_a_sorcerer_of_the_corpus_casts_what_is_known(corpus: Path) -> None:
    path = corpus / "cases" / "new" / "ddb-known-caster.json"
    if not path.exists():
        pytest.skip(f"the corpus has no {path}")
    ((made, _),) = Reader([path], None, ImportReport()).read()
    assert made.data["prepared"] == ["Fire Bolt", "Fireball", "Shield", "Misty Step", "Fog Cloud"]
    assert "not prepared" not in markdown(made)


# --- in a library -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a vault with one character."""
    vault = tmp_path_factory.mktemp("characters") / "vale"
    (vault / "Party").mkdir(parents=True)
    (vault / "Party" / "Brannoch.md").write_text(SHEET)
    return vault


@pytest.fixture(scope="module")
async def library(vale: Path) -> AsyncIterator[Library]:
    folder = vale.parent
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    registry = Registry(folder / "library.vaults", [vale], folder / "library")
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"), embedding)
    views, shares, party = (folder / f"library.{name}" for name in ("views", "shares", "party"))
    async with Library(
        cache, embedding, offline=True, vaults=registry, views=views, shares=SharesFile(shares), party=PartyFile(party)
    ) as opened:
        await opened.cache.store_entities(RULES, "spells")
        await opened.cache.store_entities([ROGUE], "character_options")
        await opened.cache.store_entities(normalize(CLERIC), "characters")
        await opened.vaults.sync()
        yield opened


RULES = [
    make("shield", "A wall of force.", name="Shield", level=1, document="srd-2014"),
    make("shield", "A wall of force.", name="Shield", level=1, document="srd-2024"),
    make("magic-missile", "Darts.", name="Magic Missile", level=1, document="srd-2014"),
    make("fog", "Fog.", name="Sleep", level=1, document="homebrew"),
]
GROWING = {
    "name": "Sneak Attack",
    "data_for_class_table": [{"level": 5, "column_value": "3d6"}, {"level": 6, "column_value": "3d6"}],
}
ROGUE = make(
    "rogue", type="character_options", kind="class", name="Rogue", document="srd-2014",
    data={"name": "Rogue", "features": [GROWING, {"name": "Cunning Action", "desc": "A bonus action."}]},
)  # fmt: skip


async def ask(library: Library, tool: str, viewer: Viewer | None = None, **arguments: Any) -> Any:
    return await call(library.view(viewer or GAME_MASTER), tool, **arguments)


pytestmark_module = pytest.mark.asyncio(loop_scope="module")


@pytestmark_module
async def test_the_highest_passive_perception_comes_first(library: Library) -> None:
    answer = await ask(library, "lookup_character", order="passive_perception desc")
    assert [result["name"] for result in answer.structured["results"]] == ["Brannoch", "Mira"]
    assert "without a known" not in answer.text


@pytestmark_module
async def test_who_has_no_value_to_be_sorted_by_is_named(library: Library) -> None:
    answer = await ask(library, "lookup_character", order="gold desc")
    assert [result["name"] for result in answer.structured["results"]] == ["Mira", "Brannoch"]
    assert "Last, by name, without a known gold: Brannoch." in answer.text


@pytestmark_module
async def test_nobody_is_near_in_meaning_to_the_name_of_somebody_else(library: Library) -> None:
    answer = await ask(library, "lookup_character", name="Augusta Pennywhistle")
    assert answer.structured["results"] == []
    assert "No character has 'Augusta Pennywhistle' in its name." in answer.text


@pytestmark_module
async def test_a_snippet_has_commas_between_names(library: Library) -> None:
    answer = await ask(library, "search_lore", query="mage hand magic missile daggers", types=["characters"])
    assert "Shield, Magic Missile, Light, Mage Hand" in answer.structured["results"][0]["snippet"]


@pytestmark_module
async def test_of_the_notes_of_one_person_the_sheet_counts(library: Library, vale: Path) -> None:
    sheet, diary, plan = (vale / name / "Ilya.md" for name in ("Party", "Diary", "Plans"))

    async def shown() -> list[tuple[str, object]]:
        await library.vaults.sync()
        answer = await ask(library, "lookup_character", class_key="cleric", player="ilya")
        found = await library.cache.get_entities("characters", ["vale"])
        assert len(answer.structured["results"]) == len([each for each in found if each.name.startswith("Ilya")])
        return [(each.name, each.fields["level"]) for each in found if each.name.startswith("Ilya")]

    for file, level in ((diary, 4), (plan, 5)):
        file.parent.mkdir()
        file.write_text(f"---\ntype: pc\nplayer: Ilya\nclass: Cleric {level}\n---\n# Ilya\nShe hopes for more.\n")
    assert await shown() == [("Ilya", 4)]
    sheet.write_text(
        "---\ntype: pc\nplayer: Ilya\nclass: Cleric 3\n---\n# Ilya (Dwarf Cleric)\nSTR 7, DEX 14, CON 11, INT 10, WIS 14, CHA 13\n"
    )
    assert await shown() == [("Ilya (Dwarf Cleric)", 3)]
    sheet.unlink()
    assert await shown() == [("Ilya", 4)]
    diary.unlink()
    assert await shown() == [("Ilya", 5)]
    plan.unlink()
    assert await shown() == []


@pytestmark_module
@each_row(
    ("asked", "names"),
    [
        ({"where": "languages:elvish"}, ["Brannoch"]),
        ({"where": "darkvision>0"}, ["Brannoch", "Mira"]),
        ({"where": "conditions:poisoned"}, ["Mira"]),
        ({"where": 'items:"cloak of elvenkind"'}, ["Brannoch"]),
        ({"order": "passive_perception desc"}, ["Brannoch", "Mira"]),
        ({"order": "save_wisdom asc"}, ["Mira"]),
    ],
)
async def test_what_a_table_asks_of_its_characters_is_a_filter_or_an_order(
    library: Library, asked: dict[str, Any], names: list[str]
) -> None:
    results = (await ask(library, "lookup_character", **asked)).structured["results"]
    assert [result["name"] for result in results][: len(names)] == names


@pytestmark_module
async def test_a_question_tells_a_player_of_no_character_of_others(library: Library) -> None:
    for question in ("is anybody poisoned", "what can Mira cast with what is prepared"):
        answer = await ask(library, "search_lore", Viewer.player("ana"), query=question)
        assert "mira" not in json.dumps(answer.structured).casefold().replace(question.casefold(), "")


@pytestmark_module
async def test_a_sheet_names_the_entries_of_the_rules(library: Library) -> None:
    (found,) = (await ask(library, "lookup_character", name="Brannoch")).structured["results"]
    answer = await ask(library, "get_entity", uri=found["uri"])
    assert "1st level** (3 slots) Shield, Magic Missile; not prepared: Sleep" in answer.text
    assert "At These Levels** Sneak Attack 3d6" in answer.text
    assert "lore://character_options/srd-2014/rogue" in answer.text
    assert "lore://spells/homebrew/fog" in answer.text
    assert "Not in the library: wizard, Light, Mage Hand, Half-Elf" in answer.text
    assert len(answer.text) <= 3_600


@pytestmark_module
@pytest.mark.parametrize(
    ("viewer", "names"),
    [
        (Viewer.player(), set[str]()),
        (Viewer.player("ana"), {"Brannoch"}),
        (Viewer.player("bo", ["Mira"]), {"Mira"}),
        (Viewer.player("bo", ["Tovin"]), set[str]()),
    ],
)
async def test_a_character_is_the_game_masters_and_its_players(
    library: Library, viewer: Viewer, names: set[str]
) -> None:
    answer = await ask(library, "lookup_character", viewer)
    assert {result["name"] for result in answer.structured["results"]} == names
    assert answer.structured["total"] == len(names)
    for result in answer.structured["results"]:
        sheet = await ask(library, "get_entity", viewer, uri=result["uri"])
        assert "lore://notes" not in json.dumps(sheet.structured) + sheet.text
        assert "Party" not in json.dumps(sheet.structured) + sheet.text


@pytestmark_module
async def test_a_player_is_told_of_no_character_of_others(library: Library) -> None:
    hidden = "lore://characters/characters/mira"
    with pytest.raises(LoreKeeperError, match="there is no"):
        await ask(library, "get_entity", Viewer.player("ana"), uri=hidden)
    assert (await ask(library, "search_lore", Viewer.player("ana"), query="Mira", types=["characters"])).structured[
        "total"
    ] <= 1


@pytestmark_module
async def test_an_encounter_is_planned_for_the_characters_of_the_library(library: Library) -> None:
    await library.cache.store_entities(
        [make("wolf", "Bites.", type="creatures", name="Wolf", challenge_rating=1)], "creatures"
    )
    answer = await ask(library, "plan_encounter", party="the table", monsters=["2 wolf"], rules="2014")
    assert answer.structured["party"] == [7, 4]
    (first, second) = answer.structured["characters"]
    assert (first["name"], second["name"], second["saves"]["wisdom"], first["passives"]["perception"]) == (
        "Brannoch",
        "Mira",
        5,
        14,
    )
    assert "Mira (cleric 4 (life domain)): AC 19; HP 35; saves Str +2" in answer.text
    hers = await ask(
        library, "plan_encounter", Viewer.player("ana"), party="our party", monsters=["2 wolf"], rules="2014"
    )
    assert hers.structured["party"] == [7]
    with pytest.raises(FilterError, match="no characters"):
        await ask(library, "plan_encounter", Viewer.player(), party="the table", monsters=["2 wolf"])


async def test_the_characters_of_two_campaigns_are_no_party(vale: Path, tmp_path: Path) -> None:
    north = tmp_path / "north"
    north.mkdir()
    (north / "Osk.md").write_text(SHEET.replace("Brannoch", "Osk").replace("level: 7", "level: 2"))
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(tmp_path / "vectors.db"))
    registry = Registry(tmp_path / "library.vaults", [vale, north], tmp_path / "library")
    cache = open_cache(settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "cache.db"), embedding)
    async with Library(cache, embedding, offline=True, vaults=registry) as library:
        wolf = make("wolf", "Bites.", type="creatures", name="Wolf", challenge_rating=1)
        await library.cache.store_entities([wolf], "creatures")
        await library.vaults.sync()
        asked: dict[str, Any] = {"monsters": ["2 wolf"], "rules": "2014"}
        with pytest.raises(FilterError, match=r"characters of 2 campaigns: north \(1\), vale \(1\)"):
            await ask(library, "plan_encounter", **asked)
        for campaign, name in (("North", "Osk"), ("vale", "Brannoch")):
            answer = await ask(library, "plan_encounter", party=campaign, **asked)
            assert [each["name"] for each in answer.structured["characters"]] == [name]
        with pytest.raises(FilterError, match="4x"):
            await ask(library, "plan_encounter", party="south", **asked)


@pytestmark_module
async def test_an_encounter_without_a_party_is_for_the_remembered_one_else_for_the_characters(library: Library) -> None:
    await library.cache.store_entities(
        [make("wolf", "Bites.", type="creatures", name="Wolf", challenge_rating=1)], "creatures"
    )
    asked: dict[str, Any] = {"monsters": ["2 wolf"], "rules": "2014"}
    answer = await ask(library, "plan_encounter", **asked)
    assert answer.structured["party"] == [7, 4]
    assert "all 2 characters of the library, from 2 sources" in answer.structured["note"]
    library.party.remember([5, 5, 3])
    answer = await ask(library, "plan_encounter", **asked)
    assert answer.structured["party"] == [5, 5, 3]
    assert "characters" not in answer.structured
    assert (await ask(library, "plan_encounter", party="4x1", **asked)).structured["party"] == [1, 1, 1, 1]
    assert (await ask(library, "plan_encounter", party="the table of vale", **asked)).structured["party"] == [7]
    assert (await ask(library, "plan_encounter", party="the table", **asked)).structured["party"] == [7, 4]
    for damaged in ("5 five", "5 21", "0", "1" * 2000):
        assert library.party.path is not None
        library.party.path.write_text(damaged)
        with pytest.raises(CacheError, match="lorekeeper party 4x3"):
            await ask(library, "plan_encounter", **asked)
    library.party.remember([])
    assert (await ask(library, "plan_encounter", **asked)).structured["party"] == [7, 4]
    with pytest.raises(FilterError, match="lorekeeper party"):
        await ask(library, "plan_encounter", Viewer.player(), **asked)


@pytestmark_module
async def test_two_characters_are_compared(library: Library) -> None:
    uris = [r["uri"] for r in (await ask(library, "lookup_character")).structured["results"]]
    answer = await ask(library, "compare_entries", uris=uris)
    assert "Armor Class" in answer.text


@pytestmark_module
async def test_an_import_renews_a_character_and_last_months_sheet_tells_what_it_gained(
    library: Library, tmp_path: Path
) -> None:
    file, older = tmp_path / "quill.json", CLERIC | {"name": "Quill"}
    file.write_text(json.dumps(older))
    await library.import_paths([file])
    await library.import_paths([file], document="october")
    newer = older | {"classes": [{**older["classes"][0], "level": 5}], "baseHitPoints": 28}
    newer["classSpells"] = [{"spells": [{"definition": {"name": "Aid", "level": 2}, "prepared": True}]}]
    file.write_text(json.dumps(newer))
    assert (await library.import_paths([file])).stored == 1
    answer = await ask(library, "compare_entries", name="Quill")
    assert "A: Cleric **5** (Life Domain)" in answer.text
    assert "B: Cleric **4** (Life Domain)" in answer.text
    assert "**Aid**" in answer.text
    best = (await ask(library, "lookup_character", order="ac desc")).structured["results"]
    assert {result["name"] for result in best} == {"Brannoch", "Mira", "Quill"}
    await library.cache.delete_entities("characters", [("characters", "quill"), ("october", "quill")])


@pytestmark_module
async def test_the_character_of_a_note_is_renewed_and_goes_with_it(library: Library, vale: Path) -> None:
    note = vale / "Party" / "Tess.md"
    note.write_text("---\ntype: pc\nclass: Monk\nlevel: 2\n---\n")
    await library.vaults.sync()
    assert [e.fields["level"] for e in await library.cache.get_entities("characters", name="Tess")] == [2]
    note.write_text("---\ntype: pc\nclass: Monk\nlevel: 3\n---\n")
    await library.vaults.sync()
    assert [e.fields["level"] for e in await library.cache.get_entities("characters", name="Tess")] == [3]
    note.unlink()
    await library.vaults.sync()
    assert not await library.cache.get_entities("characters", name="Tess")


@pytestmark_module
async def test_the_newest_copy_of_a_character_stands_for_the_others(library: Library) -> None:
    stated = {"collection": "characters", "kind": "character", "name": "Orsolya", "class_levels": [{"name": "Druid", "level": 4}],
              "features": ["Wild Shape"]}  # fmt: skip
    older = normalize(
        stated | {"modified": "2026-10-01T20:00:00Z", "features": ["Wild Shape", "Druidic"]}, document="a"
    )
    newer = normalize(stated | {"modified": "2026-11-01T20:00:00Z"}, document="b")
    grown = normalize(stated | {"class_levels": [{"name": "Druid", "level": 5}]}, document="c")
    for query in ("druid of the party", "wild shape druidic", "who has Wild Shape"):
        await library.cache.store_entities([*older, *newer], "characters")
        asked: dict[str, Any] = {"query": query, "types": ["characters"]}
        assert (await ask(library, "search_lore", **asked)).structured["results"][0]["uri"] == newer[0].uri
        await library.cache.store_entities(grown, "characters")
        assert (await ask(library, "search_lore", **asked)).structured["results"][0]["uri"] == grown[0].uri
        await library.cache.delete_entities("characters", [e.identity for e in (*older, *newer, *grown)])


# --- sheets in the folder of a vault -----------------------------------------------------------------------------------


async def heroes(library: Library) -> dict[str, tuple[object, object]]:
    """The characters of the vault that are there beside Brannoch, each with its file and level."""
    found = await library.cache.get_entities("characters", ["vale"])
    return {e.name: (e.data.get("file"), e.fields.get("level")) for e in found if e.name != "Brannoch"}


@pytestmark_module
async def test_sheets_in_the_folder_of_a_vault_are_kept_in_step(library: Library, vale: Path) -> None:
    note, foundry, beyond = vale / "Index.md", vale / "Party/fvtt-Actor-tess.json", vale / "Party/ddb.json"
    note.write_text("The sheets are [[ddb.json]] and [[fvtt-Actor-tess.json]].")
    foundry.write_text(json.dumps(ACTOR | {"name": "Tess"}))
    beyond.write_text(json.dumps([CLERIC | {"name": "Uli"}, CLERIC | {"name": "Vesna"}]))
    (vale / "Party/cache.json").write_text('{"type": "npc", "pages": [1, 2]}')
    (vale / "Party/broken.json").write_bytes(b'{"type": "character", "name": "\xff')
    (vale / "Templates").mkdir()
    (vale / "Templates/ddb.json").write_text(json.dumps(CLERIC | {"name": "Pattern"}))
    report = await library.vaults.sync()
    assert not report.failed + report.warnings
    assert (report.notes, report.counts["characters"], report.passed[".json"], report.counts["links_dangling"]) == (
        2, 4, 2, 1,  # the one is [[Shield]] in the note of Brannoch
    )  # fmt: skip
    assert await heroes(library) == {
        "Tess": ("Party/fvtt-Actor-tess.json", 7), "Uli": ("Party/ddb.json", 4), "Vesna": ("Party/ddb.json", 4),
    }  # fmt: skip
    assert not (await library.vaults.sync()).stored

    cut = json.dumps(ACTOR | {"name": "Tess"})[:-200]
    foundry.write_text(cut)
    beyond.write_text(json.dumps({**CLERIC, "name": "Uli", "classes": [{**CLERIC["classes"][0], "level": 5}]}))
    (failure,) = (await library.vaults.sync()).failed
    assert "not complete JSON" in failure.reason
    assert await heroes(library) == {"Tess": ("Party/fvtt-Actor-tess.json", 7), "Uli": ("Party/ddb.json", 5)}

    foundry.rename(vale / "Party/Tess.json")
    (vale / "Party/Tess.json").write_text(json.dumps(ACTOR | {"name": "Tess"}))
    beyond.write_text('{"nothing": "here"}')
    assert not (await library.vaults.sync()).failed
    assert await heroes(library) == {"Tess": ("Party/Tess.json", 7)}
    for file in (note, vale / "Party/Tess.json", beyond):
        file.unlink()
    await library.vaults.sync()
    assert not await heroes(library)


@pytestmark_module
@pytest.mark.parametrize(
    ("path", "stated", "seen_by"),
    [
        ("Party/wren.json", {}, {"cleo"}),
        ("Party/wren.json", {"audience": "players"}, {"cleo", "bo"}),
        ("Party/wren.json", {"audience": "dm"}, set()),
        ("GM Only/wren.json", {}, set()),
        ("GM Only/wren.json", {"audience": "players"}, set()),
        ("Shared/wren.json", {}, {"cleo", "bo"}),
        ("Shared/wren.json", {"audience": ["cleo"]}, {"cleo"}),
    ],
)
async def test_a_sheet_in_a_vault_is_its_players_unless_something_says_otherwise(
    library: Library, vale: Path, path: str, stated: dict[str, Any], seen_by: set[str]
) -> None:
    sheet = {"collection": "characters", "kind": "character", "name": "Wren", "player": "Cleo", "level": 3, **stated}
    (vale / path).parent.mkdir(exist_ok=True)
    (vale / path).write_text(json.dumps(sheet))
    if path.startswith("Shared"):
        await open_to(library, "Shared")
    await library.vaults.sync()
    (made,) = await library.cache.get_entities("characters", ["vale"], name="Wren")
    viewers = {name: Viewer.player(name) for name in ("cleo", "bo")}
    assert {name for name, viewer in viewers.items() if is_visible(made, viewer)} == seen_by
    folder = path.rpartition("/")[0]
    assert any(folder in str(redact(made, viewers[name], lambda _: None).data) for name in seen_by) is (
        folder == "Shared"
    )
    assert clean_fields("characters", derive_fields(made)) == made.fields
    (vale / path).unlink()
    await library.vaults.sync()


def test_the_sheet_of_a_wizard_of_level_20_names_its_entries_in_short() -> None:
    spells = [f"Spell {letter}" for letter in "ABCDEFGHIJKLMNOP"]
    (made,) = normalize(
        {
            "collection": "characters", "kind": "character", "name": "Eldrin", "class_levels": [{"name": "Wizard", "level": 20}],
            "spells": [{"name": name, "level": 1, "prepared": True} for name in spells],
            "features": ["Trance", "Lucky", "Alert", "Overchannel"],
        }
    )  # fmt: skip
    found = [Reference(name, "spells", "srd", name.lower().replace(" ", "-")) for name in spells[:-1]]
    page = markdown(made, rules=Rules(found, [spells[-1], "Trance", "Lucky", "Alert", "Overchannel", "Sage"]))
    assert "lore://spells/srd/SLUG, the name in lower case with hyphens: all spells but Spell P\n" in page
    assert "Not in the library: all features; Spell P, Sage" in page
    assert page.count("Spell B") == 1
