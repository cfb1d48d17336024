"""Vectors of the open books' passages for LoreKeeper, which finds the file beside this one without importing it."""
