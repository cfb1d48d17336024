"""Campaign notes: one note of a vault, from its text to sections, names, facts, links and stat blocks."""
