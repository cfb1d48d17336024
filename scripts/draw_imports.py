"""Draw a folder of the package as floors, from its real imports: a module stands one floor above the highest that it imports.

    python -m scripts.draw_imports FOLDER

FOLDER is that of a package, say `lorekeeper/cache`, of this checkout or another one. Imports for types alone do not count. Modules
that import each other in a circle share a floor. A module is printed with its number of lines; the last line counts the arrows.
"""

from __future__ import annotations

import argparse
import ast
import textwrap
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path


def modules(folder: Path) -> dict[str, Path]:
    """The modules of a folder by their full names."""
    above = folder.resolve().parent
    while (above / "__init__.py").exists():
        above = above.parent
    paths = (path.resolve() for path in sorted(folder.rglob("*.py")))
    return {".".join(path.relative_to(above).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported(tree: ast.AST) -> Iterator[str]:
    """The full names that code imports, at any depth, those for types alone excepted."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imported(node)


def arrows(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which of the modules each of them imports."""
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        names = set(imported(ast.parse(path.read_text("utf-8"))))
        found[name] = ({n for n in names if n in files} | {n.rpartition(".")[0] for n in names} & files.keys()) - {name}
    return found


def floors(found: Mapping[str, Set[str]]) -> dict[str, int]:
    """The floor of each module, from 0."""

    @cache
    def below(name: str) -> frozenset[str]:
        seen, waiting = set[str](), [name]
        while waiting:
            new = found[waiting.pop()] - seen
            seen |= new
            waiting += new
        return frozenset(seen)

    @cache
    def floor(name: str) -> int:
        lower = [other for other in below(name) if name not in below(other) and other != name]
        return max((floor(other) + 1 for other in lower), default=0)

    return {name: floor(name) for name in found}


def drawn(folder: Path) -> str:
    """The picture, the highest floor first."""
    files = modules(folder)
    found = arrows(files)
    height = floors(found)
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in files.items()}
    root = min(files, key=len)
    rows = []
    for level in sorted(set(height.values()), reverse=True):
        here = [
            f"{name.removeprefix(root).lstrip('.') or '.'} {lines[name]}" for name in files if height[name] == level
        ]
        rows += textwrap.wrap(", ".join(here), 112, initial_indent=f"{level:2}  ", subsequent_indent="    ")
    number = sum(map(len, found.values()))
    return "\n".join([*rows, f"{len(files)} modules, {sum(lines.values()):,} lines, {number} arrows"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    print(drawn(parser.parse_args().folder))
