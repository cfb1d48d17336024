"""Compare the books as LoreKeeper prints them from one source with other sources of the same books, fact by fact.

    python -m scripts.compare_books CORPUS [--explained]

CORPUS has the objects of Open5e (`entities`) and the SRD 5.2 in Markdown (`srd52`). Open5e's entries are compared with the SRD 5.2
in Markdown, and with those of the packages of ``data-packages.txt``. Each paragraph of the printed pages is looked for in the
entries: it stands in one; and each sentence of the objects, unless the pages have other words. Prints how many facts agree, every
difference that `scripts/books/known.toml` does not explain, and every row of that table that explains nothing. Exit status 1 if
there is any.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.intake.superseded import DOCUMENTS
from scripts.books import markdown, ours
from scripts.books.facts import Book, Facts
from scripts.books.facts import name as name_of
from scripts.books.pages import strays, untold

KNOWN = Path(__file__).with_name("books") / "known.toml"


@dataclass(frozen=True)
class Difference:
    """A fact that two sources of a book have with different values, "" where one lacks it."""

    book: str
    kind: str
    entry: str
    fact: str
    ours: str
    other: str

    def __str__(self) -> str:
        return f"{self.book} | {self.kind} | {self.entry} | {self.fact} | {self.ours} | {self.other}"


def differences(title: str, mine: Book, other: Book) -> Iterator[Difference]:
    """All differences of the entries that both have."""
    for kind, entry in sorted(mine):
        if counterpart := _counterpart(kind, entry, mine, other):
            one, two = mine[kind, entry], _of_variant(entry, mine[kind, entry], other[kind, counterpart], counterpart)
            for fact in sorted(one.keys() | two.keys()):
                if one.get(fact, "") != two.get(fact, ""):
                    yield Difference(title, kind, entry, fact, one.get(fact, ""), two.get(fact, ""))


_GENERIC = frozenset("sword axe weapon armor of or the a +1 +2 +3".split())


def _counterpart(kind: str, entry: str, mine: Book, other: Book) -> str:
    """The name of an entry in the other source; of a variant of a magic item the name of the item, "" if there is none."""
    if (kind, entry) in other:
        return entry
    if kind in ("gear", "armor"):
        plain = name_of(entry)
        parts = set(re.findall(r"[\w']+", entry))
        names = [name for each, name in other if each == kind]
        alike = (name for name in names if set(re.findall(r"[\w']+", name)) == parts or name_of(name) == plain)
        return next(alike, "")
    if kind != "magic item":
        return ""
    words = _words(entry)
    found = [name for each, name in other if each == kind and _words(name) and _words(name) <= words]
    if found:
        return max(found, key=lambda name: (len(_words(name)), name.split()[0] == entry.split()[0]))
    if bonus := re.search(r"\+\d", entry):
        known = mine[kind, entry]["category"]
        group = next((each for each in ("shield", "ammunition") if each in entry), known)
        items = (f"{group}, {bonus[0]}", f"{group}, +1, +2, or +3")
        return next((item for item in items if (kind, item) in other), "")
    return ""


def _words(name: str) -> frozenset[str]:
    """The words of a name that tell items from others."""
    return frozenset(re.sub(r"s$", "", word) for word in re.findall(r"[\w'+]+", name.replace("-", " "))) - _GENERIC


def _of_variant(entry: str, mine: Facts, other: Facts, counterpart: str) -> Facts:
    """The facts of an item as far as they hold for one of its variants, or for ours if it says them of several."""
    facts = {fact: each for fact, each in other.items() if not fact.startswith("rarity of ")}
    bonus = re.search(r"\+\d", entry)
    if bonus and f"rarity of {bonus[0]}" in other:
        facts["rarity"] = other[f"rarity of {bonus[0]}"]
    elif mine.get("rarity", "") in other.get("rarity", "").split(", ") or "varies" in other.get("rarity", ""):
        facts["rarity"] = mine.get("rarity", "")
    if entry != counterpart and "text dice" in facts:
        facts["text dice"] = mine.get("text dice", "")
    return facts


@dataclass(frozen=True)
class Known:
    """Differences that are explained. Each text but ``whose`` and ``reason`` is a regular expression for the whole value."""

    whose: str
    reason: str
    book: str = ".*"
    kind: str = ".*"
    entry: str = ".*"
    fact: str = ".*"
    ours: str = ".*"
    other: str = ".*"

    def explains(self, found: Difference) -> bool:
        """Whether a difference is one of these."""
        parts = ("book", "kind", "entry", "fact", "ours", "other")
        return all(re.fullmatch(getattr(self, part), getattr(found, part)) for part in parts)


def known() -> list[Known]:
    """The table of known differences."""
    return [Known(**row) for row in tomllib.loads(KNOWN.read_text("utf-8"))["known"]]


@dataclass(frozen=True)
class Comparison:
    """A book in two sources.

    Attributes:
        rows: by kind: entries in both sources, facts of these, and entries that only one has.
        explained: each difference with what explains it.
        unexplained: all others.
    """

    rows: Mapping[str, tuple[int, int, int, int]]
    explained: Sequence[tuple[Difference, Known]]
    unexplained: Sequence[Difference]


def compare(title: str, mine: Book, other: Book) -> Comparison:
    """Compare the facts of a book in two sources."""
    rows = {}
    for kind in sorted({kind for kind, _ in mine}):
        names = {entry: _counterpart(kind, entry, mine, other) for each, entry in mine if each == kind}
        both = [entry for entry, counterpart in names.items() if counterpart]
        theirs = {entry for each, entry in other if each == kind} - set(names.values())
        facts = sum(len(mine[kind, entry].keys() | other[kind, names[entry]].keys()) for entry in both)
        rows[kind] = (len(both), facts, len(names) - len(both), len(theirs))
    return _explained(rows, differences(title, mine, other))


def compare_pages(document: str) -> Comparison:
    """Look for each paragraph of the pages of a document in its entries."""
    title = f"{document} pages"
    found = [Difference(title, kind, str(page), begins, "", other) for page, kind, begins, other in strays(document)]
    return _counted(found)


def compare_objects(document: str) -> Comparison:
    """Look for each sentence of the objects of a document in its entries."""
    title = f"{document} objects"
    return _counted([Difference(title, kind, key, "", "", sentence) for key, kind, sentence in untold(document)])


def _counted(found: Sequence[Difference]) -> Comparison:
    return _explained({kind: (0, number, 0, 0) for kind, number in Counter(each.kind for each in found).items()}, found)


def _explained(rows: Mapping[str, tuple[int, int, int, int]], found: Iterable[Difference]) -> Comparison:
    table, explained, unexplained = known(), [], []
    for each in found:
        if reason := next((row for row in table if row.explains(each)), None):
            explained.append((each, reason))
        else:
            unexplained.append(each)
    return Comparison(rows, explained, unexplained)


def books(corpus: Path) -> Mapping[str, Comparison]:
    """All comparisons."""
    open5e = {document: ours.book(corpus, document) for document in DOCUMENTS}
    found = {"srd-2024": compare("srd-2024", open5e["srd-2024"], markdown.book(corpus))}
    for document, mine in open5e.items():
        title = f"{document} packages"
        found[title] = compare(title, mine, ours.packaged(document))
        found[f"{document} pages"] = compare_pages(document)
        found[f"{document} objects"] = compare_objects(document)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of a comparison; 1 if a difference is not explained."""
    parser = argparse.ArgumentParser(
        description="Compare the books as LoreKeeper prints them with other sources of them."
    )
    parser.add_argument("corpus", type=Path, help="folder with entities and srd52")
    parser.add_argument("--explained", action="store_true", help="print the differences that are explained, too")
    options = parser.parse_args(arguments)
    compared = books(options.corpus)
    print(
        "| book | kind | entries | facts | only ours | only theirs | theirs | opinion | unexplained |\n|" + "---|" * 9
    )
    for title, comparison in compared.items():
        whose = Counter((found.kind, reason.whose) for found, reason in comparison.explained)
        open_ones = Counter(found.kind for found in comparison.unexplained)
        for kind, row in comparison.rows.items():
            cells = (title, kind, *row, whose[kind, "theirs"], whose[kind, "opinion"], open_ones[kind])
            print(f"| {' | '.join(map(str, cells))} |")
    for comparison in compared.values():
        if options.explained:
            print(*(f"{found} | {reason.whose}: {reason.reason}" for found, reason in comparison.explained), sep="\n")
        print(*comparison.unexplained, sep="\n")
    used = {reason for comparison in compared.values() for _, reason in comparison.explained}
    idle = [row for row in known() if row not in used]
    print(*(f"explains nothing: {row}" for row in idle), sep="\n")
    return 1 if idle or any(comparison.unexplained for comparison in compared.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
