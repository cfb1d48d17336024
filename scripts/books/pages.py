"""Where the words of a book stand: each paragraph of its pages in as many entries as it is printed times, each sentence of its
objects in one, unless the pages have other words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from lorekeeper.intake.data_packages import OBJECTS, PAGES, texts_in
from lorekeeper.intake.formats.fivebits import rows_of
from lorekeeper.intake.shipped_books import shipped_books
from lorekeeper.normalize.printed_srd import printed_paragraphs
from lorekeeper.normalize.reading import at
from lorekeeper.render.pages import markdown
from lorekeeper.text.cleaning import sentences

FEWEST = 5
"""Words of a paragraph; shorter ones are titles, values and cells."""

TOGETHER = 4
"""Words that stand together nowhere by chance."""

LOST = 4
"""Words of a paragraph that no entry may lack."""

ALIKE = 0.4
"""Least share of the words together of a sentence that the pages have if they tell it in other words."""

Words = tuple[str, ...]

Stray = tuple[int, str, str, str]
"""A page, "in no entry" or "in several entries", the beginning of a paragraph, and the words that are lost or the entries."""

Told = tuple[str, str, str]
"""The key of an object, "in no entry", or that the pages tell a sentence "in other words" or "nowhere"; and the sentence."""


def strays(document: str) -> Iterator[Stray]:
    """The paragraphs of a document that lack words in all entries, or stand in more of them than they are printed times."""
    folder = PAGES.path(document)
    if folder is None:
        return
    entries = [entity for entity in shipped_books() if entity.document == document]
    texts = [f" {' '.join(_words(' '.join(texts_in(entity.data))))} " for entity in entries]
    shown = [{*text.split(), *_words(markdown(entity))} for text, entity in zip(texts, entries, strict=True)]
    places: defaultdict[Words, set[int]] = defaultdict(set)
    for number, text in enumerate(texts):
        for few in _together(text.split()):
            places[few].add(number)
    found = printed_paragraphs(folder, document.removeprefix("srd-"))
    times = Counter(" ".join(_words(each.text)) for each in found)
    for each in found:
        words, begins = _words(each.text), " ".join(each.text.split()[:FEWEST])
        if len(words) < FEWEST:
            continue
        alike = [places.get(few, set()) for few in _together(words)]
        if lost := _lost(words, alike, shown):
            yield each.page, "in no entry", begins, " ".join(lost)
        whole = " ".join(words)
        several = [n for n in set.intersection(*alike) if f" {whole} " in texts[n]]
        if len(words) > 2 * TOGETHER and len(several) > times[whole]:
            yield each.page, "in several entries", begins, " ".join(sorted(_address(entries[n].uri) for n in several))


def untold(document: str) -> Iterator[Told]:
    """The sentences of the objects of a document whose letters no entry of it has in this order."""
    path, folder = OBJECTS.path(document), PAGES.path(document)
    if path is None or folder is None:
        return
    entries = [entity for entity in shipped_books() if entity.document == document]
    told = "|".join(_letters(text) for each in entries for text in (*texts_in(each.data), markdown(each)))
    whole = " ".join(each.text for each in printed_paragraphs(folder, document.removeprefix("srd-")))
    printed, known = _letters(whole), {*_together(_words(whole))}
    for found in rows_of(path.read_bytes()):
        lines = (line for text in texts_in(found) for line in text.split("\n"))
        for sentence in dict.fromkeys(each.strip() for line in lines for each in sentences(line)):
            letters = _letters(sentence)
            if len(_words(sentence)) >= FEWEST and sentence.endswith((".", "!", "?")) and letters not in told:
                alike = [few in known for few in _together(_words(sentence))]
                how = "in other words" if sum(alike) >= ALIKE * len(alike) else "nowhere"
                yield str(at(found, "index")), "in no entry" if letters in printed else how, sentence


def _lost(words: list[str], alike: list[set[int]], shown: list[set[str]]) -> list[str]:
    """The words that stand in no entry as they do here, nor alone in the entry that has most of them."""
    held = {at + place for at, found in enumerate(alike) if found for place in range(TOGETHER)}
    rest = [word for place, word in enumerate(words) if place not in held]
    votes = Counter(number for found in alike for number in found)
    for word in sorted(set(rest)):
        votes.update(number for number, own in enumerate(shown) if word in own)
    best = shown[max(votes, key=votes.__getitem__)] if votes else set()
    lost = [word for word in rest if word not in best]
    return lost if len(lost) >= LOST else []


def _together(words: list[str]) -> Iterator[Words]:
    return zip(*(words[at:] for at in range(TOGETHER)), strict=False)


def _words(text: str) -> list[str]:
    """The words of a text without its numbers, of which ordinals are some."""
    return re.findall(r"[^\W\d_]+", re.sub("['\u2019]|(?<=\\d)(?:st|nd|rd|th)\\b", "", text).casefold())


def _letters(text: str) -> str:
    """The letters and figures of a text, which no line's end and no dash changes."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _address(uri: str) -> str:
    """The type and the key of an entry."""
    kind, _, key = uri.removeprefix("lore://").split("/", 2)
    return f"{kind}/{key}"
