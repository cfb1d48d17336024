"""How large each room is, in code tokens, beside its ceiling in `scripts/rooms.toml`.

    python -m scripts.sizes [ROOT]

A code token is a token of Python that is no comment, docstring, line break or indentation, so that neither formatting nor
documentation counts. A room is a folder of `lorekeeper/`, "modules" are the files beside these folders, and `tests`, `scripts`
and `benchmarks` count as rooms. `make lint` fails if a room is above its ceiling, or so far below it that the ceiling is too
high.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

PLAN = Path(__file__).with_name("rooms.toml")
FOLDERS = ("lorekeeper", "tests", "scripts", "benchmarks")
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
SLACK = 0.02
"""How far below its ceiling a room may be, as a share of the ceiling, before the ceiling has to be lowered."""


def code_tokens(text: str) -> int:
    """The code tokens of a module."""
    bodies = (getattr(node, "body", None) for node in ast.walk(ast.parse(text)))
    documented = {
        (child.lineno, child.col_offset)
        for body in bodies
        if isinstance(body, list)
        for child in body
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type not in LAYOUT and token.start not in documented for token in tokens)


def room_of(path: Path) -> str:
    """The room of a module, whose path begins at the root of the repository."""
    top, *inner = path.parts
    if top != "lorekeeper":
        return top
    return inner[0] if len(inner) > 1 else "modules"


def sizes(root: Path) -> dict[str, int]:
    """Code tokens by room."""
    counted: Counter[str] = Counter()
    for module in (module for folder in FOLDERS for module in (root / folder).rglob("*.py")):
        counted[room_of(module.relative_to(root))] += code_tokens(module.read_text("utf-8"))
    return dict(counted)


def faults(found: Mapping[str, int], ceilings: Mapping[str, int]) -> Iterator[str]:
    """Rooms that are above their ceiling, or further below it than `SLACK`, and ceilings without a room."""
    for room in sorted({*found, *ceilings}):
        size, ceiling = found.get(room), ceilings.get(room)
        if size is None:
            yield f"there is no room {room}: remove its ceiling"
        elif ceiling is None:
            yield f"the room {room} has no ceiling: it has {size} code tokens"
        elif size > ceiling:
            yield f"the room {room} has {size} code tokens, above its ceiling of {ceiling}: make it smaller"
        elif size < ceiling * (1 - SLACK):
            yield f"the room {room} has {size} code tokens: lower its ceiling of {ceiling}"


def main(root: Path) -> None:
    """Print a line for each room, the largest first."""
    ceilings = tomllib.loads(PLAN.read_text("utf-8"))["ceilings"]
    found = sizes(root)
    for room, size in sorted(found.items(), key=lambda each: -each[1]):
        print(f"{room:14} {size:9,} of {ceilings.get(room, 0):9,}")
    package = sum(size for room, size in found.items() if room not in FOLDERS)
    print(f"{'lorekeeper':14} {package:9,}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
