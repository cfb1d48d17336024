"""The numbers of the linker (`values`) that were fitted, each with the sets that it was fitted on.

The sets: dev (110 graded questions about books), second (38), fresh and fresh2 (62 and 60), notes (50), short: 50 of few words.
"""

from __future__ import annotations

NAMED = 0.42
"""Share of a question, by the rarity of its words, from which on the name of an entry is what it asks about. Short, fresh: "cat" of
"looks like a cat and steals things" is 0.416, "fireball" of "what level do wizards get fireball" 0.425."""

AS_NAMED = 0.9
"""How similar such a name counts beside one that is the whole question. Short."""

COMMON_NAME = 0.3
"""Rarity that a name of one word needs, so that it is what a question asks about: "who can fly" asks for no spell. Short."""

NAME_RAISE = 0.8
"""What a name that is all of a question adds to the score by keywords, as a share of the best one. Dev, second, notes."""

NOTE_RAISE = 0.4
"""The least that it adds to the score of a note, whose names are seldom said by chance. Notes."""

VALUE_RAISE = 1.0
"""The same for values. Notes, and 22 questions for what has certain values."""

VALUED = 0.8
"""What entries that lack the values of a question lose of their weight if these are all of it. Dev, second, fresh."""

STEEP = 2
"""How steeply what is linked counts less the less of the question it is: at 1 "lake" of nine words leads. Dev, notes."""

LINKED = 0.3
"""Share of a question from which on its values are looked for among all entries, and the filter for them is said. Dev, fresh."""

COMMON_VALUE = 0.5
"""Share of the entries of a type from which on a value tells nothing. Dev."""

MAX_GRAM = 4
"""Most words of a value. By reading the values of Open5e."""

MISSPELT_WORD = 5
"""Fewest letters of a word that is taken for a misspelt value. By reading."""
