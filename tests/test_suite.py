"""What holds for the tests themselves: what they import, that they can fail, and that a failure can be repeated."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.commands import ROOT

MODULES = sorted((ROOT / "tests").rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("test_*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))

LONGEST_NAME = 90

ITERATING = {"zip", "enumerate", "sorted", "list", "set", "iter"}
"""Functions whose result has items if their arguments have."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def relative(module: Path) -> str:
    return module.relative_to(ROOT).as_posix()


@functools.cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))


@functools.cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(module)))


def imported(module: Path) -> Iterator[str]:
    """Full names of all that a module imports."""
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_tests_import_support_modules_and_no_other_test(module):
    names = [name for name in imported(module) if name.startswith(("tests.", "benchmarks."))]
    assert [name for name in names if not name.startswith("tests.support")] == []


@pytest.mark.parametrize("module", BENCHMARKS, ids=relative)
def test_benchmarks_import_no_test(module):
    assert [name for name in imported(module) if name.startswith("tests.")] == []


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_what_is_random_has_a_seed(module):
    calls = [node for node in nodes(module) if isinstance(node, ast.Call)]
    named = [(ast.unparse(c.func), c.args) for c in calls if isinstance(c.func, ast.Name | ast.Attribute)]
    unseeded = ("Random", "random.Random", "default_rng", "np.random.default_rng")
    assert [name for name, arguments in named if name in unseeded and not arguments] == []
    imports_module = "random" in imported(module)
    shared = ("random.random", "random.choice", "random.sample", "random.randrange", "random.randbytes")
    assert not imports_module or [name for name, _ in named if name in shared] == []


# --- tests that cannot fail ------------------------------------------------------------------------------------------


def is_filled(node: ast.AST, filled: set[str]) -> bool:
    """Whether a loop over an expression has at least one turn, as far as its text shows."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
            return any(not isinstance(item, ast.Starred) for item in items)
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper() or name in filled
        case ast.Subscript(value=value, slice=ast.Slice()):
            return is_filled(value, filled)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_filled(left, filled) or is_filled(right, filled)
        case ast.ListComp(generators=[loop]):
            return not loop.ifs and is_filled(loop.iter, filled)
        case ast.Call(func=ast.Name(id=function), args=arguments):
            known = any(is_filled(argument, filled) for argument in arguments)
            return function == "range" or (function in ITERATING and known)
        case ast.Call(func=ast.Attribute(value=value, attr="items" | "values" | "keys" | "split")):
            return is_filled(value, filled)
    return False


def filled_names(test: Function) -> set[str]:
    """Names that a test gives to what is not empty; its arguments count as such, for a parametrization shows them."""
    names = {argument.arg for argument in test.args.args}
    for node in ast.walk(test):
        if isinstance(node, ast.Assign) and is_filled(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".append")
            and isinstance(node.func, ast.Attribute)
        ):
            names.add(ast.unparse(node.func.value))
    return names


def can_fail(statement: ast.stmt, filled: set[str]) -> bool:
    """Whether a statement checks something however many results there are."""
    match statement:
        case ast.Assert(test=ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=loops)])):
            return all(is_filled(loop.iter, filled) for loop in loops)
        case ast.Assert() | ast.Raise():
            return True
        case ast.For(iter=values, body=body) | ast.AsyncFor(iter=values, body=body):
            return is_filled(values, filled) and any_can_fail(body, filled)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            return any("raises" in ast.unparse(item) for item in items) or any_can_fail(body, filled)
        case ast.If(body=body) | ast.While(body=body) | ast.Try(body=body):
            return any_can_fail(body, filled)
    return False


def any_can_fail(statements: Iterable[ast.stmt], filled: set[str]) -> bool:
    return any(can_fail(statement, filled) for statement in statements)


def checked_tests(statements: Sequence[ast.stmt]) -> Iterator[Function]:
    """Tests with assertions of their own; hypothesis fills the arguments of the others with every kind of value."""
    for node in statements:
        if not isinstance(node, Function) or not node.name.startswith("test_") or is_law(node):
            continue
        if any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
            yield node


def is_law(test: ast.AST) -> bool:
    """Whether hypothesis calls a test, or a function within it."""
    functions = [node for node in ast.walk(test) if isinstance(node, Function)]
    decorators = [ast.unparse(decorator) for function in functions for decorator in function.decorator_list]
    return any(decorator.startswith("given") for decorator in decorators)


@pytest.mark.parametrize("module", TESTS, ids=relative)
def test_no_test_passes_because_there_was_no_result(module):
    tests = checked_tests(parsed(module).body)
    assert [test.name for test in tests if not any_can_fail(test.body, filled_names(test))] == []


@pytest.mark.parametrize(
    ("body", "noticed"),
    [
        ("for x in found(): assert x", True),
        ("assert all(x for x in found())", True),
        ("y = found()\n for x in y: assert x", True),
        ("for x in [1, 2]: assert x", False),
        ("y = [1]\n for x in y: assert x", False),
        ("y = found()\n assert y\n for x in y: assert x", False),
        ("for x in range(3):\n  for y in found(): assert y", True),
        ("with pytest.raises(ValueError): found()\n assert all(found())", False),
    ],
)
def test_a_test_that_checks_nothing_would_be_noticed(body, noticed):
    (test,) = checked_tests(ast.parse(f"def test_it():\n {body}").body)
    assert any_can_fail(test.body, filled_names(test)) is not noticed


@pytest.mark.parametrize("module", TESTS, ids=relative)
def test_names_of_tests_can_be_read_at_a_glance(module):
    names = [node.name for node in nodes(module) if isinstance(node, Function) and node.name.startswith("test_")]
    assert [name for name in names if len(name) > LONGEST_NAME] == []
