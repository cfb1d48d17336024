"""Random tool calls on both local backends, over the real server: never a row outside the filters, never a traceback, never
silence. `tests.support.fuzzing` makes the calls and says what may be answered.

``--fuzz-calls`` says how many calls each backend gets, ``--seed`` which; `make fuzz` runs the long form.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.http import HttpProvider
from lorekeeper.library import Library
from lorekeeper.server.mcp import build_server
from lorekeeper.settings import Settings
from tests.support import fuzzing
from tests.support.backends import BACKENDS
from tests.support.commands import environment
from tests.support.fuzzing import Answer, Call, Caller, Judge, Oracle, Rule, make_records
from tests.support.raw_client import RawServer, answer_of, make_lines, read_line
from tests.support.samples import write_lines

RECORDS = 400

ANSWER_SECONDS = 60.0
"""How long one call may take before it counts as unanswered."""

RAW_SHARE = 2
"""One raw line over stdio for so many calls in memory."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def chance(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """Of the seed and the test, so that each test can be run again alone."""
    return random.Random(f"{seed} {request.node.name}")


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[tuple[Library, Client]]:
    """A library, and a client of the server over it; both speak JSON-RPC through memory."""
    service = EmbeddingService(lambda: HashingProvider(512))
    async with (
        Library(open_cache(settings, service), service, offline=True) as library,
        Client(build_server(library), mode="legacy") as client,
    ):
        yield library, client


async def fill(library: Library, folder: Path, records: list[fuzzing.Record]) -> None:
    report = await library.import_paths([write_lines(folder / "records.jsonl", records)])
    assert (report.stored, report.failed) == (len(records), [])


async def ask(client: Client, call: Call, judge: Judge) -> Answer:
    """One call; what cannot be sent over a wire is noted."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            result = await client.call_tool(call.tool, call.arguments)
    except MCPError as error:
        return Answer(str(error), is_error=True)
    try:
        result.model_dump_json(by_alias=True)
    except ValueError as error:
        judge.note(call, f"an answer that is no JSON, so that none would arrive: {error}")
    text = "".join(block.text for block in result.content)
    return Answer(text, result.structured_content, bool(result.is_error))


async def drive(client: Client, judge: Judge, caller: Caller, calls: int, chance: random.Random) -> None:
    """That many calls; now and then all pages of one, and what is behind a row."""
    for made in caller:
        if judge.calls >= calls:
            return
        call = Call(made.tool, finite(made.arguments))
        answer = await ask(client, call, judge)
        verdict = judge.judge(call, answer)
        if verdict is None or answer.is_error:
            continue
        if verdict.clear and chance.random() < 0.04:
            await walk(client, judge, call, chance)
        elif answer.structured and answer.structured["results"] and chance.random() < 0.1:
            row = chance.choice(answer.structured["results"])
            read = Call("get_entity", {"uri": row["uri"], "detail": "json"})
            judge.judge(read, await ask(client, read, judge))


def finite(value: Any) -> Any:
    """As the client sends it: it writes null for NaN and infinities, which reach the server over raw lines only."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


async def walk(client: Client, judge: Judge, call: Call, chance: random.Random) -> None:
    """Every page of a call from the first on: disjoint, and of exact filters all that there is."""
    size = chance.choice([3, 10, 50])
    found: list[str] = []
    entries = 0
    offset: int | None = 0
    verdict = None
    for _ in range(15):
        page_call = Call(call.tool, call.arguments | {"limit": size, "offset": offset, "detail": "json"})
        answer = await ask(client, page_call, judge)
        verdict = judge.judge(page_call, answer)
        if answer.is_error:
            return
        found += [row["uri"] for row in answer.structured["results"]]
        entries += sum(row.get("entries", 1) for row in answer.structured["results"])  # variants share a row
        offset = answer.structured.get("next_offset")
        if offset is None:
            break
    if len(set(found)) < len(found):
        judge.note(call, f"pages of {size} that overlap")
    if verdict is not None and offset is None and not verdict.ranked and entries != len(verdict.expected):
        judge.note(call, f"pages of {size} with {entries} entries of {len(verdict.expected)}")


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{r.name}: {r.getMessage()}: {r.exc_info[1]!a}"[:600] for r in caplog.records if r.exc_info]


def conclude(judge: Judge, seed: int, caplog: pytest.LogCaptureFixture | None = None) -> None:
    for trace in tracebacks(caplog) if caplog else ():
        judge.note("some call", f"a traceback in the log: {trace}")
    print(f"{judge.label}: {judge.calls} calls, {judge.compared} compared, {judge.errors} errors, seed {seed}")
    assert judge.wrong == [], judge.report(seed)
    assert judge.calls < 100 or judge.compared > judge.calls / 3, "too few answers were compared to show anything"


# --- calls in memory --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["milvus", "sqlite"])
async def test_no_call_gets_a_row_outside_its_filters_a_traceback_or_no_answer(
    name, tmp_path, seed, fuzz_calls, chance, caplog, request
):
    caplog.set_level(logging.ERROR)
    records = make_records(chance, RECORDS)
    judge = Judge(Oracle(records), name)
    async with connected(BACKENDS[name](tmp_path, request)) as (library, client):
        await fill(library, tmp_path, records)
        await drive(client, judge, Caller(chance, records), fuzz_calls, chance)
    conclude(judge, seed, caplog)


# --- raw lines over stdio --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["milvus", "sqlite"])
async def test_every_line_over_stdio_is_answered(name, tmp_path, seed, fuzz_calls, chance, embeddings, request):
    records = make_records(chance, RECORDS)
    judge = Judge(Oracle(records), f"{name} over stdio")
    service = EmbeddingService(lambda: HttpProvider(embeddings.url, "all-MiniLM-L6-v2"))
    async with Library(open_cache(BACKENDS[name](tmp_path, request), service), service, offline=True) as library:
        await fill(library, tmp_path, records)
    env = environment(tmp_path, CACHE_BACKEND=name, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url)
    lines = list(make_lines(chance, Caller(chance, records), max(fuzz_calls // RAW_SHARE, 1)))
    await asyncio.to_thread(_converse, env, tmp_path / "stderr", lines, judge)
    conclude(judge, seed)


def _converse(env: dict[str, str], log: Path, lines: list[Any], judge: Judge) -> None:
    with RawServer(env, log) as server:
        answers, unanswered = server.converse(lines)
        if unanswered:
            silent = [line for line in lines if line.needs_answer and line.id not in answers]
            shown = [line.content[:100] for line in silent[:5]]
            judge.note("all lines", f"{unanswered} lines without an answer, of {len(lines)}; some of {shown}")
        times = Counter(line.id for line in lines)  # a mutated line may have the id of another
        for line in lines:
            if line.call is not None and line.id in answers and times[line.id] == 1:
                judge.judge(line.call, answer_of(answers[line.id]))
        alive, missing = server.converse([read_line(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')])
        if missing or "result" not in alive["last"]:
            judge.note("all lines", "the server answers nothing any more")
        status, errors = server.end()
    if status or "Traceback" in errors or server.garbage:
        judge.note("all lines", f"exit status {status}, {errors.count('Traceback')} tracebacks, {server.garbage[:3]}")
        judge.note("all lines", errors[-600:])


# --- the oracle itself -----------------------------------------------------------------------------------------------


def _absent_is_zero(rule: Rule, wanted: Any, record: fuzzing.Record) -> bool:
    empty = {"integer": 0, "decimal": 0, "flag": False}.get(rule.kind, "")
    return fuzzing.holds(rule, wanted, {**record, rule.key: record.get(rule.key) or empty})


def _bounds_exclude(rule: Rule, wanted: Any, record: fuzzing.Record) -> bool:
    equal = fuzzing.holds(Rule(rule.key, rule.kind), wanted, record)
    return fuzzing.holds(rule, wanted, record) and not (rule.bound and equal)


def _case_matters(rule: Rule, wanted: Any, record: fuzzing.Record) -> bool:
    values = record.get(rule.key)
    exact = rule.kind != "text" or values == wanted or (isinstance(values, list) and wanted in values)
    return exact and fuzzing.holds(rule, wanted, record)


@pytest.mark.slow
async def test_the_oracle_would_notice(tmp_path, chance):
    """Right answers fail against an oracle that is wrong in one thing, and only against that."""
    records = make_records(chance, RECORDS)
    right = Judge(Oracle(records))
    wrong = [Judge(Oracle(records, rule)) for rule in (_absent_is_zero, _bounds_exclude, _case_matters)]
    async with connected(BACKENDS["sqlite"](tmp_path, None)) as (library, client):  # type: ignore[arg-type]
        await fill(library, tmp_path, records)
        for call in itertools.islice(Caller(chance, records), 250):
            if call.tool in fuzzing.LOOKUPS and right.oracle.verdict(call.tool, call.arguments).clear:
                answer = await ask(client, call, right)
                for judge in (right, *wrong):
                    judge.judge(call, answer)
    assert right.wrong == []
    assert all(judge.wrong for judge in wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda page: page["results"].append(page["results"][0]), "a row twice"),
        (lambda page: page["results"].pop(), "total, rows and next page"),
        (lambda page: page.update(total=page["total"] + 1), "total, rows and next page"),
        (lambda page: page["results"][0].update(name="Other"), "a row that is not its record"),
        (lambda page: page["results"][0].update(uri="lore://spells/a/b"), "outside the filters"),
    ],
)
async def test_the_judge_would_notice(change, said, tmp_path, chance):
    records = make_records(chance, 60)
    judge, call = Judge(Oracle(records)), Call("lookup_spell", {"detail": "json"})
    async with connected(BACKENDS["sqlite"](tmp_path, None)) as (library, client):  # type: ignore[arg-type]
        await fill(library, tmp_path, records)
        answer = await ask(client, call, judge)
    judge.judge(call, answer)
    assert judge.wrong == []
    page = json.loads(json.dumps(answer.structured))
    change(page)
    judge.judge(call, Answer(answer.text, page))
    assert said in judge.report(0)
