"""The prompts: tasks of a game master, as instructions that tell a model which tools to use, in which order, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import LoreKeeperError
from lorekeeper.filters import unknown_name
from lorekeeper.printable import one_line

MAX_ARGUMENT = 1000
"""Longest argument of a prompt, in characters; the rest is left out."""

_ARGUMENT = re.compile(r"\{(\w+)\}")


class PromptError(LoreKeeperError):
    """A prompt that is not there, or lacks an argument."""


@dataclass(frozen=True)
class Suggested:
    """What completes an argument.

    Attributes:
        fixed: these values.
        field: the values of that field: a filter field, "name", "document" or "edition".
        types: of these entity types.
    """

    fixed: tuple[str, ...] = ()
    field: str = ""
    types: tuple[str, ...] = ()


_DOCUMENTS = Suggested(field="document", types=tuple(COLLECTIONS))
_EDITIONS = Suggested(field="edition")
_NAMES = Suggested(field="name", types=tuple(name for name, collection in COLLECTIONS.items() if collection.tool))
_PARTIES = Suggested(fixed=tuple(f"{size} characters of level {level}" for size in (4, 5, 3) for level in range(1, 21)))


@dataclass(frozen=True)
class Argument:
    """An argument of a prompt: its name, what a user is told of it, and what completes it."""

    name: str
    description: str
    required: bool = False
    suggested: Suggested = Suggested()


@dataclass(frozen=True)
class Prompt:
    """A prompt.

    Attributes:
        name: as clients call it.
        title: as clients show it.
        description: what a user gets.
        icon: name of its icon.
        arguments: what a user may fill in.
        text: what the model is told. A line that names an argument, as in ``{place}``, is left out unless that is given.
    """

    name: str
    title: str
    description: str
    icon: str
    arguments: tuple[Argument, ...]
    text: str

    def argument(self, name: str) -> Argument | None:
        """The argument of that name, if there is one."""
        return next((argument for argument in self.arguments if argument.name == name), None)

    def filled(self, given: Mapping[str, str]) -> str:
        """The text for these arguments.

        Raises:
            PromptError: one is unknown, or a required one is missing or blank.
        """
        known = [argument.name for argument in self.arguments]
        for name in given:
            if name not in known:
                raise PromptError(unknown_name(name, known, f"argument of {self.name}"))
        values = {name: line for name, value in given.items() if (line := one_line(value, MAX_ARGUMENT).strip())}
        for argument in self.arguments:
            if argument.required and argument.name not in values:
                raise PromptError(f"{self.name} needs {argument.name}: {argument.description}")
        lines = [line for line in self.text.strip().splitlines() if values.keys() >= set(_ARGUMENT.findall(line))]
        return "\n".join(_ARGUMENT.sub(lambda match: values[match[1]], line) for line in lines)


def prompt_named(name: str) -> Prompt:
    """The prompt of that name; PromptError that names the others if there is none."""
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise PromptError(unknown_name(name, list(PROMPTS), "prompt"))
    return prompt


_BOOK = Argument("document", "only this book, by its key", suggested=_DOCUMENTS)
_EDITION = Argument("edition", "edition of the rules that comes first: 2014, 2024, ...", suggested=_EDITIONS)
_PARTY = Argument("party", "number and levels of the characters", suggested=_PARTIES)
_ENVIRONMENT = Suggested(field="environments", types=("creatures",))

PROMPTS: dict[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "prepare_session",
            "Prepare a session",
            "One page to run the next session from: scenes, people, opponents, rules to have ready, treasure.",
            "flag",
            (
                Argument("premise", "what the session is about", required=True),
                _PARTY,
                Argument("last_time", "how the session before ended"),
                _EDITION,
            ),
            """
Help me prepare my next session: {premise}
The party: {party}
Last time: {last_time}
Rules: put edition="{edition}" into every search.

Look before you write:
1. gather_topic for each person and place of the premise, and search_lore with the premise and two or three wordings: what \
does my library already have on this place, these people, this trouble?
2. get_entity for the two or three best, and build on them instead of repeating them.
3. lookup_creature for the opposition: environment, type and where='cr<=4' as filters, semantic_query for how they behave. \
Take what could really be met there.
4. lookup_equipment for one or two rewards that this story would leave behind.
5. lookup_rule for what will come up at the table: weather, chases, traps, social scenes.

Then write a page that I can run from without reading ahead:
- Opening: what the characters see, and what they must decide in the first five minutes.
- Three to five scenes: what is there, what can be learnt by whom, what goes wrong if no one acts. Situations, not a \
plot.
- People: name, want, voice, in one line each.
- Opponents: name, number, CR, tactics in a sentence, uri.
- Rules to have ready: a sentence each, with the book.
- Rewards, and two threads to end on.
Name the book for everything that comes from the library; mark with * what you made up.
""",
        ),
        Prompt(
            "rules_question",
            "Answer a rules question",
            "What the rules say, from your own books, with the wording and its source.",
            "scales",
            (
                Argument("question", "what you want to know", required=True),
                _EDITION,
                _BOOK,
            ),
            """
A question about the rules: {question}
Rules: put edition="{edition}" into every search.
Only this book: put documents=["{document}"] into every search.

1. lookup_rule with semantic_query: the question; wordings: the same in other words, one of them in the game's own terms \
("opportunity attack", not "hitting someone who runs").
2. If a spell, creature, item, class or condition is part of the question, look that up too: a specific text beats a \
general rule.
3. get_entity for every text that the answer rests on. Do not answer from a snippet, and not from memory.

Answer in this order: the ruling in one sentence; why, with the decisive words quoted and their book and edition; \
exceptions and what people usually get wrong.
If editions differ, give each its own line. If my library does not settle it, say so, and what you would rule.
""",
        ),
        Prompt(
            "stat_block",
            "Show a stat block",
            "A creature as the book prints it, ready to run: its turn, its tactics, its weak points.",
            "beast",
            (
                Argument("creature", "name of the creature", True, Suggested(field="name", types=("creatures",))),
                _BOOK,
                _EDITION,
            ),
            """
Show me the stat block of: {creature}
Use the one from this book: documents=["{document}"].
Rules: edition="{edition}".

1. lookup_creature with that name. If several books have it, take the preferred edition and list the others in a \
line; if nothing has the name, show the three nearest and ask.
2. get_entity with its uri. Print the stat block as it is, every number as written. Do not fill gaps from memory.
3. Look up the spells it casts and the conditions it inflicts (lookup_spell, lookup_rule) and add a line for each: \
what it does, its DC, how long it lasts.

End with "Running it": its first two turns, what it does when it is losing, and what the players can exploit. Name \
the book.
""",
        ),
        Prompt(
            "describe_place",
            "Describe this place",
            "A place to read aloud, with what is hidden in it and who may be there.",
            "place",
            (
                Argument("place", "which place, or what kind", required=True),
                Argument("moment", "time of day, weather, what has just happened"),
                Argument("environment", "terrain", suggested=_ENVIRONMENT),
            ),
            """
Describe this place to my players: {place}
The moment: {moment}

1. gather_topic with the place. If my library knows it, get_entity, and contradict nothing there.
2. lookup_creature with a semantic_query for the place: who lives here, and what traces do they leave?
   Filter by environment="{environment}".
3. lookup_rule if the place itself matters: darkness, cold, water, heights, difficult terrain.

Then:
- To read aloud: four to six sentences, second person, at least three senses, one thing that moves. Nothing that the \
characters cannot perceive, no feelings on their behalf, no game terms.
- For me only: three things worth a closer look, each with what it shows and the check it takes; one danger and one \
way out; who may turn up, with uri; rules that apply here, a line each.
Name the books that you used; mark with * what you made up.
""",
        ),
        Prompt(
            "build_encounter",
            "Build an encounter",
            "An encounter that fits party, place and difficulty, with tactics, terrain and a way to avoid the fight.",
            "swords",
            (
                Argument("party", "number and levels of the characters", True, _PARTIES),
                Argument(
                    "difficulty",
                    "how hard",
                    suggested=Suggested(fixed=("easy", "medium", "hard", "deadly", "low", "moderate", "high")),
                ),
                Argument("environment", "terrain", suggested=_ENVIRONMENT),
                Argument("theme", "who or what is behind it"),
                _EDITION,
            ),
            """
Build an encounter for this party: {party}
Difficulty: {difficulty}
Where: {environment}
Behind it: {theme}
Rules: put edition="{edition}" into every search.

1. plan_encounter with the levels of the party, the difficulty, rules (2014 or 2024), and a semantic_query for the theme: \
it proposes three within the budget, with the arithmetic.
   Filter by environment="{environment}"; if that leaves too little, drop the filter and say so.
2. Take one of them, or build one from what lookup_creature finds; plan_encounter with monsters rates it.
3. get_entity for each creature that you take. Prefer two kinds that help each other to one that is only strong.

Then: the opponents with number, CR, XP and uri; the sum against the budget, shown; the ground in three features that \
matter in a fight; where everyone stands; round one and two; when they flee or yield; how it ends without a fight; \
how to make it easier or harder at the table by one change each. Name the book of each creature.
""",
        ),
        Prompt(
            "stock_shop",
            "Stock a shop",
            "A shop with a keeper, a price list from your books, and one thing that should not be there.",
            "shop",
            (
                Argument("shop", "what kind of shop: smith, apothecary, curiosities ...", required=True),
                Argument("settlement", "hamlet, town, city; rich or poor"),
                Argument(
                    "rarity",
                    "rarest magic item on sale",
                    suggested=Suggested(fixed=("common", "uncommon", "rare", "very rare", "legendary")),
                ),
                _EDITION,
            ),
            """
Stock a shop: {shop}
Where: {settlement}
The rarest magic item on sale: {rarity}
Rules: put edition="{edition}" into every search.

1. lookup_equipment with kind ["gear", "weapon", "armor"] and a semantic_query for the trade: eight to twelve \
ordinary wares. where='cost<=50' keeps them to what people there can pay.
2. lookup_equipment with kind="magic-item": two or three, no rarer than allowed, small and useful before strong.
3. get_entity for the magic items.

Then: the shop in two sentences to read aloud; the keeper (name, want, voice, what is not for sale); the wares as a \
table of item, price, number in stock, uri; the magic items with price and what they do in a line. Prices as in the \
book; where it gives none, propose one and mark it with *. Last, one thing that should not be there, and who is \
looking for it.
""",
        ),
        Prompt(
            "last_time",
            "What happened last time",
            "A recap of the last session from the notes in your library, and the threads that are open.",
            "hourglass",
            (
                Argument("topic", "a person, place or thread to recall", suggested=_NAMES),
                _BOOK,
            ),
            """
What happened last time at our table?
Recall above all: {topic}
My notes are the document "{document}": put documents=["{document}"] into every search.

1. lookup_note with kind="session" and order="newest": take the \
latest one or two, and get_entity to read them whole. \
Only notes say what happened; published books do not. If there are none, search_lore for "last session", "the party went".
2. gather_topic for each person, place or thread of that session that matters: what earlier sessions say about it, and what \
it is linked to.
   Above all gather_topic with topic="{topic}".
3. get_entity for what you want to quote.

Then: "Last time ..." in five sentences to read aloud, in the past tense, only what the characters know. For me: open \
threads and who waits for what; promises, debts, wounds, treasure not yet shared; where and when we stopped. Give the \
uri of each note.
If my library has no notes, say so and ask me for mine. Do not make up what happened.
""",
        ),
    )
}
"""Every prompt by name, in the order in which they are listed."""
