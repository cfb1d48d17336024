"""Entities to text: the passages that are embedded, the facts and excerpts that are shown, names and vocabulary."""
