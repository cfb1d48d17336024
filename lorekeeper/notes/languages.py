"""The words by which game masters say who may see something, what a note is, and when: one table, a row for each language.

A row holds alternatives of regular expressions over comparable texts (`comparing.comparable`): lower case, no accents, no
punctuation, "&" as "and". The grammar of `vocabulary` and of `suspicious` is the same for all rows, and `kinds`, `keys` and
`audience_keys` read their words from here, so that another language is one more row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lorekeeper.audience import DM, PLAYERS

HEADING, NAME, KEY = "heading", "name", "key"
"""Where an idiom counts: in headings, titles of callouts, keys of facts and heads of columns; in names of files and
folders; only in keys and heads of columns."""

CALLOUT, ASIDE, VALUE, TAG, LINE, FENCE = "callout", "aside", "value", "tag", "line", "fence"
"""Where a word counts by itself: of a callout or comment; in brackets; as a value of front matter; as a tag; and where it
begins a line, as in "DM: she lies", or a code block; a code block alone."""

ANY = f"{CALLOUT} {ASIDE} {VALUE} {TAG} {LINE}"
MOST = f"{CALLOUT} {ASIDE} {VALUE}"


class Idiom(NamedTuple):
    """A pattern beside the grammar that all languages share.

    Attributes:
        audience: who may see what it stands for.
        places: where it counts, of `HEADING`, `NAME` and `KEY`.
        pattern: regular expression, searched in a comparable text; ``<table>`` stands for the words of the row for that.
        example: a text that has it.
    """

    audience: str
    places: str
    pattern: str
    example: str


class Words(NamedTuple):
    """Texts that say it by themselves.

    Attributes:
        audience: as of `Idiom`.
        places: where they count, of `CALLOUT`, `ASIDE`, `VALUE`, `TAG`, `LINE` and `FENCE`.
        words: comparable texts, with commas between them.
    """

    audience: str
    places: str
    words: str


class Language(NamedTuple):
    """The words of one language.

    Attributes:
        code: as in BCP 47; "" for what is written in all of them.
        master: the game master; what is more often somebody else is in `master_or` too.
        notes: what he writes for himself.
        advice: what others write for him; in a sentence that is the name of a book.
        only: "only", "reserved".
        for_: "for".
        the: articles and the like between these words and the game master.
        secrets: a secret, as a noun; and what is kept in the dark, as it stands alone above or before a text.
        its: words before that: "the", "her", "dark".
        about: words after it: "of", "behind", "and".
        truth: the truth, reality.
        true: adjectives: "true", "real", "hidden", "secret".
        facts: what is true or hidden of somebody: "identity", "name", "loyalty".
        key_facts: more of these, that say it only as a key: "true ruler".
        table: the players and their characters.
        unaware: "do not know", "must not see".
        withholds: "what she hides": the beginning, and the verb.
        behind: "behind the scenes", "what really happened".
        secretly: adverbs, and what says the same: "nobody knows that".
        you: whom rules speak to, and who writes.
        dice: words of rules for what is rolled.
        ambiguous: words for a game master that are more often other people, separated by spaces.
        idioms: what else says it.
        alone: what says it as a whole text.
        closing_keys: keys of front matter that close a note where they are true, with commas between them.
        yes: what is true.
        no: what is false.
        kinds: words for our kinds of notes.
        kind_keys: keys of front matter that say a kind.
        session: a session, before its number.
        dated: keys of front matter that say when something was played or happened.
        changed: keys that say when a note was changed.
        created: keys that say when it was begun.
        race: keys of a race, which is somebody's.
        class_: keys of a class.
        player: keys of who plays somebody.
        state: keys of a state.
        open: what is still to do.
        done: what is over.
    """

    code: str
    master: str = ""
    notes: str = ""
    advice: str = ""
    only: str = ""
    for_: str = ""
    the: str = ""
    secrets: str = ""
    its: str = ""
    about: str = ""
    truth: str = ""
    true: str = ""
    facts: str = ""
    key_facts: str = ""
    table: str = ""
    unaware: str = ""
    withholds: tuple[str, str] = ("", "")
    behind: str = ""
    secretly: str = ""
    you: str = ""
    dice: str = ""
    ambiguous: str = ""
    idioms: tuple[Idiom, ...] = ()
    alone: tuple[Words, ...] = ()
    closing_keys: str = ""
    yes: str = ""
    no: str = ""
    kinds: Mapping[str, str] = MappingProxyType({})
    kind_keys: str = ""
    session: str = ""
    dated: str = ""
    changed: str = ""
    created: str = ""
    race: str = ""
    class_: str = ""
    player: str = ""
    state: str = ""
    open: str = ""
    done: str = ""


ANYWHERE = Language(
    "",
    master=r"gms?|dms?|game ?masters?|dungeon ?masters?",
    alone=(
        Words(
            DM, ANY, "dm, gm, dms, gms, dm only, gm only, dmonly, gmonly, for dm, for gm, dm eyes only, gm eyes only"
        ),
        Words(DM, f"{CALLOUT} {FENCE}", "encounter, encounter table"),
    ),
    closing_keys="gm only, dm only, gmonly, dmonly, gm, dm",
    yes="1, x",
    no="0",
)
"""What people of all languages write."""

LANGUAGES: tuple[Language, ...] = (
    Language(
        "en",
        master=r"gms?|dms?|game ?masters?|dungeon ?masters?|storytellers?",
        notes=r"notes?|info(?:s|rmation)?|knowledge|secrets?|eyes|background|details?|reference|stuff|contents?|prep|lore|facts?|"
        r"version|section|summary|truths?",
        advice=r"tips?|advice|guidance|guide|screen|hints?",
        only=r"only|reserved",
        for_=r"for|to",
        the=r"the|of|your",
        secrets=r"secrets?|spoilers?|(?:plot )?twists?",
        its=r"the|his|her|its|their|dark|deep|true|big|known",
        about=r"of|about|behind|and",
        truth=r"truth",
        true=r"true|real|actual|secret|hidden",
        facts=r"identit(?:y|ies)|natures?|names?|loyalt(?:y|ies)|allegiances?|motives?|motivations?|agendas?|goals?|intentions?|"
        r"plans?|forms?",
        key_facts=r"rulers?|leaders?|owners?|culprits?|killers?|murderers?|villains?|boss|masters?|employers?|patrons?|fathers?|"
        r"mothers?|parents?|children|lovers?|heirs?|faces?|selves|self|species|race|class|age|level|alignment|location|powers?|"
        r"values?|history|story|origins?|causes?|reasons?|heritage|lineage|faith|deity|background|occupation|job|profession|"
        r"purposes?|status|effects?|relations?|relationships?",
        table=r"players?|party|pcs|characters|group|heroes|adventurers",
        unaware=r"(?:(?:do|does|did|must|should|can|will) ?not|(?:don|doesn|didn|mustn|shouldn|can|won) ?t|never) (?:yet )?"
        r"(?:know|see|read|learn)\w*",
        withholds=(r"what", r"hides|is hiding|conceals|keeps secret"),
        behind=r"behind the (?:scenes|screen)|what (?:is |s )?(?:really|actually) \w+(?: \w+)?|what (?:nobody|no one) knows",
        secretly=r"secretly|unbeknownst|(?:nobody|no one) knows that",
        you=r"you|i|we",
        dice=r"dic?e|rolls?|rolled|d[0-9]+|dc|checks?",
        ambiguous="storyteller storytellers",
        idioms=(
            Idiom(DM, HEADING, r"^(?:gms?|dms?|sl)$", "GM"),
            Idiom(
                DM,
                HEADING,
                r"\b(?:<master>|keepers?|referees?|wardens?) (?:s )?(?:<only>|<notes>|<advice>)\b",
                "Keeper's Notes",
            ),
            Idiom(
                DM,
                HEADING,
                r"\b(?:for|to) (?:the |your )?(?:<master>|keepers?|referees?|wardens?)(?: only| s eyes| eyes)?$|"
                r"^for (?:the )?<master>\b(?! story)",
                "For the DM only",
            ),
            Idiom(
                DM,
                HEADING,
                r"\beyes only\b|\bspoilers?\b|\bbehind the (?:scenes|screen)\b|\bwhat is really going on\b",
                "Behind the Scenes",
            ),
            Idiom(
                DM,
                HEADING,
                r"^(?:what|whats) (?:(?:is|was|s) )?(?:really|actually|true|truly)\b",
                "What really happened",
            ),
            Idiom(
                DM,
                HEADING,
                r"\b(?:unknown to|hidden from|secret from|kept from|not (?:yet )?known (?:to|by)) (?:the )?<table>\b",
                "Hidden from the party",
            ),
            Idiom(
                DM,
                HEADING,
                r"\band secrets?$|^(?!l[ae]s? |de |un |des )(?:\w+ ){0,3}(?:his|her|its|their|our|s|\w{2,}s|npc|plot|campaign|"
                r"session|family|guild|town|(?:(?:dark|deep|great|bigg?)(?:er|est)?|dirty|old|little|terrible|shameful|final|true|"
                r"real)) secrets?$|^(?!no\b)(?:\w+ ){0,3}secrets? (?:of|about|behind)\b",
                "Rumours and Secrets",
            ),
            Idiom(
                DM,
                HEADING,
                r"(?:\b(?:secret|hidden|private|confidential|unrevealed)|^secrets) (?:<notes>|<facts>|properties|things?|elements?|"
                r"history|abilities|powers?|features?|aspects?|connections?|past)(?:$| (?:and|of|about)\b)",
                "Hidden Agenda",
            ),
            Idiom(
                DM,
                HEADING,
                r"\b(?:true|real|actual) (?:story|history|past|reasons?|plot|events?|causes?|culprits?|killers?|murderers?|"
                r"villains?|masterminds?|purpose|<facts>)(?:$| (?:and|of|behind)\b)",
                "The real culprit",
            ),
            Idiom(
                DM,
                HEADING,
                r"^(?:the )?(?:whole |full |real |actual |ugly |dark |hidden )?truth(?:$| (?:about|behind|of|is)\b)|"
                r"^in (?:truth|reality)$",
                "The truth about the duke",
            ),
            Idiom(
                DM,
                HEADING,
                r"^what (?:\w+ ){1,4}(?:hides?|hid|hiding|conceals?|concealing|withholds?|keeps? (?:secret|hidden|quiet)|"
                r"(?:really|secretly|actually)\b|(?:does|will|do|is|are|would|has|have)(?: not|n ?t) "
                r"(?:say|tell|reveal|admit|said|told|revealed|admitted|saying|telling)|won ?t (?:say|tell|reveal|admit))",
                "What she is hiding",
            ),
            Idiom(
                DM,
                HEADING,
                r"\b(?:hid(?:es?|den|ing)?|conceal(?:s|ed|ing)?|keep(?:s|ing)?|kept|secret) (?:\w+ ){0,2}from (?:the |our )?"
                r"<table>\b|\bunbeknownst to (?:the |our )?<table>\b",
                "What she hides from the party",
            ),
            Idiom(
                DM,
                KEY,
                r"^(?:\w+ ){0,2}<true> (?:<facts>|<key_facts>)(?:$| (?:and|of|behind)\b)",
                "True ruler",
            ),
            Idiom(
                PLAYERS,
                HEADING,
                r"^(?:(?:public|common|general) (?:knowledge|info(?:rmation)?|facts|lore)|publicly known|"
                r"players? (?:s )?(?:knowledge|handouts?|facing|safe|view|recap|introduction)|"
                r"what (?:the |your )?<table> (?:already )?(?:knows?|sees?|ha(?:s|ve) learned)|"
                r"(?:known to|for) (?:the |all )?(?:players?|party|pcs))$",
                "Public Knowledge",
            ),
            Idiom(
                DM,
                NAME,
                r"^(?:<master>|keepers?|referees?|wardens?)$|"
                r"\b(?:<master>|keepers?|referees?|wardens?) (?:s )?(?:<only>|<notes>|guide|screen)\b|^for (?:the )?<master>$",
                "GM only",
            ),
            Idiom(DM, NAME, r"\w (?:dm|gm|dm only|gm only)$|^(?:session )?prep$", "Mira DM"),
            Idiom(
                DM,
                NAME,
                r"\beyes only\b|\bspoilers?$|\bsecret (?:notes?|info|information|lore)\b",
                "Spoilers",
            ),
            Idiom(
                PLAYERS,
                NAME,
                r"^(?:(?:players? |party )?(?:s )?handouts?|(?:players?|party) (?:s )?(?:knowledge|facing|safe|view|primer|guide)|"
                r"(?:public|common) knowledge|for (?:the )?players)$",
                "Player Handouts",
            ),
        ),
        alone=(
            Words(
                DM,
                ANY,
                "secret, secrets, dm note, gm note, dm notes, gm notes, dm secret, gm secret, dm secrets, gm secrets, dm info, "
                "gm info, eyes only, secret note, secret notes, secret only, keeper only, spoiler, spoilers",
            ),
            Words(DM, LINE, "secretly"),
            Words(DM, f"{MOST} {LINE}", "dungeon master, game master, gamemaster, confidential, unrevealed"),
            Words(DM, MOST, "keeper, private, hidden, storyteller"),
            Words(DM, VALUE, "true, yes secret, none, nobody, no one, admin, owner, never, master, self, me"),
            Words(DM, CALLOUT, "master"),
            Words(PLAYERS, MOST, "player, players, public, everyone, everybody, table, pcs, handout, shared"),
            Words(PLAYERS, MOST, "player facing, player only, players only, player knowledge"),
            Words(PLAYERS, f"{CALLOUT} {VALUE}", "party, all"),
        ),
        closing_keys="secret, secrets, private, hidden, spoiler, spoilers",
        yes="true, yes, on, y",
        no="false, no, off, n",
        kinds=MappingProxyType(
            {
                "npc": "npc|non player character|people|person|villain|antagonist|adversary|ally|contact|notable",
                "character": "character|pc|player character|party|main party|party member|hero|player",
                "location": "location|locale|place|settlement|city|town|village|region|country|kingdom|continent|dungeon|building|"
                "tavern|inn|shop|district|landmark|area|geography|plane|site|point of interest|poi|province|realm|nation|"
                "hamlet|ruin|temple|room",
                "faction": "faction|group|org|organization|organisation|guild|cult|house|order|major group",
                "item": "item|magic item|artifact|artefact|treasure|loot|equipment|weapon|armor|object",
                "session": "session|session note|session log|session journal|session recap|session report|recap|campaign journal|"
                "campaign log|adventure log|game log|game session|session summary",
                "quest": "quest|mission|plot hook|hook|plot|story thread|thread|adventure|plotline|side quest",
                "deity": "deity|god|goddess|pantheon|religion|divinity",
                "event": "event|history|timeline|calendar|holiday|festival",
                "lore": "lore|worldbuilding|world lore|myth|legend|culture|magic|cosmology",
                "rule": "rule|house rule|homebrew|mechanic|homebrew rule",
                "creature": "creature|monster|beast|bestiary|enemy|stat block|statblock|threat",
                "handout": "handout|letter|player handout",
                "journal": "journal|diary",
                "prep": "prep|session prep|session preparation|preparation|planning|session plan|session planning|dm prep|gm prep|"
                "draft",
            }
        ),
        kind_keys="type, kind, category, note type, notetype, entity type, fileclass",
        session=r"session",
        dated="session date, date played, played, played on, play date, game date, real date, irl date, date",
        changed="updated, modified, last modified, last updated, date modified, modified date, lastmod, last edited",
        created="created, date created, created date, creation date, created at, created on, publish date",
        race="race, species, ancestry",
        class_="class, classes",
        player="player, played by",
        state="status, state, quest status, lifecycle, progress",
        open=r"open|active|ongoing|in progress|available|current|started|pending|todo|to do|accepted|unresolved|unfinished|"
        r"incomplete|not started",
        done=r"done|completed?|finished|resolved|closed|failed|abandoned|cancelled|canceled|success|inactive|archived?|past",
    ),
    Language(
        "de",
        master=r"sl|spielleit(?:er|erin|ung)s?|meister(?:in|augen|s)?",
        notes=r"infos?|information(?:en)?|notiz(?:en)?|wissen|hintergrund(?:infos?|wissen)?|geheimnisse?|inhalte?|teil|augen",
        advice=r"tipps?|hinweise?|leitfaden|schirm|ratschlage",
        only=r"nur|ausschliesslich|only",
        for_=r"fur",
        the=r"den|die|der|das|des|von",
        secrets=r"geheim(?:es|nis|nisse)?|spoiler",
        its=r"das|die|der|ihr|ihre|sein|seine|dunkle[sr]?|ganze|volle|reine|bittere|nackte",
        about=r"um|uber|von|hinter|und|der|des|vom|zu[rm]?|ist|den|dem|eine[rs]|seine[rs]|ihre[rs]|unsere[rs]",
        truth=r"wahrheit",
        true=r"wahre[nrs]?|echte[nrs]?|tatsachliche[nrs]?|eigentliche[nrs]?|geheime[nrs]?|verborgene[nrs]?",
        facts=r"identitat|natur|namen?|loyalitat|motive?|motivation|absicht(?:en)?|ziele?|plane?|gestalt|herkunft|ich|selbst|gesicht|"
        r"hintergrund|grunde?",
        key_facts=r"herrscher(?:in)?|anfuhrer(?:in)?|besitzer(?:in)?|tater(?:in)?|morder(?:in)?|schurke|schuldiger?|"
        r"auftraggeber(?:in)?|vater|mutter|eltern|erben?|erbin|volk|alter|gesinnung|geschichte|ursache|grund|grunde|beruf|macht|"
        r"krafte|wirkung|wert|ort",
        table=r"spieler(?:innen)?|gruppe|charaktere|held(?:en|innen)|scs?",
        unaware=r"(?:noch )?nichts? (?:wissen|weiss|kennen|kennt|sehen|sieht|ahnen|ahnt|erfahren|erfahrt)|"
        r"(?:wissen|weiss|ahnen|ahnt|erfahren|erfahrt) (?:\w+ )?nichts?|"
        r"(?:durfen|darf|sollen|soll|konnen|kann) (?:\w+ ){0,2}nichts? (?:\w+ ){0,2}(?:wissen|sehen|ahnen|erfahren|herausfinden)",
        withholds=(r"was", r"verbirgt|verbergen|verheimlich(?:t|en)|verschweig(?:t|en)|versteck(?:t|en)"),
        behind=r"hinter (?:den|dem) (?:kulissen|schirm)|was (?:\w+ ){0,2}wirklich\b.*|was niemand weiss|"
        r"in (?:wahrheit|wirklichkeit)",
        secretly=r"heimlich|insgeheim|niemand weiss(?: and)? dass",
        you=r"du|ihr|ich|wir",
        dice=r"wurfel\w*|wurf|d[0-9]+|w[0-9]+|probe",
        ambiguous="meister meisterin meisters",
        idioms=(
            Idiom(DM, HEADING, r"(?<!\bkein )\bgeheimnis(?:se)?(?:$| <about>\b)", "Mein dunkles Geheimnis"),
            Idiom(DM, HEADING, r"\bgeheime[nrs]? <notes>\b", "Geheime Informationen"),
            Idiom(
                DM,
                HEADING,
                r"\b(?:wissen|weiss|kennen|kennt|ahnt) (?:die )?<table> (?:noch )?nicht\b",
                "Das wissen die Spieler nicht",
            ),
            Idiom(DM, HEADING, r"\bwahre[nrs]? <facts>\b", "Ihre wahre Loyalität"),
        ),
        alone=(
            Words(
                DM,
                ANY,
                "sl, nur sl, nur fur sl, nur fur den sl, nur fur die sl, sl only, sl info, sl infos, sl notizen, geheim, "
                "geheimnis, geheimnisse",
            ),
            Words(DM, LINE, "heimlich, insgeheim"),
            Words(DM, f"{MOST} {LINE}", "spielleiter, spielleitung"),
            Words(PLAYERS, VALUE, "spieler, alle, offentlich"),
        ),
        closing_keys="geheim, nur sl",
        yes="ja",
        no="nein",
        kinds=MappingProxyType(
            {
                "npc": "nsc|nichtspielercharakter|person|personen",
                "character": "spielercharakter|sc|held|helden",
                "location": "ort|orte|schauplatz|stadt|dorf|region",
                "faction": "fraktion|fraktionen|organisation|gilde|gilden",
                "item": "gegenstand|gegenstande",
                "session": "sitzung|sitzungen|spielabend|spielabende|spielsitzung",
                "quest": "auftrag|auftrage|abenteuer",
                "deity": "gottheit|gottheiten|gotter",
                "event": "ereignis|ereignisse",
                "creature": "monster|kreatur|kreaturen",
                "prep": "vorbereitung|planung|entwurf|entwurfe",
            }
        ),
        kind_keys="typ, kategorie",
        session=r"sitzung|spielabend",
        dated="datum, gespielt, gespielt am, spieldatum",
        changed="geandert, geandert am, aktualisiert",
        created="erstellt, erstellt am, angelegt",
        race="rasse, volk",
        class_="klasse",
        player="spieler",
        state="stand",
        open=r"offen|aktiv|laufend|begonnen",
        done=r"erledigt|abgeschlossen|beendet|gescheitert",
    ),
    Language(
        "fr",
        master=r"mj|meneu(?:r|se)s?(?: de jeu)?|mait?re (?:du|de) jeu",
        notes=r"notes?|infos?|informations?|secrets?|aide|section|partie|contenus?|connaissances?",
        advice=r"conseils?|guide|ecran|rappels?|astuces?",
        only=r"seulement|uniquement|reservee?s?|que|only",
        for_=r"pour|au|a l attention",
        the=r"le|la|du|de|des|aux|a|toi|vous",
        secrets=r"secrets?|spoilers?",
        its=r"le|la|les|l|son|ses|leurs?|sombres?|grands?|vieux|terrible|triste",
        about=r"du|de|des|d\w*|sur|derriere|et|a propos",
        truth=r"verites?",
        true=r"vraie?s?|veritables?|reele?s?|secr(?:et|ete)s?|cachee?s?",
        facts=r"identites?|nature|noms?|loyaute|allegeances?|motivations?|intentions?|buts?|objectifs?|plans?|visage|origine",
        key_facts=r"maitre|chef|coupable|assassin|tueur|pere|mere|employeur|forme|histoire|motifs?",
        table=r"joueu(?:rs?|ses?)|pjs?|groupe|personnages|heros|aventuriers",
        unaware=r"ignore(?:nt)?|n(?:e)? (?:\w+ ){0,3}(?:sav\w+|sait|connai\w+|voi\w+|apprendre|decouvr\w+)",
        withholds=(r"ce qu\w*", r"cache(?:nt)?|dissimule(?:nt)?|tait|taisent|vraiment|reellement"),
        behind=r"(?:dans les |en )?coulisses|derriere l ecran|ce qui s est (?:vraiment|reellement) passe|ce que personne ne sait|"
        r"en (?:verite|realite)",
        secretly=r"secretement|personne ne sait qu\w*",
        you=r"tu|vous|je|nous",
        dice=r"jets?|lancez?|d[0-9]+",
        idioms=(
            Idiom(
                DM,
                HEADING,
                r"\b(?:pour|a l attention|reservee?s? a) (?:le |la |du |de la )?maitre$|"
                r"\breserve au maitre\b",
                "Pour le maître",
            ),
            Idiom(DM, HEADING, r"\b(?:inconnue?s?|cachee?s?) (?:des|aux?|du) <table>\b", "Caché aux joueurs"),
        ),
        alone=(Words(DM, ANY, "mj, mj seulement, notes mj, notes du mj, secret mj"),),
        closing_keys="mj seulement",
        yes="oui",
        no="non",
        kinds=MappingProxyType(
            {
                "npc": "pnj|personnage|personnages",
                "character": "personnage joueur|pj",
                "location": "lieu|lieux|endroit|ville",
                "item": "objet|objets",
                "session": "seance|seances|journal de campagne",
                "quest": "quete|quetes",
                "deity": "divinite|divinites|dieu|dieux",
                "event": "evenement|evenements",
                "creature": "creatures",
                "prep": "brouillon|brouillons",
            }
        ),
        kind_keys="categorie",
        session=r"seance",
        dated="date de la seance, jouee le",
        changed="modifie, mis a jour, mise a jour",
        created="cree, creee, date de creation",
        race="espece",
        class_="classe",
        player="joueur",
        state="statut",
        open=r"en cours|actif|active|ouverte?",
        done=r"terminee?|finie?|achevee?|accomplie?|echouee?",
    ),
    Language(
        "es",
        master=r"dj|master|director(?:a)? de juego|narrador(?:a)?",
        notes=r"notas?|info(?:rmacion)?|secretos?|datos|apuntes|contenidos?",
        advice=r"consejos?|guia|pantalla|ayuda",
        only=r"solo|solamente|unicamente|exclusivo",
        for_=r"para",
        the=r"el|la|del|de|al",
        secrets=r"secretos?|spoilers?",
        its=r"el|los|la|las|su|sus|gran|oscuros?",
        about=r"de|del|sobre|detras|y|acerca",
        truth=r"verdad",
        true=r"verdader[oa]s?|real(?:es)?|auten?tic[oa]s?|secret[oa]s?|ocult[oa]s?",
        facts=r"identidad(?:es)?|naturaleza|nombres?|lealtad(?:es)?|motiv(?:os?|acion(?:es)?)|intencion(?:es)?|objetivos?|plan(?:es)?|"
        r"rostro|origen",
        key_facts=r"lider|jefe|amo|culpable|asesino|padre|madre|forma|historia|gobernante",
        table=r"jugador(?:es|as)?|pjs?|grupo|personajes|heroes|aventureros",
        unaware=r"(?:aun |todavia )?(?:no (?:\w+ ){0,2}(?:sab\w+|conoc\w+|ven?|ver|enterar\w+|descubr\w+)|ignoran?|desconocen?)",
        withholds=(r"lo que", r"esconden?|ocultan?|callan?|realmente|de verdad"),
        behind=r"entre bastidores|(?:tras|detras de) la pantalla|lo que (?:realmente|de verdad) \w+(?: \w+)?|lo que nadie sabe|"
        r"en (?:verdad|realidad)",
        secretly=r"secretamente|nadie sabe que (?:el|la|los|las|un|una|su|sus)",
        you=r"tu|yo|vosotros|puedes",
        dice=r"dados?|tiradas?|tira|d[0-9]+",
        ambiguous="master narrador narradora",
        idioms=(
            Idiom(DM, HEADING, r"\b(?:ocult|escondid)[oa]s? (?:al|a los|a las) <table>\b", "Oculto a los jugadores"),
            Idiom(DM, HEADING, r"\bpara (?:el |la )?director(?:a)?$", "Para la directora"),
        ),
        alone=(
            Words(DM, ANY, "secreto, secretos, solo dm, solo master, notas dm, solo dj"),
            Words(DM, f"{CALLOUT} {ASIDE} {LINE}", "dj, director de juego"),
            Words(DM, f"{CALLOUT} {ASIDE}", "master"),
        ),
        closing_keys="secreto",
        yes="si",
        kinds=MappingProxyType(
            {
                "npc": "pnj|personaje|personajes|persona",
                "character": "personaje jugador",
                "location": "lugar|lugares|ciudad|pueblo",
                "faction": "faccion|facciones",
                "item": "objeto|objetos",
                "session": "sesion|sesiones|diario de campana",
                "quest": "mision|misiones",
                "deity": "deidad|deidades|dioses",
                "event": "evento|eventos",
                "creature": "criatura|criaturas",
                "prep": "preparacion|borrador|borradores",
            }
        ),
        kind_keys="tipo, categoria",
        session=r"sesion",
        dated="fecha, fecha de la sesion",
        changed="modificado, actualizado",
        created="creado, fecha de creacion",
        race="especie, raza",
        class_="clase",
        player="jugador",
        state="estado",
        open=r"abiert[oa]|activ[oa]|en curso|en progreso|pendiente",
        done=r"completad[oa]|terminad[oa]|acabad[oa]|fallid[oa]",
    ),
    Language(
        "it",
        master=r"master|narrator[ei]",
        notes=r"not[ae]|appunti|info(?:rmazioni)?|segret[oi]|dettagli|contenut[oi]",
        advice=r"consigli|guida|schermo|suggerimenti",
        only=r"solo|soltanto|riservat[oaie]|esclusiv\w+",
        for_=r"per",
        the=r"il|la|del|della|al|i|lo",
        secrets=r"segret[oi]|spoiler|retroscena",
        its=r"il|i|la|le|suo|sua|suoi|gran|oscur[oi]",
        about=r"di|del|dello|della|dei|d\w+|su|sull?\w*|sui|dietro|e",
        truth=r"verita",
        true=r"ver[oaei]|real[ei]|segret[oaie]|nascost[oaie]",
        facts=r"identita|natura|nom[ei]|lealta|motiv(?:i|o|azion[ei])|intenzion[ei]|obiettiv[oi]|pian[oi]|volto|origine",
        key_facts=r"capo|padrone|colpevole|assassino|padre|madre|forma|storia|governante",
        table=r"giocator[ei]|giocatrici|pg|gruppo|personaggi|eroi|avventurieri",
        unaware=r"(?:ancora )?(?:non (?:\w+ ){0,2}(?:sa|sanno|sapere|conosc\w+|ved\w+|scopri\w+)|ignorano)",
        withholds=(
            r"(?:che )?(?:cosa|cio che|quello che)",
            r"nascond(?:e|ono)|cela(?:no)?|tace|tacciono|veramente|davvero",
        ),
        behind=r"dietro (?:le quinte|lo schermo)|(?:cosa|quello che) (?:e )?(?:davvero|veramente) \w+(?: \w+)?|"
        r"quello che nessuno sa|in (?:verita|realta)",
        secretly=r"segretamente|nessuno sa che",
        you=r"tu|io|voi|puoi",
        dice=r"dad[oi]|tir[aoi]|d[0-9]+",
        ambiguous="master narratore narratori",
        idioms=(Idiom(DM, HEADING, r"\bnascost[oaie] (?:al|ai|alle) <table>\b", "Nascosto ai giocatori"),),
        alone=(Words(DM, ANY, "segreto, segreti, solo gm, note master"),),
        closing_keys="segreto",
        kinds=MappingProxyType(
            {
                "npc": "png|personaggio|personaggi|persone",
                "character": "personaggio giocante",
                "location": "luogo|luoghi|citta",
                "faction": "fazione|fazioni",
                "item": "oggetto|oggetti",
                "session": "sessione|sessioni|diario di campagna",
                "quest": "missione|missioni",
                "deity": "divinita|dei",
                "event": "evento|eventi",
                "creature": "creatura|creature|mostro|mostri",
                "prep": "preparazione|bozza|bozze",
            }
        ),
        kind_keys="tipo, categoria",
        session=r"sessione",
        dated="data, data della sessione",
        changed="modificato, aggiornato",
        created="creato, data di creazione",
        race="razza",
        class_="classe",
        player="giocatore",
        state="stato",
        open=r"apert[oa]|attiv[oa]|in corso",
        done=r"completat[oa]|conclus[oa]|finit[oa]|fallit[oa]",
    ),
    Language(
        "pt",
        master=r"mestre(?: de jogo)?|narrador(?:a)?",
        notes=r"notas?|anotacoes|info(?:rmac\w+)?|segredos?|dados|conteudos?",
        advice=r"dicas?|guia|conselhos?|escudo",
        only=r"so|somente|apenas|exclusivo",
        for_=r"para",
        the=r"o|a|do|da|de|ao",
        secrets=r"segredos?|spoilers?",
        its=r"o|os|a|as|seu|sua|seus|grande|obscuros?",
        about=r"de|do|da|dos|das|sobre|por|e",
        truth=r"verdade",
        true=r"verdadeir[oa]s?|rea(?:l|is)|secret[oa]s?|ocult[oa]s?",
        facts=r"identidades?|natureza|nomes?|lealdades?|motiv(?:os?|ac\w+)|intenc(?:ao|oes)|objetivos?|planos?|rosto|origem",
        key_facts=r"chefe|culpado|assassino|pai|mae|forma|historia|governante|lider",
        table=r"jogador(?:es|as)?|pjs?|grupo|personagens|herois|aventureiros",
        unaware=r"(?:ainda )?(?:nao (?:\w+ ){0,2}(?:sab\w+|conhec\w+|vee?m?|ver|descobr\w+)|ignoram?|desconhecem?)",
        withholds=(r"o que", r"escond(?:e|em)|ocultam?|realmente|de verdade"),
        behind=r"(?:nos )?bastidores|por tras (?:do escudo|da tela)|o que (?:realmente|de verdade) \w+(?: \w+)?|o que ninguem sabe|"
        r"na (?:verdade|realidade)",
        secretly=r"secretamente|ninguem sabe que",
        you=r"voce|eu|voces",
        dice=r"dados?|rol[ae]\w*|d[0-9]+",
        ambiguous="mestre narrador narradora",
        idioms=(Idiom(DM, HEADING, r"\b(?:ocult|escondid)[oa]s? (?:ao|aos|as) <table>\b", "Oculto aos jogadores"),),
        alone=(Words(DM, ANY, "segredo, segredos, so mestre"),),
        closing_keys="segredo",
        yes="sim",
        no="nao",
        kinds=MappingProxyType(
            {
                "npc": "personagem|personagens|pessoa|pessoas",
                "character": "personagem jogador",
                "location": "local|locais|cidade|lugar|lugares",
                "faction": "faccao|faccoes",
                "item": "iten|itens|objeto|objetos",
                "session": "sessao|sessoes",
                "quest": "missao|missoes",
                "deity": "divindade|divindades|deuses",
                "event": "evento|eventos",
                "creature": "criatura|criaturas",
                "prep": "preparacao|planejamento|rascunho|rascunhos",
            }
        ),
        kind_keys="tipo, categoria",
        session=r"sessao",
        dated="data, data da sessao",
        changed="modificado, atualizado",
        created="criado, data de criacao",
        race="raca, especie",
        class_="classe",
        player="jogador",
        state="estado, situacao",
        open=r"abert[oa]|ativ[oa]|em andamento|pendente",
        done=r"concluid[oa]|complet[oa]|falhad[oa]",
    ),
    Language(
        "nl",
        master=r"spelleid(?:er|ster|ing)s?|spelmeester|verteller",
        notes=r"notities|notitie|info(?:rmatie)?|kennis|geheimen?|achtergrond(?:info)?|aantekeningen|inhoud",
        advice=r"tips?|advies|gids|handleiding|scherm",
        only=r"alleen|enkel|uitsluitend",
        for_=r"voor",
        the=r"de|het|van",
        secrets=r"geheim(?:en)?|spoilers?",
        its=r"de|het|zijn|haar|hun|duister",
        about=r"van|over|achter|en",
        truth=r"waarheid",
        true=r"ware|echte|werkelijke|geheime|verborgen",
        facts=r"identiteit(?:en)?|aard|na(?:am|men)|loyaliteit(?:en)?|motie(?:f|ven)|bedoeling(?:en)?|doel(?:en)?|plan(?:nen)?|"
        r"gedaante|afkomst",
        key_facts=r"leider|baas|dader|moordenaar|vader|moeder|eigenaar|opdrachtgever|geschiedenis|heerser",
        table=r"spelers?|groep|personages|helden",
        unaware=r"(?:(?:mogen|moeten|kunnen) )?(?:nog )?niets? (?:\w+ ){0,2}(?:weten|weet|kennen|kent|zien)|"
        r"(?:weten|weet) (?:\w+ )?niets?",
        withholds=(r"wat", r"verbergt|verbergen|verzwijgt|geheimhoudt"),
        behind=r"achter (?:de schermen|het scherm)|wat (?:er )?(?:echt|werkelijk) \w+(?: \w+)?|wat niemand weet|"
        r"in werkelijkheid",
        secretly=r"stiekem|heimelijk|niemand weet dat",
        you=r"je|jij|jullie|ik",
        dice=r"dobbel\w*|worp|rol|d[0-9]+",
        ambiguous="verteller",
        alone=(
            Words(DM, ANY, "geheim, geheimen, alleen dm, alleen voor de dm, dm notities, notities dm"),
            Words(DM, f"{MOST} {LINE}", "spelleider"),
        ),
        closing_keys="geheim",
        yes="ja",
        no="nee",
        kinds=MappingProxyType(
            {
                "npc": "personage|mensen",
                "character": "spelerpersonage",
                "location": "plaats|plaatsen|locatie|locaties|stad|dorp",
                "faction": "factie|facties",
                "item": "voorwerp|voorwerpen",
                "session": "sessie|sessies",
                "quest": "opdracht|opdrachten|avontuur",
                "deity": "godheid|goden",
                "event": "gebeurtenis|gebeurtenissen",
                "creature": "wezen|wezens",
                "prep": "voorbereiding",
            }
        ),
        kind_keys="soort, categorie",
        session=r"sessie",
        dated="datum, gespeeld op",
        changed="gewijzigd, bijgewerkt",
        created="aangemaakt, gemaakt op",
        race="ras",
        class_="klas",
        player="speler",
        open=r"lopend|bezig|actief",
        done=r"voltooid|afgerond|klaar|mislukt",
    ),
    Language(
        "pl",
        master=r"mg|mistrz(?:a|owi|yni)? gry|prowadzac(?:y|ego|ej)|narrator(?:a)?",
        notes=r"notatki|notatka|informacje|info|wiedza|sekrety|tajemnice|uwagi|tresci?",
        advice=r"porady|wskazowki|poradnik|ekran",
        only=r"tylko|wylacznie",
        for_=r"dla|do",
        the=r"oczu|od",
        secrets=r"sekret(?:y)?|tajemnic[aey]|spoilery?",
        its=r"jego|jej|ich|mroczn[ayei]|wielk[ai]",
        about=r"o|i|za|\w+",
        truth=r"prawda",
        true=r"prawdziw[ayei]|faktyczn[ayei]|ukryt[ayei]|sekretn[ayei]|tajn[ayei]",
        facts=r"tozsamosci?|natura|imiona|imie|lojalnosc|motyw(?:y|acja)?|zamiary?|intencj[ae]|cele?|plany?|oblicze|pochodzenie",
        key_facts=r"przywodca|szef|sprawca|morderca|ojciec|matka|wlasciciel|zleceniodawca|historia|wladca",
        table=r"gracz[ey]?|druzyna|postacie|bohaterowie|bg",
        unaware=r"(?:jeszcze )?nie (?:\w+ )?(?:wiedz\w+|wie|znaja|widza|widziec|poznac)",
        withholds=(r"co", r"ukrywa(?:ja)?|zataja"),
        behind=r"za (?:kulisami|kulisy|ekranem|zaslonka)|co (?:sie )?naprawde \w+(?: \w+)?|czego nikt nie wie|w rzeczywistosci",
        secretly=r"potajemnie|skrycie|nikt nie wie(?: and)? ze",
        you=r"ty|ja|mozesz",
        dice=r"kosc\w*|rzut\w*|k[0-9]+",
        ambiguous="narrator",
        alone=(
            Words(DM, ANY, "mg, tylko mg, tylko dla mg, dla mg, notatki mg, sekret, sekrety, tajemnica, tajemnice"),
            Words(DM, f"{MOST} {LINE}", "mistrz gry, mistrza gry"),
        ),
        closing_keys="sekret, tajemnica",
        yes="tak",
        no="nie",
        kinds=MappingProxyType(
            {
                "npc": "bohater niezalezny|postac|postacie|osoba|osoby",
                "character": "bohater gracza",
                "location": "miejsce|miejsca|lokacja|lokacje|miasto",
                "faction": "frakcja|frakcje|gildia",
                "item": "przedmiot|przedmioty",
                "session": "sesja|sesje",
                "quest": "zadanie|zadania|misja|misje|przygoda",
                "deity": "bostwo|bostwa|bogowie",
                "event": "wydarzenie|wydarzenia",
                "creature": "potwor|potwory|stworzenie",
                "prep": "przygotowanie|przygotowania|szkic|szkice|plan sesji",
            }
        ),
        kind_keys="rodzaj, kategoria",
        session=r"sesja",
        dated="data, data sesji",
        changed="zmieniono, zaktualizowano",
        created="utworzono",
        race="rasa",
        class_="klasa",
        player="gracz",
        state="stan",
        open=r"otwart[ey]|aktywn[ey]|w toku",
        done=r"zakonczon[ey]|ukonczon[ey]",
    ),
)

ALL = (ANYWHERE, *LANGUAGES)


def listed(attribute: str) -> tuple[str, ...]:
    """The texts of all rows for an attribute that has them with commas between them, each once."""
    texts = (text.strip() for row in ALL for text in getattr(row, attribute).split(","))
    return tuple(dict.fromkeys(filter(None, texts)))


def alternatives(attribute: str) -> str:
    """The alternatives of all rows for an attribute, as one regular expression."""
    return "|".join(filter(None, (getattr(row, attribute) for row in ALL)))


_WORDS_OF_ROW = re.compile(r"<([a-z_]+)>")


def filled(row: Language, idiom: Idiom) -> str:
    """The pattern of an idiom with the words of its row."""
    return _WORDS_OF_ROW.sub(lambda match: f"(?:{getattr(row, match[1])})", idiom.pattern)


def master_phrases(row: Language) -> str:
    """What says that something is for the game master, wherever it stands in a text."""
    master, the = rf"(?:{row.master}|{ANYWHERE.master})", rf"(?: (?:{row.the}))*"
    return (
        rf"\b{master} ?(?:s )?(?:{row.only}|{row.notes})\b|\b(?:{row.notes}){the}(?: (?:{row.for_}))?{the} {master}\b|"
        rf"\b(?:{row.only})(?: (?:{row.for_}|{row.the}))* {master}\b"
    )


def _advice(row: Language) -> str:
    master, the = rf"(?:{row.master}|{ANYWHERE.master})", rf"(?: (?:{row.for_}|{row.the}))*"
    return rf"\b{master} ?(?:s )?(?:{row.advice})\b|\b(?:{row.advice}){the} {master}\b"


def heading_phrases(row: Language) -> tuple[str, ...]:
    """What says it of all below a heading, or behind a key."""
    its = rf"(?:(?:{row.its}) )*"
    beginning, verb = row.withholds
    return (
        master_phrases(row),
        _advice(row),
        rf"\b(?:{row.for_})(?: (?:{row.the}))* (?:{row.master}|{ANYWHERE.master})$",
        rf"^{its}(?:{row.secrets}|{row.truth})(?:$| (?:{row.about})\b)",
        rf"^{its}(?:{row.true}) (?:{row.facts})\b|^(?:{row.facts}) (?:{row.true})$",
        rf"\b(?:{row.table}) (?:{row.unaware})\b",
        rf"^(?:{beginning}) (?:\w+ ){{0,4}}(?:{verb})\b",
        rf"^{its}(?:{row.behind})$",
    )


def key_phrases(row: Language) -> tuple[str, ...]:
    """What says it of the value of a key alone."""
    facts = f"{row.facts}|{row.key_facts}"
    return (rf"^(?:(?:{row.its}) )*(?:{row.true}) (?:{facts})\b|^(?:{facts}) (?:{row.true})$",)


def name_phrases(row: Language) -> tuple[str, ...]:
    """What says it of a file or folder."""
    return (
        master_phrases(row),
        _advice(row),
        rf"^(?:(?:{row.the}|{row.its}) )*(?:{row.secrets})$",
        rf"^(?:(?:{row.for_})(?: (?:{row.the}))* )?(?:{row.master})$",
    )
