"""Sixty questions of a table, answered by a model that has only the server's tools, and graded.

    python -m benchmarks.assistant_trial --url https://HOST/v1 --model NAME [--half tuned|held] [--only ID ...] --out PROTOCOL.jsonl
    python -m benchmarks.assistant_trial --grade PROTOCOL.jsonl [--json]

The endpoint is any that takes OpenAI's chat completions with tools; its key is in LOREKEEPER_TRIAL_KEY. The library is the
configured one, asked offline over stdio. The model gets the tools as the server lists them, the server's instructions, and at
most `CALLS` calls a question.

PROTOCOL: its first line says {"format", "model", "server"}; then a line a question: {"id", "calls": [{"tool", "arguments", "text",
"error"}], "answer"}. It holds what the model was given, so that it can be graded again, by other questions or rules. Descriptions
may be tuned on the questions of the half "tuned" alone.

A question is right if the model called a tool, one of the right ones, its answer has each pattern of the question, and so have
the answers of the tools: what it knew by itself does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = "assistant-trial 1"

QUESTIONS = Path(__file__).with_name("assistant_trial.jsonl")

KEY = "LOREKEEPER_TRIAL_KEY"

CALLS = 4
"""Most calls of tools for a question."""

TIMEOUT = 180
"""Seconds to wait for the endpoint."""

ASKED = "Answer the question of the game master in one or two sentences, from the tools alone, and name the book."

Object = dict[str, Any]


@dataclass(frozen=True)
class Grade:
    """How a question went.

    Attributes:
        id: of the question.
        called: a tool was called.
        right_tool: one of those that have the answer.
        answered: the answer has all that it should.
        grounded: the answers of the tools have it too.
        first: the first of them alone has it.
        chars: characters that the tools answered.
    """

    id: str
    called: bool
    right_tool: bool
    answered: bool
    grounded: bool
    first: bool
    chars: int

    @property
    def right(self) -> bool:
        """Whether all of it holds."""
        return self.called and self.right_tool and self.answered and self.grounded


def grade(question: Mapping[str, Any], record: Mapping[str, Any]) -> Grade:
    """How a question went, by what was recorded."""
    calls = [call for call in record["calls"] if not call.get("error")]
    texts = [str(call["text"]) for call in calls]

    def holds(text: str) -> bool:
        return all(re.search(pattern, text, re.IGNORECASE) for pattern in question["answer"])

    return Grade(
        question["id"],
        called=bool(record["calls"]),
        right_tool=any(call["tool"] in question["tools"] for call in calls),
        answered=holds(str(record["answer"])),
        grounded=holds("\n".join(texts)),
        first=bool(texts) and record["calls"][0] is calls[0] and holds(texts[0]),
        chars=sum(len(str(call["text"])) for call in record["calls"]),
    )


def graded(questions: Iterable[Mapping[str, Any]], records: Iterable[Mapping[str, Any]]) -> list[Grade]:
    """The grades of the questions that a protocol has, in the order of the questions."""
    by_id = {record["id"]: record for record in records if "id" in record}
    return [grade(question, by_id[question["id"]]) for question in questions if question["id"] in by_id]


def summary(grades: Sequence[Grade]) -> Object:
    """Counts over all questions, and the characters that a question took."""
    chars = sorted(each.chars for each in grades)
    return {
        "questions": len(grades),
        "right": sum(each.right for each in grades),
        "called": sum(each.called for each in grades),
        "right_tool": sum(each.right_tool for each in grades),
        "answered": sum(each.answered for each in grades),
        "grounded": sum(each.grounded for each in grades),
        "first_call_sufficed": sum(each.first for each in grades),
        "median_chars": statistics.median(chars) if chars else 0,
        "p90_chars": chars[int(len(chars) * 0.9)] if chars else 0,
        "most_chars": max(chars, default=0),
    }


def read(path: Path) -> Iterator[Object]:
    """The objects of a file of JSON lines.

    Raises:
        ValueError: it is a protocol of another format.
    """
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            found = json.loads(line)
            if found.get("format", FORMAT) != FORMAT:
                raise ValueError(f"{path} is of the format {found['format']!r}, not {FORMAT!r}")
            yield found


# --- asking ----------------------------------------------------------------------------------------------------------


class Endpoint:
    """A model behind OpenAI's chat completions."""

    def __init__(self, url: str, model: str) -> None:
        self._url, self._model = f"{url.rstrip('/')}/chat/completions", model

    def complete(self, messages: Sequence[Object], tools: Sequence[Object]) -> Object:
        """The model's next message."""
        body = {"model": self._model, "messages": messages, "temperature": 0} | ({"tools": tools} if tools else {})
        headers = {"content-type": "application/json"}
        if key := os.environ.get(KEY):
            headers["authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            message: Object = json.load(answer)["choices"][0]["message"]
        return message


async def ask(client: Any, endpoint: Endpoint, question: Mapping[str, Any], tools: Sequence[Object]) -> Object:
    """What the model called and answered."""
    messages: list[Object] = [
        {"role": "system", "content": f"{client.instructions or ''}\n\n{ASKED}"},
        {"role": "user", "content": question["question"]},
    ]
    calls: list[Object] = []
    while True:
        offered = tools if len(calls) < CALLS else []
        message = await asyncio.to_thread(endpoint.complete, messages, offered)
        wanted = (message.get("tool_calls") or [])[: CALLS - len(calls)]
        if not wanted:
            return {"id": question["id"], "calls": calls, "answer": message.get("content") or ""}
        messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": wanted})
        for call in wanted:
            record = await _called(client, call["function"])
            calls.append(record)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": record["text"]})


async def _called(client: Any, function: Mapping[str, Any]) -> Object:
    """One call of a tool, with its answer; what is no JSON is an error that the model reads."""
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError as error:
        return {"tool": function["name"], "arguments": {}, "text": f"arguments are no JSON: {error}", "error": True}
    result = await client.call_tool(function["name"], arguments)
    text = "\n".join(getattr(part, "text", "") for part in result.content)
    return {"tool": function["name"], "arguments": arguments, "text": text, "error": bool(result.is_error)}


async def run(questions: Sequence[Object], endpoint: Endpoint, model: str, out: Path) -> None:
    """Ask all questions, and write the protocol line by line."""
    from mcp import Client, StdioServerParameters

    from lorekeeper.version import VERSION

    environment = {**os.environ, "LOREKEEPER_OFFLINE": "1", "LOREKEEPER_BACKGROUND_SYNC": "0"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "lorekeeper", "serve"], env=environment)
    async with Client(server) as client:
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in (await client.list_tools()).tools
        ]
        with out.open("w", encoding="utf-8") as file:
            head = {"format": FORMAT, "model": model, "server": f"lorekeeper {VERSION}"}
            print(json.dumps(head, ensure_ascii=False), file=file, flush=True)
            for question in questions:
                record = await ask(client, endpoint, question, tools)
                print(json.dumps(record, ensure_ascii=False), file=file, flush=True)
                print(f"{question['id']} {len(record['calls'])} calls", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask or grade; 2 without an endpoint to ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="address of the endpoint, up to /v1")
    parser.add_argument("--model", help="name of the model")
    parser.add_argument("--out", type=Path, help="where the protocol is written")
    parser.add_argument("--grade", type=Path, help="a protocol to grade; nothing is asked")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--half", choices=("tuned", "held"))
    parser.add_argument("--only", nargs="+", metavar="ID")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    questions = [
        each
        for each in read(asked.questions)
        if asked.half in (None, each["half"]) and (asked.only is None or each["id"] in asked.only)
    ]
    protocol = asked.grade or asked.out
    if asked.grade is None:
        if not (asked.url and asked.model and asked.out):
            print("nothing to ask: give --url, --model and --out, or --grade with a protocol", file=sys.stderr)
            return 2
        asyncio.run(run(questions, Endpoint(asked.url, asked.model), asked.model, asked.out))
    grades = graded(questions, read(protocol))
    found = summary(grades)
    if asked.json:
        print(json.dumps(found | {"grades": [asdict(each) | {"right": each.right} for each in grades]}))
    else:
        print("\n".join(f"{name}: {value}" for name, value in found.items()))
        print("not right:", ", ".join(each.id for each in grades if not each.right) or "none")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
