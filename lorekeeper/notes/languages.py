"""The words of game masters, a row for each language, and the places where they say that something is kept from players.

A row holds alternatives of regular expressions over comparable texts (`comparing.comparable`): lower case, no accents, no
punctuation. The grammar of `sayings` is the same for all rows, so that another language is one more row.
"""

from __future__ import annotations

from typing import NamedTuple


class Language(NamedTuple):
    """The words of one language.

    Attributes:
        code: as in BCP 47.
        master: the game master.
        notes: what he writes for himself.
        advice: what others write for him; in a sentence that is the name of a book.
        only: "only", "reserved".
        for_: "for".
        the: articles and the like between these words and the game master.
        secret: a secret, as a noun; and what is kept in the dark, as it stands alone above or before a text.
        its: words before that: "the", "her", "dark".
        about: words after it: "of", "behind", "and".
        truth: the truth, reality.
        true: adjectives: "true", "real", "hidden", "secret".
        facts: what is true or hidden of somebody: "identity", "name", "loyalty".
        table: the players and their characters.
        unaware: "do not know", "must not see".
        withholds: "what she hides": the beginning, and the verb.
        behind: "behind the scenes", "what really happened".
        secretly: adverbs.
        you: whom rules speak to, and who writes.
        dice: words of rules for what is rolled.
    """

    code: str
    master: str
    notes: str
    advice: str
    only: str
    for_: str
    the: str
    secret: str
    its: str
    about: str
    truth: str
    true: str
    facts: str
    table: str
    unaware: str
    withholds: tuple[str, str]
    behind: str
    secretly: str
    you: str
    dice: str


LANGUAGES: tuple[Language, ...] = (
    Language(
        "en",
        r"gms?|dms?|game ?masters?|dungeon ?masters?|storytellers?",
        r"notes?|info(?:s|rmation)?|knowledge|secrets?|eyes|background|details?|reference|stuff|contents?|prep",
        r"tips?|advice|guidance|guide|screen|hints?",
        r"only|reserved",
        r"for|to",
        r"the|of|your",
        r"secrets?|spoilers?|(?:plot )?twists?",
        r"the|his|her|its|their|dark|deep|true|big",
        r"of|about|behind|and",
        r"truth",
        r"true|real|actual|secret|hidden",
        r"identit(?:y|ies)|natures?|names?|loyalt(?:y|ies)|allegiances?|motives?|motivations?|agendas?|goals?|intentions?|plans?|forms?",
        r"players?|party|pcs|characters|group|heroes",
        r"(?:(?:do|does|did|must|should|can|will) ?not|(?:don|doesn|didn|mustn|shouldn|can|won) ?t|never) (?:yet )?"
        r"(?:know|see|read|learn)\w*",
        (r"what", r"hides|is hiding|conceals|keeps secret"),
        r"behind the (?:scenes|screen)|what (?:is |s )?(?:really|actually) \w+(?: \w+)?|what (?:nobody|no one) knows",
        r"secretly|unbeknownst",
        r"you|i|we",
        r"dic?e|rolls?|rolled|d[0-9]+|dc|checks?",
    ),
    Language(
        "de",
        r"sl|spielleit(?:er|erin|ung)s?|dungeon ?master|meister(?:in)?",
        r"infos?|information(?:en)?|notiz(?:en)?|wissen|hintergrund(?:infos?|wissen)?|geheimnisse?|inhalte?|teil",
        r"tipps?|hinweise?|leitfaden|schirm|ratschlage",
        r"nur|ausschliesslich",
        r"fur",
        r"den|die|der|das|des|von",
        r"geheim(?:es|nis|nisse)?|spoiler",
        r"das|die|der|ihr|ihre|sein|seine|dunkle[sr]?",
        r"um|uber|von|hinter|und|der|des|vom",
        r"wahrheit",
        r"wahre[nrs]?|echte[nrs]?|tatsachliche[nrs]?|eigentliche[nrs]?|geheime[nrs]?|verborgene[nrs]?",
        r"identitat|natur|namen?|loyalitat|motive?|motivation|absicht(?:en)?|ziele?|plane?|gestalt|herkunft",
        r"spieler(?:innen)?|gruppe|charaktere|held(?:en|innen)|scs?",
        r"(?:noch )?nichts? (?:wissen|weiss|kennen|kennt|sehen|sieht|ahnen|ahnt|erfahren)|"
        r"(?:wissen|weiss|ahnen|ahnt|erfahren|erfahrt) (?:\w+ )?nichts?",
        (r"was", r"verbirgt|verbergen|verheimlicht|verschweigt|versteckt"),
        r"hinter (?:den|dem) (?:kulissen|schirm)|was (?:\w+ )?wirklich \w+(?: \w+)?|was niemand weiss",
        r"heimlich|insgeheim",
        r"du|ihr|ich|wir",
        r"wurfel\w*|wurf|d[0-9]+|w[0-9]+|probe",
    ),
    Language(
        "fr",
        r"mj|meneu(?:r|se)s?(?: de jeu)?|mait?re (?:du|de) jeu",
        r"notes?|infos?|informations?|secrets?|aide|section|partie|contenus?|connaissances?",
        r"conseils?|guide|ecran|rappels?|astuces?",
        r"seulement|uniquement|reservee?s?|que",
        r"pour|au|a l attention",
        r"le|la|du|de|des|aux|a|toi|vous",
        r"secrets?|spoilers?",
        r"le|la|les|l|son|ses|leurs?|sombre|grand",
        r"du|de|des|d\w*|sur|derriere|et",
        r"verite",
        r"vraie?s?|veritables?|reele?s?|secr(?:et|ete)s?|cachee?s?",
        r"identites?|nature|noms?|loyaute|allegeances?|motivations?|intentions?|buts?|objectifs?|plans?|visage|origine",
        r"joueu(?:rs?|ses?)|pjs?|groupe|personnages|heros",
        r"ignore(?:nt)?|ne (?:\w+ )?(?:savent|sait|connaissent|voient|doivent) (?:pas|rien)?",
        (r"ce qu\w*", r"cache(?:nt)?|dissimule(?:nt)?|tait"),
        r"(?:dans les |en )?coulisses|derriere l ecran|ce qui s est (?:vraiment|reellement) passe|ce que personne ne sait",
        r"secretement",
        r"tu|vous|je|nous",
        r"jets?|lancez?|d[0-9]+",
    ),
    Language(
        "es",
        r"dj|master|director(?:a)? de juego|narrador(?:a)?",
        r"notas?|info(?:rmacion)?|secretos?|datos|apuntes|contenidos?",
        r"consejos?|guia|pantalla|ayuda",
        r"solo|solamente|unicamente|exclusivo",
        r"para",
        r"el|la|del|de|al",
        r"secretos?|spoilers?",
        r"el|los|la|las|su|sus|gran|oscuro",
        r"de|del|sobre|detras|y",
        r"verdad",
        r"verdader[oa]s?|real(?:es)?|autentic[oa]s?|secret[oa]s?|ocult[oa]s?",
        r"identidad(?:es)?|naturaleza|nombres?|lealtad(?:es)?|motiv(?:os?|acion(?:es)?)|intencion(?:es)?|objetivos?|planes?|rostro|origen",
        r"jugador(?:es|as)?|pjs?|grupo|personajes|heroes",
        r"(?:aun |todavia )?no (?:\w+ )?(?:saben?|conocen?|ven?|deben?)|ignoran?|desconocen?",
        (r"lo que", r"esconden?|ocultan?|callan?"),
        r"entre bastidores|(?:tras|detras de) la pantalla|lo que (?:realmente|de verdad) \w+(?: \w+)?|lo que nadie sabe",
        r"secretamente",
        r"tu|yo|vosotros|puedes",
        r"dados?|tiradas?|tira|d[0-9]+",
    ),
    Language(
        "it",
        r"master|narrator[ei]|dungeon master",
        r"note|appunti|info(?:rmazioni)?|segret[oi]|dettagli|contenut[oi]",
        r"consigli|guida|schermo|suggerimenti",
        r"solo|soltanto|riservat[oaie]|esclusiv\w+",
        r"per",
        r"il|la|del|della|al|i|lo",
        r"segret[oi]|spoiler|retroscena",
        r"il|i|la|le|suo|sua|suoi|oscuro",
        r"di|del|della|dei|su|sul|dietro|e",
        r"verita",
        r"ver[oaei]|real[ei]|segret[oaie]|nascost[oaie]",
        r"identita|natura|nom[ei]|lealta|motiv(?:i|o|azion[ei])|intenzion[ei]|obiettiv[oi]|pian[oi]|volto|origine",
        r"giocator[ei]|giocatrici|pg|gruppo|personaggi|eroi",
        r"(?:ancora )?non (?:\w+ )?(?:sanno|sa|conoscono|vedono|devono)|ignorano",
        (r"(?:che )?(?:cosa|cio che|quello che)", r"nascond(?:e|ono)|cela(?:no)?|tace"),
        r"dietro (?:le quinte|lo schermo)|(?:cosa|quello che) (?:e )?(?:davvero|veramente) \w+(?: \w+)?|quello che nessuno sa",
        r"segretamente",
        r"tu|io|voi|puoi",
        r"dad[oi]|tir[aoi]|d[0-9]+",
    ),
    Language(
        "pt",
        r"mestre(?: de jogo)?|narrador(?:a)?",
        r"notas?|anotacoes|info(?:rmac\w+)?|segredos?|dados|conteudos?",
        r"dicas?|guia|conselhos?|escudo",
        r"so|somente|apenas|exclusivo",
        r"para",
        r"o|a|do|da|de|ao",
        r"segredos?|spoilers?",
        r"o|os|a|as|seu|sua|seus|grande|obscuro",
        r"de|do|da|dos|das|sobre|por|e",
        r"verdade",
        r"verdadeir[oa]s?|rea(?:l|is)|secret[oa]s?|ocult[oa]s?",
        r"identidades?|natureza|nomes?|lealdades?|motiv(?:os?|ac\w+)|intenc(?:ao|oes)|objetivos?|planos?|rosto|origem",
        r"jogador(?:es|as)?|pjs?|grupo|personagens|herois",
        r"(?:ainda )?nao (?:\w+ )?(?:sabem?|conhecem?|veem?|devem?)|ignoram?|desconhecem?",
        (r"o que", r"escond(?:e|em)|ocultam?"),
        r"(?:nos )?bastidores|por tras (?:do escudo|da tela)|o que (?:realmente|de verdade) \w+(?: \w+)?|o que ninguem sabe",
        r"secretamente",
        r"voce|eu|voces",
        r"dados?|rol[ae]\w*|d[0-9]+",
    ),
    Language(
        "nl",
        r"dm|spelleid(?:er|ster|ing)s?|spelmeester|verteller",
        r"notities|notitie|info(?:rmatie)?|kennis|geheimen?|achtergrond(?:info)?|aantekeningen|inhoud",
        r"tips?|advies|gids|handleiding|scherm",
        r"alleen|enkel|uitsluitend",
        r"voor",
        r"de|het|van",
        r"geheim(?:en)?|spoilers?",
        r"de|het|zijn|haar|hun|duister",
        r"van|over|achter|en",
        r"waarheid",
        r"ware|echte|werkelijke|geheime|verborgen",
        r"identiteit(?:en)?|aard|na(?:am|men)|loyaliteit(?:en)?|motie(?:f|ven)|bedoeling(?:en)?|doel(?:en)?|plan(?:nen)?|gedaante|afkomst",
        r"spelers?|groep|personages|helden",
        r"(?:nog )?niet (?:\w+ )?(?:weten|weet|kennen|kent|zien|mogen)|(?:weten|weet) (?:\w+ )?niets?",
        (r"wat", r"verbergt|verbergen|verzwijgt|geheimhoudt"),
        r"achter (?:de schermen|het scherm)|wat (?:er )?(?:echt|werkelijk) \w+(?: \w+)?|wat niemand weet",
        r"stiekem|heimelijk",
        r"je|jij|jullie|ik",
        r"dobbel\w*|worp|rol|d[0-9]+",
    ),
    Language(
        "pl",
        r"mg|mistrz(?:a|owi|yni)? gry|prowadzac(?:y|ego|ej)|narrator(?:a)?",
        r"notatki|notatka|informacje|info|wiedza|sekrety|tajemnice|uwagi|tresci?",
        r"porady|wskazowki|poradnik|ekran",
        r"tylko|wylacznie",
        r"dla|do",
        r"oczu|od",
        r"sekret(?:y)?|tajemnic[aey]|spoilery?",
        r"jego|jej|ich|mroczn[ayei]|wielk[ai]",
        r"o|i|za|\w+",
        r"prawda",
        r"prawdziw[ayei]|faktyczn[ayei]|ukryt[ayei]|sekretn[ayei]|tajn[ayei]",
        r"tozsamosci?|natura|imiona|imie|lojalnosc|motyw(?:y|acja)?|zamiary?|intencj[ae]|cele?|plany?|oblicze|pochodzenie",
        r"gracz[ey]?|druzyna|postacie|bohaterowie|bg",
        r"(?:jeszcze )?nie (?:\w+ )?(?:wiedza|wie|znaja|widza|powinni)",
        (r"co", r"ukrywa(?:ja)?|zataja"),
        r"za (?:kulisami|kulisy|ekranem|zaslonka)|co (?:sie )?naprawde \w+(?: \w+)?|czego nikt nie wie",
        r"potajemnie|skrycie",
        r"ty|ja|mozesz",
        r"kosc\w*|rzut\w*|k[0-9]+",
    ),
)


def master_phrases(row: Language) -> str:
    """What says that something is for the game master, wherever it stands in a text."""
    master, the = rf"(?:{row.master})", rf"(?: (?:{row.the}))*"
    return (
        rf"\b{master} ?(?:s )?(?:{row.only}|{row.notes})\b|\b(?:{row.notes}){the}(?: (?:{row.for_}))?{the} {master}\b|"
        rf"\b(?:{row.only})(?: (?:{row.for_}|{row.the}))* {master}\b"
    )


def _advice(row: Language) -> str:
    master, the = rf"(?:{row.master})", rf"(?: (?:{row.for_}|{row.the}))*"
    return rf"\b{master} ?(?:s )?(?:{row.advice})\b|\b(?:{row.advice}){the} {master}\b"


def heading_phrases(row: Language) -> tuple[str, ...]:
    """What says it of all below a heading, or behind a key."""
    its = rf"(?:(?:{row.its}) )*"
    beginning, verb = row.withholds
    return (
        master_phrases(row),
        _advice(row),
        rf"\b(?:{row.for_})(?: (?:{row.the}))* (?:{row.master})$",
        rf"^{its}(?:{row.secret}|{row.truth})(?:$| (?:{row.about})\b)",
        rf"^{its}(?:{row.true}) (?:{row.facts})\b|^(?:{row.facts}) (?:{row.true})$",
        rf"\b(?:{row.table}) (?:{row.unaware})\b",
        rf"^(?:{beginning}) (?:\w+ ){{0,4}}(?:{verb})\b",
        rf"^{its}(?:{row.behind})$",
    )


def name_phrases(row: Language) -> tuple[str, ...]:
    """What says it of a file or folder."""
    return (master_phrases(row), _advice(row), rf"^(?:(?:{row.the}|{row.its}) )*(?:{row.secret})$")
