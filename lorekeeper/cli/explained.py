"""The explanation of a search for people: what each retriever gave to each result, and why nothing was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from lorekeeper.cli.render import console, plain
from lorekeeper.printable import quantity
from lorekeeper.search.explanation import OFF_TOPIC, Explained, Explanation, Side, Topic
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
    if explanation.topic:
        yield _topic(explanation.topic)
    yield from (f"{stage.name}: {stage.changed}" for stage in explanation.stages)
    yield from (f"without {text}: {quantity(number, 'entry')}" for text, number in explanation.without.items())


def _topic(topic: Topic) -> str:
    """The values of the test whether a query is off-topic, and the limits they were held against."""
    if topic.occurring is None:
        return f"on topic: best cosine {topic.closest:.3f}, so the words do not matter"
    limits = " or ".join(f"cosine < {closest:.2f} and words <= {share:.0%}" for closest, share in OFF_TOPIC)
    verdict = "off topic" if topic.off else "on topic"
    return (
        f"{verdict}: best cosine {topic.closest:.3f}, {topic.occurring:.0%} of the words occur; off topic if {limits}"
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
