"""Alignments of 5etools, a list of letters, in words."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.normalize.fivetools.values import listed, text, texts

_WORDS = {
    "L": "lawful",
    "N": "neutral",
    "C": "chaotic",
    "G": "good",
    "E": "evil",
    "U": "unaligned",
    "A": "any alignment",
}
_ORDER = {"L": "lawful", "NX": "neutral", "C": "chaotic"}
_MORALS = {"G": "good", "NY": "neutral", "E": "evil"}


def alignment(value: object) -> str:
    """An alignment in words: "lawful good", "any evil alignment", "chaotic evil (75%) or neutral (25%)"."""
    if isinstance(value, str):
        return _WORDS.get(value, value)
    codes, told = texts(value), []
    for each in listed(value):
        if isinstance(each, Mapping):
            chance = f" ({text(each['chance'])}%)" if each.get("chance") is not None else ""
            note = f" {text(each['note'])}" if each.get("note") else ""
            told.append(text(each.get("special")) or f"{_of_codes(texts(each.get('alignment')))}{chance}{note}")
    pairs = codes and all(len(code) == 2 and {*code} <= _WORDS.keys() for code in codes)
    named = [_of_codes([*code]) for code in codes] if pairs else [_of_codes(codes)]
    return " or ".join(filter(None, [*named, *told]))


def _of_codes(codes: list[str]) -> str:
    """Several letters stand for all alignments that they can make."""
    order, morals = ([c for c in axis if c in codes] for axis in (_ORDER, _MORALS))
    if len(order) == len(morals) == 3 or set(codes) == {"NX", "NY", "N"}:
        return "any alignment" if len(order) == 3 else "any neutral alignment"
    for mine, axis, others in ((order, _ORDER, morals), (morals, _MORALS, order)):
        if len(others) == 3 and len(mine) == 1:
            return f"any {axis[mine[0]]} alignment"
        if len(others) == 3 and len(mine) == 2:
            missing = next(name for code, name in axis.items() if code not in mine)
            return f"any non-{missing} alignment"
    return " ".join(_WORDS.get(code, _ORDER.get(code) or _MORALS.get(code) or code) for code in codes)
