"""What may stand where something else is expected, and random changes to JSON and to bytes."""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

GIGABYTE = 1 << 30


class Raw(str):
    """Text that stands in JSON as it is."""

    __slots__ = ()


def deep(levels: int) -> Raw:
    """Lists in lists, which Python's own encoder could not write."""
    return Raw("[" * levels + "]" * levels)


VALUES: dict[str, Any] = {
    "null": None,
    "a list": [],
    "an object": {},
    "a list of lists": [[["a"]]],
    "five": 5,
    "true": True,
    "an empty text": "",
    "blanks": " \t",
    "a surrogate": "\ud800",
    "NUL": "a\0b",
    "line breaks": "Wish\n2. Fireball (spell) | lore://spells/srd-2014/fireball",
    "escapes": "\x1b]0;title\x07\x1b[2J\x9b31m",
    "bidi": "\u202egnp.exe\u2066",
    "dots": "../../../../etc/x",
    "a megabyte": "x" * 1_000_000,
    "wide": "ﷺ" * 400,
    "10,000 levels": deep(10_000),
    "500 levels": deep(500),
    "1e999": Raw("1e999"),
    "NaN": Raw("NaN"),
    "Infinity": Raw("-Infinity"),
    "5,000 digits": Raw("9" * 5_000),
    "65 bits": 2**64,
    "1e308": 1e308,
    "many": ["x"] * 100_000,
    "many keys": {f"k{n}": n for n in range(50_000)},
}
"""What may stand where something else is expected, by name."""


def dumps(value: Any) -> str:
    """JSON with `Raw` parts; surrogates as escapes."""
    parts: list[str] = []

    def mark(item: Any) -> Any:
        if isinstance(item, Raw):
            parts.append(str(item))
            return f"@raw{len(parts) - 1}@"
        if isinstance(item, dict):
            return {k: mark(v) for k, v in item.items()}
        return [mark(v) for v in item] if isinstance(item, list) else item

    text = json.dumps(mark(value))
    for number, part in enumerate(parts):
        text = text.replace(f'"@raw{number}@"', part, 1)
    return text


def mutated_json(chance: random.Random, value: Any) -> Any:
    """A copy with one to three places changed, removed, doubled or renamed."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice([1, 1, 2, 3])):
        holder = changed
        while True:
            keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = chance.choice(keys)
            inner = holder[key]
            if isinstance(inner, (dict, list)) and inner and chance.random() < 0.6:
                holder = inner
                continue
            match chance.randrange(5):
                case 0:
                    del holder[key]
                case 1 if isinstance(holder, dict):
                    holder[str(chance.choice(["", "\0", "\ud800", "name", "data", "x" * 1000]))] = holder.pop(key)
                case 2 if isinstance(holder, list):
                    holder.append(copy.deepcopy(inner))
                case _:
                    holder[key] = copy.deepcopy(chance.choice(list(VALUES.values())))
            break
    return changed


def mutated_bytes(chance: random.Random, content: bytes) -> bytes:
    """Some bytes flipped, removed, doubled or cut."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 3, 20])):
        if not changed:
            break
        place, size = chance.randrange(len(changed)), chance.choice([1, 2, 16, 512])
        match chance.randrange(5):
            case 0 | 1:
                changed[place] ^= 1 << chance.randrange(8)
            case 2:
                changed[place : place + size] = chance.randbytes(size)
            case 3:
                del changed[place : place + size]
            case 4:
                changed[place:place] = changed[place : place + size]
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed) + 1) :]
    return bytes(changed)


def deflated_zeros(size: int, wbits: int) -> bytes:
    """A stream of zeros that is a thousandth of what it unpacks to; made in no time. Its checksum is wrong."""
    block = bytes(1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    head = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + repeated * (size // len(block) - 1) + packer.flush()


Change = Callable[[Any], None]


def put(value: Any, *path: Any) -> Change:
    """A change: this value at the end of a path of keys."""

    def change(holder: Any) -> None:
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


def swaps(*places: str) -> Iterator[tuple[str, Change]]:
    """Each value in each place, whose keys are separated by dots: what is wrong, and the change."""
    for place in places:
        yield from ((f"{place} is {name}", put(value, *place.split("."))) for name, value in VALUES.items())
