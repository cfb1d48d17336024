"""The explanation of a search for people: what each retriever gave to each result, and why nothing was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from lorekeeper.cli.render import console, plain
from lorekeeper.printable import quantity
from lorekeeper.search.explanation import Doubt, Explained, Explanation, Side
from lorekeeper.search.fusion import Retriever

CALLED: Mapping[Retriever, str] = {"semantic": "meaning", "keyword": "keywords", "name": "name"}

COLUMNS = ("score", "result", "meaning: cosine", "keywords: BM25", "name: similarity")


def print_explanation(explanation: Explanation) -> None:
    """The search as a whole, then a line per result."""
    console.print()
    for line in _lines(explanation):
        console.print(f"[dim]{plain(line)}[/]")
    if explanation.results:
        console.print(_table(explanation))
        for result in explanation.results:
            console.print(f"[dim]{plain(result.name)}: {plain(result.why)}[/]")


def _lines(explanation: Explanation) -> Iterator[str]:
    """What was searched for and with what weight; if nothing was found, why."""
    counts = ", ".join(f"{CALLED[side]} {number:,}" for side, number in explanation.found.items())
    yield f"{quantity(explanation.entries, 'entry')} under the filters; ranked by {counts}"
    yield "fusion: " + (", ".join(f"{CALLED[s]} x {weight:.2f}" for s, weight in explanation.weights.items()) or "none")
    texts = {
        "searched by meaning": explanation.embedded,
        "keywords": explanation.words,
        "alternatives": explanation.alternatives,
        "related words (thesaurus)": explanation.related,
    }
    yield from (f"{label}: {'; '.join(words)}" for label, words in texts.items() if words)
    if explanation.doubt:
        yield _doubt(explanation.doubt)
    yield from (f"{stage.name}: {stage.changed}" for stage in explanation.stages)
    yield from (f"without {text}: {quantity(number, 'entry')}" for text, number in explanation.without.items())


def _doubt(doubt: Doubt) -> str:
    """The values of the test whether the first result may be no answer."""
    verdict = "unsure" if doubt.is_doubtful else "sure"
    return (
        f"{verdict}: the first result has a similarity of {doubt.near:.2f}, so it may lack words of a rarity of "
        f"{doubt.allowed:.2f}; it lacks {doubt.lacking:.2f}; {doubt.occurring:.0%} of the words occur"
    )


def _table(explanation: Explanation) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in COLUMNS:
        table.add_column(name, justify="right" if name == "score" else "left", no_wrap=name != "result")
    for result in explanation.results:
        table.add_row(*_row(result))
    return table


def _row(result: Explained) -> list[str]:
    score = "" if result.score is None else f"{result.score:.3f}"
    return [score, plain(result.name), *(_side(result.sides[retriever]) for retriever in CALLED)]


def _side(side: Side) -> str:
    """Rank and score of one retriever, and its share of the fused score."""
    if side.rank is None or side.score is None:
        return "-"
    return f"#{side.rank} {side.score:.2f}, {side.share:.0%}"
