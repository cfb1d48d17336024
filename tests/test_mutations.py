"""The faults that `scripts/mutations.py` puts into modules are faults, and the rest of the module is as it was."""

from __future__ import annotations

import ast

from scripts import mutations

SOURCE = '''"""Ünïcode before the code."""

LIMIT = 3


def kept(values, limit=LIMIT):
    """Those below the limit."""
    found = [value for value in values if value < limit and not value == 0]
    found.append(1)
    return found if found else None
'''


def test_each_fault_changes_one_place_of_a_function_and_parses(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    module = tmp_path / "house.py"
    module.write_text(SOURCE, "utf-8")
    found = list(mutations.faults(module))
    assert {fault.what for fault in found} >= {
        "value < limit -> (value <= limit)",
        "not value == 0 -> (value == 0)",
        "found.append(1) -> pass",
        "found if found else None -> (None if found else found)",
    }
    assert {fault.line for fault in found} == {8, 9, 10}, "no docstring and nothing outside of a function"
    for fault in found:
        changed = SOURCE.encode()[: fault.start] + fault.text.encode() + SOURCE.encode()[fault.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
