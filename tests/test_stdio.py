"""A client over stdio that says what is no message: it is answered, and the server goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.server.stdio import MESSAGE_BYTES, refusal
from tests.support.commands import environment
from tests.support.serving import SERVE

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

CALL = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "lookup_spell", "arguments": %s}}'

UNREADABLE: dict[str, tuple[bytes, Any, int]] = {
    "half a pair": ((CALL % (7, '{"name": "\\ud800"}')).encode(), 7, PARSE_ERROR),
    "half a pair in a filter": ((CALL % ('"a-b"', '{"school": ["\\udfff"]}')).encode(), "a-b", PARSE_ERROR),
    "half a pair as id": ((CALL % ('"\\ud800"', "{}")).encode(), None, PARSE_ERROR),
    "bytes that are no UTF-8": (CALL.encode() % (b"8", b'{"name": "\xff\xfe"}'), 8, PARSE_ERROR),
    "NUL": (CALL.encode() % (b"9", b'{"name": "\0"}'), 9, PARSE_ERROR),
    "cut off": (b'{"jsonrpc": "2.0", "id": 10, "method": "tools/list"', 10, PARSE_ERROR),
    "no JSON": (b"GET / HTTP/1.1", None, PARSE_ERROR),
    "deep": ((CALL % (11, "[" * 100_000)).encode(), 11, PARSE_ERROR),
    "deep, id last": (b'{"params": ' + b"[" * 100_000 + b"]" * 100_000 + b', "id": 12}', None, PARSE_ERROR),
    "huge": ((CALL % (13, json.dumps({"name": "x" * 3 * MESSAGE_BYTES}))).encode(), 13, INVALID_REQUEST),
    "a batch": (b'[{"jsonrpc": "2.0", "id": 14, "method": "ping"}]', None, INVALID_REQUEST),
    "a number": (b"5", None, INVALID_REQUEST),
    "another version": (b'{"jsonrpc": "1.0", "id": 15, "method": "ping"}', 15, INVALID_REQUEST),
    "parameters in a list": (b'{"jsonrpc": "2.0", "id": 16, "method": "ping", "params": []}', 16, INVALID_REQUEST),
    "no method": (b'{"jsonrpc": "2.0", "id": 17}', 17, INVALID_REQUEST),
    "null as id": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, INVALID_REQUEST),
    "a fraction as id": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None, INVALID_REQUEST),
    "an id of 5,000 digits": (b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 5000 + b"}", None, PARSE_ERROR),
}
"""What is sent, the id of its answer, and the code there."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    folder: Path = tmp_path_factory.mktemp("stdio")
    process = subprocess.Popen(
        SERVE,
        env=environment(folder, CACHE_BACKEND="sqlite"),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert "result" in said(process, json.dumps(INITIALIZE).encode())
        yield process
        rest, errors = process.communicate(timeout=200)
        assert (rest, errors, process.returncode) == (b"", b"", 0)


def said(process: subprocess.Popen[bytes], line: bytes) -> dict[str, Any]:
    """The answer to a line."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


@pytest.mark.parametrize("name", UNREADABLE)
def test_b21_what_cannot_be_read_is_answered_and_the_server_goes_on(server: subprocess.Popen[bytes], name: str) -> None:
    line, number, code = UNREADABLE[name]
    answer = said(server, line)
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", number, code)
    assert 0 < len(answer["error"]["message"]) < 400
    assert said(server, b'\n  \n{"jsonrpc": "2.0", "id": 99, "method": "ping"}') == {
        "jsonrpc": "2.0",
        "id": 99,
        "result": {},
    }


def test_b21_a_nul_in_an_argument_is_a_tool_error(server: subprocess.Popen[bytes]) -> None:
    result = said(server, (CALL % (20, '{"school": "\\u0000"}')).encode())["result"]
    assert result["isError"]
    assert "NUL" in result["content"][0]["text"]


def test_what_is_a_message_is_not_refused() -> None:
    for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
        assert refusal(json.dumps(message).encode()) is None
    assert (
        refusal('{"jsonrpc": "2.0", "id": "é", "method": "ping", "params": {"a": "\\ud83d\\ude00"}}'.encode()) is None
    )
    assert refusal(b'{"jsonrpc": "2.0", "id": 1, "result": {}}') is None
