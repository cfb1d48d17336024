"""The words by which game masters say who may see something: one table, as data.

Texts are compared as `secrets.comparable` gives them: lower case, without accents, punctuation and Markdown, "&" as "and". A
word of another language is one more row, or one more word in a row; nothing else changes.
"""

from __future__ import annotations

from typing import NamedTuple

from lorekeeper.audience import DM, PLAYERS
from lorekeeper.notes.languages import LANGUAGES, heading_phrases, name_phrases

HEADING, NAME, KEY = "heading", "name", "key"
"""Where a saying counts: in headings, titles of callouts, keys of facts and heads of columns; in names of files and
folders; only in keys and heads of columns."""

CALLOUT, ASIDE, VALUE, TAG, LINE, FENCE = "callout", "aside", "value", "tag", "line", "fence"
"""Where a word counts by itself: of a callout or comment; in brackets; as a value of front matter; as a tag; and where it
begins a line, as in "DM: she lies", or a code block; a code block alone."""


class Saying(NamedTuple):
    """A pattern that a text may have.

    Attributes:
        language: as in BCP 47.
        audience: who may see what it stands for.
        places: where it counts, of `HEADING`, `NAME` and `KEY`.
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
_TABLE = r"(?:players?|party|pcs|characters|group|adventurers|heroes)"
_NOTAS = r"(?:notas|notes?|notizen|appunti|infos?|informacion|informations|informazioni|secretos|secrets?|segreti|segredos|wissen)"
_OF = r"(?:del|de la|de|du|des|der|do|da|per il|per la|para el|para o|pour le|pour la|fur den|fur die|fur)"
_LEADER = rf"(?:{MASTER}|master|narrador|narratore)"
_FRENCH_TABLE = r"(?:joueu(?:rs?|ses?)|pjs?|groupe|personnages|aventuriers|heros)"
_SPANISH_TABLE = r"(?:jugador(?:es|as)?|pjs?|grupo|personajes|aventureros|heroes)"
_ITALIAN_TABLE = r"(?:giocator[ei]|giocatrici|pg|gruppo|personaggi|avventurieri|eroi)"
_PORTUGUESE_TABLE = r"(?:jogador(?:es|as)?|pjs?|grupo|personagens|aventureiros|herois)"
_EVENTS = (
    r"(?:story|history|past|reasons?|plans?|plot|events?|causes?|culprits?|killers?|murderers?|villains?|masterminds?)"
)
_FACTS = (
    rf"(?:{_TRUE}|identities|natures|names?|rulers?|leaders?|owners?|culprits?|killers?|murderers?|villains?|boss|masters?|"
    r"employers?|patrons?|fathers?|mothers?|parents?|children|lovers?|heirs?|faces?|selves|self|species|race|class|age|level|"
    r"alignment|location|powers?|values?|history|story|origins?|causes?|reasons?|heritage|lineage|faith|deity|plans?|"
    r"background|occupation|job|profession|purposes?|status|effects?|relations?|relationships?)"
)
_GERMAN_FACTS = (
    r"(?:loyalitat|identitat|absicht(?:en)?|natur|motive?|ziele?|namen?|herrscher(?:in)?|anfuhrer(?:in)?|besitzer(?:in)?|"
    r"tater(?:in)?|morder(?:in)?|schurke|schuldiger?|auftraggeber(?:in)?|vater|mutter|eltern|erben?|erbin|gestalt|gesicht|volk|"
    r"alter|ich|selbst|gesinnung|herkunft|geschichte|ursache|grund|grunde|plane?|beruf|macht|krafte|wirkung|wert|ort)"
)
_ROMANCE_FACTS = (
    r"(?:noms?|nombres?|nom[ei]s?|identi(?:tes?|dad|ta|dade)|natur(?:e|a|aleza|eza)|loya(?:ute)|leal(?:tad|ta|dade)|"
    r"allegeances?|intent?i?[oc]?n?(?:s|es|oes|ao)?|intenc(?:ion(?:es)?|ao|oes)|intenzion[ei]|buts?|objecti(?:fs?|vos?)|objetivos?|"
    r"obiettiv[oi]|motiv(?:ations?|os?|azion[ei]|i|acao|acion)|plans?|planes|pian[oi]|planos?|maitre|chef|coupable|assassin|tueur|"
    r"pere|mere|employeur|visage|forme|histoire|origine|lider|jefe|amo|culpable|asesino|padre|madre|rostro|form[ae]|historia|origen|"
    r"gobernante|capo|padrone|colpevole|assassino|volto|storia|governante|chefe|culpado|pai|mae|rosto|origem)"
)

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
        r"\band secrets?$|^(?!l[ae]s? |de |un |des )(?:\w+ ){0,3}(?:his|her|its|their|our|s|\w{2,}s|npc|plot|campaign|session|"
        r"family|guild|town|(?:(?:dark|deep|great|bigg?)(?:er|est)?|dirty|old|little|terrible|shameful|final|true|real)) secrets?$|"
        r"^(?!no\b)(?:\w+ ){0,3}secrets? (?:of|about|behind)\b",
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
        rf"\b(?:true {_TRUE}|{_REAL}|(?:true|real|actual) {_EVENTS})(?:$| (?:and|of|behind)\b)",
        "True Identity",
    ),
    Saying("en", DM, HEADING, r"^(?:the |plot )?twists?$", "Plot Twist"),
    Saying(
        "en",
        DM,
        HEADING,
        r"^(?:the )?(?:whole |full |real |actual |ugly |dark |hidden )?truth(?:$| (?:about|behind|of|is)\b)|^in (?:truth|reality)$",
        "The truth about the duke",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        r"^what (?:\w+ ){1,4}(?:hides?|hid|hiding|conceals?|concealing|withholds?|keeps? (?:secret|hidden|quiet)|"
        r"(?:really|secretly|actually)\b|(?:does|will|do|is|are|would|has|have)(?: not|n ?t) "
        r"(?:say|tell|reveal|admit|said|told|revealed|admitted|saying|telling)|won ?t (?:say|tell|reveal|admit))",
        "What she is hiding",
    ),
    Saying(
        "en",
        DM,
        HEADING,
        rf"\b(?:hid(?:es?|den|ing)?|conceal(?:s|ed|ing)?|keep(?:s|ing)?|kept|secret) (?:\w+ ){{0,2}}from (?:the |our )?{_TABLE}\b|"
        rf"\bunbeknownst to (?:the |our )?{_TABLE}\b",
        "What she hides from the party",
    ),
    Saying(
        "en",
        DM,
        KEY,
        rf"^(?:\w+ ){{0,2}}(?:true|real|actual|secret|hidden) {_FACTS}(?:$| (?:and|of|behind)\b)",
        "True ruler",
    ),
    Saying("de", DM, HEADING, rf"\bnur (?:fur )?(?:den |die |der )?{_LEADER}\b", "Nur für den SL"),
    Saying(
        "de",
        DM,
        HEADING,
        r"^(?:das |die |sein |seine |ihr |ihre )?geheim(?:es)?(?:$| und\b)|(?<!\bkein )\bgeheimnis(?:se)?"
        r"(?:$| (?:und|um|uber|von|vom|hinter|de[rsmn]|eine[rs]|seine[rs]|ihre[rs]|unsere[rs])\b)",
        "Geheimnisse",
    ),
    Saying(
        "de",
        DM,
        HEADING,
        rf"\bfur (?:den |die |das )?(?:{_GERMAN_MASTER}|meister(?:in)?|meisteraugen|augen de[sr] (?:{_GERMAN_MASTER}s?|meisters))$",
        "Hintergrund für die Spielleitung",
    ),
    Saying("de", DM, HEADING, r"\bnur fur (?:den |die )?(?:meister(?:in)?|meisteraugen)\b", "Nur für den Meister"),
    Saying(
        "de",
        DM,
        HEADING,
        r"^(?:die )?(?:ganze |volle |reine |bittere |nackte )?wahrheit(?:$| (?:uber|hinter|zu[rm]?|von|vom|ist|de[rs])\b)|"
        r"^in (?:wahrheit|wirklichkeit)$",
        "Die Wahrheit über den Grafen",
    ),
    Saying(
        "de",
        DM,
        HEADING,
        r"^was (?:\w+ ){1,4}(?:verbirgt|verbergen|verheimlicht|verheimlichen|verschweigt|verschweigen|versteckt|verstecken)\b",
        "Was sie der Gruppe verschweigt",
    ),
    Saying(
        "de",
        DM,
        KEY,
        rf"\b(?:wahre[nrs]?|echte[nrs]?|tatsachliche[nrs]?|eigentliche[nrs]?|geheime[nrs]?) {_GERMAN_FACTS}\b",
        "Wahrer Name",
    ),
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
        r"\bwahre[nrs]? (?:loyalitat|identitat|absicht(?:en)?|natur|motive?|ziele?|namen?|ich|selbst|gestalt|gesicht|"
        r"hintergrund|grunde?)\b",
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
    Saying(
        "fr",
        DM,
        HEADING,
        rf"\b(?:pour|a l attention|reserve a) (?:le |la |du |de la )?(?:{MASTER}|maitre)$|\breserve au (?:{MASTER}|maitre)\b",
        "Pour le MJ",
    ),
    Saying(
        "fr",
        DM,
        HEADING,
        r"^(?:l[ae]s? |son |ses |leurs? |(?:grand|sombre|vieux)s? )*secrets? (?:de|du|des|sur|derriere)\b|"
        r"^(?:l[ae]s? |son |ses |leurs? )secrets? d\w+|"
        r"^(?:son |ses |leurs? |(?:grand|sombre|vieux)s? )+secrets?$|"
        r"^(?:la )?(?:terrible |triste )?verites?(?:$| (?:sur|derriere|du|de|des|d\w+|a propos)\b)|^en (?:verite|realite)$",
        "Le secret du comte",
    ),
    Saying(
        "fr",
        DM,
        HEADING,
        rf"\b{_FRENCH_TABLE} (?:ignore(?:nt)?|n(?:e)? (?:\w+ )?(?:sait|savent|connai\w+|voi\w+|doi\w+|peu\w+))\b|"
        rf"\b(?:inconnue?s?|cachee?s?) (?:des|aux?|du) {_FRENCH_TABLE}\b|"
        r"^ce qu\w* (?:\w+ ){0,4}(?:cache(?:nt)?|dissimule(?:nt)?|tait|taisent|vraiment|reellement)\b",
        "Ce que les joueurs ignorent",
    ),
    Saying(
        "fr",
        DM,
        KEY,
        rf"^(?:l[ae] |son |sa )?(?:vraie?s?|veritables?|reele?s?|secr(?:et|ete)s?) {_ROMANCE_FACTS}\b|"
        rf"^{_ROMANCE_FACTS} (?:reele?s?|veritables?|secr(?:et|ete)s?|cachee?s?)$",
        "Vrai nom",
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
        "es",
        DM,
        HEADING,
        rf"\bpara (?:el |la |o |a )?(?:{_LEADER}|director(?:a)?|dj|narradora)$",
        "Para el máster",
    ),
    Saying(
        "es",
        DM,
        HEADING,
        r"^(?:el |los |su |sus |gran |oscuros? )*secretos? (?:de|del|sobre|detras)\b|"
        r"^(?:la )?verdad(?:$| (?:sobre|detras|de|del|acerca)\b)|^en (?:verdad|realidad)$",
        "El secreto de Luis",
    ),
    Saying(
        "es",
        DM,
        HEADING,
        rf"\b{_SPANISH_TABLE} (?:aun |todavia )?(?:no (?:\w+ )?(?:sab\w+|conoc\w+|ven?|deb\w+|pued\w+)|ignoran?|desconocen?)\b|"
        rf"\b(?:ocult|escondid)[oa]s? (?:al|a los|a las) {_SPANISH_TABLE}\b|"
        r"^lo que (?:\w+ ){0,4}(?:esconden?|ocultan?|callan?|realmente|de verdad)\b",
        "Lo que los jugadores no saben",
    ),
    Saying(
        "es",
        DM,
        KEY,
        rf"^(?:el |la |su )?(?:verdader[oa]s?|auten?tic[oa]s?) {_ROMANCE_FACTS}\b|"
        rf"^{_ROMANCE_FACTS} (?:real(?:es)?|verdader[oa]s?|secret[oa]s?|ocult[oa]s?)$",
        "Nombre real",
    ),
    Saying("it", DM, HEADING, rf"\b(?:per (?:il |la )?|riservato al ){_LEADER}$", "Per il master"),
    Saying(
        "it",
        DM,
        HEADING,
        r"^(?:il |i |suo |suoi |gran |oscur[oi] )*segret[oi] (?:di|del|dello|della|dei|d\w+|su|sull?\w*|dietro)\b|"
        r"^(?:la )?verita(?:$| (?:su|sul|sulla|sui|sull\w+|dietro|di|del|dell\w+)\b)|^in (?:verita|realta)$",
        "Il segreto di Rosa",
    ),
    Saying(
        "it",
        DM,
        HEADING,
        rf"\b{_ITALIAN_TABLE} (?:ancora )?(?:non (?:\w+ )?(?:sa|sanno|conosc\w+|ved\w+|dev\w+|poss\w+)|ignorano)\b|"
        rf"\bnascost[oaie] (?:al|ai|alle) {_ITALIAN_TABLE}\b|"
        r"^(?:che )?(?:cosa|cio che|quello che) (?:\w+ ){0,4}(?:nascond(?:e|ono)|cela|celano|tace|tacciono|veramente|davvero)\b",
        "Quello che i giocatori non sanno",
    ),
    Saying(
        "it",
        DM,
        KEY,
        rf"^(?:il |la |suo |sua )*ver[oaei] {_ROMANCE_FACTS}\b|"
        rf"^{_ROMANCE_FACTS} (?:ver[oaei]|segret[oaie]|nascost[oaie]|real[ei])$",
        "Nome vero",
    ),
    Saying(
        "pt",
        DM,
        HEADING,
        r"^(?:o |os |seu |seus |grande |obscuros? )*segredos? (?:de|do|da|dos|das|sobre|por tras)\b|"
        r"^(?:a )?verdade(?:$| (?:sobre|por tras|de|do|da)\b)|^na (?:verdade|realidade)$",
        "O segredo da Ana",
    ),
    Saying(
        "pt",
        DM,
        HEADING,
        rf"\b{_PORTUGUESE_TABLE} (?:ainda )?(?:nao (?:\w+ )?(?:sab\w+|conhec\w+|vee?m?|dev\w+|pod\w+)|ignoram?|desconhecem?)\b|"
        rf"\b(?:ocult|escondid)[oa]s? (?:ao|aos|as) {_PORTUGUESE_TABLE}\b|"
        r"^o que (?:\w+ ){0,4}(?:escond(?:e|em)|ocultam?|realmente|de verdade)\b",
        "O que os jogadores não sabem",
    ),
    Saying(
        "pt",
        DM,
        KEY,
        rf"^(?:[oa] |seu |sua )*verdadeir[oa]s? {_ROMANCE_FACTS}\b|"
        rf"^{_ROMANCE_FACTS} (?:verdadeir[oa]s?|secret[oa]s?|ocult[oa]s?|rea(?:l|is))$",
        "Verdadeiro nome",
    ),
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
"""What a text says beside the phrases of `LANGUAGES`, the first that fits: what keeps something comes before what opens it."""

PHRASES: tuple[tuple[str, str], ...] = (
    *((HEADING, phrase) for row in LANGUAGES for phrase in heading_phrases(row)),
    *((NAME, phrase) for row in LANGUAGES for phrase in name_phrases(row)),
)
"""Where a phrase counts that keeps something for the game master, and the phrase; each comes before all of `SAYINGS`."""

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
    Words("en", DM, LINE, "secretly"),
    Words("", DM, f"{CALLOUT} {FENCE}", "encounter, encounter table"),
    Words("de", DM, LINE, "heimlich, insgeheim"),
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
    Words("es", DM, f"{CALLOUT} {ASIDE} {LINE}", "dj, director de juego"),
    Words("es", DM, f"{CALLOUT} {ASIDE}", "master"),
    Words("nl", DM, _ALL, "geheimen, alleen dm, alleen voor de dm, dm notities, notities dm"),
    Words("nl", DM, f"{_MOST} {LINE}", "spelleider"),
    Words("pl", DM, _ALL, "mg, tylko mg, tylko dla mg, dla mg, notatki mg, sekret, sekrety, tajemnica, tajemnice"),
    Words("pl", DM, f"{_MOST} {LINE}", "mistrz gry, mistrza gry"),
    Words("de", DM, _ALL, "sl"),
    Words("fr", DM, _ALL, "mj seulement, notes mj, notes du mj, secret mj"),
    Words("fr", DM, _ALL, "mj"),
    Words("es", DM, _ALL, "secreto, secretos, solo dm, solo master, notas dm, solo dj"),
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
