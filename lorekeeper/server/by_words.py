"""Lookups by a name that no entry has: what has its words, or its meaning, instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from lorekeeper.entities import NAME, Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.printable import shown
from lorekeeper.render import markdown
from lorekeeper.search.doubt import CLOSED
from lorekeeper.search.fusion import CAMPAIGN
from lorekeeper.search.party import CHARACTERS
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result, ResultPage, own_words, words_of
from lorekeeper.server.exchange import SCHEME
from lorekeeper.server.parts import has_part, part
from lorekeeper.text.evidence import read
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.rows import in_line
from lorekeeper.text.sections import Section
from lorekeeper.views.view import View

MOST, LOOKED_AT = 3, 10
"""Most entries that are shown where none has the name, and of how many the texts are looked at for its words."""

MEANT = 2
"""Fewest words of a name of which something may be near in meaning: a word alone says too little."""

LONGEST = 900
"""Most characters of the part that is shown of an entry."""

IN_TEXT, IN_TEXTS = "A text has its words:", "Texts have its words:"
PART = "{} is part of:"
NEAREST = "The nearest in meaning:"


async def by_words(view: View, query: Query, page: ResultPage) -> ResultPage:
    """The page of a lookup; if no entry has its name, what a search for the name finds under the same other filters.

    A name that is an address, that is not open content, or that other filters leave out, is answered by the page as it is.
    """
    name = query.filters.get(NAME.name)
    if not isinstance(name, str) or query.similar_to or page.results or query.offset:
        return page
    if name.strip().startswith(SCHEME) or CLOSED.format("") in (page.note or ""):
        return page
    others = {key: value for key, value in query.filters.items() if key != NAME.name}
    if (others or query.where) and await _is_named(view, query, name):
        return page
    text = f"{name} {query.text or ''}".strip()
    asked = replace(query, text=text, filters=others, limit=LOOKED_AT, unsure_limit=None, order=None)
    found = await view.search(replace(asked, phrases=[name]))
    found = found if found.results else await view.search(asked)
    stems = word_stems(name)
    having = [result for result in found.results if stems and _has_all(result, stems, words_of)]
    if not having and (_word_count(name) < MEANT or list(query.types) == [CHARACTERS]):
        return page  # who bears another name is no nearer in meaning
    # what is within an entry of a book is found then, and nothing is missing
    books = [result for result in having if result.entity.type not in CAMPAIGN]
    named = [result for result in books if has_part(markdown(result.entity), name)]
    having = named or having
    said = [found.note, NEAREST]
    if having and all(_has_all(result, stems, own_words) for result in having[:MOST]):
        said = [IN_TEXT if len(having) == 1 else IN_TEXTS]
    results = [_with_part(result, name) for result in (having or found.results)[: min(query.limit, MOST)]]
    if query.text:  # which else decides what is shown of an entry
        results = [replace(result, wording=name) for result in results]
    note = PART.format(shown(name)) if named else " ".join(filter(None, [page.note, *said]))
    return replace(found, results=results, total=len(results), next_offset=None, note=note) if results else page


def _word_count(name: str) -> int:
    """How many words of a name say something, as blanks part them: what other characters join is one word."""
    stems = word_stems(name).keys()
    return len({frozenset(own) for each in name.split(" ") if (own := stems & word_stems(each).keys())})


def _has_all(result: Result, stems: Collection[str], words: Callable[[Entity, Sequence[Section]], str]) -> bool:
    """Whether an entry has words with all stems, among those that a function reads of it."""
    entity = result.entity
    return len(occurring(stems, f"{entity.name} {words(entity, read(entity))}")) == len(stems)


def _with_part(result: Result, name: str) -> Result:
    """A result that shows the part of its entry that is called so: a paragraph, a row of a table. Notes show their best section."""
    if result.entity.type in CAMPAIGN:
        return result
    try:
        found = part(markdown(result.entity), name, most=LONGEST)
    except NotFoundError:
        return result
    return replace(result, snippet=in_line(_LINE.sub(r"\1.", found.text)))


_LINE = re.compile(r"^(#+ .*[\w)]|\*[^*\n]+[\w)])(?=\*?$)", re.MULTILINE)
"""A heading, or a line in italics, that ends without a stop: in one line it would run into the text below."""


async def _is_named(view: View, query: Query, name: str) -> bool:
    """Whether an entry of the types has the name, whatever the other filters."""
    named = replace(query, filters={NAME.name: name}, where=None, order=None, limit=1, counted=False)
    return bool((await view.search(named)).results)
