"""How game masters mark what players must not see, as they write it: one row each, with whether players see the marked words.

Every row is a note that is otherwise for all players, so that nothing but the mark of the row decides. `WORD` stands for the words
that are marked.
"""

from __future__ import annotations

from typing import NamedTuple

WORD = "WORD"

OPEN = "---\nvisibility: players\n---\n# Mira\n\nShe rows.\n\n"


class Row(NamedTuple):
    """A note and what players see of it.

    Attributes:
        hidden: whether players do not see the marked words.
        text: of the file.
        path: of the file.
        why: of what is shown, why it is no mark.
    """

    hidden: bool
    text: str
    path: str = "Mira.md"
    why: str = ""


def _hidden(*bodies: str) -> list[Row]:
    return [Row(True, OPEN + body) for body in bodies]


def _front(*blocks: str, hidden: bool = True, why: str = "", path: str = "Mira.md") -> list[Row]:
    return [Row(hidden, f"---\n{block}\n---\nShe is {WORD}.", path, why) for block in blocks]


def _paths(*paths: str) -> list[Row]:
    return [Row(True, OPEN + WORD, path) for path in paths]


def _shown(why: str, *bodies: str, path: str = "Mira.md") -> list[Row]:
    return [Row(False, OPEN + body, path, why) for body in bodies]


HEADINGS = [
    *("GM Notes", "DM Only", "Auflösung", "Reviravolta", "Notes (GM)", "Behind the Scenes", "Secrets"),
    *("Secrets & Lies", "Neukazovat", "🔑 Secrets & Clues", "🤫 Secrets", "Info dla Strażnika"),
    *("NICHT VORLESEN", "G.M. Notes", "G. M. only", "GM&nbsp;Notes", "G&#77; Notes", "G\u200bM Notes"),
    *(
        "🔒 GM\u200d Only",
        "ＧＭ Notes",
        "**GM Notes**",
        "==GM Notes==",
        "[[GM Notes]]",
        "Plans #gm",
        "The True Identity",
    ),
    *("What really happened", "What the players do not know", "Hidden Agenda", "Plot Twist", "For the DM's eyes"),
    *(
        "DM Wissen",
        "Nur für den SL",
        "Geheime Pläne",
        "Notas del máster",
        "Solo para el máster",
    ),
    *(
        "Spielleiterinformationen",
        "SL-Wissen",
        "Meisterinfos",
        "Hintergrundwissen für den Spielleiter",
    ),
    *(
        "Was die Spieler nicht wissen",
        "Was die Gruppe noch nicht ahnt",
        "Das wissen die Heldinnen nicht",
        "Geheimes Wissen",
    ),
    *(
        "Ottos Geheimnis",
        "Dunkles Geheimnis",
        "Was wirklich geschah",
        "SL",
        "SL: der Plan",
        "DM – the plan",
    ),
    *("Note del master", "MJ seulement", "Notas do mestre"),
]

WORDS_OF_SECRECY = [
    *(
        "What he is hiding from the group",
        "What the abbess conceals",
        "Hidden from the adventurers",
        "What she really wants",
    ),
    *("The Truth", "The secret of the well", "The Miller's dark secret", "Truth: the fire"),
    *("Die Wahrheit hinter dem Brand", "Das Geheimnis des Brunnens", "Was der Abt verschweigt"),
    *("Für den Meister", "Nur für Meisteraugen", "In Wahrheit"),
    *("La vérité sur l'incendie", "Le secret du puits", "Pour le maître de jeu", "Ce que les joueurs ne savent pas"),
    *("Ce que l'abbé cache", "La verdad sobre el incendio", "El secreto del pozo", "Para el director de juego"),
    *("Lo que los personajes ignoran", "Lo que el abad oculta", "La verità sull'incendio", "Il segreto del pozzo"),
    *("Per il master", "Cosa i giocatori non sanno", "Cosa nasconde l'abate", "A verdade sobre o incêndio"),
    *("O segredo do poço", "Para o narrador", "O que os jogadores não sabem", "O que o abade esconde"),
]
SECRET_KEYS = [
    *("True ruler", "Real name", "Actual culprit", "Hidden motive", "Secret lover", "Wahrer Herrscher", "Echter Name"),
    *(
        "Vrai nom",
        "Identité secrète",
        "Nombre real",
        "Verdadero culpable",
        "Vero nome",
        "Identità segreta",
        "Nome verdadeiro",
    ),
]
HARMLESS = [
    *(
        "The Secret Door in the Cellar puzzle",
        "Secret Passage",
        "Truth serum",
        "Zone of Truth",
        "Hall of Truth",
        "Hidden Temple",
    ),
    *("What the villagers say", "What we learned", "True Polymorph", "Real estate in the harbour", "Behind the Bar"),
    *("Geheimgang", "Der Geheimbund", "Wahrheitstrank", "Für die Gruppe", "Der Meister der Gilde", "Le passage secret"),
    *(
        "Sérum de vérité",
        "Pour le roi",
        "La puerta secreta",
        "Para el rey",
        "La porta segreta",
        "Per il re",
        "A porta secreta",
    ),
]

NOTES_OF_GAME_MASTERS: list[Row] = [
    *_hidden(*(f"## {heading}\n\n{WORD} is here." for heading in WORDS_OF_SECRECY)),
    *_hidden(*(f"{key}: {WORD}" for key in SECRET_KEYS), *(f"- **{key}:** {WORD}" for key in SECRET_KEYS[:4])),
    # in the midst of a line
    *_hidden(
        f"He is kind. DM: he is {WORD}.",
        f"He is kind. SL: er ist\n{WORD} seit Jahren.",
        f"> He is kind. GM: he is\n> {WORD} now.",
        f"- Otto, smith – secret: he is {WORD}",
        f"Otto is kind DM: he is {WORD}",
        f"Otto est gentil. MJ : il est {WORD}",
        f"Otto is kind; the truth: he is {WORD}",
        f"He smiles. *GM note: {WORD}.* He walks on.",
        f"Otto. Note to the GM: {WORD} waits.",
        f"He is kind. DM - he is {WORD}",
        f"Tall. **Secret:** he is\n{WORD} and old",
        f"GM: {WORD}",
        f"## Otto\n\nSL: {WORD}",
    ),
    # cells of tables
    *_hidden(
        f"| Name | GM | Job |\n|---|---|---|\n| Otto | {WORD} | smith |",
        f"| Name | GM | Job |\n|---|---|---|\n| Otto | x | {WORD} | smith |",
        f"| Name | Job | GM |\n|---|---|---|\n| Otto | {WORD} |",
        f"| GM | Name |\n|---|---|\n| x | Otto |\n{WORD} wrapped",
        f"| Name | Nom réel |\n|---|---|\n| Otto | a \\| {WORD} |",
        f"| Name | GM |\n|---|---|\n| GM only | {WORD} |",
    ),
    *_hidden(*(f"## {heading}\n\n{WORD} is here." for heading in HEADINGS)),
    *_hidden(f"GM Notes\n--------\n\n{WORD}", f"##GM Notes\n\n{WORD}", f"<h2>GM Notes</h2>\n\n{WORD}"),
    *_hidden(
        f"<h3 id='x'>Secrets &amp; Lies</h3>\n\n{WORD}", f"**GM Notes**\n\n- {WORD}\n- more", f"__GM Notes__\n\n{WORD}"
    ),
    *_hidden(f"- ## GM Notes\n  {WORD}", f"> ## GM Notes\n> {WORD}", f"**GM Notes:**\n\n- {WORD}\n"),
    # callouts
    *_hidden(
        *(f"> [!{word}]\n> {WORD}" for word in ("dm", "secret", "gm", "hidden", "dm|no-title", "d\u200bm", "gm-only"))
    ),
    *_hidden(
        *(
            f"> [!{word}]\n> {WORD}"
            for word in ("spoilers", "SL", "geheimnis", "master", "metadata|dm", "infobox|secret")
        )
    ),
    *_hidden(f"> [!danger]- DM only\n> {WORD}", f"> [!warning]- GM Notes\n> {WORD}", f"> [!caution]- 🔒 GM\n> {WORD}"),
    *_hidden(
        f"> [!question]- For the DM's eyes\n> {WORD}", f"> [!note|gm-only] Plans\n> {WORD}", f"- > [!dm]\n  > {WORD}"
    ),
    *_hidden(
        f"> [!note] Hearsay\n> > [!dm]\n> > {WORD}",
        f"> [!handout] Letter\n> Dear Ana.\n> **Secret**: {WORD} forged it\n",
    ),
    *_hidden(f"```ad-dm\n{WORD}\n```", f"```dm\n{WORD}\n```", f"~~~ secret\n{WORD}\n~~~", f"> ```gm\n> {WORD}\n> ```"),
    # comments, HTML, spoilers
    *_hidden(
        f"%%{WORD}%%",
        f"She %%{WORD}%% rows.",
        f"<!-- dm:start -->\n{WORD}\n<!-- dm:end -->",
        f"a text %% {WORD} and no end",
    ),
    *_hidden(
        f"<!-- gm only -->\n{WORD}\n<!-- /gm only -->", f"a text <!-- {WORD} and no end", f"<!-- secret -->\n{WORD}"
    ),
    *_hidden(
        f'<section class="secret">{WORD}</section>', f'<section class="secret"><section>x</section>{WORD}</section>'
    ),
    *_hidden(f'<section class="secret" data-x="{"x" * 600}">{WORD}</section>', f"<section class=secret>\n{WORD}"),
    *_hidden(
        f'<div class="dm">{WORD}</div>', f'<div class="box secret-box"><div>x</div>\n{WORD}\n</div>', f"<gm>{WORD}</gm>"
    ),
    *_hidden(f'<span class="secret">{WORD}</span>', f"<details><summary>DM only</summary>\n\n{WORD}\n\n</details>"),
    *_hidden(
        f"<details open>\n<summary><b>GM</b> notes</summary>\n{WORD}\n</details>",
        f'<p title="a > b" class="gm">{WORD}</p>',
        f'<div class="unpublished">{WORD}</div>',
        f"<div>\n<h2>DM</h2>\n<h3>The mill</h3>\n{WORD}\n<h2>The market</h2>\n</div>",
    ),
    *_hidden(
        *(f"## {said}\n\n{WORD}" for said in ("Not for players -> below", "Endast för SL: x", "Info per il DM: x"))
    ),
    *_hidden(
        f"She is ||{WORD}|| tonight", f"She is >!{WORD}!< tonight", f"[spoiler]{WORD}[/spoiler]", f"[gm]\n{WORD}\n[/gm]"
    ),
    *_hidden(
        f":::dm\n{WORD}\n:::", f"::: {{.secret}}\n{WORD}\n:::", f"{{{{< secret >}}}}\n{WORD}\n{{{{< /secret >}}}}"
    ),
    *_hidden(f"{{{{% gm %}}}}\n{WORD}\n{{{{% /gm %}}}}", f"{{% secret %}}{WORD}{{% endsecret %}}"),
    # keys
    *_hidden(
        f"Secret:: {WORD}", f"She lies (secret:: {WORD}) well.", f"She [secret:: {WORD}] rows.", f"[secret: {WORD}]"
    ),
    *_hidden(f"[secret:: see [[Lich|the old man]] ({WORD})]", f"She smiles. (GM note: {WORD} is her [[Lich|father]])"),
    *_hidden(
        f"**Secret**: {WORD}", f"- **Secret**:\n  - {WORD}", f"- [ ] **Secret**: {WORD}", f"1. **Secret**: {WORD}"
    ),
    *_hidden(
        f"> **Secret**: {WORD}",
        f"***Secret***: {WORD}",
        f"*Secret:* {WORD}",
        f"2) **GM only** - {WORD}",
        f"**Secret** {WORD}",
    ),
    *_hidden(
        f"* [x] ***DM Notes:*** {WORD}",
        f"- **Secret motive**\n  - {WORD}\n",
        f"> - **Secrets:** {WORD}",
        f"<u>Secret</u>: {WORD}",
    ),
    *_hidden(
        f"*GM Notes* — {WORD}",
        f"- **Secret**: one\n\n  {WORD} in a second paragraph",
        f"- **Secret**: one\n{WORD} wrapped",
    ),
    *_hidden(
        f"Tall. **Secret:** {WORD}",
        f"**Wahre Loyalität:** {WORD}",
        f"*Twist:* {WORD}",
        f"**Geheim:** {WORD}",
        f"Geheim: {WORD}",
    ),
    *_hidden(
        f"DM: the duke is {WORD} and lies", f"> **DM:** the duke is {WORD} and lies", f"[GM] {WORD}", f"(secret) {WORD}"
    ),
    *_hidden(f"She rows.[^1]\n\n[^1]: DM: {WORD} is her name and she hates it"),
    *_hidden(
        f"SL: {WORD} lügt", f"- **SL:** der Müller ist {WORD}", f"Der Müller (SL: {WORD} lügt) schläft.", f"(SL) {WORD}"
    ),
    *_hidden(
        f"She rows (dm:: for {WORD}, who lies).",
        f"She [gm:: hides {WORD}] rows.",
        f"Der Müller [sl:: kennt {WORD}] schläft.",
    ),
    *_hidden(f"DM note - {WORD} waits upstairs.", f"*GM only – {WORD} waits.*", f"GM - the duke is {WORD} and lies"),
    *_hidden(f"- Staff\n    - Secrets\n        - {WORD}\n    - Maid", f"- Geheimnisse\n  - {WORD}\n"),
    *_hidden(
        f"||{WORD}|| she said", f"- ||{WORD}|| she said", f"> ||one|| and ||{WORD}||", f"Apple\n: GM: the {WORD} lies"
    ),
    *_hidden(f"```sl\n{WORD}\n```", f"<details><summary>Spielleiterinfos</summary>\n\n{WORD}\n\n</details>"),
    # tables, tags
    *_hidden(f"| Name | SL |\n|---|---|\n| Otto | {WORD} |", f"| a | b |\n|---|---|\n| GM | the {WORD} lies |"),
    *_hidden(f"{WORD} lügt #sl"),
    *_hidden(f"| Name | GM notes |\n|---|---|\n| Otto | {WORD} |", f"| a | b |\n|---|---|\n| Secret | {WORD} |"),
    *_hidden(
        f"| Name | GM |\n|---|---|\n| Otto | {WORD} |", f"| a | b |\n|---|---|\n| c | d |\n- **Secret**: {WORD} | more"
    ),
    *_hidden(f"Name | GM notes\n---|---\nOtto | {WORD}", f"> | Name | Secret |\n> |---|---|\n> | Otto | {WORD} |"),
    *_hidden(
        f"| What they believed | What was true |\n|---|---|\n| a | {WORD} |",
        f"| a | **Secret:** {WORD} |\n|---|---|\n| b | c |",
    ),
    *_hidden(f"{WORD} is a lich #secret", f"#dm\n\n{WORD}", f"- {WORD} #длямастера"),
    *_front("visibility: players\ntags: [npc, dm-only]", "visibility: players\ntags: secret/plot"),
    # front matter
    *_front(
        *(
            f"visibility: players\n{said}"
            for said in ("role: dm", "leser: nur SL", "lee: [solo máster]", "reach: not for players")
        )
    ),
    *(
        Row(True, f"---\nvisibility: players\n{key}: {WORD}\n---\nShe rows.")
        for key in ("dm_notes", "dmNotes", "secret", "gmSecret")
    ),
    *(
        Row(True, f"---\nvisibility: players\n{key}: {WORD}\n---\nShe rows.")
        for key in ("true_identity", "Geheimnis", "trueName")
    ),
    Row(True, f"---\nvisibility: players\nnpc:\n  secret: {WORD}\n---\nShe rows."),
    *(Row(True, f"---\nvisibility: players\n{key}: the duke is {WORD}\n---\nShe rows.") for key in ("dm", "gm", "SL")),
    *_front(
        "visibility: players\nVisibility: dm", "visibility: dm\nvisibility: players", "publish: true\ngmOnly: true"
    ),
    *_front("visibility: players\nse\u00adcret: true", "base: &b {secret: true}\n<<: *b\nvisibility: players"),
    *_front(
        "visibility: players\nmeta:\n  dm_only: true",
        "visibility: players\nnotes: [unclosed",
        "visibility: semi-public",
    ),
    *_front(
        "publish: true\nvisibility: after session 5", "visibility: players\naudience: [agent, dm]", "publish: soon"
    ),
    *_front(
        "visibility: players\naccess: dm",
        "visibility: players\nsecret: players",
        "publish: true\nvisible_to: [Ana, the duke]",
    ),
    *_front(f"publish: true\nx: {'y' * 65_536}\nsecret: true", "visibility: players\n---\n\n---\nvisibility: dm"),
    Row(True, f"---\nvisibility: dm\n\n{WORD} is here.", "Player Handouts/Mira.md"),
    Row(True, f"\n---\nvisibility: dm\n---\n{WORD} is here.", "Player Handouts/Mira.md"),
    Row(True, f"+++\nsecret = true\n+++\n{WORD} is here.", "Player Handouts/Mira.md"),
    Row(True, f"{OPEN}visibility:: dm\n\n{WORD}"),
    Row(True, f"{OPEN}**Visibility:** Private\n\n{WORD}"),
    *_front("visibility: players\ntype: faction\nsubtype: dm-intelligence"),
    Row(True, f"---\nvisibility: players\n---\nShe rows.\n\n# 12. Synthèse MJ — une page\n\n{WORD}"),
    *_hidden(f"%%DM-ONLY%%\n{WORD}\n%%END%%"),
    # names of files and folders
    *_paths("Brainstorms/Mira.md"),
    *_paths(
        "DM/Mira.md",
        "Shared/Tobias - DM Notes.md",
        "Mira [Mestre].md",
        "Mira [GM].md",
        "mira-dm-guide.md",
    ),
    *_paths(
        "Escudo do Mestre/Mira.md",
        "Session Prep/Mira.md",
        "G\u200bM only/Mira.md",
    ),
    Row(True, f"{WORD} is here.", "Player Handouts/dm-notes-mira.md"),
    Row(True, f"# GM Notes\n\n{WORD} is here.", "Player Handouts/Mira.md"),
]

NO_MARKS: list[Row] = [
    *_shown(
        "nothing marks it",
        WORD,
        f"## Looks\n\n{WORD}",
        f"> [!note] Hearsay\n> {WORD}",
        f"<div class='note'>{WORD}</div>",
    ),
    *_shown("a mark ends where its heading, key or stretch does", f"## GM Notes\n\nx\n\n## Looks\n\n{WORD}"),
    *_shown("the bold line below begins another part", f"**GM Notes**\n\n- bad\n\n**Looks**\n\n{WORD}"),
    *_shown(
        "the line above is secret, this one is not", f"> [!tip] Rumour\n> - **GM Notes**: bad\n> - The well is {WORD}."
    ),
    *_shown("the stretch has ended", f"(secret:: he lies) {WORD}", f"%%x%% {WORD}", f"<b class='gm'>x</b> {WORD}"),
    *_shown(
        "other words that begin alike",
        f"## Secretary\n\n{WORD}",
        f"## The Secret Garden\n\n{WORD}",
        f"## Hidden Valley\n\n{WORD}",
    ),
    *_shown(
        "a sentence, as of a recap: what was done secretly is no secret of the note", f"(Secretly he took the {WORD}.)"
    ),
    *_shown("preparation of whom?", f"## Prep\n\n{WORD}"),
    *_shown(
        "doors, serums and rooms that only have such words in their names",
        *(f"## {name}\n\n{WORD}" for name in HARMLESS),
    ),
    *_shown(
        "such a word within a sentence begins nothing",
        f"He told us the truth: the well is {WORD}.",
        f"The Secret Order: {WORD} sellers.",
        f"**True Strike:** {WORD}",
        f"**Hidden compartment:** {WORD}",
        f"Unser Geheimtipp: der {WORD}.",
    ),
    *_shown(
        "another column is secret",
        f"| Name | GM |\n|---|---|\n| {WORD} | x |",
        f"> | a | SL | b |\n> |-|-|-|\n> | x | y | {WORD} |",
    ),
    *_shown("a column of a table of levels", f"| Level | Secrets Known |\n|---|---|\n| 1 | {WORD} |"),
    *_shown(
        "the paragraph after the one that a mark stands in",
        f"He is kind. DM: he lies.\n\n{WORD}",
        f"She smiles. *GM note: x.* {WORD}",
    ),
    *_shown("tags of other things", f"{WORD} joined the #secret-society of #dms-guild"),
    *_shown("the name of the game master, no secret of hers", f"**GM:** Geoff\n\n{WORD}", f"GM: Geoff\n\n{WORD}"),
    *_shown(
        "the name of the game master",
        f"**SL:** Tobias\n\n{WORD}",
        f"GM - Geoff\n\n{WORD}",
        f"- GM\n  - Geoff\n- {WORD}",
    ),
    *_shown("the name of the game master", f"| a | b |\n|---|---|\n| GM | Geoff |\n| c | {WORD} |"),
    *_front(f"visibility: players\ngm: {WORD}", hidden=False, why="the name of the game master"),
    *_shown("a number", f"SL: 3\n\n{WORD}"),
    *_shown("a word that begins an item is no key", f"- Private - {WORD}", f"Keeper - {WORD}", f"- Secret\n- {WORD}"),
    *_shown("other masters", f"## Meister Otto\n\n{WORD}", f"## Für den Meisterschmied\n\n{WORD}"),
    *_shown("who is no player", f"## Personaggi non giocanti incontrati\n\n{WORD}", f"## Nicht nur Spieler\n\n{WORD}"),
    *_shown("what the players know", f"## Was die Spieler wissen\n\n{WORD}"),
    *_shown("empty cells, no spoilers", f"|| a | {WORD} |\n|---|---|---|"),
    *_shown("empty cells, no spoilers", f"| a | b ||\n|---|---|---|\n| {WORD} | y ||"),
    *_shown("a number with percent signs", f"100%% sure that {WORD}"),
    *_shown("a link shows its words", f"[[{WORD}]]", f"![[{WORD}]]"),
    *_shown("a folder of plans may be the players' own", f"{WORD}", path="05---planning/Mira.md"),
    *_shown("drafts are no secrets by their name", f"{WORD}", path="00_Admin/02_Entwürfe/Mira.md"),
    *_shown("an admiral", f"{WORD}", path="Random/Admiral.md"),
    *_front(
        *(
            f"visibility: players\n{said}"
            for said in ("author: DM", "government: Secret Council", "ship: The DM's Revenge")
        ),
        hidden=False,
        why="somebody's name, or a thing's",
    ),
    *_front("visibility: dm, players", hidden=False, why="both are named, and both see it"),
    *_front("visibility: players\naccess: Dangerous; locals avoid it", hidden=False, why="the way into a harbour"),
    *_front("visibility: players\npermission: granted by the Duke", hidden=False, why="a fact"),
    *_front(
        "visibility: players\naccess: Ruined", hidden=False, why="one word is no list of people: a fact, and reported"
    ),
    *_front("visibility: players\nsecret: false", hidden=False, why="it says that it is none"),
    *_front("visibility: players\npublished: 1492", hidden=False, why="the year of a book"),
    Row(False, f"{OPEN}---\nvisibility: dm\n---\n\n{WORD}", why="keys between rules in the midst of a text are text"),
]

MORE_LANGUAGES = [
    *_hidden(
        *(
            f"## {heading}\n\n{WORD}"
            for heading in (
                "Для мастера|Секреты|Скрытые заметки|Тайна|Игроки не знают|План на следующую сессию|Tajemství|Pro Pána jeskyně|"
                "Hemligheter|Spelledarens anteckningar|Pläne|Planes del villano|La Soluzione Completa|Keep from the players|"
                "Inhalt für die Spielleitung|Contenu MJ|Contenido para el máster|Contenuto per il master"
            ).split("|")
        ),
        f"**Тайна:** {WORD}",
        f"Мастеру: {WORD}",
        f"| Кто | Секрет |\n|---|---|\n| Mira | {WORD} |",
        f"%%SECRET%%\n{WORD}\n%%SECRET%%\n\nShe smiles.",
        f'<p class="gmnote">{WORD}</p>',
    ),
    *_front("visibility: players\nstatus: secret", "visibility: players\ntags: [секрет]"),
    *_paths("Секреты/Mira.md", "Máster/Mira.md", "Mistrz Gry/Mira.md"),
    *_hidden(
        *(
            f"{head}\n\n    Old.\n\n    {WORD}"
            for head in ('??? gamemaster "Backstory"', "!!! gm", '!!! note "DM only"')
        )
    ),
    *_shown("no word for a secret", f'!!! warning "The bridge is old"\n\n    {WORD}'),
    *_shown("planes are no plans", f"## The Planes of Existence\n\n{WORD}", path="Astral Plane.md"),
    *_shown("a floor, readied spells", f"## Primo piano\n\n{WORD}", f"## Incantesimi preparati\n\n{WORD}"),
    *_shown("an adjective", f"## Costumes\n\nA verdadeira ferramenta é {WORD}."),
    *_shown("a name, a hoard", f"## Archscholar Vera\n\n{WORD}", f"## Supply Cache\n\n{WORD}"),
    *_shown("the looks of a callout", f"> [!info|bg-plain no-i] Mira\n> {WORD}"),
]

ROWS = [*NOTES_OF_GAME_MASTERS, *NO_MARKS, *MORE_LANGUAGES]
