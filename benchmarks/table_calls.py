"""A game master's 102 questions through the real server, and whether the answers are good enough to run a game on.

    python -m benchmarks.table_calls [--calls FILE.jsonl] [--only ID ...] [--show ID] [--json]

The library is the configured one (LOREKEEPER_MILVUS_DB_PATH); it is asked offline, over stdio, with the mcp client. CALLS: one
object a line with id, question, tool, arguments, and checks (see `benchmarks.table_checks`): where one of ``must`` fails,
the answer is bad; where one of ``should`` does, it is half; else it is good. An answer is an error only where the call may
have one (``error``), it never blames a library that is complete, and it is no longer than `TOKENS` for each result allow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.table_checks import Answer, Object, holds
from lorekeeper.entities import parse_uri
from lorekeeper.library import Library
from lorekeeper.settings import load_settings

CALLS = Path(__file__).with_name("table_calls.jsonl")

TOKENS, TOKENS_BESIDE = 150, 150
"""Most tokens of a concise answer: for each result, and for all that stands around them."""

BLAMES: Object = {"silent": [r"LOREKEEPER_OFFLINE|sync open5e|has only some|not all .* are here"]}
"""What no answer of a complete library says; an error may name the command that brings a book."""

VERDICTS = ("good", "part", "bad")


@dataclass(frozen=True)
class Verdict:
    """How good an answer is, and the checks that it failed."""

    call: Object
    answer: Answer
    failed_must: list[Object]
    failed_should: list[Object]

    @property
    def word(self) -> str:
        """good, part or bad."""
        if self.failed_must:
            return "bad"
        return "part" if self.failed_should else "good"

    def as_json(self) -> dict[str, Any]:
        """The verdict with the answer's first lines."""
        return {
            "id": self.call["id"],
            "question": self.call["question"],
            "verdict": self.word,
            "tokens": self.answer.tokens,
            "failed": [*self.failed_must, *self.failed_should],
            "first_lines": self.answer.text.splitlines()[:4],
        }


def judge(call: Object, answer: Answer) -> Verdict:
    """The verdict on an answer."""
    must = [check for check in call["must"] if not holds(answer, check)]
    if answer.is_error and not call.get("error"):
        must.append({"error": False})
    if not answer.is_error and not holds(answer, BLAMES):
        must.append(BLAMES)
    should = [check for check in call.get("should", []) if not holds(answer, check)]
    if answer.tokens > _allowed(call, answer):
        should.append({"tokens": _allowed(call, answer)})
    return Verdict(call, answer, must, should)


def _allowed(call: Object, answer: Answer) -> int:
    if call["arguments"].get("detail") == "full":
        return sys.maxsize
    return TOKENS * len(answer.results) + TOKENS_BESIDE


# --- asking ----------------------------------------------------------------------------------------------------------


async def ask(calls: Sequence[Object]) -> list[Answer]:
    """The answers of the real server, and the data of the entries that they name."""
    environment = dict(os.environ) | {"LOREKEEPER_OFFLINE": "1"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "lorekeeper", "serve"], env=environment)
    async with Client(server, read_timeout_seconds=300) as client:
        answers = [await _answer(client, call) for call in calls]
    entries = await _entries({r["uri"] for answer in answers for r in answer.results})
    for answer in answers:
        answer.entries = entries
    return answers


async def _answer(client: Client, call: Object) -> Answer:
    answer = _read(await client.call_tool(call["tool"], dict(call["arguments"])))
    if answer.results and any("follow" in check for check in [*call["must"], *call.get("should", [])]):
        followed = await client.call_tool("get_entity", {"uri": answer.results[0]["uri"]})
        answer.followed = _read(followed).text
    return answer


def _read(result: Any) -> Answer:
    text = "\n".join(block.text for block in result.content if block.type == "text")
    return Answer(text, result.structured_content or {}, bool(result.is_error))


async def _entries(uris: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Data of the entries, from the library itself."""
    settings, _ = load_settings()
    found: dict[str, Mapping[str, Any]] = {}
    async with Library.from_settings(settings) as library:
        for uri in sorted(uris):
            entity = await library.cache.get_entity(*parse_uri(uri))
            if entity is not None:
                found[uri] = entity.data
    return found


# --- what is printed -------------------------------------------------------------------------------------------------


def table(verdicts: Sequence[Verdict]) -> str:
    """A line per call with what it failed, and the totals."""
    lines = []
    for verdict in verdicts:
        failed = "; ".join(json.dumps(check, ensure_ascii=False) for check in _failed(verdict))
        lines.append(
            f"{verdict.call['id']:>3} {verdict.word:4} {verdict.answer.tokens:5} {verdict.call['question']:58.58} {failed:.150}"
        )
    totals = Counter(verdict.word for verdict in verdicts)
    return "\n".join([*lines, "", ", ".join(f"{totals[word]} {word}" for word in VERDICTS) + f" of {len(verdicts)}"])


def _failed(verdict: Verdict) -> list[Object]:
    return [*verdict.failed_must, *verdict.failed_should]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=Path, default=CALLS, help="questions and checks (default: ours)")
    parser.add_argument("--only", nargs="+", metavar="ID", help="ask only these")
    parser.add_argument("--show", metavar="ID", help="print the whole answer to one")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def main() -> int:
    """Ask and judge; exit status 1 where an answer is bad."""
    args = _parser().parse_args()
    calls = [json.loads(line) for line in args.calls.read_text("utf-8").splitlines()]
    only = [args.show] if args.show else args.only
    chosen = [call for call in calls if not only or call["id"] in only]
    verdicts = [judge(call, answer) for call, answer in zip(chosen, asyncio.run(ask(chosen)), strict=True)]
    if args.json:
        print(json.dumps([verdict.as_json() for verdict in verdicts], ensure_ascii=False, indent=1))
    else:
        print(*(f"{verdict.answer.text}\n" for verdict in verdicts if args.show), table(verdicts), sep="\n")
    return int(any(verdict.word == "bad" for verdict in verdicts))


if __name__ == "__main__":
    raise SystemExit(main())
