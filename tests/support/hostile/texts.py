"""Hostile files to import: OrcBrew packs, JSON and JSON lines, packed ones."""

from __future__ import annotations

import copy
import gzip
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.hostile.input import Good, Input
from tests.support.hostile.values import GIGABYTE, VALUES, deflated_zeros, dumps, mutated_bytes, mutated_json, swaps

PACK = """{"Salt Pack" {:orcpub.dnd.e5/spells {
  :salt-spark {:key :salt-spark, :name "Salt Spark", :option-pack "Salt Pack", :level 1, :school "evocation",
    :casting-time "1 action", :range "60 feet", :ritual false, :spell-lists {:wizard true, :bard false},
    :description "A spark of salt water stings one creature."}
  :ash-veil {:key :ash-veil, :name "Ash Veil", :option-pack "Salt Pack", :level 3, :school "illusion",
    :casting-time "1 action", :spell-lists {:wizard true, :druid true}, :description "Ash hides you."}}
 :orcpub.dnd.e5/feats {
  :deep-lungs {:key :deep-lungs, :name "Deep Lungs", :option-pack "Salt Pack", :description "You hold your breath."}}}}
"""
"""A good OrcBrew pack."""


def _imported(name: str, suffix: str, make_it: Callable[[Good, random.Random], bytes | str], **more: Any) -> Input:
    def build(good: Good, folder: Path, chance: random.Random) -> list[str]:
        content = make_it(good, chance)
        path = folder / f"input{suffix}"
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return ["import", str(path), "--json"]

    return Input(f"{'pack' if 'orcbrew' in suffix else 'file'}: {name}", build, **more)


def _always(content: bytes | str) -> Callable[[Good, random.Random], bytes | str]:
    return lambda _, __: content


def packs() -> Iterator[Input]:
    """With nothing wrong, and known attacks by an OrcBrew pack."""
    yield _imported("as it was", ".orcbrew", _always(PACK), good=True)
    text: dict[str, str] = {
        "mismatched brackets": "[(]\n" * 50_000,
        "mismatched brackets, 1 MB": "[(]\n" * 260_000,
        "closing brackets": ")]}\n" * 100_000,
        "opening brackets": "(\n" * 200_000,
        "opening maps": "{:a " * 100_000,
        "deep vectors": "[" * 20_000 + "]" * 20_000,
        "deep maps": "{:a " * 5_000 + "1" + "}" * 5_000,
        "discarded forms": "#_ " * 200_000 + "1",
        "discarded pairs": "#_ #_ 1 2 " * 50_000,
        "discarded brackets": "#_(" * 100_000,
        "signs of sets": "# \n{" * 50_000,
        "tags": "#a/b " * 100_000 + "{}",
        "signs alone": "#" * 300_000,
        "quotes": '"' * 300_001,
        "backslashes": "\\" * 300_000,
        "a text without end": '{:a "' + "x" * 2_000_000,
        "line breaks in a text without end": '{:a "' + "\n" * 500_000,
        "a comment without end": ";" * 2_000_000,
        "comments": ";\n" * 300_000,
        "commas": "," * 3_000_000,
        "a symbol of 2 MB": "a" * 2_000_000,
        "colons": ":" * 500_000,
        "carets": "^" * 200_000 + "{}",
        "quoting": "'`~@" * 100_000,
        "an integer of 100,000 digits": f"{{:a {'9' * 100_000}}}",
        "a ratio by zero": "{:a 1/0}",
        "1e999": "{:a 1e999, :b ##NaN, :c ##Inf}",
        "a surrogate as a character": "{:a \\ud800}",
        "a surrogate in a text": '{:a "\\ud800"}',
        "NUL": "{:a \0}",
        "a key 100,000 times": "{" + ":a 1 " * 100_000 + "}",
        "evaluation": '#=(eval (println "x")) {}',
        "a map with half a pair": "{:a 1 :b}",
        "nothing": "",
        "nil": "nil",
    }
    for name, content in text.items():
        yield _imported(name, ".orcbrew", _always(content))
        if name in ("mismatched brackets", "discarded forms", "tags", "deep vectors", "signs of sets"):
            yield _imported(f"{name}, in an entry", ".orcbrew", _always(_spoilt_pack(content)))
    yield _imported("UTF-16", ".orcbrew", lambda g, c: PACK.encode("utf-16"))
    yield _imported("not UTF-8", ".orcbrew", lambda g, c: PACK.encode().replace(b"a", b"\xff", 1))
    yield _imported("half of it", ".orcbrew", lambda g, c: PACK[: len(PACK) // 2])
    yield _imported("1 GB, packed", ".orcbrew.gz", lambda g, c: gzip_bomb(GIGABYTE))
    for name in ("escapes", "line breaks", "bidi", "a megabyte", "wide", "an empty text", "dots"):
        yield _imported(f"a name of {name}", ".orcbrew", _always(PACK.replace("Salt Spark", VALUES[name])))


def _spoilt_pack(content: str) -> str:
    """A pack with something in the middle of an entry."""
    place = PACK.index(":description")
    return PACK[:place] + content + PACK[place:]


def pack_mutation(number: int) -> Input:
    def make_it(good: Good, chance: random.Random) -> bytes:
        content = PACK.encode()
        if chance.random() < 0.5:
            return mutated_bytes(chance, content)
        sign = chance.choice(
            [b"{", b"}", b"[", b"(", b")", b'"', b"#", b"#_", b"# {", b";", b"\\", b":", b"#x ", b"\0", b"\x1b"]
        )
        place = chance.randrange(len(content))
        return content[:place] + sign * chance.choice([1, 2, 50, 5_000]) + content[place:]

    return _imported(f"mutation {number}", ".orcbrew", make_it)


def gzip_bomb(size: int) -> bytes:
    return deflated_zeros(size, 31)


def _lines(objects: Sequence[Any]) -> str:
    return "".join(f"{dumps(o)}\n" for o in objects)


def _and(value: Any) -> Callable[[Good, random.Random], str]:
    """The good entries, and this."""
    return lambda good, _: _lines([*good.objects, value])


def _and_one(change: Callable[[Any], None]) -> Callable[[Good, random.Random], str]:
    """The good entries, and one more that was changed."""

    def make_it(good: Good, _: random.Random) -> str:
        one = copy.deepcopy(good.objects[0])
        change(one)
        return _lines([*good.objects, one])

    return make_it


def files() -> Iterator[Input]:
    """With nothing wrong, and known attacks by JSON, JSON lines, packed ones."""
    yield _imported("as they were", ".jsonl", lambda g, c: _lines(g.objects), good=True)
    yield _imported("1 GB of zeros, packed", ".json.gz", lambda g, c: gzip_bomb(GIGABYTE))
    yield _imported("10 GB of zeros, packed", ".jsonl.gz", lambda g, c: gzip_bomb(10 * GIGABYTE))
    yield _imported("packed twice", ".json.gz", lambda g, c: gzip.compress(gzip.compress(_lines(g.objects).encode())))
    yield _imported("packed and cut", ".jsonl.gz", lambda g, c: gzip.compress(_lines(g.objects).encode())[:-20])
    yield _imported(
        "packed, then noise", ".jsonl.gz", lambda g, c: gzip.compress(_lines(g.objects).encode()) + b"noise" * 9
    )
    yield _imported("500,000 packed nothings", ".jsonl.gz", lambda g, c: gzip.compress(b"") * 50_000)
    yield _imported("nothing", ".json", lambda g, c: b"")
    yield _imported("noise", ".json", lambda g, c: c.randbytes(100_000))
    yield _imported("UTF-16", ".json", lambda g, c: _lines(g.objects).encode("utf-16"))
    yield _imported("brackets", ".json", lambda g, c: "[" * 2_000_000)
    yield _imported("braces in lines", ".jsonl", lambda g, c: '{"a":\n' * 100_000)
    yield _imported("lines of brackets", ".jsonl", lambda g, c: _lines(g.objects) + "[" * 200_000 + "\n{}\n")
    yield _imported("200,000 lines that are no objects", ".jsonl", lambda g, c: _lines(g.objects[:1]) + "5\n" * 200_000)
    yield _imported(
        "an entry twice", ".json", lambda g, c: dumps([g.objects[0], g.objects[0] | {"description": "Other."}])
    )
    yield _imported("a page of nulls", ".json", lambda g, c: dumps({"results": [None] * 100_000}))
    yield _imported(
        "an entry of 20,000 sections",
        ".json",
        lambda g, c: dumps(
            g.objects[0] | {"description": "".join(f"## Part {n}\n\nText {n}. {'x ' * 30}\n\n" for n in range(20_000))}
        ),
    )
    yield _imported(
        "an entry of 20 MB", ".json", lambda g, c: dumps(g.objects[0] | {"description": "word " * 4_000_000})
    )
    keys = "collection name slug kind document description level classes document_name x".split()
    for name, put_in in swaps(*keys):
        yield _imported(name, ".json", _and_one(put_in), swapped=True)
    for name, value in VALUES.items():
        yield _imported(f"it is {name}", ".jsonl", _and(value), swapped=True)


def file_mutation(number: int) -> Input:
    def make_it(good: Good, chance: random.Random) -> bytes:
        if chance.random() < 0.3:
            return mutated_bytes(chance, _lines(good.objects).encode())
        return _lines([*good.objects, mutated_json(chance, chance.choice(good.objects))]).encode()

    return _imported(f"mutation {number}", (".jsonl", ".json")[number % 2], make_it)
