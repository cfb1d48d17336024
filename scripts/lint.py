"""Checks that ruff and mypy cannot express: the plan of the rooms, their sizes, third-party imports, honest tests, plain English.

    python -m scripts.lint [ROOT]

A line per fault, ``file:line: what``, and exit status 1 if there is any. The plan is `scripts/rooms.toml`; `scripts/prose.py`
checks what users read, and `scripts/sizes.py` counts. Nothing of the package is imported.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path

from scripts import prose, scans, sizes

PLAN = Path(__file__).with_name("rooms.toml")
SHARED = {f"random.{name}" for name in ("random", "choice", "sample", "randrange", "randbytes", "shuffle", "uniform")}
UNSEEDED = {"Random", "random.Random", "default_rng", "np.random.default_rng"}
CLOCKS = {"monotonic", "perf_counter", "elapsed"}
IMPORTERS = {"import_module", "importlib.import_module", "__import__"}
KEEPING = {"zip", "enumerate", "sorted", "list", "set", "iter"}
"""Functions whose result has items if their arguments have."""

Fault = tuple[int, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def dotted(node: ast.AST) -> str:
    """A name with its attributes, "" for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a module imports, at any depth of its code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func) in IMPORTERS:
            constants = [a.value for a in node.args if isinstance(a, ast.Constant)]
            yield from ((node.lineno, value) for value in constants if isinstance(value, str))


# --- the package -----------------------------------------------------------------------------------------------------


def read_plan(text: str) -> tuple[dict[str, set[str]], dict[str, tuple[str, ...]]]:
    """The rooms that each room may import, and the paths that may import each library."""
    plan = tomllib.loads(text)
    names = list(plan["rooms"])
    ground = set(names[: names.index("editions") + 1])
    rooms = {name: set(known.split()) for name, known in plan["rooms"].items()}
    rooms = {name: known - {"ground"} | (ground if "ground" in known else set()) for name, known in rooms.items()}
    return rooms, {name: tuple(paths.split()) for name, paths in plan["libraries"].items()}


def plan_faults(rooms: dict[str, set[str]], found: set[str]) -> Iterator[Fault]:
    """Rooms of the plan that there are not, and the other way round, and imports that the plan allows upward."""
    yield from ((1, f"the plan lacks the room {name}") for name in sorted(found - set(rooms)))
    yield from ((1, f"there is no room {name}") for name in sorted(set(rooms) - found))
    above: set[str] = set()
    for name, known in rooms.items():
        yield from ((1, f"{name} would import {other}, which is not above it") for other in sorted(known - above))
        above.add(name)


def package_faults(
    path: str, tree: ast.AST, rooms: dict[str, set[str]], doors: dict[str, tuple[str, ...]]
) -> Iterator[Fault]:
    """What a module of the package imports against the plan, and conditional expressions in conditional expressions."""
    own = path.split("/")[0].removesuffix(".py")
    for line, name in imports(tree):
        root, _, rest = name.partition(".")
        room = rest.split(".")[0]
        if root == "lorekeeper" and room in rooms and room not in rooms.get(own, set()) | {own}:
            yield line, f"the room {own} may not import {room}"
        if root == "lorekeeper" and room and room not in rooms:
            yield line, f"{room} is imported through the public interface"
        if root not in doors and root not in sys.stdlib_module_names and root != "lorekeeper":
            yield line, f"{root} is not among the libraries of {PLAN.name}"
        for door, paths in doors.items():
            part = door.removesuffix(".")
            inside = f"{name}.".startswith(f"{part}.") and (part == door or "." in rest)
            if inside and not path.startswith(paths):
                yield line, f"{name} may be imported in {' and '.join(paths)} only"
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in (node.body, node.orelse)):
            yield node.lineno, "a conditional expression in a conditional expression"


# --- tests -----------------------------------------------------------------------------------------------------------


def pattern_faults(path: str, tree: ast.AST, allowed: dict[str, str]) -> Iterator[Fault]:
    """Patterns that a reader makes while it reads, but for those functions of a file that the plan allows."""
    if path.split("/")[0] in scans.ROOMS:
        yield from scans.faults(tree, set(allowed.get(path, "").split()))


def test_faults(tree: ast.AST) -> Iterator[Fault]:
    """What makes a test module depend on another one, on chance or on the machine's speed, and tests that cannot fail."""
    imported = list(imports(tree))
    unseeded = UNSEEDED | (SHARED if "random" in {name for _, name in imported} else set())
    for line, name in imported:
        if name.startswith(("tests.", "benchmarks.")) and not name.startswith("tests.support"):
            yield line, f"a test imports {name}: what tests share is in tests/support"
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and (called := dotted(node.func)) in unseeded
            and (called in SHARED or not node.args)
        ):
            yield node.lineno, f"{called} without a seed cannot be repeated"
        if isinstance(node, ast.Call) and is_fixed_sleep(node):
            yield node.lineno, "a sleep as a wait: use tests/support/waiting.py, or name what takes so long"
        if isinstance(node, Function):
            yield from clock_faults(node)
            if node.name.startswith("test_") and not can_fail(node):
                yield node.lineno, f"{node.name} passes if there is no result"


def face_faults(path: str, tree: ast.AST, rooms: Set[str], faces: Mapping[str, str]) -> Iterator[Fault]:
    """Modules that a test imports although they are no face, unless its file is listed, and listed files that import none."""
    allowed = (*faces["faces"].split(), *faces["arithmetic"].split())
    inner = [
        (line, name)
        for line, name in imports(tree)
        if name.startswith("lorekeeper.")
        and name.split(".")[1] in rooms
        and not any(f"{name}.".startswith(f"lorekeeper.{face}.") for face in allowed)
    ]
    if Path(path).stem not in faces["nailed"].split():
        yield from ((line, f"a test imports {name}, which is no face of the package") for line, name in inner)
    elif not inner:
        yield 1, f"this test imports faces alone: take it from the list in {PLAN.name}"


def clock_faults(function: Function) -> Iterator[Fault]:
    """Assertions on how long something took by the clock on the wall."""
    inner = list(ast.walk(function))
    assigned = [node for node in inner if isinstance(node, ast.Assign) and reads_clock(node.value)]
    read = {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}
    for node in inner:
        if isinstance(node, ast.Assert) and reads_clock(node.test, read) and not is_lower_bound(node.test):
            yield node.lineno, "an assertion on wall time: measure CPU time, count, or wait for an event"


def is_fixed_sleep(call: ast.Call) -> bool:
    """Whether something sleeps for a number of seconds. What a simulated server or a pace takes has a name, chance a formula."""
    match call:
        case ast.Call(args=[ast.Constant(value=seconds)]):
            return dotted(call.func).split(".")[-1] == "sleep" and seconds != 0
    return False


def is_lower_bound(test: ast.expr) -> bool:
    """Whether an assertion says that something takes no less than so long, which holds on any machine."""
    return isinstance(test, ast.Compare) and all(isinstance(sign, ast.Gt | ast.GtE) for sign in test.ops)


def reads_clock(expression: ast.AST, names: Set[str] = frozenset()) -> bool:
    """Whether an expression calls the clock, or has one of the names."""
    words = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return bool(words & (CLOCKS | names))


def can_fail(test: Function) -> bool:
    """Whether a test that asserts at all does so however many results there are; hypothesis fills the arguments of laws."""
    inner = list(ast.walk(test))
    laws = [d for f in inner if isinstance(f, Function) for d in f.decorator_list if ast.unparse(d).startswith("given")]
    if laws or not any(isinstance(node, ast.Assert) for node in inner):
        return True
    filled = {argument.arg for argument in test.args.args}
    for node in inner:
        if isinstance(node, ast.Assign) and is_filled(node.value, filled):
            filled |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            filled.add(ast.unparse(node.func.value))
    return fails(test.body, filled)


def fails(statements: Sequence[ast.stmt], filled: set[str]) -> bool:
    """Whether one of the statements checks something in any case."""
    for statement in statements:
        match statement:
            case ast.Assert(test=ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(generators=loops)])):
                found = all(is_filled(loop.iter, filled) for loop in loops)
            case ast.Assert() | ast.Raise():
                found = True
            case ast.For(iter=values, body=body) | ast.AsyncFor(iter=values, body=body):
                found = is_filled(values, filled) and fails(body, filled)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                found = any("raises" in ast.unparse(item) for item in items) or fails(body, filled)
            case ast.If(body=body) | ast.While(body=body) | ast.Try(body=body):
                found = fails(body, filled)
            case _:
                found = False
        if found:
            return True
    return False


def is_filled(node: ast.AST, filled: set[str]) -> bool:
    """Whether a loop over an expression has at least one turn, as far as its text shows."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
            return any(not isinstance(item, ast.Starred) for item in items)
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper() or name in filled
        case (
            ast.Subscript(value=value, slice=ast.Slice())
            | ast.Call(func=ast.Attribute(value=value, attr="items" | "values" | "keys" | "split"))
        ):
            return is_filled(value, filled)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_filled(left, filled) or is_filled(right, filled)
        case ast.ListComp(generators=[loop]):
            return not loop.ifs and is_filled(loop.iter, filled)
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return function == "range" or (function in KEEPING and any(is_filled(each, filled) for each in arguments))
    return False


# --- all files -------------------------------------------------------------------------------------------------------


def faults(root: Path, plan: str) -> Iterator[str]:
    """Each fault below a folder as ``file:line: what``."""
    rooms, doors = read_plan(plan)
    allowed, faces = (tomllib.loads(plan).get(table, {}) for table in ("patterns", "faces"))
    package = root / "lorekeeper"
    modules = sorted(package.rglob("*.py"))
    found = {module.relative_to(package).parts[0].removesuffix(".py") for module in modules}
    yield from (f"scripts/{PLAN.name}:{line}: {what}" for line, what in plan_faults(rooms, found))
    for module in (*modules, *sorted((root / "tests").rglob("*.py")), *sorted((root / "benchmarks").rglob("*.py"))):
        path, tree = module.relative_to(root), ast.parse(module.read_text("utf-8"))
        if path.parts[0] == "lorekeeper":
            own = module.relative_to(package).as_posix()
            here: Iterable[Fault]
            here = chain(package_faults(own, tree, rooms, doors), pattern_faults(own, tree, allowed))
        elif path.parts[0] == "tests":
            here = test_faults(tree)
            if faces and path.stem.startswith("test_"):
                here = chain(here, face_faults(path.name, tree, set(rooms), faces))
        else:
            here = ((line, "a benchmark imports a test") for line, name in imports(tree) if name.startswith("tests."))
        yield from (f"{path.as_posix()}:{line}: {what}" for line, what in here)
    for name in sorted(set(faces.get("nailed", "").split()) - {path.stem for path in (root / "tests").rglob("*.py")}):
        yield f"scripts/{PLAN.name}:1: there is no {name} any more: take it from the list"


def main(arguments: Sequence[str]) -> int:
    root = Path(arguments[0] if arguments else ".")
    house = prose.House.read(prose.WORDS.read_text("utf-8"))
    plan = PLAN.read_text("utf-8")
    too_large = sizes.faults(sizes.sizes(root), tomllib.loads(plan)["ceilings"])
    found = [*faults(root, plan), *prose.faults(root, house), *(f"scripts/{PLAN.name}:1: {what}" for what in too_large)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
