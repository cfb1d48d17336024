"""`compare_entries`: what differs between entries, as structured content and as text that says the same.

Text from entries is indented, or behind a label of ours in one line: a line of an entry is never taken for one of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby

from lorekeeper.entities import SEARCHED, Entity
from lorekeeper.errors import FilterError
from lorekeeper.play.differences import MAX_ENTRIES, Differences, differences
from lorekeeper.play.differences.align import CELLS
from lorekeeper.play.differences.result import Runs, same_texts
from lorekeeper.printable import one_line, quantity, shown
from lorekeeper.search.addresses import addresses, as_paths, uri_at
from lorekeeper.search.resolve_entry import Versions, find_entry, versions
from lorekeeper.server.answers import Answer, called, secret_mark, source_of, sourced
from lorekeeper.server.arguments import Texts
from lorekeeper.server.models import Alike, Comparison, Fact, JsonObject, Passage, SharedFact, Sourced
from lorekeeper.server.tool import Arguments, Tool, model, optional_text
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.secrecy import is_secret
from lorekeeper.views.view import View

LETTERS = "ABCD"
"""What the text calls the entries."""

MAX_TEXT, MAX_PASSAGES, MAX_HEADINGS = 6_400, 4_500, 500
"""Most characters of the facts and passages of an answer together, of its passages, and of the headings of those without room."""

MAX_SHARED = 60
"""Longest value that is shown of a fact that all have alike, in characters."""

ALONE = " What one letter has alone, others do not say in like words; they may say it in other words."
"""What is said of sentences without a counterpart: that is a matter of their words, not of what they mean."""

MAIN_TEXT = "Text"
"""Where sentences stand that have no heading."""


async def compare(view: View, arguments: Arguments) -> Answer:
    """The answer to a call of the tool."""
    found = await _entries(view, arguments.get("uris"), arguments.get("name"))
    heads = [await _head(view, entity) for entity in found.entities]
    model = _compared(await asyncio.to_thread(differences, found.entities), heads)
    unshown = _without_room(model)
    model.note = one_line(" ".join(filter(None, [found.note, _more(found.left_out), _unshown(unshown)]))) or None
    named = await addresses(view.cache, found.entities)
    for head in heads:
        head["address"] = one_line(named[head["uri"]])
    return Answer(model, comparison_text(model, heads))


async def _entries(view: View, uris: Sequence[str] | None, name: str | None) -> Versions:
    """The entries of some uris, or the versions of a name.

    Raises:
        FilterError: too few or too many uris, one of them twice, or a name beside them.
        NotFoundError: there is no such entry, or only one of that name.
    """
    if bool(uris) == bool(name):
        raise FilterError(f"give either uris (2 to {MAX_ENTRIES}), or name, to compare all versions of an entry")
    if name:
        return await versions(view.search, name, SEARCHED, MAX_ENTRIES)
    given = [uri.strip() for uri in uris or ()]
    if not 2 <= len(given) <= MAX_ENTRIES:
        raise FilterError(
            f"give 2 to {MAX_ENTRIES} uris, not {len(given)}; or name, to compare all versions of an entry"
        )
    found = [await _entry(view, each) for each in given]
    for number, entity in enumerate(found):
        if entity.uri in [other.uri for other in found[:number]]:
            raise FilterError(f"uris has {shown(entity.uri)} twice; an entry is compared with others")
    return Versions(found, [], None)


async def _entry(view: View, given: str) -> Entity:
    """The entry at an address, or of a name."""
    wanted = await uri_at(view.cache, given) or given
    return (await find_entry(view.search, view.entities_at, wanted, SEARCHED)).entity


def _without_room(model: Comparison) -> list[str]:
    """Leave out the passages that have no room in one answer: their headings."""
    room = min(MAX_PASSAGES, MAX_TEXT - sum(map(len, _facts(model))))
    lengths = accumulate(sum(map(len, passage_lines(passage))) for passage in model.texts)
    kept = sum(length <= room for length in lengths)
    unshown, model.texts = list(map(heading, model.texts[kept:])), model.texts[:kept]
    return unshown


def _unshown(headings: Sequence[str]) -> str:
    if not headings:
        return ""
    listed = snippet("; ".join(headings), MAX_HEADINGS)
    return f"{quantity(len(headings), 'further passage')} also differ; get_entity with section reads one: {listed}"


def _more(left_out: Sequence[str]) -> str:
    return f"{len(left_out)} more of that name, to compare with uris: {', '.join(left_out)}" if left_out else ""


async def _head(view: View, entity: Entity) -> JsonObject:
    """What the answer says of an entry."""
    head = await sourced(view, entity)
    return {**head, "secret": True} if is_secret(entity) else head


# --- the model -------------------------------------------------------------------------------------------------------


def _compared(result: Differences, heads: Sequence[JsonObject]) -> Comparison:
    """A comparison without its note; ``heads`` says what the entries are."""
    return Comparison(
        entries=[Sourced.model_validate(head) for head in heads],
        facts=[
            Fact(label=one_line(fact.label), values=list(map(marked, fact.values))) for fact in result.differing_facts
        ],
        shared=[SharedFact(label=one_line(label), value=one_line(value)) for label, value in result.shared_facts],
        texts=[
            Passage(
                places=[None if place is None else place_of(place) for place in passage.places],
                rows=[list(map(marked, row.texts)) for row in rows],
            )
            for passage, rows in result.differing_passages
        ],
        same=Alike(facts=result.same_facts, sentences=result.same_sentences),
        note=None,
    )


def marked(runs: Runs | None) -> str | None:
    """A text in one line, with its changed words in bold; null for none."""
    if runs is None:
        return None
    return one_line("".join(f"**{run.text}**" if run.changed else run.text for run in runs))


def place_of(path: Sequence[str]) -> str:
    """Headings and name of a passage in one line."""
    return one_line(" > ".join(path)) or MAIN_TEXT


# --- text ------------------------------------------------------------------------------------------------------------


def comparison_text(found: Comparison, heads: Sequence[JsonObject]) -> str:
    """The same for models and people to read; ``heads`` has the addresses of the entries."""
    parts = [
        f"{letter}. {called(head['name'], head['address'])} ({head['kind']}; {source_of(head)}{secret_mark(head)})"
        for letter, head in zip(LETTERS, heads, strict=False)
    ]
    if found.note:
        parts.append(f"Note: {as_paths(found.note)}")
    parts += _facts(found)
    parts += [line for passage in found.texts for line in passage_lines(passage)]
    same = found.same.sentences
    same_too = f"The same in all, and left out: {quantity(same, 'sentence')}. " if same else ""
    alone = any(row.count(None) for passage in found.texts for row in passage.rows)
    return "\n".join([*parts, f"{same_too}**Bold** words differ.{ALONE if alone else ''}"])


def _facts(found: Comparison) -> Iterator[str]:
    texts = "; the texts do" if any(passage.rows for passage in found.texts) else ""
    yield "## Facts" if found.facts else f"No fact differs{texts}."
    for fact in found.facts:
        values = " | ".join(f"{letters}: {value or 'not stated'}" for letters, value in by_text(fact.values))
        yield f"- {fact.label}: {values}"
    if shared := [f"{fact.label} {one_line(fact.value, MAX_SHARED)}" for fact in found.shared]:
        yield f"- {'Both' if len(found.entries) == 2 else 'All'}: {'; '.join(shared)}"


def by_text(texts: Sequence[str | None]) -> list[tuple[str, str | None]]:
    """Texts with the letters of the entries that have them, those that say the same once."""
    return [(", ".join(LETTERS[number] for number in numbers), found) for numbers, found in same_texts(texts)]


def passage_lines(passage: Passage) -> Iterator[str]:
    """A heading, and below it the sentences that differ; those that the same entries lack stand together."""
    yield f"## {heading(passage)}"
    if not passage.rows:
        yield "   the same text"
    for lacking, group in groupby(passage.rows, lambda row: [text is None for text in row]):
        if sum(lacking) < len(lacking) - 1:
            yield from (f"   {letters}: {text}" for row in group for letters, text in by_text(row) if text)
        else:
            yield f"   {LETTERS[lacking.index(False)]}: {_joined(filter(None, chain.from_iterable(group)))}"


def _joined(texts: Iterable[str]) -> str:
    """Sentences one after the other; rows of a table behind semicolons."""
    parts = [f"{found};" if CELLS in found else found for found in texts]
    return " ".join(parts).removesuffix(";")


def heading(passage: Passage) -> str:
    """Where a passage stands, and in which entries, unless all have it there."""
    places: dict[str, list[str]] = {}
    for letter, place in zip(LETTERS, passage.places, strict=False):
        if place is not None:
            places.setdefault(place, []).append(letter)
    if len(places) == 1 and None not in passage.places:
        return next(iter(places))
    return "; ".join(f"{place} ({', '.join(letters)})" for place, letters in places.items())


COMPARE_ENTRIES = Tool(
    name="compare_entries",
    title="Compare entries",
    description="What differs between entries or editions: facts and sentences. Example: name='fireball'.",
    arguments=model("compare_entries", {"uris": (Texts | None, None), "name": optional_text()}),
    function=compare,
    answer=Comparison,
    listed={"uris": "2 to 4: 'Fireball, srd-2024'", "name": "all versions of it"},
)
