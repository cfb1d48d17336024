"""How many faults the tests notice: single faults, drawn at random over all rooms, each judged by the tests that touch its line.

    python -m scripts.mutations touched FILE          run the tests once, and write which test touches which line
    python -m scripts.mutations judge FILE [--number 60] [--seed 1]

`touched` needs `coverage` (`pip install coverage`) and takes twice as long as the tests. `judge` puts one fault at a time into a
module, runs the tests that touch its line, the quickest first, and puts the module back; it prints a line a fault and how many were
noticed. The same seed draws the same faults from the same package, so that two sets of tests can be compared. A line that no test
touches within its own process is none that they notice.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lorekeeper"
SECONDS = 120.0
"""How long, by what they took before, the tests of one fault may take; the slowest beyond that are left out."""

SWAPPED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}


@dataclass(frozen=True)
class Fault:
    """One change of a module: the text that replaces the text between two offsets."""

    module: str
    line: int
    start: int
    end: int
    text: str
    what: str


def changed(node: ast.AST) -> ast.AST | None:
    """The same expression or statement with one fault in it, None if there is none to put in."""
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=others) if type(sign) in SWAPPED:
            return ast.Compare(left, [SWAPPED[type(sign)]()], others)  # type: ignore[list-item]
        case ast.BoolOp(op=sign, values=values):
            return ast.BoolOp(SWAPPED[type(sign)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SWAPPED:
            return ast.BinOp(left, SWAPPED[type(sign)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value)):
            return ast.Constant(value + 1)
        case ast.IfExp(test=test, body=body, orelse=other):
            return ast.IfExp(test, other, body)
        case ast.Return(value=ast.expr()):
            return ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            return ast.Pass()
    return None


def faults(module: Path) -> Iterator[Fault]:
    """All faults that can be put into the functions of a module, in the order of its text."""
    source = module.read_text("utf-8")
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    nodes = {id(node): node for function in functions for statement in function.body for node in ast.walk(statement)}
    for node in nodes.values():
        if (new := changed(node)) is None:
            continue
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        text = ast.unparse(ast.fix_missing_locations(new))
        text = f"({text})" if isinstance(node, ast.expr) else text
        what = f"{ast.unparse(node)[:60]} -> {text[:60]}"
        yield Fault(module.relative_to(ROOT).as_posix(), node.lineno, start, end, text, what)


def drawn(number: int, seed: int) -> list[Fault]:
    """Faults of the whole package, each as likely as any other."""
    known = [fault for module in sorted(PACKAGE.rglob("*.py")) for fault in faults(module)]
    return sorted(random.Random(seed).sample(known, number), key=lambda fault: (fault.module, fault.start))


class Recorder:
    """A plugin of pytest that notes which lines each test touches, and how long it takes."""

    def __init__(self) -> None:
        from coverage import Coverage

        self.coverage = Coverage(source=["lorekeeper"], data_file=None)
        self.seconds: dict[str, float] = {}

    def pytest_sessionstart(self) -> None:
        self.coverage.get_data().add_lines({})  # opens its database, which a pure test may not
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began

    def written(self) -> dict[str, object]:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[str]]] = {}
        for file in data.measured_files():
            by_line = {str(line): sorted(filter(None, tests)) for line, tests in data.contexts_by_lineno(file).items()}
            lines[Path(file).relative_to(ROOT).as_posix()] = {line: tests for line, tests in by_line.items() if tests}
        return {"seconds": self.seconds, "lines": lines}


def touched(file: Path, arguments: list[str]) -> None:
    """Run the tests in this process, and write what they touch."""
    recorder = Recorder()
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[recorder])
    file.write_text(json.dumps(recorder.written()), "utf-8")


def is_noticed(fault: Fault, tests: list[str]) -> bool:
    """Whether one of the tests fails with the fault in its module, which is put back afterwards."""
    module = ROOT / fault.module
    source = module.read_bytes()
    module.write_bytes(source[: fault.start] + fault.text.encode() + source[fault.end :])
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=20 * SECONDS)
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        module.write_bytes(source)


def judge(file: Path, number: int, seed: int) -> None:
    """Print what becomes of each fault."""
    known = json.loads(file.read_text("utf-8"))
    seconds, noticed = known["seconds"], 0
    for fault in drawn(number, seed):
        tests: list[str] = []
        took = 0.0
        touching = known["lines"].get(fault.module, {}).get(str(fault.line), [])
        for test in sorted(touching, key=lambda name: seconds[name]):
            if took + seconds[test] <= SECONDS or not tests:
                tests.append(test)
                took += seconds[test]
        found = bool(tests) and is_noticed(fault, tests)
        noticed += found
        print(
            "noticed" if found else "missed ",
            f"{len(tests):5} tests {fault.module}:{fault.line}",
            fault.what,
            flush=True,
        )
    print(f"{noticed} of {number} noticed")


def main() -> None:
    parser = argparse.ArgumentParser(description="How many single faults the tests notice.")
    parser.add_argument("action", choices=("touched", "judge"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options, rest = parser.parse_known_args()
    if options.action == "touched":
        touched(options.file, rest)
    else:
        judge(options.file, options.number, options.seed)


if __name__ == "__main__":
    main()
