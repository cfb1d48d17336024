"""Encounters: how hard given monsters are for a party, and which ones fit a budget.

`arithmetic` and its `tables` are pure; `shapes` says which challenge ratings fill a budget, and `proposals` finds creatures for
them. `asked` reads what callers write, `candidates` counts the creatures of a library, and `planning` brings all of this together.
"""
