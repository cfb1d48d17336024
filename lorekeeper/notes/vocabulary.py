"""The words by which game masters say who may see something: one table, as data.

Texts are compared as `secrets.comparable` gives them: lower case, without accents, punctuation and Markdown, "&" as "and". A
word of another language is one more row, or one more word in a row; nothing else changes.
"""

from __future__ import annotations

from typing import NamedTuple

from lorekeeper.audience import DM, PLAYERS

HEADING, NAME = "heading", "name"
"""Where a saying counts: in headings, titles of callouts, keys of facts and heads of columns; in names of files and folders."""

CALLOUT, ASIDE, VALUE, TAG, LINE = "callout", "aside", "value", "tag", "line"
"""Where a word counts by itself: of a callout, fence or comment; in brackets; as a value of front matter; as a tag; and where it
begins a line, as in "DM: she lies"."""


class Saying(NamedTuple):
    """A pattern that a text may have.

    Attributes:
        language: as in BCP 47.
        audience: who may see what it stands for.
        places: where it counts, of `HEADING` and `NAME`.
        pattern: regular expression, searched in a comparable text.
        example: a text that has it.
    """

    language: str
    audience: str
    places: str
    pattern: str
    example: str


class Words(NamedTuple):
    """Words that say it by themselves.

    Attributes:
        language: as in BCP 47; "" for any.
        audience: as of `Saying`.
        places: where they count, of `CALLOUT`, `ASIDE`, `VALUE`, `TAG` and `LINE`.
        words: comparable texts, with commas between them.
    """

    language: str
    audience: str
    places: str
    words: str


MASTER = (
    r"(?:gms?|dms?|game ?masters?|dungeon ?masters?|keepers?|storytellers?|referees?|wardens?|sl|spielleit(?:er|erin|ung)|"
    r"mj|meneur|meneuse|maitre (?:du|de) jeu|director(?:a)? de juego|mestre(?: de jogo)?)"
)
_TOLD = (
    r"(?:notes?|knowledge|info|infos|information|informations|lore|facts?|details?|background|version|section|summary|truths?|"
    r"reference|wissen|notizen?|hintergrund|geheimnisse?)"
)
_KEPT = (
    rf"(?:{_TOLD}|properties|things?|elements?|agendas?|motives?|motivations?|goals?|plans?|identity|history|nature|"
    "secrets?|abilities|powers?|features?|stuff|content|aspects?|connections?|allegiances?|past)"
)
_TRUE = (
    r"(?:identity|nature|names?|loyalty|loyalties|allegiances?|forms?|motives?|motivations?|goals?|agendas?|intentions?|"
    r"purpose)"
)
_REAL = r"real (?:identity|nature|loyalty|loyalties|allegiances?|motives?|motivations?|agendas?|intentions?)"
_GERMAN_MASTER = r"(?:sl|spielleit(?:er|erin|ung))"
_GERMAN_TABLE = r"(?:spieler(?:innen)?|gruppe|charaktere|held(?:en|innen)|scs?)"
_GERMAN_KNOW = r"(?:wissen|weiss|kennen|kennt|sehen|sieht|ahnen|ahnt|erfahren|erfahrt)"
_TABLE = r"(?:players?|party|pcs|characters|group)"
_NOTAS = r"(?:notas|notes?|notizen|appunti|infos?|informacion|informations|informazioni|secretos|secrets?|segreti|segredos|wissen)"
_OF = r"(?:del|de la|de|du|des|der|do|da|per il|per la|para el|para o|pour le|pour la|fur den|fur die|fur)"
_LEADER = rf"(?:{MASTER}|master|narrador|narratore)"

SAYINGS: tuple[Saying, ...] = (
    Saying("en", DM, HEADING, r"^(?:gms?|dms?|sl)$", "GM"),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b{MASTER} (?:s )?(?:only|eyes|secrets?|tips|advice|guidance|guide|screen|prep|{_TOLD})\b",
        "GM Notes",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b(?:for|to) (?:the |your )?{MASTER}(?: only| s eyes| eyes)?$|^for (?:the )?{MASTER}\b(?! story)",
        "For the DM only",
    ),
    Saying("en", DM, HEADING, rf"\bonly for (?:the )?{MASTER}\b", "Only for the GM"),
    Saying(
        "en",
        DM,
        HEADING,
        r"\beyes only\b|\bspoilers?\b|\bbehind the (?:scenes|screen)\b|\bwhat is really going on\b",
        "Behind the Scenes",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        r"^(?:what|whats) (?:(?:is|was|s) )?(?:really|actually|true|truly)\b",
        "What really happened",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b{_TABLE} (?:do not|don ?t|must not|mustn ?t|should not|shouldn ?t|never|cannot|can ?t) (?:know|see|read|learn)",
        "What the players do not know",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b(?:unknown to|hidden from|secret from|kept from|not (?:yet )?known (?:to|by)) (?:the )?{_TABLE}\b",
        "Hidden from the party",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"^(?:the |true |dark |deep |known )?secrets?(?:$| (?:and|amp) |s? {_KEPT}\b)",
        "Secrets & Clues",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        r"\band secrets?$|^(?:his|her|its|their|npc|plot|campaign|session|\w+s) secrets?$",
        "Rumours and Secrets",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b(?:secret|hidden|private|confidential|unrevealed) {_KEPT}(?:$| (?:and|amp|of|about)\b)",
        "Hidden Agenda",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"^(?:(?:the|his|her|its|their) )?(?:true {_TRUE}|{_REAL})(?:$| (?:and|of)\b)",
        "True Identity",
    ),
    Saying("en", DM, HEADING, r"^(?:the |plot )?twists?$", "Plot Twist"),
    Saying("de", DM, HEADING, rf"\bnur (?:fur )?(?:den |die |der )?{_LEADER}\b", "Nur für den SL"),
    Saying(
        "de",
        DM,
        HEADING,
        r"^(?:das |die |sein |seine |ihr |ihre )?geheim(?:nis|nisse|es)?(?:$| und\b)|^(?:\w+ ){1,2}geheimnis(?:se)?$",
        "Geheimnisse",
    ),
    Saying("de", DM, HEADING, rf"\bfur (?:den |die )?{_GERMAN_MASTER}$", "Hintergrund für die Spielleitung"),
    Saying(
        "de",
        DM,
        f"{HEADING} {NAME}",
        r"\b(?:sl|spielleit(?:er|erin|ungs?)|meister) ?"
        r"(?:infos?|information(?:en)?|notiz(?:en)?|wissen|geheimnis(?:se)?|hintergrund(?:infos?|wissen)?)\b",
        "Spielleiterinformationen",
    ),
    Saying("de", DM, HEADING, r"^was (?:\w+ ){0,2}wirklich\b", "Was damals wirklich geschah"),
    Saying(
        "de",
        DM,
        HEADING,
        r"\bgeheime[nrs]? (?:infos?|informationen|wissen|notizen|plane?|ziele?|motive?|absichten)\b",
        "Geheime Pläne",
    ),
    Saying(
        "de",
        DM,
        HEADING,
        r"\bwahre[nrs]? (?:loyalitat|identitat|absicht(?:en)?|natur|motive?|ziele?|namen?)\b",
        "Wahre Loyalität",
    ),
    Saying(
        "de",
        DM,
        HEADING,
        rf"\b{_GERMAN_TABLE} (?:noch )?nichts? {_GERMAN_KNOW}\b|"
        rf"\b{_GERMAN_KNOW} (?:die )?{_GERMAN_TABLE} (?:noch )?nicht\b|\b{_GERMAN_TABLE} {_GERMAN_KNOW} nicht\b|"
        "^hinter den kulissen$",
        "Was die Spieler nicht wissen",
    ),
    Saying(
        "fr",
        DM,
        HEADING,
        rf"\b{MASTER} (?:seulement|uniquement)\b|\b(?:seulement|uniquement|reserve) (?:pour |au )?(?:le )?{MASTER}\b",
        "MJ seulement",
    ),
    Saying(
        "fr",
        DM,
        HEADING,
        r"^les? secrets?$|\b(?:vraie?|veritable) (?:identite|nature|loyaute|intentions?|nom)\b",
        "Véritable identité",
    ),
    Saying("es", DM, HEADING, rf"\bsolo (?:para )?(?:el |la |il |per il |o )?{_LEADER}\b", "Solo para el máster"),
    Saying(
        "es",
        DM,
        HEADING,
        r"^(?:el |los |su |sus )?secretos?(?:$| y\b)|\bverdader[oa]s? (?:identidad|lealtad|naturaleza|intencion(?:es)?)\b",
        "Secretos",
    ),
    Saying(
        "it",
        DM,
        HEADING,
        r"^(?:il |i |suo |suoi )?segret[oi](?:$| e\b)|\bver[ae] (?:identita|natura|lealta|intenzion[ei])\b",
        "Segreti",
    ),
    Saying(
        "pt",
        DM,
        HEADING,
        r"^(?:o |os |seu |seus )?segredos?(?:$| e\b)|\bverdadeir[oa]s? (?:natureza|intenc(?:ao|oes))\b",
        "Segredos",
    ),
    Saying("es", DM, HEADING, rf"\b{_NOTAS}(?: {_OF})? {_LEADER}\b", "Notas del máster"),
    Saying(
        "en",
        PLAYERS,
        HEADING,
        rf"^(?:public|common|general) {_TOLD}\b|\b(?:public|common) knowledge\b|\bpublicly known\b",
        "Public Knowledge",
    ),
    Saying(
        "en",
        PLAYERS,
        HEADING,
        rf"\bplayers? (?:{_TOLD}|handouts?|facing|safe|view|recap|description|introduction)\b",
        "Player Handout",
    ),
    Saying(
        "en",
        PLAYERS,
        HEADING,
        rf"\bwhat (?:the |your )?{_TABLE} (?:already )?(?:knows?|sees?|have learned|has learned)\b",
        "What the party knows",
    ),
    Saying("en", PLAYERS, HEADING, r"(?:\bknown to|^for) (?:the |all )?(?:players?|party|pcs)$", "Known to the party"),
    Saying(
        "en",
        DM,
        NAME,
        rf"^{MASTER}$|\b{MASTER} (?:s )?(?:only|eyes|secrets?|guide|screen|prep|{_TOLD})\b|^for (?:the )?{MASTER}$",
        "GM only",
    ),
    Saying("en", DM, NAME, r"\w (?:dm|gm|dm only|gm only)$|^(?:session )?prep$", "Mira DM"),
    Saying(
        "en", DM, NAME, r"^secrets?$|\beyes only\b|\bspoilers?$|\bsecret (?:notes?|info|information|lore)\b", "Spoilers"
    ),
    Saying("de", DM, NAME, r"^geheim(?:nis|nisse|es)?$|^nur (?:fur )?(?:den |die )?sl$", "Geheimnisse"),
    Saying("es", DM, NAME, rf"^(?:secretos|segreti|segredos)$|\b{_NOTAS}(?: {_OF})? {_LEADER}\b", "Notas del máster"),
    Saying(
        "en",
        PLAYERS,
        NAME,
        rf"\b(?:players?|party) (?:{_TOLD}|handouts?|facing|safe|view|primer|guide)\b",
        "Player Handouts",
    ),
    Saying(
        "en",
        PLAYERS,
        NAME,
        r"\b(?:public|common) knowledge\b|^(?:player |players )?handouts?$|^for (?:the )?players$",
        "Handouts",
    ),
)
"""What a text says, the first that fits: what keeps something secret comes before what opens it."""

_ALL = f"{CALLOUT} {ASIDE} {VALUE} {TAG} {LINE}"
_MOST = f"{CALLOUT} {ASIDE} {VALUE}"

WORDS: tuple[Words, ...] = (
    Words(
        "", DM, _ALL, "dm, gm, dms, gms, dm only, gm only, dmonly, gmonly, for dm, for gm, dm eyes only, gm eyes only"
    ),
    Words(
        "en",
        DM,
        _ALL,
        "secret, secrets, dm note, gm note, dm notes, gm notes, dm secret, gm secret, dm secrets, gm secrets",
    ),
    Words(
        "en",
        DM,
        _ALL,
        "dm info, gm info, eyes only, secret note, secret notes, secret only, keeper only, spoiler, spoilers",
    ),
    Words("en", DM, f"{_MOST} {LINE}", "dungeon master, game master, gamemaster, confidential, unrevealed"),
    Words("en", DM, _MOST, "keeper, private, hidden, storyteller"),
    Words("en", DM, VALUE, "true, yes secret, none, nobody, no one, admin, owner, never, master, self, me"),
    Words("en", DM, CALLOUT, "master"),
    Words(
        "de",
        DM,
        _ALL,
        "nur sl, nur fur sl, nur fur den sl, nur fur die sl, sl only, sl info, sl infos, sl notizen, geheim, geheimnis, "
        "geheimnisse",
    ),
    Words("de", DM, f"{_MOST} {LINE}", "spielleiter, spielleitung"),
    Words("de", DM, _ALL, "sl"),
    Words("fr", DM, _ALL, "mj seulement, notes mj, notes du mj, secret mj"),
    Words("fr", DM, f"{CALLOUT} {VALUE}", "mj"),
    Words("es", DM, _ALL, "secreto, secretos, solo dm, solo master, notas dm"),
    Words("it", DM, _ALL, "segreto, segreti, solo gm, note master"),
    Words("pt", DM, _ALL, "segredo, segredos, so mestre"),
    Words("en", PLAYERS, _MOST, "player, players, public, everyone, everybody, table, pcs, handout, shared"),
    Words("en", PLAYERS, _MOST, "player facing, player only, players only, player knowledge"),
    Words("en", PLAYERS, f"{CALLOUT} {VALUE}", "party, all"),
    Words("de", PLAYERS, VALUE, "spieler, alle, offentlich"),
)
"""What one comparable text says as a whole."""

UNDECIDED = "mixed, partial, some, default, unset"
"""Values of front matter that leave it to marks within the note."""

STRICT_KEYS = "visibility, audience, visible to, shared with, share with, viewers, visible for, seen by, sichtbarkeit"
"""Keys of front matter whose value is an audience: words, or names of people. Anything else is for the game master alone."""

LOOSE_KEYS = "access, permission, permissions"
"""Keys that say it too, and more often something else, as of the way into a harbour: only words of `WORDS`, and lists of names."""

OPENING_KEYS = "publish, dg publish, player facing, player visible, public, published, share"
"""Keys that open a note where they are true, and close it where they are false."""

EVERYDAY_OPENING_KEYS = "public, published, share"
"""Those of them whose other values are facts: the year of a book, the share of a treasure."""

CLOSING_KEYS = (
    "secret, secrets, private, gm only, dm only, gmonly, dmonly, hidden, gm, dm, spoiler, spoilers, geheim, nur sl, mj seulement, "
    "secreto, segreto, segredo"
)
"""Keys that close a note where they are true."""

YES = "true, yes, on, 1, y, ja, oui, si, sim"
NO = "false, no, off, 0, n, nein, non, nao"
