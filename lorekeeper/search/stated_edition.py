"""The edition that a question names: "how does surprise work in 2024" asks how it works, of the books of 2024 first."""

from __future__ import annotations

import re
from dataclasses import replace

from lorekeeper.editions import edition_label, parse_edition
from lorekeeper.search.corpora import NOTES
from lorekeeper.search.query import Query

STATED = "Your question set edition='{}'."

_NAMED = r"(?:5e |5\.5e? |d&d |dnd )?(?P<edition>2014|2024|a5e)(?: (?P<rules>rules?|rulebook|edition|version|srd|phb|dmg|5e))*"
_AT_END = re.compile(rf"[,(]? *\b(?:in |for |under |by |per |using |from )?(?:the )?{_NAMED}\)?[ ?.!]*$", re.IGNORECASE)
_AT_START = re.compile(rf"^ *{_NAMED}[:,]? ", re.IGNORECASE)

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_OF_DATE = re.compile(rf"\b(?:{_MONTHS})[a-z]*\.?,? *(?:\d{{1,2}},? *)?$", re.IGNORECASE)
_OF_CAMPAIGN = re.compile(r"\b(?:we|our|us|session|happened|campaign|party)\b", re.IGNORECASE)
"""Words of a question about what happened."""


def stated_edition(query: Query) -> tuple[Query, str | None]:
    """A search in the edition that its text names at an end, without these words, and a note; as it is if it names none.

    A year may also be one of the campaign: then what happened is asked for, and a question about that keeps its words.

    Args:
        query: the search; one of notes alone, one that has an edition, or is no plain question, is left as it is.
    """
    found = _found(query)
    text = query.text or ""
    if found is None or (_OF_CAMPAIGN.search(text) and not found["rules"]):
        return query, None
    rest = f"{text[: found.start()]}{text[found.end() :]}".strip()
    edition = parse_edition(found["edition"])
    return replace(query, text=rest, edition=edition), STATED.format(edition_label(edition[0]))


def _found(query: Query) -> re.Match[str] | None:
    """Where the text of a plain question names an edition; None if it does not, or says nothing else."""
    text = query.text or ""
    is_plain = query.mode == "auto" and not (query.also or query.phrases or query.unfinished)
    if not is_plain or query.edition is not None or set(query.types) == {NOTES}:
        return None
    found = _AT_END.search(text) or _AT_START.search(text)
    if found is None or "://" in text or _OF_DATE.search(text[: found.start("edition")]):
        return None
    return found if any(map(str.isalpha, text[: found.start()] + text[found.end() :])) else None
