"""A client of a stdio server that writes raw lines, good and broken ones, and counts what is answered."""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import forking
from tests.support.fuzzing import Answer, Call, Caller
from tests.support.serving import INITIALIZE

QUIET_SECONDS = 10.0
"""How long no answer has to come before the missing ones count as never given."""

ANSWER_SECONDS = 200.0
"""How long one tool call may take."""

EXIT_SECONDS = 30.0


@dataclass(frozen=True)
class Line:
    """One line for a server.

    Attributes:
        content: its bytes, without the line break.
        id: of the request in it, None where there is none to be read.
        call: the tool call in it, where it is whole.
        needs_answer: whether JSON-RPC wants an answer to it; an error without an id is one.
    """

    content: bytes
    id: str | int | None
    call: Call | None
    needs_answer: bool


def make_lines(chance: random.Random, caller: Caller, number: int) -> Iterator[Line]:
    """Whole calls in every way of writing them, and mutated ones; `tests/test_stdio.py` has lines that are none."""
    for n in range(number):
        own = f"q{n}"
        call = caller.call()
        message = {"jsonrpc": "2.0", "id": own, "method": "tools/call"}
        params = {"name": call.tool, "arguments": call.arguments}
        escaped = chance.random() < 0.7
        with _long_integers():
            text = json.dumps(message | {"params": params}, ensure_ascii=escaped)
        content = text.encode("utf-8", "surrogatepass")
        yield read_line(_mutated(chance, content) if chance.random() < 0.2 else content)


def read_line(content: bytes) -> Line:
    """What a line holds, read as leniently as can be."""
    try:
        with _long_integers():
            value = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return Line(content, None, None, needs_answer=True)
    if not isinstance(value, dict):
        return Line(content, None, None, needs_answer=True)
    own = value.get("id")
    own = own if isinstance(own, (str, int)) and not isinstance(own, bool) else None
    notification = "id" not in value and isinstance(value.get("method"), str)
    response = "result" in value or "error" in value
    params: Any = value.get("params")
    call = None
    whole = content.decode("utf-8", "replace").encode() == content
    asked = value.get("method") == "tools/call" and value.get("jsonrpc") == "2.0"
    if own is not None and whole and asked and _is_call(params):
        call = Call(params["name"], params["arguments"])
    return Line(content, own, call, needs_answer=not notification and not response)


def _is_call(params: Any) -> bool:
    return (
        isinstance(params, dict)
        and params.keys() == {"name", "arguments"}
        and isinstance(params["name"], str)
        and isinstance(params["arguments"], dict)
    )


@contextmanager
def _long_integers() -> Iterator[None]:
    """Python refuses integers of more than 4,300 digits, in both directions."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def _mutated(chance: random.Random, content: bytes) -> bytes:
    """Some bytes changed, removed or doubled; never a line break."""
    if len(content) > 5000:
        return content
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[place] = chance.randrange(256)
            case 1:
                del changed[place]
            case 2:
                changed[place:place] = chance.choice(
                    [b'"', b"{", b"]", b"\\", b"\\ud800", b"\0", b"\xed\xa0\x80", b"1e"]
                )
            case 3:
                del changed[place:]
        if not changed:
            changed = bytearray(b"{")
    return bytes(changed).replace(b"\n", b" ").replace(b"\r", b" ")


class RawServer:
    """``lorekeeper serve`` over stdio, spoken to byte by byte; use it as a context manager.

    Args:
        environ: its environment.
        log: where its stderr goes.
    """

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                forking.command("lorekeeper", "serve"),
                cwd=log.parent,
                env={**environ, **forking.variables()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        """Messages in order; None once the process has ended."""
        self._asked = 0
        self.garbage: list[bytes] = []
        """Lines on stdout that are no message of the protocol."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self._answers.put(json.loads(line))
            except ValueError:
                self.garbage.append(line[:500])
        self._answers.put(None)

    def greet(self) -> None:
        """The handshake."""
        greeting = json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": INITIALIZE})
        self._write(greeting.encode())
        assert "result" in (self._answers.get(timeout=200) or {})
        self._write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def ask(self, tool: str, **arguments: Any) -> Answer:
        """The answer to one tool call; EOFError if the process has ended."""
        self._asked += 1
        request = {"id": self._asked, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        self._write(json.dumps({"jsonrpc": "2.0", **request}).encode())
        while (message := self._answers.get(timeout=ANSWER_SECONDS)) is not None:
            if message.get("id") == self._asked:
                return answer_of(message)
        raise EOFError("the server has ended")

    def converse(self, lines: list[Line]) -> tuple[dict[str | int, dict[str, Any]], int]:
        """Send all lines, and collect what comes back.

        Returns:
            The answers by id, and how many lines got none.
        """
        due = Counter(line.id for line in lines if line.needs_answer and line.id is not None)
        nameless = sum(line.needs_answer and line.id is None for line in lines)
        writer = threading.Thread(target=self._write_all, args=(lines,), daemon=True)
        writer.start()
        answers: dict[str | int, dict[str, Any]] = {}
        missing, extra = sum(due.values()) + nameless, 0
        while missing > extra:
            try:
                message = self._answers.get(timeout=QUIET_SECONDS)
            except queue.Empty:
                break
            if message is None:
                break
            own: Any = message.get("id")
            if own is not None and due[own] > 0:
                due[own] -= 1
                missing -= 1
                answers[own] = message
            elif "error" in message:  # to a line that cannot be read, with its id where that can be known
                extra += 1
        writer.join(timeout=QUIET_SECONDS)
        return answers, max(missing - extra, 0)

    def _write_all(self, lines: list[Line]) -> None:
        for line in lines:
            self._write(line.content)

    def _write(self, content: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(content + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # what is not answered is counted

    def end(self) -> tuple[int, str]:
        """Close its input; the exit status and stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            status = self.process.wait(timeout=EXIT_SECONDS)
        finally:
            self.process.kill()
            self._reader.join(timeout=QUIET_SECONDS)
        return status, self._log.read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> RawServer:
        self.greet()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=EXIT_SECONDS)


def answer_of(message: Mapping[str, Any]) -> Answer:
    """A message of the protocol as an answer to a tool call."""
    if "error" in message:
        return Answer(str(message["error"].get("message")), None, is_error=True)
    result = message["result"]
    text = "".join(block.get("text", "") for block in result["content"])
    return Answer(text, result.get("structuredContent"), bool(result.get("isError")))
