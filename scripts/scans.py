"""Where texts of strangers are searched: what `scripts/lint.py` checks of it, and `tests/test_linear_patterns.py` tries.

A search tries its pattern at each place of a text, so that one which looks ahead over a run of blanks takes quadratic time. Every
pattern is therefore tried on runs of what it names. That needs patterns that can be seen without a text: constants of a module, or
literals in the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

ROOMS = ("notes", "normalize", "intake")
"""The rooms that read what strangers have written."""

METHODS = frozenset({"search", "sub", "subn", "finditer", "findall", "split"})
"""What tries a pattern at each place of a text."""


def literals(tree: ast.AST) -> Iterator[str]:
    """The patterns that stand in calls of `re` themselves."""
    for call in _calls(tree):
        if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
            values = (each.value for each in call.args[:1] if isinstance(each, ast.Constant))
            yield from (value for value in values if isinstance(value, str))


def searched(tree: ast.AST) -> Set[str]:
    """The names of patterns that are searched for; those that are matched at one place only are not among them."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in METHODS)
    return {node.value.id for node in found if isinstance(node.value, ast.Name)}


def faults(tree: ast.AST, allowed: Set[str]) -> Iterator[tuple[int, str]]:
    """Lines with patterns that are made while a text is read, where they can be seen by nobody.

    Args:
        tree: a module of a reader.
        allowed: names of functions that may, as the plan has them.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(call) for function in functions if function.name in allowed for call in _calls(function)}
    within = {id(call) for function in functions for call in _calls(function)}
    for call in _calls(tree):
        if call.args and not isinstance(call.args[0], ast.Constant) and id(call) in within - inside:
            yield (
                call.lineno,
                "a pattern made while a text is read: make it a constant, so that tests try how long it takes",
            )


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of `re` that make or search for a pattern."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if _name(node.func.value) == "re" and node.func.attr in METHODS | {"compile"}:
            yield node


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
