"""Formulas of numbers that files have, worked out without running them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "min": min,
    "max": max,
    "abs": abs,
}


def modifier(score: float) -> int:
    """The modifier of an ability score (SRD 5.1, "Ability Scores and Modifiers")."""
    return int(score - 10) // 2


def proficiency(level: float | None) -> int:
    """The proficiency bonus by the level of a character, or the challenge rating of a creature (SRD 5.1, "Proficiency Bonus")."""
    return max(2, 1 + math.ceil((level or 0) / 4))


def worked_out(formula: str) -> float | None:
    """The value of a formula of numbers; None if it is anything else."""
    try:
        return _value(ast.parse(formula.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None


def _value(node: ast.AST) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if abs(number) < 10**9:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(_value, arguments))
    raise ValueError("not a formula")
